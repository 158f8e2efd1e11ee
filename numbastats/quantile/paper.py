"""The paper's own methods, kept for comparison: the recycling differential equation, series of Student's t, costs of its kernels.

A map Q from a base distribution with density f0 to a target with density f1 satisfies Q'' + H0(v) Q' = H1(Q) Q'^2, H = -(log f)',
equation (11). Solving it outwards multiplies an early error by 1/(tail mass) (1e-16 becomes 1e-8 at six sigmas), so tables are
not built this way: it is here for theory, start values and comparison.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.broadcast import real64
from numbastats._core.errors import names_ours

__all__ = ["COST", "StudentSeries", "recycle_ode"]

COST = {"exp56": 0.6, "exp1313": 1.5, "exp1313_printed": 1.5, "t2": 2.6}  # of the methods of `ndtri`, ns per value


def _backgrounds(name, parameter):
    """H0 of a base distribution as a function of v."""
    if name == "normal":
        return lambda v: v  # (16)
    if name == "uniform":
        return lambda v: 0.0 * v
    if name == "exponential":
        return lambda v: 1.0 + 0.0 * v  # (18)
    if name == "two-sided exponential":
        right, left = parameter
        return lambda v: np.where(v >= 0, right, -left)  # (86), (88)
    if name == "student_t":
        n = parameter
        return lambda v: (1 + 1 / n) * v / (1 + v * v / n)
    raise ValueError(
        f"base={name!r} is not known; use 'normal', 'uniform', 'exponential', ('two-sided exponential', (right, left)), "
        "('student_t', nu) or a function H0(v)"
    )


def _outwards(h0, target, start, slope, origin, end, rtol):
    """Q and log Q' from the origin to one end; every step begins at 0, and a compensated sum of the steps is kept."""
    from scipy.integrate import DOP853, OdeSolution

    place, lost = np.array([start, math.log(slope)]), np.zeros(2)

    def right_side(v, step):
        q, log_slope = place + (step + lost)
        d = np.exp(log_slope)
        return np.array([d, float(target(q)) * d - float(h0(v))])

    steps = DOP853(right_side, origin, np.zeros(2), end, rtol=max(rtol, 3e-14), atol=1e-3 * rtol * np.array([slope, 1.0]))
    at, pieces = [origin], []
    with np.errstate(all="ignore"):
        while steps.status == "running":
            message = steps.step()
            if steps.status == "failed" or not np.isfinite(steps.y).all():
                raise ValueError(f"the solution breaks down at v = {steps.t!r}: {message}")
            piece = steps.dense_output()
            piece.y_old = place
            pieces.append(piece)
            at.append(steps.t)
            step = steps.y + lost
            place, lost = place + step, step - ((place + step) - place)
            steps.y = np.zeros(2)
    return OdeSolution(at, pieces)


@names_ours
def recycle_ode(
    base: str | tuple | Callable,
    target: Callable,
    start: float,
    slope: float,
    ends: tuple[float, float],
    *,
    origin: float = 0.0,
    rtol: float = 1e-13,
) -> Callable:
    """Solve Q'' + H0(v) Q' = H1(Q) Q'^2 from one point in both directions, equation (11).

    Parameters
    ----------
    base : str, tuple or callable
        "normal", "uniform", "exponential", ("two-sided exponential", (rate right, rate left)), ("student_t", nu), or H0(v).
    target : callable
        H1(x) = -(log density)' of the target distribution.
    start, slope : float
        Q and Q' at `origin`: for the same probability on both sides of it, slope = f0(origin)/f1(start).
    ends : pair of float
        Interval of v, around `origin` or from it.
    origin : float
    rtol : float
        Tolerance of the eighth-order Runge-Kutta steps, relative to the change of Q and log Q' in a step.

    Returns
    -------
    callable
        Q(v) for an array of v in the interval; NaN outside.

    Raises
    ------
    ValueError
        For an unknown base, or when the steps break down (the message says where).

    Notes
    -----
    Errors grow like 1/(tail mass), those of `slope` and of `target` as well: a map from the normal to t(4) is off by 7e-9
    within six sigmas. A `QuantileTable` has no such loss.

    References
    ----------
    W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011), equations (11), (16), (18), (86)-(89).

    Examples
    --------
    >>> import math, numbastats as ns
    >>> n = 4.0
    >>> gamma = ns.quantile.StudentSeries(n).coefficients[0]
    >>> Q = ns.quantile.recycle_ode(
    ...     "normal", lambda x: (1 + 1 / n) * x / (1 + x * x / n), 0.0, gamma, (0.0, 3.0)
    ... )
    >>> float(Q(2.0).round(6))
    2.869309
    """
    h0 = base if callable(base) else _backgrounds(*(base if isinstance(base, tuple) else (base, None)))
    low, high = ends
    if not (low <= origin <= high and low < high and slope > 0 and math.isfinite(start)):
        raise ValueError(f"ends={ends!r} must enclose origin={origin!r}, start={start!r} be finite and slope={slope!r} positive")
    parts = [None if end == origin else _outwards(h0, target, start, slope, origin, end, rtol) for end in ends]

    def solution(v):
        """Q(v)."""
        v = real64(v)
        out = np.full(v.shape, math.nan)
        for part, use in ((parts[0], (v < origin) & (v >= low)), (parts[1], (v > origin) & (v <= high))):
            if part is not None and use.any():
                out[use] = part(v[use])[0]
        out[v == origin] = start
        return out[()]

    return solution


