"""Densities and responsibilities of mixtures by the kernel `scores`, and one by one for components far apart."""

from __future__ import annotations

import functools
import math

import numpy as np

from numbastats._core.elementwise import elementwise
from numbastats._core.launch import choose_device, launch
from numbastats._core.parallel import worker_count
from numbastats.mixture import kernels
from numbastats.mixture.families import CODES, count_base, poisson_base
from numbastats.mixture.kernels.latent import FORMULAS
from numbastats.scalar import mixture as fam


def _scale(family, par):
    """A power of two that brings the means, or Gaussian deviations, near 1 where third powers of them would not be finite."""
    size = float(np.sqrt(par[2].max()) if family.base == fam.GAUSSIAN else par[1].max())
    exponent = 0 if family.discrete else math.frexp(size)[1]
    return math.ldexp(1.0, max(-1022, min(1022, -exponent))) if abs(exponent) > 300 else 1.0


def _rescaled(family, v, scale):
    """Dispersions of values times `scale`."""
    return v / scale if family.base == fam.INVERSE_GAUSSIAN else v * scale * scale if family.base == fam.GAUSSIAN else v


def scores(x, family, par, wanted, device, workers, stats=None):
    """Log density (flat) and responsibilities (K, n) of values; NaN for NaN, -inf outside the support.

    Of a family with a latent variable `stats` (K, 5, n) becomes what its M-step needs. Otherwise
    `stats` (1, 2, n) becomes t1 and t2 about the mean of the mixture; (K, 2, n), of components far apart, about their own.
    """
    if family.latent:
        return _latent_scores(x, family, par, wanted, device, workers, stats)
    if far_apart(family, par):
        return _scores_apart(x, family, par, device, workers, stats)
    flat = x.reshape(-1)
    outside = family.outside(np.where(np.isnan(flat), max(1.0, family.minimum), flat)) | np.isinf(flat)
    bad = outside | np.isnan(flat)
    inside = np.where(bad, max(1.0, family.minimum) if family.name != "normal" else 0.0, flat)
    used = par[:, par[0] > 0]
    scale = _scale(family, used)
    with np.errstate(over="ignore", under="ignore"):
        y = np.ascontiguousarray(family.forward(inside))
        scaled = y * scale
    K, n = par.shape[1], y.size
    used = np.stack([used[0], used[1] * scale, _rescaled(family, used[2], scale)])
    base, c, P = _coefficients(family, used)
    out, resp = np.empty(n), np.zeros((used.shape[1] if wanted else 0, n))
    pair = np.empty((0, n)) if stats is None else stats[0]
    _launched(kernels.SCORES, (scaled, c, base, P, out, resp, pair), n, device, workers, 5.0 * K, (4, 5, 6))
    if stats is not None and scale != 1.0:
        pair *= [[1.0 / scale], [1.0 / _rescaled(family, 1.0, scale)]]
    power, add = _factor(family, base)
    j0, j1, j2 = family.jacobian
    with np.errstate(over="ignore", invalid="ignore"):
        out += add + j0 + j2 * y
        if scale != 1.0:
            out += (1.0 + power) * math.log(scale)
        if power + j1 != 0.0:
            out += (power + j1) * family.log_forward(inside)
    out[np.isnan(out)] = -math.inf  # so far out that the exponent overflows
    if base == fam.POISSON:
        with np.errstate(over="ignore"):
            out += poisson_base(y, c)
    out[outside] = -math.inf
    out[np.isnan(flat)] = math.nan
    return out, _of_all(resp, par, bad, wanted)


def _launched(kernel, args, n, device, workers, cost, outputs=(-1,)):
    """Run a kernel over n values."""
    where = choose_device(device)
    worker_count(workers)  # refuses what is no number of threads, also for no values and on a GPU
    if n:
        launch(kernel, args, n, device=where, workers=workers, cost=cost, outputs=outputs)


def _of_all(resp, par, bad, wanted):
    """Responsibilities of all components from those of positive weight, NaN for bad values."""
    if not wanted:
        return resp
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


@functools.lru_cache(maxsize=64)
def _tables(family, used):
    """Code of the base family, numbers and coefficients for the kernel `density`: kept, since a GPU keeps what it was sent."""
    base, c, P = _coefficients(family, np.frombuffer(used).reshape(3, -1).copy())
    power, add = _factor(family, base)
    j0, j1, j2 = family.jacobian
    return base, np.array([family.constant, c, family.minimum, add + j0, j2, power + j1]), P


def _by_value(family, par):
    """Codes of the transform, base and end of the support, numbers and coefficients for kernels of values as they are.

    None where the host has to prepare these: for counts, families with a latent variable, components far apart, and parameters
    near the ends of the doubles.
    """
    used = par[:, par[0] > 0]
    if family.latent or family.discrete or far_apart(family, par) or _scale(family, used) != 1.0:
        return None
    base, numbers, P = _tables(family, used.tobytes())
    return [np.int64(code) for code in (CODES.index(family.transform), base, family.closed)], numbers, P


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


def far_apart(family, par):
    """Whether the components lie so far apart that logits about the mean of the mixture lose more than 1e-12."""
    if par.shape[1] == 1 or family.latent:
        return False
    w, m, v = par[:, par[0] > 0]
    c = w @ m
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        return not np.maximum(family.logit_size(m, v, c), family.logit_size(c, v, m)).max() < 1e3  # at c and at their own means


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
    return out, _of_all(resp, par, bad, wanted)


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
