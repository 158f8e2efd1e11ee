"""Masses of a density from both ends, and their inverse: the host mathematics under the quantile tables.

A distribution is cut at its anchor into two sides. A side is a chain of panels on which x = X0 + A exp(k t), -1 <= t <= 1, with
X0 the anchor, or a finite end of the support for the outer half of a side that has one. In t the density times dx/dt is a
Chebyshev polynomial of 16 terms, whose antiderivative gives the masses. Panels are logarithmic, so the mass next to the anchor
and the mass in a tail keep their relative accuracy, and power laws at the anchor, in the tail or at an end of the support cost
nothing extra. Masses add up from both ends: a tail mass is never 1 minus something. No normalising constant is needed.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.polynomial import chebyshev

from numbastats.scalar.tables import SIDE_COLUMNS

__all__ = ["Masses", "Slope", "chebyshev_matrix", "chebyshev_points", "scaling", "side_rows"]

NODES = 16
PANELS = 3000  # on one side; a density that needs more is refused
DECAY = 2.0  # largest change of log(density times distance) on a first panel
TAIL = {"table": 1e-34, "tail": 1e-320, "full": 1e-320}  # density times distance where a side ends, as a share of its peak
CENTRE = {"table": 1e-38, "tail": 1e-38, "end": 1e-280, "full": 1e-302}  # the same at the anchor; in a tail with a finite end
FLOOR = 1e-290  # densities below it are close to underflow and have lost digits
FAR = 1e305


def chebyshev_points(n):
    """The n Chebyshev points of the first kind, ascending."""
    return -np.cos(np.pi * (np.arange(n) + 0.5) / n)


@functools.cache
def chebyshev_matrix(n):
    """Matrix that turns values at `chebyshev_points` into Chebyshev coefficients."""
    k = np.arange(n)
    m = np.cos(np.outer(k, np.arccos(np.clip(chebyshev_points(n), -1, 1)))) * 2 / n
    m[0] /= 2
    m.flags.writeable = False
    return m


_END = 1 - 1e-6  # next to the ends of a panel
_NARROW = 1e-14  # relative half width of a panel with a jump

_POINTS, _COEFFICIENTS = chebyshev_points(NODES), chebyshev_matrix(NODES)


def _antiderivative_matrix(n):
    """Chebyshev coefficients -> those of the antiderivative that is 0 at -1."""
    m = np.zeros((n + 1, n))
    m[1, 0] = 1.0
    for k in range(1, n):
        m[k + 1, k] += 0.5 / (k + 1)
        if k > 1:
            m[k - 1, k] -= 0.5 / (k - 1)
    m[0] = -(m[1:] * ((-1.0) ** np.arange(1, n + 1))[:, None]).sum(0)
    return m


_INTEGRATE = _antiderivative_matrix(NODES)
_SLOPE = np.arange(NODES) ** 2.0  # derivative of T_k at 1


def _clenshaw(c, t):
    """Chebyshev series with coefficients c[k, i] at t[i]."""
    twice = t + t
    b1, b2 = c[-1] * 1.0, np.zeros_like(t)
    work = np.empty_like(t)
    for k in range(c.shape[0] - 2, 0, -1):
        np.multiply(twice, b1, out=work)
        work -= b2
        work += c[k]
        b2, b1, work = b1, work, b2
    return c[0] + t * b1 - b2


class _ComplexError(TypeError):
    """A density with complex values."""


class Side:
    """One side of the anchor: panels in the order away from it, and the masses at their edges.

    Parameters
    ----------
    density : callable
        Unnormalised density of an array of x; negative, infinite or NaN values are refused. Where it would over- or underflow,
        an attribute `weighted(origin, sign, s)` gives the density at origin + sign s times s instead; with an attribute `fall`,
        the power f of a tail like s^-f, for the anchor 0 alone. An attribute `offset` says how far from 0 the argument of the
        distribution is where x is 0: it is rounded there.
    anchor, end : float
        Where the side begins and ends; `end` may be infinite.
    scale : float
        A length on which the density varies; only a starting point.
    depth : {"table", "tail", "full"}
        How small the masses are to be followed.
    singular : float, optional
        Exponent a of a density that goes like distance^a at the anchor; found from the density when None.
    breaks : sequence of float
        Places of kinks, jumps and narrow modes: panels end there, and become narrow towards them.
    """

    def __init__(self, density, anchor, end, scale, depth, singular=None, breaks=()):
        self.density, self.anchor, self.end, self.breaks = density, anchor, end, np.asarray(breaks, np.float64)
        self.power_law = hasattr(density, "fall") and anchor == 0.0  # such a density ends in an exact power
        self.weighted = getattr(density, "weighted", None) if self.power_law or not hasattr(density, "fall") else None
        self.sign = 1.0 if end > anchor else -1.0
        self.depth, self.singular = depth, singular
        self.offset = getattr(density, "offset", 0.0)
        here, there = self._away(anchor), self._away(end)
        chains = self._chains(scale)
        parts = [self._resolve(*chain) for chain in chains]
        self.X0, self.A, self.k, self.c, self.errors = (np.concatenate(p) for p in zip(*parts, strict=True))
        self.C = self.c @ _INTEGRATE.T
        self.mass = self.C.sum(1)
        first, last = self.c[0], self.c[-1]
        at_left = (first * (-1.0) ** np.arange(NODES)).sum()
        vanishes = not at_left > 1e-30 * first.sum()  # faster than any power
        edge = abs(self.A[0]) * math.exp(-self.k[0])
        # how far the density is 0 next to the anchor
        self.gap = edge if vanishes and not self._weighted(anchor, self.sign, np.array([0.5 * edge]))[0] else 0.0
        slope = 1.0 if vanishes else -(first * (-1.0) ** np.arange(NODES) * _SLOPE).sum() / (at_left * self.k[0])
        bent = [0.0, 0.0]  # relative errors of the extrapolated masses where x is rounded, from the bend of the power law
        if here != 0.0 and not vanishes:
            value, found, bend = self._fitted(1, math.log(abs(self.A[0])) - self.k[0])
            if singular is None:
                at_left, slope, bent[0] = value * self.k[0], found, bend
            else:
                bent[0] = max(abs(found - 1.0 - singular) - 2e-13, 0.0) / (1.0 + singular)  # less the rounding of the fit
        unsure = [0.0, 0.0]  # relative errors of the extrapolated masses, as shares of them
        if here == 0.0 and not vanishes and singular is None:
            slope, unsure[0] = self._steady(slope, False)
        power = slope if singular is None else 1.0 + singular
        if not power > 1e-2:
            raise ValueError(
                f"the density is not integrable at the anchor {anchor!r}: it grows like distance^{power - 1:.3g}; "
                "an exponent above -0.99 is needed (singular= states it)"
            )
        self.power = power
        self.inner = 0.0 if vanishes else at_left / self.k[0] / power  # mass between the anchor and the first panel: a power law
        at_right, fall = last.sum(), (last * _SLOPE).sum()
        edge = abs(self.A[-1]) * math.exp(self.k[-1])
        # whether the density ends before the support does
        if math.isfinite(end):
            self.stops = self.X0[-1] == end and not self._weighted(end, -self.sign, np.array([0.5 * edge]))[0]
        else:  # at a break
            beyond = np.array([1.1 * edge])
            self.stops = edge in self.sign * (self.breaks - anchor) and not self._weighted(anchor, self.sign, beyond)[0]
        at_right = 0.0 if self.stops else at_right
        # mass beyond the last panel, as if the density went on as a power of the distance
        rate = -fall / (at_right * abs(self.k[-1])) if at_right > 1e-300 else 1.0
        if math.isfinite(end) and there != 0.0 and at_right > 1e-300:
            at_right, rate, bent[1] = self._fitted(-1, math.log(abs(self.A[-1])) + self.k[-1])
            at_right *= abs(self.k[-1])
        if there == 0.0 and at_right > 1e-300:
            rate, unsure[1] = self._steady(rate, True)
        if self.power_law and abs(self.A[-1]) > 0.1 * FAR:  # deep in an exact power law, which the distribution knows best
            rate = density.fall
        elif math.isfinite(end) and not rate > 1e-2 and at_right > 1e-30 * self.c.max():
            raise ValueError(
                f"the density is not integrable at the end {end!r} of its support: it grows like distance^{rate - 1:.3g}; "
                "an exponent above -0.99 is needed. A steep pole belongs at the anchor"
            )
        self.fall = abs(rate)
        self.outer = max(at_right / abs(self.k[-1]) / self.fall, 0.0)
        self.low = np.concatenate([[self.inner], self.inner + np.cumsum(self.mass)])
        self.high = np.cumsum(np.concatenate([[self.outer], self.mass[::-1]]))[::-1]
        self.total = self.inner + self.high[0]
        # what the rounding of the density, which is random, leaves open, also in the masses that are extrapolated
        edges = self.inner * max(self.errors[0], bent[0])
        edges += self.outer * max(self.errors[-1], bent[1]) if math.isfinite(end) else 0.0
        # as errors relative to x, which is smaller where the side runs towards 0
        self.noise = math.sqrt(np.sum((self.mass / self.total * self.errors) ** 2)) * min(1.0, scale / here if here else 1.0)
        bulk = self.X0 + self.A * np.exp(self.k)
        bulk = abs(bulk[np.argmax(self.high[1:] <= 1e-3 * self.total)] - anchor)
        nearest = here if anchor * self.sign >= 0.0 else here - bulk
        self.noise += edges / self.total * min(1.0, scale / nearest if nearest > 0.0 else 1.0)
        self.unsure = [error * mass / self.total for error, mass in zip(unsure, (self.inner, self.outer), strict=True)]

    def _away(self, origin):
        """Distance from 0 of the density's argument at `origin`: next to it the argument is rounded relative to this."""
        return max(abs(origin), self.offset)

    def extrapolation(self, tail):
        """Error, as in `Certificate`, that the extrapolated masses make at shares from `tail` on."""
        masses = self.inner / self.total, self.outer / self.total
        return 5.0 * max(error / max(mass, tail) for error, mass in zip(self.unsure, masses, strict=True))

    def _steady(self, slope, outer):
        """Power of the density times distance next to the anchor or the end, both 0, and what is open of it as a share.

        The slope at the last edge has a rounding of 1e-12, one over many octaves has none that matters; where the two differ
        by more the density is no power law there yet.
        """
        panels = np.flatnonzero(self.X0 == self.X0[-1 if outer else 0])[:: -1 if outer else 1]
        k = np.abs(self.k[panels])
        far = np.log(np.abs(self.A[panels])) + k
        far -= far[0] - 2.0 * k[0]
        values = (self.c[panels] @ np.cos(np.outer(np.arange(NODES), np.arccos(_POINTS)))) / k[:, None]
        place = np.log(np.abs(self.A[panels]))[:, None] + self.k[panels, None] * _POINTS
        most = min(100.0, 0.25 * far[-1])
        fits = []
        for span in (most, 0.5 * most):
            use = far <= span
            if use.sum() < 3:
                return slope, 0.0
            fits.append(np.polyfit((place[use] - place[0, 0]).ravel(), np.log(np.abs(values[use] / values[0, 0])).ravel(), 1)[0])
        wide, half = fits
        if abs(wide - slope) > 1e-9:
            return slope, 2.0 * abs(wide - slope) / most / slope**2  # the bend of the slope
        return wide, abs(wide - half) / abs(wide)

    def _fitted(self, step, edge):
        """A power law next to the anchor (step 1) or the end (-1), where x is rounded, from three panels.

        Its value at the logarithmic distance `edge`, its power, and what is open of its mass as a share: the change of the power
        to the next panels.
        """

        def fit(panels):
            k = self.k[panels, None]
            values = self.c[panels] @ np.cos(np.outer(np.arange(NODES), np.arccos(_POINTS))) / np.abs(k)
            place = np.log(np.abs(self.A[panels, None])) + k * _POINTS - edge
            return place.mean(), *np.polyfit(place.ravel(), np.log(np.maximum(values, 1e-300)).ravel(), 1)

        panels = np.flatnonzero(self.X0 == self.X0[0 if step > 0 else -1])[::step]
        near, power, value = fit(panels[:3])
        if panels.size < 6:
            return math.exp(value), power, 0.0
        far, other, _ = fit(panels[3:6])
        return math.exp(value), power, abs((other - power) / (far - near)) / power**2

    # -- panels -------------------------------------------------------------------------------------------------

    def _weighted(self, origin, sign, s):
        """Density times the distance s from `origin`."""
        x = origin + sign * s
        try:
            with np.errstate(all="ignore"):
                f = self.density(x.ravel()) if self.weighted is None else self.weighted(origin, sign, s.ravel())
                if np.iscomplexobj(f):
                    raise _ComplexError(f"the density is complex at x = {float(x.flat[0])!r}; it must be real, finite and >= 0")
                f = np.broadcast_to(np.asarray(f, dtype=np.float64), x.size).reshape(x.shape)
        except _ComplexError:
            raise
        except (TypeError, ValueError) as error:
            raise (TypeError if isinstance(error, TypeError) else ValueError)(
                f"the density failed on an array of {x.size} values ({error}); it must work elementwise on arrays: use NumPy "
                "functions, numpy.where for if, or numpy.vectorize"
            ) from error
        bad = ~(np.isfinite(f) & (f >= 0))
        if bad.any():
            where, value = float(x[bad][0]), float(f[bad][0])
            what = f"negative at x = {where!r}: {value!r}" if value < 0 else f"{value!r} at x = {where!r}"
            raise ValueError(
                f"the density is {what}; it must be finite and >= 0 inside the support. "
                "Put the anchor at a pole, and check support= and the parameters"
            )
        if self.singular is not None and origin == self.anchor != 0.0:
            f = f * (s / (sign * (x - origin))) ** self.singular  # it was evaluated where x is a double
        with np.errstate(over="ignore"):
            return f * s if self.weighted is None else f

    def _chains(self, scale):
        """Edges of the panels as (X0, signed distances...) for the inner and, with a finite end, the outer half."""
        if math.isinf(self.end):
            return [(self.anchor, self.sign, 1.0, self._edges(self.anchor, self.sign, scale, math.inf))]
        half = 0.5 * abs(self.end - self.anchor)
        inner = self._edges(self.anchor, self.sign, min(scale, half), half)
        outer = self._edges(self.end, -self.sign, min(scale, half), half, tail=True)
        chains = [(self.anchor, self.sign, 1.0, inner), (self.end, -self.sign, -1.0, outer)]
        return chains if outer is not None else chains[:1]  # the density may be 0 long before the end

    def _edges(self, origin, sign, scale, far, tail=False):
        """Distances from `origin` at which panels begin, ascending, from a scan of the density."""
        # below 2^-51 x does not differ from its origin, and before that a power law follows the density better than its values
        away = self._away(origin)
        far_from_it = min(away * 2.0**-36, scale * 1e-8)
        if self.singular is not None and origin == self.anchor and not self.offset:  # which undoes the rounding of x
            far_from_it = 0.0
        floor = max(away * 2.0**-51, far_from_it)
        step = 2.0**0.5

        def h(s):
            return self._weighted(origin, sign, s)

        breaks = np.unique(sign * (self.breaks - origin))
        breaks = breaks[(breaks > floor) & (breaks < far)]
        low, high = max(floor, scale * 2.0**-16), min(far, scale * 2.0**16)
        s = np.geomspace(low, high, max(8, int(math.log(high / low, step)) + 1)) if high > low else np.array([low, high])
        if breaks.size:
            s = np.unique(np.concatenate([s, breaks, np.minimum(2.0 * breaks, far)]))
        v = h(s)
        if not v.any():
            wide = np.geomspace(max(floor, scale * 1e-30), min(far, scale * 1e30), 800)
            v = h(wide)
            if not v.any() and tail:
                return None
            if not v.any():
                raise ValueError(
                    f"the density is 0 wherever it was tried between {self.anchor!r} and {self.end!r}; set anchor= inside "
                    "its bulk, scale= to its width and support= to where it is positive"
                )
            s = wide
        target = CENTRE["end" if tail and self.depth == "tail" else self.depth]
        while s[0] > floor and v[0] > target * v.max():
            more = np.geomspace(max(floor, s[0] * 2.0**-24), s[0], 25)[:-1]
            if s[0] < 1e-290 * max(scale, 1.0):
                break
            s, v = np.concatenate([more, s]), np.concatenate([h(more), v])
            if v[0] >= v[24] > 0 and s[0] < scale * 1e-40:
                raise ValueError(f"the density is not integrable at {origin!r}: it grows like 1/distance or faster there")
        if math.isinf(far):
            s, v = self._followed(h, origin, sign, s, v)
        return _placed(s, v, target, breaks)

    def _followed(self, h, origin, sign, s, v):
        """A scan extended to where the density has ended for good: distances, and values of `h`, density times distance."""
        top = v.max()

        def ended(s, v):
            return v <= np.maximum(TAIL[self.depth] * top, FLOOR if self.weighted is not None else FLOOR * np.maximum(s, 1.0))

        while not ended(s[-1], v[-1]):
            if s[-1] >= FAR:
                if v[-1] <= 1e-24 * v.max() or self.power_law:
                    break
                raise ValueError(
                    f"the density is not integrable, or its tail is too heavy: beyond |x| = {FAR:.0e} density times distance "
                    f"is still {v[-1] / v.max():.1e} of its largest value, 1e-24 is needed"
                )
            more = np.geomspace(s[-1], min(s[-1], FAR * 2.0**-24) * 2.0**24, 49)[1:]
            s, v = np.concatenate([s, more]), np.concatenate([v, h(more)])
            top = v.max()
        if v[-1] > 1e-24 * top and not self.power_law:
            raise ValueError(
                f"the density is not integrable, or its tail is too heavy: close to underflow, at |x| = {s[-1]:.0e}, "
                f"density times distance is still {v[-1] / top:.1e} of its largest value, 1e-24 is needed. Pass logpdf="
            )
        keep = np.flatnonzero(~ended(s, v))
        if not keep.size:
            raise ValueError(
                f"the density is too small for doubles: density times distance is {top:.1e} at most, more than {FLOOR:.0e} "
                "is needed. Pass logpdf=, or multiply the density by a constant"
            )
        keep = keep[-1] + 2
        s, v = s[:keep], v[:keep]
        for _ in range(9):  # further modes, beyond a stretch where the density is next to nothing
            probe = s[-1] * np.geomspace(1.0, 1e4 if s[-1] < 1e-4 * FAR else FAR / s[-1], 400)[1:]
            found = h(probe)
            risen = np.flatnonzero((found > 1e-20 * top) & (not self.power_law))
            if not risen.size:
                break
            s, v = (np.concatenate(pair)[: s.size + risen[-1] + 2] for pair in ((s, probe), (v, found)))
            top = v.max()
        else:
            raise ValueError(
                f"the density vanishes and rises again at x = {float(origin + sign * probe[risen[0]])!r}, and more often "
                "before: it has modes too far apart. Build one table per mode"
            )
        return s, v

    def _resolve(self, origin, sign, outward, edges):
        """Evaluate, split where 16 terms do not suffice or a probe disagrees; panels in the order away from the anchor."""
        lo, hi = edges[:-1], edges[1:]
        done = []
        peak, count = 0.0, 0
        parent = np.full(lo.size, np.inf)
        rng = np.random.default_rng(12)
        while lo.size:
            count += lo.size
            if count > 2 * PANELS + edges.size:
                raise ValueError(
                    f"the density needs more than {PANELS} panels between {self.anchor!r} and {self.end!r}, the last near "
                    f"x = {origin + sign * lo[0]!r}: it is not piecewise smooth enough for a table"
                )
            centre, k = np.sqrt(lo) * np.sqrt(hi), 0.5 * np.log(hi / lo)
            # the last two for a jump between the outer Chebyshev points and the ends
            probes = np.concatenate([rng.uniform(-0.97, 0.97, (lo.size, 3)), np.tile([-_END, _END], (lo.size, 1))], axis=1)
            t = np.concatenate([np.broadcast_to(_POINTS, (lo.size, NODES)), probes], axis=1)
            s = centre[:, None] * np.exp(k[:, None] * t)
            h = self._weighted(origin, sign, s)
            c = h[:, :NODES] @ _COEFFICIENTS.T
            top, bottom = h[:, :-2].max(1), h[:, :-2].min(1)
            peak = max(peak, top.max())
            guess = _clenshaw(np.repeat(c, 5, axis=0).T.copy(), probes.ravel()).reshape(probes.shape)
            off = np.abs(guess - h[:, NODES:])
            off[:, 3:][off[:, 3:] < 1e-6 * top[:, None]] = 0.0
            with np.errstate(all="ignore"):
                error = np.where(top > 0.0, np.maximum(np.abs(c[:, -2:]).max(1), 0.1 * off.max(1)) / top, 0.0)
                # an error that splitting does not lower is the rounding of the density itself
                # of a distance that is a difference
                rounding = 2.0**-50 * self._away(origin) / lo * getattr(self.density, "roundings", 1.0)
                steep = np.log(top / bottom) / (2.0 * k)
                least = np.maximum(1e-9, (rounding + 2.0**-50) * steep)  # a steep density feels it, and that of x, more
                ok = ((error <= 4e-15 + rounding) | (error < least) & (error > 0.7 * parent)) & (top <= 40.0 * bottom)
            if self._away(origin) and math.isfinite(self.end):  # what the rounding of x does to a negligible mass beside an end
                ok |= top * error * k <= 1e-18 * peak
            if self.depth == "table":  # errors that no share from 2^-66 on shows
                ok |= top * error * k <= 1e-15 * 2.0**-66 * peak
            lost = 1e-300 if self.weighted is not None else 1e-300 * np.maximum(lo, 1.0)  # of a density near underflow
            ok |= (top <= np.maximum(0.01 * TAIL[self.depth] * peak, lost)) | (k < _NARROW)
            jump = (k < _NARROW) & (error > 0.01)
            c[jump] = h[jump].mean(1, keepdims=True) * (np.arange(NODES) == 0)  # a polynomial may be negative there
            for i in np.flatnonzero(ok):
                done.append((lo[i], centre[i], k[i], c[i] * k[i], error[i] if error[i] > 1e-14 else 0.0))
            middle, parent = centre[~ok], np.tile(error[~ok], 2)
            lo, hi = np.concatenate([lo[~ok], middle]), np.concatenate([middle, hi[~ok]])
        done.sort(key=lambda p: p[0])
        centre, k = np.array([p[1] for p in done]), np.array([p[2] for p in done])
        c, errors = np.array([p[3] for p in done]), np.array([min(p[4], 1.0) for p in done])
        if outward < 0:  # t runs away from the anchor, so towards the end of the support
            centre, k, c, errors = centre[::-1], -k[::-1], c[::-1] * (-1.0) ** np.arange(NODES), errors[::-1]
        return np.full(k.size, origin), sign * centre, k, c, errors


