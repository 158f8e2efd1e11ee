"""``prepare``: scaled statistics (t1, t2) and compressed cells of every data set; on CUDA a block takes a data set."""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind
from numbastats.mixture.kernels.passes import FAST, LANES
from numbastats.mixture.kernels.records import STATISTICS_TYPE, ranges, series_type
from numbastats.scalar import mixture as fam
from numbastats.scalar.elementary import log

_NO_GAP = 1e300  # of values that are all equal

_function, _summing = array_function(fastmath=(), host=False), array_function(fastmath=FAST, host=False)


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
    gap = _smallest(family, t1, w)
    s1, s2, spread = 0.0, 0.0, 0.0
    for i in range(n):
        t2[i] = fam.deviance(family, t1[i], c)
        e = t1[i] - c
        t1[i] = e
        s1 += w[i] * e
        s2 += w[i] * t2[i]
        spread += w[i] * e * e
    info.mass, info.scale, info.shift, info.distinct, info.count = mass, scale, shift, distinct, n
    _conclude(family, c, s1, s2, logs, spread, low, high, gap, info)


@_function
def _gap(family, low, high):
    """At most the deviance of neighbouring values about each other."""
    e = high - low
    if not (e > 0.0 and family <= fam.GAMMA):
        return _NO_GAP
    r = e if family == fam.GAUSSIAN else e / high
    return r * (r / high) if family == fam.INVERSE_GAUSSIAN else r * r


@_function
def _smallest(family, values, w):
    """The smallest gap times the least weight; apart from the sums, which a minimum would keep from vectors."""
    gap, least = _NO_GAP, w[0]
    for i in range(1, values.size if family <= fam.GAMMA else 0):
        gap, least = min(gap, _gap(family, values[i - 1], values[i])), min(least, w[i])
    return gap * least


@_summing
def _conclude(family, c, s1, s2, logs, spread, low, high, gap, info):
    """What follows from the sums about the centre c and from two quartiles."""
    spread = math.sqrt(spread / info.mass)
    if high > low:  # a heavy tail must not decide what is narrow
        spread = min(spread, (high - low) / 1.349)
    _mean, whole = fam.maximise(family, info.mass, s1, s2, c, 0.0, 0.0)
    info.centre, info.sum1, info.sum2, info.logs, info.spread = c, s1, s2, logs, spread
    info.whole, info.floor, info.prior_d = 0.0, 0.0, 0.0
    if family <= fam.GAMMA:  # two values of a component, one of the least weight, differ by the smallest gap, or by rounding
        rounding = 1e-15 / info.scale if family == fam.GAUSSIAN else 1e-15
        info.whole = whole
        info.prior_d = fam.gamma_terms(1.0 / whole)[0] if family == fam.GAMMA and whole > 0.0 else whole
        info.floor = max(0.25 * gap / info.mass if gap < 1e200 else 0.0, rounding * rounding)


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


@_function
def _alone(value, room):
    """The sum of the values of all lanes, of which there is one."""
    return value


_total = _alone


