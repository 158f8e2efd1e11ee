"""Events, entries, open ends and trials beside values, against SciPy's fits and likelihoods written here."""

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.stats as st

import numbastats as ns
from numbastats.distributions import compare, compare_many, fit, fit_many

inf, nan = math.inf, math.nan
PEERS = {
    "weibull": lambda a, b: st.weibull_min(a, scale=b),
    "lognormal": lambda a, b: st.lognorm(a, scale=b),
    "gamma": lambda a, b: st.gamma(a, scale=b),
}
KEYS = "abc"


def lives(n=300, seed=0, late=6.0):
    """Times, whether the event was seen, and entries below the times; lives are seen from these on until 14."""
    rng = np.random.default_rng(seed)
    entry, t = rng.uniform(0.0, late, 3 * n), st.weibull_min.rvs(1.5, scale=10.0, size=3 * n, random_state=rng)
    seen = t > entry
    entry, t = entry[seen][:n], t[seen][:n]
    return np.minimum(t, 14.0), t <= 14.0, entry


def maximised(family, x, event, entry, w=None):
    """Parameters, standard errors and log-likelihood by SciPy's functions and BFGS."""
    w = np.ones(x.size) if w is None else w

    def loss(q):
        d = PEERS[family](*np.exp(q))
        return -(w * (np.where(event, d.logpdf(x), d.logsf(x)) - d.logsf(entry))).sum()

    best = scipy.optimize.minimize(loss, np.log(list(fit(x, family).params.values())), method="BFGS", options={"gtol": 1e-7}).x
    steps = 1e-3 * np.eye(2)
    second = [[sum(a * b * loss(best + a * u + b * v) for a in (1, -1) for b in (1, -1)) / 4e-6 for v in steps] for u in steps]
    return np.exp(best), np.sqrt(np.diag(np.linalg.inv(second))) * np.exp(best), -loss(best)


def pieces(values):
    """Values in three series of 60, 100 and 140."""
    return np.split(values, [60, 160])


# --- open ends, events


@pytest.mark.parametrize("family", PEERS)
def test_a_missing_end_is_open(family):
    """NaN for an end that is not known, as frames have it; without both ends a value is missing."""
    x, event, _ = lives(100)
    lo, hi = x.copy(), np.where(event, x, nan)
    lo[:5], hi[:5] = nan, x[:5]  # known to be below
    lo[5:7], hi[5:7] = nan, nan
    found = fit(None, family, censored=(lo, hi))
    low, high = np.where(np.isnan(lo), -inf, lo), np.where(np.isnan(hi), inf, hi)
    assert found.params == fit(None, family, censored=(low, high)).params and found.n_values == 98
    exact = event & (np.arange(100) >= 7)
    data = st.CensoredData(uncensored=x[exact], left=x[:5], right=x[7:][~event[7:]])
    peer = {"weibull": st.weibull_min, "lognormal": st.lognorm, "gamma": st.gamma}[family]
    a, _, b = peer.fit(data, floc=0)
    assert list(found.params.values()) == pytest.approx([a, b], rel=2e-3)  # SciPy's simplex
    many = fit_many(None, family, censored=(np.stack([lo, lo]), np.stack([hi, hi])), weights=[[1.0], [2.0]])
    assert many.one(0).params == found.params and many.n_obs.tolist() == [98.0, 196.0]
    np.testing.assert_allclose(many.params[1], many.params[0], rtol=1e-9)


@pytest.mark.parametrize("kind", [bool, int, float, object])
def test_events(kind):
    x, event, _ = lives(100)
    want = fit(None, "weibull", censored=(x, np.where(event, x, inf)))
    found = fit(x, "weibull", event=event.astype(kind))
    assert found.params == want.params and found.loglik == want.loglik and found.se == want.se and found.partial
    assert fit(x, "weibull", event=np.ones(100, bool)).params == fit(x, "weibull").params
    assert ns.distributions.Weibull.fit(x, event=event.astype(kind)).params.shape == want.params["shape"]
    if kind in (float, object):
        gone = event.astype(kind)
        gone[0] = None
        assert fit(x, "weibull", event=gone).params == fit(x[1:], "weibull", event=event[1:]).params


