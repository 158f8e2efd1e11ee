"""Results of fits and the class Mixture."""

from __future__ import annotations

import math
import sys

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.sparse
import scipy.special
import scipy.stats

from numbastats import mixture
from numbastats._core.errors import ConvergenceWarning, NotFittedError
from numbastats.mixture.families import family_of
from tests.mixture.naive import WALD, log_density, scipy_law, small_data

METHODS = ["gaussian", "gamma", "lognormal", "poisson", ("weibull", 1.5)]


NAMES = {
    "gaussian": ("mean", "variance"),
    "inverse_gaussian": ("mean", "lambda"),
    "gamma": ("mean", "shape"),
    "lognormal": ("mean_log", "variance_log"),
    "inverse_gamma": ("mean_reciprocal", "shape"),
    "reciprocal_inverse_gaussian": ("mean_reciprocal", "lambda"),
    "exponential": ("mean",),
    "poisson": ("mean",),
    "geometric": ("mean",),
    "rayleigh": ("mean_half_square",),
    "maxwell": ("mean_square",),
    "half_normal": ("mean_square",),
    ("weibull", 1.5): ("mean_power",),
    ("pareto", 0.5): ("mean_log_ratio",),
    ("gamma", 2.0): ("mean",),
}


def test_estimator():
    sklearn = pytest.importorskip("sklearn.base")
    x = small_data(n=150)
    model = sklearn.clone(mixture.Mixture(2, family="gamma", rng=3, device="cpu"))
    assert model.get_params()["family"] == "gamma" and "family='gamma'" in repr(model)
    model.fit(x[:, None])
    r = mixture.fit(x, 2, family="gamma", rng=3, device="cpu")
    assert (model.means_ == r.means).all() and model.converged_ and abs(model.lower_bound_ * 150 - model.loglik_) < 1e-9
    assert abs(model.score(x) * 150 - model.loglik_) < 1e-9
    assert abs(model.bic(x) - r.bic) < 1e-9 and abs(model.aic(x) - r.aic) < 1e-9
    p = model.predict_proba(x)
    assert p.shape == (150, 2) and (model.predict(x) == p.argmax(axis=1)).all()
    assert model.predict([np.nan]).tolist() == [-1]
    assert model.sample(7, rng=1).shape == (7, 1)
    weighted = mixture.Mixture(2, rng=3, device="cpu", family="inverse_gaussian").fit(x, sample_weight=np.full(150, 2.0))
    assert (
        abs(weighted.lower_bound_ - mixture.Mixture(2, rng=3, device="cpu", family="inverse_gaussian").fit(x).lower_bound_) < 1e-9
    )
    with pytest.raises(NotFittedError, match="not fitted"):
        mixture.Mixture(family="inverse_gaussian").predict(x)
    with pytest.raises(ValueError, match="colour"):
        model.set_params(colour=1)
    with pytest.raises(ValueError, match="shape"):
        model.fit(np.ones((3, 2)))
    assert mixture.Mixture(range(1, 4), family="gaussian", rng=1).fit(x).n_components_ in (1, 2, 3)


def test_estimator_with_missing_values():
    x = small_data(n=150)
    model = mixture.Mixture(2, family="gamma", rng=3, device="cpu").fit(x)
    missing = np.append(x, np.nan)
    assert (model.bic(missing), model.aic(missing), model.score(missing)) == (model.bic(x), model.aic(x), model.score(x))
    assert model.n_features_in_ == 1 and (model.fit_predict(x) == model.predict(x)).all()
    masked = np.ma.masked_array(np.ones(150), np.arange(150) < 10)
    model.fit(x, sample_weight=masked)
    rest = mixture.Mixture(2, family="gamma", rng=3, device="cpu").fit(x[10:])
    assert model.result_.n_dropped == 10 and model.lower_bound_ == pytest.approx(rest.lower_bound_, rel=1e-12)


def test_nullable_columns():
    pandas = pytest.importorskip("pandas")
    x = np.append(small_data(n=150), np.nan)
    model = mixture.Mixture(2, family="gamma", rng=3, device="cpu").fit(x)
    frame = pandas.DataFrame({"x": x}).astype("Float64")
    for values in (frame, frame["x"]):
        assert (model.score(values), model.fit(values).loglik_) == (model.score(x), model.fit(x).loglik_)
    assert model.fit(frame.astype(object)).loglik_ == model.fit(x).loglik_  # refused before


