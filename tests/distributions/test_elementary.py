"""Elementary distributions against mpmath and SciPy: tails of any depth, quantiles, large parameters, moments, scores."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

from numbastats.distributions import (
    Beta,
    ChiSquared,
    Gamma,
    InverseGaussian,
    Lognormal,
    Normal,
    StudentT,
    TruncatedNormal,
    Weibull,
)
from tests.distributions.objects import CASES, case_of, exact_of

# with the largest relative errors allowed of tails, densities and quantiles (in probability, beyond the rounding of x)
TAILS = [row for case in CASES.values() for row in case.tails]
PROBABILITIES = np.array([1e-280, 1e-100, 1e-16, 1e-5, 0.3])


@pytest.mark.parametrize(("d", "of_tail", "of_density", "of_quantile"), TAILS, ids=[repr(row[0]) for row in TAILS])
def test_tails_and_quantiles(d, of_tail, of_density, of_quantile):
    low, high = d.support()
    case, checked = case_of(d), 0
    for upper in (False, True):
        quantile, tail, log_tail = (d.isf, d.sf, d.logsf) if upper else (d.ppf, d.cdf, d.logcdf)
        for p, x in zip(PROBABILITIES, map(float, quantile(PROBABILITIES)), strict=True):
            if not (low < x < high and 1e-300 < abs(x - d.loc)):
                continue
            with mpmath.workdps(340 if case.cancels and p < 1e-20 else 50):
                want = (case.exact.sf if upper else case.exact.cdf)(d, x)
                log_density = case.exact.log_density(d, x)
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


@pytest.mark.parametrize("d", [d for case in CASES.values() for d in case.scores], ids=repr)
def test_score(d):
    """Differences at 40 digits."""
    for k, name in enumerate(d.names):
        for x in (0.3, 1.0, 3.0, 8.0):
            with mpmath.workdps(40):
                value, h = mpmath.mpf(float(getattr(d.params, name))), mpmath.mpf(10) ** -12
                up, down = (exact_of(d).log_density(d, x, **{name: value + s}) for s in (h, -h))
                want = (up - down) / (2 * h)
            assert abs(float(d.score(x)[k]) - float(want)) < 1e-13 * (1 + abs(float(want)))  # observed 1.4e-14


PEERS = [pair for case in CASES.values() for pair in case.peers]


@pytest.mark.parametrize(("d", "peer"), PEERS, ids=[repr(p[0]) for p in PEERS])
def test_parameters_mean_what_scipy_means(d, peer):
    x = peer.ppf([0.01, 0.3, 0.9])
    np.testing.assert_allclose(d.pdf(x), peer.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(d.cdf(x), peer.cdf(x), rtol=1e-11)
    np.testing.assert_allclose((d.mean(), d.var(), d.std()), (peer.mean(), peer.var(), peer.std()), rtol=1e-11)
    if case_of(d).peer_has_support:
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


@pytest.mark.parametrize("d", [d for case in CASES.values() for d in case.shapes], ids=repr)
def test_skewness_kurtosis_entropy(d):
    """In 350 digits, as raw moments cancel; errors relative to the larger of the value and 0.01, absolute of short intervals."""
    with mpmath.workdps(350):
        want = [*exact_of(d).skewness_kurtosis(d), exact_of(d).differential_entropy(d)]
    got = d.skewness(), d.kurtosis(), d.entropy()
    # observed 1.6e-13 (Weibull next to skewness 0), 1.2e-13 (Weibull(0.02)), 7e-15
    for value, exactly, low, error in zip(got, want, case_of(d).least(d), (1e-12, 1e-12, 1e-13), strict=True):
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
