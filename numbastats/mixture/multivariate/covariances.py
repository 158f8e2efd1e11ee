"""Covariance models: records that say what kernels, counts of parameters and starts have to know of each."""

from __future__ import annotations

from typing import NamedTuple

from numbastats._core.checks import choice
from numbastats.mixture.multivariate.information import coordinates
from numbastats.mixture.multivariate.kernels.passes import DIAGONAL, FULL, SPHERICAL
from numbastats.mixture.multivariate.kernels.steps import Model

__all__ = ["ALL", "MODELS", "Covariance", "models_of"]


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
    contains : tuple of str
        Models whose fits it can take as starts, and is therefore never less likely than.
    """

    name: str
    letters: str
    shape: int
    pooled: bool
    contains: tuple[str, ...]

    def free(self, K, d, weights=True, means=True):
        """Free parameters of K components in d dimensions."""
        return coordinates(K, d, self.model(weights, means)) - bool(weights)

    def model(self, free_weights=True, free_means=True):
        """What kernels know of it."""
        return Model(self.shape, int(self.pooled), int(free_weights), int(free_means))

    def least(self, d):
        """Observations that an admissible component has, also of pooled covariances: fewer are outliers, and no cluster."""
        return d + 2.0

    def __reduce__(self):  # functions of a line cannot be pickled
        return _of_name, (self.name,)


def _of_name(name):
    return MODELS[name]


RECORDS = (
    Covariance("tied-spherical", "EII", SPHERICAL, True, ()),
    Covariance("tied-diag", "EEI", DIAGONAL, True, ("tied-spherical",)),
    Covariance("spherical", "VII", SPHERICAL, False, ("tied-spherical",)),
    Covariance("diag", "VVI", DIAGONAL, False, ("spherical", "tied-diag")),
    Covariance("tied", "EEE", FULL, True, ("tied-diag",)),
    Covariance("full", "VVV", FULL, False, ("spherical", "diag", "tied")),
)
"""In an order in which each comes after those that it contains."""
MODELS = {record.name: record for record in RECORDS}
ALL = "spherical", "diag", "tied", "full"
_BY_LETTERS = {record.letters: record for record in RECORDS}


def models_of(covariance, equal=False):
    """The models that `covariance` names, those that others contain first; where covariances are `equal` the pooled ones."""
    names = list(ALL) if covariance == "all" else [covariance] if isinstance(covariance, str) else list(covariance)
    if not names:
        raise ValueError("covariance is empty; name a model, such as 'full', or several, or 'all'")
    known = (*MODELS, *_BY_LETTERS)
    found = {(_BY_LETTERS | MODELS)[choice("covariance", name, known)].name for name in names}
    if equal:
        shapes = {MODELS[name].shape for name in found}
        return tuple(record for record in RECORDS if record.pooled and record.shape in shapes)
    return tuple(record for record in RECORDS if record.name in found)
