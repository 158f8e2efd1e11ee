"""Results in several dimensions: mixtures of normal distributions, fits of one data set and of many."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import refuse_lazy
from numbastats._core.errors import names_ours
from numbastats._core.groups import Keys
from numbastats._core.inputs import any_lazy
from numbastats._core.kinds import LAZY, in_kind_of, kind_of
from numbastats._core.launch import launch
from numbastats._core.parallel import worker_count
from numbastats._core.place import Place
from numbastats._core.random import normalise_rng
from numbastats._core.results import Batch, OptionalIntervals, Result, Table, dataset, with_intervals
from numbastats._core.status import CONVERGED, REFUSED, Status
from numbastats.mixture.arguments import Seed, in_words
from numbastats.mixture.engine import staged_there
from numbastats.mixture.multivariate.arguments import check_columns, columns_of, counted, points_of
from numbastats.mixture.multivariate.information import exact
from numbastats.mixture.multivariate.kernels.memory import NONE
from numbastats.mixture.multivariate.kernels.observed import OBSERVED_SCORES
from numbastats.mixture.multivariate.kernels.passes import FULL, LANES, Point
from numbastats.mixture.multivariate.kernels.scores import SCORES
from numbastats.mixture.multivariate.launching import Space, space_there, start_there
from numbastats.mixture.multivariate.regression import MixtureRegression, regressed
from numbastats.mixture.multivariate.student import scores
from numbastats.scalar.special import gammaln

SLAB = 1 << 15  # rows whose densities are computed at a time
_IN_WORDS = {  # where the words of one dimension name what several have not
    Status.NO_CONVERGENCE: "the decrement test was not met, or the likelihood still rises; the best point is returned. Fewer "
    "components, another covariance or more starts (n_init=) may end at a maximum",
    Status.CONSTANT: "a column is constant, or others determine it",
    Status.COLLAPSED: "every start collapsed onto too few rows: try fewer components, covariance='tied' or 'diag', more "
    "starts (n_init=), or min_count=; fixed means far from the rows, and fixed weights of less than min_count rows, leave none",
    Status.INADMISSIBLE: "a certified local maximum exists, but a covariance of it is narrower than max_condition allows beside "
    "the others, or a component has less than min_count rows",
}


def words_of(status) -> str:
    """The meaning of a status in several dimensions."""
    return _IN_WORDS.get(status, in_words(status))


def point_of(weights, means, covariances, one_scale=False):
    """Parameters as kernels have them, and the shift and scale (2, d) of rows: to the mean of the mixture, by powers of two.

    Of spherical models all columns have one scale.
    """
    (K, d), filled = means.shape, -(-means.shape[1] // 4) * 4
    point = Point(np.log(weights), np.zeros((K, filled)), *np.zeros((2, K, filled, filled)), np.zeros(K))
    centre, sd = weights @ means, np.sqrt(np.diagonal(covariances, axis1=1, axis2=2).max(axis=0))
    scale = np.ldexp(1.0, -np.frexp(np.full_like(sd, sd.max()) if one_scale else sd)[1])
    point.means[:, :d] = (means - centre) * scale
    point.covariances[:, :d, :d] = covariances * scale * scale[:, None]
    factors = np.linalg.inv(np.linalg.cholesky(point.covariances[:, :d, :d]))
    point.factors[:, :d, :d] = factors
    point.heights[:] = point.log_weights + np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    return point, np.stack([centre, scale])


@names_ours
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class NormalMixture(Result):
    """A mixture of normal distributions in several dimensions.

    Attributes
    ----------
    weights : numpy.ndarray, shape (K,)
    means : numpy.ndarray, shape (K, d)
    covariances : numpy.ndarray, shape (K, d, d)
    columns : tuple
        Names of the columns, numbers from 0 on where the data had none.
    nan_policy : str
        With "marginal" densities and probabilities of rows with missing values are those of what is observed, else NaN.
    df : numpy.ndarray of shape (K,), or None
        Degrees of freedom of t components, whose locations are `means` and whose scale matrices are `covariances`; None for
        normal components.
    noise_weight, noise_volume : float
        Weight of uniform noise of the density 1/noise_volume, which with `weights` adds up to 1; 0 and NaN without noise.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = np.concatenate([rng.normal(-3, 1, (200, 2)), rng.normal(5, 1, (300, 2))])
    >>> fit = ns.mixture.fit(x, 2, covariance="full", rng=0)
    >>> fit.marginal([1]).means.round().ravel().tolist()
    [-3.0, 5.0]
    >>> fit.conditional({0: 5.0}).weights.round(3).tolist()
    [0.0, 1.0]
    """

    weights: NDArray
    means: NDArray
    covariances: NDArray
    columns: tuple
    nan_policy: str = dataclasses.field(default="omit", kw_only=True, repr=False)
    df: NDArray | None = dataclasses.field(default=None, kw_only=True, repr=False)
    noise_weight: float = dataclasses.field(default=0.0, kw_only=True, repr=False)
    noise_volume: float = dataclasses.field(default=math.nan, kw_only=True, repr=False)

    @property
    def _noisy(self):
        """Whether noise was asked for."""
        return not math.isnan(self.noise_volume)

    @property
    def _heavy(self):
        """Whether there are t components, or is noise: these have densities of their own."""
        return self._noisy or not (self.df is None or np.isinf(self.df).all())

    @property
    def _tails(self):
        """Degrees of freedom (K,), infinite for normal components."""
        return np.full(self.n_components, math.inf) if self.df is None else self.df

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.weights)

    def _there(self):
        if not np.isfinite(self.weights).all():
            status = getattr(self, "status", None)
            said = "" if status is None else f" (status {status}: {self.message})"  # type: ignore[attr-defined]
            raise ValueError(f"there are no parameters{said}")

    def _like(self, weights, means, covariances, columns, df=None):
        """Another mixture with the same policy, of t components where df (K,) are given."""
        if df is not None:
            return StudentMixture(weights, means, covariances, columns, nan_policy=self.nan_policy, df=df)
        return NormalMixture(weights, means, covariances, columns, nan_policy=self.nan_policy)

    def _without_noise(self, name):
        """Refuse what noise, a density without a region, has not."""
        self._there()
        if self._noisy:
            raise ValueError(
                f"{name} is not known of noise, of which the volume is given and no region: use component_distributions, the "
                "components without it"
            )

    def _point(self):
        """Parameters as kernels have them, about the mean of the mixture."""
        self._there()
        return point_of(self.weights, self.means, self.covariances)

    def _scores(self, x, workers, wanted, logs=1):
        """Log densities or densities, responsibilities, or labels of rows, where these live."""
        if any_lazy((x,)):
            return self._of_blocks(x, workers, wanted, logs)
        if kind_of(x).on_device and self._heavy:
            raise ValueError("densities of t components and of noise are computed on the CPU: pass x as an array of NumPy")
        if kind_of(x).on_device and self.nan_policy != "marginal":
            return self._there_scores(x, wanted, logs)
        rows, order, shape = points_of(x, self.columns)
        (point, shift), n, K = self._point(), len(rows), self.n_components
        T = np.int64 if wanted == "labels" else np.float64
        width = K + self._noisy
        out = np.empty((n, width) if wanted == "resp" else n, rows.dtype if T is np.float64 else T)
        cost, workers = K * (10.0 + 0.2 * len(self.columns) ** 2), worker_count(workers)
        for lo in range(0, n, SLAB):  # so that no copy of all rows is made
            hi = min(n, lo + SLAB)
            part = np.ascontiguousarray(rows[lo:hi] if order is None else rows[lo:hi, order], np.float64)
            into = out[lo:hi] if out.dtype == T else np.empty(out[lo:hi].shape)
            if self._heavy:
                found = self._heavy_scores(part, point, shift)
                into[:] = found[wanted] if wanted != "density" or logs else np.exp(found[wanted])
                out[lo:hi] = into
                continue
            outs = {"density": np.empty(0), "resp": np.empty((0, K)), "labels": np.empty(0, np.int64)} | {wanted: into}
            args = part, point, FULL, shift, logs, *outs.values(), NONE
            launch(SCORES, args, hi - lo, device="cpu", workers=workers, cost=cost)
            if self.nan_policy == "marginal":
                _observed(wanted, logs, part, point, shift, into)
            elif wanted == "density":  # squares of numbers next to the largest overflow, on both sides of a difference
                into[np.isnan(into) & np.isfinite(part).all(axis=1)] = -math.inf if logs else 0.0
            out[lo:hi] = into
        return in_kind_of(out.reshape(shape + out.shape[1:])[()], x)

    def _heavy_scores(self, rows, point, shift):
        """Log densities, probabilities and labels of rows (n, d), where there are t components or noise."""
        n, K, noisy = len(rows), self.n_components, self._noisy
        found = {"density": np.empty(n), "resp": np.empty((n, K + 1)), "labels": np.empty(n, np.int64)}
        density = -math.inf
        if noisy:  # in the units of the kernel, without powers of 2 pi
            density = -math.log(self.noise_volume) - np.log(shift[1]).sum() + 0.5 * len(self.columns) * math.log(2.0 * math.pi)
        scores(rows, point, self._tails, density, shift, tuple(found.values()))
        return found | {"resp": found["resp"][:, : K + noisy]}

    def _there_scores(self, x, wanted, logs):
        """The same of rows on a GPU."""
        kind, K, d, shape = kind_of(x), self.n_components, len(self.columns), tuple(x.shape)[:-1]
        n, (point, shift) = math.prod(shape), self._point()
        tails = {"density": ((), np.float64), "resp": ((K,), np.float64), "labels": ((), np.int64)}
        sizes = [(n if name == wanted else 0, *tail) for name, (tail, _) in tails.items()]
        check_columns(tuple(x.shape), d, "x")
        place = Place("cuda", kinds=(kind,))
        place.begin()
        rows = place.asarray(x, "x", np.float64).reshape(n, d)
        found = kind.empty(x, (*shape, *tails[wanted][0]), tails[wanted][1])
        outs = [
            kind.flat_output(found).reshape(size) if name == wanted else place.empty(size, tails[name][1])
            for name, size in zip(tails, sizes, strict=True)
        ]
        point, shift = map(staged_there, (point, shift))
        if n:
            space = space_there(Space(K, point.means.shape[1]), -(-n // LANES), place.stream)
            start_there(SCORES, (rows, point, FULL, shift, logs, *outs), space, place.stream)
        place.end()
        return found

    def _of_blocks(self, x, workers, wanted, logs):
        """The same of an array of dask, when it is computed."""
        x = LAZY.blocks(x, "x") if not hasattr(x, "dims") else refuse_lazy(x, "x")
        if x.ndim != 2 or x.shape[1] != len(self.columns):
            raise ValueError(f"x has shape {x.shape}; an array of dask must have rows of {counted(len(self.columns), 'column')}")
        self._there()
        tails = dict(df=self.df, noise_weight=self.noise_weight, noise_volume=self.noise_volume)
        plain = self._like(self.weights, self.means, self.covariances, self.columns)
        x, self_ = x.rechunk({1: -1}), dataclasses.replace(plain, **tails)
        function = functools.partial(_scores_of, self_, 1 if workers is None else workers, wanted, logs)
        T = np.int64 if wanted == "labels" else np.float32 if x.dtype == np.float32 else np.float64
        if wanted == "resp":
            return x.map_blocks(
                function, dtype=T, chunks=(x.chunks[0], (self.n_components + self._noisy,)), meta=np.empty((0, 0), T)
            )
        return x.map_blocks(function, dtype=T, drop_axis=1, meta=np.empty(0, T))

    def logpdf(self, x: ArrayLike, *, workers: int | None = None) -> NDArray:
        """Logarithm of the density.

        Parameters
        ----------
        x : array_like, shape (..., d)
            Of a frame the columns of the fit are taken by name. An array (n, d) of dask gives one, computed block by block.
        workers : int, optional

        Returns
        -------
        array or scalar
            Of shape (...,); NaN where a value is missing. float32 of rows in float32, computed in double precision.
        """
        return self._scores(x, workers, "density")

    def pdf(self, x: ArrayLike, *, workers: int | None = None) -> NDArray:
        """Density.

        Parameters
        ----------
        x : array_like, shape (..., d)
        workers : int, optional

        Returns
        -------
        array or scalar
        """
        return self._scores(x, workers, "density", 0)

    def predict_proba(self, x: ArrayLike, *, workers: int | None = None) -> NDArray:
        """Posterior probabilities of the components; no memory is taken beside that of the result.

        Parameters
        ----------
        x : array_like, shape (..., d)
        workers : int, optional

        Returns
        -------
        array, shape (..., K)
            Of fits with noise (..., K + 1): the last column is that of the noise.
        """
        return self._scores(x, workers, "resp")

    def predict(self, x: ArrayLike, *, workers: int | None = None) -> NDArray:
        """Most probable component of every row.

        Parameters
        ----------
        x : array_like, shape (..., d)
        workers : int, optional

        Returns
        -------
        array of int
            -1 for noise, and where a value is missing.
        """
        return self._scores(x, workers, "labels")

    def rvs(self, size: int | tuple[int, ...] | None = None, *, rng: Seed = None) -> NDArray:
        """Draws.

        Parameters
        ----------
        size : int or tuple of int, optional
        rng : None, int, SeedSequence or Generator

        Returns
        -------
        numpy.ndarray, shape size + (d,)
        """
        self._without_noise("rvs")
        shape = () if size is None else (size,) if not hasattr(size, "__iter__") else tuple(size)
        if not all(hasattr(n, "__index__") and n >= 0 for n in shape):
            raise ValueError(f"size={size!r} is no number of draws, and no shape; use integers >= 0")
        generator = np.random.default_rng(int(normalise_rng(rng)))
        n = math.prod(shape)
        k = np.minimum(np.searchsorted(np.cumsum(self.weights), generator.random(n)), self.n_components - 1)
        z = generator.standard_normal((n, self.means.shape[1]))
        low = np.linalg.cholesky(self.covariances)
        out = self.means[k]
        finite = np.isfinite(self._tails[k])
        z[finite] /= np.sqrt(generator.chisquare(self._tails[k][finite]) / self._tails[k][finite])[:, None]
        for j in range(self.n_components):
            out[k == j] += z[k == j] @ low[j].T
        return out.reshape((*shape, out.shape[1]))

    def mean(self) -> NDArray:
        """Mean vector (d,) of the mixture; NaN where a component has df of 1 or less."""
        self._without_noise("mean")
        return self.weights @ np.where(self._tails[:, None] > 1.0, self.means, np.nan)

    def cov(self) -> NDArray:
        """Covariance matrix (d, d) of the mixture: that within the components and that between their means.

        Within a t component it is df/(df - 2) times the scale matrix; NaN where df is 2 or less.
        """
        apart, df = self.means - self.mean(), self._tails
        with np.errstate(invalid="ignore", divide="ignore"):
            wide = np.where(np.isinf(df), 1.0, np.where(df > 2.0, df / (df - 2.0), np.nan))
        return np.einsum("k,kij->ij", self.weights * wide, self.covariances) + (apart.T * self.weights) @ apart

    def _at(self, columns):
        """Places of columns by name."""
        for name in columns:
            if name not in self.columns:
                raise ValueError(f"{name!r} is no column of the fit; these are {list(self.columns)}")
        places = [self.columns.index(name) for name in columns]
        if not places or len(set(places)) < len(places):
            raise ValueError(f"columns={list(columns)!r} must name one column or more, each once")
        return places

    def marginal(self, columns: Sequence) -> NormalMixture:
        """The distribution of some of the columns.

        Parameters
        ----------
        columns : sequence
            Names, or numbers where the columns have none; the order is kept.

        Returns
        -------
        NormalMixture

        Raises
        ------
        ValueError
            For unknown columns, and of a fit without parameters or with noise.
        """
        self._without_noise("marginal")
        at = self._at([columns] if isinstance(columns, str) or not hasattr(columns, "__iter__") else list(columns))
        names = tuple(self.columns[i] for i in at)
        return self._like(self.weights, self.means[:, at], self.covariances[:, at][:, :, at], names, self.df)

    def conditional(self, values: Mapping[Any, float]) -> NormalMixture:
        """The distribution of the other columns where some have these values.

        Parameters
        ----------
        values : mapping
            A number for each of some columns, by name.

        Returns
        -------
        NormalMixture
            Far out, where the density of the values is below the least double, its weights are still right. A t component has
            as many more degrees of freedom as columns are given, and a scale matrix that is (df + distance)/(df + given) times
            that of a normal component, with the squared distance of the given values from its mean.

        Raises
        ------
        ValueError
            For unknown columns, for values that are not finite, where no column is left, and of a fit without parameters or with
            noise.
        """
        self._without_noise("conditional")
        given = self._at(list(values))
        rest = [i for i in range(len(self.columns)) if i not in given]
        for name, value in values.items():
            if np.ndim(value):
                raise ValueError(f"the value of {name!r} has shape {np.shape(value)}; pass one number, and call once for each")
        x = np.array([float(v) for v in values.values()])
        if not rest or not np.isfinite(x).all():
            raise ValueError("values must be finite numbers, and leave one column at least; use pdf for all columns")
        if self._heavy:
            return self._conditional_t(x, given, rest)
        found = self._given(x[None], given, rest, 1)
        return self._like(found.weights[0], found.means[0], found.covariances, found.targets)

    def regression(self, X: ArrayLike, targets: Any, *, workers: int | None = None) -> MixtureRegression:
        """The distribution of some columns at rows of the others: E(y | x), covariances, quantiles.

        Parameters
        ----------
        X : array_like, shape (n, d - t)
            Rows of all columns but the targets, in their order; of a frame the columns are taken by name.
        targets : str, int or sequence
            Names of t columns, or their numbers where they have none.
        workers : int, optional

        Returns
        -------
        MixtureRegression
            NaN at rows with a missing value.

        Raises
        ------
        ValueError
            For unknown columns, where no other is left, for X of other columns, and of a fit without parameters.

        Notes
        -----
        At each row the targets are a mixture: that component k has weights in proportion to w_k times its density at x, its mean
        m_y + S_yx S_xx^-1 (x - m_x), and its covariance S_yy - S_yx S_xx^-1 S_xy the same at all rows.

        References
        ----------
        Z. Ghahramani, M. Jordan, "Supervised learning from incomplete data via an EM approach", NIPS 6 (1994).

        Examples
        --------
        >>> import numpy as np, numbastats as ns
        >>> rng = np.random.default_rng(1)
        >>> x = np.concatenate([rng.normal(-3, 1, (200, 2)), rng.normal(5, 1, (300, 2))])
        >>> fit = ns.mixture.fit(x, 2, covariance="full", rng=0)
        >>> fit.regression([[-3.0], [5.0]], 1).mean().round().ravel().tolist()
        [-3.0, 5.0]
        """
        self._there()
        if self._heavy:
            fix = "fit without noise=" if self._noisy else "conditional({column: value}) is of t components, too"
            raise ValueError(f"regression is of normal components without noise: {fix}")
        rest = self._at([targets] if isinstance(targets, str) or not hasattr(targets, "__iter__") else list(targets))
        given = [i for i in range(len(self.columns)) if i not in rest]
        if not given:
            raise ValueError(f"targets={targets!r} are all columns, and leave none to know them by; use marginal")
        names = tuple(self.columns[i] for i in given)
        if getattr(X, "ndim", 2) != 2:
            raise ValueError(f"X has shape {np.shape(X)}; pass rows (n, {len(given)}) of the columns {list(names)}")
        if columns_of(X, "X") is None and np.shape(X)[-1:] != (len(given),):
            raise ValueError(f"X has shape {np.shape(X)}; pass rows (n, {len(given)}) of the columns {list(names)}")
        rows, order, _ = points_of(X, names, "X")
        return self._given(rows if order is None else rows[:, order], given, rest, workers)

    def _given(self, rows, given, rest, workers):
        """The distribution of the columns at places `rest` at rows of those at places `given`."""
        known = self.marginal([self.columns[i] for i in given])
        slopes, first, left = regressed(self.means, self.covariances, given, rest)
        weights, rows = known.predict_proba(rows, workers=workers), np.asarray(rows, np.float64)
        means = np.stack([first[k] + rows @ slope for k, slope in enumerate(slopes)], axis=1)
        return MixtureRegression(tuple(self.columns[i] for i in rest), np.asarray(weights, np.float64), means, left)

    def _conditional_t(self, x, given, rest):
        """As `conditional`, of t components."""
        logs, means, covariances = np.log(self.weights), [], []
        for k, (m, c) in enumerate(zip(self.means, self.covariances, strict=True)):
            low = np.linalg.cholesky(c[np.ix_(given, given)])
            z = np.linalg.solve(low, x - m[given])
            half = np.linalg.solve(low, c[np.ix_(given, rest)])
            df, count = self._tails[k], len(given)
            logs[k] += -np.log(np.diag(low)).sum() + _log_kernel(z @ z, df, count)
            wide = 1.0 if np.isinf(df) else (df + z @ z) / (df + count)
            means.append(m[rest] + half.T @ z)
            covariances.append(wide * (c[np.ix_(rest, rest)] - half.T @ half))
        weights, names = np.exp(logs - logs.max()), tuple(self.columns[i] for i in rest)
        return self._like(weights / weights.sum(), np.array(means), np.array(covariances), names, self._tails + len(given))

    @property
    def component_distributions(self) -> tuple[NormalMixture, ...]:
        """The components, as mixtures of one; noise is none of them."""
        self._there()
        one, each = np.ones(1), [None if self.df is None else self.df[[k]] for k in range(self.n_components)]
        parts = zip(self.means, self.covariances, each, strict=True)
        return tuple(self._like(one, m[None], c[None], self.columns, df) for m, c, df in parts)

    def _headline(self) -> str:
        return f"{counted(self.n_components, 'component')} in {counted(len(self.columns), 'dimension')}"

    def summary(self) -> Table:
        """The components as a table: "weight", then means and standard deviations by the names of the columns."""
        return Table(moments_by_name(self, slice(None)))


@names_ours
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StudentMixture(NormalMixture):
    """A mixture of t distributions in several dimensions: what `marginal` and `conditional` of t fits are.

    Attributes
    ----------
    weights, means, covariances, columns, nan_policy
        As of `NormalMixture`; `means` are locations, and `covariances` scale matrices.
    df : numpy.ndarray, shape (K,)
        Degrees of freedom, infinite for normal components.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> x = rng.standard_t(4.0, (500, 1)) * [1.0, 2.0] + rng.normal(size=(500, 2))
    >>> fit = ns.mixture.fit(x, 1, family=("student_t", {"df": 4.0}), rng=0)
    >>> fit.conditional({0: 5.0}).df.tolist()
    [5.0]
    """


def _log_kernel(q, df, d):
    """Log density of a t distribution in d dimensions at a squared distance, but for powers of 2 pi and the determinant."""
    if np.isinf(df):
        return -0.5 * q
    return gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * math.log(0.5 * df) - 0.5 * (df + d) * math.log1p(q / df)


def _observed(wanted, logs, rows, point, shift, into):
    """Scores of rows with missing values, of what is observed."""
    at = np.flatnonzero(np.isnan(rows).any(axis=1))
    at = at[np.lexsort(np.isnan(rows[at]).T)]  # by patterns
    density, resp = np.empty(at.size), np.empty((at.size, len(point.log_weights)))
    OBSERVED_SCORES(np.ascontiguousarray(rows[at]), point, shift, density, resp)
    density = density if logs else np.exp(density)
    into[at] = resp if wanted == "resp" else resp.argmax(axis=1) if wanted == "labels" else density


def _scores_of(mixture, workers, wanted, logs, x):
    return mixture._scores(x, workers, wanted, logs)


def moments_by_name(one, rows):
    """Weights, means and standard deviations of components, by the names of the columns; of a batch those of some rows."""
    weights, means, variances = one.weights[rows], one.means[rows], np.diagonal(one.covariances[rows], axis1=-2, axis2=-1)
    centre, spread = _words_of(one)
    each = {"weight": weights} | {f"{centre}_{name}": means[..., i] for i, name in enumerate(one.columns)}
    each |= {f"{spread}_{name}": np.sqrt(variances[..., i]) for i, name in enumerate(one.columns)}
    return each if centre == "mean" else each | {"df": one.df[rows]}


def _words_of(one):
    """What a component's centre and spread are called: of t components these are no moments."""
    student = one.df is not None if not hasattr(one, "family") else one.family == "student_t"
    return ("location", "scale") if student else ("mean", "sd")


