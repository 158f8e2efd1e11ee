"""What calls with device arrays cost, counted by the emulated driver: launches, allocations, bytes up and down, waits.

    python tests/emulator/budget.py [NAME ...]

Prints a line of each call, and last all of them as JSON: {call: [first, second]} with the five counts in that order.
"""

from __future__ import annotations

import ctypes
import fnmatch
import json
import os
import sys

os.environ.setdefault("NUMBASTATS_MESSAGES", "0")

import cupy_stand_in  # isort: skip
import emulator

emulator.install()
DRIVER = ctypes.CDLL("libcuda.so.1")
cupy = cupy_stand_in.install(DRIVER)

import numpy as np  # noqa: E402
from numba import cuda  # noqa: E402

import numbastats as ns  # noqa: E402
from numbastats._core import cache  # noqa: E402

cache._warned = True  # of kernels that are not cached
N = 1000


def _calls():
    rng = np.random.default_rng(1)
    host = rng.uniform(0.1, 0.9, N)
    x, s = cupy.asarray(host), cuda.to_device(host)
    two = cupy.asarray(rng.normal(size=(600, 2)))
    sets = cupy.asarray(np.where(rng.uniform(size=(8, 600)) < 0.4, rng.gamma(2.0, size=(8, 600)), rng.gamma(30.0, size=(8, 600))))
    rows, hits = rng.normal(size=(400, 5)), (rng.uniform(size=400) < 0.5).astype(float)
    X, y = cupy.asarray(rows), cupy.asarray(hits)
    student, stable = ns.distributions.student_t(4.5), cupy.asarray(rng.standard_cauchy(200))
    table = ns.quantile.QuantileTable(logpdf=lambda v: -0.5 * v * v)
    few = dict(n_components=2, n_init=2, family="gamma", rng=1)
    probit = dict(warmup=50, draws=4, chains=2, rng=1)
    mixed = dict(weights=[0.5, 0.5], centres=[0.3, 0.6], params=[0.1, 0.1], family="gamma")
    yield "quantile.ndtri", lambda: ns.quantile.ndtri(x)
    yield "quantile.ndtri numba", lambda: ns.quantile.ndtri(s)
    yield "distributions.student_t.ppf", lambda: student.ppf(x)
    yield "quantile.QuantileTable", lambda: table.transform(x)
    yield "stable.pdf", lambda: ns.stable.pdf(x, 1.7, -0.2)
    yield "stable.cdf", lambda: ns.stable.cdf(x, 1.7, -0.2)
    yield "stable.ppf", lambda: ns.stable.ppf(x, 1.7, -0.2)
    yield "stable.score", lambda: ns.stable.score(x[:50], 1.7, -0.2)
    yield "stable.loglik", lambda: ns.stable.loglik(x, 1.7, -0.2)
    yield "stable.fit", lambda: ns.stable.fit(stable)
    yield "stable.rvs", lambda: ns.stable.rvs(1.7, 0.1, size=N, rng=1, like=x)
    yield "random.normal mu", lambda: ns.random.normal(x, 1.0, rng=1)
    yield "random.normal mu numba", lambda: ns.random.normal(s, 1.0, rng=1)
    yield "random.normal like", lambda: ns.random.normal(size=N, rng=1, like=x)
    yield "random.gamma shape", lambda: ns.random.gamma(x, 1.0, rng=1)
    yield "mixture.logpdf", lambda: ns.mixture.logpdf(x, **mixed)
    yield "mixture.pdf", lambda: ns.mixture.pdf(x, **mixed)
    yield "mixture.partial_stats", lambda: ns.mixture.partial_stats(x, **mixed)
    yield "mixture.fit", lambda: ns.mixture.fit(x, device="cuda", **few)
    yield "mixture.fit_many", lambda: ns.mixture.fit_many(sets, device="cuda", **few)
    yield "kde.grid", lambda: ns.kde.grid(two, [(-3, 3, 41), (-3, 3, 41)])
    yield "kde.points", lambda: ns.kde.points(two, two[:50])
    yield "bayes.HorseshoeProbit.fit", lambda: ns.bayes.HorseshoeProbit(**probit, device="cuda").fit(X, y)


def main():
    """Count all calls, or those that are asked for."""
    table = {}
    for name, call in _calls():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in sys.argv[1:] or ["*"]):
            continue
        emulator.counts()
        table[name] = []
        for _ in range(2):
            try:
                call()
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}")
                break
            table[name].append(emulator.counts()[:5])
        print(f"{name:28s}", *("".join(f"{v:10d}" for v in row) + " |" for row in table[name]), flush=True)
    print(json.dumps(table))


if __name__ == "__main__":
    main()
