"""How the tour times: every call once for nothing, which may compile, then all of them in turns; medians."""

from __future__ import annotations

import statistics

from common import timed


def race(repeats, *calls):
    """Result and median wall time in seconds of each call."""
    results = [call() for call in calls]
    times = [[timed(call)[1] for call in calls] for _ in range(repeats)]
    return [(result, statistics.median(t)) for result, t in zip(results, zip(*times, strict=True), strict=True)]
