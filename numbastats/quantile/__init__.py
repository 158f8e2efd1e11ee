"""Quantiles: the normal one, tables of those of other distributions, recycling of samples (Shaw, Luu and Brickman 2011)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numbastats
from numbastats.quantile.estimator import Certificate, Recycler
from numbastats.quantile.functions import antithetic, ndtri, norm_from_exponential, recycle, standard_normal
from numbastats.quantile.paper import StudentSeries, recycle_ode

if TYPE_CHECKING:
    from numbastats.distributions import FrozenDistribution, generalized_hyperbolic, nig, student_t, variance_gamma
    from numbastats.distributions import hyperbolic as hyperbolic  # type: ignore[no-redef]

__all__ = [
    "Certificate",
    "FrozenDistribution",
    "Recycler",
    "StudentSeries",
    "antithetic",
    "generalized_hyperbolic",
    "hyperbolic",
    "ndtri",
    "nig",
    "norm_from_exponential",
    "recycle",
    "recycle_ode",
    "standard_normal",
    "student_t",
    "variance_gamma",
]

# these live in `numbastats.distributions`, which needs this package
_DISTRIBUTIONS = ("FrozenDistribution", "generalized_hyperbolic", "hyperbolic", "nig", "student_t", "variance_gamma")


def __getattr__(name: str) -> Any:
    if name in _DISTRIBUTIONS:
        with numbastats._importing():
            found = getattr(importlib.import_module("numbastats.distributions"), name)
        globals()[name] = found  # the next access does not come here
        return found
    raise AttributeError(f"module 'numbastats.quantile' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
