"""How the tour times: every call once for nothing, which may compile, then all of them in turns; medians."""

from __future__ import annotations

import os
import statistics
import time

import matplotlib

matplotlib.use("Agg")

SMOKE = os.environ.get("NUMBASTATS_SMOKE") == "1"  # as small as runs; pictures mean nothing


def best_of(function, repeats=5):
    """Result and the shortest of a few wall times, in seconds, after a first call that may compile."""
    result = function()
    times = []
    for _ in range(repeats):
        result, seconds = timed(function)
        times.append(seconds)
    return result, min(times)


def timed(function):
    """Result and wall time of one call, for what takes long and compiles nothing."""
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def race(repeats, *calls):
    """Result and median wall time in seconds of each call."""
    results = [call() for call in calls]
    times = [[timed(call)[1] for call in calls] for _ in range(repeats)]
    return [(result, statistics.median(t)) for result, t in zip(results, zip(*times, strict=True), strict=True)]