def _errors_by_name(one, columns, rows):
    """Standard errors of what `moments_by_name` has, and estimates with their errors for intervals."""
    if not one.se:
        return {}, {}
    errors = {"weight": one.se["weights"][rows]}
    variances = np.diagonal(one.se["covariances"][rows], axis1=-2, axis2=-1)
    centre, spread = _words_of(one)
    for i, name in enumerate(one.columns):
        errors[f"{centre}_{name}"] = one.se["means"][rows][..., i]
        errors[f"{spread}_{name}"] = variances[..., i] / (2.0 * columns[f"{spread}_{name}"])
    errors |= {"df": one.se["df"][rows]} if "df" in one.se else {}
    return {f"se_{name}": e for name, e in errors.items()}, {name: (columns[name], e) for name, e in errors.items()}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MultivariateFit(NormalMixture, OptionalIntervals):
    """Mixture of normal distributions fitted to rows of several columns, by `fit`.

    Attributes
    ----------
    weights, means, covariances, columns
        As of `NormalMixture`. Components are in the order of their means in the first column.
    covariance : str
        The model: "full", "tied", "diag", "spherical", "tied-diag", "tied-spherical", or its letters, as "VEV".
    loglik, bic, aic, icl : float
        Log-likelihood and criteria, of which less is better; icl is bic and twice the entropy of the responsibilities.
    n_free : int
        Free parameters.
    status : int
        A `numbastats.Status`.
    message : str
    converged : bool
        Whether `status` is 0 or 13.
    n_iter : int
        Passes of the best climb.
    n_used, n_missing, n_dropped : int
        Rows that the fit rests on; rows with a missing value; rows left out, being missing or of weight 0.
    n_obs : float
        Sum of the weights, the number of observations of the criteria: `n_used` without weights.
    hits, n_climbed, n_starts, n_singular : int
        Climbs from starts that ended within 1e-3 of the best; climbs; starts, drawn and by insertion; those that collapsed. Hits
        prove nothing: all starts may miss the best maximum, in small data sets above all. Another `rng` or more starts, `n_init`,
        are a check.
    runner_up : float
        The next certified log-likelihood, NaN if none was seen.
    gap : float
        The largest gain of the log-likelihood that was found by one component more, the others as they are. It certifies nothing.
        Of models with parts in common after a step of EM. NaN with fixed weights or means, and of fits that begin at a given
        start alone.
    decrement, min_eig : float
        g'(-H)^-1 g at the optimum, and the least eigenvalue of -H in units of the complete data's information: one minus the rate
        at which EM would converge. Neither depends on units, nor, of full and tied covariances, on rotations. Of more than 400
        free parameters they are bounds, see `certificate`.
    condition : float
        The largest over the least eigenvalue of all covariances in the metric of the pooled one.
    se : dict
        Standard errors of "weights", "means" and "covariances", of t components "df", of noise "noise_weight", of the shapes of
        these, NaN where the fit is not certified and for an infinite df; empty unless asked for.
    covariance_of_estimates : numpy.ndarray
        Of (weights, means, lower triangles of covariances), with t components or noise then of (df, noise_weight), too; (0, 0)
        unless asked for.
    selection : Table
        A row for each number of components and model that was tried.
    settings : dict
        Options that a fit to other data has to have for it to be alike: of the end of climbs, of what is admissible, constraints.
    """

    covariance: str
    loglik: float
    bic: float
    aic: float
    icl: float
    n_free: int
    status: int
    message: str
    converged: bool
    n_iter: int
    n_used: int
    n_missing: int
    n_dropped: int
    n_obs: float
    hits: int
    n_climbed: int
    n_starts: int
    n_singular: int
    runner_up: float
    gap: float
    decrement: float
    min_eig: float
    condition: float
    se: dict
    covariance_of_estimates: NDArray
    selection: Table = dataclasses.field(default_factory=Table, repr=False)
    family: str = dataclasses.field(default="normal", repr=False)
    settings: dict = dataclasses.field(default_factory=dict, repr=False)

    @property
    def n_values(self) -> int:
        """Number of rows that the fit rests on."""
        return self.n_used

    @property
    def certificate(self) -> str:
        """How a fit of status 0 is known to be a maximum: "exact" or "lanczos"; of other statuses "".

        By the whole matrix of second derivatives, or, of more than 400 free parameters, by its products with vectors: `min_eig`
        is then a lower bound of the least eigenvalue, less than 10 % below it as far as Lanczos' method sees, and `decrement` an
        upper one.
        """
        return "" if self.status != Status.OK else "exact" if exact(self.n_free) or self._heavy else "lanczos"

    def summary(self, level: float | None = None) -> Table:
        """The components as a table.

        Parameters
        ----------
        level : float, optional
            Confidence of intervals, between 0 and 1; the fit must have standard errors (``se=True``).

        Returns
        -------
        Table
            A dict of columns that prints as a table: "weight", ``"mean_"`` and ``"sd_"`` with the names of the columns; for a
            level also ``"se_"``, ``"lower_"`` and ``"upper_"`` before these, and "level".

        Raises
        ------
        ValueError
            For a level out of range, or of a fit without standard errors.
        """
        columns = moments_by_name(self, slice(None))
        errors, known = ({}, {}) if level is None else _errors_by_name(self, columns, slice(None))
        return with_intervals(columns | errors, known, level)

    @property
    def precisions_cholesky(self) -> NDArray:
        """Upper triangular factors (K, d, d) of the inverse covariances, as scikit-learn has them."""
        self._there()
        return np.swapaxes(np.linalg.inv(np.linalg.cholesky(self.covariances)), 1, 2)

    def _headline(self) -> str:
        missing = f", {self.n_missing} missing" if self.n_missing else ""
        word, noise = (
            "component" if self.df is None else "t component",
            f", noise of {self.noise_weight:.3g}" if self._noisy else "",
        )
        return (
            f"{counted(self.n_components, word)}{noise}, covariance {self.covariance!r}, {counted(self.n_used, 'row')} of "
            f"{counted(len(self.columns), 'column')}"
            f"{missing}, log-likelihood {self.loglik:.8g}, BIC {self.bic:.8g}, {self.message}"
        )

    def to_xarray(self) -> Any:
        """The fit as a dataset of xarray, which must be installed.

        Returns
        -------
        xarray.Dataset
            "weight", "mean" and "covariance" along "component", "column" and "other_column".
        """
        import xarray

        names = [str(name) for name in self.columns]
        variables: dict[str, Any] = {
            "weight": ("component", self.weights),
            "mean": (("component", "column"), self.means),
            "covariance": (("component", "column", "other_column"), self.covariances),
        }
        variables |= {} if self.df is None else {"df": ("component", self.df)}
        numbers = ("loglik", "bic", "aic", "icl", "status", *(["noise_weight"] if self._noisy else []))
        variables |= {name: ((), getattr(self, name)) for name in numbers}
        coordinates = {"component": np.arange(self.n_components), "column": names, "other_column": names}
        return xarray.Dataset(variables, coordinates, {"covariance_model": self.covariance})


