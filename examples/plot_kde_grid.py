"""A density on a grid.

The density of correlated samples in the plane, against SciPy and scikit-learn: the same answer, times and errors.
"""

import time

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import gaussian_kde
from sklearn.neighbors import KernelDensity

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_kde_grid.png"
SAMPLES, SHAPE = 3_000, (135, 140)
x = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.6], [0.6, 2]], SAMPLES)
axes = ns.kde.regular_axes(x, shape=SHAPE)


def timed(function, repeats=3):
    """Result and shortest wall time in seconds, after a first call that may compile."""
    result, times = function(), []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return result, min(times)


# %%
# The Epanechnikov kernel ends, so the density is exactly 0 where no sample is near, and a bound of its error is known.

kde = ns.kde.KDE(workers=1)
f, ours = timed(lambda: kde.fit(x).grid(axes))
print(f"{SAMPLES:,} samples, {SHAPE[0]} x {SHAPE[1]} positions, one core: {ours * 1e3:.2f} ms")
print(f"error at most {kde.error_bound_:.1e} of the peak, {(f == 0).mean():.0%} of the positions exactly 0")

figure, axis = plt.subplots()
extent = [axes[1][0], axes[1][-1], axes[0][0], axes[0][-1]]
image = axis.imshow(np.where(f > 0, f, np.nan), origin="lower", extent=extent, aspect="auto")
figure.colorbar(image, ax=axis, label="density, white where exactly 0")
axis.set(xlabel="second variable", ylabel="first variable")
plt.show()

# %%
# scikit-learn's density with the same kernel and bandwidth is the same, to rounding.

mesh = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], -1)
h = ns.kde.bandwidth.eq9(x)
same, ours = timed(lambda: ns.kde.grid(x, axes, h=h, bw_convention="sklearn", workers=1))
tree = KernelDensity(kernel="epanechnikov", bandwidth=h).fit(x)
theirs, seconds = timed(lambda: np.exp(tree.score_samples(mesh)).reshape(SHAPE), 1)
print(f"scikit-learn: {seconds * 1e3:.1f} ms, {seconds / ours:.0f} times as long")
print(f"largest difference {np.abs(theirs - same).max() / same.max():.1e} of the peak")

# %%
# SciPy has the Gaussian kernel only, which never ends. With the same standard deviation it is another density, but a similar
# one: the Perkins score is the mass that both share.

g, seconds = timed(lambda: gaussian_kde(x.T, bw_method=h / np.sqrt(6))(mesh.T).reshape(SHAPE), 1)
print(f"SciPy: {seconds * 1e3:.1f} ms, {seconds / ours:.0f} times as long; Perkins score {ns.kde.perkins(f, g):.4f}")

figure, axis = plt.subplots()
image = axis.imshow(np.abs(f - g), origin="lower", extent=extent, aspect="auto")
figure.colorbar(image, ax=axis, label="difference of the two densities")
axis.set(xlabel="second variable", ylabel="first variable")
plt.show()
