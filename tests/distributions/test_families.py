"""Families that are functions of others: what they are, their limits, and fits beside SciPy's."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest
import scipy.stats

from numbastats._core.errors import ConvergenceWarning
from numbastats.distributions import (
    GEV,
    GPD,
    AsymmetricLaplace,
    BurrXII,
    ExGaussian,
    Frechet,
    Gamma,
    GeneralizedGamma,
    GeneralizedNormal,
    HalfNormal,
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
    Weibull,
    fit,
    fit_many,
)
from numbastats.distributions.fitting import CLASSES
from tests.distributions.objects import CASES

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
    assert found.params == {"shape": pytest.approx(shape, rel=1e-9), "loc": 0.0, "scale": 2.0} and "least" in found.message
    assert found.se["shape"] == pytest.approx(shape / math.sqrt(6.0), rel=1e-6)
    assert found.bic == pytest.approx(2.0 * math.log(6.0) - 2.0 * scipy.stats.pareto.logpdf(x, shape, 0.0, 2.0).sum())
    with pytest.warns(UserWarning, match="outside the support"):
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
        assert found.loglik > best - (1e-7 if found.status == 0 else 0.02)  # at the boundary the shape is 10000, not infinite
        assert found.status == 0 or abs(found.params["shape"]) == 1e4


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
    with pytest.warns(ConvergenceWarning, match="boundary"):
        assert fit([1.0, 1.0, 1.0, 2.0, 5.0], "asymmetric_laplace").params["loc"] == 1.0  # an exponential distribution


def test_missing_values_stay_where_max_and_min_drop_them():
    """On a GPU ``max(nan, 0.0)`` is 0: the formulas that a missing value reaches are run with its rules, as plain Python."""
    from numbastats.distributions.families import pearson_iii
    from numbastats.distributions.kernels.points import newton_step
    from numbastats.scalar.stable import newton_place

    def number(pick):
        return lambda a, b: pick(a, b) if a == a and b == b else (b if a != a else a)

    def on_a_gpu(function):
        f, rules = function.py_func, {"max": number(max), "min": number(min)}
        return types.FunctionType(f.__code__, f.__globals__ | rules, f.__name__, f.__defaults__, f.__closure__)

    nan = math.nan
    assert math.isnan(on_a_gpu(pearson_iii.constants)(nan)[1])
    assert np.isnan(on_a_gpu(pearson_iii.log_tails)(nan, pearson_iii.constants(0.5)[0])).all()
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
