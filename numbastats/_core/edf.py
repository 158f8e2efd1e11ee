"""Distances of empirical distribution functions from a distribution."""

from __future__ import annotations

import numpy as np

__all__ = ["LARGEST", "distance", "distance_of_count_steps", "distance_of_counts", "distance_of_steps"]

LARGEST = 1e6  # count up to which sums go over all
_NARROW = 0.05  # a range of log F and log(1 - F) over which a rule with four nodes is exact to 1e-13
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)


def distance(statistic, x, cdf, logcdf, logsf):
    """Distance "ad", "cvm" or "ks" of the empirical distribution functions of ascending rows of values.

    Of Anderson and Darling from the logarithms of both tails, so that values far out are no 0 or 1; of Cramer and von Mises; of
    Kolmogorov and Smirnov. M. A. Stephens, "EDF statistics for goodness of fit and some comparisons", JASA 69 (1974), section 2.
    """
    n = x.shape[-1]
    i = np.arange(1, n + 1)
    with np.errstate(all="ignore"):
        if statistic == "ad":
            return -n - ((2 * i - 1) * (logcdf(x) + logsf(x)[..., ::-1])).sum(axis=-1) / n
        u = cdf(x)
        if statistic == "cvm":
            return 1.0 / (12 * n) + ((u - (i - 0.5) / n) ** 2).sum(axis=-1)
        return np.maximum(i / n - u, u - (i - 1) / n).max(axis=-1)


def distance_of_counts(statistic, x, pmf, cdf, sf):
    """The same for counts, with sums over all counts k in the place of integrals by F.

    With d = F_n(k) - F(k): the largest abs(d), or n times the sum of d^2 P(X = k), over F (1 - F) for "ad". V. Choulakian, R. A.
    Lockhart, M. A. Stephens, "Cramer-von Mises statistics for discrete distributions", Canadian Journal of Statistics 22 (1994).
    Where counts are above `LARGEST` these sums are NaN, and abs(d) is looked at where F_n jumps, where it is largest.
    """
    n, rows = x.shape[-1], x.reshape(-1, x.shape[-1])
    most = float(np.nanmax(x, initial=0.0))
    if most > LARGEST:
        if statistic != "ks":
            return np.full(x.shape[:-1], np.nan)
        jumps = np.sort(x, axis=-1)
        at, before = (np.stack([np.searchsorted(r, r, side) for r in jumps.reshape(rows.shape)]) for side in ("right", "left"))
        with np.errstate(all="ignore"):
            above, below = at.reshape(x.shape) / n - cdf(jumps), before.reshape(x.shape) / n - cdf(jumps - 1.0)
        return np.maximum(np.abs(above), np.abs(below)).max(axis=-1)
    k = np.arange(most + 1.0)
    seen = np.stack([np.searchsorted(row, k, "right") for row in rows]).reshape(*x.shape[:-1], k.size) / n
    with np.errstate(all="ignore"):
        return _of_counts(statistic, n, seen, 1.0 - seen, pmf(k), cdf(k), sf(k))


def _of_counts(statistic, n, seen, left, mass, lower, upper):
    """Distances of estimates of F and 1 - F at the counts from 0 on, from those and the probabilities of distributions."""
    away = np.where(seen < 0.5, seen - lower, upper - left)
    if statistic == "ks":
        return np.abs(away).max(axis=-1)
    weight = mass / (lower * upper) if statistic == "ad" else mass
    return n * np.where(mass > 0.0, away * away * weight, 0.0).sum(axis=-1)


def distance_of_count_steps(statistic, n, since, time, survival, pmf, cdf, sf):
    """The same of estimates that fall between counts, the arguments of `distance_of_steps`."""
    most = min(float(np.max(time, initial=0.0, where=np.isfinite(time))), LARGEST)
    k = np.arange(most + 1.0)
    with np.errstate(all="ignore"):
        mass, lower, upper = (np.broadcast_to(f(k), (len(time), k.size)) for f in (pmf, cdf, sf))
        before = np.concatenate([np.ones((len(time), 1)), survival[:, :-1]], axis=1)
        left = np.empty(lower.shape)
        for i, ends in enumerate(time):  # of the region that holds k, or ends behind it
            j = np.minimum(np.searchsorted(ends, k, "left"), ends.size - 1)
            at = k >= ends[j]
            from_, to = (np.where(np.isfinite(v[i, j]), v[i, j], 0.0) for v in (since, time))
            s_from = np.where(since[i, j] < 0.0, 1.0, upper[i, np.minimum(from_, most).astype(int)])
            s_to = np.where(np.isfinite(time[i, j]), upper[i, np.minimum(to, most).astype(int)], 0.0)
            part = np.where((k > since[i, j]) & (s_from > s_to), (s_from - upper[i]) / (s_from - s_to), 0.0)
            left[i] = np.where(at, survival[i, j], before[i, j] - np.clip(part, 0.0, 1.0) * (before[i, j] - survival[i, j]))
        return _of_counts(statistic, n, 1.0 - left, left, mass, lower, upper)


