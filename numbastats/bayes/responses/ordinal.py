"""Ordered classes by cumulative log odds: P(class <= k) = 1/(1 + exp(m - c_k)) for cut points c_0 < c_1 < ...

The probabilities of the classes where m = 0, at the centre of the columns, are uniform on the simplex a priori: the prior that a
Dirichlet distribution of base rates gives to cut points (M. Betancourt, "Ordinal regression", 2019). As own parameters the
chains have the log odds of each class against those above it, which are independent a priori, and nearly so given outcomes.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import expit

from numbastats.bayes.kernels.classes import ORDERED
from numbastats.bayes.responses.classes import Classes
from numbastats.bayes.responses.record import Own


def _cuts(own):
    """Cut points, shape (..., k), of log odds of the same shape; P(class > k) is the product of the shares above."""
    with np.errstate(over="ignore", divide="ignore"):
        above = np.cumsum(np.logaddexp(0.0, own), axis=-1)  # -log P(class > k)
        return above + np.log(-np.expm1(-above))


def _pulled(own, slopes):
    """Derivatives in the log odds, of those in the cut points: dc_k = dL_k/P(class <= k), L_k the sum of log(1 + e^own)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        below = -np.expm1(-np.cumsum(np.logaddexp(0.0, own), axis=-1))
        return expit(own) * np.cumsum((slopes / below)[:, ::-1], axis=1)[:, ::-1]


def _cuts_in(own):
    """Cut points, in front, of own parameters by name, or of draws of the cut points themselves."""
    if "cutpoints" in own:
        return np.moveaxis(own["cutpoints"], -1, 0)
    return np.moveaxis(_cuts(np.stack(list(own.values()), axis=-1)), -1, 0)


def _ends(y, m, own):
    """The cut points below and above classes y, less the linear predictors, and by how much they differ."""
    lower, upper = -np.inf, np.inf
    for number, cut in enumerate(_cuts_in(own)):
        lower, upper = np.where(y == number + 1.0, cut, lower), np.where(y == number, cut, upper)
    return lower - m, upper - m, upper - lower


def _between(a, b, gap):
    """log(F(b) - F(a)), b = a + gap."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(-gap)) - np.logaddexp(0.0, a) - np.logaddexp(0.0, -b)


def _derivatives(m, y, own):
    a, b, _ = _ends(y, m, own)
    return expit(a) - expit(-b), expit(a) * expit(-a) + expit(b) * expit(-b)


def _log_probabilities(m, own):
    cuts = _cuts_in(own)
    padded = [np.full(cuts.shape[1:], -np.inf), *cuts, np.full(cuts.shape[1:], np.inf)]
    pairs = zip(padded[:-1], padded[1:], strict=True)
    return np.stack([_between(low - m, high - m, high - low) for low, high in pairs], axis=-1)


def _tail(y, m, own):
    upper = np.where(np.floor(y) < 0.0, -np.inf, np.inf)
    for number, cut in enumerate(_cuts_in(own)):
        upper = np.where(np.floor(y) == number, cut, upper)
    return expit(m - upper)


def _finish(draws, moved):
    """Cut points in the place of the own parameters."""
    own = {name: draws[name] for name in draws if name.startswith("log_odds_")}
    if not own:
        return draws
    draws = {name: value for name, value in draws.items() if name not in own}
    return draws | {"cutpoints": np.moveaxis(_cuts_in(own), 0, -1) + moved[..., None]}


@functools.lru_cache(maxsize=64)
def ordinal(labels):
    """The record for classes of these labels, from the lowest to the highest."""

    def own(number, rest):
        """Log odds v of a class against `rest` ones above: its share among them is a beta variable of parameters 1 and `rest`."""
        return Own(f"log_odds_{number}", np.exp, lambda v: v - (1.0 + rest) * np.log1p(np.exp(v)), start=-np.log(rest))

    return Classes(
        word="ordinal",
        aliases=("cumulative", "cumulative_logit", "ordered"),
        noun="ordered classes",
        samplers=("hamiltonian", "surrogate", "predictor"),
        labels=labels,
        ordered=True,
        intercept=False,
        kernel=ORDERED,
        log_probabilities=_log_probabilities,
        bend=lambda m, y, own: _derivatives(m[:, 0], y, own)[1][None, None],
        cuts=_cuts,
        pulled=_pulled,
        finish=_finish,
        log_density=lambda y, m, own: _between(*_ends(y, m, own)),
        derivatives=_derivatives,
        tail=_tail,
        quantile=lambda u, m, own: sum((expit(cut - m) < u).astype(float) for cut in _cuts_in(own)),
        own=tuple(own(number, len(labels) - 1.0 - number) for number in range(len(labels) - 1)),
        more=ordinal,
    )


ORDINAL = ordinal(("0", "1", "2"))
