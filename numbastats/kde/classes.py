"""Densities of groups of samples, and the classifier that compares them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from numbastats._core.data import NanPolicy
from numbastats._core.errors import warn
from numbastats._core.estimator import Estimator, check_names, classes_of, column_names, not_fitted, priors_of
from numbastats._core.kinds import rows_alike, to_host
from numbastats._core.options import Device
from numbastats.kde.arguments import Adaptive, Boundary, Convention, Rule, as_samples, check_weights
from numbastats.kde.bandwidth import Form, near_one
from numbastats.kde.estimator import KDE, fit_groups
from numbastats.kde.groups import split
from numbastats.kde.records import KernelName

if TYPE_CHECKING:
    from typing import Self

__all__ = ["KDEClassifier"]


class KDEClassifier(Estimator):
    """Classifier by the density of each class, scikit-learn compatible: the class k with the largest prior_k f_k(x).

    Parameters
    ----------
    priors : None, "equal", (K,) array_like or dict
        Probabilities of the classes in the order of `classes_`, or by class; they are divided by their sum. By default the shares
        of the samples, or of their weights.
    shared : bool
        One kernel matrix for all classes, the mean of theirs, weighted by the sums of their weights.
    kernel, h, H, sigma, bandwidth, bw_convention, boundary, adaptive, tail, nan_policy, dtype, device, workers, form
        As in `numbastats.kde.grid`, for each class. The default is the whole Gaussian, ``tail=0``, whose densities are 0 nowhere.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    priors_ : (K,) array
    densities_ : list of KDE
        Of the classes, fitted.
    n_features_in_, feature_names_in_ : as of `KDE`

    Notes
    -----
    Where the densities of all classes are 0, outside every support of a bounded kernel, the probabilities are the priors, and a
    warning says how many points that are.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.random.normal(size=(300, 2), rng=1)
    >>> y = np.repeat(["a", "b"], 150)
    >>> x[150:] += 2.0
    >>> model = ns.kde.KDEClassifier().fit(x, y)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]]).tolist(), bool(model.loo_accuracy() > 0.85)
    (['a', 'b'], True)
    """

    _estimator_type = "classifier"
    priors: Any
    shared: bool

    def __init__(  # noqa: PLR0913
        self,
        priors: str | ArrayLike | Mapping[Any, float] | None = None,
        shared: bool = False,
        kernel: KernelName = "gaussian",
        h: float | None = None,
        H: ArrayLike | None = None,
        sigma: ArrayLike | str = "cov",
        bandwidth: Rule = "eq9",
        bw_convention: Convention = "support",
        boundary: Boundary | None = None,
        adaptive: Adaptive | None = None,
        tail: float = 0.0,
        nan_policy: NanPolicy = "raise",
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        form: Form = "radial",
    ):
        self._store(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the density of every class; returns self.

        Parameters
        ----------
        X : (n, d) or (n,) array_like
        y : (n,) array_like
            Classes: numbers or words, none of them missing.
        sample_weight : (n,) array_like, optional
            Finite and >= 0.

        Raises
        ------
        ValueError
            As `numbastats.kde.KDE.fit`, with the name of the class; for labels that are missing or continuous, and for
            priors that are no probabilities of the classes.
        """
        rows_alike(X, y, ("X", "y"))
        rows_alike(X, sample_weight, ("X", "sample_weight"))
        x = as_samples(X, "X")[0]
        labels = classes_of(y, len(x), "KDEClassifier")
        options = {name: value for name, value in self.get_params().items() if name not in ("priors", "shared")}
        weights = None if sample_weight is None else near_one(check_weights(sample_weight, len(x)))
        densities = fit_groups(KDE(**options), split(x, labels, weights, "y"), self.shared, "class")
        self.classes_ = np.array(list(densities), dtype=labels.dtype)
        self.densities_ = list(densities.values())
        shares = np.array([one._fitted().model.total for one in self.densities_])
        self.priors_ = priors_of(self.priors, shares / shares.sum(), self.classes_.tolist())
        self.n_features_in_ = self.densities_[0].n_features_in_
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _joint(self, X):
        """Logarithms of prior times density, (n, K)."""
        if not hasattr(self, "densities_"):
            raise not_fitted("this KDEClassifier is not fitted yet; call fit(X, y) first")
        check_names(column_names(X), self)
        d = self.n_features_in_
        if getattr(X, "ndim", 0) == 1 and d > 1:
            raise ValueError(f"X has shape {np.shape(X)}; Reshape your data with X.reshape(1, -1) if it is one point")
        x = as_samples(X, "X")[0]
        if x.shape[1] != d:
            raise ValueError(f"X has {x.shape[1]} features, but KDEClassifier is expecting {d} features as input")
        bad = ~np.isfinite(x).all(1)
        if bad.any():
            raise ValueError(f"X contains NaN or infinity in {bad.sum()} rows, which have no class; drop them")
        logs = [np.asarray(to_host(one.logpdf(x), "the densities"), float).reshape(-1) for one in self.densities_]
        with np.errstate(divide="ignore"):
            return np.stack(logs, 1) + np.log(self.priors_)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, (n, K); as `predict_proba`."""
        joint = self._joint(X)
        top = joint.max(1, keepdims=True)
        nowhere = np.isneginf(top[:, 0])
        if nowhere.any():
            warn(
                f"all densities are 0 at {nowhere.sum()} of {len(joint)} points, which get the priors; pass kernel='gaussian' "
                "with tail=0, or a wider bandwidth"
            )
            with np.errstate(divide="ignore"):
                joint[nowhere] = np.log(self.priors_)
            top = joint.max(1, keepdims=True)
        return joint - top - np.log(np.exp(joint - top).sum(1, keepdims=True))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes.

        Parameters
        ----------
        X : (n, d) or (n,) array_like

        Returns
        -------
        (n, K) array
            In the order of `classes_`.

        Raises
        ------
        ValueError
            Before `fit`, for points of another number of columns, and for NaN and inf.

        Warns
        -----
        UserWarning
            Where the densities of all classes are 0.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest probability at (n, d) points; as `predict_proba`."""
        best = self.predict_log_proba(X).argmax(1)
        return self.classes_[best]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of points, or of their weights, whose class is predicted."""
        right = self.predict(X) == np.asarray(to_host(y, "y")).reshape(-1)
        return float(np.average(right, weights=None if sample_weight is None else check_weights(sample_weight, len(right))))

    def loo_accuracy(self) -> float:
        """Leave-one-out accuracy: the share of samples that the others classify rightly, bandwidths and priors being the fit's.

        Returns
        -------
        float
            By weights where there are some. A sample at which all densities are 0 without itself counts as wrong.

        Raises
        ------
        ValueError
            Before `fit`, and with a boundary.
        """
        if not hasattr(self, "densities_"):
            raise not_fitted("this KDEClassifier is not fitted yet; call fit(X, y) first")
        right, total = 0.0, 0.0
        with np.errstate(divide="ignore"):
            priors = np.log(self.priors_)
            for k, one in enumerate(self.densities_):
                m = one._fitted().model
                logs = np.stack([np.asarray(other.logpdf(m.x), float) for other in self.densities_], 1) + priors
                logs[:, k] = np.log(one._fitted().left_out()) + priors[k]
                w = np.ones(len(m.x)) if m.weights is None else m.weights
                right += w @ ((logs.argmax(1) == k) & (logs[:, k] > -math.inf))
                total += w.sum()
        return float(right / total)
