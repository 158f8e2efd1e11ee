"""The score against derivatives of 40-digit integrals and closed forms."""

from __future__ import annotations

import math
import sys
import types

import mpmath
import numpy as np
import pytest

import numbastats as ns
from numbastats import stable
from tests.stable.naive import INF, NAN, SERIAL, OnDevice


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


def test_score_of_arrays_of_a_device(monkeypatch):
    cupy = types.ModuleType("cupy")
    cupy.asarray = OnDevice
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    x = np.linspace(-2.0, 2.0, 5)
    got = ns.stable.score(OnDevice(x), 1.5, OnDevice(0.3))
    assert isinstance(got, OnDevice)
    np.testing.assert_array_equal(got.get(), ns.stable.score(x, 1.5, 0.3))
