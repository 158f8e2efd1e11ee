"""Plots of data against distributions and of fits, by matplotlib, which must be installed.

Every function draws into `ax`, or into the axes of a new figure, and returns the axes: titles, limits and files are left to you.
Colours are those of the current style of matplotlib, greys lie between its ink and its background. :doc:`/plotting` shows all.
Data that are known in part are passed as to `distributions.fit`, with `event`, `censored` and `entry`, or as the result of
`distributions.survival`: what is drawn of them is that estimate, with a band.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.checks import checked_level, choice
from numbastats._core.data import series
from numbastats._core.errors import names_ours, renamed, warn
from numbastats._core.kinds import to_host
from numbastats._core.results import half_width, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 1000
_SLOWEST = 4  # parameters that are drawn without a name
_TICKS = np.array([1e-4, 1e-3, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999])

__all__ = [
    "calibration",
    "check",
    "contours",
    "criteria",
    "densities",
    "density",
    "fit",
    "forest",
    "mean_excess",
    "mixture",
    "probability",
    "qq",
    "rank",
    "return_levels",
    "survival",
    "tail",
    "threshold_stability",
    "trace",
]


def __dir__() -> list[str]:
    return __all__


def _axes(ax, **size):
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("numbastats.plot needs matplotlib: pip install matplotlib") from None
    return pyplot.subplots(layout="constrained", **size)[1]


def _ink(ax, grey=0.0):
    """Between the colour of the labels of axes (0, black by default) and that behind them (1): what every style shows."""
    from matplotlib.colors import to_rgb

    ink, face = np.array(to_rgb(ax.xaxis.label.get_color())), np.array(to_rgb(ax.get_facecolor()))
    return tuple(((1.0 - grey) * ink + grey * face).tolist())


def _data(data):
    """Finite values of one series, sorted."""
    x = series(data, "data", "pass one series, as data.ravel() or one column").astype(np.float64)
    x = np.sort(x[~np.isnan(x)])
    if x.size < 2 or not np.isfinite(x[[0, -1]]).all():
        raise ValueError("data needs at least two values, and none that is infinite (NaN are left out)")
    return x


def _known(data, event, censored, entry):
    """The estimate of values of which parts are known, None where data are complete."""
    from numbastats import distributions as families
    from numbastats.distributions.censoring import is_censored_data

    if isinstance(data, families.Survival):
        return data
    if isinstance(data, families.Survivals):
        raise TypeError(f"data are estimates of {len(data)} groups; pass one of them, as data[key], or call plot.survival")
    if all(v is None for v in (event, censored, entry)) and not is_censored_data(data):
        return None
    return families.survival(data, event=event, censored=censored, entry=entry)


def _method(found, name):
    """The method that counts have in the place of another."""
    return name.replace("pdf", "pmf") if getattr(found, "is_discrete", False) is True else name


def _distribution(one, method, known=None):
    """A distribution, or that of a fit; `method` is what is drawn of it, `known` the estimate of data that are known in part."""
    if getattr(one, "_censored", False) and known is None:
        raise ValueError(
            "the values of this fit were censored or truncated at entries, and a plot of them as if all were known would show a "
            "misfit where there is none: pass what is known of them, too, as event=, censored= or entry= of the fit, and their "
            "Kaplan-Meier or Turnbull estimate is drawn"
        )
    cut, whole = (
        getattr(one, "_cut", None),
        getattr(one, "whole", None),
    )  # of a fit the distribution of all values, with their zeros
    if _is_apart(whole) and cut is not None:  # the zeros beside those within the ends
        from numbastats.distributions import truncate, with_zeros

        return with_zeros(truncate(one.distribution, *cut), one.zeros)
    for found in (whole, one, getattr(one, "distribution", None)):
        if callable(getattr(found, _method(found, method), None)):
            return _within(found, cut, known)
    if isinstance(one, Mapping):
        raise TypeError(f"qq draws one distribution, but this is a {type(one).__name__} of {len(one)}: pass one of its values")
    shown = f"a {type(one).__name__}" if isinstance(one, list | tuple) or "\n" in repr(one) else repr(one)
    raise TypeError(
        f"{shown} is no distribution: it has no method {method}; pass one, a fit with `.distribution` or, but for qq, a dict of "
        "them"
    )


def _is_apart(found):
    """Whether a distribution is a continuous one with a share of zeros."""
    return getattr(found, "family", None) == "with_zeros" and not found.is_discrete


def _within(found, cut, known):
    """The distribution of what data can tell: within the truncation of a fit, and above the least entry."""
    from numbastats.distributions import truncate

    if known is not None and known.start > -np.inf and found.cdf(known.start) > 0.0:
        low, high = (-np.inf, np.inf) if cut is None else cut
        cut = max(low, known.start), high
    return found if cut is None else truncate(found, *cut)


def _labelled(distributions, method, known=None):
    """Distributions, or fits, with labels: one, several in a list, or a dict of labels."""
    return {label: _distribution(d, method, known) for label, d in _named(distributions).items()}


def _named(distributions):
    """Distributions, or fits, by their labels: those of a dict, or the words of their families."""
    if distributions is None or isinstance(distributions, Mapping):
        return distributions or {}
    many = distributions if isinstance(distributions, list | tuple) else [distributions]
    return {getattr(d, "family", type(d).__name__).replace("_", " "): d for d in many}


def _are_counts(drawn):
    """Whether distributions are of counts; they must be alike."""
    counts = {getattr(d, "is_discrete", False) is True for d in drawn.values()}
    if len(counts) > 1:
        raise TypeError("some of the distributions are of counts and some are continuous; draw them in two plots")
    return counts == {True}


@names_ours
def tail(  # noqa: PLR0913
    data: Any,
    distributions: Any = None,
    *,
    side: str = "upper",
    event: ArrayLike | None = None,
    censored: Any = None,
    entry: ArrayLike | None = None,
    level: float = 0.95,
    points: int = 400,
    ax: Axes | None = None,
) -> Axes:
    """Share of values beyond x, on logarithmic axes, with the tails of distributions.

    A tail that falls like a power of x is a straight line of that slope.

    Parameters
    ----------
    data : array_like of shape (n,), CensoredData, Survival or None
        NaN are left out; only values > 0 can be shown (for side="lower", values < 0).
    distributions : distribution, list of them, or dict, optional
        Anything with the methods `cdf` and `sf`, or fits of it; the keys of a dict are the labels.
    side : {"upper", "lower"}
        P(X >= x) against x, or P(X <= -x) against x: losses where data are returns.
    event, censored, entry : optional
        What is known of the data, as in `distributions.fit`; the steps of their estimate are drawn, with a band. For the upper
        side.
    level : float
        Of the band, between 0 and 1.
    points : int
        Places where distributions are evaluated.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        If no value lies on that side.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.stable.rvs(1.6, 0.0, size=1000, rng=1)
    >>> ax = ns.plot.tail(x, {"fit": ns.stable.fit(x).distribution})  # doctest: +SKIP
    """
    choice("side", side, ("upper", "lower"))
    known = _known(data, event, censored, entry)
    if known is not None:
        return _censored_tail(known, distributions, side, checked_level(level), points, ax)
    x = _data(data)
    x = x if side == "upper" else -x[::-1]
    share = 1.0 - (np.arange(x.size) / x.size)
    shown = x > 0.0
    drawn = _labelled(distributions, "sf")
    if not shown.any():
        raise ValueError(f"no value is {'> 0' if side == 'upper' else '< 0'}, so there is no {side} tail to show on log axes")
    ax = _axes(ax)
    ax.loglog(x[shown], share[shown], ".", color=_ink(ax, 0.3), ms=4, label="data")
    grid = np.geomspace(np.quantile(x[shown], 0.05), 2.0 * x[-1], points)
    for label, one in drawn.items():
        ax.loglog(grid, one.sf(grid) if side == "upper" else one.cdf(-grid), label=label)
    ax.set(xlabel="x" if side == "upper" else "-x", ylabel=f"probability of values {'≥ x' if side == 'upper' else '≤ -x'}")
    ax.set_ylim(bottom=0.1 / x.size)
    ax.legend(frameon=False)
    return ax


def _censored_tail(known, distributions, side, level, points, ax):
    """The tail of values that are known in part."""
    if side != "upper":
        raise ValueError('side="lower" takes values that are all known')
    drawn = _labelled(distributions, "sf", known)
    if not (known.time > 0.0).any():
        raise ValueError("no value is > 0, so there is no upper tail to show on log axes")
    ax = _axes(ax)
    _steps(ax, known, level, "log-log", _ink(ax, 0.3), "data")
    first = known.time[(known.time > 0.0) & (known.events > 0.0)]
    grid = np.geomspace(first[0] if first.size else known.last, 2.0 * known.last, points)
    for label, one in drawn.items():
        ax.plot(grid, one.sf(grid), label=label)
    ax.set(xscale="log", yscale="log", xlabel="x", ylabel="probability of values > x")
    ax.set(xlim=(0.9 * grid[0], grid[-1]), ylim=(0.1 / max(known.n_values, 1), 1.5))
    ax.legend(frameon=False)
    return ax


def _histogram(ax, x, least=5, zeros=0) -> tuple[float, float]:
    """Bins by Freedman and Diaconis between the 0.1 % and the 99.9 % quantile, `least` to 200; returns their range.

    Beside the values there are so many `zeros`, which are said and not drawn.
    """
    low, high = np.quantile(x, [0.001, 0.999])
    if not low < high:
        low, high = x[0] - 0.5, x[-1] + 0.5
    spread = np.subtract(*np.quantile(x, [0.75, 0.25]))
    width = 2.0 * spread / np.cbrt(x.size)
    bins = int(np.clip((high - low) / width if width > 0.0 else 50, least, 200))
    counts, edges = np.histogram(x, bins, (low, high))
    label = f"data, beside {percent(round(zeros / (x.size + zeros), 3))} zeros" if zeros else "data"
    ax.stairs(counts / ((x.size + zeros) * np.diff(edges)), edges, fill=True, color=_ink(ax, 0.85), label=label)
    return float(low), float(high)


def _censored_histogram(ax, known, apart=False) -> tuple[float, float]:
    """Bins of what the estimate tells of each, masses in regions spread evenly; returns their range.

    With `apart` the zeros are said and not drawn.
    """
    since = np.where(np.isinf(known.since), known.time, known.since)
    low, high = min(since[0], 0.0) if since[0] < 0.2 * known.last else since[0], known.last
    high = high if high > low else low + 1.0
    width = np.subtract(*known.quantile([0.75, 0.25])) * 2.0 / np.cbrt(max(known.events.sum(), 1.0))
    edges = np.linspace(low, high, int(np.clip((high - low) / width if width > 0.0 else 10, 5, 200)) + 1)
    wide, at = since < known.time, edges[:, None]
    below = np.where(wide, np.clip((at - since) / np.where(wide, known.time - since, 1.0), 0.0, 1.0), at > known.time)
    below[-1] = 1.0
    masses = -np.diff(np.r_[1.0, known.survival])
    zeros = masses * ((known.time == 0.0) & ~wide & apart)
    label = f"data, beside {percent(round(zeros.sum(), 3))} zeros" if zeros.any() else "data"
    ax.stairs(np.diff(below @ (masses - zeros)) / np.diff(edges), edges, fill=True, color=_ink(ax, 0.85), label=label)
    return float(low), float(high)


def _density_axes(ax: Axes) -> Axes:
    """Labels and legend of a plot of densities."""
    ax.set(xlabel="x", ylabel="density")
    ax.legend(frameon=False)
    return ax


def _bars(ax, shares, drawn):
    """Bars of the shares of counts, and probabilities beside them."""
    k = np.arange(shares.size)
    ax.bar(k, shares, width=0.8, color=_ink(ax, 0.85), label="data")
    for i, (label, one) in enumerate(drawn.items()):
        at = k + 0.6 * ((i + 1) / (len(drawn) + 1) - 0.5) * (len(drawn) > 1)
        ax.vlines(at, 0.0, one.pmf(k), color=f"C{i}", lw=1)
        ax.plot(at, one.pmf(k), "o", ms=4, color=f"C{i}", label=label)
    ax.set(xlabel="count", ylabel="probability")
    ax.legend(frameon=False)
    return ax


def _shares(x):
    """Shares of the counts from 0 on."""
    if x[0] < 0.0 or (x != np.floor(x)).any():
        raise ValueError("data are no counts, which a distribution of counts is drawn beside: pass whole numbers >= 0")
    if x[-1] > _MOST_BARS:
        raise ValueError(f"data have counts up to {x[-1]:g}; bars are for {_MOST_BARS} at most: draw a tail or a qq plot")
    return np.bincount(x.astype(np.int64)) / x.size


@names_ours
def density(
    data: Any,
    distributions: Any = None,
    *,
    event: ArrayLike | None = None,
    censored: Any = None,
    entry: ArrayLike | None = None,
    points: int = 400,
    ax: Axes | None = None,
) -> Axes:
    """Histogram with densities of distributions; of counts bars with their probabilities.

    Parameters
    ----------
    data : array_like of shape (n,), CensoredData, Survival or None
        NaN are left out. The plot shows the range from the 0.1 % to the 99.9 % quantile.
    distributions : distribution, list of them, or dict, optional
        Anything with the method `pdf`, or of counts `pmf`, or fits of it; the keys of a dict are the labels. Of a fit of counts
        with more zeros the distribution of all counts. Where zeros are set apart (``zeros="share"``) the legend has their share;
        bars and curves are those of the other values, and enclose the rest of the probability.
    event, censored, entry : optional
        What is known of the data, as in `distributions.fit`: each bin then has the probability that their estimate has there.
    points : int
        Places where densities are evaluated.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no distribution, for counts beside continuous ones, and for fits to censored or truncated values where
        nothing says what is known of the data.
    """
    known = _known(data, event, censored, entry)
    x, drawn = np.empty(0) if known is not None else _data(data), _labelled(distributions, "pdf", known)
    if _are_counts(drawn):
        if known is not None:
            raise ValueError("bars take counts that are all known; plot.survival draws those that are known in part")
        shares = _shares(x)
        return _bars(_axes(ax), shares, drawn)
    apart = any(map(_is_apart, drawn.values()))
    if known is None:
        others = x[x != 0.0] if apart and np.any(x) else x
        ends = _histogram(ax := _axes(ax), others, zeros=x.size - others.size)
    else:
        ends = _censored_histogram(ax := _axes(ax), known, apart)
    grid = np.linspace(*ends, points)
    for label, one in drawn.items():
        ax.plot(grid, one.pdf(grid), label=label)
    return _density_axes(ax)


@renamed(confidence="level")
@names_ours
def qq(
    data: Any,
    distribution: Any = None,
    *,
    event: ArrayLike | None = None,
    censored: Any = None,
    entry: ArrayLike | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Ordered values against quantiles of a distribution, with a pointwise band.

    Parameters
    ----------
    data : array_like of shape (n,), CensoredData, Survival or None
        NaN are left out.
    distribution : distribution, optional
        Anything with the method `ppf`, or a fit of it. By default the normal distribution of the data's mean and standard
        deviation.
    event, censored, entry : optional
        What is known of the data, as in `distributions.fit`: events are then drawn at the probabilities of their estimate, with
        its band; of intervals a line over the region of each mass.
    level : float
        Confidence of the band at each place, between 0 and 1, for samples of exactly this distribution; samples stay closer to
        the line than the band says where the parameters were estimated from the same data.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no distribution, data that are not one series of two values or more, and data known in part without a
        distribution.

    Notes
    -----
    Probabilities are (i - 1/2)/n; order statistics of uniform variables have beta distributions, whose quantiles make the band.
    """
    from scipy.special import betaincinv

    level, known = checked_level(level), _known(data, event, censored, entry)
    if known is not None:
        if distribution is None:
            raise ValueError("values that are known in part have no mean and standard deviation: pass a distribution, or a fit")
        ax, distribution = _axes(ax), _distribution(distribution, "ppf", known)
        _censored_points(ax, known, distribution, level)
        ax.set(xlabel="quantile of the distribution", ylabel="time of events")
        ax.legend(frameon=False)
        return ax
    x = _data(data)
    if distribution is None:
        from numbastats.distributions import Normal

        distribution = Normal(x.mean(), x.std())
    distribution = _distribution(distribution, "ppf")
    i = np.arange(1, x.size + 1)
    expected = distribution.ppf((i - 0.5) / x.size)
    low, high = (distribution.ppf(betaincinv(i, x.size + 1 - i, p)) for p in (0.5 - 0.5 * level, 0.5 + 0.5 * level))
    ax = _axes(ax)
    ax.fill_between(expected, low, high, color=_ink(ax, 0.88), label=f"{percent(level)} of samples, at each place")
    ends = [np.nanmin(expected), np.nanmax(expected)]  # NaN below a threshold
    ax.plot(ends, ends, "-", color=_ink(ax), lw=0.8)
    ax.plot(expected, x, ".", ms=4, label="data")
    ax.set(xlabel="quantile of the distribution", ylabel="ordered data")
    ax.legend(frameon=False)
    return ax


