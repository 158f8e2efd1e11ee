"""Listed points, the estimator and the bandwidth rules."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from scipy.special import betainc, logsumexp
from scipy.stats import gaussian_kde, multivariate_normal

from numbastats import kde
from numbastats._core.errors import ConvergenceWarning, NotFittedError
from numbastats.kde import bandwidth
from tests.test_kde import CPU, PROFILE, WRAPS, constant, mesh, naive, small

pytestmark = WRAPS

# --- points ---


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_points(d, device):
    rng = np.random.default_rng(d)
    x = rng.standard_normal((70, d))
    H = np.eye(d) * 2.0 + 0.3
    p = np.concatenate([rng.standard_normal((6, d)), x[:3], np.full((1, d), 50.0)])
    w = rng.uniform(0.1, 1, 70)
    for kernel, weights in (("epanechnikov", None), ("epanechnikov", w), ("triweight", w)):
        want = naive(x, p, H, kernel, weights)
        for method in ("cells", "ep"):
            got = kde.points(x, p, H=H, kernel=kernel, weights=weights, method=method, **device)
            assert np.abs(got - want).max() <= 5e-15 * want.max()
            assert got[-1] == 0


@pytest.mark.parametrize("kernel", list(PROFILE))
def test_cells_of_many_samples(kernel):
    """Enough samples that cells lie inside the support and moments are used; several passes over the points' order."""
    rng = np.random.default_rng(1)
    for d in (1,) if kernel == "cosine" else (1, 2, 3):
        x = rng.standard_normal((20_000, d)) * 3.0 ** np.arange(d)
        H = np.cov(x.T).reshape(d, d) * 0.2
        p = rng.standard_normal((400, d)) * 3.0 ** np.arange(d)
        want = naive(x, p[:60], H, kernel)
        for workers in (1, 2):
            got = kde.points(x, p, H=H, kernel=kernel, device="cpu", workers=workers)
            assert np.abs(got[:60] - want).max() <= 5e-15 * got.max() * (1 if kernel in ("uniform", "epanechnikov") else 4)


def test_moments_of_cells_in_space():
    """Supports that hold many cells, which takes more samples or wider kernels than above."""
    r = np.random.default_rng(2)
    x, w, at = r.standard_normal((20_000, 3)), r.uniform(0.1, 1, 20_000), r.standard_normal((50, 3))
    for kernel, weights in (("uniform", None), ("epanechnikov", None), ("epanechnikov", w)):
        want = naive(x, at, 4 * np.eye(3), kernel, weights)
        got = kde.points(x, at, H=4 * np.eye(3), kernel=kernel, weights=weights, **CPU)
        assert np.abs(got - want).max() <= 2e-14 * want.max()


def test_points_special_values(device):
    x, _, H = small(2)
    p = np.array([[np.nan, 0], [0, np.nan], [np.inf, 0], [-np.inf, np.inf], [0.1, 0.2]])
    got = kde.points(x, p, H=H, **device)
    assert np.isnan(got[:2]).all() and (got[2:4] == 0).all() and got[4] > 0
    log = kde.points(x, p[2:], H=H, log=True, **device)
    assert log[0] == -np.inf and log[2] == math.log(got[4])
    assert kde.points(x, np.empty((0, 2)), H=H, **device).shape == (0,)
    assert kde.points(x.astype(np.float32), p, H=H, **device).dtype == np.float32
    out = np.empty(5)
    assert kde.points(x, p, H=H, out=out, **device) is out
    for bad in (np.zeros((3, 3)), np.zeros((3, 1)), np.zeros(2)):
        with pytest.raises(ValueError, match="points have"):
            kde.points(x, bad, H=H, **device)


def test_gaussian_points():
    x, _, H = small(2)
    p = x[:20] + 0.1
    delta = p[:, None] - x
    q = np.einsum("pia,ab,pib->pi", delta, np.linalg.inv(H), delta)
    want = np.exp(-q / 2).mean(1) / (2 * math.pi * math.sqrt(np.linalg.det(H)))
    np.testing.assert_allclose(kde.points(x, p, H=H, kernel="gaussian", tail=0, **CPU), want, rtol=1e-13)
    cut = kde.points(x, p, H=H, kernel="gaussian", tail=1e-12, **CPU)
    np.testing.assert_allclose(cut, want, rtol=0, atol=3e-12 * want.max())
    with pytest.raises(ValueError, match="ep"):
        kde.points(x, p, H=H, kernel="gaussian", tail=0, method="cells")


# --- the estimator ---


def test_scikit_learn_protocol():
    fitted = kde.KDE(kernel="biweight", h=0.4)
    assert fitted.get_params()["h"] == 0.4 and repr(fitted) == "KDE(kernel='biweight', h=0.4)"
    assert fitted.set_params(h=0.5) is fitted and fitted.h == 0.5
    with pytest.raises(ValueError, match="not a parameter"):
        fitted.set_params(width=1)
    with pytest.raises(NotFittedError, match="not fitted"):
        fitted.grid([(0, 1, 2)])
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(fitted)
    assert copy is not fitted and copy.get_params() == fitted.get_params()
    from sklearn.model_selection import GridSearchCV

    x = np.random.default_rng(4).standard_normal((300, 1))
    search = GridSearchCV(kde.KDE(kernel="gaussian", bw_convention="std"), {"h": [0.4, 3.0]}, cv=3).fit(x)
    assert search.best_params_ == {"h": 0.4}
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    w = np.arange(300.0)
    weighted = make_pipeline(StandardScaler(), kde.KDE(h=0.4)).fit(x, kde__sample_weight=w)
    z = (x - x.mean()) / x.std()
    want = kde.KDE(h=0.4).fit(z, sample_weight=w).score_samples(z)
    np.testing.assert_allclose(weighted.score_samples(x), want, rtol=1e-12)


