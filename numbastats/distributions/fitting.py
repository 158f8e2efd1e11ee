"""Maximum likelihood for one series and for many."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

import numbastats.stable as stable
from numbastats._core.checks import choice, is_masked, warn_of_shares
from numbastats._core.errors import ConvergenceWarning, names_ours, warn
from numbastats._core.groups import Keys, keys_of, labelled_sets
from numbastats._core.kinds import in_kind_of, rows_alike, to_host
from numbastats._core.launch import choose_device, launch
from numbastats._core.parallel import check_workers, is_executor, mapped
from numbastats._core.progress import bar
from numbastats._core.results import Result, Table, estimates
from numbastats.distributions.families.beta import Beta
from numbastats.distributions.families.gamma import Gamma
from numbastats.distributions.families.hyperbolic import NIG, GeneralizedHyperbolic, Hyperbolic, VarianceGamma
from numbastats.distributions.families.inverse_gaussian import InverseGaussian
from numbastats.distributions.families.lognormal import Lognormal
from numbastats.distributions.families.normal import Normal
from numbastats.distributions.families.student_t import StudentT
from numbastats.distributions.families.weibull import Weibull
from numbastats.distributions.kernels import fits as k
from numbastats.distributions.kernels.hyperbolic import CUSPS, FIT_GENERAL, FIT_HYPERBOLIC, FIT_NIG
from numbastats.distributions.protocol import Distribution

__all__ = [
    "CLASSES",
    "OUTSIDE",
    "DistributionFit",
    "DistributionFits",
    "axis_of",
    "distribution_of",
    "fit",
    "fit_many",
    "floats",
    "is_ragged",
    "refuse_frame",
    "series_of",
]


class _Model(NamedTuple):
    names: tuple[str, ...]
    kernel: Any
    positive: tuple[str, ...]  # parameters > 0
    cost: float  # nanoseconds for each value
    code: int = 0  # of the family in its kernel
    held: dict[str, float] | None = None  # parameters of the kernel that the family does not have

    @property
    def layout(self):
        """Parameters of the kernel, in its order."""
        return self.names if self.held is None else _GENERAL


_GENERAL = ("lam", "alpha", "beta", "delta", "mu")
_HYPERBOLIC, _VARIANCE_GAMMA = ("alpha", "beta", "delta", "mu"), ("lam", "alpha", "beta", "mu")
_MODELS = {
    "normal": _Model(("loc", "scale"), k.FIT, ("scale",), 4.0, k.NORMAL),
    "lognormal": _Model(("sigma", "scale"), k.FIT, ("sigma", "scale"), 6.0, k.LOGNORMAL),
    "inverse_gaussian": _Model(("mean", "shape"), k.FIT, ("mean", "shape"), 6.0, k.INVERSE_GAUSSIAN),
    "gamma": _Model(("shape", "scale"), k.FIT, ("shape", "scale"), 15.0, k.GAMMA),
    "weibull": _Model(("shape", "scale"), k.FIT, ("shape", "scale"), 20.0, k.WEIBULL),
    "student_t": _Model(("df", "loc", "scale"), k.FIT, ("df", "scale"), 100.0, k.STUDENT_T),
    "beta": _Model(("a", "b"), k.FIT_BETA, ("a", "b"), 15.0),
    "nig": _Model(_HYPERBOLIC, FIT_NIG, ("alpha", "delta"), 500.0, held={"lam": -0.5}),
    "hyperbolic": _Model(_HYPERBOLIC, FIT_HYPERBOLIC, ("alpha", "delta"), 200.0, held={"lam": 1.0}),
    "variance_gamma": _Model(_VARIANCE_GAMMA, FIT_GENERAL, ("lam", "alpha"), 2e4, held={"delta": 0.0}),
    "generalized_hyperbolic": _Model(_GENERAL, FIT_GENERAL, ("alpha", "delta"), 5e4, held={}),
}
CLASSES: dict[str, type[Distribution]] = {
    c.family: c
    for c in (
        *(Normal, Lognormal, InverseGaussian, Gamma, Weibull, StudentT, Beta),
        *(NIG, Hyperbolic, VarianceGamma, GeneralizedHyperbolic),
    )
}
OUTSIDE = k.OUTSIDE
NORMAL_DF = 1e12  # stands for infinity in distributions: the densities agree to 4e-8 up to 20 standard deviations
_SLAB = 1 << 20  # values copied at a time: the kernel overwrites them

_MESSAGES = {
    k.OK: "converged",
    k.MAX_ITER: "no convergence: the likelihood still rises, or is too flat to tell",
    k.NORMAL_LIMIT: "the likelihood rises towards a limit of light tails (df or alpha to infinity): a normal distribution, or "
    "for skew data a limit on one side; the data have no heavier tails than that",
    k.DEGENERATE: "the likelihood rises to the boundary of the parameters (a pole at repeated or constant values, or a limit of "
    "the family): there is no maximum inside",
    k.FEW: "too few values for the number of parameters",
    k.CONSTANT: "all values are equal",
    k.OUTSIDE: 'values outside the support: the family needs values > 0 (beta: between 0 and 1); zeros="share" sets zeros apart',
    k.MISSING: "all values are missing",
    k.INFINITE: "infinite values, or for normal and student_t values beyond 1e150 or all within 1e-150, whose squares are no "
    "doubles: divide them by a unit",
}
_TEXTS = (
    *(_MESSAGES[i] for i in range(len(_MESSAGES))),
    "converged; no standard errors: they rest on second derivatives, and where lam <= 1.5 the density has none at mu; with mu in "
    "fixed= the other parameters have theirs, given mu",
    "converged; no standard errors: the observed information is not positive definite",
)
_NO_DERIVATIVE, _NOT_DEFINITE = len(_MESSAGES), len(_MESSAGES) + 1  # converged fits without standard errors


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DistributionFit(Result):
    """A distribution fitted to one series; it prints as a table, which `summary` and `to_frame` give.

    Attributes
    ----------
    family : str
    params, se : dict
        Estimates, and standard errors from the observed information: 0 for fixed parameters, NaN where there are none; `message`
        says why.
    covariance : array of shape (p, p)
    loglik, aic, bic : float
        Weighted log-likelihood of the values that were fitted; the number of observations of `bic` is the sum of the weights.
        `aic` and `bic` are inf for a fit that did not converge, so that ``min(bic, key=bic.get)`` never takes one.
    n_obs : float
        Sum of the weights of the values that were fitted; without weights their number.
    n_values : int
        Number of the values that were fitted: not missing, of weight > 0, and not a zero that was set apart.
    zeros : float
        Share of zeros that was set apart.
    n_iter, status : int
    converged : bool
        Whether the maximum is inside of the parameters, or the normal limit of Student's t.
    message : str
        How the fit ended, and why a fit that converged has no standard errors.
    """

    family: str
    params: dict[str, float]
    se: dict[str, float]
    covariance: NDArray[np.float64]
    loglik: float
    aic: float
    bic: float
    n_obs: float
    n_values: int
    zeros: float
    n_iter: int
    status: int
    converged: bool
    message: str
    _estimated: ClassVar[Callable[..., Any]]  # set by `inference`, which needs the fits

    @property
    def distribution(self) -> Distribution:
        """The distribution with these parameters, an object of the class that belongs to the family."""
        return distribution_of(self.family, self.params)

    def _headline(self) -> str:
        weight = "" if self.n_values == self.n_obs else f" of total weight {self.n_obs:g}"
        return f'family "{self.family}", {self.n_values} values{weight}, log-likelihood {self.loglik:.8g}, {self.message}'

    def summary(self) -> Table:
        """Estimates, standard errors and 95 % intervals (1.96 standard errors on either side).

        Returns
        -------
        Table
            A dict of the columns "parameter", "estimate", "se", "lower", "upper" that prints as a table.
        """
        return estimates(list(self.params), list(self.params.values()), list(self.se.values()))

    @names_ours
    def estimate(
        self,
        function: Callable[[Distribution], Any],
        method: Literal["delta", "bootstrap", "profile"] = "delta",
        *,
        level: float = 0.95,
        x: Any = None,
        count: int = 999,
        rng: Any = None,
        workers: Any = None,
    ) -> Any:
        """A number that follows from the fit, with its error: value at risk, return level, expected shortfall, a probability.

        Parameters
        ----------
        function : callable
            Of a `Distribution`, as ``lambda d: d.ppf(0.01)``; it returns one number. It is called with batches of distributions
            where it understands them, else with one at a time. Where zeros were set apart, the distribution is that of the other
            values.
        method : {"delta", "bootstrap", "profile"}
            "delta": derivatives by the parameters and their covariance; the interval is symmetric. "bootstrap": the parametric
            one, which draws `count` data sets of `n_obs` values from the fitted distribution and fits them again; the interval
            has the quantiles of their values as its ends. "profile": the range of the function over all parameters whose
            log-likelihood is within half of the chi-square quantile of the maximum; it is not symmetric, and does not depend on
            the parameterisation.
        level : float
            Of confidence.
        x : array_like
            The data of the fit, for "profile" alone.
        count : int
            Data sets of the bootstrap, at least 19.
        rng
            Of the bootstrap, as in `numbastats.random.uniform`.
        workers : int or executor, optional
            Of the bootstrap, as in `fit_many`.

        Returns
        -------
        Estimate
            ``value``, ``se``, ``lower``, ``upper``, ``method``, ``message``.

        Raises
        ------
        TypeError, ValueError
            For arguments that are not understood; a fit that did not converge; for "delta" and "profile" one without standard
            errors; data that are not those of the fit.

        Warns
        -----
        ConvergenceWarning
            When fits of the bootstrap did not converge, and are left out; when a profile does not end.

        Notes
        -----
        All three presume that the data come from this family, and that values are independent. Their coverage is in
        :doc:`/accuracy`.

        References
        ----------
        A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application (1997), chapter 5. S. Coles, An Introduction to
        Statistical Modeling of Extreme Values (2001), section 2.6.

        Examples
        --------
        >>> import numbastats as ns
        >>> returns = ns.distributions.StudentT(5.0, scale=0.01).rvs(1000, rng=1)
        >>> found = ns.distributions.fit(returns, "student_t")
        >>> found.estimate(lambda d: -d.ppf(0.01))  # value at risk: the loss that 1 % of days exceed
        Estimate: method 'delta', level 0.95, ok
            value          se      lower      upper
        0.0320782  0.00153404  0.0290716  0.0350849
        >>> found.estimate(lambda d: -d.expected_shortfall(0.01), "bootstrap", rng=1)
        Estimate: method 'bootstrap', level 0.95, ok
            value        se      lower      upper
        0.0414547  0.002988  0.0362063  0.0479053
        """
        return self._estimated(self, function, method, level=level, x=x, count=count, rng=rng, workers=workers)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DistributionFits(Result):
    """A family fitted to many series; ``fits["scale"]`` is an array of one parameter, ``fits.one(i)`` a `DistributionFit`.

    Attributes
    ----------
    family : str
    names : tuple of str
        Of the parameters.
    params, se : array of shape (..., p)
    covariance : array of shape (..., p, p)
    loglik, n_obs, zeros : array of shape (...)
    n_values, n_iter, status : array of int of shape (...)
    keys : tuple or None
        Of the series, where they came in a dict or in groups.
    free : int
        Number of parameters that were estimated.
    labels : xarray.DataArray or None
        One of the shape of the batch, where the data came in one.
    """

    family: str
    names: tuple[str, ...]
    params: NDArray[np.float64]
    se: NDArray[np.float64]
    covariance: NDArray[np.float64]
    loglik: NDArray[np.float64]
    n_obs: NDArray[np.float64]
    n_values: NDArray[np.int64]
    zeros: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    status: NDArray[np.int64]
    keys: Keys | None
    free: int
    labels: Any = None

    def __getitem__(self, name: str) -> Any:
        """One parameter of every series: an array, with the labels of the data where these came from xarray."""
        values = self.params[..., self.names.index(choice("name", name, self.names))]
        return values if self.labels is None else self.labels.copy(data=values).rename(name)

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether each fit ended in a maximum, or in the normal limit of Student's t."""
        return _is_maximum(self.family, self.status)

    @property
    def messages(self) -> NDArray[np.str_]:
        """How each fit ended, in words."""
        return np.array(_TEXTS)[self._endings()]

    def message(self, index: Any) -> str:
        """How the fit of one series ended, in words, by its index (or key)."""
        return _TEXTS[self._endings(self._index(index))]

    def _endings(self, i=...):
        """The statuses, those of converged fits without standard errors replaced by the reason: entries of `_TEXTS`."""
        status, se, params = self.status[i], self.se[i], self.params[i]
        cusp = False
        if self.family == "variance_gamma":  # fixed parameters have the error 0
            lam, mu = self.names.index("lam"), self.names.index("mu")
            cusp = (params[..., lam] <= CUSPS) & np.isnan(se[..., mu])
        bare = (status == k.OK) & np.isnan(se).any(axis=-1)
        return np.where(bare, np.where(cusp, _NO_DERIVATIVE, _NOT_DEFINITE), status)

    @property
    def aic(self) -> NDArray[np.float64]:
        """Akaike's criterion; inf for fits that did not converge, so that the least of several is one that did."""
        return np.where(self.converged, 2.0 * self.free - 2.0 * self.loglik, math.inf)[()]

    @property
    def bic(self) -> NDArray[np.float64]:
        """Bayesian criterion of Schwarz; inf for fits that did not converge."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.converged, self.free * np.log(self.n_obs) - 2.0 * self.loglik, math.inf)[()]

    @property
    def distribution(self) -> Distribution:
        """The distributions of all series: one object, with parameters of the shape and the labels of the batch."""
        return distribution_of(self.family, {name: self[name] for name in self.names})

    def _headline(self) -> str:
        endings, shape = self._endings(), self.loglik.shape
        lines = [f'family "{self.family}", {self.loglik.size} series of shape {shape}, {self.converged.sum()} converged']
        counts = np.bincount(endings[~self.converged | (endings > k.INFINITE)], minlength=len(_TEXTS))
        lines += [f"{counts[i]} series: {_TEXTS[i]}" for i in np.flatnonzero(counts)]
        return "\n  ".join(lines)

    def summary(self) -> Table:
        """A row for each series, in the order of the flattened batch.

        Returns
        -------
        Table
            A dict of the columns "key" (where the series have keys; of grouped data their columns or dimensions), the parameters,
            ``"se_"`` with their names, "loglik", "n_obs", "zeros", "converged" and "status", whose words `message` has.
        """
        keys = self.keys if self.labels is None else keys_of(self.labels)
        columns: dict[str, Any] = {} if keys is None else keys.columns("key")
        for prefix, values in (("", self.params), ("se_", self.se)):
            columns |= {f"{prefix}{name}": values[..., j].ravel() for j, name in enumerate(self.names)}
        rest = {name: getattr(self, name).ravel() for name in ("loglik", "n_obs", "zeros", "converged", "status")}
        return Table(columns | rest)

    def to_xarray(self) -> Any:
        """The fits as a dataset of xarray, which must be installed.

        Returns
        -------
        xarray.Dataset
            The parameters, ``"se_"`` with their names, "loglik", "aic", "bic", "n_obs", "zeros", "converged" and "status" as
            variables, with the labels of the data where these came in an array of xarray; else the dimensions are "series", with
            the keys of the series, or "series_0", "series_1", ... The attribute "family" has the family.

        Examples
        --------
        >>> import numbastats as ns
        >>> rain = ns.random.gamma(2.0, 3.0, size=(40, 5, 6), rng=1)
        >>> ns.distributions.fit_many(rain, "gamma", axis=0).to_xarray()["shape"].sizes
        Frozen({'series_0': 5, 'series_1': 6})
        """
        import xarray

        dims = ["series"] if self.loglik.ndim == 1 else [f"series_{i}" for i in range(self.loglik.ndim)]
        keys = None if self.keys is None else {"series": [key if np.ndim(key) == 0 else str(key) for key in self.keys]}
        like = self.labels if self.labels is not None else xarray.DataArray(self.loglik, dims=dims, coords=keys)
        columns = {name: self.params[..., j] for j, name in enumerate(self.names)}
        columns |= {f"se_{name}": self.se[..., j] for j, name in enumerate(self.names)}
        columns |= {name: getattr(self, name) for name in ("loglik", "aic", "bic", "n_obs", "zeros", "converged", "status")}
        made = {name: like.copy(data=np.asarray(values)).drop_attrs().rename(name) for name, values in columns.items()}
        return xarray.Dataset(made, attrs={"family": self.family})

    def _index(self, index):
        """The index of one series, from an index or a key."""
        i = self.keys.index(index) if self.keys is not None and index in self.keys else index
        if np.shape(self.loglik[i]) != ():
            raise IndexError(f"{index!r} is not the index of one series: the batch has shape {self.loglik.shape}")
        return i

    def one(self, index: Any) -> DistributionFit:
        """The fit of one series, by its index (or key)."""
        i = self._index(index)
        params, se = (dict(zip(self.names, map(float, a[i]), strict=True)) for a in (self.params, self.se))
        loglik, aic, bic, n_obs, zeros = (float(a[i]) for a in (self.loglik, self.aic, self.bic, self.n_obs, self.zeros))
        n_values, n_iter, status = (int(a[i]) for a in (self.n_values, self.n_iter, self.status))
        return DistributionFit(
            *(self.family, params, se, self.covariance[i], loglik, aic, bic, n_obs, n_values, zeros, n_iter, status),
            converged=bool(self.converged[i]),
            message=self.message(i),
        )


def distribution_of(family, params):
    """The object of a family with parameters by name; NaN for fits that ended outside of the parameters.

    The normal limit of Student's t has many degrees of freedom.
    """
    finite = {name: np.where(np.isposinf(value), NORMAL_DF, value) if name == "df" else value for name, value in params.items()}
    inside = CLASSES[family].in_domain({name: np.asarray(value) for name, value in finite.items()})
    return CLASSES[family](
        **{name: in_kind_of(np.where(inside, value, math.nan), params[name]) for name, value in finite.items()}
    )


class _Series(NamedTuple):
    x: NDArray[np.float64]  # one after another
    w: NDArray[np.float64] | None
    off: NDArray[np.int64]
    shape: tuple[int, ...]
    keys: Keys | None
    labels: Any = None  # an array of xarray of that shape


def floats(x, name):
    """A host array of doubles."""
    if is_masked(x):
        raise TypeError(f"{name} is a masked array; pass x.filled(numpy.nan), or x.compressed()")
    a = np.asarray(to_host(x, name))
    if a.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {a.dtype}; pass real numbers, as {name}.astype('float64')")
    return a.astype(np.float64, copy=False)


def is_ragged(data):
    """Whether data are series of several lengths."""
    return isinstance(data, list | tuple) and len({np.shape(a) for a in data}) > 1


def _is_labelled(data):
    """Whether data are of xarray."""
    return hasattr(data, "dims") and hasattr(data, "coords")


def axis_of(data, axis, dim, name="data"):
    """Number of the axis along which the values of a series run: the last one by default, but of xarray `dim` must say which."""
    if axis is not None and dim is not None:
        raise ValueError(f"axis={axis!r} and dim={dim!r} both say along what the values of a series run; leave one out")
    if hasattr(data, "data_vars"):
        raise TypeError(f"{name} is a Dataset; pass one of its variables, {', '.join(map(repr, data.data_vars))}")
    if axis is not None and not isinstance(axis, int | np.integer):
        raise TypeError(f"axis={axis!r} is not a number; the name of a dimension of xarray is dim={axis!r}")
    if dim is None and (axis is not None or not _is_labelled(data) or data.ndim == 1):
        return -1 if axis is None else axis
    if dim is None or dim not in getattr(data, "dims", ()):
        labelled_sets(data, None, dim, name)  # says what to pass
    return data.dims.index(dim)


def refuse_frame(data, axis, name):
    """Raise for a frame whose series may be its columns or its rows."""
    if hasattr(data, "columns") and not hasattr(data, "ngroups") and axis is None:
        keyed = "; or by='key', where one of its two columns has the keys of the series" if name == "data" else ""
        raise TypeError(
            f"{name} is a frame of shape {data.shape}, whose series may be its columns or its rows; pass axis=0 "
            f"({data.shape[1]} series of {data.shape[0]} values, one a column) or axis=1{keyed}"
        )


def series_of(data, axis, weights, least, by=None, dim=None, name="data"):
    """Data as series one after another; every message about shapes."""
    if by is None:
        refuse_frame(data, axis, name)
    rows_alike(data, weights, (name, "weights"))
    labels, keys = None, None
    if by is None:
        axis = axis_of(data, axis, dim, name)
    if by is None and _is_labelled(data):
        if not -data.ndim <= axis < data.ndim:
            raise ValueError(f"axis={axis} is not an axis of {name} of shape {data.shape}")
        if weights is not None:
            raise ValueError(f"weights= goes with an array that is not of xarray; pass {name}.to_numpy() and axis=")
        dim = data.dims[axis]
        rows, _ = labelled_sets(data, dim=dim, name=name)
        labels = data.isel({dim: 0}, drop=True)
        data, axis = rows.reshape(*labels.shape, -1), -1
    elif not (hasattr(data, "columns") and axis is not None and not hasattr(data, "ngroups")):
        data, keys = labelled_sets(data, by, dim, name)
    if keys is not None or is_ragged(data):
        parts = [floats(a, "a series") for a in data]
        wrong = [a.shape for a in parts if a.ndim != 1]
        if wrong:
            raise ValueError(f"a series has shape {wrong[0]}; in a list or dict each must be one-dimensional")
        if weights is not None:
            raise ValueError("weights= needs an array of series of one length; call fit for each series of a list or dict")
        off = np.concatenate([[0], np.cumsum([a.size for a in parts])]).astype(np.int64)
        return _Series(np.concatenate([*parts, np.zeros(0)]), None, off, (len(parts),), keys)
    x = floats(data, name)
    if x.ndim == 0:
        raise ValueError(f"{name} is a number; pass an array whose `axis` runs along the values of a series")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis={axis} is not an axis of {name} of shape {x.shape}")
    length = x.shape[axis]
    if 0 < length < least and max(x.shape) >= least:
        better = int(np.argmax(x.shape))
        raise ValueError(
            f"along axis={axis} the series of {name}, of shape {x.shape}, have {length} values, fewer than parameters to fit; "
            f"if they run along axis {better}, pass axis={better}"
        )
    moved = np.moveaxis(x, axis, -1)
    shape = moved.shape[:-1]
    count = math.prod(shape)
    w = None if weights is None else _weights(weights, x.shape, axis)
    return _Series(moved.reshape(-1), w, np.arange(count + 1, dtype=np.int64) * length, shape, None, labels)


def _weights(weights, shape, axis):
    w = floats(weights, "weights")
    try:
        full = np.broadcast_to(w, shape)
    except ValueError:
        raise ValueError(f"weights has shape {w.shape}; it must broadcast to the data's shape {shape}") from None
    if not (np.isfinite(w).all() and (w >= 0.0).all()):
        raise ValueError("weights must be finite and >= 0")
    return np.moveaxis(full, axis, -1).reshape(-1)


def _fixed(fixed, family):
    """Fixed values by parameter, NaN for free ones."""
    model = _MODELS[family]
    layout = model.layout
    values = np.full(max(3, len(layout)), math.nan)
    for name, value in (model.held or {}).items():
        values[layout.index(name)] = value
    for name, value in (fixed or {}).items():
        if name not in model.names:
            raise ValueError(f"fixed names {name!r}; the parameters of {family} are {', '.join(model.names)}")
        v = float(value)
        if not math.isfinite(v) or (name in model.positive and v <= 0.0):
            domain = "finite and > 0" if name in model.positive else "finite"
            raise ValueError(f"fixed {name}={value!r} must be {domain}")
        values[layout.index(name)] = v
    known = dict(zip(layout, values.tolist(), strict=False))
    if "beta" in known and abs(known["beta"]) >= known["alpha"]:
        raise ValueError(f"fixed beta={known['beta']} and alpha={known['alpha']}: |beta| must be below alpha")
    return values, int(np.isnan(values[: len(layout)]).sum())


def _slabs(s, limit):
    """The series in parts of about `limit` values, one series at least."""
    lo, n = 0, s.off.size - 1
    while lo < n:
        hi = max(lo + 1, int(np.searchsorted(s.off, s.off[lo] + limit, "right")) - 1)
        a, b = s.off[lo], s.off[hi]
        w = None if s.w is None else s.w[a:b]
        yield _Series(s.x[a:b], w, s.off[lo : hi + 1] - a, (hi - lo,), None)
        lo = hi


def _estimates(s, family, fixed, free, share, device, workers, shown=None):
    """Parameters, information, numbers and status of all series."""
    n, p = s.off.size - 1, len(_MODELS[family].names)
    if is_executor(workers):
        work = functools.partial(_in_kernel, family, fixed, free, share, device, 1)
        limit = min(_SLAB, max(s.x.size // 64, int(5e6 / _MODELS[family].cost)))  # some milliseconds of work at least
        found = mapped(workers, work, _slabs(s, limit))
    else:
        work = functools.partial(_in_kernel, family, fixed, free, share, device, workers)
        found = map(work, _slabs(s, _SLAB if device == "cpu" else s.x.size))
    parts = []
    for part in found:
        parts.append(part)
        if shown is not None:
            shown.update(len(part[0]))
    if not parts:
        return np.empty((n, p)), np.empty((n, p, p)), np.empty((n, k.NUMBERS)), np.empty(n, np.int64)
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def _in_kernel(family, fixed, free, share, device, workers, s):
    """`_estimates` of a part of the series by one launch of the kernel, which overwrites its copies of the values.

    A module's function, so that processes can be sent it.
    """
    n, model = s.off.size - 1, _MODELS[family]
    width = fixed.size
    params, info = np.empty((n, width)), np.empty((n, width * (width + 1) // 2))
    numbers, status = np.empty((n, k.NUMBERS)), np.empty(n, np.int64)
    w = np.ones(int(np.diff(s.off).max(initial=0))) if s.w is None else s.w.copy()
    first = (model.code, s.x.copy(), w, s.w is not None, share, max(2, free + 1), fixed, s.off)
    outs, cost = (params, info, numbers, status), 200.0 + model.cost * s.x.size / n
    written = (-4, -3, -2, -1)
    launch(model.kernel, (*first, *outs), n, device=device, workers=workers, cost=cost, outputs=written, threads=64)
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.where(numbers[:, k.MASS] == numbers[:, k.TOTAL], 1.0, numbers[:, k.TOTAL] / numbers[:, k.MASS])
        numbers[:, k.LOGLIK], info, numbers[:, k.MASS] = numbers[:, k.LOGLIK] * unit, info * unit[:, None], numbers[:, k.TOTAL]
    columns = [model.layout.index(name) for name in model.names]
    full = np.empty((n, len(columns), len(columns)))
    for i, row in enumerate(columns):
        for j, column in enumerate(columns[: i + 1]):
            full[:, i, j] = full[:, j, i] = info[:, row * (row + 1) // 2 + column]
    return params[:, columns], full, numbers, status


def _covariance(info, fixed):
    """Inverses of the information of the free parameters; 0 for fixed ones, NaN where there is no maximum."""
    n, p = info.shape[:2]
    known = np.isfinite(fixed)
    free = np.flatnonzero(~known)
    cov = np.zeros((n, p, p))
    block = info[:, free[:, None], free].copy()
    gone = ~np.isfinite(np.diagonal(block, axis1=1, axis2=2)) & np.isfinite(block).any(axis=(1, 2))[:, None]
    for row, i in zip(*np.nonzero(gone), strict=True):  # of Student's t without heavy tails the others have their errors
        block[row, i], block[row, :, i], block[row, i, i] = 0.0, 0.0, 1.0
    scale = np.sqrt(np.abs(np.diagonal(block, axis1=1, axis2=2)))
    with np.errstate(all="ignore"):
        block /= scale[:, :, None] * scale[:, None, :]
        good = np.isfinite(block).all(axis=(1, 2))
        block[~good] = np.eye(free.size)
        good &= np.linalg.eigvalsh(block)[:, 0] > 1e-12 if free.size else True
        block[~good] = np.eye(free.size)
        inverse = np.linalg.inv(block) / (scale[:, :, None] * scale[:, None, :])
    inverse[~good] = math.nan
    for row, i in zip(*np.nonzero(gone), strict=True):
        inverse[row, i] = inverse[row, :, i] = math.nan
    cov[:, free[:, None], free] = inverse
    return cov


def _counted(s, share):
    """Numbers of the values that have a weight, as the kernels take them."""
    kept = ~np.isnan(s.x) & (s.w > 0.0) & ~(share & (s.x == 0.0))
    return np.diff(np.concatenate([[0], np.cumsum(kept)])[s.off])


def _fitted(s, family, fixed, share, device, workers, shown=None):
    values, free = fixed
    model = _MODELS[family]
    params, info, numbers, status = _estimates(s, family, values, free, share, device, workers, shown)
    cov = _covariance(info, values[[model.layout.index(name) for name in model.names]])
    cov[(status >= k.DEGENERATE)] = math.nan
    p, mass = len(model.names), numbers[:, k.MASS]
    se = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    counts = (mass if s.w is None else _counted(s, share)).astype(np.int64)
    flat = (a.reshape(s.shape) for a in (numbers[:, k.LOGLIK], mass, counts, numbers[:, k.ZEROS]))
    _tell(family, status, _TEXTS)
    if s.w is not None and mass.size:
        i = int(np.argmin(mass / np.maximum(counts, 1)))
        warn_of_shares(float(mass[i]), int(counts[i]), f" of series {i}" if mass.size > 1 else "")
    return DistributionFits(
        family,
        model.names,
        params.reshape(*s.shape, p),
        se.reshape(*s.shape, p),
        cov.reshape(*s.shape, p, p),
        *flat,
        numbers[:, k.PASSES].astype(np.int64).reshape(s.shape),
        status.reshape(s.shape),
        s.keys,
        free,
        s.labels,
    )


def _checked(family, zeros, device, workers):
    """The family's name, and the device."""
    family = choice("family", "normal" if family == "gaussian" else family, tuple(_MODELS))
    choice("zeros", zeros, (None, "share"))
    check_workers(workers)
    return family, choose_device("cpu" if is_executor(workers) else device)


