"""Student t, skew-normal and negative binomial components: formulas, distributions, fits, twins, invalid data."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats import mixture
from numbastats.scalar import latent

FAMILIES = ["student_t", "skew_normal", "negative_binomial"]
W = np.array([0.6, 0.4])
TWO = {  # centres and params of two components
    "student_t": (np.array([-3.0, 4.0]), np.array([[1.0, 0.5], [5.0, 4.0]])),
    "skew_normal": (np.array([0.0, 4.0]), np.array([[1.0, 0.5], [4.0, -3.0]])),
    "negative_binomial": (np.array([4.0, 50.0]), np.array([3.0, 20.0])),
}


def peer(family, m, p):
    """One component by scipy.stats."""
    if family == "student_t":
        return scipy.stats.t(p[1], m, p[0])
    if family == "skew_normal":
        return scipy.stats.skewnorm(p[1], m, p[0])
    return scipy.stats.nbinom(p, p / (p + m))


def log_density(family, x, weights, centres, params):
    """Of a mixture, by scipy.stats."""
    parts = [peer(family, m, params[..., k]) for k, m in enumerate(centres)]
    logs = [d.logpmf(x) if family == "negative_binomial" else d.logpdf(x) for d in parts]
    return scipy.special.logsumexp(np.log(weights)[:, None] + np.stack(logs), axis=0)


def draws(family, n, seed=1):
    """Draws of the mixture of `TWO` by NumPy."""
    rng = np.random.default_rng(seed)
    m, p = TWO[family]
    which = (rng.random(n) >= W[0]).astype(int)
    if family == "student_t":
        return m[which] + p[0, which] * rng.standard_t(p[1, which])
    if family == "skew_normal":
        s = p[1, which]
        z = (s * np.abs(rng.normal(size=n)) + rng.normal(size=n)) / np.sqrt(1.0 + s * s)
        return m[which] + p[0, which] * z
    return rng.negative_binomial(p[which], p[which] / (p[which] + m[which])).astype(float)


# --- formulas -----------------------------------------------------------------------------------------------------------------


def exact_log_density(family, y, a, b, d):
    """In the coordinates of `numbastats.scalar.latent`, as its docstrings state it."""
    if family == "student_t":
        v, s = mpmath.exp(b), mpmath.exp(d)
        constant = mpmath.log(mpmath.gamma((s + 1) / 2) / mpmath.gamma(s / 2)) - mpmath.log(s * v / 2) / 2
        return constant - (s + 1) / 2 * mpmath.log(1 + (y - a) ** 2 / (v * s))
    if family == "skew_normal":
        z = (y - a) / mpmath.exp(b / 2)
        return mpmath.log(2) - b / 2 - z * z / 2 + mpmath.log(mpmath.ncdf(mpmath.sinh(d) * z))
    m, r = mpmath.exp(a), mpmath.exp(b)
    pmf = mpmath.loggamma(y + r) - mpmath.loggamma(r) + y * mpmath.log(m / (m + r)) + r * mpmath.log(r / (m + r))
    return pmf - (y * mpmath.log(y) - y if y > 0 else 0)


POINTS = [("student_t", 2.0, (0.3, 0.4, 1.2)), ("student_t", 2.0, (0.3, 0.4, 9.0)), ("student_t", -30.0, (0.3, -1.0, -1.0))]
POINTS += [("skew_normal", -1.0, (0.3, 0.4, 1.2)), ("skew_normal", 4.0, (0.3, 0.4, -2.2)), ("skew_normal", 0.5, (0.3, 0.4, 0.0))]
POINTS += [("negative_binomial", 7.0, (0.3, 0.4, 0.0)), ("negative_binomial", 0.0, (1.3, 14.0, 0.0))]
POINTS += [("negative_binomial", 1e12, (24.0, -1.0, 0.0)), ("negative_binomial", 1e6, (13.8, 30.0, 0.0))]
ORDERS = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 2, 0), (0, 1, 1), (0, 0, 2)]


def formula(family, job):
    return getattr(latent, f"{family}_{job}")


def natural(family, theta):
    """m, v, s from coordinates."""
    a, b, d = theta
    if family == "negative_binomial":
        return math.exp(a), math.exp(b), 1.0
    return a, math.exp(b), math.exp(d) if family == "student_t" else math.sinh(d)


@pytest.mark.parametrize("family, y, theta", POINTS)
def test_derivatives(family, y, theta):
    c = 2.5 if family == "negative_binomial" else 0.0
    p = formula(family, "coefficients")(*natural(family, theta), c)
    with mpmath.workdps(40):
        at = tuple(map(mpmath.mpf, theta))
        exact = exact_log_density(family, mpmath.mpf(y), *at)
        slopes = [mpmath.diff(lambda a, b, d: exact_log_density(family, mpmath.mpf(y), a, b, d), at, n) for n in ORDERS]
    # the last point has the rounding of its mean and size: 15000 from that mean, size 1e13
    last = theta[1] == 30.0
    np.testing.assert_allclose(formula(family, "density")(y - c, p), float(exact), rtol=1e-13 if last else 1e-14, atol=4e-15)
    got = formula(family, "derivatives")(y - c, p)
    # largest seen 4e-14, at the last point 7e-13
    np.testing.assert_allclose(got, np.array(slopes, float), rtol=1e-12, atol=2e-12 if last else 1e-13)


@pytest.mark.parametrize("family", FAMILIES)
def test_expectations(family):
    """Of the latent variable given the value, by quadrature of the joint density."""
    m, v, s, y = (4.0, 3.0, 1.0, 6.0) if family == "negative_binomial" else (0.5, 2.0, 3.0, 1.7)
    got = formula(family, "expected")(
        y, formula(family, "coefficients")(m, v, s, 1e-300 if family == "negative_binomial" else 0.0)
    )
    e, quad = y - m, mpmath.quad
    if family == "student_t":
        joint = lambda u: u ** (s / 2 - 0.5) * mpmath.exp(-u * (s + e * e / v) / 2)  # noqa: E731
        total = quad(joint, [0, 1, mpmath.inf])
        u = quad(lambda t: t * joint(t), [0, 1, mpmath.inf]) / total
        want = [u, u * e, u * e * e]
        # the expectation of log u is this less log a - psi(a), a = (s + 1)/2, which the M-step adds
        logs = quad(lambda t: mpmath.log(t) * joint(t), [0, 1, mpmath.inf]) / total
        half = (s + 1) / 2
        want += [logs + mpmath.log(half) - mpmath.psi(0, half) - u]
    elif family == "skew_normal":
        w, delta = math.sqrt(v), s / math.sqrt(1 + s * s)
        joint = lambda t: mpmath.exp(-t * t / 2 - (e / w - delta * t) ** 2 / (2 * (1 - delta**2)))  # noqa: E731
        total = quad(joint, [0, 1, 4, 20])
        t1, t2 = (quad(lambda t, n=n: t**n * joint(t), [0, 1, 4, 20]) / total for n in (1, 2))
        want = [e, e * e, t1, t1 * e, t2]
    else:
        joint = lambda t: t ** (y + v - 1) * mpmath.exp(-t * (1 + v / m))  # noqa: E731
        total = quad(joint, [0, 4, 10, 100])
        want = [
            quad(lambda t: t / m * joint(t), [0, 4, 10, 100]) / total,
            quad(lambda t: mpmath.log(t / m) * joint(t), [0, 4, 10, 100]) / total,
        ]
    np.testing.assert_allclose(got[: len(want)], np.array(want, float), rtol=1e-12)


# --- distributions ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_density(family, dtype, device):
    m, p = TWO[family]
    x = np.arange(90.0) if family == "negative_binomial" else np.linspace(-9.0, 9.0, 41)
    want, given = log_density(family, x, W, m, p), x.astype(dtype)
    got = mixture.logpdf(given, W, m, p, family=family, **device)
    assert got.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 3e-7
    np.testing.assert_allclose(got, log_density(family, given.astype(float), W, m, p), rtol=tolerance, atol=tolerance)
    r = mixture.responsibilities(x, W, m, p, family=family, **device)
    single = np.exp(log_density(family, x, [1.0], m[:1], p[..., :1]) + math.log(W[0]) - want)
    np.testing.assert_allclose(r[:, 0], single, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(r.sum(axis=1), 1.0, rtol=1e-14)
    edges = mixture.logpdf([math.nan, math.inf, -math.inf, -1.0, 0.5], W, m, p, family=family, **device)
    assert math.isnan(edges[0]) and (edges[1:3] == -math.inf).all()
    assert (edges[3:] == -math.inf).all() == (family == "negative_binomial")
    assert mixture.logpdf([], W, m, p, family=family, **device).shape == (0,)
    assert np.ndim(mixture.pdf(1.0, W, m, p, family=family, **device)) == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_distribution_function_and_quantiles(family):
    m, p = TWO[family]
    x = np.arange(100.0) if family == "negative_binomial" else np.linspace(-12.0, 12.0, 60)
    lower, upper = mixture.cdf(x, W, m, p, family=family), mixture.sf(x, W, m, p, family=family)
    parts = [peer(family, m[k], p[..., k]) for k in range(2)]
    np.testing.assert_allclose(lower, W @ [d.cdf(x) for d in parts], rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(upper, W @ [d.sf(x) for d in parts], rtol=1e-10, atol=1e-14)  # SciPy's cancel for the skew-normal
    u = np.array([1e-30, 1e-9, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-9])
    q, r = mixture.ppf(u, W, m, p, family=family), mixture.isf(u, W, m, p, family=family)
    if family == "negative_binomial":
        assert (mixture.cdf(q, W, m, p, family=family) >= u).all() and (mixture.sf(r, W, m, p, family=family) <= u).all()
        inner = q > 0
        assert (mixture.cdf(q[inner] - 1.0, W, m, p, family=family) < u[inner]).all()
        assert mixture.ppf(1.0, W, m, p, family=family) == math.inf
    else:
        np.testing.assert_allclose(mixture.cdf(q, W, m, p, family=family), u, rtol=1e-12)
        np.testing.assert_allclose(mixture.sf(r, W, m, p, family=family), u, rtol=1e-12)
        assert mixture.ppf(0.0, W, m, p, family=family) == -math.inf and mixture.isf(0.0, W, m, p, family=family) == math.inf
    assert mixture.cdf([-math.inf, math.inf], W, m, p, family=family).tolist() == [0.0, 1.0]
    assert np.isnan(mixture.ppf([-0.1, math.nan], W, m, p, family=family)).all()


def skew_tail(z, s):
    """Upper tail probability by Owen's function T, with Phi(-z) = 2 T(z, inf) for z > 0: no difference of small numbers."""
    if z < 0:
        return 1 - skew_tail(-z, -s)

    def owen(lo, hi, step):
        cuts = [lo + k * step for k in (0, 1, 2, 4, 8, 16, 32, 64) if lo + k * step < hi]
        return mpmath.quad(lambda x: mpmath.exp(-z * z * (1 + x * x) / 2) / (1 + x * x), [*cuts, hi]) / mpmath.pi

    step = 1 / (z + z * z * abs(s) + 1)
    return owen(-s, mpmath.inf, step) if s < 0 else mpmath.ncdf(-z) + owen(0, s, step)


