"""Results that people read: tables of named columns, which are dicts, and reprs of fits."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.checks import checked_level
from numbastats._core.errors import names_ours

__all__ = ["Intervals", "OptionalIntervals", "Result", "Table", "dataset", "estimates", "half_width", "percent", "with_intervals"]

Library = Literal["pandas", "polars", "dict"]
SHOWN = 30  # rows of a printed table


def percent(level: float) -> str:
    """A level as it stands in headings: 0.95 is "95 %"."""
    return f"{100.0 * level:.10g} %"


def half_width(level: float) -> float:
    """Half the length of the central interval of a standard normal variable, which holds it with the probability `level`."""
    from scipy.special import ndtri

    return -float(ndtri(0.5 * (1.0 - level)))


class Table(dict[str, Any]):
    """Columns of equal length by name: a dict of arrays that prints as a table.

    The level of intervals, whose ends are the columns `ends`, is a column "level", which frames have. In print it stands in the
    headings of the ends instead.
    """

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
            By default pandas, where it is installed, and else a dict of arrays.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or dict of numpy.ndarray
            Copies: changes do not reach the result.

        Raises
        ------
        ImportError
            If the library that was asked for is not installed.
        """
        columns = {name: np.array(column) for name, column in self.items()}
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
