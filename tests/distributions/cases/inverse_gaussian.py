"""InverseGaussian."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp, mpf

from numbastats.distributions import InverseGaussian
from tests.distributions.cases import Case, Estimates, Likelihood
from tests.distributions.exact import Exact, bessels, normal_tails


def tails(y, m, k):
    r = mp.sqrt(k / y)
    second = mp.exp(2 * k / m) * normal_tails(-r * (y / m + 1))[0]
    lower, upper = normal_tails(r * (y / m - 1))
    return lower + second, upper - second


def moments(m, k):
    v = bessels(mpf(0.5), k / m, 4)
    return [m ** (i + 1) * v[i] / v[0] for i in range(4)]


def entropy(m, k):
    t = 2 * k / m
    return mp.log(2 * mp.pi * mp.e) / 2 - mp.log(k) / 2 + mpf(1.5) * (mp.log(m) - mp.exp(t) * mp.e1(t))


CASE = Case(
    cls=InverseGaussian,
    objects=(InverseGaussian(2.0, 3.0, -1.0),),
    often=True,
    exact=Exact(
        density=lambda y, m, k: mp.log(k / (2 * mp.pi * y**3)) / 2 - k * (y - m) ** 2 / (2 * m * m * y),
        tails=tails,
        moments=moments,
        entropy=entropy,
    ),
    tails=(
        (InverseGaussian(1.0, 2.0), 3e-13, 5e-13, 3e-13),  # observed 9.8e-14, 1.7e-13, 8.5e-14
        (InverseGaussian(1.0, 1e4), 2e-12, 2e-12, 1e-14),  # 6.0e-13, 5.9e-13, 2.3e-15
        (InverseGaussian(1.0, 1e-4), 1e-12, 3e-13, 3e-13),  # 4.6e-13, 8.6e-14, 8.6e-14
        (InverseGaussian(5.0, 0.1), 5e-13, 3e-13, 3e-13),  # 1.6e-13, 7.6e-14, 7.6e-14
    ),
    cancels=True,
    scores=(InverseGaussian(2.0, 3.0, 0.1),),
    shapes=tuple(InverseGaussian(m, 2.0) for m in (1e-3, 0.08, 1.0, 3.9, 4.1, 50.0, 1e5)),
    peers=((InverseGaussian(2.0, 5.0, 1.0), st.invgauss(0.4, 1.0, 5.0)),),
    likelihood=Likelihood(
        peer=st.invgauss,
        truth=(2.0, 3.0, 0.0),
        of_ours=lambda mean, shape, loc: (mean / shape, loc, shape),
        known={"floc": 0.0},
        equations=True,
    ),
    estimates=Estimates(
        draws=lambda rng, n: rng.wald(2.0, 3.0, n),
        log_density=lambda x, a, b: st.invgauss.logpdf(x, a / b, scale=b),
        truth=(2.0, 3.0),
        cdf=lambda x, a, b: st.invgauss.cdf(x, a / b, scale=b),
        positive=True,
    ),
)