@names_ours
def fit(
    x: ArrayLike,
    family: str,
    *,
    weights: ArrayLike | None = None,
    fixed: Mapping[str, float] | None = None,
    zeros: Literal["share"] | None = None,
) -> DistributionFit:
    """Fit a family to one series by maximum likelihood.

    Parameters
    ----------
    x : array_like of shape (n,)
        Data; NaN is missing.
    family : str
        "normal" (loc, scale), "student_t" (df, loc, scale), "gamma" (shape, scale), "weibull" (shape, scale), "lognormal" (sigma,
        scale), "inverse_gaussian" (mean, shape), "beta" (a, b; values between 0 and 1), "nig" and "hyperbolic" (alpha, beta,
        delta, mu), "variance_gamma" (lam, alpha, beta, mu), "generalized_hyperbolic" (lam, alpha, beta, delta, mu).
    weights : array_like, optional
        Weights >= 0 of the values, which count as so many observations.
    fixed : dict, optional
        Values of parameters that are not estimated, by name.
    zeros : {None, "share"}
        "share" sets zeros apart and fits the other values.

    Returns
    -------
    DistributionFit
        A series that cannot be fitted has NaN and a `message`; one without standard errors a `message` that says why.

    Raises
    ------
    TypeError, ValueError
        For arguments that are not understood; x that is not one-dimensional; negative weights; weights with other labels than x.

    Warns
    -----
    ConvergenceWarning
        When the fit ends in no maximum, with the reason.
    UserWarning
        When weights add up to less than the number of values: they count observations.

    Notes
    -----
    The log-likelihood is at its maximum to about 1e-10. Estimates of normal, lognormal and inverse Gaussian distributions are
    closed formulas; the shape of a gamma distribution solves log a - psi(a) = log(mean x) - mean log x, that of a Weibull
    distribution its profile equation, and those of a beta distribution psi(a) - psi(a + b) = mean log x and psi(b) - psi(a + b) =
    mean log(1 - x). The others are climbed by damped Newton steps with exact second derivatives from two or three starts.

    The likelihood of Student's t has poles where df < s/(1 - s), with s the share of the values that are equal (1/n without
    ties); the fit stays at df >= 0.05, and where it ends in a pole it is repeated at df >= 1.25 s/(1 - s), with status 3 if it
    ends there. Without heavy tails the maximum is at df = infinity.

    That of a variance gamma distribution has none: with mu at one of the values, the density of that value
    grows like 1/(2 lam - 1) as lam falls to 1/2, and is infinite below. The fit stays at lam >= 0.51. Status 0 is a local
    maximum inside, status 3 the end at 0.51; there may be likelier points next to 0.51 with another mu, by some units of
    log-likelihood, most of which the one value at mu contributes. Where lam <= 1.5 the density has a cusp (or no second
    derivative) at mu, and the likelihood one at every value: the best mu of the values nearby is searched. There are no standard
    errors then, as they rest on second derivatives; with mu in `fixed` the other parameters have theirs, given mu. A generalised
    hyperbolic distribution often fits best at a boundary (delta = 0: variance gamma; alpha = abs(beta): a skew t distribution),
    which is status 3; some hundreds of values hardly determine its five parameters, as the standard errors say.

    Examples
    --------
    >>> import numpy as np
    >>> import numbastats as ns
    >>> found = ns.distributions.fit([1.0, 2.0, 4.0, 3.0, 7.0], "gamma")
    >>> round(found.params["shape"], 4), round(found.loglik, 4), found.converged
    (2.6677, -10.0752, True)
    """
    a = floats(x, "x")
    if a.ndim != 1:
        raise ValueError(f"x has shape {a.shape}; fit takes one series. Use fit_many(x, family, axis=...) for many")
    family, device = _checked(family, zeros, "cpu", 1)
    known = _fixed(fixed, family)
    rows_alike(x, weights, ("x", "weights"))
    w = None if weights is None else _weights(weights, a.shape, 0)
    series = _Series(a, w, np.array([0, a.size]), (1,), None)
    return _fitted(series, family, known, zeros == "share", device, 1).one(0)


