"""Estimation of the four parameters of a stable law.

Everything works on data standardised by median and half interquartile range, in the parameterisation S0, in which the law is
continuous in all parameters.
"""

from __future__ import annotations

import contextvars
import dataclasses
import functools
import math
import threading

import numpy as np

from numbastats._core.broadcast import real64, unmasked
from numbastats._core.dispatch import to_host
from numbastats._core.errors import ConvergenceWarning, choice, index_of, names_ours, warn
from numbastats._core.parallel import in_threads, is_executor, mapped, worker_count
from numbastats.scalar.stable import tan_half_pi
from numbastats.stable.functions import CUSP, convert, cusp_scale, isf, local_length, logpdf, pdf, ppf, score

__all__ = [
    "StableFit", "StableFits", "fisher_information", "fit", "fit_ecf", "fit_many", "fit_quantile", "fit_small_alpha",
]  # fmt: skip

NAMES = ("alpha", "beta", "loc", "scale")
_METHODS = ("ml", "quantile", "ecf", "small", "grid")
_INFORMATION, _NAN_POLICIES = ("expected", "observed"), ("raise", "omit")
_LOWEST, _HIGHEST = 0.1, 2.0 - 1e-6
_CUSP = 0.5  # below, the cusp of the density holds most of the information about loc
_STUCK = 0.7  # up to here places for the mode are compared; up to 0.9 found nothing better in 40 values and more
_NEIGHBOURS = np.arange(-24, 25)  # places to compare; of 10^4 values the best was up to 60 places from the half-sample mode
_DEGENERATE = 30.0  # more than what few points gain as alpha falls to its limit: seen up to 26 without weights
_EULER = 0.5772156649015329
_LEAST_SCALE = 1e-12  # of an estimate, in half interquartile ranges
_NEAR_1 = 1e-3  # with a location known in S1 alpha keeps this distance from 1
_SIDE, _SHRINK = 5, 0.6  # points per side of the contracting grid and what a step leaves of its width
_BATCH = contextvars.ContextVar("numbastats_stable_batch", default=None)  # set in `fit_many`: the event that ends its fits


def _warn(message, category=UserWarning):
    """Warn the caller of `fit`; not in `fit_many`, where the filters of `warnings` are shared by its threads."""
    if _BATCH.get() is None:
        warn(f"stable.fit: {message}", category)


@dataclasses.dataclass(frozen=True, eq=False)
class StableFit:
    """Result of a fit.

    Attributes
    ----------
    params : numpy.ndarray, shape (4,)
        alpha, beta, loc, scale in `param`.
    se : numpy.ndarray, shape (4,)
        Standard errors: NaN where there is none, which `message` explains: estimates on the boundary; for alpha < 0.5 what the
        place of the density's cusp determines, which is loc in S1, loc in S0 with a known beta near 0, and the only unknown
        parameter beside a known loc in S0; an information matrix that is not positive definite. Also NaN for fixed parameters
        and for methods other than "ml"; infinite for the beta of a Gaussian.
    cov : numpy.ndarray, shape (4, 4)
    loglik : float
    n_iter, n_eval : int
        Iterations, and evaluations of the likelihood of all data.
    converged : bool
    message, method, param : str
    start : numpy.ndarray, shape (4,)
        Where the search began.
    """

    params: np.ndarray
    se: np.ndarray
    cov: np.ndarray
    loglik: float
    n_iter: int
    n_eval: int
    converged: bool
    message: str
    method: str
    param: str
    start: np.ndarray

    @property
    def law(self):
        """The frozen law `Stable` with these parameters."""
        from numbastats.stable.estimator import Stable

        return Stable(*self.params, param=self.param)


@dataclasses.dataclass(frozen=True, eq=False)
class StableFits:
    """Results of many fits: the fields of `StableFit` with a first axis of data sets; ``fits[i]`` is a `StableFit`.

    A data set that cannot be fitted has NaN parameters, ``converged`` False and the reason in ``message``.
    """

    params: np.ndarray
    se: np.ndarray
    cov: np.ndarray
    loglik: np.ndarray
    n_iter: np.ndarray
    n_eval: np.ndarray
    converged: np.ndarray
    message: list
    method: str
    param: str
    start: np.ndarray

    def __len__(self):
        return self.params.shape[0]

    def __getitem__(self, i):
        i = index_of(i, len(self))
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(StableFit)}
        return StableFit(**{n: v if isinstance(v, str) else v[i] for n, v in values.items()})


# --- data --------------------------------------------------------------------------------------------------------------


def _data(x, weights, nan_policy):
    """Finite values in order, and their weights (None: all 1); ValueError where nothing can be estimated."""
    choice("nan_policy", nan_policy, _NAN_POLICIES)
    x = real64(unmasked(to_host(x, "x"))).reshape(-1)
    w = None if weights is None else real64(to_host(weights, "weights")).reshape(-1)
    if w is not None:
        if w.shape != x.shape:
            raise ValueError(f"weights has {w.size} values, x has {x.size}; they must be as many")
    bad = ~np.isfinite(x)
    if bad.any():
        if nan_policy == "raise":
            raise ValueError(f"x holds {int(bad.sum())} values that are NaN or infinite; drop them, or pass nan_policy='omit'")
        x, w = x[~bad], None if w is None else w[~bad]
    if w is not None:
        if not (w >= 0).all() or not np.isfinite(w).all():
            raise ValueError("weights must be finite and >= 0")
        x, w = x[w > 0], w[w > 0]
        w = w[np.lexsort((w, x))]
    x = np.sort(x)  # the result does not depend on the order of the data, and tables are read in order
    if x.size < 5:
        raise ValueError(f"x holds {x.size} values; at least 5 are needed for four parameters")
    low, middle, high = _quantiles(x, w, (0.25, 0.5, 0.75))
    if not high > low:
        raise ValueError("no spread: half of the values are equal, and the likelihood is unbounded")
    return x, w, middle, 0.5 * (high - low)


def _quantiles(x, w, p):
    """Quantiles of values in order, with weights."""
    if w is None:
        return np.quantile(x, p, method="hazen")
    w = w / w.max()  # the sum may not be a number
    return np.interp(p, (np.cumsum(w) - 0.5 * w) / w.sum(), x)


def _mean(values, w):
    return values.mean(axis=-1) if w is None else values @ w / w.sum()


def _converted(p, to, form=None):
    """Parameters from S1, or "peak" if `form` says so, in S0, or from S0 in S1 or "peak", whose loc is where `_peak` is in S1."""
    a, b, loc, scale = p
    if form == "peak":
        loc = loc - scale * _peak(a, b)
    a, b, loc, scale = convert(a, b, loc, scale, to="S0" if to == "S0" else "S1")
    if to == "peak":
        loc = loc + scale * _peak(a, b)
    return np.array([float(a), float(b), float(loc), float(scale)])


# --- simple estimators: (alpha, beta, loc, scale) in S0 of standardised data ----------------------------------------------

_ALPHAS = np.concatenate([np.arange(0.5, 1.0, 0.05), np.arange(1.0, 1.9, 0.1), [1.9, 1.95, 1.98, 2.0]])
_BETAS = np.linspace(0.0, 1.0, 11)
_FINER = np.linspace(-1.0, 1.0, 15)


@functools.cache
def _quantile_tables():
    """McCulloch's ratios on a grid of (alpha, beta), from our own quantile function, as splines."""
    from scipy.interpolate import RectBivariateSpline
    from scipy.special import ndtri

    p = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    q = np.array([[ppf(p, a, b, workers=1) if a < 2.0 else math.sqrt(2.0) * ndtri(p) for b in _BETAS] for a in _ALPHAS])
    q05, q25, q50, q75, q95 = np.moveaxis(q, 2, 0)
    spread = q95 - q05
    ratios = (spread / (q75 - q25), (q95 + q05 - 2.0 * q50) / spread, q75 - q25, q50)
    return [RectBivariateSpline(_ALPHAS, _BETAS, r, kx=3, ky=3) for r in ratios]


