"""Distribution functions and quantiles of mixtures, accurate in both tails: those of the components' distributions.

Inverse Gaussian components alone have formulas of their own, as they may have scales that their distribution refuses.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from numbastats._core.slabs import SLAB, cuts


def _erfcx_difference(c, d):
    """erfcx(c - d) - erfcx(c + d) for c >= 0, 0 <= d <= 1/4, by Taylor's series at c, whose terms are all positive.

    y(n) = (-1)^n erfcx^(n)(c)/n! has y(n + 1) = 2 (y(n - 1) - c y(n))/(n + 1), y(-1) = 1/sqrt(pi). Near c = 0 this is used
    upwards from y(0); further out the quotients r = y(n)/y(n - 1), found downwards, do not cancel.
    """
    from scipy.special import erfcx

    out, near = np.empty(c.shape), c < 1.5
    x, power = c[near], d[near]
    before, y, total, square = 1.0 / math.sqrt(math.pi), erfcx(x), 0.0, power * power
    for n in range(1, 20):
        before, y = y, 2.0 * (before - x * y) / n
        if n % 2:
            total, power = total + y * power, power * square
    out[near] = 2.0 * total
    x, power = c[~near], d[~near]
    r, total = 2.0 / (x + np.sqrt(x * x + 162.0)), 0.0
    for n in range(79, -1, -1):  # any start will do for c >= 1.5
        r = 2.0 / (2.0 * x + (n + 1) * r)
        total = r * (power if n else 1.0) * (n % 2 + total)
    out[~near] = 2.0 / math.sqrt(math.pi) * total
    return out


def _inverse_gaussian_tail(z, m, v, upper):
    """Tail probability for z > 0, the mean m and the dispersion v = 1/lambda; also where v z is out of range."""
    from scipy.special import erfcx, ndtr

    e = (math.frexp(v)[1] + 1) // 2
    root = np.ldexp(np.sqrt(1.0 / (math.ldexp(v, -2 * e) * z)), -e)
    a, b = root * ((z - m) / m), root * (z / m + 1.0)
    half = np.exp(-0.5 * a * a) / 2.0
    second = half * erfcx(b / math.sqrt(2.0))  # exp(2/(v m)) Phi(-b)
    if upper:
        part = np.where(a > 0, half * erfcx(np.maximum(a, 0.0) / math.sqrt(2.0)), ndtr(-a)) - second
        c, d = root * (z / m) / math.sqrt(2.0), root / math.sqrt(2.0)
        part, near = np.asarray(part), d <= 0.25
        if near.any():
            part[near] = half[near] * _erfcx_difference(c[near], d[near])
    else:
        part = ndtr(a) + second
    return np.where(z == (np.inf if upper else 0.0), 0.0, np.where(z == (0.0 if upper else np.inf), 1.0, part))


def tails(family, par):
    """The function (x, upper) whose values are lower or upper tail probabilities of x."""
    if family.name == "inverse_gaussian":
        return functools.partial(_of_inverse_gaussian, par)
    if family.name == "reciprocal_inverse_gaussian":
        return lambda x, upper: _of_inverse_gaussian(par, 1.0 / x, not upper)
    weights = par[0] / par[0].sum()
    if family.discrete:
        return functools.partial(_of_counts, [family.components(p) for p in par.T], weights)
    base = family.components(par)

    def of_mixture(x, upper):
        flat, out, tail = x.reshape(-1), np.empty(x.size), base.sf if upper else base.cdf
        for a, b in cuts(flat.size, SLAB // 16):  # as many rows of all components
            out[a:b] = tail(flat[a:b, None]) @ weights
        return np.minimum(out, 1.0).reshape(x.shape)

    return of_mixture


@np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore")
def _of_inverse_gaussian(par, y, upper):
    """`tails` of inverse Gaussian components, to the last digits and next to the ends of the doubles."""
    total, z = np.zeros(y.shape), np.where(y >= 0.0, y, 0.0)
    for w, m, v in par[:3].T.tolist():
        total += w * np.where(y < 0.0, float(upper), _inverse_gaussian_tail(z, m, v, upper))
    return np.clip(total / sum(par[0]), 0.0, 1.0)  # the weights' sum, by the same additions, may be an ulp beside 1


def _of_counts(parts, weights, y, upper):
    """`tails` of counts, component by component: one distribution computes its few different counts once."""
    return np.clip(sum(w * (part.sf if upper else part.cdf)(y) for w, part in zip(weights, parts, strict=True)), 0.0, 1.0)


def probability(x, family, par, upper):
    """Probability of values up to x, or above it; NaN for NaN."""
    at = x if family.discrete else np.maximum(x, family.minimum)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        out = tails(family, par)(np.asarray(at), upper)
    return np.where(np.isnan(x), math.nan, out)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _root(f, x, step, lowest, highest):
    """Where increasing functions f(x, which) are 0, to the last bit; `which` numbers those wanted.

    x are guesses, doubles or integers; the steps grow until each root is between two points. Then T. R. Chandrupatla's method
    (Advances in Engineering Software 28, 1997): inverse quadratic interpolation where three points lie well for it, else
    bisection.
    """
    every = np.arange(x.size)
    a, b, fa, fb = x.copy(), x.copy(), f(x, every), np.empty(x.size)
    up, which = fa < 0, every
    while which.size:
        ends = np.where(up[which], highest, lowest).astype(x.dtype)
        b[which] = at = a[which] + np.where(
            up[which], np.minimum(step[which], ends - a[which]), np.maximum(-step[which], ends - a[which])
        )
        fb[which] = f(at, which)
        which = which[((fb[which] < 0) == up[which]) & (at != ends)]
        a[which], fa[which] = b[which], fb[which]
        step = 4 * np.minimum(step, highest // 16)
    out, which, c, fc, t = x, every, a, fa, np.full(x.size, 0.5)
    while True:
        out[which] = np.where(np.abs(fa) < np.abs(fb), a, b)
        gap = np.abs(b - a)
        last = 1 if x.dtype == np.int64 else np.spacing(np.maximum(np.abs(a), np.abs(b)))
        on = (gap > last) & (fa != 0) & (fb != 0)
        if not on.any():
            return out
        least = np.minimum(1.5 * last / np.maximum(gap, last), 0.5)
        which, a, b, c, fa, fb, fc, t, least = (v[on] for v in (which, a, b, c, fa, fb, fc, t, least))
        new = a + (np.clip(t, least, 1.0 - least) * (b - a)).astype(x.dtype)
        value = f(new, which)
        same = (value < 0) == (fa < 0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = new, value
        place, level = (a - b) / (c - b), (fa - fb) / (fc - fb)
        t = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        t = np.where((level * level < place) & ((1.0 - level) ** 2 < 1.0 - place), t, 0.5)


def _count_quantile(p, family, par, dtype, upper):
    """The smallest counts whose lower tail, as a number of the results' type, is at least p, or whose upper is at most p."""
    lo, hi, tail = np.full(p.shape, -1.0), np.full(p.shape, np.ceil(float(par[0] @ par[1]))), tails(family, par)

    def below(y):
        part = tail(y, upper).astype(dtype)
        return part > p if upper else part < p

    while (more := below(hi) & (p > 0 if upper else p < 1)).any():
        hi = np.where(more, 4.0 * hi, hi)
    while not (((middle := np.floor(0.5 * (lo + hi))) <= lo) | (middle >= hi)).all():
        under = below(middle)
        lo, hi = np.where(under, middle, lo), np.where(under, hi, middle)
    return hi


