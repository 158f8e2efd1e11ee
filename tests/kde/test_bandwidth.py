"""Constants of the kernels and bandwidth rules."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from numbastats import kde
from numbastats._core.errors import ConvergenceWarning
from numbastats.kde import bandwidth
from tests.kde.naive import CPU, PROFILE, WRAPS, constant, self_convolution

pytestmark = WRAPS


def test_isj_needs_samples():
    with pytest.warns(ConvergenceWarning, match="Silverman"):
        kde.bandwidth.isj(np.array([0.0, 0.0, 0.0, 1.0]))


def test_constants():
    for d, value in ((1, 2.344914356324), (2, 2.401873910352), (3, 2.491244289732)):
        assert bandwidth.normal_reference(1, d) == pytest.approx(value, abs=1e-12)
    table = {
        1: (1.740057, 2.213804, 2.622615, 2.978106),
        2: (2.0, 2.401874, 2.779193, 3.115399),
        3: (2.220143, 2.571939, 2.923955, 3.243849),
    }
    for d, ratios in table.items():
        for kernel, value in zip(("uniform", "epanechnikov", "biweight", "triweight"), ratios, strict=True):
            assert bandwidth.canonical_ratio(kernel, d) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("kernel", [k for k in PROFILE if k != "cosine"])
def test_roughness(kernel):
    """By quadrature over the ball."""
    r, w = np.polynomial.legendre.leggauss(200)
    r, w = 0.5 * (r + 1), 0.5 * w
    for d in (1, 2, 3, 4):
        shell = {1: 2.0, 2: 2 * math.pi, 3: 4 * math.pi, 4: 2 * math.pi**2}[d] * r ** (d - 1) * w
        k = constant(kernel, d) * PROFILE[kernel](r * r)
        assert np.sum(shell * k) == pytest.approx(1, abs=1e-9)
        got = bandwidth.roughness(kernel, d)
        assert got[0] == pytest.approx(np.sum(shell * k * k), rel=1e-9)
        assert got[1] == pytest.approx(np.sum(shell * k * r * r) / d, rel=1e-9)


def test_self_convolution():
    """Values of the specification, and the lens integral by brute force in the plane."""
    for d, value in ((1, 0.6), (2, 0.424413181578388), (3, 0.341046306625490)):
        assert self_convolution(0.0, d) == pytest.approx(value, abs=1e-12)
        assert self_convolution(2.5, d) == 0
    m = 3001
    g = np.linspace(-1, 1, m)
    for r in (0.4, 1.3):
        a = np.maximum(1 - g[:, None] ** 2 - g**2, 0)
        b = np.maximum(1 - (g[:, None] - r) ** 2 - g**2, 0)
        want = (2 / math.pi) ** 2 * np.sum(a * b) * (2 / (m - 1)) ** 2
        assert self_convolution(r, 2) == pytest.approx(want, rel=1e-6)
    r = np.linspace(0, 2, 500)
    for d in (2, 3):
        np.testing.assert_allclose(self_convolution(r, d), bandwidth._lens(r, d), rtol=0, atol=1e-12)


def test_selectors_on_the_normal_law():
    """Within 15 % of the bandwidth of least asymptotic error, 0.193 for n = 5000."""
    x = np.random.default_rng(8).standard_normal(5000)
    best = bandwidth.normal_reference(5000, 1, "gaussian")
    for rule in (bandwidth.isj, bandwidth.plugin, bandwidth.silverman):
        assert rule(x, kernel="gaussian") == pytest.approx(best, rel=0.15)
        weighted = rule(x, kernel="gaussian", weights=np.full(5000, 3.0))
        assert weighted == pytest.approx(rule(x, kernel="gaussian"), rel=0.02)
    assert bandwidth.scott(x, kernel="gaussian") == pytest.approx(5000**-0.2)
    assert bandwidth.eq9(x) == pytest.approx(bandwidth.silverman(x), rel=1e-12)


def test_plugin_on_the_line():
    """The two stages of Sheather and Jones by double sums, with NumPy's Hermite polynomials; bins cost 1e-4."""
    x = np.random.default_rng(18).gamma(2.0, size=300)
    n, z = len(x), x[:, None] - x

    def psi(order, g):
        u = z / g
        values = np.polynomial.hermite_e.HermiteE.basis(order)(u) * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        return values.sum() / (n * n * g ** (order + 1))

    spread = min(x.std(ddof=1), np.subtract(*np.quantile(x, [0.75, 0.25])) / 1.349)
    psi8 = 105 / (32 * math.sqrt(math.pi) * spread**9)
    psi6 = psi(6, (30 / (math.sqrt(2 * math.pi) * psi8 * n)) ** (1 / 9))
    psi4 = psi(4, (-6 / (math.sqrt(2 * math.pi) * psi6 * n)) ** (1 / 7))
    want = (1 / (2 * math.sqrt(math.pi) * psi4 * n)) ** 0.2
    assert bandwidth.plugin(x, kernel="gaussian") * x.std(ddof=1) == pytest.approx(want, rel=5e-4)