def _by_quantiles(x, w=None, alpha=None, beta=None):
    """McCulloch (1986), with alpha or beta given if they are."""
    q05, q25, q50, q75, q95 = _quantiles(x, w, (0.05, 0.25, 0.5, 0.75, 0.95))
    width, skew, quartiles, median = _quantile_tables()
    v, u = (q95 - q05) / (q75 - q25), (q95 + q05 - 2.0 * q50) / (q95 - q05)
    sign = math.copysign(1.0, u if beta is None else beta)
    if alpha is None or beta is None:
        A = _ALPHAS if alpha is None else np.array([np.clip(alpha, 0.5, 2.0)])
        B = _BETAS if beta is None else np.array([abs(beta)])
        da, db = 0.5, 0.8  # the first of them wider than a cell
        for _ in range(9):  # a grid around the best point, ever finer
            miss = (np.log(width(A, B)) - math.log(v)) ** 2 + (skew(A, B) - abs(u)) ** 2
            i, j = np.unravel_index(np.argmin(miss), miss.shape)
            a, b, da, db = A[i], B[j], 0.2 * da, 0.2 * db
            A = np.clip(a + da * _FINER, 0.5, 2.0) if alpha is None else A
            B = np.clip(b + db * _FINER, 0.0, 1.0) if beta is None else B
    else:
        a, b = np.clip(alpha, 0.5, 2.0), abs(beta)
    scale = (q75 - q25) / float(quartiles(a, b)[0, 0])
    return float(a), float(sign * b), float(q50 - sign * scale * median(a, b)[0, 0]), scale


def _by_characteristic_function(x, w=None, alpha=None, beta=None):
    """Koutrouvelis (1980), Kogon and Williams (1998): regressions on the logarithm of the empirical characteristic function."""
    a, b, m, s = 1.5, 0.0, 0.0, 1.0
    t = np.linspace(0.1, 1.0, 10)
    for _ in range(3):  # standardised anew each time
        y = (x - m) / s
        phi = np.array([complex(_mean(np.cos(u * y), w), _mean(np.sin(u * y), w)) for u in t])  # short steps, for Ctrl-C
        size = np.clip(abs(phi), 1e-12, 1.0 - 1e-12)
        response = np.log(-2.0 * np.log(size))
        if alpha is None:
            a, c = np.polyfit(np.log(t), response, 1)
            a = float(np.clip(a, 0.2, 2.0))
        else:
            a = alpha
        c = float(np.mean(response - a * np.log(t)))
        s1 = math.exp((c - math.log(2.0)) / a)
        if a == 1.0:
            shape = -(2.0 / math.pi) * s1 * t * np.log(s1 * t)
        else:
            shape = math.tan(0.5 * math.pi * a) * ((s1 * t) ** a - s1 * t)
        angle = np.unwrap(np.angle(phi))
        if beta is None and abs(shape).max() > 1e-9:
            (m1, b), *_ = np.linalg.lstsq(np.column_stack([t, shape]), angle, rcond=None)
            b = float(np.clip(b, -1.0, 1.0))
        else:
            b = 0.0 if beta is None else beta
        m1 = float(t @ (angle - b * shape) / (t @ t))
        m, s = m + s * m1, s * s1
    return a, b, m, s


def _half_sample_mode(x, w):
    """Robertson and Cryer (1974): the densest half of values in order, again and again."""
    w = np.ones(x.size) if w is None else w
    while x.size > 3 and x[0] < x[-1]:
        mass = np.cumsum(w)
        ends = np.searchsorted(mass, (mass - w) + (0.5 - 1e-12) * mass[-1])
        first = np.flatnonzero(ends < x.size)
        i = first[np.argmin(x[ends[first]] - x[first])]
        x, w = x[i : ends[i] + 1], w[i : ends[i] + 1]
    if x.size == 3:
        x = x[:2] if x[1] - x[0] < x[2] - x[1] else x[1:]
    return float(x[0] if x[0] == x[-1] else x.mean())


def _by_logarithms(x, w=None, alpha=None, beta=None):
    """Moments of log|x - mode|, for alpha below about 0.5; its location is the one of S1."""
    alphas = (_LOWEST, 0.99) if alpha is None else (alpha, alpha)
    betas = (-1.0, 1.0) if beta is None else (beta, beta)
    return tuple(_converted(_by_moments_about(_half_sample_mode(x, w), x, w, alphas, betas), "S0"))


def _by_moments_about(mode, x, w, alphas, betas, scale=None):
    """Parameters in S1, within limits, by the moments of log|x - mode|: the first two, or with a known scale the first."""
    keep = x != mode
    y = x[keep] - mode
    v = None if w is None else w[keep]
    logs = np.log(abs(y))
    centre = _mean(logs, v)
    theta = math.pi * (float(_mean((y > 0).astype(np.float64), v)) - 0.5)
    if scale is None:
        variance = float(_mean((logs - centre) ** 2, v))
        a = math.sqrt(math.pi**2 / 6.0 / max(variance - math.pi**2 / 12.0 + theta**2, 1e-3))
    else:
        a = _EULER / (_EULER + max(centre - math.log(scale), 0.0))
    a = min(max(a, alphas[0]), alphas[1])
    angle = min(max(a * theta, -0.5 * math.pi * min(a, 0.999)), 0.5 * math.pi * min(a, 0.999))
    b = math.tan(angle) / math.tan(0.5 * math.pi * a) if a < 1.0 else 0.0
    b = min(max(b, betas[0]), betas[1])
    if scale is None:
        scale = math.exp(centre - _EULER * (1.0 / a - 1.0) + math.log(max(math.cos(a * theta), 1e-9)) / a)
        scale = max(scale, _LEAST_SCALE)
    return np.array([a, b, mode, scale])


_SIMPLE = {"quantile": _by_quantiles, "ecf": _by_characteristic_function, "small": _by_logarithms}
_REACH = {"quantile": (0.5, 3.0), "ecf": (0.2, 3.0), "small": (0.0, 0.99)}  # where alpha is held; that 2 is no end of theirs


def _simple(name, x, w, known, form):
    """One of these estimates, with what is known; a location known in S1 is that of the mode for small alpha."""
    if name == "small" and form == "S1":
        limits = [(known.get(n, low), known.get(n, high)) for n, low, high in (("alpha", _LOWEST, 0.99), ("beta", -1.0, 1.0))]
        p = _by_moments_about(known["loc"], x, w, *limits)
    else:
        p = np.array(_SIMPLE[name](x, w, known.get("alpha"), known.get("beta")))
    p[3] = max(p[3], _LEAST_SCALE)
    return np.array([known.get(n, v) for n, v in zip(NAMES, p, strict=True)])


# --- likelihood --------------------------------------------------------------------------------------------------------


def _peak(a, b):
    """A place near the mode of the standard law with alpha < 1 in S1, within a factor of 2 or where the density is flat.

    For small alpha |z|^-alpha is nearly exponential, and the density of z > 0 proportional to that of its power.
    """
    tail = a / ((1.0 + a) * math.gamma(1.0 - a) * math.cos(0.5 * math.pi * a))
    return b * math.hypot(tail ** (1.0 / a), cusp_scale(a, b))


