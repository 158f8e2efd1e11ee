"""Kernel densities as functions: on grids, in slabs, at points, and as sums that can be distributed."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from numbastats._core.broadcast import check_dtype, check_out
from numbastats._core.dispatch import _torch_to_numpy, choose_device, deliver, in_kind_of, launch
from numbastats._core.errors import choice, names_ours
from numbastats.kde import bandwidth as rules
from numbastats.kde import kernels as K
from numbastats.kde import sorting
from numbastats.kde.engine import LONG_ROW, POINT_METHODS, Estimate, allocate
from numbastats.kde.kernels import geometry as G
from numbastats.kde.problem import (
    Grid,
    Model,
    _kernel_matrix,
    as_samples,
    check_form,
    check_weights,
    collect,
    make_grid,
    make_model,
    parse_axes,
    quantise,
    transposed,
)
from numbastats.kde.slabs import in_slabs

__all__ = ["combine", "finalize", "grid", "grid_slabs", "partial", "perkins", "plan", "points", "regular_axes"]

MATRIX_OPTIONS = {  # what `make_model` takes
    "weights", "kernel", "h", "H", "sigma", "bandwidth", "bw_convention", "tail", "nan_policy", "dtype", "workers", "form",
}  # fmt: skip


def estimate(samples, weights, options):
    """Model and boundary from the keywords that all functions share."""
    extra = {k: options.pop(k, None) for k in ("boundary", "adaptive")}
    if options.get("dtype") is not None:
        options["dtype"] = check_dtype(options["dtype"])
    workers = options.get("workers")
    return Estimate(make_model(samples, weights, **options), **extra, workers=workers)


def hand_over(result, out, kind, like):
    """A host result in `out`, or as the caller's kind of array."""
    if out is None or kind is not None:
        return deliver(in_kind_of(result, like), out, result.dtype)
    host = _torch_to_numpy(out, "out")
    check_out(host, result.shape, result.dtype)
    host[...] = result
    return out


