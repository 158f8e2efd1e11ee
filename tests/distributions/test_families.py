"""Families that are functions of others: what they are, their limits, and fits beside SciPy's."""

from __future__ import annotations

import math
import types

import mpmath
import numpy as np
import pytest
import scipy.stats

from numbastats.distributions import (
    GEV,
    GPD,
    AsymmetricLaplace,
    Beta,
    BurrXII,
    ExGaussian,
    Frechet,
    Gamma,
    GeneralizedGamma,
    GeneralizedNormal,
    Gumbel,
    GumbelMin,
    HalfNormal,
    InverseGamma,
    InverseGaussian,
    Landau,
    Laplace,
    LogLogistic,
    Lomax,
    Maxwell,
    Normal,
    Pareto,
    PearsonIII,
    Rayleigh,
    SkewNormal,
    Stable,
    TruncatedNormal,
    Weibull,
    fit,
    fit_many,
)
from numbastats.distributions.fitting import CLASSES
from tests.distributions.objects import CASES, OBJECTS

FITS = {family: case.fits for family, case in CASES.items() if case.fits}


def peer_of(family):
    aliases = CLASSES[family].aliases
    return getattr(scipy.stats, aliases[0] if aliases else family)


@pytest.mark.parametrize("family", [f if row.often else pytest.param(f, marks=pytest.mark.slow) for f, row in FITS.items()])
def test_fits_beside_scipy(family):
    """Of simulated series of 500 values: at least as likely, and within four standard errors of the truth."""
    truth, known = FITS[family].truth, FITS[family].known
    peer = peer_of(family) if known is not None else None
    for seed in range(3):
        x = CLASSES[family](*truth).rvs(500, rng=seed)
        found = fit(x, family)
        assert found.converged and found.loglik == pytest.approx(found.distribution.logpdf(x).sum(), rel=1e-12)
        if peer is not None:
            assert found.loglik > peer.logpdf(x, *peer.fit(x, **known)).sum() - 1e-7
        for value, se, true in zip(found.params.values(), found.se.values(), truth, strict=True):
            assert se == 0.0 or math.isnan(se) or abs(value - true) < 4.0 * se


def test_what_settles_at_the_least_value():
    """The likeliest Pareto distribution in closed form."""
    x = np.array([2.0, 3.0, 7.0, 2.5, 40.0, 9.0])
    found = fit(x, "pareto")
    shape = 6.0 / np.log(x / 2.0).sum()
    assert found.params == {"shape": pytest.approx(shape, rel=1e-9), "loc": 0.0, "scale": 2.0}
    assert "that values or ends of intervals determine" in found.message
    assert found.se["shape"] == pytest.approx(shape / math.sqrt(6.0), rel=1e-6)
    assert found.bic == pytest.approx(2.0 * math.log(6.0) - 2.0 * scipy.stats.pareto.logpdf(x, shape, 0.0, 2.0).sum())
    with pytest.warns(UserWarning, match="1 of 7 values is not above 0, the support of pareto: -1 at index 6"):
        assert fit(np.r_[x, -1.0], "pareto").status == 6
    with pytest.raises(ValueError, match="no maximum by loc and scale together: give loc a number"):
        fit(x, "pareto", fixed={"loc": None})


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the boundary, where small samples end
def test_stationary_points_of_the_skew_normal_likelihood_do_not_win():
    """At shape 0 the likelihood is stationary for all data; SciPy's searches from both sides are never better."""
    for seed, shape, n in ((0, 0.5, 100), (3, -3.0, 30), (5, 10.0, 30), (8, 1.0, 500), (20, -10.0, 30)):
        x = scipy.stats.skewnorm.rvs(shape, size=n, random_state=np.random.default_rng(seed))
        found = fit(x, "skew_normal")
        starts = [scipy.stats.skewnorm.fit(x, s, loc=np.median(x), scale=x.std()) for s in (-3.0, 3.0)]
        best = max(scipy.stats.skewnorm.logpdf(x, *p).sum() for p in starts)
        assert found.loglik > best - 1e-7
        assert found.status == 0 or (found.status == 2 and found.limit == "half_normal")


