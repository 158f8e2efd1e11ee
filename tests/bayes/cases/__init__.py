"""A case for each response, a file each with its `CASE`: exact formulas, SciPy's distribution, numbers to try, tolerances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Case"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the tests know of a response.

    Parameters
    ----------
    record : Record
    log_density : callable
        ``log_density(y, m, own)`` in mpmath; `own` has the transformed own parameters by name.
    peer : callable
        SciPy's frozen distribution of an outcome, ``peer(m, own)``; of the classes -1 and 1 that of 0 and 1.
    outcomes, predictors : sequence of float
    own : dict
        Values of the transformed own parameters.
    log_priors : dict
        Their log prior densities in mpmath, up to a constant.
    refused : sequence of float
        Numbers that are no outcomes.
    rtol : float
        Relative error of log densities and their derivatives.
    """

    record: Any
    log_density: Callable
    peer: Callable
    outcomes: tuple[float, ...]
    predictors: tuple[float, ...]
    own: dict[str, float] = field(default_factory=dict)
    log_priors: dict[str, Callable] = field(default_factory=dict)
    refused: tuple[float, ...] = ()
    rtol: float
