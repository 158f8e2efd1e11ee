"""Estimation of stable laws: recovery, optimality, equivariance, standard errors, bad input."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import numbastats as ns

fit = ns.stable.fit
NAMES = ns.stable.arguments.NAMES


def draw(alpha, beta, n=1000, seed=1, loc=7.0, scale=3.0):
    return ns.stable.rvs(alpha, beta, loc, scale, n, rng=seed)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(1.5, 0.5), (1.2, 0.0), (1.8, -0.5), (1.0, 0.3), (0.9, -0.6), (0.6, 0.5), (1.05, 0.9), (1.95, 0.0)]
)
def test_maximum_likelihood_recovers_the_law(alpha, beta):
    truth = np.array([alpha, beta, 7.0, 3.0])
    for seed in (1, 2):
        x = draw(alpha, beta, seed=seed)
        found = fit(x)
        assert found.converged and found.message == "ok" and found.method == "ml"
        assert (abs(found.params - truth) < 4.0 * found.se).all()
        assert found.loglik >= ns.stable.loglik(x, *truth)
        np.testing.assert_allclose(found.loglik, ns.stable.loglik(x, *found.params), rtol=1e-12)
        # the score vanishes, judged by the information
        D = ns.stable.score(x, *found.params)
        g = D.sum(axis=0)
        assert g @ np.linalg.solve(D.T @ D, g) < 1e-5


@pytest.mark.parametrize(("alpha", "beta"), [(1.4, 0.3), (0.8, -0.4)])
def test_another_optimiser_finds_nothing_better(alpha, beta):
    x = draw(alpha, beta, 400)
    found = fit(x)
    loss = lambda p: -ns.stable.loglik(x, p[0], p[1], p[2], p[3]) if 0.1 < p[0] < 2 and abs(p[1]) < 1 and p[3] > 0 else 1e9  # noqa: E731
    simplex = found.params + np.vstack([np.zeros(4), np.diag(0.3 * found.se)])
    best = scipy.optimize.minimize(loss, found.params, method="Nelder-Mead", options=dict(initial_simplex=simplex, maxfev=400))
    assert -best.fun <= found.loglik + 1e-6


@pytest.mark.parametrize(("alpha", "beta", "sd"), [(0.2, 0.9, 0.007), (0.3, -0.5, 0.009), (0.45, 0.0, 0.016)])
def test_small_alpha(alpha, beta, sd):
    """Where the reference cannot fit at all; `sd` is the spread of the simple estimator for 1000 values."""
    x = draw(alpha, beta)
    found = fit(x)
    assert found.converged and abs(found.params[0] - alpha) < 4 * sd and abs(found.params[1] - beta) < 0.1
    assert abs(found.params[2] - 7.0) < 5 * found.se[2] and abs(math.log(found.params[3] / 3.0)) < 0.4
    assert (abs(found.params - [alpha, beta, 7.0, 3.0]) < 4.5 * found.se).all()
    simple = ns.stable.fit_small_alpha(x)
    assert abs(simple.params[0] - alpha) < 4 * sd and found.loglik > simple.loglik


@pytest.mark.parametrize(
    ("alpha", "beta", "n", "seed"),
    [
        (0.25, 1.0, 400, 794570669),
        (0.25, 0.97, 400, 716030591),
        (0.25, 1.0, 100, 240456877),
        (0.42, 0.97, 100, 1014225845),
        (0.25, 0.6, 100, 1018862905),
        (0.7, 1.0, 30, 856805613),
    ],
)
def test_the_cusp_of_a_skewed_law_is_not_at_the_mode(alpha, beta, n, seed):
    x = ns.stable.rvs(alpha, beta, size=n, rng=seed)
    assert fit(x).loglik > ns.stable.loglik(x, alpha, beta)


@pytest.mark.parametrize(
    ("alpha", "beta", "n", "seed", "law"),  # laws in S1 with the mode at other observations than searches among gaps found
    [
        (0.15, 0.97, 100, 2100, (0.14677782818369253, 0.9789758340721256, -0.23283929102467, 1.1421460841535245)),
        (0.15, 0.97, 400, 8400, (0.1496876511435254, 0.9689376112277653, -0.23281332457314047, 0.9317599873456484)),
        (0.2, 0.97, 400, 9400, (0.19516982543834746, 0.9839697844921999, -0.3145715339186802, 1.4300251591880382)),
        (0.25, 0.97, 400, 19400, (0.2604228263965284, 0.9447412958276133, -0.39863042653467906, 1.3084579764782742)),
        (0.2, 0.5, 100, 12100, (0.17052711378134172, 0.7064032635566061, -0.16267644860379832, 1.241077747760779)),
        (0.3, 0.9, 100, 15100, (0.2914585184330872, 0.9324398834309721, -0.4542680786489208, 1.223789659475045)),
        (0.4, 1.0, 100, 18100, (0.40361706505286976, 1.0, -0.6889310069425362, 0.8394805010746036)),
        (0.4, 0.5, 100, 8100, (0.40062643909068313, 0.6415064361109466, -0.37673879965040064, 1.1611768393309856)),
    ],
)  # fmt: skip
def test_the_mode_at_the_right_observation(alpha, beta, n, seed, law):
    """The densities are those of quadrature, law by law."""
    x = ns.stable.rvs(alpha, beta, size=n, rng=seed)
    known = ns.stable.logpdf(x, *law, param="S1", method="quadrature").sum()
    found = fit(x)
    assert found.converged and found.loglik > known - 1e-6  # observed -4e-12 and 8e-11
    assert abs(found.loglik - ns.stable.logpdf(x, *found.params, method="quadrature").sum()) < 1e-9


def test_few_points_of_a_small_alpha():
    """With the mode at an observation the likelihood rises to the lower limit of alpha: it is held elsewhere, and said to be."""
    for seed in (0, 2, 3, 4, 5, 6, 8):
        x = np.sort(ns.stable.rvs(0.3, 0.5, size=12, rng=seed + 10**6))
        found = fit(x)
        loc = ns.stable.convert(*found.params, to="S1")[2]
        assert "the mode is held between observations" in found.message
        assert found.converged and found.params[0] > 0.15 and abs(x - loc).min() > 0.0
        assert abs(found.loglik - ns.stable.logpdf(x, *found.params, method="quadrature").sum()) < 1e-9  # observed 5e-12
    free = fit(ns.stable.rvs(0.3, 0.5, size=12, rng=1 + 10**6))  # likelier than any law with the mode held
    assert free.converged and "held" not in free.message


def test_ties_of_a_small_alpha():
    """Rounded data do not draw the mode to a tie, and alpha to its limit."""
    x = np.round(ns.stable.rvs(0.4, 0.3, size=400, rng=3), 1)
    with pytest.warns(UserWarning, match="tied"):
        found = ns.stable.fit(x, workers=1)
    assert found.converged and found.loglik > ns.stable.loglik(x, 0.4, 0.3)
    assert (abs(found.params[:2] - [0.4, 0.3]) < 3 * found.se[:2]).all()  # observed 1.1 and 2.1


def test_a_small_alpha_is_not_made_of_a_large_one():
    with pytest.warns(ns.ConvergenceWarning, match="this method ends at 0.99"):
        found = ns.stable.fit_small_alpha(draw(1.7, 0.0))
    assert "this method ends at 0.99" in found.message and not found.converged
    assert "this method" not in ns.stable.fit_small_alpha(draw(0.4, 0.0)).message


def test_simple_estimators_are_consistent():
    for alpha, beta in ((1.7, 0.3), (1.3, -0.6), (0.8, 0.4)):
        x = draw(alpha, beta, 40_000)
        quantile, ecf = ns.stable.fit_quantile(x), ns.stable.fit_ecf(x)
        np.testing.assert_allclose(quantile.params, [alpha, beta, 7.0, 3.0], atol=0.12)
        np.testing.assert_allclose(ecf.params, [alpha, beta, 7.0, 3.0], atol=0.15)
        assert quantile.method == "quantile" and np.isnan(quantile.se).all()
    for alpha, beta in ((0.2, 0.5), (0.4, -0.3)):
        small = ns.stable.fit_small_alpha(draw(alpha, beta, 40_000))
        assert abs(small.params[0] - alpha) < 0.02 and abs(small.params[1] - beta) < 0.1
        assert abs(math.log(small.params[3] / 3.0)) < 0.2  # a standard error of 0.03 at alpha = 0.2


def test_exact_quantiles_give_the_law():
    """McCulloch's inversion is the inverse of the quantile function, off its grid as well."""
    from numbastats.stable.simple_estimators import by_quantiles

    p = (np.arange(20_001) + 0.5) / 20_001
    for alpha, beta in ((1.63, 0.37), (0.87, -0.83), (1.0, 0.5), (1.47, 0.0)):
        x = 2.0 * ns.stable.ppf(p, alpha, beta) - 1.0
        a, b, m, s = by_quantiles(x)
        np.testing.assert_allclose([a, b, m, s], [alpha, beta, -1.0, 2.0], atol=6e-3)  # observed 2.0e-3


