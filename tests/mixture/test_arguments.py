"""Data in every layout, weights, keys, and bad input."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from numbastats import mixture
from numbastats.mixture import arguments
from tests.mixture.naive import GOOD, WALD, paper_data, small_data

BAD = {
    "zero": (np.append(GOOD, 0.0), 6),
    "negative": (np.append(-1.0, GOOD), 6),
    "nan": (np.append(GOOD, np.nan), 0),
    "inf": (np.append(GOOD, np.inf), 8),
    "minus inf": (np.append(GOOD, -np.inf), 8),
    "equal": (np.full(50, 3.0), 4),
    "two values": (np.array([1.0, 2.0]), 4),
    "three values": (np.array([1.0, 2.0, 4.0]), 4),
    "five distinct": (np.repeat([1.0, 2.0, 3.0, 8.0, 9.0], 10), None),
    "ties": (np.round(GOOD), None),
    "outlier": (np.append(GOOD, 1e6), None),
    "empty": (np.empty(0), 7),
    "all missing": (np.full(5, np.nan), 7),
    "tiny": (GOOD * 1e-200, 0),
    "huge": (GOOD * 1e150, 0),
    "subnormal": (GOOD * 1e-310, None),
}


@pytest.mark.parametrize("sets", [1, 3, 50])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_values_are_sorted_in_threads(sets, weighted):
    rng = np.random.default_rng(3)
    off = np.linspace(0, 300_000, sets + 1).astype(np.int64)
    y, w = rng.random(300_000), rng.random(300_000) if weighted else None
    pairs = dict(zip(y.tolist(), w.tolist(), strict=True)) if weighted else None
    want = np.concatenate([np.sort(y[a:b]) for a, b in zip(off[:-1], off[1:], strict=True)])
    arguments._sort(y, w, off, 2)
    assert np.array_equal(y, want)
    assert not weighted or w.tolist() == [pairs[v] for v in want.tolist()]


def test_data_are_left_alone():
    x, w = paper_data(2, 60), np.random.default_rng(1).random((2, 60)) + 0.6
    for a in (x, w):
        a.setflags(write=False)
    for family in ("inverse_gaussian", "rayleigh"):
        mixture.fit_many(x, 2, family=family, weights=w, n_init=2, rng=1, device="cpu")
        mixture.fit_many(x.reshape(-1), 2, family=family, offsets=[0, 60, 120], n_init=2, rng=1, device="cpu")
        mixture.fit_many(list(x), 2, family=family, n_init=2, rng=1, device="cpu")


@pytest.mark.filterwarnings("ignore:the choice of n_components")
def test_shares_as_weights_are_noticed():
    """Weights of 1/n leave one observation in all: the criterion takes one component. One warning, with the cure."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0.0, 1.0, 300), rng.normal(6.0, 1.0, 300)])
    options = dict(family="normal", rng=0, device="cpu")
    shares = np.full(600, 1 / 600)
    with pytest.warns(UserWarning, match=r"weights add up to 1 for 600 values.*pass weights \* 600 / sum\(weights\)") as seen:
        assert mixture.fit(x, (1, 2), weights=shares, **options).n_components == 1
    shown = [w for w in seen if "weights" in str(w.message)]
    assert len(shown) == 1 and shown[0].filename == __file__
    assert mixture.fit(x, (1, 2), weights=shares * 600 / shares.sum(), **options).n_components == 2
    with pytest.warns(UserWarning, match="weights of data set 1 add up to 1 for 600 values") as seen:
        mixture.fit_many([x, x, x], 1, weights=[shares * 600, shares, shares * 2], **options)
    assert len(seen) == 1
    with pytest.warns(UserWarning, match="add up to 1 for 600 values"):
        mixture.Mixture(1, **options).fit(x, sample_weight=shares)
    mixture.fit(np.append(x, np.nan), 1, weights=np.append(shares * 600, 0.0), **options)  # absent values do not count
    mixture.fit(np.append(x, 1.0), 1, weights=np.append(shares * 600, 0.0), **options)


