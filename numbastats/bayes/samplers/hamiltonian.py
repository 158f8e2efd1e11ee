"""Split Hamiltonian Monte Carlo: an exact rotation under a normal approximation, a kick by the remainder."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbastats.bayes.samplers import adaptation, scales
from numbastats.bayes.samplers.algebra import factor, solve, summed
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
    found = scales.start(prior, (chains, rows.shape[1]), -2.0)
    B, metric = adaptation.start(rows, prior, found.d[0], numbers, chains)
    return State(B, found, *summed(rows.loglik, B), metric)


def step(rows, prior, state, numbers):
    """Scales, then a proposal of the coefficients."""
    B, metric = state.b, state.metric
    scales.draw(prior, state.scales, B, numbers)
    P = scales.precisions(prior, state.scales)
    Z, U = numbers.draws()
    chains = len(B)
    factors, new = [], np.empty_like(B)
    energy, momenta, angles = np.empty(chains), np.empty_like(B), metric.angle * (0.8 + 0.4 * U[:, 1])
    rotated = np.empty_like(B)
    for c in range(chains):
        b, d, v, a = B[c], P[c], Z[c], angles[c]
        L, _ = factor(metric.H, d)
        shift = solve(L, metric.h)
        q = b @ L - shift  # OpenBLAS runs trmv in threads from 20 x 20 on: 12 ms a call on a busy machine
        pull = solve(L, d * b - state.gradient[c]) - q
        energy[c] = -state.loglik[c] + 0.5 * (d * b) @ b + 0.5 * v @ v
        v = v - 0.5 * a * pull
        rotated[c] = q * math.cos(a) + v * math.sin(a)
        momenta[c] = v * math.cos(a) - q * math.sin(a)
        new[c] = solve(L, rotated[c] + shift, True)
        factors.append(L)
    loglik, gradient = rows.loglik(new)
    gains = np.empty(chains)
    for c in range(chains):
        b, d = new[c], P[c]
        v = momenta[c] - 0.5 * angles[c] * (solve(factors[c], d * b - gradient[c]) - rotated[c])
        gains[c] = energy[c] - (-loglik[c] + 0.5 * (d * b) @ b + 0.5 * v @ v)
    return decide(state, state._replace(b=new, loglik=loglik, gradient=gradient), gains, U[:, 0])


def decide(state, new, gains, u):
    """Accept proposals of the chains with probability min(1, e^gain), in place: the state, and what the step reports."""
    finite = np.isfinite(gains)
    taken = np.array([math.log(v) < gain for v, gain in zip(u, gains, strict=True)]) & finite
    for old, value in ((state, new), (state.scales, new.scales)):
        for a, b in zip(old, value, strict=True):
            if isinstance(a, np.ndarray) and a is not b:
                a[taken] = b[taken]
    chance = np.array([math.exp(min(0.0, gain)) for gain in np.where(finite, gains, -math.inf)])
    return state, scales.Info(chance, int((~finite).sum()))


HAMILTONIAN = Sampler("hamiltonian", "split-hmc", init, step, adapts=True, heavy_tails=True)
