"""The reference's quadrature and contracting grid, and the Fourier rule by itself."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns
from numbastats import stable
from tests.stable.naive import SERIAL, draw, relative

fit = ns.stable.fit


def test_gauss_kronrod_of_the_reference(device, rows):
    """Against 40 digits; 1.5e-7 off at alpha = 0.25, 3e-12 at 0.5, 1e-9 at 1.9 while shares next to the ends were kept."""
    cuda = device["device"] == "cuda"
    for a, count in ((0.75, 2), (1.5, 2), (0.1, 9), (0.25, 9), (0.5, 9), (1.25, 9), (1.9, 9))[: 2 if cuda else 7]:
        of = (rows["alpha"] == a) & (abs(rows["x"]) < 100.0) & (rows["logpdf"] > -230.0)
        b, x = rows["beta"][of], rows["x"][of]
        take = slice(0, None, x.size // 3) if cuda else slice(None)
        assert x.size >= count
        for name in ("pdf", "cdf", "sf"):
            value, estimate = getattr(stable, name)(x[take], a, b[take], method="gauss-kronrod", error=True, **device)
            exact = rows[name][of][take]
            error = relative(value, exact)
            light = abs(b[take]) == 1.0  # as e^-g is rounded for large g
            assert (error[~light] < 2e-14).all() and (error < 1e-12).all(), (name, a)
            assert (estimate < 1e-12 * exact).all()


def test_the_reference_estimates_its_error():
    """|G - K|, of the method that was asked for; the values of another came, with a floor of 5e-14 of them."""
    x = np.array([-3.0, -0.5, 0.3, 2.0, 40.0])
    for a, b in ((0.25, 0.5), (1.25, 0.5), (1.5, 1.0)):
        six = stable.pdf_cdf(x, a, b, method="gauss-kronrod", error=True)
        for name, value, estimate in zip(("pdf", "cdf", "sf"), six[:3], six[3:], strict=True):
            assert (value == getattr(stable, name)(x, a, b, method="gauss-kronrod")).all()
            assert (estimate <= 3e-14 * value).all() and estimate.min() < 1e-15  # 1e-16 observed; the floor was 4e-14
    for method in ("table", "fourier"):
        with pytest.raises(ValueError, match=f"error=True has no estimate for method='{method}'; use 'auto'"):
            stable.pdf(x, 1.5, 0.5, method=method, error=True)
    with pytest.raises(ValueError, match="out=None"):
        stable.pdf(x, 1.5, 0.5, method="gauss-kronrod", error=True, out=np.empty_like(x))


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


def test_reference_quadrature_where_its_nodes_meet_no_step():
    """Next to alpha = 1 the integrand of the distribution function is a step, and far out it lies at the end of the range."""
    x = np.array([-5.0, -0.77, -0.1, 0.3, 1.7, 30.0])
    for alpha in (1.0 + 2e-9, 1.0 - 1e-7, 1.00001):
        got = stable.cdf(x, alpha, 0.0, method="gauss-kronrod")
        np.testing.assert_allclose(got, 0.5 + np.arctan(x) / np.pi, rtol=2e-5)  # Cauchy, to alpha - 1
        np.testing.assert_allclose(got, stable.cdf(x, alpha, 0.0, method="quadrature"), rtol=1e-14)  # observed 4e-15
    far = np.array([1e3, 1e4, 5e4])
    for beta in (1.0, 0.5):
        got = stable.sf(far, 1.0, beta, method="gauss-kronrod")
        np.testing.assert_allclose(got, (1.0 + beta) / (np.pi * far), rtol=2e-2)  # the tail's power
        np.testing.assert_allclose(got, stable.sf(far, 1.0, beta, method="quadrature"), rtol=1e-14)
