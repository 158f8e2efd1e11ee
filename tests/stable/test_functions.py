"""Stable laws against the reference table, independent formulas and SciPy; contracts of every public function."""

from __future__ import annotations

import csv
import math
import os
import signal
import threading

import mpmath
import numba.cuda
import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats import stable
from numbastats.stable import table_cache
from numbastats.testing import DEVICES
from tests.contract import ElementwiseContract, RandomContract, same

INF, NAN = np.inf, np.nan
SERIAL = DEVICES["cpu-serial"]


@pytest.fixture(scope="module")
def rows():
    """Columns alpha, beta, x, x_S1, pdf, cdf, sf, logpdf of the reference table, as doubles."""
    from tests.conftest import REFERENCE

    with open(REFERENCE / "stable_reference_public.csv") as f:
        table = list(csv.DictReader(f))
    return {k: np.array([float(r[k]) for r in table]) for k in ("alpha", "beta", "x", "x_S1", "pdf", "cdf", "sf", "logpdf")}


def relative(got, want):
    with np.errstate(divide="ignore", invalid="ignore"):
        e = np.abs(got - want) / want
    return np.where(want == 0, np.where(got == 0, 0.0, 1e9), np.where(np.isnan(e), 1e9, e))


def zeta(a, b):
    return 0.0 if a == 1.0 else -b * math.tan(math.pi * a / 2)


# Largest relative error on all 856 normal rows; observed 5.5e-14, 2.1e-14, 5.2e-14.
LIMITS = {"pdf": 1e-13, "cdf": 5e-14, "sf": 1e-13}


@pytest.mark.parametrize("name", ["pdf", "cdf", "sf"])
def test_reference_points(rows, name, device):
    pick = slice(None, None, 10 if device["device"] == "cuda" else 1)
    a, b, x, want = (rows[k][pick] for k in ("alpha", "beta", "x", name))
    got = getattr(stable, name)(x, a, b, method="quadrature", **device)
    assert not np.isnan(got).any()
    normal = rows["logpdf"][pick] > -230
    e = relative(got, want)[normal]
    assert e.max() < LIMITS[name]
    outside = rows["logpdf"][pick] == -INF
    assert (relative(got, want)[outside] == 0).all()  # exactly 0 or 1 outside the support


def zolotarev_at_one(x, b):
    """(pdf, the tail on the side of x1 -> inf) at alpha = 1, b > 0: Zolotarev's integrals by equal steps in log(d0/d1)."""
    w, step = np.linspace(-80.0, 60.0, 100_001, retstep=True)
    d0, d1 = math.pi / (1 + np.exp(-w)), math.pi / (1 + np.exp(w))
    up = 0.5 * math.pi * (1 - b) + b * d0
    tangent = np.where(d0 < d1, -1 / np.tan(d0), 1 / np.tan(d1))
    log_g = np.log(up / (0.5 * math.pi) / np.sin(np.minimum(d0, d1))) + (up * tangent - 0.5 * math.pi * x) / b
    g = np.exp(np.minimum(log_g, 7.0))
    weights = np.exp(-g) * d0 * d1 * step / math.pi
    return (g * weights).sum() / (2 * b), weights.sum() / math.pi


@pytest.mark.parametrize("b", [0.6, 0.9, 0.99, 0.999, 1 - 1e-6])
def test_alpha_one_against_equal_steps(b):
    """Around x = 22 a level of the integrand's logarithm was once missed by a whole unit: 7e-7. From 50 on the far rule."""
    x = np.concatenate([np.linspace(-2.5, 40.0 if b < 0.9 else 80.0, 120), np.linspace(21.5, 23.5, 40)])
    want = np.array([zolotarev_at_one(v, b) for v in x])
    np.testing.assert_allclose(stable.pdf(x, 1.0, b, method="quadrature", **SERIAL), want[:, 0], rtol=1e-13)  # observed 6.2e-14
    np.testing.assert_allclose(stable.cdf(x, 1.0, b, method="quadrature", **SERIAL), want[:, 1], rtol=1e-14)  # observed 5.6e-15


def far_tail(x, a, b):
    """(pdf, the tail beyond x) for x > 0 along the imaginary axis, by mpmath; exact where e^-60 x is nothing."""
    x, a, b = mpmath.mpf(x), mpmath.mpf(a), mpmath.mpf(b)
    s_, c = mpmath.sin(mpmath.pi * a / 2), mpmath.cos(mpmath.pi * a / 2)

    def integrand(y):
        s = y / x
        bent = -(2 / mpmath.pi) * s * mpmath.log(s) if a == 1 else s_ / c * (s_ * s**a - s)
        return mpmath.exp(-y - c * s**a + b * bent) * mpmath.sin(s_ * (1 + b) * s**a) * x

    places = [0] + [mpmath.mpf(2) ** -k * 70 for k in range(30, -1, -1)]
    density, tail = mpmath.quad(integrand, places), mpmath.quad(lambda y: integrand(y) / y, places)
    return density / (mpmath.pi * x**2), tail / (mpmath.pi * x)


@pytest.mark.parametrize("a", [1.0, 1 + 1e-9, 1 - 1e-5, 1.005, 0.995])
def test_far_out_next_to_one_against_mpmath(a):
    with mpmath.workdps(30):
        for b, x in ((0.5, -51.0), (0.99, -1e3), (0.9999, -1e7), (1 - 1e-12, -1e3), (-0.3, 60.0), (0.999, 1e5), (0.999, -1e12)):
            density, tail = far_tail(abs(x), a, b if x > 0 else -b)
            got = stable.pdf(x, a, b, method="quadrature"), (stable.sf if x > 0 else stable.cdf)(x, a, b, method="quadrature")
            assert abs(got[0] / density - 1) < 1e-14 and abs(got[1] / tail - 1) < 1e-14  # observed 3e-15
    assert abs(stable.pdf(-1e30, 1.0, 0.999) * 1e60 * math.pi / (1 - 0.999) - 1) < 1e-14  # observed 2.0e-15


def test_next_to_the_cauchy_law_against_mpmath():
    with mpmath.workdps(20):
        for a, b, x in ((1.0, 0.049, -3.0), (0.991, -0.04, 0.3), (1.009, 0.03, 12.0), (1 + 1e-7, 0.02, 49.0)):
            z, a_, b_ = 1 + 1j * mpmath.mpf(x), mpmath.mpf(a), mpmath.mpf(b)

            def term(v, z=z, a=a_, b=b_):
                t = mpmath.exp(v) / z
                skew = (
                    2j * b / mpmath.pi * t * mpmath.log(t)
                    if a == 1
                    else (1 - 1j * b * mpmath.tan(mpmath.pi * a / 2)) * (t**a - t)
                )
                return mpmath.re(mpmath.exp(-mpmath.exp(v) - skew) * t)

            want = mpmath.fsum(term(mpmath.mpf(k) / 10) for k in range(-500, 45)) / 10 / mpmath.pi
            assert abs(stable.pdf(x, a, b, method="quadrature") / want - 1) < 1e-14  # observed 3e-15


def by_equal_steps(a, b, x1):
    """Logarithms of pdf, cdf and sf at x1 > 0 in S1, alpha < 1: Zolotarev's integrals by equal steps in log(d0/d1), by mpmath."""
    a, b, x1, step = mpmath.mpf(a), mpmath.mpf(b), mpmath.mpf(x1), mpmath.mpf(1) / 12
    theta = mpmath.atan(b * mpmath.tan(mpmath.pi * a / 2)) / a
    length, density, below, above = mpmath.pi / 2 + theta, 0, 0, 0
    for k in range(-1200, 720):
        small = mpmath.exp(-abs(k * step))
        near = length / (1 + small)
        d0, d1 = (near, near * small) if k >= 0 else (near * small, near)
        log_g = a / (a - 1) * mpmath.log(x1 * mpmath.sin(d1) / mpmath.sin(a * d0)) + mpmath.log(mpmath.cos(a * theta)) / (a - 1)
        log_g += mpmath.log(mpmath.cos(a * theta + (a - 1) * (d0 - theta)) / mpmath.sin(d1))
        weight, g = near * near * small / length * step, mpmath.exp(min(log_g, 6))
        density, below, above = (
            density + g * mpmath.exp(-g) * weight,
            below + mpmath.exp(-g) * weight,
            above - mpmath.expm1(-g) * weight,
        )
    pdf, cdf = a / (1 - a) / x1 * density / mpmath.pi, (mpmath.pi / 2 - theta + below) / mpmath.pi
    return [float(mpmath.log(v)) for v in (pdf, cdf, above / mpmath.pi)]


@pytest.mark.parametrize("method", ["table", "quadrature"])
@pytest.mark.parametrize(
    "a, b, x1",
    [
        (0.4, 1 - 1e-6, 0.107),  # e^30 widths of the cusp out, where 1 + t was once taken for t
        (0.4, 1 - 1e-12, 0.01284),  # where a level above a level stretch was once missed
        (0.5, 1 - 1e-15, 0.0122),  # where a light tail turns into a heavy one within a thousandth
    ],
)
def test_almost_light_laws_against_equal_steps(a, b, x1, method):
    with mpmath.workdps(40):
        want = by_equal_steps(a, b, x1)
    got = [f(x1, a, b, param="S1", method=method) for f in (stable.logpdf, stable.logcdf, stable.logsf)]
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-13)  # observed 5.0e-14


