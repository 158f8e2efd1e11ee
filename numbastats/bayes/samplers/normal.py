"""Gibbs sampling of a normal response: sigma with the coefficients integrated out, then these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbastats.bayes import kernels as k
from numbastats.bayes.samplers import scales
from numbastats.bayes.samplers.algebra import check_determined, summed
from numbastats.bayes.samplers.record import Sampler


class Problem(NamedTuple):
    """Sums over the data, which is all that the chains need: those of `Rows.least_squares`, and the shape of 1/sigma^2."""

    H: np.ndarray
    b: np.ndarray
    g: np.ndarray
    squares: float
    shape: float


class State(NamedTuple):
    """Coefficients, scales, log sigma among the extras."""

    b: np.ndarray
    scales: scales.Scales
    extras: dict[str, np.ndarray]


def problem(rows, prior):
    """What a fit computes once; every flat prior takes a degree of freedom."""
    H, b, g, squares = summed(rows.least_squares)
    check_determined(H, prior)
    return Problem(np.ascontiguousarray(H.T), b, g, float(squares), 0.5 * (rows.facts[k.WEIGHT].sum() - prior.flat))


def init(data, prior, numbers, chains):
    """A draw given scales of 1."""
    B = np.zeros((chains, len(data.b)))
    return _draw(data, prior, State(B, scales.start(prior, B.shape, 0.0), {"log_sigma": np.zeros(chains)}), numbers)


def step(data, prior, state, numbers):
    """Scales, then sigma and the coefficients."""
    scales.draw(prior, state.scales, state.b * np.exp(-state.extras["log_sigma"])[:, None], numbers)
    return _draw(data, prior, state, numbers), scales.Info(np.ones(len(state.b)))


def _draw(data, prior, state, numbers):
    given = data.H, data.b, data.g, data.squares, state.scales.d, scales.slab_precisions(prior, state.scales, numbers)
    given = *given, np.int64(prior.skip), numbers.draws()[0], numbers.gammas(data.shape)
    numbers.algebra(k.NORMAL_DRAW, given, (state.b, state.extras["log_sigma"], *numbers.memory(data.b.size)))
    numbers.check()
    return state


NORMAL = Sampler("normal", "gibbs", init, step, problem, passes=False)
