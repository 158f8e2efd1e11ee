"""Points and quantiles: by the table of one distribution where all points share it and there are enough, else one by one."""

from __future__ import annotations

import functools
import math

import numpy as np

from numbastats._core.broadcast import as_host, dtype_of, result_dtype, total
from numbastats._core.checks import FLOAT32, FLOAT64, check_dtype, refuse_mask
from numbastats._core.elementwise import elementwise
from numbastats._core.inputs import NUMBERS, any_lazy, apply
from numbastats._core.kernel import InThreads
from numbastats._core.kinds import copied, has_labels, in_kind_of, numpy_dtype, to_host
from numbastats.scalar import stable as dist
from numbastats.stable import kernels, table_cache
from numbastats.stable.arguments import ARGUMENTS, refuse_estimate, refuse_out, refuse_table
from numbastats.stable.kernels.fits import ENOUGH
from numbastats.stable.kernels.points import split_points
from numbastats.stable.parameterisations import Form

_CODES = {"pdf": 0, "logpdf": 1, "cdf": 2, "logcdf": 3, "sf": 4, "logsf": 5}


class OnHost:
    """POINTS on the host: the closed form of one distribution that has one, else series, then integrals where these give nothing.

    A GPU runs POINTS.
    """

    compile = None  # its loops are compiled by themselves
    serial = property(lambda self: self)
    parallel = functools.cached_property(lambda self: InThreads(self, split_points))
    cuda = property(lambda self: kernels.POINTS.cuda)

    def __call__(self, x, alpha, beta, *rest):
        """Write the values, to the last argument."""
        found = rest[-1]
        if not isinstance(alpha, np.ndarray) and dist.has_closed_form.py_func(alpha, beta):
            kernels.CLOSED.serial(x, alpha, beta, *rest)
            return
        kernels.SERIES.serial(x, alpha, beta, *rest)
        left = np.isnan(found)
        if left.any():
            args = [v[left] if isinstance(v, np.ndarray) and v.size else v for v in (x, alpha, beta, *rest)]
            kernels.INTEGRAL.serial(*args)
            found[left] = args[-1]


_NONE = {d: np.empty(0, d) for d in (FLOAT64, FLOAT32)}
_ON_HOST = OnHost()
_PLAIN = NUMBERS | {np.ndarray}  # types of values that need no care


def on_device(values):
    """Whether an array among the values is on a device."""
    return any(hasattr(v, "__cuda_array_interface__") for v in values)


def _size(value):
    shape = getattr(value, "shape", None)
    return total(shape) if shape is not None else np.size(value)


def one_number(value, beside=()):
    """The number, where the argument holds one on the host, or on the device where other values are there too; else None."""
    if type(value) is float:
        return value
    if hasattr(value, "__cuda_array_interface__"):
        if _size(value) != 1 or not on_device(beside):  # the result is where the arguments are
            return None
        value = to_host(value, "a parameter")
    refuse_mask(value)
    value = np.asarray(value)
    return float(value.reshape(-1)[0]) if value.size == 1 and value.dtype.kind in "fiub" else None


def one_distribution(alpha, beta, values, dtype):
    """(alpha, beta) when all points share one distribution that has a table, else None; and the float type of the result.

    Float32 data take their parameters rounded to float32, as the kernels without a table do.
    """
    x, loc, scale = values
    kinds = [numpy_dtype(v if hasattr(v, "dtype") else as_host(v)) for v in (x, alpha, beta, loc, scale)]
    dtype = result_dtype(ARGUMENTS, kinds) if dtype is None else check_dtype(dtype)
    a, b = one_number(alpha, values), one_number(beta, values)
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


def _origin(table, ab, form):
    """What leads from the standardised x to the variable of the table: centre as two doubles, and a factor of log scale."""
    a, b = ab
    if a == 1.0:
        return 0.0, 0.0, b * (2.0 / math.pi) if form is Form.S1 else 0.0
    if table.form is form:
        return 0.0, 0.0, 0.0
    high, low = dist.zeta(a, b)
    return (high, low, 0.0) if table.form is Form.S1 else (-high, -low, 0.0)


def table_pays(*values):
    """Whether there are enough points for a table of the distribution."""
    return max(map(_size, values)) >= ENOUGH


def _few(values):
    """Whether all are numbers or arrays of NumPy, of too few points for a table."""
    return _PLAIN.issuperset(map(type, values)) and max([v.size if type(v) is np.ndarray else 1 for v in values]) < ENOUGH


_LOOPS = {"gauss-kronrod": (kernels.GAUSS_KRONROD, 20_000.0), "fourier": (kernels.FOURIER, 500.0)}


