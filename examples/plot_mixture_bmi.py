"""A mixture of body-mass indices.

The number of components by BIC, densities over the histogram.

    python examples/plot_mixture_bmi.py --output FOLDER

The data are the body-mass indices of 442 diabetes patients (Efron, Hastie, Johnstone and Tibshirani 2004, shipped with
scikit-learn). The same analysis on the survey data of the bulkem report (Howson 2015, appendix) is in the tests.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from common import OUTPUT, SMOKE
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

import numbastats as ns


def plot_mixture(axis, x, result, bins=40):
    """Histogram of x with the density of a fit and its weighted components."""
    grid = np.linspace(x.min(), x.max(), 400)
    axis.hist(x, bins=bins, density=True, color="0.85")
    axis.plot(grid, result.pdf(grid), "k-", lw=1.4, label="mixture")
    for w, c, p, mean in zip(result.weights, result.centres, result.params, result.component_means(), strict=True):
        axis.plot(grid, w * ns.mixture.pdf(grid, [1.0], [c], [p], family=result.family), "--", lw=1.0, label=f"mean {mean:.1f}")


def main():
    """Fit, print the table of criteria, plot the best model of each family."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    data = load_diabetes(scaled=False)
    x = data.data[:, data.feature_names.index("bmi")]
    families = ("inverse_gaussian", "lognormal", "gamma", "normal")
    candidates = range(1, 3 if SMOKE else 5)
    print(f"{x.size} body-mass indices; BIC by number of components (* = chosen)")
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), constrained_layout=True)
    for axis, family in zip(axes.flat, families, strict=True):
        batch = ns.mixture.fit_many([x], candidates, family=family, rng=2015, se=True)
        best = batch[0]
        cells = [f"{b:9.2f}{'*' if K == best.n_components else ' '}" for K, b in zip(candidates, batch.criteria_[0], strict=True)]
        print(f"{family:18s} {'  '.join(cells)}  {best.message}")
        errors = [f" +- {s:.3f}" if best.n_components > 1 else "" for s in best.se["weights"]]
        terms = (f"{w:.3f}{s} at {m:.2f}" for w, s, m in zip(best.weights, errors, best.component_means(), strict=True))
        print(f"{'':18s} weights {', '.join(terms)}")
        plot_mixture(axis, x, best)
        axis.set(title=f"{family}, K = {best.n_components}, BIC {best.bic:.1f}", xlabel="body-mass index, kg/m$^2$")
        axis.legend(frameon=False)
    figure.savefig(folder / "mixture_bmi.png", dpi=120)
    print(f"plot: {folder / 'mixture_bmi.png'}")


if __name__ == "__main__":
    main()
