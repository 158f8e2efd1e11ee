"""Stable fits: the paper's table.

Table 9 and figures 13 and 14 of Julian-Moreno and others (2016), at a smaller scale.

    python examples/plot_stable_fit.py --output FOLDER

They fitted 20 sets of 1000 values at each of 17,400 points of alpha in [0.6, 2], beta in [0, 1], loc and scale, by a contracting
grid on GPUs, in 20.1, 82.7 or 120 ms a fit (libstable on a processor took 11.3 s). Here: fewer points, maximum likelihood by
quasi-Newton steps on one core, and rows below alpha = 0.6, where their start, McCulloch's quantiles, does not exist. Times are
compared with theirs over the rows of their range only, and drawn for alpha and beta, not for loc and scale.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from common import GALLERY, OUTPUT, SMOKE
from matplotlib import pyplot as plt

import numbastats as ns


def main():
    """Fit, print the table, draw the bias."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    alphas = [0.4, 1.5] if SMOKE else [0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 1.95, 2.0]
    betas = [0.5] if SMOKE else [0.0, 0.5, 1.0] if GALLERY else [0.0, 0.5, 0.9, 1.0]
    sets, size = (2, 200) if SMOKE else (5, 1000) if GALLERY else (20, 1000)
    rng = np.random.default_rng(13)
    for alpha, beta in ((1.5, 0.0), (0.4, 0.5), (0.6, 1.0), (2.0, 0.0)):  # compiles, and makes the tables of the quantile method
        ns.stable.fit(ns.stable.rvs(alpha, beta, size=200, rng=1))

    print(f"{sets} sets of {size} values each; loc in [-1, 1], scale in [0.5, 3]; errors of alpha and beta")
    print(f"{'alpha':>6s} {'beta':>5s} {'bias':>8s} {'rmse':>7s} {'bias':>8s} {'rmse':>7s} {'ms':>7s} {'95 %':>7s}  converged")
    errors, times = {}, {}
    for alpha in alphas:
        for beta in betas:
            found, spent, good = [], [], 0
            for _ in range(sets):
                loc, scale = rng.uniform(-1.0, 1.0), rng.uniform(0.5, 3.0)
                x = ns.stable.rvs(alpha, beta, loc, scale, size, rng=rng)
                start = time.perf_counter()
                result = ns.stable.fit(x, workers=1)
                spent.append(1e3 * (time.perf_counter() - start))
                good += result.converged
                # at alpha = 2 beta has no meaning
                found.append(result.params[:2] - [alpha, beta] if alpha < 2.0 else [result.params[0] - alpha, np.nan])
            found = np.array(found)
            errors[alpha, beta] = found
            times[alpha] = times.get(alpha, []) + spent
            bias, rmse = found.mean(axis=0), np.sqrt((found**2).mean(axis=0))
            print(
                f"{alpha:6.2f} {beta:5.2f} {bias[0]:8.4f} {rmse[0]:7.4f} {bias[1]:8.4f} {rmse[1]:7.4f} "
                f"{np.mean(spent):7.1f} {np.quantile(spent, 0.95):7.1f}  {good}/{sets}"
            )
    print("\nms a fit, table 9 (means): the paper's GPUs 20.1, 82.7 and 120, libstable 11,291, for alpha in [0.6, 2]")
    for name, low, high in (
        ("ours, their range", 0.6, 2.0),
        ("alpha >= 1.2", 1.2, 2.0),
        ("alpha < 0.6, which they cannot fit", 0.0, 0.59),
    ):
        spent = [t for a, ts in times.items() if low <= a <= high for t in ts]
        if spent:
            print(f"{name}: mean {np.mean(spent):.1f} ms, 95 % below {np.quantile(spent, 0.95):.1f} ms")

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), constrained_layout=True)
    for axis, column, name in ((axes[0], 0, "alpha"), (axes[1], 1, "beta")):
        for beta in betas:
            means = [errors[a, beta][:, column].mean() for a in alphas]
            spread = [errors[a, beta][:, column].std() / np.sqrt(sets) for a in alphas]
            axis.errorbar(alphas, means, spread, fmt="o-", ms=3, label=f"beta = {beta}")
        axis.axhline(0.0, color="0.7")
        axis.set(xlabel="alpha", ylabel=f"bias of {name}", title=f"{sets} sets of {size} values")
    axes[0].legend()
    path = folder / "stable_fit.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
