"""Densities given another variable.

Disease progression given the body-mass index: conditional densities, quantiles and highest-density regions.

    python examples/plot_conditional_density.py --output FOLDER

The data are 442 diabetes patients (Efron, Hastie, Johnstone and Tibshirani 2004, shipped with scikit-learn): the body-mass
index, and a measure of disease progression one year later, which is at least 0. Saves plot_conditional_density.png.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from common import OUTPUT, SMOKE, best_of
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

import numbastats as ns


def main():
    """Estimate, print a table, plot quantiles over the density and its cross sections."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    data = load_diabetes(scaled=False)
    bmi, progression = data.data[:, data.feature_names.index("bmi")], data.target
    axes = [(18.0, 42.0, 25 if SMOKE else 97), (0.0, 420.0, 85 if SMOKE else 421)]
    options = dict(kernel="triweight", boundary={1: ("reflect", 0.0, None)}, workers=1)
    f, seconds = best_of(lambda: ns.kde.conditional(bmi, progression, axes, **options))
    a, b = np.sqrt(np.diag(f.H))
    print(f"{bmi.size} patients, {f.density.shape[0]} x {f.density.shape[1]} positions, {seconds * 1e3:.1f} ms")
    print(f"half widths of the kernel: {a:.2f} kg/m^2, {b:.1f} in progression")

    x, y = f.grid
    low, median, high = f.quantile([0.1, 0.5, 0.9])
    mean, inside = f.mean(), f.hdr_levels(0.8)
    chosen = [int(np.argmin(np.abs(x - v))) for v in (20.0, 25.0, 30.0, 35.0)]
    print(f"{'index':>6s} {'patients near':>14s} {'mean':>6s} {'median':>7s} {'10 % to 90 %':>14s}")
    for i in chosen:
        near = np.mean(np.abs(bmi - x[i]) < a) * bmi.size
        print(f"{x[i]:6.0f} {near:14.0f} {mean[i]:6.0f} {median[i]:7.0f} {low[i]:6.0f} to {high[i]:4.0f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), constrained_layout=True)
    image = left.pcolormesh(x, y, f.density.T, shading="nearest", cmap="Greys")
    figure.colorbar(image, ax=left, label="density given the index")
    left.plot(bmi, progression, ".", ms=2, color="tab:orange")
    for line, style, label in ((median, "-", "median"), (low, "--", "10 % and 90 %"), (high, "--", None)):
        left.plot(x, line, style, color="tab:blue", label=label)
    left.legend(frameon=False, loc="upper left")
    left.set(xlabel="body-mass index, kg/m$^2$", ylabel="disease progression after a year")
    for i, colour in zip(chosen, ("tab:blue", "tab:green", "tab:orange", "tab:red"), strict=True):
        right.plot(y, f.density[i], color=colour, label=f"index {x[i]:.0f}")
        right.fill_between(y, f.density[i], where=f.density[i] >= inside[i], color=colour, alpha=0.15)
    right.legend(frameon=False, title="shaded: most likely 80 %")
    right.set(xlabel="disease progression after a year", ylabel="density given the index")
    figure.savefig(folder / "plot_conditional_density.png", dpi=120)
    print(f"plot: {folder / 'plot_conditional_density.png'}")


if __name__ == "__main__":
    main()
