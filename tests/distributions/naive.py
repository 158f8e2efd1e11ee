"""Cases and plain formulas that the tests of `distributions` share."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import scipy.optimize
import scipy.special

from numbastats.distributions import generalized_hyperbolic, hyperbolic, nig, student_t, variance_gamma

LAWS = {
    "student_t": (student_t, [(0.8,), (2.5,), (40.0,)]),
    "hyperbolic": (hyperbolic, [(1.5, 0.3, 1.0), (5.0, 4.0, 0.5, 2.0)]),
    "generalized_hyperbolic": (
        generalized_hyperbolic,
        [(1.5, 2.0, 0.5, 1.0), (-1.2, 1.0, -0.4, 0.3, -1.0), (25.0, 3.0, 1.0, 2.0)],
    ),
    "nig": (nig, [(1.5, 0.3, 1.0)]),
    "variance_gamma": (variance_gamma, [(0.3, 1.5, 0.3), (0.5, 1.5, 0.3), (1.0, 1.5, 0.3), (3.0, 1.5, -0.9, 0.5)]),
}


CASES = [(law, p) for law, sets in LAWS.values() for p in sets]


X = np.array([-30.0, -3.0, -0.5, -1e-3, 0.2, 1.0, 5.0, 40.0])


def general(law, p):
    """lam, alpha, beta, delta, mu in mpmath."""
    p = [mpmath.mpf(v) for v in p]
    if law is student_t:
        return p
    if law is hyperbolic:
        p = [mpmath.mpf(1), *p]
    if law is nig:
        p = [mpmath.mpf(-0.5), *p]
    if law is variance_gamma:
        p = [*p[:3], mpmath.mpf(0), *p[3:]]
    return p if len(p) == 5 else [*p, mpmath.mpf(0)]


def exact_pdf(law, p, x):
    x = mpmath.mpf(float(x))
    if law is student_t:
        (n,) = general(law, p)
        c = mpmath.gamma((n + 1) / 2) / mpmath.gamma(n / 2) / mpmath.sqrt(n * mpmath.pi)
        return c * (1 + x * x / n) ** (-(n + 1) / 2)
    lam, a, b, d, mu = general(law, p)
    s = x - mu
    v, g, gamma = lam - mpmath.mpf(0.5), mpmath.sqrt(d * d + s * s), mpmath.sqrt(a * a - b * b)
    body = g**v * mpmath.besselk(v, a * g) * mpmath.exp(b * s)
    if d == 0:
        return gamma ** (2 * lam) * body / ((2 * a) ** v * mpmath.sqrt(mpmath.pi) * mpmath.gamma(lam))
    return (gamma / d) ** lam * body / (mpmath.sqrt(2 * mpmath.pi) * mpmath.besselk(lam, d * gamma) * a**v)


# --- the generalised normal distribution: all values, and a grid of beta ------------------------------------------------


def gennorm_profile(beta, loc, x, w):
    """The log-likelihood at the likeliest scale."""
    r = np.abs(x - loc)
    unit, a = r.max(), 1.0 / beta
    m = np.sum(w * (r / unit) ** beta) / w.sum()
    return w.sum() * (-math.log(2.0 * unit) - scipy.special.gammaln(1.0 + a) - a * (1.0 + math.log(beta * m)))


def gennorm_centre(beta, x, w):
    """The loc of the least sum of |x - loc|^beta, beta > 1."""

    def slope(t):
        r = np.abs(x - t)
        p = w * (r / r.max()) ** (beta - 1.0)
        return math.log(np.sum(p[x > t]) + 1e-300) - math.log(np.sum(p[x < t]) + 1e-300)

    low, high = x.min(), x.max()
    return scipy.optimize.brentq(slope, low, high, xtol=1e-15 * (high - low), rtol=1e-15)


def _peaks(value, grid, floor):
    """Local maxima of a function of beta above a floor, from its values on a grid."""
    found, v = [], np.array([value(b) for b in grid])
    for k in np.flatnonzero((v[1:-1] >= v[:-2]) & (v[1:-1] > v[2:]) & (v[1:-1] > floor - 1.0)) + 1:
        bracket = np.log(grid[k - 1 : k + 2])
        best = scipy.optimize.minimize_scalar(lambda t: -value(math.exp(t)), bounds=bracket[[0, 2]], method="bounded")
        found.append(max(-best.fun, v[k]))
    return found


def gennorm_maximum(x, w=None):
    """The best local maximum of the likelihood with beta above 1/16, -inf if there is none; and the uniform distribution's."""
    x = np.asarray(x, float)
    w = np.ones(x.size) if w is None else w
    best = -math.inf
    below = np.r_[np.geomspace(0.0625, 0.8, 36), np.linspace(0.81, 1.0, 20), 1.0 + 1e-7]
    above = np.r_[np.linspace(1.0 + 1e-9, 2.2, 46), np.geomspace(2.3, max(4.0 * x.size, 64.0), 30)]
    for loc in np.unique(x):
        best = max([best, *_peaks(lambda b, loc=loc: gennorm_profile(b, loc, x, w), below, best)])
    best = max([best, *_peaks(lambda b: gennorm_profile(b, gennorm_centre(b, x, w), x, w), above, best)])
    return best, -w.sum() * math.log(np.ptp(x))
