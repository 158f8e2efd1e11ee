"""Input of every kind, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbastats import kde
from tests.kde.naive import AXES, CPU, GOOD, WRAPS, mesh, naive, small

pytestmark = WRAPS


@pytest.mark.parametrize("method", ["auto", "rows-b", "rows-c", "cells", "skde-row", "skde", "ep"])
def test_odd_calls(method):
    """One sample, equal samples, supports that just touch the grid or hold no position, axes of one position."""
    rng = np.random.default_rng(18)
    x, H = rng.standard_normal((20, 2)), np.array([[0.5, 0.2], [0.2, 0.7]])
    axes = [np.linspace(-3, 3, 13), np.linspace(-3, 3, 16)]
    touching = np.array([[-3 - math.sqrt(0.5), 0.0], [3 + math.sqrt(0.5), 0], [0, -3 - math.sqrt(0.7)], [0, 3 + math.sqrt(0.7)]])
    lattice = [np.linspace(-4, 4, 9)] * 2
    for samples, where, matrix in (
        (x[:1], axes, H),
        (np.repeat(x[:1], 20, 0), axes, H),
        (touching, axes, H),
        (x, axes, 1e-6 * H),
        (x, axes, 300 * H),
        (np.array([[0.0, 0], [2, 1], [-2, 1]]), lattice, 4 * np.eye(2)),  # positions exactly on the edge of a support
        (x, [np.zeros(1), axes[1]], H),
        (x, [axes[0], np.zeros(1)], H),
        (x, [np.zeros(1), np.zeros(1)], H),
    ):
        got = kde.grid(samples, where, H=matrix, method=method, **CPU)
        want = naive(samples, mesh(where), matrix).reshape(got.shape)
        assert np.abs(got - want).max() <= 1e-13 * want.max()  # seen 2.8e-14
        assert (got[want == 0] == 0).all()


def test_kinds_of_samples():
    x, axes, H = small(2)
    want = kde.grid(x, axes, H=H, **CPU)
    for same in (np.asfortranarray(x), np.repeat(x, 3, 0)[::3], x[:, ::-1].copy()[:, ::-1], x.tolist()):
        assert np.array_equal(kde.grid(same, axes, H=H, **CPU), want)
    whole = np.round(x).astype(int)
    assert np.array_equal(kde.grid(whole, axes, H=H, **CPU), kde.grid(whole.astype(float), axes, H=H, **CPU))
    w = np.where(np.arange(len(x)) % 3 == 0, 0.0, 1.0)
    want = naive(x, mesh(axes), H, weights=w).reshape(want.shape)
    for size in (1.0, 1e300, 1e-300):
        got = kde.grid(x, axes, H=H, weights=size * w, **CPU)
        assert np.abs(got - want).max() <= 1e-14 * want.max()


def test_matrices():
    x, axes, _ = small(2)
    covariance = np.cov(x.T)
    h = kde.bandwidth.eq9(x)

    def same(a, b):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * b.max())

    same(kde.grid(x, axes, **CPU), kde.grid(x, axes, H=h * h * covariance, **CPU))
    same(kde.grid(x, axes, h=0.7, sigma="diag", **CPU), kde.grid(x, axes, H=0.49 * np.diag(np.diag(covariance)), **CPU))
    same(kde.grid(x, axes, h=0.7, sigma=[2.0, 3.0], **CPU), kde.grid(x, axes, H=0.49 * np.diag([4.0, 9.0]), **CPU))
    same(kde.grid(x, axes, h=0.7, sigma=covariance, **CPU), kde.grid(x, axes, h=0.7, **CPU))
    same(kde.grid(x, axes, h=1.5, bw_convention="sklearn", **CPU), kde.grid(x, axes, H=2.25 * np.eye(2), **CPU))
    same(kde.grid(x, axes, h=0.4, bw_convention="std", **CPU), kde.grid(x, axes, h=0.4 * math.sqrt(6), **CPU))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_matrices_of_any_allowed_size(d):
    """The determinant of H may over- or underflow though H does not."""
    x, _, H = small(d, n=20)
    points = x[:5] + 0.1
    want = naive(x, points, H, "triweight")
    axes = [(-2.0, 3.0, 4)] * d
    grid = kde.grid(x, axes, H=H, kernel="triweight", **CPU)
    for k in (0, 60, -60) if d == 4 else (0, 75, -75) if d == 3 else (0, 76, 78, 80, 82, 90, -78, -80, -82, -90):
        c = 10.0**k
        got = kde.points(x * c, points * c, H=H * c * c, kernel="triweight", **CPU) * c**d
        assert np.abs(got - want).max() <= 1e-14 * want.max()  # observed 4e-15
        got = kde.grid(x * c, [(lo * c, hi * c, m) for lo, hi, m in axes], H=H * c * c, kernel="triweight", **CPU) * c**d
        assert np.abs(got - grid).max() <= 1e-13 * grid.max()  # observed 4e-14
        if d == 2:
            fitted = kde.KDE(H=H * c * c, kernel="triweight", **CPU).fit(x * c)
            part = fitted.marginal(0, points[:, 0] * c) * c
            assert np.allclose(part, kde.KDE(H=H, kernel="triweight", **CPU).fit(x).marginal(0, points[:, 0]), rtol=1e-12)


def test_densities_that_are_no_numbers():
    for size in (1e-180, 1e180):
        with pytest.raises(ValueError, match="rescale"):
            kde.points(np.zeros((3, 4)), np.zeros((1, 4)), H=np.eye(4) * size, **CPU)
    with pytest.raises(ValueError, match="rescale"):  # weights do not make it smaller
        kde.points(np.zeros((1, 4)), np.zeros((1, 4)), H=np.eye(4) * 1e-160, weights=[1e30], **CPU)


def test_one_axis_in_any_form():
    want = kde.grid([0.0, 1.0], [np.arange(3.0)], h=1, sigma="identity", **CPU)
    for axis in (range(3), [0.0, 1, 2], (0, 2, 3), [(0, 2, 3)], np.arange(3)):
        assert np.array_equal(kde.grid([0.0, 1.0], axis, h=1, sigma="identity", **CPU), want)


def test_dropped_samples_have_scales_of_their_own():
    x, scale = np.random.default_rng(0).normal(size=201), np.linspace(0.5, 2, 201)
    x[7] = np.nan
    keep = np.isfinite(x)
    options = dict(h=1, sigma="identity", **CPU)
    want = kde.grid(x[keep], (-3, 3, 9), adaptive=scale[keep], **options)
    assert np.array_equal(kde.grid(x, (-3, 3, 9), adaptive=scale, nan_policy="omit", **options), want)


@pytest.mark.parametrize("weight", [1e150, 1e250, 1e-250])
def test_dropped_samples_do_not_scale_the_weights(weight):
    """A dropped row of weight 1e250 made the squares of the others' weights vanish, and the samples constant."""
    x, w = np.random.default_rng(0).normal(size=(41, 2)), np.random.default_rng(1).uniform(size=41)
    x[7], w[7] = np.nan, weight
    keep = np.isfinite(x).all(axis=1)
    H = kde.KDE(**CPU).fit(x[keep], sample_weight=w[keep]).H_
    axes = [(-2, 2, 9), (-3, 3, 7)]
    got = kde.grid(x, axes, weights=w, nan_policy="omit", **CPU)
    want = naive(x[keep], mesh([np.linspace(*a) for a in axes]), H, weights=w[keep]).reshape(9, 7)
    assert np.abs(got - want).max() <= 1e-13 * want.max()