class _Likelihood:
    """Log-likelihood of standardised data, over the mean weight, and its score, with a count; parameters in `form`."""

    def __init__(self, x, w, share, options):
        self.x, self.w, self.share, self.options, self.count, self.form = x, w, share, options, 0, "S0"
        self.stopped = self.between = False  # by the callback; whether the mode of the result is held between observations
        self.known = False  # whether loc is, in S1: next to alpha = 1 a small change of beta moves the law far

    def standardised(self, p):
        """Arguments of the standard density, in S0 for the form "S0", else in S1."""
        with np.errstate(over="ignore"):
            z = (self.x - p[2]) / p[3]
        return z + _peak(p[0], p[1]) if self.form == "peak" else z

    def values(self, p, shift=0.0):
        """Log density of every observation; `shift` moves the standardised values."""
        self.count += 1
        batch = _BATCH.get()
        if batch is not None and batch.is_set():
            raise KeyboardInterrupt  # another thread was interrupted
        param = "S0" if self.form == "S0" else "S1"
        return logpdf(self.standardised(p) + shift, p[0], p[1], param=param, **self.options) - math.log(p[3])

    def total(self, values):
        return float(values.sum() if self.w is None else values @ self.w)

    def __call__(self, p):
        return self.total(self.values(p))

    def scores(self, p, base, free):
        """Derivatives of the log densities by the free parameters, shape (len(free), n), by central differences."""
        a, b, _, s = p
        rows = {}
        if 0 in free:
            h = min(1e-4 * a, 0.25 * max(2.0 - a, 1e-7), math.inf if self.form == "S0" else 1e-2 * (1.0 - a) ** 2)
            rows[0] = (self.values((a + h, *p[1:])) - self.values((a - h, *p[1:]))) / (2.0 * h)
        if 1 in free:
            h = min(2e-4, 2e-3 * abs(1.0 - a)) if self.known else 2e-4
            up, down = min(b + h, 1.0), max(b - h, -1.0)
            rows[1] = (self.values((a, up, *p[2:])) - self.values((a, down, *p[2:]))) / (up - down)
        if 2 in free or 3 in free:
            z, at = (self.x - p[2]) / s, self.standardised(p)
            h = 1e-5 * local_length(a, b, at, at + b * math.tan(0.5 * math.pi * a) if self.form == "S0" else at)
            slope = (self.values(p, h) - self.values(p, -h)) / (2.0 * h)
            rows[2], rows[3] = -slope / s, -(slope * z + 1.0) / s
        return np.array([rows[i] for i in free])


def _inward(p, bounds):
    """Parameters moved inside the bounds."""
    (a0, a1), (b0, b1) = bounds
    return np.array([min(max(p[0], a0), a1), min(max(p[1], b0), b1), p[2], p[3]])


def _climb(likelihood, start, free, bounds, callback):
    """Quasi-Newton steps from the outer product of the scores, damped, within the bounds.

    A parameter at its bound whose score points outside rests. Ends where the expected gain of a step is below 1e-9, or where
    no step gains. The last result is what a step without damping would still gain.
    """
    p = _inward(np.array(start, np.float64), bounds)
    values = likelihood.values(p)
    best, damping, iterations, left = likelihood.total(values), 1e-3, 0, math.inf if free else 0.0
    J = before = None
    while free and iterations < 100 and math.isfinite(best) and not likelihood.stopped:
        iterations += 1
        with np.errstate(invalid="ignore", over="ignore"):  # -inf beyond the end of a support, steep light tails
            D = likelihood.scores(p, values, free)
            D = np.where(np.isfinite(D), D, 0.0)
            g = D.sum(axis=1) if likelihood.w is None else D @ likelihood.w
            outer = D @ D.T if likelihood.w is None else (D * likelihood.w) @ D.T
            J = outer if J is None else _updated(J, *before, p[free], g, outer)
        lost = any(J[j, j] < 1e-290 for j, i in enumerate(free) if i > 1)  # the square of 1/scale is no number
        if lost or not (np.isfinite(g).all() and np.isfinite(J).all() and np.isfinite(outer).all()):
            left = math.inf
            break
        ends = [bounds[i] if i < 2 else (-math.inf, math.inf) for i in free]
        moving = [
            j for j, i in enumerate(free) if not ((p[i] <= ends[j][0] and g[j] < 0.0) or (p[i] >= ends[j][1] and g[j] > 0.0))
        ]
        if not moving:
            left = 0.0
            break
        for information in (J, outer):  # an update along a flat direction may see a curvature that is not there
            J = information
            scale = np.sqrt(np.maximum(np.diag(J), 1e-300))[moving]
            scaled = J[np.ix_(moving, moving)] / scale[:, None] / scale
            left = 0.5 * float(g[moving] @ _step(scaled, g[moving], scale, 1e-9))
            if left >= 1e-9:
                break
        trial, fresh, total = p, values, -math.inf
        while damping < 1e8:
            step = _step(scaled, g[moving], scale, damping)
            gain = 0.5 * float(g[moving] @ step)
            trial = _inward(_moved(p, np.array(free)[moving], step), bounds)
            fresh = likelihood.values(trial)
            total = likelihood.total(fresh)
            if total >= best - 1e-12 * abs(best) or gain < 1e-9:
                break
            damping = max(4.0 * damping, 1e-2)
        if not total >= best - 1e-12 * abs(best):
            break
        improved = total - best
        before = p[free], g
        p, values, best = trial, fresh, max(total, best)
        damping = max(0.2 * damping, 1e-9)
        if callback is not None:
            known = p.copy() if likelihood.form == "S0" else _converted(p, "S0", likelihood.form)
            if callback(iterations, known, best * likelihood.share):
                likelihood.stopped = True
                break
        if gain < 1e-9 or (gain < 1e-6 and improved < 1e-9):
            break
    return p, best, iterations, left


def _step(scaled, g, scale, damping):
    return np.linalg.lstsq(scaled + damping * np.eye(g.size), g / scale, rcond=None)[0] / scale


def _updated(J, p0, g0, p1, g1, outer):
    """The BFGS update of the information; the outer product of the scores where the curvature has the wrong sign."""
    s, y = p1 - p0, g0 - g1
    curvature, length = float(s @ y), float(s @ J @ s)
    if not (curvature > 1e-12 * length > 0.0):
        return outer
    v = J @ s
    return J - np.outer(v, v) / length + np.outer(y, y) / curvature


def _moved(p, indices, step):
    """Parameters after a step that keeps alpha and scale within reason."""
    p = p.copy()
    for i, change in zip(indices, step, strict=True):
        if i == 3:
            change = p[3] * math.expm1(min(max(change / p[3], -1.0), 1.0))
        elif i == 0:
            change = min(max(change, -0.3 * p[0]), 0.3 * p[0])
        p[i] = max(p[i] + change, _LEAST_SCALE) if i == 3 else p[i] + change
    return p


def _starts(x, w, known, given, form):
    """Points to climb from: a start by the user, else simple estimators."""
    if given is not None:
        return [np.array(given, np.float64)]
    starts = []
    for name in ("ecf", "quantile", "small"):
        p = _simple(name, x, w, known, form)
        if name == "small" and "alpha" not in known and p[0] > 0.8:
            continue
        p[:2] = min(p[0], 1.9), min(max(p[1], -0.9), 0.9)  # on the boundary a score may vanish
        starts.append(p)
    return starts


def _within_reach(likelihood, p, free, bounds):
    """The start, or one with another scale and loc where the data are far less likely than under a Cauchy law, or impossible."""
    x, p = likelihood.x, p.copy()
    total = likelihood(p)
    if total >= likelihood.total(-math.log(math.pi) - 2.0 * np.log(np.hypot(1.0, x))) - 3.0 * x.size:
        return p
    if 1 in free and not math.isfinite(total):
        p[1] = _inward((p[0], min(max(p[1], -0.9), 0.9), *p[2:]), bounds)[1]
    if 2 not in free and 3 not in free:
        return p
    ends = np.array([x.min(), 0.0, x.max()])
    at = ppf([0.5 / x.size, 0.5, 1.0 - 0.5 / x.size], p[0], p[1], workers=1)
    scales = [p[3], *np.geomspace(0.1, 100.0 * min(1.0 + abs(x).max(), 1e300), 40)] if 3 in free else [p[3]]
    with np.errstate(over="ignore", invalid="ignore"):
        laws = [np.array([*p[:2], m, s]) for s in scales for m in ([p[2], *(ends - s * at)] if 2 in free else [p[2]])]
        totals = [likelihood(q) if np.isfinite(q).all() else -math.inf for q in laws]
    return laws[int(np.argmax(np.nan_to_num(totals, nan=-math.inf)))]


