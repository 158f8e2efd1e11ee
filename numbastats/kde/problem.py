"""From the caller's arguments to numbers a kernel takes: validation, kernel matrix, geometry of a grid, quantisation."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from numbastats._core.broadcast import result_dtype, unmasked
from numbastats._core.dispatch import _device_kind, _numpy_dtype, to_host
from numbastats._core.errors import choice
from numbastats.kde import bandwidth as rules
from numbastats.kde import sorting
from numbastats.kde.footprint import Footprint
from numbastats.kde.kernels import geometry as G

__all__ = ["Grid", "Model", "make_model", "parse_axes"]

SIGMAS = ("cov", "diag", "identity")
CONVENTIONS = ("support", "std", "scipy", "sklearn")


# --- arguments -----------------------------------------------------------------------------------------------------------


def as_samples(samples, name="samples", allow_vector=True):
    """Host copy (n, d) in float64, the dtype that decides the result, and the kind of device array or None."""
    kind = _device_kind(samples)
    if hasattr(samples, "tocsr"):
        raise TypeError(f"{name} are a sparse matrix, which is not supported; pass {name}.toarray()")
    host = unmasked(to_host(samples, name))
    dtype = result_dtype((name,), (_numpy_dtype(host),))
    if host.ndim == 1 and allow_vector:
        host = host[:, None]
    if host.ndim == 2 and host.shape[1] == 0:
        raise ValueError(f"{name} have 0 feature(s) (shape={host.shape}) while a minimum of 1 is required; pass an array (n, d)")
    if host.ndim != 2:
        raise ValueError(f"{name} have shape {np.shape(samples)}; pass an array (n, d), or (n,) for d = 1")
    return np.ascontiguousarray(host, np.float64), dtype, kind


def transposed(n, d):
    """What an error says where samples (n, d) look like their own transpose, else nothing."""
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


@dataclasses.dataclass(eq=False)
class Model:
    """Samples with everything that does not depend on where the density is wanted."""

    x: np.ndarray  # (n, d)
    weights: np.ndarray | None
    kernel: str
    H: np.ndarray  # kernel matrix, the covariance for the Gaussian
    h: float | None
    sigma: np.ndarray | None
    tail: float
    total: float  # sum of weights
    n_eff: float
    low: np.ndarray
    high: np.ndarray
    dtype: np.dtype
    kind: str | None
    scale: np.ndarray | None = None  # adaptive: lambda per sample
    dropped: int = 0
    product: bool = False  # product of one-dimensional kernels along the axes, H diagonal
    keep: np.ndarray | None = None  # rows of the caller's samples that are in x, where nan_policy="omit" dropped some

    @property
    def d(self):
        """Dimension."""
        return self.x.shape[1]

    @property
    def centre(self):
        """A sample in the middle of the others along every axis: an origin that no outlier moves."""
        x = self.x[:: max(1, len(self.x) // 1000)]
        return np.sort(x, axis=0)[len(x) // 2] if len(x) else np.zeros(self.d)

    @property
    def power(self):
        """Exponent p of (1 - q)^p, None for the other kernels."""
        return rules.POWERS.get(self.kernel)

    @property
    def number(self):
        """Number of the kernel in the kernels' code, plus G.PRODUCT for the product form."""
        return rules.KERNELS.index(self.kernel) + (G.PRODUCT if self.product else 0)

    @property
    def tau2(self):
        """Squared radius of the support in units of H."""
        if self.kernel != "gaussian":
            return 1.0
        if self.tail == 0:
            return 1490.0  # exp(-745) is the smallest float
        from scipy.special import gammainccinv

        return 2.0 * float(gammainccinv(0.5 if self.product else self.d / 2, self.tail))

    @property
    def decay(self):
        """Factor of q (in support units) in the Gaussian's exponent."""
        return 0.5 * self.tau2

    @property
    def support(self):
        """Matrix whose unit ellipsoid is the support, without adaptive scales."""
        return self.H * self.tau2

    @property
    def constant(self):
        """Density per unit of sum w lambda^-d K(q)."""
        c = rules.norm_constant(self.kernel, 1 if self.product else self.d)
        c /= 1 - self.tail if self.kernel == "gaussian" else 1.0
        c **= self.d if self.product else 1
        size = np.sqrt(np.diag(self.H))
        root = math.sqrt(np.linalg.det(self.H / np.outer(size, size))) * math.prod(size.tolist())
        if not (1e-300 < min(root, root * self.total) and root * self.total < 1e300):
            raise ValueError("the density is too large or too small for double precision; rescale the samples and the bandwidth")
        return c / (self.total * root)

    def subset(self, x, weights, scale):
        """The same estimate with other samples (mirror images, shifted copies); the total weight stays."""
        return dataclasses.replace(self, x=np.ascontiguousarray(x), weights=weights, scale=scale)


