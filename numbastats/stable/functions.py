"""Density, distribution and quantile functions of stable laws for arrays of points."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numba import cuda

from numbastats._core.broadcast import as_host, check_dtype, dtype_of, real64, refuse_mask, result_dtype, total
from numbastats._core.compile import SIMULATED, InThreads
from numbastats._core.dispatch import _numpy_dtype, copied, draw, elementwise, first_array, in_kind_of, to_host
from numbastats._core.errors import choice, names_ours
from numbastats._core.random import Purpose
from numbastats.scalar import stable as law
from numbastats.stable import kernels, table_cache

__all__ = [
    "cdf", "convert", "isf", "logcdf", "loglik", "logpdf", "logsf", "pdf", "pdf_cdf", "ppf", "rvs", "score", "sf",
]  # fmt: skip

_CODES = {"pdf": 0, "logpdf": 1, "cdf": 2, "logcdf": 3, "sf": 4, "logsf": 5}
_NAMES = ("x", "alpha", "beta", "loc", "scale")
_METHODS = ("auto", "table", "quadrature", "fourier", "gauss-kronrod")


@dataclasses.dataclass(frozen=True)
class _Bound:
    """A kernel with its tables as the arguments before the last one; on a GPU it may take a block per item, not a thread."""

    kernel: object
    tables: tuple = ()
    per_block: bool = False

    def _all(self, args):
        return (*args[:-1], *self.tables, args[-1])

    def serial(self, *args):
        self.kernel.serial(*self._all(args))

    @property
    def parallel(self):
        twin = self.kernel.parallel
        if isinstance(twin, InThreads):
            return InThreads(twin.serial, lambda args, parts: twin.split(self._all(args), parts))
        return lambda *args: twin(*self._all(args))

    @property
    def cuda(self):
        return _BoundCuda(self)


@dataclasses.dataclass(frozen=True)
class _BoundCuda:
    bound: _Bound

    def __getitem__(self, configuration):
        if self.bound.per_block and not SIMULATED:  # blocks for as many threads as there are items
            blocks, threads, *rest = configuration
            configuration = blocks * threads, threads, *rest
        kernel = self.bound.kernel.cuda[configuration]
        staged = [cuda.to_device(t) if isinstance(t, np.ndarray) else t for t in self.bound.tables]
        return lambda *args: kernel(*args[:-1], *staged, args[-1])


def _one(value, beside=()):
    """The number, where the argument holds one on the host, or on the device where other values are there too; else None."""
    if hasattr(value, "__cuda_array_interface__"):
        if _size(value) != 1 or not _on_device(beside):  # the result is where the arguments are
            return None
        value = to_host(value, "a parameter")
    refuse_mask(value)
    value = np.asarray(value)
    return float(value.reshape(-1)[0]) if value.size == 1 and value.dtype.kind in "fiub" else None


def _shared(alpha, beta, values, dtype):
    """(alpha, beta) when all points share one law that has a table, else None; and the float type of the result.

    Float32 data take their parameters rounded to float32, as the kernels without a table do.
    """
    x, loc, scale = values
    kinds = [_numpy_dtype(v if hasattr(v, "dtype") else as_host(v)) for v in (x, alpha, beta, loc, scale)]
    dtype = result_dtype(_NAMES, kinds) if dtype is None else check_dtype(dtype)
    a, b = _one(alpha, values), _one(beta, values)
    if a is None or b is None or not (0.1 <= a < 2.0 and -1.0 <= b <= 1.0):
        return None, dtype
    return (float(dtype.type(a)), float(dtype.type(b))), dtype


def _with_axes(x, alpha, beta):
    """The points with as many axes as an alpha and a beta of one element, which a kernel with a table does not see."""
    more = max(np.ndim(alpha), np.ndim(beta)) - np.ndim(x)
    if more <= 0:
        return x
    x = x if hasattr(x, "reshape") else np.asarray(x)
    return x.reshape((1,) * more + tuple(x.shape))


def _origin(table, ab, s1):
    """What leads from the standardised x to the variable of the table: centre as two doubles, and a factor of log scale."""
    a, b = ab
    if a == 1.0:
        return 0.0, 0.0, b * (2.0 / math.pi) if s1 else 0.0
    if table.centred == s1:
        return 0.0, 0.0, 0.0
    high, low = law.zeta(a, b)
    return (high, low, 0.0) if table.centred else (-high, -low, 0.0)


def _table_pays(ab, *values):
    """Whether there are enough points for a table of the law: where the integral has to fill in, making one takes longer."""
    return max(map(_size, values)) >= (400 if ab[0] >= 0.5 else 1500)


def _size(value):
    shape = getattr(value, "shape", None)
    return total(shape) if shape is not None else np.size(value)


def _value(name, x, alpha, beta, loc, scale, param, method, error, options):
    """One function of the points: the common body of pdf, cdf, sf and their logarithms."""
    s1 = choice("param", param, ("S0", "S1")) == "S1"
    choice("method", method, _METHODS)
    code = float(_CODES[name])
    if error:
        return _with_error(name, x, alpha, beta, loc, scale, s1, options)
    ab, dtype = _shared(alpha, beta, (x, loc, scale), options["dtype"]) if method in ("auto", "table") else (None, None)
    ends = ab is not None and abs(ab[1]) == 1.0 and code % 2 == 1  # the logarithm goes on where the table of a light tail ends
    if ends and _on_device((x, loc, scale)):
        ab = None
    elif ends and options["out"] is not None:
        x, loc, scale = map(copied, (x, loc, scale))  # read again after the result is written, which may share their memory
    if method == "table" and ab is None:
        raise ValueError(
            f"method='table' needs one alpha in [0.1, 2) and one beta in [-1, 1] for all points (inside (-1, 1) for logarithms "
            f"of arrays on the device); got alpha={alpha!r}, beta={beta!r}. Use method='auto'"
        )
    if ab is not None and (method == "table" or _table_pays(ab, x, loc, scale)):
        t = table_cache.table(*ab)
        x = _with_axes(x, alpha, beta)
        kernel, rows = kernels.TABLE_OF_LOGS if code in (3, 5) else kernels.TABLE, int(code) // 2
        bound = _Bound(kernel, (*_origin(t, ab, s1), t.info, t.cells, t.panels[rows], t.panels[(0, 2, 1)[rows]]))
        values = elementwise(
            lambda d: bound, ("x", "loc", "scale"), (x, loc, scale), lambda d: (code,), cost=12.0, **{**options, "dtype": dtype}
        )
        return _beyond_the_table(values, name, x, *ab, loc, scale, param, options) if ends else values
    kernel, cost, threads = _KERNELS.get(method, (_point_kernel, 3_000.0, kernels.LANES))
    return elementwise(
        kernel, _NAMES, (x, alpha, beta, loc, scale), lambda d: (code, float(s1)), cost=cost, threads=threads, **options
    )


def _beyond_the_table(values, name, x, alpha, beta, loc, scale, param, options):
    """Point by point what lies beyond the end of a light tail's table; the rest of the values as they are."""
    host = np.array(values, ndmin=1) if isinstance(values, np.generic) else np.asarray(values)
    places = [np.broadcast_to(as_host(v), host.shape) for v in (x, loc, scale)]
    lost = np.isneginf(host) & np.isfinite(places[0])
    if lost.any():
        x, loc, scale = (v[lost] for v in places)
        host[lost] = _value(name, x, alpha, beta, loc, scale, param, "quadrature", False, {**options, "out": None})
    return host[0] if isinstance(values, np.generic) else values


