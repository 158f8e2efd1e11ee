"""The drop-ins of `interop` against SciPy's distributions of the same names: parameters, calls, tails that SciPy loses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.stats

from numbastats import interop

X = np.array([-1.9, -0.3, 0.4, 1.7])
CASES = [
    ("norm", ()),
    ("t", (4.5,)),
    ("truncnorm", (-1.0, 2.0)),
    ("norminvgauss", (2.6, 0.65)),
    ("genhyperbolic", (1.5, 2.6, 0.65)),
]


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_calls_of_scipy(name, shapes):
    ours, peer = getattr(interop, name), getattr(scipy.stats, name)
    assert isinstance(ours, scipy.stats.rv_continuous) and ours.shapes == peer.shapes and ours.numargs == len(shapes)
    for function in ("pdf", "logpdf", "cdf", "sf"):
        want = getattr(peer, function)(X, *shapes, 0.2, 1.3)
        np.testing.assert_allclose(getattr(ours, function)(X, *shapes, 0.2, 1.3), want, rtol=1e-7)
        np.testing.assert_allclose(getattr(ours, function)(X, *shapes, loc=0.2, scale=1.3), want, rtol=1e-7)
        np.testing.assert_allclose(getattr(ours(*shapes, loc=0.2, scale=1.3), function)(X), want, rtol=1e-7)
    for q in (0.01, 0.6):
        np.testing.assert_allclose(ours.ppf(q, *shapes), peer.ppf(q, *shapes), rtol=1e-6)
        np.testing.assert_allclose(ours.isf(q, *shapes), peer.isf(q, *shapes), rtol=1e-6)
    np.testing.assert_allclose(ours.stats(*shapes, moments="mv"), peer.stats(*shapes, moments="mv"), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.stats(*shapes, moments="sk"), peer.stats(*shapes, moments="sk"), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.entropy(*shapes, 0.2, 1.3), peer.entropy(*shapes, 0.2, 1.3), rtol=1e-8)
    for order in range(1, 5):
        want = peer.moment(order, *shapes, loc=0.2, scale=1.3)
        np.testing.assert_allclose(ours.moment(order, *shapes, loc=0.2, scale=1.3), want, rtol=1e-6)
    assert ours.support(*shapes) == peer.support(*shapes)
    draws = ours.rvs(*shapes, size=500, random_state=1)
    assert scipy.stats.kstest(draws, ours(*shapes).cdf).pvalue > 1e-3
    assert pickle.loads(pickle.dumps(ours(*shapes))).cdf(0.3) == ours(*shapes).cdf(0.3)


def test_tails():
    assert interop.norminvgauss.sf(1000.0, 1.5, 0.3) == 0.0 and interop.norminvgauss.logsf(1000.0, 1.5, 0.3) > -1300.0
    np.testing.assert_allclose(
        interop.truncnorm.sf(100.5, 100.0, np.inf), scipy.stats.truncnorm.sf(100.5, 100.0, np.inf), rtol=1e-10
    )
    x = interop.t.rvs(3.0, size=300, random_state=2)
    np.testing.assert_allclose(interop.t.fit(x, floc=0.0), scipy.stats.t.fit(x, floc=0.0), rtol=2e-3)
