"""Bandwidth rules: host mathematics on whitened or one-dimensional samples.

`plugin_matrix` and `scv` return the whole kernel matrix H. All other rules return the factor h of one kernel matrix
``H = h^2 Sigma``, Sigma being the covariance of the samples. Both are for the kernel asked for: h is the radius of the support of
a bounded kernel in units of Sigma^(1/2), H that of the normal kernel times `canonical_ratio` squared. Samples that are tied or
rounded are taken as they are; where more than a tenth are ties, `lscv` and `likelihood_cv`, which these pull to h = 0, warn, and
`isj` warns where its equation has no root.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.broadcast import real64
from numbastats._core.data import doubles
from numbastats._core.errors import ConvergenceWarning, warn
from numbastats._core.kinds import rows_alike
from numbastats.kde.kernels.pairs import PIECES
from numbastats.kde.likelihood import best_bandwidth
from numbastats.kde.matrices import plugin_whitened, scv_whitened
from numbastats.kde.records import TAIL, KernelName, kernel_of
from numbastats.kde.smoothing import polynomial, unit_ball

__all__ = [
    "canonical_ratio",
    "eq9",
    "isj",
    "likelihood_cv",
    "lscv",
    "normal_reference",
    "plugin",
    "plugin_matrix",
    "roughness",
    "scott",
    "scv",
    "silverman",
]

Form = Literal["radial", "product"]
MOST_AXES = 6  # of rules for whole matrices


def roughness(kernel: KernelName, d: int, form: Form = "radial") -> tuple[float, float]:
    """Integral of the squared kernel, and its variance along one coordinate.

    Parameters
    ----------
    kernel : str
    d : int
    form : {"radial", "product"}

    Returns
    -------
    tuple of float
        R(K) and mu2(K).

    Raises
    ------
    ValueError
        For an unknown kernel.

    Examples
    --------
    >>> from numbastats.kde import bandwidth
    >>> tuple(round(v, 12) for v in bandwidth.roughness("epanechnikov", 1))
    (0.6, 0.2)
    """
    kernel = kernel_of(kernel)
    if not hasattr(d, "__index__") or d < 1:
        raise ValueError(f"d={d!r}: the number of dimensions must be an integer >= 1")
    most = 500 if form == "product" else kernel.most_dimensions
    if d > most:
        raise ValueError(f"d = {d}: the constants of kernel={kernel!r} are no doubles; up to {most} are allowed")
    if form == "product":
        r, mu2 = kernel.roughness(1)
        return r**d, mu2
    return kernel.roughness(d)


def normal_reference(n: float, d: int, kernel: KernelName = "epanechnikov", form: Form = "radial") -> float:
    """Bandwidth with the least asymptotic error for normal samples: equations (9) and (10) of the paper for any kernel.

    Parameters
    ----------
    n : float
        Number of samples, or the effective number for weights.
    d : int
    kernel : str
    form : {"radial", "product"}

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For an unknown kernel.

    Notes
    -----
    ``h = [4 R (2 sqrt pi)^d / (mu2^2 (d + 2))]^(1/(d+4)) n^(-1/(d+4))``; for the Epanechnikov kernel it is A(K) n^(-1/(d+4)) with
    A(K) = {8 c_d^-1 (d + 4) (2 sqrt pi)^d}^(1/(d+4)).

    Examples
    --------
    >>> from numbastats.kde import bandwidth
    >>> round(bandwidth.normal_reference(1, 2), 12)
    2.401873910352
    """
    r, mu2 = roughness(kernel, d, form)
    return (4 * r * (2 * math.sqrt(math.pi)) ** d / (mu2 * mu2 * (d + 2) * n)) ** (1 / (d + 4))


def canonical_ratio(kernel: KernelName, d: int, form: Form = "radial") -> float:
    """Bandwidth of a kernel over that of the Gaussian with the same asymptotic error.

    Parameters
    ----------
    kernel : str
    d : int
    form : {"radial", "product"}

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For an unknown kernel.

    Examples
    --------
    >>> from numbastats.kde import bandwidth
    >>> round(bandwidth.canonical_ratio("biweight", 1), 6)
    2.622615
    """
    r, mu2 = roughness(kernel, d, form)
    return (r / mu2**2 / roughness("gaussian", d)[0]) ** (1 / (d + 4))


def _unitless(x):
    """Samples divided by a power of two near the largest: exact, and the rules do not depend on units."""
    return np.ldexp(x, -np.frexp(np.abs(x).max(0))[1])


def near_one(w):
    """Weights in a unit in which squares neither overflow nor vanish."""
    top = 1.0 if w is None else w.max()
    return w / top if np.isfinite(top) and top > 0 and not 1e-100 < top < 1e100 else w


def _prepare(samples, weights) -> tuple[np.ndarray, np.ndarray | None, float]:
    """Samples of positive weight without a unit, their weights or None, and the effective number."""
    x, w, n = _checked(samples, weights)
    return _unitless(x), w, n


def _checked(samples, weights):
    """Samples of positive weight, their weights or None, and the effective number."""
    rows_alike(samples, weights, ("samples", "weights"))
    x = doubles(samples, "samples")
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or x.shape[0] == 0:
        raise ValueError(f"samples have shape {np.shape(samples)}; pass (n, d) or (n,) with n >= 1")
    if not np.isfinite(x).all():
        raise ValueError("samples contain NaN or inf; drop those rows first")
    if weights is None:
        return x, None, float(len(x))
    w = real64(weights)
    if w.shape != (len(x),) or not (np.isfinite(w).all() and (w >= 0).all() and w.max() > 0):
        raise ValueError(f"weights must be {len(x)} finite numbers >= 0 that are not all 0")
    x, w = x[w > 0], near_one(w[w > 0])
    return x, w, float(w.sum() ** 2 / (w * w).sum())


def eq9(samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None) -> float:
    """Bandwidth rule of the paper, equations (9)-(10).

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    kernel : str
    weights : (n,) array_like, optional
        The effective number (sum w)^2 / sum w^2 replaces n.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For no samples, samples that are not finite, an unknown kernel, and weights that are negative, not finite or all 0.

    References
    ----------
    Lopez-Novoa, Saenz, Mendiburu, Miguel-Alonso, IJHPCA 29 (2015), equations (9)-(10).

    Examples
    --------
    >>> import numpy as np
    >>> from numbastats.kde import bandwidth
    >>> round(bandwidth.eq9(np.zeros((100, 2))), 6)
    1.114851
    """
    x, _, n = _prepare(samples, weights)
    return normal_reference(n, x.shape[1], kernel)


def scott(samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None) -> float:
    """Scott's rule n^(-1/(d+4)), converted from the Gaussian to the kernel.

    Parameters
    ----------
    samples, kernel, weights
        As in `eq9`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `eq9`.

    Examples
    --------
    >>> import numpy as np
    >>> from numbastats.kde import bandwidth
    >>> round(bandwidth.scott(np.zeros((100, 2)), kernel="gaussian"), 6)
    0.464159
    """
    x, _, n = _prepare(samples, weights)
    return n ** (-1 / (x.shape[1] + 4)) * canonical_ratio(kernel, x.shape[1])


def silverman(samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None) -> float:
    """Silverman's rule (4/(n(d+2)))^(1/(d+4)), converted from the Gaussian to the kernel.

    Parameters
    ----------
    samples, kernel, weights
        As in `eq9`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `eq9`.

    Notes
    -----
    The conversion keeps the asymptotic error, so this is the same number as `eq9`.

    Examples
    --------
    >>> import numpy as np
    >>> from numbastats.kde import bandwidth
    >>> round(bandwidth.silverman(np.zeros(100), kernel="gaussian"), 6)
    0.421685
    """
    x, _, n = _prepare(samples, weights)
    d = x.shape[1]
    return (4 / (n * (d + 2))) ** (1 / (d + 4)) * canonical_ratio(kernel, d)


def _one_dimension(name, samples, weights):
    """Sorted samples, their weights, the effective number and the standard deviation."""
    x, w, n = _prepare(samples, weights)
    if x.shape[1] != 1:
        raise ValueError(
            f"bandwidth={name!r} is for d = 1 (got d = {x.shape[1]}); "
            "use 'plugin-matrix', 'plugin', 'lscv', 'eq9', 'scott' or 'silverman'"
        )
    x = x[:, 0]
    mean = np.average(x, weights=w)
    variance = np.average((x - mean) ** 2, weights=w)
    variance *= len(x) / max(len(x) - 1, 1) if w is None else 1 / (1 - 1 / n) if n > 1 else 1.0
    if not variance > 0:
        raise ValueError(f"bandwidth={name!r} needs samples that differ; all {len(x)} are equal")
    order = np.argsort(x, kind="stable")
    return x[order], None if w is None else w[order], n, math.sqrt(variance)


def _without_gaps(x, longest):
    """Distances of sorted samples from the first, gaps between neighbours shortened to `longest`."""
    gaps = np.diff(x)
    return x - x[0] if gaps.max() <= longest else np.concatenate([[0.0], np.cumsum(np.minimum(gaps, longest))])


def isj(samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None) -> float:
    """Improved Sheather-Jones bandwidth, d = 1.

    Parameters
    ----------
    samples, kernel, weights
        As in `eq9`.

    Returns
    -------
    float
        In units of the standard deviation, like every rule here.

    Raises
    ------
    ValueError
        As `eq9`, for more than one dimension, and for samples that are all equal.

    Warns
    -----
    ConvergenceWarning
        Where no root is left: for very few samples, and where a kernel as wide as the root would hold more ties than neighbours.
        Ties among values most of which occur once are then counted once; otherwise Silverman's rule is returned.

    Notes
    -----
    The largest root of the fixed-point equation, n being the number of samples (effective for weights). Rounding moves it little
    up to steps as wide as h; from about 1.2 h on there is no root.

    References
    ----------
    Z. I. Botev, J. F. Grotowski, D. P. Kroese, "Kernel density estimation via diffusion", Annals of Statistics 38 (2010).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> from numbastats.kde import bandwidth
    >>> x = ns.random.normal(size=5000, rng=1)
    >>> bool(0.15 < bandwidth.isj(x, kernel="gaussian") < 0.25)
    True
    """
    x, w, n, sd = _one_dimension("isj", samples, weights)
    h, advice = _isj_root(x, w, n), "Silverman's rule is used"
    values, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    if h is None and np.median(counts) == 1 and len(values) < len(x):
        each = None if w is None else np.bincount(which, w) / counts
        h = _isj_root(values, each, _prepare(values, each)[2])
        advice = advice if h is None else f"the bandwidth is that of the {len(values)} different values"
    elif h is not None:
        return h / sd * canonical_ratio(kernel, 1)
    tied = f", {len(x) - len(values)} of which are ties" * (len(values) < len(x))
    warn(
        f"the Improved Sheather-Jones equation has no root for these {len(x)} samples{tied}; {advice}. "
        "Use another rule" + " or add the rounding noise back" * bool(tied),
        ConvergenceWarning,
    )
    return silverman(samples, kernel, weights) if h is None else h / sd * canonical_ratio(kernel, 1)


def _isj_root(x, w, n):
    """Gaussian bandwidth of sorted samples, of effective number n, in the samples' units; None where ties leave no root."""
    from scipy.fft import dct

    bins, h = 4096, math.inf
    while True:
        y = _without_gaps(x, 100 * h)
        span = 2 * y.max()
        counts = np.histogram(y, bins, (-span / 4, 0.75 * span), weights=w)[0]
        squares = (dct(counts / counts.sum(), type=2)[1:] / 2) ** 2
        root = _fixed_point(squares, n, 7, min(0.01, (2 * h / span) ** 2))
        if root is None or _mostly_ties(x, w, 2 * math.sqrt(root) * span):
            return None
        h = math.sqrt(root) * span
        if h * bins > 2 * span or bins == 2**20:
            return h
        bins *= 4  # narrower than two bins: h is too large, and gaps of 100 h are no matter