def test_estimator_warns_of_fits_that_are_none():
    with pytest.warns(ConvergenceWarning, match="status 1"):
        mixture.Mixture(2, max_iter=1, rng=1, device="cpu", family="inverse_gaussian").fit(small_data(n=150))
    with pytest.warns(ConvergenceWarning, match="status 12"):
        mixture.Mixture(1, family="poisson", device="cpu").fit([0.0, 0.0])
    x = [-1.6, -1.6, -0.7, -0.6, -0.2, 0.0, 0.1, 0.7, 1.7]
    with pytest.warns(ConvergenceWarning, match="status 13"):
        mixture.Mixture(3, rng=0, device="cpu", family="normal").fit(x)


def test_options_set_after_a_fit_do_not_change_the_model():
    x = small_data()
    model = mixture.Mixture(2, family="gamma", rng=1, device="cpu").fit(x)
    before = model.score(x), model.bic(x), model.predict(x), model.sample(5, rng=1)
    model.set_params(family="exponential", n_components=3)
    for got, want in zip((model.score(x), model.bic(x), model.predict(x), model.sample(5, rng=1)), before, strict=True):
        np.testing.assert_array_equal(got, want)


def test_index_of_a_batch():
    fits = mixture.fit_many([WALD[:50], [], WALD[50:120]], 1, family="inverse_gaussian")
    assert fits[-1].n_used == 70 and fits[np.int64(1)].status == 7 and fits.message(-1) == fits[2].message
    assert [f.status for f in fits] == [0, 7, 0]
    for read in (fits.__getitem__, fits.message):
        with pytest.raises(TypeError, match="pass an integer"):
            read(slice(0, 2))
        with pytest.raises(IndexError, match="no data set 3: the batch holds 3"):
            read(3)
    named = mixture.fit_many({"a": WALD[:50], "b": WALD[50:120]}, 1, family="inverse_gaussian")
    assert named["b"].loglik == named[1].loglik != named[0].loglik and named.message("b") == named.message(1)
    with pytest.raises(TypeError, match="pass an integer, or one of the keys, 'a', 'b'$"):
        named["c"]
    numbered = mixture.fit_many({7: WALD[:50], 1: WALD[50:120]}, 1, family="inverse_gaussian")
    assert numbered[1].n_used == 70 and numbered[0].n_used == 50  # a number is an index, whatever the keys are


@pytest.mark.parametrize("family", METHODS, ids=str)
def test_methods_of_a_fit_use_its_family(family):
    x = np.round(small_data()) if family == "poisson" else small_data()
    fit = mixture.fit_many([x], 2, family=family, rng=1)[0]
    at = np.array([1.0, 4.0, 9.0])
    logs = np.stack(
        [np.log(w) + log_density(family, at, m, p) for w, m, p in zip(fit.weights, fit.centres, fit.params, strict=True)]
    )
    total = scipy.special.logsumexp(logs, axis=0)
    np.testing.assert_allclose(fit.logpdf(at), total, rtol=1e-12)
    np.testing.assert_allclose(fit.pdf(at), np.exp(total), rtol=1e-12)
    np.testing.assert_allclose(fit.predict_proba(at), np.exp(logs - total).T, rtol=1e-9, atol=1e-15)
    assert (fit.predict(at) == logs.argmax(axis=0)).all() and fit.predict([[np.nan, 9.0]]).tolist() == [[-1, 1]]
    lower = fit.cdf(at)
    assert (np.diff(lower) > 0).all() and lower + fit.sf(at) == pytest.approx(np.ones(3), rel=1e-14)
    if family == "poisson":
        assert lower[0] == pytest.approx(fit.pdf([0.0, 1.0]).sum(), rel=1e-12)
    else:
        assert lower[0] == pytest.approx(
            scipy.integrate.quad(fit.pdf, 0.0 if family != "gaussian" else -np.inf, 1.0)[0], rel=1e-7
        )
        assert fit.ppf(lower) == pytest.approx(at, rel=1e-12)
    draws = fit.rvs(20_000, rng=3)
    assert abs(draws.mean() - fit.weights @ fit.component_means()) < 5 * draws.std() / math.sqrt(20_000)
    assert (mixture.pdf(at, fit.weights, fit.centres, fit.params, family=fit.family) == fit.pdf(at)).all()


