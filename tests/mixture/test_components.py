"""Mixtures whose components are distributions: against the families with passes of their own, and SciPy's minimiser."""

from __future__ import annotations

import itertools
import math
import typing

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from numbastats import distributions, mixture
from numbastats._core.random import normalise_rng
from numbastats.mixture.components import Model
from numbastats.mixture.constraints import design_of
from numbastats.mixture.families import FAMILIES, Name
from tests.mixture import naive


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.logistic(-2, 0.6, 300), rng.logistic(3, 0.4, 200)])


@pytest.fixture(scope="module")
def fitted(two):
    return mixture.fit(two, 2, family="logistic", se=True, rng=0)


SAME = {  # a family here, how its own parameters and errors follow from those of the distribution
    "normal": lambda p, e: (p["loc"], p["scale"] ** 2, e["loc"], 2.0 * p["scale"] * e["scale"]),
    "inverse_gaussian": lambda p, e: (p["mean"], p["shape"], e["mean"], e["shape"]),
}


@pytest.mark.parametrize("family", SAME)
def test_the_same_fits_as_by_passes_of_their_own(family):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.gamma(3.0, 1.0, 300), rng.gamma(30.0, 0.5, 200)])
    own = mixture.fit(x, 2, family=family, se=True, rng=0)
    found = mixture.fit(x, 2, family=[family] * 2, se=True, rng=0)
    assert found.status == own.status == 0 and found.n_free == 5
    assert abs(found.loglik - own.loglik) < 1e-9 and abs(found.bic - own.bic) < 1e-9  # observed 1e-12
    centres, params, first, second = SAME[family](found.parameters, found.se)
    np.testing.assert_allclose(found.weights, own.weights, rtol=1e-6)  # the decrement is below 1e-9
    np.testing.assert_allclose(centres, own.centres, rtol=1e-6)
    np.testing.assert_allclose(params, own.params, rtol=1e-5)
    errors = list(own.se.values())
    np.testing.assert_allclose([found.se["weights"], first, second], errors, rtol=2e-5)  # second differences; observed 3e-7
    np.testing.assert_allclose(found.predict_proba(x[:9]), own.predict_proba(x[:9]), rtol=1e-5, atol=1e-12)
    assert abs(found.min_eig) < 1.0 and found.decrement < 1e-9


def test_against_a_general_minimiser(two, fitted):
    def minus_loglik(p):
        share, (a, b), (s, t) = 1.0 / (1.0 + math.exp(-p[0])), p[1:3], np.exp(p[3:])
        f = share * scipy.stats.logistic.pdf(two, a, s) + (1.0 - share) * scipy.stats.logistic.pdf(two, b, t)
        return -np.log(f).sum()

    best = scipy.optimize.minimize(minus_loglik, [0.0, -2.0, 3.0, -0.5, -0.5], method="BFGS", options={"gtol": 1e-6})
    assert fitted.status == 0 and abs(fitted.loglik + best.fun) < 1e-7
    np.testing.assert_allclose(fitted.parameters["loc"], best.x[1:3], rtol=1e-5)
    np.testing.assert_allclose(fitted.parameters["scale"], np.exp(best.x[3:]), rtol=1e-5)
    assert abs(np.sum(fitted.logpdf(two)) - fitted.loglik) < 1e-9


@pytest.mark.slow
def test_a_users_density(two, fitted):
    own = distributions.define("Hyperbolic_secant_squared", lambda z: -2.0 * math.log(2.0 * math.cosh(0.5 * z)))
    found = mixture.fit(two, 2, family=own, rng=0)
    assert found.status == 0 and abs(found.loglik - fitted.loglik) < 1e-8
    assert isinstance(found.components[0], own)


def test_the_loglik_never_falls(two):
    for family in ("logistic", ["student_t", "gumbel"]):
        model = Model(design_of(family, 2, two), np.sort(two), np.ones(two.size), 1)
        shares = np.random.default_rng(3).dirichlet([1.0, 1.0], two.size).T[None]
        state, before = model.maximisation(shares), -math.inf
        for _ in range(40):
            state, (value,) = model.em_pass(state)
            assert value >= before - 1e-12 * abs(value)
            before = value


