"""Compressed cells of a data set: runs of neighbouring observations, as starts use them instead of the observations."""

from __future__ import annotations

import typing

__all__ = ["Cells"]


class Cells(typing.NamedTuple):
    """Means t1, t2 and weights w of the cells, and the sums q0, q1, q2 of w (1, t1, t2) up to each."""

    t1: typing.Any
    t2: typing.Any
    w: typing.Any
    q0: typing.Any
    q1: typing.Any
    q2: typing.Any