def _point_kernel(dtype):
    return _Bound(kernels.POINTS, (np.empty(0, dtype),) * 5, per_block=True)  # one value per point and no estimates


_KERNELS = {
    "gauss-kronrod": (lambda dtype: kernels.GAUSS_KRONROD, 20_000.0, 256),
    "fourier": (lambda dtype: kernels.FOURIER, 500.0, 256),
}


def _with_error(name, x, alpha, beta, loc, scale, s1, options):
    """(value, error estimate) of pdf, cdf or sf; name None gives all three values, then their errors."""
    if options["out"] is not None:
        raise ValueError("error=True returns several arrays; leave out=None")
    values = [x, alpha, beta, loc, scale]
    if not _on_device(values) and any(_size(v) > 1 for v in values[1:]):  # two variants of the kernel: all arrays or all numbers
        host = [as_host(v) for v in values]
        dtype = options["dtype"] or result_dtype(_NAMES, [dtype_of(v) for v in host])
        shape = np.broadcast_shapes(*map(np.shape, host))
        values[1:] = [np.broadcast_to(np.asarray(v, dtype), shape) for v in host[1:]]
    c, s, pe, ce, se, p = elementwise(
        lambda dtype: _Bound(kernels.POINTS, per_block=True), _NAMES, values, lambda dtype: (-2.0, float(s1)), outputs=6,
        threads=kernels.LANES, cost=3500.0, **{k: v for k, v in options.items() if k != "out"},
    )  # fmt: skip
    results = p, c, s, pe, ce, se
    if name is None:
        return results
    k = _CODES[name] // 2
    return results[k], results[3 + k]