def test_noise():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(1.0, 0.5, 700), rng.uniform(-10.0, 10.0, 300)])
    found = mixture.fit(x, 2, family=["normal", "uniform"], se=True, rng=0)
    loc, scale = found.parameters["loc"], found.parameters["scale"]
    assert found.status == 0 and found.n_free == 3
    assert loc[1] == x.min() and loc[1] + scale[1] == pytest.approx(x.max(), rel=1e-15)
    errors = np.array([found.se["weights"][0], found.se["loc"][0], found.se["scale"][0]])
    away = np.abs([found.weights[0] - 0.7, loc[0] - 1.0, scale[0] - 0.5]) / errors
    assert (away < 3.0).all() and found.se["loc"][1] == 0.0
    wide = mixture.fit(x, 2, family=["normal", ("uniform", {"loc": -10.0, "scale": 20.0})], rng=0)
    assert abs(wide.loglik - found.loglik) < 2.0 and wide.parameters["scale"][1] == 20.0


def test_fixed_parameters_stay(two):
    free = mixture.fit(two, 2, family=["student_t", "student_t"], rng=0)
    four = mixture.fit(two, 2, family=("student_t", {"df": 4}), se=True, rng=0)
    assert four.status == 0 and (four.parameters["df"] == 4.0).all() and (four.se["df"] == 0.0).all()
    assert four.n_free == 5 and free.n_free == 7 and free.loglik >= four.loglik
    rng = np.random.default_rng(2)
    shares = np.concatenate([rng.beta(2.0, 8.0, 200), rng.beta(9.0, 3.0, 200)])
    beta = mixture.fit(shares, 2, family="beta", rng=0)  # loc and scale are 0 and 1 where nothing else is said
    assert beta.status == 0 and beta.n_free == 5 and beta.parameters["scale"].tolist() == [1.0, 1.0]
    known = mixture.fit(two, 2, family=[("normal", {"loc": -2, "scale": 1}), ("normal", {"loc": 3, "scale": 1})], rng=0)
    f, g = scipy.stats.norm.pdf(two, -2), scipy.stats.norm.pdf(two, 3)
    share = scipy.optimize.brentq(lambda w: np.sum((f - g) / (w * f + (1 - w) * g)), 0.01, 0.99, xtol=1e-13)
    assert known.n_free == 1 and known.weights[0] == pytest.approx(share, rel=1e-9)


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(4)
    return np.concatenate([rng.normal(-2.0, 0.8, 300), rng.normal(1.0, 0.8, 200)])


def test_equal_variances(overlapping):
    x = overlapping
    found = mixture.fit(x, 2, family="normal", equal="scale", se=True, rng=0)
    w, m, v, loglik = naive.tied_em(x, 0.5, [-1.0, 0.5])
    assert found.status == 0 and found.n_free == 4 and abs(found.loglik - loglik) < 1e-9
    np.testing.assert_allclose(found.weights, w, rtol=1e-6)
    np.testing.assert_allclose(found.parameters["loc"], m, rtol=1e-6)
    np.testing.assert_allclose(found.parameters["scale"], math.sqrt(v), rtol=1e-6)
    assert found.bic == pytest.approx(4 * math.log(500) - 2 * loglik) and found.aic == pytest.approx(8 - 2 * loglik)
    free = mixture.fit(x, 2, family="normal", rng=0)
    assert free.loglik > found.loglik and len(set(found.parameters["scale"])) == 1
    model = mixture.Mixture(2, family="normal", equal=("scale",), rng=0).fit(x)
    assert model.loglik_ == found.loglik and model.bic(x) == pytest.approx(found.bic)


def _minus_logistic(p, x):
    """Of two logistic components with one scale, by SciPy: logit of the weight, two places, log scale."""
    share, s = 1.0 / (1.0 + math.exp(-p[0])), math.exp(p[3])
    f = share * scipy.stats.logistic.pdf(x, p[1], s) + (1.0 - share) * scipy.stats.logistic.pdf(x, p[2], s)
    return -np.log(f).sum()


