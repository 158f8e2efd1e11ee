"""Stable fits: the paper's table.

Table 9 and figures 13 and 14 of J. Julian-Moreno and others (2016), at a smaller scale. They fitted 20 sets of 1000 values at
each of 17,400 points of alpha in [0.6, 2], beta in [0, 1], loc and scale, by a contracting grid on GPUs, in 20.1, 82.7 or 120
ms a fit (libstable on a processor took 11.3 s). Here are fewer points, maximum likelihood by quasi-Newton steps on one core,
and alpha below 0.6, where their start, McCulloch's quantiles, does not exist.
"""

import time

import numpy as np
from matplotlib import pyplot as plt

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_stable_fit.png"
ALPHAS = [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 1.95, 2.0]
BETAS = [0.0, 0.5, 1.0]
SETS, SIZE = 5, 1000

# %%
# Biases and root mean squared errors of alpha and beta, and milliseconds a fit. The location is drawn from [-1, 1], the scale
# from [0.5, 3]. At alpha = 2 beta has no meaning.

rng = np.random.default_rng(13)
for alpha, beta in ((1.5, 0.0), (0.4, 0.5), (0.6, 1.0), (2.0, 0.0)):  # compiles, and makes tables that all fits use
    ns.stable.fit(ns.stable.rvs(alpha, beta, size=200, rng=1))

errors, times = {}, {}
print(f"{'alpha':>6s} {'beta':>5s} {'bias':>8s} {'rmse':>7s} {'bias':>8s} {'rmse':>7s} {'ms':>7s}  converged")
for alpha in ALPHAS:
    for beta in BETAS:
        found, spent, good = [], [], 0
        for _ in range(SETS):
            x = ns.stable.rvs(alpha, beta, rng.uniform(-1.0, 1.0), rng.uniform(0.5, 3.0), SIZE, rng=rng)
            start = time.perf_counter()
            result = ns.stable.fit(x, workers=1)
            spent.append(1e3 * (time.perf_counter() - start))
            good += result.converged
            found.append(result.params[:2] - [alpha, beta if alpha < 2.0 else np.nan])
        errors[alpha, beta] = found = np.array(found)
        times[alpha] = times.get(alpha, []) + spent
        bias, rmse = found.mean(axis=0), np.sqrt((found**2).mean(axis=0))
        print(
            f"{alpha:6.2f} {beta:5.2f} {bias[0]:8.4f} {rmse[0]:7.4f} {bias[1]:8.4f} {rmse[1]:7.4f} "
            f"{np.mean(spent):7.1f}  {good}/{SETS}"
        )

# %%
# Times beside theirs, over the rows of their range, and below it.

for name, low, high in (("their range, alpha in [0.6, 2]", 0.6, 2.0), ("alpha < 0.6", 0.0, 0.59)):
    spent = [t for a, several in times.items() if low <= a <= high for t in several]
    print(f"{name}: mean {np.mean(spent):.1f} ms, 95 % below {np.quantile(spent, 0.95):.1f} ms")

# %%
# Figures 13 and 14: biases with their standard errors.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for axis, column, name in ((axes[0], 0, "alpha"), (axes[1], 1, "beta")):
    for beta in BETAS:
        means = [errors[a, beta][:, column].mean() for a in ALPHAS]
        spread = [errors[a, beta][:, column].std() / np.sqrt(SETS) for a in ALPHAS]
        axis.errorbar(ALPHAS, means, spread, fmt="o-", ms=3, label=f"beta = {beta}")
    axis.axhline(0.0, color="0.7")
    axis.set(xlabel="alpha", ylabel=f"bias of {name}")
axes[0].legend()
plt.show()
