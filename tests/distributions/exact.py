"""Densities and tails of distribution objects in mpmath, written from the textbooks' formulas."""

from __future__ import annotations

import mpmath
from mpmath import mp

__all__ = ["bessels", "cdf", "entropy", "log_density", "raw_moments", "sf", "shape"]


def _params(d):
    return {name: mpmath.mpf(float(value)) for name, value in d.params._asdict().items()}


def log_density(d, x, /, **changed):
    """Logarithm of the density at x, an mpf; `changed` parameters replace those of d."""
    p = _params(d) | changed
    kind = type(d).__name__
    x = mpmath.mpf(x)
    loc, scale = p.get("loc", mpmath.mpf(0)), p.get("scale", mpmath.mpf(1))
    z = (x - loc) / scale
    if kind in ("Normal", "TruncatedNormal"):
        value = -z * z / 2 - mp.log(2 * mp.pi) / 2 - mp.log(scale)
        return value if kind == "Normal" else value - mp.log(_normal_mass((p["lower"] - loc) / scale, (p["upper"] - loc) / scale))
    if kind == "Lognormal":
        return -((mp.log(z) / p["sigma"]) ** 2) / 2 - mp.log(z * p["sigma"] * scale) - mp.log(2 * mp.pi) / 2
    if kind in ("Gamma", "ChiSquared"):
        a, b = (p["shape"], scale) if kind == "Gamma" else (p["df"] / 2, 2 * scale)
        y = x - loc
        return (a - 1) * mp.log(y / b) - y / b - mp.loggamma(a) - mp.log(b)
    if kind == "Weibull":
        k = p["shape"]
        return mp.log(k / scale) + (k - 1) * mp.log(z) - z**k
    if kind == "Beta":
        a, b = p["a"], p["b"]
        return (a - 1) * mp.log(z) + (b - 1) * mp.log(1 - z) - mp.log(mp.beta(a, b)) - mp.log(scale)
    if kind == "InverseGaussian":
        m, k, y = p["mean"], p["shape"], x - loc
        return mp.log(k / (2 * mp.pi * y**3)) / 2 - k * (y - m) ** 2 / (2 * m * m * y)
    if kind == "Exponential":
        return -z - mp.log(scale)
    if kind == "Laplace":
        return -abs(z) - mp.log(2 * scale)
    if kind == "Logistic":
        return -z - 2 * mp.log(1 + mp.exp(-z)) - mp.log(scale)
    if kind == "Cauchy":
        return -mp.log(mp.pi * scale * (1 + z * z))
    if kind == "Uniform":
        return -mp.log(scale)
    if kind == "Gumbel":
        return -z - mp.exp(-z) - mp.log(scale)
    if kind in ("GEV", "GPD"):
        power = mp.log(1 + p["shape"] * z)
        fall = -mp.exp(-power / p["shape"]) if kind == "GEV" else 0
        return -(1 + 1 / p["shape"]) * power + fall - mp.log(scale)
    if kind in _DENSITIES:
        return _DENSITIES[kind](z, *(v for name, v in p.items() if name not in ("loc", "scale"))) - mp.log(scale)
    if kind == "StudentT":
        n = p["df"]
        norm = mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2) - mp.log(n * mp.pi) / 2 - mp.log(scale)
        return norm - (n + 1) / 2 * mp.log(1 + z * z / n)
    lam = {"Hyperbolic": mpmath.mpf(1), "NIG": mpmath.mpf(-0.5)}.get(kind) or p["lam"]
    a, b, s = p["alpha"], p["beta"], x - p["mu"]
    gamma, v = mp.sqrt(a * a - b * b), lam - mpmath.mpf(0.5)
    delta = p.get("delta", mpmath.mpf(0))
    g = mp.sqrt(delta**2 + s * s)
    body = v * mp.log(g) + mp.log(mp.besselk(v, a * g)) + b * s
    if delta == 0:
        return 2 * lam * mp.log(gamma) + body - v * mp.log(2 * a) - mp.log(mp.pi) / 2 - mp.loggamma(lam)
    return lam * mp.log(gamma / delta) + body - mp.log(2 * mp.pi) / 2 - mp.log(mp.besselk(lam, delta * gamma)) - v * mp.log(a)


def _gamma_tails(a, y):
    return mp.gammainc(a, 0, y, regularized=True), mp.gammainc(a, y, mp.inf, regularized=True)


