"""The tour's risk part: heavy-tailed risk of an equity index from one set of normal draws.

Daily log returns of the S&P 500, 1999 to 2018 (5,030 days; shipped with the package arch). Four distributions are fitted by
maximum likelihood: normal, Student's t, normal inverse Gaussian (NIG), variance gamma (VG). One set of normal draws is recycled
into all of them, so that they are compared on the same scenarios: losses over ten days, taken as independent, and their 95 %,
99 % and 99.9 % quantiles.
"""

from __future__ import annotations

import functools
import typing

import numpy as np
import scipy.special
from arch.data import sp500
from common import SMOKE
from matplotlib import pyplot as plt
from scipy.optimize import minimize
from tour_timing import race

import numbastats as ns

quantile = ns.quantile
LEVELS = (0.95, 0.99, 0.999)
DAYS = 10


def fit(log_density, start, data):
    """Parameters of largest likelihood, by Nelder and Mead's method from an unconstrained start, and the log-likelihood."""

    def cost(p):
        value = -np.sum(log_density(data, p))
        return value if np.isfinite(value) else 1e300

    found = minimize(cost, start, method="Nelder-Mead", options=dict(maxiter=60 if SMOKE else 3000, xatol=1e-4, fatol=1e-4))
    assert found.success or SMOKE
    return found.x, -found.fun


def student_parts(p):
    """Location, scale and degrees of freedom."""
    return p[0], np.exp(p[1]), np.exp(p[2])


def nig_parts(p):
    """Parameters alpha, beta, delta, mu of the normal inverse Gaussian distribution."""
    alpha = np.exp(p[1])
    return alpha, alpha * np.tanh(p[2]), np.exp(p[3]), p[0]


def vg_parts(p):
    """Parameters lam, alpha, beta, mu of the variance gamma distribution; above 1/2 the likelihood is bounded."""
    alpha = np.exp(p[1])
    return 0.55 + np.exp(p[3]), alpha, alpha * np.tanh(p[2]), p[0]


def student_log_density(x, p):
    """Log density of a located, scaled t."""
    m, s, nu = student_parts(p)
    return quantile.student_t.logpdf((x - m) / s, nu) - np.log(s)


class Fitted(typing.NamedTuple):
    """A distribution fitted to the returns."""

    loglik: float
    parameters: int
    cdf: typing.Callable
    recycle: typing.Callable  # from normal draws to returns


@functools.cache
def daily_returns():
    """Daily log returns in per cent."""
    x = 100 * np.diff(np.log(sp500.load()["Adj Close"].to_numpy(dtype=np.float64)))
    return x[-400:] if SMOKE else x


@functools.cache
def fitted_distributions():
    """The four distributions by name."""
    x = daily_returns()
    m, s = x.mean(), x.std()
    value = np.sum(-0.5 * ((x - m) / s) ** 2 - np.log(s * np.sqrt(2 * np.pi)))
    normal = Fitted(value, 2, lambda x: scipy.special.ndtr((x - m) / s), lambda z: m + s * z)
    p, value = fit(student_log_density, (m, np.log(0.7 * s), np.log(3.0)), x)
    location, scale, nu = student_parts(p)
    t = quantile.student_t(nu, base="normal")
    student = Fitted(value, 3, lambda x: t.cdf((x - location) / scale), lambda z: location + scale * t.transform(z))
    p, value = fit(lambda x, p: quantile.nig.logpdf(x, *nig_parts(p)), (m, 0.0, 0.0, 0.0), x)
    nig = quantile.nig(*nig_parts(p), base="normal")
    inverse = Fitted(value, 4, nig.cdf, nig.transform)
    p, value = fit(lambda x, p: quantile.variance_gamma.logpdf(x, *vg_parts(p)), (m, 0.3, 0.0, 0.0), x)
    vg = quantile.variance_gamma(*vg_parts(p), base="normal")
    return {"normal": normal, f"t({nu:.1f})": student, "NIG": inverse, "VG": Fitted(value, 4, vg.cdf, vg.transform)}


def run(rows, folder):
    """Fit the distributions, recycle the normal draws, tabulate and plot the losses."""
    x = daily_returns()
    scenarios = 2_000 if SMOKE else 1_000_000
    z = ns.random.normal(size=(scenarios, DAYS), rng=2018)
    part = z[: scenarios // 20]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), constrained_layout=True)
    observed = np.sort(-x)[::-1]
    axes[0].loglog(observed[observed > 0.3], (np.arange(1, x.size + 1) / x.size)[observed > 0.3], "k.", ms=3, label="observed")
    for name, fitted in fitted_distributions().items():
        calls, peer, ratio = [lambda f=fitted: f.recycle(z)], None, None
        if name.startswith("t("):
            nu = float(name[2:-1])
            calls.append(lambda nu=nu: scipy.special.stdtrit(nu, scipy.special.ndtr(part)))
        (daily, seconds), *theirs = race(1 if SMOKE else 3, *calls)
        if theirs:
            peer, ratio = "SciPy (on a twentieth)", 20 * theirs[0][1] / seconds
        loss = -daily.sum(axis=1)
        at = np.quantile(loss, LEVELS)
        text = ", ".join(f"{100 * p:g} %: {v:.2f}" for p, v in zip(LEVELS, at, strict=True))
        rows.append((f"10-day loss in %, {name} (log L {fitted.loglik:.0f})", text, seconds, peer, ratio))
        tail = np.sort(-daily[:, 0])[::-1]
        share = np.arange(1, tail.size + 1) / tail.size
        keep = (tail > 0.3) & (share > 2e-5)
        axes[0].loglog(tail[keep], share[keep], label=name)
        axes[1].hist(loss, bins=np.linspace(0, 40, 81), histtype="step", log=True, density=True, label=name)
    axes[0].set(xlabel="daily loss, %", ylabel="share of days with a larger loss", xlim=(0.3, 30), ylim=(2e-5, 1))
    axes[1].set(xlabel="ten-day loss, %", ylabel="density")
    for axis in axes:
        axis.legend(frameon=False)
    figure.suptitle(f"S&P 500, {x.size:,} days; {z.size:,} normal draws recycled into four distributions")
    figure.savefig(folder / "tour_risk.png", dpi=120)
    plt.close(figure)
