"""Densities of groups, a classifier.

Wines of three cultivars: a density for each group, contours of mass, and a classifier.

    python examples/plot_kde_groups.py --output FOLDER

The data are 178 wines of three cultivars (Aeberhard, Coomans and de Vel 1992, shipped with scikit-learn): flavanoids and colour
intensity. Saves plot_kde_groups.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from common import OUTPUT
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

import numbastats as ns

NAMES = ("Barolo", "Grignolino", "Barbera")


def main():
    """Densities by group on a line and in the plane, the classifier's borders, and its accuracy beside a naive Bayes one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    data = load_wine()
    columns = [data.feature_names.index(name) for name in ("flavanoids", "color_intensity")]
    x, wine = data.data[:, columns], np.array(NAMES)[data.target]
    order = np.random.default_rng(0).permutation(len(x))

    print(f"{'':28s} {'leave-one-out':>14s} {'10 folds':>9s}")
    for shared in (False, True):
        model = ns.kde.KDEClassifier(shared=shared, sigma="diag", workers=1).fit(x, wine)
        folds = cross_val_score(model, x[order], wine[order], cv=10).mean()
        print(f"{'one bandwidth' if shared else 'a bandwidth for each group':28s} {model.loo_accuracy():14.3f} {folds:9.3f}")
    print(f"{'Gaussian naive Bayes':28s} {'':14s} {cross_val_score(GaussianNB(), x[order], wine[order], cv=10).mean():9.3f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), constrained_layout=True)
    ns.plot.densities(x[:, 0], wine, kde=ns.kde.KDE(boundary={0: ("reflect", 0.0, None)}), ax=left)
    left.set(xlabel="flavanoids")
    ns.plot.contours(x, by=wine, masses=(0.5, 0.9), ax=right)
    axes = [np.linspace(*limits, 200) for limits in (right.get_xlim(), right.get_ylim())]
    model = ns.kde.KDEClassifier(sigma="diag", workers=1).fit(x, wine)
    points = np.stack(np.meshgrid(*axes), -1).reshape(-1, 2)
    most = model.predict_proba(points).argmax(1).reshape(200, 200)
    right.contour(*axes, most, levels=[0.5, 1.5], colors="k", linewidths=0.8, linestyles=":")
    right.set(xlabel="flavanoids", ylabel="colour intensity", title="contours of mass; dotted: borders of the classifier")
    figure.savefig(folder / "plot_kde_groups.png", dpi=120)
    print(f"plot: {folder / 'plot_kde_groups.png'}")


if __name__ == "__main__":
    main()