def _mostly_ties(x, w, reach):
    """Whether sorted samples have more pairs of equal values than other pairs nearer than `reach`."""
    i = np.arange(len(x))
    w = np.ones(len(x)) if w is None else w
    mass = np.concatenate([[0.0], np.cumsum(w)])
    equal, near = (mass[np.searchsorted(x, x + r, "right")] for r in (0.0, reach))
    return bool(w @ (equal - mass[i + 1]) > w @ (near - equal))


def _fixed_point(squares, n, levels, top):
    """Largest root t of the Improved Sheather-Jones equation for squared cosine coefficients; None where there is none."""
    from scipy.optimize import brentq

    k2 = np.arange(1.0, len(squares) + 1) ** 2

    def norm(s, t):  # squared norm of the s-th derivative
        m = min(len(k2), int(math.sqrt(75.0 / t)) + 1)  # exp(-k^2 pi^2 t) > 1e-321
        return 2 * math.pi ** (2 * s) * np.sum(k2[:m] ** s * squares[:m] * np.exp(-k2[:m] * math.pi**2 * t))

    def excess(t):
        f = norm(levels, t)
        for s in range(levels - 1, 1, -1):
            odd = math.prod(range(1, 2 * s, 2)) / math.sqrt(2 * math.pi)
            f = norm(s, (2 * (1 + 0.5 ** (s + 0.5)) / 3 * odd / (n * f)) ** (2 / (3 + 2 * s)))
        return t - (2 * n * math.sqrt(math.pi) * f) ** (-0.4)

    with np.errstate(all="ignore"):
        while top < 0.2 and not excess(top) > 0:
            top *= 2
        if not top < 0.2:
            return None
        while top > 1e-14:  # in steps shorter than the stretches that rounding leaves between two roots
            low = 0.8 * top if top * len(k2) ** 2 > 0.1 else 1e-14
            if excess(low) < 0:
                return brentq(excess, low, top, xtol=1e-9 * low)
            top = low
    return None


