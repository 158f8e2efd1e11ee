"""Whole public calls for gpu.py: with arrays on the GPU, with arrays on the host, on all cores, and whether results agree.

`CALLS` is the table of them; GPU_CALLS.md has what was measured.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import os
import warnings
from collections.abc import Callable

import numpy as np
from numba import cuda

import numbastats as ns
from numbastats._core.kernel import SIMULATED
from numbastats.distributions.kernels.fits import LOGLIK, MASS, TOTAL, ZEROS

FULL, SMALL, TINY = range(3)  # what is timed; what compiles and loads all that this needs; in the simulator
WAYS = {"there": "cuda", "host": "cuda", "cores": "cpu"}  # where the arrays are, and the device
CORES = os.cpu_count() or 1


# --- whether results of two devices agree: functions of both results that return words, and whether that is good enough -----


def values(rtol=1e-12, flips=0.0, floor=0.0):
    """Numbers; a share of them may differ by any amount, and those below a share of the largest are judged by that."""

    def agree(got, want):
        got, want = np.asarray(got), np.asarray(want)
        if np.array_equal(got, want, equal_nan=True):
            return "same bits", True
        with np.errstate(invalid="ignore", divide="ignore"):
            least = floor * np.max(np.abs(want), where=np.isfinite(want), initial=0.0)
            apart = np.where(
                (got == want) | (np.isnan(got) & np.isnan(want)), 0.0, np.abs(got - want) / np.maximum(np.abs(want), least)
            )
        beyond = ~(apart <= rtol)
        words = f"{np.max(apart, where=~beyond, initial=0.0):.1e}"
        words += f", {beyond.sum()} beyond {rtol:g}, up to {np.max(apart, where=beyond, initial=0.0):.1e}" if beyond.any() else ""
        return words, beyond.mean() <= flips

    return agree


def fits(got, want):
    """Statuses, and log-likelihoods where both fits converged: a climb that ends on a flat likelihood ends anywhere."""
    return climbs(*(np.atleast_1d(np.asarray(v, float)) for fit in (got, want) for v in (fit.loglik, fit.status)))


def climbs(a, one, b, other, fall=0.0, most=0.01):
    """The same of log-likelihoods and statuses; of `most` of the fits nothing is asked.

    `fall` is by how much the likelihood falls between the two estimates.
    """
    gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    apart = np.maximum(gap, fall) / (1.0 + np.abs(np.where(np.isfinite(b), b, 0.0)))
    converged, equal = (one == 0) & (other == 0), float((one == other).mean())
    near = not converged.any() or float((apart[converged] <= 1e-8).mean()) >= 1.0 - most
    worst = [np.max(apart, where=where, initial=0.0) for where in (converged, ~converged)]
    words = f"log-likelihoods of the {converged.sum()} converged {worst[0]:.1e}, of others {worst[1]:.1e}"
    return f"{words}; statuses equal in {equal:.5f}", near and equal >= 1.0 - most


def fit_outputs(got, want):
    """The same of the outputs of a fit's kernel; parameters by the likelihood's fall between them, as the information has it."""
    (p, _, numbers, status), (q, information, others, statuses) = got, want
    i, j = np.tril_indices(q.shape[1])
    with np.errstate(invalid="ignore"):
        moved = (p - q)[:, i] * (p - q)[:, j] * np.where(i == j, 0.5, 1.0)
        fall = np.where(moved == 0.0, 0.0, information[:, i, j] * moved).sum(1)
    fall = np.where(np.isfinite(fall), fall, 0.0)  # no information: an end of the range
    said, good = climbs(numbers[:, LOGLIK], status, others[:, LOGLIK], statuses, fall, 0.02)  # 1 of 64
    kept = [MASS, ZEROS, TOTAL]
    if not np.allclose(numbers[:, kept], others[:, kept], rtol=1e-14, atol=0.0, equal_nan=True):
        said, good = f"{said}; other values are kept", False
    counts = np.bincount(statuses)
    return f"{said} ({', '.join(f'{counts[k]} of status {k}' for k in np.flatnonzero(counts))})", good


def coefficients(got, want):
    """Posterior means of chains in float32, of which rounding makes others."""
    apart = float(np.abs(got.coef_ - want.coef_).max())
    return f"coefficients {apart:.1e}", apart < 0.05


# --- the calls ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Call:
    """A public call.

    Attributes
    ----------
    data : callable
        ``data(rng, n)`` gives the array of the call.
    run : callable
        ``run(x, device=)`` is the call.
    sizes : tuple
        n of `FULL`, `SMALL` and `TINY`.
    agree : callable
    ways : tuple of str
        Those of `WAYS` that the call has.
    peers : dict
        Other people's functions by name, as ``function(cupy, x)`` of a CuPy array.
    long : bool
        Whether it takes long to compile.
    """

    data: Callable
    run: Callable
    sizes: tuple
    agree: Callable = values()
    ways: tuple = tuple(WAYS)
    peers: dict = dataclasses.field(default_factory=dict)
    long: bool = False


def _map(data, run, full, **options):
    return Call(data, run, (full, min(full, 50_000), 66), **options)


def _draws(draw, full, dtype=np.float64, **options):
    """Draws of one law: the size of `x` is that of the result, its kind and device, too."""
    return _map(
        lambda rng, n: _Size(n, dtype), lambda x, device: draw(size=x.n, rng=1, like=x.like, device=device), full, **options
    )


class _Size:
    """In the place of data: how much to draw, and an array that says what kind."""

    def __init__(self, n, dtype):
        self.n, self.like = n, np.zeros(1, dtype)

    shape = property(lambda self: (self.n,))


def _in_float32(draw):
    return lambda **options: draw(dtype=np.float32, **options)


def _uniform(rng, n):
    return rng.random(n)


def _normal(rng, n):
    return rng.standard_normal(n)


def _two_columns(rng, n):
    return rng.standard_normal((n, 2))


def _gamma(rng, n):
    return rng.gamma(2.5, size=n)


def _cauchy(rng, n):
    return 2.0 * rng.standard_cauchy(n)


def _two_groups(rng, n):
    x = rng.standard_normal(n)
    return np.where(rng.random(n) < 0.4, x, 4.0 + 1.5 * x)


def _special(name, *before):
    return lambda cupy, x: getattr(importlib.import_module("cupyx.scipy.special"), name)(*before, x)


def _philox(dtype):
    return {"CuPy Philox": lambda cupy, x: cupy.random.Generator(cupy.random.Philox4x3210(1)).standard_normal(x.n, dtype=dtype)}


def _differing(x, device):
    """Stable densities of which each has parameters of its own; x has both in its rows."""
    return ns.stable.pdf(x[0], x[1], 0.3, device=device)


def _with_axes(rng, n):
    x = _two_columns(rng, n)
    return x, ns.kde.regular_axes(x[:100_000], shape=(9, 7) if n < 1000 else (560, 540))


def _many(family, series, draw, **options):
    """Fits of series of 40 values."""
    fit = functools.partial(ns.distributions.fit_many, family=family, workers=CORES)
    sizes = (series, 1000, 3)
    return Call(lambda rng, n: draw(rng, (n, 40)), lambda x, device: fit(x, device=device), sizes, fits, long=True, **options)


def _mixed(fit, x, **options):
    """Two normal components; from one start where there are few values."""
    return fit(x, 2, family="normal", rng=1, n_init=1 if x.size < 1000 else None, **options)


def _clusters(rng, shape):
    """Data sets of four columns, or of two where they are small, in two groups."""
    return np.where(rng.uniform(size=(*shape, 1)) < 0.4, -1.5, 1.5) + rng.normal(size=(*shape, 4 if shape[1] > 40 else 2))


def _clustered(x, **options):
    """Two normal components; from a single start where there are few rows."""
    return ns.mixture.fit_many(x, 2, rng=1, starts="portfolio" if x.shape[1] > 40 else "hierarchical", **options)


def _horseshoe(x, device):
    X, hit = x
    length = {"warmup": 100, "draws": 100} if len(X) > 4000 else {"warmup": 50, "draws": 4}
    dtype = "float32" if len(X) >= 4000 else "float64"  # where few rows leave much to chance, rounding does not decide
    chains = 4 if len(X) >= 4000 else 1
    return ns.bayes.HorseshoeClassifier(chains=chains, dtype=dtype, device=device, rng=1, **length).fit(X, hit)


def _rows(rng, n):
    p = max(3, n // 4000)
    X = rng.standard_normal((n, p), dtype=np.float32)
    return X, X[:, :5].sum(1) + rng.logistic(size=n) > 0


def _families(kinds):
    D, N = ns.distributions, 20_000_000
    laws = {
        "Gamma(2.5)": (D.Gamma(2.5), _gamma),
        "StudentT(4)": (D.StudentT(4.0), _normal),
        "GEV(0.1)": (D.GEV(0.1), _normal),
        "Beta(2, 3)": (D.Beta(2.0, 3.0), _uniform),
        "NIG(1, 0.3, 1)": (D.NIG(1.0, 0.3, 1.0), _normal),
    }
    for law, (distribution, data) in laws.items():
        for kind in kinds:
            peers = {"CuPy gammainc": _special("gammainc", 2.5)} if (law, kind) == ("Gamma(2.5)", "cdf") else {}
            # the quantile of many is that of a table, accurate by the scale: that of the GEV is 0 at 1/e
            agree = values(floor=1e-3 if kind == "ppf" else 0.0)
            yield (
                f"{law}.{kind}",
                _map(_uniform if kind == "ppf" else data, getattr(distribution, kind), N, peers=peers, agree=agree),
            )


CALLS = {
    "quantile.ndtri float32": _map(
        lambda rng, n: rng.random(n, dtype=np.float32),
        ns.quantile.ndtri,
        100_000_000,
        agree=values(1e-6),
        peers={"CuPy ndtri": _special("ndtri")},
    ),
    "quantile.ndtri": _map(_uniform, ns.quantile.ndtri, 50_000_000, peers={"CuPy ndtri": _special("ndtri")}),
    "random.normal": _draws(ns.random.normal, 100_000_000, peers=_philox(np.float64)),
    "random.normal float32": _draws(
        _in_float32(ns.random.normal), 100_000_000, np.float32, agree=values(1e-5, 1e-4), peers=_philox(np.float32)
    ),
    **{
        f"random.{law}": _draws(functools.partial(getattr(ns.random, law), *parameters), 20_000_000, agree=values(1e-9, 1e-4))
        for law, parameters in {"gamma": (2.5,), "poisson": (12.0,), "beta": (2.0, 3.0), "polya_gamma": (1.0, 0.5)}.items()
    },
    "stable.pdf": _map(_cauchy, lambda x, device: ns.stable.pdf(x, 1.5, 0.5, device=device), 10_000_000),
    "stable.ppf": _map(_uniform, lambda x, device: ns.stable.ppf(x, 1.5, 0.5, device=device), 10_000_000),
    "stable.pdf, parameters differ": Call(
        lambda rng, n: np.stack([_cauchy(rng, n), rng.uniform(0.6, 1.9, n)]), _differing, (200_000, 5000, 5), values(1e-11)
    ),
    "stable.rvs": _draws(functools.partial(ns.stable.rvs, 1.5, 0.5), 20_000_000),
    **dict(_families(("logpdf", "cdf", "ppf"))),
    "Gamma(2.5).score": _map(
        _gamma,
        lambda x, device: ns.distributions.Gamma(2.5).score(x, device=device)[0],
        20_000_000,
        agree=values(1e-9, floor=1e-3),
        ways=("there", "cores"),
    ),
    "kde.grid, 2-D": Call(_with_axes, lambda x, device: ns.kde.grid(*x, device=device), (10_000_000, 5000, 30), long=True),
    "kde.points, 2-D": Call(
        _two_columns,
        lambda x, device: ns.kde.points(x, x, device=device),
        (1_000_000, 5000, 20),
        values(1e-12, floor=1e-3),
        ways=("host", "cores"),
        long=True,
    ),
    "distributions.fit_many gamma": _many("gamma", 1_000_000, lambda rng, shape: rng.gamma(2.5, size=shape)),
    "distributions.fit_many gev": _many("gev", 250_000, lambda rng, shape: -np.log(rng.exponential(size=shape))),
    "distributions.fit_many student_t": _many("student_t", 250_000, lambda rng, shape: rng.standard_t(4, size=shape)),
    "distributions.fit_many negative_binomial": _many(
        "negative_binomial", 250_000, lambda rng, shape: rng.negative_binomial(3, 0.3, size=shape).astype(float)
    ),
    "distributions.fit_many nig": _many("nig", 10_000, lambda rng, shape: rng.standard_t(4, size=shape)),
    "mixture.fit_many": Call(
        lambda rng, n: _two_groups(rng, (n, 1000 if n > 10 else 40)),
        lambda x, device: _mixed(ns.mixture.fit_many, x, device=device, workers=CORES),
        (20_000, 20, 1),
        fits,
        long=True,
    ),
    "mixture.fit": Call(
        _two_groups, lambda x, device: _mixed(ns.mixture.fit, x, device=device), (20_000_000, 5000, 40), fits, long=True
    ),
    "mixture.fit_many of rows": Call(
        lambda rng, n: _clusters(rng, (n, 500 if n > 10 else 40)),
        lambda x, device: _clustered(x, device=device, workers=CORES),
        (10_000, 20, 2),
        fits,
        long=True,
    ),
    "bayes.HorseshoeClassifier": Call(_rows, _horseshoe, (400_000, 4000, 30), coefficients, long=True),
    "stable.fit_many": Call(
        lambda rng, n: ns.stable.rvs(1.5, 0.5, size=(n, 1000), rng=1),
        lambda x, device: ns.stable.fit_many(x, device=device, workers=CORES),
        (400, 4, 1),
        fits,
        long=True,
    ),
}


# --- running ------------------------------------------------------------------------------------------------------------


def cupy():
    """CuPy, where it is installed and runs on what Numba runs on."""
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


def _there(x):
    """The arrays of x on the device: CuPy's, or without it Numba's."""
    if isinstance(x, tuple):
        return (_there(x[0]), *x[1:])
    if isinstance(x, _Size):
        there = _Size(x.n, x.like.dtype)
        there.like = _there(x.like)
        return there
    module = None if SIMULATED else cupy()
    return cuda.to_device(x) if module is None else module.asarray(x)


def _host(x):
    for copy in ("get", "copy_to_host"):
        if hasattr(x, copy):
            return getattr(x, copy)()
    return x


def measure(name, size, timed):
    """A call in every way it has.

    Parameters
    ----------
    name : str
        In `CALLS`.
    size : {FULL, SMALL, TINY}
    timed : callable
        ``timed(f)`` calls f and returns milliseconds or None.

    Returns
    -------
    dict
        "call", "size"; milliseconds by way, and peer; "agree" in words; "failures", a list of texts.
    """
    call = CALLS[name]
    x = call.data(np.random.default_rng(7), call.sizes[size])
    cells, results, failures = {}, {}, []
    ways = dict.fromkeys((call.ways[0], "cores")) if SIMULATED and call.long else call.ways  # there long ones take seconds

    def one(way, f):
        def again():
            results.pop(way, None)  # frees it first
            results[way] = f()

        try:
            cells[way] = timed(again)
        except Exception as error:
            cells[way] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
            return cells[way]
        return None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chains that are short
        for way in ways:
            given = _there(x) if way == "there" else x
            failed = one(way, lambda given=given, way=way: call.run(given, device=WAYS[way]))
            failures += [f"{name}, {way}: {failed}"] if failed else []
    words = []
    for way in [way for way in ways if way != "cores" and way in results and "cores" in results]:
        said, good = call.agree(_host(results[way]), results["cores"])
        words += [f"{way}: {said}"]
        failures += [] if good else [f"{name}, {way} and cores disagree: {said}"]
    results.clear()
    if size == FULL and call.peers and cupy() is not None:
        given = _there(x)
        for peer, function in call.peers.items():
            one(peer, lambda function=function: function(cupy(), given))
    shape = getattr(x[0] if isinstance(x, tuple) else x, "shape", ())
    return {"call": name, "size": " x ".join(map(str, shape)), "agree": "; ".join(words), "cells": cells, "failures": failures}
