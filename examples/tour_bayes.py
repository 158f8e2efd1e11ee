"""The tour's probit part.

569 breast tumours, 30 measurements of cell nuclei each (Street, Wolberg and Mangasarian 1993, shipped with scikit-learn): which
of them tell malignant from benign, when most coefficients are expected to be nearly zero? The model is fitted to two thirds of
the tumours, chosen at random, and judged by the others. The measurements all but separate the classes, so the chains mix slowly:
the sampler goes on until R-hat is below 1.01 and the effective sample size (ESS) at least 400.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from tour_timing import SMOKE, timed

import numbastats as ns


def run(rows, figure):
    """Horseshoe probit regression, its convergence, and how well it predicts tumours that it has not seen."""
    data = load_breast_cancer()
    X, y = data.data, data.target == 0
    order = np.random.default_rng(569).permutation(y.size)
    seen, unseen = order[: 2 * y.size // 3], order[2 * y.size // 3 :]
    options = dict(standardize=True, slab=3.0, sampler="split-hmc", thin=4, rng=1)
    ns.bayes.HorseshoeProbit(**options | dict(warmup=50, draws=250, slab=0.1)).fit(X, y)  # warms up
    length = dict(warmup=50, draws=50) if SMOKE else {}
    model, seconds = timed(lambda: ns.bayes.HorseshoeProbit(**options, **length).fit(X[seen], y[seen]))
    table = model.summary()
    spread = X[seen].std(axis=0)
    effect = table["mean"][1:31] * spread
    names = ", ".join(str(data.feature_names[j]) for j in np.argsort(-abs(effect))[:2])
    what = f"malignant or benign, horseshoe probit ({seen.size} x 30)"
    rows.append((what, f"largest coefficients: {names}", seconds, None, None))
    chains, draws = model.draws_["log_tau"].shape
    converged = "converged" if model.converged_ else "NOT converged"
    text = f"{converged}: largest R-hat {table['rhat'].max():.3f}, least ESS {table['ess_bulk'].min():.0f}"
    rows.append((f"  {chains} chains of {draws:,} draws, every fourth kept", text, None, None, None))
    p = model.predict_proba(X[unseen])[np.arange(unseen.size), y[unseen].astype(int)]
    text = f"{np.mean(p > 0.5):.1%} right; geometric mean probability {np.exp(np.log(p).mean()):.3f}"
    rows.append((f"  outcomes of the {unseen.size} other tumours", text, None, None, None))

    order = np.argsort(effect)
    axis = figure.subplots()
    low, high = table["lower"][1:31] * spread, table["upper"][1:31] * spread
    axis.errorbar(effect[order], np.arange(30), xerr=[(effect - low)[order], (high - effect)[order]], fmt="ko", ms=3)
    axis.axvline(0.0, color="0.7")
    axis.set_yticks(np.arange(30), data.feature_names[order], fontsize="small")
    axis.set(xlabel="coefficient per sd: mean, 95 % interval", title="probit regression: right of 0 malignant, left benign")
