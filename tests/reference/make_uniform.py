"""P-values of `goodness` where the family is true, and where it is not, by simulation: the tables of docs/goodness.md.

    python tests/reference/make_uniform.py [data sets [case ...]]
    python tests/reference/make_uniform.py power [data sets]

Every line has the shares of p-values up to 0.05, 0.25, 0.5 and 0.75, and the p-value of their test of Kolmogorov and Smirnov.
"""

from __future__ import annotations

import sys

import numpy as np

from numbastats import distributions as ds

N, COUNT = 60, 99
FAMILIES = {
    "weibull": ds.Weibull(1.5, scale=2.0),
    "lognormal": ds.Lognormal(0.7, scale=3.0),
    "gamma": ds.Gamma(2.0, scale=3.0),
    "normal": ds.Normal(8.0, 2.0),
    "poisson": ds.Poisson(3.0),
    "negative_binomial": ds.NegativeBinomial(4.0, 2.0),
}


def right_censored(x, rng):
    """Times, a third of which are censored."""
    end = np.quantile(x, 0.8, axis=1, keepdims=True) * rng.uniform(0.3, 2.2, x.shape)
    end = np.floor(end) if (x == np.floor(x)).all() else end
    return dict(x=np.minimum(x, end), event=x <= end)


def entered(x, rng):
    """Units that entered late, of which some are censored: as many of those that are seen as there are values."""
    entry = np.quantile(x, 0.4) * rng.uniform(0.0, 1.5, x.shape)
    order = np.argsort(x <= entry, axis=1, kind="stable")[:, : x.shape[1] // 2]  # half of them are there
    x, entry = (np.take_along_axis(a, order, axis=1) for a in (x, entry))
    end = entry + np.quantile(x, 0.7) * rng.exponential(1.0, x.shape)
    return dict(x=np.minimum(x, end), event=x <= end, entry=entry)


def inspected(x, rng):
    """Ends of intervals between inspections at times of their own."""
    step = np.std(x, axis=1, keepdims=True)
    times = x.min() + step[..., None] * (
        rng.uniform(-0.5, 0.5, (*x.shape, 1)) + np.cumsum(rng.uniform(0.5, 1.5, (*x.shape, 12)), -1)
    )
    before = (times < x[..., None]).sum(-1)
    ends = np.concatenate([np.full((*x.shape, 1), -np.inf), times, np.full((*x.shape, 1), np.inf)], axis=-1)
    low, high = (np.take_along_axis(ends, before[..., None] + i, -1)[..., 0] for i in (0, 1))
    return dict(x=None, censored=(np.maximum(low, 0.0) if (x > 0.0).all() else low, high))


def below_limits(x, rng):
    """Values below one of two limits of detection are not known."""
    limit = np.quantile(x, np.where(rng.random(x.shape) < 0.5, 0.2, 0.4))
    return dict(x=None, censored=(np.where(x < limit, 0.0, x), np.where(x < limit, limit, x)))


def inflated(x, rng):
    """Counts with more zeros."""
    return dict(x=np.where(rng.random(x.shape) < 0.25, 0.0, x), zeros="inflated")


CASES = {
    "complete": lambda x, rng: dict(x=x),
    "right-censored": right_censored,
    "entered": entered,
    "inspected": inspected,
    "below limits": below_limits,
    "inflated": inflated,
}
OF_COUNTS = ("complete", "right-censored", "inflated")


def pvalues(family, case, sets, statistic="ad", count=COUNT):
    """Of data sets from the family."""
    rng = np.random.default_rng(7)
    x = FAMILIES[family].rvs((sets, 2 * N if case == "entered" else N), rng=5).astype(float)
    data = CASES[case](x, rng)
    return ds.goodness_many(data.pop("x"), family, statistic, **data, count=count, rng=3).pvalue


OTHERS = {
    "Student's t, 4 degrees of freedom": ds.StudentT(4.0),
    "uniform": ds.Uniform(),
    "gamma of shape 8": ds.Gamma(8.0),
    "two normal ones, 3 apart": ds.Mixture([ds.Normal(), ds.Normal(3.0)]),
}


def print_power(sets):
    """Shares of data sets of 100 values of other families for which p < 0.05 of a normal distribution."""
    print("| values of | ad | cvm | ks | ad, a third censored | cvm | ks |\n|---|---|---|---|---|---|---|")
    for name, d in OTHERS.items():
        x = d.rvs((sets, 100), rng=4)
        shares = []
        for data in (dict(x=x), right_censored(x - x.min() + 1.0, np.random.default_rng(2))):
            for statistic in ("ad", "cvm", "ks"):
                p = ds.goodness_many(data["x"], "normal", statistic, event=data.get("event"), count=COUNT, rng=3).pvalue
                shares.append(f"{np.mean(p < 0.05):.2f}")
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    from scipy import stats

    if sys.argv[1:2] == ["power"]:
        print_power(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
        sys.exit()
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print("| family | data | up to 0.05 | 0.25 | 0.5 | 0.75 | uniform: p |\n|---|---|---|---|---|---|---|")
    for case in sys.argv[2:] or CASES:
        for family, d in FAMILIES.items():
            if case in OF_COUNTS if d.is_discrete else case not in ("complete", "inflated"):
                p = pvalues(family, case, sets)
                p = p[~np.isnan(p)]
                shares = " | ".join(f"{np.mean(p <= level):.3f}" for level in (0.05, 0.25, 0.5, 0.75))
                jittered = p - np.random.default_rng(1).random(p.size) / (COUNT + 1)  # they are multiples of 1/100
                print(f"| {family} | {case} | {shares} | {stats.kstest(jittered, 'uniform').pvalue:.2f} |", flush=True)
