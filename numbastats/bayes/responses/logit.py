"""Two classes, the log odds of which are the linear predictor."""

from __future__ import annotations

import numpy as np

from numbastats._core.kernel import device_function
from numbastats.bayes.responses.record import two_classes
from numbastats.bayes.responses.softmax import softmax
from numbastats.random.kernels import POLYA_GAMMA
from numbastats.scalar.shrinkage import log_expit_ratio


@device_function
def row(y, t):
    """The row has the sign of its outcome."""
    return log_expit_ratio(t)


def _expit(x):
    """1/(1 + e^-x), accurate also for tiny results."""
    e = np.exp(-abs(x))
    return np.where(x < 0.0, e, 1.0) / (1.0 + e)


def _normal_rows(key, stream, item, weights, margins):
    """Given omega ~ PG(w, m), a row is a normal outcome w/(2 omega) of variance 1/omega."""
    omega = np.empty(len(margins))
    POLYA_GAMMA.serial(*key, stream, item, weights, margins, 0.0, 0.0, omega)
    return 0.5 * weights / omega, omega


LOGIT = two_classes(
    _expit,
    lambda x: -np.logaddexp(0.0, -x),
    word="logit",
    aliases=("softmax", "multinomial"),
    more=softmax,
    samplers=("wide", "hamiltonian", "surrogate", "predictor"),
    row=row,
    derivatives=lambda m, y, own: (_expit(-m), _expit(m) * _expit(-m)),
    latent=_normal_rows,
)
