"""What is measured and on which values: every scalar function with its domain, its exact values and its peers."""

from __future__ import annotations

import csv
import dataclasses
import functools
import math
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import scipy.special
from numba import cuda, njit

from numbastats._core.kernel import REGISTRY, Kernel, build, device_function
from numbastats.scalar import bessel, counts, elementary, incomplete, loops, samplers, special
from numbastats.scalar.bits import in_step
from numbastats.scalar.philox import philox4x32, philox4x32_words

REFERENCE = Path(__file__).parents[2] / "tests" / "reference"

_f = None  # bound by build

# --- inputs -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Range:
    """Where an argument is drawn from: uniform, log-uniform, or whole numbers."""

    low: float
    high: float
    scale: str = "linear"

    def draw(self, rng, n, dtype):
        if self.scale == "whole":
            return rng.integers(int(self.low), int(self.high), n).astype(dtype)
        if self.scale == "log":
            return np.exp(rng.uniform(math.log(self.low), math.log(self.high), n)).astype(dtype)
        return rng.uniform(self.low, self.high, n).astype(dtype)


def uniform(low, high):
    return Range(low, high)


def spread(low, high):
    return Range(low, high, "log")


def probabilities(n, dtype, seed=1):
    """Uniform numbers in (0, 1), never an end."""
    u = np.random.default_rng(seed).random(n).astype(dtype)
    return np.clip(u, np.finfo(dtype).tiny, dtype(1) - np.finfo(dtype).epsneg)


@functools.cache
def normal_reference(dtype_name):
    """Probabilities and exact normal quantiles (decimal strings) of the reference table."""
    law = {"float64": "normal", "float32": "normal_f32"}[dtype_name]
    with open(REFERENCE / "quantile" / "quantile_ref_public.csv", newline="") as f:
        rows = [row for row in csv.DictReader(f) if row["dist"] == law]
    return np.array([float.fromhex(row["input_hex"]) for row in rows]).astype(dtype_name), [row["quantile_dec28"] for row in rows]


def philox_known_answers():
    """Counters (n x 4), keys (n x 2) and words (n x 4) of Philox4x32-10, as uint32 arrays."""
    lines = (REFERENCE / "random" / "philox_kat.txt").read_text().splitlines()
    rows = [line.split("10", 1)[1].replace("|", " ").split() for line in lines if line.startswith("philox4x32 10 ")]
    words = np.array([[int(w, 16) for w in row] for row in rows], np.uint32)
    return words[:, :4].copy(), words[:, 4:6].copy(), words[:, 6:].copy()


# --- loop skeletons that the library does not have ----------------------------------------------------------------


def pair_cpu(x, a, b):
    for i in range(x.size):
        in_step()
        a[i], b[i] = _f(x[i])


def pair_cuda(x, a, b):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        a[i], b[i] = _f(x[i])


def philox_cpu(k0, k1, out):
    """64-bit words w0:w1 of all counters, then w2:w3; the size is a multiple of 4."""
    n, zero, pairs = out.size // 4, np.uint32(0), out.view(np.uint64)
    a, b = pairs[:n], pairs[n : 2 * n]
    for i in range(n):
        in_step()
        a[i], b[i] = philox4x32_words(i, zero, zero, zero, k0, k1)


def philox_cuda(k0, k1, out):
    n, zero = out.size // 4, np.uint32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[2 * i + 1], out[2 * i], out[2 * (n + i) + 1], out[2 * (n + i)] = philox4x32(np.uint32(i), zero, zero, zero, k0, k1)


def known_answer_cuda(counters, keys, out):
    for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = philox4x32(
            counters[i, 0], counters[i, 1], counters[i, 2], counters[i, 3], keys[i, 0], keys[i, 1]
        )


def _word_signature(T):
    u32 = numba.types.uint32
    return [(u32, u32, u32[::1])]


WORDS = Kernel("benchmark.philox_words", philox_cpu, philox_cuda, _word_signature, dtypes=("float64",))  # the dtype plays no part

# --- math.* as peers: plain njit, in the same loop skeleton as ours ------------------------------------------------


@njit
def math_exp(x):
    return math.exp(x)