def test_missing_weights_are_omitted():
    x, w, scale = np.random.default_rng(0).normal(size=(41, 2)), np.linspace(1, 2, 41), np.linspace(0.5, 1.5, 41)
    x[7], w[[7, 30]] = np.nan, np.nan
    keep = np.isfinite(w)
    axes = [(-2, 2, 9), (-3, 3, 7)]
    want = kde.grid(x[keep], axes, weights=w[keep], adaptive=scale[keep], **CPU)
    assert np.array_equal(kde.grid(x, axes, weights=w, adaptive=scale, nan_policy="omit", **CPU), want)
    assert kde.KDE(nan_policy="omit", **CPU).fit(x, sample_weight=w).n_dropped_ == 2
    with pytest.raises(ValueError, match="1 weights are negative"):
        kde.grid(x, axes, weights=np.where(np.arange(41) == 3, -1, w), nan_policy="omit", **CPU)


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        (np.empty((0, 2)), {}, "no samples"),
        (GOOD, {"weights": np.zeros(50)}, "all weights are zero"),
        (GOOD, {"weights": -np.ones(50)}, "negative"),
        (GOOD, {"weights": np.full(50, np.nan)}, "NaN"),
        (GOOD, {"weights": np.r_[1, np.full(49, 1e-30)]}, "one sample has all the weight"),
        (GOOD, {"weights": np.ones(49)}, "one weight per sample"),
        (GOOD[:2], {}, "sigma='diag'"),
        (np.stack([GOOD[:, 0], 2 * GOOD[:, 0]], -1), {}, "H="),
        (np.stack([GOOD[:, 0], np.ones(50)], -1), {}, "axis 1 is constant"),
        (np.where(np.arange(50)[:, None] == 3, np.nan, GOOD), {}, "omit"),
        (np.where(np.arange(50)[:, None] == 3, np.inf, GOOD), {}, "1 of 50"),
        (GOOD, {"H": [[1, 2], [0, 1]]}, "symmetric"),
        (GOOD, {"H": [[1, 2], [2, 1]]}, "positive definite"),
        (GOOD, {"H": np.eye(3)}, "shape"),
        (GOOD, {"H": np.eye(2), "h": 1.0}, "both given"),
        (GOOD, {"H": np.eye(2), "sigma": "diag"}, "both given"),
        (GOOD, {"H": np.eye(2), "bandwidth": "scott"}, "both given"),
        (GOOD, {"h": [1.0, 2.0]}, "sigma="),
        (GOOD, {"h": 0.0}, "> 0"),
        (GOOD, {"h": np.nan}, "> 0"),
        (GOOD, {"kernel": "tophat"}, "'uniform'"),
        (GOOD, {"kernel": "cosine"}, "d = 1"),
        (GOOD, {"bandwidth": "magic"}, "'eq9'"),
        (GOOD, {"bandwidth": "isj"}, "d = 1"),
        (GOOD, {"sigma": "full"}, "'cov'"),
        (GOOD, {"h": 1e-200}, "1e-200 to 1e200"),
        (GOOD, {"h": 1e200}, "1e-200 to 1e200"),
        (GOOD, {"H": 1e250 * np.eye(2)}, "1e-200 to 1e200"),
        (1e200 * GOOD, {}, "larger than 1e100"),
        (1e-200 * GOOD, {}, "too small"),
        (GOOD, {"boundary": [1]}, "dict"),
        (GOOD, {"sigma": [1.0, -1.0]}, "> 0"),
        (GOOD, {"method": "fft"}, "'rows-b'"),
        (GOOD, {"method": "skde-crop"}, "d >= 3"),
        (GOOD, {"method": "rows-c", "weights": np.ones(50)}, "rows-b"),
        (GOOD, {"method": "cells", "weights": np.ones(50)}, "d = 2"),
        (GOOD, {"method": "rows", "kernel": "gaussian"}, "auto"),
        (GOOD, {"kernel": "gaussian", "tail": 0}, "method='ep'"),
        (GOOD, {"method": "rows-a"}, r"method='rows-a' is not known; use one of 'auto', 'rows', 'rows-b'"),
        (GOOD, {"kernel": "gaussian", "tail": 2}, "tail"),
        (GOOD, {"derivative": 2}, "axis"),
        (GOOD, {"derivative": 0, "kernel": "uniform"}, "biweight"),
        (GOOD, {"boundary": {2: ("reflect", 0, 1)}}, "axes 0 to 1"),
        (GOOD, {"boundary": {0: ("mirror", 0, 1)}}, "'reflect'"),
        (GOOD, {"derivative": True}, "not an axis"),
        (GOOD, {"h": "scott"}, "named by bandwidth"),
        (GOOD, {"h": True}, "named by bandwidth"),
        (GOOD, {"h": 1.0, "bandwidth": "scv"}, "both given"),
        (GOOD, {"H": "scott"}, "named by bandwidth"),
        (GOOD, {"sigma": "diag", "bw_convention": "sklearn"}, "sklearn"),
        (GOOD, {"adaptive": np.ones(3)}, "one scale per sample"),
        (GOOD, {"adaptive": -np.ones(50)}, "> 0"),
        (GOOD, {"bw_convention": "scipy", "h": 1.0}, "Gaussian"),
        (GOOD, {"workers": 0}, "workers"),
        (GOOD, {"device": "gpu"}, "'cuda'"),
    ],
)
def test_bad_input(samples, options, message):
    with pytest.raises(ValueError, match=message):
        kde.grid(samples, AXES, **({"device": "cpu"} | options))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ([np.array([0, 1, 3.0]), AXES[1]], "irregular"),
        ([np.array([0, -1, -2.0]), AXES[1]], "not increasing"),
        ([np.array([0, np.nan, 2]), AXES[1]], "NaN"),
        ([np.empty(0), AXES[1]], "shape"),
        ([(0, 0, 3), AXES[1]], "lo < hi"),
        ([(0, 1, 1), AXES[1]], "lo = hi"),
        ([AXES[0]], "1 axes for samples of 2"),
        (None, "per column"),
    ],
)
def test_bad_axes(axes, message):
    with pytest.raises(ValueError, match=message):
        kde.grid(GOOD, axes)


