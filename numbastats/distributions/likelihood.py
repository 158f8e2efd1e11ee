"""Maximum likelihood of generalised hyperbolic distributions: derivatives and a damped Newton method on the host."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.elementwise import elementwise
from numbastats.distributions.kernels import LOG_KVE
from numbastats.distributions.kernels import fits as codes

__all__ = ["HYPERBOLIC", "NIG", "VARIANCE_GAMMA", "climb", "variance_gamma_climb"]

NIG, HYPERBOLIC, VARIANCE_GAMMA = "nig", "hyperbolic", "variance_gamma"
_FAR, _FARTHEST = 1e5, 1e4  # alpha delta, and alpha in units of the data, from which the distribution is a limit to four digits
_NEAR = 1e-6  # in units of the data
_LEAST = 1e-4  # delta of a maximum; the likelihood is even in it, and flat next to 0
# (alpha, beta, delta, mu) for data with median 0 and quartile distance 1.35: heavy, middle and light tails
_STARTS = [(0.4, 0.0, 0.7, 0.0), (1.3, 0.0, 1.3, 0.0), (4.0, 0.0, 4.0, 0.0)]
_HYPERBOLIC_STARTS = [(1.5, 0.0, 0.3, 0.0), (2.0, 0.0, 2.0, 0.0), (5.0, 0.0, 5.0, 0.0)]


def _log_k1(s):
    """log K1(s) and its first two derivatives: K1'' = (1 + 1/s^2) K1 - K1'/s."""
    from scipy.special import k0e

    scaled = elementwise(lambda d: LOG_KVE, ("order", "z"), (1.0, s), device="cpu", workers=1)  # faster than SciPy's k1e
    back = 1.0 / s
    first = -k0e(s) * np.exp(-scaled) - back
    return scaled - s, first, 1.0 + back * back - first * (back + first)


def _norm(family, a, b, d):
    """Log of the constant, its gradient and Hessian in (a, b, d); with s = d sqrt(a^2 - b^2)."""
    g2 = (a - b) * (a + b)
    g = math.sqrt(g2)
    s = d * g
    ds = np.array([d * a / g, -d * b / g, g])
    cross = d * a * b / (g * g2)
    dds = np.array([[-d * b * b / (g * g2), cross, a / g], [cross, -d * a * a / (g * g2), -b / g], [a / g, -b / g, 0.0]])
    if family == NIG:
        value = s + math.log(a) + math.log(d) - math.log(math.pi)
        return value, ds + [1 / a, 0.0, 1 / d], dds + np.diag([-1 / (a * a), 0.0, -1 / (d * d)])
    k, k1, k2 = _log_k1(s)
    value = math.log(g) - math.log(2 * a * d) - k
    grad = -k1 * ds + [a / g2 - 1 / a, -b / g2, -1 / d]
    hess = -k1 * dds - k2 * np.outer(ds, ds) + np.diag([1 / (a * a), 0.0, 1 / (d * d)])
    two = 2.0 / (g2 * g2)
    hess[:2, :2] += [[1 / g2 - two * a * a, two * a * b], [two * a * b, -1 / g2 - two * b * b]]
    return float(value), grad, hess


def _derivatives(family, x, w, mass, p):
    """Log-likelihood, gradient and Hessian in (alpha, beta, delta, mu)."""
    a, b, d, mu = p
    if not (a > abs(b) and d > 0.0):
        return -math.inf, None, None
    t = x - mu
    q2 = d * d + t * t
    q = np.sqrt(q2)
    c, gc, hc = _norm(family, a, b, d)
    if family == NIG:
        k, k1, k2 = _log_k1(a * q)
        h, ha, hq = k - np.log(q), q * k1, a * k1 - 1.0 / q
        haa, haq, hqq = w @ (q2 * k2), k1 + a * q * k2, a * a * k2 + 1.0 / q2
    else:
        h, ha, hq, haa, haq, hqq = -a * q, -q, np.full_like(q, -a), 0.0, np.full_like(q, -1.0), 0.0
    wq = w / q
    u = d / q
    v = -t / q
    drift = w @ t
    ll = mass * c + b * drift + w @ h
    over = hq / q
    grad = np.array([w @ ha, drift, d * (wq @ hq), wq @ (-t * hq) - b * mass])
    grad[:3] += mass * gc
    wr = w * (hqq - over)
    hess = np.zeros((4, 4))
    hess[0, 0] = haa
    whq = w * haq
    hess[0, 2] = hess[2, 0] = whq @ u
    hess[0, 3] = hess[3, 0] = whq @ v
    total = w @ over
    hess[2, 2] = (wr * u) @ u + total
    hess[2, 3] = hess[3, 2] = (wr * u) @ v
    hess[3, 3] = (wr * v) @ v + total
    hess[1, 3] = hess[3, 1] = -mass
    hess[:3, :3] += mass * hc
    return float(ll), grad, hess


