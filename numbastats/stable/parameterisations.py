"""The parameterisations S0 and S1, and where the density has its cusp and its peak."""

from __future__ import annotations

import enum
import math

import numpy as np

from numbastats._core.checks import choice
from numbastats._core.information import carried
from numbastats.scalar.stable import tan_half_pi
from numbastats.stable.kernels import climbing

CUSP = 0.9  # below, zeta is near, and the density has a cusp or a peak there as narrow as `cusp_scale`
CUSP_TELLS = 0.5  # below, the cusp of the density holds most of the information about loc
STUCK = 0.7  # up to here places for the mode are compared
LOWEST, HIGHEST = 0.1, 2.0 - 1e-6  # of alpha
NEAR_1 = 1e-3  # with a location known in S1 alpha keeps this distance from 1
LEAST_SCALE = 1e-12  # of an estimate, in half interquartile ranges


class Form(enum.IntEnum):
    """What a location is: that of S0; that of S1, which for alpha < 1 is the cusp's; or near the mode, `peak_place` from it."""

    S0 = climbing.S0
    S1 = climbing.S1
    PEAK = climbing.PEAK


def form_of(param, name="param"):
    """The form that a user's word stands for; ValueError where it is neither S0 nor S1."""
    return Form[choice(name, param, ("S0", "S1"))]


def cusp_scale(a, b):
    """Width of the peak at zeta for alpha < 1, by its series: f(zeta) (1 - ... + (x1/width)^4 - ...) if beta = 0."""
    from scipy.special import gammaln

    log_width = 0.25 * (math.log(24.0) + gammaln(1.0 / a) - gammaln(5.0 / a))
    return np.exp(log_width + 0.5 / a * np.log1p((b * np.tan(0.5 * np.pi * a)) ** 2))


def in_domain(alpha, beta, scale):
    """Whether these are parameters of a distribution."""
    return (alpha > 0) & (alpha <= 2) & (np.abs(beta) <= 1) & (scale > 0)


def relocated(a, b, m, s, to):
    """The location in the parameterisation `to` of distributions given in the other one, for arrays of one shape."""
    shift = np.array([_shift(*p) for p in zip(*(v.ravel().tolist() for v in (a, b, s)), strict=True)]).reshape(a.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        return m - shift if to is Form.S1 else m + shift


def _shift(a, b, s):
    """The location in S0 less that in S1; NaN outside the domain."""
    if not (0.0 < a <= 2.0 and abs(b) <= 1.0 and s > 0.0):
        return math.nan
    return b * (2.0 / math.pi) * s * math.log(s) if a == 1.0 else b * tan_half_pi(a)[0] * s


def peak_place(a, b):
    """A place near the mode of the standard distribution with alpha < 1 in S1, within a factor of 2 or where the density is flat.

    For small alpha |z|^-alpha is nearly exponential, and the density of z > 0 proportional to that of its power.
    """
    tail = a / ((1.0 + a) * math.gamma(1.0 - a) * math.cos(0.5 * math.pi * a))
    return b * math.hypot(tail ** (1.0 / a), cusp_scale(a, b))


def converted(p, to, form=None):
    """Parameters from S1 (or from the form PEAK if `form` says so) to S0, or from S0 to S1 or PEAK."""
    a, b, loc, scale = map(float, p)
    if form is Form.PEAK:
        loc = loc - scale * peak_place(a, b)
    loc += _shift(a, b, scale) if to is Form.S0 else -_shift(a, b, scale)
    if to is Form.PEAK:
        loc = loc + scale * peak_place(a, b)
    return np.array([a, b, loc, scale])


def conversion_slopes(params, to):
    """Derivatives of the converted parameters by the given ones: loc changes by beta t scale, t = tan(pi alpha/2)."""
    a, b, _, s = params
    t = tan_half_pi(a)[0]
    by = np.array([b * s * 0.5 * math.pi * (1.0 + t * t), t * s, 0.0, b * t])
    if a == 1.0:
        by = np.array([math.inf, s * math.log(s), 0.0, b * (math.log(s) + 1.0)]) * (2.0 / math.pi)
    J = np.eye(4)
    J[2] += -by if to is Form.S1 else by
    return J


def covariance_in_s1(cov, slopes):
    """Covariance by the delta method, of what has one."""
    known = np.ix_(*[np.isfinite(np.diag(cov))] * 2)
    cov[known] = carried(cov[known], slopes[known])
    return cov
