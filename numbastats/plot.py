"""Plots of data against distributions and of fits, by matplotlib, which must be installed.

Every function draws into `ax`, or into the axes of a new figure, and returns the axes: titles, limits and files are left to you.
Fits to censored or truncated values are refused beside data: the values would have to be known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.checks import checked_level, choice
from numbastats._core.data import series
from numbastats._core.errors import names_ours, renamed
from numbastats._core.kinds import to_host
from numbastats._core.results import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["contours", "criteria", "densities", "density", "fit", "forest", "mixture", "qq", "rank", "tail", "trace"]


def _axes(ax, **size):
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("numbastats.plot needs matplotlib: pip install matplotlib") from None
    return pyplot.subplots(layout="constrained", **size)[1]


def _data(data):
    """Finite values of one series, sorted."""
    x = series(data, "data", "pass one series, as data.ravel() or one column").astype(np.float64)
    x = np.sort(x[~np.isnan(x)])
    if x.size < 2 or not np.isfinite(x[[0, -1]]).all():
        raise ValueError("data needs at least two values, and none that is infinite (NaN are left out)")
    return x


def _distribution(one, method):
    """A distribution, or that of a fit; `method` is what is drawn of it."""
    if getattr(one, "partial", False) is True:
        raise ValueError(
            "the values of this fit were censored or truncated, and plots take values that are all known: they would show a "
            "misfit where there is none. Compare found.distribution.sf(t) with the Kaplan-Meier estimate, as "
            "scipy.stats.ecdf(scipy.stats.CensoredData(uncensored=..., right=...)).sf for values that are censored on the right"
        )
    for found in (one, getattr(one, "distribution", None)):
        if callable(getattr(found, method, None)):
            return found
        if getattr(found, "is_discrete", False):
            raise TypeError(f"{found!r} is a distribution of counts: draw it by `tail` and `qq`, and its `pmf` as bars")
    if isinstance(one, Mapping):
        raise TypeError(f"qq draws one distribution, but this is a {type(one).__name__} of {len(one)}: pass one of its values")
    shown = f"a {type(one).__name__}" if isinstance(one, list | tuple) or "\n" in repr(one) else repr(one)
    raise TypeError(
        f"{shown} is no distribution: it has no method {method}; pass one, a fit with `.distribution` or, but for qq, a dict of "
        "them"
    )


def _labelled(distributions, method):
    """Distributions, or fits, with labels: one, several in a list, or a dict of labels."""
    if distributions is None:
        return {}
    many = distributions if isinstance(distributions, list | tuple) else [distributions]
    if not isinstance(distributions, Mapping):
        distributions = {getattr(d, "family", type(d).__name__).replace("_", " "): d for d in many}
    return {label: _distribution(d, method) for label, d in distributions.items()}


@names_ours
def tail(data: ArrayLike, distributions: Any = None, *, side: str = "upper", points: int = 400, ax: Axes | None = None) -> Axes:
    """Share of values beyond x, on logarithmic axes, with the tails of distributions.

    A tail that falls like a power of x is a straight line of that slope.

    Parameters
    ----------
    data : array_like of shape (n,)
        NaN are left out; only values > 0 can be shown (for side="lower", values < 0).
    distributions : distribution, list of them, or dict, optional
        Anything with the methods `cdf` and `sf`, or fits of it; the keys of a dict are the labels.
    side : {"upper", "lower"}
        P(X >= x) against x, or P(X <= -x) against x: losses where data are returns.
    points : int
        Places where distributions are evaluated.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

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
    x = _data(data)
    x = x if side == "upper" else -x[::-1]
    share = 1.0 - (np.arange(x.size) / x.size)
    shown = x > 0.0
    drawn = _labelled(distributions, "sf")
    if not shown.any():
        raise ValueError(f"no value is {'> 0' if side == 'upper' else '< 0'}, so there is no {side} tail to show on log axes")
    ax = _axes(ax)
    ax.loglog(x[shown], share[shown], ".", color="0.3", ms=4, label="data")
    grid = np.geomspace(np.quantile(x[shown], 0.05), 2.0 * x[-1], points)
    for label, one in drawn.items():
        ax.loglog(grid, one.sf(grid) if side == "upper" else one.cdf(-grid), label=label)
    ax.set(xlabel="x" if side == "upper" else "-x", ylabel=f"probability of values {'≥ x' if side == 'upper' else '≤ -x'}")
    ax.set_ylim(bottom=0.1 / x.size)
    ax.legend(frameon=False)
    return ax


