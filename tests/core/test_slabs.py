"""How long work is cut, and what becomes of Ctrl-C in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from numbastats._core import slabs


@pytest.mark.parametrize(
    ("n", "cost", "workers", "unit", "want"),
    [
        (10, 0, 1, 1, [(0, 10)]),
        (0, 0, 1, 1, []),
        (5, 4e7, 1, 1, [(0, 2), (2, 4), (4, 5)]),
        (5, 1e12, 1, 1, [(i, i + 1) for i in range(5)]),
        (5, 1e12, 2, 1, [(0, 2), (2, 4), (4, 5)]),  # an item for each thread
        (20_000, 1e4, 1, 4096, [(0, 8192), (8192, 16_384), (16_384, 20_000)]),
        (5000, 1e12, 2, 4096, [(0, 4096), (4096, 5000)]),
    ],
)
def test_slabs(n, cost, workers, unit, want):
    seen = []
    slabs.in_slabs(lambda *ends: seen.append(ends), n, cost, workers, unit)
    assert seen == want


@pytest.fixture
def heard():
    """The signals that a handler which raises nothing was called with."""
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    yield seen
    signal.signal(signal.SIGINT, before)


def test_handlers_are_called_at_the_end(heard):
    with slabs.interrupts_held() as pressed:
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        assert len(pressed) == 2 and not heard
    assert heard == [signal.SIGINT]
    with slabs.interrupts_held(once=True) as pressed:  # a handler that does not end the work gets its signal at once
        signal.raise_signal(signal.SIGINT)
        assert not pressed and len(heard) == 2


def test_a_second_interrupt_is_not_held(heard):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    reached = []
    with pytest.raises(KeyboardInterrupt), slabs.interrupts_held(once=True) as pressed:
        signal.raise_signal(signal.SIGINT)
        reached.append(len(pressed))
        signal.raise_signal(signal.SIGINT)
        reached.append(None)
    assert reached == [1] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


FITS = """
import sys, time, warnings
import numpy as np
import numbastats as ns
warnings.simplefilter("ignore")
ns.config.set(workers=1, device="cpu")
D = ns.distributions
x = np.random.default_rng(1).standard_t(4, size=(20_000, 50))
calls = {name: (lambda x, name=name: D.fit_many(x, name)) for name in "skew_t generalized_hyperbolic student_t".split()}
calls["compare_many"] = lambda x: D.compare_many(x, ["normal", "skew_t"])
for name, call in calls.items():
    call(x[:2])
    try:
        print(name, flush=True)
        call(x)
        time.sleep(60.0)
    except KeyboardInterrupt:
        print("ended", flush=True)
"""


def test_fits_answer_an_interrupt_within_two_seconds():
    """A slab is at most some time of work, whatever a climb costs; before, skew_t took 4 to 12 s and more."""
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    with subprocess.Popen([sys.executable, "-c", FITS], stdout=subprocess.PIPE, text=True, env=env) as child:
        took = {}
        for line in child.stdout:
            time.sleep(1.0)
            child.send_signal(signal.SIGINT)
            began = time.perf_counter()
            assert child.stdout.readline() == "ended\n"
            took[line.strip()] = time.perf_counter() - began
    assert child.returncode == 0 and len(took) == 4 and max(took.values()) < 2.0, took  # observed 0.3
