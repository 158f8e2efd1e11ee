"""Mistakes of users, and what they are told: a table of calls and of the words in the error or warning."""

from __future__ import annotations

import inspect
import re
import types
import warnings

import numpy as np
import pytest
import scipy.stats as st

import numbastats as ns

D, M, B = ns.distributions, ns.mixture, ns.bayes
X = np.random.default_rng(0).gamma(2.0, 3.0, 200)
NORMAL = np.random.default_rng(1).normal(size=200)
COUNTS = np.random.default_rng(2).poisson(3.0, 200).astype(float)
LOSS = np.random.default_rng(3).standard_t(4, 4000) * 0.01
ROWS = np.random.default_rng(4).normal(size=(30, 2))


def put(values, where, what):
    """A copy with another value in some places."""
    made = np.array(values, float)
    made[where] = what
    return made


def model(**options):
    return B.HorseshoeRegression(chains=1, warmup=20, draws=20, rng=1, **options)


def fitted():
    return D.fit(X, "gamma")


NOT_ADMITTED = [  # data that a family does not take
    (
        lambda: D.fit(put(X, slice(1, 100), -1.2), "gamma"),
        "99 of 200 values are not above 0, the support of gamma; the first is -1.2 at",
    ),
    (lambda: D.fit(put(X, slice(1, 100), -1.2), "gamma"), "the first is -1.2 at index 1$"),
    (
        lambda: D.fit(put(X, [7, 9], 0.0), "lognormal"),
        'not above 0, .*lognormal; the first is 0 at index 7; zeros="share" sets zeros apart',
    ),
    (lambda: D.fit(put(X, 200 - 1, np.inf), "gamma"), "1 value is infinite, at index 199$"),
    (lambda: D.fit(put(X, [3, 5], -np.inf), "normal"), "2 values are infinite, the first at index 3$"),
    (
        lambda: D.fit(put(COUNTS, 3, 5.5), "poisson"),
        "1 of 200 values is not a whole number, as counts of poisson are: 5.5 at index 3",
    ),
    (
        lambda: D.fit(put(COUNTS, [3, 8], 5.5), "geometric"),
        "2 of 200 values are not whole numbers, as the counts of geometric are; the first",
    ),
    (lambda: D.fit(put(COUNTS, 3, -2), "poisson"), "1 of 200 values is below 0, the support of poisson: -2 at index 3"),
    (lambda: D.fit(COUNTS, "binomial", fixed={"n": 2}), "values are above 2, the support of binomial, from 0 to 2; the first is"),
    (
        lambda: D.fit([1, 2, 9], "binomial", fixed={"n": [5, 6, 7]}),
        "1 of 3 values is above n, its trials: 9, of n=7, at index 2$",
    ),
    (
        lambda: D.fit([1, 8, 9], "binomial", fixed={"n": [5, 6, 7]}),
        "2 of 3 values are above n, their trials; the first is 8, of n=6, at index 1$",
    ),
    (
        lambda: D.fit([np.nan, 2, -1, 9], "binomial", fixed={"n": [5, 6, 7, 7]}, weights=[1, 1, 1, 0]),
        "1 of 2 values is below 0, the support of binomial: -1 at index 2$",
    ),
    (lambda: D.fit([1, 0.5, 3], "binomial", fixed={"n": [5, 6, 7]}), "1 of 3 values is not a whole number, .*: 0.5 at index 1$"),
    (
        lambda: D.fit([-1, 2.0, 3, 4], "gamma", entry=[-5, 1, 1, 1]),
        "1 of 4 values is not above 0, the support of gamma: -1 at index 0$",
    ),
    (
        lambda: D.fit([0.1, 0.2, 30.0, 0.4], "beta"),
        "1 of 4 values is not below 1, the support of beta, from 0 to 1: 30 at index 2",
    ),
    (lambda: D.fit([0.1, 0.2, 30.0, 0.4], "kumaraswamy"), "not below 1, the support of kumaraswamy, from 0 to 1: 30 at index 2"),
    (
        lambda: D.fit([1.0, 2.0, 9.0, 3.0], "normal", truncated=(0, 5)),
        "1 of 4 values is above 5, the upper end of truncated=: 9 at index 2",
    ),
    (
        lambda: D.fit([1.0, 2.0, 9.0, -3.0], "normal", truncated=(0, 10)),
        "1 of 4 values is below 0, the lower end of truncated=: -3 at",
    ),
    (
        lambda: D.fit([1.0, 2.0, 9.0], "truncated_normal", fixed={"lower": 0, "upper": 5}),
        "above 5, the upper end of truncated_normal: 9",
    ),
    (
        lambda: D.fit(LOSS, "gpd", fixed={"loc": 0.02}),
        r"3772 of 4000 values are below loc=0.02, where gpd begins; the first is -0.0071",
    ),
    (lambda: D.fit(X, "gamma", fixed={"loc": 3.0}), "values are not above loc=3, where gamma begins; the first is"),
    (lambda: D.fit(X, "pareto", fixed={"scale": 2.0}), "values are below 2, the support of pareto; the first is"),
    (lambda: D.fit(-X, "exponential"), "200 of 200 values are below 0, the support of exponential"),
    (
        lambda: D.fit(put(X, 0, -1), "gamma", weights=put(np.ones(200), 5, 0)),
        "1 of 199 values is not above 0, the support of gamma: -1",
    ),
    (lambda: D.fit(None, "gamma", censored=([1, -3, 2, 3], [1, -2, 3, 4])), r"support of gamma: \(-3, -2\) at index 1"),
    (lambda: D.fit([], "gamma"), "no values$"),
    (lambda: D.fit([np.nan], "gamma"), "all values are missing"),
    (
        lambda: D.fit_many([[1.0, 2.0, 4.0], [1.0, -2.0, 4.0]], "gamma"),
        "1 of 2 fits .* the first: 1 of 3 values is not above 0, .*: -2 at index 1",
    ),
    (lambda: D.fit([1.0, 2.0, 5.0, -1.0], "lognormal", method="moments"), "the support of this fit by moments leaves out data"),
    (
        lambda: M.fit(put(X, slice(1, 100), -1.2), 2, family="gamma"),
        "99 of 200 values are not above 0, the support of gamma; .* at index 1$",
    ),
    (lambda: M.fit(put(X, 5, np.inf), 2), "1 value is infinite, at index 5$"),
    (
        lambda: M.fit(put(COUNTS, 3, 2.5), 2, family="poisson"),
        "1 of 200 values is not a whole number, as counts of poisson are: 2.5 at index 3",
    ),
    (lambda: M.fit(put(COUNTS, 3, -2), 2, family="geometric"), "below 0, the support of geometric: -2 at index 3"),
    (lambda: M.fit(put(X, 4, -1), 2, family="weibull"), "1 of 200 values is not above 0, the support of weibull: -1 at index 4"),
    (
        lambda: M.fit(put(X, 4, 0.5), 2, family=("pareto", 1.0)),
        "values are below 1, the support of pareto; the first is 0.5 at index 4",
    ),
    (lambda: M.fit([], 2), "no values$"),
    (lambda: M.fit([], 2, family="logistic"), "no values$"),
]