def _histogram(ax, x, least=5) -> tuple[float, float]:
    """Bins by Freedman and Diaconis between the 0.1 % and the 99.9 % quantile, `least` to 200; returns their range."""
    low, high = np.quantile(x, [0.001, 0.999])
    if not low < high:
        low, high = x[0] - 0.5, x[-1] + 0.5
    spread = np.subtract(*np.quantile(x, [0.75, 0.25]))
    width = 2.0 * spread / np.cbrt(x.size)
    bins = int(np.clip((high - low) / width if width > 0.0 else 50, least, 200))
    counts, edges = np.histogram(x, bins, (low, high))
    ax.stairs(counts / (x.size * np.diff(edges)), edges, fill=True, color="0.85", label="data")
    return float(low), float(high)


def _density_axes(ax: Axes) -> Axes:
    """Labels and legend of a plot of densities."""
    ax.set(xlabel="x", ylabel="density")
    ax.legend(frameon=False)
    return ax


@names_ours
def density(data: ArrayLike, distributions: Any = None, *, points: int = 400, ax: Axes | None = None) -> Axes:
    """Histogram with densities of distributions.

    Parameters
    ----------
    data : array_like of shape (n,)
        NaN are left out. The plot shows the range from the 0.1 % to the 99.9 % quantile.
    distributions : distribution, list of them, or dict, optional
        Anything with the method `pdf`, or fits of it; the keys of a dict are the labels.
    points : int
        Places where densities are evaluated.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    x, drawn = _data(data), _labelled(distributions, "pdf")
    ax = _axes(ax)
    grid = np.linspace(*_histogram(ax, x), points)
    for label, one in drawn.items():
        ax.plot(grid, one.pdf(grid), label=label)
    return _density_axes(ax)


@renamed(confidence="level")
@names_ours
def qq(data: ArrayLike, distribution: Any = None, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Ordered values against quantiles of a distribution, with a pointwise band.

    Parameters
    ----------
    data : array_like of shape (n,)
        NaN are left out.
    distribution : distribution, optional
        Anything with the method `ppf`, or a fit of it. By default the normal distribution of the data's mean and standard
        deviation.
    level : float
        Confidence of the band at each place, between 0 and 1, for samples of exactly this distribution; samples stay closer to
        the line than the band says where the parameters were estimated from the same data.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Notes
    -----
    Probabilities are (i - 1/2)/n; order statistics of uniform variables have beta distributions, whose quantiles make the band.
    """
    from scipy.special import betaincinv

    level = checked_level(level)
    x = _data(data)
    if distribution is None:
        from numbastats.distributions import Normal

        distribution = Normal(x.mean(), x.std())
    distribution = _distribution(distribution, "ppf")
    i = np.arange(1, x.size + 1)
    expected = distribution.ppf((i - 0.5) / x.size)
    low, high = (distribution.ppf(betaincinv(i, x.size + 1 - i, p)) for p in (0.5 - 0.5 * level, 0.5 + 0.5 * level))
    ax = _axes(ax)
    ax.fill_between(expected, low, high, color="0.88", label=f"{percent(level)} of samples, at each place")
    ax.plot(expected[[0, -1]], expected[[0, -1]], "k-", lw=0.8)
    ax.plot(expected, x, ".", ms=4, label="data")
    ax.set(xlabel="quantile of the distribution", ylabel="ordered data")
    ax.legend(frameon=False)
    return ax