def _near_the_mode(x, w):
    """Different values, their counts, and indices of some in the tightest clusters, around the half-sample mode, at both ends."""
    mass = np.cumsum(np.ones(x.size) if w is None else w)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        clusters = np.argsort((x[3:] - x[:-3]) / (mass[3:] - mass[:-3]))[:16]
    ends, middle = np.array([0, 1, 2, 3, 4, 5, 6, 8]), np.searchsorted(x, _half_sample_mode(x, w))
    k = [*ends, *(x.size - 1 - ends), *(clusters + 1), *(clusters + 2), *(middle + _NEIGHBOURS)]
    values, counts = np.unique(x, return_counts=True)
    return values, counts, np.searchsorted(values, x[np.clip(k, 0, x.size - 1)])


def _places(values, counts, k, between):
    """Values, or middles between values; middles beside ties, where the likelihood has no bound as alpha tends to 0."""
    single = (counts[k] == 1) & (not between)
    gaps = np.unique(np.clip([k[~single] - 1, k[~single]], 0, values.size - 2))
    return np.concatenate([values[k[single]], 0.5 * values[gaps] + 0.5 * values[gaps + 1]])


def _spiky(likelihood, starts, free, limits, callback):
    """The best of climbs for alpha < 1, where the likelihood has a local maximum in loc with the mode next to every observation.

    For few points and small alpha it has no maximum there: it rises until alpha is at its lower limit. Then the best with the
    mode held between observations is taken, unless it is much less likely.
    """
    limits = (limits[0][0], min(limits[0][1], 0.999)), limits[1]
    near, scale = _near_the_mode(likelihood.x, likelihood.w), None if 3 in free else starts[0][3]
    found = _best_place(likelihood, starts, near, "peak", scale, free, limits, callback)
    lowest = min(limits[0][0], _LOWEST)
    inside = lambda p: 0 not in free or p[0] > lowest + 1e-6  # noqa: E731
    if found[3] < 1e-3 and inside(found[0]):
        return found
    other = _best_place(likelihood, starts, near, "S1", scale, free, limits, callback)
    likelihood.between = other[3] < 1e-3 and inside(other[0]) and other[1] > found[1] - _DEGENERATE
    return other if likelihood.between else found


def _finite(likelihood, p):
    """The log-likelihood, -inf where it is no number."""
    total = likelihood(p) if np.isfinite(p).all() else math.nan
    return -math.inf if math.isnan(total) else total


def _compared(likelihood, laws, near, scale, limits):
    """Laws, with those that have the moments about some places, their log-likelihoods, and the indices of the places.

    For narrow peaks the neighbours of the likeliest place are compared too.
    """
    totals = [_finite(likelihood, p) for p in laws]
    values, counts, k = near
    done = np.array([], np.int64)
    for _ in range(4):
        k = np.setdiff1d(k, done)
        if not k.size:
            break
        done = np.append(done, k)
        places = _places(values, counts, k, likelihood.form == "S1")
        laws = laws + [_inward(_by_moments_about(m, likelihood.x, likelihood.w, *limits, scale), limits) for m in places]
        totals += [_finite(likelihood, p) for p in laws[len(totals) :]]
        likeliest = laws[int(np.argmax(totals))]
        if likeliest[0] > _CUSP:
            break
        k = np.clip(np.searchsorted(values, likeliest[2]) + _NEIGHBOURS, 0, values.size - 1)
    return laws, totals, np.sort(done)


def _best_place(likelihood, starts, near, form, scale, free, limits, callback):
    """The best climb with loc, in a parameterisation that keeps it next to the mode, at one of some places.

    The three likeliest of the laws compared climb with loc held, which is smooth, the best of them with all parameters. Where
    the moments are not free, the places are compared again under the law found.
    """
    likelihood.form = form
    laws, totals, k = _compared(likelihood, [_converted(_inward(p, limits), form) for p in starts], near, scale, limits)
    best, iterations, held = None, 0, [i for i in free if i != 2]
    for count in (3, 1, 1, 1, 1):
        before = best
        for j in np.argsort([-total for total in totals], kind="stable")[:count]:
            p, total, steps, gain = _climb(likelihood, laws[j], held, limits, callback)
            iterations += steps
            if best is None or total > best[1]:
                best = p, total, laws[j], gain
        a, b, _, s = best[0]
        if best is before or len(free) == 4 and limits[0][0] + 1e-6 < a < limits[0][1] - 1e-6:
            break
        laws = [np.array([a, b, place, s]) for place in _places(*near[:2], k, form == "S1")]
        totals = [_finite(likelihood, p) for p in laws]
    p, total, begin, gain = best
    if form == "peak":
        p, total, steps, last = _climb(likelihood, p, free, limits, callback)
        iterations, gain = iterations + steps, min(gain, last)  # steps in loc may be too short to be seen
    likelihood.form = "S0"
    return _converted(p, "S0", form), total, iterations, gain, _converted(begin, "S0", form)


def _grid_search(likelihood, start, free, bounds, profile, x, w, known, callback):
    """The contracting grid of the reference: recentre on the best point, shrink unless it lies on the edge."""
    centre = _inward(np.array(start), bounds)
    half = np.array([0.3, 0.5, 0.4 * centre[3], 0.4 * centre[3]])
    outer = [i for i in free if i < 2]
    inner = [] if profile else [i for i in free if i >= 2]
    best, iterations = likelihood(centre), 0
    steps = np.linspace(-1.0, 1.0, _SIDE)
    while iterations < 60 and (half[free] > 1e-6).any():
        iterations += 1
        found, lowest, where = (best, centre.copy()), math.inf, None
        for shape in np.ndindex(*[_SIDE] * len(outer)):
            p = centre.copy()
            for i, k in zip(outer, shape, strict=True):
                p[i] += half[i] * steps[k]
            p = _inward(p, bounds)
            if profile:
                p[2:] = _by_quantiles(x, w, p[0], p[1])[2:]
                for i, name in ((2, "loc"), (3, "scale")):
                    p[i] = known.get(name, p[i])
            cells = list(np.ndindex(*[_SIDE] * len(inner)))
            points = np.repeat(p[None], len(cells), axis=0)
            for r, cell in enumerate(cells):
                for i, k in zip(inner, cell, strict=True):
                    points[r, i] += half[i] * steps[k]
            if 3 in inner:
                points[:, 3] = np.maximum(points[:, 3], 1e-9)
            with np.errstate(over="ignore"):
                z = (x - points[:, 2:3]) / points[:, 3:]
            values = logpdf(z, p[0], p[1], **likelihood.options) - np.log(points[:, 3:])
            likelihood.count += len(cells)
            totals = values.sum(axis=1) if w is None else values @ w
            lowest = min(lowest, float(totals.min()))
            r = int(np.argmax(totals))
            if totals[r] > found[0]:
                found, where = (float(totals[r]), points[r]), (shape, cells[r])
        on_edge = where is not None and any(k in (0, _SIDE - 1) for k in (*where[0], *where[1]))
        best, centre = found
        if not on_edge:
            half = half * _SHRINK
        if callback is not None and callback(iterations, centre.copy(), best * likelihood.share):
            likelihood.stopped = True
            break
        if best - lowest < 1e-8 * max(1.0, abs(best)):
            break
    return centre, best, iterations


