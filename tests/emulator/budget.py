"""What calls with device arrays cost, counted by the emulated driver: launches, allocations, bytes up and down, waits.

    python tests/emulator/budget.py [NAME ...]

The calls are those of asv_benchmarks/gpu_calls.py, every elementwise function, and some more, each with its arrays there and with
arrays of the host. Prints a line of each, and last all of them as JSON: {call: [first, second, bytes]}, the five counts in that
order, and the bytes of the arrays on the host that were given and that came back. The exit status is 1 where memory was used that
was freed too early for its stream, or written beyond.
"""

from __future__ import annotations

import ctypes
import fnmatch
import functools
import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("NUMBASTATS_MESSAGES", "0")

import cupy_stand_in  # isort: skip
import emulator

violations = emulator.install()
DRIVER = ctypes.CDLL("libcuda.so.1")
cupy = cupy_stand_in.install(DRIVER)

sys.path.insert(0, str(Path(__file__).parents[2] / "asv_benchmarks"))
import gpu_calls  # noqa: E402
import numpy as np  # noqa: E402

import numbastats as ns  # noqa: E402
from numbastats._core import cache  # noqa: E402
from numbastats.mixture.multivariate.results import NormalMixture  # noqa: E402

cache._warned = True  # of kernels that are not cached
N = 1000
WAYS = "there", "host"


def _calls():
    """Names, functions of an array and its device, and arrays on the host."""
    rng = np.random.default_rng(1)
    two, U = rng.normal(size=(600, 2)), rng.uniform(0.1, 0.9, N)
    sets = np.where(rng.uniform(size=(8, 600)) < 0.4, rng.gamma(2.0, size=(8, 600)), rng.gamma(30.0, size=(8, 600)))
    rows = rng.normal(size=(400, 5)), (rng.uniform(size=400) < 0.5).astype(float)
    few = dict(n_components=2, n_init=2, family="gamma", rng=1)
    probit = dict(warmup=50, draws=4, chains=2, rng=1)
    yield from ((name, call.run, call.data(np.random.default_rng(7), call.sizes[gpu_calls.TINY])) for name, call in LARGE)
    yield from ((name, f, U) for name, f in _elementwise())
    yield "mixture.fit gamma", lambda x, device: ns.mixture.fit(x, device="cuda", **few), U
    yield "mixture.fit_many gamma", lambda x, device: ns.mixture.fit_many(x, device="cuda", **few), sets
    table = np.where(rng.uniform(size=(60, 1)) < 0.4, -3.0, 3.0) + rng.normal(size=(60, 2))
    ward = dict(n_components=2, starts="hierarchical", rng=1)
    clusters = NormalMixture(np.array([0.4, 0.6]), np.array([[-3.0, -3.0], [3.0, 3.0]]), np.stack([np.eye(2)] * 2), (0, 1))
    yield "mixture.fit of rows", lambda x, device: ns.mixture.fit(x, device="cuda", **ward), table
    for f in ("logpdf", "predict_proba"):
        yield f"NormalMixture.{f}", lambda x, device, f=f: getattr(clusters, f)(x), table
    yield "mixture.partial_stats", lambda x, device: ns.mixture.partial_stats(x, **MIXED), U
    yield "kde.grid of 600", lambda x, device: ns.kde.grid(x, [(-3, 3, 41), (-3, 3, 41)], device=device), two
    yield "kde.points of 600", lambda x, device: ns.kde.points(x, x[:50], device=device), two
    regression = lambda x, **options: ns.bayes.HorseshoeProbit(**probit | options, device="cuda").fit(*x)  # noqa: E731
    yield "bayes.HorseshoeProbit.fit", lambda x, device: regression(x), rows
    for sampler in ("surrogate", "split-hmc", "px-gibbs"):
        fitted = functools.cache(lambda sampler=sampler: regression(rows, sampler=sampler))
        yield f"bayes, ten iterations, {sampler}", lambda x, device, fitted=fitted: fitted().continue_(10), rows
    yield "stable.loglik", lambda x, device: ns.stable.loglik(x, 1.7, -0.2), U
    yield "stable.score", lambda x, device: ns.stable.score(x[:50], 1.7, -0.2), U
    yield "stable.fit", lambda x, device: ns.stable.fit(x), rng.standard_cauchy(200)


LARGE = [(name, call) for name, call in gpu_calls.CALLS.items() if "there" in call.ways or "host" in call.ways]
MIXED = dict(weights=[0.5, 0.5], centres=[0.3, 0.6], params=[0.1, 0.1], family="gamma")
EIGHT = "pdf logpdf cdf sf logcdf logsf ppf isf".split()


