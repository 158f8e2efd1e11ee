"""Distributions that are known by their density alone: tails are masses of it, quantiles come from tables."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from numbastats._core.elementwise import elementwise
from numbastats._core.kinds import device_kind
from numbastats.distributions.protocol import Distribution
from numbastats.distributions.tables import completed, looked_up, of_density, probabilities, quantiles
from numbastats.quantile import construction

__all__ = ["ByDensity", "ByFormulas"]

_UNDERFLOW = 1e-290  # smaller tail probabilities have no digits; their logarithms are integrated


class ByDensity(Distribution):
    """What follows from a density.

    A class defines `_density(name, x, **options)` for "pdf" and "logpdf", and `_described`, see `tables`.
    """

    _depth: ClassVar[str] = "tail"  # of the masses: with "full" the density next to its centre is followed to 1e-302

    def _evaluate(self, name, x, options):
        """The density by its kernels; tails and quantiles by tables, on the host beyond their range, too."""
        options = {key: value for key, value in options.items() if key != "method"}
        if name in ("pdf", "logpdf"):
            return self._density(name, x, double=True, **options)
        if name in ("cdf", "sf"):
            return probabilities(self, x, name == "sf", double=True, **options)
        if name in ("ppf", "isf") and (device_kind(x) or options["device"] == "cuda"):
            return quantiles(self, name, x, **options)
        return self._on_host(name, x, **options)

    def _at(self, name, x, workers=None):
        """Logarithms of tails, and quantiles, at points of the result's shape."""
        if name in ("logcdf", "logsf"):
            surely = (x > 0.0) == (name == "logcdf")  # at infinity
            return np.where(np.isinf(x), np.where(surely, 0.0, -math.inf), self._log_tail(x, name == "logsf"))
        if name not in ("ppf", "isf"):
            return self._values(name, x)
        upper = name == "isf"
        if self.batch_shape:
            return self._quantile(x, upper)
        return completed(looked_up(of_density(self), name), x, 0.0, lambda p, _: self._quantile(p, upper), workers)

    def _values(self, name, x):
        x = np.asarray(x, order="C")
        return quantiles(self, name, x, device="cpu") if name in ("ppf", "isf") else getattr(self, name)(x, device="cpu")

    def _ends(self):
        """Ends of the support."""
        return -math.inf, math.inf

    def _quantile(self, p, upper):
        """Quantiles by tables, and by Newton's method on the logarithm of the tail below their range."""
        name, (first, last) = ("isf", self._ends()[::-1]) if upper else ("ppf", self._ends())
        value = np.array(self._values(name, np.where((p > 0.0) & (p < 1.0), p, 0.5)))
        known = np.where(p == 0.0, first, np.where(p == 1.0, last, math.nan))
        value = np.where((p > 0.0) & (p < 1.0) | np.isnan(value), value, known)
        deep = (p > 0.0) & (p < 0.1) & np.isnan(value)
        for parameter in self.params:
            deep &= ~np.isnan(parameter)
        if deep.any():
            value[deep] = self._selected(deep)._inverse(np.log(p[deep]), upper)
        return value

    def _along(self, upper, shape):
        """Where distances of a tail are measured from, to which side, and whether the tail is where they grow.

        From the end of the support, where that is finite, else from the median.
        """
        end = np.broadcast_to(self._ends()[upper], shape)
        finite, side = np.isfinite(end), 1.0 if upper else -1.0
        origin = np.where(finite, end, self._values("ppf", np.full(shape, 0.5)))
        return origin, np.where(finite, -side, side), np.where(finite, -1.0, 1.0)

    def _inverse(self, target, upper):
        """Points at which the logarithm of a tail is `target`: Newton's method in the logarithm of the distance, in a bracket.

        It ends with a step below 1e-9, or after 80.
        """
        origin, side, outward = self._along(upper, target.shape)
        start = self._values("isf" if upper else "ppf", np.full(target.shape, 1e-15))
        u = outward * np.log(np.where(np.isfinite(start), np.abs(start - origin), self.scale))  # grows towards the tail
        low, high = np.full(u.shape, -math.inf), np.full(u.shape, math.inf)
        for k in range(80):
            reach = 4.0 * 2.0 ** min(k, 8)
            s = np.exp(outward * u)
            x = origin + side * s
            logs = self._log_tail(x, upper)
            excess = logs - target  # falls with u
            low, high = np.where(excess > 0.0, u, low), np.where(excess > 0.0, high, u)
            step = excess * np.exp(logs - self._values("logpdf", x)) / s
            new = u + np.clip(step, -reach, reach)
            middle = 0.5 * (np.maximum(low, u - 2.0 * reach) + np.minimum(high, u + 2.0 * reach))
            new = np.where((new > low) & (new < high), new, np.where((excess == 0.0) | (new == u), u, middle))
            done = ~(np.abs(new - u) > 1e-9)  # the step after it would be below rounding
            u = np.where(np.isnan(excess), math.nan, new)
            if done.all():
                break
        return origin + side * np.exp(outward * u)

    def _log_tail(self, x, upper):
        """Logarithm of a tail probability from both tails, by integration where it underflows."""
        tail, rest = self._values("sf" if upper else "cdf", x), self._values("cdf" if upper else "sf", x)
        value = np.where(tail <= 0.5, np.log(tail), np.log1p(-rest))
        low, high = self._ends()
        deep = (tail < _UNDERFLOW) & (low < x) & (x < high) & (self._values("logpdf", x) > -math.inf)
        if deep.any():
            value[deep] = self._selected(deep)._far_log_tail(x[deep], upper)
        return value

    def _far_log_tail(self, x, upper):
        """Logarithm of a tail far out: its integral over the logarithm of the distance s, by Gauss and Laguerre.

        With L(log s) = log density + log s, which falls at the rate h towards the tail, this is e^L/h times the integral of
        e^-u (e^(L(log s + u/h) - L(log s)) e^u), the second factor near 1; minus u/h where s falls.
        """
        origin, side, outward = self._along(upper, x.shape)
        s = np.abs(x - origin)

        def level(u):
            return self._values("logpdf", origin + side * s * np.exp(outward * u)) + outward * u

        step = 1e-5
        fall = np.maximum(np.abs(level(step) - level(-step)) / (2 * step), 1e-300)
        here = level(np.zeros_like(s))
        nodes, weights = np.polynomial.laguerre.laggauss(40)
        total = sum(w * np.exp(level(u / fall) - here + u) for u, w in zip(nodes, weights, strict=True))
        return here + np.log(s) - np.log(fall) + np.log(total)


