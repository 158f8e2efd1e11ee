"""Densities that are steep, narrow, rounded or bad: tables of them, or why there is none."""

from __future__ import annotations

import math
import warnings

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.quantile import QuantileTable, recycle
from tests.quantile.naive import logistic, normals


def test_ends_of_a_side_too_small_to_show():
    law = ns.distributions.hyperbolic(50.0, 49.0, 1.0)
    assert law.p_minus < 1e-19
    for dtype in (np.float64, np.float32):
        u = np.array([0.0, 1.0], dtype)
        np.testing.assert_equal(law.ppf(u), [-math.inf, math.inf])
        np.testing.assert_equal(law.isf(u), [math.inf, -math.inf])


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
def test_noise_that_no_share_shows():
    """A density that cancels in a tail beyond all shares that the table holds; Student's t with 8 degrees of freedom."""

    def density(x):
        r = x / np.sqrt(8 + x * x)
        return ((1 + r) * (1 - r)) ** 4.5

    table = QuantileTable(density)
    assert table.certificate.max_rel_err < 1e-12
    u = np.array([1e-9, 1e-3, 0.2, 0.8])
    np.testing.assert_allclose(table.ppf(u), ns.distributions.student_t.ppf(u, 8.0), rtol=1e-14)


@pytest.mark.parametrize(
    ("law", "options"),
    [
        (scipy.stats.logistic(), {}),
        (scipy.stats.t(3), {}),
        (scipy.stats.norm(3, 1), dict(anchor=3.0)),
        (scipy.stats.gamma(2.5), dict(support=(0, math.inf))),
        (scipy.stats.beta(2, 3), dict(support=(0, 1))),
    ],
    ids=lambda v: v.dist.name if hasattr(v, "dist") else "",
)
@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # differences leave up to 5e-14 open
def test_from_a_distribution_function(law, options):
    table = QuantileTable(cdf=law.cdf, sf=law.sf, **options)
    u = np.array([1e-15, 1e-9, 0.01, 0.2, 0.7, 0.99])
    np.testing.assert_allclose(table.ppf(u), law.ppf(u), rtol=3e-14)  # observed 8e-15
    np.testing.assert_allclose(table.isf(1e-15), law.isf(1e-15), rtol=3e-14)
    assert abs(table.norm_const - 1) < 1e-12
    assert table.certificate.max_rel_err < 1e-13


def test_log_density_does_not_underflow():
    table = QuantileTable(logpdf=lambda x: -0.5 * x * x - 2000.0)
    np.testing.assert_allclose(table.ppf([1e-15, 0.2, 0.9]), scipy.special.ndtri([1e-15, 0.2, 0.9]), rtol=1e-13)  # 2000 eps


@pytest.mark.parametrize(
    ("density", "options", "message"),
    [
        (lambda x: np.exp(-x * x) * (np.abs(x) < 1) - 0.1 * (np.abs(x) >= 1), {}, "is negative at x = .*must be finite and >= 0"),
        (lambda x: np.where(np.abs(x) > 2, np.nan, 1.0), {}, "is .*nan"),
        (lambda x: 1 / np.abs(x), {}, "integrable"),
        (lambda x: 1 / (1 + np.abs(x)), {}, "integrable"),
        (lambda x: np.abs(x) ** -1.5 * np.exp(-np.abs(x)), {}, "integrable at the anchor|integrable at 0"),
        (lambda x: 0.0 * x, {}, "is 0 wherever"),
        (lambda x: np.exp(-((np.abs(x) - 5) ** 2)) * (np.abs(x) > 1), {}, "gap. Set anchor="),
        (lambda x: np.where(np.abs(x - 50) < 1e-9, 1.0, 0.0), {}, "is 0 wherever"),
        (lambda x: np.exp(-x * x) * (1 + np.sin(1e6 * x) / 2), {}, "panels"),
        (np.cosh, {}, "integrable|finite"),
        (lambda x: np.exp(-x * x), dict(anchor=5.0, support=(0, 1)), "anchor"),
        (lambda x: np.exp(-x * x), dict(support=(1, 0)), "ascend"),
        (lambda x: np.exp(-x * x), dict(scale=-1.0), "positive"),
        (lambda x: np.exp(-x * x), dict(base="gauss"), "'uniform', 'normal', 'exponential'"),
        (lambda x: np.exp(-x * x), dict(base=("two-sided exponential", 1.0)), "two positive rates"),
        (lambda x: np.exp(-x * x), dict(degree=6), "5, 7"),
        (lambda x: np.exp(-x * x), dict(cdf=scipy.stats.norm.cdf), "disagree"),
    ],
)
def test_bad_densities(density, options, message):
    with pytest.raises(ValueError, match=message):
        QuantileTable(density, **options)