@pytest.mark.parametrize("profile", [False, True])
def test_the_contracting_grid(profile):
    x = draw(1.5, 0.4, 300)
    best, grid = fit(x), fit(x, "grid", profile=profile)
    assert grid.converged and grid.n_iter > 5
    assert best.loglik - (1.0 if profile else 1e-3) < grid.loglik <= best.loglik + 1e-6
    if not profile:
        np.testing.assert_allclose(grid.params, best.params, atol=0.02)


def test_equivariance_and_parameterisations():
    x = draw(1.3, 0.6, 500)
    a, b = fit(x), fit(5.0 - 1e-6 * x)
    np.testing.assert_allclose(b.params, [a.params[0], -a.params[1], 5.0 - 1e-6 * a.params[2], 1e-6 * a.params[3]], rtol=2e-4)
    np.testing.assert_allclose(b.se * [1, 1, 1e6, 1e6], a.se, rtol=1e-3)
    s1 = fit(x, param="S1")
    for scale in (1e-200, 1e-9, 1e200):  # squares that are no numbers, and steps of the delta method
        for found, param in ((a, "S0"), (s1, "S1")):
            scaled = fit(x * scale, param=param)
            np.testing.assert_allclose(scaled.se, found.se * [1, 1, scale, scale], rtol=1e-8)
    np.testing.assert_allclose(s1.params, [float(v) for v in ns.stable.convert(*a.params, to="S1")], rtol=1e-9)
    assert s1.law.pdf(1.0) == pytest.approx(a.law.pdf(1.0), rel=1e-9)
    assert s1.se[2] > a.se[2] and s1.se[0] == pytest.approx(a.se[0])
    restarted = fit(x, param="S1", start=s1.params)
    np.testing.assert_allclose(restarted.params, s1.params, rtol=1e-4)


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
    np.testing.assert_allclose(found.params, fit(x).params, rtol=1e-9)


def test_values_of_next_to_no_weight_do_not_matter():
    x = draw(0.3, 0.5, 400)
    cluster = 100.0 + 1e-6 * np.arange(500)
    weights = np.append(np.ones(400), np.full(500, 1e-12))
    one, other = fit(x, "small"), fit(np.append(x, cluster), "small", weights=weights)
    np.testing.assert_allclose(other.params, one.params, rtol=1e-10)  # observed 3e-12


