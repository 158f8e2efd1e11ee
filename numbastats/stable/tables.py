"""Piecewise polynomials of the logarithms of density, distribution and survival function of one law.

Variable: u = log(t + shift) with t = |x - centre|/delta, on either side of the centre. For alpha < 0.9 the centre is zeta, where
the density has its cusp or the support its end, and delta the width of the cusp; else it is 0. The shift is 1, or 0 where the
support begins at the centre. Panels are bisected until the last Chebyshev coefficients are negligible; check points between
the nodes give the certificate. `cells` finds the panel of a u: uniform cells, none larger than a panel.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from numpy.polynomial import chebyshev

from numbastats.scalar import stable as law
from numbastats.stable import kernels

__all__ = ["Table", "table"]

DEGREE = kernels.COEFFICIENTS - 1
_NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))[::-1]
_CHECKS = np.array([-0.97, 0.06])
_ALL = np.concatenate([_NODES, _CHECKS])
_TO_CHEBYSHEV = np.linalg.inv(chebyshev.chebvander(_NODES, DEGREE))
_TO_MONOMIAL = np.zeros((DEGREE + 1, DEGREE + 1))
for _k in range(DEGREE + 1):
    _TO_MONOMIAL[: _k + 1, _k] = chebyshev.cheb2poly(np.eye(DEGREE + 1)[_k])[: _k + 1]
_FIT = np.zeros((_ALL.size, _ALL.size))  # from values to the coefficients and the differences at the check points
_FIT[: DEGREE + 1, : DEGREE + 1] = _TO_CHEBYSHEV.T
_FIT[: DEGREE + 1, DEGREE + 1 :] = (chebyshev.chebvander(_CHECKS, DEGREE) @ _TO_CHEBYSHEV).T
_FIT[DEGREE + 1 :, DEGREE + 1 :] = -np.eye(_CHECKS.size)
_TO_ROW = np.column_stack([(-1.0) ** np.arange(DEGREE + 1), _TO_MONOMIAL.T])  # the value at the start, and the polynomial
BEND = kernels.BEND
_FINEST = 1 / 128
_LOWEST = -760.0  # logarithms of what underflows
_LARGEST = 1e300
_EDGES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0, 64.0, 128.0])


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """What the table kernels need, and the certificate.

    Attributes
    ----------
    info : array (3, 7)
        1/delta, shift; then for the right and the left side: first u, end of u (inf for a heavy tail), cells per unit, first
        cell, number of cells, first panel, number of panels.
    cells : int64 array (cells, 1)
        Panel at the start of every cell; no cell holds more than one panel's end.
    panels : array (3, panels, 4 + DEGREE)
        For log pdf, log cdf, log sf: middle, reciprocal half width, value at the start, monomial coefficients.
    certificate : float
        Largest difference at the check points, of logarithms; relative to 1 + |logarithm|/100.
    centred : bool
        Whether the centre is zeta.
    """

    info: np.ndarray
    cells: np.ndarray
    panels: np.ndarray
    certificate: float
    centred: bool

    @property
    def nbytes(self):
        """Bytes held."""
        return self.info.nbytes + self.cells.nbytes + self.panels.nbytes


class _Points:
    """Logs of pdf, cdf, sf of one law, in rows, at x from its centre."""

    def __init__(self, a, b, centred):
        self.a, self.b, self.centred = a, b, centred
        self.sweeps = {}
        for s in (1.0, -1.0):
            # Not where log g is ill-conditioned (alpha near 1) or nearly flat (almost light tails).
            if (s * b == -1.0 and 1.08 <= a <= 1.95) or (s * b == 1.0 and a <= 0.92):
                self.sweeps[s] = _Light(a, s * b)
            elif a <= 1.95 and abs(a - 1.0) >= 0.08 and (abs(b) <= 0.95 or (s * b == 1.0 and a > 1.0)):
                self.sweeps[s] = _Sweep(a, s * b)
        self.zeta = 0.0 if centred or not self.sweeps else law.zeta(a, b)[0]

    def __call__(self, x):
        result = np.empty((3, x.size))
        x1 = x - self.zeta
        left = np.ones(x.size, bool)
        for side, sweep in self.sweeps.items():
            mine = (side * x1 > sweep.low) & (side * x1 < sweep.high)
            values = sweep(side * x1[mine])
            result[:, mine] = values if side > 0 else values[[0, 2, 1]]
            left &= ~mine
        if left.any():
            result[:, left] = self.each(x[left])
        return result

    def each(self, x):
        p, c, s = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        none = np.empty(0)
        kernels.POINTS.serial(x, self.a, self.b, 0.0, 1.0, -1.0, 1.0 if self.centred else 0.0, c, s, none, none, none, p)
        return np.stack([p, c, s])


def _angles(a, b):
    """Angles of the law, and minus the logarithm of its scale in Zolotarev's form."""
    m = b * law.tan_half_pi(a)[0]
    h0, k1, length, _ = law.angles(a, b, m)
    return h0, k1, length, -0.5 * math.log1p(m * m)


