"""Distributions defined by users: against classes of the library that have the same density."""

import concurrent.futures
import functools
import math
import multiprocessing
import pickle

import numba
import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from numbastats import distributions as D

TAILS = np.array([1e-280, 1e-100, 1e-21, 1e-3, 0.3, 0.5])


def _log_gamma(z, a):
    return (a - 1.0) * math.log(z) - z - math.lgamma(a)


def _log_beta(z, a, b):
    return (a - 1.0) * math.log(z) + (b - 1.0) * math.log1p(-z) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)


def _log_normal(z):
    return -0.5 * z * z - 0.9189385332046727


def _log_with_needle(z):
    """Two normal densities, the one 1e-4 wide."""
    if abs(z) > 30.0:
        return -0.5 * z * z - 1.612085713764618
    needle = math.exp(-0.5 * ((z - 3.21) / 1e-4) ** 2) / 1e-4
    return math.log(math.exp(-0.5 * z * z) + needle) - 1.612085713764618


def _wrong_by_shape(z, a):
    return (a - 1.0) / z - 1.0, math.log(z)


def _own_gamma():
    return D.define("OwnGamma", _log_gamma, {"a": "positive"}, support=(0.0, math.inf))


@functools.cache
def own(name):
    """One of the classes; they compile when first asked for."""
    if name == "OwnGamma":
        globals()[name] = _own_gamma()  # where pickle finds it
        return globals()[name]
    if name == "OwnBeta":
        return D.define(name, numba.njit(_log_beta), {"a": "positive", "b": "positive"}, support=(0.0, 1.0))
    if name == "OwnNormal":
        return D.define(name, _log_normal)
    tails = dict(cdf=lambda z: -math.expm1(-z), sf=lambda z: math.exp(-z))
    quantiles = dict(ppf=lambda p: -math.log1p(-p), isf=lambda q: -math.log(q))
    return D.define(name, lambda z: -z, support=(0.0, math.inf), score=lambda z: (-1.0,), **tails, **quantiles)


SLOW = pytest.mark.slow
PAIRS = [  # what is known, with the same parameters and at which points
    ("OwnGamma", D.Gamma(2.5, loc=1.0, scale=3.0), [1.0 + 1e-9, 1.5, 4.0, 90.0, 3000.0]),
    ("OwnGamma", D.Gamma([0.3, 4.0]), [0.1, 5.0]),
    pytest.param("OwnBeta", D.Beta(0.7, 2.5), [1e-100, 1e-9, 0.2, 0.7, 0.99], marks=SLOW),
    pytest.param("OwnBeta", D.Beta(3.0, [1.5, 2.0], loc=-1.0, scale=2.0), [0.5, 0.9], marks=SLOW),
    ("OwnNormal", D.Normal(5.0, 2.0), [-200.0, -70.0, 4.0, 5.0, 9.0, 80.0, 1e5]),
    ("OwnExponential", D.Exponential(scale=2.0), [1e-300, 1.0, 50.0, 3000.0]),
]


@pytest.mark.parametrize(("name", "known", "x"), PAIRS)
def test_functions_of_x(name, known, x):
    mine, x = own(name)(*known.params), np.array(x)
    for name in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"):
        found, true = getattr(mine, name)(x), getattr(known, name)(x)
        np.testing.assert_allclose(found, true, rtol=2e-12, atol=1e-300, err_msg=name)  # observed 5e-13
    outside = np.array([-math.inf, math.inf, math.nan])[:, None]
    for name in ("pdf", "cdf", "sf", "logcdf", "logsf"):
        np.testing.assert_array_equal(getattr(mine, name)(outside), getattr(known, name)(outside), name)


