"""Sums over pairs, against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbastats import kde
from numbastats._core.errors import ConvergenceWarning
from numbastats.kde import bandwidth
from tests.kde.naive import CPU, PROFILE, WRAPS, constant, self_convolution

pytestmark = WRAPS


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


@pytest.mark.parametrize("d", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kernel", ["biweight", pytest.param("triweight", marks=pytest.mark.slow), "gaussian"])
def test_cross_validation_with_the_kernel_itself(kernel, d):
    """Scores by brute force, and their least one; convolutions of radial kernels by quadrature over the second ball."""
    rng = np.random.default_rng(d)
    x, w = rng.standard_normal((40, d)), rng.uniform(0.1, 1, 40)
    x[:10] *= 0.2
    for weights in (None, w):
        v = np.ones(40) if weights is None else weights
        y = np.linalg.solve(np.linalg.cholesky(np.atleast_2d(np.cov(x.T, aweights=weights))), x.T).T
        distance = np.linalg.norm(y[:, None] - y, axis=-1)

        def score(h, distance=distance, v=v):
            r = distance / h
            if kernel == "gaussian":
                k = np.exp(-r * r / 2) * (2 * math.pi) ** (-d / 2)
                overlap = np.exp(-r * r / 4) * (4 * math.pi) ** (-d / 2)
            else:
                k, overlap = (
                    np.where(r < 1, PROFILE[kernel](np.minimum(r * r, 1)), 0) * constant(kernel, d),
                    _overlap(kernel, d, r),
                )
            np.fill_diagonal(k, 0)
            return (v @ overlap @ v / v.sum() ** 2 - 2 * np.sum(v * (k @ v) / (v.sum() - v)) / v.sum()) / h**d

        best = bandwidth.lscv(x, kernel, weights)
        hs = best * np.array([0.2, 0.7, 1.0, 3.0])
        np.testing.assert_allclose(bandwidth.lscv_score(x, hs, weights, kernel), [score(h) for h in hs], rtol=1e-12)
        assert score(best) <= min(score(best * f) for f in (0.8, 0.9, 0.99, 0.999, 1.001, 1.01, 1.1, 1.3))
        assert kde.KDE(kernel, bandwidth="lscv", **CPU).fit(x, sample_weight=weights).h_ == pytest.approx(best, rel=1e-7)


def _overlap(kernel, d, r):
    """(K*K)(r): over the axis and, in slices, over the radius, each by Gauss and Legendre's rule, polynomials being exact."""
    x, w = np.polynomial.legendre.leggauss(40)
    r = np.minimum(r, 2)[..., None, None]
    half = 1 - r / 2  # of the lens; its tip is at 1, where a root of the radius is taken out by squares
    b = half * ((1 - x[:, None]) / 2) ** 2
    a, da = 1 - b, half * (1 - x[:, None]) / 2 * w[:, None]
    if d == 1:
        return 2 * constant(kernel, 1) ** 2 * (da * PROFILE[kernel](a * a) * PROFILE[kernel]((r - a) ** 2)).sum((-1, -2))
    rho = np.sqrt(np.maximum(1 - a * a, 0)) * (1 + x) / 2
    slices = {2: 2.0, 3: 2 * math.pi}[d] * rho ** (d - 2) * np.sqrt(np.maximum(1 - a * a, 0)) * w / 2
    values = PROFILE[kernel](a * a + rho**2) * PROFILE[kernel]((r - a) ** 2 + rho**2)
    return 2 * constant(kernel, d) ** 2 * (da * slices * values).sum((-1, -2))


@pytest.mark.parametrize("kernel", ["epanechnikov", "biweight", "triweight", "gaussian", "triangular"])
def test_cross_validation_of_data_that_differ_by_rounding(kernel):
    """Was 1e-5 to 6e-4 apart; largest difference seen: 4e-9."""
    for d, n in ((1, 30), (1, 400), (2, 100)):
        x = np.random.default_rng(n).standard_normal((n, d))
        want = bandwidth.lscv(x, kernel)
        for other in (bandwidth.lscv(-x, kernel), bandwidth.lscv(x + 10, kernel), bandwidth.lscv(x, kernel, np.full(n, 0.3))):
            assert other == pytest.approx(want, rel=1e-8)