def test_what_is_no_event():
    x, event, entry = lives(50)
    for values, words in (
        (np.where(event, "dead", "alive"), "'alive', 'dead'.*pass event == 'dead'"),
        (event + 1, r"values 1, 2.*pass event == 2"),
        (event * 0.5, "values 0.0, 0.5"),
        ("event", "name of a column"),
        (event[:5], r"event has shape \(5,\)"),
    ):
        with pytest.raises(ValueError, match=words):
            fit(x, "weibull", event=values)
    with pytest.raises(ValueError, match="censored= and event= both"):
        fit(x, "weibull", event=event, censored=(x, x))
    with pytest.raises(TypeError, match="x is None"):
        fit(None, "weibull", event=event)
    with pytest.raises(ValueError, match="leave out weights, .*event"):
        fit(x, "weibull", event=event, method="lmoments")
    with pytest.raises(ValueError, match="leave out censored=, event="):
        fit(st.CensoredData(x), "weibull", event=event)
    with pytest.raises(ValueError, match="exact values without truncation.*event="):
        fit(x, "nig", event=event)


def test_no_value_is_taken_for_the_event():
    """Which one it is, users must say: the largest of many times is the end of a study, where none was seen."""
    time = np.minimum(np.arange(1.0, 13.0), 8.0)
    for swapped in (time, time + 0.5, np.where(time < 8.0, 2.5, 8.0)):
        with pytest.raises(ValueError, match="pass event == value, .* if these are times, x and event have changed places$"):
            fit(time, "weibull", event=swapped)
    with pytest.raises(ValueError, match="pass event == 2 or event == 1, whichever says that it was seen$"):
        fit(time, "weibull", event=(time < 8.0) + 1)
    with pytest.raises(ValueError, match="pass event == value, with the value that says that it was seen$"):
        fit(time, "weibull", event=["dead"] * 12)


def test_weights_that_are_missing_with_their_values():
    """As in stable, mixture and kde; refused where the value, or an end of it, is there."""
    x, event, _ = lives(50)
    gone, w = x.copy(), np.linspace(0.5, 1.5, 50)
    gone[4] = w[4] = nan
    keep = np.arange(50) != 4
    want = fit(x[keep], "weibull", weights=w[keep])
    for found in (
        fit(gone, "weibull", weights=w),
        fit_many(gone[None], "weibull", weights=w).one(0),
        fit_many([gone, x[:9]], "weibull", weights=[w, np.ones(9)]).one(0),
        fit(gone, "weibull", weights=w, event=np.ones(50)),
        fit(None, "weibull", weights=w, censored=(gone, gone)),
    ):
        assert found.loglik == pytest.approx(want.loglik, rel=1e-12) and (found.n_values, found.n_missing) == (49, 1)
    unseen = np.where(keep, 1.0, nan)
    assert fit(x, "weibull", weights=w, event=unseen).loglik == pytest.approx(want.loglik, rel=1e-12)
    count = fit([1, nan, 2, 3], "binomial", fixed={"n": [5, 6, 7, nan]}, weights=[1, nan, 1, nan])
    assert count.params["p"] == pytest.approx(0.25) and (count.n_values, count.n_missing) == (2, 2)
    for call in (
        lambda: fit(x, "weibull", weights=w),
        lambda: fit_many(x[None], "weibull", weights=w),
        lambda: fit(x, "weibull", weights=w, event=event),
        lambda: fit(None, "weibull", weights=w, censored=(gone, x)),
    ):
        with pytest.raises(ValueError, match="weights must be finite and >= 0: the one at index .*4.? is missing"):
            call()