_ARRAYS = "loglik bic aic icl n_free status converged n_iter n_used n_missing n_dropped hits n_climbed n_starts".split()
_ARRAYS += "n_singular n_obs runner_up gap decrement min_eig condition n_components noise_weight noise_volume".split()


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MultivariateBatch(Batch, OptionalIntervals):
    """Mixtures of normal distributions fitted to D data sets of several columns, by `fit_many`.

    Attributes
    ----------
    weights : numpy.ndarray, shape (D, K)
        NaN where a data set has fewer components than others.
    means : numpy.ndarray, shape (D, K, d)
    covariances : numpy.ndarray, shape (D, K, d, d)
    columns : tuple
    models : numpy.ndarray of str, shape (D,)
        The covariance model of each.
    df : numpy.ndarray, shape (D, K)
        Degrees of freedom, infinite for normal components.
    family : str
        "normal" or "student_t".
    numbers : dict of numpy.ndarray
        What `MultivariateFit` has as numbers, arrays (D,) that are attributes of the batch, too, as ``batch.loglik``.
    tried : dict of numpy.ndarray
        Columns of `selection`, (D, number of candidates) each.
    se : dict of numpy.ndarray
        Standard errors, as of `MultivariateFit`, with an axis for the data sets.
    covariance_of_estimates : dict
        Of the data sets that have one, by their number.
    notes : dict
        What `message` says beside the status, by number.
    keys : tuple or None
    nan_policy : str
        As of `NormalMixture`.
    settings : dict
        As of `MultivariateFit`.
    """

    weights: NDArray
    means: NDArray
    covariances: NDArray
    columns: tuple
    models: NDArray
    numbers: dict
    tried: dict
    notes: dict
    se: dict
    covariance_of_estimates: dict
    keys: Keys | None = dataclasses.field(default=None, repr=False)
    nan_policy: str = dataclasses.field(default="omit", repr=False)
    df: NDArray | None = dataclasses.field(default=None, repr=False)
    family: str = dataclasses.field(default="normal", repr=False)
    settings: dict = dataclasses.field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.weights)

    def __getattr__(self, name: str) -> NDArray:
        if name in _ARRAYS:
            return self.numbers[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_ARRAYS})

    def message(self, i: Any) -> str:
        """What the status of a data set means, by its index or key."""
        return self._said(self._place(i))

    def _said(self, i):
        status, note = int(self.status[i]), self.notes.get(i)
        return note if note and status in REFUSED else "; ".join(filter(None, (words_of(status), note)))

    @property
    def n_values(self) -> NDArray:
        """Numbers (D,) of rows that the fits rest on: `n_used`, by the name that all fits have."""
        return self.n_used

    @property
    def messages(self) -> NDArray[np.str_]:
        """What the statuses mean, as `message` says it of one."""
        return np.array([self._said(i) for i in range(len(self))], np.str_)

    def selection_of(self, i: int) -> Table:
        """What was tried for the data set at a position."""
        return Table(self._tried(slice(i, i + 1)))

    @property
    def selection(self) -> Table:
        """A row for each model and number of components that was tried with each data set: its number or key, then as of one."""
        columns = self._tried(slice(None))
        sets = np.repeat(np.arange(len(self)), self.tried["n_components"].size)
        return self._table(({"data_set": sets} if self.keys is None else {}) | columns, Table, "data_set", sets)

    def _tried(self, sets):
        """What was tried for some of the data sets, one after the other."""
        models = self.models[sets, None]
        shape = len(models), self.tried["n_components"].size
        columns = {n: values[sets] if values.ndim > 1 else np.broadcast_to(values, shape) for n, values in self.tried.items()}
        chosen = (columns["n_components"] == self.n_components[sets, None]) & (columns["covariance"] == models)
        words = np.array([words_of(int(s)) for s in columns["status"].ravel()], np.str_)
        return {name: values.ravel() for name, values in columns.items()} | {"meaning": words, "chosen": chosen.ravel()}

    def _item(self, i: int) -> MultivariateFit:
        K = int(self.n_components[i])
        values = {name: self.numbers[name][i].item() for name in _ARRAYS if name != "n_components"}
        none = np.zeros((0, 0))
        return MultivariateFit(
            weights=self.weights[i, :K],
            means=self.means[i, :K],
            covariances=self.covariances[i, :K],
            columns=self.columns,
            covariance=str(self.models[i]),
            message=self._said(i),
            se={name: values[i][:K] if values.ndim > 1 else values[i] for name, values in self.se.items()},
            covariance_of_estimates=self.covariance_of_estimates.get(i, none),
            selection=self.selection_of(i),
            nan_policy=self.nan_policy,
            df=None if self.family == "normal" or self.df is None else self.df[i, :K],
            family=self.family,
            settings=self.settings,
            **values,
        )

    def _headline(self) -> str:
        certified = int(np.sum(self.status == 0))
        sets, columns = counted(len(self), "data set"), counted(len(self.columns), "column")
        return f"{sets} of {columns}, {certified} with a certified local maximum"

    def summary(self, level: float | None = None) -> Table:
        """A row for each component of each data set.

        Parameters
        ----------
        level : float, optional
            Confidence of intervals, between 0 and 1; the fits must have standard errors.

        Returns
        -------
        Table
            The number or key of the data set, "component", what `MultivariateFit.summary` has, "loglik" and "status".

        Raises
        ------
        ValueError
            For a level out of range, or of fits without standard errors.
        """
        there = np.arange(self.weights.shape[1]) < np.maximum(self.n_components, 1)[:, None]
        sets, component = np.nonzero(there)
        columns = {"data_set": sets} if self.keys is None else {}
        columns |= {"component": component} | moments_by_name(self, there)
        columns |= {"loglik": self.loglik[sets], "status": self.status[sets]}
        errors, known = ({}, {}) if level is None else _errors_by_name(self, columns, there)
        return self._table(columns | errors, lambda made: with_intervals(made, known, level), "data_set", sets)

    def to_xarray(self) -> Any:
        """The fits as a dataset of xarray, which must be installed.

        Returns
        -------
        xarray.Dataset
            "weight", "mean", "covariance" along "data_set", "component", "column", "other_column"; numbers along "data_set".
        """
        names = [str(name) for name in self.columns]
        values = {"weight": self.weights} | ({} if self.family == "normal" else {"df": self.df})
        values |= {name: self.numbers[name] for name in ("loglik", "bic", "aic", "icl", "status", "converged", "n_components")}
        made = dataset(values, len(self), self.keys, {"component": np.arange(self.weights.shape[1])}, family=self.family)
        first = made["weight"].dims[0]
        made["mean"] = ((first, "component", "column"), self.means)
        made["covariance"] = ((first, "component", "column", "other_column"), self.covariances)
        return made.assign_coords(column=names, other_column=names)


def converged(status):
    """Whether fits are at a maximum."""
    return np.isin(status, CONVERGED)