def test_cross_validation_of_the_matrix_in_use():
    """With sigma="diag" and "identity" the least score of those kernel matrices, not of the covariance."""
    x = np.random.default_rng(5).standard_normal((150, 2)) @ np.array([[1.0, 0.8], [0.0, 0.3]])
    z = ((x[:, None] - x) ** 2).transpose(2, 0, 1)
    for sigma, scale in (("diag", x.var(0, ddof=1)), ("identity", np.ones(2))):
        square = (z / scale[:, None, None]).sum(0)

        def score(h, square=square):
            k = np.exp(-square / (2 * h * h)) / (2 * math.pi)
            np.fill_diagonal(k, 0)
            return (np.exp(-square / (4 * h * h)).mean() / (4 * math.pi) - 2 * k.sum() / (150 * 149)) / h**2

        best = kde.KDE("gaussian", bandwidth="lscv", sigma=sigma, **CPU).fit(x).h_
        assert score(best) <= min(score(best * f) for f in (0.7, 0.95, 0.999, 1.001, 1.05, 1.5))


def test_cross_validation_of_products_is_not_known():
    x = np.random.default_rng(5).standard_normal((50, 2))
    with pytest.raises(ValueError, match="product of kernels 'biweight'.*form='radial'"):
        kde.KDE("biweight", bandwidth="lscv", form="product", sigma="diag").fit(x)


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


@pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")  # of what the peer draws, which this is not
def test_likelihood_of_the_others_against_statsmodels():
    """The Gaussian on the line: `KDEMultivariate(bw="cv_ml")`."""
    peer = pytest.importorskip("statsmodels.nonparametric.api").KDEMultivariate
    x = np.random.default_rng(3).standard_t(4, 150)
    want = peer(x, "c", "cv_ml").bw[0]
    assert bandwidth.likelihood_cv(x, "gaussian") * x.std(ddof=1) == pytest.approx(want, rel=1e-3)  # the peer stops at 1e-4


@pytest.mark.parametrize(
    ("kernel", "d"), [("gaussian", 2), ("epanechnikov", 1), ("epanechnikov", 2), ("tricube", 3), ("biweight", 6)]
)
@pytest.mark.parametrize("form", ["radial", "product"])
def test_likelihood_of_the_others(kernel, d, form):
    """No bandwidth near has a larger leave-one-out likelihood, by brute force over deletions."""
    rng = np.random.default_rng(d)
    x, w = rng.standard_normal((60, d)), rng.uniform(0.5, 1.0, 60)
    options = dict(kernel=kernel, sigma="diag", form=form, tail=0.0 if kernel == "gaussian" else 1e-10, **CPU)
    best = kde.KDE(bandwidth="likelihood-cv", **options).fit(x, sample_weight=w).h_
    sd = np.sqrt(np.diag(kde.KDE(h=1.0, **options).fit(x, sample_weight=w).H_))

    def score(h):
        found = [
            kde.points(
                np.delete(x, i, 0),
                x[i : i + 1],
                weights=np.delete(w, i),
                log=True,
                **options | {"H": np.diag((h * sd) ** 2), "sigma": "cov"},
            )[0]
            for i in range(60)
        ]
        return np.average(found, weights=w)

    top = score(best)
    assert np.isfinite(top) and top >= max(score(best * f) for f in (0.8, 0.99, 1.01, 1.25)) - 1e-9


def test_likelihood_that_ties_drive_to_0():
    with pytest.warns(ConvergenceWarning, match="ties"):
        bandwidth.likelihood_cv(np.repeat(np.random.default_rng(1).standard_normal(30), 2), "gaussian")
