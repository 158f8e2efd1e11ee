"""Conditional densities against the definition, statsmodels, and distributions whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from numbastats import kde
from tests.kde.naive import CPU, PROFILE, WRAPS, constant

pytestmark = WRAPS
RNG = np.random.default_rng(7)
X = RNG.normal(size=80)
Y = 0.8 * X + RNG.normal(size=80) * (0.5 + 0.2 * X**2)
W = RNG.uniform(0.1, 2, 80)
AXES = [np.linspace(-2, 2, 9), np.linspace(-5, 6, 45)]


def bump(u, kernel):
    """A kernel in one dimension."""
    if kernel == "gaussian":
        return stats.norm.pdf(u)
    return np.where(np.abs(u) < 1, PROFILE[kernel](np.minimum(u * u, 1)), 0) * constant(kernel, 1)


def by_definition(x, y, axes, widths, kernel, weights=None):
    """Sums over the samples at every position."""
    x, w = x.reshape(len(x), -1), np.ones(len(x)) if weights is None else weights
    where = np.stack([v.ravel() for v in np.meshgrid(*axes[:-1], indexing="ij")], -1)
    near = np.prod([bump((where[:, None, a] - x[:, a]) / widths[a], kernel) for a in range(x.shape[1])], axis=0) * w
    own = bump((axes[-1][:, None] - y) / widths[-1], kernel) / widths[-1]
    with np.errstate(invalid="ignore"):
        return (near @ own.T / near.sum(1)[:, None]).reshape(*(len(a) for a in axes))


@pytest.mark.parametrize("kernel", [*PROFILE, "gaussian"])
@pytest.mark.parametrize("weights", [None, W])
def test_definition(kernel, weights):
    f = kde.conditional(X, Y, AXES, kernel=kernel, weights=weights, h=1.0, sigma=[0.7, 0.9], **CPU)
    want = by_definition(X, Y, AXES, [0.7, 0.9], kernel, weights)
    # observed 6.5e-15; the Gaussian 1.8e-10, its tail of 1e-10
    assert np.abs(f.density - want).max() <= (1e-9 if kernel == "gaussian" else 2e-14) * want.max()
    for got, expected in zip(f.grid, AXES, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(np.diag(f.H), [0.49, 0.81], rtol=1e-15)


def test_several_explanatory_variables():
    x = np.stack([X, RNG.normal(size=80)], 1)
    axes = [np.linspace(-1, 1, 4), np.linspace(-1.5, 1, 5), AXES[1]]
    f = kde.conditional(x, Y, axes, h=1.0, sigma=[0.9, 1.1, 0.8], **CPU)
    want = by_definition(x, Y, axes, [0.9, 1.1, 0.8], "epanechnikov")
    np.testing.assert_allclose(f.density, want, rtol=0, atol=2e-14 * np.nanmax(want))
    assert f.quantile([0.2, 0.5]).shape == (2, 4, 5) and f.mean().shape == (4, 5) and f.hdr_levels(0.5).shape == (4, 5)
    by_default = kde.conditional(x, Y, **CPU)
    assert by_default.density.shape == (33, 33, 201)


def test_against_statsmodels():
    """The same Gaussian product kernels, with its rule of thumb and with given bandwidths; it has no cut of the tail."""
    pytest.importorskip("statsmodels", minversion="0.15")
    from statsmodels.nonparametric.kernel_density import KDEMultivariateConditional

    peer = KDEMultivariateConditional([Y], [X], "c", "c", "normal_reference", rng=1)
    at_x, at_y = (v.ravel() for v in np.meshgrid(*AXES, indexing="ij"))
    want = peer.pdf(at_y[:, None], at_x[:, None]).reshape(9, 45)
    rule = 1.06 * len(X) ** (-1 / 6)
    spread = [v.std(ddof=0) for v in (X, Y)]
    np.testing.assert_allclose(peer.bw, [rule * spread[1], rule * spread[0]], rtol=1e-12)
    f = kde.conditional(X, Y, AXES, kernel="gaussian", tail=0.0, h=rule, sigma=spread, **CPU)
    np.testing.assert_allclose(f.density, want, rtol=1e-12)
    own = kde.conditional(X, Y, AXES, kernel="gaussian", sigma="diag", **CPU).H
    np.testing.assert_allclose(np.sqrt(np.diag(own)) * 1.06, rule * np.array(spread) * np.sqrt(80 / 79), rtol=1e-12)


def test_default_bandwidth_is_given_the_others():
    covariance = np.cov(X, Y)
    want = 80 ** (-1 / 6) / np.sqrt(np.diag(np.linalg.inv(covariance)))  # of the Gaussian in two dimensions, whose factor is 1
    np.testing.assert_allclose(np.sqrt(np.diag(kde.conditional(X, Y, AXES, kernel="gaussian", **CPU).H)), want, rtol=1e-12)
    weighted, w = kde.conditional(X, Y, AXES, kernel="gaussian", weights=W, **CPU).H, W / W.sum()
    n_eff = 1 / (w @ w)
    want = n_eff ** (-1 / 6) / np.sqrt(np.diag(np.linalg.inv(np.cov(X, Y, aweights=W))))
    np.testing.assert_allclose(np.sqrt(np.diag(weighted)), want, rtol=1e-12)


def test_relative_accuracy_where_samples_are_few():
    """One sample in a hundred thousand: integers of the grid would leave 1e-12 of the peak, a ratio of 1e-7."""
    rng = np.random.default_rng(1)
    x = np.append(rng.normal(size=100_000) * 0.05, 3.0)
    y = np.append(rng.normal(size=100_000) * 0.05, 1.0)
    axes = [np.linspace(-0.4, 3.4, 39), np.linspace(-1, 2, 61)]
    f = kde.conditional(x, y, axes, h=1.0, sigma=[0.3, 0.5], **CPU)
    want = bump((axes[1] - 1.0) / 0.5, "epanechnikov") / 0.5
    alone = np.abs(axes[0] - 3.0) < 0.29
    assert alone.sum() == 5
    np.testing.assert_allclose(f.density[alone], np.tile(want, (5, 1)), rtol=0, atol=2e-15)  # observed 9e-16
    empty = (axes[0] > 1.0) & (axes[0] < 2.69)
    assert np.isnan(f.density[empty]).all() and (f.marginal[empty] == 0).all()
    for values in (f.mean(), f.var(), f.quantile(0.5), f.mass, f.hdr_levels(0.5)):
        assert np.array_equal(np.isnan(values), np.isnan(f.density[:, 0]))


def test_moments_and_quantiles():
    """Each is that of a mixture of kernels, which is known."""
    axes = [np.linspace(-1, 1, 3), np.linspace(-6, 8, 1401)]
    f = kde.conditional(X, Y, axes, h=1.0, sigma=[0.7, 0.9], kernel="triweight", **CPU)
    share = bump((axes[0][:, None] - X) / 0.7, "triweight")
    share /= share.sum(1)[:, None]
    mean = share @ Y
    np.testing.assert_allclose(f.mass, 1, rtol=2e-9)  # of the trapezoid sum; observed 5e-10
    np.testing.assert_allclose(f.mean(), mean, rtol=0, atol=2e-9)  # Nadaraya and Watson; observed 3.2e-10
    np.testing.assert_allclose(f.var(), share @ Y**2 - mean**2 + 0.81 / 9, rtol=5e-9)  # observed 1.2e-9
    np.testing.assert_allclose(f.std() ** 2, f.var(), rtol=1e-14)
    p = np.array([0.0, 1e-3, 0.1, 0.5, 0.9, 0.999, 1.0, np.nan, -0.1, 1.1])
    q = f.quantile(p)
    assert q.shape == (10, 3) and np.isnan(q[7:]).all()
    u = np.clip((q[:7, :, None] - Y) / 0.9, -1, 1)
    back = np.einsum("pri,ri->pr", stats.beta.cdf(0.5 + 0.5 * u, 4, 4), share)
    np.testing.assert_allclose(back[1:6], np.tile(p[1:6, None], 3), rtol=0, atol=1e-5)  # the squared step; observed 6.7e-6
    ends = [[(Y[s > 0]).min() - 0.9 for s in share], [(Y[s > 0]).max() + 0.9 for s in share]]
    np.testing.assert_allclose(q[[0, 6]], ends, rtol=0, atol=0.0201)  # the next positions
    np.testing.assert_allclose(f.interval(0.8), q[[2, 4]], rtol=1e-12)
    assert f.quantile(0.5).shape == (3,)
    u = np.clip((axes[1][:, None] - Y) / 0.9, -1, 1)
    np.testing.assert_allclose(f.cdf(), share @ stats.beta.cdf(0.5 + 0.5 * u, 4, 4).T, rtol=0, atol=1e-5)


def test_what_is_said_of_part_of_y():
    """With a grid that cuts y, moments and quantiles are those between its ends."""
    f = kde.conditional(X, Y, [(0.0, 0.0, 1), (0.0, 0.5, 501)], h=1.0, sigma=[5.0, 5.0], kernel="uniform", **CPU)
    np.testing.assert_allclose(f.mass, f.density.mean() * 0.5, rtol=1e-3)
    assert f.mass < 0.2 and 0.2 < f.quantile(0.5)[0] < 0.3 and 0.2 < f.mean()[0] < 0.3


def test_converges_to_the_truth():
    rng = np.random.default_rng(2)
    x = rng.normal(size=100_000)
    y = 0.95 * x + np.sqrt(1 - 0.95**2) * rng.normal(size=100_000)
    axes = [np.linspace(-1.5, 1.5, 7), np.linspace(-3, 3, 301)]
    truth = stats.norm.pdf(axes[1], 0.95 * axes[0][:, None], np.sqrt(1 - 0.95**2))
    errors = [
        np.trapezoid((kde.conditional(x, y, axes, sigma=sigma, **CPU).density - truth) ** 2, axes[1]).mean()
        for sigma in ("conditional", "diag")
    ]
    assert errors[0] < 5e-3 and errors[0] < 0.3 * errors[1]
    f = kde.conditional(x, y, axes, **CPU)
    np.testing.assert_allclose(f.hdr_levels(0.5), stats.norm.pdf(0.6745) / np.sqrt(1 - 0.95**2), rtol=0.06)


@pytest.mark.parametrize("kind", ["reflect", "periodic", "renorm", "linear", "jones-foster"])
def test_boundaries(kind):
    x, y = np.random.default_rng(3).random((2, 400))
    axes = [np.linspace(0, 1, 5), np.linspace(0, 1, 101)]
    walls = {0: (kind, 0.0, 1.0), 1: (kind, 0.0, 1.0)}
    f = kde.conditional(x, y, axes, boundary=walls, h=1.0, sigma=[0.3, 0.3], **CPU)
    joint = kde.grid(np.stack([x, y], 1), axes, H=np.eye(2) * 0.09, form="product", boundary=walls, **CPU)
    alone = kde.points(x, axes[0], H=[[0.09]], boundary={0: walls[0]}, **CPU)
    np.testing.assert_allclose(f.density, joint / alone[:, None], rtol=0, atol=1e-12)
    if kind in ("reflect", "periodic"):
        np.testing.assert_allclose(f.mass, 1, rtol=1e-3)


@pytest.mark.parametrize("twin", [dict(device="cpu", workers=1), dict(device="cpu", workers=2), dict(device="cuda")], ids=str)
def test_every_device(twin):
    axes = [np.linspace(-2, 2, 5), np.linspace(-4, 5, 7)]
    want = by_definition(X[:30], Y[:30], axes, [0.9, 1.2], "epanechnikov")
    f = kde.conditional(X[:30], Y[:30], axes, h=1.0, sigma=[0.9, 1.2], **twin)
    np.testing.assert_allclose(f.density, want, rtol=0, atol=2e-14)


def test_float32_missing_values_and_adaptive_scales():
    f = kde.conditional(X.astype(np.float32), Y.astype(np.float32), AXES, h=1.0, sigma=[0.7, 0.9], **CPU)
    assert f.density.dtype == np.float32 and f.quantile(0.5).dtype == np.float64
    want = by_definition(X.astype(np.float32).astype(float), Y.astype(np.float32).astype(float), AXES, [0.7, 0.9], "epanechnikov")
    np.testing.assert_allclose(f.density, want, rtol=0, atol=1e-7 * want.max())
    assert kde.conditional(X.astype(np.float32), Y, AXES, **CPU).density.dtype == np.float64
    x, y = np.append(X, [np.nan, 0.0]), np.append(Y, [0.0, np.inf])
    with pytest.raises(ValueError, match="1 contain inf, which is not missing"):
        kde.conditional(x, y, AXES, nan_policy="omit")
    y[-1] = np.nan
    with pytest.raises(ValueError, match="nan_policy='omit'"):
        kde.conditional(x, y, AXES)
    got = kde.conditional(x, y, AXES, nan_policy="omit", **CPU).density
    np.testing.assert_array_equal(got, kde.conditional(X, Y, AXES, **CPU).density)
    scales = np.full(80, 2.0)
    got = kde.conditional(X, Y, AXES, h=0.5, sigma=[0.7, 0.9], adaptive=scales, **CPU).density
    np.testing.assert_allclose(got, by_definition(X, Y, AXES, [0.7, 0.9], "epanechnikov"), rtol=0, atol=1e-13)
    mixed = RNG.uniform(1.0, 2.0, 80)
    f = kde.conditional(X, Y, [AXES[0], (-8.0, 9.0, 1701)], h=0.5, sigma=[0.7, 0.9], adaptive=mixed, **CPU)
    np.testing.assert_allclose(f.mass, 1, rtol=1e-4)


def test_invalid_input():
    with pytest.raises(ValueError, match="80 samples and y 79"):
        kde.conditional(X, Y[1:])
    with pytest.raises(ValueError, match="one variable"):
        kde.conditional(X, np.stack([X, Y], 1))
    with pytest.raises(ValueError, match="at most three"):
        kde.conditional(np.ones((80, 4)), Y)
    with pytest.raises(ValueError, match="at least two"):
        kde.conditional(X, Y, [(-1, 1, 3), (0, 0, 1)])
    with pytest.raises(ValueError, match="one axis per column"):
        kde.conditional(X, Y, [(-1, 1, 3)])
    with pytest.raises(ValueError, match="sigma='diag'"):
        kde.conditional(X, 2 * X)
    with pytest.raises(ValueError, match="constant"):
        kde.conditional(np.ones(80), Y)
    with pytest.raises(TypeError, match="form"):
        kde.conditional(X, Y, form="radial")
    assert kde.conditional(X, Y, AXES, H=np.diag([0.5, 0.6])).H.tolist() == [[0.5, 0.0], [0.0, 0.6]]
    assert np.diag(kde.conditional(X, Y, AXES, h=0.7, bw_convention="sklearn").H).tolist() == [0.7**2, 0.7**2]
