"""Tables and the results that print as tables."""

from __future__ import annotations

import copy
import pickle
import statistics

import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats._core.results import SHOWN, Table, estimates, half_width, percent, with_intervals


def test_a_table_prints_columns_in_line():
    table = Table({"name": np.array(["a", "long"]), "value": np.array([1.25, np.nan])})
    assert repr(table).splitlines() == ["name  value", "a      1.25", "long"]
    assert table["value"][0] == 1.25 and list(table) == ["name", "value"]


def test_html_is_escaped():
    assert "<td>&lt;x&gt;</td>" in Table({"name": np.array(["<x>"])})._repr_html_()


def test_a_long_table_leaves_out_its_middle():
    lines = repr(Table({"i": np.arange(10 * SHOWN)})).splitlines()
    assert len(lines) == SHOWN + 2 and lines[1 + SHOWN // 2].strip() == "..." and lines[-1].strip() == str(10 * SHOWN - 1)


def test_an_empty_table():
    assert repr(Table()) == "" and repr(Table({"a": np.empty(0)})) == "a"


def test_frames():
    table = Table({"a": np.arange(3)})
    copy = table.to_frame("dict")
    copy["a"][0] = 7
    assert table["a"][0] == 0
    with pytest.raises(ValueError, match="'pandas', 'polars' or 'dict'"):
        table.to_frame("excel")
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(table.to_frame(), pandas.DataFrame({"a": np.arange(3)}))


def test_intervals_only_where_there_are_standard_errors():
    table = estimates(("a", "b", "c"), [1.0, 2.0, 3.0], [0.5, np.nan, np.inf], 0.95)
    np.testing.assert_allclose(table["lower"], [1.0 - 0.5 * 1.959963984540054, np.nan, np.nan], rtol=1e-15)


def test_fits_print_what_they_estimate():
    x = np.random.default_rng(1).gamma(3.0, 2.0, 500)
    fit = ns.distributions.fit(x, "gamma")
    head, titles, shape, scale = repr(fit).splitlines()
    assert head.startswith('DistributionFit: family "gamma", 500 values, log-likelihood') and head.endswith("converged")
    assert titles.split() == ["parameter", "estimate", "se", "lower", "95", "%", "upper", "95", "%"]
    assert shape.split()[:2] == ["shape", f"{fit.params['shape']:.6g}"] and scale.startswith("scale")
    assert "<table>" in fit._repr_html_()


def test_batches_have_a_row_for_each_series():
    rng = np.random.default_rng(2)
    fits = ns.distributions.fit_many({"a": rng.gamma(3.0, size=90), "b": rng.gamma(2.0, size=80)}, "gamma")
    table = fits.summary()
    assert table["key"].tolist() == ["a", "b"] and table["n_obs"].tolist() == [90.0, 80.0]
    np.testing.assert_array_equal(table["shape"], fits["shape"])
    grid = ns.distributions.fit_many(rng.gamma(3.0, size=(2, 3, 50)), "gamma", axis=-1).summary()
    assert grid["scale"].shape == (6,)


@pytest.mark.slow
def test_stable_fits_print_what_they_estimate():
    x = ns.stable.rvs(1.6, 0.2, size=(3, 400), rng=1)
    fit = ns.stable.fit(x[0])
    lines = repr(fit).splitlines()
    assert lines[0].startswith('StableFit: method "ml", S0, log-likelihood') and len(lines) == 6
    assert [line.split()[0] for line in lines[2:]] == ["alpha", "beta", "loc", "scale"]
    fits = ns.stable.fit_many(x)
    assert repr(fits).startswith('StableFits: 3 data sets, method "ml", S0, 3 converged')
    np.testing.assert_array_equal(fits.summary()["se_loc"], fits.se[:, 2])


# --- the level of intervals


@pytest.mark.parametrize(
    ("level", "text"),
    [(0.95, "95 %"), (0.07, "7 %"), (0.57, "57 %"), (0.995, "99.5 %"), (0.9999, "99.99 %"), (1.0 - 1e-9, "99.9999999 %")],
)
def test_levels_in_words(level, text):
    assert percent(level) == text


@pytest.mark.parametrize("level", [1e-12, 0.1, 0.5, 0.95, 0.999999, 1.0 - 2.0**-53])
def test_half_widths(level):
    """Of SciPy's inverse error function; also next to 1, where (1 + level)/2 is 1."""
    want = np.sqrt(2.0) * scipy.special.erfinv(level) if level < 0.999 else np.sqrt(2.0) * scipy.special.erfcinv(1.0 - level)
    assert half_width(level) == pytest.approx(want, rel=1e-13, abs=1e-16)


def test_the_level_stands_in_the_headings_of_its_ends():
    table = Table({"lower": np.zeros(2), "mean": np.ones(2), "upper": np.full(2, 2.0)}, level=0.9)
    assert repr(table).splitlines()[0] == "lower 90 %  mean  upper 90 %"
    assert "<th>lower 90 %</th>" in table._repr_html_() and "level" not in table._repr_html_()
    assert list(table) == ["lower", "mean", "upper", "level"] and table["level"].tolist() == [0.9, 0.9]
    assert table.to_frame("dict")["level"].tolist() == [0.9, 0.9]
    for again in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table), copy.copy(table)):
        assert repr(again) == repr(table)
    assert repr(Table({"level": np.ones(1), "lower": np.zeros(1)})).splitlines()[0] == "level  lower"  # of the data
    with pytest.raises(ValueError, match='a column "level"'):
        Table({"level": np.ones(1), "lower": np.zeros(1), "upper": np.ones(1)}, level=0.9)
    empty = with_intervals({"a": np.empty(0)}, {"a": (np.empty(0), np.empty(0))}, 0.9)
    assert repr(empty).split() == ["a", "lower_a", "90", "%", "upper_a", "90", "%"]


