"""Kernels beside the plain versions."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.special

import numbastats as ns
from numbastats._core.kernel import build
from numbastats.mixture.multivariate import information as of_information
from numbastats.mixture.multivariate.information import coordinates
from numbastats.mixture.multivariate.kernels import (
    climb,
    information,
    memory,
    passes,
    pieces,
    prepare,
    products,
    records,
    scores,
    steps,
)
from numbastats.mixture.multivariate.kernels.products import gradient, lanczos, new_tools, times
from numbastats.mixture.multivariate.kernels.records import facts_of
from tests.mixture.multivariate import naive

SHAPES = {"full": (passes.FULL, 0), "tied": (passes.FULL, 1), "diag": (passes.DIAGONAL, 0), "spherical": (passes.SPHERICAL, 0)}
SHAPES |= {"tied-diag": (passes.DIAGONAL, 1), "tied-spherical": (passes.SPHERICAL, 1)}


@functools.cache
def products_of():
    """A loop over products, compiled when it is first asked for."""
    return build(_products_cpu, "serial")


def tiled(x, w=None):
    """One data set as kernels have it."""
    n, d = x.shape
    rows, filled = -(-n // 8) * 8, -(-d // 4) * 4
    wide = np.zeros((rows, filled))
    wide[:n, :d] = x
    weights = np.zeros(rows)
    weights[:n] = 1.0 if w is None else w
    flat = np.concatenate([wide[i : i + passes.LANES].T.ravel() for i in range(0, rows, passes.LANES)])
    pivots = np.ones((1, filled))
    pivots[0, :d] = np.diag(np.linalg.cholesky(np.cov(x.T, bias=True).reshape(d, d))) ** 2
    return records.Batch(flat, weights, np.array([0, rows]), np.array([weights.sum()]), np.array([0.5]), pivots, d)


def points(*given):
    """Points of kernels from weights, means and covariances."""
    K, d = given[0][1].shape
    filled = -(-d // 4) * 4
    shapes = (K,), (K, filled), (K, filled, filled), (K, filled, filled), (K,)
    out = passes.Point(*(np.zeros((len(given), *shape)) for shape in shapes))
    for i, (w, m, c) in enumerate(given):
        out.log_weights[i], out.means[i, :, :d], out.covariances[i, :, :d, :d] = np.log(w), m, c
        factors = np.linalg.inv(np.linalg.cholesky(c))
        out.factors[i, :, :d, :d] = factors
        out.heights[i] = np.log(w) + np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    return out


def began(count, left=10, newton=1):
    """States of climbs at their start."""
    state = np.zeros(count, records.STATE)
    state["loglik"], state["decrement"], state["enough"] = -np.inf, np.inf, -1.0
    state["phase"], state["left"], state["newton"], state["status"] = records.EM, left, newton, 1
    return state


def climbed(x, covariance, start, w=None, left=10, newton=1):
    """The end of a climb: weights, means, covariances, log-likelihood, state."""
    rows, at, state = tiled(x, w), points(start), began(1, left, newton)
    model = steps.Model(*SHAPES[covariance], 1)
    for kernel in (climb.EM_CLIMB, climb.NEWTON_CLIMB)[: 1 + newton]:
        kernel.serial(rows, np.zeros(1, np.int64), model, records.Settings(newton, 1e-9, 1e-14), at, state, memory.NONE)
    d = x.shape[1]
    constant = 0.5 * d * np.log(2.0 * np.pi) * rows.mass[0]
    return np.exp(at.log_weights[0]), at.means[0, :, :d], at.covariances[0, :, :d, :d], state["loglik"][0] - constant, state[0]


@pytest.mark.parametrize(("n", "d", "K"), [(40, 2, 3), (700, 3, 2), (300, 5, 3), (9000, 10, 4)])
@pytest.mark.parametrize("covariance", SHAPES)
def test_a_step_of_em_is_the_plain_one(n, d, K, covariance):
    x = naive.blobs(4, n, d, K)
    w = np.random.default_rng(1).integers(0, 3, n).astype(float)
    start = naive.of_labels(x, np.arange(n) % K, K, covariance)
    start = naive.em_step(x, *start, covariance, w)
    weights, means, covariances, loglik, _ = climbed(x, covariance, start, w, left=1, newton=0)
    want = naive.em_step(x, *start, covariance, w)
    for a, b in zip((weights, means, covariances), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    assert abs(loglik - naive.loglik(x, *start, w)) < 1e-12 * abs(loglik)


@pytest.mark.parametrize("covariance", SHAPES)
def test_a_climb_ends_at_the_optimum_of_em_and_certifies_it(covariance):
    x = naive.blobs(0, 300, 2, 3)
    start = naive.of_labels(x, np.argsort(np.argsort(x[:, 0])) * 3 // 300, 3, covariance)
    *_, loglik, state = climbed(x, covariance, start)
    assert state["status"] == 0 and state["decrement"] < 1e-15
    assert abs(loglik - naive.em(x, *start, covariance)[-1]) < 1e-7


@pytest.mark.parametrize("covariance", SHAPES)
def test_the_least_eigenvalue_is_one_minus_the_rate_of_em(covariance):
    """By the plain steps next to the optimum: the rate is that of their differences in the end."""
    x = naive.blobs(0, 300, 2, 3)
    start = naive.of_labels(x, np.argsort(np.argsort(x[:, 0])) * 3 // 300, 3, covariance)
    *best, _, state = climbed(x, covariance, start)
    rng = np.random.default_rng(1)
    now = best[0] + 0.0, best[1] + 1e-4 * rng.normal(size=best[1].shape), best[2]
    sizes = []
    for _ in range(60):
        new = naive.em_step(x, *now, covariance)
        sizes.append(np.linalg.norm(new[1] - best[1]))
        now = new
    assert abs((1.0 - sizes[-1] / sizes[-2]) / state["min_eig"] - 1.0) < 0.05


def test_far_from_zero_nothing_cancels():
    """The tiles hold differences from a centre; what is left of it may be large beside the widths."""
    x = naive.blobs(7, 400, 3, 2)
    start = naive.of_labels(x, np.arange(400) % 2, 2)
    far = start[0], start[1] + 1e6, start[2]
    a = climbed(x, "full", start, left=3, newton=0)
    b = climbed(x + 1e6, "full", far, left=3, newton=0)
    np.testing.assert_allclose(a[2], b[2], rtol=1e-7)  # 1e6 / 2^52 of a difference


def test_chunks_add_up_and_scores_are_those_of_the_density():
    x = naive.blobs(8, 20_000, 4, 3)
    start = naive.of_labels(x, np.arange(20_000) % 3, 3)
    start = naive.em_step(x, *start)
    one, as_it_is = passes.Point(*(v[0] for v in points(start))), np.stack([np.zeros(4), np.ones(4)])
    out = np.zeros((-(-20_000 // pieces.CHUNK), 1 + 3 + 12 + 30))
    pieces.MOMENTS.serial(x, np.empty(0), one, passes.FULL, as_it_is, out)
    r = naive.responsibilities(x, *start)
    np.testing.assert_allclose(out.sum(axis=0)[1:4], r.sum(axis=0), rtol=1e-12)
    constant = 0.5 * 4 * np.log(2.0 * np.pi) * 20_000
    assert abs(out[:, 0].sum() - constant - naive.loglik(x, *start)) < 1e-8
    shift = np.stack([np.full(4, 0.25), np.full(4, 2.0)])
    moved = points((start[0], (start[1] - 0.25) * 2.0, start[2] * 4.0))
    density, resp, labels = np.zeros(20_000), np.zeros((20_000, 3)), np.zeros(20_000, np.int64)
    scores.SCORES.serial(x, passes.Point(*(v[0] for v in moved)), passes.FULL, shift, 1, density, resp, labels, memory.NONE)
    want = scipy.special.logsumexp(naive.log_densities(x, *start[1:]) + np.log(start[0]), axis=1)
    np.testing.assert_allclose(density, want, rtol=1e-10)
    np.testing.assert_allclose(resp, r, atol=1e-12)
    assert (labels == r.argmax(axis=1)).all()


def test_rows_are_sorted_by_their_columns_and_equal_ones_are_one():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, (200, 3)).astype(float)
    w = rng.integers(0, 3, 200).astype(float)
    x[5, 1] = np.nan
    places, mass, info = np.zeros(200, np.int64), np.zeros(200), np.zeros(1, prepare.INFORMATION)
    prepare.ORDER.serial(x, w, np.array([0, 200]), places, mass, info)
    good = (w > 0) & ~np.isnan(x).any(axis=1)
    rows, inverse = np.unique(x[good], axis=0, return_inverse=True)
    n = info["distinct"][0]
    assert n == len(rows) and (x[places[:n]] == rows).all()
    assert (mass[:n] == np.bincount(inverse.ravel(), w[good])).all()
    assert info["count"][0] == good.sum() and info["missing"][0] == 1


def test_a_climb_that_is_certified_by_few_doubtful_rows_has_the_information_of_all():
    x = naive.blobs(3, 600, 3, 2, apart=6.0)
    labels = (x[:, 0] > x[:, 0].mean()).astype(int)
    start = naive.of_labels(x, labels, 2)
    w, m, c, *_, state = climbed(x, "full", start)
    values = np.linalg.eigvalsh(naive.louis_information(x, w, m, c))
    assert state["status"] == 0 and values.min() > 0 and 0.9 < state["min_eig"] <= 1.0


def _products_cpu(rows, point, model, vectors, out, scale, bound):
    """out[i] = information times vectors[i]; roots of the complete data's information, a bound of the least eigenvalue."""
    K, filled = point.means.shape
    features = products.new_places(K, model, rows.columns)
    case = products.Case(rows.x, rows.w, model, facts_of(rows, 0), rows.pivots[0], features)
    tools = new_tools(memory.new_memory(1, K, filled, 0, 0, 0), scale.size, K, filled)
    gradient(case, tools, point)
    scale[:] = tools.newton.scale[0]
    for i in range(len(out)):
        times(case, tools, point, vectors[i], out[i])
    bound[0] = lanczos(case, tools, point)


