"""Stable densities: the paper's experiments.

Experiments on the evaluation of stable distributions, our figures beside the paper's.

Tables 2 to 8 and figures 7 to 12 of Julian-Moreno et al., "Fast parallel alpha-stable distribution function evaluation and
parameter estimation using OpenCL in GPGPUs" (2016), with alpha = 0.1 and 0.4 added: median relative errors and their estimates
on |x| < 100, quantiles of distribution functions, time per point, and time against the number of points and the parameters.
The reference's errors are differences from libstable, which is itself wrong in places; "ours" are differences between two ways
of this library, tables and point by point. Both are therefore no true errors. Those, against integrals with 40 digits, are the
next lines, where the repository's reference points are at hand.

    python examples/plot_stable_density.py --output FOLDER
"""

from __future__ import annotations

import argparse
import csv
import functools
from pathlib import Path

import numpy as np
from common import OUTPUT, ROOT, SMOKE, best_of
from matplotlib import pyplot as plt

import numbastats as ns
from numbastats.stable import table_cache

# Median relative errors of tables 2 (pdf), 4 (cdf) and 7 (quantiles).
PAPER = {
    (0.25, 0.0): (8.6e-11, 5.0e-11, 1.5e-7),
    (0.25, 0.5): (1.1e-10, 4.5e-11, 3.9e-6),
    (0.25, 1.0): (2.5e-16, 1.5e-16, 6.5e-6),
    (0.5, 0.0): (2.3e-16, 3.8e-15, 7.9e-7),
    (0.5, 0.5): (2.1e-16, 7.5e-15, 4.2e-6),
    (0.75, 0.0): (9.2e-16, 2.6e-15, 2.2e-6),
    (0.75, 0.5): (8.7e-16, 1.8e-15, 2.9e-6),
    (0.75, 1.0): (4.1e-16, 3.6e-16, 6.9e-6),
    (1.25, 0.0): (1.3e-11, 1.5e-15, 4.7e-6),
    (1.25, 0.5): (1.2e-11, 2.2e-15, 1.9e-6),
    (1.25, 1.0): (1.8e-15, 6.7e-16, 7.0e-6),
    (1.5, 0.0): (3.0e-11, 1.4e-15, 2.6e-6),
    (1.5, 0.5): (2.9e-11, 1.6e-15, 1.1e-7),
    (1.5, 1.0): (4.1e-16, 6.7e-16, 2.6e-6),
}
ADDED = [(a, b) for a in (0.1, 0.4) for b in (0.0, 0.5, 1.0)]
# Microseconds a point for 1000 points, tables 3, 5, 6 and 8: its fastest GPU, libstable on one thread.
PAPER_TIMES = {"pdf": (2.8, 31.1), "cdf": (2.4, 52.5), "pdf_cdf": (2.6, 82.9), "ppf": (6.5, 263.1)}


def accuracy(n):
    """Tables 2, 4 and 7: one line a distribution."""
    x = np.random.default_rng(1).uniform(-100.0, 100.0, n)
    print("the paper's differences from libstable, and ours of tables from single points (ppf: of x from ppf(cdf(x)))")
    print(
        "medians, relative       pdf: paper      ours  estimate |     cdf: paper      ours  estimate |     ppf: paper      ours"
    )
    for a, b in ADDED + list(PAPER):
        theirs = PAPER.get((a, b), (np.nan,) * 3)
        line = f"alpha {a:4g} beta {b:3g} "
        for function, paper in zip((ns.stable.pdf, ns.stable.cdf), theirs, strict=False):
            value, estimate = function(x, a, b, error=True)
            table = function(x, a, b, method="table")
            keep = value > 0
            ours = np.median(np.abs(table - value)[keep] / value[keep]), np.median(estimate[keep] / value[keep])
            line += f"{paper:15.1e}" + "".join(f"{v:10.1e}" for v in ours) + " |"
        z = np.linspace(*ns.stable.ppf([0.1, 0.9], a, b, param="S1"), 101)
        z = z[z != 0]
        back = ns.stable.ppf(ns.stable.cdf(z, a, b, param="S1", method="quadrature"), a, b, param="S1")
        print(line + f"{theirs[2]:15.1e}{np.median(np.abs(back - z) / np.abs(z)):10.1e}")


REFERENCE = ROOT / "tests" / "reference" / "stable_reference_public.csv"


