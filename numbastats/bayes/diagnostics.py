"""Convergence of Markov chains and the predictive accuracy of posterior draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numbastats._core.broadcast import real64
from numbastats._core.errors import names_ours
from numbastats.bayes import kernels

__all__ = ["ess_bulk", "ess_tail", "mcse", "psis", "rhat", "unit_of"]


_SMALLEST = 1e-300  # least excess of a weight over the others for which the Pareto fit has a finite reciprocal


def _chains(x):
    """Draws of shape (chains, draws, k); all NaN for a quantity with a draw that is not finite."""
    x = real64(x)
    if x.ndim == 1:
        x = x[None]
    if x.ndim > 3 or x.ndim == 0:
        raise ValueError(f"x has shape {x.shape}; draws have shape (draws,), (chains, draws) or (chains, draws, k)")
    if x.shape[1] < 4:
        raise ValueError(f"x has {x.shape[1]} draws per chain; at least 4 are needed")
    if not x.size:
        raise ValueError(f"x has shape {x.shape}, which holds no draws; pass at least one chain and one quantity")
    x = x if x.ndim == 3 else x[:, :, None]
    return np.where(np.isfinite(x).all(axis=(0, 1)), x, np.nan)


def unit_of(x):
    """A power of two near the largest |x| along the first axes, to scale x so that squares do not overflow; 1 for NaN."""
    size = np.abs(x).max(axis=tuple(range(x.ndim - 1)))
    return np.ldexp(1.0, np.clip(np.frexp(np.where(np.isfinite(size), size, 1.0))[1], -1000, 1000))


def _result(x, values):
    return values if np.ndim(x) == 3 else float(values[0])


def _split(x):
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _ranks(x):
    """Normal scores of the pooled ranks, column by column."""
    n = x.shape[0] * x.shape[1]
    scores = (_mean_ranks(x.reshape(n, -1)) - 0.375) / (n + 0.25)
    out = np.empty(scores.shape)  # C-contiguous, whatever the scores are: the kernel writes to a flat view
    kernels.ELEMENTWISE["ndtri"].serial(scores.reshape(-1), out.reshape(-1))  # sorting takes 50 times as long
    return out.reshape(x.shape)


def _mean_ranks(x):
    """Ranks from 1 within each column, means for ties, NaN for a column with NaN; importing SciPy's `rankdata` takes 0.5 s."""
    ranks = np.empty_like(x)
    for values, r in zip(x.T, ranks.T, strict=True):
        order = np.argsort(values)
        ascending = values[order]
        edges = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1], [True]]))  # of runs of ties
        r[order] = np.repeat(0.5 * (edges[:-1] + edges[1:] + 1), np.diff(edges))
        if np.isnan(ascending[-1]):
            r[:] = np.nan
    return ranks


def _variances(x):
    """Mean variance within chains, and the estimate of the whole variance."""
    n = x.shape[1]
    within = np.where(x.max(axis=1) == x.min(axis=1), 0.0, x.var(axis=1, ddof=1)).mean(axis=0)  # constant chains: exactly 0
    return within, within * (n - 1) / n + x.mean(axis=1).var(axis=0, ddof=1)


def _plain_rhat(x):
    within, total = _variances(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total == 0, 1.0, np.sqrt(total / within))


