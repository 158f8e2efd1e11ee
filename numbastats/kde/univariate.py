"""One dimension: both tails of the distribution function, quantiles, mean and variance of an estimate."""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.launch import run_loop
from numbastats.kde.kernels.line import masses_loop, points_loop
from numbastats.kde.masses import cut_moments, marginal_cdf

__all__ = ["Line"]

MANY = 1000  # values for which pieces are made
STEPS = 200  # most steps of a quantile; usually 4 to 8


class Line:
    """An estimate in one dimension, its samples sorted.

    Parameters
    ----------
    model : Model
    boundary : dict
    passes : list of (Model, flips)
    workers : int, optional
    """

    def __init__(self, model, boundary, passes, workers=None):
        self.model, self.workers = model, workers
        self._made = {}
        _, self.lo, self.hi = boundary.get(0, ("", -math.inf, math.inf))
        self.walls = bool(boundary)
        by = np.argsort(model.x[:, 0])
        self.samples = model.x[by, 0]
        weights = np.ones(len(by)) if model.weights is None else model.weights[by]
        self.share = np.cumsum(weights) / weights.sum()
        self.parts = []
        for part, _ in passes:
            by = np.argsort(part.x[:, 0])
            at = part.x[by, 0]
            b = math.sqrt(part.support[0, 0]) * (np.ones(len(at)) if part.scale is None else part.scale[by])
            w = np.ones(len(at)) if part.weights is None else part.weights[by]
            self.parts.append((at, b, w, np.concatenate([[0.0], np.cumsum(w)]), b.max(initial=0.0)))

    def _sums(self, x, sign):
        """Sum of the kernels' masses below (sign 1) or above (sign -1) points (k,), over W."""
        order, total = np.argsort(x), np.where(np.isnan(x), math.nan, 0.0)
        for at, b, w, whole, reach in self.parts:
            count = max(1, min(2_000_000 // max(1, len(at)), -(-x.size // 64)))
            for first in range(0, x.size, count):
                some = order[first : first + count]
                lo, hi = np.searchsorted(at, [x[some[0]] - reach, x[some[-1]] + reach])
                u = sign * (x[some, None] - at[lo:hi]) / b[lo:hi]
                sure = whole[lo] if sign > 0 else whole[-1] - whole[hi] if hi < len(at) else 0.0
                # einsum, because BLAS would start threads
                total[some] += sure + np.einsum("ij,j->i", marginal_cdf(self.model, u), w[lo:hi])
        return total / self.model.total

    def tail(self, x, sign):
        """Probability below (sign 1) or above (sign -1) points of any shape."""
        flat = np.clip(np.asarray(x, float).reshape(-1), self.lo, self.hi)
        value, wall = self._sums(flat, sign), self.lo if sign > 0 else self.hi
        if math.isfinite(wall):
            value = value - self._sums(np.array([wall]), sign)
        return np.clip(value, 0.0, 1.0).reshape(np.shape(x))

    def masses(self, x, sign):
        """`tail` for points of any shape, from pieces where these are many."""
        pieces = self._pieces(np.size(x), sign)
        if pieces is None:
            return self.tail(x, sign)
        flat = np.ascontiguousarray(np.clip(sign * np.asarray(x, float).reshape(-1), pieces.lo, pieces.hi))
        value = pieces.below(flat)
        rest = ~(value > pieces.small)  # these keep their relative accuracy
        value[rest] = self.tail(sign * flat[rest], sign)
        return np.clip(value, 0.0, 1.0).reshape(np.shape(x))

    def _pieces(self, count, sign):
        """The pieces for a number of values, or None where sums take less time or pieces are not exact enough."""
        m = self.model
        if sign not in self._made:
            if count < MANY or m.scale is not None or not (m.kernel.rows or m.kernel.tailed):
                return None
            n, width = sum(len(part[0]) for part in self.parts), float(m.reach[0])
            share = min(1.0, 2 * width / max(float(m.high[0] - m.low[0]), width))
            sums = 10.0 * n * share  # nanoseconds of a value
            if m.kernel.rows:
                size, cost = 2 * n, 3000.0 * n
            else:
                size = (float(m.high[0] - m.low[0]) + 2 * width) / (WIDTH * math.sqrt(m.H[0, 0]))
                cost = size * (DEGREE + 1) * sums
            if size > MOST_PIECES or cost + 1e6 > count * sums:
                return None
            self._made[sign] = Pieces(self, sign)
        return self._made[sign] if self._made[sign].good else None

    def ends(self):
        """The least and the largest point of the support."""
        low, high = [], []
        for at, b, w, _, _ in self.parts:
            seen = (w > 0) & (at + b > self.lo) & (at - b < self.hi)
            low.append((at - b)[seen].min(initial=math.inf))
            high.append((at + b)[seen].max(initial=-math.inf))
        return max(min(low), self.lo), min(max(high), self.hi)

    def quantiles(self, p, sign, density):
        """Points below (sign 1) or above (sign -1) which the probability is p (k,), from pieces where these are many."""
        below, pieces = p if sign > 0 else 1.0 - p, self._pieces(5 * len(p), 1)
        x = np.full(len(p), math.nan) if pieces is None else pieces.points(np.ascontiguousarray(below))
        missing = np.isnan(x)
        for side in (1, -1):
            mass = p if side == sign else 1.0 - p
            rest = np.flatnonzero(missing & ((below > 0.5) if side < 0 else ~(below > 0.5)))
            x[rest] = self._searched(mass[rest], side, density)
            some = np.flatnonzero(~missing & (mass < pieces.small)) if pieces else rest[:0]
            for _ in range(2):  # these keep their relative accuracy
                found = self.tail(x[some], side)
                with np.errstate(all="ignore"):
                    off = np.log(mass[some] / found)
                    step = side * found / density(x[some]) * off
                x[some] += np.where(np.isfinite(step), step, 0.0)
                some = some[~(np.abs(off) <= 1e-8)]  # of the others the next step would be of the square
            x[some] = self._searched(mass[some], side, density)
        return x

    def _searched(self, p, sign, density):
        """Points below (sign 1) or above (sign -1) which the probability is p (k,), for p <= 1/2 to the accuracy of `tail`.

        Newton's method for the logarithm of the probability, from the samples' quantile on; where it leaves the bracket, or does
        not halve it in three steps, the middle is taken.
        """
        first, last = self.ends()
        result = np.where(p == 0, first if sign > 0 else last, np.where(p == 1, last if sign > 0 else first, math.nan))
        todo = np.flatnonzero((p > 0) & (p < 1))
        lo, hi, wanted = np.full(len(todo), first), np.full(len(todo), last), p[todo]
        place = np.searchsorted(self.share, wanted if sign > 0 else 1 - wanted)
        x = self.samples[np.minimum(place, len(self.samples) - 1)]
        x, width = np.clip(x, first, last), hi - lo
        for step in range(STEPS):
            if not len(todo):
                break
            mass = self.tail(x, sign)
            short = (mass < wanted) if sign > 0 else (mass > wanted)  # the quantile lies above x
            lo, hi = np.where(short, x, lo), np.where(short, hi, x)
            with np.errstate(all="ignore"):
                new = x + sign * mass / density(x) * np.log(wanted / mass)
            bad = ~((new > lo) & (new < hi)) & (mass != wanted)
            if step % 3 == 2:
                bad |= (hi - lo > 0.5 * width) & (np.abs(new - x) > 1e-6 * (hi - lo))
                width = hi - lo
            middle = 0.5 * lo + 0.5 * hi
            new = np.where(mass == wanted, x, np.where(bad, middle, new))
            tiny = 2 * np.spacing(np.abs(x))
            done = (mass == wanted) | (np.abs(new - x) <= tiny) | (hi - lo <= tiny)
            result[todo[done]] = new[done]
            left = ~done
            todo, lo, hi, wanted, x, width = todo[left], lo[left], hi[left], wanted[left], new[left], width[left]
        result[todo] = x
        return result

    def moments(self):
        """Mean and variance."""
        sums, centre = np.zeros(3), float(self.model.centre[0])
        second = self.model.kernel.second(math.sqrt(self.model.tau2), self.model.tail)
        for at, b, w, _, _ in self.parts:
            cut = (at - b < self.lo) | (at + b > self.hi)
            z, whole = at[~cut] - centre, w[~cut]
            mass, mean = whole.sum(), whole @ z
            sums += [mass, mean, whole @ (z * z + second * b[~cut] ** 2)]
            sums += self._cut(at[cut], b[cut], w[cut], centre)
        mean = sums[1] / sums[0]
        if self.walls:
            return centre + mean, sums[2] / sums[0] - mean * mean
        at, b, w, _, _ = self.parts[0]
        return centre + mean, (w @ ((at - centre - mean) ** 2 + second * b * b)) / w.sum()

    def _cut(self, at, b, w, centre):
        """Sums of the mass, the first and the second moment about a centre of kernels cut at the walls."""
        mass, mean, variance = cut_moments(self.model, (self.lo - at) / b, (self.hi - at) / b)
        mass, z = mass * w, at + b * mean - centre
        return mass.sum(), mass @ z, mass @ (z * z + b * b * variance)


# --- many values: the distribution function in pieces --------------------------------------------------------------------------

MOST_PIECES = 4_000_000
CACHED = 4096  # pieces up to which their order does not count
FEW = 16  # samples in reach of a piece that are summed one by one
WIDTH, DEGREE = 0.5, 11  # of the pieces of a kernel without an end, in units of H^(1/2)
CHECKED, ERROR = 256, 1e-12  # values that are compared with sums, and the largest error


class Pieces:
    """The masses below points, a polynomial in every piece of the line.

    Those of a power kernel are exact: pieces end where the supports of samples do, and moments of the samples give the
    coefficients. Those of the kernels without an end interpolate sums. For the masses above pass a mirrored line.

    Parameters
    ----------
    line : Line
    sign : {1, -1}
    """

    def __init__(self, line, sign):
        self.line, self.sign = line, sign
        self.lo, self.hi = (line.lo, line.hi) if sign > 0 else (-line.hi, -line.lo)
        self.wall = float(line._sums(np.array([sign * self.lo]), sign)[0]) if math.isfinite(self.lo) else 0.0
        exact = line.model.kernel.rows
        self.small = 1e-6 if exact else 1e-4  # masses that are always sums
        made = self._of_moments() if exact else self._of_sums()
        breaks, offset, unit, pieces = made
        pieces[:, 0] -= self.wall
        last = np.polynomial.polynomial.polyval((breaks[-1] - breaks[-2] - offset) / unit, pieces[-1])
        first = np.polynomial.polynomial.polyval(-offset / unit, pieces.T) if offset else pieces[:, 0]
        self.masses = np.maximum.accumulate(np.append(first, last))
        self.breaks, self.pieces = breaks, np.ascontiguousarray(pieces)
        self.by_x, self.by_mass = _guide(breaks), _guide(self.masses)
        self.units = offset, 1.0 / unit
        self._check()

    def _check(self):
        """Compare with sums, at places of all masses."""
        at = np.sort(np.random.default_rng(0).choice(len(self.breaks) - 1, CHECKED))
        x = self.breaks[at] + np.linspace(0.05, 0.95, CHECKED) * (self.breaks[at + 1] - self.breaks[at])
        want = self.line.tail(self.sign * x, self.sign)
        self.error = float(np.abs(self.below(x) - want).max())
        self.good = self.error <= ERROR

    def _samples(self):
        parts = self.line.parts
        at, w = (np.concatenate([part[k] for part in parts]) for k in (0, 2))
        order = np.argsort(at * self.sign, kind="stable")
        return (at * self.sign)[order], w[order]

    def _breaks(self, ends):
        low, high = (v * self.sign for v in self.line.ends()[:: self.sign])
        return np.unique(np.concatenate([[low, high], ends[(ends > low) & (ends < high)]]))

    def _of_moments(self):
        """Pieces between the ends of supports: sums of powers of the distances from the samples in reach."""
        model, (x, w) = self.line.model, self._samples()
        b, p = math.sqrt(model.support[0, 0]), model.power
        breaks = self._breaks(np.concatenate([x - b, x + b]))
        density = np.polynomial.Polynomial([1.0, 0.0, -1.0]) ** p * model.kernel.norm(1)
        mass = density.integ() + 0.5
        c, degree = breaks[:-1], 2 * p + 1
        first, end = np.searchsorted(x + b, c, "right"), np.searchsorted(x - b, c, "right")
        whole = np.concatenate([[0.0], np.cumsum(w)])
        sums = np.zeros((degree + 1, len(c)))  # of w u^k, u = (c - x) / b
        cell = np.floor((x - x[0]) / b)
        starts = np.searchsorted(cell, cell)  # first sample of the own cell
        centre = x[0] + (cell + 0.5) * b
        f, running = (x - centre) / b, []
        power = w.copy()
        for _ in range(degree + 1):
            total = np.concatenate([[0.0], np.cumsum(power)])
            running.append((total[1:] - total[starts], power.copy()))
            power *= f
        i = first.copy()
        for _ in range(4):  # a window meets at most four cells
            some = np.flatnonzero(i < end)
            if not len(some):
                break
            a = i[some]
            z = np.minimum(np.searchsorted(cell, cell[a], "right"), end[some])
            delta = (c[some] - centre[a]) / b
            m = [inclusive[z - 1] - inclusive[a] + own[a] for inclusive, own in running]
            for k in range(degree + 1):
                for r in range(k + 1):
                    sums[k, some] += math.comb(k, r) * delta ** (k - r) * (-1) ** r * m[r]
            i[some] = z
        pieces = np.zeros((len(c), degree + 1))
        for order in range(degree + 1):
            for k in range(order, degree + 1):
                if mass.coef[k]:
                    pieces[:, order] += math.comb(k, order) * mass.coef[k] * sums[k - order]
        few = np.flatnonzero(end - first <= FEW)
        pieces[few] = 0.0
        for j in range(FEW):
            some = few[first[few] + j < end[few]]
            i = first[some] + j
            u = np.clip((c[some] - x[i]) / b, -1.0, 1.0)
            pieces[some, 0] += w[i] * marginal_cdf(model, u)
            for order in range(1, degree + 1):
                pieces[some, order] += w[i] * mass.deriv(order)(u) / math.factorial(order)
        pieces[:, 0] += whole[first]
        return breaks, 0.0, b, pieces / model.total

    def _of_sums(self):
        """Pieces of equal length: polynomials through sums."""
        model, (x, _) = self.line.model, self._samples()
        unit = math.sqrt(model.H[0, 0])
        reach = min(math.sqrt(model.tau2), 8.0) * unit
        low, high = max(x[0] - reach, self.lo), min(x[-1] + reach, self.hi)
        count = max(1, math.ceil((high - low) / (WIDTH * unit)))
        breaks = np.linspace(low, high, count + 1)
        half = 0.5 * (breaks[1] - breaks[0])
        nodes = np.cos(math.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
        at = (breaks[:-1, None] + half) + half * nodes
        values = self.line._sums(self.sign * at.reshape(-1), self.sign).reshape(at.shape)
        orders = np.cos(np.arange(DEGREE + 1)[:, None] * np.arccos(nodes)) * (2 / (DEGREE + 1))
        orders[0] *= 0.5
        series = values @ orders.T
        series[np.abs(series) < 4e-16 * np.abs(series).max(1, keepdims=True)] = 0.0  # rounding alone, which powers would raise
        powers = np.array(
            [np.pad(v, (0, DEGREE + 1 - len(v))) for v in map(np.polynomial.chebyshev.cheb2poly, np.eye(DEGREE + 1))]
        )
        return breaks, half, half, series @ powers

    def below(self, x):
        """Masses below points (k,); NaN outside the pieces."""
        guide, scale = self.by_x
        return self._run(masses_loop, 40, x, self.breaks, guide, (scale, *self.units), self.pieces)

    def points(self, p):
        """Points below which the masses are p (k,); NaN outside the pieces."""
        guide, scale = self.by_mass
        return self._run(points_loop, 80, p, self.breaks, self.masses, guide, (scale, *self.units), self.pieces, keys=self.masses)

    def _run(self, loop, cost, values, *tables, keys=None):
        """A loop over values, roughly sorted where the pieces are more than a cache holds."""
        keys, out = self.breaks if keys is None else keys, np.empty(len(values))
        cost *= len(values)
        if len(keys) < CACHED:
            run_loop(loop, cost, self.line.workers, values, *tables, out)
            return out
        with np.errstate(invalid="ignore"):
            bins = (np.clip((values - keys[0]) / (keys[-1] - keys[0]), 0.0, 1.0) * 65535).astype(np.uint16)
        order = np.argsort(bins, kind="stable")  # by their digits, in a time that is linear
        found = np.empty(len(values))
        run_loop(loop, cost, self.line.workers, values[order], *tables, found)
        out[order] = found
        return out


def _guide(keys):
    """Number of the last key at the beginning of equal bins, as many as there are keys, and bins per unit."""
    bins = len(keys)
    scale = bins / (keys[-1] - keys[0])
    edges = keys[0] + np.arange(bins + 1) / scale
    guide = np.clip(np.searchsorted(keys, edges, "right") - 1, 0, len(keys) - 2)
    return guide, scale
