"""What the examples share: the smoke switch of continuous integration, and a timer."""

from __future__ import annotations

import os
import time

import matplotlib

matplotlib.use("Agg")

SMOKE = os.environ.get("NUMBASTATS_SMOKE") == "1"  # a smaller run for continuous integration


def best_of(function, repeats=5):
    """Result and the shortest of a few wall times, in seconds, after a first call that may compile."""
    result = function()
    times = []
    for _ in range(repeats):
        result, seconds = timed(function)
        times.append(seconds)
    return result, min(times)


def timed(function):
    """Result and wall time of one call, for a peer that takes long and compiles nothing."""
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start
