"""Quantile tables of a distribution: built from its density, their error measured, evaluated on the CPU and on CUDA."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

import numbastats.random as random
from numbastats._core.broadcast import size_to_shape
from numbastats._core.checks import FLOAT64, check_dtype, doubt_per_cent
from numbastats._core.errors import ConvergenceWarning, names_ours, warn
from numbastats._core.inputs import any_lazy, apply, in_float32
from numbastats._core.options import DEFAULTS, ArrayOptions, Device, hands_on
from numbastats._core.parallel import is_executor
from numbastats.quantile import archive, arguments, engine
from numbastats.quantile.arguments import float_type, given_dtype
from numbastats.quantile.construction import TARGET, Loaded
from numbastats.quantile.quantile_table import TableSet

__all__ = ["Certificate", "QuantileTable"]

_KEPT = 16  # maps to other bases, and stacks of columns, that a table keeps


@dataclasses.dataclass(frozen=True, eq=False)
class Certificate:
    """Accuracy of a table, measured when it was built; arrays have the shape of the parameters.

    The errors are interpolation errors: the table is compared with the integral of the density that the build found. They do not
    show what that integral misses. For this the integral is compared with 1, and with an independent cdf where one is given; see
    `normalised` and `cdf` of `QuantileTable`. Nor do they show by how much a density is off: by rounding in a tail, as 1 + cos(x)
    next to pi, or by a function it calls. Beyond |x| = 1e100, errors of some 1e-12 were found that no certificate shows.

    Attributes
    ----------
    ok : bool or array of bool
        Whether there is a table; False where parameters are out of their domain or the density was refused.
    max_rel_err : float or array
        Largest relative error of x found at the ends of every row and at two random places of it, by the masses of the panels,
        and 2e-15 for roundings: max of |x_table - x| / max(|x|, u/(5 f(x))); the second term is where x is ill-conditioned in u.
        For a base variable b it is (b/20) dx/db. At least the share of the mass that the rounding of the density leaves open.
    tail_mass : float or array
        Largest share of a side's mass that was extrapolated, not integrated.
    calls : int or array
        Number of evaluations of the density.
    lower, upper : float or array
        Range: `ppf` gives NaN for probabilities other than 0 below `lower`, `isf` below `upper`.
    direct : bool
        Whether `transform` has a table of its own for values of the base distribution. False where it goes through their
        probabilities in the smaller tail: about 1e-13 relative, but next to the anchor only as exact as the probability.
    """

    ok: bool | np.ndarray
    max_rel_err: float | np.ndarray
    tail_mass: float | np.ndarray
    calls: int | np.ndarray
    lower: float | np.ndarray = math.nan
    upper: float | np.ndarray = math.nan
    direct: bool = True

    def __eq__(self, other):
        if not isinstance(other, Certificate):
            return NotImplemented
        pairs = ((getattr(c, f.name) for c in (self, other)) for f in dataclasses.fields(self))
        return all(np.array_equal(*pair, equal_nan=True) for pair in map(tuple, pairs))

    __hash__ = None  # type: ignore[assignment]


@names_ours
class QuantileTable:
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
        A point inside the support, or its end, where the table resolves x - anchor to full relative accuracy: 0 for distributions
        around 0, the end of a one-sided distribution, the place of a pole or a kink of the density.
    support : pair of float
        Where the density is positive.
    scale : float
        A length on which the density varies, within some orders of magnitude.
    base : {"uniform", "normal", "gaussian", "exponential"}, ("two-sided exponential", (right, left)) or QuantileTable
        Distribution of the values that `transform` maps: probabilities, standard normal or standard exponential variates, two
        exponentials back to back with their rates, or those of another table. Two exponentials have the target's mass on
        either side of 0, which goes to the anchor (the paper's (85)). Give a Laplace distribution with masses of its own
        as a table.
    tail : float, optional
        Smallest tail probability (as a share of its side) that the table holds, 2^-66 = 1.4e-20 by default. Smaller
        probabilities, other than 0, give NaN; also those next to the anchor where that is an end of the distribution.
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
        Where the methods compute by default.
    workers : int or executor, optional
        Threads to build batches with, and default of the methods. Processes need a density that pickles: those of
        `numbastats.distributions`, no lambda. An executor is not pickled with the table.

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
    distributions, 3.4 for maps from a base distribution. Where its rows are too wide for that (error above 2^-23: steep maps,
    from light to heavy tails) or cut into parts, the float64 table is evaluated and the result rounded once. Its probabilities
    end at 2^-126.

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
    >>> sech = ns.quantile.QuantileTable(lambda x: 1 / np.cosh(x))
    >>> float(sech.ppf(0.9).round(12)), bool(sech.certificate.max_rel_err < 2e-14)
    (1.842730034701, True)
    """

    def __init__(  # noqa: PLR0913
        self,
        pdf: Callable | None = None,
        *,
        logpdf: Callable | None = None,
        cdf: Callable | None = None,
        sf: Callable | None = None,
        params: tuple[ArrayLike, ...] | None = None,
        anchor: float = 0.0,
        support: tuple[float, float] = (-math.inf, math.inf),
        scale: float = 1.0,
        base: Any = "uniform",
        tail: float | None = None,
        singular: float | None = None,
        breaks: Sequence[float] = (),
        normalised: bool | None = None,
        accuracy: Literal["double", "full"] = "double",
        degree: Literal[5, 7] = 7,
        device: Device = None,
        workers: Any = None,
    ):
        params = () if params is None else params
        if not isinstance(params, tuple):
            raise TypeError(f"params is a {type(params).__name__}; pass a tuple of arrays, one per parameter")
        density = arguments.check_density(pdf, logpdf, cdf, sf, anchor, support, scale, singular, breaks, normalised)
        order = arguments.check_order(base, accuracy, degree, tail)
        self._build(density, arguments.check_parameters(params), order, device, workers)

    def __repr__(self) -> str:
        error = np.max(self.certificate.max_rel_err) if np.size(self.certificate.max_rel_err) else math.nan
        return f"QuantileTable(base={self.base!r}): tables of shape {self.shape}, largest relative error {error:.1e}"

    def _build(self, density, parameters, order, device, workers, shift=0.0, quiet=False):
        start = time.perf_counter()
        self.device, self.workers = device, workers
        self.params = parameters.arrays
        self._hold(engine.build(density, parameters, order, workers, shift))
        self._certify(quiet)
        self.p_minus = self._table.column(lambda one: one.p[0] if one.masses else math.nan)
        self.norm_const = self._table.column(lambda one: one.norm)
        self.setup_seconds = time.perf_counter() - start

    def _hold(self, table: TableSet):
        self._table, self.base, self.degree, self.shape = table, table.base, table.degree, table.shape
        self._maps: dict = {}  # made from this table, by what they are made for

    def _certify(self, quiet=False):
        found, worst = engine.quality(self._table)
        self.certificate = Certificate(**found)
        if worst > TARGET and not quiet:
            warn(
                f"a table has relative error {worst:.1e}, above the target {TARGET:.0e}; certificate.max_rel_err says which. "
                "A pole or kink of the density belongs at the anchor, others in breaks=",
                ConvergenceWarning,
            )

    def _with(self, table: TableSet):
        """Another table as an object that evaluates where this one does."""
        other = QuantileTable.__new__(QuantileTable)
        other.device, other.workers, other.params = self.device, self.workers, ()
        other._hold(table)
        return other

    def _select(self, index):
        """The same tables with parameters of another shape: set `index[...]` of them."""
        return self._with(self._table.select(index))

    def __copy__(self):
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self):
        """For pickling: without an executor, and maps, which are kept by the `id` of their base."""
        return self.__dict__ | {"workers": None if is_executor(self.workers) else self.workers, "_maps": {}}

    @property
    def nbytes(self) -> int:
        """Bytes of the float64 tables."""
        return self._table.nbytes

    @property
    def table(self) -> np.ndarray:
        """Rows of the float64 table, for `numbastats.scalar.table_eval1`."""
        return self._table.uniform.double

    @property
    def header(self) -> np.ndarray:
        """The eight numbers that go with `table`; for a batch, along the last axis of an array of the parameters' shape."""
        table = self._table
        numbers = (*table.header(np.dtype(np.float64), False), table.length(self.degree), table.bits)
        return np.stack(np.broadcast_arrays(*numbers), axis=-1).astype(np.float64)

    # -- other tables made from this one --------------------------------------------------------------------------

    def _rebased(self, base):
        """The same distribution as a map from another base, which is kept."""
        if base == self.base:
            return self
        key = id(base) if isinstance(base, QuantileTable) else base
        other = self._kept(key)
        if other is None:
            other = self._with(engine.rebased(self._table, base))
            if other._table.sets is self._table.sets:  # shares of mass go with any such base
                other.certificate = self.certificate
            else:
                other._certify()
            self._keep(key, other, base)
        return other

    def _kept(self, key):
        """What was made from this table before, or None."""
        return self._maps.get(key, (None, None))[0]

    def _keep(self, key, made, named):
        """Remember what was made from this table; `named` is kept as well, so that the ids in the key stay taken."""
        while len(self._maps) >= _KEPT:
            self._maps.pop(next(iter(self._maps)), None)
        self._maps[key] = made, named

    def _columns(self, targets, base):
        """Distributions, of which this is the first, as one table of maps from a base along the last axis."""
        key = (id(base) if isinstance(base, QuantileTable) else base, *map(id, targets[1:]))
        made = self._kept(key)
        if made is None:
            maps = [t._rebased(base) for t in targets]
            if any(m._table.split or m._table.indirect for m in maps):
                return engine.Columns(maps)
            made = self._with(TableSet.stacked([m._table for m in maps]))
            self._keep(key, made, (base, *targets[1:]))
        return made

    # -- evaluation ---------------------------------------------------------------------------------------------

    def _options(self, values, given):
        """Options of a call for `engine.evaluate`."""
        options = DEFAULTS | given
        own = {name: getattr(self, name) for name in ("device", "workers") if options[name] is None}
        return options | own | {"dtype": float_type(values, options["dtype"], self._table.param_dtype)}

    def _lookup(self, upper):
        """The kernel that looks up quantiles of one distribution in double precision; its arguments but the first and last."""
        return engine.lookup(self._table, "uniform", self._table.header(FLOAT64, upper), FLOAT64)

    def _blocks(self, method, u, given):
        """A quantile of a dask array."""
        if self.shape:
            raise TypeError(
                f"the values are a dask array, and the table has parameters of shape {self.shape}; pass x.compute(), or a "
                "table of one set of parameters"
            )
        return apply(getattr(self, method), ("u",), (u,), DEFAULTS | given)

    def ppf(
        self,
        u: ArrayLike,
        *,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
    ):
        """Quantile at lower tail probability u.

        Parameters
        ----------
        u : array_like
            Probabilities, broadcast against the table's parameters.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`.

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
        doubt_per_cent(u)
        if any_lazy((u,)):
            return self._blocks("ppf", u, options)
        options = self._options((u,), options)
        return engine.evaluate(self._table, "uniform", ("u",), (u,), lambda d: self._table.header(d, False), options, 1.6)

    @hands_on(ppf)
    def isf(self, p: ArrayLike, **options: Unpack[ArrayOptions]):
        """Quantile at upper tail probability p; keeps its relative accuracy for small p.

        Parameters
        ----------
        p : array_like
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`.

        Returns
        -------
        array or scalar

        Raises
        ------
        TypeError, ValueError
            As `ppf`.
        """
        doubt_per_cent(p)
        if any_lazy((p,)):
            return self._blocks("isf", p, options)
        given = self._options((p,), options)
        return engine.evaluate(self._table, "uniform", ("p",), (p,), lambda d: self._table.header(d, True), given, 1.6)

    @hands_on(ppf)
    def ppf2(self, side: ArrayLike, y: ArrayLike, t: ArrayLike, **options: Unpack[ArrayOptions]):
        """Quantile from an accurate pair: what a base variable with known tails gives.

        Parameters
        ----------
        side : array_like
            > 0 for the right of the anchor.
        y, t : array_like
            Shares of that side's mass between the anchor and the result, and beyond it; y + t = 1.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`.

        Returns
        -------
        array or scalar

        Raises
        ------
        TypeError, ValueError
            As `ppf`.
        """
        given = self._options((side, y, t), options)
        return engine.evaluate(self._table, "share", ("side", "y", "t"), (side, y, t), self._table.shares, given, 1.6)

    @hands_on(ppf)
    def transform(self, b: ArrayLike, **options: Unpack[ArrayOptions]):
        """Map values of the base distribution to this distribution, increasing: ``F^-1(G(b))``.

        Parameters
        ----------
        b : array_like
            Values of the distribution named by ``base=``.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`.

        Returns
        -------
        array or scalar
            NaN for values that the base distribution cannot take, and beyond the table.

        Raises
        ------
        TypeError, ValueError
            As `ppf`.
        """
        if any_lazy((b,)):
            return self._blocks("transform", b, options)
        given = self._options((b,), options)
        if self._table.indirect:
            return engine.through_probabilities(self._table, b, given)
        return engine.map_base(self._table, b, given)

    @names_ours
    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        rng: Any = None,
        *,
        out: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
    ):
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
            if isinstance(size, tuple) or np.ndim(size or 0):
                raise ValueError(f"size={size!r}: an engine takes a number of points, and gives their shape (size, d)")
            u = np.clip(rng.random(1 if size is None else size), 2.0**-54, 1.0 - 2.0**-53)
            if dtype is None or check_dtype(dtype) == np.float64:
                return self.ppf(u, out=out, dtype=np.float64, device=device, workers=workers)
            return in_float32(self.ppf(u, dtype=np.float64, device=device, workers=workers), out, None)  # u itself would become 1
        shape = size_to_shape(size, [self.shape], out)
        device, workers = self.device if device is None else device, self.workers if workers is None else workers
        u = random.uniform(0.0, 1.0, shape, rng=rng, dtype=dtype, out=out, device=device, workers=workers)
        result = self.ppf(u, out=u, dtype=given_dtype(u), device=device, workers=workers)
        return result if out is not None or size is not None or shape else result[()]

    def pdf(self, x: ArrayLike):
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
        if isinstance(self._table.sets[0].masses, Loaded):
            raise ValueError("this table was loaded from a file and has no density")
        return engine.density_at(self._table, x)

    # -- files and other libraries -------------------------------------------------------------------------------

    def save(self, path) -> None:
        """Write the tables to a file of NumPy's .npz format.

        Parameters
        ----------
        path : str or path
            The name as it stands, no suffix is added.
        """
        archive.save(path, self._table, dataclasses.asdict(self.certificate), self.norm_const, self.setup_seconds)

    @classmethod
    def load(cls, path) -> QuantileTable:
        """Read a table written by `save`; it evaluates, and has no density.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        QuantileTable

        Raises
        ------
        ValueError
            For a file that is no table, or one of another version of the library.
        OSError
            For a file that cannot be read.
        """
        loaded = archive.load(path)
        self = QuantileTable.__new__(QuantileTable)
        self.device, self.workers, self.params = None, None, ()
        self._hold(loaded.table)
        self.certificate = Certificate(**loaded.certificate)
        self.norm_const, self.setup_seconds = loaded.norm_const, loaded.setup_seconds
        self.p_minus = loaded.table.column(lambda one: one.masses.p[0])
        return self

    @classmethod
    def from_scipy(cls, frozen, **options) -> QuantileTable:
        """Table of a frozen continuous distribution of `scipy.stats`.

        Parameters
        ----------
        frozen : scipy.stats frozen distribution
            With `pdf`, `cdf`, `support` and `ppf`; the cdf checks the masses.
        **options
            As for `QuantileTable`; `anchor` and `scale` are chosen when left out: a finite end of the support, the lower one
            first, else the median. A distribution far from 0 is tabulated in distances from its anchor.

        Returns
        -------
        QuantileTable

        Examples
        --------
        >>> import scipy.stats, numbastats as ns
        >>> g = ns.quantile.QuantileTable.from_scipy(scipy.stats.gamma(2.5))
        >>> float(g.ppf(1e-10).round(12))
        0.000161677857
        """
        density, options, place = arguments.check_frozen(frozen, options)
        table = cls(density, **options)
        table._hold(table._table.moved(place))
        return table