def _birnbaum_saunders_entropy(a):
    with mp.workdps(30):
        log = mp.quad(lambda y: mp.exp(-y * y / 2) * mp.log1p((a * y / 2) ** 2), [0, 1 / a, 10 / a] if a > 3 else [0, 3, 10])
        tail = mp.quad(lambda y: mp.exp(-y * y / 2) * mp.log1p((a * y / 2) ** 2), [10 / a, 1, 10]) if a > 3 else 0
        return mp.log(2 * mp.pi * mp.e) / 2 + mp.log(a) - (log + tail) / mp.sqrt(2 * mp.pi)


def _entropy_by_quadrature(kind, *shapes):
    """Minus the integral of f log f by equal steps in asinh(z)."""
    with mp.workdps(50):
        total, step = mpmath.mpf(0), mpmath.mpf("0.02")
        for k in range(-1500, 1501):
            log = _DENSITIES[kind](mp.sinh(k * step), *shapes)
            total -= mp.cosh(k * step) * step * mp.exp(log) * log
        return total


def _normal_moment(k):
    return 0 if k % 2 else mp.fac2(k - 1)


def _skew_normal_moment(k, delta):
    """Of delta |U| + sqrt(1 - delta^2) V for independent normal U, V."""
    even = mp.sqrt(2 / mp.pi)
    absolute = (1, even, 1, 2 * even, 3)
    return mp.fsum(
        mp.binomial(k, j) * delta**j * absolute[j] * mp.sqrt(1 - delta**2) ** (k - j) * _normal_moment(k - j)
        for j in range(k + 1)
    )


def _even_tails(z, tail):
    return (tail, 1 - tail) if z < 0 else (1 - tail, tail)


def _pearson_density(z, s):
    a = 4 / s**2
    y = a + 2 * z / s
    return mp.log(2 / abs(s)) + (a - 1) * mp.log(y) - y - mp.loggamma(a)


def _by_density(kind, z, a):
    """The tail that the density falls towards, an integral to where it has fallen by exp(-120), and what is left of 1."""
    width, top = 4 / (1 + abs(z)), _DENSITIES[kind](z, a)
    sign = -1 if _DENSITIES[kind](z + width / 100, a) > top else 1
    ends = [mpmath.mpf(0)]
    while _DENSITIES[kind](z + sign * ends[-1], a) > top - 120:
        ends.append(ends[-1] + width)
    tail = mp.exp(top) * mp.quad(lambda s: mp.exp(_DENSITIES[kind](z + sign * s, a) - top), ends)
    return (tail, 1 - tail) if sign < 0 else (1 - tail, tail)


def _ex_gaussian_tails(z, k):
    part = mp.exp(1 / (2 * k * k) - z / k) * mp.erfc((1 / k - z) / mp.sqrt(2)) / 2
    return mp.erfc(-z / mp.sqrt(2)) / 2 - part, mp.erfc(z / mp.sqrt(2)) / 2 + part


def _asymmetric_laplace_tails(z, k):
    if z > 0:
        above = mp.exp(-k * z) / (1 + k * k)
        return 1 - above, above
    below = mp.exp(z / k) * k * k / (1 + k * k)
    return below, 1 - below