@njit
def math_expm1(x):
    return math.expm1(x)


@njit
def math_sinh(x):
    return math.sinh(x)


@njit
def math_cosh(x):
    return math.cosh(x)


@njit
def math_tanh(x):
    return math.tanh(x)


@njit
def math_log(x):
    return math.log(x)


@njit
def math_log1p(x):
    return math.log1p(x)


@njit
def math_pow(x, y):
    return math.pow(x, y)


@njit
def math_sin(x):
    return math.sin(x)


@njit
def math_cos(x):
    return math.cos(x)


@njit
def math_sincos(x):
    return math.sin(x), math.cos(x)


@njit
def math_tan(x):
    return math.tan(x)


@njit
def math_atan(x):
    return math.atan(x)


@njit
def math_erf(x):
    return math.erf(x)


@njit
def math_erfc(x):
    return math.erfc(x)


@njit
def math_lgamma(x):
    return math.lgamma(x)


def numpy_sincos(x, out):
    a, b = out
    np.sin(x, out=a)
    np.cos(x, out=b)


# --- every scalar function -----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Function:
    """A scalar function, where it is measured and against what.

    Attributes
    ----------
    kernel : Kernel
        The function in a map skeleton, CPU and CUDA.
    skeleton, cuda_skeleton : function
        The loops of that kernel, for the peers.
    ranges : dict of dtype name to tuple of Range
        One per argument.
    exact : callable or None
        The same function of mpmath numbers: ``exact(mpmath, *arguments)``, one number or a pair.
    loop : njit function or None
        The ``math.*`` counterpart.
    ufunc : callable or None
        NumPy's or SciPy's counterpart, called with ``out=``.
    absolute : bool
        The error counts in ulp of 1, not of the result.
    """

    kernel: Kernel
    skeleton: Callable
    cuda_skeleton: Callable
    ranges: dict
    exact: Callable | None
    loop: Callable | None
    ufunc: Callable | None
    absolute: bool

    @property
    def outputs(self):
        return 2 if self.skeleton is pair_cpu else 1

    def arrays(self, n, dtype, seed=1):
        """Inputs and output arrays for n values."""
        rng = np.random.default_rng(seed)
        inputs = tuple(r.draw(rng, n, dtype) for r in self.ranges[np.dtype(dtype).name])
        return inputs, tuple(np.empty(n, dtype) for _ in range(self.outputs))

    def peers(self, inputs, outputs):
        """Callables that compute the same with the peers, by name."""
        found = {}
        if self.loop is not None:
            loop = math_loop(self)
            found["math loop"] = lambda: loop(*inputs, *outputs)
        if self.ufunc is not None:
            out = outputs[0] if self.outputs == 1 else outputs
            found["NumPy" if self.kernel.name.startswith("elementary.") else "SciPy"] = lambda: self.ufunc(*inputs, out=out)
        return found


def math_loop(function):
    """The `math.*` counterpart in the loop skeleton of ours, serial."""
    return build(function.skeleton, "serial", _f=function.loop)


FUNCTIONS: dict[str, Function] = {}
"""Every scalar function by kernel name, "elementary.exp"."""

_SKELETONS = {(1, 1): (loops.map1_cpu, loops.map1_cuda), (2, 1): (loops.map2_cpu, loops.map2_cuda), (1, 2): (pair_cpu, pair_cuda)}


def _add(module, name, range64, range32, exact, loop=None, ufunc=None, *, pair=False, absolute=False):
    ranges = {"float64": range64, "float32": range32}
    ranges = {dtype: r if isinstance(r, tuple) else (r,) for dtype, r in ranges.items()}
    arguments, outputs = len(ranges["float64"]), 2 if pair else 1
    cpu, gpu = _SKELETONS[arguments, outputs]
    topic = module.__name__.rpartition(".")[2]
    kernel = Kernel(f"{topic}.{name}", cpu, gpu, lambda T: [(T[::1],) * (arguments + outputs)], _f=getattr(module, name))
    FUNCTIONS[kernel.name] = Function(kernel, cpu, gpu, ranges, exact, loop, ufunc, absolute)


