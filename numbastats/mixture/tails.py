"""Distribution functions and quantiles of mixtures, accurate in both tails."""

from __future__ import annotations

import math

import numpy as np

from numbastats.mixture.families import excess
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam

__all__ = ["gamma_tail", "probability", "quantile", "tail"]


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


_TEMME = (  # of N. M. Temme, SIAM Journal on Mathematical Analysis 10 (1979), in powers of eta, |eta| <= 0.3, and 1/a <= 5e-5
    (
        -1 / 3,
        1 / 12,
        -2 / 135,
        1 / 864,
        1 / 2835,
        -0.00017875514403292181,
        3.9192631785224378e-05,
        -2.1854485106799922e-06,
        -1.85406221071516e-06,
        8.296711340953086e-07,
        -1.7665952736826079e-07,
        6.7078535434014986e-09,
        1.0261809784240308e-08,
    ),
    (
        -1 / 540,
        -1 / 288,
        1 / 378,
        -0.00099022633744855967,
        0.00020576131687242798,
        -4.0187757201646091e-07,
        -1.8098550334489978e-05,
        7.6491609160811101e-06,
        -1.6120900894563446e-06,
    ),
    (0.0041335978835978836, -0.0026813271604938272, 0.00077160493827160494, 2.0093878600823045e-06),
    (0.00064943415637860082,),
)


def gamma_tail(a, x, upper):
    """Lower or upper tail probability of the gamma distribution of shape a.

    SciPy's functions add up 2000 terms at most, too few from a = 6e4 on: 1e-5 relative at a = 1e6, 4.5 deviations below the mean.
    From 2e4 on the uniform expansion takes over.
    """
    from scipy.special import erfcx, gammainc, gammaincc

    out = np.asarray((gammaincc if upper else gammainc)(a, x))
    a, x = np.broadcast_arrays(a, x)
    large = a >= 2e4
    if not large.any():
        return out
    out, a, x = out.copy(), a[large], x[large]
    right = x >= a
    height = np.where(np.isinf(x), x, excess(a, x))  # a eta^2/2
    eta = np.where(right, 1.0, -1.0) * np.sqrt(np.minimum(2.0 * height / a, 0.09))
    correction = sum(np.polynomial.polynomial.polyval(eta, c) / a**k for k, c in enumerate(_TEMME))
    small = np.exp(-height) * (
        0.5 * erfcx(np.sqrt(height)) + np.where(right, 1.0, -1.0) * correction / np.sqrt(2.0 * math.pi * a)
    )
    out[large] = np.where(right == upper, small, 1.0 - small)
    return out


def _student_tail(t, df):
    """Upper tail probability of Student's t, by the incomplete beta function of what is represented well."""
    from scipy.special import betainc, betaincc

    r = t * t
    near = 0.5 * betaincc(0.5, 0.5 * df, np.where(r < df, r / (df + r), 0.0))
    small = np.where(r < df, near, 0.5 * betainc(0.5 * df, 0.5, df / (df + r)))
    return np.where(t < 0.0, 1.0 - small, small)


_LEGENDRE = np.polynomial.legendre.leggauss(64)


def _skew_tail(z, s):
    """Upper tail probability of the standard skew-normal distribution.

    1 - Phi(z) + 2 T(z, s) by Owen's function, whose terms have one sign for s > 0. Where they cancel, the integral of the density
    from z on, over as many of its lengths as count. Relative error below 2e-13 max(1, z^2) for |s| <= 300, in proportion to s
    beyond that for z < 0.
    """
    from scipy.special import log_ndtr, ndtr, owens_t

    out = np.asarray(ndtr(-z) + 2.0 * owens_t(z, s))
    far = (s * z < 0.0) & (out < 0.05 * ndtr(-z))
    if far.any():
        z = z[far]
        ratio = np.exp(-0.5 * (s * z) ** 2 - log_ndtr(s * z)) / math.sqrt(2.0 * math.pi)
        fall = z - s * ratio  # of the log density, whose second derivative is below -1
        length = 80.0 / (fall + np.sqrt(fall * fall + 80.0))
        nodes, weights = _LEGENDRE
        x = z[..., None] + 0.5 * length[..., None] * (nodes + 1.0)
        values = np.exp(-0.5 * x * x + log_ndtr(s * x)) * math.sqrt(2.0 / math.pi)
        out[far] = 0.5 * length * (values @ weights)
    return out


def _latent_tail(z, family, m, v, last, upper):
    """Tail probability of a component with a latent variable."""
    from scipy.special import betainc, betaincc

    if family.code == lat.NEGATIVE_BINOMIAL:
        count = np.minimum(np.floor(z), 1e300) + 1.0
        if m < v:
            return (betainc if upper else betaincc)(count, v, m / (m + v))
        return (betaincc if upper else betainc)(v, count, v / (m + v))
    t = (z - m) / math.sqrt(v) * (1.0 if upper else -1.0)
    return _student_tail(t, last) if family.code == lat.STUDENT_T else _skew_tail(t, last if upper else -last)


