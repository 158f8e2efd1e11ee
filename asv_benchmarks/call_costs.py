"""What surrounds the kernels of a call: python asv_benchmarks/call_costs.py [share | threads | calls] [NAME ...]

share: of each call on many values, with one thread, the time outside compiled loops: Python and NumPy, with LAPACK apart.
threads: the gain of two threads as a share of the gain of two independent loops, or copies, on this machine at that moment.
calls: Python calls inside the package of warm calls on few values. Without a word all three. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("NUMBA_ENABLE_SYS_MONITORING", "1")  # else profilers do not see compiled functions, from Python 3.12 on

import cProfile
import functools
import gc
import pstats
import threading
import time
import types

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher

import numbastats as ns

GOALS = {"share": 0.05, "bayes": 0.10, "threads": 0.9}
COPIES = frozenset({"Gamma.ppf", "mixture.logpdf"})  # bound by memory: two threads gain what two copies gain
ALGEBRA = ("lapack", "blas", "linalg", "potr", "cholesky", "matmul")  # in the names of functions of NumPy and SciPy


@functools.cache
def data():
    """What the calls are made with."""
    rng = np.random.default_rng(1)
    found = types.SimpleNamespace(
        gamma=rng.gamma(2.5, size=(100_000, 40)),
        counts=rng.negative_binomial(3, 0.3, size=(5_000, 40)),
        extremes=(rng.exponential(size=(10_000, 40)) ** -0.1 - 1.0) / 0.1,
        two=np.where(rng.random((1000, 1000)) < 0.4, rng.normal(0, 1, (1000, 1000)), rng.normal(4, 1.5, (1000, 1000))),
        stable=ns.stable.rvs(1.5, 0.5, size=(200, 1000), rng=1),
        points=rng.normal(size=(1_000_000, 2)),
        u=rng.random(10_000_000),
        X=rng.normal(size=(20_000, 50)),
    )
    found.x, found.y = 4.0 * found.u[:2_000_000], rng.random(20_000) < 1.0 / (1.0 + np.exp(-found.X[:, 0]))
    found.axes = ns.kde.regular_axes(found.points, shape=(560, 540))
    return found


def _classifier(workers):
    d = data()
    return ns.bayes.HorseshoeClassifier(chains=4, warmup=100, draws=100, rng=1, workers=workers).fit(d.X, d.y)


_MIXED = dict(weights=[0.4, 0.6], centres=[1.0, 2.0], params=[1.0, 2.0], family="normal")
MANY = {  # calls on many values: functions of the number of threads
    "Gamma.ppf": lambda w: ns.distributions.Gamma(2.5).ppf(data().u, workers=w),
    "Gamma.rvs": lambda w: ns.distributions.Gamma(2.5).rvs(10_000_000, rng=1, workers=w),
    "fit_many gamma": lambda w: ns.distributions.fit_many(data().gamma, "gamma", workers=w),
    "fit_many gev": lambda w: ns.distributions.fit_many(data().extremes, "gev", workers=w),
    "fit_many negative_binomial": lambda w: ns.distributions.fit_many(data().counts, "negative_binomial", workers=w),
    "mixture.fit_many": lambda w: ns.mixture.fit_many(data().two, 2, family="normal", rng=1, workers=w),
    "mixture.logpdf": lambda w: ns.mixture.logpdf(data().x, **_MIXED, workers=w),
    "stable.fit_many": lambda w: ns.stable.fit_many(data().stable, workers=w),
    "kde.grid": lambda w: ns.kde.grid(data().points, data().axes, workers=w),
    "kde.points": lambda w: ns.kde.points(data().points, data().points[:200_000], workers=w),
    "HorseshoeClassifier": _classifier,
}


@functools.cache
def little():
    """What calls on few values are made with."""
    rng = np.random.default_rng(0)
    found = types.SimpleNamespace(
        x=np.linspace(-3, 3, 50),
        y=np.concatenate([rng.normal(0, 1, 200), rng.normal(4, 1, 200)]),
        points=rng.normal(size=(2000, 2)),
        gamma=ns.distributions.Gamma(2.0),
        u=rng.random(100_000),
        sample=rng.gamma(2.0, size=1000),
    )
    found.axes = ns.kde.regular_axes(found.points, shape=(64, 64))
    return found


FEW = {  # calls on few values, and the goals for their Python calls
    "Gamma.cdf": (lambda: little().gamma.cdf(little().u), 25),
    "stable.pdf": (lambda: ns.stable.pdf(little().x, 1.5, 0.2), 90),
    "kde.grid": (lambda: ns.kde.grid(little().points, little().axes), 150),
    "mixture.fit": (lambda: ns.mixture.fit(little().y, 2, family="normal", rng=0), 200),
    "distributions.fit": (lambda: ns.distributions.fit(little().sample, "gamma"), None),
}


def shares(name):
    """Of a call on many values with one thread: the shares outside compiled loops without and with LAPACK, and its seconds."""
    call = MANY[name]
    call(1)
    call(1)
    profile = cProfile.Profile()
    profile.enable()
    call(1)
    profile.disable()
    codes = [o.py_func.__code__ for o in gc.get_objects() if isinstance(o, Dispatcher)]
    compiled = {(code.co_filename, code.co_firstlineno, code.co_name) for code in codes}
    total = inside = algebra = 0.0
    for function, (_, _, seconds, *_) in pstats.Stats(profile).stats.items():
        total += seconds
        if function in compiled or any(place in function[0] for place in ("/kernels/", "/scalar/", "loops.py")):
            inside += seconds
        elif any(word in function[2] or word in function[0] for word in ALGEBRA):
            algebra += seconds
    if not inside:
        raise RuntimeError("no compiled function was seen: set NUMBA_ENABLE_SYS_MONITORING=1 before Python starts")
    return 1.0 - (inside + algebra) / total, 1.0 - inside / total, total


def seconds(function, repeat=3):
    """Median seconds of a warm call."""
    function()
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


@numba.njit(nogil=True)
def _sines(n):
    total = 0.0
    for i in range(n):
        total += np.sin(i * 1e-3) * np.exp(-i * 1e-9)
    return total


_MEMORY = np.zeros((2, 2, 10_000_000))


def _copy(i):
    for _ in range(4):
        np.copyto(_MEMORY[i, 0], _MEMORY[i, 1])


def _at_once(work, arguments):
    running = [threading.Thread(target=work, args=(a,)) for a in arguments]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def gain(name):
    """The gain of two threads over one as a share of the machine's, and that gain."""
    call = MANY[name]
    one, two = (seconds(functools.partial(call, w)) for w in (1, 2))
    work, arguments = (_copy, (0, 1)) if name in COPIES else (_sines, (6_000_000, 6_000_000))
    machine = 2.0 * seconds(lambda: _at_once(work, arguments[:1])) / seconds(lambda: _at_once(work, arguments))
    return one / two / machine, machine


def python_calls(name):
    """Python calls inside the package of a warm call on few values."""
    call, n = FEW[name][0], 0
    call()
    call()

    def count(frame, event, argument):
        nonlocal n
        n += event == "call" and "/numbastats/" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return n


def main(word=None, *names):
    if word in (None, "calls"):
        for name in names or FEW:
            goal = "" if FEW[name][1] is None else f" (goal {FEW[name][1]})"
            print(f"calls    {name:28} {python_calls(name):6}{goal}", flush=True)
    if word in (None, "share"):
        for name in names or MANY:
            goal = GOALS["bayes" if name.startswith("Horseshoe") else "share"]
            alone, algebra, total = shares(name)
            print(f"share    {name:28} {alone:6.1%} (goal {goal:.0%}), with LAPACK {algebra:.1%}, of {total:.3g} s", flush=True)
    if word in (None, "threads"):
        for name in names or MANY:
            found, machine = gain(name)
            print(f"threads  {name:28} {found:6.2f} (goal {GOALS['threads']}) of the machine's {machine:.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