def test_lists_arrays_and_offsets_give_the_same_fits():
    sets = [small_data(i, 30 + 7 * i) for i in range(4)]
    want = mixture.fit_many(sets, 2, rng=1, device="cpu", family="inverse_gaussian")
    flat, offsets = np.concatenate(sets), np.cumsum([0] + [s.size for s in sets])
    padded = np.full((4, 60), np.nan)
    for i, s in enumerate(sets):
        padded[i, : s.size] = s
    for got in (
        mixture.fit_many(flat, 2, offsets=offsets, rng=1, device="cpu", family="inverse_gaussian"),
        mixture.fit_many(padded, 2, rng=1, device="cpu", family="inverse_gaussian"),
        mixture.fit_many(
            np.ma.array(np.nan_to_num(padded), mask=np.isnan(padded)), 2, rng=1, device="cpu", family="inverse_gaussian"
        ),
    ):
        assert got.means.tobytes() == want.means.tobytes() and (got.status == 0).all()
    assert got.n_dropped.tolist() == [30, 23, 16, 9] and got.n_used.tolist() == [30, 37, 44, 51]
    narrow = mixture.fit_many([s.astype(np.float32) for s in sets], 2, rng=1, device="cpu", family="inverse_gaussian")
    assert narrow.means.dtype == np.float32 and narrow.loglik.dtype == np.float64
    np.testing.assert_allclose(narrow.means, want.means, rtol=1e-5)


@pytest.mark.more_in_simulator
def test_bad_data_get_a_status_and_harm_nobody(device):
    names = list(BAD) if device["device"] == "cpu" else ["zero", "empty", "nan", "equal"]
    sets = [GOOD, *(BAD[n][0] for n in names), GOOD]
    n_init = 2 if device["device"] == "cuda" else None
    most = pytest.warns(ns.ConvergenceWarning, match="11 of 18") if device["device"] == "cpu" else contextlib.nullcontext()
    with most:
        batch = mixture.fit_many(sets, 2, family="inverse_gaussian", rng=1, n_init=n_init, **device)
    for i, name in enumerate(names, 1):
        want = BAD[name][1]
        assert want is None or batch.status[i] == want, (name, batch.status[i])
        bad = batch.status[i] in (12, 4, 6, 7, 8)
        assert np.isnan(batch.means[i]).all() == bad and np.isfinite(batch.weights[i]).all() != bad, name
        assert batch.message(i)
    assert batch.status[0] == batch.status[-1] == 0
    np.testing.assert_allclose(batch.means[0], batch.means[-1], rtol=1e-6)
    assert batch.n_dropped[1 + names.index("nan")] == 1
    assert "index 80" in batch.message(1 + names.index("zero"))


def test_one_data_set_raises_unless_asked_not_to():
    for name in ("zero", "empty", "inf", "equal"):
        with pytest.raises(ValueError, match="cannot be fitted"):
            mixture.fit(BAD[name][0], 2, family="inverse_gaussian")
        assert mixture.fit(BAD[name][0], 2, errors="status", family="inverse_gaussian").status == BAD[name][1]
    with pytest.raises(ValueError, match="fit_many"):
        mixture.fit(np.ones((3, 4)), family="inverse_gaussian")
    counts = np.array([0.0, 1.0, 1.5, 7.0, 9.0])
    assert mixture.fit(counts, 1, family="poisson", errors="status").status == 6
    assert mixture.fit([GOOD.tolist()][0], 1, family="inverse_gaussian").status == 0


def test_bad_weights_and_zero_weights():
    w = np.ones((3, GOOD.size))
    w[0] = 0.0
    w[1, 3] = -1.0
    w[2, :40] = 0.0
    with pytest.warns(ns.ConvergenceWarning, match="2 of 3 fits ended without a maximum"):
        batch = mixture.fit_many(np.stack([GOOD] * 3), 2, weights=w, rng=1, device="cpu", family="inverse_gaussian")
    assert batch.status.tolist() == [7, 8, 0] and batch.n_used.tolist() == [0, 0, 40]


def test_more_components_than_the_data_hold():
    x = np.concatenate([np.full(40, 1.0), np.full(40, 2.0), np.linspace(1, 2, 12)])
    batch = mixture.fit_many([x], 8, rng=1, device="cpu", family="inverse_gaussian")
    assert batch.status[0] in (0, 1, 11, 12, 13, 4)
    assert mixture.fit_many([GOOD[:20]], 8, rng=1, device="cpu", family="inverse_gaussian").status[0] == 4