def plugin(
    samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None, *, workers: int | None = None
) -> float:
    """Two-stage direct plug-in bandwidth.

    Parameters
    ----------
    samples, kernel, weights
        As in `eq9`.
    workers : int, optional
        Number of threads for d >= 2; the result does not depend on it.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `eq9`, for samples that are all equal, and for a singular covariance.

    Notes
    -----
    For d = 1 on bins of 1/64 of the pilot bandwidths. For d >= 2 one factor h on whitened samples: the same two stages for the
    integral of (Laplacian f)^2, whose estimates are exact sums over pairs, O(n^2) at worst.

    References
    ----------
    S. J. Sheather, M. C. Jones, "A reliable data-based bandwidth selection method for kernel density estimation", JRSS B 53
    (1991).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> from numbastats.kde import bandwidth
    >>> x = ns.random.normal(size=5000, rng=1)
    >>> bool(0.15 < bandwidth.plugin(x, kernel="gaussian") < 0.25)
    True
    """
    if np.ndim(samples) == 2 and np.shape(samples)[1] > 1:
        x, w, n = _prepare(samples, weights)
        return _plugin_whitened(x, w, n, workers) * canonical_ratio(kernel, np.shape(samples)[1])
    x, w, n, sd = _one_dimension("plugin", samples, weights)
    share = np.arange(len(x)) if w is None else np.concatenate([[0.0], np.cumsum(w[1:] + w[:-1])])
    quartiles = np.interp([0.25 * share[-1], 0.75 * share[-1]], share, x)  # for equal weights the quartiles of NumPy
    spread = (quartiles[1] - quartiles[0]) / 1.3489795
    scale = min(sd, spread) if spread > 0 else sd

    def psi(order, g):
        y = _without_gaps(x, 12 * g)  # beyond 12 g the function below is 1e-25
        bins = 2 ** min(max(math.ceil(math.log2(64 * y.max() / g)), 12), 22)
        counts, edges = np.histogram(y, bins, weights=w)
        pairs = np.fft.irfft(np.abs(np.fft.rfft(counts / counts.sum(), 2 * bins)) ** 2, 2 * bins)[:bins]
        pairs[1:] *= 2
        z = np.arange(bins) * ((edges[1] - edges[0]) / g)
        hermite = z**4 - 6 * z**2 + 3 if order == 4 else z**6 - 15 * z**4 + 45 * z**2 - 15
        return float(np.sum(pairs * hermite * np.exp(-z * z / 2))) / (math.sqrt(2 * math.pi) * g ** (order + 1))

    psi8 = 105 / (32 * math.sqrt(math.pi) * scale**9)
    g1 = (30 / (math.sqrt(2 * math.pi) * psi8 * n)) ** (1 / 9)
    g2 = (-6 / (math.sqrt(2 * math.pi) * psi(6, g1) * n)) ** (1 / 7)
    return (1 / (2 * math.sqrt(math.pi) * psi(4, g2) * n)) ** (1 / 5) / sd * canonical_ratio(kernel, 1)


