"""Scales of the coefficients drawn given the coefficients, one chain per task.

The first `skip` columns are the intercept, which is not shrunk. D = eta/tau^2 is the prior precision of a coefficient, in a range
that a Cholesky factorisation can take. On CUDA a block takes a chain and its threads take the coefficients in turn.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, bind, device_function
from numbastats.bayes.kernels.lanes import LANES, shared, sides
from numbastats.scalar import shrinkage
from numbastats.scalar.elementary import exp
from numbastats.scalar.shrinkage import DONE, START, bounded, item_of, log_prior_tau, slice_step

__all__ = ["CONDITIONALS", "PRIORS", "SCALES"]

_density = _local = _of_shrinkage = _lane = _lanes = _wait = _total = _body = None  # bound by build and `bind`

# --- tau by a slice sampler with the local scales integrated out, then these --------------------------------------------


# C, the reciprocal width of every coefficient's slab, is for the regularised horseshoe only.


@device_function
def _without_slab(b, t, c):
    return _of_shrinkage(b, t)


@device_function
def _local_without_slab(b, t, c, k0, k1, item, stream):
    return _of_shrinkage(b, t, k0, k1, item, stream)


@shared
def draw_scales(b, c, scale, fixed, k0, k1, streams, step, q, T, d):
    """Draw log tau of chain q and its precisions d given the coefficients b that are shrunk."""
    lane, lanes, t = _lane(), _lanes(), T[q]  # d holds log densities until it is drawn
    phase, count, level, lo, hi, at = (DONE if fixed else START), np.int64(0), 0.0, t, t, t
    while phase != DONE:  # every thread takes the same decisions
        for j in range(lane, b.size, lanes):
            d[j] = _density(b[j], at, c[j])
        _wait()
        value = _total(d)
        value += log_prior_tau(at, np.float64(b.size), scale)
        phase, count, level, lo, hi, at = slice_step(
            phase, count, value, level, t, lo, hi, at, k0, k1, item_of(np.int64(0), step), streams[0, q]
        )
    _wait()
    if lane == 0:
        T[q] = at
    for j in range(lane, b.size, lanes):
        d[j] = bounded(_local(b[j], at, c[j], k0, k1, item_of(j, step), streams[1, q]) * exp(-2.0 * at))
    _wait()


def scales_cpu(B, C, skip, scale, fixed, k0, k1, streams, step, T, D):
    for q in prange(B.shape[0]):
        _body(B[q, skip:], C[q, skip:], scale, fixed, k0, k1, streams, step, np.int64(q), T, D[q, skip:])


def scales_cuda(B, C, skip, scale, fixed, k0, k1, streams, step, T, D):
    for q in range(cuda.blockIdx.x, B.shape[0], cuda.gridDim.x):
        _body(B[q, skip:], C[q, skip:], scale, fixed, k0, k1, streams, step, q, T, D[q, skip:])


# --- the paper's conditionals of the horseshoe, with its auxiliary variables nu and xi ----------------------------------
# Of a chain: v, rows eta = lambda^-2 and nu^-1; w, tau^-2 and xi^-1. A lane takes every `lanes`-th coefficient.


@shared
def draw_local(b, v, w, k0, k1, step, stream, lane, lanes):
    """Draw eta of a lane's coefficients; their part of the sum of eta b^2/2."""
    total = 0.0
    for j in range(lane, b.size, lanes):
        v[0, j] = shrinkage.local_precision(b[j], w[0], v[1, j], k0, k1, item_of(j, step), stream)
        total += 0.5 * b[j] * b[j] * v[0, j]
    return total


@shared
def draw_global(total, p, scale, w, k0, k1, step, stream, auxiliary_stream):
    """Draw tau^-2 given the sum of eta b^2/2 over all p coefficients, then xi^-1."""
    w[0] = shrinkage.global_precision(total, np.float64(p), w[1], k0, k1, item_of(np.int64(0), step), stream)
    w[1] = shrinkage.auxiliary(1.0 / (scale * scale) + w[0], k0, k1, item_of(p, step), auxiliary_stream)


@shared
def draw_auxiliary(v, w, d, k0, k1, step, stream, lane, lanes):
    """Draw nu^-1 of a lane's coefficients; their prior precisions d."""
    for j in range(lane, d.size, lanes):
        v[1, j] = shrinkage.auxiliary(1.0 + v[0, j], k0, k1, item_of(j, step), stream)
        d[j] = bounded(v[0, j] * w[0])


def conditionals_cpu(B, skip, scale, fixed, k0, k1, streams, step, V, W, T, D):
    for q in prange(B.shape[0]):
        total = draw_local(B[q, skip:], V[q], W[q], k0, k1, step, streams[1, q], 0, 1)
        if not fixed:
            draw_global(total, B.shape[1] - skip, scale, W[q], k0, k1, step, streams[0, q], streams[2, q])
        T[q] = -0.5 * math.log(W[q, 0])
        draw_auxiliary(V[q], W[q], D[q, skip:], k0, k1, step, streams[2, q], 0, 1)


def conditionals_cuda(B, skip, scale, fixed, k0, k1, streams, step, V, W, T, D):
    share = cuda.shared.array(LANES, np.float64)
    lane, lanes = cuda.threadIdx.x, min(cuda.blockDim.x, LANES)
    for q in range(cuda.blockIdx.x, B.shape[0], cuda.gridDim.x):
        total = 0.0
        if lane < lanes:
            total = draw_local(B[q, skip:], V[q], W[q], k0, k1, step, streams[1, q], lane, lanes)
            share[lane] = total
        cuda.syncthreads()
        if lane == 0:
            for i in range(1, lanes):
                total += share[i]
            if not fixed:
                draw_global(total, B.shape[1] - skip, scale, W[q], k0, k1, step, streams[0, q], streams[2, q])
            T[q] = -0.5 * math.log(W[q, 0])
        cuda.syncthreads()
        if lane < lanes:
            draw_auxiliary(V[q], W[q], D[q, skip:], k0, k1, step, streams[2, q], lane, lanes)
        cuda.syncthreads()


# --- registration -------------------------------------------------------------------------------------------------------

_f, _i, _u, _b = types.float64, types.int64, types.uint32, types.boolean


def _of_prior(name):
    """The functions of a prior that `draw_scales` calls."""
    density, local = getattr(shrinkage, f"{name}_density"), getattr(shrinkage, f"{name}_local1")
    if name != "regularised":
        density, local = bind(_without_slab, _of_shrinkage=density), bind(_local_without_slab, _of_shrinkage=local)
    return {"_density": density, "_local": local}


PRIORS = {name: sides(draw_scales, **_of_prior(name)) for name in ("horseshoe", "lasso", "regularised", "ridge")}
SCALES = {
    name: Kernel(
        f"bayes.scales_{name}",
        scales_cpu,
        scales_cuda,
        lambda T: [(_f[:, ::1], _f[:, ::1], _i, _f, _b, _u, _u, _u[:, ::1], _u, _f[::1], _f[:, ::1])],
        dtypes=("float64",),
        **both,
    )
    for name, both in PRIORS.items()
}
CONDITIONALS = Kernel(
    "bayes.conditionals",
    conditionals_cpu,
    conditionals_cuda,
    lambda T: [(_f[:, ::1], _i, _f, _b, _u, _u, _u[:, ::1], _u, _f[:, :, ::1], _f[:, ::1], _f[::1], _f[:, ::1])],
    dtypes=("float64",),
)