def test_equal_scales_against_a_general_minimiser(two):
    found = mixture.fit(two, 2, family="logistic", equal=["scale"], se=True, rng=0)
    best = scipy.optimize.minimize(_minus_logistic, [0.0, -2.0, 3.0, -0.5], (two,), method="BFGS", options={"gtol": 1e-6})
    assert found.status == 0 and found.n_free == 4 and abs(found.loglik + best.fun) < 1e-7
    np.testing.assert_allclose(found.parameters["loc"], best.x[1:3], rtol=1e-5)
    h = 1e-3 * np.eye(4)
    H = [
        [sum(a * b * _minus_logistic(best.x + a * i + b * j, two) for a in (1, -1) for b in (1, -1)) / 4e-6 for j in h] for i in h
    ]
    share, errors = found.weights[0], np.sqrt(np.diagonal(np.linalg.inv(H)))
    errors *= [share * (1.0 - share), 1.0, 1.0, found.parameters["scale"][0]]
    np.testing.assert_allclose([found.se["weights"][0], *found.se["loc"], found.se["scale"][0]], errors, rtol=1e-4)
    assert found.se["scale"][0] == found.se["scale"][1]


def test_fixed_weights(overlapping):
    x = overlapping
    found = mixture.fit(x, 2, family="normal", fixed_weights=[2, 1], se=True, rng=0)

    def minus_loglik(p):
        return -np.log(scipy.stats.norm.pdf(x, p[0], math.exp(p[2])) * 2 + scipy.stats.norm.pdf(x, p[1], math.exp(p[3]))).sum()

    best = scipy.optimize.minimize(minus_loglik, [-2.0, 1.0, 0.0, 0.0], method="BFGS", options={"gtol": 1e-6})
    assert found.status == 0 and found.n_free == 4
    assert found.loglik == pytest.approx(-best.fun - 500 * math.log(3.0), abs=1e-7)
    np.testing.assert_allclose(found.parameters["loc"], best.x[:2], rtol=1e-5)
    assert found.weights.tolist() == [2 / 3, 1 / 3] and found.se["weights"].tolist() == [0.0, 0.0]
    mirrored = mixture.fit(x, 2, family="normal", fixed_weights=[1, 2], rng=0)  # in the order of the weights
    np.testing.assert_allclose(mirrored.parameters["loc"][::-1], found.parameters["loc"], rtol=1e-5)
    halves = mixture.fit(x, 2, family="normal", equal=("scale", "weights"), rng=0)
    assert halves.n_free == 3 and halves.weights.tolist() == [0.5, 0.5] and halves.status == 0


def spaced(sizes, gap, width=3.0):
    """Clusters of evenly spaced values, `gap` apart."""
    each = enumerate(zip(sizes, np.broadcast_to(gap, len(sizes)), strict=True))
    return np.concatenate([j * g + (np.arange(m) - (m - 1) / 2) / m * width for j, (m, g) in each])


@pytest.mark.parametrize("K", [4, 5, 7])
def test_fixed_weights_find_their_clusters(K):
    """Of four clusters they went to the wrong ones, by 3 to 10 of the log-likelihood, and that depended on their order."""
    x = spaced(10 * np.arange(K, 0, -1), 10.0)
    weights = np.arange(K, 0, -1) / np.arange(1, K + 1).sum()
    truth = mixture.fit(x, K, family="normal", rng=0)  # far apart: the free weights are those that are fixed
    for order in (np.arange(K), np.arange(K)[::-1], np.random.default_rng(K).permutation(K)):
        found = mixture.fit(x, K, family="normal", fixed_weights=weights[order], rng=0)
        assert found.status == 0 and found.loglik == pytest.approx(truth.loglik, abs=1e-3)
        np.testing.assert_allclose(found.parameters["loc"], 10.0 * order, atol=1e-3)
        np.testing.assert_allclose(found.weights, weights[order], rtol=1e-12)


@pytest.mark.parametrize(("family", "fixed"), [("gamma", {"loc": 0.0}), ("logistic", {}), ("student_t", {"df": 5.0})])
def test_fixed_weights_of_other_families_and_data_sets(family, fixed):
    """In both orders, also with equal scales; two overlapping components and one apart."""
    rng = np.random.default_rng(5)
    sets = [np.abs(rng.normal(np.repeat([4.0, 9.0, 30.0], [10, 60, 40]), 1.5)) + 0.5]
    options = dict(family=(family, fixed), rng=0, workers=1)
    given = [0.1, 0.6, 0.3], [0.6, 0.3, 0.1]
    for equal in (None, "scale"):
        one, two = (mixture.fit_many(sets, 3, fixed_weights=w, equal=equal, **options) for w in given)
        assert (one.status == 0).all() and (two.status == 0).all()
        np.testing.assert_allclose(one.loglik, two.loglik, atol=1e-6)
        np.testing.assert_allclose(one.parameters["scale"][:, [1, 2, 0]], two.parameters["scale"], rtol=1e-4)
        means = np.array([fit.component_means() for fit in one])
        np.testing.assert_allclose(means, [[4.0, 9.0, 30.0]], atol=1.5)


