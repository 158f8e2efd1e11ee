"""Why data cannot be fitted: how many values, which condition they do not meet, and where the first stands."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

__all__ = ["Admitted", "Refusals", "refusal", "refusals"]

_FINE, _INFINITE, _NOT_WHOLE, _BELOW, _ABOVE, _UNSEEN_BELOW, _UNSEEN_ABOVE = range(7)


class Admitted(NamedTuple):
    """The values that a family is fitted to, as far as no free parameter decides it."""

    family: str
    lower: float = -math.inf
    upper: float = math.inf
    closed: bool = False  # whether these ends belong to them
    whole: bool = False
    truncated: tuple[float, float] = (-math.inf, math.inf)
    ends: tuple[str, str] = ("the lower end of truncated=", "the upper end of truncated=")  # what these are called
    moved: bool = False  # whether the lower end is a loc that was fixed
    of_zeros: str = ""  # advice where zeros are not admitted

    def codes(self, x, hi, upper=None):
        """The first condition that values do not meet; `hi` are upper ends of intervals from x on, of exact values x itself.

        `upper` are ends of the support of their own.
        """
        upper = self.upper if upper is None else upper
        exact = x == hi
        taken = exact & self.closed
        found = np.zeros(x.shape, np.int8)
        conditions = (
            (_UNSEEN_ABOVE, x > self.truncated[1]),
            (_UNSEEN_BELOW, hi < self.truncated[0]),
            (_ABOVE, (x > upper) | ((x == upper) & ~taken)),
            (_BELOW, (hi < self.lower) | ((hi == self.lower) & ~taken)),
            (_NOT_WHOLE, np.ceil(x) > np.floor(hi) if self.whole else False),
            (_INFINITE, exact & np.isinf(x)),
        )
        for code, met in conditions:
            found[met & ~np.isnan(x + hi)] = code
        return found

    def condition(self, code):
        """What values of a code are not, in words that follow "are"."""
        lower, upper = (f"{end:.10g}" for end in (self.lower, self.upper))
        if code == _NOT_WHOLE:
            return f"not whole numbers, as the counts of {self.family} are"
        if code in (_UNSEEN_BELOW, _UNSEEN_ABOVE):
            above = int(code == _UNSEEN_ABOVE)
            return f"{'above' if above else 'below'} {self.truncated[above]:.10g}, {self.ends[above]}"
        if code == _BELOW and self.moved:
            return f"{'below' if self.closed else 'not above'} loc={lower}, where {self.family} begins"
        family = self.family + (f", from {lower} to {upper}" if math.isfinite(self.lower) and math.isfinite(self.upper) else "")
        if code == _BELOW:
            return f"{'below' if self.closed else 'not above'} {lower}, the support of {family}"
        return f"{'above' if self.closed else 'not below'} {upper}, the support of {family}"


class Refusals(NamedTuple):
    """Of the data sets `which`, in their order, the condition that is not met, by how many values, and the first of them."""

    admitted: Admitted
    which: np.ndarray
    code: np.ndarray
    failing: np.ndarray  # how many values
    total: np.ndarray  # values that are not missing
    first: np.ndarray  # index of the first of them
    value: np.ndarray  # or the two ends of an interval
    own: np.ndarray | None = None  # the end of the support that it has of its own

    @property
    def infinite(self):
        """Whether it is that they are finite."""
        return self.code == _INFINITE

    def words(self, number):
        """Why a data set cannot be fitted, "" where nothing more is known than its status."""
        at = int(np.searchsorted(self.which, number))
        if at == self.which.size or self.which[at] != number:
            return ""
        count, total, index = (int(a[at]) for a in (self.failing, self.total, self.first))
        code, (lo, hi) = self.code[at], self.value[at].tolist()
        if not total:
            return "no values"
        if code == _FINE:
            return ""
        if code == _INFINITE:
            many = f"{count} values are infinite, the first at index {index}"
            return f"1 value is infinite, at index {index}" if count == 1 else many
        value = f"{lo:.10g}" if lo == hi else f"({lo:.10g}, {hi:.10g})"
        condition = self.admitted.condition(code)
        if code == _ABOVE and self.own is not None:
            condition = "above n, its trials" if count == 1 else "above n, their trials"
            value = f"{value}, of n={self.own[at]:g},"
        advice = f"; {self.admitted.of_zeros}" if code == _BELOW and lo == hi == 0.0 and self.admitted.of_zeros else ""
        if count == 1:
            condition = condition.replace("not whole numbers", "not a whole number").replace("the counts", "counts")
            return f"1 of {total} values is {condition}: {value} at index {index}{advice}"
        return f"{count} of {total} values are {condition}; the first is {value} at index {index}{advice}"


def refusals(admitted, which, x, off, hi=None, left_out=None, upper=None) -> Refusals:
    """What the values of some data sets, x[off[d]:off[d + 1]] each, are not.

    Parameters
    ----------
    admitted : Admitted
    which : array of int
        Data sets that cannot be fitted, ascending.
    x : array of float
        Values, NaN where missing, or the lower ends of intervals.
    off : array of int
    hi : array of float, optional
        Upper ends of intervals.
    left_out : callable, optional
        Of indices of values: which take no part, as of weight 0.
    upper : array of float, optional
        Upper ends of the support, where each value has its own.
    """
    lengths = np.diff(off)[which]
    number = np.repeat(np.arange(which.size), lengths)
    place = np.arange(number.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    at = np.asarray(off)[which][number] + place
    lo = x[at]
    up = lo if hi is None else hi[at]
    there = ~(np.isnan(lo) | np.isnan(up) | ((lo == -math.inf) & (up == math.inf)))
    if left_out is not None:
        there &= ~left_out(at)
    codes = np.where(there, admitted.codes(lo, up, None if upper is None else upper[at]), _FINE)
    most, found = np.iinfo(codes.dtype).max, codes > _FINE
    code = np.full(which.size, most, codes.dtype)
    np.minimum.at(code, number[found], codes[found])
    mine = np.flatnonzero(codes == code[number])
    of, first = np.unique(number[mine], return_index=True)
    index, value = np.zeros(which.size, np.int64), np.zeros((which.size, 2))
    index[of], value[of] = place[mine][first], np.stack([lo, up], axis=-1)[mine][first]
    own = None if upper is None else np.zeros(which.size)
    if own is not None:
        own[of] = upper[at][mine][first]
    code[code == most] = _FINE
    count, total = (np.bincount(which_of, minlength=which.size) for which_of in (number[mine], number[there]))
    missing = lengths > 0  # where there is none, "no values" says more than "all are missing"
    return Refusals(admitted, which, code, count, np.where(missing, np.maximum(total, 1), 0), index, value, own)


def refusal(admitted, x) -> str:
    """Why one data set cannot be fitted, "" where its values are admitted."""
    return refusals(admitted, np.zeros(1, np.int64), x, np.array([0, x.size])).words(0)
