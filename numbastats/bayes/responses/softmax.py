"""More than two classes: a linear predictor for each but the first one, the log odds against that."""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import logsumexp

from numbastats.bayes.kernels.classes import UNORDERED
from numbastats.bayes.responses.classes import Classes


def _log_probabilities(m, own):
    m = m if m.ndim == 3 else m[..., None]
    whole = np.concatenate([np.zeros((*m.shape[:-1], 1)), m], axis=-1)
    return whole - logsumexp(whole, axis=-1, keepdims=True)


def _bend(m, y, own):
    p = np.exp(_log_probabilities(m[:, None], own))[:, 0, 1:].T
    return np.eye(len(p))[:, :, None] * p - p[:, None] * p


@functools.lru_cache(maxsize=64)
def softmax(labels):
    """The record for classes of these labels."""

    def level(weights, offsets, outcomes):
        """Logarithms of odds against the first class."""
        counts = np.bincount(outcomes.astype(int), weights * np.ones(outcomes.size), len(labels))
        return np.log(counts[1:] / counts[0])

    return Classes(
        word="logit",
        noun="classes",
        labels=labels,
        kernel=UNORDERED,
        width=len(labels) - 1,
        log_probabilities=_log_probabilities,
        bend=_bend,
        level=level,
        more=softmax,
    )
