"""Split Hamiltonian Monte Carlo: an exact rotation under a normal approximation, a kick by the remainder."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbastats.bayes import kernels as k
from numbastats.bayes.samplers import adaptation, scales
from numbastats.bayes.samplers.algebra import summed
from numbastats.bayes.samplers.record import Sampler


class State(NamedTuple):
    """Coefficients and scales, log-likelihood and its gradient, the normal approximation."""

    b: np.ndarray
    scales: scales.Scales
    loglik: np.ndarray
    gradient: np.ndarray
    metric: adaptation.Metric


def init(rows, prior, numbers, chains):
    """Around the mode."""
    found = scales.start(prior, (chains, rows.width), -2.0)
    B, metric = adaptation.start(rows, prior, found.d[0], numbers, chains)
    return State(B, found, *summed(rows.loglik, B), metric)


def proposed(state):
    """The arrays of a state that a proposal replaces."""
    return state.b, state.gradient, state.loglik, state.scales.log_tau, state.scales.d


def step(rows, prior, state, numbers):
    """Scales, then a proposal of the coefficients."""
    metric, now = state.metric, proposed(state)
    scales.draw(prior, state.scales, state.b, numbers)
    Z, U = numbers.draws()
    factors, room, failed = numbers.memory(state.b.shape[1])
    new, energy = numbers.spare("b", state.b.shape), numbers.spare("energy", (numbers.chains,))
    slab = scales.slab_precisions(prior, state.scales, numbers)
    given = metric.H, metric.h, now, slab, np.int64(prior.skip), Z, U, metric.angle
    numbers.algebra(k.ROTATION, given, (new, energy, factors, room, failed))
    loglik, gradient = rows.loglik(new)
    given = (new, gradient, loglik, *now[3:]), energy, factors, U, metric.angle
    numbers.algebra(k.KICK, given, (now, room, numbers.report))
    return state, numbers.info()._replace(ratios=None)


HAMILTONIAN = Sampler("hamiltonian", "split-hmc", init, step, adapts=True, heavy_tails=True)