@_summing
def _leans(y, w, power, lane, lanes, room):
    """Whether values are skewed to the left, by the sum of the cubes of their deviations from the mean.

    Values at the same distance from both ends are taken together, so that the sum of -y is minus that of y.
    """
    n, mass, total, third = y.size, 0.0, 0.0, 0.0
    for i in range(lane, (n + 1) // 2, lanes):
        j = n - 1 - i
        other = w[j] if j > i else 0.0
        mass += w[i] + other
        total += w[i] * y[i] + other * y[j]
    mass, total = _total(mass, room), _total(total, room)
    mean = power * (total / mass)
    for i in range(lane, (n + 1) // 2, lanes):
        j = n - 1 - i
        e, f = y[i] * power - mean, y[j] * power - mean
        third += w[i] * (e * e * e) + (w[j] if j > i else 0.0) * (f * f * f)
    return _total(third, room) < 0.0


@_function
def _turn(y, w, lane, lanes):
    """Mirror values that are skewed to the left, so that the fit of -x is that of x mirrored."""
    n = y.size
    for i in range(lane, (n + 1) // 2, lanes):
        y[i], y[n - 1 - i] = -y[n - 1 - i], -y[i]
        w[i], w[n - 1 - i] = w[n - 1 - i], w[i]


@_function
def _prepare(d, y, power, m, family, unit, sets, cells, q, info):
    """Data set d."""
    a, b, p, e = sets.off[d], sets.off[d + 1], cells.off[d], cells.off[d + 1]
    t1, t2, w = sets.t1[a:b], sets.t2[a:b], sets.w[a:b]
    row = info[d]
    row.scale = 1.0
    if b > a:
        for i in range(b - a if unit > 0 else 0):
            w[i] = 1.0
        if family == fam.GAUSSIAN and _leans(y[a:b], w, power[d], 0, 1, w):
            row.turned = 1
            _turn(y[a:b], w, 0, 1)
        _summarise(y[a:b], w, power[d], family, t1, t2, row)
        u1, u2, uw, q0, q1, q2 = cells.t1[p:e], cells.t2[p:e], cells.w[p:e], q[0, p:e], q[1, p:e], q[2, p:e]
        _compress(t1, t2, w, m[d], u1, u2, uw, q0, q1, q2)


def prepare_cpu(y, power, m, family, unit, sets, cells, q, info):
    for d in range(info.size):
        _prepare(d, y, power, m, family, unit, sets, cells, q, info)


@_function
def lanes_total(value, room):
    """The sum of the values of all lanes, for all of them."""
    lane, half = cuda.threadIdx.x, LANES // 2
    cuda.syncthreads()
    if lane < LANES:
        room[lane] = value
    cuda.syncthreads()
    while half > 0:
        if lane < half:
            room[lane] += room[lane + half]
        cuda.syncthreads()
        half //= 2
    return room[0]


@_function
def _least(value, room):
    """The least value of all lanes, for all of them."""
    lane = cuda.threadIdx.x
    cuda.syncthreads()
    if lane < LANES:
        room[lane] = value
    cuda.syncthreads()
    for j in range(LANES):
        value = min(value, room[j])
    return value


@_function
def _quantile(t1, w, wanted, room):
    """The first value up to which the weights add up to so much, for all lanes: each has a stretch of the values."""
    lane, n = cuda.threadIdx.x, t1.size
    step, own = -(-n // LANES), 0.0
    for i in range(min(lane * step, n), min((lane + 1) * step, n) if lane < LANES else 0):
        own += w[i]
    cuda.syncthreads()
    if lane < LANES:
        room[lane] = own
    cuda.syncthreads()
    seen, k = 0.0, 0
    while k < LANES - 1 and seen + room[k] < wanted:
        seen += room[k]
        k += 1
    i = min(k * step, n - 1)
    while i < n - 1 and seen + w[i] < wanted:
        seen += w[i]
        i += 1
    return t1[i]


@_function
def _summarise_together(y, w, power, family, t1, t2, info, room):
    """`_summarise` by all lanes of a block."""
    n, lane = y.size, cuda.threadIdx.x
    last = n if lane < LANES else 0
    mass, total, distinct, least = 0.0, 0.0, 0.0, w[0]
    for i in range(lane, last, LANES):
        mass += w[i]
        total += w[i] * (y[i] * power)
        least = min(least, w[i])
        distinct += 1.0 if i == 0 or y[i] != y[i - 1] else 0.0
    mass, total, distinct = lanes_total(mass, room), lanes_total(total, room), lanes_total(distinct, room)
    mean, shift, scale = total / mass, 0.0, 1.0
    if family == fam.GAUSSIAN:
        shift, total = mean, 0.0
        for i in range(lane, last, LANES):
            e = y[i] * power - mean
            total += w[i] * (e * e)
        scale = math.sqrt(lanes_total(total, room) / mass)
        if not scale > 0.0:
            scale = 1.0
    elif family <= fam.FIXED_GAMMA:
        scale = mean
    inverse, total, logs, gap = 1.0 / scale, 0.0, 0.0, _NO_GAP
    for i in range(lane, last, LANES):
        v = (y[i] * power - shift) * inverse
        t1[i] = v
        total += w[i] * v
        if i > 0:
            gap = min(gap, _gap(family, (y[i - 1] * power - shift) * inverse, v))
        if family != fam.GAUSSIAN and family < fam.POISSON:
            logs += w[i] * log(v)
    c, logs = lanes_total(total, room) / mass, lanes_total(logs, room)
    gap, least = _least(gap, room), _least(least, room)
    low, high = _quantile(t1, w, 0.25 * mass, room), _quantile(t1, w, 0.75 * mass, room)
    cuda.syncthreads()
    s1, s2, spread = 0.0, 0.0, 0.0
    for i in range(lane, last, LANES):
        t2[i] = fam.deviance(family, t1[i], c)
        e = t1[i] - c
        t1[i] = e
        s1 += w[i] * e
        s2 += w[i] * t2[i]
        spread += w[i] * e * e
    s1, s2, spread = lanes_total(s1, room), lanes_total(s2, room), lanes_total(spread, room)
    if lane == 0:
        info.mass, info.scale, info.shift, info.distinct, info.count = mass, scale, shift, np.int64(distinct), n
        _conclude(family, c, s1, s2, logs, spread, low, high, gap * least, info)


@_function
def _compress_together(t1, t2, w, m, u1, u2, uw, q0, q1, q2):
    """`_compress` by all lanes of a block; three of them add up."""
    lane = cuda.threadIdx.x
    cuda.syncthreads()
    for j in range(lane, u1.size if lane < LANES else 0, LANES):
        b, b1, b2 = 0.0, 0.0, 0.0
        for i in range(j * m, min((j + 1) * m, t1.size)):
            b += w[i]
            b1 += w[i] * t1[i]
            b2 += w[i] * t2[i]
        q0[j], q1[j], q2[j] = b, b1, b2
        if m > 1:
            b1, b2 = b1 / b, b2 / b
        else:  # the cells may be the observations themselves
            b1, b2 = t1[j], t2[j]
        uw[j], u1[j], u2[j] = b, b1, b2
    cuda.syncthreads()
    if lane < 3:
        own = q0 if lane == 0 else (q1 if lane == 1 else q2)
        for j in range(1, own.size):
            own[j] += own[j - 1]
    cuda.syncthreads()


_leans_together = bind(_leans, _total=lanes_total)


def prepare_cuda(y, power, m, family, unit, sets, cells, q, info):
    room = cuda.shared.array(LANES, np.float64)
    for d in range(cuda.blockIdx.x, info.size, cuda.gridDim.x):
        a, b, p, e = sets.off[d], sets.off[d + 1], cells.off[d], cells.off[d + 1]
        if b > a:
            t1, t2, w = sets.t1[a:b], sets.t2[a:b], sets.w[a:b]
            for i in range(cuda.threadIdx.x, b - a if unit > 0 else 0, cuda.blockDim.x):
                w[i] = 1.0
            cuda.syncthreads()
            if family == fam.GAUSSIAN and _leans_together(
                y[a:b], w, power[d], cuda.threadIdx.x if cuda.threadIdx.x < LANES else b - a, LANES, room
            ):
                _turn(y[a:b], w, cuda.threadIdx.x, cuda.blockDim.x)
                if cuda.threadIdx.x == 0:
                    info[d].turned = 1
            cuda.syncthreads()
            _summarise_together(y[a:b], w, power[d], family, t1, t2, info[d], room)
            u1, u2, uw, q0, q1, q2 = cells.t1[p:e], cells.t2[p:e], cells.w[p:e], q[0, p:e], q[1, p:e], q[2, p:e]
            _compress_together(t1, t2, w, m[d], u1, u2, uw, q0, q1, q2)
        elif cuda.threadIdx.x == 0:
            info[d].scale = 1.0


def _split_prepare(args, parts):
    y, power, m, family, unit, sets, cells, q, info = args
    return [
        (y, power[a:b], m[a:b], family, unit, sets._replace(off=sets.off[a:]), cells._replace(off=cells.off[a:]), q, info[a:b])
        for a, b in ranges(info.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
PREPARE = Kernel(
    "mixture.prepare",
    prepare_cpu,
    prepare_cuda,
    lambda T: [(_f[::1], _f[::1], _i[::1], _i, _i, series_type(_f), series_type(_f), _f[:, ::1], STATISTICS_TYPE[::1])],
    dtypes=("float64",),
    split=_split_prepare,
)
