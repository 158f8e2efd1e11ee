"""Means, variances, skewness and excess kurtosis of distributions, and L-moments of samples."""

from __future__ import annotations

import functools
import math

import numpy as np

__all__ = [
    "ByRawMoments",
    "by_quadrature",
    "from_raw_moments",
    "l_moments",
    "mixing_cumulants",
    "mixing_moments",
    "of_normal_mixture",
    "shape_of_normal_mixture",
    "stirling",
    "stirling_fall",
]

_SPREAD = 100.0  # h = hypot(lam, gamma delta) from which the cumulants of the mixing distribution are series in 1/h
_SERIES = 9  # terms of these


def of_normal_mixture(lam, alpha, beta, delta, mu):
    """mu + beta E w and E w + beta^2 Var w: the distribution is normal with mean mu + beta w and a random variance w.

    w has the generalised inverse Gaussian distribution, which for delta = 0 is the gamma one.
    """
    gamma = _gamma(lam, alpha, beta, delta)
    if delta:
        mode, first, second = mixing_moments(lam, gamma, delta)
    else:
        mode, first, second = lam / gamma * 2 / gamma, 1.0, 1 / lam
    return mu + beta * (mode * first), mode * first + (beta * mode) * second * (beta * mode)


def _gamma(lam, alpha, beta, delta):
    """sqrt(alpha^2 - beta^2), where the moments can be computed."""
    gamma = math.sqrt((alpha - beta) * (alpha + beta))
    if delta and gamma * delta < 1e-70:
        raise ValueError("moments need sqrt(alpha^2 - beta^2) delta >= 1e-70")
    if delta and not 2.0 * math.hypot(lam, gamma * delta) < math.inf:
        raise ValueError("moments need alpha^2, alpha delta and lam within the doubles")
    return gamma


def shape_of_normal_mixture(lam, alpha, beta, delta, mu):
    """Skewness and excess kurtosis of X from the cumulants k_n of w.

    Its third and fourth are beta (3 k_2 + beta^2 k_3) and 3 k_2 + 6 beta^2 k_3 + beta^4 k_4, sums of terms of one sign.
    """
    gamma = _gamma(lam, alpha, beta, delta)
    mode, h, (c1, c2, c3, c4) = (
        mixing_cumulants(lam, gamma, delta) if delta else (lam / gamma * 2 / gamma, lam, (1.0, 1.0, 2.0, 6.0))
    )
    pull = beta * mode / h * beta
    var = c1 + pull * c2
    skewness = math.copysign(math.sqrt(pull) / math.sqrt(h), beta) * ((3.0 * c2 + pull * c3) / var) / math.sqrt(var)
    return skewness, (3.0 * c2 / var + pull * (6.0 * c3 + pull * c4) / var) / var / h


def _mixing(lam, gamma, delta, order):
    """Mode m of log w and, at nodes of w, w/m, w/m - 1 and probabilities: equal steps of s = log w/m.

    The error of sums of w^n, n up to `order`, falls faster than any power of the step.
    """
    z = gamma * delta
    h = math.hypot(lam, z)
    small = z * (z / (h + abs(lam)))
    up, down = (h + lam, small) if lam > 0 else (small, h - lam)  # h + lam, h - lam without cancellation
    mode = up / gamma / gamma if lam > 0 else delta * (delta / down)

    def log_density(s):
        q = s * s
        cubic = q * s / 6 * (1 + q / 20 * (1 + q / 42 * (1 + q / 72 * (1 + q / 110 * (1 + q / 156)))))  # sinh s - s
        near = -(lam * cubic + 2 * h * np.sinh(s / 2) ** 2)
        return np.where(q < 0.25, near, lam * s - (up * np.expm1(s) + down * np.expm1(-s)) / 2)

    step = min(0.18, 0.45 / math.sqrt(math.hypot(abs(lam) + order, z)))
    with np.errstate(over="ignore", invalid="ignore"):
        reach = step * 2.0 ** (np.arange(200) / 4)
        right, left = log_density(reach) + order * reach, log_density(-reach)
        last = reach[np.flatnonzero(right > right.max() - 80)[-1] + 1]
        first = reach[np.flatnonzero(left > left.max() - 80)[-1] + 1]
        s = step * np.arange(-math.ceil(first / step), math.ceil(last / step) + 1)
        p = np.exp(log_density(s))
        return mode, s, p / p.sum()


