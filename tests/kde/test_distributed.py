"""Grids in slabs, samples in shares."""

from __future__ import annotations

import numpy as np
import pytest

from numbastats import kde
from tests.kde.naive import AXES, CPU, GOOD, WRAPS, small

pytestmark = WRAPS


def test_slabs_over_the_samples():
    r = np.random.default_rng(4)
    x, w = r.normal(size=(400, 2)), r.random(400) + 0.1
    axes = [(-3, 3, 12), (-3, 3, 15)]
    want = kde.grid(x, axes, weights=w, **CPU)
    for memory in (x, w):
        own = {"samples": x.copy(), "weights": w.copy()}
        out = own["samples" if memory is x else "weights"].reshape(-1)[:180].reshape(12, 15)
        kde.grid_slabs(axes=axes, slab_rows=2, out=out, **own, **CPU)
        np.testing.assert_allclose(out, want, rtol=0, atol=1e-13)


def test_distributed_weights_are_all_or_none():
    r = np.random.default_rng(0)
    x, w, axes = r.normal(size=(200, 2)), r.uniform(0, 10, 200), [(-4, 4, 9)] * 2
    summary = kde.combine(kde.partial(x[:0], weights=w[:0]), *[kde.partial(x[i::2], weights=w[i::2]) for i in (0, 1)])
    plan = kde.plan(summary, axes, kernel="biweight")
    assert np.allclose(plan.H, kde.KDE(kernel="biweight", **CPU).fit(x, sample_weight=w).H_, rtol=1e-12)
    with pytest.raises(ValueError, match="with weights"):
        kde.partial(x, plan)
    with pytest.raises(ValueError, match="without weights"):
        kde.partial(x, kde.plan(x, axes, kernel="biweight"), weights=w)
    with pytest.raises(ValueError, match="with weights"):
        kde.plan(summary, axes, weighted=False)
    with pytest.raises(ValueError, match="pass weights to all"):
        kde.combine(kde.partial(x), kde.partial(x, weights=w))
    with pytest.raises(ValueError, match="no samples of positive weight"):
        kde.plan(kde.partial(x[:0]), axes)
    nothing = kde.partial(x, weights=np.zeros(200))
    assert kde.combine(nothing, summary).W == summary.W


@pytest.mark.parametrize(("weighted", "form"), [(False, "radial"), (True, "radial"), (False, "product")])
def test_partial_combine_finalize(weighted, form, device):
    x, axes, _ = small(2, n=90)
    w = np.random.default_rng(11).uniform(0.1, 1, 90) if weighted else None
    cuts = [slice(0, 20), slice(20, 21), slice(21, 90)]

    def take(a, s):
        return None if a is None else a[s]

    summary = kde.combine(*[kde.partial(x[s], weights=take(w, s)) for s in cuts])
    options = {"form": form, "sigma": "diag" if form == "product" else "cov"}
    plan = kde.plan(summary, axes, weighted=weighted, **options)
    states = [kde.partial(x[s], plan, weights=take(w, s), **device) for s in cuts]
    whole = kde.partial(x, plan, weights=w, device="cpu")
    left = kde.combine(kde.combine(states[0], states[1]), states[2])
    right = kde.combine(states[2], kde.combine(states[0], states[1]))
    assert np.array_equal(left, whole) and np.array_equal(right, whole)
    got = kde.finalize(left, plan, **device)
    want = kde.grid(x, axes, weights=w, **options, **CPU)
    assert np.abs(got - want).max() <= 1e-12 * want.max()
    assert np.abs(got - want).max() <= 2 * plan.error_bound
    with pytest.raises(ValueError, match="state"):
        kde.finalize(left[:2], plan)
    with pytest.raises(ValueError, match="total_weight"):
        kde.finalize(left, plan, total_weight=0)
    first = cuts[0]  # one share as a density of its own
    total = len(x[first]) if w is None else w[first].sum()
    own = {k: v for k, v in options.items() if k not in ("h", "sigma")} | {"H": plan.H}
    want = kde.grid(x[first], axes, weights=take(w, first), **own, **CPU)
    assert np.abs(kde.finalize(states[0], plan, total_weight=total) - want).max() <= 1e-12 * want.max()
    assert np.array_equal(kde.combine(s for s in states), whole)


def test_states_of_different_plans_are_not_added():
    """A line's state was added to every row of a plane's, and the means of one column to those of two."""
    x = np.random.default_rng(0).normal(size=(20, 2))
    line = kde.partial(x[:, 0], kde.plan(x[:, 0], (-2, 2, 5), h=1.0))
    plane = kde.partial(x, kde.plan(x, [(-2, 2, 5)] * 2, h=1.0))
    for others in ((line, plane), (plane, line), (line, line.tolist()), (line, 1.0 * line)):
        with pytest.raises(ValueError, match="one plan"):
            kde.combine(*others)
    with pytest.raises(ValueError, match="1 and 2 columns"):
        kde.combine(kde.partial(x[:, 0]), kde.partial(x))


def test_plans_of_another_kind():
    state = kde.partial(GOOD, kde.plan(GOOD, AXES))
    for call in (lambda: kde.partial(GOOD, plan="a"), lambda: kde.finalize(state, "b"), lambda: kde.partial(GOOD, state)):
        with pytest.raises(TypeError, match=r"pass the Plan that kde\.plan"):
            call()
    for d in (-1e308, 0, 2.0, "a", 10**400):
        with pytest.raises(ValueError, match="d ?= ?"):
            kde.bandwidth.canonical_ratio("uniform", d)


def test_equality_of_plans_and_summaries():
    plan, summary = kde.plan(GOOD, AXES), kde.partial(GOOD)
    assert plan == plan and plan != kde.plan(GOOD, AXES) and summary == summary and summary != kde.partial(GOOD)
    assert len({plan, summary, kde.partial(GOOD)}) == 3 and plan.model != kde.plan(GOOD, AXES).model