def test_empty_batch():
    for batch in (
        mixture.fit_many([], 2, family="inverse_gaussian"),
        mixture.fit_many(np.empty((0, 5)), 2, family="inverse_gaussian"),
        mixture.fit_many(np.empty(0), 2, offsets=[0], family="inverse_gaussian"),
    ):
        assert len(batch) == 0 and batch.weights.shape == (0, 2) and batch.status.shape == (0,)


@pytest.mark.parametrize(
    "options, word",
    [
        (dict(family="cauchi"), "inverse_gaussian"),
        (dict(method="gradient"), "newton"),
        (dict(starts="best"), "portfolio"),
        (dict(criterion="dic"), "bic"),
        (dict(precision="half"), "mixed"),
        (dict(n_components=0), "at least 1"),
        (dict(n_components="two"), "n_components"),
        (dict(n_components=[2, 1, 2]), "array of length 3"),
        (dict(n_components=np.array([1, 2, 2, 1])), "array of length 3"),
        (dict(n_components=range(0)), "not understood"),
        (dict(n_init=0), "n_init"),
        (dict(tol=0), "tol"),
        (dict(max_iter=0.5), "max_iter"),
        (dict(min_sd_ratio=math.nan), "min_sd_ratio"),
        (dict(prior={"n0": math.inf}), "n0"),
        (dict(n_components=True), "not understood"),
        (dict(n_components=(True, 2)), "not understood"),
        (dict(init_params=np.full((3, 1, 3, 2), -1.0)), "negative weights"),
        (dict(prior={"nu": 1}), "nu"),
        (dict(prior={"a0": 0.5}), "a0"),
        (dict(offsets=[0, 5, 3, 240]), "offsets"),
        (dict(weights=np.ones((3, 5))), "layout"),
        (dict(device="gpu"), "cuda"),
        (dict(workers=0), "workers"),
        (dict(family=("weibull", -1.0)), "weibull"),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) and len(str(v)) < 40 else "",
)
def test_bad_options(options, word):
    data = np.stack([GOOD] * 3)
    if "offsets" in options:
        data = data.reshape(-1)
    with pytest.raises(ValueError, match=word):
        mixture.fit_many(data, **{"family": "inverse_gaussian"} | options)


def test_bad_types():
    rows = np.stack([GOOD] * 2)
    for kind in (np.float16, np.longdouble, object):  # refused before, with the advice to convert them
        want = mixture.fit_many(rows.astype(kind).astype(np.float64), 1, family="inverse_gaussian").means
        np.testing.assert_array_equal(mixture.fit_many(rows.astype(kind), 1, family="inverse_gaussian").means, want)
    with pytest.raises(TypeError, match="astype"):
        mixture.fit_many(rows.astype(np.complex128), family="inverse_gaussian")
    with pytest.raises(ValueError, match="2-D array"):
        mixture.fit_many(GOOD, family="inverse_gaussian")
    with pytest.raises(TypeError, match="use fit_many"):
        mixture.fit(GOOD, keep_starts=True, family="inverse_gaussian")
    with pytest.raises(ValueError, match=r"n_components=16 is more"):
        mixture.fit_many([GOOD], 16, device="cuda", family="inverse_gaussian")


@pytest.mark.parametrize("family", ["exponential", "half_normal", ("gamma", 1.0), ("weibull", 1.0)], ids=str)
def test_zeros_where_the_density_is_finite(family):
    x = np.append(small_data(n=80), [0.0, 0.0])
    r = mixture.fit(x, 2, family=family, rng=1, device="cpu")
    law = r.weights, r.centres
    want = mixture.logpdf(x, *law, family=family, device="cpu").sum()
    assert r.status in (0, 11) and r.loglik == pytest.approx(want, rel=1e-12)
    assert mixture.partial_stats(x, *law, family=family, device="cpu")[-1] == pytest.approx(want, rel=1e-12)
    assert mixture.fit([0.0, 3.0], 1, family=family).status == 0
    with pytest.raises(ValueError, match="1 of 2 values is below 0, the support of"):
        mixture.fit([-1.0, 1.0], 1, family=family)
    for other in ("rayleigh", ("gamma", 0.5), ("gamma", 2.0)):
        assert mixture.fit(x, 2, family=other, errors="status").status == 6