@pytest.mark.parametrize(("name", "known", "x"), PAIRS)
def test_quantiles_and_moments(name, known, x):
    mine, p = own(name)(*known.params), TAILS[:, None]
    for name in ("ppf", "isf"):
        found, true = getattr(mine, name)(p), getattr(known, name)(p)
        np.testing.assert_allclose(found, true, rtol=2e-12, atol=1e-300, err_msg=name)  # observed 2e-13
        np.testing.assert_array_equal(getattr(mine, name)([[0.0], [1.0], [2.0]]), getattr(known, name)([[0.0], [1.0], [2.0]]))
    for name in ("mean", "var", "skewness", "kurtosis", "entropy"):
        np.testing.assert_allclose(getattr(mine, name)(), getattr(known, name)(), rtol=1e-9, atol=1e-10, err_msg=name)
    for found, true in zip(mine.score(x[1]), known.score(x[1])[-len(mine.names) :], strict=True):
        np.testing.assert_allclose(found, true, rtol=1e-9, atol=1e-10)


def test_fits_are_those_of_the_library():
    x = D.Gamma(2.5, scale=3.0).rvs(300, rng=1)
    for fixed in (None, {"loc": None}, {"scale": 2.0}):
        mine, known = D.fit(x, own("OwnGamma"), fixed=fixed), D.fit(x, "gamma", fixed=fixed)
        assert mine.converged and abs(mine.loglik - known.loglik) < 1e-9
        np.testing.assert_allclose(mine.params["a"], known.params["shape"], rtol=1e-7)
        np.testing.assert_allclose(mine.se["a"], known.se["shape"], rtol=1e-5)
    batch = D.fit_many(x.reshape(6, 50), own("OwnGamma"))
    np.testing.assert_allclose(batch["scale"], D.fit_many(x.reshape(6, 50), "gamma")["scale"], rtol=1e-7)
    assert batch.family == "OwnGamma" and isinstance(batch.distribution, own("OwnGamma"))
    assert own("OwnGamma").fit(x) == D.fit(x, own("OwnGamma")).distribution


def test_fits_to_censored_data():
    x = D.Exponential(scale=3.0).rvs(200, rng=1)
    censored = (np.minimum(x, 4.0), np.where(x > 4.0, math.inf, x))
    mine, known = D.fit(None, own("OwnExponential"), censored=censored), D.fit(None, "exponential", censored=censored)
    assert abs(mine.loglik - known.loglik) < 1e-9 and abs(mine.params["scale"] - known.params["scale"]) < 1e-7
    with pytest.raises(ValueError, match="cdf= and sf="):
        D.fit(None, own("OwnGamma"), censored=censored)


def test_what_takes_a_class():
    x = D.Gamma(2.5, scale=3.0).rvs(300, rng=1)
    table = D.compare(x, ["normal", own("OwnGamma")])
    assert table.best.family == "OwnGamma"
    assert table.best.estimate(lambda d: d.ppf(0.9)).se > 0.0
    np.testing.assert_allclose(D.standardise(x, own("OwnGamma")), D.standardise(x, "gamma"), atol=1e-6)
    mine = own("OwnGamma")(2.5)
    assert pickle.loads(pickle.dumps(mine)) == mine and repr(mine) == "OwnGamma(a=2.5, loc=0.0, scale=1.0)"
    mixed = D.Mixture([mine, D.Normal()], weights=[0.5, 0.5])
    np.testing.assert_allclose(mixed.cdf(1.0), 0.5 * mine.cdf(1.0) + 0.5 * D.Normal().cdf(1.0), rtol=1e-14)
    np.testing.assert_allclose(mine.to_scipy().sf(3.0), mine.sf(3.0), rtol=1e-14)
    with pytest.raises(ValueError, match="'OwnGamma' more than once"):
        D.compare(x, [own("OwnGamma"), own("OwnGamma")])


@pytest.mark.slow
def test_without_location_and_scale():
    def logpdf(z, r):
        return math.log((1.0 - r * r) / (2.0 * math.pi * (1.0 + r * r - 2.0 * r * math.cos(z))))

    WrappedCauchy = D.define("WrappedCauchy", logpdf, {"r": (0.0, 1.0)}, support=(0.0, 2.0 * math.pi), location_scale=False)
    d, z = WrappedCauchy(0.6), np.array([1e-9, 0.5, 3.1, 6.0])
    np.testing.assert_allclose(d.cdf(z), scipy.stats.wrapcauchy(0.6).cdf(z), rtol=1e-12)
    assert d.params == (0.6,) and len(d.score(1.0)) == 1
    found = D.fit(d.rvs(2000, rng=1), WrappedCauchy)
    assert found.converged and list(found.params) == ["r"] and abs(found.params["r"] - 0.6) < 4 * found.se["r"]