def _plugin_whitened(x, w, n, workers):
    """Gaussian bandwidth from psi_s = integral of f (Laplacian)^s f: s = 4 of a normal density, 3 and 2 from sums over pairs."""
    from numbastats.kde.neighbours import Neighbours

    y, d = _whiten(x, w), x.shape[1]
    weights = np.ones(len(x)) if w is None else w
    total, square = weights.sum(), np.sum(weights * weights)
    near = None
    psi = math.prod(range(d, d + 8, 2)) / (2**4 * (4 * math.pi) ** (d / 2))
    for s in (3, 2):
        at_zero = (-1) ** s * math.prod(range(d, d + 2 * s, 2)) / (2 * math.pi) ** (d / 2)
        g = (-2 * at_zero / (psi * n)) ** (1 / (d + 2 * s + 2))
        near = near or Neighbours(y, weights, weights, 2 * g, workers)
        # Laplacian^s exp(-z/2) = P(z) exp(-z/2), z = r^2: from P -> 4 z P'' + (2 d - 4 z) P' + (z - d) P
        z, p = np.polynomial.Polynomial([0.0, 1.0]), np.polynomial.Polynomial([1.0])
        for _ in range(s):
            p = 4 * z * p.deriv(2) + (2 * d - 4 * z) * p.deriv() + (z - d) * p
        table = np.zeros(6)
        table[5 - s :] = p.coef[::-1]
        sums = near.sums(np.array([g]), np.array([9 * g]), table, 0)[0, 0]
        psi = (square * at_zero + 2 * sums / (2 * math.pi) ** (d / 2)) / (total**2 * g ** (d + 2 * s))
    return (d / ((2 * math.sqrt(math.pi)) ** d * psi * n)) ** (1 / (d + 4))


# --- whole matrices -----------------------------------------------------------------------------------------------------


