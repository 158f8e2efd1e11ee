"""Density and distribution function against the reference table, independent formulas and SciPy; their contract."""

from __future__ import annotations

import functools
import math

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

from numbastats import stable
from numbastats.testing import DEVICES
from tests.contract import ElementwiseContract, same
from tests.stable.naive import (
    INF,
    NAN,
    SERIAL,
    at_zeta,
    by_equal_steps,
    by_fourier_integral,
    far_tail,
    relative,
    zolotarev_at_one,
)

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


@pytest.mark.parametrize("b", [0.6, 0.9, 0.99, 0.999, 1 - 1e-6])
def test_alpha_one_against_equal_steps(b):
    """Around x = 22 a level of the integrand's logarithm was once missed by a whole unit: 7e-7. From 50 on the far rule."""
    x = np.concatenate([np.linspace(-2.5, 40.0 if b < 0.9 else 80.0, 120), np.linspace(21.5, 23.5, 40)])
    want = np.array([zolotarev_at_one(v, b) for v in x])
    np.testing.assert_allclose(stable.pdf(x, 1.0, b, method="quadrature", **SERIAL), want[:, 0], rtol=1e-13)  # observed 6.2e-14
    np.testing.assert_allclose(stable.cdf(x, 1.0, b, method="quadrature", **SERIAL), want[:, 1], rtol=1e-14)  # observed 5.6e-15


@pytest.mark.slow
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


@pytest.mark.more_in_simulator
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
        assert np.isnan(stable.ppf(-0.1, a, b, **device)) and np.isnan(stable.isf([-1.1, 1.1], a, b, **device)).all()
    # outside the support, and its end
    for x in (-5.0, -1.0):
        assert stable.pdf(x, 0.5, 1.0, **device) == 0 and stable.cdf(x, 0.5, 1.0, **device) == 0
        assert stable.sf(x, 0.5, 1.0, **device) == 1 and stable.logpdf(x, 0.5, 1.0, **device) == -INF
        assert stable.pdf(-x, 0.5, -1.0, **device) == 0 and stable.cdf(-x, 0.5, -1.0, **device) == 1
        assert stable.sf(-x, 0.5, -1.0, **device) == 0


@pytest.mark.more_in_simulator
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


def test_agrees_with_scipy():
    """A peer that nobody here wrote, where it is good to ten digits."""
    x = np.linspace(-6, 6, 7)
    peer = scipy.stats.levy_stable
    for a, b in ((1.5, 0.5), (0.8, -0.3), (1.9, 0.0)):
        np.testing.assert_allclose(stable.pdf(x, a, b, param="S1", **SERIAL), peer.pdf(x, a, b), rtol=1e-7)
        np.testing.assert_allclose(stable.cdf(x, a, b, param="S1", **SERIAL), peer.cdf(x, a, b), rtol=1e-6)


@functools.cache  # devices and float types ask for the same
def exact_density(x):
    return by_fourier_integral(mpmath.mpf("1.25"), mpmath.mpf("0.5"), mpmath.mpf(x))


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
        return [exact_density(float(v)) for v in x]


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


def test_loglik_of_float32_is_summed_in_double():
    x = stable.rvs(1.5, 0.3, size=200_000, rng=1, dtype="float32", **SERIAL)
    values = stable.logpdf(x, 1.5, 0.3, **SERIAL)
    assert values.dtype == np.float32
    assert stable.loglik(x, 1.5, 0.3, **SERIAL) == pytest.approx(math.fsum(values.tolist()), rel=1e-14)


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
            3.2537724839038127,
            np.nextafter(1.0, 0.0),
            -0.9999999999999996,
            (6.56329961380028546e-17, 1.0, 3.86558878680540829e-17),
        ),
        (
            -3.1147818729537793,
            0.9999999999999992,
            0.9999999999999999,
            (9.67255881317371544e-14, 1.95186923994639997e-15, 0.999999999999998048),
        ),
    ],
)
def test_one_rounding_from_alpha_one_and_almost_light(x, a, b, want):
    """Up to 2e-3 off: the height of a level stretch was a rounding over alpha - 1. Fourier integrals with 50 digits on a ray."""
    found = stable.pdf_cdf(x, a, b, error=True)
    assert relative(np.array(found[:3]), np.array(want)).max() < 3e-13  # 7e-14 observed
    assert (np.array(found[3:]) < 2e-13 * np.array(want)).all()  # the estimate was 0.5 of the value


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
