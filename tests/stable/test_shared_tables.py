"""Fits by tables that distributions share agree with fits by the likelihood itself."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import numbastats as ns
from numbastats._core.kernel import SIMULATED
from numbastats.stable import fitting
from numbastats.stable.arguments import Wanted, problem_of
from numbastats.stable.fitting import _by_kernels, _estimated, _searched, _wanted_by_kernels
from numbastats.stable.likelihood import BATCH, Likelihood
from numbastats.stable.parameterisations import Form
from numbastats.stable.shared_tables import EDGES_A, EDGES_B, SharedLikelihood, shared_tables
from tests.stable.naive import draw

OPTIONS = dict(device=None, workers=1)
ALPHAS = (0.52, 0.6, 0.74, 0.8, 0.9, 0.99, 1.0, 1.01, 1.1, 1.3, 1.5, 1.7, 1.85, 1.95, 1.99)
BETAS = (-1.0, -0.98, -0.9, -0.5, 0.0, 0.2, 0.7, 0.95, 0.995, 1.0)
GRID = list(itertools.product(ALPHAS, BETAS))


def by_the_likelihood(x, **options):
    """A fit without tables."""
    problem = problem_of(x, "ml", **options)
    likelihood = Likelihood(problem.y, problem.w, problem.share, OPTIONS)
    likelihood.form, likelihood.known = problem.form, problem.form is Form.S1
    return _estimated(problem, _searched(problem, likelihood, False, None), likelihood)


def agree(x, **options):
    """What a fit by shared tables gains over a fit without, and the largest relative difference of standard errors."""
    found, want = ns.stable.fit_many([x], **options)[0], by_the_likelihood(x, **options)
    np.testing.assert_array_equal(ns.stable.fit(x, **options).params, found.params)
    assert found.message == want.message and found.converged == want.converged
    np.testing.assert_array_equal(np.isnan(found.se), np.isnan(want.se))
    known = np.isfinite(want.se)
    return found.loglik - want.loglik, float(abs(found.se[known] / want.se[known] - 1.0).max(initial=0.0))


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
@pytest.mark.parametrize("laws", [pytest.param(GRID[::11], id="some"), pytest.param(GRID, id="all", marks=pytest.mark.slow)])
def test_the_maximum_is_that_of_fit(laws):
    for k, (alpha, beta) in enumerate(laws):
        gain, errors = agree(ns.stable.rvs(alpha, beta, size=1000, rng=k))
        assert abs(gain) < 1e-6 and errors < 5e-4, (alpha, beta, gain, errors)  # observed 3.1e-7 and 2.6e-4


@pytest.mark.parametrize("form", list(Form), ids=lambda form: form.name)
@pytest.mark.parametrize(
    ("alpha", "beta"),
    [(0.47, 0.3), (0.6, -0.8), (0.75, 0.5), (0.76, 0.99), (0.9, -0.2), (0.97, 0.9), (1.2, 0.6), (1.5, 1.0), (1.94, -0.995)],
)
def test_likelihood_and_score(alpha, beta, form):
    """Against the integral, point by point, and its differences."""
    if form is Form.PEAK and alpha >= 1.0:
        return
    p = ns.stable.convert(alpha, beta, 0.1, 1.2, to="S1") if form is not Form.S0 else (alpha, beta, 0.1, 1.2)
    p = np.array([float(v) for v in p])
    x = np.sort(ns.stable.rvs(alpha, beta, 0.1, 1.2, size=200, rng=1))
    many, one = SharedLikelihood(x, OPTIONS), Likelihood(x, None, 1.0, OPTIONS)
    many.form = one.form = form
    if form is Form.PEAK:
        p[2] += p[3] * one.standardised(np.array([alpha, beta, x[0], 1.0]))[0]
    want = (
        ns.stable.logpdf(one.standardised(p), alpha, beta, param="S0" if form is Form.S0 else "S1", method="quadrature")
    ).sum()
    assert abs(many(p) - (want - 200 * np.log(p[3]))) < 1e-3  # observed 4e-4
    _, state, outer = many._climbed(p, x)
    D = one.scores(p, None, [0, 1, 2, 3])
    scale = np.sqrt(np.diag(D @ D.T))
    assert state[0] == 0.0 and abs((outer - D @ D.T) / scale / scale[:, None]).max() < 2e-3  # observed 4e-4


def test_expected_information():
    many = SharedLikelihood(draw(1.5, 0.0, 50), OPTIONS)
    for alpha, beta in ((0.51, 0.3), (0.72, -0.6), (0.8, 0.0), (1.0, 0.5), (1.5, -0.98), (1.96, 0.2)):
        want = ns.stable.fisher_information(alpha, beta, 2.0)
        size = np.sqrt(np.diag(want))
        got = many.information(alpha, beta, 2.0)
        assert abs((got - want) / size / size[:, None]).max() < 3e-4, (alpha, beta)  # observed 1.0e-4
    np.testing.assert_array_equal(many.information(0.2, 0.0, 1.0), ns.stable.fisher_information(0.2, 0.0))


def test_results_do_not_depend_on_the_batch():
    x = ns.stable.rvs([[1.4], [0.65], [1.0], [1.8]], 0.4, size=(4, 300), rng=1)
    together = ns.stable.fit_many(x)
    backwards = ns.stable.fit_many(x[::-1])
    for name in ("params", "se", "loglik", "n_eval"):
        np.testing.assert_array_equal(getattr(together, name), getattr(backwards, name)[::-1])
    shared_tables().pool[:, 0, 0] = np.nan
    alone = ns.stable.fit_many(x[2:3])
    np.testing.assert_array_equal(alone.params[0], together.params[2])


def test_a_mirrored_data_set():
    x = np.stack([draw(1.5, 0.4, 400), draw(0.7, -0.6, 400)])
    one, other = ns.stable.fit_many(x), ns.stable.fit_many(-x)
    np.testing.assert_allclose(other.params * [1, -1, -1, 1], one.params, atol=1e-6)


def test_outside_the_tables():
    """Values and parameters that the tables do not reach, and data sets for whose size they are not exact enough."""
    wide = np.append(draw(1.5, 0.3, 300), [1e18, -1e30])
    for x in (wide, draw(0.3, 0.5, 300), draw(1.5, 0.3, 6000), np.random.default_rng(1).normal(size=300)):
        gain, errors = agree(x)
        assert abs(gain) < 1e-8 and errors < 1e-4
    assert SharedLikelihood(np.array([0.0, 1e20]), OPTIONS)([1.5, 0.3, 0.0, 1.0]) < 0.0


@pytest.mark.parametrize(
    "options",
    [
        dict(fixed={"beta": 0.0}),
        dict(fixed={"alpha": 1.5, "scale": 3.0}),
        dict(fixed={"loc": 7.0}),
        dict(bounds={"alpha": (1.6, 1.9), "beta": (0.0, 0.3)}),
        dict(start=[1.2, 0.0, 6.0, 2.0], param="S1"),
        dict(se="observed"),
        dict(weights=np.arange(500) % 3),
        dict(fixed={"loc": 7.0}, param="S1"),
    ],
)
def test_options_of_fit(options):
    gain, errors = agree(draw(1.5, 0.3, 500), **options)
    assert abs(gain) < 1e-7 and errors < 1e-4


def test_cells_are_made_once_by_threads():
    tables = type(shared_tables())()
    threads = [threading.Thread(target=tables.make, args=(9, 3)) for _ in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert np.isfinite(tables.pool[:, 0, 0]).sum() == 1 and (np.diff(EDGES_A) > 0.0).all() and EDGES_B[-1] == 1.0
    assert BATCH.get() is None


@pytest.mark.parametrize("alpha", [0.32, 0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 1.9, 1.99])
def test_the_maximum_from_small_alpha_to_nearly_2(alpha):
    for beta in (0.0, 0.5, 0.9):
        x = ns.stable.rvs(alpha, beta, size=1000, rng=int(100 * alpha))
        gain, errors = agree(x)
        assert abs(gain) < 1e-6 and errors < 5e-4, (beta, gain, errors)


def test_a_maximum_needs_few_evaluations():
    for alpha, beta in itertools.product((0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 1.9, 1.99), (0.0, 0.5)):
        found = ns.stable.fit(ns.stable.rvs(alpha, beta, size=1000, rng=7))
        most = 40 if found.params[0] < 2.0 else 50  # next to a Gaussian three starts climb, on both sides of beta
        assert found.converged and found.n_eval <= most, (alpha, beta, found.n_eval)  # observed 8 to 22, and 45


def test_cells_meet():
    """The likelihood on both sides of every edge, alpha = 1 and the change of the centre among them."""
    for alpha in EDGES_A[1:-1]:
        x = ns.stable.rvs(alpha, 0.6, size=200, rng=1)
        likelihood = SharedLikelihood(x, OPTIONS)
        below, above = (likelihood([alpha + step, 0.6, 0.0, 1.0]) for step in (-1e-12, 1e-12))
        assert abs(above - below) < 2e-4, alpha
    for beta in EDGES_B[1:-1]:
        x = ns.stable.rvs(1.4, beta, size=200, rng=1)
        likelihood = SharedLikelihood(x, OPTIONS)
        below, above = (likelihood([1.4, beta + step, 0.0, 1.0]) for step in (-1e-12, 1e-12))
        assert abs(above - below) < 2e-5, beta


@pytest.mark.parametrize("alpha", [0.35, 0.6, 0.73, 0.79, 0.95, 1.05, 1.6, 1.95, 1.9999])
@pytest.mark.parametrize("beta", [0.9, -0.99, 1.0])
def test_densities_towards_one_heavy_tail(alpha, beta):
    x = np.sort(ns.stable.rvs(alpha, beta, size=400, rng=2))
    many, one = SharedLikelihood(x, OPTIONS), Likelihood(x, None, 1.0, OPTIONS)
    p = np.array([alpha, beta, 0.0, 1.0])
    assert abs(many(p) - one(p)) < 1e-3


def test_memory_is_bounded_and_taken_in_pieces():
    tables = type(shared_tables())()
    assert tables.pool.nbytes < 64e6
    likelihood = SharedLikelihood(draw(1.5, 0.3, 300), OPTIONS)
    likelihood.tables = tables
    likelihood([1.5, 0.3, 7.0, 3.0])
    assert np.isfinite(tables.pool[:, 0, 0]).sum() == 1


@pytest.mark.more_in_simulator
def test_many_fits_on_the_gpu():
    """Two of them end there; the third, with a small alpha, goes on on the host."""
    if not (SIMULATED or ns.has_gpu()):
        with pytest.raises(ns.DeviceNotAvailable, match="no CUDA GPU"):
            ns.stable.fit_many([draw(1.5, 0.0, 100)], device="cuda")
        return
    sets = [np.append(draw(1.5, 0.3, 24, seed=8), np.nan), draw(1.3, 0.0, 20, seed=8), draw(0.4, 0.3, 20)]
    got, want = ns.stable.fit_many(sets, device="cuda"), ns.stable.fit_many(sets, device="cpu")
    np.testing.assert_allclose(got.loglik, want.loglik, rtol=1e-12)
    np.testing.assert_allclose(got.params, want.params, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(got.se, want.se, rtol=1e-6)
    assert got.message == want.message and (got.n_missing == [1, 0, 0]).all()
    assert (got.n_eval == want.n_eval).all() and (got.n_iter == want.n_iter).all()
    assert np.isfinite(_by_kernels(sets, Wanted.of("ml"), "cuda", 1)["loglik"][:2]).all()


def test_kernels_end_where_a_search_does(monkeypatch):
    """Of regular fits: with limits, known parameters, a start, in S1; by tables, point by point, next to alpha = 1."""
    laws = ((1.5, 0.2, 40), (1.8, -0.6, 500), (1.2, 0.0, 700), (1.01, 0.3, 500), (1.6, 0.5, 21))
    sets = [draw(a, b, n, 7, 0.0, 1.0) for a, b, n in laws]
    for options in (
        {},
        {"param": "S1"},
        {"start": [1.4, 0.0, 0.1, 1.0]},
        {"fixed": {"beta": 0.1, "scale": 1.1}},
        {"fixed": {"alpha": 1.3, "loc": 0.1}},
        {"bounds": {"alpha": (1.3, 1.45), "beta": (-0.2, 0.2)}},
    ):
        found = ns.stable.fit_many(sets, **options)
        assert _by_kernels(sets, _wanted_by_kernels("ml", {"param": "S0", **options}), "cpu", 1)["converged"].sum() > 2
        with monkeypatch.context() as patch:
            patch.setattr(fitting, "_wanted_by_kernels", lambda method, options: None)
            patch.setattr(Wanted, "regular", False)
            want = ns.stable.fit_many(sets, **options)
        assert found.message == want.message and (found.n_iter == want.n_iter).all()
        np.testing.assert_allclose(found.loglik, want.loglik, rtol=1e-12)
        for name in ("params", "se", "start"):
            np.testing.assert_allclose(getattr(found, name), getattr(want, name), rtol=1e-7, atol=1e-9, err_msg=name)
        np.testing.assert_array_equal(np.isnan(found.cov), np.isnan(want.cov))


def test_threads_and_shares_change_no_bit():
    x = ns.stable.rvs(1.6, 0.2, size=(9, 300), rng=5)
    one, two = (ns.stable.fit_many(x, workers=w) for w in (1, 2))
    with ThreadPoolExecutor(2) as pool:
        three = ns.stable.fit_many(list(x), workers=pool)
    for other in (two, three):
        np.testing.assert_array_equal(one.params, other.params)
        np.testing.assert_array_equal(one.loglik, other.loglik)
        np.testing.assert_array_equal(one.cov, other.cov)
        assert other.message == one.message and other.n_values.dtype == one.n_values.dtype
    alone = ns.stable.fit(x[3])
    np.testing.assert_array_equal(alone.params, one.params[3])
    assert alone.loglik == one.loglik[3] and type(alone.n_iter) is int and alone.converged is True
    empty = ns.stable.fit_many([])
    assert empty.params.shape == (0, 4) and empty.message == []