ARGUMENTS = [  # that other libraries have
    (lambda: D.fit(X, "gamma", bounds={"shape": (0, 5)}), "use fixed=.'shape': .... for a parameter that is known"),
    (lambda: D.lmoments(X, event=X > 2), "lmoments.. has no argument 'event': it takes x"),
    (lambda: D.fit(X, "gpd", u=1.0), r"fit\(\) has no argument 'u': use threshold="),
    (lambda: D.fit(X, "gamma", floc=0), r"has no argument 'floc': use fixed=\{'loc': ...\}"),
    (lambda: D.fit(X, "gamma", fscale=0), r"has no argument 'fscale': use fixed=\{'scale': ...\}"),
    (lambda: D.fit(X, "gamma", loc=0), r"has no argument 'loc': use fixed=\{'loc': ...\}"),
    (lambda: D.fit(X, "gamma", column="x"), "has no argument 'column': use x=frame.'x'., the column itself"),
    (lambda: D.fit(X, "gamma", sample_weight=X), "has no argument 'sample_weight': use weights="),
    (lambda: D.fit(X, "gamma", w=X), "has no argument 'w': use weights="),
    (lambda: D.fit(X, "gamma", truncate=(0, 5)), "has no argument 'truncate': use truncated="),
    (lambda: D.fit(X, "gamma", zero_inflated=True), "has no argument 'zero_inflated': use zeros='inflated'"),
    (lambda: D.fit(X, dist="gamma"), "has no argument 'dist': use family="),
    (lambda: D.fit(X, distribution="gamma"), "has no argument 'distribution': use family="),
    (lambda: D.fit_many(X, "gamma", by="g", value="x"), r"has no argument 'value': use by='key', and the frame with two columns"),
    (lambda: D.fit_many(X, "gamma", group="g"), "has no argument 'group': use by="),
    (lambda: D.fit_many(X, "gamma", n_jobs=2), "has no argument 'n_jobs': use workers="),
    (lambda: D.fit_many(X, "gamma", verbose=True), "has no argument 'verbose': use progress="),
    (lambda: D.compare(X, family="gamma"), "has no argument 'family': use families="),
    (lambda: D.compare(X, distributions=["gamma"]), "has no argument 'distributions': use families="),
    (lambda: D.goodness(X, "gamma", n_resamples=99), "has no argument 'n_resamples': use count="),
    (lambda: D.goodness(X, "gamma", seed=1), "has no argument 'seed': use rng="),
    (lambda: fitted().estimate(lambda d: d.mean(), confidence=0.9), "estimate.. has no argument 'confidence': use level="),
    (lambda: fitted().estimate(lambda d: d.mean(), confidence_level=0.9), "has no argument 'confidence_level': use level="),
    (lambda: fitted().estimate(lambda d: d.mean(), alpha=0.1), "has no argument 'alpha': use level=1 - alpha"),
    (lambda: fitted().estimate(lambda d: d.mean(), "bootstrap", n_boot=99), "has no argument 'n_boot': use count="),
    (lambda: D.Normal(mu=1.0), r"Normal\(\) has no argument 'mu': use loc="),
    (lambda: D.Normal(0.0, sigma=1.0), r"Normal\(\) has no argument 'sigma': use scale="),
    (lambda: D.Normal(mean=0.0), r"Normal\(\) has no argument 'mean': use loc="),
    (lambda: D.Normal(std=1.0), r"Normal\(\) has no argument 'std': use scale="),
    (lambda: D.Gamma(a=2.0), r"Gamma\(\) has no argument 'a': use shape="),
    (lambda: D.Gamma(2.0, rate=3.0), r"Gamma\(\) has no argument 'rate': use scale=1/rate"),
    (lambda: D.Gamma(2.0, theta=3.0), r"Gamma\(\) has no argument 'theta': use scale="),
    (lambda: D.Exponential(lam=3.0), r"Exponential\(\) has no argument 'lam': use scale=1/lam"),
    (lambda: D.Poisson(mu=3.0), r"Poisson\(\) has no argument 'mu': use mean="),
    (lambda: D.Poisson(lam=3.0), r"Poisson\(\) has no argument 'lam': use mean="),
    (lambda: D.StudentT(nu=3.0), r"StudentT\(\) has no argument 'nu': use df="),
    (lambda: D.GEV(xi=0.1), r"GEV\(\) has no argument 'xi': use shape="),
    (lambda: D.Lognormal(s=1.0), r"Lognormal\(\) has no argument 's': use sigma="),
    (lambda: D.Normal().ppf(q=0.5), r"ppf\(\) has no argument 'q': use u="),
    (lambda: D.Normal().rvs(5, random_state=1), "has no argument 'random_state': use rng="),
    (lambda: D.Normal().rvs(n=5), "has no argument 'n': use size="),
    (lambda: D.Normal().pdf(1.0, foo=2), r"pdf\(\) has no argument 'foo': it takes x, out, dtype"),
    (lambda: D.student_t.pdf(1.0, df=3.0), r"student_t\(\) has no argument 'df': use nu="),
    (lambda: ns.random.normal(mu=0.0), "has no argument 'mu': use loc="),
    (lambda: ns.random.gamma(2.0, rate=1.0), "has no argument 'rate': use scale=1/rate"),
    (lambda: ns.quantile.ndtri(0.5, mu=1.0), r"ndtri\(\) has no argument 'mu': use loc="),
    (lambda: ns.stable.pdf(1.0, 1.5, 0.0, mu=0.0), "has no argument 'mu': use loc="),
    (lambda: ns.stable.ppf(q=0.5, alpha=1.5, beta=0.0), "has no argument 'q': use p="),
    (lambda: ns.kde.KDE(bw=2.0), r"KDE\(\) has no argument 'bw': use bandwidth="),
    (lambda: ns.kde.KDE(bw_method="scott"), r"KDE\(\) has no argument 'bw_method': use bandwidth="),
    (lambda: ns.kde.hdr_levels(X, level=0.5), r"hdr_levels\(\) has no argument 'level': use probs="),
    (lambda: M.fit(X, k=2), r"fit\(\) has no argument 'k': use n_components="),
    (lambda: M.fit(X, K=2), r"fit\(\) has no argument 'K': use n_components="),
    (lambda: M.fit(X, 2, n_starts=3), "has no argument 'n_starts': use n_init="),
    (lambda: M.fit(X, 2, random_state=3), "has no argument 'random_state': use rng="),
    (lambda: M.Mixture(2, seed=3), r"Mixture\(\) has no argument 'seed': use rng="),
    (lambda: model(n_samples=3), "HorseshoeRegression.. has no argument 'n_samples': use draws="),
    (lambda: model(tune=3), "HorseshoeRegression.. has no argument 'tune': use warmup="),
    (lambda: model(link="log"), "HorseshoeRegression.. has no argument 'link': use response="),
    (lambda: model(family="poisson"), "HorseshoeRegression.. has no argument 'family': use response="),
    (lambda: model().fit(ROWS, ROWS[:, 0], weights=ROWS[:, 0]), "has no argument 'weights': use sample_weight="),
    (
        lambda: ns.bayes.HorseshoeClassifier().fit(ROWS, ROWS[:, 0] > 0.5, exposure=ROWS[:, 0]),
        "has no argument 'exposure': use offset=numpy.log.exposure.",
    ),
]

