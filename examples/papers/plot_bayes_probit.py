"""Horseshoe probit: the paper's study.

The study of Terenin, Dong and Draper (2018): a posterior of synthetic data, time against rows, and how the samplers mix.
"""

import numpy as np
from matplotlib import pyplot as plt

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_bayes_probit.png"
ROWS, COLUMNS, ITERATIONS = 5_000, 50, 1_000


def synthetic(n, p, seed=1):
    """Standard normal columns, of which six have an effect."""
    rng = np.random.default_rng(seed)
    X, b = rng.standard_normal((n, p)), np.zeros(p)
    b[:6] = [1.3, 4.0, -1.0, 1.6, 5.0, -2.0]
    return X, X @ b + rng.standard_normal(n) > 0, b


# %%
# The synthetic data of their section 5.1: six effects among many columns. The posterior finds them and leaves the others at
# 0.

X, y, truth = synthetic(ROWS, COLUMNS)
model = ns.bayes.HorseshoeProbit(fit_intercept=False, draws=ITERATIONS, rng=1).fit(X, y)
table = model.summary(level=0.95)
inside = np.mean((table["lower"][:COLUMNS] <= truth) & (truth <= table["upper"][:COLUMNS]))
print(f"sampler {model.sampler_}, largest R-hat {table['rhat'].max():.3f}, {inside:.0%} of the effects inside their intervals")

figure, axis = plt.subplots()
middle, low, high = (table[name][:20] for name in ("mean", "lower", "upper"))
axis.errorbar(np.arange(20), middle, [middle - low, high - middle], fmt="ko", ms=3, label="posterior, 95 %")
axis.plot(truth[:20], "r_", ms=12, label="truth")
axis.set(xlabel="coefficient", title=f"{ROWS:,} rows, {COLUMNS} columns")
axis.legend()
plt.show()

# %%
# The time of an iteration of their Gibbs sampler grows with the number of rows. Their figure 1 shows the same for a GPU of
# 2015, with up to 10^6 rows and 10^4 columns. A callback stops each fit: this is a timing, not a posterior.

SIZES = 1_000, 10_000, 50_000
figure, axis = plt.subplots()
for p in (20, 100):
    times = []
    for n in SIZES:
        X, y, _ = synthetic(n, p)
        options = dict(
            fit_intercept=False, sampler="gibbs", chains=1, keep="moments", dtype="float32", rng=1, warmup=0, draws=200
        )
        for count in (5, 100):  # the first compiles
            fitted = ns.bayes.HorseshoeProbit(**options, callback=lambda state: True, callback_every=count).fit(X, y)
        times.append(fitted.stats_["ms_per_iteration"])
        print(f"{n:7,d} rows, {p:3d} columns: {times[-1]:.3f} ms an iteration")
    axis.loglog(SIZES, times, "o-", label=f"{p} columns")
axis.set(xlabel="rows", ylabel="ms per iteration", title="the paper's Gibbs sampler, float32")
axis.legend()
plt.show()

# %%
# A rare outcome is hard for Gibbs samplers with latent variables: in the case study of the paper the autocorrelation at lag 1
# was between 0.88 and 0.98. Other samplers of the same posterior mix better. Chains that have not converged, as those of
# "gibbs" here, warn, and their effective sample sizes (ESS) are rough.

rng = np.random.default_rng(3)
X = rng.standard_normal((ROWS, 10))
y = X @ np.concatenate([[0.4, -0.3], np.zeros(8)]) - 2.6 + rng.standard_normal(ROWS) > 0
figure, axis = plt.subplots()
print(f"{y.mean():.2%} of the outcomes are positive")
print(f"{'sampler':10s} {'lag 1':>6s} {'R-hat':>6s} {'ESS per s, slowest':>19s}")
for kind in ("gibbs", "px-gibbs", "split-hmc", "surrogate"):
    model = ns.bayes.HorseshoeProbit(sampler=kind, chains=2, warmup=ITERATIONS // 2, draws=2 * ITERATIONS, rng=2).fit(X, y)
    draws = np.concatenate([model.draws_["intercept"][:, :, None], model.draws_["beta"]], axis=2)
    sizes = ns.bayes.ess_bulk(draws)
    slow = draws[:, :, np.argmin(sizes)]
    slow = slow - slow.mean()
    lags = np.arange(min(60, ITERATIONS))
    rho = np.array([np.mean(slow[:, : slow.shape[1] - h] * slow[:, h:]) for h in lags]) / np.mean(slow**2)
    seconds = model.stats_["ms_per_iteration"] * 1e-3 * draws.shape[1]
    print(f"{kind:10s} {rho[1]:6.3f} {ns.bayes.rhat(draws).max():6.3f} {sizes.min() / seconds:19.1f}")
    axis.plot(lags, rho, label=kind)
axis.set(xlabel="lag", ylabel="autocorrelation of the slowest coefficient")
axis.legend()
plt.show()