def test_labels_are_ignored():
    """Pipelines and searches pass labels on; as weights they would drop class 0."""
    r = np.random.default_rng(3)
    x, labels = r.normal(size=(200, 2)), np.arange(200) % 2
    x[labels == 0] -= 3.0
    at = np.array([[-3.0, -3.0], [0.0, 0.0]])
    want = naive(x, at, np.eye(2) * 0.8**2)
    for fitted in (kde.KDE(h=0.8, sigma="identity").fit(x, labels), kde.KDE(h=0.8, sigma="identity").fit(x, y=["a"] * 200)):
        np.testing.assert_allclose(fitted.points(at), want, rtol=1e-13)
    weighted = kde.KDE(h=0.8, sigma="identity").fit(x, labels, sample_weight=1.0 + labels)
    np.testing.assert_allclose(weighted.points(at), naive(x, at, np.eye(2) * 0.8**2, weights=1.0 + labels), rtol=1e-13)
    selection = pytest.importorskip("sklearn.model_selection")
    options = dict(h=[0.5, 1.0], kernel=["gaussian"], tail=[0.0])
    with_labels = selection.GridSearchCV(kde.KDE(sigma="identity"), options, cv=selection.KFold(3)).fit(x, labels)
    without = selection.GridSearchCV(kde.KDE(sigma="identity"), options, cv=selection.KFold(3)).fit(x)
    np.testing.assert_array_equal(with_labels.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"])


REFUSED = {
    "check_complex_data": "a TypeError that names the cast, as everywhere in the library; scikit-learn wants a ValueError",
    "check_dtype_object": "arrays of objects are refused, even of numbers",
    "check_fit1d": "samples (n,) are samples in one dimension",
}


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    options = dict(sigma="identity", h=2.0)  # one check has 27 samples in 30 dimensions, whose covariance is singular
    results = checks.check_estimator(kde.KDE(**options), expected_failed_checks=REFUSED, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(REFUSED)


def test_log_densities_of_the_estimator():
    x = np.random.default_rng(4).standard_normal((200, 2))
    fitted = kde.KDE(h=0.8).fit(x)
    new = np.array([[0.0, 0.1], [0.5, -0.5], [90.0, 0.0]])
    logs = fitted.score_samples(new)
    np.testing.assert_allclose(np.exp(logs), fitted.points(new), rtol=1e-14)
    assert logs[2] == -np.inf and np.isfinite(logs[:2]).all()
    assert fitted.score(new[:2]) == pytest.approx(logs[:2].sum(), rel=1e-14)


def test_kind_of_the_estimator():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(np.random.default_rng(4).standard_normal((200, 2)))
    fitted = kde.KDE(**CPU).fit(x)
    axes = [(-1, 1, 3)] * 2
    for got, want in ((fitted.points(x), kde.points(x, x, **CPU)), (fitted.grid(axes), kde.grid(x, axes, **CPU))):
        assert isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor) and torch.equal(got, want)
    assert isinstance(fitted.score(x), float)


def test_densities_of_the_estimator():
    x, axes, H = small(2)
    w = np.random.default_rng(1).uniform(0.2, 1, len(x))
    fitted = kde.KDE(H=H, **CPU).fit(x, sample_weight=w)
    assert np.array_equal(fitted.grid(axes), kde.grid(x, axes, H=H, weights=w, **CPU))
    first = fitted.points(x)
    assert np.array_equal(first, kde.points(x, x, H=H, weights=w, **CPU)) and np.array_equal(first, fitted.pdf(x))
    assert np.array_equal(fitted.logpdf(x), np.log(first)) and np.array_equal(fitted.score_samples(x), fitted.logpdf(x))
    assert fitted.n_eff_ == pytest.approx(w.sum() ** 2 / (w**2).sum()) and fitted.n_features_in_ == 2
    loo = fitted.loo()
    for i in (0, 7, 31):
        keep = np.arange(len(x)) != i
        want = naive(x[keep], x[i], H, weights=w[keep])[0]
        assert abs(loo[i] - want) <= 1e-14 * first.max()


@pytest.mark.parametrize("kernel", [*PROFILE, "gaussian"])
def test_distribution_function(kernel):
    from scipy.integrate import quad

    rng = np.random.default_rng(2)
    x, w = rng.standard_normal(30), rng.uniform(0.1, 1, 30)
    fitted = kde.KDE(kernel=kernel, h=0.5, sigma="identity", **CPU).fit(x, sample_weight=w)
    at = np.array([-1.0, 0.2, 1.1])
    breaks = np.sort(np.concatenate([x - 0.5, x, x + 0.5]))

    def integral(end):
        cuts = [-6.0, *breaks[breaks < end], end]
        total = 0.0
        for a, b in zip(cuts, cuts[1:], strict=False):
            total += quad(lambda t: fitted.points(np.array([t]))[0], a, b, epsabs=1e-13)[0] if b > a else 0.0
        return total

    if kernel in ("epanechnikov", "triangular", "cosine"):  # one closed form each for powers, the two others by their own
        np.testing.assert_allclose(fitted.cdf(at[:1]), [integral(at[0])], atol=1e-10)
    assert fitted.cdf(np.array([-20.0]))[0] == 0 and fitted.cdf(np.array([20.0]))[0] == pytest.approx(1, abs=1e-14)
    step = 1e-4
    slope = (fitted.cdf(at + step) - fitted.cdf(at - step)) / (2 * step)
    np.testing.assert_allclose(slope, fitted.points(at), rtol=2e-3)
    assert fitted.box_probability(-1, 1.1) == pytest.approx(fitted.cdf(at)[2] - fitted.cdf(at)[0], abs=1e-15)


@pytest.mark.parametrize("kernel", ["uniform", "epanechnikov", "biweight", "triweight"])
def test_boxes_in_the_plane_are_exact(kernel):
    """Half planes have the marginal's closed form; boxes against a sum over 500^2 positions, good to 1e-6, 1e-4 where K jumps."""
    rng = np.random.default_rng(3)
    x, w, scale = rng.standard_normal((6, 2)), rng.uniform(0.1, 1, 6), rng.uniform(0.5, 1.5, 6)
    power = {"uniform": 0, "epanechnikov": 1, "biweight": 2, "triweight": 3}[kernel]
    for H in (np.array([[0.5, 0.4], [0.4, 0.6]]), np.array([[0.5, -0.4], [-0.4, 0.6]])):
        fitted = kde.KDE(kernel=kernel, H=H, adaptive=scale, **CPU).fit(x, sample_weight=w)
        assert fitted.box_probability(-np.inf, np.inf) == pytest.approx(1, abs=4e-16)
        for axis in (0, 1):
            at = np.full(2, 9.0)
            at[axis] = 0.3
            u = np.clip((0.3 - x[:, axis]) / (scale * math.sqrt(H[axis, axis])), -1, 1)
            want = betainc(power + 1.5, power + 1.5, (1 + u) / 2) @ w / w.sum()
            assert fitted.cdf([at])[0] == pytest.approx(want, abs=1e-15)
        lo, hi = np.array([-0.5, -0.6]), np.array([0.7, 0.4])
        axes = [a + (b - a) * (np.arange(500) + 0.5) / 500 for a, b in zip(lo, hi, strict=True)]
        want = naive(x, mesh(axes), H, kernel, w, scale).mean() * np.prod(hi - lo)
        assert fitted.box_probability(lo, hi) == pytest.approx(want, abs=1e-6 if power else 1e-4)


def test_boxes_of_other_estimates():
    x, _, _ = small(3)
    draws = x[:40]
    fitted = kde.KDE(form="product", H=np.diag([0.5, 0.8, 1.1]), kernel="triangular", **CPU).fit(draws)
    u = np.clip((np.array([0.2, 0.5, 1.0]) - draws) / np.sqrt([0.5, 0.8, 1.1]), -1, 1)
    want = np.where(u < 0, (1 + u) ** 2 / 2, 1 - (1 - u) ** 2 / 2).prod(1).mean()
    assert fitted.cdf([[0.2, 0.5, 1.0]])[0] == pytest.approx(want, abs=1e-15)
    assert np.isnan(fitted.cdf([[np.nan, 0, 0]])[0])
    line = kde.KDE(boundary={0: ("reflect", 0, None)}, **CPU).fit(np.abs(x[:, 0]))
    assert line.cdf([-1.0, 0.0]).tolist() == [0.0, 0.0] and isinstance(line.cdf(0.5), float)
    half = np.abs(x[:, :2])
    fitted = kde.KDE(boundary={0: ("reflect", 0, None)}, **CPU).fit(half)
    assert fitted.box_probability(-np.inf, np.inf) == pytest.approx(1, abs=1e-14)
    assert kde.KDE(**CPU).fit(x).box_probability(-np.inf, np.inf) == pytest.approx(1, abs=1e-3)  # a quadrature


@pytest.mark.parametrize("kernel", ["uniform", "epanechnikov", "triweight", "triangular"])
def test_quadrature_in_space(kernel):
    """Boxes against a midpoint sum over 60^3 positions, half spaces against the marginal's closed form, both within the bound."""
    rng = np.random.default_rng(3)
    x, w, scale = rng.standard_normal((6, 3)), rng.uniform(0.1, 1, 6), rng.uniform(0.7, 1.5, 6)
    H = np.array([[0.6, 0.4, -0.2], [0.4, 0.7, 0.1], [-0.2, 0.1, 0.9]])
    lo, hi = np.array([-0.5, -0.6, -0.9]), np.array([0.7, 0.4, 0.8])
    fitted = kde.KDE(kernel=kernel, H=H, adaptive=scale, **CPU).fit(x, sample_weight=w)
    axes = [a + (b - a) * (np.arange(60) + 0.5) / 60 for a, b in zip(lo, hi, strict=True)]
    want = naive(x, mesh(axes), H, kernel, w, scale).mean() * np.prod(hi - lo)
    bounds = []
    for shape in (9, 17):
        error = abs(fitted.box_probability(lo, hi, shape=shape) - want)
        bounds.append(fitted.quadrature_error_)
        assert error <= bounds[-1] and error <= 1e-3  # seen 8e-4 for the uniform kernel, 3e-4 for the others
    assert bounds[0] / bounds[1] == pytest.approx(2 if kernel == "uniform" else 4)
    if kernel != "triangular":
        power = {"uniform": 0, "epanechnikov": 1, "triweight": 3}[kernel]
        for axis in range(3):
            at = np.full(3, 9.0)
            at[axis] = 0.3
            u = np.clip((0.3 - x[:, axis]) / (scale * math.sqrt(H[axis, axis])), -1, 1)
            want = betainc(power + 2, power + 2, (1 + u) / 2) @ w / w.sum()
            error = abs(fitted.cdf([at])[0] - want)
            assert error <= fitted.quadrature_error_ and error <= 1.5e-3
    plane = kde.KDE(H=H[:2, :2], **CPU).fit(x[:, :2])
    plane.cdf([[0.0, 0.0]])
    assert plane.quadrature_error_ == 0


def test_quadrature_far_from_the_origin():
    """Differences of rounded grid positions as steps cost 1e-4 at 1e12; at 1e15 the positions coincide."""
    x, H = np.round(np.random.default_rng(0).normal(size=(40, 2)) * 8) / 8, np.array([[0.5, 0.2], [0.2, 0.6]])
    want = [np.mean([multivariate_normal.cdf(at, v, H) for v in x]) for at in x[:5]]
    near = kde.KDE("gaussian", H=H, **CPU).fit(x)
    for far, error in ((2.0**40, 1e-6), (2.0**49, 1e-4)):  # observed 3e-7, 6e-5: the ends of the axes are rounded
        fitted = kde.KDE("gaussian", H=H, **CPU).fit(x + far)
        got = fitted.cdf(x[:5] + far)
        assert np.abs(got - want).max() <= fitted.quadrature_error_ and np.abs(got - near.cdf(x[:5])).max() <= error
        assert fitted.box_probability(far - 1, far + 0.5) == pytest.approx(near.box_probability(-1, 0.5), rel=1e-13)


def test_probabilities_in_the_plane():
    x, _, H = small(2)
    fitted = kde.KDE(H=H, kernel="biweight", **CPU).fit(x)
    assert fitted.box_probability([-np.inf, -np.inf], [np.inf, np.inf]) == pytest.approx(1, abs=1e-15)
    draws = fitted.sample(200_000, rng=1)
    inside = ((draws > [-1, -2]) & (draws < [1, 2])).all(1).mean()
    assert fitted.box_probability([-1, -2], [1, 2]) == pytest.approx(inside, abs=5e-3)
    assert fitted.cdf([[1.0, 2.0]])[0] == pytest.approx((draws < [1, 2]).all(1).mean(), abs=5e-3)
    assert fitted.box_probability([90, 90], [99, 99]) == 0
    with pytest.raises(ValueError, match="lo <= hi"):
        fitted.box_probability([1, 1], [0, 0])


@pytest.mark.parametrize("kernel", ["uniform", "epanechnikov", "triweight"])
def test_marginal(kernel):
    """Against a sum over the other axis of a fine grid."""
    x, _, H = small(2)
    fitted = kde.KDE(H=H, kernel=kernel, **CPU).fit(x)
    reach = math.sqrt(H[1, 1])
    other = np.linspace(x[:, 1].min() - reach, x[:, 1].max() + reach, 4001)
    where = np.linspace(-2, 2, 5)
    f = fitted.grid([where, other])
    want = f.sum(1) * (other[1] - other[0])
    np.testing.assert_allclose(fitted.marginal(0, where), want, rtol=2e-3 if kernel == "uniform" else 1e-5)


@pytest.mark.parametrize("kernel", ["uniform", "epanechnikov", "triweight"])
def test_marginal_over_several_axes(kernel):
    """Against a sum over the other axis, and the one-axis marginal of a marginal; adaptive scales and weights."""
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((40, 3)), rng.uniform(0.2, 1, 40)
    H = np.array([[1.0, 0.3, 0.2], [0.3, 0.8, -0.1], [0.2, -0.1, 1.2]])
    fitted = kde.KDE(H=H, kernel=kernel, adaptive=rng.uniform(0.7, 1.3, 40), **CPU).fit(x, sample_weight=w)
    other = np.linspace(-6, 6, 4001)
    at = rng.standard_normal((5, 2)) * 0.5
    got = fitted.marginal([2, 0], at)
    assert np.array_equal(got, fitted.marginal([2, 0])(at))
    for (z, x0), value in zip(at, got, strict=True):
        line = np.column_stack([np.full(4001, x0), other, np.full(4001, z)])
        want = fitted.points(line).sum() * (other[1] - other[0])
        assert value == pytest.approx(want, rel=1e-2 if kernel == "uniform" else 1e-4)
    assert np.abs(fitted.marginal((0, 1, 2), x[:5]) - fitted.points(x[:5])).max() <= 1e-14
    for bad in (3, [], [0, 0], -1):
        with pytest.raises(ValueError, match="different axes"):
            fitted.marginal(bad)


def test_attributes_by_their_plain_names():
    x, axes, _ = small(2)
    fitted = kde.KDE(**CPU)
    with pytest.raises(AttributeError):
        fitted.n_eff  # noqa: B018
    fitted.fit(x).grid(axes)
    assert fitted.n_eff == len(x) and fitted.method_used == "rows-c" and 0 < fitted.error_bound < 1e-12
    fitted.points(x)
    assert fitted.method_used == "cells" and fitted.error_bound is None and fitted.h is None


def test_weighted_covariance():
    """The judge is numpy.cov with `aweights`, whose factor is sum w - sum w^2 / sum w."""
    r = np.random.default_rng(14)
    x, w = r.standard_normal((9, 2)) @ [[1.0, 0.6], [0.0, 2.0]], r.uniform(0.1, 3.0, 9)
    for data, weights in ((x, w), (x, 1e4 * w), (x[:, :1], w)):
        want = np.atleast_2d(np.cov(data.T, aweights=weights))
        np.testing.assert_allclose(kde.KDE(h=1.0, **CPU).fit(data, sample_weight=weights).H_, want, rtol=1e-12)
        plan = kde.plan(kde.partial(data, weights=weights), [(-5, 5, 5)] * data.shape[1], h=1.0)
        np.testing.assert_allclose(plan.H, want, rtol=1e-12)


@pytest.mark.parametrize("walls", [(0,), (0, 1)])
def test_mirrored_ellipses_of_correlated_kernels(walls):
    """The judge is the midpoint rule on a fine grid, over the unbounded density and its mirror images."""
    r = np.random.default_rng(15)
    x, H = np.abs(r.normal(size=(12, 2))), np.array([[0.5, 0.35], [0.35, 0.4]])
    fitted = kde.KDE(kernel="biweight", H=H, boundary={a: ("reflect", 0.0, None) for a in walls}, **CPU).fit(x)
    lo, hi = np.array([0.0, 0.1]), np.array([0.45, 0.6])
    middle = [a + (b - a) * (np.arange(400) + 0.5) / 400 for a, b in zip(lo, hi, strict=True)]
    at = mesh(middle)
    signs = itertools.product(*[(1.0, -1.0) if a in walls else (1.0,) for a in (0, 1)])
    want = sum(naive(x, at * s, H, "biweight").mean() for s in signs) * np.prod(hi - lo)
    assert fitted.box_probability(lo, hi) == pytest.approx(want, abs=2e-6)
    corner = hi[None] if 1 in walls else None
    if corner is not None:
        at = mesh([h * (np.arange(400) + 0.5) / 400 for h in hi])
        want = sum(naive(x, at * np.array(s), H, "biweight").mean() for s in itertools.product((1.0, -1.0), repeat=2)) * hi.prod()
        assert fitted.cdf(corner)[0] == pytest.approx(want, abs=2e-6)


@pytest.mark.parametrize("tail", [1e-10, 0.05, 0.3])
def test_distribution_function_of_cut_gaussians(tail):
    """The judge is SciPy's truncated normal distribution."""
    from scipy.stats import chi2, truncnorm

    tau = math.sqrt(chi2.isf(tail, 1))
    x, w, s = np.array([-1.0, 0.2, 1.5]), np.array([1.0, 2.0, 0.5]), 0.6
    at = np.linspace(-3.5, 4.0, 61)
    want = sum(v * truncnorm(-tau, tau, loc=m, scale=s).cdf(at) for m, v in zip(x, w, strict=True)) / w.sum()
    fitted = kde.KDE(kernel="gaussian", H=[[s * s]], tail=tail, **CPU).fit(x, sample_weight=w)
    np.testing.assert_allclose(fitted.cdf(at), want, rtol=0, atol=2e-15)
    density = sum(v * truncnorm(-tau, tau, loc=m, scale=s).pdf(at) for m, v in zip(x, w, strict=True)) / w.sum()
    np.testing.assert_allclose(fitted.points(at), density, rtol=0, atol=1e-14)


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


# --- product form ---


def product(x, points, H, kernel, weights=None, scale=None, tail=0.0):
    """Sum of products of one-dimensional kernels along the axes."""
    w = np.ones(len(x)) if weights is None else weights
    b = np.sqrt(np.diag(H)) * (np.ones(len(x)) if scale is None else scale)[:, None]
    u = (np.asarray(points)[:, None] - x) / b
    if kernel == "gaussian":
        from scipy.stats import norm

        v = np.where(np.abs(u) < norm.isf(tail / 2), norm.pdf(u), 0) / (1 - tail)
    else:
        v = np.where(np.abs(u) < 1, PROFILE[kernel](np.minimum(u * u, 1)), 0) * constant(kernel, 1)
    return (v / b).prod(-1) @ w / w.sum()


@pytest.mark.parametrize("d", [2, 3, 4])
def test_product_form(d, device):
    x, axes, _ = small(d)
    rng = np.random.default_rng(d)
    H, w, scale = np.diag(rng.uniform(0.5, 1.5, d)), rng.uniform(0.1, 1, len(x)), rng.uniform(0.6, 1.5, len(x))
    for kernel in ("epanechnikov", "uniform", "cosine", "gaussian") if d == 2 else ("biweight", "triangular"):
        for weights, adaptive in ((None, None), (w, scale)):
            options = dict(H=H, kernel=kernel, weights=weights, adaptive=adaptive, form="product", tail=1e-3, **device)
            want = product(x, mesh(axes), H, kernel, weights, adaptive, 1e-3)
            rows = kernel in ("epanechnikov", "uniform", "biweight")
            for method in ("skde-row", "skde", "rows-b") if rows else ("auto", "skde"):
                f = kde.grid(x, axes, method=method, **options).reshape(-1)
                assert np.abs(f - want).max() <= (1e-13 if method == "rows-b" else 1e-14) * want.max()
                assert (f[want == 0] == 0).all()
            if rows:
                options |= CPU
                assert np.array_equal(f, kde.grid(x, axes, method="rows-b", **options).reshape(-1))
            p = mesh(axes)[:: 7 * d]
            for method in ("cells", "ep"):
                f = kde.points(x, p, method=method, **options)
                assert np.abs(f - want[:: 7 * d]).max() <= 1e-14 * want.max()


def test_product_form_of_the_estimator():
    x, _, _ = small(3)
    fitted = kde.KDE(form="product", sigma="diag", **CPU).fit(x)
    r, mu2 = bandwidth.roughness("epanechnikov", 1)
    assert fitted.h_ == pytest.approx((4 * r**3 * (2 * math.sqrt(math.pi)) ** 3 / (mu2**2 * 5 * len(x))) ** (1 / 7))
    draws = fitted.sample(40_000, rng=1)
    want = x.var(0) + np.diag(fitted.H_) / 5
    np.testing.assert_allclose(draws.var(0), want, rtol=0.05)
    at = x[:4, [1, 2]]
    want = product(x[:, [1, 2]], at, fitted.H_[1:, 1:], "epanechnikov")
    np.testing.assert_allclose(fitted.marginal([1, 2], at), want, rtol=1e-13)
    half = kde.KDE(form="product", H=np.eye(3) * 0.3, boundary={0: ("renorm", x[:, 0].min(), None)}, **CPU).fit(x)
    assert half.points(x).min() > 0
    line = kde.KDE(form="product", **CPU).fit(x[:, 0])
    assert np.array_equal(line.points(x[:, 0]), kde.KDE(**CPU).fit(x[:, 0]).points(x[:, 0]))
    with pytest.raises(ValueError, match="diag"):
        kde.KDE(form="product").fit(x)
    fitted.grid([(-1, 1, 30)] * 3)
    assert fitted.method_used_ == "rows-b"
    for wrong in ("rows-c", "skde-crop", "cells"):
        with pytest.raises(ValueError, match="skde-row"):
            fitted.grid([(-1, 1, 3)] * 3, method=wrong)
    with pytest.raises(ValueError, match="'radial'"):
        kde.grid(x, [(-1, 1, 3)] * 3, form="box")


@pytest.mark.parametrize("kernel", [*PROFILE, "gaussian"])
def test_draws(kernel):
    from scipy.stats import kstest

    x = np.array([0.0, 10.0, 20.0])
    fitted = kde.KDE(kernel=kernel, h=2.0, sigma="identity", **CPU).fit(x, sample_weight=[1.0, 0.0, 3.0])
    draws = fitted.sample(40_000, rng=3)[:, 0]
    assert kstest(draws, fitted.cdf).pvalue > 1e-3
    assert np.array_equal(draws[:100], fitted.sample(100, rng=3)[:, 0])
    if kernel == "cosine":
        return
    plane = kde.KDE(kernel=kernel, h=2.0, sigma="identity", **CPU).fit(np.array([[0.0, 50.0], [1.0, 50.0]]))
    y = plane.sample(20_000, rng=4)
    mu2 = bandwidth.roughness(kernel, 2)[1]
    assert y[:, 1].var() == pytest.approx(4 * mu2, rel=0.04)
    if kernel != "gaussian":
        assert np.abs(y[:, 1] - 50).max() < 2


@pytest.mark.parametrize("kernel", ["epanechnikov", "triangular", "gaussian"])
def test_draws_of_adaptive_scales(kernel):
    """Every sample has supports of a scale of its own; on a line against the distribution function, in the plane the variance."""
    from scipy.stats import kstest

    fitted = kde.KDE(kernel=kernel, h=2.0, sigma="identity", adaptive=[0.5, 3.0], **CPU).fit(np.array([0.0, 20.0]))
    assert kstest(fitted.sample(40_000, rng=5)[:, 0], fitted.cdf).pvalue > 1e-3  # 0.27, 0.26, 0.14
    plane = kde.KDE(kernel=kernel, h=2.0, sigma="identity", adaptive=[0.5, 3.0], **CPU).fit(np.array([[0.0, 5.0], [99.0, 5.0]]))
    y = plane.sample(40_000, rng=4)
    for scale, part in ((0.5, y[y[:, 0] < 50]), (3.0, y[y[:, 0] > 50])):
        assert part[:, 1].var() == pytest.approx((2 * scale) ** 2 * bandwidth.roughness(kernel, 2)[1], rel=0.04)


def test_draws_respect_boundaries():
    x = np.random.default_rng(5).exponential(1, 300)
    y = kde.KDE(boundary={0: ("reflect", 0, None)}, **CPU).fit(x).sample(5000, rng=1)
    assert y.min() >= 0
    angle = np.random.default_rng(6).vonmises(0, 1, 300) % (2 * math.pi)
    y = kde.KDE(h=0.5, sigma="identity", boundary={0: ("periodic", 0, 2 * math.pi)}, **CPU).fit(angle).sample(5000, rng=1)
    assert y.min() >= 0 and y.max() <= 2 * math.pi


def test_draws_between_reflecting_walls():
    """Kernels wider than the interval, so that draws are folded several times; the judge is Kolmogorov's test, p > 0.001."""
    from scipy.stats import kstest

    at = np.array([0.1, 0.15, 0.3])
    fitted = kde.KDE(kernel="triangular", h=2.5, sigma="identity", boundary={0: ("reflect", 0.0, 1.0)}, **CPU).fit(at)
    images = np.concatenate([s * at + 2 * k for k in range(-3, 4) for s in (1, -1)])

    def below(x):
        u = np.clip((np.array([x, np.zeros_like(x)])[..., None] - images) / 2.5, -1, 1)
        mass = np.where(u < 0, 0.5 * (1 + u) ** 2, 1 - 0.5 * (1 - u) ** 2)
        return (mass[0] - mass[1]).sum(-1) / len(at)

    assert below(np.array([1.0]))[0] == pytest.approx(1, abs=1e-14)
    assert kstest(fitted.sample(20_000, rng=3)[:, 0], below).pvalue > 1e-3
    narrow = kde.KDE(h=0.1, sigma="identity", boundary={0: ("reflect", 0.0, 1.0)}, **CPU).fit([0.02])
    y = narrow.sample(20_000, rng=1)[:, 0]
    assert 0 <= y.min() and y.max() <= 0.12  # not on the other side


# --- axes ---


def test_regular_axes():
    x, _, _ = small(2)
    axes = kde.regular_axes(x, shape=(20, 30))
    f = kde.grid(x, axes, **CPU)
    assert f.shape == (20, 30)
    assert (f[[0, -1]] == 0).all() and (f[:, [0, -1]] == 0).all()
    axes = kde.regular_axes(x, step=0.5)
    assert axes[0][1] - axes[0][0] == 0.5
    for bad in (dict(shape=1), dict(step=-1.0), dict(shape=3, step=1.0), dict(pad=math.inf), dict(pad=-1.0), dict(step=1e-300)):
        with pytest.raises(ValueError, match="s"):
            kde.regular_axes(x, **bad)


# --- bandwidth rules: constants of the specification, and direct sums ---


def test_constants():
    for d, value in ((1, 2.344914356324), (2, 2.401873910352), (3, 2.491244289732)):
        assert bandwidth.normal_reference(1, d) == pytest.approx(value, abs=1e-12)
    table = {
        1: (1.740057, 2.213804, 2.622615, 2.978106),
        2: (2.0, 2.401874, 2.779193, 3.115399),
        3: (2.220143, 2.571939, 2.923955, 3.243849),
    }
    for d, ratios in table.items():
        for kernel, value in zip(("uniform", "epanechnikov", "biweight", "triweight"), ratios, strict=True):
            assert bandwidth.canonical_ratio(kernel, d) == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("kernel", ["uniform", "epanechnikov", "biweight", "triweight", "triangular"])
def test_roughness(kernel):
    """By quadrature over the ball."""
    r, w = np.polynomial.legendre.leggauss(200)
    r, w = 0.5 * (r + 1), 0.5 * w
    for d in (1, 2, 3, 4):
        shell = {1: 2.0, 2: 2 * math.pi, 3: 4 * math.pi, 4: 2 * math.pi**2}[d] * r ** (d - 1) * w
        k = constant(kernel, d) * PROFILE[kernel](r * r)
        assert np.sum(shell * k) == pytest.approx(1, abs=1e-9)
        got = bandwidth.roughness(kernel, d)
        assert got[0] == pytest.approx(np.sum(shell * k * k), rel=1e-9)
        assert got[1] == pytest.approx(np.sum(shell * k * r * r) / d, rel=1e-9)


def self_convolution(r, d):
    """(K*K)(r) of the Epanechnikov kernel at distances r in units of H: its formula for d = 1, else by the package's table."""
    r = np.asarray(r, float)
    if d == 1:
        return np.where(r < 2, 3 / 160 * np.maximum(2 - r, 0) ** 3 * (r * r + 6 * r + 4), 0.0)
    return np.maximum(2 - r, 0) ** ((d + 5) / 2) * np.polyval(bandwidth._convolution_table(d), np.minimum(r, 2) - 1)


def test_self_convolution():
    """Values of the specification, and the lens integral by brute force in the plane."""
    for d, value in ((1, 0.6), (2, 0.424413181578388), (3, 0.341046306625490)):
        assert self_convolution(0.0, d) == pytest.approx(value, abs=1e-12)
        assert self_convolution(2.5, d) == 0
    m = 3001
    g = np.linspace(-1, 1, m)
    for r in (0.4, 1.3):
        a = np.maximum(1 - g[:, None] ** 2 - g**2, 0)
        b = np.maximum(1 - (g[:, None] - r) ** 2 - g**2, 0)
        want = (2 / math.pi) ** 2 * np.sum(a * b) * (2 / (m - 1)) ** 2
        assert self_convolution(r, 2) == pytest.approx(want, rel=1e-6)
    r = np.linspace(0, 2, 500)
    for d in (2, 3):
        np.testing.assert_allclose(self_convolution(r, d), bandwidth._lens(r, d), rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2])