FAMILIES = [  # words and objects in the place of a family
    (lambda: D.fit(X, st.gamma), "pass the name 'gamma'$"),
    (lambda: D.fit(X, st.gamma(2.0)), "pass the name 'gamma'; a fit estimates the parameters, but for those in fixed="),
    (lambda: D.fit(X, st.genextreme), "pass the name 'genextreme'"),
    (lambda: D.fit(X, st.levy), "SciPy's levy, of which there is no fit here; the names are asymmetric_laplace, beta, "),
    (lambda: D.fit(X, D.Gamma(2.0)), "family is an instance of Gamma: pass its class or name, 'gamma'"),
    (lambda: D.fit(X, ["gamma", "normal"]), "family is a list; pass one name. `compare` fits several"),
    (lambda: D.fit(X, None), "family=None is neither .* the names are asymmetric_laplace, beta, "),
    (lambda: D.fit(X, "gamam"), "did you mean 'gamma' or .* the names are asymmetric_laplace, beta, "),
    (lambda: D.fit(X, "student"), "did you mean 'student_t'"),
    (lambda: D.fit(X, "zzz"), "family='zzz' is not known; the names are asymmetric_laplace, beta, "),
    (lambda: D.goodness(X, st.gamma), "pass the name 'gamma'$"),
    (lambda: D.standardise(X, D.Gamma(2.0)), "pass its class or name, 'gamma'"),
    (lambda: M.fit(X, 2, family=st.gamma), "pass the name 'gamma'$"),
    (lambda: M.fit(X, 2, family=D.Gamma(2.0)), "pass its class or name, 'gamma'"),
    (lambda: M.fit(X, 2, family="nromal"), "did you mean 'normal'"),
    (lambda: M.fit(X, 0, family="nromal"), "n_components=0 must be at least 1"),
    (lambda: M.fit(X, True), "n_components=True is not understood"),
    (
        lambda: model(response="gausian").fit(ROWS, ROWS[:, 0]),
        "response='gausian' is not known; use one of 'beta', 'cox', 'exponential', 'gamma', 'gaussian', ",
    ),
]

