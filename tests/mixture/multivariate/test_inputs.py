"""Data as users have them: names of columns, bad data sets among good ones, and the sentences that say what is wrong."""

from __future__ import annotations

import decimal
import warnings

import numpy as np
import pytest

import numbastats as ns
from numbastats.interop import GaussianMixture
from tests.mixture.multivariate import naive

X = naive.blobs(2, 100, 3, 2)


def fitted(x=X, K=2, **options):
    return ns.mixture.fit(x, K, rng=0, **options)


def test_a_batch_loses_only_data_sets_with_missing_values():
    data = np.stack([naive.blobs(i, 80, 2, 2) for i in range(4)])
    good = ns.mixture.fit_many(data, 2, rng=0)
    data[2, 5, 1] = np.nan
    batch = ns.mixture.fit_many(data, 2, rng=0)
    assert batch.status.tolist() == [0, 0, 8, 0] and batch.n_missing.tolist() == [0, 0, 1, 0]
    assert (batch.loglik == good.loglik)[[0, 1, 3]].all() and np.isnan(batch.loglik[2])
    assert batch.message(2).startswith("data[2] has 1 row with missing values") and "index 5" in batch.message(2)
    keyed = ns.mixture.fit_many(dict(zip("abcd", data, strict=True)), 2, rng=0)
    assert keyed.message("c").startswith("data['c'] has 1 row")
    with pytest.raises(ValueError, match=r"data\[2\] has 1 row"):
        ns.mixture.fit_many(data, 2, nan_policy="raise")
    omitted = ns.mixture.fit_many(data, 2, rng=0, nan_policy="omit")
    assert omitted.status[2] == 0 and omitted.n_used.tolist() == [80, 80, 79, 80]


def test_a_batch_loses_only_data_sets_of_other_columns():
    sets = [naive.blobs(0, 60, 2, 2), naive.blobs(1, 50, 3, 2), naive.blobs(2, 70, 2, 2)]
    batch = ns.mixture.fit_many(sets, 2, rng=0)
    assert batch.status.tolist() == [0, 7, 0] and batch.means.shape == (3, 2, 2)
    assert batch.message(1) == "data[1] has 3 columns, and most data sets have 2 columns: all must have the same"
    weighted = ns.mixture.fit_many(sets, 2, rng=0, weights=[np.ones(len(x)) for x in sets])
    assert (weighted.loglik == batch.loglik)[[0, 2]].all()
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame(x, columns=list("abc")[: x.shape[1]]) for x in sets]
    frames.append(frames[0][["b", "a"]])
    frames.append(frames[0].rename(columns={"b": "z"}))
    batch = ns.mixture.fit_many(frames, 2)
    assert batch.columns == ("a", "b") and batch.status.tolist() == [0, 7, 0, 0, 7]
    assert batch.loglik[3] == pytest.approx(batch.loglik[0], rel=1e-12) and "['a', 'z']" in batch.message(4)


def test_a_batch_loses_only_data_sets_of_bad_weights():
    sets = [naive.blobs(i, 60, 2, 2) for i in range(3)]
    w = [np.ones(60) for _ in sets]
    w[1][7] = -1.0
    batch = ns.mixture.fit_many(sets, 2, rng=0, weights=w)
    assert batch.status.tolist() == [0, 8, 0] and batch.message(1).endswith("the one at index 7 is -1")
    with pytest.raises(ValueError, match=r"weights\[1\] has shape \(5,\) for 60 rows"):
        ns.mixture.fit_many(sets, 2, weights=[w[0], np.ones(5), w[2]])
    flat = ns.mixture.fit_many(np.concatenate(sets), 2, rng=0, offsets=[0, 60, 120, 180], weights=np.concatenate(w))
    assert flat.status.tolist() == [0, 8, 0] and (flat.loglik == batch.loglik)[[0, 2]].all()


def test_weights_that_do_not_count_are_said():
    with pytest.warns(UserWarning, match="the weights add up to 50 for 100 values"):
        fitted(weights=np.full(100, 0.5))
    with pytest.raises(ValueError, match=r"100 rows that count 1, .*for shares pass weights \* 100 / sum"):
        fitted(weights=np.full(100, 0.01))
    with pytest.warns(UserWarning, match="the weights of data set 1 add up to 50"):
        ns.mixture.fit_many([X, X], 2, rng=0, weights=[np.ones(100), np.full(100, 0.5)])


