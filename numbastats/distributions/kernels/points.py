"""Kernels of the functions of a distribution, made of the formulas in the file of its family.

A family gives scalar functions of the standard form: ``constants(*shapes)``, computed once for a set of parameters, and with
c for what it returns ``support(c)``, ``logpdf(z, c)``, ``cdf(z, c)``, ``sf(z, c)``, ``ppf(p, c)``, ``isf(q, c)``, and ``pdf``,
``logcdf`` and ``logsf`` where the exponential or the logarithm of another function would lose digits. They need be right within
the support only, and for probabilities between 0 and 1. A family without quantiles of its own gives ``start(c)``, a point from
which Newton's method finds them, and one whose support is the `whole_line` and that has no ``sf`` is even: its upper tails are
mirrored. Where a formula is a simple one for many parameters, it has that as ``plain_logpdf`` and says by
``is_plain(c)`` for which: the loop over these can be vectorised.

Of each function there are two kernels: ``one`` for one set of parameters, which takes them as a tuple, and ``many`` for arrays of
parameters. Both take (location, scale, shapes of the standard form), all in double precision.
"""

from __future__ import annotations

import functools
import math
import sys

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind, device_function
from numbastats.scalar.bits import at, clip, in_step
from numbastats.scalar.elementary import exp, log, log1p
from numbastats.scalar.loops import CHUNK

__all__ = [
    "FORMS",
    "FUNCTIONS",
    "Points",
    "exponential",
    "half_line",
    "newton_step",
    "no_constants",
    "of_tail",
    "one_cpu",
    "quantile",
    "unit_interval",
    "whole_line",
    "within",
]

FUNCTIONS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")

_f = _cdf = _sf = _support = _constants = _value = _standard = None  # bound to the formulas of a family
_logpdf = _logcdf = _logsf = _start = _quantile = None
_is_plain = _plain_value = None
_score = _first = _second = None
_never = _surely = 0.0

_function = array_function(fastmath=("contract", "reassoc"), host=False)


# --- what many families have: `constants` and `support` ---------------------------------------------------------


@device_function
def no_constants():
    """Of a family without shape parameters."""
    return 0.0


@device_function
def whole_line(c):
    return -math.inf, math.inf


@device_function
def half_line(c):
    return 0.0, math.inf


@device_function
def unit_interval(c):
    return 0.0, 1.0


# --- from formulas within the support to functions of all numbers ------------------------------------------------


@device_function
def within(z, low, high):
    """The point of the support that is nearest to z; NaN stays."""
    z = low if z < low else z
    return high if z > high else z


@device_function
def density(z, c):
    """Density, or its logarithm: `_never` outside the support and at infinity."""
    low, high = _support(c)
    value = _f(within(z, low, high), c)
    value = value if z - z == 0.0 else _never  # of a test for infinity LLVM makes one without a vector instruction
    value = _never if (z < low) | (z > high) else value
    return value if z == z else math.nan


@device_function
def lower_tail(z, c):
    """Distribution function, or its logarithm: `_never` below the support, `_surely` above."""
    low, high = _support(c)
    value = _f(within(z, low, high), c)
    value = _surely if z >= high else value
    return _never if z <= low else value


@device_function
def upper_tail(z, c):
    """Survival function, or its logarithm: `_surely` below the support, `_never` above."""
    low, high = _support(c)
    value = _f(within(z, low, high), c)
    value = _surely if z <= low else value
    return _never if z >= high else value


@device_function
def quantile(p, c):
    """Quantile of the standard form for any p: the ends of the support at 0 and 1, NaN outside."""
    first, last = _ends(_support(c))
    inside = (p > 0.0) & (p < 1.0)
    value = _f(p if inside else 0.5, c)
    known = first if p == 0.0 else (last if p == 1.0 else math.nan)
    return value if inside | (value != value) else known  # NaN of a parameter stays


@device_function
def _ends(support):
    """The quantiles at 0 and 1, of the lower tail."""
    return support


@device_function
def _exchanged(support):
    """The quantiles at 0 and 1, of the upper tail."""
    return support[1], support[0]


# --- formulas that a family leaves out ---------------------------------------------------------------------------


