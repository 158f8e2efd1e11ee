"""Poisson and binomial draws against their probabilities; fixed keys, so p-values never change."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as ss
from numba import cuda

from numbastats._core.kernel import device_function
from numbastats.scalar import counts
from numbastats.scalar.incomplete import poisson_log_mass_in_step
from tests.contract import built

K0, K1, STREAM = np.uint32(0x12345678), np.uint32(0x9ABCDEF0), np.uint32(3 | 128 << 24)
NAN, INF = np.nan, np.inf
N = 100_000

_draw = None  # bound by build


def fill(out, k0, k1, stream, a, b):
    for i in range(out.size):
        out[i] = _draw(k0, k1, i, stream, a, b)


def fill_cuda(out, k0, k1, stream, a, b):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _draw(k0, k1, i, stream, a, b)


@device_function
def poisson(k0, k1, item, stream, mean, unused):
    return counts.poisson1(k0, k1, item, stream, mean)


def draw(f, dtype, a, b=0.0, n=N):
    out = np.empty(n, dtype)
    built(fill, "serial", _draw=f)(out, K0, K1, STREAM, dtype(a), dtype(b))
    return out


def chi_square(x, law):
    """p-value of the counts in cells of at least 20 expected draws, the tails beyond in one cell each."""
    first, last = law.ppf([20 / x.size, 1 - 20 / x.size])
    width = max(1, int(last - first) // 200)
    edges = np.arange(first, last + width, width)
    share = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    found = np.bincount(np.searchsorted(edges, x), minlength=edges.size + 1)
    good = share * x.size >= 5
    rest = 1.0 - share[good].sum()
    expected, seen = np.append(share[good], rest) * x.size, np.append(found[good], found[~good].sum())
    if expected[-1] < 5:
        expected, seen = expected[:-1], seen[:-1]
    return ss.chi2.sf(((seen - expected) ** 2 / expected).sum(), expected.size - 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mean", [1e-3, 0.7, 5.0, 9.99, 10.0, 13.5, 100.0, 12345.6, 3e6])
def test_poisson(mean, dtype):
    x = draw(poisson, dtype, mean)
    assert x.dtype == dtype and (x == np.floor(x)).all() and (x >= 0).all()
    mean = float(dtype(mean))
    assert chi_square(x.astype(float), ss.poisson(mean)) > 1e-3
    z = (x.astype(float) - mean) / np.sqrt(mean)
    assert abs(z.mean()) < 4 / np.sqrt(N)
    assert abs((z**2).mean() - 1) < 4 * np.sqrt((2 + 1 / mean) / N)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "n, p", [(1, 0.3), (7, 0.5), (30, 0.1), (20, 0.5), (25, 0.4), (100, 0.97), (1000, 0.02), (10**6, 0.25), (10**6, 1e-6)]
)
def test_binomial(n, p, dtype):
    x = draw(counts.binomial1, dtype, n, p)
    assert x.dtype == dtype and (x == np.floor(x)).all() and (x >= 0).all() and (x <= n).all()
    p = float(dtype(p))
    assert chi_square(x.astype(float), ss.binom(n, p)) > 1e-3
    variance = n * p * (1 - p)
    z = (x.astype(float) - n * p) / np.sqrt(variance)
    assert abs(z.mean()) < 4 / np.sqrt(N)
    assert abs((z**2).mean() - 1) < 4 * np.sqrt((2 + 1 / variance) / N)


def test_largest_counts():
    """Next to the largest means the counts are normal; their precision is that of the floats."""
    for mean in (1e12, 4e15):
        z = (draw(poisson, np.float64, mean, n=20_000) - mean) / np.sqrt(mean)
        assert ss.kstest(z, ss.norm.cdf).pvalue > 1e-3
        z = (draw(counts.binomial1, np.float64, mean, 0.3, n=20_000) - 0.3 * mean) / np.sqrt(0.21 * mean)
        assert ss.kstest(z, ss.norm.cdf).pvalue > 1e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_edges(dtype):
    for mean, expected in ((0.0, 0), (-1.0, NAN), (INF, NAN), (NAN, NAN), (1e16, NAN), (1e-30, 0)):
        np.testing.assert_array_equal(draw(poisson, dtype, mean, n=5), np.full(5, expected, dtype))
    for n, p, expected in (
        (5, 0, 0),
        (5, 1, 5),
        (0, 0.3, 0),
        (5, -0.1, NAN),
        (5, 1.1, NAN),
        (5, NAN, NAN),
        (2.5, 0.5, NAN),
        (-1, 0.5, NAN),
        (INF, 0.5, NAN),
        (NAN, 0.5, NAN),
        (1e16, 0.5, NAN),
        (100, 1e-30, 0),
    ):
        np.testing.assert_array_equal(draw(counts.binomial1, dtype, n, p, n=5), np.full(5, expected, dtype))
    assert counts.poisson1(K0, K1, 7, STREAM, 4) == counts.poisson1(K0, K1, 7, STREAM, 4.0)
    assert counts.binomial1(K0, K1, 7, STREAM, 9, 0.5) == counts.binomial1(K0, K1, 7, STREAM, 9.0, 0.5)


@pytest.mark.parametrize(
    "f, a, b", [(poisson, 3.0, 0.0), (poisson, 40.0, 0.0), (counts.binomial1, 9, 0.3), (counts.binomial1, 500, 0.8)]
)
def test_twins_agree(f, a, b):
    """The same counts on the GPU, apart from a rejection that a rounding decides otherwise."""
    out = np.empty(200)
    built(fill_cuda, "cuda", _draw=f)[2, 32](out, K0, K1, STREAM, float(a), float(b))
    assert np.array_equal(out, draw(f, np.float64, a, b, n=200))


def test_neighbours_are_independent():
    for x in (draw(poisson, np.float64, 20.0), draw(counts.binomial1, np.float64, 100, 0.4)):
        assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 4 / np.sqrt(N)


def test_density_without_branches():
    """Largest error 1.1e-15 of the larger of 10 and the logarithm."""
    mp.mp.dps = 40
    places = (-3, -2, -1, -0.1, 0, 0.5, 1, 2, 5, 8)
    for m in (10.0, 11.3, 40.0, 1e3, 1e9, 1e15, 9e18):
        for k in {*(max(math.floor(m + z * m**0.5), 0) for z in places), *(range(50) if m < 20 else ())}:
            exact = k * mp.log(m) - m - mp.loggamma(k + 1)
            assert abs(poisson_log_mass_in_step(float(k), m) - exact) < 1.3e-15 * max(10, abs(exact))
