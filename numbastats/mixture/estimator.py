"""A scikit-learn style estimator for one data set; scikit-learn itself is not needed."""

from __future__ import annotations

import contextlib

import numpy as np

from numbastats._core.broadcast import unmasked
from numbastats._core.dispatch import _device_kind, choose_device, in_kind_of, to_host
from numbastats._core.errors import ConvergenceWarning, names_ours, warn
from numbastats._core.estimator import Estimator, not_fitted
from numbastats.mixture.families import family_of
from numbastats.mixture.fitting import fit

__all__ = ["Mixture"]


class Mixture(Estimator):
    """One-dimensional mixture model.

    Parameters
    ----------
    n_components : int, or range or tuple of candidates
    family : str or tuple
        Required by `fit`: one of the families of `fit_many`.
    n_init, method, tol, max_iter, prior, criterion, se, rng, device, workers
        As in `fit_many`.

    Attributes
    ----------
    weights_, centres_, params_ : numpy.ndarray, shape (K,)
        As in `MixtureFit`, which has names for them and the means of x, too: `result_`.
    means_ : numpy.ndarray, shape (K,)
        Of families whose centres are the means of x.
    n_components_ : int
    loglik_, lower_bound_ : float
        Log-likelihood, and its mean per observation.
    converged_ : bool
    n_iter_, status_, n_features_in_ : int
    message_ : str
    result_ : MixtureFit

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-2, 1, 300), rng.normal(3, 0.5, 200)])[:, None]
    >>> model = ns.mixture.Mixture(2, family="gaussian", rng=0).fit(X)
    >>> model.means_.round().tolist(), model.predict([[-2.0], [3.0]]).tolist()
    ([-2.0, 3.0], [0, 1])
    """

    _estimator_type = "density_estimator"

    def __init__(
        self,
        n_components=2,
        *,
        family=None,
        n_init=None,
        method="newton",
        tol=1e-9,
        max_iter=5000,
        prior=None,
        criterion="bic",
        se=False,
        rng=None,
        device=None,
        workers=None,
    ):
        self.n_components, self.family, self.n_init, self.method = n_components, family, n_init, method
        self.tol, self.max_iter, self.prior, self.criterion, self.se = tol, max_iter, prior, criterion, se
        self.rng, self.device, self.workers = rng, device, workers

    def fit(self, X, y=None, sample_weight=None):
        """Fit the mixture.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)
            NaN are dropped.
        y : ignored
        sample_weight : array_like, shape (n,), optional
            Masked weights count as 0.

        Returns
        -------
        Mixture
            The estimator itself; with a `ConvergenceWarning` where `status_` is 1, 2 or 3.

        Raises
        ------
        ValueError
            For data that cannot be fitted.
        """
        x = _column(X)
        options = self.get_params()
        w = None if sample_weight is None else np.ma.filled(to_host(sample_weight, "sample_weight"), 0)
        r = fit(x, options.pop("n_components"), weights=w, **options)
        if r.status in (1, 2, 3):
            warn(f"status {r.status}: {r.message}", ConvergenceWarning)
        self.result_, self.n_features_in_ = r, 1
        self.weights_, self.centres_, self.params_, self.n_components_ = r.weights, r.centres, r.params, r.n_components
        self.loglik_, self.converged_, self.n_iter_, self.status_, self.message_ = (
            r.loglik, r.converged, r.n_iter, r.status, r.message,
        )  # fmt: skip
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

    def _fitted(self):
        if not hasattr(self, "result_"):
            raise not_fitted("this Mixture is not fitted yet; call fit(X) first")
        return self.result_

    def _of_values(self, method, X):
        """A method of the fit applied to the values, on the device where they are; of their kind."""
        function = getattr(self._fitted(), method)
        place = choose_device(self.device, on_device=True) if _device_kind(X) else self.device
        return in_kind_of(function(_column(X), device=place, workers=self.workers), X)

    def score_samples(self, X):
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

    def score(self, X, y=None):
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
        return scores[~np.isnan(_column(X))]

    def predict_proba(self, X):
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

    def predict(self, X):
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

    def fit_predict(self, X, y=None, sample_weight=None):
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
    def sample(self, n_samples=1, rng=None):
        """Draw from the fitted mixture.

        Parameters
        ----------
        n_samples : int
        rng : None, int, SeedSequence or Generator

        Returns
        -------
        numpy.ndarray, shape (n_samples, 1)

        Raises
        ------
        ValueError
            For anything but a number of draws.
        """
        if np.ndim(n_samples) or not hasattr(n_samples, "__index__") or n_samples < 0:
            raise ValueError(f"n_samples={n_samples!r} is not a number of draws; use an integer >= 0")
        return self._fitted().rvs(int(n_samples), rng=rng)[:, None]

    def _criterion(self, X, price):
        scores = self._scores(X)
        free = (3 if family_of(self.result_.family).two else 2) * self.n_components_ - 1
        return float(price(scores.size) * free - 2.0 * np.sum(scores))

    def bic(self, X):
        """Bayesian information criterion on X: ``p log(n) - 2 loglik``, less is better.

        Parameters
        ----------
        X : array_like, shape (n,) or (n, 1)
            NaN are dropped.

        Returns
        -------
        float
            p is 3 K - 1, or 2 K - 1 for families of one parameter. As accurate as the sum of `logpdf`, 1e-13 relative.

        References
        ----------
        G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978).
        """
        return self._criterion(X, np.log)

    def aic(self, X):
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


def _column(X):
    if hasattr(X, "toarray"):
        raise TypeError(f"sparse data ({type(X).__name__}) are not understood: pass X.toarray()")
    x = unmasked(to_host(X, "X"))
    if x.dtype.kind == "O" and all(getattr(d, "kind", "O") in "fiub" for d in np.atleast_1d(getattr(X, "dtypes", "O"))):
        x = X.to_numpy(float, na_value=np.nan)  # of a data frame or series with nullable columns
    if x.ndim == 2 and x.shape[1] == 1:
        return x[:, 0]
    if x.ndim == 2 and x.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={x.shape}) while a minimum of 1 is required: X has no column; pass (n,) or (n, 1)")
    if x.ndim != 1:
        raise ValueError(f"X has shape {x.shape}; a one-dimensional mixture takes (n,) or (n, 1)")
    return x
