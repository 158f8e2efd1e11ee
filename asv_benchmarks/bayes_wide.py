"""Regressions with more columns than rows, simulated: time, R-hat, effective draws, coverage. Prints rows of a table.

python asv_benchmarks/bayes_wide.py sizes [gaussian logit] [--draws 1000]
python asv_benchmarks/bayes_wide.py coverage [--sets 50] [--draws 500]

"sizes" fits simulated sets of 100 x 500, 72 x 3571 and 200 x 2000 with fixed numbers of draws; "coverage" counts how often 95 %
intervals of the coefficients that are not 0 hold these, over sets of two classes of 100 x 500.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import numbastats as ns

SIZES = (100, 500), (72, 3571), (200, 2000)
TRUE = 3.0, -2.0, 1.5, 1.0


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


def main():
    """Run what the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["sizes", "coverage"])
    parser.add_argument("responses", nargs="*", default=["gaussian", "logit"])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--sets", type=int, default=50)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)  # R-hat is in the table
        if options.what == "sizes":
            sizes(options.responses, options.draws)
        else:
            coverage(options.sets, options.draws)


if __name__ == "__main__":
    main()
