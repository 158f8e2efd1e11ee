"""Clusters of flowers.

Normal mixtures of four columns: covariance and number of clusters by criteria, and all pairs of columns with the ellipses. The
data are Fisher's 150 irises of three species (shipped with scikit-learn), whose species the fits do not see.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_mixture_clusters.png"
data = load_iris(as_frame=True)
flowers = data.data.rename(columns=lambda name: name.removesuffix(" (cm)"))

# %%
# All fourteen covariance models with one to five components. BIC and ICL both take two: two of the species overlap.

MOST = 5
for criterion in ("bic", "icl"):
    found = ns.mixture.fit(flowers, range(1, MOST + 1), covariance="all", criterion=criterion, rng=0)
    print(f"{criterion}: {found.n_components} components, covariance {found.covariance!r}, {found.message}")
ns.plot.criteria(found, "bic")
plt.show()

# %%
# Three components nearly are the species.

three = ns.mixture.fit(flowers, 3, covariance="full", se=True, rng=0)
counts = np.zeros((3, 3), int)
np.add.at(counts, (data.target.to_numpy(), three.predict(flowers)), 1)
print("species by component")
for name, row in zip(data.target_names, counts, strict=True):
    print(f"{name:12s}" + "".join(f"{n:5d}" for n in row))
ns.plot.mixture(three, flowers)
plt.show()

# %%
# What is known of a flower by its petal length alone is the conditional distribution, again a mixture.

wide = three.conditional({"petal length": 4.8})
print(f"with petals of 4.8 cm the weights are {wide.weights.round(2)}, the mean petal width {wide.mean()[-1]:.2f} cm")