def gammas():
    return np.random.default_rng(1).gamma(3.0, 2.0, 200)


SINGLE = {
    "distribution": lambda: ns.distributions.fit(gammas(), "gamma"),
    "a limit": lambda: ns.distributions.fit(np.linspace(-1.0, 1.0, 50), "student_t"),
    "zeros": lambda: ns.distributions.fit(np.r_[gammas(), np.zeros(50)], "gamma", zeros="share"),
    "stable": lambda: ns.stable.fit(gammas(), fixed={"alpha": 2.0, "beta": 0.0}),
}


@pytest.mark.parametrize("kind", SINGLE)
def test_fits_say_their_level(kind):
    fit = SINGLE[kind]()
    for shown in (repr(fit), fit._repr_html_(), repr(fit.summary()), fit.summary()._repr_html_()):
        assert "lower 95 %" in shown and "upper 95 %" in shown
    for level in (0.5, 0.9, 0.999):
        table = fit.summary(level)
        assert f"lower {100 * level:g} %" in repr(table) and f"<th>upper {100 * level:g} %</th>" in table._repr_html_()
        width = scipy.stats.norm.ppf(0.5 + 0.5 * level) * np.where(np.isfinite(table["se"]), table["se"], np.nan)
        np.testing.assert_allclose(table["lower"], table["estimate"] - width, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(table["upper"], table["estimate"] + width, rtol=1e-13, atol=1e-300)
        for library in ("dict", "pandas", "polars"):
            if library != "dict":
                pytest.importorskip(library)
            frame = fit.to_frame(library, level=level)
            np.testing.assert_array_equal(frame["level"], np.full(len(table["se"]), level))
            np.testing.assert_array_equal(frame["lower"], table["lower"])
    assert fit.to_frame("dict")["level"][0] == 0.95


MIXTURES = {"normal": ns.mixture.MixtureBatch, "logistic": ns.mixture.ComponentsBatch}


def check_bounds(table, name, level):
    width = statistics.NormalDist().inv_cdf(0.5 + 0.5 * level) * table[f"se_{name}"]
    np.testing.assert_allclose(table[f"lower_{name}"], table[name] - width, rtol=1e-13)
    np.testing.assert_allclose(table[f"upper_{name}"], table[name] + width, rtol=1e-13)
    assert set(table["level"]) == {level}
    for shown in (repr(table), table._repr_html_()):
        assert f"lower_{name} {100 * level:g} %" in shown and f"upper_{name} {100 * level:g} %" in shown


@pytest.mark.parametrize("family", MIXTURES)
def test_mixtures_say_their_level(family):
    rng = np.random.default_rng(3)
    x = np.r_[rng.normal(-3.0, 1.0, 200), rng.normal(3.0, 1.0, 100)]
    options = dict(family=family, se=True, rng=0)
    fit = ns.mixture.fit(x, 2, **options)
    names = ["weight", *fit.parameters]
    for name in names:
        check_bounds(fit.summary(), name, 0.95)
        check_bounds(fit.summary(0.8), name, 0.8)
        assert f"lower_{name} 95 %" in repr(fit) and f"lower_{name} 95 %" in fit._repr_html_()
    assert fit.to_frame("dict", level=0.8)["level"].tolist() == [0.8, 0.8]
    fits = ns.mixture.fit_many([x, x[:150], x[:1]], (1, 2), **options)
    assert isinstance(fits, MIXTURES[family]) and "level" not in fits.summary()
    for name in names:
        check_bounds(fits.summary(0.8), name, 0.8)
    first = fits.summary(0.8)["data_set"] == 0
    np.testing.assert_allclose(fits.summary(0.8)["upper_weight"][first], fits[0].summary(0.8)["upper_weight"], rtol=1e-13)
    without = ns.mixture.fit(x, 2, family=family, rng=0)
    assert "level" not in without.summary() and "%" not in repr(without)
    for ask in (without.summary, ns.mixture.fit_many([x], 1, family=family).summary, lambda v: without.to_frame(level=v)):
        with pytest.raises(ValueError, match="fit with se=True"):
            ask(0.9)


def test_batches_have_intervals_of_a_level_that_is_asked_for():
    rng = np.random.default_rng(2)
    x = rng.gamma(3.0, size=(3, 100))
    fits = ns.distributions.fit_many(x, "gamma")
    stable = ns.stable.fit_many(x, fixed={"alpha": 2.0, "beta": 0.0})
    for many, names in ((fits, ["shape", "scale"]), (stable, ["loc", "scale"])):
        assert "level" not in many.summary() and "level" not in many.to_frame("dict") and "%" not in repr(many)
        for name in names:
            check_bounds(many.summary(0.9), name, 0.9)
        np.testing.assert_array_equal(many.to_frame("dict", level=0.9)["upper_scale"], many.summary(0.9)["upper_scale"])
    np.testing.assert_allclose(fits.summary(0.9)["lower_shape"][1], fits.one(1).summary(0.9)["lower"][0], rtol=1e-13)
    # the ends of a parameter that is called as an end
    cut = ns.distributions.fit_many(x, "truncated_normal", fixed={"lower": 0.0, "upper": 50.0}).summary(0.9)
    head = repr(cut).splitlines()[0]
    assert head.split()[:3] == ["lower", "upper", "loc"] and "lower_loc 90 %" in head and cut["lower_lower"].tolist() == [0.0] * 3
    # limits have intervals in columns of their own
    at = ns.distributions.fit_many([np.linspace(-1.0, 1.0, 50), *x[:, :50]], "student_t").summary(0.9)
    width = scipy.stats.norm.ppf(0.95) * at["limit_se_scale"][0]
    assert at["upper_limit_scale"][0] == pytest.approx(at["limit_scale"][0] + width, rel=1e-13)


def test_a_key_that_is_called_level():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"level": np.repeat([850, 500], 100), "x": gammas()})
    fits = ns.distributions.fit_many(frame, "gamma", by="level")
    assert fits.to_frame()["level"].tolist() == [500, 850] or fits.to_frame()["level"].tolist() == [850, 500]
    with pytest.raises(ValueError, match="give it another name"):
        fits.to_frame(level=0.9)


