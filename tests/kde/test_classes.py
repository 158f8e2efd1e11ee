"""Densities of groups, their classifier and their plots' data."""

from __future__ import annotations

import numpy as np
import pytest

from numbastats import kde
from tests.kde.naive import CPU, WRAPS

pytestmark = WRAPS
RNG = np.random.default_rng(3)
X = np.concatenate([RNG.normal(size=(40, 2)), RNG.normal(2.0, 0.5, (60, 2)), RNG.normal(-2.0, 1.0, (30, 2))])
Y = np.repeat(["b", "a", "c"], [40, 60, 30])
W = RNG.uniform(0.2, 1.0, 130)
AXES = [(-6, 6, 41), (-6, 6, 43)]


def test_groups_are_their_own_densities():
    found = kde.grid(X, AXES, by=Y, weights=W, **CPU)
    assert list(found) == ["a", "b", "c"]
    for key, f in found.items():
        np.testing.assert_array_equal(f, kde.grid(X[Y == key], AXES, weights=W[Y == key], **CPU))
    one = kde.KDE(**CPU).fit_by(X, Y, W)
    np.testing.assert_array_equal(one["b"].grid(AXES), found["b"])


def test_shared_matrix():
    """The mean of the groups' matrices by their weights, with any option."""
    options = dict(kernel="biweight", bandwidth="scott", sigma="diag", **CPU)
    apart = kde.KDE(**options).fit_by(X, Y, W)
    H = sum(one.H_ * W[key == Y].sum() for key, one in apart.items()) / W.sum()
    for key, one in kde.KDE(**options).fit_by(X, Y, W, shared=True).items():
        np.testing.assert_allclose(one.H_, H, rtol=1e-13)
        f = kde.grid(X, AXES, by=Y, weights=W, shared=True, **options)[key]
        np.testing.assert_allclose(f, kde.grid(X[key == Y], AXES, weights=W[key == Y], kernel="biweight", H=H, **CPU), rtol=1e-11)
    with pytest.raises(ValueError, match="pass by="):
        kde.grid(X, AXES, shared=True)


def test_groups_of_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"u": X[:, 0], "kind": pd.Categorical(Y, ["c", "a", "b", "none"]), "v": X[:, 1], "half": X[:, 0] > 0})
    found = kde.grid(frame[["u", "kind", "v"]], AXES, by="kind", **CPU)
    assert list(found) == ["c", "a", "b"]  # the order of the categories, and those that occur
    np.testing.assert_array_equal(found["a"], kde.grid(X[Y == "a"], AXES, **CPU))
    two = kde.KDE(H=np.eye(2), **CPU).fit_by(frame, ["kind", "half"])
    assert set(two) == set(zip(Y.tolist(), (X[:, 0] > 0).tolist(), strict=True)) and list(two["a", True].feature_names_in_) == [
        "u",
        "v",
    ]
    with pytest.raises(ValueError, match=r"by='sort' names 'sort'.*'kind'"):
        kde.grid(frame, AXES, by="sort")
    with pytest.raises(ValueError, match="leaves no column"):
        kde.grid(frame[["kind"]], AXES, by="kind")
    with pytest.raises(TypeError, match=r"columns that are not numbers, \['kind'\]"):
        kde.grid(frame[["u", "kind"]], AXES)
    model = kde.KDEClassifier(**CPU).fit(frame[["u", "v"]], frame["kind"])
    assert list(model.feature_names_in_) == ["u", "v"]
    with pytest.raises(ValueError, match="columns"):
        model.predict(frame[["v", "u"]])
    with pytest.raises(ValueError, match="index"):
        kde.KDE().fit_by(frame["u"], pd.Series(Y, index=np.arange(130) + 1))
    pl = pytest.importorskip("polars")
    same = kde.grid(pl.DataFrame({"u": X[:, 0], "kind": Y.tolist(), "v": X[:, 1]}), AXES, by="kind", **CPU)
    assert list(same) == ["a", "b", "c"]
    np.testing.assert_array_equal(np.asarray(same["c"]), found["c"])


def test_bad_groups():
    with pytest.raises(TypeError, match="column of a data frame"):
        kde.grid(X, AXES, by="kind")
    with pytest.raises(ValueError, match="one label for each of the 130"):
        kde.grid(X, AXES, by=Y[:5])
    with pytest.raises(ValueError, match="missing labels"):
        kde.KDE().fit_by([1.0, 2.0, 3.0], [0.0, np.nan, 1.0])
    with pytest.raises(ValueError, match="missing labels"):
        kde.KDE().fit_by([1.0, 2.0, 3.0], ["a", None, "b"])
    with pytest.raises(ValueError, match=r"group 'b' with 1 sample\(s\): axis 0 is constant"):
        kde.KDE().fit_by([1.0, 2.0, 3.0], ["a", "a", "b"])
    with pytest.raises(ValueError, match="no samples"):
        kde.KDE().fit_by(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="without out="):
        kde.grid(X, AXES, by=Y, out=np.empty((41, 43)))