def test_times_and_events_as_bounds():
    """The call to make where the upper ends are 0 and 1; a warning where they are all 1, and where the lower ones are 0 and 1."""
    x, event, _ = lives(50)
    for hi in (event.astype(int), event.astype(float)):
        with pytest.raises(ValueError, match=r"Call fit\(time, family, event=event\)"):
            fit(None, "weibull", censored=(x, hi))
    for pair in ((x, event), (event, x), event):
        with pytest.raises(TypeError, match=r"call fit\(time, family, event=event\)"):
            fit(None, "weibull", censored=pair)
    with pytest.warns(UserWarning, match="hi=1 for all values"), pytest.warns(ns.ConvergenceWarning):
        fit(None, "weibull", censored=(x / 20.0, np.ones(50)))
    with pytest.warns(UserWarning, match="lo that are all 0 or 1"), pytest.warns(ns.ConvergenceWarning):
        fit(None, "weibull", censored=(event.astype(float), 1.0 + x))
    with pytest.raises(ValueError, match=r"x is missing at 3, where censored has the ends"):
        fit(np.where(np.arange(50) == 3, nan, x), "weibull", censored=(0.5 * x, 2.0 * x))


# --- entries


@pytest.mark.parametrize("family", PEERS)
def test_entries(family):
    """Each likelihood is divided by the probability of a life beyond the entry."""
    x, event, entry = lives()
    params, errors, loglik = maximised(family, x, event, entry)
    found = fit(x, family, event=event, entry=entry)
    assert found.converged and found.partial and found.n_obs == found.n_values == 300
    assert list(found.params.values()) == pytest.approx(params, rel=1e-5)
    assert list(found.se.values()) == pytest.approx(errors, rel=1e-4)
    assert found.loglik == pytest.approx(loglik, abs=1e-7) and found.aic == pytest.approx(4.0 - 2.0 * loglik, abs=1e-6)
    assert found.bic == pytest.approx(2.0 * math.log(300) - 2.0 * loglik, abs=1e-6)
    w = np.random.default_rng(1).integers(0, 4, 300)
    twice = fit(np.repeat(x, w), family, event=np.repeat(event, w), entry=np.repeat(entry, w))
    weighted = fit(x, family, event=event, entry=entry, weights=w)
    assert weighted.loglik == pytest.approx(twice.loglik, rel=1e-10) and weighted.n_obs == w.sum()
    assert list(weighted.se.values()) == pytest.approx(list(twice.se.values()), rel=1e-5)
    assert weighted.n_values == (w > 0).sum()
    assert maximised(family, x, event, entry, w)[2] == pytest.approx(weighted.loglik, abs=1e-7)


@pytest.mark.parametrize("family", PEERS)
def test_one_entry_for_all_is_a_truncation(family):
    x, event, _ = lives()
    cut = 0.99 * x.min()
    for options in ({}, {"event": event}, {"censored": (x, np.where(event, x + 0.5, inf))}):
        given = None if "censored" in options else x
        found, want = fit(given, family, entry=cut, **options), fit(given, family, truncated=(cut, None), **options)
        assert found.loglik == pytest.approx(want.loglik, abs=1e-9)
        assert list(found.params.values()) == pytest.approx(list(want.params.values()), rel=1e-7)
        assert list(found.se.values()) == pytest.approx(list(want.se.values()), rel=1e-5)
    below = fit(x, family, event=event, entry=-inf)
    assert below.params == fit(x, family, event=event).params
    assert fit(x, family, event=event, entry=0.0).loglik == pytest.approx(below.loglik, abs=1e-9)


def test_entries_within_a_truncation():
    """Seen between the entry and an end for all."""
    x, event, entry = lives()
    x, entry = x[event], entry[event]
    keep = x >= 2.0
    x, entry = x[keep], entry[keep]
    found = fit(x, "weibull", entry=entry, truncated=(2.0, 14.0))

    def loss(q):
        d = st.weibull_min(math.exp(q[0]), scale=math.exp(q[1]))
        return -(d.logpdf(x) - np.log(d.sf(np.maximum(entry, 2.0)) - d.sf(14.0))).sum()

    best = scipy.optimize.minimize(loss, [0.4, 2.3], method="BFGS", options={"gtol": 1e-7})
    assert found.loglik == pytest.approx(-best.fun, abs=1e-7)
    assert list(found.params.values()) == pytest.approx(np.exp(best.x), rel=1e-4)