def test_transposed_samples():
    """SciPy's gaussian_kde takes (d, n)."""
    hint, wide = r"shape \(2, 50\).*\(n, d\); transpose\?", GOOD.T
    for call in (
        lambda: kde.grid(wide, AXES),
        lambda: kde.grid(wide, AXES, h=1.0, sigma="identity"),
        lambda: kde.grid(wide, AXES, weights=np.ones(50)),
        lambda: kde.points(wide, GOOD, h=1.0, sigma="identity"),
        lambda: kde.KDE().fit(wide),
        lambda: kde.grid_slabs(wide, AXES, h=1.0, sigma="identity"),
    ):
        with pytest.raises(ValueError, match=hint):
            call()
    with pytest.raises(ValueError, match=r"shape \(2, 300\).*transpose\?"):  # of more dimensions than kernels have constants for
        kde.grid(np.arange(600.0).reshape(2, 300), AXES, h=1.0, sigma="identity")
    assert kde.points(wide, wide, h=50.0, sigma="identity", **CPU).shape == (2,)  # two samples in 50 dimensions
    with pytest.raises(ValueError, match="singular") as error:
        kde.KDE().fit(np.ones((50, 1)) * [[1.0, 2.0]] * np.arange(50.0)[:, None])
    assert "transpose" not in str(error.value)


