"""Plain versions of the room's formulas, and the data that several of its tests share."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.bayes import kernels as k
from numbastats.bayes.likelihood import Rows

mp.mp.dps = 40


SAMPLERS = ("gibbs", "px-gibbs", "split-hmc", "surrogate")


def exact_log_exe1(x):
    x = mp.mpf(float(x))
    if x > 200:  # the asymptotic series has 40 digits here
        return mp.log(mp.fsum((-1) ** j * mp.fac(j) / x ** (j + 1) for j in range(100 if x > 1000 else 150)))
    return mp.log(mp.exp(x) * mp.e1(x))


def random_rows(n, p, dtype=np.float64, seed=0, device="cpu", workers=1):
    rng = np.random.default_rng(seed)
    return Rows(np.ascontiguousarray(rng.standard_normal((n, p)), dtype), device, workers), rng.standard_normal((2, p)) * 0.4


STREAMS = np.array([6, 13], np.uint32)


def check_passes(rows, X, B):
    """Against SciPy on the rows X, and the scalar draws."""
    n = len(X)
    m = B @ X.T
    loglik, g = rows.loglik(B)
    np.testing.assert_allclose(loglik, scipy.special.log_ndtr(m).sum(axis=1), rtol=1e-13)
    r = np.exp(scipy.stats.norm.logpdf(m) - scipy.special.log_ndtr(m))
    np.testing.assert_allclose(g, r @ X, rtol=1e-12, atol=1e-12)
    key = np.uint32(1), np.uint32(2)
    g, squares = rows.latent(B, key, STREAMS, 9)
    e = np.array([[k.latent_row(*key, STREAMS[c], np.uint32(9), i, m[c, i])[0] for i in range(n)] for c in range(2)])
    assert (e > -m).all()
    np.testing.assert_allclose(squares, (e * e).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(g, e @ X, rtol=1e-10, atol=1e-11)


def grid_posterior(X, y, sd, slab=np.inf):
    """Posterior of one coefficient with a normal prior, on a grid: points and weights."""
    s = np.where(y, 1.0, -1.0)
    b = np.linspace(-6 * sd, 6 * sd, 4001)
    l = scipy.special.log_ndtr(s[:, None] * X * b).sum(axis=0) - 0.5 * b * b * (1 / sd**2 + 1 / slab**2)  # noqa: E741
    w = np.exp(l - l.max())
    return b, w / w.sum()


def data(n=120, p=4, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] - 0.5 + rng.standard_normal(n) > 0


def quick(**options):
    return ns.bayes.BayesProbit(**(dict(chains=2, warmup=60, draws=40, rng=4, sampler="split-hmc") | options))


def nearly_separable(slope=2.0):
    """Nearly separable."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 10))
    return X, slope * (X[:, 0] - X[:, 1]) + rng.standard_normal(80) > 0


def autoregressive(rho, chains, n, seed=0):
    rng = np.random.default_rng(seed)
    e = rng.standard_normal((chains, n))
    x = np.empty((chains, n))
    x[:, 0] = e[:, 0]
    for i in range(1, n):
        x[:, i] = rho * x[:, i - 1] + math.sqrt(1 - rho * rho) * e[:, i]
    return x


# --- plain samplers of other responses under the horseshoe ---------------------------------------------------------------


def polya_gamma(rng, c, terms=200):
    """Draws of PG(1, c) by its sum of exponential draws (Polson, Scott, Windle 2013, eq. 2), the rest by its mean."""
    k = np.arange(1, terms + 1) - 0.5
    c = np.abs(c)[:, None] + 1e-12
    shares = 1.0 / (k * k + (c / (2.0 * math.pi)) ** 2)
    whole = (math.pi**2) * np.tanh(0.5 * c[:, 0]) / c[:, 0]  # the sum of all shares
    drawn = (rng.standard_exponential((c.shape[0], terms)) * shares).sum(axis=1)
    return (drawn + whole - shares.sum(axis=1)) / (2.0 * math.pi**2)


def horseshoe_scales(rng, b, state, scale=1.0):
    """Makalic and Schmidt (2016): lambda^2, nu, tau^2, xi given coefficients b, in place; prior precisions of b.

    Of the horseshoe+, with phi^2 and zeta: lambda is half-Cauchy of scale phi, phi half-Cauchy of scale 1.
    """
    p = b.size
    state["l2"] = (1.0 / state["nu"] + 0.5 * b * b / state["t2"]) / rng.standard_exponential(p)
    state["nu"] = (1.0 / state.get("phi2", 1.0) + 1.0 / state["l2"]) / rng.standard_exponential(p)
    if "phi2" in state:
        state["phi2"] = (1.0 / state["zeta"] + 1.0 / state["nu"]) / rng.standard_exponential(p)
        state["zeta"] = (1.0 + 1.0 / state["phi2"]) / rng.standard_exponential(p)
    state["t2"] = (1.0 / state["xi"] + 0.5 * (b * b / state["l2"]).sum()) / rng.standard_gamma(0.5 * (p + 1))
    state["xi"] = (1.0 / scale**2 + 1.0 / state["t2"]) / rng.standard_exponential()
    return 1.0 / (state["l2"] * state["t2"])


