"""Every family of distributions against mpmath, SciPy and closed forms; kinds, dtypes, executors, memory."""

from __future__ import annotations

import doctest
import itertools
import math
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from numbastats.distributions import (
    FrozenDistribution,
    generalized_hyperbolic,
    hyperbolic,
    nig,
    protocol,
    student_t,
    tables,
    variance_gamma,
)
from numbastats.quantile import QuantileTable
from numbastats.scalar.hyperbolic import gh_log_norm, gh_logpdf, log_kve
from tests.contract import same
from tests.distributions.naive import CASES, LAWS, X, exact_pdf

BAD = [
    (student_t, (0.0,)),
    (student_t, (-1.0,)),
    (hyperbolic, (1.0, 1.0, 1.0)),
    (hyperbolic, (1.0, 0.0, 0.0)),
    (hyperbolic, (-1.0, 0.0, 1.0)),
    (nig, (1.0, -2.0, 1.0)),
    (nig, (1.0, 0.0, math.nan)),
    (generalized_hyperbolic, (math.inf, 1.0, 0.0, 1.0)),
    (generalized_hyperbolic, (1.0, 1.0, 0.0, -1.0)),
    (variance_gamma, (0.0, 1.0, 0.0)),
    (variance_gamma, (-0.5, 1.0, 0.0)),
    (variance_gamma, (1.0, 1.0, 1.5)),
]


@pytest.mark.parametrize(("law", "p"), CASES)
def test_density(law, p, device):
    with mpmath.workdps(30):
        want = [exact_pdf(law, p, x) for x in X]
        logs = np.array([float(mpmath.log(w)) for w in want])
        want = np.array([float(w) for w in want])
    np.testing.assert_allclose(law.pdf(X, *p, **device), want, rtol=1e-13)  # observed 4e-14 (exponents near 100)
    np.testing.assert_allclose(law.logpdf(X, *p, **device), logs, rtol=2e-15, atol=3e-14)
    if device["device"] == "cpu":
        narrow = law.pdf(X.astype(np.float32), *p, **device)
        assert narrow.dtype == np.float32
        np.testing.assert_allclose(narrow[1:-1], want[1:-1], rtol=2e-4)  # exponents of 20 lose 20 ulp; observed 2e-5


@pytest.mark.parametrize(("law", "p"), CASES)
def test_distribution(law, p):
    """Round trip through independent code: quad of the exact density on each side of a quantile."""
    frozen = law(*p)
    assert isinstance(frozen, FrozenDistribution) and frozen.certificate.ok
    u = np.array([1e-12, 0.01, 0.3, 0.6, 0.99])
    x = frozen.ppf(u)
    np.testing.assert_allclose(frozen.cdf(x), u, rtol=3e-13)
    np.testing.assert_allclose(frozen.sf(frozen.isf(u)), u, rtol=3e-13)
    np.testing.assert_allclose(frozen.cdf(x) + frozen.sf(x), 1.0, rtol=1e-15)
    low, high = x[1], x[3]
    middle = float(p[-1]) if law is not student_t and len(p) == len(law.names) else 0.0
    with mpmath.workdps(20):
        points = sorted({float(low), float(high), *([middle] if low < middle < high else [])})
        mass = mpmath.quad(lambda t: exact_pdf(law, p, t), points)
    assert float(mass) == pytest.approx(0.59, rel=1e-9)  # the quadrature's own error at a singular density


@pytest.mark.parametrize("c", [1e8, 1e20, 1e90, 1e-30])
@pytest.mark.parametrize(
    ("law", "p"),
    [
        (variance_gamma, (20.4, 1.4, 0.7, 0.0)),
        (variance_gamma, (10.0, 1.4, 0.7, 0.0)),
        (variance_gamma, (0.3, 1.4, 0.7, 0.0)),
        (variance_gamma, (20.6, 1.4, -0.7, 0.0)),
        (generalized_hyperbolic, (5.0, 1.4, 0.7, 2.0)),
        (nig, (1.4, 0.7, 100.0)),
    ],
)
def test_units(law, p, c):
    """The distribution of c x has alpha, beta over c and delta times c."""
    moved = [v * (1 / c if n in ("alpha", "beta") else c if n == "delta" else 1.0) for n, v in zip(law.names, p, strict=False)]
    u = np.array([1e-12, 0.01, 0.3, 0.6, 0.99])
    x = law.ppf(u, *p)
    np.testing.assert_allclose(law.ppf(u, *moved) / c, x, rtol=5e-14)  # observed 9.4e-15
    np.testing.assert_allclose(law.cdf(x * c, *moved), law.cdf(x, *p), rtol=5e-14)  # observed 1.9e-14
    np.testing.assert_allclose(law.sf(x * c, *moved), law.sf(x, *p), rtol=5e-14)  # observed 4.7e-15


