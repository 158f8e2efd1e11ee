"""Between the scaled data of the kernels and the units of the user: parameters, log-likelihood, prior."""

from __future__ import annotations

import numpy as np

from numbastats._core.status import FITTED
from numbastats.mixture.families import count_base, excess, poisson_base
from numbastats.mixture.kernels import on_host
from numbastats.scalar import latent as lat
from numbastats.scalar import mixture as fam


def in_units(par, p, rows):
    """Weights, centres and `params` in the units of y."""
    family, info, factor = p.family, p.info[rows], p.factor[rows][:, None]
    scale, shift = info["scale"][:, None], info["shift"][:, None]
    w, m, v = par[:, 0], par[:, 1], par[:, 2]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        mean = (m * scale + shift) / factor
        if family.latent:
            size = v * (scale / factor) ** 2 if family.third else v
            second = family.params_of([size, par[:, -1] * _turn(p, rows)])
        elif family.base == fam.INVERSE_GAUSSIAN:
            second = (1.0 / v) * scale / factor
        elif family.base == fam.GAUSSIAN:
            second = v * (scale / factor) ** 2
        elif family.base == fam.GAMMA:
            second = 1.0 / v
        else:
            second = np.full_like(v, np.nan)
    return w, mean, second


def scaled_starts(given, p):
    """Explicit starts (D, R, 3, K) in scaled units and dispersions."""
    factor = p.factor[:, None, None]
    scale, shift = (p.info[name][:, None, None] for name in ("scale", "shift"))
    out = np.ones(given.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        out[:, :, 0] = given[:, :, 0] / given[:, :, 0].sum(axis=-1, keepdims=True)
        out[:, :, 1] = (given[:, :, 1] * factor - shift) / scale
        if p.family.latent:
            out[:, :, 2:] = given[:, :, 2:]
            if p.family.third:
                out[:, :, 2] = (given[:, :, 2] * factor / scale) ** 2
                out[:, :, 3] *= _turn(p)[:, None]
        elif p.family.base == fam.INVERSE_GAUSSIAN:
            out[:, :, 2] = scale / (given[:, :, 2] * factor)
        elif p.family.base == fam.GAUSSIAN:
            out[:, :, 2] = given[:, :, 2] * (factor / scale) ** 2
        elif p.family.base == fam.GAMMA:
            out[:, :, 2] = 1.0 / given[:, :, 2]
    return out


def _turn(p, rows=slice(None)):
    """-1 where the shape of a skew-normal distribution is that of mirrored data, else 1."""
    turned = (p.factor[rows] < 0.0) & (p.family.code == lat.SKEW_NORMAL)
    return np.where(turned, -1.0, 1.0)[:, None]


def loglik_constant(p, y, w):
    """What the canonical log-likelihood of the scaled data lacks: sum of w h(x)."""
    family, info = p.family, p.info
    mass, logs, scale = info["mass"], info["logs"], info["scale"]
    if family.closed:  # the sum of logarithms cancels; a zero would make it infinite
        logs = np.zeros(logs.shape)
    power, add = family.log_base
    j0, j1, j2 = family.jacobian
    with np.errstate(divide="ignore", invalid="ignore"):
        log_unit = np.log(scale) - np.log(np.abs(p.factor))
    total = mass * (add + j0)
    if not family.discrete:
        total = total - mass * log_unit
    if power != 0.0 or j1 != 0.0:
        total = total + (power + j1) * logs + j1 * mass * log_unit
    if j2 != 0.0:
        total = total + j2 * (mass * info["shift"] + scale * (info["centre"] * mass + info["sum1"])) / p.factor
    # the coefficients of these are relative to the distribution of the mean
    centre = info["centre"]
    if family.base == fam.FIXED_GAMMA:
        a = family.shape
        total = total + mass * on_host.gamma_terms(a)[2]
        if a <= 16.0:
            with np.errstate(divide="ignore", invalid="ignore"):
                return total - a * (info["sum1"] / centre - (logs - mass * np.log(centre)))
        owner = np.repeat(np.arange(mass.size), np.diff(p.off))
        mean = (centre * scale / p.factor)[owner]
        logs = excess(mean, y) / mean
        total -= a * np.bincount(owner, logs if w is None else w * logs, mass.size)
    if family.base == fam.POISSON and y.size:
        new = np.concatenate([[True], np.diff(y) != 0.0])  # equal counts are neighbours
        new[p.off[:-1][p.off[:-1] < y.size]] = True
        first = np.flatnonzero(new)
        owner = np.searchsorted(p.off, first, side="right") - 1
        base = count_base(y[first]) if family.latent else poisson_base(y[first], np.maximum(centre[owner], 1e-300))
        logs = np.add.reduceat(np.ones(y.size) if w is None else w, first) * base
        total = total + np.bincount(owner, logs, centre.size)
    return total


def prior_units(p, options):
    """What a component's log prior of the scaled dispersion lacks: -(n0/2) log of the dispersion's unit."""
    degree = {fam.INVERSE_GAUSSIAN: -1.0, fam.GAUSSIAN: 2.0}.get(p.family.base, 0.0)
    if options.prior_n * degree == 0.0:
        return np.zeros(p.factor.shape)
    return -0.5 * options.prior_n * degree * (np.log(p.info["scale"]) - np.log(np.abs(p.factor)))


def unusable(out, family, dtype):
    """Which fits have a log-likelihood that overflowed, or parameters that over- or underflow as numbers of the results' type."""
    limits = np.finfo(dtype)
    lost, used = ~np.isfinite(out["loglik"]), ~np.isnan(out["weights"])
    for name in ("weights", "centres", "params") if family.two else ("weights", "centres"):
        values = np.abs(out[name]) if out[name].ndim == 2 else np.abs(out[name]).max(axis=1)
        lost |= (used & ~(values <= limits.max)).any(axis=1)
    if not family.discrete:
        sizes = out["params" if family.two else "centres"]
        lost |= ((sizes[:, 0] if family.third else sizes) < limits.tiny).any(axis=1)
        if family.base != fam.GAUSSIAN:
            lost |= (out["centres"] == 0.0).any(axis=1)
    return lost & np.isin(out["status"], FITTED)
