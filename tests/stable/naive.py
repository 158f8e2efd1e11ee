"""Plain versions of what the tests compare with, and helpers of the tests."""

from __future__ import annotations

import math

import mpmath
import numpy as np

import numbastats as ns
from numbastats.testing import DEVICES

INF, NAN = np.inf, np.nan


SERIAL = DEVICES["cpu-serial"]


def relative(got, want):
    with np.errstate(divide="ignore", invalid="ignore"):
        e = np.abs(got - want) / want
    return np.where(want == 0, np.where(got == 0, 0.0, 1e9), np.where(np.isnan(e), 1e9, e))


def zeta(a, b):
    return 0.0 if a == 1.0 else -b * math.tan(math.pi * a / 2)


def zolotarev_at_one(x, b):
    """(pdf, the tail on the side of x1 -> inf) at alpha = 1, b > 0: Zolotarev's integrals by equal steps in log(d0/d1)."""
    w, step = np.linspace(-80.0, 60.0, 100_001, retstep=True)
    d0, d1 = math.pi / (1 + np.exp(-w)), math.pi / (1 + np.exp(w))
    up = 0.5 * math.pi * (1 - b) + b * d0
    tangent = np.where(d0 < d1, -1 / np.tan(d0), 1 / np.tan(d1))
    log_g = np.log(up / (0.5 * math.pi) / np.sin(np.minimum(d0, d1))) + (up * tangent - 0.5 * math.pi * x) / b
    g = np.exp(np.minimum(log_g, 7.0))
    weights = np.exp(-g) * d0 * d1 * step / math.pi
    return (g * weights).sum() / (2 * b), weights.sum() / math.pi


def far_tail(x, a, b):
    """(pdf, the tail beyond x) for x > 0 along the imaginary axis, by mpmath; exact where e^-60 x is nothing."""
    x, a, b = mpmath.mpf(x), mpmath.mpf(a), mpmath.mpf(b)
    s_, c = mpmath.sin(mpmath.pi * a / 2), mpmath.cos(mpmath.pi * a / 2)

    def integrand(y):
        s = y / x
        bent = -(2 / mpmath.pi) * s * mpmath.log(s) if a == 1 else s_ / c * (s_ * s**a - s)
        return mpmath.exp(-y - c * s**a + b * bent) * mpmath.sin(s_ * (1 + b) * s**a) * x

    places = [0] + [mpmath.mpf(2) ** -k * 70 for k in range(30, -1, -1)]
    density, tail = mpmath.quad(integrand, places), mpmath.quad(lambda y: integrand(y) / y, places)
    return density / (mpmath.pi * x**2), tail / (mpmath.pi * x)


def by_equal_steps(a, b, x1):
    """Logarithms of pdf, cdf and sf at x1 > 0 in S1, alpha < 1: Zolotarev's integrals by equal steps in log(d0/d1), by mpmath."""
    a, b, x1, step = mpmath.mpf(a), mpmath.mpf(b), mpmath.mpf(x1), mpmath.mpf(1) / 12
    theta = mpmath.atan(b * mpmath.tan(mpmath.pi * a / 2)) / a
    length, density, below, above = mpmath.pi / 2 + theta, 0, 0, 0
    for k in range(-1200, 720):
        small = mpmath.exp(-abs(k * step))
        near = length / (1 + small)
        d0, d1 = (near, near * small) if k >= 0 else (near * small, near)
        log_g = a / (a - 1) * mpmath.log(x1 * mpmath.sin(d1) / mpmath.sin(a * d0)) + mpmath.log(mpmath.cos(a * theta)) / (a - 1)
        log_g += mpmath.log(mpmath.cos(a * theta + (a - 1) * (d0 - theta)) / mpmath.sin(d1))
        weight, g = near * near * small / length * step, mpmath.exp(min(log_g, 6))
        density, below, above = (
            density + g * mpmath.exp(-g) * weight,
            below + mpmath.exp(-g) * weight,
            above - mpmath.expm1(-g) * weight,
        )
    pdf, cdf = a / (1 - a) / x1 * density / mpmath.pi, (mpmath.pi / 2 - theta + below) / mpmath.pi
    return [float(mpmath.log(v)) for v in (pdf, cdf, above / mpmath.pi)]


