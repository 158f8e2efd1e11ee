"""Distributions: objects with named parameters, and families of functions.

=========================== ======================================================================================================
parameters                  classes
=========================== ======================================================================================================
loc, scale                  `Cauchy`, `Exponential`, `Gumbel`, `GumbelMin`, `HalfNormal`, `Landau`, `Laplace`, `Logistic`,
                            `Maxwell`, `Normal`, `Rayleigh`, `Uniform`
K, loc, scale               `ExGaussian`
beta, loc, scale            `GeneralizedNormal`
df, loc, scale              `ChiSquared`, `StudentT`
kappa, loc, scale           `AsymmetricLaplace`
mean, shape, loc            `InverseGaussian`
shape, loc, scale           `BirnbaumSaunders`, `Frechet`, `GEV`, `GPD`, `Gamma`, `InverseGamma`, `LogLogistic`, `Lomax`,
                            `Pareto`, `SkewNormal`, `Weibull`
sigma, loc, scale           `Lognormal`
skew, loc, scale            `PearsonIII`
a, b, loc, scale            `Beta`, `JohnsonSU`, `Kumaraswamy`
a, c, loc, scale            `GeneralizedGamma`
alpha, beta, delta, mu      `Hyperbolic`, `NIG`
alpha, beta, loc, scale     `Stable`
c, d, loc, scale            `BurrXII`
lam, alpha, beta, mu        `VarianceGamma`
lower, upper, loc, scale    `TruncatedNormal`
shape, df, loc, scale       `SkewT`
lam, alpha, beta, delta, mu `GeneralizedHyperbolic`
mean                        `Geometric`, `Poisson`
mean, size                  `NegativeBinomial`
n, p                        `Binomial`
=========================== ======================================================================================================

All have the protocol of `Distribution`: ``pdf logpdf cdf logcdf sf logsf ppf isf`` of x, which broadcasts against the
parameters, ``rvs(size, rng=)``, ``mean() var() std() skewness() kurtosis() entropy() median() support()``,
``interval(confidence)``, ``expect(func)``, ``expected_shortfall(p)``, ``score(x)``, the named tuple `params`, and
``to_scipy()``. The last rows are of counts, which have ``pmf logpmf`` in the place of ``pdf logpdf``. Distributions
are immutable, can be compared and hashed, and print as code.

>>> from numbastats.distributions import NIG, Normal, StudentT
>>> losses = StudentT(df=4.0, loc=[0.0, 0.1], scale=0.01)  # two distributions
>>> losses.batch_shape, losses.sf(0.1).shape
((2,), (2,))
>>> losses == eval(repr(losses)), NIG(1.5, 0.3, 1.0).params.delta
(True, 1.0)
>>> f"{Normal().sf(10.0):.8e}", f"{Normal().logsf(1e10):.8e}"  # tails keep their digits
('7.61985302e-24', '-5.00000000e+19')

`fit` estimates the parameters of one data set, `fit_many` those of every series of an array, and `standardise` turns series into
normal scores by the fit to each. What follows from a fit has its error by its method `estimate`; `compare` orders families by a
criterion, `goodness` tests whether one fits, and `lmoments` describes samples. `survival` is the distribution of censored values
without a family, `survival_many` that of each group.

Five classes are functions with data and parameters, too: ``student_t.pdf(x, nu)`` and the like broadcast over their parameters
and give NaN out of the domain, and ``student_t(nu)`` is ``StudentT(nu).table()``.
"""

# The imports of families, `__all__` and the table are written by tools/discover.py.

