"""Counts above 0 of a negative binomial distribution, whose mean with the zeros is e^m."""

from __future__ import annotations

from numbastats.bayes.responses.negative_binomial import NEGATIVE_BINOMIAL
from numbastats.bayes.responses.truncated import zero_truncated

ZERO_TRUNCATED_NEGATIVE_BINOMIAL = zero_truncated(
    NEGATIVE_BINOMIAL,
    NEGATIVE_BINOMIAL.row,
    NEGATIVE_BINOMIAL.constants,
    word="zero_truncated_negative_binomial",
    aliases=("ztnb",),
)
