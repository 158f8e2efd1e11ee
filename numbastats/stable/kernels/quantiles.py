"""Quantiles of laws that differ from point to point.

Newton's method on the logarithm of the smaller tail, in v with x - centre = sign expm1(|v|), inside a bracket.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, prange

from numbastats._core.kernel import Kernel, array_function
from numbastats.scalar import stable as law
from numbastats.scalar.bits import at
from numbastats.scalar.elementary import exp, expm1, log
from numbastats.stable.kernels.integral import NODES, NONE, PANELS, WEIGHTS
from numbastats.stable.kernels.points import DOUBLE, TASK, block_value, point, scratch, split_points

_shared = array_function(host=False)


@_shared
def newton_step(state, code, target, p_log, v_log):
    """One step of the bracketed iteration; returns whether it is over. state: v, left, right, unused, number of steps."""
    v, left, right = state[0], state[1], state[2]
    rising = code == 3
    f = (v_log - target) if rising else (target - v_log)
    if f > 0.0:
        right = v
    else:
        left = v
    slope = exp(p_log + abs(v) - v_log) if p_log > -np.inf else 0.0
    step = f / slope if slope > 0.0 else 2.0 * (right - left)
    over = abs(f) <= 4e-16 * (1.0 + abs(target)) or abs(step) <= 2e-16 * abs(v) or right - left <= 3e-16 * abs(right)
    new = v if over else v - step
    state[4] += 1.0
    slow = state[4] % 3.0 == 0.0 and abs(f) > 0.01 * (1.0 + abs(target))
    if not over and (slow or not (new > left and new < right)):
        new = 0.5 * (left + right)
    if over and abs(v) > 709.7827128:  # beyond all doubles
        new = math.copysign(np.inf, v)
    state[0], state[1], state[2] = new, left, right
    return over


@_shared
def newton_start(p, upper, state):
    """(code of the tail, log of its probability, whether there is nothing to iterate)."""
    state[0], state[1], state[2], state[4] = 0.0, -709.9, 709.9, 0.0
    if not (p > 0.0 and p < 1.0):
        state[0] = (np.inf if (p == 1.0) != upper else -np.inf) if p == 0.0 or p == 1.0 else np.nan
        return 3, 0.0, True
    code = 3 if (p <= 0.5) != upper else 5
    return code, log(p) if p <= 0.5 else log(1.0 - p), False


def newton_cpu(p, a, b, loc, scale, upper, s1, out):
    for k in prange((out.size + TASK - 1) // TASK):
        work, ends, sums, state = np.empty((4, PANELS * NODES.size)), np.empty(PANELS), np.empty(6), np.empty(5)
        series, nodes, kept = scratch()
        for i in range(k * TASK, min(k * TASK + TASK, out.size)):
            al, be = np.float64(at(a, i)), np.float64(at(b, i))
            code, target, over = newton_start(np.float64(p[i]), upper > 0, state)
            centred = al < 0.9
            for _ in range(200):
                if over:
                    break
                x = math.copysign(expm1(abs(state[0])), state[0])
                v, e = point(x, al, be, 0.0, 1.0, centred, NODES, WEIGHTS, NONE, work, ends, sums, series, nodes, kept)
                over = newton_step(state, code, target, law.pick(1, v, 1.0), law.pick(code, v, 1.0))
            out[i] = law.newton_place(state[0], al, be, np.float64(at(loc, i)), np.float64(at(scale, i)), s1 > 0)


def newton_cuda(p, a, b, loc, scale, upper, s1, out):
    # One block per point; thread 0 keeps the iteration.
    state = cuda.shared.array(5, np.float64)  # state[3]: whether it is over
    t = cuda.threadIdx.x
    for i in range(cuda.blockIdx.x, out.size, cuda.gridDim.x):
        al, be = np.float64(at(a, i)), np.float64(at(b, i))
        code, target = 3, 0.0
        if t == 0:
            code, target, over = newton_start(np.float64(p[i]), upper > 0, state)
            state[3] = 1.0 if over else 0.0
        cuda.syncthreads()
        for _ in range(200):
            if state[3] > 0.0:
                break
            x = math.copysign(expm1(abs(state[0])), state[0])
            v, e = block_value(x, al, be, 0.0, 1.0, al < 0.9, NODES, WEIGHTS, NONE)
            if t == 0:
                over = newton_step(state, code, target, law.pick(1, v, 1.0), law.pick(code, v, 1.0))
                state[3] = 1.0 if over else 0.0
            cuda.syncthreads()
        if t == 0:
            out[i] = law.newton_place(state[0], al, be, np.float64(at(loc, i)), np.float64(at(scale, i)), s1 > 0)
        cuda.syncthreads()


NEWTON = Kernel(
    "stable.newton",
    newton_cpu,
    newton_cuda,
    lambda T: [(T[::1], T, T, T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, T[::1])],
    f64_ok=DOUBLE,
    split=split_points,
)
