"""Quantile tables against exact quantiles, closed forms and the reference table, on every device."""

from __future__ import annotations

import math
import pickle

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.quantile import QuantileTable, recycle
from numbastats.testing import DEVICES
from tests.contract import ElementwiseContract, same
from tests.quantile.naive import logistic, rows

SETS = {
    "hyperbolic": [(1, 0, 1), (1.5, 0.3, 1), (2, -1.5, 0.1), (5, 4, 0.5), (0.5, 0.1, 3)],
    "variance_gamma": [
        (0.3, 1.5, 0.3),
        (0.5, 1.5, 0.3),
        (0.8, 1.5, 0.3),
        (1, 1.5, 0.3),
        (1.5, 1.5, 0.3),
        (3, 1.5, 0.3),
        (0.8, 10, -4),
        (1.5, 2, 1.5),
        (0.3, 1.5, 0),
    ],
}


class TestPpf(ElementwiseContract):
    """The logistic law, whose quantile is log u - log(1 - u)."""

    law = QuantileTable(logistic)
    limit = {np.float64: 40.0, np.float32: 1.5}  # observed 22.9 and 1.4
    edges = [
        (0.0, -math.inf),
        (-0.0, -math.inf),
        (1.0, math.inf),
        (-1e-3, math.nan),
        (1.001, math.nan),
        (math.nan, math.nan),
        (math.inf, math.nan),
        (-math.inf, math.nan),
        (1e-25, math.nan),
        (0.5, 0.0),
    ]

    @staticmethod
    def function(u, **options):
        return TestPpf.law.ppf(u, **options)

    @staticmethod
    def sample(dtype):
        rng = np.random.default_rng(8)
        tail = np.exp(rng.uniform(math.log(1e-18), 0, 40))
        return np.concatenate([rng.random(60), tail / 2, [2.0**-30, 0.25, 0.75]]).astype(dtype)

    @staticmethod
    def exact(x):
        with mpmath.workdps(40):
            return [mpmath.log(mpmath.mpf(float(u))) - mpmath.log(1 - mpmath.mpf(float(u))) if 0 < u < 1 else math.inf for u in x]


@pytest.mark.parametrize("degree", [7, 5])
@pytest.mark.parametrize(("law", "values"), [(n, v) for n, sets in SETS.items() for v in sets])
def test_reference(reference, law, values, degree):
    """Observed: 2.9e-15, next to the zero crossing 3.5e-14."""
    u, want = rows(reference, law, values)
    frozen = getattr(ns.distributions, law)(*values, degree=degree)
    assert frozen.certificate.ok and frozen.certificate.max_rel_err < 2e-14
    keep = want != 0
    error = np.abs(frozen.ppf(u[keep]) / want[keep] - 1)
    crossing = np.abs(u[keep] / frozen.p_minus - 1) < 0.1
    assert error[~crossing].max() < 2e-14
    assert error[crossing].max(initial=0) < 5e-13
    # the spec's bound, with the conditioning of u
    allowed = np.maximum(2e-14, 4e-16 * u[keep] / (np.abs(want[keep]) * frozen.pdf(want[keep])))
    assert (error <= allowed).all()


@pytest.mark.parametrize("base", ["normal", "exponential", "other law"])
def test_transform_on_every_device(base, device):
    law = ns.distributions.student_t(2.0)
    if base == "normal":
        b = np.array([-6.0, -1.0, -1e-9, 0.0, 1e-18, 0.3, 2.5, 7.0, math.inf, -math.inf, math.nan])
        lower, upper = scipy.special.ndtr(b), scipy.special.ndtr(-b)
    elif base == "exponential":
        b = np.array([1e-15, 1e-3, 0.2, 1.0, 30.0, 50.0, 1e3, math.inf, -1.0, math.nan])
        known = (b >= 0) & ((b < 45) | (b == math.inf))  # a finite b beyond the table is NaN
        lower, upper = np.where(known, -np.expm1(-b), math.nan), np.where(known, np.exp(-b), math.nan)
    else:
        base = ns.distributions.student_t(5.0)
        b = np.array([-1e3, -1.0, 0.0, 0.3, 40.0, math.nan])
        lower, upper = scipy.stats.t.cdf(b, 5), scipy.stats.t.sf(b, 5)
    with np.errstate(all="ignore"):
        want = (lower - 0.5) * math.sqrt(2) / np.sqrt(lower * upper)  # t with 2 degrees of freedom, closed form
    got = recycle(b, base, law, **device)
    small = np.abs(b) < 1e-3
    np.testing.assert_allclose(got[~small], want[~small], rtol=2e-14)
    if base == "normal":
        np.testing.assert_allclose(got[small], b[small] / math.gamma(1.5), rtol=1e-14)  # (24)