def _on_device(values):
    return any(hasattr(v, "__cuda_array_interface__") for v in values)


def _function(name, what, extra=""):
    """Make one of the six point functions; their documentation differs in a line."""
    with_error = not name.startswith("log")

    def function(
        x, alpha, beta, loc=0.0, scale=1.0, *, param="S0", method="auto", error=False, out=None, dtype=None, device=None,
        workers=None, stream=None,
    ):  # fmt: skip
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        return _value(name, x, alpha, beta, loc, scale, param, method, error, options)

    def logarithm(
        x, alpha, beta, loc=0.0, scale=1.0, *, param="S0", method="auto", out=None, dtype=None, device=None, workers=None,
        stream=None,
    ):  # fmt: skip
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        return _value(name, x, alpha, beta, loc, scale, param, method, False, options)

    made = function if with_error else logarithm
    made.__name__ = made.__qualname__ = name
    made.__module__ = __name__
    made.__doc__ = _DOC.format(
        what=what,
        name=name,
        error=_ERROR_DOC if with_error else "",
        returns=_RETURNS_DOC if with_error else "",
        extra=extra,
        example=_EXAMPLES[name],
    )
    return made


_ERROR_DOC = """    error : bool
        Also return an estimate of the absolute error (from quadrature with Gauss and Kronrod rules).
"""
_RETURNS_DOC = ", or a pair (value, error estimate) with ``error=True``"
_DOC = """{what} of alpha-stable laws.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha : array_like
        Index of stability, 0 < alpha <= 2 (tested from 0.1).
    beta : array_like
        Skewness, -1 <= beta <= 1.
    loc, scale : array_like, optional
        Location and scale (> 0). All five broadcast against each other.
    param : {{"S0", "S1"}}
        Nolan's parameterisation: S0 is continuous in all parameters; S1 is the classical one, which jumps at alpha = 1.
    method : {{"auto", "table", "quadrature", "fourier", "gauss-kronrod"}}
        "table": piecewise polynomials for one (alpha, beta), kept for later calls; "quadrature": every point by itself
        (closed forms, series, the Fourier rule where the values are large, Zolotarev's integral); "fourier": the Fourier rule
        and, beyond its radius, the series at infinity, with absolute accuracy of 4e-14 (pdf) and 6e-15 (cdf, sf) for alpha >=
        0.5, and NaN for alpha < 0.5 or |x| > 8 and alpha within 0.1 of 1; "gauss-kronrod": the second reference's quadrature,
        for comparison. "auto" makes a table for 400 points or more that share alpha and beta (1500 for alpha < 0.5 or within 0.08
        of 1), else it is "quadrature".
{error}    out : array, optional
        Array for the result, of the result's shape and dtype, C-contiguous.
    dtype : {{"float64", "float32"}}, optional
        Float type of input and result; the computation is in double precision.
    device : {{"auto", "cpu", "cuda"}}, optional
    workers : int or executor, optional
        Number of threads, -1 for all cores, or an object with a ``map`` method.
    stream : CUDA stream, optional

    Returns
    -------
    array or scalar
        Of the inputs' kind and broadcast shape{returns}. NaN where a parameter is outside its domain.

    Raises
    ------
    ValueError
        For an unknown option, or "table" without a shared law.
    TypeError
        For inputs that are not real numbers of single or double precision.

    Notes
    -----
    Standard S0 law: characteristic function exp(-|t|^a [1 + i b tan(pi a/2) sgn t (|t|^(1-a) - 1)]); loc + scale Z. On the 856
    reference points with log density above -230 the relative errors are below 6e-14 (pdf, sf) and 3e-14 (cdf) point by point,
    and below 1e-13 by tables, in S0; in S1 near alpha = 1, where x - beta tan(pi alpha/2) loses digits, up to 1.4e-13 (seen at
    alpha = 0.9, |x| near 4). Tables agree with the points to 1e-12 where the density is above 1e-290,
    mostly to 2e-14.{extra}

    References
    ----------
    J. P. Nolan, "Numerical calculation of stable densities and distribution functions", Stochastic Models 13 (1997).
    G. Julian-Moreno et al., "Fast parallel alpha-stable distribution function evaluation and parameter estimation using OpenCL
    in GPGPUs", Statistics and Computing (2016), sections 2-3.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.{name}(1.0, 1.0, 0.0).round(6))
    {example}
    """