def _transformed(p, grad, hess, tied):
    """Gradient and Hessian in (log(alpha - beta), log(alpha + beta), log delta, mu); `tied`: alpha and beta as they are."""
    a, b, d, _mu = p
    J = np.diag([1.0, 1.0, d, 1.0])
    extra = np.array([0.0, 0.0, grad[2] * d, 0.0])
    if not tied:
        lo, hi = 0.5 * (a - b), 0.5 * (a + b)
        J[:2, :2] = [[lo, hi], [-lo, hi]]
        extra[:2] = (grad[0] - grad[1]) * lo, (grad[0] + grad[1]) * hi
    H = J.T @ hess @ J
    H[np.diag_indices(4)] += extra
    return J.T @ grad, H


def _moved(p, step, tied):
    a, b, d, mu = p
    if tied:
        a, b = a + step[0], b + step[1]
    else:
        lo, hi = (a - b) * math.exp(step[0]), (a + b) * math.exp(step[1])
        a, b = 0.5 * (lo + hi), 0.5 * (hi - lo)
    return a, b, d * math.exp(step[2]), mu + step[3]


def _newton(family, x, w, mass, p, free, tied):
    """From a start to a maximum: (parameters, log-likelihood, Hessian, passes, status)."""
    ll, grad, hess = _derivatives(family, x, w, mass, p)
    damping, status, passes, tries = 1e-3, codes.MAX_ITER, 1, 0
    if grad is None:
        return p, ll, hess, passes, codes.DEGENERATE
    g, H = _transformed(p, grad, hess, tied)
    while passes < 300:
        A = -H[np.ix_(free, free)]
        try:
            root = np.linalg.cholesky(A + damping * mass * np.eye(len(free)))
        except np.linalg.LinAlgError:
            damping = max(4.0 * damping, 1e-3)
            if damping > 1e8:
                break
            continue
        half = np.linalg.solve(root, g[free])
        step = np.zeros(4)
        step[free] = np.linalg.solve(root.T, half)
        gain = 0.5 * half @ half
        longest = np.abs(step[:3]).max()
        if longest > 3.0:
            damping = max(4.0 * damping, 1e-3)
            continue
        new = _moved(p, step, tied)
        passes, tries = passes + 1, tries + 1
        new_ll, new_grad, new_hess = _derivatives(family, x, w, mass, new)
        if new_ll >= ll - 1e-14 * abs(ll):
            p, ll, hess, tries, damping = new, new_ll, new_hess, 0, damping * 0.1
            damping = damping if damping > 1e-12 else 0.0
            g, H = _transformed(p, new_grad, hess, tied)
            if p[0] * p[2] > _FAR or p[0] > _FARTHEST:
                return p, ll, hess, passes, codes.NORMAL_LIMIT
            if p[2] < _NEAR or p[0] < _NEAR:
                return p, ll, hess, passes, codes.DEGENERATE
        else:
            damping = max(4.0 * damping, 1e-4)
        if gain < 1e-10:
            return p, ll, hess, passes, codes.OK if p[2] > _LEAST else codes.DEGENERATE
        if tries > 30:
            break
    return p, ll, hess, passes, status


def _centre_and_spread(x):
    """The median, and the quartile distance in standard deviations of a normal distribution, else the standard deviation."""
    low, centre, high = np.quantile(x, [0.25, 0.5, 0.75])
    return float(centre), float((high - low) / 1.35) or float(np.std(x))


