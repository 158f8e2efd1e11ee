"""Means and variances."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["mixing_moments", "of_normal_mixture", "of_student"]


def of_student(nu):
    """Mean and variance; NaN where they do not exist."""
    if nu <= 1:
        return math.nan, math.nan
    return 0.0, (nu / (nu - 2) if nu > 2 else math.inf)


def of_normal_mixture(lam, alpha, beta, delta, mu):
    """mu + beta E w and E w + beta^2 Var w: the distribution is normal with mean mu + beta w and a random variance w.

    w has the generalised inverse Gaussian distribution, which for delta = 0 is the gamma one.
    """
    gamma = math.sqrt((alpha - beta) * (alpha + beta))
    if delta:
        if gamma * delta < 1e-70:
            raise ValueError("mean and variance need sqrt(alpha^2 - beta^2) delta >= 1e-70")
        if not 2.0 * math.hypot(lam, gamma * delta) < math.inf:
            raise ValueError("mean and variance need alpha^2, alpha delta and lam within the doubles")
        mode, first, second = mixing_moments(lam, gamma, delta)
    else:
        mode, first, second = lam / gamma * 2 / gamma, 1.0, 1 / lam
    return mu + beta * (mode * first), mode * first + (beta * mode) * second * (beta * mode)


def mixing_moments(lam, gamma, delta):
    """(m, E w/m, Var w/m^2) of w with density like w^(lam - 1) exp(-(delta^2/w + gamma^2 w)/2), m the mode of log w.

    Sums of positive terms over equal steps of s = log w/m, whose error falls faster than any power of the step. Nothing cancels;
    the variance from Bessel functions has no digit left from gamma delta = 1e15 on. Observed error 3e-15.
    """
    z = gamma * delta
    h = math.hypot(lam, z)
    small = z * (z / (h + abs(lam)))
    up, down = (h + lam, small) if lam > 0 else (small, h - lam)  # h + lam, h - lam without cancellation
    mode = up / gamma / gamma if lam > 0 else delta * (delta / down)

    def log_density(s):
        q = s * s
        cubic = q * s / 6 * (1 + q / 20 * (1 + q / 42 * (1 + q / 72 * (1 + q / 110 * (1 + q / 156)))))  # sinh s - s
        near = -(lam * cubic + 2 * h * np.sinh(s / 2) ** 2)
        return np.where(q < 0.25, near, lam * s - (up * np.expm1(s) + down * np.expm1(-s)) / 2)

    step = min(0.18, 0.45 / math.sqrt(math.hypot(abs(lam) + 2, z)))
    with np.errstate(over="ignore", invalid="ignore"):
        reach = step * 2.0 ** (np.arange(200) / 4)
        right, left = log_density(reach) + 2 * reach, log_density(-reach)
        last = reach[np.flatnonzero(right > right.max() - 80)[-1] + 1]
        first = reach[np.flatnonzero(left > left.max() - 80)[-1] + 1]
        s = step * np.arange(-math.ceil(first / step), math.ceil(last / step) + 1)
        p = np.exp(log_density(s))
        p /= p.sum()
        growth, relative = np.exp(s), np.expm1(s)
        mean, above = p @ growth, p @ relative
        distance = np.where(np.abs(s) < 0.5, relative - above, growth - mean)
        return mode, float(mean), float(p @ distance**2)
