"""What the tests know of each distribution: a file for each family, named by its word, with a `CASE`.

`tests/cases.py` finds the files, and the tests run what a case has. A tolerance stands beside the error that was observed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numbastats.distributions import Distribution
from tests.distributions.exact import Exact

__all__ = ["Case", "Counts", "Estimates", "Fits", "Likelihood"]


@dataclass(frozen=True, kw_only=True)
class Fits:
    """Fits of simulated series beside SciPy's: test_families."""

    truth: tuple[float, ...]  # parameters to draw from
    known: dict[str, float] | None = field(default_factory=dict)  # what SciPy's fit is told; None where SciPy has no such family
    often: bool = False  # not for slow runs alone


@dataclass(frozen=True, kw_only=True)
class Likelihood:
    """Fits of exact, censored and truncated values beside the likelihood by SciPy's functions: test_likelihood."""

    peer: Any  # SciPy's distribution
    truth: tuple[float, ...]  # parameters to draw from
    of_ours: Callable = lambda *params: params  # SciPy's parameters from ours
    known: dict[str, float] = field(default_factory=dict)  # what SciPy's fit is told
    located: bool = False  # loc is free
    symmetric: bool = True  # the fit of -x is as likely, where loc is free
    censored: bool = True  # whether such values are fitted
    equations: bool = False  # exact values have their own, so that tests of the likelihood are slow ones
    signed: tuple[str, ...] = ("loc",)  # parameters of any sign
    least: dict[str, float] = field(default_factory=dict)  # where a search has to stay above
    settled: bool = False  # the maximum is at a value of the sample, a jump
    known_scale: bool = False  # loc and scale are known
    top: float = math.inf  # the end of the support
    width: float | None = None  # of intervals; None for a share of the standard deviation
    squares: bool = False  # the fit squares the values, which may overflow


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Fits of exact values by equations of their own, or by climbs of hyperbolic families: test_fitting."""

    draws: Callable  # of rng and a shape
    log_density: Callable  # by SciPy, of x and the fitted parameters
    truth: tuple[float, ...] | None = None  # these parameters of the draws; None for climbs
    cdf: Callable | None = None  # by SciPy, of x and the fitted parameters
    positive: bool = False  # the values are


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Of a distribution of counts: test_counts."""

    peer: Any  # SciPy's, of the object
    exact: Callable  # log P(X = k), P(X <= k), P(X > k) in mpmath, of k and the parameters
    values: tuple[Distribution, ...]  # whose masses and tails are compared
    quantiles: tuple[Distribution, ...]
    none: tuple[Distribution, ...]  # with all of the mass at 0
    error_of_logpmf: float = 1e-14


@dataclass(frozen=True, kw_only=True)
class Case:
    """A family of distributions: objects for what is true of all, and the rows of its tests, empty where there are none."""

    cls: type[Distribution]
    objects: tuple[Distribution, ...]
    often: bool = False  # with code of its own beside formulas, or one of its number of shapes: for quick runs, too
    exact: Exact | None = None  # formulas in mpmath
    elsewhere: str = ""  # the file of tests that has exact values, where there are no such formulas
    # errors allowed of tails, densities, and quantiles: in probability, beyond the rounding of x
    tails: tuple[tuple[Any, ...], ...] = ()
    cancels: bool = False  # deep tails are differences, which take mpmath 340 digits
    scores: tuple[Distribution, ...] = ()  # compared at 0.3, 1, 3 and 8
    shapes: tuple[Distribution, ...] = ()  # whose skewness, kurtosis and entropy are compared
    least: Callable = lambda d: (0.01, 0.01, 1.0)  # values below which their errors are not relative
    peers: tuple[tuple[Distribution, Any], ...] = ()  # with SciPy's
    peer_has_support: bool = True  # SciPy knows where it is
    orders: int = 4  # of moments that converge as integrals, well enough to be compared with
    kink: float = 0.0  # how far beside the centre of the object the density has derivatives
    fits: Fits | None = None
    likelihood: Likelihood | None = None
    estimates: Estimates | None = None
    counts: Counts | None = None
