"""Ratios to what a user would otherwise call, measured in turn in one process, one thread unless stated.

A ratio is the peer's time over ours: above 1 we are faster.
"""

from __future__ import annotations

import importlib
import threading
import time
from pathlib import Path

import numpy as np
import scipy.special
from numba import njit

import numbastats as ns

from . import bench_quantile, datasets
from .common import FLOATS, LARGE, SMALL, Case, interleave, require

# Own time, math loop and NumPy in ns, as the specification states them: their ratios are what is to be reached.
SPEC_NS = {
    ("exp", "float32"): (0.21, 1.7, 0.35),
    ("exp_neg", "float64"): (0.33, 3.3, 0.61),
    ("expm1", "float64"): (0.41, 4.2, 0.76),
    ("expm1", "float32"): (0.18, 5.0, 0.32),
    ("log", "float32"): (0.27, 1.7, 0.29),
    ("log1p", "float64"): (0.58, 4.1, 0.65),
    ("log1p", "float32"): (0.25, 4.4, 0.31),
    ("sincos", "float64"): (0.58, 8.0, 8.0),
    ("sincos", "float32"): (0.22, 2.7, 0.43),
    ("cos_abs", "float64"): (0.35, 8.0, 8.1),
    ("cos_abs", "float32"): (0.13, 2.7, 0.42),
    ("atan", "float64"): (0.52, 7.1, 0.70),
    ("atan", "float32"): (0.19, 4.0, 0.27),
    ("pow", "float64"): (1.45, 8.0, 1.26),
}
GOALS = {("exp", "float64"): (1 / 0.2, 1.0), ("log", "float64"): (1 / 0.25, 1 / 1.1)}
GOALS |= {key: (loop / own, numpy / own) for key, (own, loop, numpy) in SPEC_NS.items()}


def _scalar_case(name, dtype):
    function = datasets.FUNCTIONS[name]

    def make():
        inputs, outputs = function.arrays(SMALL, FLOATS[dtype])
        return {"ours": lambda: function.kernel.serial(*inputs, *outputs), **function.peers(inputs, outputs)}

    loop_goal, ufunc_goal = GOALS.get((name.partition(".")[2], dtype), (None, None))
    goals = {}
    if function.loop is not None:
        goals["math loop"] = loop_goal
    if function.ufunc is not None:
        goals["NumPy" if name.startswith("elementary.") else "SciPy"] = ufunc_goal
    return Case(SMALL, make, goals)


def _ndtri_case(method, dtype, goal):
    def make():
        u = datasets.probabilities(SMALL, FLOATS[dtype])
        arguments = datasets.ndtri_arguments(u, np.empty_like(u))
        out = np.empty_like(u)
        kernel = bench_quantile.kernel(method, dtype).serial
        return {"ours": lambda: kernel(*arguments), "scipy.special.ndtri": lambda: scipy.special.ndtri(u, out=out)}

    return Case(SMALL, make, {"scipy.special.ndtri": goal})


def _words_case(size, goal=None):
    def make():
        generator, out = np.random.default_rng(1), np.empty(size, np.uint32)
        return {
            "ours": lambda: datasets.WORDS.serial(np.uint32(1), np.uint32(2), out),
            "Generator.integers": lambda: generator.integers(0, 2**32, size, dtype=np.uint32),
        }

    return Case(size, make, {"Generator.integers": goal})


_GENERATOR = {
    "uniform": ("Generator.random", lambda g, dtype, out: g.random(dtype=dtype, out=out)),
    "normal": ("Generator.standard_normal", lambda g, dtype, out: g.standard_normal(dtype=dtype, out=out)),
    "exponential": ("Generator.standard_exponential", lambda g, dtype, out: g.standard_exponential(dtype=dtype, out=out)),
    "gamma": (
        "Generator.standard_gamma",
        lambda g, dtype, out: g.standard_gamma(datasets.LAWS["gamma"][0], dtype=dtype, out=out),
    ),
}


def _draw_case(law, dtype, goal=None):
    name, call = _GENERATOR[law]

    def make():
        generator, out, theirs = np.random.default_rng(1), np.empty(SMALL, FLOATS[dtype]), np.empty(SMALL, FLOATS[dtype])
        kernel = datasets.random_kernel(law, dtype)
        arguments = datasets.random_arguments(kernel, out, datasets.LAWS[law])
        return {"ours": lambda: kernel.serial(*arguments), name: lambda: call(generator, FLOATS[dtype], theirs)}

    return Case(SMALL, make, {name: goal})


def _uniforms_and_quantile():
    generator, u, out = np.random.default_rng(1), np.empty(SMALL), np.empty(SMALL)
    kernel, arguments = bench_quantile.kernel("fast", "float64").serial, datasets.ndtri_arguments(u, out)

    def ours():
        generator.random(out=u)
        kernel(*arguments)

    return {"ours": ours, "Generator.standard_normal": lambda: generator.standard_normal(out=out)}


def _two_threads(call):
    return {"ours": lambda: call(2), "one thread": lambda: call(1)}


