"""What a fit leaves open: intervals by the profile of the likelihood, and whether a stable distribution fits at all."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import checked_level, choice
from numbastats._core.edf import distance
from numbastats._core.errors import ConvergenceWarning, warn
from numbastats._core.options import hands_on
from numbastats._core.progress import bar
from numbastats._core.results import Result, Table, half_width
from numbastats.stable.arguments import (
    FitMethod,
    GoodnessOptions,
    ProfileOptions,
    check_draws,
    check_likeliest,
    observations,
    profile_options,
    range_of,
)
from numbastats.stable.estimator import StableFit
from numbastats.stable.fitting import fit, fit_many
from numbastats.stable.functions import logcdf, logsf, rvs

__all__ = ["GoodnessOfFit", "ProfileInterval", "goodness", "profile"]

Name = Literal["alpha", "beta", "loc", "scale"]
Statistic = Literal["anderson-darling", "cramer-von-mises", "kolmogorov-smirnov"]
_STATISTICS = {"anderson-darling": "ad", "cramer-von-mises": "cvm", "kolmogorov-smirnov": "ks"}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ProfileInterval(Result):
    """A confidence interval by the profile likelihood; it prints as a table, which `summary` and `to_frame` give.

    Attributes
    ----------
    name : str
        The parameter.
    estimate, lower, upper : float
    level : float
        Of confidence.
    values, loglik : numpy.ndarray
        The values of the parameter that were tried, ascending, and the largest log-likelihood with each.
    message : str
        "ok", or which end is not a crossing: a bound of the parameter, or the last value tried.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    level: float
    values: NDArray[np.float64]
    loglik: NDArray[np.float64]
    message: str

    def _headline(self) -> str:
        return self.message

    def summary(self) -> Table:
        """One row: "parameter", "estimate", "lower", "upper", "level"."""
        columns = {"parameter": self.name, "estimate": self.estimate, "lower": self.lower, "upper": self.upper}
        return Table({name: np.array([value]) for name, value in columns.items()}, level=self.level)


@hands_on(fit)
def profile(
    x: ArrayLike,
    name: Name,
    *,
    level: float = 0.95,
    found: StableFit | None = None,
    progress: bool = False,
    **options: Unpack[ProfileOptions],
) -> ProfileInterval:
    """Confidence interval of one parameter by the profile likelihood.

    The interval holds the values of the parameter with which the log-likelihood, maximised over the other three, is within half
    of the chi-square quantile of the maximum. Unlike an estimate plus and minus two standard errors it may be asymmetric, and it
    exists next to alpha = 2 and beta = +-1.

    Parameters
    ----------
    x : array_like
        Observations, as in `fit`.
    name : {"alpha", "beta", "loc", "scale"}
    level : float
        Confidence, between 0 and 1.
    found : StableFit, optional
        The fit by maximum likelihood to the same data with the same options, if it exists.
    progress : bool
        Show the number of fits, by tqdm or as a line on stderr.
    **options
        Of `fit`: fixed, bounds, weights, param, nan_policy, device, workers.

    Returns
    -------
    ProfileInterval
        Ends are good to 1e-4 of the interval's length.

    Raises
    ------
    ValueError
        For a level out of range, a parameter that is fixed, or what `fit` refuses.
    TypeError
        For options that `fit` does not have.

    Warns
    -----
    ConvergenceWarning
        When the fit did not converge, or a fit with the parameter held is likelier than the fit to all of them.

    Notes
    -----
    The limit is that of Wilks, for a parameter inside its range. At an estimate of alpha = 2 or beta = +-1 it is conservative:
    the interval is too long, not too short. With loc, and alpha below 0.6, use ``param="S1"``.

    References
    ----------
    S. S. Wilks, Ann. Math. Statist. 9 (1938) 60.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.6, 0.4, loc=3.0, scale=2.0, size=1000, rng=1)
    >>> found = ns.stable.profile(x, "alpha")
    >>> found.lower < 1.6 < found.upper, found.message
    (True, 'ok')
    """
    index, fixed, options = profile_options(name, options)
    level = checked_level(level)
    best = fit(x, **options, fixed=fixed) if found is None else check_likeliest(found)
    estimate = float(best.params[index])
    tried = {estimate: best}  # the fit with each value

    def drop(value):
        """Root of twice the loss of log-likelihood with the parameter held at a value, which is nearly straight in the value."""
        if value not in tried:
            start = tried[min(tried, key=lambda v: abs(v - value))].params.copy()
            start[index] = value
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # judged by the likelihood
                tried[value] = fit(x, **options, fixed={**fixed, name: value}, start=start)
            shown.update()
        return math.sqrt(max(2.0 * (best.loglik - tried[value].loglik), 0.0))

    limit = half_width(level)  # root of the quantile of chi-square, 1 degree of freedom
    said, ends = [], []
    with bar(progress, None, "stable.profile") as shown:
        for sign, bound in zip((-1.0, 1.0), range_of(name, options.get("bounds")), strict=True):
            end, why = _crossing(drop, estimate, sign, bound, limit, _step(best, index, limit))
            ends.append(end)
            said += [why] if why else []
    values = np.array(sorted(tried))
    loglik = np.array([tried[v].loglik for v in values])
    more = loglik.max() - best.loglik
    if more > 1e-3:
        said.append(f"not the maximum: with {name}={values[loglik.argmax()]:.6g} held the log-likelihood is {more:.3g} larger")
        warn(f"profile: {said[-1]}; pass found=fit(x, start=...)", ConvergenceWarning)
    return ProfileInterval(name, estimate, ends[0], ends[1], level, values, loglik, "; ".join(said) or "ok")


