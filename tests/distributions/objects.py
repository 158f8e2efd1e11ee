"""Distribution objects, one or two of each class: what is true of all distributions is tested with these."""

from __future__ import annotations

from numbastats.distributions import (
    GEV,
    GPD,
    NIG,
    Beta,
    Cauchy,
    ChiSquared,
    Exponential,
    Gamma,
    GeneralizedHyperbolic,
    Gumbel,
    Hyperbolic,
    InverseGaussian,
    Laplace,
    Logistic,
    Lognormal,
    Normal,
    Stable,
    StudentT,
    TruncatedNormal,
    Uniform,
    VarianceGamma,
    Weibull,
)

__all__ = ["OBJECTS"]

OBJECTS = [
    Normal(1.0, 2.0),
    StudentT(4.5, -1.0, 0.5),
    GeneralizedHyperbolic(1.5, 2.0, 0.5, 1.0, 0.3),
    Hyperbolic(1.5, 0.3, 1.0, -0.2),
    NIG(1.5, 0.3, 1.0, 0.1),
    VarianceGamma(1.3, 1.5, 0.3, 0.2),
    Stable(1.7, 0.4, 0.5, 2.0),
    Stable(0.8, -0.5, 0.5, 2.0, param="S1"),
    TruncatedNormal(-1.0, 4.0, 0.5, 2.0),
    Gamma(2.5, 0.5, 2.0),
    InverseGaussian(2.0, 3.0, -1.0),
    Lognormal(0.5, 1.0, 2.0),
    Weibull(1.7, -1.0, 2.0),
    Beta(2.0, 3.5, 1.0, 4.0),
    ChiSquared(3.0, 0.5, 2.0),
    Exponential(0.5, 2.0),
    Laplace(0.5, 2.0),
    Logistic(0.5, 2.0),
    Cauchy(0.5, 2.0),
    Uniform(0.5, 2.0),
    Gumbel(0.5, 2.0),
    GEV(0.15, 0.5, 2.0),
    GEV(-0.3, 0.5, 2.0),
    GPD(0.15, 0.5, 2.0),
    GPD(-0.3, 0.5, 2.0),
]