def test_draws_and_labels():
    u = own("OwnGamma")(2.5).cdf(own("OwnGamma")(2.5).rvs(2000, rng=1))
    assert abs(u.mean() - 0.5) < 4 * math.sqrt(1 / 12 / 2000)
    pandas = pytest.importorskip("pandas")
    x = pandas.Series([0.5, 2.0], index=["a", "b"])
    assert list(own("OwnGamma")(2.5).cdf(x).index) == ["a", "b"]
    assert own("OwnGamma")(2.5).pdf(np.float32([1.0])).dtype == np.float32
    assert own("OwnGamma")(2.5).cdf(np.empty(0)).shape == (0,)


def test_twins_agree(device):
    mine, x = own("OwnGamma")(2.5), np.array([0.5, 2.0, 40.0])
    for name in ("pdf", "cdf", "sf"):
        np.testing.assert_allclose(getattr(mine, name)(x, **device), getattr(mine, name)(x), rtol=1e-14)
    np.testing.assert_allclose(mine.ppf([0.1, 0.9], **device), mine.ppf([0.1, 0.9]), rtol=1e-14)
    fits = D.fit_many(D.Gamma(2.5).rvs((2, 20), rng=1), own("OwnGamma"), **device)
    np.testing.assert_allclose(fits.loglik, D.fit_many(D.Gamma(2.5).rvs((2, 20), rng=1), "gamma").loglik, rtol=1e-12)


