"""``scores``: log sum_k exp(l_k) and responsibilities of given values."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import prange

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel
from numbastats.mixture.kernels.passes import BLOCK, CHUNK, LN2, LOG2E, ROW, shifted
from numbastats.scalar import mixture as fam
from numbastats.scalar.elementary import exp_neg, log

__all__ = ["SCORES"]


def scores_cpu(y, c, family, P, out, resp, stats):
    K, C = P.shape[1], P * LOG2E
    for task in prange((y.size + CHUNK - 1) // CHUNK):
        buf, t1, t2 = np.empty((K + 2, ROW)), np.empty(BLOCK), np.empty(BLOCK)
        for q in range(np.int64(task) * CHUNK, min(np.int64(task) * CHUNK + CHUNK, y.size), BLOCK):
            yb, o = y[q : q + BLOCK], out[q : q + BLOCK]
            for i in range(yb.size):
                t1[i], t2[i] = yb[i] - c, fam.deviance(family, yb[i], c)
            if stats.shape[0] > 0:
                stats[0, q : q + yb.size] = t1[: yb.size]
                stats[1, q : q + yb.size] = t2[: yb.size]
            shifted(t1[: yb.size], t2[: yb.size], C, buf)
            s, top = buf[K], buf[K + 1]
            for i in range(yb.size):
                o[i] = LN2 * top[i] + log(s[i])
            for k in range(resp.shape[0]):
                ek, rk = buf[k], resp[k, q : q + BLOCK]
                for i in range(yb.size):
                    rk[i] = ek[i] / s[i]


def scores_cuda(y, c, family, P, out, resp, stats):
    K = P.shape[1]
    for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        t1, t2 = y[i] - c, fam.deviance(family, y[i], c)
        if stats.shape[0] > 0:
            stats[0, i], stats[1, i] = t1, t2
        top = -math.inf
        for k in range(K):
            top = max(top, P[0, k] + P[1, k] * t1 + P[2, k] * t2)
        s = 0.0
        for k in range(K):
            s += exp_neg(P[0, k] + P[1, k] * t1 + P[2, k] * t2 - top)
        out[i] = top + log(s)
        for k in range(resp.shape[0]):
            resp[k, i] = exp_neg(P[0, k] + P[1, k] * t1 + P[2, k] * t2 - top) / s


_f, _i = numba.types.float64, numba.types.int64
SCORES = Kernel(
    "mixture.scores",
    scores_cpu,
    scores_cuda,
    lambda T: [(_f[::1], _f, _i, _f[:, ::1], _f[::1], _f[:, ::1], _f[:, ::1])],
    dtypes=("float64",),
)
