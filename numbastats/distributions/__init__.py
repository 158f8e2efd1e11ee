"""Families of distributions: densities, distribution functions, quantiles, draws and moments.

A family is an object: ``student_t.pdf(x, *params)`` and the like broadcast over their parameters and give NaN out of the domain;
``student_t(*params)`` is the distribution with its parameters fixed, a `numbastats.quantile.Recycler` with `pdf`, `cdf` and the
rest, and raises ValueError.
"""

from numbastats.distributions.base import Family, FrozenDistribution
from numbastats.distributions.fitting import DistributionFit, DistributionFits, fit, fit_many, standardise
from numbastats.distributions.hyperbolic import generalized_hyperbolic, hyperbolic, nig, variance_gamma
from numbastats.distributions.student import student_t

__all__ = [
    "DistributionFit",
    "DistributionFits",
    "Family",
    "FrozenDistribution",
    "fit",
    "fit_many",
    "generalized_hyperbolic",
    "hyperbolic",
    "nig",
    "standardise",
    "student_t",
    "variance_gamma",
]


def __dir__():
    return sorted(__all__)