# --- standard errors ------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _unit_information(alpha, beta, form):
    """Expected information of one observation at loc 0, scale 1, by Gauss-Legendre.

    In the probability, panels towards its ends; for small alpha in log|x1|, x1 = x - zeta: most of what is known about loc lies
    in the peak or cusp at zeta.
    """
    nodes, weights = np.polynomial.legendre.leggauss(8)
    if alpha < CUSP:
        with np.errstate(divide="ignore"):
            peak = max(float(np.log(cusp_scale(alpha, beta))), -690.0)
        edges = np.arange(peak - 12.0, min(32.0 / alpha + 4.0, 708.0), 0.125)
        v = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1.0) / 2.0).ravel()
        x1 = np.concatenate([np.exp(v), -np.exp(v)])
        w = np.tile((np.diff(edges)[:, None] * weights / 2.0).ravel() * np.exp(v), 2)
        w = w * pdf(x1, alpha, beta, param="S1", workers=1)
        D = score(x1, alpha, beta, param="S1", workers=1)
    else:
        edges = np.concatenate([[0.0], 0.5 ** np.arange(40, 0, -1.0)])
        u = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1.0) / 2.0).ravel()
        w = np.tile((np.diff(edges)[:, None] * weights / 2.0).ravel(), 2)
        x = np.concatenate([f(u, alpha, beta, param=form, workers=1) for f in (ppf, isf)])
        D = score(x, alpha, beta, param=form, workers=1)
    keep = np.isfinite(D).all(axis=1) & (w > 0.0)
    D, w = D[keep], w[keep]
    J = (D * w[:, None]).T @ D
    if alpha < CUSP and form == "S0":  # loc in S1 is that in S0 - beta t scale
        slopes = _slopes((alpha, beta, 0.0, 1.0), "S1")
        J = slopes.T @ J @ slopes
    return 0.5 * (J + J.T)


def fisher_information(alpha, beta, scale=1.0):
    """Expected information of one observation about (alpha, beta, loc, scale) in S0.

    Parameters
    ----------
    alpha : float
        In [0.1, 2).
    beta : float
        In (-1, 1).
    scale : float

    Returns
    -------
    numpy.ndarray, shape (4, 4)
        Symmetric; its inverse over n is the asymptotic covariance of maximum likelihood. Observed errors: 1e-10 relative (loc,
        alpha up to 0.6), 1e-6 (alpha = 1), 2e-5 next to alpha = 0.9.

    Raises
    ------
    ValueError
        Outside these ranges: at alpha = 2 and beta = +-1 there is no regular information.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.stable.fisher_information(1.0, 0.0).diagonal()[2:].round(6).tolist()  # Cauchy: 1/2
    [0.5, 0.5]
    """
    if not (_LOWEST <= alpha < 2.0 and -1.0 < beta < 1.0 and 0.0 < scale < math.inf):
        raise ValueError(
            f"alpha={alpha!r}, beta={beta!r}, scale={scale!r}: use alpha in [{_LOWEST}, 2), beta in (-1, 1) and a positive scale"
        )
    return _information(alpha, beta, scale, "S0")


def _information(alpha, beta, scale, form):
    units = np.array([1.0, 1.0, 1.0 / scale, 1.0 / scale])
    return _unit_information(float(alpha), float(beta), form) * units[:, None] * units


def _covariance(p, free, mass, kind, likelihood):
    """Covariance of the estimates in S0, NaN where there is none; None if the information is not positive definite."""
    cov = np.full((4, 4), np.nan)
    if not free:
        return cov
    if p[0] >= _HIGHEST:  # a Gaussian: variance 2 scale^2; alpha and beta have no standard error
        both = [i for i in (2, 3) if i in free]
        cov[np.ix_(both, both)] = np.diag([(2.0 if i == 2 else 0.5) * p[3] ** 2 / mass for i in both])
        return cov
    b = min(max(p[1], -1.0 + 1e-6), 1.0 - 1e-6)
    if p[0] < _CUSP and likelihood.form == "S0":
        return _around_a_cusp(p, b, free, mass, kind, likelihood, cov)
    J = mass * _information(p[0], b, p[3], likelihood.form)[np.ix_(free, free)]
    inverse = _inverse(_observed(J, p, free, likelihood) if kind == "observed" else J)
    if inverse is None:
        return None
    cov[np.ix_(free, free)] = inverse
    return cov


def _inverse(J):
    """Inverse of an information matrix, None where it is not positive definite."""
    try:
        np.linalg.cholesky(J)
        return np.linalg.inv(J)
    except np.linalg.LinAlgError:
        return None


def _observed(J, p, free, likelihood):
    """Observed information about the free parameters, of which J is the expected one; zeros where J has no inverse."""
    inverse = _inverse(J)
    if inverse is None:
        return np.zeros_like(J)
    root = np.linalg.cholesky(inverse)
    moves = np.zeros((len(free), 4))
    moves[:, free] = root.T
    back = np.linalg.inv(root)
    return back.T @ _hessian(likelihood, p, moves) @ back


def _around_a_cusp(p, b, free, mass, kind, likelihood, cov):
    """For small alpha, by way of S1, where the location is that of the cusp and may be known far better than all else.

    There the information stays well-conditioned; that about loc is always the expected one. What the cusp determines has no
    standard error: its place is not normally distributed, with errors 1.5 to 2 times what the information says.
    """
    q = _converted(p, "S1")
    rest, rows = [i for i in free if i != 2], sorted({*free, 2})
    with np.errstate(over="ignore", invalid="ignore"):
        J = mass * _information(q[0], b, q[3], "S1")
    if not np.isfinite(J[2]).all():  # a peak so narrow that squares of its width are no numbers
        J[2] = J[:, 2] = 0.0
        J[2, 2] = 1e300
    if kind == "observed" and rest:
        likelihood.form = "S1"
        J[np.ix_(rest, rest)] = _observed(J[np.ix_(rest, rest)], q, rest, likelihood)
        likelihood.form = "S0"
    slopes = _slopes(q, "S0")
    found = []
    for at in (rows, rest):  # without and with the place of the cusp known
        inverse = _inverse(J[np.ix_(at, at)])
        if inverse is None:
            return None
        both = np.zeros((4, 4))
        both[np.ix_(at, at)] = inverse
        both = slopes @ both @ slopes.T
        if 2 not in free and both[2, 2] > 0.0:  # loc in S0 is known
            both = both - np.outer(both[2], both[2]) / both[2, 2]
        found.append(both)
    every, held = found
    fine = [i for i in free if held[i, i] > 0.25 * every[i, i]]
    cov[np.ix_(fine, fine)] = every[np.ix_(fine, fine)]
    return cov


def _slopes(params, to):
    """Derivatives of the converted parameters by the given ones: loc changes by beta t scale, t = tan(pi alpha/2)."""
    a, b, _, s = params
    t = tan_half_pi(a)[0]
    by = np.array([b * s * 0.5 * math.pi * (1.0 + t * t), t * s, 0.0, b * t])
    if a == 1.0:
        by = np.array([math.inf, s * math.log(s), 0.0, b * (math.log(s) + 1.0)]) * (2.0 / math.pi)
    J = np.eye(4)
    J[2] += -by if to == "S1" else by
    return J


def _hessian(likelihood, p, moves):
    """Minus the matrix of second differences of the log-likelihood by moves that the expected information makes unit ones."""
    shape = min(p[0], 2.0 - p[0], math.inf if likelihood.form == "S0" else 5e-3 * abs(1.0 - p[0]))  # S1 ends at alpha = 1
    room, reach = np.array([shape, 1.0 - abs(p[1]), math.inf, p[3]]), np.abs(moves).max(axis=0)
    step = max(min([0.02, *(0.4 * room[reach > 0] / reach[reach > 0])]), 1e-5)
    k = len(moves)
    J, middle = np.empty((k, k)), likelihood(p)
    at = lambda *parts: likelihood(p + step * sum(sign * moves[i] for i, sign in parts))  # noqa: E731
    for i in range(k):
        J[i, i] = -(at((i, 1)) - 2.0 * middle + at((i, -1))) / step**2
        for j in range(i):
            mixed = at((i, 1), (j, 1)) - at((i, 1), (j, -1)) - at((i, -1), (j, 1)) + at((i, -1), (j, -1))
            J[i, j] = J[j, i] = -mixed / (4.0 * step**2)
    return J


# --- the public functions ------------------------------------------------------------------------------------------------


