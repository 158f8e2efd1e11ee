"""Recycling: the paper's figure.

Normals, exponentials and quasi-random points recycled into other distributions: figure 14 of the paper and what follows.

W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011). Prints

* the time of one million to one hundred million values, streamed, which grows in proportion;
* the error of the Cornish-Fisher expansion of Student's t against the table;
* correlation-preserving marginals: a Gaussian and a t copula folded into variance gamma marginals in one step;
* an option price under a normal inverse Gaussian distribution by Sobol points, against plain Monte Carlo;

and saves quantile_recycle.png. ``python examples/plot_quantile_recycle.py --output FOLDER``
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.stats
from common import OUTPUT, SMOKE
from matplotlib import pyplot as plt

import numbastats as ns

quantile, distributions = ns.quantile, ns.distributions


def growth():
    """Seconds of recycling n normals into t(4), in slabs of a million."""
    dist = distributions.student_t(4.0, base="normal")
    slab = np.empty(10_000 if SMOKE else 1_000_000)
    slab[:] = 0.5
    dist.transform(slab, out=slab, workers=1)
    rows = []
    for n in (10_000, 100_000) if SMOKE else (10_000, 1_000_000, 100_000_000):
        sizes = [min(slab.size, n - first) for first in range(0, n, slab.size)]
        z = ns.random.normal(size=sizes[0], rng=1)
        start = time.perf_counter()
        for size in sizes:
            dist.transform(z[:size], out=slab[:size], workers=1)
        rows.append((n, time.perf_counter() - start))
    return rows


def cornish_fisher(n, z):
    """Expansion of Student's t in 1/n to n^-4."""
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def copulas():
    """Columns of variance gamma variates with a Gaussian and with a t(4) copula, and how often both are in their worst 1 %."""
    n, rho = (20_000, 0.5) if SMOKE else (1_000_000, 0.5)
    z = ns.random.normal(size=(n, 2), rng=3)
    z[:, 1] = rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]
    marginals = [distributions.variance_gamma(0.8, 1.5, 0.3), distributions.variance_gamma(1.5, 2.0, -0.5)]
    gaussian = quantile.recycle(z, "normal", marginals)
    chi2 = 2 * ns.random.gamma(2.0, 1.0, (n, 1), rng=4)  # four degrees of freedom
    t = quantile.recycle(z / np.sqrt(chi2 / 4), distributions.student_t(4.0), marginals)
    worst = [m.ppf(0.01) for m in marginals]
    joint = [100 * np.mean(((x[:, 0] < worst[0]) & (x[:, 1] < worst[1])) * 1.0) for x in (gaussian, t)]
    return gaussian, t, joint


def option_price():
    """Call option on S = exp(X), X normal inverse Gaussian over ten days: errors of Sobol points and of pseudo-random numbers."""
    dists = [distributions.nig(50.0, -5.0, 0.01)] * 10
    strike = 1.0

    def price(u):
        x = quantile.recycle(u, "uniform", dists).sum(axis=1)
        return np.mean(np.maximum(np.exp(x) - strike, 0.0))

    sizes = [2**k for k in ((6, 8) if SMOKE else (8, 10, 12, 14, 16))]
    runs = 4 if SMOKE else 16
    kinds = {}
    for name in ("Sobol points", "pseudo-random"):
        spread = []
        for n in sizes:
            prices = []
            for seed in range(runs):
                if name == "Sobol points":
                    u = scipy.stats.qmc.Sobol(10, rng=seed).random(n)
                else:
                    u = ns.random.uniform(size=(n, 10), rng=seed)
                prices.append(price(np.maximum(u, 2.0**-54)))
            spread.append((np.mean(prices), np.std(prices)))
        kinds[name] = spread
    return sizes, kinds


def main():
    """Print the figures, save the plot."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    print(f"device: {'CUDA GPU' if ns.has_gpu() else 'CPU'}")

    print("\nnormals recycled into t(4), one thread, slabs of a million")
    times = growth()
    for n, seconds in times:
        print(f"  {n:>11,} values  {seconds:9.5f} s  {1e9 * seconds / n:6.2f} ns per value")

    print("\nrelative error of the Cornish-Fisher expansion to n^-4 (the table: 1e-14)")
    z = np.linspace(0.5, 8, 100)
    errors = {}
    for n in (4, 10, 100):
        exact = distributions.student_t(n, base="normal").transform(z)
        errors[n] = np.abs(cornish_fisher(n, z) / exact - 1)
        print(f"  n = {n:3d}: " + ", ".join(f"{np.interp(p, z, errors[n]):.1e} at z = {p}" for p in (2, 4, 6)))

    gaussian, t, joint = copulas()
    print(f"\nboth margins in their worst 1 %: Gaussian copula {joint[0]:.3f} %, t(4) copula {joint[1]:.3f} % of draws")

    sizes, prices = option_price()
    print("\nten-day call option under NIG returns: price and standard error")
    for i, n in enumerate(sizes):
        print(f"  {n:6d} points: " + ", ".join(f"{name} {v[i][0]:.6f} +- {v[i][1]:.1e}" for name, v in prices.items()))

    figure, axes = plt.subplots(2, 2, figsize=(10, 8), constrained_layout=True)
    axis = axes[0, 0]  # figure 14
    dist = distributions.hyperbolic(1.0, 0.0, 1.0)
    v = np.linspace(0, 15, 400)
    axis.plot(v, dist.isf(0.5 * np.exp(-v)), label="hyperbolic, alpha = delta = 1, beta = 0")
    axis.plot(v, v, "k:", lw=0.8, label="v")
    axis.set(xlabel="exponential v", ylabel="Q(v)", title="figure 14: exponential to hyperbolic")
    axis.legend(frameon=False)
    axis = axes[0, 1]
    for n, error in errors.items():
        axis.semilogy(z, error, label=f"n = {n}")
    axis.set(xlabel="z", ylabel="relative error", title="Cornish-Fisher expansion of t(n) to n^-4")
    axis.legend(frameon=False)
    axis = axes[1, 0]
    axis.plot(*gaussian[:3000].T, ".", ms=2, label="Gaussian copula")
    axis.plot(*t[:3000].T, ".", ms=2, label="t(4) copula")
    axis.set(xlabel="VG(0.8, 1.5, 0.3)", ylabel="VG(1.5, 2, -0.5)", title="two copulas, the same normals")
    axis.legend(frameon=False)
    axis = axes[1, 1]
    for name, values in prices.items():
        axis.loglog(sizes, [s for _, s in values], "o-", label=name)
    axis.set(xlabel="points", ylabel="standard error of the price", title="option under NIG returns")
    axis.legend(frameon=False)
    figure.savefig(folder / "quantile_recycle.png", dpi=120)
    print(f"\nplot: {folder / 'quantile_recycle.png'}")


if __name__ == "__main__":
    main()
