"""The tour's stable part: daily returns of the S&P 500, 1999-2018 (shipped with the package arch), and their tails.

The law is fitted by maximum likelihood; its density is compared with that of
the normal law of the same quartiles and with the data's histogram, and its tail with the data's.
"""

from __future__ import annotations

import numpy as np
import scipy.stats
from arch.data import sp500
from common import SMOKE, best_of, timed
from matplotlib import pyplot as plt

import numbastats as ns


def run(rows, folder):
    """Stable law of daily returns."""
    returns = 100 * np.diff(np.log(sp500.load()["Adj Close"].to_numpy()))
    fitted = returns[:500] if SMOKE else returns
    found, seconds = best_of(lambda: ns.stable.fit(fitted), 1 if SMOKE else 2)
    alpha, beta = found.params[:2]
    error = found.se
    law = found.law
    result = f"alpha {alpha:.3f} +- {error[0]:.3f}, beta {beta:+.2f} +- {error[1]:.2f}"
    rows.append((f"{fitted.size:,} daily returns, maximum likelihood", result, seconds, None, None))
    normal_scale = (np.quantile(returns, 0.75) - np.quantile(returns, 0.25)) / 1.3489795
    gain = law.loglik(returns) - scipy.stats.norm.logpdf(returns, np.median(returns), normal_scale).sum()
    rows.append(("log-likelihood above the normal law's", f"{gain:+.0f}", None, None, None))

    density, seconds = best_of(lambda: law.pdf(returns, workers=1), 3)
    few = returns[: 5 if SMOKE else 40]
    peer, peer_seconds = timed(lambda: scipy_density(few, law))
    difference = np.max(np.abs(density[: few.size] - peer) / peer)
    ratio = peer_seconds / few.size / (seconds / returns.size)
    rows.append(
        (f"density at {returns.size:,} returns, one core", f"agrees with SciPy to {difference:.1e}", seconds, "SciPy", ratio)
    )
    worst = returns.min()
    years = 1 / (252 * law.cdf(worst))
    rows.append((f"a day as bad as {worst:.1f} %", f"every {years:.1f} years (normal law: never)", None, None, None))

    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), constrained_layout=True)
    grid = np.linspace(-6, 6, 601)
    axes[0].hist(returns, bins=np.linspace(-6, 6, 121), density=True, color="0.85")
    axes[0].plot(grid, law.pdf(grid), label=f"stable, alpha = {alpha:.2f}")
    axes[0].plot(grid, scipy.stats.norm.pdf(grid, np.median(returns), normal_scale), "--", label="normal, same quartiles")
    axes[0].set(xlabel="daily return, %", ylabel="density")
    losses = np.sort(-returns[returns < 0])
    axes[1].loglog(losses, 1 - (np.arange(losses.size) + (returns >= 0).sum()) / returns.size, ".", ms=3, label="data")
    far = np.logspace(-1, 1.3, 100)
    axes[1].loglog(far, law.cdf(-far), label="stable")
    axes[1].loglog(far, scipy.stats.norm.sf(far, -np.median(returns), normal_scale), "--", label="normal")
    axes[1].set(xlabel="loss, %", ylabel="probability of a larger one", ylim=(1e-5, 1))
    for axis in axes:
        axis.legend(frameon=False)
    figure.savefig(folder / "tour_stable.png", dpi=120)


def scipy_density(x, law):
    """SciPy's density, which takes the S1 location."""
    s1 = law.convert("S1")
    return scipy.stats.levy_stable.pdf(x, s1.alpha, s1.beta, s1.loc, s1.scale)