@names_ours
def fit(data: ArrayLike, found: Any, *, points: int = 400, axes: Any = None) -> Any:
    """Four views of one fit or of several: densities, distribution functions, quantiles and probabilities.

    Density over histogram, distribution function over the empirical one, ordered values against quantiles (QQ), which shows the
    tails, and empirical against fitted probabilities (PP), which shows the middle. Points on the diagonals fit.

    Parameters
    ----------
    data : array_like of shape (n,)
        NaN are left out.
    found : fit, distribution, list of them, or dict
        Anything with the methods `pdf`, `cdf` and `ppf`, or fits of it; the keys of a dict are the labels.
    points : int
        Places where densities and distribution functions are evaluated.
    axes : array of four matplotlib axes, optional
        Those of a new figure by default.

    Returns
    -------
    array of matplotlib axes, of shape (2, 2) where they are new

    Raises
    ------
    ImportError
        Without matplotlib.
    TypeError, ValueError
        For what is no distribution, a fit to censored or truncated values, and data that are not one series of at least two
        values; for other than four axes.

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
    x = _data(data)
    shown = {label: one for method in ("pdf", "cdf", "ppf") for label, one in _labelled(found, method).items()}
    axes = np.asarray(_axes(axes, nrows=2, ncols=2, figsize=(9.0, 7.0)))
    if axes.size != 4:
        raise ValueError(f"axes has {axes.size} axes; fit draws into four, as of pyplot.subplots(2, 2)")
    above, cumulated, quantiles, probabilities = axes.ravel()
    density(x, shown, points=points, ax=above)
    share = (np.arange(x.size) + 0.5) / x.size
    grid = np.linspace(x[0], x[-1], points)
    cumulated.step(x, np.arange(1, x.size + 1) / x.size, where="post", color="0.3", lw=0.8, label="data")
    for ax, ends in ((quantiles, x[[0, -1]]), (probabilities, [0.0, 1.0])):
        ax.plot(ends, ends, "k-", lw=0.8)
    for label, one in shown.items():
        cumulated.plot(grid, one.cdf(grid), label=label)
        quantiles.plot(one.ppf(share), x, ".", ms=4, label=label)
        probabilities.plot(one.cdf(x), share, ".", ms=4, label=label)
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
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
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
        colour = {"cmap": "viridis"} if by is None else {"colors": f"C{i % 10}"}
        dots = {"color": "0.75"} if by is None else {"color": f"C{i % 10}", "alpha": 0.3, "label": str(label)}
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
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    found, names = _densities(samples, by, kde, shared)
    if {one.n_features_in_ for one in found.values()} != {1}:
        raise ValueError(f"samples has shape {np.shape(samples)}; pass one variable, (n,), beside by=")
    ends = np.array([one.ppf([0.0, 1.0]) for one in found.values()])
    grid = np.linspace(ends[:, 0].min(), ends[:, 1].max(), points)
    ax = _axes(ax)
    for i, (label, one) in enumerate(found.items()):
        x, value = one.model.x[:, 0], np.asarray(to_host(one.pdf(grid), "density"))
        ax.plot(grid, value, color=f"C{i % 10}", label=f"{label} (n = {len(x)})")
        ax.fill_between(grid, value, color=f"C{i % 10}", alpha=0.15)
        height, where = np.full(len(x), 0.015 + 0.02 * i), ax.get_xaxis_transform()
        ax.plot(x, height, "|", ms=4, alpha=0.5, color=f"C{i % 10}", transform=where)
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
        NaN are left out, and rows with one. Of several columns the points have the colour of their most probable component.
    masses : sequence of float
        Of several columns: the probability, under its component, that each ellipse holds in the plane of its two columns.
    points : int
        Places where densities are evaluated.
    ax : matplotlib axes, optional
        Of d > 2 columns an array of d d axes.

    Returns
    -------
    matplotlib axes
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
    ax.plot(grid, total, "k-", label="mixture")
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
    ax.plot(grid, total, "k-", label="mixture")
    for k, share in enumerate(fit.predict_proba(grid[:, None]).T):
        ax.plot(grid, np.where(total > 0.0, share * total, 0.0), "--", lw=1, color=f"C{k % 10}", label=f"component {k + 1}")
    _density_axes(ax).set_xlabel(_heading(fit.columns[0]))
    return ax


def _heading(name):
    """The name of a column on an axis."""
    return name if isinstance(name, str) else f"column {name}"


def _ellipses(ax, fit, x, labels, pair, masses):
    """The components in the plane of two columns."""
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    for k in range(fit.n_components):
        colour = f"C{k % 10}"
        if x is not None:
            ax.plot(*x[labels == k][:, pair].T, ".", ms=3, color=colour, alpha=0.5, zorder=0)
        root = np.linalg.cholesky(fit.covariances[k][np.ix_(pair, pair)])
        for mass in masses:
            radius = np.sqrt(-2.0 * np.log1p(-mass))  # chi-squared of two degrees of freedom
            label = f"component {k + 1}" if mass == masses[-1] else "_"
            ax.plot(*(fit.means[k, list(pair)][:, None] + radius * (root @ circle)), "-", lw=1.2, color=colour, label=label)
        ax.plot(*fit.means[k, list(pair)], "k+", ms=6)
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
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

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
        ax.plot(number[at], value[at], "-", lw=1, color=f"C{i % 10}", label=one or "_")
        for sure, fill in ((True, f"C{i % 10}"), (False, "white")):
            those = at[(table["status"][at] == 0) == sure]
            ax.plot(number[those], value[those], "o", ms=5, color=f"C{i % 10}", mfc=fill, label="_")
    chosen = np.asarray(table["chosen"], bool)
    ax.plot(number[chosen], value[chosen], "o", ms=12, mfc="none", mec="k", label="chosen")
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
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    if not hasattr(model, "coef_"):
        raise TypeError(f"model is a {type(model).__name__}; forest shows the coefficients of a regression of numbastats.bayes")
    table = model.summary(level)
    keep = [i for i, name in enumerate(table["name"]) if name not in ("intercept", "log_tau", "log_sigma")]
    name, mean, lower, upper = (np.asarray(table[c])[keep] for c in ("name", "mean", "lower", "upper"))
    order = np.argsort(mean) if sort else np.arange(mean.size)[::-1]
    ax = _axes(ax, figsize=(6.0, 1.0 + 0.2 * mean.size))
    spread = np.stack([mean - lower, upper - mean])[:, order]
    ax.errorbar(mean[order], np.arange(mean.size), xerr=np.maximum(spread, 0.0), fmt="ko", ms=3, lw=1)
    ax.axvline(0.0, color="0.7", lw=0.8, zorder=0)
    ax.set_yticks(np.arange(mean.size), name[order])
    ax.set(xlabel=f"coefficient: posterior mean and {percent(level)} interval")
    return ax


def _chains(model, name):
    """Draws (chains, draws) of one column of the summary."""
    draws, names = model._side_by_side()
    return draws[:, :, list(names).index(choice("name", name, tuple(names)))]


@names_ours
def trace(model: Any, name: str, *, ax: Axes | None = None) -> Axes:
    """Draws of one parameter in the order of drawing, a line for each chain.

    Parameters
    ----------
    model : fitted estimator of numbastats.bayes
        With its draws (keep="draws").
    name : str
        A name of ``model.summary()["name"]``.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    draws = _chains(model, name)
    ax = _axes(ax, figsize=(8.0, 3.0))
    for k, chain in enumerate(draws):
        ax.plot(chain, lw=0.6, alpha=0.8, label=f"chain {k + 1}")
    ax.set(xlabel="draw", ylabel=name)
    return ax


@names_ours
def rank(model: Any, name: str, *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Histograms of the ranks that the draws of each chain have among all; chains that agree give level ones.

    Parameters
    ----------
    model : fitted estimator of numbastats.bayes
        With its draws (keep="draws").
    name : str
        A name of ``model.summary()["name"]``.
    bins : int
        Of each histogram.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and localization: an improved R-hat for
    assessing convergence of MCMC", Bayesian Analysis 16 (2021), section 4.
    """
    draws = _chains(model, name)
    ranks = np.empty(draws.size)
    ranks[np.argsort(draws, axis=None, kind="stable")] = np.arange(draws.size)
    ax = _axes(ax, figsize=(8.0, 3.0))
    for k, chain in enumerate(ranks.reshape(draws.shape)):
        counts, edges = np.histogram(chain, bins, (0, draws.size))
        ax.stairs(counts, edges, label=f"chain {k + 1}")
    ax.axhline(draws.shape[1] / bins, color="k", lw=0.8, ls=":")
    ax.set(xlabel=f"rank of {name} among the draws of all chains", ylabel="draws", ylim=(0, None))
    ax.legend(frameon=False)
    return ax
