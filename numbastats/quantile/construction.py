"""From a density to the tables of one set of parameters: masses, rows and their errors."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from numbastats.quantile.panels import Masses, Slope
from numbastats.quantile.zones import Zones

__all__ = [
    "ROUGH",
    "TARGET",
    "FromLog",
    "Loaded",
    "One",
    "base_shape",
    "check_norm",
    "follows_base",
    "from_base",
    "location_of",
    "make",
    "masses_of",
    "normal_density",
    "refusal",
]

TARGET = 2e-14  # relative error that a double table aims at
ROUGH = 1e-12  # relative error beyond which rows are split where they miss the target
REFUSED = 1e-8  # relative error beyond which there is no table
ROUNDING = 2e-15  # of masses and of arguments, two roundings of a probability; observed 4.2e-16 of one, so 2.1e-15 here
MISSING = 1e-9  # by how much the integral of a normalised density may differ from 1
UNSCALED = 1e-6  # integral below which a density is taken for one that is not normalised
_NEAR, _PER = 0.25, 128  # a light-tailed base: octaves below 1/4, then 128 rows per unit
_REACH = 38.5  # a normal variate beyond it has no double-precision probability


class Loaded:
    """Masses of a table loaded from a file."""

    def __init__(self, p, anchor=0.0):
        self.p, self.anchor = p, anchor


@dataclasses.dataclass(frozen=True)
class One:
    """Masses and errors of one set of parameters."""

    masses: Any = None  # Masses, or Loaded, or None where there is no table
    base: Any = None
    norm: float = math.nan
    error: float = math.nan
    coarse: float = 0.0  # error of the rows by probability, which narrower ones would lower
    calls: int = 0
    extrapolation: float = 0.0  # error where the mass next to a pole is that of a power law
    mapping: float = 0.0  # error of the rows from a base distribution; NaN without them
    range: tuple = (math.nan, math.nan)  # smallest lower and upper probabilities of the table

    @property
    def p(self):
        """Masses on the left and on the right of the anchor; halves where there is no table."""
        return (0.5, 0.5) if self.masses is None else self.masses.p


class _Counted:
    """A density that counts its evaluations."""

    def __init__(self, density):
        self.density, self.calls = density, 0

        self.roundings, self.offset = getattr(density, "roundings", 1.0), getattr(density, "offset", 0.0)
        if hasattr(density, "weighted"):
            self.weighted = self._weighted
        if hasattr(density, "fall"):
            self.fall = density.fall

    def __call__(self, x):
        self.calls += x.size
        return self.density(x)

    def _weighted(self, origin, sign, s):
        self.calls += s.size
        return self.density.weighted(origin, sign, s)


class FromLog:
    """The density of which the logarithm is given; its products with a distance are 2^793 at most on a scan.

    This is room for tails to 1e-320 of the peak, and neither poles nor scales make them overflow.
    """

    def __init__(self, logpdf, anchor, support, scale):
        self.logpdf = logpdf
        with np.errstate(over="ignore"):
            s = scale * 2.0 ** np.arange(-30.0, 31.0)
        s = np.concatenate([-s[::-1], s])
        s = s[(anchor + s > support[0]) & (anchor + s < support[1])]
        with np.errstate(all="ignore"):
            values = np.asarray(logpdf(anchor + s), dtype=np.float64) + np.log(np.abs(s))
        finite = values[np.isfinite(values)]
        self.top = finite.max() if finite.size else 0.0

    def weighted(self, origin, sign, s):
        """Density times distance, lifted."""
        v = np.asarray(self.logpdf(origin + sign * s), dtype=np.float64) + (np.log(s) - self.top)
        return np.where(v > -700, np.exp(v) * 2.0**793, np.exp(v + 793 * math.log(2)))

    def over(self, x, norm):
        """Density over `norm`, the integral of the lifted one."""
        return np.exp(np.asarray(self.logpdf(x), dtype=np.float64) - self.top) / (norm * 2.0**-793)

    def integral(self, norm):
        """Integral of the density as it was given."""
        with np.errstate(over="ignore"):  # a density beyond the doubles has an infinite one
            return norm * 2.0**-793 * float(np.exp(self.top))


def normal_density(x):
    """A multiple of the standard normal density."""
    return np.exp(600.0 - 0.5 * x * x)  # scaled: the tail goes down to 1e-320 of the peak


def follows_base(base):
    """Whether a base distribution has rows of its own, in its variable: the others go through shares of mass."""
    return base == "normal" or not isinstance(base, (str, tuple))


def masses_of(base):
    """Masses of a base distribution that is a table."""
    return base._table.one.masses


def location_of(base):
    """Shift of a base distribution: its values minus those of its masses."""
    return 0.0 if isinstance(base, (str, tuple)) else float(base._table.shift[base._table.index])


def base_shape(base):
    """Octaves, limit of the near zone, rows of the far zone, rows per unit."""
    if base == "normal":
        return 64, _NEAR, 16 * math.ceil((_REACH + 9.0 - _NEAR) * _PER / 16), _PER
    nearest = 1.0 if isinstance(base, (str, tuple)) else getattr(masses_of(base), "nearest", 1.0)
    return max(130, min(64 - math.frexp(nearest)[1], 1085)), 2.0**64, 0, 1


def make(density, values, order, bits, split):
    """Build one set of parameters: its `One`, the rows by probability, and the rows from the base (or None).

    With `split`, rows that miss the target are cut into parts. `density` and `order` are those of `arguments`.

    Raises ValueError for a density or parameters without a table.
    """
    function, options = density.describe(*values)
    counted = _Counted(function)
    mapped = follows_base(order.base)
    depth = "full" if 2.0**-order.octaves < 1e-20 else "tail" if mapped else "table"
    masses = Masses(counted, depth=depth, **options)
    if density.scan:
        masses = _scanned(masses, counted, depth, options)
    norm = function.integral(masses.norm) if isinstance(function, FromLog) else masses.norm
    if density.cdf is not None:
        _check_cdf(density.cdf, masses, values)
    zones = Zones(masses, order.degree, np.random.default_rng(5), bits, split)
    table, signed = zones.both(lambda right: zones.side(right, order.octaves, order.held)), None
    one = One(masses, norm=norm, error=zones.error, coarse=zones.error, range=zones.range())
    if mapped:
        one, signed = from_base(one, order.base, 7, zones.rng)
    extrapolation = max(side.extrapolation(2.0**-order.held) for side in masses.sides if side is not None)
    noise = extrapolation + max(side.noise for side in masses.sides if side is not None)
    if isinstance(function, Slope):  # whose integral is known
        noise = max(noise, 5.0 * abs(masses.norm - 1.0))
    one = dataclasses.replace(one, extrapolation=extrapolation, error=max(one.error, noise) + ROUNDING, calls=counted.calls)
    if not refusal(one):
        check_norm(one.norm, density.normalised)
    return one, table, signed


def check_norm(norm, normalised):
    """Raise ValueError if the integral of the density shows that a part of it was missed.

    With `normalised` None only an integral between 1e-6 and 1 is suspect: a normalised density with a part missed has such a one,
    a density without its constant usually a far smaller one.
    """
    suspect = abs(norm - 1.0) > MISSING if normalised else UNSCALED < norm < 1.0 - MISSING
    if normalised is False or not suspect:
        return
    way_out = "" if normalised else " A density that is not normalised needs normalised=False."
    raise ValueError(
        f"the density integrates to {float(norm)!r}, not to 1: a part of it was missed, or the support cuts it off. Give the "
        f"places of narrow modes, kinks and jumps with breaks=, or anchor= and scale= of the bulk.{way_out}"
    )


def refusal(one):
    """Why a set has no table; empty if it has one."""
    if one.masses is None or one.error <= REFUSED:
        return ""
    alone = min(p for p in one.masses.p if p > 0)
    poles = [side for side in one.masses.sides if side is not None and side.power < 0.9 and side.noise > 0.1 * REFUSED]
    if poles and one.masses.anchor != 0.0:
        other = "a density of the distance, with its pole at 0"
        if poles[0].singular is None:
            other = f"singular=, the exponent of the distance (about {poles[0].power - 1:.3f}), or {other}"
        where = f"next to the pole at {one.masses.anchor!r} the density is only as exact as the distance to it. Give {other}"
    elif one.extrapolation > REFUSED:
        where = (
            "next to the pole the density is no power law down to the smallest doubles. Give a larger tail=, or singular= if the "
            "power is known"
        )
    elif alone < 1e-12:
        where = f"only {alone:.1e} of the mass is on one side of the anchor {one.masses.anchor!r}. Move the anchor into the bulk"
    else:
        where = (
            "the quantile is too steep, or has too many kinks and gaps, for the rows of a table. Put the anchor at a pole or a "
            "kink, give breaks= at the others, and support= where the density ends"
        )
    return f"the table's error is {one.error:.1e} relative: {where}"


def _scanned(masses, density, depth, options):
    """Masses with panels that end at what a scan of the density finds between them; ValueError where that does not help."""
    for _ in range(4):
        missed = _missed(masses)
        if not missed.size:
            return masses
        options = options | dict(breaks=np.unique(np.concatenate([options.get("breaks", ()), missed])))
        masses = Masses(density, depth=depth, **options)
    raise ValueError(
        f"the density has a feature at x = {missed[0]:.6g} that the panels missed; it is too narrow for scale=. Put the "
        "anchor there, or name the place in breaks="
    )


def _missed(masses, count=1000):
    """Where the density at `count` points of either side's bulk is not that of the panels: the worst point of each stretch."""
    found = []
    for right, side in enumerate(masses.sides):
        if side is None:
            continue
        reach = abs(masses.invert(bool(right), False, np.array([0.01]))[0] - masses.anchor)
        s = reach * (np.arange(count) + 0.5) / count
        x = masses.anchor + side.sign * s
        density = side._weighted(masses.anchor, side.sign, s)
        share, moves = masses.share(bool(right), True, x, s)
        with np.errstate(all="ignore"):
            panels = share * (s / moves) * side.total  # in this order no scale underflows
        larger = np.maximum(density, panels)
        rounding = 2.0**-44 * abs(masses.anchor) / s  # of x
        difference = np.abs(density - panels)
        off = np.flatnonzero(difference > (1e-5 + rounding) * larger + 1e-9 * larger.max())
        for stretch in np.split(off, np.flatnonzero(np.diff(off) > 1) + 1) if off.size else ():
            found.append(x[stretch[np.argmax(difference[stretch])]])
    return np.array(found)


