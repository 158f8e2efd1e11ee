"""Whether fits of distributions end at the maximum: what they contain, an own search, symmetries, and time.

``python asv_benchmarks/fit_optima.py floors [--count 60000]`` fits random sets in batches and counts the fits of status 0 that
are less likely than a family within theirs. ``optima [--sets 6000]`` compares fits of 4 to 60 values with the best point that
searches from many starts, fits of the same set in another order or mirrored, and contained families have found.
``invariance [--sets 1500]`` fits the same sets in another order, unit, origin or direction, with weights split or merged, and
alone. ``time`` takes the CPU time of fits of many series.

``--family gamma`` (or a part of a row's name) takes a part of the rows, ``--save found.json`` adds to a file,
``--compare before.json`` prints what was there before beside what is found now. ``--seed`` gives other sets. A row is a family
with the parameters that are fitted by default, "family, loc free", or "family, inflated" with a probability of zeros.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import platform
import statistics
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import numbastats as ns
from numbastats.distributions.fitting import CLASSES

HALF_LINE = (
    "birnbaum_saunders burr_xii chi_squared exponential frechet gamma generalized_gamma gpd half_normal inverse_gamma "
    "inverse_gaussian log_logistic lognormal lomax maxwell pareto rayleigh weibull"
).split()
FREED = ("lognormal", "gamma", "inverse_gaussian", "weibull", "frechet", "log_logistic")  # rows with a free location, too
INFLATED = ("poisson", "geometric", "negative_binomial", "binomial")
UNIT = ("beta", "kumaraswamy")
COUNTS = ("binomial", "geometric", "negative_binomial", "poisson")
HELD = {"binomial": {"n": 40.0}, "truncated_normal": {"lower": -1.0, "upper": 2.0}}
HYPERBOLIC = ("generalized_hyperbolic", "hyperbolic", "nig", "variance_gamma")
MIRROR = {"gumbel": "gumbel_min", "gumbel_min": "gumbel"} | {
    name: name
    for name in (
        "asymmetric_laplace beta cauchy generalized_normal johnson_su laplace logistic normal pearson_iii skew_normal skew_t "
        "student_t uniform"
    ).split()
    + list(HYPERBOLIC)
}
SETTLED = ("uniform", "pareto")  # closed forms at values of the sample: nothing to search
CUSPS = ("laplace", "asymmetric_laplace", "generalized_normal", "variance_gamma", "generalized_hyperbolic")
SLOW = {"skew_t": 4, "generalized_hyperbolic": 2}  # these get a share of the sets
SIZES = (4, 5, 6, 8, 10, 13, 17, 25, 40, 60)
KINDS = ("own", "neighbours", "rounded", "tied", "skewed", "contaminated", "two clusters", "small")
CERTAIN, SAME = (0, 2), 1e-5
LARGE = -1e290  # of log-likelihoods that are none


class Way(NamedTuple):
    """A row: a family and how it is fitted."""

    family: str
    free: tuple[str, ...]
    options: dict  # of `fit_many`

    @property
    def cls(self):
        return CLASSES[self.family]

    @property
    def inflated(self):
        return "zeros" in self.options

    @property
    def on_half_line(self):
        return self.family in HALF_LINE

    @property
    def is_shifted(self):
        """Whether a location is fitted, so that an origin does not matter."""
        return {"loc", "mu"} & set(self.free) != set() and self.family != "truncated_normal"

    @property
    def is_scaled(self):
        return not self.cls.is_discrete and self.family not in (*UNIT, "chi_squared", "truncated_normal")


def _free(family, with_loc):
    out = {"loc"} if family in HALF_LINE and not with_loc else set()
    out |= {"loc", "scale"} if family in UNIT else {"scale"} if family == "chi_squared" else set()
    return tuple(name for name in CLASSES[family].names if name not in out and name not in HELD.get(family, ()))


def ways():
    """All rows by name."""
    found = {f: Way(f, _free(f, False), {"fixed": HELD[f]} if f in HELD else {}) for f in CLASSES}
    found |= {f"{f}, loc free": Way(f, _free(f, True), {"fixed": {"loc": None}}) for f in FREED}
    found |= {f"{f}, inflated": Way(f, (*found[f].free, "zeros"), found[f].options | {"zeros": "inflated"}) for f in INFLATED}
    return found


WAYS = ways()


def fitted(x, way, weights=None, **other):
    """Status, log-likelihood and parameters of the rows of x."""
    data = dict(enumerate(x)) if weights is None else x  # of a dict series may have fewer values than parameters
    found = ns.distributions.fit_many(data, way.family, weights=weights, device="cpu", workers=1, **way.options | other)
    params = dict(zip(found.names, np.moveaxis(found.params, -1, 0), strict=True))
    if way.inflated:
        params["zeros"] = found.zeros
    return found.status, found.loglik, params


# --- what a family contains ------------------------------------------------------------------------------------------------


def _of(family, fixed=None, mirrored=False, **options):
    """Log-likelihoods of the fits of a family where they have ended at a maximum or a limit."""

    def floor(x):
        given = options | ({} if fixed is None else {"fixed": fixed})
        found = ns.distributions.fit_many(dict(enumerate(-x if mirrored else x)), family, device="cpu", workers=1, **given)
        return np.where(np.isin(found.status, CERTAIN) & np.isfinite(found.loglik), found.loglik, -np.inf)

    return floor


def _exponential_from_least(x):
    n, away = x.shape[1], x.mean(axis=1) - x.min(axis=1)
    return np.where(away > 0.0, -n * (1.0 + np.log(away)), -np.inf)


def _half_normal_from_least(x):
    n, square = x.shape[1], np.square(x - x.min(axis=1, keepdims=True)).mean(axis=1)
    return np.where(square > 0.0, -0.5 * n * (np.log(0.5 * np.pi * square) + 1.0), -np.inf)


def _power_to_largest(x):
    """k x^(k - 1)/s^k below s, the largest value."""
    n, top, logs = x.shape[1], x.max(axis=1), np.log(x)
    k = n / (n * np.log(top) - logs.sum(axis=1))
    return np.where(np.isfinite(k), n * np.log(k) - n * k * np.log(top) + (k - 1.0) * logs.sum(axis=1), -np.inf)


def _power_on_unit(x):
    n, logs = x.shape[1], np.log(x).sum(axis=1)
    return n * np.log(-n / logs) + (-n / logs - 1.0) * logs


def _uniform_on_held(x):
    ends = HELD["truncated_normal"]
    return np.full(len(x), -x.shape[1] * math.log(ends["upper"] - ends["lower"]))


def _exponential_on_held(x):
    ends = HELD["truncated_normal"]
    return _of("exponential", truncated=(0.0, ends["upper"] - ends["lower"]))(x - ends["lower"])


def _exponential_on_held_from_above(x):
    ends = HELD["truncated_normal"]
    return _of("exponential", truncated=(0.0, ends["upper"] - ends["lower"]))(ends["upper"] - x)


def _mirrored(floor):
    return lambda x: floor(-x)


NORMAL, UPWARD = {"normal": _of("normal")}, {"exponential from the least value": _exponential_from_least}
DOWNWARD = {"exponential from the largest value": _mirrored(_exponential_from_least)}
HALF_NORMALS = {
    "half-normal from the least value": _half_normal_from_least,
    "half-normal from the largest value": _mirrored(_half_normal_from_least),
}
LOGNORMALS = {
    "lognormal, loc free": _of("lognormal", {"loc": None}),
    "mirrored lognormal, loc free": _of("lognormal", {"loc": None}, True),
}
SPECIAL_GAMMAS = ("gamma", "weibull", "half_normal", "lognormal", "exponential", "rayleigh", "maxwell", "chi_squared")
POSITIVE_SPECIALS = ("lomax", "log_logistic", "weibull", "pareto", "exponential")


def _all(*names):
    return {name: _of(name) for name in names}


CONTAINED: dict[str, dict[str, Callable]] = {
    "student_t": _all("normal", "cauchy"),
    "generalized_normal": _all("laplace", "normal", "uniform"),
    "negative_binomial": _all("poisson", "geometric"),
    "lomax": _all("exponential"),
    "gpd": _all("exponential", "lomax"),
    "gev": _all("gumbel"),
    "burr_xii": _all(*POSITIVE_SPECIALS),
    "weibull": _all("exponential", "rayleigh"),
    "generalized_gamma": _all(*SPECIAL_GAMMAS) | {"power function": _power_to_largest},
    "gamma": _all("exponential", "chi_squared"),
    "beta": {"uniform": lambda x: np.zeros(len(x)), "power function": _power_on_unit},
    "kumaraswamy": {"uniform": lambda x: np.zeros(len(x)), "power function": _power_on_unit},
    "pearson_iii": NORMAL | UPWARD | DOWNWARD,
    "skew_normal": NORMAL | HALF_NORMALS,
    "ex_gaussian": NORMAL | UPWARD,
    "asymmetric_laplace": _all("laplace") | UPWARD | DOWNWARD,
    "generalized_hyperbolic": _all("normal", "nig", "hyperbolic", "variance_gamma", "asymmetric_laplace", "student_t"),
    "hyperbolic": _all("normal", "asymmetric_laplace"),
    "nig": _all("normal", "cauchy"),
    "variance_gamma": _all("normal", "asymmetric_laplace"),
    "skew_t": _all("student_t", "skew_normal", "normal") | HALF_NORMALS,
    "johnson_su": NORMAL | LOGNORMALS,
    "lognormal, loc free": _all("normal"),
    "gamma, loc free": _all("normal"),
    "inverse_gaussian, loc free": _all("normal"),
    "weibull, loc free": _all("gumbel_min"),
    "frechet, loc free": _all("gumbel"),
    "log_logistic, loc free": _all("logistic"),
    "truncated_normal": {
        "uniform": _uniform_on_held,
        "exponential, truncated": _exponential_on_held,
        "exponential, truncated, mirrored": _exponential_on_held_from_above,
    },
    "poisson, inflated": _all("poisson"),
    "geometric, inflated": _all("geometric"),
    "binomial, inflated": {"binomial": _of("binomial", HELD["binomial"])},
    "negative_binomial, inflated": _all("negative_binomial", "poisson")
    | {"poisson, inflated": _of("poisson", zeros="inflated"), "geometric, inflated": _of("geometric", zeros="inflated")},
}


def _declared(way):
    """What the file of the family itself says it contains, as far as what is not fitted allows."""
    found = {}
    held = {name: 1.0 if name == "scale" else 0.0 for name in way.cls.names if name not in way.free} | HELD.get(way.family, {})
    for special in () if way.inflated else getattr(way.cls, "_contains", ()):
        inner = CLASSES[special.family]
        free = inner.names if inner._likelihood is None else inner._likelihood.free
        carried, constant = special.carried(inner.names), special.constant(inner.names)
        fixed = dict(special.fixed(held) if callable(special.fixed) else special.fixed)
        for name, (other, sign) in carried.items():
            if name in held:
                fixed[other] = sign * held[name]
            elif other not in free:
                fixed.setdefault(other, None)
        if all(name in carried or name in way.cls._known or constant.get(name) == value for name, value in held.items()):
            ends = tuple(held[name] for name in special.ends)
            ends = (-ends[1], -ends[0]) if special.mirrored and ends else ends
            word = special.family + (", loc free" if fixed.get("loc", 0.0) is None else "") + (", truncated" if ends else "")
            options = {"truncated": ends} if ends else {}
            try:
                floor = _of(special.family, fixed or None, special.mirrored, **options)
                floor(np.full((1, 5), 0.5))
            except ValueError:  # nothing is left to fit
                continue
            found["mirrored " * special.mirrored + word] = floor
    return found


@functools.cache
def contained(name):
    """Floors of a row by name: the table's, and others that the family's file declares."""
    own = CONTAINED.get(name, {})
    return own | {word: floor for word, floor in _declared(WAYS[name]).items() if word not in own}


# --- data sets -------------------------------------------------------------------------------------------------------------


def _raw(kind, n, rng):
    """A set on the real line, of a spread of about 1."""
    shape = float(np.exp(rng.uniform(-1.0, 1.5)))
    draws = [
        lambda: rng.normal(0.0, 1.0, n),
        lambda: rng.standard_t(0.7 + shape, n),
        lambda: rng.gamma(shape, 1.0 / math.sqrt(shape), n) * rng.choice((-1.0, 1.0)),
        lambda: rng.uniform(-1.5, 1.5, n),
        lambda: rng.laplace(0.0, 0.7, n),
        lambda: rng.gumbel(0.0, 0.8, n) * rng.choice((-1.0, 1.0)),
        lambda: rng.lognormal(0.0, 0.5 * shape, n),
        lambda: rng.weibull(shape, n),
    ]
    if kind == "skewed":
        return (rng.exponential(1.0, n) ** shape) * rng.choice((-1.0, 1.0))
    if kind == "contaminated":
        x = rng.normal(0.0, 1.0, n)
        x[: max(1, n // 10)] += rng.choice((-1.0, 1.0)) * np.exp(rng.uniform(1.0, 4.0))
        return rng.permutation(x)
    if kind == "two clusters":
        return rng.normal(np.where(rng.random(n) < rng.uniform(0.2, 0.8), 0.0, rng.uniform(2.0, 8.0)), 1.0)
    x = draws[rng.integers(len(draws))]()
    if kind == "tied":
        x = rng.choice(x[: max(3, n // 3)], n)
    return x


def _own(way, n, rng):
    """A set of the family itself, at parameters from the starts of the search; None where they are too extreme."""
    u = _random_start(way, rng, 1)
    try:
        params = {k: float(v[0]) for k, v in _params(way, u, np.ones(1), np.zeros(1), np.zeros(1)).items() if k != "zeros"}
        x = np.asarray(way.cls(**params).rvs(n, rng=int(rng.integers(2**31))), float)
    except ValueError:
        return None
    if way.inflated:
        x = np.where(rng.random(n) < rng.uniform(0.0, 0.8), 0.0, x)
    return x if np.isfinite(x).all() and np.abs(x).max() < 1e100 and np.ptp(x) > 1e-9 * np.abs(x).max() else None


def _in_support(x, way, kind, rng):
    """A set of the real line within the support of the family."""
    digits = 10.0 ** -rng.integers(0, 2) if kind in ("rounded", "small") else 0.0
    if way.cls.is_discrete:
        x = np.floor(np.abs(x) * np.exp(rng.uniform(-0.5, 2.5)))
        return np.minimum(x, HELD["binomial"]["n"]) if way.family == "binomial" else x
    if way.family in (*UNIT, "truncated_normal"):
        x = 1.0 / (1.0 + np.exp(-np.clip(rng.uniform(0.5, 2.0) * x + rng.normal(0.0, 1.0), -30.0, 30.0)))
        x = np.clip(np.round(x / (0.05 * digits)) * (0.05 * digits) if digits else x, 1e-3, 0.999)
        ends = HELD["truncated_normal"]
        return x if way.family in UNIT else ends["lower"] + x * (ends["upper"] - ends["lower"])
    if way.on_half_line:
        x = np.exp(np.clip(rng.uniform(0.2, 1.0) * x, -30.0, 30.0)) if rng.random() < 0.5 else np.abs(x) + 1e-3
    elif rng.random() < 0.5:
        x = x * np.exp(rng.uniform(-3.0, 3.0)) + rng.choice((0.0, 3.0, -20.0))
    if digits:
        step = 0.5 * digits * max(float(np.quantile(np.abs(x - np.median(x)), 0.8)), 1e-6)
        x = np.round(x / step) * step
        x = np.maximum(x, step) if way.on_half_line else x
    return x


def sets(name, n, count, seed):
    """Sets of n values of all kinds as rows, with the kind of each."""
    way, rng = WAYS[name], np.random.default_rng([*seed, zlib.crc32(name.encode()), n])
    rows, kinds = [], []
    while len(rows) < count:
        kind = KINDS[(len(rows) + n) % len(KINDS)]
        x = _own(way, n, rng) if kind == "own" else None
        if x is None:
            x = _in_support(_raw(kind, n, rng), way, kind, rng)
        if np.ptp(x) > 0.0:
            rows.append(x)
            kinds.append(kind)
    return np.array(rows), kinds


# --- the own search --------------------------------------------------------------------------------------------------------

# coordinates of a parameter: their box, and where random starts are
COORDINATES = {
    "log": ((-6.0, 12.0), (-1.5, 3.0)),
    "size": ((-9.2, 14.0), (-2.0, 1.0)),
    "rate": ((-14.0, 9.2), (-1.0, 2.0)),
    "place": ((-30.0, 30.0), (-1.0, 1.0)),
    "below": ((-11.5, 14.0), (-4.0, 3.0)),
    "sinh": ((-9.0, 9.0), (-2.0, 2.0)),
    "real": ((-8.0, 8.0), (-2.0, 2.0)),
    "tanh": ((-7.0, 7.0), (-1.0, 1.0)),
    "logit": ((-14.0, 14.0), (-2.0, 1.0)),
}
BOXES = {
    ("student_t", "df"): (math.log(0.05), 14.0),
    ("skew_t", "df"): (math.log(0.05), 14.0),
    ("generalized_normal", "beta"): (math.log(0.1), 7.0),
    ("variance_gamma", "lam"): (math.log(0.51), 9.0),
    ("gev", "shape"): (-0.5, 8.0),
    ("gpd", "shape"): (-0.5, 8.0),
    ("pearson_iii", "skew"): (-2.0, 2.0),
    ("burr_xii", "scale"): (-60.0, 60.0),
    ("generalized_gamma", "scale"): (-60.0, 60.0),
}
STARTS = {("gev", "shape"): (-0.4, 0.8), ("gpd", "shape"): (-0.4, 1.0), ("pearson_iii", "skew"): (-1.5, 1.5)}
FACTORS = {  # of the scale, so that the middle of the distribution depends less on the shapes
    "generalized_gamma": lambda p: p["a"] ** (-1.0 / p["c"]),
    "burr_xii": lambda p: np.expm1(math.log(2.0) / p["d"]) ** (-1.0 / p["c"]),
    "lomax": lambda p: p["shape"],
    "generalized_normal": lambda p: p["beta"] ** (1.0 / p["beta"]),
}


def _kind(way, name):
    if name == "loc":
        return "below" if way.on_half_line else "place"
    special = {"mu": "place", "alpha": "rate", "delta": "size", "zeros": "logit", "p": "logit", "mean": "size"}
    special |= {"scale": "size"}
    if name in special:
        return special[name]
    if way.family == "inverse_gaussian" and name == "shape":
        return "size"
    if name == "beta" and way.family in HYPERBOLIC:
        return "tanh"
    if name in way.cls._positive:
        return "log"
    return "sinh" if way.family in ("skew_normal", "skew_t", "johnson_su") else "real"


def _box(way):
    return np.array([BOXES.get((way.family, name), COORDINATES[_kind(way, name)][0]) for name in way.free])


def _random_start(way, rng, count):
    lo, hi = np.array([STARTS.get((way.family, name), COORDINATES[_kind(way, name)][1]) for name in way.free]).T
    return np.clip(rng.uniform(lo, hi, (count, lo.size)), *(_box(way).T + np.array([[0.1], [-0.1]])))


def _params(way, u, unit, centre, least):
    """Parameters by name at coordinates, NaN outside of the box."""
    box = _box(way)
    inside = ((u >= box[:, 0]) & (u <= box[:, 1])).all(axis=-1)
    u = np.where(inside[..., None], u, np.nan)
    to = {
        "log": np.exp,
        "size": lambda v: unit * np.exp(v),
        "rate": lambda v: np.exp(v) / unit,
        "place": lambda v: centre + unit * v,
        "below": lambda v: least - unit * np.exp(v),
        "sinh": np.sinh,
        "real": lambda v: v,
        "tanh": np.tanh,
        "logit": lambda v: 1.0 / (1.0 + np.exp(-v)),
    }
    found = {name: to[_kind(way, name)](u[..., i]) for i, name in enumerate(way.free)}
    if way.family in HYPERBOLIC:
        found["beta"] = found["alpha"] * found["beta"]
    if way.family in FACTORS:
        found["scale"] = found["scale"] * FACTORS[way.family](found)
    held = HELD.get(way.family, {})
    return found | {name: np.full(u.shape[:-1], value) for name, value in held.items()}


def _coordinates(way, params, unit, centre, least):
    """Coordinates of parameters, NaN where they are none."""
    p = dict(params)
    if way.family in FACTORS:
        p["scale"] = p["scale"] / FACTORS[way.family](p)
    if way.family in HYPERBOLIC:
        p["beta"] = p["beta"] / p["alpha"]
    back = {
        "log": np.log,
        "size": lambda v: np.log(v / unit),
        "rate": lambda v: np.log(v * unit),
        "place": lambda v: (v - centre) / unit,
        "below": lambda v: np.log((least - v) / unit),
        "sinh": np.arcsinh,
        "real": lambda v: v,
        "tanh": np.arctanh,
        "logit": lambda v: np.log(v / (1.0 - v)),
    }
    return np.stack([back[_kind(way, name)](np.asarray(p[name], float)) for name in way.free], axis=-1)


class Problem:
    """The log-likelihoods of sets of one length, each from so many starts, at rows of coordinates."""

    def __init__(self, way, x, starts):
        self.way, self.x, self.starts = way, x, starts
        spread = np.quantile(x, 0.75, axis=1) - np.quantile(x, 0.25, axis=1)
        self.unit = np.where(spread > 0.0, spread, x.std(axis=1))
        self.centre, self.least = np.median(x, axis=1), x.min(axis=1)
        if way.cls.is_discrete:
            self.unit = np.maximum(x.mean(axis=1), 1e-3)
        elif way.on_half_line and "loc" not in way.free:
            self.unit = np.median(x, axis=1)

    def place(self, rows):
        of = rows // self.starts
        return self.unit[of], self.centre[of], self.least[of]

    def __call__(self, u, rows):
        params = _params(self.way, u, *self.place(rows))
        zeros = params.pop("zeros", None)
        params = {name: v[:, None] for name, v in params.items()}
        good = self.way.cls.in_domain({name: np.where(np.isnan(v), 1e300, v) for name, v in params.items()})
        good = good & np.all([np.isfinite(v) for v in params.values()], axis=0)
        if self.way.family == "binomial":
            good = np.isfinite(params["p"])
        params = {name: np.where(good, v, np.nan) for name, v in params.items()}
        x = self.x[rows // self.starts]
        d = self.way.cls(**params)
        logs = (d.logpmf if self.way.cls.is_discrete else d.logpdf)(x, device="cpu", workers=1)
        if zeros is not None:
            z = zeros[:, None]
            logs = np.where(x == 0.0, np.log(z + (1.0 - z) * np.exp(logs)), np.log1p(-z) + logs)
        value = logs.sum(axis=1)
        return np.where(value > LARGE, value, -np.inf)


def nelder_mead(f, start, rows, most=400):
    """Simplex searches from every start, side by side: the points that they end at and the values."""
    p = start.shape[1]
    corners = np.repeat(start[:, None, :], p + 1, axis=1)
    corners[:, np.arange(1, p + 1), np.arange(p)] += 0.35
    values = np.stack([f(corners[:, j], rows) for j in range(p + 1)], axis=1)
    live = np.flatnonzero(np.isfinite(values).any(axis=1))
    for _ in range(most * p):
        if not live.size:
            break
        c, v = corners[live], values[live]
        order = np.argsort(-v, axis=1)
        c, v = np.take_along_axis(c, order[..., None], axis=1), np.take_along_axis(v, order, axis=1)
        middle, worst = c[:, :-1].mean(axis=1), c[:, -1]
        reflected = 2.0 * middle - worst
        at = f(reflected, rows[live])
        further, outside = at > v[:, 0], at > v[:, -1]
        step = np.where(further, 2.0, np.where(at > v[:, -2], 1.0, np.where(outside, 0.5, -0.5)))
        second = middle + step[:, None] * (middle - worst)
        ask = step != 1.0
        at_second = np.full(live.size, -np.inf)
        if ask.any():
            at_second[ask] = f(second[ask], rows[live[ask]])
        better = at_second > np.where(further | (step == 0.5), at, v[:, -1])
        take_first = ~better & outside & (step != 0.5)
        c[:, -1] = np.where(better[:, None], second, np.where(take_first[:, None], reflected, worst))
        v[:, -1] = np.where(better, at_second, np.where(take_first, at, v[:, -1]))
        shrink = np.flatnonzero(~better & ~take_first)
        if shrink.size:
            c[shrink, 1:] = 0.5 * (c[shrink, 1:] + c[shrink, :1])
            for j in range(1, p + 1):
                v[shrink, j] = f(c[shrink, j], rows[live[shrink]])
        corners[live], values[live] = c, v
        size = np.abs(c - c[:, :1]).max(axis=(1, 2))
        with np.errstate(invalid="ignore"):
            flat = v.max(axis=1) - v.min(axis=1) < 1e-11 * (1.0 + np.abs(v.max(axis=1)))
        live = live[~((size < 1e-5) & (flat | (size < 1e-12)))]
    best = values.argmax(axis=1)
    return corners[np.arange(len(start)), best], values.max(axis=1)


def _differences(f, u, rows, h=1e-4):
    """Gradient and second derivatives by central differences."""
    p, at = u.shape[1], f(u, rows)
    one = h * np.eye(p)
    up, down = (np.stack([f(u + s * one[i], rows) for i in range(p)], axis=1) for s in (1.0, -1.0))
    two = 10.0 * one
    far_up, far_down = (np.stack([f(u + s * two[i], rows) for i in range(p)], axis=1) for s in (1.0, -1.0))
    hessian = np.empty((len(u), p, p))
    for i in range(p):
        hessian[:, i, i] = (far_up[:, i] - 2.0 * at + far_down[:, i]) / (100.0 * h * h)
        for j in range(i):
            cross = sum(s * t * f(u + s * two[i] + t * two[j], rows) for s in (1.0, -1.0) for t in (1.0, -1.0))
            hessian[:, i, j] = hessian[:, j, i] = cross / (400.0 * h * h)
    return at, (up - down) / (2.0 * h), hessian


def polished(f, u, rows):
    """Points after some steps of Newton's method, their values, and whether they are regular maxima."""
    value, regular = f(u, rows), np.zeros(len(u), bool)
    for _ in range(4):
        at, gradient, hessian = _differences(f, u, rows)
        hessian = np.where(np.isfinite(hessian), hessian, 0.0)
        gradient = np.where(np.isfinite(gradient), gradient, np.inf)
        least = -np.linalg.eigvalsh(hessian)[:, -1]
        concave = (least > 1e-6) & np.isfinite(gradient).all(axis=1)
        step = np.zeros_like(u)
        step[concave] = -np.linalg.solve(hessian[concave], gradient[concave][..., None])[..., 0]
        rise = 0.5 * (step * np.where(concave[:, None], gradient, 0.0)).sum(axis=1)
        regular = concave & (rise < 1e-6) & (np.abs(step).max(axis=1) < 0.05)
        new = u + np.clip(step, -0.3, 0.3)
        there = f(new, rows)
        better = there > at
        u, value = np.where(better[:, None], new, u), np.where(better, there, at)
    return u, value, regular


