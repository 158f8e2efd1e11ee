"""Fits by the likelihood of any family: published estimates, SciPy's fits, many starts, censored and truncated data."""

from __future__ import annotations

import contextlib
import math
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.stats as st

import numbastats as ns
from numbastats import ConvergenceWarning, distributions
from numbastats.distributions import fit, fit_many
from tests.distributions.objects import CASES

inf, nan = math.inf, math.nan
PEERS = {family: case.likelihood for family, case in CASES.items() if case.likelihood}
NEW = tuple(f for f in PEERS if CASES[f].estimates is None)  # exact values of the others are in test_fitting
CENSORED = tuple(f for f, row in PEERS.items() if row.censored)
LOCATED = tuple(f for f, row in PEERS.items() if row.located)


def briefly(families):
    """Families for a test of the likelihood, some in slow tests only."""
    return [pytest.param(f, marks=pytest.mark.slow) if PEERS[f].equations else f for f in families]


def draws(family, size, seed=0):
    row = PEERS[family]
    return row.peer.rvs(*row.of_ours(*row.truth), size=size, random_state=np.random.default_rng(seed))


def whole(family, params):
    """All parameters of the class, where loc is 0 and scale 1 unless they are there."""
    return [params.get(n, 1.0 if n == "scale" else 0.0) for n in CASES[family].cls.names]


def log_likelihood(family, params, lo, hi, w=1.0, cut=(-inf, inf)):
    """By SciPy's functions; masses as differences of the smaller tails."""
    peer, p = PEERS[family].peer, PEERS[family].of_ours(*whole(family, params))
    with np.errstate(all="ignore"):
        terms = np.where(lo == hi, peer.logpdf(lo, *p), np.log(mass(peer, p, lo, hi)))
        return float(np.sum(w * (terms - np.log(mass(peer, p, *map(np.asarray, cut))))))


def mass(peer, p, lo, hi):
    below = peer.cdf(lo, *p) < 0.5
    return np.where(below, peer.cdf(hi, *p) - peer.cdf(lo, *p), peer.sf(lo, *p) - peer.sf(hi, *p))


def best_of_starts(family, found, lo, hi, w=1.0, cut=(-inf, inf), *, starts):
    """The largest log-likelihood of simplex searches from points about the fit, with the same parameters free."""
    free, row = [n for n, se in found.se.items() if se != 0.0], PEERS[family]
    positive = {n: n not in row.signed for n in free}
    rng, unit = np.random.default_rng(3), found.params.get("scale", 1.0)

    def loss(theta):
        moved = {n: math.exp(t) if positive[n] else t for n, t in zip(free, theta, strict=True)}
        if any(moved.get(n, 0.0) < least for n, least in row.least.items()):
            return 1e12
        value = -log_likelihood(family, found.params | moved, lo, hi, w, cut)
        return value if math.isfinite(value) else 1e12

    at = np.array([math.log(found.params[n]) if positive[n] else found.params[n] for n in free])
    width = np.array([unit if n == "loc" else 0.7 for n in free])
    best = loss(at)
    for i in range(starts):
        start = at + (0.02 if i == 0 else 1.0) * width * rng.normal(size=at.size)
        options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 600}
        best = min(best, scipy.optimize.minimize(loss, start, method="Nelder-Mead", options=options).fun)
    return -best


# --- published estimates -----------------------------------------------------------------------------------------

PORT_PIRIE = np.array(  # annual maxima of the sea level in metres, 1923 to 1987; Coles (2001), example 1.1
    "4.03 3.83 3.65 3.88 4.01 4.08 4.18 3.80 4.36 3.96 3.98 4.69 3.85 3.96 3.85 3.93 3.75 3.63 3.57 4.25 3.97 4.05 4.24 "
    "4.22 3.73 4.37 4.06 3.71 3.96 4.06 4.55 3.79 3.89 4.11 3.85 3.86 3.86 4.21 4.01 4.11 4.24 3.96 4.21 3.74 3.85 3.88 "
    "3.66 4.11 3.71 4.18 3.90 3.78 3.91 3.72 4.00 3.66 3.62 4.33 4.55 3.75 4.08 3.90 3.88 3.94 4.33".split(),
    float,
)
GLASS = np.array(  # breaking strengths of 63 glass fibres of 1.5 cm; Smith and Naylor (1987), Coles (2001), example 1.3
    "0.55 0.93 1.25 1.36 1.49 1.52 1.58 1.61 1.64 1.68 1.73 1.81 2.00 0.74 1.04 1.27 1.39 1.49 1.53 1.59 1.61 1.66 1.68 "
    "1.76 1.82 2.01 0.77 1.11 1.28 1.42 1.50 1.54 1.60 1.62 1.66 1.69 1.76 1.84 2.24 0.81 1.13 1.29 1.48 1.50 1.55 1.61 "
    "1.62 1.66 1.70 1.77 1.84 0.84 1.24 1.30 1.48 1.51 1.55 1.61 1.63 1.67 1.70 1.78 1.89".split(),
    float,
)
SHOCKS = (  # kilometres of 38 shock absorbers, + still running; O'Connor (1985), Meeker and Escobar (1998), table C.2
    "6700 6950+ 7820+ 8790+ 9120 9660+ 9820+ 11310+ 11690+ 11850+ 11880+ 12140+ 12200 12870+ 13150 13330+ 13470+ 14040+ "
    "14300 17520 17540+ 17890+ 18450+ 18960+ 18980+ 19410+ 20100 20100+ 20150+ 20320+ 20900 22700 23490+ 26510 27410+ 27490 "
    "27890+ 28100+"
)
LOCOMOTIVES = (  # thousand miles of 37 failed locomotive controls, 59 more ran for 135; Nelson and Schmee (1979), Lawless (2003)
    "22.5 37.5 46 48.5 51.5 53 54.5 57.5 66.5 68 69.5 76.5 77 78.5 80 81.5 82 83 84 91.5 93.5 102.5 107 108.5 112.5 113.5 "
    "116 117 118.5 119 120 122.5 123 127.5 131 132.5 134"
)
REMISSIONS = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"  # weeks on 6-MP; Freireich et al. (1963)


