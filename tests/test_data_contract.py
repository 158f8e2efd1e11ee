"""One rule for data: a table of kinds of data, each through every entry point (docs/data.md).

What is taken gives the numbers of the plain float64 array; what is refused says why, and its advice works.
"""

import decimal
import fractions
import warnings
from datetime import date, datetime, timedelta

import numpy as np
import pytest

import numbastats as ns

N = 60
GOOD = np.round(np.random.default_rng(0).gamma(3.0, 2.0, N), 1)  # few digits: exact as decimals
GOOD[:2] = 0.5, 4.0  # numbers that float16 holds
COARSE = np.float64(np.float16(GOOD))
NOT = np.arange(N) == 7  # the missing value
HOLED = np.where(NOT, np.nan, GOOD)
COUNTS = np.rint(GOOD) + 1.0
FLAGS = GOOD > 5.0
Y = np.random.default_rng(1).standard_normal(N)
FEW = dict(chains=1, warmup=60, draws=20, rng=1, device="cpu")
D = ns.distributions

pytestmark = [
    pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:A column-vector y"),
]


def _with_none(values=GOOD):
    return [None if gone else v for v, gone in zip(values.tolist(), NOT, strict=True)]


def _pandas():
    return pytest.importorskip("pandas")


def _polars():
    return pytest.importorskip("polars")


def _arrow():
    return pytest.importorskip("pyarrow")


def _arrow_series(values, kind):
    pandas, arrow = _pandas(), _arrow()
    return pandas.Series(values, dtype=pandas.ArrowDtype(getattr(arrow, kind)()))


# --- kinds ---------------------------------------------------------------------------------------------------------------

COMPLETE = {  # what to pass, and the same numbers as a plain array
    "float64": (lambda: GOOD.copy(), GOOD),
    "list": (lambda: GOOD.tolist(), GOOD),
    "tuple": (lambda: tuple(GOOD.tolist()), GOOD),
    "int64": (lambda: COUNTS.astype(np.int64), COUNTS),
    "uint8": (lambda: COUNTS.astype(np.uint8), COUNTS),
    "float16": (lambda: GOOD.astype(np.float16), COARSE),
    "long double": (lambda: GOOD.astype(np.longdouble), GOOD),
    "big-endian": (lambda: GOOD.astype(">f8"), GOOD),
    "read-only": (lambda: np.frombuffer(GOOD.tobytes()), GOOD),
    "strided": (lambda: np.repeat(GOOD, 2)[::2], GOOD),
    "object": (lambda: GOOD.astype(object), GOOD),
    "Decimal": (lambda: [decimal.Decimal(str(v)) for v in GOOD.tolist()], GOOD),
    "Fraction": (lambda: [fractions.Fraction(v) for v in GOOD.tolist()], GOOD),
    "column (n, 1)": (lambda: GOOD[:, None], GOOD),
    "masked without a mask": (lambda: np.ma.array(GOOD), GOOD),
    "pandas": (lambda: _pandas().Series(GOOD), GOOD),
    "pandas, object": (lambda: _pandas().Series(GOOD, dtype=object), GOOD),
    "pandas, categorical": (lambda: _pandas().Series(GOOD).astype("category"), GOOD),
    "pandas, Float64": (lambda: _pandas().Series(GOOD, dtype="Float64"), GOOD),
    "pandas, frame": (lambda: _pandas().DataFrame({"a": GOOD}), GOOD),
    "pandas, pyarrow": (lambda: _arrow_series(GOOD, "float64"), GOOD),
    "pandas, sparse": (lambda: _pandas().Series(_pandas().arrays.SparseArray(GOOD)), GOOD),
    "polars": (lambda: _polars().Series(GOOD), GOOD),
    "polars, Decimal": (lambda: _polars().Series([decimal.Decimal(str(v)) for v in GOOD.tolist()]), GOOD),
    "polars, frame": (lambda: _polars().DataFrame({"a": GOOD}), GOOD),
    "pyarrow": (lambda: _arrow().array(GOOD), GOOD),
    "pyarrow, chunks": (lambda: _arrow().chunked_array([GOOD[:9], GOOD[9:]]), GOOD),
    "pyarrow, table": (lambda: _arrow().table({"a": GOOD}), GOOD),
    "xarray": (lambda: pytest.importorskip("xarray").DataArray(GOOD, dims="t"), GOOD),
}
MISSING = {  # the same with one value that is missing
    "NaN": lambda: HOLED.copy(),
    "None in a list": _with_none,
    "object, NA": lambda: np.array([_pandas().NA if v is None else v for v in _with_none()], object),
    "object, NaT": lambda: np.array([_pandas().NaT if v is None else v for v in _with_none()], object),
    "Decimal": lambda: [None if v is None else decimal.Decimal(str(v)) for v in _with_none()],
    "masked": lambda: np.ma.array(np.where(NOT, 1e9, GOOD), mask=NOT),
    "masked objects": lambda: np.ma.array(np.where(NOT, "x", GOOD.astype(object)), mask=NOT),
    "pandas": lambda: _pandas().Series(HOLED),
    "pandas, Float64": lambda: _pandas().Series(_with_none(), dtype="Float64"),
    "pandas, frame": lambda: _pandas().DataFrame({"a": _with_none()}),
    "pandas, object frame": lambda: _pandas().DataFrame({"a": np.array(_with_none(), object)}),
    "pandas, pyarrow": lambda: _arrow_series(_with_none(), "float64"),
    "pandas, categorical": lambda: _pandas().Series(HOLED).astype("category"),
    "polars": lambda: _polars().Series(_with_none()),
    "polars, frame": lambda: _polars().DataFrame({"a": _with_none()}),
    "pyarrow": lambda: _arrow().array(_with_none()),
    "pyarrow, table": lambda: _arrow().table({"a": _with_none()}),
    "xarray": lambda: pytest.importorskip("xarray").DataArray(HOLED, dims="t"),
}


