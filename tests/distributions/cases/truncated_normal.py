"""TruncatedNormal."""

from __future__ import annotations

import numpy as np
import scipy.stats as st
from mpmath import mp, mpf

from numbastats.distributions import TruncatedNormal
from tests.distributions.cases import Case
from tests.distributions.exact import ORDERS, Exact, normal_mass

ENDS = [(-1.0, 2.0), (0.0, 1.0), (5.0, 5.1), (-9.0, 9.5), (-8.0, 8.0), (300.0, 301.0), (-20.0, -19.999), (1.0, 1.001)]
ENDS += [(30.0, np.inf), (1e3, np.inf), (-np.inf, -40.0), (-3.0, np.inf), (-np.inf, np.inf), (-1e3, 1e3), (-0.5, 10.0)]


def ends(p):
    return tuple((p[end] - p["loc"]) / p["scale"] for end in ("lower", "upper"))


def density(z, low, high):
    return -z * z / 2 - mp.log(2 * mp.pi) / 2 - mp.log(normal_mass(low, high))


def tails(z, low, high):
    whole = normal_mass(low, high)
    return normal_mass(low, z) / whole, normal_mass(z, high) / whole


def moments(low, high):
    whole = normal_mass(low, high)
    found = [mpf(0), mpf(1)]  # of orders -1 and 0

    def edge(z, k):
        return z ** (k - 1) * mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi) if abs(z) < mp.inf else mpf(0)

    for k in ORDERS:
        found.append((k - 1) * found[-2] - (edge(high, k) - edge(low, k)) / whole)
    return found[2:]


def entropy(low, high):
    return mp.log(2 * mp.pi) / 2 + mp.log(normal_mass(low, high)) + moments(low, high)[1] / 2


def least(d):
    """Errors are absolute of short intervals."""
    return (1e-300, 1e-300, 1.0) if min(-d.lower, d.upper) > 2.0 else (1.0, 1.0, 1.0)


CASE = Case(
    cls=TruncatedNormal,
    objects=(TruncatedNormal(-1.0, 4.0, 0.5, 2.0),),
    often=True,
    exact=Exact(density=density, tails=tails, moments=moments, entropy=entropy, shapes=ends),
    tails=(
        (TruncatedNormal(-1.0, 2.0), 2e-14, 1e-15, 2e-15),  # observed 4.6e-15, 1.9e-16, 4.6e-16
        (TruncatedNormal(3.0, 4.0), 1e-14, 4e-15, 3e-15),  # 3.1e-15, 1.1e-15, 7.2e-16
        (TruncatedNormal(30.0, np.inf), 4e-13, 4e-13, 4e-15),  # 1.3e-13, 1.4e-13, 1.2e-15
        (TruncatedNormal(-50.0, -49.9, 0.0, 2.0), 2e-13, 2e-13, 3e-15),  # 4.8e-14, 6.3e-14, 6e-16
        (TruncatedNormal(0.5, 0.5001), 5e-15, 4e-15, 4e-15),  # 1.4e-15, 1.2e-15, 9e-16
        (TruncatedNormal(-20.0, 30.0), 3e-14, 1e-14, 4e-15),  # 9.6e-15, 2.8e-15, 9.5e-16
    ),
    cancels=True,
    scores=(TruncatedNormal(0.2, 9.0, 1.0, 2.0),),
    shapes=tuple(TruncatedNormal(*both) for both in ENDS),
    least=least,
    peers=((TruncatedNormal(-1.0, 3.0, 0.5, 2.0), st.truncnorm(-0.75, 1.25, 0.5, 2.0)),),
)
