"""Data, weights, fixed values, bounds and starts as users pass them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import numbastats as ns
from tests.stable.naive import OnDevice, draw

fit = ns.stable.fit


def test_weights_are_repetitions():
    x = draw(1.6, 0.2, 300)
    counts = np.random.default_rng(1).integers(0, 4, x.size)
    a, b = fit(np.repeat(x, counts)), fit(x, weights=counts)
    np.testing.assert_allclose(b.params, a.params, rtol=1e-4)
    np.testing.assert_allclose(b.loglik, a.loglik, rtol=1e-9)
    np.testing.assert_allclose(b.se, a.se, rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-150, 1e-4, 1e12, 1e303])
def test_the_unit_of_weights_does_not_matter(unit):
    x, weights = draw(1.6, 0.2, 300), np.random.default_rng(2).uniform(0.5, 2.0, 300)
    a, b = fit(x, weights=weights), fit(x, weights=unit * weights)
    np.testing.assert_allclose(b.params, a.params, rtol=1e-10)  # observed 9e-12
    np.testing.assert_allclose([b.loglik, *(unit * b.se**2)], [unit * a.loglik, *a.se**2], rtol=1e-9)  # 7e-12
    assert type(b.loglik) is float


def test_weights_whose_sum_is_no_number():
    x = draw(1.6, 0.2, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit(x, weights=np.full(300, 1e308))
    np.testing.assert_allclose(found.params, fit(x, weights=np.ones(300)).params, rtol=1e-9)


def test_values_of_next_to_no_weight_do_not_matter():
    x = draw(0.3, 0.5, 400)
    cluster = 100.0 + 1e-6 * np.arange(500)
    weights = np.append(np.ones(400), np.full(500, 1e-12))
    one, other = fit(x, "small"), fit(np.append(x, cluster), "small", weights=weights)
    np.testing.assert_allclose(other.params, one.params, rtol=1e-10)  # observed 3e-12


def test_awkward_data():
    few = fit(draw(1.5, 0.0, 12))
    assert "few points" in few.message
    far = np.append(draw(1.5, 0.0, 300), [1e250, -1e200])
    assert np.isfinite(fit(far).params).all()
    tiny = fit(1e-200 * draw(1.5, 0.0, 300))
    assert 1e-201 < tiny.params[3] < 1e-198
    with pytest.warns(UserWarning, match="tied"):
        fit(np.round(draw(0.3, 0.0, 300), 0))
    x = draw(1.5, 0.0, 100)
    same = fit(np.append(x, [np.nan, np.nan]))
    np.testing.assert_array_equal(same.params, fit(x).params)
    assert same.n_missing == 2 and "2 missing" in repr(same) and "missing" not in repr(fit(x))
    for policy in ("omit", "raise"):  # infinite values are not missing
        with pytest.raises(ValueError, match="1 value that is infinite, the first at index 101"):
            fit(np.append(x, [1.0, np.inf]), nan_policy=policy)
    with pytest.raises(ValueError, match=r"shape \(10, 10\).*fit_many\(x\.T\).*x\.ravel\(\)"):  # pooled before
        fit(x.reshape(10, 10))
    np.testing.assert_array_equal(fit(np.ma.array(np.append(x, 1e9), mask=[False] * 100 + [True])).params, fit(x).params)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda x: x[:4], {}, "at least 5"),
        (lambda x: np.append(x, [np.nan, np.nan]), dict(nan_policy="raise"), "2 values that are missing"),
        (lambda x: np.append(x, [np.inf, -np.inf]), {}, "2 values that are infinite"),
        (lambda x: np.where(np.arange(x.size) < 80, 1.0, x), {}, "no spread"),
        (None, dict(method="mle"), "'ml'"),
        (None, dict(param="S2"), "'S1'"),
        (None, dict(se="robust"), "'observed'"),
        (None, dict(nan_policy="propagate"), "'omit'"),
        (None, dict(fixed={"alpha": 2.5}), r"\(0, 2\]"),
        (None, dict(fixed={"beta": -1.1}), r"\[-1, 1\]"),
        (None, dict(fixed={"scale": 0.0}), "positive"),
        (None, dict(fixed={"gamma": 1.0}), "may hold"),
        (None, dict(fixed={"loc": 0.0, "alpha": 1}, param="S1"), "S0"),
        (None, dict(bounds={"alpha": (1.5, 1.0)}), "bounds"),
        (None, dict(bounds={"scale": (0.0, 1.0)}), "bounds"),
        (None, dict(bounds={"alpha": (1.5,)}), "pair"),
        (None, dict(bounds={"beta": 0.5}), "pair"),
        (None, dict(start=(1.5, 0.0, 0.0)), "start"),
        (None, dict(start=(1.5, 0.0, 0.0, -1.0)), "start"),
        (None, dict(weights=np.ones(3)), "weights"),
        (None, dict(weights=-np.ones(100)), "weights"),
    ],
)
def test_bad_input(change, options, message):
    x = draw(1.5, 0.0, 100)
    with pytest.raises(ValueError, match=message):
        fit(x if change is None else change(x), **options)
    for wrong in (None, "1.5", [1.5, 1.6]):
        with pytest.raises(TypeError, match="not a number"):
            fit(x, fixed={"alpha": wrong})


def test_bounds():
    x = draw(1.5, 0.3, 300)
    found = fit(x, bounds={"alpha": (1.0, 1.4), "beta": (-0.2, 0.1)})
    assert found.params[0] <= 1.4 and found.params[1] <= 0.1 and found.converged


@pytest.mark.parametrize("method", ["ml", "ecf", "grid"])
def test_fixed_values_are_returned_as_given(method):
    """They went through the standardised data: a loc of 0 came back as -3e-17, one far from the data with an error of 1e-8."""
    x = draw(1.5, 0.3, 100)
    fixed = dict(alpha=1.3, loc=0.0, scale=1.1)
    found = fit(x, method, fixed=fixed)
    assert found.params[[0, 2, 3]].tolist() == [1.3, 0.0, 1.1] and found.start[[0, 2, 3]].tolist() == [1.3, 0.0, 1.1]
    assert fit(x, method, fixed=dict(fixed, beta=0.0), param="S1").params.tolist() == [1.3, 0.0, 0.0, 1.1]


@pytest.mark.parametrize("method", ["ml", "quantile", "ecf", "small", "grid"])
def test_values_beyond_the_doubles_in_units_of_their_spread(method):
    """NaN parameters and six kinds of warnings before."""
    with pytest.raises(ValueError, match="1 of the values"):
        fit(np.append(1e-300 * draw(1.5, 0.0, 100), 1e300), method)
    found = fit(np.append(draw(1.5, 0.0, 100), 1.7e308), method)  # within them, not by steps with smaller scales
    assert np.isfinite(found.params).all() and np.isfinite(found.loglik)


def test_weights_of_dropped_values_do_not_matter():
    x = draw(1.5, 0.0, 50)
    found = fit(np.append(x, np.nan), "ecf", weights=np.append(np.ones(50), np.nan), nan_policy="omit")
    np.testing.assert_array_equal(found.params, fit(x, "ecf", weights=np.ones(50)).params)
    with pytest.raises(ValueError, match="weights must be finite"):
        fit(x, weights=np.append(np.ones(49), np.nan))
    with pytest.raises(ValueError, match=r"use a pair \(low, high\)"):
        fit(x, bounds={"alpha": (None, 1.9)})


@pytest.mark.parametrize(("alpha", "n"), [(0.3, 25), (0.6, 40), (1.5, 200)])
@pytest.mark.parametrize("method", ["ml", "quantile", "ecf", "small"])
def test_order_of_the_data_does_not_matter(alpha, n, method):
    """For small alpha the likelihood has many maxima, and the last bits of a sum decided between them."""
    rng = np.random.default_rng(3)
    x, w = ns.stable.rvs(alpha, 0.4, size=n, rng=2), rng.integers(1, 5, n).astype(float)
    if (method, alpha) in (("quantile", 0.3), ("small", 1.5)):  # they say that they end elsewhere
        warnings.simplefilter("ignore", ns.ConvergenceWarning)
    for weights in (None, w):
        one = fit(x, method, weights=weights)
        for order in (np.argsort(-x), rng.permutation(n)):
            two = fit(x[order], method, weights=None if weights is None else weights[order])
            assert np.array_equal(one.params, two.params) and one.loglik == two.loglik
            assert np.array_equal(one.cov, two.cov, equal_nan=True)


def test_weighted_quantiles():
    """Each value stands in the middle of its weight: by hand, and by repeating values."""
    quantiles = ns.stable.arguments.weighted_quantiles
    x, w = np.array([0.0, 1.0, 3.0, 7.0]), np.array([1.0, 2.0, 1.0, 4.0])
    # middles of the weights at 0.5, 2, 3.5, 6 of 8
    np.testing.assert_allclose(quantiles(x, w, (1 / 16, 1 / 4, 7 / 16, 3 / 4, 1 / 3)), [0, 1, 3, 7, 1 + 2 * (8 / 3 - 2) / 1.5])
    y = np.sort(np.random.default_rng(4).normal(size=400))
    np.testing.assert_allclose(
        quantiles(y, np.full(400, 3.0), (0.05, 0.5, 0.9)), np.quantile(y, (0.05, 0.5, 0.9), method="hazen")
    )


def test_arrays_of_a_device_are_fitted():
    x = draw(1.5, 0.3, 200).reshape(2, 100)
    w = np.arange(1.0, 201.0)
    for method in ("ml", "quantile"):
        found = fit(OnDevice(x.ravel()), method, weights=OnDevice(w))
        np.testing.assert_array_equal(found.params, fit(x.ravel(), method, weights=w).params)
    many = ns.stable.fit_many(x)
    offsets = np.array([0, 100, 200])
    for data in (OnDevice(x), [OnDevice(r) for r in x], (OnDevice(x.ravel()), OnDevice(offsets))):
        np.testing.assert_array_equal(ns.stable.fit_many(data).params, many.params)
