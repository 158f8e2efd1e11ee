"""The scalar samplers: distributions by Kolmogorov-Smirnov and moments, quantiles by mpmath, exact consumption of words."""

from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as ss

from numbastats._core.kernel import device_function
from numbastats.scalar import samplers
from tests.contract import built

REFERENCE = Path(__file__).parents[1] / "reference" / "bayes" / "truncnorm_reference.csv"
K0, K1, STREAM = np.uint32(0x12345678), np.uint32(0x9ABCDEF0), np.uint32(3 | 5 << 24)
DTYPES = [np.float64, np.float32]
INF, NAN = np.inf, np.nan
N = 100_000

_draw = None  # bound by build


def fill(out, k0, k1, stream, p):
    for i in range(out.size):
        out[i] = _draw(k0, k1, i, stream, p)


def transform(w0, w1, p, out):
    for i in range(out.size):
        out[i] = _draw(w0[i], w1[i], p)


@device_function
def uniform(k0, k1, item, stream, p):
    return samplers.uniform1(k0, k1, item, stream, p[0], p[1])


@device_function
def exponential(k0, k1, item, stream, p):
    return samplers.exponential1(k0, k1, item, stream, p[0])


@device_function
def normal(k0, k1, item, stream, p):
    return samplers.normal1(k0, k1, item, stream, p[0], p[1])


@device_function
def truncnorm(k0, k1, item, stream, p):
    return samplers.truncnorm1(k0, k1, item, stream, p[0], p[1], p[2], p[3])


@device_function
def gamma(k0, k1, item, stream, p):
    return samplers.gamma1(k0, k1, item, stream, p[0], p[1])


@device_function
def beta(k0, k1, item, stream, p):
    return samplers.beta1(k0, k1, item, stream, p[0], p[1])


@device_function
def polya_gamma(k0, k1, item, stream, p):
    return samplers.polya_gamma1(k0, k1, item, stream, p[0], p[1])


@device_function
def log_gamma(k0, k1, item, stream, p):
    return samplers.log_gamma1(k0, k1, item, stream, p[0])


@device_function
def gamma_in_two_steps(k0, k1, item, stream, p):
    w = samplers.philox4x32(item, item >> 32, 0, stream, k0, k1)
    first = samplers.gamma_from_words(w[0], w[1], w[2], w[3], p[0])
    return samplers.gamma_resume1(k0, k1, item, stream, p[0], p[1], first)


@device_function
def normal_words(w0, w1, p):
    return samplers.normal_from_words(w0, w1, p[0], p[1])


@device_function
def exponential_words(w0, w1, p):
    return samplers.exponential_from_words(w0, w1, p[0])


@device_function
def laplace_words(w0, w1, p):
    return samplers.laplace_from_words(w0, w1, p[0], p[1])


@device_function
def logistic_words(w0, w1, p):
    return samplers.logistic_from_words(w0, w1, p[0], p[1])


@device_function
def gumbel_words(w0, w1, p):
    return samplers.gumbel_from_words(w0, w1, p[0], p[1])


@device_function
def weibull_words(w0, w1, p):
    return samplers.weibull_from_words(w0, w1, p[0], p[1])


@device_function
def pareto_words(w0, w1, p):
    return samplers.pareto_from_words(w0, w1, p[0], p[1])


@device_function
def truncnorm_words(w0, w1, p):
    return samplers.truncnorm_from_words(w0, w1, p[0], p[1], p[2], p[3])


def draw(f, dtype, *p, n=N):
    out = np.empty(n, dtype)
    built(fill, "serial", _draw=f)(out, K0, K1, STREAM, np.array(p, dtype))
    return out


def from_words(f, dtype, w0, w1, *p):
    w0, w1 = np.asarray(w0, np.uint32), np.asarray(w1, np.uint32)
    out = np.empty(w0.size, dtype)
    built(transform, "serial", _draw=f)(w0, w1, np.array(p, dtype), out)
    return out


def some_words(n=40):
    rng = np.random.default_rng(5)
    top = 2**32 - 1
    ends = [(0, 0), (top, top), (2**31, 0), (2**31 - 1, top), (1, 0), (top - 4096, 7)]
    return np.array(ends + rng.integers(0, 2**32, (n, 2)).tolist(), np.uint32).T


