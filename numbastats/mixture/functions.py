"""Mixture distributions with given parameters: density, distribution function, quantile, draws, responsibilities."""

from __future__ import annotations

import math

import numpy as np

import numbastats.random as random
from numbastats._core.broadcast import real64, result_dtype, unmasked
from numbastats._core.dispatch import choose_device, launch, of_host, to_host
from numbastats._core.errors import names_ours
from numbastats._core.parallel import worker_count
from numbastats._core.random import Purpose, normalise_rng
from numbastats.mixture import kernels as k
from numbastats.mixture.families import excess, family_of, poisson_base
from numbastats.scalar import families as fam

__all__ = ["cdf", "logpdf", "pdf", "ppf", "responsibilities", "rvs", "sf"]

_PARAMETERS = """
    weights, centres : array_like, shape (K,)
        Weights are divided by their sum. The centre of a component is its mean where the family has one that is called so, else
        the mean of log x, 1/x, x^2 ..., as the table of families in `fit_many` says.
    params : array_like, shape (K,), optional
        lambda, variance or shape; not used by families of one parameter.
    family : str or tuple
        Required: one of the families of `fit_many`, whose results have all four as attributes."""


def _mixture(weights, centres, params, family):
    """The family and (3, K) parameters with dispersions."""
    law = family_of(family)
    w, m = (np.atleast_1d(real64(to_host(a, name))) for a, name in ((weights, "weights"), (centres, "centres")))
    v = np.ones(m.shape) if not law.two or params is None else np.atleast_1d(real64(to_host(params, "params")))
    if law.two and params is None:
        raise ValueError(f"family={family!r} needs params, its {law.param} per component")
    if not (w.ndim == 1 and w.shape == m.shape == v.shape and w.size):
        raise ValueError(f"weights, centres, params have shapes {w.shape}, {m.shape}, {v.shape}; all must be (K,) with K >= 1")
    total = w.sum()
    if not ((w >= 0).all() and 0 < total < math.inf):
        raise ValueError(f"weights={w!r} must be >= 0 with a positive finite sum")
    if not (np.isfinite(m).all() and (law.base == fam.GAUSSIAN or (m > 0).all()) and (v > 0).all() and np.isfinite(v).all()):
        raise ValueError(
            f"centres={m!r}, params={v!r} are out of domain; centres of {law.name} and all params must be positive and finite"
        )
    return law, np.stack([w / total, m, law.parameter(v) if law.two else v])


def _values(x):
    x = unmasked(x)
    dtype = result_dtype(["x"], [x.dtype])
    return x.astype(np.float64), dtype


def _scale(law, par):
    """A power of two that brings the means, or Gaussian deviations, near 1 where third powers of them would not be finite."""
    size = float(np.sqrt(par[2].max()) if law.base == fam.GAUSSIAN else par[1].max())
    exponent = 0 if law.discrete else math.frexp(size)[1]
    return math.ldexp(1.0, max(-1022, min(1022, -exponent))) if abs(exponent) > 300 else 1.0


def _rescaled(law, v, scale):
    """Dispersions of values times `scale`."""
    return v / scale if law.base == fam.INVERSE_GAUSSIAN else v * scale * scale if law.base == fam.GAUSSIAN else v