@device_function
def unknown(z, c):
    """What a family that has a density alone lacks."""
    return math.nan


@device_function
def exponential(z, c):
    """The exponential of a logarithm."""
    return exp(_f(z, c))


@device_function
def mirrored(z, c):
    """The upper tail of a density that is even, from the lower one."""
    return _f(-z, c)


@device_function
def negative(p, c):
    """The quantile at an upper tail of a density that is even, from that at a lower one."""
    return 0.0 - _f(p, c)


@device_function
def log_of_tail(z, c):
    """Logarithm of a tail `_f` from it, or where it is above 1/2 from the other tail `_sf`."""
    tail = _f(z, c)
    return log(tail) if tail <= 0.5 else log1p(-_sf(z, c))


@device_function
def _between(low, high, positive):
    """The mean of two ends, or where they are of different orders of magnitude the geometric one; 0 parts those of two signs."""
    if positive or low >= 0.0 and high > 1e3 * low:
        return math.sqrt(max(low, 1e-320)) * math.sqrt(min(high, 1e308)) if high > 1e-320 else 0.5 * high
    if high <= 0.0 and low < 1e3 * high:
        return -math.sqrt(max(-high, 1e-320)) * math.sqrt(-low) if low < -1e-320 else 0.5 * low
    mean = 0.5 * (low + high)
    return 0.0 if low < 0.0 and high > 0.0 and min(-low, high) < 1e-3 * max(-low, high) else mean


@device_function
def newton_step(z, low, high, target, upper, positive, logpdf, logs):
    """A step of Newton's method for the z in [low, high] at which the logarithm of a tail, `logs` at z, is the target.

    Returns z, the bracket, and whether z still moves: not after a step of Newton's below 1e-9 of it, of which the next would be
    below rounding.
    """
    excess = target - logs if upper else logs - target  # increases with z
    low, high = (z, high) if excess < 0.0 else (low, z)
    step = -excess * exp(logs - logpdf)
    if positive:
        new = z * exp(clip(step / z, -4.0, 4.0))
        first, last = low, high
    else:
        reach = max(abs(z), 1.0)
        new = z + clip(step, -4.0 * reach, 4.0 * reach)
        first, last = max(low, -8.0 * reach), min(high, 8.0 * reach)
    middle = _between(first, last, positive)
    by_newton = new > low and new < high
    if not by_newton:
        new = z if excess == 0.0 or new == z else (middle if excess == excess else math.nan)
    return new, low, high, abs(new - z) > (1e-9 if by_newton else 4e-16) * abs(new)


@device_function(inline=False)
def _by_newton(p, q, upper, c):
    """The quantile at the lower tail p, or the upper tail q: Newton's method on the logarithm of that tail, within a bracket.

    Where the support begins at 0 on the logarithm of z.
    """
    low, high = _support(c)
    positive = low == 0.0
    target, z = log(q if upper else p), _start(c)
    for _ in range(80):
        logs = _logsf(z, c) if upper else _logcdf(z, c)
        z, low, high, moving = newton_step(z, low, high, target, upper, positive, _logpdf(z, c), logs)
        if not moving:
            break
    return z


@device_function
def ppf_by_newton(p, c):
    """The quantile at a lower tail."""
    return _quantile(p, 1.0 - p, p > 0.5, c)


@device_function
def isf_by_newton(p, c):
    """The quantile at an upper tail."""
    return _quantile(1.0 - p, p, p <= 0.5, c)


@device_function(inline=False)
def log_mass(lo, hi, c):
    """log(F(hi) - F(lo)) from the smaller tails; of an interval whose ends have nearly the same tails by Simpson's rule."""
    low, high = _support(c)
    lo, hi = max(lo, low), min(hi, high)
    if not lo < hi:
        return -math.inf
    if hi == high:
        return _logsf(lo, c) if lo > low else 0.0
    more = _logcdf(hi, c)
    if lo == low:
        return more
    less = _logcdf(lo, c)
    if less > -0.7:
        more, less = _logsf(lo, c), _logsf(hi, c)
    if less - more > -1e-3:
        middle = lo + 0.5 * (hi - lo)
        top = _logpdf(middle, c)
        ends = exp(_logpdf(lo, c) - top) + exp(_logpdf(hi, c) - top)
        return top + log((hi - lo) * ((4.0 + ends) / 6.0))
    return more + log1p(-exp(less - more))


