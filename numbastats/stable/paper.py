"""The estimator of Julian-Moreno et al. (2016), kept for comparison as ``method="grid"`` of `fit`.

Its quadrature, ``method="gauss-kronrod"`` of `pdf`, and the Fourier rule by itself are loops in kernels/paper.py.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats.stable.likelihood import inward
from numbastats.stable.simple_estimators import by_quantiles

_SIDE, _SHRINK = 5, 0.6  # points per side of the contracting grid and what a step leaves of its width


def contracting_grid(likelihood, start, free, bounds, profile, known, callback):
    """The contracting grid of the reference: recentre on the best point, shrink unless it lies on the edge."""
    centre = inward(np.array(start), bounds)
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
            p = inward(p, bounds)
            if profile:
                p[2:] = by_quantiles(likelihood.x, likelihood.w, p[0], p[1])[2:]
                for i, name in ((2, "loc"), (3, "scale")):
                    p[i] = known.get(name, p[i])
            cells = list(np.ndindex(*[_SIDE] * len(inner)))
            points = np.repeat(p[None], len(cells), axis=0)
            for r, cell in enumerate(cells):
                for i, k in zip(inner, cell, strict=True):
                    points[r, i] += half[i] * steps[k]
            if 3 in inner:
                points[:, 3] = np.maximum(points[:, 3], 1e-9)
            totals = likelihood.of_rows(p, points[:, 2:3], points[:, 3:])
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
