"""What a mixture says of some columns where the others are known, row by row: regression on clusters."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.data import doubles
from numbastats._core.launch import launch
from numbastats._core.parallel import worker_count
from numbastats._core.results import Result, Table
from numbastats.mixture.multivariate.arguments import columns_of, points_of
from numbastats.mixture.multivariate.kernels.quantiles import row_quantiles

__all__ = ["MixtureRegression", "regressed"]


def regressed(means, covariances, given, rest):
    """Coefficients (K, given, rest) of columns on others in each component, intercepts (K, rest), covariances (K, rest, rest)."""
    low = np.linalg.cholesky(covariances[:, given][:, :, given])
    half = np.linalg.solve(low, covariances[:, given][:, :, rest])
    slopes = np.linalg.solve(np.swapaxes(low, 1, 2), half)
    left = covariances[:, rest][:, :, rest] - np.swapaxes(half, 1, 2) @ half
    return slopes, means[:, rest] - np.einsum("kg,kgr->kr", means[:, given], slopes), left


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MixtureRegression(Result):
    """The distribution of target columns at each of n rows of the others, by `NormalMixture.regression`.

    Each is a mixture of normal distributions: only weights and means depend on the row.

    Attributes
    ----------
    targets : tuple
        Names of the columns.
    weights : numpy.ndarray, shape (n, K)
        Probabilities of the components at the rows.
    means : numpy.ndarray, shape (n, K, t)
        Linear functions of the rows.
    covariances : numpy.ndarray, shape (K, t, t)
        The same at all rows.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(-3, 3, 400)
    >>> rows = np.stack([x, np.abs(x) + rng.normal(0, 0.2, 400)], axis=1)
    >>> fit = ns.mixture.fit(rows, range(1, 6), covariance="full", rng=0)
    >>> at = fit.regression([[-2.0], [2.0]], 1)
    >>> at.mean().round(1).ravel().tolist(), at.std().round(1).ravel().tolist()
    ([2.0, 2.0], [0.2, 0.2])
    """

    targets: tuple
    weights: NDArray
    means: NDArray
    covariances: NDArray

    def __len__(self) -> int:
        return len(self.weights)

    def mean(self) -> NDArray:
        """Means of the targets at the rows, E(y | x).

        Returns
        -------
        numpy.ndarray, shape (n, t)
        """
        return np.einsum("nk,nkt->nt", self.weights, self.means)

    def cov(self) -> NDArray:
        """Covariances of the targets at the rows: that within the components and that between their means.

        Returns
        -------
        numpy.ndarray, shape (n, t, t)
        """
        out, centre = np.tensordot(self.weights, self.covariances, 1), self.mean()
        for k in range(self.weights.shape[1]):
            apart = self.means[:, k] - centre
            out += (self.weights[:, k, None] * apart)[:, :, None] * apart[:, None]
        return out

    def std(self) -> NDArray:
        """Standard deviations of the targets at the rows.

        Returns
        -------
        numpy.ndarray, shape (n, t)
        """
        within = self.weights @ np.diagonal(self.covariances, axis1=1, axis2=2)
        return np.sqrt(within + np.einsum("nk,nkt->nt", self.weights, np.square(self.means - self.mean()[:, None])))

    def ppf(self, q: ArrayLike, *, workers: int | None = None) -> NDArray:
        """Quantiles of each target at the rows.

        Parameters
        ----------
        q : array_like
            Probabilities between 0 and 1; NaN outside.
        workers : int, optional

        Returns
        -------
        numpy.ndarray, shape (n, t) + q.shape
            To the last bits of the distribution function, of whichever tail is the smaller.
        """
        q = np.asarray(doubles(q, "q"))
        n, K, t = self.means.shape
        out, sd = np.empty((n, t, q.size)), np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        means, deviations = np.ascontiguousarray(np.swapaxes(self.means, 1, 2)), np.ascontiguousarray(sd.T)
        cost = 600.0 * K * t * q.size
        args = np.ascontiguousarray(q.ravel()), np.ascontiguousarray(self.weights), means, deviations, out
        launch(row_quantiles, args, n, device="cpu", workers=worker_count(workers), cost=cost)
        return out.reshape((n, t, *q.shape))

    def logpdf(self, y: ArrayLike) -> NDArray:
        """Log density of the targets' values at the rows.

        Parameters
        ----------
        y : array_like, shape (n, t), or (n,) of one target
            In the order of `targets`; of a frame the columns are taken by name.

        Returns
        -------
        numpy.ndarray, shape (n,)
            NaN where a value is missing.

        Raises
        ------
        ValueError
            For another shape, and for a frame without one of the targets.
        """
        if columns_of(y, "y") is not None:
            rows, order, _ = points_of(y, self.targets, "y")
            y = rows if order is None else rows[:, order]
        y, (n, K, t) = doubles(y, "y"), self.means.shape
        if y.shape != (n, t) and not (t == 1 and y.shape == (n,)):
            raise ValueError(f"y has shape {y.shape}; pass the values of {list(self.targets)} at the rows, of shape ({n}, {t})")
        y, low = y.reshape(n, t), np.linalg.cholesky(self.covariances)
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        for k in range(K):
            z = np.linalg.solve(low[k], (y - self.means[:, k]).T)
            logs[:, k] -= 0.5 * np.sum(z * z, axis=0) + np.log(np.diag(low[k])).sum() + 0.5 * t * math.log(2.0 * math.pi)
        return np.logaddexp.reduce(logs, axis=1)

    def _headline(self) -> str:
        return f"{', '.join(map(str, self.targets))} at {len(self)} row{'s' * (len(self) != 1)}"

    def summary(self) -> Table:
        """A row for each of X.

        Returns
        -------
        Table
            Columns ``"mean_"`` and ``"sd_"`` with the names of the targets.
        """
        mean, sd = self.mean(), self.std()
        columns = {f"mean_{name}": mean[:, i] for i, name in enumerate(self.targets)}
        return Table(columns | {f"sd_{name}": sd[:, i] for i, name in enumerate(self.targets)})
