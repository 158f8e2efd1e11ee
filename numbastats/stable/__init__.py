"""Alpha-stable distributions: density, distribution, quantile, sampling and estimation, with relative accuracy everywhere."""

from numbastats.stable.estimator import Stable, StableFit, StableFits
from numbastats.stable.fitting import fisher_information, fit, fit_ecf, fit_many, fit_quantile, fit_small_alpha
from numbastats.stable.functions import cdf, convert, isf, logcdf, loglik, logpdf, logsf, pdf, pdf_cdf, ppf, rvs, score, sf
from numbastats.stable.inference import GoodnessOfFit, ProfileInterval, goodness, profile

__all__ = [
    "GoodnessOfFit",
    "ProfileInterval",
    "Stable",
    "StableFit",
    "StableFits",
    "cdf",
    "convert",
    "fisher_information",
    "fit",
    "fit_ecf",
    "fit_many",
    "fit_quantile",
    "fit_small_alpha",
    "goodness",
    "isf",
    "logcdf",
    "loglik",
    "logpdf",
    "logsf",
    "pdf",
    "pdf_cdf",
    "ppf",
    "profile",
    "rvs",
    "score",
    "sf",
]


def __dir__():
    return sorted(__all__)
