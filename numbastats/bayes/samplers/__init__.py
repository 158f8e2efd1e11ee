"""Samplers, a record in a file each: a state, how it starts, and one step."""

# The code is written by tools/discover.py.

from numbastats.bayes.samplers.expanded import EXPANDED
from numbastats.bayes.samplers.hamiltonian import HAMILTONIAN
from numbastats.bayes.samplers.latent import LATENT
from numbastats.bayes.samplers.normal import NORMAL
from numbastats.bayes.samplers.predictor import PREDICTOR
from numbastats.bayes.samplers.record import Sampler
from numbastats.bayes.samplers.surrogate import SURROGATE
from numbastats.bayes.samplers.wide import WIDE

__all__ = ["EXPANDED", "HAMILTONIAN", "LATENT", "NORMAL", "PREDICTOR", "SAMPLERS", "SURROGATE", "WIDE"]

SAMPLERS: dict[str, Sampler] = dict(
    expanded=EXPANDED, hamiltonian=HAMILTONIAN, latent=LATENT, normal=NORMAL, predictor=PREDICTOR, surrogate=SURROGATE, wide=WIDE
)
