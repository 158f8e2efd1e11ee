"""Records of smoothing kernels: constants, lists of names, kernels by recipe, a user's own."""

from __future__ import annotations

import copy
import functools
import math
import pickle
from typing import get_args

import numpy as np
import pytest
from scipy.integrate import quad

from numbastats import kde
from numbastats.kde import bandwidth
from numbastats.kde.records import RECORDS, KernelName, kernel_of
from numbastats.kde.smoothing import Smoothing, polynomial
from tests.kde.naive import CPU, KERNELS, PROFILE, WRAPS, mesh, naive, small

pytestmark = WRAPS


def cubic(u):
    return (1.0 - u) ** 2 * (2.0 + u)


def wide(u):
    return (1.0 - u / 3.0) ** 2 * (2.0 + u / 3.0)


@functools.cache
def own():
    return kde.define(cubic)


def own_density(x, points, H, f):
    """Brute force for any profile of the distance."""
    delta = points[:, None] - x
    u = np.sqrt(np.einsum("pia,ab,pib->pi", delta, np.linalg.inv(H), delta))
    d = x.shape[1]
    sphere = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
    mass = sphere * quad(lambda r: r ** (d - 1) * f(np.array(r)), 0, 1)[0]
    return f(u).mean(1) / (mass * math.sqrt(np.linalg.det(H)))


def test_lists_of_names_are_of_the_records():
    names = {record.name for record in RECORDS}
    assert len({record.number for record in RECORDS}) == len(RECORDS) == len(names)
    assert set(PROFILE) == {record.name for record in RECORDS if not record.tailed}  # what the tests compare by brute force
    assert set(get_args(get_args(KernelName)[0])) == names | {"normal"}
    for function in (kde.grid, kde.plan):
        assert all(f'"{r.name}"' in function.__doc__ for r in RECORDS if r.rows or function is kde.grid)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_closed_forms_of_constants(record):
    """Against quadrature of the profile; the tails of 1e-10 that are cut off cost some 1e-9."""
    for d in (1,) if record.on_line else (1, 2, 3, 5):
        reach = math.sqrt(record.squared_reach(d, 1e-12))
        first, second, square = (
            quad(lambda u: u**k * record.profile((u / reach) ** 2, 0.5 * reach**2) ** m, 0, reach, limit=200)[0]  # noqa: B023
            for k, m in ((d - 1, 1), (d + 1, 1), (d - 1, 2))
        )
        sphere, tol = 2 * math.pi ** (d / 2) / math.gamma(d / 2), 1e-9 if record.tailed else 1e-11
        assert record.norm(d) == pytest.approx(1 / (sphere * first), rel=tol)
        assert record.roughness(d) == pytest.approx((square / (sphere * first**2), second / (d * first)), rel=tol)
    lower = [record.lower(np.array(u), reach, 1e-12) for u in (0.2, 0.9)] if record.on_line else []
    for u, value in zip((0.2, 0.9), lower, strict=False):
        whole = 2 * quad(lambda v: record.profile(v * v, 0.5 * reach**2), 0, 1)[0]
        assert float(value) == pytest.approx(quad(lambda v: record.profile(v * v, 0.5 * reach**2), u, 1)[0] / whole, rel=1e-9)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_formulas(record):
    """Profile and normaliser against those of its case; observed 9e-16."""
    case, reach = KERNELS[record.name], math.sqrt(record.squared_reach(1, 1e-12))
    for u in np.array([0.0, 0.3, 0.9]) * reach:
        assert record.profile((u / reach) ** 2, 0.5 * reach**2) == pytest.approx(case.profile(u * u), rel=1e-14)
    for d in (1,) if record.on_line else (1, 2, 3, 4):
        assert record.norm(d) == pytest.approx(case.constant(d), rel=1e-14)