def test_entries_of_counts():
    """P(X > entry), of whole numbers: a count of 3 is not seen from an entry at 3 on."""
    rng = np.random.default_rng(2)
    x, entry = rng.poisson(4.0, 400), rng.integers(-1, 5, 400)
    x, entry = x[x > entry], entry[x > entry]
    found = fit(x, "poisson", entry=entry)

    def loss(mean):
        return -(st.poisson.logpmf(x, mean) - st.poisson.logsf(entry, mean)).sum()

    best = scipy.optimize.minimize_scalar(loss, (3.0, 4.0, 5.0), options={"xtol": 1e-10})
    assert found.params["mean"] == pytest.approx(best.x, rel=1e-6) and found.loglik == pytest.approx(-best.fun, abs=1e-8)


def test_entries_and_limits():
    """Families within are fitted to the same entries: with an exponential life an entry takes off what lies below it."""
    x, event, entry = lives()
    found = fit(x, "exponential", event=event, entry=entry)
    assert found.params["scale"] == pytest.approx((x - entry).sum() / event.sum(), rel=1e-9)
    assert found.loglik <= fit(x, "weibull", event=event, entry=entry).loglik
    z, e = np.log(x), np.log(entry)
    normal = fit(z, "normal", event=event, entry=e)
    lognormal = fit(x, "lognormal", event=event, entry=entry)
    assert normal.params["loc"] == pytest.approx(math.log(lognormal.params["scale"]), rel=1e-6)
    limited = fit(z, "student_t", event=event, entry=e)  # its limit is the normal distribution
    assert limited.loglik >= normal.loglik - 1e-7


def test_what_is_no_entry():
    x, event, entry = lives(50)
    late = entry.copy()
    late[7] = x[7]
    with pytest.raises(ValueError, match=rf"entry={late[7]} is not below the time {x[7]} at 7"):
        fit(x, "weibull", event=event, entry=late)
    late[7] = nan
    with pytest.raises(ValueError, match="entry is missing at 7; pass -inf"):
        fit(x, "weibull", event=event, entry=late)
    with pytest.raises(ValueError, match=r"at \(1, 7\)"):
        fit_many(np.stack([x, x]), "weibull", entry=np.stack([entry, np.where(np.arange(50) == 7, x, entry)]))
    with pytest.raises(ValueError, match="leave out zeros="):
        fit(x, "weibull", entry=entry, zeros="share")
    with pytest.raises(ValueError, match=r"loc of laplace .*fixed={'loc'"):
        fit(x, "laplace", entry=entry)
    assert fit(np.r_[x, nan], "weibull", entry=np.r_[entry, nan]).params == fit(x, "weibull", entry=entry).params


def test_simulated_kernel():
    x, event, entry = lives(24, late=3.0)
    given = dict(event=event.reshape(2, 12), entry=entry.reshape(2, 12))
    there, here = (fit_many(x.reshape(2, 12), "weibull", **given, device=d) for d in ("cuda", "cpu"))
    np.testing.assert_array_equal(there.status, here.status)
    np.testing.assert_allclose(there.params, here.params, rtol=1e-7)
    np.testing.assert_allclose(there.se, here.se, rtol=1e-6)


# --- many series


def alone():
    x, event, entry = map(pieces, lives())
    return [fit(x[i], "weibull", event=event[i], entry=entry[i], weights=np.full(x[i].size, 2.0)) for i in range(3)]


