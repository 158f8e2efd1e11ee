"""Fits of distributions: against scipy.optimize on SciPy's densities, standard errors, batches, what cannot be fitted."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats as st

import numbastats as ns
from numbastats import distributions
from numbastats._core import kernel, launch
from numbastats._core.cuda_backend import cuda
from numbastats._core.errors import ConvergenceWarning
from numbastats.distributions import fit, fit_many, standardise
from tests.contract import same
from tests.distributions.objects import CASES

ESTIMATES = {family: case.estimates for family, case in CASES.items() if case.estimates}
FAMILIES = tuple(f for f, row in ESTIMATES.items() if row.truth)
HYPERBOLIC = tuple(f for f, row in ESTIMATES.items() if not row.truth)
POSITIVE_DATA = tuple(f for f, row in ESTIMATES.items() if row.positive)
POSITIVE = {"loc": False, "mu": False, "beta": False, "lam": False}


def draws(family, n, rng):
    return ESTIMATES[family].draws(rng, n)


def plain(family, x, w, found, fixed=()):
    """Largest log-likelihood of a simplex search from the fit itself and from points around it."""
    names = [n for n in found if n not in fixed]
    positive = [POSITIVE.get(n, True) for n in names]

    def loss(theta):
        values = dict(found) | {n: math.exp(t) if p else t for n, p, t in zip(names, positive, theta, strict=True)}
        with np.errstate(all="ignore"):
            value = -float(np.sum(w * ESTIMATES[family].log_density(x, *values.values())))
        return value if math.isfinite(value) else 1e12

    start = np.array([math.log(found[n]) if p else found[n] for n, p in zip(names, positive, strict=True)])
    rng, best = np.random.default_rng(5), loss(start)
    for scale in (0.02, 0.5):
        options = {"xatol": 1e-8, "fatol": 1e-11, "maxiter": 2000}
        moved = start + scale * rng.normal(size=start.size)
        best = min(best, scipy.optimize.minimize(loss, moved, method="Nelder-Mead", options=options).fun)
    return -loss(start), -best


@pytest.mark.parametrize("family", FAMILIES + HYPERBOLIC)
def test_likelihood_is_at_its_maximum(family):
    """With and without weights: the log-likelihood is SciPy's, and a simplex search finds nothing higher."""
    rng = np.random.default_rng(11)
    x = draws(family, 300, rng)
    w = rng.uniform(0.0, 2.0, 300)
    w *= 310.0 / w.sum()
    for weights in (None, w):
        found = fit(x, family, weights=weights)
        assert found.converged and found.message == "converged"
        at, best = plain(family, x, 1.0 if weights is None else w, found.params)
        assert found.loglik == pytest.approx(at, rel=1e-11)  # observed 1e-13
        assert found.loglik > best - 1e-6
        assert found.aic == pytest.approx(2 * len(found.params) - 2 * at)
        assert found.bic == pytest.approx(len(found.params) * math.log(300 if weights is None else w.sum()) - 2 * at)
        assert found.n_obs == pytest.approx(300 if weights is None else w.sum())


@pytest.mark.parametrize("family", FAMILIES + HYPERBOLIC)
def test_fixed_parameters(family):
    x = draws(family, 200, np.random.default_rng(12))
    free = fit(x, family)
    for name, value in free.params.items():
        value *= 1.1
        found = fit(x, family, fixed={name: value})
        at, best = plain(family, x, 1.0, found.params, fixed=(name,))
        assert found.params[name] == value and found.se[name] == 0.0, name
        assert found.loglik == pytest.approx(at, rel=1e-11), name
        assert best - 1e-6 < found.loglik <= free.loglik, name
    every = fit(x, family, fixed=free.params)
    assert (
        every.params == free.params and every.loglik == pytest.approx(free.loglik, rel=1e-12) and every.aic == -2 * every.loglik
    )