def test_fixed_weights_against_all_assignments():
    """Overlapping normal components: none of the climbs from the true parameters, in whatever order, is higher."""
    rng = np.random.default_rng(11)
    weights = np.array([0.45, 0.3, 0.15, 0.1])
    x = np.concatenate(
        [rng.normal(m, 1.0, int(200 * w)) for m, w in zip((0.0, 3.0, 5.0, 9.0), (0.15, 0.45, 0.1, 0.3), strict=True)]
    )
    found = mixture.fit(x, 4, family="normal", fixed_weights=weights, rng=0)
    best = -math.inf
    for order in itertools.permutations((0.0, 3.0, 5.0, 9.0)):
        m, s = np.array(order), np.ones(4)
        for _ in range(300):
            joint = weights * scipy.stats.norm.pdf(x[:, None], m, s)
            r = joint / joint.sum(axis=1, keepdims=True)
            m = (r * x[:, None]).sum(axis=0) / r.sum(axis=0)
            s = np.sqrt((r * (x[:, None] - m) ** 2).sum(axis=0) / r.sum(axis=0))
        narrow = s.min() < 0.015 * x.std()
        best = best if narrow else max(best, np.log(joint.sum(axis=1)).sum())
    assert found.status == 0 and found.loglik > best - 1e-6


def test_a_choice_names_what_it_passed_over():
    x = np.repeat([1.0, 2.0, 3.0], 500)
    fit = mixture.fit(x, [1, 2, 3], family="logistic", rng=0)
    assert fit.n_components == 1 and "passed over: 2 (status 4, too few distinct values), 3 (status 4" in fit.message
    assert fit.selection["status"].tolist() == [0, 4, 4] and fit.selection["chosen"].tolist() == [True, False, False]
    batch = mixture.fit_many([x, np.linspace(0.0, 9.0, 50)], [1, 2], family="logistic", rng=0)
    assert batch.selection["data_set"].tolist() == [0, 0, 1, 1] and batch.selection["status"].tolist() == [0, 4, 0, 0]
    assert batch.n_free.tolist() == [2, 2]


def test_more_components_are_not_below_fewer_in_calls_of_their_own():
    rng = np.random.default_rng(2)
    sets = [np.round(3.0 * rng.normal(size=n), 1) for n in (12, 16, 25)] + [np.round(2.0 * rng.standard_t(2.0, 30), 1)]
    best = np.full(len(sets), -math.inf)
    for K in (1, 2, 3):
        fits = mixture.fit_many(sets, K, family=("normal", {}), rng=0)
        certified = np.where(fits.status == 0, fits.loglik, math.nan)
        assert not (certified < best - 1e-6).any()
        best = np.fmax(best, certified)


@pytest.mark.parametrize(("family", "limit"), [("lomax", "exponential"), (("student_t", {}), "normal")])
def test_components_at_limits_of_their_family(family, limit):
    """Of values whose tails are no heavier: the parameters are finite, and as likely as the limit itself."""
    rng = np.random.default_rng(0)
    x = rng.exponential(1.0, 300) if limit == "exponential" else np.clip(rng.normal(0.0, 1.0, 150), -1.5, 1.5)
    one = mixture.fit(x, 1, family=family, rng=0)
    plain = distributions.fit(x, limit)
    assert one.limits == (limit,) and one.message.endswith(f"at a limit of its family: component 0 ({limit})")
    assert one.loglik == pytest.approx(plain.loglik, abs=2e-9)
    assert np.isfinite(list(one.parameters.values())).all()