def _define(logpdf=_log_normal, shapes=None, **options):
    return D.define("Wrong", logpdf, shapes, **options)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: _define(lambda z: -z * z), ValueError, r"Wrong\(loc=0.0, scale=1.0\): .* mass 1.77245385; subtract 0.572364943"),
        (lambda: _define(lambda z: -math.log(z), support=(0, 1)), ValueError, "not integrable"),
        (lambda: _define(lambda z: math.log(z - 0.5), support=(0, 1)), ValueError, "the density is nan"),
        (lambda: _define(lambda z: z + "a"), TypeError, "logpdf: Numba does not compile it for 1 numbers: No implementation"),
        (lambda: _define(lambda z: unknown(z)), TypeError, "name 'unknown' is not defined"),  # noqa: F821
        (lambda: _define(lambda z: 1), TypeError, r"logpdf returns .*int.* must return float64"),
        (lambda: _define(score=lambda z: -z), TypeError, "score returns float64"),
        (
            lambda: _define(score=lambda z: (-z if z < 0.0 else -0.9 * z,)),
            ValueError,
            "score has .* by z at z = .* differences give",
        ),
        (
            lambda: _define(_log_gamma, {"a": "positive"}, support="positive", score=_wrong_by_shape),
            ValueError,
            r"Wrong\(a=1.0.* score has .* by a at z",
        ),
        (
            lambda: _define(_log_with_needle),
            ValueError,
            "mass 0.5; name the places of narrow parts, .* in breaks=, for one may be",
        ),
        (lambda: _define(breaks=[math.inf]), ValueError, "breaks"),
        (lambda: _define(None), TypeError, "logpdf is a NoneType"),
        (lambda: _define(_log_gamma, {"mean": "positive"}), ValueError, "'mean' must have a name of its own"),
        (lambda: _define(_log_gamma, {"a": "large"}), ValueError, "'large'; the domain is"),
        (lambda: _define(_log_gamma, {"a": (2.0, 1.0)}), ValueError, "pair"),
        (lambda: _define(_log_gamma, dict.fromkeys("abc", "real")), ValueError, "3 shapes; at most 2"),
        (lambda: _define(support=(1.0, 0.0)), ValueError, "support"),
        (lambda: _define(cdf=lambda z: 0.5), ValueError, "cdf= needs sf="),
        (lambda: _define(ppf=lambda z: 0.5, isf=lambda z: 0.5), ValueError, "ppf= needs cdf="),
        (
            lambda: _define(cdf=lambda z: 0.5 * math.erfc(z / math.sqrt(2)), sf=lambda z: 0.5),
            ValueError,
            "cdf is .* by the density",
        ),
        (lambda: _define(location_scale=False), ValueError, "no parameters"),
        (lambda: D.define("two words", _log_normal), ValueError, "identifier"),
        (lambda: own("OwnGamma")(-1.0), ValueError, "a=-1.0 must be > 0"),
        (lambda: own("OwnGamma")(), TypeError, "missing a required argument: 'a'"),
    ],
)
def test_bad_input(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.slow
def test_an_interval_is_a_domain():
    Bounded = D.define("Bounded", lambda z, r: math.log(0.5 * (1.0 + r * z)), {"r": (-1.0, 1.0)}, support=(-1.0, 1.0))
    with pytest.raises(ValueError, match="r=1.5 must be between -1 and 1"):
        Bounded(1.5)
    x = Bounded(0.5).rvs(3000, rng=1)
    found = D.fit(x, Bounded)
    assert found.converged and abs(found.params["r"] - 0.5) < 4 * found.se["r"]
    assert ns.distributions.fit(x, Bounded).params["loc"] == 0.0


def test_a_narrow_part_by_its_place():
    """Without `breaks` its mass is missing, and a constant for the rest would be wrong."""
    mine = D.define("Needle", _log_with_needle, breaks=[3.21])(loc=1.0, scale=2.0)
    both = D.Mixture([D.Normal(1.0, 2.0), D.Normal(7.42, 2e-4)])
    x = np.array([-3.0, 1.0, 7.4195, 7.42, 7.4204, 9.0])
    for name in ("pdf", "cdf", "sf"):
        np.testing.assert_allclose(getattr(mine, name)(x), getattr(both, name)(x), rtol=1e-9, err_msg=name)


def test_a_function_without_a_module():
    """As of `exec`, and of some tools of notebooks."""
    room = {"math": math}
    exec("def f(z): return -abs(z) - math.log(2.0)", room)
    assert room["f"].__module__ is None
    mine, x = D.define("Bare", room["f"]), D.Laplace(3.0).rvs(50, rng=1)
    np.testing.assert_allclose(mine(1.0, 2.0).cdf(x), D.Laplace(1.0, 2.0).cdf(x), rtol=1e-12)
    assert mine.fit(x).scale > 0.5 and room["f"].__module__ is None
    with pytest.raises(
        pickle.PicklingError, match=r"assign the class to the variable Bare of the module .* or define f at the top"
    ):
        pickle.dumps(mine)


def test_fits_are_pickled_and_run_in_processes():
    """By the name of the class; and by those of its functions where the class has none of its own."""
    x = D.Normal(2.0, 3.0).rvs((6, 40), rng=1)
    nameless = D.define("Nameless", _log_normal)
    for cls in (nameless, type(own("OwnGamma")(1.0))):
        assert pickle.loads(pickle.dumps(cls)) is cls
    fits = D.fit_many(x, nameless)
    for found in (fits, D.fit(x[0], nameless), fits.distribution):
        again = pickle.loads(pickle.dumps(found))
        assert repr(again) == repr(found) and type(again) is type(found)
    assert pickle.loads(pickle.dumps(fits)).cls is nameless
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        far = D.fit_many(x, nameless, workers=pool)
        np.testing.assert_array_equal(far.loglik, fits.loglik)
        hidden = D.define("Hidden", lambda z: -0.5 * z * z - 0.9189385332046727)
        with pytest.raises(pickle.PicklingError, match="Hidden cannot be pickled, nor sent to another process"):
            D.fit_many(x, hidden, workers=pool)