def test_improved_sheather_jones():
    """The fixed point of Botev, Grotowski and Kroese, equations (27) to (30), with sums of cosines in place of bins."""
    from scipy.optimize import brentq

    x = np.concatenate([np.random.default_rng(19).normal(size=300), np.random.default_rng(20).normal(4.0, 0.5, 200)])
    n, span = len(x), 2 * np.ptp(x)
    k = np.arange(1.0, 1000.0)
    a2 = np.cos(math.pi * k * ((x - x.min() + span / 4) / span)[:, None]).mean(0) ** 2

    def norm(s, t):  # of the s-th derivative
        return 2 * math.pi ** (2 * s) * np.sum(k ** (2 * s) * a2 * np.exp(-((k * math.pi) ** 2) * t))

    def excess(t):
        f = norm(7, t)
        for s in (6, 5, 4, 3, 2):
            double_factorial = math.factorial(2 * s) / (2**s * math.factorial(s))
            f = norm(
                s, (2 * (1 + 2 ** -(s + 0.5)) / 3 * double_factorial / (math.sqrt(2 * math.pi) * n * f)) ** (2 / (3 + 2 * s))
            )
        return t - (2 * n * math.sqrt(math.pi) * f) ** -0.4

    want = math.sqrt(brentq(excess, 1e-8, 0.01)) * span
    assert bandwidth.isj(x, kernel="gaussian") * x.std(ddof=1) == pytest.approx(want, rel=1e-3)


@pytest.mark.parametrize("step", [0.01, 0.1, 1.0])
def test_improved_sheather_jones_of_rounded_samples(step):
    """Observed 0.5 % from the bandwidth before rounding; with n the number of different values it was 3 times as wide."""
    x = 3 * np.random.default_rng(0).normal(size=1000)
    rounded = np.round(x / step) * step
    want = bandwidth.isj(x, kernel="gaussian") * x.std(ddof=1)
    assert bandwidth.isj(rounded, kernel="gaussian") * rounded.std(ddof=1) == pytest.approx(want, rel=0.02)
    assert bandwidth.isj(rounded) == pytest.approx(bandwidth.isj(rounded, weights=np.full(1000, 0.5)), rel=1e-9)


@pytest.mark.parametrize("zeros", [50, 100, 500, 800])
def test_improved_sheather_jones_of_one_value_many_times(zeros):
    """That of the other values, which is near the best for normal ones; it was 1e-6 of the spread and less."""
    z = np.random.default_rng(0).normal(size=1000 - zeros)
    x, once = np.r_[np.zeros(zeros), z], np.r_[0.0, z]
    with pytest.warns(ConvergenceWarning, match=f"{zeros - 1} of which are ties.*{1001 - zeros} different values"):
        h = bandwidth.isj(x, kernel="gaussian") * x.std(ddof=1)
    assert h == pytest.approx(bandwidth.isj(once, kernel="gaussian") * once.std(ddof=1), rel=1e-9)
    assert h == pytest.approx(bandwidth.normal_reference(len(z), 1, "gaussian"), rel=0.25)  # observed 0.2
    with pytest.warns(ConvergenceWarning, match="add the rounding noise back"):
        assert kde.points(x, np.array([0.0]), bandwidth="isj", **CPU)[0] < 3.0


def test_improved_sheather_jones_of_a_lattice():
    """Steps wider than two bandwidths: no number of samples tells it from a sum of spikes."""
    x = np.random.default_rng(3).poisson(2.0, 1000).astype(float)
    with pytest.warns(ConvergenceWarning, match="ties; Silverman's rule is used"):
        assert bandwidth.isj(x) == bandwidth.silverman(x)


def test_selectors_see_two_modes():
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.normal(-4, 1, 2500), rng.normal(4, 0.3, 2500)])
    sd = x.std(ddof=1)
    for rule in (bandwidth.isj, bandwidth.plugin):
        assert rule(x, kernel="gaussian") * sd < 0.4 * bandwidth.silverman(x, kernel="gaussian") * sd