def test_fixed_centres(overlapping):
    found = mixture.fit(overlapping, 2, family=("normal", {"loc": [1.0, -2.0]}), equal="scale", se=True, rng=0)
    best = scipy.optimize.minimize(
        lambda p: (
            -np.log(
                p[0] * scipy.stats.norm.pdf(overlapping, 1.0, p[1]) + (1 - p[0]) * scipy.stats.norm.pdf(overlapping, -2.0, p[1])
            ).sum()
        ),
        [0.5, 1.0],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-10},
    )
    assert found.status == 0 and found.n_free == 2 and found.loglik == pytest.approx(-best.fun, abs=1e-8)
    np.testing.assert_allclose([found.weights[0], found.parameters["scale"][0]], best.x, rtol=1e-6)
    assert found.parameters["loc"].tolist() == [1.0, -2.0] and found.se["loc"].tolist() == [0.0, 0.0]
    some = mixture.fit(overlapping, 2, family=("normal", {"loc": [None, -2.0]}), rng=0)
    assert some.n_free == 4 and some.parameters["loc"][1] == -2.0 and some.parameters["loc"][0] != 1.0


def test_one_centre_of_two_scales():
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.normal(0.3, 1.0, 600), rng.normal(0.3, 5.0, 200)])
    found = mixture.fit(x, 2, family="normal", equal="loc", rng=0)
    free = mixture.fit(x, 2, family=["normal"] * 2, rng=0)
    assert found.status == 0 and found.n_free == 4 and free.loglik - 2.0 < found.loglik < free.loglik
    with pytest.raises(ValueError, match="takes 'weights' and free parameters of at least two, here of 'loc', 'scale'"):
        mixture.fit(x, 2, family=["normal", "uniform"], equal="scale")
    for options, error, message in (
        ({"equal": 3}, TypeError, "names of parameters"),
        ({"equal": "weights", "fixed_weights": [1, 2]}, ValueError, "use one of them"),
        ({"fixed_weights": [0.0, 1.0]}, ValueError, "2 numbers above 0"),
        ({"fixed_weights": [0.2, 0.8], "n_components": (1, 2)}, ValueError, "pass n_components=2"),
        ({"family": "poisson", "equal": "mean"}, ValueError, "one of counts"),
        ({"family": ("normal", {"loc": [1.0, 2.0, 3.0]})}, ValueError, "a number, or 2, one a component"),
    ):
        with pytest.raises(error, match=message):
            mixture.fit(x, **({"n_components": 2, "family": "normal"} | options))


def test_number_of_components_by_a_criterion(two):
    found = mixture.fit(two, range(1, 4), family="logistic", rng=0)
    one = mixture.fit(two, 1, family="logistic", rng=0)
    assert found.n_components == 2 and found.bic < one.bic
    assert one.loglik == pytest.approx(distributions.fit(two, "logistic").loglik, rel=1e-12)


def test_weights_are_repetitions(two):
    counts = np.arange(two.size) % 3
    weighted = mixture.fit(two, 2, family="logistic", weights=counts, rng=0)
    repeated = mixture.fit(np.repeat(two, counts), 2, family="logistic", rng=0)
    assert weighted.status == 0 and weighted.loglik == pytest.approx(repeated.loglik, rel=1e-12)
    assert weighted.n_dropped == (counts == 0).sum() and weighted.bic == pytest.approx(repeated.bic, rel=1e-12)


def test_what_follows(two, fitted):
    pd = pytest.importorskip("pandas")
    series = pd.Series(two)
    assert mixture.fit(series, 2, family="logistic", rng=0).loglik == fitted.loglik
    q = np.array([0.01, 0.5, 0.99])
    np.testing.assert_allclose(fitted.cdf(fitted.ppf(q)), q, rtol=1e-11)
    w, (a, b), (s, t) = fitted.weights, fitted.parameters["loc"], fitted.parameters["scale"]
    by_scipy = w[0] * scipy.stats.logistic.sf(1.0, a, s) + w[1] * scipy.stats.logistic.sf(1.0, b, t)
    assert fitted.sf(1.0) == pytest.approx(by_scipy, rel=1e-13)
    assert fitted.mean() == pytest.approx(w @ [a, b], rel=1e-13) and fitted.rvs((2, 3), rng=1).shape == (2, 3)
    p = fitted.predict_proba([-2.0, 3.0, math.nan])
    np.testing.assert_allclose(p[:2].sum(axis=1), 1.0, rtol=1e-14)
    assert fitted.predict([-2.0, 3.0, math.nan]).tolist() == [0, 1, -1]
    assert list(fitted.summary())[:4] == ["weight", "family", "loc", "scale"] and "logistic, logistic" in repr(fitted)
    model = mixture.Mixture(2, family="logistic", rng=0).fit(two)
    assert model.result_.loglik == fitted.loglik and model.bic(two) == pytest.approx(fitted.bic, rel=1e-12)
    assert model.predict(two[:3]).tolist() == fitted.predict(two[:3]).tolist() and model.pdf(0.0) == fitted.pdf(0.0)


