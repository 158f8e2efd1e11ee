"""The random functions against their distributions, and the contract they all keep."""

from __future__ import annotations

import inspect
import math
import pickle

import numpy as np
import pytest
import scipy.stats
from numba import cuda  # a module global: the simulator swaps it there

import numbastats as ns
from numbastats._core.random import Purpose, key_words, normalise_rng, stream_word
from tests.contract import RandomContract, same

NAN, INF = np.nan, np.inf


class TestUniform(RandomContract):
    function = staticmethod(ns.random.uniform)
    parameters = (-1.0, 3.0)
    law = scipy.stats.uniform(-1, 4)
    refused = [((3.0, 1.0), "low is above high")]

    @pytest.mark.parametrize("dtype, bits", [(np.float64, 52), (np.float32, 23)])
    def test_grid(self, dtype, bits, device):
        u = ns.random.uniform(size=2000, rng=1, dtype=dtype, **device)
        assert (u > 0).all() and (u < 1).all()
        k = u.astype(float) * 2.0**bits - 0.5
        assert np.array_equal(k, np.round(k))


class TestNormal(RandomContract):
    function = staticmethod(ns.random.normal)
    parameters = (2.0, 0.5)
    law = scipy.stats.norm(2, 0.5)
    refused = [((0.0, -1.0), "scale has the negative value -1.0")]

    def test_moments_and_tails(self):
        x = ns.random.normal(size=4_000_000, rng=11)
        n = x.size
        assert abs(x.mean()) < 4.5 / math.sqrt(n)
        assert abs((x**2).mean() - 1) < 4.5 * math.sqrt(2 / n)
        assert abs((x**3).mean()) < 4.5 * math.sqrt(15 / n)
        assert abs((x**4).mean() - 3) < 4.5 * math.sqrt(96 / n)
        for z in (2, 3, 4):
            for tail in ((x > z).mean(), (x < -z).mean()):
                p = scipy.stats.norm.sf(z)
                assert abs(tail - p) < 4.5 * math.sqrt(p / n)

    def test_zero_scale(self):
        assert (ns.random.normal(3.0, 0.0, 5) == 3.0).all()


class TestExponential(RandomContract):
    function = staticmethod(ns.random.exponential)
    parameters = (2.5,)
    law = scipy.stats.expon(scale=2.5)
    refused = [((-1.0,), "scale has the negative value -1.0")]


class TestGamma(RandomContract):
    function = staticmethod(ns.random.gamma)
    parameters = (2.5, 2.0)
    law = scipy.stats.gamma(2.5, scale=2.0)
    refused = [((-1.0, 1.0), "shape has the negative value"), ((1.0, -1.0), "scale has the negative value")]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 1.5, 20.0, 1e6])
    def test_shapes(self, shape, dtype):
        x = ns.random.gamma(shape, 1.0, 50_000, rng=13, dtype=dtype).astype(float)
        assert scipy.stats.kstest(x[x > 0], scipy.stats.gamma(shape).cdf).pvalue > 1e-3
        assert np.mean(x == 0) <= (0 if dtype == np.float64 else 0.02)  # float32 underflows at 1e-45: for shape 0.05 rarely

    def test_largest_shapes(self, device):
        """A shape whose product with 3 overflows used to be rejected for ever."""
        assert (ns.random.gamma(1.7e308, 1.0, 3, rng=1, **device) == 1.7e308).all()
        np.testing.assert_allclose(ns.random.gamma(3e38, 1.0, 3, rng=1, dtype=np.float32, **device), 3e38, rtol=1e-6)

    def test_limits(self, device):
        assert (ns.random.gamma(0.0, 1.0, 3, rng=1, **device) == 0).all()
        assert (ns.random.gamma(2.0, 0.0, 3, rng=1, **device) == 0).all()


class TestTruncnorm(RandomContract):
    function = staticmethod(ns.random.truncnorm)
    parameters = (1.0, 2.0, 0.5, 4.0)
    law = scipy.stats.truncnorm(-0.25, 1.5, 1.0, 2.0)
    bad = [(INF, 1.0, 0.0, 1.0), (0.0, INF, 0.0, 1.0), (0.0, 1.0, INF, INF)]
    refused = [((0.0, 1.0, 2.0, 1.0), "lo is above hi"), ((0.0, -1.0, 0.0, 1.0), "sigma"), ((0.0, 0.0, -1.0, 1.0), "sigma")]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize(
        "lo, hi", [(-INF, INF), (0.0, INF), (-INF, -8.0), (30.0, 30.0001), (-1e-3, 1e-3), (5.9, 6.1), (100.0, INF)]
    )
    def test_intervals(self, lo, hi, dtype):
        x = ns.random.truncnorm(0.0, 1.0, lo, hi, 20_000, rng=3, dtype=dtype)
        assert (x >= dtype(lo)).all() and (x <= dtype(hi)).all()
        if dtype == np.float64:
            shift = lo if np.isfinite(lo) else (hi if np.isfinite(hi) else 0.0)
            law = scipy.stats.truncnorm(lo, hi)
            assert scipy.stats.kstest(x, law.cdf).pvalue > 1e-3 or shift > 20  # SciPy's cdf has lost its digits out there
        if lo == 100.0:
            assert abs((x.astype(float) - 100).mean() * 100 - 0.9998) < 0.04

    def test_degenerate_interval(self, device):
        assert (ns.random.truncnorm(0.0, 1.0, 2.0, 2.0, 5, rng=1, **device) == 2.0).all()


