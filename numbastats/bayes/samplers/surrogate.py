"""A normal surrogate of the likelihood: sweeps without the data, then one exact acceptance. States are those of `hamiltonian`."""

from __future__ import annotations

import numpy as np

from numbastats.bayes import kernels as k
from numbastats.bayes.diagnostics import psis
from numbastats.bayes.samplers import scales
from numbastats.bayes.samplers.hamiltonian import init, proposed
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
    metric, U = state.metric, numbers.spare("U", (numbers.chains, 2))
    B, found = numbers.copied("b", state.b), scales.Scales(*map(numbers.copied, state.scales._fields, state.scales))
    factors, room, failed = numbers.memory(B.shape[1])
    kernel, at_once = (k.SWEEPS[prior.name], numbers.sweeps) if prior.plain else (k.SWEEPS["given"], 1)
    options = np.int64(prior.skip), prior.tau_scale, prior.tau is not None, *numbers.key, numbers.there[1], numbers.there[0]
    for part in range(0, numbers.sweeps, at_once):
        if not prior.plain:
            scales.draw(prior, found, B, numbers, part, reversible=True)
        slab = scales.slab_precisions(prior, found, numbers)
        given = metric.H, metric.h, slab, *options, numbers.step(part), at_once
        numbers.algebra(kernel, given, (B, found.log_tau, found.d, U, factors, room, failed), at_once)
    if not prior.plain:
        scales.draw(prior, found, B, numbers, numbers.sweeps, reversible=True)
    loglik, gradient = rows.loglik(B)
    new = B, gradient, loglik, found.log_tau, found.d
    numbers.algebra(k.WEIGHING, (metric.H, metric.h, new, U), (proposed(state), room, numbers.report))
    if not prior.plain:  # what the kernel does not know
        taken = numbers.report[:, 1] > 0.0
        for old, value in zip(state.scales[2:], found[2:], strict=True):
            if old is not None:
                old[taken] = value[taken]
    return state, numbers.info()


SURROGATE = Sampler("surrogate", "surrogate", init, step, adapts=True, sweeps=True)
