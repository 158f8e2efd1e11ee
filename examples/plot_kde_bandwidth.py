"""Choosing a bandwidth.

Rules and cross-validation on a mixture that is known, and on body-mass indices. The real data are the body-mass indices of 442
diabetes patients (Efron, Hastie, Johnstone and Tibshirani 2004, shipped with scikit-learn), rounded to 0.1; the others are 300
draws of a mixture of two normal distributions.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_kde_bandwidth.png"
RULES = ("eq9", "isj", "plugin", "lscv", "likelihood-cv")

# %%
# Where the density is known, the integrated squared error (ISE) judges. "eq9", the rule for a normal distribution, is much
# too wide for two modes.

truth = ns.distributions.Mixture([ns.distributions.Normal(54, 6), ns.distributions.Normal(80, 6)], [0.35, 0.65])
x = truth.rvs(300, rng=1)
grid = np.linspace(x.min() - 5, x.max() + 5, 801)

print(f"{'rule':>14s} {'half width':>11s} {'ISE':>10s}")
figure, axis = plt.subplots()
for rule in RULES:
    model = ns.kde.KDE(bandwidth=rule).fit(x)
    f = model.pdf(grid)
    error = np.sum((f - truth.pdf(grid)) ** 2) * (grid[1] - grid[0])
    print(f"{rule:>14s} {np.sqrt(model.H_[0, 0]):11.2f} {error:10.2e}")
    axis.plot(grid, f, label=rule)
axis.plot(grid, truth.pdf(grid), "k:", label="truth")
axis.legend(frameon=False)
axis.set(xlabel="mixture of two normal distributions", ylabel="density")
plt.show()

# %%
# On data nothing but plausibility judges. Rounded values repeat, and cross-validation warns where it takes the repeats for
# structure; the warnings are shown beside the rules that gave them.

data = load_diabetes(scaled=False)
bmi = data.data[:, data.feature_names.index("bmi")]
grid = np.linspace(bmi.min() - 5, bmi.max() + 5, 801)

print(f"{'rule':>14s} {'half width':>11s}")
figure, axis = plt.subplots()
for rule in RULES:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = ns.kde.KDE(bandwidth=rule).fit(bmi)
    print(f"{rule:>14s} {np.sqrt(model.H_[0, 0]):11.2f}", *(f"  ({w.message})" for w in said))
    axis.plot(grid, model.pdf(grid), label=rule)
axis.legend(frameon=False)
axis.set(xlabel="body-mass index, kg/m²", ylabel="density")
plt.show()