def test_classes_that_have_passes_of_their_own(two):
    found = mixture.fit(two, 2, family=distributions.Normal, rng=0)
    assert isinstance(found, mixture.MixtureFit) and found.family == "normal"
    assert found.components[0].scale == math.sqrt(found.params[0])
    assert set(FAMILIES) == set(typing.get_args(Name)) - {"gaussian"}


def test_data_that_cannot_be_fitted(two):
    for x, family, status in (
        ([], ["normal", "uniform"], 7),
        ([math.nan] * 9, "logistic", 7),
        ([1.0, 2.0, 3.0, math.inf], "logistic", 8),
        (1e-200 * two, "logistic", 8),
        (two, "weibull", 6),
        ([1.0, 2.0, 3.0, 4.0], "logistic", 4),
    ):
        found = mixture.fit(x, 2, family=family, errors="status")
        assert found.status == status and not found.converged and np.isnan(found.weights).all()
        with pytest.raises(ValueError, match="no parameters"):
            found.pdf(0.0)
        with pytest.raises(ValueError, match="cannot be fitted"):
            mixture.fit(x, 2, family=family)


def test_no_certificate_without_second_derivatives(two):
    found = mixture.fit(two, 2, family="laplace", se=True, rng=0)
    assert found.status == 11 and not found.converged and not found.se and "Laplace" in found.message


def test_collapse_onto_equal_values(two):
    x = np.append(np.full(100, 1.25), two)
    found = mixture.fit(x, 2, family="logistic", rng=0)
    assert found.status == 0 and found.loglik < 0.0  # a component on the 100 alone would have no bound
    assert mixture.fit(x, 2, family="logistic", rng=0, min_sd_ratio=0.9).status == 13


def test_refusals(two):
    for family, message in (
        ("logistc", "logistic"),
        (["normal", "poisson"], "do not mix"),
        (["normal"] * 3, "n_components=3"),
        (("gamma", {"df": 3}), "names 'df'"),
        (("gamma", {"loc": None}), "must hold numbers"),
        ("pareto", "end of its support"),
    ):
        with pytest.raises(ValueError, match=message):
            mixture.fit(np.abs(two), 2, family=family)
    with pytest.raises(TypeError, match="dict of fixed"):
        mixture.fit(two, 2, family=["normal", ("student_t", 4)])
    with pytest.raises(ValueError, match="names 2 distributions"):
        mixture.fit(two, range(1, 3), family=["normal", "normal"])
    for options in ({"prior": {"n0": 1}}, {"device": "cuda"}, {"method": "em"}, {"cov": True}):
        with pytest.raises(ValueError, match="passes of their own"):
            mixture.fit(two, 2, family="logistic", **options)
    for options in (
        {"family": ["logistic"]},
        {"family": "logistic", "fixed_weights": [1]},
        {"family": ("logistic", {"loc": [1]})},
    ):
        with pytest.raises(ValueError, match="adds a component like the others"):
            mixture.likelihood_ratio(two, 1, **options)