@pytest.mark.parametrize("family", FAMILIES + HYPERBOLIC)
def test_covariance_is_the_inverse_of_the_observed_information(family):
    x = draws(family, 500, np.random.default_rng(13))
    found = fit(x, family)
    p = np.array(list(found.params.values()))
    h = 3e-4 * np.maximum(np.abs(p), 0.1)  # of 1e-4, rounding in SciPy's densities made differences of 2e-5
    E, hess = np.diag(h), np.empty((p.size, p.size))
    for i in range(p.size):
        for j in range(p.size):
            four = [ESTIMATES[family].log_density(x, *(p + a * E[i] + b * E[j])).sum() * a * b for a in (1, -1) for b in (1, -1)]
            hess[i, j] = sum(four) / (4 * h[i] * h[j])
    unit = 1.0 / np.sqrt(np.diag(-hess))
    np.testing.assert_allclose(np.linalg.inv(found.covariance) * np.outer(unit, unit), -hess * np.outer(unit, unit), atol=1e-5)
    if family == "generalized_hyperbolic":
        return  # an inverse of few digits
    want = np.linalg.inv(-hess)
    scale = np.sqrt(np.diag(want))
    np.testing.assert_allclose(found.covariance / np.outer(scale, scale), want / np.outer(scale, scale), atol=2e-4)
    np.testing.assert_allclose(list(found.se.values()), scale, rtol=1e-4)  # observed 2e-6


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_cover(family):
    """95 % intervals of 2000 series of 200 values."""
    found = fit_many(draws(family, (2000, 200), np.random.default_rng(14)), family)
    assert found.converged.mean() > 0.99
    ok = found.converged & np.isfinite(found.se).all(axis=-1)
    share = (np.abs(found.params - ESTIMATES[family].truth) < 1.96 * found.se)[ok].mean(axis=0)
    assert (share > 0.9).all() and (share < 0.97).all(), share


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
@pytest.mark.parametrize("family", FAMILIES + HYPERBOLIC)
def test_twins_agree(family, monkeypatch):
    monkeypatch.setattr(launch, "PARALLEL_FROM", 0)
    rng = np.random.default_rng(15)
    x = draws(family, (5, 23 if family in FAMILIES else 150), rng)
    x[0, 3] = np.nan
    for weights in (None, rng.uniform(0.5, 2.0, x.shape)):
        serial = fit_many(x, family, weights=weights, device="cpu", workers=1)
        threads = fit_many(x, family, weights=weights, device="cpu", workers=2)
        simulated = fit_many(x, family, weights=weights, device="cuda")
        for name in ("params", "se", "loglik", "n_obs", "zeros", "status"):
            assert same(getattr(serial, name), getattr(threads, name))
        assert (serial.status == simulated.status).all()
        ok = serial.converged if family in HYPERBOLIC else np.ones(5, bool)  # climbs to a boundary end where they are close to it
        assert ok.sum() >= 2
        np.testing.assert_allclose(serial.loglik[ok], simulated.loglik[ok], rtol=1e-12)
        np.testing.assert_allclose(serial.params[ok], simulated.params[ok], rtol=2e-4)  # few values: flat likelihoods
        one = fit(x[1], family, weights=None if weights is None else weights[1])
        np.testing.assert_array_equal(list(one.params.values()), serial.params[1])


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
def test_shapes_missing_values_and_ragged_data(monkeypatch):
    monkeypatch.setattr(distributions.fitting, "_SLAB", 100)
    rng = np.random.default_rng(16)
    x = rng.gamma(2.0, 3.0, (4, 30, 3))
    found = fit_many(x, "gamma", axis=1)
    assert found.params.shape == (4, 3, 2) and found.covariance.shape == (4, 3, 2, 2) and found["shape"].shape == (4, 3)
    np.testing.assert_array_equal(found["scale"][2, 1], fit(x[2, :, 1], "gamma").params["scale"])
    np.testing.assert_array_equal(found.params, fit_many(np.moveaxis(x, 1, -1), "gamma").params)
    gaps = x.copy()
    gaps[:, ::3] = np.nan
    kept = np.delete(x, np.arange(0, 30, 3), axis=1)
    np.testing.assert_array_equal(fit_many(gaps, "gamma", axis=1).params, fit_many(kept, "gamma", axis=1).params)
    ragged = fit_many({"a": x[0, :, 0], "b": x[1, :20, 0]}, "gamma")
    assert ragged.keys == ("a", "b") and ragged.one("b").params == fit(x[1, :20, 0], "gamma").params
    assert ragged.one(0).params == ragged.one("a").params
    assert fit_many([x[0, :, 0], x[1, :20, 0]], "gamma").params.tolist() == ragged.params.tolist()
    assert fit_many(np.zeros((0, 10)), "gamma").params.shape == (0, 2) and fit_many([], "normal").params.shape[-1] == 2
    np.testing.assert_allclose(fit_many(x.astype(np.float32), "gamma", axis=1).params, found.params, rtol=1e-5)
    untouched = x.copy()
    fit_many(x, "weibull", axis=2)
    np.testing.assert_array_equal(x, untouched)


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
@pytest.mark.parametrize("family", FAMILIES + HYPERBOLIC)
def test_series_that_cannot_be_fitted(family):
    x = draws(family, (7, 20), np.random.default_rng(17))
    x[1] = np.nan
    x[2, 1:] = np.nan
    x[3] = 0.25
    x[4, 5] = np.inf
    x[5, 7] = -1.0
    found = fit_many(x, family)
    outside = family in POSITIVE_DATA
    assert found.status[1:5].tolist() == [7, 4, 5, 8] and (found.status[5] == 6) == outside
    assert not found.converged[1:5].any() and np.isnan(found.params[1:5]).all() and np.isnan(found.se[1:5]).all()
    at_pole = found.status[[0, 6]] == ns.Status.POLE
    assert (np.isnan(found.params[[0, 6]]).any(axis=-1) == at_pole).all() and not at_pole[1]
    assert not at_pole[0] or family == "generalized_hyperbolic"
    assert found.messages[1] == "all values are missing, or of weight 0" and found.one(3).message == "all values are equal"
    assert "above 0, the support of" in found.messages[5] and "-1 at index 7" in found.messages[5] or not outside


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
def test_zeros_have_a_share():
    rng = np.random.default_rng(18)
    x = rng.gamma(2.0, 3.0, 50)
    with_zeros = np.concatenate([np.zeros(12), x, [np.nan]])
    found = fit(with_zeros, "gamma", zeros="share")
    assert found.zeros == pytest.approx(12 / 62) and found.params == fit(x, "gamma").params and found.n_obs == 50
    assert fit(with_zeros, "gamma").status == 6
    assert fit(np.zeros(10), "gamma", zeros="share").zeros == 1.0


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
def test_student_limits():
    light = np.random.default_rng(19).uniform(-1.0, 1.0, 500)
    found = fit(light, "student_t")
    assert found.params["df"] == math.inf and found.converged and "normal" in found.message
    assert found.params["loc"] == pytest.approx(light.mean()) and found.params["scale"] == pytest.approx(light.std())
    assert math.isnan(found.se["df"]) and found.se["loc"] == pytest.approx(light.std() / math.sqrt(500))
    ties = np.concatenate([np.zeros(400), light[:100]])
    found = fit(ties, "student_t")
    assert not found.converged and "boundary" in found.message and math.isnan(found.se["scale"])
    heavy = np.random.default_rng(20).standard_t(0.6, 800)
    assert fit(heavy, "student_t").loglik >= st.t.logpdf(heavy, *st.t.fit(heavy)).sum() - 1e-6
    for shift, unit in ((1e6, 1.0), (0.0, 1e-8), (0.0, 1e8)):
        moved = fit(shift + unit * heavy, "student_t").params
        assert moved["df"] == pytest.approx(fit(heavy, "student_t").params["df"], rel=1e-4)


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
def test_limits_of_hyperbolic_distributions():
    rng = np.random.default_rng(21)
    found = fit(rng.laplace(size=600), "hyperbolic")
    assert found.status == 2 and found.limit == "asymmetric_laplace" and found.params["delta"] == 0.0
    x = rng.uniform(size=300)
    found = fit(x, "nig")  # inverse Gaussian from -2.3 on, 1.4 likelier than the normal distribution
    assert found.converged and found.status == 2 and found.limit == "inverse_gaussian" and "inverse-gaussian" in found.message
    assert found.loglik > fit(x, "normal").loglik + 1.0