@pytest.mark.parametrize("s", [0.0, 0.02, -0.5, 3.0, -3.0, 40.0, -300.0])
def test_tails_of_the_skew_normal(s):
    """Against 40 digits, also where Owen's function cancels: largest seen 2e-14 times max(1, z^2)."""
    for z in (-9.0, -3.0, -0.4, -0.01, 0.003, 0.2, 1.0, 5.0, 12.0):
        with mpmath.workdps(40):
            exact = skew_tail(mpmath.mpf(z), mpmath.mpf(s))
        got = mixture.sf(z, [1.0], [0.0], [[1.0], [s]], family="skew_normal")
        assert abs(got / float(exact) - 1) < 2e-13 * max(1.0, z * z) if exact > 1e-290 else got < 1e-280, (z, s)
        assert mixture.cdf(-z, [1.0], [0.0], [[1.0], [-s]], family="skew_normal") == got


@pytest.mark.parametrize("df", [0.3, 1.0, 4.5, 1e3, 1e8])
def test_tails_of_student_t(df):
    for t in (0.001, 0.7, 3.0, 30.0, 1e4):
        with mpmath.workdps(60):
            d, q = mpmath.mpf(df), mpmath.mpf(t) ** 2
            exact = mpmath.betainc(d / 2, 0.5, 0, d / (d + q), regularized=True) / 2 if df < 1e6 else mpmath.ncdf(-t)
        got = mixture.sf(t, [1.0], [0.0], [[1.0], [df]], family="student_t")
        assert abs(got / float(exact) - 1) < (1e-12 if df < 1e6 else 3e-8 * max(1.0, t**4)) if exact > 1e-290 else got < 1e-280


