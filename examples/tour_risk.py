"""The tour's risk part: heavy-tailed risk of an equity index from one set of normal draws.

Daily log returns of the S&P 500, 1999 to 2018 (5,030 days; shipped with the package arch). Four distributions are fitted by
maximum likelihood: normal, Student's t, normal inverse Gaussian (NIG), variance gamma (VG). One set of normal draws is recycled
into all of them, so that they are compared on the same scenarios: losses over ten days, taken as independent, their 99 % quantile
(value at risk) and the mean beyond the 97.5 % quantile (expected shortfall), with the errors that a million scenarios leave.
"""

from __future__ import annotations

import functools

import numpy as np
import scipy.special
from arch.data import sp500
from tour_timing import SMOKE, race

import numbastats as ns

FAMILIES = {"normal": "normal", "t": "student_t", "NIG": "nig", "VG": "variance_gamma"}
DAYS = 10


@functools.cache
def daily_returns():
    """Daily log returns in per cent."""
    x = 100 * np.diff(np.log(sp500.load()["Adj Close"].to_numpy(dtype=np.float64)))
    return x[-400:] if SMOKE else x


@functools.cache
def fitted_distributions():
    """Fits of the four families by name."""
    return {name: ns.distributions.fit(daily_returns(), family) for name, family in FAMILIES.items()}


def recycler(name, fit):
    """The function that turns normal draws into returns of a fitted distribution."""
    p = fit.params
    if name == "normal":
        return lambda z: p["loc"] + p["scale"] * z
    if name == "t":
        t = ns.distributions.student_t(p["df"], base="normal")
        return lambda z: p["loc"] + p["scale"] * t.transform(z)
    return {"NIG": ns.distributions.nig, "VG": ns.distributions.variance_gamma}[name](**p, base="normal").transform


def risks(loss, parts=20):
    """Value at risk at 99 %, expected shortfall at 97.5 %, and their standard errors by the spread of parts."""
    ordered = np.sort(loss.reshape(parts, -1), axis=1)
    n = ordered.shape[1]
    each = np.stack([ordered[:, int(0.99 * n)], ordered[:, int(0.975 * n) :].mean(axis=1)])
    return each.mean(axis=1), each.std(axis=1, ddof=1) / parts**0.5


def run(rows, figure):
    """Fit the distributions, recycle the normal draws, tabulate and plot the losses."""
    x = daily_returns()
    scenarios = 2_000 if SMOKE else 1_000_000
    z = ns.random.normal(size=(scenarios, DAYS), rng=2018)
    part = z[: scenarios // 20]
    axes = figure.subplots(1, 2)
    for name, fit in fitted_distributions().items():
        recycle = recycler(name, fit)
        calls, other, ratio = [lambda f=recycle: f(z)], None, None
        if name == "t":
            calls.append(lambda df=fit.params["df"]: scipy.special.stdtrit(df, scipy.special.ndtr(part)))
        (daily, seconds), *theirs = race(1 if SMOKE else 3, *calls)
        if theirs:
            other, ratio = "SciPy (on a twentieth)", 20 * theirs[0][1] / seconds
        loss = -daily.sum(axis=1)
        at, error = risks(loss)
        text = ", ".join(f"{name} {v:.2f} +- {e:.2f}" for name, v, e in zip(("VaR 99 %", "ES 97.5 %"), at, error, strict=True))
        label = f"t, df {fit.params['df']:.1f}" if name == "t" else name
        rows.append((f"10-day loss in %, {label} (log L {fit.loglik:.0f})", text, seconds, other, ratio))
        bins = np.linspace(-100, 100, 401)
        per_unit = np.full(loss.size, 1.0 / (loss.size * (bins[1] - bins[0])))  # of all scenarios, also of those beyond the plot
        axes[1].hist(loss, bins=bins, weights=per_unit, histtype="step", log=True, label=name)
    ns.plot.tail(x, {name: fit.distribution for name, fit in fitted_distributions().items()}, side="lower", ax=axes[0])
    axes[0].set(xlabel="daily loss, %", ylabel="share of days with a larger loss", xlim=(0.3, 30), ylim=(2e-5, 1))
    axes[1].set(xlabel="ten-day loss, % (left of 0: gains)", ylabel="density", xlim=(-25, 45), ylim=(1e-6, 0.3))
    axes[1].legend(frameon=False)
    figure.suptitle(f"S&P 500, {x.size:,} days; ten days by {z.size:,} recycled normal draws")