class _Sweep:
    """Log pdf, cdf, sf of low < x1 < high by equal steps in w, with nodes that all points share."""

    def __init__(self, a, b):
        h0, k1, length, log_c = _angles(a, b)
        p = a - 1.0
        steep, flat = max(a, 1.0) / abs(p), min(a, 1.0) / abs(p)  # slopes of log g at the two ends
        step = 0.25 / steep
        ratio, factor = a / p, a / (math.pi * abs(p))
        top = 3.9
        if a < 0.5:  # the integrands are e^(v - g) with g = e^(flat v): their peak is at g = 1/flat
            while top / flat - math.exp(top) > -math.log(flat) / flat - 1.0 / flat - 42.0:
                top += 0.1
        # equal steps in t; wider ones in w where log g has the smaller slope and d theta/d w is all but e^w
        half, wide = min(600.0, 130.0 / flat + 8.0), (steep if a >= 0.5 else min(0.8 * steep, 5.0 * flat)) / flat
        most = math.ceil((8.0 + half / wide) / step)
        # log g is about steep t right of the middle and flat wide t left of it; the series are as fast outside these log x1
        shift = abs(ratio) * np.array([-5.0, 3.0] if a >= 0.5 else [-10.0 / a, 5.0 / a])
        middle = math.log(law.sweep_node(0.0, step, wide, a, h0, k1, length, log_c)[0])
        slope = min(steep, flat * wide)
        beyond = max(middle + 42.0 + shift.max(), 42.0 * max(a, 1.0 / a))
        right = min(most, math.ceil((max(top + shift.max() - middle, 0.0) / slope + 4.0) / step))
        left = min(most, math.ceil((beyond / slope + 4.0) / step))
        g, weights = np.empty(left + right + 1), np.empty((3, left + right + 1))
        kernels.NODES.serial(float(-left), step, wide, a, h0, k1, length, log_c, g, weights)
        # log x1 for which the window lies inside the nodes
        low, high = sorted(v / ratio for v in (top - math.log(g[-1]) + 1.0, -42.0 - math.log(g[0])))
        self.low, self.high = math.exp(max(low, shift[0] / abs(ratio))), math.exp(min(high, shift[1] / abs(ratio)))
        self.numbers = ratio, factor, math.exp(top), h0 / math.pi, float(a < 1.0)
        powers = np.empty((kernels.MOMENTS, 3, g.size))
        powers[:] = np.minimum(g, math.exp(80.0))  # larger ones lie right of all windows
        powers[0] *= weights
        moments = np.zeros((3, kernels.MOMENTS, g.size + 1))
        np.cumsum(np.multiply.accumulate(powers, axis=0, out=powers).swapaxes(0, 1), axis=2, out=moments[:, :, 1:])
        self.nodes = g, weights, moments

    def __call__(self, x):
        p, c, s = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        kernels.SWEEP.serial(x, *self.numbers, *self.nodes, p, c, s)
        return np.stack([p, c, s])


class _Light:
    """The same for light laws: beta = 1 for alpha < 1, beta = -1 for alpha > 1."""

    def __init__(self, a, b):
        h0, k1, length, log_c = _angles(a, b)
        p = a - 1.0
        step = 0.25 / max(max(a, 1.0) / abs(p), 2.0)
        first, last = math.floor(-8.0 / step), math.ceil(45.0 / step)
        excess, jac = np.empty(last - first), np.empty((1, last - first))
        kernels.NODES.serial(float(first), step, 0.0, a, h0, k1, length, log_c, excess, jac)
        lowest = a / p * (log_c - math.log(a)) + math.log(abs(p)) - log_c
        self.nodes = excess, jac[0], np.append(np.cumsum(jac[0, ::-1])[::-1], 0.0)
        # the series are as fast outside
        self.low, self.high = (0.0, math.exp(3.0 if a >= 0.5 else 5.0 / a)) if a < 1.0 else (1e-9, math.inf)
        self.numbers = a / p, a / (math.pi * abs(p)), math.exp(lowest), h0 / math.pi, float(a < 1.0)

    def __call__(self, x):
        p, c, s = np.empty_like(x), np.empty_like(x), np.empty_like(x)
        kernels.LIGHT.serial(x, *self.numbers, *self.nodes, p, c, s)
        return np.stack([p, c, s])