@pytest.mark.parametrize("family", FAMILIES)
def test_draws(family):
    m, p = TWO[family]
    x = mixture.rvs(W, m, p, 20_000, family=family, rng=3)
    assert (x == mixture.rvs(W, m, p, 20_000, family=family, rng=3)).all()
    if family == "negative_binomial":
        probability = mixture.pdf(np.arange(30.0), W, m, p, family=family)
        np.testing.assert_allclose([np.mean(x == k) for k in range(30)], probability, atol=5 * math.sqrt(0.1 / 20_000))
        assert abs(x.mean() - W @ m) < 5 * x.std() / math.sqrt(x.size)
    else:
        assert scipy.stats.kstest(x, lambda t: mixture.cdf(t, W, m, p, family=family)).pvalue > 1e-3
    assert np.ndim(mixture.rvs(W, m, p, family=family, rng=3)) == 0


# --- fits ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_one_component_against_scipy(family):
    if family == "student_t":
        x = scipy.stats.t(4.0, 1.0, 2.0).rvs(400, random_state=2)
        df, m, scale = scipy.stats.t.fit(x)
        start = m, math.log(scale), math.log(df)
    elif family == "skew_normal":
        x = scipy.stats.skewnorm(3.0, 1.0, 2.0).rvs(400, random_state=2)
        s, m, scale = scipy.stats.skewnorm.fit(x)
        start = m, math.log(scale), s
    else:
        x = np.random.default_rng(2).negative_binomial(2.5, 0.3, 400).astype(float)
        start = math.log(x.mean()), 1.0

    def params(theta):
        if family == "negative_binomial":
            return math.exp(theta[0]), math.exp(theta[1])
        return theta[0], np.array([math.exp(theta[1]), math.exp(theta[2]) if family == "student_t" else theta[2]])

    def loss(theta):
        m, p = params(theta)
        return -log_density(family, x, [1.0], [m], np.asarray(p)[..., None]).sum()

    best = scipy.optimize.minimize(loss, start, method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-11, maxiter=4000))
    r = mixture.fit(x, 1, family=family, device="cpu", workers=1)
    assert r.status == 0 and r.n_components == 1
    assert -1e-9 < r.loglik + best.fun < 1e-6
    assert abs(log_density(family, x, r.weights, r.centres, r.params).sum() - r.loglik) < 1e-9
    m, p = params(best.x)
    np.testing.assert_allclose(r.centres[0], m, rtol=1e-4)
    np.testing.assert_allclose(r.params[..., 0], p, rtol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_two_components(family):
    m, p = TWO[family]
    x = draws(family, 3000)
    r = mixture.fit(x, 2, family=family, se=True, cov=True, rng=1, device="cpu", workers=1)
    assert r.status == 0 and r.n_used == x.size and r.hits >= 2
    assert abs(log_density(family, x, r.weights, r.centres, r.params).sum() - r.loglik) < 1e-9
    assert r.loglik > log_density(family, x, W, m, p).sum()
    names = ("weights", *r.parameters)
    truth = dict(zip(names, (W, m, *np.atleast_2d(p)), strict=True))
    found = {"weights": r.weights} | r.parameters
    for name in names:
        assert (np.abs(found[name] - truth[name]) < 4.0 * r.se[name]).all(), name
    size = 2 * len(names)
    assert r.cov.shape == (size, size)
    np.testing.assert_allclose(np.sqrt(np.diag(r.cov)), np.concatenate([r.se[n] for n in names]), rtol=1e-12)
    np.testing.assert_allclose(r.aic, 2 * (size - 1) - 2 * r.loglik)
    # a distribution like the others
    parts = [peer(family, r.centres[k], r.params[..., k]) for k in range(2)]
    mean = r.weights @ [d.mean() for d in parts]
    assert r.mean() == pytest.approx(mean, rel=1e-10)
    assert r.var() == pytest.approx(r.weights @ [d.var() + (d.mean() - mean) ** 2 for d in parts], rel=1e-10)
    np.testing.assert_allclose(r.component_means(), [d.mean() for d in parts], rtol=1e-12)
    table = r.to_frame()
    assert list(table)[: len(names)] == ["weight", *r.parameters]
    np.testing.assert_allclose(table["sd_of_x"], [d.std() for d in parts], rtol=1e-12)
    np.testing.assert_allclose(r.predict_proba(x[:50]).argmax(axis=1), r.predict(x[:50]))
    assert r.cdf(r.median()) == pytest.approx(0.5, abs=0.05)
    if family == "negative_binomial":
        assert (r.means == r.centres).all()
    else:
        with pytest.raises(AttributeError, match="component_means"):
            r.means  # noqa: B018


@pytest.mark.parametrize("family", FAMILIES)
def test_standard_errors_are_those_of_the_observed_information(family):
    """Against second differences of SciPy's log-likelihood at the optimum."""
    x = draws(family, 500, 7)
    r = mixture.fit(x, 2, family=family, cov=True, rng=1, device="cpu", workers=1)
    flat = np.concatenate([r.weights[:1], r.centres, np.ravel(r.params)])

    def loglik(theta):
        w = np.array([theta[0], 1.0 - theta[0]])
        return log_density(family, x, w, theta[1:3], theta[3:].reshape(r.params.shape)).sum()

    n, steps = flat.size, 1e-4 * np.maximum(0.1, np.abs(flat))
    H, e = np.empty((n, n)), np.diag(steps)
    for i in range(n):
        for j in range(n):
            H[i, j] = (
                loglik(flat + e[i] + e[j]) - loglik(flat + e[i] - e[j]) - loglik(flat - e[i] + e[j]) + loglik(flat - e[i] - e[j])
            )
            H[i, j] /= 4 * steps[i] * steps[j]
    keep = [0, *range(2, r.cov.shape[0])]  # without the second weight
    np.testing.assert_allclose(np.sqrt(np.diag(r.cov))[keep], np.sqrt(np.diag(np.linalg.inv(-H))), rtol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_climbs_are_monotone(family):
    """EM in pieces climbs at every step, and ends at the optimum of the fit."""
    x, (m, p) = draws(family, 300, 3), TWO[family]
    w = np.random.default_rng(1).integers(1, 4, x.size).astype(float)
    now, last = (W, m, p), -math.inf
    for _ in range(60):
        parts = [mixture.partial_stats(x[s], *now, family=family, sample_weight=w[s]) for s in np.split(np.arange(300), 3)]
        *new, ll = mixture.em_update(mixture.combine(parts), *now, family=family)
        assert ll > last - 1e-10
        np.testing.assert_allclose(ll, w @ log_density(family, x, *now), rtol=1e-12)
        now, last = new, ll
    r = mixture.fit(x, 2, family=family, weights=w, rng=1, device="cpu", workers=1)
    assert r.loglik >= last - 1e-9 and r.loglik < last + 1.0
    np.testing.assert_allclose(r.loglik, w @ log_density(family, x, r.weights, r.centres, r.params), rtol=1e-12)
    repeated = mixture.fit(np.repeat(x, w.astype(int)), 2, family=family, rng=1, device="cpu", workers=1)
    assert r.loglik == pytest.approx(repeated.loglik, abs=1e-7)
    start = np.concatenate([now[0][None], now[1][None], np.atleast_2d(now[2])])[None]
    options = dict(method="em", init_params=start, tol=1e-6, device="cpu", workers=1)
    em = mixture.fit(x, 2, family=family, weights=w, **options)
    assert em.status in (0, 1, 11) and last - 1e-9 <= em.loglik <= r.loglik + 1e-9


@pytest.mark.parametrize("family", FAMILIES)
def test_twins_agree(family):
    x = [draws(family, 60, 3), draws(family, 45, 4)]
    start = np.concatenate([W[None], TWO[family][0][None], np.atleast_2d(TWO[family][1])])[None, None]
    options = dict(family=family, init_params=np.repeat(start, 2, axis=0))
    want = mixture.fit_many(x, 2, device="cpu", workers=1, **options)
    got = mixture.fit_many(x, 2, device="cuda", **options)
    assert (want.status == got.status).all()
    np.testing.assert_allclose(got.loglik, want.loglik, rtol=1e-9)
    np.testing.assert_allclose(got.centres, want.centres, rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="the 8 that device='cuda' takes"):
        mixture.fit_many(x, 9, family=family, device="cuda")


@pytest.mark.parametrize("family", FAMILIES)
def test_results_do_not_depend_on_threads_batches_or_type(family):
    sets = [draws(family, 150 + 10 * i, i) for i in range(4)]
    want = mixture.fit_many(sets, (1, 2), family=family, rng=1, device="cpu", workers=1)
    got = mixture.fit_many(sets, (1, 2), family=family, rng=1, device="cpu", workers=2)
    assert (got.loglik == want.loglik).all() and (got.n_components == want.n_components).all()
    np.testing.assert_array_equal(got.params, want.params)
    assert got.params.shape == ((4, 2, 2) if family != "negative_binomial" else (4, 2))
    narrow = mixture.fit(sets[1].astype(np.float32), 2, family=family, rng=1, device="cpu", workers=1)
    assert narrow.params.dtype == np.float32 and narrow.status == 0
    np.testing.assert_allclose(narrow.loglik, mixture.fit(sets[1], 2, family=family, rng=1).loglik, rtol=1e-6)


@pytest.mark.parametrize(
    ("n", "w", "centres", "scales", "df"),
    [(245, 0.7195, (-0.0092, 5.9776), (0.9930, 1.4090), 2.7349), (250, 0.7335, (-0.0048, 5.9611), (0.9829, 1.4338), 2.7268)],
)
def test_a_maximum_with_a_normal_component_is_found(n, w, centres, scales, df):
    """Starts with few degrees of freedom end 1.2 units lower, at 3 and 3.5 of them."""
    r = np.random.default_rng(14)
    x = np.concatenate([r.standard_t(3, n), 6.0 + 1.4 * r.standard_t(6, 350 - n)])
    parts = [scipy.stats.t.logpdf(x, df, centres[0], scales[0]), scipy.stats.norm.logpdf(x, centres[1], scales[1])]
    there = scipy.special.logsumexp(np.log([[w], [1.0 - w]]) + np.stack(parts), axis=0).sum()
    fit = mixture.fit(x, 2, family="student_t", rng=0, device="cpu")
    assert fit.status == 0 and there < fit.loglik < there + 1e-4
    assert fit.loglik == pytest.approx(log_density("student_t", x, fit.weights, fit.centres, fit.params).sum(), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
@pytest.mark.parametrize("family", ["student_t", "skew_normal"])
def test_scale_of_the_data(family, scale):
    x = draws(family, 200)
    want, got = (mixture.fit(x * s, 2, family=family, rng=1, se=True, device="cpu", workers=1) for s in (1.0, scale))
    assert want.status == got.status == 0
    np.testing.assert_allclose(got.loglik, want.loglik - x.size * math.log(scale), rtol=1e-12)
    np.testing.assert_allclose(got.centres / scale, want.centres, rtol=1e-8)
    np.testing.assert_allclose(got.params[0] / scale, want.params[0], rtol=1e-8)
    np.testing.assert_allclose(got.params[1], want.params[1], rtol=1e-7)
    np.testing.assert_allclose(got.se["scale"] / scale, want.se["scale"], rtol=1e-6)


def test_limits():
    """Components that are normal or Poisson: the likelihood of those families, and no standard error of what has no bound."""
    x = scipy.stats.norm.ppf((np.arange(300) + 0.5) / 300)
    r = mixture.fit(x, 1, family="student_t", se=True, device="cpu")
    normal = mixture.fit(x, 1, family="normal", se=True, device="cpu")
    assert r.status == 0 and r.params[1, 0] == 1e8 and np.isnan(r.se["df"][0])
    assert r.loglik == pytest.approx(normal.loglik, abs=1e-5)
    np.testing.assert_allclose(r.se["location"], normal.se["mean"], rtol=1e-5)
    counts = scipy.stats.binom(20, 0.3).ppf((np.arange(300) + 0.5) / 300)  # less dispersed than a Poisson variable
    r = mixture.fit(counts, 1, family="negative_binomial", se=True, device="cpu")
    poisson = mixture.fit(counts, 1, family="poisson", se=True, device="cpu")
    assert r.status == 0 and r.params[0] >= 1e8 and np.isnan(r.se["size"][0])
    assert r.loglik == pytest.approx(poisson.loglik, abs=1e-4)
    np.testing.assert_allclose(r.se["mean"], poisson.se["mean"], rtol=1e-5)
    symmetric = mixture.fit(x, 1, family="skew_normal", device="cpu", errors="status")
    assert symmetric.status in (0, 11) and symmetric.loglik >= normal.loglik - 1e-6


# --- invalid data and arguments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_no_extreme_data_harm_a_batch(family, recwarn):
    good = np.abs(np.round(draws(family, 80, 9)))
    sets = [good, good[:3], np.full(40, 3.0), np.full(40, np.nan), np.append(good, np.inf), np.append(good, -0.5), np.zeros(30)]
    sets += [np.append(good, 1e15), np.append(good, 1e6), good * 1e12, good, [1.0, 2.0], []]
    for K in (1, 2, 3):
        batch = mixture.fit_many(sets, K, family=family, rng=1, se=True, device="cpu", workers=1)
        assert batch.status[3] == batch.status[-1] == 7 and batch.status[4] == 8
        assert batch.status[2] in (12, 4) or family == "negative_binomial"
        assert (batch.status[5] == 6) == (family == "negative_binomial")
        assert batch.loglik[0] == batch.loglik[10] or K > 1
        for i, x in enumerate(sets):
            r = batch[i]
            assert r.message
            if r.status == 0:
                w, m, p = r.weights, r.centres, r.params
                ll = mixture.logpdf(x, w, m, p, family=family, device="cpu").sum()
                assert abs(ll - r.loglik) < 1e-6 * max(1.0, abs(ll)), (i, K)
            elif r.status not in (1, 11, 13):
                assert np.isnan(r.params).all()
    others = [str(w.message) for w in recwarn.list if w.category is not ns.ConvergenceWarning]  # it says that most have failed
    assert not others, others


def test_messages():
    with pytest.raises(
        ValueError, match="1 of 3 values is not a whole number, as counts of negative_binomial are: 2.5 at index 1"
    ):
        mixture.fit([1.0, 2.5, 3.0], 1, family="negative_binomial")
    for options in (dict(method="squarem"), dict(method="bulkem"), dict(precision="single"), dict(prior={"n0": 1.0})):
        with pytest.raises(ValueError, match="family='student_t' takes"):
            mixture.fit([1.0, 2.0, 5.0], 1, family="student_t", **options)
    with pytest.raises(ValueError, match="needs params, its scale and df"):
        mixture.pdf(1.0, [1.0], [0.0], family="student_t")
    with pytest.raises(ValueError, match=r"params \(2, K\): scale and shape"):
        mixture.pdf(1.0, [1.0], [0.0], [1.0], family="skew_normal")
    with pytest.raises(ValueError, match="out of domain"):
        mixture.pdf(1.0, [1.0], [0.0], [[1.0], [-2.0]], family="student_t")
    with pytest.raises(ValueError, match="out of domain"):
        mixture.pdf(1.0, [1.0], [0.0], [[-1.0], [-2.0]], family="skew_normal")
    with pytest.raises(ValueError, match=r"\(D, R, 4, K\)"):
        mixture.fit([1.0, 2.0, 5.0], 1, family="student_t", init_params=np.ones((1, 3, 1)))
    with pytest.raises(ValueError, match=r"\(13,\)"):
        mixture.em_update(np.ones(7), W, *TWO["student_t"], family="student_t")


def test_estimator():
    x = draws("student_t", 400)
    model = mixture.Mixture(2, family="student_t", rng=0).fit(x[:, None])
    assert model.params_.shape == (2, 2) and model.status_ == 0
    np.testing.assert_allclose(model.score_samples(x), log_density("student_t", x, model.weights_, model.centres_, model.params_))
    assert model.bic(x) == pytest.approx(model.result_.bic) and model.sample(5, rng=1).shape == (5, 1)
    chosen = mixture.fit(x, range(1, 4), family="student_t", criterion="icl", rng=0)
    assert chosen.n_components == 2


def test_components_at_limits_are_named():
    """Counts that vary as Poisson ones do, or less: the size grows without end."""
    x = np.repeat([2.0, 3.0, 4.0, 5.0, 30.0, 31.0, 32.0], [10, 20, 20, 10, 10, 10, 10])
    fit = mixture.fit(x, 2, family="negative_binomial", rng=0, device="cpu")
    assert fit.limits == ("poisson", "poisson") and "component 0 (poisson), component 1 (poisson)" in fit.message
    assert mixture.fit(x, 2, family="poisson", rng=0, device="cpu").limits == ("", "")
