"""Speed of the random draws, and how far their means are from the law's."""

from __future__ import annotations

import math

import numpy as np
import scipy.special

import numbastats as ns

from . import datasets
from .common import FLOATS, LARGE, SMALL, few


class Words:
    """Random 32-bit words, the raw material."""

    def setup(self):
        self.out = np.empty(SMALL, np.uint32)
        self.time_philox()

    def time_philox(self):
        datasets.WORDS.serial(np.uint32(1), np.uint32(2), self.out)


class Kernels:
    """Draws before the overhead of a call."""

    params = [list(datasets.LAWS), few(FLOATS)]
    param_names = ["law", "dtype"]

    def setup(self, law, dtype):
        kernel = datasets.random_kernel(law, dtype)
        self.kernel = kernel.serial
        self.arguments = datasets.random_arguments(kernel, np.empty(SMALL, FLOATS[dtype]), datasets.LAWS[law])
        self.kernel(*self.arguments)

    def time_16384_values(self, law, dtype):
        self.kernel(*self.arguments)


LAWS = datasets.LAWS | datasets.COUNTS


def _empty(law, n):
    return np.empty(n, np.int64 if law in datasets.COUNTS else np.float64)


class Draws:
    """Whole calls with ``out=``, large enough for threads to share."""

    params = [list(LAWS), [1, 2]]
    param_names = ["law", "workers"]
    number = 1

    def setup(self, law, workers):
        self.out = _empty(law, LARGE)
        self.draw = getattr(ns.random, law)
        self.options = dict(rng=1, device="cpu", workers=workers)
        self.draw(*LAWS[law], 100_000, out=self.out[:100_000], **self.options)

    def time_1e7_values(self, law, workers):
        self.draw(*LAWS[law], LARGE, out=self.out, **self.options)


class Blocks:
    """A block that begins within a group of the stream: what ``offset`` costs."""

    params = [list(LAWS), [0, 1001]]
    param_names = ["law", "offset"]

    def setup(self, law, offset):
        self.out = _empty(law, SMALL)
        self.draw = getattr(ns.random, law)
        self.options = dict(rng=1, device="cpu", workers=1, offset=offset)
        self.time_16384_values(law, offset)

    def time_16384_values(self, law, offset):
        self.draw(*LAWS[law], out=self.out, **self.options)


class Memory:
    def setup(self):
        self.out = np.empty(LARGE)

    def peakmem_normal_out(self):
        ns.random.normal(size=LARGE, rng=1, out=self.out, device="cpu", workers=2)


def _truncated_moments(mu, sigma, lo, hi):
    a, b = (lo - mu) / sigma, (hi - mu) / sigma
    pa, pb = (math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) for x in (a, b))
    mass = scipy.special.ndtr(b) - scipy.special.ndtr(a)
    mean = (pa - pb) / mass
    return mu + sigma * mean, sigma * math.sqrt(1 + (a * pa - b * pb) / mass - mean**2)


def _from_two_moments(first, second):
    return first, math.sqrt(second - first * first)


_MOMENTS = {
    "uniform": lambda low, high: ((low + high) / 2, (high - low) / math.sqrt(12)),
    "normal": lambda loc, scale: (loc, scale),
    "exponential": lambda scale: (scale, scale),
    "gamma": lambda shape, scale: (shape * scale, math.sqrt(shape) * scale),
    "truncnorm": _truncated_moments,
    "beta": lambda a, b: (a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)),
    "wald": lambda mean, scale: (mean, math.sqrt(mean**3 / scale)),
    "polya_gamma": lambda b, c: (
        b / (2 * c) * math.tanh(c / 2),
        math.sqrt(b / (4 * c**3) * (math.sinh(c) - c)) / math.cosh(c / 2),
    ),
    "weibull": lambda a: _from_two_moments(math.gamma(1 + 1 / a), math.gamma(1 + 2 / a)),
    "pareto": lambda a: (1 / (a - 1), math.sqrt(a / (a - 2)) / (a - 1)),
    "standard_t": lambda df: (0.0, math.sqrt(df / (df - 2))),
    "chisquare": lambda df: (df, math.sqrt(2 * df)),
    "laplace": lambda loc, scale: (loc, math.sqrt(2) * scale),
    "logistic": lambda loc, scale: (loc, math.pi / math.sqrt(3) * scale),
    "gumbel": lambda loc, scale: (loc + np.euler_gamma * scale, math.pi / math.sqrt(6) * scale),
    "poisson": lambda lam: (lam, math.sqrt(lam)),
    "binomial": lambda n, p: (n * p, math.sqrt(n * p * (1 - p))),
    "negative_binomial": lambda n, p: (n * (1 - p) / p, math.sqrt(n * (1 - p)) / p),
    "geometric": lambda p: (1 / p, math.sqrt(1 - p) / p),
}


class Mean:
    """Distance of the mean of 10^6 draws from the law's mean. The key is fixed: a change is a change of the draws."""

    params = [list(LAWS), few(FLOATS)]
    param_names = ["law", "dtype"]

    def track_mean(self, law, dtype):
        n = 1_000_000
        dtype = dtype.replace("float", "int") if law in datasets.COUNTS else dtype
        x = getattr(ns.random, law)(*LAWS[law], n, rng=1, dtype=dtype, device="cpu")
        mean, deviation = _MOMENTS[law](*LAWS[law])
        return abs(x.mean(dtype=np.float64) - mean) / (deviation / math.sqrt(n))

    track_mean.unit = "standard errors"


class ScalarDraws:
    """Draws of `numbastats.scalar` in a loop of the user's own, and the distance of their mean from the exact one."""

    params = [list(datasets.SCALAR_DRAWS)]
    param_names = ["distribution"]

    def setup(self, name):
        self.fill = datasets.scalar_draws(name, SMALL)
        self.fill()

    def time_16384_values(self, name):
        self.fill()

    def track_mean(self, name):
        _, _, mean, deviation = datasets.SCALAR_DRAWS[name]
        return abs(self.fill().mean() - mean) / (deviation / math.sqrt(SMALL))

    track_mean.unit = "standard errors"