@names_ours
def fit(  # noqa: PLR0913
    data: Any,
    found: Any,
    *,
    event: ArrayLike | None = None,
    censored: Any = None,
    entry: ArrayLike | None = None,
    level: float = 0.95,
    points: int = 400,
    axes: Any = None,
) -> Any:
    """Four views of one fit or of several: densities, distribution functions, quantiles and probabilities.

    Density over histogram, distribution function over the empirical one, ordered values against quantiles (QQ), which shows the
    tails, and empirical against fitted probabilities (PP), which shows the middle. Points on the diagonals fit.

    Parameters
    ----------
    data : array_like of shape (n,), CensoredData, Survival or None
        NaN are left out.
    found : fit, distribution, list of them, or dict
        Anything with the methods `pdf`, or of counts `pmf`, `cdf` and `ppf`, or fits of it; the keys of a dict are the labels.
    event, censored, entry : optional
        What is known of the data, as in `distributions.fit`: steps with a band are then their estimate, and points its events.
    level : float
        Of that band, between 0 and 1.
    points : int
        Places where densities and distribution functions are evaluated.
    axes : array of four matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    array of matplotlib.axes.Axes, of shape (2, 2) where they are new

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no distribution, counts beside continuous distributions, fits to censored or truncated values where nothing
        says what is known of the data, and data that are not one series of at least two values; for other than four axes.

    Notes
    -----
    Empirical probabilities are (i - 1/2)/n.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.distributions.Gamma(2.0, scale=3.0).rvs(200, rng=1)
    >>> fits = [ns.distributions.fit(x, family) for family in ("gamma", "normal")]
    >>> axes = ns.plot.fit(x, fits)  # doctest: +SKIP
    """
    known = _known(data, event, censored, entry)
    x, level = _data(data) if known is None else known.time[known.events > 0.0], checked_level(level)
    shown = {label: one for method in ("pdf", "cdf", "ppf") for label, one in _labelled(found, method, known).items()}
    if x.size == 0:
        raise ValueError("no event was seen: there is nothing to compare distributions with")
    axes = np.asarray(_axes(axes, nrows=2, ncols=2, figsize=(9.0, 7.0)))
    if axes.size != 4:
        raise ValueError(f"axes has {axes.size} axes; fit draws into four, as of pyplot.subplots(2, 2)")
    above, cumulated, quantiles, probabilities = axes.ravel()
    density(data if known is None else known, shown, points=points, ax=above)
    if known is None:
        share = (np.arange(x.size) + 0.5) / x.size
        cumulated.step(x, np.arange(1, x.size + 1) / x.size, where="post", color=_ink(cumulated, 0.3), lw=0.8, label="data")
        grid = np.linspace(x[0], x[-1], points)
    else:
        share = _plotting_positions(known)
        _steps(cumulated, known, level, "log-log", _ink(cumulated, 0.3), "data", falling=False)
        grid = np.linspace(min(x[0], 0.0) if x[0] < 0.2 * known.last else x[0], known.last, points)
    counts = _are_counts(shown)
    grid = np.unique(np.round(grid)) if counts else grid
    up_to = np.searchsorted(x, x, "right") / x.size if known is None else 1.0 - known.survival[known.events > 0.0]
    jumps = (x == 0.0) & any(map(_is_apart, shown.values()))  # there both distribution functions are compared after their jumps
    for ax, ends in ((quantiles, x[[0, -1]]), (probabilities, [0.0, 1.0])):
        ax.plot(ends, ends, "-", color=_ink(ax), lw=0.8)
    for label, one in shown.items():
        cumulated.plot(grid, one.cdf(grid), label=label, drawstyle="steps-post" if counts else "default")
        quantiles.plot(one.ppf(share), x, ".", ms=4, label=label)
        if counts:  # at the last of equal ones, where both have jumped
            last = np.flatnonzero(np.r_[x[1:] != x[:-1], True])
            probabilities.plot(one.cdf(x[last]), (last + 1.0) / x.size, ".", ms=4, label=label)
        else:
            probabilities.plot(one.cdf(x), np.where(jumps, up_to, share), ".", ms=4, label=label)
    cumulated.set(xlabel="x", ylabel="probability of values ≤ x")
    quantiles.set(xlabel="quantile of the distribution", ylabel="ordered data")
    probabilities.set(xlabel="probability by the distribution", ylabel="share of the data")
    for ax in (cumulated, quantiles, probabilities):
        ax.legend(frameon=False)
    return axes


