"""Covariance models: records that say what kernels, counts of parameters and starts have to know of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numbastats._core.checks import choice
from numbastats.mixture.multivariate.kernels.passes import DIAGONAL, FULL, SPHERICAL
from numbastats.mixture.multivariate.kernels.steps import Model

__all__ = ["MODELS", "Covariance", "models_of"]


class Covariance(NamedTuple):
    """A model of the covariance matrices.

    Attributes
    ----------
    name, letters : str
        scikit-learn's word, and that of G. Celeux and G. Govaert: volume, shape and orientation, equal, variable or identity.
    shape : int
        Of each matrix, for the M-step.
    pooled : bool
        Whether all components have one.
    number : callable
        Free parameters of the covariances of K components in d dimensions.
    contains : tuple of str
        Models whose fits it can take as starts, and is therefore never less likely than.
    """

    name: str
    letters: str
    shape: int
    pooled: bool
    number: Callable[[int, int], int]
    contains: tuple[str, ...]

    def free(self, K, d, weights=True):
        """Free parameters of K components in d dimensions."""
        return (K - 1 if weights else 0) + K * d + self.number(K, d)

    def model(self, free_weights=True):
        """What kernels know of it."""
        return Model(self.shape, int(self.pooled), int(free_weights))

    def least(self, d):
        """Observations that an admissible component has."""
        return d + 2.0

    def __reduce__(self):  # functions of a line cannot be pickled
        return _of_name, (self.name,)


def _of_name(name):
    return MODELS[name]


RECORDS = (
    Covariance("spherical", "VII", SPHERICAL, False, lambda K, d: K, ()),
    Covariance("diag", "VVI", DIAGONAL, False, lambda K, d: K * d, ("spherical",)),
    Covariance("tied", "EEE", FULL, True, lambda K, d: d * (d + 1) // 2, ()),
    Covariance("full", "VVV", FULL, False, lambda K, d: K * d * (d + 1) // 2, ("spherical", "diag", "tied")),
)
"""In an order in which each comes after those that it contains."""
MODELS = {record.name: record for record in RECORDS}
_BY_LETTERS = {record.letters: record for record in RECORDS}


def models_of(covariance):
    """The models that `covariance` names, those that others contain first."""
    names = list(MODELS) if covariance == "all" else [covariance] if isinstance(covariance, str) else list(covariance)
    if not names:
        raise ValueError("covariance is empty; name a model, such as 'full', or several, or 'all'")
    known = (*MODELS, *_BY_LETTERS)
    found = {(_BY_LETTERS | MODELS)[choice("covariance", name, known)].name for name in names}
    return tuple(record for record in RECORDS if record.name in found)
