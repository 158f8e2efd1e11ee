"""Distribution functions and masses of boxes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import gaussian_kde, multivariate_normal

from numbastats import kde
from tests.kde.naive import CPU, PROFILE, WRAPS, mesh, naive, small

pytestmark = WRAPS


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


def test_masses_on_a_periodic_axis():
    """By quadrature: all mass lies between the ends of the period, wherever the samples were given."""
    x = np.abs(np.random.default_rng(0).normal(size=(200, 3))) * 0.2
    for shift in (0.0, 30.0):
        fitted = kde.KDE(h=0.2, sigma="identity", boundary={0: ("periodic", 0.0, 3.0)}, **CPU).fit(x + [shift, 0, 0])
        mass = fitted.box_probability([-9] * 3, [9] * 3)
        assert abs(mass - 1) <= fitted.quadrature_error_ <= 0.1
        assert abs(fitted.cdf([[3, 9, 9]])[0] - 1) <= fitted.quadrature_error_


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
