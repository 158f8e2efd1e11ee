"""Tails and quantiles of a family that is a monotone function of another one.

A family says by ``image(z, c)`` what of its values has the distribution `base`, and by ``preimage(y, c)`` the inverse; its
``constants`` begin with those of the base.
"""

from __future__ import annotations

from numbastats._core.kernel import bind, device_function
from numbastats.scalar.elementary import exp, log
from numbastats.scalar.transforms import TRANSFORMS

__all__ = ["half_square", "log_constants", "log_image", "log_preimage", "no_base", "root_of_double", "transformed"]

_f = _image = _preimage = None  # bound to formulas
_OTHER = {"cdf": "sf", "sf": "cdf", "logcdf": "logsf", "logsf": "logcdf", "ppf": "isf", "isf": "ppf"}


@device_function
def of_image(z, c):
    return _f(_image(z, c), c[0])


@device_function
def to_preimage(p, c):
    return _preimage(_f(p, c[0]), c)


@device_function
def no_base():
    """Of a family without shapes whose base has no constants."""
    return (0.0,)


# --- z^2/2 has the standard form of the base: Rayleigh, Maxwell ---------------------------------------------------


half_square, root_of_double, *_ = TRANSFORMS["half_square"].in_kernels()[1:]


# --- shape log z has the standard form of a base without constants: log-logistic, Frechet, Pareto -----------------


@device_function
def log_constants(shape):
    """Of no base, the shape, and its logarithm."""
    return 0.0, shape, log(shape)


@device_function
def log_image(z, c):
    """What has the standard form of the base."""
    return c[1] * log(z)


@device_function
def log_preimage(y, c):
    """The inverse of `log_image`."""
    return exp(y / c[1])


def transformed(base, image, preimage, falling=False):
    """The formulas cdf, sf, logcdf, logsf, ppf and isf; `base` is a class, and a `falling` image exchanges its tails."""

    def formula(name):
        return base._kernels._formula(_OTHER[name] if falling else name)

    tails = [bind(of_image, _f=formula(name), _image=image) for name in ("cdf", "sf", "logcdf", "logsf")]
    return *tails, *(bind(to_preimage, _f=formula(name), _preimage=preimage) for name in ("ppf", "isf"))
