"""Kernels of the functions of counts, made of the formulas in the file of a family.

A family gives scalar functions of whole numbers k in its support: ``constants(*shapes)``, and with c for what it returns
``support(c)``, ``logpmf(k, c)``, ``tails(k, c)``, P(X <= k) and P(X > k) below the end of the support, their logarithms
``logcdf(k, c)`` and ``logsf(k, c)``, and ``moments(c)``: mean, standard deviation, and a sixth of the third central moment over
the variance, from which the search of a quantile begins. ``score(k, c)`` has 0, then the derivatives of ``logpmf`` by the shapes.

There is no location and no scale: the kernels of `points` are given 0 and 1.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from numbastats._core.kernel import bind, device_function
from numbastats.distributions.kernels.points import FORMS, Points, exponential, of_tail, one_cpu, quantile, within
from numbastats.scalar.bits import at
from numbastats.scalar.counts import floor
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.loops import CHUNK
from numbastats.scalar.normal import ndtri1

__all__ = ["FUNCTIONS", "Masses", "largest_ppf", "least_isf", "log_mass", "lower", "upper"]

FUNCTIONS = ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
_ROUNDING, _ERROR = 4e-16, 4e-14  # of a probability, and relative to the smaller tail
_FEW = 16  # masses that are added one by one

_f = _support = _tails = _logpmf = _logpdf = _logcdf = _logsf = _moments = _least = None  # bound to the formulas of a family
_value = _constants = _step = None
_never = _surely = 0.0


# --- from formulas at whole numbers of the support to functions of all numbers -----------------------------------


@device_function
def mass(x, c):
    """Probability of x, or its logarithm: `_never` for what is no count."""
    low, high = _support(c)
    k = floor(within(x, low, high))
    value = _f(k, c)
    value = value if (x == k) & (x - x == 0.0) else _never
    return value if x == x else math.nan


@device_function
def lower_tail(x, c):
    """P(X <= x), or its logarithm."""
    low, high = _support(c)
    value = _f(floor(within(x, low, high)), c)
    value = _surely if x >= high else value
    return _never if x < low else value


@device_function
def upper_tail(x, c):
    """P(X > x), or its logarithm."""
    low, high = _support(c)
    value = _f(floor(within(x, low, high)), c)
    value = _never if x >= high else value
    return _surely if x < low else value


# --- formulas that follow from others ----------------------------------------------------------------------------


@device_function
def lower(k, c):
    """P(X <= k)."""
    return _tails(k, c)[0]


@device_function
def upper(k, c):
    """P(X > k)."""
    return _tails(k, c)[1]


@device_function
def largest_ppf(below, above):
    """The largest p with a quantile up to a count with these tails: P(X <= k) but for rounding, so that it has k as quantile."""
    return below / (1.0 - (_ROUNDING + _ERROR * above))


@device_function
def least_isf(below, above):
    """The same of upper tails: the least p."""
    return above / (1.0 + (_ROUNDING + _ERROR * below))


@device_function
def newton_step(p, by_upper, k, below, above, c):
    """By how much k is to change by Newton's method for the logarithm of the smaller tail."""
    upper = below > 0.5
    tail, target = (above if upper else below), (p if by_upper == upper else 1.0 - p)
    step = log(tail / target) * tail / exp(_logpmf(k, c))
    return step if upper else -step