# --- distributions; fixed keys, so p-values never change ----------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("f", "parameters", "law"),
    [
        (uniform, (2.0, 5.0), ss.uniform(2, 3)),
        (exponential, (2.5,), ss.expon(scale=2.5)),
        (normal, (1.0, 3.0), ss.norm(1, 3)),
        (truncnorm, (0.0, 1.0, -1.0, 2.0), ss.truncnorm(-1, 2)),
        (truncnorm, (3.0, 2.0, -1.0, 1.0), ss.truncnorm(-2, -1, 3, 2)),
        (truncnorm, (0.0, 1.0, 3.0, INF), ss.truncnorm(3, INF)),
        *((gamma, (a, 2.0), ss.gamma(a, scale=2)) for a in (0.1, 0.5, 0.999, 1.0, 1.5, 3.0, 50.0, 1e4)),
        *((beta, (a, b), ss.beta(a, b)) for a, b in ((0.5, 0.5), (1.0, 1.0), (0.2, 3.0), (2.0, 5.0), (300.0, 0.7), (1e4, 2e4))),
    ],
    ids=lambda v: str(v) if isinstance(v, tuple) else None,
)
def test_law(f, parameters, law, dtype):
    x = draw(f, dtype, *parameters)
    assert x.dtype == dtype
    assert ss.kstest(x.astype(float), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_polya_gamma(dtype):
    """PG(1/2, 0) + PG(1/2, 0) is PG(1, 0), whose right tail has a series of its own."""
    x = draw(polya_gamma, dtype, 0.5, 0.0, n=2 * N).astype(float)
    h = np.arange(40) + 0.5
    signs = np.resize([1.0, -1.0], 40)

    def cdf(y):
        return 1 - np.exp(-2 * (np.pi * h) ** 2 * y[:, None]) @ (signs * 2 / (np.pi * h))

    total = x[:N] + x[N:]
    far = total[total > 0.05]
    below = cdf(np.array([0.05]))[0]
    assert abs(1 - far.size / N - below) < 4 * np.sqrt(below * (1 - below) / N)
    assert ss.kstest((cdf(far) - below) / (1 - below), "uniform").pvalue > 1e-3
    assert np.isnan(draw(polya_gamma, dtype, -1.0, 1.0, n=3)).all() and np.isnan(draw(polya_gamma, dtype, INF, 1.0, n=3)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_moments(dtype):
    x = draw(normal, dtype, 0.0, 1.0, n=10 * N).astype(float)
    for k, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((x**k).mean() - mean) < 4 * np.sqrt(variance / x.size)
    for z in (2, 3, 4):
        p = ss.norm.sf(z)
        for share in ((x > z).mean(), (x < -z).mean()):
            assert abs(share - p) < 4 * np.sqrt(p / x.size)
    # neighbours, and magnitude against the sign of the next, are uncorrelated
    assert abs((x[1:] * x[:-1]).mean()) < 4 / np.sqrt(x.size)
    assert abs((abs(x[1:]) * np.sign(x[:-1])).mean()) < 4 / np.sqrt(x.size)


@pytest.mark.parametrize("shape", [1e-6, 1e-3, 0.02])
def test_log_gamma_where_gamma_underflows(shape):
    # P(G < g) = g^shape/Gamma(shape + 1) to 17 digits for g < exp(-40): beyond it, -shape log G is an exponential.
    t = -shape * draw(log_gamma, np.float64, shape)
    assert np.isfinite(t).all()
    far = t[t > 40 * shape]
    share = np.exp(-40 * shape) / float(mp.gamma(1 + shape))
    assert abs(far.size / t.size - share) < 4 * np.sqrt(share * (1 - share) / t.size) + 1 / t.size
    assert ss.kstest(far - 40 * shape, ss.expon.cdf).pvalue > 1e-3


@pytest.mark.parametrize("dtype", DTYPES)
def test_log_gamma_is_finite_at_the_smallest_shape(dtype):
    x = draw(log_gamma, dtype, np.finfo(dtype).smallest_subnormal, n=1000)
    assert np.isfinite(x).all() and (x < -0.2 * np.finfo(dtype).max).all()


@pytest.mark.parametrize("shape", [1e8, 1e15, 1e30])
def test_gamma_with_a_large_shape(shape):
    z = (draw(gamma, np.float64, shape, 1.0) / shape - 1) * np.sqrt(shape)
    if shape < 1e20:
        assert ss.kstest(z, ss.norm.cdf).pvalue > 1e-3  # skewness 2/sqrt(shape)
    else:
        assert abs(z).max() < 6 + 1e-16 * np.sqrt(shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gamma_in_two_steps_is_the_same_number(dtype):
    for shape in (0.3, 1.0, 2.5, 40.0):
        assert np.array_equal(draw(gamma, dtype, shape, 2.0), draw(gamma_in_two_steps, dtype, shape, 2.0))


def test_beta_with_small_parameters():
    """P(B < x) is x^a/(a Beta(a, b)) for small x: log B is an exponential there."""
    a = 0.03
    t = -a * np.log(draw(beta, np.float64, a, 2.0))
    far = t[t > 40 * a]
    share = np.exp(-40 * a) / (a * float(mp.beta(a, 2)))
    assert abs(far.size / t.size - share) < 4 * np.sqrt(share * (1 - share) / t.size)
    assert ss.kstest(far - 40 * a, ss.expon.cdf).pvalue > 1e-3


@pytest.mark.parametrize("dtype", DTYPES)
def test_truncated_normal_moments(dtype):
    worst = 0.0
    for line in REFERENCE.read_text().splitlines()[1:]:
        mu, mean, variance, _, kurtosis, _, median, *_ = (float(v) for v in line.split(","))
        x = draw(truncnorm, dtype, mu, 1.0, 0.0, INF, n=2 * N).astype(float)
        assert x.min() >= 0.0
        scores = (
            (x.mean() - mean) / np.sqrt(variance / x.size),
            (x.var() / variance - 1) / np.sqrt((kurtosis + 2) / x.size),
            ((x > median).mean() - 0.5) / np.sqrt(0.25 / x.size),
        )
        worst = max(worst, *map(abs, scores))
    assert worst < 4.0  # 25 values of mu share their words


# --- the value of a draw, from its words -------------------------------------------------------------------------


def unit_of(words, dtype, bits32=32):
    """The random number in (0, 1) that the words stand for, exactly."""
    w0, w1 = (int(w) for w in words)
    if dtype == np.float64:
        return (mp.mpf(((w0 << 32) | w1) >> 12) + 0.5) / 2**52
    return (mp.mpf(w0 & (2**bits32 - 1)) + 0.5) / 2**bits32


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponential_is_accurate_at_both_ends(dtype):
    w0, w1 = some_words()
    for x, words in zip(from_words(exponential_words, dtype, w0, w1, 1.0), zip(w0, w1, strict=True), strict=True):
        exact = -mp.log(unit_of(words, dtype))
        assert abs(mp.mpf(float(x)) / exact - 1) < 2 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_is_accurate_at_both_ends(dtype):
    w0, w1 = some_words()
    mp.mp.dps = 40
    for x, words in zip(from_words(normal_words, dtype, w0, w1, 0.0, 1.0), zip(w0, w1, strict=True), strict=True):
        exact = mp.sqrt(2) * mp.erfinv(1 - unit_of(words, dtype, 31))
        assert abs(mp.mpf(abs(float(x))) / exact - 1) < 4 * np.finfo(dtype).eps
        assert (x < 0) == bool(words[1] & 1 if dtype == np.float64 else words[0] >> 31)


INVERSIONS = {  # from words, the parameter, and the quantile of a tail probability u
    "weibull": (weibull_words, 0.25, lambda u: (-mp.log(u)) ** 4),
    "pareto": (pareto_words, 3.0, lambda u: mp.expm1(-mp.log(u) / 3)),
    "gumbel": (gumbel_words, 0.0, lambda u: -mp.log(-mp.log(u))),
    "laplace": (laplace_words, 0.0, lambda u: -mp.log(u)),
    "logistic": (logistic_words, 0.0, lambda u: mp.log((2 - u) / u)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", INVERSIONS)
def test_inversions_are_accurate_at_both_ends(name, dtype):
    """Of gumbel the absolute error next to 0; of pareto that of the logarithm, whose rounding the power multiplies."""
    function, parameter, quantile = INVERSIONS[name]
    signed = name in ("laplace", "logistic")
    w0, w1 = some_words()
    mp.mp.dps = 40
    for x, words in zip(from_words(function, dtype, w0, w1, parameter, 1.0), zip(w0, w1, strict=True), strict=True):
        exact = quantile(unit_of(words, dtype, 31 if signed else 32))
        size = max(abs(exact), 1) if name == "gumbel" else abs(exact)
        size = size * (1 + mp.log1p(size) / 4) if name == "pareto" else size
        assert abs(mp.mpf(abs(float(x)) if signed else float(x)) - exact) < 4 * np.finfo(dtype).eps * size
        if signed:
            assert (x < 0) == bool(words[1] & 1 if dtype == np.float64 else words[0] >> 31)


INTERVALS = [
    (0, 1, -1, 2),
    (0, 1, -INF, 0),
    (0, 1, 3, INF),
    (0, 1, 5.9, INF),
    (0, 1, 6.1, INF),
    (0, 1, -INF, -8),
    (0, 1, -9, -8.9),
    (0, 1, 6, 100),
    (0, 1, -5, 8),
    (0, 1, -1e-3, 1e-3),
    (0, 1, -1e-6, 1e-6),
    (0, 1, 2, 2.00001),
    (0, 1, 30, 30.0001),
    (0, 1, -INF, INF),
    (3, 2, -1, 1),
    (-200, 1, 0, INF),
    (-1e8, 1, 0, INF),
    (-1e8, 1, 0, 1e-8),
    (-7, 1, 0, 1e-4),
    (1e4, 0.5, -INF, 0),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("parameters", INTERVALS, ids=str)
def test_truncated_normal_inverts_its_distribution(parameters, dtype):
    """|F(x) - u| within 6 spacings of x, plus 1e-12 (float32 1e-6); observed 5.2 spacings."""
    mp.mp.dps = 50
    w0, w1 = some_words(30)
    mu, sigma, low, high = (mp.mpf(float(dtype(v))) for v in parameters)
    a, b = (low - mu) / sigma, (high - mu) / sigma
    mirrored = a > -b

    def lower(z):
        return mp.erfc((z if mirrored else -z) / mp.sqrt(2)) / 2

    mass = abs(lower(b) - lower(a))
    draws = from_words(truncnorm_words, dtype, w0, w1, *parameters)
    for x, words in zip(draws, zip(w0, w1, strict=True), strict=True):
        assert dtype(parameters[2]) <= x <= dtype(parameters[3])
        z = (mp.mpf(float(x)) - mu) / sigma
        error = abs(abs(lower(z) - lower(a)) / mass - unit_of(words, dtype))
        spacing = mp.npdf(z) / mass / sigma * float(np.spacing(abs(x)))
        assert error <= 6 * spacing + (1e-12 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("width", [1e-4, 0.01, 0.3, 2.0, INF])
def test_distance_from_the_end_in_the_tail(width):
    """Draws just beyond an end at 0, 6 sigma and more from the mean, against mpmath; observed 9e-16."""
    mp.mp.dps = 50
    # the words of u next to the end, in between and far from it
    words = [(0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0), (0xFFFFF000, 0), (0xFFF00000, 7), (0x80000000, 0), (0x1000, 0), (0, 0)]
    for t in (6.01, 6.5, 10.0, 1e3):
        for w in words:
            x = mp.mpf(samplers.truncnorm_from_words(*map(np.uint32, w), t, 1.0, -width, 0.0))
            u, upper = 1 - unit_of(w, np.float64), lambda z: mp.erfc(z / mp.sqrt(2)) / 2
            goal, d = upper(t) - u * (upper(t) - (upper(t + mp.mpf(width)) if width < INF else 0)), -x
            for _ in range(4):
                d += (upper(t + d) - goal) / mp.npdf(t + d)
            assert abs(-x / d - 1) < 3e-15, (t, w)


@pytest.mark.parametrize("dtype", DTYPES)
def test_distance_from_an_end_at_any_distance(dtype):
    """To the largest floats: exponential with scale sigma^2/|mu|; float32 draws were 10^5 times too large."""
    w = np.uint32(0x30000000), np.uint32(0)
    share = float(-mp.log(1 - unit_of(w, dtype)))
    for power in (10, 29, 31, 35, 37) if dtype == np.float32 else (10, 155, 299, 301, 307):
        for sigma in (1.0, 7.0):
            mu = -dtype(f"1e{power}")
            x = samplers.truncnorm_from_words(*w, mu, dtype(sigma), dtype(0.0), dtype(INF))
            assert abs(float(x) * -float(mu) / sigma**2 / share - 1.0) < 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
def test_truncated_normal_increases_in_the_uniform_number(dtype):
    w0 = np.linspace(0, 2**32 - 1, 5001).astype(np.uint32)
    for parameters in INTERVALS:
        x = from_words(truncnorm_words, dtype, w0, w0, *parameters)
        # up to rounding: where the tail in use changes, neighbours may swap by one spacing
        assert (np.diff(x) >= -2 * np.spacing(abs(x[1:]))).all()


# --- edges ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("f", "parameters", "expected"),
    [
        (truncnorm, (0, 1, 2, 2), 2),
        (truncnorm, (0, 1, 3, 2), NAN),
        (truncnorm, (0, 0, -1, 1), NAN),
        (truncnorm, (0, -1, -1, 1), NAN),
        (truncnorm, (NAN, 1, 0, 1), NAN),
        (truncnorm, (0, NAN, 0, 1), NAN),
        (truncnorm, (0, 1, NAN, 1), NAN),
        (truncnorm, (0, 1, 0, NAN), NAN),
        (truncnorm, (0, INF, 0, 1), NAN),
        (truncnorm, (INF, 1, 0, 1), NAN),
        (truncnorm, (0, 1, INF, INF), NAN),
        (truncnorm, (0, 1, -INF, -INF), NAN),
        (truncnorm, (0, 1e-30, 1, 2), 1),
        (truncnorm, (0, 1e-30, -2, -1), -1),
        (gamma, (0, 1), 0),
        (gamma, (-1, 1), NAN),
        (gamma, (NAN, 1), NAN),
        (gamma, (INF, 1), INF),
        (gamma, (2, 0), 0),
        (gamma, (0.5, 0), 0),
        (gamma, (2, -1), NAN),
        (gamma, (2, NAN), NAN),
        (log_gamma, (0,), -INF),
        (beta, (0, 1), NAN),
        (beta, (1, 0), NAN),
        (beta, (-1, 1), NAN),
        (beta, (1, INF), NAN),
        (beta, (NAN, 1), NAN),
        (exponential, (0,), 0),
        (exponential, (-1,), NAN),
        (exponential, (NAN,), NAN),
        (normal, (3, 0), 3),
        (normal, (0, -1), NAN),
        (normal, (0, NAN), NAN),
        (normal, (NAN, 1), NAN),
    ],
)
def test_edges(f, parameters, expected, dtype):
    x = draw(f, dtype, *parameters, n=5)
    np.testing.assert_array_equal(x, np.full(5, expected, dtype))


def test_different_streams_keys_and_items_differ():
    draws = {
        samplers.normal1(k0, k1, item, stream, 0.0, 1.0)
        for k0 in (1, 2)
        for k1 in (1, 2)
        for item in (0, 1, 2**32)
        for stream in (0, 1, 1 << 24)
    }
    assert len(draws) == 36


def test_integer_parameters_become_float64():
    key = (1, 2, 3, 4)
    for f, whole in ((samplers.uniform1, (-1, 2)), (samplers.normal1, (1, 2)), (samplers.gamma1, (3, 2))):
        assert f(*key, *whole) == f(*key, *map(float, whole)), f.__name__