def test_fixed_parameters():
    x = draw(1.0, 0.0, 500, loc=-2.0, scale=0.5)
    cauchy = fit(x, fixed={"alpha": 1.0, "beta": 0.0})
    loc, scale = scipy.stats.cauchy.fit(x)
    np.testing.assert_allclose(cauchy.params, [1.0, 0.0, loc, scale], rtol=1e-4)
    np.testing.assert_allclose(cauchy.se[2:], scale * math.sqrt(2 / 500), rtol=0.02)
    assert np.isnan(cauchy.se[:2]).all()
    whole = fit(x)
    assert cauchy.loglik <= whole.loglik
    for name, value in (("beta", 0.3), ("loc", -2.1), ("scale", 0.6)):
        held = fit(x, fixed={name: value})
        assert (
            held.params[ns.stable.arguments.NAMES.index(name)] == pytest.approx(value, rel=1e-12) and held.loglik <= whole.loglik
        )
    for method in ("quantile", "ecf", "small", "grid"):
        assert fit(x, method, fixed={"beta": 0.25}).params[1] == 0.25
    symmetric = {param: fit(x, fixed={"beta": 0.0, "loc": -2.1}, param=param) for param in ("S0", "S1")}  # the same law in both
    np.testing.assert_array_equal(symmetric["S1"].params, symmetric["S0"].params)
    for wrong in (dict(method="grid"), dict(fixed={"loc": 0.0, "alpha": 1.0}), dict(bounds={"alpha": (0.9995, 1.0004)})):
        with pytest.raises(ValueError, match="a fixed loc in S1 needs another method than 'grid', and alpha other than 1"):
            fit(x, **dict(dict(fixed={"loc": 0.0}, param="S1"), **wrong))
    everything = fit(x, fixed=dict(alpha=1.2, beta=0.1, loc=0.0, scale=2.0))
    assert everything.params.tolist() == [1.2, 0.1, 0.0, 2.0]


def test_known_end_of_a_support():
    """Lévy's law: the scale is n over the sum of 1/x; from 1e-200 to 1e200."""
    for unit in (1e-200, 1.0, 1e200):
        x = unit * draw(0.5, 1.0, 300, loc=2.0, scale=2.0)  # S0: the support begins at 0
        known = dict(alpha=0.5, beta=1.0, loc=0.0)
        found = fit(x, fixed=known, param="S1")
        assert found.converged and found.params[:3].tolist() == [0.5, 1.0, 0.0]
        scale = unit * x.size / (unit / x).sum()
        np.testing.assert_allclose(found.params[3], scale, rtol=1e-7)
        np.testing.assert_allclose(
            found.se[3], scale * math.sqrt(2.0 / x.size), rtol=1e-5
        )  # 1/(2 scale^2) per observation; at beta = 1 - 1e-6
        one = fit(x, fixed=dict(known, scale=scale), param="S1")
        assert one.loglik == pytest.approx(scipy.stats.levy.logpdf(x / unit, scale=scale / unit).sum() - x.size * math.log(unit))
        for method in ("quantile", "ecf", "small"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ns.ConvergenceWarning)  # the quantiles' alpha ends at 0.5
                simple = fit(x, method, fixed={"loc": 0.0}, param="S1")
            assert simple.params[2] == 0.0 and abs(simple.params[0] - 0.5) < 0.1, (method, simple.params)
    np.testing.assert_allclose(ns.interop.levy_stable.fit(x / unit, f0=0.5, f1=1.0, floc=0.0), [*found.params[:3], scale / unit])


@pytest.mark.parametrize(
    ("alpha", "beta", "known"),
    [
        (0.15, 0.4, {}), (0.3, 1.0, {"beta": 1.0}), (0.5, -0.7, {}), (0.8, 1.0, {}), (0.97, 0.5, {}), (0.99, -1.0, {}),
        (1.01, 0.5, {"beta": 0.5}), (1.02, 0.5, {}), (1.1, 0.9, {"scale": 2.0}), (1.5, 0.5, {}), (1.7, -0.8, {"alpha": 1.7}),
    ],
)  # fmt: skip
def test_known_location_in_s1(alpha, beta, known):
    """No free parameter, changed alone, makes the data likelier; the errors are those of the information."""
    truth = np.array([alpha, beta, 5.0, 2.0])
    misses = []
    for seed in range(4):
        x = ns.stable.rvs(*truth, size=400, param="S1", rng=seed)
        found = fit(x, fixed=known | {"loc": 5.0}, param="S1")
        loglik = lambda p, x=x: ns.stable.logpdf(x, *p, param="S1").sum()  # noqa: E731
        assert found.converged and found.loglik == pytest.approx(loglik(found.params), abs=1e-7)
        assert found.params[2] == 5.0 and np.isnan(found.se[2])
        free = np.isfinite(found.se)
        gain = 2.0 * (found.loglik - loglik(truth))
        assert -1e-6 < gain < 16.0  # chi-squared with up to 3 degrees of freedom
        for i in np.flatnonzero(free):
            for step in (0.03, -0.03, 0.3, -0.3):
                p = found.params.copy()
                p[i] += step * found.se[i]
                if abs(p[1]) <= 1.0:
                    assert loglik(p) < found.loglik + 1e-6
        near = fit(x, fixed=known | {"loc": 5.0}, param="S1", se="observed")
        np.testing.assert_array_equal(near.params, found.params)
        if abs(found.params[1]) < 0.95 or not free[1]:  # at the ends the information about beta has no bound
            np.testing.assert_allclose(near.se[free], found.se[free], rtol=0.5)
        misses.append(((found.params - truth) / found.se)[free])
    assert all(np.abs(m).max() < 4.0 for m in misses)


def test_known_location_in_s1_next_to_alpha_1():
    x = draw(1.0, 0.0, 400, loc=5.0)
    one_sided = fit(x, fixed={"loc": 5.0}, bounds={"alpha": (0.5, 0.999)}, param="S1")
    assert one_sided.params[0] <= 0.999 and (one_sided.params[0] < 0.999 or "boundary: alpha = 0.999" in one_sided.message)
    near = fit(x, fixed={"loc": 5.0}, bounds={"alpha": (0.9995, 1.0005)}, param="S0")
    beside = fit(x, fixed={"loc": 5.0}, bounds={"alpha": (0.9985, 1.0015)}, param="S1")
    assert beside.loglik > near.loglik - 0.5 and abs(beside.params[0] - 1.0) > 0.9e-3


