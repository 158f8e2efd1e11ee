"""Student, hyperbolic, generalised hyperbolic, NIG and variance gamma laws against mpmath, SciPy and closed forms."""

from __future__ import annotations

import doctest
import itertools
import math
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from numbastats.quantile import FrozenLaw, Recycler, generalized_hyperbolic, hyperbolic, nig, student_t, variance_gamma
from numbastats.scalar.hyperbolic import gh_log_norm, gh_logpdf, gh_nodes, log_kve
from tests.contract import same

LAWS = {
    "student_t": (student_t, [(0.8,), (2.5,), (40.0,)]),
    "hyperbolic": (hyperbolic, [(1.5, 0.3, 1.0), (5.0, 4.0, 0.5, 2.0)]),
    "generalized_hyperbolic": (
        generalized_hyperbolic,
        [(1.5, 2.0, 0.5, 1.0), (-1.2, 1.0, -0.4, 0.3, -1.0), (25.0, 3.0, 1.0, 2.0)],
    ),
    "nig": (nig, [(1.5, 0.3, 1.0)]),
    "variance_gamma": (variance_gamma, [(0.3, 1.5, 0.3), (0.5, 1.5, 0.3), (1.0, 1.5, 0.3), (3.0, 1.5, -0.9, 0.5)]),
}
CASES = [(law, p) for law, sets in LAWS.values() for p in sets]
BAD = [
    (student_t, (0.0,)), (student_t, (-1.0,)), (student_t, (math.inf,)), (hyperbolic, (1.0, 1.0, 1.0)),
    (hyperbolic, (1.0, 0.0, 0.0)), (hyperbolic, (-1.0, 0.0, 1.0)), (nig, (1.0, -2.0, 1.0)), (nig, (1.0, 0.0, math.nan)),
    (generalized_hyperbolic, (math.inf, 1.0, 0.0, 1.0)), (generalized_hyperbolic, (1.0, 1.0, 0.0, -1.0)),
    (variance_gamma, (0.0, 1.0, 0.0)), (variance_gamma, (-0.5, 1.0, 0.0)), (variance_gamma, (1.0, 1.0, 1.5)),
]  # fmt: skip
X = np.array([-30.0, -3.0, -0.5, -1e-3, 0.2, 1.0, 5.0, 40.0])


def general(law, p):
    """lam, alpha, beta, delta, mu in mpmath."""
    p = [mpmath.mpf(v) for v in p]
    if law is student_t:
        return p
    if law is hyperbolic:
        p = [mpmath.mpf(1), *p]
    if law is nig:
        p = [mpmath.mpf(-0.5), *p]
    if law is variance_gamma:
        p = [*p[:3], mpmath.mpf(0), *p[3:]]
    return p if len(p) == 5 else [*p, mpmath.mpf(0)]


def exact_pdf(law, p, x):
    x = mpmath.mpf(float(x))
    if law is student_t:
        (n,) = general(law, p)
        c = mpmath.gamma((n + 1) / 2) / mpmath.gamma(n / 2) / mpmath.sqrt(n * mpmath.pi)
        return c * (1 + x * x / n) ** (-(n + 1) / 2)
    lam, a, b, d, mu = general(law, p)
    s = x - mu
    v, g, gamma = lam - mpmath.mpf(0.5), mpmath.sqrt(d * d + s * s), mpmath.sqrt(a * a - b * b)
    body = g**v * mpmath.besselk(v, a * g) * mpmath.exp(b * s)
    if d == 0:
        return gamma ** (2 * lam) * body / ((2 * a) ** v * mpmath.sqrt(mpmath.pi) * mpmath.gamma(lam))
    return (gamma / d) ** lam * body / (mpmath.sqrt(2 * mpmath.pi) * mpmath.besselk(lam, d * gamma) * a**v)


@pytest.mark.parametrize(("law", "p"), CASES)
def test_density(law, p, device):
    with mpmath.workdps(30):
        want = [exact_pdf(law, p, x) for x in X]
        logs = np.array([float(mpmath.log(w)) for w in want])
        want = np.array([float(w) for w in want])
    np.testing.assert_allclose(law.pdf(X, *p, **device), want, rtol=1e-13)  # observed 4e-14 (exponents near 100)
    np.testing.assert_allclose(law.logpdf(X, *p, **device), logs, rtol=2e-15, atol=3e-14)
    if device["device"] == "cpu":
        narrow = law.pdf(X.astype(np.float32), *p, **device)
        assert narrow.dtype == np.float32
        np.testing.assert_allclose(narrow[1:-1], want[1:-1], rtol=2e-4)  # exponents of 20 lose 20 ulp; observed 2e-5


@pytest.mark.parametrize("lam", [0.51, 0.55, 0.8, 1.2])
def test_density_next_to_the_pole(lam):
    """Above 1/2 the variance gamma density is finite at mu; its next term is x^(2 lam - 1)."""
    x = np.array([0.0, 1e-100, 1e-40, 1e-20, 1e-10, 1e-9])
    with mpmath.workdps(40):
        v = mpmath.mpf(lam) - 0.5
        limit = mpmath.gamma(v) / 2 * (2 / mpmath.mpf(1.5)) ** v
        scale = exact_pdf(variance_gamma, (lam, 1.5, 0.3), 1e-9) / (
            mpmath.mpf(1e-9) ** v * mpmath.besselk(v, 1.5e-9) * mpmath.exp(3e-10)
        )
        want = [exact_pdf(variance_gamma, (lam, 1.5, 0.3), t) if t else limit * scale for t in x]
    got = variance_gamma.pdf(x, lam, 1.5, 0.3)
    np.testing.assert_allclose(got, np.array([float(w) for w in want]), rtol=3e-14)  # observed 1.7e-14
    frozen = variance_gamma(lam, 1.5, 0.3)
    np.testing.assert_allclose(Recycler.pdf(frozen, x[1:]), got[1:], rtol=6e-14)  # SciPy's kve; observed 2.5e-14


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("law", "shape", "power"),
    [*((variance_gamma, (lam,), 0.0) for lam in (0.05, 0.5, 0.5 + 2.0**-20, 0.5001, 0.501, 0.55, 0.7)),
     *((variance_gamma, (lam,), 0.3) for lam in (0.05, 0.3, 0.5, 0.501, 5.0)), (nig, (), 0.55),
     *((generalized_hyperbolic, (lam,), 0.55) for lam in (-3.0, -0.2, 0.2, 0.505, 4.0))],
)  # fmt: skip
def test_density_where_a_bessel_argument_underflows(law, shape, power, dtype):
    """Off by e^6 next to mu at shapes just above 1/2, inf or NaN where alpha g, or gamma delta, is no normal number."""
    tiny = np.finfo(dtype).tiny
    alpha = float(tiny) ** power
    p = dtype((*shape, alpha, 0.5 * alpha) if law is variance_gamma else (*shape, alpha, 0.5 * alpha, alpha))
    x = np.array([tiny / 8, tiny, tiny**0.97, tiny**0.9, tiny**0.75, tiny**0.5], dtype)
    with mpmath.workdps(60):
        want = np.array([float(mpmath.log(exact_pdf(law, tuple(map(float, p)), t))) for t in x])
    atol = 6e-13 if dtype == np.float64 else 3e-5  # observed 3.4e-13 and 1.5e-5, of 700 and 90
    np.testing.assert_allclose(law.logpdf(x, *p), want, rtol=0, atol=atol)