def point_values(name, x, alpha, beta, loc, scale, form, method, error, options):
    """One function of the points: the common body of pdf, cdf, sf and their logarithms."""
    code, values = _CODES[name], (x, alpha, beta, loc, scale)
    if method == "auto" and not error and _few(values):  # nothing of what follows
        return _by_points(code + form * kernels.S1, values, options)
    if any_lazy(values):
        return _point_blocks(name, values, form, method, error, options)
    if any(map(has_labels, values)):
        return apply(functools.partial(_point_values, name, form, method, error), ARGUMENTS, values, options)
    if error and method == "gauss-kronrod":
        return _by_both_rules(code + form * kernels.S1, values, options)
    if error:
        return values_with_errors(name, x, alpha, beta, loc, scale, form, method, options)
    ab, dtype = one_distribution(alpha, beta, (x, loc, scale), options["dtype"]) if method in ("auto", "table") else (None, None)
    ends = ab is not None and abs(ab[1]) == 1.0 and code % 2 == 1  # the logarithm goes on where the table of a light tail ends
    if ends and on_device((x, loc, scale)):
        ab = None
    if method == "table" and ab is None:
        refuse_table(alpha, beta)
    if ab is None or not (method == "table" or table_pays(x, loc, scale)):
        want = code + form * kernels.S1
        if method not in _LOOPS:
            return _by_points(want, values, options)
        kernel, cost = _LOOPS[method]
        return elementwise(kernel, ARGUMENTS, values, lambda d: (want,), cost=cost, **options)
    if ends and options["out"] is not None:
        x, loc, scale = map(copied, (x, loc, scale))  # read again after the result is written, which may share their memory
    t = table_cache.table(*ab)
    x = _with_axes(x, alpha, beta)
    kernel, rows = kernels.TABLE_OF_LOGS if code in (3, 5) else kernels.TABLE, code // 2
    tables = (*_origin(t, ab, form), t.info, t.cells, t.panels[rows], t.panels[(0, 2, 1)[rows]])
    values = elementwise(
        kernel, ("x", "loc", "scale"), (x, loc, scale), lambda d: (code,), extras=tables, cost=12.0, **{**options, "dtype": dtype}
    )
    if not ends:
        return values
    again = lambda x, loc, scale: point_values(  # noqa: E731
        name, x, *ab, loc, scale, form, "quadrature", False, {**options, "out": None}
    )
    return _completed(values, (x, loc, scale), lambda values, x: np.isneginf(values) & np.isfinite(x), again)


def _point_blocks(name, values, form, method, error, options):
    """`point_values` of dask's arrays; the size of the whole, not that of a block, says whether there is a table."""
    if error:
        raise TypeError("error=True gives several results, which a dask array does not take; pass x.compute()")
    x, alpha, beta, loc, scale = values
    if method == "auto" and not any_lazy((alpha, beta)):
        ab, _ = one_distribution(alpha, beta, (np.empty(0), np.empty(0), np.empty(0)), np.float64)
        method = "table" if ab is not None and table_pays_for_all(x, loc, scale) else "quadrature"
    return apply(functools.partial(_point_values, name, form, method, False), ARGUMENTS, values, options)


def table_pays_for_all(*values):
    """`table_pays` of dask's arrays, whose blocks then all do the same; where lengths are unknown, they count as long."""
    return any(math.isnan(_size(v)) for v in values) or table_pays(*values)


def _point_values(name, form, method, error, *values, **options):
    """`point_values` of plain arrays; a module's function, so that processes can be sent it."""
    return point_values(name, *values, form, method, error, options)


def _by_points(want, values, options):
    """Every point by itself."""
    return elementwise(
        _ON_HOST,
        ARGUMENTS,
        values,
        lambda d: (want,),
        extras=lambda d: (_NONE[d],) * 5,  # one value and no estimates
        cost=3_000.0,
        threads=kernels.LANES,
        **options,
    )


def _completed(values, arguments, left, again):
    """The values, with those that are left computed again; numbers stay numbers, as arrays they would be another signature."""
    host = np.array(values, ndmin=1) if isinstance(values, np.generic) else np.asarray(values)
    x, *others = (np.asarray(as_host(v)) for v in arguments)
    x = np.broadcast_to(x, host.shape)
    lost = left(host, x)
    if lost.any():
        whole = host if host.flags.writeable else host.copy()  # the memory of a series may not be written to
        whole[lost] = again(x[lost], *(np.broadcast_to(v, host.shape)[lost] if v.ndim else v[()] for v in others))
        if whole is not host:
            return in_kind_of(whole, values)
    return host[0] if isinstance(values, np.generic) else values


def _by_both_rules(want, values, options):
    """(value, |G - K|): by Kronrod's rule, and how far the value by Gauss's rule on the same subintervals is from it."""
    refuse_out(options["out"])
    kernel, cost = _LOOPS["gauss-kronrod"]
    kronrod, gauss = (
        elementwise(kernel, ARGUMENTS, values, lambda d, code=code: (code,), cost=cost, **options)
        for code in (want, want + kernels.LOWER)
    )
    return kronrod, abs(gauss - kronrod)


