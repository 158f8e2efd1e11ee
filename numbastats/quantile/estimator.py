"""Quantile tables of a distribution: built from its density, certified, evaluated on the CPU and on CUDA."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import pickle
import time

import numpy as np

import numbastats.random as random
from numbastats._core.broadcast import as_host, check_dtype, real64, refuse_mask, result_dtype, size_to_shape
from numbastats._core.dispatch import (
    _device_kind,
    _is_torch,
    _numpy_dtype,
    as_double,
    deliver,
    elementwise,
    in_float32,
    in_kind_of,
    to_host,
)
from numbastats._core.errors import ConvergenceWarning, choice, names_ours, warn
from numbastats._core.parallel import is_executor, mapped, worker_count
from numbastats.quantile import archive, construction, kernels
from numbastats.quantile.construction import ROUGH, TARGET, Certificate
from numbastats.quantile.panels import Slope, scaling
from numbastats.quantile.zones import Split, Zones, halved
from numbastats.scalar.tables import NEAR_BITS, OCTAVE, OCTAVE32, SPLIT_COLUMNS

__all__ = ["EXACT32", "MOST_BITS", "Recycler", "check_base", "float_type"]

EXACT32 = 1 << 24  # rows that a float32 header can number

_OCTAVES = 66  # at least, of the shares of mass next to an anchor inside the law
_TAIL = 2.0**-_OCTAVES
_FULL = 1e-300
MOST_BITS = 9
_ROUGH = 2.0 * 2.0**-24  # relative error of a float32 table beyond which float32 goes through the float64 one
_KEPT = 16  # maps to other bases, and stacks of columns, that a table keeps
_FAR_END = 500.0  # interquartile ranges from the median, beyond which an end of the support is no anchor
_BASES = ("uniform", "normal", "exponential", "two-sided exponential")


def check_base(base):
    """A base law as it is kept; ValueError naming what is allowed."""
    if isinstance(base, Recycler):
        if base.shape != ():
            raise ValueError(f"base has parameters of shape {base.shape}; use a law with one set of parameters")
        return base
    name, rates = base if isinstance(base, tuple) and len(base) == 2 else (base, None)
    name = "normal" if isinstance(name, str) and name == "gaussian" else name
    choice("base", name, _BASES)
    if name != "two-sided exponential":
        return name if rates is None else choice("base", base, _BASES)
    if not (np.shape(rates) == (2,) and all(0 < rate < math.inf for rate in rates)):
        raise ValueError(f"base={base!r} needs two positive rates: ('two-sided exponential', (right, left))")
    return name, (float(rates[0]), float(rates[1]))


def _two_parts(value, dtype, more=0.0):
    """Value + more as a sum of two numbers, the first of a float type."""
    total = value + more
    high = float(dtype.type(total))
    return high, (total - high) + ((value - (total - more)) + (more - (total - (total - more))))


class Recycler:
    """Quantile table of a distribution, from its density; and maps to it from another distribution.

    The density may have several modes, kinks and jumps (mixtures, histograms, kernel estimates). It must be positive next to the
    anchor, integrable, and smooth between some hundreds of places at most.

    Parameters
    ----------
    pdf : callable, optional
        Density of an array: ``pdf(x)``, or ``pdf(x, *params)``. It need not be normalised, see `normalised`.
    logpdf : callable, optional
        Its logarithm, in place of `pdf`.
    cdf : callable, optional
        Distribution function, as an independent check of the masses; needs a normalised density.
    sf : callable, optional
        1 - cdf, accurate where it is small. With `cdf` in place of a density, which is found by differences.
    params : tuple of array_like, optional
        Parameters handed to the callables, broadcast against each other; one table per set.
    anchor : float
        A point inside the support, or its end, where the table resolves x - anchor to full relative accuracy: 0 for laws
        around 0, the end of a one-sided law, the place of a pole or a kink of the density.
    support : pair of float
        Where the density is positive.
    scale : float
        A length on which the density varies, within some orders of magnitude.
    base : {"uniform", "normal", "gaussian", "exponential"}, ("two-sided exponential", (right, left)) or Recycler
        Distribution of the values that `transform` maps: probabilities, standard normal or standard exponential variates, two
        exponentials back to back with their rates, or those of another table. Two exponentials have the target's mass on
        either side of 0, which goes to the anchor (the paper's (85)); give a Laplace law with masses of its own as a table.
    tail : float, optional
        Smallest tail probability (as a share of its side) that the table holds, 2^-66 = 1.4e-20 by default. Smaller
        probabilities, other than 0, give NaN; also those next to the anchor where that is an end of the law.
    singular : float, optional
        Exponent a of a density like |x - anchor|^a next to the anchor; found from the density by default.
    breaks : sequence of float, optional
        Places of kinks, jumps and narrow modes, as of x. Kinks and jumps are found without it, in more steps; a mode of less than
        1/200 of the width may be found by it only.
    normalised : bool, optional
        Whether the density integrates to 1: True refuses one that does not to 1e-9, False takes any. By default, without `cdf`,
        an integral between 1e-6 and 1 - 1e-9 is refused, which is what a normalised density has of which a mode was missed; any
        other is taken for that of a density without its constant.
    accuracy : {"double", "full"}
        "full": ``tail=1e-300``, as far as the density does not underflow (pass `logpdf`).
    degree : {7, 5}
        Rows of degree 7, 16 per octave (256 KiB); or of degree 5, 64 per octave (768 KiB), as fast to evaluate and three times
        slower to build. Twice or more as many where the certificate would miss 2e-14. Where that does not reach 1e-12, rows with
        kinks or many bends are cut into parts that are found by bisection; a value then costs some ten times as much. Maps from
        a base distribution have degree 7.
    device : {"auto", "cpu", "cuda"}, optional
        Where the methods compute unless they are told.
    workers : int or executor, optional
        Threads to build batches with, and default of the methods. Processes need a density that pickles: the laws of this
        module, no lambda. An executor is not pickled with the table.

    Attributes
    ----------
    p_minus : float or array
        Mass on the left of the anchor.
    norm_const : float or array
        Integral of the density as given.
    certificate : Certificate
    nbytes : int
        Size of the float64 tables.
    setup_seconds : float
    shape : tuple
        Shape of the parameters.

    Raises
    ------
    ValueError
        For a density that is negative, infinite, NaN, not integrable, not smooth enough for a table, or whose integral suggests a
        missed part (see `normalised`). In a batch that set becomes NaN and ``certificate.ok`` is False there.
    TypeError
        For a density with complex values.

    Warns
    -----
    ConvergenceWarning
        When the certificate exceeds 2e-14.

    Notes
    -----
    The sides of the anchor are integrated on logarithmic Chebyshev panels from both ends, masses are inverted by Newton steps
    in the logarithm, and rows are cut from interpolants on octaves of the share of mass next to the anchor or beyond x. The
    recycling differential equation (see `recycle_ode`) is not used: an error in its start values grows like 1/(tail mass).
    float32 input is evaluated from a table of its own, of degree 3: errors to 1.9 ulp seen, 2.4 for asymmetric
    laws, 3.4 for maps from a base law. Where its rows are too wide for that (error above 2^-23: steep maps, from light to heavy
    tails) or cut into parts the float64 table is evaluated and the result rounded once. Its probabilities end at 2^-126.

    A feature much narrower than `scale` (a mode less than about 1/200 wide) may lie between all points at which the density is
    evaluated; the certificate compares with the masses that were found, and does not see it. The densities are compared at 2000
    more points of the bulk, and the integral with 1; `cdf` is the check that needs no luck. Name narrow modes in `breaks`, or put
    the anchor there.

    A map from a base distribution that rows cannot follow (a kink away from the anchor, light tails to heavy ones) goes through
    probabilities: the base's smaller tail, then `ppf` or `isf`. ``certificate.direct`` is False then; see `Certificate`.

    References
    ----------
    W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> sech = ns.quantile.Recycler(lambda x: 1 / np.cosh(x))
    >>> float(sech.ppf(0.9).round(12)), bool(sech.certificate.max_rel_err < 2e-14)
    (1.842730034701, True)
    """

    def __init__(
        self,
        pdf=None,
        *,
        logpdf=None,
        cdf=None,
        sf=None,
        params=None,
        anchor=0.0,
        support=(-math.inf, math.inf),
        scale=1.0,
        base="uniform",
        tail=None,
        singular=None,
        breaks=(),
        normalised=None,
        accuracy="double",
        degree=7,
        device=None,
        workers=None,
    ):
        if sum(given is not None for given in (pdf, logpdf, sf)) != 1 or (sf is not None and cdf is None):
            raise ValueError("give either pdf= or logpdf= (and cdf= as a check), or both cdf= and sf=")
        for name, function in (("pdf", pdf), ("logpdf", logpdf), ("cdf", cdf), ("sf", sf)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} is a {type(function).__name__}; it must be a function of an array")
        params = () if params is None else params
        if not isinstance(params, tuple):
            raise TypeError(f"params is a {type(params).__name__}; pass a tuple of arrays, one per parameter")
        lower, upper = (float(e) for e in support)
        if not (lower < upper and lower <= anchor <= upper and math.isfinite(anchor) and 0 < scale < math.inf):
            raise ValueError(
                f"anchor={anchor!r} must be finite and within support={support!r}, whose ends must ascend, and scale={scale!r} "
                "must be positive"
            )

        breaks = np.asarray(breaks, np.float64)
        if breaks.ndim != 1 or not np.isfinite(breaks).all():
            raise ValueError(f"breaks={breaks!r} must be a sequence of finite places, such as (0.0, 2.5)")
        if normalised is None:
            normalised = False if cdf is not None else None
        elif normalised not in (True, False):
            raise ValueError(f"normalised={normalised!r} must be True, False or None")
        self._normalised = normalised
        options = dict(anchor=float(anchor), support=(lower, upper), scale=float(scale), singular=singular)
        if breaks.size:
            options["breaks"] = breaks
        describe = functools.partial(_describe, pdf, logpdf, cdf, sf, options)
        self._cdf = cdf
        self._build(describe, params, base, tail, accuracy, degree, device, workers, shift=None)

    _scans = True
    _normalised = False
    _split = False  # whether rows have parts
    _indirect = False  # whether `transform` goes through probabilities

    # -- building -----------------------------------------------------------------------------------------------

    @np.errstate(under="ignore")  # tails underflow, also where the caller lets NumPy raise errors
    def _build(self, describe, params, base, tail, accuracy, degree, device, workers, shift):
        start = time.perf_counter()
        choice("accuracy", accuracy, ("double", "full"))
        choice("degree", degree, (5, 7))
        base = check_base(base)
        tail = (_FULL if accuracy == "full" else _TAIL) if tail is None else float(tail)
        if not 1e-300 <= tail <= 0.125:
            raise ValueError(f"tail={tail!r} must be between 1e-300 and 1/8")
        self.base, self.degree, self.device, self.workers = base, degree, device, workers
        self._held = math.ceil(-math.log2(tail))  # octaves of the tails
        self._octaves = max(self._held, _OCTAVES)
        for p in params:
            refuse_mask(p)
        given = [d for d in map(_given_dtype, params) if d is not None]
        self._param_dtype = result_dtype(["a parameter"] * len(given), given) if given else None
        try:
            arrays = np.broadcast_arrays(*[np.asarray(p, dtype=np.float64) for p in params]) if params else []
        except ValueError:
            shapes = ", ".join(str(np.shape(p)) for p in params)
            raise ValueError(f"the parameters do not broadcast: shapes {shapes}") from None
        self.shape = arrays[0].shape if arrays else ()
        if 0 in self.shape:
            raise ValueError(f"the parameters have shape {self.shape}, which holds no law; pass at least one set")
        self.params = tuple(arrays)
        sets = list(zip(*(a.ravel() for a in arrays), strict=True)) if arrays else [()]
        self._shift = np.zeros(self.shape) if shift is None else np.broadcast_to(np.asarray(shift, np.float64), self.shape)
        self._bits = 6 if degree == 5 else 4  # logarithm of the rows per octave
        made = self._make_all(describe, sets)
        while self._bits < MOST_BITS and (coarse := max(m[0].coarse for m in made)) > TARGET:
            self._bits += 1  # steep quantiles, like that of t with half a degree of freedom
            finer = self._make_all(describe, sets)
            if not max(m[0].coarse for m in finer) <= max(0.2 * coarse, TARGET):  # a kink: more rows do not help much
                self._bits -= 1
                break
            made = finer
        made = self._parted(describe, sets, made)
        made = [(one, *rows) if self._accepted(one) else (construction.One(), None, None) for one, *rows in made]
        self._sets = [m[0] for m in made]
        self._tables, self._heads, self._on_device, self._narrow_errors = {}, {}, {}, {}
        self._index = np.arange(len(self._sets)).reshape(self.shape)
        self._assemble([m[1] for m in made], [m[2] for m in made])

        self._certify()
        self.p_minus = self._column(lambda one: one.masses.p[0] if one.masses else math.nan)
        self.norm_const = self._column(lambda one: one.norm)
        self.setup_seconds = time.perf_counter() - start

    def _parted(self, describe, sets, made):
        """What was made; anew with rows that are cut into parts, if these are far from the target otherwise."""
        coarse = max(m[0].coarse for m in made)
        if coarse > ROUGH:
            bits, self._bits, self._split = self._bits, 6 if self.degree == 5 else 4, True
            parted = self._make_all(describe, sets)
            if max(m[0].coarse for m in parted) <= 0.1 * coarse:
                return parted
            self._bits, self._split = bits, False
        return made

    def _accepted(self, one):
        """Whether there is a table of a set; without a batch, ValueError says why there is none."""
        message = construction.refusal(one)
        if message and self.shape == ():
            raise ValueError(message)
        return not message

    def _column(self, function):
        """Something about every set, in the shape of the parameters."""
        return np.array([function(one) for one in self._sets])[self._index][()]

    def _certify(self):
        def extrapolated(one):
            return max(side.outer / side.total for side in one.masses.sides if side is not None) if one.masses else math.nan

        self.certificate = Certificate(
            ok=self._column(lambda one: one.masses is not None),
            max_rel_err=self._column(lambda one: one.error),
            tail_mass=self._column(extrapolated),
            calls=self._column(lambda one: one.calls),
            lower=self._column(lambda one: one.range[0]),
            upper=self._column(lambda one: one.range[1]),
            direct=not self._indirect,
        )
        worst = max((one.error for one in self._sets if one.masses is not None), default=0.0)
        if worst > TARGET and not getattr(self, "_quiet", False):
            warn(
                f"a table has relative error {worst:.1e}, above the target {TARGET:.0e}; certificate.max_rel_err says which. "
                "A pole or kink of the density belongs at the anchor, others in breaks=",
                ConvergenceWarning,
            )

    def _selected(self, columns, dtype):
        """Columns of header numbers in the shape of the parameters."""
        columns = [c[self._index] for c in columns]
        return [dtype.type(c) for c in columns] if self.shape == () else columns

    def _select(self, index):
        """The same tables with parameters of another shape: set `index[...]` of them."""
        other = copy.copy(self)
        other._index, other.shape, other._heads = index, index.shape, {}
        return other

    def __copy__(self):
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self):
        """For pickling: without an executor, arrays on a device, and maps, which are kept by the `id` of their base."""
        workers = getattr(self, "workers", None)
        return self.__dict__ | {"workers": None if is_executor(workers) else workers, "_on_device": {}, "_others": {}}

    @property
    def nbytes(self):
        """Bytes of the float64 tables."""
        return sum(t.nbytes for key, t in list(self._tables.items()) if key[1] != 3)  # another thread may add a table

    def _make_all(self, describe, sets):
        work, workers = functools.partial(self._make, describe), self.workers
        if len(sets) > 1 and is_executor(workers):
            from concurrent.futures import ProcessPoolExecutor  # not at the top: it cannot be imported while Python exits

            if isinstance(workers, ProcessPoolExecutor):
                try:
                    pickle.dumps(work)
                except Exception as error:
                    raise TypeError(
                        f"the density cannot be sent to another process ({error}); use a ThreadPoolExecutor or a number"
                    ) from error
            return list(mapped(workers, work, sets))
        if len(sets) > 1 and worker_count(workers) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(worker_count(workers)) as pool:
                return list(pool.map(work, sets))
        return [work(s) for s in sets]

    def _make(self, describe, values):
        """What belongs to one set of parameters; nothing in a batch that has no table of them."""
        try:
            scan = self._scans and self._cdf is None
            octaves = self._octaves, self._held
            return construction.make(
                describe, values, self.base, self.degree, octaves, self._bits, self._cdf, scan, self._split, self._normalised
            )
        except ValueError:
            if self.shape == ():
                raise
            return construction.One(), None, None

    @np.errstate(under="ignore")
    def _rebased(self, base):
        """The same law as a map from another base; rows are built once."""
        if base == self.base:
            return self
        if not construction.follows_base(base):
            other = copy.copy(self)
            other.base, other._indirect = base, False
            return other
        key = id(base) if isinstance(base, Recycler) else base
        other = self._kept(key)
        if other is None:
            if any(isinstance(one.masses, archive.Loaded) for one in self._sets):
                raise ValueError(f"a table loaded from a file knows its own base only ({self.base!r}); build it anew")
            other = copy.copy(self)
            other.base, other._heads, other._on_device = base, {}, {}
            other._narrow_errors = {k: e for k, e in self._narrow_errors.items() if k == "uniform"}
            other._sets, signed = [], []
            for one in self._sets:
                one, rows = dataclasses.replace(one, base=None), None
                if one.masses is not None:
                    rows = construction.from_base(one, base, 7, np.random.default_rng(5))
                    one, rows = (one, rows) if self._accepted(one) else (construction.One(), None)
                other._sets.append(one)
                signed.append(rows)
            other._tables = {k: t for k, t in self._tables.items() if k[0] == "uniform"}
            other._map(signed)
            other._certify()
            self._keep(key, other, base)
        return other if other.shape == self.shape else other._select(self._index)

    def _kept(self, key):
        """What was made from this table before, or None."""
        return self._others.get(key, (None, None))[0]

    def _keep(self, key, made, named):
        """Remember what was made from this table; `named` is kept as well, so that the ids in the key stay taken."""
        while len(self._others) >= _KEPT:
            self._others.pop(next(iter(self._others)), None)
        self._others[key] = made, named

    def _columns(self, laws, base):
        """Laws, of which this is the first, as one table of maps from a base along the last axis."""
        key = (id(base) if isinstance(base, Recycler) else base, *map(id, laws[1:]))
        made = self._kept(key)
        if made is None:
            tables = [law._rebased(base) for law in laws]
            if any(t._split or t._indirect for t in tables):
                return _Columns(tables)
            made = Recycler._stack(tables)
            made.base = base
            self._keep(key, made, (base, *laws[1:]))
        return made

    @staticmethod
    def _stack(tables):
        """Several laws of one degree and base as one batch along the last axis."""
        first = tables[0]
        if any(t.shape != () or t.degree != first.degree or t._octaves != first._octaves for t in tables):
            raise ValueError("laws for columns must have scalar parameters and tables of one degree and tail")
        other = copy.copy(first)
        other._sets = [one for t in tables for one in t._sets]
        other.shape, other._index = (len(tables),), np.arange(len(tables))
        other._heads, other._on_device, other._others, other._narrow_errors = {}, {}, {}, {}
        other._shift = np.array([float(t._shift) for t in tables])
        other._bits = max(t._bits for t in tables)
        other._param_dtype = max((t._param_dtype for t in tables if t._param_dtype is not None), default=None)
        if construction.follows_base(first.base):
            key = ("signed", 7)
            parts = [t._tables[key] for t in tables]
        else:
            key = ("uniform", first.degree)
            parts = [halved(t._tables[key], other._bits - t._bits) for t in tables]
        other._tables = {key: np.concatenate(parts)}
        held = {getattr(t, "_held", None) for t in tables}
        if None in held or len(held) > 1:  # no float32 table for laws from files, nor for tails that differ
            other._narrow_errors[key[0]] = math.inf
        return other

    def _assemble(self, tables, signed):
        self._others = {}
        self._join("uniform", tables)
        if construction.follows_base(self.base):
            self._map(signed)

    def _map(self, signed):
        """The tables of maps from a base distribution; through probabilities if one of the sets has none."""
        self._indirect = any(one.masses is not None and rows is None for one, rows in zip(self._sets, signed, strict=True))
        if not self._indirect:
            self._join("signed", signed)

    def _join(self, kind, tables, dtype=np.float64):
        """Tables of all sets, moved to their location, as one array; a set without a table is NaN."""
        degree = 3 if dtype == np.float32 else 7 if kind == "signed" else self.degree
        if kind == "uniform" and self._split:
            self._tables[kind, degree] = self._joined(tables)
            return
        octaves, _, far, _ = construction.base_shape(self.base)
        rows = 4 * (self._length(degree) + 2) if kind == "uniform" else 2 * ((octaves << NEAR_BITS) + far + 4)
        size = rows, degree + 1
        full = [np.full(size, math.nan) if t is None else t for t in tables]
        for t, shift in zip(full, self._shift.ravel(), strict=True):
            t[:, 0] += shift
        with np.errstate(over="ignore"):
            table = (full[0] if len(full) == 1 else np.concatenate(full)).astype(dtype, copy=False)
        if dtype == np.float32:
            table[np.isinf(table[:, 0]), 1:] = 0.0  # quantiles beyond its range are infinite there
        self._tables[kind, degree] = table

    def _joined(self, tables):
        """Rows that have parts, of all sets."""
        rows = np.full((4 * (self._length(self.degree) + 2), self.degree + 1 + SPLIT_COLUMNS), math.nan)
        rows[:, -SPLIT_COLUMNS:] = 0.0
        full = [Split(rows.copy(), rows[:0].copy()) if t is None else t for t in tables]
        for t, shift in zip(full, self._shift.ravel(), strict=True):
            for part in t:
                part[:, 0] += shift
        return Split.joined(full).array()

    def _table(self, kind, degree, where):
        """Rows on the CPU or, once copied, on the device. The float32 table is made on first use."""
        key = (kind, degree)
        if key not in self._tables:
            self._narrow(kind)
        if where == "cpu":
            return self._tables[key]
        if key not in self._on_device:
            from numba import cuda

            self._on_device[key] = cuda.to_device(self._tables[key])
        return self._on_device[key]

    @np.errstate(under="ignore")
    def _narrow(self, kind):
        """The float32 table: degree 3, from the same masses. Its error is kept."""
        parts, worst = [], 0.0
        for one in self._sets:
            if one.masses is None:
                parts.append(None)
                continue
            rng = np.random.default_rng(5)
            if kind == "uniform":
                zones = Zones(one.masses, 3, rng, self._row_bits(3))
                parts.append(zones.both(lambda right, zones=zones: zones.side(right, self._octaves32, self._held)))
                error = zones.error
            else:
                one = dataclasses.replace(one, error=0.0)
                parts.append(construction.from_base(one, self.base, 3, rng))
                error = one.error
            worst = max(worst, error)
        self._join(kind, parts, np.float32)
        self._narrow_errors[kind] = worst

    def _is_rough(self, kind):
        """Whether the float32 table is not good enough."""
        if kind == "uniform" and self._split:
            return True
        rows = 4 * len(self._sets) * (self._length(3) + 2) if kind == "uniform" else len(self._tables[kind, 7])
        if rows > EXACT32:
            return True
        if kind not in self._narrow_errors:
            self._narrow(kind)
        return self._narrow_errors[kind] > _ROUGH

    @property
    def _octaves32(self):
        return min(self._octaves, 125)  # float32 has no smaller normal numbers

    def _length(self, degree):
        return (self._octaves32 if degree == 3 else self._octaves) << self._row_bits(degree)

    def _row_bits(self, degree):
        return max(5, self._bits) if degree == 3 else self._bits

    def _header(self, dtype, upper):
        """The parameters of `uniform` kernels, as numbers or arrays of the parameters' shape."""
        key = ("header", dtype, upper)
        if key not in self._heads:
            degree = 3 if dtype == np.float32 else self.degree
            zone = self._length(degree) + 2
            columns = np.empty((6, len(self._sets)))
            most = 2.0 ** (np.finfo(dtype).maxexp - 2)
            for i, one in enumerate(self._sets):
                p = one.masses.p if one.masses is not None else (0.5, 0.5)
                left, right = (p[1], p[0]) if upper else p
                high, rest = _two_parts(left, dtype)
                first = 4 * i * zone
                begins = (first + 2 * zone, first) if upper else (first, first + 2 * zone)
                columns[:, i] = high, rest, min(scaling(left)[0], most), min(scaling(right)[0], most), *begins
            self._heads[key] = self._selected(columns, dtype)
        return self._heads[key]

    def _shares(self, dtype):
        """What goes with shares of mass: the scaled masses of the sides, their first rows."""
        key = ("shares", dtype)
        if key not in self._heads:
            masses = [one.masses.p if one.masses is not None else (0.5, 0.5) for one in self._sets]
            self._heads[key] = self._selected(np.array([[scaling(q)[1] for q in p] for p in masses]).T, dtype)
        return (*self._heads[key], *self._header(dtype, False)[4:])

    @property
    def table(self):
        """Rows of the float64 table, for `numbastats.scalar.table_eval1`."""
        return self._tables["uniform", self.degree]

    @property
    def header(self):
        """The eight numbers that go with `table`; for a batch, along the last axis of an array of the parameters' shape."""
        numbers = (*self._header(np.dtype(np.float64), False), self._length(self.degree), self._bits)
        return np.stack(np.broadcast_arrays(*numbers), axis=-1).astype(np.float64)

    # -- evaluation ---------------------------------------------------------------------------------------------

    def _evaluate(self, kind, names, values, header, integers, options, cost):
        """Look values up. A header of numbers goes to the kernel as it is, one of arrays is broadcast against the values.

        The header and the integers are functions of the dtype.
        """
        dtype = options["dtype"]
        if dtype == np.float32 and self._is_rough("signed" if kind == "signed" else "uniform"):
            double, stream = options | {"out": None, "dtype": np.dtype(np.float64)}, options["stream"]
            values = [as_double(v, stream) for v in values]
            return in_float32(self._evaluate(kind, names, values, header, integers, double, cost), options["out"], stream)
        header = header(dtype)
        if self.shape:
            names, values, header = (*names, *["the parameters"] * len(header)), (*values, *header), ()
        device = options.pop("device", None)
        workers = options.pop("workers", None)
        table_kind = "signed" if kind == "signed" else "uniform"

        def degree(dtype):
            return 3 if dtype == np.float32 else 7 if kind == "signed" else self.degree

        split = self._split and kind != "signed"
        return elementwise(
            lambda d: kernels.TABLE[kind, "split" if split else degree(d)], names, values,
            extras=lambda where, d: (*header, *integers(degree(d)), self._table(table_kind, degree(d), where)),
            device=self.device if device is None else device, workers=self.workers if workers is None else workers,
            cost=cost, **options,
        )  # fmt: skip

    def _from_probability(self, kind, name, values, upper, options, cost):
        dtype = float_type((values,), options.get("dtype"), self._param_dtype)
        options = {**options, "dtype": dtype}
        return self._evaluate(kind, (name,), (values,), lambda d: self._header(d, upper), self._integers, options, cost)

    def _integers(self, degree):
        """What goes with the header of a `uniform` table: exponent bits of the first octave, rows of a zone, and of an octave."""
        return OCTAVE32 if degree == 3 else OCTAVE, np.int64(self._length(degree)), np.int64(self._row_bits(degree))

    def ppf(self, u, *, out=None, dtype=None, device=None, workers=None, stream=None):
        """Quantile at lower tail probability u.

        Parameters
        ----------
        u : array_like
            Probabilities, broadcast against the table's parameters.
        out, dtype, device, workers, stream
            As in `numbastats.quantile.ndtri`.

        Returns
        -------
        array or scalar
            The ends of the support at 0 and 1; NaN outside [0, 1], for NaN, and for probabilities below the table's `tail`.

        Raises
        ------
        ValueError
            For inputs that do not broadcast, or an unknown option.
        TypeError
            For inputs that are not real numbers of single or double precision.
        """
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        return self._from_probability("uniform", "u", u, False, options, 1.6)

    def isf(self, p, *, out=None, dtype=None, device=None, workers=None, stream=None):
        """Quantile at upper tail probability p; keeps its relative accuracy for small p.

        Parameters
        ----------
        p : array_like
        out, dtype, device, workers, stream
            As in `ppf`.

        Returns
        -------
        array or scalar

        Raises
        ------
        TypeError, ValueError
            As `ppf`.
        """
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        return self._from_probability("uniform", "p", p, True, options, 1.6)

    def ppf2(self, side, y, t, *, out=None, dtype=None, device=None, workers=None, stream=None):
        """Quantile from an accurate pair: what a base variable with known tails gives.

        Parameters
        ----------
        side : array_like
            > 0 for the right of the anchor.
        y, t : array_like
            Shares of that side's mass between the anchor and the result, and beyond it; y + t = 1.
        out, dtype, device, workers, stream
            As in `ppf`.

        Returns
        -------
        array or scalar

        Raises
        ------
        TypeError, ValueError
            As `ppf`.
        """
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        dtype = float_type((side, y, t), dtype, self._param_dtype)
        options["dtype"] = dtype
        return self._evaluate("share", ("side", "y", "t"), (side, y, t), self._shares, self._integers, options, 1.6)

    def transform(self, b, *, out=None, dtype=None, device=None, workers=None, stream=None):
        """Map values of the base law to this law, increasing: ``F^-1(G(b))``.

        Parameters
        ----------
        b : array_like
            Values of the law named by ``base=``.
        out, dtype, device, workers, stream
            As in `ppf`.

        Returns
        -------
        array or scalar
            NaN for values that the base law cannot take, and beyond the table.

        Raises
        ------
        TypeError, ValueError
            As `ppf`.
        """
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        if self._indirect:
            return self._through_probabilities(b, options)
        if self.base in ("uniform", "exponential"):
            return self._from_probability(self.base, "b", b, False, options, 1.6 if self.base == "uniform" else 2.2)
        options["dtype"] = float_type((b,), dtype, self._param_dtype)
        if isinstance(self.base, tuple):

            def header(d):
                return (*(d.type(rate) for rate in self.base[1]), *self._shares(d))

            return self._evaluate("sided", ("b",), (b,), header, self._integers, options, 1.8)
        octaves, limit, far, _ = construction.base_shape(self.base)

        def integers(degree):
            bias = 127 if degree == 3 else 1023
            return np.int64(bias + int(math.log2(limit)) - 1), np.int64(octaves << NEAR_BITS), np.int64(far)

        return self._evaluate("signed", ("b",), (b,), self._signed_header, integers, options, 2.0)

    def _through_probabilities(self, b, options):
        """`transform` by way of the smaller tail probability of the base, in double precision."""
        dtype, out = float_type((b,), options["dtype"], self._param_dtype), options["out"]
        where = {"device": options["device"], "workers": options["workers"], "dtype": np.dtype(np.float64)}
        if _device_kind(b):
            where["device"] = "cpu"
        lower, upper = _tails(self.base, real64(to_host(b, "b")))
        left, right = self.ppf(lower, **where), self.isf(upper, **where)
        result = np.where(np.reshape(lower <= upper, np.shape(lower)), left, right).astype(dtype)
        return deliver(in_kind_of(result[()], b), out, dtype)

    def _signed_header(self, dtype):
        """The parameters of `signed` kernels."""
        key = ("signed", dtype)
        if key not in self._heads:
            octaves, limit, far, per = construction.base_shape(self.base)
            side = (octaves << NEAR_BITS) + far + 4
            columns = np.empty((6, len(self._sets)))
            for i, one in enumerate(self._sets):
                anchor = one.base.anchor if one.base is not None else 0.0
                high, rest = _two_parts(anchor, dtype, float(getattr(self.base, "_shift", 0.0)))
                columns[:, i] = high, rest, limit, per, 2 * i * side, (2 * i + 1) * side
            self._heads[key] = self._selected(columns, dtype)
        return self._heads[key]

    @names_ours
    def rvs(self, size=None, rng=None, *, out=None, dtype=None, device=None, workers=None):
        """Random variates by inversion of 52-bit uniforms, or of the points of a quasi-Monte Carlo engine.

        Parameters
        ----------
        size : int or tuple of int, optional
            Number of points for an engine.
        rng : None, int, SeedSequence, Generator or scipy.stats.qmc.QMCEngine
            An engine of dimension d gives a result of shape (size, d); its points at 0 are moved to 2^-54, those at 1
            to 1 - 2^-53.
        out, dtype, device, workers
            As in `numbastats.random.uniform`.

        Returns
        -------
        array or scalar

        Raises
        ------
        TypeError, ValueError
            For parameters that do not broadcast with `size`, and a bad `size`, `rng`, `dtype`, `out` or `device`.
        """
        if hasattr(rng, "fast_forward"):
            if np.ndim(size):
                raise ValueError(f"size={size!r}: an engine takes a number of points, and gives their shape (size, d)")
            u = np.clip(rng.random(1 if size is None else size), 2.0**-54, 1.0 - 2.0**-53)
            if dtype is None or check_dtype(dtype) == np.float64:
                return self.ppf(u, out=out, dtype=np.float64, device=device, workers=workers)
            return in_float32(self.ppf(u, dtype=np.float64, device=device, workers=workers), out, None)  # u itself would become 1
        shape = size_to_shape(size, [self.shape], out)
        device, workers = self.device if device is None else device, self.workers if workers is None else workers
        u = random.uniform(0.0, 1.0, shape, rng=rng, dtype=dtype, out=out, device=device, workers=workers)
        result = self.ppf(u, out=u, dtype=_given_dtype(u), device=device, workers=workers)
        return result if out is not None or size is not None or shape else result[()]

    def pdf(self, x):
        """Normalised density at x, as the given one divided by its integral (on the host).

        Parameters
        ----------
        x : array_like

        Returns
        -------
        array or scalar

        Raises
        ------
        ValueError
            For a table from a file, which has no density.
        """
        if isinstance(self._sets[0].masses, archive.Loaded):
            raise ValueError("this table was loaded from a file and has no density")
        dtype, given = float_type((x,), None, self._param_dtype), x
        x, shift = np.broadcast_arrays(real64(to_host(x, "x")), self._shift)
        index = np.broadcast_to(np.arange(len(self._sets)).reshape(self.shape), x.shape)
        out = np.full(x.shape, math.nan)
        for i, one in enumerate(self._sets):
            use = index == i
            if one.masses is not None and use.any():
                inside = (x[use] - shift[use] >= one.masses.support[0]) & (x[use] - shift[use] <= one.masses.support[1])
                side = next(s for s in one.masses.sides if s is not None)
                with np.errstate(all="ignore"):
                    density, place = side.density.density, x[use] - shift[use]
                    if isinstance(density, construction.FromLog):
                        values = density.over(place, one.masses.norm)
                    else:
                        values = np.asarray(density(place)) / one.masses.norm
                out[use] = np.where(inside, values, np.where(np.isnan(x[use]), math.nan, 0.0))
        return in_kind_of(out.astype(dtype, copy=False)[()], given)

    # -- files and other libraries -------------------------------------------------------------------------------

    def save(self, path):
        """Write the tables to a file of NumPy's .npz format.

        Parameters
        ----------
        path : str or path
            The name as it stands, no suffix is added.
        """
        archive.save(self, path)

    @classmethod
    def load(cls, path):
        """Read a table written by `save`; it evaluates, and has no density.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        Recycler

        Raises
        ------
        ValueError
            For a file that is no table, or one of another version of the library.
        OSError
            For a file that cannot be read.
        """
        return archive.load(path, Recycler)

    @classmethod
    def from_scipy(cls, frozen, **options):
        """Table of a frozen continuous distribution of `scipy.stats`.

        Parameters
        ----------
        frozen : scipy.stats frozen distribution
            With `pdf`, `cdf`, `support` and `ppf`; the cdf checks the masses.
        **options
            As for `Recycler`; `anchor` and `scale` are chosen when left out: a finite end of the support, the lower one
            first, else the median. A law far from 0 is tabulated in distances from its anchor.

        Returns
        -------
        Recycler

        Examples
        --------
        >>> import scipy.stats, numbastats as ns
        >>> g = ns.quantile.Recycler.from_scipy(scipy.stats.gamma(2.5))
        >>> float(g.ppf(1e-10).round(12))
        0.000161677857
        """
        for method in ("pdf", "cdf", "ppf", "support"):
            if not callable(getattr(frozen, method, None)):
                raise TypeError(
                    f"{frozen!r} has no method {method}; pass a frozen continuous distribution, such as scipy.stats.gamma(2.5)"
                )
        if np.shape(frozen.ppf(0.5)):
            raise ValueError(
                f"the distribution has parameters of shape {np.shape(frozen.ppf(0.5))}; make one table per set, or a batch with "
                "Recycler(pdf, params=...)"
            )
        if not all(math.isfinite(q) for q in frozen.ppf([0.25, 0.75])):
            raise ValueError(
                f"the quartiles of {frozen!r} are {frozen.ppf([0.25, 0.75])}; its parameters are out of their domain"
            )
        law, loc, unit = _standardised(frozen)
        lower, upper = (float(e) for e in law.support())
        quarter, median, three = (float(q) for q in law.ppf([0.25, 0.5, 0.75]))
        spread = three - quarter
        ends = [e for e in (lower, upper) if abs(e - median) < _FAR_END * spread]
        if "anchor" in options:
            place = options.pop("anchor")
            anchor = (place - loc) / unit
        else:
            anchor = ends[0] if ends else 0.0 if abs(median) < 1e-12 * spread else median
            place = loc + unit * anchor
        # in distances from the anchor: a law far from 0 in units of its scale has no digits to spare
        inside = [unit * (e - anchor) for e in (lower, upper)]
        options.setdefault("scale", unit * spread)
        if "breaks" in options:
            options["breaks"] = np.asarray(options["breaks"], np.float64) - place
        density = _Distances(law, anchor, unit)
        table = cls(density, cdf=density.cdf, support=inside, **options)
        return table._moved(place)

    def _moved(self, shift):
        """The table with all its values raised by a number, which is done to it in place."""
        for rows in self._tables.values():
            rows[:, 0] += shift
        self._shift = np.asarray(shift, np.float64)
        return self


def _tails(base, b):
    """Lower and upper tail probabilities of a base distribution at b; NaN where it has no values."""
    if isinstance(base, str):
        from scipy.special import ndtr

        return ndtr(b), ndtr(-b)
    if hasattr(base, "cdf"):
        return np.asarray(base.cdf(b)), np.asarray(base.sf(b))
    masses, shift = base._sets[0].masses, float(base._shift)
    x = np.atleast_1d(b - shift)
    tails = np.full((2, *x.shape), math.nan)
    for right in (False, True):
        p, other = (masses.p[i] for i in ((1, 0) if right else (0, 1)))
        use = (x > masses.anchor) if right else (x <= masses.anchor)
        use &= (x >= masses.support[0]) & (x <= masses.support[1])
        if not use.any():
            continue
        inside = np.clip(x[use], -1e305, 1e305)
        if p > 0.0:
            inner, outer = (p * masses.share(right, kind, inside)[0] for kind in (True, False))
        else:  # the end, where the anchor is
            inner = outer = np.zeros(inside.shape)
        outer = np.where(np.isinf(x[use]), 0.0, outer)
        tails[int(right), use], tails[int(not right), use] = outer, other + inner
    lower, upper = tails.reshape(2, *np.shape(b))
    return lower, upper


class _Columns:
    """Maps to several distributions along the last axis, where they are no tables of one kind."""

    def __init__(self, tables):
        self.tables = tables

    def transform(self, b, *, out=None, dtype=None, **options):
        """Column by column, on the host if the samples are not on a device."""
        dtype = float_type((b,), dtype)
        host = np.asarray(to_host(b, "samples"))
        if _device_kind(b):
            options["device"] = "cpu"
        columns = [table.transform(host[..., i], dtype=dtype, **options) for i, table in enumerate(self.tables)]
        return deliver(in_kind_of(np.stack(columns, axis=-1), b), out, dtype)


class _At:
    """A function of x with its parameters fixed, which pickles where the function does."""

    def __init__(self, function, values):
        self.function, self.values = function, values

    def __call__(self, x):
        return self.function(x, *self.values)


def _describe(pdf, logpdf, cdf, sf, options, *values):
    """Density and options of one set of parameters."""
    where = options["anchor"], options["support"], options["scale"]
    if pdf is not None:
        return pdf if isinstance(pdf, _Distances) else _At(pdf, values), options
    if sf is not None:
        return Slope(_At(cdf, values), _At(sf, values), *where), options
    return construction.FromLog(_At(logpdf, values), *where), options


class _Distances:
    """Density of a law of SciPy in distances from its anchor."""

    def __init__(self, law, anchor, unit):
        self.law, self.anchor, self.unit = law, anchor, unit
        self.offset = abs(anchor) * unit

    def __call__(self, y):
        return self.law.pdf(self.anchor + y / self.unit) / self.unit

    def cdf(self, y):
        """Distribution function."""
        return self.law.cdf(self.anchor + y / self.unit)


def _standardised(frozen):
    """The law of location 0 and scale 1 that a frozen law of SciPy is made from, its location and its scale."""
    parse = getattr(getattr(frozen, "dist", None), "_parse_args", None)
    if parse is None:
        return frozen, 0.0, 1.0
    shapes, loc, scale = parse(*frozen.args, **frozen.kwds)
    return frozen.dist(*shapes), float(loc), float(scale)


def _given_dtype(value):
    """The dtype by which an argument decides that of the result; None for Python numbers, which do not."""
    return _numpy_dtype(value if _device_kind(value) or _is_torch(value) else as_host(value))


def float_type(values, dtype, params=None):
    """The float type of a call: that asked for, else NumPy's result type of the data and of parameters with dtype `params`.

    Headers, which are float64, must not widen float32 data.
    """
    if dtype is not None:
        return check_dtype(dtype)
    return result_dtype(["an argument"] * (len(values) + 1), [*map(_given_dtype, values), params])