def test_cross_validation_score(d):
    rng = np.random.default_rng(7)
    x, w = rng.standard_normal((60, d)), rng.uniform(0.3, 1, 60)
    h = 0.9
    whitened = np.linalg.solve(np.linalg.cholesky(np.atleast_2d(np.cov(x.T, aweights=w))), x.T).T
    r = np.linalg.norm(whitened[:, None] - whitened, axis=-1) / h
    k = np.where(r < 1, 1 - r * r, 0) * constant("epanechnikov", d)
    other = w.sum() - w
    leave = (k @ w - np.diag(k) * w) / other
    want = (w @ self_convolution(r, d) @ w / w.sum() ** 2 - 2 * np.sum(w * leave) / w.sum()) / h**d
    assert bandwidth.lscv_score(x, h, w) == pytest.approx(want, rel=1e-12)
    best = bandwidth.lscv(x, weights=w)
    near = bandwidth.lscv_score(x, np.array([0.97 * best, best, 1.03 * best]), w)
    assert near[1] <= near.min() + 1e-9


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_cross_validation_by_brute_force(d):
    """Bandwidths from a few near pairs to all of them, ties and an outlier; largest relative error seen: 1e-13."""
    rng = np.random.default_rng(12)
    n = 300
    x, w = np.round(rng.standard_normal((n, d)), 2), rng.uniform(0.1, 1, n)
    x[7] = 40.0
    for weights in (None, w):
        v = np.ones(n) if weights is None else weights
        whitened = np.linalg.solve(np.linalg.cholesky(np.atleast_2d(np.cov(x.T, aweights=weights))), x.T).T
        distance = np.linalg.norm(whitened[:, None] - whitened, axis=-1)
        hs = np.array([0.05, 0.3, 0.9, 2.0, 8.0])
        got = bandwidth.lscv_score(x, hs, weights)
        for h, value in zip(hs, got, strict=True):
            r = distance / h
            kernel = np.where(r < 1, 1 - r * r, 0) * constant("epanechnikov", d)
            np.fill_diagonal(kernel, 0)
            if d == 1:
                overlap = np.where(r < 2, 3 / 160 * np.maximum(2 - r, 0) ** 3 * (r * r + 6 * r + 4), 0)
            else:
                overlap = np.where(r < 2, bandwidth._lens(np.minimum(r, 2 - 1e-15), d), 0)
            leave = kernel @ v / (v.sum() - v)
            want = (v @ overlap @ v / v.sum() ** 2 - 2 * np.sum(v * leave) / v.sum()) / h**d
            assert value == pytest.approx(want, rel=1e-12)


