"""The design matrix: small types, memory maps and readers, and coefficients on the scale of X."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

import numbastats as ns
from numbastats.bayes import likelihood
from numbastats.bayes.design import Reader, survey
from numbastats.bayes.likelihood import Rows
from tests.bayes.naive import SAMPLERS, check_passes, data, quick
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


def nearest_bfloat16(x):
    """Eight significant bits, ties to even."""
    m, e = np.frexp(x)
    return np.ldexp(np.rint(m * 256.0) / 256.0, e)


def nearest_of_255(x):
    """Equidistant numbers from the smallest to the largest of each column."""
    low, high = x.min(axis=0), x.max(axis=0)
    return low + (high - low) / 254.0 * np.rint((x - 0.5 * (low + high)) / (high - low) * 254.0) + (high - low) / 2.0


def _outcomes(X, seed=3):
    return X[:, 0] / X[:, 0].std() - 0.2 + np.random.default_rng(seed).standard_normal(len(X)) > 0


def _counts(n=150):
    """Dummies, counts, years and negative numbers."""
    rng = np.random.default_rng(7)
    years, low = rng.integers(1900, 2021, n), -rng.integers(100, 355, n)
    return np.column_stack([rng.integers(0, 2, n), rng.poisson(3.0, n), years, low]).astype(np.float64)


# --- small types -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("lead", [0, 1])
def test_passes_over_integers(lead, device):
    """X = k scale + s shift, s the first stored column: a column of its own, or the intercept's."""
    rng = np.random.default_rng(1)
    stored = rng.integers(-127, 128, (130, 5)).astype(np.int8)
    stored[:, 0] = rng.choice([-1, 1], 130)
    scale, shift = rng.uniform(0.01, 0.02, 5), rng.standard_normal(5)
    scale[0], shift[0] = 1.0, 0.0
    X = stored * scale + stored[:, :1] * shift
    rows = Rows(stored, device, 1, scale[lead:], shift[lead:])
    X = X[:, lead:]
    check_passes(rows, X, 0.4 * rng.standard_normal((2, 5 - lead)))
    np.testing.assert_allclose(rows.gram(), X.T @ X, rtol=1e-13)
    np.testing.assert_allclose(rows.floats(), X, rtol=1e-15)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_passes_over_bfloat16(device):
    rng = np.random.default_rng(1)
    X = nearest_bfloat16(rng.standard_normal((130, 4)))
    stored = (X.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    rows, B = Rows(stored, device, 1), nearest_bfloat16(0.4 * rng.standard_normal((2, 4)))
    assert same(rows.floats(), X.astype(np.float32))
    wide, key = Rows(X, "cpu", 1), (np.uint32(1), np.uint32(2))
    streams = np.array([6, 13], np.uint32)
    got = rows.loglik(B) + rows.latent(B, key, streams, 9)
    want = wide.loglik(B) + wide.latent(B, key, streams, 9)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-5)


def test_storage_does_not_depend_on_workers(monkeypatch):
    monkeypatch.setattr("numbastats._core.launch.PARALLEL_FROM", 0)
    rng = np.random.default_rng(1)
    stored, B = rng.integers(-127, 128, (1003, 37)).astype(np.int8), rng.standard_normal((2, 37))
    one, two = (Rows(stored, "cpu", workers, np.full(37, 0.01)) for workers in (1, 2))
    for a, b in zip(one.loglik(B), two.loglik(B), strict=True):
        assert same(a, b)
    alone = one.loglik(B[1:])
    assert same(alone[0], one.loglik(B)[0][1:]) and same(alone[1], one.loglik(B)[1][1:])


def test_tiles_of_small_types():
    """The sums do not depend on the tile: as many rows as a group, or eight at a time."""
    rng = np.random.default_rng(1)
    stored, B = rng.integers(-127, 128, (100, 400)).astype(np.int8), 0.01 * rng.standard_normal((1, 400))
    rows = Rows(stored, "cpu", 1)
    assert rows.tile == 8
    eight = rows.loglik(B)
    rows.tile = 64
    assert all(same(a, b) for a, b in zip(eight, rows.loglik(B), strict=True))


