"""Passes over the rows of X against SciPy and the scalar draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

from numbastats.bayes import kernels as k
from numbastats.bayes.likelihood import Rows
from tests.bayes.naive import STREAMS, check_passes, random_rows
from tests.conftest import REFERENCE
from tests.contract import same


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_passes_match_their_definition(n, device):
    rows, B = random_rows(n, 5, device=device["device"], workers=device.get("workers", 1))
    check_passes(rows, rows.X, B)


def test_words_of_rows_far_out():
    """Margins below -6, in both halves of a group of 64 rows: the draws are those of the scalar function."""
    rows, B = random_rows(130, 5)
    B = 20.0 * B
    m = B @ rows.X.T
    assert (m[:, :128].reshape(2, 2, 2, 32) < -6.0).any(axis=(0, 1, 3)).all()
    key = np.uint32(1), np.uint32(2)
    g, squares = rows.latent(B, key, STREAMS, 9)
    e = np.array([[k.latent_row(*key, STREAMS[c], np.uint32(9), i, m[c, i])[0] for i in range(130)] for c in range(2)])
    np.testing.assert_allclose(squares, (e * e).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(g, e @ rows.X, rtol=1e-9, atol=1e-10)


def test_latent_law_far_out():
    """Margins from -200 to 20: moments of the draws against the reference table."""
    table = np.loadtxt(REFERENCE / "bayes" / "truncnorm_reference.csv", delimiter=",", comments="#")
    key, n, steps = (np.uint32(7), np.uint32(8)), 4096, 10
    assert table.shape == (25, 9) and table[0, 0] == -200.0 and table[-1, 0] == 20.0
    for mu, mean, variance, skewness, kurtosis, *_ in table:
        rows = Rows(np.column_stack([np.full(n, mu), np.ones(n)]), "cpu", 1)
        draws = [rows.latent(np.array([[1.0, 0.0]]), key, STREAMS[:1], s) for s in range(steps)]
        first = sum(g[0, 1] for g, _ in draws) / (n * steps)  # of z - mu
        z, square = mu + first, sum(squares[0] for _, squares in draws) / (n * steps) + 2 * mu * first + mu**2
        sd = math.sqrt(variance)
        assert abs(z - mean) < 4.5 * sd / math.sqrt(n * steps), mu
        # variance of z^2 = (mean + sd e)^2
        spread = variance * (4 * mean**2 + 4 * mean * sd * skewness + variance * (kurtosis + 2))
        assert abs(square - (variance + mean**2)) < 4.5 * math.sqrt(spread / (n * steps)), mu


def test_pass_does_not_depend_on_workers(monkeypatch):
    monkeypatch.setattr("numbastats._core.launch.PARALLEL_FROM", 0)
    key = np.uint32(1), np.uint32(2)
    for dtype in (np.float64, np.float32):
        one, B = random_rows(5003, 37, dtype)
        two = Rows(one.X, "cpu", 2)
        for a, b in zip(
            one.latent(B, key, STREAMS, 3) + one.loglik(B), two.latent(B, key, STREAMS, 3) + two.loglik(B), strict=True
        ):
            assert same(a, b)
        alone = one.loglik(B[1:])  # a chain's sums do not depend on its neighbours
        assert same(alone[0], one.loglik(B)[0][1:]) and same(alone[1], one.loglik(B)[1][1:])


def test_float32_rows():
    narrow, B = random_rows(100_000, 20, np.float32)
    wide = Rows(narrow.X.astype(np.float64), "cpu", 1)
    B = B.astype(np.float32).astype(np.float64)
    (l32, g32), (l64, g64) = narrow.loglik(B), wide.loglik(B)
    np.testing.assert_allclose(l32, l64, rtol=1e-8)
    assert abs((l32[0] - l32[1]) - (l64[0] - l64[1])) < 5e-2 + 1e-7 * abs(l64[0])
    np.testing.assert_allclose(g32, g64, rtol=1e-4, atol=1.0)


@pytest.mark.parametrize("mean", [2e3, 2e5])
def test_float32_columns_far_from_0(mean):
    """X'X and X'WX by sums in double; their inverses are what the samplers see. Slopes were 6 standard deviations off."""
    rng = np.random.default_rng(3)
    z, signs = rng.standard_normal((3000, 2)), rng.choice([-1.0, 1.0], 3000)
    X = (np.column_stack([np.ones(3000), mean + mean / 600 * z[:, 0], z[:, 1]]) * signs[:, None]).astype(np.float32)
    rows, double = Rows(X, "cpu", 1), X.astype(np.float64)
    prior, b = np.diag([1e-3, 1.0, 1.0]), np.array([0.1, 0.0, 0.4])
    m = double @ b
    r = np.exp(-0.5 * m * m - scipy.special.log_ndtr(m)) / math.sqrt(2 * math.pi)
    for got, want in ((rows.gram(), double.T @ double), (rows.curvature(b)[0], double.T @ (double * (r * (r + m))[:, None]))):
        want = np.linalg.inv(want + prior)
        assert abs(np.linalg.inv(got + prior) / want - 1).max() < 1e-3  # observed 1.2e-4


def test_tiles():
    assert k.tile_rows(10, 8) == 64 and k.tile_rows(100_000, 8) == 8
    rows, B = random_rows(300, 7000)  # several tiles per group of rows
    assert rows.tile < 64
    m = B @ rows.X.T
    np.testing.assert_allclose(rows.loglik(B)[0], scipy.special.log_ndtr(m).sum(axis=1), rtol=1e-12)
    key = np.uint32(1), np.uint32(2)
    e = [k.latent_row(*key, STREAMS[1], np.uint32(9), i, m[1, i])[0] for i in range(300)]
    np.testing.assert_allclose(rows.latent(B, key, STREAMS, 9)[0][1], np.array(e) @ rows.X, rtol=1e-9, atol=1e-9)