def test_a_fit_without_parameters_has_no_distribution():
    fit = mixture.fit([1.0, 1.0, 1.0], 2, family="gaussian", errors="status")
    with pytest.raises(ValueError, match="status 4: too few"):
        fit.pdf(0.0)


@pytest.mark.parametrize("family", NAMES, ids=str)
def test_names_and_means_of_components(family):
    """`means` were those of log x, x^2 and other functions of x. The judge is scipy.stats."""
    rng = np.random.default_rng(2)
    x = (
        np.floor(small_data())
        if family in ("poisson", "geometric")
        else small_data() + (0.5 if family == ("pareto", 0.5) else 0.0)
    )
    fit = mixture.fit(x, 1, family=family, se=True, rng=rng)
    batch = mixture.fit_many([x, x[:60]], 1, family=family)
    assert tuple(fit.parameters) == tuple(batch.parameters) == NAMES[family] and tuple(fit.se) == ("weights", *NAMES[family])
    assert fit.parameters[NAMES[family][0]] is fit.centres
    law = scipy_law(family, fit.centres[0], fit.params[0])
    assert fit.logpdf(3.0) == pytest.approx(law.logpmf(3) if hasattr(law.dist, "pmf") else law.logpdf(3.0), rel=1e-12)
    rel = 1e-7 if family == "reciprocal_inverse_gaussian" else 1e-12  # there SciPy integrates
    assert fit.component_means() == pytest.approx(law.mean(), rel=rel)
    assert batch.component_means()[0] == pytest.approx(law.mean(), rel=rel) and batch.component_means().shape == (2, 1)
    model = mixture.Mixture(1, family=family).fit(x)
    if NAMES[family][0] == "mean":
        assert (fit.means == fit.component_means()).all() and (model.means_ == fit.means).all() and batch.means is batch.centres
    else:
        for result, name in ((fit, "means"), (batch, "means"), (model, "means_")):
            with pytest.raises(AttributeError, match=rf"{NAMES[family][0]}.*component_means\(\)"):
                getattr(result, name)


def test_infinite_means_of_components():
    x = scipy.stats.pareto(0.8).ppf((np.arange(200) + 0.5) / 200)
    fit = mixture.fit(x, 1, family=("pareto", 1.0))
    assert fit.centres[0] > 1.0 and fit.component_means().tolist() == [math.inf]
    fit = mixture.fit(scipy.stats.invgamma(0.7).ppf((np.arange(200) + 0.5) / 200), 1, family="inverse_gamma")
    assert fit.params[0] < 1.0 and fit.component_means().tolist() == [math.inf]
    batch = mixture.fit_many([x, [-1.0, 2.0]], (1, 2), family=("pareto", 1.0))
    assert np.isnan(batch.component_means()[1]).all()


def test_results_can_be_compared():
    fits = [mixture.fit_many([WALD], 2, family="gamma", rng=1) for _ in range(2)]
    assert fits[0] == fits[0] and fits[0] != fits[1] and fits[0][0] != fits[1][0] and len({fits[0], fits[1][0]}) == 2


@pytest.mark.parametrize("n", [[], [3], 2.0, -1, "2", None])
def test_sample_takes_a_number_of_draws(n):
    model = mixture.Mixture(1, family="gamma").fit(WALD)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(n)
    assert model.sample(0).shape == (0, 1)


def test_no_features():
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(20, 0\)\) while a minimum of 1 is required"):
        mixture.Mixture(1, family="gamma").fit(np.empty((20, 0)))


def test_tags():
    pytest.importorskip("sklearn", minversion="1.6")
    assert mixture.Mixture(1, family="gamma").__sklearn_tags__().input_tags.positive_only
    assert mixture.Mixture(1).__sklearn_tags__().input_tags.allow_nan