def test_two_sided_exponential(device, tmp_path):
    """(85): rates alpha - beta on the right and alpha + beta on the left; variance gamma of shape 1 is mapped to itself."""
    rates = ("two-sided exponential", (1.2, 1.8))
    v = np.array([-20.0, -1.0, -1e-9, 0.0, 1e-18, 0.3, 2.5, 30.0])
    same_law = ns.distributions.variance_gamma(1.0, 1.5, 0.3, base=rates)
    np.testing.assert_allclose(same_law.transform(v, **device), v, rtol=1e-14)  # observed 2.1e-15
    law = ns.distributions.hyperbolic(1.5, 0.3, 1.0, base=rates)
    left, right = law.p_minus * np.exp(1.8 * v), (1 - law.p_minus) * np.exp(-1.2 * v)
    want = np.where(v < 0, law.ppf(left), law.isf(right))
    got = law.transform(v, **device)
    far = np.abs(v) > 0.1  # nearer to 0 the probabilities round
    np.testing.assert_allclose(got[far], want[far], rtol=2e-14)
    slope = np.array([law.p_minus * 1.8, (1 - law.p_minus) * 1.2]) / law.pdf(0.0)  # (87), (89)
    np.testing.assert_allclose(got[[2, 4]], slope * v[[2, 4]], rtol=3e-9)
    assert got[3] == 0.0
    edges = law.transform([math.inf, -math.inf, math.nan, 45.0, 1e3], **device)
    np.testing.assert_equal(edges, [math.inf, -math.inf, math.nan, math.nan, math.nan])
    assert same(recycle(v, rates, ns.distributions.hyperbolic(1.5, 0.3, 1.0), **device), got)
    narrow = law.transform(v.astype(np.float32), **device)
    np.testing.assert_allclose(narrow, law.transform(v.astype(np.float32).astype(float)), rtol=1e-5)  # e^-54 in float32
    np.testing.assert_allclose(recycle(v[[1, 6]], rates, "normal"), scipy.special.ndtri([np.exp(-1.8) / 2, 1 - np.exp(-3.0) / 2]))
    if device["device"] == "cpu":
        law.save(tmp_path / "two.npz")
        assert same(QuantileTable.load(tmp_path / "two.npz").transform(v), law.transform(v))
        with pytest.raises(ValueError, match="two positive rates"):
            recycle(v, ("two-sided exponential", (1.0, -1.0)), law)
        with pytest.raises(ValueError, match="'two-sided exponential'"):
            recycle(v, ("uniform", 3.0), law)


def test_upper_tail_and_pairs(table, device):
    p = np.array([1e-18, 1e-9, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(table.isf(p, **device), np.log1p(-p) - np.log(p), rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(
        table.ppf2([1, 1, -1, -1], [0.5, 1.0, 0.5, 1.0], [0.5, 1e-12, 0.5, 1e-12], **device),
        [math.log(3), math.log(2e12), -math.log(3), -math.log(2e12)],
        rtol=1e-12,
    )
    assert np.isnan(table.ppf2([1, math.nan, 1], [math.nan, 0.5, -0.1], [0.5, 0.5, 1.1], **device)).all()


def test_full_accuracy():
    full = QuantileTable(logpdf=lambda x: -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))), accuracy="full")
    assert full.certificate.max_rel_err < 2e-14
    u = np.array([1e-299, 1e-100, 1e-20, 0.25])
    np.testing.assert_allclose(full.ppf(u), np.log(u) - np.log1p(-u), rtol=2e-14)
    with pytest.raises(ValueError, match="1/8"):
        QuantileTable(logistic, tail=0.3)


def test_batch(device):
    shape = np.array([[1.0], [2.5], [-1.0], [math.nan]])

    def gamma(x, k):
        if not k > 0:
            raise ValueError("k must be positive")
        return x ** (k - 1) * np.exp(-x)

    batch = QuantileTable(gamma, params=(shape,), support=(0, math.inf))
    assert batch.shape == (4, 1)
    assert batch.certificate.ok.ravel().tolist() == [True, True, False, False]
    u = np.array([0.0, 1e-10, 0.3, 0.99, 1.0])
    got = batch.ppf(u, **device)
    np.testing.assert_allclose(got[:2], scipy.stats.gamma.ppf(u, shape[:2]), rtol=2e-13)
    assert np.isnan(got[2:]).all()
    assert batch.rvs((4, 100), rng=1).shape == (4, 100)
    assert np.isnan(batch.pdf(1.0)[2:]).all()
    np.testing.assert_allclose(batch.norm_const[:2].ravel(), [1.0, math.gamma(2.5)], rtol=1e-14)


def test_workers_do_not_matter():
    scale = np.array([0.5, 1.0, 2.0])

    def build(workers):
        return QuantileTable(lambda x, s: np.exp(-np.abs(x) / s), params=(scale,), workers=workers).table

    assert same(build(1), build(2))