BUILDING_BLOCKS = {"log_scaled_sum64"}  # of one dtype and of use in one formula only: measured through that

_mantissa = spread(1e-3, 1e3)
_scaled = (_mantissa, Range(-60, 60, "whole"))
_base = spread(0.05, 20.0)
_100 = uniform(-100.0, 100.0)
for _arguments in (
    ("exp", uniform(-700.0, 700.0), uniform(-86.0, 88.0), lambda mp, x: mp.exp(x), math_exp, np.exp),
    ("exp_neg", uniform(-700.0, 0.0), uniform(-86.0, 0.0), lambda mp, x: mp.exp(x), math_exp, np.exp),
    ("expm1", uniform(-5.0, 40.0), uniform(-5.0, 20.0), lambda mp, x: mp.expm1(x), math_expm1, np.expm1),
    ("sinh", uniform(-40.0, 40.0), uniform(-40.0, 40.0), lambda mp, x: mp.sinh(x), math_sinh, np.sinh),
    ("cosh", uniform(-40.0, 40.0), uniform(-40.0, 40.0), lambda mp, x: mp.cosh(x), math_cosh, np.cosh),
    ("tanh", uniform(-5.0, 5.0), uniform(-5.0, 5.0), lambda mp, x: mp.tanh(x), math_tanh, np.tanh),
    ("log", spread(1e-300, 1e300), spread(1e-37, 1e37), lambda mp, x: mp.log(x), math_log, np.log),
    ("log1p", uniform(-0.99, 10.0), uniform(-0.99, 10.0), lambda mp, x: mp.log1p(x), math_log1p, np.log1p),
    ("log1p_product", (_base, uniform(-0.009, 0.09)), (_base, uniform(-0.009, 0.09)), lambda mp, a, b: mp.log1p(a * b)),
    ("log_scaled", _scaled, _scaled, lambda mp, y, shift: mp.log(y) + shift * mp.log(2)),
    ("pow", (_base, uniform(-30.0, 30.0)), (_base, uniform(-20.0, 20.0)), lambda mp, x, y: mp.power(x, y), math_pow, np.power),
    ("sin", _100, _100, lambda mp, x: mp.sin(x), math_sin, np.sin),
    ("cos", _100, _100, lambda mp, x: mp.cos(x), math_cos, np.cos),
    ("tan", _100, _100, lambda mp, x: mp.tan(x), math_tan, np.tan),
    ("sinpi", _100, _100, lambda mp, x: mp.sinpi(x)),
    ("cospi", _100, _100, lambda mp, x: mp.cospi(x)),
    ("atan", uniform(-20.0, 20.0), uniform(-20.0, 20.0), lambda mp, x: mp.atan(x), math_atan, np.arctan),
    ("recip", spread(1e-30, 1e30), spread(1e-30, 1e30), lambda mp, x: 1 / x, None, np.reciprocal),
    ("rsqrt", spread(1e-300, 1e300), spread(1e-37, 1e37), lambda mp, x: 1 / mp.sqrt(x)),
):
    _add(elementary, *_arguments)
_add(elementary, "cos_abs", _100, _100, lambda mp, x: mp.cos(x), math_cos, np.cos, absolute=True)
_add(elementary, "sincos", _100, _100, lambda mp, x: (mp.sin(x), mp.cos(x)), math_sincos, numpy_sincos, pair=True)
_add(elementary, "sincospi", _100, _100, lambda mp, x: (mp.sinpi(x), mp.cospi(x)), pair=True)
_add(elementary, "log_dd", _mantissa, _mantissa, None, pair=True)  # its second half is an error term: judged in the tests

_z64, _z32 = uniform(-8.0, 8.0), uniform(-8.0, 8.0)


def _log_ndtr_exact(mp, x):
    return mp.log(mp.ncdf(x))


def _mills_exact(mp, t):
    return mp.ncdf(-t) / mp.npdf(t)


