"""Fits and kernels of a GPU beside those of the host."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import numbastats as ns
from numbastats._core import device as gpu
from numbastats._core.cuda_backend import cuda
from numbastats.mixture.engine import staged_there
from numbastats.mixture.kernels.starts import Key
from numbastats.mixture.multivariate.kernels import climb, information, insertion, passes, records, spread, starts, steps
from numbastats.mixture.multivariate.kernels.memory import NONE
from numbastats.mixture.multivariate.kernels.newton import counts
from numbastats.mixture.multivariate.launching import Space, space_there, start_there
from tests.mixture.multivariate import naive
from tests.mixture.multivariate.test_kernels import SHAPES, began, points, tiled

KEY = Key(np.uint32(1), np.uint32(2), np.uint32(3))


def there_and_here(kernel, args, outputs, space):
    """Outputs of the CUDA twin and of the serial one."""
    here = copy.deepcopy(outputs)
    kernel.serial(*args, *here, NONE)
    staged = [staged_there(a) for a in (*args, *outputs)]
    start_there(kernel, staged, space_there(space, 2))

    def down(a):
        return tuple(map(down, a)) if isinstance(a, tuple) else gpu.download(a)

    return [down(a) for a in staged[len(args) :]], here


def alike(got, want, rtol=1e-11):
    """Whether outputs agree, in units of the largest of each."""
    for a, b in zip(got, want, strict=True):
        if isinstance(a, tuple):
            alike(a, b, rtol)
        else:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.nanmax(np.abs(b), initial=1.0))


@pytest.fixture(scope="module")
def case():
    """One data set, and a point near the middle of a climb."""
    x = naive.blobs(4, 60, 2, 2, apart=1.0)
    start = naive.em_step(x, *naive.of_labels(x, np.arange(60) % 2, 2, "full"), "full")
    return x, tiled(x), start


@pytest.mark.parametrize("covariance", SHAPES)
def test_steps_of_em_and_the_information(case, covariance):
    x, rows, _ = case
    start = naive.em_step(x, *naive.of_labels(x, np.arange(60) % 2, 2, covariance), covariance)
    model, owner, at = steps.Model(*SHAPES[covariance], 1), np.zeros(1, np.int64), points(start)
    args = [rows, owner, model, records.Settings(0, 1e-9, 1e-14)]
    (point, state), (want, other) = there_and_here(climb.EM_CLIMB, args, [at, began(1, 2, 0)], Space(2, 4))
    alike(point, want)
    assert abs(state["loglik"][0] - other["loglik"][0]) <= 1e-12 * abs(other["loglik"][0])
    assert state["passes"][0] == other["passes"][0] == 2 and state["phase"][0] == records.DONE
    _own, q, p = counts.py_func(2, model, 2)
    args, outputs = [rows, owner, model, points(start)], [np.zeros((1, p, p)), np.zeros((1, p))]
    alike(*there_and_here(information.INFORMATION, args, outputs, Space(2, 4, q, p)), rtol=1e-10)
    alike(*there_and_here(spread.SPREAD, args, outputs[:1], Space(2, 4, q, p)), rtol=1e-10)
    alike(*there_and_here(information.ENTROPY, args, [np.zeros(1)], Space(2, 4)))


def test_newtons_method_and_the_certificate(case):
    x, rows, start = case
    for _ in range(60):
        start = naive.em_step(x, *start, "full")
    model, state = steps.Model(passes.FULL, 0, 1), began(1)
    state["phase"] = records.NEWTON
    state["loglik"], state["damping"] = -np.inf, 0.0
    _own, q, p = counts.py_func(2, model, 2)
    args = [rows, np.zeros(1, np.int64), model, records.Settings(1, 1e-9, 1e-14)]
    (point, got), (want, other) = there_and_here(climb.NEWTON_CLIMB, args, [points(start), state], Space(2, 4, q, p))
    assert got["status"][0] == other["status"][0] == 0
    alike(point, want, rtol=1e-8)
    for name in ("loglik", "min_eig", "condition"):
        assert got[name][0] == pytest.approx(other[name][0], rel=1e-9 if name != "loglik" else 1e-12)


def test_starts_and_candidates(case):
    x, rows, start = case
    kinds, ids = np.arange(6), np.zeros(1, np.int64)
    outputs = [np.zeros((1, starts.SUBSET), np.int64), np.zeros((1, 6, starts.SUBSET), np.int64)]
    got, want = there_and_here(starts.PARTITIONS, [rows, ids, 2, passes.FULL, kinds, KEY], outputs, Space(2, 4))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    model = steps.Model(passes.FULL, 0, 1)
    alike(*there_and_here(starts.BEGIN, [rows, model, *want], [points(*[start] * 6)], Space(2, 4)))
    found = points(*[start] * insertion.KEPT), np.zeros(insertion.KEPT)
    args = [rows, ids, ids, np.ones(1, np.int64), model, points(start), KEY]
    alike(*there_and_here(insertion.INSERTION, args, list(found), Space(2, 4, rows=rows.w.size)), rtol=1e-9)


def test_a_batch_ends_alike_on_both_devices(device):
    x = np.stack([naive.blobs(i, 24, 2, 2, apart=4.0) for i in (1, 2)])
    x[1] *= [1.0, 30.0]
    options = dict(starts="hierarchical", rng=0, se=True)
    want = ns.mixture.fit_many(x, 2, workers=1, **options)
    got = ns.mixture.fit_many(x, 2, **options, **device)
    assert (got.status == want.status).all() and (got.messages == want.messages).all()
    np.testing.assert_allclose(got.loglik, want.loglik, rtol=1e-12)
    np.testing.assert_allclose(got.icl, want.icl, rtol=1e-9)
    np.testing.assert_allclose(got.means, want.means, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(got.se["covariances"], want.se["covariances"], rtol=1e-6)


def test_a_batch_without_fits_says_why_on_both_devices(device):
    x = np.ones((2, 12, 2))
    x[1] = naive.blobs(1, 12, 2, 1)
    x[1, 3] = np.inf
    with pytest.warns(ns.ConvergenceWarning, match="all rows are equal"):
        got, want = ns.mixture.fit_many(x, 2, rng=0, **device), ns.mixture.fit_many(x, 2, rng=0)
    assert (got.messages == want.messages).all() and not np.isfinite(got.loglik).any()


@pytest.mark.parametrize("what", ["pdf", "logpdf", "predict", "predict_proba"])
def test_rows_on_a_gpu_are_scored_there(what):
    fit = ns.mixture.fit(naive.blobs(2, 80, 2, 2, apart=4.0), 2, rng=0, starts="hierarchical")
    x = np.random.default_rng(1).normal(size=(3, 5, 2))
    x[1, 2, 0] = np.nan
    got, want = getattr(fit, what)(cuda.to_device(x)), getattr(fit, what)(x)
    assert got.dtype == want.dtype and got.shape == want.shape and hasattr(got, "copy_to_host")
    np.testing.assert_allclose(got.copy_to_host(), want, rtol=1e-12)
    with pytest.raises(ValueError, match="the last axis"):
        getattr(fit, what)(cuda.to_device(x[:, :, :1].copy()))