def test_names_of_other_libraries():
    for bandwidth in (0.5, np.float32(0.5), None):
        with pytest.raises(ValueError, match=r"Pass a number as h=.*bw_convention='sklearn'"):
            kde.grid(GOOD, AXES, bandwidth=bandwidth)
    with pytest.raises(ValueError, match="bandwidth='bot' is not known"):
        kde.grid(GOOD, AXES, h=1.0, bandwidth="bot")
    np.testing.assert_array_equal(kde.grid(GOOD, AXES, kernel="normal", **CPU), kde.grid(GOOD, AXES, kernel="gaussian", **CPU))
    assert kde.KDE(kernel="normal").fit(GOOD).marginal([0, 1], GOOD[0]) == kde.points(GOOD, GOOD[:1], kernel="gaussian")[0]
    assert kde.bandwidth.lscv(GOOD, kernel="normal") == kde.bandwidth.lscv(GOOD, kernel="gaussian")
    with pytest.raises(ValueError, match="kernel='normal law' is not known"):
        kde.grid(GOOD, AXES, kernel="normal law")


def test_sparse_samples():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="sparse"):
        kde.grid(sparse.csr_matrix(GOOD), AXES)


def test_other_bad_input():
    with pytest.raises(ValueError, match=r"kde\.points"):
        kde.grid(np.random.default_rng(1).standard_normal((50, 5)), [(-1, 1, 2)] * 5)
    with pytest.raises(MemoryError, match="grid_slabs"):
        kde.grid(GOOD, [(-3, 3, 1 << 30), (-3, 3, 1 << 30)])
    with pytest.raises(TypeError, match="complex128"):
        kde.grid(GOOD.astype(complex), AXES)
    with pytest.raises(TypeError, match="no argument 'colour'"):
        kde.grid_slabs(GOOD, AXES, colour=1)
    with_nan = np.concatenate([GOOD, [[np.nan, 1]]])
    kept = kde.KDE(nan_policy="omit", **CPU).fit(with_nan)
    assert kept.n_dropped_ == 1
    np.testing.assert_allclose(kept.grid(AXES), kde.grid(GOOD, AXES, **CPU), rtol=1e-12)
    masked = np.ma.array(np.nan_to_num(with_nan), mask=np.isnan(with_nan))  # a hidden value is a missing one
    with pytest.raises(ValueError, match="omit"):
        kde.grid(masked, AXES)
    np.testing.assert_array_equal(kde.grid(masked, AXES, nan_policy="omit", **CPU), kept.grid(AXES))