def test_arguments_of_other_libraries_are_translated():
    """And nothing else changes: the signature, pickling, other errors."""
    for wrong, right in (("seed", "rng"), ("random_state", "rng"), ("n_jobs", "workers"), ("n_samples", "size")):
        with pytest.raises(TypeError, match=rf"normal\(\) has no argument '{wrong}': use {right}="):
            ns.random.normal(**{wrong: 1})
    with pytest.raises(TypeError, match="use sigma="):
        ns.random.truncnorm(mu=0.0, scale=1.0, lo=0.0, hi=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sead'"):
        ns.random.normal(sead=1)
    with pytest.raises(TypeError, match="rng is a str"):
        ns.random.normal(rng="seed")
    assert list(inspect.signature(ns.random.normal).parameters)[:3] == ["loc", "scale", "size"]
    assert pickle.loads(pickle.dumps(ns.random.gamma)) is ns.random.gamma


X = np.arange(1.0, 9.0)
CALLS = {
    "KDE": (lambda **o: ns.kde.KDE(**o), "n_jobs", "workers"),
    "KDE.sample": (lambda **o: ns.kde.KDE().fit(X).sample(3, **o), "random_state", "rng"),
    "kde.grid": (lambda **o: ns.kde.grid(X, (0.0, 9.0, 5), **o), "n_jobs", "workers"),
    "kde.points": (lambda **o: ns.kde.points(X, X, **o), "bw_method", "bandwidth"),
    "Mixture": (lambda **o: ns.mixture.Mixture(2, family="gamma", **o), "random_state", "rng"),
    "mixture.fit": (lambda **o: ns.mixture.fit(X, 1, family="gamma", **o), "seed", "rng"),
    "mixture.fit_many": (lambda **o: ns.mixture.fit_many([X], 1, family="gamma", **o), "n_jobs", "workers"),
    "mixture.rvs": (lambda **o: ns.mixture.rvs([1.0], [1.0], [1.0], family="gamma", **o), "seed", "rng"),
    "stable.fit": (lambda **o: ns.stable.fit(X, **o), "n_jobs", "workers"),
    "stable.fit_many": (lambda **o: ns.stable.fit_many([X], **o), "n_jobs", "workers"),
    "stable.rvs": (lambda **o: ns.stable.rvs(1.5, 0.0, **o), "random_state", "rng"),
    "Stable.rvs": (lambda **o: ns.stable.Stable(1.5, 0.0).rvs(**o), "seed", "rng"),
    "standard_normal": (lambda **o: ns.quantile.standard_normal(**o), "seed", "rng"),
    "student_t.rvs": (lambda **o: ns.quantile.student_t(4.0).rvs(**o), "random_state", "rng"),
    "HorseshoeProbit": (lambda **o: ns.bayes.HorseshoeProbit(**o), "n_draws", "draws"),
    "BayesProbit": (lambda **o: ns.bayes.BayesProbit(**o), "num_chains", "chains"),
    "HorseshoeClassifier": (lambda **o: ns.bayes.HorseshoeClassifier(**o), "n_draws", "draws"),
    "HorseshoeRegression": (lambda **o: ns.bayes.HorseshoeRegression(**o), "random_state", "rng"),
    "truncnorm_rvs": (lambda **o: ns.bayes.truncnorm_rvs(X, **o), "seed", "rng"),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_room_explains_arguments_of_other_libraries(call):
    function, theirs, ours = CALLS[call]
    with pytest.raises(TypeError, match=f"has no argument '{theirs}': use {ours}="):
        function(**{theirs: 1})


def test_warnings_name_the_line_of_the_caller():
    with pytest.warns(ns.ConvergenceWarning) as seen:
        ns.stable.fit_quantile(ns.stable.rvs(0.1, 0.3, size=2000, rng=1))
    assert {w.filename for w in seen} == {__file__}


def test_words_of_counters_are_never_renumbered():
    """Documented: stream | purpose << 24, in a registry whose values stay."""
    assert stream_word(Purpose.NORMAL, 5) == 5 + 2 * 2**24
    assert {p.name: p.value for p in Purpose} == {
        "UNIFORM": 1,
        "NORMAL": 2,
        "EXPONENTIAL": 3,
        "GAMMA": 4,
        "TRUNCNORM": 5,
        "MIXTURE_START": 48,
        "MIXTURE_SAMPLE": 49,
        "STABLE": 50,
        "BAYES": 51,
    }


def test_laws_do_not_share_their_words():
    """Normal and exponential draws under one key are uncorrelated, and float32 has a stream of its own."""
    n = 100_000
    draws = [
        ns.random.uniform(size=n, rng=5),
        ns.random.normal(size=n, rng=5),
        ns.random.exponential(size=n, rng=5),
        ns.random.gamma(2.0, size=n, rng=5),
        ns.random.truncnorm(0.0, 1.0, -1.0, 1.0, n, rng=5),
        ns.random.normal(size=n, rng=5, dtype=np.float32),
    ]
    r = np.corrcoef(draws) - np.eye(len(draws))
    assert np.abs(r).max() < 4.5 / math.sqrt(n)


def test_key_for_kernels_of_ones_own():
    seed = np.random.SeedSequence(5).generate_state(1, np.uint64)[0]
    for rng in (5, np.random.SeedSequence(5)):
        low, high = ns.random.key(rng)
        assert low.dtype == high.dtype == np.uint32 and int(low) + (int(high) << 32) == int(seed)
    generator = np.random.default_rng(2)
    assert ns.random.key(generator) != ns.random.key(generator) and ns.random.key() != ns.random.key()
    with pytest.raises(TypeError, match="RandomState"):
        ns.random.key(np.random.RandomState(1))


def test_words_are_philox_of_the_documented_counters():
    """The uniform draws recomputed from plain Python integers."""
    k0, k1 = (int(w) for w in key_words(normalise_rng(99)))

    def philox(c0, c1, c2, c3, k0=k0, k1=k1):
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
            c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c3 ^ k1, p0 & 0xFFFFFFFF
            k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
        return c0, c1, c2, c3

    u = ns.random.uniform(size=200, rng=99)
    for i in (0, 1, 31, 32, 63, 64, 130, 199):
        group, j = divmod(i, 64)
        words = philox(group * 32 + j % 32, 0, 0, int(stream_word(Purpose.UNIFORM)))
        hi, lo = words[2 * (j // 32)], words[2 * (j // 32) + 1]
        assert u[i] == (((hi << 32 | lo) >> 12) + 0.5) * 2.0**-52


def test_warmup_knows_what_calls_take(run_python):
    """Numbers alone, and arrays alone: `exponential` of an array and a frozen hyperbolic were compiled when first called."""
    code = """
import numpy as np
import numbastats as ns
from numbastats._core.kernel import REGISTRY

for T in (np.float64, np.float32):
    for law, parameters in (("uniform", 2), ("normal", 2), ("exponential", 1), ("gamma", 2), ("truncnorm", 4)):
        for value in (1.0, np.ones(3)):
            getattr(ns.random, law)(*[value] * parameters, 3, rng=1, dtype=T, workers=1, device="cpu")
    ns.bayes.truncnorm_rvs(np.ones(3), rng=1, dtype=T, workers=1, device="cpu")
kernels = [k for k in REGISTRY.values() if k.name.startswith("random.")]
print(len(kernels), [k.name for k in kernels if set(k.serial.signatures) != {s for _, s in k.numba_signatures()}])
for beta in (0.3, [0.3, 0.5]):
    ns.quantile.hyperbolic(1.5, beta, 1.0).pdf(np.ones(2), device="cpu")
norm = REGISTRY["distributions.gh_log_norm"]
print(set(norm.serial.signatures) - {s for _, s in norm.numba_signatures()})
"""
    assert run_python(code).splitlines() == ["8 []", "set()"]


def test_purposes_are_registered_once():
    assert len({int(p) for p in Purpose}) == len(Purpose)
    with pytest.raises(ValueError, match="2\\*\\*24"):
        stream_word(Purpose.NORMAL, 1 << 24)


def test_bit_generators_give_64_bits():
    """Those that make 32 bits at a time as well; the same key as the generator around them."""
    for kind in (np.random.PCG64, np.random.MT19937):
        assert normalise_rng(kind(1)) == normalise_rng(np.random.Generator(kind(1))) > 2**33


@pytest.mark.parametrize(
    "dtype, sigma, lo, hi", [(np.float64, 1e308, -1e-16, 0.0), (np.float64, 1e200, 3e-200, 5e-200), (np.float32, 1e38, 0.0, 1e-7)]
)
def test_truncated_normal_in_an_interval_that_is_nothing_beside_sigma(dtype, sigma, lo, hi):
    """Uniform between the ends; the interval in units of sigma underflows, and all draws were the same end."""
    x = ns.random.truncnorm(0.0, sigma, lo, hi, 20_000, rng=3, dtype=dtype).astype(float)
    lo, hi = float(dtype(lo)), float(dtype(hi))
    assert scipy.stats.kstest((x - lo) / (hi - lo), "uniform").pvalue > 1e-3


def test_size_may_be_an_array():
    assert ns.random.uniform(size=np.array([2, 3])).shape == ns.random.uniform(0.0, np.ones(3), (2, 3)).shape == (2, 3)
    assert ns.random.uniform(np.zeros((1, 1)), size=(0, 2)).shape == (0, 2)
    for bad in ("3", [2, "a"], (None,), np.array([1.5])):
        with pytest.raises(TypeError, match="integers"):
            ns.random.uniform(size=bad)
    with pytest.raises(ValueError, match="cannot hold"):
        ns.random.uniform(np.zeros(3), size=(3, 1))


def test_shape_of_out_is_named_where_parameters_do_not_fit():
    """The message spoke of a `size` that the call did not have."""
    with pytest.raises(ValueError, match=r"^out of shape \(3,\) cannot hold parameters of shape \(2, 3\)"):
        ns.random.normal(np.zeros((2, 3)), out=np.empty(3))


@pytest.mark.parametrize("dtype, shape", [("float64", 1e-310), ("float64", 1e-308), ("float32", 1e-40)])
def test_gamma_of_the_smallest_shapes(dtype, shape):
    """E/shape overflows. With an infinite scale a positive number became NaN."""
    tiny, ones = np.full(1000, shape), np.ones(1000)
    assert (ns.random.gamma(tiny, ones, rng=1, dtype=dtype) == 0).all()
    assert (ns.random.gamma(tiny, np.inf, rng=1, dtype=dtype) == np.inf).all()
    assert (ns.random.gamma(tiny, 0.0, rng=1, dtype=dtype) == 0).all()
    assert np.isnan(ns.random.gamma([0.0, np.inf], [np.inf, 0.0], rng=1, dtype=dtype)).all()


def test_parameters_are_checked():
    with pytest.raises(TypeError, match="scale has dtype complex128"):
        ns.random.normal(0.0, np.array([1j]))
    with pytest.raises(ValueError, match="broadcast"):
        ns.random.normal(np.zeros(2), np.ones(3))
    with pytest.raises(TypeError, match="rng is a ndarray"):
        ns.random.uniform(rng=np.array([1, 2]))
    assert np.isnan(ns.random.gamma(0.0, math.inf)) and ns.random.gamma(0.0, 2.0) == 0.0


def test_float32_and_float64_parameters():
    a = ns.random.normal(np.float32(1.0), np.array([1, 2], np.int32), (3, 2), rng=1)
    assert a.dtype == np.float64
    assert same(a, ns.random.normal(1.0, [1.0, 2.0], (3, 2), rng=1))


def test_parameters_decide_the_kind():
    torch = pytest.importorskip("torch")
    want = ns.random.normal(np.zeros(3), np.ones((2, 1)), rng=1)
    x = ns.random.normal(torch.zeros(3), torch.ones(2, 1), rng=1)
    assert isinstance(x, torch.Tensor) and same(x.numpy(), want)
    assert isinstance(ns.stable.rvs(torch.tensor(2.0), 0.0, size=2, rng=1), torch.Tensor)
    x = ns.random.gamma(cuda.to_device(np.ones(3)), size=(2, 3), rng=1)
    assert same(x.copy_to_host(), ns.random.gamma(1.0, size=(2, 3), rng=1, device="cuda"))
    with pytest.raises(TypeError, match="loc requires gradients"):
        ns.random.normal(torch.zeros(3, requires_grad=True))
    with pytest.raises(TypeError, match="bfloat16"):
        ns.random.normal(torch.zeros(3, dtype=torch.bfloat16))


def test_out_may_overlap_a_parameter():
    for function in (ns.random.gamma, ns.random.normal):
        want = function(np.arange(1.0, 8.0), 1.0, rng=1)
        base = np.arange(1.0, 9.0)
        function(base[:7], 1.0, out=base[1:], rng=1)
        assert (base[1:] == want).all()
        base = np.arange(1.0, 8.0)
        assert (function(base, 1.0, out=base, rng=1) == want).all()
