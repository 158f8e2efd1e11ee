"""Covariances of the estimates from the observed information."""

from __future__ import annotations

import numpy as np

from numbastats._core.information import carried, in_units, inverse, standard_errors
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam


def covariances(cov, se, r, rows, p, mean, second):
    """Fill in certified fits: the observed information in theta, carried to (weights, centres, params)."""
    K, width = r.par.shape[2], cov.shape[1] // (1 + len(p.family.parameters))
    good = np.nonzero(r.status[rows] == 0)[0]
    if not good.size:
        return
    at, n = rows[good], r.hess.shape[1]
    al = r.par[at, 0]
    J, unit = np.zeros((good.size, n + 1, n)), np.ones((good.size, n + 1))
    for j in range(K - 1):  # log-odds against the last component: d al_i / d z_j = al_i (delta_ij - al_j)
        J[:, :K, j] = -al * al[:, [j]]
        J[:, j, j] += al[:, j]
    k = np.arange(K)
    J[:, K + k, K - 1 + k] = 1.0
    scale = p.info["scale"][at][:, None] / p.factor[at][:, None]
    unit[:, K : 2 * K] = scale if p.family.base == fam.GAUSSIAN else mean[good]
    if p.family.latent:
        unit[:, K:] = _latent_units(p.family.code, r.par[at], p.info["centre"][at], scale).reshape(good.size, -1)
        J[:, np.arange(2 * K, n + 1), np.arange(2 * K - 1, n)] = 1.0
    elif p.family.two:  # the dispersion is v or 1 / v in some unit: |d param / d log v| = param
        J[:, 2 * K + k, 2 * K - 1 + k] = 1.0 if p.family.base == fam.GAUSSIAN else -1.0
        unit[:, 2 * K :] = second[good]
    whole = carried(inverse(-r.hess[at]), J)
    places = (np.arange((n + 1) // K)[:, None] * width + k).reshape(-1)
    cov[at[:, None, None], places[:, None], places] = in_units(whole, unit)
    se[at[:, None], places] = standard_errors(whole, unit)


def _latent_units(code, par, centre, scale):
    """Derivatives of the parameters in the coordinates of `numbastats.scalar.latent`; NaN for one at its limit."""
    unit = par[:, 1:].copy()
    if code != lat.NEGATIVE_BINOMIAL:
        unit[:, 0] = scale
        unit[:, 1] = 0.5 * np.abs(scale) * np.sqrt(par[:, 2])
    if code == lat.SKEW_NORMAL:
        unit[:, 2] = np.sign(scale) * np.sqrt(1.0 + par[:, 3] ** 2)
    most = np.array([lat.limit(code, c) for c in centre])[:, None]
    unit[:, -1][np.abs(par[:, -1]) >= most] = np.nan
    return unit


def reordered(hess, order):
    """Hessians of components in another order: log al_k/al_K changes its base too."""
    D, K = order.shape
    n = hess.shape[1]
    # the old theta as a linear map of the new one: z_old_j = z_new_at(j) - z_new_at(K - 1), where z_new_(K - 1) = 0
    at = np.argsort(order, axis=1)
    rows, j = np.arange(D)[:, None], np.arange(K - 1)
    weights = np.zeros((D, K - 1, K))
    weights[rows, j, at[:, :-1]] = 1.0
    weights[rows, j, at[:, -1:]] -= 1.0
    M = np.zeros((D, n, n))
    M[:, : K - 1, : K - 1] = weights[:, :, :-1]
    for s in range(K - 1, n, K):
        M[rows, s + np.arange(K), s + at] = 1.0
    return np.swapaxes(M, 1, 2) @ hess @ M
