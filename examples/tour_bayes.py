"""The tour's probit part.

569 breast tumours, 30 measurements of cell nuclei each (Street, Wolberg and Mangasarian 1993, shipped with scikit-learn): which
of them tell malignant from benign, when most coefficients are expected to be nearly zero?
"""

from __future__ import annotations

import warnings

import numpy as np
from common import SMOKE
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer

import numbastats as ns


def run(rows, folder):
    """Horseshoe probit regression, and what the paper's own sampler needs for as much information."""
    data = load_breast_cancer()
    X, y = data.data, data.target == 0
    options = dict(standardize=True, slab=3.0, chains=4, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)
        fast = ns.bayes.HorseshoeProbit(**options, sampler="split-hmc", warmup=100 if SMOKE else 600, draws=50 if SMOKE else 1500)
        paper = ns.bayes.HorseshoeProbit(**options, sampler="gibbs", warmup=50 if SMOKE else 600, draws=50 if SMOKE else 1500)
        for model in (fast, paper):
            type(model)(**model.get_params() | {"warmup": 50, "draws": 5}).fit(X, y)  # compiles
            model.fit(X, y)
    table = fast.summary()
    loo = fast.loo(X, y)
    spread = X.std(axis=0)
    effect = table["mean"][1:31] * spread
    top = np.argsort(-abs(effect))[:3]
    names = ", ".join(str(data.feature_names[j]) for j in top[:2])
    seconds = [m.stats_["ms_per_iteration"] * 1e-3 * m.n_iter_ for m in (fast, paper)]
    size = [ns.bayes.ess_bulk(m.draws_["beta"]).min() for m in (fast, paper)]
    rows.append(
        (
            "malignant or benign, horseshoe probit (569 x 30)", f"strongest: {names}", seconds[0],
            "paper's sampler (ESS/s)", size[0] / seconds[0] / (size[1] / seconds[1]),
        )
    )  # fmt: skip
    accuracy = np.mean((fast.predict_proba(X)[:, 1] > 0.5) == y)
    rows.append(
        (
            "  predictive density of a left-out row", f"{np.exp(loo['elpd'] / y.size):.3f} (in-sample hits {accuracy:.1%})", None,
            None, None,
        )
    )  # fmt: skip

    order = np.argsort(effect)
    figure, axis = plt.subplots(figsize=(7, 7), constrained_layout=True)
    low, high = table["lower"][1:31] * spread, table["upper"][1:31] * spread
    axis.errorbar(effect[order], np.arange(30), xerr=[(effect - low)[order], (high - effect)[order]], fmt="ko", ms=3)
    axis.axvline(0.0, color="0.7")
    axis.set_yticks(np.arange(30), data.feature_names[order])
    axis.set(xlabel="coefficient per standard deviation, posterior mean and 90 % interval", title="malignant tumours")
    figure.savefig(folder / "tour_bayes.png", dpi=120)
    plt.close(figure)
