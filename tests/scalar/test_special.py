"""The special functions against mpmath, in float64 and float32; tolerances in relative error, observed maxima beside."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as ss

from numbastats._core.kernel import device_function
from numbastats.scalar import hyperbolic, loops, normal, samplers, special
from tests.contract import built

mp.mp.dps = 50
SQRT2 = mp.sqrt(2)


@device_function
def ratio_of_log_ndtr(x):
    return special.log_ndtr_ratio(x)[1]


@device_function
def log_of_log_ndtr_ratio(x):
    return special.log_ndtr_ratio(x)[0]


@device_function
def upper_of_ndtr_pair(x):
    return special.ndtr_pair(x)[1]


@device_function
def lower_of_ndtr_pair(x):
    return special.ndtr_pair(x)[0]


def ref_ndtr(x):
    return mp.erfc(-x / SQRT2) / 2


def ref_log_ndtr(x):
    return mp.log1p(-ref_ndtr(-x)) if x > 0 else mp.log(ref_ndtr(x))


def ref_mills(t):
    return ref_ndtr(-t) / mp.npdf(t)


def ref_half_ratio(x):
    return mp.exp(mp.loggamma(x) - mp.loggamma(x + mp.mpf("0.5")))


def ref_stirling(x):
    return mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2


# function, reference, intervals, tolerance float64, float32; intervals end where the result over- or underflows
CASES = {
    "erf": (special.erf, mp.erf, [(-7, 7), (-1, 1), (-1e-3, 1e-3)], 3e-16, 1.2e-7),  # 1.8e-16, 7.6e-8
    "erfc": (special.erfc, mp.erfc, [(-6, 3), (0, 1), (0, 26.5)], 8e-16, 4e-7),  # 6.0e-16, 3.0e-7
    "erfcx": (special.erfcx, lambda x: mp.erfc(x) * mp.exp(x * x), [(-26, 5), (0, 1), (0, 1e4)], 7e-16, 3e-7),
    "ndtr": (special.ndtr, ref_ndtr, [(-37.5, 9), (-2, 2)], 7e-16, 3e-7),  # 4.7e-16, 2.1e-7
    "ndtr_lower": (lower_of_ndtr_pair, ref_ndtr, [(-37.5, 9), (-2, 2)], 7e-16, 3e-7),
    "ndtr_upper": (upper_of_ndtr_pair, lambda x: ref_ndtr(-x), [(-9, 37.5), (-2, 2)], 7e-16, 3e-7),
    "log_ndtr": (special.log_ndtr, ref_log_ndtr, [(-40, 37.5), (-1, 1), (-1e4, 0), (1, 9)], 1e-15, 4e-7),  # 7.4e-16
    "log_ndtr_ratio_0": (log_of_log_ndtr_ratio, ref_log_ndtr, [(-40, 37.5), (-1, 1)], 1e-15, 4e-7),
    "log_ndtr_ratio_1": (ratio_of_log_ndtr, lambda x: 1 / ref_mills(-x), [(-50, 37), (-3, 3)], 1e-15, 3e-7),  # 7.7e-16
    "mills": (special.mills, ref_mills, [(-37, 10), (0, 3), (0, 1e6)], 6e-16, 3e-7),  # 4.0e-16, 1.7e-7
    "mills_right": (special.mills_right, ref_mills, [(0, 3), (0, 1e6)], 6e-16, 3e-7),
    "hazard": (special.hazard, lambda t: 1 / ref_mills(t), [(-37, 50), (-3, 3)], 1e-15, 3e-7),  # 7.7e-16, 2.0e-7
    "gammaln": (special.gammaln, mp.loggamma, [(0.01, 3), (0.9, 1.1), (1.9, 2.1), (2, 10), (8, 1e4)], 7e-16, 4e-7),
    "digamma": (special.digamma, mp.digamma, [(0.01, 3), (1.4616, 1.4617), (2, 10), (8, 1e4)], 5e-16, 3e-7),  # 2.5e-16, 1.5e-7
    "gammaln1p": (special.gammaln1p, lambda x: mp.loggamma(1 + x), [(1e-9, 1e-3), (0, 0.5), (0.435, 0.4351)], 4e-16, 2e-7),
    "stirling_rest": (special.stirling_rest, ref_stirling, [(8, 30), (8, 1e5)], 4e-16, 3e-7),
    "erfinv": (normal.erfinv, mp.erfinv, [(-1, 1), (0.99, 0.9999999), (-1e-3, 1e-3)], 6e-16, 3e-7),  # 3.6e-16, 1.6e-7
    "erfcinv": (normal.erfcinv, lambda y: mp.erfinv(1 - y), [(1e-9, 1.9999999), (1e-20, 1e-9)], 6e-16, 3e-7),  # 3.5e-16, 1.8e-7
    "gamma_half_ratio": (special.gamma_half_ratio, ref_half_ratio, [(0.01, 5), (0.1, 100)], 7e-16, 4e-7),  # 4.6e-16
}


def apply(f, x):
    out = np.empty_like(x)
    built(loops.map1_cpu, "serial", _f=f)(x, out)
    return out


def points(a, b, dtype, n=240):
    rng = np.random.default_rng(3)
    return np.concatenate([np.linspace(a, b, n // 4), rng.uniform(a, b, 3 * n // 4)]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_against_mpmath(name, dtype):
    f, reference, intervals, tol64, tol32 = CASES[name]
    info = np.finfo(dtype)
    x = np.concatenate([points(a, b, dtype) for a, b in intervals])
    y = apply(f, x)
    assert y.dtype == dtype
    worst = 0.0
    for xi, yi in zip(x, y, strict=True):
        exact = reference(mp.mpf(float(xi)))
        if not float(info.tiny) < abs(exact) < float(info.max) / 4:
            continue
        worst = max(worst, float(abs(mp.mpf(float(yi)) / exact - 1)))
    assert worst <= (tol64 if dtype == np.float64 else tol32)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gammaln_at_its_zeros(dtype):
    one = dtype(1)
    x = np.array([1, 2, 1 + np.spacing(one), 1 - np.spacing(one), 2 - 2 * np.spacing(one)], dtype)
    y = apply(special.gammaln, x)
    assert y[0] == 0 and y[1] == 0
    for xi, yi in zip(x[2:], y[2:], strict=True):
        assert abs(mp.mpf(float(yi)) / mp.loggamma(mp.mpf(float(xi))) - 1) < 4 * np.finfo(dtype).eps


def test_gammaln_is_accurate_over_the_whole_range():
    x = np.geomspace(1e-300, 1.1e300, 401)
    y = apply(special.gammaln, x)
    worst = max(float(abs(mp.mpf(b) / mp.loggamma(mp.mpf(a)) - 1)) for a, b in zip(x, y, strict=True))
    assert worst <= 7e-16  # 3.0e-16


def test_log_ndtr_far_out():
    x = -np.geomspace(10, 1e150, 141)
    y = apply(special.log_ndtr, x)
    for xi, yi in zip(x, y, strict=True):
        t = -mp.mpf(xi)
        series = -t * t / 2 - mp.log(t) - mp.log(2 * mp.pi) / 2 + mp.log1p(-1 / t**2 + 3 / t**4 - 15 / t**6)
        exact = ref_log_ndtr(-t) if t < 1e4 else series
        assert abs(mp.mpf(yi) / exact - 1) < 5e-16  # 2.5e-16


INF, NAN = np.inf, np.nan
EDGES = {
    special.erf: {INF: 1, -INF: -1, 0.0: 0, NAN: NAN},
    special.erfc: {INF: 0, -INF: 2, 0.0: 1, 1e30: 0, -1e30: 2, NAN: NAN},
    special.erfcx: {INF: 0, -INF: INF, 0.0: 1, -1e30: INF, NAN: NAN},
    special.ndtr: {INF: 1, -INF: 0, 0.0: 0.5, 1e30: 1, -1e30: 0, NAN: NAN},
    special.log_ndtr: {INF: 0, -INF: -INF, 1e30: 0, NAN: NAN},
    special.hazard: {INF: INF, -INF: 0, 1e30: 1e30, NAN: NAN},
    special.mills: {INF: 0, -INF: INF, -1e30: INF, NAN: NAN},
    special.digamma: {INF: INF, 0.0: -INF, -1.0: NAN, -7.0: NAN, NAN: NAN, -0.5: 0.036489973978576520559, 1e-30: -1e30},
    special.gammaln1p: {0.0: 0, 1.0: 0, NAN: NAN},
    normal.erfinv: {0.0: 0, 1.0: INF, -1.0: -INF, 1.5: NAN, -1.5: NAN, NAN: NAN},
    normal.erfcinv: {0.0: INF, 1.0: 0, 2.0: -INF, -0.5: NAN, 2.5: NAN, NAN: NAN, 1e-37: 9.078074884576119},
    special.gammaln: {INF: INF, 0.0: INF, -1.0: NAN, -INF: NAN, NAN: NAN},
    special.gamma_half_ratio: {INF: 0, 0.0: INF, -1.0: NAN, NAN: NAN},
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", EDGES, ids=lambda f: f.__name__)
def test_edges(f, dtype):
    x, expected = (np.array(list(v), dtype) for v in (EDGES[f].keys(), EDGES[f].values()))
    np.testing.assert_allclose(apply(f, x), expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scalar_remainder_and_vector_part_agree(dtype):
    x = points(0.1, 8, dtype, 68)
    for f in (special.log_ndtr, special.erfc, special.gammaln):
        assert np.array_equal(apply(f, x), np.concatenate([apply(f, x[i : i + 1]) for i in range(x.size)]))


@pytest.mark.parametrize(("dtype", "x"), [(np.float64, 3.6e-309), (np.float32, 3.5e-39)])
def test_half_ratio_next_to_its_overflow(dtype, x):
    x = np.array([x, 3 * x], dtype)
    want = 1.0 / (np.sqrt(np.pi) * x.astype(np.longdouble))  # (1 - x log 4) to first order
    np.testing.assert_allclose(apply(special.gamma_half_ratio, x), want.astype(dtype), rtol=4 * np.finfo(dtype).eps)


def _integers(x, out):
    for i in range(x.size):
        k = x[i]
        out[i] = (
            special.erf(k),
            special.ndtr_pair(k)[1],
            special.log_ndtr_ratio(k)[0],
            special.mills_right(k),
            special.gammaln(k),
            special.gamma_half_ratio(k),
            hyperbolic.student_pdf(k, k + 1),
            normal.norm_from_exp1(k),
            samplers.gamma_from_normal(1, 5, k),
        )


def test_integers_become_float64():
    """Some were refused, some wrong: literals in the type of an integer argument are integers."""
    x = np.array([1, 2, 3, 5, 9])
    out = np.empty((x.size, 9))
    built(_integers, "serial")(x, out)
    z, d = x.astype(np.float64), x - 1 / 3
    exact = [[float(f(mp.mpf(t))) for t in z] for f in (ref_mills, mp.loggamma, ref_half_ratio)]
    want = [
        sp.erf(z),
        sp.ndtr(-z),
        sp.log_ndtr(z),
        *exact,
        ss.t.pdf(z, z + 1),
        -sp.ndtri(0.5 * np.exp(-z)),
        d * (1 + 1 / np.sqrt(9 * d)) ** 3,
    ]
    np.testing.assert_allclose(out.T, want, rtol=1e-14)  # observed 7.5e-15, of SciPy's ndtr(-9)
    assert special.gamma_half_ratio(1) == special.gamma_half_ratio(True) == special.gamma_half_ratio(1.0)


def test_digamma_of_negative_numbers():
    """Near its zeros the error is that of the larger part."""
    x = -np.random.default_rng(4).uniform(0, 30, 300)
    for xi, yi in zip(x, apply(special.digamma, x), strict=True):
        size = abs(mp.digamma(1 - mp.mpf(xi))) + abs(mp.pi * mp.cot(mp.pi * mp.mpf(xi)))
        assert abs(mp.mpf(yi) - mp.digamma(mp.mpf(xi))) < 5e-16 * size


def test_smallest_tails_of_erfcinv():
    """Subnormal numbers included; by Newton's method on log erfc."""
    y = np.array([5e-324, 1e-310, 1e-300, 1e-100])
    for yi, zi in zip(y, apply(normal.erfcinv, y), strict=True):
        z = mp.mpf(zi)
        for _ in range(4):
            z += (mp.erfc(z) - mp.mpf(yi)) * mp.exp(z * z) * mp.sqrt(mp.pi) / 2
        assert abs(mp.mpf(zi) / z - 1) < 6e-16


@pytest.mark.parametrize("f", [special.digamma, special.gammaln1p, normal.erfinv, normal.erfcinv], ids=lambda f: f.__name__)
def test_twins_agree(f):
    x = np.linspace(0.01, 0.99, 70)
    out = np.empty_like(x)
    built(loops.map1_cuda, "cuda", _f=f)[2, 32](x, out)
    np.testing.assert_allclose(out, apply(f, x), rtol=5e-16)
