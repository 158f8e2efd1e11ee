"""Normal quantiles: fast, accurate and the kernels of Shaw, Luu and Brickman (2011)."""

from numbastats.quantile.normal import antithetic, ndtri, norm_from_exponential, standard_normal

__all__ = ["antithetic", "ndtri", "norm_from_exponential", "standard_normal"]