def start_of_scales(p, plus=False):
    second = {"phi2": np.ones(p), "zeta": np.ones(p)} if plus else {}
    return {"l2": np.ones(p), "nu": np.ones(p), "t2": 1.0, "xi": 1.0} | second


def normal_draw(rng, H, h):
    """A draw of N(H^-1 h, H^-1)."""
    L = np.linalg.cholesky(H)
    return np.linalg.solve(L.T, np.linalg.solve(L, h) + rng.standard_normal(h.size))


def plain_logit(X, y, draws, seed, weights=None, offset=0.0, intercept_scale=10.0):
    """Polya-Gamma Gibbs sampling; draws of intercept, coefficients and log tau. Weights are integers: rows are repeated."""
    rng = np.random.default_rng(seed)
    offset = np.broadcast_to(offset, y.shape)
    if weights is not None:
        X, y, offset = (np.repeat(a, weights, axis=0) for a in (X, y, offset))
    Z = np.column_stack([np.ones(len(X)), X])
    state, b, d = start_of_scales(X.shape[1]), np.zeros(Z.shape[1]), np.ones(Z.shape[1])
    d[0], out = intercept_scale**-2.0, []
    for _ in range(draws):
        omega = polya_gamma(rng, Z @ b + offset)
        b = normal_draw(rng, (Z.T * omega) @ Z + np.diag(d), Z.T @ (y - 0.5 - omega * offset))
        d[1:] = horseshoe_scales(rng, b[1:], state)
        out.append([*b, 0.5 * math.log(state["t2"])])
    return np.array(out)[draws // 10 :]


def plain_gaussian(X, y, draws, seed, weights=None, plus=False):
    """Gibbs sampling, sigma given the coefficients; draws of intercept, coefficients, log tau, log sigma. Flat intercept."""
    rng = np.random.default_rng(seed)
    if weights is not None:
        X, y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    n, p = X.shape
    Z = np.column_stack([np.ones(n), X])
    state, b, d, out = start_of_scales(p, plus), np.zeros(p + 1), np.ones(p + 1), []
    d[0] = 0.0
    for _ in range(draws):
        rest = y - Z @ b
        sigma2 = 0.5 * (rest @ rest + (d * b) @ b) / rng.standard_gamma(0.5 * (n + p))
        d[1:] = horseshoe_scales(rng, b[1:] / math.sqrt(sigma2), state)
        b = normal_draw(rng, (Z.T @ Z + np.diag(d)) / sigma2, Z.T @ y / sigma2)
        out.append([*b, 0.5 * math.log(state["t2"]), 0.5 * math.log(sigma2)])
    return np.array(out)[draws // 10 :]


def plain_poisson(X, y, draws, seed, weights=1.0, offset=0.0):
    """Random-walk Metropolis steps of the coefficients, Gibbs steps of the scales; intercept, coefficients, log tau."""
    rng = np.random.default_rng(seed)
    Z = np.column_stack([np.ones(len(X)), X])
    state, b, out = start_of_scales(X.shape[1]), np.zeros(Z.shape[1]), []
    b[0] = math.log(y.mean() + 0.1)
    d = np.zeros(b.size)

    def density(b):
        m = Z @ b + offset
        return (weights * (y * m - np.exp(m))).sum() - 0.5 * (d * b) @ b

    mean = np.exp(Z @ b + offset) * weights
    step = np.linalg.cholesky(np.linalg.inv((Z.T * mean) @ Z + 0.1 * np.eye(b.size))) * 1.2 / math.sqrt(b.size)
    for _ in range(draws):
        d[1:] = horseshoe_scales(rng, b[1:], state)
        for _ in range(6):
            new = b + step @ rng.standard_normal(b.size)
            if math.log(rng.random()) < density(new) - density(b):
                b = new
        out.append([*b, 0.5 * math.log(state["t2"])])
    return np.array(out)[draws // 10 :]


def check_against_plain(model, plain, names=("log_tau",)):
    """Means within 4 standard errors, standard deviations and quantiles close; `plain` has shape (draws, k) of one chain."""
    x = np.concatenate([model.draws_["intercept"][:, :, None], model.draws_["beta"]], axis=2)
    x = np.concatenate([x, *(model.draws_[name][:, :, None] for name in names)], axis=2)
    flat = x.reshape(-1, x.shape[2])
    assert flat.shape[1] == plain.shape[1]
    error = np.sqrt(flat.var(axis=0) / ns.bayes.ess_bulk(x) + plain.var(axis=0) / ns.bayes.ess_bulk(plain[None]))
    z = (flat.mean(axis=0) - plain.mean(axis=0)) / error
    assert abs(z).max() < 4.0, z
    bulk = slice(0, -len(names))  # log tau has a long tail
    np.testing.assert_allclose(flat.std(axis=0)[bulk], plain.std(axis=0)[bulk], rtol=0.08)
    for level in (0.05, 0.5, 0.95):
        np.testing.assert_allclose((flat <= np.quantile(plain, level, axis=0)).mean(axis=0), level, atol=0.03)
