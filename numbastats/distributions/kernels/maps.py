"""Elementwise maps between the values of functions of distributions: units, logarithms, shares of intervals, order statistics."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from numbastats._core.cuda_backend import cuda
from numbastats._core.elementwise import elementwise
from numbastats._core.kernel import Kernel, device_function
from numbastats.distributions.kernels.points import newton_step
from numbastats.scalar import loops
from numbastats.scalar.bits import at
from numbastats.scalar.elementary import exp, expm1, log, log1p
from numbastats.scalar.incomplete import beta_constants, beta_log_density, beta_log_tails, beta_quantile, beta_tails
from numbastats.scalar.loops import CHUNK

__all__ = [
    "AT_ENDS",
    "BETWEEN",
    "CERTAIN",
    "CHOSEN",
    "CLIPPED",
    "DENSITY_WITHIN",
    "DIVIDED",
    "EXP",
    "FOLDED",
    "IS_ABOVE",
    "LARGER",
    "LEVEL",
    "LOCATED",
    "LOG",
    "LOG_SHARE",
    "LOG_DENSITY_WITHIN",
    "LOG_SMALLER",
    "LOG_SUM",
    "LOG_TAIL",
    "NEAR",
    "NEWTON",
    "ORDER_LEVELS",
    "ORDER_LOG_DENSITY",
    "ORDER_LOG_TAILS",
    "ORDER_TAILS",
    "PICKED",
    "POWER",
    "REDUCED",
    "SHARE",
    "SMALLER",
    "STANDARDISED",
    "Map",
]

_f = _of = None  # bound by build
_LOOPS = {
    1: (loops.map1_cpu, loops.map1_cuda),
    2: (loops.map2_cpu, loops.map2_cuda),
    3: (loops.map3_cpu, loops.map3_cuda),
    4: (loops.map4_cpu, loops.map4_cuda),
    5: (loops.map5_cpu, loops.map5_cuda),
}


class Map:
    """A function of arrays of every kind in double precision, and of the options of every function, from a scalar formula."""

    def __init__(self, name, function, *names, cost=2.0, twins=None, outputs=1, **bound):
        self.names, self.cost, self.outputs = names, cost, outputs
        cpu, gpu = twins or _LOOPS[len(names)]
        self.kernel = Kernel(
            f"distributions.{name}",
            cpu,
            gpu,
            lambda T: [(T[::1], *[kind] * (len(names) - 1), *[T[::1]] * outputs) for kind in (T, T[::1])],
            dtypes=("float64",),
            **(bound if twins else {"_f": function}),
        )

    def __call__(self, *values, **options):
        """Of values of any kind; a float64 array, or several; of the float type of the first value with ``dtype=None``."""
        options = {"dtype": np.float64} | options
        job = dict(cost=self.cost, outputs=self.outputs, double=True)
        return elementwise(self.kernel, self.names, values, **job, **options)


# --- units -------------------------------------------------------------------------------------------------------


@device_function
def located(z, loc, scale):
    return loc + scale * z


@device_function
def standardised(x, loc, scale):
    return (x - loc) / scale


@device_function
def log_of_positive(x):
    """Logarithm, -inf below 0."""
    return -math.inf if x <= 0.0 else log(x)


@device_function
def power(x, exponent):
    """Of x >= 0."""
    return exp(exponent * log(x))


@device_function
def divided(y, by):
    """A density in other units; 0 stays 0, whatever the unit, and is the density at an end that is infinite."""
    return 0.0 if (y == 0.0) | (by == math.inf) else y / by


@device_function
def reduced(y, by):
    """The same of its logarithm."""
    return -math.inf if (y == -math.inf) | (by == math.inf) else y - by


# --- intervals and tails -----------------------------------------------------------------------------------------


@device_function
def clipped(x, low, high):
    x = low if x < low else x
    return high if x > high else x


@device_function
def density_within(y, x, low, high, mass):
    return y / mass if (x >= low) & (x <= high) else (0.0 if x == x else x)


@device_function
def log_density_within(y, x, low, high, log_mass):
    return y - log_mass if (x >= low) & (x <= high) else (-math.inf if x == x else x)


@device_function
def _log_fall(large, small):
    """log(e^large - e^small), large >= small."""
    d = small - large
    if large == -math.inf:
        return large
    return large + (log(-expm1(d)) if d > -0.6931471805599453 else log1p(-exp(d)))


@device_function
def share(cdf, sf, low_cdf, low_sf, mass):
    """(F(x) - F(a))/mass, x >= a, by the tail in which both are small."""
    return (cdf - low_cdf if cdf <= low_sf else low_sf - sf) / mass


@device_function
def log_share(log_cdf, log_sf, low_log_cdf, low_log_sf, log_mass):
    """Logarithm of (F(x) - F(a))/mass, x >= a, by the tail in which both are small."""
    by_cdf = log_cdf <= low_log_sf
    return (_log_fall(log_cdf, low_log_cdf) if by_cdf else _log_fall(low_log_sf, log_sf)) - log_mass


NEAR = 0.01  # masses of intervals below this share of the smaller tail are integrals of the density
_LOG_NEAR = math.log(NEAR)


@device_function
def certain(difference, integral, log_cdf, low_log_sf):
    """Logarithm of the mass of an interval, whose difference of tails cancels where it is short.

    There the integral of the density is the better one, if it is within the rounding errors of the difference: it is not where a
    jump or a kink is inside.
    """
    tail = log_cdf if log_cdf < low_log_sf else low_log_sf
    apart = abs(exp(integral - tail) - exp(difference - tail))
    return integral if (difference - tail < _LOG_NEAR) & (apart <= 1e-14 * (1.0 + abs(tail))) else difference


@device_function
def between(low, high, share):
    return low + share * (high - low)


@device_function
def log_tail(tail, other):
    """Logarithm of a tail, from that of the other one where that is the smaller."""
    return tail if (tail <= other) | (tail != tail) else log1p(-exp(other))


@device_function
def log_sum(y, weight, total):
    """log(e^total + e^(weight + y))."""
    y = y + weight
    large, small = (y, total) if y > total else (total, y)
    if (large == -math.inf) | (small == math.inf) | (y != y) | (total != total):
        return y + total
    return large + log1p(exp(small - large))


@device_function
def larger(a, b, least):
    """The largest of three."""
    a = b if b > a else a
    return least if least > a else a


@device_function
def smaller(a, b):
    return b if b < a else a


@device_function
def at_ends(u, value, first, last):
    """A quantile within the support, whose ends are those at 0 and 1."""
    low, high = (first, last) if first < last else (last, first)
    value = low if value < low else (high if value > high else value)
    return first if u == 0.0 else (last if u == 1.0 else value)


@device_function
def log_smaller(u):
    """Logarithm of the smaller of u and 1 - u."""
    return log(u if u <= 0.5 else 1.0 - u) if (u >= 0.0) & (u <= 1.0) else math.nan


@device_function
def is_above(u, flipped):
    """Whether the smaller one is an upper tail: 1 or 0."""
    return 1.0 if (u > 0.5) != (flipped > 0.0) else 0.0


@device_function
def level(u, first, width):
    """A share u of a range of probabilities; NaN where u is none."""
    return first + width * u if (u >= 0.0) & (u <= 1.0) else math.nan


@device_function
def chosen(lower, upper, by_lower, by_upper):
    """What comes from the smaller of two tails."""
    return by_lower if lower <= upper else by_upper


@device_function
def folded(x, y, mirrored):
    """The density of |X| from those at x and -x."""
    return y + mirrored if x >= 0.0 else (0.0 if x == x else x)


@device_function
def picked(u, first, value, other):
    """A value where u is from `first` on."""
    return value if u >= first else other


# --- order statistics: the beta distribution at F(x) = 1 - S(x) -------------------------------------------------

_DEEP = -690.0  # logarithms of probabilities below it: of the beta distribution there is the leading term alone


@device_function
def order_tails(lower, upper, c):
    return beta_tails(lower, upper, c)[:2]


@device_function
def order_log_tails(lower, upper, c):
    """From logarithms of both tails."""
    deep = (lower < _DEEP) | (upper < _DEEP)
    log_cdf, log_sf = beta_log_tails(0.5 if deep else exp(lower), 0.5 if deep else exp(upper), c)
    if lower < _DEEP:
        log_cdf, log_sf = c[0] * lower - log(c[0]) + c[2], 0.0
    elif upper < _DEEP:
        log_cdf, log_sf = 0.0, c[1] * upper - log(c[1]) + c[2]
    return log_cdf, log_sf


@device_function
def order_log_density(lower, upper, c):
    """Of the beta distribution, from logarithms of both tails."""
    if (lower > _DEEP) & (upper > _DEEP):
        return beta_log_density(exp(lower), exp(upper), c) - lower - upper
    first = 0.0 if c[0] == 1.0 else (c[0] - 1.0) * lower
    return first + (0.0 if c[1] == 1.0 else (c[1] - 1.0) * upper) + c[2]


@device_function
def order_levels(lower, upper, c):
    """F and S of the quantile at lower = 1 - upper."""
    if (lower > 0.0) & (upper > 0.0):
        return beta_quantile(lower, upper, lower > upper, c)
    return lower, upper  # 0 and 1, NaN


def order_cpu(lower, upper, a, b, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        first = np.int64(k) * CHUNK
        c = beta_constants(at(a, first), at(b, first))
        for i in range(first, min(first + CHUNK, out.size)):
            if (at(a, i) != c[0]) | (at(b, i) != c[1]):
                c = beta_constants(at(a, i), at(b, i))
            out[i] = _of(lower[i], at(upper, i), c)


def order_cuda(lower, upper, a, b, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _of(lower[i], at(upper, i), beta_constants(at(a, i), at(b, i)))


def order_pair_cpu(lower, upper, a, b, below, above):
    for k in prange((below.size + CHUNK - 1) // CHUNK):
        first = np.int64(k) * CHUNK
        c = beta_constants(at(a, first), at(b, first))
        for i in range(first, min(first + CHUNK, below.size)):
            if (at(a, i) != c[0]) | (at(b, i) != c[1]):
                c = beta_constants(at(a, i), at(b, i))
            below[i], above[i] = _of(lower[i], at(upper, i), c)


def order_pair_cuda(lower, upper, a, b, below, above):
    for i in range(cuda.grid(1), below.size, cuda.gridsize(1)):
        below[i], above[i] = _of(lower[i], at(upper, i), beta_constants(at(a, i), at(b, i)))


# --- quantiles ---------------------------------------------------------------------------------------------------


@device_function
def _step(z, low, high, target, upper, positive, logpdf, logcdf, logsf):
    logs = logsf if upper > 0.0 else logcdf
    z, low, high, moving = newton_step(z, low, high, target, upper > 0.0, positive > 0.0, logpdf, logs)
    return z, low, high, 1.0 if moving else 0.0


def newton_cpu(z, low, high, target, upper, positive, logpdf, logcdf, logsf, new, new_low, new_high, moving):  # noqa: PLR0913
    for k in prange((z.size + CHUNK - 1) // CHUNK):
        first = np.int64(k) * CHUNK
        for i in range(first, min(first + CHUNK, z.size)):
            point = z[i], at(low, i), at(high, i), at(target, i), at(upper, i), at(positive, i)
            new[i], new_low[i], new_high[i], moving[i] = _step(*point, at(logpdf, i), at(logcdf, i), at(logsf, i))


def newton_cuda(z, low, high, target, upper, positive, logpdf, logcdf, logsf, new, new_low, new_high, moving):  # noqa: PLR0913
    for i in range(cuda.grid(1), z.size, cuda.gridsize(1)):
        point = z[i], at(low, i), at(high, i), at(target, i), at(upper, i), at(positive, i)
        new[i], new_low[i], new_high[i], moving[i] = _step(*point, at(logpdf, i), at(logcdf, i), at(logsf, i))


LOCATED = Map("located", located, "z", "loc", "scale")
STANDARDISED = Map("standardised", standardised, "x", "loc", "scale")
EXP = Map("exp", exp, "x")
LOG = Map("log", log_of_positive, "x")
POWER = Map("power", power, "x", "the exponent", cost=10.0)
DIVIDED = Map("divided", divided, "the density", "the unit")
REDUCED = Map("reduced", reduced, "the density", "the unit")
CLIPPED = Map("clipped", clipped, "x", "lb", "ub")
DENSITY_WITHIN = Map("density_within", density_within, "the density", "x", "lb", "ub", "the mass")
LOG_DENSITY_WITHIN = Map("log_density_within", log_density_within, "the density", "x", "lb", "ub", "the mass")
SHARE = Map("share", share, "cdf", "sf", "cdf below", "sf below", "the mass")
LOG_SHARE = Map("log_share", log_share, "logcdf", "logsf", "logcdf below", "logsf below", "the mass", cost=20.0)
CERTAIN = Map("certain", certain, "the difference", "the integral", "logcdf", "logsf below", cost=8.0)
BETWEEN = Map("between", between, "low", "high", "the share")
LOG_TAIL = Map("log_tail", log_tail, "the tail", "the other tail", cost=10.0)
LOG_SUM = Map("log_sum", log_sum, "y", "the weight", "the sum", cost=8.0)
LARGER = Map("larger", larger, "a", "b", "the least")
LEVEL = Map("level", level, "the probability", "the first", "the width")
SMALLER = Map("smaller", smaller, "a", "b")
AT_ENDS = Map("at_ends", at_ends, "u", "the quantile", "the first", "the last")
LOG_SMALLER = Map("log_smaller", log_smaller, "u", cost=6.0)
IS_ABOVE = Map("is_above", is_above, "u", "the tail")
CHOSEN = Map("chosen", chosen, "cdf", "sf", "by cdf", "by sf")
FOLDED = Map("folded", folded, "x", "the density", "the density at -x")
PICKED = Map("picked", picked, "u", "the first", "the value", "the other")
_OF_ORDER = ("cdf", "sf", "r", "n - r + 1")
_PAIR = dict(cost=100.0, twins=(order_pair_cpu, order_pair_cuda), outputs=2)
ORDER_TAILS = Map("order_tails", None, *_OF_ORDER, **_PAIR, _of=order_tails)
ORDER_LOG_TAILS = Map("order_log_tails", None, *_OF_ORDER, **_PAIR, _of=order_log_tails)
ORDER_LEVELS = Map("order_levels", None, *_OF_ORDER, **_PAIR | {"cost": 500.0}, _of=order_levels)
ORDER_LOG_DENSITY = Map("order_log_density", None, *_OF_ORDER, cost=20.0, twins=(order_cpu, order_cuda), _of=order_log_density)
NEWTON = Map(
    "newton",
    *(None, "z", "low", "high", "the target", "the tail", "the sign", "logpdf", "logcdf", "logsf"),
    cost=15.0,
    twins=(newton_cpu, newton_cuda),
    outputs=4,
)