def _is_highest_nearby(f, u, value, rows, rng):
    """Whether no point next to one is higher, for likelihoods with cusps."""
    p, highest = u.shape[1], np.full(len(u), -np.inf)
    for h in (1e-3, 1e-4, 1e-5):
        steps = [*(h * np.eye(p)), *(-h * np.eye(p)), *(h * rng.normal(size=(4 * p, p)))]
        for step in steps:
            highest = np.maximum(highest, f(u + step, rows))
    return highest <= value + 1e-9 * (1.0 + np.abs(value))


def searched(name, x, from_fits, rng, starts=12):
    """For each set the highest regular maximum that climbs end at, the highest of their other ends, -inf for none, and where."""
    way = WAYS[name]
    f = Problem(way, x, starts)
    rows = np.arange(len(x) * starts)
    u = _random_start(way, rng, rows.size)
    for k, params in enumerate(from_fits):
        own = _coordinates(way, params, *f.place(np.arange(len(x)) * starts))
        box = _box(way)
        usable = np.isfinite(own).all(axis=1)
        own = np.clip(own, box[:, 0] + 0.05, box[:, 1] - 0.05)
        u[np.flatnonzero(usable) * starts + k] = own[usable]
    u, value = nelder_mead(f, u, rows)
    again = np.flatnonzero(np.isfinite(value))
    u[again], value[again] = nelder_mead(f, u[again], again)
    inside = np.zeros(rows.size, bool)
    u[again], value[again], inside[again] = polished(f, u[again], again)
    if way.family in CUSPS:
        rest = again[~inside[again]]
        if rest.size:
            inside[rest] = _is_highest_nearby(f, u[rest], value[rest], rest, rng)
    box = _box(way)
    inside &= ((u > box[:, 0] + 0.01) & (u < box[:, 1] - 0.01)).all(axis=1)
    per_set = (len(x), starts)
    of_inside = np.where(inside, value, -np.inf).reshape(per_set)
    at = np.arange(len(x)) * starts + of_inside.argmax(axis=1)
    params = _params(way, u[at], *f.place(at))
    return of_inside.max(axis=1), np.where(inside, -np.inf, value).reshape(per_set).max(axis=1), params