def test_bessel():
    """Orders to 100, arguments 1e-8 to 1e3: observed 5e-15 absolute or relative in the logarithm."""
    rng = np.random.default_rng(4)
    with mpmath.workdps(30):
        for order, z in zip(np.concatenate([[0, 0.5, 1], rng.uniform(0, 100, 60)]), 10 ** rng.uniform(-8, 3, 63), strict=True):
            want = mpmath.log(mpmath.besselk(order, mpmath.mpf(z))) + mpmath.mpf(z)
            assert abs(log_kve(-float(order), float(z)) - want) <= 1e-14 * max(1, abs(want)), (order, z)
        for order, z in itertools.product([0.3, 2.5, 40.0], [1e5, 1e9, 1e14]):  # observed 3e-15
            assert abs(log_kve(order, z) - mpmath.log(mpmath.besselk(order, z)) - z) <= 1e-14, (order, z)
        for order, z in itertools.product([39.3, 300.3, 3000.3], [1e-3, 30.0, 1e3]):
            want = mpmath.log(mpmath.besselk(order, mpmath.mpf(z))) + mpmath.mpf(z)
            assert abs(log_kve(order, z) - want) <= 1e-14 * max(1, abs(want)), (order, z)


def test_nodes_of_large_orders():
    """The integrand of a large order is narrow: 1e12 took 1.7 million nodes, which all values of its block had to wait for."""
    for order in 10.0 ** np.arange(2, 16):
        for z in (1e-3, 1.0, 0.1 * order, order, 10 * order):
            assert 8 <= gh_nodes(z, order, 1.0, 0.0, 0.0)[-1] <= 25, (order, z)


@pytest.mark.parametrize(("T", "reach", "limit"), [(np.float64, 300, 6e-16), (np.float32, 37, 3e-7)])
def test_bessel_of_order_1(T, reach, limit):
    """That of normal inverse Gaussian densities, with formulas of its own below and above 1: observed 4.9e-16, float32 2.4e-7."""
    rng = np.random.default_rng(6)
    z = np.concatenate([10 ** rng.uniform(-reach, reach, 100), 10 ** rng.uniform(-3, 3, 600), rng.normal(1.0, 1e-3, 100)])
    for x in z.astype(T):
        with mpmath.workdps(40):
            y = mpmath.mpf(float(x))
            series = mpmath.sqrt(mpmath.pi / (2 * y)) * (1 + 3 / (8 * y) - 15 / (128 * y**2) + 105 / (1024 * y**3))
            want = mpmath.log(mpmath.besselk(1, y)) + y if y < 1e5 else mpmath.log(series)
            assert abs(log_kve(T(-1.0), x) - want) <= limit * max(1, abs(want)), x
    assert log_kve(T(1.0), T(0.0)) == math.inf and math.isnan(log_kve(T(1.0), T(math.nan)))


@pytest.mark.parametrize(("T", "lowest", "limit"), [(np.float64, -1074, 1e-15), (np.float32, -149, 7e-7)])
def test_bessel_of_small_arguments(T, lowest, limit):
    """Orders 0 to 3 down to the smallest subnormal number: observed 4.6e-16, float32 3.2e-7, relative in the logarithm."""
    rng = np.random.default_rng(5)
    z = np.concatenate([np.exp2(rng.uniform(lowest, -2, 150)), np.exp2(rng.uniform(lowest / 40, lowest / 44, 30))])
    z = np.concatenate([z, np.full(9, 2.0**lowest), [1e-163, 2.92e-206] if T is np.float64 else [1e-23, 1e-38]]).astype(T)
    order = np.concatenate([rng.uniform(0, 0.6, 100), 10 ** rng.uniform(-20, 0.5, 80)])
    order = np.concatenate([order, [0, 1e-30, 0.2, 0.4, 0.45, 0.4999, 0.5001, 0.7, 1.0], [0.2, -0.085]]).astype(T)
    for v, x in zip(order, z, strict=True):
        with mpmath.workdps(60 + (int(-mpmath.log10(abs(float(v)))) if v else 0)):  # it loses the digits of a small order
            want = mpmath.log(mpmath.besselk(float(v), mpmath.mpf(float(x)))) + float(x)
        assert abs(log_kve(v, x) - want) <= limit * max(1, abs(want)), (v, x)
    assert log_kve(T(0.0), T(0.0)) == log_kve(T(0.3), T(0.0)) == log_kve(T(0.7), T(0.0)) == math.inf


@pytest.mark.parametrize(("law", "p"), CASES)
def test_distribution(law, p):
    """Round trip through independent code: quad of the exact density on each side of a quantile."""
    frozen = law(*p)
    assert isinstance(frozen, FrozenLaw) and frozen.certificate.ok
    u = np.array([1e-12, 0.01, 0.3, 0.6, 0.99])
    x = frozen.ppf(u)
    np.testing.assert_allclose(frozen.cdf(x), u, rtol=3e-13)
    np.testing.assert_allclose(frozen.sf(frozen.isf(u)), u, rtol=3e-13)
    np.testing.assert_allclose(frozen.cdf(x) + frozen.sf(x), 1.0, rtol=1e-15)
    low, high = x[1], x[3]
    middle = float(p[-1]) if law is not student_t and len(p) == len(law.names) else 0.0
    with mpmath.workdps(20):
        points = sorted({float(low), float(high), *([middle] if low < middle < high else [])})
        mass = mpmath.quad(lambda t: exact_pdf(law, p, t), points)
    assert float(mass) == pytest.approx(0.59, rel=1e-9)  # the quadrature's own error at a singular density


@pytest.mark.parametrize("c", [1e8, 1e20, 1e90, 1e-30])
@pytest.mark.parametrize(
    ("law", "p"),
    [(variance_gamma, (20.4, 1.4, 0.7, 0.0)), (variance_gamma, (10.0, 1.4, 0.7, 0.0)), (variance_gamma, (0.3, 1.4, 0.7, 0.0)),
     (variance_gamma, (20.6, 1.4, -0.7, 0.0)), (generalized_hyperbolic, (5.0, 1.4, 0.7, 2.0)), (nig, (1.4, 0.7, 100.0))],
)  # fmt: skip
def test_units(law, p, c):
    """The law of c x has alpha, beta over c and delta times c."""
    moved = [v * (1 / c if n in ("alpha", "beta") else c if n == "delta" else 1.0) for n, v in zip(law.names, p, strict=False)]
    u = np.array([1e-12, 0.01, 0.3, 0.6, 0.99])
    x = law.ppf(u, *p)
    np.testing.assert_allclose(law.ppf(u, *moved) / c, x, rtol=5e-14)  # observed 9.4e-15
    np.testing.assert_allclose(law.cdf(x * c, *moved), law.cdf(x, *p), rtol=5e-14)  # observed 1.9e-14
    np.testing.assert_allclose(law.sf(x * c, *moved), law.sf(x, *p), rtol=5e-14)  # observed 4.7e-15