NUMBERS = [  # of NumPy, and those that are no probabilities
    (lambda: D.Gamma(np.float64(-1.0)), "shape=-1.0 must be > 0"),
    (lambda: D.fit(X, "gamma", fixed={"shape": np.float64(-1)}), "fixed shape=-1.0 must be"),
    (lambda: D.fit(X, "normal", truncated=(np.float64(3), np.float64(1))), r"truncated=\(3.0, 1.0\)"),
    (lambda: fitted().estimate(lambda d: d.mean(), level=np.float64(95)), "level=95.0 is not between 0 and 1; use 0.95 for 95 %"),
    (lambda: M.fit(X, 2, tol=np.float64(-1)), "tol=-1.0 must be positive"),
    (lambda: M.fit(X, [np.int64(0), np.int64(2)]), r"n_components=\[0, 2\] must be at least 1"),
    (lambda: ns.kde.KDE(h=np.float64(-1)).fit(X), "h=-1.0; the bandwidth must be"),
    (lambda: model(keep=np.str_("none")).fit(ROWS, ROWS[:, 0]), "keep='none' is not known"),
    (
        lambda: B.HorseshoeRegression(response="poisson").fit(ROWS, -np.abs(ROWS[:, 0]) - 1.5),
        r"y\[0\] is -2.1517911526116897, but response='poisson' takes counts",
    ),
    (lambda: ns.random.binomial(10.5, 1.0), "n has the value 10.5, which is no number of trials; use whole numbers"),
    (lambda: ns.random.binomial(np.array([3, 2.5]), 0.5), "n has the value 2.5, which is no number of trials"),
    (lambda: D.Normal().ppf(95), "95 is no probability: use 0.95 for 95 %"),
    (lambda: D.Normal().isf(5.0), "5 is no probability: use 0.05 for 5 %"),
    (lambda: D.Normal().interval(95), "95 is no probability: use 0.95 for 95 %"),
    (lambda: D.Normal().expected_shortfall(97.5), "97.5 is no probability: use 0.975 for 97.5 %"),
    (lambda: D.Poisson(3.0).ppf(95), "95 is no probability"),
    (lambda: D.student_t.ppf(99.0, 3.0), "99 is no probability: use 0.99 for 99 %"),
    (lambda: ns.quantile.ndtri(1.5), "1.5 is no probability: use 0.015 for 1.5 %"),
    (lambda: ns.stable.ppf(95, 1.5, 0.0), "95 is no probability: use 0.95 for 95 %"),
    (lambda: M.ppf(95, [1.0], [0.0], [1.0], family="normal"), "95 is no probability"),
    (lambda: ns.kde.KDE().fit(NORMAL).ppf(95), "95 is no probability"),
]


