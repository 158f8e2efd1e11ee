"""Elementary distributions against mpmath and SciPy: tails of any depth, quantiles, large parameters, moments, scores."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

from numbastats.distributions import (
    GEV,
    GPD,
    AsymmetricLaplace,
    Beta,
    BirnbaumSaunders,
    BurrXII,
    Cauchy,
    ChiSquared,
    ExGaussian,
    Exponential,
    Frechet,
    Gamma,
    GeneralizedGamma,
    GeneralizedNormal,
    Gumbel,
    GumbelMin,
    HalfNormal,
    InverseGamma,
    InverseGaussian,
    JohnsonSU,
    Kumaraswamy,
    Laplace,
    Logistic,
    LogLogistic,
    Lognormal,
    Lomax,
    Maxwell,
    Normal,
    Pareto,
    PearsonIII,
    Rayleigh,
    SkewNormal,
    StudentT,
    TruncatedNormal,
    Uniform,
    Weibull,
)
from tests.distributions import exact

# with the largest relative errors allowed of tails, densities and quantiles (in probability, beyond the rounding of x)
CASES = [
    (Normal(), 3e-13, 1e-13, 5e-15),  # observed 1.0e-13, 2.7e-14, 8e-16
    (Normal(3.0, 0.5), 3e-13, 1e-13, 1e-14),  # 1.0e-13, 2.7e-14, 2.3e-15
    (Lognormal(0.5, 0.0, 2.0), 3e-13, 3e-13, 2e-14),  # 1.1e-13, 9.2e-14, 5.2e-15
    (Lognormal(3.0), 3e-13, 1e-13, 1e-13),  # 1.0e-13, 3.9e-14, 3.1e-14
    (Gamma(0.01), 1e-13, 3e-13, 1e-14),  # 3.9e-14, 1.1e-13, 1.8e-15
    (Gamma(0.5, 1.0, 2.0), 3e-13, 1e-14, 3e-14),  # 1.0e-13, 3.3e-15, 8.6e-15
    (Gamma(2.0), 1e-13, 6e-14, 3e-13),  # 3.8e-14, 1.9e-14, 8.9e-14
    (Gamma(9.9), 2e-13, 2e-13, 1e-13),  # 7.0e-14, 4.8e-14, 2.6e-14
    (Gamma(300.0), 1e-12, 2e-13, 1e-12),  # 2.5e-13, 5.5e-14, 2.5e-13
    (Gamma(2e4), 5e-13, 1e-12, 5e-15),  # 1.6e-13, 1.5e-13, 8.5e-16
    (ChiSquared(3.0), 2e-13, 6e-14, 2e-13),  # 5.5e-14, 2.2e-14, 6.9e-14
    (Weibull(0.3), 1e-13, 1e-13, 1e-14),  # 2.6e-14, 2.7e-14, 3.6e-15
    (Weibull(50.0), 3e-14, 2e-13, 1e-14),  # 7.3e-15, 5.8e-14, 2.5e-15
    (Beta(0.1, 0.5), 5e-14, 1e-13, 1e-13),  # 3.5e-16, 3.0e-14
    (Beta(2.0, 3.0), 5e-14, 1e-13, 1e-13),  # 2.5e-16, 2.5e-14, 4.3e-16
    (Beta(2000.0, 3000.0), 1e-12, 1e-12, 1e-14),  # 3.5e-13, 4.2e-13, 2.5e-15
    (InverseGaussian(1.0, 2.0), 3e-13, 5e-13, 3e-13),  # 9.8e-14, 1.7e-13, 8.5e-14
    (InverseGaussian(1.0, 1e4), 2e-12, 2e-12, 1e-14),  # 6.0e-13, 5.9e-13, 2.3e-15
    (InverseGaussian(1.0, 1e-4), 1e-12, 3e-13, 3e-13),  # 4.6e-13, 8.6e-14, 8.6e-14
    (InverseGaussian(5.0, 0.1), 5e-13, 3e-13, 3e-13),  # 1.6e-13, 7.6e-14, 7.6e-14
    (TruncatedNormal(-1.0, 2.0), 2e-14, 1e-15, 2e-15),  # 4.6e-15, 1.9e-16, 4.6e-16
    (TruncatedNormal(3.0, 4.0), 1e-14, 4e-15, 3e-15),  # 3.1e-15, 1.1e-15, 7.2e-16
    (TruncatedNormal(30.0, np.inf), 4e-13, 4e-13, 4e-15),  # 1.3e-13, 1.4e-13, 1.2e-15
    (TruncatedNormal(-50.0, -49.9, 0.0, 2.0), 2e-13, 2e-13, 3e-15),  # 4.8e-14, 6.3e-14, 6e-16
    (TruncatedNormal(0.5, 0.5001), 5e-15, 4e-15, 4e-15),  # 1.4e-15, 1.2e-15, 9e-16
    (TruncatedNormal(-20.0, 30.0), 3e-14, 1e-14, 4e-15),  # 9.6e-15, 2.8e-15, 9.5e-16
    (Exponential(0.0, 2.0), 1e-15, 1e-15, 1e-15),  # observed beyond the rounding of x 0, 9e-17, 0
    (Laplace(0.0, 2.0), 1e-15, 2e-13, 1e-15),  # 0, 5.5e-14, 0
    (Logistic(0.0, 2.0), 1e-15, 2e-15, 1e-15),  # 0, 4.3e-16, 0
    (Cauchy(0.0, 2.0), 1e-15, 1e-15, 1e-15),  # 0, 1.4e-16, 0
    (Gumbel(0.0, 2.0), 1e-14, 4e-14, 1e-14),  # 0, 1.3e-14, 0
    (GEV(0.2), 2e-13, 2e-13, 1e-13),  # 4.8e-14, 4.6e-14, 2.5e-14
    (GEV(1e-9), 1e-13, 1e-12, 1e-14),  # 5e-20, 2.8e-13, 5e-20
    (GPD(0.2), 2e-13, 4e-14, 1e-13),  # 4.8e-14, 1.3e-14, 2.5e-14
    (GPD(1e-9), 1e-14, 1e-13, 1e-14),  # 0, 2.8e-14, 0
    (StudentT(4.0), 1e-14, 3e-14, 4e-14),  # 0, 8.2e-15, 1.2e-14
    (StudentT(150.0), 1e-14, 3e-13, 1e-14),  # 1.2e-16, 8.0e-14, 0
    (StudentT(1e6), 1e-14, 1e-13, 1e-14),  # 3.1e-15, 3.2e-14, 3.3e-15
    (Pareto(2.5), 1e-13, 1e-13, 1e-13),  # observed 2.7e-14, 2.2e-14, 2.4e-14
    (Lomax(0.3), 5e-14, 3e-14, 5e-14),  # 1.3e-15, 8.4e-15, 1.9e-15
    (Lomax(1e6), 1e-14, 1e-13, 1e-14),  # 0, 1.9e-14, 0
    (LogLogistic(0.1), 1e-14, 2e-13, 2e-14),  # 7e-16, 4.6e-14, 2.9e-15
    (LogLogistic(3.0), 1e-13, 1e-14, 3e-13),  # 2.8e-14, 2.5e-15, 8.1e-14
    (InverseGamma(0.2), 1e-14, 3e-13, 1e-14),  # 8e-17, 1.0e-13, 2e-16
    (InverseGamma(500.0), 5e-14, 1e-12, 1e-12),  # 1.3e-14, 2.8e-13, 2.0e-13
    (Frechet(0.2), 5e-13, 1e-12, 2e-13),  # 1.8e-13, 2.8e-13, 4.1e-14
    (Frechet(4.0), 1e-14, 5e-13, 2e-13),  # 0, 1.3e-13, 5.2e-14
    (GumbelMin(0.0, 2.0), 1e-14, 4e-14, 1e-14),  # 0, 1.3e-14, 0
    (Rayleigh(0.0, 2.0), 1e-14, 2e-13, 1e-14),  # 0, 4.5e-14, 0
    (Maxwell(), 1e-14, 1e-13, 1e-14),  # 0, 2.7e-14, 0
    (HalfNormal(), 1e-14, 2e-13, 1e-14),  # 0, 5.0e-14, 0
    (BirnbaumSaunders(0.01), 1e-14, 4e-13, 1e-14),  # 0, 1.1e-13, 0
    (BirnbaumSaunders(50.0), 1e-14, 6e-13, 1e-14),  # 4e-17, 1.8e-13, 2e-17
    (GeneralizedNormal(0.3), 1e-14, 5e-14, 2e-12),  # 5e-16, 1.3e-14, 4.8e-13
    (GeneralizedNormal(1e4), 1e-14, 1e-13, 1e-14),  # 0, 3.1e-14, 0
    (AsymmetricLaplace(0.1), 1e-14, 2e-13, 1e-14),  # 0, 5.5e-14, 0
    (AsymmetricLaplace(30.0), 1e-14, 2e-13, 1e-14),  # 0, 4.5e-14, 0
    (GeneralizedGamma(0.01, 100.0), 2e-13, 2e-13, 4e-13),  # 5.9e-14, 5.9e-14, 1.1e-13
    (GeneralizedGamma(0.5, 300.0), 1e-14, 5e-13, 2e-13),  # 0, 1.3e-13, 5.7e-14
    (GeneralizedGamma(30.0, 0.1), 2e-13, 2e-13, 1e-12),  # 5.7e-14, 5.4e-14, 2.7e-13
    (BurrXII(3.0, 2.0), 1e-13, 1e-13, 3e-13),  # 2.6e-14, 2.8e-14, 8.0e-14
    (BurrXII(300.0, 1e-3), 1e-14, 1e-13, 1e-14),  # 3.4e-15, 2.4e-14, 7e-16
    (BurrXII(2.0, 1e5), 1e-14, 2e-13, 3e-14),  # 0, 5.5e-14, 7.5e-15
    (JohnsonSU(-30.0, 1.0), 1e-14, 1e-13, 1e-13),  # 3.6e-15, 3.9e-14, 3.6e-14
    (JohnsonSU(3.0, 1e4), 1e-14, 2e-13, 1e-14),  # 0, 5.5e-14, 0
    (JohnsonSU(0.0, 0.05), 3e-14, 6e-14, 1e-13),  # 9.7e-15, 1.8e-14, 3.9e-14
    (PearsonIII(6.0), 1e-14, 2e-12, 1e-14),  # 0, 4.5e-13, 0
    (PearsonIII(1e-3), 1e-14, 4e-13, 1e-14),  # 0, 1.0e-13, 0
    (PearsonIII(-1e-6), 1e-14, 6e-13, 1e-14),  # 0, 1.8e-13, 0
    (SkewNormal(0.01), 1e-14, 2e-13, 1e-14),  # 0, 6.0e-14, 0
    (SkewNormal(1.0), 1e-14, 2e-13, 1e-14),  # 1.3e-15, 7.7e-14, 0
    (SkewNormal(-3.0), 1e-14, 2e-13, 2e-14),  # 2.9e-15, 7.7e-14, 5.0e-15
    (SkewNormal(1e9), 1e-14, 5e-13, 1e-14),  # 0, 1.5e-13, 0
    (ExGaussian(1e-3), 1e-14, 2e-13, 1e-14),  # 0, 6.3e-14, 0
    (ExGaussian(0.3), 1e-13, 1e-13, 1e-14),  # 0, 3.4e-14, 0
    (ExGaussian(0.51), 1e-14, 2e-13, 6e-14),  # 0, 6.2e-14, 1.8e-14
    (ExGaussian(1e4), 1e-14, 1e-13, 1e-14),  # 1e-15, 3.0e-14, 2e-15
    (Kumaraswamy(0.1, 0.5), 1e-14, 3e-14, 1e-14),  # 7e-16, 9.3e-15, 7e-16
    (Kumaraswamy(2.0, 3.0), 1e-14, 1e-14, 3e-14),  # 0, 2.0e-15, 7.8e-15
    (Kumaraswamy(300.0, 50.0), 1e-14, 2e-13, 1e-14),  # 0, 6.4e-14, 0
]
PROBABILITIES = np.array([1e-280, 1e-100, 1e-16, 1e-5, 0.3])


@pytest.mark.parametrize(("d", "of_tail", "of_density", "of_quantile"), CASES, ids=[repr(c[0]) for c in CASES])
def test_tails_and_quantiles(d, of_tail, of_density, of_quantile):
    low, high = d.support()
    checked = 0
    for upper in (False, True):
        quantile, tail, log_tail = (d.isf, d.sf, d.logsf) if upper else (d.ppf, d.cdf, d.logcdf)
        for p, x in zip(PROBABILITIES, map(float, quantile(PROBABILITIES)), strict=True):
            if not (low < x < high and 1e-300 < abs(x - d.loc)):
                continue
            cancels = p < 1e-20 and isinstance(d, (InverseGaussian, TruncatedNormal))
            with mpmath.workdps(340 if cancels else 50):
                want = (exact.sf if upper else exact.cdf)(d, x)
                log_density = exact.log_density(d, x)
                rounding = float(mpmath.exp(log_density) * abs(x) / want) * 4e-16  # of x
                assert abs(float(want / mpmath.mpf(p) - 1)) < of_quantile + rounding, (p, x)
                assert abs(float(mpmath.mpf(float(tail(x))) / want - 1)) < of_tail + rounding, (p, x)
                log_error = abs(float(mpmath.mpf(float(log_tail(x))) - mpmath.log(want)))
                assert log_error < of_tail + rounding + 3e-16 * abs(np.log(p)), (p, x)
                assert abs(float(mpmath.mpf(float(d.logpdf(x))) - log_density)) < of_density + 2e-16 * abs(float(log_density))
                if -660 < log_density < 700:
                    assert abs(float(mpmath.mpf(float(d.pdf(x))) / mpmath.exp(log_density) - 1)) < of_density, (p, x)
                checked += 1
    assert checked >= 4


@pytest.mark.parametrize(
    "d",
    [
        Normal(3.0, 0.5),
        Lognormal(0.5, 0.1, 2.0),
        Gamma(0.5, 0.1, 2.0),
        Gamma(300.0, 0.1),
        ChiSquared(3.0, 0.1, 2.0),
        Weibull(0.8, 0.1, 3.0),
        Beta(2.0, 3.0, -0.5, 10.0),
        InverseGaussian(2.0, 3.0, 0.1),
        TruncatedNormal(0.2, 9.0, 1.0, 2.0),
        Exponential(0.1, 2.0),
        Laplace(0.1, 2.0),
        Logistic(0.1, 2.0),
        Cauchy(0.1, 2.0),
        Gumbel(0.1, 2.0),
        GEV(0.2, 0.1, 2.0),
        GEV(-1e-6, 0.1, 2.0),
        GPD(0.2, 0.1, 2.0),
        GPD(1e-6, 0.1, 2.0),
        Pareto(2.5, -1.1, 0.3),
        Lomax(2.5, 0.1, 2.0),
        LogLogistic(3.0, 0.1, 2.0),
        InverseGamma(0.5, 0.1, 2.0),
        InverseGamma(40.0, 0.1, 50.0),
        Frechet(3.0, 0.1, 2.0),
        GumbelMin(0.1, 2.0),
        Rayleigh(0.1, 2.0),
        Maxwell(0.1, 2.0),
        HalfNormal(0.1, 2.0),
        BirnbaumSaunders(0.7, 0.1, 2.0),
        GeneralizedNormal(0.7, 0.1, 2.0),
        GeneralizedNormal(3.0, 0.1, 2.0),
        AsymmetricLaplace(0.6, 1.5, 2.0),
        GeneralizedGamma(0.5, 2.5, 0.1, 2.0),
        BurrXII(3.0, 2.5, 0.1, 2.0),
        PearsonIII(0.5, 0.1, 3.0),
        PearsonIII(-0.4, 0.1, 3.0),
        PearsonIII(1e-4, 0.1, 3.0),
        SkewNormal(2.5, 0.1, 2.0),
        ExGaussian(1.5, 0.1, 2.0),
        ExGaussian(1e-3, 0.1, 2.0),
        JohnsonSU(-0.5, 1.8, 0.1, 2.0),
        Kumaraswamy(2.0, 3.0, -0.5, 10.0),
    ],
    ids=repr,
)
def test_score(d):
    """Differences at 40 digits."""
    for k, name in enumerate(d.names):
        for x in (0.3, 1.0, 3.0, 8.0):
            with mpmath.workdps(40):
                value, h = mpmath.mpf(float(getattr(d.params, name))), mpmath.mpf(10) ** -12
                want = (exact.log_density(d, x, **{name: value + h}) - exact.log_density(d, x, **{name: value - h})) / (2 * h)
            assert abs(float(d.score(x)[k]) - float(want)) < 1e-13 * (1 + abs(float(want)))  # observed 1.4e-14


PEERS = [
    (Normal(1.0, 2.0), scipy.stats.norm(1.0, 2.0)),
    (Lognormal(0.7, 1.0, 2.0), scipy.stats.lognorm(0.7, 1.0, 2.0)),
    (Gamma(3.3, 1.0, 2.0), scipy.stats.gamma(3.3, 1.0, 2.0)),
    (ChiSquared(3.3, 1.0, 2.0), scipy.stats.chi2(3.3, 1.0, 2.0)),
    (Weibull(0.7, 1.0, 2.0), scipy.stats.weibull_min(0.7, 1.0, 2.0)),
    (Beta(2.5, 0.7, 1.0, 2.0), scipy.stats.beta(2.5, 0.7, 1.0, 2.0)),
    (InverseGaussian(2.0, 5.0, 1.0), scipy.stats.invgauss(0.4, 1.0, 5.0)),
    (TruncatedNormal(-1.0, 3.0, 0.5, 2.0), scipy.stats.truncnorm(-0.75, 1.25, 0.5, 2.0)),
    (Exponential(1.0, 2.0), scipy.stats.expon(1.0, 2.0)),
    (Laplace(1.0, 2.0), scipy.stats.laplace(1.0, 2.0)),
    (Logistic(1.0, 2.0), scipy.stats.logistic(1.0, 2.0)),
    (Uniform(1.0, 2.0), scipy.stats.uniform(1.0, 2.0)),
    (Gumbel(1.0, 2.0), scipy.stats.gumbel_r(1.0, 2.0)),
    (GEV(0.2, 1.0, 2.0), scipy.stats.genextreme(-0.2, 1.0, 2.0)),
    (GPD(-0.2, 1.0, 2.0), scipy.stats.genpareto(-0.2, 1.0, 2.0)),
    (Pareto(4.5, 1.0, 2.0), scipy.stats.pareto(4.5, 1.0, 2.0)),
    (Lomax(4.5, 1.0, 2.0), scipy.stats.lomax(4.5, 1.0, 2.0)),
    (LogLogistic(3.5, 1.0, 2.0), scipy.stats.fisk(3.5, 1.0, 2.0)),
    (InverseGamma(3.5, 1.0, 2.0), scipy.stats.invgamma(3.5, 1.0, 2.0)),
    (Frechet(3.5, 1.0, 2.0), scipy.stats.invweibull(3.5, 1.0, 2.0)),
    (GumbelMin(1.0, 2.0), scipy.stats.gumbel_l(1.0, 2.0)),
    (Rayleigh(1.0, 2.0), scipy.stats.rayleigh(1.0, 2.0)),
    (Maxwell(1.0, 2.0), scipy.stats.maxwell(1.0, 2.0)),
    (HalfNormal(1.0, 2.0), scipy.stats.halfnorm(1.0, 2.0)),
    (BirnbaumSaunders(0.7, 1.0, 2.0), scipy.stats.fatiguelife(0.7, 1.0, 2.0)),
    (GeneralizedNormal(1.5, 1.0, 2.0), scipy.stats.gennorm(1.5, 1.0, 2.0)),
    (AsymmetricLaplace(0.6, 1.0, 2.0), scipy.stats.laplace_asymmetric(0.6, 1.0, 2.0)),
    (GeneralizedGamma(2.5, 0.8, 1.0, 2.0), scipy.stats.gengamma(2.5, 0.8, 1.0, 2.0)),
    (BurrXII(3.0, 2.5, 1.0, 2.0), scipy.stats.burr12(3.0, 2.5, 1.0, 2.0)),
    (PearsonIII(0.7, 1.0, 2.0), scipy.stats.pearson3(0.7, 1.0, 2.0)),
    (PearsonIII(-1.2, 1.0, 2.0), scipy.stats.pearson3(-1.2, 1.0, 2.0)),
    (SkewNormal(2.5, 1.0, 2.0), scipy.stats.skewnorm(2.5, 1.0, 2.0)),
    (ExGaussian(1.5, 1.0, 2.0), scipy.stats.exponnorm(1.5, 1.0, 2.0)),
    (JohnsonSU(-0.5, 1.8, 1.0, 2.0), scipy.stats.johnsonsu(-0.5, 1.8, 1.0, 2.0)),
]


@pytest.mark.parametrize(("d", "peer"), PEERS, ids=[repr(p[0]) for p in PEERS])
def test_parameters_mean_what_scipy_means(d, peer):
    x = peer.ppf([0.01, 0.3, 0.9])
    np.testing.assert_allclose(d.pdf(x), peer.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(d.cdf(x), peer.cdf(x), rtol=1e-11)
    np.testing.assert_allclose((d.mean(), d.var(), d.std()), (peer.mean(), peer.var(), peer.std()), rtol=1e-11)
    if not isinstance(d, PearsonIII):  # of which SciPy says that it is everywhere
        assert d.support() == peer.support()


def test_moments_that_cancel():
    """Of narrow and far intervals, and of Weibull distributions next to a point: mpmath, 60 digits."""
    with mpmath.workdps(60):
        for a, b in ((0.5, 0.5 + 2.0**-26), (30.0, np.inf), (-np.inf, -200.0), (-60.0, -59.9), (-1.0, 1e300), (1e4, 2e4)):
            base = mpmath.mpf(a if a > 0 else b if b < 0 else 0)
            ends = [max(mpmath.mpf(a), base - 40), min(mpmath.mpf(b), base + 40)]
            far = sorted({*ends, *(base + s * t for s in (-1, 1) for t in (0.01, 0.1, 1, 5))})
            far = [t for t in far if ends[0] <= t <= ends[1]]

            def moment(f, base=base, ends=far):
                return mpmath.quad(lambda y: f(y - base) * mpmath.exp(-(y - base) * (y + base) / 2), ends)

            m0 = moment(lambda s: 1)
            m1 = moment(lambda s: s) / m0
            var = moment(lambda s, m1=m1: (s - m1) ** 2) / m0
            d = TruncatedNormal(a, b)
            assert abs(float(d.mean() / (base + m1) - 1)) < 1e-14, (a, b)  # observed 2e-15
            assert abs(float(d.var() / var - 1)) < 1e-12, (a, b)  # observed 6e-14
        for k in (0.1, 3.0, 12.0, 1e4, 1e8):
            first = mpmath.gamma(1 + 1 / mpmath.mpf(k))
            want = mpmath.gamma(1 + 2 / mpmath.mpf(k)) - first**2
            assert abs(float(Weibull(k).var() / want - 1)) < 1e-13, k


def test_values_at_the_ends_of_the_support():
    np.testing.assert_array_equal(Gamma([0.5, 1.0, 2.0, 20.0]).pdf(0.0), [np.inf, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(Weibull([0.5, 1.0, 2.0]).pdf(0.0), [np.inf, 1.0, 0.0])
    np.testing.assert_array_equal(Beta([0.5, 1.0, 2.0, 20.0], [2.0, 1.0, 2.0, 20.0]).pdf(0.0), [np.inf, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(Beta(2.0, [0.5, 1.0, 2.0]).pdf(1.0), [np.inf, 2.0, 0.0])
    np.testing.assert_array_equal(InverseGaussian(1.0, [0.1, 10.0]).pdf(0.0), 0.0)
    assert Lognormal(1.0).pdf(0.0) == 0.0 and Lognormal(1.0).cdf(0.0) == 0.0
    np.testing.assert_allclose(TruncatedNormal(0.0, np.inf).pdf(0.0), 2 * Normal().pdf(0.0), rtol=1e-15)
    assert TruncatedNormal(0.1, 0.3).ppf(1.0 - 2.0**-53) <= 0.3 and TruncatedNormal(0.1, 0.3).ppf(1e-300) == 0.1


def test_quantiles_that_underflow():
    assert Beta(0.1, 0.5).ppf(1e-280) == 0.0 and Gamma(0.01).ppf(1e-100) == 0.0
    assert Beta(0.1, 0.5).isf(1e-280) == 1.0


SIZES = (1e-100, 1e-3, 0.4, 1.4616, 3.7, 9.99, 10.01, 40.0, 1e3, 1e6, 1e12)
ENDS = [(-1.0, 2.0), (0.0, 1.0), (5.0, 5.1), (-9.0, 9.5), (-8.0, 8.0), (300.0, 301.0), (-20.0, -19.999), (1.0, 1.001)]
ENDS += [(30.0, np.inf), (1e3, np.inf), (-np.inf, -40.0), (-3.0, np.inf), (-np.inf, np.inf), (-1e3, 1e3), (-0.5, 10.0)]
SHAPES = [
    *map(Gamma, SIZES),
    *map(ChiSquared, (0.3, 5.0, 1e4)),
    *(Beta(a, b) for a in SIZES for b in (1e-3, 0.3, 5.0, 33.0, 1e9)),
    *map(Weibull, (0.02, 0.1, 0.5, 1.0, 1.5, 2.0, 3.3, 3.4, 3.602349, 5.0, 20.0, 1e3, 1e7)),
    *map(Lognormal, (1e-8, 0.02, 0.5, 1.5, 4.0)),
    *(InverseGaussian(m, 2.0) for m in (1e-3, 0.08, 1.0, 3.9, 4.1, 50.0, 1e5)),
    *(TruncatedNormal(*ends) for ends in ENDS),
    *map(LogLogistic, (4.1, 12.0, 18.0, 100.0)),
    *map(Frechet, (4.1, 8.0, 13.0, 100.0)),
    *map(InverseGamma, (4.1, 40.0, 1e4)),
    *map(Pareto, (4.1, 1e4)),
    *map(BirnbaumSaunders, (1e-3, 0.7, 30.0)),
    *map(GeneralizedNormal, (0.3, 1.5, 100.0)),
    *map(AsymmetricLaplace, (1e-3, 1.0, 2.0)),
    *(GeneralizedGamma(a, c) for a in (0.2, 5.0, 300.0) for c in (0.5, 3.0)),
    *(BurrXII(c, d) for c, d in ((3.0, 2.0), (20.0, 0.5), (0.5, 30.0), (50.0, 3.0))),
    *map(PearsonIII, (-3.0, 0.4, 1e-3)),
    *map(SkewNormal, (0.1, -2.0, 20.0)),
    *map(ExGaussian, (0.05, 1.0, 30.0)),
    *(JohnsonSU(a, b) for a, b in ((0.0, 1.0), (-2.0, 0.7), (3.0, 5.0))),
    *(Kumaraswamy(a, b) for a, b in ((2.0, 3.0), (0.5, 0.1), (40.0, 5.0), (300.0, 0.7))),
]


@pytest.mark.parametrize("d", SHAPES, ids=repr)
def test_skewness_kurtosis_entropy(d):
    """In 350 digits, as raw moments cancel; errors relative to the larger of the value and 0.01, absolute of short intervals."""
    with mpmath.workdps(350):
        want = [*exact.shape(d), exact.entropy(d)]
    got = d.skewness(), d.kurtosis(), d.entropy()
    wide = isinstance(d, TruncatedNormal) and min(-d.lower, d.upper) > 2.0
    least = (1e-300, 1e-300, 1.0) if wide else (1.0, 1.0, 1.0) if isinstance(d, TruncatedNormal) else (0.01, 0.01, 1.0)
    # observed 1.6e-13 (Weibull next to skewness 0), 1.2e-13 (Weibull(0.02)), 7e-15
    for value, exactly, low, error in zip(got, want, least, (1e-12, 1e-12, 1e-13), strict=True):
        assert abs(float(value) - exactly) <= error * max(abs(exactly), low)


def test_shapes_at_the_limits():
    assert Normal(3.0, 2.0).skewness() == Normal().kurtosis() == 0.0
    assert TruncatedNormal(-1.0, 1.0).skewness() == 0.0
    np.testing.assert_allclose(TruncatedNormal(1e5, np.inf).skewness(), 2.0, rtol=1e-9)
    np.testing.assert_allclose(Weibull(1e200).skewness(), scipy.stats.gumbel_l.stats(moments="s"), rtol=1e-12)
    np.testing.assert_allclose(Weibull(1e200).kurtosis(), 2.4, rtol=1e-12)
    np.testing.assert_allclose(Gamma(1e300).entropy(), Normal(scale=1e150).entropy(), rtol=1e-14)
    levy = 0.5 * (1.0 + 3.0 * np.euler_gamma + np.log(16.0 * np.pi))
    np.testing.assert_allclose(InverseGaussian(1e300, 1.0).entropy(), levy, rtol=1e-13)
    assert Lognormal(30.0).kurtosis() == np.inf


# --- where SciPy's functions of the beta distribution, or a start that rounds to an end, were wrong


def test_beta_of_large_nearly_equal_shapes():
    a = 1e13
    assert Beta(a, a).cdf(0.5 - 0.5 * np.sqrt(0.25 / (2 * a + 1))) == pytest.approx(scipy.stats.norm.cdf(-0.5), rel=1e-9)


def test_beta_in_the_far_tail():
    d = Beta(5768.7178998478885, 32.04123994354227)
    assert d.logcdf(0.8766315760708386) == pytest.approx(-633.8005896583, rel=1e-12)
    assert d.cdf(0.8766315760708386) == pytest.approx(np.exp(-633.8005896583), rel=1e-9, abs=0.0)


def test_truncated_normal_next_to_a_finite_end():
    d = TruncatedNormal(-0.15853052309049528, 2.129497027531935, 1.1901811422019373, 0.18253632827367268)
    assert d.upper - d.isf(1e-17) == pytest.approx(2.58e-12, rel=0.01, abs=0.0)  # mpmath


def test_chi_squared_at_the_least_double():
    assert ChiSquared(3.0).pdf(5e-324) == pytest.approx(np.sqrt(5e-324) / np.sqrt(2.0 * np.pi), rel=1e-12, abs=0.0)


# --- found by sweeps against mpmath


def test_truncated_normal_of_an_interval_that_begins_far_below_its_mass():
    assert TruncatedNormal(-12.0, np.inf).ppf(1e-20) == pytest.approx(scipy.stats.norm.ppf(1e-20), rel=1e-12)
    assert TruncatedNormal(-np.inf, 12.0).isf(1e-20) == pytest.approx(-scipy.stats.norm.ppf(1e-20), rel=1e-12)
    assert TruncatedNormal(0.0, np.inf, 100.0, 5.0).ppf(1e-18) == pytest.approx(56.2135483, rel=1e-8)


@pytest.mark.parametrize("a", [100.0, 1e4, 1e7])
def test_truncated_normal_far_out(a):
    x = a + 1.0 / a
    with mpmath.workdps(40):
        want = float(mpmath.log(mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / mpmath.erfc(mpmath.mpf(a) / mpmath.sqrt(2))))
    assert TruncatedNormal(a, np.inf).logsf(x) == pytest.approx(want, rel=1e-14)  # observed 2.9e-15


@pytest.mark.parametrize(("a", "b", "x"), [(1e5, 1.0, 1 - 2e-5), (1e5, 1.0, 0.9999793363510544), (1e14, 1.0, 1 - 2.2e-14)])
def test_beta_with_one_large_shape(a, b, x):
    with mpmath.workdps(40):
        want = float(mpmath.mpf(x) ** int(a))
    assert Beta(a, b).cdf(x) == pytest.approx(want, rel=1e-14)  # observed 2.2e-16
    assert Beta(b, a).sf(2e-15) == pytest.approx(np.exp(-2e-15 * a), rel=1e-12)


def test_beta_log_tail_of_large_shapes():
    with mpmath.workdps(30):  # by the hypergeometric function
        x, a = mpmath.mpf(0.01), mpmath.mpf(1e6)
        want = (
            a * mpmath.log(x * (1 - x))
            - mpmath.log(a)
            - mpmath.log(mpmath.beta(a, a))
            + mpmath.log(mpmath.hyp2f1(2 * a, 1, a + 1, x))
        )
    assert Beta(1e6, 1e6).logcdf(0.01) == pytest.approx(float(want), rel=1e-15)


def test_logarithms_of_gamma_tails_next_to_1():
    assert Gamma(1.0).logsf(1e-10) == pytest.approx(-1e-10, rel=1e-15)
    assert Gamma(0.5).logsf(1e-40) == pytest.approx(-2e-20 / np.sqrt(np.pi), rel=1e-14)


def test_student_next_to_its_median_and_far_out():
    assert StudentT(200.0).median() == 0.0
    assert StudentT(200.0).ppf(0.5 - 1e-12) / scipy.stats.t(200.0).ppf(0.5 - 1e-12) == pytest.approx(1.0, rel=1e-10)
    assert StudentT(0.01).sf(1e308) == pytest.approx(4.0362444e-4, rel=1e-7)
    assert StudentT(1e-60).cdf(-1e300) == pytest.approx(0.5, rel=1e-12)
    assert StudentT(1000.0).logsf(1e300) == pytest.approx(-687326.0233, rel=1e-9)
    many = StudentT(0.001).ppf(np.full(50_000, 0.3))
    assert (many == StudentT(0.001).ppf(0.3)).all()


def test_inverse_gaussian_of_large_mean():
    d = InverseGaussian(10**32.5, 1.0)  # next to Levy's distribution
    np.testing.assert_allclose(d.ppf([0.51, 0.99]), scipy.stats.levy.ppf([0.51, 0.99]), rtol=1e-12)
    assert InverseGaussian(1e33, 1.0).sf(9e32) / scipy.special.erf(np.sqrt(0.5 / 9e32)) == pytest.approx(1.0, rel=1e-13)
