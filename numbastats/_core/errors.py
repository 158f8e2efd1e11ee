"""Exceptions and warnings; every message says what was got, what is allowed, and the fix."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "METHODS",
    "ConvergenceWarning",
    "DeviceNotAvailable",
    "NotFittedError",
    "OutOfDeviceMemory",
    "names_ours",
    "ours_of",
    "renamed",
    "warn",
]

F = TypeVar("F", bound=Callable[..., Any])
_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")  # as Python says it

OURS = {  # arguments of NumPy, SciPy, scikit-learn, ArviZ and others, and what they are called here: the first that there is
    "seed": ("rng",),
    "random_state": ("rng",),
    "generator": ("rng",),
    "floc": ("fixed",),
    "fscale": ("fixed",),
    "right": ("censored",),
    "left": ("censored",),
    "return_std": ("interval",),
    "level": ("interval", "confidence"),
    "confidence": ("level", "interval"),
    "confidence_level": ("level", "confidence"),
    "prob": ("level", "interval"),
    "ci_prob": ("level", "interval"),
    "hdi_prob": ("level", "interval"),
    "n_sim": ("draws", "count", "n_boot"),
    "n_bootstrap": ("n_boot", "count", "draws"),
    "n_jobs": ("workers",),
    "threads": ("workers",),
    "num_threads": ("workers",),
    "n_threads": ("workers",),
    "num_workers": ("workers",),
    "n_draws": ("draws",),
    "num_draws": ("draws",),
    "n_samples": ("draws", "size", "n"),
    "num_samples": ("draws", "size", "n"),
    "n_chains": ("chains",),
    "num_chains": ("chains",),
    "tune": ("warmup",),
    "n_warmup": ("warmup",),
    "num_warmup": ("warmup",),
    "burn_in": ("warmup",),
    "sample_weight": ("weights",),
    "weights": ("sample_weight",),
    "bandwidth": ("h",),
    "bw": ("bandwidth", "h"),
    "bw_method": ("bandwidth", "h"),
    "mean": ("loc", "mu"),
    "std": ("scale", "sigma"),
    "loc": ("mu",),
    "scale": ("sigma",),
}

METHODS = {  # methods of distributions in SciPy, pandas, torch, the statistics module and finance, and what they are called here
    "cvar": "expected_shortfall",
    "es": "expected_shortfall",
    "tvar": "expected_shortfall",
    "conditional_value_at_risk": "expected_shortfall",
    "value_at_risk": "ppf",
    "quantile": "ppf",
    "quantiles": "ppf",
    "percentile": "ppf",
    "icdf": "ppf",
    "inv_cdf": "ppf",
    "inverse_cdf": "ppf",
    "iccdf": "isf",
    "ccdf": "sf",
    "survival": "sf",
    "survival_function": "sf",
    "logccdf": "logsf",
    "log_cdf": "logcdf",
    "density": "pdf",
    "log_prob": "logpdf",
    "log_pdf": "logpdf",
    "loglik": "logpdf",
    "log_likelihood": "logpdf",
    "sample": "rvs",
    "samples": "rvs",
    "random": "rvs",
    "draw": "rvs",
    "variance": "var",
    "sd": "std",
    "stddev": "std",
    "stdev": "std",
    "standard_deviation": "std",
    "skew": "skewness",
    "kurt": "kurtosis",
    "stats": "mean, var, skewness or kurtosis",
    "moment": "expect",
    "expectation": "expect",
    "confidence_interval": "interval",
    "kwds": "params",
    "args": "params",
}


class DeviceNotAvailable(RuntimeError):
    """The device asked for does not exist on this machine."""


class OutOfDeviceMemory(MemoryError):
    """The memory of a GPU does not suffice; the message says how much was wanted and how much is free."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked for a result before `fit`; of the same bases as scikit-learn's error of that name."""


class ConvergenceWarning(UserWarning):
    """A result was returned that missed its accuracy target; the result says by how much."""


def warn(message, category=UserWarning):
    """Warn, with the line outside of the library that the call came from."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").startswith("numbastats."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def ours_of(name, known):
    """What an argument that a function does not have is called there: in `OURS`, or nearly alike; None where nothing is."""
    ours = next((ours for ours in OURS.get(name, ()) if ours in known), None)
    return ours or next(iter(difflib.get_close_matches(name, [k for k in known if k not in ("self", "cls")], 1, 0.75)), None)


def names_ours(function: F) -> F:
    """Let a function or constructor say what an unknown argument is called here.

    Where Python refuses ``seed=1``, the TypeError names ``rng=``. The signature, the docstring and pickling stay; a call costs
    0.1 to 0.2 microseconds more.
    """
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*args, **options):
        try:
            return function(*args, **options)
        except TypeError as error:
            found = _UNKNOWN.search(str(error))
            ours = ours_of(found[1], known) if found else None
            if ours is None:
                raise
            called = function.__qualname__.removesuffix(".__init__")
            raise TypeError(f"{called}() has no argument {found[1]!r}: use {ours}=") from None

    return checked  # type: ignore[return-value]  # of the same signature


def renamed(**successors: str) -> Callable[[F], F]:
    """Let a function take arguments by their former names for one release, with a warning that has the new ones."""

    def decorated(function: F) -> F:
        @functools.wraps(function)
        def taking(*args, **options):
            for former in options.keys() & successors.keys():
                ours, called = successors[former], function.__qualname__
                if ours in options:
                    raise TypeError(f"{called}() got {former}=, which is {ours}= now, beside {ours}=: pass {ours}= alone")
                warn(f"{former}= of {called}() is {ours}= now, and will go in the next release", DeprecationWarning)
                options[ours] = options.pop(former)
            return function(*args, **options)

        return taking  # type: ignore[return-value]  # of the same signature

    return decorated