@pytest.mark.parametrize(
    ("law", "p"),
    [(generalized_hyperbolic, (-10.0, 1.0, 0.999, 1.0)), (generalized_hyperbolic, (-19.4, 5.390874, 5.386887, 1.0429386)),
     (generalized_hyperbolic, (-10.0, 1.0, 0.3, 1e-10)), (generalized_hyperbolic, (-10.0, 1.0, -0.3, 1e-25)),
     (generalized_hyperbolic, (5.0, 1.0, 1 - 1e-9, 3.0)), (variance_gamma, (19.4, 1.4, 1.4 - 1e-9)), (nig, (1.0, 0.99, 700.0)),
     (hyperbolic, (1.0, -0.99, 7e5)), (generalized_hyperbolic, (-10.0, 1.0, 0.3, 1e7)), (nig, (2.0, 0.3, 5e3))],
)  # fmt: skip
def test_strongly_skewed_and_narrow(law, p):
    """Shares of the mass between quantiles against quadrature of the exact density."""
    u = np.array([0.01, 0.3, 0.7, 0.99])
    x = law.ppf(u, *p)
    assert law(*p).certificate.max_rel_err < 2e-14
    np.testing.assert_allclose(law.cdf(x, *p), u, rtol=1e-12)  # observed 4.6e-13, the rounding of x at delta = 1e7
    with mpmath.workdps(25):
        masses = [mpmath.quad(lambda t: exact_pdf(law, p, t), [a, 0.5 * (a + b), b]) for a, b in itertools.pairwise(x)]
        got = np.array([float(m) for m in masses])
    np.testing.assert_allclose(got, np.diff(u), rtol=1e-12)  # observed 2.5e-13


@pytest.mark.parametrize(
    ("law", "p"),
    [(nig, (1.0, 1e-9 - 1, 100.0)), (hyperbolic, (1e3, 1e3 - 1e-6, 1.0, 5.0)), (variance_gamma, (30.0, 1.0, 1 - 1e-12))],
)  # fmt: skip
def test_very_wide_and_skewed(law, p):
    """Densities at quantiles, shares of the mass by quadrature in log x, and tails on both sides of mu."""
    mu = p[3] if len(p) > 3 and law is hyperbolic else 0.0
    u = np.array([1e-15, 0.01, 0.3, 0.7, 0.99])
    frozen = law(*p)
    x = frozen.ppf(u)
    assert frozen.certificate.max_rel_err < 2e-14
    with mpmath.workdps(40):
        want = [mpmath.log(exact_pdf(law, p, t)) for t in x]
        np.testing.assert_allclose(frozen.logpdf(x), np.array([float(w) for w in want]), rtol=2e-14)  # observed 4e-15
        sign, far = np.sign(x - mu)[0], [mpmath.log(abs(mpmath.mpf(t) - mu)) for t in x[1:]]
        assert (np.sign(x - mu) == sign).all()
        share = lambda v: exact_pdf(law, p, mu + sign * mpmath.exp(v)) * mpmath.exp(v)  # noqa: E731
        masses = [float(abs(mpmath.quad(share, [a, 0.5 * (a + b), b], maxdegree=5))) for a, b in itertools.pairwise(far)]
    np.testing.assert_allclose(masses, np.diff(u[1:]), rtol=1e-12)
    np.testing.assert_allclose(frozen.cdf(x), u, rtol=1e-12)
    np.testing.assert_allclose(frozen.sf(x[1:]), 1 - u[1:], rtol=1e-12)
    np.testing.assert_array_equal(frozen.ppf([0.0, 1.0]), [-math.inf, math.inf])
    beyond = mu - sign * 1e3
    assert (frozen.cdf(beyond) if sign > 0 else frozen.sf(beyond)) < 1e-19


@pytest.mark.parametrize("alpha", [1.0, 2.0**90, 2.0**380])
def test_steep_variance_gamma_next_to_a_gamma_law(alpha):
    """X is G/(alpha - beta) but for 1e-13; at a small scale the far tail was lost before the density had its unit."""
    beta = alpha * (1 - 2.0**-42)
    x = np.array([0.5, 10.0, 100.0, 500.0])
    got = variance_gamma.sf(x / (alpha - beta), 0.1, alpha, beta)
    np.testing.assert_allclose(got, scipy.special.gammaincc(0.1, x), rtol=3e-13)  # observed 7e-14


@pytest.mark.parametrize("law", [nig, hyperbolic])
@pytest.mark.parametrize("alpha_delta", [1e17, 1e22, 1e29])
def test_next_to_a_normal_law_away_from_mu(law, alpha_delta):
    """Refused where gamma rounds to alpha: the mean is fifty standard deviations from mu, the skewness 150/(alpha delta)."""
    alpha, delta = 2.0 * math.sqrt(alpha_delta), 0.5 * math.sqrt(alpha_delta)
    std = math.sqrt(delta / alpha)
    u = np.array([1e-15, 0.01, 0.5, 0.99])
    want = std * (50.0 + scipy.stats.norm.ppf(u))
    np.testing.assert_allclose(law.ppf(u, alpha, 50.0 / std, delta), want, rtol=1e-13)  # observed 1.3e-14


@pytest.mark.parametrize("lam", [13.8, 19.9, 20.3])
@pytest.mark.parametrize("alpha", [4e-5, 30.0])
def test_variance_gamma_next_to_a_gamma_law(lam, alpha):
    """Next to |beta| = alpha, where X is G/(alpha - beta) but for 1e-14, G gamma; over- and underflow had them refused."""
    beta = alpha * (1 - 4e-15)
    u = np.array([1e-15, 0.01, 0.5, 0.99])
    want = scipy.stats.gamma.ppf(u, lam) / (alpha - beta)
    np.testing.assert_allclose(variance_gamma.ppf(u, lam, alpha, beta), want, rtol=1e-12)
    np.testing.assert_allclose(variance_gamma.cdf(want, lam, alpha, beta), u, rtol=1e-11)


def test_refused_parameters_are_named():
    for method in ("cdf", "ppf"):
        with pytest.raises(ValueError, match=r"generalized_hyperbolic\(lam=200000.0, alpha=1.0, beta=0.3"):
            getattr(generalized_hyperbolic, method)(0.5, 2e5, 1.0, 0.3, 1.0)
        with pytest.raises(ValueError, match=r"nig\(alpha=1e\+200.*1e140"):
            getattr(nig, method)(0.5, 1e200, 0.3, 1.0)
    with pytest.raises(ValueError, match=r"nig\(alpha=1e\+200"):
        nig(1e200, 0.3, 1.0)


def test_parameters_of_other_kinds():
    masked = np.ma.array([4.0, 5.0], mask=[False, True])
    for call in (
        student_t,
        lambda nu: student_t.pdf(1.0, nu),
        lambda nu: student_t.cdf(1.0, nu),
        lambda nu: student_t.ppf(0.3, nu),
    ):
        with pytest.raises(TypeError, match="masked"):
            call(masked)
    with pytest.raises(ValueError, match="no law"):
        student_t(np.empty(0))
    assert student_t.ppf(0.3, np.empty(0)).shape == student_t.rvs(np.empty(0)).shape == (0,)


def test_many_sets_keep_the_kind():
    """More sets than tables are held at a time."""
    torch = pytest.importorskip("torch")
    nu = np.linspace(1.0, 9.0, 70)
    x = student_t.ppf(torch.full((70,), 0.1, dtype=torch.float64), nu)
    assert isinstance(x, torch.Tensor) and same(x.numpy(), student_t.ppf(0.1, nu))
    out = torch.empty(70, dtype=torch.float64)
    assert student_t.ppf(torch.full((70,), 0.1, dtype=torch.float64), nu, out=out) is out and same(out, x)