@names_ours
def fit_many(
    data: Any,
    family: str,
    *,
    axis: int | None = None,
    by: str | Sequence[str] | None = None,
    dim: str | None = None,
    weights: ArrayLike | None = None,
    fixed: Mapping[str, float] | None = None,
    zeros: Literal["share"] | None = None,
    device: Literal["auto", "cpu", "cuda"] | None = None,
    workers: Any = None,
    progress: bool = False,
) -> DistributionFits:
    """Fit a family to each of many series by maximum likelihood.

    Parameters
    ----------
    data : array_like of shape (..., n, ...), list or dict of one-dimensional arrays
        Series along `axis`, or one in each entry; NaN is missing. Keys of a dict, of a pandas groupby of one column
        (``frame.groupby("g")["x"]``) or of an iterable of pairs (key, array) are kept as `keys`.
    family, fixed, zeros
        As in `fit`.
    axis : int, optional
        Along which the values of a series run; the last one by default.
    by : str or sequence of str, optional
        Columns of a pandas or polars frame that say to which series a row belongs; one other column has the values.
    dim : str, optional
        Instead of `axis` the name of a dimension of an xarray.DataArray, whose labels ``fits["scale"]`` has. An array of several
        dimensions needs one of the two.
    weights : array_like, optional
        As in `fit`; broadcast against `data`.
    device : {None, "auto", "cpu", "cuda"}
        Where the kernel runs, one series in a thread.
    workers : int or executor, optional
        Threads, -1 for all cores, or an executor, `joblib.Parallel` or dask client that fits parts of the series. Results do not
        depend on it.
    progress : bool
        Show a bar of tqdm, or a line on stderr where that is not installed.

    Returns
    -------
    DistributionFits
        Of the shape of `data` without `axis`. A series that cannot be fitted has NaN parameters and a `status`: 4 too few values,
        5 constant, 6 outside of the support, 7 all missing, 8 infinite values; 0 is a maximum, 1 no convergence, 2 the
        normal limit, 3 the boundary. ``fits.message(i)`` says it in words.

    Raises
    ------
    TypeError, ValueError
        For arguments that are not understood; frames without `axis` or `by`, arrays of xarray without `dim`, and series that are
        shorter than the number of parameters while another axis is long.

    Warns
    -----
    ConvergenceWarning
        When fits end in no maximum, with their number and the first reason; series in which all values are missing do not count.
    UserWarning
        When weights add up to less than the number of values.

    Examples
    --------
    >>> import numpy as np
    >>> import numbastats as ns
    >>> rain = np.random.default_rng(1).gamma(2.0, 3.0, (40, 5, 6))
    >>> fits = ns.distributions.fit_many(rain, "gamma", axis=0)
    >>> fits["shape"].shape, bool(fits.converged.all())
    ((5, 6), True)
    """
    family, where = _checked(family, zeros, device, workers)
    known = _fixed(fixed, family)
    series = series_of(data, axis, weights, max(2, known[1] + 1), by, dim)
    with bar(progress, series.off.size - 1, "distributions.fit_many") as shown:
        return _fitted(series, family, known, zeros == "share", where, workers, shown)