def _scores(x, law, par, wanted, device, workers, stats=None):
    """Log density (flat) and responsibilities (K, n) of values; NaN for NaN, -inf outside the support.

    `stats` (1, 2, n) becomes t1 and t2 about the mean of the mixture; (K, 2, n), of components far apart, about their own.
    """
    if _apart(law, par):
        return _scores_apart(x, law, par, device, workers, stats)
    flat = x.reshape(-1)
    outside = law.outside(np.where(np.isnan(flat), max(1.0, law.minimum), flat)) | np.isinf(flat)
    bad = outside | np.isnan(flat)
    inside = np.where(bad, max(1.0, law.minimum) if law.name != "gaussian" else 0.0, flat)
    used = par[:, par[0] > 0]
    scale = _scale(law, used)
    with np.errstate(over="ignore", under="ignore"):
        y = np.ascontiguousarray(law.forward(inside))
        scaled = y * scale
    K, n = par.shape[1], y.size
    used = np.stack([used[0], used[1] * scale, _rescaled(law, used[2], scale)])
    c = float(used[0] @ used[1])
    base = law.base
    if base == fam.FIXED_GAMMA and law.shape > 16.0:  # by the deviance, where large terms would cancel
        base, used[2] = fam.GAMMA, 1.0 / law.shape
    P = np.empty((3, used.shape[1]))
    k.on_host.set_coefficients(P, used, base, float(law.shape), c)
    if base == fam.FIXED_GAMMA:  # with the law of the mean c, which the coefficients are relative to
        a = law.shape
        P += [[a * (math.log(a) - math.log(c)) - math.lgamma(a) - a], [-a / c], [0.0]]
    out, resp = np.empty(n), np.zeros((used.shape[1] if wanted else 0, n))
    pair = np.empty((0, n)) if stats is None else stats[0]
    where = choose_device(device)
    worker_count(workers)  # refuses what is no number of threads, also for no values and on a GPU
    if n:
        launch(
            k.SCORES,
            (scaled, c, base, P, out, resp, pair),
            n,
            device=where,
            workers=workers,
            cost=5.0 * K,
            outputs=(4, 5, 6),
        )
    if stats is not None and scale != 1.0:
        pair *= [[1.0 / scale], [1.0 / _rescaled(law, 1.0, scale)]]
    power, add = (law.shape - 1.0, 0.0) if base == fam.FIXED_GAMMA else fam.log_base(base, float(law.shape))
    j0, j1, j2 = law.jacobian
    with np.errstate(over="ignore", invalid="ignore"):
        out += add + j0 + j2 * y
        if scale != 1.0:
            out += (1.0 + power) * math.log(scale)
        if power + j1 != 0.0:
            out += (power + j1) * law.log_forward(inside)
    out[np.isnan(out)] = -math.inf  # so far out that the exponent overflows
    if base == fam.POISSON:
        with np.errstate(over="ignore"):
            out += poisson_base(y, c)
    out[outside] = -math.inf
    out[np.isnan(flat)] = math.nan
    full = np.zeros((K, n)) if wanted else resp
    if wanted:
        full[par[0] > 0] = resp
        full[:, bad] = math.nan
    return out, full


def _apart(law, par):
    """Whether the components lie so far apart that logits about the mean of the mixture lose more than 1e-12."""
    if par.shape[1] == 1:
        return False
    w, m, v = par[:, par[0] > 0]
    c = w @ m
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return not np.maximum(law.logit_size(m, v, c), law.logit_size(c, v, m)).max() < 1e3  # at c and at their own means


def _scores_apart(x, law, par, device, workers, stats=None):
    """`_scores` of each component about its own mean, where nothing cancels."""
    logs = np.full((par.shape[1], x.size), -math.inf)
    for j in np.flatnonzero(par[0] > 0):
        one = np.array([[1.0], par[1:2, j], par[2:, j]])
        pair = None if stats is None else stats[j : j + 1]
        logs[j] = _scores(x, law, one, False, device, workers, pair)[0] + math.log(par[0, j])
    with np.errstate(invalid="ignore"):
        out = np.logaddexp.reduce(logs)
        return out, np.exp(logs - out)  # NaN where all are -inf


def _log_density(x, weights, centres, params, family, device, workers):
    """Logarithms in double precision, of the shape of x, and the float type of the result."""
    law, par = _mixture(weights, centres, params, family)
    x, dtype = _values(x)
    return _scores(x, law, par, False, device, workers)[0].reshape(x.shape), dtype


def _document(function):
    if function.__doc__:  # not with python -OO
        function.__doc__ = function.__doc__.replace("{parameters}", _PARAMETERS.strip())
    return function


@of_host
@_document
def logpdf(x, weights, centres, params=None, *, family=None, device=None, workers=None):
    """Logarithm of the mixture density.

    Parameters
    ----------
    x : array_like
        Values of any shape.
    {parameters}
    device, workers
        As elsewhere in the library, but for executors: `workers` is a number of threads.

    Returns
    -------
    array or scalar
        Of the shape and kind of x; -inf outside the support, NaN for NaN. For counts the logarithm of the probability.

    Raises
    ------
    ValueError
        For parameters out of their domain or of different shapes.
    TypeError
        For values that are not real numbers.

    Notes
    -----
    By the logarithm of a sum of exponentials with the largest taken out. Against 40 digits on 150 points each of inverse
    Gaussian, Gaussian and gamma mixtures, over ten standard deviations, the error is below 4e-13 of max(1, |logpdf|) (gamma;
    the others 4e-15).

    Poisson laws and gamma laws of a fixed shape within nine standard deviations, against 60 digits: Poisson components 3e-15
    for means to 1e15 (Loader's saddle point); gamma components 2e-13 at shape 1e6, 3e-11 at 1e10, 1e-8 at 1e15. Components
    that lie apart, by more than some 50 standard deviations, are evaluated one by one, each about its own mean.

    Examples
    --------
    >>> import numbastats as ns
    >>> round(float(ns.mixture.logpdf(0.5, [0.3, 0.7], [1.0, 3.0], [30.0, 0.2], family="inverse_gaussian")), 6)
    -1.17617
    """
    values, dtype = _log_density(x, weights, centres, params, family, device, workers)
    return values.astype(dtype)[()]