def test_unknown_kernels():
    for bad in ("tophat", 3, ("polynomial",), None):
        with pytest.raises(ValueError, match="kernel=.*'epanechnikov'"):
            kde.points([1.0, 2.0], 1.0, kernel=bad)
    for p in (-1, 2.5, 13, True):
        with pytest.raises(ValueError, match="integer from 0 to 12"):
            kde.points([1.0, 2.0], 1.0, kernel=("polynomial", p))
    with pytest.raises(ValueError, match="tail=0 is for kernel='gaussian'"):
        kde.points([1.0, 2.0], 1.0, kernel="logistic", tail=0)
    with pytest.raises(ValueError, match="'logistic' is for d = 1"):
        kde.points(np.eye(3), np.eye(3), kernel="logistic", H=np.eye(3))
    with pytest.raises(ValueError, match="'rows' needs a polynomial kernel"):
        kde.grid([1.0, 2.0], (0, 3, 5), kernel=("polynomial", 4), method="rows")


@pytest.mark.parametrize("d", [1, 2])
def test_polynomials(d, device):
    x, axes, H = small(d)
    assert kernel_of(("polynomial", 2)) is kernel_of("biweight") is polynomial(2)
    want = own_density(x, mesh(axes), H, lambda u: np.maximum(1 - u * u, 0.0) ** 5)
    for method in ("auto", "skde"):
        got = kde.grid(x, axes, kernel=("polynomial", 5), H=H, method=method, **device).reshape(-1)
        assert np.abs(got - want).max() <= 1e-13 * want.max()  # observed 4e-15
    assert np.abs(kde.points(x, mesh(axes), kernel=("polynomial", 5), H=H, **device) - want).max() <= 1e-13 * want.max()
    fitted = kde.KDE(("polynomial", 5), H=H, **CPU).fit(x)
    if d == 1:
        value = sum(quad(lambda v: fitted.pdf(v), a, b)[0] for a, b in ((-6, -1), (-1, 0), (0, 0.4)))
        assert fitted.cdf(0.4) == pytest.approx(value, abs=1e-8)
    else:
        draws = kde.KDE(("polynomial", 5), H=H, **CPU).fit(x[:1]).sample(40_000, rng=1)
        assert np.abs(np.cov(draws.T) / H - 1 / 14).max() < 2e-3


def test_logistic():
    rng = np.random.default_rng(4)
    x, w, at = rng.standard_normal(40), rng.uniform(0.2, 1, 40), np.array([-9.0, -1.0, 0.3, 2.0])
    z = (at[:, None] - x) / 0.3
    fitted = kde.KDE("logistic", H=[[0.09]], tail=1e-12, **CPU).fit(x, sample_weight=w)
    want = (1 / (2 + 2 * np.cosh(z))) @ w / (0.3 * w.sum())
    assert np.abs(fitted.pdf(at) - want).max() <= 2e-12 * want.max()
    assert np.abs(kde.grid(x, at[1:2], kernel="logistic", H=[[0.09]], tail=1e-12, weights=w, **CPU) - want[1]) <= 2e-12 * want[1]
    np.testing.assert_allclose(fitted.cdf(at[1:]), ((1 / (1 + np.exp(-z))) @ w / w.sum())[1:], rtol=1e-10)
    mean = np.average(x, weights=w)
    assert fitted.var() == pytest.approx(np.average((x - mean) ** 2, weights=w) + 0.09 * math.pi**2 / 3, rel=1e-9)
    draws = kde.KDE("logistic", H=[[1.0]], **CPU).fit([0.0]).sample(50_000, rng=2)[:, 0]
    assert draws.var() == pytest.approx(math.pi**2 / 3, rel=0.03)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_kernel_of_ones_own(d):
    """Grids by all direct sums, points, an own reach, weights and products, against brute force; draws are refused."""
    x, axes, H = small(d)

    def f(u):
        return np.where(u < 1, (1 - u) ** 2 * (2 + u), 0.0)

    want = own_density(x, mesh(axes), H, f)
    got = [kde.grid(x, axes, kernel=own(), H=H, method=m, **CPU).reshape(-1) for m in ("auto", "skde", "skde-atomic")]
    got += [kde.points(x, mesh(axes), kernel=own(), H=H, method=m, **CPU) for m in ("cells", "ep")]
    for value in got:
        assert np.abs(value - want).max() <= 1e-12 * want.max()  # observed 1e-15
    assert own().roughness(d)[1] == pytest.approx(
        quad(lambda u: u ** (d + 1) * cubic(u), 0, 1)[0] / (d * quad(lambda u: u ** (d - 1) * cubic(u), 0, 1)[0]), rel=1e-10
    )
    if d == 1:
        scaled = kde.define(wide, reach=3.0)
        np.testing.assert_allclose(kde.points(x, mesh(axes), kernel=scaled, H=H / 9, **CPU), want, rtol=1e-12, atol=1e-15)
        fitted = kde.KDE(own(), H=H, **CPU).fit(x)
        assert fitted.var() == pytest.approx(x.var() + H[0, 0] * own().roughness(1)[1], rel=1e-12)
        for refused in (fitted.sample, lambda: fitted.cdf(0.0)):
            with pytest.raises(ValueError, match="kernel='cubic' has no .*use one of epanechnikov"):
                refused()
        assert copy.deepcopy(own()) is own()
        again = pickle.loads(pickle.dumps(own()))
        assert isinstance(again, Smoothing) and again.name == "cubic" and again.norm(1) == own().norm(1)


