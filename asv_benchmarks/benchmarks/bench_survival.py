"""Survival without a family: Kaplan and Meier's estimate beside SciPy's and that of lifelines, Turnbull's, groups, hazards."""

from __future__ import annotations

import numpy as np

import numbastats as ns

from .common import require


def censored_lives(n, seed=1):
    """Times and events, two in five of them censored."""
    rng = np.random.default_rng(seed)
    life, end = 10.0 * rng.weibull(1.5, n), rng.uniform(0.0, 25.0, n)
    return np.minimum(life, end), life <= end


def inspected_lives(n, seed=1):
    """Ends of intervals between up to twelve inspections."""
    rng = np.random.default_rng(seed)
    life, looks = 10.0 * rng.weibull(1.5, n)[:, None], np.cumsum(rng.exponential(3.0, (n, 12)), axis=1)
    return np.where(looks < life, looks, 0.0).max(1), np.where(looks >= life, looks, np.inf).min(1)


class ProductLimit:
    """Of right-censored times."""

    params = [1000, 1_000_000]
    param_names = ["values"]

    def setup(self, n):
        self.x, self.event = censored_lives(n)
        self.estimate = ns.distributions.survival(self.x, event=self.event)

    def time_survival(self, n):
        ns.distributions.survival(self.x, event=self.event)

    def time_summary(self, n):
        self.estimate.summary()

    def time_restricted_mean(self, n):
        self.estimate.restricted_mean(8.0)

    def time_ecdf_of_scipy(self, n):
        from scipy import stats

        stats.ecdf(stats.CensoredData(uncensored=self.x[self.event], right=self.x[~self.event])).sf.confidence_interval()


class Lifelines:
    """Both estimates of the package lifelines; Turnbull's takes minutes for many values."""

    timeout = 300

    def setup(self):
        require("lifelines")
        self.lives = {n: censored_lives(n) for n in (1000, 1_000_000)}
        self.few = inspected_lives(300)

    def time_product_limit_of_1000(self):
        from lifelines import KaplanMeierFitter

        KaplanMeierFitter().fit(*self.lives[1000])

    def time_product_limit_of_1e6(self):
        from lifelines import KaplanMeierFitter

        KaplanMeierFitter().fit(*self.lives[1_000_000])

    def time_intervals_of_300(self):
        from lifelines import KaplanMeierFitter

        KaplanMeierFitter().fit_interval_censoring(*self.few)


class Intervals:
    """Turnbull's estimate."""

    params = [1000, 100_000]
    param_names = ["values"]
    timeout = 300

    def setup(self, n):
        self.ends = inspected_lives(n)
        self.entry = np.minimum(0.3, np.where(np.isinf(self.ends[1]), self.ends[0], self.ends[1]) * 0.5)
        ns.distributions.survival(None, censored=inspected_lives(300))

    def time_survival(self, n):
        ns.distributions.survival(None, censored=self.ends)

    def time_survival_with_entries(self, n):
        ns.distributions.survival(None, censored=(np.maximum(self.ends[0], self.entry), self.ends[1]), entry=self.entry)


class Groups:
    """20,000 groups of 40 values at once."""

    def setup(self):
        self.x, self.event = (a.reshape(20_000, 40) for a in censored_lives(800_000))
        self.lo, self.hi = (a.reshape(20_000, 40) for a in inspected_lives(800_000))
        self.time_product_limits()
        self.time_intervals()

    def time_product_limits(self):
        ns.distributions.survival_many(self.x, event=self.event)

    def time_intervals(self):
        ns.distributions.survival_many(None, censored=(self.lo, self.hi))


class Hazards:
    """Of one distribution at many times."""

    def setup(self):
        self.x = np.linspace(0.1, 50.0, 1_000_000)
        self.d = ns.distributions.Weibull(1.5, scale=10.0)
        self.time_hazard()
        self.time_cumulative_hazard()

    def time_hazard(self):
        self.d.hazard(self.x)

    def time_cumulative_hazard(self):
        self.d.cumulative_hazard(self.x)
