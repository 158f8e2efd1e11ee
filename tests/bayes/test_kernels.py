"""CPU and CUDA twins of the draws given the coefficients agree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numba import cuda

from numbastats._core.kernel import SIMULATED
from numbastats.bayes import kernels as k
from tests.contract import same


def _twin(kernel, arguments, outputs):
    """Run the CPU twins and the CUDA twin on copies; returns the outputs of each."""
    results = []
    for run in (kernel.serial, kernel.parallel, None):
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        if run is None:
            staged = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]
            kernel.cuda[2 if SIMULATED else 128, 32](*staged)
            results.append([staged[i].copy_to_host() for i in outputs])
        else:
            run(*args)
            results.append([args[i] for i in outputs])
    return results


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


def test_normals_of_chains():
    random, Z = _chain_arguments()[1], np.empty((3, 700))
    k.DRAWS.serial(*random, Z, np.empty((3, 2)))
    assert scipy.stats.kstest(Z.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(Z)[0, 1]) < 0.15
