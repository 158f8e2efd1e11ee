"""`MixtureDiscriminantAnalysis`: a classifier with a normal mixture for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.estimator import Estimator, check_names, classes_of, column_names, not_fitted, priors_of
from numbastats._core.groups import Keys
from numbastats._core.kinds import rows_alike, to_host
from numbastats._core.options import Device
from numbastats._core.status import REFUSED, Status
from numbastats.mixture.arguments import Seed
from numbastats.mixture.multivariate.arguments import Rows, one_table
from numbastats.mixture.multivariate.fitting import fit_rows, warn_of_fits

__all__ = ["MixtureDiscriminantAnalysis"]


class MixtureDiscriminantAnalysis(Estimator):
    """Classifier with a normal mixture for each class, scikit-learn compatible: the class k with the largest prior_k f_k(x).

    With one component and full covariances in each class it is quadratic discriminant analysis.

    Parameters
    ----------
    n_components : int, range or tuple of candidates
        Components of each class; `criterion` chooses for each by itself.
    covariance : str or sequence of str
        As in `fit`: one model, several or "all", of which the criterion chooses for each class.
    priors : None, "equal", (C,) array_like or dict
        Probabilities of the classes in the order of `classes_`, or by class; they are divided by their sum. By default the shares
        of the samples, or of their weights.
    criterion, n_init, min_count, max_condition, rng, device, workers
        As in `fit_many`.

    Attributes
    ----------
    classes_ : numpy.ndarray, shape (C,)
        Sorted.
    priors_ : numpy.ndarray, shape (C,)
    result_ : MultivariateBatch
        The mixtures, with the classes as their keys: ``result_["a"]`` is that of class "a".
    status_ : numpy.ndarray of int, shape (C,)
        How the fits ended; `numbastats.Status`.
    n_features_in_ : int
    feature_names_in_ : numpy.ndarray of str
        Of a frame.

    Notes
    -----
    All classes, numbers of components and models are fitted in one batch. A class needs d + 2 samples, or `min_count`.

    References
    ----------
    T. Hastie, R. Tibshirani, "Discriminant analysis by Gaussian mixtures", Journal of the Royal Statistical Society B 58 (1996).
    C. Fraley, A. Raftery, "Model-based clustering, discriminant analysis, and density estimation", Journal of the American
    Statistical Association 97 (2002).

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(600, 2))
    >>> x[200:400] += 4.0  # class "a" has two clusters, and "b" is between them
    >>> x[400:] += 2.0
    >>> y = np.repeat(["a", "a", "b"], 200)
    >>> model = ns.mixture.MixtureDiscriminantAnalysis(rng=0).fit(x, y)
    >>> (
    ...     model.result_.n_components.tolist(),
    ...     model.predict([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]]).tolist(),
    ... )
    ([2, 1], ['a', 'b', 'a'])
    """

    _estimator_type = "classifier"

    def __init__(  # noqa: PLR0913
        self,
        n_components: int | Sequence[int] = (1, 2, 3),
        *,
        covariance: str | Sequence[str] = ("spherical", "diag", "tied", "full"),
        priors: str | ArrayLike | Mapping[Any, float] | None = None,
        criterion: Literal["bic", "aic", "icl"] = "bic",
        n_init: int | None = None,
        min_count: float | None = None,
        max_condition: float | None = None,
        rng: Seed = None,
        device: Device = None,
        workers: Any = None,
    ):
        self.n_components, self.covariance, self.priors, self.criterion = n_components, covariance, priors, criterion
        self.n_init, self.min_count, self.max_condition = n_init, min_count, max_condition
        self.rng, self.device, self.workers = rng, device, workers

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture of every class.

        Parameters
        ----------
        X : array_like, shape (n, d)
            In any of the forms of :doc:`/data`.
        y : array_like, shape (n,)
            Classes: numbers or words, none of them missing.
        sample_weight : array_like, shape (n,), optional
            Weights >= 0, as counts.

        Returns
        -------
        MixtureDiscriminantAnalysis
            The estimator itself.

        Raises
        ------
        ValueError
            For missing and infinite values, for labels that are missing or continuous, for priors that are no probabilities of
            the classes, and, with the name of the class, where one cannot be fitted.

        Warns
        -----
        ConvergenceWarning
            Of doubtful choices, as `fit_many`.
        """
        rows_alike(X, y, ("X", "y"))
        if (shape := tuple(getattr(X, "shape", ())))[1:] == (0,):
            raise ValueError(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
        rows = one_table(X, sample_weight, "raise", "X")
        if rows.w.size and not rows.w.any():
            raise ValueError("sample_weight is zero for all rows: none is left")
        if rows.refused:
            raise ValueError(rows.refused[0].said)
        if len(x := _finite(rows.x)) < 2:
            raise ValueError(f"X has {len(x)} samples (n_samples = {len(x)}), too few for classes of d + 2, or of min_count=")
        labels = classes_of(y, len(x), type(self).__name__)
        if labels.shape != (len(x),):
            raise ValueError(f"y has shape {labels.shape}, inconsistent with the {len(x)} samples of X")
        self.classes_, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        order = np.argsort(codes, kind="stable")
        keys, w = Keys.of(self.classes_.tolist(), ["class"]), rows.w[order] if rows.w.size else rows.w
        sets = Rows(np.ascontiguousarray(x[order]), w, np.concatenate([[0], np.cumsum(counts)]), rows.columns, keys)
        options = {name: value for name, value in self.get_params().items() if name not in ("n_components", "priors")}
        found = fit_rows(sets, self.n_components, **options)
        for i in np.flatnonzero(np.isin(found.status, (*REFUSED, Status.COLLAPSED))).tolist():
            raise ValueError(f"class {self.classes_[i]!r} cannot be fitted: {found._said(i)}")
        warn_of_fits(found, sets, found.tried["n_components"].size > 1)
        self.result_, self.status_, self.n_features_in_ = found, found.status, x.shape[1]
        self.priors_ = priors_of(self.priors, found.n_obs / found.n_obs.sum(), self.classes_.tolist())
        vars(self).pop("feature_names_in_", None)
        if (names := column_names(X)) is not None:
            self.feature_names_in_ = names
        return self

    def predict_log_proba(self, X: ArrayLike) -> NDArray:
        """Logarithms of the probabilities of the classes, (n, C); as `predict_proba`."""
        if not hasattr(self, "result_"):
            raise not_fitted(f"this {type(self).__name__} is not fitted yet; call fit(X, y) first")
        check_names(column_names(X), self)
        if getattr(X, "ndim", 2) == 1:
            raise ValueError(f"X has shape {np.shape(X)}; Reshape your data with X.reshape(1, -1) if it is one point")
        x, d = _finite(one_table(X, None, "raise", "X").x), self.n_features_in_
        if x.shape[1] != d:
            raise ValueError(f"X has {x.shape[1]} features, but {type(self).__name__} is expecting {d} features as input")
        with np.errstate(divide="ignore"):
            prior = np.log(self.priors_)
        joint = np.stack([fit.logpdf(x, workers=self.workers) for fit in self.result_], axis=1) + prior
        joint[np.isneginf(joint).all(axis=1)] = prior  # so far out that no density is a double
        joint -= joint.max(axis=1, keepdims=True)
        return joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array_like, shape (n, d)

        Returns
        -------
        numpy.ndarray, shape (n, C)
            In the order of `classes_`.

        Raises
        ------
        ValueError
            Before `fit`, for points of another number of columns, and for missing and infinite values.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: ArrayLike) -> NDArray:
        """The most probable class at rows (n, d); as `predict_proba`."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of rows, or of their weights, whose class is predicted."""
        right = self.predict(X) == np.asarray(to_host(y, "y")).reshape(-1)
        return float(np.average(right, weights=None if sample_weight is None else to_host(sample_weight, "sample_weight")))


def _finite(x):
    """Rows without infinite values."""
    if bad := int((~np.isfinite(x)).any(axis=1).sum()):
        raise ValueError(f"X contains NaN or infinity in {bad} rows, which have no class; drop them")
    return x
