"""A mixture of body-mass indices.

How many groups do body-mass indices show, and of which family? The data are those of 442 diabetes patients (Efron, Hastie,
Johnstone and Tibshirani 2004, shipped with scikit-learn).
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_mixture_bmi.png"
data = load_diabetes(scaled=False)
x = data.data[:, data.feature_names.index("bmi")]

# %%
# One call fits one to four components and chooses by BIC; less is better. Of the families that are skewed by themselves one
# component is enough, the normal needs two.

MOST = 4
fits = {}
print(f"BIC{'':15s}" + "".join(f"{f'K = {K}':>10s}" for K in range(1, MOST + 1)))
for family in ("inverse_gaussian", "lognormal", "gamma", "normal"):
    batch = ns.mixture.fit_many([x], range(1, MOST + 1), family=family, rng=2015, se=True)
    fits[family] = batch[0]
    print(f"{family:18s}" + "".join(f"{value:10.2f}" for value in batch.criteria_[0]))

# %%
# The estimates of the chosen fits. Each is a local maximum of the likelihood that has been certified, which the message says.

for family, fit in fits.items():
    print(f"{family}: {fit.message}")
    for weight, error, mean in zip(fit.weights, fit.se["weights"], fit.component_means(), strict=True):
        doubt = f" +- {error:.3f}" if fit.n_components > 1 else ""
        print(f"    weight {weight:.3f}{doubt}, mean {mean:.2f}")

# %%
# The densities over the histogram.

figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
grid = np.linspace(x.min(), x.max(), 400)
for axis, (family, fit) in zip(axes.flat, fits.items(), strict=True):
    axis.hist(x, bins=40, density=True, color="0.85")
    axis.plot(grid, fit.pdf(grid), "k-", lw=1.4, label="mixture")
    for weight, centre, shape, mean in zip(fit.weights, fit.centres, fit.params, fit.component_means(), strict=True):
        part = ns.mixture.pdf(grid, [1.0], [centre], [shape], family=family)
        axis.plot(grid, weight * part, "--", lw=1.0, label=f"mean {mean:.1f}")
    axis.set(title=f"{family}, K = {fit.n_components}, BIC {fit.bic:.1f}", xlabel="body-mass index, kg/m²")
    axis.legend(frameon=False)
plt.show()
