"""Plain versions of what mixtures compute, and the data and families that several test files use."""

from __future__ import annotations

import math

import numpy as np
import scipy.special
import scipy.stats


def paper_data(D, n, seed=2015):
    """The generator of the paper's examples: 0.3 IG(1, 30) + 0.7 IG(3, 0.2)."""
    rng = np.random.default_rng(seed)
    first = rng.random((D, n)) < 0.3
    return np.where(first, rng.wald(1.0, 30.0, (D, n)), rng.wald(3.0, 0.2, (D, n)))


def small_data(seed=1, n=90):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.4, rng.gamma(4.0, 0.5, n), rng.gamma(12.0, 0.7, n))


def log_density(family, x, m, p):
    """By scipy.stats, in the parameters of `fit_many`."""
    if family == "inverse_gaussian":
        return scipy.stats.invgauss.logpdf(x, m / p, scale=p)
    if family == "gaussian":
        return scipy.stats.norm.logpdf(x, m, np.sqrt(p))
    if family == "gamma":
        return scipy.stats.gamma.logpdf(x, p, scale=m / p)
    if family == "lognormal":
        return scipy.stats.lognorm.logpdf(x, np.sqrt(p), scale=np.exp(m))
    if family == "inverse_gamma":
        return scipy.stats.invgamma.logpdf(x, p, scale=p / m)
    if family == "reciprocal_inverse_gaussian":
        return scipy.stats.invgauss.logpdf(1 / x, m / p, scale=p) - 2 * np.log(x)
    if family == "exponential":
        return scipy.stats.expon.logpdf(x, scale=m)
    if family == "poisson":
        return scipy.stats.poisson.logpmf(x, m)
    if family == "geometric":
        return scipy.stats.geom.logpmf(x + 1, 1 / (1 + m))
    if family == "rayleigh":
        return scipy.stats.rayleigh.logpdf(x, scale=np.sqrt(m))
    if family == "maxwell":
        return scipy.stats.maxwell.logpdf(x, scale=np.sqrt(m / 3))
    if family == "half_normal":
        return scipy.stats.halfnorm.logpdf(x, scale=np.sqrt(m))
    if family[0] == "weibull":
        return scipy.stats.weibull_min.logpdf(x, family[1], scale=m ** (1 / family[1]))
    if family[0] == "pareto":
        return scipy.stats.pareto.logpdf(x, 1 / m, scale=family[1])
    return scipy.stats.gamma.logpdf(x, family[1], scale=m / family[1])


def log_likelihood(family, x, r, w=1.0):
    parts = [np.log(r.weights[k]) + log_density(family, x, r.centres[k], r.params[k]) for k in range(r.n_components)]
    return float(np.sum(w * scipy.special.logsumexp(np.stack(parts), axis=0)))


def direct_sums(t1, t2, w, P):
    """Sums of a pass by NumPy: (K, 3), log-likelihood, (K, K, 6) moments."""
    logits = P[0][:, None] + P[1][:, None] * t1 + P[2][:, None] * t2
    total = scipy.special.logsumexp(logits, axis=0)
    r = np.exp(logits - total)
    T = np.stack([np.ones_like(t1), t1, t2])
    T6 = np.stack([T[0], t1, t2, t1 * t1, t1 * t2, t2 * t2])
    both = np.eye(P.shape[1])[:, :, None] * r - r[:, None] * r
    return (w * r) @ T.T, np.dot(w, total), np.einsum("kln,mn->klm", w * both, T6)


GOOD = small_data(9, 80)


def spiked(seed):
    """Data whose likeliest starts climb to infinity over a value that lies far out."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0.0, 1.0, 150), rng.normal(3.0, 4.0, 50)])


WALD = np.random.default_rng(8).wald(1.0, 5.0, 200)


def scipy_law(family, m, p):
    """The distribution of one component by scipy.stats."""
    st = scipy.stats
    if isinstance(family, tuple):
        name, c = family
        return {
            "weibull": lambda: st.weibull_min(c, scale=m ** (1 / c)),
            "pareto": lambda: st.pareto(1 / m, scale=c),
            "gamma": lambda: st.gamma(c, scale=m / c),
        }[name]()
    return {
        "gaussian": lambda: st.norm(m, math.sqrt(p)),
        "inverse_gaussian": lambda: st.invgauss(m / p, scale=p),
        "gamma": lambda: st.gamma(p, scale=m / p),
        "lognormal": lambda: st.lognorm(math.sqrt(p), scale=math.exp(m)),
        "inverse_gamma": lambda: st.invgamma(p, scale=p / m),
        "reciprocal_inverse_gaussian": lambda: st.recipinvgauss(m / p, scale=1 / p),
        "exponential": lambda: st.expon(scale=m),
        "poisson": lambda: st.poisson(m),
        "geometric": lambda: st.geom(1 / (1 + m), loc=-1),
        "rayleigh": lambda: st.rayleigh(scale=math.sqrt(m)),
        "maxwell": lambda: st.maxwell(scale=math.sqrt(m / 3)),
        "half_normal": lambda: st.halfnorm(scale=math.sqrt(m)),
    }[family]()


def tied_em(x, share, means, passes=3000):
    """EM of two normal components with one variance: weights, means, variance and log-likelihood."""
    x, w, m = np.asarray(x, float), np.array([share, 1.0 - share]), np.array(means, float)
    v = np.var(x)
    for _ in range(passes):
        f = w * np.exp(-0.5 * (x[:, None] - m) ** 2 / v) / np.sqrt(2.0 * np.pi * v)
        total = f.sum(axis=1)
        r = f / total[:, None]
        w, m = r.mean(axis=0), (r * x[:, None]).sum(axis=0) / r.sum(axis=0)
        v = (r * (x[:, None] - m) ** 2).sum() / x.size
    f = w * np.exp(-0.5 * (x[:, None] - m) ** 2 / v) / np.sqrt(2.0 * np.pi * v)
    return w, m, v, np.log(f.sum(axis=1)).sum()


def philox(counter, key):
    """The four words of Philox4x32-10 (Salmon et al. 2011), in Python's integers."""
    (x0, x1, x2, x3), (k0, k1), low = counter, key, 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = 0xD2511F53 * x0, 0xCD9E8D57 * x2
        x0, x1, x2, x3 = (p1 >> 32) ^ x1 ^ k0, p1 & low, (p0 >> 32) ^ x3 ^ k1, p0 & low
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    return x0, x1, x2, x3


def best_starts(objective, means, usable, top):
    """Of one data set the best starts that differ by more than 1e-3 in log-likelihood or in their means, and what each covers."""
    value, means, picks = np.where(usable, objective, -math.inf), np.sort(means, axis=1), []
    while len(picks) < top and value.max() > -math.inf:
        best = int(np.argmax(value))
        near = (value >= value[best] - 1e-3) & (np.abs(means - means[best]) <= 0.05 * (np.abs(means[best]) + 1e-3)).all(axis=1)
        near[best] = True
        picks.append((best, int((near & (value > -math.inf)).sum())))
        value[near] = -math.inf
    return picks


def best_climb(objective, status, keeps, cover):
    """Of the climbs of one data set the best by grade, then by objective: (which, hits, runner-up)."""
    grade = np.select([(status == 0) & keeps, status == 0, status == 12], [3, 2, 0], 1)
    which = int(np.lexsort((-objective, -grade))[0])
    slack = 1e-6 * max(1.0, 1e-6 * abs(objective[which]))
    other = (status == 0) & (objective < objective[which] - slack)
    return which, cover[objective >= objective[which] - slack].sum(), objective[other].max() if other.any() else np.nan
