"""Student's t components, of which normal ones are the limit, and uniform noise beside them.

Of a row at the squared distance q a t component in d dimensions has the expected precision u = (df + d)/(df + q). EM is that of
parameters expanded by a scale of u (C. Liu, D. Rubin, Y. Wu, Biometrika 85, 1998): covariances are divided by the sum of u, as J.
Kent, D. Tyler and Y. Vardi have it, not of responsibilities, and df solves the equation of a gamma sample with a free mean; the
likelihood never falls. Newton's method has the coordinates of normal components (`newton`), then the logarithm of the noise's
weight, then log df; a common df is one coordinate.

With z the standardised row, phi its products (z_i z_j, z_i^2/2, or q/2) and t = 1/2 of diagonal ones (d/2 of spherical
covariances, else 0), scores are u z, u phi - t and s = df c' - df log(1 + q/df)/2 + (d + df (1 - u))/2, with c the logarithm of
the density's constant. Second derivatives are sums of products of (1, u, u z, u phi, s), as u/(df + q) = u^2/(df + d): one matrix
for each component has all of T. Louis' formula.

Between kernels `heights` of points are degrees of freedom, since heights follow from the rest; 0 is none yet. What the weights
lack of 1 is the weight of the noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from numbastats._core.climb import copy
from numbastats._core.endings import COLLAPSED, OK
from numbastats._core.kernel import HostLoop, array_function, bind
from numbastats.mixture.multivariate.kernels.climb import advance_em, advance_newton
from numbastats.mixture.multivariate.kernels.memory import features_of, lanes_of, new_memory, newton_of, spare_point, sums_of
from numbastats.mixture.multivariate.kernels.newton import counts, moved, places, standardised
from numbastats.mixture.multivariate.kernels.passes import (
    DIAGONAL,
    FAST,
    FULL,
    LANES,
    TINY,
    centred,
    cleared,
    distances,
    moments,
    no_moments,
    point_of,
    rows_of,
)
from numbastats.mixture.multivariate.kernels.records import (
    DONE,
    EM,
    STATE_TYPE,
    batch_type,
    facts_of,
    model_type,
    point_type,
    ranges,
    settings_type,
)
from numbastats.mixture.multivariate.kernels.scores import one_point
from numbastats.mixture.multivariate.kernels.steps import condition, copy_point, factor
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import exp_neg, log, log1p
from numbastats.scalar.latent import LEAST_DF
from numbastats.scalar.mixture import gamma_dispersion, gamma_terms

MOST_DF = 1e5  # above it a component is normal
CLIMBING = 1e4  # the most that EM comes to; what Newton's method does not bring back goes to the limit
FIRST_DF, LARGE_DF = 4.0, 1e3  # of starts
LONGEST, FARTHEST = 1.5, 3.0  # steps of log df, and of the logarithm of the noise's weight
FARTHEST_SQUARE = 1e300  # squared distances that overflow count as this
LEAST_NOISE = 1e-14  # the weight from which a climb begins where there is none

_function = array_function(fastmath=("contract",), host=False)
_passing = array_function(fastmath=FAST, host=False)
_making = array_function(fastmath=("contract",), host=False, allocates=True)


class Tails(NamedTuple):
    """What is free and what is fixed, of all problems."""

    df: object  # (K,): those that are fixed, NaN for free ones, inf for normal components
    equal: int  # whether the free ones are one number
    noise: object  # (D,): log density of the noise in the units of the rows, without powers of 2 pi; -inf for none


class TailedPoint(NamedTuple):
    """As `Point`, with degrees of freedom."""

    log_weights: object
    means: object
    covariances: object
    factors: object
    heights: object
    df: object  # (K,)
    constant: object  # (K,): c
    noise: object  # (1,): the logarithm of its weight


class TailedSums(NamedTuple):
    """As `Moments`, with weights r u of first and second ones; sums of r u and r log u; of the noise's responsibilities."""

    total: object
    first: object
    second: object
    precision: object  # (2, K)
    noise: object  # (1,)
    free: object  # (K,): whether a df is free
    equal: object  # (1,)


class TailedFeatures(NamedTuple):
    """Buffers and sums of the information, which coordinates there are, and which is a component's df, -1 for none."""

    z: object
    of_component: object
    of_row: object
    own: object  # (K, q, q)
    own_first: object  # (K, q)
    cross: object
    cross_first: object
    place: object
    df_place: object  # (K,)
    noise_place: object  # (1,)
    square: object  # (K + 1, LANES): squared distances; the noise's responsibilities
    u: object  # (LANES,)