@names_ours
def grid(samples, axes, *, weights=None, kernel="epanechnikov", h=None, H=None, sigma="cov", bandwidth="eq9",
         bw_convention="support", method="auto", boundary=None, adaptive=None, derivative=None, tail=1e-10, nan_policy="raise",
         out=None, dtype=None, device=None, workers=None, form="radial"):  # fmt: skip
    """Kernel density on a regular grid in 1 to 4 dimensions.

    The bandwidth first: the kernel matrix is ``H = h^2 Sigma``, and a bounded kernel is non-zero exactly where
    ``(x - x_i)' H^-1 (x - x_i) < 1``. So h is the *radius of the support* in units of Sigma^(1/2), not a standard deviation; for
    the Gaussian H is its covariance. ``bw_convention`` translates other habits.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    axes : sequence of d arrays or tuples (lo, hi, m)
        Regular increasing positions, float32 ones to their own precision; one array for d = 1.
    weights : (n,) array_like, optional
        Finite, >= 0, of any scale. The effective number (sum w)^2 / sum w^2 replaces n in the bandwidth rules.
    kernel : {"epanechnikov", "uniform", "biweight", "triweight", "triangular", "cosine", "gaussian"}
        Functions of the distance in H; "cosine" for d = 1. "normal" is another name of "gaussian".
    h : float, optional
        Scalar bandwidth; by default from the rule `bandwidth`.
    H : (d, d) array_like, optional
        The whole kernel matrix; excludes `h` and `sigma`.
    sigma : {"cov", "diag", "identity"}, (d, d) matrix or (d,) standard deviations
        What h^2 multiplies.
    bandwidth : {"eq9", "scott", "silverman", "isj", "plugin", "lscv"}
        Rule when h is None, see `numbastats.kde.bandwidth`.
    bw_convention : {"support", "std", "scipy", "sklearn"}
        What `h` means: the radius of the support; the standard deviation of the kernel along one axis (KDEpy); a factor of the
        data's covariance, Gaussian (SciPy); the radius of the support in the data's units, sigma="identity" (scikit-learn).
    method : {"auto", "rows", "rows-a", "rows-b", "rows-c", "cells", "skde-row", "skde", "skde-atomic", "skde-crop", "ep"}
        "auto" takes difference rows for the power kernels and direct sums over exact row intervals ("skde-row") for the others,
        and where the integers of the rows might cost 1e-12 of the peak: adaptive scales with weights lambda^-(d + 2p) that differ
        too much within half an octave of lambda, supports below half a step.
        A method of rows named here raises ValueError where it might cost more than about 1e-9 of the peak.
        Where a plane grid has 4.5 samples or more per position it takes "cells" for the Epanechnikov kernel: moments
        of the samples nearest to a position where the support holds them all, single samples in its ring.
        "skde" is the bounding box of the reference, rows owned by threads, "skde-atomic" the same with atomic additions (not the
        same bits twice), "skde-crop" its chop-and-crop for d >= 3, "ep" brute force. On a GPU all of "skde*" but "skde-row" add
        atomically.
    boundary : dict, optional
        ``{axis: (kind, lo, hi)}`` with kind "reflect", "periodic" or "renorm" (one axis; divides by the kernel's mass inside).
    adaptive : ("abramson", alpha) or (n,) array_like, optional
        Scales lambda per sample, ``H_i = lambda_i^2 H``; Abramson's from a pilot of the fixed bandwidth and the same `boundary`.
    derivative : int, optional
        Axis along which to differentiate; Epanechnikov, biweight, triweight. Epanechnikov derivatives jump at the support's edge.
    tail : float
        Mass cut from the Gaussian, which is renormalised. 0 leaves it whole and needs ``method="ep"``.
    nan_policy : {"raise", "omit"}
        "omit" drops samples that are not finite, and those whose weight is NaN.
    out : array, optional
        For the result; a `numpy.memmap` works. It may overlap the inputs.
    dtype : {"float64", "float32"}, optional
        By default float32 for float32 samples. Sums are always in 64-bit integers or floats.
    device : {"auto", "cpu", "cuda"}, optional
    workers : int, optional
        Number of threads, -1 for all cores.
    form : {"radial", "product"}
        The kernel as a function of the distance, or the product of one-dimensional kernels along the axes, for diagonal H; both
        by difference rows for the power kernels.

    Returns
    -------
    array
        Shape (len(axis 0), ..., len(axis d-1)), of the samples' kind.

    Raises
    ------
    ValueError
        For invalid input: NaN samples, a singular covariance, irregular axes, negative weights ...
    MemoryError
        With the size of the grid, and `grid_slabs` as the way out.

    Notes
    -----
    Error at most 1e-12 of the peak (seen: 4e-14 on 58 reference cases), exact 0 outside the support. For a fixed kernel matrix
    the methods "rows-b", "rows-c" and "cells" each give the same bits for any order of the samples, any number of workers, and
    slabs. Time is O(n rows + cells), rows being those of the sample's support.

    Host memory beside the result: 2.5 n doubles for rows, 4 with weights, 3 for "cells" (measured at n = 10^6); a second copy of
    the result where the longest half box is not along the last axis, and for float32. float32 samples are summed like float64 and
    rounded once. Samples are sorted on the host, device arrays too: on a GPU only the sums run.

    References
    ----------
    U. Lopez-Novoa, J. Saenz, A. Mendiburu, J. Miguel-Alonso, "An efficient implementation of kernel density estimation for
    multi-core and many-core architectures", IJHPCA 29 (2015) 331-347.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.random.normal(size=(1000, 2), rng=1)
    >>> f = ns.kde.grid(x, [(-6, 6, 61), (-6, 6, 61)])
    >>> f.shape, round(float(f.sum() * 0.2**2), 3)
    ((61, 61), 1.0)
    """
    options = dict(kernel=kernel, h=h, H=H, sigma=sigma, bandwidth=bandwidth, bw_convention=bw_convention, tail=tail,
                   nan_policy=nan_policy, dtype=dtype, workers=workers, boundary=boundary, adaptive=adaptive,
                   form=form)  # fmt: skip
    e = estimate(samples, weights, options)
    return grid_of(e, axes, method, derivative, out, device, samples)


