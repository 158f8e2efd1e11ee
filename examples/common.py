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
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return result, min(times)
