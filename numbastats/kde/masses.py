"""Mass of the kernels inside boxes: one coordinate, products of coordinates, and the ellipse of two dimensions."""

from __future__ import annotations

import math

import numpy as np

from numbastats.kde.smoothing import polynomial

__all__ = ["box_mass", "cut_moments", "marginal_cdf", "trapezoid_error"]

NODES = 12  # plus 2 p nodes of Gauss-Legendre on pieces where the integrand is a trigonometric polynomial of degree 2 p + 2
CHUNK = 4000  # samples at a time
CUT_NODES = 48  # nodes on half a kernel; 20 give 1e-15, except for the Gaussian up to 9.5 standard deviations


def marginal_cdf(model, u):
    """Distribution function of one coordinate of the kernel, u in half boxes of the support, to relative accuracy."""
    from scipy.special import betainc

    u = np.minimum(np.maximum(np.asarray(u, float), -1.0), 1.0)
    if model.power is not None and not model.product and model.d > 1:
        a = model.power + (model.d + 1) / 2
        return betainc(a, a, 0.5 * (1 + u))
    return model.kernel.below(u, math.sqrt(model.tau2), model.tail)


def cut_moments(model, lo, hi):
    """Mass, mean and variance (3, k) of one coordinate of the kernel between lo and hi (k,), in half boxes of the support.

    Gauss-Legendre on each side of 0 in the angle whose sine is the coordinate: all integrands are smooth, and no moment is a
    difference.
    """
    nodes, weights = np.polynomial.legendre.leggauss(CUT_NODES)
    most = min(1.0, 9.5 / math.sqrt(model.tau2)) if model.kernel.normal else 1.0
    d, reach = 1 if model.product else model.d, math.sqrt(model.tau2)
    lo, hi = np.arcsin(np.clip(lo, -most, most)), np.arcsin(np.clip(hi, -most, most))
    result = np.empty((3, len(lo)))
    for first in range(0, len(lo), CHUNK):
        a, b = lo[first : first + CHUNK, None], hi[first : first + CHUNK, None]
        angles, halves = [], []
        for start, stop in ((a, np.minimum(b, 0.0)), (np.maximum(a, 0.0), b)):
            half = 0.5 * np.maximum(stop - start, 0.0)
            angles.append(start + half * (1 + nodes))
            halves.append(half * weights)
        angle = np.concatenate(angles, 1)
        u = np.sin(angle)
        f = model.kernel.on_coordinate(u, d, reach, model.tail) * np.cos(angle) * np.concatenate(halves, 1)
        mass = f.sum(1)
        f /= np.where(mass > 0, mass, 1.0)[:, None]
        mean = (f * u).sum(1)
        result[:, first : first + CHUNK] = mass, mean, (f * (u - mean[:, None]) ** 2).sum(1)
    return result


def box_mass(model, lo, hi, flips=()):
    """Mass of the estimate in the box lo <= x <= hi, exact to rounding; None where the kernel has no formula.

    Parameters
    ----------
    model : Model
        In one dimension, of product form, or a power kernel in two dimensions.
    lo, hi : (d,)
    flips : sequence of int
        Axes whose off-diagonal entries of H change sign.
    """
    d = model.d
    scale = np.ones(len(model.x)) if model.scale is None else model.scale
    half = np.sqrt(np.diag(model.support)) * scale[:, None]
    below, above = (lo - model.x) / half, (hi - model.x) / half
    if d > 1 and not model.product and (d > 2 or model.power is None):
        return None
    mass = np.prod(marginal_cdf(model, above) - marginal_cdf(model, below), axis=1)
    if d > 1 and not model.product:  # the product of masses is right only where the box cuts the support along one axis
        cut = np.flatnonzero((mass > 0) & ~((below <= -1) & (above >= 1)).any(1))
        support = model.support * (-1.0 if len(flips) == 1 else 1.0)
        np.fill_diagonal(support, np.diag(model.support))
        for first in range(0, len(cut), CHUNK):
            some = cut[first : first + CHUNK]
            at, s = model.x[some], scale[some, None]
            mass[some] = _ellipse(support, model.power, (lo - at) / s, (hi - at) / s)
    return float(mass.sum() if model.weights is None else mass @ model.weights) / model.total


def trapezoid_error(model, steps):
    """Bound on the error of the trapezoid rule on a regular grid, to leading order in the steps; see `KDE.box_probability`."""
    d, steps = model.d, np.asarray(steps, float)
    curvature = np.diag(np.linalg.inv(model.H)) * steps**2
    inverse, w = 1.0 if model.scale is None else 1 / model.scale, 1.0 if model.weights is None else model.weights
    inverse, w = np.broadcast_arrays(inverse, w)
    if model.power == 0:
        ball = math.gamma(d / 2 + 1) / (math.gamma((d + 1) / 2) * math.sqrt(math.pi))  # c_(d-1) / c_d
        return float(np.sqrt(curvature).sum() * ball * np.average(inverse, weights=w))
    return float(model.kernel.variation(d, model.tail) / 8 * curvature.sum() * np.average(inverse**2, weights=w))


def _ellipse(support, p, lo, hi):
    """Mass of the kernel (1 - q)^p inside boxes around its centre.

    On a row at distance b sin(angle) the support is an interval of half width r cos(angle), on which the kernel integrates to
    cos^(2p+1) times a polynomial of the ends; between the angles at which the support's edge crosses a side of the box the
    integrand is a trigonometric polynomial.
    """
    a = np.linalg.inv(support)
    beta, b, r = a[0, 1] / a[1, 1], math.sqrt(support[0, 0]), 1 / math.sqrt(a[1, 1])
    begin, end = (np.arcsin(np.clip(v[:, 0] / b, -1, 1)) for v in (lo, hi))
    shift, size = math.atan2(r, beta * b), math.hypot(r, beta * b)
    cuts = [begin, end]
    for side in (lo[:, 1], hi[:, 1]):  # beta b sin -+ r cos = -side
        turn = np.arcsin(np.clip(-side / size, -1, 1))
        for sign in (shift, -shift):
            cuts += [np.remainder(v + math.pi, 2 * math.pi) - math.pi for v in (sign + turn, sign + math.pi - turn)]
    cuts = np.sort(np.clip(np.stack(cuts, -1), begin[:, None], end[:, None]), axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(NODES + 2 * p)
    sample, piece = np.nonzero(cuts[:, 1:] > cuts[:, :-1])
    first, last = cuts[sample, piece, None], cuts[sample, piece + 1, None]
    angle = 0.5 * (first + last) + 0.5 * (last - first) * nodes
    sine, cosine = np.sin(angle), np.maximum(np.cos(angle), 1e-300)
    row = np.polynomial.Polynomial([0.0, *[v for k in range(p + 1) for v in ((-1) ** k * math.comb(p, k) / (2 * k + 1), 0.0)]])
    ends = [row(np.clip((v[sample, 1, None] + beta * b * sine) / (r * cosine), -1, 1)) for v in (lo, hi)]
    value = np.einsum("ij,j->i", cosine ** (2 * p + 2) * (ends[1] - ends[0]), weights) * 0.5 * (last - first)[:, 0]
    return polynomial(p).norm(2) * np.bincount(sample, value, len(lo))