def gaussian(x, at, H, w):
    d = at[:, None] - x
    q = np.einsum("pia,ab,pib->pi", d, np.linalg.inv(H), d)
    return np.exp(-0.5 * q) / (2 * np.pi * np.sqrt(np.linalg.det(H))), w


@pytest.mark.parametrize("shared", [False, True])
def test_classifier(shared):
    """Probabilities and the leave-one-out accuracy by brute force."""
    model = kde.KDEClassifier(shared=shared, **CPU).fit(X, Y, W)
    at = RNG.normal(size=(20, 2))
    classes = ["a", "b", "c"]
    assert model.classes_.tolist() == classes
    np.testing.assert_allclose(model.priors_, [W[k == Y].sum() / W.sum() for k in classes], rtol=1e-14)
    joint, leave = [], []
    for k, prior, one in zip(classes, model.priors_, model.densities_, strict=True):
        w = W[k == Y]
        values, _ = gaussian(X[k == Y], at, one.H_, w)
        joint.append(prior * values @ w / w.sum())
        own, _ = gaussian(X[k == Y], X, one.H_, w)
        inside = np.zeros(own.shape, bool)
        inside[np.flatnonzero(k == Y), np.arange(len(w))] = True
        weights = np.where(inside, 0.0, w)
        leave.append(prior * (own * weights).sum(1) / weights.sum(1))
    joint, leave = np.stack(joint, 1), np.stack(leave, 1)
    np.testing.assert_allclose(model.predict_proba(at), joint / joint.sum(1, keepdims=True), rtol=1e-11)
    np.testing.assert_array_equal(model.predict(at), np.array(classes)[joint.argmax(1)])
    right = np.array(classes)[leave.argmax(1)] == Y
    assert model.loo_accuracy() == pytest.approx(np.average(right, weights=W), rel=1e-13)
    assert model.score(X, Y, W) == pytest.approx(np.average(model.predict(X) == Y, weights=W), rel=1e-13)
    far = model.predict_log_proba([[60.0, 60.0], [-60.0, -60.0]])  # where all densities underflow
    assert np.isfinite(far).all() and model.predict([[60.0, 60.0]]).shape == (1,)


def test_priors():
    for priors, want in (("equal", [1 / 3] * 3), ([2, 1, 1], [0.5, 0.25, 0.25]), ({"a": 0.0, "c": 3, "b": 1}, [0, 0.25, 0.75])):
        model = kde.KDEClassifier(priors, **CPU).fit(X, Y)
        np.testing.assert_allclose(model.priors_, want, rtol=1e-15)
    assert "a" not in model.predict(X)
    for bad in ("prior", [0.5, 0.5], [1, 1, -1], [0, 0, 0], {"a": 1.0}):
        with pytest.raises(ValueError, match="priors"):
            kde.KDEClassifier(bad).fit(X, Y)


def test_bounded_kernels_outside_their_supports():
    model = kde.KDEClassifier(kernel="epanechnikov", **CPU).fit(X, Y)
    with pytest.warns(UserWarning, match="0 at 1 of 2 points"):
        found = model.predict_proba([[50.0, 50.0], [2.0, 2.0]])
    np.testing.assert_allclose(found[0], model.priors_, rtol=1e-14)
    alone = kde.KDEClassifier(kernel="epanechnikov", H=np.eye(2) * 1e-6, **CPU).fit(X, Y)
    assert alone.loo_accuracy() == 0.0


def test_labels_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    x, y = pandas.DataFrame({"a": np.arange(20.0)}), pandas.Series(np.repeat([0, 1], 10))
    with pytest.raises(ValueError, match="index"):
        kde.KDEClassifier(bandwidth=1.0).fit(x, y.sample(frac=1, random_state=0))


def test_bad_classes():
    for y, message in (
        (None, "requires y"),
        (np.linspace(0, 1, 130), "continuous"),
        (np.r_[np.ones(129), np.nan], "NaN"),
        (Y[:3], "one label"),
        (np.r_[["z"], Y[1:]], r"class 'z' with 1 sample\(s\)"),
    ):
        with pytest.raises(ValueError, match=message):
            kde.KDEClassifier().fit(X, y)
    model = kde.KDEClassifier(**CPU).fit(X, Y)
    for points, message in (
        (X[:, :1], "expecting 2 features"),
        ([[np.nan, 1.0]], "NaN or infinity in 1 rows"),
        (X[0], "Reshape"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(points)
    with pytest.raises(ValueError, match="not fitted"):
        kde.KDEClassifier().loo_accuracy()


@pytest.mark.parametrize("kernel", ["logistic", "epanechnikov"])
def test_left_out_of_kernels_that_are_not_1_at_0(kernel):
    x = np.array([0.0, 0.4, 1.0, 1.1])
    got = kde.KDE(kernel, H=[[0.25]], **CPU).fit(x).loo()
    want = [kde.points(np.delete(x, i), x[i], kernel=kernel, H=[[0.25]], **CPU) for i in range(4)]
    np.testing.assert_allclose(got, want, rtol=1e-12)
