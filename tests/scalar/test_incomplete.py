"""Incomplete gamma and beta functions and their inverses against series in many digits; observed maxima beside the tolerances."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from numbastats._core.kernel import device_function
from numbastats.scalar import incomplete as inc
from numbastats.scalar import loops
from tests.contract import built

pytestmark = pytest.mark.slow

INF, NAN = np.inf, np.nan
DTYPES = [np.float64, np.float32]


@device_function
def betainc(a, b, x, unused):
    return inc.betainc(a, b, x)


@device_function
def betaincc(a, b, x, unused):
    return inc.betaincc(a, b, x)


@device_function
def betaincinv(a, b, p, unused):
    return inc.betaincinv(a, b, p)


def apply(f, *args, target="serial"):
    out = np.empty_like(args[0])
    skeleton = {2: ("map2_cpu", "map2_cuda"), 3: ("map4_cpu", "map4_cuda")}[len(args)]
    if len(args) == 3:
        args = (*args, args[-1])
    if target == "cuda":
        built(getattr(loops, skeleton[1]), "cuda", _f=f)[2, 32](*args, out)
    else:
        built(getattr(loops, skeleton[0]), target, _f=f)(*args, out)
    return out


def exact_gamma(a, x):
    """P, Q and x P': a series with 60 digits, or mpmath's integral far above the mean."""
    with mp.workdps(60):
        a, x = mp.mpf(float(a)), mp.mpf(float(x))
        power = mp.exp(a * mp.log(x) - x - mp.loggamma(a))
        if x > a + 30 + 10 * mp.sqrt(a):
            upper = mp.gammainc(a, x, mp.inf, regularized=True)
            return 1 - upper, upper, power
        total, term, n = mp.mpf(1), mp.mpf(1), a
        while term > total * mp.mpf(10) ** -60:
            n += 1
            term *= x / n
            total += term
        lower = total * power / a
        return lower, 1 - lower, power


def exact_beta(a, b, x):
    """I, 1 - I and x (1 - x) I': Gauss's series with positive terms, DLMF 8.17.8."""
    with mp.workdps(50):
        a, b, x = (mp.mpf(float(v)) for v in (a, b, x))
        y = 1 - x
        power = mp.exp(a * mp.log(x) + b * mp.log(y) - mp.log(mp.beta(a, b)))
        swap = x * (a + b + 2) >= a + 1
        if swap:
            a, b, x = b, a, y
        total, term, k = mp.mpf(1), mp.mpf(1), 0
        while term > total * mp.mpf(10) ** -45:
            term *= (a + b + k) * x / (a + 1 + k)
            total += term
            k += 1
        small = total * power / a
        return (1 - small, small, power) if swap else (small, 1 - small, power)


def gamma_points(lo, hi, dtype, n=60):
    rng = np.random.default_rng(5)
    a = np.exp(rng.uniform(np.log(lo), np.log(hi), n))
    if hi <= 1.0:
        x = np.exp(rng.uniform(np.log(1e-10), np.log(50.0), n))
    else:
        x = a * np.exp(rng.normal(size=n) * np.where(rng.random(n) < 0.7, 2.0, 8.0) / np.sqrt(a))
    return a.astype(dtype), x.astype(dtype)


def errors(got, exact, dtype):
    """Largest relative error of values above 1e-13, and of smaller ones in units of their logarithms."""
    large = small = 0.0
    for g, e in zip(got, exact, strict=True):
        if e > 1e3 * float(np.finfo(dtype).tiny):
            error = float(abs(mp.mpf(float(g)) / e - 1))
            if e > 1e-13:
                large = max(large, error)
            else:
                small = max(small, error / abs(float(mp.log(e))))
    return large, small


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lo, hi", [(1e-10, 1.0), (1.0, 50.0), (50.0, 1e3), (1e3, 1e5)])
def test_incomplete_gamma(lo, hi, dtype):
    """6.3e-15 (a = 52, x = 19) and 3.9e-16 |log|; float32 4.9e-6 and 2.1e-7 |log|."""
    a, x = gamma_points(lo, hi, dtype, 60 if hi < 1e4 else 12)
    exact = [exact_gamma(*point) for point in zip(a, x, strict=True)]
    limits = (1e-14, 5e-16) if dtype == np.float64 else (1e-5, 3e-7)
    for k, f in enumerate((inc.gammainc, inc.gammaincc)):
        got = apply(f, a, x)
        assert got.dtype == dtype
        large, small = errors(got, [e[k] for e in exact], dtype)
        assert large <= limits[0] and small <= limits[1], (f.__name__, large, small)


def test_methods_agree_where_they_meet():
    """Across x = a + 1, x = 1.5, a = 1, a = 50 and |x - a| = 0.4 a the functions are continuous to their errors."""
    a = np.array([3.0, 40.0, 0.5, 0.5, 1.0, 50.0, 50.0, 200.0, 200.0])
    x = np.array([4.0, 41.0, 1.5, 1.5, 1.2, 50.0, 57.0, 280.0, 120.0])
    for f in (inc.gammainc, inc.gammaincc):
        below = apply(f, np.nextafter(a, 0.0), np.nextafter(x, 0.0))
        above = apply(f, np.nextafter(a, 1e9), np.nextafter(x, 1e9))
        np.testing.assert_allclose(below, above, rtol=5e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lo, hi", [(1e-2, 0.1), (0.1, 1.0), (1.0, 50.0), (50.0, 1e4)])
def test_inverse_of_incomplete_gamma(lo, hi, dtype):
    """|P(a, x) - p|/(x P'): 7.1e-15 for a above 0.1, float32 1.7e-5; below, 1e-16/a."""
    rng = np.random.default_rng(6)
    lowest = 1e-250 if dtype == np.float64 else 1e-29
    p = np.concatenate([np.exp(rng.uniform(np.log(lowest), 0, 25)), rng.random(25), 1 - np.exp(rng.uniform(-30, -1, 10))])
    p = p.astype(dtype)
    p = p[p < 1]
    a = np.exp(rng.uniform(np.log(lo), np.log(hi), p.size)).astype(dtype)
    limit = max(2e-14, 1e-15 / lo) if dtype == np.float64 else max(3e-5, 1e-6 / lo)
    for upper, f in ((False, inc.gammaincinv), (True, inc.gammainccinv)):
        x = apply(f, a, p)
        assert x.dtype == dtype
        for ai, pi, xi in zip(a, p, x, strict=True):
            if xi > np.finfo(dtype).tiny:
                lower, above, slope = exact_gamma(ai, xi)
                gap = (above if upper else lower) - mp.mpf(float(pi))
                assert abs(gap / slope) <= limit, (ai, pi, xi)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lo, hi, limit, limit32", [(1e-3, 10.0, 1e-13, 4e-5), (10.0, 1e3, 1e-13, 4e-5), (1e3, 1e5, 4e-13, 4e-4)])
def test_incomplete_beta(lo, hi, limit, limit32, dtype):
    """6e-14 and 5e-16 |log| up to 1e3, 1.5e-13 and 1.6e-15 |log| up to 1e5; float32 2.1e-5 and 1.8e-4."""
    rng = np.random.default_rng(7)
    n = 60 if hi < 1e4 else 10
    a, b = np.exp(rng.uniform(np.log(lo), np.log(hi), (2, n)))
    a = np.maximum(a, 0.1)  # where 1 - I has its relative accuracy; I itself below
    t = np.log(a / b) + 4.0 * rng.normal(size=n) * np.minimum(np.sqrt(1 / a + 1 / b), 5.0)
    a, b, x = (v.astype(dtype) for v in (a, b, 1.0 / (1.0 + np.exp(-t))))
    good = (x > 0) & (x < 1)
    a, b, x = a[good], b[good], x[good]
    exact = [exact_beta(*point) for point in zip(a, b, x, strict=True)]
    for k, f in enumerate((betainc, betaincc)):
        got = apply(f, a, b, x)
        assert got.dtype == dtype
        large, small = errors(got, [e[k] for e in exact], dtype)
        assert large <= (limit if dtype == np.float64 else limit32), large
        assert small <= (4e-15 if dtype == np.float64 else 1e-6), small
    p = rng.uniform(0.01, 0.99, a.size).astype(dtype)
    x = apply(betaincinv, a, b, p)
    for ai, bi, pi, xi in zip(a, b, p, x, strict=True):
        if 1e-37 < xi < 1:
            lower, _, slope = exact_beta(ai, bi, xi)
            gap = float(abs(lower - mp.mpf(float(pi))) / slope) - float(np.spacing(xi) / xi) / (1 - float(xi))
            assert gap <= (1e-13 if dtype == np.float64 else 1e-4) / min(1.0, 10.0 * bi), (ai, bi, pi, xi)


@pytest.mark.parametrize("dtype", DTYPES)
def test_closed_forms_of_incomplete_beta(dtype):
    """Sums of whole parameters and the arcsine distribution, also where powers underflow: 5.6e-15; float32 2.5e-6."""
    rng = np.random.default_rng(8)
    tiny = float(np.finfo(dtype).tiny)
    a, b = rng.integers(1, 50, (2, 60)).astype(dtype)
    a[::5] = a[::5] - dtype(0.25)  # only b is whole
    a[::6], b[::6] = 0.5, 0.5
    x = rng.beta(a, b).astype(dtype)
    x[::4] = np.maximum(x[::4], dtype(1e-3)) * dtype(1e-6)
    x[1::4] = np.exp(np.log(tiny) / a[1::4] * rng.uniform(0.9, 1.0, x[1::4].size))  # the power is next to the smallest number
    for k, f in enumerate((betainc, betaincc)):
        large, small = errors(apply(f, a, b, x), [exact_beta(*p)[k] for p in zip(a, b, x, strict=True)], dtype)
        assert large <= (1e-14 if dtype == np.float64 else 5e-6) and small <= (5e-16 if dtype == np.float64 else 3e-7), f.__name__


def test_reciprocals_of_gamma_functions():
    """Of `gammainc` and `betainc` with parameters below 8 and 16: 1.3e-15 observed."""
    for a in (0.0, 1e-300, 0.3, 0.5, 1.0, 1.4999999999999998, 1.5, 4.2, 7.999, 15.999):
        with mp.workdps(30):
            assert abs(mp.mpf(float(inc._rgamma1p(a))) / mp.rgamma(1 + mp.mpf(a)) - 1) < 2e-15, a


def test_small_first_parameters():
    """I itself is relative for a down to 1e-6, 1 - I to 1e-15/a."""
    for a in (1e-6, 1e-3):
        for b, x in ((0.5, 0.1), (3.0, 1e-5), (20.0, 0.9)):
            lower, upper, _ = exact_beta(a, b, x)
            assert abs(mp.mpf(float(inc.betainc(a, b, x))) / lower - 1) < 1e-14
            assert abs(mp.mpf(float(inc.betaincc(a, b, x))) / upper - 1) < 1e-15 / a


GAMMA_EDGES = [
    (0.0, 1.0, 1, 0),
    (0.0, 0.0, NAN, NAN),
    (1.0, 0.0, 0, 1),
    (2.0, INF, 1, 0),
    (INF, 2.0, 0, 1),
    (INF, INF, NAN, NAN),
    (-1.0, 1.0, NAN, NAN),
    (1.0, -1.0, NAN, NAN),
    (NAN, 1.0, NAN, NAN),
    (1.0, NAN, NAN, NAN),
    (1e30, 1.0, 0, 1),
    (2.0, 1e30, 1, 0),
    (1e30, 2e30, 1, 0),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_edges(dtype):
    a, x, lower, upper = np.array(GAMMA_EDGES, dtype).T.copy()
    np.testing.assert_array_equal(apply(inc.gammainc, a, x), lower)
    np.testing.assert_array_equal(apply(inc.gammaincc, a, x), upper)
    points = [
        (1, 0, 0),
        (1, 1, INF),
        (1, 2, NAN),
        (1, -1, NAN),
        (0, 0.5, NAN),
        (-1, 0.5, NAN),
        (INF, 0.5, NAN),
        (NAN, 0.5, NAN),
        (1, NAN, NAN),
    ]
    a, p, x = np.array(points, dtype).T.copy()
    np.testing.assert_array_equal(apply(inc.gammaincinv, a, p), x)
    np.testing.assert_array_equal(apply(inc.gammainccinv, a, dtype(1) - p), x)
    assert inc.gammaincinv(dtype(1e-3), dtype(1e-10)) == 0  # 1e-10000
    points = [
        (1, 1, 0, 0),
        (1, 1, 1, 1),
        (0, 1, 0.5, 1),
        (1, 0, 0.5, 0),
        (0, 0, 0.5, NAN),
        (1, 1, -1, NAN),
        (1, 1, 2, NAN),
        (-1, 1, 0.5, NAN),
        (1, NAN, 0.5, NAN),
        (INF, 1, 0.5, NAN),
    ]
    a, b, x, lower = np.array(points, dtype).T.copy()
    np.testing.assert_array_equal(apply(betainc, a, b, x), lower)
    np.testing.assert_array_equal(apply(betaincc, a, b, x), 1 - lower)
    points = [(1, 1, 0, 0), (1, 1, 1, 1), (0, 1, 0.5, NAN), (1, 1, 1.5, NAN), (1, 1, NAN, NAN), (1e-3, 1, 1e-4, 0)]
    a, b, p, x = np.array(points, dtype).T.copy()
    np.testing.assert_array_equal(apply(betaincinv, a, b, p), x)
    assert apply(betaincinv, *np.array([[1.0], [1e-3], [0.9]], dtype)) == 1  # 1 - 1e-1000


def test_logarithms_of_masses():
    """Poisson and binomial probabilities; 1e-15 of the larger of 10 and the result."""
    k = np.array([0.0, 1.0, 3.0, 7.0, 8.0, 20.0, 1000.0, 1e6])
    for m in (0.1, 5.0, 900.0, 1.01e6):
        got = np.array([inc.poisson_log_mass(i, m) for i in k])
        with mp.workdps(40):
            want = np.array([float(i * mp.log(m) - m - mp.loggamma(i + 1)) for i in map(mp.mpf, k)])
        assert (np.abs(got - want) <= 5e-16 * np.maximum(10.0, np.abs(want))).all()
    for n, p in ((10, 0.3), (1000, 0.01), (10**6, 0.5)):
        for i in (0, 1, n // 3, n // 2, n):
            got = inc.binomial_log_mass(i, n, p, 1.0 - p)
            with mp.workdps(40):
                ways = mp.loggamma(n + 1) - mp.loggamma(i + 1) - mp.loggamma(n - i + 1)
                want = float(ways + i * mp.log(p) + (n - i) * mp.log1p(-mp.mpf(p)))
            assert abs(got - want) <= 1e-15 * max(10.0, abs(want)) + 2e-16 * n * abs(i / n - p), (n, i)


def test_twins_agree():
    a, x = gamma_points(0.3, 300.0, np.float64, 60)
    p, b = np.random.default_rng(1).uniform(0.01, 0.99, 60), a[::-1].copy()
    for f, args in (
        (inc.gammainc, (a, x)),
        (inc.gammaincc, (a, x)),
        (inc.gammaincinv, (a, p)),
        (inc.gammainccinv, (a, p)),
        (betainc, (a, b, p)),
        (betaincc, (a, b, p)),
        (betaincinv, (a, b, p)),
    ):
        serial = apply(f, *args)
        np.testing.assert_allclose(apply(f, *args, target="parallel"), serial, rtol=1e-14)  # LLVM fuses as it likes
        np.testing.assert_allclose(apply(f, *args, target="cuda"), serial, rtol=1e-14)
    assert inc.gammainc(2, 3) == inc.gammainc(2.0, 3.0) and inc.betaincinv(2, 3, 0.5) == inc.betaincinv(2.0, 3.0, 0.5)
