"""A user's script that mypy must accept: the annotated public surface in use. No test: it is checked, not run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import numbastats.bayes as bayes
import numbastats.config as config
import numbastats.random as random


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
    table = model.summary(prob=0.9)["rhat"].max() + model.coef_.sum() + model.draws_["beta"].mean()
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
    print(classes.predict_proba(X, offset=w)[:, 1], mean, upper - lower, model.predict(X).mean(), model.intercept_ + 1.0)
    return model.score(X, y, w, offset=w)


def functions(x: NDArray[np.float64]) -> None:
    """Elementwise functions and diagnostics."""
    bayes.log_ndtr(x)
    bayes.inv_mills([0.0, 1.0], out=np.empty(2))
    bayes.log_exe1(1.0)
    bayes.truncnorm_rvs(x, rng=1, size=(3, *x.shape))
    print(bayes.rhat(x), bayes.ess_bulk(x), bayes.ess_tail(x), bayes.mcse(x))
