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
