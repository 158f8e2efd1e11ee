"""Estimates without a search, of values in order: by the characteristic function, and by moments of log|x - mode|."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from numbastats._core.kernel import array_function, bind, host_loop
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import log, sincos
from numbastats.stable.kernels.climbing import SUMS, alone, gather, gather_in_a_block, length
from numbastats.stable.parameterisations import LEAST_SCALE

_shared = array_function(host=False)

_EULER = 0.5772156649015329
_COUNT = (SUMS - 1) // 2
_FREQUENCIES = 0.1 * np.arange(1, _COUNT + 1)
_OFF_MEAN = np.log(_FREQUENCIES) - np.log(_FREQUENCIES).mean()
_OFF_MEAN_SQUARED, _MEAN_LOG = float(_OFF_MEAN @ _OFF_MEAN), float(np.log(_FREQUENCIES).mean())
_FAR = 1e14  # in the unit of the scale: beyond, doubles do not tell the angle, and nothing is added
_F1, _F2 = types.float64[::1], types.float64[:, ::1]


@_shared
def characteristic_function(team, x, w, m, s, phi):
    """Write real and imaginary parts of that of (x - m)/s, at multiples of the first frequency; without w all weights are 1."""
    real, imaginary = phi[:_COUNT], phi[_COUNT : 2 * _COUNT]
    for k in range(phi.size):
        phi[k] = 0.0
    for i in range(team.lane, x.size, team.lanes):
        weight = w[i] if w.size > 0 else 1.0
        phi[2 * _COUNT] += weight
        z = (x[i] - m) / s
        if not abs(z) < _FAR:
            continue
        sine, cosine = sincos(_FREQUENCIES[0] * z)
        c, d = weight, 0.0
        for k in range(_COUNT):
            c, d = c * cosine - d * sine, c * sine + d * cosine
            real[k] += c
            imaginary[k] += d
    gather(team, phi)
    for k in range(2 * _COUNT):
        phi[k] /= phi[2 * _COUNT]


@_shared
def line_through_sizes(phi, alpha):
    """alpha, given or the slope of log(-2 log|phi|) by log t, and the scale, from the height."""
    mean, slope = 0.0, 0.0
    for k in range(_FREQUENCIES.size):
        size = min(max(length(phi[k], phi[_COUNT + k]), 1e-12), 1.0 - 1e-12)
        response = math.log(-2.0 * math.log(size))
        mean += response / _FREQUENCIES.size
        slope += _OFF_MEAN[k] * response / _OFF_MEAN_SQUARED
    a = min(max(slope, 0.2), 2.0) if math.isnan(alpha) else alpha
    return a, math.exp((mean - a * _MEAN_LOG - math.log(2.0)) / a)


@_shared
def line_through_angles(phi, a, s, beta, work):
    """beta, given or from the regression of the angle on that of (alpha, 1, 0, s) and on t, and the location."""
    n = _FREQUENCIES.size
    angle, shape = work[:n], work[n : 2 * n]
    along, square, steepest = 0.0, 0.0, 0.0
    for k in range(n):
        t, before = _FREQUENCIES[k], angle[k - 1] if k > 0 else 0.0
        turns = (math.atan2(phi[_COUNT + k], phi[k]) - before) / (2.0 * math.pi)
        angle[k] = before + 2.0 * math.pi * (turns - math.floor(turns + 0.5))
        bent = -(2.0 / math.pi) * s * t * math.log(s * t) if a == 1.0 else math.tan(0.5 * math.pi * a) * ((s * t) ** a - s * t)
        shape[k] = bent
        along += t * bent
        square += t * t
        steepest = max(steepest, abs(bent))
    length, product = 0.0, 0.0
    for k in range(n):
        across = shape[k] - _FREQUENCIES[k] * along / square  # of the regression on t
        length += across * across
        product += across * angle[k]
    b = min(max(product / length, -1.0), 1.0) if steepest > 1e-9 and length > 0.0 else 0.0
    b, m = b if math.isnan(beta) else beta, 0.0
    for k in range(n):
        m += _FREQUENCIES[k] * (angle[k] - b * shape[k]) / square
    return b, m


@_shared
def from_characteristic_function(team, x, w, p, work):
    """`by_characteristic_function` of a team; work (2, SUMS)."""
    phi, alpha, beta = work[0], p[0], p[1]
    p[2], p[3] = 0.0, 1.0
    for _ in range(3):  # standardised anew each time
        characteristic_function(team, x, w, p[2], p[3], phi)
        p[0], s = line_through_sizes(phi, alpha)
        p[1], m = line_through_angles(phi, p[0], s, beta, work[1])
        p[2] += p[3] * m
        p[3] *= s


start_in_a_block = bind(
    from_characteristic_function, characteristic_function=bind(characteristic_function, gather=gather_in_a_block)
)


@host_loop("stable.by_characteristic_function", (_F1, _F1, _F1))
def by_characteristic_function(x, w, p):
    """Koutrouvelis (1980), Kogon and Williams (1998): regressions on the logarithm of the empirical characteristic function.

    p: alpha and beta where they are known, else NaN; becomes the estimate.
    """
    from_characteristic_function(alone(), x, w, p, np.empty((2, SUMS)))


@host_loop("stable.half_sample_mode", (_F1, _F1, _F1))
def half_sample_mode(x, w, found):
    """Robertson and Cryer (1974): the densest half of values in order, again and again."""
    first, end = 0, x.size
    while end - first > 3 and x[first] < x[end - 1]:
        mass = 0.0
        for i in range(first, end):
            mass += w[i]
        half, inside, j, width = (0.5 - 1e-12) * mass, 0.0, first, np.inf
        new = first, end
        for i in range(first, end):
            while j < end and inside < half:
                inside += w[j]
                j += 1
            if inside < half:
                break
            if 0.5 * x[j - 1] - 0.5 * x[i] < width:
                width, new = 0.5 * x[j - 1] - 0.5 * x[i], (i, j)
            inside -= w[i]
        first, end = new
    if end - first == 3:
        if x[first + 1] - x[first] < x[end - 1] - x[first + 1]:
            end -= 1
        else:
            first += 1
    found[0] = x[first] + 0.5 * (x[end - 1] - x[first])


@_shared
def of_moments(centre, variance, share, ends, scale):
    """alpha, beta and scale, known or NaN, in S1, by mean and variance of log|x - mode| and the share of x > mode."""
    theta = math.pi * (share - 0.5)
    if math.isnan(scale):
        a = math.sqrt(math.pi**2 / 6.0 / max(variance - math.pi**2 / 12.0 + theta**2, 1e-3))
    else:
        a = _EULER / (_EULER + max(centre - math.log(scale), 0.0))
    a = min(max(a, ends[0, 0]), ends[0, 1])
    most = 0.5 * math.pi * min(a, 0.999)
    b = math.tan(min(max(a * theta, -most), most)) / math.tan(0.5 * math.pi * a) if a < 1.0 else 0.0
    b = min(max(b, ends[1, 0]), ends[1, 1])
    if math.isnan(scale):
        scale = math.exp(centre - _EULER * (1.0 / a - 1.0) + math.log(max(math.cos(a * theta), 1e-9)) / a)
        scale = max(scale, LEAST_SCALE)
    return a, b, scale


@host_loop("stable.by_moments_about", (_F1, _F1, _F1, _F2, _F1, _F2))
def by_moments_about(x, w, modes, ends, scale, found):
    """Write parameters in S1, alpha and beta within ends, by the moments of log|x - mode| for every mode; the scale NaN or known.

    Values at the mode itself do not count.
    """
    logs, weights = np.empty(x.size), np.empty(x.size)
    for k in range(modes.size):
        mode, mass, above, total, square = modes[k], 0.0, 0.0, 0.0, 0.0
        for i in range(x.size):
            weights[i] = w[i] if x[i] != mode else 0.0
        for i in range(x.size):
            in_step()
            logs[i] = log(abs(x[i] - mode) if x[i] != mode else 1.0)
        for i in range(x.size):
            mass += weights[i]
            above += weights[i] if x[i] > mode else 0.0
            total += weights[i] * logs[i]
        for i in range(x.size):
            square += weights[i] * (logs[i] - total / mass) ** 2
        found[k, 0], found[k, 1], found[k, 3] = of_moments(total / mass, square / mass, above / mass, ends, scale[0])
        found[k, 2] = mode