def _elementwise():
    """Names and functions of one array."""
    D, table = ns.distributions, ns.quantile.QuantileTable(logpdf=lambda v: -0.5 * v * v)
    yield from ((f"quantile.{f}", getattr(ns.quantile, f)) for f in ("ndtri", "antithetic", "norm_from_exponential"))
    yield from ((f"quantile.QuantileTable.{f}", getattr(table, f)) for f in ("ppf", "isf"))
    yield "quantile.recycle", lambda x, **to: ns.quantile.recycle(x, "normal", D.student_t(4.5), **to)
    yield from ((f"stable.{f}", lambda x, f=f, **to: getattr(ns.stable, f)(x, 1.7, -0.2, **to)) for f in (*EIGHT, "pdf_cdf"))
    for f in ("pdf", "logpdf", "responsibilities"):
        yield f"mixture.{f}", lambda x, f=f, **to: getattr(ns.mixture, f)(x, **MIXED, **to)
    for f in ("cdf", "sf", "ppf", "isf"):  # where the values are
        yield f"mixture.{f}", lambda x, device, f=f: getattr(ns.mixture, f)(x, **MIXED)
    yield from ((f"bayes.{f}", getattr(ns.bayes, f)) for f in ("log_ndtr", "inv_mills", "log_exe1"))
    yield "bayes.truncnorm_rvs", lambda x, **to: ns.bayes.truncnorm_rvs(x, rng=1, **to)
    for made, functions in (D.Gamma(2.5), EIGHT), (D.NIG(1.0, 0.3, 1.0), "pdf logpdf cdf sf ppf isf".split()):
        yield from ((f"{type(made).__name__}.{f}", getattr(made, f)) for f in functions)
    yield from ((f"Poisson.{f}", getattr(D.Poisson(3.0), f)) for f in ("pmf", "logsf", "ppf"))
    for name, made in (
        ("truncate", D.truncate(D.Normal(), lb=0.0)),
        ("exp", D.exp(D.Normal())),
        ("Mixture", D.Mixture([D.Normal(), D.Gamma(2.0)])),
        ("student_t of Python", D.student_t(4.5)),
    ):
        yield from ((f"{name}.{f}", getattr(made, f)) for f in ("pdf", "cdf", "ppf"))
    for name in ns.random.__all__:
        draw = getattr(ns.random, name)
        if name[0].islower() and name != "key":
            before, after = BESIDE.get(name, ((), ()))
            yield f"random.{name}", lambda x, f=draw, a=before, b=after, **to: f(*a, x, *b, rng=1, **to)


BESIDE = {  # parameters of draws before and after the one that is an array
    "uniform": ((), (2.0,)),
    "gamma": ((), (2.0,)),
    "beta": ((), (2.0,)),
    "wald": ((), (2.0,)),
    "inverse_gaussian": ((), (2.0,)),
    "binomial": ((40,), ()),
    "negative_binomial": ((3.0,), ()),
    "truncnorm": ((), (2.0, -1.0, 3.0)),
}


def _bytes(x):
    """Bytes of the arrays on the host in data or a result."""
    if isinstance(x, np.ndarray):
        return x.nbytes
    if hasattr(x, "__cuda_array_interface__"):
        return 0
    parts = x if isinstance(x, tuple | list) else vars(x).values() if hasattr(x, "__dict__") and not callable(x) else ()
    return sum(_bytes(part) for part in parts)


def main():
    """Count all calls, or those that are asked for."""
    table = {}
    for name, call, host in {name: (name, *rest) for name, *rest in _calls()}.values():
        for way in WAYS:
            row = f"{name}, {way}"
            if not any(fnmatch.fnmatch(row, pattern) for pattern in sys.argv[1:] or ["*"]):
                continue
            x = gpu_calls._there(host) if way == "there" else host
            x = tuple(map(gpu_calls._there, x)) if way == "there" and isinstance(x, tuple) and "fit" in name else x
            emulator.counts()
            found = []
            for _ in range(2):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # of chains that are short
                        result = call(x, device="cuda")
                except Exception as error:
                    print(f"{row}: {type(error).__name__}: {error}")
                    break
                found.append(emulator.counts()[:5])
            else:
                given = 0 if isinstance(x, gpu_calls._Size) else _bytes(x)
                table[row] = [*found, [given, _bytes(result)]]
            print(f"{row:44s}", *("".join(f"{v:9d}" for v in counted) + " |" for counted in table.get(row, ())), flush=True)
    print(json.dumps(table))
    return int(violations() > 0)


if __name__ == "__main__":
    sys.exit(main())
