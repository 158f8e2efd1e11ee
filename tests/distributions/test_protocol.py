"""What all distribution objects have in common, by one table of them; exact values from mpmath, SciPy and quadrature."""

from __future__ import annotations

import pathlib
import pickle
import re
import traceback

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats._core.cuda_backend import cuda
from numbastats._core.errors import METHODS, ConvergenceWarning
from numbastats.distributions import (
    NIG,
    Beta,
    ChiSquared,
    Distribution,
    Gamma,
    InverseGaussian,
    Lognormal,
    Normal,
    Stable,
    StudentT,
    TruncatedNormal,
    VarianceGamma,
    Weibull,
)
from tests.contract import same
from tests.distributions.objects import CASES, COUNTS, OBJECTS, case_of, has_kernels, is_transformed

FUNCTIONS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
objects = pytest.mark.parametrize("d", OBJECTS, ids=repr)
BY_KERNELS = [d for d in OBJECTS if has_kernels(d)]


def functions_of(d):
    """Those whose loops over parameters are tested; all for three families, since the others share the loops."""
    return FUNCTIONS if isinstance(d, (Normal, Gamma, Beta)) or not has_kernels(d) else ("logsf", "ppf")


def briefly(found):
    """For what compiles much: slow tests of the families that stand for no others."""
    marked = [d if case_of(d).often else pytest.param(d, marks=pytest.mark.slow) for d in found]
    return pytest.mark.parametrize("d", marked, ids=repr)


NAMES = {name: getattr(ns.distributions, name) for name in ns.distributions.__all__}


def inner(d):
    return np.linspace(*map(float, d.interval(0.98)), 7)


def test_every_class_is_in_the_table():
    composed = {ns.distributions.Mixture, Distribution}
    exported = {c for c in NAMES.values() if isinstance(c, type) and issubclass(c, Distribution) and c not in composed}
    assert exported == {type(d) for d in (*OBJECTS, *COUNTS)}


def test_cases_are_of_their_families():
    """Counts have formulas of their own, and what has none says which tests have exact values."""
    for word, case in CASES.items():
        assert case.cls.family == word and {type(d) for d in case.objects} == {case.cls}, word
        there = case.exact or case.counts or (pathlib.Path(__file__).parents[2] / case.elsewhere).is_file()
        assert there, f"tests/distributions/cases/{word}.py has no formulas (exact=, counts=), nor tests that have (elsewhere=)"


@objects
def test_parameters_repr_equality_pickling(d):
    assert eval(repr(d), NAMES) == d and hash(eval(repr(d), NAMES)) == hash(d)
    again = pickle.loads(pickle.dumps(d))
    assert again == d and again.params == d.params and getattr(again, "param", None) == getattr(d, "param", None)
    assert d.params._fields == d.names and d.batch_shape == ()
    assert d != "something" and d != Normal(77.0)
    assert np.isfinite(d.loc) and d.scale > 0
    with pytest.raises(AttributeError, match="immutable"):
        d.loc = 3.0
    with pytest.raises(AttributeError, match="immutable"):
        del d.params
    with pytest.raises(AttributeError, match="its parameters are"):
        d.wrong  # noqa: B018