AWKWARD = [
    *((1.0, 0.999), (1.0, 0.99), (0.97, 0.999), (0.999999, 0.9999), (0.8, 0.999999), (0.9, -0.9999), (0.5, 0.9999)),
    *((1.3, 0.999999), (1.09, -0.999999), (1 - 1e-6, -0.03), (1.9999, 0.999), (1.999999, 0.5), (0.4, 0.999999)),
    *((0.5, 1 - 1e-15), (0.7, -1 + 1e-13), (0.4, 1 - 1e-12), (1.5, 1 - 1e-10), (1.1, 1 - 1e-9), (1.9999999, 0.5), (0.3, 0.5)),
    *((1.0, 0.7), (1 + 1e-10, -0.9), (1 - 1e-13, 1 - 1e-12), (1.02, 0.2), (0.96, -0.5), (1.0, 1 - 1e-15)),
]


@pytest.mark.parametrize("a, b", AWKWARD)
def test_tables_of_awkward_laws(a, b):
    """Next to one-sided laws and to alpha = 1 and 2, to e^36."""
    assert table_cache.table(a, b).certificate < 1e-13  # observed 4.9e-14
    x = np.concatenate([s * np.exp(np.linspace(-12.0, 36.0, 90)) for s in (-1.0, 1.0)])
    for f in (stable.logpdf, stable.logcdf, stable.logsf):
        by_table, by_point = (f(x, a, b, method=m, param="S1" if a < 0.9 else "S0", **SERIAL) for m in ("table", "quadrature"))
        assert (np.abs(by_table - by_point) < 1e-13 * (1 + 0.01 * np.abs(by_point))).all()  # observed 6.1e-14


@pytest.mark.parametrize("b", [0.0, 0.05, 0.3, -0.6, 1 - 1e-9, -1.0])
@pytest.mark.parametrize("a", [1.0, 1 + 1e-12, 0.999, 1.02, 0.96])
def test_tables_next_to_one_need_no_integral_point_by_point(a, b, monkeypatch):
    monkeypatch.setattr(table_cache, "_fill", lambda *_: pytest.fail("a value was left to the integral"))
    assert table_cache.table.__wrapped__(a, b).certificate < (1e-12 if abs(b) == 1.0 else 1e-13)  # observed 2.9e-13, 7.5e-14


def test_reference_logarithms(rows, device):
    pick = slice(3, None, 12 if device["device"] == "cuda" else 1)
    a, b, x, log_pdf, cdf, sf = (rows[k][pick] for k in ("alpha", "beta", "x", "logpdf", "cdf", "sf"))
    got = stable.logpdf(x, a, b, **device)
    inside = log_pdf > -INF
    assert (got[~inside] == -INF).all()
    error = np.abs(got[inside] - log_pdf[inside]) / (1 + np.abs(log_pdf[inside]))
    assert error.max() < 1e-12  # observed 4.4e-13
    for function, value in ((stable.logcdf, cdf), (stable.logsf, sf)):
        y = function(x, a, b, **device)
        with np.errstate(divide="ignore"):
            want = np.log(value)
        fine = (value > 1e-300) & (value < 0.9)
        assert (np.abs(y[fine] - want[fine]) < 1e-12 * (1 + np.abs(want[fine]))).all()
        assert (y[~inside & (value == 0)] == -INF).all() and (y[value == 1] <= 0).all()


def test_reference_in_the_other_parameterisation(rows):
    """The exact S1 variable in the table, where it is a double to full precision: x_S1 itself is rounded."""
    a, b, z, want = (rows[k] for k in ("alpha", "beta", "x_S1", "pdf"))
    keep = (rows["logpdf"] > -50) & (np.abs(a - 1) > 0.05)
    e = relative(stable.pdf(z, a, b, param="S1", **SERIAL), want)[keep]
    assert np.quantile(e, 0.98) < 1e-12


def test_light_tails_have_logarithms():
    """The asymptotic form of a light tail, whose relative error is O(1/x^c): x far beyond underflow."""
    a, x = 1.5, np.array([40.0, 80.0, 160.0, 1e4])  # left tail of beta = 1 mirrored: beta = -1, S1
    got = stable.logpdf(x, a, -1.0, param="S1", **SERIAL)
    # Zolotarev (2.5.17) with T = tan(pi a/2): xi = |1 - a| (x c/a)^(a/(a-1)), c = |cos(pi a/2)|
    c = abs(math.cos(math.pi * a / 2))
    y = x * c ** (1 / a)  # the law with cos factored out
    xi = (a - 1) * (y / a) ** (a / (a - 1))
    want = -0.5 * np.log(2 * math.pi * a) + (1 - a / 2) / a * np.log(xi / (a - 1)) - xi + math.log(c ** (1 / a))
    leading = np.abs(got - want) / np.abs(want)
    assert leading[-1] < 1e-10 and (np.diff(leading) < 0).all()


def test_closed_forms(device):
    x = np.array([-30.0, -2.0, -1e-3, 0.0, 0.7, 5.0, 1e3])
    for b in (0.0, 0.5, -1.0):
        density = np.exp(-0.25 * x * x) / math.sqrt(4 * math.pi)
        np.testing.assert_allclose(stable.pdf(x, 2.0, b, **device), density, rtol=4e-15)
        below = 0.5 * scipy.special.erfc(-0.5 * x)
        np.testing.assert_allclose(stable.cdf(x, 2.0, b, param="S1", **device), below, rtol=4e-14)
    np.testing.assert_allclose(stable.pdf(x, 1.0, 0.0, **device), 1 / (math.pi * (1 + x * x)), rtol=1e-15)
    np.testing.assert_allclose(stable.sf(x, 1.0, 0.0, **device), np.arctan2(1, x) / math.pi, rtol=1e-15)
    z = np.array([1e-3, 0.05, 1.0, 30.0, 1e6])
    levy = scipy.stats.levy
    np.testing.assert_allclose(stable.pdf(z, 0.5, 1.0, param="S1", **device), levy.pdf(z), rtol=1e-13)
    np.testing.assert_allclose(stable.cdf(z, 0.5, 1.0, param="S1", **device), levy.cdf(z), rtol=1e-13)
    np.testing.assert_allclose(stable.cdf(-z, 0.5, -1.0, param="S1", **device), levy.sf(z), rtol=1e-13)