def true_errors():
    """Relative errors of both ways against the reference points, made with 40 digits; those with log density above -230."""
    if not REFERENCE.exists():
        return
    with open(REFERENCE) as f:
        rows = [r for r in csv.DictReader(f) if float(r["logpdf"]) > -230.0]
    a, b, x = (np.array([float(r[k]) for r in rows]) for k in ("alpha", "beta", "x"))
    dists = sorted({(p, q) for p, q in zip(a, b, strict=True) if 0.1 <= p < 2.0})[:: 10 if SMOKE else 1]
    print(f"true relative errors at {len(rows)} points:  point by point: median, largest | tables: median, largest")
    for name in ("pdf", "cdf", "sf"):
        function, want = getattr(ns.stable, name), np.array([float(r[name]) for r in rows])
        single, tabled = abs(function(x, a, b, method="quadrature") - want) / want, []
        for p, q in dists:
            mine = (a == p) & (b == q)
            tabled += list(abs(function(x[mine], p, q, method="table") - want[mine]) / want[mine])
        line = " | ".join(f"{np.median(e):.1e} {max(e):.1e}" for e in (single, tabled))
        print(f"{name:4s} {line}")


def speed(n=1000):
    """Tables 3, 5, 6 and 8, on one core: means over the reference's distributions."""
    print(f"us a point, {n} points   reference: GPU   libstable, 1 thread   ours, point by point   ours, table included")
    rng = np.random.default_rng(2)
    x, p = rng.uniform(-100.0, 100.0, n), rng.uniform(0.1, 0.9, n)
    dists = list(PAPER)[:: 5 if SMOKE else 1]
    for name, (gpu, libstable) in PAPER_TIMES.items():
        function, points = getattr(ns.stable, name), p if name == "ppf" else x
        varying = {} if name == "ppf" else {"method": "quadrature"}
        shared = {} if name == "ppf" else {"method": "table"}
        times = np.empty((len(dists), 2))
        for k, (a, b) in enumerate(dists):
            alpha = np.full(n, a) if name == "ppf" else a  # distributions that differ take Newton's method

            def with_table(function=function, points=points, a=a, b=b, shared=shared):
                table_cache.table.cache_clear()
                function(points, a, b, workers=1, **shared)

            def by_points(function=function, points=points, alpha=alpha, b=b, varying=varying):
                function(points, alpha, b, workers=1, **varying)

            times[k] = best_of(by_points, 3)[1], best_of(with_table, 3)[1]
        ours = times.mean(axis=0) / n * 1e6
        print(f"{name:20s} {gpu:19.1f} {libstable:21.1f} {ours[0]:22.2f} {ours[1]:22.2f}")


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
                table_cache.table.cache_clear()
                function(x, 1.5, 0.5, workers=1)

            times.append(best_of(first_call, 3)[1] / n)
        axis.loglog(sizes, np.array(times) * 1e9, "o-", label=name)
        print(f"{name}: " + ", ".join(f"{n:,} points {t * 1e9:.0f} ns" for n, t in zip(sizes, times, strict=True)))
    axis.set(xlabel="points", ylabel="ns per point, table included, one core")
    axis.legend(frameon=False)
    figure.savefig(folder / "stable_times.png", dpi=120)


def figure_parameters(folder, n=500):
    """Figures 8 and 10: time per point against alpha, of our method and of the reference's; beta hardly matters."""
    alphas = np.array([0.3, 0.9, 1.5]) if SMOKE else np.arange(0.15, 2.0, 0.05)
    x = np.random.default_rng(3).uniform(-100.0, 100.0, n)
    figure, axis = plt.subplots(figsize=(6.5, 4.4), constrained_layout=True)
    for name in ("pdf", "cdf"):
        for method in ("quadrature", "gauss-kronrod"):
            function = getattr(ns.stable, name)
            few = x if method == "quadrature" else x[: n // 10]
            calls = [functools.partial(function, few, a, 0.5, method=method, workers=1) for a in alphas]
            times = [best_of(call, 2)[1] / few.size for call in calls]
            axis.semilogy(alphas, np.array(times) * 1e6, label=f"{name}, {method}")
    axis.set(xlabel="alpha", ylabel="us per point, one core, beta = 0.5")
    axis.legend(frameon=False)
    figure.savefig(folder / "stable_parameters.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plots")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    accuracy(50 if SMOKE else 1000)
    true_errors()
    figure_densities(folder)
    speed(100 if SMOKE else 1000)
    figure_times(folder)
    figure_parameters(folder)
    print(f"plots: {folder}")


if __name__ == "__main__":
    main()