def test_convergence_with_a_known_location_in_s1_next_to_alpha_1():
    """Where a small change of beta moves the law far, which the differences of the score must not."""
    for seed in range(5000, 5008):
        x = ns.stable.rvs(0.997, -0.2, size=500, rng=seed, param="S1")
        found = fit(x, fixed={"loc": 0.0}, param="S1")
        assert found.converged and found.loglik > ns.stable.loglik(x, 0.997, -0.2, param="S1")


def test_a_known_scale_far_below_the_spread():
    """The likelihood is that of the scale given, however small: here the spread is 1e12 times as large."""
    x = ns.stable.rvs(0.15, 0.1, size=8, rng=318950, param="S1")
    w = np.ones(8)
    w[x.argmax()], w[x.argmin()] = 3.0, 2.0
    found = fit(x, fixed={"loc": 0.0, "alpha": 0.15, "scale": 1.0}, param="S1", weights=w)
    loglik = lambda beta: w @ ns.stable.logpdf(x, 0.15, beta, 0.0, 1.0, param="S1")  # noqa: E731
    assert found.params[3] == 1.0 and found.loglik == pytest.approx(loglik(found.params[1]), rel=1e-12)
    assert found.loglik > max(map(loglik, np.linspace(-0.9, 0.9, 91))) - 1e-9
    y = np.random.default_rng(1).normal(size=50)
    for method in ("quantile", "ecf", "grid"):
        tiny = fit(y, method, fixed={"scale": 1e-14})
        assert tiny.loglik == pytest.approx(ns.stable.loglik(y, *tiny.params), rel=1e-9)


def test_gaussian_data():
    x = np.random.default_rng(6).normal(4.0, 2.0, 800)  # about half of all Gaussian samples have their maximum at alpha = 2
    found = fit(x)
    assert found.params[0] == 2.0 and found.params[1] == 0.0 and found.se[1] == np.inf and "Gaussian" in found.message
    np.testing.assert_allclose(found.params[2:], [x.mean(), x.std() / math.sqrt(2)], rtol=1e-9)
    np.testing.assert_allclose(found.se[2], x.std() / math.sqrt(800), rtol=1e-6)
    sure = fit(ns.quantile.ndtri((np.arange(500) + 0.5) / 500))  # lighter tails than any sample of a stable law
    assert sure.params[0] == 2.0 and sure.params[1] == 0.0


def test_standard_errors_of_a_gaussian_in_s1():
    x = np.random.default_rng(6).normal(4.0, 2.0, 800)
    for fixed in ({}, {"alpha": 2.0}):
        found = fit(x, param="S1", fixed=fixed)
        assert found.params[0] == 2.0
        np.testing.assert_allclose(found.se[2:], x.std() / np.sqrt([800, 3200]), rtol=1e-6)
        assert found.cov[2, 3] == 0.0


def test_no_convergence_where_beta_has_no_meaning():
    """A step in beta next to alpha = 2 changes nothing but the score of alpha."""
    x = ns.stable.rvs(2.0, 0.0, -0.535, 1.0, size=100, rng=809449979)
    found = fit(x, fixed={"loc": 0.4435, "scale": 1.0767})
    assert found.loglik > ns.stable.loglik(x, 1.8, -1.0, 0.4435, 1.0767)


@pytest.mark.parametrize(
    ("seed", "n", "outlier", "better"),
    [
        (0, 800, [], (1.98, -1.0, 3.99, 1.395)),
        (2, 800, [], (1.9968, 1.0, 3.8974, 1.4199)),
        (1, 3000, [84.0], (1.995, 1.0, 3.975, 1.408)),
    ],
)
@pytest.mark.parametrize("start", [None, (2.0, 0.0, 4.0, 1.4)])
def test_nearly_gaussian_data_are_not_held_at_alpha_2(seed, n, outlier, better, start):
    draws = np.random.default_rng(seed).normal(4.0, 2.0, n) if n == 800 else ns.random.normal(4.0, 2.0, n, rng=seed)
    x = np.append(draws, outlier)
    found = fit(x, start=start)
    assert found.params[0] < 2.0 and found.loglik >= ns.stable.loglik(x, *better)
    np.testing.assert_allclose(found.loglik, ns.stable.loglik(x, *found.params), rtol=1e-12)


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 1e8), (1e-12, 0.0), (1e-200, 0.0), (1e250, 0.0)])
def test_standard_errors_are_equivariant_in_s1(factor, offset):
    x = draw(1.7, 0.4, 400)
    one, other = fit(x, param="S1"), fit(factor * x + offset, param="S1")
    np.testing.assert_allclose(other.se, one.se * [1.0, 1.0, factor, factor], rtol=1e-7)  # observed 2e-9, of the offset


def test_beta_on_its_boundary():
    x = draw(1.5, 1.0)
    found = fit(x)
    assert (
        found.params[1] == 1.0
        and "boundary" in found.message
        and np.isnan(found.se[1])
        and np.isfinite(found.se[[0, 2, 3]]).all()
    )
    mirrored = fit(-x)
    assert mirrored.params[1] == -1.0 and mirrored.loglik == pytest.approx(found.loglik, rel=1e-9)
    positive = draw(0.5, 1.0, loc=3.0)  # Levy: S0 loc 3 is the end point 0
    assert abs(fit(positive, fixed={"alpha": 0.5, "beta": 1.0}, param="S1").params[2]) < 0.1


