"""The stable distributions, on the functions of `numbastats.stable`."""

from __future__ import annotations

import math
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

import numbastats.stable as stable
from numbastats._core.broadcast import as_host, dtype_of, result_dtype
from numbastats._core.checks import choice
from numbastats._core.inputs import any_lazy
from numbastats._core.kinds import device_kind
from numbastats._core.options import hands_on
from numbastats.distributions.arguments import StableFitOptions
from numbastats.distributions.protocol import Distribution

__all__ = ["Landau", "Stable"]


class Stable(Distribution):
    """Stable distribution, also a batch of them.

    Parameters
    ----------
    alpha : array_like
        Index of stability, 0 < alpha <= 2.
    beta : array_like
        Skewness, -1 <= beta <= 1.
    loc, scale : array_like, optional
        Location and scale (> 0).
    param : {"S0", "S1"}
        Parameterisation of `loc`; see `numbastats.stable.pdf`.

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    Notes
    -----
    The functions of `numbastats.stable`, of the same accuracy. `numbastats.stable.Stable` is the object of one distribution with
    its characteristic function, tail coefficients and tables.

    Examples
    --------
    >>> from numbastats.distributions import Stable
    >>> d = Stable(1.5, [0.0, 1.0])
    >>> d.cdf(0.0).round(6), d.var()
    (array([0.5     , 0.423239]), array([inf, inf]))
    """

    names, family = ("alpha", "beta", "loc", "scale"), "stable"
    _positive = ("scale",)
    param: Literal["S0", "S1"]

    def __init__(
        self, alpha: ArrayLike, beta: ArrayLike, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, param: Literal["S0", "S1"] = "S0"
    ):
        self._set(alpha=alpha, beta=beta, loc=loc, scale=scale)
        object.__setattr__(self, "param", choice("param", param, ("S0", "S1")))

    @classmethod
    @hands_on(stable.fit_many, stable.fit)
    def fit(  # type: ignore[override]  # it has other options
        cls, x: Any, method: str = "ml", *, axis: int | None = None, dim: str | None = None, **options: Unpack[StableFitOptions]
    ) -> Self:
        """The likeliest distribution, or a batch of them, one for every series, by `numbastats.stable.fit`.

        Parameters
        ----------
        x : array_like
            Data. `axis` runs along the values of a series; the other axes are the batch.
        method : str
            As in `numbastats.stable.fit`.
        axis, dim : optional
            As for all distributions.
        **options
            Of `numbastats.stable.fit`: start, fixed, bounds, weights, param, nan_policy, device.

        Returns
        -------
        Stable

        Raises
        ------
        TypeError, ValueError
            For arguments that are not understood.

        Warns
        -----
        ConvergenceWarning
            When fits end in no maximum.

        Examples
        --------
        >>> from numbastats.distributions import Stable
        >>> x = Stable(1.6, 0.2).rvs(500, rng=1)
        >>> round(Stable.fit(x, "quantile").alpha, 2)
        1.54
        """
        return cls._fitted(cls, x, method=method, axis=axis, dim=dim, **options)

    @classmethod
    def _refusals(cls, values):
        yield "alpha", (values["alpha"] > 0.0) & (values["alpha"] <= 2.0), "in (0, 2]"
        yield "beta", np.abs(values["beta"]) <= 1.0, "in [-1, 1]"
        yield from ((n, h, w) for n, h, w in super()._refusals(values) if n in ("loc", "scale"))

    def __repr__(self) -> str:
        return super().__repr__() if self.param == "S0" else f"{super().__repr__()[:-1]}, param={self.param!r})"

    def _arguments(self):
        return (*self.params, self.param)

    def _evaluate(self, name, x, options):
        absent = {"method"} if options["stream"] is not None else {"method", "stream"}  # quantiles take no stream
        options = {key: value for key, value in options.items() if key not in absent} | {"param": self.param}
        if options["dtype"] is None and not any_lazy((x,)):
            own = dtype_of(x if device_kind(x) else as_host(x))  # parameters do not widen it
            options["dtype"] = result_dtype(("x",), (own,))
        values = self.params
        if self._labels is not None:  # of dask's x
            values = [self._labelled(np.broadcast_to(p, self.batch_shape)) if isinstance(p, np.ndarray) else p for p in values]
        return getattr(stable, name)(x, *values, **options)

    _takes_blocks = True

    def _at(self, name, x, workers=None):
        return np.asarray(getattr(stable, name)(np.asarray(x, order="C"), *self.params, param=self.param, device="cpu"))

    def _in(self, to):
        """Locations in the parameterisation S0 or S1."""
        return np.asarray(self.loc if self.param == to else stable.convert(*self.params, to=to)[2])

    def _relocated(self, shift, factor):
        """S0 is a family of location and scale, and its mirror images have the opposite skewness."""
        if self.param != "S0":
            return None
        return Stable(self.alpha, np.sign(factor) * self.beta, shift + factor * self.loc, np.abs(factor) * self.scale)

    def to_scipy(self) -> Any:
        """As for all distributions; the family behind it is of the S0 form."""
        return Distribution.to_scipy(self if self.param == "S0" else Stable(self.alpha, self.beta, self._in("S0"), self.scale))

    def support(self) -> tuple[Any, Any]:
        """Ends of the support: a half line for alpha < 1 and beta = +-1, else all numbers."""
        half, end = np.asarray(self.alpha) < 1.0, self._in("S1")
        lower = np.where(half & (np.asarray(self.beta) == 1.0), end, -math.inf)
        return self._batch(lower), self._batch(np.where(half & (np.asarray(self.beta) == -1.0), end, math.inf))

    def _kink(self):
        return self._in("S1") if np.all(np.asarray(self.alpha) < 1.0) else None

    def mean(self) -> Any:
        """The location of the S1 form for alpha > 1; for alpha <= 1 infinite for beta = +-1, else NaN."""
        alpha, beta = np.asarray(self.alpha), np.asarray(self.beta)
        none = np.where(np.abs(beta) == 1.0, np.copysign(math.inf, beta), math.nan)
        return self._batch(np.where(alpha > 1.0, self._in("S1"), np.where(np.isnan(alpha), math.nan, none)))

    def var(self) -> Any:
        """2 scale^2 for alpha = 2; infinite below where the mean is finite, else NaN."""
        alpha = np.asarray(self.alpha)
        normal = 2.0 * np.square(self.scale)
        return self._batch(np.where(alpha == 2.0, normal, np.where(alpha > 1.0, math.inf, math.nan)))

    def _shape(self):
        none = np.where(np.asarray(self.alpha) == 2.0, 0.0, math.nan)
        return none, none

    def _entropy(self):
        def one(alpha, beta):
            return math.nan if math.isnan(alpha + beta) else stable.Stable(alpha, beta).entropy()

        return np.asarray(np.frompyfunc(one, 2, 1)(self.alpha, self.beta), np.float64)

    def _scores(self, x):
        found = stable.score(x, *self.params, param=self.param, device="cpu")
        return tuple(found[..., i] for i in range(4))

    def _draws(self, shape, options):
        return stable.rvs(*self.params, shape, param=self.param, **options)


def Landau(loc: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> Stable:
    """Landau distribution, of energy lost in thin layers: a name for ``Stable(1, 1, loc, scale)`` in the parameterisation S0.

    Parameters
    ----------
    loc, scale : array_like, optional
        Location and scale (> 0), those of `scipy.stats.landau`. The form of physics tables, with the density
        ``int exp(-t log t - x t) sin(pi t) dt/pi`` over t > 0, is ``Landau(log(pi/2), pi/2)``.

    Returns
    -------
    Stable

    Raises
    ------
    ValueError
        For a parameter outside its domain.

    References
    ----------
    L. Landau, Journal of Physics (USSR) 8 (1944), 201.

    Examples
    --------
    >>> import math
    >>> from numbastats.distributions import Landau
    >>> # the density that has its peak at -0.22278298
    >>> d = Landau(math.log(math.pi / 2), math.pi / 2)
    >>> float(d.pdf(-0.22278298).round(7)), d.alpha, d.beta
    (0.1806556, 1.0, 1.0)
    """
    return Stable(1.0, 1.0, loc, scale)


stable.StableFits._of = Stable  # of which functions in its `estimate` are