def tail(y, family, par, upper):
    """Lower or upper tail probability of y."""
    from scipy import special as sp

    total = np.zeros(y.shape)
    below = y < 0 if family.base != fam.GAUSSIAN else np.zeros(y.shape, bool)
    z = np.where(below, 1.0, y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for w, m, v, *_, last in par[[0, 1, 2, -1]].T:
            if family.latent:
                part = _latent_tail(z, family, m, v, last, upper)
            elif family.base == fam.INVERSE_GAUSSIAN:
                e = (math.frexp(v)[1] + 1) // 2
                root = np.ldexp(np.sqrt(1.0 / (math.ldexp(v, -2 * e) * z)), -e)  # v z may be out of range
                a, b = root * ((z - m) / m), root * (z / m + 1.0)
                half = np.exp(-0.5 * a * a) / 2.0
                second = half * sp.erfcx(b / math.sqrt(2.0))  # exp(2/(v m)) Phi(-b)
                if upper:
                    part = np.where(a > 0, half * sp.erfcx(np.maximum(a, 0.0) / math.sqrt(2.0)), sp.ndtr(-a)) - second
                    c, d = root * (z / m) / math.sqrt(2.0), root / math.sqrt(2.0)
                    part, near = np.asarray(part), d <= 0.25
                    if near.any():
                        difference = _erfcx_difference(np.extract(near, c), np.extract(near, d))
                        part[near] = np.extract(near, half) * difference
                else:
                    part = sp.ndtr(a) + second
                part = np.where(z == (np.inf if upper else 0.0), 0.0, np.where(z == (0.0 if upper else np.inf), 1.0, part))
            elif family.base == fam.GAUSSIAN:
                a = (z - m) / math.sqrt(v)
                part = sp.ndtr(-a if upper else a)
            elif family.base in (fam.GAMMA, fam.FIXED_GAMMA):
                a = 1.0 / v if family.base == fam.GAMMA else family.shape
                part = gamma_tail(a, a * z / m, upper)
            elif family.base == fam.POISSON:
                part = gamma_tail(np.minimum(np.floor(z), 1e300) + 1.0, m, not upper)
            else:
                log_part = (np.floor(z) + 1.0) * -np.log1p(1.0 / m)
                part = np.exp(log_part) if upper else -np.expm1(log_part)
            total += w * np.where(below, float(upper), part)
    return np.clip(total / sum(par[0]), 0.0, 1.0)  # the weights' sum, by the same additions, may be an ulp beside 1


def probability(x, family, par, upper):
    """Probability of values up to x, or above it; NaN for NaN."""
    positive = family.minimum > -math.inf and not family.discrete
    at = np.maximum(x, family.minimum) if positive else x
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        out = tail(np.asarray(family.forward(at)), family, par, upper != family.decreasing)
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
    lo, hi = np.full(p.shape, -1.0), np.full(p.shape, np.ceil(float(par[0] @ par[1])))

    def below(y):
        part = tail(y, family, par, upper).astype(dtype)
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
    from scipy.special import ndtri, stdtrit

    good = (q >= 0) & (q <= 1)
    p = np.where(good, q, 0.5)
    swap = family.decreasing != of_upper
    p, rest = (1.0 - p, p) if swap else (p, 1.0 - p)  # lower and upper tail of y; the one that is q is exact
    first, last = (rest >= 1, rest <= 0) if swap else (p <= 0, p >= 1)
    y = np.where(first, -math.inf if family.base == fam.GAUSSIAN else 0.0, math.inf)
    centre = float(par[0] @ par[1])
    if family.discrete:
        hi = _count_quantile(rest if of_upper else p, family, par, dtype, of_upper)
        y = np.where(first | last, y, hi)
    for upper in () if family.discrete else (False, True):  # by the smaller tail
        which = ((p > 0.5) == upper) & ~first & ~last
        target = (rest if upper else p)[which]

        def excess(at, wanted, upper=upper, target=target):
            ratio = tail(at.view(np.float64), family, par, upper) / target[wanted]
            return (-1.0 if upper else 1.0) * np.log(np.clip(ratio, 1e-300, 1e300))

        largest = np.nextafter(np.finfo(np.float64).max, 0.0)  # the spacing of the last one is infinite
        if family.base == fam.GAUSSIAN:  # between the quantiles of the components
            m, v = par[1:3, par[0] > 0, None]
            ends = m + np.sqrt(v) * (-ndtri(target) if upper else ndtri(target))
            if family.code == lat.SKEW_NORMAL:  # between those of half-normal variables to both sides
                low, high = ndtri(0.5 * target), ndtri(0.5 + 0.5 * target)
                ends = np.concatenate([m + np.sqrt(v) * (-low if upper else low), m + np.sqrt(v) * (-high if upper else high)])
            elif family.code == lat.STUDENT_T:  # of which SciPy's are good as guesses
                end = stdtrit(par[3, par[0] > 0, None], target)
                end = np.where(np.isfinite(end), end, ndtri(target))
                ends = m + np.sqrt(v) * (-end if upper else end)
            low, half = ends.min(axis=0), 0.5 * ends.max(axis=0) - 0.5 * ends.min(axis=0)
            step = 2.0 * np.minimum(half, 0.1 * largest) + 4.0 * np.spacing(np.maximum(np.abs(low), half))
            y[which] = _root(excess, low, step, -largest.item(), largest.item())
        else:  # the bits of positive doubles are as good as their logarithms
            guess, step = np.full(target.shape, centre).view(np.int64), np.full(target.shape, 2**54)
            y[which] = _root(excess, guess, step, 0, largest.view(np.int64).item()).view(np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        out = family.backward(y)
    return np.where(good, out, math.nan)
