"""All that is jitted for mixtures: a file per job, each with its CPU and CUDA twin around shared bodies.

``prepare``: statistics and cells of every data set. ``starts``: start values. ``insertion``: where a mixture lacks
a component. ``choice``: which starts are climbed from, and which climb is the fit. ``climb``: from these to an optimum, on the
host.
``rounds``: the same on a GPU, a pass and a step of all climbs in turn. ``passes``: sums over the observations. ``scores``: log
densities, responsibilities and labels. ``draws``: from normal
mixtures. ``latent``: climbs and densities of families that have a latent variable. Shared by these:
``parameters`` (the M-step), ``newton`` (derivatives, step, certificate), ``records`` (what kernels pass to each other),
``on_host`` (what the host calls).
"""

from numbastats.mixture.kernels import insertion, on_host
from numbastats.mixture.kernels.choice import CHOOSE, FEW, PICK, Rules
from numbastats.mixture.kernels.climb import ACCELERATE, CLIMB
from numbastats.mixture.kernels.draws import DRAWS
from numbastats.mixture.kernels.entropy import ENTROPY
from numbastats.mixture.kernels.insertion import INSERTION, LATENT_LOGS
from numbastats.mixture.kernels.latent import LATENT_CLIMBS, LATENT_SCORES, OWN
from numbastats.mixture.kernels.passes import SUMS, known
from numbastats.mixture.kernels.prepare import PREPARE
from numbastats.mixture.kernels.rounds import ADVANCE, ADVANCE_ANY, LATENT_ADVANCE, LATENT_PASSES, PASSES, latent_sums
from numbastats.mixture.kernels.scores import DENSITY, LABELS, SCORES
from numbastats.mixture.kernels.starts import STARTS

__all__ = [
    "ACCELERATE",
    "ADVANCE",
    "ADVANCE_ANY",
    "CHOOSE",
    "CLIMB",
    "DENSITY",
    "DRAWS",
    "ENTROPY",
    "FEW",
    "INSERTION",
    "LABELS",
    "LATENT_ADVANCE",
    "LATENT_CLIMBS",
    "LATENT_LOGS",
    "LATENT_PASSES",
    "LATENT_SCORES",
    "OWN",
    "PASSES",
    "PICK",
    "PREPARE",
    "SCORES",
    "Rules",
    "STARTS",
    "SUMS",
    "insertion",
    "known",
    "latent_sums",
    "on_host",
]