for _arguments in (
    ("erf", uniform(-4.0, 4.0), uniform(-3.0, 3.0), lambda mp, x: mp.erf(x), math_erf, scipy.special.erf),
    ("erfc", uniform(-4.0, 26.0), uniform(-3.0, 9.0), lambda mp, x: mp.erfc(x), math_erfc, scipy.special.erfc),
    ("erfcx", uniform(-5.0, 50.0), uniform(-3.0, 50.0), lambda mp, x: mp.exp(x * x) * mp.erfc(x), None, scipy.special.erfcx),
    ("gammaln", spread(1e-3, 1e6), spread(1e-3, 1e6), lambda mp, x: mp.loggamma(x), math_lgamma, scipy.special.gammaln),
    ("gamma_half_ratio", spread(1e-3, 1e6), spread(1e-3, 1e6), lambda mp, x: mp.gammaprod([x], [x + mp.mpf(1) / 2])),
    ("ndtr", _z64, _z32, lambda mp, x: mp.ncdf(x), None, scipy.special.ndtr),
    ("log_ndtr", _z64, _z32, _log_ndtr_exact, None, scipy.special.log_ndtr),
    ("mills", uniform(-5.0, 50.0), uniform(-5.0, 50.0), _mills_exact),
    ("mills_right", uniform(0.0, 50.0), uniform(0.0, 50.0), _mills_exact),
    ("hazard", _z64, _z32, lambda mp, t: mp.npdf(t) / mp.ncdf(-t)),
):
    _add(special, *_arguments)
_add(special, "digamma", spread(1e-3, 1e6), spread(1e-3, 1e6), lambda mp, x: mp.digamma(x), None, scipy.special.digamma)
_add(special, "gammaln1p", uniform(0.0, 0.5), uniform(0.0, 0.5), lambda mp, x: mp.loggamma(1 + x))
_add(special, "stirling_rest", spread(8.0, 1e6), spread(8.0, 1e6), None)
_ratio, _scaled_order = spread(1e-3, 80.0), spread(1e-3, 1e5)
for _name, _range, _exact, _peer in (
    ("i0", _ratio, lambda mp, x: mp.besseli(0, x), scipy.special.i0),
    ("i1", _ratio, lambda mp, x: mp.besseli(1, x), scipy.special.i1),
    ("i0e", _scaled_order, lambda mp, x: mp.besseli(0, x) * mp.exp(-x), scipy.special.i0e),
    ("i1e", _scaled_order, lambda mp, x: mp.besseli(1, x) * mp.exp(-x), scipy.special.i1e),
    ("k0", _ratio, lambda mp, x: mp.besselk(0, x), scipy.special.k0),
    ("k1", _ratio, lambda mp, x: mp.besselk(1, x), scipy.special.k1),
    ("k0e", _scaled_order, lambda mp, x: mp.besselk(0, x) * mp.exp(x), scipy.special.k0e),
    ("k1e", _scaled_order, lambda mp, x: mp.besselk(1, x) * mp.exp(x), scipy.special.k1e),
    ("exp1", _ratio, lambda mp, x: mp.e1(x), scipy.special.exp1),
    ("expi", _ratio, lambda mp, x: mp.ei(x), scipy.special.expi),
):
    _add(bessel, _name, _range, _range, _exact, None, _peer)
_shape, _chance = spread(0.1, 1e3), uniform(0.01, 0.99)
for _name, _second, _exact, _peer in (
    ("gammainc", spread(0.1, 1e3), lambda mp, a, x: mp.gammainc(a, 0, x, regularized=True), scipy.special.gammainc),
    ("gammaincc", spread(0.1, 1e3), None, scipy.special.gammaincc),
    ("gammaincinv", _chance, None, scipy.special.gammaincinv),
    ("gammainccinv", _chance, None, scipy.special.gammainccinv),
):
    _add(incomplete, _name, (_shape, _second), (_shape, _second), _exact, None, _peer)
_add(special, "ndtr_pair", _z64, _z32, lambda mp, x: (mp.ncdf(x), mp.ncdf(-x)), pair=True)
_add(special, "log_ndtr_ratio", _z64, _z32, lambda mp, x: (_log_ndtr_exact(mp, x), mp.npdf(x) / mp.ncdf(x)), pair=True)


