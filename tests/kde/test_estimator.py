"""The estimator: protocol, densities, marginals, draws."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from numbastats import kde
from numbastats._core.errors import NotFittedError
from numbastats.kde import bandwidth
from tests.kde.naive import CPU, PROFILE, WRAPS, naive, product, small

pytestmark = WRAPS


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


def test_attributes_describe_the_last_call():
    x, axes, _ = small(2)
    fitted = kde.KDE(**CPU)
    with pytest.raises(AttributeError):
        fitted.n_eff_  # noqa: B018
    fitted.fit(x).grid(axes)
    assert fitted.n_eff_ == len(x) and fitted.method_used_ == "rows-c" and 0 < fitted.error_bound_ < 1e-12
    fitted.points(x)
    assert fitted.method_used_ == "cells" and fitted.error_bound_ is None and fitted.h is None
    assert not any(hasattr(fitted, name) for name in ("n_eff", "method_used", "error_bound"))  # one name for every result


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


def test_marginal_of_all_axes_keeps_the_boundary():
    x = np.abs(np.random.default_rng(0).normal(size=(200, 2)))
    fitted = kde.KDE(h=1.0, boundary={0: ("reflect", 0, None)}, **CPU).fit(x)
    assert fitted.marginal([1, 0], [[0.1, 0.05]]) == fitted.marginal([0, 1], [[0.05, 0.1]]) == fitted.points([[0.05, 0.1]])
    assert fitted.marginal([1, 0], [[0.1, -0.05]]) == 0


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
        (line, 0, 0.3),
        (line, 0, [[0.1, 0.2], [0.3, 0.4]]),
        (plane, 1, 0.3),
        (plane, 1, [[0.1, 0.2, 0.3]]),
        (plane, [0, 1], [0.1, 0.2]),
        (plane, [1, 0], rng.normal(size=(2, 3, 2))),
    ):
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


def test_tensors_with_gradients():
    torch = pytest.importorskip("torch")
    x = torch.arange(9.0, requires_grad=True)
    for call in (lambda: kde.points(x, [1.0]), lambda: kde.points(x.detach(), x), lambda: kde.KDE().fit(x)):
        with pytest.raises(TypeError, match="requires gradients"):
            call()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2])
def test_gaussian_kernel_as_in_scipy(d, weighted):
    """One call each; SciPy has the samples in columns."""
    from scipy import stats

    rng = np.random.default_rng(d)
    x, at = rng.normal(size=(500, d)) @ np.array([[2.0, 0.7], [0.0, 1.0]])[:d, :d], rng.normal(size=(40, d))
    w = rng.uniform(0.1, 2, 500) if weighted else None
    x, at = (x[:, 0], at[:, 0]) if d == 1 else (x, at)
    for rule, options in (
        ("silverman", {}),
        ("scott", {"bandwidth": "scott"}),
        (0.3, {"h": 0.3}),
        (0.3, {"h": 0.3, "bw_convention": "scipy"}),
    ):
        peer = stats.gaussian_kde(x.T, rule, w)
        fitted = kde.KDE(kernel="gaussian", **options, **CPU).fit(x, sample_weight=w)
        np.testing.assert_allclose(fitted.H_, peer.covariance, rtol=1e-12)
        want = peer(at.T)
        np.testing.assert_allclose(fitted.pdf(at), want, rtol=0, atol=2e-10 * want.max())  # the tail of 1e-10
        whole = kde.KDE(kernel="gaussian", tail=0.0, **options, **CPU).fit(x, sample_weight=w)
        np.testing.assert_allclose(whole.pdf(at), want, rtol=1e-12)
        np.testing.assert_allclose(whole.logpdf(at * 30), peer.logpdf(at.T * 30), rtol=1e-12)


def test_points_in_any_arrangement():
    """A mesh of shape (a, b, d) gives densities of shape (a, b)."""
    x = np.random.default_rng(1).normal(size=(200, 2))
    axes = [np.linspace(-1, 1, 4), np.linspace(-2, 2, 5)]
    where = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    fitted = kde.KDE(**CPU).fit(x)
    want = fitted.pdf(where.reshape(-1, 2)).reshape(4, 5)
    np.testing.assert_array_equal(fitted.pdf(where), want)
    np.testing.assert_array_equal(fitted.logpdf(where[None]), np.log(want)[None])
    out = np.empty((4, 5))
    assert fitted.pdf(where, out=out) is out and np.array_equal(out, want)
    assert fitted.pdf(where[:0]).shape == (0, 5)
    with pytest.raises(ValueError, match="shape"):
        fitted.pdf(np.zeros((4, 5, 3)))


@pytest.mark.parametrize(
    ("kernel", "text"), [("gaussian", r"cut \(tail=1e-10\); pass tail=0"), ("biweight", "pass kernel='gaussian' with tail=0")]
)
def test_scores_of_points_outside_say_why(kernel, text):
    """A search by scores took the widest bandwidth, because all others had -inf."""
    model = kde.KDE(kernel, h=0.1, **CPU).fit(np.arange(5.0))
    with pytest.warns(UserWarning, match=f"the score is -inf: 2 of 3 points have density 0.*{text}"):
        assert model.score([0.0, 50.0, 60.0]) == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(kde.KDE("gaussian", h=0.1, tail=0, **CPU).fit(np.arange(5.0)).score([0.0, 20.0]))
