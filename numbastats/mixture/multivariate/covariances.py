"""Covariance models: records that say what kernels, counts of parameters and starts have to know of each."""

from __future__ import annotations

from typing import NamedTuple

from numbastats._core.checks import choice
from numbastats.mixture.multivariate.information import coordinates
from numbastats.mixture.multivariate.kernels.forms import APART, AXES, SHAPE, VOLUME
from numbastats.mixture.multivariate.kernels.passes import DIAGONAL, FULL, SPHERICAL
from numbastats.mixture.multivariate.kernels.steps import Model

__all__ = ["MODELS", "SCIKIT", "Covariance", "models_of"]


class Covariance(NamedTuple):
    """A model of the covariance matrices.

    Attributes
    ----------
    name, letters : str
        scikit-learn's word where it has one, and the letters of G. Celeux and G. Govaert: volume, shape and orientation, equal,
        variable or identity.
    shape : int
        Of each matrix, for the M-step.
    pooled : bool
        Whether all components have one.
    contains : tuple of str
        Models of one restriction more. Their fits are starts, so that it is never less likely than they are.
    form : int
        Which parts all components have in common where these are not all or none, as `Model` has it.
    """

    name: str
    letters: str
    shape: int
    pooled: bool
    contains: tuple[str, ...]
    form: int = 0

    def free(self, K, d, weights=True, means=True):
        """Free parameters of K components in d dimensions."""
        return coordinates(K, d, self.model(weights, means)) - bool(weights)

    def model(self, free_weights=True, free_means=True):
        """What kernels know of it."""
        return Model(self.shape, int(self.pooled), int(free_weights), int(free_means), self.form)

    def least(self, d):
        """Observations that an admissible component has, also of pooled covariances: fewer are outliers, and no cluster."""
        return d + 2.0

    def within(self):
        """Names of all models that it contains."""
        return {inner for name in self.contains for inner in {name} | MODELS[name].within()}

    def widest_within(self, names):
        """Of models those that it contains, without those that another of them contains."""
        inner = [MODELS[name] for name in names if name in self.within()]
        return [one.name for one in inner if not any(one.name in other.within() for other in inner)]

    def __reduce__(self):  # functions of a line cannot be pickled
        return _of_name, (self.name,)


def _of_name(name):
    return MODELS[name]


RECORDS = (
    Covariance("tied-spherical", "EII", SPHERICAL, True, ()),
    Covariance("spherical", "VII", SPHERICAL, False, ("tied-spherical",)),
    Covariance("tied-diag", "EEI", DIAGONAL, True, ("tied-spherical",)),
    Covariance("EVI", "EVI", DIAGONAL, False, ("tied-diag",), VOLUME),
    Covariance("VEI", "VEI", DIAGONAL, False, ("spherical", "tied-diag"), SHAPE),
    Covariance("diag", "VVI", DIAGONAL, False, ("EVI", "VEI")),
    Covariance("tied", "EEE", FULL, True, ("tied-diag",)),
    Covariance("VEE", "VEE", FULL, False, ("VEI", "tied"), SHAPE | AXES),
    Covariance("EVE", "EVE", FULL, False, ("EVI", "tied"), VOLUME | AXES | APART),
    Covariance("VVE", "VVE", FULL, False, ("diag", "VEE", "EVE"), AXES | APART),
    Covariance("EEV", "EEV", FULL, False, ("tied",), VOLUME | SHAPE | APART),
    Covariance("VEV", "VEV", FULL, False, ("VEE", "EEV"), SHAPE | APART),
    Covariance("EVV", "EVV", FULL, False, ("EVE", "EEV"), VOLUME),
    Covariance("full", "VVV", FULL, False, ("VVE", "VEV", "EVV")),
)
"""In an order in which each comes after those that it contains."""
MODELS = {record.name: record for record in RECORDS}
SCIKIT = "spherical", "diag", "tied", "full"
_BY_LETTERS = {record.letters: record for record in RECORDS}


def models_of(covariance, equal=False, linked=True):
    """The models that `covariance` names, those that others contain first; where covariances are `equal` the pooled ones.

    Where models with parts in common cannot be had (not `linked`) "all" is the others.
    """
    every = [record.name for record in RECORDS if linked or not record.form]
    names = every if covariance == "all" else [covariance] if isinstance(covariance, str) else list(covariance)
    if not names:
        raise ValueError("covariance is empty; name a model, such as 'full', or several, or 'all'")
    known = tuple(dict.fromkeys((*MODELS, *_BY_LETTERS)))
    found = {(_BY_LETTERS | MODELS)[choice("covariance", name, known)].name for name in names}
    if equal:
        shapes = {MODELS[name].shape for name in found}
        return tuple(record for record in RECORDS if record.pooled and record.shape in shapes)
    return tuple(record for record in RECORDS if record.name in found)
