"""Boundaries: mirror images and periodic copies of the samples, masses of kernels inside walls, local-linear kernels."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

from numbastats.kde.masses import cut_moments, marginal_cdf

__all__ = ["LINEAR", "fold", "inside_mass", "linear_factors", "linear_terms", "moved", "passes", "wrap"]

LINEAR = ("linear", "jones-foster")
COPIES = 1000  # most copies of the samples along a periodic axis, or between two reflecting walls


def wrap(x, lo, hi):
    """Finite positions outside [lo, hi] moved into it by whole periods."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(x) & ((x < lo) | (x > hi)), lo + np.mod(x - lo, hi - lo), x)


def fold(x, lo, hi):
    """Positions outside [lo, hi], of which one side may be open, reflected at the walls until they are inside."""
    if math.isinf(hi - lo):
        return np.where(x < lo, 2 * lo - x, np.where(x > hi, 2 * hi - x, x))
    back = np.mod(x - lo, 2 * (hi - lo))
    return np.where((x < lo) | (x > hi), lo + np.minimum(back, 2 * (hi - lo) - back), x)


def _copies(parts, axis, period, low, high):
    """Samples shifted along an axis by all multiples of the period that bring them between low and high."""
    x = np.concatenate([v[:, axis] for v, _ in parts])
    shifts = [0.0]
    if math.isfinite(period) and len(x):
        first, last = math.ceil((low - x.max()) / period), math.floor((high - x.min()) / period)
        if last - first >= COPIES:
            raise ValueError(
                f"axis {axis}: the density would be the sum of {last - first + 1} copies of the samples, {COPIES} are allowed; "
                "take a smaller bandwidth, or for a long periodic axis kde.points"
            )
        shifts = [k * period for k in range(first, last + 1)]
    copies = []
    for shift, (v, index) in itertools.product(shifts, parts):
        near = (v[:, axis] + shift > low) & (v[:, axis] + shift < high)
        copy = v[near]
        copy[:, axis] += shift
        copies.append((copy, index[near]))
    return copies or [(v[:0], index[:0]) for v, index in parts]


def passes(model, boundary, span=None):
    """Models whose densities add up, each with the axes of H to flip: periodic copies, then mirror images.

    `span` maps periodic axes to the first and last position of the grid, by default the ends of the period.
    """
    if not boundary:
        return [(model, ())]
    reach = model.reach
    parts = [(model.x, np.arange(len(model.x)))]
    for axis, (kind, lo, hi) in boundary.items():
        if kind == "periodic":
            first, last = (span or {}).get(axis, (lo, hi))
            low, high = min(lo, first) - reach[axis], max(hi, last) + reach[axis]
            parts = _copies([(moved(v, axis, wrap(v[:, axis], lo, hi)), i) for v, i in parts], axis, hi - lo, low, high)
    mirrors, result = [a for a, r in boundary.items() if r[0] == "reflect"], []
    for odd in itertools.chain.from_iterable(itertools.combinations(mirrors, size) for size in range(len(mirrors) + 1)):
        images = parts
        for axis in mirrors:
            _, lo, hi = boundary[axis]
            if axis in odd:
                images = [(moved(v, axis, 2 * (lo if math.isfinite(lo) else hi) - v[:, axis]), i) for v, i in images]
            images = _copies(images, axis, 2 * (hi - lo), lo - reach[axis], hi + reach[axis])
        x, index = np.concatenate([v for v, _ in images]), np.concatenate([i for _, i in images])
        w, s = model.weights, model.scale
        part = model.subset(x, None if w is None else w[index], None if s is None else s[index])
        result.append((dataclasses.replace(part, low=x.min(0), high=x.max(0)) if len(x) else part, odd))
    return result


def moved(x, axis, values):
    """A model with a copy of the samples that has other values along an axis."""
    x = x.copy()
    x[:, axis] = values
    return x


def inside_mass(model, boundary, positions):
    """Factors by which the density at positions along the bounded axes is multiplied: 0 outside, 1/mass for 'renorm'."""
    factors = {}
    for axis, (kind, lo, hi) in boundary.items():
        x = positions[axis]
        if kind == "periodic":
            factors[axis] = np.ones_like(x)
            continue
        inside = (x >= lo) & (x <= hi)
        mass = np.ones_like(x)
        if kind == "renorm":
            b = model.reach[axis]
            with np.errstate(invalid="ignore"):
                mass = marginal_cdf(model, (hi - x) / b) - marginal_cdf(model, (lo - x) / b)
        factors[axis] = np.where(inside | np.isnan(x), 1.0 / np.where(inside, mass, 1.0), 0.0)
    return factors


def linear_terms(model, boundary):
    """Models whose densities, times `linear_factors`, add up to an estimate with local-linear kernels at walls.

    The kernel of Jones (1993) is (c + e u) K(u), u being the distance of a position from a sample along the axis, in half boxes.
    The part in u is a sum with other weights: u = +-(p - v), p and v being the distances of the position and of the sample from
    the wall. Only samples with v < 2 matter, and 1 + v keeps the weights in one order of magnitude.

    Yields
    ------
    sides : dict
        Per axis 0 for all samples, 1 or 2 for those near its lower or upper wall.
    part : Model
    """
    walls = [[side for side in range(3) if side == 0 or math.isfinite(rule[side])] for rule in boundary.values()]
    for sides in itertools.product(*walls):
        near, weights = np.ones(len(model.x), bool), 1.0 if model.weights is None else model.weights
        for (axis, rule), side in zip(boundary.items(), sides, strict=True):
            if side:
                v = np.abs(model.x[:, axis] - rule[side]) / model.reach[axis]
                near &= v < 2 + 1e-9
                weights = weights * (1 + v)
        part = model
        if any(sides):
            part = model.subset(model.x[near], weights[near], None if model.scale is None else model.scale[near])
        if len(part.x):
            yield dict(zip(boundary, sides, strict=True)), part


def linear_factors(model, boundary, positions):
    """Per axis the factors (4, k) of `linear_terms` by side, and 1/mass, at positions of that axis; 0 outside the walls."""
    factors = {}
    for axis, (_, lo, hi) in boundary.items():
        x, b = positions[axis], model.reach[axis]
        with np.errstate(invalid="ignore"):
            below, above = (x - lo) / b, (hi - x) / b
            near = np.flatnonzero((below >= 0) & (above >= 0) & (np.minimum(below, above) < 1))
            outside = (below < 0) | (above < 0)
        factor = np.zeros((4, len(x)))
        factor[[[0], [3]], ~outside] = 1.0
        mass, mean, variance = cut_moments(model, -above[near], below[near])
        side, sign = np.where(below[near] <= above[near], 1, 2), np.where(below[near] <= above[near], 1.0, -1.0)
        slope = -sign * mean / (mass * variance)  # (a2 - a1 u) / (a0 a2 - a1^2), Jones (1993), equation (3.4)
        factor[0, near] = (1 + mean**2 / variance) / mass + slope * (1 + np.minimum(below, above)[near])
        factor[side, near] = -slope
        factor[3, near] = 1 / mass
        factors[axis] = factor
    return factors