@_making
def tailed_counts(K, model, d, tails):
    """Features of a component in fours, and parameters."""
    own, _, p = counts(K, model, d)
    free = 0
    for k in range(K):
        free += 1 if tails.df[k] != tails.df[k] else 0
    free = min(free, 1) if tails.equal > 0 else free
    noise = 1 if tails.noise.size > 0 and tails.noise[0] > -math.inf else 0
    return (3 + d + own + 3) // 4 * 4, p + noise + free


@_making
def _tailed_point(memory, which):
    """One of the two points of work space."""
    p, K = spare_point(memory, 0, which), memory.total.shape[1]
    return TailedPoint(
        p.log_weights, p.means, p.covariances, p.factors, p.heights, np.full(K, math.inf), np.zeros(K), np.full(1, -math.inf)
    )


@_making
def _tailed_sums(memory, tails):
    """Room for sums."""
    m, K = sums_of(memory, 0), memory.total.shape[1]
    return TailedSums(
        m.total, m.first, m.second, np.zeros((2, K)), np.zeros(1), np.isnan(tails.df), np.full(1, tails.equal, np.int64)
    )


@_making
def _tailed_features(memory, model, d, tails):
    """Room for the information, and the places of coordinates."""
    f, K = features_of(memory, 0), memory.total.shape[1]
    q, at = f.own.shape[0], counts(K, model, d)[2]
    df_place, noise_place = np.full(K, -1), np.full(1, -1)
    if q > 0:
        places(K, model, d, f.place)
    if tails.noise.size > 0 and tails.noise[0] > -math.inf:
        noise_place[0] = at
        at += 1
    for k in range(K):
        if tails.df[k] != tails.df[k]:
            df_place[k] = at
            at += 0 if tails.equal > 0 else 1
    return TailedFeatures(
        f.z,
        f.of_component,
        f.of_row,
        np.zeros((K, q, q)),
        np.zeros((K, q)),
        f.cross,
        f.cross_first,
        f.place,
        df_place,
        noise_place,
        np.zeros((K + 1, LANES)),
        np.zeros(LANES),
    )


@_function
def copy_tailed(source, target):
    """Copy all parameters."""
    copy_point(source, target)
    copy(source.df, target.df)
    copy(source.constant, target.constant)
    target.noise[0] = source.noise[0]


@_function
def _loaded(here, tails, noisy, target):
    """A point as it is between kernels."""
    copy_point(here, target)
    rest = 1.0
    for k in range(target.df.size):
        given, s = tails.df[k], here.heights[k]
        target.df[k] = given if given == given else s if s > 0.0 else FIRST_DF
        rest -= math.exp(target.log_weights[k])
    if tails.equal > 0:  # of fits whose df are free
        least = math.inf
        for k in range(target.df.size):
            least = min(least, target.df[k]) if tails.df[k] != tails.df[k] else least
        for k in range(target.df.size):
            target.df[k] = least if tails.df[k] != tails.df[k] else target.df[k]
    target.noise[0] = math.log(max(rest, LEAST_NOISE)) if noisy else -math.inf


@_function
def _stored(point, target):
    """The inverse."""
    copy_point(point, target)
    copy(point.df, target.heights)


@_function
def _constants(point, d):
    """Write c = log Gamma((df + d)/2) - log Gamma(df/2) - (d/2) log(df/2)."""
    for k in range(point.df.size):
        s = point.df[k]
        if s < math.inf:
            a, b = 0.5 * s, 0.5 * (s + d)  # log Gamma(x) = (x log x - x) - g(x); b log b - a log a - d/2 log a = b log(b/a)
            point.constant[k] = (b * math.log1p(d / s) - 0.5 * d) - (gamma_terms(b)[2] - gamma_terms(a)[2])
        else:
            point.constant[k] = 0.0


# --- a tile ----------------------------------------------------------------------------------------------------------------


@_passing
def _terms(c, x, d, point, shape, noise, lanes, square):
    """Squared distances, logarithms of weight times density, and the largest of each lane; `noise` is that of the noise."""
    logs, top = lanes.logs, lanes.top
    for j in range(c):
        top[j] = noise
    for k in range(logs.shape[0]):
        row, out, height, s = square[k], logs[k], point.heights[k] + point.constant[k], point.df[k]
        centred(c, x, point.means[k], lanes.y)
        distances(c, lanes.y, point.factors[k], shape, lanes.four, row)
        for j in range(c):
            row[j] = row[j] if row[j] < FARTHEST_SQUARE else FARTHEST_SQUARE
        if s < math.inf:
            half, share = 0.5 * (s + d), 1.0 / s
            for j in range(c):
                in_step()
                out[j] = height - half * log1p(row[j] * share)
        else:
            for j in range(c):
                out[j] = height - 0.5 * row[j]
        for j in range(c):
            top[j] = out[j] if out[j] > top[j] else top[j]


