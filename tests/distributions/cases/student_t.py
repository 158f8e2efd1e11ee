"""StudentT."""

from __future__ import annotations

import numpy as np
import scipy.stats as st
from mpmath import mp, mpf

from numbastats.distributions import StudentT
from tests.distributions.cases import Case, Estimates, Likelihood
from tests.distributions.exact import Exact, even_tails


def density(z, n):
    norm = mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2) - mp.log(n * mp.pi) / 2
    return norm - (n + 1) / 2 * mp.log(1 + z * z / n)


def tails(z, n):
    return even_tails(z, mp.betainc(n / 2, mpf(0.5), 0, n / (n + z * z), regularized=True) / 2)


def entropy(n):
    norm = mp.log(n) / 2 + mp.loggamma(n / 2) + mp.loggamma(mpf(0.5)) - mp.loggamma((n + 1) / 2)
    return (n + 1) / 2 * (mp.psi(0, (n + 1) / 2) - mp.psi(0, n / 2)) + norm


CASE = Case(
    cls=StudentT,
    objects=(StudentT(4.5, -1.0, 0.5),),
    often=True,
    exact=Exact(density=density, tails=tails, entropy=entropy),
    tails=(
        (StudentT(4.0), 1e-14, 3e-14, 4e-14),  # observed 0, 8.2e-15, 1.2e-14
        (StudentT(150.0), 1e-14, 3e-13, 1e-14),  # 1.2e-16, 8.0e-14, 0
        (StudentT(1e6), 1e-14, 1e-13, 1e-14),  # 3.1e-15, 3.2e-14, 3.3e-15
    ),
    likelihood=Likelihood(peer=st.t, truth=(4.0, 1.0, 2.0), located=True, squares=True),
    estimates=Estimates(
        draws=lambda rng, n: 1.0 + 2.0 * rng.standard_t(3.5, n),
        log_density=st.t.logpdf,
        truth=(3.5, 1.0, 2.0),
        cdf=lambda x, a, b, c: st.t.cdf(x, a, b, c) if b < 1e9 and np.isfinite(a) else st.norm.cdf(x, b, c),
    ),
    orders=3,
)