def test_many_degrees_of_freedom():
    """From 65 different ones on without tables: against 40 digits, and the edges as one by one."""
    rng = np.random.default_rng(8)
    nu = 10 ** rng.uniform(-1.5, 9, 150)
    u = np.where(rng.uniform(size=150) < 0.5, rng.uniform(size=150), 10 ** rng.uniform(-100, 0, 150))
    x, y = student_t.ppf(u, nu), student_t.isf(u, nu)
    np.testing.assert_array_equal(y, -x)
    seen = np.where(np.isfinite(x), x, rng.normal(size=150))
    lower, upper = student_t.cdf(seen, nu), student_t.sf(seen, nu)
    worst = [0.0, 0.0]
    with mpmath.workdps(40):
        for k, n in enumerate(nu):
            t, n = mpmath.mpf(seen[k]), mpmath.mpf(n)
            tail = mpmath.betainc(n / 2, mpmath.mpf(0.5), 0, n / (n + t * t), regularized=True) / 2
            exact = (tail, 1 - tail) if seen[k] < 0 else (1 - tail, tail)
            error = max(abs(float(got / want - 1)) for got, want in zip((lower[k], upper[k]), exact, strict=True))
            worst[0] = max(worst[0], error)
            if np.isfinite(x[k]):
                f = exact_pdf(student_t, (nu[k],), x[k])
                worst[1] = max(worst[1], abs(float((exact[0] - mpmath.mpf(u[k])) / (f * t))))
            else:
                assert u[k] < tail and nu[k] < 0.5  # beyond 1e305
    assert worst[0] < 2e-13 and worst[1] < 1e-13, worst  # observed 5.4e-14 and 2.0e-14
    few = np.array([0.7, 3.0, 40.0, -1.0, 0.0, np.nan, np.inf])
    many = np.append(few, np.linspace(1.0, 9.0, 70))
    for method in (student_t.ppf, student_t.isf, student_t.cdf, student_t.sf):
        for v in (0.0, 1.0, 0.5, -0.1, 1.1, np.nan, np.inf, -np.inf, 0.3):
            np.testing.assert_allclose(method(v, many)[:7], method(v, few), rtol=3e-14)
    draws = student_t.rvs(np.linspace(2.0, 5.0, 20_000), rng=1)
    assert scipy.stats.kstest(student_t.cdf(draws, np.linspace(2.0, 5.0, 20_000)), "uniform").pvalue > 1e-3
    with pytest.raises(ValueError, match="student_t\\(nu=1e-70\\): .* nu >= 1e-60"):
        student_t.cdf(1.0, np.append(many, 1e-70))
    for method in (student_t.cdf, student_t.sf, student_t.ppf, student_t.isf):
        with pytest.raises(ValueError, match="workers"):
            method(0.3, many, workers=0)
        with pytest.raises(ValueError, match="device"):
            method(0.3, many, device="gpu")


def test_many_degrees_of_freedom_next_to_the_median():
    """Relative to x, of which u - 1/2 has all digits: it was 1e-7 for x = 1e-14."""
    rng = np.random.default_rng(9)
    nu = 10 ** rng.uniform(-1, 12, 150)
    u = 0.5 + rng.choice([-1, 1], 150) * 10 ** rng.uniform(-16, -0.31, 150)
    x = student_t.ppf(u, nu)
    with mpmath.workdps(40):
        for k, n in enumerate(map(mpmath.mpf, nu)):
            t = mpmath.mpf(x[k])
            f = exact_pdf(student_t, (nu[k],), x[k])
            mass = t * exact_pdf(student_t, (nu[k],), 0.0) * mpmath.hyp2f1(0.5, (n + 1) / 2, 1.5, -t * t / n)
            if t:
                assert abs((mass - (mpmath.mpf(u[k]) - 0.5)) / (f * t)) < 1e-14, (nu[k], u[k])  # observed
            else:
                assert u[k] == 0.5
    tiny = np.append(np.linspace(1.0, 9.0, 70), [1e-60, 1e-20, 1e100, 1e300])
    np.testing.assert_allclose(student_t.ppf(0.5 + 2.0**-50, tiny)[-2:], 2.0**-50 * math.sqrt(2 * math.pi), rtol=1e-15)
    assert not np.signbit(student_t.isf(0.5, tiny)).any()


def test_parameters_decide_the_kind_as_data_do():
    torch = pytest.importorskip("torch")
    for n in (1, 2, 70):
        nu = torch.linspace(1.0, 9.0, n, dtype=torch.float64)
        for method in ("pdf", "logpdf", "cdf", "sf", "ppf", "isf"):
            x = getattr(student_t, method)(0.3, nu)
            assert isinstance(x, torch.Tensor) and same(x.numpy(), getattr(student_t, method)(0.3, nu.numpy())), (method, n)
    with pytest.raises(TypeError, match="bfloat16"):
        student_t.ppf(torch.tensor([0.3], dtype=torch.bfloat16), 4.0)


def test_out_may_overlap_the_data():
    for n in (2, 100):
        nu, memory = np.linspace(3, 10, n), np.linspace(0.1, 0.9, n + 1)
        want = student_t.ppf(memory[:-1].copy(), nu)
        assert same(student_t.ppf(memory[:-1], nu, out=memory[1:]), want)


def test_shapes_of_single_parameters():
    for u in (0.5, [0.5, 0.2], np.array([0.5, 0.2])):
        for nu in (4.0, [4.0], [[4.0]]):
            shape = np.broadcast_shapes(np.shape(u), np.shape(nu))
            assert {np.shape(f(u, nu)) for f in (student_t.pdf, student_t.cdf, student_t.ppf)} == {shape}


def test_executors():
    with ThreadPoolExecutor(2) as pool:
        law = hyperbolic([1.0, 2.0], 0.3, 1.0, workers=pool)
        copied = pickle.loads(pickle.dumps(law))
    assert copied.workers is None and same(copied.ppf(0.3), hyperbolic([1.0, 2.0], 0.3, 1.0).ppf(0.3))
    with ProcessPoolExecutor(1) as pool, pytest.raises(TypeError, match="ThreadPoolExecutor"):
        Recycler(lambda x, s: np.exp(-s * x * x), params=(np.array([1.0, 2.0]),), workers=pool)
    with pytest.raises(ValueError, match="not understood"):
        student_t.ppf(0.3, np.empty(0), workers="x")


@pytest.mark.parametrize(("law", "p"), [(hyperbolic, (25.0, 20.0, 4.0)), (variance_gamma, (20.0, 2.0, 1.8))])
def test_lower_tail_beyond_the_anchor(law, p):
    """Next to all of the mass is above mu (p- is 1e-19, 2e-17), and the lower tail beyond mu keeps its digits; observed 6e-15."""
    u = np.array([2e-17, 1e-12, 1e-3])
    x = law.ppf(u, *p)
    with mpmath.workdps(30):
        steps = np.array([0, *np.geomspace(0.01, 1, 12)])
        for at, share in zip(x, u, strict=True):
            down = [mpmath.mpf(float(at)) * (1 - mpmath.mpf(float(s))) for s in steps]
            far = [-mpmath.mpf(k) / sum(p[1 if law is variance_gamma else 0 :][:2]) for k in (1, 3, 8, 20, 50)]
            mass = mpmath.quad(lambda t: exact_pdf(law, p, t), [*far[::-1], *down[::-1]])
            assert law.cdf(at, *p) == pytest.approx(float(mass), rel=2e-14)
            assert share == pytest.approx(float(mass), rel=2e-13)  # the table's error and the conditioning