def test_columns_are_taken_by_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abc"))
    found, model = fitted(frame), ns.mixture.Mixture(2, rng=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    for one in (found, model):
        assert (one.predict(frame[["c", "a", "b"]]) == found.predict(X)).all()
        with pytest.raises(ValueError, match=r"has no column 'b': the fit has \['a', 'b', 'c'\], and x has \['a', 'B', 'c'\]"):
            one.predict(frame.rename(columns={"b": "B"}))
        with pytest.raises(ValueError, match="no column 'c'"):
            one.predict(frame[["a", "b"]])
    assert (fitted().predict(frame) == found.predict(X)).all()  # a fit without names takes them by position
    assert not hasattr(model.fit(X), "feature_names_in_")
    with pytest.raises(TypeError, match=r"columns that are not numbers, \['name'\]"):
        fitted(frame.assign(name="x"))
    with pytest.raises(TypeError, match=r"pick a column, as frame\['a'\]"):
        fitted(frame[["a"]].assign(name="x"))
    twice = pandas.DataFrame(X, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="several columns of the name 'a'"):
        fitted(twice)


def test_labels_of_xarray_are_columns():
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(X, dims=("row", "what"), coords={"what": ["a", "b", "c"]})
    found = fitted(x)
    assert found.columns == ("a", "b", "c") and found.loglik == fitted().loglik
    assert (np.asarray(found.predict(x[:, [2, 1, 0]])) == found.predict(X)).all()


def test_forms_of_data_sets():
    sets = [naive.blobs(i, 60, 2, 2) for i in range(3)]
    plain = ns.mixture.fit_many(sets, 2, rng=0)
    assert (ns.mixture.fit_many(iter(sets), 2, rng=0).loglik == plain.loglik).all()
    pairs = ns.mixture.fit_many(zip("abc", sets, strict=True), 2, rng=0)
    assert pairs.keys == ("a", "b", "c") and (pairs.loglik == plain.loglik).all()
    none = ns.mixture.fit_many(np.zeros((0, 200, 3)), 2)
    assert len(none) == 0 and none.status.shape == (0,) and none.means.shape == (0, 2, 3)
    one = ns.mixture.fit_many(np.stack([x[:, :1] for x in sets]), 2, rng=0)  # of one column: one dimension
    assert (
        isinstance(one, ns.mixture.MixtureBatch)
        and (one.loglik == ns.mixture.fit_many([x[:, 0] for x in sets], 2, rng=0).loglik).all()
    )


def test_standard_errors_of_a_batch_are_arrays():
    sets = [X, naive.blobs(5, 80, 3, 1), np.ones((20, 3))]
    batch = ns.mixture.fit_many(sets, np.array([2, 1, 1]), rng=0, se=True)
    assert {name: v.shape for name, v in batch.se.items()} == {"weights": (3, 2), "means": (3, 2, 3), "covariances": (3, 2, 3, 3)}
    for i, x in enumerate(sets[:2]):
        one = ns.mixture.fit(x, 2 - i, rng=0, se=True, dataset_index=i)
        np.testing.assert_array_equal(batch.se["means"][i, : 2 - i], one.se["means"])
        np.testing.assert_array_equal(batch[i].se["covariances"], one.se["covariances"])
    assert np.isnan(batch.se["means"][2]).all() and np.isnan(batch.se["weights"][1, 1]) and ns.mixture.fit_many([X], 2).se == {}


def test_tables_of_a_batch():
    sets = {"a": X, "b": naive.blobs(5, 80, 3, 1), "c": np.ones((20, 3))}
    batch = ns.mixture.fit_many(sets, range(1, 3), covariance=["tied", "full"], rng=0, se=True)
    assert batch.n_values.tolist() == [100, 80, 0] and batch.messages[2] == "all rows are equal"
    table = batch.selection
    assert len(table["bic"]) == 12 and table["data_set"].tolist() == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    for i in range(2):
        for name, values in batch[i].selection.items():
            np.testing.assert_array_equal(table[name][4 * i : 4 * i + 4], values)
    rows, one = batch.summary(0.9), batch[0].summary(0.9)
    K = batch.n_components[0]
    for name in one:
        np.testing.assert_array_equal(rows[name][:K], one[name])
    np.testing.assert_allclose(one["upper_mean_1"] - one["lower_mean_1"], 2 * 1.6448536269514722 * batch.se["means"][0, :K, 1])
    sd = np.sqrt(batch.covariances[0, :K, 2, 2])
    np.testing.assert_allclose(one["se_sd_2"], batch.se["covariances"][0, :K, 2, 2] / (2 * sd))
    with pytest.raises(ValueError, match="fit with se=True"):
        fitted().summary(0.9)


SENTENCES = {
    "an outlier": (np.r_[X, [[1e12] * 3]], {}, 5, "1 row is so far out that the others are one point beside them, .* index 100"),
    "few rows": (X[:3], {}, 4, "too few values: 3 rows that count 3, and 2 components of min_count=5 each need 10"),
    "one row": (X[:1], {}, 4, "too few values: 1 row, 1 of them distinct"),
    "equal rows": (np.repeat(X[:1], 30, 0), {}, 5, "all rows are equal"),
    "a large min_count": (X, dict(min_count=90), 4, "min_count=90 each need 180"),
    "infinite": (np.r_[X, [[0.0, np.inf, 0.0]]], {}, 8, "the value of column 1 .* in the row of index 100 is infinite"),
    "units": (X * [1e-140, 1.0, 1e140], {}, 5, "lost in rounding beside column 2"),
    "dependent": (np.c_[X, X[:, 0] + X[:, 1]], {}, 5, "column 3 .* is a linear combination"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_refusals_say_what_is_wrong(name):
    x, options, status, words = SENTENCES[name]
    found = fitted(x, errors="status", **options)
    assert found.status == status
    with pytest.raises(ValueError, match="the data cannot be fitted: .*" + words):
        fitted(x, **options)


def test_words_name_options_that_there_are():
    from numbastats.mixture.multivariate.results import words_of

    for status in ns.Status:
        said = words_of(status)
        assert not any(option in said for option in ("min_sd_ratio", "squarem", "max_iter", "prior"))


def test_a_choice_without_a_certificate_is_said():
    from numbastats.mixture.multivariate.arguments import one_table
    from numbastats.mixture.multivariate.fitting import fit_rows, warn_of_fits

    rows = one_table(X, None, None)
    batch = fit_rows(rows, range(1, 3), rng=0)
    batch.numbers["status"][0] = ns.Status.NOT_CERTIFIED
    with pytest.warns(ns.ConvergenceWarning, match="choice of a mixture of X: 2 components, covariance 'full', stationary, but"):
        warn_of_fits(batch, rows, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_fits(batch, rows, False)
        fitted(K=range(1, 3), covariance="all")


def test_drop_in_says_nothing_of_options_that_it_has_not():
    x = X.copy()
    x[4, 1] = np.nan
    with pytest.raises(ValueError, match="X has 1 row with missing values .* index 4; Input X contains NaN") as said:
        GaussianMixture(2).fit(x)
    assert "nan_policy" not in str(said.value)


def test_moments_of_the_estimator():
    model = ns.mixture.Mixture(2, rng=0).fit(X)
    np.testing.assert_allclose(model.mean(), model.result_.mean())
    np.testing.assert_allclose(model.var(), np.diag(model.result_.cov()))
    np.testing.assert_allclose(model.std() ** 2, model.var())
    column = ns.mixture.Mixture(2, rng=0).fit(X[:, 0])
    assert isinstance(column.std(), float) and column.std() == column.result_.std()


def test_arguments_of_methods():
    found = fitted()
    with pytest.raises(ValueError, match=r"the value of 0 has shape \(2,\); pass one number"):
        found.conditional({0: [1.0, 2.0]})
    for size in (-1, (2, -1), 1.5):
        with pytest.raises(ValueError, match="is no number of draws"):
            found.rvs(size)
    assert found.rvs((2, 0)).shape == (2, 0, 3)


def test_rows_in_single_precision():
    x = naive.blobs(3, 400, 3, 2).astype(np.float32)
    found, want = fitted(x), fitted(x.astype(np.float64))
    assert found.loglik == want.loglik and found.means.dtype == np.float64
    for name in ("pdf", "logpdf", "predict_proba"):
        single, double = getattr(found, name)(x), getattr(found, name)(x.astype(np.float64))
        assert single.dtype == np.float32 and double.dtype == np.float64
        np.testing.assert_array_equal(single, double.astype(np.float32))
    assert (found.predict(x) == found.predict(x.astype(np.float64))).all()
    labelled = found.predict_proba(x.reshape(20, 20, 3))
    assert labelled.shape == (20, 20, 2) and labelled.dtype == np.float32


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_many_rows_in_single_precision_are_kept_so(covariance, monkeypatch):
    from numbastats.mixture.multivariate import arguments, engine

    seen, prepare = [], engine.prepare

    def noted(x, *args):
        seen.append((x.dtype, prepare(x, *args).rows.x.dtype))
        return prepare(x, *args)

    x = (naive.blobs(3, 12_000, 3, 2) + 50.0).astype(np.float32)
    want = fitted(x, covariance=covariance, se=True)
    monkeypatch.setattr(arguments, "SINGLE", 30_000)
    monkeypatch.setattr(engine, "prepare", noted)
    found = fitted(x, covariance=covariance, se=True)
    assert (np.float32, np.float32) in seen and found.status == 0
    assert found.loglik == pytest.approx(want.loglik, rel=1e-7)  # 3e-9: distances from the mean are rounded to single precision
    for name in ("weights", "means", "covariances"):
        np.testing.assert_allclose(getattr(found, name), getattr(want, name), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.se[name], want.se[name], rtol=1e-4, atol=1e-9)
    batch = ns.mixture.fit_many([x, x.astype(np.float64)], 2, covariance=covariance, rng=0)  # with doubles, doubles
    assert batch.loglik[0] == want.loglik


def test_probabilities_take_no_memory_beside_their_own():
    import tracemalloc

    found = fitted()
    x = np.random.default_rng(1).normal(size=(600_000, 3))
    for rows in (x, x.astype(np.float32), x[:, ::-1], np.asfortranarray(x)):
        found.predict_proba(rows[:10])
        tracemalloc.start()
        result = found.predict_proba(rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < result.nbytes + 5e6  # of a slab: 32768 rows


# --- kinds of data -------------------------------------------------------------------------------------------------------

ROUND = np.round(naive.blobs(6, 60, 2, 2), 1)
HOLED = ROUND.copy()
HOLED[7, 1] = np.nan
NAMES = ["a", "b"]
STACKED = np.column_stack([ROUND, np.sin(np.arange(60.0))])
CLASSES = np.arange(60) % 2


def library(name):
    return pytest.importorskip(name)


def with_none():
    return [[None if v != v else v for v in row] for row in HOLED.tolist()]


KINDS = {  # complete data, and the same numbers
    "list": lambda: ROUND.tolist(),
    "tuple of tuples": lambda: tuple(map(tuple, ROUND.tolist())),
    "list of arrays": lambda: list(ROUND),
    "big-endian": lambda: ROUND.astype(">f8"),
    "long double": lambda: ROUND.astype(np.longdouble),
    "read-only": lambda: np.frombuffer(ROUND.tobytes()).reshape(60, 2),
    "strided": lambda: np.repeat(ROUND, 2, axis=0)[::2],
    "Fortran": lambda: np.asfortranarray(ROUND),
    "object": lambda: ROUND.astype(object),
    "Decimal": lambda: [[decimal.Decimal(str(v)) for v in row] for row in ROUND.tolist()],
    "masked without a mask": lambda: np.ma.array(ROUND),
    "pandas": lambda: library("pandas").DataFrame(ROUND, columns=NAMES),
    "pandas, Float64": lambda: library("pandas").DataFrame(ROUND, columns=NAMES, dtype="Float64"),
    "pandas, object": lambda: library("pandas").DataFrame(ROUND, columns=NAMES, dtype=object),
    "polars": lambda: library("polars").DataFrame(ROUND, schema=NAMES),
    "pyarrow": lambda: library("pyarrow").table({"a": ROUND[:, 0], "b": ROUND[:, 1]}),
    "xarray": lambda: library("xarray").DataArray(ROUND, dims=("t", "what")),
}
HOLES = {
    "NaN": lambda: HOLED.copy(),
    "None": with_none,
    "masked": lambda: np.ma.array(np.where(np.isnan(HOLED), 1e9, HOLED), mask=np.isnan(HOLED)),
    "pandas": lambda: library("pandas").DataFrame(HOLED, columns=NAMES),
    "pandas, Float64": lambda: library("pandas").DataFrame(with_none(), columns=NAMES, dtype="Float64"),
    "polars": lambda: library("polars").DataFrame(with_none(), schema=NAMES, orient="row"),
    "xarray": lambda: library("xarray").DataArray(HOLED, dims=("t", "what")),
}
START = np.array([0.4, 0.6]), np.array([[0.0, 0.0], [2.0, 1.0]]), np.array([np.eye(2), 2.0 * np.eye(2)])
ENTRIES = {
    "fit": lambda x, **o: fitted(x, **o).means,
    "fit_many": lambda x, **o: ns.mixture.fit_many([x, ROUND], 2, rng=0, **o).means[0],
    "fit_many, dict": lambda x, **o: ns.mixture.fit_many({"u": x}, 2, rng=0, **o).means[0],
    "Mixture": lambda x, **o: ns.mixture.Mixture(2, rng=0, **o).fit(x).means_,
    "partial_stats": lambda x, **o: ns.mixture.combine([ns.mixture.partial_stats(x, *START)]),
    "logpdf": lambda x, **o: np.asarray(fitted(ROUND).logpdf(x)),
    "predict": lambda x, **o: np.asarray(fitted(ROUND).predict(x)),
}
OTHERS = {  # without missing values
    "bootstrap": lambda x: ns.mixture.bootstrap(fitted(ROUND), x, n_boot=3, rng=0).means,
    "regression": lambda x: fitted(STACKED).regression(x, 2).mean(),
    "classifier": lambda x: ns.mixture.MixtureDiscriminantAnalysis(1, rng=0).fit(x, CLASSES).predict_proba(ROUND),
}


@pytest.mark.parametrize("entry", [*ENTRIES, *OTHERS])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_is_taken(entry, kind):
    function = (ENTRIES | OTHERS)[entry]
    np.testing.assert_array_equal(function(KINDS[kind]()), function(ROUND))


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", HOLES)
def test_every_kind_of_missing_value_is_one(entry, kind):
    found, want = ENTRIES[entry](HOLES[kind](), nan_policy="omit"), ENTRIES[entry](HOLED, nan_policy="omit")
    np.testing.assert_array_equal(found, want)
    good = ENTRIES[entry](np.delete(HOLED, 7, axis=0), nan_policy="omit")
    if found.shape == good.shape:
        np.testing.assert_allclose(found, good, rtol=1e-12)
    else:
        np.testing.assert_array_equal(np.delete(found, 7), good)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([["a", "b"]] * 20, "text"),
        (ROUND + 0j, "[Cc]omplex"),
        (np.full((20, 2), "2020-01-01", "datetime64[D]"), "dates"),
        (np.full((20, 2), 5, "timedelta64[s]"), "timedelta64"),
        ([[1.0, 2.0], [3.0]], "unequal lengths"),
        (np.array([[10**400, 1]] * 20, object), "beyond the largest double"),
    ],
)
def test_what_is_no_number_is_refused(x, words):
    for call in (fitted, lambda x: ns.mixture.Mixture(2).fit(x), lambda x: fitted(ROUND).logpdf(x)):
        with pytest.raises((TypeError, ValueError), match=words):
            call(x)


def test_groups_of_frames_of_each_library():
    pandas, polars = library("pandas"), library("polars")
    key = np.array(["u", "v", "w"])[np.arange(60) % 3]
    two = np.arange(60) // 30
    frame = pandas.DataFrame(ROUND, columns=NAMES).assign(g=key, h=two)
    want = ns.mixture.fit_many([ROUND[key == k] for k in "uvw"], 1, rng=0)
    for data in (frame[["g", *NAMES]], polars.DataFrame({"a": ROUND[:, 0], "g": key.tolist(), "b": ROUND[:, 1]})):
        found = ns.mixture.fit_many(data, 1, by="g", rng=0)
        assert found.keys == ("u", "v", "w") and found.columns == ("a", "b")
        np.testing.assert_array_equal(found.means, want.means)
        assert ns.mixture.fit_many(data, 1, by=["g"], rng=0).one("v").loglik == found.loglik[1]
    pairs = ns.mixture.fit_many(frame, 1, by=["g", "h"], rng=0)
    grouped = ns.mixture.fit_many(frame.groupby(["g", "h"]), 1, rng=0)
    assert len(pairs) == 6 and pairs.keys == grouped.keys and (pairs.loglik == grouped.loglik).all()
    part = ns.mixture.fit_many(frame.groupby("g")[["b", "a"]], 1, rng=0)
    assert part.columns == ("b", "a")
    np.testing.assert_allclose(part.means[..., ::-1], want.means, rtol=1e-12)
    with pytest.raises(ValueError, match="by='z' names 'z'"):
        ns.mixture.fit_many(frame, 1, by="z")


def test_numbers_of_components_of_each_data_set():
    sets = [naive.blobs(i, 80, 2, 2) for i in range(3)]
    batch = ns.mixture.fit_many(sets, np.array([1, 2, 1]), covariance=["diag", "full"], rng=0)
    assert batch.n_components.tolist() == [1, 2, 1] and np.isnan(batch.means[[0, 2], 1]).all()


def test_empty_data_sets_and_weights_of_zero_lose_only_themselves():
    sets = [
        naive.blobs(0, 60, 2, 2),
        np.empty((0, 2)),
        np.full((9, 2), np.nan),
        naive.blobs(1, 60, 2, 2),
        naive.blobs(2, 60, 2, 2),
    ]
    weights = [np.ones(len(x)) for x in sets]
    weights[3][:] = 0.0
    with pytest.warns(ns.ConvergenceWarning, match="3 of 5 fits ended without a maximum, the first, at index 1: all values are"):
        batch = ns.mixture.fit_many(sets, 2, rng=0, weights=weights, nan_policy="omit")
    assert batch.status.tolist() == [0, 7, 7, 7, 0] and batch.n_missing.tolist() == [0, 0, 9, 0, 0]
    assert batch.n_dropped.tolist() == [0, 0, 9, 60, 0] and np.isnan(batch.loglik[1:4]).all()
    one = ns.mixture.fit_many([sets[4]], 2, rng=0, dataset_index=4)
    assert one.loglik[0] == batch.loglik[4]
    assert fitted(np.empty((0, 2)), errors="status").status == 7
    assert fitted(ROUND).predict_proba(np.empty((0, 2))).shape == (0, 2)


def test_rows_far_away_have_no_density():
    x = np.random.default_rng(0).normal(size=(90, 2))
    found = ns.mixture.fit(x, 1, rng=0)
    far = [[1e300, 0.0], [0.0, 0.0]]
    assert found.logpdf(far)[0] == -np.inf and found.pdf(far)[0] == 0.0 and found.pdf(far)[1] > 0.0


def test_words_of_one_column_and_of_several():
    x = np.random.default_rng(0).normal(size=(90, 2))
    assert ns.mixture.likelihood_ratio(x, 1, family="normal", n_boot=3, rng=0).alternative.means.shape == (2, 2)
    with pytest.raises(ValueError, match="'omit' does the same"):
        ns.mixture.fit(x[:, 0], 2, family="normal", nan_policy="marginal")
    with pytest.raises(ValueError, match="'omit' does the same"):
        ns.mixture.fit_many([x[:, 0]], 2, family="normal", nan_policy="marginal")


def test_means_of_some_components_alone_are_refused():
    x = np.random.default_rng(0).normal(size=(90, 2))
    with pytest.raises(ValueError, match="means of 1 component of 2 are missing: all are fixed, or none"):
        ns.mixture.fit(x, 2, family=("normal", {"means": [[0.0, 0.0], [np.nan, np.nan]]}))