def test_what_has_no_weight_takes_no_part():
    """Whatever its value; and a missing value may have a missing weight, as where rows are padded."""
    x = small_data()
    want = mixture.fit(x, 2, family="gamma", rng=1, device="cpu")
    odd = np.concatenate([x, [-1.0, np.inf, 0.0, np.nan]])
    w = np.append(np.ones(x.size), [0.0, 0.0, 0.0, np.nan])
    got = mixture.fit(odd, 2, family="gamma", weights=w, rng=1, device="cpu")
    assert (got.status, got.n_used, got.n_dropped) == (0, x.size, 4) and got.loglik == want.loglik
    law = want.weights, want.means, want.params
    sums = mixture.partial_stats(odd, *law, family="gamma", sample_weight=w, device="cpu")
    assert (sums == mixture.partial_stats(x, *law, family="gamma", device="cpu")).all()
    w[0] = np.nan
    assert mixture.fit(odd, 2, family="gamma", weights=w, errors="status").status == 8


def test_data_sets_of_an_iterator():
    sets = {"a": WALD[:50], "b": WALD[50:120]}
    weights = [np.arange(50) % 3.0, np.ones(70)]
    want = mixture.fit_many(list(sets.values()), 1, weights=weights, family="inverse_gaussian")
    for data in (sets.values(), (v for v in sets.values()), map(np.asarray, sets.values())):
        np.testing.assert_array_equal(
            mixture.fit_many(data, 1, weights=iter(weights), family="inverse_gaussian").means, want.means
        )