def fitted(cls, x, axis, options):
    """The distribution of a class with the parameters of a fit, or of many."""
    if cls.family == "stable":
        return _stable(cls, x, axis, options)
    return fit_many(x, cls.family, axis=axis, **options).distribution


Distribution._fitted = staticmethod(fitted)


def _is_maximum(family, status):
    """Whether a fit ended in a maximum, or in the normal limit of Student's t."""
    return (status == k.OK) | ((status == k.NORMAL_LIMIT) & (family == "student_t"))


def _tell(family, status, texts):
    """Warn of fits without a maximum; in a batch, series without a value are no failures."""
    failed = ~np.asarray(_is_maximum(family, status))
    if not (failed & (status == k.MISSING)).all():
        failed &= status != k.MISSING
    _warn_of(failed, np.asarray(texts)[np.asarray(status)])


def _warn_of(failed, messages):
    """Warn of fits that failed, with the reason of the first."""
    if failed.any():
        count = "the fit ended" if failed.size == 1 else f"{failed.sum()} of {failed.size} fits ended"
        first = ", the first" if failed.size > 1 else ""
        warn(f"{count} without a maximum{first}: {messages[failed].flat[0]}", ConvergenceWarning)


def _stable(cls, x, axis, options):
    """The same by the fits of stable distributions."""
    options = dict(options)
    axis = axis_of(x, axis, options.pop("dim", None), "x")
    data = np.moveaxis(floats(x, "x"), axis, -1)
    param = options.get("param", "S0")
    if data.ndim == 1:  # warns itself
        return cls(*stable.fit(data, **options).params, param=param)
    found = stable.fit_many(data.reshape(-1, data.shape[-1]), **options)
    _warn_of(~np.asarray(found.converged), np.asarray(found.message))
    return cls(*found.params.T.reshape(4, *data.shape[:-1]), param=param)