@of_host
@_document
def pdf(x, weights, centres, params=None, *, family=None, device=None, workers=None):
    """Mixture density: the exponential of `logpdf`.

    Parameters
    ----------
    x : array_like
    {parameters}
    device, workers
        As elsewhere in the library, but for executors: `workers` is a number of threads.

    Returns
    -------
    array or scalar
        Of the shape and kind of x; 0 outside the support, NaN for NaN. For counts the probability.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Relative error below 4e-13 on the points named in `logpdf` (gamma; inverse Gaussian and Gaussian 2.5e-14).

    References
    ----------
    G. McLachlan, D. Peel, "Finite Mixture Models" (2000), section 1.4.

    Examples
    --------
    >>> import numbastats as ns
    >>> round(float(ns.mixture.pdf(0.5, [0.3, 0.7], [1.0, 3.0], [30.0, 0.2], family="inverse_gaussian")), 6)
    0.308458
    """
    values, dtype = _log_density(x, weights, centres, params, family, device, workers)
    with np.errstate(over="ignore"):
        return np.exp(values).astype(dtype)[()]


@of_host
@_document
def responsibilities(x, weights, centres, params=None, *, family=None, device=None, workers=None):
    """Posterior probabilities of the components.

    Parameters
    ----------
    x : array_like
    {parameters}
    device, workers
        As elsewhere in the library, but for executors: `workers` is a number of threads.

    Returns
    -------
    array, shape (*x.shape, K)
        Of the kind of x. Rows sum to 1; NaN outside the support.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Absolute error below 2e-15 on the points named in `logpdf`.

    References
    ----------
    A. P. Dempster, N. M. Laird, D. B. Rubin, "Maximum likelihood from incomplete data via the EM algorithm", Journal of the
    Royal Statistical Society B 39 (1977): the E-step.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.mixture.responsibilities([0.2, 1.0], [0.3, 0.7], [1.0, 3.0], [30.0, 0.2], family="inverse_gaussian").round(3).tolist()
    [[0.0, 1.0], [0.846, 0.154]]
    """
    law, par = _mixture(weights, centres, params, family)
    x, dtype = _values(x)
    _, resp = _scores(x, law, par, True, device, workers)
    return np.ascontiguousarray(resp.T).reshape(*x.shape, par.shape[1]).astype(dtype)


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
    (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -0.00017875514403292181, 3.9192631785224378e-05, -2.1854485106799922e-06,
     -1.85406221071516e-06, 8.296711340953086e-07, -1.7665952736826079e-07, 6.7078535434014986e-09, 1.0261809784240308e-08),
    (-1 / 540, -1 / 288, 1 / 378, -0.00099022633744855967, 0.00020576131687242798, -4.0187757201646091e-07,
     -1.8098550334489978e-05, 7.6491609160811101e-06, -1.6120900894563446e-06),
    (0.0041335978835978836, -0.0026813271604938272, 0.00077160493827160494, 2.0093878600823045e-06),
    (0.00064943415637860082,),
)  # fmt: skip


