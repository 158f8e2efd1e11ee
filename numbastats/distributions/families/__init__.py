"""Families of distributions, a file each: scalar formulas for the user's own kernels, and the class.

The formulas are functions of the standard form, z = (x - loc)/scale, that compile into loops of `numba.njit` and kernels of
`numba.cuda.jit`. ``constants(*shapes)`` is computed once for a set of shape parameters; the others take what it returned:

>>> import math, numba
>>> from numbastats.distributions.families import gamma
>>> @numba.njit
... def log_likelihood(x, shape, scale):
...     c = gamma.constants(shape)
...     total = 0.0
...     for value in x:
...         total += gamma.logpdf(value / scale, c) - math.log(scale)
...     return total
>>> import numpy as np
>>> round(log_likelihood(np.array([1.0, 2.0, 4.0]), 2.0, 1.5), 6)
-5.020016

They are right within the support, and for probabilities between 0 and 1; the methods of the classes are right everywhere.
"""

# The code is written by tools/discover.py.

from numbastats.distributions.families import (
    asymmetric_laplace,
    beta,
    binomial,
    birnbaum_saunders,
    burr_xii,
    cauchy,
    chi_squared,
    ex_gaussian,
    exponential,
    frechet,
    gamma,
    generalized_gamma,
    generalized_normal,
    geometric,
    gev,
    gpd,
    gumbel,
    gumbel_min,
    half_normal,
    hyperbolic,
    inverse_gamma,
    inverse_gaussian,
    johnson_su,
    kumaraswamy,
    laplace,
    log_logistic,
    logistic,
    lognormal,
    lomax,
    maxwell,
    negative_binomial,
    normal,
    pareto,
    pearson_iii,
    poisson,
    rayleigh,
    skew_normal,
    skew_t,
    stable,
    student_t,
    truncated_normal,
    uniform,
    weibull,
)

__all__ = [
    "asymmetric_laplace",
    "beta",
    "binomial",
    "birnbaum_saunders",
    "burr_xii",
    "cauchy",
    "chi_squared",
    "ex_gaussian",
    "exponential",
    "frechet",
    "gamma",
    "generalized_gamma",
    "generalized_normal",
    "geometric",
    "gev",
    "gpd",
    "gumbel",
    "gumbel_min",
    "half_normal",
    "hyperbolic",
    "inverse_gamma",
    "inverse_gaussian",
    "johnson_su",
    "kumaraswamy",
    "laplace",
    "log_logistic",
    "logistic",
    "lognormal",
    "lomax",
    "maxwell",
    "negative_binomial",
    "normal",
    "pareto",
    "pearson_iii",
    "poisson",
    "rayleigh",
    "skew_normal",
    "skew_t",
    "stable",
    "student_t",
    "truncated_normal",
    "uniform",
    "weibull",
]