@pytest.mark.parametrize(("call", "words"), NOT_ADMITTED + ARGUMENTS + FAMILIES + NUMBERS)
def test_mistakes(call, words):
    """Each is an error or one warning; no sentence has a scalar of NumPy in its own notation."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((TypeError, ValueError, UserWarning), match=words) as said:
            call()
    assert not re.search(r"\bnp\.(float|int|str_|bool|True_|False_)", str(said.value))


@pytest.mark.parametrize(
    ("word", "family"),
    [
        ("Gamma", "gamma"),
        ("GAMMA", "gamma"),
        ("GenNorm", "generalized_normal"),
        ("Student-t", "student_t"),
        ("StudentT", "student_t"),
    ]
    + [("Generalized Normal", "generalized_normal"), ("chi2", "chi_squared"), ("log-normal", "lognormal"), ("GEV", "gev")],
)
def test_words_of_families_however_they_are_written(word, family):
    assert D.fit(X, word).family == family


def test_words_of_mixtures_and_responses():
    assert M.fit(X, 2, family="Gamma", rng=0).loglik == M.fit(X, 2, family="gamma", rng=0).loglik
    assert M.fit(X, 2, family="Normal", rng=0).family == "normal"
    assert M.fit(X, 1, family=("Weibull", 2.0)).family == ("weibull", 2.0)
    y = ROWS[:, 0] + 0.1 * ROWS[:, 1]
    with pytest.warns(ns.ConvergenceWarning):
        fits = [model(response=response).fit(ROWS, y) for response in ("gaussian", "normal", "Gaussian")]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.coef_, fits[0].coef_)
        np.testing.assert_array_equal(other.predict(ROWS), fits[0].predict(ROWS))


def test_each_item_of_a_batch_has_its_own_words():
    x = np.tile(X, (5, 1))
    x[1, 3], x[2, [4, 9]], x[3] = np.inf, -2.0, np.nan
    with pytest.warns(ns.ConvergenceWarning, match="the first: 1 value is infinite, at index 3"):
        many = D.fit_many(dict(zip("abcde", x, strict=True)), "gamma")
    assert many.message("c") == "2 of 200 values are not above 0, the support of gamma; the first is -2 at index 4"
    assert many.messages.tolist() == [many.message(i) for i in range(5)] == [many.one(i).message for i in range(5)]
    assert many.status.tolist() == [0, 8, 6, 7, 0] and "all values are missing" in many.message("d")
    x[3] = X
    square = np.stack([x[:4], x[:4]])
    with pytest.warns(ns.ConvergenceWarning):
        found = D.fit_many(square, "gamma", workers=2)
    assert found.message((1, 2)) == many.message("c") and found.message((1, 0)) == "converged"
    mixed = M.fit_many(x, 1, family="gamma", rng=0)
    assert mixed.message(2) == many.message("c") and mixed.message(1) == many.message("b")


def _refuses(function):
    """Whether a function says what another's argument is called here."""
    while function is not None:
        if function.__code__.co_name == "checked":
            return True
        function = getattr(function, "__wrapped__", None)
    return False


