"""CPU and CUDA twins of the draws given the coefficients agree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numba import cuda

from numbastats._core.kernel import SIMULATED
from numbastats.bayes import kernels as k
from numbastats.bayes.samplers.algebra import factor
from tests.contract import same


def _twin(kernel, arguments, outputs):
    """Run the CPU twins and the CUDA twin on copies; returns the outputs of each."""
    results = []
    for run in (kernel.serial, kernel.parallel, None):
        args = [_each(np.copy, a) for a in arguments]
        if run is None:
            args = [_each(cuda.to_device, a) for a in args]
            kernel.cuda[2 if SIMULATED else 128, 32](*args)
        else:
            run(*args)
        results.append([_each(_on_host, args[i]) for i in outputs])
    return results


def _on_host(a):
    return a if isinstance(a, np.ndarray) else a.copy_to_host()


def _each(f, value):
    """The arrays of an argument, in tuples, too, changed by a function."""
    if isinstance(value, tuple):
        return tuple(_each(f, v) for v in value)
    return value if np.isscalar(value) else f(value)


def _chain_arguments(chains=3, p=6):
    rng = np.random.default_rng(1)
    streams = np.arange(k.STAGES * chains, dtype=np.uint32).reshape(k.STAGES, chains)
    return rng.standard_normal((chains, p)), (np.uint32(1), np.uint32(2), streams, np.uint32(3)), np.full((chains, p), 0.01)


@pytest.mark.parametrize("prior", ["horseshoe", "ridge", "lasso", "regularised"])
@pytest.mark.parametrize("fixed", [False, True])
def test_scales_twins_agree(prior, fixed):
    B, random, D = _chain_arguments()
    T = np.array([-1.0, 0.0, 0.5])
    serial, parallel, simulated = _twin(k.SCALES[prior], [B, np.full_like(B, 0.7), 1, 1.0, fixed, *random, T, D], (-2, -1))
    for a, b, c in zip(serial, parallel, simulated, strict=True):
        assert same(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-12)
    assert fixed == same(serial[0], T)
    assert (serial[1][:, 0] == 0.01).all() and (serial[1][:, 1:] > 1e-12).all()


def test_conditionals_and_draws_twins_agree():
    B, random, D = _chain_arguments()
    V, W, T = np.ones((3, 2, 6)), np.ones((3, 2)), np.zeros(3)
    serial, parallel, simulated = _twin(k.CONDITIONALS, [B, 1, 1.0, False, *random, V, W, T, D], (-4, -3, -2, -1))
    for a, b, c in zip(serial, parallel, simulated, strict=True):
        assert same(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-12)
    jobs = (k.DRAWS, random, [np.empty((3, 700)), np.empty((3, 2))]), (k.GAMMA, (*random, 7.5), [np.empty(3)])
    for kernel, inputs, outputs in jobs:
        serial, parallel, simulated = _twin(kernel, [*inputs, *outputs], range(-len(outputs), 0))
        for a, b, c in zip(serial, parallel, simulated, strict=True):
            assert same(a, b)
            np.testing.assert_allclose(a, c, rtol=1e-13)


# --- coefficients ----------------------------------------------------------------------------------------------------


def _problem(chains=3, p=6, seed=3):
    """X'X, X'y, a state, precisions, normals and memory of the chains."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, p))
    state = rng.standard_normal((chains, p)), rng.standard_normal((chains, p)), rng.standard_normal(chains), np.zeros(chains)
    D = rng.gamma(1.0, size=(chains, p))
    memory = np.zeros((chains, p, p)), np.zeros((chains, k.WORK, p)), np.zeros(chains, np.int64)
    return X.T @ X, X.sum(axis=0), (*state, D), rng.standard_normal((chains, p)), rng.random((chains, 2)), memory


def _check(kernel, given, out):
    """What the serial twin writes, which the others agree with."""
    serial, parallel, simulated = (found[0] for found in _twin(kernel, [0, 3, given, out], [-1]))
    for a, b, c in zip(*map(_flat, (serial, parallel, simulated)), strict=True):
        assert same(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-9, atol=1e-11)
    return serial


def _flat(value):
    return [a for v in value for a in (_flat(v) if isinstance(v, tuple) else [v])]


def _lower(H, d):
    return np.linalg.cholesky(H + np.diag(d))


