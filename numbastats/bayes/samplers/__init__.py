"""Samplers, a record in a file each: a state, how it starts, and one step."""

from __future__ import annotations

from numbastats.bayes.samplers.expanded import EXPANDED
from numbastats.bayes.samplers.hamiltonian import HAMILTONIAN
from numbastats.bayes.samplers.latent import LATENT
from numbastats.bayes.samplers.normal import NORMAL
from numbastats.bayes.samplers.record import Sampler
from numbastats.bayes.samplers.surrogate import SURROGATE
from numbastats.bayes.samplers.wide import WIDE

__all__ = ["EXPANDED", "HAMILTONIAN", "LATENT", "NORMAL", "SAMPLERS", "SURROGATE", "WIDE"]

SAMPLERS: dict[str, Sampler] = {record.name: record for record in (EXPANDED, HAMILTONIAN, LATENT, NORMAL, SURROGATE, WIDE)}
