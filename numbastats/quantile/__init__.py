"""Quantiles: the normal one, tables of those of other distributions, recycling of samples (Shaw, Luu and Brickman 2011)."""

from numbastats.quantile.building import Certificate
from numbastats.quantile.laws import FrozenLaw, generalized_hyperbolic, hyperbolic, nig, student_t, variance_gamma
from numbastats.quantile.normal import antithetic, ndtri, norm_from_exponential, standard_normal
from numbastats.quantile.ode import StudentSeries, recycle_ode
from numbastats.quantile.recycle import recycle
from numbastats.quantile.recycler import Recycler

__all__ = [
    "Certificate", "FrozenLaw", "Recycler", "StudentSeries", "antithetic", "generalized_hyperbolic", "hyperbolic", "ndtri", "nig",
    "norm_from_exponential", "recycle", "recycle_ode", "standard_normal", "student_t", "variance_gamma",
]  # fmt: skip


def __dir__():
    return sorted(__all__)