from numbastats.distributions.composition import Mixture, abs, exp, log, order_statistic, truncate, with_zeros
from numbastats.distributions.defining import define
from numbastats.distributions.families.asymmetric_laplace import AsymmetricLaplace
from numbastats.distributions.families.beta import Beta
from numbastats.distributions.families.binomial import Binomial
from numbastats.distributions.families.birnbaum_saunders import BirnbaumSaunders
from numbastats.distributions.families.burr_xii import BurrXII
from numbastats.distributions.families.cauchy import Cauchy
from numbastats.distributions.families.chi_squared import ChiSquared
from numbastats.distributions.families.ex_gaussian import ExGaussian
from numbastats.distributions.families.exponential import Exponential
from numbastats.distributions.families.frechet import Frechet
from numbastats.distributions.families.gamma import Gamma
from numbastats.distributions.families.generalized_gamma import GeneralizedGamma
from numbastats.distributions.families.generalized_normal import GeneralizedNormal
from numbastats.distributions.families.geometric import Geometric
from numbastats.distributions.families.gev import GEV
from numbastats.distributions.families.gpd import GPD
from numbastats.distributions.families.gumbel import Gumbel
from numbastats.distributions.families.gumbel_min import GumbelMin
from numbastats.distributions.families.half_normal import HalfNormal
from numbastats.distributions.families.hyperbolic import NIG, GeneralizedHyperbolic, Hyperbolic, VarianceGamma
from numbastats.distributions.families.inverse_gamma import InverseGamma
from numbastats.distributions.families.inverse_gaussian import InverseGaussian
from numbastats.distributions.families.johnson_su import JohnsonSU
from numbastats.distributions.families.kumaraswamy import Kumaraswamy
from numbastats.distributions.families.laplace import Laplace
from numbastats.distributions.families.log_logistic import LogLogistic
from numbastats.distributions.families.logistic import Logistic
from numbastats.distributions.families.lognormal import Lognormal
from numbastats.distributions.families.lomax import Lomax
from numbastats.distributions.families.maxwell import Maxwell
from numbastats.distributions.families.negative_binomial import NegativeBinomial
from numbastats.distributions.families.normal import Normal
from numbastats.distributions.families.pareto import Pareto
from numbastats.distributions.families.pearson_iii import PearsonIII
from numbastats.distributions.families.poisson import Poisson
from numbastats.distributions.families.rayleigh import Rayleigh
from numbastats.distributions.families.skew_normal import SkewNormal
from numbastats.distributions.families.skew_t import SkewT
from numbastats.distributions.families.stable import Landau, Stable
from numbastats.distributions.families.student_t import StudentT
from numbastats.distributions.families.truncated_normal import TruncatedNormal
from numbastats.distributions.families.uniform import Uniform
from numbastats.distributions.families.weibull import Weibull
from numbastats.distributions.fitting import DistributionFit, DistributionFits, fit, fit_many
from numbastats.distributions.functions import Family, generalized_hyperbolic, hyperbolic, nig, student_t, variance_gamma
from numbastats.distributions.inference import (
    Comparison,
    Comparisons,
    Estimate,
    Estimates,
    GoodnessOfFit,
    GoodnessOfFits,
    compare,
    compare_many,
    goodness,
    goodness_many,
)
from numbastats.distributions.lmoments import LMoments, lmoments
from numbastats.distributions.nonparametric import Survival, Survivals, survival, survival_many
from numbastats.distributions.protocol import Distribution
from numbastats.distributions.standardise import standardise
from numbastats.distributions.tables import FrozenDistribution

__all__ = [
    "AsymmetricLaplace",
    "Beta",
    "Binomial",
    "BirnbaumSaunders",
    "BurrXII",
    "Cauchy",
    "ChiSquared",
    "Comparison",
    "Comparisons",
    "Distribution",
    "DistributionFit",
    "DistributionFits",
    "Estimate",
    "Estimates",
    "ExGaussian",
    "Exponential",
    "Family",
    "Frechet",
    "FrozenDistribution",
    "GEV",
    "GPD",
    "Gamma",
    "GeneralizedGamma",
    "GeneralizedHyperbolic",
    "GeneralizedNormal",
    "Geometric",
    "GoodnessOfFit",
    "GoodnessOfFits",
    "Gumbel",
    "GumbelMin",
    "HalfNormal",
    "Hyperbolic",
    "InverseGamma",
    "InverseGaussian",
    "JohnsonSU",
    "Kumaraswamy",
    "LMoments",
    "Landau",
    "Laplace",
    "LogLogistic",
    "Logistic",
    "Lognormal",
    "Lomax",
    "Maxwell",
    "Mixture",
    "NIG",
    "NegativeBinomial",
    "Normal",
    "Pareto",
    "PearsonIII",
    "Poisson",
    "Rayleigh",
    "SkewNormal",
    "SkewT",
    "Stable",
    "StudentT",
    "Survival",
    "Survivals",
    "TruncatedNormal",
    "Uniform",
    "VarianceGamma",
    "Weibull",
    "abs",
    "compare",
    "compare_many",
    "define",
    "exp",
    "fit",
    "fit_many",
    "generalized_hyperbolic",
    "goodness",
    "goodness_many",
    "hyperbolic",
    "lmoments",
    "log",
    "nig",
    "order_statistic",
    "standardise",
    "student_t",
    "survival",
    "survival_many",
    "truncate",
    "variance_gamma",
    "with_zeros",
]


def __dir__():
    return sorted(__all__)