@pytest.mark.parametrize("scale", [1e200, 1e100, 1e-200])
def test_log_density_of_any_scale(scale):
    table = QuantileTable(logpdf=lambda x: -0.5 * (x / scale) ** 2, scale=scale)
    u = np.array([1e-19, 1e-5, 0.3])
    np.testing.assert_allclose(table.ppf(u) / scale, scipy.special.ndtri(u), rtol=2e-14)  # observed 5.1e-15


@pytest.mark.parametrize("anchor", [0.0, 1.0])
@pytest.mark.parametrize("a", [-0.98, -0.97, -0.95, -0.9])
def test_steep_pole(a, anchor):
    table = QuantileTable(lambda x: (1 + a) * x**a, support=(0, 1), anchor=anchor)
    assert table.certificate.max_rel_err < 2e-14
    with mpmath.workdps(30):
        power = 1 + mpmath.mpf(a)
        u = np.array([1e-290, 1e-250, 1e-4, 0.03, 0.2, 0.9]) ** float(power)
        u = u[u > 1e-19]
        want = [mpmath.mpf(v) ** (1 / power) for v in u]
        errors = [float(abs(x / w - 1) * power) for x, w in zip(table.ppf(u), want, strict=True)]
    assert max(errors) < 6e-15  # of the probability; observed 4e-15


@pytest.mark.parametrize("k", [0.5, 0.2, 0.05])
def test_steep_pole_of_a_log_density(k):
    """The gamma distribution against mpmath, at 0 and, where x does not hold the distance to the pole, with singular= at 1."""
    table = QuantileTable(logpdf=lambda x: (k - 1) * np.log(x) - x, support=(0, math.inf))
    assert table.certificate.max_rel_err < 3e-14
    np.testing.assert_allclose(table.norm_const, math.gamma(k), rtol=3e-14)
    u = np.array([1e-4, 0.1, 0.4, 0.9, 0.999])
    x = table.ppf(u)
    with mpmath.workdps(40):
        p = np.array([float(mpmath.gammainc(k, 0, mpmath.mpf(v), regularized=True)) for v in x])
    np.testing.assert_allclose(p, u, rtol=5e-14)  # observed 2e-14
    np.testing.assert_allclose(table.pdf(x), scipy.stats.gamma.pdf(x, k), rtol=1e-12)  # SciPy's
    shifted = dict(logpdf=lambda x: (k - 1) * np.log(x - 1) - (x - 1), support=(1, math.inf), anchor=1.0)
    table = QuantileTable(**shifted, singular=k - 1)
    assert table.certificate.max_rel_err < 5e-15
    np.testing.assert_allclose(table.norm_const, math.gamma(k), rtol=3e-14)
    np.testing.assert_allclose(table.ppf(u), 1 + x, rtol=2e-14)
    if k < 0.1:
        with pytest.raises(ValueError, match="singular="):
            QuantileTable(**shifted)


def test_constant_of_a_log_density():
    """It was that of the density times e^550."""
    assert QuantileTable(logpdf=lambda x: -0.5 * x * x).norm_const == pytest.approx(math.sqrt(2 * math.pi), rel=1e-14)