def check_weights(weights, n, d=1):
    """Weights of n samples in d dimensions as float64, or None."""
    if weights is None:
        return None
    host = unmasked(to_host(weights, "weights"))
    if host.shape != (n,):
        raise ValueError(f"weights have shape {host.shape}; pass one weight per sample, shape ({n},){transposed(n, d)}")
    w = as_samples(host, "weights")[0].reshape(-1)
    return w if w.flags.writeable else w.copy()


def make_model(samples, weights=None, *, kernel="epanechnikov", h=None, H=None, sigma="cov", bandwidth="eq9",
               bw_convention="support", tail=1e-10, nan_policy="raise", dtype=None, workers=None, form="radial"):  # fmt: skip
    """Validate and fix the kernel matrix."""
    x, own, kind = as_samples(samples)
    kernel = rules.kernel_name(kernel)
    choice("bw_convention", bw_convention, CONVENTIONS)
    choice("nan_policy", nan_policy, ("raise", "omit"))
    choice("form", form, ("radial", "product"))
    n, d = x.shape
    if kernel != "gaussian" and form != "product":
        rules.roughness(kernel, d)  # raises where its constants are no numbers
    product = form == "product" and d > 1
    if n == 0:
        raise ValueError("there are no samples; pass at least one")
    if kernel == "cosine" and d > 1 and not product:
        raise ValueError(
            f"kernel='cosine' is for d = 1 (got d = {d}); use 'epanechnikov', 'biweight', 'triweight' or 'triangular', or "
            "form='product'"
        )
    if not 0 <= tail < 0.5:
        raise ValueError(f"tail={tail!r}: the mass cut from the Gaussian must lie in [0, 0.5)")
    given = check_weights(weights, n, d)
    w = rules.near_one(given)
    m = sorting.moments(x, w, workers)
    dropped, keep = 0, None
    if (m["bad"] or m["bad_weights"]) and nan_policy == "omit":
        keep = np.isfinite(x).all(1) & (True if given is None else ~np.isnan(given))
        x, dropped = np.ascontiguousarray(x[keep]), int(n - keep.sum())
        n = len(x)
        if n == 0:
            raise ValueError("no sample is left after nan_policy='omit'")
        w = None if given is None else rules.near_one(given[keep])
        m = sorting.moments(x, w, workers)
    if m["bad"]:
        rows = int((~np.isfinite(x)).any(1).sum())
        raise ValueError(f"{rows} of {n} samples contain NaN or inf; drop them, or pass nan_policy='omit'")
    if m["bad_weights"]:
        raise ValueError(f"{m['bad_weights']} weights are negative, NaN or inf; weights must be finite and >= 0")
    if not m["W"] > 0:
        raise ValueError("all weights are zero; at least one must be positive")
    n_eff = m["W"] ** 2 / m["W2"]
    matrix, factor, sigma_matrix = _kernel_matrix(x, w, m, n_eff, kernel, h, H, sigma, bandwidth, bw_convention,
                                                  "product" if product else "radial", workers)  # fmt: skip
    product = check_form(form, d, matrix)
    return Model(x, w, kernel, matrix, factor, sigma_matrix, float(tail), m["W"], n_eff, m["low"], m["high"],
                 np.dtype(dtype) if dtype is not None else own, kind, dropped=dropped, product=product, keep=keep)  # fmt: skip


def check_form(form, d, matrix):
    """Whether the kernel is a product along several axes, which needs a diagonal matrix."""
    product = form == "product" and d > 1
    if product and np.any(matrix != np.diag(np.diag(matrix))):
        raise ValueError("form='product' takes kernels along the axes; pass sigma='diag', or a diagonal H=")
    return product