# --- shapes as items of a tuple or an array ---------------------------------------------------------------------


@device_function
def _no_shape(s):
    return 0.0


@device_function
def _first_shape(s):
    return s[1]


@device_function
def _second_shape(s):
    return s[2]


@_function
def _constants0(p):
    return _constants()


@_function
def _constants1(p):
    return _constants(p[0])


@_function
def _constants2(p):
    return _constants(p[0], p[1])


# --- units -------------------------------------------------------------------------------------------------------


@device_function
def of_density(x, p, c):
    """A density in units of 1/x."""
    return _standard((x - p[0]) / p[1], c) / p[1]


@device_function
def of_log_density(x, p, c):
    """The logarithm of a density in units of 1/x."""
    return _standard((x - p[0]) / p[1], c) - log(p[1])


@device_function
def of_tail(x, p, c):
    """A probability, or its logarithm; NaN of a shape parameter stays, also where x is outside the support."""
    value = _standard((x - p[0]) / p[1], c)
    return value if (p[-1] == p[-1]) & (p[-2] == p[-2]) else math.nan


@device_function
def of_quantile(p, parameters, c):
    """A quantile in units of x."""
    return parameters[0] + parameters[1] * _standard(p, c)


@device_function
def of_score(x, loc, scale, c):
    """Derivatives of the log density by two shapes, location and scale; NaN where the density is 0."""
    z = (x - loc) / scale
    s, known = _score(z, c), 1.0 if _standard(z, c) > -math.inf else math.nan
    return known * _first(s), known * _second(s), -known * s[0] / scale, -known * (1.0 + z * s[0]) / scale


FORMS = {  # of a function: what makes it one of all numbers, its values outside the support, its units
    "pdf": (density, dict(_never=0.0), of_density),
    "logpdf": (density, dict(_never=-math.inf), of_log_density),
    "cdf": (lower_tail, dict(_never=0.0, _surely=1.0), of_tail),
    "sf": (upper_tail, dict(_never=0.0, _surely=1.0), of_tail),
    "logcdf": (lower_tail, dict(_never=-math.inf, _surely=0.0), of_tail),
    "logsf": (upper_tail, dict(_never=-math.inf, _surely=0.0), of_tail),
    "ppf": (quantile, dict(_ends=_ends), of_quantile),
    "isf": (quantile, dict(_ends=_exchanged), of_quantile),
}


# --- loops -------------------------------------------------------------------------------------------------------