def test_weighted_covariance():
    """The judge is numpy.cov with `aweights`, whose factor is sum w - sum w^2 / sum w."""
    r = np.random.default_rng(14)
    x, w = r.standard_normal((9, 2)) @ [[1.0, 0.6], [0.0, 2.0]], r.uniform(0.1, 3.0, 9)
    for data, weights in ((x, w), (x, 1e4 * w), (x[:, :1], w)):
        want = np.atleast_2d(np.cov(data.T, aweights=weights))
        np.testing.assert_allclose(kde.KDE(h=1.0, **CPU).fit(data, sample_weight=weights).H_, want, rtol=1e-12)
        plan = kde.plan(kde.partial(data, weights=weights), [(-5, 5, 5)] * data.shape[1], h=1.0)
        np.testing.assert_allclose(plan.H, want, rtol=1e-12)


def test_many_dimensions():
    """More columns than lanes of products are worth: moments by matrix products, against NumPy; 1600 x 800 took 15 s."""
    r = np.random.default_rng(16)
    x, w = r.standard_normal((120, 40)) + 100.0, r.uniform(0.1, 2.0, 120)
    for weights in (None, w):
        fitted = kde.KDE(h=1.0, **CPU).fit(x, sample_weight=weights)
        np.testing.assert_allclose(fitted.H_, np.cov(x.T, aweights=weights), rtol=1e-10, atol=1e-12)
    for bad in (np.nan, np.inf):
        x[3, 5] = bad
        with pytest.raises(ValueError, match="1 of 120 samples contain NaN or inf"):
            kde.KDE(h=1.0).fit(x)
    with pytest.raises(ValueError, match="up to 250 are allowed"):
        kde.KDE(H=np.eye(400)).fit(np.zeros((2, 400)))


