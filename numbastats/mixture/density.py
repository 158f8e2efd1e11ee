"""Densities and responsibilities of mixtures by the kernel `scores`, and one by one for components far apart."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from numbastats._core.elementwise import elementwise
from numbastats._core.launch import choose_device, launch
from numbastats._core.parallel import worker_count
from numbastats.mixture import kernels
from numbastats.mixture.families import CODES, count_base, poisson_base
from numbastats.mixture.kernels.latent import FORMULAS
from numbastats.mixture.kernels.scores import Support
from numbastats.scalar import mixture as fam
from numbastats.scalar.components import logit_size
from numbastats.scalar.transforms import on_arrays

_NOTHING = np.empty(0)


def _scale(family, par):
    """A power of two that brings the means, or Gaussian deviations, near 1 where third powers of them would not be finite."""
    size = float(np.sqrt(par[2].max()) if family.base == fam.GAUSSIAN else par[1].max())
    exponent = 0 if family.discrete else math.frexp(size)[1]
    return math.ldexp(1.0, max(-1022, min(1022, -exponent))) if abs(exponent) > 300 else 1.0


def _rescaled(family, v, scale):
    """Dispersions of values times `scale`."""
    return v / scale if family.base == fam.INVERSE_GAUSSIAN else v * scale * scale if family.base == fam.GAUSSIAN else v


def scores(x, family, par, wanted, device, workers, stats=None, out=None):
    """Log density and responsibilities (K, n) of n doubles in a row; NaN for NaN, -inf outside the support.

    The density is in `out`, if there is one, of families without a latent variable whose components are not far apart.

    Of a family with a latent variable `stats` (K, 5, n) becomes what its M-step needs. Otherwise
    `stats` (1, 2, n) becomes t1 and t2 about the mean of the mixture; (K, 2, n), of components far apart, about their own.
    """
    if family.latent:
        return _latent_scores(x, family, par, wanted, device, workers, stats)
    plan = _planned(family, par.tobytes())
    if plan.apart:
        return _scores_apart(x, family, par, device, workers, stats)
    with np.errstate(all="ignore"):  # of values outside of the support, which the kernel knows
        y = family.forward(x) if plan.transformed else _NOTHING
        other = (
            poisson_base(x, plan.numbers[2]) if plan.base == fam.POISSON else family.log_forward(x) if plan.other else _NOTHING
        )
    K, n = par.shape[1], x.size
    out, resp = np.empty(n) if out is None else out, np.empty((plan.P.shape[1] if wanted else 0, n))
    pair = np.empty((0, n)) if stats is None else stats[0]
    args = x, y, other, plan.support, plan.base, plan.numbers, plan.P, out, resp, pair
    _launched(kernels.SCORES, args, n, device, workers, 5.0 * K, (7, 8, 9))
    if stats is not None and plan.numbers[1] != 1.0:
        pair *= [[1.0 / plan.numbers[1]], [1.0 / _rescaled(family, 1.0, plan.numbers[1])]]
    return out, _of_all(resp, par, np.isnan(resp).any(axis=0)) if wanted and len(resp) < K else resp


def _launched(kernel, args, n, device, workers, cost, outputs=(-1,)):
    """Run a kernel over n values."""
    where = choose_device(device)
    worker_count(workers)  # refuses what is no number of threads, also for no values and on a GPU
    if n:
        launch(kernel, args, n, device=where, workers=workers, cost=cost, outputs=outputs)


def _of_all(resp, par, bad):
    """Responsibilities of all components from those of positive weight, NaN for bad values."""
    full = np.zeros((par.shape[1], bad.size))
    full[par[0] > 0] = resp
    full[:, bad] = math.nan
    return full


def _coefficients(family, used):
    """(code of the base family, centre, coefficients) of components of positive weight."""
    c, base = float(used[0] @ used[1]), family.base
    if base == fam.FIXED_GAMMA and family.shape > 16.0:  # by the deviance, where large terms would cancel
        base, used[2] = fam.GAMMA, 1.0 / family.shape
    P = np.empty((3, used.shape[1]))
    kernels.on_host.set_coefficients(P, np.ascontiguousarray(used), base, float(family.shape), c)
    if base == fam.FIXED_GAMMA:  # the coefficients are relative to the distribution of mean c
        a = family.shape
        P += [[a * (math.log(a) - math.log(c)) - math.lgamma(a) - a], [-a / c], [0.0]]
    return base, c, P


def _factor(family, base):
    """(b, k) of the factor b log y + k that no parameter of a component changes."""
    return (family.shape - 1.0, 0.0) if base == fam.FIXED_GAMMA else family.log_base


class _Plan(NamedTuple):
    """What follows from the parameters of a mixture, for the kernels of its values."""

    apart: bool  # whether each component goes by itself
    transformed: bool  # whether the base family's values are others
    other: bool  # whether logarithms of values count
    base: int = 0
    support: Any = None
    numbers: tuple = ()  # minimum, scale, centre, and the terms of 1, y, the scale and logarithms
    P: Any = None
    by_value: Any = None  # codes, numbers and coefficients for kernels that transform values; None where they cannot


@functools.lru_cache(maxsize=64)
def _planned(family, par):
    """The plan of a mixture: kept, since a GPU keeps the tables that it was sent."""
    par = np.frombuffer(par).reshape(family.rows, -1)
    apart, transformed = far_apart(family, par), family.transform != "identity"
    used = par[:, par[0] > 0]
    scale = _scale(family, used)
    rescaled = np.stack([used[0], used[1] * scale, _rescaled(family, used[2], scale)])
    if apart:
        return _Plan(apart, transformed, False)
    base, c, P = _coefficients(family, rescaled)
    (power, add), (j0, j1, j2) = _factor(family, base), family.jacobian
    by_log = power + j1
    numbers = family.minimum, scale, c, add + j0, j2, (1.0 + power) * math.log(scale), 1.0 if base == fam.POISSON else by_log
    support = Support(int(family.closed or family.discrete), int(family.discrete))
    by_value = None
    if not family.discrete and scale == 1.0:
        codes = [np.int64(code) for code in (CODES.index(family.transform), base, family.closed)]
        by_value = codes, np.array([family.constant, c, family.minimum, add + j0, j2, by_log]), P
    return _Plan(apart, transformed, by_log != 0.0, base, support, tuple(map(float, numbers)), P, by_value)


def makes_none(family, par):
    """Whether `scores` makes no arrays beside the density."""
    plan = None if family.latent else _planned(family, par.tobytes())
    return plan is not None and not (plan.apart or plan.transformed or plan.other or family.discrete)


def _by_value(family, par):
    """Codes of the transform, base and end of the support, numbers and coefficients for kernels that transform values.

    None where the host has to prepare these: for counts, families with a latent variable, components far apart, and parameters
    near the ends of the doubles.
    """
    return None if family.latent else _planned(family, par.tobytes()).by_value


def largest(rows):
    """Index of the first of some arrays that is the largest at each place, -1 where that is NaN or -inf."""
    best, label = np.array(rows[0]), np.zeros(np.shape(rows[0]), np.int64)
    for k, row in enumerate(rows):  # an argmax along a short axis takes longer than the probabilities
        label[row > best] = k
        np.maximum(best, row, out=best)
    return np.where(best > -math.inf, label, -1)


def labels(x, family, par, device, workers):
    """Numbers of the most probable components of values (n,), -1 for NaN and outside the support."""
    prepared = _by_value(family, par)
    if prepared is not None:
        label, (codes, numbers, P) = np.empty(x.size, np.int64), prepared
        _launched(kernels.LABELS, (x, *codes, numbers, P, label), x.size, device, workers, 1.0 + 0.5 * P.shape[1])
        used = np.flatnonzero(par[0] > 0)
        return label if used.size == par.shape[1] else np.append(used, -1)[label]
    return largest(scores(x, family, par, True, device, workers)[1])


def resident(x, family, par, logs, options):
    """Density, or its logarithm, of values on a GPU, there; None where the host has to prepare them."""
    prepared = _by_value(family, par)
    if prepared is None:
        return None
    codes, numbers, P = prepared
    extras = lambda dtype: (*codes, np.int64(logs), numbers, P)  # noqa: E731
    return elementwise(lambda dtype: kernels.DENSITY, ("x",), (x,), extras=extras, cost=5.0 * P.shape[1], **options)


_logit_size = on_arrays(logit_size)


def far_apart(family, par):
    """Whether the components lie so far apart that logits about the mean of the mixture lose more than 1e-12."""
    if par.shape[1] == 1 or family.latent:
        return False
    w, m, v = par[:, par[0] > 0]
    c = w @ m
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        facts = family.code, family.base, family.shape
        return not np.maximum(_logit_size(*facts, m, v, c), _logit_size(*facts, c, v, m)).max() < 1e3  # at c, at their own means


def _latent_scores(x, family, par, wanted, device, workers, stats):
    """`scores` of a family that has a latent variable."""
    flat = x.reshape(-1)
    outside = np.isinf(flat) | (family.outside(flat) if family.discrete else False)
    bad = outside | np.isnan(flat)
    used = par[0] > 0
    c = 0.0 if family.discrete else float(par[0] @ par[1])
    P = latent_numbers(family, par[:, used], c)
    inside = np.where(bad, par[1, 0] if not family.discrete else 0.0, flat)
    out, resp = np.empty(flat.size), np.zeros((P.shape[1] if wanted else 0, flat.size))
    rows = np.zeros((0, 5, flat.size)) if stats is None else stats if used.all() else np.zeros((P.shape[1], 5, flat.size))
    kernel, args = kernels.LATENT_SCORES[family.code], (inside - c, P, out, resp, rows)
    _launched(kernel, args, flat.size, device, workers, 20.0 * P.shape[1], (2, 3, 4))
    if stats is not None and rows is not stats:
        stats[used] = rows
    out += count_base(inside) if family.discrete else family.log_base[1]
    out[outside], out[np.isnan(flat)] = -math.inf, math.nan
    return out, _of_all(resp, par, bad) if wanted else resp


def latent_numbers(family, par, c):
    """What kernels of a family with a latent variable take: seven numbers of each component, and the logarithm of its weight."""
    _name, _rows, formulas = FORMULAS[family.code]
    numbers = [(*formulas["coefficients"](p[1], p[2], p[-1], float(c)), math.log(p[0])) for p in par.T.tolist()]
    return np.array(numbers).T.copy()


def _scores_apart(x, family, par, device, workers, stats=None):
    """`scores` of each component about its own mean, where nothing cancels."""
    logs = np.full((par.shape[1], x.size), -math.inf)
    for j in np.flatnonzero(par[0] > 0):
        one = np.array([[1.0], par[1:2, j], par[2:, j]])
        pair = None if stats is None else stats[j : j + 1]
        logs[j] = scores(x, family, one, False, device, workers, pair)[0] + math.log(par[0, j])
    with np.errstate(invalid="ignore"):
        out = np.logaddexp.reduce(logs)
        return out, np.exp(logs - out)  # NaN where all are -inf