@pytest.mark.parametrize("prior", ["horseshoe", "ridge", "lasso", "given"])
def test_sweeps_end_in_a_draw_given_the_scales(prior):
    H, h, (B, _, _, T, D), _, _, memory = _problem()
    k0, k1, streams, step = _chain_arguments()[1]
    extra = np.array([0.0, 0.1, 3.0])
    given = H, h, extra, np.int64(1), 1.0, False, k0, k1, streams, streams, step, 2
    b, t, d, u = _check(k.SWEEPS[prior], given, (B, T, D, np.zeros((3, 2)), *memory))[:4]
    assert same(t, T) == (prior == "given") and same(d[:, 0], D[:, 0])
    Z = np.empty((3, 6))
    k.DRAWS.serial(k0, k1, streams, np.uint32(step + 1), Z, np.empty((3, 2)))
    before, last = d, k.SCALES.get(prior)  # the scales were drawn once more
    words, U = (k0, k1, streams, np.uint32(step + 2)), np.empty((3, 2))
    k.DRAWS.serial(*words, np.empty((3, 6)), U)
    assert same(u, U)
    if last is not None:
        one = given[:-1] + (1,)
        again = tuple(map(np.copy, (B, T, D)))
        k.SWEEPS[prior].serial(0, 3, one, (*again, np.zeros((3, 2)), *map(np.copy, memory)))
        before = again[2]
        t1, d1 = again[1].copy(), before.copy()
        k.SCALES[prior].serial(b, b, np.int64(1), 1.0, False, *words, t1, d1)
        assert same(t1, t) and same(d1, d)
    for c in range(3):
        L = _lower(H, before[c] + extra[c] * (np.arange(6) > 0))
        np.testing.assert_allclose(b[c], np.linalg.solve(L.T, np.linalg.solve(L, h) + Z[c]), rtol=1e-10)


def test_surrogate_decides_by_the_ratio_of_likelihoods():
    H, h, now, Z, U, (_, room, _) = _problem()
    new = Z, 2.0 * Z, now[2] + np.array([9.0, -9.0, np.nan]), now[3] + 1.0, 2.0 * now[4]
    kept, _, report = _check(k.WEIGHING, (H, h, new, U), (now, room, np.zeros((3, 4))))
    value = lambda b: b @ h - 0.5 * np.einsum("ci,ij,cj->c", b, H, b)  # noqa: E731
    ratio = new[2] - value(Z)
    gain = ratio - (now[2] - value(now[0]))
    np.testing.assert_allclose(report[:, 3], ratio, rtol=1e-12)
    taken = np.log(U[:, 0]) < gain  # false for NaN
    assert (report[:, 1] == taken).all() and list(report[:, 2]) == [1.0, 1.0, 0.0] and report[2, 0] == 0.0
    np.testing.assert_allclose(report[:2, 0], np.exp(np.minimum(gain[:2], 0.0)), rtol=1e-10)
    for a, one, other in zip(kept, new, now, strict=True):
        assert all(same(a[c], (one if taken[c] else other)[c]) for c in range(3))


def test_hamiltonian_proposals():
    H, h, now, Z, U, (factors, room, failed) = _problem()
    B, G, loglik, _, D = now
    extra, new, energy, angle = np.zeros(3), np.zeros((3, 6)), np.zeros(3), 0.9
    new, energy, factors, room, _ = _check(
        k.ROTATION, (H, h, now, extra, np.int64(1), Z, U, angle), (new, energy, factors, room, failed)
    )
    after = new, G + 0.3, loglik - 2.0, *now[3:]
    report = _check(k.KICK, (after, energy, factors, U, angle), (now, room, np.zeros((3, 4))))[2]
    for c in range(3):
        L, a = _lower(H, D[c]), angle * (0.8 + 0.4 * U[c, 1])
        there = lambda v, L=L: np.linalg.solve(L, v)  # noqa: E731
        q = B[c] @ L - there(h)
        v = Z[c] - 0.5 * a * (there(D[c] * B[c] - G[c]) - q)
        q, v = q * np.cos(a) + v * np.sin(a), v * np.cos(a) - q * np.sin(a)
        b = np.linalg.solve(L.T, q + there(h))
        np.testing.assert_allclose(new[c], b, rtol=1e-9)
        v -= 0.5 * a * (there(D[c] * b - after[1][c]) - q)
        gain = -loglik[c] + 0.5 * (D[c] * B[c]) @ B[c] + 0.5 * Z[c] @ Z[c]
        gain -= -after[2][c] + 0.5 * (D[c] * b) @ b + 0.5 * v @ v
        np.testing.assert_allclose(report[c, 0], np.exp(min(gain, 0.0)), rtol=1e-9)