def test_pole_that_is_no_power_law():
    """The extrapolated mass next to 0 is uncertain, and the certificate says so."""
    density = lambda x: x**-0.95 * (1 - np.log(x))  # noqa: E731
    with pytest.raises(ValueError, match="no power law"):
        QuantileTable(density, support=(0, 1))
    with pytest.warns(ns.ConvergenceWarning):
        table = QuantileTable(density, support=(0, 1), tail=1e-6)
    x = table.ppf(1e-6)
    error = abs(x**0.05 * (1 - np.log(x) + 20) / 21 / 1e-6 - 1) * 5
    assert 0.1 * table.certificate.max_rel_err < error < table.certificate.max_rel_err


@pytest.mark.parametrize("a", [-0.98, -0.96, -0.94])
def test_steep_pole_at_the_far_end(a):
    table = QuantileTable(lambda x: (1 + a) * x**a, support=(0, 1), anchor=1.0)
    u = np.array([0.1, 0.2, 0.9])
    np.testing.assert_allclose(table.ppf(u), u ** (1 / (1 + a)), rtol=5e-14)  # observed 1.9e-14
    with pytest.raises(ValueError, match="at the end 0.0"):
        QuantileTable(lambda x: x**-0.995, support=(0, 1), anchor=1.0)


def test_narrow_feature_is_resolved_or_refused():
    """Two modes that overlap are resolved; a third one too narrow to be seen is caught by the cdf."""
    mixture = lambda x: scipy.stats.norm.pdf(x) + scipy.stats.norm.pdf(x, 2, 0.8)  # noqa: E731
    table = QuantileTable(mixture)
    cdf = lambda x: (scipy.stats.norm.cdf(x) + scipy.stats.norm.cdf(x, 2, 0.8)) / 2  # noqa: E731
    x = table.ppf([0.1, 0.45, 0.55, 0.9])
    np.testing.assert_allclose(cdf(x), [0.1, 0.45, 0.55, 0.9], rtol=1e-13)

    def spike(x):
        return 0.999 * scipy.stats.norm.pdf(x) + 0.001 * scipy.stats.norm.pdf(x, 0.777, 1e-9)

    with pytest.raises(ValueError, match="disagree"):
        QuantileTable(spike, cdf=lambda x: 0.999 * scipy.stats.norm.cdf(x) + 0.001 * scipy.stats.norm.cdf(x, 0.777, 1e-9))


def test_narrow_mode_without_a_cdf():
    """The scan finds it, and panels end there."""
    table = QuantileTable(lambda x: np.exp(-0.5 * x * x) + 50 * np.exp(-0.5 * ((x - 0.777) / 0.001) ** 2))
    x = table.ppf([0.2, 0.75, 0.77, 0.9])
    p = (scipy.special.ndtr(x) + 0.05 * scipy.special.ndtr((x - 0.777) / 0.001)) / 1.05
    np.testing.assert_allclose(p, [0.2, 0.75, 0.77, 0.9], rtol=1e-12)  # observed 7e-14: x has no more digits


