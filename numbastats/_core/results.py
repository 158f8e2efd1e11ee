"""Results that people read: tables of named columns, which are dicts, and reprs of fits."""

from __future__ import annotations

import difflib
import html
import importlib
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import checked_level
from numbastats._core.errors import ConvergenceWarning, names_ours, warn

__all__ = [
    "Around",
    "Batch",
    "BatchOfFits",
    "Intervals",
    "Library",
    "OptionalIntervals",
    "Result",
    "Table",
    "UnknownKey",
    "dataset",
    "estimates",
    "half_width",
    "mostly",
    "percent",
    "warn_of_batch",
    "with_intervals",
]

Library = Literal["pandas", "polars", "dict"]
SHOWN = 30  # rows of a printed table


def percent(level: float) -> str:
    """A level as it stands in headings: 0.95 is "95 %"."""
    return f"{100.0 * level:.10g} %"


def half_width(level: float) -> float:
    """Half the length of the central interval of a standard normal variable, which holds it with the probability `level`."""
    from scipy.special import ndtri

    return -float(ndtri(0.5 * (1.0 - level)))


def mostly(failed: NDArray[np.bool_]) -> bool:
    """Whether more than half of several data sets have no fit."""
    return failed.size > 1 and 2 * int(failed.sum()) > failed.size


def warn_of_batch(failed: NDArray[np.bool_], message: Callable[[int], str], data: Any) -> None:
    """Warn once where data sets mostly have no fit, or where rows hold next to nothing.

    `message` says of an index why that data set has none; `data` are as they were passed, rows of an array the data sets.
    """
    shape, rows = np.shape(data) if isinstance(data, np.ndarray) else (), ""
    if len(shape) == 2 and 0 < shape[1] <= 3 and shape[0] >= 10 * shape[1]:
        each = f"{shape[1]} value{'s' * (shape[1] > 1)}"
        rows = f"rows of data, of shape {shape}, are the data sets, of {each} each; pass data.T if its columns are the data sets"
    if mostly(failed):
        first = int(np.argmax(failed))
        said = f"{failed.sum()} of {failed.size} fits ended without a maximum, the first, at index {first}: {message(first)}"
        warn(f"{said}. The {rows}" if rows else said, ConvergenceWarning)
    elif rows:
        warn(f"the {rows}")


