"""Chains of `collapsed`, each on one thread, so that results depend neither on workers nor on executors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbastats._core.parallel import in_threads
from numbastats.bayes import kernels as k
from numbastats.bayes.samplers import collapsed, scales
from numbastats.bayes.samplers.algebra import Sparse, check_determined, normal_matrix, parted
from numbastats.bayes.samplers.record import Sampler
from numbastats.scalar.shrinkage import item_of

_LARGE_PRODUCT = 3e7  # n^2 p from which threads for the chains pay; below, they wait for the interpreter


class State(NamedTuple):
    """Coefficients and scales, log-likelihood, and log sigma of numbers among the extras."""

    b: np.ndarray
    scales: scales.Scales
    loglik: np.ndarray
    extras: dict[str, np.ndarray]


def problem(rows, prior):
    """Rows of numbers in the form of `collapsed`, or those of two classes that have a weight."""
    X, precisions = rows.columns(), np.array(prior.free)
    n = X.shape[0]
    if not rows.response.classes:
        weights, y = rows.facts[k.WEIGHT], rows.facts[k.OUTCOME]
        check_determined(normal_matrix(parted(X, prior.skip)[0], weights), prior)
        return collapsed.problem(X, y, weights, precisions=precisions)
    weights, offsets = rows.facts[[k.WEIGHT, k.OFFSET]] if rows.response.weighted else (np.ones(n), np.zeros(n))
    some = weights > 0.0
    X = X.where(some) if isinstance(X, Sparse) else X[some]
    return collapsed.Classes(rows.response, X, weights[some], offsets[some], precisions)


def init(data, prior, numbers, chains):
    """A draw given local scales of 1."""
    two = isinstance(data, collapsed.Classes)
    B = np.zeros((chains, data.X.shape[1] if two else data.A.shape[1] + prior.skip))
    found, extras = scales.start(prior, B.shape, -2.0), {} if two else {"log_sigma": np.zeros(chains)}
    if prior.tau is None:
        found.d[:, prior.skip :] = np.exp(-2.0 * found.log_tau)[:, None]
    return _draw(data, prior, State(B, found, np.empty(chains), extras), numbers, collapsed.init)


def step(data, prior, state, numbers):
    """Local scales given the coefficients, the rest with these integrated out, then these."""
    B = state.b * np.exp(-state.extras["log_sigma"])[:, None] if state.extras else state.b
    scales.draw(prior, state.scales, B, numbers)
    return _draw(data, prior, state, numbers, collapsed.step), scales.Info(np.ones(len(B)))


def _draw(data, prior, state, numbers, draw):
    """A draw of every chain, in place."""
    shrunk, two = slice(prior.skip, None), not state.extras
    n, p = (data.X if two else data.A).shape
    Z, _ = numbers.draws()
    gammas = numbers.gammas(0.5 * n if two else data.shape)
    log_tau, d, _, log_slab = state.scales
    extra, item = scales.precisions(prior, state.scales, numbers) - d, item_of(np.int64(0), numbers.step())

    def chain(c):
        now = collapsed.State(state.b[c], d[c, shrunk], log_tau[c], 0.0, state.loglik[c])
        rows = collapsed.given_latent(data, now.b, numbers.key, item, numbers.streams[k.LATENT_STAGE, c]) if two else data
        factors = collapsed.Prior(extra[c, shrunk], log_slab is None, prior.tau_scale, prior.tau is not None)
        words = collapsed.Numbers(Z[c], gammas[c], numbers.key, item, numbers.more[8][0, c])
        b, d[c, shrunk], log_tau[c], log_sigma, state.loglik[c] = draw(rows, factors, now, words)
        if two:
            state.b[c] = b * math.exp(-log_sigma)
            state.loglik[c] = data.weights @ data.response.log_density(1.0, data.X @ state.b[c] + data.offsets, {})
        else:
            state.b[c], state.extras["log_sigma"][c] = b, log_sigma

    in_threads(chain, [(c,) for c in range(len(Z))], numbers.place.workers if n * n * p > _LARGE_PRODUCT else 1)
    return state


WIDE = Sampler("wide", "collapsed-gibbs", init, step, problem, by_rows=lambda n, p: True, products=True, passes=False)