# --- the four measurements -------------------------------------------------------------------------------------------------


def _shares(total, names, sizes=SIZES):
    """How many sets each row has at each size."""
    weight = {name: 1.0 / SLOW.get(WAYS[name].family, 1) for name in names}
    each = total / sum(weight.values()) / len(sizes)
    return {name: max(1, round(each * weight[name])) for name in names}


def floors_of(name, each, seed):
    """By contained family: fits of status 0, of these below, the worst shortfall."""
    found = {}
    for n in (*SIZES, 100, 200):
        x, _ = sets(name, n, each, [1, seed])
        status, loglik, _ = fitted(x, WAYS[name])
        for word, floor in contained(name).items():
            least = floor(x)
            ok = (status == 0) & np.isfinite(least)
            short = np.where(ok, least - loglik, 0.0)
            short = np.where(np.isnan(short), np.inf, short)
            below = ok & (short > 1e-6 + 1e-12 * np.abs(np.where(ok, least, 0.0)))
            row = found.setdefault(f"{name} > {word}", {"fits": 0, "status_0": 0, "below": 0, "worst": 0.0})
            row["fits"] += len(x)
            row["status_0"] += int((status == 0).sum())
            row["below"] += int(below.sum())
            row["worst"] = max(row["worst"], float(short[below].max(initial=0.0)))
    return found


