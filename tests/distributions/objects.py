"""Distribution objects, one or two of each class: what is true of all distributions is tested with these."""

from __future__ import annotations

from numbastats.distributions import (
    GEV,
    GPD,
    NIG,
    AsymmetricLaplace,
    Beta,
    Binomial,
    BirnbaumSaunders,
    BurrXII,
    Cauchy,
    ChiSquared,
    ExGaussian,
    Exponential,
    Frechet,
    Gamma,
    GeneralizedGamma,
    GeneralizedHyperbolic,
    GeneralizedNormal,
    Geometric,
    Gumbel,
    GumbelMin,
    HalfNormal,
    Hyperbolic,
    InverseGamma,
    InverseGaussian,
    JohnsonSU,
    Kumaraswamy,
    Laplace,
    Logistic,
    LogLogistic,
    Lognormal,
    Lomax,
    Maxwell,
    NegativeBinomial,
    Normal,
    Pareto,
    PearsonIII,
    Poisson,
    Rayleigh,
    SkewNormal,
    SkewT,
    Stable,
    StudentT,
    TruncatedNormal,
    Uniform,
    VarianceGamma,
    Weibull,
)

__all__ = ["COUNTS", "OBJECTS", "has_kernels", "is_transformed"]

COUNTS = [Poisson(3.5), NegativeBinomial(3.0, 2.5), Geometric(2.0), Binomial(12, 0.3)]  # whose tests are in test_counts

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
    Pareto(4.5, 0.5, 2.0),
    Lomax(4.5, 0.5, 2.0),
    LogLogistic(5.5, 0.5, 2.0),
    InverseGamma(5.5, 0.5, 2.0),
    Frechet(5.5, 0.5, 2.0),
    GumbelMin(0.5, 2.0),
    Rayleigh(0.5, 2.0),
    Maxwell(0.5, 2.0),
    HalfNormal(0.5, 2.0),
    BirnbaumSaunders(0.7, 0.5, 2.0),
    GeneralizedNormal(1.5, 0.5, 2.0),
    AsymmetricLaplace(0.6, 0.5, 2.0),
    GeneralizedGamma(2.5, 0.8, 0.5, 2.0),
    BurrXII(3.0, 2.5, 0.5, 2.0),
    PearsonIII(0.7, 0.5, 2.0),
    PearsonIII(-1.2, 0.5, 2.0),
    SkewNormal(2.5, 0.5, 2.0),
    SkewT(2.0, 5.5, 0.5, 2.0),
    ExGaussian(1.5, 0.5, 2.0),
    JohnsonSU(-0.5, 1.8, 0.5, 2.0),
    Kumaraswamy(2.5, 3.5, 0.5, 2.0),
]


def has_kernels(d):
    """Whether all its functions of x are kernels."""
    return d._kernels is not None and d._kernels.with_tails


def is_transformed(d):
    """Whether its functions are those of another family, whose kernels are tested in all their versions."""
    return d._kernels is not None and hasattr(d._kernels.formulas, "transformed")