@_passing
def _responsible(c, w, noise, lanes, of_noise):
    """Responsibilities in the place of the log terms, those of the noise apart; returns the weighted log-likelihood."""
    logs, top, total = lanes.logs, lanes.top, lanes.sum
    for j in range(c):
        in_step()
        e = exp_neg(noise - top[j]) if noise > -math.inf else 0.0
        of_noise[j] = e
        total[j] = e
    for k in range(logs.shape[0]):
        row = logs[k]
        for j in range(c):
            in_step()
            e = exp_neg(row[j] - top[j])
            row[j] = e
            total[j] += e
    loglik = 0.0
    for j in range(c):
        in_step()
        loglik += w[j] * (top[j] + log(total[j]))
    for j in range(c):
        total[j] = 1.0 / total[j]
        of_noise[j] *= total[j]
    for k in range(logs.shape[0]):
        row = logs[k]
        for j in range(c):
            row[j] *= total[j]
    return loglik


@_passing
def _precisions(c, s, d, q, u):
    """The expected precisions of rows."""
    if s < math.inf:
        for j in range(c):
            u[j] = (s + d) / (s + q[j])
    else:
        for j in range(c):
            u[j] = 1.0


@_passing
def tailed_sums(x, w, d, point, shape, density, lanes, features, sums):
    """Sums for EM of all rows, and their log-likelihood without powers of 2 pi."""
    filled, K = point.means.shape[1], point.means.shape[0]
    square, u, loglik = features.square, features.u, 0.0
    no_moments(sums)
    cleared(sums.precision)
    sums.noise[0] = 0.0
    _constants(point, d)
    noise = point.noise[0] + density
    for a in range(0, w.size, LANES):
        c = min(LANES, w.size - a)
        part, weights = x[a * filled : (a + c) * filled], w[a : a + c]
        _terms(c, part, d, point, shape, noise, lanes, square)
        loglik += _responsible(c, weights, noise, lanes, square[K])
        s = 0.0
        for j in range(c):
            s += weights[j] * square[K, j]
        sums.noise[0] += s
        for k in range(K):
            r, most = lanes.logs[k], 0.0
            for j in range(c):
                r[j] *= weights[j]
                most = r[j] if r[j] > most else most
            if not most > TINY:
                continue
            _precisions(c, point.df[k], d, square[k], u)
            s, t, logs = 0.0, 0.0, 0.0
            for j in range(c):
                in_step()
                logs += r[j] * log(u[j])
            for j in range(c):
                s += r[j]
                r[j] *= u[j]
                t += r[j]
            sums.total[k] += s
            sums.precision[0, k] += t
            sums.precision[1, k] += logs
            centred(c, part, point.means[k], lanes.y)
            moments(c, r, lanes.y, shape, lanes.four, sums.first[k], sums.second[k])
    return loglik


# --- EM ----------------------------------------------------------------------------------------------------------------------


@_function
def _common_scale(sums, point):
    """The scale of u that components with one covariance share: 1 where one of them is normal."""
    above, below = 0.0, 0.0
    for k in range(point.df.size):
        if not point.df[k] < math.inf:
            return 1.0
        above += point.df[k] * sums.precision[0, k]
        below += point.df[k] * sums.total[k]
    return above / below


@_function
def _new_df(sums, point, pooled, alpha, d):
    """Degrees of freedom after a step."""
    whole, mass = 0.0, 0.0
    for k in range(point.df.size):
        if not (sums.free[k] and point.df[k] < math.inf):
            continue
        n = sums.total[k]
        mean = sums.precision[0, k] / n
        scale = alpha if pooled else mean
        gap = mean / scale - 1.0 + math.log(scale) - sums.precision[1, k] / n + gamma_terms(0.5 * (point.df[k] + d))[0]
        if sums.equal[0] > 0:
            whole += n * gap
            mass += n
        else:
            point.df[k] = _df_of(gap)
    if mass > 0.0:
        for k in range(point.df.size):
            if sums.free[k]:
                point.df[k] = _df_of(whole / mass)


@_function
def _df_of(gap):
    """The df with log(df/2) - psi(df/2) = gap, within its range."""
    return max(2.0 / gamma_dispersion(gap), LEAST_DF) if gap > 1.0 / CLIMBING else CLIMBING


