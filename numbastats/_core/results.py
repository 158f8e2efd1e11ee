"""Results that people read: tables of named columns, which are dicts, and reprs of fits."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.errors import names_ours

__all__ = ["Result", "Table", "dataset", "estimates"]

Library = Literal["pandas", "polars", "dict"]
SHOWN = 30  # rows of a printed table


class Table(dict[str, Any]):
    """Columns of equal length by name: a dict of arrays that prints as a table."""

    def _cells(self) -> list[list[str]]:
        """The heading and the rows as text; the middle of a long table is left out."""
        columns = {name: np.asarray(column) for name, column in self.items()}
        n = len(next(iter(columns.values()), ()))
        rows = list(range(n)) if n <= SHOWN else [*range(SHOWN // 2), None, *range(n - SHOWN // 2, n)]
        return [list(columns), *(["..." if i is None else _text(c[i]) for c in columns.values()] for i in rows)]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        left = [np.asarray(column).dtype.kind in "UO" for column in self.values()]
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


def estimates(names: Sequence[str], values: ArrayLike, se: ArrayLike) -> Table:
    """A row for each parameter: estimate, standard error, and the interval of 1.96 standard errors on either side."""
    value, error = np.asarray(values, dtype=np.float64), np.asarray(se, dtype=np.float64)
    width = 1.959963984540054 * np.where(np.isfinite(error), error, np.nan)
    columns = {"parameter": np.array(names), "estimate": value, "se": error, "lower": value - width, "upper": value + width}
    return Table(columns)


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

    def to_frame(self, library: Library | None = None) -> Any:
        """The table of `summary` as a data frame; `library` as in `Table.to_frame`."""
        return self.summary().to_frame(library)
