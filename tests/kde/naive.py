"""Plain versions: the definition of a density by brute force, boundaries by images, derivatives by formulas."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from numbastats.kde import bandwidth
from tests.cases import discover
from tests.conftest import REFERENCE

# integers wrap modulo 2^64 on purpose; the simulator's are NumPy scalars, which say so
WRAPS = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")
FOLDER = REFERENCE / "kde"
CASES = list(csv.DictReader((FOLDER / "cases.csv").read_text().splitlines()))
GOOD = np.random.default_rng(12).standard_normal((50, 2))
AXES = [(-3, 3, 7), (-3, 3, 8)]
CPU = {"device": "cpu", "workers": 1}
KERNELS = discover("tests.kde.cases")
PROFILE = {name: case.profile for name, case in KERNELS.items() if not case.tailed}


def constant(kernel, d):
    """The normaliser."""
    return KERNELS[kernel].constant(d)


def naive(samples, points, H, kernel="epanechnikov", weights=None, scale=None):
    """Brute force: the definition."""
    x = samples.reshape(len(samples), -1)
    p = np.asarray(points, float).reshape(-1, x.shape[1])
    w = np.ones(len(x)) if weights is None else weights
    s = np.ones(len(x)) if scale is None else scale
    d = x.shape[1]
    delta = p[:, None] - x
    q = np.einsum("pia,ab,pib->pi", delta, np.linalg.inv(H), delta) / s**2
    values = np.where(q < 1, PROFILE[kernel](np.minimum(q, 1)), 0) * s ** -float(d)
    return values @ w * constant(kernel, d) / (w.sum() * math.sqrt(np.linalg.det(H)))


def mesh(axes):
    return np.stack([m.reshape(-1) for m in np.meshgrid(*axes, indexing="ij")], -1)


def small(d, n=60, seed=1):
    """A few correlated samples, a grid that cuts some off, H."""
    rng = np.random.default_rng(seed)
    mix = np.tril(rng.uniform(0.3, 0.9, (d, d)), -1) + np.eye(d)
    x = rng.standard_normal((n, d)) @ mix.T * 2.0 ** np.arange(d)
    H = np.atleast_2d(np.cov(x.T)) * 0.35
    lengths = {1: (40,), 2: (9, 13), 3: (5, 4, 9), 4: (3, 4, 3, 6)}[d]
    axes = [np.linspace(np.quantile(c, 0.03), np.quantile(c, 0.98), m) for c, m in zip(x.T, lengths, strict=True)]
    return x, axes, H


def slopes(x, points, H, kernel, axis, scale=None):
    """Brute force: the derivative of the definition."""
    p = KERNELS[kernel].power
    x = x.reshape(len(x), -1)
    points = np.asarray(points, float).reshape(-1, x.shape[1])
    s = np.ones(len(x)) if scale is None else scale
    total = np.zeros(len(points))
    for at in range(len(points)):
        delta = points[at] - x
        q = np.einsum("ia,ab,ib->i", delta, np.linalg.inv(H), delta) / s**2
        slope = np.where(q < 1, -2 * p * np.maximum(1 - q, 0) ** (p - 1), 0) * s ** -float(x.shape[1] + 2)
        total[at] = slope @ (delta @ np.linalg.inv(H)[axis])
    return total * constant(kernel, x.shape[1]) / (len(x) * math.sqrt(np.linalg.det(H)))


def images(x, axis, walls):
    parts = [x]
    for wall in walls:
        mirrored = x.copy()
        mirrored[:, axis] = 2 * wall - mirrored[:, axis]
        parts.append(mirrored)
    return parts


def product(x, points, H, kernel, weights=None, scale=None, tail=0.0):
    """Sum of products of one-dimensional kernels along the axes."""
    w = np.ones(len(x)) if weights is None else weights
    b = np.sqrt(np.diag(H)) * (np.ones(len(x)) if scale is None else scale)[:, None]
    u = (np.asarray(points)[:, None] - x) / b
    if kernel == "gaussian":
        from scipy.stats import norm

        v = np.where(np.abs(u) < norm.isf(tail / 2), norm.pdf(u), 0) / (1 - tail)
    else:
        v = np.where(np.abs(u) < 1, PROFILE[kernel](np.minimum(u * u, 1)), 0) * constant(kernel, 1)
    return (v / b).prod(-1) @ w / w.sum()


def self_convolution(r, d):
    """(K*K)(r) of the Epanechnikov kernel at distances r in units of H: its formula for d = 1, else by the package's table."""
    r = np.asarray(r, float)
    if d == 1:
        return np.where(r < 2, 3 / 160 * np.maximum(2 - r, 0) ** 3 * (r * r + 6 * r + 4), 0.0)
    return np.maximum(2 - r, 0) ** ((d + 5) / 2) * np.polyval(bandwidth._convolution_table(d), np.minimum(r, 2) - 1)