def _plain_ess(x):
    """Effective sample size by Geyer's initial monotone sequence, as in Stan and ArviZ."""
    m, n, k = x.shape
    centred = x - x.mean(axis=1, keepdims=True)
    f = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(f * np.conj(f), 2 * n, axis=1)[:, :n].mean(axis=0) / n
    within, total = _variances(x)
    out = np.where(np.isnan(total), np.nan, float(m * n))
    for j in np.flatnonzero(total > 0):
        rho = 1.0 - (within[j] - covariance[:, j]) / total[j]
        rho[0] = 1.0
        pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
        # the first pair that is not positive, or the last one, adds its even term alone, and once
        stop = min([max((n - 3) // 2, 0), *np.flatnonzero(pairs <= 0)])
        rest = rho[2 * stop] if pairs[stop] >= 0 else max(rho[2 * stop], 0.0)
        time = 2.0 * np.minimum.accumulate(pairs[:stop]).sum() + rest - 1.0
        out[j] = m * n / max(time, 1.0 / np.log10(m * n))
    return out


@names_ours
def rhat(x: ArrayLike) -> float | NDArray[np.float64]:
    """Rank-normalised split R-hat: the larger of the bulk and the folded one.

    Parameters
    ----------
    x : array_like, shape (draws,), (chains, draws) or (chains, draws, k)

    Returns
    -------
    float or numpy.ndarray, shape (k,)
        Near 1 where the chains agree; 1 for constant draws, infinite for chains that are constant and differ, NaN where a draw
        is not finite.

    Raises
    ------
    ValueError
        For fewer than 4 draws per chain, another number of axes, or no chains or quantities.

    References
    ----------
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, "Rank-normalization, folding, and localization: an improved
    R-hat", Bayesian Analysis 16 (2021).

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.bayes.rhat(ns.random.normal(size=(4, 1000), rng=1)) < 1.01
    True
    """
    draws = _split(_chains(x))
    folded = abs(draws - np.median(draws.reshape(-1, draws.shape[2]), axis=0))
    return _result(x, np.maximum(_plain_rhat(_ranks(draws)), _plain_rhat(_ranks(folded))))


@names_ours
def ess_bulk(x: ArrayLike) -> float | NDArray[np.float64]:
    """Effective sample size of the rank-normalised draws.

    Parameters
    ----------
    x : array_like, shape (draws,), (chains, draws) or (chains, draws, k)

    Returns
    -------
    float or numpy.ndarray, shape (k,)
        As ArviZ and Stan compute it, up to rounding. NaN where a draw is not finite.

    Raises
    ------
    ValueError
        As `rhat`.

    Examples
    --------
    >>> import numbastats as ns
    >>> 3500 < ns.bayes.ess_bulk(ns.random.normal(size=(4, 1000), rng=1)) < 4500
    True
    """
    return _result(x, _plain_ess(_ranks(_split(_chains(x)))))


@names_ours
def ess_tail(x: ArrayLike) -> float | NDArray[np.float64]:
    """The smaller effective sample size of the indicators below the 5 % and the 95 % quantile.

    Parameters
    ----------
    x : array_like, shape (draws,), (chains, draws) or (chains, draws, k)

    Returns
    -------
    float or numpy.ndarray, shape (k,)
        NaN where a draw is not finite.

    Raises
    ------
    ValueError
        As `rhat`.

    Examples
    --------
    >>> import numbastats as ns
    >>> 3000 < ns.bayes.ess_tail(ns.random.normal(size=(4, 1000), rng=1)) < 4500
    True
    """
    draws = _chains(x)
    flat = draws.reshape(-1, draws.shape[2])
    cuts = [np.quantile(flat, q, axis=0) for q in (0.05, 0.95)]
    sizes = [_plain_ess(_split(np.where(np.isnan(cut), np.nan, draws <= cut))) for cut in cuts]
    return _result(x, np.minimum(*sizes))


@names_ours
def mcse(x: ArrayLike) -> float | NDArray[np.float64]:
    """Monte Carlo standard error of the mean.

    Parameters
    ----------
    x : array_like, shape (draws,), (chains, draws) or (chains, draws, k)

    Returns
    -------
    float or numpy.ndarray, shape (k,)
        NaN where a draw is not finite.

    Raises
    ------
    ValueError
        As `rhat`.

    Examples
    --------
    >>> import numbastats as ns
    >>> round(ns.bayes.mcse(ns.random.normal(size=(4, 2500), rng=1)), 3)
    0.01
    """
    draws = _chains(x)
    unit = unit_of(draws)
    draws = draws / unit
    sd = draws.reshape(-1, draws.shape[2]).std(axis=0, ddof=1)
    return _result(x, unit * sd / np.sqrt(_plain_ess(_split(draws))))


def psis(log_weights):
    """Smooth the largest importance weights of every row by a generalised Pareto distribution.

    Parameters
    ----------
    log_weights : numpy.ndarray, shape (rows, draws)

    Returns
    -------
    tuple
        Smoothed log weights, normalised per row, and the Pareto shape k per row (above 0.7: unreliable).

    References
    ----------
    A. Vehtari, D. Simpson, A. Gelman, Y. Yao, J. Gabry, "Pareto smoothed importance sampling", JMLR 25 (2024).
    J. Zhang, M. A. Stephens, "A new and efficient estimation method for the generalized Pareto distribution",
    Technometrics 51 (2009).
    """
    w = real64(log_weights)
    w = w - w.max(axis=1, keepdims=True)
    rows, draws = w.shape
    tail = int(np.ceil(min(0.2 * draws, 3.0 * np.sqrt(draws))))
    shape = np.full(rows, np.inf)
    if tail >= 5:
        order = np.argsort(w, axis=1)[:, -tail - 1 :]
        for i in range(rows):
            cut, top = w[i, order[i, 0]], order[i, 1:]
            excess = np.exp(w[i, top]) - np.exp(cut)
            if excess[int(tail / 4 + 0.5) - 1] < _SMALLEST:
                if excess[-1] <= 0.0:  # all equal: nothing to smooth
                    shape[i] = -np.inf
                continue  # a few draws have nearly all the weight: k stays inf
            k, sigma = _generalised_pareto(excess)
            k = (tail * k + 5.0) / (tail + 10.0)
            p = (np.arange(tail) + 0.5) / tail
            quantile = -sigma * np.log1p(-p) if abs(k) < 1e-12 else sigma * np.expm1(-k * np.log1p(-p)) / k
            w[i, top] = np.minimum(np.log(quantile + np.exp(cut)), 0.0)
            shape[i] = k
    w -= np.log(np.exp(w).sum(axis=1, keepdims=True))
    return w, shape


def _generalised_pareto(x):
    """Shape and scale by Zhang and Stephens; x > 0 ascending."""
    n = x.size
    m = 30 + int(np.sqrt(n))
    b = 1.0 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))
    b = b / (3.0 * x[int(n / 4 + 0.5) - 1]) + 1.0 / x[-1]
    k = np.log1p(-b[:, None] * x).mean(axis=1)
    profile = n * (np.log(-b / k) - k - 1.0)
    weight = np.exp(profile - profile.max())
    b = float(b @ (weight / weight.sum()))
    k = float(np.log1p(-b * x).mean())
    return k, -k / b
