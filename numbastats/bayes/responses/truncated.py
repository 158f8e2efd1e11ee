"""Counts that are seen only where they are above 0: records of the distributions of others given that."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from numbastats._core.kernel import bind, device_function
from numbastats.bayes.responses.record import Response
from numbastats.scalar.elementary import expm1, log

_LEAST = 1e-300  # of the probability of a count above 0
_counts = None  # the row of the whole distribution, with its whole log density but for a term of y; bound by `zero_truncated`


@device_function
def row(y, upper, t, c):
    """The log density given that the count is not 0, and its derivatives."""
    value, slope, curvature, by_first, by_second = _counts(y, upper, t, c)
    zero, fall, bend, zero_first, zero_second = _counts(0.0, 0.0, t, c)
    above = -expm1(zero)
    above = above if above > _LEAST else _LEAST
    odds = (1.0 - above) / above  # of 0
    return (
        value - log(above),
        slope + odds * fall,
        curvature + odds * (bend - (1.0 + odds) * fall * fall),
        by_first + odds * zero_first,
        by_second + odds * zero_second,
    )


def zero_truncated(whole, row_of_counts, constants, **fields):
    """The record of counts of a response given that they are not 0.

    Parameters
    ----------
    whole : Response
        Of all counts.
    row_of_counts, constants : device functions
        As of a `Response` with `constants`; the log density of 0 is that of the row.
    """

    def above(m, own):
        return whole.tail(np.zeros(np.shape(m)), m, own)

    def mean(m, own):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            share = above(m, own)
            return np.where(share > 0.0, np.exp(m) / share, 1.0)

    def quantile(u, m, own):
        share = above(m, own)
        return np.where(share > 0.0, np.maximum(whole.quantile((1.0 - u) * share, m, own, upper=True), 1.0), 1.0)

    return Response(
        **fields,
        noun="counts above 0",
        samplers=whole.samplers,
        holds=lambda y: (y >= 1.0) & (y == np.rint(y)),
        fix="1, 2, 3 and so on; model first whether a count is 0, by HorseshoeClassifier",
        improper=lambda y: None if (y > 1.0).any() else "all counts are 1",
        link="log",
        mean=mean,
        row=bind(row, _counts=row_of_counts),
        constants=constants,
        rest=lambda y: -gammaln(y + 1.0),
        tail=lambda y, m, own: np.where(y < 1.0, 1.0, whole.tail(np.maximum(y, 0.0), m, own) / above(m, own)),
        quantile=quantile,
        own=whole.own,
        level=whole.level,
        concave=False,
    )
