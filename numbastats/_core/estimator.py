"""scikit-learn-compatible estimators, without scikit-learn."""

from __future__ import annotations

import functools
import html
import inspect
import sys
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from numbastats._core.data import labels_of
from numbastats._core.errors import NotFittedError, names_ours, warn
from numbastats._core.parallel import is_executor
from numbastats._core.results import Table

__all__ = ["Estimator", "check_names", "classes_of", "column_names", "not_fitted", "priors_of"]


def not_fitted(message: str) -> NotFittedError:
    """A `NotFittedError`; where scikit-learn is loaded, also an instance of its error of that name."""
    theirs = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", None)
    return NotFittedError(message) if theirs is None else _of_both(theirs)(message)


@functools.cache
def _of_both(theirs):
    options = {"__module__": NotFittedError.__module__, "__reduce__": lambda self: (not_fitted, self.args)}
    return type("NotFittedError", (NotFittedError, theirs), options)


def column_names(X):
    """Names of the columns of a frame, if all are strings, as scikit-learn keeps them; None for anything else."""
    names = list(getattr(X, "columns", ()))
    return np.asarray(names, dtype=object) if names and all(isinstance(n, str) for n in names) else None


def check_names(names, model, what="X"):
    """Raise where the data and the fitted model both have names of columns, and these differ."""
    if names is not None and hasattr(model, "feature_names_in_"):
        got, known = [str(n) for n in names], [str(n) for n in model.feature_names_in_]
        if got != known:
            raise ValueError(f"{what} has the columns {got}, the model was fitted with {known}; pass them in that order")


def classes_of(y, n, name):
    """Labels of n samples; raises unless they are classes. `name` is that of the classifier."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    labels = labels_of(y, "y")
    if labels.shape == (n, 1):
        category = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
        warn("A column-vector y was passed when a 1d array was expected; pass y.ravel()", category)
        labels = labels[:, 0]
    if labels.dtype.kind == "O" and any(v is None or (isinstance(v, float) and v != v) for v in labels.tolist()):
        raise ValueError("y has missing labels; drop these samples, or give them a class")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity; drop these samples, or give them a class")
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        raise ValueError("Unknown label type: continuous. y has numbers that are not whole; pass classes, or cut y into some")
    return labels


def priors_of(given, shares, classes):
    """Probabilities of the classes (K,), as they were given: None are the shares of the samples."""
    if given is None:
        return shares
    wanted = given
    if isinstance(given, str):
        if given != "equal":
            raise ValueError(f"priors={given!r}; pass None, 'equal', a probability for each class, or a dict of them")
        return np.full(len(classes), 1 / len(classes))
    if isinstance(given, Mapping):
        if set(given) != set(classes):
            raise ValueError(f"priors are for {list(given)}, the classes are {classes}")
        given = [given[k] for k in classes]
    priors = np.asarray(given, float)
    if priors.shape != (len(classes),) or not (np.isfinite(priors).all() and (priors >= 0).all() and priors.sum() > 0):
        raise ValueError(f"priors={wanted!r}; pass a number >= 0 for each of the classes {classes}, not all 0")
    return priors / priors.sum()


class Estimator:
    """Parameters by name, a short repr, and the methods that clone, pipelines and searches of scikit-learn call.

    A constructor only stores its arguments, under their own names.
    """

    _estimator_type: str | None = None

    def __init_subclass__(cls):
        super().__init_subclass__()
        names_ours(cls)

    def _store(self, given):
        """Store the arguments of a constructor, which are its `locals()`."""
        vars(self).update({name: value for name, value in given.items() if name not in ("self", "__class__")})

    def __repr__(self) -> str:
        defaults = {n: p.default for n, p in inspect.signature(type(self)).parameters.items()}
        changed = {n: v for n, v in self.get_params().items() if v is not defaults[n] and not np.array_equal(v, defaults[n])}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in changed.items())})"

    def _repr_html_(self) -> str:
        """What notebooks show: all parameters, and whether the estimator is fitted."""
        fitted = any(name.endswith("_") and not name.startswith("_") for name in vars(self))
        given = self.get_params()
        table = Table({"parameter": np.array(list(given)), "value": np.array([repr(v) for v in given.values()])})
        return f"<p>{html.escape(type(self).__name__)}, {'fitted' if fitted else 'not fitted'}</p>{table._repr_html_()}"

    def __getstate__(self):
        """The state that is pickled: without an executor."""
        given = self.__dict__
        return given | {"workers": None} if is_executor(given.get("workers")) else given

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor by name.

        Parameters
        ----------
        deep : bool
            Accepted for scikit-learn and ignored: no parameter is an estimator.

        Returns
        -------
        dict
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor.

        Parameters
        ----------
        **params
            By name.

        Returns
        -------
        Estimator
            The estimator itself.

        Raises
        ------
        ValueError
            For the name of no parameter.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{name!r} is not a parameter of {type(self).__name__}; use one of {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        kind = self._estimator_type
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=kind in ("classifier", "regressor")),
            classifier_tags=ClassifierTags(multi_class=False) if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(),
        )
