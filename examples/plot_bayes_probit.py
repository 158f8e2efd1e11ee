"""Horseshoe probit: the paper's study.

The study of Terenin, Dong and Draper (2018): synthetic data, time against rows, and how the samplers mix.

    python examples/plot_bayes_probit.py --output FOLDER

Left: posterior of the synthetic data of their section 5.1. Middle: time of an iteration of their Gibbs sampler against the
number of rows (their figure 1, which is of a GPU of 2015 with up to 10^6 rows and 10^4 columns). Right: autocorrelation of the
slowest coefficient for a rare outcome, as in their case study; theirs was between 0.88 and 0.98 at lag 1. R-hat is printed with
every posterior: chains that have not converged, as those of "gibbs" on the rare outcome, warn, and their effective sample sizes
are rough.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from common import GALLERY, OUTPUT, SMOKE
from matplotlib import pyplot as plt

import numbastats as ns

SAMPLERS = ("gibbs", "px-gibbs", "split-hmc", "surrogate")


def synthetic(n, p, seed=1):
    """Standard normal columns; six coefficients are not zero."""
    rng = np.random.default_rng(seed)
    X, b = rng.standard_normal((n, p)), np.zeros(p)
    b[:6] = [1.3, 4.0, -1.0, 1.6, 5.0, -2.0]
    return X, X @ b + rng.standard_normal(n) > 0, b


def autocorrelation(x, lags):
    """Of the chains in the rows of x."""
    centred = x - x.mean()
    whole = np.mean(centred**2)
    return np.array([np.mean(centred[:, : x.shape[1] - h] * centred[:, h:]) / whole for h in range(lags)])


def main():
    """Draw the three panels."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.4), constrained_layout=True)

    rows, columns = (2_000, 20) if SMOKE else (5_000, 50) if GALLERY else (20_000, 100)
    X, y, truth = synthetic(rows, columns)
    length = dict(warmup=100, draws=50) if SMOKE else {}
    model = ns.bayes.HorseshoeProbit(fit_intercept=False, rng=1, **length).fit(X, y)
    table = model.summary(level=0.95)
    shown = slice(0, 20)
    middle, low, high = (table[name][shown] for name in ("mean", "lower", "upper"))
    axes[0].errorbar(np.arange(middle.size), middle, [middle - low, high - middle], fmt="ko", ms=3, label="posterior, 95 %")
    axes[0].plot(truth[shown], "r_", ms=12, label="truth")
    axes[0].set(xlabel="coefficient", title=f"{X.shape[0]:,} x {X.shape[1]}, sampler {model.sampler_}")
    axes[0].legend()
    covered = np.mean((table["lower"][: truth.size] <= truth) & (truth <= table["upper"][: truth.size]))
    worst = table["rhat"].max()
    print(f"synthetic data {X.shape}: sampler {model.sampler_}, R-hat {worst:.3f}, {covered:.0%} of the coefficients inside")
    print("their 95 % intervals")

    print(f"\n{'rows':>9s} {'columns':>8s} {'ms per iteration':>17s}")
    sizes = (1_000, 4_000) if SMOKE else (1_000, 10_000, 50_000) if GALLERY else (1_000, 10_000, 100_000, 300_000)
    for p in (20,) if SMOKE else (20, 100):
        times = []
        for n in sizes:
            X, y, _ = synthetic(n, p)
            options = dict(fit_intercept=False, sampler="gibbs", chains=1, keep="moments", dtype="float32", rng=1)
            count = 10 if n > 50_000 else 100
            # a timing, not a posterior: chains that are stopped are not judged
            options |= dict(warmup=0, draws=2 * count, callback=lambda state: True)
            ns.bayes.HorseshoeProbit(**options, callback_every=5).fit(X, y)
            start = time.perf_counter()
            fitted = ns.bayes.HorseshoeProbit(**options, callback_every=count).fit(X, y)
            times.append(fitted.stats_["ms_per_iteration"])
            print(f"{n:9,d} {p:8d} {times[-1]:17.3f}   ({time.perf_counter() - start:.2f} s with set-up)")
        axes[1].loglog(sizes, times, "o-", label=f"{p} columns")
    axes[1].set(xlabel="rows", ylabel="ms per iteration", title="the paper's Gibbs sampler, float32")
    axes[1].legend()

    n = 2_000 if SMOKE else 5_000 if GALLERY else 20_000
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 10))
    y = X @ np.concatenate([[0.4, -0.3], np.zeros(8)]) - 2.6 + rng.standard_normal(n) > 0
    print(f"\nrare outcome, {n:,} rows, mean {y.mean():.4f}")
    print(f"{'sampler':10s} {'lag 1':>6s} {'R-hat':>6s} {'ESS per s, slowest':>19s}")
    for kind in SAMPLERS:
        draws = 50 if SMOKE else 2000
        model = ns.bayes.HorseshoeProbit(sampler=kind, chains=2, warmup=60 if SMOKE else 500, draws=draws, rng=2).fit(X, y)
        everything = np.concatenate([model.draws_["intercept"][:, :, None], model.draws_["beta"]], axis=2)
        sizes = ns.bayes.ess_bulk(everything)
        slow = everything[:, :, np.argmin(sizes)]
        rho = autocorrelation(slow, min(60, draws // 2))
        per_second = sizes.min() / (model.stats_["ms_per_iteration"] * 1e-3 * draws)
        print(f"{kind:10s} {rho[1]:6.3f} {ns.bayes.rhat(everything).max():6.3f} {per_second:19.1f}")
        axes[2].plot(rho, label=kind)
    axes[2].set(xlabel="lag", ylabel="autocorrelation of the slowest coefficient", title=f"rare outcome ({y.mean():.2%})")
    axes[2].legend()
    path = folder / "bayes_probit.png"
    figure.savefig(path, dpi=120)
    print(f"\nwrote {path}")


if __name__ == "__main__":
    main()
