"""Scalar formulas of the families, and that the paper's M-step is the exact one plus a deviance."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numba
import numpy as np
import pytest

from numbastats.scalar import mixture as fam
from tests.mixture.naive import small_data

CODES = [(fam.INVERSE_GAUSSIAN, 3.0, 0.1), (fam.GAUSSIAN, -4.0, 2.0), (fam.GAMMA, 3.0, 0.25), (fam.FIXED_GAMMA, 2.0, 1.0)]
CODES += [(fam.POISSON, 2.0, 1.0), (fam.GEOMETRIC, 2.0, 1.0)]


@pytest.mark.parametrize("a", [1e-3, 0.1, 1.0, 7.0, 15.999, 16.001, 1e4, 1e8])
def test_gamma_terms(a):
    import mpmath as mp

    with mp.workdps(40):
        x = mp.mpf(a)
        exact = (mp.log(x) - mp.psi(0, x), 1 / x - mp.psi(1, x), x * mp.log(x) - mp.loggamma(x) - x)
        got = fam.gamma_terms(a)
        for g, e, limit in zip(got, exact, (4e-15, 4e-14, 4e-14), strict=True):
            assert abs(g / e - 1) < limit  # largest seen 2.4e-15, 2.8e-14, 2.6e-14
        assert abs(fam.gamma_dispersion(float(exact[0])) * a - 1) < 2e-14


@pytest.mark.parametrize("code, m, v", CODES)
def test_derivatives_of_the_coefficients(code, m, v):
    c, shape, h = 2.3, 1.5, 1e-5
    first = np.array(fam.first_derivatives(code, shape, m, v, c))
    second = np.array(fam.second_derivatives(code, shape, m, v, c))

    def at(dm, dv):
        return np.array(fam.coefficients(code, shape, fam.moved(code, m, dm), v * np.exp(dv), c))

    dm = (at(h, 0) - at(-h, 0)) / (2 * h)
    np.testing.assert_allclose([first[0], first[2]], dm[:2], rtol=1e-8, atol=1e-8)
    ddm = (at(h, 0) - 2 * at(0, 0) + at(-h, 0)) / h**2
    np.testing.assert_allclose([second[0], second[3]], ddm[:2], rtol=2e-4, atol=2e-4)
    if code <= fam.GAMMA:
        dv = (at(0, h) - at(0, -h)) / (2 * h)
        np.testing.assert_allclose([first[1], first[3], first[4]], dv, rtol=1e-8, atol=1e-8)
        ddv = (at(0, h) - 2 * at(0, 0) + at(0, -h)) / h**2
        np.testing.assert_allclose([second[2], second[5], second[6]], ddv, rtol=2e-4, atol=2e-4)
        mixed = (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h)
        np.testing.assert_allclose([second[1], second[4]], mixed[:2], rtol=2e-4, atol=2e-4)


def test_the_papers_m_step_is_the_exact_one_plus_a_deviance():
    x = small_data()
    r = np.random.default_rng(3).random(x.size)
    c, old = x.mean(), 2.7
    m, v = fam.maximise(0, r.sum(), float((r * (x - c)).sum()), float((r * (x - c) ** 2 / (c * c * x)).sum()), float(c), 0.0, 0.0)
    paper = np.sum(r * (x - old) ** 2 / (old**2 * x)) / r.sum()
    assert abs(fam.with_old_mean(0, m, v, old) / paper - 1) < 1e-14  # section 3.1.2; largest seen 4e-16


def test_flags_of_the_caller_do_not_reach_the_formulas():
    """A formula jitted without the option `fastmath` inherits its caller's: x - ((x + R) - R) became 0, and 2^x 17 % wrong."""

    def powers(x, out):
        for i in range(x.size):
            out[i] = fam.power_of_two(x[i])

    x, plain, fast = np.linspace(-299.7, 899.3, 4001), np.empty(4001), np.empty(4001)
    numba.njit(powers)(x, plain)
    numba.njit(fastmath=True)(powers)(x, fast)
    assert plain.tobytes() == fast.tobytes()
    with mpmath.workdps(30):
        errors = [abs(mpmath.mpf(got) / mpmath.mpf(2) ** mpmath.mpf(v) - 1) for got, v in zip(fast, x, strict=True)]
    assert max(errors) < 4.5e-16  # largest seen 3.3e-16 with AVX-512, 4.2e-16 with AVX2


@pytest.mark.parametrize("m, v", [(1.7, 0.36), (2.9, 0.3601), (2.3 + 0.1**0.5, 0.1)])
def test_the_derivative_that_cancels_is_fused(m, v):
    """A_v = -1/2 + (c - m)^2/(2 v) near its zero, rounded once whatever the optimiser does around it."""
    c = 2.3
    h, e = 0.5 / v, c - m
    got = fam.first_derivatives(fam.GAUSSIAN, 1.0, m, v, c)[1]
    assert got == float(Fraction(h * e) * Fraction(e) - Fraction(1, 2))
