"""`gaussian_kde`: the call signatures of `scipy.stats.gaussian_kde` on top of `numbastats.kde`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import refuse_lazy
from numbastats._core.errors import names_ours
from numbastats.kde import KDE

__all__ = ["gaussian_kde"]


@names_ours
class gaussian_kde:  # noqa: N801
    """Stands in for `scipy.stats.gaussian_kde`: same arguments, attributes and methods, columns of `dataset` being samples.

    Densities are SciPy's to rounding, in float64; `resample` draws other numbers than SciPy, the same for the same seed.

    Parameters
    ----------
    dataset : (n,) or (d, n) array_like
        Samples in columns.
    bw_method : {"scott", "silverman"}, number or callable, optional
        The bandwidth factor, or a function of this object that returns it.
    weights : (n,) array_like, optional

    Attributes
    ----------
    dataset, d, n, neff, weights, factor, covariance, inv_cov : as in SciPy

    Raises
    ------
    ValueError
        For fewer than two samples (of positive weight), more dimensions than samples, and other weights than one a sample.
    numpy.linalg.LinAlgError
        For a singular covariance; it is a ValueError.
    TypeError
        For arrays of dask, here and in the methods.

    Examples
    --------
    >>> from numbastats.interop import gaussian_kde
    >>> gaussian_kde([0.0, 1.0, 3.0])(1.0).round(6)
    array([0.214895])
    """

    def __init__(
        self, dataset: ArrayLike, bw_method: str | float | Callable[[Any], float] | None = None, weights: ArrayLike | None = None
    ):
        refuse_lazy(dataset, "dataset")
        refuse_lazy(weights, "weights")
        self.dataset = np.atleast_2d(np.asarray(dataset, float))
        self.d, self.n = self.dataset.shape
        if self.dataset.size < 2:
            raise ValueError("dataset has one number; pass several samples")
        if self.d > self.n:
            raise ValueError(f"dataset has shape {self.dataset.shape}; samples are columns, shape (d, n): transpose it?")
        if weights is not None:
            w = np.asarray(weights, float)
            if w.shape != (self.n,):
                raise ValueError(f"weights have shape {w.shape}; pass one weight per sample, shape ({self.n},)")
            if not (np.isfinite(w).all() and (w >= 0).all()) or np.count_nonzero(w) < 2:
                raise ValueError(
                    f"of the weights {np.count_nonzero(w > 0)} are positive and {np.count_nonzero(~(w >= 0))} negative or NaN; "
                    "pass finite ones >= 0, two of them positive at least, as one sample has no covariance"
                )
            self._weights = w / w.sum()
        self.set_bandwidth(bw_method)

    # subclasses of SciPy's class set `dataset`, `d` and `n` and call `_compute_covariance`, without our __init__
    _weights: NDArray[np.float64] | None = None
    _data_covariance: NDArray[np.float64] | None = None
    _rule: Callable[[], float] | None = None

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the samples; their sum is 1."""
        return np.full(self.n, 1.0 / self.n) if self._weights is None else self._weights

    @property
    def neff(self) -> float:
        """Effective number of samples."""
        return float(1 / (self.weights @ self.weights))

    def scotts_factor(self) -> float:
        """Scott's factor, ``neff^(-1/(d+4))``."""
        return self.neff ** (-1 / (self.d + 4))

    def silverman_factor(self) -> float:
        """Silverman's factor, ``(neff (d+2)/4)^(-1/(d+4))``."""
        return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))

    def covariance_factor(self) -> float:
        """The bandwidth factor of the rule in use."""
        return float((self._rule or self.scotts_factor)())

    def set_bandwidth(self, bw_method: str | float | Callable[[Any], float] | None = None) -> None:
        """Change the bandwidth; None keeps the rule.

        Parameters
        ----------
        bw_method : {"scott", "silverman"}, number or callable, optional

        Raises
        ------
        ValueError
            For anything else.
        numpy.linalg.LinAlgError
            Where the kernel's covariance is singular.
        """
        if isinstance(bw_method, str):
            rules = {"scott": self.scotts_factor, "silverman": self.silverman_factor}
            if bw_method not in rules:
                raise ValueError(f"bw_method={bw_method!r}; use 'scott', 'silverman', a number or a function")
            self._rule = rules[bw_method]
        elif callable(bw_method):
            function = bw_method
            self._rule = lambda: function(self)
        elif bw_method is not None:
            if np.ndim(bw_method):
                raise ValueError(f"bw_method={bw_method!r}; use 'scott', 'silverman', a number or a function")
            number = float(bw_method)
            self._rule = lambda: number
        self._compute_covariance()

    def _compute_covariance(self):
        """The kernel by the factor as it is; SciPy's users call it after they have changed `covariance_factor`."""
        self.factor = self.covariance_factor()
        if self._data_covariance is None:
            self._data_covariance = np.atleast_2d(np.cov(self.dataset, aweights=self.weights))
        self.covariance = self._data_covariance * self.factor**2
        try:
            np.linalg.cholesky(self.covariance)
        except np.linalg.LinAlgError:
            raise np.linalg.LinAlgError(
                "the covariance of the dataset is singular: samples are constant, or lie in a subspace; reduce their dimension"
            ) from None
        self._kde = KDE("gaussian", H=self.covariance, tail=0.0).fit(self.dataset.T, sample_weight=self.weights)

    @property
    def inv_cov(self) -> NDArray[np.float64]:
        """Inverse of the covariance."""
        return np.asarray(np.linalg.inv(self.covariance), np.float64)

    def _columns(self, points):
        refuse_lazy(points, "the points")
        at = np.atleast_2d(np.asarray(points, float))
        at = at.reshape(self.d, 1) if at.shape == (1, self.d) else at
        if at.shape[0] != self.d:
            raise ValueError(f"points have dimension {at.shape[0]}, dataset has dimension {self.d}; points are columns")
        return np.ascontiguousarray(at.T)

    def evaluate(self, points: ArrayLike) -> NDArray[np.float64]:
        """Density at points.

        Parameters
        ----------
        points : (d, m) array_like, or (m,) for d = 1, or (d,) for one point

        Returns
        -------
        (m,) array

        Raises
        ------
        ValueError
            For another dimension.
        """
        return self._kde.points(self._columns(points))

    __call__ = pdf = evaluate

    def logpdf(self, x: ArrayLike) -> NDArray[np.float64]:
        """Logarithm of the density at points `x`, finite however far away; as `evaluate`."""
        return self._kde.logpdf(self._columns(x))

    def integrate_box_1d(self, low: float, high: float) -> float:
        """Probability between `low` and `high` in one dimension; ValueError in more."""
        if self.d != 1:
            raise ValueError("integrate_box_1d is for one dimension; use integrate_box")
        a, b = np.array([low, high], float)
        if a > 0.5 * (self.dataset.max() + self.dataset.min()):
            return float(self._kde.sf(a) - self._kde.sf(b))
        return float(self._kde.cdf(b) - self._kde.cdf(a))

    def integrate_box(
        self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: int | None = None, *, rng: Any = None
    ) -> float:
        """Probability of the box between `low_bounds` and `high_bounds`.

        Parameters
        ----------
        low_bounds, high_bounds : (d,) array_like
        maxpts : int, optional
            Points of SciPy's integrator, in more than one dimension.
        rng : optional
            Its random generator.

        Notes
        -----
        In more than one dimension the mean of SciPy's probabilities of normal distributions, with errors of about 1e-5.
        """
        low, high = np.atleast_1d(low_bounds), np.atleast_1d(high_bounds)
        if self.d == 1:
            return self.integrate_box_1d(low.item(), high.item())
        from scipy.stats import multivariate_normal

        samples, options = self.dataset.T, {} if rng is None else {"rng": rng}
        masses = multivariate_normal.cdf(high - samples, lower_limit=low - samples, cov=self.covariance, maxpts=maxpts, **options)
        return float(np.atleast_1d(masses) @ self.weights)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> float:
        """Integral of the density times that of a normal distribution.

        Parameters
        ----------
        mean : (d,) array_like
        cov : (d, d) array_like

        Raises
        ------
        ValueError
            For other shapes.
        """
        centre, matrix = np.atleast_1d(np.squeeze(mean)).astype(float), np.atleast_2d(np.asarray(cov, float))
        if centre.shape != (self.d,) or matrix.shape != (self.d, self.d):
            raise ValueError(f"mean and cov have shapes {centre.shape} and {matrix.shape}; pass ({self.d},) and {(self.d,) * 2}")
        wider = KDE("gaussian", H=self.covariance + matrix, tail=0.0).fit(self.dataset.T, sample_weight=self.weights)
        return float(wider.points(centre[None])[0])

    def integrate_kde(self, other: Any) -> float:
        """Integral of the product with the density of another `gaussian_kde`; ValueError for another dimension."""
        if other.d != self.d:
            raise ValueError(f"the other estimate has dimension {other.d}, this one {self.d}")
        wider = KDE("gaussian", H=self.covariance + other.covariance, tail=0.0).fit(self.dataset.T, sample_weight=self.weights)
        return float(wider.points(np.ascontiguousarray(other.dataset.T)) @ other.weights)

    def resample(self, size: int | None = None, seed: Any = None) -> NDArray[np.float64]:
        """Draw `size` points, `neff` by default, in columns; `seed` is None, an integer, a Generator or a RandomState."""
        if hasattr(seed, "randint"):
            seed = int(seed.randint(2**31 - 1))
        return self._kde.sample(int(self.neff * (1 + 1e-12)) if size is None else int(size), rng=seed).T

    def marginal(self, dimensions: int | ArrayLike) -> gaussian_kde:
        """The estimate of some of the dimensions; ValueError for those that do not exist or repeat."""
        dims = np.atleast_1d(np.asarray(dimensions))
        if dims.dtype.kind not in "iu" or ((dims < -self.d) | (dims >= self.d)).any() or len(set(dims % self.d)) < len(dims):
            raise ValueError(f"dimensions={dimensions!r}; name different integers from 0 to {self.d - 1}")
        return gaussian_kde(self.dataset[dims], self.factor, self.weights)