def _fixed_values(fixed):
    known = dict(fixed or {})
    for name, value in known.items():
        if name not in NAMES:
            raise ValueError(f"fixed holds {name!r}; it may hold {', '.join(NAMES)}")
        if np.ndim(value) or np.asarray(value).dtype.kind not in "fiu":
            raise TypeError(f"fixed {name}={value!r} is not a number; pass one, or leave {name} out to estimate it")
        allowed = {"alpha": 0.0 < value <= 2.0, "beta": -1.0 <= value <= 1.0, "scale": 0.0 < value < math.inf}
        if not allowed.get(name, math.isfinite(value)):
            ranges = {"alpha": "(0, 2]", "beta": "[-1, 1]", "loc": "finite numbers", "scale": "positive numbers"}
            raise ValueError(f"fixed {name}={value!r} is out of range; use {ranges[name]}")
    return {n: float(v) for n, v in known.items()}


def _bounds(bounds, known):
    both = {"alpha": (_LOWEST, 2.0), "beta": (-1.0, 1.0)} | dict(bounds or {})
    for name, pair in both.items():
        if name not in ("alpha", "beta"):
            raise ValueError(f"bounds holds {name!r}; it may hold alpha and beta")
        if np.shape(pair) != (2,) or np.asarray(pair).dtype.kind not in "fiu":
            raise ValueError(f"bounds of {name} are {pair!r}; use a pair (low, high)")
        low, high = pair
        least, most = (0.0, 2.0) if name == "alpha" else (-1.0, 1.0)
        if not (least <= low <= high <= most) or (name == "alpha" and low <= 0.0):
            raise ValueError(f"bounds of {name} are {(low, high)!r}; use low <= high within {(least, most)}")
    a = (known["alpha"],) * 2 if "alpha" in known else both["alpha"]
    b = (known["beta"],) * 2 if "beta" in known else both["beta"]
    return a, b


@names_ours
def fit(
    x,
    method="ml",
    *,
    start=None,
    fixed=None,
    bounds=None,
    weights=None,
    param="S0",
    se="expected",
    profile=False,
    nan_policy="raise",
    callback=None,
    device=None,
    workers=None,
):
    """Estimate the parameters of a stable law.

    Parameters
    ----------
    x : array_like
        Observations, any shape; at least 5.
    method : {"ml", "quantile", "ecf", "small", "grid"}
        Maximum likelihood; McCulloch's quantiles (alpha from 0.5 on); regression on the empirical characteristic function;
        moments of logarithms (alpha below about 0.5); the reference's contracting grid.
    start : sequence of 4 floats, optional
        alpha, beta, loc, scale to begin with, in `param`; by default the simple estimators are tried.
    fixed : dict, optional
        Values of parameters that are known, by name. A known loc in S1, such as the end 0 of the support of positive laws, holds
        the mode for small alpha; not with "grid", nor with alpha = 1, where that location is infinite. A known loc in S0 does not
        hold it: with alpha below 0.6 the search may end at a lesser maximum.
    bounds : dict, optional
        Ranges of "alpha" and "beta", by default (0.1, 2) and (-1, 1).
    weights : array_like, optional
        Weights of the observations, >= 0, as counts: their sum is the number of observations in the log-likelihood and the
        standard errors.
    param : {"S0", "S1"}
        Parameterisation of the result, of `start` and of `fixed`.
    se : {"expected", "observed"}
        Which information gives the standard errors of "ml".
    profile : bool
        With "grid": location and scale follow from the quartiles for every (alpha, beta).
    nan_policy : {"raise", "omit"}
    callback : callable, optional
        For "ml" and "grid": called with (iteration, parameters in S0 of the standardised data, log-likelihood); the search ends
        when it returns True.
    device, workers
        As in `pdf`.

    Returns
    -------
    StableFit

    Raises
    ------
    ValueError
        For fewer than 5 observations, no spread, infinite values, or options out of range.
    TypeError
        For values that are not real numbers of single or double precision.

    Warns
    -----
    ConvergenceWarning
        When the search did not converge, or the likelihood of the result is 0; the best point is returned.

    Notes
    -----
    Maximum likelihood climbs by Fisher scoring from each start and keeps the best. Below alpha = 1 the likelihood has a local
    maximum with the mode next to every observation: some hundred observations in clusters, around the half-sample mode and at
    both ends are compared, by laws that have the moments of log|x - mode|, and the likeliest three climb. The result is the best
    one found, not proved to be the largest. As alpha tends to 0 the likelihood has no bound: alpha ends at 0.1, and where few
    points would end there the mode is held midway between two observations, which the message says. The likelihood of such a
    result can be passed by laws with the mode nearer to an observation, such as a `start` may lead to: they lie on the way to
    alpha = 0.1. Standard errors come from the inverse information, below alpha = 0.5 by way of S1; see `StableFit`.

    References
    ----------
    J. H. McCulloch, Commun. Statist. Simula. 15 (1986); I. A. Koutrouvelis, JASA 75 (1980); J. Julian-Moreno and others,
    "Fast parallel alpha-stable distribution function evaluation and parameter estimation using OpenCL in GPGPUs" (2016).

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.6, 0.4, loc=3.0, scale=2.0, size=2000, rng=1)
    >>> found = ns.stable.fit(x)
    >>> found.converged, bool((abs(found.params - [1.6, 0.4, 3.0, 2.0]) < 4 * found.se).all())
    (True, True)
    """
    choice("method", method, _METHODS)
    choice("param", param, ("S0", "S1"))
    choice("se", se, _INFORMATION)
    if callback is not None and method in _SIMPLE:
        raise ValueError(f"method={method!r} has no iterations for a callback; use 'ml' or 'grid', or callback=None")
    known = _fixed_values(fixed)
    limits = _bounds(bounds, known)
    known = {name: low for name, (low, high) in zip(NAMES, limits, strict=False) if low == high} | known
    x, w, centre, unit = _data(x, weights, nan_policy)
    form = "S1" if param == "S1" and "loc" in known and known.get("beta") != 0.0 else "S0"
    (low, high), _ = limits
    if form == "S1" and (method == "grid" or low == high == 1.0 or 1.0 - _NEAR_1 < low < high < 1.0 + _NEAR_1):
        raise ValueError("a fixed loc in S1 needs another method than 'grid', and alpha other than 1; or fix loc in S0")
    with np.errstate(over="ignore"):
        y = (x - centre) / unit
    if lost := int(np.isinf(y).sum()):
        raise ValueError(
            f"{lost} of the values are more than 1e308 times as far from the median as half of the values are; drop them"
        )
    share = 1.0  # the mean weight: tolerances are those of weights of mean 1
    if w is not None:
        share = float(w.max() * (w / w.max()).mean())
        w = w / share
    inner = dict(known)
    if "loc" in inner:
        inner["loc"] = (inner["loc"] - centre) / unit
    if "scale" in inner:
        inner["scale"] = inner["scale"] / unit
    if start is not None:
        start = np.array(start, np.float64)
        if start.shape != (4,) or not (0 < start[0] <= 2 and abs(start[1]) <= 1 and start[3] > 0 and np.isfinite(start).all()):
            raise ValueError(
                f"start={start!r} is not a law; use alpha in (0, 2], beta in [-1, 1], a finite loc, a positive scale"
            )
        if param == "S1" and form == "S0":
            start = _converted(start, "S0")
        start = np.array([start[0], start[1], (start[2] - centre) / unit, start[3] / unit])
    for i, name in enumerate(NAMES):
        if start is not None and name in inner:
            start[i] = inner[name]
    free = [i for i, name in enumerate(NAMES) if name not in known]
    likelihood = _Likelihood(y, w, share, dict(device=device, workers=workers))
    likelihood.form, likelihood.known = form, form == "S1"
    iterations, gain = 0, 0.0
    if method in _SIMPLE:
        begin = _simple(method, y, w, inner, form)
        p = _inward(begin, limits)
        best = likelihood(p)
    else:
        if method == "grid":
            begin = start if start is not None else _simple("quantile", y, w, inner, form)
            begin = _within_reach(likelihood, _inward(begin, limits), free, limits)
            p, best, iterations = _grid_search(likelihood, begin, free, limits, profile, y, w, inner, callback)
        else:
            p, best, iterations, gain, begin = _maximise(likelihood, y, w, inner, start, free, limits, callback)
        if 0 in free and limits[0][1] == 2.0 and p[0] > 1.95:
            p, best = _gaussian_end(likelihood, p, best, y, w, inner)
    converged, notes, inside = _judged(method, begin, p, best, gain, iterations, x, free, limits, likelihood)
    mass = float(x.size)
    cov = _covariance(p, inside, mass, se, likelihood) if method == "ml" and math.isfinite(best) else None
    definite = cov is not None
    cov = cov if definite else np.full((4, 4), np.nan)
    if p[0] == 2.0 and 1 in free and method == "ml":
        cov[1, 1] = np.inf
    cov /= share
    units = np.array([1.0, 1.0, unit, unit])
    params = p * units + [0.0, 0.0, centre, 0.0]
    origin = np.asarray(begin) * units + [0.0, 0.0, centre, 0.0]
    if param == "S1" and form == "S0":
        cov = _to_s1(cov, _slopes(params, "S1") * units / units[:, None])
        if p[0] < _CUSP:  # the place of the cusp
            cov[2] = cov[:, 2] = np.nan
        params, origin = _converted(params, "S1"), _converted(origin, "S1")
    for i, name in enumerate(NAMES):  # as given, without the roundings of the standardised data
        if name in known:
            params[i] = origin[i] = known[name]
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):  # the square of a scale may not be a number
        errors, cov = np.sqrt(np.diag(cov)) * units, cov * units[:, None] * units
    lost = [NAMES[i] for i in inside if method == "ml" and p[0] < _HIGHEST and np.isnan(errors[i])]
    if lost and not definite:
        notes.append("no standard errors: the information matrix is not positive definite")
    elif lost:
        notes.append(
            f"no standard error of {', '.join(lost)}: below alpha = {_CUSP} the cusp of the density tells it, whose place is not "
            "normally distributed"
        )
    loglik = float((best - mass * math.log(unit)) * share)
    return StableFit(
        params, errors, cov, loglik, iterations, likelihood.count, converged, "; ".join(notes) or "ok", method, param, origin
    )