def test_lists_and_dicts():
    given = [pieces(v) for v in (*lives(), np.full(300, 2.0))]
    one = alone()
    x, event, entry, w = ({key: v for key, v in zip(KEYS, values, strict=True)} for values in given)
    hi = {key: np.where(event[key], x[key], nan) for key in reversed(KEYS)}
    for found in (
        fit_many(given[0], "weibull", event=given[1], entry=given[2], weights=given[3]),
        fit_many(x, "weibull", event=event, entry=entry, weights=w),
        fit_many(None, "weibull", censored=(x, hi), entry=entry, weights=w, workers=2),
    ):
        for i in range(3):
            assert found.one(i).params == one[i].params and found.one(i).loglik == one[i].loglik
        assert found.keys in (None, tuple(KEYS)) and found.n_values.tolist() == [60, 100, 140]
    for options, words in (
        (dict(event=given[1][:2]), "event has 2 series and data 3"),
        (dict(event=[v[:3] for v in given[1]]), r"event has shape \(3,\) in series 0, of 60 values"),
        (dict(entry=[*given[2][:2], given[0][2]]), "at 0 of series 2"),
    ):
        with pytest.raises(ValueError, match=words):
            fit_many(given[0], "weibull", **options)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    """Columns by their names, or arrays with a value for each row; the rows of groups in any order."""
    frames = pytest.importorskip(library)
    x, event, entry = lives()
    order = np.random.default_rng(3).permutation(300)
    order = np.r_[0, order[order != 0]]  # polars has groups in their order
    columns = dict(g=np.repeat(list(KEYS), [60, 100, 140]), t=x, seen=event, start=entry, w=np.full(300, 2.0))
    columns["hi"] = np.where(event, x, nan)
    frame, one = frames.DataFrame({name: values[order] for name, values in columns.items()}), alone()
    for found in (
        fit_many(frame[["g", "t", "seen", "start", "w"]], "weibull", by="g", event="seen", entry="start", weights="w"),
        fit_many(frame[["g", "t"]], "weibull", by="g", event=event[order], entry=frame["start"], weights="w" and frame["w"]),
        fit_many(frame[["g", "t", "hi", "start", "w"]], "weibull", by="g", censored=("t", "hi"), entry="start", weights="w"),
    ):
        for i, key in enumerate(KEYS):
            got = found.one(found.keys.index(key))
            assert list(got.params.values()) == pytest.approx(list(one[i].params.values()), rel=1e-8)
            assert got.loglik == pytest.approx(one[i].loglik, rel=1e-12)
    with pytest.raises(ValueError, match="'sen' is not known"):
        fit_many(frame, "weibull", by="g", event="sen")
    with pytest.raises(ValueError, match="beside those that are named"):
        fit_many(frame, "weibull", by="g", event="seen")
    if library == "pandas":
        groups = frame.groupby("g")
        found = fit_many(groups["t"], "weibull", event=groups["seen"], entry=groups["start"], weights=groups["w"])
        assert found.one("b").loglik == pytest.approx(one[1].loglik, rel=1e-12)
        with pytest.raises(ValueError, match="different indexes"):
            fit_many(frame[["g", "t"]], "weibull", by="g", event=frame["seen"].sample(frac=1.0, random_state=1))


def test_arrays_and_labels():
    x, event, entry = (v[:200].reshape(2, 100) for v in lives())
    want = fit_many(x, "weibull", event=event, entry=entry)
    found = fit_many(x.T, "weibull", axis=0, event=event.T, entry=entry.T)
    np.testing.assert_array_equal(found.params, want.params)
    with pytest.raises(ValueError, match="must broadcast to the shape of data"):
        fit_many(x, "weibull", event=event[:, :5])
    xarray = pytest.importorskip("xarray")
    arrays = [xarray.DataArray(v, dims=("unit", "n"), coords={"unit": ["u", "v"]}) for v in (x, event, entry)]
    found = fit_many(arrays[0], "weibull", dim="n", event=arrays[1], entry=arrays[2])
    np.testing.assert_array_equal(found["shape"].sel(unit="v"), want["shape"][1])
    with pytest.raises(ValueError, match="different dimensions"):
        fit_many(arrays[0], "weibull", dim="n", event=arrays[1].T)


# --- zeros beside censored values


def test_zeros_set_apart():
    """The share is of all values, the fit of the others: the likelihood is the product of both."""
    x, event, _ = lives(100)
    zeros = np.zeros(25)
    found = fit(np.r_[x, zeros], "weibull", event=np.r_[event, np.ones(25, bool)], zeros="share")
    want = fit(x, "weibull", event=event)
    assert found.zeros == 0.2 and list(found.params.values()) == pytest.approx(list(want.params.values()), rel=1e-12)
    pair = np.r_[x, zeros], np.r_[np.where(event, x, nan), zeros]
    assert fit(None, "weibull", censored=pair, zeros="share").params == found.params


