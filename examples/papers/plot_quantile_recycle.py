"""Recycling: the paper's figure.

Normals, exponentials and quasi-random points recycled into other distributions: figure 14 of W. T. Shaw, T. Luu, N. Brickman,
"Quantile Mechanics II" (2011), and what follows from it.
"""

import time

import numpy as np
import scipy.stats
from matplotlib import pyplot as plt

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_quantile_recycle.png"
DRAWS = 1_000_000

# %%
# Figure 14: an exponential variable is recycled into a hyperbolic one, whose tails are exponential, too: the map tends to a
# line.

hyperbolic = ns.distributions.hyperbolic(1.0, 0.0, 1.0)
v = np.linspace(0, 15, 400)
figure, axis = plt.subplots()
axis.plot(v, hyperbolic.isf(0.5 * np.exp(-v)), label="hyperbolic, alpha = delta = 1, beta = 0")
axis.plot(v, v, "k:", lw=0.8, label="v")
axis.set(xlabel="exponential v", ylabel="Q(v)")
axis.legend(frameon=False)
plt.show()

# %%
# Normals become Student's t by a table, at a cost in proportion to their number.

t4 = ns.distributions.student_t(4.0, base="normal")
z = ns.random.normal(size=DRAWS, rng=1)
for n in (DRAWS // 100, DRAWS // 10, DRAWS):
    t4.transform(z[:n], workers=1)
    start = time.perf_counter()
    t4.transform(z[:n], workers=1)
    seconds = time.perf_counter() - start
    print(f"{n:>9,} values  {seconds:.5f} s  {1e9 * seconds / n:6.2f} ns a value")

# %%
# The expansion of Cornish and Fisher for the same map, to n^-4, fails in the tails and for few degrees of freedom, where the
# table is right to 14 digits.


def cornish_fisher(n, z):
    """Expansion of Student's t in 1/n to n^-4."""
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


points = np.linspace(0.5, 8, 100)
figure, axis = plt.subplots()
for n in (4, 10, 100):
    table = ns.distributions.student_t(n, base="normal").transform(points)
    axis.semilogy(points, np.abs(cornish_fisher(n, points) / table - 1), label=f"n = {n}")
axis.set(xlabel="z", ylabel="relative error", title="expansion of Cornish and Fisher for t(n)")
axis.legend(frameon=False)
plt.show()

# %%
# Margins of a copula: the same correlated normals, and the same over a chi variable, become columns of variance gamma
# variates in one step. Both copulas have the same margins, but not as often both columns in their worst 1 %.

rho, shown = 0.5, 3000
z = ns.random.normal(size=(DRAWS, 2), rng=3)
z[:, 1] = rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]
margins = [ns.distributions.variance_gamma(0.8, 1.5, 0.3), ns.distributions.variance_gamma(1.5, 2.0, -0.5)]
gaussian = ns.quantile.recycle(z, "normal", margins)
chi2 = 2 * ns.random.gamma(2.0, 1.0, (DRAWS, 1), rng=4)  # four degrees of freedom
student = ns.quantile.recycle(z / np.sqrt(chi2 / 4), ns.distributions.student_t(4.0), margins)
worst = [m.ppf(0.01) for m in margins]
figure, axis = plt.subplots()
for name, x in (("Gaussian copula", gaussian), ("t(4) copula", student)):
    joint = np.mean((x[:, 0] < worst[0]) & (x[:, 1] < worst[1]))
    print(f"{name}: both in their worst 1 % in {joint:.3%} of the draws")
    axis.plot(*x[:shown].T, ".", ms=2, label=name)
axis.set(xlabel="VG(0.8, 1.5, 0.3)", ylabel="VG(1.5, 2, -0.5)")
axis.legend(frameon=False)
plt.show()

# %%
# Quasi-random points stay so evenly spread when they are recycled: the price of a ten-day call option under normal inverse
# Gaussian returns has a smaller error by Sobol points than by pseudo-random numbers.

days = [ns.distributions.nig(50.0, -5.0, 0.01)] * 10
SIZES, RUNS = [2**k for k in (8, 10, 12, 14)], 16


def price(u):
    """Mean payoff of a call at strike 1 on exp of the sum of ten returns, from uniform points (n, 10)."""
    returns = ns.quantile.recycle(np.maximum(u, 2.0**-54), "uniform", days)
    return np.mean(np.maximum(np.exp(returns.sum(axis=1)) - 1.0, 0.0))


def sobol(n, seed):
    """Scrambled Sobol points."""
    return scipy.stats.qmc.Sobol(10, rng=seed).random(n)


def pseudo_random(n, seed):
    """Pseudo-random points."""
    return ns.random.uniform(size=(n, 10), rng=seed)


figure, axis = plt.subplots()
for name, points in (("Sobol points", sobol), ("pseudo-random numbers", pseudo_random)):
    prices = np.array([[price(points(n, seed)) for seed in range(RUNS)] for n in SIZES])
    print(f"{name}: {prices[-1].mean():.6f} +- {prices[-1].std():.1e} of {SIZES[-1]:,} points")
    axis.loglog(SIZES, prices.std(axis=1), "o-", label=name)
axis.set(xlabel="points", ylabel="standard error of the price")
axis.legend(frameon=False)
plt.show()