def _gamma_tail(a, x, upper):
    """Lower or upper tail probability of the gamma law of shape a.

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


def _tail(y, law, par, upper):
    """Lower or upper tail probability of y."""
    from scipy import special as sp

    total = np.zeros(y.shape)
    below = y < 0 if law.base != fam.GAUSSIAN else np.zeros(y.shape, bool)
    z = np.where(below, 1.0, y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for w, m, v in par.T:
            if law.base == fam.INVERSE_GAUSSIAN:
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
            elif law.base == fam.GAUSSIAN:
                a = (z - m) / math.sqrt(v)
                part = sp.ndtr(-a if upper else a)
            elif law.base in (fam.GAMMA, fam.FIXED_GAMMA):
                a = 1.0 / v if law.base == fam.GAMMA else law.shape
                part = _gamma_tail(a, a * z / m, upper)
            elif law.base == fam.POISSON:
                part = _gamma_tail(np.minimum(np.floor(z), 1e300) + 1.0, m, not upper)
            else:
                log_part = (np.floor(z) + 1.0) * -np.log1p(1.0 / m)
                part = np.exp(log_part) if upper else -np.expm1(log_part)
            total += w * np.where(below, float(upper), part)
    return np.clip(total / sum(par[0]), 0.0, 1.0)  # the weights' sum, by the same additions, may be an ulp beside 1


def _distribution(x, weights, centres, params, family, upper):
    law, par = _mixture(weights, centres, params, family)
    x, dtype = _values(x)
    positive = law.name != "gaussian" and not law.discrete
    at = np.maximum(x, law.minimum) if positive else x
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        out = _tail(np.asarray(law.forward(at)), law, par, upper != law.decreasing)
    out = np.where(np.isnan(x), math.nan, out)
    return out.astype(dtype)[()]


@of_host
@_document
def cdf(x, weights, centres, params=None, *, family=None):
    """Mixture distribution function.

    Parameters
    ----------
    x : array_like
    {parameters}

    Returns
    -------
    array or scalar

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Gamma and Poisson laws from a shape, or a mean, of 2e4 on by Temme's uniform expansion, as SciPy's functions lose digits there
    (10 % at 2e7): relative error of either tail below 3e-13, seen to 1e15, but for the rounding of x itself.

    Examples
    --------
    >>> import numbastats as ns
    >>> round(float(ns.mixture.cdf(1.0, [0.3, 0.7], [1.0, 3.0], [30.0, 0.2], family="inverse_gaussian")), 6)
    0.649145
    """
    return _distribution(x, weights, centres, params, family, False)


@of_host
@_document
def sf(x, weights, centres, params=None, *, family=None):
    """Upper tail probability of a mixture, accurate where it is small.

    Parameters
    ----------
    x : array_like
    {parameters}

    Returns
    -------
    array or scalar

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Notes
    -----
    Inverse Gaussian laws, x and lambda from 1e-20 to 1e20 means, against 110 digits: relative error below 4e-15 where
    a = sqrt(lambda/x) (x/m - 1) is below 1, and below 4e-15 + 2e-16 a^2 further out (2e-13 at 1e-260), as for the normal law.
    """
    return _distribution(x, weights, centres, params, family, True)


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


@of_host
@_document
def ppf(q, weights, centres, params=None, *, family=None):
    """Mixture quantile function, to the last bits of the distribution function.

    Parameters
    ----------
    q : array_like
        Probabilities; NaN outside [0, 1].
    {parameters}

    Returns
    -------
    array or scalar
        For counts the smallest k with ``cdf(k) >= q``, inf for q = 1.

    Raises
    ------
    TypeError, ValueError
        As `logpdf`.

    Examples
    --------
    >>> import numbastats as ns
    >>> round(float(ns.mixture.ppf(0.649145, [0.3, 0.7], [1.0, 3.0], [30.0, 0.2], family="inverse_gaussian")), 4)
    1.0
    """
    from scipy.special import ndtri

    law, par = _mixture(weights, centres, params, family)
    q, dtype = _values(q)
    good = (q >= 0) & (q <= 1)
    p = np.where(good, q, 0.5)
    p, rest = (1.0 - p, p) if law.decreasing else (p, 1.0 - p)  # lower and upper tail of y; the one that is q is exact
    first, last = (rest >= 1, rest <= 0) if law.decreasing else (p <= 0, p >= 1)
    y = np.where(first, -math.inf if law.base == fam.GAUSSIAN else 0.0, math.inf)
    centre = float(par[0] @ par[1])
    if law.discrete:
        lo, hi = np.full(p.shape, -1.0), np.full(p.shape, np.ceil(centre))

        def below(y):
            return _tail(y, law, par, False).astype(dtype) < p

        while (more := below(hi) & (p < 1)).any():
            hi = np.where(more, 4.0 * hi, hi)
        while not (((middle := np.floor(0.5 * (lo + hi))) <= lo) | (middle >= hi)).all():
            under = below(middle)
            lo, hi = np.where(under, middle, lo), np.where(under, hi, middle)
        y = np.where(first | last, y, hi)
    for upper in () if law.discrete else (False, True):  # by the smaller tail
        which = ((p > 0.5) == upper) & ~first & ~last
        target = (rest if upper else p)[which]

        def excess(at, wanted, upper=upper, target=target):
            ratio = _tail(at.view(np.float64), law, par, upper) / target[wanted]
            return (-1.0 if upper else 1.0) * np.log(np.clip(ratio, 1e-300, 1e300))

        largest = np.nextafter(np.finfo(np.float64).max, 0.0)  # the spacing of the last one is infinite
        if law.base == fam.GAUSSIAN:  # between the quantiles of the components
            m, v = par[1:, par[0] > 0, None]
            ends = m + np.sqrt(v) * (-ndtri(target) if upper else ndtri(target))
            low, half = ends.min(axis=0), 0.5 * ends.max(axis=0) - 0.5 * ends.min(axis=0)
            step = 2.0 * np.minimum(half, 0.1 * largest) + 4.0 * np.spacing(np.maximum(np.abs(low), half))
            y[which] = _root(excess, low, step, -largest.item(), largest.item())
        else:  # the bits of positive doubles are as good as their logarithms
            guess, step = np.full(target.shape, centre).view(np.int64), np.full(target.shape, 2**54)
            y[which] = _root(excess, guess, step, 0, largest.view(np.int64).item()).view(np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        out = law.backward(y)
    return np.where(good, out, math.nan).astype(dtype)[()]


def _poisson_quantile(u, m):
    """The smallest counts whose distribution function at mean m reaches u, for 2^-54 < u < 1.

    From a table of the distribution function; for means from 1e6 on by Cornish and Fisher's expansion, whose error is below 1e-5
    of a count.
    """
    from scipy.special import ndtri

    root = math.sqrt(m)
    if m >= 1e6:
        z = ndtri(u)
        return np.rint(m + root * z + (z * z - 1.0) / 6.0 + z * (1.0 - z * z) / (72.0 * root))
    first = max(0.0, math.floor(m - 10.0 * root))
    counts = np.arange(first, m + 10.0 * root + 60.0)  # the rest has less mass than 2^-60
    return first + np.searchsorted(_gamma_tail(counts + 1.0, m, True), u)


@_document
@names_ours
def rvs(weights, centres, params=None, size=None, *, family=None, rng=None):
    """Draws from a mixture.

    Parameters
    ----------
    {parameters}
    size : int or tuple of int, optional
        A single number by default.
    rng : None, int, SeedSequence or Generator

    Returns
    -------
    array or scalar

    Raises
    ------
    ValueError
        For parameters out of their domain or of different shapes, and a bad `size` or `rng`.

    Examples
    --------
    >>> import numbastats as ns
    >>> x = ns.mixture.rvs([0.3, 0.7], [1.0, 3.0], [30.0, 0.2], 100_000, family="inverse_gaussian", rng=1)
    >>> bool(abs(x.mean() - 2.4) < 0.2)
    True
    """
    law, par = _mixture(weights, centres, params, family)
    seeds = np.random.SeedSequence([int(normalise_rng(rng)), int(Purpose.MIXTURE_SAMPLE)]).spawn(3)
    u = np.asarray(random.uniform(size=size, rng=seeds[0]))
    edges = np.cumsum(par[0])
    which = np.minimum(np.searchsorted(edges, u * edges[-1]), par.shape[1] - 1)
    m, v = par[1][which], par[2][which]
    if law.base == fam.INVERSE_GAUSSIAN:  # Michael, Schucany and Haas (1976)
        z = random.normal(size=u.shape, rng=seeds[1])
        h = 0.5 * m * v * z * z
        root = 1.0 / (1.0 + h + np.sqrt(h) * np.sqrt(2.0 + h))  # the smaller root over m, without cancellation
        y = np.where(random.uniform(size=u.shape, rng=seeds[2]) * (1.0 + root) <= 1.0, m * root, m / root)
    elif law.base == fam.GAUSSIAN:
        y = random.normal(m, np.sqrt(v), u.shape, rng=seeds[1])
    elif law.base in (fam.GAMMA, fam.FIXED_GAMMA):
        a = 1.0 / v if law.base == fam.GAMMA else np.full(u.shape, law.shape)
        y = random.gamma(a, m / a, u.shape, rng=seeds[1])
    elif law.base == fam.POISSON:
        p, y = np.asarray(random.uniform(size=u.shape, rng=seeds[1])), np.empty(u.shape)
        for k, mean in enumerate(par[1]):
            y[which == k] = _poisson_quantile(p[which == k], mean)
    else:
        y = np.floor(random.exponential(size=u.shape, rng=seeds[1]) / np.log1p(1.0 / m))
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(law.backward(y))[()]