def values_with_errors(name, x, alpha, beta, loc, scale, form, method, options):
    """(value, error estimate) of pdf, cdf or sf; name None gives all three values, then their errors."""
    refuse_out(options["out"])
    if method not in ("auto", "quadrature"):
        refuse_estimate(method)
    values = [x, alpha, beta, loc, scale]
    if not on_device(values) and any(_size(v) > 1 for v in values[1:]):  # two variants of the kernel: all arrays or all numbers
        host = [as_host(v) for v in values]
        dtype = options["dtype"] or result_dtype(ARGUMENTS, [dtype_of(v) for v in host])
        shape = np.broadcast_shapes(*map(np.shape, host))
        values[1:] = [np.broadcast_to(np.asarray(v, dtype), shape) for v in host[1:]]
    c, s, pe, ce, se, p = elementwise(
        kernels.POINTS,
        ARGUMENTS,
        values,
        lambda dtype: (kernels.THREE + form * kernels.S1,),
        outputs=6,
        threads=kernels.LANES,
        cost=3500.0,
        **{k: v for k, v in options.items() if k != "out"},
    )
    results = p, c, s, pe, ce, se
    if name is None:
        return results
    k = _CODES[name] // 2
    return results[k], results[3 + k]


def three_values(x, alpha, beta, loc, scale, form, method, error, options):
    """(pdf, cdf, sf) of the points, with their errors if `error`."""
    if any(map(has_labels, values := (x, alpha, beta, loc, scale))):
        return apply(lambda *v, **given: three_values(*v, form, method, error, given), ARGUMENTS, values, options)
    ab = one_distribution(alpha, beta, (x, loc, scale), options["dtype"])[0]
    table = method == "table" or (method == "auto" and ab is not None and table_pays(x, loc, scale))
    if not error and (on_device((x, alpha, beta, loc, scale)) or table or method in _LOOPS or any_lazy((x, loc, scale))):
        names = ("pdf", "cdf", "sf")
        return tuple(point_values(name, x, alpha, beta, loc, scale, form, method, False, options) for name in names)
    if error and method == "gauss-kronrod":
        pairs = [point_values(name, x, alpha, beta, loc, scale, form, method, True, options) for name in ("pdf", "cdf", "sf")]
        return tuple(v for v, _ in pairs) + tuple(e for _, e in pairs)
    values = values_with_errors(None, x, alpha, beta, loc, scale, form, method, options)
    return values if error else values[:3]


def log_density(x, alpha, beta, *, form=Form.S0, many=None, device=None, workers=None):
    """The logarithm of the standard density, as `numbastats.stable.logpdf` gives it.

    `many` says, for a block, whether the whole has points enough for a table; None looks at the points given.
    """
    method = "auto"
    if many is not None:
        tabled = many and one_distribution(alpha, beta, (x, 0.0, 1.0), None)[0] is not None
        method = "table" if tabled else "quadrature"
    options = dict(out=None, dtype=None, device=device, workers=workers, stream=None)
    return point_values("logpdf", x, alpha, beta, 0.0, 1.0, form, method, False, options)


def quantiles(p, alpha, beta, loc, scale, upper, form, error, options):
    """The common body of ppf and, if `upper`, isf."""
    if any(map(has_labels, values := (p, alpha, beta, loc, scale))):
        names = ("p", *ARGUMENTS[1:])
        return apply(lambda *v, **given: quantiles(*v, upper, form, error, given), names, values, options)
    if error and options["out"] is not None:
        p, alpha, beta, loc, scale = map(copied, (p, alpha, beta, loc, scale))  # the estimate reads them after the result
    ab, dtype = one_distribution(alpha, beta, (p, loc, scale), options["dtype"])
    if ab is not None:
        t = table_cache.table(*ab)
        p = _with_axes(p, alpha, beta)
        tables = (*_origin(t, ab, form), t.info, t.panels[1], t.panels[2])
        x = elementwise(
            kernels.QUANTILE,
            ("p", "loc", "scale"),
            (p, loc, scale),
            lambda d: (float(upper),),
            extras=tables,
            cost=100.0,
            **{**options, "dtype": dtype},
        )
        certificate = t.certificate
    else:
        x = elementwise(
            kernels.NEWTON,
            ("p", *ARGUMENTS[1:]),
            (p, alpha, beta, loc, scale),
            lambda d: (float(upper), float(form)),
            cost=30000.0,
            threads=kernels.LANES,
            **options,
        )
        certificate = 1e-13
    if not error:
        return x
    density = point_values("logpdf", x, alpha, beta, loc, scale, form, "auto", False, {**options, "out": None})
    p, density, size = np.asarray(p), np.asarray(density), np.abs(np.asarray(x))
    tail = np.minimum(p, 1 - p)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        estimate = (certificate + 4e-16) * np.exp(np.log(tail) - density) + 2 * np.finfo(size.dtype).eps * size
    return x, np.where((tail == 0) | np.isinf(size), 0.0, estimate)[()]