def one_cpu(x, p, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o, c = out[lo : lo + CHUNK], _constants(*p[2:])
        for i in range(o.size):
            in_step()
            o[i] = _value(at(x, lo + i), p, c)


def one_plain_cpu(x, p, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o, c = out[lo : lo + CHUNK], _constants(*p[2:])
        if _is_plain(c):  # a loop of its own, which can be vectorised
            for i in range(o.size):
                in_step()
                o[i] = _plain_value(at(x, lo + i), p, c)
        else:
            for i in range(o.size):
                in_step()
                o[i] = _value(at(x, lo + i), p, c)


def one_cuda(x, p, out):
    c = _constants(*p[2:])
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _value(x[i], p, c)


def many2_cpu(x, loc, scale, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o, c = out[lo : lo + CHUNK], _constants()
        for i in range(o.size):
            in_step()
            o[i] = _value(at(x, lo + i), (at(loc, lo + i), at(scale, lo + i)), c)


def many2_cuda(x, loc, scale, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _value(x[i], (at(loc, i), at(scale, i)), _constants())


def many3_cpu(x, loc, scale, a, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o = out[lo : lo + CHUNK]
        for i in range(o.size):
            in_step()
            j = lo + i
            o[i] = _value(at(x, j), (at(loc, j), at(scale, j), at(a, j)), _constants(at(a, j)))


def many3_cuda(x, loc, scale, a, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _value(x[i], (at(loc, i), at(scale, i), at(a, i)), _constants(at(a, i)))


def many4_cpu(x, loc, scale, a, b, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o = out[lo : lo + CHUNK]
        for i in range(o.size):
            in_step()
            j = lo + i
            o[i] = _value(at(x, j), (at(loc, j), at(scale, j), at(a, j), at(b, j)), _constants(at(a, j), at(b, j)))


def many4_cuda(x, loc, scale, a, b, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _value(x[i], (at(loc, i), at(scale, i), at(a, i), at(b, i)), _constants(at(a, i), at(b, i)))


def score_cpu(x, loc, scale, a, b, by_a, by_b, by_loc, by_scale):
    for k in prange((x.size + CHUNK - 1) // CHUNK):
        first, c = np.int64(k) * CHUNK, _constants((a, b))
        for i in range(first, min(first + CHUNK, x.size)):
            by_a[i], by_b[i], by_loc[i], by_scale[i] = _value(x[i], loc, scale, c)


def score_cuda(x, loc, scale, a, b, by_a, by_b, by_loc, by_scale):
    c = _constants((a, b))
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        by_a[i], by_b[i], by_loc[i], by_scale[i] = _value(x[i], loc, scale, c)


def scores_cpu(x, loc, scale, a, b, by_a, by_b, by_loc, by_scale):
    for k in prange((x.size + CHUNK - 1) // CHUNK):
        first = np.int64(k) * CHUNK
        for i in range(first, min(first + CHUNK, x.size)):
            c = _constants((at(a, i), at(b, i)))
            by_a[i], by_b[i], by_loc[i], by_scale[i] = _value(x[i], at(loc, i), at(scale, i), c)


def scores_cuda(x, loc, scale, a, b, by_a, by_b, by_loc, by_scale):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        c = _constants((at(a, i), at(b, i)))
        by_a[i], by_b[i], by_loc[i], by_scale[i] = _value(x[i], at(loc, i), at(scale, i), c)


MANY = {2: (many2_cpu, many2_cuda), 3: (many3_cpu, many3_cuda), 4: (many4_cpu, many4_cuda)}
_F = types.float64


class Points:
    """The kernels of a family: `one` and `many` by the function's name; `score` and `scores` by all parameters.

    Functions, their forms and the logarithm of the density are class attributes: those of counts are others.

    Parameters
    ----------
    name : str
        The family's word, for the kernels' names.
    formulas : str or object
        The module with its formulas, by its name; or what has those of a user's own family as attributes.
    shapes : int
        Number of shape parameters of the standard form.
    cost : dict of str to float, optional
        Nanoseconds for a value on one core, by function; 30 where nothing is given.
    scored : bool
        Whether the parameters of the class are the location, the scale and the shapes of the standard form, so that its score is
        made of the formula's.
    """

    functions, density, forms = FUNCTIONS, "logpdf", FORMS
    log_mass = staticmethod(log_mass)

    def __init__(self, name, formulas, shapes, cost=None, scored=True):
        self.registered = isinstance(formulas, str)
        self.formulas = sys.modules[formulas] if self.registered else formulas
        self.cost = {**dict.fromkeys(self.functions, 30.0), **(cost or {})}
        count = 2 + shapes
        self.one = self._kernels(name, "", lambda T: [(_F[::1], types.UniTuple(_F, count), _F[::1])])
        self.many = self._kernels(name, "_of_arrays", lambda T: [(_F[::1], *[_F[::1]] * count, _F[::1])], *MANY[count])
        self._shapes = shapes
        if scored:
            self.score = self._score(f"{name}_score", score_cpu, score_cuda, _F)
            self.scores = self._score(f"{name}_score_of_arrays", scores_cpu, scores_cuda, _F[::1])

    def _score(self, name, cpu, cuda, kind):
        """A kernel of the score, for parameters of one kind: numbers, whose constants are computed once, or arrays."""
        signatures, options = lambda T: [(_F[::1], *[kind] * 4, *[_F[::1]] * 4)], dict(registered=self.registered)
        made = Kernel(f"distributions.{name}", cpu, cuda, signatures, dtypes=("float64",), late=self._of_score, **options)
        self.own(made)
        return made

    def own(self, kernel):
        """Make a kernel one of the family's."""
        kernel._module = self.formulas.__name__

    def _kernels(self, name, end, signatures, cpu=None, cuda=one_cuda):
        """A kernel for each function."""
        made = {}
        for f in self.functions if self.with_tails else ("pdf", "logpdf"):
            plain = hasattr(self.formulas, f"plain_{f}") and cpu is None
            loop = cpu or self._loop(f)
            late = functools.partial(self._bound, f, plain)
            named = f"distributions.{name}_{f}{end}"
            made[f] = Kernel(named, loop, cuda, signatures, dtypes=("float64",), late=late, registered=self.registered)
            self.own(made[f])
        return made

    def _loop(self, name):
        """The loop over values of one distribution."""
        return one_plain_cpu if hasattr(self.formulas, f"plain_{name}") else one_cpu

    @property
    def begins_at_0(self):
        """Whether the standard form is of positive values, whatever its shapes."""
        return self.formulas.support in (half_line, unit_interval)

    @property
    def with_tails(self):
        """Whether the formulas are more than a density."""
        return hasattr(self.formulas, "cdf") or hasattr(self.formulas, "logcdf")

    @property
    def is_even(self):
        """Whether the standard form has an even density."""
        family = self.formulas
        known = hasattr(family, "sf") or hasattr(family, "logsf")
        return family.support is whole_line and self.with_tails and not known

    def with_shapes(self):
        """The score of the standard form, its derivatives by the shapes, and the constants from all shapes together."""
        family, count = self.formulas, self._shapes
        constants = bind((_constants0, _constants1, _constants2)[count], _constants=family.constants)
        found = dict(_score=family.score, _constants=constants)
        return found | dict(_first=_first_shape if count > 0 else _no_shape, _second=_second_shape if count > 1 else _no_shape)

    def _of_score(self):
        """Scalars of the loop of the score."""
        names = self.with_shapes()
        return {"_value": bind(of_score, _standard=self.log_density(), **names), "_constants": names["_constants"]}

    def _bound(self, name, plain):
        """Scalars of the loops of a function."""
        family = self.formulas
        found = dict(_value=self._function(name, self._formula(name)), _constants=family.constants)
        if plain:
            value = self._function(name, getattr(family, f"plain_{name}"))
            found |= dict(_is_plain=family.is_plain, _plain_value=value)
        return found

    def _function(self, name, formula):
        """A function of all numbers, in units of x, from a formula of the standard form."""
        return bind(self.forms[name][2], _standard=self._everywhere(name, formula))

    def of_value(self):
        """The logarithm of the density at a value of data within the support."""
        return self._formula(self.density)

    def log_density(self):
        """The logarithm of the density of the standard form at all numbers."""
        return self._everywhere(self.density, self._formula(self.density))

    def _everywhere(self, name, formula):
        """A formula of the standard form with its values outside the support."""
        form, values, _units = self.forms[name]
        return bind(form, _f=formula, _support=self.formulas.support, **values)

    def _formula(self, name):
        """The family's formula, or one that is made of its others."""
        family = self.formulas
        if hasattr(family, name):
            return getattr(family, name)
        if not self.with_tails and name != "pdf":
            return unknown
        lower = {"sf": "cdf", "logsf": "logcdf", "isf": "ppf"}.get(name)
        if lower and not hasattr(family, "sf") and not hasattr(family, "logsf"):  # an even density
            return bind(negative if name == "isf" else mirrored, _f=getattr(family, lower))
        if name in ("ppf", "isf"):
            logs = {f"_{f}": self._formula(f) for f in ("logpdf", "logcdf", "logsf")}
            newton = bind(_by_newton, _support=family.support, _start=family.start, **logs)
            return bind(ppf_by_newton if name == "ppf" else isf_by_newton, _quantile=newton)
        if name in ("pdf", "cdf", "sf"):
            return bind(exponential, _f=getattr(family, f"log{name}"))
        tails = ("cdf", "sf") if name == "logcdf" else ("sf", "cdf")
        return bind(log_of_tail, **{f: self._formula(tail) for f, tail in zip(("_f", "_sf"), tails, strict=True)})
