"""``prepare``: scaled statistics (t1, t2) and compressed cells of every data set."""

from __future__ import annotations

import math

import numba

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.kernels.passes import FAST
from numbastats.mixture.kernels.records import STATISTICS_TYPE, ranges, series_type
from numbastats.scalar import mixture as fam
from numbastats.scalar.elementary import log

__all__ = ["PREPARE"]

_summing = array_function(fastmath=FAST, host=False)


@_summing
def _summarise(y, w, power, family, t1, t2, info):
    """Statistics t1, t2 of one data set: y ascending, all in the support, w > 0.

    `power` is a power of two that brings the largest |y| near 1.
    """
    n = y.size
    mass, total, distinct = 0.0, 0.0, 1
    for i in range(n):
        mass += w[i]
        total += w[i] * (y[i] * power)
    above = y[1:]
    for i in range(n - 1):
        distinct += 1 if above[i] != y[i] else 0
    mean = total / mass
    shift, scale = 0.0, 1.0
    if family == fam.GAUSSIAN:
        shift = mean
        total = 0.0
        for i in range(n):
            e = y[i] * power - mean
            total += w[i] * (e * e)
        scale = math.sqrt(total / mass)
        if not scale > 0.0:
            scale = 1.0
    elif family <= fam.FIXED_GAMMA:
        scale = mean
    inverse, total = 1.0 / scale, 0.0
    for i in range(n):
        v = (y[i] * power - shift) * inverse
        t1[i] = v
        total += w[i] * v
    c = total / mass
    seen, low, high = 0.0, t1[0], t1[0]
    for i in range(n):
        if not seen < 0.75 * mass:
            break
        high = t1[i]
        low = high if seen < 0.25 * mass else low
        seen += w[i]
    logs = 0.0
    if family != fam.GAUSSIAN and family < fam.POISSON:
        for i in range(n):
            logs += w[i] * log(t1[i])
    s1, s2, spread = 0.0, 0.0, 0.0
    for i in range(n):
        t2[i] = fam.deviance(family, t1[i], c)
        e = t1[i] - c
        t1[i] = e
        s1 += w[i] * e
        s2 += w[i] * t2[i]
        spread += w[i] * e * e
    spread = math.sqrt(spread / mass)
    if high > low:  # a heavy tail must not decide what is narrow
        spread = min(spread, (high - low) / 1.349)
    _mean, whole = fam.maximise(family, mass, s1, s2, c, 0.0, 0.0)
    info.centre, info.mass, info.sum1, info.sum2, info.logs = c, mass, s1, s2, logs
    info.scale, info.shift, info.spread = scale, shift, spread
    info.floor = 1e-6 * whole if family <= fam.GAMMA else 0.0
    info.distinct, info.count = distinct, n


@_summing
def _compress(t1, t2, w, m, u1, u2, uw, q0, q1, q2):
    """Means and weights of cells of m neighbouring observations each, and sums of w (1, t1, t2) up to each cell."""
    c0, c1, c2 = 0.0, 0.0, 0.0
    for j in range(u1.size):
        if m == 1:  # the cells may be the observations themselves
            b, b1, b2 = w[j], w[j] * t1[j], w[j] * t2[j]
            uw[j], u1[j], u2[j] = w[j], t1[j], t2[j]
        else:
            b, b1, b2 = 0.0, 0.0, 0.0
            wj, x, z = w[j * m : j * m + m], t1[j * m : j * m + m], t2[j * m : j * m + m]
            for i in range(x.size):
                b += wj[i]
                b1 += wj[i] * x[i]
                b2 += wj[i] * z[i]
            uw[j], u1[j], u2[j] = b, b1 / b, b2 / b
        c0 += b
        c1 += b1
        c2 += b2
        q0[j], q1[j], q2[j] = c0, c1, c2


@array_function(fastmath=(), host=False)
def _prepare(d, y, power, m, family, sets, cells, q, info):
    """Data set d."""
    a, b, p, e = sets.off[d], sets.off[d + 1], cells.off[d], cells.off[d + 1]
    t1, t2, w = sets.t1[a:b], sets.t2[a:b], sets.w[a:b]
    row = info[d]
    row.scale = 1.0
    if b > a:
        _summarise(y[a:b], w, power[d], family, t1, t2, row)
        u1, u2, uw, q0, q1, q2 = cells.t1[p:e], cells.t2[p:e], cells.w[p:e], q[0, p:e], q[1, p:e], q[2, p:e]
        _compress(t1, t2, w, m[d], u1, u2, uw, q0, q1, q2)


def prepare_cpu(y, power, m, family, sets, cells, q, info):
    for d in range(info.size):
        _prepare(d, y, power, m, family, sets, cells, q, info)


def prepare_cuda(y, power, m, family, sets, cells, q, info):
    for d in range(cuda.grid(1), info.size, cuda.gridsize(1)):
        _prepare(d, y, power, m, family, sets, cells, q, info)


def _split_prepare(args, parts):
    y, power, m, family, sets, cells, q, info = args
    return [
        (y, power[a:b], m[a:b], family, sets._replace(off=sets.off[a:]), cells._replace(off=cells.off[a:]), q, info[a:b])
        for a, b in ranges(info.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
PREPARE = Kernel(
    "mixture.prepare",
    prepare_cpu,
    prepare_cuda,
    lambda T: [(_f[::1], _f[::1], _i[::1], _i, series_type(_f), series_type(_f), _f[:, ::1], STATISTICS_TYPE[::1])],
    dtypes=("float64",),
    split=_split_prepare,
)
