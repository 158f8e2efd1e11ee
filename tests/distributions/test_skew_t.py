"""The skew t distribution: against an integral of positive terms, its limits, and published estimates."""

import math

import mpmath
import numpy as np
import pytest

from numbastats import distributions as D
from numbastats.distributions import SkewNormal, SkewT, StudentT


def lower_tail(z, shape, df):
    """For z < 0 and shape > 0, with 30 digits: the mixture over the variance of the integral for the skew-normal distribution."""
    with mpmath.workdps(30):
        z, df = mpmath.mpf(z), mpmath.mpf(df)
        f = lambda x: (1 + z * z * (1 + x * x) / df) ** (-df / 2) / (mpmath.pi * (1 + x * x))  # noqa: E731
        return float(mpmath.quad(f, [shape, shape + 1, shape + 10, shape + 1000, mpmath.inf]))


@pytest.mark.parametrize(("z", "shape", "df"), [(-0.5, 2.0, 4.0), (-3.0, 2.0, 4.0), (-20.0, 1.0, 2.5), (-100.0, 3.0, 0.7)])
def test_tails(z, shape, df):
    want = lower_tail(z, shape, df)
    assert abs(SkewT(shape, df).cdf(z) / want - 1) < 2e-14  # observed 1e-15
    assert abs(SkewT(-shape, df).sf(-z) / want - 1) < 2e-14
    assert abs(SkewT(shape, df).ppf(want) / z - 1) < 1e-12


def test_centre_and_limits():
    shape = np.array([-30.0, 0.0, 0.3, 2.0])
    np.testing.assert_allclose(SkewT(shape, 3.0).cdf(0.0), 0.5 - np.arctan(shape) / math.pi, rtol=1e-13)
    z = np.array([-1e10, -3.0, 0.0, 2.0, 50.0])
    for name in ("pdf", "logpdf", "cdf", "sf", "logsf"):
        np.testing.assert_allclose(getattr(SkewT(0.0, 4.0), name)(z), getattr(StudentT(4.0), name)(z), rtol=1e-13)
    z = np.array([-2.0, 0.0, 1.5])
    np.testing.assert_allclose(SkewT(2.0, 1e9).cdf(z), SkewNormal(2.0).cdf(z), rtol=1e-6)  # 1.2e-7 by the limit


def test_moments():
    d = SkewT(-3.0, 9.0, 1.0, 2.0)
    mean, var = d.mean(), d.var()
    np.testing.assert_allclose(mean, d.expect(), rtol=1e-12)
    for power, want in ((2, var), (3, d.skewness() * var**1.5), (4, (d.kurtosis() + 3.0) * var**2)):
        np.testing.assert_allclose(d.expect(lambda x, k=power: (x - mean) ** k), want, rtol=1e-11)
    assert math.isnan(SkewT(1.0, 1.0).mean()) and SkewT(1.0, 2.0).var() == math.inf and math.isnan(SkewT(1.0, 3.0).skewness())
    assert SkewT(1.0, 4.0).kurtosis() == math.inf and math.isnan(SkewT(1.0, 2.0).kurtosis())


def test_score():
    d, x = SkewT(2.0, 4.0, 1.0, 2.0), np.array([-30.0, 0.3, 1.0, 8.0])
    for name, found in zip(d.names, d.score(x), strict=True):
        h = 1e-5
        up, down = (type(d)(**(d.params._asdict() | {name: getattr(d, name) + s})) for s in (h, -h))
        np.testing.assert_allclose(found, (up.logpdf(x) - down.logpdf(x)) / (2 * h), rtol=1e-7, atol=1e-9)


def test_fits():
    x = SkewT(2.0, 5.0, 1.0, 3.0).rvs(1000, rng=1)
    found = D.fit(x, "skew_t")
    assert found.converged
    for name, value in zip(("shape", "df", "loc", "scale"), (2.0, 5.0, 1.0, 3.0), strict=True):
        assert abs(found.params[name] - value) < 3 * found.se[name], name
    mirrored = D.fit(-x, SkewT)
    assert abs(mirrored.loglik - found.loglik) < 1e-8
    np.testing.assert_allclose(mirrored.params["shape"], -found.params["shape"], rtol=1e-4)
    with pytest.raises(ValueError, match="exact values"):
        D.fit(x, SkewT, truncated=(0.0, None))


@pytest.mark.slow
def test_fits_are_likelier_than_those_within():
    x = SkewT(2.0, 5.0, 1.0, 3.0).rvs(1000, rng=1)
    assert D.fit(x, "skew_t").loglik > max(D.fit(x, name).loglik for name in ("student_t", "skew_normal", "normal"))