@device_function(inline=False)
def least(p, by_upper, c):
    """The least count k with P(X <= k) >= p, or by the upper tail with P(X > k) <= p, for 0 < p < 1.

    A bracket around it closes by steps of Newton's method, every fourth a bisection, from the expansion of Cornish and Fisher.
    """
    low, high = _support(c)
    mean, sd, bend = _moments(c)
    z = ndtri1(p)
    z = -z if by_upper else z
    k = within(floor(within(mean + sd * z + bend * (z * z - 1.0) + 0.5, low, high)), low, high)
    short, enough, reach, turn = low - 1.0, high, 1.0, 0
    while enough - short > 1.0:
        below, above = _tails(k, c)
        turn += 1
        step = _step(p, by_upper, k, below, above, c)
        reaches = k >= high or (p >= least_isf(below, above) if by_upper else p <= largest_ppf(below, above))
        if reaches:
            enough, step = k, -step
        else:
            short, step, reach = k, max(step, reach), 2.0 * reach
        step = floor(step + 0.5) if step > 1.0 else 1.0
        new = k - step if reaches else k + step
        if not (new > short and new < enough) or turn % 4 == 0:
            new = floor(0.5 * (short + enough)) if enough < math.inf else 2.0 * k + reach
        if not (new > short and new < enough):  # neighbours in floating point
            break
        k = new
    return enough


@device_function
def ppf(p, c):
    return _least(p, False, c)


@device_function
def isf(p, c):
    return _least(p, True, c)


@device_function(inline=False)
def log_mass(lo, hi, c):
    """log P(lo <= X <= hi): both ends belong."""
    low, high = _support(c)
    first, last = floor(lo) if lo > low else low, floor(hi) if hi < high else high
    first = first + 1.0 if first < lo else first
    if not first <= last:
        return -math.inf
    if last - first < _FEW:
        top, total = _logpdf(first, c), 0.0
        top = max(top, _logpdf(last, c))
        if top == -math.inf:
            return top
        k = first
        while k <= last:
            total += exp(_logpdf(k, c) - top)
            k += 1.0
        return top + log(total)
    if last == high:
        return _logsf(first - 1.0, c) if first > low else 0.0
    more = _logcdf(last, c)
    if first == low:
        return more
    less = _logcdf(first - 1.0, c)
    if less > -0.7:
        more, less = _logsf(first - 1.0, c), _logsf(last, c)
    return more + log1p(-exp(less - more))


_OF = dict(pmf=mass, logpmf=mass, cdf=lower_tail, logcdf=lower_tail, sf=upper_tail, logsf=upper_tail, ppf=quantile, isf=quantile)
_FORMS = {name: (form, FORMS[name.replace("pmf", "pdf")][1], of_tail) for name, form in _OF.items()}  # there is no unit


def tabulated_cpu(x, p, out):
    """`one_cpu`, whose CUDA twin is its own, too: where a chunk has few different counts, each is computed once."""
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o, c, least, most = out[lo : lo + CHUNK], _constants(*p[2:]), math.inf, -math.inf
        for i in range(o.size):
            v = at(x, lo + i)
            least, most = (v if v < least else least), (v if v > most else most)
        least, span = floor(least), most - least
        if least >= 0.0 and 0.0 <= span < 0.25 * o.size:
            table = np.empty(np.int64(span) + 1)
            for j in range(table.size):
                table[j] = _value(least + j, p, c)
            for i in range(o.size):
                v = at(x, lo + i)
                j = v - least
                o[i] = table[np.int64(j)] if j == floor(j) else _value(v, p, c)
        else:
            for i in range(o.size):
                o[i] = _value(at(x, lo + i), p, c)


class Masses(Points):
    """The kernels of a family of counts: `Points` of whole numbers."""

    functions, density, forms = FUNCTIONS, "logpmf", _FORMS
    log_mass = staticmethod(log_mass)

    def _loop(self, name):
        return one_cpu if name in ("ppf", "isf") else tabulated_cpu

    def of_value(self):
        """The same at any value: -inf for those that are no counts."""
        return self.log_density()

    def _formula(self, name):
        """The family's formula, or one that is made of its others."""
        family = self.formulas
        if hasattr(family, name):
            return getattr(family, name)
        if name == "pmf":
            return bind(exponential, _f=family.logpmf)
        if name in ("cdf", "sf"):
            return bind(lower if name == "cdf" else upper, _tails=family.tails)
        step = bind(newton_step, _logpmf=family.logpmf)
        search = bind(least, _step=step, **{f"_{f}": getattr(family, f) for f in ("support", "tails", "moments")})
        return bind(ppf if name == "ppf" else isf, _least=search)
