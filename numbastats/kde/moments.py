"""Moments of the samples in one pass, whose chunks do not depend on the number of threads."""

from __future__ import annotations

import itertools
import math

import numpy as np

from numbastats._core.launch import run_loop
from numbastats.kde.kernels.sorting import BLOCK, CHUNKS, moments_loop

__all__ = ["described", "moments"]

MATRIX_FROM = 33  # from so many columns on BLAS is faster than the lanes of `moments_loop`


def _wide_moments(x, w, shift, sums, products, low, high, totals):
    """`moments_loop` for many columns."""
    ends = [c * len(x) // len(sums) for c in range(len(sums) + 1)]
    for c, (a, b) in enumerate(itertools.pairwise(ends)):
        z, v = x[a:b] - shift, w[a:b] if w.size > 1 else w
        low[c], high[c] = x[a:b].min(0, initial=math.inf), x[a:b].max(0, initial=-math.inf)
        weighted = z * v[:, None]
        sums[c], products[c] = weighted.sum(0), weighted.T @ z
        totals[c, 0, 0], totals[c, 2, 0] = math.fsum(v), v @ v


def moments(x, w, workers=None):
    """Weighted moments of samples in one pass.

    Parameters
    ----------
    x : (n, d) float64
    w : (n,) float64 or None
    workers : int, optional

    Returns
    -------
    dict
        W, W2 (sums of weights and of their squares), mean, M2 (weighted scatter matrix), low, high, bad (numbers that are not
        finite), bad_weights, weighted.
    """
    n, d = x.shape
    bad_weights = 0 if w is None else int(np.count_nonzero(~((w >= 0) & (w < np.inf))))
    shift = np.median(x[:: max(1, n // 1000)], axis=0)
    shift = np.where(np.isfinite(shift), shift, 0.0)
    sums, products, totals = np.zeros((CHUNKS, d)), np.zeros((CHUNKS, d, d)), np.zeros((CHUNKS, 3, BLOCK))
    low, high = np.empty((CHUNKS, d)), np.empty((CHUNKS, d))
    weights = np.ones(1) if w is None else w if w.size > 1 else np.repeat(w, 2)
    with np.errstate(all="ignore"):
        if d < MATRIX_FROM:
            run_loop(moments_loop, n, workers, x, weights, shift, sums, products, low, high, totals)
        else:
            _wide_moments(x, weights, shift, sums, products, low, high, totals)
        total, square = n, n
        if w is not None:
            total = math.fsum(totals[:, :2].ravel()) if not bad_weights else np.nan
            square = totals[:, 2].sum()
    bad = 0 if np.isfinite(sums).all() else int(np.count_nonzero(~np.isfinite(x)))
    facts = dict(bad=bad, bad_weights=bad_weights, weighted=w is not None)
    return described(total, square, shift, sums, products, low, high, **facts)


def described(total, square, shift, sums, products, low, high, *, bad, bad_weights=0, weighted=False):
    """`moments` from those of the chunks about a shift."""
    total, square = float(total), float(square)
    with np.errstate(all="ignore"):
        mean = sums.sum(0) / total
        scatter = np.tril(products.sum(0)) - np.tril(np.outer(mean, mean)) * total
    scatter = scatter + np.tril(scatter, -1).T
    return dict(
        W=total,
        W2=square,
        mean=mean + shift,
        M2=scatter,
        low=low.min(0),
        high=high.max(0),
        bad=bad,
        bad_weights=bad_weights,
        weighted=weighted,
    )
