"""A density on a grid.

Against SciPy, scikit-learn and KDEpy: the same answer, times and errors.

    python examples/plot_kde_grid.py [--output FOLDER]

Saves plot_kde_grid.png: the density of 10,000 correlated samples with its exact zeros, and the differences to the others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from common import GALLERY, OUTPUT, SMOKE, best_of
from matplotlib import pyplot as plt

import numbastats as ns


def main():
    """Time one grid, plot it beside the differences."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    n, shape = (500, (40, 42)) if SMOKE else (3_000, (135, 140)) if GALLERY else (10_000, (270, 280))
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 2]], n)
    axes = ns.kde.regular_axes(x, shape=shape)
    mesh = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], -1)

    kde = ns.kde.KDE(workers=1)
    f, seconds = best_of(lambda: kde.fit(x).grid(axes))
    print(f"{n:,} samples, {shape[0]} x {shape[1]} positions, one core")
    print(
        f"{'numbastats, Epanechnikov':34s} {seconds * 1e3:10.2f} ms   error bound {kde.error_bound_:.1e} of the peak, "
        f"{(f == 0).mean():.0%} exact zeros"
    )

    from scipy.stats import gaussian_kde
    from sklearn.neighbors import KernelDensity

    h = ns.kde.bandwidth.eq9(x)
    factor = h / np.sqrt(6)  # the standard deviation of the kernel
    g, other = best_of(lambda: gaussian_kde(x.T, bw_method=factor)(mesh.T).reshape(shape), 1)
    score = ns.kde.perkins(f, g)
    print(f"{'SciPy gaussian_kde':34s} {other * 1e3:10.1f} ms   {other / seconds:6.0f}x; Perkins score {score:.4f}")
    ours, seconds = best_of(lambda: ns.kde.grid(x, axes, h=h, bw_convention="sklearn", workers=1))
    tree = KernelDensity(kernel="epanechnikov", bandwidth=h).fit(x)
    theirs, other = best_of(lambda: np.exp(tree.score_samples(mesh)).reshape(shape), 1)
    difference = np.abs(theirs - ours) / ours.max()
    print(
        f"{'scikit-learn KernelDensity':34s} {other * 1e3:10.1f} ms   {other / seconds:6.0f}x; differs by {difference.max():.1e}"
    )
    try:
        from KDEpy import FFTKDE

        wide = [np.linspace(a[0] - 1e-6, a[-1] + 1e-6, len(a)) for a in axes]
        positions = np.stack([m.ravel() for m in np.meshgrid(*wide, indexing="ij")], -1)
        fft, other = best_of(lambda: FFTKDE(kernel="epa", bw=h / 5**0.5).fit(x).evaluate(positions).reshape(shape))
        wrong = np.abs(fft - ours).max() / ours.max()
        print(f"{'KDEpy FFTKDE (approximate)':34s} {other * 1e3:10.2f} ms   {other / seconds:6.1f}x; differs by {wrong:.1e}")
    except ImportError:
        print("KDEpy is not installed")

    figure, panels = plt.subplots(1, 3, figsize=(13, 4), constrained_layout=True)
    extent = [axes[1][0], axes[1][-1], axes[0][0], axes[0][-1]]
    for panel, values, title in zip(
        panels,
        (np.where(f > 0, f, np.nan), np.abs(f - g), np.where(difference > 0, difference, np.nan)),
        (
            "density, white where exactly 0",
            f"|difference to SciPy's Gaussian|, score {score:.3f}",
            "difference to scikit-learn / peak",
        ),
        strict=True,
    ):
        image = panel.imshow(values, origin="lower", extent=extent, aspect="auto")
        figure.colorbar(image, ax=panel)
        panel.set_title(title, fontsize=9)
    figure.savefig(folder / "plot_kde_grid.png", dpi=120)
    print(f"plot: {folder / 'plot_kde_grid.png'}")


if __name__ == "__main__":
    main()