def test_many_data_sets(two):
    pd = pytest.importorskip("pandas")
    sets = {"a": two, "b": two[::2] + 1.0, "c": two[:1]}
    many = mixture.fit_many(sets, 2, family="logistic", se=True, rng=0)
    assert isinstance(many, mixture.ComponentsBatch) and many.keys == ("a", "b", "c") and many.status.tolist() == [0, 0, 4]
    assert many[0].loglik == mixture.fit(two, 2, family="logistic", rng=0).loglik
    assert many[1].loglik == pytest.approx(mixture.fit(two[::2], 2, family="logistic", rng=3).loglik, abs=1e-8)
    assert many.n_components.tolist() == [2, 2, 2] and many.weights.shape == many.parameters["loc"].shape == (3, 2)
    assert "too few" in many.message(2) and np.isnan(many.loglik[2]) and np.isnan(many.weights[2]).all()
    assert many.summary().to_frame()["data_set"].tolist() == ["a", "a", "b", "b", "c", "c"]
    assert repr(many).startswith("ComponentsBatch: family 'logistic', 3 data sets, 2 with a certified local maximum")
    frame = pd.DataFrame({"g": np.repeat([1, 2], [500, 250]), "x": np.concatenate([two, two[::2] + 1.0])})
    heard = []
    grouped = mixture.fit_many(
        frame, 2, family="logistic", by="g", rng=0, callback=lambda state: heard.append(state.done), workers=2
    )
    assert grouped.loglik.tolist() == many.loglik[:2].tolist() and heard == [1, 2]
    halted = mixture.fit_many(sets, 2, family="logistic", rng=0, callback=lambda state: True)
    assert halted.status.tolist() == [0, 9, 9] and "callback" in halted.message(2)
    each = mixture.fit_many([two, two], np.array([1, 2]), family="logistic", rng=0)
    assert each.n_components.tolist() == [1, 2] and np.isnan(each.weights[0, 1])
    wrong = mixture.fit_many([two], 2, family="logistic", weights=[-np.ones(two.size)])
    assert wrong.status[0] == 8 and "negative" in wrong.message(0)
    with pytest.raises(AttributeError, match="no attribute 'centres'"):
        wrong.centres  # noqa: B018


def test_gap_against_a_general_maximiser(overlapping):
    """The largest gain by one normal component beside those of the fit, by SciPy from many places and widths."""
    x, spread = overlapping, overlapping.std()
    found = mixture.fit(x, 2, family=["normal"] * 2, rng=0)
    f = found.pdf(x)

    def minus_gain(p):
        share = 1.0 / (1.0 + math.exp(-p[0]))
        return -np.log1p(share * (scipy.stats.norm.pdf(x, p[1], math.exp(p[2])) / f - 1.0)).sum()

    bounds = [(-9.0, 9.0), (x.min(), x.max()), (math.log(0.05 * spread), math.log(5.0 * spread))]
    starts = [(-3.0, m, math.log(h * spread)) for m in np.quantile(x, np.linspace(0.02, 0.98, 9)) for h in (0.1, 0.5)]
    best = max(-scipy.optimize.minimize(minus_gain, at, bounds=bounds).fun for at in starts)
    assert 0.9 * best < found.gap < best + 0.5  # narrower ones than SciPy's are admissible here
    one = mixture.fit(x, 1, family="logistic", rng=0)
    more = mixture.fit(x, (1, 2), family="logistic", rng=0)
    assert one.gap > 10.0 and more.loglik >= one.loglik + one.gap - 1e-9  # two components begin there
    assert math.isnan(mixture.fit(x, 2, family="normal", fixed_weights=[3, 2], rng=0).gap)


def test_likelihood_ratio(overlapping):
    """One draw and fit after the other; those of two components may be better where they begin from that of one, too."""
    options = dict(family="normal", equal="scale", rng=6)
    test = mixture.likelihood_ratio(overlapping[:280:4], 1, n_boot=5, **options)
    draws = test.null.rvs((5, 70), rng=np.random.SeedSequence([int(normalise_rng(6)), 1]))
    one = scipy.stats.norm.logpdf(draws, draws.mean(axis=1)[:, None], draws.std(axis=1)[:, None]).sum(axis=1)
    two = [mixture.fit_many([row], 2, dataset_index=i, **options)[0] for i, row in enumerate(draws)]
    plain = [2.0 * max(fit.loglik - ll, 0.0) for fit, ll in zip(two, one, strict=True) if fit.status in (0, 11)]
    assert test.n_failed == 0 and len(plain) == 5 and (test.simulated > np.array(plain) - 1e-9).all()
    assert np.mean(test.simulated < np.array(plain) + 1e-6) > 0.8
    assert test.null.n_free == 2 and test.alternative.n_free == 4 and test.statistic >= 0.0
    assert "2 of family 'normal'" in repr(test)
    apart = np.concatenate([overlapping[:60], overlapping[300:340] + 3.0])
    assert mixture.likelihood_ratio(apart, 1, n_boot=3, **options).pvalue == 0.25
