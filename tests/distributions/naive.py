"""Cases and plain formulas that the tests of `distributions` share."""

from __future__ import annotations

import mpmath
import numpy as np

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