_EXAMPLES = {"pdf": 0.159155, "logpdf": -1.837877, "cdf": 0.75, "logcdf": -0.287682, "sf": 0.25, "logsf": -1.386294}

pdf = _function("pdf", "Density")
logpdf = _function("logpdf", "Logarithm of the density", " Finite far below the underflow of the density.")
cdf = _function("cdf", "Distribution function", " The smaller tail keeps its relative accuracy.")
logcdf = _function("logcdf", "Logarithm of the distribution function")
sf = _function("sf", "Survival function", " Never formed as 1 - cdf.")
logsf = _function("logsf", "Logarithm of the survival function")


def pdf_cdf(
    x, alpha, beta, loc=0.0, scale=1.0, *, param="S0", method="auto", error=False, dtype=None, device=None, workers=None,
    stream=None,
):  # fmt: skip
    """Density, distribution function and survival function in one pass.

    Parameters
    ----------
    x, alpha, beta, loc, scale, param, method, dtype, device, workers, stream
        As in `pdf`.
    error : bool
        Also return estimates of the absolute errors.

    Returns
    -------
    tuple of three arrays or scalars
        (pdf, cdf, sf); six with ``error=True``, the last three being the error estimates.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> [round(float(v), 6) for v in ns.stable.pdf_cdf(0.0, 2.0, 0.0)]
    [0.282095, 0.5, 0.5]
    """
    options = dict(out=None, dtype=dtype, device=device, workers=workers, stream=stream)
    s1 = choice("param", param, ("S0", "S1")) == "S1"
    choice("method", method, _METHODS)
    on_device = _on_device((x, alpha, beta, loc, scale))
    ab = _shared(alpha, beta, (x, loc, scale), dtype)[0]
    table = method == "table" or (method == "auto" and ab is not None and _table_pays(ab, x, loc, scale))
    if not error and (on_device or table or method in _KERNELS):
        return tuple(_value(name, x, alpha, beta, loc, scale, param, method, False, options) for name in ("pdf", "cdf", "sf"))
    values = _with_error(None, x, alpha, beta, loc, scale, s1, options)
    return values if error else values[:3]


