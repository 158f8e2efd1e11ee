"""Densities, tails and expected shortfalls of generalised hyperbolic distributions in mpmath: writes distributions.json.

Run ``PYTHONPATH=. python tests/reference/make_distributions.py``; it takes minutes. The integrals are Gauss and Legendre's over
pieces of the tail, at 25 digits; the errors that mpmath estimates are below 1e-18.
"""

from __future__ import annotations

import json
from pathlib import Path

import mpmath

from numbastats.distributions import NIG, GeneralizedHyperbolic, Hyperbolic, VarianceGamma
from tests.distributions.objects import exact_of

CASES = [
    (NIG(1.5, 0.3, 1.0), [-200.0, -3.0, 0.5, 4.0, 2000.0]),
    (NIG(50.0, -40.0, 0.01, 0.002), [-20.0, -0.1, 0.0, 0.04, 15.0]),
    (Hyperbolic(1.5, 0.3, 1.0), [-3.0, 4.0, 600.0]),
    (GeneralizedHyperbolic(-1.2, 1.0, -0.4, 0.3, -1.0), [-6.0, 1.0, 900.0]),
    (VarianceGamma(3.0, 1.5, -0.9, 0.5), [-10.0, 2.0, 500.0]),
    (VarianceGamma(0.7, 1.5, 0.3), [-2.0, 2.5, 800.0]),
]
PIECES = (0, 0.02, 0.1, 0.3, 0.7, 1.5, 3, 5, 8, 12, 18, 26, 36, 48, 64)


def log_density(d, x):
    return exact_of(d).log_density(d, x)


def tail(d, x, upper, weight=lambda y: 1):
    """Integral of the density and a weight beyond x, relative to the density at x: mpmath's errors are absolute."""
    top = log_density(d, x)
    rate = mpmath.mpf(d.alpha) + (-d.beta if upper else d.beta)
    ends = [mpmath.mpf(x) + (1 if upper else -1) * k / rate for k in map(mpmath.mpf, PIECES)]
    return abs(mpmath.quad(lambda y: weight(y) * mpmath.exp(log_density(d, y) - top), ends, method="gauss-legendre", maxdegree=5))


def row(d, x):
    relative = tail(d, x, upper := x > d.mu)
    mass = relative * mpmath.exp(log_density(d, x))
    mean = x + (1 if upper else -1) * tail(d, x, upper, lambda y: abs(y - x)) / relative
    numbers = dict(logpdf=log_density(d, x), log_tail=mpmath.log(mass), tail=mass, shortfall=mean)
    return dict(distribution=repr(d), x=x, upper=upper, **{name: mpmath.nstr(v, 20) for name, v in numbers.items()})


if __name__ == "__main__":
    mpmath.mp.dps = 25
    rows = [row(d, x) for d, points in CASES for x in points]
    Path(__file__).with_name("distributions.json").write_text(json.dumps(rows, indent=1) + "\n")
