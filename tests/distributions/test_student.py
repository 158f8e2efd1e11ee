"""Student's t distribution: few and many degrees of freedom, tails beyond the doubles."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.stats

from numbastats.distributions import student_t
from tests.contract import same
from tests.distributions.naive import X, exact_pdf


def test_many_degrees_of_freedom():
    """Against 40 digits, and the edges as one by one."""
    rng = np.random.default_rng(8)
    nu = 10 ** rng.uniform(-1.5, 9, 150)
    u = np.where(rng.uniform(size=150) < 0.5, rng.uniform(size=150), 10 ** rng.uniform(-100, 0, 150))
    x, y = student_t.ppf(u, nu), student_t.isf(u, nu)
    np.testing.assert_array_equal(y, -x)
    seen = np.where(np.isfinite(x), x, rng.normal(size=150))
    lower, upper = student_t.cdf(seen, nu), student_t.sf(seen, nu)
    worst = [0.0, 0.0]
    with mpmath.workdps(40):
        for k, n in enumerate(nu):
            t, n = mpmath.mpf(seen[k]), mpmath.mpf(n)
            tail = mpmath.betainc(n / 2, mpmath.mpf(0.5), 0, n / (n + t * t), regularized=True) / 2
            exact = (tail, 1 - tail) if seen[k] < 0 else (1 - tail, tail)
            error = max(abs(float(got / want - 1)) for got, want in zip((lower[k], upper[k]), exact, strict=True))
            worst[0] = max(worst[0], error)
            if np.isfinite(x[k]):
                f = exact_pdf(student_t, (nu[k],), x[k])
                worst[1] = max(worst[1], abs(float((exact[0] - mpmath.mpf(u[k])) / (f * t))))
            else:
                assert u[k] < tail and nu[k] < 0.5  # beyond 1e305
    assert worst[0] < 2e-13 and worst[1] < 1e-13, worst  # observed 5.4e-14 and 2.0e-14
    few = np.array([0.7, 3.0, 40.0, -1.0, 0.0, np.nan, np.inf])
    many = np.append(few, np.linspace(1.0, 9.0, 70))
    for method in (student_t.ppf, student_t.isf, student_t.cdf, student_t.sf):
        for v in (0.0, 1.0, 0.5, -0.1, 1.1, np.nan, np.inf, -np.inf, 0.3):
            np.testing.assert_allclose(method(v, many)[:7], method(v, few), rtol=3e-14)
    draws = student_t.rvs(np.linspace(2.0, 5.0, 20_000), rng=1)
    assert scipy.stats.kstest(student_t.cdf(draws, np.linspace(2.0, 5.0, 20_000)), "uniform").pvalue > 1e-3
    assert student_t.cdf(1.0, np.append(many, 1e-70))[-1] == pytest.approx(0.5, rel=1e-14)
    for method in (student_t.cdf, student_t.sf, student_t.ppf, student_t.isf):
        with pytest.raises(ValueError, match="workers"):
            method(0.3, many, workers=0)
        with pytest.raises(ValueError, match="device"):
            method(0.3, many, device="gpu")


def test_many_degrees_of_freedom_next_to_the_median():
    """Relative to x, of which u - 1/2 has all digits: it was 1e-7 for x = 1e-14."""
    rng = np.random.default_rng(9)
    nu = 10 ** rng.uniform(-1, 12, 150)
    u = 0.5 + rng.choice([-1, 1], 150) * 10 ** rng.uniform(-16, -0.31, 150)
    x = student_t.ppf(u, nu)
    with mpmath.workdps(40):
        for k, n in enumerate(map(mpmath.mpf, nu)):
            t = mpmath.mpf(x[k])
            f = exact_pdf(student_t, (nu[k],), x[k])
            mass = t * exact_pdf(student_t, (nu[k],), 0.0) * mpmath.hyp2f1(0.5, (n + 1) / 2, 1.5, -t * t / n)
            if t:
                assert abs((mass - (mpmath.mpf(u[k]) - 0.5)) / (f * t)) < 1e-14, (nu[k], u[k])  # observed
            else:
                assert u[k] == 0.5
    tiny = np.append(np.linspace(1.0, 9.0, 70), [1e-60, 1e-20, 1e100, 1e300])
    np.testing.assert_allclose(student_t.ppf(0.5 + 2.0**-50, tiny)[-2:], 2.0**-50 * math.sqrt(2 * math.pi), rtol=1e-15)
    assert not np.signbit(student_t.isf(0.5, tiny)).any()


@pytest.mark.parametrize("nu", [0.08, 0.3, 0.5, 0.9])
def test_few_degrees_of_freedom(nu):
    """Steep quantiles take more rows per octave."""
    law = student_t(nu, base="uniform")
    assert law.certificate.max_rel_err < 2e-14
    u = np.array([1e-12, 1e-5, 0.013, 0.3, 0.45])
    x = law.ppf(u)
    with mpmath.workdps(40):
        n = mpmath.mpf(nu)
        got = [mpmath.betainc(n / 2, 0.5, 0, n / (n + mpmath.mpf(v) ** 2), regularized=True) / 2 for v in x]
        error = [
            float(abs(p / mpmath.mpf(float(w)) - 1) / (w * moves)) for p, w, moves in zip(got, u, _moves(nu, x), strict=True)
        ]
    assert max(error) < 2e-14  # observed 1.1e-14
    assert same(law.isf(u), -x)


@pytest.mark.parametrize("nu", [1e-60, 1e-20, 1e-8, 1e-4, 0.002, 0.01, 0.04, 0.05, 0.2])
def test_mass_of_a_heavy_tail_beyond_the_doubles(nu):
    x = np.array([1e-9, 0.3, 1.8786811801207852, 1e10, 8.006540947667937e272, 1e304, 1.7e308])
    with mpmath.workdps(40):
        sf = [_student_sf(nu, v) for v in x]
        cdf = np.array([float(1 - p) for p in sf])
    np.testing.assert_allclose(student_t.sf(x, nu), np.array([float(p) for p in sf]), rtol=2e-14)  # observed 7.4e-15
    np.testing.assert_allclose(student_t.cdf(x, nu), cdf, rtol=2e-15)  # observed 8e-16


@pytest.mark.parametrize(("nu", "u"), [(0.01, 0.0054), (0.01, 0.3), (0.04, 2e-11), (0.03, 1e-6), (0.02, 0.1)])
def test_quantiles_of_a_heavy_tail(nu, u):
    law = student_t(nu, base="uniform", accuracy="full")
    assert law.certificate.max_rel_err < 2e-14
    with mpmath.workdps(40):
        error = float(_student_sf(nu, law.ppf(u)) / mpmath.mpf(u) - 1)
    assert abs(error) < 1e-15  # observed 5.3e-16


def test_degrees_of_freedom_out_of_range():
    with pytest.raises(ValueError, match="df >= 1e-60"):
        student_t(1e-300)
    got, want = student_t.cdf(X, 1e200), scipy.stats.norm.cdf(X)
    np.testing.assert_allclose(got, want, rtol=3e-13)  # observed 1.5e-13, SciPy rounds an exponent of 450


def _student_sf(nu, x):
    n, x = mpmath.mpf(nu), mpmath.mpf(float(x))
    return mpmath.betainc(n / 2, 0.5, 0, n / (n + x * x), regularized=True) / 2


def _moves(nu, x):
    """|d log p / d log x| / p of Student's t."""
    return np.abs(x) * student_t.pdf(x, nu) / student_t.cdf(x, nu) ** 2


