"""Families that are functions of others: what they are, their limits, and fits beside SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from numbastats.distributions import GEV, GPD, Frechet, LogLogistic, Lomax, Pareto, fit
from numbastats.distributions.fitting import CLASSES

FITS = {  # parameters to draw from, and what SciPy's fit is told
    "pareto": ((2.5, 0.0, 3.0), {"floc": 0.0}),
    "lomax": ((2.5, 0.0, 3.0), {"floc": 0.0}),
    "log_logistic": ((3.0, 0.0, 2.0), {"floc": 0.0}),
    "inverse_gamma": ((3.0, 0.0, 2.0), {"floc": 0.0}),
    "frechet": ((2.5, 0.0, 2.0), {"floc": 0.0}),
    "gumbel_min": ((1.0, 2.0), {}),
}
BRIEFLY = ("pareto",)  # each compiles for 10 s


def peer_of(family):
    aliases = CLASSES[family].aliases
    return getattr(scipy.stats, aliases[0] if aliases else family)


@pytest.mark.parametrize("family", [f if f in BRIEFLY else pytest.param(f, marks=pytest.mark.slow) for f in FITS])
def test_fits_beside_scipy(family):
    """Of simulated series of 500 values: at least as likely, and within four standard errors of the truth."""
    truth, known = FITS[family]
    peer = peer_of(family)
    for seed in range(3):
        x = CLASSES[family](*truth).rvs(500, rng=seed)
        found = fit(x, family)
        assert found.converged and found.loglik == pytest.approx(found.distribution.logpdf(x).sum(), rel=1e-12)
        assert found.loglik > peer.logpdf(x, *peer.fit(x, **known)).sum() - 1e-7
        for value, se, true in zip(found.params.values(), found.se.values(), truth, strict=True):
            assert se == 0.0 or math.isnan(se) or abs(value - true) < 4.0 * se


def test_what_settles_at_the_least_value():
    """The likeliest Pareto distribution in closed form."""
    x = np.array([2.0, 3.0, 7.0, 2.5, 40.0, 9.0])
    found = fit(x, "pareto")
    shape = 6.0 / np.log(x / 2.0).sum()
    assert found.params == {"shape": pytest.approx(shape, rel=1e-9), "loc": 0.0, "scale": 2.0} and "least" in found.message
    assert found.se["shape"] == pytest.approx(shape / math.sqrt(6.0), rel=1e-6)
    assert found.bic == pytest.approx(2.0 * math.log(6.0) - 2.0 * scipy.stats.pareto.logpdf(x, shape, 0.0, 2.0).sum())
    with pytest.warns(UserWarning, match="outside the support"):
        assert fit(np.r_[x, -1.0], "pareto").status == 6


def test_families_by_two_names():
    x = np.array([0.01, 0.7, 3.0, 1e5])
    for d, same in (
        (Lomax(2.5, 0.0, 3.0), GPD(0.4, 0.0, 1.2)),
        (Pareto(2.5, -3.0, 3.0), GPD(0.4, 0.0, 1.2)),
        (Frechet(4.0, 0.0, 8.0), GEV(0.25, 8.0, 2.0)),
    ):
        for name in ("logpdf", "logcdf", "logsf"):
            np.testing.assert_allclose(getattr(d, name)(x), getattr(same, name)(x), rtol=1e-11)
        np.testing.assert_allclose(d.entropy(), same.entropy(), rtol=1e-13)
        np.testing.assert_allclose((d.mean(), d.var()), (same.mean(), same.var()), rtol=1e-13)


def test_values_at_the_ends():
    np.testing.assert_allclose(LogLogistic([0.5, 1.0, 2.0]).pdf(0.0), [math.inf, 1.0, 0.0])
    np.testing.assert_array_equal(Lomax([0.5, 2.0]).pdf(0.0), [0.5, 2.0])
    np.testing.assert_array_equal(Frechet([0.01, 2.0]).pdf(0.0), 0.0)
