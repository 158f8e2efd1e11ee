"""Mistakes that mypy must find: each ignored line is one, and mypy complains of those that are none. Nothing runs them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import numbastats as ns
import numbastats.bayes as bayes
import numbastats.config as config
import numbastats.distributions as distributions
import numbastats.kde as kde
import numbastats.mixture as mixture
import numbastats.quantile as quantile
import numbastats.random as random
import numbastats.stable as stable


def names(x: NDArray[np.float64]) -> None:
    """Families, kernels, rules and methods that there are not."""
    distributions.fit(x, "nrmal")  # type: ignore[arg-type]
    distributions.compare(x, ["normal", "student"])  # type: ignore[list-item]
    mixture.fit(x, 2, family="norml")  # type: ignore[call-overload]
    kde.points(x, x, kernel="gausian")  # type: ignore[arg-type]
    kde.grid(x, [x], bandwidth="silvermann")  # type: ignore[arg-type]
    stable.fit(x, "mle")  # type: ignore[arg-type]
    quantile.ndtri(x, tail="uper")  # type: ignore[call-overload]
    bayes.HorseshoeClassifier(response="probt")  # type: ignore[arg-type]


def keywords(x: NDArray[np.float64]) -> None:
    """Arguments that there are not, also of functions that hand options on."""
    config.set(thread=2)  # type: ignore[call-arg]
    mixture.fit(x, 2, family="gamma", n_inits=3)  # type: ignore[call-overload]
    kde.regular_axes(x, shp=100)  # type: ignore[call-arg]
    kde.at_samples(x, leave_out=True)  # type: ignore[call-arg]
    kde.conditional(x, x, bandwith="scott")  # type: ignore[call-arg]
    stable.fit_many([x], starts=x)  # type: ignore[call-arg]
    distributions.Gamma.fit(x, weight=x)  # type: ignore[call-arg]
    random.normal(0.0, 1.0, 10, seed=1)  # type: ignore[call-arg]


def values(x: NDArray[np.float64]) -> str:
    """Missing arguments, attributes that there are not, and results of another type."""
    stable.pdf(x)  # type: ignore[call-overload]
    distributions.StudentT()  # type: ignore[call-arg]
    print(distributions.fit(x, "normal").loglk)  # type: ignore[attr-defined]
    print(bayes.HorseshoeRegression().fit(x, x).coeff_)  # type: ignore[attr-defined]
    ns.plots  # type: ignore[attr-defined]  # noqa: B018
    quantile.ndtri(0.5).T  # type: ignore[attr-defined]  # noqa: B018
    return stable.cdf(0.1, 1.5, 0.0)  # type: ignore[return-value]