_DENSITIES = {  # their logarithms in standard form, by the shapes
    "Pareto": lambda z, a: mp.log(a) - (a + 1) * mp.log(z),
    "Lomax": lambda z, a: mp.log(a) - (a + 1) * mp.log(1 + z),
    "LogLogistic": lambda z, a: mp.log(a) + (a - 1) * mp.log(z) - 2 * mp.log(1 + z**a),
    "InverseGamma": lambda z, a: -(a + 1) * mp.log(z) - 1 / z - mp.loggamma(a),
    "Frechet": lambda z, a: mp.log(a) - (a + 1) * mp.log(z) - z**-a,
    "GumbelMin": lambda z: z - mp.exp(z),
    "Rayleigh": lambda z: mp.log(z) - z * z / 2,
    "Maxwell": lambda z: mp.log(2 / mp.pi) / 2 + 2 * mp.log(z) - z * z / 2,
    "HalfNormal": lambda z: mp.log(2 / mp.pi) / 2 - z * z / 2,
    "BirnbaumSaunders": lambda z, a: (
        mp.log((z + 1) / (2 * a * mp.sqrt(2 * mp.pi * z**3))) - (mp.sqrt(z) - 1 / mp.sqrt(z)) ** 2 / (2 * a * a)
    ),
    "GeneralizedNormal": lambda z, b: mp.log(b / 2) - mp.loggamma(1 / b) - abs(z) ** b,
    "AsymmetricLaplace": lambda z, k: (-z * k if z > 0 else z / k) - mp.log(k + 1 / k),
    "Kumaraswamy": lambda z, a, b: mp.log(a * b) + (a - 1) * mp.log(z) + (b - 1) * mp.log(1 - z**a),
    "BurrXII": lambda z, c, d: mp.log(c * d) + (c - 1) * mp.log(z) - (d + 1) * mp.log1p(z**c),
    "JohnsonSU": lambda z, a, b: -((a + b * mp.asinh(z)) ** 2) / 2 - mp.log(mp.sqrt(2 * mp.pi) * mp.sqrt(1 + z * z) / b),
    "ExGaussian": lambda z, k: 1 / (2 * k * k) - z / k + mp.log(mp.erfc((1 / k - z) / mp.sqrt(2)) / (2 * k)),
    "SkewNormal": lambda z, a: -z * z / 2 + mp.log(mp.erfc(-a * z / mp.sqrt(2)) / mp.sqrt(2 * mp.pi)),
    "PearsonIII": lambda z, s: _pearson_density(z, s),
    "GeneralizedGamma": lambda z, a, c: mp.log(c) + (a * c - 1) * mp.log(z) - z**c - mp.loggamma(a),
}
_TAILS = {  # lower and upper; call with enough digits for what cancels
    "Pareto": lambda z, a: (-mp.expm1(-a * mp.log(z)), z**-a),
    "Lomax": lambda z, a: (-mp.expm1(-a * mp.log1p(z)), (1 + z) ** -a),
    "LogLogistic": lambda z, a: (z**a / (1 + z**a), 1 / (1 + z**a)),
    "InverseGamma": lambda z, a: _gamma_tails(a, 1 / z)[::-1],
    "Frechet": lambda z, a: (mp.exp(-(z**-a)), -mp.expm1(-(z**-a))),
    "GumbelMin": lambda z: (-mp.expm1(-mp.exp(z)), mp.exp(-mp.exp(z))),
    "Rayleigh": lambda z: (-mp.expm1(-z * z / 2), mp.exp(-z * z / 2)),
    "Maxwell": lambda z: _gamma_tails(mpmath.mpf(3) / 2, z * z / 2),
    "HalfNormal": lambda z: (mp.erf(z / mp.sqrt(2)), mp.erfc(z / mp.sqrt(2))),
    "BirnbaumSaunders": lambda z, a: tuple(mp.erfc(s * (mp.sqrt(z) - 1 / mp.sqrt(z)) / (a * mp.sqrt(2))) / 2 for s in (-1, 1)),
    "GeneralizedNormal": lambda z, b: _even_tails(z, _gamma_tails(1 / b, abs(z) ** b)[1] / 2),
    "AsymmetricLaplace": _asymmetric_laplace_tails,
    "GeneralizedGamma": lambda z, a, c: _gamma_tails(a, z**c),
    "Kumaraswamy": lambda z, a, b: (-mp.expm1(b * mp.log1p(-(z**a))), (1 - z**a) ** b),
    "BurrXII": lambda z, c, d: (-mp.expm1(-d * mp.log1p(z**c)), (1 + z**c) ** -d),
    "JohnsonSU": lambda z, a, b: tuple(mp.erfc(s * (a + b * mp.asinh(z)) / mp.sqrt(2)) / 2 for s in (-1, 1)),
    "ExGaussian": lambda z, k: _ex_gaussian_tails(z, k),
    "SkewNormal": lambda z, a: _by_density("SkewNormal", z, a),
    "PearsonIII": lambda z, s: (
        _by_density("PearsonIII", z, s) if abs(s) < 0.1 else _gamma_tails(4 / s**2, 4 / s**2 + 2 * z / s)[:: 1 if s > 0 else -1]
    ),
}

