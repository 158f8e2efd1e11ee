"""Values above a threshold: which they are, their share of all, and the distribution of all values as far as that is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbastats._core.broadcast import real64
from numbastats._core.groups import same_order
from numbastats._core.kinds import aligned, has_labels, to_host
from numbastats._core.status import Status
from numbastats.distributions.protocol import Distribution

__all__ = ["FewAbove", "Threshold", "above", "check_family", "share_error"]


class Threshold(NamedTuple):
    """A threshold, and the share of the values above it; of many fits arrays of these."""

    threshold: Any
    share: Any


def check_family(cls: type[Distribution]) -> None:
    """Raise for a class whose support does not begin at a loc that is known."""
    likelihood = cls._likelihood
    begins = likelihood is not None and likelihood.shifts and not likelihood.bounded and not cls.is_discrete
    if not begins or "loc" not in cls.names or "loc" in likelihood.free:
        raise ValueError(
            f"threshold= is for families that begin at loc, such as 'gpd' and 'exponential'; to fit {cls.family} to the values "
            "above u pass truncated=(u, None)"
        )


def above(series: Any, threshold: Any) -> tuple[Any, Any, Callable[[Any], NDArray[np.float64]]]:
    """Series of the excesses of thresholds, NaN for values that are not above, and the thresholds, one for each series.

    The third is a function that adds numbers, one for a value, over each series.
    """
    u = _thresholds(series, threshold)
    if series.length:
        x, at = np.reshape(series.x, (u.size, series.length)), u[:, None]

        def sums(values):
            return np.reshape(values, (u.size, series.length)).sum(axis=1)
    else:
        number = np.repeat(np.arange(u.size), np.diff(series.off))
        x, at = series.x, u[number]

        def sums(values):
            return np.bincount(number, values, u.size)

    with np.errstate(invalid="ignore"):
        excess = np.where(x > at, x - at, math.nan)
    return series._replace(x=excess.reshape(-1)), u, sums


def _thresholds(series, threshold):
    """A threshold for each series."""
    if isinstance(threshold, Mapping) and series.keys is None:
        raise TypeError("threshold is a dict, but the series have no keys; pass a number, or one for each series")
    if series.keys is not None and hasattr(threshold, "keys"):  # a dict, or a series of pandas
        by_key = dict(threshold.items())
        threshold = same_order(list(by_key.values()), tuple(series.keys), tuple(by_key), "threshold")
    elif has_labels(threshold):
        if series.labels is None:
            raise TypeError("threshold has labels and the series have none: pass a number, or an array, as by .to_numpy()")
        threshold = aligned((series.labels, threshold), ("data", "threshold"))[0][1]
    u = real64(to_host(threshold, "threshold"))
    try:
        u = np.broadcast_to(u, series.shape).ravel().astype(np.float64)
    except ValueError:
        raise ValueError(
            f"threshold has shape {u.shape}, and the batch of series {series.shape}; pass a number, or one for each series"
        ) from None
    if not np.isfinite(u).all():
        i = int(np.argmin(np.isfinite(u)))
        raise ValueError(f"threshold is {u[i]}{f' of series {i}' if u.size > 1 else ''}; it must be a finite number")
    return u


class FewAbove(NamedTuple):
    """Why series cannot be fitted: too few of their values are above the threshold, or what their values are."""

    which: NDArray[np.int64]
    status: NDArray[np.int64]
    threshold: NDArray[np.float64]
    over: NDArray[np.float64]  # number of values above
    known: NDArray[np.float64]  # of values that are not missing
    largest: NDArray[np.float64]
    least: int  # number of values that a fit needs
    others: Any  # refusals for what the values are, None where there are none

    def words(self, i: int) -> str:
        """The reason of a series, "" where its status says all."""
        if self.status[i] != Status.TOO_FEW or not self.known[i]:
            return self.others.words(i) if self.others is not None else ""
        count, known, u = int(self.over[i]), int(self.known[i]), f"{self.threshold[i]:.10g}"
        if not count:
            return f"none of {known} values is above the threshold {u}; the largest is {self.largest[i]:.10g}"
        few = f"{count} of {known} values {'is' if count == 1 else 'are'} above the threshold {u}"
        return f"{few}, fewer than the {self.least} that are needed: pass a lower one"


def share_error(share: Any, total: Any) -> Any:
    """Standard error of a share of so many independent values."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(share * (1.0 - share) / total)