def test_sparse_data_are_refused():
    with pytest.raises(TypeError, match=r"sparse data \(csr_array\).*X.toarray\(\)"):
        mixture.Mixture(1, family="gaussian").fit(scipy.sparse.csr_array(np.eye(4)[:, :1]))


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_criteria_of_the_estimator(family):
    x = np.round(small_data())
    model = mixture.Mixture(2, family=family, rng=1, device="cpu").fit(x)
    assert model.bic(x) == pytest.approx(model.result_.bic, rel=1e-12) and model.aic(x) == pytest.approx(
        model.result_.aic, rel=1e-12
    )
    free = 5 if family == "gaussian" else 3
    assert model.bic(x) == pytest.approx(free * math.log(x.size) - 2.0 * model.loglik_, rel=1e-12)
    assert model.aic(x) == pytest.approx(2.0 * free - 2.0 * model.loglik_, rel=1e-12)


@pytest.mark.parametrize("family", NAMES, ids=str)
def test_moments_and_quantiles_of_components(family):
    """Mean, variance, median, upper quantiles and intervals of one component; the judge is scipy.stats."""
    rng = np.random.default_rng(2)
    x = (
        np.floor(small_data())
        if family in ("poisson", "geometric")
        else small_data() + (0.5 if family == ("pareto", 0.5) else 0.0)
    )
    fit = mixture.fit(x, 1, family=family, rng=rng)
    law = scipy_law(family, fit.centres[0], fit.params[0])
    rel = 1e-6 if family == "reciprocal_inverse_gaussian" else 1e-12  # there SciPy integrates
    assert fit.mean() == pytest.approx(law.mean(), rel=rel) and isinstance(fit.mean(), float)
    if np.isfinite(law.var()):
        assert fit.var() == pytest.approx(law.var(), rel=rel) and fit.std() == pytest.approx(law.std(), rel=rel)
    else:
        assert fit.var() == fit.std() == np.inf
    q = np.array([1e-9, 0.01, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(fit.isf(q), law.isf(q), rtol=max(rel, 1e-9))  # SciPy searches
    np.testing.assert_allclose(fit.median(), law.median(), rtol=max(rel, 1e-9))
    np.testing.assert_allclose(fit.interval([0.5, 0.95]), law.interval([0.5, 0.95]), rtol=max(rel, 1e-9))
    model = mixture.Mixture(1, family=family, rng=rng).fit(x)
    assert model.mean() == pytest.approx(fit.mean(), rel=1e-9) and model.interval(0.5)[0] == model.ppf(0.25)


def test_moments_of_mixtures():
    """Against those of SciPy's components, and of many draws."""
    for family, args in (
        ("normal", ([-3.0, 2.0], [1.0, 4.0])),
        ("gamma", ([1.0, 5.0], [3.0, 0.5])),
        ("poisson", ([1.0, 9.0], None)),
    ):
        x = mixture.rvs([0.3, 0.7], *args, 400, family=family, rng=3)
        model = mixture.Mixture(2, family=family, rng=0).fit(x)
        fit = model.result_
        laws = [
            scipy_law("gaussian" if family == "normal" else family, m, p) for m, p in zip(fit.centres, fit.params, strict=True)
        ]
        mean = sum(w * law.mean() for w, law in zip(fit.weights, laws, strict=True))
        second = sum(w * (law.var() + law.mean() ** 2) for w, law in zip(fit.weights, laws, strict=True))
        assert model.mean() == fit.mean() == pytest.approx(mean, rel=1e-13)
        assert model.var() == fit.var() == pytest.approx(second - mean**2, rel=1e-12)
        assert model.std() == math.sqrt(fit.var()) and model.median() == fit.ppf(0.5)
        lower, upper = model.interval(0.8)
        if family != "poisson":
            assert fit.cdf([lower, upper]) == pytest.approx([0.1, 0.9], rel=1e-12)
        at = np.array([[1.0], [4.0]])
        for name in ("pdf", "logpdf", "cdf", "sf"):
            got = getattr(model, name)(at)
            assert got.shape == (2, 1) and (got == getattr(fit, name)(at)).all()
        assert (model.rvs(5, rng=1) == fit.rvs(5, rng=1)).all() and (model.isf([0.1]) == fit.isf([0.1])).all()
        with pytest.raises(ValueError, match="confidence=95"):
            fit.interval(95)
    with pytest.raises(NotFittedError):
        mixture.Mixture(2, family="gamma").pdf(1.0)
    with pytest.raises(ValueError, match="status 4: too few"):
        mixture.fit([1.0, 1.0, 1.0], 2, family="normal", errors="status").mean()


@pytest.mark.parametrize("k", [0.3, 1.0, 3.0, 19.0, 21.0, 1e3, 1e6])
def test_variance_of_weibull_components(k):
    """Gamma(1 + 2/k)/Gamma(1 + 1/k)^2 - 1 cancels for large k."""
    with mpmath.workdps(50):
        a, b = mpmath.gamma(1 + 2 / mpmath.mpf(k)), mpmath.gamma(1 + 1 / mpmath.mpf(k))
        want = mpmath.mpf(3.0) ** (2 / mpmath.mpf(k)) * (a - b * b)
    got = family_of(("weibull", k)).moments(np.array([3.0]), np.array([np.nan]))[1]
    assert got == pytest.approx(float(want), rel=2e-13)


def test_infinite_variances():
    for family, m, p in (
        (("pareto", 1.0), 0.6, None),
        (("pareto", 1.0), 1.2, None),
        ("inverse_gamma", 1.0, 1.9),
        ("inverse_gamma", 1.0, 0.9),
    ):
        x = mixture.rvs([1.0], [m], None if p is None else [p], 2000, family=family, rng=1)
        fit = mixture.fit(x, 1, family=family)
        assert fit.var() == fit.std() == np.inf and np.isfinite(fit.mean()) == (m < 1.0 or p == 1.9)


def test_table_of_components(monkeypatch):
    pandas = pytest.importorskip("pandas")
    x = np.concatenate([WALD, 5.0 + WALD])
    fit = mixture.fit(x, 2, family="lognormal", se=True, rng=1)
    table = fit.to_frame()
    assert isinstance(table, pandas.DataFrame) and table.index.tolist() == [0, 1]
    names = ["weight", "mean_log", "variance_log", "mean_of_x", "sd_of_x", "se_weight", "se_mean_log", "se_variance_log"]
    names += [f"{end}_{name}" for name in names[:3] for end in ("lower", "upper")] + ["level"]
    assert list(table) == names
    assert (table["mean_log"] == fit.centres).all() and (table["se_weight"] == fit.se["weights"]).all()
    assert (table["mean_of_x"] == fit.component_means()).all()
    assert table["sd_of_x"][1] == pytest.approx(scipy_law("lognormal", fit.centres[1], fit.params[1]).std(), rel=1e-13)
    table.loc[0, "weight"] = 7.0
    assert fit.weights[0] < 1.0
    monkeypatch.setitem(sys.modules, "pandas", None)
    columns = fit.to_frame()
    assert list(columns) == names and columns["weight"] is not fit.weights and (columns["weight"] == fit.weights).all()
    assert list(mixture.fit(x, 1, family="exponential").to_frame()) == ["weight", "mean", "mean_of_x", "sd_of_x"]


def test_fits_print_as_tables():
    rng = np.random.default_rng(3)
    data = {"a": rng.normal(0.0, 1.0, 200), "b": rng.normal(5.0, 1.0, 200), "none": np.full(3, np.nan)}
    fits = mixture.fit_many(data, 1, family="normal", rng=1)
    head, titles, row = repr(fits[0]).splitlines()
    assert head.startswith("MixtureFit: family 'normal', 1 components, 200 values") and head.endswith(fits[0].message)
    assert titles.split() == ["weight", "mean", "variance", "mean_of_x", "sd_of_x"] and row.split()[0] == "1"
    assert repr(fits).startswith("MixtureBatch: family 'normal', 3 data sets, 2 with a certified local maximum")
    table = fits.summary()
    assert table["data_set"].tolist() == ["a", "b", "none"] and table["status"].tolist() == fits.status.tolist()
    np.testing.assert_allclose(table["mean"][:2], [data["a"].mean(), data["b"].mean()], rtol=1e-14)
    wide = mixture.fit_many([np.r_[data["a"], data["b"]], data["a"]], (1, 2), family="normal", rng=1).summary()
    assert wide["data_set"].tolist() == [0, 0, 1] and wide["component"].tolist() == [0, 1, 0]
    assert np.isfinite(wide["variance"]).all()