@pytest.mark.parametrize("expanded", [False, True])
def test_gibbs_draws(expanded):
    H, h, (B, E, _, _, D), Z, _, memory = _problem()
    extra, squares, gammas = np.full(3, 0.2), np.full(3, 50.0), np.array([18.0, 20.0, 25.0])
    given = H, E, squares, D, extra, np.int64(1), Z, gammas, expanded, 1e-14
    latent = _check(k.LATENT_DRAW, given, (B, *memory))[0]
    given = H, h, h / 7.0, 4.0, D, extra, np.int64(1), Z, gammas
    numbers, log_sigma = _check(k.NORMAL_DRAW, given, (B, np.zeros(3), *memory))[:2]
    for c in range(3):
        d = D[c] + extra[c] * (np.arange(6) > 0)
        L = _lower(H, d)
        v = np.linalg.solve(L, E[c] - d * B[c])
        g = np.sqrt(2.0 * gammas[c] / (squares[c] + (d * B[c]) @ B[c] - v @ v)) if expanded else 1.0
        np.testing.assert_allclose(latent[c], np.linalg.solve(L.T, g * (B[c] @ L + v) + Z[c]), rtol=1e-9)
        v = np.linalg.solve(L, h / 7.0 - d * h)
        sigma = np.sqrt(max(4.0 + (d * h) @ h - v @ v, 4e-14) / (2.0 * gammas[c]))
        np.testing.assert_allclose(log_sigma[c], np.log(sigma), rtol=1e-9)
        np.testing.assert_allclose(numbers[c], h + np.linalg.solve(L.T, v + sigma * Z[c]), rtol=1e-8)


def test_factorisations_that_fail_are_told_of():
    """The same bits as LAPACK by SciPy where they do not fail; precisions are clipped as far as is needed."""
    H, h, (B, _, _, T, D), _, _, (factors, room, failed) = _problem()
    options = np.zeros(3), np.int64(0), 1.0, False, *_chain_arguments()[1][:2], *[_chain_arguments()[1][2]] * 2, np.uint32(1), 1
    k.SWEEPS["given"].serial(0, 3, (H, h, *options), (B, T, D, np.zeros((3, 2)), factors, room, failed))
    for c in range(3):
        assert same(np.tril(factors[c].T), factor(np.asfortranarray(H), D[c])[0]) and not failed.any()
    near = np.ones((6, 6))
    k.SWEEPS["given"].serial(0, 3, (near, h, *options), (B, T, np.zeros_like(D), np.zeros((3, 2)), factors, room, failed))
    assert not failed.any() and (room[:, 0] >= 1e-13).all()
    k.SWEEPS["given"].serial(0, 3, (-H, h, *options), (B, T, D, np.zeros((3, 2)), factors, room, failed))
    assert failed.all()


def test_normals_of_chains():
    random, Z = _chain_arguments()[1], np.empty((3, 700))
    k.DRAWS.serial(*random, Z, np.empty((3, 2)))
    assert scipy.stats.kstest(Z.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(Z)[0, 1]) < 0.15


def test_predictors_by_cholesky_factors():
    """A covariance and a metric, kept where they are not needed, and products with their factors."""
    rng, n = np.random.default_rng(5), 6
    X, F, W = rng.standard_normal((3, n, n)), np.diag(rng.random(n)), rng.random((3, n))
    K, S, Z = X @ X.transpose(0, 2, 1), rng.standard_normal((3, n)), rng.standard_normal((3, n))
    K *= np.array([0.5, 2.0, 1.0])[:, None, None]
    needed, memory = np.array([True, True, False]), (np.full((3, n, n), 7.0), np.full((3, n, n), 7.0), np.zeros((3, n, n)))
    L, G, _, failed = _check(k.FACTORS, (K, F, W, True, needed), (*memory, np.zeros(3, np.int64)))
    assert not failed.any() and (L[2] == 7.0).all() and (G[2] == 7.0).all()
    L, G, room, _ = _check(k.FACTORS, (K, F, W, True, ~needed), (L, G, memory[2], failed))
    pulled = _check(k.PULL, (L, G, S, Z), (np.zeros((3, n)),))[0]
    z, e = _check(k.OUTWARDS, (L, G, S), (np.zeros((3, n)), np.zeros((3, n))))
    back, u = _check(k.INWARDS, (L, G, S), (np.zeros((3, n)), np.zeros((3, n))))
    for c in range(3):
        lower = _lower(K[c] + F, np.zeros(n))
        metric = _lower((lower.T * W[c]) @ lower, np.ones(n))
        np.testing.assert_allclose(np.tril(L[c].T), lower, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(np.tril(G[c].T), metric, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(pulled[c], np.linalg.solve(metric, lower.T @ S[c] - Z[c]), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(z[c], np.linalg.solve(metric.T, S[c]), rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(e[c], lower @ z[c], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(back[c], np.linalg.solve(lower, S[c]), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(u[c], metric.T @ back[c], rtol=1e-8, atol=1e-9)
    kept = L.copy()
    L, G, _, failed = _check(k.FACTORS, (K, F, 2.0 * W, False, np.ones(3, bool)), (L, G, room, failed))
    assert same(L, kept) and not failed.any()
    *_, failed = _check(k.FACTORS, (-K, F, W, True, needed), (L, G, room, failed))
    assert list(failed) == [1, 1, 0]
