"""Sparse regression of 64 columns.

Disease progression of 442 diabetes patients (Efron, Hastie, Johnstone and Tibshirani 2004, shipped with scikit-learn): ten
measurements, their squares and their products are 64 columns, of which few matter. The horseshoe prior says which, how sure
that is, and what a new patient has to expect.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_sparse_regression.png"
DRAWS = 10_000

# %%
# The columns, standardised, and a third of the patients set aside. The square of sex says nothing new and is left out.

data = load_diabetes()
terms = PolynomialFeatures(2, include_bias=False).fit(data.data)
names = terms.get_feature_names_out(data.feature_names)
kept = names != "sex^2"
X, y = StandardScaler().fit_transform(terms.transform(data.data)[:, kept]), data.target
order = np.random.default_rng(0).permutation(y.size)
seen, new = order[: 2 * y.size // 3], order[2 * y.size // 3 :]

model = ns.bayes.HorseshoeRegression(draws=DRAWS, rng=1).fit(X[seen], y[seen])
print(f"sampler {model.sampler_}, converged: {model.converged_}, {X.shape[1]} columns, {seen.size} patients")

# %%
# The ten largest effects, with intervals of 90 %. Where one crosses 0, the data leave open whether there is an effect.

table = model.summary(level=0.9)
rows = {name: i for i, name in enumerate(table["name"])}
columns = [i for name, i in rows.items() if name.startswith("x")]
largest = sorted(columns, key=lambda i: -abs(table["mean"][i]))[:10][::-1]
labels = [names[kept][int(table["name"][i][1:])] for i in largest]
mean, low, high = (np.array([table[name][i] for i in largest]) for name in ("mean", "lower", "upper"))
figure, axis = plt.subplots(layout="constrained")
axis.errorbar(mean, np.arange(10), xerr=[mean - low, high - mean], fmt="o", color="0.2")
axis.axvline(0.0, color="0.7")
axis.set_yticks(np.arange(10), labels)
axis.set(xlabel="change of the progression by one standard deviation, 90 %")
plt.show()

# %%
# Patients that the model has not seen: the error of the means beside that of a lasso with its penalty by cross-validation,
# and how many outcomes lie within intervals of 90 %.

middle, low, high = model.predict(X[new], interval=0.9, kind="outcome")
lasso = LassoCV(cv=5, max_iter=100_000, random_state=0).fit(X[seen], y[seen])
for name, predicted in (("horseshoe", middle), ("lasso", lasso.predict(X[new])), ("mean", np.full(new.size, y[seen].mean()))):
    print(f"{name:10s} root mean squared error {np.sqrt(np.mean((predicted - y[new]) ** 2)):.1f}")
print(f"{np.mean((low <= y[new]) & (y[new] <= high)):.0%} of the new outcomes within intervals of 90 %")

rank = np.argsort(middle)
figure, axis = plt.subplots(layout="constrained")
axis.fill_between(np.arange(new.size), low[rank], high[rank], color="0.88", label="90 %")
axis.plot(np.arange(new.size), middle[rank], label="prediction")
axis.plot(np.arange(new.size), y[new][rank], ".", color="0.3", label="outcome")
axis.set(xlabel="new patients, by their prediction", ylabel="progression after a year")
axis.legend(frameon=False)
plt.show()
