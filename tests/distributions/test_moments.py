"""Means and variances against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from numbastats.distributions import (
    GeneralizedHyperbolic,
    VarianceGamma,
    generalized_hyperbolic,
    hyperbolic,
    moments,
    nig,
    student_t,
)
from tests.contract import same
from tests.distributions.cases.generalized_hyperbolic import CASE as GENERALIZED_HYPERBOLIC
from tests.distributions.cases.variance_gamma import CASE as VARIANCE_GAMMA
from tests.distributions.naive import CASES, general


def exact_moments(law, p):
    """Mean and variance through the Bessel functions, in twice the digits that they lose."""
    if law is student_t:
        (n,) = p
        return (0, (n / (n - 2) if n > 2 else math.inf)) if n > 1 else (math.nan, math.nan)
    lam, a, b, d, mu = general(law, p)
    gamma = mpmath.sqrt((a - b) * (a + b))
    if d == 0:
        w, spread = 2 * lam / gamma**2, 4 * lam / gamma**4
    else:
        k0, k1, k2 = (mpmath.besselk(lam + i, d * gamma) for i in range(3))
        w, spread = d / gamma * k1 / k0, (d / gamma) ** 2 * (k2 * k0 - k1**2) / k0**2
    return mu + b * w, w + b * b * spread


MOMENTS = [
    *CASES,
    (student_t, (1.0,)),
    (student_t, (1.5,)),
    (student_t, (2.0 + 2e-15,)),
    (student_t, (1e300,)),
    *(
        (generalized_hyperbolic, (lam, alpha, share * alpha, delta / alpha))
        for lam in (-1.5, -1.0, 0.0, 0.3, 2.5, 40.0, -1e4)
        for delta in (1e-25, 1e-3, 1.0, 30.0, 1e12)
        for alpha, share in ((1e-100, 0.999999), (3.0, -0.5), (1e100, 0.999999999999))
    ),
]


@pytest.mark.parametrize(("law", "p"), MOMENTS)
def test_moments(law, p):
    with mpmath.workdps(80):
        want = [float(v) for v in exact_moments(law, p)]
    np.testing.assert_allclose([law.mean(*p), law.var(*p)], want, rtol=1e-14)  # observed 3e-15
    np.testing.assert_allclose(law.std(*p), math.sqrt(want[1]), rtol=1e-14)


def test_moments_of_frozen_laws_and_arrays():
    nu = np.array([[-1.0, 0.5, 1.0], [1.5, 2.0, 3.0]])
    assert same(student_t.mean(nu), [[math.nan] * 3, [0.0] * 3])
    assert same(student_t.var(nu), [[math.nan] * 3, [math.inf, math.inf, 3.0]])
    assert student_t.mean(np.zeros((0, 2))).shape == (0, 2)
    frozen = hyperbolic(1.5, np.array([0.3, -0.3]), 1.0, mu=np.array([[0.0], [2.0]]))
    x = frozen.rvs((200_000, 2, 2), rng=1)
    for got, drawn in ((frozen.mean(), x.mean(0)), (frozen.std(), x.std(0)), (frozen.median(), np.median(x, 0))):
        assert got.shape == (2, 2)
        np.testing.assert_allclose(got, drawn, atol=0.02)  # the means have standard deviations of 0.004; observed 0.008
    np.testing.assert_allclose(frozen.cdf(frozen.median()), 0.5, rtol=1e-13)
    assert type(nig(1.5, 0.3, 1.0).mean()) is np.float64
    assert nig.median(1.5, 0.3, 1.0) == nig.ppf(0.5, 1.5, 0.3, 1.0)
    with pytest.raises(ValueError, match=r"NIG\(.*delta=1e-90.*1e-70"):
        nig.var(1.5, 0.3, 1e-90)


SHAPES = [
    *(
        GeneralizedHyperbolic(lam, alpha, share * alpha, delta / alpha)
        for lam in (-90.0, -0.5, 1.0, 101.0, -1e4)
        for delta in (1e-6, 0.3, 98.0, 103.0, 1e5)
        for alpha, share in ((1e-100, -0.5), (3.0, 0.999999))
    ),
    *(VarianceGamma(lam, 3.0, beta) for lam in (0.01, 0.5, 1.0, 1e4) for beta in (-1.0, 0.1, 2.99999)),
]


EXACT = {case.cls: case.exact for case in (GENERALIZED_HYPERBOLIC, VARIANCE_GAMMA)}


@pytest.mark.parametrize("d", SHAPES, ids=repr)
def test_skewness_and_kurtosis(d):
    with mpmath.workdps(50):
        want = [float(v) for v in EXACT[type(d)].skewness_kurtosis(d)]
    np.testing.assert_allclose([d.skewness(), d.kurtosis()], want, rtol=1e-12)  # observed 1.5e-15


def test_cumulants_of_the_mixing_distribution_by_sums_and_series():
    """Of orders 1 and 2 sums lose nothing; both ways agree where one takes over from the other."""
    for lam, z in ((0.0, 150.0), (120.0, 90.0), (-300.0, 1.0)):
        mode, h, c = moments.mixing_cumulants(lam, 1.0, z)
        other, mean, var = moments.mixing_moments(lam, 1.0, z)
        np.testing.assert_allclose([mode, c[0], c[1] / h], [other, mean, var], rtol=1e-14)


def test_shapes_of_frozen_laws_and_arrays():
    nu = np.array([-1.0, 1.0, 2.0, 2.5, 4.0, 10.0])
    assert same(student_t.skewness(nu), [math.nan] * 4 + [0.0] * 2)
    np.testing.assert_array_equal(student_t.kurtosis(nu), [math.nan] * 3 + [math.inf] * 2 + [1.0])
    frozen = hyperbolic(1.5, np.array([0.3, -0.3]), 1.0)
    assert same(frozen.skewness(), frozen.skewness()[0] * np.array([1.0, -1.0])) and frozen.kurtosis().shape == (2,)
    assert frozen.skewness()[0] == generalized_hyperbolic.skewness(1.0, 1.5, 0.3, 1.0) > 0.0
    assert math.copysign(1.0, nig.skewness(1.5, 0.0, 1.0)) == 1.0
    np.testing.assert_allclose(nig.kurtosis(2.0, 0.0, 1.0), 1.5, rtol=1e-14)  # 3/(alpha delta)
    assert np.isnan(nig.kurtosis(1.5, 1.6, 1.0))
    with pytest.raises(ValueError, match=r"NIG\(.*delta=1e-90.*1e-70"):
        nig.kurtosis(1.5, 0.3, 1e-90)