def _step(best, index, limit):
    """How far to look first: the half-width that the standard error gives, or a guess where there is none."""
    se = best.se[index]
    alpha, scale = best.params[0], best.params[3]
    return float(limit * se) if 0 < se < math.inf else (0.1, 0.3, 0.1 * scale, 0.1 * scale)[index] * (1.0 if alpha > 0.5 else 0.1)


def _crossing(drop, estimate, sign, bound, limit, step):
    """Where the loss reaches the limit on one side, and why that is not a crossing where it is none."""
    inside, below, side = estimate, 0.0, "lower" if sign < 0 else "upper"
    if estimate == bound:
        return bound, f"{side} end is the bound {bound:g}"
    for _ in range(60):
        outside = sign * min(sign * (estimate + sign * step), sign * bound)
        if outside == bound == 0.0:  # of a scale: approached, not reached
            outside = inside / 2.0
        above = drop(outside)
        if above >= limit:
            break
        if outside == bound:
            return bound, f"{side} end is the bound {bound:g}"
        inside, below = outside, above
        step *= 2.0
    else:
        return outside, f"{side} end is the last value tried"
    for i in range(60):
        share = 0.5 if i % 4 == 3 or not math.isfinite(above) else (limit - below) / (above - below)
        middle = inside + min(max(share, 0.02), 0.98) * (outside - inside)
        value = drop(middle)
        if abs(value - limit) < 1e-4 * limit or abs(outside - inside) < 1e-5 * abs(outside - estimate):
            return middle, ""
        if value < limit:
            inside, below = middle, value
        else:
            outside, above = middle, value
    return inside, ""


@dataclasses.dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """A test of goodness of fit by the parametric bootstrap.

    Attributes
    ----------
    name : str
        The statistic.
    statistic, pvalue : float
        pvalue is (1 + number of simulated statistics that are at least as large)/(1 + number of simulations).
    simulated : numpy.ndarray
        Statistics of the simulated data sets.
    fit : StableFit
        The fit to the data.
    failed : int
        Simulated data sets whose fit did not converge. Their statistics count as they are.
    """

    name: str
    statistic: float
    pvalue: float
    simulated: NDArray[np.float64] = dataclasses.field(repr=False)
    fit: StableFit = dataclasses.field(repr=False)
    failed: int

    @property
    def n_missing(self) -> int:
        """Number of missing values, which were left out."""
        return self.fit.n_missing


@hands_on(fit, instead={"weights": "the data are compared with samples of equal weights; repeat observations"})
def goodness(
    x: ArrayLike,
    statistic: Statistic = "anderson-darling",
    *,
    method: FitMethod = "ml",
    draws: int = 199,
    rng: Any = None,
    workers: Any = None,
    progress: bool = False,
    **options: Unpack[GoodnessOptions],
) -> GoodnessOfFit:
    """Test whether a stable distribution fits, with its parameters estimated from the same data.

    Data sets of the same size are drawn from the fitted distribution and fitted again, so that the p-value allows for
    parameters that the data have chosen; tables of these statistics for a known distribution do not.

    Parameters
    ----------
    x : array_like
        Observations, as in `fit`.
    statistic : {"anderson-darling", "cramer-von-mises", "kolmogorov-smirnov"}
        The first weighs the tails most.
    method : str
        Of `fit`, for the data and for all simulations.
    draws : int
        Number of simulations, at least 19.
    rng
        As in `rvs`.
    workers : int or executor, optional
        As in `fit_many`.
    progress : bool
        Show a bar of tqdm, or a line on stderr where that is not installed.
    **options
        Of `fit`: fixed, bounds, param, nan_policy, device.

    Returns
    -------
    GoodnessOfFit

    Raises
    ------
    ValueError
        For too few draws, or what `fit` refuses.
    TypeError
        For other options, weights among them: the data are compared with samples of equal weights.

    References
    ----------
    A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application (1997), section 4.2. M. A. Stephens, "EDF statistics for
    goodness of fit and some comparisons", JASA 69 (1974) 730.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.6, 0.4, size=300, rng=1)
    >>> ns.stable.goodness(x, method="quantile", draws=99, rng=2).pvalue > 0.05
    True
    """
    choice("statistic", statistic, tuple(_STATISTICS))
    check_draws(draws)
    found = fit(x, method, workers=None, **options)
    values = np.sort(observations(x, None, options.get("nan_policy", "omit"))[0])
    alpha, beta, loc, scale = found.params
    y = rvs(alpha, beta, loc, scale, (draws, values.size), rng=rng, param=found.param)
    again = fit_many(y, method, workers=workers, progress=progress, **options)
    simulated = np.array([_edf(statistic, np.sort(row), p, found.param) for row, p in zip(y, again.params, strict=True)])
    observed = _edf(statistic, values, found.params, found.param)
    at_least = int(np.sum(~(simulated < observed)))  # NaN, of a fit that failed as a whole, counts as larger
    failed = int(np.sum(~again.converged))
    return GoodnessOfFit(statistic, observed, (1 + at_least) / (1 + draws), simulated, found, failed)


def _edf(statistic, x, params, param):
    """Distance of the empirical distribution function of ascending values from a stable one."""
    if np.isnan(params).any():
        return math.nan
    below, above = (lambda v, tail=tail: tail(v, *params, param=param) for tail in (logcdf, logsf))
    found = float(distance(_STATISTICS[statistic], x, lambda v: np.exp(below(v)), below, above))
    return math.sqrt(x.size) * found if statistic == "kolmogorov-smirnov" else found
