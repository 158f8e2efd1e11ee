"""`GaussianMixture`: the call signatures of `sklearn.mixture.GaussianMixture` on top of `numbastats.mixture`."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import refuse_lazy
from numbastats._core.errors import ConvergenceWarning, warn
from numbastats._core.estimator import Estimator, check_names, column_names, not_fitted
from numbastats.mixture import MultivariateFit
from numbastats.mixture.multivariate.scikit import fit_like, loglik_of

__all__ = ["GaussianMixture"]

CovarianceType = Literal["full", "tied", "diag", "spherical"]


class GaussianMixture(Estimator):
    """Stands in for `sklearn.mixture.GaussianMixture`: same arguments, attributes and methods.

    Fits end at a certified local maximum, the best that a portfolio of starts and exchanges of components finds, so that the
    likelihood is seldom less than that of scikit-learn's default; where `means_init` is given, EM begins there as in scikit-learn
    and goes on to the maximum. No ridge is added to covariances: a constant column, or one that others determine, which
    scikit-learn fits by its ridge, is refused; drop it.

    Parameters
    ----------
    n_components : int
    covariance_type : {"full", "tied", "diag", "spherical"}
    tol : float
        Accepted and ignored: climbs end by Newton's method, at a decrement of 1e-9.
    reg_covar : float
        Accepted and ignored: components are admissible or not, whatever the units are.
    max_iter : int
        Accepted and ignored.
    n_init : int
        Searches by different draws, of which the best counts.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        Accepted; "random" and "random_from_data" mean starts from random partitions alone.
    weights_init, means_init, precisions_init : array_like, optional
        A start, beside which there are no others. Where some are missing they are those of a step of EM.
    random_state : None, int, RandomState or Generator
    warm_start : bool
        Begin from the last fit, beside the other starts.
    verbose, verbose_interval : int
        Accepted and ignored.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_, converged_, n_iter_, lower_bound_, lower_bounds_
        As in scikit-learn: covariances and precisions have the shapes of `covariance_type`.
    n_features_in_, feature_names_in_
    result_ : numbastats.mixture.MultivariateFit
        With standard errors' ingredients, certificate and criteria.

    Examples
    --------
    >>> import numpy as np
    >>> from numbastats.interop import GaussianMixture
    >>> X = np.array(
    ...     [
    ...         [1, 2],
    ...         [1, 4],
    ...         [1.2, 0],
    ...         [0.8, 3],
    ...         [1.5, 1],
    ...         [10, 2],
    ...         [10, 4],
    ...         [10.3, 0],
    ...         [9.5, 1],
    ...         [10.7, 3],
    ...     ]
    ... )
    >>> model = GaussianMixture(2, covariance_type="tied", random_state=0).fit(X)
    >>> model.means_.round(1).tolist()
    [[1.1, 2.0], [10.1, 2.0]]
    >>> model.predict([[0, 0], [12, 3]]).tolist()
    [0, 1]
    """

    _estimator_type = "density_estimator"
    n_components: int
    covariance_type: CovarianceType
    random_state: Any
    warm_start: bool
    result_: MultivariateFit

    def __init__(  # noqa: PLR0913
        self,
        n_components: int = 1,
        *,
        covariance_type: CovarianceType = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: ArrayLike | None = None,
        means_init: ArrayLike | None = None,
        precisions_init: ArrayLike | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ):
        self._store(locals())

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : ignored
        sample_weight : array_like, shape (n,), optional

        Returns
        -------
        GaussianMixture
            The estimator itself; with a `ConvergenceWarning` where the fit is not certified.

        Raises
        ------
        ValueError
            For invalid arguments and data that cannot be fitted.
        """
        refuse_lazy(X, "X")
        names = column_names(X)
        r = fit_like(self, X, sample_weight, self.result_ if self.warm_start and hasattr(self, "result_") else None)
        self.result_, self.n_features_in_ = r, r.means.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._set(r.weights, r.means, r.covariances)
        self.converged_, self.n_iter_ = r.converged, r.n_iter
        total = r.n_used if sample_weight is None else float(np.sum(np.asarray(sample_weight)))
        self.lower_bound_ = r.loglik / total
        self.lower_bounds_ = [self.lower_bound_]
        if r.status != 0:
            warn(f"status {r.status}: {r.message}", ConvergenceWarning)
        return self

    def _set(self, weights, means, covariances):
        """Attributes in the shapes of scikit-learn."""
        roots = np.swapaxes(np.linalg.inv(np.linalg.cholesky(covariances)), 1, 2)
        full, root = covariances, roots
        precisions = roots @ np.swapaxes(roots, 1, 2)
        if self.covariance_type == "tied":
            full, root, precisions = full[0], root[0], precisions[0]
        elif self.covariance_type in ("diag", "spherical"):
            full, root, precisions = (np.diagonal(a, axis1=1, axis2=2).copy() for a in (full, root, precisions))
            if self.covariance_type == "spherical":
                full, root, precisions = full[:, 0], root[:, 0], precisions[:, 0]
        self.weights_, self.means_, self.covariances_ = weights, means, full
        self.precisions_cholesky_, self.precisions_ = root, precisions

    def _fitted(self, X=None):
        if not hasattr(self, "result_"):
            raise not_fitted(
                "This GaussianMixture instance is not fitted yet. Call 'fit' with appropriate arguments before using this "
                "estimator."
            )
        if X is not None:
            refuse_lazy(X, "X")
            check_names(column_names(X), self)
            shape = np.shape(X)
            if len(shape) != 2:
                raise ValueError(f"Expected 2D array, got an array of shape {shape}; reshape X to (n, {self.n_features_in_})")
            if shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {shape[1]} features, but GaussianMixture is expecting {self.n_features_in_} features as input"
                )
        return self.result_

    def score_samples(self, X: ArrayLike) -> NDArray:
        """Log density (n,) of every row of X (n, d)."""
        return self._fitted(X).logpdf(np.asarray(X, np.float64))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean log density of the rows of X (n, d)."""
        return float(np.mean(self.score_samples(X)))

    def predict(self, X: ArrayLike) -> NDArray:
        """Most probable component (n,) of every row of X (n, d)."""
        return self._fitted(X).predict(np.asarray(X, np.float64))

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Posterior probabilities (n, K) of the components, of every row of X (n, d)."""
        return self._fitted(X).predict_proba(np.asarray(X, np.float64))

    def fit_predict(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> NDArray:
        """Fit the mixture to X (n, d), with `sample_weight` (n,); the most probable component (n,) of every row."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def sample(self, n_samples: int = 1) -> tuple[NDArray, NDArray]:
        """Draws and their components, those of a component together.

        Parameters
        ----------
        n_samples : int

        Returns
        -------
        X : numpy.ndarray, shape (n_samples, d)
        y : numpy.ndarray of int, shape (n_samples,)

        Raises
        ------
        ValueError
            Where `n_samples` is less than 1.
        """
        r = self._fitted()
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples}. The sampling requires at least one sample.")
        rng = generator_of(self.random_state)
        counts = rng.multinomial(n_samples, r.weights / r.weights.sum())
        z = rng.standard_normal((n_samples, self.n_features_in_))
        y = np.repeat(np.arange(counts.size), counts)
        low = np.linalg.cholesky(r.covariances)
        return r.means[y] + np.einsum("nij,nj->ni", low[y], z), y

    def bic(self, X: ArrayLike) -> float:
        """Bayesian information criterion on X (n, d), less is better."""
        return self._fitted(X).n_free * math.log(np.shape(X)[0]) - 2.0 * loglik_of(self.result_, X)

    def aic(self, X: ArrayLike) -> float:
        """Akaike information criterion on X (n, d), less is better."""
        return 2.0 * self._fitted(X).n_free - 2.0 * loglik_of(self.result_, X)


def generator_of(random_state):
    """A generator from what scikit-learn calls a random state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=2))
    return np.random.default_rng(random_state)
