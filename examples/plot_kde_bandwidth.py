"""Choosing a bandwidth.

Rules and cross-validation on a mixture that is known, and on body-mass indices.

    python examples/plot_kde_bandwidth.py --output FOLDER

The real data are the body-mass indices of 442 diabetes patients (Efron, Hastie, Johnstone and Tibshirani 2004, shipped with
scikit-learn), rounded to 0.1; the others are 300 draws of 0.35 N(54, 6^2) + 0.65 N(80, 6^2), whose density is known. Saves
plot_kde_bandwidth.png.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from common import OUTPUT
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

import numbastats as ns

RULES = ("eq9", "isj", "plugin", "lscv", "likelihood-cv")


def main():
    """Bandwidths of all rules, integrated squared errors where the density is known, densities beside each other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    truth = ns.distributions.Mixture([ns.distributions.Normal(54, 6), ns.distributions.Normal(80, 6)], [0.35, 0.65])
    waits = truth.rvs(300, rng=1)
    data = load_diabetes(scaled=False)
    bmi = data.data[:, data.feature_names.index("bmi")]

    figure, both = plt.subplots(1, 2, figsize=(12, 4.5), constrained_layout=True)
    for ax, x, name in zip(both, (waits, bmi), ("mixture of two normals", "body-mass index, kg/m$^2$"), strict=True):
        grid = np.linspace(x.min() - 5, x.max() + 5, 801)
        print(f"{name}: {len(x)} samples\n{'rule':>14s} {'half width':>11s} {'ISE':>10s}")
        for rule in RULES:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                model = ns.kde.KDE(bandwidth=rule, workers=1).fit(x)
            f, error = model.pdf(grid), ""
            if x is waits:
                error = f"{np.sum((f - truth.pdf(grid)) ** 2) * (grid[1] - grid[0]):.2e}"
            print(f"{rule:>14s} {np.sqrt(model.H_[0, 0]):11.2f} {error:>10s}", *(f"  ({w.message})" for w in said))
            ax.plot(grid, f, label=rule)
        if x is waits:
            ax.plot(grid, truth.pdf(grid), "k:", label="truth")
        ax.legend(frameon=False)
        ax.set(xlabel=name, ylabel="density")
    figure.savefig(folder / "plot_kde_bandwidth.png", dpi=120)
    print(f"plot: {folder / 'plot_kde_bandwidth.png'}")


if __name__ == "__main__":
    main()