def test_refused_parameters_are_named():
    for method in ("cdf", "ppf"):
        with pytest.raises(ValueError, match=r"GeneralizedHyperbolic\(lam=200000.0, alpha=1.0, beta=0.3"):
            getattr(generalized_hyperbolic, method)(0.5, 2e5, 1.0, 0.3, 1.0)
        with pytest.raises(ValueError, match=r"NIG\(alpha=1e\+200.*1e140"):
            getattr(nig, method)(0.5, 1e200, 0.3, 1.0)
    with pytest.raises(ValueError, match=r"NIG\(alpha=1e\+200"):
        nig(1e200, 0.3, 1.0)


def test_parameters_of_other_kinds():
    masked = np.ma.array([4.0, 5.0], mask=[False, True])
    for call in (
        student_t,
        lambda nu: student_t.pdf(1.0, nu),
        lambda nu: student_t.cdf(1.0, nu),
        lambda nu: student_t.ppf(0.3, nu),
    ):
        with pytest.raises(TypeError, match="masked"):
            call(masked)
    with pytest.raises(ValueError, match="no distribution"):
        student_t(np.empty(0))
    assert student_t.ppf(0.3, np.empty(0)).shape == student_t.rvs(np.empty(0)).shape == (0,)


def test_many_sets_keep_the_kind():
    """More sets than tables are held at a time."""
    torch = pytest.importorskip("torch")
    nu = np.linspace(1.0, 9.0, 70)
    x = student_t.ppf(torch.full((70,), 0.1, dtype=torch.float64), nu)
    assert isinstance(x, torch.Tensor) and same(x.numpy(), student_t.ppf(0.1, nu))
    out = torch.empty(70, dtype=torch.float64)
    assert student_t.ppf(torch.full((70,), 0.1, dtype=torch.float64), nu, out=out) is out and same(out, x)


def test_parameters_decide_the_kind_as_data_do():
    torch = pytest.importorskip("torch")
    for n in (1, 2, 70):
        nu = torch.linspace(1.0, 9.0, n, dtype=torch.float64)
        for method in ("pdf", "logpdf", "cdf", "sf", "ppf", "isf"):
            x = getattr(student_t, method)(0.3, nu)
            assert isinstance(x, torch.Tensor) and same(x.numpy(), getattr(student_t, method)(0.3, nu.numpy())), (method, n)
    with pytest.raises(TypeError, match="bfloat16"):
        student_t.ppf(torch.tensor([0.3], dtype=torch.bfloat16), 4.0)


def test_out_may_overlap_the_data():
    for n in (2, 100):
        nu, memory = np.linspace(3, 10, n), np.linspace(0.1, 0.9, n + 1)
        want = student_t.ppf(memory[:-1].copy(), nu)
        assert same(student_t.ppf(memory[:-1], nu, out=memory[1:]), want)


def test_shapes_of_single_parameters():
    for u in (0.5, [0.5, 0.2], np.array([0.5, 0.2])):
        for nu in (4.0, [4.0], [[4.0]]):
            shape = np.broadcast_shapes(np.shape(u), np.shape(nu))
            assert {np.shape(f(u, nu)) for f in (student_t.pdf, student_t.cdf, student_t.ppf)} == {shape}


def test_executors():
    with ThreadPoolExecutor(2) as pool:
        law = hyperbolic([1.0, 2.0], 0.3, 1.0, workers=pool)
        copied = pickle.loads(pickle.dumps(law))
    assert copied.workers is None and same(copied.ppf(0.3), hyperbolic([1.0, 2.0], 0.3, 1.0).ppf(0.3))
    with ProcessPoolExecutor(1) as pool, pytest.raises(TypeError, match="ThreadPoolExecutor"):
        QuantileTable(lambda x, s: np.exp(-s * x * x), params=(np.array([1.0, 2.0]),), workers=pool)
    with pytest.raises(ValueError, match="not understood"):
        student_t.ppf(0.3, np.empty(0), workers="x")


