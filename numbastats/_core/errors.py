"""Exceptions and warnings; every message says what was got, what is allowed, and the fix."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "METHODS",
    "ConvergenceWarning",
    "DeviceNotAvailable",
    "NotFittedError",
    "OutOfDeviceMemory",
    "bare",
    "names_ours",
    "no_argument",
    "renamed",
    "warn",
]

F = TypeVar("F", bound=Callable[..., Any])
_UNKNOWN = re.compile(r"([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'")  # as Python says it
_SCALAR = re.compile(r"\bnp\.(?:float\d+|longdouble|u?int\d+|bool|str_)\(([^()]*)\)|\bnp\.(?=True_|False_)")
_NAME, _OWN = re.compile(r"\w+"), ("self", "cls")

OURS = {  # arguments of NumPy, SciPy, scikit-learn, ArviZ, R and others, and what they are called here: the first that there is
    "seed": ("rng",),
    "random_state": ("rng",),
    "generator": ("rng",),
    "floc": ("fixed={'loc': ...}",),
    "fscale": ("fixed={'scale': ...}",),
    "u": ("threshold", "p", "q"),
    "return_period": ("period",),
    "method_of_moments": ("method='moments'",),
    "right": ("censored",),
    "left": ("censored",),
    "events": ("event",),
    "event_observed": ("event",),
    "observed": ("event",),
    "status": ("event",),
    "truncate": ("truncated",),
    "truncation": ("truncated",),
    "bounds": ("fixed={'shape': ...} for a parameter that is known",),
    "zero_inflated": ("zeros='inflated'",),
    "inflated": ("zeros='inflated'",),
    "return_std": ("interval",),
    "level": ("interval", "confidence", "probs"),
    "confidence": ("level", "interval"),
    "prob": ("level", "interval"),
    "ci_prob": ("level", "interval"),
    "conf_level": ("level", "confidence", "interval"),
    "confidence_level": ("level", "confidence", "interval"),
    "ci": ("level", "confidence", "interval"),
    "hdi_prob": ("level", "interval"),
    "alpha": ("level=1 - alpha", "shape"),
    "a": ("shape",),
    "significance": ("level=1 - significance",),
    "q": ("u", "p", "probs"),
    "p": ("u", "q", "probs"),
    "probability": ("u", "p", "q"),
    "n_sim": ("draws", "count", "n_boot"),
    "n_bootstrap": ("n_boot", "count", "draws"),
    "n_resamples": ("n_boot", "count", "draws"),
    "n_boot": ("count",),
    "nboot": ("n_boot", "count"),
    "count": ("n_boot",),
    "reps": ("n_boot", "count"),
    "n_jobs": ("workers",),
    "threads": ("workers",),
    "num_threads": ("workers",),
    "n_threads": ("workers",),
    "num_workers": ("workers",),
    "n_workers": ("workers",),
    "cores": ("workers",),
    "n_draws": ("draws",),
    "num_draws": ("draws",),
    "n_samples": ("draws", "size", "n", "n_samples"),
    "num_samples": ("draws", "size", "n"),
    "n": ("size", "draws"),
    "n_chains": ("chains",),
    "num_chains": ("chains",),
    "tune": ("warmup",),
    "n_warmup": ("warmup",),
    "num_warmup": ("warmup",),
    "burn_in": ("warmup",),
    "burnin": ("warmup",),
    "sample_weight": ("weights",),
    "sample_weights": ("sample_weight", "weights"),
    "weights": ("sample_weight",),
    "weight": ("weights", "sample_weight"),
    "w": ("weights", "sample_weight"),
    "freq": ("weights", "sample_weight"),
    "frequencies": ("weights", "sample_weight"),
    "exposure": ("offset=numpy.log(exposure)",),
    "verbose": ("progress",),
    "disp": ("progress",),
    "missing": ("nan_policy='omit'",),
    "dropna": ("nan_policy='omit'",),
    "skipna": ("nan_policy='omit'",),
    "ignore_nan": ("nan_policy='omit'",),
    "dist": ("family",),
    "distr": ("family",),
    "distribution": ("family",),
    "distributions": ("families",),
    "model": ("family",),
    "dist_name": ("family",),
    "family": ("families", "response"),
    "link": ("response",),
    "ic": ("criterion",),
    "k": ("n_components", "shape", "df"),
    "K": ("n_components",),
    "n_clusters": ("n_components",),
    "components": ("n_components",),
    "n_starts": ("n_init",),
    "init": ("starts",),
    "value": ("by='key', and the frame with two columns, frame[['key', 'x']]", "x=frame['x'], the column itself"),
    "values": ("by='key', and the frame with two columns, frame[['key', 'x']]", "x"),
    "column": ("by='key', and the frame with two columns, frame[['key', 'x']]", "x=frame['x'], the column itself"),
    "columns": ("by='key', and the frame with two columns, frame[['key', 'x']]", "x=frame['x'], the column itself"),
    "group": ("by",),
    "groups": ("by",),
    "groupby": ("by",),
    "key": ("by",),
    "hue": ("by",),
    "bandwidth": ("h",),
    "bw": ("bandwidth", "h"),
    "bw_method": ("bandwidth", "h"),
    "bw_adjust": ("bandwidth", "h"),
    "mu": ("loc", "mean"),
    "sigma": ("scale", "size"),
    "sd": ("scale", "sigma"),
    "mean": ("loc", "mu"),
    "std": ("scale", "sigma"),
    "location": ("loc", "mu"),
    "loc": ("mu", "fixed={'loc': ...}"),
    "scale": ("sigma", "delta", "fixed={'scale': ...}"),
    "rate": ("scale=1/rate", "mean=rate", "lam"),
    "lam": ("mean", "scale=1/lam"),
    "lambda_": ("lam", "mean", "scale=1/lambda_"),
    "theta": ("scale",),
    "nu": ("df",),
    "xi": ("shape",),
    "dof": ("df", "nu"),
    "df": ("nu",),
    "s": ("sigma",),
    "skew": ("shape",),
    "size": ("draws",),
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


def bare(text):
    """A text in which scalars of NumPy are numbers and words alone: ``np.float64(1.5)`` is 1.5."""
    return _SCALAR.sub(r"\1", text) if isinstance(text, str) else text


def warn(message, category=UserWarning):
    """Warn, with the line outside of the library that the call came from."""
    message = bare(message)
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").startswith("numbastats."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def ours_of(name, known):
    """What to pass for an argument that a function does not have: by `OURS`, or one nearly alike; "" where there is none."""
    for ours in OURS.get(name, ()):
        own = _NAME.match(ours)[0]
        if own in known:
            return ours if own != ours else f"{ours}="
    near = difflib.get_close_matches(name, [k for k in known if k not in ("self", "cls")], 1, 0.75)
    return f"{near[0]}=" if near else ""


def no_argument(called, name, known, instead=""):
    """The error for an argument that a function does not have, with what to do instead, or the arguments that there are."""
    ours = ours_of(name, known)
    taken = f"it takes {', '.join(n for n in known if n not in _OWN)}"
    return TypeError(f"{called}() has no argument {name!r}: " + (instead or (f"use {ours}" if ours else taken)))


def names_ours(function: F) -> F:
    """Let a function, or all public functions of a class, say what an unknown argument is called here.

    Where Python refuses ``seed=1``, the TypeError names ``rng=``; errors have plain numbers where NumPy writes its scalars. The
    signature, the docstring and pickling stay; a call costs 0.1 to 0.2 microseconds more. A class without a constructor of its
    own, as a dataclass, keeps what it has.
    """
    if isinstance(function, type):
        for name, own in list(vars(function).items()):
            if isinstance(own, types.FunctionType) and (name == "__init__" or not name.startswith("_")) and _takes_options(own):
                setattr(function, name, names_ours(own))
        return function
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*args, **options):
        try:
            return function(*args, **options)
        except (TypeError, ValueError) as error:
            error.args = tuple(map(bare, error.args))
            found = _UNKNOWN.match(str(error))
            if found is None or found[1] not in (function.__name__, function.__qualname__):
                raise
            called = type(args[0]).__name__ if function.__name__ == "__init__" else function.__qualname__
            raise no_argument(called, found[2], known) from None

    return checked  # type: ignore[return-value]  # of the same signature


def renamed(**successors: str) -> Callable[[F], F]:
    """Let a function take arguments by their former names for one release, with a warning that has the new ones."""

    def decorated(function: F) -> F:
        @functools.wraps(function)
        def taking(*args, **options):
            for former in options.keys() & successors.keys():
                ours, called = successors[former], function.__name__
                if ours in options:
                    raise TypeError(f"{called}() got {former}=, which is {ours}= now, beside {ours}=: pass {ours}= alone")
                warn(f"{former}= of {called}() is {ours}= now, and will go in the next release", DeprecationWarning)
                options[ours] = options.pop(former)
            return function(*args, **options)

        return taking  # type: ignore[return-value]  # of the same signature

    return decorated


def _takes_options(function):
    """Whether a method has arguments by name, and Python would refuse others."""
    parameters = inspect.signature(function).parameters.values()
    told = hasattr(function, "__wrapped__") or any(p.kind is p.VAR_KEYWORD for p in parameters)
    return len(parameters) > 1 and not told