class ByFormulas(ByDensity):
    """A family whose formulas are `logpdf` and, perhaps, some of the others: tables stand for those that are missing.

    Moments are integrals; logarithms of tails go on where these underflow.
    """

    _depth = "full"
    _support: ClassVar[tuple[float, float]] = (-math.inf, math.inf)  # of the standard form

    @classmethod
    def _described(cls, *params):
        values = dict(loc=0.0, scale=1.0) | dict(zip(cls.names, params, strict=True))
        unit, (low, high) = values["scale"], cls._support
        given = (0.0, unit, *(values[name] for name in cls._scipy_shapes))
        kernel = cls._kernels.one["logpdf"]

        def logpdf(x):
            return elementwise(kernel, ("x",), (x,), extras=(given,), device="cpu", workers=1)

        ends = unit * low, unit * high
        anchor = next((end for end in ends if math.isfinite(end)), 0.0)
        return construction.FromLog(logpdf, anchor, ends, unit), dict(anchor=anchor, support=ends, scale=unit)

    def _evaluate(self, name, x, options):
        if name == "pdf" or hasattr(self._kernels.formulas, name):
            return self._by_points(name, x, **{key: value for key, value in options.items() if key != "method"})
        return super()._evaluate(name, x, options)

    def _ends(self):
        low, high = self._support
        return self.loc + self.scale * low, self.loc + self.scale * high

    def _mean_var(self):
        return self._at_standard().expect(), self._central(2)

    def _entropy(self):
        standard, (low, high) = self._at_standard(), self._support
        wide, ends = standard._with_axis(), (np.nextafter(low, high), np.nextafter(high, low))  # there may be poles at the ends
        return -standard.expect(lambda z: wide.logpdf(np.clip(z, *ends)))
