"""EM on one data set in pieces: sums of each piece anywhere, their combination, one M-step."""

from __future__ import annotations

import numpy as np

from numbastats._core.broadcast import real64
from numbastats._core.dispatch import to_host
from numbastats.mixture import kernels as k
from numbastats.mixture.distribution import _apart, _document, _mixture, _scores, _values
from numbastats.scalar import families as fam

__all__ = ["combine", "em_update", "partial_stats"]


@_document
def partial_stats(x, weights, centres, params=None, *, family=None, sample_weight=None, device=None, workers=None):
    """Sums of the E-step over a piece of the data.

    Parameters
    ----------
    x : array_like, shape (n,)
        NaN are dropped. Arrays on a GPU are copied to the host.
    {parameters}
    sample_weight : array_like, shape (n,), optional
    device, workers
        As elsewhere in the library, but for executors: `workers` is a number of threads.

    Returns
    -------
    numpy.ndarray, shape (3 K + 1,)
        Per component the sums of r, r t1, r t2, then the log-likelihood; t1, t2 are about the mean of the mixture, or about each
        component's own where they lie far apart. Sums of pieces add up: use `combine`, ``dask.array.reduction`` or an MPI
        reduce, then `em_update`.

    Raises
    ------
    ValueError
        For values outside the support.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.mixture.rvs([0.3, 0.7], [1.0, 3.0], [30.0, 0.2], 40_000, family="inverse_gaussian", rng=1)
    >>> now, family = (np.array([0.5, 0.5]), np.array([1.0, 4.0]), np.array([10.0, 1.0])), "inverse_gaussian"
    >>> for _ in range(40):
    ...     sums = [ns.mixture.partial_stats(part, *now, family=family) for part in np.split(x, 4)]
    ...     *now, loglik = ns.mixture.em_update(ns.mixture.combine(sums), *now, family=family)
    >>> now[1].round(1)
    array([1., 3.])
    """
    law, par = _mixture(weights, centres, params, family)
    x, _ = _values(to_host(x, "x"))
    w = np.ones(x.shape) if sample_weight is None else real64(to_host(sample_weight, "sample_weight"))
    if x.ndim != 1 or w.shape != x.shape:
        raise ValueError(f"x has shape {x.shape} and sample_weight {w.shape}; both must be (n,)")
    keep = ~np.isnan(x) & (w != 0.0)
    x, w = x[keep], w[keep]
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise ValueError("sample_weight has negative or non-finite entries; use weights >= 0")
    stats = np.zeros((par.shape[1] if _apart(law, par) else 1, 2, x.size))
    ll, resp = _scores(x, law, par, True, device, workers, stats)
    if not np.isfinite(ll).all():
        raise ValueError(f"{int((~np.isfinite(ll)).sum())} values are infinite or outside the support of {law.name}; remove them")
    resp *= w
    sums = [resp.sum(axis=1), (resp * stats[:, 0]).sum(axis=1), (resp * stats[:, 1]).sum(axis=1)]
    return np.concatenate([np.stack(sums, axis=1).reshape(-1), [w @ ll]])


def combine(parts):
    """Add up the sums of pieces, pairwise, so that the order of the list alone decides the rounding.

    Parameters
    ----------
    parts : sequence of numpy.ndarray
        Results of `partial_stats` with the same parameters.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ValueError
        For nothing to combine, and results of different lengths.
    """
    parts = [real64(part) for part in parts]
    shapes = {part.shape for part in parts}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise ValueError(f"the parts have shapes {sorted(shapes)}; pass results of partial_stats with the same parameters")
    return k.combine(parts)


@_document
def em_update(total, weights, centres, params=None, *, family=None):
    """M-step from the sums of all pieces.

    Parameters
    ----------
    total : array_like, shape (3 K + 1,)
        Sum of the pieces' `partial_stats`.
    {parameters}
        The parameters that the sums were made with.

    Returns
    -------
    weights, centres, params : numpy.ndarray, shape (K,)
        The next parameters; `params` is None for families of one.
    loglik : float
        Log-likelihood of the parameters that were passed in.

    Raises
    ------
    ValueError
        Where a component has lost its observations or its spread.
    """
    law, par = _mixture(weights, centres, params, family)
    K = par.shape[1]
    total = np.asarray(total, np.float64)
    if total.shape != (3 * K + 1,):
        raise ValueError(f"total has shape {total.shape}; partial_stats of {K} components gives ({3 * K + 1},)")
    centres = par[1] if _apart(law, par) else np.full(K, par[0] @ par[1])
    rows = total[:-1].reshape(K, 3)
    new = np.array([fam.maximise(law.base, *map(float, row), float(c), 0.0, 0.0) for row, c in zip(rows, centres, strict=True)])
    if not ((rows[:, 0] > 0).all() and (new[:, 1] > 0).all() and np.isfinite(new).all()):
        raise ValueError(
            f"a component has no observations or no spread left: sums of responsibilities {rows[:, 0]}; start elsewhere"
        )
    return rows[:, 0] / rows[:, 0].sum(), new[:, 0], law.parameter(new[:, 1]) if law.two else None, float(total[-1])
