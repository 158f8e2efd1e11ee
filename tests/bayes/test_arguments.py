"""Invalid input is named; valid input of every kind is taken."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numba import cuda

import numbastats as ns
from tests.bayes.naive import data, quick
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


def test_outcomes_and_rows_with_faults():
    X, y = data()
    for bad in (None, math.nan):
        mixed = y.astype(object)
        mixed[3] = bad
        with pytest.raises(ValueError, match=rf"y\[3\] is {bad}"):
            quick().fit(X, mixed)
    mixed[3] = "one"
    with pytest.raises(TypeError, match="no order"):
        quick().fit(X, mixed)
    model = quick().fit(lambda: iter([(X, y)]))
    for method in (model.predict_proba, model.predict, model.decision_draws):
        with pytest.raises(TypeError, match="is a function"):
            method(lambda: iter([(X, y)]))
    for method in (model.loo, model.waic):
        with pytest.raises(ValueError, match="at least one row"):
            method(X[:0], y[:0])
    with pytest.raises(ValueError, match="one draw only"):
        quick(chains=1, draws=1).fit(X, y).waic(X, y)
    with pytest.raises(ValueError, match="keep='draws'"):
        quick(keep="cov").fit(X, y).predict_proba(X, draws=5)


def test_nullable_columns():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=list("abcd")).astype("Float64")
    assert same(quick().fit(frame, y).coef_, quick().fit(X, y).coef_)
    assert same(quick().fit(frame.astype(object), y).coef_, quick().fit(X, y).coef_)  # objects that are numbers
    frame.iloc[2, 1] = pandas.NA
    for missing in (frame, frame.astype(object)):
        with pytest.raises(ValueError, match=r"X\[2, 1\] is NaN"):
            quick().fit(missing, y)
    words = frame.astype(object)
    words.iloc[2, 1] = "one"
    with pytest.raises(TypeError, match=r"columns that are not numbers, \['b'\]"):
        quick().fit(words, y)


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
def test_rows_with_other_labels():
    """Outcomes, offsets and what else goes with rows are not taken by position where their labels say otherwise."""
    pandas = pytest.importorskip("pandas")
    X, y = data()
    X, y = pandas.DataFrame(X), pandas.Series(y)
    few = dict(chains=2, warmup=60, draws=20, rng=1)
    zero, life = 0.0 * X[0], np.exp(X[1])
    normal = ns.bayes.HorseshoeRegression(**few).fit(X, X[0] + life, offset=zero)
    known = dict(offset=zero)
    for name in ("loo", "waic", "check", "calibration", "projection", "score"):
        method = getattr(normal, name)
        with pytest.raises(ValueError, match="y and X have different indexes"):
            method(X, (X[0] + life)[::-1], **known)
    for name, seed in (("predict", {}), ("sample_outcomes", {"rng": 1})):
        method = getattr(normal, name)
        assert same(method(X, offset=zero, **seed), method(X, offset=zero.to_numpy(), **seed))
        with pytest.raises(ValueError, match="offset and X have different indexes"):
            method(X, offset=zero[::-1])
    with pytest.raises(ValueError, match="sample_weight and X have different indexes"):
        normal.score(X, X[0], 1.0 + zero[::-1], **known)
    classes = ns.bayes.HorseshoeClassifier(**few).fit(X, y)
    for name in ("loo", "calibration", "score"):
        with pytest.raises(ValueError, match="y and X have different indexes"):
            getattr(classes, name)(X, y[::-1])
    for method in (classes.predict, classes.predict_proba, classes.predict_log_proba):
        with pytest.raises(ValueError, match="offset and X have different indexes"):
            method(X, offset=zero[::-1])
    cox = ns.bayes.HorseshoeRegression(response="cox", slab=2.5, **few).fit(X, life, strata=y)
    with pytest.raises(ValueError, match="strata and X have different indexes"):
        cox.predict_survival(X, [life.min()], strata=y[::-1])
    times = ns.bayes.HorseshoeRegression(response="weibull", **few).fit(X, life + X[2] ** 2, event=X[3] > 0.0)
    for wrong in (dict(y=life, event=X[3][::-1] > 0.0), dict(censored=(life, 2.0 * life[::-1]))):
        with pytest.raises(ValueError, match="and X have different indexes"):
            times.loo(X, **wrong)


@pytest.mark.parametrize("wrong", [dict(workers=2.0), dict(workers="2")], ids=str)
def test_workers_of_predictions(wrong):
    """Of a fit on a GPU, which needs no threads, and of predictions."""
    X, y = data()
    with pytest.raises(ValueError, match="workers="):
        quick(device="cuda", **wrong).fit(X, y)
    for keep in ("draws", "cov"):
        model = quick(keep=keep).fit(X, y).set_params(**wrong)
        for method in (model.predict, model.predict_proba, model.predict_log_proba):
            with pytest.raises(ValueError, match="workers="), warnings.catch_warnings(action="ignore"):
                method(X)


class _DeviceArray:
    """What a CuPy array lets others do with it."""

    __module__ = "cupy"
    __cuda_array_interface__ = {}

    def __init__(self, values):
        self.values = values
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, values.ndim

    def get(self):
        return self.values

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")


@pytest.mark.parametrize("place", [_DeviceArray, cuda.to_device], ids=["cupy", "numba"])
def test_arrays_on_a_device(place):
    """Fits and predictions take them; results are NumPy arrays."""
    X, y = data()
    there, outcomes, weights = place(X), place(y.astype(float)), np.arange(120.0)
    want, got = quick().fit(X, y), quick().fit(there, outcomes)
    assert same(got.draws_["beta"], want.draws_["beta"])
    for name in ("predict_proba", "predict_log_proba", "decision_draws"):
        assert same(getattr(got, name)(there), getattr(want, name)(X))
    assert got.predict(there).tolist() == want.predict(X).tolist()
    assert got.score(there, outcomes, place(weights)) == want.score(X, y, weights)
    assert same(got.loo(there, outcomes)["pointwise"], want.loo(X, y)["pointwise"])
    blocks = lambda: ((place(X[i : i + 50]), place(y[i : i + 50].astype(float))) for i in range(0, 120, 50))  # noqa: E731
    assert same(quick().fit(blocks).draws_["beta"], want.draws_["beta"])


def test_accepted_inputs():
    X, y = data()
    base = quick().fit(X, y)
    for labels in (y.astype(int), np.where(y, 1, -1), np.where(y, "b", "a"), y.astype(float)):
        assert same(quick().fit(X, labels).coef_, base.coef_)
    with pytest.warns(UserWarning, match="y has shape \\(120, 1\\)"):
        assert same(quick().fit(X, y[:, None]).coef_, base.coef_)
    assert same(quick().fit(np.asfortranarray(X), y).coef_, base.coef_)
    assert same(quick().fit(X.tolist(), y.tolist()).coef_, base.coef_)
    assert quick(dtype="float32").fit(X, y)._run.chains.rows.X.dtype == np.float32
    assert np.isfinite(quick().fit(np.round(X).astype(int), y).coef_).all()
    with pytest.warns(UserWarning, match="constant"):
        quick().fit(np.column_stack([X, np.ones(120)]), y)
    with pytest.warns(UserWarning, match="standardize"):
        quick().fit(X * [1, 1, 1, 1e5], y)
    duplicate = quick().fit(np.column_stack([X, X]), y)
    assert np.isfinite(duplicate.coef_).all()


BAD = [
    (dict(), lambda X, y: (X, np.arange(120)), "120 different values"),
    (dict(), lambda X, y: (X, y[:-1]), "one outcome per row"),
    (dict(), lambda X, y: (X[0], y), "two axes"),
    (dict(), lambda X, y: (X[:0], y[:0]), "at least one row"),
    (dict(), lambda X, y: (np.where(X == X[3, 2], np.nan, X), y), r"X\[3, 2\] is NaN"),
    (dict(intercept_scale=np.inf), lambda X, y: (X, np.ones(120)), "one class only, 1.0"),
    (dict(), lambda X, y: (X, np.zeros(120, bool)), "one class only, False.*stratified"),
    (dict(), lambda X, y: (X, None), "the target y is None"),
    (dict(), lambda X, y: (X, X[:, 1]), "continuous numbers"),
    (dict(), lambda X, y: (X[:, :0], y), r"0 feature\(s\) \(shape=\(120, 0\)\)"),
    (dict(), lambda X, y: (lambda: iter([(X[:, :0], y)]), None), r"0 feature\(s\)"),
    (dict(), lambda X, y: (lambda: iter([(X, y)]), y), "y=None"),
    (dict(workers=1.5), None, "workers=1.5"),
    (dict(workers="2"), None, "workers='2'"),
    (dict(prior="spike"), None, "'horseshoe', 'ridge', 'lasso'"),
    (dict(sampler="nuts"), None, "'split-hmc'"),
    (dict(keep="some"), None, "'moments'"),
    (dict(draws=0), None, "draws=0"),
    (dict(chains=True), None, "chains=True"),
    (dict(thin=1.5), None, "thin=1.5"),
    (dict(warmup=20), None, "at least 50"),
    (dict(tau_scale=0.0), None, "tau_scale"),
    (dict(slab=-1.0), None, "slab"),
    (dict(tau=np.inf), None, "tau"),
    (dict(device="gpu"), None, "'cuda'"),
]


@pytest.mark.parametrize(("options", "change", "message"), BAD)
def test_bad_input(options, change, message):
    X, y = data()
    if change is not None:
        X, y = change(X, y)
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(X, y)


def test_bad_types_and_memory(monkeypatch):
    X, y = data()
    for bad in (X.astype(complex), X.astype(str)):
        with pytest.raises(TypeError, match="astype"):
            quick().fit(bad, y)
    model = quick().fit(X, y)
    with pytest.raises(ValueError, match="4 features"):
        model.predict_proba(X[:, :3])
    with pytest.raises(ValueError, match="interval"):
        model.predict_proba(X, interval=1.5)
    with pytest.raises(ValueError, match="must hold one of"):
        model.loo(X, np.full(120, 7))
    monkeypatch.setattr("numbastats.bayes.engine.free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match="keep='moments'"):
        quick().fit(X, y)