_TERMS = 200


@names_ours
@dataclasses.dataclass(frozen=True)
class StudentSeries:
    """Student's t from a normal variate by its central and its tail series.

    Parameters
    ----------
    nu : float
        Degrees of freedom, > 0.
    terms : int
        Number of terms of each, at most 200: their cost grows with the third power.

    Attributes
    ----------
    coefficients : tuple of float
        c_k of Q(v) = sum c_k v^(2k + 1), equations (24)-(28).
    tail_coefficients : tuple of float
        d_k of Q = sqrt(nu/r) sum d_k r^k with r = w^(2/nu), w = nu sqrt(pi) Gamma(nu/2)/Gamma((nu + 1)/2) (1 - Phi(v)), the
        expansion whose first two terms are (40).

    Raises
    ------
    ValueError
        For nu <= 0, or terms that are no integer from 1 to 200.

    References
    ----------
    W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011), equations (21)-(41).

    Examples
    --------
    >>> import numbastats as ns
    >>> s = ns.quantile.StudentSeries(4.0)
    >>> float(s.centre(1.0).round(12)), float(s.tail(6.0).round(6))
    (1.141626629091, 234.819019)
    """

    nu: float
    terms: int = 31

    def __post_init__(self):
        whole = isinstance(self.terms, (int, np.integer)) and 1 <= self.terms <= _TERMS
        if not (self.nu > 0 and math.isfinite(self.nu)) or not whole:
            raise ValueError(f"nu={self.nu!r} must be finite and > 0, terms={self.terms!r} an integer from 1 to {_TERMS}")

    @functools.cached_property
    def coefficients(self) -> tuple[float, ...]:
        """Coefficients of the central series."""
        from numbastats.scalar.special import gamma_half_ratio

        n = self.nu
        c = [math.sqrt(n / 2) * float(gamma_half_ratio(n / 2))]  # (24)
        for i in range(self.terms - 1):  # (27)-(28)
            total = -(2 * i + 1) * c[i]
            for j in range(i + 1):
                for m in range(i - j + 1):
                    a = (1 + 1 / n) * (2 * j + 1) * (2 * m + 1) - 2 / n * m * (2 * m + 1)
                    total += a * c[i - j - m] * c[j] * c[m]
            for j in range(i):
                for m in range(i - j):
                    total -= (2 * m + 1) * c[i - 1 - j - m] * c[j] * c[m] / n
            c.append(total / ((2 * i + 3) * (2 * i + 2)))
        return tuple(c)

    @functools.cached_property
    def tail_coefficients(self) -> tuple[float, ...]:
        """Coefficients of the tail series.

        With y = nu/Q^2: w = y^(nu/2) S(y), so r = y S(y)^(2/nu); reverted term by term.
        """
        n, k = self.nu, self.terms
        s = np.empty(k)
        binomial = 1.0
        for i in range(k):
            s[i] = binomial * n / (n + 2 * i)
            binomial *= (-(n + 1) / 2 - i) / (i + 1)
        # y = r g(r): Lagrange's formula, g_i = [y^i] S^(-2 (i + 1)/n) / (i + 1), and Q/sqrt(n) = y^(-1/2):
        # r^(1/2) Q/sqrt(n) = sum d_i r^i with d_i = [y^i] phi^(i - 1/2) (-1/2)/(i - 1/2), phi = S^(-2/n)
        return tuple(_power(s, -2 / n * (i - 0.5))[i] * (-0.5) / (i - 0.5) for i in range(k))

    @property
    def radius(self) -> float:
        """Estimate of the radius of convergence of the central series, by the root test on its last two coefficients."""
        k = np.arange(self.terms)[-2:]
        return float(np.mean(np.abs(self.coefficients[-2:]) ** (-1.0 / (2 * k + 1))))

    def centre(self, v: ArrayLike):
        """Central series at v.

        Parameters
        ----------
        v : array_like

        Returns
        -------
        array or scalar
        """
        v = real64(v)
        total = np.zeros_like(v)
        for c in reversed(self.coefficients):
            total = total * (v * v) + c
        return total * v

    def tail(self, v: ArrayLike):
        """Tail series at v; for large abs(v), odd in v.

        Parameters
        ----------
        v : array_like

        Returns
        -------
        array or scalar
        """
        from scipy.special import log_ndtr

        from numbastats.scalar.special import gamma_half_ratio

        v = real64(v)
        n = self.nu
        log_w = log_ndtr(-np.abs(v)) + math.log(n * math.sqrt(math.pi) * float(gamma_half_ratio(n / 2)))
        r = np.exp(log_w * (2 / n))
        total = np.zeros_like(r)
        for d in reversed(self.tail_coefficients):
            total = total * r + d
        return np.copysign(np.exp(log_w / -n) * math.sqrt(n) * total, v)


def _power(s, exponent):
    """Coefficients of a power series with s[0] = 1, to a real power (Euler's recurrence)."""
    out = np.zeros_like(s)
    out[0] = 1.0
    for i in range(1, s.size):
        j = np.arange(1, i + 1)
        out[i] = np.sum((exponent * j - (i - j)) * s[j] * out[i - j]) / i
    return out
