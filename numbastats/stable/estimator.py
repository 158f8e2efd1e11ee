"""A stable distribution with given parameters, and results of fits."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.broadcast import real64
from numbastats._core.checks import choice
from numbastats._core.errors import names_ours
from numbastats._core.groups import Keys
from numbastats._core.options import hands_on
from numbastats._core.results import Around, BatchOfFits, Intervals, Table, dataset, estimates, with_intervals
from numbastats.random import Options, Size
from numbastats.scalar.stable import tan_half_pi
from numbastats.stable import functions, table_cache
from numbastats.stable.arguments import NAMES, LogOptions, Param, PassOptions, PointOptions, QuantileOptions, ScoreOptions

__all__ = ["Stable", "StableFit", "StableFits"]


@names_ours
@dataclasses.dataclass(frozen=True)
class Stable:
    """The stable distribution of four parameters.

    Parameters
    ----------
    alpha : float
        Index of stability, 0 < alpha <= 2.
    beta : float
        Skewness, -1 <= beta <= 1.
    loc, scale : float
        Location and scale (> 0).
    param : {"S0", "S1"}
        Parameterisation of `loc`; see `numbastats.stable.pdf`.
    table : {"auto", True, False}
        Whether points are looked up in tables: always, never, or where there are enough of them (see `numbastats.stable.pdf`).

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    `numbastats.distributions.Stable` takes the same parameters, also as arrays, and has intervals, expectations and the expected
    shortfall; from a fit: ``Stable(*fit.params, fit.param)``.

    Examples
    --------
    >>> import numbastats as ns
    >>> distribution = ns.stable.Stable(1.5, 0.0)
    >>> float(distribution.cdf(0.0)), distribution.mean(), distribution.var()
    (0.5, 0.0, inf)
    """

    alpha: float
    beta: float
    loc: float = 0.0
    scale: float = 1.0
    param: Param = "S0"
    table: Literal["auto", True, False] = "auto"

    def __post_init__(self):
        for name, allowed in (("alpha", "(0, 2]"), ("beta", "[-1, 1]"), ("loc", "the real numbers"), ("scale", "(0, inf)")):
            value = getattr(self, name)
            try:
                value = float(value)
            except TypeError:
                raise TypeError(
                    f"{name}={value!r} is not a number; for many distributions pass arrays to the functions, as pdf"
                ) from None
            inside = {
                "alpha": 0.0 < value <= 2.0,
                "beta": abs(value) <= 1.0,
                "loc": math.isfinite(value),
                "scale": 0.0 < value < math.inf,
            }[name]
            if not inside:
                raise ValueError(f"{name}={getattr(self, name)!r} is outside {allowed}; pass a number in that range")
            object.__setattr__(self, name, value)
        choice("param", self.param, ("S0", "S1"))
        choice("table", self.table, ("auto", True, False))

    @property
    def _parameters(self) -> tuple[float, float, float, float]:
        return self.alpha, self.beta, self.loc, self.scale

    def _at(self, name, x, options):
        if self.table is not True:
            options = {"method": "auto" if self.table == "auto" else "quadrature", **options}
        elif 0.1 <= self.alpha < 2.0 and not (abs(self.beta) == 1.0 and hasattr(x, "__cuda_array_interface__")):
            options = {"method": "table", **options}
        return getattr(functions, name)(x, *self._parameters, param=self.param, **options)

    @hands_on(functions.pdf)
    def pdf(self, x: ArrayLike, **options: Unpack[PointOptions]) -> Any:
        """Density, as by `numbastats.stable.pdf`."""
        return self._at("pdf", x, options)

    @hands_on(functions.logpdf)
    def logpdf(self, x: ArrayLike, **options: Unpack[LogOptions]) -> Any:
        """Logarithm of the density."""
        return self._at("logpdf", x, options)

    @hands_on(functions.cdf)
    def cdf(self, x: ArrayLike, **options: Unpack[PointOptions]) -> Any:
        """Distribution function."""
        return self._at("cdf", x, options)

    @hands_on(functions.logcdf)
    def logcdf(self, x: ArrayLike, **options: Unpack[LogOptions]) -> Any:
        """Logarithm of the distribution function."""
        return self._at("logcdf", x, options)

    @hands_on(functions.sf)
    def sf(self, x: ArrayLike, **options: Unpack[PointOptions]) -> Any:
        """Survival function."""
        return self._at("sf", x, options)

    @hands_on(functions.logsf)
    def logsf(self, x: ArrayLike, **options: Unpack[LogOptions]) -> Any:
        """Logarithm of the survival function."""
        return self._at("logsf", x, options)

    @hands_on(functions.pdf_cdf)
    def pdf_cdf(self, x: ArrayLike, **options: Unpack[PassOptions]) -> tuple[Any, ...]:
        """Density, distribution function and survival function in one pass."""
        return self._at("pdf_cdf", x, options)

    @hands_on(functions.ppf)
    def ppf(self, p: ArrayLike, **options: Unpack[QuantileOptions]) -> Any:
        """Quantile."""
        return functions.ppf(p, *self._parameters, param=self.param, **options)

    @hands_on(functions.isf)
    def isf(self, q: ArrayLike, **options: Unpack[QuantileOptions]) -> Any:
        """Inverse of the survival function."""
        return functions.isf(q, *self._parameters, param=self.param, **options)

    @hands_on(functions.rvs)
    def rvs(self, size: Size = None, **options: Unpack[Options]) -> Any:
        """Draws, as by `numbastats.stable.rvs`."""
        return functions.rvs(*self._parameters, size, param=self.param, **options)

    @hands_on(functions.score)
    def score(self, x: ArrayLike, **options: Unpack[ScoreOptions]) -> Any:
        """Derivatives of the log density with respect to the four parameters."""
        return functions.score(x, *self._parameters, param=self.param, **options)

    @hands_on(functions.loglik)
    def loglik(self, x: ArrayLike, **options: Unpack[ScoreOptions]) -> float:
        """Sum of the log densities."""
        return functions.loglik(x, *self._parameters, param=self.param, **options)

    def convert(self, to: Param = "S1") -> Stable:
        """The same distribution in the other parameterisation."""
        if choice("to", to, ("S0", "S1")) == self.param:
            return self
        a, b, loc, scale = functions.convert(*self._parameters, to=to)
        return Stable(float(a), float(b), float(loc), float(scale), to, self.table)

    def support(self) -> tuple[float, float]:
        """Smallest interval that holds all probability: a half line for alpha < 1 and beta = +-1, else all numbers."""
        end = self.convert("S1").loc
        if self.alpha < 1.0 and abs(self.beta) == 1.0:
            return (end, math.inf) if self.beta > 0 else (-math.inf, end)
        return -math.inf, math.inf

    def mean(self) -> float:
        """The location of the S1 form for alpha > 1; NaN, undefined, otherwise (infinite for alpha <= 1 and beta = +-1)."""
        if self.alpha > 1.0:
            return self.convert("S1").loc
        return math.copysign(math.inf, self.beta) if abs(self.beta) == 1.0 else math.nan

    def var(self) -> float:
        """2 scale^2 for alpha = 2; infinite below where the mean exists, else NaN."""
        if self.alpha == 2.0:
            return 2.0 * self.scale * self.scale
        return math.inf if self.alpha > 1.0 else math.nan

    def std(self) -> float:
        """Square root of the variance."""
        return math.sqrt(2.0) * self.scale if self.alpha == 2.0 else self.var()

    def skewness(self) -> float:
        """0 for alpha = 2, else NaN: there is no third moment."""
        return 0.0 if self.alpha == 2.0 else math.nan

    def kurtosis(self) -> float:
        """Excess kurtosis: 0 for alpha = 2, else NaN."""
        return 0.0 if self.alpha == 2.0 else math.nan

    def entropy(self) -> float:
        """Differential entropy, by a sum over equal steps in log x; errors of 1e-12, 3e-11 at alpha = 0.1."""
        param: Param = "S1" if self.alpha < 0.9 else "S0"  # with x = 0 at the cusp, or in the middle
        log_x = np.arange(-40.0 / min(self.alpha, 1.0), 45.0 / self.alpha + 40.0, 0.02)
        standard, total = Stable(self.alpha, self.beta, param=param), math.log(self.scale)
        for x in (np.exp(log_x), -np.exp(log_x)):
            logs = standard.logpdf(x)
            use = logs > -700.0
            total -= 0.02 * float(np.sum(np.exp(logs[use] + log_x[use]) * logs[use]))
        return total

    def median(self) -> float:
        """The quantile at 1/2."""
        return float(self.ppf(0.5))

    def characteristic_function(self, t: ArrayLike) -> Any:
        """E exp(i t X), complex, for real t of any shape."""
        t = real64(t)
        s = self.convert("S0")
        u = np.abs(s.scale * t)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logs = np.where(u > 0, np.log(u), 0.0)
            p = s.alpha - 1.0
            # T (|u| - |u|^a) without cancellation near alpha = 1
            skew = (2.0 / math.pi) * u * logs if p == 0 else -tan_half_pi(s.alpha)[0] * u * np.expm1(p * logs)
            skew = np.where(u > 0, skew, 0.0) if s.alpha < 2.0 else np.zeros_like(u)
            power = u**s.alpha
            gone = power > 750.0  # the phase may be no number there
            phase = np.where(gone, 0.0, s.loc * t - s.beta * np.sign(t) * skew)
        return np.where(gone, 0.0, np.exp(1j * phase - np.minimum(power, 750.0)))[()]

    def tail_coefficients(self) -> tuple[float, float]:
        """(left, right) constants C with P(X < -x) and P(X > x) ~ C x^-alpha: (scale^a Gamma(a) sin(pi a/2)/pi)(1 -+ beta)."""
        a = self.alpha
        with np.errstate(over="ignore"):
            power = float(np.power(self.scale, a))
        c = 0.0 if a == 2.0 else power * (math.gamma(1.0 + a) * math.sin(0.5 * math.pi * a) / (a * math.pi))
        return c * (1.0 - self.beta), c * (1.0 + self.beta)

    @property
    def certificate(self) -> float:
        """Largest error estimate of the table (of logarithms, at check points); 0 where there is none."""
        return float(table_cache.table(self.alpha, self.beta).certificate) if 0.1 <= self.alpha < 2.0 else 0.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StableFit(Intervals):
    """Result of a fit; it prints as a table, which `summary` and `to_frame` give.

    Attributes
    ----------
    params : numpy.ndarray, shape (4,)
        alpha, beta, loc, scale in `param`.
    se : numpy.ndarray, shape (4,)
        Standard errors: NaN where there is none, which `message` explains: estimates on the boundary; for alpha < 0.5 what the
        place of the density's cusp determines, which is loc in S1, loc in S0 with a known beta near 0, and the only unknown
        parameter beside a known loc in S0; an information matrix that is not positive definite. Also NaN for fixed parameters
        and for methods other than "ml"; infinite for the beta of a Gaussian.
    cov : numpy.ndarray, shape (4, 4)
    loglik : float
    n_iter, n_eval : int
        Iterations, and evaluations of the likelihood of all data.
    converged : bool
    message, method, param : str
    start : numpy.ndarray, shape (4,)
        Where the search began.
    n_obs : float
        Number of values, or the sum of their weights.
    n_values : int
        Number of values.
    n_free : int
        Number of parameters that were not fixed.
    n_missing : int
        Number of values that were missing, and left out.
    aic, bic : float
        Criteria of `loglik`, `n_free` and `n_obs`, to be compared with those of other families. They are meant for method "ml":
        the others do not maximise the likelihood.
    """

    params: NDArray[np.float64]
    se: NDArray[np.float64]
    cov: NDArray[np.float64]
    loglik: float
    n_iter: int
    n_eval: int
    converged: bool
    message: str
    method: str
    param: functions.Param
    start: NDArray[np.float64]
    n_obs: float
    n_free: int
    n_values: int = 0
    n_missing: int = 0

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return 2.0 * self.n_free - 2.0 * self.loglik

    @property
    def bic(self) -> float:
        """Schwarz's information criterion."""
        return self.n_free * math.log(self.n_obs) - 2.0 * self.loglik if self.n_obs > 0.0 else math.nan

    @property
    def distribution(self) -> Stable:
        """The distribution `Stable` with these parameters."""
        alpha, beta, loc, scale = self.params
        return Stable(alpha, beta, loc, scale, param=self.param)

    def _headline(self) -> str:
        likelihood = f"log-likelihood {self.loglik:.8g}, " if np.isfinite(self.loglik) else ""
        missing = f"{self.n_missing} missing, " if self.n_missing else ""
        return f'method "{self.method}", {self.param}, {missing}{likelihood}{self.message}'

    @names_ours
    def summary(self, level: float = 0.95) -> Table:
        """Estimates, standard errors and confidence intervals (at 95 % 1.96 standard errors on either side).

        Parameters
        ----------
        level : float
            Confidence of the intervals, between 0 and 1.

        Returns
        -------
        Table
            A dict of the columns "parameter", "estimate", "se", "lower", "upper", "level" that prints as a table, with the level
            in the headings.

        Raises
        ------
        ValueError
            For a level out of range.
        """
        return estimates(NAMES, self.params, self.se, level)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StableFits(BatchOfFits):
    """Results of many fits: the fields of `StableFit` with a first axis of data sets; ``fits[i]`` is a `StableFit`.

    A data set that cannot be fitted has NaN parameters, ``converged`` False and the reason in ``message``. `keys`, a tuple or
    None, are those of the data sets in their order. ``fits["alpha"]`` is the array of a parameter; ``fits[key]`` is the fit of
    one data set, unless the key is a number, which is an index; ``fits.one(which)`` takes keys first, ``fits.at(i)`` an index.
    `len`, iteration over the fits and ``fits.items()``, pairs (key, fit), go through all.
    """

    params: NDArray[np.float64]
    se: NDArray[np.float64]
    cov: NDArray[np.float64]
    loglik: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    n_eval: NDArray[np.int64]
    converged: NDArray[np.bool_]
    message: list[str]
    method: str
    param: functions.Param
    start: NDArray[np.float64]
    n_obs: NDArray[np.float64]
    n_free: NDArray[np.int64]
    keys: Keys | None = None
    _of: ClassVar[Any]  # the class of `numbastats.distributions`, which sets it
    n_values: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
    n_missing: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return self.params.shape[0]

    @property
    def _names(self):
        return NAMES

    def _named(self, name):
        return self.params[:, NAMES.index(name)]

    @property
    def messages(self) -> NDArray[np.str_]:
        """How each fit ended, in words: `message` as an array."""
        return np.array(self.message, np.str_)

    def _parts(self):
        use = np.flatnonzero(self.converged)
        cov, known = self.cov[use], ~np.isnan(self.se[use])
        fixed = ~known & (known.sum(axis=1) == self.n_free[use])[:, None]  # they have NaN, as those that lack an error
        cov = np.where(fixed[:, :, None] | fixed[:, None, :], 0.0, cov)
        params, se = (dict(zip(NAMES, a.T, strict=True)) for a in (self.params[use], np.where(fixed, 0.0, self.se[use])))
        of: Any = self._of
        yield Around(use, lambda named: of(**named, param=self.param), of.in_domain, of._positive, params, se, cov)

    def _item(self, i: int) -> StableFit:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(StableFit)}
        one: dict[str, Any] = {n: v if isinstance(v, str) else v[i] for n, v in values.items()}
        numbers = ("loglik", "n_iter", "n_eval", "converged", "n_obs", "n_free", "n_values", "n_missing")
        one |= {name: one[name].item() for name in numbers}
        return StableFit(**one)

    def _headline(self) -> str:
        missing = f", {self.n_missing.sum()} missing" if self.n_missing.any() else ""
        return f'{len(self)} data sets, method "{self.method}", {self.param}, {int(np.sum(self.converged))} converged{missing}'

    @names_ours
    def summary(self, level: float | None = None) -> Table:
        """A row for each data set.

        Parameters
        ----------
        level : float, optional
            Confidence of intervals, between 0 and 1.

        Returns
        -------
        Table
            A dict of the columns "key" (where the data sets have keys; of grouped data their columns or dimensions), "alpha",
            "beta", "loc", "scale", "se_alpha" ..., "loglik", "n_values", "converged", and where values are missing "n_missing";
            for a level also "lower_alpha", "upper_alpha" ... and "level".

        Raises
        ------
        ValueError
            For a level out of range.
        """
        columns: dict[str, Any] = dict(zip(NAMES, self.params.T, strict=True))
        columns |= {f"se_{name}": error for name, error in zip(NAMES, self.se.T, strict=True)}
        columns |= {"loglik": self.loglik, "n_values": self.n_values, "converged": self.converged}
        columns |= {"n_missing": self.n_missing} if self.n_missing.any() else {}
        known = dict(zip(NAMES, zip(self.params.T, self.se.T, strict=True), strict=True))
        return self._table(columns, functools.partial(with_intervals, known=known, level=level))

    def to_xarray(self) -> Any:
        """The fits as a dataset of xarray, which must be installed.

        Returns
        -------
        xarray.Dataset
            The parameters, ``"se_"`` with their names, "loglik", "n_obs", "n_values", "n_iter", "converged" and "message" as
            variables along "data_set", or the column or dimension of the keys. Keys of several columns are an index:
            ``.unstack()`` gives each a dimension. The attributes have method and param.
        """
        values: dict[str, Any] = dict(zip(NAMES, self.params.T, strict=True))
        values |= {f"se_{name}": error for name, error in zip(NAMES, self.se.T, strict=True)}
        values |= {name: getattr(self, name) for name in ("loglik", "n_obs", "n_values", "n_iter", "converged", "message")}
        return dataset(values, len(self), self.keys, {}, method=self.method, param=self.param)
