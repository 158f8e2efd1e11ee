"""A normal surrogate of the likelihood: sweeps without the data, then one exact acceptance. States are those of `hamiltonian`."""

from __future__ import annotations

import numpy as np

from numbastats.bayes.diagnostics import psis
from numbastats.bayes.samplers import scales
from numbastats.bayes.samplers.algebra import factor, solve
from numbastats.bayes.samplers.hamiltonian import decide, init
from numbastats.bayes.samplers.record import Sampler


def sweeps(n, p):
    """Sweeps under the surrogate per pass over the data: their p^3/3 operations balance the n p of a pass."""
    return int(min(max(round(5.0 * n / max(p, 1) ** 2), 1), 10))


def tail_shape(ratios):
    """Pareto shape of importance ratios, given the list of their logarithms; None for fewer than 100 ratios."""
    ratios = np.concatenate(ratios) if ratios else np.empty(0)
    ratios = ratios[np.isfinite(ratios)]
    return float(psis(ratios[None])[1][0]) if ratios.size >= 100 else None


def step(rows, prior, state, numbers):
    """Alternate draws of scales and coefficients, first and last the scales: the acceptance needs a reversible chain."""
    B, found, metric = state.b.copy(), state.scales.copy(), state.metric

    def surrogate(B):
        return B @ metric.h - 0.5 * np.einsum("cp,cp->c", B @ metric.H, B)

    for sweep in range(numbers.sweeps):
        scales.draw(prior, found, B, numbers, sweep, reversible=True)
        Z, _ = numbers.draws(sweep)
        P = scales.precisions(prior, found)
        for c in range(len(B)):
            L, _ = factor(metric.H, P[c])
            B[c] = solve(L, solve(L, metric.h) + Z[c], True)
    scales.draw(prior, found, B, numbers, numbers.sweeps, reversible=True)
    U = numbers.draws(numbers.sweeps)[1]
    loglik, gradient = rows.loglik(B)
    ratios = loglik - surrogate(B)
    gains = ratios - (state.loglik - surrogate(state.b))
    state, info = decide(state, state._replace(b=B, scales=found, loglik=loglik, gradient=gradient), gains, U[:, 0])
    return state, info._replace(ratios=ratios)


SURROGATE = Sampler("surrogate", "surrogate", init, step, adapts=True, sweeps=True)