def _mixing_sums(s, p):
    """E w/m, and the distances of w/m from it at the nodes."""
    growth, relative = np.exp(s), np.expm1(s)
    mean, above = p @ growth, p @ relative
    return mean, np.where(np.abs(s) < 0.5, relative - above, growth - mean)


def mixing_moments(lam, gamma, delta):
    """(m, E w/m, Var w/m^2) of w with density like w^(lam - 1) exp(-(delta^2/w + gamma^2 w)/2), m the mode of log w.

    Sums of positive terms. Nothing cancels; the variance from Bessel functions has no digit left from gamma delta = 1e15 on.
    Observed error 3e-15.
    """
    mode, s, p = _mixing(lam, gamma, delta, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, distance = _mixing_sums(s, p)
        return mode, float(mean), float(p @ distance**2)


def mixing_cumulants(lam, gamma, delta):
    """(m, h, c) of the same w: the cumulant of order n is c_n m^n/h^(n - 1), h = hypot(lam, gamma delta). All are positive.

    By sums up to h = 100, then, as the fourth loses digits there, by series in 1/h: K = K_lam(z) solves
    (z d/dz)^2 K = h^2 K, hence y = (z d/dz) log K solves z dy/dz + y^2 = h^2, and is -h + sum (1 - q) v_k(q) h^-k, q = (lam/h)^2.
    The mean of w is (lam - y)/gamma^2. Its derivative by t, with gamma^2 - 2 t in place of gamma^2, is the next cumulant, and so
    on; it multiplies terms h^-n by n delta^2/h^2.
    """
    z = gamma * delta
    h = math.hypot(lam, z)
    if h < _SPREAD:
        mode, s, p = _mixing(lam, gamma, delta, 4)
        with np.errstate(over="ignore", invalid="ignore"):
            mean, distance = _mixing_sums(s, p)
            second, third, fourth = (float(p @ distance**n) for n in (2, 3, 4))
        return mode, h, (float(mean), second * h, third * h * h, (fourth - 3.0 * second * second) * h * h * h)
    share = lam / h
    less = z / h * (z / (h + lam)) if lam > 0 else 1.0 - share  # (h - lam)/h
    mode = (1.0 + share) * h / gamma / gamma if lam > 0 else delta / h * (delta / less)
    # terms of the series, over powers of delta^2/h^2 = m less/h
    order, power, value = _series(share * share)
    sums = []
    for n in range(4):
        terms = value * h**-order * less ** (n + 1)
        for i in range(1, n + 1):
            terms = terms * (order + 2.0 * power + 2.0 * i)
        sums.append(float(terms.sum()))
    leading = 1.0, 1.0, 3.0 - share, 15.0 - 3.0 * share * (4.0 - share)
    return mode, h, tuple(a - b / h for a, b in zip(leading, sums, strict=True))


def _series(q):
    """Orders k, powers j and values of the terms h^-k q^j of sum v_k(q) h^-k."""
    rising = np.polynomial.Polynomial([1.0, -1.0])  # 1 - q
    w = [-0.5 * rising]
    for k in range(_SERIES - 1):
        along = -rising * (k * w[k] + np.polynomial.Polynomial([0.0, 2.0]) * w[k].deriv())
        w.append(0.5 * (along + sum(w[i] * w[k - i] for i in range(k + 1))))
    parts = [(w_k // rising).coef for w_k in w]
    order = np.concatenate([np.full(c.size, float(k)) for k, c in enumerate(parts)])
    power = np.concatenate([np.arange(c.size, dtype=float) for c in parts])
    return order, power, np.concatenate([c * q ** np.arange(c.size) for c in parts])


def stirling(a):
    """log Gamma(a) - ((a - 1/2) log a - a + log(2 pi)/2), to 1e-16 from 10 on."""
    i = 1.0 / np.maximum(a, 10.0)
    j = i * i
    return i * (1 / 12 - j * (1 / 360 - j * (1 / 1260 - j * (1 / 1680 - j * (1 / 1188 - j * 691 / 360360)))))


def stirling_fall(a):
    """log a - 1/(2 a) - psi(a), minus the derivative of `stirling`, to 1e-16 from 10 on."""
    i = 1.0 / np.maximum(a, 10.0)
    j = i * i
    return j * (1 / 12 - j * (1 / 120 - j * (1 / 252 - j * (1 / 240 - j * (1 / 132 - j * (691 / 32760 - j / 12))))))


def l_moments(rows, count):
    """The first sample L-moments of rows of values, shape (count, len(rows)), and the numbers of values that are not missing."""
    rows = np.sort(rows, axis=1)  # NaN last
    n_values = np.count_nonzero(~np.isnan(rows), axis=1)
    moments = np.full((count, len(rows)), np.nan)
    for n in np.unique(n_values[n_values > 0]):
        use = n_values == n
        ordered = rows[use, :n]
        middle = ordered[:, n // 2]
        with np.errstate(invalid="ignore"):  # infinite values
            found = ((ordered - middle[:, None]) @ _rank_weights(n, count).T / n).T
        found[0] += middle
        moments[: len(found), use] = found
    moments[:, np.isinf(rows).any(axis=1)] = np.nan
    return moments, n_values


def _rank_weights(n, count):
    """P_r at the ranks of n values, for r < min(count, n): (k + 1) (n - 1 - k) P_{k+1} = (2k + 1) t P_k - k (n + k) P_{k-1}."""
    t = np.arange(1.0 - n, n, 2.0)
    found = [np.ones(n), t / (n - 1)] if n > 1 else [np.ones(1)]
    for k in range(1, min(count, n) - 1):
        found.append(((2 * k + 1) * t * found[k] - k * (n + k) * found[k - 1]) / ((k + 1) * (n - 1 - k)))
    return np.array(found[:count])


def by_quadrature(d, near, fourth=True):
    """Mean, variance, skewness and excess kurtosis of one distribution of standard form; without a `fourth` moment inf.

    `near` is a number next to the mean, from which that is integrated: moments about it lose no digits.
    """
    mean = near + float(d.expect(lambda z: z - near))
    var, third = (float(d.expect(lambda z, k=k: (z - mean) ** k)) for k in (2, 3))
    kurtosis = float(d.expect(lambda z: (z - mean) ** 4)) / (var * var) - 3.0 if fourth else math.inf
    return mean, var, third / var**1.5, kurtosis


@functools.lru_cache(maxsize=64)
def from_raw_moments(d):
    """Mean, variance, skewness and excess kurtosis of a distribution of positive values by ``d._raw(n) = E z^n``.

    `_raw` gives inf where there is no moment. Where the standard deviation is below a third of the mean, and powers of the mean
    cancel, all are by quadrature.
    """
    one, two, three, four = (np.asarray(d._raw(n), np.float64) for n in (1, 2, 3, 4))
    with np.errstate(all="ignore"):
        var = np.where(two < math.inf, two - one * one, np.where(one < math.inf, math.inf, math.nan))
        third = three - one * (3.0 * two - 2.0 * one * one)
        fourth = four - one * (4.0 * three - one * (6.0 * two - 3.0 * one * one))
        skewness = np.where(three < math.inf, third / var**1.5, math.nan)
        infinite = np.where(var < math.inf, math.inf, math.nan)
        kurtosis = np.where(four < math.inf, fourth / (var * var) - 3.0, infinite)
    found = np.array(np.broadcast_arrays(one, var, skewness, kurtosis))
    shapes = np.broadcast_arrays(*d._standard(), one)[:-1]
    for i in np.ndindex(one.shape):
        if found[(1, *i)] < 0.1 * found[(0, *i)] ** 2:
            found[(slice(None), *i)] = by_quadrature(type(d)(*(float(s[i]) for s in shapes)), found[(0, *i)])
    return found


class ByRawMoments:
    """The moments of a family that has ``_raw(n)``."""

    def _mean_var(self):
        return from_raw_moments(self)[:2]

    def _shape(self):
        return from_raw_moments(self)[2:]