def test_selectors_by_name():
    x = np.random.default_rng(10).standard_normal(300)
    for name in ("eq9", "scott", "silverman", "isj", "plugin", "lscv"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = kde.KDE(bandwidth=name, **CPU).fit(x)
        assert fitted.h_ == pytest.approx(getattr(bandwidth, name)(x), rel=1e-9)
        assert fitted.H_[0, 0] == pytest.approx(fitted.h_**2 * x.var(ddof=1))
    two = np.random.default_rng(11).standard_normal((200, 2))
    assert kde.KDE(bandwidth="lscv").fit(two).h_ > 0


def test_rules_do_not_depend_on_units():
    r = np.random.default_rng(12)
    x, w = r.normal(size=300), r.uniform(0.1, 1, 300)
    for name in bandwidth.SELECTORS:
        rule = bandwidth.SELECTORS[name]
        for data in (x,) if name == "isj" else (x, np.stack([x, r.normal(size=300)], -1)):
            want, weighted = rule(data), rule(data, weights=w)
            for k in (-900, -300, -116, 113, 300, 900):
                assert rule(np.ldexp(data, k)) == want, (name, k)
            for c in (1e-300, 1e-170, 1e170, 1e305):
                assert abs(rule(data, weights=w * c) / weighted - 1) <= 1e-11, (name, c)  # observed 1.5e-12


def test_bad_selector_input():
    for rule in (bandwidth.isj, bandwidth.plugin):
        with pytest.raises(ValueError, match="equal"):
            rule(np.ones(5))
    with pytest.raises(ValueError, match="d = 1"):
        bandwidth.isj(np.zeros((5, 2)))
    for rule in (bandwidth.lscv, bandwidth.plugin):
        for bad in (np.zeros((5, 2)), np.ones((1, 2)), np.eye(2)):
            with pytest.raises(ValueError, match="singular"):
                rule(bad)
    with pytest.raises(ValueError, match="NaN"):
        bandwidth.eq9([1.0, np.nan])
    with pytest.raises(ValueError, match="weights"):
        bandwidth.eq9([1.0, 2.0], weights=[1.0])
    with pytest.raises(ValueError, match="'epanechnikov'"):
        bandwidth.roughness("box", 1)
    with pytest.warns(ConvergenceWarning, match="ties|end of its bracket"):
        bandwidth.lscv(np.repeat(np.random.default_rng(1).standard_normal(30), 2))


def test_rules_count_neither_weightless_samples_nor_ties_twice():
    x = np.random.default_rng(0).normal(size=500)
    more, w = np.r_[x, 1e6], np.r_[np.ones(500), 0]
    for rule in (kde.bandwidth.isj, kde.bandwidth.plugin):
        assert rule(more, weights=w) == pytest.approx(rule(x, weights=np.ones(500)), rel=1e-12)
    for far in (1e16, 1e150):  # whose units would leave the others no digits
        y, plane = np.r_[x[:200], far], np.c_[np.r_[x[:200], far], np.r_[x[-200:], far]]
        for rule, at in itertools.product((kde.bandwidth.isj, kde.bandwidth.plugin, kde.bandwidth.lscv), (y, plane)):
            if rule is not kde.bandwidth.isj or at is y:
                want = rule(at[:-1], weights=np.ones(200))
                assert rule(at, weights=np.r_[np.ones(200), 0]) == pytest.approx(want, rel=1e-12)
    ties = np.round(x, 1)
    assert kde.bandwidth.isj(ties, weights=np.ones(500)) == pytest.approx(kde.bandwidth.isj(ties), rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 20, 300])
def test_rules_take_equal_weights_for_none(n):
    """The plug-in rule was 1.7 times wider with equal weights for 3 samples, because of other quartiles."""
    x = np.random.default_rng(n).normal(size=n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of `isj` and `lscv` for few samples
        for name, rule in bandwidth.SELECTORS.items():
            assert rule(x, weights=np.full(n, 0.3)) == pytest.approx(rule(x), rel=1e-9), name  # observed 2e-12


@pytest.mark.parametrize("tail", ["one", "cauchy", "lognormal"])
def test_rules_in_one_dimension_see_the_middle_of_heavy_tails(tail):
    """The plug-in rule by sums over all pairs; ISJ does not move with what lies far out. Both were 3 to 7 times off."""
    rng = np.random.default_rng(3)
    x = {
        "one": np.r_[rng.normal(size=400), 1e6],
        "cauchy": rng.standard_cauchy(700),
        "lognormal": np.exp(3 * rng.normal(size=500)),
    }[tail]
    n, sd, z = len(x), x.std(ddof=1), x[:, None] - x
    scale = min(sd, np.subtract(*np.quantile(x, [0.75, 0.25])) / 1.3489795)

    def psi(order, g):
        t = (z / g) ** 2
        p = t**2 - 6 * t + 3 if order == 4 else t**3 - 15 * t**2 + 45 * t - 15
        return (p * np.exp(-t / 2)).sum() / (n**2 * math.sqrt(2 * math.pi) * g ** (order + 1))

    psi8 = 105 / (32 * math.sqrt(math.pi) * scale**9)
    g2 = (-6 / (math.sqrt(2 * math.pi) * psi(6, (30 / (math.sqrt(2 * math.pi) * psi8 * n)) ** (1 / 9)) * n)) ** (1 / 7)
    want = (2 * math.sqrt(math.pi) * psi(4, g2) * n) ** -0.2
    assert bandwidth.plugin(x, kernel="gaussian") * sd == pytest.approx(want, rel=1e-3)  # observed 2e-4
    if tail == "one":
        near = np.r_[x[:-1], 30.0]  # resolved by 4096 bins in all
        want = bandwidth.isj(near, kernel="gaussian") * near.std(ddof=1)
        assert bandwidth.isj(x, kernel="gaussian") * sd == pytest.approx(want, rel=0.005)