def test_densities_at_the_ends_of_the_doubles():
    with pytest.raises(ValueError, match="too small"):
        QuantileTable(lambda x: 1e-300 * np.exp(-0.5 * x * x))
    batch = QuantileTable(lambda x, s: s * np.exp(-0.5 * x * x), params=(np.array([1.0, 1e-300]),))
    assert batch.certificate.ok.tolist() == [True, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert QuantileTable(logpdf=lambda x: 1000 - 0.5 * x * x).norm_const == math.inf


@pytest.mark.parametrize("scale", [1e-250, 1e-200, 1e300])
def test_scales_at_the_ends_of_the_doubles(scale):
    """Densities of a small scale were refused for features that they do not have."""
    u = np.array([1e-15, 0.3, 0.9])
    table = QuantileTable(lambda x: 1.0 + 0.0 * x, support=(0.0, scale), scale=scale)
    np.testing.assert_allclose(table.ppf(u) / scale, u, rtol=2e-14)
    table = QuantileTable(lambda x: np.exp(-0.5 * (x / scale) ** 2), scale=scale)
    np.testing.assert_allclose(table.ppf(u) / scale, scipy.special.ndtri(u), rtol=2e-14)


@pytest.mark.parametrize("loc", [1e7, 1e8, 1e10])
def test_density_far_from_zero(loc):
    """The rounding of x makes the tails of a normal density rough: "needs more than 3000 panels" before."""
    u = np.array([1e-18, 1e-5, 0.3, 0.5, 0.9])
    table = QuantileTable(lambda x: np.exp(-0.5 * (x - loc) ** 2), anchor=loc)
    np.testing.assert_allclose(table.ppf(u), loc + scipy.special.ndtri(u), rtol=5e-16)  # observed 1.6e-16


def test_warns_when_the_target_is_missed():
    with pytest.warns(ns.ConvergenceWarning, match="above the target"):
        table = ns.distributions.student_t(0.3)
    assert 2e-14 < table.certificate.max_rel_err < 1e-8


LOMAX = (
    lambda x: -np.expm1(-0.42 * np.log1p(x)),
    lambda x: np.exp(-0.42 * np.log1p(x)),
    lambda u: np.expm1(-np.log1p(-u) / 0.42),
    (0.0, np.inf),
)


CAUCHY = (
    lambda x: np.arctan2(1.0, -x) / np.pi,
    lambda x: np.arctan2(1.0, x) / np.pi,
    lambda u: -1 / np.tan(np.pi * u),
    (-np.inf, np.inf),
)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("law", "limit"), [(LOMAX, 2e-13), (CAUCHY, 4e-14)])
def test_tables_of_distribution_functions_with_power_tails(law, limit, scale):
    """6e-9 and 8e-13 off, with certificates of 1e-14: the differences spanned too much of the way to a pole beside the axis."""
    cdf, sf, quantile, support = law
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)
        table = QuantileTable(cdf=cdf, sf=sf, support=support, scale=scale)
    u = np.concatenate([np.linspace(0.01, 0.45, 50), np.linspace(0.55, 0.99, 50), [1e-12, 1e-6, 1e-3]])
    np.testing.assert_allclose(table.ppf(u), quantile(u), rtol=limit)  # 4e-14 and 7e-15 observed
    assert abs(table.norm_const - 1) < 0.25 * table.certificate.max_rel_err + 1e-15


@pytest.mark.parametrize("options", [{}, dict(base="normal"), dict(accuracy="full", base="normal")])
def test_densities_with_a_small_integral(options):
    """Refused as having kinks: shares of such masses underflowed. Powers of 2 change nothing else."""
    u = np.array([1e-12, 1e-3, 0.3, 0.9])
    for density, support in ((logistic, (-np.inf, np.inf)), (lambda x: x**3.5, (0.0, 1.0))):
        options = options | dict(support=support, normalised=False)
        tables = [QuantileTable(lambda x, f=f, c=c: c * f(x), **options) for c in (1.0, 2.0**-160) for f in [density]]
        np.testing.assert_allclose(tables[1].ppf(u), tables[0].ppf(u), rtol=1e-14)
        z = np.array([-6.0, -1.0, 2.0, 8.0])
        np.testing.assert_allclose(*(recycle(z, "normal", t) for t in tables), rtol=1e-13)


