"""Families by kind of data.

How the families of distributions look at parameters that are usual for such data: one picture for each row of "A family of
distributions" in the guide.
"""

import numpy as np
from matplotlib import pyplot as plt

from numbastats import distributions as ds

# sphinx_gallery_thumbnail_path = "images/gallery/plot_families.png"


def densities(axis, title, unit, low, high, families):
    """Densities, or masses of counts, with the parameters that matter."""
    for i, d in enumerate(families):
        shapes = [f"{n}={v:g}" for n, v in d.params._asdict().items() if n not in ("loc", "scale", "delta", "mu")]
        label = f"{type(d).__name__}({', '.join(shapes)})"
        if d.is_discrete:
            k = np.arange(low, high + 1)
            axis.bar(k + 0.27 * (i - 1), d.pmf(k), width=0.27, label=label)
        else:
            x = np.linspace(low, high, 801)[1:-1]
            axis.plot(x, d.pdf(x), label=label)
    axis.set(title=title, xlabel=unit, ylim=(0.0, min(axis.get_ylim()[1], 3.0)))
    axis.legend(fontsize=8, loc="upper right")


# %%
# Positive values: sizes, which are skewed, and lifetimes.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
sizes = [ds.Gamma(2.0, scale=0.5), ds.Lognormal(0.7, scale=0.8), ds.InverseGaussian(1.0, 2.0)]
densities(left, "sizes > 0, skewed", "size", 0.0, 4.0, sizes)
lives = [ds.Weibull(1.7, scale=1.1), ds.LogLogistic(3.0), ds.BirnbaumSaunders(0.6)]
densities(right, "lifetimes", "years", 0.0, 3.0, lives)
plt.show()

# %%
# Extremes: maxima of blocks, and excesses over a threshold. The sign of the shape decides whether there is an upper bound.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
maxima = [ds.GEV(-0.2, 3.9, 0.25), ds.Gumbel(3.9, 0.25), ds.GEV(0.2, 3.9, 0.25)]
densities(left, "yearly maxima", "m", 3.3, 5.3, maxima)
excesses = [ds.GPD(0.5, scale=7.0), ds.GPD(0.1, scale=9.0), ds.Exponential(scale=10.0)]
densities(right, "excesses over a threshold", "million", 0.0, 40.0, excesses)
plt.show()

# %%
# The whole line: heavy tails on both sides, and skewness.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
heavy = [ds.StudentT(3.0), ds.Laplace(), ds.Cauchy(scale=0.7)]
densities(left, "measurements with outliers", "error", -5.0, 5.0, heavy)
skewed = [ds.SkewNormal(4.0), ds.ExGaussian(1.5, scale=0.6), ds.SkewT(3.0, 4.0)]
densities(right, "skewed to one side", "s", -2.0, 5.0, skewed)
plt.show()

# %%
# Daily returns, on a logarithmic axis, where tails are seen; shares, between 0 and 1; and counts.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
returns = [ds.NIG(1.2, -0.2, 1.0), ds.VarianceGamma(1.5, 1.8, -0.2), ds.StudentT(4.0, scale=0.7)]
densities(left, "daily returns", "%", -6.0, 6.0, returns)
left.set(yscale="log", ylim=(1e-5, 20.0))
shares = [ds.Beta(2.0, 5.0), ds.Beta(0.5, 0.5), ds.Kumaraswamy(2.0, 3.0)]
densities(middle, "shares between 0 and 1", "share", 0.0, 1.0, shares)
counts = [ds.Poisson(4.0), ds.NegativeBinomial(4.0, 2.0), ds.Geometric(4.0)]
densities(right, "counts", "count", 0, 14, counts)
plt.show()