def _judged(method, begin, p, best, gain, iterations, x, free, limits, likelihood):
    """Whether the search converged, notes on its result p, and which estimates are off their limits; others are put on them.

    It is for `begin`, the estimate of a simple method before it was moved inside the limits, to be within the method's reach.
    """
    converged = math.isfinite(best) and 0.0 <= gain < 1e-3 and not likelihood.stopped
    tied = p[0] < 0.5 and np.count_nonzero(np.diff(x)) < 0.99 * x.size - 1.0
    notes, inside = [], list(free)
    if likelihood.stopped:
        notes.append(f"stopped by the callback after {iterations} iterations")
    elif best == math.inf:
        notes.append("the likelihood is infinite: some values coincide with a peak narrower than doubles can tell")
        _warn(f"{notes[0]}; raise the lower bound of alpha", ConvergenceWarning)
    elif not math.isfinite(best):
        notes.append("the likelihood is 0: some values are impossible under the law found")
        _warn(f"{notes[0]}; fix fewer parameters", ConvergenceWarning)
    elif not converged:
        notes.append(f"not converged after {iterations} iterations: a step would still gain about {gain:.1e}")
        if not tied:
            _warn(f"{notes[0]}; pass another start, or more data", ConvergenceWarning)
    if x.size <= 20:
        notes.append("few points")
    if likelihood.between and p[0] < 1.0:
        notes.append("few points for so small an alpha: the mode is held between observations")
    least, most = _REACH.get(method, (0.0, 3.0))
    if begin[0] < least or begin[0] > most or (0 in free and begin[0] in (least, most)):
        small = begin[0] <= least
        notes.append(f"alpha is {'too' if small else 'not'} small: this method ends at {least if small else most}")
        _warn(f"{notes[-1]}; use method='ml'", ConvergenceWarning)
        converged = False
    if p[0] == 2.0 and (0 in free or 1 in free):
        p[1] = p[1] if 1 not in free else 0.0
        notes.append("alpha = 2: a Gaussian, beta has no meaning")
    else:
        for i in [i for i in free if i < 2]:
            low, high = limits[i] if i == 1 else (limits[0][0], min(limits[0][1], _HIGHEST))
            if not low + 1e-9 < p[i] < high - 1e-9:
                p[i] = low if p[i] < 0.5 * (low + high) else high
                note = f"boundary: {NAMES[i]} = {p[i]:.6g}"
                if method == "ml":
                    note += (
                        ", without a standard error: its interval is one-sided; fits with "
                        f"fixed={{{NAMES[i]!r}: value}} within 1.92 of this loglik make one of 95 %"
                    )
                notes.append(note)
                inside.remove(i)
    if likelihood.form == "S1" and 0 in inside and abs(p[0] - 1.0) < 1.1 * _NEAR_1:
        notes.append(f"alpha = {p[0]:.6g}: next to 1, where the location in S1 is infinite")
        inside.remove(0)
    if tied:
        notes.append("ties")
        _warn("more than 1 % of the values are tied and alpha is small: rounded data make the likelihood infinite")
    return converged, notes, inside


def _maximise(likelihood, y, w, inner, start, free, limits, callback):
    """The best of the climbs from all starts, kept below alpha = 2, where the score ends."""
    best, spiky, ((low, high), skew) = None, [], limits
    limits = (low, max(low, min(high, _HIGHEST))) if 0 in free else (low, high), skew
    starts = _starts(y, w, inner, start, likelihood.form)
    if likelihood.form == "S1":
        return _beside_1(likelihood, starts, free, limits, callback)
    for begin in starts:
        begin = _inward(begin, limits)
        if best is not None and likelihood(begin) < best[1] - 0.02 * y.size and abs(begin[0] - best[0][0]) < 0.2:
            continue  # another start of the same kind, and a worse one
        begin = _within_reach(likelihood, begin, free, limits)
        if begin[0] < _STUCK and 2 in free:
            spiky.append(begin)
            continue
        found = *_climb(likelihood, begin, free, limits, callback), begin
        if found[3] >= 1e-3 and found[0][0] < 0.9 and 2 in free:  # stuck at a cusp
            spiky.append(found[0])
        if best is None or found[1] > best[1] + 1e-9:
            best = found
        if best[0][0] >= _HIGHEST and start is None and len(starts) < 4:  # perhaps beside a maximum with one heavy tail
            starts += [np.array([1.9, skew, *best[0][2:]]) for skew in (-0.9, 0.9)]
        elif 1.1 < best[0][0] < _HIGHEST and best[3] < 1e-6:
            return best  # regular: one maximum
    if spiky:
        found = _spiky(likelihood, spiky, free, limits, callback)
        if found[0][0] > 0.9:  # perhaps held at 0.999, where the form "peak" ends
            p, total, steps, gain = _climb(likelihood, found[0], free, limits, callback)
            found = p, total, found[2] + steps, gain, found[4]
        if best is None or found[1] > best[1] + 1e-9:
            return found
        likelihood.between = False
    return best


def _beside_1(likelihood, starts, free, limits, callback):
    """The best of the climbs from all starts with a known location in S1, which is infinite at alpha = 1."""
    best, iterations, ((low, high), skew) = None, 0, limits
    for side in ((low, min(high, 1.0 - _NEAR_1)), (max(low, 1.0 + _NEAR_1), high)):
        if 0 in free and side[0] > side[1]:
            continue
        within = (side if 0 in free else limits[0]), skew
        for begin in starts:
            begin = _within_reach(likelihood, _near_the_bulk(_inward(begin, within), free, within), free, within)
            p, total, steps, gain = _climb(likelihood, begin, free, within, callback)
            iterations += steps
            if best is None or not total <= best[1]:
                best = p, total, gain, begin
        if 0 not in free:
            break
    p, total, gain, begin = best
    return p, total, iterations, gain, begin