@pytest.mark.parametrize("anchor", [1.0, -1.7])
@pytest.mark.parametrize("shape", [0.2, 0.5, 0.7])
@pytest.mark.parametrize("known", [False, True])
def test_poles_away_from_zero_that_are_no_pure_powers(anchor, shape, known):
    """Weibull distributions: next to the pole the density differs from a power law by x^shape, which doubles do not resolve."""

    def density(x):
        return shape * (x - anchor) ** (shape - 1) * np.exp(-((x - anchor) ** shape))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ns.ConvergenceWarning)
            table = QuantileTable(
                density, anchor=anchor, support=(anchor, math.inf), scale=0.5, singular=shape - 1 if known else None
            )
    except ValueError as error:
        assert shape == 0.2 and "next to the pole" in str(error) and ("Give singular" in str(error)) != known
        return
    u = np.array([0.05, 0.3, 0.5, 0.7, 0.9, 0.99])
    s = (-np.log1p(-u)) ** (1 / shape)
    x, slope = anchor + s, shape * s ** (shape - 1) * (1 - u)
    error = np.abs(table.ppf(u) - x) / np.maximum(np.abs(x), np.minimum(u, 1 - u) / (5 * slope))
    # observed at most 1.6 times the certificate, where it is above rounding; 1300 times before
    assert error.max() < 3 * table.certificate.max_rel_err + 1e-14


def test_densities_of_large_scales():
    """Probabilities end where the density underflows, which depends on the scale."""
    scale = 1e100
    table = QuantileTable(
        lambda x: 0.2 * np.exp(x / scale - 0.2 * np.expm1(x / scale)) / scale, support=(0.0, math.inf), scale=scale, base="normal"
    )
    assert table.certificate.max_rel_err < 2e-14
    p = np.array([1e-15, 1e-3, 0.5])
    np.testing.assert_allclose(table.isf(p), scale * np.log1p(-np.log(p) / 0.2), rtol=2e-14)  # observed 1e-15


@pytest.mark.parametrize(("law", "anchor"), [(scipy.stats.laplace(3), 3.0), (scipy.stats.laplace_asymmetric(2, scale=1e-5), 0.0)])
def test_distribution_functions_with_a_kink_of_the_density_at_the_anchor(law, anchor):
    table = QuantileTable(cdf=law.cdf, sf=law.sf, anchor=anchor, scale=law.std())
    assert table.certificate.max_rel_err < 2e-14
    u = np.array([1e-12, 1e-3, 0.1, 0.3, 0.499, 0.501, 0.7, 0.99])
    np.testing.assert_allclose(table.ppf(u), law.ppf(u), rtol=1e-14, atol=1e-14 * law.std())  # observed 3e-15; refused before


def test_a_part_of_the_mass_that_was_missed():
    """Half of the mass in a mode 1e-4 wide: ppf(.75) was .6745 for .7, with a certificate of 5.5e-15."""
    pdf = normals((0.5, 0, 1), (0.5, 0.7, 1e-4))[0]
    for normalised in (None, True):
        with pytest.raises(ValueError, match="integrates to 0.5"):
            QuantileTable(pdf, normalised=normalised)
    with pytest.raises(ValueError, match="integrates to 0.999"):
        QuantileTable(normals((0.999, 0, 1), (0.001, 6, 1e-4))[0])
    with pytest.warns(ns.ConvergenceWarning):  # 2.5e-14, as x has four digits less there
        assert QuantileTable(pdf, breaks=[0.7], normalised=True).ppf(0.75) == pytest.approx(0.7, abs=1e-4)
    batch = QuantileTable(lambda x, c: c * logistic(x), params=(np.array([1.0, 0.5, 2.0]),))
    assert batch.certificate.ok.tolist() == [True, False, True]
    assert QuantileTable(lambda x: 0.5 * logistic(x), normalised=False).norm_const == pytest.approx(0.5, rel=1e-14)
    for constant in (2.0, 1e-9):  # densities without their constant
        QuantileTable(lambda x, c=constant: c * logistic(x))
        with pytest.raises(ValueError, match="not to 1"):
            QuantileTable(lambda x, c=constant: c * logistic(x), normalised=True)
    with pytest.raises(ValueError, match="True, False or None"):
        QuantileTable(logistic, normalised="yes")
    with pytest.raises(ValueError, match="disagree"):  # a distribution function that ends at .9
        QuantileTable(cdf=lambda x: 0.9 * scipy.special.ndtr(x), sf=lambda x: 0.9 * scipy.special.ndtr(-x))