def _bisect(values, side, lo, hi, tolerance):
    """Panels as arrays (side, lo, hi, Chebyshev coefficients), sorted, and the certificate, of values(u, side) -> (3, n)."""
    kept, certificate = [], 0.0
    while lo.size:
        mid, half = 0.5 * (lo + hi), 0.5 * (hi - lo)
        u = mid[:, None] + half[:, None] * _ALL
        f = values(u.ravel(), np.repeat(side, _ALL.size)).reshape(3, lo.size, _ALL.size)
        finite = np.isfinite(f).all(axis=(0, 2))
        if not finite.all():
            f = np.where(np.isfinite(f), f, _LOWEST)
        c = f @ _FIT  # the coefficients, and how far the check points are off
        last = np.abs(c[..., DEGREE - 1 :]) / (1.0 + 0.01 * np.abs(c[..., :1]))
        done = ((last[..., :2].max(axis=(0, 2)) < tolerance) & finite) | (half <= _FINEST)
        kept.append((side[done], lo[done], hi[done], c[:, done, : DEGREE + 1]))
        certificate = max(certificate, last[:, done & finite, 2:].max(initial=0.0))
        more = ~done
        lo, mid, hi, side = lo[more], mid[more], hi[more], side[more]
        lo, hi, side = np.concatenate([lo, mid]), np.concatenate([mid, hi]), np.concatenate([side, side])
    side, lo, hi = (np.concatenate([k[i] for k in kept]) for i in range(3))
    order = np.lexsort((lo, -side))
    return side[order], lo[order], hi[order], np.concatenate([k[3] for k in kept], axis=1)[:, order], certificate


def _edges(values, side, top, light_end, light_tail):
    """Ends of the first panels of one side, cut where the density underflows."""
    edges = np.append(_EDGES[_EDGES < top], top)
    if light_end:
        edges = np.concatenate([-_EDGES[:0:-1], edges])
    if not (light_end or light_tail):
        return edges
    above = np.flatnonzero(values(edges, np.full(edges.size, side))[0] > _LOWEST)
    first, last = above[0], above[-1] if light_tail else edges.size - 1
    inside, outside = (edges[first], edges[first - 1]) if light_end else (edges[last], edges[last + 1])
    for _ in range(3):
        between = np.linspace(inside, outside, 17)[1:]
        n = np.count_nonzero(values(between, np.full(16, side))[0] > _LOWEST)
        inside, outside = between[n - 1] if n > 0 else inside, between[min(n, 15)]
    return np.unique(np.append(edges[first : last + 1], inside))


def _delta(a, b):
    """Width of the cusp at zeta; for small alpha, where it has none, what is flat in doubles."""
    if a >= 0.9 or abs(b) == 1.0:
        return 1.0
    m = b * law.tan_half_pi(a)[0]
    return math.exp(math.lgamma(1 / a) - math.lgamma(2 / a) + 0.5 / a * math.log1p(m * m)) * (1.0 if a >= 0.5 else 1e-13)


@functools.lru_cache(maxsize=16)
def table(a, b):
    """The `Table` of the standard law (alpha, beta)."""
    centred = a < 0.9
    delta = _delta(a, b)
    shift = 0.0 if centred and abs(b) == 1.0 else 1.0
    points = _Points(a, b, centred)
    log_delta = math.log(delta)

    def values(u, side):
        small = np.minimum(u, 30.0)
        near = delta * (np.expm1(small) if shift else np.exp(small))
        return points(side * np.where(u < 30.0, near, np.exp(u + log_delta)))

    sides = [side for side in (1.0, -1.0) if not (centred and side * b == -1.0)]  # the other is outside the support
    sides = sides if b != 0.0 else [1.0]  # its mirror image
    top = math.log(_LARGEST) - log_delta
    edges = [_edges(values, s, top, shift == 0.0, s * b == -1.0 and not centred) for s in sides]
    side, lo, hi, c, certificate = _bisect(
        values,
        np.concatenate([np.full(e.size - 1, s) for e, s in zip(edges, sides, strict=True)]),
        np.concatenate([e[:-1] for e in edges]),
        np.concatenate([e[1:] for e in edges]),
        4e-14 if abs(b) == 1.0 or abs(a - 1.0) < 0.08 else 1e-14,  # light tails and integrals next to 1 have more noise
    )
    if b == 0.0:
        side, lo, hi, c = np.append(side, -side), np.append(lo, lo), np.append(hi, hi), np.append(c, c[[0, 2, 1]], axis=1)
    info, cells, count = np.zeros((3, 7)), [], 0
    info[0, :2], info[1:, 1] = (1.0 / delta, shift), -math.inf
    for row, s in enumerate((1.0, -1.0), 1):
        mine = side == s
        if not mine.any():
            continue
        first, last, number = lo[mine][0], hi[mine][-1], np.count_nonzero(mine)
        ends = np.append(lo[mine], last) - first
        per_unit = 1.0 / np.diff(ends / (ends + BEND)).min()
        size = math.ceil(ends[-1] / (ends[-1] + BEND) * per_unit)
        bent = np.arange(size) / per_unit
        where = np.minimum(BEND * bent / (1.0 - np.minimum(bent, 0.9999)), ends[-1])
        tail = s * b == -1.0 and not centred
        info[row] = first, last if tail else math.inf, per_unit, sum(map(len, cells)), size, count, number
        cells.append(np.searchsorted(ends[:-1], where, side="right") - 1 + count)
        count += number
    rows = np.empty((3, count, 4 + DEGREE))
    rows[:, :, 0], rows[:, :, 1] = 0.5 * (lo + hi), 2.0 / (hi - lo)
    rows[:, :, 2:] = c @ _TO_ROW
    return Table(info, np.concatenate(cells).astype(np.int64).reshape(-1, 1), rows, certificate, centred)