def test_information():
    J = ns.stable.fisher_information(1.0, 0.0)
    np.testing.assert_allclose(J, J.T, rtol=1e-12)
    np.testing.assert_allclose(J[2:, 2:], 0.5 * np.eye(2), atol=1e-6)
    np.testing.assert_allclose(J[[0, 1], [2, 0]], [0.0, 0.0], atol=1e-6)  # by symmetry
    np.testing.assert_allclose(ns.stable.fisher_information(1.0, 0.0, 4.0)[3, 3], 0.5 / 16, rtol=1e-5)
    for alpha, beta in ((1.5, 0.5), (0.7, -0.4)):
        x = ns.stable.rvs(alpha, beta, size=20_000, rng=3)
        D = ns.stable.score(x, alpha, beta)
        products = D[:, :, None] * D[:, None, :]
        error = products.std(axis=0) / math.sqrt(x.size)
        assert (abs(products.mean(axis=0) - ns.stable.fisher_information(alpha, beta)) < 4.5 * error).all()
    for bad in ((2.0, 0.0), (1.5, 1.0), (1.5, 0.0, -1.0)):
        with pytest.raises(ValueError, match="use alpha"):
            ns.stable.fisher_information(*bad)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.4, 0.6])
def test_information_about_loc_at_a_narrow_peak(alpha):
    """By the slope of log f in log x, on equal steps."""
    width = math.exp(0.5 * (math.lgamma(1 / alpha) - math.lgamma(3 / alpha)))
    v, step = np.linspace(math.log(width) - 14.0, math.log(width) + 90.0, 30_001, retstep=True)
    f = lambda k: ns.stable.logpdf(np.exp(v + 4e-3 * k), alpha, 0.0)  # noqa: E731
    slope = (45 * (f(1) - f(-1)) - 9 * (f(2) - f(-2)) + (f(3) - f(-3))) / (60 * 4e-3)
    want = 2.0 * (slope**2 * np.exp(f(0) - v)).sum() * step
    assert ns.stable.fisher_information(alpha, 0.0)[2, 2] == pytest.approx(want, rel=1e-9)  # observed 7e-11


def test_standard_errors_match_the_spread_of_estimates():
    """60 data sets: the mean squared z-score of each parameter is near 1."""
    x = ns.stable.rvs(1.4, 0.2, size=(60, 400), rng=9)
    fits = ns.stable.fit_many(x)
    assert fits.converged.all() and len(fits) == 60
    z = (fits.params - [1.4, 0.2, 0.0, 1.0]) / fits.se
    square = (z**2).mean(axis=0)
    assert (square > 0.45).all() and (
        square < 1.9
    ).all()  # chi-square with 60 degrees of freedom, 99.9 %: 0.53 to 1.66; a little more for 400 values
    observed = fit(x[0], se="observed")
    np.testing.assert_allclose(observed.se, fits.se[0], rtol=0.35)


def test_standard_errors_for_small_alpha():
    """30 data sets: both kinds agree with the spread of alpha, beta and log scale, each known to 13 % from so many."""
    x = ns.stable.rvs(0.15, 0.3, size=(30, 300), rng=5)
    for kind in ("expected", "observed"):
        fits = ns.stable.fit_many(x, se=kind)
        spread = np.column_stack([fits.params[:, :2], np.log(fits.params[:, 3])]).std(axis=0, ddof=1)
        se = np.median(np.column_stack([fits.se[:, :2], fits.se[:, 3] / fits.params[:, 3]]), axis=0)
        assert (abs(np.log(se / spread)) < 0.3).all(), (kind, se / spread)  # observed 0.16
    s0, s1 = fit(draw(0.3, 0.5)), fit(draw(0.3, 0.5), param="S1")  # its location was held: what is left of it is rounding
    assert np.isnan(s1.se[2]) and np.isnan(s1.cov[2]).all()
    np.testing.assert_allclose(np.delete(s1.se, 2), np.delete(s0.se, 2), rtol=1e-6)


@pytest.mark.parametrize("fixed", [{"loc": 0.0}, {"loc": 0.0, "beta": 0.5}])
def test_standard_errors_for_small_alpha_with_a_known_location(fixed):
    """The cusp, which is known, binds the others: 30 data sets tell the spread to 13 %."""
    x = ns.stable.rvs(0.3, 0.5, size=(30, 400), rng=5)
    for kind in ("expected", "observed"):
        fits = ns.stable.fit_many(x, fixed=fixed, se=kind)
        for i in (0, 1, 3):
            if NAMES[i] not in fixed:
                ratio = np.median(fits.se[:, i]) / fits.params[:, i].std(ddof=1)
                assert abs(math.log(ratio)) < 0.3, (kind, i, ratio)
        assert all(np.isnan(fits.se[:, NAMES.index(name)]).all() for name in fixed)


def test_many_data_sets():
    sets = [draw(1.5, 0.0, 200, 1), draw(0.7, 0.3, 150, 2), np.array([1.0, 2.0]), draw(1.9, 0.0, 60, 3), np.full(30, 2.0)]
    fits = ns.stable.fit_many(sets)
    assert fits.params.shape == (5, 4) and fits.cov.shape == (5, 4, 4)
    for i in (0, 1, 3):
        one = fit(sets[i], workers=1)
        assert (fits.params[i] == one.params).all() and fits.loglik[i] == one.loglik and fits[i].message == one.message
    assert np.isnan(fits.params[[2, 4]]).all() and not fits.converged[[2, 4]].any()
    assert (fits[-2].params == fits.params[3]).all() and [f.loglik for f in fits][:2] == fits.loglik[:2].tolist()
    with pytest.raises(TypeError, match="pass an integer"):
        fits[1:3]
    with pytest.raises(IndexError):
        fits[5]
    assert "at least 5" in fits.message[2] and "no spread" in fits.message[4]
    offsets = np.cumsum([0] + [len(s) for s in sets])
    again = ns.stable.fit_many((np.concatenate(sets), offsets))
    np.testing.assert_array_equal(again.params, fits.params)
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(ns.stable.fit_many(sets, workers=pool).params, fits.params)
    ragged = np.full((2, 200), np.nan)
    ragged[0], ragged[1, :150] = sets[0], sets[1]
    np.testing.assert_array_equal(ns.stable.fit_many(ragged).params, fits.params[:2])
    assert len(ns.stable.fit_many([])) == 0
    with pytest.raises(ValueError, match="sequence of arrays"):
        ns.stable.fit_many(sets[0])
    with pytest.raises(ValueError, match="workers=0"):
        ns.stable.fit_many(sets, workers=0)
    for wrong in (dict(se="robust"), dict(nan_policy="drop"), dict(fixed={"beta": 2.0})):
        with pytest.raises(ValueError, match="use"):
            ns.stable.fit_many(sets, **wrong)
    with pytest.raises(ValueError, match="offsets"):
        ns.stable.fit_many((sets[0], np.array([0, 5])))


