"""Kernels: the pass over the rows of X, the scales and the coefficients of chains, random numbers, elementwise functions."""

from numbastats.bayes.kernels.algebra import KICK, LATENT_DRAW, NORMAL_DRAW, ROTATION, SWEEPS, WEIGHING, WORK
from numbastats.bayes.kernels.conditionals import CONDITIONALS, SCALES
from numbastats.bayes.kernels.draws import DRAWS, GAMMA, LATENT_STAGE, STAGES
from numbastats.bayes.kernels.functions import ELEMENTWISE
from numbastats.bayes.kernels.lanes import LANES
from numbastats.bayes.kernels.likelihood import (
    GROUP,
    LATENT,
    OFFSET,
    OUTCOME,
    OWN,
    SINGLE,
    TOTALS,
    UPPER,
    WEIGHT,
    latent_row,
    tile_rows,
)
from numbastats.bayes.kernels.predictor import COLUMNS, FACTORS, INWARDS, NORMAL, OUTWARDS, PULL

__all__ = [
    "COLUMNS",
    "CONDITIONALS",
    "DRAWS",
    "ELEMENTWISE",
    "FACTORS",
    "GAMMA",
    "GROUP",
    "INWARDS",
    "KICK",
    "LANES",
    "LATENT",
    "LATENT_DRAW",
    "LATENT_STAGE",
    "NORMAL",
    "NORMAL_DRAW",
    "OFFSET",
    "OUTCOME",
    "OUTWARDS",
    "OWN",
    "PULL",
    "ROTATION",
    "SCALES",
    "SINGLE",
    "STAGES",
    "SWEEPS",
    "TOTALS",
    "UPPER",
    "WEIGHING",
    "WEIGHT",
    "WORK",
    "latent_row",
    "tile_rows",
]