@_function
def tailed_m_step(sums, point, model, facts, pivots, work):
    """As `m_step`."""
    K, d, pooled = point.means.shape[0], facts.columns, model.pooled > 0
    mass = 0.0
    for k in range(K):
        if not sums.total[k] > facts.least:
            return False
        mass += sums.total[k]
    alpha = _common_scale(sums, point) if pooled else 1.0
    if model.free_weights > 0:
        for k in range(K):
            point.log_weights[k] = math.log(sums.total[k] / facts.mass)
        if point.noise[0] > -math.inf:
            point.noise[0] = math.log(max(sums.noise[0] / facts.mass, LEAST_NOISE))
    for k in range(K):
        cov = point.covariances[k]
        for i in range(d):
            for j in range(i + 1):
                cov[i, j] = 0.0
    for k in range(K):
        cov = point.covariances[0 if pooled else k]
        share = alpha * mass if pooled else sums.precision[0, k]
        for i in range(d):
            move = sums.first[k, i] / sums.precision[0, k] if model.free_means > 0 else 0.0
            point.means[k, i] += move
            for j in range(i + 1):
                cov[i, j] += (sums.second[k, i, j] - move * sums.first[k, j]) / share
    _new_df(sums, point, pooled, alpha, d)
    for k in range(K):
        _shaped_as(point.covariances[k], point.covariances[0 if pooled else k], model, d)
    return factor(point, model, facts, pivots, work)


@_function
def _shaped_as(cov, source, model, d):
    """A matrix of the model's shape, from the lower triangle of another or its own."""
    mean = 0.0
    for i in range(d):
        mean += source[i, i] / d
    for i in range(d):
        for j in range(i):
            cov[i, j] = source[i, j] if model.shape == FULL else 0.0
            cov[j, i] = cov[i, j]
    for i in range(d):
        cov[i, i] = source[i, i] if model.shape <= DIAGONAL else mean


# --- Newton's method -----------------------------------------------------------------------------------------------------------


@_passing
def _scored(c, z, q, u, shape, d, s, slope, F):
    """Features 1, u, u z, u phi, and the score of log df, which is 0 where that is not free or infinite."""
    one, first = F[0], F[1]
    for j in range(c):
        one[j] = 1.0
        first[j] = u[j]
    for i in range(d):
        a, b = z[i], F[2 + i]
        for j in range(c):
            b[j] = u[j] * a[j]
    at = 2 + d
    if shape == FULL:
        for i in range(d):
            for m in range(i + 1):
                a, b, out, half = F[2 + i], z[m], F[at], 0.5 if i == m else 1.0
                for j in range(c):
                    out[j] = half * a[j] * b[j]
                at += 1
    elif shape == DIAGONAL:
        for i in range(d):
            a, b, out = F[2 + i], z[i], F[at]
            for j in range(c):
                out[j] = 0.5 * a[j] * b[j]
            at += 1
    else:
        out = F[at]
        for j in range(c):
            out[j] = 0.5 * u[j] * q[j]
        at += 1
    out = F[at]
    if s < math.inf:
        share = 1.0 / s
        for j in range(c):
            in_step()
            out[j] = slope - 0.5 * s * log1p(q[j] * share) + 0.5 * (d + s * (1.0 - u[j]))
    else:
        for j in range(c):
            out[j] = 0.0


@_function
def _offset(f, shape, d):
    """What is subtracted from u phi."""
    if shape == FULL:
        i, m = _pair(f)
        return 0.5 if i == m else 0.0
    return 0.5 if shape == DIAGONAL else 0.5 * d


@_function
def _pair(f):
    """Row and column of an element of a lower triangle, counted row by row."""
    i = int((math.sqrt(8.0 * f + 1.0) - 1.0) * 0.5)
    return i, f - i * (i + 1) // 2


@_function
def _slope_of_df(s, d):
    """df c' and df^2 c''."""
    if not s < math.inf:
        return 0.0, 0.0
    a, b = 0.5 * s, 0.5 * (s + d)
    upper, e1, _ = gamma_terms(b)
    lower, e0, _ = gamma_terms(a)
    first = 0.5 * s * (math.log1p(d / s) - upper + lower) - 0.5 * d  # psi(b) - psi(a) = log(b/a) - upper + lower
    second = 0.25 * s * s * ((1.0 / b - e1) - (1.0 / a - e0)) + 0.5 * d
    return first, second


@_passing
def _into_rows(c, r, F, shape, d, place, df_place, V):
    """Add r times a component's scores to those of the rows."""
    for a in range(1 + d):
        if place[a] >= 0:
            f, v = F[0 if a == 0 else 1 + a], V[place[a]]
            for j in range(c):
                v[j] += r[j] * f[j]
    at = 1 + d
    while at < place.size and place[at] >= 0:
        f, v, t = F[1 + at], V[place[at]], _offset(at - 1 - d, shape, d)
        for j in range(c):
            v[j] += r[j] * (f[j] - t)
        at += 1
    if df_place >= 0:
        f, v = F[1 + at], V[df_place]
        for j in range(c):
            v[j] += r[j] * f[j]


