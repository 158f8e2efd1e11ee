"""``scores``: log sum_k exp(l_k) and responsibilities of given values; ``density`` and ``labels``: of values as they are."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import prange

from numbastats._core.climb import copy
from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind, device_function
from numbastats.mixture.kernels.passes import BLOCK, CHUNK, LN2, LOG2E, ROW, shifted
from numbastats.scalar import mixture as fam
from numbastats.scalar.elementary import exp, exp_neg, log
from numbastats.scalar.transforms import TRANSFORMS


@device_function
def outside(x, minimum, closed):
    """Whether x lies outside of the support, or is infinite."""
    return (abs(x) == math.inf) | (x < minimum) | ((x == minimum) & (closed == 0))


# --- scores: of values as they are -------------------------------------------------------------------------------------------
# y: their transforms; empty where these are the values. other: what else their logarithms take, which NumPy's functions give;
# empty where there is nothing. numbers: minimum, scale, centre, and the terms of 1, y, the scale and `other`. out: log densities,
# -inf outside of the support and where an exponent overflows, NaN for NaN; the rows of `resp` are NaN then.


class Support(NamedTuple):
    """Where values have a density: whether the minimum belongs to it, and whether it is whole numbers alone."""

    closed: Any
    whole: Any


@device_function
def beyond(x, minimum, support):
    """Whether a value has no density: outside of the support, infinite, or NaN."""
    return outside(x, minimum, support.closed) | (x != x) | ((support.whole > 0) & (x != math.floor(x)))


@device_function
def concluded(x, value, minimum, support):
    """The log density of a value from that formula."""
    value = value if value == value else -math.inf
    value = -math.inf if beyond(x, minimum, support) else value
    return value if x == x else x


def scores_cpu(x, y, other, support, family, numbers, P, out, resp, stats):
    K, C = P.shape[1], P * LOG2E
    minimum, scale, c, add, by_y, by_scale, by_other = numbers
    for task in prange((x.size + CHUNK - 1) // CHUNK):
        buf, t1, t2 = np.empty((K + 2, ROW)), np.empty(BLOCK), np.empty(BLOCK)
        for q in range(np.int64(task) * CHUNK, min(np.int64(task) * CHUNK + CHUNK, x.size), BLOCK):
            xb, o = x[q : q + BLOCK], out[q : q + BLOCK]
            yb = y[q : q + BLOCK] if y.size > 0 else xb
            for i in range(xb.size):
                v = yb[i] * scale
                t1[i], t2[i] = v - c, fam.deviance(family, v, c)
            if stats.shape[0] > 0:
                copy(t1, stats[0, q : q + xb.size])
                copy(t2, stats[1, q : q + xb.size])
            shifted(t1[: xb.size], t2[: xb.size], C, buf)
            s, top = buf[K], buf[K + 1]
            for i in range(xb.size):
                o[i] = LN2 * top[i] + log(s[i])
            for i in range(xb.size):
                o[i] = (o[i] + (add + by_y * yb[i])) + by_scale
            if other.size > 0:
                ob = other[q : q + BLOCK]
                for i in range(xb.size):
                    o[i] += by_other * ob[i]
            for i in range(xb.size):
                o[i] = concluded(xb[i], o[i], minimum, support)
            for k in range(resp.shape[0]):
                ek, rk = buf[k], resp[k, q : q + BLOCK]
                for i in range(xb.size):
                    rk[i] = math.nan if beyond(xb[i], minimum, support) else ek[i] / s[i]


def scores_cuda(x, y, other, support, family, numbers, P, out, resp, stats):
    K = P.shape[1]
    minimum, scale, c, add, by_y, by_scale, by_other = numbers
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        if beyond(x[i], minimum, support):
            out[i] = -math.inf if x[i] == x[i] else math.nan
            for k in range(resp.shape[0]):
                resp[k, i] = math.nan
            continue
        v = y[i] if y.size > 0 else x[i]
        t1, t2 = v * scale - c, fam.deviance(family, v * scale, c)
        if stats.shape[0] > 0:
            stats[0, i], stats[1, i] = t1, t2
        top = -math.inf
        for k in range(K):
            top = max(top, P[0, k] + P[1, k] * t1 + P[2, k] * t2)
        s = 0.0
        for k in range(K):
            s += exp_neg(P[0, k] + P[1, k] * t1 + P[2, k] * t2 - top)
        value = (top + log(s) + (add + by_y * v)) + by_scale
        value = value + by_other * other[i] if other.size > 0 else value
        out[i] = value if value == value else -math.inf
        for k in range(resp.shape[0]):
            resp[k, i] = exp_neg(P[0, k] + P[1, k] * t1 + P[2, k] * t2 - top) / s


_f, _i = numba.types.float64, numba.types.int64
_support = numba.types.NamedUniTuple(_i, 2, Support)
SCORES = Kernel(
    "mixture.scores",
    scores_cpu,
    scores_cuda,
    lambda T: [(*[_f[::1]] * 3, _support, _i, numba.types.UniTuple(_f, 7), _f[:, ::1], _f[::1], _f[:, ::1], _f[:, ::1])],
    dtypes=("float64",),
)


# --- density: of values on a GPU, which the host would prepare otherwise --------------------------------------------------

_function = array_function(fastmath=(), host=False)


_forward = _log_forward = _code = _others = None  # bound to formulas


@device_function
def _unknown(transform, constant, x):
    return math.nan, math.nan


@device_function
def _not_needed(x, constant):
    return math.nan


@device_function
def _one_of(transform, constant, x):
    if transform == _code:
        return _forward(x, constant), _log_forward(x, constant)
    return _others(transform, constant, x)


def _by_code():
    """A function of code, constant and value within the support: (y, log y), y = g(x) of the table of transforms."""
    found = _unknown
    for code, (name, transform) in enumerate(TRANSFORMS.items()):
        made = transform.in_kernels()
        log_forward = made.log_forward if name == "identity" or transform.jacobian(2.0)[1] != 0.0 else _not_needed
        found = bind(_one_of, _code=code, _forward=made.forward, _log_forward=log_forward, _others=found)
    return found


forward = _by_code()


@device_function
def logit(y, c, t2, p0, p1, p2):
    """Log density of a component, but for what all have in common."""
    return p0 + p1 * (y - c) + p2 * t2


@device_function
def with_factor(value, by_y, y, by_log, log_y):
    """The log density with the factor that no parameter changes; -inf so far out that an exponent overflows."""
    value += by_y * y
    if by_log != 0.0:
        value += by_log * log_y
    return value if value == value else -math.inf


@_function
def log_density(x, transform, base, closed, numbers, P):
    """Log density of one value; numbers: constant, centre, minimum, and the terms of 1, y and log y."""
    constant, c, minimum, add, by_y, by_log = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    if x != x:
        return x
    if outside(x, minimum, closed):
        return -math.inf
    y, log_y = forward(transform, constant, x)
    t2, top, s = fam.deviance(base, y, c), -math.inf, 0.0
    for k in range(P.shape[1]):
        top = max(top, logit(y, c, t2, P[0, k], P[1, k], P[2, k]))
    if not top > -math.inf:
        return -math.inf
    for k in range(P.shape[1]):
        s += exp_neg(logit(y, c, t2, P[0, k], P[1, k], P[2, k]) - top)
    return with_factor(top + log(s) + add, by_y, y, by_log, log_y)


def density_cpu(x, transform, base, closed, logs, numbers, P, out):
    for i in range(out.size):
        value = log_density(np.float64(x[i]), transform, base, closed, numbers, P)
        out[i] = value if logs > 0 else exp(value)


def density_cuda(x, transform, base, closed, logs, numbers, P, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        value = log_density(np.float64(x[i]), transform, base, closed, numbers, P)
        out[i] = value if logs > 0 else exp(value)


DENSITY = Kernel(
    "mixture.density",
    density_cpu,
    density_cuda,
    lambda T: [(T[::1], _i, _i, _i, _i, _f[::1], _f[:, ::1], T[::1])],
    f64_ok="values are computed in double precision and rounded once",
    on_host=False,
)


# --- labels: the largest weighted log density, whatever their sum ----------------------------------------------------------


@device_function
def statistics(x, transform, base, closed, constant, c, minimum):
    """(y, deviance of y) of a value x, NaN outside of the support, where no comparison holds."""
    y = forward(transform, constant, math.nan if outside(x, minimum, closed) else x)[0]
    return y, fam.deviance(base, y, c)


def labels_cpu(x, transform, base, closed, numbers, P, out):
    constant, c, minimum = numbers[0], numbers[1], numbers[2]
    for task in prange((x.size + CHUNK - 1) // CHUNK):
        y, t2, top = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
        for q in range(np.int64(task) * CHUNK, min(np.int64(task) * CHUNK + CHUNK, x.size), BLOCK):
            xb, o = x[q : q + BLOCK], out[q : q + BLOCK]
            for i in range(xb.size):
                y[i], t2[i] = statistics(xb[i], transform, base, closed, constant, c, minimum)
                top[i], o[i] = -math.inf, -1
            for k in range(P.shape[1]):
                p0, p1, p2 = P[0, k], P[1, k], P[2, k]
                for i in range(xb.size):
                    value = logit(y[i], c, t2[i], p0, p1, p2)
                    o[i] = k if value > top[i] else o[i]
                    top[i] = value if value > top[i] else top[i]


def labels_cuda(x, transform, base, closed, numbers, P, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y, t2 = statistics(x[i], transform, base, closed, numbers[0], numbers[1], numbers[2])
        top, label = -math.inf, -1
        for k in range(P.shape[1]):
            value = logit(y, numbers[1], t2, P[0, k], P[1, k], P[2, k])
            if value > top:
                top, label = value, k
        out[i] = label


LABELS = Kernel(
    "mixture.labels",
    labels_cpu,
    labels_cuda,
    lambda T: [(_f[::1], _i, _i, _i, _f[::1], _f[:, ::1], _i[::1])],
    dtypes=("float64",),
)
