"""The bridge `interop.levy_stable` against `scipy.stats.levy_stable`."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from numbastats import stable
from tests.stable.naive import INF, NAN


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


@pytest.mark.slow
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
        ((2.0, 0.0, 3.0, 5.0), 0.5 * math.log(100 * math.pi * math.e)),
        ((1.0, 0.0, 0.0, 1e-9), math.log(4e-9 * math.pi)),
        ((0.5, -1.0), (1 + 3 * np.euler_gamma + math.log(16 * math.pi)) / 2),
    ):
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


def test_expectations_under_heavy_tails():
    from numbastats.interop import levy_stable as bridge

    cauchy, heavy = bridge(1.0, 0.0, 1.0, 2.0), bridge(0.3, 0.0)
    assert cauchy.expect(lambda x: 1 / (1 + x * x)) == pytest.approx(0.3, rel=1e-10)
    assert cauchy.expect(lambda x: 1.0, lb=5.0, conditional=True) == pytest.approx(1.0, rel=1e-10)
    want = math.gamma(1 - 0.1 / 0.3) / (math.gamma(0.9) * math.cos(0.05 * math.pi))  # E |X|^p, p = 0.1
    assert heavy.expect(lambda x: abs(x) ** 0.1) == pytest.approx(want, rel=1e-8)


def test_unknown_moments_are_refused():
    with pytest.raises(ValueError, match="moments='x'"):
        ns.interop.levy_stable.stats(1.5, 0.0, moments="mx")
