"""Parameters of a mixture, arrays (3, K) of weights, means m and dispersions v of `numbastats.scalar.mixture`: the M-step."""

from __future__ import annotations

import math

from numbastats._core.kernel import array_function
from numbastats.scalar import mixture as fam

_function = array_function(fastmath=(), host=False)


@_function
def set_coefficients(P, par, family, shape, c):
    """P[:, k] = (A + log weight, B, C) of every component."""
    for k in range(par.shape[1]):
        a, b, q = fam.coefficients(family, shape, par[1, k], par[2, k], c)
        P[0, k], P[1, k], P[2, k] = math.log(par[0, k]) + a, b, q


@_function
def least_mass(info):
    """What a start's component must exceed: two observations but for rounding, or two mean weights if these are below 1."""
    return 1.999999999 * min(1.0, info.mass / info.count)


@_function
def m_step(S, par, info, settings, least):
    """Replace `par` by the M-step; False when a component is empty or its dispersion is at the floor."""
    s0, s1, s2, family, more = S[0], S[1], S[2], settings.family, settings.prior_a - 1.0
    total = 0.0
    for k in range(s0.size):
        if not s0[k] > least:
            return False
        total += s0[k] + more
    for k in range(s0.size):
        m, v = fam.maximise(family, s0[k], s1[k], s2[k], info.centre, settings.prior_n, info.prior_d)
        if not (m < math.inf and (m > 0.0 or family == fam.GAUSSIAN)):
            return False
        if not v > fam.least_dispersion(family, m, info.centre, info.floor):
            return False
        share = (s0[k] + more) / total
        if not share > 0.0:
            return False
        par[0, k], par[1, k], par[2, k] = share, m, v
    return True


@_function
def log_prior(par, info, settings):
    """What the prior adds to the log-likelihood."""
    total = 0.0
    if settings.prior_n > 0.0 or settings.prior_a != 1.0:
        for k in range(par.shape[1]):
            p = fam.penalty(settings.family, par[2, k], settings.prior_n, info.prior_d)[0]
            total += p + (settings.prior_a - 1.0) * math.log(par[0, k])
    return total


@_function
def above_floor(par, floor, centre, family):
    """Whether a trial point is a proper mixture: its logarithms are finite and no dispersion is at the floor."""
    for k in range(par.shape[1]):
        m, v = par[1, k], par[2, k]
        if not (par[0, k] > 0.0 and v < math.inf and m < math.inf and (m > 0.0 or family == fam.GAUSSIAN)):
            return False
        if not v > fam.least_dispersion(family, m, centre, floor):
            return False
    return True


@_function
def rounding(par, info, family):
    """Rounding error of the log-likelihood of components far from the centre beside their dispersion, whose logits cancel."""
    total = 0.0
    for k in range(par.shape[1]):
        total += par[0, k] * fam.deviance(family, par[1, k], info.centre) / par[2, k]
    return 2.220446049250313e-16 * info.mass * total


@_function
def coordinates(par, family):
    """Number of coordinates of a parameter point."""
    return (3 if family <= fam.GAMMA else 2) * par.shape[1] - 1


@_function
def stepped(par, out, step, info, family, radius):
    """`par` after a step of at most `radius` in every coordinate; returns the largest coordinate that was taken."""
    K = par.shape[1]
    q = 2 if family <= fam.GAMMA else 1
    longest = 0.0
    for i in range((1 + q) * K - 1):
        longest = max(longest, abs(step[i]))
    f = radius / longest if longest > radius else 1.0
    total = 0.0
    for k in range(K):
        a = par[0, k] * (math.exp(f * step[k]) if k < K - 1 else 1.0)
        out[0, k] = a
        total += a
        out[1, k] = fam.moved(family, par[1, k], f * step[K - 1 + k])
        out[2, k] = par[2, k] * math.exp(f * step[2 * K - 1 + k]) if q == 2 else 1.0
    for k in range(K):
        out[0, k] /= total
    return longest * f


@_function
def pack(par, th, family):
    """Coordinates of a parameter point without bounds: log-odds of the weights, log m (Gaussian: m), log v."""
    K = par.shape[1]
    for k in range(K):
        if k < K - 1:
            th[k] = math.log(par[0, k] / par[0, K - 1])
        th[K - 1 + k] = par[1, k] if family == fam.GAUSSIAN else math.log(par[1, k])
        if family <= fam.GAMMA:
            th[2 * K - 1 + k] = math.log(par[2, k])


@_function
def unpack(th, par, family):
    """The inverse of `pack`."""
    K = par.shape[1]
    top, total = 0.0, 0.0
    for k in range(K - 1):
        top = max(top, th[k])
    for k in range(K):
        par[0, k] = math.exp((th[k] if k < K - 1 else 0.0) - top)
        total += par[0, k]
        par[1, k] = th[K - 1 + k] if family == fam.GAUSSIAN else math.exp(th[K - 1 + k])
        par[2, k] = math.exp(th[2 * K - 1 + k]) if family <= fam.GAMMA else 1.0
    for k in range(K):
        par[0, k] /= total
