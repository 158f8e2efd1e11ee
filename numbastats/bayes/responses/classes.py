"""The form of records of classes that are no signs: between cut points, or with a linear predictor for each but the first.

Their record depends on the classes of a fit: `Record.of_classes` makes it once these are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from numbastats.bayes.responses.record import Record, record_of


def _of(word, labels):
    return record_of(word).of_classes(labels)


@dataclass(frozen=True, kw_only=True)
class Classes(Record):
    """Classes 0, 1 and so on of independent rows.

    A chain's coefficients are those of the first column for each predictor, then those of the second column, and so on.

    Parameters
    ----------
    labels : tuple of str
        Names of the classes.
    kernel : Kernel
        The pass over the rows.
    width : int
        How many linear predictors a row has.
    log_probabilities : callable
        ``log_probabilities(m, own)``, shape (rows, draws, classes), of linear predictors, shape (rows, draws), with several of
        them (rows, draws, predictors), and cut points, a row for each draw.
    bend : callable
        ``bend(m, y, own)``, of predictors of shape (n, predictors): minus the second derivatives, shape (predictors, predictors,
        n).
    cuts, pulled : callable, optional
        Cut points, shape (chains, k), of own parameters, shape (chains, k); and derivatives in the latter, of derivatives in
        the former: ``pulled(own, slopes)``.
    finish : callable
        ``finish(draws, moved)``: what users see of the draws of a fit whose linear predictors are lower by `moved` than those of
        the coefficients on the scale of X.
    log_density, derivatives, tail, quantile : callable, optional
        As of `Response`, where rows have one predictor.
    """

    labels: tuple[str, ...]
    kernel: Any
    width: int = 1
    log_probabilities: Callable
    bend: Callable
    cuts: Callable | None = None
    pulled: Callable | None = None
    finish: Callable = lambda draws, moved: draws
    log_density: Any = None
    derivatives: Any = None
    tail: Any = None
    quantile: Any = None
    classes: bool = True
    separable: bool = True

    signed = False
    several = discrete = True
    row = averaged = None
    stored = ()

    def __reduce__(self):
        return _of, (self.word, self.labels)

    @property
    def kernels(self):
        """The pass over floats, the only type in which X is stored."""
        return {"": self.kernel}

    @property
    def axes(self):
        """Further axes of linear predictors and coefficients."""
        return (self.width,) if self.width > 1 else ()

    @property
    def of(self):
        """The classes of the predictors, behind names of coefficients."""
        return tuple(f"[{label}]" for label in self.labels[1:]) if self.axes else ("",)

    def predictors(self, outcomes):
        """How many linear predictors a row has."""
        return self.width

    def own_of(self, draws):
        """The cut points of all draws, a row for each; nothing without any."""
        return {} if self.cuts is None else {"cutpoints": draws["cutpoints"].reshape(-1, draws["cutpoints"].shape[2])}

    def loglik(self, rows, B):
        """Log-likelihood and its gradient for every chain in B, as `Rows.loglik` has them."""
        chains, count, width = len(B), len(self.own), self.width
        own, by_predictors = B[:, :count], B[:, count:].reshape(chains, -1, width).transpose(0, 2, 1)
        P = np.zeros((chains, width)) if self.cuts is None else np.ascontiguousarray(self.cuts(own))
        C = by_predictors.reshape(chains * width, -1)
        none = np.uint32(0)
        g, sums = rows._run(self.kernels, C, (none, none), np.zeros(len(C), np.uint32), 0, P, 1 + count)
        sums = sums.reshape(chains, -1)
        value = sums[:, 0].copy()
        slopes = sums[:, :0] if self.pulled is None else self.pulled(own, sums[:, 1 : 1 + count])
        for j, one in enumerate(self.own):
            value += one.log_prior(own[:, j])
            slopes[:, j] += one.log_prior_slope(own[:, j])
        g = g.reshape(chains, width, -1).transpose(0, 2, 1).reshape(chains, -1)
        return value, np.concatenate([slopes, g], axis=1)

    def curvature(self, rows, b):
        """As `Rows.curvature`, with the predictors' second derivatives across each other."""
        count, width = len(self.own), self.width
        own = {one.name: b[j] for j, one in enumerate(self.own)}
        C = b[count:].reshape(-1, width)
        H = np.zeros((C.size, C.size))
        for lo, x in rows._parts():
            weights, offsets, outcomes = rows.facts[:, lo : lo + len(x)]
            x = x.astype(np.float64, copy=False)
            W = self.bend(x @ C + offsets[:, None], outcomes, own)
            for i in range(width):
                for j in range(i, width):
                    block = x.T @ (x * (weights * W[i, j])[:, None])
                    H[i::width, j::width] += block
                    if j > i:
                        H[j::width, i::width] += block.T
        H, g = np.asfortranarray(H), self.loglik(rows, b[None])[1][0]
        H = rows._held(rows._bordered(H, b) if count else H)
        return H, H @ b + g