def censored(text):
    lo = np.array([float(v.rstrip("+")) for v in text.split()])
    return lo, np.where([v.endswith("+") for v in text.split()], inf, lo)


def near(found, digits, **want):
    for name, value in want.items():
        assert round(found.params[name], digits[name]) == value, name


def test_sea_levels_of_port_pirie():
    """Coles (2001), section 3.4.1: 3.87 (0.028), 0.198 (0.020), -0.050 (0.098), log-likelihood 4.34; Gumbel 4.22."""
    found = fit(PORT_PIRIE, "gev")
    near(found, {"loc": 2, "scale": 3, "shape": 3}, loc=3.87, scale=0.198, shape=-0.05)
    assert [round(found.se[n], 3) for n in ("loc", "scale", "shape")] == [0.028, 0.020, 0.098]
    assert round(found.loglik, 2) == 4.34
    gumbel = fit(PORT_PIRIE, "gumbel")
    assert (
        round(gumbel.loglik, 2) == 4.22 and round(gumbel.params["loc"], 2) == 3.87 and round(gumbel.params["scale"], 3) == 0.195
    )


def test_glass_fibres():
    """Coles (2001), section 3.4.2: GEV of the negative strengths -1.64, 0.27, -0.084, log-likelihood -14.3.

    Smith and Naylor (1987): Weibull with three parameters 11.9, 3.2 and an end of the support at -1.6, the same model.
    """
    found = fit(-GLASS, "gev")
    near(found, {"loc": 2, "scale": 2, "shape": 3}, loc=-1.64, scale=0.27, shape=-0.084)
    assert round(found.loglik, 1) == -14.3
    weibull = fit(GLASS, "weibull", fixed={"loc": None})
    near(weibull, {"shape": 1, "loc": 1, "scale": 1}, shape=11.9, loc=-1.6, scale=3.2)
    assert weibull.loglik == pytest.approx(found.loglik, abs=1e-9)
    assert weibull.params["shape"] == pytest.approx(-1.0 / found.params["shape"], rel=1e-5)  # observed 1e-8
    assert weibull.converged and "local maximum" in weibull.message and list(weibull.params) == ["shape", "loc", "scale"]


def test_shock_absorbers():
    """Meeker and Escobar (1998), example 8.1 and table 8.1: Weibull mu 10.23, sigma 0.3164; lognormal mu 10.14, sigma 0.530."""
    ends = censored(SHOCKS)
    found, normal = (fit(None, f, censored=ends) for f in ("weibull", "lognormal"))
    assert round(math.log(found.params["scale"]), 2) == 10.23 and round(1.0 / found.params["shape"], 4) == 0.3164
    assert round(math.log(normal.params["scale"]), 2) == 10.14 and round(normal.params["sigma"], 3) == 0.530


def test_locomotive_controls():
    """Lawless (2003), example 5.3.1: lognormal mu 5.117, sigma 0.705; 59 equal values by weight."""
    failed = np.array(LOCOMOTIVES.split(), float)
    lo, hi, w = np.r_[failed, 135.0], np.r_[failed, inf], np.r_[np.ones(37), 59.0]
    found = fit(None, "lognormal", censored=(lo, hi), weights=w)
    assert round(math.log(found.params["scale"]), 3) == 5.117 and round(found.params["sigma"], 3) == 0.705
    assert found.n_obs == 96.0 and found.n_values == 38


def test_remissions():
    """Exponential: 359 weeks over 9 relapses, se scale/3. Weibull of R's survival::survreg: 3.519, 0.739, -41.7."""
    ends = censored(REMISSIONS)
    found = fit(None, "exponential", censored=ends)
    assert found.params["scale"] == pytest.approx(359.0 / 9.0, rel=1e-10)  # observed 3e-13
    assert found.se["scale"] == pytest.approx(359.0 / 27.0, rel=1e-7)
    weibull = fit(None, "weibull", censored=ends)
    assert round(math.log(weibull.params["scale"]), 3) == 3.519 and round(1.0 / weibull.params["shape"], 3) == 0.739
    assert round(weibull.loglik, 1) == -41.7


