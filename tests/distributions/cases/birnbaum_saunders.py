"""BirnbaumSaunders."""

from __future__ import annotations

import scipy.stats as st
from mpmath import mp

from numbastats.distributions import BirnbaumSaunders
from tests.distributions.cases import Case, Fits
from tests.distributions.exact import Exact


def entropy(a):
    with mp.workdps(30):
        log = mp.quad(lambda y: mp.exp(-y * y / 2) * mp.log1p((a * y / 2) ** 2), [0, 1 / a, 10 / a] if a > 3 else [0, 3, 10])
        tail = mp.quad(lambda y: mp.exp(-y * y / 2) * mp.log1p((a * y / 2) ** 2), [10 / a, 1, 10]) if a > 3 else 0
        return mp.log(2 * mp.pi * mp.e) / 2 + mp.log(a) - (log + tail) / mp.sqrt(2 * mp.pi)


def moments(a):
    return [
        1 + a**2 / 2,
        1 + 2 * a**2 + 1.5 * a**4,
        1 + 4.5 * a**2 + 9 * a**4 + 7.5 * a**6,
        1 + 8 * a**2 + 30 * a**4 + 60 * a**6 + 52.5 * a**8,
    ]


CASE = Case(
    cls=BirnbaumSaunders,
    objects=(BirnbaumSaunders(0.7, 0.5, 2.0),),
    exact=Exact(
        density=lambda z, a: (
            mp.log((z + 1) / (2 * a * mp.sqrt(2 * mp.pi * z**3))) - (mp.sqrt(z) - 1 / mp.sqrt(z)) ** 2 / (2 * a * a)
        ),
        tails=lambda z, a: tuple(mp.erfc(s * (mp.sqrt(z) - 1 / mp.sqrt(z)) / (a * mp.sqrt(2))) / 2 for s in (-1, 1)),
        moments=moments,
        entropy=entropy,
    ),
    tails=(
        (BirnbaumSaunders(0.01), 1e-14, 4e-13, 1e-14),  # observed 0, 1.1e-13, 0
        (BirnbaumSaunders(50.0), 1e-14, 6e-13, 1e-14),  # 4e-17, 1.8e-13, 2e-17
    ),
    scores=(BirnbaumSaunders(0.7, 0.1, 2.0),),
    shapes=tuple(map(BirnbaumSaunders, (1e-3, 0.7, 30.0))),
    peers=((BirnbaumSaunders(0.7, 1.0, 2.0), st.fatiguelife(0.7, 1.0, 2.0)),),
    fits=Fits(truth=(0.7, 0.0, 2.0), known={"floc": 0.0}),
)
