"""VarianceGamma."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import scipy.special
from mpmath import mpf

from numbastats.distributions import VarianceGamma
from tests.distributions.cases import Case, Estimates, generalized_hyperbolic


def log_density(x, lam, a, b, m):
    return (
        2 * lam * math.log(math.sqrt(a * a - b * b))
        + (lam - 0.5) * np.log(np.abs(x - m) / (2 * a))
        + np.log(scipy.special.kve(lam - 0.5, a * np.abs(x - m)))
        - a * np.abs(x - m)
        + b * (x - m)
        - 0.5 * math.log(math.pi)
        - math.lgamma(lam)
    )


CASE = Case(
    cls=VarianceGamma,
    objects=(VarianceGamma(1.3, 1.5, 0.3, 0.2),),
    often=True,
    exact=dataclasses.replace(generalized_hyperbolic.EXACT, shapes=lambda p: (p["lam"], p["alpha"], p["beta"], mpf(0), p["mu"])),
    estimates=Estimates(
        draws=lambda rng, n: 0.1 + 0.2 * (g := rng.gamma(2.5, 1.0, n)) + np.sqrt(g) * rng.normal(size=n), log_density=log_density
    ),
)