def _check_cdf(cdf, masses, values):
    for right, p in ((False, masses.p[0]), (True, masses.p[1])):
        if p > 0:
            share = np.array([0.9, 0.5, 0.1, 1e-3])
            x = masses.invert(right, False, share)
            want = 1 - p * share if right else p * share
            got = np.asarray(cdf(x, *values), dtype=np.float64)
            off = np.abs(got - want)
            if not (off <= 1e-9).all():
                i = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
                raise ValueError(
                    f"pdf and cdf disagree: at x = {x[i]:.6g} the density's mass is {want[i]:.12g} and cdf gives {got[i]:.12g}. "
                    "Either the density has a feature that the panels missed (move the anchor there), or one of them is wrong"
                )


def from_base(one, base, degree, rng):
    """A set with rows in the variable of a base distribution; None instead of rows that cannot follow the map.

    Then `mapping` is NaN. The masses of the base, anchored where the target's anchor falls, go into the set if not there.
    """
    if base != "normal" and not isinstance(masses_of(base), Masses):
        raise ValueError("the base was loaded from a file and has no density; build it anew")
    try:
        found, rows = _from_base(one, base, degree, rng)
    except ValueError:
        found, rows = one, None
    if rows is None or degree > 3 and not found.mapping <= REFUSED:  # float32 has its own limit
        error = one.error
        if base != "normal":  # its probabilities are as exact as its density
            error = max(error, max(side.noise for side in masses_of(base).sides if side is not None))
        return dataclasses.replace(one, mapping=math.nan, error=error), None
    return dataclasses.replace(found, error=max(one.error, found.mapping)), rows


