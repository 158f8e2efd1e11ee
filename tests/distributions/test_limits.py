"""What families contain, and fits that end at a limit."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import numbastats as ns
from numbastats.distributions import compare, compare_many, fit, fit_many, fitting, goodness, standardise
from numbastats.distributions.fitting import CLASSES, distribution_of
from numbastats.distributions.limits import limit_distribution

pytestmark = pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of fits whose status the tests look at

VALUES = {"shape": 1.7, "df": 4.5, "sigma": 0.6, "mean": 2.3, "a": 1.4, "b": 1.0, "loc": 0.4, "scale": 1.3}
VALUES |= {"lam": 1.6, "alpha": 2.1, "beta": 0.5, "delta": 1.2, "mu": 0.3, "kappa": 1.4}
ARROWS = [(family, place) for family, cls in CLASSES.items() for place in range(len(cls._contains))]
ENDS = {"lower": 0.4, "upper": 1.7}  # of truncated distributions
# of a family that the library has no more than a shape for: a closed list, so that a new family says what it contains
NOTHING = {
    "binomial": "its number of trials is known",
    "poisson": "the mean is its one parameter",
    "geometric": "the mean is its one parameter",
}


def _id(arrow):
    return f"{arrow[0]}-{arrow[1]}-{CLASSES[arrow[0]]._contains[arrow[1]].family}"


@pytest.mark.parametrize("arrow", ARROWS, ids=_id)
def test_each_map_leads_to_what_is_contained(arrow):
    """At parameters near the map densities agree, the better the nearer; of a special case at once."""
    cls, place = CLASSES[arrow[0]], arrow[1]
    special = cls._contains[place]
    inner = CLASSES[special.family]
    given = {name: np.asarray(VALUES[name]) for name in inner.names}
    if special.family == "beta":
        given["loc"] = np.asarray(0.0)
    if cls._known:
        given |= {"loc": np.asarray(0.4 if not special.mirrored else -1.7), "scale": np.asarray(1.3)}
    want = limit_distribution(cls, place, np.array([float(given[name]) for name in inner.names]), ENDS)
    p = np.linspace(0.02, 0.98, 25)
    x = want.ppf(p)
    density = "logpmf" if cls.is_discrete else "logpdf"
    x = np.unique(x) if cls.is_discrete else x
    errors = []
    for t in (1e2, 1e3, 1e4) if special.is_limit(inner.names) else (1.0,):
        own = {name: float(value) for name, value in special.at(t, given).items()}
        near = distribution_of(cls, {name: own.get(name, ENDS.get(name)) for name in cls.names})
        errors.append(float(np.max(np.abs(getattr(near, density)(x) - getattr(want, density)(x)))))
    if len(errors) == 1:
        assert errors[0] < 1e-11
    else:
        assert errors[-1] < 0.05 and errors[2] <= 0.5 * errors[1] + 1e-12 and errors[1] <= 0.5 * errors[0] + 1e-12


def test_every_family_with_a_shape_contains_another():
    for family, cls in CLASSES.items():
        shapes = [name for name in cls.names if name not in ("loc", "scale")]
        assert not shapes or cls._contains or family in NOTHING, f"{family} names no special case and no limit"


REPRODUCTIONS = [  # of fits that said "converged" at a start, at a flat limit, or below what their family contains
    ("lomax", [0.43, 1.69, 3.55, 2.01, 1.33, 0.40, 1.03, 0.91], "exponential"),
    ("generalized_gamma", [1.55, 1.85, 0.25, 1.85, 1.75], "beta"),
    (
        "ex_gaussian",
        [400, 413, 398, 402, 432, 442, 398, 431, 423, 416, 446, 422, 447, 403, 412, 426, 445, 399, 423, 400],
        "exponential",
    ),
    ("asymmetric_laplace", [1.0, 2.0, 3.0, 4.0, 5.0, 20.0], "exponential"),
    ("negative_binomial", [3, 4, 5, 5, 6, 6, 7, 4, 5, 8], "poisson"),
    ("student_t", np.linspace(-1.0, 1.0, 40), "normal"),
]


@pytest.mark.parametrize(("family", "x", "limit"), REPRODUCTIONS, ids=[f"{a}-{c}" for a, _, c in REPRODUCTIONS])
def test_a_limit_is_told_by_its_family(family, x, limit):
    x = np.asarray(x, np.float64)
    found = fit(x, family)
    free = {"loc": None} if limit == "exponential" and family != "lomax" else {}
    want = fit(x, limit, fixed={"b": 1.0, "scale": None} if limit == "beta" else free)
    assert found.status == 2 and found.converged and found.limit == limit and found.family == family
    assert found.loglik == pytest.approx(want.loglik, abs=1e-9) and found.n_free == want.n_free
    assert found.aic == pytest.approx(want.aic, abs=1e-8) and found.bic == pytest.approx(want.bic, abs=1e-8)
    assert found.limit_params == pytest.approx(found.limit_params | want.params) and found.distribution == want.distribution
    assert found.limit_se == pytest.approx(found.limit_se | want.se, nan_ok=True)
    assert not np.isfinite(list(found.params.values())).all() or 0.0 in found.params.values()
    again = pickle.loads(pickle.dumps(found))
    assert again.distribution == found.distribution and again.limit_params == found.limit_params
    if family != "negative_binomial":
        for y in (x[::-1], 2.0**-30 * x, 2.0**40 * x):  # the order, and the unit
            other = fit(y, family)
            assert (other.status, other.limit) == (2, limit)


def test_a_batch_of_limits_and_maxima():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.exponential(1.0, (6, 40)), ns.distributions.Lomax(1.5).rvs((6, 40), rng=1)])
    fits = fit_many(x, "lomax")
    at_limit = fits.limit == "exponential"
    assert 0 < at_limit.sum() < 12 and set(fits.limit[~at_limit]) == {""} and (fits.status[at_limit] == 2).all()
    assert np.array_equal(fits.n_free, np.where(at_limit, 1, 2)) and fits.converged.all()
    assert (
        np.isnan(fits.limit_params["scale"][~at_limit]).all() and fits["scale"][at_limit].tolist() == [math.inf] * at_limit.sum()
    )
    d, z, p = fits.distribution, np.array([0.3, 1.0, 5.0])[:, None], np.array([1e-9, 0.3, 0.999])[:, None]
    ones = [fits.one(i).distribution for i in range(12)]
    for name, points in [("pdf", z), ("logpdf", z), ("cdf", z), ("sf", z), ("logcdf", z), ("logsf", z), ("ppf", p), ("isf", p)]:
        want = np.stack([getattr(one, name)(points[:, 0]) for one in ones], axis=1)
        np.testing.assert_allclose(getattr(d, name)(points), want, rtol=1e-13)
    for name in ("mean", "var", "std", "median", "entropy", "skewness", "kurtosis"):
        np.testing.assert_allclose(getattr(d, name)(), [getattr(one, name)() for one in ones], rtol=1e-12)
    np.testing.assert_allclose(d.expect(lambda v: np.exp(-v)), [one.expect(lambda v: np.exp(-v)) for one in ones], rtol=1e-11)
    np.testing.assert_allclose(d.expected_shortfall(0.1), [one.expected_shortfall(0.1) for one in ones], rtol=1e-10)
    assert d.rvs((4, 12), rng=1).shape == (4, 12) and (d.rvs((4, 12), rng=1) == d.rvs((4, 12), rng=1)).all()
    assert (d.support()[0] == 0.0).all() and pickle.loads(pickle.dumps(d)).cdf(1.0).tolist() == d.cdf(1.0).tolist()
    again = pickle.loads(pickle.dumps(fits))
    assert again.limit.tolist() == fits.limit.tolist() and "exponential distribution" in repr(fits)
    table = fits.summary()
    assert table["limit"].tolist() == fits.limit.tolist()
    np.testing.assert_array_equal(table["limit_scale"], fits.limit_params["scale"])
    np.testing.assert_array_equal(table["limit_se_scale"], fits.limit_se["scale"])
    w = rng.integers(1, 4, x.shape).astype(float)
    assert fit_many(x, "lomax", weights=w).limit.shape == (12,)
    assert standardise(x, "lomax", axis=1).shape == x.shape


def test_estimates_of_a_fit_at_a_limit():
    x = np.random.default_rng(8).uniform(size=60)
    found, normal = fit(x, "student_t"), fit(x, "normal")
    assert found.limit == "normal"
    for method in ("delta", "profile"):
        options = {"x": x} if method == "profile" else {}
        a, b = (f.estimate(lambda d: d.ppf(0.9), method, **options) for f in (found, normal))
        assert (a.value, a.lower, a.upper) == pytest.approx((b.value, b.lower, b.upper), rel=1e-9)
    boot = found.estimate(lambda d: d.ppf(0.9), "bootstrap", count=49, rng=1)
    assert boot.samples.shape == (49,) and np.isfinite(boot.samples).all() and boot.lower < boot.value < boot.upper
    test = goodness(x, "student_t", count=19, rng=1)
    assert 0.0 < test.pvalue <= 1.0 and test.failed == 0


def test_comparisons_name_a_limit_once():
    x = np.random.default_rng(8).uniform(size=60)
    found = compare(x, ["student_t", "normal", "logistic"])
    assert list(found.fits).index("normal") + 1 == list(found.fits).index("student_t") and found.best.family == "normal"
    table = found.summary()
    assert dict(zip(table["family"], table["limit"], strict=True))["student_t"] == "is normal"
    many = compare_many(np.stack([x, x[::-1]]), ["student_t", "normal"])
    assert many.best.tolist() == ["normal", "normal"] and list(many.fits) == ["student_t", "normal"]
    alone = compare(x, ["student_t", "logistic"])
    assert alone.summary()["limit"].tolist().count("normal") == 1


def test_zero_inflated_counts_with_a_rest_that_is_poisson():
    """The excess of zeros was said to be 0, up to 1194 units below the inflated Poisson distribution."""
    cases = [[0] * 50 + [5] * 3, [0] * 10 + [3, 4, 5, 5, 6, 6, 7, 4, 5, 8]]
    r = np.random.default_rng(0)
    cases.append(r.poisson(30, 1000) * (r.random(1000) > 0.6))
    for x in cases:
        found, poisson = (fit(x, family, zeros="inflated") for family in ("negative_binomial", "poisson"))
        assert found.loglik >= poisson.loglik - 1e-9
        if found.status == 2:
            assert found.limit == "poisson" and found.zeros == pytest.approx(poisson.zeros, rel=1e-9) and found.n_free == 2
        else:
            assert found.status == 0


def test_what_errors_lack_at_a_limit_is_told():
    x = ns.distributions.HalfNormal().rvs((2, 30), rng=3)
    fits = fit_many(x, "skew_normal")
    assert fits.limit.tolist() == ["half_normal"] * 2 and fits.remarks.tolist() == ["at a value"] * 2
    one = fits.one(0)
    assert one.message == fits.messages[0] == fits.message(0) and "half-normal distribution; no standard errors of" in one.message
    light = fit(np.linspace(-1.0, 1.0, 40), "student_t")
    assert light.remark == "" and light.message == "converged to a limit of the family, the normal distribution"


def test_poles_have_no_parameters():
    for x in ([24.12, 44.38, 53.07, 92.64, 96.39], [0.1, 0.4, 0.9, 2, 3, 5, 8, 12, 18, 25, 33, 48.0]):
        found = fit(x, "pearson_iii")
        assert found.status == 10 and not found.converged and np.isnan(list(found.params.values())).all()
        assert found.bic == math.inf and np.isnan(standardise(np.array(x), "pearson_iii")).all()


def test_half_normal_at_either_end():
    x = ns.distributions.HalfNormal().rvs(30, rng=3)
    up, down = fit(x, "skew_normal"), fit(-x, "skew_normal")
    assert up.limit == down.limit == "half_normal" and up.params["shape"] == math.inf and down.params["shape"] == -math.inf
    assert up.loglik == pytest.approx(down.loglik, rel=1e-13) and down.params["loc"] == -x.min() == -up.params["loc"]
    np.testing.assert_allclose(down.distribution.cdf(-x), up.distribution.sf(x), rtol=1e-13)


@pytest.mark.parametrize("name", ["censored", "truncated", "fixed"])
def test_limits_of_other_data(name):
    x = np.random.default_rng(4).exponential(2.0, 80) if name != "fixed" else np.random.default_rng(4).uniform(size=80)
    if name == "censored":
        ends = np.where(x > 3.0, 3.0, x), np.where(x > 3.0, np.inf, x)
        found, want = (fit(None, family, censored=ends) for family in ("lomax", "exponential"))
    elif name == "truncated":
        found, want = (fit(x[x > 1.0], family, truncated=(1.0, None)) for family in ("lomax", "exponential"))
    else:
        found, want = (fit(x, family, fixed={"loc": 0.5}) for family in ("student_t", "normal"))
        assert found.params["loc"] == 0.5 and found.se["loc"] == 0.0 and found.n_free == 1
    assert (found.status, found.limit) == (2, want.family) or found.loglik > want.loglik + 1e-8
    assert found.loglik >= want.loglik - 1e-9


def test_a_truncated_normal_between_known_ends():
    d = ns.distributions.truncate(ns.distributions.Exponential(scale=0.7), 0.0, 2.0)
    for sign in (1.0, -1.0):
        x = sign * d.rvs(200, rng=11)
        lower, upper = sorted((0.0, 2.0 * sign))
        found = fit(x, "truncated_normal", fixed={"lower": lower, "upper": upper})
        if found.status == 2:
            made = found.distribution
            assert found.limit == "exponential" and made.logpdf(x).sum() == pytest.approx(found.loglik, rel=1e-10)
            assert float(made.cdf(upper)) == pytest.approx(1.0)
        else:
            assert found.status == 0


SYMMETRIC = [
    "normal",
    "logistic",
    "laplace",
    "cauchy",
    "student_t",
    "generalized_normal",
    "uniform",
    "skew_normal",
    "pearson_iii",
]
SYMMETRIC += ["asymmetric_laplace", "johnson_su"]


def _small_sets(cls, rng):
    """Random, rounded, tied, skewed and contaminated sets of 5 to 40 values on the support of a family."""
    sets = []
    for kind in range(5):
        n = int(rng.integers(5, 41))
        x = rng.gamma(2.0, 1.0, n) if kind == 3 else rng.standard_t(4, n) + (0.0 if kind else 3.0)
        x = np.round(x, 1) if kind == 1 else np.where(rng.random(n) < 0.3, x[0], x) if kind == 2 else x
        x = np.where(rng.random(n) < 0.1, 20.0 * x, x) if kind == 4 else x
        if cls.is_discrete:
            x = np.floor(np.abs(2.0 * x))
        elif cls._kernels is not None and cls._kernels.begins_at_0:
            x = np.abs(x) + 0.05
        sets.append(x / (1.1 * x.max()) if cls.family in ("beta", "kumaraswamy") else x)
    return sets


@pytest.mark.parametrize("family", [f for f, c in CLASSES.items() if not c._known and c._kernels is not None and f != "skew_t"])
def test_neither_order_nor_unit_nor_weights_matter(family):
    """The same status, limit and optimum for permuted, scaled, mirrored and weighted data, in a batch and alone."""
    cls, rng = CLASSES[family], np.random.default_rng(len(family))
    free = cls.names[-1] == "scale" and family not in ("beta", "kumaraswamy", "chi_squared")
    sets = _small_sets(cls, rng)
    want = fit_many(sets, family)
    for i, x in enumerate(sets):
        w = rng.integers(1, 4, x.size).astype(float)
        once, twice = fit(x, family, weights=w), fit(np.repeat(x, w.astype(int)), family)
        pairs = [
            (want.one(i), fit(x[rng.permutation(x.size)], family), 0.0),
            (want.one(i), fit(x, family), 0.0),
            (once, twice, 0.0),
        ]
        if free:
            pairs += [(want.one(i), fit(unit * x, family), x.size * math.log(unit)) for unit in (2.0**-20, 2.0**31)]
        if family in SYMMETRIC:
            pairs.append((want.one(i), fit(-x, family), 0.0))
        for a, b, shift in pairs:
            assert (a.status, a.limit) == (b.status, b.limit)
            if a.converged:
                assert b.loglik + shift == pytest.approx(a.loglik, rel=1e-8, abs=1e-6)


def test_limits_in_batches_of_any_shape():
    x = np.random.default_rng(1).exponential(size=(2, 3, 40))
    fits, scores = fit_many(x, "lomax"), standardise(x, "lomax", axis=-1)
    assert fits.limit.shape == (2, 3) and "exponential" in fits.limit
    for i in np.ndindex(2, 3):
        np.testing.assert_allclose(scores[i], standardise(x[i], "lomax"), rtol=1e-12)
        assert fits.one(i).distribution == fit(x[i], "lomax").distribution
    at_limit = x[fits.limit == "exponential"]
    assert standardise(at_limit[0], "lomax").shape == (40,) and repr(ns.distributions.Lomax.fit(at_limit[0])).startswith(
        "Exponential("
    )


def test_intervals_below_a_free_location():
    """With intervals alone no climb began: the support begins below the upper ends of all."""
    y = np.random.default_rng(4).normal(0.0, 1.0, 20)
    lo = np.floor(4.0 * y) / 4.0
    found = fit(None, "lognormal", censored=(lo, lo + 0.25), fixed={"loc": None})
    d = found.distribution
    assert found.status == 0 and np.log(d.cdf(lo + 0.25) - d.cdf(lo)).sum() == pytest.approx(found.loglik, rel=1e-9)
    wider = fit(None, "johnson_su", censored=(lo, lo + 0.25))
    assert wider.limit == "lognormal" and wider.loglik == pytest.approx(found.loglik, abs=1e-7)


@pytest.mark.parametrize("family", ["skew_normal", "generalized_normal", "johnson_su", "student_t", "ex_gaussian"])
def test_intervals_without_length_are_values(family):
    y = np.random.default_rng(4).normal(0.0, 1.0, 20)
    plain, found = fit(y, family), fit(None, family, censored=(y, y))
    assert (found.status, found.limit, found.loglik, found.params) == (plain.status, plain.limit, plain.loglik, plain.params)


def test_the_error_of_more_zeros_at_a_limit():
    x = [0] * 10 + [3, 4, 5, 5, 6, 6, 7, 4, 5, 8]
    a, b = (fit(x, family, zeros="inflated") for family in ("negative_binomial", "poisson"))
    assert a.limit == "poisson" and a.zeros_se == pytest.approx(b.zeros_se, rel=1e-9) and a.zeros_se > 0.0


def test_values_that_no_parameters_hold_are_outside():
    assert fit([-0.43, -1.69, -3.55, -2.01], "pareto").status == 6


@pytest.mark.parametrize("family", ["variance_gamma", "generalized_hyperbolic"])
def test_a_special_case_on_the_slope_of_a_pole_is_no_limit(family):
    """The climb leaves the asymmetric Laplace distribution uphill, for a value as mu and lam towards 1/2."""
    x = np.random.default_rng(2).normal(size=12)
    for y in (x, x[::-1], -x):
        found = fit(y, family)
        assert found.status == 10 and not found.converged and found.limit == "" and np.isnan(list(found.params.values())).all()


def test_student_fits_its_cauchy_floor_by_its_own_equations(monkeypatch):
    """No likelihood is compiled; where half of the values are equal the floor has no maximum, but a ridge to scale 0."""
    used, launched = [], fitting.launch
    monkeypatch.setattr(fitting, "launch", lambda kernel, *args, **o: (used.append(kernel.name), launched(kernel, *args, **o)))
    fit([-1.5, -0.5, 0.1, 0.7, 1.5, 9.0], "student_t")
    assert "distributions.cauchy_fit" not in used and used.count("distributions.fit_student_t") >= 2
    assert fit([-1.5, -0.5, -0.5, 1.5], "student_t").limit != "cauchy"