@pytest.mark.parametrize("room", ["stable", "kde", "mixture", "quantile", "bayes", "distributions", "random", "plot"])
def test_all_functions_know_the_words_of_others(room):
    """Public functions, constructors and methods with options; not the results' own constructors, and one made for a kernel."""
    module, missing = getattr(ns, room), []
    for name in module.__all__ if hasattr(module, "__all__") else dir(module):
        found = getattr(module, name)
        functions = [found] if isinstance(found, types.FunctionType) and not name.startswith("_") else []
        if inspect.isclass(found):
            made = () if hasattr(found, "__dataclass_fields__") else ("__init__",)
            functions = [
                vars(base).get(key) for base in found.__mro__ for key in vars(base) if key in made or not key.startswith("_")
            ]
        for f in functions:
            if not isinstance(f, types.FunctionType) or not f.__module__.startswith("numbastats"):
                continue
            options = [p for p in inspect.signature(f).parameters.values() if p.name != "self"]
            varied = any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in options)
            if len(options) > 1 and not varied and not _refuses(f):
                missing.append(f.__qualname__)
    assert set(missing) <= {"define", "Landau"}


def test_a_frame_of_one_outcome():
    """Its label is not that of a column of X; scikit-learn takes it with a warning."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["a", "b"], index=range(5, 35))
    y = frame["a"] + 0.1 * frame["b"]
    with pytest.warns(ns.ConvergenceWarning):
        want = model().fit(frame, y).coef_
    with pytest.warns(ns.ConvergenceWarning), pytest.warns(UserWarning, match="A column-vector y was passed"):
        np.testing.assert_array_equal(model().fit(frame, y.to_frame("t")).coef_, want)
    with pytest.raises(ValueError, match="have different index"):
        model().fit(frame, y.reset_index(drop=True).to_frame("t"))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_groups_with_several_columns_of_values(library):
    """The advice works for both."""
    module = pytest.importorskip(library)
    frame = module.DataFrame({"key": np.repeat(["a", "b"], 100), "x": X, "y": X})
    for call in (lambda f: D.fit_many(f, "gamma", by="key"), lambda f: M.fit_many(f, 1, family="gamma", by="key", rng=0)):
        with pytest.raises(ValueError, match=r"of which one has the values: pass frame\[\['key', 'x'\]\] with by='key'"):
            call(frame)
        assert (call(frame[["key", "x"]]).status == 0).all()