def _kernel_matrix(x, w, m, n_eff, kernel, h, H, sigma, bandwidth, convention, form="radial", workers=None):
    n, d = x.shape
    if not isinstance(bandwidth, str):
        raise ValueError(
            f"bandwidth={bandwidth!r} is not the name of a rule. Pass a number as h=: the radius of the support in units of "
            "Sigma^(1/2), or with bw_convention='sklearn' scikit-learn's bandwidth, with 'scipy' SciPy's factor, with 'std' a "
            "standard deviation"
        )
    choice("bandwidth", bandwidth, tuple(rules.SELECTORS))
    if H is not None:
        if h is not None or bandwidth != "eq9" or not (isinstance(sigma, str) and sigma == "cov"):
            raise ValueError(
                "H and h (or sigma, or bandwidth) were both given; H is the whole kernel matrix, h^2 Sigma. Pass one of the two"
            )
        if isinstance(H, str):
            raise ValueError(f"H={H!r}; H is a matrix, rules are named by bandwidth=")
        H = np.atleast_2d(np.asarray(H, np.float64))
        if H.shape != (d, d):
            raise ValueError(f"H has shape {H.shape}; for samples of {d} dimensions it must be ({d}, {d})")
        check_matrix(H, "H")
        return 0.5 * (H + H.T), None, None
    if convention == "sklearn" and isinstance(sigma, str):
        if sigma == "diag":
            raise ValueError("bw_convention='sklearn' means sigma='identity'; pass sigma='diag' with another convention")
        sigma = "identity"
    if isinstance(sigma, str):
        choice("sigma", sigma, SIGMAS)
        if sigma == "identity":
            matrix = np.eye(d)
        else:
            matrix = _covariance(m, n, n_eff, w is not None)
            constant = np.flatnonzero(~(np.diag(matrix) > 0))
            some = x if w is None or w.size != n else x[w > 0]
            differ = len(some) and some.min(0) < some.max(0) if constant.size else None
            if not (np.abs(m["high"]) < 1e100).all() or not (np.abs(m["low"]) < 1e100).all():
                raise ValueError("the samples are larger than 1e100, and their covariance is not a number; rescale them")
            if constant.size and np.any(differ[constant]):
                raise ValueError(
                    "one sample has all the weight but for rounding, so there is no spread; pass H= or sigma='identity' with h="
                    if not n_eff > 1 else
                    f"the spread of axis {constant[0]} is too small for its square to be a number; rescale the samples"
                )  # fmt: skip
            if constant.size:
                raise ValueError(
                    f"axis {constant[0]} is constant{' (one sample)' if len(some) == 1 else ''}, so its spread is 0; pass H= or "
                    "sigma='identity' with h="
                )
            if sigma == "diag":
                matrix = np.diag(np.diag(matrix))
            else:
                scale = np.sqrt(np.diag(matrix))
                if n <= d or np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] < 1e-12:
                    raise ValueError(
                        f"the covariance of {n} samples in {d} dimensions is singular; pass sigma='diag' (axes on their own) or "
                        f"H= (the whole kernel matrix){transposed(n, d)}"
                    )
    else:
        sigma = np.asarray(sigma, np.float64)
        if sigma.shape == (d,) or (sigma.ndim == 0 and d == 1):
            sigma = np.atleast_1d(sigma)
            if not (np.isfinite(sigma).all() and (sigma > 0).all()):
                raise ValueError(f"sigma={sigma}: standard deviations must be finite and > 0")
            matrix = np.diag(sigma**2)
        elif sigma.shape == (d, d):
            check_matrix(sigma, "sigma")
            matrix = 0.5 * (sigma + sigma.T)
        else:
            raise ValueError(
                f"sigma has shape {sigma.shape}; use 'cov', 'diag', 'identity', a ({d}, {d}) matrix or ({d},) standard deviations"
            )
    if h is None:
        if bandwidth in ("eq9", "scott", "silverman"):
            h = rules.normal_reference(n_eff, d, kernel, form)
            if bandwidth == "scott":
                h = n_eff ** (-1 / (d + 4)) * rules.canonical_ratio(kernel, d, form)
        else:
            extra = {"workers": workers} if bandwidth in ("lscv", "plugin") else {}
            h = rules.SELECTORS[bandwidth](x, "gaussian", w, **extra) * rules.canonical_ratio(kernel, d, form)
        if isinstance(sigma, str) and sigma == "identity":  # the rules are in units of the spread
            h *= float(np.sqrt(np.diag(_covariance(m, n, n_eff, w is not None)).mean()))
            if not h > 0:
                raise ValueError("the samples have no spread; pass h=")
    else:
        if isinstance(h, str):
            raise ValueError(f"h={h!r}; h is a number, rules are named by bandwidth=")
        if np.ndim(h):
            raise ValueError(f"h has shape {np.shape(h)}; it is one number: for bandwidths per axis pass h=1 and sigma=[...]")
        h = float(h)
        if not (math.isfinite(h) and h > 0):
            raise ValueError(f"h={h!r}; the bandwidth must be finite and > 0")
        if convention == "scipy" and kernel != "gaussian":
            raise ValueError(f"bw_convention='scipy' is a factor for the Gaussian kernel, not {kernel!r}; use 'support' or 'std'")
        if convention == "std" and kernel != "gaussian":
            h /= math.sqrt(rules.roughness(kernel, d, form)[1])
    check_size(h * h * matrix, f"h^2 Sigma, with h = {h:.3g},")
    return h * h * matrix, h, matrix