@names_ours
def contours(
    samples: Any,
    *,
    by: Any = None,
    masses: ArrayLike = (0.5, 0.9, 0.99),
    shape: int = 200,
    kde: Any = None,
    shared: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Highest-density regions of points in the plane: contours of a kernel density that hold given shares of the points.

    Parameters
    ----------
    samples : array_like of shape (n, 2)
        A data frame gives the names of its columns to the axes.
    by : str, list of str, or (n,) array_like, optional
        Groups, each with its points, its contours and its colour: columns of the frame beside the two coordinates, or a label for
        each point. The legend names them.
    masses : array_like
        Shares of the points within each contour, of the points of its group.
    shape : int
        Grid positions along each axis, which all groups share.
    kde : numbastats.kde.KDE, optional
        An estimator with the options you want; it is fitted to a copy of itself. By default ``KDE()``.
    shared : bool
        With `by`: one kernel matrix for all groups, as `numbastats.kde.grid` has it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        For samples that are no points in the plane, masses that are not between 0 and 1, and what `numbastats.kde.KDE` refuses.
    """
    from numbastats import kde as room

    masses = np.unique(np.asarray(masses, dtype=np.float64))
    if not (masses.size and masses[0] > 0.0 and masses[-1] < 1.0):
        raise ValueError(f"masses={masses.tolist()} are not between 0 and 1")
    if not hasattr(samples, "columns") and np.shape(samples)[1:] != (2,):
        raise ValueError(f"samples has shape {np.shape(samples)}; pass (n, 2), a row for each point")
    found, names = _densities(samples, by, kde, shared)
    d = {one.n_features_in_ for one in found.values()}
    if d != {2}:
        raise ValueError(f"samples has shape {np.shape(samples)}; pass (n, 2), a row for each point")
    parts = {label: one.model.x for label, one in found.items()}
    axes = room.regular_axes(np.concatenate(list(parts.values())), shape=shape)
    ax = _axes(ax)
    for i, (label, one) in enumerate(found.items()):
        grid, levels = np.asarray(to_host(one.grid(axes), "grid")), one.hdr_levels(masses[::-1])
        colour = {"cmap": None} if by is None else {"colors": f"C{i}"}
        dots = {"color": _ink(ax, 0.75)} if by is None else {"color": f"C{i}", "alpha": 0.3, "label": str(label)}
        ax.plot(*parts[label].T, ".", ms=2, zorder=0, **dots)
        lines = ax.contour(axes[0], axes[1], grid.T, levels=np.maximum(levels, np.finfo(float).tiny), **colour)
        ax.clabel(lines, fmt={level: percent(mass) for level, mass in zip(lines.levels, masses[::-1], strict=True)}, fontsize=8)
    if by is not None:
        for handle in ax.legend(frameon=False, title=by if isinstance(by, str) else None, markerscale=5).legend_handles:
            handle.set_alpha(1.0)
    ax.set(xlabel=str(names[0]), ylabel=str(names[1]))
    return ax


@names_ours
def densities(
    samples: Any, by: Any = None, *, points: int = 400, kde: Any = None, shared: bool = False, ax: Axes | None = None
) -> Axes:
    """Kernel densities of groups of one variable, on one axis, with a tick for every sample.

    Parameters
    ----------
    samples : array_like of shape (n,)
        Or a data frame of the variable and of the columns `by`.
    by : str, list of str, or (n,) array_like, optional
        Groups: columns of the frame, or a label for each value. The legend names them, with their sizes.
    points : int
        Places where densities are evaluated.
    kde : numbastats.kde.KDE, optional
        An estimator with the options you want; it is fitted to a copy of itself. By default ``KDE()``.
    shared : bool
        One bandwidth for all groups, as `numbastats.kde.grid` has it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        For samples of several variables, `shared` without `by`, and what `numbastats.kde.KDE` refuses.
    """
    found, names = _densities(samples, by, kde, shared)
    if {one.n_features_in_ for one in found.values()} != {1}:
        raise ValueError(f"samples has shape {np.shape(samples)}; pass one variable, (n,), beside by=")
    ends = np.array([one.ppf([0.0, 1.0]) for one in found.values()])
    grid = np.linspace(ends[:, 0].min(), ends[:, 1].max(), points)
    ax = _axes(ax)
    for i, (label, one) in enumerate(found.items()):
        x, value = one.model.x[:, 0], np.asarray(to_host(one.pdf(grid), "density"))
        ax.plot(grid, value, color=f"C{i}", label=f"{label} (n = {len(x)})")
        ax.fill_between(grid, value, color=f"C{i}", alpha=0.15)
        height, where = np.full(len(x), 0.015 + 0.02 * i), ax.get_xaxis_transform()
        ax.plot(x, height, "|", ms=4, alpha=0.5, color=f"C{i}", transform=where)
    if by is not None:
        ax.legend(frameon=False, title=by if isinstance(by, str) else None)
    ax.set(xlabel=str(names[0]), ylabel="density")
    return ax


def _densities(samples, by, kde, shared):
    """A fitted density for each group, one without groups, and the names of the coordinates."""
    from numbastats import kde as room

    kde = room.KDE() if kde is None else kde
    if by is None and shared:
        raise ValueError("shared=True is the kernel matrix of several groups; pass by=")
    found = {"": room.KDE(**kde.get_params()).fit(samples)} if by is None else kde.fit_by(samples, by, shared=shared)
    first = next(iter(found.values()))
    name = getattr(samples, "name", None)
    return found, getattr(first, "feature_names_in_", [name or "", ""])


@names_ours
def mixture(
    fit: Any, data: ArrayLike | None = None, *, masses: Sequence[float] = (0.5, 0.9), points: int = 400, ax: Any = None
) -> Any:
    """A fitted mixture and its components, over a histogram of the data; of several columns their ellipses, over the points.

    Parameters
    ----------
    fit : MixtureFit, ComponentsFit, MultivariateFit or Mixture
        Of more than six columns pass ``fit.marginal(columns)``.
    data : array_like of shape (n,) or (n, d), optional
        NaN are left out, and rows with one. Of several columns the points have the colour of their most probable component; noise
        is grey.
    masses : sequence of float
        Of several columns: the probability, under its component, that each ellipse holds in the plane of its two columns.
    points : int
        Places where densities are evaluated.
    ax : matplotlib.axes.Axes, optional
        Where to draw, by default a new figure; of d > 2 columns an array of d × d axes.

    Returns
    -------
    matplotlib.axes.Axes
        Of d > 2 columns an array (d, d) of them: each pair of columns below the diagonal, and on it each column by itself.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For a batch of fits, a fit without parameters, masses that are not between 0 and 1, data of other columns than the fit,
        and another number of axes.
    """
    fit = _one_fit(fit)
    if hasattr(fit, "covariances"):
        return _clusters(fit, data, masses, points, ax)
    ax = _axes(ax)
    low, high = fit.interval(0.998) if data is None else _histogram(ax, _data(data))
    grid = np.linspace(low, high, points)
    total = fit.pdf(grid)
    ax.plot(grid, total, "-", color=_ink(ax), label="mixture")
    for k, share in enumerate(fit.predict_proba(grid).T):
        ax.plot(grid, np.where(total > 0.0, share * total, 0.0), "--", lw=1, label=f"component {k + 1}")
    return _density_axes(ax)


def _one_fit(fit):
    """The fit of an estimator, or a fit as it is."""
    fit = getattr(fit, "result_", fit)
    if hasattr(fit, "_item"):
        raise TypeError(f"fit is a {type(fit).__name__} of {len(fit)} fits; pass one of them, as fits[0]")
    return fit


def _clusters(fit, data, masses, points, ax):
    """Ellipses of a mixture of two columns or more, and densities of one."""
    from numbastats.mixture.multivariate.arguments import points_of

    masses = np.unique(np.asarray(masses, dtype=np.float64))
    if not (masses.size and masses[0] > 0.0 and masses[-1] < 1.0):
        raise ValueError(f"masses={masses.tolist()} are not between 0 and 1")
    fit._there()
    d, x, labels = len(fit.columns), None, None
    if d > 6:
        raise ValueError(f"a fit of {d} columns has {d * (d - 1) // 2} pairs of them; pass fit.marginal(columns) of six at most")
    if data is not None:
        rows, order, _ = points_of(data, fit.columns, "data")
        x = rows if order is None else rows[:, order]
        x = x[np.isfinite(x).all(axis=1)]
        labels = fit.predict(x)
    if d <= 2:
        ax = _axes(ax)
        return _margin(ax, fit, x, points) if d == 1 else _ellipses(ax, fit, x, labels, (0, 1), masses)
    axes = np.asarray(_axes(ax, nrows=d, ncols=d, figsize=(2.4 * d, 2.4 * d)))
    if axes.size != d * d:
        raise ValueError(f"ax has {axes.size} axes; a fit of {d} columns is drawn into {d * d}, as of pyplot.subplots({d}, {d})")
    axes = axes.reshape(d, d)
    for i in range(d):
        _margin(axes[i, i], fit.marginal([fit.columns[i]]), None if x is None else x[:, i : i + 1], points)
        for j in range(i):
            _ellipses(axes[i, j], fit, x, labels, (j, i), masses)
            axes[j, i].set_visible(False)
    said = axes[1, 0].get_legend()
    lines, title = axes[1, 0].get_legend_handles_labels(), said.get_title().get_text()
    for one in axes.ravel():
        if (legend := one.get_legend()) is not None:
            legend.remove()
    corner = axes[0, -1]
    corner.set_visible(True)
    corner.axis("off")
    corner.legend(*lines, frameon=False, title=title, loc="upper right")
    return axes


def _margin(ax, fit, x, points):
    """The density of one column and of its components."""
    m, s = fit.means[:, 0], np.sqrt(fit.covariances[:, 0, 0])
    ends = ((m - 4.0 * s).min(), (m + 4.0 * s).max()) if x is None else _histogram(ax, np.sort(x[:, 0]), 20)
    grid = np.linspace(*ends, points)
    total = fit.pdf(grid[:, None])
    ax.plot(grid, total, "-", color=_ink(ax), label="mixture")
    for k, share in enumerate(fit.predict_proba(grid[:, None]).T):
        ax.plot(grid, np.where(total > 0.0, share * total, 0.0), "--", lw=1, color=f"C{k}", label=f"component {k + 1}")
    _density_axes(ax).set_xlabel(_heading(fit.columns[0]))
    return ax


def _heading(name):
    """The name of a column on an axis."""
    return name if isinstance(name, str) else f"column {name}"


def _ellipses(ax, fit, x, labels, pair, masses):
    """The components in the plane of two columns."""
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    if x is not None and fit._noisy:
        ax.plot(*x[labels == -1][:, pair].T, ".", ms=3, color="0.5", alpha=0.5, zorder=0, label="noise")
    for k in range(fit.n_components):
        colour = f"C{k}"
        if x is not None:
            ax.plot(*x[labels == k][:, pair].T, ".", ms=3, color=colour, alpha=0.5, zorder=0)
        root = np.linalg.cholesky(fit.covariances[k][np.ix_(pair, pair)])
        for mass in masses:
            df, rest = fit._tails[k], -np.log1p(-mass)
            radius = np.sqrt(
                2.0 * rest if np.isinf(df) else df * np.expm1(2.0 * rest / df)
            )  # of a normal, or a t, in two columns
            label = f"component {k + 1}" if mass == masses[-1] else "_"
            ax.plot(*(fit.means[k, list(pair)][:, None] + radius * (root @ circle)), "-", lw=1.2, color=colour, label=label)
        ax.plot(*fit.means[k, list(pair)], "+", ms=6, color=_ink(ax))
    shares = " and ".join(filter(None, (", ".join(map(percent, masses[:-1])), percent(masses[-1]))))
    ax.legend(frameon=False, fontsize=8, title=f"ellipses: {shares} of each", title_fontsize=8)
    ax.set(xlabel=_heading(fit.columns[pair[0]]), ylabel=_heading(fit.columns[pair[1]]))
    return ax


@names_ours
def criteria(fit: Any, criterion: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The criterion of every number of components that was tried, a line for each covariance model; less is better.

    Full marks are certified maxima with admissible components, hollow ones are not; a ring is about what was chosen.

    Parameters
    ----------
    fit : MixtureFit, ComponentsFit, MultivariateFit or Mixture
        Of several candidates, as ``fit(x, range(1, 6))``.
    criterion : {"bic", "aic", "icl", "loglik"}, optional
        Of several columns, by default "bic"; in one dimension that which chose.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For a batch of fits, an unknown criterion, and a fit where nothing could be fitted.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.random.normal(size=(300, 2), rng=1)
    >>> found = ns.mixture.fit(x, range(1, 4), covariance="all", rng=0)
    >>> ax = ns.plot.criteria(found)  # doctest: +SKIP
    """
    fit = _one_fit(fit)
    table = fit.selection
    several = "covariance" in table
    names = ("bic", "aic", "icl", "loglik") if several else ("criterion",)
    name = names[0] if criterion is None else choice("criterion", criterion, names)
    number, value = np.asarray(table["n_components"]), np.asarray(table[name])
    if not np.isfinite(value).any():
        raise ValueError(f"there is no criterion to draw: {fit.message}")
    model = np.asarray(table["covariance"]) if several else np.full(number.size, "")
    ax = _axes(ax)
    for i, one in enumerate(dict.fromkeys(model.tolist())):
        at = np.flatnonzero((model == one) & np.isfinite(value))
        ax.plot(number[at], value[at], "-", lw=1, color=f"C{i}", label=one or "_")
        for sure, fill in ((True, f"C{i}"), (False, ax.get_facecolor())):
            those = at[(table["status"][at] == 0) == sure]
            ax.plot(number[those], value[those], "o", ms=5, color=f"C{i}", mfc=fill, label="_")
    chosen = np.asarray(table["chosen"], bool)
    ax.plot(number[chosen], value[chosen], "o", ms=12, mfc="none", mec=_ink(ax), label="chosen")
    better = "" if name == "loglik" else ", less is better"
    ax.set(xlabel="number of components", ylabel=f"{name.upper() if name in names[:3] and several else name}{better}")
    ax.set_xticks(np.unique(number))
    ax.legend(frameon=False)
    return ax


@renamed(prob="level")
@names_ours
def forest(model: Any, *, level: float = 0.95, sort: bool = True, ax: Axes | None = None) -> Axes:
    """Posterior means and intervals of the coefficients of a regression.

    Parameters
    ----------
    model : fitted estimator of numbastats.bayes
        With its draws (keep="draws").
    level : float
        Probability of the central intervals, between 0 and 1.
    sort : bool
        Order coefficients by their means, instead of by column.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no fitted regression, a level that is not between 0 and 1, and models without their draws.
    """
    if not hasattr(model, "coef_"):
        raise TypeError(f"model is a {type(model).__name__}; forest shows the coefficients of a regression of numbastats.bayes")
    table = model.summary(level)
    others = {*model._beside, *(name for name in model.draws_ if name.startswith("log_"))}
    keep = [i for i, name in enumerate(table["name"]) if name not in others]
    name, mean, lower, upper = (np.asarray(table[c])[keep] for c in ("name", "mean", "lower", "upper"))
    order = np.argsort(mean) if sort else np.arange(mean.size)[::-1]
    ax = _axes(ax, figsize=(6.0, 1.0 + 0.2 * mean.size))
    spread = np.stack([mean - lower, upper - mean])[:, order]
    ax.errorbar(mean[order], np.arange(mean.size), xerr=np.maximum(spread, 0.0), fmt="o", color=_ink(ax), ms=3, lw=1)
    ax.axvline(0.0, color=_ink(ax, 0.7), lw=0.8, zorder=0)
    ax.set_yticks(np.arange(mean.size), name[order])
    ax.set(xlabel=f"coefficient: posterior mean and {percent(level)} interval")
    return ax


def _of_chains(model, name, ax, draw):
    """Draw one parameter, shape (chains, draws), or the slowest ones, one into each of several axes; returns the axes."""
    draws, names = model._side_by_side()
    if name is not None:
        found = _axes(ax, figsize=(8.0, 3.0))
        draw(draws[:, :, list(names).index(choice("name", name, tuple(names)))], name, found)
        return found
    from numbastats.bayes import ess_bulk

    slowest = np.argsort(ess_bulk(draws), kind="stable")[:_SLOWEST]
    found = _axes(ax, nrows=slowest.size, figsize=(8.0, 2.2 * slowest.size)) if ax is None else ax
    found = np.atleast_1d(np.asarray(found, dtype=object))
    if found.size != slowest.size:
        raise ValueError(
            f"ax has {found.size} axes, and without a name the {slowest.size} slowest parameters are drawn: pass as many axes, "
            "or a name"
        )
    for one, j in zip(found.ravel(), slowest, strict=True):
        draw(draws[:, :, j], names[j], one)
    return found


@names_ours
def trace(model: Any, name: str | None = None, *, ax: Any = None) -> Any:
    """Draws of parameters in the order of drawing, a line for each chain.

    Parameters
    ----------
    model : fitted estimator of numbastats.bayes
        With its draws (keep="draws").
    name : str, optional
        A name of ``model.summary()["name"]``. By default the four with the smallest bulk effective sample size.
    ax : matplotlib.axes.Axes, or array of them without a name, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes, or array of them without a name
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        Without draws, for an unknown name, and for another number of axes than of parameters.
    """

    def draw(draws, name, ax):
        for k, chain in enumerate(draws):
            ax.plot(chain, lw=0.6, alpha=0.8, label=f"chain {k + 1}")
        ax.set(xlabel="draw", ylabel=name)

    return _of_chains(model, name, ax, draw)


@names_ours
def rank(model: Any, name: str | None = None, *, bins: int = 20, ax: Any = None) -> Any:
    """Histograms of the ranks that the draws of each chain have among all; chains that agree give level ones.

    Parameters
    ----------
    model : fitted estimator of numbastats.bayes
        With its draws (keep="draws").
    name : str, optional
        A name of ``model.summary()["name"]``. By default the four with the smallest bulk effective sample size.
    bins : int
        Of each histogram.
    ax : matplotlib.axes.Axes, or array of them without a name, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes, or array of them without a name
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        Without draws, for an unknown name, and for another number of axes than of parameters.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: an improved R-hat for
    assessing convergence of MCMC", Bayesian Analysis 16 (2021), section 4.
    """
    return _of_chains(model, name, ax, lambda draws, name, ax: _ranks(draws, name, ax, bins))


def _ranks(draws, name, ax, bins):
    ranks = np.empty(draws.size)
    ranks[np.argsort(draws, axis=None, kind="stable")] = np.arange(draws.size)
    for k, chain in enumerate(ranks.reshape(draws.shape)):
        counts, edges = np.histogram(chain, bins, (0, draws.size))
        ax.stairs(counts, edges, label=f"chain {k + 1}")
    ax.axhline(draws.shape[1] / bins, color=_ink(ax), lw=0.8, ls=":")
    ax.set(xlabel=f"rank of {name} among the draws of all chains", ylabel="draws", ylim=(0, None))
    ax.legend(frameon=False)


def _regression(model, name, method):
    """Raise unless a model has a method of the regressions."""
    if not hasattr(model, method):
        raise TypeError(f"model is a {type(model).__name__}; {name} is of a fitted regression of numbastats.bayes")


@names_ours
def check(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    statistic: Any = None,
    *,
    level: float = 0.9,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Posterior predictive check: statistics of the outcomes beside those of outcomes that the model draws.

    One statistic is a line in the histogram of the replicated ones. Several are points beside intervals, in standard deviations
    of the replicated ones around their means.

    Parameters
    ----------
    model : fitted estimator of numbastats.bayes
        With its draws (keep="draws").
    X : array_like, shape (n, p)
    y : array_like, shape (n,)
        None with `censored`.
    statistic : str, callable, sequence or dict of these, optional
        As in the method `check` of the model: "mean", "sd", "zeros", "max", "quantiles" or a function.
    level : float
        Probability of the intervals, between 0 and 1.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.
    **options
        draws, offset, exposure, event, censored and rng, as in that method.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no regression; as the method.
    """
    from numbastats.bayes.checks import replicated, table_of

    _regression(model, "check", "check")
    level = checked_level(level)
    found = replicated(model, X, y, statistic, **options)
    table = table_of(found, level)
    if len(found) == 1:
        [(name, (_, new))] = found.items()
        ax = _axes(ax)
        ax.hist(new, min(30, np.unique(new).size), color=_ink(ax, 0.85), label="drawn by the model")
        ax.axvline(table["observed"][0], color="C1", label=f"data, p = {table['p'][0]:.2g}")
        ax.set(xlabel=name, ylabel="draws")
        ax.legend(frameon=False)
        return ax
    ax = _axes(ax, figsize=(6.0, 1.0 + 0.35 * len(found)))
    sd = np.array([new.std() for _, new in found.values()])
    unit = np.where(sd > 0.0, sd, 1.0)
    lower, upper, seen = ((table[name] - table["mean"]) / unit for name in ("lower", "upper", "observed"))
    at = np.arange(len(found))[::-1]
    ax.hlines(at, lower, upper, color=_ink(ax, 0.75), lw=6, label=f"{percent(level)} of those drawn by the model")
    ax.plot(seen, at, "o", color="C1", label="data")
    ax.set_yticks(at, list(found))
    ax.set(xlabel="less the mean of the model, in its standard deviations")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


@names_ours
def calibration(
    model: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    bins: int = 10,
    *,
    level: float = 0.95,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Whether predicted probabilities are right: of classes observed shares against them; of other outcomes a histogram.

    The bars of numbers, counts and lifetimes are of P(new outcome <= y), which is uniform if the model is right.

    Parameters
    ----------
    model : fitted estimator of numbastats.bayes
        With its draws (keep="draws").
    X : array_like, shape (n, p)
    y : array_like, shape (n,)
        None with `censored`.
    bins : int
        Their number.
    level : float
        Probability of the exact binomial intervals, between 0 and 1.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.
    **options
        new, offset, exposure, sample_weight, event and censored, as in the method `calibration` of the model. By default rows are
        those of the fit, and predicted without themselves.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no regression; as the method.

    Warns
    -----
    UserWarning
        As the method.
    """
    _regression(model, "calibration", "calibration")
    table = model.calibration(X, y, bins, level=level, **options)
    ax = _axes(ax)
    classes = model._record.signed
    at, unit = (table["predicted"], 1.0) if classes else (0.5 * (table["from"] + table["to"]), len(table["from"]))
    ends = unit * np.stack([table["observed"] - table["lower"], table["upper"] - table["observed"]])
    if classes:
        ax.plot([0.0, 1.0], [0.0, 1.0], "-", color=_ink(ax), lw=0.8)
        ax.set(xlabel=f"predicted probability of {model.classes_[1]}", ylabel=f"observed share, {percent(level)} interval")
    else:
        ax.stairs(unit * table["observed"], np.append(table["from"], 1.0), fill=True, color=_ink(ax, 0.85))
        ax.axhline(1.0, color=_ink(ax), lw=0.8)
        ax.set(xlabel="probability of a new outcome up to the observed one", ylabel=f"density, {percent(level)} interval")
        ax.set_ylim(bottom=0.0)
    ax.errorbar(at, unit * table["observed"], yerr=np.maximum(ends, 0.0), fmt="o", color="C0", ms=4, lw=1)
    return ax


# --- lifetimes ---------------------------------------------------------------------------------------------------------


def _steps(ax, known, level, band, colour, label, falling=True, fill=None):
    """The steps of an estimate with its band; of intervals rectangles where the place of a mass is not known."""
    from numbastats.distributions import Survival

    assert isinstance(known, Survival)
    first = known.start if known.start > -np.inf else min(0.0, known.time[0]) if known.time.size else 0.0
    before, table = np.r_[1.0, known.survival], known.summary(level, band=band)
    since = np.maximum(known.since, first)
    wide = since < known.time
    gap = np.where(wide, np.nan, known.survival)
    x = np.r_[first, np.stack([since, known.time, known.time], axis=1).ravel(), known.last]
    y = np.r_[1.0, np.stack([before[:-1], gap, known.survival], axis=1).ravel(), before[-1]]
    turned = (lambda s: s) if falling else (lambda s: 1.0 - s)
    lower, upper = (np.r_[1.0, table[end]] for end in ("lower", "upper"))
    if np.isfinite(lower[1:]).any():
        ends = [turned(np.r_[end, end[-1]]) for end in (lower, upper)]
        place = np.r_[first, known.time, known.last]
        grey = {"color": _ink(ax, 0.88)} if fill is None else {"color": fill, "alpha": 0.15, "lw": 0}
        ax.fill_between(place, *ends, step="post", label=f"{percent(level)}, at each time" if fill is None else "_", **grey)
    if wide.any():
        blank = np.full(int(wide.sum()), np.nan)
        place = np.stack([since[wide], known.time[wide], blank], axis=1).ravel()
        ends = (np.stack([v[wide], v[wide], blank], axis=1).ravel() for v in (before[:-1], known.survival))
        ax.fill_between(place, *map(turned, ends), color=colour, alpha=0.3, lw=0, label="_")
    ax.plot(x, turned(y), "-", color=colour, lw=1.2, label=label)


def _plotting_positions(known):
    """Probabilities of the events: the middle of the step of each."""
    at = known.events > 0.0
    return 1.0 - 0.5 * (np.r_[1.0, known.survival][:-1] + known.survival)[at]


def _censored_points(ax, known, one, level, turned=False):
    """Events against the quantiles of a distribution at their probabilities, with the band of the estimate.

    The quantiles are across, or if `turned` upwards; returns them and the times.
    """
    at, share, table = known.events > 0.0, _plotting_positions(known), known.summary(level)
    x, since, expected = known.time[at], known.since[at], np.asarray(one.ppf(share))
    if x.size == 0:
        raise ValueError("no event was seen: there is nothing to compare a distribution with")
    lower, upper = (np.asarray(one.ppf(1.0 - np.asarray(table[end])[at])) for end in ("upper", "lower"))
    if np.isfinite(lower).any():
        band = ax.fill_between if turned else ax.fill_betweenx
        band(x, lower, upper, color=_ink(ax, 0.88), label=f"{percent(level)}, at each time")
    ends = [min(x[0], expected[0]), max(x[-1], expected[-1])]
    ax.plot(ends, ends, "-", color=_ink(ax), lw=0.8)
    wide, lines = since < x, ax.hlines if turned else ax.vlines
    lines(expected[wide], np.where(np.isinf(since), x, since)[wide], x[wide], color="C0", lw=0.8)
    ax.plot(*(x[~wide], expected[~wide])[:: 1 if turned else -1], ".", ms=5, color="C0", label="events")
    return expected, x


@renamed(confidence="level")
@names_ours
def survival(  # noqa: PLR0913
    data: Any,
    found: Any = None,
    *,
    by: Any = None,
    event: Any = None,
    censored: Any = None,
    entry: Any = None,
    weights: Any = None,
    level: float = 0.95,
    band: str = "log-log",
    points: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Survival against time: the estimate without a family as steps with a band, censored units as marks, and fits as curves.

    Parameters
    ----------
    data : array_like of shape (n,), CensoredData, frame, dict, Survival, Survivals or None
        Times, as `distributions.survival` takes them; of several groups as `distributions.survival_many`, or their results.
    found : fit, distribution, list of them, or dict, optional
        Curves, of fits with their bands. With groups a dict with their keys, or the result of `distributions.fit_many`, each
        drawn in the colour of its group.
    by : str or list of str, optional
        Columns of a frame that say to which group a row belongs.
    event, censored, entry, weights : optional
        As in `distributions.survival`, with `by` the names of columns.
    level : float
        Confidence of the bands at each time, between 0 and 1.
    band : {"log-log", "plain"}
        Of the steps, as in `distributions.Survival.summary`; that of a fit is symmetric for log(-log(survival)).
    points : int
        Places where distributions are evaluated.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        As of `distributions.survival`; for fits of groups that are not there, and a fit that did not converge, of groups if none
        did.

    Warns
    -----
    UserWarning
        Where fits of groups did not converge, and are not drawn.

    Notes
    -----
    With entries, curves are those of the distribution above the least entry, as the steps are. Of intervals the steps have gaps,
    rectangles in which the place of the fall is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import numbastats as ns
    >>> weeks, seen = (
    ...     np.array([6.0, 6.0, 7.0, 10.0, 13.0]),
    ...     np.array([True, False, True, False, True]),
    ... )
    >>> found = ns.distributions.fit(weeks, "weibull", event=seen)
    >>> ax = ns.plot.survival(weeks, found, event=seen)  # doctest: +SKIP
    """
    from numbastats import distributions as families

    level = checked_level(level)
    if not isinstance(data, families.Survival | families.Survivals):
        given = dict(event=event, censored=censored, entry=entry, weights=weights)
        first = censored[0] if data is None and isinstance(censored, tuple | list) and len(censored) == 2 else data
        many = by is not None or (isinstance(first, Mapping) and not hasattr(first, "dtypes")) or hasattr(first, "ngroups")
        data = families.survival_many(data, by=by, **given) if many else families.survival(data, **given)
    if isinstance(data, families.Survival):
        curves = {"": _curves(found, data)}
        groups, colours = {"": data}, [None]
    else:
        groups = {str(key): one for key, one in data.items()}
        curves, colours = _of_groups(found, groups), [f"C{i}" for i in range(len(groups))]
    ax = _axes(ax)
    for (key, one), colour in zip(groups.items(), colours, strict=True):
        if not one.n_values:
            continue
        colour = _ink(ax, 0.3) if colour is None else colour
        alone = key == "" and len(groups) == 1
        _steps(ax, one, level, band, colour, "data" if alone else key, fill=None if alone else colour)
        marks = (one.censored > 0.0) & (one.estimator == "Kaplan-Meier")
        if marks.any():
            ax.plot(one.time[marks], one.survival[marks], "|", ms=7, color=colour, label="censored" if alone else "_")
        for i, (label, curve) in enumerate(curves[key].items()):
            _curve(ax, one, curve, label if alone else f"{key}: {label}", f"C{i}" if alone else colour, level, points)
    ax.set(xlabel="time", ylabel="survival", ylim=(0.0, 1.02))
    ax.legend(frameon=False)
    return ax


def _curves(found, known):
    """Fits and distributions with labels, of which none failed."""
    found = _named(found)
    for label, one in found.items():
        _distribution(one, "sf", known)
        if getattr(one, "converged", True) is False:
            raise ValueError(f"the fit {label!r} did not converge, and is not drawn: {one.message}")
    return found


def _of_groups(found, groups):
    """The curves of each group; a fit that did not converge is left out."""
    if found is None:
        return {key: {} for key in groups}
    if hasattr(found, "messages") and hasattr(found, "items"):
        found = dict(found.items())
    if not isinstance(found, Mapping):
        raise TypeError(f"there are {len(groups)} groups: pass found as a dict with their keys, or the fits of fit_many")
    found = {str(key): one for key, one in found.items()}
    if unknown := [key for key in found if key not in groups]:
        raise ValueError(f"found has {unknown[0]!r}, which is none of the groups {', '.join(map(repr, groups))}")
    failed = [key for key, one in found.items() if getattr(one, "converged", True) is False]
    if failed:
        said = f"fits that did not converge are not drawn: {', '.join(failed)}; of the first: {found[failed[0]].message}"
        if len(failed) == len(found):
            raise ValueError(said)
        warn(said)
    return {key: _curves(found[key], one) if key in found and key not in failed else {} for key, one in groups.items()}


def _curve(ax, known, one, label, colour, level, points):
    """Survival by a distribution, of a fit with the ends of its band."""
    from numbastats.distributions.inference import survival_band

    first = known.start if known.start > -np.inf else min(0.0, known.time[0])
    grid = np.linspace(first, known.last, points)
    ax.plot(grid, _distribution(one, "sf", known).sf(grid), "--", lw=1.5, color=colour, label=label)
    if not hasattr(one, "_limit") or one.zeros > 0.0 or one._cut is not None:  # the band is not that of what is drawn
        return
    try:
        ends = survival_band(one, grid, level, known.start)
    except ValueError:  # without standard errors
        return
    for end in ends:
        ax.plot(grid, end, ":", lw=0.9, color=colour, label="_")


@renamed(confidence="level")
@names_ours
def probability(
    data: Any,
    distribution: Any,
    *,
    event: ArrayLike | None = None,
    censored: Any = None,
    entry: ArrayLike | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Probability plot: times of events against the probability of shorter ones, on an axis where the distribution is a line.

    Parameters
    ----------
    data : array_like of shape (n,), CensoredData, Survival or None
        NaN are left out.
    distribution : distribution or fit
        That makes the axis. Where it begins at 0 or above, both axes are logarithmic, as on Weibull paper.
    event, censored, entry : optional
        What is known of the data, as in `distributions.fit`.
    level : float
        Of the band about the events, between 0 and 1.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no continuous distribution, and data without an event.

    Notes
    -----
    The probability of an event is the middle of its step in the estimate of `distributions.survival`, (i - 1/2)/n without
    censoring.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.distributions.Weibull(1.5, scale=10.0).rvs(50, rng=1)
    >>> ax = ns.plot.probability(x, ns.distributions.fit(x, "weibull"))  # doctest: +SKIP
    """
    from numbastats.distributions import survival as estimate

    known, level = _known(data, event, censored, entry), checked_level(level)
    known = estimate(data) if known is None else known
    one = _distribution(distribution, "ppf", known)
    if getattr(one, "is_discrete", False) is True:
        raise TypeError("a probability plot is one of a continuous distribution; of counts call plot.density")
    ax = _axes(ax)
    expected, x = _censored_points(ax, known, one, level, turned=True)
    places = np.asarray(one.ppf(_TICKS))
    if x[0] > 0.0 and expected[0] > 0.0 and float(one.support()[0]) >= 0.0:
        ax.set(xscale="log", yscale="log")
        if x[-1] > 10.0 * x[0]:  # with all minor ticks there would be more labels than there is place for
            from matplotlib.ticker import LogLocator

            ax.xaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        for formatted in (ax.xaxis.set_major_formatter, ax.xaxis.set_minor_formatter):
            formatted("{x:g}")
    low, high = ax.get_ylim()
    near = (places >= low) & (places <= high)
    ax.set_yticks(places[near], [percent(p) for p in _TICKS[near]])
    ax.set_yticks([], minor=True)
    ax.set(ylim=(low, high), xlabel="time of events", ylabel="probability of shorter times")
    ax.legend(frameon=False)
    return ax


# --- extremes -------------------------------------------------------------------------------------------------------------

_LEAST_ABOVE, _LEAST_FITTED = 5, 20  # values above the highest threshold, of mean excesses and of fits


@names_ours
def return_levels(  # noqa: PLR0913
    data: Any,
    found: Any,
    *,
    per: float = 1.0,
    method: str | None = "profile",
    level: float = 0.95,
    periods: ArrayLike | None = None,
    points: int = 24,
    count: int = 999,
    rng: Any = None,
    ax: Axes | None = None,
    event: ArrayLike | None = None,
    censored: Any = None,
    entry: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Axes:
    """Levels of a fit against their return periods, with a band, and the data at their plotting positions.

    Parameters
    ----------
    data : array_like of shape (n,), CensoredData or None
        The data of the fit; NaN are left out. With a threshold all of them, also those below. None where `censored` has them.
    found : DistributionFit
        Of block maxima, as ``fit(data, "gev")``, or of values above a threshold, as ``fit(data, "gpd", threshold=u)``.
    per : float
        Number of values in a unit of time, as in `return_level`: 1 for annual maxima, 365.25 for days.
    method : {"profile", "delta", "bootstrap"} or None
        Of the intervals; None for no band.
    level : float
        Confidence of the band at each period, between 0 and 1.
    periods : array_like, optional
        Where intervals are computed, which lines connect; by default `points` of them, equally spaced on the logarithmic axis up
        to ten times the length of the data.
    points : int
        A profile takes 0.02 to 0.1 s at each.
    count, rng : optional
        Of the bootstrap.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.
    event, censored, entry, weights : optional
        What is known of the data, and their weights, as the fit had them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no fit of one series; for a fit by moments with other methods than "bootstrap" and None; as `return_level`.

    Notes
    -----
    The value of rank i from above stands at the period (n + 1)/(i per); events of data that are known in part, or have weights,
    at 1/(p per), p the middle of their step in the estimate of `distributions.survival`.

    Examples
    --------
    >>> import numbastats as ns
    >>> maxima = ns.distributions.GEV(0.1, loc=40.0, scale=8.0).rvs(60, rng=1)
    >>> found = ns.distributions.fit(maxima, "gev")
    >>> ax = ns.plot.return_levels(maxima, found)  # doctest: +SKIP
    """
    from numbastats.distributions import survival as estimate
    from numbastats.distributions.censoring import is_censored_data
    from numbastats.distributions.extremes import share_error

    level = checked_level(level)
    if method is not None:
        choice("method", method, ("profile", "delta", "bootstrap"))
    if not hasattr(found, "return_level") or hasattr(found, "keys"):
        raise TypeError(f"found is a {type(found).__name__}; pass the fit of one series, of many as fits.one(key)")
    if found.remark == "by moments" and method in ("profile", "delta"):
        raise ValueError(
            f"method={method!r} is of fits by the likelihood, and this is one by moments: pass method=None for levels without "
            'a band, or "bootstrap"'
        )
    given = dict(weights=weights, censored=censored, event=event, entry=entry)
    known = None
    if any(v is not None for v in given.values()) or is_censored_data(data):
        known = estimate(data, **given)
        if known.n_values != found.n_values + found.n_below and not found.zeros > 0.0:
            raise ValueError(
                f"data has {known.n_values} values and the fit {found.n_values + found.n_below}; pass those of the fit"
            )
    elif found._censored:
        raise ValueError("the values of this fit were censored or had entries: pass event=, censored= or entry= as fit had them")
    x = _data(data) if known is None else known.time[known.events > 0.0]
    below = 0 if found.tail is None else int((x <= found.tail.threshold).sum())
    zeros = int((x == 0.0).sum()) if found.zeros > 0.0 and not found.cls.is_discrete else 0
    if known is None and (below != found.n_below or x.size - below - zeros != found.n_values):
        raise ValueError(
            f"data has {x.size - below} values above the threshold and {below} below, and the fit {found.n_values} and "
            f"{found.n_below}; pass the data of the fit, all of them"
        )
    share, number = 1.0 if found.tail is None else found.tail.share, x.size if known is None else known.n_obs
    if periods is None:
        often = max(0.5, 1.0 - 5.0 * float(share_error(share, number)) / share)  # where intervals are above the threshold
        periods = np.geomspace(1.05 / (often * share * per), 10.0 * (number + 1) / per, points)
    at = np.sort(np.atleast_1d(np.asarray(periods, np.float64)))
    options = {"profile": {}, "bootstrap": {"count": count, "rng": rng}}.get(method or "", {})
    if method == "profile" or (method == "bootstrap" and found._censored):
        options |= {"x": data} | given
    band = None if method is None else found.return_level(at, per, method, level=level, **options)
    ax = _axes(ax)
    if band is not None:
        ax.fill_between(at, band.lower, band.upper, color=_ink(ax, 0.88), label=f"{percent(level)} interval, {method}")
    grid = np.geomspace(at[0], at[-1], 200)
    ax.plot(grid, found.whole.isf(1.0 / (grid * per)), label=found.family.replace("_", " "))
    rank = np.arange(x.size - below, 0, -1)
    beyond = rank / (x.size + 1) if known is None else 1.0 - _plotting_positions(known)[below:]
    ax.plot(1.0 / (beyond * per), x[below:], ".", color=_ink(ax, 0.3), ms=4, label="data")
    ax.set(xscale="log", xlabel="return period", ylabel="level")
    ax.legend(frameon=False)
    return ax


def _thresholds(x, thresholds, low, least, points, name):
    """Thresholds that are given, or equally spaced ones up to that with `least` values above it."""
    if thresholds is not None:
        at = np.sort(np.atleast_1d(np.asarray(thresholds, np.float64)))
        if at.ndim > 1 or not at.size or not np.isfinite(at).all():
            raise ValueError(f"thresholds={thresholds!r} must be finite numbers in one dimension")
        if at[0] >= x[-2]:
            raise ValueError(
                f"thresholds begin at {at[0]:g}, above which there are fewer than two values; the largest is {x[-1]:g}"
            )
        return at
    if x.size <= least or not low < x[-least - 1]:
        raise ValueError(f"data has {x.size} values, too few for {name} to choose thresholds: pass thresholds=")
    return np.linspace(low, x[-least - 1], points)


@names_ours
def mean_excess(
    data: ArrayLike, thresholds: ArrayLike | None = None, *, level: float = 0.95, points: int = 200, ax: Axes | None = None
) -> Axes:
    """Mean of the excesses of a threshold, against the threshold, with a band.

    Above a threshold from which on excesses follow a generalised Pareto distribution it is a line, of slope shape/(1 - shape).

    Parameters
    ----------
    data : array_like of shape (n,)
        NaN are left out.
    thresholds : array_like, optional
        By default `points` from the least value to that with five values above it.
    level : float
        Confidence of the band at each threshold, between 0 and 1: by the normal distribution of a mean.
    points : int
        Number of thresholds.
    ax : matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn into.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        For thresholds that are no finite numbers, or with fewer than two values above all of them.

    References
    ----------
    S. Coles, An Introduction to Statistical Modeling of Extreme Values (2001), section 4.3.1.

    Examples
    --------
    >>> import numbastats as ns
    >>> rain = ns.distributions.Gamma(0.5, scale=8.0).rvs(7305, rng=1)
    >>> ax = ns.plot.mean_excess(rain)  # doctest: +SKIP
    """
    width, x = half_width(checked_level(level)), _data(data)
    at = _thresholds(x, thresholds, x[0], _LEAST_ABOVE, points, "mean_excess")
    middle = x.mean()
    first, second = (np.r_[np.cumsum((x - middle)[::-1] ** k)[::-1], 0.0] for k in (1, 2))
    begin = np.searchsorted(x, at, "right")
    number = x.size - begin
    with np.errstate(all="ignore"):
        mean = np.where(number > 0, first[begin] / number + middle - at, np.nan)
        var = (second[begin] - first[begin] ** 2 / number) / (number - 1)
        half = np.where(number > 1, width * np.sqrt(np.maximum(var, 0.0) / number), np.nan)
    ax = _axes(ax)
    ax.fill_between(at, mean - half, mean + half, color=_ink(ax, 0.88), label=f"{percent(level)} interval")
    ax.plot(at, mean, label="mean excess")
    ax.set(xlabel="threshold", ylabel="mean excess")
    ax.legend(frameon=False)
    return ax


@names_ours
def threshold_stability(
    data: ArrayLike, thresholds: ArrayLike | None = None, *, level: float = 0.95, points: int = 20, axes: Any = None
) -> Any:
    """Modified scale and shape of generalised Pareto distributions above several thresholds, with intervals.

    Where the distribution fits above a threshold, it does above all higher ones, with the same shape and the same modified scale
    ``scale - shape * threshold``: the lowest threshold from which on both are level within their intervals will do.

    Parameters
    ----------
    data : array_like of shape (n,)
        NaN are left out.
    thresholds : array_like, optional
        By default `points` from the median to the value with twenty values above it.
    level : float
        Confidence of the intervals, between 0 and 1, which are symmetric.
    points : int
        Number of thresholds.
    axes : array of two matplotlib.axes.Axes, optional
        Where to draw; the axes of a new figure by default.

    Returns
    -------
    array of two matplotlib.axes.Axes

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        For thresholds that are no finite numbers, or with fewer than two values above all of them; for other than two axes.

    Warns
    -----
    ConvergenceWarning
        When fits end in no maximum, as of thresholds with few values above; they are not drawn.

    References
    ----------
    S. Coles, An Introduction to Statistical Modeling of Extreme Values (2001), section 4.3.4.

    Examples
    --------
    >>> import numbastats as ns
    >>> rain = ns.distributions.Gamma(0.5, scale=8.0).rvs(7305, rng=1)
    >>> axes = ns.plot.threshold_stability(rain)  # doctest: +SKIP
    """
    from numbastats.distributions import fit_many

    level, x = checked_level(level), _data(data)
    at = _thresholds(x, thresholds, float(np.median(x)), _LEAST_FITTED, points, "threshold_stability")
    above = x[x > at[0]]
    fits = fit_many(np.broadcast_to(above, (at.size, above.size)), "gpd", threshold=at)
    shape = fits.estimate("shape", level=level)
    scale = fits.estimate(_modified_scale, level=level)
    axes = np.asarray(_axes(axes, nrows=2, sharex=True, figsize=(6.4, 6.0)))
    if axes.size != 2:
        raise ValueError(f"axes has {axes.size} axes; threshold_stability draws into two, as of pyplot.subplots(2)")
    for ax, found, label in zip(axes.ravel(), (scale, shape), ("modified scale", "shape"), strict=True):
        ends = np.stack([found.value - found.lower, found.upper - found.value])
        ax.errorbar(at, found.value, yerr=ends, fmt="o", color=_ink(ax), ms=3, lw=1)
        ax.set(ylabel=f"{label}, {percent(level)}")
    axes.ravel()[1].set(xlabel="threshold")
    return axes


def _modified_scale(d):
    """The scale that does not depend on the threshold."""
    above = d.distribution
    return above.scale - above.shape * above.loc