def _near_the_bulk(p, free, limits):
    """A start with a known location in S1 whose location in S0, the former + beta t scale, is near the median, which is 0."""
    a, b, loc, scale = p
    wanted, above = -loc / scale, a > 1.0
    if abs(wanted) < 3.0:
        return p
    t = 2.0 * wanted if 1 in free else wanted / b if b and (wanted * b < 0.0) == above else 0.0
    if 0 in free and t:
        size = 2.0 / math.pi * math.atan(abs(t))
        a = 2.0 - size if above else size
    a = _inward((a, *p[1:]), limits)[0]
    t = tan_half_pi(a)[0]
    return _inward((a, wanted / t if 1 in free and t else b, loc, scale), limits)


def _gaussian_end(likelihood, p, best, y, w, inner):
    """Whether the Gaussian is as likely as what was found."""
    mean = inner.get("loc", float(_mean(y, w)))
    scale = inner.get("scale", math.sqrt(0.5 * float(_mean((y - mean) ** 2, w))))
    q = np.array([2.0, inner.get("beta", 0.0), mean, scale])
    total = likelihood(q)
    return (q, total) if total >= best - 1e-7 else (p, best)


def _to_s1(cov, slopes):
    """Covariance by the delta method, of what has one."""
    known = np.ix_(*[np.isfinite(np.diag(cov))] * 2)
    cov[known] = slopes[known] @ cov[known] @ slopes[known].T
    return cov


def fit_quantile(x, *, fixed=None, weights=None, param="S0", nan_policy="raise"):
    """McCulloch's estimate from five quantiles; for alpha >= 0.5.

    Parameters
    ----------
    x, fixed, weights, param, nan_policy
        As in `fit`.

    Returns
    -------
    StableFit

    Raises
    ------
    ValueError
        As `fit`.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.5, 0.0, size=20_000, rng=1)
    >>> float(ns.stable.fit_quantile(x).params[0].round(1))
    1.5
    """
    return fit(x, "quantile", fixed=fixed, weights=weights, param=param, nan_policy=nan_policy)


def fit_ecf(x, *, fixed=None, weights=None, param="S0", nan_policy="raise"):
    """Estimate from the empirical characteristic function, by regression.

    Parameters
    ----------
    x, fixed, weights, param, nan_policy
        As in `fit`.

    Returns
    -------
    StableFit

    Raises
    ------
    ValueError
        As `fit`.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.5, 0.0, size=20_000, rng=1)
    >>> float(ns.stable.fit_ecf(x).params[0].round(1))
    1.5
    """
    return fit(x, "ecf", fixed=fixed, weights=weights, param=param, nan_policy=nan_policy)


def fit_small_alpha(x, *, fixed=None, weights=None, param="S0", nan_policy="raise"):
    """Estimate from moments of log|x - mode|, for alpha below about 0.5, where the other simple estimators fail.

    Parameters
    ----------
    x, fixed, weights, param, nan_policy
        As in `fit`.

    Returns
    -------
    StableFit

    Raises
    ------
    ValueError
        As `fit`.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(0.3, 0.5, size=20_000, rng=1)
    >>> float(ns.stable.fit_small_alpha(x).params[0].round(1))
    0.3
    """
    return fit(x, "small", fixed=fixed, weights=weights, param=param, nan_policy=nan_policy)


def _fit_one(job, stop=None):
    """One data set of many, with its reason if it cannot be fitted. Module-level, so that it pickles."""
    x, method, options = job
    token = _BATCH.set(stop or threading.Event())
    try:
        with np.errstate(all="ignore"):
            return fit(x, method, **options)
    except ValueError as error:
        none = np.full(4, np.nan)
        return StableFit(none, none, np.full((4, 4), np.nan), math.nan, 0, 0, False, str(error), method, options["param"], none)
    finally:
        _BATCH.reset(token)


def _in_threads(jobs, count):
    """The fits of all jobs by so many threads; after an exception, Ctrl-C among them, those under way end too."""
    found, stop = [None] * len(jobs), threading.Event()

    def one(i):
        try:
            found[i] = _fit_one(jobs[i], stop)
        except BaseException:
            stop.set()
            raise

    in_threads(one, [(i,) for i in range(len(jobs))], count)
    return found


@names_ours
def fit_many(data, method="ml", *, workers=None, param="S0", **options):
    """Fit many data sets.

    Parameters
    ----------
    data : sequence of arrays, 2-D array (one data set per row, NaN dropped), or tuple (values, offsets)
        Offsets are D + 1 integers; data set d is ``values[offsets[d]:offsets[d + 1]]``.
    method : str
        As in `fit`.
    workers : int or executor, optional
        Number of threads, each with a data set of its own, -1 for all cores. A fit spends about half of its time in Python,
        which only one thread runs at a time: more than two or three gain little. For many data sets pass an executor of
        processes, an object with a ``map`` method. The results are the same.
    param : {"S0", "S1"}
    **options
        Of `fit`, the same for all: start, fixed, bounds, se, profile, nan_policy; weights for data sets of one length.

    Returns
    -------
    StableFits
        Never fails as a whole: a data set that cannot be fitted carries its reason in ``message``.

    Raises
    ------
    ValueError
        For values of options, data of one dimension, or offsets, that are not understood.
    TypeError
        For options that `fit` does not have.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.7, 0.0, size=(3, 500), rng=1)
    >>> ns.stable.fit_many(x, "ecf").params.shape
    (3, 4)
    """
    choice("method", method, _METHODS)
    choice("param", param, ("S0", "S1"))
    choice("se", options.get("se", "expected"), _INFORMATION)
    choice("nan_policy", options.get("nan_policy", "raise"), _NAN_POLICIES)
    _bounds(options.get("bounds"), _fixed_values(options.get("fixed")))
    data = tuple(to_host(v, "data") for v in data) if isinstance(data, tuple) else to_host(data, "data")
    if isinstance(data, tuple) and len(data) == 2 and np.ndim(data[1]) == 1 and np.asarray(data[1]).dtype.kind in "iu":
        values, offsets = real64(unmasked(data[0])), np.asarray(data[1])
        if offsets.size < 1 or offsets[0] != 0 or offsets[-1] != values.size or (np.diff(offsets) < 0).any():
            raise ValueError(
                f"offsets must rise from 0 to {values.size}, the number of values; a tuple of values and integers is read as "
                "(values, offsets): for two data sets pass a list"
            )
        sets = [values[lo:hi] for lo, hi in zip(offsets[:-1], offsets[1:], strict=True)]
    elif getattr(data, "ndim", None) == 2:
        sets = [row[~np.isnan(row)] for row in real64(unmasked(data))]
    else:
        sets = [real64(unmasked(to_host(x, "data"))) for x in data]
        if sets and all(x.ndim == 0 for x in sets):
            raise ValueError(f"data are {len(sets)} numbers; pass a sequence of arrays, or [data] or fit(data) for one data set")
        sets = [x.reshape(-1) for x in sets]
    count = None if is_executor(workers) else worker_count(workers)
    jobs = [(x, method, dict(options, param=param, workers=1)) for x in sets]
    found = list(mapped(workers, _fit_one, jobs)) if count is None else _in_threads(jobs, count)
    stack = lambda name, shape: np.array([getattr(f, name) for f in found]).reshape(len(found), *shape)  # noqa: E731
    return StableFits(
        stack("params", (4,)), stack("se", (4,)), stack("cov", (4, 4)), stack("loglik", ()), stack("n_iter", ()),
        stack("n_eval", ()), stack("converged", ()), [f.message for f in found], method, param, stack("start", (4,)),
    )  # fmt: skip
