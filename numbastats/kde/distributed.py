"""Densities in parts: a grid slab by slab, and samples in shares whose states add up."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.checks import choice
from numbastats._core.errors import names_ours
from numbastats._core.kinds import LAZY
from numbastats._core.launch import choose_device, launch
from numbastats._core.options import Device
from numbastats._core.parallel import mapped
from numbastats._core.progress import bar
from numbastats._core.slabs import in_slabs
from numbastats.kde import kernels as K
from numbastats.kde.arguments import (
    Axes,
    MatrixOptions,
    as_samples,
    check_form,
    check_weights,
    check_workers,
    kernel_matrix,
    parse_axes,
)
from numbastats.kde.bandwidth import Form
from numbastats.kde.engine import LONG_ROW, accumulate, allocate
from numbastats.kde.gridding import Grid, collect, make_grid, quantise
from numbastats.kde.model import Model
from numbastats.kde.moments import moments
from numbastats.kde.records import ROWS, KernelName, kernel_of, names_of

__all__ = ["Plan", "Summary", "combine", "finalize", "grid_by", "grid_of_blocks", "partial", "plan"]

SHARE = 1 << 18  # least number of samples in a task of an executor


@dataclasses.dataclass(frozen=True, eq=False)
class Summary:
    """What the first pass learns of a share of the samples; add with `combine`. Equal to itself alone."""

    n: int
    W: float
    W2: float
    mean: np.ndarray
    M2: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weighted: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """Kernel matrix, grid and quantum that all shares must have in common. Equal to itself alone."""

    model: Model
    grid: Grid
    weighted: bool

    @property
    def H(self) -> NDArray[np.float64]:
        """Kernel matrix."""
        return self.model.H

    @property
    def error_bound(self) -> float:
        """A-priori absolute error of the density."""
        return self.grid.bound


def check_plan(plan):
    """Raise unless it is a Plan."""
    if not isinstance(plan, Plan):
        raise TypeError(f"plan is a {type(plan).__name__}; pass the Plan that kde.plan(summary, axes) makes")


def summarise(samples, weights=None, workers=None):
    """First pass over a share of the samples, for `plan`.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    weights : (n,) array_like, optional
    workers : int, optional

    Returns
    -------
    Summary
    """
    x = as_samples(samples)[0]
    w = check_weights(weights, len(x))
    if not np.isfinite(x).all() or (w is not None and not ((w == 0) | ((w > 1e-100) & (w < 1e100))).all()):
        raise ValueError("samples must be finite, and weights 0 or between 1e-100 and 1e100; multiply all weights by one number")
    d = x.shape[1]
    if not len(x) or (w is not None and not w.any()):  # no sample of positive weight
        far = np.full(d, np.inf)
        return Summary(len(x), 0.0, 0.0, np.zeros(d), np.zeros((d, d)), far, -far, w is not None)
    m = moments(x, w, workers)
    return Summary(len(x), m["W"], m["W2"], m["mean"], m["M2"], m["low"], m["high"], w is not None)


@names_ours
def plan(
    summary: ArrayLike | Summary,
    axes: Axes,
    *,
    kernel: KernelName = "epanechnikov",
    h: float | None = None,
    H: ArrayLike | None = None,
    sigma: ArrayLike | str = "cov",
    weighted: bool | None = None,
    form: Form = "radial",
) -> Plan:
    """Fix kernel matrix, grid and quantum for a distributed density.

    Parameters
    ----------
    summary : (n, d) array_like or Summary
        All samples, or the combined summaries of their shares (`partial` without a plan).
    axes
        As in `grid`.
    kernel : {"epanechnikov", "uniform", "biweight", "triweight"}
    h, H, sigma
        As in `grid`; h by default from equation (9).
    weighted : bool, optional
        Whether the shares come with weights; by default whether those of the summary did, and no other than that.
    form : {"radial", "product"}

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        As `grid`, for a summary without samples of positive weight, and for a `weighted` that contradicts it.

    Notes
    -----
    The bound on the weight that one grid point can see is the total weight, so the quantum is a few bits coarser than in `grid`.
    States of twice the summary's total weight and more overflow: the summary has to be of all shares.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.random.normal(size=(1000, 2), rng=1)
    >>> shares = np.split(x, 4)
    >>> summary = ns.kde.combine(*[ns.kde.partial(s) for s in shares])
    >>> p = ns.kde.plan(summary, [(-4, 4, 41), (-4, 4, 51)])
    >>> f = ns.kde.finalize(ns.kde.combine(*[ns.kde.partial(s, p) for s in shares]), p)
    >>> f.shape
    (41, 51)
    """
    kernel = kernel_of(kernel, ROWS)
    choice("form", form, ("radial", "product"))
    s = summary if isinstance(summary, Summary) else summarise(summary)
    d = len(s.mean)
    if weighted is not None and bool(weighted) != s.weighted and isinstance(summary, Summary):
        raise ValueError(f"weighted={weighted}, but the summary is of samples {'with' if s.weighted else 'without'} weights")
    weighted = s.weighted if weighted is None else bool(weighted)
    if not s.W > 0:
        raise ValueError("there are no samples of positive weight; pass at least one")
    parsed = parse_axes(axes, d)
    known = dict(W=s.W, W2=s.W2, mean=s.mean, M2=s.M2, low=s.low, high=s.high, weighted=weighted)
    n_eff = s.W**2 / s.W2
    matrix, factor, spread = kernel_matrix(MatrixOptions(kernel, h, H, sigma, form=form), known, s.n, n_eff)
    product = check_form(form, d, matrix)
    m = Model(
        np.empty((0, d)),
        None,
        kernel,
        matrix,
        factor,
        spread,
        0.0,
        s.W,
        n_eff,
        s.low,
        s.high,
        np.dtype(np.float64),
        None,
        product=product,
    )
    return plan_of(m, parsed, s.n, weighted)


def plan_of(m, axes, n, weighted):
    """The plan for a model without samples and for n samples that come later."""
    g = make_grid(m, axes)
    g.geometry["bounds"] = m.product
    short = not weighted and not m.product and m.power == 1 and g.chord <= LONG_ROW
    g.method = "rows-c" if short else "rows-b"
    quantise(m, g, m.power, m.total, float(n), weighted or m.product)
    return Plan(m, g, weighted)


@names_ours
def partial(
    samples: ArrayLike,
    plan: Plan | None = None,
    *,
    weights: ArrayLike | None = None,
    device: Device = None,
    workers: int | None = None,
) -> Any:
    """State of a share of the samples: a summary, or with a plan the integers that `combine` adds.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    plan : Plan, optional
        Without one, the first pass: a `Summary` for `plan`.
    weights : (n,) array_like, optional
    device : {"auto", "cpu", "cuda"}, optional
    workers : int, optional

    Returns
    -------
    Summary or (rows, cells) int64 array
        8 bytes per cell for unweighted Epanechnikov kernels, 8 (2p + 1) otherwise.

    Raises
    ------
    ValueError
        For samples that do not fit the plan, that are not finite, and for weights with a plan without or the reverse.
    TypeError
        For a plan that is no `Plan`.

    Examples
    --------
    See `plan`.
    """
    if plan is None:
        return summarise(samples, weights, workers)
    check_plan(plan)
    x, w = as_samples(samples)[0], None
    w = check_weights(weights, len(x))
    m = plan.model
    if x.shape[1] != m.d:
        raise ValueError(f"the samples have {x.shape[1]} columns, the plan {m.d}")
    if len(x) and plan.weighted != (w is not None):
        raise ValueError(
            "the plan is for samples with weights; pass weights="
            if plan.weighted
            else "the plan is for samples without weights; make it of summaries with weights, or with weighted=True"
        )
    if not np.isfinite(x).all() or (w is not None and not (np.isfinite(w) & (w >= 0)).all()):
        raise ValueError("samples must be finite, and weights finite and >= 0")
    check_workers(workers)
    return state_of(x, w, plan, choose_device(device), workers)[0]


def state_of(x, w, plan, device, workers):
    """The integers of a share of the samples, and the number of its samples that no grid position sees."""
    m, g = plan.model, dataclasses.replace(plan.grid, geometry=plan.grid.geometry.copy())
    if not len(x):
        return np.zeros((g.lines, g.state_size(m.power)), np.int64), 0
    model = dataclasses.replace(m, samples=x, weights=w, low=x.min(0), high=x.max(0))
    lists = collect(model, g, np.ones(1), np.ones(1) if w is None else w, workers)
    lists.w = np.rint(lists.w * g.q)
    return accumulate(g, lists, model.power, g.geometry, g.lines, device, workers), len(x) - lists.inside


def _share(job):
    """`state_of` as a task of an executor."""
    return state_of(*job, "cpu", 1)


def grid_by(e, axes, method, derivative, device, progress):
    """Density of an estimate on a grid; the estimate's executor sums shares of the samples."""
    m = e.model
    asked = {"kernel": not m.kernel.rows, "boundary": bool(e.boundary), "adaptive": m.scale is not None}
    asked |= {"method": method not in ("auto", "rows"), "derivative": derivative is not None, "device": device != "cpu"}
    if wrong := [name for name, other in asked.items() if other]:
        raise ValueError(
            f"an executor sums the rows of {names_of(ROWS)} kernels, and takes no other {wrong[0]}=; pass workers= as a "
            "number of threads"
        )
    bare = dataclasses.replace(m, samples=m.x[:0], weights=None, dtype=np.dtype(np.float64))
    plan = plan_of(bare, axes, len(m.x), m.weights is not None)
    cells = plan.grid.lines * plan.grid.state_size(m.power)
    step = max(SHARE, 2 * cells)  # 8 d bytes are sent per sample, 8 bytes per cell come back
    cut = lambda a, lo: None if a is None else a[lo : lo + step]  # noqa: E731
    jobs = ((cut(m.x, lo), cut(m.weights, lo), plan) for lo in range(0, len(m.x), step))
    total, e.outside = np.zeros((plan.grid.lines, plan.grid.state_size(m.power)), np.int64), 0
    with bar(progress, -(-len(m.x) // step), "kde.grid") as shown:
        for state, outside in mapped(e.executor, _share, jobs):
            total += state
            e.outside += outside
            shown.update()
    density = finalize(total, plan, workers=e.workers)
    e.method_used, e.error_bound = plan.grid.method, plan.error_bound / density.max() if density.any() else None
    return density


def grid_of_blocks(samples, axes, weights, options):
    """Density on a grid of samples in a dask array, in another one, whose sums are made where the blocks are."""
    from dask import delayed
    from dask.array import from_delayed

    blocks = LAZY.blocks(samples, "samples")
    length = parse_axes(axes, 1 if blocks.ndim == 1 else blocks.shape[1])[2]
    kernel_of(options["kernel"], ROWS)
    shares = LAZY.shares(samples, weights)
    made = delayed(plan)(delayed(combine)([delayed(partial)(x, weights=w, workers=1) for x, w in shares]), axes, **options)
    states = [delayed(partial)(x, made, weights=w, workers=1) for x, w in shares]
    while len(states) > 1:
        states = [delayed(combine)(states[i : i + 8]) for i in range(0, len(states), 8)]
    return from_delayed(delayed(finalize)(*states, made, workers=1), tuple(map(int, length)), np.float64)


def combine(*states: Any) -> Any:
    """Add states of `partial`, in any order and grouping.

    Parameters
    ----------
    *states : Summary or int64 arrays, or one iterable of them

    Returns
    -------
    Summary or int64 array
        Sums of integers are exact: associative and commutative to the bit.

    Raises
    ------
    ValueError
        For nothing, summaries with and without weights or of other columns, and states of several plans.
    TypeError
        For summaries among grid states.

    Examples
    --------
    See `plan`.
    """
    if len(states) == 1 and not isinstance(states[0], (Summary, np.ndarray)):
        states = tuple(states[0])
    if not states:
        raise ValueError("nothing to combine; pass at least one state")
    total = states[0]
    for s in states[1:]:
        if isinstance(total, Summary) != isinstance(s, Summary):
            raise TypeError("summaries and grid states cannot be combined with each other")
        if isinstance(total, Summary):
            if min(total.n, s.n) > 0 and total.weighted != s.weighted:
                raise ValueError("one summary is of samples with weights, another without; pass weights to all")
            if len(total.mean) != len(s.mean):
                raise ValueError(f"summaries of samples with {len(total.mean)} and {len(s.mean)} columns cannot be combined")
            delta, weight = s.mean - total.mean, total.W + s.W
            share = s.W / weight if weight > 0 else 0.0
            total = Summary(
                total.n + s.n,
                weight,
                total.W2 + s.W2,
                total.mean + delta * share,
                total.M2 + s.M2 + np.outer(delta, delta) * (total.W * share),
                np.minimum(total.low, s.low),
                np.maximum(total.high, s.high),
                total.weighted or s.weighted,
            )
        else:
            if not all(isinstance(v, np.ndarray) and v.dtype == np.int64 and v.shape == s.shape for v in (s, total)):
                raise ValueError("grid states must be the int64 arrays that kde.partial gives for one plan")
            total = total + s
    return total


@names_ours
def finalize(
    state: NDArray[np.int64], plan: Plan, *, total_weight: float | None = None, device: Device = None, workers: int | None = None
) -> NDArray[np.float64]:
    """Density of a combined state.

    Parameters
    ----------
    state : int64 array
    plan : Plan
    total_weight : float, optional
        By default that of the plan's summary.
    device, workers
        As in `grid`.

    Returns
    -------
    array
        In the shape of the axes.

    Raises
    ------
    ValueError
        For a state that is not of this plan, and for a total weight that is not positive.
    TypeError
        For a plan that is no `Plan`.

    Examples
    --------
    See `plan`.
    """
    check_plan(plan)
    g = plan.grid
    natural = [int(g.length[a]) for a in g.order]
    wanted = (g.lines, g.state_size(plan.model.power))
    if not isinstance(state, np.ndarray) or state.shape != wanted or state.dtype != np.int64:
        raise ValueError(f"state must be the int64 array of shape {wanted} that kde.partial gives for this plan")
    out = allocate(natural, np.float64)
    geometry = g.geometry.copy()
    if total_weight is not None:
        if not 0 < total_weight < math.inf:
            raise ValueError(f"total_weight={total_weight!r}; it must be finite and > 0")
        geometry["scale"] *= plan.model.total / float(total_weight)
    kernel = K.FINISH["c" if g.method == "rows-c" else plan.model.power]
    rows, on, cost = out.reshape(-1, natural[-1]), choose_device(device), 2.0 * wanted[1]

    def slab(a, b):
        launch(kernel, (geometry, state[a:b], rows[a:b]), g.lines, device=on, workers=workers, cost=cost, threads=64)

    in_slabs(slab, g.lines, 2 * cost if on == "cpu" else 0, workers)
    return np.ascontiguousarray(np.moveaxis(out, -1, g.order[-1]))