NO_LEVELS = [
    (95, ValueError, "level=95 is not between 0 and 1; use 0.95 for 95 %"),
    (np.float64(90.0), ValueError, "level=90.0 is not between 0 and 1; use 0.9 for 90 %"),
    (97.5, ValueError, "use 0.975 for 97.5 %"),
    (0.0, ValueError, "level=0.0 is not between 0 and 1; use 0.95 for 95 %"),
    (1, ValueError, "level=1 is not between"),
    (-0.5, ValueError, "level=-0.5 is not between"),
    (np.nan, ValueError, "level=nan is not between"),
    (True, TypeError, "level=True is no number"),
    ("0.95", TypeError, "level='0.95' is no number"),
    ([0.9], TypeError, "is no number"),
    (np.array([0.9]), TypeError, "is no number"),
]


@pytest.mark.parametrize(("level", "error", "text"), NO_LEVELS, ids=lambda v: str(v)[:12])
def test_what_is_no_level_is_refused_alike(level, error, text):
    x = gammas()
    fit = ns.distributions.fit(x, "gamma")
    many = ns.distributions.fit_many([x], "gamma")
    mixed = ns.mixture.fit(x, 1, family="normal", se=True)
    for ask in (
        fit.summary,
        many.summary,
        mixed.summary,
        lambda v: fit.to_frame(level=v),
        lambda v: fit.estimate("shape", level=v),
        lambda v: ns.stable.profile(x, "alpha", level=v),
    ):
        with pytest.raises(error, match=text):
            ask(level)


