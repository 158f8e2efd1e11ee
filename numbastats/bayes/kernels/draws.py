"""The random numbers of an iteration, independent of its state: normals, and per chain two uniforms and a gamma draw."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel
from numbastats.scalar.philox import philox4x32
from numbastats.scalar.samplers import gamma1, normal_from_words
from numbastats.scalar.shrinkage import item_of, uniform_pair

__all__ = ["DRAWS", "GAMMA", "LATENT_STAGE", "STAGES"]

STAGES = 7  # streams of a chain: slice, local scales, auxiliary variables, normals, uniforms, gamma draws, latent variables
LATENT_STAGE = 6


def draws_cpu(k0, k1, streams, step, Z, U):
    for q in prange(Z.shape[0]):
        z = Z[q]
        for j in range(z.size):
            w0, w1, w2, w3 = philox4x32(np.uint32(j), step, np.uint32(0), streams[3, q], k0, k1)
            z[j] = normal_from_words(w0, w1, 0.0, 1.0)
        U[q, 0], U[q, 1] = uniform_pair(k0, k1, item_of(np.int64(0), step), streams[4, q])


def draws_cuda(k0, k1, streams, step, Z, U):
    for i in range(cuda.grid(1), Z.size, cuda.gridsize(1)):
        q, j = i // Z.shape[1], i % Z.shape[1]
        w0, w1, w2, w3 = philox4x32(np.uint32(j), step, np.uint32(0), streams[3, q], k0, k1)
        Z[q, j] = normal_from_words(w0, w1, 0.0, 1.0)
        if j == 0:
            U[q, 0], U[q, 1] = uniform_pair(k0, k1, item_of(np.int64(0), step), streams[4, q])


def gamma_cpu(k0, k1, streams, step, shape, out):
    for q in prange(out.size):
        out[q] = gamma1(k0, k1, item_of(np.int64(0), step), streams[5, q], shape, 1.0)


def gamma_cuda(k0, k1, streams, step, shape, out):
    for q in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[q] = gamma1(k0, k1, item_of(np.int64(0), step), streams[5, q], shape, 1.0)


_f, _u = types.float64, types.uint32
DRAWS = Kernel(
    "bayes.draws", draws_cpu, draws_cuda, lambda T: [(_u, _u, _u[:, ::1], _u, _f[:, ::1], _f[:, ::1])], dtypes=("float64",)
)
GAMMA = Kernel("bayes.gamma", gamma_cpu, gamma_cuda, lambda T: [(_u, _u, _u[:, ::1], _u, _f, _f[::1])], dtypes=("float64",))
