"""Every public function takes data of every kind: of a series, a frame or a read-only view the result is that of an array."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import numbastats as ns
from tests.distributions.objects import COUNTS, OBJECTS

U = np.linspace(0.02, 0.98, 24)
SKEW = np.exp(np.sin(np.arange(40.0)))
D, PARAMS = ns.distributions, ([0.4, 0.6], [0.3, 0.7], [2.0, 5.0])
TABLE, AXES = D.student_t(4.0), [(-1.0, 4.0, 8)]


@functools.cache
def plan():
    return ns.kde.plan(SKEW, AXES)


@functools.cache
def fitted_density():
    return ns.kde.KDE().fit(SKEW)


@functools.cache
def fitted_mixture():
    return ns.mixture.Mixture(1, family="gamma", rng=1).fit(SKEW)


def functions_of(make, *names):
    """The functions of an object that is made when one is called."""
    return [lambda x, f=f: getattr(make(), f)(x) for f in names]


CALLS = {  # by the name of the function or class: data, and calls that take them
    "quantile.ndtri": (U, [ns.quantile.ndtri, lambda x: ns.quantile.ndtri(0.3, x)]),
    "quantile.antithetic": (U, [lambda x: ns.quantile.antithetic(x)[1]]),
    "quantile.norm_from_exponential": (U, [ns.quantile.norm_from_exponential]),
    "quantile.recycle": (U, [lambda x: ns.quantile.recycle(x, "normal", TABLE)]),
    "quantile.recycle_ode": (
        U,
        [ns.quantile.recycle_ode("normal", lambda q: 5 * q / (4 + q * q), 0.0, 1.0638460810704873, (-6, 6))],
    ),
    "quantile.StudentSeries": (U, [ns.quantile.StudentSeries(4.0).centre, ns.quantile.StudentSeries(4.0).tail]),
    "quantile.QuantileTable": (U, [getattr(TABLE, f) for f in ("ppf", "isf", "cdf", "sf", "pdf", "logpdf")]),
    "distributions.fit": (SKEW, [lambda x: D.fit(x, "gamma").loglik, lambda x: D.fit(SKEW, "gamma", weights=x).loglik]),
    "distributions.fit_many": (SKEW, [lambda x: D.fit_many(x, "gamma").loglik]),
    "distributions.standardise": (SKEW, [D.standardise, lambda x: D.standardise(x, zeros="centre")]),
    "distributions.lmoments": (SKEW, [lambda x: D.lmoments(x).moments]),
    "distributions.compare": (SKEW, [lambda x: D.compare(x, ["gamma", "normal"]).best.loglik]),
    "distributions.compare_many": (SKEW, [lambda x: D.compare_many(x, ["gamma", "normal"]).fits["gamma"].bic]),
    "distributions.goodness": (SKEW, [lambda x: D.goodness(x, "gamma", count=19, rng=1).statistic]),
    "distributions.goodness_many": (SKEW, [lambda x: D.goodness_many(x, "gamma", count=19, rng=1).statistic]),
    "distributions.survival": (SKEW, [lambda x: D.survival(x, event=SKEW > 1.0).survival.sum()]),
    "distributions.survival_many": (SKEW, [lambda x: D.survival_many([x])[0].survival.sum()]),
    "stable.fit": (SKEW, [lambda x: ns.stable.fit(x, "quantile").params]),
    "stable.fit_many": (SKEW, [lambda x: ns.stable.fit_many([x], "quantile").params]),
    "stable.fit_quantile": (SKEW, [lambda x: np.array(ns.stable.fit_quantile(x).params)]),
    "stable.fit_ecf": (SKEW, [lambda x: np.array(ns.stable.fit_ecf(x).params)]),
    "stable.convert": (U, [lambda x: np.array(ns.stable.convert(1.5, 0.2, x, 1.0, to="S1")[2])]),
    "stable.pdf_cdf": (U, [lambda x: ns.stable.pdf_cdf(x, 1.5, 0.2)[1]]),
    "stable.loglik": (U, [lambda x: ns.stable.loglik(x, 1.5, 0.2)]),
    "stable.score": (U, [lambda x: ns.stable.score(x, 1.5, 0.2)]),
    "stable.rvs": (U, [lambda x: ns.stable.rvs(1.5, 0.2, x, rng=1)]),
    "kde.grid": (SKEW, [lambda x: ns.kde.grid(x, AXES)]),
    "kde.grid_slabs": (SKEW, [lambda x: np.concatenate([s[-1] for s in ns.kde.grid_slabs(x, AXES)])]),
    "kde.points": (
        SKEW,
        [lambda x: ns.kde.points(x, U), lambda x: ns.kde.points(SKEW, x), lambda x: ns.kde.points(SKEW, U, weights=x)],
    ),
    "kde.at_samples": (SKEW, [ns.kde.at_samples]),
    "kde.regular_axes": (SKEW, [lambda x: np.array(ns.kde.regular_axes(x, shape=8)[0][:2])]),
    "kde.partial": (SKEW, [lambda x: ns.kde.finalize(ns.kde.partial(x, plan()), plan())]),
    "kde.plan": (SKEW, [lambda x: ns.kde.finalize(ns.kde.partial(SKEW, ns.kde.plan(x, AXES)), plan())]),
    "kde.hdr_levels": (SKEW, [lambda x: ns.kde.hdr_levels(x, 0.5, weights=SKEW)]),
    "kde.perkins": (U, [lambda x: ns.kde.perkins(x, U[::-1].copy())]),
    "kde.KDE": (
        SKEW,
        [
            *functions_of(fitted_density, "pdf", "cdf"),
            lambda x: ns.kde.KDE().fit(x).pdf(U),
            lambda x: fitted_density().ppf(np.asarray(x) / 4.0),
        ],
    ),
    "mixture.fit": (SKEW, [lambda x: ns.mixture.fit(x, 1, family="gamma", rng=1).loglik]),
    "mixture.fit_many": (SKEW, [lambda x: ns.mixture.fit_many([x], 1, family="gamma", rng=1).loglik]),
    "mixture.likelihood_ratio": (
        SKEW,
        [lambda x: ns.mixture.likelihood_ratio(x, 1, family="lognormal", n_boot=3, rng=1).statistic],
    ),
    "mixture.bulkem": (SKEW, [lambda x: ns.mixture.bulkem([x], 1, rng=1)[0]["loglik"]]),
    "mixture.em_update": (
        SKEW,
        [
            lambda x: np.array(
                ns.mixture.em_update(ns.mixture.partial_stats(x, *PARAMS, family="gamma"), *PARAMS, family="gamma")[1]
            )
        ],
    ),
    "mixture.partial_stats": (SKEW, [lambda x: ns.mixture.partial_stats(x, *PARAMS, family="gamma")]),
    "mixture.responsibilities": (SKEW, [lambda x: ns.mixture.responsibilities(x, *PARAMS, family="gamma")]),
    "mixture.Mixture": (
        SKEW,
        [*functions_of(fitted_mixture, "score_samples", "predict_proba"), lambda x: fitted_mixture().fit(x).loglik_],
    ),
    "bayes.truncnorm_rvs": (U, [lambda x: ns.bayes.truncnorm_rvs(x, rng=1)]),
    "random.normal": (U, [lambda x: ns.random.normal(x, 2.0, rng=1)]),
    "random.uniform": (U, [lambda x: ns.random.uniform(x, 2.0, rng=1)]),
    "random.exponential": (U, [lambda x: ns.random.exponential(x, rng=1)]),
    "random.gamma": (U, [lambda x: ns.random.gamma(x, 2.0, rng=1)]),
    "random.beta": (U, [lambda x: ns.random.beta(x, 2.0, rng=1), lambda x: ns.random.beta(2.0, x, rng=1)]),
    "random.wald": (U, [lambda x: ns.random.wald(x, 2.0, rng=1)]),
    "random.inverse_gaussian": (U, [lambda x: ns.random.inverse_gaussian(2.0, x, rng=1)]),
    "random.polya_gamma": (U, [lambda x: ns.random.polya_gamma(2.0, x, rng=1), lambda x: ns.random.polya_gamma(x, rng=1)]),
    "random.poisson": (U, [lambda x: ns.random.poisson(x, rng=1)]),
    "random.binomial": (U, [lambda x: ns.random.binomial(40, x, rng=1)]),
    "random.negative_binomial": (U, [lambda x: ns.random.negative_binomial(3.0, x, rng=1)]),
    "random.geometric": (U, [lambda x: ns.random.geometric(x, rng=1)]),
    "random.weibull": (U, [lambda x: ns.random.weibull(x, rng=1)]),
    "random.pareto": (U, [lambda x: ns.random.pareto(x, rng=1)]),
    "random.standard_t": (U, [lambda x: ns.random.standard_t(x, rng=1)]),
    "random.student_t": (U, [lambda x: ns.random.student_t(x, rng=1)]),
    "random.chisquare": (U, [lambda x: ns.random.chisquare(x, rng=1)]),
    "random.laplace": (U, [lambda x: ns.random.laplace(x, 2.0, rng=1)]),
    "random.logistic": (U, [lambda x: ns.random.logistic(x, 2.0, rng=1)]),
    "random.gumbel": (U, [lambda x: ns.random.gumbel(x, 2.0, rng=1)]),
    "random.truncnorm": (U, [lambda x: ns.random.truncnorm(x, 2.0, -1.0, 3.0, rng=1)]),
    "interop.gaussian_kde": (SKEW, [lambda x: ns.interop.gaussian_kde(x)(U), lambda x: ns.interop.gaussian_kde(SKEW)(x)]),
    "interop.levy_stable": (
        U,
        [lambda x: ns.interop.levy_stable.pdf(x, 1.5, 0.2), lambda x: ns.interop.levy_stable(1.5, 0.2).cdf(x)],
    ),
}
for f in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"):
    CALLS[f"stable.{f}"] = (
        U,
        [lambda x, f=f: getattr(ns.stable, f)(x, 1.5, 0.2), lambda x, f=f: getattr(ns.stable, f)(0.3, 1.5, 0.2, x)],
    )
    if hasattr(ns.mixture, f):
        CALLS[f"mixture.{f}"] = (U, [lambda x, f=f: getattr(ns.mixture, f)(x, *PARAMS, family="gamma")])
for made in OBJECTS:
    CALLS[f"distributions.{type(made).__name__}"] = (U, [getattr(made, f) for f in ("pdf", "logsf", "ppf", "expected_shortfall")])
for made in COUNTS:
    CALLS[f"distributions.{type(made).__name__}"] = (U, [getattr(made, f) for f in ("pmf", "logsf", "ppf", "expected_shortfall")])
for name, made in {
    "truncate": lambda: D.truncate(D.Normal(), lb=0.0),
    "exp": lambda: D.exp(D.Normal()),
    "log": lambda: D.log(D.Gamma(2.0)),
    "abs": lambda: D.abs(D.Normal()),
    "order_statistic": lambda: D.order_statistic(D.Normal(), r=2, n=3),
    "with_zeros": lambda: D.with_zeros(D.Gamma(2.0), 0.3),
    "Mixture": lambda: D.Mixture([D.Normal(), D.Gamma(2.0)]),
    "Landau": lambda: D.Landau(0.5, 2.0),
}.items():
    CALLS[f"distributions.{name}"] = (U, functions_of(made, "pdf", "logsf", "ppf", "expected_shortfall"))
for name in ("student_t", "nig", "hyperbolic", "generalized_hyperbolic", "variance_gamma"):
    law, n = getattr(D, name), {"student_t": 1, "nig": 4, "hyperbolic": 4, "generalized_hyperbolic": 5, "variance_gamma": 4}[name]
    values = (
        (1.5,)
        if n == 1
        else (2.0, 0.5, 1.0, 0.0)
        if name in ("nig", "hyperbolic")
        else (1.5, 2.0, 0.5, *((1.0, 0.0) if n == 5 else (0.0,)))
    )
    CALLS[f"distributions.{name}"] = (U, [lambda x, d=law, f=f, v=values: getattr(d, f)(x, *v) for f in ("pdf", "cdf", "ppf")])
for name in ("log_ndtr", "inv_mills", "log_exe1", "rhat", "ess_bulk", "ess_tail", "mcse"):
    CALLS[f"bayes.{name}"] = (U, [getattr(ns.bayes, name)])
for name, shapes in {
    "norm": (),
    "t": (4.0,),
    "truncnorm": (-1.0, 2.0),
    "norminvgauss": (2.0, 0.5),
    "genhyperbolic": (1.5, 2.0, 0.5),
}.items():
    law = getattr(ns.interop, name)
    CALLS[f"interop.{name}"] = (U, [lambda x, d=law, f=f, s=shapes: getattr(d, f)(x, *s) for f in ("pdf", "cdf", "ppf")])

WITHOUT_DATA = {  # results, containers, functions of other objects; regressions take tables of rows (tests/bayes)
    "quantile": {"Certificate", "standard_normal"},
    "stable": {
        "GoodnessOfFit",
        "ProfileInterval",
        "Stable",
        "StableFit",
        "StableFits",
        "fisher_information",
        "fit_small_alpha",
        "goodness",
        "profile",
    },
    "distributions": {
        "Comparison",
        "Comparisons",
        "Distribution",
        "DistributionFit",
        "DistributionFits",
        "Estimate",
        "Estimates",
        "Family",
        "FrozenDistribution",
        "GoodnessOfFit",
        "GoodnessOfFits",
        "LMoments",
        "Survival",
        "Survivals",
        "define",
    },
    "kde": {"ConditionalDensity", "KDEClassifier", "bandwidth", "combine", "conditional", "define", "finalize"},
    "mixture": {
        *("ComponentsBatch", "ComponentsFit", "LikelihoodRatio", "MixtureBatch", "MixtureFit", "combine", "rvs"),
        *("MultivariateBatch", "MultivariateFit", "NormalMixture"),  # in tests/mixture/multivariate/test_inputs.py
        *("Bootstrap", "bootstrap", "MixtureDiscriminantAnalysis", "MixtureRegression", "StudentMixture"),  # there, too
    },
    "bayes": {"BayesProbit", "HorseshoeClassifier", "HorseshoeProbit", "HorseshoeRegression", "fit_formula"},
    "random": {"key"},
    "interop": {"GaussianMixture", "to_scipy"},  # the class in tests/mixture/multivariate/test_inputs.py
}


def test_the_table_holds_every_public_function():
    for module, without in WITHOUT_DATA.items():
        have = {name.partition(".")[2] for name in CALLS if name.startswith(f"{module}.")} | without
        assert have == set(getattr(ns, module).__all__), module


KEPT = (
    "quantile.ndtri",
    "distributions.",
    "stable.pdf",
    "stable.ppf",
    "stable.rvs",
    "random.",
    "bayes.log_",
)  # kind in, kind out


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


KINDS = {
    "read-only": read_only,
    "strided": lambda x: np.repeat(x, 2)[::2],
    "big-endian": lambda x: x.astype(">f8"),
    "list": np.ndarray.tolist,
    "pandas": lambda x: pytest.importorskip("pandas").Series(x, index=np.arange(x.size) + 7),
    "nullable": lambda x: pytest.importorskip("pandas").Series(x, dtype="Float64"),
    "polars": lambda x: pytest.importorskip("polars").Series(x),
    "xarray": lambda x: pytest.importorskip("xarray").DataArray(x, dims="t", coords={"t": np.arange(x.size)}),
}


# all distributions take x by the same code: of those with formulas, and those known by their densities, some stand for the others
OFTEN = D.Normal, D.Gamma, D.TruncatedNormal, D.NIG, D.Stable, D.Poisson
ALIKE = {f"distributions.{type(made).__name__}" for made in (*OBJECTS, *COUNTS) if not isinstance(made, OFTEN)}
# as truncate, exp and Mixture
ALIKE |= {f"distributions.{name}" for name in ("log", "abs", "order_statistic", "with_zeros", "Landau")}
ALIKE |= {"interop.t", "interop.truncnorm"}  # as interop.norm


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of fits of few values
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in ALIKE else name for name in CALLS])
def test_every_kind_gives_the_numbers_of_an_array(name):
    data, calls = CALLS[name]
    for call in calls:
        want = np.asarray(call(data))
        for kind, made in KINDS.items():
            try:
                x = made(data)
            except pytest.skip.Exception:
                continue
            got = call(x)
            np.testing.assert_array_equal(np.asarray(got, want.dtype), want, err_msg=kind)
            if kind in ("pandas", "polars", "xarray") and np.shape(want) == data.shape and name.startswith(KEPT):
                assert type(got) is type(x), f"{kind} in, {type(got)} out"


@pytest.mark.parametrize("name", ["quantile.ndtri", "stable.pdf", "distributions.Normal", "distributions.StudentT"])
def test_frames_are_functions_of_each_value(name):
    pandas = pytest.importorskip("pandas")
    data, calls = CALLS[name]
    frame = pandas.DataFrame(data.reshape(8, 3), columns=list("abc"))
    got = calls[0](frame)
    assert list(got.columns) == list("abc")
    np.testing.assert_array_equal(got.to_numpy().ravel(), calls[0](data))