def test_callback_stops():
    seen = []
    found = fit(draw(1.5, 0.3, 300), callback=lambda i, p, total: seen.append((i, total)) or i == 2)
    assert not found.converged and "callback" in found.message
    assert [i for i, _ in seen][:2] == [1, 2] and seen[1][1] >= seen[0][1] and found.params.shape == (4,)


@pytest.mark.parametrize("alpha", [1.5, 0.3])
def test_callback_sees_laws(alpha):
    x = draw(alpha, 0.3, 200)
    low, middle, high = np.quantile(x, [0.25, 0.5, 0.75], method="hazen")
    z, seen = (x - middle) / (0.5 * (high - low)), []
    fit(x, callback=lambda i, p, total: seen.append((p, total)))
    assert len(seen) > 3
    for p, total in seen:
        assert total == pytest.approx(ns.stable.loglik(z, *p), abs=1e-9)  # observed 2e-12


def test_callback_of_other_methods():
    seen = []
    found = fit(draw(1.5, 0.3, 100), "grid", callback=lambda i, p, total: seen.append(i) or i == 2)
    assert seen == [1, 2] and not found.converged and "callback" in found.message
    with pytest.raises(ValueError, match="callback"):
        fit(draw(1.5, 0.3, 100), "ecf", callback=print)


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
    same = fit(np.append(x, [np.nan, np.inf]), nan_policy="omit")
    np.testing.assert_array_equal(same.params, fit(x).params)
    np.testing.assert_array_equal(fit(x.reshape(10, 10)).params, fit(x).params)
    np.testing.assert_array_equal(
        fit(np.ma.array(np.append(x, 1e9), mask=[False] * 100 + [True]), nan_policy="omit").params, fit(x).params
    )


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda x: x[:4], {}, "at least 5"),
        (lambda x: np.append(x, [np.nan, np.inf]), {}, "2 values"),
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
)  # fmt: skip
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


def test_estimates_on_a_bound_have_no_standard_error():
    x = draw(1.6, 0.4, 300)
    for name, i, bounds in (("alpha", 0, (1.0, 1.5)), ("beta", 1, (-0.1, 0.02))):
        found = fit(x, bounds={name: bounds})
        assert found.params[i] == bounds[1] and f"boundary: {name} = {bounds[1]}" in found.message
        assert np.isnan(found.se[i]) and np.isfinite(np.delete(found.se, i)).all()
        held = fit(x, fixed={name: bounds[1]})
        np.testing.assert_allclose(found.se, held.se, rtol=1e-4)  # as if it were known
    lowest = fit(ns.stable.rvs(0.05, 0.0, size=300, rng=1))
    assert lowest.params[0] == 0.1 and "boundary: alpha = 0.1" in lowest.message and np.isnan(lowest.se[0])
    equal, known = fit(x, bounds={"beta": (0.2, 0.2)}), fit(x, fixed={"beta": 0.2})
    np.testing.assert_array_equal(equal.params, known.params)


# Log-likelihoods that Nelder and Mead's simplex finds, and which the maximum must reach.
FIXED = [
    ((1.6, 0.4, 3.0, 2.0), 1, dict(alpha=0.5, beta=1.0), -1595.275592),
    ((0.5, 1.0, 0.0, 1.0), 2, dict(beta=-1.0), -3392.802773),
    ((0.5, 1.0, 0.0, 1.0), 2, dict(alpha=1.5, beta=-1.0), -3614.040345),
    ((0.5, 1.0, 0.0, 1.0), 2, dict(alpha=1.0, beta=-1.0), -3902.213800),
    ((1.6, 0.4, 3.0, 2.0), 1, dict(alpha=0.5, beta=1.0, loc=0.0), -1595.311069),
]


@pytest.mark.parametrize(("law", "seed", "fixed", "highest"), FIXED)
def test_fixed_shapes_far_from_the_data(law, seed, fixed, highest):
    """The simple estimators put some values outside the support, or far out in a light tail."""
    x = ns.stable.rvs(*law, size=300, rng=seed)
    found = fit(x, fixed=fixed)
    assert found.converged and found.loglik == pytest.approx(highest, abs=2e-6)


def test_the_grid_begins_within_the_support():
    x = ns.stable.rvs(1.6, 0.4, 3.0, 2.0, size=300, rng=1)
    assert fit(x, "grid", fixed=dict(alpha=0.5, beta=1.0)).loglik == pytest.approx(-1595.2756, abs=1e-3)


@pytest.mark.parametrize(
    "start", [(1.5, 0.0, 3.0, 1e6), (1.5, 0.0, 3.0, 1e-5), (1.5, 0.0, 1e9, 1.0), (0.5, 1.0, 3.0, 1.0), (1.0, 1.0, 3.0, 1.0)]
)
def test_starts_far_from_the_data(start):
    x = draw(1.6, 0.4, 300)
    found = fit(x, start=start)
    assert found.converged and found.loglik == pytest.approx(fit(x).loglik, abs=1e-6)


@pytest.mark.parametrize("method", ["ml", "grid", "ecf", "quantile", "small"])
def test_impossible_data_are_said(method):
    x = draw(1.6, 0.4, 300, loc=3.0, scale=2.0)
    everything = dict(alpha=0.5, beta=1.0, loc=0.0, scale=1.0)
    with pytest.warns(ns.ConvergenceWarning, match="the likelihood is 0"):
        found = fit(x, method, fixed=everything)
    assert not found.converged and found.loglik == -np.inf
    assert not ns.stable.fit_many([x], method, fixed=everything).converged[0]


