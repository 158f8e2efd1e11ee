"""A fitted density of one dimension as a distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from numbastats._core.kinds import to_host
from numbastats.distributions import Distribution

__all__ = ["KernelDensity"]

PARTS, SEPARATE = 2000, 1000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


class KernelDensity(Distribution):
    """The distribution of a `KDE` in one dimension; `KDE.distribution` makes it."""

    names: ClassVar[tuple[str, ...]] = ("kde",)
    family = "kernel density"

    def __init__(self, kde: Any):
        kde._line()  # raises in more dimensions
        self._store({"kde": kde}, ())

    def __repr__(self) -> str:
        model = self.params.kde._fitted().model
        return f"<distribution of a kernel density: {model.kernel!r}, {len(model.x)} samples>"

    def _key(self):
        return type(self), id(self.params.kde)

    def _evaluate(self, name, x, options):
        return self._on_host(name, x, **{key: value for key, value in options.items() if key != "method"})

    def _at(self, name, x, workers=None):
        logs = name in ("logcdf", "logsf")
        found = getattr(self.params.kde, name[3:] if logs else name)(x.reshape(-1))
        found = np.asarray(to_host(found, "the result"), float).reshape(x.shape)
        return self._logs(name, x, found) if logs else found

    def _logs(self, name, x, found):
        """Logarithms of tails; those of Gaussian kernels without an end go on where the tails have underflowed."""
        logs, line = np.log(found), self.params.kde._line()
        kernel, tail, reach = line.model.kernel, line.model.tail, math.sqrt(line.model.tau2)
        use = (found == 0.0) & np.isfinite(x)
        if kernel.normal and tail == 0.0 and not line.walls and use.any():
            from scipy.special import log_ndtr, logsumexp

            at, b, w, _, _ = line.parts[0]
            z = (x[use][:, None] - at) * (reach / b)
            logs[use] = logsumexp(log_ndtr(z if name == "logcdf" else -z), b=w / w.sum(), axis=1)
        return logs

    def _draws(self, shape, options):
        draws = self.params.kde.sample(math.prod(shape), rng=options["rng"])[:, 0].reshape(shape)
        return draws.astype(options["dtype"] or draws.dtype)

    def mean(self) -> Any:
        """Mean."""
        return self.params.kde.mean()

    def var(self) -> Any:
        """Variance."""
        return self.params.kde.var()

    def _shape(self):
        mean, std, line = self.mean(), self.std(), self.params.kde._line()
        if line.walls:
            third, fourth = (self.expect(lambda x, k=k: ((x - mean) / std) ** k) for k in (3, 4))
            return third, fourth - 3.0
        from scipy.integrate import quad

        m, (at, b, w, _, _) = line.model, line.parts[0]
        reach = math.sqrt(m.tau2)
        second = m.kernel.second(reach, m.tail)
        fourth = 2 * quad(lambda u: u**4 * m.kernel.on_coordinate(u, 1, reach, m.tail), 0, 1, epsabs=0, epsrel=1e-12)[0]
        z, b = (at - mean) / std, b / std
        third = np.average(z**3 + 3 * second * z * b**2, weights=w)
        return third, np.average(z**4 + 6 * second * (z * b) ** 2 + fourth * b**4, weights=w) - 3.0

    def _at_standard(self):
        return self

    def _expectation(self, func, low, high, conditional):
        """`expect`, by Gauss and Legendre between the kinks of the density."""
        first, last = self.support()
        low, high = max(float(first), float(low)), min(float(last), float(high))
        if not low < high:
            return math.nan if conditional else 0.0
        edges = [np.linspace(low, high, PARTS + 1)]
        for at, b, *_ in self.params.kde._line().parts:
            edges += [at - b, at, at + b] if len(at) <= SEPARATE else []
        edges = np.unique(np.clip(np.concatenate(edges), low, high))
        x = (edges[:-1, None] + np.diff(edges)[:, None] * (0.5 + 0.5 * NODES)).reshape(-1)
        w = (np.diff(edges)[:, None] * (0.5 * WEIGHTS)).reshape(-1) * self._at("pdf", x)
        value = np.sum(w * func(x))
        return value / w.sum() if conditional else value

    def _shortfall(self, p, upper):
        ends = (self.isf if upper else self.ppf)(p).reshape(-1)
        means = [self.expect(**{"lb" if upper else "ub": end}) for end in ends]
        return np.reshape(means, p.shape) / p

    def entropy(self) -> Any:
        """Differential entropy in nats, by quadrature as `expect`."""
        return self._entropy()

    def support(self) -> tuple[Any, Any]:
        """Ends of the support."""
        return self.ppf(0.0), self.ppf(1.0)

    def score(self, x: ArrayLike, **options: Any) -> tuple[Any, ...]:
        """A kernel density has no parameters: TypeError."""
        raise TypeError(f"{self!r} has no parameters, and so no score; KDE.gradient has derivatives of the density")

    @classmethod
    def fit(cls, x: Any, **options: Any) -> Any:
        """A kernel density is fitted by `KDE`: TypeError."""
        raise TypeError("a kernel density is fitted by numbastats.kde.KDE(...).fit(x), whose distribution() this is")

    def to_scipy(self) -> Any:
        """A kernel density is no family of SciPy: TypeError."""
        raise TypeError(f"{self!r} is no family of SciPy; pass its methods, such as cdf, or numbastats.interop.gaussian_kde(x)")
