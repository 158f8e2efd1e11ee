"""What each family of components does to the data before the common kernels, and how its parameters are called."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Literal, TypeAlias

import numpy as np

from numbastats._core.checks import letters
from numbastats._core.refusals import Admitted
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam
from numbastats.scalar import transforms

Name: TypeAlias = Literal[
    "normal",
    "gaussian",
    "inverse_gaussian",
    "gamma",
    "lognormal",
    "inverse_gamma",
    "reciprocal_inverse_gaussian",
    "exponential",
    "poisson",
    "geometric",
    "rayleigh",
    "maxwell",
    "student_t",
    "skew_normal",
    "negative_binomial",
    "half_normal",
]  # the type checker takes no words from FAMILIES


TRANSFORMS = {name: transform.on_arrays() for name, transform in transforms.TRANSFORMS.items()}
CODES = tuple(TRANSFORMS)  # a kernel knows a transform by its place


@dataclasses.dataclass(frozen=True)
class Family:
    """Distribution of the components: y = g(x) follows a base family.

    Attributes
    ----------
    name : str
    base : int
        Code of `numbastats.scalar.mixture`.
    param : str
        Name of the second parameter, empty for families of one.
    transform : str
        Name of g in `TRANSFORMS`.
    shape : float
        Fixed shape of a gamma base.
    constant : float
        Exponent of "power", minimum of "log_ratio".
    code : int
        What kernels call it: `base`, or the code of `numbastats.scalar.latent`; the base then serves the statistics of the data
        and the starts.
    third : str
        Name of the third parameter, empty for families without.
    """

    name: str
    base: int
    param: str = ""
    transform: str = "identity"
    shape: float = 1.0
    constant: float = 1.0
    code: int = -1
    third: str = ""

    def __post_init__(self):
        if self.code < 0:
            object.__setattr__(self, "code", self.base)

    @functools.cached_property
    def label(self):
        """What users call it: its name, or with its constant a tuple."""
        if FAMILIES.get(self.name) == self:
            return self.name
        return self.name, self.shape if self.transform == "identity" else self.constant

    @functools.cached_property
    def parameters(self):
        """Names of a component's parameters: the first is a mean, of x or of what the transform makes of x."""
        centre = "location" if self.third else TRANSFORMS[self.transform].centre
        return tuple(filter(None, (centre, self.param, self.third)))

    @functools.cached_property
    def latent(self):
        """Whether a component has a latent variable, and kernels of its own."""
        return self.code > fam.GEOMETRIC

    @functools.cached_property
    def rows(self):
        """Rows of a parameter array of the kernels."""
        return 1 + len(self.parameters) if self.latent else 3

    @functools.cached_property
    def of_x(self):
        """Whether the first parameter is the mean of x itself."""
        return self.transform == "identity" and not self.third

    def component_means(self, m, p):
        """Means of x from the parameters that results have, infinite where the mean is."""
        return self.moments(m, p)[0]

    def moments(self, m, p):
        """Means and variances of x from the parameters that results have, infinite where these are."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.name == "reciprocal_inverse_gaussian":
                return 1.0 / m + 1.0 / p, (1.0 / m + 2.0 / p) / p
            d = self.component(m, np.moveaxis(p, -2, 0) if self.third else p)
            return np.asarray(d.mean()), np.asarray(d.var())

    @functools.cached_property
    def two(self):
        """Whether a component has a dispersion besides its mean."""
        return self.base <= fam.GAMMA or self.latent

    @functools.cached_property
    def log_base(self):
        """(b, k) of h(y) = b log y + k, the part of a component's log density that does not depend on its parameters.

        For gamma distributions of a fixed shape and Poisson distributions h(y) is the log density of the component with the mean
        c: no terms of the size of the shape or the counts are left to cancel.
        """
        return _LOG_BASE.get(self.base, (0.0, 0.0))

    @functools.cached_property
    def discrete(self):
        """Whether the data are counts."""
        return self.base >= fam.POISSON

    @functools.cached_property
    def minimum(self):
        """Largest lower bound of the support, -inf for the real line."""
        if self.base == fam.GAUSSIAN and self.transform == "identity":
            return -math.inf
        return self.constant if self.transform == "log_ratio" else 0.0

    def outside(self, x):
        """Which values lie outside the support."""
        if self.discrete:
            return (x < 0) | (x != np.floor(x))
        return x < self.minimum if self.closed else x <= self.minimum

    @functools.cached_property
    def admitted(self):
        """The values that fits take."""
        return Admitted(self.name, self.minimum, closed=self.closed or self.discrete, whole=self.discrete)

    @functools.cached_property
    def closed(self):
        """Whether the density at the minimum is positive and finite, whatever the mean: it goes with y^(shape - 1/degree)."""
        return self.base == fam.FIXED_GAMMA and self.degree * self.shape == 1.0

    def log_forward(self, x):
        """log g(x), also where g(x) over- or underflows."""
        return TRANSFORMS[self.transform].log_forward(x, self.constant)

    def forward(self, x):
        """y = g(x)."""
        return TRANSFORMS[self.transform].forward(x, self.constant)

    def backward(self, y):
        """x = g^-1(y)."""
        return TRANSFORMS[self.transform].backward(y, self.constant)

    @functools.cached_property
    def jacobian(self):
        """(j0, j1, j2) with log|dy/dx| = j0 + j1 log y + j2 y."""
        return TRANSFORMS[self.transform].jacobian(self.constant)

    @functools.cached_property
    def degree(self):
        """The power of x that g is, 1 for what is none."""
        return TRANSFORMS[self.transform].degree(self.constant)

    def parameter(self, v):
        """The second parameter from the dispersion; the inverse map is the same function."""
        return v if self.base == fam.GAUSSIAN else 1.0 / v

    def params_of(self, rows):
        """What users call `params`, (K,) or (2, K), from the rows (..., K) of the kernels after the centre."""
        if self.third:
            return np.stack([np.sqrt(rows[0]), rows[1]], axis=-2 if np.ndim(rows[0]) else 0)
        return rows[0] if self.latent else self.parameter(rows[0])

    def rows_of(self, params):
        """The inverse: rows of the kernels from (..., K) or (..., 2, K), as a list."""
        if self.third:
            return [params[..., 0, :] ** 2, params[..., 1, :]]
        return [params if self.latent else self.parameter(params)]

    def component(self, m, p):
        """One component as a distribution of `numbastats.distributions`, of the parameters that results have."""
        make = _COMPONENTS.get(self.name) or _COUNTS.get(self.name)
        if make is None:
            raise TypeError(
                f"family={self.label!r} has no class in numbastats.distributions; the fit's own pdf, cdf, ppf and rvs are those "
                "of the mixture"
            )
        from numbastats import distributions

        return make(distributions, self, m, p)

    def components(self, par):
        """Components of parameters (rows, ...), as the kernels have them, as one distribution."""
        params = self.params_of(par[2:]) if self.two else par[2]
        return self.component(par[1], np.moveaxis(params, -2, 0) if self.third and params.ndim > 1 else params)

    def mixture(self, par):
        """The mixture of parameters (rows, K), as the kernels have them, as a distribution of `numbastats.distributions`."""
        from numbastats.distributions import Mixture

        return Mixture([self.components(p) for p in par.T], par[0])

    @functools.cached_property
    def tabled(self):
        """Whether many quantiles come from a table; next to a finite end of the support that has no digits to spare."""
        return self.name in _COMPONENTS and self.minimum <= 0.0


_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_LOG_BASE = {
    fam.INVERSE_GAUSSIAN: (-1.5, -_HALF_LOG_2PI),
    fam.GAUSSIAN: (0.0, -_HALF_LOG_2PI),
    fam.GAMMA: (-1.0, 0.0),
    fam.FIXED_GAMMA: (-1.0, 0.0),
}
_COMPONENTS = {  # made of numbastats.distributions, a family and the parameters that results have
    "normal": lambda D, f, m, p: D.Normal(m, np.sqrt(p)),
    "inverse_gaussian": lambda D, f, m, p: D.InverseGaussian(m, p),
    "gamma": lambda D, f, m, p: (lambda a: D.Gamma(a, scale=m / a))(f.shape if f.base == fam.FIXED_GAMMA else p),
    "lognormal": lambda D, f, m, p: D.Lognormal(np.sqrt(p), scale=np.exp(m)),
    "inverse_gamma": lambda D, f, m, p: D.InverseGamma(p, scale=p / m),
    "exponential": lambda D, f, m, p: D.Exponential(scale=m),
    "rayleigh": lambda D, f, m, p: D.Rayleigh(scale=np.sqrt(m)),
    "maxwell": lambda D, f, m, p: D.Maxwell(scale=np.sqrt(m / 3.0)),
    "half_normal": lambda D, f, m, p: D.HalfNormal(scale=np.sqrt(m)),
    "student_t": lambda D, f, m, p: D.StudentT(p[1], m, p[0]),
    "skew_normal": lambda D, f, m, p: D.SkewNormal(p[1], m, p[0]),
    "weibull": lambda D, f, m, p: D.Weibull(f.constant, scale=m ** (1.0 / f.constant)),
    "pareto": lambda D, f, m, p: D.Pareto(1.0 / m, scale=f.constant),
}
_COUNTS = {
    "poisson": lambda D, f, m, p: D.Poisson(m),
    "geometric": lambda D, f, m, p: D.Geometric(m),
    "negative_binomial": lambda D, f, m, p: D.NegativeBinomial(m, p),
}
FAMILIES = {
    f.name: f
    for f in (
        Family("inverse_gaussian", fam.INVERSE_GAUSSIAN, "lambda"),
        Family("normal", fam.GAUSSIAN, "variance"),
        Family("gamma", fam.GAMMA, "shape"),
        Family("lognormal", fam.GAUSSIAN, "variance_log", "log"),
        Family("inverse_gamma", fam.GAMMA, "shape", "reciprocal"),
        Family("reciprocal_inverse_gaussian", fam.INVERSE_GAUSSIAN, "lambda", "reciprocal"),
        Family("exponential", fam.FIXED_GAMMA),
        Family("poisson", fam.POISSON),
        Family("geometric", fam.GEOMETRIC),
        Family("rayleigh", fam.FIXED_GAMMA, "", "half_square"),
        Family("maxwell", fam.FIXED_GAMMA, "", "square", 1.5),
        Family("student_t", fam.GAUSSIAN, "scale", code=lat.STUDENT_T, third="df"),
        Family("skew_normal", fam.GAUSSIAN, "scale", code=lat.SKEW_NORMAL, third="shape"),
        Family("negative_binomial", fam.POISSON, "size", code=lat.NEGATIVE_BINOMIAL),
        Family("half_normal", fam.FIXED_GAMMA, "", "square", 0.5),
    )
}


def _plain(family):
    """A family whose word is written in another way, as "Student-t" or "gaussian", as it stands in `FAMILIES`."""
    if isinstance(family, tuple) and len(family) == 2:
        return _plain(family[0]), family[1]
    if isinstance(family, str) and family not in FAMILIES:
        return _WORDS.get(letters(family), family)
    return family


def of_several_columns(family):
    """The name, from any spelling, of a family that rows of several columns have; None of others."""
    word = _plain(family[0] if isinstance(family, tuple) and family else family)
    return word if isinstance(word, str) and word in ("normal", "student_t") else None


_WORDS = {letters(word): word for word in (*FAMILIES, "weibull", "pareto")} | {"gaussian": "normal"}
_KNOWN = (
    f"one of {', '.join(map(repr, FAMILIES))} ('gaussian' is 'normal'), or ('weibull', shape), ('pareto', minimum), "
    "('gamma', shape) with a positive constant"
)


def names_distributions(family):
    """Whether the components are distributions of `numbastats.distributions` that have no passes of their own here."""
    if isinstance(family, Family):
        return False
    family = _plain(family)
    if isinstance(family, type):
        return _own_name(family) is None
    if isinstance(family, tuple):
        return len(family) == 2 and isinstance(family[1], Mapping)
    return isinstance(family, list) or (isinstance(family, str) and family not in FAMILIES)


def names_each(family):
    """Whether a pair fixes a parameter for each component by itself."""
    return isinstance(family, tuple) and isinstance(family[-1], Mapping) and any(np.ndim(v) for v in family[-1].values())


def _own_name(cls):
    """The family whose components are distributions of a class of the library, None if there is none."""
    name = getattr(cls, "family", None)
    return name if name in FAMILIES and cls.__module__.startswith("numbastats.distributions.") else None


def family_of(family) -> Family:
    """Family by name, or ``("weibull", k)``, ``("pareto", minimum)``, ``("gamma", shape)`` with a fixed constant."""
    if isinstance(family, Family):
        return family
    plain = _plain(family)
    word = _own_name(plain) if isinstance(plain, type) else plain
    if isinstance(word, str) and word in FAMILIES:
        return FAMILIES[word]
    if names_distributions(family):
        raise ValueError(
            f"family={family!r} is not known here; `fit`, `fit_many` and `Mixture` take every class of numbastats.distributions, "
            f"and the fit's `distribution` has its functions. Use {_KNOWN}"
        )
    if family is None:
        raise TypeError(f"family is missing: name the distribution of the components, as in family='normal'. Use {_KNOWN}")
    if not isinstance(family, str | tuple | type):
        from numbastats.distributions import Distribution

        Distribution._weighted_fits(family, None)  # says what to pass
    if isinstance(plain, tuple) and len(plain) == 2 and isinstance(plain[0], str):
        name, value = plain[0], float(plain[1])
        if name == "gamma" and 0.0 < value < math.inf:
            return Family(name, fam.FIXED_GAMMA, shape=value)
        if name in ("weibull", "pareto") and 0.0 < value < math.inf:
            return Family(name, fam.FIXED_GAMMA, "", "power" if name == "weibull" else "log_ratio", 1.0, value)
    raise ValueError(f"family={family!r} is not known; use {_KNOWN}")


def log_ratio(y, m):
    """log(y/m) for y, m > 0, also where y/m over- or underflows."""
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        ratio = y / m
        return np.where((ratio > 1e-300) & (ratio < math.inf), np.log(ratio), np.log(y) - np.log(m))


def excess(y, m):
    """y log(y/m) - y + m for y, m > 0 without cancellation.

    C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
    """
    v = 0.5 * (y - m) / (0.5 * y + 0.5 * m)
    near = np.abs(v) < 0.1
    s = np.where(near, v, 0.0)
    series = 0.0
    for n in range(19, 1, -2):
        series = s * s * (1.0 / n + series)
    return np.where(near, (y - m) * s + y * (2.0 * s * series), y * log_ratio(y, m) - (y - m))


def count_base(y):
    """y log y - y - log y! of counts: their log probabilities for means that they are themselves."""
    return np.where(y > 0.0, poisson_base(y, np.maximum(y, 1.0)), 0.0)


def poisson_base(y, m):
    """Log probability of the count y for the mean m."""
    from numbastats.distributions import Poisson

    return Poisson(m).logpmf(y)
