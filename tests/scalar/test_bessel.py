"""Bessel functions and exponential integrals against mpmath; tolerances in relative error, observed maxima beside."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

from numbastats.scalar import bessel, loops
from tests.contract import built

mp.mp.dps = 40
INF, NAN = np.inf, np.nan


def scaled(function, order, sign):
    return lambda x: function(order, x) * mp.exp(sign * abs(x))


# reference, intervals, tolerance float64, float32
CASES = {
    "i0": (lambda x: mp.besseli(0, x), [(1e-200, 1e-3), (1e-3, 8), (7, 88)], 7e-16, 5e-7),  # 4.8e-16, 3.1e-7
    "i1": (lambda x: mp.besseli(1, x), [(1e-200, 1e-3), (1e-3, 8), (7, 88)], 7e-16, 5e-7),  # 4.5e-16, 2.2e-7
    "i0e": (scaled(mp.besseli, 0, -1), [(1e-200, 1e-3), (1e-3, 8), (7, 1e5)], 7e-16, 5e-7),  # 4.6e-16, 2.2e-7
    "i1e": (scaled(mp.besseli, 1, -1), [(1e-200, 1e-3), (1e-3, 8), (7, 1e5)], 7e-16, 5e-7),  # 4.6e-16, 3.1e-7
    "k0": (lambda x: mp.besselk(0, x), [(1e-200, 1e-3), (1e-3, 3), (0.9, 80)], 7e-16, 5e-7),  # 3.5e-16, 1.9e-7
    "k1": (lambda x: mp.besselk(1, x), [(1e-200, 1e-3), (1e-3, 3), (0.9, 80)], 7e-16, 5e-7),  # 4.9e-16, 2.4e-7
    "k0e": (scaled(mp.besselk, 0, 1), [(1e-200, 1e-3), (1e-3, 3), (0.9, 1e5)], 7e-16, 5e-7),  # 3.7e-16, 1.7e-7
    "k1e": (scaled(mp.besselk, 1, 1), [(1e-200, 1e-3), (1e-3, 3), (0.9, 1e5)], 7e-16, 5e-7),  # 3.5e-16, 1.9e-7
    "exp1": (mp.e1, [(1e-200, 1e-3), (1e-3, 3), (0.9, 80)], 8e-16, 4e-7),  # 4.9e-16, 1.9e-7
    "expi": (mp.ei, [(1e-200, 1e-3), (1e-3, 6), (0.37, 0.375), (5, 40), (39, 80)], 2e-15, 1.2e-6),  # 1.5e-15, 8.7e-7
}


def apply(f, x, target="serial"):
    out = np.empty_like(x)
    if target == "cuda":
        built(loops.map1_cuda, "cuda", _f=f)[2, 32](x, out)
    else:
        built(loops.map1_cpu, target, _f=f)(x, out)
    return out


def points(lo, hi, dtype):
    rng = np.random.default_rng(3)
    lo = max(lo, float(np.finfo(dtype).tiny) * 2)
    x = np.concatenate([np.exp(rng.uniform(np.log(lo), np.log(hi), 40)), rng.uniform(lo, hi, 60)])
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_against_mpmath(name, dtype):
    reference, intervals, tol64, tol32 = CASES[name]
    x = np.concatenate([points(a, b, dtype) for a, b in intervals])
    y = apply(getattr(bessel, name), x)
    assert y.dtype == dtype
    worst, info = 0.0, np.finfo(dtype)
    for xi, yi in zip(x, y, strict=True):
        exact = reference(mp.mpf(float(xi)))
        if float(info.tiny) < abs(exact) < float(info.max):
            worst = max(worst, float(abs(mp.mpf(float(yi)) / exact - 1)))
    assert worst <= (tol64 if dtype == np.float64 else tol32)


def test_next_to_the_ends_of_double_precision():
    """700 and beyond: exp of x there has 3e-16 |x|; Ei and I up to their overflow at 716 and 713."""
    for name, x in (("i0", 713.0), ("i1", -713.0), ("expi", 716.0), ("k0", 700.0), ("k1", 700.0), ("exp1", 700.0)):
        exact = CASES[name][0](mp.mpf(x))
        assert abs(mp.mpf(float(getattr(bessel, name)(x))) / exact - 1) < 1e-15, name
    assert bessel.i0(714.0) == bessel.expi(717.0) == INF


EDGES = {
    "i0": {0.0: 1, INF: INF, -INF: INF, NAN: NAN, -2.0: sp.i0(2.0)},
    "i1": {0.0: 0, INF: INF, -INF: -INF, NAN: NAN, -2.0: -sp.i1(2.0), -20.0: -sp.i1(20.0)},
    "i0e": {0.0: 1, INF: 0, -INF: 0, NAN: NAN, -2.0: sp.i0e(2.0)},
    "i1e": {0.0: 0, INF: 0, -INF: 0, NAN: NAN, -2.0: -sp.i1e(2.0)},
    "k0": {0.0: INF, INF: 0, -1.0: NAN, -INF: NAN, NAN: NAN},
    "k1": {0.0: INF, INF: 0, -1.0: NAN, NAN: NAN},
    "k0e": {0.0: INF, INF: 0, -1.0: NAN, NAN: NAN},
    "k1e": {0.0: INF, INF: 0, -1.0: NAN, NAN: NAN},
    "exp1": {0.0: INF, INF: 0, -1.0: NAN, -INF: NAN, NAN: NAN},
    "expi": {0.0: -INF, INF: INF, -INF: 0, NAN: NAN, -1.0: sp.expi(-1.0)},
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, dtype):
    x, expected = (np.array(list(v), dtype) for v in (EDGES[name].keys(), EDGES[name].values()))
    np.testing.assert_allclose(apply(getattr(bessel, name), x), expected, rtol=6 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", CASES)
def test_twins_agree(name):
    """The loops of threads and of the GPU; integers become float64."""
    x = np.linspace(0.1, 30.0, 70)
    f = getattr(bessel, name)
    serial = apply(f, x)
    assert np.array_equal(serial, apply(f, x, "parallel"))
    np.testing.assert_allclose(apply(f, x, "cuda"), serial, rtol=5e-16)
    assert f(2) == f(2.0)
