"""Quantiles: the normal one, tables of those of other distributions, recycling of samples (Shaw, Luu and Brickman 2011)."""

from numbastats.distributions.base import FrozenLaw, generalized_hyperbolic, hyperbolic, nig, student_t, variance_gamma
from numbastats.quantile.construction import Certificate
from numbastats.quantile.estimator import Recycler
from numbastats.quantile.functions import antithetic, ndtri, norm_from_exponential, standard_normal
from numbastats.quantile.paper import StudentSeries, recycle_ode
from numbastats.quantile.recycle import recycle

__all__ = [
    "Certificate", "FrozenLaw", "Recycler", "StudentSeries", "antithetic", "generalized_hyperbolic", "hyperbolic", "ndtri", "nig",
    "norm_from_exponential", "recycle", "recycle_ode", "standard_normal", "student_t", "variance_gamma",
]  # fmt: skip


def __dir__():
    return sorted(__all__)