def test_masked_weights_count_as_none():
    mask = np.arange(200) % 5 == 0
    x, w = WALD[:200], np.ma.array(np.ones(200), mask=mask)
    want = mixture.fit(x[~mask], 1, family="inverse_gaussian")
    estimator = mixture.Mixture(1, family="inverse_gaussian").fit(x, sample_weight=w)
    for got in (
        mixture.fit(x, 1, weights=w, family="inverse_gaussian"),
        mixture.fit_many([x], 1, weights=[w], family="inverse_gaussian")[0],
        estimator.result_,
    ):
        assert got.n_used == want.n_used and math.isclose(got.loglik, want.loglik, rel_tol=1e-14)
    rows = mixture.fit_many(np.stack([x, x]), 1, weights=np.ma.stack([w, w]), family="inverse_gaussian")
    np.testing.assert_allclose(rows.loglik, want.loglik, rtol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mixture.pdf(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.logpdf(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.cdf(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.sf(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.ppf(0.5, [1.0], [1.0], [1.0]),
        lambda: mixture.rvs([1.0], [1.0], [1.0], rng=1),
        lambda: mixture.responsibilities(1.0, [1.0], [1.0], [1.0]),
        lambda: mixture.partial_stats([1.0], [1.0], [1.0], [1.0]),
        lambda: mixture.em_update(np.ones(4), [1.0], [1.0], [1.0]),
    ],
)
def test_a_family_is_required(call):
    """An inverse Gaussian mixture was taken for whatever had been fitted."""
    with pytest.raises(TypeError, match=r"family is missing.*family='normal'.*'lognormal'.*\('weibull', shape\)"):
        call()


def test_gaussian_is_normal():
    """All sub-packages say "normal", and understand "gaussian"."""
    x = np.random.default_rng(1).normal(size=100)
    for name in ("normal", "gaussian"):
        fit, batch = mixture.fit(x, 1, family=name), mixture.fit_many([x], 1, family=name)
        model = mixture.Mixture(1, family=name).fit(x)
        assert fit.family == batch.family == batch[0].family == model.result_.family == "normal" and model.family == name
        assert mixture.pdf(-0.3, [1.0], [0.0], [1.0], family=name) == pytest.approx(scipy.stats.norm.pdf(0.3), rel=1e-15)
        assert mixture.cdf(-0.3, [1.0], [0.0], [1.0], family=name) == pytest.approx(scipy.stats.norm.cdf(-0.3), rel=1e-15)
    assert mixture.fit(x**2, 1, family=("weibull", 2)).family == ("weibull", 2.0)


def test_data_frames_are_refused():
    """500 rows of two columns were 500 data sets of two values."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": WALD, "b": WALD[::-1], "g": np.arange(200) % 2})
    for data in (frame, frame.groupby("g"), [(1, frame)]):
        with pytest.raises(ValueError, match="groupby"):
            mixture.fit_many(data, 1, family="gamma")
    with pytest.raises(ValueError, match=r"columns are the data sets, frame.to_numpy\(\) if its rows are"):
        mixture.fit_many(frame, 1, family="gamma")
    with pytest.raises(ValueError, match="weights is a DataFrame"):
        mixture.fit_many([WALD, WALD], 1, family="gamma", weights=frame)
    with pytest.raises(ValueError, match="fit_many"):
        mixture.fit(frame.groupby("g")["a"], 1, family="gamma")
    columns = mixture.fit_many([frame[c] for c in "ab"], 1, family="gamma")
    assert columns.n_used.tolist() == [200, 200] and columns.keys is None


def test_polars_frames_are_refused():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": WALD, "g": np.arange(200) % 2})
    with pytest.raises(ValueError, match="data is a DataFrame"):
        mixture.fit_many(frame, 1, family="gamma")
    with pytest.raises(ValueError, match="of which one has the values"):
        mixture.fit_many(frame.group_by("g"), 1, family="gamma")
    parts = {key: part["a"] for (key,), part in frame.group_by("g", maintain_order=True)}
    assert mixture.fit_many(parts, 1, family="gamma").keys == (0, 1)


def test_keys_of_data_sets_are_kept():
    pandas = pytest.importorskip("pandas")
    sets = {"z": WALD[:50], "a": WALD[50:120], 7: WALD[120:]}
    weights = {key: np.random.default_rng(3).random(v.size) + 0.6 for key, v in sets.items()}
    want = mixture.fit_many(list(sets.values()), 1, family="gamma", weights=list(weights.values()))
    pairs = list(sets.items())
    reverse = dict(reversed(list(weights.items())))
    for data, w in (
        (sets, weights),
        (sets, reverse),
        (sets, list(weights.values())),
        (pairs, reverse),
        (iter(pairs), weights.items()),
    ):
        got = mixture.fit_many(data, 1, family="gamma", weights=w)
        assert got.keys == ("z", "a", 7) and (got.centres == want.centres).all()
    assert got[got.keys.index("a")].n_used == 70
    frame = pandas.DataFrame({"g": np.repeat(["v", "u"], 100), "h": np.arange(200) % 2, "x": WALD})
    by = mixture.fit_many(frame.groupby("g", sort=False)["x"], 1, family="gamma")
    assert by.keys == ("v", "u") and by.centres[1, 0] == pytest.approx(WALD[100:].mean(), rel=1e-14)
    by = mixture.fit_many(frame.groupby(["g", "h"])["x"], 1, family="gamma")
    assert by.keys == (("u", 0), ("u", 1), ("v", 0), ("v", 1)) and by.n_used.tolist() == [50] * 4
    assert mixture.fit_many({}, 1, family="gamma").keys == ()
    for w in ({"z": weights["z"]}, {**weights, "b": weights["z"]}):
        with pytest.raises(ValueError, match="weights have keys that differ"):
            mixture.fit_many(sets, 1, family="gamma", weights=w)


@pytest.mark.parametrize("workers", [1.5, "2", 0, True])
def test_bad_workers_are_refused_where_there_is_nothing_to_do(workers):
    for x in ([], [1.0]):
        for f in (mixture.pdf, mixture.logpdf, mixture.responsibilities):
            with pytest.raises(ValueError, match="workers"):
                f(x, [1.0], [1.0], family="exponential", workers=workers)
        with pytest.raises(ValueError, match="workers"):
            mixture.partial_stats(x, [1.0], [1.0], family="exponential", workers=workers)