def grid_of(e, axes, method, derivative, out, device, like):
    """The body of `grid` for an estimate that exists."""
    axes = parse_axes(axes, e.model.d, len(e.model.x))
    e._method(method, derivative)
    shape = tuple(int(m) for m in axes[2])
    kind = e.model.kind
    where = choose_device(device, on_device=kind is not None)
    host = _torch_to_numpy(out, "out") if kind is None else None
    if host is not None:
        check_out(host, shape, e.model.dtype)
    inputs = (e.model.x, e.model.weights, e.model.scale)
    apart = host is not None and not any(v is not None and np.may_share_memory(v, host) for v in inputs)
    result = host if apart else allocate(shape, e.model.dtype)  # samples and weights are read until the end
    e.grid(axes, method, derivative=derivative, device=where, out=result)
    return out if apart else hand_over(result, out, kind, like)


def grid_slabs(samples, axes, *, slab_rows=None, out=None, callback=None, **options):
    """Kernel density on a grid that need not fit into memory, slab by slab along axis 0.

    Parameters
    ----------
    samples, axes
        As in `grid`.
    slab_rows : int, optional
        Positions of axis 0 per slab; about 64 MiB by default.
    out : array, optional
        Filled instead of yielding, for example a `numpy.memmap`; returned.
    callback : callable, optional
        Called as ``callback(slice, array)`` instead of yielding; returning True stops.
    **options
        Keywords of `grid` except `out`.

    Returns
    -------
    generator or array
        Of (slice of axis 0, array), or `out`. Together the same bits as `grid` with rows along the same axis.
        Slabs that meet nothing but the edges of supports are summed twice: the first pass finds their peak.

    Raises
    ------
    TypeError, ValueError
        As `grid`, at the call and not with the first slab; for keywords that `grid` does not know.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.random.normal(size=(1000, 2), rng=1)
    >>> axes = [(-6, 6, 61), (-6, 6, 61)]
    >>> parts = [f for _, f in ns.kde.grid_slabs(x, axes, slab_rows=20)]
    >>> bool(np.array_equal(np.concatenate(parts), ns.kde.grid(x, axes)))
    True
    """
    method, derivative, device = options.pop("method", "auto"), options.pop("derivative", None), options.pop("device", None)
    unknown = set(options) - {*MATRIX_OPTIONS, "boundary", "adaptive"}
    if unknown:
        raise TypeError(f"grid_slabs got unknown keywords {sorted(unknown)}; it takes those of kde.grid")
    e = estimate(samples, options.pop("weights", None), options)
    parsed = parse_axes(axes, e.model.d, len(e.model.x))
    e._method(method, derivative)
    shape = tuple(int(m) for m in parsed[2])
    if slab_rows is None:
        slab_rows = max(1, (64 << 20) // (8 * math.prod(shape[1:])))
    if not hasattr(slab_rows, "__index__") or slab_rows < 1:
        raise ValueError(f"slab_rows={slab_rows!r}; use an integer >= 1")
    where = choose_device(device)
    host = _torch_to_numpy(out, "out")
    if out is not None:
        check_out(host, shape, np.dtype(e.model.dtype))

    def generate():
        for first, last, block in e.slabs(parsed, method, rows=int(slab_rows), derivative=derivative, device=where):
            yield slice(first, last), np.ascontiguousarray(block, e.model.dtype)

    if out is None and callback is None:
        return generate()
    for where_, block in generate():
        if out is not None:
            host[where_] = block
        if callback is not None and callback(where_, block):
            break
    return out


@names_ours
def points(samples, points, *, weights=None, kernel="epanechnikov", h=None, H=None, sigma="cov", bandwidth="eq9",
           bw_convention="support", method="auto", boundary=None, adaptive=None, tail=1e-10, nan_policy="raise", log=False,
           out=None, dtype=None, device=None, workers=None, form="radial"):  # fmt: skip
    """Kernel density at listed points, any number of dimensions.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    points : (p, d) array_like, or (p,) or a number for d = 1
        NaN gives NaN for that point.
    method : {"auto", "cells", "ep"}
        "cells" visits cells of samples near a point, and takes a cell that lies wholly inside the support by its stored moments
        (Epanechnikov and uniform kernels, d <= 3); "ep" is brute force.
    log : bool
        Return the logarithm, -inf where the density is 0; that of the Gaussian with ``tail=0`` and
        no boundary is finite everywhere.
    out : array, optional
        Shape (p,), or () for a number.
    weights, kernel, h, H, sigma, bandwidth, bw_convention, boundary, adaptive, tail, nan_policy, dtype, device, workers, form
        As in `grid`.

    Returns
    -------
    array or scalar
        Shape (p,), of the samples' kind; a scalar for a number.

    Raises
    ------
    ValueError
        As `grid`, for points of another number of columns, and for "cells" with a kernel without bounds.

    Notes
    -----
    Error at most 1e-14 of the peak. The cell list is built anew in every call; `KDE` keeps it.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.random.normal(size=(1000, 2), rng=1)
    >>> bool(0.1 < ns.kde.points(x, [[0.0, 0.0]])[0] < 1 / (2 * np.pi))
    True
    """
    options = dict(kernel=kernel, h=h, H=H, sigma=sigma, bandwidth=bandwidth, bw_convention=bw_convention, tail=tail,
                   nan_policy=nan_policy, dtype=dtype, workers=workers, boundary=boundary, adaptive=adaptive,
                   form=form)  # fmt: skip
    return points_of(estimate(samples, weights, options), points, method, log, out, device, samples)


def points_of(e, points, method, log, out, device, like):
    """The body of `points` for an estimate that exists."""
    choice("method", method, POINT_METHODS)
    d, tail = e.model.d, e.model.tail
    if not hasattr(points, "shape"):
        points = np.asarray(points, np.float64)
    number = d == 1 and len(points.shape) == 0
    points = points.reshape(1) if number else points
    if len(points.shape) == 1 and d > 1 and points.shape[0] == d:
        raise ValueError(f"points have shape {points.shape}; one point is [[...]], shape (1, {d})")
    where = as_samples(points, "points", allow_vector=d == 1)[0]
    if where.shape[1] != d:
        raise ValueError(
            f"points have {where.shape[1]} columns, the samples {d} (X has {where.shape[1]} features, but KDE is expecting {d} "
            f"features as input); pass shape (p, {d}){transposed(len(e.model.x), d)}"
        )
    if e.model.kernel == "gaussian" and tail == 0:
        if method == "cells":
            raise ValueError("the Gaussian with tail=0 has no bounded support; use method='ep', or a tail such as 1e-10")
        method = "ep"
    kind = e.model.kind
    on = choose_device(device, on_device=kind is not None)
    e.method_used = "ep" if method == "ep" else "cells"
    result = e.points(where, method=e.method_used, device=on)
    if log:
        density = result
        with np.errstate(divide="ignore"):
            result = np.log(density)
        if e.model.kernel == "gaussian" and tail == 0 and not e.boundary:
            weights, scale = (1.0 if v is None else v for v in (e.model.weights, e.model.scale))
            top = e.model.constant * float(np.max(weights * scale ** -float(d)))  # of one sample: the rest may underflow
            far = (density < 1e-290 * max(top, 1.0)) & np.isfinite(where).all(axis=1)
            if far.any():
                result[far] = e.far_logs(where[far])
    result = result.astype(e.model.dtype, copy=False).reshape(() if number else len(where))
    result = hand_over(result, out, kind, like)
    return result[()] if number and out is None and isinstance(result, np.ndarray) else result


def regular_axes(samples, shape=None, step=None, pad=1.0, **options):
    """Regular axes that hold the samples and a margin in half boxes of the kernel.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    shape : int or sequence of int, optional
        Positions per axis; 100 by default.
    step : float or sequence of float, optional
        Distance of the positions instead.
    pad : float
        Margin in half boxes: with 1 the density is 0 at the border.
    **options
        `weights` and bandwidth options of `grid`; not `boundary`, whose ends the axes may cross.

    Returns
    -------
    tuple of arrays
        One axis per dimension.

    Raises
    ------
    ValueError
        As `grid`, for both `shape` and `step`, and for numbers of positions below 2.
    TypeError
        For other keywords.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> axes = ns.kde.regular_axes(np.array([[0.0, 0.0], [1.0, 3.0]]), shape=5, h=0.5, sigma="identity")
    >>> axes[0]
    array([-0.5,  0. ,  0.5,  1. ,  1.5])
    """
    unknown = set(options) - MATRIX_OPTIONS
    if unknown:
        raise TypeError(f"regular_axes got unknown keywords {sorted(unknown)}; beside its own it takes {sorted(MATRIX_OPTIONS)}")
    m = make_model(samples, options.pop("weights", None), **options)
    if not 0 <= pad < math.inf:
        raise ValueError(f"pad={pad!r}; the margin must be finite and >= 0")
    half = pad * np.sqrt(np.diag(m.support))
    low, high = m.low - half, m.high + half
    if shape is not None and step is not None:
        raise ValueError("shape and step were both given; pass one of the two")
    if step is not None:
        steps = _per_axis("step", np.asarray(step, float), m.d)
        if not (np.isfinite(steps).all() and (steps > 0).all()):
            raise ValueError(f"step={step!r}; steps must be finite and > 0")
        counts = np.ceil((high - low) / steps) + 1
        if not (counts < 2.0**53).all():
            raise ValueError(f"step={step!r} gives an axis of {counts.max():.3g} positions; use a longer step")
        counts = counts.astype(int)
        return tuple(lo + s * np.arange(c) for lo, s, c in zip(low, steps, counts, strict=True))
    counts = _per_axis("shape", np.asarray(100 if shape is None else shape), m.d)
    if counts.dtype.kind not in "iu" or (counts < 2).any():
        raise ValueError(f"shape={shape!r}; use integers, at least 2 positions per axis")
    return tuple(np.linspace(lo, hi, c) for lo, hi, c in zip(low, high, counts, strict=True))


def _per_axis(name, value, d):
    if value.shape not in ((), (1,), (d,)):
        raise ValueError(f"{name} has shape {value.shape}; give one number, or one per axis, shape ({d},)")
    return np.broadcast_to(value, (d,))


def perkins(f, g):
    """Perkins similarity score of two densities on the same grid.

    Parameters
    ----------
    f, g : array_like
        Same shape, >= 0.

    Returns
    -------
    float
        Sum of min(f / sum f, g / sum g), between 0 and 1; NaN if a sum is 0.

    Raises
    ------
    ValueError
        For different shapes.

    References
    ----------
    S. E. Perkins et al., "Evaluation of the AR4 climate models' simulated daily ...", Journal of Climate 20 (2007).

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.kde.perkins([1.0, 1.0], [1.0, 3.0])
    0.75
    """
    f, g = np.asarray(f, float), np.asarray(g, float)
    if f.shape != g.shape:
        raise ValueError(f"the densities have shapes {f.shape} and {g.shape}; evaluate both on the same grid")
    f, g = (np.ldexp(v, -np.frexp(v.max(initial=0.0))[1]) for v in (f, g))  # sums must not overflow
    a, b = f.sum(), g.sum()
    if not (a > 0 and b > 0):
        return math.nan
    return float(np.minimum(f / a, g / b).sum())


# --- the associative form ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Summary:
    """What the first pass learns of a share of the samples; add with `combine`. Equal to itself alone."""

    n: int
    W: float
    W2: float
    mean: np.ndarray
    M2: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weighted: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """Kernel matrix, grid and quantum that all shares must have in common. Equal to itself alone."""

    model: Model
    grid: Grid
    weighted: bool

    @property
    def H(self):
        """Kernel matrix."""
        return self.model.H

    @property
    def error_bound(self):
        """A-priori absolute error of the density."""
        return self.grid.bound


def check_plan(plan):
    """Raise unless it is a Plan."""
    if not isinstance(plan, Plan):
        raise TypeError(f"plan is a {type(plan).__name__}; pass the Plan that kde.plan(summary, axes) makes")


def summarise(samples, weights=None):
    """First pass over a share of the samples, for `plan`.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    weights : (n,) array_like, optional

    Returns
    -------
    Summary
    """
    x = as_samples(samples)[0]
    w = check_weights(weights, len(x))
    if not np.isfinite(x).all() or (w is not None and not ((w == 0) | ((w > 1e-100) & (w < 1e100))).all()):
        raise ValueError("samples must be finite, and weights 0 or between 1e-100 and 1e100; multiply all weights by one number")
    d = x.shape[1]
    if not len(x) or (w is not None and not w.any()):  # nothing that a density would show
        far = np.full(d, np.inf)
        return Summary(len(x), 0.0, 0.0, np.zeros(d), np.zeros((d, d)), far, -far, w is not None)
    m = sorting.moments(x, w)
    return Summary(len(x), m["W"], m["W2"], m["mean"], m["M2"], m["low"], m["high"], w is not None)


def plan(summary, axes, *, kernel="epanechnikov", h=None, H=None, sigma="cov", weighted=None, form="radial"):
    """Fix kernel matrix, grid and quantum for a distributed density.

    Parameters
    ----------
    summary : (n, d) array_like or Summary
        All samples, or the combined summaries of their shares (`partial` without a plan).
    axes
        As in `grid`.
    kernel : {"epanechnikov", "uniform", "biweight", "triweight"}
    h, H, sigma
        As in `grid`; h by default from equation (9).
    weighted : bool, optional
        Whether the shares come with weights; by default whether those of the summary did, and no other than that.
    form : {"radial", "product"}

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        As `grid`, for a summary without samples of positive weight, and for a `weighted` that contradicts it.

    Notes
    -----
    The bound on the weight that one grid point can see is the total weight, so the quantum is a few bits coarser than in `grid`.
    States of twice the summary's total weight and more overflow: the summary has to be of all shares.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.random.normal(size=(1000, 2), rng=1)
    >>> shares = np.split(x, 4)
    >>> summary = ns.kde.combine(*[ns.kde.partial(s) for s in shares])
    >>> p = ns.kde.plan(summary, [(-4, 4, 41), (-4, 4, 51)])
    >>> f = ns.kde.finalize(ns.kde.combine(*[ns.kde.partial(s, p) for s in shares]), p)
    >>> f.shape
    (41, 51)
    """
    kernel = rules.kernel_name(kernel, tuple(rules.POWERS))
    choice("form", form, ("radial", "product"))
    s = summary if isinstance(summary, Summary) else summarise(summary)
    d = len(s.mean)
    if weighted is not None and bool(weighted) != s.weighted and isinstance(summary, Summary):
        raise ValueError(f"weighted={weighted}, but the summary is of samples {'with' if s.weighted else 'without'} weights")
    weighted = s.weighted if weighted is None else bool(weighted)
    if not s.W > 0:
        raise ValueError("there are no samples of positive weight; pass at least one")
    moments = dict(W=s.W, W2=s.W2, mean=s.mean, M2=s.M2, low=s.low, high=s.high)
    n_eff = s.W**2 / s.W2
    stand_in = np.broadcast_to(np.zeros(d), (s.n, d))  # only its shape is used
    matrix, factor, spread = _kernel_matrix(
        stand_in, np.ones(1) if weighted else None, moments, n_eff, kernel, h, H, sigma, "eq9", "support", form
    )
    product = check_form(form, d, matrix)
    m = Model(np.empty((0, d)), None, kernel, matrix, factor, spread, 0.0, s.W, n_eff, s.low, s.high, np.dtype(np.float64), None,
              product=product)  # fmt: skip
    g = make_grid(m, parse_axes(axes, d))
    g.ints[G.BOUNDS] = product
    short = not weighted and not product and kernel == "epanechnikov" and g.chord <= LONG_ROW
    quantise(m, g, "c" if short else "b", m.power, s.W, float(s.n), weighted or product)
    return Plan(m, g, weighted)


def partial(samples, plan=None, *, weights=None, device=None, workers=None):
    """State of a share of the samples: a summary, or with a plan the integers that `combine` adds.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    plan : Plan, optional
        Without one, the first pass: a `Summary` for `plan`.
    weights : (n,) array_like, optional
    device : {"auto", "cpu", "cuda"}, optional
    workers : int, optional

    Returns
    -------
    Summary or (rows, cells) int64 array
        8 bytes per cell for unweighted Epanechnikov kernels, 8 (2p + 1) otherwise.

    Raises
    ------
    ValueError
        For samples that do not fit the plan, that are not finite, and for weights with a plan without or the reverse.
    TypeError
        For a plan that is no `Plan`.

    Examples
    --------
    See `plan`.
    """
    if plan is None:
        return summarise(samples, weights)
    check_plan(plan)
    x, w = as_samples(samples)[0], None
    w = check_weights(weights, len(x))
    m, g = plan.model, plan.grid
    if x.shape[1] != m.d:
        raise ValueError(f"the samples have {x.shape[1]} columns, the plan {m.d}")
    if len(x) and plan.weighted != (w is not None):
        raise ValueError(
            "the plan is for samples with weights; pass weights=" if plan.weighted else
            "the plan is for samples without weights; make it of summaries with weights, or with weighted=True"
        )  # fmt: skip
    if not np.isfinite(x).all() or (w is not None and not (np.isfinite(w) & (w >= 0)).all()):
        raise ValueError("samples must be finite, and weights finite and >= 0")
    model = dataclasses.replace(m, x=x, weights=w, low=x.min(0), high=x.max(0)) if len(x) else m
    g = dataclasses.replace(g, geo=g.geo.copy(), ints=g.ints.copy())
    if not len(x):
        return np.zeros((g.lines, g.state_size(m.power)), np.int64)
    lists = collect(model, g, np.ones(1), np.ones(1) if w is None else w, workers)
    lists["w"] = np.rint(lists["w"] * g.q)
    e = Estimate(model, workers=workers)
    return e.accumulate(g, lists, g.ints, g.lines, choose_device(device))


def combine(*states):
    """Add states of `partial`, in any order and grouping.

    Parameters
    ----------
    *states : Summary or int64 arrays, or one iterable of them

    Returns
    -------
    Summary or int64 array
        Sums of integers are exact: associative and commutative to the bit.

    Raises
    ------
    ValueError
        For nothing, summaries with and without weights or of other columns, and states of several plans.
    TypeError
        For summaries among grid states.

    Examples
    --------
    See `plan`.
    """
    if len(states) == 1 and not isinstance(states[0], (Summary, np.ndarray)):
        states = tuple(states[0])
    if not states:
        raise ValueError("nothing to combine; pass at least one state")
    total = states[0]
    for s in states[1:]:
        if isinstance(total, Summary) != isinstance(s, Summary):
            raise TypeError("summaries and grid states cannot be combined with each other")
        if isinstance(total, Summary):
            if min(total.n, s.n) > 0 and total.weighted != s.weighted:
                raise ValueError("one summary is of samples with weights, another without; pass weights to all")
            if len(total.mean) != len(s.mean):
                raise ValueError(f"summaries of samples with {len(total.mean)} and {len(s.mean)} columns cannot be combined")
            delta, weight = s.mean - total.mean, total.W + s.W
            share = s.W / weight if weight > 0 else 0.0
            total = Summary(
                total.n + s.n, weight, total.W2 + s.W2, total.mean + delta * share,
                total.M2 + s.M2 + np.outer(delta, delta) * (total.W * share),
                np.minimum(total.low, s.low), np.maximum(total.high, s.high), total.weighted or s.weighted,
            )  # fmt: skip
        else:
            if not all(isinstance(v, np.ndarray) and v.dtype == np.int64 and v.shape == s.shape for v in (s, total)):
                raise ValueError("grid states must be the int64 arrays that kde.partial gives for one plan")
            total = total + s
    return total


def finalize(state, plan, *, total_weight=None, device=None, workers=None):
    """Density of a combined state.

    Parameters
    ----------
    state : int64 array
    plan : Plan
    total_weight : float, optional
        By default that of the plan's summary.
    device, workers
        As in `grid`.

    Returns
    -------
    array
        In the shape of the axes.

    Raises
    ------
    ValueError
        For a state that is not of this plan, and for a total weight that is not positive.
    TypeError
        For a plan that is no `Plan`.

    Examples
    --------
    See `plan`.
    """
    check_plan(plan)
    g = plan.grid
    natural = [int(g.length[a]) for a in g.order]
    wanted = (g.lines, g.state_size(plan.model.power))
    if not isinstance(state, np.ndarray) or state.shape != wanted or state.dtype != np.int64:
        raise ValueError(f"state must be the int64 array of shape {wanted} that kde.partial gives for this plan")
    out = allocate(natural, np.float64)
    geo = g.geo.copy()
    if total_weight is not None:
        if not 0 < total_weight < math.inf:
            raise ValueError(f"total_weight={total_weight!r}; it must be finite and > 0")
        geo[G.SCALE] *= plan.model.total / float(total_weight)
    kernel = K.FINISH["c" if g.variant == "c" else plan.model.power]
    rows, on, cost = out.reshape(-1, natural[-1]), choose_device(device), 2.0 * wanted[1]

    def slab(a, b):
        launch(kernel, (geo, g.ints, state[a:b], rows[a:b]), g.lines, device=on, workers=workers, cost=cost, threads=64)

    in_slabs(slab, g.lines, 2 * cost if on == "cpu" else 0, workers)
    return np.ascontiguousarray(np.moveaxis(out, -1, g.order[-1]))