def optima_of(name, each, seed, starts=12):
    """How fits of small sets compare with the best point known."""
    way, total = WAYS[name], Counter()
    examples = {"low": [], "missed": []}
    for n in SIZES:
        x, kinds = sets(name, n, each, [2, seed])
        rng = np.random.default_rng([3, seed, n])
        status, loglik, params = fitted(x, way)
        others = [fitted(rng.permuted(x, axis=1), way)]
        if MIRROR.get(way.family) == way.family and way.family not in UNIT:
            others.append(fitted(-x, way)[:2] + (None,))
        known = np.max(
            [np.where(np.isin(s, CERTAIN) & np.isfinite(v), v, -np.inf) for s, v, _ in [(status, loglik, params), *others]]
            + [floor(x) for floor in contained(name).values()],
            axis=0,
        )
        inside = edge = np.full(len(x), -np.inf)
        where = {}
        if way.family not in SETTLED:
            begins = [p for _, _, p in [(status, loglik, params), *others] if p is not None]
            inside, edge, where = searched(name, x, begins, rng, starts)
        best = np.maximum(known, inside)
        gap = np.where(np.isin(status, CERTAIN), best - loglik, np.inf)
        near = gap <= SAME
        refused = np.isin(status, (4, 5, 6, 7, 8))
        none_inside = ~(near | refused | np.isin(status, CERTAIN) | np.isfinite(inside)) & (edge > known + SAME)
        low = (status == 0) & ~near
        missed = ~(near | none_inside | low | refused)
        total.update({f"status_{s}": int(c) for s, c in zip(*np.unique(status, return_counts=True), strict=True)})
        counts = {"near": near, "none_inside": none_inside, "low": low, "refused": refused, "missed": missed}
        total.update({key: int(these.sum()) for key, these in counts.items()} | {"sets": len(x)})
        for key, these in (("low", low), ("missed", missed)):
            for i in np.flatnonzero(these):
                by_search = {k: float(v[i]) for k, v in where.items()}
                what = {"n": n, "kind": kinds[i], "status": int(status[i]), "short": float(best[i] - loglik[i])}
                what["better"] = by_search if inside[i] >= known[i] else "contained, in another order or mirrored"
                what |= {"fit": {k: float(v[i]) for k, v in params.items()}, "x": x[i].tolist()}
                examples[key].append(what)
    worst = max((e["short"] for e in examples["low"]), default=0.0)
    some = {key: sorted(these, key=lambda e: -e["short"])[:3] for key, these in examples.items()}
    return {name: dict(total) | {"worst": worst, "examples": some}}