def _covariance(m, n, n_eff, weighted):
    if n < 2:
        return np.zeros_like(m["M2"])
    if not weighted:
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
    """Raise if double precision cannot hold what is made of a kernel matrix."""
    diagonal = np.diag(matrix)
    if not ((diagonal >= 1e-200) & (diagonal <= 1e200)).all():
        raise ValueError(
            f"{name} has {diagonal.min():.3g} to {diagonal.max():.3g} on its diagonal, allowed is 1e-200 to 1e200; rescale the "
            "samples and the bandwidth"
        )


# --- a grid ------------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(eq=False)
class Grid:
    """A model on a grid in index units: order of the axes, arrays for the kernels, quantisation."""

    origin: np.ndarray
    step: np.ndarray
    length: np.ndarray
    order: list  # axes, the row axis last
    half: np.ndarray  # half boxes in cells, ordered, adaptive scales included
    matrix: np.ndarray  # of the support in cells, ordered
    geo: np.ndarray
    ints: np.ndarray
    variant: str = ""
    mode: int = 1
    q: float = 0.0  # quantum
    log_block: int = 0
    bound: float = 0.0  # absolute error of the density
    typical: float = 0.0  # its part that another method would avoid, where the roundings of the samples do not all agree
    footprint: Footprint | None = None  # method "cells"

    @property
    def lines(self):
        """Number of rows."""
        return int(np.prod(self.length[self.order[:-1]])) if len(self.order) > 1 else 1

    @property
    def row_length(self):
        """Cells in a row."""
        return int(self.length[self.order[-1]])

    @property
    def chord(self):
        """Half of the longest interval of a row, in cells; the half box where the axes are not correlated."""
        return math.sqrt(float(self.geo[G.LAMBDA2] / self.geo[G.A]))

    def state_size(self, power):
        """Numbers that the associative form keeps of a row: third differences for variant c, else coefficients."""
        return (self.row_length + G.PAD) * (1 if self.variant == "c" else 2 * power + 1)