def test_cracks_found_at_inspections():
    """Nelson (1982), p. 415, 167 parts: SAS/QC's RELIABILITY has Weibull 71.6904 (5.3335), 1.4854 (0.1465), -309.67."""
    edges = np.array([0.0, 6.12, 19.92, 29.64, 35.40, 39.72, 45.24, 52.32, 63.48, inf])
    found = fit(None, "weibull", censored=(edges[:-1], edges[1:]), weights=[5, 16, 12, 18, 18, 2, 6, 17, 73])
    near(found, {"scale": 4, "shape": 4}, scale=71.6904, shape=1.4854)
    assert round(found.se["scale"], 4) == 5.3335 and round(found.se["shape"], 4) == 0.1465 and round(found.loglik, 2) == -309.67


# --- against SciPy and many starts -------------------------------------------------------------------------------


@pytest.mark.parametrize("starts", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", NEW)
def test_exact_values(family, starts):
    x = draws(family, 60, 1)
    found = fit(x, family)
    assert found.converged and list(found.params.values()) == whole(family, found.params)
    at = log_likelihood(family, found.params, x, x)
    assert found.loglik == pytest.approx(at, rel=1e-11)
    if not PEERS[family].settled:
        assert found.loglik > best_of_starts(family, found, x, x, starts=starts) - 1e-8
    assert found.loglik == pytest.approx(found.distribution.logpdf(x).sum(), rel=1e-11)
    peer = PEERS[family].peer
    assert found.loglik > peer.logpdf(x, *peer.fit(x, **PEERS[family].known)).sum() - 1e-7


def intervals(family, n=80, seed=2):
    """A third exact, and intervals of every kind."""
    x, row = draws(family, n, seed), PEERS[family]
    lo, hi = x.copy(), x.copy()
    width = row.width or 0.3 * np.std(x)
    start = 0.0 if family not in LOCATED else -inf
    q = np.quantile(x, [0.25, 0.75])
    for i in range(n):
        if i % 3 == 1:
            lo[i] = width * math.floor(x[i] / width)
            hi[i] = min(lo[i] + width, row.top)
        elif i % 3 == 2 and x[i] > q[1]:
            lo[i], hi[i] = q[1], inf
        elif i % 3 == 2 and x[i] < q[0]:
            lo[i], hi[i] = start, q[0]
    return x, lo, hi


BRIEFLY = ("gumbel", "gev", "weibull")  # of the shapes 0, real and positive; the others with more starts take minutes


@pytest.mark.parametrize(
    ("family", "starts"), [*((f, 1) for f in BRIEFLY), *(pytest.param(f, 5, marks=pytest.mark.slow) for f in CENSORED)]
)
def test_censored_values(family, starts):
    """Left, right, in intervals and exact, with weights; also with a truncation."""
    x, lo, hi = intervals(family)
    w = np.random.default_rng(5).uniform(0.5, 1.5, x.size)
    found = fit(x, family, censored=(lo, hi), weights=w)
    assert found.converged
    assert found.loglik == pytest.approx(log_likelihood(family, found.params, lo, hi, w), rel=1e-9)
    assert found.loglik > best_of_starts(family, found, lo, hi, w, starts=starts) - 1e-7
    cut = (0.02 if family not in LOCATED else -40.0, min(0.98 * PEERS[family].top, 40.0))
    keep = (x > cut[0]) & (x < cut[1])
    cut_lo, cut_hi = np.maximum(lo, cut[0])[keep], np.minimum(hi, cut[1])[keep]
    found = fit(x[keep], family, censored=(cut_lo, cut_hi), truncated=cut)
    at = log_likelihood(family, found.params, cut_lo, cut_hi, cut=cut)
    assert found.loglik == pytest.approx(at, rel=1e-9)
    assert found.loglik > best_of_starts(family, found, cut_lo, cut_hi, cut=cut, starts=starts) - 1e-7


@pytest.mark.parametrize("family", briefly(("normal", "weibull", "lognormal", "gumbel", "gev")))
def test_censored_data_of_scipy(family):
    _, lo, hi = intervals(family, 60, 4)
    exact, left, right = lo == hi, np.isinf(lo) | ((lo == 0.0) & (family not in LOCATED)), np.isinf(hi)
    data = st.CensoredData(
        uncensored=lo[exact], left=hi[left], right=lo[right], interval=np.stack([lo, hi], 1)[~(exact | left | right)]
    )
    found = fit(data, family)
    peer = PEERS[family].peer
    p = peer.fit(data, **PEERS[family].known)
    with np.errstate(all="ignore"):
        assert found.loglik > -peer._penalized_nnlf(p, data) - 1e-6
    assert found.loglik == pytest.approx(fit(None, family, censored=(lo, hi)).loglik, abs=1e-9)


@pytest.mark.parametrize("family", briefly(("normal", "gamma", "gev", "weibull", "inverse_gaussian")))
def test_standard_errors_of_censored_fits(family):
    """The inverse of minus the second differences of SciPy's log-likelihood."""
    x, lo, hi = intervals(family, 200, 6)
    found = fit(x, family, censored=(lo, hi))
    p = np.array(list(found.params.values()))
    names, h = list(found.params), 2e-3 * np.maximum(np.abs(p), 0.3)
    E, H = np.diag(h), np.empty((p.size, p.size))
    for i in range(p.size):
        for j in range(p.size):
            four = [
                a * b * log_likelihood(family, dict(zip(names, p + a * E[i] + b * E[j], strict=True)), lo, hi)
                for a in (1, -1)
                for b in (1, -1)
            ]
            H[i, j] = sum(four) / (4 * h[i] * h[j])
    want = np.sqrt(np.diag(np.linalg.inv(-H)))
    np.testing.assert_allclose(list(found.se.values()), want, rtol=2e-3)  # of the differences


@pytest.mark.parametrize("family", CENSORED)
def test_likelihoods_of_short_intervals(family):
    """Less the logarithms of the lengths, in the unit of the data, it is that of exact values but for the squares of lengths."""
    x = draws(family, 30, 12)
    for unit in (1.0,) if PEERS[family].known_scale else (1e-8, 1.0, 1e8):
        exact, spread = fit(unit * x, family).loglik, unit * np.std(x)
        for length in (1e-12, 1e-7, 1e-5, 1e-4, 1e-2, 0.1):
            half = 0.5 * length * (spread if family in LOCATED else np.minimum(spread, unit * x))
            lo, hi = unit * x - half, unit * x + half
            if family in ("beta", "kumaraswamy"):
                hi = np.minimum(hi, 1.0)
            found = fit(None, family, censored=(lo, hi))
            change = found.loglik - np.log(hi - lo).sum() - exact
            assert abs(change) < 2e-7 + 10.0 * x.size * length**2, (unit, length, change)


def test_truncated_values():
    """A normal distribution seen between -1 and 2, three ways."""
    x = st.truncnorm.rvs(-1.0, 2.0, size=300, random_state=np.random.default_rng(1))
    found, same = fit(x, "normal", truncated=(-1.0, 2.0)), fit(x, "truncnorm", fixed={"lower": -1.0, "upper": 2.0})
    assert same.loglik == found.loglik and list(same.params.values())[2:] == list(found.params.values())
    assert same.loglik == pytest.approx(same.distribution.logpdf(x).sum(), rel=1e-12)
    assert fit(x, "normal", truncated=(None, inf)).params == pytest.approx(fit(x, "normal").params, rel=1e-9)
    shifted = fit(x - 3.0, "exponential", truncated=(None, None), fixed={"loc": -4.0})
    assert shifted.params["scale"] == pytest.approx((x + 1.0).mean(), rel=1e-9)


# --- properties --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", briefly(PEERS))
def test_weights_are_repetitions(family):
    x = draws(family, 40, 7)
    w = np.random.default_rng(1).integers(1, 4, 40)
    found, want = fit(x, family, weights=w), fit(np.repeat(x, w), family)
    assert found.loglik == pytest.approx(want.loglik, rel=1e-10)
    assert list(found.params.values()) == pytest.approx(list(want.params.values()), rel=2e-5, abs=1e-9)
    tiny = fit_quietly(x, family, weights=1e-12 * w)
    assert list(tiny.params.values()) == pytest.approx(list(found.params.values()), rel=2e-5, abs=1e-9)


def fit_or_warn(*args, **options):
    """A fit that may end at a limit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)
        return fit(*args, **options)


def fit_quietly(*args, **options):
    with pytest.warns(UserWarning, match="weights"):
        return fit(*args, **options)


@pytest.mark.parametrize("family", briefly(PEERS))
@pytest.mark.parametrize("unit", [1e-3, 1e160])
def test_units(family, unit):
    """c x has the log-likelihood of x less n log c; also with intervals."""
    x = draws(family, 50, 8)
    if PEERS[family].known_scale or (unit > 1e100 and PEERS[family].squares):
        return  # whose unit is fixed, or whose squares would overflow: status 8
    for kwargs in (
        {},
        {"censored": (0.9 * x, np.where(x > 0, 1.1, 0.8) * x)} if family in CENSORED and family not in LOCATED else {},
    ):
        found = fit(x, family, **kwargs)
        scaled = {name: tuple(unit * v for v in value) for name, value in kwargs.items()}
        moved = fit(unit * x, family, **scaled)
        n = 0 if kwargs else x.size
        assert moved.converged and moved.loglik == pytest.approx(found.loglik - n * math.log(unit), rel=1e-9)


@pytest.mark.parametrize("family", LOCATED)
def test_shifts_and_signs(family):
    x = draws(family, 50, 9)
    found = fit(x, family)
    assert fit(x + 100.0, family).loglik == pytest.approx(found.loglik, abs=1e-8)
    if PEERS[family].symmetric:
        assert fit(-x, family).loglik == pytest.approx(found.loglik, abs=1e-8)


@pytest.mark.parametrize("family", briefly(PEERS))
def test_refits(family):
    """A parameter that is fixed at its estimate changes nothing."""
    x = draws(family, 50, 10)
    found = fit(x, family)
    for name, value in found.params.items():
        again = fit(x, family, fixed={name: value})
        assert again.loglik == pytest.approx(found.loglik, abs=1e-7), name


@pytest.mark.parametrize("family", ("johnson_su", "skew_normal", "ex_gaussian", "generalized_gamma", "burr_xii", "pearson_iii"))
def test_refits_of_skew_data(family):
    """A parameter that is fixed at its estimate, also on the ridge of a limit, where the starts are far away."""
    for seed in range(4):
        x = np.random.default_rng(seed).gamma(2.0, 1.0, 40)
        found = fit_or_warn(x, family)
        for name, value in found.params.items():
            if found.se[name] != 0.0 and 0.0 < abs(value) < inf:  # at a limit some are 0 or infinite
                assert fit_or_warn(x, family, fixed={name: value}).loglik > found.loglik - 1e-3, (seed, name)


def test_scales_of_johnson_su_along_the_ridge():
    """With a small scale and a and b to match, fits of skew data are as good as the best: points made by hand are no better."""
    for seed in range(6):
        x = np.random.default_rng(seed).gamma(2.0, 1.0, 40)
        found = fit_or_warn(x, "johnson_su")
        assert found.status == 2 and found.limit == "lognormal"
        sigma, loc, scale = found.limit_params.values()
        for fixed in (0.3, 0.1, 0.03, 0.01):
            by_hand = distributions.JohnsonSU(-math.log(2.0 * scale / fixed) / sigma, 1.0 / sigma, loc, fixed)
            again = fit(x, "johnson_su", fixed={"scale": fixed})
            assert again.converged and again.loglik > by_hand.logpdf(x).sum() - 1e-9
            mirrored = fit(-x, "johnson_su", fixed={"scale": fixed})
            assert mirrored.loglik == pytest.approx(again.loglik, abs=1e-7)


@pytest.mark.parametrize(("c", "d"), [(1.0, 0.2), (2.0, 0.1), (0.7, 0.1), (5.0, 0.05)])
def test_heavy_tails_of_burr(c, d):
    """The unit of positive values is their median: of the mean, which the largest decides, the scale is none to be seen."""
    truth = distributions.BurrXII(c, d, 0.0, 2.0)
    x = truth.ppf((np.arange(1, 401) - 0.5) / 400.0)
    found = fit(x, "burr_xii")
    assert found.converged and found.params["d"] == pytest.approx(d, rel=0.03)
    assert found.loglik > truth.logpdf(x).sum()


@pytest.mark.parametrize(
    "family", ("lomax", "burr_xii", "johnson_su", "ex_gaussian", "generalized_gamma", "weibull", "skew_normal")
)
def test_ends_depend_on_neither_order_nor_unit(family):
    """On a ridge to a limit, too, which is no maximum however flat it is."""
    rng = np.random.default_rng(1)
    for _ in range(8):
        x = rng.exponential(2.0, 12).round(2) + 0.01
        found = fit_or_warn(x, family)
        for y, unit in ((x[::-1], 1.0), (rng.permutation(x), 1.0), (1e-8 * x, 1e-8), (1e8 * x, 1e8)):
            again = fit_or_warn(y, family)
            assert again.status == found.status
            if found.converged:
                assert again.loglik + x.size * math.log(unit) == pytest.approx(found.loglik, abs=1e-6)
    x = np.array([0.43, 1.69, 3.55, 2.01, 1.33, 0.40, 1.03, 0.91])  # less spread than exponential values
    assert not fit_or_warn(x, "lomax").status == 0


def test_intervals_without_length_are_values():
    """The fit of censored=(x, x) is that of x, whose families have equations of their own."""
    x = np.array([1.657, -0.518, -0.419, 2.512, -0.570])
    assert fit(None, "student_t", censored=(x, x)).loglik == pytest.approx(fit(x, "student_t").loglik, abs=1e-9)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = rng.standard_t(3, int(rng.integers(5, 20)))
        for family in ("student_t", "normal", "gamma", "lognormal", "weibull", "inverse_gaussian", "beta"):
            x = y if family in ("student_t", "normal") else np.exp(y) if family != "beta" else 1.0 / (1.0 + np.exp(y))
            found, same = fit_or_warn(x, family), fit_or_warn(None, family, censored=(x, x))
            assert same.status == found.status and same.loglik == pytest.approx(found.loglik, abs=1e-6), (seed, family)


def test_asymmetric_laplace_at_its_ends():
    """The supremum may be the limit at the least or the largest value, an exponential distribution."""
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 20.0])
    for y, kappa in ((x, 0.0), (1e8 * x, 0.0), (-x, inf)):
        found, mean = fit_or_warn(y, "asymmetric_laplace"), np.mean(np.abs(y - y[0]))
        assert (
            found.status == 2 and found.limit == "exponential" and found.params["kappa"] == kappa and found.params["loc"] == y[0]
        )
        assert found.loglik == pytest.approx(-x.size * (1.0 + math.log(mean)), rel=1e-12)
    for seed in range(20):
        x = np.random.default_rng(seed).laplace(size=30) + np.random.default_rng(seed + 1).exponential(size=30)
        found = fit_or_warn(x, "asymmetric_laplace")
        ends = -x.size * (1.0 + np.log([np.mean(x - x.min()), np.mean(x.max() - x)]))
        assert found.loglik >= ends.max() - 1e-9 and (found.converged or found.loglik == pytest.approx(ends.max(), rel=1e-12))


def test_generalized_gamma_nearly_lognormal():
    """A maximum at a large shape, where the scale has nothing of the size of the data."""
    truth = distributions.GeneralizedGamma(16.0, 0.1)
    x = truth.ppf((np.arange(400) + 0.5) / 400)
    x /= np.median(x)
    found = fit(x, "generalized_gamma")
    assert found.params["a"] == pytest.approx(16.0, rel=0.1) and found.params["scale"] < 1e-10
    assert found.loglik > fit(x, "lognormal").loglik


def test_contained_families_are_not_likelier():
    for seed in range(10):
        x = draws("gpd", 60, seed)
        assert fit(x, "gev").loglik >= fit(x, "gumbel").loglik - 1e-9
        assert fit(x, "gpd").loglik >= fit(x, "exponential").loglik - 1e-9
        assert fit(x, "gamma").loglik >= fit(x, "gamma", fixed={"shape": 1.0}).loglik - 1e-9


# --- locations, settled parameters, moments ----------------------------------------------------------------------


def test_locations():
    x = draws("gamma", 200, 11)
    known = fit(x + 100.0, "gamma", fixed={"loc": 100.0})
    assert list(known.params) == ["shape", "loc", "scale"] and known.se["loc"] == 0.0
    assert known.params["shape"] == pytest.approx(fit(x, "gamma").params["shape"], rel=1e-6)
    assert distributions.Gamma(*known.params.values()) == known.distribution
    for family in ("gamma", "weibull", "lognormal", "inverse_gaussian"):
        free = fit(x + 100.0, family, fixed={"loc": None})
        assert free.params["loc"] < x.min() + 100.0 and free.converged and "local maximum" in free.message, family
        assert free.loglik >= fit(x + 100.0, family, fixed={"loc": free.params["loc"]}).loglik - 1e-8


def test_parameters_at_values_of_the_sample():
    x = draws("exponential", 30, 12) + 3.0
    found = fit(x, "exponential", fixed={"loc": None})
    assert found.params == {"loc": x.min(), "scale": pytest.approx((x - x.min()).mean(), rel=1e-12)}
    assert math.isnan(found.se["loc"]) and found.se["scale"] > 0.0
    assert "that values or ends of intervals determine" in found.message and found.converged
    found = fit(x, "uniform")
    assert found.params["loc"] == x.min() and found.params["loc"] + found.params["scale"] == pytest.approx(x.max(), rel=1e-15)
    assert found.bic == pytest.approx(2 * math.log(30) + 60 * math.log(np.ptp(x)))
    found = fit(x, "laplace")
    assert found.loglik == pytest.approx(st.laplace.logpdf(x, *st.laplace.fit(x)).sum(), rel=1e-12)
    assert found.se["loc"] == pytest.approx(found.params["scale"] / math.sqrt(30)) and found.message == "converged"


def test_lmoments():
    """Hosking and Wallis (1997), formulas of appendix A: the fitted distribution has the sample's L-moments."""
    x = np.sort(draws("gev", 200, 13))
    j = np.arange(200)
    b = [x.mean(), (x * j).mean() / 199.0, (x * j * (j - 1)).mean() / (199.0 * 198.0)]
    families = ("gev", 3), ("gumbel", 2), ("normal", 2), ("logistic", 2), ("gpd", 2), ("exponential", 1)
    for family, axis in (*families, ("gamma", 2), ("lognormal", 2), ("pearson_iii", 3)):
        with (
            pytest.warns(ConvergenceWarning, match="leaves out data")
            if family in ("gpd", "pearson_iii")
            else contextlib.nullcontext()
        ):
            d = fit(x - (x.min() - 0.1 if axis < 3 else 0.0), family, method="lmoments").distribution
        want = [b[0] - (x.min() - 0.1 if axis < 3 else 0.0), 2 * b[1] - b[0], 6 * b[2] - 6 * b[1] + b[0]]
        u, w = np.polynomial.legendre.leggauss(2000)
        u = 0.5 + 0.5 * np.tanh(3.0 * u) / math.tanh(3.0)
        t, w = np.polynomial.legendre.leggauss(400)
        s = 0.5 * (1.0 + np.tanh(np.sinh(3.2 * t)))  # between 0 and 1, dense at both ends
        weight = w * 3.2 * np.cosh(3.2 * t) * 0.5 / np.cosh(np.sinh(3.2 * t)) ** 2
        quantile = np.where(s < 0.5, d.ppf(s), d.isf(0.5 * (1.0 - np.tanh(np.sinh(3.2 * t)))))
        inside = np.isfinite(quantile) & (weight > 0.0)
        got = [np.sum((weight * p * quantile)[inside]) for p in (np.ones(400), 2 * s - 1, 6 * s * s - 6 * s + 1)]
        np.testing.assert_allclose(got[:axis], want[:axis], rtol=1e-5, err_msg=family)


def test_fits_by_moments_whose_support_leaves_out_data():
    """They have their parameters, and have not converged; the others of a batch are as alone."""
    x = np.random.default_rng(1).gumbel(10, 2, 80).round(2)
    with pytest.warns(ConvergenceWarning, match="support of this fit by moments leaves out data"):
        found = fit(x, "gpd", method="lmoments")
    end = found.params["loc"] - found.params["scale"] / found.params["shape"]
    assert end < x.max() and found.loglik == -inf and found.aic == found.bic == inf
    assert not found.converged and found.status == 1 and found.remark == "outside"
    assert "its `distribution` is there" in found.message.lower() and 'method="ml"' not in found.message
    assert found.distribution.isf(0.01) > 0.0
    assert "likelihood still rises" not in found.message and found.message in repr(found)
    y = np.random.default_rng(0).random((50, 20))
    with pytest.warns(ConvergenceWarning, match="18 of 50 fits ended .* leaves out data"):
        batch = fit_many(y, "gpd", method="lmoments")
    outside = -batch["scale"] / batch["shape"] < y.max(axis=1)
    assert outside.sum() == 18
    np.testing.assert_array_equal(batch.converged, ~outside)
    np.testing.assert_array_equal(batch.remarks == "outside", outside)
    np.testing.assert_array_equal(batch.loglik == -inf, outside)
    i = int(np.flatnonzero(~outside)[0])
    assert batch.one(i).params == pytest.approx(fit(y[i], "gpd", method="lmoments").params, rel=1e-13)
    assert batch.one(i).remark == "by moments"
    assert batch.one(int(np.argmax(outside))).message == found.message == batch.messages[outside][0]
    with pytest.warns(ConvergenceWarning, match="leaves out data"):
        assert fit_many([[0.0] * 5 + [1.0], np.arange(6.0)], "uniform", method="moments").status.tolist() == [1, 0]


def test_moments():
    x = draws("gamma", 300, 14)
    for family in ("normal", "gamma", "lognormal", "inverse_gaussian", "gumbel", "logistic", "laplace", "uniform"):
        with pytest.warns(ConvergenceWarning, match="leaves out data") if family == "uniform" else contextlib.nullcontext():
            found = fit(x, family, method="moments")
        assert found.distribution.mean() == pytest.approx(x.mean(), rel=1e-9), family
        assert found.distribution.std() == pytest.approx(x.std(), rel=1e-9), family
        assert found.aic == inf and "by moments" in found.message and math.isnan(found.se[next(iter(found.se))])
    batch = fit_many(np.stack([x[:100], x[100:200], np.full(100, nan)]), "gamma", method="moments")
    assert batch.status.tolist() == [0, 0, 7] and batch.one(1).params == fit(x[100:200], "gamma", method="moments").params
    with pytest.raises(ValueError, match="cauchy has no estimates by method='moments'; these have: "):
        fit(x, "cauchy", method="moments")
    with pytest.raises(ValueError, match="leave out weights"):
        fit(x, "gamma", method="moments", weights=np.ones(300))


# --- names, batches, devices -------------------------------------------------------------------------------------


def test_names_of_families():
    x = draws("gpd", 30, 15)
    names = dict(norm="normal", gaussian="normal", t="student_t", weibull_min="weibull", genextreme="gev", genpareto="gpd")
    names |= dict(expon="exponential", lognorm="lognormal", invgauss="inverse_gaussian", gumbel_r="gumbel", chi2="chi_squared")
    for theirs, ours in names.items():
        assert fit(x, theirs).params == fit(x, ours).params and fit(x, theirs).family == ours
    assert fit(x, distributions.GEV).params == fit(x, "gev").params
    with pytest.raises(TypeError, match="neither the name of a family nor its class"):
        fit(x, distributions.Stable)


def test_batches():
    """Each series as alone, whatever is wrong with the others; labels, lists, threads and float32."""
    x, lo, hi = (np.stack(v) for v in zip(*[intervals("weibull", 40, s) for s in range(6)], strict=True))
    lo[2], hi[2] = nan, nan
    lo[3, 0], hi[3, 0] = -2.0, -1.0
    with pytest.warns(ns.ConvergenceWarning, match="1 of 6 fits"):
        batch = fit_many(None, "weibull", censored=(lo, hi), workers=2)
    assert batch.status.tolist() == [0, 0, 7, 6, 0, 0]
    for i in (0, 1, 4, 5):
        assert batch.one(i).params == fit(None, "weibull", censored=(lo[i], hi[i])).params
    across = fit_many(None, "weibull", censored=(lo[[0, 1]].T, hi[[0, 1]].T), axis=0)
    np.testing.assert_array_equal(across.params, batch.params[:2])
    ragged = fit_many([x[0], x[1, :20]], "gev")
    assert ragged.one(1).params == fit(x[1, :20], "gev").params
    narrow = fit(x[0].astype(np.float32), "gumbel")
    assert narrow.params == fit(x[0].astype(np.float32).astype(float), "gumbel").params


def test_labels():
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    x, lo, hi = intervals("weibull", 40, 1)
    series = pd.Series(lo, index=np.arange(40) + 7), pd.Series(hi, index=np.arange(40) + 7)
    assert fit(None, "weibull", censored=series).params == fit(None, "weibull", censored=(lo, hi)).params
    with pytest.raises(ValueError, match="index"):
        fit(None, "weibull", censored=(series[0], series[1].sample(frac=1.0, random_state=1)))
    array = xr.DataArray(np.stack([x, x]), dims=("site", "year"), coords={"site": ["a", "b"]})
    found = fit_many(array, "gev", dim="year")
    assert found["shape"].sel(site="b").item() == fit(x, "gev").params["shape"]


def test_simulated_kernel():
    rng = np.random.default_rng(3)
    x = rng.weibull(1.5, (2, 12)) * 4.0
    ends = np.minimum(x, 5.0), np.where(x > 5.0, inf, x)
    there, here = (fit_many(None, "weibull", censored=ends, device=d) for d in ("cuda", "cpu"))
    np.testing.assert_array_equal(there.status, here.status)
    np.testing.assert_allclose(there.params, here.params, rtol=1e-7)
    np.testing.assert_allclose(there.se, here.se, rtol=1e-6)
    np.testing.assert_allclose(there.loglik, here.loglik, rtol=1e-12)


# --- what cannot be fitted ---------------------------------------------------------------------------------------


def failed(status, *args, **options):
    with pytest.warns(ns.ConvergenceWarning):
        found = fit(*args, **options)
    assert found.status == status and not found.converged and found.aic == inf and found.bic == inf, found.message
    return found


@pytest.mark.parametrize("family", PEERS)
def test_what_cannot_be_fitted(family):
    x = draws(family, 30, 16)
    failed(7, [nan, nan], family)
    failed(7, [], family)
    failed(4, x[:1], family)
    if family == "chi_squared":  # whose location and scale are known: equal values say what the shape is
        df = ns.distributions.fit(np.full(10, 0.5), family).params["df"]
        assert scipy.special.digamma(df / 2) == pytest.approx(np.log(0.5 / 2), rel=1e-9)
    else:
        failed(5, np.full(10, 0.5), family)
    failed(8, np.r_[x, inf], family)
    if family not in LOCATED:
        assert "support" in failed(6, np.r_[x, -1.0], family).message
    if family in CENSORED:
        failed(7, None, family, censored=(np.full(9, -inf), np.full(9, inf)))
        failed(6, x, family, truncated=(np.median(x), None))
        failed(3, None, family, censored=(x, np.full(30, inf)))  # all may be as large as one likes


def test_bad_input():
    x = draws("gamma", 20, 17)
    for options, words in (
        (dict(censored=(x + 1.0, x)), "above hi"),
        (dict(censored=(x, x[:5])), "must agree"),
        (dict(censored=(x + 0.5, x + 1.0)), "not between its ends"),
        (dict(truncated=(2.0, 1.0)), "below the second"),
        (dict(fixed={"loc": "a"}), "could not convert"),
        (dict(fixed={"place": 1.0}), "shape, loc, scale"),
    ):
        with pytest.raises(ValueError, match=words):
            fit(x, "gamma", **options)
    for family, options, words in (
        ("uniform", dict(truncated=(0.0, 50.0)), "without truncation"),
        ("laplace", dict(truncated=(0.0, 50.0)), "'loc'"),
        ("asymmetric_laplace", dict(censored=(x, x + 1.0)), "give loc a number"),
        ("nig", dict(truncated=(0.0, 50.0)), "without truncation"),
        ("truncnorm", {}, "'lower'"),
        ("beta", dict(fixed={"loc": None}), "ends of its support"),
    ):
        with pytest.raises(ValueError, match=words):
            fit(x, family, **options)
    with pytest.raises(TypeError, match="x is None"):
        fit(None, "gamma")
    with pytest.raises(TypeError, match="pair"):
        fit(x, "gamma", censored=x)
    with pytest.raises(ValueError, match="leave out censored="):
        fit(st.CensoredData(x), "gamma", censored=(x, x))


@pytest.mark.parametrize("family", ["gamma", "weibull"])
def test_weights_of_truncated_values(family):
    """They stay with their values where these are put in order."""
    rng = np.random.default_rng(20)
    x, w = draws(family, 60, 20), rng.integers(1, 5, 60)
    cut = 0.9 * x.min(), 1.1 * x.max()
    found, want = fit(x, family, weights=w, truncated=cut), fit(np.repeat(x, w), family, truncated=cut)
    assert found.loglik == pytest.approx(want.loglik, rel=1e-9) and found.params == pytest.approx(want.params, rel=1e-5)