def test_student_closed_forms():
    u = np.array([1e-15, 1e-9, 0.1, 0.4999, 0.7, 0.99])
    want = np.where(u < 0.1, -1 / (np.pi * u), np.tan(np.pi * (u - 0.5)))
    np.testing.assert_allclose(student_t.ppf(u, 1.0), want, rtol=2e-14)
    np.testing.assert_allclose(student_t.ppf(u, 2.0), (2 * u - 1) / np.sqrt(2 * u * (1 - u)), rtol=2e-14)
    s = np.sqrt(4 * u * (1 - u))
    want = np.sign(u - 0.5) * 2 * np.sqrt(np.maximum(np.cos(np.arccos(s) / 3) / s - 1, 0))
    keep = np.abs(u - 0.5) > 0.01  # the closed form cancels there
    np.testing.assert_allclose(student_t.ppf(u, 4.0)[keep], want[keep], rtol=2e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("nu", [1e-30, 1e-3, 0.3, 0.9])
def test_heavy_density_far_out(nu, dtype):
    """Also where x/sqrt(nu) overflows: the logarithm was -inf."""
    x = dtype(np.finfo(dtype).max) * np.array([1e-20, 1e-3, 0.5, 0.9, 1.0], dtype)
    with mpmath.workdps(100):
        want = np.array([float(mpmath.log(exact_pdf(student_t, (float(dtype(nu)),), t))) for t in x])
    rtol = 1e-15 if dtype == np.float64 else 4e-7  # observed 1.7e-16 and 9.2e-8
    np.testing.assert_allclose(student_t.logpdf(x, dtype(nu)), want, rtol=rtol)
    assert student_t.logpdf(dtype(math.inf), dtype(nu)) == -math.inf