@_passing
def tailed_information(x, w, point, model, facts, density, lanes, f, newton):
    """As `information_sums`."""
    K, d, shape, filled = point.means.shape[0], facts.columns, model.shape, point.means.shape[1]
    matrix, V, F, u = newton.matrix[0], f.of_row, f.of_component, f.u
    for k in range(K):
        cleared(f.own[k])
    cleared(f.own_first)
    cleared(f.cross)
    cleared(matrix)
    for a in range(f.cross_first.size):
        f.cross_first[a] = 0.0
    _constants(point, d)
    noise, of_noise, loglik = point.noise[0] + density, 0.0, 0.0
    for lo in range(0, w.size, LANES):
        c = min(LANES, w.size - lo)
        part, weights = x[lo * filled : (lo + c) * filled], w[lo : lo + c]
        _terms(c, part, d, point, shape, noise, lanes, f.square)
        loglik += _responsible(c, weights, noise, lanes, f.square[K])
        for a in range(V.shape[0]):
            v = V[a]
            for j in range(c):
                v[j] = 0.0
        if f.noise_place[0] >= 0:
            v = V[f.noise_place[0]]
            for j in range(c):
                v[j] = f.square[K, j]
                of_noise += weights[j] * v[j]
        for k in range(K):
            r, most = lanes.logs[k], 0.0
            for j in range(c):
                most = r[j] * weights[j] if r[j] * weights[j] > most else most
            if not most > TINY:
                continue
            centred(c, part, point.means[k], lanes.y)
            standardised(c, lanes.y, point.factors[k], shape, d, f.z)
            _precisions(c, point.df[k], d, f.square[k], u)
            s = point.df[k] if f.df_place[k] >= 0 else math.inf
            _scored(c, f.z, f.square[k], u, shape, d, s, _slope_of_df(point.df[k], d)[0], F)
            _into_rows(c, r, F, shape, d, f.place[k], f.df_place[k], V)
            for j in range(c):
                r[j] *= weights[j]
            moments(c, r, F, FULL, lanes.four, f.own_first[k], f.own[k])
        moments(c, weights, V, FULL, lanes.four, f.cross_first, f.cross)
    for a in range(newton.step.size):
        newton.slope[0, a], newton.scale[0, a] = 0.0, 0.0
        for b in range(a + 1):
            matrix[a, b] = f.cross[a, b]
    _assembled(point, model, facts, of_noise, f, newton)
    return loglik


@_function
def _turned(fa, fb, shape, own, d):
    """Sum of r u (E_a z)'(E_b z) for two coordinates of a covariance: `own` are a component's sums."""
    first = 2 + d
    if shape == FULL:
        i, m = _pair(fa)
        a, b = _pair(fb)
        s = _product(own, first, m, b) if i == a else 0.0
        s += _product(own, first, m, a) if a != b and i == b else 0.0
        if i != m:
            s += _product(own, first, i, b) if m == a else 0.0
            s += _product(own, first, i, a) if a != b and m == b else 0.0
        return s
    return 2.0 * own[first + fa, 0] if fa == fb else 0.0


