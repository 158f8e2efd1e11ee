"""Exponential lifetimes of the mean e^m: Weibull ones with sigma = 1."""

from __future__ import annotations

from numbastats.bayes.responses.accelerated import accelerated
from numbastats.bayes.responses.weibull import SHAPES

EXPONENTIAL = accelerated(*SHAPES, sigma=False, word="exponential")
