"""How often intervals of parameters of mixtures in several columns hold the truth: of exact information, sandwich and bootstrap.

``python asv_benchmarks/multivariate_coverage.py`` draws 500 data sets of 300 rows in 3 columns from two components, and again
from components of t distributions, which the normal mixture does not describe: there the truth is the mixture that is fitted to
2,000,000 rows. It prints, of nominal 95 % intervals, the share that holds the truth, by kind of parameter, over the data sets
with a fit of status 0; the bootstrap draws rows 199 times for each of 100 of these.
"""

from __future__ import annotations

import time

import numpy as np

import numbastats as ns

SETS, ROWS, BOOTSTRAPPED, LARGE = 500, 300, 100, 2_000_000
WEIGHTS, APART = (0.4, 0.6), 3.0
TURN = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.4, 0.8]])
NAMES = "weights", "means", "covariances"


def drawn(rng, n, df):
    """Rows of two components, 3 apart, one of them with correlations; normal, or of Student's t with variances as these."""
    first = rng.random(n) < WEIGHTS[0]
    x = rng.normal(size=(n, 3))
    if df is not None:
        x *= np.sqrt((df - 2.0) / rng.chisquare(df, n))[:, None]
    return np.where(first[:, None], x, x @ TURN.T + [APART, 0.0, 0.0]), first


def truth(df):
    """Weights, means and covariances that fits tend to, components in the order of their means in the first column."""
    found = ns.mixture.fit(drawn(np.random.default_rng(1), LARGE, df)[0], 2, rng=0)
    return {name: getattr(found, name) for name in NAMES}


def held(values, errors, true):
    """Which intervals of 1.96 errors hold the truth."""
    return np.abs(values - true) <= 1.96 * errors


def shares(found, se, true, of):
    """Shares of intervals that hold the truth: of a weight, means, variances and covariances within components."""
    rows = np.tril(np.ones((3, 3), bool), -1)
    weights, means, covariances = (held(getattr(found, name)[of], se[name][of], true[name]) for name in NAMES)
    return [weights[:, 0].mean(), means.mean(), np.diagonal(covariances, axis1=2, axis2=3).mean(), covariances[:, :, rows].mean()]


def _seconds(begun):
    return f"{time.process_time() - begun:.1f} s"


def main():
    """Print the tables."""
    for df in (None, 10.0):
        true = truth(df)
        if df is None:
            true = {
                "weights": np.array(WEIGHTS),
                "means": np.array([[0.0] * 3, [APART, 0.0, 0.0]]),
                "covariances": np.stack([np.eye(3), TURN @ TURN.T]),
            }
        x = np.stack([drawn(np.random.default_rng([7, i]), ROWS, df)[0] for i in range(SETS)])
        print(f"{'normal components' if df is None else f'components of t with {df:g} degrees of freedom'}")
        fits = {}
        for se, name in ((True, "information"), ("sandwich", "sandwich")):
            begun = time.process_time()
            fits[name] = found = ns.mixture.fit_many(x, 2, se=se, rng=0, workers=1)
            of = np.flatnonzero(found.status == 0)
            figures = "  ".join(f"{100.0 * v:5.1f}" for v in shares(found, found.se, true, of))
            print(f"{name:12s} {len(of)} certified  weight, means, variances, covariances: {figures}  {_seconds(begun)}")
        some, begun = np.flatnonzero(found.status == 0)[:BOOTSTRAPPED].tolist(), time.process_time()
        errors, failed = {name: found.se[name].copy() for name in NAMES}, 0
        for i in some:
            again = ns.mixture.bootstrap(found[i], x[i], n_boot=199, rng=i, workers=1)
            failed += again.n_failed
            for name in NAMES:
                errors[name][i] = again.se[name]
        for name, other in (("information", fits["information"].se), ("sandwich", fits["sandwich"].se), ("bootstrap", errors)):
            figures = "  ".join(f"{100.0 * v:5.1f}" for v in shares(found, other, true, np.array(some)))
            print(f"{name:12s} {len(some)} of these    weight, means, variances, covariances: {figures}")
        print(f"{failed} of {199 * len(some)} data sets of the bootstrap without a fit that counts, {_seconds(begun)}")


if __name__ == "__main__":
    main()
