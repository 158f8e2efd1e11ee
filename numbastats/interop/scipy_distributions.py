"""`norm`, `t`, `truncnorm`, `norminvgauss`, `genhyperbolic`: SciPy's distributions of these names on our functions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from numbastats._core.checks import refuse_lazy, refuse_mask
from numbastats._core.errors import ConvergenceWarning, warn
from numbastats.distributions import NIG, GeneralizedHyperbolic, Normal, StudentT, TruncatedNormal, fit
from numbastats.distributions.protocol import scipy_family

__all__ = ["genhyperbolic", "norm", "norminvgauss", "t", "truncnorm"]

# parameters of our fits that SciPy's are: those that can be fixed alone, and those that are one of SciPy's over the scale
_SAME = {"df": "df", "p": "lam"}
_OVER_SCALE = {"a": "alpha", "b": "beta"}
_LOC_SCALE = {"normal": ("loc", "scale"), "student_t": ("loc", "scale")}


def _known(family: str, shapes: list[str], kwds: dict[str, Any]) -> dict[str, float] | None:
    """The values that SciPy's keywords fix, by our names; None where our fit cannot hold them."""
    loc, scale = _LOC_SCALE.get(family, ("mu", "delta"))
    known = {name: kwds[key] for name, key in ((loc, "floc"), (scale, "fscale")) if kwds.get(key) is not None}
    for i, shape in enumerate(shapes):
        given = [kwds[key] for key in (f"f{shape}", f"f{i}", f"fix_{shape}") if kwds.get(key) is not None]
        if len(given) > 1:
            raise TypeError(f"fit got several values for {shape}; give one of f{shape}, f{i}, fix_{shape}")
        if given and shape in _SAME:
            known[_SAME[shape]] = given[0]
        elif given and shape == "b" and given[0] == 0:
            known["beta"] = 0.0
        elif given and scale in known:
            known[_OVER_SCALE[shape]] = given[0] / known[scale]
        elif given:
            return None
    return known


def _fit(self: Any, data: Any, *args: Any, **kwds: Any) -> tuple[Any, ...]:
    """Parameters in SciPy's order by maximum likelihood, by `numbastats.distributions.fit`.

    ``f0 fdf fix_df`` and so on, `floc` and `fscale` hold values that are known. Start values are not needed, and not used.
    What our fits do not do is SciPy's generic fit: ``method="MM"``, an `optimizer`, censored data, and `a` or `b` held without
    `fscale`.
    A `ConvergenceWarning` says where there is no maximum, or where parameters are only near a limit; `scipy.stats.FitError` where
    there are no parameters.
    """
    from scipy.stats import FitError

    refuse_lazy(data, "the data")
    refuse_mask(data)
    generic = functools.partial(super(type(self), self).fit, data, *args, **kwds)
    if hasattr(data, "_uncensored") or kwds.get("optimizer") is not None or str(kwds.get("method", "MLE")).upper() != "MLE":
        return generic()
    shapes = self.shapes.split(", ") if self.shapes else []
    names = [name for i, s in enumerate(shapes) for name in (s, f"f{s}", f"f{i}", f"fix_{s}")]
    unknown = set(kwds) - {*names, "loc", "scale", "floc", "fscale", "method", "optimizer"}
    if unknown:
        allowed = dict.fromkeys((*names, "loc", "scale", "floc", "fscale", "method", "optimizer"))
        raise TypeError(f"fit has no argument {sorted(unknown)[0]!r}; it takes {', '.join(allowed)}")
    if len(args) > len(shapes):
        raise TypeError(f"fit got {len(args)} start values for the shapes, which are {self.shapes or 'none'}")
    known = _known(self.name, shapes, kwds)
    if known is None:
        return generic()
    x = np.ravel(np.asarray(data))
    if not np.isfinite(x).all():
        raise ValueError("the data contain NaN or inf; drop these values first")
    found = fit(x, self.name, fixed=known)
    if not np.isfinite(found.loglik):
        raise FitError(f"the fit has no parameters: {found.message}")
    best, exact = found._of_class()
    if not exact:
        warn(f"the likelihood rises to a limit, the {found.limit} distribution: these parameters are near it", ConvergenceWarning)
    return tuple(map(float, (*best._standard(), best.loc, best.scale)))


def _fit_of_scipy(self: Any, data: Any, *args: Any, **kwds: Any) -> tuple[Any, ...]:
    """SciPy's own fit, from its start; ours has none for a truncated normal distribution."""
    from scipy import stats

    try:
        return tuple(map(float, stats.truncnorm.fit(data, *args, **kwds)))
    except stats.FitError as error:
        raise stats.FitError(
            f"SciPy's truncnorm.fit finds no parameters ({error or 'no reason given'}); of ends, loc and scale few data tell all "
            "four: fix what is known, as fa=, fb=, floc=, fscale=, with (fa, fb) = (ends - loc)/scale"
        ) from error


def _unless_lazy(plain: Any, method: str) -> Any:
    """A method for what is in memory: SciPy's would compute an array of dask and say nothing."""

    def in_memory(self: Any, *args: Any, **kwds: Any) -> Any:
        for value in (*args, *kwds.values()):
            refuse_lazy(value, f"an argument of {method}")
        return getattr(plain, method)(self, *args, **kwds)

    return functools.update_wrapper(in_memory, getattr(plain, method))


_CLASSES = {
    "norm": Normal,
    "t": StudentT,
    "truncnorm": TruncatedNormal,
    "norminvgauss": NIG,
    "genhyperbolic": GeneralizedHyperbolic,
}


_IN_MEMORY = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "mean", "var", "std", "median", "stats", "entropy")
_IN_MEMORY += ("moment", "interval", "expect")


@functools.cache
def _drop_in(name: str) -> Any:
    """SciPy's distribution of a name on our functions, with our fit."""
    family = _CLASSES[name]
    plain = scipy_family(family)
    methods = {m: _unless_lazy(type(plain), m) for m in _IN_MEMORY}
    methods |= {"fit": _fit_of_scipy if name == "truncnorm" else _fit, "__reduce__": lambda self: (_drop_in, (name,))}
    return type(f"numbastats_{name}", (type(plain),), methods)(name=plain.name, shapes=plain.shapes)


norm = _drop_in("norm")
t = _drop_in("t")
truncnorm = _drop_in("truncnorm")
norminvgauss = _drop_in("norminvgauss")
genhyperbolic = _drop_in("genhyperbolic")