def test_reasons_of_refusals():
    with pytest.raises(TypeError, match="complex at x ="):
        QuantileTable(lambda x: np.exp(-x * x) * 1j)
    with pytest.raises(ValueError, match="is negative at x = .*: -"):
        QuantileTable(lambda x: np.exp(-x * x) * (1 + 2 * np.sin(3 * x)))
    with pytest.raises(ValueError, match="is negative at x = -"):  # on the other side than the one that is looked at first
        QuantileTable(lambda x: x)
    with pytest.raises(ValueError, match="0.99 of the mass .* lies where doubles end"):
        ns.distributions.student_t(0.001)


def _sech(u):
    return mpmath.log(mpmath.tan(mpmath.pi * u / 2))


CLOSED = {  # density, options, quantile
    "gumbel": (
        lambda x: np.exp(np.maximum(-x - np.exp(-np.maximum(x, -6.6)), -1e4)),
        dict(support=(-6.5, math.inf)),
        lambda u: -mpmath.log(-mpmath.log(u)),
    ),
    "logistic": (lambda x: np.exp(-abs(x)) / (1 + np.exp(-abs(x))) ** 2, dict(anchor=1.0), lambda u: mpmath.log(u / (1 - u))),
    "sech": (lambda x: 1 / np.cosh(np.clip(x, -700, 700)), dict(normalised=False), _sech),
    "exponential": (lambda x: np.exp(-x), dict(anchor=1.0, support=(0.0, math.inf)), lambda u: -mpmath.log(1 - u)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_the_certificate_bounds_the_error(name):
    """It was found inside the rows; at their ends, next to powers of two of a share, errors were up to 4.65 times as large."""
    density, options, quantile = CLOSED[name]
    table, rng = QuantileTable(density, **options), np.random.default_rng(2)
    anchor = table._table.one.masses
    shares = np.array([p * s for p in anchor.p for s in (0.5, 0.25, 0.125, 0.75, 0.0625) if 0 < p * s < 0.5])
    near = (shares[:, None] * (1 + rng.uniform(-0.01, 0.01, (shares.size, 30)))).ravel()
    at_octaves = (np.array(anchor.p)[:, None] - 2.0 ** -np.arange(2, 8) * (1 + rng.uniform(0, 0.06, (60, 6)))[:, None]).ravel()
    u = np.concatenate([near, at_octaves[(at_octaves > 0) & (at_octaves < 0.5)], 10.0 ** rng.uniform(-15, -0.31, 100)])
    worst = 0.0
    with mpmath.workdps(40):
        for upper in (False, True):
            for p, x in zip(u, table.isf(u) if upper else table.ppf(u), strict=True):
                exact = quantile(1 - mpmath.mpf(float(p)) if upper else mpmath.mpf(float(p)))
                unit = max(abs(exact), mpmath.mpf(float(p)) / (5 * float(table.pdf(float(exact)))))
                worst = max(worst, float(abs(mpmath.mpf(float(x)) - exact) / unit))
    assert worst <= table.certificate.max_rel_err < 1.2e-14  # 0.5 to 0.9 of it observed


def test_the_certificate_of_a_density_of_fractional_order():
    """The exact quantile by mpmath's integrals with 40 digits; it was 2.1e-14 off, by SciPy's kve next to the argument 2."""
    law = ns.distributions.variance_gamma(0.621, 2.73, 0.95)
    exact = mpmath.mpf("0.4446034015968347034586128")
    assert abs(float(mpmath.mpf(float(law.isf(0.2))) / exact - 1)) <= law.certificate.max_rel_err