@pytest.mark.parametrize("nu", [0.08, 0.3, 0.5, 0.9])
def test_few_degrees_of_freedom(nu):
    """Steep quantiles take more rows per octave."""
    law = student_t(nu, base="uniform")
    assert law.certificate.max_rel_err < 2e-14
    u = np.array([1e-12, 1e-5, 0.013, 0.3, 0.45])
    x = law.ppf(u)
    with mpmath.workdps(40):
        n = mpmath.mpf(nu)
        got = [mpmath.betainc(n / 2, 0.5, 0, n / (n + mpmath.mpf(v) ** 2), regularized=True) / 2 for v in x]
        error = [
            float(abs(p / mpmath.mpf(float(w)) - 1) / (w * moves)) for p, w, moves in zip(got, u, _moves(nu, x), strict=True)
        ]
    assert max(error) < 2e-14  # observed 1.1e-14
    assert same(law.isf(u), -x)


@pytest.mark.parametrize("nu", [1e-60, 1e-20, 1e-8, 1e-4, 0.002, 0.01, 0.04, 0.05, 0.2])
def test_mass_of_a_heavy_tail_beyond_the_doubles(nu):
    x = np.array([1e-9, 0.3, 1.8786811801207852, 1e10, 8.006540947667937e272, 1e304, 1.7e308])
    with mpmath.workdps(40):
        sf = [_student_sf(nu, v) for v in x]
        cdf = np.array([float(1 - p) for p in sf])
    np.testing.assert_allclose(student_t.sf(x, nu), np.array([float(p) for p in sf]), rtol=2e-14)  # observed 7.4e-15
    np.testing.assert_allclose(student_t.cdf(x, nu), cdf, rtol=2e-15)  # observed 8e-16


@pytest.mark.parametrize(("nu", "u"), [(0.01, 0.0054), (0.01, 0.3), (0.04, 2e-11), (0.03, 1e-6), (0.02, 0.1)])
def test_quantiles_of_a_heavy_tail(nu, u):
    law = student_t(nu, base="uniform", accuracy="full")
    assert law.certificate.max_rel_err < 2e-14
    with mpmath.workdps(40):
        error = float(_student_sf(nu, law.ppf(u)) / mpmath.mpf(u) - 1)
    assert abs(error) < 1e-15  # observed 5.3e-16


def test_degrees_of_freedom_out_of_range():
    with pytest.raises(ValueError, match="nu >= 1e-60"):
        student_t.cdf(1.0, 1e-61)
    with pytest.raises(ValueError, match="nu >= 1e-60"):
        student_t(1e-300)
    got, want = student_t.cdf(X, 1e200), scipy.stats.norm.cdf(X)
    np.testing.assert_allclose(got, want, rtol=3e-13)  # observed 1.5e-13, SciPy rounds an exponent of 450


def _student_sf(nu, x):
    n, x = mpmath.mpf(nu), mpmath.mpf(float(x))
    return mpmath.betainc(n / 2, 0.5, 0, n / (n + x * x), regularized=True) / 2


def _moves(nu, x):
    """|d log p / d log x| / p of Student's t."""
    return np.abs(x) * student_t.pdf(x, nu) / student_t.cdf(x, nu) ** 2


@pytest.mark.parametrize("unit", [1.0, 2.0**70, 2.0**300])
@pytest.mark.parametrize("lam", [0.006, 0.03, 0.1])
def test_variance_gamma_of_small_shape(lam, unit):
    """Next to the pole the mass is C Gamma(1/2 - lam) (2/alpha)^(1/2 - lam) x^(2 lam)/(4 lam), C the constant of (90)."""
    a, b = 1.5 / unit, 0.3 / unit
    law = variance_gamma(lam, a, b)
    assert law.certificate.max_rel_err < 2e-14
    x = np.array([1e-80, 1e-60, 1e-40]) * unit
    with mpmath.workdps(30):
        lam, a, b = map(mpmath.mpf, (lam, a, b))
        v = lam - 0.5
        c = (a * a - b * b) ** lam / ((2 * a) ** v * mpmath.sqrt(mpmath.pi) * mpmath.gamma(lam))
        mass = [c * mpmath.gamma(-v) * (2 / a) ** -v * mpmath.mpf(t) ** (2 * lam) / (4 * lam) for t in x]
        right = mpmath.betainc(lam, lam, 0, (a + b) / (2 * a), regularized=True)
        side, y, t = np.ones(3), np.array([float(m / right) for m in mass]), np.array([float(1 - m / right) for m in mass])
    moved = 2 * float(lam) * np.log(law.ppf2(side, y, t) / x)  # as a relative error of the mass
    np.testing.assert_allclose(moved, 0.0, atol=4e-14)  # SciPy's kve; observed 3e-14


@pytest.mark.parametrize(
    ("law", "p"),
    [
        (hyperbolic, (1.5, 0.3, 1.0)),
        (variance_gamma, (0.6, 1.5, 0.3)),
        (variance_gamma, (20.0, 1.5, 0.3)),
        (nig, (1.5, 0.3, 0.2)),
    ],
)
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float32, 2.0**-50), (np.float32, 2.0**-90), (np.float64, 2.0**-460), (np.float64, 2.0**-900), (np.float64, 2.0**900)],
)
def test_density_of_any_scale(law, p, dtype, scale):
    """Off by e^5 in float32 at scales below 1e-12, where the limit at 0 was taken for the whole density."""
    x = np.array([0.0, 1e-6, 1e-3, 0.1, 1.0, 3.0])
    factors = np.array([1.0] * (law is variance_gamma) + [1 / scale, 1 / scale] + [scale] * (law is not variance_gamma))
    got = law.logpdf((x * scale).astype(dtype), *(np.array(p) * factors).astype(dtype))
    rtol = 5e-6 if dtype == np.float32 else 1e-14  # observed 1.9e-6 and 3.2e-15
    np.testing.assert_allclose(got, law.logpdf(x, *p) - math.log(scale), rtol=rtol)


def test_student_closed_forms():
    u = np.array([1e-15, 1e-9, 0.1, 0.4999, 0.7, 0.99])
    want = np.where(u < 0.1, -1 / (np.pi * u), np.tan(np.pi * (u - 0.5)))
    np.testing.assert_allclose(student_t.ppf(u, 1.0), want, rtol=2e-14)
    np.testing.assert_allclose(student_t.ppf(u, 2.0), (2 * u - 1) / np.sqrt(2 * u * (1 - u)), rtol=2e-14)
    s = np.sqrt(4 * u * (1 - u))
    want = np.sign(u - 0.5) * 2 * np.sqrt(np.maximum(np.cos(np.arccos(s) / 3) / s - 1, 0))
    keep = np.abs(u - 0.5) > 0.01  # the closed form cancels there
    np.testing.assert_allclose(student_t.ppf(u, 4.0)[keep], want[keep], rtol=2e-13)


def test_variance_gamma_with_shape_one_is_two_exponentials():
    law = variance_gamma(1.0, 1.5, 0.3)
    p = 0.4  # (alpha - beta)/(2 alpha)
    assert law.p_minus == pytest.approx(p, rel=1e-15)
    u = np.array([1e-12, 0.1, 0.39, 0.41, 0.9, 1 - 1e-9])
    want = np.where(u < p, np.log(u / p) / 1.8, -np.log((1 - u) / 0.6) / 1.2)
    np.testing.assert_allclose(law.ppf(u), want, rtol=3e-14)  # conditioning of 1 - u


