"""Clusters of flowers.

Normal mixtures of four columns: covariance and number of clusters by criteria, all pairs of columns with the ellipses.

    python examples/plot_mixture_clusters.py --output FOLDER

The data are Fisher's 150 irises of three species (shipped with scikit-learn), whose species the fits do not see. Saves
plot_mixture_clusters.png and plot_mixture_clusters_criteria.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from common import OUTPUT, SMOKE
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

import numbastats as ns


def main():
    """Choose by BIC and by ICL, compare with the species, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plots")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    data = load_iris(as_frame=True)
    flowers = data.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
    candidates = range(1, 3 if SMOKE else 6)

    for criterion in ("bic", "icl"):
        found = ns.mixture.fit(flowers, candidates, covariance="all", criterion=criterion, rng=0)
        print(f"{criterion}: {found.n_components} components, covariance {found.covariance!r}, {found.message}")
    three = ns.mixture.fit(flowers, 3, covariance="full", se=True, rng=0)
    counts = np.zeros((3, 3), int)
    np.add.at(counts, (data.target.to_numpy(), three.predict(flowers)), 1)
    print("\nspecies by component, of three")
    for name, row in zip(data.target_names, counts, strict=True):
        print(f"{name:12s}" + "".join(f"{n:5d}" for n in row))
    wide = three.conditional({"petal length": 4.8})
    print(f"\nwith petals of 4.8 cm the weights are {wide.weights.round(2)}, the mean petal width {wide.mean()[-1]:.2f} cm")

    ns.plot.mixture(three, flowers)[0, 0].figure.savefig(folder / "plot_mixture_clusters.png", dpi=100)
    figure, axis = plt.subplots(constrained_layout=True)
    ns.plot.criteria(found, "bic", ax=axis)
    figure.savefig(folder / "plot_mixture_clusters_criteria.png", dpi=120)
    print(f"plots: {folder / 'plot_mixture_clusters.png'}")


if __name__ == "__main__":
    main()
