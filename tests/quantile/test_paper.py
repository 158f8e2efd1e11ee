"""The recycling differential equation and the series of Student's t."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.special

from numbastats.distributions import hyperbolic, student_t
from numbastats.quantile import StudentSeries, recycle_ode


@pytest.mark.parametrize("nu", [1.0, 2.5, 4.0, 10.0, 400.0])
def test_first_coefficients(nu):
    """(24) and the closed forms of c_1 and c_2."""
    with mpmath.workdps(30):
        n = mpmath.mpf(nu)
        g = mpmath.sqrt(n / 2) * mpmath.gamma(n / 2) / mpmath.gamma((n + 1) / 2)
        c1 = ((n + 1) * g**3 - n * g) / (6 * n)
        c2 = ((7 * n * n + 8 * n + 1) * g**5 - 10 * n * (n + 1) * g**3 + 3 * n * n * g) / (120 * n * n)
    got = StudentSeries(nu).coefficients
    np.testing.assert_allclose(got[:3], [float(g), float(c1), float(c2)], rtol=2e-12 if nu < 100 else 1e-10)  # cancellation
    assert got[0] == pytest.approx(float(g), rel=4e-16)


@pytest.mark.parametrize("nu", [2.5, 4.0, 10.0])
def test_centre_and_tail(nu):
    """Where each converges: radius about 4, 5, 8; observed 3.8e-15 and 5e-14."""
    series, table = StudentSeries(nu), student_t(nu, base="normal")
    v = np.array([-1.5, -1e-9, 0.3, 1.0, 1.5])
    np.testing.assert_allclose(series.centre(v), table.transform(v), rtol=2e-14)
    v = np.array([-8.0, 7.0, 8.0])
    np.testing.assert_allclose(series.tail(v), table.transform(v), rtol=2e-13)
    assert 0.8 < series.radius / {2.5: 3.9, 4.0: 5.1, 10.0: 8.1}[nu] < 1.2


def test_two_terms():
    """(40)-(41): errors at the crossover and beyond, as the specification states them."""
    series, table = StudentSeries(4.0, terms=2), student_t(4.0, base="normal")
    error = np.abs(series.tail(np.array([3.93473, 4.0, 6.0])) / table.transform(np.array([3.93473, 4.0, 6.0])) - 1)
    np.testing.assert_allclose(error, [1.36e-5, 1.0e-5, 3e-10], rtol=0.1)
    np.testing.assert_allclose(series.tail_coefficients, [1.0, -5 / 12], rtol=1e-15)


def test_normal_to_student():
    """Equation (21) from its centre; the error grows outwards."""
    n = 4.0
    series, table = StudentSeries(n), student_t(n, base="normal")
    hazard = lambda x: (1 + 1 / n) * x / (1 + x * x / n)  # noqa: E731
    q = recycle_ode("normal", hazard, 0.0, series.coefficients[0], (-3.0, 6.0))
    v = np.array([-3.0, -0.5, 0.0, 0.5, 1.0])
    np.testing.assert_allclose(q(v), table.transform(v), rtol=1e-9, atol=1e-15)
    z = np.linspace(0.05, 6.0, 100)
    with mpmath.workdps(40):  # closed form of the quantile of t(4)
        tails = [mpmath.erfc(mpmath.mpf(float(v)) / mpmath.sqrt(2)) / 2 for v in z]
        roots = [mpmath.sqrt(4 * u * (1 - u)) for u in tails]
        exact = np.array([float(2 * mpmath.sqrt(mpmath.cos(mpmath.acos(r) / 3) / r - 1)) for r in roots])
    loss = abs(q(z) / exact - 1)
    assert loss.max() < 5e-8, "the paper's figure"  # observed 7e-9; 1.6e-5 while every step rounded Q and Q'
    assert loss[z < 2].max() < 1e-13 and 1e-10 < loss.max()  # why tables are not built this way
    assert np.isnan(q([-3.1, 6.1, math.nan])).all()
    same = recycle_ode(lambda v: v, hazard, 0.0, series.coefficients[0], (-3.0, 6.0))
    np.testing.assert_array_equal(same(v), q(v))


def test_two_exponentials_to_hyperbolic():
    """(81), (86)-(89): two-sided background, start slopes p+ (alpha - beta)/f(0) and p- (alpha + beta)/f(0)."""
    a, b, d = 1.5, 0.3, 1.0
    law = hyperbolic(a, b, d)
    f0, p = law.pdf(0.0), law.p_minus
    hazard = lambda x: a * x / math.sqrt(d * d + x * x) - b  # noqa: E731
    right = recycle_ode(("two-sided exponential", (a - b, a + b)), hazard, 0.0, (1 - p) * (a - b) / f0, (0.0, 5.0))
    left = recycle_ode(("two-sided exponential", (a - b, a + b)), hazard, 0.0, p * (a + b) / f0, (-5.0, 0.0))
    v = np.array([0.1, 1.0, 5.0])
    np.testing.assert_allclose(right(v), law.isf((1 - p) * np.exp(-(a - b) * v)), rtol=1e-8)
    np.testing.assert_allclose(left(-v), law.ppf(p * np.exp(-(a + b) * v)), rtol=1e-7)


def test_other_backgrounds():
    """Uniform -> normal is the quantile equation (5); exponential (18) -> normal starts at the median; t(4) -> t(2)."""
    start = dict(start=0.0, slope=math.sqrt(2 * math.pi))
    q = recycle_ode("uniform", lambda x: x, ends=(0.01, 0.99), origin=0.5, **start)
    u = np.array([0.01, 0.3, 0.6, 0.99])
    np.testing.assert_allclose(q(u), scipy.special.ndtri(u), rtol=1e-9)
    slope = 0.5 * math.sqrt(2 * math.pi)
    q = recycle_ode("exponential", lambda x: x, 0.0, slope, (0.1, 4.0), origin=math.log(2))
    v = np.array([0.1, 1.0, 4.0])
    np.testing.assert_allclose(q(v), -scipy.special.ndtri(np.exp(-v)), rtol=1e-8)
    slope = 0.375 / 0.35355339059327373
    q = recycle_ode(("student_t", 4.0), lambda x: 1.5 * x / (1 + x * x / 2), 0.0, slope, (0.0, 3.0))
    np.testing.assert_allclose(q(2.0), student_t(2.0).ppf(student_t.cdf(2.0, 4.0)), rtol=1e-9)


def test_bad_arguments():
    with pytest.raises(ValueError, match="nu=0"):
        StudentSeries(0.0)
    with pytest.raises(ValueError, match="terms=0"):
        StudentSeries(1.0, terms=0)
    with pytest.raises(ValueError, match="'two-sided exponential'"):
        recycle_ode("cauchy", lambda x: x, 0.0, 1.0, (0.0, 1.0))
    with pytest.raises(ValueError, match="enclose"):
        recycle_ode("normal", lambda x: x, 0.0, 1.0, (1.0, 2.0))
    with pytest.raises(ValueError, match="breaks down"):
        recycle_ode("uniform", lambda x: x, 0.0, 2.5, (0.5, 2.0), origin=0.5)


@pytest.mark.parametrize("terms", [0, 201, 10**9, 2.5, "3"])
def test_number_of_terms(terms):
    """10^9 ran for minutes: the cost grows with the third power."""
    with pytest.raises(ValueError, match="integer from 1 to 200"):
        StudentSeries(4.0, terms=terms)