@pytest.mark.parametrize("constraint", [(1, 1), (0, 1), (1, 0)])
@pytest.mark.parametrize("covariance", SHAPES)
def test_products_are_those_of_the_information(covariance, constraint):
    """Of the matrix with any vector, also far from a maximum; the least eigenvalue is bounded from below."""
    x, w = naive.blobs(2, 400, 3, 3, apart=1.0), np.random.default_rng(1).integers(1, 4, 400).astype(float)
    start = naive.em_step(x, *naive.of_labels(x, np.arange(400) % 3, 3, covariance), covariance, w)
    rows, at, model = tiled(x, w), points(start), steps.Model(*SHAPES[covariance], *constraint)
    p = coordinates(3, 3, model)
    matrix, scale = np.zeros((1, p, p)), np.zeros((1, p))
    information.INFORMATION.serial(rows, np.zeros(1, np.int64), model, at, matrix, scale, memory.NONE)
    matrix = np.tril(matrix[0]) + np.tril(matrix[0], -1).T
    vectors = np.stack([np.random.default_rng(2).normal(size=p), np.eye(p)[p - 1]])
    out, own, bound = np.empty((2, p)), np.empty(p), np.empty(1)
    products_of()(rows, passes.Point(*(v[0] for v in at)), model, vectors, out, own, bound)
    np.testing.assert_allclose(own, scale[0], rtol=1e-12)
    np.testing.assert_allclose(out, vectors @ matrix, rtol=1e-9, atol=1e-10)
    least = np.linalg.eigvalsh(matrix)[0]
    assert bound[0] <= max(least, 0.0) + 1e-9 and bound[0] >= 0.8 * least