def test_gamma_with_little_spread_and_small_shapes():
    rng = np.random.default_rng(22)
    x = 1.0 + 1e-6 * rng.normal(size=100)
    v = np.mean(((x - x.mean()) / x.mean()) ** 2)
    assert fit(x, "gamma").params["shape"] == pytest.approx(1.0 / v, rel=1e-5)
    small = rng.gamma(0.05, 1.0, 400)
    found = fit(small, "gamma").params["shape"]
    d = math.log(small.mean()) - np.log(small).mean()
    assert math.log(found) - scipy.special.digamma(found) == pytest.approx(d, rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_standardise(family):
    rng = np.random.default_rng(23)
    x = draws(family, (3, 60), rng)
    x[1, 4] = np.nan
    cdf = ESTIMATES[family].cdf
    zeros = "share" if family in POSITIVE_DATA else None
    if zeros:
        x[2, :9] = 0.0
    z = standardise(x, family, zeros=zeros)
    assert z.shape == x.shape and np.isnan(z[1, 4]) and np.isnan(z).sum() == 1
    found = fit_many(x, family, zeros=zeros)
    for i in range(3):
        q = found.zeros[i] if zeros else 0.0
        keep = ~np.isnan(x[i])
        want = st.norm.ppf(q + (1 - q) * np.where((x[i] == 0) & bool(zeros), 0.0, cdf(x[i], *found.params[i])))
        np.testing.assert_allclose(z[i][keep], want[keep], atol=1e-9)
    np.testing.assert_array_equal(standardise(x.T, family, axis=0, zeros=zeros), z.T)


def test_labels_of_standardised_series():
    xarray = pytest.importorskip("xarray")
    rain = xarray.DataArray(np.random.default_rng(29).gamma(2.0, 3.0, (40, 3)), dims=("year", "place"), name="rain")
    z = standardise(rain, axis=0)
    assert z.dims == rain.dims and z.name == "rain"
    np.testing.assert_array_equal(z.to_numpy(), standardise(rain.to_numpy(), axis=0))
    np.testing.assert_array_equal(z, standardise(rain, dim="year"))
    with pytest.raises(TypeError, match="dim='year'"):
        standardise(rain, axis="year")


@pytest.mark.parametrize("name", ["fit_many", "standardise", "Normal.fit", "Stable.fit"])
def test_arrays_of_xarray_say_along_what_they_are_fitted(name):
    xarray = pytest.importorskip("xarray")
    stable_options = {"method": "quantile"} if name == "Stable.fit" else {}
    call = {
        "fit_many": lambda x, **o: fit_many(x, "normal", **o).params,
        "standardise": lambda x, **o: standardise(x, "normal", zeros=None, **o),
        "Normal.fit": lambda x, **o: distributions.Normal.fit(x, **o).loc,
        "Stable.fit": lambda x, **o: distributions.Stable.fit(x, **o, **stable_options).loc,
    }[name]
    values = np.random.default_rng(30).normal(size=(40, 3, 12))
    field = xarray.DataArray(values, dims=("time", "lat", "lon"))
    with pytest.raises(ValueError, match=r"is a DataArray with the dimensions \('time', 'lat', 'lon'\): pass dim="):
        call(field)
    want = call(values, axis=0)
    np.testing.assert_array_equal(call(field, dim="time"), want)
    np.testing.assert_array_equal(call(field, axis=0), want)
    np.testing.assert_array_equal(call(field[:, 0, 0]), call(values[:, 0, 0]))
    with pytest.raises(ValueError, match="dim='year' is not a dimension of"):
        call(field, dim="year")
    with pytest.raises(ValueError, match="axis=0 and dim='time' both"):
        call(field, axis=0, dim="time")
    with pytest.raises(TypeError, match="dim='time' is for an xarray.DataArray"):
        call(values, dim="time")
    with pytest.raises(TypeError, match="is a Dataset; pass one of its variables, 'rain'"):
        call(xarray.Dataset({"rain": field}), dim="time")


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
def test_batches_say_why_series_failed():
    x = np.random.default_rng(31).gamma(2.0, 3.0, (6, 50))
    x[1:4, 3] = 0.0
    x[4] = 1.0
    found = fit_many(dict(zip("abcdef", x, strict=True)), "gamma")
    head, constant, zeros, _titles, *rows = repr(found).splitlines()
    assert head.endswith("6 series of shape (6,), 2 converged") and len(rows) == 6
    assert constant == f"  1 series: {found.message('e')}" and found.message("e") == "all values are equal"
    assert zeros.startswith("  3 series: values outside the support") and 'zeros="share"' in zeros
    assert found.message(1) == found.message("b") == found.one("b").message == found.messages[1]
    assert found.summary()["status"].tolist() == [0, 6, 6, 6, 5, 0]
    assert "<br>" in found._repr_html_()
    assert len(repr(fit_many(x[:1], "gamma")).splitlines()) == 3
    with pytest.raises(IndexError, match="not the index of one series"):
        fit_many(x.reshape(2, 3, 50), "gamma").message(0)


@pytest.mark.filterwarnings("ignore:the weights.* add up:UserWarning")
def test_number_and_weight_of_values():
    rng = np.random.default_rng(32)
    x = np.concatenate([rng.gamma(2.0, 3.0, 3999), [np.nan, 0.0, 5.0]])
    w = np.full(x.size, 100.0 / 3999)
    w[-1] = 0.0
    found = fit(x, "gamma", weights=w, zeros="share")
    assert found.n_values == 3999 and found.n_obs == pytest.approx(100.0)
    assert "3999 values of total weight 100, 1 missing, log-likelihood" in repr(found)
    plain = fit(x, "gamma", zeros="share")
    assert plain.n_values == plain.n_obs == 4000 and "4000 values, 1 missing, log-likelihood" in repr(plain)
    many = fit_many(np.stack([x, x[::-1]]), "gamma", weights=np.stack([w, w[::-1]]), zeros="share")
    assert many.n_values.tolist() == [3999, 3999] and many.n_values.dtype.kind == "i"


def test_bad_input():
    x = np.random.default_rng(24).gamma(2.0, 1.0, (30, 4))
    for bad, message in (
        (dict(family="cauchi"), "family='cauchi'"),
        (dict(fixed={"location": 0.0}), "shape, loc, scale"),
        (dict(fixed={"scale": -1.0}), "> 0"),
        (dict(zeros="drop"), "zeros='drop'"),
        (dict(weights=-np.ones(30)), ">= 0"),
        (dict(weights=np.ones(7)), r"\(7,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(x[:, 0], **{"family": "gamma"} | bad)
    with pytest.raises(ValueError, match="fit_many"):
        fit(x, "gamma")
    with pytest.raises(ValueError, match=r"\(30, 2\).*axis=0"):
        fit_many(x[:, :2], "gamma")
    with pytest.raises(ValueError, match="axis=2"):
        fit_many(x, "gamma", axis=2)
    hidden = np.ma.array(x, mask=x > np.sort(x, axis=0)[-2])  # refused before
    found, want = fit_many(hidden, "gamma", axis=0), fit_many(np.where(hidden.mask, np.nan, x), "gamma", axis=0)
    np.testing.assert_array_equal(found.params, want.params)
    assert found.n_missing.tolist() == want.n_missing.tolist() == [1] * x.shape[1]
    with pytest.raises(TypeError, match="astype"):
        fit_many(x.astype(complex), "gamma")
    with pytest.raises(ValueError, match="one-dimensional"):
        fit_many([x, x[0]], "gamma")
    with pytest.raises(ValueError, match="alpha"):
        fit(x[:, 0], "nig", fixed={"alpha": 1.0, "beta": 2.0})
    with pytest.raises(ValueError, match="cdf"):
        standardise(x, "nig", axis=0)
    with pytest.raises(IndexError, match="shape"):
        fit_many(x.reshape(2, 15, 4), "gamma", axis=1).one(0)
    with pytest.raises(ValueError, match="workers"):
        fit_many(x, "gamma", axis=0, workers=0)


def test_frames_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(1).gamma(2.0, 1.0, (30, 4)), columns=list("abcd"))
    with pytest.raises(TypeError, match=r"shape \(30, 4\).*axis=0.*by='key'"):
        fit_many(frame, "normal")
    with pytest.raises(
        TypeError, match=r"x is a frame of shape \(30, 4\).*axis=0 \(4 series of 30 values, one a column\) or axis=1$"
    ):
        standardise(frame)
    np.testing.assert_array_equal(fit_many(frame, "gamma", axis=0).params, fit_many(frame.to_numpy(), "gamma", axis=0).params)
    scores = standardise(frame, axis=0)
    assert list(scores.columns) == list("abcd")
    np.testing.assert_array_equal(scores["b"], standardise(frame["b"]))


@pytest.mark.slow
def test_thirty_starts():
    """The log-likelihoods of simplex searches from 30 starts on simulated returns with clusters of volatility."""
    rng = np.random.default_rng(25)
    v, x = 1.0, np.empty(800)
    for i in range(800):
        x[i] = math.sqrt(v) * rng.normal()
        v = 0.02 + 0.1 * x[i] ** 2 + 0.88 * v
    for family in ("student_t", "nig"):
        found = fit(x, family)
        best = -math.inf
        for _ in range(30):
            theta = rng.normal(size=len(found.params))

            def loss(t, family=family):
                if family == "student_t":
                    p = (math.exp(t[0]), t[1], math.exp(t[2]))
                else:
                    a = math.exp(t[0])
                    p = (a, a * math.tanh(t[1]), math.exp(t[2]), t[3])
                with np.errstate(all="ignore"):
                    value = -ESTIMATES[family].log_density(x, *p).sum()
                return value if math.isfinite(value) else 1e12

            best = max(best, -scipy.optimize.minimize(loss, theta, method="Nelder-Mead", options={"maxiter": 150}).fun)
        assert found.loglik >= best - 1e-8


def _hard(name):
    """Simulated data that are hard to fit, and growth rates of economies (statsmodels)."""
    if name.startswith("macro"):
        table = pytest.importorskip("statsmodels.api").datasets.macrodata.load_pandas().data
        return np.diff(np.log(table[name[6:]].to_numpy()))
    rng = np.random.default_rng(26)
    return {
        "cusp": lambda: 0.3 * (g := rng.gamma(0.8, 1.0, 250)) + np.sqrt(g) * rng.normal(size=250),
        "heavy": lambda: rng.standard_t(2.0, 250),
        "skew": lambda: st.norminvgauss.rvs(0.5, 0.45, size=250, random_state=rng),
        "rounded": lambda: np.round(rng.standard_t(3.0, 250), 1),
    }[name]()


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the fits that fail here
def test_variance_gamma_next_to_its_poles():
    """A maximum inside; at lam = 0.51 a likelier point, by one value only, whose density has no bound as lam falls to 1/2."""
    x = distributions.NIG(1.0, 0.97, 1.0).rvs(150, rng=40)
    found = fit(x, "variance_gamma")
    assert found.status == 0 and 0.6 < found.params["lam"] < 0.62
    mu = min(x, key=lambda v: abs(v - 0.45709))
    parts = []
    for lam in (0.51, 0.501, 0.5001):
        edge = fit(x, "variance_gamma", fixed={"lam": lam, "mu": mu})
        own = ns.distributions.variance_gamma.logpdf(mu, *edge.params.values())
        parts.append((edge.loglik, edge.loglik - own))
    inside = found.distribution.logpdf(x)
    assert parts[0][0] > found.loglik + 1.5 and parts[0][1] < inside.sum() - inside.max()
    np.testing.assert_allclose(np.diff([p[0] for p in parts]), np.log(10.0), atol=0.1)  # observed 2.21, 2.29


@pytest.mark.parametrize("at_a_value", [True, False])
def test_variance_gamma_says_why_it_has_no_standard_errors(at_a_value):
    """Where mu is held there are errors of the others: the inverse of the observed information by differences."""
    rng = np.random.default_rng(33)
    g = rng.gamma(1.0 if at_a_value else 1.25, 1.0, 1000)
    x = 0.2 * g + np.sqrt(g) * rng.normal(size=1000)
    found = fit(x, "variance_gamma")
    assert found.converged and found.params["lam"] < 1.5 and np.isnan(list(found.se.values())).all()
    assert "second derivatives" in found.message and "fixed=" in found.message and found.message in repr(found)
    batch = fit_many(np.stack([x, 2.0 * x]), "variance_gamma")
    assert "2 series: converged; no standard errors" in repr(batch) and batch.message(1) == found.message
    mu = min(x, key=abs) if at_a_value else 0.5 * (min(x[x > 0]) + max(x[x < 0]))
    known = fit(x, "variance_gamma", fixed={"mu": mu})
    assert known.message == "converged" and known.se["mu"] == 0.0
    p, names = known.params, ("lam", "alpha", "beta")
    h = 1e-4
    away = np.where(x == mu, np.nan, x)

    def loglik(*steps):
        moved = p | {name: p[name] + s for name, s in zip(names, steps, strict=True)}
        own = 0.0
        if at_a_value:  # the limit of the density at mu
            lam, a, b = (moved[name] for name in names)
            own = 2 * lam * math.log(math.sqrt(a * a - b * b)) + math.lgamma(lam - 0.5) - math.lgamma(lam)
            own -= (2 * lam - 1) * math.log(a) + math.log(2.0) + 0.5 * math.log(math.pi)
        return np.nansum(ESTIMATES["variance_gamma"].log_density(away, *moved.values())) + own

    assert known.loglik == pytest.approx(loglik(0.0, 0.0, 0.0), rel=1e-10)
    E = h * np.eye(3)
    hess = [[sum(a * b * loglik(*(a * u + b * v)) for a in (1, -1) for b in (1, -1)) / (4 * h * h) for v in E] for u in E]
    want = np.sqrt(np.diag(np.linalg.inv(-np.array(hess))))
    np.testing.assert_allclose([known.se[name] for name in names], want, rtol=1e-4)


def test_information_that_is_not_positive_definite_is_said(monkeypatch):
    finish = distributions.limits.finish
    monkeypatch.setattr(distributions.limits, "finish", lambda info, *rest: finish(np.full(info.shape, np.nan), *rest))
    found = fit_many(np.random.default_rng(34).gamma(2.0, 3.0, (2, 50)), "gamma")
    assert found.converged.all() and "2 series: converged; no standard errors: the observed information is not" in repr(found)
    assert found.one(0).message == found.message(0) == found.messages[0]


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # some likelihoods have no maximum: the status says so
@pytest.mark.slow
@pytest.mark.parametrize("name", ["cusp", "heavy", "skew", "rounded", "macro realcons", "macro realinv", "macro m1"])
@pytest.mark.parametrize("family", HYPERBOLIC)
def test_thirty_starts_of_hyperbolic_distributions(family, name):
    """A converged fit is at least as likely as what simplex searches from 30 starts find (variance gamma: lam >= 0.51)."""
    x = _hard(name)
    found = fit(x, family)
    y = (x - np.median(x)) / (unit := x.std())
    rng, best = np.random.default_rng(27), -math.inf

    def parameters(t):
        a = math.exp(min(t[0], 9.0))
        rest = (a, a * math.tanh(t[1]), *(() if family == "variance_gamma" else (math.exp(max(t[3], -9.0)),)), t[2])
        if family == "variance_gamma":
            return (0.51 + math.exp(min(t[3], 9.0)), *rest)
        return (t[4], *rest) if family == "generalized_hyperbolic" else rest

    def loss(t):
        with np.errstate(all="ignore"):
            value = -ESTIMATES[family].log_density(y, *parameters(t)).sum()
        return value if math.isfinite(value) else 1e12

    for _ in range(30):
        start = rng.normal(size=5 if family == "generalized_hyperbolic" else 4)
        best = max(best, -scipy.optimize.minimize(loss, start, method="Nelder-Mead", options={"maxiter": 200}).fun)
    assert found.loglik >= best - x.size * math.log(unit) - 1e-6 or not found.converged
    assert found.converged or found.status in (2, 3)


def test_classes_fit_themselves():
    rng = np.random.default_rng(4)
    x = rng.gamma(2.0, 3.0, size=(3, 5, 60))
    one = ns.distributions.Gamma.fit(x[1, 2])
    shape, _, scale = st.gamma.fit(x[1, 2], floc=0)
    assert one.shape == pytest.approx(shape, rel=1e-6) and one.scale == pytest.approx(scale, rel=1e-6)
    batch = ns.distributions.Gamma.fit(x)
    assert fit_many(x, "gamma").distribution == batch
    assert batch.batch_shape == (3, 5) and batch.shape[1, 2] == one.shape and batch.sf(10.0).shape == (3, 5)
    assert ns.distributions.Normal.fit(x, axis=0).batch_shape == (5, 60)
    found = ns.distributions.fit(x[0, 0], "weibull")
    assert found.distribution == ns.distributions.Weibull.fit(x[0, 0]) and found.distribution.shape == found.params["shape"]
    for cls in (ns.distributions.Lognormal, ns.distributions.InverseGaussian):
        want = ns.distributions.fit(x[0, 0], cls.family).params
        assert {name: getattr(cls.fit(x[0, 0]).params, name) for name in want} == want


def test_limits_and_failures_of_classes():
    limit = ns.distributions.StudentT.fit(np.random.default_rng(1).uniform(size=60))
    normal = ns.distributions.Normal(limit.loc, limit.scale)
    assert limit.df == 1e100 and limit.sf(3.0) == pytest.approx(normal.sf(3.0), rel=1e-13)
    with pytest.warns(
        ns.ConvergenceWarning, match="1 of 2 fits ended without a maximum, the first: 1 of .* values is not above 0"
    ) as said:
        batch = ns.distributions.Gamma.fit([[1.0, -2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 5.0]])
    assert np.isnan(batch.shape[0]) and np.isfinite(batch.sf(1.0)[1]) and said[0].filename == __file__
    pole = np.r_[np.ones(30), 2.0, 3.0]  # the likelihood has no bound
    with pytest.warns(ns.ConvergenceWarning, match="1 of 2 fits"):
        batch = ns.distributions.StudentT.fit(np.stack([pole, np.random.default_rng(1).standard_t(3.0, 32)]))
    assert np.isfinite(batch.sf(1.0)[1])
    assert ns.distributions.ChiSquared.fit([0.1, 0.2, 0.3]).scale == 1.0


def test_stable_distributions_fit_by_their_own_functions():
    x = ns.stable.rvs(1.6, 0.2, size=(2, 300), rng=1)
    batch = ns.distributions.Stable.fit(x, param="S1")
    assert batch.alpha.tolist() == ns.stable.fit_many(x, param="S1").params[:, 0].tolist() and batch.param == "S1"
    assert ns.distributions.Stable.fit(x[0]).alpha == ns.stable.fit(x[0]).params[0]
    with pytest.warns(ns.ConvergenceWarning, match="1 of 2 fits ended without a maximum, the first: .*no spread"):
        ns.distributions.Stable.fit(np.stack([np.zeros(20), x[0, :20]]), method="quantile")


# --- answers that were wrong in silence


@pytest.mark.parametrize(
    ("x", "family", "status"),
    [
        ([], "gamma", 7),
        ([1.0, 2.0, 0.0], "gamma", 6),
        ([1.0, math.inf, 3.0], "normal", 8),
        ([2.0], "normal", 4),
        ([2.0, 2.0, 2.0], "weibull", 5),
    ],
)
def test_a_fit_without_a_maximum_warns_and_is_never_the_best(x, family, status):
    """``min(bic, key=bic.get)`` took a failed fit, whose criterion was NaN."""
    with pytest.warns(ns.ConvergenceWarning, match="the fit ended without a maximum: ") as said:
        found = fit(x, family)
    assert found.status == status and found.aic == found.bic == math.inf and len(said) == 1 and said[0].filename == __file__
    assert min(found.bic, fit([1.0, 2.0, 4.0], family).bic) < math.inf


def test_a_batch_warns_once_and_not_of_empty_series():
    x = np.random.default_rng(41).gamma(2.0, 3.0, (4, 30))
    x[0] = np.nan  # as of cells in the sea
    fit_many(x, "gamma")
    x[1:3, 0] = -1.0
    for call in (fit_many, standardise):
        with pytest.warns(
            ns.ConvergenceWarning, match="2 of 4 fits ended without a maximum, the first: 1 of 30 values is not above 0"
        ) as said:
            call(x, "gamma")
        assert len(said) == 1
    with pytest.warns(ns.ConvergenceWarning, match="all values are missing"):
        fit_many(x[:1], "gamma")


def test_ties_end_in_a_bounded_answer():
    """A third of days without trade: the quantile at 1 % was -4e18."""
    rng = np.random.default_rng(0)
    x = rng.standard_t(4, 1000) * 0.01
    zero = rng.random(1000) < 0.35
    x[zero] = 0.0
    with pytest.warns(ns.ConvergenceWarning, match="pole at repeated"):
        found = fit(x, "student_t")
    share = zero.mean()
    assert found.status == 3 and found.params["df"] == pytest.approx(1.25 * share / (1 - share)) and found.bic == math.inf
    assert -1.0 < found.distribution.ppf(0.01) < -0.01 and found.loglik == pytest.approx(
        st.t.logpdf(x, *found.params.values()).sum()
    )
    with pytest.warns(ns.ConvergenceWarning):
        assert math.isfinite(fit(np.r_[np.zeros(99), 1.0], "student_t").loglik)
    few = rng.standard_t(4, 1000) * 0.01
    few[:100] = 0.0
    assert fit(few, "student_t").status == 0


@pytest.mark.parametrize("sizes", [(300, 150), (300, 200), (300, 30), (100, 100), (12, 6), (20, 10), (60, 40)])
def test_values_on_one_side_of_a_cluster(sizes):
    """The fit was the normal limit, up to 960 units below heavy tails around the cluster."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(10.0, 0.1, sizes[0]), rng.uniform(0.0, 5.0, sizes[1])]
    found = fit(x, "student_t")
    assert found.status == 0 and found.params["loc"] == pytest.approx(10.0, abs=0.1)
    starts = [(df, loc, s) for df in (0.3, 1.0, 5.0) for loc in (10.0, np.median(x)) for s in (0.05, 0.5)]
    best = max(
        -scipy.optimize.minimize(
            lambda p: -st.t.logpdf(x, math.exp(p[0]), p[1], math.exp(p[2])).sum(),
            (math.log(df), loc, math.log(s)),
            method="Nelder-Mead",
            options=dict(maxiter=4000, xatol=1e-8, fatol=1e-8),
        ).fun
        for df, loc, s in starts
    )
    assert found.loglik >= best - 1e-6
    small = fit([0.0, 1.0, 10.0, 10.1, 10.2, 10.05], "student_t")
    assert small.loglik == pytest.approx(-10.147270883921934, abs=1e-8) and small.params["df"] == pytest.approx(0.34896, abs=1e-4)


@pytest.mark.filterwarnings("ignore:the weights.* add up:UserWarning", "ignore::numbastats.ConvergenceWarning")
@pytest.mark.parametrize("family", FAMILIES + HYPERBOLIC)
def test_the_unit_of_weights_does_not_matter(family):
    x = draws(family, (60,), np.random.default_rng(42))
    w = np.random.default_rng(43).uniform(0.5, 2.0, 60)
    want = fit(x, family, weights=w)
    for unit in (1e-300, 1e-12, 1.0 / 60, 1e10):
        found = fit(x, family, weights=unit * w)
        assert found.status == want.status
        if want.status == 2:  # of a limit, along which the likelihood is flat
            assert found.loglik / unit == pytest.approx(want.loglik, rel=1e-6)
            continue
        np.testing.assert_allclose(list(found.params.values()), list(want.params.values()), rtol=1e-6)
        assert found.loglik / unit == pytest.approx(want.loglik, rel=1e-11) and found.n_obs / unit == pytest.approx(w.sum())
        scale = math.sqrt(unit)
        np.testing.assert_allclose(scale * np.array(list(found.se.values())), list(want.se.values()), rtol=1e-4)


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
@pytest.mark.parametrize(
    ("family", "seeds"), [("generalized_hyperbolic", (1002, 1007, 1018)), ("hyperbolic", (1001, 1004, 1010))]
)
def test_a_boundary_is_the_same_point_in_all_units_and_orders(family, seeds):
    """Climbs ended where they first came near to it: log-likelihoods were 1e-6 apart. It is a limit or a pole."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        x, w = draws(family if seed < 1015 else "normal", (60,), rng), rng.uniform(0.5, 2.0, 60)
        want, order = fit(x, family, weights=w), rng.permutation(60)
        assert want.status in (2, 3, 10)
        others = [(unit * x, w, unit, 1.0) for unit in (0.3, 7.0, 1e-3)] + [(x, unit * w, 1.0, unit) for unit in (3.0, 7.0, 1e3)]
        for y, v, unit, weight in [*others, (x[order], w[order], 1.0, 1.0)]:
            found = fit(y, family, weights=v)
            assert found.status == want.status and found.limit == want.limit
            height = found.loglik / weight + w.sum() * math.log(unit)
            assert height == pytest.approx(want.loglik, abs=1e-9, nan_ok=True)  # observed 1e-11
            assert found.params["mu"] / unit == pytest.approx(want.params["mu"], rel=1e-6, nan_ok=True)


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
@pytest.mark.parametrize("family", FAMILIES + HYPERBOLIC)
def test_weights_are_repetitions_and_no_weight_is_no_value(family):
    rng = np.random.default_rng(44)
    for n in (5, 9, 40):
        x, k = draws(family, (n,), rng), rng.integers(0, 4, n)
        a, b = fit(x, family, weights=k * 1.0), fit(np.repeat(x, k), family)
        assert a.status == b.status and a.n_obs == b.n_obs
        assert a.loglik == pytest.approx(b.loglik, abs=1e-6 if a.status == 0 else 1e-3, nan_ok=True)  # limits are flat


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
@pytest.mark.parametrize("family", FAMILIES + HYPERBOLIC)
def test_scaled_shifted_and_mirrored_data(family):
    """Of as many values as tell the parameters."""
    x = draws(family, (300,), np.random.default_rng(48))
    want = fit(x, family)
    assert want.status == 0
    if family != "beta":
        for unit in (1e-6, 3.0, 1e6):
            assert fit(unit * x, family).loglik + 300 * math.log(unit) == pytest.approx(want.loglik, abs=1e-5)
    if family not in POSITIVE_DATA:
        for moved in (x + 100.0, -x):
            assert fit(moved, family).loglik == pytest.approx(want.loglik, abs=1e-5)


def test_weights_that_are_shares_are_said_to_be_counts():
    x = np.random.default_rng(45).gamma(2.0, 3.0, 50)
    with pytest.warns(UserWarning, match=r"the weights add up to 1 for 50 values: they count observations.*weights \* 50"):
        found = fit(x, "gamma", weights=np.full(50, 0.02))
    plain = fit(x, "gamma")
    assert found.loglik == pytest.approx(plain.loglik / 50) and found.se["scale"] == pytest.approx(plain.se["scale"] * 50**0.5)
    fit(x, "gamma", weights=np.full(50, 1.5))
    with pytest.warns(UserWarning, match="the weights of series 0 add up to 1 for 50 values"):
        fit_many(np.stack([x, x]), "gamma", weights=[[0.02], [3.0]])


@pytest.mark.parametrize("family", ["normal", "student_t"])
def test_values_whose_squares_are_no_doubles(family):
    """The scale was infinite, or the start, with status 0."""
    x = np.random.default_rng(46).standard_t(3, 50)
    for unit in (1e160, 1e-170):
        with pytest.warns(ns.ConvergenceWarning, match="divide them by a unit"):
            assert fit(unit * x, family).status == 8
    want = fit(x, family).params
    assert fit(1e140 * x, family).params["scale"] == pytest.approx(1e140 * want["scale"], rel=1e-6)


def test_zeros_of_two_sided_families_are_values():
    """A share of zeros has a place below all values of positive families alone."""
    x = np.array([-3.0, -1.0, 0.0, 0.0, 1.0, 3.0])
    np.testing.assert_allclose(standardise(x, "normal"), (x - x.mean()) / x.std(), atol=1e-12)
    for zeros in ("share", "centre"):
        with pytest.raises(ValueError, match=f"zeros='{zeros}' is for families of positive values; of normal"):
            standardise(x, "normal", zeros=zeros)


def test_scores_where_tails_underflow():
    x = np.r_[np.random.default_rng(47).normal(size=400), 60.0]
    found = fit(x, "normal")
    far = np.r_[x[:-1], 400.0]  # its own fit has a tail that does not underflow
    assert np.isfinite(standardise(far, "normal")).all()
    rain = np.r_[np.full(2000, 1.0) + 1e-3 * np.arange(2000) / 2000, 9.0]
    z, gamma = standardise(rain, "gamma"), fit(rain, "gamma").distribution
    assert gamma.sf(9.0) == 0.0 and z[-1] == pytest.approx(-scipy.special.ndtri_exp(gamma.logsf(9.0)), rel=1e-12)
    assert found.converged
    with pytest.warns(
        ns.ConvergenceWarning, match="1 of 4 values is not below 1, the support of beta, from 0 to 1: 1 at index 3"
    ):
        assert np.isnan(standardise([0.2, 0.5, 0.7, 1.0], "beta")).all()


def test_units_of_scores():
    xarray = pytest.importorskip("xarray")
    rain = xarray.DataArray(np.random.default_rng(1).gamma(2.0, 1.0, 30), dims="t", attrs={"units": "mm", "source": "gauge"})
    assert standardise(rain).attrs == {"source": "gauge"} and rain.attrs["units"] == "mm"


def test_both_names_of_the_normal_family():
    x = np.random.default_rng(1).normal(size=30)
    assert fit(x, "gaussian").params == fit(x, "normal").params and fit(x, "gaussian").family == "normal"
    np.testing.assert_array_equal(standardise(x, "gaussian"), standardise(x, "normal"))


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
def test_generalized_hyperbolic_fits_are_not_below_those_of_families_within():
    r = np.random.default_rng(2)
    x = np.r_[r.normal(0, 1, 200), r.normal(6, 1, 200)]
    whole, *parts = (fit(x, name).loglik for name in ("generalized_hyperbolic", "hyperbolic", "nig"))
    assert whole >= max(parts) - 1e-4  # they rise to limits
    for seed in (13, 58):
        x = ns.distributions.NIG(1.0, 0.5, 1.0).rvs(60, rng=seed)
        whole, *parts = (fit(x, name) for name in ("generalized_hyperbolic", "hyperbolic", "nig", "variance_gamma"))
        assert whole.loglik >= max(part.loglik for part in parts if part.converged) - 1e-6


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
@pytest.mark.parametrize("family", ["nig", "hyperbolic", "variance_gamma", "generalized_hyperbolic"])
def test_mirrored_data_have_the_mirrored_fit(family):
    for x in (
        np.array([-0.92, -0.72, -0.06, -0.35, -0.41, -1.75, 1.31, 3.12, -1.96, -0.18]),
        ns.random.gamma(2.0, size=80, rng=1),
    ):
        found, mirrored = fit(x, family), fit(-x, family)
        nearly = 1e-9 if found.converged else 1e-5  # where it rises to a limit
        assert mirrored.loglik == pytest.approx(found.loglik, abs=nearly, nan_ok=True) and mirrored.status == found.status
        if found.status == 0:
            want = {n: -v if n in ("beta", "mu") else v for n, v in found.params.items()}
            assert mirrored.params == pytest.approx(want, rel=1e-4)


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
def test_nig_with_a_gross_outlier():
    """The start of a climb followed the outlier; the Cauchy distribution is within the family."""
    x = np.r_[np.random.default_rng(3).normal(size=300), 1e9]
    nearly_cauchy = max(ns.distributions.NIG(a, 0.0, d, 0.0).logpdf(x).sum() for a in (1e-9, 1e-7, 1e-5) for d in (0.4, 0.7, 1.0))
    assert fit(x, "nig").loglik >= nearly_cauchy


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
def test_a_parameter_fixed_at_its_estimate_gains_nothing():
    """The climb of a variance gamma distribution ended beside a better mu; here are poles at all values, and no maximum."""
    x = [3.37, 1.52, 0.26, 1.38, 0.71, 2.0, 3.21]
    assert fit(x, "variance_gamma").status == 10
    parts = [fit(x, "variance_gamma", fixed={"mu": mu}) for mu in x]
    assert all(part.status != 0 or part.params["lam"] > 1.0 for part in parts)  # smooth at mu, which is no maximum


def test_remarks_stand_beside_the_status():
    """What converged fits lack: a word in a column of its own, words in the message, and the status 0."""
    x = np.random.default_rng(3).gamma(2.0, size=(3, 60))
    moments = fit_many(x, "gamma", method="moments")
    local = fit_many(x + 3.0, "weibull", fixed={"loc": None})
    laplace = fit_many(np.random.default_rng(0).laplace(size=(2, 100)), "asymmetric_laplace")
    for found, words in ((moments, "by moments"), (local, "local"), (laplace, "")):
        assert found.remarks.shape == found.status.shape and set(found.remarks[found.status == 0]) == {words}
        table = found.summary()
        assert table["remark"].tolist() == found.remarks.tolist() and (table["status"] == found.status).all()
        assert found.one(0).remark == found.remarks[0]
        assert found.messages.tolist() == [found.message(i) for i in range(found.status.size)]
    with pytest.warns(ns.ConvergenceWarning):
        mixed = fit_many([x[0], np.full(9, 2.0)], "gamma", method="moments")
    assert mixed.remarks.tolist() == ["by moments", ""] and mixed.one(1).remark == "" and mixed.status[1] == 5


def test_fixed_parameters_and_ends_are_one_number():
    for options in (dict(truncated=([1, 2, 3], None)), dict(fixed={"loc": [1.0, 2.0]})):
        with pytest.raises(TypeError, match="one number, the same for all"):
            fit([1.0, 2.0, 4.0], "normal", **options)


def test_values_are_read_where_they_are():
    """Strided and read-only arrays, one series of a batch that climbs again, and counts with weights: as each fit by itself."""
    rng = np.random.default_rng(8)
    x = rng.gamma(2.5, size=(6, 80))
    kept, frozen = x.copy(), x[:, ::2].copy()
    frozen.flags.writeable = False
    for array in (x[:, ::2], frozen, np.asfortranarray(frozen)):
        np.testing.assert_array_equal(
            distributions.fit_many(array, "gamma").params, distributions.fit_many(kept[:, ::2], "gamma").params
        )
    assert distributions.fit(x[0, ::2], "gamma").loglik == distributions.fit(frozen[0], "gamma").loglik
    x[2, 0] = -1.0
    x[3] = rng.exponential(size=80)
    with pytest.warns(ConvergenceWarning, match="1 of 6 fits"):
        together = distributions.fit_many(x, "gamma")
    for i, one in enumerate(together):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = distributions.fit(x[i], "gamma")
        assert (one.status, one.n_values, one.message) == (alone.status, alone.n_values, alone.message)
        np.testing.assert_array_equal([*one.params.values()], [*alone.params.values()])
    counts = rng.poisson(4.0, (3, 50)).astype(float)
    counts[0, :5], counts[1, 7] = np.nan, 1e6  # which is further out than there are values
    w = rng.integers(0, 4, counts.shape).astype(float)
    repeated = [np.repeat(c, n.astype(int)) for c, n in zip(counts, w, strict=True)]
    weighted = distributions.fit_many(counts, "negative_binomial", weights=w)
    np.testing.assert_allclose(
        weighted.loglik, distributions.fit_many(repeated, "negative_binomial").loglik, rtol=1e-12
    )  # observed 2e-16
    assert weighted.n_missing.tolist() == [5, 0, 0]
    assert weighted.n_values.tolist() == [int(((n > 0) & ~np.isnan(c)).sum()) for c, n in zip(counts, w, strict=True)]


@pytest.mark.skipif(not kernel.SIMULATED, reason="of arrays on a device")
def test_fits_stay_where_the_values_are():
    """The arrays of a batch are of the kind of the data; what is made of them is on the host."""
    rng = np.random.default_rng(9)
    x = rng.gamma(2.5, size=(3, 20))
    for family, values in (("gamma", x), ("gamma", np.where(x < x.min() + 1e-9, -1.0, x)), ("gumbel", x)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, want = (distributions.fit_many(v, family) for v in (cuda.to_device(values), values))
        assert all(hasattr(a, "copy_to_host") for a in (found.params, found.se, found.loglik, found.status, found["scale"]))
        np.testing.assert_allclose(found.params.copy_to_host(), want.params, rtol=1e-6)
        assert found.status.copy_to_host().tolist() == want.status.tolist()
        assert (found.messages == want.messages).all() and (found.converged == want.converged).all()
        kept = pickle.loads(pickle.dumps(found))
        assert isinstance(kept.params, np.ndarray) and repr(kept).count("\n") == repr(want).count("\n")
        np.testing.assert_allclose(found.summary()["loglik"], want.summary()["loglik"], rtol=1e-9)