def test_bad_and_special_values(device):
    bad = [(0.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (2.1, 0.0, 1.0), (1.5, 1.1, 1.0), (1.5, -1.1, 1.0), (1.5, 0.0, 0.0)]
    bad += [(1.5, 0.0, -1.0), (NAN, 0.0, 1.0), (1.5, NAN, 1.0), (1.5, 0.0, NAN)]
    for a, b, s in bad:
        for f in (stable.pdf, stable.logsf, stable.ppf):
            assert np.isnan(f(0.5, a, b, 0.0, s, **device)), (f, a, b, s)
    assert np.isnan(stable.pdf(NAN, 1.5, 0.5, **device)) and np.isnan(stable.pdf(0.0, 1.5, 0.5, NAN, **device))
    for a, b in ((1.5, 0.5), (1.0, 0.5), (0.5, 1.0), (2.0, 0.0), (1.0, 0.0)):
        values = [[f(x, a, b, **device) for x in (-INF, INF)] for f in (stable.pdf, stable.cdf, stable.sf)]
        assert values == [[0, 0], [0, 1], [1, 0]]
        assert stable.logpdf(INF, a, b, **device) == -INF
        assert stable.ppf(0.0, a, b, **device) == (-INF if (a, b) != (0.5, 1.0) else -1.0)
        assert stable.ppf(1.0, a, b, **device) == INF
        assert np.isnan(stable.ppf(-0.1, a, b, **device)) and np.isnan(stable.isf(1.1, a, b, **device))
    # outside the support, and its end
    for x in (-5.0, -1.0):
        assert stable.pdf(x, 0.5, 1.0, **device) == 0 and stable.cdf(x, 0.5, 1.0, **device) == 0
        assert stable.sf(x, 0.5, 1.0, **device) == 1 and stable.logpdf(x, 0.5, 1.0, **device) == -INF
        assert stable.pdf(-x, 0.5, -1.0, **device) == 0 and stable.cdf(-x, 0.5, -1.0, **device) == 1
        assert stable.sf(-x, 0.5, -1.0, **device) == 0


def test_far_out_and_next_to_one(device):
    for a, b in ((0.3, 0.5), (0.999, 0.5), (1.0, 0.5), (1.0, -0.5), (1.5, 0.5), (1.99, -0.9), (1 + 1e-15, 0.3), (1 - 1e-15, 0.3)):
        c = stable.Stable(a, b).tail_coefficients()[1]
        for x in (1e100, 1e300):
            want = math.log(c) - a * math.log(x)
            assert abs(stable.logsf(x, a, b, **device) - want) < 1e-11 * abs(want), (a, b, x)
            want = math.log(a * c) - (a + 1) * math.log(x)
            assert abs(stable.logpdf(x, a, b, **device) - want) < 1e-11 * abs(want), (a, b, x)
    x = np.array([-3.0, -0.5, 0.0, 0.8, 4.0])
    for b in (0.0, 1e-6, 0.3, -0.9, 1.0):
        middle = stable.pdf(x, 1.0, b, **device)
        for d in (1e-15, 1e-9):
            for a in (1 - d, 1 + d):
                near = stable.pdf(x, a, b, **device)
                assert (np.abs(near - middle) < 1e-7 * (d > 1e-12) + 1e-9).all(), (a, b)


def test_zeta_itself(device):
    """f(zeta) = Gamma(1 + 1/a) cos(theta0)/(pi (1 + zeta^2)^(1/2a)); in S1, where zeta is exactly 0."""
    for a in (0.1, 0.4, 0.75, 1.3, 1.9):
        for b in (-0.5, 0.0, 0.8):
            t = b * mpmath.tan(mpmath.pi * a / 2)
            theta = mpmath.atan(t) / a
            want = mpmath.gamma(1 + 1 / mpmath.mpf(a)) * mpmath.cos(theta) / mpmath.pi / (1 + t * t) ** (1 / mpmath.mpf(2 * a))
            assert abs(stable.pdf(0.0, a, b, param="S1", **device) / float(want) - 1) < 2e-14
            assert abs(stable.cdf(0.0, a, b, param="S1", **device) - float((mpmath.pi / 2 - theta) / mpmath.pi)) < 1e-15


def test_gauss_kronrod_of_the_reference(device):
    """The paper's quadrature is for comparison; the paper's own medians on this grid, |x| < 100, are about 1e-12."""
    cuda = device["device"] == "cuda"
    x = np.random.default_rng(5).uniform(-100, 100, 2 if cuda else 200)
    # observed medians: 2e-7 at alpha = 0.25, whose integrand is singular at both ends; 1e-14 else
    for a, b, limit in ((0.75, 0.5, 1e-12), (1.5, 0.0, 1e-12), (0.25, 0.5, 1e-6))[: 2 if cuda else 3]:
        for f in (stable.pdf, stable.cdf):
            got, want = f(x, a, b, method="gauss-kronrod", **device), f(x, a, b, method="quadrature", **SERIAL)
            assert np.median(relative(got, want)) < limit


def test_fourier_rule(rows, device):
    """Absolute accuracy wherever it is defined: alpha from 0.5, and |x| <= 8 for alpha within 0.1 of 1."""
    pick = slice(4, None, 8 if device["device"] == "cuda" else 1)
    a, b, x = (rows[k][pick] for k in ("alpha", "beta", "x"))
    inside = (a >= 0.5) & ((a <= 0.9) | (a >= 1.1) | (np.abs(x) <= 8.0))
    for name, limit in (("pdf", 5e-14), ("cdf", 1e-14), ("sf", 1e-14)):  # observed 3.1e-14, 5.3e-15, 5.4e-15
        got = getattr(stable, name)(x, a, b, method="fourier", **device)
        assert np.abs(got - rows[name][pick])[inside].max() < limit, name
    assert np.isnan(stable.pdf([0.5, 9.0], [0.4, 1.05], 0.3, method="fourier", **device)).all()


def test_fourier_rule_between_the_reference_points():
    rng = np.random.default_rng(8)
    a, b, x = rng.uniform(0.5, 2.0, 200), rng.uniform(-1, 1, 200), rng.uniform(-8, 8, 200)
    b[::9] = np.sign(b[::9])
    for name in ("pdf", "cdf", "sf"):
        got, other, integral = (
            getattr(stable, name)(x, a, b, method=m, **SERIAL) for m in ("fourier", "quadrature", "gauss-kronrod")
        )
        small = other < 0.04  # where it takes no Fourier rule
        assert small.sum() > 10 and np.abs(got - other)[small].max() < 5e-14, name  # observed 1e-14
        assert np.median(np.abs(got - integral)) < 3e-15, name  # observed 1e-15


def test_out_may_be_an_argument_that_is_read_again():
    x = np.linspace(-60.0, 5.0, 500)  # the table of the light tail ends at -10
    want = stable.logcdf(x, 1.5, 1.0)
    assert relative(want, stable.logcdf(x, 1.5, 1.0, method="quadrature")).max() < 1e-12
    for name in ("x", "loc"):
        shared = x.copy() if name == "x" else np.zeros(500)
        values = {"x": x, "loc": 0.0, name: shared}
        assert same(stable.logcdf(values["x"], 1.5, 1.0, values["loc"], out=shared), want)
    p = np.linspace(0.01, 0.99, 9)
    for alpha in (1.5, np.full(9, 1.5)):
        want, estimate = stable.ppf(p, alpha, 0.5, error=True)
        shared = p.copy()
        got, error = stable.ppf(shared, alpha, 0.5, error=True, out=shared)
        assert got is shared and same(got, want) and same(error, estimate)


def test_error_estimates(rows):
    normal = rows["logpdf"] > -230
    a, b, x = (rows[k][normal] for k in ("alpha", "beta", "x"))
    p, c, s, pe, ce, se = stable.pdf_cdf(x, a, b, error=True, **SERIAL)
    for got, error, name in ((p, pe, "pdf"), (c, ce, "cdf"), (s, se, "sf")):
        true = np.abs(got - rows[name][normal])
        true = np.maximum(true, 1e-16 * rows[name][normal])  # the reference is a rounded double here
        assert (error >= true).mean() >= 0.99, name
        assert (error <= 1000 * true).mean() >= 0.9, name
    value, error = stable.cdf(0.3, 1.5, 0.5, error=True)
    assert value == pytest.approx(stable.cdf(0.3, 1.5, 0.5), rel=1e-14) and 0 < error < 1e-13
    with pytest.raises(ValueError, match="out=None"):
        stable.pdf(x, a, b, error=True, out=np.empty_like(x))


LAWS = [
    (0.25, 0.5),
    (0.5, 1.0),
    (0.75, -1.0),
    (0.95, 0.4),
    (1.0, 0.5),
    (1.0, -1.0),
    (1.1, 0.0),
    (1.5, 0.5),
    (1.9, -1.0),
    (1.99, 0.3),
]


@pytest.mark.parametrize("a, b", LAWS)
def test_tables_agree_with_the_points(a, b):
    """Observed: 1.2e-12 relative where a light tail's logarithm is large, else 2e-14."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-20, 20, 300), zeta(a, b) + rng.standard_cauchy(200) * 10.0 ** rng.uniform(-6, 3, 200)])
    for name in ("pdf", "cdf", "sf"):
        point, table = (getattr(stable, name)(x, a, b, method=m, **SERIAL) for m in ("quadrature", "table"))
        big = point > 1e-290
        assert relative(table, point)[big].max() < 2e-12
        assert (table[~big] < 1e-280).all()
    for param in ("S0", "S1"):
        options = dict(param=param, **SERIAL)
        point, table = (stable.pdf(x, a, b, 1.5, 2.0, method=m, **options) for m in ("quadrature", "table"))
        assert relative(table, point)[point > 1e-290].max() < 2e-12
    law = stable.Stable(a, b, table=True)
    assert law.certificate < 5e-12
    assert table_cache.table(a, b).nbytes < 200_000


def test_table_devices():
    x = np.concatenate([np.linspace(-30, 30, 50), [INF, -INF, NAN, 1e300, -1e300, 0.0]])
    for a, b in ((0.75, 1.0), (1.5, 0.5)):
        for name in ("pdf", "cdf", "sf"):
            results = [getattr(stable, name)(x, a, b, 0.3, 2.0, method="table", **d) for d in DEVICES.values()]
            assert same(results[0], results[1])
            np.testing.assert_allclose(results[2], results[0], rtol=1e-13, atol=0)


@pytest.mark.parametrize("a, b", [(0.5, 1.0), (0.8, -1.0), (0.95, 1.0), (1.0, 1.0), (1.02, -1.0), (1.6, -1.0)])
def test_logarithms_of_light_tails_by_the_table(a, b):
    """Within the table and, point by point, beyond its end; -inf outside the support."""
    low, high = stable.ppf([1e-8, 1 - 1e-8], a, b)
    x = np.concatenate(
        [np.linspace(low, high, 40), zeta(a, b) + b * np.array([-3.0, 1e-3, 0.05]), [-200.0, 200.0, INF, -INF, NAN]]
    )
    for name in ("logpdf", "logcdf", "logsf"):
        point, table = (getattr(stable, name)(x, a, b, method=m, **SERIAL) for m in ("quadrature", "table"))
        same = (point == table) | np.isnan(point) & np.isnan(table)
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0.0, np.abs(table - point) / (1 + np.abs(point)))
        assert error.max() < 1e-14, name  # observed 1.2e-15
    assert isinstance(stable.logpdf(0.3, a, b, method="table"), np.float64)
    out = np.empty(x.size)
    assert stable.logpdf(x, a, b, method="table", out=out) is out
    same = stable.logpdf(x, a, b, 0.5, 2.0, method="table", param="S1")
    np.testing.assert_allclose(same, stable.logpdf(x, a, b, 0.5, 2.0, method="quadrature", param="S1"), rtol=1e-12, atol=1e-12)


def test_error_estimates_of_device_arrays():
    x = np.array([-3.0, 0.2, 50.0])
    on_device = numba.cuda.to_device(x)
    for function in (stable.pdf, stable.cdf, stable.sf):
        value, error = function(on_device, 1.5, 0.5, error=True)
        expected = function(x, 1.5, 0.5, error=True, **SERIAL)
        np.testing.assert_allclose(value.copy_to_host(), expected[0], rtol=1e-13)
        assert (error.copy_to_host() > 0).all() and (error.copy_to_host() < 1e-12).all()
    assert len(stable.pdf_cdf(on_device, 1.5, 0.5, error=True)) == 6
    single = stable.pdf_cdf(x.astype(np.float32), np.float32(1.5), [0.5, 0.4, 0.3], error=True)
    assert single[0].dtype == np.float64 and single[3].shape == (3,)


def test_quantiles_on_the_reference(rows):
    for a, b in sorted(set(zip(rows["alpha"], rows["beta"], strict=True))):
        keep = (rows["alpha"] == a) & (rows["beta"] == b) & (rows["cdf"] >= 1e-8) & (rows["sf"] >= 1e-6)
        if not keep.any():
            continue
        x, p, c, s = (rows[k][keep] for k in ("x", "pdf", "cdf", "sf"))
        for got, tail in ((stable.ppf(c, a, b, **SERIAL), c), (stable.isf(s, a, b, **SERIAL), s)):
            # rounding the probability to a double moves x by eps tail/pdf
            error = np.abs(got - x) * p / np.minimum(c, s)
            rounding = 4e-16 * tail / np.minimum(c, s) + 4e-16 * np.abs(x) * p / np.minimum(c, s)
            assert (error < 1e-12 + 2 * rounding).all(), (a, b, error.max())


def test_quantiles_round_trip(device):
    n = 4 if device["device"] == "cuda" else 200
    rng = np.random.default_rng(4)
    p = np.concatenate([rng.random(n), 10.0 ** rng.uniform(-200, -1, n // 2)])
    a, b = rng.choice([0.3, 0.7, 0.95, 1.0, 1.2, 1.8, 2.0], p.size), rng.choice([-1.0, -0.4, 0.0, 0.6, 1.0], p.size)
    for param in ("S0", "S1"):
        q = stable.isf(p, a, b, 0.2, 3.0, param=param, **device)
        assert not np.isnan(q).any()
        fine = np.isfinite(q) & (np.abs(q) > 1e-8)
        p, a, b, q = p[fine], a[fine], b[fine], q[fine]
        back = stable.logsf(q, a, b, 0.2, 3.0, param=param, **SERIAL)
        slope = np.exp(stable.logpdf(q, a, b, 0.2, 3.0, param=param, **SERIAL) - back) * np.abs(q)
        allowed = 1e-12 * (1 + np.abs(np.log(p))) + 1e-15 * slope  # the second: what rounding q does
        assert (np.abs(back - np.log(p)) <= allowed).all()
    for law in ((1.5, 0.5), (0.6, -1.0), (1.0, 0.3)):
        q = stable.ppf(p, *law, param="S1", **device)
        with np.errstate(divide="ignore"):
            keep = (q != 0) & np.isfinite(q)
        error = np.abs(stable.cdf(q, *law, param="S1", method="quadrature", **SERIAL) - p) / np.minimum(p, 1 - p)
        assert error[keep & (p > 1e-100)].max() < 1e-11


@pytest.mark.parametrize(("alpha", "beta"), [([1.5], 0.0), ([[1.5]], 0.0), (1.5, [[[0.5]]]), ([[1.5]], [1.0])])
def test_one_element_arrays_keep_their_axes_by_tables(alpha, beta):
    lead = np.shape(np.add(alpha, beta))
    a, b = np.ravel(alpha)[0], np.ravel(beta)[0]
    for x in (0.3, np.linspace(0.01, 0.99, 500)):
        shape = np.broadcast_shapes(lead, np.shape(x))
        for name in ("pdf", "logcdf", "ppf", "isf"):
            f = getattr(stable, name)
            options = {} if name in ("ppf", "isf") else {"method": "table"}
            got, out = f(x, alpha, beta, **options), np.empty(shape)
            assert got.shape == shape and f(x, alpha, beta, out=out, **options) is out
            want = np.broadcast_to(f(x, a, b, **options), shape)
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(out, want)


def test_quantile_error():
    x, e = stable.ppf([0.1, 0.5, 0.0], 1.5, 0.5, error=True)
    assert (e[:2] < 1e-11).all() and (e[:2] > 0).all() and e[2] == 0 and x[2] == -INF
    p = np.linspace(0.02, 0.98, 25, dtype=np.float32)
    single, wide = stable.ppf(p, 1.5, 0.5, error=True, **SERIAL)
    gap = np.abs(single - stable.ppf(p.astype(float), 1.5, 0.5, **SERIAL))
    assert single.dtype == np.float32 and np.all(gap <= wide) and np.all(wide <= 3e-7 * np.abs(single) + 1e-12)  # observed 2.4e-7
    torch = pytest.importorskip("torch")
    y, f = stable.ppf(torch.tensor([0.1, 0.5, 0.0], dtype=torch.float64), 1.5, 0.5, error=True)
    assert isinstance(y, torch.Tensor) and (f == e).all()
    x, e = stable.ppf([0.0, 1.0, 2.0], [0.5, 0.5, 1.5], [1.0, -1.0, 0.0], param="S1", error=True)  # ends of supports; no law
    assert x[:2].tolist() == e[:2].tolist() == [0.0, 0.0] and np.isnan(x[2]) and np.isnan(e[2])


def test_agrees_with_scipy():
    """A peer that nobody here wrote, where it is good to ten digits."""
    x = np.linspace(-6, 6, 7)
    peer = scipy.stats.levy_stable
    for a, b in ((1.5, 0.5), (0.8, -0.3), (1.9, 0.0)):
        np.testing.assert_allclose(stable.pdf(x, a, b, param="S1", **SERIAL), peer.pdf(x, a, b), rtol=1e-7)
        np.testing.assert_allclose(stable.cdf(x, a, b, param="S1", **SERIAL), peer.cdf(x, a, b), rtol=1e-6)


def test_parameterisations():
    x = np.linspace(-5, 5, 11)
    for a, b in ((0.4, 0.5), (1.0, -0.7), (1.6, 0.9), (2.0, 0.3)):
        there = stable.convert(a, b, 0.3, 2.5, to="S1")
        back = stable.convert(*there, to="S0")
        np.testing.assert_allclose(back, (a, b, 0.3, 2.5), rtol=1e-14)
        np.testing.assert_allclose(
            stable.cdf(x, a, b, 0.3, 2.5, **SERIAL), stable.cdf(x, *there, param="S1", **SERIAL), rtol=1e-12
        )
    assert stable.convert(np.array([0.5, 1.5]), 0.0, [[1.0], [2.0]])[2].shape == (2, 2)
    for f in (stable.pdf, stable.ppf):
        with pytest.raises(ValueError, match="'S0', 'S1'"):
            f(0.5, 1.5, 0.0, param="M")
    with pytest.raises(ValueError, match="'S0', 'S1'"):
        stable.rvs(1.5, 0.0, param="A")
    with pytest.raises(ValueError, match="use one of"):
        stable.pdf(0.5, 1.5, 0.0, method="fft")
    with pytest.raises(ValueError, match="method='auto'"):
        stable.pdf([0.5, 1.0], [1.5, 1.4], 0.0, method="table")


def test_score_matches_exact_derivatives():
    """At the Cauchy law all four are known: Matsui and Takemura's integrals by mpmath, and the closed ones."""
    for x in (0.3, -2.0, 5.0):
        f = 1 / (math.pi * (1 + x * x))

        def moment(kind, x=x):  # d/da and d/db of the characteristic function at a = 1, b = 0
            weight = (lambda t: mpmath.cos(x * t)) if kind == "a" else (lambda t: mpmath.sin(x * t) * (2 / mpmath.pi))
            return mpmath.quad(lambda t: -t * mpmath.log(t) * mpmath.exp(-t) * weight(t), [0, 1, 5, 20, 60]) / mpmath.pi

        want = [float(moment("a")) / f, float(moment("b")) / f, 2 * x / (1 + x * x), -1 + 2 * x * x / (1 + x * x)]
        np.testing.assert_allclose(stable.score(x, 1.0, 0.0, **SERIAL), want, rtol=0, atol=3e-9)  # observed 1e-10
    x = np.array([-1.0, 2.0])
    np.testing.assert_allclose(stable.score(x, 2.0, 0.0, **SERIAL)[:, 2:], np.stack([x / 2, x * x / 2 - 1], -1), atol=1e-9)
    assert stable.score(np.ones((2, 3)), 1.5, [[0.1], [0.2]]).shape == (2, 3, 4)
    assert stable.loglik(x, 1.5, 0.2) == pytest.approx(stable.logpdf(x, 1.5, 0.2).sum(), rel=1e-14)


@pytest.mark.parametrize(
    "a, b, x, want",
    [
        (1.9, 0.2, -6.0, (-9.664573794743962, -1.3050772691872505, -0.7185900034592334, 3.3115400207554)),
        (1.2, -0.8, 4.0, (-0.55600573763249, 5.106798987397241, 0.6495252328212462, 1.5981009312849848)),
        (0.7, 0.3, 0.3, (0.4632992469806934, -0.43197039106247415, 1.1029887228762663, -0.6691033831371201)),
    ],
)
def test_score_between_the_closed_forms(a, b, x, want):
    """Derivatives of the Fourier integral on a turned ray, 40 digits."""
    np.testing.assert_allclose(stable.score(x, a, b, **SERIAL), want, rtol=0, atol=1e-9)  # observed 1e-10


@pytest.mark.parametrize(
    "a, b, x1, want",
    [
        (0.3, 0.0, 1e-5, (-14.961115342812697, 0.0047562810885175225, 1.3057037669733285, -0.9999869429623303)),
        (0.2, 0.4, 3e-5, (-40.477382393163175, -0.5502933362727838, 801.4940094724234, -0.9759551797158273)),
        (0.12, -0.5, 1e-10, (-141.1625340951721, 1.7951078936898184, 453196618.347285, -0.9546803381652715)),
        (0.5, 0.5, 0.3, (1.1271727233008282, 0.6415018378638438, 1.8757630450034917, -0.4372710864989525)),
        (0.6, 0.9, 1e-3, (-6.75398869939935, -11.780492194583408, -2.8342573639734367, -1.0028342573639735)),
    ],
)
def test_score_next_to_a_narrow_peak(a, b, x1, want):
    """Differences of Zolotarev's integral at 60 digits, in S1."""
    got = stable.score(x1, a, b, param="S1", **SERIAL)
    np.testing.assert_allclose(got[[0, 1, 3]], [want[0], want[1], want[3]], rtol=1e-10, atol=1e-9)  # observed 3e-11
    width = math.exp(0.5 * (math.lgamma(1 / a) - math.lgamma(3 / a)))  # of the peak: the unit of what is known about loc
    assert abs(got[2] - want[2]) < 1e-8 / width + 1e-10 * abs(want[2])  # observed 2.1e-9


@pytest.mark.parametrize("x", [0.5, 5.0, 8.0, 12.0])
def test_score_at_the_gaussian(x):
    """The tails become heavy as alpha leaves 2: the derivative of the Fourier integral over the density."""
    with mpmath.workdps(40):
        ends = [0, 1, 2, 4, 7, 12]
        change = mpmath.quad(lambda t: -t * t * mpmath.log(t) * mpmath.exp(-t * t) * mpmath.cos(x * t), ends)
        want = float(change / mpmath.quad(lambda t: mpmath.exp(-t * t) * mpmath.cos(x * t), ends))
    assert stable.score(x, 2.0, 0.0, **SERIAL)[0] == pytest.approx(want, rel=1e-9)  # observed 4e-12


@pytest.mark.parametrize(
    "a, b, x, i, want",
    [
        (0.4, -1.0, 0.7239729953050837, 1, 52496110.59381239),
        (0.85, 1.0, -2.185845951450932, 1, -8746253.482651033),
        (1.01, -1.0, 2.936231052820647, 1, 41963082.803815745),
        (1.5, -1.0, 4.986, 1, 74196.49430524916),
        (1.95, 1.0, -9.0, 1, -1278206.3110965353),
        (1.9999999, -0.5, 676586.4282446072, 0, -10000012.496188944),
        (0.999999999, 0.9999999, -40.40059470145474, 1, -10000000.091107184),
    ],
)
def test_score_in_light_tails_that_become_heavy(a, b, x, i, want):
    """Derivatives of Zolotarev's integral at 120 digits, at an end of the domain or within 1e-7 of it."""
    assert stable.score(x, a, b, **SERIAL)[i] == pytest.approx(want, rel=1e-9)  # observed 1e-11


def test_score_at_a_narrow_peak_in_s0():
    t = math.tan(0.15 * math.pi)
    want = [-28.72663873955955, -13.517471563747305, 26.92555971563377, -6.218447569642615]  # differences at 60 digits
    np.testing.assert_allclose(stable.score(0.01 - 0.4 * t, 0.3, 0.4, **SERIAL), want, rtol=1e-10)  # observed 4e-12


class TestFrozen:
    def test_methods_are_the_functions(self):
        law = stable.Stable(1.6, -0.4, 0.5, 2.0, "S1")
        parameters = (1.6, -0.4, 0.5, 2.0)
        x = np.array([-1.0, 0.0, 3.0])
        for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
            assert same(getattr(law, name)(x), getattr(stable, name)(x, *parameters, param="S1"))
        assert same(law.rvs(5, rng=1), stable.rvs(*parameters, 5, rng=1, param="S1"))
        assert law.cdf(law.median()) == pytest.approx(0.5, rel=1e-13)
        with pytest.raises(AttributeError):
            law.alpha = 1.0

    def test_moments_and_support(self):
        assert stable.Stable(2.0, 0.0, 1.0, 3.0).var() == 18.0 and stable.Stable(1.5, 0.5).var() == INF
        assert math.isnan(stable.Stable(0.9, 0.0).var()) and math.isnan(stable.Stable(1.0, 0.0).mean())
        law = stable.Stable(1.5, 0.5)
        assert law.mean() == pytest.approx(-0.5 * math.tan(0.75 * math.pi))
        end = stable.Stable(0.5, 1.0).support()
        assert end == (pytest.approx(-1.0), INF) and stable.Stable(0.5, -1.0).support()[1] == pytest.approx(1.0)
        assert stable.Stable(1.5, 1.0).support() == (-INF, INF)

    def test_characteristic_function(self):
        for a, b in ((0.6, 0.7), (1.0, -0.4), (1 + 1e-9, 0.5), (1.7, 0.2)):
            law = stable.Stable(a, b, 0.4, 1.7)
            x = law.rvs(400_000, rng=3)
            for t in (-0.6, 0.3, 1.0):
                assert abs(np.exp(1j * t * x).mean() - law.characteristic_function(t)) < 4 / math.sqrt(x.size)

    @pytest.mark.parametrize("bad", [(0.0, 0.0), (2.5, 0.0), (1.5, 2.0), (1.5, 0.0, 0.0, -1.0), (NAN, 0.0), (1.5, 0.0, INF)])
    def test_bad_parameters(self, bad):
        with pytest.raises(ValueError, match="is outside"):
            stable.Stable(*bad)

    def test_one_law(self):
        with pytest.raises(TypeError, match="not a number"):
            stable.Stable([1.5, 1.6], 0.0)


def test_scipy_bridge():
    bridge, peer = ns.interop.levy_stable, scipy.stats.levy_stable
    assert bridge.pdf(0.5, 1.5, 0.3, loc=0.1, scale=2.0) == pytest.approx(peer.pdf(0.5, 1.5, 0.3, loc=0.1, scale=2.0), rel=1e-7)
    frozen = bridge(1.5, 0.3)
    assert frozen.cdf(1.0) == bridge.cdf(1.0, alpha=1.5, beta=0.3) == stable.cdf(1.0, 1.5, 0.3, param="S1")
    assert bridge.rvs(1.5, 0.3, size=(2, 3), random_state=1).shape == (2, 3)
    assert np.ndim(bridge.rvs(1.5, 0.3, random_state=1)) == np.ndim(frozen.rvs()) == 0
    assert bridge.rvs([1.5, 1.2], 0.3).shape == frozen.rvs(2).shape == (2,) and frozen.rvs(size=1).shape == (1,)
    x = frozen.rvs(1000, 3)
    assert bridge.fit(x, fbeta=0.3)[1] == 0.3
    assert bridge.fit(x) == pytest.approx(stable.fit(x, param="S1").params)
    assert bridge.stats(2.0, 0.0) == (0.0, 2.0) and bridge.stats(1.5, 0.0, moments="mvsk")[1] == INF
    low, high = bridge.interval(0.9, 1.5, 0.0)
    assert low == pytest.approx(-high)
    assert bridge.support(1.5, 0.0) == (-INF, INF)
    with pytest.raises(TypeError, match="alpha and beta"):
        bridge.pdf(0.5)
    with pytest.raises(TypeError, match="fixed"):
        frozen.pdf(0.5, 1.5)
    with pytest.raises(ValueError, match="'S0', 'S1'"):
        bridge.parameterization = "A"


def test_scipy_bridge_takes_the_signatures_of_scipy():
    bridge, peer = ns.interop.levy_stable, scipy.stats.levy_stable
    for args in ((), ("mv",), ("mvsk",)):  # of a frozen law the moments come first
        np.testing.assert_array_equal(bridge(1.5, 0.3).stats(*args), peer(1.5, 0.3).stats(*args))
    for theta in ((2.5, 0.3, 0.0, 1.0), (1.5, 1.3, 0.0, 1.0), (1.5, 0.3, 0.0, -1.0), (1.5, 0.3, 0.0, 0.0)):
        assert bridge.nnlf(theta, [1.0, 2.0]) == peer.nnlf(theta, np.array([1.0, 2.0])) == INF
    assert bridge.nnlf((1.5, 0.3, 0.0, 1.0), [1.0, 2.0]) == pytest.approx(peer.nnlf((1.5, 0.3, 0.0, 1.0), np.array([1.0, 2.0])))
    x = bridge.rvs(1.5, 0.3, size=200, random_state=1)
    want = bridge.fit(x, falpha=1.5, fscale=1.0)
    assert bridge.fit(x, 1.4, 0.1, loc=0.2, scale=2.0, f0=1.5, fscale=1.0, method="MLE") == want
    assert bridge.fit(x, fix_alpha=1.5, fscale=1.0, falpha=None) == want and want[0] == 1.5 and want[3] == 1.0
    with pytest.raises(TypeError, match="several values for alpha"):
        bridge.fit(x, falpha=1.5, f0=1.4)
    with pytest.raises(TypeError, match="'start'"):
        bridge.fit(x, start=3)
    with pytest.raises(ValueError, match="'MLE'"):
        bridge.fit(x, method="MM")


@pytest.mark.parametrize("a, b", [(0.1, 0.0), (0.3, 0.7), (0.5, -0.4), (0.85, 0.0)])
@pytest.mark.filterwarnings("ignore:.*overflow encountered:RuntimeWarning")  # of the simulator's scalars
def test_tables_reach_the_largest_doubles(a, b, device):
    """The first term of the series at infinity; |x| over the width of the peak is beyond the doubles, which gave 0."""
    x = np.array([1e290, 1e295, 1e305, 1.7e308])
    tail = math.gamma(a) * math.sin(0.5 * math.pi * a) / math.pi * x**-a
    for side, function in ((1, "sf"), (-1, "cdf")):
        got = getattr(stable, function)(side * x, a, b, method="table", **device)
        np.testing.assert_allclose(got, (1 + side * b) * tail, rtol=5e-13)  # observed 1e-13; x^-a is good to 5e-14
        log_density = stable.logpdf(side * x, a, b, method="table", **device)
        np.testing.assert_allclose(log_density, np.log((1 + side * b) * tail * a) - np.log(x), rtol=1e-14)
    np.testing.assert_array_equal(stable.cdf([-INF, INF], a, b, method="table", **device), [0.0, 1.0])


def test_scipy_bridge_moments_and_expectations():
    bridge, peer = ns.interop.levy_stable, scipy.stats.levy_stable
    laws = np.array([2.0, 1.5, 3.0])
    np.testing.assert_array_equal(bridge.mean(laws, 0.0, loc=1.0), [1.0, 1.0, NAN])
    np.testing.assert_array_equal(bridge.var(laws, 0.0, scale=2.0), [8.0, INF, NAN])
    np.testing.assert_array_equal(bridge.stats(laws[:2], 0.0, moments="vk"), [[2.0, INF], [0.0, NAN]])
    for order in range(6):
        assert bridge.moment(order, 2.0, 0.0, 1.5, 2.0) == pytest.approx(peer.moment(order, 2.0, 0.0, loc=1.5, scale=2.0))
    assert bridge.moment(2, 1.5, 0.3) == INF and np.isnan(bridge.moment(3, 1.5, 0.3)) and bridge(1.5, 1.0).moment(3) == INF
    for parameters, want in (
        ((2.0, 0.0, 3.0, 5.0), 0.5 * math.log(100 * math.pi * math.e)), ((1.0, 0.0, 0.0, 1e-9), math.log(4e-9 * math.pi)),
        ((0.5, -1.0), (1 + 3 * np.euler_gamma + math.log(16 * math.pi)) / 2),
    ):  # fmt: skip
        assert bridge.entropy(*parameters) == pytest.approx(want, abs=3e-12)  # observed 7e-13
    f, law = (lambda x: np.exp(-x * x)), (1.5, 0.3)
    assert bridge.expect(f, law, loc=1, scale=2) == pytest.approx(peer.expect(f, law, loc=1, scale=2), rel=1e-7)
    share = math.erf(0.5)  # of the law of variance 2 on [-1, 1]
    assert bridge(2.0, 0.0).expect(lambda x: 1.0, -1.0, 1.0) == pytest.approx(share, rel=1e-12)  # as in SciPy
    assert bridge.expect(lambda x: 1.0, (2.0, 0.0), 0.0, 1.0, -1.0, 1.0) == pytest.approx(share, rel=1e-12)
    with pytest.raises(TypeError, match="loc"):
        bridge(2.0, 0.0).expect(f, loc=1.0)
    tiny = bridge(1.5, 0.3, 0.0, 1e-100)
    assert tiny.expect(lambda x: 1.0) == pytest.approx(1.0, rel=1e-9)
    assert tiny.expect(lambda x: 1.0, lb=1e-100, ub=3e-100, conditional=True) == pytest.approx(1.0, rel=1e-9)


class TestPdf(ElementwiseContract):
    """The contract on one law with points of every kind: series, quadrature, tails."""

    limit = {np.float64: 60.0, np.float32: 1.0}  # observed 19, 0.5 on these points
    edges = [(INF, 0.0), (-INF, 0.0), (NAN, NAN)]

    @staticmethod
    def function(x, **options):
        return stable.pdf(x, 1.25, 0.5, method="quadrature", **options)

    def sample(self, dtype):
        return np.array([-1e4, -30.0, -3.0, -1.0, -0.25, 0.0, 0.5, 1.5, 4.0, 100.0], dtype)

    def test_twins_agree(self):
        """The order of summation differs between the devices: 1e-13."""
        for method in ("quadrature", "table"):
            x = self.sample(np.float64)
            results = [stable.pdf(x, 1.25, 0.5, method=method, **d) for d in DEVICES.values()]
            assert same(results[0], results[1])
            np.testing.assert_allclose(results[2], results[0], rtol=1e-13)

    def exact(self, x):
        """Fourier inversion with 30 digits, on the ray where the integrand decays."""
        a, b = mpmath.mpf("1.25"), mpmath.mpf("0.5")
        return [_fourier(a, b, mpmath.mpf(float(v))) for v in x]


def _fourier(a, b, x):
    with mpmath.workdps(40):
        t = mpmath.tan(mpmath.pi * a / 2)
        angle = mpmath.mpf(0.6 if abs(x + b * t) > 2 else 0.2)
        turn = mpmath.expj(-angle if x + b * t > 0 else angle)

        def integrand(v):
            u = mpmath.exp(v) * turn
            return u * mpmath.exp(-(u**a) - 1j * b * t * (u - u**a) - 1j * x * u)

        step, total = mpmath.mpf(1) / 24, mpmath.mpf(0)
        for k in range(-24 * 60, 24 * 5):
            total += integrand(k * step)
        return (total * step).real / mpmath.pi


class TestRvs(RandomContract):
    function = staticmethod(stable.rvs)
    parameters = (1.75, 0.0, 0.5, 2.0)
    bad = [(0.0, 0.0, 0.0, 1.0), (2.1, 0.0, 0.0, 1.0), (1.5, 1.2, 0.0, 1.0), (1.5, 0.0, 0.0, -1.0)]

    class law:  # noqa: N801
        """Just what `test_law` needs; the mean is tested elsewhere, the variance is infinite."""

        cdf = staticmethod(lambda x: stable.cdf(x, 1.75, 0.0, 0.5, 2.0))
        mean = staticmethod(lambda: 0.5)
        std = staticmethod(lambda: 2e2)


@pytest.mark.parametrize("param", ["S0", "S1"])
@pytest.mark.parametrize("a, b", [(0.3, 0.6), (0.5, 1.0), (1.0, 0.5), (1 - 1e-9, -1.0), (1.2, -0.4), (2.0, 0.0)])
def test_draws_follow_the_law(a, b, param):
    x = stable.rvs(a, b, 0.2, 1.5, 20_000, rng=11, param=param)
    assert scipy.stats.kstest(x, lambda v: stable.cdf(v, a, b, 0.2, 1.5, param=param)).pvalue > 1e-3


def test_draws_are_continuous_at_one():
    for b in (0.0, 0.7, -1.0):
        middle = stable.rvs(1.0, b, size=2000, rng=2)
        for d in (1e-15, -1e-15, 1e-9, -1e-9):
            np.testing.assert_allclose(
                stable.rvs(1.0 + d, b, size=2000, rng=2), middle, rtol=1e-5 if abs(d) > 1e-12 else 1e-9, atol=1e-7
            )


def test_next_to_the_end_of_an_almost_one_sided_law():
    """alpha = 1 - 4e-12, beta = 1 - 1e-7: the other range of the integral is 1e-18 wide, and must not round to 0."""
    a, b = 0.9999999999963399, 0.9999998691704045
    x = -15.60862760677623
    p, c, s = (f(x, a, b, param="S1") for f in (stable.pdf, stable.cdf, stable.sf))
    # the tail of the law beyond zeta: cdf(0) in S1 is L/pi, L = (atan t - atan b t)/alpha, t = tan(pi alpha/2)
    with mpmath.workdps(50):
        t = mpmath.tan(mpmath.pi * mpmath.mpf(a) / 2)
        whole = (mpmath.atan(t) - mpmath.atan(mpmath.mpf(b) * t)) / mpmath.mpf(a) / mpmath.pi
    assert 0.99 < c / float(whole) <= 1.0 and s == 1.0 and 0.0 < p < 1e-27
    rng = np.random.default_rng(1)
    for _ in range(200):
        a = 1.0 + rng.choice([-1, 1]) * 10 ** rng.uniform(-13, -2)
        b = rng.choice([-1, 1]) * (1.0 - 10 ** rng.uniform(-9, -0.3))
        zeta = -float(stable.convert(a, b, to="S0")[2])
        x = zeta + rng.choice([-1, 1]) * 10 ** rng.uniform(-3, np.log10(abs(zeta) + 10))
        c, s = stable.cdf(x, a, b), stable.sf(x, a, b)
        assert abs(c + s - 1.0) < 1e-12 and stable.pdf(x, a, b) >= 0.0


def test_levy_law_at_tiny_arguments():
    x = np.array([5e-324, 1e-310, 2e-308, 1e-250, 1e-150])
    assert (stable.pdf(x, 0.5, 1.0, param="S1") == 0.0).all()
    want = -0.5 / x[3:] - 1.5 * np.log(x[3:]) - 0.5 * np.log(2 * np.pi)
    got = stable.logpdf(x, 0.5, 1.0, param="S1")
    np.testing.assert_allclose(got[3:], want, rtol=1e-14)
    assert got[0] == -np.inf and got[2] == pytest.approx(-2.5e307, rel=1e-12)


@pytest.mark.parametrize(
    "law",
    [(np.float64(1.3), 0.2), (1.3, np.int64(0)), (1.3, [0.2]), (1.3, 0.2, [0.0] * 400), (np.float32(1.3), 0.2)],
    ids=["float64", "integer", "list", "loc", "float32"],
)
def test_the_float_type_does_not_depend_on_the_method(law):
    x = np.linspace(-3, 3, 400, dtype=np.float32)
    point, table = (stable.pdf(x, *law, method=method) for method in ("quadrature", "table"))
    assert point.dtype == table.dtype == stable.ppf(np.abs(x) / 4, *law).dtype
    np.testing.assert_allclose(table, point, rtol=1e-12 if point.dtype == np.float64 else 1.2e-7)  # observed 2e-15


@pytest.mark.parametrize("param", ["S0", "S1"])
def test_draws_of_tiny_alpha(param):
    """E log|X| = (1/alpha - 1) times Euler's constant for symmetric laws; draws beyond all doubles are infinite, not NaN."""
    a, n = 0.02, 20_000
    x = np.log(np.abs(stable.rvs(a, 0.0, size=n, rng=1, param=param, **SERIAL)))
    sd = math.pi * math.sqrt((1 / a**2 + 0.5) / 6)
    assert abs(x.mean() - np.euler_gamma * (1 / a - 1)) < 4 * sd / math.sqrt(n)
    assert abs(x.std() / sd - 1) < 0.05
    assert not np.isnan(stable.rvs(0.001, [[0.0], [1e-10], [0.5], [-1.0]], size=(4, n), rng=2, param=param, **SERIAL)).any()


@pytest.mark.parametrize(
    "a, b, x1, want",
    [
        (0.99, 0.5, 32.0, (1579.3293980856802, 31.330758010441137, 0.49608974302517672, 14.874871776805655)),
        (1.02, -0.7, 23.0, (-756.26136488014013, -21.740509166814428, 0.6783557949132153, 14.602183283003952)),
    ],
)
def test_score_in_s1_next_to_one(a, b, x1, want):
    """Differences of Zolotarev's integral at 50 digits; zeta moves by 1000 and more per unit of alpha."""
    np.testing.assert_allclose(stable.score(x1, a, b, param="S1", **SERIAL), want, rtol=2e-12)  # observed 4.2e-13


def test_score_in_s1_at_one():
    """At alpha = 1 and beta = 0 the S1 law of scale s has d/d beta = that in S0 plus (2/pi) log s times that by loc, over 1/s."""
    x, s = 0.7, 3.0
    s0, s1 = (stable.score(x, 1.0, 0.0, 0.0, s, param=p, **SERIAL) for p in ("S0", "S1"))
    np.testing.assert_allclose(s1[[0, 2, 3]], s0[[0, 2, 3]], rtol=1e-15)
    z = x / s
    slope = -2 * z / (1 + z * z)
    assert s1[1] == pytest.approx(s0[1] - slope * 2 / math.pi * math.log(s), rel=1e-12)
    jump = stable.score(x, 1.0, 0.5, param="S1", **SERIAL)
    assert np.isnan(jump[0]) and np.isfinite(jump[1:]).all()


def test_score_where_there_is_none(recwarn):
    for a, b, s in ((0.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (2.5, 0.0, 1.0), (1.5, 2.0, 1.0), (0.5, 0.0, 0.0), (1.5, 0.0, -1.0)):
        assert np.isnan(stable.score(1.0, a, b, 0.0, s, **SERIAL)).all()
    for a in (0.5, 1.5):
        got = stable.score([NAN, INF, -INF, 1.0], a, 0.3, **SERIAL)
        assert np.isnan(got[:3]).all() and np.isfinite(got[3]).all()
    assert np.isnan(stable.score([-3.0, 0.0], 0.5, 1.0, param="S1", **SERIAL)).all()  # outside the support
    assert not recwarn.list


@pytest.mark.parametrize("function", ["pdf", "logcdf", "ppf"])
def test_masked_parameters_of_one_element(function):
    """A mask would be lost where a table takes the law."""
    x = np.linspace(0.1, 0.9, 500)
    for law in ((np.ma.array([1.5], mask=[True]), 0.0), (1.5, np.ma.array([0.2]))):
        with pytest.raises(TypeError, match="masked"):
            getattr(stable, function)(x, *law)


def test_loglik_of_float32_is_summed_in_double():
    x = stable.rvs(1.5, 0.3, size=200_000, rng=1, dtype="float32", **SERIAL)
    values = stable.logpdf(x, 1.5, 0.3, **SERIAL)
    assert values.dtype == np.float32
    assert stable.loglik(x, 1.5, 0.3, **SERIAL) == pytest.approx(math.fsum(values.tolist()), rel=1e-14)


def test_quantile_errors_where_the_density_underflows():
    x, error = stable.isf([1e-300, 1e-200], 1.0, 0.0, error=True)
    assert (error < 1e-11 * x).all() and (error > 1e-17 * x).all()  # the quantile is 1/(pi q)


def test_quantiles_beyond_all_doubles():
    """Also where every point has a law of its own: +-inf, as for shared laws."""
    a = np.array([0.15, 0.3, 0.5, 0.9, 1.1])
    assert stable.isf(1e-300, a, 0.5, **SERIAL).tolist()[:4] == [INF] * 4
    assert stable.ppf(1e-300, a, 0.5, **SERIAL).tolist()[:4] == [-INF] * 4
    np.testing.assert_allclose(stable.logsf(stable.isf(1e-300, a, 0.5, **SERIAL)[4], 1.1, 0.5), math.log(1e-300), rtol=1e-15)
    right = math.gamma(1.1) * math.sin(0.55 * math.pi) / math.pi * 1.5  # P(X > x) = right x^-1.1 so far out
    want = [INF] * 4 + [(right / 1e-300) ** (1 / 1.1)]
    np.testing.assert_allclose(stable.isf([1e-300], np.stack([a, a]).T, 0.5)[:, 0], want, rtol=3e-13)
    np.testing.assert_allclose([stable.isf(1e-300, v, 0.5) for v in a], want, rtol=3e-13)  # an ulp of log x is 1.1e-13


def test_frozen_laws_at_the_ends_of_the_range(recwarn):
    wide, narrow = stable.Stable(2.0, 0.0, 0.0, 1e200), stable.Stable(2.0, 0.0, 0.0, 1e-200)
    assert wide.var() == INF and wide.std() == pytest.approx(math.sqrt(2) * 1e200, rel=1e-15)
    assert narrow.std() == pytest.approx(math.sqrt(2) * 1e-200, rel=1e-15)
    assert stable.Stable(1.9, 0.0, 0.0, 1e300).tail_coefficients() == (INF, INF)
    assert stable.Stable(1.0, 1.0).mean() == INF and stable.Stable(1.0, -1.0).mean() == -INF  # one tail is light
    for a in (0.5, 1.0, 1.5, 2.0):
        law = stable.Stable(a, 0.5, 0.3)
        assert law.characteristic_function([1e200, -1e308, INF, 0.0]).tolist() == [0.0, 0.0, 0.0, 1.0]
        left, right = law.tail_coefficients()
        if a < 2.0:
            assert law.sf(1e30) == pytest.approx(right * 1e30**-a, rel=5e-14)
            assert law.cdf(-1e30) == pytest.approx(left * 1e30**-a, rel=5e-14)
    assert stable.convert(1.0 + 1e-15, 1.0, 0.0, 1e300, to="S1")[2] == INF
    assert not recwarn.list


@pytest.mark.parametrize("a, x", [(1.0, -5.0), (1.0, -20.0), (1.0, -500.0), (0.999, -500.0), (1.5, -60.0)])
def test_errors_far_out_in_a_light_tail(a, x, device, b=1.0):
    """Of the tail that is 1 they went with g, up to inf; of the values that are 0 they were NaN from g = inf on."""
    p, c, s, pe, ce, se = stable.pdf_cdf([x, x], [a, a], b, error=True, **device)
    assert (abs(s - 1.0) <= np.finfo(float).epsneg).all()  # a sum of weights: 1, or the double below, by how exp is rounded
    assert (se < 1e-12).all() and (se > 1e-16).all()  # 1.1e-13 at alpha = 0.999
    assert (pe <= 1e-10 * p).all() and (ce <= 1e-10 * c).all() and (c < 1e-200).all()
    mirrored = stable.pdf_cdf([-x, -x], [a, a], -b, error=True, **device)
    np.testing.assert_array_equal(mirrored, [p, s, c, pe, se, ce])


@pytest.mark.parametrize(
    ("x", "a", "b", "want"),
    [
        (4.0, np.nextafter(1.0, 2.0), 0.9999, (0.038362431771872898, 0.826850978020582782, 0.173149021979417218)),
        (
            3.2537724839038127, np.nextafter(1.0, 0.0), -0.9999999999999996,
            (6.56329961380028546e-17, 1.0, 3.86558878680540829e-17),
        ),
        (
            -3.1147818729537793, 0.9999999999999992, 0.9999999999999999,
            (9.67255881317371544e-14, 1.95186923994639997e-15, 0.999999999999998048),
        ),
    ],
)  # fmt: skip
def test_one_rounding_from_alpha_one_and_almost_light(x, a, b, want):
    """Up to 2e-3 off: the height of a level stretch was a rounding over alpha - 1. Fourier integrals with 50 digits on a ray."""
    found = stable.pdf_cdf(x, a, b, error=True)
    assert relative(np.array(found[:3]), np.array(want)).max() < 3e-13  # 7e-14 observed
    assert (np.array(found[3:]) < 2e-13 * np.array(want)).all()  # the estimate was 0.5 of the value


@pytest.mark.parametrize("b", [1.0, -1.0])
@pytest.mark.parametrize("a", [0.3, 0.5, 0.85])
def test_tables_at_the_end_of_the_support(a, b, device):
    x = np.array([0.0, -0.0])
    for method in ("table", "quadrature"):
        cdf, sf = (f(x, a, b, param="S1", method=method, **device) for f in (stable.cdf, stable.sf))
        assert (cdf == (b < 0)).all() and (sf == (b > 0)).all()
        logs = [f(x, a, b, param="S1", method=method, **device) for f in (stable.logcdf, stable.logsf)]
        assert (logs[b > 0] == 0).all() and (logs[b < 0] == -INF).all()


def at_zeta(a, b):
    """Density and distribution function at zeta, Nolan (1997)."""
    with mpmath.workdps(60):
        a, b = mpmath.mpf(a), mpmath.mpf(b)
        t = b * mpmath.tan(mpmath.pi * a / 2)
        angle = mpmath.atan(t) / a
        density = mpmath.gamma(1 + 1 / a) * mpmath.cos(angle) / (mpmath.pi * (1 + t * t) ** (1 / (2 * a)))
        return float(density), float(mpmath.mpf(0.5) - angle / mpmath.pi)


@pytest.mark.parametrize("b", [-0.5, -0.9, -0.99, -1 + 1e-6, -1 + 1e-12, 1 - 1e-12, 0.3])
@pytest.mark.parametrize("a", [0.1, 0.3, 0.75, 0.89, 1 - 1e-6, 1 + 1e-6, 1.5])
def test_next_to_zeta(a, b, device):
    density, below = at_zeta(a, b)
    least = 1e-60 if device["device"] == "cuda" else 1e-300  # the simulator warns of what overflows on the way
    x = [0.0, least] + ([1e-50, -1e-50] if abs(a - 1) > 0.01 else [])
    got = np.array([f(x, a, b, param="S1", method="quadrature", **device) for f in (stable.pdf, stable.cdf, stable.sf)])
    assert relative(got[0], density).max() < 1e-13  # observed 1.3e-14
    assert np.abs(got[1] - below).max() < 1e-15 and np.abs(got[2] - (1 - below)).max() < 1e-15
    np.testing.assert_allclose(stable.pdf(x, a, b, param="S1", method="table", **SERIAL), density, rtol=1e-13)


@pytest.mark.parametrize("a", [0.1, 0.3, 0.7, 0.95, 0.999])
def test_subnormal_distances_from_a_light_end(a):
    x = np.array([5e-324, 1e-315, 1e-307])
    assert (stable.pdf(x, a, 1.0, param="S1", method="quadrature", **SERIAL) == 0).all()
    assert (stable.logpdf(x, a, 1.0, param="S1", method="quadrature", **SERIAL) < -1e30).all()


@pytest.mark.parametrize("method", ["table", "quadrature"])
def test_logarithms_of_the_larger_tail(method, device):
    x = np.array([10.0, 1e3, 1e6, 1e12, 1e40, 1e200])
    with mpmath.workdps(40):
        cauchy = [float(mpmath.log1p(-mpmath.atan(1 / mpmath.mpf(v)) / mpmath.pi)) for v in x]
        levy = [float(mpmath.log1p(-mpmath.erf(1 / mpmath.sqrt(2 * mpmath.mpf(v))))) for v in x]
    options = dict(param="S1", method=method, **device)
    np.testing.assert_allclose(stable.logcdf(x, 1.0, 0.0, **options), cauchy, rtol=2e-13)  # observed 8e-14
    np.testing.assert_allclose(stable.logsf(-x, 1.0, 0.0, **options), cauchy, rtol=2e-13)
    np.testing.assert_allclose(stable.logcdf(x, 0.5, 1.0, **options), levy, rtol=2e-13)
    np.testing.assert_allclose(stable.logsf(-x, 0.5, -1.0, **options), levy, rtol=2e-13)


def test_expectations_under_heavy_tails():
    from numbastats.interop import levy_stable as bridge

    cauchy, heavy = bridge(1.0, 0.0, 1.0, 2.0), bridge(0.3, 0.0)
    assert cauchy.expect(lambda x: 1 / (1 + x * x)) == pytest.approx(0.3, rel=1e-10)
    assert cauchy.expect(lambda x: 1.0, lb=5.0, conditional=True) == pytest.approx(1.0, rel=1e-10)
    want = math.gamma(1 - 0.1 / 0.3) / (math.gamma(0.9) * math.cos(0.05 * math.pi))  # E |X|^p, p = 0.1
    assert heavy.expect(lambda x: abs(x) ** 0.1) == pytest.approx(want, rel=1e-8)


def test_ctrl_c_while_tables_are_made():
    """Numba makes arrays that a kernel returns by running Python, where the signal ended as a SystemError, 8 times in 10."""
    x = np.linspace(-5.0, 5.0, 500)
    stable.pdf(x, 1.3, 0.3, **SERIAL)
    for trial in range(6):
        threading.Timer(0.05 + 0.01 * trial, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            for k in range(10**9):  # until the signal comes
                stable.pdf(x, 1.1 + 1e-4 * (k % 5000) + 1e-6 * trial, 0.3, **SERIAL)


@pytest.mark.parametrize("method", ["table", "quadrature"])
def test_differences_beyond_the_doubles(method, device):
    """The difference of x and loc is infinite, its quotient by scale is 2: sf was 0, cdf 0."""
    for sign, function in ((1.0, stable.sf), (-1.0, stable.cdf)):
        got = function(sign * 1e308, 1.5, 0.0, -sign * 1e308, 1e308, method=method, **device)
        assert got == stable.sf(2.0, 1.5, 0.0, method=method, **device)
    x = np.array([INF, -INF, NAN, 1.7e308, 0.0])
    np.testing.assert_array_equal(stable.sf(x, 1.5, 0.0, -1e308, 1.0, method=method, **device)[:3], [0.0, 1.0, NAN])
    assert stable.isf(stable.sf(2.0, 1.5, 0.0), 1.5, 0.0, -1e308, 1e308, **device) == pytest.approx(1e308, rel=1e-14)
    alphas = [1.5, 1.6]  # laws that differ: Newton's method
    np.testing.assert_allclose(stable.isf(stable.sf(2.0, alphas, 0.0), alphas, 0.0, -1e308, 1e308, **device), 1e308, rtol=1e-14)


@pytest.mark.parametrize("a", [0.1, 0.4, 0.8, 0.95, 1.0, 1.5, 1.99])
def test_the_median_of_a_symmetric_law(a, device):
    """7.5e-16 at alpha = 1.5 before."""
    for loc in (0.0, 3.0):
        assert stable.ppf(0.5, a, 0.0, loc, 2.0, **device) == stable.isf(0.5, a, -0.0, loc, 2.0, param="S1", **device) == loc
    np.testing.assert_array_equal(stable.ppf([0.5, 0.5], [a, a], 0.0, 3.0, 2.0, **device), 3.0)
    assert stable.Stable(a, 0.0).median() == 0.0
    assert stable.ppf(0.5, a, 0.2, **device) != 0.0


def test_error_estimates_of_quantiles_go_with_the_smaller_tail():
    """Probability errors are relative to min(p, 1 - p): beyond the median the estimate was allowed to go with p."""
    p = np.array([0.5, 0.9, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9])
    for q, tail, f in ((p, 1 - p, stable.ppf), (1 - p, 1 - p, stable.ppf), (p, 1 - p, stable.isf)):
        x, e = f(q, 1.0, 0.0, error=True)
        slope = np.pi * (1.0 + x**2) * tail  # Cauchy: dx over the relative error of the tail
        relative = (e - 2 * np.finfo(float).eps * np.abs(x)) / slope
        np.testing.assert_allclose(relative, relative[0], rtol=0.02)  # one number, the table's certificate
        assert 4e-16 < relative[0] < 1e-12


def test_a_block_for_every_point_on_a_gpu(monkeypatch):
    """The kernels work with a block per point, and were launched with a thread per point."""
    launched = []

    class Kernel:
        cuda = type(
            "Cuda", (), {"__getitem__": lambda self, configuration: launched.append(configuration) or (lambda *a: None)}
        )()

    monkeypatch.setattr(stable.engine, "SIMULATED", False)
    stable.engine.Bound(Kernel, per_block=True).cuda[7, 64]
    stable.engine.Bound(Kernel, per_block=True).cuda[7, 64, "stream"]
    stable.engine.Bound(Kernel).cuda[7, 64]
    assert launched == [(448, 64), (448, 64, "stream"), (7, 64)]
    picked = []
    monkeypatch.setattr(stable.engine, "elementwise", lambda pick, *a, **k: picked.append(pick(np.dtype(float))) or np.zeros(6))
    stable.pdf(0.1, 1.5, 0.2, method="quadrature")
    stable.cdf(0.1, 1.5, 0.2, error=True)
    stable.ppf([0.1, 0.2], [1.5, 1.6], 0.2)
    assert all(kernel.per_block for kernel in picked) and len(picked) == 3


def test_unknown_moments_are_refused():
    with pytest.raises(ValueError, match="moments='x'"):
        ns.interop.levy_stable.stats(1.5, 0.0, moments="mx")
