"""Alpha-stable laws: density, distribution, quantile and sampling, with relative accuracy everywhere."""

from numbastats.stable.distribution import Stable
from numbastats.stable.functions import (
    cdf,
    convert,
    isf,
    logcdf,
    loglik,
    logpdf,
    logsf,
    pdf,
    pdf_cdf,
    ppf,
    rvs,
    score,
    sf,
)

__all__ = [
    "Stable", "cdf", "convert", "isf", "logcdf", "loglik", "logpdf", "logsf", "pdf", "pdf_cdf", "ppf", "rvs", "score", "sf",
]  # fmt: skip
