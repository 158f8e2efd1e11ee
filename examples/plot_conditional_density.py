"""Densities given another variable.

Disease progression given the body-mass index: conditional densities, quantiles and highest-density regions. The data are 442
diabetes patients (Efron, Hastie, Johnstone and Tibshirani 2004, shipped with scikit-learn): the body-mass index, and a measure
of disease progression one year later, which is at least 0.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_conditional_density.png"
data = load_diabetes(scaled=False)
bmi, progression = data.data[:, data.feature_names.index("bmi")], data.target

# %%
# The density of the progression at 97 body-mass indices: positions are given as lowest, highest, count for each variable, and
# the progression is reflected at its lower bound 0.

POSITIONS = 97, 421
axes = [(18.0, 42.0, POSITIONS[0]), (0.0, 420.0, POSITIONS[1])]
f = ns.kde.conditional(bmi, progression, axes, kernel="triweight", boundary={1: ("reflect", 0.0, None)})
a, b = np.sqrt(np.diag(f.H))
print(f"half widths of the kernel: {a:.2f} kg/m^2, {b:.1f} in progression")

# %%
# Means and quantiles by index. Where few patients are near, the curves are worth little: so their number is shown.

x, y = f.grid
low, median, high = f.quantile([0.1, 0.5, 0.9])
mean = f.mean()
chosen = [int(np.argmin(np.abs(x - v))) for v in (20.0, 25.0, 30.0, 35.0)]
print(f"{'index':>6s} {'patients near':>14s} {'mean':>6s} {'median':>7s} {'10 % to 90 %':>14s}")
for i in chosen:
    near = np.count_nonzero(np.abs(bmi - x[i]) < a)
    print(f"{x[i]:6.0f} {near:14d} {mean[i]:6.0f} {median[i]:7.0f} {low[i]:6.0f} to {high[i]:4.0f}")

figure, axis = plt.subplots()
image = axis.pcolormesh(x, y, f.density.T, shading="nearest", cmap="Greys")
figure.colorbar(image, ax=axis, label="density given the index")
axis.plot(bmi, progression, ".", ms=2, color="tab:orange")
axis.plot(x, median, "-", color="tab:blue", label="median")
axis.plot(x, low, "--", color="tab:blue", label="10 % and 90 %")
axis.plot(x, high, "--", color="tab:blue")
axis.legend(frameon=False, loc="upper left")
axis.set(xlabel="body-mass index, kg/m²", ylabel="disease progression after a year")
plt.show()

# %%
# Sections at four indices, with the most likely 80 % of each.

inside = f.hdr_levels(0.8)
figure, axis = plt.subplots()
for i, colour in zip(chosen, ("tab:blue", "tab:green", "tab:orange", "tab:red"), strict=True):
    axis.plot(y, f.density[i], color=colour, label=f"index {x[i]:.0f}")
    axis.fill_between(y, f.density[i], where=f.density[i] >= inside[i], color=colour, alpha=0.15)
axis.legend(frameon=False, title="shaded: most likely 80 %")
axis.set(xlabel="disease progression after a year", ylabel="density given the index")
plt.show()