def test_cross_validation_does_not_depend_on_workers():
    for d, n in ((1, 4000), (2, 1500)):
        x = np.random.default_rng(d).standard_normal((n, d))
        assert bandwidth.lscv(x, workers=1) == bandwidth.lscv(x, workers=2)
    for d in (2, 3, 4):
        r = np.random.default_rng(d)
        x, w = r.standard_normal((2000, d)), r.uniform(0.1, 1, 2000)
        assert bandwidth.lscv(x, weights=w, workers=1) == bandwidth.lscv(x, weights=w, workers=2)
        assert bandwidth.plugin(x, weights=w, workers=1) == bandwidth.plugin(x, weights=w, workers=2)
    tied = np.repeat(np.random.default_rng(1).standard_normal(30), 2)
    with pytest.warns(ConvergenceWarning) as seen:
        bandwidth.lscv(tied)
    assert len(seen) == 1


def test_selectors_on_the_normal_law():
    """Within 15 % of the bandwidth of least asymptotic error, 0.193 for n = 5000."""
    x = np.random.default_rng(8).standard_normal(5000)
    best = bandwidth.normal_reference(5000, 1, "gaussian")
    for rule in (bandwidth.isj, bandwidth.plugin, bandwidth.silverman):
        assert rule(x, kernel="gaussian") == pytest.approx(best, rel=0.15)
        weighted = rule(x, kernel="gaussian", weights=np.full(5000, 3.0))
        assert weighted == pytest.approx(rule(x, kernel="gaussian"), rel=0.02)
    assert bandwidth.scott(x, kernel="gaussian") == pytest.approx(5000**-0.2)
    assert bandwidth.eq9(x) == pytest.approx(bandwidth.silverman(x), rel=1e-12)