def _quantile(p, alpha, beta, loc, scale, upper, param, error, options):
    s1 = choice("param", param, ("S0", "S1")) == "S1"
    if error and options["out"] is not None:
        p, alpha, beta, loc, scale = map(copied, (p, alpha, beta, loc, scale))  # the estimate reads them after the result
    ab, dtype = _shared(alpha, beta, (p, loc, scale), options["dtype"])
    if ab is not None:
        t = table_cache.table(*ab)
        p = _with_axes(p, alpha, beta)
        bound = _Bound(kernels.QUANTILE, (*_origin(t, ab, s1), t.info, t.panels[1], t.panels[2]))
        x = elementwise(
            lambda d: bound, ("p", "loc", "scale"), (p, loc, scale), lambda d: (float(upper),), cost=100.0,
            **{**options, "dtype": dtype},
        )  # fmt: skip
        certificate = t.certificate
    else:
        x = elementwise(
            lambda d: _Bound(kernels.NEWTON, per_block=True), ("p", *_NAMES[1:]), (p, alpha, beta, loc, scale),
            lambda d: (float(upper), float(s1)),
            cost=30000.0, threads=kernels.LANES, **options,
        )  # fmt: skip
        certificate = 1e-13
    if not error:
        return x
    density = _value("logpdf", x, alpha, beta, loc, scale, param, "auto", False, {**options, "out": None})
    p, density, size = np.asarray(p), np.asarray(density), np.abs(np.asarray(x))
    tail = np.minimum(p, 1 - p)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        estimate = (certificate + 4e-16) * np.exp(np.log(tail) - density) + 2 * np.finfo(size.dtype).eps * size
    return x, np.where((tail == 0) | np.isinf(size), 0.0, estimate)[()]


def ppf(
    p, alpha, beta, loc=0.0, scale=1.0, *, param="S0", error=False, out=None, dtype=None, device=None, workers=None, stream=None
):
    """Quantile of alpha-stable laws.

    Parameters
    ----------
    p : array_like
        Probabilities in [0, 1], any shape.
    alpha, beta, loc, scale, param, out, dtype, device, workers, stream
        As in `pdf`.
    error : bool
        Also return an estimate of the absolute error.

    Returns
    -------
    array or scalar
        The ends of the support at p = 0 and 1; NaN outside [0, 1]. A pair (value, error estimate) with ``error=True``, the
        estimate a NumPy array.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    One law for all p: the table's polynomial of the smaller tail's logarithm is inverted. Laws that differ: Newton's method on
    that logarithm, within a bracket. Probability error below 1e-12 times the smaller tail on the reference points.

    References
    ----------
    Julian-Moreno et al. (2016), section 3.4, which stops on x instead and fails for quantiles near 0.

    Examples
    --------
    >>> import numbastats as ns
    >>> float(ns.stable.ppf(0.75, 1.0, 0.0).round(6))
    1.0
    """
    options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
    return _quantile(p, alpha, beta, loc, scale, False, param, error, options)


def isf(
    q, alpha, beta, loc=0.0, scale=1.0, *, param="S0", error=False, out=None, dtype=None, device=None, workers=None, stream=None
):
    """Inverse of the survival function of alpha-stable laws, accurate for q down to 1e-300.

    Parameters
    ----------
    q : array_like
        Upper tail probabilities in [0, 1], any shape.
    alpha, beta, loc, scale, param, error, out, dtype, device, workers, stream
        As in `ppf`.

    Returns
    -------
    array or scalar
        As `ppf`.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> f"{ns.stable.isf(1e-200, 1.0, 0.0):.6e}"
    '3.183099e+199'
    """
    options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
    return _quantile(q, alpha, beta, loc, scale, True, param, error, options)