def test_a_search_that_ends_short_of_the_maximum_says_so(monkeypatch):
    """Steps along which nothing is gained: what is left is judged without damping."""
    monkeypatch.setattr("numbastats.stable.likelihood.moved", lambda p, indices, step: p + [0.0, 0.0, 1e6, 0.0])
    with pytest.warns(ns.ConvergenceWarning, match="not converged"):
        assert not fit(draw(1.5, 0.0, 100)).converged


def test_no_convergence_is_said(monkeypatch):
    monkeypatch.setattr(
        "numbastats.stable.maximisation.climb", lambda likelihood, p, *rest: (np.array(p), likelihood(p), 100, 1.0)
    )
    with pytest.warns(ns.ConvergenceWarning, match="not converged"):
        assert not fit(draw(1.5, 0.0, 100)).converged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ns.stable.fit_many([draw(1.5, 0.0, 100)]).converged[0]


@pytest.mark.parametrize("method", ["ml", "grid"])
def test_gaussian_data_with_a_known_location(method):
    """The scale of the Gaussian is about the known location, not about the mean: alpha stayed at 1.999999, and beta was 1."""
    x = np.random.default_rng(0).uniform(-1, 1, 300) + 0.05  # lighter tails than any sample of a stable law
    found = fit(x, method, fixed={"loc": 0.0})
    scale = math.sqrt(0.5 * np.mean(x**2))
    assert found.params[:3].tolist() == [2.0, 0.0, 0.0] and found.params[3] == pytest.approx(scale, rel=1e-12)
    want = -0.5 * x.size * (math.log(4 * math.pi * scale**2) + 1)
    assert found.loglik == pytest.approx(want, rel=1e-13)


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


def test_observed_information_that_is_not_positive_definite():
    """As little as 6 values say about four parameters: the message tells why there are no errors."""
    found = [fit(ns.stable.rvs(1.3, 0.5, size=6, rng=seed), se="observed") for seed in (13, 15, 17, 32)]
    said = ["information matrix is not positive definite" in f.message for f in found]
    assert any(said) and said == [bool(np.isnan(f.se).all()) for f in found]


@pytest.mark.parametrize(
    ("alpha", "beta", "n", "seed"), [(0.99, -1.0, 12, 0), (0.99, -0.7, 20, 4), (1.02, 0.5, 30, 5), (0.15, 0.0, 12, 4)]
)
def test_observed_information_of_few_points(alpha, beta, n, seed):
    """Where the likelihood is far from a parabola: minus its second differences, of fourth order, along the errors found."""
    x = ns.stable.rvs(alpha, beta, size=n, rng=seed, param="S1")
    found = fit(x, fixed={"loc": 0.0}, param="S1", se="observed")
    free = np.flatnonzero(np.isfinite(found.se))
    moves = 1e-2 * np.linalg.cholesky(found.cov[np.ix_(free, free)]).T

    def at(move):
        p = found.params.copy()
        p[free] += move
        return ns.stable.logpdf(x, *p, param="S1", method="quadrature").sum()

    def second(u, v):  # the mixed difference of the moves
        return (at(u + v) - at(u - v) - at(v - u) + at(-u - v)) / 4.0

    J = np.array([[-(4.0 * second(u, v) - second(2.0 * u, 2.0 * v) / 4.0) / 3.0 for v in moves] for u in moves])
    errors = np.sqrt(np.diag(moves.T @ np.linalg.inv(J) @ moves))
    np.testing.assert_allclose(found.se[free], errors, rtol=0.02)  # observed 3e-3


@pytest.mark.parametrize(("alpha", "want"), [(0.4, 0.00961), (0.45, 0.01101), (0.499, 0.01245)])
def test_standard_errors_without_a_cusp(alpha, want):
    """At beta = 1 the density has no cusp; its location was held as if it had one, and alpha had 0.66 to 0.8 of its error.

    The figures are the exact Fisher information of 1000 values with beta known.
    """
    x = ns.stable.ppf((np.arange(1000) + 0.5) / 1000, alpha, 1.0)
    known = {"beta": 1.0}
    found = fit(x, fixed=known)
    assert abs(found.params[0] - alpha) < 0.01 and found.message == "ok"
    for kind, room in (("expected", 0.02), ("observed", 0.1)):
        errors = fit(x, fixed=known, se=kind).se
        assert abs(errors[0] / (want * (found.params[0] / alpha) ** 1.1) - 1.0) < room, (kind, errors)
    above = fit(x, fixed={**known, "alpha": 0.501}).se[3] / fit(x, fixed={**known, "alpha": 0.499}).se[3]
    assert abs(above - 1.0) < 0.02  # no jump at 0.5


@pytest.mark.parametrize(("alpha", "beta"), [(0.4, 1.0), (0.45, 1.0), (0.4, 0.9)])
def test_coverage_for_small_alpha(alpha, beta):
    """60 data sets: nine of ten intervals of alpha, of 95 %, hold it."""
    fits = ns.stable.fit_many(ns.stable.rvs(alpha, beta, size=(60, 500), rng=77), fixed={"beta": beta} if beta == 1.0 else None)
    for i, true in ((0, alpha), (2, 0.0), (3, 1.0)):
        assert (abs(fits.params[:, i] - true) < 1.96 * fits.se[:, i]).mean() >= 0.88, i


@pytest.mark.parametrize("kind", ["expected", "observed"])
def test_no_standard_error_of_what_the_cusp_tells(kind):
    """The error of loc was 0.0 with the message "ok"; that of 30 fits is 0.02."""
    x = ns.stable.rvs(0.45, 0.0, size=400, rng=1)
    for options in (dict(fixed={"beta": 0.0}), dict(bounds={"beta": (0.0, 0.0)}), dict(fixed={"beta": 0.0}, param="S1")):
        found = fit(x, se=kind, **options)
        assert np.isnan(found.se[[1, 2]]).all() and np.isfinite(found.se[[0, 3]]).all()
        assert "no standard error of loc: below alpha = 0.5" in found.message
    known = fit(x, fixed=dict(alpha=0.45, beta=0.3, loc=0.0), se=kind)
    assert np.isnan(known.se).all() and "no standard error of scale: below alpha = 0.5" in known.message
    assert np.isfinite(fit(x, se=kind).se).all()


