"""Coverage of the 95 % intervals of `DistributionFit.estimate`, by simulation: the tables of docs/accuracy.md (25 minutes each).

    python tests/reference/make_coverage.py [simulations [family ...]]
    python tests/reference/make_coverage.py censored [simulations [family ...]]

Every line has the shares of intervals that hold the number of the distribution that the data come from.
"""

from __future__ import annotations

import sys

import numpy as np

from numbastats import distributions as ds

N = 500
CASES = {
    "normal": ds.Normal(1.0, 2.0),
    "lognormal": ds.Lognormal(0.7, scale=3.0),
    "inverse_gaussian": ds.InverseGaussian(2.0, 3.0),
    "gamma": ds.Gamma(2.0, scale=3.0),
    "weibull": ds.Weibull(1.5, scale=2.0),
    "beta": ds.Beta(2.0, 5.0),
    "student_t": ds.StudentT(5.0, scale=0.01),
}
QUESTIONS = {
    "first parameter": lambda d: d.params[0],
    "ppf(0.01)": lambda d: d.ppf(0.01),
    "isf(0.01)": lambda d: d.isf(0.01),
    "shortfall(0.01)": lambda d: d.expected_shortfall(0.01, upper=True),
}
ALL_METHODS = ("first parameter", "isf(0.01)")  # the others by derivatives alone


def coverage(family, question, method, simulations, count=199):
    """Share of the intervals that hold the truth."""
    truth, function, held = CASES[family], QUESTIONS[question], 0
    x = truth.rvs((simulations, N), rng=1)
    fits = ds.fit_many(x, family)
    for i in range(simulations):
        found = fits.one(i).estimate(function, method, x=x[i] if method == "profile" else None, count=count, rng=i)
        held += not (found.lower > function(truth) or found.upper < function(truth))  # an end that there is not is NaN
    return held / simulations


FEW = 40
CENSORED = {  # with times of censoring of the same family, which come before 40 % of the lives
    "weibull": (ds.Weibull(1.5, scale=2.0), ds.Weibull(1.5, scale=2.0 * 1.5 ** (2.0 / 3.0))),
    "lognormal": (ds.Lognormal(0.7, scale=3.0), ds.Lognormal(0.7, scale=3.0 * np.exp(0.7 * np.sqrt(2.0) * 0.2533471))),
}
OF_LIVES = {"first parameter": lambda d: d.params[0], "median": lambda d: d.ppf(0.5), "ppf(0.1)": lambda d: d.ppf(0.1)}


def censored_coverage(family, question, method, simulations, count=399):
    """The same of 40 lives, of which 40 % are censored."""
    (truth, ends), function, held = CENSORED[family], OF_LIVES[question], 0
    life, end = truth.rvs((simulations, FEW), rng=1), ends.rvs((simulations, FEW), rng=2)
    time, event = np.minimum(life, end), life <= end
    fits = ds.fit_many(time, family, event=event)
    for i in range(simulations):
        data = {} if method == "delta" else dict(x=time[i], event=event[i])
        found = fits.one(i).estimate(function, method, **data, count=count, rng=i)
        held += not (found.lower > function(truth) or found.upper < function(truth))
    return held / simulations


def print_censored(simulations, families):
    """The table of censored lives."""
    print("| family | number | delta | profile | bootstrap |\n|---|---|---|---|---|")
    for family in families:
        for question in OF_LIVES:
            shares = (censored_coverage(family, question, method, simulations) for method in ("delta", "profile", "bootstrap"))
            print(f"| {family} | {question} | {' | '.join(f'{100.0 * share:.1f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["censored"]:
        print_censored(int(sys.argv[2]) if len(sys.argv) > 2 else 2000, sys.argv[3:] or CENSORED)
        sys.exit()
    simulations = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| family | number | delta | profile | bootstrap |\n|---|---|---|---|---|")
    for family in sys.argv[2:] or CASES:
        for question in QUESTIONS:
            methods = ("delta", "profile", "bootstrap") if question in ALL_METHODS else ("delta",)
            shares = [f"{100.0 * coverage(family, question, method, simulations):.1f}" for method in methods]
            print(f"| {family} | {question} | {' | '.join((shares + ['', ''])[:3])} |", flush=True)