def _dyadic(x, way):
    """Values in units of a power of two, so that their sums with whole numbers of these are exact."""
    step = 2.0 ** (np.floor(np.log2(np.ptp(x, axis=1, keepdims=True))) - 20)
    rounded = np.round(x / step) * step
    return np.where(way.on_half_line & (rounded <= 0.0), step, rounded)


def _changes(way, x, rng):
    """The same sets otherwise: the word, the values, weights, options, and the logarithm of the unit."""
    yield "permuted", rng.permuted(x, axis=1), None, {}, 0.0
    if way.is_scaled:
        for power in (-7, 10, -100, 100):
            yield "scaled by 2^k", np.ldexp(x, power), None, {}, power * math.log(2.0)
        for power in (-140, -8, 6, 140):
            yield "scaled by 10^k", x * 10.0**power, None, {}, power * math.log(10.0)
    if way.is_shifted:
        step = 2.0 ** np.ceil(np.log2(np.ptp(x, axis=1, keepdims=True)))
        for k in (3.0, -50.0):
            yield "shifted", x + k * step, None, {}, 0.0
    if way.family in MIRROR:
        options = {} if MIRROR[way.family] == way.family else {"as": MIRROR[way.family]}
        yield "mirrored", 1.0 - x if way.family in UNIT else -x, None, options, 0.0
    if x.shape[1] < len(way.free) + 2:
        return
    w = rng.integers(1, 4, x.shape[1]).astype(float)
    yield "weights split", np.repeat(x, w.astype(int), axis=1), w, {}, 0.0