def test_more_zeros():
    rng = np.random.default_rng(4)
    x = np.where(rng.random(400) < 0.3, 0, rng.poisson(3.0, 400)).astype(float)
    event = x < 5.0
    t = np.minimum(x, 5.0)
    found = fit(t, "poisson", event=event, zeros="inflated")

    def loss(q):
        share, mean = 1.0 / (1.0 + math.exp(-q[0])), math.exp(q[1])
        p = np.where(event, (1.0 - share) * st.poisson.pmf(t, mean), (1.0 - share) * st.poisson.sf(t - 1.0, mean))
        return -np.log(p + share * (t == 0.0)).sum()

    best = scipy.optimize.minimize(loss, [-1.0, 1.0], method="BFGS", options={"gtol": 1e-7})
    assert found.loglik == pytest.approx(-best.fun, abs=1e-7)
    assert found.zeros == pytest.approx(1.0 / (1.0 + math.exp(-best.x[0])), rel=1e-4)
    assert found.params["mean"] == pytest.approx(math.exp(best.x[1]), rel=1e-5)
    with pytest.raises(ValueError, match="must know whether a value is a zero"):
        fit(None, "poisson", censored=(t, np.where(t == 0.0, 2.0, t)), zeros="inflated")


# --- truncations


@pytest.mark.parametrize("family", [*PEERS, "normal", "exponential"])
def test_a_truncation_includes_its_ends(family):
    x = np.random.default_rng(0).gamma(5.0, 2.0, 100)
    least, most = x.min(), x.max()
    found = fit(x, family, truncated=(least, most))
    wider = fit(x, family, truncated=(least - 1e-9, most + 1e-9))
    assert found.n_values == 100 and found.status == wider.status != 6
    assert found.loglik == pytest.approx(wider.loglik, abs=1e-6)
    for cut in ((np.nextafter(least, 2.0 * least), most), (least, np.nextafter(most, 0.0))):
        with pytest.warns(ns.ConvergenceWarning):
            assert fit(x, family, truncated=cut).status == 6
    if family in PEERS:  # whose support does not include its end
        with pytest.warns(ns.ConvergenceWarning):
            assert fit(np.r_[x, 0.0], family, truncated=(0.0, None)).status == 6
    if family == "exponential":
        assert fit(np.r_[x, 0.0], family, truncated=(0.0, None)).status == 0


# --- trials


def test_trials_of_each_value():
    """p is all successes over all trials."""
    rng = np.random.default_rng(5)
    n = rng.integers(0, 40, 50)
    k = rng.binomial(n, 0.3)
    found, p = fit(k, "binomial", fixed={"n": n}), k.sum() / n.sum()
    assert found.params == {"n": 1.0, "p": pytest.approx(p, rel=1e-9)} and found.n_obs == n.sum() and found.n_values == 50
    assert found.se["p"] == pytest.approx(math.sqrt(p * (1.0 - p) / n.sum()), rel=1e-6)
    assert found.loglik == pytest.approx(st.binom.logpmf(k, n, p).sum(), rel=1e-10)
    alike = fit(k, "binomial", fixed={"n": np.full(50, 40)})
    one = fit(k, "binomial", fixed={"n": 40})
    assert alike.loglik == pytest.approx(one.loglik, rel=1e-10) and alike.se["p"] == pytest.approx(one.se["p"], rel=1e-6)
    w = rng.integers(0, 3, 50)
    weighted, twice = (
        fit(k, "binomial", fixed={"n": n}, weights=w),
        fit(np.repeat(k, w), "binomial", fixed={"n": np.repeat(n, w)}),
    )
    assert weighted.params == twice.params and weighted.loglik == pytest.approx(twice.loglik, rel=1e-12)
    gone = fit(np.r_[k, nan], "binomial", fixed={"n": np.r_[n, 3]})
    assert gone.params == found.params and (gone.n_values, gone.n_missing) == (50, 1)
    bounds = found.estimate(lambda d: d.params.p, "bootstrap", count=199, rng=1)
    assert bounds.se == pytest.approx(found.se["p"], rel=0.2)
    with pytest.warns(ns.ConvergenceWarning, match="1 of 2 fits"):
        many = fit_many([k, k[:10] + 40], "binomial", fixed={"n": [n, n[:10]]})
    assert many.status.tolist() == [0, 6] and math.isnan(many.loglik[1]) and many.one(0).loglik == found.loglik
    for options, words in (
        (dict(fixed={"n": n + 0.5}), r"fixed n=.* at 0 must be a whole number"),
        (dict(fixed={"n": n[:5]}), "must broadcast"),
        (dict(fixed={"n": n}, zeros="inflated"), "leave out"),
    ):
        with pytest.raises(ValueError, match=words):
            fit(k, "binomial", **options)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"g": np.repeat(["a", "b"], 25), "k": k, "n": n})
    by = fit_many(frame, "binomial", by="g", fixed={"n": "n"})
    assert by["p"][1] == pytest.approx(k[25:].sum() / n[25:].sum(), rel=1e-9)


