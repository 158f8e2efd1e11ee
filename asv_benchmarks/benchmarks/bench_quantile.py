"""Speed, memory and error of the normal quantile and its companions."""

from __future__ import annotations

import numpy as np

import numbastats as ns
from numbastats.testing import ulp_error

from . import datasets
from .common import FLOATS, LARGE, SMALL, few

# Smallest tail probability on which the reference's kernels are meant to hold (see `ndtri`).
FROM_TAIL = {"exp56": 7e-12, "exp1313": 2.9e-19, "exp1313_printed": 2.9e-19, "t2": 2.9e-19}
METHODS = ("fast", "accurate", "correct", "log", "exp56", "exp1313", "exp1313_printed", "t2")
# "correct" rounds to float32, the others are methods in double precision
ABSENT = [("correct", "float64"), *((method, "float32") for method in ("exp1313", "exp1313_printed", "t2"))]


def options(method):
    """Keyword arguments of `ndtri`."""
    return {"log": True} if method == "log" else {"method": method}


def kernel(method, dtype):
    """The kernel behind a method."""
    from numbastats.quantile import kernels

    return kernels.LOG[dtype] if method == "log" else kernels.NDTRI[method, dtype]


def argument(u, method):
    return np.log(u) if method == "log" else u


def table_error(method, dtype, device="cpu"):
    """Largest error in ulp on the rows of the reference table."""
    u, exact = datasets.normal_reference(dtype)
    keep = np.minimum(u, 1 - u) >= FROM_TAIL.get(method, 0.0)
    got = ns.quantile.ndtri(u[keep], device=device, **options(method))
    return float(ulp_error(got, [e for e, k in zip(exact, keep, strict=True) if k]).max())


class Kernels:
    """Before the overhead of a call."""

    params = [list(METHODS), few(FLOATS)]
    param_names = ["method", "dtype"]
    skip_params = ABSENT

    def setup(self, method, dtype):
        u = datasets.probabilities(SMALL, FLOATS[dtype])
        self.kernel = kernel(method, dtype).serial
        self.arguments = datasets.ndtri_arguments(argument(u, method), np.empty_like(u))
        self.kernel(*self.arguments)

    def time_16384_values(self, method, dtype):
        self.kernel(*self.arguments)


class Large:
    """Whole calls with ``out=``, large enough for threads to share."""

    params = [few(["fast", "accurate", "log"]), [1, 2]]
    param_names = ["method", "workers"]
    number = 1

    def setup(self, method, workers):
        self.u = argument(datasets.probabilities(LARGE, np.float64), method)
        self.out = np.empty_like(self.u)
        self.options = dict(device="cpu", workers=workers, **options(method))
        ns.quantile.ndtri(self.u[:100_000], out=self.out[:100_000], **self.options)

    def time_1e7_values(self, method, workers):
        ns.quantile.ndtri(self.u, out=self.out, **self.options)

    def peakmem_1e7_values(self, method, workers):
        ns.quantile.ndtri(self.u, out=self.out, **self.options)


class Companions:
    params = few(FLOATS)
    param_names = ["dtype"]

    def setup(self, dtype):
        self.u = datasets.probabilities(SMALL, FLOATS[dtype])
        self.out, self.negative = np.empty_like(self.u), np.empty_like(self.u)
        self.options = dict(device="cpu", workers=1)
        for call in (
            self.time_norm_from_exponential,
            self.time_antithetic,
            self.time_standard_normal,
            self.time_loc_scale_arrays,
        ):
            call(dtype)

    def time_norm_from_exponential(self, dtype):
        ns.quantile.norm_from_exponential(self.u, out=self.out, **self.options)

    def time_antithetic(self, dtype):
        ns.quantile.antithetic(self.u, out=(self.out, self.negative), **self.options)

    def time_standard_normal(self, dtype):
        ns.quantile.standard_normal(SMALL, rng=1, dtype=dtype, out=self.out, **self.options)

    def time_loc_scale_arrays(self, dtype):
        ns.quantile.ndtri(self.u, self.u, self.u, out=self.out, **self.options)


class Scalar:
    """What a call costs when there is nothing to compute."""

    def setup(self):
        self.one = np.array([0.3])
        self.time_float()
        self.time_array_of_one()
        self.time_random()

    def time_float(self):
        ns.quantile.ndtri(0.3, device="cpu")

    def time_array_of_one(self):
        ns.quantile.ndtri(self.one, device="cpu")

    def time_random(self):
        ns.random.normal(size=1, rng=1, device="cpu")


class Error:
    """On the reference table (columns of 28 digits); the reference's kernels on the range they were made for."""

    params = [list(METHODS), few(FLOATS)]
    param_names = ["method", "dtype"]
    skip_params = [*ABSENT, *(("log", dtype) for dtype in FLOATS)]  # the table has probabilities: their logarithms are not exact

    def track_error(self, method, dtype):
        return table_error(method, dtype)

    track_error.unit = "ulp"


class CompanionError:
    """The companions through identities with the table: an upper tail of u/2 is the quantile of 1 - u/2."""

    params = few(FLOATS)
    param_names = ["dtype"]

    def track_antithetic_error(self, dtype):
        u, exact = datasets.normal_reference(dtype)
        half = u < 0.5
        z, minus_z = ns.quantile.antithetic(2 * u[half], device="cpu")
        assert (z == -minus_z).all()
        return float(ulp_error(minus_z, [e for e, k in zip(exact, half, strict=True) if k]).max())

    track_antithetic_error.unit = "ulp"