def _placed(s, v, target, breaks):
    """Edges of panels between the distances s of a scan, by how much the values v change; and narrow panels about breaks."""
    keep = np.flatnonzero(v > target * v.max())
    first = max(keep[0] - 1, 0)
    s, v = s[first:], v[first:]
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(v, max(1e-305 * v.max(), 1e-308)))
    steps = np.abs(np.diff(logs))
    if breaks.size:  # from and to 0 it jumps
        steps[np.diff(v > 0)] = 0.0
    cost = np.maximum(steps / DECAY, np.diff(np.log(s)) / 1.5)
    total = np.concatenate([[0.0], np.cumsum(cost)])
    count = max(1, math.ceil(total[-1]))
    edges = np.interp(np.linspace(0.0, total[-1], count + 1), total, s)
    edges[0], edges[-1] = s[0], s[-1]
    breaks = breaks[(breaks > edges[0] * (1 + 1e-12)) & (breaks < edges[-1] * (1 - 1e-12))]
    if breaks.size:  # narrow panels on either side of a break show a mode of any width there
        steps = 4.0 ** -np.arange(1, 2 + min(18, 400 // breaks.size))
        around = np.concatenate([edges, np.outer(breaks, 1 - steps).ravel(), np.outer(breaks, 1 + steps).ravel()])
        around = around[(around >= edges[0]) & (around <= edges[-1])]
        clear = np.abs(around[:, None] / breaks - 1).min(1) > 1e-12
        edges = np.unique(np.concatenate([around[clear], breaks]))
        edges = edges[np.append(True, np.diff(edges) > 1e-13 * edges[1:])]
    return edges


def scaling(p):
    """The power of two that brings the mass p of a side into (1/2, 1], and that product: scaled shares have no rounding."""
    mantissa, exponent = math.frexp(p)
    return (2.0**-exponent, mantissa) if mantissa > 0.5 else (2.0 ** (1 - exponent), 1.0) if p else (1.0, 1.0)


def side_rows(side, norm, other):
    """Panels of a side as rows of `scalar.tables.tail_probability`; `other` is the other side's mass."""
    edges = np.abs(side.X0 - side.anchor + side.A * np.exp(-side.k))
    away = abs(side.A[-1]) * math.exp(side.k[-1])  # of the last edge
    rows = np.zeros((side.k.size + 2, SIDE_COLUMNS))
    rows[0, 1:6] = edges[0], 0.0, side.total / norm, -side.inner / norm, side.power
    rows[1:-1, :3] = np.stack([edges, np.abs(side.A), 1.0 / side.k], axis=1)
    rows[1:-1, 3:-2] = -side.C / norm
    rows[1:-1, 3] += (side.high[1:] + side.mass) / norm
    # beyond the panels a power law is followed on, to infinity or a finite end; everything else has underflowed
    to_end, last = side.X0[-1] == side.end, abs(side.X0[-1] - side.anchor + side.A[-1] * math.exp(side.k[-1]))
    followed = side.outer / norm if to_end or away > 1e300 else 0.0
    rows[-1, :7] = last, away, 0.0, 0.0, followed, side.fall if to_end else -side.fall, abs(side.end - side.anchor)
    rows[:, -2] = side.anchor, *side.X0, side.X0[-1]
    rows[:, -1] = other, *(other + (side.low[:-1] + side.C[:, 0]) / norm), 1.0
    return rows


class Slope:
    """A density from a distribution function and its complement, by 16-point differences of the smaller of the two.

    The points are within 0.16 of the length on which the tail probability changes by e, and a quarter of the distance to the
    anchor or of `scale`, so that power laws, and poles of the density as far from the real axis, cost 1e-14. A rounding
    of the probability costs some 80 roundings of the density. Where the density has a kink or a step at an anchor inside the
    support, all points are on the side of x, and roundings next to the anchor cost up to 16 times as much.
    """

    roundings = 100.0

    def __init__(self, cdf, sf, anchor, support, scale):
        self.cdf, self.sf, self.anchor, self.support, self.scale = cdf, sf, anchor, support, scale
        self.nodes = np.cos(np.pi * np.arange(17) / 16)
        self.slope = chebyshev.chebder(np.linalg.inv(chebyshev.chebvander(self.nodes, 16)))  # from values at the nodes
        self.weights = chebyshev.chebvander(0.0, 15)[0] @ self.slope  # in the middle

    @functools.cached_property
    def kinked(self):
        """Whether the density has a kink or a step at the anchor: differences across it and beside it do not agree."""
        if not self.support[0] < self.anchor < self.support[1]:
            return False
        x = self.anchor + self.scale * np.array([-1e-3, 1e-3])
        across, beside = self._differences(x, False), self._differences(x, True)
        return bool((np.abs(across - beside) > 1e-9 * np.abs(beside)).any())

    def _tail(self, x, left):
        out = np.empty_like(x)
        out[left] = self.cdf(x[left])
        out[~left] = self.sf(x[~left])
        return out

    def _differences(self, x, beside):
        left = np.asarray(self.cdf(x)) < 0.5
        room = np.minimum(x - self.support[0], self.support[1] - x)
        step = 1e-3 * np.minimum(np.maximum(self.scale, np.abs(x - self.anchor)), room)
        with np.errstate(all="ignore"):
            near = np.log(self._tail(x + step, left) / self._tail(x - step, left))
            length = np.abs(2 * step / near)
        length = np.where(np.isfinite(length) & (length > 0), length, self.scale)
        half = np.minimum(0.16 * length, 0.25 * np.minimum(np.maximum(self.scale, np.abs(x - self.anchor)), room))
        moved = np.maximum(half - np.abs(x - self.anchor), 0.0) if beside else np.zeros_like(x)
        middle = x + np.where(x < self.anchor, -moved, moved)
        values = middle[:, None] + half[:, None] * self.nodes
        values = self._tail(values.ravel(), np.repeat(left, 17)).reshape(values.shape)
        values -= values[:, 8:9].copy()
        slope = values @ self.weights
        if beside:
            place = np.clip((x - middle) / half, -1.0, 1.0)
            slope = np.where(moved > 0, (chebyshev.chebvander(place, 15) * (values @ self.slope.T)).sum(1), slope)
        return np.where(left, slope, -slope) / half

    def __call__(self, x):
        """Density at an array of x."""
        slope = self._differences(x, self.kinked)
        # roundings of a probability that does not change any more
        return np.where((slope < 0) & (slope * self.scale > -1e-12), 0.0, slope)


class Masses:
    """Both sides of a distribution: probabilities of the sides, masses and quantiles by side.

    Parameters
    ----------
    density : callable
    anchor : float
    support : pair of float
    scale : float
    depth : {"table", "tail", "full"}
    singular : float, optional
    symmetric : bool
        Whether the right side is the mirror image of the left one, which then is not computed.
    ends : pair of float, optional
        Quantiles of 0 and 1 where the support leaves out next to no mass.
    breaks : sequence of float
        Kinks, jumps and narrow modes of the density.
    """

    def __init__(
        self,
        density,
        anchor=0.0,
        support=(-math.inf, math.inf),
        scale=1.0,
        depth="table",
        singular=None,
        symmetric=False,
        ends=None,
        breaks=(),
    ):
        lower, upper = support
        side = functools.partial(Side, density, anchor, scale=scale, depth=depth, singular=singular, breaks=breaks)
        both = lower < anchor < upper and not symmetric
        try:
            right = side(upper) if upper > anchor else None
        except ValueError:
            if both:
                side(lower)  # says so where the density is negative there, the cause of much else
            raise
        left = side(lower) if lower < anchor and not symmetric else None
        gap = max((s.gap for s in (left, right) if s is not None), default=0.0)
        if left is not None and right is not None and gap > 1e-3 * scale:
            raise ValueError(
                f"the density is 0 from the anchor {anchor!r} to a distance of {gap:.3g}: a gap. Set anchor= where it is "
                "positive on both sides, or build one table per mode"
            )
        self.anchor, self.support, self.scale, self.symmetric = anchor, support, scale, symmetric
        self.ends, self.breaks = support if ends is None else ends, breaks
        self.sides = (left, right)
        if symmetric:
            totals = [right.total, right.total]
        else:
            totals = [s.total if s is not None else 0.0 for s in self.sides]
        self.norm = totals[0] + totals[1]
        self.p = (totals[0] / self.norm, totals[1] / self.norm)
        present = [s for s in self.sides if s is not None]
        self.X0, self.A, self.k = (np.concatenate([getattr(s, n) for s in present]) for n in ("X0", "A", "k"))
        self.c = np.concatenate([s.c for s in present])
        self.C = np.concatenate([s.C for s in present])

    def side(self, right):
        """The side, and the factor that mirrors it."""
        if self.symmetric:
            return self.sides[1], (1.0 if right else -1.0)
        return self.sides[1 if right else 0], 1.0

    @functools.cached_property
    def nearest(self):
        """The distance from the anchor, at least a normal double, within which a share of 2^-66 of a side lies."""
        share = np.array([2.0**-66])
        places = [self.invert(bool(right), True, share)[0] for right, side in enumerate(self.sides) if side is not None]
        return max(min(abs(x - self.anchor) for x in places), 2.0**-54 * abs(self.anchor), 2.0**-1021)

    def invert(self, right, inner, share):
        """The x with a given share of a side's mass between the anchor and x (`inner`), or beyond x.

        Parameters
        ----------
        right, inner : bool
        share : numpy.ndarray
            In (0, 1).

        Returns
        -------
        numpy.ndarray
        """
        side, mirror = self.side(right)
        w = share * side.total
        if inner:
            j = np.clip(np.searchsorted(side.low, w) - 1, 0, side.k.size - 1)
            below, sign = side.low[j], 1.0
            near, far = side.low[j], side.low[j + 1]
        else:
            j = np.clip(side.k.size - np.searchsorted(side.high[::-1], w, side="left"), 0, side.k.size - 1)
            below, sign = side.high[j + 1], -1.0
            near, far = side.high[j], side.high[j + 1]
        C, c = side.C.T.take(j, axis=1), side.c.T.take(j, axis=1)
        linear = (far == 0.0) & (side.stops and not inner)  # no power of the distance to the end
        if not inner:
            C[0] -= side.mass[j]  # the antiderivative that is 0 at the outer edge
        with np.errstate(all="ignore"):
            t = np.clip(-1.0 + 2.0 * np.log(w / near) / np.log(far / near), -1.0, 1.0)
            t[~np.isfinite(t)] = 0.0
            for iteration in range(8):
                mass = below + sign * _clenshaw(C, t)
                step = sign * np.log(w / mass) * mass / _clenshaw(c, t)
                if linear.any():
                    step[linear] = (sign * (w - mass) / _clenshaw(c, t))[linear]
                t_new = np.clip(t + step, -1.0, 1.0)
                t_new = np.where(np.isnan(t_new), t, t_new)
                moved = np.abs(t_new - t).max(initial=0.0)
                t = t_new
                if moved < 1e-9 or (iteration > 3 and moved < 1e-7):
                    break  # quadratic: the next step would be below rounding
        x = side.X0[j] + side.A[j] * np.exp(side.k[j] * t)
        if not inner and math.isfinite(side.end):
            last = w < side.outer
            if last.any():
                edge = side.A[-1] * math.exp(side.k[-1])
                x[last] = side.X0[-1] + edge * (w[last] / side.outer) ** (1.0 / side.fall)
        if inner:
            tiny = w < side.inner
            if tiny.any():
                edge = side.A[0] * math.exp(-side.k[0])
                x[tiny] = side.anchor + edge * (w[tiny] / side.inner) ** (1.0 / side.power)
        return mirror * x if mirror > 0 else 2 * self.anchor - x

    def reach(self, right):
        """Smallest outer share that this side resolves."""
        side = self.side(right)[0]
        if side.X0[-1] == side.end:
            return 1e-305 / min(side.total, 1.0)  # beyond the last panel a power of the distance to the end
        extrapolated = side.outer / side.total * (2.0 if abs(side.A[-1]) > 0.1 * FAR else 1e14)
        floor = FLOOR if side.weighted is not None else FLOOR * max(abs(side.A[-1]), 1.0)  # where a scan ends
        return max(extrapolated, 10 * floor / side.total, 1e-305)

    def share(self, right, inner, x, s=None):
        """Share of a side's mass between the anchor and x (`inner`), or beyond x; and how x moves with it: |dx/dlog share|.

        `s` is the distance from the anchor where it is known better than from x.
        """
        side, mirror = self.side(right)
        if mirror < 0:
            x = 2 * self.anchor - x
        s = np.abs(x - self.anchor) if s is None else s
        edges = np.append(side.X0 + side.A * np.exp(-side.k), side.X0[-1] + side.A[-1] * math.exp(side.k[-1]))
        j = np.clip(np.searchsorted(side.sign * edges, side.sign * x) - 1, 0, side.k.size - 1)
        with np.errstate(all="ignore"):
            distance = np.where(side.X0[j] == self.anchor, side.sign * s, x - side.X0[j])
            t = np.clip(np.log(distance / side.A[j]) / side.k[j], -1.0, 1.0)
        C, c = side.C.T.take(j, axis=1), side.c.T.take(j, axis=1)
        if inner:
            mass = side.low[j] + _clenshaw(C, t)
        else:
            C[0] -= side.mass[j]
            mass = side.high[j + 1] - _clenshaw(C, t)
        with np.errstate(all="ignore"):
            moves = np.abs(side.k[j] * distance) * (mass / _clenshaw(c, t))
        if not inner and math.isfinite(side.end):
            edge = abs(side.A[-1]) * math.exp(side.k[-1])
            last = np.abs(distance) < edge
            last &= side.X0[j] == side.end
            if last.any():
                mass[last] = side.outer * (np.abs(distance[last]) / edge) ** side.fall
                moves[last] = np.abs(distance[last]) / side.fall
        if inner:
            edge = abs(side.A[0]) * math.exp(-side.k[0])
            tiny = s < edge
            if tiny.any():
                mass[tiny] = side.inner * (s[tiny] / edge) ** side.power
                with np.errstate(all="ignore"):
                    moves[tiny] = s[tiny] / side.power
        return mass / side.total, moves
