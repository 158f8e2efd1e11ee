"""Options that functions and methods of distributions hand on, with their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from numpy.typing import ArrayLike

from numbastats._core.data import NanPolicy
from numbastats._core.options import ArrayOptions, Device

__all__ = ["CompareOptions", "FitMethod", "FitOptions", "QuantileOptions", "StableFitOptions", "TableOptions", "Zeros"]

Zeros = Literal["share", "inflated"]
Param = Literal["S0", "S1"]
FitMethod = Literal["ml", "lmoments", "moments"]


class CompareOptions(TypedDict, total=False):
    """Options of `fit_many` that `compare_many` has."""

    axis: int | None
    by: str | Sequence[str] | None
    dim: str | None
    weights: ArrayLike | None
    zeros: Zeros | None
    censored: tuple[ArrayLike, ArrayLike] | None
    event: ArrayLike | None
    entry: ArrayLike | None
    truncated: tuple[float | None, float | None] | None
    nan_policy: NanPolicy
    device: Device
    workers: Any
    progress: bool


class FitOptions(CompareOptions, total=False):
    """Options of `fit_many` that the method `fit` of a distribution has."""

    fixed: Mapping[str, ArrayLike | None] | None
    threshold: ArrayLike | None
    method: FitMethod


class QuantileOptions(ArrayOptions, total=False):
    """Options of `ppf` that `isf` has."""

    method: Literal["auto", "table", "points"]


class TableOptions(TypedDict, total=False):
    """Options of `FrozenDistribution` that the method `table` of a distribution has."""

    accuracy: Literal["double", "full"]
    degree: Literal[5, 7]
    tail: float | None
    device: Device
    workers: Any
    quiet: bool


class StableFitOptions(TypedDict, total=False):
    """Options of `numbastats.stable.fit` that `Stable.fit` has."""

    start: ArrayLike | None
    fixed: Mapping[str, float] | None
    bounds: Mapping[str, Sequence[float]] | None
    weights: ArrayLike | None
    param: Param
    nan_policy: NanPolicy
    device: Device