@pytest.mark.slow
@pytest.mark.parametrize(("law", "p"), [(hyperbolic, (25.0, 20.0, 4.0)), (variance_gamma, (20.0, 2.0, 1.8))])
def test_lower_tail_beyond_the_anchor(law, p):
    """Next to all of the mass is above mu (p- is 1e-19, 2e-17), and the lower tail beyond mu keeps its digits; observed 6e-15."""
    u = np.array([2e-17, 1e-12, 1e-3])
    x = law.ppf(u, *p)
    with mpmath.workdps(30):
        steps = np.array([0, *np.geomspace(0.01, 1, 12)])
        for at, share in zip(x, u, strict=True):
            down = [mpmath.mpf(float(at)) * (1 - mpmath.mpf(float(s))) for s in steps]
            far = [-mpmath.mpf(k) / sum(p[1 if law is variance_gamma else 0 :][:2]) for k in (1, 3, 8, 20, 50)]
            mass = mpmath.quad(lambda t: exact_pdf(law, p, t), [*far[::-1], *down[::-1]])
            assert law.cdf(at, *p) == pytest.approx(float(mass), rel=2e-14)
            assert share == pytest.approx(float(mass), rel=2e-13)  # the table's error and the conditioning


@pytest.mark.parametrize(
    ("law", "p"),
    [
        (hyperbolic, (1.5, 0.3, 1.0)),
        (variance_gamma, (0.6, 1.5, 0.3)),
        (variance_gamma, (20.0, 1.5, 0.3)),
        (nig, (1.5, 0.3, 0.2)),
    ],
)
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float32, 2.0**-50), (np.float32, 2.0**-90), (np.float64, 2.0**-460), (np.float64, 2.0**-900), (np.float64, 2.0**900)],
)
def test_density_of_any_scale(law, p, dtype, scale):
    """Off by e^5 in float32 at scales below 1e-12, where the limit at 0 was taken for the whole density."""
    x = np.array([0.0, 1e-6, 1e-3, 0.1, 1.0, 3.0])
    factors = np.array([1.0] * (law is variance_gamma) + [1 / scale, 1 / scale] + [scale] * (law is not variance_gamma))
    got = law.logpdf((x * scale).astype(dtype), *(np.array(p) * factors).astype(dtype))
    rtol = 5e-6 if dtype == np.float32 else 1e-14  # observed 1.9e-6 and 3.2e-15
    np.testing.assert_allclose(got, law.logpdf(x, *p) - math.log(scale), rtol=rtol)


def test_against_scipy():
    u = np.array([0.001, 0.2, 0.9])
    np.testing.assert_allclose(hyperbolic.ppf(u, 1.5, 0.3, 1.0), scipy.stats.genhyperbolic.ppf(u, 1, 1.5, 0.3), rtol=1e-8)
    np.testing.assert_allclose(nig.cdf(X[1:-1], 1.5, 0.3, 1.0), scipy.stats.norminvgauss.cdf(X[1:-1], 1.5, 0.3), rtol=1e-7)
    np.testing.assert_allclose(student_t.cdf(X, 2.5), scipy.stats.t.cdf(X, 2.5), rtol=1e-13)
    np.testing.assert_allclose(student_t.sf(X, 300.0), scipy.stats.t.sf(X, 300.0), rtol=1e-12)


@pytest.mark.parametrize(("law", "p"), BAD)
def test_out_of_domain(law, p):
    for method, data in (("pdf", 0.3), ("logpdf", 0.3), ("cdf", 0.3), ("sf", 0.3), ("ppf", 0.3), ("isf", 0.3)):
        assert np.isnan(getattr(law, method)(data, *p)), method
    assert np.isnan(law.rvs(*p, size=2, rng=1)).all()
    with pytest.raises(ValueError, match="finite|must"):
        law(*p)


