"""The tour's stable part: daily returns of the S&P 500, 1999-2018 (shipped with the package arch), and their tails.

The stable distribution is fitted by maximum likelihood, and compared with the distributions of the risk part, fitted in the
same way: likelihoods, a goodness-of-fit test, and how many days of large losses each of them expects. It loses: it is far better
than the normal distribution, but its tails are heavier than those of these returns.
"""

from __future__ import annotations

import numpy as np
import scipy.stats
from tour_risk import daily_returns, fitted_distributions
from tour_timing import SMOKE, best_of, timed

import numbastats as ns

LOSS = 9.0  # per cent


def run(rows, figure):
    """Stable distribution of daily returns."""
    returns = daily_returns()
    found, seconds = best_of(lambda: ns.stable.fit(returns), 1 if SMOKE else 3)
    (alpha, beta), error = found.params[:2], found.se
    dist = found.distribution
    result = f"alpha {alpha:.3f} +- {error[0]:.3f}, beta {beta:+.2f} +- {error[1]:.2f}"
    rows.append((f"{returns.size:,} daily returns, stable fit (ML)", result, seconds, None, None))
    others = fitted_distributions()
    information = {"stable": 2 * 4 - 2 * found.loglik} | {name: fit.aic for name, fit in others.items()}
    ranked = sorted(information, key=information.get)
    above = found.loglik - others["normal"].loglik
    rows.append(("  log-likelihood above the fitted normal's", f"{above:+.0f}", None, None, None))
    text = ", ".join(f"{name} {information[name] - information[ranked[0]]:+.0f}" for name in ranked)
    rows.append((f"  AIC above the best, {ranked[0]}", text, None, None, None))
    test, seconds = timed(lambda: ns.stable.goodness(returns, method="quantile", draws=19 if SMOKE else 39, rng=1))
    least = 1.0 / (1 + test.simulated.size)  # what so many samples can show
    sign = "<=" if test.pvalue <= least else "="
    text = f"A2 = {test.statistic:.2f}, p {sign} {test.pvalue:.2g} of {test.simulated.size} fitted samples"
    rows.append(("  Anderson-Darling test of a stable distribution", text, seconds, None, None))
    seen = int(np.sum(returns < -LOSS))
    fitted = {"stable": dist} | {name: fit.distribution for name, fit in others.items()}
    expected = ", ".join(f"{name} {returns.size * float(fitted[name].cdf(-LOSS)):.2g}" for name in ranked)
    rows.append((f"  days with a loss above {LOSS:.0f} %: {seen} seen; expected", expected, None, None, None))

    density, seconds = best_of(lambda: dist.pdf(returns, workers=1), 5)
    few = returns[: 5 if SMOKE else 40]
    scipy_density(few[:1], dist)
    theirs, their_seconds = timed(lambda: scipy_density(few, dist))
    difference = np.max(np.abs(density[: few.size] - theirs) / theirs)
    ratio = their_seconds / few.size / (seconds / returns.size)
    what = f"stable density at {returns.size:,} returns, one core"
    text = f"from a table, agrees with SciPy to {difference:.1e}"
    rows.append((what, text, seconds, f"SciPy (per value, of {few.size})", ratio))

    axes = figure.subplots(1, 2)
    shown = {name: fitted[name] for name in dict.fromkeys(("stable", ranked[0], "normal"))}
    ns.plot.density(returns, shown, ax=axes[0])
    axes[0].set(xlabel="daily return, % (99.8 % of days)")
    behind = information["stable"] - information[ranked[0]]
    figure.suptitle(f"S&P 500, 1999 to 2018: {ranked[0]} fits best by AIC, stable is {behind:.0f} behind")
    ns.plot.tail(returns, shown, side="lower", ax=axes[1])
    axes[1].set(xlabel="daily loss, %", ylabel="share of days with a larger loss", xlim=(0.1, 30), ylim=(1e-5, 1))


def scipy_density(x, dist):
    """SciPy's density, which takes the S1 location."""
    s1 = dist.convert("S1")
    return scipy.stats.levy_stable.pdf(x, s1.alpha, s1.beta, s1.loc, s1.scale)
