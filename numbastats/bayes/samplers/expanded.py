"""Gibbs sampling of a probit model with parameter expansion."""

from __future__ import annotations

import functools

from numbastats.bayes.samplers.latent import LATENT, init, problem, step
from numbastats.bayes.samplers.record import Sampler

_problem = functools.partial(problem, expanded=True)
EXPANDED = Sampler("expanded", "px-gibbs", _problem, init, step, by_rows=LATENT.by_rows, heavy_tails=True)