def make_grid(model, axes, *, row_axis=None, keep_first=False, flips=()):
    """Geometry of a model on a grid.

    Parameters
    ----------
    model : Model
    axes : tuple of arrays
        Origin, step and length.
    row_axis : int, optional
        The row axis is otherwise the longest box, with some preference for the last axis.
    keep_first : bool
        Axis 0 must not be the row axis (slabs).
    flips : sequence of int
        Axes whose off-diagonal entries of H change sign (mirror images).
    """
    origin, step, length = axes
    d = model.d
    support = model.support.copy()
    for axis in flips:
        support[axis, :] *= -1
        support[:, axis] *= -1
    largest = 1.0 if model.scale is None else float(model.scale.max())
    step = np.where(length > 1, step, np.sqrt(np.diag(support)))  # one position: any step does
    half = np.sqrt(np.diag(support)) / step * largest
    if not half.max() < 2.0**62:
        raise ValueError(
            f"axis {int(np.argmax(half))}: half a support is {half.max():.3g} grid steps long, which no 64-bit integer counts; "
            "use kde.points, or an axis with a longer step"
        )
    if row_axis is None:
        candidates = range(1, d) if keep_first and d > 1 else range(d)
        row_axis = max(candidates, key=lambda a: (half[a] * (1.5 if a == d - 1 else 1.0), a))
    order = [a for a in range(d) if a != row_axis] + [row_axis]
    m = (np.linalg.inv(support) * np.outer(step, step))[np.ix_(order, order)]
    m = 0.5 * (m + m.T)
    half = half[order]
    geo, ints = np.zeros(G.GEO), np.zeros(G.INTS, np.int64)
    a = m[-1, -1]
    beta, s = m[-1, :-1] / a, m[:-1, :-1] - np.outer(m[:-1, -1], m[-1, :-1]) / a
    full = np.zeros((3, 3))
    full[3 - (d - 1) :, 3 - (d - 1) :] = s
    geo[G.INV_A], geo[G.A], geo[G.LAMBDA2] = 1.0 / a, a, largest**2
    geo[G.BETA + 3 - (d - 1) : G.BETA + 3] = beta
    geo[G.S : G.S + 6] = full[np.triu_indices(3)]
    if d > 2:
        geo[G.SLOPE : G.SLOPE + 2] = -full[:2, 2] / full[2, 2]
        rest = full[:2, :2] - np.outer(full[:2, 2], full[:2, 2]) / full[2, 2]
        geo[G.REST : G.REST + 3] = rest[np.triu_indices(2)]
        inverse = np.linalg.inv(m[np.ix_([d - 1, d - 2], [d - 1, d - 2])])
        cross = np.zeros((2, 2))
        cross[:, 2 - (d - 2) :] = -inverse @ m[np.ix_([d - 1, d - 2], range(d - 2))]
        geo[G.CROP : G.CROP + 2] = np.diag(inverse)
        geo[G.CROP + 2 : G.CROP + 4], geo[G.CROP + 4 : G.CROP + 6] = cross
    geo[G.HALF : G.HALF + 3] = 1e300
    geo[G.HALF + 3 - (d - 1) : G.HALF + 3] = half[:-1] * (1 + 1e-9) + 1e-6
    geo[G.HALF_ROW] = half[-1]
    geo[G.DECAY] = model.decay
    ints[G.DIM] = d
    ints[G.LINES : G.LINES + 3] = 1
    ints[G.LINES + 3 - (d - 1) : G.LINES + 3] = length[order[:-1]]
    ints[G.BINS : G.BINS + 3] = 1
    geo[G.WIDTH : G.WIDTH + 3] = 1.0
    ints[G.LENGTH], ints[G.KIND] = length[row_axis], model.number
    return Grid(origin, step, length, order, half, m, geo, ints)


