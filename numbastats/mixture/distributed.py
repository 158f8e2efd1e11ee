"""EM on one data set in pieces: sums of each piece anywhere, their combination, one M-step."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.errors import names_ours
from numbastats._core.inputs import any_lazy
from numbastats._core.kinds import LAZY
from numbastats._core.options import hands_on
from numbastats.mixture.arguments import DensityOptions, Family, mixture_of, parts_of, sums_of, weighted_values
from numbastats.mixture.density import far_apart, scores
from numbastats.mixture.engine import pairwise_sum
from numbastats.mixture.families import of_several_columns
from numbastats.mixture.functions import logpdf
from numbastats.mixture.kernels.latent import FORMULAS
from numbastats.mixture.multivariate import distributed as multivariate
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam


@hands_on(logpdf)
def partial_stats(
    x: ArrayLike,
    weights: ArrayLike,
    centres: ArrayLike,
    params: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    **options: Unpack[DensityOptions],
) -> NDArray:
    """Sums of the E-step over a piece of the data.

    Parameters
    ----------
    x : array_like, shape (n,) or (n, d)
        NaN are dropped, rows with one too. Arrays on a GPU are copied to the host. Of a dask array every block is summed where it
        is, and the sums are combined in the order of the blocks.
    weights, centres, params, family
        As in `logpdf`. Of rows of d columns `centres` are means (K, d) and `params` covariances (K, d, d); they have no family
        but "normal".
    sample_weight : array_like, shape (n,), optional
    device, workers
        As in `logpdf`.

    Returns
    -------
    numpy.ndarray, shape (3 K + 1,)
        Per component the sums of r, r t1, r t2, then the log-likelihood; t1, t2 are about the mean of the mixture, or about each
        component's own where they lie far apart. (6 K + 1,) for Student t, skew-normal and negative binomial components: sums of
        r and of five expectations. Sums of pieces add up: use `combine`, ``dask.array.reduction`` or an MPI reduce, then
        `em_update`. Of rows of d columns (C, 2 + K (1 + d + d (d + 1)/2)), a row for each 8192 of them: the sum of their
        weights, the log-likelihood, and for all components the sums of r, r y and the lower triangle of r y y', y = x - mean in
        units of its own. `combine` adds these rows, so that the bits of its result are the same for any pieces whose lengths,
        but the last, are multiples of 8192.

    Raises
    ------
    ValueError
        For values outside the support.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> x = ns.mixture.rvs(
    ...     [0.3, 0.7], [1.0, 3.0], [30.0, 0.2], 40_000, family="inverse_gaussian", rng=1
    ... )
    >>> now, family = (
    ...     (np.array([0.5, 0.5]), np.array([1.0, 4.0]), np.array([10.0, 1.0])),
    ...     "inverse_gaussian",
    ... )
    >>> for _ in range(40):
    ...     sums = [
    ...         ns.mixture.partial_stats(part, *now, family=family)
    ...         for part in np.split(x, 4)
    ...     ]
    ...     *now, loglik = ns.mixture.em_update(
    ...         ns.mixture.combine(sums), *now, family=family
    ...     )
    >>> now[1].round(1)
    array([1., 3.])
    """
    device, workers = options.get("device"), options.get("workers")
    if any_lazy((x,)):
        import dask

        options["workers"] = 1 if workers is None else workers
        work = dask.delayed(functools.partial(partial_stats, weights=weights, centres=centres, params=params, **options))
        return combine(dask.compute(*[work(part, sample_weight=w) for part, w in LAZY.shares(x, sample_weight)]))
    if np.ndim(centres) == 2:
        _normal_rows(options.get("family"), params, device)
        return multivariate.partial_sums(x, weights, centres, params, sample_weight, workers)
    family, par = mixture_of(weights, centres, params, options.get("family"))
    x, w = weighted_values(x, sample_weight)
    apart = family.latent or far_apart(family, par)
    stats = np.zeros((par.shape[1] if apart else 1, 5 if family.latent else 2, x.size))
    ll, resp = scores(x, family, par, True, device, workers, stats)
    if not np.isfinite(ll).all():
        raise ValueError(
            f"{int((~np.isfinite(ll)).sum())} values are infinite or outside the support of {family.name}; remove them"
        )
    resp *= w
    sums = [resp.sum(axis=1), *((resp * stats[:, j]).sum(axis=1) for j in range(stats.shape[1]))]
    return np.concatenate([np.stack(sums, axis=1).reshape(-1), [w @ ll]])


def _normal_rows(family, params, device=None):
    """Refuses what sums of rows of several columns have not."""
    if family is not None and of_several_columns(family) != "normal":
        raise ValueError(f"family={family!r}: rows of several columns have normal components; leave it out")
    if params is None:
        raise ValueError("centres of shape (K, d) are means and need params, covariances of shape (K, d, d)")
    if device == "cuda":
        raise ValueError("device='cuda': sums of rows of several columns are made on the CPU; leave device out")


@names_ours
def combine(parts: Sequence[ArrayLike]) -> NDArray:
    """Add the sums of pieces, pairwise: the rounding depends on the order of the list alone.

    Parameters
    ----------
    parts : sequence of numpy.ndarray
        Results of `partial_stats` with the same parameters, in the order of the data.

    Returns
    -------
    numpy.ndarray
        One row of numbers.

    Raises
    ------
    ValueError
        For an empty list, and for results of different lengths.
    """
    return pairwise_sum(parts_of(parts))


@names_ours
def em_update(
    total: ArrayLike,
    weights: ArrayLike,
    centres: ArrayLike,
    params: ArrayLike | None = None,
    *,
    family: Family = None,
    covariance: str = "full",
) -> tuple[NDArray, NDArray, NDArray | None, float]:
    """M-step from the sums of all pieces.

    Parameters
    ----------
    total : array_like, one-dimensional
        Sum of the pieces' `partial_stats`, by `combine`.
    weights, centres, params, family
        The parameters that the sums were computed with, as there.
    covariance : {"full", "tied", "diag", "spherical", "tied-diag", "tied-spherical"}
        Of rows of several columns, as in `fit`; the covariances of `params` need not have this form.

    Returns
    -------
    weights, centres, params : numpy.ndarray, shape (K,)
        The next parameters; `params` is None for families of one parameter, (2, K) for those of three. Of rows of d columns
        (K,), (K, d) and (K, d, d).
    loglik : float
        Log-likelihood of the parameters that were passed in.

    Raises
    ------
    ValueError
        Where a component has lost its observations or its spread.
    """
    if np.ndim(centres) == 2:
        _normal_rows(family, params)
        return multivariate.updated(total, weights, centres, params, covariance)
    if covariance != "full":
        raise ValueError(f"covariance={covariance!r} is for rows of several columns; leave it out")
    family, par = mixture_of(weights, centres, params, family)
    K = par.shape[1]
    rows, loglik = sums_of(total, K, 6 if family.latent else 3)
    if family.latent:
        most = lat.limit(family.code, float(par[0] @ par[1]))
        step = FORMULAS[family.code][2]["maximise"]
        new = np.array([step(*map(float, (p[1], p[2], p[-1], *row)), most) for p, row in zip(par.T, rows, strict=True)])
        new = new[:, : family.rows - 1]
    else:
        centres = par[1] if far_apart(family, par) else np.full(K, par[0] @ par[1])
        new = np.array(
            [fam.maximise(family.base, *map(float, row), float(c), 0.0, 0.0) for row, c in zip(rows, centres, strict=True)]
        )
    if not ((rows[:, 0] > 0).all() and (new[:, 1] > 0).all() and np.isfinite(new).all()):
        raise ValueError(
            f"a component has no observations or no spread left: sums of responsibilities {rows[:, 0]}; start elsewhere"
        )
    return rows[:, 0] / rows[:, 0].sum(), new[:, 0], family.params_of(new.T[1:]) if family.two else None, loglik