def test_other_words_for_level_name_it():
    fit = ns.distributions.fit(gammas(), "gamma")
    for word in ("prob", "confidence", "confidence_level", "hdi_prob"):
        for method in (fit.summary, fit.to_frame):
            with pytest.raises(TypeError, match=f"'{word}': use level="):
                method(**{word: 0.9})


def test_what_notebooks_show():
    d = ns.distributions.Gamma(2.0, scale=3.0)
    assert all(word in d._repr_html_() for word in ("<p>Gamma</p>", "<td>shape</td><td>2</td>", "mean of X</td><td>6</td>"))
    assert ns.distributions.Gamma([1.0, 2.0])._repr_html_() == "<code>Gamma(shape=[1.0, 2.0], loc=0.0, scale=1.0)</code>"
    assert ns.distributions.Mixture([d, d])._repr_html_().startswith("<code>Mixture([Gamma")
    model = ns.kde.KDE(bandwidth="scott")
    assert "KDE, not fitted" in model._repr_html_() and "<td>&#x27;scott&#x27;</td>" in model._repr_html_()
    assert "KDE, fitted" in model.fit(np.arange(5.0))._repr_html_()


def test_batches_as_datasets():
    pytest.importorskip("xarray")
    pandas = pytest.importorskip("pandas")
    x = ns.stable.rvs(1.6, 0.0, size=(4, 100), rng=1)
    fits = ns.stable.fit_many(x, "quantile")
    plain = fits.to_xarray()
    assert plain["alpha"].dims == ("data_set",) and plain["alpha"].to_numpy().tolist() == fits.params[:, 0].tolist()
    assert plain.attrs == {"method": "quantile", "param": "S0"} and plain["message"].to_numpy().tolist() == fits.message
    frame = pandas.DataFrame({"a": np.repeat([1, 1, 2, 2], 100), "b": np.repeat(list("vuvu"), 100), "x": x.ravel()})
    two = ns.stable.fit_many(frame, "quantile", by=["a", "b"]).to_xarray().unstack()
    assert two["scale"].dims == ("a", "b") and float(two["scale"].sel(a=2, b="u")) == fits.params[3, 3]
    one = ns.stable.fit_many(frame[["a", "x"]], "quantile", by="a").to_xarray()
    assert one["beta"].dims == ("a",) and one["a"].to_numpy().tolist() == [1, 2]


@pytest.mark.parametrize("family", ["gamma", "logistic"])
def test_mixtures_as_datasets(family):
    pytest.importorskip("xarray")
    x = np.random.default_rng(1).gamma([[2.0], [9.0]], size=(2, 200))
    fits = ns.mixture.fit_many({"a": x[0], "b": x[1]}, [1, 2], family=family, rng=0)
    made = fits.to_xarray()
    assert made["weight"].dims == ("data_set", "component") and made["loglik"].sel(data_set="b") == fits.loglik[1]
    name, values = next(iter(fits.parameters.items()))
    assert np.array_equal(made[name], values, equal_nan=True) and made.attrs["family"] == family