def invariance_of(name, each, seed):
    """By change: other statuses, and log-likelihoods apart."""
    found = {}
    way = WAYS[name]
    for n in SIZES:
        x = sets(name, n, each, [4, seed])[0]
        x = x if way.cls.is_discrete or way.family in (*UNIT, "truncated_normal") else _dyadic(x, way)
        if way.family == "beta" or way.family == "kumaraswamy":
            x = np.round(x * 2.0**20) / 2.0**20
        rng = np.random.default_rng([5, seed, n])
        whole = fitted(x, way)[:2]
        done = []
        for word, y, w, options, log_unit in _changes(way, x, rng):
            before = whole
            if w is not None:  # the sets with weights beside the values repeated
                before = fitted(x, way, weights=np.broadcast_to(w, x.shape))[:2]
            other = fitted(y, way._replace(family=options["as"]) if "as" in options else way)[:2]
            done.append((word, before, (other[0], other[1] + y.shape[1] * log_unit)))
        some = range(0, len(x), max(1, len(x) // 3))
        alone = [fitted(x[i : i + 1], way)[:2] for i in some]
        alone = tuple(np.concatenate(part) for part in zip(*alone, strict=True))
        done.append(("alone", tuple(part[list(some)] for part in whole), alone))
        for word, (status, loglik), (other, value) in done:
            row = found.setdefault(f"{name}: {word}", {"fits": 0, "statuses": 0, "apart": 0, "maxima_apart": 0, "worst": 0.0})
            same = status == other
            with np.errstate(invalid="ignore"):
                apart = np.abs(loglik - value) / np.maximum(1.0, np.abs(loglik))
            apart = np.where(np.isnan(loglik) & np.isnan(value), 0.0, np.where(np.isnan(apart), np.inf, apart))
            row["fits"] += len(status)
            row["statuses"] += int((~same).sum())
            row["apart"] += int((same & (apart > 1e-8)).sum())
            row["maxima_apart"] += int((same & np.isin(status, CERTAIN) & (apart > 1e-8)).sum())
            finite = apart[same & np.isfinite(apart)]
            row["worst"] = max(row["worst"], float(finite.max(initial=0.0)))
    return found


def times_of(name, _each, seed, repeats=5):
    """CPU seconds of a call, of 2000 series of 50 values and 20 of 20,000, of slow families a tenth: medians of five."""
    way, row = WAYS[name], {}
    few = 10 if way.family in (*SLOW, *HYPERBOLIC) else 1
    for word, (count, n) in {"many": (2000 // few, 50), "long": (20 // few, 20_000)}.items():
        rng = np.random.default_rng([6, seed, zlib.crc32(name.encode()), n])
        x = np.stack([_in_support(rng.gamma(2.0, 1.0, n), way, "", np.random.default_rng(i % 8)) for i in range(count)])
        fitted(x[:2], way)
        runs = []
        while len(runs) < repeats and (len(runs) < 1 or sum(runs) < 5.0):
            begun = time.process_time()
            fitted(x, way)
            runs.append(time.process_time() - begun)
        row |= {word: statistics.median(runs), f"runs_{word}": len(runs)}
    return {name: row}


def measured(of, names, *rest, total, keep, sizes=SIZES):
    """Of all rows, kept one by one; one that raises is told and left out."""
    found = {}
    for name, each in _shares(total, list(names), sizes).items():
        try:
            found |= of(name, each, *rest)
            keep(found)
        except Exception as error:  # the others are still worth their time
            print(f"{name}: {type(error).__name__}: {error}")
        print(f"{time.process_time():8.1f} s  {name}", flush=True)
    return found


# --- tables ----------------------------------------------------------------------------------------------------------------


def _table(head, rows):
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def _beside(old, new, key, shown=str):
    """Before -> after, or what is now alone."""
    return shown(new.get(key, 0)) if old is None else f"{shown(old.get(key, 0))} -> {shown(new.get(key, 0))}"


def _short(value):
    return "" if value == 0.0 else f"{value:.2g}"


def print_floors(found, before):
    rows = []
    for word, row in found.items():
        old = None if before is None else before.get(word, {})
        outer, _, inner = word.partition(" > ")
        rows.append([outer, inner, row["fits"], *(_beside(old, row, k) for k in ("status_0", "below"))])
        rows[-1].append(_beside(old, row, "worst", _short))
    _table(["family", "contains", "fits", "status 0", "below it by 1e-6", "by up to"], rows)
    comparisons, below = (sum(row[k] for row in found.values()) for k in ("fits", "below"))
    by_row = {word.partition(" > ")[0]: row["fits"] for word, row in found.items()}
    print(f"{sum(by_row.values())} fits, {comparisons} comparisons, {below} below; families with any:", end=" ")
    print(len({word.partition(" > ")[0] for word, row in found.items() if row["below"]}), "of", len(by_row))
    if before is not None:
        comparisons, below = (sum(row[k] for row in before.values()) for k in ("fits", "below"))
        print(f"before: {comparisons} comparisons, {below} below")


WORDS = {"near": "at the best", "none_inside": "no maximum inside"} | {f"status_{s}": f"status {s}" for s in (0, 1, 2, 3, 10)}


def _share(row, key):
    """Of the sets that can be fitted; of those with a maximum or a limit, where the key is "near"."""
    out = row.get("none_inside", 0) if key == "near" else 0
    return row.get(key, 0) / max(1, row["sets"] - row.get("refused", 0) - out)


def print_optima(found, before):
    rows = []
    for name, row in found.items():
        old = None if before is None else before.get(name)
        both = [r for r in (old, row) if r is not None]
        cells = [" -> ".join(f"{100 * _share(r, k):.1f}" for r in both) for k in WORDS]
        rows.append([name, row["sets"], *cells, _beside(old, row, "low"), _beside(old, row, "worst", _short)])
    head = ["family", "sets", *(f"{word}, %" for word in WORDS.values())]
    _table([*head, "status 0 below", "by up to"], rows)
    for when, these in (("now", found), ("before", before)):
        if these is not None:
            total = Counter()
            for row in these.values():
                total.update({k: v for k, v in row.items() if isinstance(v, int)})
            parts = [f"{word} {100 * _share(total, k):.2f} %" for k, word in WORDS.items()]
            median = statistics.median(100 * _share(row, "near") for row in these.values())
            print(f"{when}: {total['sets']} sets; {'; '.join(parts)}; status 0 below {total['low']}; median share {median:.1f} %")


def print_invariance(found, before):
    rows, words = {}, []
    for word, row in found.items():
        name, _, change = word.partition(": ")
        rows.setdefault(name, {})[change] = row
        words += [] if change in words else [change]
    cells = []
    for name, by_change in rows.items():
        line = [name]
        for change in words:
            row, old = by_change.get(change), None if before is None else before.get(f"{name}: {change}")
            parts = [f"{r['statuses']} + {r['apart']}" for r in (old, row) if r is not None]
            line.append(" -> ".join(parts) + f" of {row['fits']}" if row else "")
        cells.append(line)
    _table(["family: other statuses + log-likelihoods apart", *words], cells)
    for word, these in (("now", found), ("before", before)):
        if these is not None:
            keys = ("fits", "statuses", "apart", "maxima_apart")
            fits, statuses, apart, maxima = (sum(row[k] for row in these.values()) for k in keys)
            print(
                f"{word}: {fits} comparisons, {statuses} other statuses, {apart} log-likelihoods apart by more than 1e-8", end=""
            )
            print(f", {maxima} of these of status 0 or 2")


def print_time(found, before):
    rows, ratios = [], {"many": [], "long": []}
    for name, row in found.items():
        old, line = None if before is None else before.get(name), [name]
        for word, many in ratios.items():
            line.append(_beside(old, row, word, lambda v: f"{v:.3f}"))
            if old:
                many.append(row[word] / old[word])
                line.append(f"{many[-1]:.2f}")
        rows.append(line)
    head = ["2000 x 50, CPU s", "20 x 20,000, CPU s"]
    head = head if before is None else [head[0], "ratio", head[1], "ratio"]
    _table(["family", *head], rows)
    for word, many in ratios.items():
        print(f"median of {word}: {statistics.median(row[word] for row in found.values()):.4f} s", end="")
        print(f"; ratio {statistics.median(many):.3f}, largest {max(many):.2f}" if many else "")


PRINT = {"floors": print_floors, "optima": print_optima, "invariance": print_invariance, "time": print_time}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="+", choices=PRINT)
    parser.add_argument("--family", action="append", help="rows whose name begins with this")
    parser.add_argument("--count", type=int, default=3000, help="fits of floors (60000 for the figures)")
    parser.add_argument("--sets", type=int, default=600, help="sets of optima and invariance (6000 for the figures)")
    parser.add_argument("--starts", type=int, default=12, help="climbs of the search from each set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    asked = parser.parse_args(arguments)
    names = [n for n in WAYS if asked.family is None or any(n.startswith(f) for f in asked.family)]
    before = json.loads(asked.compare.read_text()) if asked.compare else {}
    run = {
        "floors": lambda keep: measured(
            floors_of, filter(contained, names), asked.seed, total=asked.count, keep=keep, sizes=(*SIZES, 100, 200)
        ),
        "optima": lambda keep: measured(optima_of, names, asked.seed, asked.starts, total=asked.sets, keep=keep),
        "invariance": lambda keep: measured(invariance_of, names, asked.seed, total=asked.sets, keep=keep),
        "time": lambda keep: measured(times_of, names, asked.seed, total=0, keep=keep),
    }

    def save(what, found):
        if asked.save:
            kept = json.loads(asked.save.read_text()) if asked.save.exists() else {}
            kept[what] = kept.get(what, {}) | found
            asked.save.write_text(json.dumps(kept, indent=1) + "\n")

    print(f"numbastats {ns.__version__}, NumPy {np.__version__}, Python {platform.python_version()}, {platform.machine()}")
    for what in asked.what:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the statuses are counted
            found = run[what](functools.partial(save, what))
        PRINT[what](found, before.get(what))


if __name__ == "__main__":
    main()
