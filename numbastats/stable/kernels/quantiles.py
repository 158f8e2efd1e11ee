"""Quantiles of distributions that differ from point to point.

Newton's method on the logarithm of the smaller tail, in v with x - centre = sign expm1(|v|), inside a bracket.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.scalar import stable as dist
from numbastats.scalar.elementary import exp, expm1, log
from numbastats.stable.kernels.integral import GAUSS
from numbastats.stable.kernels.points import (
    DOUBLE,
    LANES,
    Point,
    block_values,
    memory_of_panels,
    memory_of_points,
    point_of,
    point_value,
    split_points,
)

_shared = array_function(host=False)

STEPS = 200  # at most


class Search(NamedTuple):
    """Where the iteration is, its bracket, and what it looks for."""

    v: float
    left: float
    right: float
    over: bool
    steps: float
    code: int  # of the tail, see `dist.pick`
    target: float  # logarithm of its probability


@_shared
def standard_point(v, point):
    """Where the iteration is, as a point of the standard distribution."""
    return Point(math.copysign(expm1(abs(v)), v), point.alpha, point.beta, 0.0, 1.0, point.alpha < 0.9)


@_shared
def newton_start(p, upper):
    """The whole bracket, and the smaller tail."""
    code = 3 if (p <= 0.5) != upper else 5
    target = log(p) if p <= 0.5 else log(1.0 - p)
    inside = p > 0.0 and p < 1.0
    end = (np.inf if (p == 1.0) != upper else -np.inf) if p == 0.0 or p == 1.0 else np.nan
    return Search(0.0 if inside else end, -709.9, 709.9, not inside, 0.0, code, target)


@_shared
def newton_step(search, value):
    """One step from the six numbers of the point where the iteration is."""
    v, left, right, target = search.v, search.left, search.right, search.target
    p_log, v_log = dist.pick(1, value, 1.0), dist.pick(search.code, value, 1.0)
    rising = search.code == 3
    f = (v_log - target) if rising else (target - v_log)
    if f > 0.0:
        right = v
    else:
        left = v
    slope = exp(p_log + abs(v) - v_log) if p_log > -np.inf else 0.0
    step = f / slope if slope > 0.0 else 2.0 * (right - left)
    over = abs(f) <= 4e-16 * (1.0 + abs(target)) or abs(step) <= 2e-16 * abs(v) or right - left <= 3e-16 * abs(right)
    new = v if over else v - step
    steps = search.steps + 1.0
    slow = steps % 3.0 == 0.0 and abs(f) > 0.01 * (1.0 + abs(target))
    if not over and (slow or not (new > left and new < right)):
        new = 0.5 * (left + right)
    if over and abs(v) > 709.7827128:  # beyond all doubles
        new = math.copysign(np.inf, v)
    return Search(new, left, right, over, steps, search.code, target)


def newton_cpu(p, a, b, loc, scale, upper, s1, out):
    memory, panels = memory_of_points(), memory_of_panels(GAUSS.nodes.size)
    for i in range(out.size):
        point = point_of(i, p, a, b, loc, scale, s1 > 0)
        search = newton_start(point.x, upper > 0)
        for _ in range(STEPS):
            if search.over:
                break
            value, e = point_value(standard_point(search.v, point), GAUSS, memory, panels)
            search = newton_step(search, value)
        out[i] = dist.newton_place(search.v, point.alpha, point.beta, point.loc, point.scale, point.s1)


def newton_cuda(p, a, b, loc, scale, upper, s1, out):
    # One point per thread; all of a block go on until the last is done.
    going = cuda.shared.array(LANES, np.int64)
    t, lanes = cuda.threadIdx.x, min(cuda.blockDim.x, LANES)
    for first in range(cuda.blockIdx.x * lanes, out.size, cuda.gridDim.x * lanes):
        live = t < lanes and first + t < out.size
        i = first + t if live else first
        point = point_of(i, p, a, b, loc, scale, s1 > 0)
        search = newton_start(point.x, upper > 0)
        for _ in range(STEPS):
            mine = live and not search.over
            if t < lanes:
                going[t] = 1 if mine else 0
            cuda.syncthreads()
            left = 0
            for k in range(lanes):
                left += going[k]
            if left == 0:
                break
            value, e = block_values(standard_point(search.v, point), mine, GAUSS)
            if mine:
                search = newton_step(search, value)
        if live:
            out[i] = dist.newton_place(search.v, point.alpha, point.beta, point.loc, point.scale, point.s1)
        cuda.syncthreads()


NEWTON = Kernel(
    "stable.newton",
    newton_cpu,
    newton_cuda,
    lambda T: [(T[::1], T, T, T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1], T, T, T[::1])],
    f64_ok=DOUBLE,
    split=split_points,
)
