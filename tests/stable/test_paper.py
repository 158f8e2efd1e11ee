"""The reference's quadrature and contracting grid, and the Fourier rule by itself."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns
from numbastats import stable
from tests.stable.naive import SERIAL, draw, relative

fit = ns.stable.fit


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


@pytest.mark.parametrize("profile", [False, True])
def test_the_contracting_grid(profile):
    x = draw(1.5, 0.4, 300)
    best, grid = fit(x), fit(x, "grid", profile=profile)
    assert grid.converged and grid.n_iter > 5
    assert best.loglik - (1.0 if profile else 1e-3) < grid.loglik <= best.loglik + 1e-6
    if not profile:
        np.testing.assert_allclose(grid.params, best.params, atol=0.02)


def test_the_grid_begins_within_the_support():
    x = ns.stable.rvs(1.6, 0.4, 3.0, 2.0, size=300, rng=1)
    assert fit(x, "grid", fixed=dict(alpha=0.5, beta=1.0)).loglik == pytest.approx(-1595.2756, abs=1e-3)
