"""Finite mixtures of distributions, for one data set or many thousands, every fit at a certified local maximum.

Of one column by any family; rows of several columns by normal or Student t mixtures, with full, tied, diagonal or spherical
covariances, beside uniform noise or without it.

>>> import numpy as np, numbastats as ns
>>> rng = np.random.default_rng(7)
>>> x = np.concatenate([rng.wald(1.0, 20.0, 500), rng.wald(5.0, 20.0, 500)])
>>> result = ns.mixture.fit(x, range(1, 4), family="inverse_gaussian", rng=0)
>>> result.n_components, result.status
(2, 0)
"""

from numbastats.mixture.discriminant import MixtureDiscriminantAnalysis
from numbastats.mixture.distributed import combine, em_update, partial_stats
from numbastats.mixture.estimator import Mixture
from numbastats.mixture.fitting import fit, fit_many, likelihood_ratio
from numbastats.mixture.functions import cdf, isf, logpdf, pdf, ppf, responsibilities, rvs, sf
from numbastats.mixture.multivariate.regression import MixtureRegression
from numbastats.mixture.multivariate.resampling import Bootstrap, bootstrap
from numbastats.mixture.multivariate.results import MultivariateBatch, MultivariateFit, NormalMixture, StudentMixture
from numbastats.mixture.paper import bulkem
from numbastats.mixture.results import ComponentsBatch, ComponentsFit, LikelihoodRatio, MixtureBatch, MixtureFit

__all__ = [
    "Bootstrap",
    "ComponentsBatch",
    "ComponentsFit",
    "LikelihoodRatio",
    "Mixture",
    "MixtureBatch",
    "MixtureDiscriminantAnalysis",
    "MixtureFit",
    "MixtureRegression",
    "MultivariateBatch",
    "MultivariateFit",
    "NormalMixture",
    "StudentMixture",
    "bootstrap",
    "bulkem",
    "cdf",
    "combine",
    "em_update",
    "fit",
    "fit_many",
    "isf",
    "likelihood_ratio",
    "logpdf",
    "partial_stats",
    "pdf",
    "ppf",
    "responsibilities",
    "rvs",
    "sf",
]


def __dir__():
    return sorted(__all__)