@pytest.mark.parametrize(("alpha", "seed"), [(0.05, 1), (0.05, 3), (0.03, 3), (0.02, 1)])
def test_bounds_below_a_tenth(alpha, seed):
    """The width of the cusp is no double: "math domain error"."""
    x = ns.stable.rvs(alpha, 1.0, 1.0, 2.0, 500, rng=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)
        warnings.filterwarnings("ignore", message=".*tied")
        found = fit(x, bounds={"alpha": (0.005, 2.0)})
    if alpha == 0.05:
        assert found.converged and abs(found.params[0] - alpha) < 0.01 and "held" not in found.message  # doubles round the mode
    else:  # values tied in doubles, at which the likelihood has no bound
        assert not found.converged and ("infinite" in found.message or "not converged" in found.message)


def test_the_ends_of_simple_estimators_are_said():
    x = ns.stable.rvs(0.1, 0.3, size=20_000, rng=1)
    for estimate, end in ((ns.stable.fit_quantile, 0.5), (ns.stable.fit_ecf, 0.2)):
        for options in ({}, {"fixed": {"beta": 0.3}}):
            with pytest.warns(ns.ConvergenceWarning, match=f"this method ends at {end}"):
                found = estimate(x, **options)
            assert not found.converged and found.params[0] == end
    with pytest.warns(ns.ConvergenceWarning, match="this method ends at 0.5"):
        assert not ns.stable.fit_quantile(x, fixed={"alpha": 0.3}).converged  # its scale is that of 0.5
    assert ns.stable.fit_quantile(draw(1.5, 0.0)).converged and ns.stable.fit_ecf(draw(1.99, 0.0)).converged


def test_an_estimate_on_its_bound_says_what_to_do():
    found = fit(draw(1.2, 1.0))
    assert np.isnan(found.se[1]) and "boundary: beta = 1, without a standard error: its interval is one-sided" in found.message


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


def test_threads_fit_a_data_set_each():
    """Numbers of threads did nothing; filters of warnings are left alone."""
    x = [draw(1.5, 0.3, 200, 1), draw(0.3, 0.2, 60, 2), np.full(9, 1.0), draw(1.9, 0.0, 100, 3), draw(1.2, 1.0, 300, 4)]
    filters = warnings.filters[:]
    one = ns.stable.fit_many(x, workers=1)
    seen = set()
    real = ns.stable.fitting.fit

    def noted(*args, **options):
        seen.add(threading.get_ident())
        time.sleep(0.05)  # the other thread gets its turn
        return real(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numbastats.stable.fitting.fit", noted)
        two = ns.stable.fit_many(x, workers=2)
    assert len(seen) == min(2, numba.config.NUMBA_NUM_THREADS)
    for name in ("params", "se", "cov", "loglik", "n_eval", "start"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.message == two.message and warnings.filters == filters


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_fits(workers):
    """Also those of other threads, which look at every evaluation of the likelihood."""
    large = np.random.default_rng(1).standard_t(1.7, 1_000_000)
    sent = []

    def send():
        time.sleep(1.0)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send).start()
    with pytest.raises(KeyboardInterrupt):
        while True:  # until the signal comes
            ns.stable.fit_many([large] * 4, workers=workers)
    assert time.perf_counter() - sent[0] < 10.0


def test_results_can_be_compared():
    """NumPy's ambiguous truth value before."""
    a, b = fit(draw(1.5, 0.0, 50)), fit(draw(1.5, 0.0, 50))
    assert a == a and (a == b) in (True, False) and a != 1
    many = ns.stable.fit_many([draw(1.5, 0.0, 50)])
    assert many == many and (many == ns.stable.fit_many([draw(1.5, 0.0, 50)])) in (True, False)


class OnDevice:
    """Stands in for a CuPy array."""

    def __init__(self, values):
        self._values = np.asarray(values)
        self.shape, self.dtype, self.size, self.ndim = (getattr(self._values, n) for n in ("shape", "dtype", "size", "ndim"))

    @property
    def __cuda_array_interface__(self):
        return self._values.__array_interface__

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def get(self):
        return self._values


def test_arrays_of_a_device_are_fitted():
    x = draw(1.5, 0.3, 200).reshape(2, 100)
    w = np.arange(1.0, 201.0)
    for method in ("ml", "quantile"):
        found = fit(OnDevice(x), method, weights=OnDevice(w))
        np.testing.assert_array_equal(found.params, fit(x, method, weights=w).params)
    many = ns.stable.fit_many(x)
    offsets = np.array([0, 100, 200])
    for data in (OnDevice(x), [OnDevice(r) for r in x], (OnDevice(x.ravel()), OnDevice(offsets))):
        np.testing.assert_array_equal(ns.stable.fit_many(data).params, many.params)


def test_score_of_arrays_of_a_device(monkeypatch):
    cupy = types.ModuleType("cupy")
    cupy.asarray = OnDevice
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    x = np.linspace(-2.0, 2.0, 5)
    got = ns.stable.score(OnDevice(x), 1.5, OnDevice(0.3))
    assert isinstance(got, OnDevice)
    np.testing.assert_array_equal(got.get(), ns.stable.score(x, 1.5, 0.3))


def test_one_alpha_on_the_device_shares_a_table():
    shared, x = ns.stable.engine.one_law, OnDevice(np.zeros(3))
    assert shared(OnDevice([1.5]), OnDevice(0.3), (x, 0.0, 1.0), None)[0] == (1.5, 0.3)
    assert shared(OnDevice([1.5, 1.6]), 0.3, (x, 0.0, 1.0), None)[0] is None
    assert shared(OnDevice([1.5]), 0.3, (np.zeros(3), 0.0, 1.0), None)[0] is None  # the result has to be on the device
