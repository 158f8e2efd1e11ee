"""Kernels: the pass over the rows of X, the scales given the coefficients, random numbers, elementwise functions."""

from numbastats.bayes.kernels.conditionals import CONDITIONALS, SCALES
from numbastats.bayes.kernels.draws import DRAWS, GAMMA, LATENT_STAGE, STAGES
from numbastats.bayes.kernels.functions import ELEMENTWISE
from numbastats.bayes.kernels.likelihood import GROUP, LATENT, OFFSET, OUTCOME, TOTALS, WEIGHT, latent_row, tile_rows

__all__ = [
    "CONDITIONALS",
    "DRAWS",
    "ELEMENTWISE",
    "GAMMA",
    "GROUP",
    "LATENT",
    "LATENT_STAGE",
    "OFFSET",
    "OUTCOME",
    "SCALES",
    "STAGES",
    "TOTALS",
    "WEIGHT",
    "latent_row",
    "tile_rows",
]