def test_many_parameters_are_climbed_by_products_to_the_same_maximum(monkeypatch):
    x = naive.blobs(3, 500, 4, 3, apart=1.0)
    one = ns.mixture.fit(x, 3, covariance="full", rng=0)
    assert one.certificate == "exact"
    monkeypatch.setattr(of_information, "EXACT", 0)
    other = ns.mixture.fit(x, 3, covariance="full", rng=0)
    assert other.certificate == "lanczos" and other.status == 0 and other.decrement < 1e-9
    assert other.loglik == pytest.approx(one.loglik, abs=1e-8)
    np.testing.assert_allclose(other.means, one.means, atol=1e-5)
    assert 0.8 * one.min_eig < other.min_eig <= one.min_eig * (1.0 + 1e-9)


def test_wide_data_are_certified_by_products():
    x = naive.blobs(3, 1500, 16, 3, apart=1.0)
    found = ns.mixture.fit(x, 3, covariance="full", rng=0)
    assert found.n_free == 458 and found.certificate == "lanczos" and found.status == 0
    assert found.loglik == pytest.approx(naive.loglik(x, found.weights, found.means, found.covariances), abs=1e-7)
    score = naive.em_step(x, found.weights, found.means, found.covariances)  # a step of EM changes nothing
    np.testing.assert_allclose(score[1], found.means, atol=1e-6)