@_function
def _product(own, first, i, m):
    """Sum of r u z_i z_m."""
    a, b = (i, m) if i >= m else (m, i)
    return own[first + a * (a + 1) // 2 + b, 0] * (2.0 if i == m else 1.0)


@_function
def _moved_by(fa, i, shape, own, d):
    """Sum of r u (E_a z)_i."""
    if shape == FULL:
        a, b = _pair(fa)
        s = own[2 + b, 0] if i == a else 0.0
        return s + (own[2 + a, 0] if a != b and i == b else 0.0)
    if shape == DIAGONAL:
        return own[2 + i, 0] if i == fa else 0.0
    return own[2 + i, 0]


@_function
def _kind(a, d, count):
    """Feature of a component's coordinate a: weight, mean, covariance, df; its number there, and its row among the sums."""
    if a == 0:
        return 0, 0, 0
    if a <= d:
        return 1, a - 1, 1 + a
    if a <= d + count:
        return 2, a - 1 - d, 1 + a
    return 3, 0, 1 + a


@_function
def _curvature(a, b, shape, d, count, s, own):
    """Sum over rows of r (h + score score') for coordinates a >= b of one component."""
    ka, fa, ra = _kind(a, d, count)
    kb, fb, rb = _kind(b, d, count)
    n, value = own[0, 0], own[ra, rb]
    ta, tb = _offset(fa, shape, d) if ka == 2 else 0.0, _offset(fb, shape, d) if kb == 2 else 0.0
    score = value - ta * own[rb, 0] - tb * own[ra, 0] + ta * tb * n
    if kb == 0:  # weights
        return score
    if ka == 3:
        if not s < math.inf:
            return 0.0
        share = s / (s + d)
        if kb < 3:
            return score + share * (own[rb, 0] - own[rb, 1])
        bend = _slope_of_df(s, d)[1]
        precision, square = own[1, 0], own[1, 1]
        h = own[ra, 0] + n * (bend - 0.5 * d) + 0.5 * s * (n - share * precision) - 0.5 * s * share * (precision - square)
        return score + h
    far = 2.0 / (s + d) * value  # 0 of normal components
    if ka == 1:
        return score + far - (own[1, 0] if a == b else 0.0)
    if kb == 1:
        return score + far - _moved_by(fa, fb, shape, own, d)
    return score + far - 0.5 * _turned(fa, fb, shape, own, d)


@_function
def _unit(ka, fa, shape, d, s):
    """What a coordinate is measured in: the complete data's information of a row; about log df that of a component alone."""
    if ka == 1:
        return 1.0
    if ka == 2:
        if shape == FULL:
            i, m = _pair(fa)
            return 0.5 if i == m else 1.0
        return 0.5 if shape == DIAGONAL else 0.5 * d
    return 1.0 / (1.0 + 2.0 * s * s / (d * (d + 2.0))) if s < math.inf else 1.0


@_function
def _assembled(point, model, facts, of_noise, f, newton):
    """Gradient and information in their units, from the sums."""
    K, d, shape = point.means.shape[0], facts.columns, model.shape
    slope, matrix, scale, count = newton.slope[0], newton.matrix[0], newton.scale[0], counts(K, model, d)[0]
    for k in range(K):
        own, s, n = f.own[k], point.df[k], f.own[k][0, 0]
        for a in range(own.shape[0]):  # the upper triangle, too
            for b in range(a):
                own[b, a] = own[a, b]
        for a in range(2 + d + count):
            at = f.df_place[k] if a == 1 + d + count else f.place[k, a]
            if at < 0:
                continue
            ka, fa, ra = _kind(a, d, count)
            slope[at] += own[ra, 0] - (_offset(fa, shape, d) * n if ka == 2 else 0.0)
            if ka > 0:
                scale[at] += n * _unit(ka, fa, shape, d, s)
            for b in range(a + 1):
                other = f.df_place[k] if b == 1 + d + count else f.place[k, b]
                if other >= 0:
                    matrix[at, other] -= _curvature(a, b, shape, d, count, s, own)
        if model.free_weights > 0:
            expected = facts.mass * math.exp(point.log_weights[k])
            at = f.place[k, 0]
            slope[at] -= expected
            scale[at] = expected
            matrix[at, at] += expected
    if f.noise_place[0] >= 0:
        at, expected = f.noise_place[0], facts.mass * math.exp(point.noise[0])
        slope[at] = of_noise - expected
        scale[at] = expected
        matrix[at, at] += expected - of_noise
    for k in range(K):  # at the limit log df counts no more
        at = f.df_place[k]
        if at >= 0 and not point.df[k] < math.inf:
            slope[at] = 0.0
            for b in range(newton.step.size):
                matrix[max(at, b), min(at, b)] = 0.0
            matrix[at, at] = scale[at]
    for a in range(newton.step.size):
        scale[a] = math.sqrt(scale[a])
        slope[a] /= scale[a]
    for a in range(newton.step.size):
        for b in range(a + 1):
            matrix[a, b] = matrix[a, b] / scale[a] / scale[b]


_moved = bind(moved, copy_point=copy_tailed)


@_function
def tailed_moved(source, step, scale, model, facts, features, pivots, work, target):
    """As `moved`."""
    there, share = _moved(source, step, scale, model, facts, features, pivots, work, target)
    if not there:
        return False, share
    at, K = features.noise_place[0], source.df.size
    if at >= 0:
        parts = 0.0
        for k in range(K):
            a = features.place[k, 0]
            parts += math.exp(source.log_weights[k] + share * step[a] / scale[a])
        size = min(max(share * step[at] / scale[at], -FARTHEST), FARTHEST)
        noise = math.exp(source.noise[0] + size)
        shift = math.log(parts / (parts + noise))
        for k in range(K):
            target.log_weights[k] += shift
            target.heights[k] += shift
        target.noise[0] = source.noise[0] + size - math.log(parts + noise)
    for k in range(K):
        at = features.df_place[k]
        if at >= 0 and source.df[k] < math.inf:
            df = source.df[k] * math.exp(min(max(share * step[at] / scale[at], -LONGEST), LONGEST))
            if not df >= LEAST_DF:
                return False, share
            target.df[k] = df if df < MOST_DF else math.inf
    return True, share


_advance_em = bind(advance_em, m_step=tailed_m_step)
_advance_newton = bind(advance_newton, copy_point=copy_tailed, moved=tailed_moved)


def student_climb_cpu(rows, owner, model, tails, settings, points, state):
    """Climbs from points (M, ...), which are written, on data sets `owner` (M,)."""
    K, filled, d = points.means.shape[1], points.means.shape[2], rows.columns
    q, P = tailed_counts(K, model, d, tails) if settings.newton > 0 else (0, 0)
    memory = new_memory(1, K, filled, q, P, 0)
    trial, best, lanes, work = _tailed_point(memory, 0), _tailed_point(memory, 1), lanes_of(memory, 0), memory.work[0]
    sums, features, newton = _tailed_sums(memory, tails), _tailed_features(memory, model, d, tails), newton_of(memory, 0, P)
    for item in range(owner.size):
        now, s = state[item], owner[item]
        x, w = rows_of(rows, s)
        facts, pivots, here, density = facts_of(rows, s), rows.pivots[s], point_of(points, item), tails.noise[s]
        _loaded(here, tails, density > -math.inf, trial)
        if now.phase != DONE and not factor(trial, model, facts, pivots, work):
            now.status, now.phase = COLLAPSED, DONE
        while now.phase != DONE:
            if now.phase == EM:
                loglik = tailed_sums(x, w, d, trial, model.shape, density, lanes, features, sums)
                _advance_em(now, loglik, sums, trial, model, facts, pivots, work)
                if now.phase == DONE and now.status == OK:
                    now.condition, now.excess = condition(trial, facts, work)
            else:
                loglik = tailed_information(x, w, trial, model, facts, density, lanes, features, newton)
                _advance_newton(now, loglik, trial, best, model, facts, pivots, features, newton, work, settings)
        if settings.newton > 0 and now.loglik > -math.inf:
            _stored(best, here)
        else:
            _stored(trial, here)


def student_information_cpu(rows, owner, model, tails, points, matrix, scale):
    """As `information_cpu`."""
    K, filled, d = points.means.shape[1], points.means.shape[2], rows.columns
    q, P = tailed_counts(K, model, d, tails)
    memory = new_memory(1, K, filled, q, P, 0)
    trial, lanes, newton = _tailed_point(memory, 0), lanes_of(memory, 0), newton_of(memory, 0, P)
    features = _tailed_features(memory, model, d, tails)
    for item in range(owner.size):
        s = owner[item]
        x, w = rows_of(rows, s)
        facts, density = facts_of(rows, s), tails.noise[s]
        _loaded(point_of(points, item), tails, density > -math.inf, trial)
        factor(trial, model, facts, rows.pivots[s], memory.work[0])
        tailed_information(x, w, trial, model, facts, density, lanes, features, newton)
        for a in range(P):
            scale[item, a] = newton.scale[0, a]
            for b in range(a + 1):
                matrix[item, a, b] = newton.matrix[0, a, b]


def student_summary_cpu(rows, owner, model, tails, level, points, out):
    """Entropies of the responsibilities, and the weight of the rows whose density is below exp(level) (D,): out (M, 2)."""
    K, filled, d = points.means.shape[1], points.means.shape[2], rows.columns
    memory = new_memory(1, K, filled, 0, 0, 0)
    trial, lanes, features = _tailed_point(memory, 0), lanes_of(memory, 0), _tailed_features(memory, model, d, tails)
    for item in range(owner.size):
        s = owner[item]
        x, w = rows_of(rows, s)
        density = tails.noise[s]
        _loaded(point_of(points, item), tails, density > -math.inf, trial)
        good = factor(trial, model, facts_of(rows, s), rows.pivots[s], memory.work[0])
        out[item, 0], out[item, 1] = (0.0, 0.0) if good else (math.nan, math.nan)
        if not good:
            continue
        _constants(trial, d)
        noise = trial.noise[0] + density
        for a in range(0, w.size, LANES):
            c = min(LANES, w.size - a)
            part, weights = x[a * filled : (a + c) * filled], w[a : a + c]
            _terms(c, part, d, trial, model.shape, noise, lanes, features.square)
            _responsible(c, weights, noise, lanes, features.square[K])
            for j in range(c):
                out[item, 1] += weights[j] if lanes.top[j] - math.log(lanes.sum[j]) < level[s] else 0.0
                for k in range(K + 1):
                    r = lanes.logs[k, j] if k < K else features.square[K, j]
                    out[item, 0] -= weights[j] * r * math.log(r) if r > 1e-300 else 0.0


def student_scores_cpu(x, point, tails, shift, density, resp, labels):
    """Of rows (n, d) in their own units log densities, probabilities of components and noise (n, K + 1), and labels.

    `heights` of the point are degrees of freedom; `shift` as of `scores`. Of noise the label is -1, as where a value is missing
    or infinite, or where no noise is and the square of a distance overflows, so that a t density is not known.
    """
    K, filled, columns = point.means.shape[0], point.means.shape[1], x.shape[1]
    memory = new_memory(1, K, filled, 0, 0, 0)
    trial, lanes, square = _tailed_point(memory, 0), lanes_of(memory, 0), np.zeros((K + 1, LANES))
    part, ones = np.zeros(filled * LANES), np.ones(LANES)
    noisy = tails.noise[0] > -math.inf
    _loaded(point, tails, noisy, trial)
    for k in range(K):
        trial.heights[k] = trial.log_weights[k]
        for i in range(columns):
            trial.heights[k] += math.log(trial.factors[k, i, i])
    _constants(trial, columns)
    noise, half = trial.noise[0] + tails.noise[0], 0.5 * columns * math.log(2.0 * math.pi)
    for i in range(columns):
        half -= math.log(abs(shift[1, i]))
    for lo in range(0, x.shape[0], LANES):
        c = min(LANES, x.shape[0] - lo)
        for i in range(filled):
            for j in range(c):
                part[i * c + j] = (x[lo + j, i] - shift[0, i]) * shift[1, i] if i < columns else 0.0
        _terms(c, part, columns, trial, FULL, noise, lanes, square)
        for j in range(c):
            best, top = -1, noise
            for k in range(K):
                if lanes.logs[k, j] > top:
                    best, top = k, lanes.logs[k, j]
            labels[lo + j] = best
        _responsible(c, ones, noise, lanes, square[K])
        for j in range(c):
            missing = False
            for i in range(columns):
                missing = missing or not abs(x[lo + j, i]) < math.inf
            for k in range(K):
                missing = missing or (not noisy and trial.df[k] < math.inf and square[k, j] >= FARTHEST_SQUARE)
            density[lo + j] = math.nan if missing else lanes.top[j] - math.log(lanes.sum[j]) - half
            labels[lo + j] = -1 if missing else labels[lo + j]
            for k in range(K + 1):
                value = lanes.logs[k, j] if k < K else square[K, j]
                resp[lo + j, k] = math.nan if missing else value


def _split_climb(args, parts):
    rows, owner, model, tails, settings, points, state = args
    return [
        (rows, owner[a:b], model, tails, settings, type(points)(*(v[a:b] for v in points)), state[a:b])
        for a, b in ranges(owner.size, parts)
    ]


def _split_problems(args, parts):
    rows, owner, model, tails, *rest = args
    at = next(i for i, v in enumerate(rest) if isinstance(v, tuple))
    points = rest[at]
    return [
        (rows, owner[a:b], model, tails, *rest[:at], type(points)(*(v[a:b] for v in points)), *(v[a:b] for v in rest[at + 1 :]))
        for a, b in ranges(owner.size, parts)
    ]


def _split_scores(args, parts):
    x, point, tails, shift, *outs = args
    return [(x[a:b], point, tails, shift, *(out[a:b] for out in outs)) for a, b in ranges(len(x), parts)]


_f, _i = numba.types.float64, numba.types.int64
tails_type = numba.types.NamedTuple([_f[::1], _i, _f[::1]], Tails)
_given = batch_type(_f), _i[::1], model_type, tails_type
STUDENT_CLIMB = HostLoop(
    "mixture.multivariate.student_climb",
    student_climb_cpu,
    [(*_given, settings_type, point_type, STATE_TYPE[::1])],
    fastmath=FAST,
    split=_split_climb,
)
STUDENT_INFORMATION = HostLoop(
    "mixture.multivariate.student_information",
    student_information_cpu,
    [(*_given, point_type, _f[:, :, ::1], _f[:, ::1])],
    fastmath=FAST,
    split=_split_problems,
)
STUDENT_SUMMARY = HostLoop(
    "mixture.multivariate.student_summary",
    student_summary_cpu,
    [(*_given, _f[::1], point_type, _f[:, ::1])],
    fastmath=FAST,
    split=_split_problems,
)
STUDENT_SCORES = HostLoop(
    "mixture.multivariate.student_scores",
    student_scores_cpu,
    [(_f[:, ::1], one_point, tails_type, _f[:, ::1], _f[::1], _f[:, ::1], _i[::1])],
    split=_split_scores,
)
