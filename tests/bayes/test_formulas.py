"""Regressions by formulas: the fits are those of the columns that they name."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

import numbastats as ns
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of short runs
FEW = dict(rng=1, chains=2, warmup=60, draws=20)


def test_without_formulaic(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match="pip install formulaic"):
        ns.bayes.fit_formula("y ~ x", None)


def frame():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("formulaic")
    rng = np.random.default_rng(1)
    data = pandas.DataFrame(
        {"x": rng.standard_normal(30), "hours": rng.uniform(1.0, 3.0, 30)}, index=[f"r{i}" for i in range(30)]
    )
    data["ward"] = ["a", "b", "c"] * 10
    data["visits"] = rng.poisson(data["hours"] * np.exp(data["x"]))
    data["often"] = np.where(data["visits"] > 2, "yes", "no")
    data["weight"] = rng.uniform(0.5, 2.0, 30)
    return data


def test_columns_and_offsets():
    data = frame()
    poisson = lambda: ns.bayes.HorseshoeRegression(response="poisson", **FEW)  # noqa: E731
    model = ns.bayes.fit_formula("visits ~ x + ward + offset(log(hours))", data, poisson(), sample_weight="weight")
    assert model.feature_names_in_[0] == "x" and len(model.feature_names_in_) == 4  # no level is left out
    X = np.column_stack([data["x"], *(data["ward"] == w for w in "abc")]).astype(float)
    want = poisson().fit(X, data["visits"].to_numpy(), data["weight"].to_numpy(), offset=np.log(data["hours"].to_numpy()))
    assert same(model.coef_, want.coef_) and list(model.summary()["name"][1:5]) == list(model.feature_names_in_)
    new = data.iloc[[5, 1]].drop(columns=["visits", "weight"])
    for one in (model, pickle.loads(pickle.dumps(model))):
        assert same(one.predict(**one.formula_(new)), want.predict(X[[5, 1]], offset=np.log(new["hours"].to_numpy())))
    with pytest.raises(ValueError, match="fitted with offset="):
        model.predict(model.formula_(new)["X"])
    assert not hasattr(model.fit(X, data["visits"].to_numpy()), "formula_")


def test_left_sides():
    data = frame()
    numbers = ns.bayes.fit_formula("log(visits + 1) ~ x", data, ns.bayes.HorseshoeRegression(**FEW))
    want = ns.bayes.HorseshoeRegression(**FEW).fit(data[["x"]], np.log(data["visits"] + 1.0))
    assert same(numbers.coef_, want.coef_)
    classes = ns.bayes.fit_formula("often ~ x", data, ns.bayes.HorseshoeClassifier(**FEW))
    assert classes.classes_.tolist() == ["no", "yes"]
    ends = {"censored": (data["hours"], data["hours"] + 1.0)}
    times = ns.bayes.fit_formula("~ x", data, ns.bayes.HorseshoeRegression(response="weibull", **FEW), **ends)
    want = ns.bayes.HorseshoeRegression(response="weibull", **FEW).fit(data[["x"]], **ends)
    assert same(times.coef_, want.coef_)


def test_faults_of_formulas_and_frames():
    data = frame()
    model = ns.bayes.fit_formula("visits ~ x + ward", data, ns.bayes.HorseshoeRegression(**FEW))
    new = data.iloc[:2].copy()
    new["ward"] = ["a", "z"]
    with pytest.raises(ValueError, match=r"\{'z'\}.* predict for levels that the fit has seen"):
        model.formula_(new)
    new["ward"] = ["a", None]
    with pytest.raises(ValueError, match="'ward' is missing at row 1"):
        model.formula_(new)
    with pytest.raises(ValueError, match="give the estimator fit_intercept=False"):
        ns.bayes.fit_formula("visits ~ x - 1", data)
    with pytest.raises(TypeError, match="pandas frame"):
        ns.bayes.fit_formula("visits ~ x", {"x": [1.0]})
    for formula, twice in (("visits ~ x + offset(log(hours))", "offset"), ("visits ~ x", "y")):
        with pytest.raises(ValueError, match=f"has {twice}, and so has {twice}=; pass it once"):
            ns.bayes.fit_formula(formula, data, **{twice: "hours"})
    data.loc["r3", "x"] = np.nan
    with pytest.raises(ValueError, match=r"X\[3, 0\] is NaN"):
        ns.bayes.fit_formula("visits ~ x", data, ns.bayes.HorseshoeRegression(**FEW))
    kept = ns.bayes.fit_formula("visits ~ x", data, ns.bayes.HorseshoeRegression(nan_policy="omit", **FEW))
    assert kept.n_missing_ == 1
