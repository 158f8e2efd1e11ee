"""L-moments: expectations of linear combinations of order statistics, estimated from samples."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numbastats._core.checks import is_integer
from numbastats._core.data import NanPolicy, is_frame, names_in, refuse_missing
from numbastats._core.errors import names_ours
from numbastats._core.groups import Keys
from numbastats._core.results import Result, Table
from numbastats.distributions.fitting import padded, series_of
from numbastats.distributions.moments import l_moments

__all__ = ["LMoments", "lmoments"]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LMoments(Result):
    """Sample L-moments of one series or of many; it prints as a table.

    Attributes
    ----------
    moments : array of shape (count, ...)
        l_1, l_2, ..., in units of x; NaN where a series has fewer values than the order.
    n_values : array of int of shape (...)
        Number of the values of each series that are not missing.
    keys : tuple or None
        Of the series, where they came in a dict or in groups.
    labels : xarray.DataArray or None
        One of the shape of the batch, where the data came in one.
    n_missing : array of int of shape (...)
        Number of the values of each series that are missing.
    """

    moments: NDArray[np.float64]
    n_values: NDArray[np.int64]
    keys: Keys | None
    labels: Any = None
    n_missing: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.zeros((), np.int64))

    def _labelled(self, values, name):
        return values[()] if self.labels is None else self.labels.copy(data=values).rename(name)

    @property
    def mean(self) -> Any:
        """l_1, the mean."""
        return self._labelled(self.moments[0], "mean")

    @property
    def scale(self) -> Any:
        """l_2, the L-scale: half of Gini's mean difference."""
        return self._labelled(self.moments[1], "scale")

    @property
    def cv(self) -> Any:
        """l_2/l_1, the L-CV, for values >= 0."""
        with np.errstate(all="ignore"):
            return self._labelled(self.moments[1] / self.moments[0], "cv")

    @property
    def ratios(self) -> NDArray[np.float64]:
        """t_3 = l_3/l_2, t_4 = l_4/l_2, ..., between -1 and 1: an array of shape (count - 2, ...); NaN for constant series."""
        with np.errstate(all="ignore"):
            return self.moments[2:] / self.moments[1]

    @property
    def skewness(self) -> Any:
        """t_3 = l_3/l_2, the L-skewness: 0 for symmetric distributions."""
        return self._labelled(self.ratios[0], "skewness")

    @property
    def kurtosis(self) -> Any:
        """t_4 = l_4/l_2, the L-kurtosis: 0 for a uniform distribution, 0.1226 for a normal one."""
        return self._labelled(self.ratios[1], "kurtosis")

    def _headline(self) -> str:
        missing = f", {self.n_missing.sum()} missing" if self.n_missing.any() else ""
        of = f"{self.n_values.size} series of shape {self.n_values.shape}" if self.n_values.ndim else f"{self.n_values} values"
        return of + missing

    def summary(self) -> Table:
        """A row for each series, in the order of the flattened batch.

        Returns
        -------
        Table
            A dict of the columns "key" (where the series have keys), "n_values", "l_1", "l_2", "t_3", "t_4", ...
        """
        columns: dict[str, Any] = {} if self.keys is None else self.keys.columns("key")
        rows = (*self.moments[:2], *self.ratios)
        columns |= {"n_values": self.n_values.ravel()}
        columns |= {f"{'l' if r < 2 else 't'}_{r + 1}": np.ravel(row) for r, row in enumerate(rows)}
        return Table(columns)


@names_ours
def lmoments(
    x: Any, *, axis: int | None = None, dim: str | None = None, count: int = 4, nan_policy: NanPolicy = "omit"
) -> LMoments:
    """Sample L-moments of one series, or of every series of an array.

    They describe location, scale, skewness and kurtosis by linear combinations of the ordered values, exist whenever there is a
    mean, and are less sensitive to far values than powers are.

    Parameters
    ----------
    x : array_like of shape (..., n, ...), list or dict of one-dimensional arrays
        Series along `axis`, or one in each entry, in any of the forms of :doc:`/data`.
    axis : int, optional
        Along which the values of a series run; the last one by default, if it has at least `count` values or no other has.
    dim : str, optional
        Instead of `axis` the name of a dimension of an xarray.DataArray, whose labels the properties of the result have. An array
        of several dimensions needs one of the two.
    count : int
        Number of L-moments, at least 2.
    nan_policy : {"omit", "raise"}
        Whether missing values are left out, and counted in `n_missing`, or refused.

    Returns
    -------
    LMoments
        ``moments`` of shape (count, ...), ``ratios``, and by name ``mean``, ``scale``, ``cv``, ``skewness`` and ``kurtosis``. NaN
        for series with fewer values than the order, and for those that hold infinite values.

    Raises
    ------
    TypeError, ValueError
        For arguments that are not understood; frames without `axis`, and arrays of xarray without `dim`.

    Notes
    -----
    The unbiased estimators of [1]: l_r = 1/n sum_j P_{r-1}(j) x_(j), where P_r are the polynomials that are orthogonal on the n
    ranks, with P_r(n) = 1. They come from their recurrence of three terms [2], in which nothing cancels for high orders, and are
    applied to the differences from the median. Errors observed: 5e-16 of l_2 up to order 10.

    References
    ----------
    [1] J. R. M. Hosking, "L-moments: analysis and estimation of distributions using linear combinations of order statistics",
    Journal of the Royal Statistical Society B 52 (1990), 105-124.
    [2] A. F. Nikiforov, S. K. Suslov, V. B. Uvarov, Classical Orthogonal Polynomials of a Discrete Variable (1991), table 2.2
    (Hahn polynomials of alpha = beta = 0).

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.distributions.lmoments([1.0, 2.0, 4.0, 3.0, 7.0])
    LMoments: 5 values
    n_values  l_1  l_2       t_3       t_4
           5  3.4  1.4  0.285714  0.285714
    >>> shape = 40, 5, 6  # years, latitudes, longitudes
    >>> rain = ns.random.gamma(2.0, 3.0, size=shape, rng=1)
    >>> ns.distributions.lmoments(rain, axis=0).skewness.shape
    (5, 6)
    """
    if not is_integer(count) or count < 2:
        raise ValueError(f"count={count!r} must be an integer, at least 2")
    x = x[names_in(x)[0]] if is_frame(x) and axis is None and len(names_in(x)) == 1 else x
    s = series_of(x, axis, None, count if axis is None and dim is None else 1, dim=dim, name="x")
    refuse_missing(s.x, nan_policy, "x", s.off)
    moments, n_values = l_moments(padded(s), count)
    missing = (np.diff(s.off) - n_values).reshape(s.shape)
    return LMoments(moments.reshape(count, *s.shape), n_values.reshape(s.shape), s.keys, s.labels, missing)