def test_densities_of_tensors(table):
    torch = pytest.importorskip("torch")
    x = torch.tensor([-1.0, 0.0, 2.5], dtype=torch.float32)
    density = table.pdf(x)
    assert density.dtype == torch.float32 and same(density.numpy(), table.pdf(x.numpy()))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_draws(table, dtype):
    x = table.rvs(100_000, rng=3, dtype=dtype)
    assert x.dtype == dtype
    assert scipy.stats.kstest(x.astype(float), scipy.stats.logistic.cdf).pvalue > 1e-3
    assert same(x, table.rvs(100_000, rng=3, dtype=dtype, workers=2))
    assert np.isscalar(table.rvs(rng=3)[()])
    filled = np.empty((2, 3), dtype)
    assert table.rvs(rng=3, out=filled, dtype=dtype) is filled and same(filled.reshape(-1), x[:6])


def test_points_of_an_engine_next_to_one(table):
    """In float32 they round to 1, whose quantile is infinite."""

    class Engine(scipy.stats.qmc.QMCEngine):
        def __init__(self):
            super().__init__(d=1)

        def _random(self, n=1, *, workers=1):
            return np.full((n, 1), self.point)

    engine = Engine()
    for engine.point, want in ((1 - 2.0**-30, 30 * math.log(2)), (1.0, 53 * math.log(2)), (0.0, -54 * math.log(2))):
        for dtype in (np.float64, np.float32):
            x = table.rvs(2, rng=engine, dtype=dtype)
            assert x.dtype == dtype and x.shape == (2, 1)
            np.testing.assert_allclose(x, want, rtol=2e-7 if dtype == np.float32 else 1e-8)
    out = np.empty((2, 1), np.float32)
    assert table.rvs(2, rng=engine, dtype=np.float32, out=out) is out and (out == x).all()


def test_scalar_for_user_code(table):
    import numba

    from numbastats.scalar import table_eval1

    @numba.njit
    def mean(u, rows, header):
        total = 0.0
        for x in u:
            total += table_eval1(x, rows, header)
        return total / u.size

    u = np.array([0.1, 0.5, 0.8])
    batch = ns.distributions.student_t([4.0, 0.5], base="uniform")
    for law in (table, QuantileTable(logistic, degree=5)):
        assert mean(u, law.table, law.header) == pytest.approx(law.ppf(u).mean(), rel=1e-15)
    for i in range(2):
        assert mean(u, batch.table, batch.header[i]) == pytest.approx(batch.ppf(u[:, None])[:, i].mean(), rel=1e-14)


def test_simulator_agrees_on_all_kernels():
    u = np.concatenate([np.random.default_rng(2).random(40), [0.0, 1.0, 1e-12, 0.5]])
    for law in (ns.distributions.nig(1.5, 0.3, 1.0), ns.distributions.nig(1.5, 0.3, 1.0, degree=5)):
        got, want = law.ppf(u, **DEVICES["cuda"]), law.ppf(u, **DEVICES["cpu-serial"])
        np.testing.assert_allclose(got, want, rtol=5e-16)


def scaled_logistic(x, scale):
    return logistic(x / scale) / scale


class Pickling:
    """An executor that does to its work what one of processes does."""

    def map(self, function, jobs):
        return [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(function))(job))) for job in jobs]


def test_tables_of_functions_that_pickle_do_so():
    """Only those of laws did; a local function was in the way, for process pools as well."""
    u = np.array([1e-10, 0.3, 0.8])
    for made in (
        QuantileTable(logistic),
        QuantileTable.from_scipy(scipy.stats.norm(5.0, 2.0)),
        QuantileTable(logpdf=scipy.stats.norm.logpdf),
    ):
        again = pickle.loads(pickle.dumps(made))
        assert same(again.ppf(u), made.ppf(u)) and again.pdf(1.0) == made.pdf(1.0)
        assert same(ns.quantile.recycle(u, "normal", again), ns.quantile.recycle(u, "normal", made))
    scales = np.array([0.5, 2.0])
    batch = QuantileTable(scaled_logistic, params=(scales,), workers=Pickling())
    np.testing.assert_allclose(batch.ppf(u[:, None]), np.log(u / (1 - u))[:, None] * scales, rtol=2e-14)


def test_first_use_while_python_exits():
    """RuntimeError "can't register atexit after shutdown" before."""
    import subprocess
    import sys

    code = "import atexit, numbastats as ns; atexit.register(lambda: print(float(ns.quantile.QuantileTable is not None)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.strip() == "1.0" and not done.stderr, done.stderr


def test_names_that_moved():
    for name, now in (("Recycler", QuantileTable), ("student_t", ns.distributions.student_t)):
        with pytest.warns(DeprecationWarning, match=f"numbastats.quantile.{name} is numbastats"):
            assert getattr(ns.quantile, name) is now
    with pytest.raises(AttributeError, match="normal"):
        _ = ns.quantile.normal


def test_certificates_compare():
    one, two = (QuantileTable(lambda x, s: np.exp(-x * x / s), params=(np.array([1.0, 2.0]),)).certificate for _ in range(2))
    assert one == two and one != QuantileTable(logistic).certificate and one != 3