@objects
def test_functions_agree(d):
    """Each function against another of them, over the middle; the tails' tests have exact values."""
    x = inner(d)
    np.testing.assert_allclose(np.log(d.pdf(x)), d.logpdf(x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(d.cdf(x) + d.sf(x), 1.0, rtol=1e-13)
    np.testing.assert_allclose(np.log(d.cdf(x)), d.logcdf(x), rtol=1e-11)
    np.testing.assert_allclose(np.log(d.sf(x)), d.logsf(x), rtol=1e-11)
    np.testing.assert_allclose(d.ppf(d.cdf(x)), x, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(d.isf(d.sf(x)), x, rtol=1e-11, atol=1e-11)
    pairs = zip(x, x[1:], strict=False)
    masses = [scipy.integrate.quad(d.pdf, *ends, epsabs=0, epsrel=1e-11)[0] for ends in pairs]
    np.testing.assert_allclose(masses, np.diff(d.cdf(x)), rtol=1e-9)
    assert d.median() == d.ppf(0.5)
    low, high = d.interval([0.5, 0.9])
    np.testing.assert_allclose(d.cdf(high) - d.cdf(low), [0.5, 0.9], rtol=1e-12)


@objects
def test_edges(d):
    low, high = d.support()
    assert d.ppf(0.0) == low and d.isf(1.0) == low and d.ppf(1.0) == high and d.isf(0.0) == high
    assert d.cdf(-np.inf) == d.sf(np.inf) == d.pdf(np.inf) == d.pdf(-np.inf) == 0.0
    assert d.cdf(np.inf) == d.sf(-np.inf) == 1.0 and d.logcdf(np.inf) == d.logsf(-np.inf) == 0.0
    assert d.logpdf(np.inf) == d.logcdf(-np.inf) == d.logsf(np.inf) == -np.inf
    for name in FUNCTIONS:
        assert np.isnan(getattr(d, name)(np.nan)) and getattr(d, name)([]).shape == (0,)
    assert np.isnan(d.ppf([-0.1, 1.1])).all() and np.isnan(d.isf([-0.1, 1.1, np.inf])).all()
    if np.isfinite(low):
        outside = low - np.array([1e-3, 1.0, 1e300])
        assert not d.pdf(outside).any() and not d.cdf(outside).any() and (d.sf(outside) == 1.0).all()
        assert (d.logpdf(outside) == -np.inf).all() and np.isnan(d.score(low - 1.0)).all()
    if np.isfinite(high):
        assert d.pdf(high + 1e-3) == 0.0 and d.cdf(high + 1.0) == 1.0 and d.logsf(high + 1.0) == -np.inf


@objects
def test_types_and_out(d):
    x = inner(d)
    u = np.array([0.1, 0.5, 0.7])
    for name in FUNCTIONS:
        function, at = getattr(d, name), u if name in ("ppf", "isf") else x
        want = function(at)
        assert want.dtype == np.float64 and want.shape == at.shape
        single = function(at.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(function(at.astype(np.float32), dtype="float64"), single, rtol=1e-5, atol=1e-5)
        out = np.empty_like(want)
        assert function(at, out=out) is out and same(out, want)
        with pytest.raises(ValueError, match="shape"):
            function(at, out=np.empty(99))
        assert np.ndim(function(float(at[0]))) == 0
        np.testing.assert_allclose(function(float(at[0])), want[0], rtol=1e-12)
        assert function(at[::-1].reshape(-1, 1)).shape == (at.size, 1)
        with pytest.raises(TypeError, match="masked"):
            function(np.ma.masked_array(at, at > 0))
        with pytest.raises(TypeError, match="complex128"):
            function(at + 0j)
    score = d.score(x)
    assert len(score) == len(d.names) and all(s.shape == x.shape for s in score)


@objects
def test_score_is_the_derivative(d):
    """By central differences of logpdf, which limit the tolerance."""
    x = inner(d) + case_of(d).kink
    for k, name in enumerate(d.names):
        value = getattr(d.params, name)
        step = 1e-4 * max(abs(value), 0.1)
        up, down = (type(d)(*d.params._replace(**{name: value + s}), *d._arguments()[len(d.names) :]) for s in (step, -step))
        want = (up.logpdf(x) - down.logpdf(x)) / (2 * step)
        np.testing.assert_allclose(d.score(x)[k], want, rtol=1e-5, atol=1e-6)


@briefly(OBJECTS)
def test_batches(d):
    """Parameters of shapes (2, 1) and (3,): as one by one."""
    first, last = d.params[0], d.params[-1]
    args = [np.array([[first], [first * 1.05]]), *d.params[1:-1], last + np.array([0.0, 0.01, 0.02])]
    extra = d._arguments()[len(d.names) :]
    batch = type(d)(*args, *extra)
    assert batch.batch_shape == (2, 3) and not batch.params[0].flags.writeable
    assert eval(repr(batch), NAMES) == batch and hash(pickle.loads(pickle.dumps(batch))) == hash(batch)
    singles = [[type(d)(a, *d.params[1:-1], z, *extra) for z in args[-1]] for a in args[0][:, 0]]
    x = float(d.ppf(0.3))
    for name in functions_of(d):
        at = 0.3 if name in ("ppf", "isf") else x
        want = [[getattr(s, name)(at) for s in row] for row in singles]
        np.testing.assert_allclose(getattr(batch, name)(at), want, rtol=1e-11)
        assert getattr(batch, name)(np.full((4, 1, 1), at)).shape == (4, 2, 3)
    for name in ("mean", "var", "std", "median"):
        want = [[getattr(s, name)() for s in row] for row in singles]
        np.testing.assert_allclose(getattr(batch, name)(), want, rtol=1e-12)
    assert batch.rvs(rng=1).shape == (2, 3) and batch.rvs((5, 2, 3), rng=1).shape == (5, 2, 3)
    for part in batch.support():
        assert part.shape == (2, 3)
    for k, s in enumerate(batch.score(x)):
        np.testing.assert_allclose(s, [[t.score(x)[k] for t in row] for row in singles], rtol=1e-7, atol=1e-9)
    es = batch.expected_shortfall(0.1, upper=True)
    np.testing.assert_allclose(es, [[t.expected_shortfall(0.1, upper=True) for t in row] for row in singles], rtol=1e-11)
    assert batch.expected_shortfall([[[0.1]], [[0.2]]]).shape == (2, 2, 3)
    np.testing.assert_allclose(batch.expect(np.tanh), [[t.expect(np.tanh) for t in row] for row in singles], rtol=1e-10)


@objects
def test_draws(d):
    x = d.rvs(4000, rng=3)
    assert x.shape == (4000,) and same(x, d.rvs(4000, rng=3)) and np.ndim(d.rvs(rng=1)) == 0
    assert scipy.stats.kstest(x, d.cdf).pvalue > 1e-3
    assert d.rvs(3, rng=1, dtype="float32").dtype == np.float32
    with pytest.raises(TypeError, match="rng="):
        d.rvs(3, random_state=1)
    with pytest.raises(TypeError, match="size"):
        d.rvs("many")


@objects
def test_moments_and_integrals(d):
    """Against `scipy.integrate.quad` of the density, piece by piece."""
    edges = [
        *d.ppf([1e-17, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1]),
        d.median(),
        *d.isf([0.1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-17]),
    ]

    def integral(f, low=-np.inf, high=np.inf):
        inside = np.unique(np.clip(edges, low, high))
        return sum(
            scipy.integrate.quad(f, *ends, epsabs=0, epsrel=1e-11, limit=200)[0] for ends in zip(inside, inside[1:], strict=False)
        )

    np.testing.assert_allclose(d.expect(np.tanh), integral(lambda x: np.tanh(x) * d.pdf(x)), rtol=1e-8)
    low, high = map(float, d.interval(0.7))
    part = d.expect(np.cos, lb=low, ub=high)
    np.testing.assert_allclose(part, integral(lambda x: np.cos(x) * d.pdf(x), low, high), rtol=1e-8)
    np.testing.assert_allclose(d.expect(np.cos, lb=low, ub=high, conditional=True), part / 0.7, rtol=1e-12)
    assert d.expect(lb=high, ub=low) == 0.0
    if case_of(d).orders < 2:
        return
    np.testing.assert_allclose(d.expect(), d.mean(), rtol=1e-12)
    np.testing.assert_allclose(d.expect(lambda x: (x - d.mean()) ** 2), d.var(), rtol=1e-11)
    np.testing.assert_allclose(d.std(), np.sqrt(d.var()), rtol=1e-15)
    for p in (0.01, 0.6):
        q, r = d.ppf(p), d.isf(p)
        np.testing.assert_allclose(d.expected_shortfall(p), integral(lambda x: x * d.pdf(x), high=q) / p, rtol=1e-8)
        np.testing.assert_allclose(d.expected_shortfall(p, upper=True), integral(lambda x: x * d.pdf(x), low=r) / p, rtol=1e-8)


@objects
def test_skewness_kurtosis_entropy(d):
    """Against integrals of what the distribution has in common with all others, and SciPy's calls."""
    frozen, finite = d.to_scipy(), d.skewness() == d.skewness()
    for value in (d.skewness(), d.kurtosis(), d.entropy()):
        assert type(value) is np.float64
    if finite:
        mean, std = d.mean(), d.std()
        np.testing.assert_allclose(d.skewness(), d.expect(lambda x: ((x - mean) / std) ** 3), rtol=1e-9, atol=1e-10)
    if np.isfinite(d.kurtosis()) and case_of(d).orders > 3:
        np.testing.assert_allclose(d.kurtosis() + 3.0, d.expect(lambda x: ((x - mean) / std) ** 4), rtol=1e-9)
    if not isinstance(d, Stable):
        terms = d.expect(lambda x: np.where(d.pdf(x) > 0.0, -d.logpdf(x), 0.0))  # quantiles may round to an end
        np.testing.assert_allclose(d.entropy(), terms, rtol=1e-10)
    np.testing.assert_allclose(frozen.stats(moments="sk"), (d.skewness(), d.kurtosis()), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(frozen.entropy(), d.entropy(), rtol=1e-12)


def test_shapes_broadcast():
    for d in (Gamma([[1.0], [4.0], [np.nan]], 0.0, [1.0, 2.0]), NIG([[1.5], [2.0], [np.nan]], [0.3, -0.3], 1.0)):
        for value in (d.skewness(), d.kurtosis(), d.entropy()):
            assert value.shape == (3, 2) and value.dtype == np.float64
            assert np.isfinite(value[:2]).all() and np.isnan(value[2]).all()
        one = type(d)(*(np.broadcast_to(p, (3, 2))[1, 1] for p in d.params))
        np.testing.assert_allclose(d.entropy()[1, 1], one.entropy(), rtol=1e-11)
        assert d.skewness()[1, 1] == one.skewness() and d.kurtosis()[1, 1] == one.kurtosis()
    assert Weibull([]).skewness().shape == VarianceGamma([], 1.0, 0.0).entropy().shape == (0,)
    single = Gamma(np.float32(2.0))
    assert single.skewness().dtype == single.entropy().dtype == np.float64  # as mean and variance


@objects
def test_expected_shortfall_at_the_ends(d):
    low, high = d.support()
    with np.errstate(invalid="ignore"):
        assert d.expected_shortfall(0.0) == low and d.expected_shortfall(0.0, upper=True) == high
    np.testing.assert_array_equal(d.expected_shortfall(1.0), d.mean())
    assert np.isnan(d.expected_shortfall([-0.1, 1.1, np.nan])).all()
    if np.isfinite(d.var()):
        p = 1.0 - 2.0**-40
        np.testing.assert_allclose(d.expected_shortfall(p), d.mean(), rtol=1e-6, atol=1e-6)
        mixed = 0.3 * d.expected_shortfall(0.3) + 0.7 * d.expected_shortfall(0.7, upper=True)
        np.testing.assert_allclose(mixed, d.mean(), rtol=1e-11, atol=1e-12)


def test_integrals_that_diverge():
    assert Stable(0.9, 0.5).expected_shortfall(0.1) == -np.inf
    assert Stable(0.9, 0.5).expected_shortfall(0.1, upper=True) == np.inf
    assert np.isfinite(Stable(0.5, 1.0).expected_shortfall(0.1))
    assert StudentT(1.0).expected_shortfall(0.1) == -np.inf and StudentT(0.5).expected_shortfall(0.1, upper=True) == np.inf
    assert np.isnan(StudentT(0.8).expect()) and StudentT(0.8).expect(np.abs) == np.inf
    with pytest.warns(ConvergenceWarning, match="kinks and jumps"):
        value = Normal().expect(lambda x: np.where(x > 0.3, 1.0, 0.0))
    assert abs(value - Normal().sf(0.3)) < 1e-2
    np.testing.assert_allclose(Normal().expect(np.ones_like, lb=0.3), Normal().sf(0.3), rtol=1e-14)


def test_parameters_out_of_their_domain():
    for make, message in (
        (lambda: Normal(0.0, -1.0), "scale=-1.0 must be > 0"),
        (lambda: Normal(np.inf), "loc=inf must be finite"),
        (lambda: Normal(0.0, [1.0, 0.0]), "scale=0.0 must be > 0"),
        (lambda: NIG(1.0, 1.0, 1.0), "beta=1.0 must be between -alpha and alpha"),
        (lambda: TruncatedNormal(2.0, 1.0), "lower=2.0 must be below upper"),
        (lambda: Stable(2.1, 0.0), "alpha=2.1 must be in"),
        (lambda: Stable(1.1, -2.0), "beta=-2.0 must be in"),
        (lambda: Stable(1.1, 0.0, param="S2"), "param='S2' is not known"),
        (lambda: Gamma([1.0, 2.0], [1.0, 2.0, 3.0]), "do not broadcast"),
        (lambda: Gamma([1.0, -2.0]), "shape=-2.0 must be > 0"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match="complex"):
        Normal(1j)
    with pytest.raises(TypeError, match="masked"):
        Normal(np.ma.masked_array([1.0], [True]))
    for d in (Normal([0.0, np.nan]), Gamma([2.0, np.nan]), Stable([1.5, np.nan], 0.0), NIG(2.0, [0.0, np.nan], 1.0)):
        for name in FUNCTIONS:
            value = getattr(d, name)(0.3)
            assert np.isfinite(value[0]) and np.isnan(value[1]), (d, name)
        for name in ("mean", "median", "rvs"):
            assert np.isnan(getattr(d, name)()[1])
        assert d == eval(repr(d), NAMES)
    assert TruncatedNormal(30.0, np.inf) == eval(repr(TruncatedNormal(30.0, np.inf)), NAMES)
    assert len(repr(Normal(np.arange(1e5)))) < 200
    assert Normal(-0.0) == Normal(0.0) and hash(Normal(-0.0)) == hash(Normal(0.0))
    assert Normal([0.0]) != Normal(0.0) and Normal() != Lognormal(1.0)


def test_devices(device):
    x = np.array([0.3, 0.6])
    if device["device"] == "cuda":
        for function in (NIG(1.0, 0.0, 1.0).logcdf, NIG(1.0, 0.0, 1.0).logsf):
            with pytest.raises(TypeError, match="runs on the host"):
                function(x, **device)
    for d in (NIG(1.0, 0.0, 1.0), Stable(1.5, 0.0)):
        for name in ("pdf", "cdf", "ppf"):
            np.testing.assert_allclose(getattr(d, name)(x, **device), getattr(d, name)(x), rtol=1e-11)
    with pytest.raises(ValueError, match="device"):
        Normal().pdf(x, device="gpu")
    with pytest.raises(ValueError, match="workers"):
        Normal().pdf(x, workers=0)


@objects
def test_draws_on_devices(d, device):
    want = d.rvs(64, rng=3)
    np.testing.assert_allclose(d.rvs(64, rng=3, **device), want, rtol=1e-12, atol=1e-13 * np.abs(want).max())


@pytest.mark.parametrize("d", BY_KERNELS, ids=repr)
def test_kernels_of_families(d, device):
    """The three twins, for one distribution and for arrays of them, whose parameters are not rounded to the type of x."""
    x, u = inner(d), np.array([0.0, 1e-9, 0.4, 0.999, 1.0, np.nan])
    many = type(d)(*([p, p] for p in d._arguments()))
    for name in ("logsf",) if is_transformed(d) else FUNCTIONS:
        at = u if name in ("ppf", "isf") else np.array([*x, -np.inf, np.inf, np.nan])
        want = np.array([getattr(d, name)(float(v)) for v in at])
        np.testing.assert_allclose(getattr(d, name)(at, **device), want, rtol=2e-14, atol=1e-300)
        if name in functions_of(d):
            got = getattr(many, name)(at[:, None], **device)
            np.testing.assert_allclose(got, np.stack([want, want], axis=1), rtol=2e-14, atol=1e-300)
        single = at.astype(np.float32)
        want = getattr(d, name)(single.astype(np.float64)).astype(np.float32)
        got = getattr(d, name)(single, **device)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-7, atol=1e-38)  # an ulp, where the twins' doubles round apart


@briefly(BY_KERNELS)
def test_nan_parameters_give_nan(d):
    batch = type(d)(*(np.array([p, np.nan]) for p in d._arguments()))
    for name in ("pdf", "logsf", "ppf", "isf"):
        for x in (0.0, 0.3, 1.0) if name in ("ppf", "isf") else inner(d)[2:4]:
            value = getattr(batch, name)(x)
            assert np.isnan(value[1]) and value[0] == getattr(d, name)(x), (name, x)


def test_arrays_on_the_gpu():
    """A Numba array gives a Numba array, of its float type, with `out` too."""
    x = np.linspace(0.1, 0.9, 50)
    for d in (Normal(), Gamma(2.5, 0.1, 2.0), Beta([2.0], 3.0)):
        for dtype in (np.float64, np.float32):
            for name in ("logpdf", "sf", "ppf"):
                there = cuda.to_device(x.astype(dtype))
                want = getattr(d, name)(x.astype(dtype))
                got = getattr(d, name)(there)
                assert hasattr(got, "copy_to_host") and got.dtype == dtype
                np.testing.assert_allclose(got.copy_to_host(), want, rtol=1e-6 if dtype == np.float32 else 1e-13)
                out = cuda.to_device(np.zeros_like(want))
                assert getattr(d, name)(there, out=out) is out
                assert same(out.copy_to_host(), got.copy_to_host())


@pytest.mark.parametrize("d", [Gamma(2.5, 0.1, 2.0), Normal(1.0, 2.0), Beta([2.0, 3.0], 3.0), NIG(1.5, 0.3, 1.0)], ids=repr)
def test_scores_on_devices(d, device):
    x = np.array([0.3, 0.9])
    want = [[float(s if not d.batch_shape else s[i]) for s in d.score(float(v))] for i, v in enumerate(x)]
    if not has_kernels(d) and device["device"] == "cuda":
        with pytest.raises(TypeError, match="runs on the host"):
            d.score(x, **device)
    else:
        np.testing.assert_allclose(np.transpose(d.score(x, **device)), want, rtol=2e-14, atol=1e-15)
    there = cuda.to_device(x)
    got = d.score(there)
    assert all(hasattr(s, "copy_to_host") for s in got)
    np.testing.assert_allclose(np.transpose([s.copy_to_host() for s in got]), want, rtol=2e-14, atol=1e-15)
    out = tuple(cuda.to_device(np.zeros(2)) for _ in d.names)
    assert all(s is o for s, o in zip(d.score(there, out=out), out, strict=True))
    np.testing.assert_array_equal([o.copy_to_host() for o in out], [s.copy_to_host() for s in got])


def test_scores_of_every_kind():
    pandas, xarray, dask = map(pytest.importorskip, ("pandas", "xarray", "dask.array"))
    x = np.array([0.3, 0.9, 4.0, -1.0])
    for d in (Gamma(2.5, 0.1, 2.0), InverseGaussian(2.0, 3.0), Stable(1.5, 0.3)):
        want = d.score(x)
        series = pandas.Series(x, index=list("abcd"))
        for got, right in zip(d.score(series), want, strict=True):
            pandas.testing.assert_series_equal(got, pandas.Series(right, index=list("abcd")))
        for given in (dask.from_array(x, chunks=3), xarray.DataArray(dask.from_array(x, chunks=3), dims="t")):
            lazy = d.score(given)
            assert all(type(s) is type(given) and "dask" in type(getattr(s, "data", s)).__module__ for s in lazy)
            np.testing.assert_array_equal([s.compute() for s in lazy], want)
        single = d.score(x.astype(np.float32))
        assert all(s.dtype == np.float32 for s in single)
        np.testing.assert_allclose(single, d.score(x.astype(np.float32).astype(np.float64)), rtol=1e-7)  # an ulp
        out = tuple(np.empty(4) for _ in want)
        assert all(s is o for s, o in zip(d.score(x, out=out), out, strict=True)) and same(np.array(out), np.array(want))
    batch = Gamma(xarray.DataArray([2.0, 3.0], dims="place")).score(xarray.DataArray(x, dims="t"))
    assert all(s.dims == ("t", "place") for s in batch)
    np.testing.assert_array_equal(batch[0], Gamma([2.0, 3.0]).score(x[:, None])[0])
    with pytest.raises(TypeError, match="tuple of 3 arrays"):
        Gamma(2.0).score(x, out=np.empty(4))
    with pytest.raises(TypeError, match="dask array"):
        Gamma([2.0, 3.0]).score(dask.from_array(x, chunks=3))
    with pytest.raises(TypeError, match="masked"):
        Gamma(2.0).score(np.ma.masked_array(x, x > 0))


@pytest.mark.parametrize("d", [Normal(1.0, 2.0), Gamma(2.5, 0.1, 2.0), Lognormal(0.5), Beta(2.0, 3.0), Weibull(1.5)], ids=repr)
def test_draws_of_the_kind_of_an_array(d):
    """On the device of `like` and never on the host, with the bits of draws without it."""
    dask = pytest.importorskip("dask.array")
    want = d.rvs(40, rng=3)
    there = d.rvs(40, rng=3, like=cuda.to_device(np.empty(0)), stream=cuda.stream())
    assert hasattr(there, "copy_to_host")
    np.testing.assert_allclose(there.copy_to_host(), want, rtol=1e-13)
    lazy = d.rvs(40, rng=3, like=dask.zeros(40, chunks=16))
    assert lazy.chunks == ((16, 16, 8),)
    np.testing.assert_array_equal(lazy.compute(), want)
    assert type(d.rvs(rng=3)) is np.float64 and d.rvs((2, 3), rng=3, dtype="float32").dtype == np.float32


@briefly(OBJECTS)
def test_to_scipy(d):
    frozen = d.to_scipy()
    assert isinstance(frozen.dist, scipy.stats.rv_continuous)
    x = inner(d)
    for name in FUNCTIONS:
        at = [0.1, 0.6] if name in ("ppf", "isf") else x
        np.testing.assert_allclose(getattr(frozen, name)(at), getattr(d, name)(at), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(frozen.support(), d.support(), rtol=1e-12)
    if not isinstance(d, Stable):
        np.testing.assert_allclose((frozen.mean(), frozen.std()), (d.mean(), d.std()), rtol=1e-12)
    draws = frozen.rvs(size=500, random_state=1)
    assert scipy.stats.kstest(draws, d.to_scipy().cdf).pvalue > 1e-3
    assert np.isnan(frozen.dist.pdf(1.0, *[np.nan] * frozen.dist.numargs, scale=1.0 if frozen.dist.numargs else np.nan))


def test_scipy_fits_with_our_functions():
    x = Gamma(3.0, scale=2.0).rvs(400, rng=5)
    ours, theirs = Gamma(1.0).to_scipy().dist, scipy.stats.gamma
    np.testing.assert_allclose(ours.fit(x, floc=0.0), theirs.fit(x, floc=0.0), rtol=1e-3)
    bounds = {"shape": (0.5, 10.0), "loc": (0.0, 0.0), "scale": (0.1, 10.0)}

    def optimizer(f, bounds, **_):
        return scipy.optimize.minimize(f, np.mean(bounds, axis=1), bounds=bounds, method="Nelder-Mead")

    fitted = scipy.stats.fit(ours, x, bounds, optimizer=optimizer)
    np.testing.assert_allclose(fitted.params.shape, theirs.fit(x, floc=0.0)[0], rtol=1e-3)
    known = {"loc": 0.0, "shape": 3.0, "scale": 2.0}
    found = scipy.stats.goodness_of_fit(
        ours, x, known_params=known, statistic="ks", n_mc_samples=50, rng=np.random.default_rng(1)
    )
    assert found.pvalue > 0.01
    assert isinstance(pickle.loads(pickle.dumps(ours)), scipy.stats.rv_continuous)


def test_invalid_shapes_are_nan_in_scipys_way():
    dist = NIG(1.0, 0.0, 1.0).to_scipy().dist
    np.testing.assert_allclose(dist.pdf(0.5, [1.0, 1.0], [0.2, 1.5]), [float(NIG(1.0, 0.2, 1.0).pdf(0.5)), np.nan])


def test_tails_beyond_the_doubles():
    """Logarithms by integration: mpmath, 40 digits."""
    with mpmath.workdps(40):
        for d, x, upper in (
            (Gamma(3.0), 2000.0, True),
            (Gamma(300.0), 1.0, False),
            (Gamma(0.5), 1e6, True),
            (ChiSquared(40.0), 1e-20, False),
            (Beta(400.0, 3.0), 1e-3, False),
            (Beta(2.0, 500.0), 0.9, True),
            (StudentT(200.0), -1e3, False),
            (StudentT(200.0), 1e4, True),
        ):
            z = mpmath.mpf(x)
            if isinstance(d, StudentT):
                n = mpmath.mpf(d.df)
                p = mpmath.betainc(n / 2, mpmath.mpf(0.5), 0, n / (n + z * z), regularized=True) / 2
            elif isinstance(d, Beta):
                a, b, z = (d.b, d.a, 1 - z) if upper else (d.a, d.b, z)
                p = mpmath.betainc(a, b, 0, z, regularized=True)
            else:
                shape, z = (d.shape, z) if isinstance(d, Gamma) else (d.df / 2, z / 2)
                p = mpmath.gammainc(shape, *((z, mpmath.inf) if upper else (0, z)), regularized=True)
            got = float((d.logsf if upper else d.logcdf)(x))
            assert p < 1e-290 and abs(got / float(mpmath.log(p)) - 1) < 2e-14, (d, got)  # observed 4e-15


def test_the_base_says_what_it_is():
    assert all(issubclass(type(d), Distribution) for d in OBJECTS)
    words = {type(d).family for d in OBJECTS}
    assert {"normal", "student_t", "gamma", "inverse_gaussian", "lognormal", "weibull", "beta", "nig", "stable"} <= words


def test_scipy_is_not_loaded_by_the_import(run_python):
    code = """
import sys, numbastats.distributions as d
d.Normal()
print("scipy.stats" in sys.modules, "scipy.special" in sys.modules)
"""
    assert run_python(code).split() == ["False", "False"]


def test_other_names_of_methods_are_answered():
    d = ns.distributions.NIG(1.0, 0.2, 1.0)
    for name, ours in (("cvar", "expected_shortfall"), ("quantile", "ppf"), ("sample", "rvs"), ("log_prob", "logpdf")):
        with pytest.raises(
            AttributeError, match=f"NIG has no attribute '{name}': did you mean {ours}\\? Its parameters are"
        ) as said:
            getattr(d, name)
        assert "Did you mean" not in "".join(traceback.format_exception(said.value))
    with pytest.raises(AttributeError, match="no attribute 'foo'; its parameters are alpha, beta, delta, mu"):
        d.foo  # noqa: B018
    for cls in (type(d), ns.distributions.Stable):
        for other, ours in METHODS.items():
            assert not hasattr(cls, other) and all(hasattr(cls, o) for o in re.split(", | or ", ours) if o != "params"), other


@objects
def test_table(d):
    table, u = d.table(), np.array([1e-9, 0.01, 0.3, 0.7, 0.999])
    width = float(np.diff(d.interval(0.5)).item())
    np.testing.assert_allclose(table.ppf(u), d.ppf(u), rtol=1e-11, atol=1e-11 * width)
    assert table.certificate.max_rel_err < 2e-14
    batch = type(d)(*([p] for p in d._arguments() if not isinstance(p, str)))
    if hasattr(d, "_described"):
        np.testing.assert_array_equal(batch.table().ppf(u), table.ppf(u))
    else:
        with pytest.raises(ValueError, match="one table per set"):
            batch.table()


@pytest.mark.parametrize(
    "d", [Gamma(2.5, 1.0, 2.0), Beta(2.0, 3.0), StudentT(4.5, -1.0, 0.5), InverseGaussian(1.0, 2.0)], ids=repr
)
def test_quantiles_by_table_and_by_points(d):
    u = np.append(np.random.default_rng(1).uniform(size=1000), [0.0, 1.0, 1e-30, 1.0 - 2.0**-53, 0.5, -1.0, np.nan])
    for name in ("ppf", "isf"):
        quantile = getattr(d, name)
        points = quantile(u, method="points")
        assert same(quantile(u), points)  # few
        np.testing.assert_allclose(quantile(u, method="table"), points, rtol=5e-14, atol=1e-15)  # observed 1.3e-14
        many = np.resize(u, 400_000)
        assert same(quantile(many), quantile(many, method="table"))
        assert quantile(u.astype(np.float32), method="table").dtype == np.float32
    with pytest.raises(ValueError, match="method"):
        d.ppf(0.5, method="tables")


def test_a_distribution_without_an_exact_table():
    d = Beta(0.01, 0.02)
    with pytest.raises(ValueError, match="no table"):
        d.ppf([0.2, 0.3], method="table")
    u = np.random.default_rng(2).uniform(size=100_000)
    assert same(d.ppf(u)[:9], d.ppf(u[:9]))


def test_table_from_normal_variates():
    d, z = StudentT(4.5, -1.0, 0.5), np.array([-6.0, -1.0, 0.0, 3.0])
    np.testing.assert_allclose(d.table(base="normal").transform(z), d.ppf(scipy.special.ndtr(z)), rtol=1e-12)
