"""All that is jitted for mixtures: a file per job, each with its CPU and CUDA twin around shared bodies.

``prepare``: statistics and cells of every data set. ``starts``: start values. ``climb``: from these to an optimum. ``passes``:
sums over the observations. ``scores``: log densities and responsibilities. ``latent``: climbs and densities of
families that have a latent variable. Shared by these: ``parameters`` (the M-step), ``newton`` (derivatives, step, certificate),
``records`` (what kernels pass to each other), ``on_host`` (what the host calls).
"""

from numbastats.mixture.kernels import on_host
from numbastats.mixture.kernels.climb import ACCELERATE, CLIMB, CLIMB_SINGLE
from numbastats.mixture.kernels.latent import LATENT_CLIMBS, LATENT_SCORES
from numbastats.mixture.kernels.passes import SUMS
from numbastats.mixture.kernels.prepare import PREPARE
from numbastats.mixture.kernels.scores import SCORES
from numbastats.mixture.kernels.starts import STARTS

__all__ = [
    "ACCELERATE",
    "CLIMB",
    "CLIMB_SINGLE",
    "LATENT_CLIMBS",
    "LATENT_SCORES",
    "PREPARE",
    "SCORES",
    "STARTS",
    "SUMS",
    "on_host",
]
