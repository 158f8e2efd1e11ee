"""Densities, distribution functions, quantiles and draws of mixtures."""

from __future__ import annotations

import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

from numbastats import mixture
from numbastats._core.launch import launch
from numbastats.mixture import kernels, tails
from numbastats.mixture.functions import labels
from tests.conftest import REFERENCE
from tests.mixture.naive import log_density, philox

W = np.array([0.3, 0.7])


LAWS = [("inverse_gaussian", [1.0, 3.0], [30.0, 0.2]), ("gaussian", [-1.0, 2.0], [0.5, 2.0]), ("gamma", [1.0, 5.0], [3.0, 40.0])]
LAWS += [("lognormal", [0.1, 1.5], [0.3, 0.1]), ("inverse_gamma", [1.0, 4.0], [3.0, 9.0]), ("rayleigh", [1.0, 9.0], None)]
LAWS += [("exponential", [1.0, 9.0], None), ("poisson", [1.0, 9.0], None), ("geometric", [1.0, 9.0], None)]
LAWS += [(("weibull", 1.5), [1.0, 9.0], None), (("pareto", 1.0), [0.2, 1.0], None), ("half_normal", [1.0, 9.0], None)]


def test_density_at_extreme_scales():
    x = np.array([0.5, 1.0, 3.0])
    for family, power in (("inverse_gaussian", 1), ("gaussian", 2), ("gamma", 0)):
        want = mixture.logpdf(x, W, [1.0, 3.0], [4.0, 2.0], family=family, device="cpu")
        for exponent in (500, -500):
            s = 2.0**exponent
            got = mixture.logpdf(x * s, W, [s, 3.0 * s], np.array([4.0, 2.0]) * s**power, family=family, device="cpu")
            np.testing.assert_allclose(got + exponent * np.log(2.0), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("family, means, params", LAWS, ids=lambda v: str(v) if isinstance(v, (str, tuple)) else "")
def test_distribution(family, means, params, device):
    args = (W, means, params)
    discrete = family in ("poisson", "geometric")
    x = np.arange(12.0) if discrete else np.array([-1.5, 0.3, 1.01, 2.5, 7.0])
    x = x if family == "gaussian" or discrete else np.abs(x) + (1.0 if family == ("pareto", 1.0) else 0.0)
    second = params if params is not None else [1.0, 1.0]
    joint = np.stack([np.log(W[j]) + log_density(family, x, means[j], second[j]) for j in range(2)])
    exact = scipy.special.logsumexp(joint, axis=0)
    np.testing.assert_allclose(mixture.logpdf(x, *args, family=family, **device), exact, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(mixture.responsibilities(x, *args, family=family, **device).sum(axis=1), 1.0, rtol=1e-14)
    there = np.where(np.isfinite(exact), joint.argmax(axis=0), -1)
    assert labels(x, *args, family=family, **device).tolist() == there.tolist()
    if device == {"device": "cuda"}:
        return
    lo, hi = mixture.cdf(x, *args, family=family), mixture.sf(x, *args, family=family)
    np.testing.assert_allclose(lo + hi, 1.0, rtol=1e-12)
    if discrete:
        np.testing.assert_allclose(np.cumsum(np.exp(exact)), lo, rtol=1e-11)
        assert (mixture.ppf(lo * (1 - 1e-9), *args, family=family) == x).all()
    else:
        nodes, share = np.polynomial.legendre.leggauss(120)
        for a, b, la, lb in zip(x[1:-1], x[2:], lo[1:-1], lo[2:], strict=True):
            density = mixture.pdf(a + 0.5 * (b - a) * (nodes + 1), *args, family=family, device="cpu", workers=1)
            assert abs(0.5 * (b - a) * (share @ density) - (lb - la)) < 1e-9
        np.testing.assert_allclose(mixture.ppf(lo, *args, family=family), x, rtol=1e-9, atol=1e-9)
        assert np.isnan(mixture.ppf([-0.1, 1.1, np.nan], *args, family=family)).all()
    draws = mixture.rvs(*args, 20_000, family=family, rng=5)
    if not discrete:
        assert scipy.stats.kstest(draws, lambda t: mixture.cdf(t, *args, family=family)).pvalue > 1e-3
    else:
        counts = np.bincount(draws.astype(int), minlength=4)[:4] / draws.size
        np.testing.assert_allclose(counts, np.exp(mixture.logpdf(np.arange(4.0), *args, family=family)), atol=0.012)


def test_labels_beside_the_largest_probability():
    """Components far apart, at extreme scales and of weight 0; values that none can have, and other kinds of values."""
    x = np.linspace(-3.0, 9.0, 701)
    for weights, means, params in (
        ([0.3, 0.7], [0.0, 5.0], [1.0, 2.0]),
        ([0.3, 0.0, 0.7], [0.0, 1.0, 5.0], [1.0, 1.0, 2.0]),
        ([0.5, 0.5], [0.0, 5.0], [1e-6, 1e-6]),
        ([0.2, 0.3, 0.5], [0.0, 2.0, 5.0], [4.0, 0.01, 2.0]),
    ):
        for scale in (1.0, 2.0**500):
            args = weights, np.array(means) * scale, np.array(params) * scale**2
            p = mixture.responsibilities(x * scale, *args, family="normal")
            found = labels(x * scale, *args, family="normal")
            assert found.tolist() == p.argmax(axis=1).tolist() and set(found) == set(np.flatnonzero(weights))
    odd = np.array([[math.nan, math.inf, 1.0], [-1.0, 0.0, 1e-300]])
    found = labels(odd, W, [1.0, 9.0], family="exponential")
    assert found.tolist() == [[-1, -1, 0], [-1, 0, 0]] and found.dtype == np.int64
    assert (
        labels(np.float32(20.0), W, [1.0, 9.0], family="exponential") == 1
        and labels([], W, [1.0, 9.0], family="rayleigh").size == 0
    )


def test_draws_are_in_random_order_and_do_not_depend_on_their_number():
    args = [0.25, 0.75], [0.0, 100.0], [1.0, 4.0]
    x = mixture.rvs(*args, 600_000, family="normal", rng=3)
    which = x > 50.0
    assert abs(which.mean() - 0.75) < 4.0 * math.sqrt(0.1875 / x.size)
    assert abs((which[1:] & which[:-1]).mean() - 0.5625) < 0.003  # independent of the one before
    assert abs(x[which].std() - 2.0) < 0.01 and abs(x[~which].std() - 1.0) < 0.01
    assert (mixture.rvs(*args, 5000, family="normal", rng=3) == x[:5000]).all()
    assert (mixture.rvs(*args, (3, 5), family="normal", rng=3).ravel() == x[:15]).all()
    assert mixture.rvs(*args, family="normal", rng=3) == x[0]


def test_draws_on_every_device(device):
    """Bits of one thread, several and a GPU, in two pieces; components by the words of Philox that Python computes."""
    table = np.array([[0.3, 0.8, 1.0], [0.0, 1e3, 1e6], [1.0, 1.0, 1.0]])
    words = np.uint32(7), np.uint32(8), np.uint32(1), np.uint32(2)
    whole, parts = np.empty(4096 + 70), np.empty(4096 + 70)
    where = dict(device=device["device"], workers=device.get("workers"), cost=1e6)
    if where["device"] == "cuda":  # 64 values suffice
        whole, parts = np.empty(64), np.empty(64)
    launch(kernels.DRAWS, (*words, np.int64(0), table, whole), whole.size, **where)
    kernels.DRAWS.serial(*words, np.int64(0), table, parts[:4096])
    kernels.DRAWS.serial(*words, np.int64(4096), table, parts[4096:])
    np.testing.assert_allclose(whole, parts, rtol=0 if where["device"] == "cpu" else 1e-15)
    for i in (0, 17, 33, 50, 63):
        u = philox((i % 16, 0, 0, 2), (7, 8))[i // 16] / 2**32
        assert (parts[i] > 500.0) + (parts[i] > 5e5) == (u >= 0.3) + (u >= 0.8)


def test_upper_tail_of_the_inverse_gaussian_law():
    """Where lambda is small both terms of the tail are nearly equal: 20 decades either way against 110 digits."""
    rng = np.random.default_rng(3)
    size = 10 ** rng.uniform(-20, 20, 900)
    lam = np.concatenate([size[:300], size[300:600] * 10 ** rng.uniform(-3, 2, 300), 10 ** rng.uniform(-3, 2, 300) / size[600:]])
    x = np.concatenate([10 ** rng.uniform(-20, 20, 300), size[300:]])
    worst = 0.0
    for y, v in zip(np.append(x, [1e12, 1e16]), np.append(lam, [1e-12, 1e-16]), strict=True):
        a, b = math.sqrt(v / y) * (y - 1.0), math.sqrt(v / y) * (y + 1.0)
        if a < 36.0 and b < 1e5:
            with mpmath.workdps(110):
                z, r = mpmath.mpf(y), mpmath.sqrt(mpmath.mpf(v) / y / 2)
                want = (mpmath.erfc(r * (z - 1)) - mpmath.exp(2 * mpmath.mpf(v)) * mpmath.erfc(r * (z + 1))) / 2
                error = abs(float(mixture.sf(y, [1.0], [1.0], [v], family="inverse_gaussian") / want - 1))
            worst = max(worst, error / (4e-15 + 2e-16 * max(0.0, a) ** 2))
    assert worst < 1.0  # observed 0.72
    far = mixture.ppf(1e-14, [1.0], [1.0], [1e-10], family="reciprocal_inverse_gaussian")
    assert mixture.cdf(far, [1.0], [1.0], [1e-10], family="reciprocal_inverse_gaussian") == pytest.approx(1e-14, rel=1e-14)


@pytest.mark.parametrize("family", ["poisson", "geometric"])
@pytest.mark.parametrize(("weights", "means"), [([1.0], [3.0]), ([0.1] * 10, [0.1 * 3.0**i for i in range(10)]), ([1.0], [2e4])])
def test_quantiles_of_counts_invert_the_distribution_function(family, weights, means):
    args = dict(weights=weights, centres=means, family=family)
    k = np.arange(3.0 * max(means) + 60)
    cdf = mixture.cdf(k, **args)
    assert (np.diff(cdf) >= 0).all()
    steps = cdf[:: -(-cdf.size // 2000)]
    q = np.concatenate([steps, np.nextafter(steps, 0.0), np.nextafter(steps, 1.0), [0.5, 0.999]])
    q = q[(q > 0) & (q < 1.0) & (q <= cdf[-1])]
    assert (mixture.ppf(q, **args) == np.searchsorted(cdf, q)).all()
    single = mixture.cdf(k.astype(np.float32), **args)
    single = single[single < 1]
    steps = single[:: -(-single.size // 2000)]
    assert (mixture.ppf(steps, **args) == np.searchsorted(single, steps)).all()
    last = mixture.ppf(1.0 - 2.0**-53, **args)
    assert mixture.cdf(last, **args) >= 1.0 - 2.0**-53 > mixture.cdf(last - 1.0, **args)
    assert mixture.ppf([0.0, 1.0], **args).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("means", [[1.0], [1.0, 1.5]])
@pytest.mark.parametrize("size", [1.0, 17.0, 1e4, 1e10, 1e15])
def test_densities_of_narrow_laws(means, size):
    """Poisson distributions of large means, gamma distributions of large fixed shapes: large terms must not cancel."""
    rng = np.random.default_rng(6)
    z = rng.uniform(-9, 9, 30)
    worst = [0.0, 0.0]
    for t, m in zip(z, rng.choice(means, z.size), strict=True):
        count, value = max(0.0, round(size * m + math.sqrt(size * m) * t)), max(1e-3, 1 + t / math.sqrt(size)) * m
        with mpmath.workdps(60):
            a, k, x = (mpmath.mpf(v) for v in (size, count, value))
            poisson = mpmath.log(sum(mpmath.exp(k * mpmath.log(a * m) - a * m) for m in means) / len(means)) - mpmath.loggamma(
                k + 1
            )
            gamma = mpmath.log(sum(mpmath.exp(a * mpmath.log(a / m) - a * x / m) for m in means) / len(means))
            gamma += (a - 1) * mpmath.log(x) - mpmath.loggamma(a)
        W = [1.0] * len(means)
        got = (
            mixture.logpdf(count, W, np.multiply(means, size), family="poisson"),
            mixture.logpdf(value, W, means, family=("gamma", size)),
        )
        worst = [max(w, abs(float(g - e)) / max(1, abs(float(e)))) for w, g, e in zip(worst, got, (poisson, gamma), strict=True)]
    assert worst[0] < 4e-15  # observed 2.1e-15
    assert worst[1] < 2e-14 + 6e-16 * math.sqrt(size)  # observed 1.5e-14 and 3.5e-16


def test_poisson_densities_of_extreme_means():
    got = mixture.logpdf([0.0, 1.0, 20.0, 1e308], [1.0], [1e-300], family="poisson")
    log_mean = math.log(1e-300)
    want = [-1e-300, log_mean, 20.0 * log_mean - math.lgamma(21.0), -math.inf]
    np.testing.assert_allclose(got, want, rtol=1e-15)  # observed 2.4e-16
    far = mixture.logpdf([0.0, 1.0], [0.5, 0.5], [2.0, 1e6], family="poisson")
    np.testing.assert_allclose(far, np.log([0.5, 1.0]) - 2.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("family", "centres", "params", "message"),
    [
        ("normal", [1.0, 2.0], [1.0, -1.0], r"^params=.*the variance of normal must be positive"),
        ("normal", [1.0, np.inf], [1.0, 1.0], r"^centres=.*the mean of normal must be finite"),
        ("gamma", [1.0, -2.0], [1.0, 1.0], r"^centres=.*the mean of gamma must be positive and finite"),
        ("student_t", [1.0, 2.0], [[1.0, 1.0], [3.0, 0.0]], r"(?s)^params=.*the scale and df of student_t must be positive"),
        ("skew_normal", [1.0, 2.0], [[1.0, -1.0], [3.0, 0.0]], r"(?s)^params=.*the scale of skew_normal must be positive"),
        ("exponential", [1.0, 0.0], None, r"^centres=.*the mean of exponential must be positive"),
    ],
)
def test_what_is_out_of_domain_is_named(family, centres, params, message):
    with pytest.raises(ValueError, match=message):
        mixture.pdf(1.0, [0.5, 0.5], centres, params, family=family)


def test_distribution_edges():
    args = (W, [1.0, 3.0], [30.0, 0.2])
    assert mixture.logpdf([0.0, -1.0, np.inf], *args, family="inverse_gaussian").tolist() == [-np.inf] * 3 and np.isnan(
        mixture.pdf(np.nan, *args, family="inverse_gaussian")
    )
    assert mixture.cdf([-1.0, 0.0, np.inf], *args, family="inverse_gaussian").tolist() == [0.0, 0.0, 1.0]
    assert mixture.sf([-1.0, 0.0, np.inf], *args, family="inverse_gaussian").tolist() == [1.0, 1.0, 0.0]
    assert mixture.ppf([0.0, 1.0], *args, family="inverse_gaussian").tolist() == [0.0, np.inf]
    assert mixture.pdf(np.float32(1.0), *args, family="inverse_gaussian").dtype == np.float32 and mixture.pdf(
        np.ones((2, 3)), *args, family="inverse_gaussian"
    ).shape == (2, 3)
    far = mixture.sf(200.0, [1.0], [3.0], [2.0], family="inverse_gaussian")
    assert abs(far / scipy.stats.invgauss.sf(200.0, 1.5, scale=2.0) - 1) < 1e-9
    for bad in (([1.0], [1.0, 2.0], [1.0, 1.0]), ([-1.0, 2.0], [1.0, 2.0], [1.0, 1.0]), (W, [-1.0, 2.0], [1.0, 1.0])):
        with pytest.raises(ValueError, match="must be|out of domain"):
            mixture.pdf(1.0, *bad, family="inverse_gaussian")
    with pytest.raises(ValueError, match="lambda"):
        mixture.pdf(1.0, W, [1.0, 2.0], family="inverse_gaussian")


def test_small_quantiles_of_reciprocal_laws():
    q = np.array([0.0, 1e-100, 1e-20, 1e-17, 1e-15, 0.3, 0.7, 1.0 - 2.0**-53, 1.0])
    got = mixture.ppf(q, [1.0], [1.0], [2.0], family="inverse_gamma")
    np.testing.assert_allclose(got, scipy.stats.invgamma.ppf(q, 2, scale=2), rtol=1e-12)
    law = dict(weights=[1.0], centres=[1.0], params=[2.0], family="reciprocal_inverse_gaussian")
    np.testing.assert_allclose(mixture.cdf(mixture.ppf(q, **law), **law), q, rtol=1e-12)


@pytest.mark.filterwarnings("error")
def test_quantiles_beyond_the_powers_of_doubles():
    """Means further apart than the bits between 1 and the largest double, and probabilities below 1e-308."""
    got = mixture.ppf([0.125, 0.25, 0.75, 0.875], [0.5, 0.5], [1e-250, 1e250], family="exponential")
    want = [-math.log(0.75) * 1e-250, math.log(2.0) * 1e-250, math.log(2.0) * 1e250, math.log(4.0) * 1e250]
    np.testing.assert_allclose(got, want, rtol=1e-14)
    for family in ("gaussian", "exponential", "inverse_gamma"):
        law = dict(weights=[1.0], centres=[1.0], params=[1.0], family=family)
        assert mixture.cdf(mixture.ppf(1e-310, **law), **law) == pytest.approx(1e-310, rel=1e-12)


def test_distribution_functions_beyond_the_powers_of_doubles():
    """lambda over x beyond 1e308 either way, and counts where SciPy's Poisson distribution has NaN."""
    for m, v in ((1e-180, 1e250), (1e-60, 1e290), (1e180, 1e250)):
        np.testing.assert_allclose(
            mixture.cdf([0.5 * m, m, 2.0 * m], [1.0], [m], [v], family="inverse_gaussian"), [0.0, 0.5, 1.0], rtol=1e-14
        )
        np.testing.assert_allclose(
            mixture.sf([0.5 * m, m, 2.0 * m], [1.0], [m], [v], family="inverse_gaussian"), [1.0, 0.5, 0.0], rtol=1e-14
        )
    for x, m, v in ((1e170, 1e160, 1e-200), (1e308, 1e-50, 1e-177)):  # a Levy distribution but for the last factor
        want = 2.0 * scipy.special.ndtr(-math.sqrt(v / x)) if x < 1e200 else 1.0
        assert mixture.cdf(x, [1.0], [m], [v], family="inverse_gaussian") == pytest.approx(want, rel=1e-14)
    assert mixture.sf(1e170, [1.0], [1e200], [1e-200], family="inverse_gaussian") == pytest.approx(
        math.sqrt(2.0 / math.pi) * 1e-185, rel=1e-13
    )
    assert mixture.cdf([1e300, 1e308], [0.5, 0.5], [1e-3, 1e5], family="poisson").tolist() == [1.0, 1.0]
    assert mixture.sf([1e300, 1e308], [0.5, 0.5], [1e-3, 1e5], family="poisson").tolist() == [0.0, 0.0]


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma", "inverse_gamma", "poisson", "geometric"])
def test_quantiles_take_few_steps(family, monkeypatch):
    calls, made = [], tails.tails

    def counting(*model):
        tail = made(*model)
        return lambda *a: calls.append(1) or tail(*a)

    monkeypatch.setattr(tails, "tails", counting)
    args = ([0.3, 0.7], [1.0, 3.0]) if family in ("poisson", "geometric") else ([0.3, 0.7], [1.0, 3.0], [2.0, 0.2])
    got = mixture.ppf([0.0, 1e-300, 1e-17, 0.5, 1.0 - 2.0**-53, 1.0], *args, family=family)
    assert (np.diff(got) >= 0).all()
    assert len(calls) <= (80 if family == "gamma" else 45)  # of both tails; the smallest gamma quantile is subnormal


@pytest.mark.parametrize("family", ["gaussian", "gamma"])
def test_many_quantiles_come_from_a_table(family):
    """Observed 1e-14 of the scale."""
    args = dict(weights=[0.3, 0.7], centres=[1.0, 3.0], params=[2.0, 0.2], family=family)
    q = np.concatenate([[0.0, 1.0, math.nan, -0.5, 1e-300], np.linspace(1e-9, 1.0 - 1e-9, 20_000)])
    for function in (mixture.ppf, mixture.isf):
        many, few = function(q, **args), function(np.concatenate([q[:5], q[5::400]]), **args)
        np.testing.assert_allclose(np.concatenate([many[:5], many[5::400]]), few, rtol=1e-12, atol=1e-13)
    assert mixture.ppf(q.astype(np.float32), **args).dtype == np.float32


def test_many_quantiles_that_a_table_does_not_resolve():
    args = dict(weights=[0.5, 0.5], centres=[0.0, 1e8], params=[1e-8, 1e-8], family="normal")
    q = np.linspace(0.01, 0.99, 20_001)
    np.testing.assert_allclose(mixture.ppf(q, **args)[::500], mixture.ppf(q[::500], **args), rtol=1e-15)


def test_half_normal_tails_where_squares_are_no_doubles():
    x, w, sigma = np.array([1e-300, 1e-170, 1e-155]), np.array([0.5, 0.5]), np.array([1.0, 3.0])
    args = dict(weights=w, centres=sigma**2, family="half_normal")
    cdf = x * math.sqrt(2.0 / math.pi) * (w @ (1.0 / sigma))  # next to 0
    np.testing.assert_allclose(mixture.cdf(x, **args), cdf, rtol=1e-14)
    np.testing.assert_allclose(mixture.ppf(cdf, **args), x, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("a", [1.9e4, 2.1e4, 1e5, 1e6, 2.3e7, 1e10, 1e15])
def test_tails_of_gamma_and_poisson_laws_of_large_shape(a):
    """SciPy's incomplete gamma functions are off by 1e-5 at a = 1e6 and by 10 % at 2e7, from 4.5 deviations on.

    Observed 1.5e-13 for counts, 0.37 of the limit for gamma distributions.
    """
    z = np.array([-30.0, -8.0, -4.6, -4.4, -1.0, 1e-3, 2.0, 4.6, 9.0, 28.0])
    x = np.append(a + z * math.sqrt(a), a)
    sums, want = np.floor(x), np.empty((2, x.size))
    with mpmath.workdps(50):
        A = mpmath.mpf(a)

        def mass(shape, limit):
            at, deviation = mpmath.mpf(limit), mpmath.sqrt(shape)
            log_top = (shape - 1) * mpmath.log(at) - at
            density = lambda t: mpmath.exp((shape - 1) * mpmath.log(t) - t - log_top)  # noqa: E731
            side = 1 if at >= shape else -1
            reach = [at + side * deviation * k for k in (0, 0.05, 0.2, 0.5, 1, 2, 4, 8, 16)]
            small = abs(mpmath.quad(density, reach)) * mpmath.exp(log_top - mpmath.loggamma(shape))
            return (1 - small, small) if side > 0 else (small, 1 - small)

        for k in range(x.size):
            want[:, k] = [float(v) for v in mass(A, x[k])]
            lower, upper = mass(mpmath.mpf(sums[k]) + 1, a)  # P(X > k) is the lower tail of the gamma distribution of shape k + 1
            law = dict(weights=[1.0], centres=[a], family="poisson")
            assert mixture.cdf(sums[k], **law) == pytest.approx(float(upper), rel=3e-13), z[k % z.size]
            assert mixture.sf(sums[k], **law) == pytest.approx(float(lower), rel=3e-13), z[k % z.size]
    for law in (dict(centres=[a], params=[a], family="gamma"), dict(centres=[a], family=("gamma", a))):
        got = np.array([mixture.cdf(x, [1.0], **law), mixture.sf(x, [1.0], **law)])
        rounding = 4e-16 * math.sqrt(a) * np.append(np.abs(z) + 1.0, 1.0)  # of a x/mean, as a share of the tails
        assert (np.abs(got / want - 1.0) < 3e-13 + rounding).all()


def test_quantiles_against_closed_forms():
    small, next_to_1 = 10.0 ** -np.arange(1.0, 200.0, 7.0), 1.0 - 2.0 ** -np.arange(2.0, 54.0, 5.0)
    q = np.concatenate([small, np.linspace(0.01, 0.99, 50), next_to_1])
    upper = 1.0 - q
    for scale in (1e-100, 1e-5, 1.0, 1e9, 1e100):
        want = np.where(q < 0.5, -np.log1p(-q), -np.log(upper)) * scale
        np.testing.assert_allclose(mixture.ppf(q, [1.0], [scale], family="exponential"), want, rtol=5e-14)  # gammainc: 2.8e-14
        want = np.sqrt(want / scale) * 2.0
        np.testing.assert_allclose(mixture.ppf(q, [0.5, 0.5], [2.0, 2.0], family="rayleigh"), want, rtol=3e-14)
        z = scipy.special.ndtri(np.where(q < 0.5, q, upper)) * np.where(q < 0.5, 1.0, -1.0)
        got = mixture.ppf(q, [0.2, 0.8], [scale, scale], [scale * scale] * 2, family="gaussian")
        np.testing.assert_allclose(got, scale * (1.0 + z), rtol=4e-16, atol=2e-14 * scale)
    far = mixture.ppf([0.25, 0.75, 0.4999, 0.5001], [0.5, 0.5], [-1e8, 1e8], [1.0, 1.0], family="gaussian")
    z = scipy.special.ndtri(0.0002)
    np.testing.assert_allclose(far, [-1e8, 1e8, -1e8 - z, 1e8 + z], rtol=1e-15)
    for m in (1e308, 1.7e308):
        far = mixture.ppf([1e-310, 0.1, 0.29, 0.5, 0.99], [0.3, 0.7], [-m, m], [1e300, 1.0], family="gaussian")
        np.testing.assert_allclose(far, [-m, -m, -m, m, m], rtol=1e-15)
    got = mixture.ppf(q, [1.0], [3.0], [2.5], family="gamma")
    np.testing.assert_allclose(got, scipy.special.gammaincinv(2.5, q) * 1.2, rtol=3e-14)
    assert mixture.ppf([], [1.0], [3.0], [2.5], family="inverse_gaussian").shape == (0,) and mixture.ppf(
        [[0.5]], [1.0], [3.0], [2.5], family="inverse_gaussian"
    ).shape == (1, 1)


def test_upper_quantiles_against_closed_forms():
    """Tails from 1e-300 on, where ``ppf(1 - q)`` is infinite; counts by a plain search."""
    q = np.concatenate([10.0 ** -np.arange(1.0, 300.0, 7.0), np.linspace(0.01, 0.99, 50)])
    for scale in (1e-100, 1.0, 1e100):
        np.testing.assert_allclose(mixture.isf(q, [1.0], [scale], family="exponential"), -np.log(q) * scale, rtol=5e-14)
        got = mixture.isf(q, [0.2, 0.8], [scale, scale], [scale * scale] * 2, family="normal")
        np.testing.assert_allclose(got, scale * (1.0 - scipy.special.ndtri(q)), rtol=4e-16, atol=2e-14 * scale)
    got = mixture.isf(q, [1.0], [2.0], [1.5], family="inverse_gamma")  # the upper tail of x is the lower tail of 1/x
    np.testing.assert_allclose(got, 1.0 / (scipy.special.gammaincinv(1.5, q) * 2.0 / 1.5), rtol=3e-13)
    for family in ("poisson", "geometric"):
        law = dict(weights=[0.4, 0.6], centres=[2.0, 7.0], family=family)
        k = mixture.isf([1e-200, 1e-3, 0.2, 0.999], **law)
        assert (mixture.sf(k, **law) <= [1e-200, 1e-3, 0.2, 0.999]).all()
        assert (mixture.sf(k - 1, **law) > [1e-200, 1e-3, 0.2, 0.999]).all()
    for family, params in (("gamma", [[2.0]]), ("poisson", []), ("inverse_gamma", [[2.0]])):
        first, last, nan = mixture.isf([1.0, 0.0, 1.5], [1.0], [1.0], *params, family=family)
        assert (first, last) == (mixture.ppf(0.0, [1.0], [1.0], *params, family=family), np.inf) and np.isnan(nan)
    assert mixture.isf(np.array([[0.1]], np.float32), [1.0], [1.0], family="exponential").dtype == np.float32
    assert mixture.isf([], [1.0], [1.0], family="exponential").shape == (0,)


def test_gamma_values_far_below_the_mean():
    """Shape 0.05: values of 1e-70 beside a mean of 1. Their logarithms used to be NaN, the log-likelihood infinite."""
    x = np.maximum(scipy.stats.gamma(0.05, scale=20.0).ppf(np.linspace(1e-4, 0.999, 300)), 1e-60)
    k, mean = 0.05, 1.3
    got = mixture.logpdf(x, [1.0], [mean], [k], family="gamma")
    np.testing.assert_allclose(got, scipy.stats.gamma(k, scale=mean / k).logpdf(x), rtol=1e-14, atol=2e-15)  # observed 9e-16
    fit = mixture.fit(x, 1, family="gamma", rng=0)
    want = scipy.stats.gamma(fit.params[0], scale=fit.means[0] / fit.params[0]).logpdf(x).sum()
    assert fit.loglik == pytest.approx(want, rel=1e-12)


def test_densities_at_the_ends_of_their_range():
    """At 0 where the density is finite there, and where squares or reciprocals of values leave the range of doubles."""
    one = ([1.0], [1.0])
    assert mixture.pdf(0.0, *one, family="exponential") == 1.0
    np.testing.assert_allclose(mixture.pdf(0.0, *one, family="half_normal"), scipy.stats.halfnorm.pdf(0.0), rtol=1e-14)
    assert mixture.pdf(0.0, *one, family="rayleigh") == 0.0 and mixture.pdf(-1e-300, *one, family="exponential") == 0.0
    np.testing.assert_allclose(mixture.logpdf(1e160, *one, [1.0], family="inverse_gaussian"), -0.5e160, rtol=1e-14)
    np.testing.assert_allclose(mixture.logpdf(1e-200, *one, [1.0], family="reciprocal_inverse_gaussian"), -0.5e200, rtol=1e-14)
    np.testing.assert_allclose(mixture.logpdf(1e-200, *one, family="rayleigh"), np.log(1e-200), rtol=1e-14)
    a, b = mixture.logpdf([1e-100, 1e-200], *one, family="maxwell")  # x^2 times a constant
    np.testing.assert_allclose(b - a, 2.0 * np.log(1e-100), rtol=1e-13)
    for family in ("gaussian", "rayleigh", "maxwell", "half_normal"):
        params = [[1.0]] if family == "gaussian" else []
        assert mixture.logpdf(1e300, *one, *params, family=family) == -np.inf
        assert mixture.pdf(1e160, *one, *params, family=family) == 0.0


@pytest.mark.parametrize("family, means, params", LAWS, ids=lambda v: str(v) if isinstance(v, (str, tuple)) else "")
def test_density_of_device_arrays(family, means, params):
    """By a kernel of its own, which does not go through the host, but for counts; also outside of the support and far out."""
    from numba import cuda

    edge = [math.nan, math.inf, -math.inf, -2.0, 0.0, 1.0, 5e-324, 1e-200, 1e-30, 1e30, 1e170, 1e300]
    x = np.concatenate([edge, np.abs(np.random.default_rng(1).normal(2.0, 2.0, 40))])
    for dtype, rtol in ((np.float64, 1e-13), (np.float32, 2e-7)):
        v = x if dtype == np.float64 else x[~(abs(x) > 1e9) & ~(abs(x) < 1e-9) | np.isinf(x)].astype(dtype)
        for f in (mixture.logpdf, mixture.pdf):
            got = f(cuda.to_device(v), W, means, params, family=family).copy_to_host()
            want = f(v, W, means, params, family=family)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, rtol=rtol * 30 if f is mixture.pdf else rtol, atol=4e-14)


@pytest.mark.parametrize("kind", ["torch", "numba"])
def test_kind_of_array_is_kept(kind):
    """Functions of a fitted mixture give tensors for tensors and device arrays for device arrays, of the dtype given."""
    if kind == "torch":
        torch = pytest.importorskip("torch")
        convert, back = torch.from_numpy, lambda t: t.numpy()
    else:
        from numba import cuda

        convert, back = cuda.to_device, lambda a: a.copy_to_host()
    law = [0.3, 0.7], [1.0, 3.0], [30.0, 0.2]
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-6)):
        x = np.array([[0.5, 1.0], [math.nan, 0.1]], dtype)
        for f in (mixture.pdf, mixture.logpdf, mixture.cdf, mixture.sf, mixture.ppf, mixture.responsibilities):
            got, want = f(convert(x), *law, family="inverse_gaussian"), f(x, *law, family="inverse_gaussian")
            assert type(got) is type(convert(x)) and back(got).dtype == dtype, f.__name__
            np.testing.assert_allclose(back(got), want, rtol=rtol)
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(-2, 1, 60), rng.normal(3, 0.5, 40)])
    model = mixture.Mixture(2, family="gaussian", rng=0).fit(convert(data))
    X = convert(data[:, None].copy())
    for f in (model.score_samples, model.predict, model.predict_proba):
        got = f(X)
        assert type(got) is type(X)
        np.testing.assert_allclose(back(got), f(data), rtol=1e-12, atol=1e-15)
    assert model.score(X) == pytest.approx(model.score(data), rel=1e-14)
    assert model.bic(X) == pytest.approx(model.bic(data), rel=1e-14)
    assert np.array_equal(model.sample(3, 1), model.sample(3, rng=1)) and model.sample(3, 1).shape == (3, 1)
    if kind == "numba":
        with pytest.raises(ValueError, match="device='cpu'"):
            mixture.pdf(convert(data), *law, device="cpu", family="inverse_gaussian")


@pytest.mark.parametrize(
    "family, means, params",
    [
        ("gaussian", [0.0, 1e6], [1e-6, 1e-6]),
        ("lognormal", [-10.0, 10.0], [1e-4, 1e-4]),
        ("gamma", [1e-2, 1e6], [1e3, 1e3]),
        ("inverse_gaussian", [1.0, 1e6], [1e6, 1e3]),
        ("poisson", [3.0, 1e9], None),
        (("gamma", 40.0), [1e-3, 1e9], None),
        ("geometric", [1e-3, 1e9], None),
    ],
    ids=str,
)
def test_densities_of_components_far_apart(family, means, params, device):
    """About a common centre the logits would lose (distance/width)^2 ulp: 21 units in the first case."""
    args = (W, means, params)
    x = np.concatenate(
        [mixture.rvs([1.0], [m], None if params is None else [params[k]], 20, family=family, rng=k) for k, m in enumerate(means)]
    )
    second = params if params is not None else [1.0, 1.0]
    if family == "poisson":  # SciPy cancels
        with mpmath.workdps(40):
            logs = [[float(v * mpmath.log(m) - m - mpmath.loggamma(v + 1)) for v in map(mpmath.mpf, x)] for m in means]
    else:
        logs = [log_density(family, x, m, p) for m, p in zip(means, second, strict=True)]
    logs = np.array(logs) + np.log(W)[:, None]
    exact = scipy.special.logsumexp(logs, axis=0)
    np.testing.assert_allclose(mixture.logpdf(x, *args, family=family, **device), exact, rtol=2e-12, atol=2e-12)
    resp = mixture.responsibilities(x, *args, family=family, **device)
    np.testing.assert_allclose(resp, np.exp(logs - exact).T, rtol=1e-12)
    some = [x[0], -1.0 if family != "gaussian" else np.inf, np.nan]
    got = mixture.pdf(
        some, [0.3, 0.0, 0.7], np.insert(means, 1, 5.0), params and np.insert(params, 1, 1.0), family=family, **device
    )
    assert got[0] == pytest.approx(math.exp(exact[0]), rel=2e-12) and got[1] == 0.0 and np.isnan(got[2])


@pytest.mark.parametrize(
    "family, means, params",
    [
        ("inverse_gaussian", [1.0, 1e5], [1.0, 1e3]),
        ("exponential", [1.0, 1e7], None),
        ("rayleigh", [1.0, 1e7], None),
        ("gamma", [1.0, 1e7], [1.0, 1.0]),
    ],
)
def test_densities_of_rare_components_far_away(family, means, params):
    """The mean of the mixture is near the first component: about it the second one would lose 1e-7."""
    x = np.array([1.0, 0.1, 1.0, 3.0, 10.0]) * ([1.0] + [means[1] if family != "rayleigh" else 1e4] * 4)
    logs = [log_density(family, x, m, p) for m, p in zip(means, params or [1.0, 1.0], strict=True)]
    logs = np.array(logs) + np.log([1.0 - 1e-6, 1e-6])[:, None]
    got = mixture.logpdf(x, [1.0 - 1e-6, 1e-6], means, params, family=family)
    np.testing.assert_allclose(got, scipy.special.logsumexp(logs, axis=0), rtol=2e-13, atol=2e-13)


def test_float32_densities_are_rounded_once():
    x = np.linspace(-13, 13, 27, dtype=np.float32)
    exact = scipy.stats.norm.pdf(x.astype(np.float64)).astype(np.float32)
    got = mixture.pdf(x, [1.0], [0.0], [1.0], family="gaussian")
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, exact, rtol=1.2e-7)  # was 5e-6


@pytest.mark.parametrize("mean", [2e6, 3e8, 1e12])
def test_draws_of_large_counts(mean):
    x = mixture.rvs([1.0], [mean], size=20_000, family="poisson", rng=3)
    assert (x == np.floor(x)).all()
    z = (x - mean) / math.sqrt(mean)
    assert scipy.stats.kstest(z, "norm").pvalue > 1e-3 and abs(z.std() - 1) < 0.03


@pytest.mark.parametrize("mean", [1e-9, 0.3, 1.0, 40.0, 3e3, 9.9e5])
def test_draws_of_counts(mean):
    x = mixture.rvs([0.2, 0.8], [mean, 2 * mean + 5], size=50_000, family="poisson", rng=3)
    exact = 1.8 * mean + 4, 1.8 * mean + 4 + 0.16 * (mean + 5) ** 2  # mean and variance of the mixture
    assert abs(x.mean() - exact[0]) < 5 * math.sqrt(exact[1] / x.size) and abs(x.var() / exact[1] - 1) < 0.05


def test_draws_of_inverse_gaussian_laws_far_below_their_mean():
    """With lambda far below the mean lambda/x is chi-squared; a product overflowed, and all draws were 0."""
    x = mixture.rvs([1.0], [1.0], [1e-200], size=20_000, rng=1, family="inverse_gaussian")
    assert (x > 0).all() and scipy.stats.kstest(1e-200 / x, "chi2", args=(1,)).pvalue > 1e-3


def test_tensors_as_weights():
    torch = pytest.importorskip("torch")
    x, w = np.random.default_rng(1).normal(size=(2, 50))
    want = mixture.Mixture(1, family="gaussian", rng=0).fit(x, sample_weight=w**2)
    found = mixture.Mixture(1, family="gaussian", rng=0).fit(torch.tensor(x), sample_weight=torch.tensor(w**2))
    assert found.loglik_ == want.loglik_ and found.lower_bound_ == want.lower_bound_


def test_pareto_values_at_the_minimum():
    """The usual minimum is the least value: its density is finite and positive, as that of the exponential distribution at 0."""
    x = np.sort(mixture.rvs([1.0], [0.4], size=300, family=("pareto", 3.0), rng=1))
    family = ("pareto", float(x[0]))
    found = mixture.fit(x, 1, family=family, se=True)
    mean = np.log(x / x[0]).mean()
    assert found.status == 0 and found.centres[0] == pytest.approx(mean, rel=1e-15)
    assert found.loglik == pytest.approx(scipy.stats.pareto.logpdf(x, 1 / mean, scale=x[0]).sum(), rel=1e-15)
    assert found.se["mean_log_ratio"][0] == pytest.approx(mean / math.sqrt(x.size), rel=1e-15)
    two = mixture.fit(np.concatenate([x, x[0] * np.geomspace(1e3, 1e9, 300)]), 2, family=family, rng=0)
    assert two.status == 0
    near = 3.0 * (1.0 + np.array([1e-13, 1e-10, 1e-3]))
    want = [float(-mpmath.expm1(-mpmath.log(mpmath.mpf(v) / 3) / 0.4)) for v in near]
    np.testing.assert_allclose(mixture.cdf(near, [1.0], [0.4], family=("pareto", 3.0)), want, rtol=5e-15)


def test_import_without_docstrings():
    """`python -OO` has none to complete."""
    code = "import numbastats.mixture as m; assert m.pdf.__doc__ is None; print(m.Mixture(1, family='gamma'))"
    done = subprocess.run([sys.executable, "-OO", "-B", "-c", code], capture_output=True, text=True, cwd=REFERENCE.parents[1])
    assert done.returncode == 0 and done.stdout == "Mixture(n_components=1, family='gamma')\n", done.stderr
