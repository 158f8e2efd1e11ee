"""Effective draws of regressions with the horseshoe by processor time, beside NumPyro and point estimates: writes BAYES_RATES.md.

python asv_benchmarks/bayes_rates.py [--draws 500] [--largest 60000]
python asv_benchmarks/bayes_rates.py --outcomes 1000 20 --draws 250  # prints a table of all outcomes
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import numbastats as ns

sys.path.insert(0, str(Path(__file__).parent))
from bayes_wide import SMALLER, drawn  # noqa: E402
from benchmarks import common  # noqa: E402
from benchmarks.bench_bayes import nuts  # noqa: E402

SIZES = (1000, 20), (10_000, 100), (100, 500), (200, 2000)
TEXT = """# Regression with the horseshoe

Written {day} by `asv_benchmarks/bayes_rates.py` on {processor}; {versions}.

Standard normal columns, four coefficients of 3, -2, 1.5 and 1, errors of standard deviation 1. The same posterior, the
regularised horseshoe (slab_df=4, slab=2), by `HorseshoeRegression` and NumPyro's NUTS: 4 chains of {draws} iterations of warmup
and {draws} draws; effective draws (bulk) are those of the slowest coefficient, and time is that of processors, also of other
threads, compiled before. R-hat is the largest of all coefficients: above 1.01 the effective draws are no measure. The error is
the root of the sum of squared differences between estimate (posterior mean) and truth. "Not run": more than {largest} entries
of X.

| rows x columns | method | R-hat | effective draws | seconds | effective draws / s | error |
|---|---|---|---|---|---|---|
{rows}
"""


def data(n, p):
    """Standardised columns, outcomes, and the true coefficients."""
    rng = np.random.default_rng(0)
    X, b = rng.standard_normal((n, p)), np.zeros(p)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    b[:4] = 3.0, -2.0, 1.5, 1.0
    return X, X @ b + rng.standard_normal(n), b


def ours(X, y, draws):
    """A function of a seed that samples coefficients, shape (4, draws, p)."""
    options = dict(slab=2.0, slab_df=4.0, warmup=draws, draws=draws, workers=1, standardize=False)
    model = ns.bayes.HorseshoeRegression(**options)
    model.set_params(warmup=5, draws=5, rng=1).fit(X, y)  # compiles
    return lambda seed: model.set_params(warmup=draws, draws=draws, rng=seed).fit(X, y).draws_["beta"]


def peers():
    """Names and estimators of scikit-learn; none without it."""
    if not common.version("scikit-learn"):
        return []
    from sklearn.linear_model import ARDRegression, LassoCV

    return [("LassoCV", LassoCV()), ("ARDRegression", ARDRegression())]


def rows_of(n, p, draws, largest):
    """The lines of one size."""
    X, y, truth = data(n, p)
    label = f"{n:,} x {p:,}"

    def line(method, rhat, effective, seconds, estimate):
        rate = "" if effective is None else f"{effective / seconds:.3g}"
        error = np.linalg.norm(estimate - truth)
        cells = "" if rhat is None else f"{rhat:.3f}", "" if effective is None else f"{effective:.0f}", f"{seconds:.3g}", rate
        return f"| {label} | {method} | {' | '.join(cells)} | {error:.3f} |"

    samplers = [("numbastats", ours(X, y, draws))]
    skipped = []
    if n * p > largest or not common.version("numpyro"):
        skipped = [f"| {label} | NumPyro | | | not {'run' if common.version('numpyro') else 'installed'} | | |"]
    else:
        sample = nuts("gaussian", X, y, draws, draws)
        sample(1)  # compiles
        samplers.append(("NumPyro", sample))
    for method, sample in samplers:
        begin = time.process_time()
        found = sample(2)
        seconds = time.process_time() - begin
        yield line(method, ns.bayes.rhat(found).max(), ns.bayes.ess_bulk(found).min(), seconds, found.mean(axis=(0, 1)))
    yield from skipped
    for method, model in peers():
        begin = time.process_time()
        estimate = model.fit(X, y).coef_
        yield line(method, None, None, time.process_time() - begin, estimate)


def outcomes_of(n, p, draws):
    """A line of each outcome that NumPyro has: effective draws a second of the slowest coefficient, here and there."""
    X, rng = data(n, p)[0], np.random.default_rng(1)
    m = 1.0 + X[:, :4] @ SMALLER
    for response in "poisson negative_binomial student_t gamma weibull lognormal beta ordinal".split():
        if response == "ordinal":
            y = np.searchsorted([0.0, 1.0, 2.0], m + rng.logistic(size=n)).astype(float)
            model = ns.bayes.HorseshoeClassifier(response="ordinal", slab=2.0, slab_df=4.0, workers=1, standardize=False)
        else:
            y, _ = drawn(response, m, rng)
            model = ns.bayes.HorseshoeRegression(response=response, slab=2.0, slab_df=4.0, workers=1, standardize=False)

        def sampled(seed, model=model, y=y):
            return model.set_params(warmup=draws, draws=draws, rng=seed).fit(X, y).draws_["beta"]

        cells = []
        for sample in (sampled, nuts(response, X, np.asarray(y, float), draws, draws)):
            sample(1)  # compiles
            begin = time.process_time()
            found = sample(2)
            seconds = time.process_time() - begin
            effective = ns.bayes.ess_bulk(found).min()
            cells += [f"{ns.bayes.rhat(found).max():.3f}", f"{effective:.0f}", f"{seconds:.3g}", effective / seconds]
        mine, there = cells[3], cells[7]
        cells[3], cells[7] = f"{mine:.3g}", f"{there:.3g}"
        yield f"| {response} | {' | '.join(cells)} | {mine / there:.0f} |"


def main():
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=500, help="iterations of the warmup, and draws of a chain")
    parser.add_argument("--largest", type=int, default=60_000, help="entries of X up to which NumPyro runs")
    parser.add_argument("--outcomes", nargs=2, type=int, help="rows and columns; prints a table of outcomes, and nothing else")
    options = parser.parse_args()
    rows = []
    if options.outcomes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ns.ConvergenceWarning)  # the table has R-hat
            for row in outcomes_of(*options.outcomes, options.draws):
                print(row, flush=True)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)  # the table has R-hat
        for size in SIZES:
            for row in rows_of(*size, options.draws, options.largest):
                print(row, flush=True)
                rows.append(row)
    versions = ", ".join([common.versions(), *(f"{p} {common.version(p)}" for p in ("scikit-learn", "numpyro", "jax"))])
    facts = dict(day=common.today(), processor=common.processor(), versions=versions)
    text = TEXT.format(**facts, **vars(options), rows="\n".join(rows))
    (Path(__file__).parent / "BAYES_RATES.md").write_text(text)


if __name__ == "__main__":
    main()