def test_families_by_two_names():
    x = np.array([0.01, 0.7, 3.0, 1e5])
    for d, same in (
        (Lomax(2.5, 0.0, 3.0), GPD(0.4, 0.0, 1.2)),
        (Pareto(2.5, -3.0, 3.0), GPD(0.4, 0.0, 1.2)),
        (Frechet(4.0, 0.0, 8.0), GEV(0.25, 8.0, 2.0)),
        (GeneralizedGamma(1.5, 2.0, 0.0, math.sqrt(2.0)), Maxwell()),
        (GeneralizedGamma(1.0, 2.0, 0.0, math.sqrt(2.0)), Rayleigh()),
        (GeneralizedGamma(0.5, 2.0, 0.0, math.sqrt(2.0)), HalfNormal()),
        (GeneralizedGamma(2.5, 1.0), Gamma(2.5)),
        (GeneralizedNormal(2.0, 0.0, math.sqrt(2.0)), Normal()),
        (GeneralizedNormal(1.0), Laplace()),
        (AsymmetricLaplace(1.0), Laplace()),
        (BurrXII(3.0, 1.0), LogLogistic(3.0)),
        (BurrXII(1.0, 3.0), Lomax(3.0)),
        (PearsonIII(1.0, 4.0, 2.0), Gamma(4.0)),
        (PearsonIII(0.0), Normal()),
        (PearsonIII(1e-18), Normal()),
        (SkewNormal(0.0), Normal()),
        (SkewNormal(1e18), HalfNormal()),
        (ExGaussian(1e-13), Normal()),
    ):
        for name in ("logpdf", "logcdf", "logsf"):
            np.testing.assert_allclose(getattr(d, name)(x), getattr(same, name)(x), rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(d.entropy(), same.entropy(), rtol=1e-13)
        np.testing.assert_allclose((d.mean(), d.var()), (same.mean(), same.var()), rtol=1e-13, atol=1e-12)


def test_values_at_the_ends():
    np.testing.assert_allclose(LogLogistic([0.5, 1.0, 2.0]).pdf(0.0), [math.inf, 1.0, 0.0])
    np.testing.assert_array_equal(Lomax([0.5, 2.0]).pdf(0.0), [0.5, 2.0])
    np.testing.assert_array_equal(Frechet([0.01, 2.0]).pdf(0.0), 0.0)


def test_powers_that_underflow():
    """Logarithms of lower tails are those of their leading powers; next to a uniform distribution there is mass."""
    x = 1e-200
    assert Rayleigh().logcdf(x) == pytest.approx(2.0 * math.log(x) - math.log(2.0), rel=1e-15)
    assert Maxwell().logcdf(x) == pytest.approx(3.0 * math.log(x) + 0.5 * math.log(2.0 / math.pi) - math.log(3.0), rel=1e-15)
    assert Weibull(2.0).logcdf(x) == pytest.approx(2.0 * math.log(x), rel=1e-15)
    near = GeneralizedGamma(1e-4, 1e4)  # P(X <= x) = x (1 + 6e-5) for x < 1
    np.testing.assert_allclose(near.cdf([1e-9, 0.5]), [1e-9 / math.gamma(1.0001), 0.5 / math.gamma(1.0001)], rtol=1e-13)
    np.testing.assert_allclose(near.cdf(near.ppf([1e-9, 0.5])), [1e-9, 0.5], rtol=1e-13)


def test_pearson_both_signs():
    x = np.array([-3.0, -0.2, 1.0, 5.0])
    for skew in (0.3, 2.5):
        up, down = PearsonIII(skew), PearsonIII(-skew)
        np.testing.assert_array_equal(up.logcdf(x), down.logsf(-x))
        np.testing.assert_array_equal(up.ppf([1e-9, 0.2, 0.9]), -down.isf([1e-9, 0.2, 0.9]))
        assert up.support() == (-2.0 / skew, math.inf) and down.support() == (-math.inf, 2.0 / skew)


def test_landau():
    d, peer = Landau(2.0, 3.0), scipy.stats.landau(2.0, 3.0)
    assert Landau(1.0, 2.0) == Stable(1.0, 1.0, 1.0, 2.0)
    x = np.array([-5.0, 1.0, 10.0, 1000.0])
    np.testing.assert_allclose(d.pdf(x), peer.pdf(x), rtol=1e-10)
    np.testing.assert_allclose(d.sf(x), peer.sf(x), rtol=1e-10)
    np.testing.assert_allclose(Landau([0.0, 1.0]).pdf(x[:, None])[1], Stable(1.0, 1.0, [0.0, 1.0]).pdf(1.0))
    with pytest.raises(ValueError, match="scale=0.0 must be > 0"):
        Landau(0.0, 0.0)


def test_asymmetric_laplace_fits(device):
    """Beside all values as loc; with a known kappa a quantile; standard errors from the information by quadrature."""
    x = AsymmetricLaplace(1.5, 1.0, 2.0).rvs(101, rng=3)
    found = fit_many(x, "asymmetric_laplace", **device).one(())
    given = [fit(x, "asymmetric_laplace", fixed={"loc": v}) for v in np.sort(x)[2:-2]]
    best = max(given, key=lambda f: f.loglik)
    assert found.converged and found.loglik == pytest.approx(best.loglik, rel=1e-12)
    assert found.params == pytest.approx(best.params, rel=1e-7)
    assert found.loglik == pytest.approx(found.distribution.logpdf(x).sum(), rel=1e-13)
    known = fit_many(x, "asymmetric_laplace", fixed={"kappa": 2.0}, **device).one(())
    assert known.params["loc"] == np.quantile(x, 0.8, method="inverted_cdf") and known.se["kappa"] == 0.0
    d = found.distribution
    information = [[101 * d.expect(lambda v, i=i, j=j: d.score(v)[i] * d.score(v)[j]) for i in range(3)] for j in range(3)]
    np.testing.assert_allclose(np.linalg.inv(found.covariance), information, rtol=1e-8, atol=1e-8)
    weights = np.arange(101) % 3
    again, twice = fit(x, "asymmetric_laplace", weights=weights), fit(np.repeat(x, weights), "asymmetric_laplace")
    assert again.params == pytest.approx(twice.params, rel=1e-12) and again.loglik == pytest.approx(twice.loglik, rel=1e-12)
    with pytest.raises(ValueError, match="with a free loc is fitted to exact values"):
        fit(x, "asymmetric_laplace", truncated=(-5.0, None))
    at_end = fit([1.0, 1.0, 1.0, 2.0, 5.0], "asymmetric_laplace")
    assert at_end.params["loc"] == 1.0 and at_end.limit == "exponential" and at_end.status == 2


def test_missing_values_stay_where_max_and_min_drop_them():
    """On a GPU ``max(nan, 0.0)`` is 0: the formulas that a missing value reaches are run with its rules, as plain Python."""
    from numbastats.distributions.families import pearson_iii
    from numbastats.distributions.kernels.points import newton_step
    from numbastats.scalar.stable import newton_place

    def number(pick):
        return lambda a, b: pick(a, b) if a == a and b == b else (b if a != a else a)

    def clipped(x, lo, hi):  # its two ordered comparisons
        x = lo if x < lo else x
        return hi if x > hi else x

    def on_a_gpu(function):
        f, rules = function.py_func, {"max": number(max), "min": number(min), "clip": clipped}
        return types.FunctionType(f.__code__, f.__globals__ | rules, f.__name__, f.__defaults__, f.__closure__)

    nan = math.nan
    assert math.isnan(on_a_gpu(pearson_iii.constants)(nan)[1])
    assert np.isnan(on_a_gpu(pearson_iii.log_tails)(nan, pearson_iii.constants(0.5))).all()
    for low, positive in ((-math.inf, False), (0.0, True)):
        for z, logs in ((0.5, nan), (nan, nan)):
            new, _, _, moving = on_a_gpu(newton_step)(z, low, math.inf, -0.7, False, positive, -1.0, logs)
            assert math.isnan(new) and not moving
        given = 0.5, low, 2.0, -0.7, False, positive, -math.inf, -math.inf  # a step of inf - inf is bisected
        assert on_a_gpu(newton_step)(*given) == newton_step(*given)
    for b in (1.0, -1.0):
        assert math.isnan(on_a_gpu(newton_place)(nan, 0.7, b, 0.0, 1.0, True))
    for f in ("pdf", "logpdf", "cdf", "logsf", "ppf"):
        assert np.isnan(getattr(PearsonIII([nan, 0.5], 0.0, 1.0), f)([0.5, nan])).all(), f


FAR = [  # functions whose terms are no doubles where they are
    (Gumbel(), "logpdf", -700.0, -1.0142320547350045e304),
    (Gumbel(), "logpdf", -709.7, -1.6549840276802644e308),
    (GumbelMin(), "logpdf", 700.0, -1.0142320547350045e304),
    (Gumbel(scale=2.0), "logpdf", -1400.0, -1.0142320547350045e304),
    (Frechet(1.0), "logpdf", 1e-308, -1e308),
    (GEV(3.0), "logsf", 1e308, -236.76494031027806),
    (GPD(3.0), "logsf", 1e308, -236.76494031027806),
    (GPD(3.0), "logpdf", 1e308, -947.0597612411123),
    (Gamma(30.0), "logpdf", 1e-320, -21439.247024805411),
    (Gamma(30.0), "pdf", 1e-320, 0.0),
    (InverseGamma(30.0), "logpdf", 1e308, -22056.339506874316),
    (InverseGamma(30.0), "logpdf", 1e-307, -1e307),
    (GeneralizedGamma(30.0, 1.5), "logpdf", 1e250, -math.inf),
    (GeneralizedGamma(30.0, 1.5), "pdf", 1e250, 0.0),
    (SkewNormal(2.5), "logcdf", 1e200, 0.0),
    (SkewNormal(2.5), "logsf", 1e150, -5e299),
    (SkewNormal(2.5), "logsf", 1e200, -math.inf),
    (SkewNormal(-2.5), "cdf", -1e308, 0.0),
    (SkewNormal(-2.5), "sf", -1e308, 1.0),
    (InverseGaussian(2.0, 3.0), "logsf", 1e300, -3.75e299),
    (PearsonIII(1.0), "logpdf", 1e300, -2e300),
    (PearsonIII(0.001), "logpdf", 1e308, -math.inf),
    (Beta(1e6, 1e6), "logcdf", 1e-152, -348606647.947242581),
    (Beta(1e6, 1e6), "logcdf", 1e-320, -735440954.703121543),
]


@pytest.mark.parametrize(("d", "name", "x", "want"), FAR)
def test_functions_far_out(d, name, x, want):
    np.testing.assert_allclose(getattr(d, name)(x), want, rtol=1e-13)


@pytest.mark.parametrize("d", [d for d in OBJECTS if not d.batch_shape], ids=repr)
def test_functions_are_exponentials_of_their_logarithms(d):
    """At points of all magnitudes: none is NaN, 0 or infinite where the exponential of the logarithm is a double."""
    away = 10.0 ** np.r_[-300.0:301.0:20.0, -12.0:4.5:0.5]
    low, high = d.support()
    x = np.concatenate([-away, away, *(end + side * away for end, side in ((low, 1.0), (high, -1.0)) if np.isfinite(end))])
    x = x[(x > low) & (x < high)]
    for name in ("pdf", "cdf", "sf"):
        value, logs = getattr(d, name)(x), getattr(d, f"log{name}")(x)
        assert not np.isnan(value).any() and not np.isnan(logs).any() and (logs < math.inf).all(), name
        want = np.exp(logs)
        known = (want > 1e-290) & (want < 1e300)
        far = np.abs(value[known] - want[known]) / want[known] / (1.0 + np.abs(logs[known]))
        assert far.max(initial=0.0) < 2e-13, (name, x[known][np.argmax(far)])


ENDS = [
    *(cls(shape, scale=scale) for cls in (GPD, GEV) for shape in (-0.01, -0.3, -0.77, -2.5) for scale in (1.0, 4.0)),
    *(PearsonIII(skew) for skew in (-3.0, -0.5, -0.01, 0.1, 1.7)),
]


@pytest.mark.parametrize("d", ENDS, ids=repr)
def test_digits_next_to_an_end(d):
    """As exact as anywhere, where x over the scale is a double."""
    shape, scale = d.params[0], d.params.scale
    pearson = isinstance(d, PearsonIII)
    end = -2.0 / shape if pearson else -scale / shape
    near = [end * (1.0 - 10.0**-k) for k in (3, 9, 13, 15)] + [end * (1.0 - k * 2.0**-51) for k in (1, 2, 3)]
    with mpmath.workdps(60):
        k = mpmath.mpf(shape)
        for x in near:
            rest = 1 + mpmath.mpf(x) * (k / 2 if pearson else k / mpmath.mpf(scale))
            if pearson:
                a = 4 / k**2
                density = (a - 1) * mpmath.log(a * rest) - a * rest - mpmath.loggamma(a) + mpmath.log(2 / abs(k))
                tail, name = mpmath.log(mpmath.gammainc(a, 0, a * rest, regularized=True)), "cdf" if shape > 0.0 else "sf"
            else:
                y = mpmath.log(rest) / k
                jump = mpmath.exp(-y) if isinstance(d, GEV) else 0
                density = -(1 + k) * y - jump - mpmath.log(scale)
                tail, name = mpmath.log(-mpmath.expm1(-jump)) if isinstance(d, GEV) else -y, "sf"
            for f, want in (("logpdf", density), (f"log{name}", tail)):
                assert float(getattr(d, f)(x)) == pytest.approx(float(want), rel=2e-14, abs=2e-14), (f, x)
                if -690.0 < want:
                    got = float(getattr(d, f.removeprefix("log"))(x))
                    assert got == pytest.approx(float(mpmath.exp(want)), rel=2e-14 * (1.0 + abs(float(want)))), (f, x)


def test_an_end_that_is_nan():
    """It was taken for no truncation by densities, and by tails from the other side."""
    nan = np.nan
    for lower, upper in (([nan, -1.0, 0.5], 2.0), (-1.0, [nan, 2.0, 3.0]), ([nan, -2.0, -9.0], [nan, nan, -8.0])):
        d = TruncatedNormal(np.array(lower), np.array(upper))
        known = ~np.isnan(np.add(lower, upper))
        for name, x in [(n, 0.6) for n in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")] + [("ppf", 0.3), ("isf", 0.3)]:
            found = np.isnan(getattr(d, name)(x))
            assert (found == ~known).all(), name
    far = TruncatedNormal(30.0, np.inf)
    assert far.sf(np.inf) == 0.0 and far.cdf(np.inf) == 1.0