@pytest.mark.parametrize("options", [dict(sampler="gibbs"), dict(), dict(fit_intercept=False)])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.filterwarnings("ignore:the columns' standard deviations")
def test_integers_are_kept_exactly(options, standardize):
    """The chain is that of float64, in an eighth of the memory."""
    X = _counts()
    y, options = _outcomes(X), dict(draws=20, standardize=standardize) | options
    want = quick(dtype="float64", **options).fit(X, y)
    for given, more in ((X, dict(dtype="int8")), (X.astype(np.int64), dict(dtype=np.int8)), (X, dict(quantize=True))):
        got = quick(**more, **options).fit(given, y)
        assert got._run.chains.rows.X.dtype == np.int8 and got._run.chains.rows.X.shape == (150, 5)
        np.testing.assert_allclose(got.draws_["beta"], want.draws_["beta"], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(got.draws_["intercept"], want.draws_["intercept"], rtol=1e-6, atol=1e-6)


def test_no_more_columns_than_needed():
    """Numbers from -127 to 127 need no shift, and so no column of signs."""
    X = _counts()
    rows = quick(dtype="int8", fit_intercept=False, draws=5).fit(X[:, :2], _outcomes(X))._run.chains.rows
    assert rows.X.shape == (150, 2) and rows.shift is None


def test_wide_data_of_integers():
    X = np.random.default_rng(3).integers(0, 3, (9, 14))
    y = _outcomes(X)
    options = dict(sampler="px-gibbs", draws=20)
    want, got = (quick(dtype=dtype, **options).fit(X, y).draws_["beta"] for dtype in ("float64", "int8"))
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
def test_rounded_columns(standardize):
    """The posterior is that of the rounded numbers."""
    X = np.random.default_rng(3).gamma(2.0, 3.0, (150, 3))
    y, options = _outcomes(X), dict(standardize=standardize, draws=20)
    got = quick(quantize=True, **options).fit(X, y)
    rounded = nearest_of_255(X)
    assert abs(rounded - X).max(axis=0) == pytest.approx(np.ptp(X, axis=0) / 508, rel=0.1)
    signs = np.where(y, 1, -1)[:, None]
    if not standardize:
        np.testing.assert_allclose(got._run.chains.rows.floats() * signs, np.column_stack([np.ones(150), rounded]), rtol=1e-13)
        want = quick(dtype="float64", **options).fit(rounded, y)
        np.testing.assert_allclose(got.draws_["beta"], want.draws_["beta"], rtol=1e-6, atol=1e-9)
    else:
        centred = (rounded - X.mean(axis=0)) / X.std(axis=0)
        np.testing.assert_allclose(got._run.chains.rows.floats()[:, 1:] * signs, centred, rtol=1e-12, atol=1e-12)


def test_bfloat16():
    """The chain of float32 on the numbers of eight significant bits; larger by 2^-9 at most."""
    X = np.random.default_rng(3).standard_normal((150, 3))
    y = _outcomes(X)
    got = quick(dtype="bfloat16", draws=20).fit(X, y)
    want = quick(dtype="float32", draws=20).fit(nearest_bfloat16(X), y)
    stored = got._run.chains.rows
    assert stored.X.dtype == np.uint16 and same(stored.floats(), want._run.chains.rows.X)
    np.testing.assert_allclose(got.draws_["beta"], want.draws_["beta"], rtol=1e-3, atol=1e-4)


BAD_STORAGE = [
    (dict(dtype="int8"), lambda X: X + 0.5, ValueError, "column 0 of X holds numbers that are not integers.*quantize=True"),
    (dict(dtype="int8"), lambda X: X * [1, 1, 3, 1], ValueError, "column 2 of X holds integers from 57.*at most 254"),
    (dict(dtype="float16"), None, TypeError, "'bfloat16', 'int8'"),
    (dict(dtype="none such"), None, TypeError, "'bfloat16', 'int8'"),
    (dict(dtype="float32", quantize=True), None, ValueError, "leave dtype=None"),
]


@pytest.mark.parametrize(("options", "change", "error", "message"), BAD_STORAGE)
def test_bad_storage(options, change, error, message):
    X = _counts()
    with pytest.raises(error, match=message):
        quick(**options).fit(X if change is None else change(X), _outcomes(X))


# --- rows that are read at every pass ------------------------------------------------------------------------------------


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of 128 rows of 5 columns: several in a data set of 500 rows."""
    monkeypatch.setattr(likelihood, "_PART", 700)


def _mapped(folder, X):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def _normal(n=500, p=4, dtype=np.float64):
    X = np.random.default_rng(5).standard_normal((n, p)).astype(dtype)
    return X, _outcomes(X)


class Blocks:
    """Rows and outcomes in blocks of these sizes again and again, all in the same memory; counts its readings."""

    def __init__(self, X, y, sizes):
        self.X, self.y, self.sizes, self.readings = X, y, sizes, 0

    def __call__(self):
        self.readings += 1
        room, lo, i = np.empty((max(self.sizes), self.X.shape[1]), self.X.dtype), 0, 0
        while lo < len(self.X):
            m = min(self.sizes[i % len(self.sizes)], len(self.X) - lo)
            room[:m] = self.X[lo : lo + m]
            yield room[:m], self.y[lo : lo + m]
            lo, i = lo + m, i + 1


@pytest.mark.parametrize("options", [dict(sampler="gibbs"), dict(standardize=True), dict(dtype="float32"), dict(dtype="int8")])
def test_blocks_give_the_draws_of_an_array(options, small_parts, tmp_path):
    """Bit for bit, in blocks of whole chunks, of other sizes, empty ones, as a memory map of either order."""
    X, y = _normal()
    X = np.round(30.0 * X) if "dtype" in options else X
    options = dict(draws=20) | options
    want = quick(**options).fit(X, y)
    readers = [Blocks(X, y, sizes) for sizes in ([64], [128, 64], [1, 0, 300, 7], [1000])]
    fits = [quick(**options).fit(reader) for reader in readers]
    fits += [quick(**options).fit(_mapped(tmp_path, order(X)), y) for order in (np.ascontiguousarray, np.asfortranarray)]
    for got in fits:
        for name in want.draws_:
            assert same(got.draws_[name], want.draws_[name])
        assert same(got.moments_["variance"], want.moments_["variance"])
        assert isinstance(got._run.chains.rows.X, np.ndarray) == (got.dtype == "int8")
    if want.sampler == "gibbs":  # once for the survey, once for X'X, then at every iteration
        assert [reader.readings for reader in readers] == [2 + 80] * 4
    if want.dtype == "int8":
        assert [reader.readings for reader in readers] == [2] * 4
    assert same(fits[0].continue_(5).draws_["beta"], want.continue_(5).draws_["beta"])


def test_blocks_on_the_device(small_parts):
    X, y = _normal(200)
    options = dict(sampler="gibbs", warmup=0, draws=2)
    want = quick(**options).fit(X, y).draws_["beta"]
    got = quick(**options, device="cuda").fit(Blocks(X, y, [50])).draws_["beta"]
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)


def test_more_columns_than_rows_are_held_in_memory(tmp_path):
    X, y = _normal(9, 14)
    options = dict(sampler="auto", draws=10)
    want = quick(**options).fit(X, y)
    for got in (quick(**options).fit(_mapped(tmp_path, X), y), quick(**options).fit(Blocks(X, y, [4]))):
        assert got.sampler_ == "collapsed-gibbs" and same(got.draws_["beta"], want.draws_["beta"])


def _peak(call):
    call()  # loads code, or compiles it
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_memory_map_is_never_copied_whole(dtype, monkeypatch, tmp_path):
    monkeypatch.setattr(likelihood, "_PART", 2**14)
    X, y = _normal(20_000, 30, dtype)
    mapped = _mapped(tmp_path, X)
    model = quick(warmup=50, draws=5, dtype=dtype)
    assert _peak(lambda: model.fit(X, y)) > X.nbytes
    assert _peak(lambda: model.fit(mapped, y)) < 0.6 * X.nbytes  # parts, and vectors of 20,000
    assert _peak(lambda: model.predict_proba(mapped, draws=4)) < 0.6 * X.nbytes
    small = quick(warmup=50, draws=5, quantize=True)
    assert _peak(lambda: small.fit(mapped, y)) < (0.35 if dtype == "float64" else 0.7) * X.nbytes


def test_bad_blocks():
    X, y = _normal()
    model = quick(sampler="gibbs", warmup=2, draws=5)
    pairs = [(X[:300], y[:300]), (X[300:], y[300:])]

    def fails(error, message, *readings, **options):
        source = iter(readings)
        with pytest.raises(error, match=message):
            quick(sampler="gibbs", warmup=2, draws=5, **options).fit(lambda: next(source, readings[-1]))

    with pytest.raises(ValueError, match="y=None"):
        model.fit(Blocks(X, y, [64]), y)
    with pytest.raises(ValueError, match="y=None|y is None"):
        model.fit(X)
    fails(TypeError, "gave a NoneType", None)
    fails(TypeError, "pairs .rows, outcomes., got a ndarray", [X])
    fails(ValueError, "no rows", [])
    fails(ValueError, "two axes", [(X[0], y[:4])])
    fails(ValueError, r"shape \(300, 4\) with outcomes of shape \(200,\)", [(X[:300], y[:200])])
    fails(ValueError, "4 and of 3 columns", [pairs[0], (X[300:, :3], y[300:])])
    fails(ValueError, r"X\[420, 1\] is NaN", [pairs[0], (np.where(X[300:] == X[420, 1], np.nan, X[300:]), y[300:])])
    fails(ValueError, "500 different values", [(X, np.arange(500))])
    again = "same rows in the same order"
    fails(ValueError, f"more than the 300 rows.*{again}", pairs[:1], pairs)
    fails(ValueError, "gave 300 rows, 500 in its first reading", pairs, pairs, pairs[:1])
    once = iter(pairs)
    fails(ValueError, "gave 0 rows, 500 in its first reading; it must return a new iterator", once)
    fails(ValueError, f"3 columns, 4 in.*{again}", pairs, [(X[:, :3], y)])
    changed = ~y
    changed[:417] = y[:417]
    fails(ValueError, f"another outcome for row 417 .*{again}", pairs, pairs, [(X, changed)])
    fails(ValueError, f"other numbers in row 0 .*{again}", pairs, pairs, [(X + 1.0, y)])
    with pytest.raises(ZeroDivisionError):
        model.fit(lambda: (1 / 0 for _ in range(3)))


@pytest.mark.parametrize("entries", [12, 40, 10**6])
def test_survey_of_any_parts(monkeypatch, entries):
    """Moments and ranges of the columns do not depend on how many rows are read at once."""
    monkeypatch.setattr(likelihood, "_PART", entries)
    X = np.random.default_rng(2).standard_normal((57, 4)) * [1.0, 1e3, 1e-5, 1.0] + [3.0, -2e4, 1.0, 0.0]
    X[:, 3] = np.arange(57) % 3
    facts = survey(Reader(X), whole=True)
    np.testing.assert_allclose(facts.mean, X.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(facts.sd, X.std(axis=0), rtol=1e-10)  # observed 1.3e-11 in the third column
    assert same(facts.low, X.min(axis=0)) and same(facts.high, X.max(axis=0)) and (facts.n, facts.p) == X.shape
    assert facts.whole.tolist() == [False, False, False, True]


# --- the scale of X -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_moments_of_standardised_columns(intercept):
    """They are those of the draws on the original scale, where the intercept mixes with all coefficients."""
    X, y = data()
    X = 3.0 * X + 5.0
    options = dict(standardize=True, fit_intercept=intercept)
    draws = quick(**options).fit(X, y).draws_
    flat = np.concatenate([draws["intercept"][:, :, None]] * intercept + [draws["beta"]], axis=2).reshape(80, -1)
    names = {"mean", "variance", "positive"}
    for keep, more in (("moments", set()), ("cov", {"covariance"}), ("draws", set()), ("all", set())):
        moments = quick(keep=keep, **options).fit(X, y).moments_
        assert set(moments) == names | more
        np.testing.assert_allclose(moments["mean"], flat.mean(axis=0), rtol=1e-11)
        np.testing.assert_allclose(moments["variance"], flat.var(axis=0, ddof=1), rtol=1e-9)
        np.testing.assert_allclose(moments["positive"], (flat > 0).mean(axis=0), rtol=1e-12)
    covariance = quick(keep="cov", **options).fit(X, y).moments_["covariance"]
    np.testing.assert_allclose(covariance, np.cov(flat.T), rtol=1e-9, atol=1e-12)


def test_standardised_columns_give_the_original_scale():
    """Scaling and shifting the columns changes nothing but the units."""
    X, y = data(300)
    units, shift = np.array([1.0, 1e3, 1e-3, 50.0]), np.array([0.0, 5e3, 2e-3, -100.0])
    a = quick(standardize=True, draws=400).fit(X, y)
    b = quick(standardize=True, draws=400).fit(X * units + shift, y)
    np.testing.assert_allclose(b.coef_[0] * units, a.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(b.predict_proba(X * units + shift), a.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(b.intercept_ + b.coef_[0] @ shift, a.intercept_, rtol=1e-6)


@pytest.mark.parametrize("sizes", [1e-170, 1e155, [1e-170, 1.0, 1e155, 1e-3]], ids=str)
def test_columns_of_extreme_scale(sizes):
    """Squares of their numbers, and of the coefficients, are beyond the range of double precision."""
    X, y = data()
    units = np.broadcast_to(sizes, 4)
    a, b = (quick(standardize=True).fit(Z, y) for Z in (X, X * units))
    np.testing.assert_allclose(b.coef_[0] * units, a.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(b.predict_proba(X * units), a.predict_proba(X), rtol=1e-6)
    for name in ("sd", "mcse"):
        np.testing.assert_allclose(b.summary()[name][1:5] * units, a.summary()[name][1:5], rtol=1e-6)
    with pytest.warns(UserWarning, match="normal approximation"), pytest.raises(ValueError, match="beyond the range"):
        quick(standardize=True, keep="cov").fit(X * units, y).predict_proba(X)


@pytest.mark.parametrize("options", [dict(), dict(sampler="gibbs"), dict(prior="lasso", slab=2.0), dict(prior="ridge", tau=0.5)])
def test_units_of_small_columns(options):
    """Columns in small units under a prior in large ones: the same posterior. A power of two changes no digit."""
    X, y = data()
    a = quick(keep="all", **options).fit(X, y)
    for unit in (2.0**27, 2.0**90):
        scales = {name: options.get(name, 1.0) * unit for name in ("tau_scale", "tau", "slab") if name in (*options, "tau_scale")}
        b = quick(keep="all", **(options | scales)).fit(X / unit, y)
        np.testing.assert_array_equal(b.draws_["beta"], a.draws_["beta"] * unit)
        np.testing.assert_array_equal(b.draws_["log_lambda"], a.draws_["log_lambda"])
        np.testing.assert_allclose(b.draws_["log_tau"], a.draws_["log_tau"] + np.log(unit), atol=1e-13)  # seen: 1e-14
        np.testing.assert_array_equal(b.predict_proba(X / unit), a.predict_proba(X))


@pytest.mark.parametrize("options", [dict(), dict(sampler="gibbs"), dict(sampler="px-gibbs", warmup=0)], ids=str)
@pytest.mark.parametrize("dtype, scale", [("float32", 1e19), ("float64", 1e160), ("float32", 1e39), ("bfloat16", 1e39)])
def test_rows_or_sums_that_overflow(dtype, scale, options):
    X, y = data()
    with pytest.raises(ValueError, match="scale near 1"):
        quick(dtype=dtype, **options).fit(X * scale, y)
    with pytest.raises(ValueError, match="scale near 1"):
        quick(dtype=dtype, **options).fit(np.tile(X[:3] * scale, 2), y[:3])


@pytest.mark.filterwarnings("ignore:the columns' standard deviations")
@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_huge_column_is_named(kind):
    """More columns than rows: the Cholesky factorisation failed in the middle of the sampling."""
    X = np.random.default_rng(0).standard_normal((5, 9))
    X[:, 7] *= 1e150
    y = np.arange(5) % 2
    with pytest.raises(ValueError, match="column 7 of X has numbers that are too large.*standardize=True"):
        quick(sampler=kind).fit(X, y)
    assert np.isfinite(quick(sampler=kind, standardize=True).fit(X, y).coef_).all()


# --- sparse rows --------------------------------------------------------------------------------------------------------


def sparse_data(n, p, response, density=0.2):
    rng = np.random.default_rng(9)
    S = scipy.sparse.random_array(
        (n, p), density=density, rng=rng, data_sampler=lambda size: rng.integers(1, 6, size), dtype=float
    )
    m = S @ np.r_[1.0, -1.0, 0.5, np.zeros(p - 3)] - 0.3
    y = {"gaussian": m + rng.standard_normal(n), "poisson": rng.poisson(np.exp(0.4 * m))}.get(
        response, m + rng.logistic(size=n) > 0
    )
    return S, y, None if response == "probit" else rng.uniform(0.2, 2.0, n)


def regression(response, **options):
    kind = ns.bayes.HorseshoeRegression if response in ("gaussian", "poisson") else ns.bayes.HorseshoeClassifier
    return kind(**(dict(response=response, chains=2, warmup=50, draws=10, rng=1) | options))


OPTIONS = [{}, {"unpenalized": [4, 1], "groups": [[0, 5]]}, {"fit_intercept": False, "standardize": False}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    ("n", "p", "response"), [(40, 8, "gaussian"), (15, 25, "gaussian"), (15, 25, "logit"), (15, 25, "probit")]
)
def test_sparse_rows_stay_sparse(n, p, response, options, monkeypatch):
    """Draws to rounding, which chains multiply by some factor at every iteration: hence few."""
    S, y, w = sparse_data(n, p, response)
    settings = dict(warmup=5, draws=5, sampler="gibbs" if p < n else "collapsed-gibbs") | options
    want = regression(response, **settings).fit(S.toarray(), y, w)
    with monkeypatch.context() as patch:
        patch.setattr("numbastats.bayes.design.Source.load", None)
        patch.setattr("numbastats.bayes.likelihood.Rows.floats", None)
        model = regression(response, **settings).fit(S.tocsc(), y, w)
        other = regression(response, **settings, workers=1).fit(scipy.sparse.csr_matrix(S), y, w)
    assert same(model.draws_["beta"], other.draws_["beta"])
    for name, values in want.draws_.items():
        np.testing.assert_allclose(model.draws_[name], values, rtol=1e-7, atol=1e-7 * abs(values).max())  # observed 1e-11
    for name, values in want.sample_stats_.items():
        np.testing.assert_allclose(model.sample_stats_[name], values, rtol=1e-7)


@pytest.mark.parametrize("response", ["logit", "probit", "poisson"])
def test_samplers_that_pass_over_rows_take_sparse_ones(response, monkeypatch):
    """Dense in memory or in parts at every pass: equal bits."""
    S, y, w = sparse_data(40, 6, response)
    want = regression(response, sampler="split-hmc").fit(S.toarray(), y, w)
    assert same(regression(response, sampler="split-hmc").fit(S, y, w).coef_, want.coef_)
    monkeypatch.setattr("numbastats.bayes.design._MOST_DENSE", 100)
    with monkeypatch.context() as patch:
        patch.setattr("numbastats.bayes.design.Source.load", None)
        assert same(regression(response, sampler="split-hmc").fit(S, y, w).coef_, want.coef_)
    blocks = lambda: ((S.tocsr()[i : i + 9], y[i : i + 9]) for i in range(0, 40, 9))  # noqa: E731
    unweighted = regression(response, sampler="split-hmc").fit(S, y)
    assert same(regression(response, sampler="split-hmc").fit(blocks).coef_, unweighted.coef_)


@pytest.mark.parametrize("response", ["gaussian", "probit", "logit", "poisson"])
def test_predictions_from_sparse_rows(response):
    S, y, _ = sparse_data(40, 6, response)
    model = regression(response).fit(S, y)
    X = S.toarray()
    close = lambda a, b: np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-11, atol=1e-13)  # noqa: E731
    for form in (S, S.tocsc(), scipy.sparse.csr_matrix(S)):
        close(model.predict(form), model.predict(X))
        close(model.decision_draws(form), model.decision_draws(X))
        close(model.sample_outcomes(form, rng=3), model.sample_outcomes(X, rng=3))
        close(model.loo(form, y)["pointwise"], model.loo(X, y)["pointwise"])
    if response in ("gaussian", "poisson"):
        close(model.predict(S, interval=0.9, kind="outcome"), model.predict(X, interval=0.9, kind="outcome"))
    else:
        close(model.predict_log_proba(S), model.predict_log_proba(X))
    if response == "probit":
        model = regression(response, keep="cov").fit(S, y)
        with pytest.warns(UserWarning, match="normal approximation"):
            close(model.predict_proba(S), model.predict_proba(X))


def test_bad_sparse_rows():
    S, y, _ = sparse_data(40, 6, "gaussian")
    model = regression("gaussian").fit(S, y)
    bad = S.tocsr().copy()
    bad[33, 2] = np.nan
    for call in (lambda: regression("gaussian").fit(bad, y), lambda: model.predict(bad)):
        with pytest.raises(ValueError, match=r"X\[33, 2\] is NaN"):
            call()
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.predict(S.tocsr()[:, :3])
    with pytest.raises(TypeError, match="omplex"):
        regression("gaussian").fit(S.astype(complex), y)


def test_memory_of_sparse_rows():
    """An entry in every column of 400 x 40,000: predictions hold none of the 128 MB of dense rows."""
    rng = np.random.default_rng(1)
    entries = np.ones(40_000), (rng.integers(0, 20, 40_000), np.arange(40_000))
    S = scipy.sparse.csr_array(entries, shape=(400, 40_000))
    model = regression("gaussian", chains=1, warmup=0, draws=1, keep="moments", tau=1e-3).fit(S[:20], rng.standard_normal(20))
    tracemalloc.start()
    try:
        model.predict(S)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8e6 < 8 * 400 * 40_000
