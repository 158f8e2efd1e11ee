"""Hazards from a density and the tail above it."""

from __future__ import annotations

from numbastats._core.kernel import device_function
from numbastats.distributions.kernels.maps import Map
from numbastats.scalar.elementary import exp

__all__ = ["FAR", "HAZARD"]

FAR = 1e-300  # tails below it have few digits, or none


@device_function
def hazard(density, tail, log_density, log_tail, counts):
    """Density over tail, by their logarithms where the tail is small; of counts the tail has the probability at x, too."""
    by_logs = log_density - log_tail
    far = exp(by_logs) if counts == 0.0 else 1.0 / (1.0 + exp(-by_logs))
    within = tail if counts == 0.0 else tail + density  # of continuous ones the density may be infinite
    return density / within if tail >= FAR else far


HAZARD = Map("hazard", hazard, "pdf", "sf", "logpdf", "logsf", "counts", cost=8.0)
