"""The caller's arguments, checked: samples, weights, axes, the kernel matrix, boundaries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from numbastats._core.checks import choice
from numbastats._core.data import NanPolicy, check_policy, doubles, floats
from numbastats._core.kinds import device_kind, rows_alike
from numbastats._core.options import Device
from numbastats._core.parallel import is_executor, threads_beside, worker_count
from numbastats.kde import bandwidth as rules
from numbastats.kde.bandwidth import Form
from numbastats.kde.model import Model
from numbastats.kde.moments import moments
from numbastats.kde.records import RECORDS, ROWS, KernelName, kernel_of, names_of
from numbastats.kde.resident import moments_there, resident

GridMethod = Literal["auto", "rows", "rows-b", "rows-c", "cells", "skde", "skde-atomic", "skde-crop", "skde-row", "ep"]
PointMethod = Literal["auto", "cells", "ep"]
Rule = Literal["eq9", "scott", "silverman", "isj", "plugin", "lscv", "likelihood-cv", "plugin-matrix", "scv"]
Convention = Literal["support", "std", "scipy", "sklearn"]
Axes: TypeAlias = Sequence[ArrayLike] | ArrayLike
BoundaryKind = Literal["reflect", "periodic", "renorm", "linear", "jones-foster"]
Boundary: TypeAlias = Mapping[int, tuple[BoundaryKind, float | None, float | None]]
Adaptive: TypeAlias = Literal["abramson"] | tuple[Literal["abramson"], float] | ArrayLike

GRID_METHODS, POINT_METHODS = get_args(GridMethod), get_args(PointMethod)
PRODUCT_METHODS = ("auto", "rows", "rows-b", "skde-row", "skde", "skde-atomic", "ep")
SLOPE_METHODS = ("auto", "rows", "rows-b", "skde-row")
SIGMAS = ("cov", "diag", "identity")
CONVENTIONS = get_args(Convention)
MOMENTS_SUFFICE = ("eq9", "scott", "silverman")  # rules that do not look at single samples


# --- arguments -----------------------------------------------------------------------------------------------------------


def as_samples(samples, name="samples", allow_vector=True):
    """Host copy (n, d) in float64, the dtype that decides the result, and the kind of device array or None."""
    kind = device_kind(samples)
    host = floats(samples, name, flags=False)
    dtype = host.dtype
    if host.ndim == 1 and allow_vector:
        host = host[:, None]
    if host.ndim == 2 and host.shape[1] == 0:
        raise ValueError(f"{name} have 0 feature(s) (shape={host.shape}) while a minimum of 1 is required; pass an array (n, d)")
    if host.ndim != 2:
        raise ValueError(f"{name} have shape {np.shape(samples)}; pass an array (n, d), or (n,) for d = 1")
    return np.ascontiguousarray(host, np.float64), dtype, kind


def transposed(n, d):
    """Words for an error message where samples (n, d) look transposed; else an empty string."""
    return f". The samples have shape ({n}, {d}), and samples are (n, d); transpose?" if d > n else ""


def parse_axes(axes, d, n=math.inf):
    """Origin, step and length per axis from arrays or (lo, hi, m) tuples, for n samples."""
    if not hasattr(axes, "__iter__"):
        raise ValueError(f"axes={axes!r}; pass one array or tuple (lo, hi, m) per column of the samples")
    if d == 1 and np.ndim(next(iter(axes), ())) == 0:
        axes = (axes,)
    axes = tuple(axes)
    if len(axes) != d:
        hint = transposed(n, d)
        raise ValueError(f"{len(axes)} axes for samples of {d} dimensions; give one axis per column of the samples{hint}")
    if d > 4:
        raise ValueError(f"d = {d}: grids have at most 4 dimensions; use kde.points for more{transposed(n, d)}")
    origin, step, length = np.empty(d), np.empty(d), np.empty(d, np.int64)
    for i, axis in enumerate(axes):
        if isinstance(axis, tuple) and len(axis) == 3:
            lo, hi, m = float(axis[0]), float(axis[1]), axis[2]
            if not hasattr(m, "__index__") or m < 1:
                raise ValueError(f"axis {i} is (lo, hi, m) = {axis!r}; m must be an integer >= 1")
            m = int(m)
            if not (math.isfinite(lo) and math.isfinite(hi)) or (lo >= hi if m > 1 else lo != hi):
                raise ValueError(f"axis {i} is (lo, hi, m) = {axis!r}; it needs finite lo < hi, or lo = hi for m = 1")
            if not math.isfinite(hi - lo):
                raise ValueError(f"axis {i} is (lo, hi, m) = {axis!r}, longer than the largest float; rescale the samples")
            origin[i], step[i], length[i] = lo, (hi - lo) / (m - 1) if m > 1 else 1.0, m
            continue
        given = np.asarray(axis)
        a = np.asarray(given, np.float64)
        if a.ndim != 1 or a.size == 0:
            raise ValueError(f"axis {i} has shape {a.shape}; pass a 1-d array of grid positions or a tuple (lo, hi, m)")
        if not np.isfinite(a).all():
            raise ValueError(f"axis {i} contains NaN or inf; grid positions must be finite")
        origin[i], length[i] = a[0], a.size
        step[i] = (a[-1] - a[0]) / (a.size - 1) if a.size > 1 else 1.0
        if a.size > 1:
            spacing = np.diff(a)
            if not spacing.min() > 0:
                raise ValueError(f"axis {i} is not increasing; sort it, or evaluate with kde.points")
            slack = 4 * float(np.spacing(np.abs(given if given.dtype == np.float32 else a).max()))
            if spacing.max() - spacing.min() > 1e-9 * abs(step[i]) + slack:
                raise ValueError(
                    f"axis {i} is irregular: its steps differ by {(spacing.max() - spacing.min()) / step[i]:.1e} of a step, 1e-9 "
                    "is allowed; use numpy.linspace, or evaluate with kde.points"
                )
    return origin, step, length


# --- kernel matrix --------------------------------------------------------------------------------------------------------


def check_weights(weights, n, d=1):
    """Weights of n samples in d dimensions as float64, or None."""
    if weights is None:
        return None
    w = doubles(weights, "weights")
    w = w[:, 0] if w.ndim == 2 and w.shape[1] == 1 else w
    if w.shape != (n,):
        raise ValueError(f"weights have shape {w.shape}; pass one weight per sample, shape ({n},){transposed(n, d)}")
    return np.require(w, requirements="CW")


class MatrixOptions(NamedTuple):
    """Arguments that determine the kernel matrix, with the names of `kde.grid`."""

    kernel: KernelName = "epanechnikov"
    h: float | None = None
    H: ArrayLike | None = None
    sigma: ArrayLike | str = "cov"
    bandwidth: str = "eq9"
    bw_convention: str = "support"
    form: str = "radial"


class _KernelOptions(TypedDict, total=False):
    """Options of `grid` that all functions with a kernel have."""

    weights: ArrayLike | None
    kernel: KernelName
    h: float | None
    H: ArrayLike | None
    bandwidth: Rule
    bw_convention: Convention
    tail: float
    nan_policy: NanPolicy
    dtype: DTypeLike | None
    workers: Any


class ModelOptions(_KernelOptions, total=False):
    """Options of `make_model`."""

    sigma: ArrayLike | str
    form: Form


class ConditionalOptions(_KernelOptions, total=False):
    """Options of `conditional`, which has a sigma and a form of its own."""

    boundary: Boundary | None
    adaptive: Adaptive | None
    device: Device


class SampleOptions(ModelOptions, ConditionalOptions, total=False):
    """Options of `at_samples`."""


class SlabOptions(SampleOptions, total=False):
    """Options of `grid_slabs`."""

    method: GridMethod
    derivative: int | None


def make_model(samples, weights=None, *, tail=1e-10, nan_policy="raise", dtype=None, workers=None, stay=False, **matrix):
    """Validate and fix the kernel matrix; the other keywords are `MatrixOptions`. Samples on a GPU may `stay` there."""
    options = MatrixOptions(**matrix)
    form = options.form
    if weights is not None:
        rows_alike(samples, weights, ("samples", "weights"))
    there, m = None, None
    if stay and weights is None and isinstance(options.bandwidth, str) and options.bandwidth in MOMENTS_SUFFICE:
        there = resident(samples)
    if there is not None:
        m = moments_there(*there[:2])
        if m["bad"] or not (np.diag(m["M2"]) > 1e-200).all():  # messages about samples are made on the host
            there, m = None, None
    place, x, own, kind = (None, *as_samples(samples)) if there is None else there
    kernel = kernel_of(options.kernel)
    choice("bw_convention", options.bw_convention, CONVENTIONS)
    check_policy(nan_policy)
    choice("form", form, get_args(Form))
    n, d = x.shape
    if form != "product" and d > kernel.most_dimensions:
        try:
            rules.roughness(kernel, d)
        except ValueError as error:
            raise ValueError(f"{error}{transposed(n, d)}") from None
    product, workers = form == "product" and d > 1, worker_count(threads_beside(workers))
    if n == 0:
        raise ValueError("there are no samples; pass at least one")
    if kernel.on_line and d > 1 and not product:
        allowed = names_of(record for record in RECORDS if not record.on_line)
        raise ValueError(f"kernel={kernel!r} is for d = 1 (got d = {d}); use one of {allowed}, or form='product'")
    if not 0 <= tail < 0.5:
        raise ValueError(f"tail={tail!r}: the mass cut from the Gaussian must lie in [0, 0.5)")
    if tail == 0 and kernel.tailed and not kernel.normal:
        raise ValueError(f"tail=0 is for kernel='gaussian'; pass a tail such as 1e-10 for {kernel!r}")
    given = None if weights is None else check_weights(weights, n, d)
    w = None if given is None else rules.near_one(given)
    m = moments(x, w, workers) if m is None else m
    dropped, keep = 0, None
    if (m["bad"] or m["bad_weights"]) and nan_policy == "omit":
        keep = ~np.isnan(x).any(1) & (True if given is None else ~np.isnan(given))
        x, dropped = np.ascontiguousarray(x[keep]), int(n - keep.sum())
        n = len(x)
        if n == 0:
            raise ValueError("no sample is left after nan_policy='omit'")
        w = None if given is None else rules.near_one(given[keep])
        m = moments(x, w, workers)
    if m["bad"]:
        bad, infinite = (~np.isfinite(x)).any(1), int(np.isinf(x).any(1).sum())
        omit = f"; {infinite} contain inf, which is not missing" if infinite else ", or pass nan_policy='omit'"
        raise ValueError(f"{bad.sum()} of {n} samples contain NaN or inf, the first at index {bad.argmax()}; drop them{omit}")
    if m["bad_weights"]:
        first = int(np.argmin((w >= 0.0) & np.isfinite(w)))
        raise ValueError(
            f"{m['bad_weights']} weights are negative, NaN or inf, the first at index {first}; weights must be finite and >= 0"
        )
    if not m["W"] > 0:
        raise ValueError("all weights are zero; at least one must be positive")
    n_eff = m["W"] ** 2 / m["W2"]
    options = options._replace(kernel=kernel, form="product" if product else "radial")
    matrix, factor, sigma_matrix = kernel_matrix(options, m, n, n_eff, x, w, workers)
    product = check_form(form, d, matrix)
    return Model(
        x,
        w,
        kernel,
        matrix,
        factor,
        sigma_matrix,
        float(tail),
        m["W"],
        n_eff,
        m["low"],
        m["high"],
        np.dtype(dtype) if dtype is not None else own,
        kind,
        dropped=dropped,
        product=product,
        keep=keep,
        place=place,
    )


def check_form(form, d, matrix):
    """Whether the kernel is a product along several axes, which needs a diagonal matrix."""
    product = form == "product" and d > 1
    if product and np.any(matrix != np.diag(np.diag(matrix))):
        raise ValueError("form='product' takes kernels along the axes; pass sigma='diag', or a diagonal H=")
    return product


def kernel_matrix(options, m, n, n_eff, x=None, w=None, workers=None):
    """Kernel matrix H = h^2 Sigma, h and Sigma; h and Sigma are None where H was given.

    Parameters
    ----------
    options : MatrixOptions
    m : dict
        Moments of n samples.
    n, n_eff : int, float
    x, w : (n, d), (n,), optional
        The samples and their weights, which rules other than "eq9", "scott" and "silverman" need.
    workers : int, optional
    """
    d = len(m["mean"])
    if not isinstance(options.bandwidth, str):
        raise ValueError(
            f"bandwidth={options.bandwidth!r} is not the name of a rule. Pass a number as h=: the radius of the support in units "
            "of Sigma^(1/2), or with bw_convention='sklearn' scikit-learn's bandwidth, with 'scipy' SciPy's factor, with 'std' a "
            "standard deviation"
        )
    choice("bandwidth", options.bandwidth, (*rules.SELECTORS, *rules.MATRICES))
    if options.H is not None:
        return _given_matrix(options, d), None, None
    if options.h is None and options.bandwidth in rules.MATRICES:
        return _found_matrix(options, d, x, w), None, None
    if options.bw_convention == "sklearn" and isinstance(options.sigma, str):
        if options.sigma == "diag":
            raise ValueError("bw_convention='sklearn' means sigma='identity'; pass sigma='diag' with another convention")
        options = options._replace(sigma="identity")
    matrix = (
        _estimated_sigma(options.sigma, m, n, n_eff, x, w) if isinstance(options.sigma, str) else _given_sigma(options.sigma, d)
    )
    if options.h is not None:
        h = _given_bandwidth(options, d)
    elif options.bandwidth in ("lscv", "likelihood-cv"):
        h = _cross_validated(options, matrix, n_eff, x, w, workers)
    else:
        h = _rule_bandwidth(options, m, n, n_eff, x, w, workers)
    check_size(h * h * matrix, f"h^2 Sigma, with h = {h:.3g},")
    return h * h * matrix, h, matrix


def _found_matrix(options, d, x, w):
    """The whole kernel matrix by a rule."""
    rule = options.bandwidth
    if not (isinstance(options.sigma, str) and options.sigma == "cov") or options.bw_convention == "sklearn":
        raise ValueError(f"bandwidth={rule!r} finds the whole kernel matrix; leave sigma= and bw_convention= out")
    if options.form == "product" and d > 1:
        raise ValueError(f"bandwidth={rule!r} is no diagonal matrix, which form='product' needs; use another rule")
    H = rules.MATRICES[rule](x, options.kernel, w)
    check_size(H, f"H by bandwidth={rule!r}")
    return H


def _given_matrix(options, d):
    """The argument H as a symmetric matrix."""
    H, sigma = options.H, options.sigma
    if options.h is not None or options.bandwidth != "eq9" or not (isinstance(sigma, str) and sigma == "cov"):
        raise ValueError(
            "H and h (or sigma, or bandwidth) were both given; H is the whole kernel matrix, h^2 Sigma. Pass one of the two"
        )
    if isinstance(H, str):
        raise ValueError(f"H={H!r}; H is a matrix, rules are named by bandwidth=")
    H = np.atleast_2d(np.asarray(H, np.float64))
    if H.shape != (d, d):
        raise ValueError(f"H has shape {H.shape}; for samples of {d} dimensions it must be ({d}, {d})")
    check_matrix(H, "H")
    return 0.5 * (H + H.T)


def _given_sigma(sigma, d):
    """The argument sigma, standard deviations per axis or a matrix, as a matrix."""
    sigma = np.asarray(sigma, np.float64)
    if sigma.shape == (d,) or (sigma.ndim == 0 and d == 1):
        sigma = np.atleast_1d(sigma)
        if not (np.isfinite(sigma).all() and (sigma > 0).all()):
            raise ValueError(f"sigma={sigma}: standard deviations must be finite and > 0")
        return np.diag(sigma**2)
    if sigma.shape != (d, d):
        raise ValueError(
            f"sigma has shape {sigma.shape}; use 'cov', 'diag', 'identity', a ({d}, {d}) matrix or ({d},) standard deviations"
        )
    check_matrix(sigma, "sigma")
    return 0.5 * (sigma + sigma.T)


def _estimated_sigma(sigma, m, n, n_eff, x, w):
    """The matrix that the word `sigma` stands for, from the moments of the samples."""
    choice("sigma", sigma, SIGMAS)
    d = len(m["mean"])
    if sigma == "identity":
        return np.eye(d)
    matrix = _covariance(m, n, n_eff)
    constant = np.flatnonzero(~(np.diag(matrix) > 0))
    if not (np.abs(m["high"]) < 1e100).all() or not (np.abs(m["low"]) < 1e100).all():
        raise ValueError("the samples are larger than 1e100, and their covariance is not a number; rescale them")
    if constant.size:
        some = x if x is None or w is None or w.size != n else x[w > 0]
        if some is not None and len(some) and np.any((some.min(0) < some.max(0))[constant]):
            raise ValueError(
                f"the spread of axis {constant[0]} is too small for its square to be a number; rescale the samples"
                if n_eff > 1
                else "one sample has all the weight but for rounding, so there is no spread; pass H= or sigma='identity' with h="
            )
        alone = (n if some is None else len(some)) == 1
        why = "" if not alone else " (one sample has weight)" if n > 1 else " (one sample)"
        raise ValueError(f"axis {constant[0]} is constant{why}, so its spread is 0; pass H= or sigma='identity' with h=")
    if sigma == "diag":
        return np.diag(np.diag(matrix))
    scale = np.sqrt(np.diag(matrix))
    if n <= d or np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] < 1e-12:
        raise ValueError(
            f"the covariance of {n} samples in {d} dimensions is singular; pass sigma='diag' (axes on their own) or "
            f"H= (the whole kernel matrix){transposed(n, d)}"
        )
    return matrix


def _rule_bandwidth(options, m, n, n_eff, x, w, workers):
    """The bandwidth h of a rule, in units of Sigma."""
    kernel, rule, form, d = options.kernel, options.bandwidth, options.form, len(m["mean"])
    if rule == "scott":
        h = n_eff ** (-1 / (d + 4)) * rules.canonical_ratio(kernel, d, form)
    elif rule in ("eq9", "silverman"):
        h = rules.normal_reference(n_eff, d, kernel, form)
    else:
        extra = {"workers": workers} if rule == "plugin" else {}
        h = rules.SELECTORS[rule](x, "gaussian", w, **extra) * rules.canonical_ratio(kernel, d, form)
    if isinstance(options.sigma, str) and options.sigma == "identity":  # rules return h in units of the spread
        h *= float(np.sqrt(np.diag(_covariance(m, n, n_eff)).mean()))
        if not h > 0:
            raise ValueError("the samples have no spread; pass h=")
    return h


def _cross_validated(options, matrix, n_eff, x, w, workers):
    """The bandwidth h of cross-validation, in units of Sigma."""
    least_squares = options.bandwidth == "lscv"
    if least_squares and options.form == "product" and not options.kernel.normal:
        raise ValueError(
            f"bandwidth='lscv' does not know the criterion of a product of kernels {options.kernel!r}; use kernel='gaussian', "
            "form='radial', or another rule"
        )
    x, w = (x, None) if w is None else (x[w > 0], w[w > 0])
    y = rules.whitened(x, w, matrix)
    if least_squares:
        return rules.lscv_whitened(y, options.kernel, w, n_eff, workers)
    return rules.likelihood_whitened(y, options.kernel, w, n_eff, workers, options.form)


def _given_bandwidth(options, d):
    """The argument h as the radius of the support."""
    h, kernel, convention = options.h, options.kernel, options.bw_convention
    if isinstance(h, (str, bool)):
        raise ValueError(f"h={h!r}; h is a number, rules are named by bandwidth=")
    if options.bandwidth != "eq9":
        raise ValueError(f"h={h!r} and bandwidth={options.bandwidth!r} were both given; pass one of the two")
    if np.ndim(h):
        raise ValueError(f"h has shape {np.shape(h)}; it is one number: for bandwidths per axis pass h=1 and sigma=[...]")
    h = float(h)
    if not (math.isfinite(h) and h > 0):
        raise ValueError(f"h={h!r}; the bandwidth must be finite and > 0")
    if convention == "scipy" and not kernel.normal:
        raise ValueError(f"bw_convention='scipy' is a factor for the Gaussian kernel, not {kernel!r}; use 'support' or 'std'")
    if convention == "std" and not kernel.normal:
        h /= math.sqrt(rules.roughness(kernel, d, options.form)[1])
    return h


def _covariance(m, n, n_eff):
    if n < 2:
        return np.zeros_like(m["M2"])
    if not m["weighted"]:
        return m["M2"] / (n - 1)
    return m["M2"] / (m["W"] * (1 - 1 / n_eff)) if n_eff > 1 else np.zeros_like(m["M2"])


def check_matrix(matrix, name):
    """Raise unless symmetric to 1e-12, positive definite, and of a size whose products and inverses are numbers."""
    size = np.abs(matrix).max()
    if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > 1e-12 * size:
        raise ValueError(f"{name} is not a finite symmetric matrix; pass 0.5 * ({name} + {name}.T)")
    diagonal = np.diag(matrix)
    if (diagonal > 0).all():
        check_size(matrix, name)
    if not (diagonal > 0).all() or np.linalg.eigvalsh(matrix / np.outer(np.sqrt(diagonal), np.sqrt(diagonal)))[0] <= 1e-14:
        raise ValueError(f"{name} is not positive definite; every kernel matrix must be")


def check_size(matrix, name):
    """Raise if products or inverses of a kernel matrix are beyond the range of double precision."""
    diagonal = np.diag(matrix)
    if not ((diagonal >= 1e-200) & (diagonal <= 1e200)).all():
        raise ValueError(
            f"{name} has {diagonal.min():.3g} to {diagonal.max():.3g} on its diagonal, allowed is 1e-200 to 1e200; rescale the "
            "samples and the bandwidth"
        )


# --- boundaries -----------------------------------------------------------------------------------------------------------


def parse_boundary(boundary, model):
    """Check {axis: (kind, lo, hi)}; open sides become infinite."""
    checked = {}
    if boundary and not hasattr(boundary, "items"):
        raise ValueError(f"boundary={boundary!r}; it must be a dict {{axis: (kind, lo, hi)}}")
    for axis, rule in (boundary or {}).items():
        if not hasattr(axis, "__index__") or not 0 <= axis < model.d:
            raise ValueError(f"boundary axis {axis!r} does not exist; the samples have axes 0 to {model.d - 1}")
        try:
            kind, lo, hi = rule
        except (TypeError, ValueError):
            raise ValueError(f"boundary[{axis}]={rule!r}; it must be (kind, lo, hi)") from None
        choice("boundary kind", kind, get_args(BoundaryKind))
        lo, hi = -math.inf if lo is None else float(lo), math.inf if hi is None else float(hi)
        if not lo < hi:
            raise ValueError(f"boundary[{axis}]={rule!r}: lo must be below hi")
        if kind == "periodic":
            if not (math.isfinite(lo) and math.isfinite(hi)):
                raise ValueError(f"boundary[{axis}]={rule!r}: a periodic axis needs two finite ends")
            reach = model.reach[axis]
            if 2 * reach >= hi - lo:
                raise ValueError(
                    f"axis {axis}: the support is {2 * reach:.3g} wide, the period {hi - lo:.3g}; take a smaller bandwidth"
                )
        elif model.low[axis] < lo or model.high[axis] > hi:
            raise ValueError(
                f"axis {axis}: samples lie outside the boundary [{lo}, {hi}] (they span {model.low[axis]} to "
                f"{model.high[axis]}); remove them or move the boundary"
            )
        checked[int(axis)] = (kind, lo, hi)
    cut = [a for a, r in checked.items() if r[0] not in ("reflect", "periodic")]
    kind = checked[cut[0]][0] if cut else ""
    if len(cut) > 1 and not model.product:
        raise ValueError(
            f"more than one axis with {kind!r}: the mass of a radial kernel inside a corner has no closed form; use 'reflect', "
            "or form='product' with sigma='diag'"
        )
    if cut and model.scale is not None and model.scale.min() < model.scale.max():
        raise ValueError(
            f"{kind!r} and adaptive scales that differ do not go together: every sample would lose another mass; use 'reflect'"
        )
    if cut and model.d > 1 and model.power is None and not model.product:
        raise ValueError(f"{kind!r} with kernel={model.kernel!r} is for d = 1; use 'reflect' or one of {names_of(ROWS)}")
    if kind not in ("", "renorm") and np.count_nonzero(model.H[cut]) > len(cut):
        raise ValueError(f"{kind!r} takes kernels along axis {cut[0]}; pass sigma='diag', or an H= that is diagonal there")
    return checked


# --- methods, adaptive scales, workers --------------------------------------------------------------------------------------


def _polynomial(m):
    return m.kernel.rows


def _plain_epanechnikov(m):
    return m.power == 1 and m.weights is None and m.scale is None


_OF_POLYNOMIALS = (_polynomial, f"needs a polynomial kernel ({names_of(ROWS)}), not {{m.kernel!r}}; use 'auto'")
NEEDS = {  # conditions of a method on a model, and the error message where they fail
    "rows": (_OF_POLYNOMIALS,),
    "rows-b": (_OF_POLYNOMIALS,),
    "rows-c": (
        _OF_POLYNOMIALS,
        (_plain_epanechnikov, "is for the Epanechnikov kernel without weights or adaptive scales; use 'rows-b' or 'auto'"),
    ),
    "cells": (
        (
            lambda m: m.d == 2 and _plain_epanechnikov(m),
            "is for d = 2 and the Epanechnikov kernel without weights or adaptive scales; use 'auto'",
        ),
    ),
    "skde-crop": ((lambda m: m.d > 2, "chops slices of d >= 3 (got d = {m.d}); use 'skde'"),),
}


def check_method(model, method, derivative, boundary, in_slabs=False):
    """The method of a grid; raises unless it suits the model and the derivative. "auto" falls back to "skde-row"."""
    choice("method", method, GRID_METHODS)
    if model.product and (method not in PRODUCT_METHODS or derivative is not None):
        raise ValueError(f"form='product' goes with method {', '.join(map(repr, PRODUCT_METHODS))} and without derivative=")
    for suits, message in NEEDS.get(method, ()):
        if not suits(model):
            raise ValueError(f"method={method!r} {message.format(m=model)}")
    if model.whole and method != "ep":
        raise ValueError("the Gaussian with tail=0 has no bounded support; use method='ep', or a tail such as 1e-10")
    method = "skde-row" if method == "auto" and not model.kernel.rows else method
    if derivative is None:
        return method
    if method not in SLOPE_METHODS or not model.kernel.rows or model.power == 0:
        raise ValueError(
            "derivative= needs kernel 'epanechnikov', 'biweight' or 'triweight' and method 'auto', 'rows-b' or "
            f"'skde-row' (got {model.kernel!r}, {method!r})"
        )
    if not hasattr(derivative, "__index__") or isinstance(derivative, bool) or not 0 <= derivative < model.d:
        raise ValueError(f"derivative={derivative!r} is not an axis; use 0 to {model.d - 1}")
    cut = [r[0] for r in (boundary or {}).values() if r[0] not in ("reflect", "periodic")]
    if cut:
        raise ValueError(f"derivative= and boundary {cut[0]!r} do not go together; use 'reflect'")
    if in_slabs and derivative == 0 and model.d > 1:
        raise ValueError("slabs run along axis 0, and so would the rows of a derivative along axis 0; use kde.grid")
    return method


def check_adaptive(adaptive, model):
    """The pair (exponent of Abramson's rule, scales of the samples), of which one is None."""
    if isinstance(adaptive, str):
        adaptive = (adaptive, 0.5)
    if isinstance(adaptive, tuple) and len(adaptive) == 2 and isinstance(adaptive[0], str):
        choice("adaptive", adaptive[0], ("abramson",))
        alpha = float(adaptive[1])
        if not 0 <= alpha <= 1:
            raise ValueError(f"adaptive={adaptive!r}: the exponent must lie in [0, 1]; Abramson's is 0.5")
        return alpha, None
    scale = np.array(adaptive, np.float64, order="C")
    if model.keep is not None and scale.shape == model.keep.shape:
        scale = scale[model.keep]
    if scale.shape != (len(model.x),):
        raise ValueError(f"adaptive has shape {scale.shape}; pass ('abramson', alpha) or one scale per sample, ({len(model.x)},)")
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise ValueError("adaptive scales must be finite and > 0")
    return None, scale


def check_workers(workers):
    """Raise unless a number of threads or None."""
    if is_executor(workers):
        raise ValueError(
            "workers is an executor, but kde.partial and kde.finalize run in threads; pass a number of threads here, and the "
            "executor to kde.grid, or call kde.partial by it for each share of the samples and kde.combine the results"
        )
    worker_count(workers)
