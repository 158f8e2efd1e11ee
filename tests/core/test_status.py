"""The statuses of fits: their numbers, which are contract, and results that were pickled before them."""

from __future__ import annotations

import ast
import importlib
import pickle
from pathlib import Path

import numpy as np
import pytest

import numbastats as ns
from numbastats._core import endings
from numbastats._core import status as st
from numbastats._core.kernel import HOST_LOOPS, REGISTRY

X = np.array([-1.6, -1.6, -0.7, -0.6, -0.2, 0.0, 0.1, 0.7, 1.7])
BEFORE = {0: 0, 1: 1, 2: 11, 3: 12, 4: 13, 5: 4, 6: 6, 7: 7, 8: 8, 9: 9}  # of mixtures


def test_numbers_do_not_change():
    names = "OK NO_CONVERGENCE LIMIT BOUND TOO_FEW CONSTANT OUTSIDE NONE_LEFT NOT_FINITE STOPPED POLE".split()
    names += "NOT_CERTIFIED COLLAPSED INADMISSIBLE".split()
    assert [status.name for status in ns.Status] == names and [status.value for status in ns.Status] == list(range(14))
    assert len({status.meaning for status in ns.Status}) == 14
    for status in ns.Status:
        constant = getattr(endings, status.name)
        assert type(constant) is int and constant == status and ns.Status(np.int8(constant)) is status
    assert ns.Status is st.Status and "Status" in dir(ns) and sorted(names) == sorted(endings.__all__)


def test_an_edit_of_a_word_compiles_nothing():
    """Kernels depend on the numbers alone."""
    for room in ("distributions", "mixture"):
        importlib.import_module(f"numbastats.{room}")
    closures = [loop.closure() for loop in (*REGISTRY.values(), *HOST_LOOPS.values())]
    assert len(closures) > 800 and not any("numbastats._core.status" in closure for closure in closures)
    assert sum("numbastats._core.endings" in closure for closure in closures) > 700


def test_sets_of_statuses():
    apart = {*st.FITTED}, {*st.REFUSED}, {ns.Status.STOPPED, ns.Status.POLE, ns.Status.COLLAPSED}
    assert set().union(*apart) == set(ns.Status) and sum(map(len, apart)) == len(ns.Status)
    assert set(st.CONVERGED) < set(st.FITTED)


def test_the_order_of_statuses_means_nothing():
    """Code asks for sets of them."""
    ordering = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
    for path in Path(ns.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and any(isinstance(op, ordering) for op in node.ops):
                for side in (node.left, *node.comparators):
                    named = {n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in ast.walk(side)}
                    assert not named & {"status", "Status"}, f"{path.name}:{node.lineno} compares statuses by their order"


class Before:
    """Pickles as an object did whose class had no states of its own, with the numbers that mixtures had."""

    def __init__(self, result):
        self.result = result

    def __reduce__(self):
        state = {name: self.of(name, value) for name, value in vars(self.result).items()}
        return object.__new__, (type(self.result),), state

    def of(self, name, value):
        number = {new: old for old, new in BEFORE.items()}
        if name in ("status", "status_"):
            return np.array([number[s] for s in value.tolist()], np.int8) if np.ndim(value) else number[value]
        if name in ("message", "message_"):
            return value.replace("(status 12,", "(status 3,").replace("(status 13,", "(status 4,")
        if name == "notes":
            return {i: self.of("message", note) for i, note in value.items()}
        if name == "starts":
            return {
                K: kept | {"status": np.array([[number[s] for s in row] for row in kept["status"].tolist()], np.int8)}
                for K, kept in value.items()
            }
        return Before(value) if name == "result_" else value


def same(a, b):
    """Compare results by everything that has to do with statuses."""
    assert type(a) is type(b) and set(vars(a)) == set(vars(b))
    for name in ("status", "status_"):
        if name in vars(a):
            assert np.array_equal(vars(a)[name], vars(b)[name]) and type(vars(a)[name]) is type(vars(b)[name])
    assert getattr(a, "message_", "") == getattr(b, "message_", "")
    for K, kept in vars(a).get("starts", {}).items():
        assert np.array_equal(kept["status"], b.starts[K]["status"]) and kept["status"].dtype == b.starts[K]["status"].dtype


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of fits that are to have other statuses than 0
def test_results_that_were_pickled_with_the_numbers_of_mixtures_are_translated():
    sets = [X, np.r_[X, X + 9.0, X + 20.0], [1.0, 2.0], [], [1.0, np.inf], np.full(30, 2.0)]
    options = dict(family="normal", rng=0, device="cpu", workers=1)
    batch = ns.mixture.fit_many(sets, (2, 3), keep_starts=True, **options)
    assert {12, 13, 4, 7, 8} & set(batch.status.tolist()) >= {4, 7, 8, 13} and "(status 12," in batch.message(0)
    estimator = ns.mixture.Mixture((2, 3), **options).fit(X)
    parts = ns.mixture.fit(sets[1], 2, family=("logistic", {}), rng=0, min_sd_ratio=0.9, errors="status")
    for result in (batch, batch[0], batch[3], estimator, parts):
        for read in (pickle.loads(pickle.dumps(Before(result))), pickle.loads(pickle.dumps(result))):
            same(read, result)
    read = pickle.loads(pickle.dumps(Before(batch)))
    assert [read.message(i) for i in range(len(sets))] == [batch.message(i) for i in range(len(sets))]
    assert parts.status in (0, 11, 13)


def test_every_old_number_is_translated():
    from numbastats.mixture.results import MixtureBatch

    for dtype in (np.int8, np.int64):
        read = object.__new__(MixtureBatch)
        read.__setstate__({"status": np.arange(10, dtype=dtype)})
        assert read.status.tolist() == list(BEFORE.values()) and read.status.dtype == dtype