def _from_base(one, base, degree, rng):
    masses = one.masses
    if 0.0 in masses.p and (base == "normal" or masses_of(base).p != masses.p):
        masses = _cut_at_median(masses)
    zones, base_masses = Zones(masses, degree, rng), one.base
    if base_masses is not None:
        pass
    elif base == "normal":
        anchor = _normal_quantile(masses.p)
        base_masses = Masses(normal_density, anchor, depth="tail", symmetric=anchor == 0.0)
    else:
        known = masses_of(base)
        anchor = _crossing(known, masses)
        density = next(side for side in known.sides if side is not None).density.density
        options = dict(symmetric=False, breaks=known.breaks)
        base_masses = known if anchor == known.anchor else Masses(density, anchor, known.support, known.scale, **options)
    if not abs(base_masses.p[0] - masses.p[0]) <= 1e-10:
        raise ValueError(
            f"the base's mass on the left of its anchor {base_masses.anchor!r} is {base_masses.p[0]!r}, the target's is "
            f"{masses.p[0]!r}; its density has features that the panels from there do not follow"
        )
    rows = zones.both(lambda right: zones.signed(right, base_masses, *base_shape(base)), base_masses.symmetric)
    return dataclasses.replace(one, base=base_masses, mapping=zones.error), rows


def _normal_quantile(p):
    """The normal quantile at the lower one of two probabilities that add up to 1."""
    if p[0] == 0.5:
        return 0.0  # without SciPy, which takes 0.1 s to import
    from scipy.special import ndtri

    return float(ndtri(p[0]) if p[0] < 0.5 else -ndtri(p[1]))


def _cut_at_median(masses):
    """A distribution on one side of its anchor, cut inside: its end is no value of a base that goes on there."""
    right = masses.p[1] > 0
    low, median, high = masses.invert(right, True, np.array([0.25, 0.5, 0.75]))
    density = masses.sides[1 if right else 0].density
    return Masses(density, median, masses.support, abs(high - low), depth="tail", ends=masses.ends, breaks=masses.breaks)


def _crossing(known, masses):
    """Where the base has the target's probabilities on its sides."""
    if masses.p[0] == known.p[0]:
        return known.anchor
    right = masses.p[1] < known.p[1]
    beyond = masses.p[1 if right else 0] / known.p[1 if right else 0]
    if beyond < 0.5:
        return float(known.invert(right, False, np.array([beyond]))[0])
    return float(known.invert(right, True, np.array([abs(masses.p[0] - known.p[0]) / known.p[1 if right else 0]]))[0])
