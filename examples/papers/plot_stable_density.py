"""Stable densities: the paper's experiments.

Tables 2 to 8 and figures 7 to 12 of J. Julian-Moreno and others, "Fast parallel alpha-stable distribution function evaluation
and parameter estimation using OpenCL in GPGPUs" (2016), our figures beside the paper's, with alpha = 0.1 and 0.4 added.
"""

import functools
import time

import numpy as np
from matplotlib import pyplot as plt

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_stable_density.png"
POINTS = 500


def best_of(function, repeats=3):
    """Shortest wall time in seconds, after a first call that may compile."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


# %%
# The densities, and the tails, which fall as a power unless alpha = 2.

x = np.linspace(-8, 8, 801)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for a in (0.5, 0.75, 1.0, 1.5, 2.0):
    left.plot(x, ns.stable.pdf(x, a, 0.5), label=f"alpha = {a:g}")
left.set(xlabel="x", ylabel="density, beta = 0.5, S0")
far = np.logspace(0, 12, 100)
for a in (0.5, 1.0, 1.5, 1.9):
    right.loglog(far, ns.stable.sf(far, a, 0.5), label=f"alpha = {a:g}")
right.set(xlabel="x", ylabel="survival function, beta = 0.5")
for axis in (left, right):
    axis.legend(frameon=False)
plt.show()

# %%
# Tables 2, 4 and 7: medians of relative errors for abs(x) < 100. The paper's are differences from libstable, which is itself
# wrong in places. Ours are differences between two ways of the library, tables and point by point, beside its own estimate of
# the error; those of quantiles are of x from ppf(cdf(x)). None is a true error: these, against 40 digits, are on the page on
# accuracy.

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

x = np.random.default_rng(1).uniform(-100.0, 100.0, POINTS)
print("                          pdf: paper     ours estimate |  cdf: paper     ours estimate |  ppf: paper     ours")
for a, b in [*ADDED, *PAPER]:
    theirs = PAPER.get((a, b), (np.nan,) * 3)
    line = f"alpha {a:4g} beta {b:3g} "
    for function, paper in zip((ns.stable.pdf, ns.stable.cdf), theirs, strict=False):
        value, estimate = function(x, a, b, error=True)
        table = function(x, a, b, method="table")
        keep = value > 0
        ours = np.median(np.abs(table - value)[keep] / value[keep]), np.median(estimate[keep] / value[keep])
        line += f"{paper:14.1e}" + "".join(f"{v:9.1e}" for v in ours) + " |"
    z = np.linspace(*ns.stable.ppf([0.1, 0.9], a, b, param="S1"), 101)
    z = z[z != 0]
    back = ns.stable.ppf(ns.stable.cdf(z, a, b, param="S1", method="quadrature"), a, b, param="S1")
    print(line + f"{theirs[2]:14.1e}{np.median(np.abs(back - z) / np.abs(z)):9.1e}")

# %%
# Tables 3, 5, 6 and 8: microseconds a point of the paper's fastest GPU, of libstable on one thread, and ours on one core:
# point by point, and by a table that is made for the call. Means over the paper's distributions.

PAPER_TIMES = {"pdf": (2.8, 31.1), "cdf": (2.4, 52.5), "pdf_cdf": (2.6, 82.9), "ppf": (6.5, 263.1)}
EVERY = 2  # of the paper's distributions every second

rng = np.random.default_rng(2)
p = rng.uniform(0.1, 0.9, POINTS)
print(f"{'':8s} {'GPU':>6s} {'libstable':>10s} {'point by point':>15s} {'with a table':>13s}")
for name, (gpu, libstable) in PAPER_TIMES.items():
    function, times = getattr(ns.stable, name), []
    for a, b in list(PAPER)[::EVERY]:
        if name == "ppf":  # distributions that differ take Newton's method
            single = functools.partial(function, p, np.full(POINTS, a), b, workers=1)
            shared = [functools.partial(function, p, a + 1e-9 * (i + 1), b, workers=1) for i in range(4)]
        else:
            single = functools.partial(function, x, a, b, workers=1, method="quadrature")
            shared = [functools.partial(function, x, a + 1e-9 * (i + 1), b, workers=1, method="table") for i in range(4)]
        turns = iter(shared)  # an alpha of its own for each call, whose table is not there yet
        times.append((best_of(single), best_of(lambda turns=turns: next(turns)())))
    ours = np.mean(times, axis=0) / POINTS * 1e6
    print(f"{name:8s} {gpu:6.1f} {libstable:10.1f} {ours[0]:15.2f} {ours[1]:13.2f}")

# %%
# Figures 7, 9, 11 and 12: time against the number of points, the table included: it pays from a few hundred points on.

SIZES = 100, 1_000, 10_000, 100_000
figure, axis = plt.subplots()
for name in ("pdf", "cdf", "ppf"):
    function, times = getattr(ns.stable, name), []
    for n in SIZES:
        points = np.random.default_rng(2).random(n) if name == "ppf" else np.random.default_rng(2).uniform(-100, 100, n)
        turns = iter(1.5 + 1e-9 * (np.arange(4) + n))
        times.append(best_of(lambda f=function, x=points, turns=turns: f(x, next(turns), 0.5, workers=1)) / n)
    axis.loglog(SIZES, np.array(times) * 1e9, "o-", label=name)
axis.set(xlabel="points", ylabel="ns per point, table included, one core")
axis.legend(frameon=False)
plt.show()

# %%
# Figures 8 and 10: time against alpha, of our rule and of the paper's adaptive one (Gauss and Kronrod); beta hardly matters.

ALPHAS = np.arange(0.15, 2.0, 0.1)
x = np.random.default_rng(3).uniform(-100.0, 100.0, POINTS)
figure, axis = plt.subplots()
for name in ("pdf", "cdf"):
    for method in ("quadrature", "gauss-kronrod"):
        function, few = getattr(ns.stable, name), x if method == "quadrature" else x[: POINTS // 10]
        calls = [functools.partial(function, few, a, 0.5, method=method, workers=1) for a in ALPHAS]
        axis.semilogy(ALPHAS, [best_of(call, 2) / few.size * 1e6 for call in calls], label=f"{name}, {method}")
axis.set(xlabel="alpha", ylabel="us per point, one core, beta = 0.5")
axis.legend(frameon=False)
plt.show()