def test_against_scipy():
    u = np.array([0.001, 0.2, 0.9])
    np.testing.assert_allclose(hyperbolic.ppf(u, 1.5, 0.3, 1.0), scipy.stats.genhyperbolic.ppf(u, 1, 1.5, 0.3), rtol=1e-8)
    np.testing.assert_allclose(nig.cdf(X[1:-1], 1.5, 0.3, 1.0), scipy.stats.norminvgauss.cdf(X[1:-1], 1.5, 0.3), rtol=1e-7)
    np.testing.assert_allclose(student_t.cdf(X, 2.5), scipy.stats.t.cdf(X, 2.5), rtol=1e-13)
    np.testing.assert_allclose(student_t.sf(X, 300.0), scipy.stats.t.sf(X, 300.0), rtol=1e-12)


@pytest.mark.parametrize(("law", "p"), BAD)
def test_out_of_domain(law, p):
    for method, data in (("pdf", 0.3), ("logpdf", 0.3), ("cdf", 0.3), ("sf", 0.3), ("ppf", 0.3), ("isf", 0.3)):
        assert np.isnan(getattr(law, method)(data, *p)), method
    assert np.isnan(law.rvs(*p, size=2, rng=1)).all()
    with pytest.raises(ValueError, match="finite|must"):
        law(*p)


