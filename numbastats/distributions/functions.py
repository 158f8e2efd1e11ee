"""Functions of data and parameters, ``student_t.pdf(x, nu)`` and the like, as other libraries have them: the classes' own."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from numbastats._core.broadcast import size_to_shape
from numbastats._core.checks import refuse_mask
from numbastats._core.errors import no_argument
from numbastats._core.inputs import any_lazy, apply
from numbastats._core.kinds import device_kind, first_array, has_labels, in_kind_of, to_host
from numbastats._core.options import Device
from numbastats.distributions.families.hyperbolic import NIG, GeneralizedHyperbolic, Hyperbolic, VarianceGamma
from numbastats.distributions.families.student_t import StudentT
from numbastats.distributions.tables import FrozenDistribution
from numbastats.quantile import arguments

__all__ = ["Family", "generalized_hyperbolic", "hyperbolic", "nig", "student_t", "variance_gamma"]

_OF_X = """{0}, with the parameters after the data; see `{1}`.

        Parameters
        ----------
        {2} : array_like
        *params, **named : array_like
            Those of the class; broadcast against `{2}`.
        out, dtype, device, workers, stream : optional
            The options of every function: :doc:`/options`. The result has NumPy's result type of data and parameters.

        Returns
        -------
        array or scalar
            NaN out of the domain.
        """
_OF_PARAMETERS = """{0}; see `{1}`.

        Parameters
        ----------
        *params, **named : array_like
            Those of the class.

        Returns
        -------
        float64 array or scalar
            NaN out of the domain.
        """


def _of_x(name, words):
    """The method of `Family` for a function of x."""

    def method(self, x, *params, out=None, dtype=None, device=None, workers=None, stream=None, **named):
        options = dict(out=out, dtype=dtype, device=device, workers=workers, stream=stream)
        return self._evaluated(name, x, self._bound(params, named), options)

    method.__name__, method.__doc__ = name, _OF_X.format(words, f"Distribution.{name}", "x")
    return method


def _of_parameters(name, words):
    """The method of `Family` for a function of the parameters."""

    def method(self, *params, **named):
        values = self._bound(params, named)
        if any(map(has_labels, values)):
            return apply(functools.partial(method, self), self.names, values, {})
        return getattr(self._distribution(values), name)()

    method.__name__, method.__doc__ = name, _OF_PARAMETERS.format(words, f"Distribution.{name}")
    return method


class Family:
    """The functions of a class of distributions with data and parameters; called with parameters it gives the table of one.

    Attributes
    ----------
    cls : type
        The class.
    names : tuple of str
        Of the parameters.
    """

    def __init__(self, cls: Any, name: str, *parameters: str, base: str = "uniform"):
        self.cls, self.__name__, self.name, self._base = cls, name, name, base
        kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        self.names = tuple(p.removesuffix("=0") for p in parameters)
        self._signature = inspect.Signature(
            [inspect.Parameter(n, kind, default=0.0 if n != p else empty) for n, p in zip(self.names, parameters, strict=True)]
        )
        self.__doc__ = f"{(cls.__doc__ or '').partition(chr(10))[0]} See `{cls.__name__}`."

    def __repr__(self):
        return f"<distribution {self.name}({', '.join(self.names)})>"

    def __reduce__(self):
        return self.name

    def _bound(self, params, named):
        """All parameters by position."""
        if _are_numbers(params) and len(params) == len(self.names) and not named:
            return params
        if unknown := [name for name in named if name not in self.names]:
            raise no_argument(self.name, unknown[0], (*self.names, "x", "size", "rng", "out", "dtype", "device", "workers"))
        try:
            found = self._signature.bind(*params, **named)
        except TypeError as error:
            raise TypeError(f"{self.name} takes {', '.join(self.names)}: {error}") from None
        found.apply_defaults()
        for value in found.args:
            refuse_mask(value)
        return found.args

    def _distribution(self, values):
        """The distribution of plain parameters, NaN where they are out of the domain."""
        given = [np.asarray(to_host(v, n), np.float64) for v, n in zip(values, self.names, strict=True)]
        whole = np.broadcast_arrays(*given)
        inside = self.cls.in_domain(dict(zip(self.cls.names, whole, strict=False)))
        return self.cls(*(given if np.all(inside) else (np.where(inside, v, np.nan) for v in whole)))

    def _evaluated(self, name, x, params, options):
        if _are_numbers(params):
            return getattr(_of_numbers(self, params), name)(x, **options)
        if any_lazy((x, *params)) or any(map(has_labels, (x, *params))):
            return apply(getattr(self, name), ("x", *self.names), (x, *params), options)
        dtype = arguments.float_type((x, *params), options["dtype"])
        like = first_array((x, *params))
        if like is not None and not (type(x) is type(like) and device_kind(x) == device_kind(like)):
            x = in_kind_of(np.array(to_host(x, "x"), dtype), like)
        return getattr(self._distribution(params), name)(x, **options | {"dtype": dtype})

    def __call__(self, *params: ArrayLike, base: Any = None, **options: Any) -> FrozenDistribution:
        """The table of the distribution with these parameters; see `Distribution.table`.

        Parameters
        ----------
        *params : array_like
            Those of the class, also by name.
        base, **options : optional
            As for `Distribution.table`; the base is "normal" for `student_t`.

        Returns
        -------
        FrozenDistribution

        Raises
        ------
        ValueError
            For parameters out of the domain; in a batch such a set is NaN and ``certificate.ok`` is False there.
        """
        values = self._bound(params, {name: options.pop(name) for name in self.names if name in options})
        single = all(np.ndim(v) == 0 for v in values)
        distribution = self.cls(*values) if single else self._distribution(values)
        if single and any(v != v for v in values):
            raise ValueError(f"the parameters of {self.name} must be finite; got {values}")
        return distribution.table(self._base if base is None else base, **options)

    pdf, logpdf = _of_x("pdf", "Density"), _of_x("logpdf", "Logarithm of the density")
    cdf, sf = _of_x("cdf", "Distribution function"), _of_x("sf", "Upper tail probability")
    ppf = _of_x("ppf", "Quantile at a lower tail probability")
    isf = _of_x("isf", "Quantile at an upper tail probability")
    mean, var = _of_parameters("mean", "Mean"), _of_parameters("var", "Variance")
    std = _of_parameters("std", "Standard deviation")
    skewness, kurtosis = _of_parameters("skewness", "Skewness"), _of_parameters("kurtosis", "Excess kurtosis")
    median = _of_parameters("median", "Median")

    def rvs(
        self,
        *params: ArrayLike,
        size: int | tuple[int, ...] | None = None,
        rng: Any = None,
        dtype: DTypeLike | None = None,
        device: Device = None,
        workers: Any = None,
        stream: Any = None,
        like: Any = None,
        **named: ArrayLike,
    ):
        """Random variates; see `Distribution.rvs`.

        Parameters
        ----------
        *params, **named : array_like
            Those of the class.
        size : int or tuple of int, optional
            By default the shape of the parameters; a keyword, as the last parameters of a distribution may be left out.
        rng, dtype, device, workers, stream, like : optional
            As for `Distribution.rvs`.

        Returns
        -------
        array or scalar
            NaN out of the domain.
        """
        values = self._bound(params, named)
        shape = size_to_shape(size, [np.shape(p) for p in values])
        options = dict(rng=rng, dtype=dtype, device=device, workers=workers, stream=stream, like=like)
        return self._distribution(values).rvs(shape, **options)


def _are_numbers(values):
    """Whether parameters are plain numbers, which have no say in the result's type."""
    return all(type(v) is float or type(v) is int for v in values)


@functools.lru_cache(maxsize=256)
def _of_numbers(family, values):
    """The distribution of plain numbers."""
    return family._distribution(values)


student_t = Family(StudentT, "student_t", "nu", base="normal")
generalized_hyperbolic = Family(GeneralizedHyperbolic, "generalized_hyperbolic", "lam", "alpha", "beta", "delta", "mu=0")
hyperbolic = Family(Hyperbolic, "hyperbolic", "alpha", "beta", "delta", "mu=0")
nig = Family(NIG, "nig", "alpha", "beta", "delta", "mu=0")
variance_gamma = Family(VarianceGamma, "variance_gamma", "lam", "alpha", "beta", "mu=0")
