"""One dimension: both tails of the distribution function, quantiles, mean and variance of an estimate."""

from __future__ import annotations

import math

import numpy as np

from numbastats.kde.masses import cut_moments, marginal_cdf

__all__ = ["Line"]

STEPS = 200  # most steps of a quantile; usually 4 to 8


class Line:
    """An estimate in one dimension, its samples sorted.

    Parameters
    ----------
    model : Model
    boundary : dict
    passes : list of (Model, flips)
    """

    def __init__(self, model, boundary, passes):
        self.model = model
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

    def ends(self):
        """The least and the largest point of the support."""
        low, high = [], []
        for at, b, w, _, _ in self.parts:
            seen = (w > 0) & (at + b > self.lo) & (at - b < self.hi)
            low.append((at - b)[seen].min(initial=math.inf))
            high.append((at + b)[seen].max(initial=-math.inf))
        return max(min(low), self.lo), min(max(high), self.hi)

    def quantiles(self, p, sign, density):
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