def largest_error(name, dtype_name, n=300, run=None):
    """Largest error of a scalar function on random points of its range, in ulp of the exact result (or of 1).

    `run(kernel, inputs, outputs)` fills the outputs; by default the serial CPU twin does.
    """
    import mpmath

    from numbastats.testing import ulp_error

    function, dtype = FUNCTIONS[name], np.dtype(dtype_name).type
    inputs, outputs = function.arrays(n, dtype, seed=2)
    if run is None:
        function.kernel.serial(*inputs, *outputs)
    else:
        run(function.kernel, inputs, outputs)
    with mpmath.workdps(60):
        exact = [function.exact(mpmath, *map(mpmath.mpf, map(float, point))) for point in zip(*inputs, strict=True)]
        if function.absolute:
            unit = float(np.finfo(dtype).epsneg)
            return max(float(abs(mpmath.mpf(float(g)) - e)) / unit for g, e in zip(outputs[0], exact, strict=True))
        parts = [exact] if function.outputs == 1 else list(zip(*exact, strict=True))
        return max(float(ulp_error(got, part).max()) for got, part in zip(outputs, parts, strict=True))


def random_kernel(law, dtype_name):
    """The kernel behind a function of `numbastats.random`; a law may have one for both float types."""
    import numbastats.random  # noqa: F401  (registers the kernels)

    return next(k for name, k in REGISTRY.items() if name.startswith(f"random.{law}") and dtype_name in k.dtypes)


_draw = None  # bound by build


def counts_cpu(out, k0, k1, stream, a, b):
    for i in range(out.size):
        out[i] = _draw(k0, k1, i, stream, a, b)


@device_function
def _poisson(k0, k1, item, stream, mean, unused):
    return counts.poisson1(k0, k1, item, stream, mean)


SCALAR_DRAWS = {  # by distribution: scalar draw, parameters, mean and standard deviation
    "poisson 3": (_poisson, (3.0, 0.0), 3.0, 3.0**0.5),
    "poisson 100": (_poisson, (100.0, 0.0), 100.0, 10.0),
    "binomial 10": (counts.binomial1, (10.0, 0.3), 3.0, 2.1**0.5),
    "binomial 1000": (counts.binomial1, (1000.0, 0.3), 300.0, 210.0**0.5),
    "beta": (samplers.beta1, (2.0, 3.0), 0.4, 0.2),
}


def scalar_draws(name, n):
    """n draws by a loop of the user's own, as a function without arguments."""
    loop, out = build(counts_cpu, "serial", _draw=SCALAR_DRAWS[name][0]), np.empty(n)

    def fill():
        loop(out, np.uint32(1), np.uint32(2), np.uint32(128 << 24), *SCALAR_DRAWS[name][1])
        return out

    return fill


def random_arguments(kernel, out, parameters):
    """Arguments of a random kernel for draws into `out`: key words, stream, first group, parameters, output."""
    dtype = out.dtype.type
    _, signature = kernel.numba_signatures()[0]
    key = (np.uint32(1), np.uint32(2), np.uint32(0), np.int64(0))
    unused = len(signature) - len(key) - len(parameters) - 1
    return (*key, *map(dtype, parameters), *[dtype(0.0)] * unused, out)


def ndtri_arguments(u, out):
    """Arguments of a normal-quantile kernel: values, location, scale, sign, value at the edges, output."""
    T = u.dtype.type
    return u, T(0.0), T(1.0), T(1.0), T(np.inf), out


LAWS = {
    "uniform": (0.0, 1.0),
    "normal": (0.0, 1.0),
    "exponential": (1.0,),
    "gamma": (2.5, 1.0),
    "truncnorm": (0.0, 1.0, -1.0, 2.0),
    "beta": (2.0, 3.5),
    "wald": (1.0, 2.0),
    "polya_gamma": (1.0, 2.0),
    "weibull": (1.5,),
    "pareto": (3.0,),
    "standard_t": (4.5,),
    "chisquare": (3.0,),
    "laplace": (0.0, 1.0),
    "logistic": (0.0, 1.0),
    "gumbel": (0.0, 1.0),
}
"""Random laws with the parameters they are measured at."""

COUNTS = {"poisson": (100.0,), "binomial": (1000, 0.3), "negative_binomial": (2.5, 0.3), "geometric": (0.3,)}
"""The same of counts."""