def quantile(q, family, par, dtype, of_upper=False):
    """Quantiles, to the last bits of the distribution function; for counts of that in the results' type.

    q are lower tail probabilities of x, or upper ones.
    """
    good = (q >= 0) & (q <= 1)
    p = np.where(good, q, 0.5)
    p, rest = (1.0 - p, p) if of_upper else (p, 1.0 - p)  # the one that is q is exact
    first, last = (rest >= 1, rest <= 0) if of_upper else (p <= 0, p >= 1)
    x = np.where(first, family.minimum, math.inf)
    if family.discrete:
        x = np.where(first | last, x, _count_quantile(rest if of_upper else p, family, par, dtype, of_upper))
        return np.where(good, x, math.nan)
    tail, positive, used = tails(family, par), family.minimum >= 0.0, par[:, par[0] > 0]
    largest = np.nextafter(np.finfo(np.float64).max, 0.0)  # the spacing of the last one is infinite
    for upper in (False, True):  # by the smaller tail
        which = ((p > 0.5) == upper) & ~first & ~last
        target = (rest if upper else p)[which]

        def excess(at, wanted, upper=upper, target=target):
            ratio = tail(at.view(np.float64), upper) / target[wanted]
            return (-1.0 if upper else 1.0) * np.log(np.clip(ratio, 1e-300, 1e300))

        low, high, known = _brackets(target, family, used, upper)
        if positive:  # the bits of positive doubles are as good as their logarithms
            low, high = low.view(np.int64), high.view(np.int64)
            step = np.where(known, high - low + 16, 2**54)
            x[which] = _root(excess, low, step, 0, largest.view(np.int64).item()).view(np.float64)
        else:
            half = 0.5 * high - 0.5 * low
            step = 2.0 * np.minimum(half, 0.1 * largest) + 4.0 * np.spacing(np.maximum(np.abs(low), half))
            x[which] = _root(excess, low, step, -largest.item(), largest.item())
    return np.where(good, x, math.nan)


def _brackets(target, family, par, upper):
    """The least and the largest quantile of the components, and whether they are known; else the mean of the centres."""
    centre = np.clip(family.backward(par[0] @ par[1]), np.finfo(np.float64).tiny if family.minimum >= 0.0 else -1e308, 1e308)
    if family.name == "reciprocal_inverse_gaussian":
        return np.full(target.shape, centre), np.full(target.shape, centre), np.zeros(target.shape, bool)
    base = family.components(par)
    ends = (base.isf if upper else base.ppf)(target[..., None])
    known = np.isfinite(ends).all(axis=-1)
    low, high = (np.where(known, f(axis=-1), centre) for f in (ends.min, ends.max))
    return low, high, known