def distance_of_steps(statistic, n, since, time, survival, cdf, sf, logcdf, logsf):
    """Distances of estimates that fall at places, or somewhere between two ends, from distributions.

    The distances are those of `distance` where all values are known: the largest abs(F_n - F), and n times the integral of its
    square by F, over F (1 - F) for "ad". Where the estimate only tells that mass lies between two ends, or beyond the last time,
    the mass is taken to lie there as that of the distribution does. A. N. Pettitt, M. A. Stephens, "Modified Cramer-von Mises
    statistics for censored data", Biometrika 63 (1976); J. A. Koziol, S. B. Green, "A Cramer-von Mises statistic for randomly
    censored data", Biometrika 63 (1976).

    Parameters
    ----------
    statistic : str
    n : array of shape (B,)
        Numbers of values.
    since, time, survival : array of shape (B, K)
        Estimates in ascending order: from `time` on 1 - F_n is `survival`, up to `since` what it was before; the last is 0.
    cdf, sf, logcdf, logsf : callable
        Of places of shape (B, K).
    """
    before = np.concatenate([np.ones((len(time), 1)), survival[:, :-1]], axis=1)
    with np.errstate(all="ignore"):
        (f0, s0), (f1, s1) = ((cdf(x), sf(x)) for x in (since, time))
        away = [np.where(f < 0.5, 1.0 - left - f, s - left) for f, s, left in ((f0, s0, before), (f1, s1, survival))]
        if statistic == "ks":
            return np.maximum(*map(np.abs, away)).max(axis=-1)
        width = _width(f0, s0, f1, s1)
        last = np.zeros((len(time), 1))
        f_last, s_last, away_last = (
            np.concatenate([first, v[:, :-1]], axis=1) for first, v in ((last, f1), (last + 1.0, s1), (last, away[1]))
        )
        flat = _width(f_last, s_last, f0, s0)
        if statistic == "cvm":
            parts = ((flat, away_last, away[0]), (width, *away))
            return n * sum(w * (a * a + a * b + b * b) for w, a, b in parts).sum(axis=-1) / 3.0
        (l0, m0), (l1, m1) = ((logcdf(x), logsf(x)) for x in (since, time))
        l_last, m_last = (np.concatenate([first, v[:, :-1]], axis=1) for first, v in ((last - np.inf, l1), (last, m1)))
        between = _flat(flat, l0 - l_last, m_last - m0, before)
        steps = np.where(width > 0.0, before - survival, 0.0) / np.where(width > 0.0, width, 1.0)
        within = _weighed(width, away[0], away[1], f0, s0)
        wide = (l1 - l0 > _NARROW) | (m0 - m1 > _NARROW)
        at_0, at_1 = 1.0 - before - steps * f0, steps * s1 - survival
        closed = _terms(steps - 1.0, at_0, at_1, width, l1 - l0, m0 - m1)
        return n * (between + np.where(wide, closed, within)).sum(axis=-1)


def _width(f0, s0, f1, s1):
    """F between two places, by the smaller tails."""
    return np.maximum(np.where(f1 < 0.5, f1 - f0, s0 - s1), 0.0)


def _terms(slope, at_0, at_1, width, falls, rises):
    """Integral of (F_n - F)^2/(F (1 - F)) by F where F_n - F is a line of this slope, with these values at F = 0 and F = 1."""
    lower, upper = (np.where(np.abs(at) > 0.0, at * at * logs, 0.0) for at, logs in ((at_0, falls), (at_1, rises)))
    return np.where(width > 0.0, lower + upper - slope * slope * width, 0.0)


def _flat(width, falls, rises, left):
    """The same where F_n stands."""
    return _terms(-1.0, 1.0 - left, left, width, falls, rises)


def _weighed(width, first, last, f0, s0):
    """The same between places that are close to each other."""
    total = 0.0
    for node, weight in zip(0.5 + 0.5 * _NODES, 0.5 * _WEIGHTS, strict=True):
        away, f, s = first + node * (last - first), f0 + node * width, s0 - node * width
        total = total + weight * away * away / (f * s)
    return np.where(width > 0.0, width * total, 0.0)