def by_fourier_integral(a, b, x):
    with mpmath.workdps(40):
        t = mpmath.tan(mpmath.pi * a / 2)
        angle = mpmath.mpf(0.6 if abs(x + b * t) > 2 else 0.2)
        turn = mpmath.expj(-angle if x + b * t > 0 else angle)

        def integrand(v):
            u = mpmath.exp(v) * turn
            return u * mpmath.exp(-(u**a) - 1j * b * t * (u - u**a) - 1j * x * u)

        step, total = mpmath.mpf(1) / 24, mpmath.mpf(0)
        for k in range(-24 * 60, 24 * 5):
            total += integrand(k * step)
        return (total * step).real / mpmath.pi


def at_zeta(a, b):
    """Density and distribution function at zeta, Nolan (1997)."""
    with mpmath.workdps(60):
        a, b = mpmath.mpf(a), mpmath.mpf(b)
        t = b * mpmath.tan(mpmath.pi * a / 2)
        angle = mpmath.atan(t) / a
        density = mpmath.gamma(1 + 1 / a) * mpmath.cos(angle) / (mpmath.pi * (1 + t * t) ** (1 / (2 * a)))
        return float(density), float(mpmath.mpf(0.5) - angle / mpmath.pi)


def half_sample_mode(x, w):
    """The shortest interval with half of the weight, then of its values, until three or fewer are left."""
    while x.size > 3 and x[0] < x[-1]:
        half = 0.5 * w.sum()
        spans = [(x[j] - x[i], i, j) for i in range(x.size) for j in range(i, x.size) if w[i : j + 1].sum() >= half]
        _, i, j = min(spans)
        x, w = x[i : j + 1], w[i : j + 1]
    if x.size == 3:
        x = x[:2] if x[1] - x[0] < x[2] - x[1] else x[1:]
    return x.mean()


def by_characteristic_function(x, w, alpha, beta):
    """Regressions on log(-2 log|phi|) and on the angle of phi, of 10 frequencies, by least squares; alpha, beta None or known."""
    t, (a, b, m, s) = 0.1 * np.arange(1, 11), (1.5, 0.0, 0.0, 1.0)
    for _ in range(3):
        phi = np.exp(1j * t[:, None] * (x - m) / s) @ w / w.sum()
        response = np.log(-2.0 * np.log(abs(phi)))
        a = float(np.clip(np.polyfit(np.log(t), response, 1)[0], 0.2, 2.0)) if alpha is None else alpha
        unit = math.exp((np.mean(response - a * np.log(t)) - math.log(2.0)) / a)
        bent = (
            -2.0 / math.pi * unit * t * np.log(unit * t) if a == 1.0 else math.tan(math.pi * a / 2) * ((unit * t) ** a - unit * t)
        )
        angle = np.unwrap(np.angle(phi))
        both = np.linalg.lstsq(np.column_stack([t, bent]), angle, rcond=None)[0]
        b = float(np.clip(both[1], -1.0, 1.0)) if beta is None else beta
        m, s = m + s * float(t @ (angle - b * bent) / (t @ t)), s * unit
    return a, b, m, s


def draw(alpha, beta, n=1000, seed=1, loc=7.0, scale=3.0):
    return ns.stable.rvs(alpha, beta, loc, scale, n, rng=seed)


class OnDevice:
    """Stands in for a CuPy array."""

    __module__ = "cupy"

    def __init__(self, values):
        self._values = np.asarray(values)
        self.shape, self.dtype, self.size, self.ndim = (getattr(self._values, n) for n in ("shape", "dtype", "size", "ndim"))

    @property
    def __cuda_array_interface__(self):
        return self._values.__array_interface__

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def get(self):
        return self._values