_MOMENTS = {  # E z^k
    "Pareto": lambda k, a: a / (a - k),
    "LogLogistic": lambda k, a: k * mp.pi / a / mp.sin(k * mp.pi / a),
    "InverseGamma": lambda k, a: 1 / mp.fprod(a - i for i in range(1, k + 1)),
    "Frechet": lambda k, a: mp.gamma(1 - k / a),
    "BirnbaumSaunders": lambda k, a: (
        [1 + a**2 / 2, 1 + 2 * a**2 + 1.5 * a**4][k - 1]
        if k < 3
        else [1 + 4.5 * a**2 + 9 * a**4 + 7.5 * a**6, 1 + 8 * a**2 + 30 * a**4 + 60 * a**6 + 52.5 * a**8][k - 3]
    ),
    "GeneralizedNormal": lambda k, b: 0 if k % 2 else mp.gamma((k + 1) / b) / mp.gamma(1 / b),
    "AsymmetricLaplace": lambda k, a: mp.factorial(k) * (a**-k / (1 + a * a) + (-a) ** k * a * a / (1 + a * a)),
    "GeneralizedGamma": lambda k, a, c: mp.gamma(a + k / c) / mp.gamma(a),
    "Kumaraswamy": lambda k, a, b: b * mp.beta(1 + k / a, b),
    "BurrXII": lambda k, c, d: d * mp.beta(d - k / c, 1 + k / c),
    "PearsonIII": lambda k, s: (0, 1, s, 3 + 3 * s * s / 2)[k - 1],
    "SkewNormal": lambda k, a: _skew_normal_moment(k, a / mp.sqrt(1 + a * a)),
    "ExGaussian": lambda k, a: mp.fsum(
        mp.binomial(k, j) * _normal_moment(j) * mp.factorial(k - j) * a ** (k - j) for j in range(k + 1)
    ),
    "JohnsonSU": lambda k, a, b: (
        mp.fsum((-1) ** j * mp.binomial(k, j) * mp.exp(((k - 2 * j) / b) ** 2 / 2 - (k - 2 * j) * a / b) for j in range(k + 1))
        / 2**k
    ),
}
_ENTROPIES = {
    "Pareto": lambda a: 1 + 1 / a - mp.log(a),
    "LogLogistic": lambda a: 2 - mp.log(a),
    "InverseGamma": lambda a: a + mp.loggamma(a) - (1 + a) * mp.psi(0, a),
    "Frechet": lambda a: 1 + mp.euler / a + mp.euler - mp.log(a),
    "BirnbaumSaunders": lambda a: _birnbaum_saunders_entropy(a),
    "GeneralizedNormal": lambda b: 1 / b - mp.log(b / 2 / mp.gamma(1 / b)),
    "AsymmetricLaplace": lambda k: 1 + mp.log(k + 1 / k),
    "Kumaraswamy": lambda a, b: 1 - 1 / b + (1 - 1 / a) * (mp.psi(0, b + 1) + mp.euler) - mp.log(a * b),
    "BurrXII": lambda c, d: 1 - mp.log(c * d) + mp.psi(0, d + 1) - mp.psi(0, 1) - (mp.psi(0, d) - mp.psi(0, 1)) / c,
    "PearsonIII": lambda s: 4 / s**2 + mp.loggamma(4 / s**2) + (1 - 4 / s**2) * mp.psi(0, 4 / s**2) - mp.log(2 / abs(s)),
    "SkewNormal": lambda a: _entropy_by_quadrature("SkewNormal", a),
    "ExGaussian": lambda k: _entropy_by_quadrature("ExGaussian", k),
    "JohnsonSU": lambda a, b: _entropy_by_quadrature("JohnsonSU", a, b),
    "GeneralizedGamma": lambda a, c: mp.log(mp.gamma(a) / c) + a + (1 / c - a) * mp.psi(0, a),
}


def _normal_mass(low, high):
    """Between two ends, by the tail that is smaller."""
    if low > 0:
        return (mp.erfc(low / mp.sqrt(2)) - mp.erfc(high / mp.sqrt(2))) / 2
    return (mp.erfc(-high / mp.sqrt(2)) - mp.erfc(-low / mp.sqrt(2))) / 2


def cdf(d, x):
    """Distribution function; call with enough digits for what cancels."""
    return _tails(d, x)[0]


def sf(d, x):
    """Survival function."""
    return _tails(d, x)[1]