def test_distribution_on_every_device(device):
    nu = np.array([[1.0], [2.0], [-1.0]])
    x = np.array([-math.inf, -1e30, -3.0, -1e-9, 0.0, 0.2, 1e12, math.inf, math.nan])
    with np.errstate(invalid="ignore"):
        tail = np.array([np.arctan2(1.0, np.abs(x)) / np.pi, 1 / (2 + x * x + np.abs(x) * np.sqrt(2 + x * x)), x * math.nan])
    for upper, method in ((False, student_t.cdf), (True, student_t.sf)):
        want = np.where((x > 0) == upper, tail, 1 - tail)
        np.testing.assert_allclose(method(x, nu, **device), want, rtol=1e-14)  # observed 3e-15
    out = np.empty(x.size, np.float32)
    assert nig.cdf(x.astype(np.float32), 1.5, 0.3, 1.0, out=out, **device) is out
    want = np.where(x == 1e12, 1.0, scipy.stats.norminvgauss.cdf(x, 1.5, 0.3))  # SciPy gives 0 there
    np.testing.assert_allclose(out, want, rtol=1e-6)
    moved = variance_gamma.sf(x + 2.0, 1.0, 1.5, 0.3, 2.0, **device)
    np.testing.assert_allclose(moved[2:6], [1 - 0.4 * np.exp(-5.4), 1 - 0.4, 0.6, 0.6 * np.exp(-0.24)], rtol=3e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_densities_do_not_depend_on_their_neighbours(dtype):
    """Sums of a block have as many nodes as its longest: the others add nothing there."""
    rng = np.random.default_rng(9)
    n = 300
    x, lam = rng.normal(size=n) * 10 ** rng.uniform(-6, 3, n), rng.choice([-0.5, 0.0, 0.3, 1.0, 1.5, 1.7, 20.0, -4.2], n)
    alpha, delta = 10 ** rng.uniform(-2, 2, n), 10 ** rng.uniform(-4, 2, n)
    x[5], lam[8], alpha[11], delta[14] = np.nan, np.inf, -1.0, -1.0
    values = [a.astype(dtype) for a in (x, lam, alpha, 0.4 * alpha, delta, np.zeros(n))]
    for method in (generalized_hyperbolic.logpdf, generalized_hyperbolic.pdf):
        whole = method(*values)
        for first in (1, 7, 50):
            assert same(whole[first:], method(*(v[first:] for v in values)))
        scalar = np.array([gh_logpdf(*v[:6], dtype(gh_log_norm(*map(np.float64, v[1:5])))) for v in zip(*values, strict=True)])
        want = scalar if method == generalized_hyperbolic.logpdf else np.exp(scalar)
        np.testing.assert_allclose(
            whole, want, rtol=1e-12 if dtype is np.float64 else 2e-4, atol=1e-12 if dtype is np.float64 else 1e-4
        )


def test_special_values():
    for law, p in CASES:
        for x, density, below in ((-math.inf, 0.0, 0.0), (math.inf, 0.0, 1.0), (math.nan, math.nan, math.nan)):
            assert same(np.float64(law.pdf(x, *p)), np.float64(density)), (law, p, x)
            np.testing.assert_equal(law.cdf(x, *p), below)
        np.testing.assert_equal(law.ppf([0.0, 1.0, -1.0, math.nan], *p), [-math.inf, math.inf, math.nan, math.nan])
    assert variance_gamma.pdf(0.0, 0.3, 1.5, 0.3) == math.inf
    assert variance_gamma.pdf(2.0, 0.5, 1.5, 0.3, 2.0) == math.inf


def test_broadcasting():
    nu = np.array([[1.0], [4.0], [-1.0]])
    u = np.array([0.1, 0.5, 0.9])
    got = student_t.ppf(u, nu)
    assert got.shape == (3, 3) and np.isnan(got[2]).all()
    for i in (0, 1):
        assert same(got[i], student_t.ppf(u, float(nu[i, 0])))
    many = np.linspace(1.0, 5.0, 70)  # more than one batch of tables
    x = student_t.ppf(0.9, many)
    np.testing.assert_allclose(x, scipy.stats.t.ppf(0.9, many), rtol=1e-12)
    repeated = student_t.ppf(np.full(1000, 0.9), np.resize([2.0, 3.0], 1000))
    assert same(repeated, np.resize(student_t.ppf(0.9, [2.0, 3.0]), 1000))
    assert student_t.pdf(u, nu).shape == (3, 3) and student_t.cdf(u, nu).shape == (3, 3)
    assert student_t.rvs(nu[:2], size=(2, 5), rng=1).shape == (2, 5)
    batch = nig(np.array([1.5, 0.2]), 0.3, 1.0)
    assert batch.certificate.ok.tolist() == [True, False]
    assert np.isnan(batch.ppf(0.3)[1])
    assert np.isnan(student_t.ppf(np.float32(0.3), -1.0)) and np.isnan(student_t.ppf(0.3, [-1.0, -2.0])).all()
    assert np.isnan(student_t([-1.0, -2.0], base="normal").transform(0.3)).all()
    for empty in (student_t.ppf(0.3, np.zeros(0)), student_t.cdf(0.3, np.zeros(0)), student_t.pdf(np.zeros(0), 4.0)):
        assert empty.shape == (0,)
    moved = hyperbolic(1.5, 0.3, 1.0, np.array([0.0, 100.0]))
    np.testing.assert_allclose(np.diff(moved.ppf(0.7)), 100.0)


def test_one_rule_for_the_dtype():
    """NumPy's result type of the data and the parameters, Python numbers weak, in every method and in frozen laws."""
    methods = "pdf", "logpdf", "cdf", "sf", "ppf", "isf"
    for nu in (4.0, np.float32(4.0), np.float64(4.0)):
        frozen = student_t(nu, base="uniform")
        for x in (0.3, np.float32(0.3), np.full(1, 0.3, np.float32)):
            want = np.result_type(x, nu)
            assert {getattr(student_t, m)(x, nu).dtype for m in methods} == {want}, (nu, x)
            assert {getattr(frozen, m)(x).dtype for m in (*methods, "transform")} == {want}, (nu, x)
    table = Recycler(lambda x, s: np.exp(-x * s), params=(np.array([1.0, 2.0]),), support=(0.0, math.inf))
    assert {f(np.float32(0.3)).dtype.name for f in (table.pdf, table.ppf, table.isf, table.transform)} == {"float64"}
    assert table.rvs((3, 2), rng=1, dtype=np.float32).dtype == np.float32


def test_named_parameters_and_base():
    assert same(nig.ppf(0.3, alpha=1.5, beta=0.3, delta=1.0), nig.ppf(0.3, 1.5, 0.3, 1.0, 0.0))
    with pytest.raises(TypeError, match="misses delta"):
        nig(1.5, 0.3)
    with pytest.raises(TypeError, match="takes nu"):
        student_t(1.0, 2.0)
    z = np.array([-2.0, 0.0, 1.0])
    frozen = student_t(4.0)
    assert frozen.norm_const == 1.0  # the law's density is normalised
    np.testing.assert_allclose(frozen.transform(z), student_t(4.0).ppf(scipy.stats.norm.cdf(z)), rtol=1e-13)
    assert "student_t(nu=4.0)" in repr(frozen)


def test_draws():
    x = variance_gamma.rvs(0.8, 1.5, 0.3, size=50_000, rng=2)
    assert scipy.stats.kstest(x, lambda v: variance_gamma.cdf(v, 0.8, 1.5, 0.3)).pvalue > 1e-3
    gamma = math.sqrt(1.5**2 - 0.3**2)
    assert abs(x.mean() - 2 * 0.8 * 0.3 / gamma**2) < 0.03


def exact_moments(law, p):
    """Mean and variance through the Bessel functions, in twice the digits that they lose."""
    if law is student_t:
        (n,) = p
        return (0, (n / (n - 2) if n > 2 else math.inf)) if n > 1 else (math.nan, math.nan)
    lam, a, b, d, mu = general(law, p)
    gamma = mpmath.sqrt((a - b) * (a + b))
    if d == 0:
        w, spread = 2 * lam / gamma**2, 4 * lam / gamma**4
    else:
        k0, k1, k2 = (mpmath.besselk(lam + i, d * gamma) for i in range(3))
        w, spread = d / gamma * k1 / k0, (d / gamma) ** 2 * (k2 * k0 - k1**2) / k0**2
    return mu + b * w, w + b * b * spread


MOMENTS = [
    *CASES, (student_t, (1.0,)), (student_t, (1.5,)), (student_t, (2.0 + 2e-15,)), (student_t, (1e300,)),
    *((generalized_hyperbolic, (lam, alpha, share * alpha, delta / alpha))
      for lam in (-1.5, -1.0, 0.0, 0.3, 2.5, 40.0, -1e4) for delta in (1e-25, 1e-3, 1.0, 30.0, 1e12)
      for alpha, share in ((1e-100, 0.999999), (3.0, -0.5), (1e100, 0.999999999999))),
]  # fmt: skip


@pytest.mark.parametrize(("law", "p"), MOMENTS)
def test_moments(law, p):
    with mpmath.workdps(80):
        want = [float(v) for v in exact_moments(law, p)]
    np.testing.assert_allclose([law.mean(*p), law.var(*p)], want, rtol=1e-14)  # observed 3e-15
    np.testing.assert_allclose(law.std(*p), math.sqrt(want[1]), rtol=1e-14)


def test_moments_of_frozen_laws_and_arrays():
    nu = np.array([[-1.0, 0.5, 1.0], [1.5, 2.0, 3.0]])
    assert same(student_t.mean(nu), [[math.nan] * 3, [0.0] * 3])
    assert same(student_t.var(nu), [[math.nan] * 3, [math.inf, math.inf, 3.0]])
    assert student_t.mean(np.zeros((0, 2))).shape == (0, 2)
    frozen = hyperbolic(1.5, np.array([0.3, -0.3]), 1.0, mu=np.array([[0.0], [2.0]]))
    x = frozen.rvs((200_000, 2, 2), rng=1)
    for got, drawn in ((frozen.mean(), x.mean(0)), (frozen.std(), x.std(0)), (frozen.median(), np.median(x, 0))):
        assert got.shape == (2, 2)
        np.testing.assert_allclose(got, drawn, atol=0.02)  # the means have standard deviations of 0.004; observed 0.008
    np.testing.assert_allclose(frozen.cdf(frozen.median()), 0.5, rtol=1e-13)
    assert type(nig(1.5, 0.3, 1.0).mean()) is np.float64
    assert nig.median(1.5, 0.3, 1.0) == nig.ppf(0.5, 1.5, 0.3, 1.0)
    with pytest.raises(ValueError, match=r"nig\(.*delta=1e-90.*1e-70"):
        nig.var(1.5, 0.3, 1e-90)


@pytest.mark.parametrize("name", list(LAWS))
def test_docstrings(name):
    law = getattr(ns.quantile, name)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    runner.run(parser.get_doctest(law.__doc__, {}, name, None, 0))
    assert runner.summarize().failed == 0


def test_bridge_to_scipy():
    from numbastats.interop import to_scipy

    law, want = to_scipy(student_t(4.0)), scipy.stats.t(4.0)
    q = np.array([1e-9, 0.2, 0.5, 0.999])
    np.testing.assert_allclose(law.ppf(q), want.ppf(q), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(law.isf(q), want.isf(q), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(law.interval(0.9), want.interval(0.9), rtol=1e-12)
    np.testing.assert_allclose(law.cdf(1.3), want.cdf(1.3), rtol=1e-13)
    assert law.support() == want.support() and to_scipy(Recycler(np.ones_like, support=(0, 2))).support() == (0.0, 2.0)
    x = law.rvs(size=(2, 50_000), random_state=1)
    assert x.shape == (2, 50_000) and scipy.stats.kstest(x.reshape(-1), want.cdf).pvalue > 1e-3
    np.testing.assert_allclose([law.logcdf(-3.0), law.logsf(3.0)], [want.logcdf(-3.0), want.logsf(3.0)], rtol=1e-13)
    np.testing.assert_allclose([law.logcdf(1e6), law.logsf(-1e6)], -want.sf(1e6), rtol=1e-13)
    with pytest.raises(ValueError, match="moments='mvsk'"):
        law.stats("mvsk")
    x = np.array([-1e10, -30.0, -0.1, 0.0, 0.1, 30.0, 1e10, math.inf, math.nan])  # 1 - p where that is the smaller one
    np.testing.assert_allclose(law.logcdf(x), want.logcdf(x), rtol=1e-14)
    np.testing.assert_allclose(law.logsf(x), want.logsf(x), rtol=1e-14)
    assert (
        law.logsf(np.float32([2.0])).dtype == np.float32 and np.ndim(law.logcdf(0.5)) == 0 and law.logcdf(-math.inf) == -math.inf
    )
    np.testing.assert_allclose((*law.stats(), law.std()), (*want.stats(), want.std()), rtol=1e-14)
    assert law.expect(np.cos) == pytest.approx(want.expect(np.cos), rel=1e-7)
    assert law.expect(lb=1.0, ub=2.0, conditional=True) == pytest.approx(want.expect(lb=1.0, ub=2.0, conditional=True), rel=1e-9)
    other = to_scipy(Recycler(lambda x: np.exp(-x * x / 2)))
    assert other.expect(np.square) == pytest.approx(1.0, rel=1e-9)
    for missing in (lambda: law.fit, lambda: other.mean):
        with pytest.raises(AttributeError, match="ppf"):
            missing()
    with pytest.raises(TypeError, match="Recycler"):
        to_scipy(3.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_density_far_out(dtype):
    """Where the square of alpha x overflows, and alpha x itself: exponents of (alpha - beta) x, then -inf and a density of 0."""
    top = float(np.finfo(dtype).max)
    for x in np.array([1e17, 3e19, top**0.5, 2 * top**0.5, top / 1e3, -top / 1e3], dtype):
        for law, p in ((nig, (1.5, 0.3, 1.0)), (hyperbolic, (1.5, 0.3, 1.0)), (variance_gamma, (2.0, 1.5, 0.3))):
            want = -(1.5 - math.copysign(0.3, x)) * abs(float(x))  # but for a logarithm
            assert law.logpdf(x, *p) == pytest.approx(want, rel=1e-15 if dtype == np.float64 else 2e-7)
            assert law.pdf(x, *p) == 0.0
    ends = np.array([0.9 * top, -0.9 * top, math.inf, -math.inf], dtype)
    for law, p in ((nig, (1.5, 0.3, 1.0)), (hyperbolic, (1.5, 0.3, 1.0)), (variance_gamma, (2.0, 1.5, 0.3))):
        assert (law.pdf(ends, *p) == 0.0).all() and (law.logpdf(ends, *p) == -math.inf).all()
    for order, z in itertools.product([0.0, 2.5], [1e19, 0.5 * top]):
        want = 0.5 * (math.log(math.pi / 2) - math.log(z))
        assert log_kve(dtype(order), dtype(z)) == pytest.approx(want, rel=1e-15 if dtype == np.float64 else 2e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("nu", [1e-30, 1e-3, 0.3, 0.9])
def test_heavy_density_far_out(nu, dtype):
    """Also where x/sqrt(nu) overflows: the logarithm was -inf."""
    x = dtype(np.finfo(dtype).max) * np.array([1e-20, 1e-3, 0.5, 0.9, 1.0], dtype)
    with mpmath.workdps(100):
        want = np.array([float(mpmath.log(exact_pdf(student_t, (float(dtype(nu)),), t))) for t in x])
    rtol = 1e-15 if dtype == np.float64 else 4e-7  # observed 1.7e-16 and 9.2e-8
    np.testing.assert_allclose(student_t.logpdf(x, dtype(nu)), want, rtol=rtol)
    assert student_t.logpdf(dtype(math.inf), dtype(nu)) == -math.inf


@pytest.mark.parametrize(
    ("law", "p"),
    [(student_t, (0.01,)), (student_t, (0.1,)), (nig, (1e8, 0.3e8, 1e-8)), (variance_gamma, (0.05, 1.5, 0.3, 2.0))],
)
def test_float32_distribution_of_panels_beyond_float32(law, p, device):
    """Heavy tails, small scales, poles: it was NaN at the ends, at mu and where a panel's centre is no float32."""
    x = np.array([math.inf, -math.inf, 3e38, -1e38, 0.0, 2.0, 1e-45, -1e-40, 1e-8, math.nan], np.float32)
    for method in (law.cdf, law.sf):
        want = method(x.astype(np.float64), *p)
        got = method(x, *p, **device)
        assert got.dtype == np.float32 and np.isnan(got).sum() == 1
        np.testing.assert_allclose(got, want, rtol=2e-7)
    np.testing.assert_array_equal(law.cdf(x[:2], *p), [1, 0])
    out = np.empty_like(x)
    assert law.cdf(x, *p, out=out) is out and same(out, law.cdf(x, *p))


def test_more_rows_than_float32_counts(monkeypatch):
    """Headers number the rows, in float32 exactly to 2^24 only: beyond, float32 goes through float64."""
    from numbastats.distributions import base as laws
    from numbastats.quantile import estimator as recycler

    nu, x = np.array([2.0, 5.0, 9.0]), np.array([[0.1], [0.4]], np.float32)
    want = student_t.cdf(x.astype(float), nu), student_t([2.0, 5.0, 9.0], base="uniform").ppf(x.astype(float))
    for module in (laws, recycler):
        monkeypatch.setattr(module, "EXACT32", 100)
    got = student_t.cdf(x, nu, dtype=np.float32), student_t([2.0, 5.0, 9.0], base="uniform").ppf(x, dtype=np.float32)
    for g, w in zip(got, want, strict=True):
        assert same(g, w.astype(np.float32))  # rounded once


def test_memory_of_kept_tables(monkeypatch):
    """Thirty-two batches were kept, however large: 550 MB, and 17 GB of steep laws."""
    monkeypatch.setattr("numbastats.distributions.base._MEMORY", 1 << 20)
    for nu in (3.0, 4.0, 5.0, 6.0, 7.0):
        assert student_t.ppf(0.9, nu) == pytest.approx(scipy.stats.t.ppf(0.9, nu), rel=5e-15)
    assert ((3.0,),) not in student_t._made and ((7.0,),) in student_t._made
    assert sum(t.nbytes for t in student_t._made.values()) <= 1 << 20
    many = np.linspace(2.0, 9.0, 6)  # more than fit are kept while they are the last
    for _ in range(2):
        np.testing.assert_allclose(student_t.ppf(0.9, many), scipy.stats.t.ppf(0.9, many), rtol=5e-15)
    assert len(student_t._made) == 1


def test_underflow_where_numpy_raises_errors():
    """In set-ups of tables and distribution functions tails underflow: FloatingPointError for who has NumPy raise errors."""
    ppf, cdf = hyperbolic(1.75, 0.5, 1.0).ppf(0.125), variance_gamma.cdf([-2.0, 0.5], 1.2, 1.5, 0.3)
    with np.errstate(all="raise"):
        law = hyperbolic(1.75, 0.5, 1.0)  # anew: frozen laws are not kept
        assert law.ppf(0.125) == ppf
        assert abs(law.ppf(np.float32(0.125)) / ppf - 1) < 1.3e-7  # 2.6e-8
        assert same(variance_gamma.cdf([-2.0, 0.5], 1.2, 1.5, 0.3001).round(3), cdf.round(3))  # other panels, made here
        x = ns.quantile.recycle(np.array([-3.0, 0.1]), "normal", student_t(4.0))
        np.testing.assert_allclose(x, scipy.stats.t(4).ppf(scipy.stats.norm.cdf([-3.0, 0.1])), rtol=1e-12)
        score = ns.stable.score(np.array([5e-324, 3.0]), 2.0, 0.0)  # the law of variance 2
    np.testing.assert_allclose(score[:, 2:], [[0.0, -1.0], [1.5, 3.5]], atol=1e-9)


def test_a_fixed_law_computes_where_it_was_told(monkeypatch):
    from numbastats.distributions import base as laws

    law, asked = student_t(4.0, device="cpu", workers=1), []
    monkeypatch.setattr(laws, "elementwise", lambda *_, device, workers, **__: asked.append((device, workers)))
    law.pdf(0.3), law.logpdf(0.3), law.cdf(0.3), law.sf(0.3, workers=2)
    assert asked == [("cpu", 1)] * 3 + [("cpu", 2)]


def test_parameters_beyond_the_doubles():
    """IndexError and AttributeError before."""
    for params in ((1e308, 0.0, 1.0), (1e200, 0.0, 1.0), (1e308, 1e307, 1e308)):
        with pytest.raises(ValueError, match="within the doubles"):
            ns.quantile.nig.mean(*params)
    assert ns.quantile.nig.mean(1e150, 0.5e150, 1e-150, 3.0) == pytest.approx(3.0, rel=1e-14)
    with pytest.raises(TypeError, match="call a law with its parameters"):
        ns.quantile.FrozenLaw(None, ())
