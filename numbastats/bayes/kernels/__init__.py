"""Kernels: the pass over the rows of X, the scales given the coefficients, random numbers, elementwise functions."""

from numbastats.bayes.kernels.conditionals import CONDITIONALS, SCALES
from numbastats.bayes.kernels.draws import DRAWS, GAMMA, LATENT_STAGE, STAGES
from numbastats.bayes.kernels.functions import ELEMENTWISE
from numbastats.bayes.kernels.likelihood import (
    GROUP,
    LATENT,
    LOGIT,
    LOGLIK,
    OFFSET,
    OUTCOME,
    POISSON,
    TOTALS,
    WEIGHT,
    latent_row,
    tile_rows,
)

__all__ = [
    "CONDITIONALS",
    "DRAWS",
    "ELEMENTWISE",
    "GAMMA",
    "GROUP",
    "LATENT",
    "LATENT_STAGE",
    "LOGIT",
    "LOGLIK",
    "OFFSET",
    "OUTCOME",
    "POISSON",
    "SCALES",
    "STAGES",
    "TOTALS",
    "WEIGHT",
    "latent_row",
    "tile_rows",
]