# --- counts in comparisons


def test_comparison_of_integers():
    """Values of an integer type are counts; the note says so, and the word for the others."""
    x = np.random.default_rng(0).negative_binomial(3, 0.4, 300)
    table = compare(x)
    assert set(table.fits) == {"poisson", "negative_binomial", "geometric"} and table.best.family == "negative_binomial"
    assert 'compare(..., "continuous")' in table.note and table.note in repr(table)
    kinds = [x.tolist(), x.astype(np.uint8), x.astype(np.int16)]
    for library in ("pandas", "polars"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        kinds += [module.Series(x)]
        kinds += [module.Series([*x[1:].tolist(), None, 3], dtype="Int64" if library == "pandas" else module.Int32)]
    for kind in kinds:
        assert "poisson" in compare(kind).fits
    named = compare(x, ["normal", "gumbel"])
    assert named.note == "" and set(named.fits) == {"normal", "gumbel"}


@pytest.mark.parametrize("data", [{"a": [0, 1, 2, 2, 5], "b": [1, 1, 3, 0, 0, 7]}, np.arange(40).reshape(4, 10) % 7])
def test_comparison_of_many_integers(data):
    found = compare_many(data)
    assert set(found.fits) == {"poisson", "negative_binomial", "geometric"}
    assert 'compare_many(..., "continuous")' in found.note and found.note in repr(found)


def test_whole_floats_are_no_counts(monkeypatch):
    """They are compared as before, with a note; negative and broken numbers have none."""
    from numbastats.distributions import inference

    x = np.random.default_rng(0).poisson(3.0, 100)
    few = "normal", "gumbel"
    monkeypatch.setattr(inference, "_families", lambda families, *data: (few if families == "continuous" else families, ""))
    assert 'compare(..., "counts")' in compare(x.astype(float)).note
    assert compare(x - 5).note == "" and compare(x + 0.5).note == "" and set(compare(x - 5).fits) == {"normal", "gumbel"}


def test_trials_of_each_value_go_with_weights_alone():
    n = np.random.default_rng(6).integers(5, 30, 40)
    k = np.random.default_rng(7).binomial(n, 0.3)
    seen = np.arange(40) % 5 > 0
    for more in (dict(event=seen), dict(entry=-1.0), dict(censored=(k, k))):
        with pytest.raises(ValueError, match="array of trials n goes with weights alone"):
            fit(k, "binomial", fixed={"n": n}, **more)
    with pytest.raises(ValueError, match="array of trials n goes with weights alone"):
        fit_many([k, k], "binomial", fixed={"n": n}, event=[seen, seen])
    for test, data in ((ns.distributions.goodness, k), (ns.distributions.goodness_many, np.stack([k, k]))):
        with pytest.raises(ValueError, match="give one number of trials"):
            test(data, "binomial", fixed={"n": n})