def _ndtri_threads():
    u = datasets.probabilities(LARGE, np.float64)
    out = np.empty_like(u)
    return _two_threads(lambda workers: ns.quantile.ndtri(u, out=out, device="cpu", workers=workers))


def _normal_threads():
    out = np.empty(LARGE)
    return _two_threads(lambda workers: ns.random.normal(size=LARGE, rng=1, out=out, device="cpu", workers=workers))


def _ndtri_large():
    u = datasets.probabilities(LARGE, np.float64)
    out = np.empty_like(u)
    return {
        "ours": lambda: ns.quantile.ndtri(u, out=out, device="cpu", workers=1),
        "scipy.special.ndtri": lambda: scipy.special.ndtri(u, out=out),
    }


CASES = {
    f"{name} {dtype}": _scalar_case(name, dtype)
    for name, f in datasets.FUNCTIONS.items()
    for dtype in FLOATS
    if f.loop or f.ufunc
}
SCALAR_CASES = tuple(CASES)
CASES |= {
    "ndtri fast float64": _ndtri_case("fast", "float64", 7.0),
    "ndtri accurate float64": _ndtri_case("accurate", "float64", 4.0),
    "ndtri fast float32": _ndtri_case("fast", "float32", 18.0),
    "ndtri fast float64, 10^7 values": Case(LARGE, _ndtri_large, {"scipy.special.ndtri": None}),
    "Philox uint32 words": _words_case(SMALL),
    "Philox uint32 words, 10^6 words": _words_case(10**6, 8.0),
    "random.normal float64": _draw_case("normal", "float64", 2.5),
    "random.normal float32": _draw_case("normal", "float32"),
    "Generator.random, then ndtri fast": Case(SMALL, _uniforms_and_quantile, {"Generator.standard_normal": 2.5}),
    "random.exponential float64": _draw_case("exponential", "float64"),
    "random.exponential float32": _draw_case("exponential", "float32"),
    "random.gamma(2.5) float64": _draw_case("gamma", "float64"),
    "random.gamma(2.5) float32": _draw_case("gamma", "float32"),
    "random.uniform float64": _draw_case("uniform", "float64"),
    "random.uniform float32": _draw_case("uniform", "float32"),
    "two threads, ndtri fast, 10^7 values": Case(LARGE, _ndtri_threads, {"one thread": 1.7}),
    "two threads, random.normal, 10^7 values": Case(LARGE, _normal_threads, {"one thread": 1.7}),
}
for _file in sorted(Path(__file__).parent.glob("bench_*.py")):  # a topic's own cases stand beside its benchmarks
    CASES |= getattr(importlib.import_module(f"{__package__}.{_file.stem}"), "PEER_CASES", {})


@njit(nogil=True)
def _dependent_chain(n):
    x = 1.0
    for _ in range(n):
        x = x * 0.999999 + 1e-9
    return x


def second_cpu_gain(waiting=False, rounds=9):
    """Throughput of two independent one-thread loops at once over that of one: what two threads can gain here at most.

    By default the loops are ndtri kernels, which keep a core's vector units busy; with ``waiting=True`` chains of operations
    each of which waits for the one before. Both gain 2 on two cores. The two processors of a virtual machine may be
    hyperthreads of one core: then chains still gain 2, but busy loops 1.0 to 1.3, and so does any kernel of this library.
    """
    kernel = bench_quantile.kernel("fast", "float64").serial
    data = [datasets.ndtri_arguments(u, np.empty_like(u)) for u in [datasets.probabilities(262_144, np.float64)] * 2]
    _dependent_chain(1)

    def work(arguments):
        if waiting:
            _dependent_chain(10_000_000)
            return
        for _ in range(40):
            kernel(*arguments)

    def seconds(count):
        threads = [threading.Thread(target=work, args=(d,)) for d in data[:count]]
        start = time.perf_counter()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return time.perf_counter() - start

    seconds(1)
    return float(np.median([2 * seconds(1) / seconds(2) for _ in range(rounds)]))


def call_overhead(seconds=0.3):
    """Microseconds of a public call on one value."""
    return interleave({"ours": lambda: ns.quantile.ndtri(0.3, device="cpu")}, 1, seconds).ns("ours") / 1000


class Speedup:
    params = [f"{case} / {peer}" for case, c in CASES.items() for peer in c.goals]
    param_names = ["case / peer"]

    def setup(self, pair):
        needs = CASES[pair.rpartition(" / ")[0]].needs
        require(*[needs] if needs else [])

    def track_speedup(self, pair):
        case, _, peer = pair.rpartition(" / ")
        return CASES[case].measure([peer]).speedup("ours", peer)

    track_speedup.unit = "peer's time / ours"


class Overhead:
    def track_call_on_one_value(self):
        return call_overhead()

    track_call_on_one_value.unit = "us"

    def track_second_cpu_gain(self):
        return second_cpu_gain()

    def track_second_cpu_gain_of_chains(self):
        return second_cpu_gain(waiting=True)

    track_second_cpu_gain.unit = track_second_cpu_gain_of_chains.unit = "times one thread"