def test_plugin_on_the_line():
    """The two stages of Sheather and Jones by double sums, with NumPy's Hermite polynomials; bins cost 1e-4."""
    x = np.random.default_rng(18).gamma(2.0, size=300)
    n, z = len(x), x[:, None] - x

    def psi(order, g):
        u = z / g
        values = np.polynomial.hermite_e.HermiteE.basis(order)(u) * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        return values.sum() / (n * n * g ** (order + 1))

    spread = min(x.std(ddof=1), np.subtract(*np.quantile(x, [0.75, 0.25])) / 1.349)
    psi8 = 105 / (32 * math.sqrt(math.pi) * spread**9)
    psi6 = psi(6, (30 / (math.sqrt(2 * math.pi) * psi8 * n)) ** (1 / 9))
    psi4 = psi(4, (-6 / (math.sqrt(2 * math.pi) * psi6 * n)) ** (1 / 7))
    want = (1 / (2 * math.sqrt(math.pi) * psi4 * n)) ** 0.2
    assert bandwidth.plugin(x, kernel="gaussian") * x.std(ddof=1) == pytest.approx(want, rel=5e-4)


def test_improved_sheather_jones():
    """The fixed point of Botev, Grotowski and Kroese, equations (27) to (30), with sums of cosines in place of bins."""
    from scipy.optimize import brentq

    x = np.concatenate([np.random.default_rng(19).normal(size=300), np.random.default_rng(20).normal(4.0, 0.5, 200)])
    n, span = len(x), 2 * np.ptp(x)
    k = np.arange(1.0, 1000.0)
    a2 = np.cos(math.pi * k * ((x - x.min() + span / 4) / span)[:, None]).mean(0) ** 2

    def norm(s, t):  # of the s-th derivative
        return 2 * math.pi ** (2 * s) * np.sum(k ** (2 * s) * a2 * np.exp(-((k * math.pi) ** 2) * t))

    def excess(t):
        f = norm(7, t)
        for s in (6, 5, 4, 3, 2):
            double_factorial = math.factorial(2 * s) / (2**s * math.factorial(s))
            f = norm(
                s, (2 * (1 + 2 ** -(s + 0.5)) / 3 * double_factorial / (math.sqrt(2 * math.pi) * n * f)) ** (2 / (3 + 2 * s))
            )
        return t - (2 * n * math.sqrt(math.pi) * f) ** -0.4

    want = math.sqrt(brentq(excess, 1e-8, 0.01)) * span
    assert bandwidth.isj(x, kernel="gaussian") * x.std(ddof=1) == pytest.approx(want, rel=1e-3)