def _tails(d, x):
    p = _params(d)
    kind = type(d).__name__
    x = mpmath.mpf(x)
    loc, scale = p.get("loc", mpmath.mpf(0)), p.get("scale", mpmath.mpf(1))
    z = (x - loc) / scale

    def normal(t):
        return mp.erfc(-t / mp.sqrt(2)) / 2

    if kind == "Normal":
        return normal(z), normal(-z)
    if kind == "Lognormal":
        return normal(mp.log(z) / p["sigma"]), normal(-mp.log(z) / p["sigma"])
    if kind == "Weibull":
        return -mp.expm1(-(z ** p["shape"])), mp.exp(-(z ** p["shape"]))
    if kind in ("Gamma", "ChiSquared"):
        return _gamma_tails(*((p["shape"], z) if kind == "Gamma" else (p["df"] / 2, z / 2)))
    if kind == "Beta":
        return mp.betainc(p["a"], p["b"], 0, z, regularized=True), mp.betainc(p["b"], p["a"], 0, 1 - z, regularized=True)
    if kind == "InverseGaussian":
        m, k, y = p["mean"], p["shape"], x - loc
        r = mp.sqrt(k / y)
        second = mp.exp(2 * k / m) * normal(-r * (y / m + 1))
        return normal(r * (y / m - 1)) + second, normal(-r * (y / m - 1)) - second
    if kind == "TruncatedNormal":
        low, high = (p["lower"] - loc) / scale, (p["upper"] - loc) / scale
        whole = _normal_mass(low, high)
        return _normal_mass(low, z) / whole, _normal_mass(z, high) / whole
    if kind == "Exponential":
        return -mp.expm1(-z), mp.exp(-z)
    if kind == "Laplace":
        return _even_tails(z, mp.exp(-abs(z)) / 2)
    if kind == "Logistic":
        return 1 / (1 + mp.exp(-z)), 1 / (1 + mp.exp(z))
    if kind == "Cauchy":
        return mp.atan2(1, -z) / mp.pi, mp.atan2(1, z) / mp.pi
    if kind == "Uniform":
        return z, 1 - z
    if kind == "Gumbel":
        return mp.exp(-mp.exp(-z)), -mp.expm1(-mp.exp(-z))
    if kind in ("GEV", "GPD"):
        log_power = -mp.log1p(p["shape"] * z) / p["shape"]
        if kind == "GPD":
            return -mp.expm1(log_power), mp.exp(log_power)
        return mp.exp(-mp.exp(log_power)), -mp.expm1(-mp.exp(log_power))
    if kind == "StudentT":
        n = p["df"]
        return _even_tails(z, mp.betainc(n / 2, mpmath.mpf(0.5), 0, n / (n + z * z), regularized=True) / 2)
    return _TAILS[kind](z, *(v for name, v in p.items() if name not in ("loc", "scale")))


def bessels(v, z, count):
    """e^z K_(v+n)(z), n < count: equal steps of the integral of exp(-z (cosh t - 1)) cosh((v + n) t) over t > 0."""
    step = min(mpmath.mpf("0.03"), mpmath.mpf("0.2") / mp.sqrt(mp.hypot(v, z) + 1))
    terms = total = [mpmath.mpf(0.5)] * count
    k = 0
    while not all(term < value * mpmath.mpf(10) ** -mp.dps for term, value in zip(terms, total, strict=True)):
        k += 1
        grow, power = mp.exp(k * step), mp.exp(v * k * step)
        base = mp.exp(-z * (grow + 1 / grow - 2) / 2)
        terms = [base * (power * grow**n + 1 / (power * grow**n)) / 2 for n in range(count)]
        total = [a + b for a, b in zip(total, terms, strict=True)]
    return [value * step for value in total]


