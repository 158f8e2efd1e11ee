"""A normal approximation of the likelihood: where chains start, and what the warmup learns of it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from numbastats.bayes import kernels as k
from numbastats.bayes.samplers.algebra import factor, solve, summed

ANGLE, _LARGEST = 1.2, 1.309  # of the Hamiltonian rotation, in radians
_NEWTON_STEPS = 100  # at most; the first steps may be short where counts are large


class Metric(NamedTuple):
    """H and h = H b + gradient of the log-likelihood around b, the mean of `seen` iterations since, the rotation's angle."""

    H: np.ndarray
    h: np.ndarray
    mean: np.ndarray
    seen: int
    angle: float = ANGLE


def start(rows, prior, d, numbers, chains):
    """Draws from the normal approximation at the mode under a standard normal prior, shape (chains, p), and the metric there."""
    b, near = np.zeros(d.size), np.ones(d.size)
    near[: prior.skip] = d[: prior.skip]
    if rows.response.newton is not None:
        for _ in range(rows.response.newton):
            H, h = summed(rows.curvature, b)
            L, _ = factor(H, near)
            b = solve(L, solve(L, h), True)
    else:
        b, L = _mode(rows, prior, near)
    z = numbers.place.host(numbers.draws()[0])
    B = _about_mode(rows, b, np.array([solve(L, v, True) for v in z]), z, near)
    return B, _metric(*summed(rows.curvature, b), b.copy())


def _metric(H, h, mean, angle=ANGLE):
    return Metric(np.ascontiguousarray(H.T), h, mean, 0, angle)


def _mode(rows, prior, d):
    """The mode by Newton's method, with steps halved where the posterior falls, and the Cholesky factor at the mode."""
    b, count = np.zeros(d.size), len(rows.own)
    b[:count] = [one.start for one in rows.own]
    if prior.intercept:
        b[count : count + prior.intercept] = rows.response.level(*rows.facts[: k.UPPER])
    value = rows.loglik(b[None])[0][0] - 0.5 * (d * b) @ b
    for _ in range(_NEWTON_STEPS):
        H, h = summed(rows.curvature, b)
        L, _ = factor(H, d)
        step = solve(L, solve(L, h), True) - b
        for _ in range(60):
            new = b + step
            found = rows.loglik(new[None])[0][0] - 0.5 * (d * new) @ new
            if found >= value:  # false for NaN
                break
            step = 0.5 * step
        else:
            break
        gain, b, value = found - value, new, found
        if gain < 1e-3:
            break
    return b, L


def _about_mode(rows, b, steps, z, d):
    """The mode b plus draws from the normal approximation, halved where the posterior falls more than twice as fast.

    Sums of exponentials fall so fast in directions that only the prior determines; chains would not return from there.
    """

    def fall(B):
        with np.errstate(over="ignore", invalid="ignore"):
            return 0.5 * (B * B) @ d - rows.loglik(B)[0]

    least, share = fall(b[None]), np.ones(len(z))
    for _ in range(60):
        far = ~(fall(b + share[:, None] * steps) - least <= share**2 * (z * z).sum(axis=1))
        if not far.any():
            break
        share[far] *= 0.5
    return b + share[:, None] * steps


def adapt(rows, metric, B, i, warmup, chance, *, rotates):
    """The metric after iteration i of the warmup, with coefficients B and mean acceptance `chance`."""
    mean = metric.mean + (B.mean(axis=0) - metric.mean) / (metric.seen + 1)
    metric = metric._replace(mean=mean, seen=metric.seen + 1)
    if i in [int(share * warmup) for share in ((0.1, 0.3, 0.6) if rotates else (0.5,))]:
        metric = _metric(*rows.curvature(mean), mean, metric.angle)
    if rotates and i > 30:
        angle = min(_LARGEST, max(0.05, metric.angle * math.exp((chance - 0.8) / math.sqrt(i - 29))))
        metric = metric._replace(angle=angle)
    return metric
