"""The tour's mixture part.

Petal lengths of 150 irises of three species (Fisher 1936, shipped with scikit-learn): how many groups do the lengths alone show?
Then many small data sets at once: bootstrap samples of the body-mass indices of 442 diabetes patients (Efron and others 2004),
every one fitted to a certified local maximum.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes, load_iris
from sklearn.mixture import GaussianMixture
from tour_timing import SMOKE, race, timed

import numbastats as ns

FEW = 0.05  # a component with less of the values is an accident of the sample


def run(rows, figure):
    """Number of groups by BIC, and a bootstrap of a mixture."""
    petals = load_iris().data[:, 2]
    [(best, seconds)] = race(3, lambda: ns.mixture.fit(petals, range(1, 5), family="lognormal", rng=1))
    means = ", ".join(f"{m:.1f}" for m in best.component_means())
    rows.append(
        (
            "petal lengths: groups by BIC (n = 150)",
            f"{best.n_components}, of mean {means} cm; {best.message.partition(';')[0]}",
            seconds,
            None,
            None,
        )
    )

    data = load_diabetes(scaled=False)
    bmi = data.data[:, data.feature_names.index("bmi")]
    samples = np.random.default_rng(4).choice(bmi, (20 if SMOKE else 2000, bmi.size))
    ns.mixture.fit_many(samples[:20], 2, family="gaussian", rng=1)
    batch, seconds = timed(lambda: ns.mixture.fit_many(samples, 2, family="gaussian", rng=1))
    few = samples[: 1 if SMOKE else 3]

    def others():  # takes seconds, as our fits do: both are timed once
        models = [GaussianMixture(2, n_init=30, tol=1e-8, max_iter=5000, random_state=0).fit(x[:, None]) for x in few]
        return np.array([m.score(x[:, None]) * x.size for m, x in zip(models, few, strict=True)])

    GaussianMixture(2).fit(few[0][:, None])
    theirs, their_seconds = timed(others)
    ratio = their_seconds / len(few) / (seconds / len(samples))
    certified = np.mean(batch.status == 0)
    label = f"{len(samples):,} mixtures of {bmi.size} values, 30 starts each"
    rows.append((label, f"{certified:.1%} certified local maxima", seconds, f"scikit-learn (of {len(few)})", ratio))
    gain = batch.loglik[: len(few)] - theirs
    text = f"{gain.min():+.1g} to {gain.max():+.2g}, median {np.median(gain):+.1g}"
    rows.append(("  log-likelihood above scikit-learn's", text, None, None, None))

    good = batch.status == 0
    axes = figure.subplots(1, 2)
    grid = np.linspace(petals.min() - 0.3, petals.max() + 0.3, 300)
    axes[0].hist(petals, bins=30, density=True, color="0.85")
    axes[0].plot(grid, best.pdf(grid), "k-")
    axes[0].set(xlabel="petal length, cm", ylabel="density", title=f"150 irises: {best.n_components} groups by BIC")
    small = batch.weights.min(axis=1) < FEW
    for chosen, label in ((good & ~small, f"both groups > {FEW:.0%}"), (good & small, f"one group < {FEW:.0%}")):
        axes[1].plot(batch.means[chosen, 0], batch.means[chosen, 1], ".", ms=3, label=label)
    axes[1].set(xlabel="mean of one group, kg/m²", ylabel="mean of the other")
    axes[1].set(title=f"body-mass index, {len(samples):,} times")
    axes[1].legend(frameon=False, loc="upper left", markerscale=3)
