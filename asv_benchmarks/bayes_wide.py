"""Regressions with more columns than rows, simulated: time, R-hat, effective draws, coverage. Prints rows of a table.

python asv_benchmarks/bayes_wide.py sizes [gaussian logit] [--draws 1000]
python asv_benchmarks/bayes_wide.py coverage [--sets 50] [--draws 500]
python asv_benchmarks/bayes_wide.py outcomes [poisson weibull] [--draws 1000] [--size 100 500]

"sizes" fits simulated sets of 100 x 500, 72 x 3571 and 200 x 2000 with fixed numbers of draws; "coverage" counts how often 95 %
intervals of the coefficients that are not 0 hold these, over sets of two classes of 100 x 500; "outcomes" fits counts, positive
numbers, lifetimes and numbers with outliers, and has for each the slowest of all quantities.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import numbastats as ns
from numbastats.bayes.responses import RESPONSES

SIZES = (100, 500), (72, 3571), (200, 2000)
TRUE = 3.0, -2.0, 1.5, 1.0
OUTCOMES = "poisson", "negative_binomial", "gamma", "student_t", "weibull", "exponential", "lognormal", "loglogistic"
SMALLER = 0.9, -0.7, 0.5, -0.4  # of logarithms of means and of times; the last one is hard to tell from 0
OWN = {
    "log_sigma": np.log(0.6),
    "log_size": np.log(3.0),
    "log_shape": np.log(3.0),
    "log_df_minus_2": np.log(2.0),
    "log_precision": np.log(8.0),
}


def simulated(n, p, response, seed):
    """Standard normal columns, four coefficients that are not 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    m = X[:, :4] @ TRUE
    y = m + rng.standard_normal(n) if response == "gaussian" else m + rng.logistic(size=n) > 0.0
    return X, y, np.array(TRUE)


def model(n, p, response, **options):
    """The estimator with tau_scale for four coefficients where columns are many and outcomes numbers, else the defaults."""
    if response == "gaussian":
        return ns.bayes.HorseshoeRegression(tau_scale=4.0 / ((p - 4) * n**0.5), rng=1, **options)
    return ns.bayes.HorseshoeClassifier(response=response, rng=1, **options)


def sizes(responses, draws):
    """Time, R-hat and effective draws by size."""
    for response in responses:
        for n, p in SIZES:
            X, y, _ = simulated(n, p, response, 0)
            begin = time.process_time()
            found = model(n, p, response, draws=draws).fit(X, y)
            seconds = time.process_time() - begin
            d = found.draws_
            x = {
                "log tau": d["log_tau"],
                "log sigma": d.get("log_sigma"),
                "log-likelihood": found.sample_stats_["log_likelihood"],
            }
            large = np.argsort(-abs(d["beta"].mean(axis=(0, 1))))
            x |= {"20 largest": d["beta"][:, :, large[:20]], "others": d["beta"][:, :, large[20:]]}
            print(f"{response} {n} x {p}: {seconds:.0f} s of processors, {draws} draws a chain", flush=True)
            for name, v in x.items():
                if v is not None:
                    v = v[..., None] if v.ndim == 2 else v
                    r, e = ns.bayes.rhat(v), ns.bayes.ess_bulk(v)
                    print(
                        f"  {name}: R-hat {r.max():.3f}, ESS {e.min():.0f}, share with ESS >= 400 {(e >= 400).mean():.3f}",
                        flush=True,
                    )


def coverage(sets, draws):
    """Share of intervals that hold the coefficient, by size of the coefficient."""
    held = []
    for seed in range(sets):
        X, y, b = simulated(100, 500, "logit", seed + 1)
        found = model(100, 500, "logit", chains=2, warmup=draws // 2, draws=draws).fit(X, y)
        low, high = np.quantile(found.draws_["beta"][:, :, :4], [0.025, 0.975], axis=(0, 1))
        held.append((low <= b) & (b <= high))
        print(f"{seed + 1} sets, {np.mean(held):.3f} of intervals; by coefficient {np.mean(held, axis=0).round(2)}", flush=True)


def drawn(response, m, rng):
    """Outcomes with the linear predictor m, and the parameters that the response has beside it."""
    record = RESPONSES[response]
    own = {one.name: OWN[one.name] for one in record.own}
    return record.outcome_of(record.quantile(rng.random(len(m)), m, own)), own


def outcomes(responses, draws, n, p):
    """A row for each response: draws, the largest R-hat, the least effective draws, both of log tau and own parameters, time."""
    for response in responses:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, p))
        y, own = drawn(response, 1.0 + X[:, :4] @ SMALLER, rng)
        options = dict(response=response, tau_scale=4.0 / ((p - 4) * n**0.5), warmup=min(draws, 1000), draws=draws, rng=1)
        begin = time.process_time()
        d = ns.bayes.HorseshoeRegression(**options).fit(X, y).draws_
        seconds = time.process_time() - begin
        others = np.stack([d["log_tau"], *(d[name] for name in own)], axis=2)
        cells = [f"{f(v):{form}}" for v in (d["beta"], others) for f, form in ((_largest, ".3f"), (_least, ".0f"))]
        print(f"| {response} | {n} x {p} | {draws} | {' | '.join(cells)} | {seconds:.0f} |", flush=True)


def _largest(draws):
    return ns.bayes.rhat(draws).max()


def _least(draws):
    return ns.bayes.ess_bulk(draws).min()


def main():
    """Run what the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["sizes", "coverage", "outcomes"])
    parser.add_argument("responses", nargs="*")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--size", type=int, nargs=2, default=SIZES[0])
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)  # R-hat is in the table
        if options.what == "sizes":
            sizes(options.responses or ["gaussian", "logit"], options.draws)
        elif options.what == "outcomes":
            outcomes(options.responses or OUTCOMES, options.draws, *options.size)
        else:
            coverage(options.sets, options.draws)


if __name__ == "__main__":
    main()
