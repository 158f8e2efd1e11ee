"""Generalised hyperbolic distributions: Bessel functions, skewed and narrow ones, limits."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from numbastats.distributions import generalized_hyperbolic, hyperbolic, nig, variance_gamma
from numbastats.quantile import QuantileTable
from numbastats.scalar.hyperbolic import gh_nodes, log_kve
from tests.distributions.naive import exact_pdf


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
    np.testing.assert_allclose(QuantileTable.pdf(frozen, x[1:]), got[1:], rtol=6e-14)  # SciPy's kve; observed 2.5e-14


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("law", "shape", "power"),
    [
        *((variance_gamma, (lam,), 0.0) for lam in (0.05, 0.5, 0.5 + 2.0**-20, 0.5001, 0.501, 0.55, 0.7)),
        *((variance_gamma, (lam,), 0.3) for lam in (0.05, 0.3, 0.5, 0.501, 5.0)),
        (nig, (), 0.55),
        *((generalized_hyperbolic, (lam,), 0.55) for lam in (-3.0, -0.2, 0.2, 0.505, 4.0)),
    ],
)
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("law", "p"),
    [
        (generalized_hyperbolic, (-10.0, 1.0, 0.999, 1.0)),
        (generalized_hyperbolic, (-19.4, 5.390874, 5.386887, 1.0429386)),
        (generalized_hyperbolic, (-10.0, 1.0, 0.3, 1e-10)),
        (generalized_hyperbolic, (-10.0, 1.0, -0.3, 1e-25)),
        (generalized_hyperbolic, (5.0, 1.0, 1 - 1e-9, 3.0)),
        (variance_gamma, (19.4, 1.4, 1.4 - 1e-9)),
        (nig, (1.0, 0.99, 700.0)),
        (hyperbolic, (1.0, -0.99, 7e5)),
        (generalized_hyperbolic, (-10.0, 1.0, 0.3, 1e7)),
        (nig, (2.0, 0.3, 5e3)),
    ],
)
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
)
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


def test_variance_gamma_with_shape_one_is_two_exponentials():
    law = variance_gamma(1.0, 1.5, 0.3)
    p = 0.4  # (alpha - beta)/(2 alpha)
    assert law.p_minus == pytest.approx(p, rel=1e-15)
    u = np.array([1e-12, 0.1, 0.39, 0.41, 0.9, 1 - 1e-9])
    want = np.where(u < p, np.log(u / p) / 1.8, -np.log((1 - u) / 0.6) / 1.2)
    np.testing.assert_allclose(law.ppf(u), want, rtol=3e-14)  # conditioning of 1 - u


def test_parameters_beyond_the_doubles():
    """IndexError and AttributeError before."""
    for params in ((1e308, 0.0, 1.0), (1e200, 0.0, 1.0), (1e308, 1e307, 1e308)):
        with pytest.raises(ValueError, match="within the doubles"):
            ns.distributions.nig.mean(*params)
    assert ns.distributions.nig.mean(1e150, 0.5e150, 1e-150, 3.0) == pytest.approx(3.0, rel=1e-14)
    with pytest.raises(TypeError, match="call the method `table` of one"):
        ns.distributions.FrozenDistribution(None)


LAWS = (generalized_hyperbolic, hyperbolic, nig, variance_gamma)
CONTAINED = {  # parameters and quantiles of a contained distribution
    "student_t": (3.4, 1.0, 2.0),
    "normal": (1.0, 2.0),
    "cauchy": (1.0, 2.0),
    "laplace": (1.0, 2.0),
    "asymmetric_laplace": (0.7, 1.0, 2.0),
    "exponential": (1.0, 2.0),
    "gamma": (1.7, 1.0, 2.0),
    "inverse_gaussian": (2.0, 3.0, 1.0),
    "nig": (1.5, 0.6, 2.0, 1.0),
    "hyperbolic": (1.5, 0.6, 2.0, 1.0),
    "variance_gamma": (1.7, 1.5, 0.6, 1.0),
}


@pytest.mark.parametrize(
    ("law", "part"), [(law, part) for law in LAWS for part in law.cls._contains], ids=lambda v: getattr(v, "family", v)
)
def test_what_the_families_contain(law, part):
    """On the way to a contained distribution the densities come nearer; of a special case they are the same."""
    inner = ns.distributions.fitting.class_of(part.family)
    params = dict(zip(inner.names, CONTAINED[part.family], strict=True))
    distribution = inner(**params)
    y = distribution.ppf(np.array([0.03, 0.2, 0.5, 0.8, 0.97]))
    want, x = distribution.logpdf(y), -y if part.mirrored else y
    far = [np.abs(law.logpdf(x, **part.at(t, params)) - want).max() for t in (1e2, 1e4, 1e6)]
    if part.is_limit(inner.names):  # the errors fall as 1/t at least, down to rounding
        assert far[1] < 0.02 * far[0] or far[1] < 1e-9, far
        assert far[2] < 2e-5, far
    else:
        assert max(far) < 1e-12, far
    limit = part.at(math.inf, params)
    assert set(limit) == set(law.cls.names) and not np.isnan(list(limit.values())).any()


def _small(seed):
    """A few values: heavy, rounded, skew, contaminated, light, or of the family."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    return (
        lambda: rng.standard_t(3, n),
        lambda: np.round(rng.laplace(size=n), 1),
        lambda: rng.gamma(1.5, 2.0, n),
        lambda: np.where(rng.random(n) < 0.1, 8.0, 1.0) * rng.normal(size=n),
        lambda: rng.normal(size=n),
        lambda: 0.4 * (g := rng.gamma(1.2, 1.0, n)) + np.sqrt(g) * rng.normal(size=n),
    )[seed % 6]()


