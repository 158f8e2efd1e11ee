"""`Mixture`: a mixture as an estimator of scikit-learn, of one column or of several."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import is_lazy
from numbastats._core.data import NanPolicy
from numbastats._core.errors import ConvergenceWarning, names_ours, warn
from numbastats._core.estimator import Estimator, column_names, not_fitted
from numbastats._core.kinds import device_kind, in_kind_of, rows_alike, to_host
from numbastats._core.launch import choose_device
from numbastats._core.options import Device
from numbastats.mixture.arguments import Seed, column, draw_count, weights_of
from numbastats.mixture.criteria import free_parameters
from numbastats.mixture.families import family_of
from numbastats.mixture.fitting import fit
from numbastats.mixture.multivariate.arguments import is_table
from numbastats.mixture.multivariate.results import MultivariateFit
from numbastats.mixture.results import MixtureDistribution, MixtureFit


class Mixture(MixtureDistribution, Estimator):
    """Mixture model of one column, or of several by normal or Student t components.

    Parameters
    ----------
    n_components : int, or range or tuple of candidates
    family : str, type, tuple or list
        Required by `fit`: what the function `fit` takes.
    n_init, method, tol, max_iter, prior, criterion, se, nan_policy, rng, device, workers
        As in `fit_many`; `method`, `max_iter` and `prior` are options of one column.
    equal, fixed_weights
        As in `fit`.
    covariance : str or sequence of str, optional
        Of several columns: "full" (the default), "tied", "diag", "spherical", "tied-diag", "tied-spherical", eight models by
        their letters, as "VEV", several of them, or "all", as in `fit_many`.
    noise : bool or float
        Of several columns, whether there is uniform noise beside the components, or its volume, as in `fit_many`. The last column
        of probabilities is its own, and its label is -1.

    Attributes
    ----------
    weights_, centres_, params_ : numpy.ndarray, shape (K,)
        As in `MixtureFit`, which has names for them and the means of x, too: `result_`. Where `result_` is a
        `ComponentsFit`, `weights_` alone; it has `components`.
    means_ : numpy.ndarray, shape (K,) or (K, d)
        Of families whose centres are the means of x.
    covariances_ : numpy.ndarray, shape (K, d, d)
        Of several columns.
    n_components_ : int
    loglik_, lower_bound_ : float
        Log-likelihood, and its mean per observation.
    converged_ : bool
    n_iter_, status_, n_features_in_ : int
    feature_names_in_ : numpy.ndarray of str
        Of a frame of several columns.
    message_ : str
    result_ : MixtureFit, ComponentsFit or MultivariateFit

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-2, 1, 300), rng.normal(3, 0.5, 200)])[:, None]
    >>> model = ns.mixture.Mixture(2, family="normal", rng=0).fit(X)
    >>> model.means_.round().tolist(), model.predict([[-2.0], [3.0]]).tolist()
    ([-2.0, 3.0], [0, 1])
    """

    _estimator_type = "density_estimator"

    def __init__(  # noqa: PLR0913
        self,
        n_components: int | Sequence[int] = 2,
        *,
        family: str | type | tuple | list | None = "normal",
        n_init: int | None = None,
        method: Literal["newton", "squarem", "em", "bulkem"] = "newton",
        tol: float = 1e-9,
        max_iter: int = 5000,
        prior: Mapping[str, float] | None = None,
        criterion: Literal["bic", "aic", "icl"] = "bic",
        se: bool | Literal["sandwich"] = False,
        nan_policy: NanPolicy = "omit",
        rng: Seed = None,
        device: Device = None,
        workers: int | Executor | None = None,
        equal: str | Sequence[str] | None = None,
        fixed_weights: ArrayLike | None = None,
        covariance: str | Sequence[str] | None = None,
        noise: bool | float = False,
    ):
        self.n_components, self.family, self.n_init, self.method = n_components, family, n_init, method
        self.tol, self.max_iter, self.prior, self.criterion, self.se = tol, max_iter, prior, criterion, se
        self.nan_policy = nan_policy
        self.rng, self.device, self.workers = rng, device, workers
        self.equal, self.fixed_weights, self.covariance, self.noise = equal, fixed_weights, covariance, noise

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : array_like, shape (n,), (n, 1) or (n, d)
            In any of the forms of :doc:`/data`; of several columns also an array or a frame of dask, as `fit` takes it.
        y : ignored
        sample_weight : array_like, shape (n,), optional
            Masked weights count as 0.

        Returns
        -------
        Mixture
            The estimator itself; with a `ConvergenceWarning` where `status_` is not 0.

        Raises
        ------
        ValueError
            For data that cannot be fitted.
        """
        rows_alike(X, sample_weight, ("X", "sample_weight"))
        several = is_table(X)
        x = X if several else column(X)
        options = self.get_params()
        lazy = sample_weight is None or is_lazy(sample_weight)
        w: Any = sample_weight if lazy else weights_of(sample_weight, "sample_weight")
        r = fit(x, options.pop("n_components"), weights=w, **options)
        candidates = len(r.selection["status"]) if isinstance(r, MultivariateFit) else np.size(self.n_components)
        if r.status != 0 and candidates == 1:  # of several `fit` has warned
            warn(f"status {r.status}: {r.message}", ConvergenceWarning)
        self.result_, self.n_features_in_ = r, len(r.columns) if isinstance(r, MultivariateFit) else 1
        vars(self).pop("feature_names_in_", None)
        if several and (names := column_names(X)) is not None:
            self.feature_names_in_ = names
        self.weights_, self.n_components_ = r.weights, r.n_components
        if isinstance(r, MixtureFit):
            self.centres_, self.params_ = r.centres, r.params
        elif isinstance(r, MultivariateFit):
            self.covariances_ = r.covariances
        self.loglik_, self.converged_, self.n_iter_ = r.loglik, r.converged, r.n_iter
        self.status_, self.message_ = r.status, r.message
        if isinstance(r, MultivariateFit):
            total = r.n_obs
        else:
            total = r.n_used if w is None else float(np.sum(w[~np.isnan(x)]))
        self.lower_bound_ = r.loglik / total
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.allow_nan = True
        with contextlib.suppress(TypeError, ValueError):  # of a family that `fit` will refuse
            tags.input_tags.positive_only = family_of(self.family).minimum >= 0.0
        return tags

    @property
    def means_(self):
        """Means of the components, of families whose centres are the means of x."""
        return self._fitted().means

    def _of(self, name, *args, **options):
        r = self._fitted()
        if not isinstance(r, MultivariateFit):
            return r._of(name, *args, **options)
        if not hasattr(r, name):
            raise AttributeError(f"a mixture in several dimensions has no {name}; marginal([column]) of result_ has one column")
        options.pop("device", None)
        return getattr(r, name)(*args, **options)

    def _moments(self):
        r = self._fitted()
        return (r.mean(), np.diagonal(r.cov())) if isinstance(r, MultivariateFit) else r._moments()

    def std(self):
        """Standard deviation of x under the fitted mixture, of each column where there are several.

        Returns
        -------
        float or numpy.ndarray, shape (d,)
        """
        return np.sqrt(self._moments()[1])[()]

    def _place(self, device, workers):
        return dict(device=device or self.device, workers=self.workers if workers is None else workers)

    def _fitted(self):
        if not hasattr(self, "result_"):
            raise not_fitted("this Mixture is not fitted yet; call fit(X) first")
        return self.result_

    def _of_values(self, method, X):
        """A method of the fit applied to the values, on the device where they are; of their kind."""
        function = getattr(r := self._fitted(), method)
        if isinstance(r, MultivariateFit):
            return function(X, workers=self.workers)
        place = choose_device(self.device, on_device=True) if device_kind(X) else self.device
        return in_kind_of(function(column(X), device=place, workers=self.workers), X)

    def score_samples(self, X: ArrayLike) -> NDArray:
        """Log density of every observation.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)

        Returns
        -------
        array, shape (n,)
            Of the kind of X.
        """
        return self._of_values("logpdf", X)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Mean log density.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)
            NaN are dropped.
        y : ignored

        Returns
        -------
        float
        """
        return float(np.mean(self._scores(X)))

    def _scores(self, X):
        """Log densities of the values that are not NaN."""
        scores = to_host(self.score_samples(X), "X")
        return scores[~np.isnan(scores if isinstance(self.result_, MultivariateFit) else column(X))]

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Posterior probabilities of the components.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)

        Returns
        -------
        array, shape (n, K)
            Of the kind of X.
        """
        return self._of_values("predict_proba", X)

    def predict(self, X: ArrayLike) -> NDArray:
        """Most probable component of every observation.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)

        Returns
        -------
        array of int, shape (n,)
            Of the kind of X; -1 for NaN and outside the support.
        """
        return self._of_values("predict", X)

    def fit_predict(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> NDArray:
        """Fit the mixture; the most probable component of every observation.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)
        y : ignored
        sample_weight : array_like, shape (n,), optional

        Returns
        -------
        array of int, shape (n,)
            As of `predict`.
        """
        return self.fit(X, sample_weight=sample_weight).predict(X)

    @names_ours
    def sample(self, n_samples: int = 1, rng: Seed = None) -> NDArray:
        """Draw from the fitted mixture.

        Parameters
        ----------
        n_samples : int
        rng : None, int, SeedSequence or Generator

        Returns
        -------
        numpy.ndarray, shape (n_samples, 1) or (n_samples, d)

        Raises
        ------
        ValueError
            Unless `n_samples` is an integer >= 0.
        """
        draws = self._fitted().rvs(draw_count(n_samples), rng=rng)
        return draws if draws.ndim == 2 else draws[:, None]

    def _criterion(self, X, price):
        scores = self._scores(X)
        r = self.result_
        free = free_parameters(family_of(r.family), r.n_components) if isinstance(r, MixtureFit) else r.n_free
        return float(price(scores.size) * free - 2.0 * np.sum(scores))

    def bic(self, X: ArrayLike) -> float:
        """Bayesian information criterion on X: ``p log(n) - 2 loglik``, less is better.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)
            NaN are dropped.

        Returns
        -------
        float
            p is 3 K - 1, or 2 K - 1 for families of one parameter, 4 K - 1 for those of three. As accurate as the sum of
            `logpdf`, 1e-13 relative.

        References
        ----------
        G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978).
        """
        return self._criterion(X, np.log)

    def aic(self, X: ArrayLike) -> float:
        """Akaike information criterion on X: ``2 p - 2 loglik``, less is better.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)
            NaN are dropped.

        Returns
        -------
        float
            With p as in `bic`, and as accurate.

        References
        ----------
        H. Akaike, "A new look at the statistical model identification", IEEE Transactions on Automatic Control 19 (1974).
        """
        return self._criterion(X, lambda n: 2.0)
