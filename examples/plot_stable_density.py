"""Density and distribution function of stable laws: accuracy on the reference's grid, and figures.

Reproduces the experiments of tables 2, 4 and 7 and figures 7, 9, 11 and 12 of Julian-Moreno et al., "Fast parallel alpha-stable
distribution function evaluation and parameter estimation using OpenCL in GPGPUs" (2016), with alpha = 0.1 and 0.4 added: median
differences between the two ways to a value (tables, and Zolotarev's integral point by point) with the estimate of the error,
quantiles of distribution functions, and times against the number of points.

    python examples/plot_stable_density.py --output FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from common import SMOKE, best_of
from matplotlib import pyplot as plt

import numbastats as ns
from numbastats.stable import tables

CASES = [(a, b) for a in (0.1, 0.25, 0.4, 0.5, 0.75, 1.25, 1.5) for b in (0.0, 0.5, 1.0) if (a, b) != (0.5, 1.0)]


def accuracy(n):
    """Tables 2, 4 and 7: one line a law."""
    x = np.random.default_rng(1).uniform(-100.0, 100.0, n)
    p = np.linspace(0.1, 0.9, 9)
    print("alpha beta   pdf: difference, estimate   cdf: difference, estimate   (medians, relative)   ppf(cdf) error, largest")
    for a, b in CASES:
        line = []
        for function in (ns.stable.pdf, ns.stable.cdf):
            value, estimate = function(x, a, b, error=True)
            table = function(x, a, b, method="table")
            keep = value > 0
            line += [np.median(np.abs(table - value)[keep] / value[keep]), np.median(estimate[keep] / value[keep])]
        back = ns.stable.cdf(ns.stable.ppf(p, a, b, param="S1"), a, b, param="S1", method="quadrature")
        print(f"{a:5g} {b:4g} " + "".join(f"{v:13.1e}" for v in line) + f"{np.abs(back - p).max():25.1e}")


def figure_densities(folder):
    """Densities in both tails, on logarithmic axes."""
    x = np.linspace(-8, 8, 201 if SMOKE else 1601)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), constrained_layout=True)
    for a in (0.5, 0.75, 1.0, 1.5, 2.0):
        axes[0].plot(x, ns.stable.pdf(x, a, 0.5), label=f"alpha = {a:g}")
    axes[0].set(xlabel="x", ylabel="density, beta = 0.5, S0")
    far = np.logspace(0, 12, 100)
    for a in (0.5, 1.0, 1.5, 1.9):
        axes[1].loglog(far, ns.stable.sf(far, a, 0.5), label=f"alpha = {a:g}")
    axes[1].set(xlabel="x", ylabel="survival function, beta = 0.5")
    for axis in axes:
        axis.legend(frameon=False)
    figure.savefig(folder / "stable_density.png", dpi=120)


def figure_times(folder):
    """Time per point against the number of points, table included."""
    sizes = (100, 1_000, 10_000) if SMOKE else (100, 1_000, 10_000, 100_000, 1_000_000)
    functions = {"pdf": ns.stable.pdf, "cdf": ns.stable.cdf, "ppf": ns.stable.ppf}
    figure, axis = plt.subplots(figsize=(6.5, 4.4), constrained_layout=True)
    for name, function in functions.items():
        times = []
        for n in sizes:
            x = np.random.default_rng(2).random(n) if name == "ppf" else np.random.default_rng(2).uniform(-100, 100, n)

            def first_call(function=function, x=x):
                tables.table.cache_clear()
                function(x, 1.5, 0.5, workers=1)

            times.append(best_of(first_call, 3)[1] / n)
        axis.loglog(sizes, np.array(times) * 1e9, "o-", label=name)
        print(f"{name}: " + ", ".join(f"{n:,} points {t * 1e9:.0f} ns" for n, t in zip(sizes, times, strict=True)))
    axis.set(xlabel="points", ylabel="ns per point, table included, one core")
    axis.legend(frameon=False)
    figure.savefig(folder / "stable_times.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the plots")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    accuracy(50 if SMOKE else 1000)
    figure_densities(folder)
    figure_times(folder)
    print(f"plots: {folder}")


if __name__ == "__main__":
    main()