class Table(dict[str, Any]):
    """Columns of equal length by name: a dict of arrays that prints as a table.

    The level of intervals, whose ends are the columns `ends`, is a column "level", which frames have. In print it stands in the
    headings of the ends instead. `library` is that of the frame which `to_frame` gives by default, None for pandas.
    """

    library: Library | None = None
    _headings: Mapping[str, str | None] = MappingProxyType({})  # of the columns that print under another, or not

    def __init__(self, columns: Any = (), *, level: float | None = None, ends: Sequence[str] = ("lower", "upper")) -> None:
        super().__init__(columns)
        if level is not None:
            if "level" in self:
                raise ValueError('the data have a column "level", where tables have the level of intervals: give it another name')
            self["level"] = np.full(len(self[ends[0]]), level)
            self._headings = {name: f"{name} {percent(level)}" for name in ends} | {"level": None}

    def _shown(self) -> dict[str, Any]:
        """Columns by their headings."""
        return {heading: self[name] for name in self if (heading := self._headings.get(name, name)) is not None}

    def _cells(self) -> list[list[str]]:
        """The heading and the rows as text; the middle of a long table is left out."""
        columns = {name: np.asarray(column) for name, column in self._shown().items()}
        n = len(next(iter(columns.values()), ()))
        rows = list(range(n)) if n <= SHOWN else [*range(SHOWN // 2), None, *range(n - SHOWN // 2, n)]
        return [list(columns), *(["..." if i is None else _text(c[i]) for c in columns.values()] for i in rows)]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        left = [np.asarray(column).dtype.kind in "UO" for column in self._shown().values()]
        lines = (
            "  ".join(c.ljust(w) if text else c.rjust(w) for c, w, text in zip(row, widths, left, strict=True)).rstrip()
            for row in cells
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        row = lambda cells, tag: "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"  # noqa: E731
        return f"<table>{row(head, 'th')}{''.join(row(r, 'td') for r in rows)}</table>"

    def to_frame(self, library: Library | None = None) -> Any:
        """The table as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars", "dict"}, optional
            By default that of the frame of the data; else pandas, where it is installed, and else a dict of arrays.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of numpy.ndarray
            Copies: changes do not reach the result.

        Raises
        ------
        ImportError
            If the library that was asked for is not installed.
        """
        columns, library = {name: np.array(column) for name, column in self.items()}, library or self.library
        if library == "dict":
            return columns
        if library == "polars":
            import polars

            return polars.DataFrame(columns)
        if library not in (None, "pandas"):
            raise ValueError(f"library={library!r} is not known; use 'pandas', 'polars' or 'dict'")
        try:
            import pandas
        except ImportError:
            if library == "pandas":
                raise
            return columns
        return pandas.DataFrame(columns)


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.6g}"
    return str(value)


def _ends(values, se, level):
    """Ends of the intervals of as many standard errors on either side as a level has; NaN without a standard error."""
    width = half_width(level) * np.where(np.isfinite(se), se, np.nan)
    return values - width, values + width


def estimates(names: Sequence[str], values: ArrayLike, se: ArrayLike, level: float) -> Table:
    """A row for each parameter: estimate, standard error, and the ends of its interval."""
    level, value, error = checked_level(level), np.asarray(values, dtype=np.float64), np.asarray(se, dtype=np.float64)
    lower, upper = _ends(value, error, level)
    columns = {"parameter": np.array(names), "estimate": value, "se": error, "lower": lower, "upper": upper}
    return Table(columns, level=level)


def with_intervals(columns: dict[str, Any], known: Mapping[str, tuple[Any, Any]], level: float | None) -> Table:
    """A table that has columns for each parameter; with a level also "lower_" and "upper_" of those that are known.

    `known` has estimates and standard errors by name.
    """
    if level is None:
        return Table(columns)
    if not known:
        raise ValueError("level= asks for intervals, but there are no standard errors: fit with se=True, and see the status")
    level, ends = checked_level(level), {}
    for name, (values, se) in known.items():
        ends[f"lower_{name}"], ends[f"upper_{name}"] = _ends(values, se, level)
    return Table(columns | ends, level=level, ends=list(ends))


def dataset(values, count, keys, others, **attributes):
    """Results of many data sets as a dataset of xarray, which must be installed.

    Parameters
    ----------
    values : dict of arrays of shape (count, ...)
        The variables by name; further axes are those of `others`.
    keys : Keys or None
        Of the data sets: with the name of one column or dimension it names the first dimension, else "data_set". Of several there
        is an index with these levels, so that ``.unstack()`` gives each its dimension.
    others : dict of arrays
        Names and coordinates of the further dimensions.
    """
    import xarray

    columns = {"data_set": np.arange(count)} if keys is None else keys.columns("data_set")
    first = next(iter(columns)) if len(columns) == 1 else "data_set"
    dims = (first, *others)
    variables = {name: (dims[: np.ndim(value)], np.asarray(value)) for name, value in values.items()}
    made = xarray.Dataset(variables, {name: (first, column) for name, column in columns.items()} | dict(others), attributes)
    return made if len(columns) == 1 else made.set_index({first: list(columns)})


class Result:
    """A fit that prints as a headline, with lines for what failed, and a table, in a notebook as HTML."""

    def __init_subclass__(cls):
        super().__init_subclass__()
        names_ours(cls)

    def _headline(self) -> str:
        raise NotImplementedError

    def summary(self) -> Table:
        """The result as a table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self._headline()}\n{self.summary()!r}"

    def _repr_html_(self) -> str:
        head = html.escape(f"{type(self).__name__}: {self._headline()}").replace("\n", "<br>")
        return f"<p>{head}</p>{self.summary()._repr_html_()}"

    @names_ours
    def to_frame(self, library: Library | None = None) -> Any:
        """The table of `summary` as a data frame; `library` as in `Table.to_frame`."""
        return self.summary().to_frame(library)


class Intervals(Result):
    """A fit whose table has intervals."""

    def summary(self, level: float = 0.95) -> Table:
        """The result as a table, with intervals of this level."""
        raise NotImplementedError

    @names_ours
    def to_frame(self, library: Library | None = None, *, level: float = 0.95) -> Any:
        """The table of `summary` as a data frame; `library` as in `Table.to_frame`, `level` as in `summary`."""
        return self.summary(level).to_frame(library)


class OptionalIntervals(Result):
    """A fit, or many, whose table has intervals where a level is asked for."""

    def summary(self, level: float | None = None) -> Table:
        """The result as a table, with intervals of this level."""
        raise NotImplementedError

    @names_ours
    def to_frame(self, library: Library | None = None, *, level: float | None = None) -> Any:
        """The table of `summary` as a data frame; `library` as in `Table.to_frame`, `level` as in `summary`."""
        return self.summary(level).to_frame(library)


class UnknownKey(KeyError, TypeError, ValueError):
    """A batch has no item of this key; of the kinds, too, that such calls raised before."""

    __str__ = Exception.__str__  # of a KeyError it is in quotes


class Around(NamedTuple):
    """Some fits of a batch with what there is around their parameters, for derivatives by these."""

    places: NDArray[np.int64]  # (n,) in the flattened batch
    make: Callable[..., Any]  # distributions from parameters by name
    allowed: Callable[..., Any]  # which parameters by name are in the domain
    positive: Sequence[str]  # names of positive parameters
    params: dict[str, NDArray[np.float64]]  # (n,)
    se: dict[str, NDArray[np.float64]]  # 0 for fixed parameters
    covariance: NDArray[np.float64]  # (n, p, p), NaN of fits without standard errors
    together: bool = True  # whether `make` takes arrays

    def some(self, use):
        """Some of these fits."""
        params, se = ({name: v[use] for name, v in of.items()} for of in (self.params, self.se))
        return self._replace(places=self.places[use], params=params, se=se, covariance=self.covariance[use])


class Batch(Result):
    """Results of many data sets: what those of all sub-packages have in common.

    A class has `keys`, a tuple of `numbastats._core.groups.Keys` or None, and says how many items there are (`__len__`), what
    the one at a position is (`_item`), and what the names in ``batch[name]`` are (`_named`, `_names`). Items are counted in the
    order of the flattened batch.
    """

    keys: Any

    def __len__(self) -> int:
        raise NotImplementedError

    def _item(self, i: int) -> Any:
        """The result at a position from 0 on."""
        raise NotImplementedError

    @property
    def _names(self) -> tuple[str, ...]:
        """Names that ``batch[name]`` takes for arrays."""
        return ()

    def _named(self, name: str) -> Any:
        """The array of a name."""
        raise NotImplementedError

    @property
    def _shape(self) -> tuple[int, ...]:
        return (len(self),)

    def __iter__(self) -> Iterator[Any]:
        """The results one after another."""
        return map(self._item, range(len(self)))

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Pairs (key, result); without keys the index is in its place.

        Returns
        -------
        iterator
        """
        places = range(len(self)) if len(self._shape) == 1 else np.ndindex(self._shape)
        return zip(places if self.keys is None else self.keys, self, strict=True)

    def at(self, i: int) -> Any:
        """The result at a position, whatever the keys are.

        Parameters
        ----------
        i : int
            In the order of the flattened batch, negative from the end.

        Returns
        -------
        object
            As ``one``.

        Raises
        ------
        IndexError, TypeError
            For a position that is not there, and what is no integer.
        """
        return self._item(self._index(i, len(self)))

    def one(self, which: Any) -> Any:
        """The result of one data set, by its key or else its index.

        Parameters
        ----------
        which : object
            A key; where none is equal an integer, negative from the end, of a batch of several dimensions a tuple of integers.

        Returns
        -------
        object
            The fit of one data set.

        Raises
        ------
        KeyError, IndexError
            Where there is no such item; the message names keys nearly alike.
        """
        return self._item(self._place(which))

    def __getitem__(self, which: Any) -> Any:
        """An array by the name of a parameter; else one result, by its index or by a key that is no number."""
        if isinstance(which, str) and which in self._names:
            return self._named(which)
        if hasattr(which, "__index__"):
            return self._item(self._place(which, by_key=False))
        return self._item(self._place(which))

    def _index(self, i, size):
        """A position from 0 on."""
        try:
            return range(size)[operator.index(i)]
        except TypeError:
            raise self._unknown(i) from None
        except IndexError:
            place = None if self.keys is None else self.keys.place(i)
            hint = "" if place is None else f"; {i!r} is a key, whose result one({i!r}) gives"
            raise IndexError(f"there is no data set {i}: the batch holds {size}{hint}") from None

    def _place(self, which, by_key=True):
        """The position of a key or an index."""
        place = self.keys.place(which) if by_key and self.keys is not None else None
        if place is not None:
            return place
        shape, index = self._shape, which if isinstance(which, tuple) else (which,)
        if not all(hasattr(i, "__index__") for i in index):
            raise self._unknown(which)
        if len(index) != len(shape):
            raise IndexError(
                f"{which!r} is not the index of one series: the batch has shape {shape}; at(i) counts in the flattened order"
            )
        places = [self._index(i, n) for i, n in zip(index, shape, strict=True)]
        return int(np.ravel_multi_index(places, shape)) if shape else 0

    def _unknown(self, which):
        """The error for what is no key and no index."""
        keys = [*(self.keys or ())]
        words = [*self._names, *(key for key in keys if isinstance(key, str))] if isinstance(which, str) else []
        near = difflib.get_close_matches(which, words, 3, 0.6) if words else []
        names = f" and none of the names {', '.join(map(repr, self._names))}" if self._names and isinstance(which, str) else ""
        known = f", or one of the keys, {', '.join(map(repr, keys[:5]))}" + ", ..." * (len(keys) > 5) if keys else ""
        meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        return UnknownKey(f"{which!r} is not the index of one data set{names}; {meant}pass an integer{known}")

    def _table(self, columns, make=Table, default="key", rows=slice(None)):
        """A table that `make` makes of columns, before them those of the keys; `rows` has the data set of each row."""
        keys = {} if self.keys is None else self.keys.columns(default)
        made = make({name: column[rows] for name, column in keys.items()} | columns)
        made.library = None if self.keys is None else self.keys.library
        return made


class BatchOfFits(Batch, OptionalIntervals):
    """Fits of many data sets, of which numbers follow."""

    _no_errors = "the fit has no standard errors"  # as `estimate` says it, with what to do about it
    _estimates: ClassVar[Callable[..., Any] | None] = None  # set by the distributions, which the functions take

    def _parts(self) -> Iterator[Around]:
        """The fits that converged, for `estimate`."""
        raise NotImplementedError

    def estimate(
        self,
        function: Callable[..., Any] | str,
        method: Literal["delta", "bootstrap"] = "delta",
        *,
        level: float = 0.95,
        whole: bool = False,
        count: int = 999,
        rng: Any = None,
        workers: Any = None,
    ) -> Any:
        """A number that follows from each fit, with its error: quantiles, return levels, expected shortfalls, probabilities.

        Parameters
        ----------
        function : callable or str
            Of a distribution of `numbastats.distributions`, as ``lambda d: d.ppf(0.01)``; it returns one number. It is called
            with batches of distributions where it understands them, else with one at a time. Or the name of a parameter of which
            the table of the fits has standard errors; not of mixtures.
        method : {"delta", "bootstrap"}
            "delta": derivatives by the parameters and their covariance, of all fits together; of mixtures, whose covariance
            `fit_many` keeps with ``cov=True``, one fit after another. "bootstrap": of fits of distributions alone, one after
            another, as `DistributionFit.estimate`.
        level : float
            Of confidence.
        whole : bool
            Whether the function is one of the distributions of all values, the zeros of ``zeros=`` among them: ``fits.whole``.
        count, rng, workers : optional
            Of the bootstrap.

        Returns
        -------
        Estimates
            Arrays ``value``, ``se``, ``lower``, ``upper``. A fit that has none has NaN, and its reason in ``messages``.

        Raises
        ------
        TypeError, ValueError
            For arguments that are not understood.

        Examples
        --------
        >>> import numbastats as ns
        >>> x = ns.distributions.Gamma(2.0, scale=3.0).rvs((3, 200), rng=1)
        >>> fits = ns.distributions.fit_many(x, "gamma")
        >>> found = fits.estimate(lambda d: d.ppf(0.99))
        >>> found.value.shape, bool((found.lower < found.value).all()), found.messages.tolist()
        ((3,), True, ['ok', 'ok', 'ok'])
        """
        if self._estimates is None:
            importlib.import_module("numbastats.distributions")
        return self._estimates(  # type: ignore[misc]
            self, function, method, level=level, whole=whole, count=count, rng=rng, workers=workers
        )