def _frame(library):
    return library.DataFrame({"key": ["u", "v"] * (N // 2), "value": GOOD})


DATES = [datetime(2020, 1, 1) + timedelta(days=float(v)) for v in GOOD]
REFUSED = {  # what to pass, and what the message says
    "text": (lambda: ["a"] * N, "text"),
    "text among numbers": (lambda: [*GOOD.tolist()[:-1], "n/a"], f"text, 'n/a' at index {N - 1}"),
    "numbers as text": (lambda: [str(v) for v in GOOD], r"numpy.asarray\(x\).astype\('float64'\)"),
    "pandas, text": (lambda: _pandas().Series(["a", None] * (N // 2)), "text"),
    "pandas, categorical text": (lambda: _pandas().Series(["a", "b"] * (N // 2)).astype("category"), "text"),
    "polars, text": (lambda: _polars().Series(["a", None] * (N // 2)), "text"),
    "dates": (lambda: DATES, "dates"),
    "days": (lambda: [date(2020, 1, 1)] * N, "dates"),
    "datetime64": (lambda: np.array(DATES, "datetime64[s]"), "dates"),
    "pandas, dates": (lambda: _pandas().Series(DATES), "dates"),
    "pandas, dates of a zone": (lambda: _pandas().Series(_pandas().date_range("2020", periods=N, tz="UTC")), "dates"),
    "polars, dates": (lambda: _polars().Series(DATES), "dates"),
    "durations": (lambda: [timedelta(days=float(v)) for v in GOOD], r"timedelta64\(1, 'D'\)"),
    "timedelta64": (lambda: (1e6 * GOOD).astype("timedelta64[us]"), r"timedelta64\(1, 'D'\)"),
    "pandas, durations": (lambda: _pandas().Series(_pandas().to_timedelta(GOOD, unit="D")), r"timedelta64\(1, 'D'\)"),
    "polars, durations": (lambda: _polars().Series([timedelta(days=float(v)) for v in GOOD]), r"timedelta64\(1, 'D'\)"),
    "pandas, periods": (lambda: _pandas().Series(_pandas().period_range("2020", periods=N)), "Period"),
    "complex": (lambda: GOOD + 0j, "[Cc]omplex"),
    "complex in a list": (lambda: [*GOOD.tolist()[:-1], 1j], "[Cc]omplex"),
    "unequal lengths": (lambda: [[1.0, 2.0], [3.0]], "unequal lengths"),
    "lists in an array": (lambda: np.array([[1.0, 2.0], [3.0], None], object), "a list at index 0"),
    "structured": (lambda: np.zeros(N, [("a", float), ("b", float)]), r"pick a field, as x\['a'\]"),
    "sparse": (lambda: pytest.importorskip("scipy.sparse").csr_matrix(GOOD[:, None]), "toarray|sparse"),
    "None": (lambda: None, "None"),
    "a set": (lambda: {1.0, 2.0}, r"pass list\("),
    "a generator": (lambda: (v for v in GOOD), r"pass list\("),
    "too large": (lambda: [10**400] * N, "beyond the largest double"),
    "polars, lazy": (lambda: _frame(_polars()).lazy(), "collect"),
    "xarray, dataset": (lambda: pytest.importorskip("xarray").Dataset({"a": ("t", GOOD)}), "one of its variables, 'a'"),
}
TABLES = {
    "pandas": lambda: _frame(_pandas()),
    "polars": lambda: _frame(_polars()),
    "pyarrow": lambda: _arrow().table({"key": ["u", "v"] * (N // 2), "value": GOOD}),
}

# --- entry points --------------------------------------------------------------------------------------------------------


def _numbers(found):
    return [*found.params.values(), found.loglik]


def _likelier(found):
    return [found.best.loglik, *found.ks.values(), *found.ad.values()]


def _regression(X, y, **options):
    return ns.bayes.HorseshoeRegression(**FEW, **options).fit(X, y).coef_


ONE = {  # of one series: what it gives as an array, with the keywords of the function
    "distributions.fit": lambda x, **o: _numbers(D.fit(x, "gamma", **o)),
    "Gamma.fit": lambda x, **o: D.Gamma.fit(x, **o).params[0],
    "distributions.compare": lambda x, **o: _likelier(D.compare(x, ["gamma", "normal"], **o)),
    "distributions.goodness": lambda x, **o: D.goodness(x, "gamma", rng=1, count=19, **o).statistic,
    "distributions.lmoments": lambda x, **o: D.lmoments(x, **o).moments,
    "distributions.survival": lambda x, **o: D.survival(x, **o).time,
    "stable.fit": lambda x, **o: ns.stable.fit(x, "quantile", **o).params,
    "stable.fit_quantile": lambda x, **o: ns.stable.fit_quantile(x, **o).params,
    "stable.fit_ecf": lambda x, **o: ns.stable.fit_ecf(x, **o).params,
    "Stable.fit": lambda x, **o: np.asarray(D.Stable.fit(x, "quantile", **o).params, float),
    "mixture.fit": lambda x, **o: ns.mixture.fit(x, 2, family="normal", rng=0, **o).centres,
    "mixture.fit, distributions": lambda x, **o: ns.mixture.fit(x, 1, family="logistic", rng=0, **o).loglik,
    "mixture.Mixture": lambda x, **o: ns.mixture.Mixture(1, family="normal", rng=0, **o).fit(x).centres_,
    "mixture.likelihood_ratio": lambda x, **o: (
        ns.mixture.likelihood_ratio(x, 1, family="exponential", n_boot=2, rng=0, **o).statistic
    ),
}
POINTS = {  # kernel densities
    "kde.grid": lambda x, **o: ns.kde.grid(x, (0, 15, 9), device="cpu", **o),
    "kde.points": lambda x, **o: ns.kde.points(x, [1.0, 5.0], device="cpu", **o),
    "kde.KDE": lambda x, **o: ns.kde.KDE(device="cpu", **o).fit(x).H_,
    "kde.regular_axes": lambda x, **o: ns.kde.regular_axes(x, shape=5, **o)[0],
}
ROWS = {  # of rows of X, with the data as its only column; and as the outcomes
    "bayes X": lambda x, **o: _regression(_as_column(x), Y, **o),
    "bayes y": lambda x, **o: _regression(Y[:, None], x, **o),
}
MANY = {  # of many series, here of two, given in a list
    "distributions.fit_many": lambda x, **o: D.fit_many([x, GOOD], "gamma", **o).params,
    "distributions.compare_many": lambda x, **o: D.compare_many([x, GOOD], ["gamma", "normal"], **o).fits["gamma"].params,
    "distributions.survival_many": lambda x, **o: D.survival_many([x, GOOD], **o).n_values,
    "stable.fit_many": lambda x, **o: ns.stable.fit_many([x, GOOD], "quantile", **o).params,
    "mixture.fit_many": lambda x, **o: ns.mixture.fit_many([x, GOOD], 1, family="normal", rng=0, **o).centres,
}
SCORES = {"distributions.standardise": lambda x, **o: np.ravel(D.standardise(x, "gamma", **o))}
ALL = ONE | POINTS | ROWS | MANY | SCORES
EITHER = "Gamma.fit", "Stable.fit", "distributions.lmoments"  # of one series or of many
OMITS = ONE | MANY | SCORES  # missing values are left out by default


def _as_column(x):
    """Rows of one column: series of any library in a frame of it, arrays and lists with two axes."""
    if hasattr(x, "to_frame"):
        return x.to_frame(name="a")
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return x[:, None]
    if isinstance(x, list | tuple):
        return [[v] for v in x]
    if isinstance(x, np.ndarray) or hasattr(x, "columns"):
        return x
    pytest.skip("no rows of this kind")


def _same(found, want):
    np.testing.assert_array_equal(np.ravel(np.asarray(found, float)), np.ravel(np.asarray(want, float)))


@pytest.fixture(scope="module")
def expected():
    """What an entry point gives for a plain array; each is computed once."""
    known = {}

    def of(entry, values, **options):
        key = entry, values.tobytes(), *options.items()
        if key not in known:
            known[key] = ALL[entry](values, **options)
        return known[key]

    return of


@pytest.mark.parametrize("entry", ALL)
@pytest.mark.parametrize("kind", COMPLETE)
def test_taken(entry, kind, expected):
    if kind == "column (n, 1)" and entry in (*EITHER, *SCORES):
        pytest.skip("n series of one value")
    make, plain = COMPLETE[kind]
    _same(ALL[entry](make()), expected(entry, plain))


@pytest.mark.parametrize("entry", OMITS)
@pytest.mark.parametrize("kind", MISSING)
def test_missing_values_are_left_out(entry, kind, expected):
    found = OMITS[entry](MISSING[kind]())
    _same(found, expected(entry, HOLED))
    if entry in ONE:
        _same(found, expected(entry, GOOD[~NOT]))


@pytest.mark.parametrize("entry", [*POINTS, *ROWS])
@pytest.mark.parametrize("kind", MISSING)
def test_missing_values_are_refused_where_rows_would_be_lost(entry, kind, expected):
    with pytest.raises(ValueError, match="missing|NaN"):
        ALL[entry](MISSING[kind]())
    found = ALL[entry](MISSING[kind](), nan_policy="omit")
    if entry in POINTS:
        _same(found, expected(entry, GOOD[~NOT]))
    else:
        _same(found, expected(entry, HOLED, nan_policy="omit"))


@pytest.mark.parametrize("entry", OMITS)
@pytest.mark.parametrize("kind", ["NaN", "None in a list", "masked"])
def test_missing_values_are_refused_where_they_should_be(entry, kind):
    with pytest.raises(ValueError, match=r"1 value that is missing .*, the first at index 7.*nan_policy='omit'"):
        OMITS[entry](MISSING[kind](), nan_policy="raise")


@pytest.mark.parametrize("entry", ALL)
def test_words_of_the_policy(entry):
    with pytest.raises(ValueError, match="nan_policy='drop' is not known; use one of 'raise', 'omit'"):
        ALL[entry](GOOD, nan_policy="drop")


@pytest.mark.parametrize("entry", [*ONE, *POINTS, *MANY])
@pytest.mark.parametrize("kind", REFUSED)
def test_refused(entry, kind):
    make, message = REFUSED[kind]
    if entry in (*EITHER, *MANY) and kind in ("unequal lengths", "a set", "a generator"):
        pytest.skip("series of several lengths, and an iterable of values, are understood there")
    if entry in MANY and kind in ("sparse", "xarray, dataset"):
        pytest.skip("NumPy says so")
    with pytest.raises((TypeError, ValueError), match=message):
        ALL[entry](make())


@pytest.mark.parametrize("kind", ["text", "dates", "datetime64", "timedelta64", "complex", "unequal lengths"])
@pytest.mark.parametrize("entry", [*ROWS, *SCORES])
def test_refused_rows(entry, kind):
    make, message = REFUSED[kind]
    with pytest.raises((TypeError, ValueError), match=f"{message}|several lengths|has shape|list or dict"):
        ALL[entry](make())


@pytest.mark.parametrize("entry", ONE)
@pytest.mark.parametrize("kind", TABLES)
def test_a_frame_of_several_columns(entry, kind):
    if entry in EITHER:
        with pytest.raises(TypeError, match=r"x is a frame|data is a frame"):
            ONE[entry](TABLES[kind]())
        return
    column = "value" if kind != "pyarrow" else "key"
    with pytest.raises(TypeError, match=rf"frame with the columns 'key', 'value': pick a column, as frame\['{column}'\]"):
        ONE[entry](TABLES[kind]())


@pytest.mark.parametrize(
    ("call", "address"),
    [
        (lambda z: D.fit(z, "normal"), r"fit_many\(x, family, axis=...\).*x\.ravel\(\)"),
        (lambda z: D.compare(z), r"compare_many.*x\.ravel\(\)"),
        (lambda z: D.goodness(z, "normal"), r"x\.ravel\(\)"),
        (lambda z: D.lmoments(z), "pass axis=0"),
        (lambda z: D.fit_many(z, "student_t"), "pass axis=0"),
        (lambda z: ns.stable.fit(z), r"fit_many\(x\.T\).*x\.ravel\(\)"),
        (lambda z: ns.stable.goodness(z), r"fit_many\(x\.T\).*x\.ravel\(\)"),
        (lambda z: ns.mixture.fit(z, 2, family="gamma"), r"family='normal'.*fit_many.*x\.ravel\(\)"),
        (lambda z: ns.mixture.Mixture(2, family="gamma").fit(z), r"family='normal'.*x\.ravel\(\)"),
        (lambda z: ns.mixture.fit_many([z, z], 2, family="gamma"), r"data\[0\] has shape \(30, 2\).*ravel"),
        (lambda z: ns.stable.fit_many([z, z]), r"data\[0\] has shape \(30, 2\).*ravel"),
    ],
)
def test_two_axes_where_one_is_meant(call, address):
    """Columns were pooled, rows of two values fitted, or the advice led to 200 fits of two values."""
    with pytest.raises(ValueError, match=address):
        call(GOOD.reshape(30, 2))


@pytest.mark.parametrize("entry", [*ONE, *POINTS, *MANY])
def test_infinite_values_are_not_missing(entry):
    x = np.where(NOT, np.inf, GOOD)
    for policy in ("omit", "raise"):
        try:
            found = ALL[entry](x, nan_policy=policy)
        except ValueError as error:
            assert "inf" in str(error)  # noqa: PT017
        else:
            assert not np.array_equal(found, ALL[entry](GOOD[~NOT]))


# --- what is counted, warned of and advised ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x: D.fit(x, "gamma"),
        lambda x: D.fit(x, "gamma", method="moments"),
        lambda x: D.fit(x, "gamma", zeros="share"),
        lambda x: D.lmoments(x),
        lambda x: ns.stable.fit(x, "quantile"),
        lambda x: ns.mixture.fit(x, 1, family="normal", rng=0),
        lambda x: ns.mixture.fit(x, 1, family="logistic", rng=0),
        lambda x: D.fit_many([x, GOOD], "gamma"),
        lambda x: D.fit_many(np.stack([x, GOOD]).astype(object), "gamma"),
        lambda x: D.fit_many([x, GOOD], "gamma", method="moments"),
        lambda x: D.lmoments([x, GOOD]),
        lambda x: ns.stable.fit_many([x, GOOD], "quantile"),
        lambda x: ns.mixture.fit_many([x, GOOD], 1, family="normal", rng=0),
        lambda x: ns.mixture.fit_many([x, GOOD], 1, family="logistic", rng=0),
    ],
)
def test_missing_values_are_counted_and_said(call):
    found = call(_with_none())
    many = np.ndim(found.n_missing) == 1
    assert np.ravel(found.n_missing).tolist() == [1, 0][: 1 + many]
    assert "1 missing" in repr(found) and "missing" not in repr(call(GOOD))
    if many:
        one = found.one(0) if hasattr(found, "one") else None if isinstance(found, D.LMoments) else found[0]
        assert one is None or one.n_missing == 1


def test_missing_values_are_no_weights_of_zero():
    w = np.where(np.arange(N) < 3, 0.0, 1.0)
    for family in ("normal", "logistic"):
        found = ns.mixture.fit(HOLED, 1, family=family, weights=w, rng=0)
        assert (found.n_missing, found.n_dropped, found.n_used) == (1, 4, N - 4)
    assert D.fit(HOLED, "gamma", weights=w).n_missing == 1


def test_rows_that_are_left_out_are_counted():
    y = [None, *Y[1:]]
    model = ns.bayes.HorseshoeRegression(**FEW, nan_policy="omit").fit(HOLED[:, None], y)
    assert model.n_missing_ == 2
    want = ns.bayes.HorseshoeRegression(**FEW).fit(GOOD[~NOT][1:, None], Y[~NOT][1:])
    _same(model.coef_, want.coef_)
    classes = ["yes" if v > 0 else "no" for v in Y]
    model = ns.bayes.HorseshoeProbit(**FEW, nan_policy="omit").fit(HOLED[:, None], [None, *classes[1:]])
    assert model.n_missing_ == 2 and model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="y.0. is None.*nan_policy='omit'"):
        ns.bayes.HorseshoeProbit(**FEW).fit(GOOD[:, None], [None, *classes[1:]])
    sparse = pytest.importorskip("scipy.sparse").csr_array(HOLED[:, None])
    assert ns.bayes.HorseshoeRegression(**FEW, nan_policy="omit").fit(sparse, Y).n_missing_ == 1
    with pytest.raises(ValueError, match="callable X"):
        ns.bayes.HorseshoeRegression(**FEW, nan_policy="omit").fit(lambda: iter([(GOOD[:, None], Y)]))


@pytest.mark.parametrize("values", [FLAGS, FLAGS.tolist(), FLAGS.astype(object), [*FLAGS.tolist()[:-1], None]])
def test_true_and_false(values):
    plain = np.array([np.nan if v is None else float(v) for v in values])
    with pytest.warns(UserWarning, match="True and False, taken as 1 and 0, but 'normal' is a distribution of continuous values"):
        found = D.fit(values, "normal")
    assert found.params == D.fit(plain, "normal").params
    for call in (
        lambda x: ns.mixture.fit(x, 1, family="normal", rng=0),
        lambda x: D.fit_many([x, x], "normal"),
        lambda x: D.compare(x, ["normal", "logistic"]),
    ):
        with pytest.warns(UserWarning, match="True and False"):
            call(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert D.fit(values, "poisson").params == D.fit(plain, "poisson").params  # counts, which they are
        ns.kde.grid(values, (0, 1, 3), nan_policy="omit", device="cpu")


@pytest.mark.parametrize(
    "call",
    [
        lambda w: D.fit(GOOD, "gamma", weights=w),
        lambda w: ns.stable.fit(GOOD, "quantile", weights=w),
        lambda w: ns.mixture.fit(GOOD, 1, family="normal", weights=w, rng=0),
        lambda w: ns.kde.grid(GOOD, (0, 15, 9), weights=w, device="cpu"),
        lambda w: _weighted(w),
    ],
)
def test_weights_in_any_form(call):
    weights = np.rint(GOOD) + 1.0
    assert repr(call(weights.astype(object))) == repr(call(weights)) == repr(call([decimal.Decimal(int(w)) for w in weights]))
    with pytest.raises(TypeError, match="weights? is a column of text"):
        call(["a"] * N)
    lost = weights.tolist()
    lost[5] = None
    with pytest.raises(ValueError, match=r"5\b.*(missing|is NaN)|first at index 5|\[5\] is NaN"):
        call(lost)


def _weighted(w):
    return ns.bayes.HorseshoeRegression(**FEW).fit(GOOD[:, None], Y, sample_weight=w).coef_


@pytest.mark.parametrize("kind", [k for k, (_, message) in REFUSED.items() if "timedelta" in message or message == "dates"])
def test_advice_works(kind):
    """The expression that the message names, evaluated, is taken."""
    x = REFUSED[kind][0]()
    with pytest.raises(TypeError) as refused:
        D.fit(x, "normal")
    advice = str(refused.value).partition(" as (" if "dates" in str(refused.value) else "pass ")[2]
    advice = f"({advice}" if "dates" in str(refused.value) else advice
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of zones
        values = eval(advice, {"numpy": np, "x": x})
    assert np.isfinite(ns.kde.KDE(h=1.0, sigma="identity", device="cpu").fit(values).H_).all()


def test_text_of_numbers_is_told_how():
    x = [str(v) for v in GOOD]
    with pytest.raises(TypeError, match=r"numpy.asarray\(x\).astype\('float64'\)"):
        D.fit(x, "gamma")
    with pytest.raises(TypeError) as refused:
        D.fit([*x[:-1], "n/a"], "gamma")
    assert "astype" not in str(refused.value)  # which would fail


def test_columns_that_are_no_numbers_are_named():
    for library in (_pandas(), _polars()):
        frame = _frame(library)
        for call in (lambda f=frame: ns.kde.KDE().fit(f), lambda f=frame: _regression(f, Y)):
            with pytest.raises(TypeError, match=r"not numbers, \['key'\]"):
                call()


def test_lists_of_data_name_their_place():
    with pytest.raises(TypeError, match="series 1 is a column of text, 'a' at index 1"):
        D.fit_many([GOOD, [1.0, "a"]], "gamma")
    with pytest.raises(TypeError, match=r"data\[1\] is a column of text, 'a' at index 59"):
        D.fit_many([GOOD, [*GOOD[1:], "a"]], "gamma")
    for call in (lambda data: ns.stable.fit_many(data), lambda data: ns.mixture.fit_many(data, 1, family="normal")):
        with pytest.raises(TypeError, match=r"data\[1\] is a column of text, 'a' at index 1"):
            call([GOOD, [1.0, "a"]])
    with pytest.raises(ValueError, match="data holds 1 value that is missing .* at index 7 of series 1"):
        D.fit_many([GOOD, HOLED], "gamma", nan_policy="raise")


def test_frames_of_one_column_in_functions_of_many():
    for library in (_pandas(), _polars()):
        frame = library.DataFrame({"a": GOOD})
        _same(D.fit_many(frame, "gamma").params, [list(D.fit(GOOD, "gamma").params.values())])
        assert D.lmoments(frame).moments.shape == (4,)
    frame = _pandas().DataFrame({"a": GOOD})
    assert D.standardise(frame).shape == (N, 1) and list(D.standardise(frame).columns) == ["a"]
