"""The scalar steps of the samplers draw from their distributions."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from numbastats.scalar import shrinkage

mp.mp.dps = 40


def test_truncated_normal_quantile():
    u = np.array([2.0**-53, 1e-12, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2.0**-53])
    worst = 0.0
    for m in (-6.0, -5.0, -1.0, 0.0, 0.47, 1.0, 6.0, 20.0):
        z = np.array([shrinkage.truncnorm_right(m, v) for v in u])
        below = mp.ncdf(-m)
        for v, got in zip(u, z, strict=True):
            upper = (1 - mp.mpf(float(v))) * (1 - below)  # mass above
            start = float(scipy.stats.norm.isf(float(upper)))
            want = m + mp.findroot(lambda x, upper=upper: mp.log(mp.ncdf(-x)) - mp.log(upper), start)
            worst = max(worst, abs(float(got - want)) / max(1.0, abs(m)))
    assert worst < 2e-15  # observed 5.9e-16


STREAM = np.uint32(5)


@pytest.mark.parametrize("x", [1e-12, 1e-3, 0.3, 0.999, 1.5, 40.0])
def test_horseshoe_local_distribution(x):
    """Eta has the density e^(-x eta)/(1 + eta) e^-x / E1(x)."""
    b = math.sqrt(2.0 * x)
    eta = np.array([shrinkage.horseshoe_local1(b, 0.0, np.uint32(3), np.uint32(4), i, STREAM) for i in range(20_000)])
    cdf = lambda e: 1.0 - scipy.special.exp1(x * (1.0 + e)) / scipy.special.exp1(x)  # noqa: E731
    assert scipy.stats.kstest(eta, cdf).pvalue > 1e-3


def test_regularised_density():
    """Integral of (1 + c tau/sqrt(eta)) e^(-x eta)/(1 + eta) over eta, x = b^2/(2 tau^2)."""
    for b in (0.0, 1e-8, 0.1, 1.0, 30.0):
        for t in (-5.0, 0.0, 3.0):
            for c in (0.0, 1e-3, 1.0, 100.0):
                x = max(mp.mpf(b) ** 2 / 2 * mp.exp(-2 * t), mp.mpf("1e-300"))
                want = mp.log(mp.exp(x) * mp.e1(x) + c * mp.exp(t) * mp.pi * mp.exp(x) * mp.erfc(mp.sqrt(x)))
                assert abs(shrinkage.regularised_density(b, t, c) - want) < 1e-14 * max(1.0, abs(want))
    x, c = mp.mpf("0.7"), 2
    want = mp.log(mp.quad(lambda eta: (1 + c / mp.sqrt(eta)) * mp.exp(-x * eta) / (1 + eta), [0, 0.1, 1, 10, mp.inf]))
    assert abs(shrinkage.regularised_density(math.sqrt(1.4), 0.0, 2.0) - want) < 1e-14


@pytest.mark.parametrize("x", [1e-6, 0.3, 0.4, 40.0])
@pytest.mark.parametrize("c", [1e-2, 1.0, 1e3])
def test_regularised_local_distribution(x, c):
    """Against its density, integrated on a grid of log eta."""
    b = math.sqrt(2.0 * x)
    eta = [shrinkage.regularised_local1(b, 0.0, c, np.uint32(3), np.uint32(4), i, STREAM) for i in range(20_000)]
    v = np.linspace(-60.0, 35.0, 200_001)
    density = np.exp(v - x * np.exp(v)) * (1.0 + c * np.exp(-0.5 * v)) / (1.0 + np.exp(v))
    cdf = np.cumsum(density) / density.sum()
    assert scipy.stats.kstest(np.log(eta), lambda u: np.interp(u, v, cdf)).pvalue > 1e-3


@pytest.mark.parametrize("b", [1e-3, 0.5, 3.0])
def test_lasso_local_distribution(b):
    t = 0.3
    eta = np.array([shrinkage.lasso_local1(b, t, np.uint32(3), np.uint32(4), i, STREAM) for i in range(20_000)])
    mean = math.exp(t) / b
    assert scipy.stats.kstest(eta, scipy.stats.invgauss(mean, scale=1.0).cdf).pvalue > 1e-3


def test_slice_sampler_draws_from_its_density():
    """A normal density; successive draws of one chain, thinned."""

    t, draws = 0.0, []
    for step in range(20_000):
        phase, count, level, lo, hi, at = 0, 0, 0.0, t, t, t
        while phase != shrinkage.DONE:
            value = -0.5 * (at - 1.0) ** 2
            phase, count, level, lo, hi, at = shrinkage.slice_step(
                phase, count, value, level, t, lo, hi, at, np.uint32(1), np.uint32(2), shrinkage.item_of(0, step), STREAM
            )
        t = at
        draws.append(t)
    x = np.array(draws[::10])
    assert scipy.stats.kstest(x, scipy.stats.norm(1.0).cdf).pvalue > 1e-3
    phase, count, level, lo, hi, at = shrinkage.slice_step(
        0, 0, np.nan, 0.0, 2.0, 2.0, 2.0, 2.0, np.uint32(1), np.uint32(2), 0, STREAM
    )
    assert phase == shrinkage.DONE and at == 2.0  # a density that is NaN ends the search
