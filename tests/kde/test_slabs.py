"""Long loops in slabs change no bit and can be interrupted."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from numbastats import kde
from numbastats._core.parallel import worker_count
from numbastats._core.slabs import in_slabs
from numbastats.kde import arguments
from numbastats.kde.arguments import make_model, parse_axes
from numbastats.kde.engine import Request, plan_pass
from tests.kde.naive import WRAPS

pytestmark = WRAPS


def test_slabs_change_no_bit(monkeypatch):
    r = np.random.default_rng(6)
    x, w = {d: r.normal(size=(3000, d)) for d in (1, 2, 3)}, r.random(3000) + 0.1
    axes = {1: [(-3, 3, 301)], 2: [(-3, 3, 60), (-3, 3, 50)], 3: [(-3, 3, 9), (-3, 3, 11), (-3, 3, 12)]}

    def everything(workers):
        options, results = {"device": "cpu", "workers": workers}, []
        for d in (1, 2, 3):
            for method, kernel in itertools.product(arguments.GRID_METHODS, ("epanechnikov", "triweight", "gaussian")):
                if method in ("auto", "rows", "skde-atomic"):
                    continue  # the same as others; not the same bits twice
                try:
                    results.append(
                        kde.grid(x[d], axes[d], kernel=kernel, method=method, weights=w if d != 2 else None, **options)
                    )
                except ValueError:
                    continue
            plan = kde.plan(x[d], axes[d])
            results.append(kde.finalize(kde.partial(x[d], plan, **options), plan, **options))
            for method, kernel in itertools.product(("cells", "ep"), ("epanechnikov", "gaussian")):
                results.append(kde.points(x[d], x[d][:700], kernel=kernel, method=method, **options))
            results.append(
                np.array([kde.bandwidth.lscv(x[d][:800], workers=workers), kde.bandwidth.plugin(x[d], workers=workers)])
            )
        return results

    for workers in (1, 2):
        monkeypatch.undo()
        whole = everything(workers)
        monkeypatch.setattr("numbastats._core.slabs.SLAB_WORK", 3e4)
        for a, b in zip(whole, everything(workers), strict=True):
            np.testing.assert_array_equal(a, b)


def test_slabs_by_the_sums_of_costs(monkeypatch):
    monkeypatch.setattr("numbastats._core.slabs.SLAB_WORK", 10.0)
    cost, found = np.array([1.0, 1.0, 30.0, 2.0, 7.0, 2.0, 9.0]), []
    in_slabs(lambda a, b: found.append((a, b)), len(cost), cost, workers=1)
    assert found == [(0, 3), (3, 5), (5, 7)]


def test_loads_bound_the_samples_of_rows():
    """The samples in the box of each row, counted one by one."""
    r = np.random.default_rng(7)
    for d, shape in ((2, (23, 19)), (3, (9, 7, 11)), (4, (5, 4, 6, 7))):
        x = r.normal(size=(400, d))
        model = make_model(x, h=0.9)
        ask = Request(parse_axes([(-2.5, 3.0, m) for m in shape], d), shape, None, None, "cpu", worker_count(1))
        plan = plan_pass(model, (), "rows", ask)
        outer = plan.grid.order[:-1]
        at = (x - plan.grid.origin) / plan.grid.step
        rows = np.stack(np.meshgrid(*[np.arange(shape[a]) for a in outer], indexing="ij"), -1).reshape(-1, d - 1)
        near = (np.abs(at[:, outer] - rows[:, None]) <= plan.grid.half[:-1]).all(-1).sum(1)
        loads = plan.grid.loads(plan.lists)
        assert loads.shape == near.shape and (loads >= near).all() and loads.max() <= plan.lists.kept
        assert loads.mean() < 0.5 * plan.lists.kept


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from numbastats import kde
from numbastats._core import launch

workers = int(sys.argv[1])
options = dict(device="cpu", workers=workers)
launch.PARALLEL_FROM = launch.LOOP_FROM = 0
r = np.random.default_rng(0)
x3 = r.normal(size=(1_000_000, 3))
x2, x1 = np.ascontiguousarray(x3[:, :2]), x3[:, 0].copy()
square, cube = lambda m: [(-4, 4, m)] * 2, lambda m: [(-4, 4, m)] * 3
calls = {
    "direct sums": lambda n, m: kde.grid(x2[:n], square(m), kernel="gaussian", H=0.1 * np.eye(2), **options),
    "a line": lambda n, m: kde.grid(x1[:n], (-4, 4, m * m // 5), kernel="gaussian", h=0.3, **options),
    "rows": lambda n, m: kde.grid(x3[:n], cube(m // 3), H=0.5 * np.eye(3), **options),
    "brute force": lambda n, m: kde.points(x2[: n // 5], x2[:n], method="ep", **options),
    "cells of points": lambda n, m: kde.KDE(kernel="gaussian", h=0.3, **options).fit(x2[:n]).score_samples(x2[:n]),
    "cross-validation": lambda n, m: kde.bandwidth.lscv(x2[: n // 10], workers=workers),
    "partial sums": lambda n, m: kde.partial(x3[:n], kde.plan(x3[:n], cube(m // 4), H=0.5 * np.eye(3)), **options),
}
for name, call in calls.items():
    call(2000, 60)  # an interrupt in the midst of a compilation is Numba's affair
    sent = []
    threading.Timer(1.5, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT))).start()
    try:
        call(1_000_000, 1000)
        time.sleep(3)
    except KeyboardInterrupt:
        print(name, time.perf_counter() - sent[0], sep=": ", flush=True)
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.slow
def test_interrupts_return_soon(workers):
    """Within half a second on a machine that does nothing else; without slabs 10 to 200."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, str(workers)], capture_output=True, text=True, timeout=1800)
    lines = [line.split(": ") for line in done.stdout.splitlines()]
    assert len(lines) == 7, done.stdout + done.stderr
    assert all(float(seconds) < 6 for _, seconds in lines), done.stdout