@pytest.mark.slow
def test_kernels_of_one_name_are_not_each_others():
    """Two lambdas of one place in a file."""
    x = np.array([0.0])
    made = [kde.define(lambda u, p=p: (1.0 - u) ** p) for p in (1, 2)]
    got = [float(kde.points(x, 0.5, kernel=k, H=[[1.0]], **CPU)) for k in made]
    assert got == pytest.approx([0.5, 1.5 * 0.25], rel=1e-12)


def test_bad_profiles():
    with pytest.raises(TypeError, match="is no Python function"):
        kde.define("cubic")
    for bad in (0.0, -1.0, math.inf, math.nan, [1.0, 2.0]):
        with pytest.raises(ValueError, match="reach="):
            kde.define(cubic, reach=bad)
    for bad in (lambda u: 0.5 - u, lambda u: 0.0, lambda u: 1.0 / u):
        with pytest.raises(ValueError, match="must be finite and >= 0"):
            kde.define(bad)


@pytest.mark.parametrize("kernel", ["tricube", "triangular", "own"])
def test_self_convolutions(kernel):
    """Tables of K*K against sums over a lattice, whose error is the tolerance."""
    record = own() if kernel == "own" else kernel_of(kernel)

    def f(u):
        return np.where(u < 1, cubic(u) if kernel == "own" else PROFILE[kernel](np.minimum(u * u, 1)), 0.0)

    table = object.__new__(bandwidth._Pieces)
    for d, m in ((1, 20_001), (2, 801)):
        table.table = bandwidth._tables(record, d).reshape(-1, 6)[: 2 * bandwidth.PIECES]
        g = np.linspace(-1, 1, m)
        across = g**2 if d == 2 else np.zeros(1)
        for r in (0.0, 0.3, 0.99, 1.4):
            values = f(np.sqrt(g[:, None] ** 2 + across)) * f(np.sqrt((g[:, None] - r) ** 2 + across))
            want = record.norm(d) ** 2 * values.sum() * (g[1] - g[0]) ** d
            assert float(table(np.array(r))) == pytest.approx(want, rel=1e-4 if d == 2 else 1e-7)


@pytest.mark.parametrize("kernel", ["tricube", "cosine", "logistic"])
def test_cross_validation_of_any_kernel(kernel):
    """The score on the line by sums over a lattice."""
    rng = np.random.default_rng(1)
    x, w, h = rng.standard_normal(9), rng.uniform(0.3, 1, 9), 1.3
    y, total = x / math.sqrt(np.cov(x, aweights=w)), w.sum()
    g = np.linspace(-40, 40, 40_001)
    case = KERNELS[kernel]

    def f(u):
        return case.constant(1) * case.profile(u * u) if case.tailed else naive(np.zeros(1), u, np.eye(1), kernel)

    density = np.stack([f((g - v) / h) / h for v in y])
    leave = [w @ f((v - y) / h) / h - w[i] * f(np.zeros(1))[0] / h for i, v in enumerate(y)]
    want = np.sum((w @ density) ** 2) * (g[1] - g[0]) / total**2 - 2 / total * np.sum(w * leave / (total - w))
    assert bandwidth.lscv_score(x, h, w, kernel) == pytest.approx(want, rel=1e-5)  # observed 2e-6, the lattice
    best = bandwidth.lscv(x, kernel, w)
    scores = bandwidth.lscv_score(x, best * np.array([0.9, 1.0, 1.1]), w, kernel)
    assert scores.argmin() == 1
