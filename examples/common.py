"""What the examples share: the sizes of continuous integration and of the gallery, and a timer."""

from __future__ import annotations

import os
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

SMOKE = os.environ.get("NUMBASTATS_SMOKE") == "1"  # as small as runs; pictures mean nothing
GALLERY = os.environ.get("NUMBASTATS_GALLERY") == "1"  # for docs/conf.py: seconds each, pictures are right but coarser
ROOT = Path(__file__).parents[1]  # of the repository
OUTPUT = ROOT / "examples" / "output"


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