def _alone(monkeypatch):
    """Fits by the kernels alone, without what the families contain."""
    for law in LAWS:
        monkeypatch.setattr(law.cls, "_contains", ())


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
def test_every_value_of_few_is_tried_as_mu(monkeypatch):
    """At lam < 1 each value may be a maximum beside the poles of lam = 1/2, where fits ended: 17 of 50 had been found."""
    _alone(monkeypatch)
    found = 0
    for seed in range(30):
        x = _small(seed)
        whole = ns.distributions.fit(x, "variance_gamma")
        parts = [ns.distributions.fit(x, "variance_gamma", fixed={"mu": mu}) for mu in np.unique(x)]
        best = max((part.loglik for part in parts if part.status == 0 and part.params["lam"] < 1.0), default=-math.inf)
        assert whole.status in (0, 3, 10)
        if best > -math.inf and whole.status != 3:  # a limit may be likelier
            assert whole.status == 0 and whole.loglik >= best - 1e-6, seed
            found += whole.params["lam"] < 1.0
    assert found >= 3


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.cls.family)
def test_order_mirror_and_unit_of_few_values(law, monkeypatch):
    """The centre was the upper of two middle values, so a mirrored series could climb from elsewhere."""
    _alone(monkeypatch)
    for seed in range(18):
        x = _small(seed)
        want = ns.distributions.fit(x, law.cls.family)
        order = np.random.default_rng(seed).permutation(x)
        for y, unit in ((order, 1.0), (-x, 1.0), (x + 16.0, 1.0), (0.7 * x, 0.7), (1e-140 * x, 1e-140)):
            found = ns.distributions.fit(y, law.cls.family)
            assert found.status == want.status, (seed, unit)
            if found.status == 0:
                assert found.loglik + x.size * math.log(unit) == pytest.approx(want.loglik, abs=1e-7), (seed, unit)


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
def test_poles_and_bounds(monkeypatch):
    """A pole: one value as mu (lam towards 1/2, or delta towards 0), or a tie of most. Not where lam or mu is held beside it."""
    _alone(monkeypatch)
    x = np.array([3.37, 1.52, 0.26, 1.38, 0.71, 2.0, 3.21])
    assert ns.distributions.fit(x, "variance_gamma").status == 10
    assert ns.distributions.fit(x, "variance_gamma", fixed={"lam": 0.51, "mu": 1.52}).status != 10
    ties = np.r_[np.zeros(7), 1.3, -0.4, 2.2, 0.7]
    assert ns.distributions.fit(ties, "nig").status == 10
    assert ns.distributions.fit(ties, "hyperbolic").status != 10


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.cls.family)
def test_a_climb_begins_from_given_parameters(law):
    """And from nowhere else: from a maximum it takes a step or two."""
    from numbastats.distributions import fitting

    rng = np.random.default_rng(5)
    g = rng.gamma(2.5, 1.0, 300)
    x = 0.3 * g + np.sqrt(g) * rng.normal(size=300)
    want = ns.distributions.fit(x, law.cls.family)
    assert want.status == 0
    plan, series = fitting._plan(law.cls), fitting.series_of([x], -1, None, 0)
    start = (law.cls._equations.held or {}) | want.params
    params, _info, numbers, status = fitting._in_kernel(plan, False, "cpu", 1, series, start)
    assert status[0] == 0 and numbers[0, fitting.k.LOGLIK] == pytest.approx(want.loglik, abs=1e-8)
    assert numbers[0, fitting.k.PASSES] < (60 if law is variance_gamma else 10)
    np.testing.assert_allclose(params[0], list(want.params.values()), rtol=1e-4, atol=1e-4)
