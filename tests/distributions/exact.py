"""Densities and tails of distribution objects in mpmath, written from the textbooks' formulas."""

from __future__ import annotations

import mpmath
from mpmath import mp

__all__ = ["cdf", "log_density", "sf"]


def _params(d):
    return {name: mpmath.mpf(float(value)) for name, value in d.params._asdict().items()}


def log_density(d, x, **changed):
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
        a, y = (p["shape"], z) if kind == "Gamma" else (p["df"] / 2, z / 2)
        return mp.gammainc(a, 0, y, regularized=True), mp.gammainc(a, y, mp.inf, regularized=True)
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
    if kind == "StudentT":
        n = p["df"]
        tail = mp.betainc(n / 2, mpmath.mpf(0.5), 0, n / (n + z * z), regularized=True) / 2
        return (tail, 1 - tail) if z < 0 else (1 - tail, tail)
    raise NotImplementedError(kind)