def test_points_of_the_wrong_shape_are_refused():
    x = np.random.default_rng(0).normal(size=(99, 2))
    plane, line = kde.KDE(**CPU).fit(x), kde.KDE(**CPU).fit(x[:, 0])
    calls = [
        lambda: plane.marginal([0, 1], [[0.1, 0.1, 0.2]]),
        lambda: line.cdf([[0.1, 9.0]]),
        lambda: plane.cdf([[1.0, 2.0, 3.0]]),
        lambda: plane.box_probability([1, 2, 3], 3),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="shape"):
            call()
    triangular = kde.KDE(kernel="triangular", **CPU).fit(x)
    got = triangular.cdf([[0, 0], [np.nan, 1]])
    assert np.isnan(got[1]) and got[0] == triangular.cdf([[0, 0]])[0]
    assert triangular.cdf(np.empty((0, 2))).shape == plane.cdf(np.empty((0, 2))).shape == (0,)
    for fitted, message in (
        (kde.KDE(**CPU).fit(np.random.default_rng(0).normal(size=(99, 5))), "5 dimensions"),
        (kde.KDE(kernel="gaussian", tail=0, **CPU).fit(x), "tail such as"),
    ):
        for call in (lambda f: f.cdf(np.zeros((1, f.n_features_in_))), lambda f: f.box_probability(0, 1)):
            with pytest.raises(ValueError, match=message):
                call(fitted)
    with pytest.raises(ValueError, match="integer >= 2"):
        triangular.box_probability(0, 1, shape=1)


def test_axes_of_single_precision():
    x = np.random.default_rng(3).normal(size=200).astype(np.float32)
    axis = np.linspace(-3, 3, 101, dtype=np.float32)
    want = naive(x[:, None].astype(float), axis[:, None].astype(float), np.array([[0.25]]))
    assert np.abs(kde.grid(x, axis, H=0.25, **CPU) - want).max() <= 1e-7 * want.max()
    with pytest.raises(ValueError, match="irregular"):
        kde.grid(x, axis + np.float32(1e-5) * (np.arange(101) == 50), H=0.25)


def test_columns_that_are_no_numbers_are_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 1.0], "group": ["u", "v", "v"]})
    for column in (frame.group, frame.group.astype("category")):
        with pytest.raises(TypeError, match=r"columns that are not numbers, \['group'\]; drop them"):
            kde.KDE().fit(frame.assign(group=column))


def test_masses_of_regions_are_shares():
    """90 for 0.9 gave NaN."""
    for probs, text in ((90, "90"), ([0.5, -0.1], "-0.1")):
        with pytest.raises(ValueError, match=f"probs has {text}; masses lie in .0, 1., such as 0.9"):
            kde.hdr_levels([1.0, 2.0, 1.0], probs)
    assert np.isnan(kde.hdr_levels([1.0, 2.0, 1.0], np.nan))


def test_frames():
    """Columns that are no numbers are named; numbers of which some are missing are NaN; boxes have the columns' order."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": GOOD[:, 0], "b": GOOD[:, 1]})
    for wrong in (list("xy") * 25, pandas.Categorical(list("xy") * 25), [True] * 50):
        with pytest.raises(TypeError, match=r"not numbers, \['c'\]"):
            kde.grid(frame.assign(c=wrong), [(0, 1, 3)] * 3, **CPU)
    holes = frame.assign(b=pandas.array([None, *range(49)], dtype="Int64"))
    with pytest.raises(ValueError, match="1 of 50 samples contain NaN"):
        kde.points(holes, [[0.0, 0.0]])
    assert kde.points(holes, [[0.0, 20.0]], nan_policy="omit", **CPU)[0] > 0
    fitted = kde.KDE(**CPU).fit(frame)
    low, high = frame.min(), frame.max()
    assert 0.5 < fitted.box_probability(low, high) < 1
    with pytest.raises(ValueError, match=r"hi has the columns \['b', 'a'\]"):
        fitted.box_probability(low, high[["b", "a"]])
