"""A user's script that mypy must accept: the annotated public surface in use. A test runs it as well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import numbastats as ns
import numbastats.bayes as bayes
import numbastats.config as config
import numbastats.distributions as distributions
import numbastats.interop as interop
import numbastats.kde as kde
import numbastats.mixture as mixture
import numbastats.quantile as quantile
import numbastats.random as random
import numbastats.stable as stable


def draws() -> tuple[np.uint32, np.uint32]:
    """Every function of `numbastats.random`."""
    random.uniform(0.0, 1.0, 10, rng=1, dtype="float32", device="cpu", workers=1)
    random.normal([0.0, 1.0], 2.0, (10, 2), rng=np.random.default_rng(1))
    random.exponential(size=10)
    random.gamma(2.5, 1.0, 10, rng=np.random.SeedSequence(1))
    random.truncnorm(0.0, 1.0, -1.0, np.inf, 10, out=np.empty(10))
    return random.key(1)


def options() -> None:
    """`numbastats.config`."""
    config.set(workers=2)
    with config.using(device="cpu"):
        config.get("device")


def probit(X: NDArray[np.float64], y: NDArray[np.bool_]) -> float:
    """A fit, its attributes and every kind of prediction."""
    model = bayes.BayesProbit("lasso", sampler="split-hmc", draws=100, dtype="float32", rng=1).fit(X, y)
    model.continue_(100)
    probabilities = model.predict_proba(X)[:, 1]
    _, lower, upper = model.predict_proba(X, interval=0.9)
    labels = model.predict(X)
    table = model.summary(level=0.9)["rhat"].max() + model.coef_.sum() + model.draws_["beta"].mean()
    model.save("model.npz")
    again = bayes.HorseshoeProbit.load("model.npz")
    blocks = bayes.HorseshoeProbit(slab=3.0, callback=lambda state: state["iteration"] > 10).fit(lambda: [(X, y)])
    print(probabilities, upper - lower, labels, table, again.converged_, blocks.loo(X, y)["elpd"])
    return model.score(X, y)


def other_responses(X: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64]) -> float:
    """Weights, offsets and both kinds of prediction."""
    classes = bayes.HorseshoeClassifier(response="logit", prior="horseshoe+", rng=1).fit(X, y > 0, w, offset=w)
    model = bayes.HorseshoeRegression(response="poisson", sampler="split-hmc").fit(X, y, sample_weight=w)
    mean, lower, upper = model.predict(X, interval=0.9, offset=w)
    grades = bayes.HorseshoeClassifier(response="ordinal", contrast="symmetric", shared=True).fit(X, y)
    print(grades.cutpoints_ + 1.0, grades.classes_)
    print(classes.predict_proba(X, offset=w)[:, 1], mean, upper - lower, model.predict(X).mean(), model.intercept_ + 1.0)
    return model.score(X, y, w, offset=w)


def functions(x: NDArray[np.float64]) -> None:
    """Elementwise functions and diagnostics."""
    bayes.log_ndtr(x)
    bayes.inv_mills([0.0, 1.0], out=np.empty(2))
    bayes.log_exe1(1.0)
    bayes.truncnorm_rvs(x, rng=1, size=(3, *x.shape))
    print(bayes.rhat(x), bayes.ess_bulk(x), bayes.ess_tail(x), bayes.mcse(x))


def stable_distributions(x: NDArray[np.float64]) -> float:
    """Functions, fits and their results."""
    density = stable.pdf(x, 1.7, np.full(x.shape, 0.1), scale=2.0, param="S1", method="quadrature")
    stable.pdf_cdf(0.3, 1.5, 0.0, dtype="float64", device="cpu", workers=2)
    stable.rvs(1.7, 0.0, size=(3, 4), rng=1, dtype="float32")
    a, b, loc, scale = stable.convert(1.5, 0.5, to="S1")
    dist = stable.Stable(1.7, -0.2, loc=0.05, scale=0.6)
    found: stable.StableFit = stable.fit(x, fixed={"beta": 0.0})
    again: stable.Stable = found.distribution
    many: stable.StableFits = stable.fit_many([x, x[:100]], method="ecf", workers=2)
    information = stable.fisher_information(1.7, 0.2)
    print(density, a, b, loc, scale, dist.ppf(0.01), again.cdf(0.0), information, many[0].params + many.params[0])
    return found.loglik + found.se[0] + stable.loglik(x, 1.5, 0.0)


def densities(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kernel densities on grids, at points, from parts."""
    axes = kde.regular_axes(x, 64)
    values = kde.grid(x, axes, bandwidth="silverman", kernel="epanechnikov", weights=None, boundary=None)
    at = kde.points(x, x[:10], h=0.3, kernel="gaussian", bw_convention="std")
    model = kde.KDE(kernel="biweight", bandwidth="scott").fit(x)
    print(model.n_eff_, model.score_samples(x), at, kde.bandwidth.silverman(x))
    return np.asarray(values)


def mixtures(x: NDArray[np.float64]) -> float:
    """Fits of one data set and of many."""
    found: mixture.MixtureFit = mixture.fit(x, 2, family="gamma")
    many = mixture.fit_many([x, x[:50]], 1, family="inverse_gaussian", workers=1)
    model = mixture.Mixture(2, family="gaussian").fit(x[:, None])
    heavy: mixture.MultivariateFit = mixture.fit(
        np.stack([x, x * x], axis=1), 2, covariance="diag", family=("student_t", {"df": 4.0}), noise=True
    )
    print(heavy.df, heavy.noise_weight, heavy.component_distributions[0].rvs(3))
    rows: mixture.MultivariateFit = mixture.fit(np.stack([x, x * x], axis=1), 2, covariance="diag", se="sandwich")
    errors: mixture.Bootstrap = mixture.bootstrap(rows, n_boot=19, rng=0)
    given: mixture.MixtureRegression = rows.regression(x[:, None], 1)
    classes = mixture.MixtureDiscriminantAnalysis(1).fit(np.stack([x, x * x], axis=1), x > 0.0)
    print(many.loglik, found.pdf(x), found.predict_proba(x), model.predict(x[:, None]))
    print(errors.se["means"], errors.n_failed, given.mean(), given.ppf(0.5), classes.predict_proba(np.ones((2, 2))))
    return found.loglik + found.bic


def quantiles(u: NDArray[np.float64]) -> None:
    """The normal quantile, tables of densities and families of distributions."""
    quantile.ndtri(u, out=np.empty_like(u), dtype="float64", device="auto", workers=1)
    table = quantile.QuantileTable(lambda x: np.exp(-np.abs(x)) / 2, accuracy="double")
    t = distributions.student_t
    print(t.pdf(u, 4.0), t(4.0).ppf(u), distributions.nig(1.5, 0.3, 1.0).cdf(0.2), table.ppf(u), table.certificate.ok)
    quantile.antithetic(u)
    interop.levy_stable.pdf(u, 1.7, 0.0)
    ns.warmup("random", workers=1)
    print(ns.has_gpu(), ns.__version__, ns.Status(0).meaning, ns.Status.OK.value + 1)
