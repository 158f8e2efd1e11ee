"""Fits to intervals where exact data have a location or scale at a value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from numbastats.distributions import fit, fit_many
from numbastats.distributions.fitting import CLASSES

pytestmark = pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")

WAYS = {
    "uniform": ({}, {}, ("loc", "scale")),
    "half_normal": ({"loc": None}, {}, ("loc", "scale")),
    "exponential": ({"loc": None}, {}, ("loc", "scale")),
    "laplace": ({}, {}, ("loc", "scale")),
    "pareto": ({"loc": 0.0}, {"loc": 0.0}, ("shape", "scale")),
    "beta": ({"b": 1.0, "scale": None}, {"b": 1.0, "loc": 0.0}, ("a", "scale")),  # a power function
}


def _loglik(family, params, lo, hi):
    d = CLASSES[family](**params)
    with np.errstate(all="ignore"):
        return np.log(np.where(lo == hi, d.pdf(lo), d.cdf(hi) - d.cdf(lo))).sum()


@pytest.mark.parametrize("family", WAYS)
@pytest.mark.parametrize("width", [0.1, 0.5])
@pytest.mark.parametrize("kind", ["rounded", "mixed"])
def test_the_place_is_the_likeliest(family, width, kind):
    """Beside a simplex search of an own likelihood, from the fit and from elsewhere."""
    rng = np.random.default_rng(len(family))
    x = 1.0 + rng.exponential(size=14)
    lo = np.floor(x / width) * width
    hi = lo + width
    if kind == "mixed":  # exact values, and some that are known to be larger
        lo, hi = np.where(rng.random(14) < 0.2, x, lo), np.where(rng.random(14) < 0.2, math.inf, hi)
        hi = np.where(lo == x, x, hi)
    fixed, known, names = WAYS[family]
    found = fit(None, family, censored=(lo, hi), fixed=fixed)
    assert found.status == 0 and found.loglik == pytest.approx(_loglik(family, found.params, lo, hi), abs=1e-8)

    def height(u):
        try:
            value = _loglik(family, known | dict(zip(names, u, strict=True)), lo, hi)
        except ValueError:
            return 1e9
        return -value if value > -1e9 else 1e9

    at = np.array([found.params[name] for name in names])
    for start in (at, at + [0.1, -0.03], at + [-0.05, 0.2]):
        searched = minimize(height, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 4000})
        assert -searched.fun <= found.loglik + 1e-8


@pytest.mark.parametrize("family", WAYS)
def test_narrow_intervals_weights_and_batches(family):
    rng, fixed = np.random.default_rng(8), WAYS[family][0]
    x = 1.0 + rng.exponential(size=(3, 25))
    plain = fit_many(x, family, fixed=fixed)
    for width in (0.0, 1e-9):
        ends = x - 0.5 * width, x + 0.5 * width
        narrow = fit_many(None, family, censored=ends, fixed=fixed)
        np.testing.assert_allclose(narrow.params, plain.params, rtol=2e-5)  # the likelihood, to 1e-10
        shift = 25 * math.log(width) if width else 0.0
        np.testing.assert_allclose(narrow.loglik - shift, plain.loglik, rtol=1e-5)
    lo = np.floor(10.0 * x) / 10.0
    rounded = fit_many(None, family, censored=(lo, lo + 0.1), fixed=fixed)
    assert (rounded.status == 0).all() and (rounded.remarks == "at a value").all()
    w = rng.integers(1, 3, 25)
    for i in range(3):
        alone = fit(None, family, censored=(lo[i], lo[i] + 0.1), fixed=fixed)
        assert alone.loglik == rounded.loglik[i] and list(alone.params.values()) == rounded.params[i].tolist()
        weighted = fit(None, family, censored=(lo[i], lo[i] + 0.1), fixed=fixed, weights=w)
        twice = np.repeat(lo[i], w)
        assert weighted.loglik == pytest.approx(fit(None, family, censored=(twice, twice + 0.1), fixed=fixed).loglik, rel=1e-9)


def test_intervals_open_below():
    """Values that are known to be small have no least lower end."""
    x = np.array([0.4, 0.9, 1.3, 2.2, 3.1])
    lo, hi = np.array([-math.inf, *x]), np.array([1.0, *x])
    found = fit(None, "half_normal", censored=(lo, hi), fixed={"loc": None})
    assert found.status == 0 and found.loglik == pytest.approx(_loglik("half_normal", found.params, lo, hi), rel=1e-12)
    lower = fit(None, "uniform", censored=(np.full(4, -math.inf), np.array([1.0, 2.0, 3.0, 4.0])))
    assert not lower.converged  # nothing says where they begin


def test_intervals_below_the_support():
    assert fit(None, "pareto", censored=([-3.0, -2.0, -2.5], [-2.5, -1.0, -2.0])).status == 6


def test_truncated_ends_are_refused():
    with pytest.raises(ValueError, match="fixed={'loc': ...}"):
        fit([1.0, 2.0, 3.0], "exponential", fixed={"loc": None}, truncated=(0.5, None))
    with pytest.raises(ValueError, match="without truncation"):
        fit([1.0, 2.0, 3.0], "uniform", truncated=(0.5, None))


@pytest.mark.parametrize(
    ("family", "limit"),
    [("generalized_normal", "uniform"), ("skew_normal", "half_normal"), ("ex_gaussian", "exponential"), ("burr_xii", "pareto")]
    + [("generalized_gamma", "beta"), ("generalized_normal", "laplace")],
)
@pytest.mark.parametrize("width", [0.1, 0.4])
def test_limits_of_intervals(family, limit, width):
    """The fits ended with status 3, 0 or 1 below what they contain, which was not fitted."""
    rng = np.random.default_rng(11)
    draws = {"uniform": rng.uniform(0.0, 3.0, 30), "pareto": 1.0 + rng.pareto(2.0, 30), "beta": 3.0 * rng.random(30) ** 0.5}
    x = np.abs(draws.get(limit, rng.exponential(size=30)))
    lo = np.floor(x / width) * width
    fixed = {"uniform": {}, "laplace": {}, "pareto": {}, "beta": WAYS["beta"][0]}.get(limit, {"loc": None})
    found, within = fit(None, family, censored=(lo, lo + width)), fit(None, limit, censored=(lo, lo + width), fixed=fixed)
    assert found.status in (0, 2) and found.loglik >= within.loglik - 1e-7
    if found.limit == limit:
        assert found.loglik == pytest.approx(within.loglik, abs=1e-9)
        assert found.limit_params == pytest.approx(found.limit_params | within.params, rel=1e-9)