@pytest.mark.parametrize("d", [2, 3])
def test_plugin_in_more_dimensions(d):
    """By direct sums with the Laplacians written out; near the best bandwidth of the normal law."""
    rng = np.random.default_rng(13)
    x, w = rng.standard_normal((150, d)), rng.uniform(0.3, 1, 150)
    y = np.linalg.solve(np.linalg.cholesky(np.cov(x.T, aweights=w)), x.T).T
    z = ((y[:, None] - y) ** 2).sum(-1)
    n, c = w.sum() ** 2 / (w * w).sum(), (2 * math.pi) ** (-d / 2)

    def psi(s, g):
        t = z / g**2
        p2 = t**2 - 2 * (d + 2) * t + d * (d + 2)
        p3 = t**3 - 3 * (d + 4) * t**2 + 3 * (d + 2) * (d + 4) * t - d * (d + 2) * (d + 4)
        return c * (w @ ((p2 if s == 2 else p3) * np.exp(-t / 2)) @ w) / w.sum() ** 2 / g ** (d + 2 * s)

    psi8 = d * (d + 2) * (d + 4) * (d + 6) / 16 * (4 * math.pi) ** (-d / 2)
    psi6 = psi(3, (2 * c * d * (d + 2) * (d + 4) / (psi8 * n)) ** (1 / (d + 8)))
    psi4 = psi(2, (-2 * c * d * (d + 2) / (psi6 * n)) ** (1 / (d + 6)))
    want = (d / ((4 * math.pi) ** (d / 2) * psi4 * n)) ** (1 / (d + 4))
    assert bandwidth.plugin(x, kernel="gaussian", weights=w) == pytest.approx(want, rel=1e-12)
    x = rng.standard_normal((3000, d))
    assert bandwidth.plugin(x) == pytest.approx(bandwidth.eq9(x), rel=0.1)
    assert kde.KDE(bandwidth="plugin", **CPU).fit(x).h_ == pytest.approx(bandwidth.plugin(x), rel=1e-12)


def test_selectors_see_two_modes():
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.normal(-4, 1, 2500), rng.normal(4, 0.3, 2500)])
    sd = x.std(ddof=1)
    for rule in (bandwidth.isj, bandwidth.plugin):
        assert rule(x, kernel="gaussian") * sd < 0.4 * bandwidth.silverman(x, kernel="gaussian") * sd


def test_selectors_by_name():
    x = np.random.default_rng(10).standard_normal(300)
    for name in ("eq9", "scott", "silverman", "isj", "plugin", "lscv"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = kde.KDE(bandwidth=name, **CPU).fit(x)
        assert fitted.h_ == pytest.approx(getattr(bandwidth, name)(x), rel=1e-9)
        assert fitted.H_[0, 0] == pytest.approx(fitted.h_**2 * x.var(ddof=1))
    two = np.random.default_rng(11).standard_normal((200, 2))
    assert kde.KDE(bandwidth="lscv").fit(two).h_ > 0


def test_rules_do_not_depend_on_units():
    r = np.random.default_rng(12)
    x, w = r.normal(size=300), r.uniform(0.1, 1, 300)
    for name in bandwidth.SELECTORS:
        rule = bandwidth.SELECTORS[name]
        for data in (x,) if name == "isj" else (x, np.stack([x, r.normal(size=300)], -1)):
            want, weighted = rule(data), rule(data, weights=w)
            for k in (-900, -300, -116, 113, 300, 900):
                assert rule(np.ldexp(data, k)) == want, (name, k)
            for c in (1e-300, 1e-170, 1e170, 1e305):
                assert abs(rule(data, weights=w * c) / weighted - 1) <= 1e-11, (name, c)  # observed 1.5e-12


def test_bad_selector_input():
    for rule in (bandwidth.isj, bandwidth.plugin):
        with pytest.raises(ValueError, match="equal"):
            rule(np.ones(5))
    with pytest.raises(ValueError, match="d = 1"):
        bandwidth.isj(np.zeros((5, 2)))
    for rule in (bandwidth.lscv, bandwidth.plugin):
        for bad in (np.zeros((5, 2)), np.ones((1, 2)), np.eye(2)):
            with pytest.raises(ValueError, match="singular"):
                rule(bad)
    with pytest.raises(ValueError, match="NaN"):
        bandwidth.eq9([1.0, np.nan])
    with pytest.raises(ValueError, match="weights"):
        bandwidth.eq9([1.0, 2.0], weights=[1.0])
    with pytest.raises(ValueError, match="'epanechnikov'"):
        bandwidth.roughness("box", 1)
    with pytest.warns(ConvergenceWarning, match="ties|end of its bracket"):
        bandwidth.lscv(np.repeat(np.random.default_rng(1).standard_normal(30), 2))


def test_one_dimensional_grid_of_points_agrees():
    """The two engines against each other's definition on a mesh, every kernel."""
    x, axes, H = small(3)
    for kernel in ("epanechnikov", "triangular", "gaussian"):
        f = kde.grid(x, axes, H=H, kernel=kernel, **CPU)
        p = kde.points(x, mesh(axes), H=H, kernel=kernel, **CPU)
        assert np.abs(f.reshape(-1) - p).max() <= 1e-13 * p.max()


@pytest.mark.parametrize("adaptive", [False, True])
def test_logarithms_of_gaussians_where_the_density_underflows(adaptive):
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(40, 2)) + 5.0, rng.uniform(0.5, 2.0, 40)
    scale = rng.uniform(0.5, 2.0, 40) if adaptive else np.ones(40)
    H = np.array([[0.3, 0.1], [0.1, 0.2]])
    points = np.array([[5.0, 5.0], [40.0, -30.0], [1e5, 3.0], [np.nan, 0.0], [np.inf, 0.0]])
    laws = [multivariate_normal(c, H * s**2) for c, s in zip(x, scale, strict=True)]
    want = logsumexp([np.log(v / w.sum()) + law.logpdf(points[:3]) for v, law in zip(w, laws, strict=True)], axis=0)
    options = dict(weights=w, kernel="gaussian", H=H, tail=0, adaptive=scale if adaptive else None)
    got = kde.points(x, points, log=True, **options, **CPU)
    np.testing.assert_allclose(got[:3], want, rtol=1e-13)  # observed 7e-16
    assert np.isnan(got[3]) and got[4] == -np.inf
    with np.errstate(divide="ignore"):
        assert np.isneginf(np.log(kde.points(x, points[1:3], **options, **CPU))).all()