@names_ours
def rvs(
    alpha, beta, loc=0.0, scale=1.0, size=None, *, rng=None, param="S0", dtype=None, out=None, device=None, workers=None,
    stream=None,
):  # fmt: skip
    """Draws from alpha-stable laws.

    Parameters
    ----------
    alpha, beta, loc, scale : array_like of float
        As in `pdf`; they broadcast against each other.
    size : int or tuple of int, optional
        Shape of the result; by default that of the parameters.
    rng : None, int, numpy.random.SeedSequence or numpy.random.Generator
        Source of the key; see `numbastats.random`.
    param : {"S0", "S1"}
    dtype, out, device, workers, stream
        As in `numbastats.random.normal`.

    Returns
    -------
    numpy.ndarray or scalar
        NaN where a parameter is outside its domain. Float32 draws are
        computed in double precision from a stream of their own, and rounded.

    Raises
    ------
    TypeError, ValueError
        For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `dtype`, `out` or `device`.

    Notes
    -----
    Chambers, Mallows and Stuck's transformation of a uniform (52 bits) and an exponential number, written so that it is
    continuous across alpha = 1. The same draws for any number of workers; within rounding on any device.

    References
    ----------
    J. M. Chambers, C. L. Mallows, B. W. Stuck, "A method for simulating stable random variables", JASA 71 (1976).
    R. Weron, "On the Chambers-Mallows-Stuck method for simulating skewed stable random variables" (1996).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.stable.rvs(1.5, 0.5, size=100_000, rng=1)
    >>> bool(abs((x < 0).mean() - ns.stable.cdf(0.0, 1.5, 0.5)) < 0.005)
    True
    """
    choice("param", param, ("S0", "S1"))
    arrays = any(np.size(v) != 1 for v in (alpha, beta, loc, scale))
    return draw(
        kernels.RVS[param, arrays], Purpose.STABLE, _NAMES[1:], (alpha, beta, loc, scale), 4, size, rng, dtype, out, device,
        workers, stream, 15.0,
    )  # fmt: skip