def test_distribution_on_every_device(device):
    nu = np.array([[1.0], [2.0], [-1.0]])
    x = np.array([-math.inf, -1e30, -3.0, -1e-9, 0.0, 0.2, 1e12, math.inf, math.nan])
    with np.errstate(invalid="ignore"):
        tail = np.array([np.arctan2(1.0, np.abs(x)) / np.pi, 1 / (2 + x * x + np.abs(x) * np.sqrt(2 + x * x)), x * math.nan])
    for upper, method in ((False, student_t.cdf), (True, student_t.sf)):
        want = np.where((x > 0) == upper, tail, 1 - tail)
        np.testing.assert_allclose(method(x, nu, **device), want, rtol=1e-14)  # observed 3e-15
    out = np.empty(x.size, np.float32)
    assert nig.cdf(x.astype(np.float32), 1.5, 0.3, 1.0, out=out, **device) is out
    want = np.where(x == 1e12, 1.0, scipy.stats.norminvgauss.cdf(x, 1.5, 0.3))  # SciPy gives 0 there
    np.testing.assert_allclose(out, want, rtol=1e-6)
    moved = variance_gamma.sf(x + 2.0, 1.0, 1.5, 0.3, 2.0, **device)
    np.testing.assert_allclose(moved[2:6], [1 - 0.4 * np.exp(-5.4), 1 - 0.4, 0.6, 0.6 * np.exp(-0.24)], rtol=3e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_densities_do_not_depend_on_their_neighbours(dtype):
    """Sums of a block have as many nodes as its longest: the others add nothing there."""
    rng = np.random.default_rng(9)
    n = 300
    x, lam = rng.normal(size=n) * 10 ** rng.uniform(-6, 3, n), rng.choice([-0.5, 0.0, 0.3, 1.0, 1.5, 1.7, 20.0, -4.2], n)
    alpha, delta = 10 ** rng.uniform(-2, 2, n), 10 ** rng.uniform(-4, 2, n)
    x[5], lam[8], alpha[11], delta[14] = np.nan, np.inf, -1.0, -1.0
    values = [a.astype(dtype) for a in (x, lam, alpha, 0.4 * alpha, delta, np.zeros(n))]
    for method in (generalized_hyperbolic.logpdf, generalized_hyperbolic.pdf):
        whole = method(*values)
        for first in (1, 7, 50):
            assert same(whole[first:], method(*(v[first:] for v in values)))
        scalar = np.array([gh_logpdf(*v[:6], dtype(gh_log_norm(*map(np.float64, v[1:5])))) for v in zip(*values, strict=True)])
        want = scalar if method == generalized_hyperbolic.logpdf else np.exp(scalar)
        np.testing.assert_allclose(
            whole, want, rtol=1e-12 if dtype is np.float64 else 2e-4, atol=1e-12 if dtype is np.float64 else 1e-4
        )


def test_special_values():
    for law, p in CASES:
        for x, density, below in ((-math.inf, 0.0, 0.0), (math.inf, 0.0, 1.0), (math.nan, math.nan, math.nan)):
            assert same(np.float64(law.pdf(x, *p)), np.float64(density)), (law, p, x)
            np.testing.assert_equal(law.cdf(x, *p), below)
        np.testing.assert_equal(law.ppf([0.0, 1.0, -1.0, math.nan], *p), [-math.inf, math.inf, math.nan, math.nan])
    assert variance_gamma.pdf(0.0, 0.3, 1.5, 0.3) == math.inf
    assert variance_gamma.pdf(2.0, 0.5, 1.5, 0.3, 2.0) == math.inf


def test_broadcasting():
    nu = np.array([[1.0], [4.0], [-1.0]])
    u = np.array([0.1, 0.5, 0.9])
    got = student_t.ppf(u, nu)
    assert got.shape == (3, 3) and np.isnan(got[2]).all()
    for i in (0, 1):
        assert same(got[i], student_t.ppf(u, float(nu[i, 0])))
    many = np.linspace(1.0, 5.0, 70)  # more than one batch of tables
    x = student_t.ppf(0.9, many)
    np.testing.assert_allclose(x, scipy.stats.t.ppf(0.9, many), rtol=1e-12)
    repeated = student_t.ppf(np.full(1000, 0.9), np.resize([2.0, 3.0], 1000))
    assert same(repeated, np.resize(student_t.ppf(0.9, [2.0, 3.0]), 1000))
    assert student_t.pdf(u, nu).shape == (3, 3) and student_t.cdf(u, nu).shape == (3, 3)
    assert student_t.rvs(nu[:2], size=(2, 5), rng=1).shape == (2, 5)
    batch = nig(np.array([1.5, 0.2]), 0.3, 1.0)
    assert batch.certificate.ok.tolist() == [True, False]
    assert np.isnan(batch.ppf(0.3)[1])
    assert np.isnan(student_t.ppf(np.float32(0.3), -1.0)) and np.isnan(student_t.ppf(0.3, [-1.0, -2.0])).all()
    assert np.isnan(student_t([-1.0, -2.0], base="normal").transform(0.3)).all()
    for empty in (student_t.ppf(0.3, np.zeros(0)), student_t.cdf(0.3, np.zeros(0)), student_t.pdf(np.zeros(0), 4.0)):
        assert empty.shape == (0,)
    moved = hyperbolic(1.5, 0.3, 1.0, np.array([0.0, 100.0]))
    np.testing.assert_allclose(np.diff(moved.ppf(0.7)), 100.0)


def test_one_rule_for_the_dtype():
    """NumPy's result type of the data and the parameters, Python numbers weak; with fixed parameters that of the data."""
    methods = "pdf", "logpdf", "cdf", "sf", "ppf", "isf"
    for nu in (4.0, np.float32(4.0), np.float64(4.0)):
        frozen = student_t(nu, base="uniform")
        for x in (0.3, np.float32(0.3), np.full(1, 0.3, np.float32)):
            want = np.result_type(x, nu)
            assert {getattr(student_t, m)(x, nu).dtype for m in methods} == {want}, (nu, x)
            assert {getattr(frozen, m)(x).dtype for m in (*methods, "transform")} == {np.result_type(x, 0.0)}, (nu, x)
    table = QuantileTable(lambda x, s: np.exp(-x * s), params=(np.array([1.0, 2.0]),), support=(0.0, math.inf))
    assert {f(np.float32(0.3)).dtype.name for f in (table.pdf, table.ppf, table.isf, table.transform)} == {"float64"}
    assert table.rvs((3, 2), rng=1, dtype=np.float32).dtype == np.float32


def test_named_parameters_and_base():
    assert same(nig.ppf(0.3, alpha=1.5, beta=0.3, delta=1.0), nig.ppf(0.3, 1.5, 0.3, 1.0, 0.0))
    with pytest.raises(TypeError, match="takes alpha, beta, delta, mu: missing.*delta"):
        nig(1.5, 0.3)
    with pytest.raises(TypeError, match="takes nu"):
        student_t(1.0, 2.0)
    z = np.array([-2.0, 0.0, 1.0])
    frozen = student_t(4.0)
    assert frozen.norm_const == 1.0  # the family's density is normalised
    np.testing.assert_allclose(frozen.transform(z), student_t(4.0).ppf(scipy.stats.norm.cdf(z)), rtol=1e-13)
    assert repr(frozen) == "StudentT(df=4.0, loc=0.0, scale=1.0).table()"


def test_draws():
    x = variance_gamma.rvs(0.8, 1.5, 0.3, size=50_000, rng=2)
    assert scipy.stats.kstest(x, lambda v: variance_gamma.cdf(v, 0.8, 1.5, 0.3)).pvalue > 1e-3
    gamma = math.sqrt(1.5**2 - 0.3**2)
    assert abs(x.mean() - 2 * 0.8 * 0.3 / gamma**2) < 0.03


@pytest.mark.parametrize("name", list(LAWS))
def test_docstrings(name):
    law = getattr(ns.distributions, name)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    runner.run(parser.get_doctest(law.__doc__, {}, name, None, 0))
    assert runner.summarize().failed == 0


def test_bridge_to_scipy():
    from numbastats.interop import to_scipy

    law, want = to_scipy(student_t(4.0)), scipy.stats.t(4.0)
    q = np.array([1e-9, 0.2, 0.5, 0.999])
    np.testing.assert_allclose(law.ppf(q), want.ppf(q), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(law.isf(q), want.isf(q), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(law.interval(0.9), want.interval(0.9), rtol=1e-12)
    np.testing.assert_allclose(law.cdf(1.3), want.cdf(1.3), rtol=1e-13)
    assert law.support() == want.support() and to_scipy(QuantileTable(np.ones_like, support=(0, 2))).support() == (0.0, 2.0)
    x = law.rvs(size=(2, 50_000), random_state=1)
    assert x.shape == (2, 50_000) and scipy.stats.kstest(x.reshape(-1), want.cdf).pvalue > 1e-3
    np.testing.assert_allclose([law.logcdf(-3.0), law.logsf(3.0)], [want.logcdf(-3.0), want.logsf(3.0)], rtol=1e-13)
    np.testing.assert_allclose([law.logcdf(1e6), law.logsf(-1e6)], -want.sf(1e6), rtol=1e-13)
    with pytest.raises(ValueError, match="moments='mvsk'"):
        law.stats("mvsk")
    x = np.array([-1e10, -30.0, -0.1, 0.0, 0.1, 30.0, 1e10, math.inf, math.nan])  # 1 - p where that is the smaller one
    np.testing.assert_allclose(law.logcdf(x), want.logcdf(x), rtol=1e-14)
    np.testing.assert_allclose(law.logsf(x), want.logsf(x), rtol=1e-14)
    assert (
        law.logsf(np.float32([2.0])).dtype == np.float32 and np.ndim(law.logcdf(0.5)) == 0 and law.logcdf(-math.inf) == -math.inf
    )
    np.testing.assert_allclose((*law.stats(), law.std()), (*want.stats(), want.std()), rtol=1e-14)
    assert law.expect(np.cos) == pytest.approx(want.expect(np.cos), rel=1e-7)
    assert law.expect(lb=1.0, ub=2.0, conditional=True) == pytest.approx(want.expect(lb=1.0, ub=2.0, conditional=True), rel=1e-9)
    other = to_scipy(QuantileTable(lambda x: np.exp(-x * x / 2)))
    assert other.expect(np.square) == pytest.approx(1.0, rel=1e-9)
    for missing in (lambda: law.fit, lambda: other.mean):
        with pytest.raises(AttributeError, match="ppf"):
            missing()
    with pytest.raises(TypeError, match="QuantileTable"):
        to_scipy(3.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_density_far_out(dtype):
    """Where the square of alpha x overflows, and alpha x itself: exponents of (alpha - beta) x, then -inf and a density of 0."""
    top = float(np.finfo(dtype).max)
    for x in np.array([1e17, 3e19, top**0.5, 2 * top**0.5, top / 1e3, -top / 1e3], dtype):
        for law, p in ((nig, (1.5, 0.3, 1.0)), (hyperbolic, (1.5, 0.3, 1.0)), (variance_gamma, (2.0, 1.5, 0.3))):
            want = -(1.5 - math.copysign(0.3, x)) * abs(float(x))  # but for a logarithm
            assert law.logpdf(x, *p) == pytest.approx(want, rel=1e-15 if dtype == np.float64 else 2e-7)
            assert law.pdf(x, *p) == 0.0
    ends = np.array([0.9 * top, -0.9 * top, math.inf, -math.inf], dtype)
    for law, p in ((nig, (1.5, 0.3, 1.0)), (hyperbolic, (1.5, 0.3, 1.0)), (variance_gamma, (2.0, 1.5, 0.3))):
        assert (law.pdf(ends, *p) == 0.0).all() and (law.logpdf(ends, *p) == -math.inf).all()
    for order, z in itertools.product([0.0, 2.5], [1e19, 0.5 * top]):
        want = 0.5 * (math.log(math.pi / 2) - math.log(z))
        assert log_kve(dtype(order), dtype(z)) == pytest.approx(want, rel=1e-15 if dtype == np.float64 else 2e-7)


@pytest.mark.parametrize(
    ("law", "p"), [(student_t, (0.01,)), (student_t, (0.1,)), (nig, (1e8, 0.3e8, 1e-8)), (variance_gamma, (0.05, 1.5, 0.3, 2.0))]
)
def test_float32_distribution_of_panels_beyond_float32(law, p, device):
    """Heavy tails, small scales, poles: it was NaN at the ends, at mu and where a panel's centre is no float32."""
    x = np.array([math.inf, -math.inf, 3e38, -1e38, 0.0, 2.0, 1e-45, -1e-40, 1e-8, math.nan], np.float32)
    for method in (law.cdf, law.sf):
        want = method(x.astype(np.float64), *p)
        got = method(x, *p, **device)
        assert got.dtype == np.float32 and np.isnan(got).sum() == 1
        np.testing.assert_allclose(got, want, rtol=2e-7)
    np.testing.assert_array_equal(law.cdf(x[:2], *p), [1, 0])
    out = np.empty_like(x)
    assert law.cdf(x, *p, out=out) is out and same(out, law.cdf(x, *p))


def test_more_rows_than_float32_counts(monkeypatch):
    """Headers number the rows, in float32 exactly to 2^24 only: beyond, float32 goes through float64."""
    from numbastats.quantile import quantile_table

    nu, x = np.array([2.0, 5.0, 9.0]), np.array([[0.1], [0.4]], np.float32)
    want = student_t.cdf(x.astype(float), nu), student_t([2.0, 5.0, 9.0], base="uniform").ppf(x.astype(float))
    monkeypatch.setattr(quantile_table, "EXACT32", 100)
    got = student_t.cdf(x, nu, dtype=np.float32), student_t([2.0, 5.0, 9.0], base="uniform").ppf(x, dtype=np.float32)
    for g, w in zip(got, want, strict=True):
        assert same(g, w.astype(np.float32))  # rounded once


def test_memory_of_kept_tables(monkeypatch):
    """Thirty-two batches were kept, however large: 550 MB, and 17 GB of steep ones."""
    monkeypatch.setattr("numbastats.distributions.tables._MEMORY", 1 << 20)
    for alpha in (3.0, 4.0, 5.0, 6.0, 7.0):
        assert nig.cdf(nig.ppf(0.9, alpha, 0.3, 1.0), alpha, 0.3, 1.0) == pytest.approx(0.9, rel=5e-15)
    first, last = ((ns.distributions.NIG, ((alpha, 0.3, 1.0, 0.0),)) for alpha in (3.0, 7.0))
    assert first not in tables._made and last in tables._made
    assert sum(t.nbytes for t in tables._made.values() if t is not None) <= 1 << 20
    many = np.linspace(2.0, 9.0, 6)  # more than fit are kept while they are the last
    for _ in range(2):
        np.testing.assert_allclose(nig.cdf(nig.ppf(0.9, many, 0.3, 1.0), many, 0.3, 1.0), 0.9, rtol=5e-15)
    assert len(tables._made) == 1


def test_underflow_where_numpy_raises_errors():
    """In set-ups of tables and distribution functions tails underflow: FloatingPointError for who has NumPy raise errors."""
    ppf, cdf = hyperbolic(1.75, 0.5, 1.0).ppf(0.125), variance_gamma.cdf([-2.0, 0.5], 1.2, 1.5, 0.3)
    with np.errstate(all="raise"):
        law = hyperbolic(1.75, 0.5, 1.0)  # anew: tables of fixed parameters are not kept
        assert law.ppf(0.125) == ppf
        assert abs(law.ppf(np.float32(0.125)) / ppf - 1) < 1.3e-7  # 2.6e-8
        assert same(variance_gamma.cdf([-2.0, 0.5], 1.2, 1.5, 0.3001).round(3), cdf.round(3))  # other panels, made here
        x = ns.quantile.recycle(np.array([-3.0, 0.1]), "normal", student_t(4.0))
        np.testing.assert_allclose(x, scipy.stats.t(4).ppf(scipy.stats.norm.cdf([-3.0, 0.1])), rtol=1e-12)
        score = ns.stable.score(np.array([5e-324, 3.0]), 2.0, 0.0)  # the normal distribution of variance 2
    np.testing.assert_allclose(score[:, 2:], [[0.0, -1.0], [1.5, 3.5]], atol=1e-9)


def test_a_fixed_law_computes_where_it_was_told(monkeypatch):
    law, asked = student_t(4.0, device="cpu", workers=1), []
    monkeypatch.setattr(protocol, "elementwise", lambda *_, device, workers, **__: asked.append((device, workers)))
    law.pdf(0.3), law.logpdf(0.3), law.cdf(0.3), law.sf(0.3, workers=2)
    assert asked == [("cpu", 1)] * 3 + [("cpu", 2)]
