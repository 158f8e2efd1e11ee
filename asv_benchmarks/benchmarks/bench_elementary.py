"""Speed and error of every scalar function, in a map over values that stay in the cache."""

from __future__ import annotations

from . import datasets
from .common import FLOATS, SMALL, few, require


class Scalar:
    params = [sorted(datasets.FUNCTIONS), few(FLOATS)]
    param_names = ["function", "dtype"]

    def setup(self, name, dtype):
        function = datasets.FUNCTIONS[name]
        inputs, outputs = function.arrays(SMALL, FLOATS[dtype])
        self.kernel, self.arguments = function.kernel.serial, (*inputs, *outputs)
        self.kernel(*self.arguments)

    def time_16384_values(self, name, dtype):
        self.kernel(*self.arguments)


class Error:
    """Largest error on 300 random points; the committed scans have 1e5 and more."""

    params = [sorted(n for n, f in datasets.FUNCTIONS.items() if f.exact is not None), few(FLOATS)]
    param_names = ["function", "dtype"]

    def setup(self, name, dtype):
        require("mpmath")

    def track_error(self, name, dtype):
        return datasets.largest_error(name, dtype)

    track_error.unit = "ulp"