def convert(alpha, beta, loc=0.0, scale=1.0, *, to="S1"):
    """Parameters of the same law in the other parameterisation.

    Parameters
    ----------
    alpha, beta, loc, scale : array_like
        Parameters in the form that is not `to`; they broadcast against each other.
    to : {"S0", "S1"}

    Returns
    -------
    tuple of four arrays or scalars
        (alpha, beta, loc, scale): only loc differs.

    Raises
    ------
    TypeError, ValueError
        For an unknown parametrisation, and for parameters that are no numbers or do not broadcast.

    Notes
    -----
    loc_S1 = loc_S0 - beta tan(pi alpha/2) scale; at alpha = 1 loc_S1 = loc_S0 - beta (2/pi) scale log(scale).

    Examples
    --------
    >>> import numbastats as ns
    >>> [round(float(v), 6) for v in ns.stable.convert(1.5, 0.5, 0.0, 2.0, to="S1")]
    [1.5, 0.5, 1.0, 2.0]
    """
    sign = -1.0 if choice("to", to, ("S0", "S1")) == "S1" else 1.0
    a, b, m, s = np.broadcast_arrays(*map(real64, (alpha, beta, loc, scale)))
    inside = (a > 0) & (a <= 2) & (np.abs(b) <= 1) & (s > 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        t = np.array([0.0 if v == 1.0 or not 0.0 < v <= 2.0 else law.tan_half_pi(v)[0] for v in a.reshape(-1)]).reshape(a.shape)
        shift = np.where(a == 1.0, b * (2.0 / math.pi) * s * np.log(s), b * t * s)
    m = np.where(inside, m + sign * shift, np.nan)
    return tuple(np.array(v)[()] for v in (a, b, m, s))


def score(x, alpha, beta, loc=0.0, scale=1.0, *, param="S0", device=None, workers=None):
    """Derivatives of the log density with respect to alpha, beta, loc and scale.

    Parameters
    ----------
    x : array_like
        Points, any shape.
    alpha, beta, loc, scale, param, device, workers
        As in `pdf`.

    Returns
    -------
    numpy.ndarray
        Of the broadcast shape with a last axis of length 4, in the order of the signature, rounded to float32 where all arrays
        are; of the kind of the arrays where some are on a device. NaN where the density is 0; for alpha = 2 and beta = +-1 the
        derivatives from inside the domain.

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Notes
    -----
    Differences of sixth order of `logpdf` (one-sided at the ends of the domain) in alpha, beta and x; with z = (x - loc)/scale
    the derivatives by loc and scale follow from that by x. For alpha < 0.9 the differences are taken in S1, where the cusp or
    peak at zeta does not move, with steps that go with its width. Absolute errors against 40-digit integrals at alpha = 0.7, 1.2,
    1.5, 1.6, 1.9 and 1.98, |x| <= 6: up to 1e-10 (alpha), 5e-10 (beta, at beta = 0.97), 5e-11 (loc) and 3e-10 (scale); at alpha
    from 0.12 to 0.85 relative errors up to 3e-11, for loc plus 2e-9 over the width of the peak, which is 1e-14 at alpha = 0.1.
    In light tails at alpha = 2 and beta = +-1, and next to them, differences of the density: relative errors up to 1e-11.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.stable.score(1.0, 2.0, 0.0)[2:].round(6)
    array([ 0.5, -0.5])
    """
    choice("param", param, ("S0", "S1"))
    if _on_device((x, alpha, beta, loc, scale)):
        like = first_array((x, alpha, beta, loc, scale))
        x, alpha, beta, loc, scale = map(to_host, (x, alpha, beta, loc, scale), _NAMES)
        return in_kind_of(score(x, alpha, beta, loc, scale, param=param, device=device, workers=workers), like)
    given = [as_host(v) for v in (x, alpha, beta, loc, scale)]
    dtype = result_dtype(_NAMES, [dtype_of(v) for v in given])
    everything = np.broadcast_arrays(*map(real64, given))
    x, a, b, m, s = (np.array(v) for v in everything)  # copies: NumPy 2.0 warns when kernels take the views
    one = all(_one(v) is not None for v in (alpha, beta))
    options = dict(device=device, workers=workers)
    result = np.empty((*x.shape, 4), dtype)
    if not x.size:
        return result
    inside = (a > 0) & (a <= 2) & (np.abs(b) <= 1) & (s > 0) & np.isfinite(x) & np.isfinite(m) & np.isfinite(s)
    cusp = a < CUSP
    result[~inside] = np.nan
    with np.errstate(all="ignore"):
        for some, by in ((inside & cusp, _score_at_cusp), (inside & ~cusp, _score)):
            if some.any():
                result[some] = by(*(v[some] for v in (x, a, b, m, s)), param, one, options)
    result[np.isnan(result[..., 2])] = np.nan  # outside the support
    return result


CUSP = 0.9  # below, zeta is near, and the density has a cusp or a peak there as narrow as `cusp_scale`


def cusp_scale(a, b):
    """Width of the peak at zeta for alpha < 1, by its series: f(zeta) (1 - ... + (x1/width)^4 - ...) if beta = 0."""
    from scipy.special import gammaln

    log_width = 0.25 * (math.log(24.0) + gammaln(1.0 / a) - gammaln(5.0 / a))
    return np.exp(log_width + 0.5 / a * np.log1p((b * np.tan(0.5 * np.pi * a)) ** 2))


def _differences(at, a, b, x, step, along_alpha=4e-3, along_beta=8e-3):
    """Derivatives of at(alpha, beta, x) by alpha, beta and x, with steps of at most the given lengths."""
    far = np.log1p(np.abs(x))  # heavy tails fall with |x|^-alpha
    width = _width(along_alpha * np.minimum(a, 1.0), 2.0 - a)
    by_alpha = _difference(lambda h: at(a + h, b, x) + h * far, width, a, 0.0, 2.0) - far
    by_beta = _difference(lambda h: at(a, b + h, x), _width(along_beta, 1.0 - np.abs(b)), b, -1.0, 1.0)
    return by_alpha, by_beta, _difference(lambda h: at(a, b, x + h), step, x, -np.inf, np.inf)


def _width(length, room):
    """Steps that go with the distance to the end of the domain, as tails do there; next to the end some that lead inward."""
    return np.where(room > 0.1 * length, np.minimum(length, 0.012 * room), 0.25 * length)


def _score(x, a, b, m, s, param, one, options):
    """By differences in S0, in which the law is continuous; then by the chain rule."""
    z = (x - m) / s
    t = -1.0 / np.tan(0.5 * np.pi * (a - 1.0))  # tan(pi a/2), to rounding also next to alpha = 1
    bent = a == 1.0
    turn = (2.0 / np.pi) * np.log(s)  # what t is to S1 at alpha = 1
    z0 = z - b * np.where(bent, turn, t) if param == "S1" else z

    def at(aa, bb, zz):
        return logpdf(zz, *((aa[0], bb[0]) if one else (aa, bb)), **options)

    by_alpha, by_beta, slope = _differences(at, a, b, z0, 4e-3 * local_length(a, b, z0, None))
    if param == "S1":  # z0 moves with alpha and beta; at alpha = 1 and beta other than 0 it jumps
        by_alpha = np.where(b == 0.0, by_alpha, by_alpha - slope * b * np.where(bent, np.nan, 0.5 * np.pi * (1.0 + t * t)))
        by_beta = by_beta - slope * np.where(bent, turn, t)
        z = z + np.where(bent, b * (2.0 / np.pi), 0.0)
    return np.stack([by_alpha, by_beta, -slope / s, -(slope * z + 1.0) / s], axis=-1)


def _score_at_cusp(x, a, b, m, s, param, one, options):
    """By differences in S1, where the cusp stays, with steps that go with the distance to it; then by the chain rule."""
    t = np.tan(0.5 * np.pi * a)
    z = (x - m) / s
    x1 = z + b * t if param == "S0" else z

    def at(aa, bb, xx):
        return logpdf(xx, *((aa[0], bb[0]) if one else (aa, bb)), param="S1", **options)

    by_a, by_b = -b * (0.5 * np.pi) * (1.0 + t * t), -t  # derivatives of zeta, which moves beneath the point
    lengths = 4e-3 * local_length(a, b, z, x1), 4e-3 / (1.0 + np.abs(by_a)), 8e-3 / (1.0 + np.abs(by_b))
    by_alpha, by_beta, slope = _differences(at, a, b, x1, *lengths)
    if param == "S0":
        by_alpha, by_beta = by_alpha - slope * by_a, by_beta - slope * by_b
    return np.stack([by_alpha, by_beta, -slope / s, -(slope * z + 1.0) / s], axis=-1)


def local_length(a, b, z, x1):
    """Length over which the density changes around the standardised z; x1 = z - zeta. All alpha are on one side of `CUSP`."""
    if not np.all(a < CUSP):
        return np.minimum(1.0, a) + 0.2 * np.abs(z)
    peak = np.where(np.abs(b) == 1.0, 0.0, np.minimum(cusp_scale(a, b), a))
    return peak + 0.2 * np.minimum(np.abs(x1), np.abs(z))


_CENTRAL = ((-3, -1 / 60), (-2, 3 / 20), (-1, -3 / 4), (1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
_FORWARD = ((0, -147 / 60), (1, 6.0), (2, -7.5), (3, 20 / 3), (4, -3.75), (5, 1.2), (6, -1 / 6))


def _difference(f, h, value, low, high):
    """Derivative at 0 of f, of sixth order, with steps h that keep value + step within [low, high].

    One-sided ones are of e^f, over e^f: at the end of the domain a light tail and a heavy one add, which is far from linear in f.
    """
    central = (value - 3 * h >= low) & (value + 3 * h <= high)
    result = np.full(np.shape(value), np.nan)
    with np.errstate(all="ignore"):
        if central.any():
            result = np.where(central, sum(w * f(np.where(central, k * h, 0.0)) for k, w in _CENTRAL) / h, result)
        if not central.all():
            inward = np.where(value + 3 * h > high, -h, h)
            logs = np.array([f(np.where(central, 0.0, k * inward)) for k, _ in _FORWARD])
            most = logs.max(axis=0)
            slope = sum(w * np.exp(v - most) for (_, w), v in zip(_FORWARD, logs, strict=True)) / inward
            result = np.where(central, result, slope * np.exp(most - logs[0]))
    return result


def loglik(x, alpha, beta, loc=0.0, scale=1.0, *, param="S0", device=None, workers=None):
    """Log-likelihood: the sum of `logpdf` over all points.

    Parameters
    ----------
    x, alpha, beta, loc, scale, param, device, workers
        As in `pdf`.

    Returns
    -------
    float

    Raises
    ------
    TypeError, ValueError
        As `pdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> round(ns.stable.loglik([0.0, 1.0], 1.0, 0.0), 6)
    -2.982607
    """
    values = logpdf(x, alpha, beta, loc, scale, param=param, device=device, workers=workers)
    return float(np.sum(to_host(values, "x"), dtype=np.float64))
