"""GeneralizedHyperbolic."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp, mpf

from numbastats.distributions import GeneralizedHyperbolic
from tests.distributions.cases import Case, Estimates
from tests.distributions.exact import ORDERS, Exact, bessels


def density(x, lam, a, b, delta, mu):
    s, gamma, v = x - mu, mp.sqrt(a * a - b * b), lam - mpf(0.5)
    g = mp.sqrt(delta**2 + s * s)
    body = v * mp.log(g) + mp.log(mp.besselk(v, a * g)) + b * s
    if delta == 0:
        return 2 * lam * mp.log(gamma) + body - v * mp.log(2 * a) - mp.log(mp.pi) / 2 - mp.loggamma(lam)
    return lam * mp.log(gamma / delta) + body - mp.log(2 * mp.pi) / 2 - mp.log(mp.besselk(lam, delta * gamma)) - v * mp.log(a)


def moments(lam, a, b, delta, mu):
    """About mu."""
    gamma = mp.sqrt((a - b) * (a + b))
    if delta == 0:
        w = [(2 / gamma**2) ** k * mp.rf(lam, k) for k in ORDERS]
    else:
        k = bessels(lam, delta * gamma, 5)
        w = [(delta / gamma) ** i * k[i] / k[0] for i in ORDERS]
    return [b * w[0], w[0] + b**2 * w[1], 3 * b * w[1] + b**3 * w[2], 3 * w[1] + 6 * b**2 * w[2] + b**4 * w[3]]


def entropy(lam, a, b, delta, mu):
    """By equal steps in the logarithm of the distance from mu."""
    total, step = mpf(0), mpf("0.1")
    reach = 2 * lam if delta == 0 and lam < 0.5 else 1
    for k in range(-int(380 / reach), 80):
        for y in (mp.exp(k * step), -mp.exp(k * step)):
            log = density(y, lam, a, b, delta, mpf(0))
            total -= step * mp.exp(log + k * step) * log
    return total


EXACT = Exact(
    density=density, moments=moments, entropy=entropy, shapes=lambda p: (p["lam"], p["alpha"], p["beta"], p["delta"], p["mu"])
)


CASE = Case(
    cls=GeneralizedHyperbolic,
    objects=(GeneralizedHyperbolic(1.5, 2.0, 0.5, 1.0, 0.3),),
    exact=EXACT,
    estimates=Estimates(
        draws=lambda rng, n: st.genhyperbolic.rvs(-1.3, 0.6, 0.2, 0.3, 1.5, size=n, random_state=rng),
        log_density=lambda x, lam, a, b, d, m: st.genhyperbolic.logpdf(x, lam, a * d, b * d, m, d),
    ),
)