@pytest.mark.parametrize(("d", "h"), [(3, 1e-10), (5, 1e-30), (1, 1e30)])
def test_logarithms_of_gaussians_in_any_unit(d, h):
    """Narrow kernels are high: their sum underflows where the density is far above the least float."""
    radius, scale = np.array([1.0, 30.0, 37.5, 38.0, 38.3, 38.5, 38.6, 39.0, 60.0]), np.array([0.5, 0.25])
    points = np.zeros((len(radius), d))
    points[:, 0] = radius * h
    options = dict(kernel="gaussian", tail=0, h=h, sigma="identity", log=True, **CPU)
    want = -0.5 * radius**2 - d * math.log(h * math.sqrt(2 * math.pi))
    np.testing.assert_allclose(kde.points(np.zeros((1, d)), points, **options), want, rtol=2e-15)  # observed 4.4e-16
    np.testing.assert_allclose(kde.points(np.zeros((2, d)), points, weights=[1, 1e-18], **options), want, rtol=2e-15)
    parts = [-0.5 * (radius / s) ** 2 - d * math.log(h * s * math.sqrt(2 * math.pi)) for s in scale]
    want = logsumexp(parts, axis=0) - math.log(2)
    np.testing.assert_allclose(kde.points(np.zeros((2, d)), points, adaptive=scale, **options), want, rtol=2e-15)


def test_masses_on_a_periodic_axis():
    """By quadrature: all mass lies between the ends of the period, wherever the samples were given."""
    x = np.abs(np.random.default_rng(0).normal(size=(200, 3))) * 0.2
    for shift in (0.0, 30.0):
        fitted = kde.KDE(h=0.2, sigma="identity", boundary={0: ("periodic", 0.0, 3.0)}, **CPU).fit(x + [shift, 0, 0])
        mass = fitted.box_probability([-9] * 3, [9] * 3)
        assert abs(mass - 1) <= fitted.quadrature_error_ <= 0.1
        assert abs(fitted.cdf([[3, 9, 9]])[0] - 1) <= fitted.quadrature_error_


def test_marginal_of_all_axes_keeps_the_boundary():
    x = np.abs(np.random.default_rng(0).normal(size=(200, 2)))
    fitted = kde.KDE(h=1.0, boundary={0: ("reflect", 0, None)}, **CPU).fit(x)
    assert fitted.marginal([1, 0], [[0.1, 0.05]]) == fitted.marginal([0, 1], [[0.05, 0.1]]) == fitted.points([[0.05, 0.1]])
    assert fitted.marginal([1, 0], [[0.1, -0.05]]) == 0


def test_points_of_the_wrong_shape_are_refused():
    x = np.random.default_rng(0).normal(size=(99, 2))
    plane, line = kde.KDE(**CPU).fit(x), kde.KDE(**CPU).fit(x[:, 0])
    calls = [
        lambda: plane.marginal([0, 1], [[0.1, 0.1, 0.2]]), lambda: line.cdf([[0.1, 9.0]]), lambda: plane.cdf([[1.0, 2.0, 3.0]]),
        lambda: plane.box_probability([1, 2, 3], 3),
    ]  # fmt: skip
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


def test_rules_count_neither_weightless_samples_nor_ties_twice():
    x = np.random.default_rng(0).normal(size=500)
    more, w = np.r_[x, 1e6], np.r_[np.ones(500), 0]
    for rule in (kde.bandwidth.isj, kde.bandwidth.plugin):
        assert rule(more, weights=w) == pytest.approx(rule(x, weights=np.ones(500)), rel=1e-12)
    for far in (1e16, 1e150):  # whose units would leave the others no digits
        y, plane = np.r_[x[:200], far], np.c_[np.r_[x[:200], far], np.r_[x[-200:], far]]
        for rule, at in itertools.product((kde.bandwidth.isj, kde.bandwidth.plugin, kde.bandwidth.lscv), (y, plane)):
            if rule is not kde.bandwidth.isj or at is y:
                want = rule(at[:-1], weights=np.ones(200))
                assert rule(at, weights=np.r_[np.ones(200), 0]) == pytest.approx(want, rel=1e-12)
    ties = np.round(x, 1)
    assert kde.bandwidth.isj(ties, weights=np.ones(500)) == pytest.approx(kde.bandwidth.isj(ties), rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 20, 300])