def collect(model, grid, lam2, weights, workers=None, *, unit=False):
    """Sort the samples by cells of the outer axes; fills the grid's cell entries. With `unit` by cells of one grid position."""
    d, order, lines = model.d, grid.order, grid.length[grid.order]
    reach = grid.half * (1 + 1e-9) + 1e-6
    low, high = -reach, lines - 1.0 + reach
    data_low = (model.low[order] - grid.origin[order]) / grid.step[order]
    data_high = (model.high[order] - grid.origin[order]) / grid.step[order]
    inside = int(len(model.x))
    coarse = np.maximum(2 * grid.half * (1 + 1e-6) + 1e-6, (high - low) / (2.0 ** (20 // d)))
    cell0, width, cells = np.zeros(d), np.ones(d), np.ones(d, np.int64)
    for j in range(d if unit else d - 1):
        a, b = max(low[j], data_low[j]), min(high[j], data_high[j])
        a, b = (a, b) if b > a else (a, a)
        if unit:
            cell0[j] = math.floor(a + 0.5) - 0.5
            cells[j] = math.floor(b + 0.5 - cell0[j]) + 1
            continue
        if j == d - 2:
            outer = int(np.prod(cells[:j])) if j else 1
            most = max(64, min(1 << 20, 4 * inside // outer))
            count = min(most, int(b - a) + 1)
        else:
            wanted = inside**0.5 / 3.5 if d == 3 else inside ** (1 / 3) / 2
            count = int(max(1, min(max(wanted, 4), lines[j], b - a + 1)))
        cell0[j], cells[j] = a, count
        width[j] = max((b - a) / count * (1 + 1e-12), 1e-300) if b > a else 1.0
    lists = sorting.cell_list(
        model.x, weights, lam2, grid.origin, grid.step, order, low, high, cell0, width, cells, coarse, workers
    )
    lists["cells"], lists["first"], lists["span"] = cells, np.ceil(cell0), (low[-1], high[-1])
    first = 3 - (d - 1)
    grid.geo[G.ORIGIN + first : G.ORIGIN + 3], grid.geo[G.WIDTH + first : G.WIDTH + 3] = cell0[:-1], 1.0 / width[:-1]
    grid.ints[G.BINS + first : G.BINS + 3] = cells[:-1]
    return lists


def quantise(model, grid, variant, mode, weight, count, weighted):
    """Choose quantum and block so that nothing overflows; set the final factor and the a-priori error bound.

    A sample's error in quanta is divided by its peak in quanta, which is Q/A, or (A B^2)^p for variant b.
    """
    half, a = grid.chord, float(grid.geo[G.A])
    p = mode if mode < 4 else mode - 3
    weight, count = weight * (1 + 1e-9) if weight > 0 else 1.0, max(count, 1.0)
    largest = np.max(np.abs([model.low, model.high, grid.origin, grid.origin + grid.step * grid.length]), axis=0)
    coordinate = float((largest / np.sqrt(np.diag(model.support))).max())
    tilt = float(grid.half[-1]) / half  # what correlated axes make of a rounded coordinate
    rounding = 2.0**-53 * (8 + 8 * coordinate) * max(p, 1) * tilt  # of coordinates, t and the coefficients, per sample and peak
    if variant == "c":
        grid.q = 2.0 ** min(1000, math.floor(61 - math.log2(weight * (half + 2) ** 2)))
        error = (0.5 + half) / (grid.q * half**2)
        factor, horner = a / grid.q, 0.0
    elif variant == "cells":
        grid.q = grid.footprint.q
        error = grid.footprint.error / (grid.q * half**2)
        factor, horner = a / grid.q, 0.0
    elif variant == "a":
        grid.q, factor, horner = 1.0, a, 0.0
        error = (1e-15 + 1e-16 * (64 / half) ** 2) * count  # of squares of positions within 64 cells
    else:
        grid.log_block = max(0, round(math.log2(half))) if half > 1 else 0
        block = 2.0**grid.log_block
        rho = half / block
        c = np.polynomial.Polynomial([rho**2 + (rho + 0.5) ** 2, 2 * (rho + 0.5), 1]) ** p
        if mode > 3:
            c = c.deriv()
        top = float(max(c.coef.max(), 1.0))
        grid.q = 2.0 ** min(1000, math.floor(62 - math.log2(weight * top)))
        unit = rho ** (2 * p)
        error = 0.5 * sum((rho + 0.5) ** k for k in range(2 * p + 1)) / (grid.q * unit)
        error += 0.5 / grid.q if weighted else 0.0
        horner = (2 * p + 2) * 2.0**-53 * weight * top / unit
        factor = (a * block * block) ** p / grid.q
        if mode > 3:
            factor /= block
    grid.variant, grid.mode = variant, mode
    peak = model.constant * (float(grid.geo[G.LAMBDA2]) ** p)
    grid.geo[G.SCALE] = factor * model.constant
    grid.geo[G.INV_BLOCK] = 2.0**-grid.log_block
    grid.ints[G.LOG_BLOCK], grid.ints[G.MODE] = grid.log_block, mode
    grid.bound = peak * (count * error + horner + weight * rounding)
    grid.typical = peak * (math.sqrt(count) * error + horner) / (block if mode > 3 else 1.0)
