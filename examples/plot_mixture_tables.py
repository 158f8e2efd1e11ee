"""Mixtures: the report's tables.

The timing tables of the bulkem report (Howson 2015, sections 4.1 and 4.2), beside the report's own figures.

    python examples/plot_mixture_tables.py --output FOLDER

Data as in the report's manual: 0.3 IG(mean 1, lambda 30) + 0.7 IG(mean 3, lambda 0.2). "rule" is the report's algorithm with one
random start; "certified" is the default fit: 30 starts, the best ones climbed to a certified local maximum. Its times are
those of an interpreted R loop and of a CUDA GPU of 2014; they are quoted for scale, not as a comparison of hardware.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from common import GALLERY, OUTPUT, SMOKE, best_of
from matplotlib import pyplot as plt

import numbastats as ns

SINGLE = {100: (0.00620, 0.01576), 1_000: (0.06032, 0.01572), 10_000: (0.67876, 0.03924), 100_000: (6.35048, 0.1974)}
SINGLE[1_000_000] = (67.98868, 1.87952)
MANY = {1: (0.10452, 0.02092), 10: (1.12048, 0.05364), 100: (10.12788, 0.35904), 1_000: (102.4084, 3.42036)}


def draw(sets, size):
    """Data sets of the report's generator."""
    weights, means, lambdas = [0.3, 0.7], [1.0, 3.0], [30.0, 0.2]
    return ns.mixture.rvs(weights, means, lambdas, (sets, size), rng=2015, family="inverse_gaussian")


def measure(title, label, rows, data):
    """Print one table; returns the sizes and the seconds of every column."""
    print(
        f"\n{title}\n{label:>10s} {'rule':>10s} {'certified':>10s} {'report CPU':>11s} {'report GPU':>11s}  at the best start, %"
    )
    sizes, columns = [], []
    for size, (cpu, gpu) in rows.items():
        if size > (1_000 if SMOKE else 100_000 if GALLERY else math.inf):
            continue
        x = data(size)
        repeats = 1 if SMOKE or x.size > 1e6 else 3
        plain, rule = best_of(lambda x=x: ns.mixture.bulkem(x, rng=1), repeats)
        fits, certified = best_of(lambda x=x: ns.mixture.fit_many(x, 2, rng=1, family="inverse_gaussian"), repeats)
        share = np.mean([p["loglik"] > ll - 1e-2 for p, ll in zip(plain, fits.loglik, strict=True)])
        ours = np.mean(fits.status == 0)
        print(
            f"{size:10,d} {rule:10.5f} {certified:10.5f} {cpu:11.5f} {gpu:11.5f}  {share:4.0%} by the rule, {ours:4.0%} certified"
        )
        sizes.append(size)
        columns.append((rule, certified, cpu, gpu))
    return np.array(sizes), np.array(columns).T


def main():
    """Both tables and their plot."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    tables = [
        measure("Section 4.1: one data set, seconds", "values", SINGLE, lambda n: draw(1, n)),
        measure("Section 4.2: data sets of 2000 values, seconds", "data sets", MANY, lambda d: draw(d, 200 if SMOKE else 2000)),
    ]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), constrained_layout=True)
    names = ("the report's rule, 1 start", "certified, 30 starts", "report, R on a CPU", "report, CUDA (2014)")
    for axis, (sizes, columns), label in zip(axes, tables, ("values in one data set", "data sets of 2000 values"), strict=True):
        for name, column, style in zip(names, columns, ("o-", "s-", "x--", "+--"), strict=True):
            axis.loglog(sizes, column, style, label=name)
        axis.set(xlabel=label, ylabel="seconds")
    axes[0].legend(frameon=False)
    figure.savefig(folder / "mixture_tables.png", dpi=120)
    print(f"\nplot: {folder / 'mixture_tables.png'}")


if __name__ == "__main__":
    main()
