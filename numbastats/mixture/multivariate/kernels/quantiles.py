"""Quantiles of normal mixtures in one column, of which each row has its own weights and means."""

from __future__ import annotations

import math

from numba import prange, types

from numbastats._core.kernel import array_function, host_loop
from numbastats.scalar.normal import ndtri1
from numbastats.scalar.special import ndtr_pair

__all__ = ["row_quantiles"]

STEPS = 200  # at most: halvings alone end after 64 and the ratio of the ends' exponents
DENSITY = 0.3989422804014327  # 1/sqrt(2 pi)


@array_function(host=False)
def _excess(x, q, w, m, s):
    """The distribution function at x less q, by the smaller of both tails, and the density."""
    below, above, density = 0.0, 0.0, 0.0
    for k in range(w.size):
        z = (x - m[k]) / s[k]
        p, r = ndtr_pair(z)
        below += w[k] * p
        above += w[k] * r
        density += w[k] * DENSITY * math.exp(-0.5 * z * z) / s[k]
    return (below - q if q <= 0.5 else (1.0 - q) - above), density


@array_function(host=False)
def _quantile(q, w, m, s):
    """Newton's method between ends that hold the quantile."""
    low, high, z = math.inf, -math.inf, ndtri1(q)
    for k in range(w.size):
        if not w[k] >= 0.0:
            return math.nan
        if w[k] > 0.0:
            v = m[k] + z * s[k]
            low, high = min(low, v), max(high, v)
    if not (low < high and high - low < math.inf):  # one component, q of 0, 1 or NaN
        return low if low == high else math.nan
    x = 0.5 * (low + high)
    for _ in range(STEPS):
        excess, density = _excess(x, q, w, m, s)
        if excess == 0.0:
            return x
        if excess < 0.0:
            low = x
        else:
            high = x
        new = x - excess / density if density > 0.0 else low
        if not low < new < high:
            new = 0.5 * (low + high)
        if new == x or not low < new < high or abs(new - x) <= 1e-15 * abs(x):
            return new
        x = new
    return x


@host_loop(
    "mixture.multivariate.row_quantiles",
    (types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1], types.float64[:, ::1], types.float64[:, :, ::1]),
)
def row_quantiles(q, weights, means, sd, out):
    """Quantiles q of each row and column into out (n, t, Q): weights (n, K), means (n, t, K), deviations (t, K)."""
    for i in prange(weights.shape[0]):
        for j in range(sd.shape[0]):
            for a in range(q.size):
                out[i, j, a] = _quantile(q[a], weights[i], means[i, j], sd[j])
