"""Gibbs sampling of a probit model through its latent variables: the paper's sampler, and the same with parameter expansion."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from numbastats.bayes import kernels as k
from numbastats.bayes.samplers import scales
from numbastats.bayes.samplers.algebra import factor, solve, summed
from numbastats.bayes.samplers.record import Sampler


class Problem(NamedTuple):
    """The rows, X'X, and whether parameters are expanded; with more columns than rows X and rows of the identity, not X'X."""

    rows: Any
    H: np.ndarray | None
    X: np.ndarray | None
    identity: Any
    expanded: bool


class State(NamedTuple):
    """Coefficients and scales, and the paper's auxiliary variables: eta = lambda^-2 and nu^-1, tau^-2 and xi^-1."""

    b: np.ndarray
    scales: scales.Scales
    v: np.ndarray
    w: np.ndarray


def problem(rows, prior, expanded=False):
    """What a fit computes once."""
    n, p = rows.shape
    if p <= n:
        return Problem(rows, np.ascontiguousarray(summed(rows.gram).T), None, None, expanded)
    X = rows.floats()
    summed(lambda: np.einsum("ij,ij->i", X, X))
    return Problem(rows, None, X, type(rows)(np.eye(n), rows.device, rows.workers), expanded)


def init(data, prior, numbers, chains):
    """Coefficients of 0."""
    B = np.zeros((chains, data.rows.shape[1]))
    found = scales.start(prior, B.shape, 0.0)
    return State(B, found, np.ones((chains, 2, B.shape[1])), np.column_stack([np.exp(-2.0 * found.log_tau), np.ones(chains)]))


def step(data, prior, state, numbers):
    """Latent variables, scales, coefficients."""
    B, rows, wide = state.b, data.rows, data.H is None
    stage, word = numbers.there[2], numbers.step()
    if wide:
        margins = (np.ascontiguousarray(B, data.X.dtype) @ data.X.T).astype(np.float64)
        z = margins + data.identity.latent(margins, numbers.key, stage, word)[0]
    else:
        e, squares = rows.latent(B, numbers.key, stage, word)
    there = numbers.there[0]
    if prior.name == "horseshoe" and prior.plain and not data.expanded:
        options = np.int64(prior.skip), prior.tau_scale, prior.tau is not None, *numbers.key, there, word
        out = state.v, state.w, state.scales.log_tau, state.scales.d
        numbers.run(k.CONDITIONALS, B, *options, *out, work=100.0 * B.shape[1])
    elif numbers.clock:  # coefficients that are all 0, at the start, would send tau and the local scales towards 0
        scales.draw(prior, state.scales, B, numbers)
    Z, _ = numbers.draws()
    gammas = numbers.gammas(0.5 * rows.shape[0])
    if wide:
        for c, (d, normals) in enumerate(zip(scales.precisions(prior, state.scales, numbers), Z, strict=True)):
            B[c] = _wide_draw(data.X, z[c], d, normals, gammas[c] if data.expanded else None)
    else:
        slab, least = scales.slab_precisions(prior, state.scales, numbers), 64.0 * float(np.finfo(rows.dtype).eps)
        given = data.H, e, squares, state.scales.d, slab, np.int64(prior.skip), Z, gammas, data.expanded, least
        numbers.algebra(k.LATENT_DRAW, given, (B, *numbers.memory(B.shape[1])))
        numbers.check()
    return state, scales.Info(np.ones(len(B)))


def _wide_draw(X, z, d, normals, gamma):
    """Bhattacharya, Chakraborty and Mallick (2016): one n x n factorisation."""
    n, p = X.shape
    u = normals[:p] / np.sqrt(d)
    L, _ = factor(np.asfortranarray((X / d) @ X.T, np.float64), np.ones(n))
    g = 1.0
    if gamma is not None:
        v = solve(L, z)
        g = math.sqrt(2.0 * gamma / (v @ v))
    rest = g * z - X @ u - normals[p:]
    return u + (X.T @ solve(L, solve(L, rest), True)) / d


LATENT = Sampler("latent", "gibbs", init, step, problem, by_rows=lambda n, p: p > n)