def climb(family, x, w, fixed):
    """Maximum likelihood from three starts.

    Parameters
    ----------
    family : {"nig", "hyperbolic"}
    x, w : array of shape (n,)
        Data and weights > 0.
    fixed : array of shape (4,)
        Values of (alpha, beta, delta, mu) that are fixed, NaN elsewhere.

    Returns
    -------
    params, loglik, information, passes, status
    """
    centre, spread = _centre_and_spread(x)
    units = np.array([1 / spread, 1 / spread, spread, spread])
    shift = np.array([0.0, 0.0, 0.0, centre])
    inner = (fixed - shift) / units
    known = np.isfinite(fixed)
    free, tied = np.flatnonzero(~known), bool(known[:2].any())
    y, mass = (x - centre) / spread, float(w.sum())
    best, passes = None, 0
    with np.errstate(all="ignore"):
        for start in _STARTS if family == NIG else _HYPERBOLIC_STARTS:
            p = np.where(known, inner, start)
            if known[0] and not known[1]:
                p[1] = 0.0
            if known[1] and not known[0]:
                p[0] = max(p[0], 1.5 * abs(p[1]))
            found = _newton(family, y, w, mass, tuple(p.tolist()), free, tied)
            passes += found[3]
            if best is None or found[1] > best[1] + 1e-9:
                best = found
            if found[4] == codes.OK:
                break
    p, ll, hess, _n, status = best
    information = np.full((4, 4), math.nan) if hess is None else -hess / np.outer(units, units)
    params = np.where(known, fixed, np.array(p) * units + shift)
    return params, ll - mass * math.log(spread), information, passes, status


def variance_gamma_climb(x, w, fixed):
    """Maximum likelihood of (lam, alpha, beta, mu) as `climb`, by quasi-Newton and simplex steps; lam is at least 0.51."""
    from scipy.optimize import minimize

    from numbastats.distributions.hyperbolic import variance_gamma

    centre, spread = _centre_and_spread(x)
    units = np.array([1.0, 1 / spread, 1 / spread, spread])
    shift = np.array([0.0, 0.0, 0.0, centre])
    known, y, mass = np.isfinite(fixed), (x - centre) / spread, float(w.sum())
    free = np.flatnonzero(~known)
    inner = (fixed - shift) / units
    evaluations = 0

    def natural(theta):
        full = np.zeros(4)
        full[free] = theta
        lam = 0.51 + math.exp(min(full[0], 12.0))
        alpha = math.exp(min(full[1], 12.0))
        beta = alpha * math.tanh(full[2])
        if known[2]:  # alpha - |beta| > 0 in place of alpha
            alpha, beta = abs(inner[2]) + alpha, inner[2]
        return np.where(known, inner, [lam, alpha, beta, full[3]])

    def total(values):
        return float(w @ variance_gamma.logpdf(y, *values, device="cpu", workers=1))

    def loss(theta):
        nonlocal evaluations
        evaluations += 1
        value = total(natural(theta))
        return -value / mass if math.isfinite(value) else 1e10

    best = None
    for lam, alpha in ((1.0, 1.3), (3.0, 2.5)):
        start = np.array([math.log(lam - 0.51), math.log(alpha), 0.0, 0.01])[free]
        found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
        found = minimize(loss, found.x, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13, "maxiter": 2000})
        if best is None or found.fun < best.fun:
            best = found
    p = natural(best.x)
    information = np.full((4, 4), math.nan)
    if p[0] > 1.5 and np.all(np.isfinite(p)):  # below, the density has a kink at mu
        h = 1e-4 * np.maximum(np.abs(p), 0.1)
        E = np.diag(h)
        for i in range(4):
            for j in range(i + 1):
                four = [total(p + s * E[i] + t * E[j]) * s * t for s in (1, -1) for t in (1, -1)]
                information[i, j] = information[j, i] = -sum(four) / (4 * h[i] * h[j])
    information /= np.outer(units, units)
    status = codes.OK if best.success else codes.MAX_ITER
    if not known[0] and p[0] < 0.5101:
        status = codes.DEGENERATE
    if p[0] > 1e4:
        status = codes.NORMAL_LIMIT
    return np.where(known, fixed, p * units + shift), -best.fun * mass - mass * math.log(spread), information, evaluations, status