def test_rules_take_equal_weights_for_none(n):
    """The plug-in rule was 1.7 times wider with equal weights for 3 samples, because of other quartiles."""
    x = np.random.default_rng(n).normal(size=n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of `isj` and `lscv` for few samples
        for name, rule in bandwidth.SELECTORS.items():
            assert rule(x, weights=np.full(n, 0.3)) == pytest.approx(rule(x), rel=1e-9), name  # observed 2e-12


@pytest.mark.parametrize("tail", ["one", "cauchy", "lognormal"])
def test_rules_in_one_dimension_see_the_middle_of_heavy_tails(tail):
    """The plug-in rule by sums over all pairs; ISJ does not move with what lies far out. Both were 3 to 7 times off."""
    rng = np.random.default_rng(3)
    x = {
        "one": np.r_[rng.normal(size=400), 1e6],
        "cauchy": rng.standard_cauchy(700),
        "lognormal": np.exp(3 * rng.normal(size=500)),
    }[tail]
    n, sd, z = len(x), x.std(ddof=1), x[:, None] - x
    scale = min(sd, np.subtract(*np.quantile(x, [0.75, 0.25])) / 1.3489795)

    def psi(order, g):
        t = (z / g) ** 2
        p = t**2 - 6 * t + 3 if order == 4 else t**3 - 15 * t**2 + 45 * t - 15
        return (p * np.exp(-t / 2)).sum() / (n**2 * math.sqrt(2 * math.pi) * g ** (order + 1))

    psi8 = 105 / (32 * math.sqrt(math.pi) * scale**9)
    g2 = (-6 / (math.sqrt(2 * math.pi) * psi(6, (30 / (math.sqrt(2 * math.pi) * psi8 * n)) ** (1 / 9)) * n)) ** (1 / 7)
    want = (2 * math.sqrt(math.pi) * psi(4, g2) * n) ** -0.2
    assert bandwidth.plugin(x, kernel="gaussian") * sd == pytest.approx(want, rel=1e-3)  # observed 2e-4
    if tail == "one":
        near = np.r_[x[:-1], 30.0]  # resolved by 4096 bins in all
        want = bandwidth.isj(near, kernel="gaussian") * near.std(ddof=1)
        assert bandwidth.isj(x, kernel="gaussian") * sd == pytest.approx(want, rel=0.005)


def test_an_estimate_does_not_change_with_the_arrays_it_was_made_of():
    rng = np.random.default_rng(0)
    x, w, scale = rng.normal(size=(60, 2)), rng.uniform(0.5, 1, 60), rng.uniform(0.5, 2, 60)
    fitted, at = kde.KDE(adaptive=scale, **CPU).fit(x, sample_weight=w), rng.normal(size=(5, 2))
    want = naive(x, at, fitted.H_, weights=w, scale=scale)
    for a in (x, w, scale):
        a[:] = 3.0
    assert np.abs(fitted.points(at) - want).max() <= 1e-14 * want.max()  # was 0


def test_left_out_densities_of_samples_on_their_own():
    """Exactly 0 where no other support reaches: rounding left 1e-17, a finite logarithm."""
    rng = np.random.default_rng(1)
    x = np.r_[rng.normal(size=(50, 2)), [[100.0, 3.0], [-77.7, 1 / 3], [0.1, 55.5]]]
    w, scale = rng.exponential(size=53), rng.uniform(0.5, 2, 53)
    for kernel in ("epanechnikov", "gaussian"):
        fitted = kde.KDE(kernel=kernel, h=0.7, sigma="identity", adaptive=scale, **CPU).fit(x, sample_weight=w)
        assert (fitted.loo()[-3:] == 0).all() and (fitted.loo()[:-3] > 0).sum() > 40


@pytest.mark.parametrize("weight", [1e6, 1e15, 1e30])
def test_left_out_density_of_a_sample_with_nearly_all_the_weight(weight):
    """The density of the others is not what rounding leaves of the whole one: at 1e15 that was 0."""
    rng = np.random.default_rng(3)
    x, w, scale = rng.normal(size=(30, 2)), np.r_[0.0, np.ones(29)], rng.uniform(0.5, 2, 30)
    w[4] = weight
    fitted = kde.KDE("triweight", h=1.5, sigma="identity", adaptive=scale, **CPU).fit(x, sample_weight=w)
    rest = np.arange(30) != 4
    want = naive(x[rest], x[4:5], fitted.H_, kernel="triweight", weights=w[rest], scale=scale[rest])
    assert fitted.loo()[4] == pytest.approx(want[0], rel=1e-13)


def test_left_out_densities_of_whole_gaussians():
    """They are positive far from the others too: 1e-30 here, of which rounding left 0."""
    x = np.r_[np.random.default_rng(4).normal(size=40), 12.5, -9.0]
    w = np.arange(42) % 3 + 1.0
    got = kde.KDE("gaussian", H=[[1.0]], tail=0, **CPU).fit(x, sample_weight=w).loo()
    kernels = w * np.exp(-0.5 * (x[:, None] - x) ** 2) / math.sqrt(2 * math.pi)
    np.fill_diagonal(kernels, 0.0)
    np.testing.assert_allclose(got, kernels.sum(axis=1) / (w.sum() - w), rtol=1e-11)


def test_marginals_have_the_shape_and_kind_of_their_points():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 2))
    line, plane = kde.KDE(**CPU).fit(x[:, 0]), kde.KDE(**CPU).fit(x)
    for fitted, axes, at in (
        (line, 0, 0.3), (line, 0, [[0.1, 0.2], [0.3, 0.4]]), (plane, 1, 0.3), (plane, 1, [[0.1, 0.2, 0.3]]),
        (plane, [0, 1], [0.1, 0.2]), (plane, [1, 0], rng.normal(size=(2, 3, 2))),
    ):  # fmt: skip
        got, at = fitted.marginal(axes, at), np.asarray(at)
        keep = np.atleast_1d(axes)
        assert np.shape(got) == at.shape[: at.ndim - (keep.size > 1)]
        if keep.size == fitted.n_features_in_:
            want = naive(x[:, keep], at.reshape(-1, keep.size), np.atleast_2d(fitted.H_)[np.ix_(keep, keep)])
            np.testing.assert_allclose(np.ravel(got), want, rtol=2e-15)
    tensors = kde.KDE(**CPU).fit(torch.from_numpy(x))
    for axes, at in ((0, torch.zeros(3)), ([0, 1], torch.zeros((3, 2)))):
        assert isinstance(tensors.marginal(axes, at), torch.Tensor)
    single = kde.KDE(**CPU).fit(x.astype(np.float32))
    assert single.marginal(0, [0.1]).dtype == single.marginal([0, 1], [[0.1, 0.2]]).dtype == np.float32


def test_axes_of_single_precision():
    x = np.random.default_rng(3).normal(size=200).astype(np.float32)
    axis = np.linspace(-3, 3, 101, dtype=np.float32)
    want = naive(x[:, None].astype(float), axis[:, None].astype(float), np.array([[0.25]]))
    assert np.abs(kde.grid(x, axis, H=0.25, **CPU) - want).max() <= 1e-7 * want.max()
    with pytest.raises(ValueError, match="irregular"):
        kde.grid(x, axis + np.float32(1e-5) * (np.arange(101) == 50), H=0.25)


def test_the_pilot_of_adaptive_scales_knows_the_boundary():
    x = np.random.default_rng(4).uniform(size=80)
    fitted = kde.KDE(h=0.2, sigma="identity", adaptive="abramson", boundary={0: ("reflect", 0, 1)}, **CPU).fit(x)
    images = np.concatenate([x, -x, 2 - x])[:, None]
    pilot = 3 * naive(images, x[:, None], fitted.H_)
    want = np.sqrt(np.exp(np.log(pilot).mean()) / pilot)
    np.testing.assert_allclose(fitted._estimate.model.scale, want, rtol=2e-15)


@pytest.mark.parametrize("boundary", [None, ("reflect", -0.5, 3.0), ("periodic", -0.5, 3.0), ("reflect", -math.inf, 3.0)])
@pytest.mark.parametrize("adaptive", [False, True])
def test_distribution_functions_on_the_line(boundary, adaptive):
    """Against sums over all samples, their images included, of the integrated parabola."""
    r = np.random.default_rng(3)
    x, w = r.uniform(-0.5, 3.0, 700), r.random(700)
    scale = r.uniform(0.2, 3.0, 700) if adaptive else np.ones(700)
    options = {} if boundary is None else {"boundary": {0: boundary}}
    model = kde.KDE(h=0.2, sigma="identity", adaptive=scale if adaptive else None, **options).fit(x, sample_weight=w)
    lo, hi = (-math.inf, math.inf) if boundary is None else boundary[1:]
    at = np.concatenate([r.uniform(-1.5, 4.0, 500), [-math.inf, math.nan, math.inf, -0.5, 3.0]])
    images = [x]
    if boundary is not None:
        images += [x - 3.5, x + 3.5] if boundary[0] == "periodic" else [2 * hi - x] + [2 * lo - x] * math.isfinite(lo)

    def exact(v):
        u = np.clip((v[:, None, None] - np.stack(images)) / (0.2 * scale), -1, 1)
        return ((0.25 * (1 + u) ** 2 * (2 - u)) @ w).sum(1) / w.sum()

    want = exact(np.clip(at, lo, hi)) - (exact(np.array([lo])) if math.isfinite(lo) else 0.0)
    np.testing.assert_allclose(model.cdf(at), want, atol=2e-14)
    np.testing.assert_allclose(model.cdf(at.reshape(5, 101)[:, :1]), want.reshape(5, 101)[:, 0], atol=2e-14)
    assert model.cdf(at[0]) == pytest.approx(want[0], abs=2e-14)


def test_distribution_function_of_whole_gaussians():
    x = np.random.default_rng(3).normal(size=300)
    model, peer = kde.KDE("gaussian", bandwidth="scott", tail=0).fit(x), gaussian_kde(x)
    at = np.linspace(-9, 9, 201)
    np.testing.assert_allclose(model.cdf(at), [peer.integrate_box_1d(-math.inf, v) for v in at], rtol=1e-13, atol=1e-15)


def test_density_at_a_number():
    x = np.random.default_rng(3).normal(size=300)
    model = kde.KDE().fit(x)
    for f in (model.pdf, model.logpdf, lambda v: kde.points(x, v)):
        assert np.ndim(f(0.5)) == 0 and f(0.5) == f(np.float64(0.5)) == f([0.5])[0]
    assert kde.points(x.astype(np.float32), 0.5).dtype == np.float32 and np.isnan(model.pdf(math.nan))
    out = np.empty(())
    assert model.pdf(0.5, out=out) is out and out == model.pdf(0.5)
    with pytest.raises(ValueError, match="shape"):
        kde.points(np.zeros((5, 2)), 0.5, H=np.eye(2))


def test_keywords_of_axes():
    with pytest.raises(TypeError, match="regular_axes got unknown keywords"):
        kde.regular_axes(np.arange(9.0), boundary={0: ("reflect", 0, 9)})


def test_tensors_with_gradients():
    torch = pytest.importorskip("torch")
    x = torch.arange(9.0, requires_grad=True)
    for call in (lambda: kde.points(x, [1.0]), lambda: kde.points(x.detach(), x), lambda: kde.KDE().fit(x)):
        with pytest.raises(TypeError, match="requires gradients"):
            call()
