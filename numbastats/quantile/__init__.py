"""Quantiles: the normal one, tables of those of other distributions, recycling of samples (Shaw, Luu and Brickman 2011)."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

import numbastats
from numbastats.quantile.estimator import Certificate, QuantileTable
from numbastats.quantile.functions import antithetic, ndtri, norm_from_exponential, recycle, standard_normal
from numbastats.quantile.paper import StudentSeries, recycle_ode

__all__ = [
    "Certificate",
    "QuantileTable",
    "StudentSeries",
    "antithetic",
    "ndtri",
    "norm_from_exponential",
    "recycle",
    "recycle_ode",
    "standard_normal",
]

_MOVED = {  # names of one release more, and where they are
    "Recycler": "quantile.QuantileTable",
    "FrozenDistribution": "distributions.FrozenDistribution",
    "generalized_hyperbolic": "distributions.generalized_hyperbolic",
    "hyperbolic": "distributions.hyperbolic",
    "nig": "distributions.nig",
    "student_t": "distributions.student_t",
    "variance_gamma": "distributions.variance_gamma",
}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _MOVED:
            raise AttributeError(f"module 'numbastats.quantile' has no attribute {name!r}")
        package, _, new = _MOVED[name].partition(".")
        warnings.warn(f"numbastats.quantile.{name} is numbastats.{_MOVED[name]} now", DeprecationWarning, stacklevel=2)
        with numbastats._importing():
            return getattr(importlib.import_module(f"numbastats.{package}"), new)


def __dir__() -> list[str]:
    return sorted(__all__)
