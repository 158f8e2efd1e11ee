"""Gibbs sampling of a probit model with parameter expansion."""

from __future__ import annotations

import functools

from numbastats.bayes.samplers.latent import LATENT, problem

EXPANDED = LATENT._replace(name="expanded", word="px-gibbs", problem=functools.partial(problem, expanded=True), heavy_tails=True)