def raw_moments(d):
    """The first four moments of X - loc, in units of scale for those that have one, from gamma and Bessel functions."""
    p = _params(d)
    kind, n = type(d).__name__, (1, 2, 3, 4)
    if kind == "Lognormal":
        return [mp.exp(k * k * p["sigma"] ** 2 / 2) for k in n]
    if kind in ("Gamma", "ChiSquared"):
        a = p["shape"] if kind == "Gamma" else p["df"] / 2
        return [mp.rf(a, k) for k in n]
    if kind == "Weibull":
        return [mp.gamma(1 + k / p["shape"]) for k in n]
    if kind == "Beta":
        return [mp.rf(p["a"], k) / mp.rf(p["a"] + p["b"], k) for k in n]
    if kind == "InverseGaussian":
        k = bessels(mpmath.mpf(0.5), p["shape"] / p["mean"], 4)
        return [p["mean"] ** (i + 1) * k[i] / k[0] for i in range(4)]
    if kind in _MOMENTS:
        shapes = [v for name, v in p.items() if name not in ("loc", "scale")]
        return [_MOMENTS[kind](k, *shapes) for k in n]
    if kind == "TruncatedNormal":
        low, high = ((p[end] - p["loc"]) / p["scale"] for end in ("lower", "upper"))
        whole = _normal_mass(low, high)
        found = [mpmath.mpf(0), mpmath.mpf(1)]  # of orders -1 and 0

        def edge(z, k):
            return z ** (k - 1) * mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi) if abs(z) < mpmath.inf else mpmath.mpf(0)

        for k in n:
            found.append((k - 1) * found[-2] - (edge(high, k) - edge(low, k)) / whole)
        return found[2:]
    lam = {"Hyperbolic": mpmath.mpf(1), "NIG": mpmath.mpf(-0.5)}.get(kind) or p["lam"]
    b, delta, gamma = p["beta"], p.get("delta", mpmath.mpf(0)), mp.sqrt((p["alpha"] - p["beta"]) * (p["alpha"] + p["beta"]))
    if delta == 0:
        w = [(2 / gamma**2) ** k * mp.rf(lam, k) for k in n]
    else:
        k = bessels(lam, delta * gamma, 5)
        w = [(delta / gamma) ** i * k[i] / k[0] for i in n]
    return [b * w[0], w[0] + b**2 * w[1], 3 * b * w[1] + b**3 * w[2], 3 * w[1] + 6 * b**2 * w[2] + b**4 * w[3]]


def shape(d):
    """Skewness and excess kurtosis; central moments from raw ones, in the digits that the caller has set."""
    m1, m2, m3, m4 = raw_moments(d)
    var = m2 - m1**2
    skewness = (m3 - 3 * m1 * m2 + 2 * m1**3) / var ** mpmath.mpf(1.5)
    return skewness, (m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4) / var**2 - 3


def entropy(d):
    """Differential entropy from the textbooks' formulas, or by equal steps in the logarithm of the distance from mu."""
    p = _params(d)
    kind, scale = type(d).__name__, p.get("scale", mpmath.mpf(1))
    normal = mp.log(2 * mp.pi * mp.e) / 2
    if kind in ("Normal", "Lognormal"):
        return normal + mp.log(scale * p.get("sigma", 1))
    if kind in ("Gamma", "ChiSquared"):
        a, unit = (p["shape"], scale) if kind == "Gamma" else (p["df"] / 2, 2 * scale)
        return a + mp.loggamma(a) + (1 - a) * mp.psi(0, a) + mp.log(unit)
    if kind == "Weibull":
        return mp.euler * (1 - 1 / p["shape"]) + mp.log(scale / p["shape"]) + 1
    if kind == "Beta":
        a, b = p["a"], p["b"]
        norm = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
        return norm - (a - 1) * mp.psi(0, a) - (b - 1) * mp.psi(0, b) + (a + b - 2) * mp.psi(0, a + b) + mp.log(scale)
    if kind == "InverseGaussian":
        m, t = p["mean"], 2 * p["shape"] / p["mean"]
        return normal - mp.log(p["shape"]) / 2 + mpmath.mpf(1.5) * (mp.log(m) - mp.exp(t) * mp.e1(t))
    if kind in _ENTROPIES:
        return _ENTROPIES[kind](*(v for name, v in p.items() if name not in ("loc", "scale"))) + mp.log(scale)
    if kind == "StudentT":
        n = p["df"]
        norm = mp.log(n) / 2 + mp.loggamma(n / 2) + mp.loggamma(mpmath.mpf(0.5)) - mp.loggamma((n + 1) / 2)
        return (n + 1) / 2 * (mp.psi(0, (n + 1) / 2) - mp.psi(0, n / 2)) + norm + mp.log(scale)
    if kind == "TruncatedNormal":
        low, high = ((p[end] - p["loc"]) / scale for end in ("lower", "upper"))
        return mp.log(2 * mp.pi) / 2 + mp.log(_normal_mass(low, high)) + raw_moments(d)[1] / 2 + mp.log(scale)
    total, step = mpmath.mpf(0), mpmath.mpf("0.1")
    reach = 2 * p["lam"] if kind == "VarianceGamma" and d.lam < 0.5 else 1
    for k in range(-int(380 / reach), 80):
        for y in (mp.exp(k * step), -mp.exp(k * step)):
            log = log_density(d, y, mu=mpmath.mpf(0))
            total -= step * mp.exp(log + k * step) * log
    return total