def plugin_matrix(
    samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Two-stage plug-in kernel matrix in 1 to 6 dimensions, of any orientation.

    Parameters
    ----------
    samples, weights
        As in `eq9`.
    kernel
        As in `numbastats.kde.grid`.

    Returns
    -------
    (d, d) array
        H, in the samples' units squared.

    Raises
    ------
    ValueError
        As `plugin`, and for more than 6 dimensions.

    Warns
    -----
    ConvergenceWarning
        Where the search for the least criterion has not converged.

    Notes
    -----
    Minimises the asymptotic error ``n^-1 |4 pi H|^(-1/2) + psi_4' (vec H x vec H) / 4`` of the normal kernel. The integrals psi_4
    of f times its fourth derivatives are sums over all pairs of whitened samples with one pilot bandwidth, which minimises the
    sum of the squared errors of all of them (S_AMSE), so that the criterion has a minimum; its bias comes from psi_6 in the same
    way, and that of psi_6 from a normal density. O(n^2): on a busy core 1000 samples in the plane take 0.2 s, 5000 four
    seconds; for more than 1e4 take a subset.

    References
    ----------
    T. Duong, M. L. Hazelton, "Plug-in bandwidth matrices for bivariate kernel density estimation", Journal of Nonparametric
    Statistics 15 (2003) 17-30.

    J. E. Chacon, T. Duong, "Multivariate plug-in bandwidth selection with unconstrained pilot bandwidth matrices", TEST 19 (2010)
    375-398.

    Examples
    --------
    >>> import numbastats as ns
    >>> from numbastats.kde import bandwidth
    >>> x = ns.random.normal(size=(500, 2), rng=1) * [1.0, 10.0]
    >>> H = bandwidth.plugin_matrix(x, "gaussian")
    >>> (
    ...     bool(0.5 < H[0, 0] / bandwidth.eq9(x, "gaussian") ** 2 < 1.5),
    ...     bool(50 < H[1, 1] / H[0, 0] < 200),
    ... )
    (True, True)
    """
    return _matrix("plugin-matrix", plugin_whitened, samples, kernel, weights)


def scv(samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None) -> NDArray[np.float64]:
    """Kernel matrix by smoothed cross-validation in 1 to 6 dimensions, of any orientation.

    Parameters
    ----------
    samples, kernel, weights
        As in `plugin_matrix`.

    Returns
    -------
    (d, d) array
        H, in the samples' units squared.

    Raises
    ------
    ValueError
        As `plugin_matrix`.

    Warns
    -----
    ConvergenceWarning
        As `plugin_matrix`.

    Notes
    -----
    Minimises ``n^-1 |4 pi H|^(-1/2)`` plus the mean over all pairs of ``phi_(2H + 2G) - 2 phi_(H + 2G) + phi_2G`` at their
    difference: the bias with no expansion in H, so that H is wider than that of `plugin_matrix` (by a fifth for 500 normal
    samples in the plane). 2G is that rule's pilot matrix on whitened samples. O(n^2) in each of 20 to 60 steps: on a busy core
    1000 samples in the plane take 0.6 s, 5000 ten seconds; for more take a subset.

    References
    ----------
    T. Duong, M. L. Hazelton, "Cross-validation bandwidth matrices for multivariate kernel density estimation", Scandinavian
    Journal of Statistics 32 (2005) 485-506.

    J. E. Chacon, T. Duong, "Unconstrained pilot selectors for smoothed cross-validation", Australian & New Zealand Journal of
    Statistics 53 (2011) 331-351.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> from numbastats.kde import bandwidth
    >>> x = ns.random.normal(size=(300, 2), rng=1)
    >>> H = bandwidth.scv(x, "gaussian")
    >>> bool(0.5 < np.linalg.det(H) ** 0.5 / bandwidth.eq9(x, "gaussian") ** 2 < 2.0)
    True
    """
    return _matrix("scv", scv_whitened, samples, kernel, weights)


def _matrix(name, rule, samples, kernel, weights):
    """What a rule for whitened samples gives, in the samples' units and for a kernel."""
    x, w, n = _checked(samples, weights)
    d = x.shape[1]
    if d > MOST_AXES:
        raise ValueError(f"bandwidth={name!r} is for up to {MOST_AXES} dimensions (got d = {d}); use 'eq9', 'plugin' or 'lscv'")
    y = _unitless(x)
    spread = _spread(y, w)
    root = np.linalg.cholesky(spread) @ np.linalg.cholesky(rule(whitened(y, w, spread), w, n)) * canonical_ratio(kernel, d)
    root = np.ldexp(root, np.frexp(np.abs(x).max(0))[1][:, None])
    return root @ root.T


# --- exact least-squares cross-validation --------------------------------------------------------------------------------


def _lens(r, d, p=1):
    """K*K of the power kernel at distance r: the integral over the lens of two balls, slice by slice along their axis."""
    x, w = np.polynomial.legendre.leggauss(64)
    r = np.asarray(r, float)[..., None]
    b = (1 - r / 2) * ((1 - x) / 2) ** 2  # nodes are denser towards the lens's tip, where t vanishes
    weight = (1 - r / 2) * (1 - x) / 2 * w
    t, u = b * (2 - b), (2 - r - b) * (r + b)  # 1 - q of both kernels on the axis
    if d == 1:
        inner = (t * u) ** p
    else:  # over the radius in the slice; the sum is positive term by term
        half = (d - 1) / 2
        beta = [math.gamma(p + k + 1) * math.pi**half / math.gamma(p + k + 1 + half) for k in range(p + 1)]
        inner = t ** (half + p) * sum(math.comb(p, k) * (u - t) ** (p - k) * t**k * beta[k] for k in range(p + 1))
    return polynomial(p).norm(d) ** 2 * 2 * np.sum(weight * inner, -1)


@functools.cache
def _convolution_table(d, p=1):
    """Coefficients of P, highest first, in (K*K)(r) = (2 - r)^((d+1)/2+2p) P(r - 1), r in [0, 2].

    The quotient has its nearest singularity at r = -2, so 18 coefficients leave an error of 5.8^-18.
    """
    piece = np.polynomial.Chebyshev.interpolate(lambda x: _lens(x + 1, d, p) / (1 - x) ** ((d + 1) / 2 + 2 * p), 17)
    return np.ascontiguousarray(piece.convert(kind=np.polynomial.Polynomial).coef[::-1])


class _Pieces:
    """Polynomials of degree 5 that interpolate a function on pieces of equal length; their coefficients, highest first."""

    nodes = np.cos(math.pi * (np.arange(6) + 0.5) / 6)
    inverse = np.linalg.inv(np.vander(0.5 + 0.5 * nodes, 6))  # in the place within a piece, from 0 to 1

    def __init__(self, f, units):
        at = (np.arange(units * PIECES)[:, None] + 0.5 + 0.5 * self.nodes) / PIECES
        self.table = f(at.reshape(-1)).reshape(at.shape) @ self.inverse.T

    def __call__(self, r):
        z = np.maximum(r, 0.0) * PIECES
        piece = np.minimum(z.astype(np.int64), len(self.table) - 1)
        t, rows, value = z - piece, self.table[piece], 0.0
        for k in range(6):
            value = value * t + rows[..., k]
        return np.where(z < len(self.table), value, 0.0)


@functools.cache
def _tables(kernel, d):
    """Coefficients of K*K on [0, 2] and of K on [0, 1], distances in units of the reach, for `Neighbours.sums`."""
    reach, norm = math.sqrt(kernel.squared_reach(d, TAIL)), kernel.norm(d)
    plain = _Pieces(lambda r: np.array([norm * kernel.profile(float(v * v), 0.5 * reach**2) for v in r]), 1)
    both = _Pieces(lambda r: reach**d * _overlap(plain, r[:, None], d), 2)
    return np.ascontiguousarray(np.concatenate([both.table, plain.table]).reshape(-1))


def _overlap(f, r, d):
    """Integral of f(x) f(|x - r e|) over R^d, f being 0 beyond 1: twice the half of the lens that is nearer to r e.

    In polar coordinates about r e: there are kinks of f at its centre and at 1 alone.
    """
    x, w = np.polynomial.legendre.leggauss(32)
    x, w = 0.5 + 0.5 * x, 0.5 * w
    smooth, slope = x * x * (3 - 2 * x), 6 * x * (1 - x) * w  # nodes are denser at the ends, where the angles have roots
    ends, total = np.sort(np.concatenate([0 * r, np.minimum(0.5 * r, 1), np.minimum(abs(1 - r), 1), 0 * r + 1], -1), -1), 0.0
    for k in range(3):
        first, width = ends[:, k : k + 1], ends[:, k + 1 : k + 2] - ends[:, k : k + 1]
        s = first + width * smooth
        if d == 1:
            sides = f(np.abs(r + s)) + np.where(s <= 0.5 * r, f(np.abs(r - s)), 0.0)
            total = total + 2 * np.sum(width * slope * f(s) * sides, -1)
            continue
        safe = np.maximum(2 * s, 1e-300)
        begin = np.arccos(np.clip((1 - r * r - s * s) / np.maximum(r * safe, 1e-300), -1, 1))[..., None]
        turn = np.maximum(np.arccos(np.maximum(-r / safe, -1.0))[..., None] - begin, 0.0)
        angle = begin + turn * x
        other = np.sqrt(np.maximum((r * r + s * s)[..., None] + 2 * (r * s)[..., None] * np.cos(angle), 0.0))
        ring = np.sum(turn * w * np.sin(angle) ** (d - 2) * f(other), -1)
        total = total + 2 * (d - 1) * unit_ball(d - 1) * np.sum(width * slope * s ** (d - 1) * f(s) * ring, -1)
    return total


def lscv_score(samples, h, weights=None, kernel="epanechnikov"):
    """Least-squares cross-validation score, exact, with ``H = h^2 Sigma``.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    h : float or sequence of float
    weights : (n,) array_like, optional
    kernel
        As in `numbastats.kde.grid`.

    Returns
    -------
    float or numpy.ndarray
        ``(1/W^2) sum_ij w_i w_j (K*K)_H(x_i - x_j) - (2/W) sum_i w_i f_-i(x_i)``, up to the factor |Sigma|^(-1/2).
    """
    x, w, _ = _prepare(samples, weights)
    hs = np.atleast_1d(np.asarray(h, float))
    scores = _scorer(_whiten(x, w), w, float(hs.max()), kernel_of(kernel))(hs)
    return float(scores[0]) if np.ndim(h) == 0 else scores


def _whiten(x, w):
    return whitened(x, w, _spread(x, w))


def _spread(x, w):
    """The covariance of samples; raises where it is singular."""
    with np.errstate(all="ignore"):
        covariance = np.atleast_2d(np.cov(x.T, aweights=w)) if len(x) > x.shape[1] else np.zeros((x.shape[1],) * 2)
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        factor = np.full(1, math.nan)
    if not np.isfinite(factor).all():
        raise ValueError("the covariance of the samples is singular; remove the dependent axes or pass H=")
    return covariance


def whitened(x, w, matrix):
    """Samples about their mean in units of a matrix."""
    return np.linalg.solve(np.linalg.cholesky(matrix), (x - np.average(x, 0, w)).T).T


def _scorer(y, w, start, kernel, workers=None):
    """The score as a function of an array of bandwidths, which are of the order of `start`."""
    from numbastats.kde.neighbours import Neighbours, gaussian_on_line, sums_on_line

    n, d = y.shape
    weights = np.ones(n) if w is None else w
    total, square = weights.sum(), np.sum(weights * weights)
    second = weights / (total - weights)
    k0, k2 = kernel.norm(d), kernel.roughness(d)[0]
    p, gaussian = kernel.power, kernel.normal
    if d == 1 and (p == 1 or gaussian):
        order = np.argsort(y[:, 0], kind="stable")
        line = np.ascontiguousarray(y[order, 0])
        weights, second = weights[order], second[order]
    if d == 1 and p == 1:
        second = second if w is not None else second[:1].copy()
        smooth, cross = np.array([0.6, 0.0, -3.0, 3.0, 0.0, -0.6]), np.array([0.75, 0.0, -0.75, 0.0, 0.0, 0.0])

        def sums(hs):
            return sums_on_line(line, weights, second, hs, smooth, cross, workers)
    elif p in (2, 3) or p == 1:
        near, table = Neighbours(y, weights, second, 0.5 * start, workers), _convolution_table(d, p)

        def sums(hs):
            return near.sums(hs, 2 * hs, table, p) * [1.0, k0]
    elif not gaussian:
        reach = math.sqrt(kernel.squared_reach(d, TAIL))
        near, table = Neighbours(y, weights, second, 0.5 * start * reach, workers), _tables(kernel, d)

        def sums(hs):
            return near.sums(reach * hs, 2 * reach * hs, table, -1)
    elif d == 1:  # the convolution of two normal densities has twice the variance
        pair = (second[0] / weights[0], weights) if w is None else (1.0, second)

        def sums(hs):
            wide = [0.5 * k2 * gaussian_on_line(line, weights, weights, math.sqrt(2) * h) for h in hs]
            return np.stack([wide, [k0 * pair[0] * gaussian_on_line(line, weights, pair[1], h) for h in hs]], 1)
    else:
        near, one = Neighbours(y, weights, second, start, workers), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

        def sums(hs):
            wide = math.sqrt(2) * hs
            return np.stack([k2 * near.sums(wide, 8 * wide, one, 0)[:, 0], k0 * near.sums(hs, 8 * hs, one, 0)[:, 1]], 1)

    def score(hs):
        hs = np.ascontiguousarray(hs, np.float64)
        smooth, cross = sums(hs).T
        return ((square * k2 + 2 * smooth) / total**2 - 2 / total * cross) / hs**d

    return score


def lscv(
    samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None, *, workers: int | None = None
) -> float:
    """Bandwidth by exact least-squares cross-validation with the kernel itself.

    Parameters
    ----------
    samples, weights
        As in `eq9`.
    kernel
        As in `numbastats.kde.grid`, of `define`, too.
    workers : int, optional
        Number of threads, -1 for all cores; the result does not depend on it.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `plugin`.

    Warns
    -----
    ConvergenceWarning
        Where more than a tenth of the samples are ties, which pull the score to h = 0, or the minimum lies at the end of the
        bracket [0.1, 3] times `eq9`.

    Notes
    -----
    The score is evaluated at 15 bandwidths up to 1.6 times `eq9`, further up while it falls, and 20 to 40 times for the minimum
    near the least of them, to about 1e-7 (that of the uniform kernel is a step function). K*K is exact for the Gaussian and for
    "epanechnikov" to "triweight", by quadrature to about 1e-7 of K*K(0) for the others (1e-6 for the uniform one in the plane).
    For d = 1, "epanechnikov" and "gaussian" each takes O(n) (moments of cells). Otherwise
    all pairs nearer than two supports are visited, O(n^2 h^d), for the Gaussian nearly all; for more than about 1e5 samples (1e4)
    take a subset.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> from numbastats.kde import bandwidth
    >>> x = ns.random.normal(size=500, rng=1)
    >>> 0.5 < bandwidth.lscv(x) / bandwidth.eq9(x) < 1.6
    True
    """
    x, w, n = _prepare(samples, weights)
    return lscv_whitened(_whiten(x, w), kernel, w, n, workers)


def lscv_whitened(y, kernel, w, n, workers=None):
    """`lscv` of samples in units of the kernel matrix, whatever their spread; n is the effective number of samples."""
    kernel = kernel_of(kernel)
    tied = _warn_of_ties(y)
    start = _scale(y, kernel, w, n)
    score = _scorer(y, w, start, kernel, workers)
    grid = np.geomspace(0.1, 3.0, 18) * start
    first = 15  # a minimum above 1.6 times the rule for normal samples is looked for only while the score falls
    scores = score(grid[:first])
    while len(scores) < len(grid) and np.argmin(scores) == len(scores) - 1:
        scores = np.append(scores, score(grid[[len(scores)]]))
    best = int(np.argmin(scores))
    if best not in (0, len(grid) - 1):
        return _least(score, *np.log(grid[[best - 1, best + 1]]))
    if not tied:
        warn(f"the cross-validation score is least at the end of its bracket, h = {grid[best]:.3g}", ConvergenceWarning)
    return float(grid[best])


def _warn_of_ties(y):
    """Whether more than a tenth of the samples are ties, which is said."""
    ties = len(y) - len(np.unique(y, axis=0))
    if ties > len(y) / 10:
        warn(
            f"{ties} of {len(y)} samples are ties, for which cross-validation prefers h = 0; "
            "use another rule or add the rounding noise back",
            ConvergenceWarning,
        )
    return ties > len(y) / 10


def _scale(y, kernel, w, n, form="radial"):
    """The rule for normal samples with the spread of these."""
    with np.errstate(over="ignore"):
        spread = math.sqrt(np.average((y - np.average(y, 0, w)) ** 2, 0, w).mean())
    if not 0.0 < spread < math.inf:
        raise ValueError(f"the samples have the standard deviation {spread:g}: no bandwidth is the best; give one in numbers")
    return normal_reference(n, y.shape[1], kernel, form) * spread


def likelihood_cv(
    samples: ArrayLike, kernel: KernelName = "epanechnikov", weights: ArrayLike | None = None, *, workers: int | None = None
) -> float:
    """Bandwidth by likelihood cross-validation: of the largest mean log density at samples from the others.

    Parameters
    ----------
    samples, weights
        As in `eq9`.
    kernel
        As in `numbastats.kde.grid`, of `define`, too.
    workers : int, optional
        Number of threads, -1 for all cores; the result does not depend on it.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `plugin`.

    Warns
    -----
    ConvergenceWarning
        Where more than a tenth of the samples are ties, or no maximum lies inside the bracket; then `eq9` is returned.

    Notes
    -----
    For bounded kernels every sample must be reached by another one, so that outliers widen the bandwidth; the whole Gaussian (its
    tails are not cut here) is moved less. Some 30 evaluations at all samples, O(n^2) each for the Gaussian; to about 1e-6.

    References
    ----------
    R. P. W. Duin, "On the choice of smoothing parameters for Parzen estimators of probability density functions", IEEE
    Transactions on Computers C-25 (1976) 1175-1179.

    Examples
    --------
    >>> import numbastats as ns
    >>> from numbastats.kde import bandwidth
    >>> x = ns.random.normal(size=300, rng=1)
    >>> 0.5 < bandwidth.likelihood_cv(x, "gaussian") / bandwidth.eq9(x, "gaussian") < 1.5
    True
    """
    x, w, n = _prepare(samples, weights)
    return likelihood_whitened(_whiten(x, w), kernel, w, n, workers)


def likelihood_whitened(y, kernel, w, n, workers=None, form="radial"):
    """`likelihood_cv` of samples in units of the kernel matrix, whatever their spread; n is the effective number of samples."""
    kernel = kernel_of(kernel)
    tied, start = _warn_of_ties(y), _scale(y, kernel, w, n, form)
    best = best_bandwidth(y, kernel, w, start, form == "product" and y.shape[1] > 1, workers)
    if best is None and not tied:
        warn(
            f"no bandwidth has the largest likelihood; the rule for normal samples is taken, h = {start:.3g}", ConvergenceWarning
        )
    return start if best is None else best


def _least(score, low, high):
    """Bandwidth of the least score between two logarithms: finer and finer steps, then the root of a central difference.

    Values alone determine a minimum only to the square root of their rounding errors.
    """
    from scipy.optimize import brentq

    def slope(t):
        return float(np.diff(score(np.exp([t - 3e-4, t + 3e-4])))[0])

    for _ in range(4):
        t = np.linspace(low, high, 9)
        best = min(max(int(np.argmin(score(np.exp(t)))), 1), 7)
        low, high = t[best - 1], t[best + 1]
        if high - low < 0.03 and slope(low) < 0 < slope(high):
            return math.exp(brentq(slope, low, high, xtol=1e-12))
    return math.exp(t[best])


SELECTORS = {
    "eq9": eq9,
    "scott": scott,
    "silverman": silverman,
    "isj": isj,
    "plugin": plugin,
    "lscv": lscv,
    "likelihood-cv": likelihood_cv,
}
MATRICES = {"plugin-matrix": plugin_matrix, "scv": scv}
