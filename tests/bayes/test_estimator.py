"""The estimator: files, names, clones, scikit-learn."""

from __future__ import annotations

import errno
import pickle

import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from tests.bayes.naive import data, quick
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


def test_a_refit_that_fails_leaves_nothing_or_all():
    X, y = data()
    model = quick().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="scale near 1"):
        model.fit(X[:, :2] * 1e160, np.where(y, "b", "a"))
    assert same(model.predict_proba(X), before) and set(model.predict(X)) <= set(y) and model.n_features_in_ == 4
    model.set_params(callback=lambda state: True, callback_every=1)
    with pytest.raises(RuntimeError, match="before the first draw"):
        model.fit(X[:, :2], y)
    assert set(vars(model)) == set(model.get_params())
    with pytest.raises(ns.NotFittedError, match="not fitted"):
        model.predict(X)


def test_parameters_set_after_a_fit_are_for_the_next_one(tmp_path):
    X, y = data()
    whole = quick(standardize=True, draws=60).fit(3.0 * X + 5.0, y)
    model = quick(standardize=True, draws=40).fit(3.0 * X + 5.0, y)
    model.set_params(standardize=False, fit_intercept=False, tau=1.0, thin=3, keep="all", warmup=70).continue_(20)
    assert all(same(model.draws_[name], whole.draws_[name]) for name in whole.draws_)
    table, want = model.summary(), whole.summary()
    assert all(table[name].tolist() == want[name].tolist() for name in want)
    model.save(tmp_path / "model")
    assert ns.bayes.BayesProbit.load(tmp_path / "model").intercept_ == whole.intercept_


def test_names_of_columns_and_models_without_intercept(tmp_path):
    """Saved models keep the names; the normal approximation without an intercept."""
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=["a", "b", "length in m", "d"])
    model = quick(keep="cov", fit_intercept=False).fit(frame, y)
    model.save(tmp_path / "model.npz")
    loaded = ns.bayes.BayesProbit.load(tmp_path / "model.npz")
    assert loaded.feature_names_in_.tolist() == frame.columns.tolist()
    mean, covariance = model.moments_["mean"], model.moments_["covariance"]
    want = scipy.special.ndtr(X @ mean / np.sqrt(1 + np.sum(X @ covariance * X, axis=1)))
    with pytest.warns(UserWarning, match="normal approximation"):
        np.testing.assert_allclose(loaded.predict_proba(frame)[:, 1], want, rtol=1e-13)
        with pytest.raises(ValueError, match="in that order"):
            loaded.predict(frame[["b", "a", "length in m", "d"]])


def test_a_full_disk_leaves_the_saved_model_as_it_was(tmp_path, monkeypatch):
    X, y = data()
    model, path = quick().fit(X, y), tmp_path / "model.npz"
    model.save(path)
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"some of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(OSError, match="No space"):
            model.save(path)
        with pytest.raises(OSError, match="No space"):
            model.save(tmp_path / "other")
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["model.npz"]
    link = tmp_path / "link"
    link.symlink_to(path)
    path.chmod(0o640)
    quick(rng=5).fit(X, y).save(link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640 and path.read_bytes() != before


def test_priors_of_loaded_models(tmp_path):
    X, y = data()
    quick(prior="ridge").fit(X, y).save(tmp_path / "ridge")
    model = ns.bayes.HorseshoeProbit(warmup=60, draws=40, rng=4).fit(X, y)
    model.save(tmp_path / "horseshoe")
    assert ns.bayes.BayesProbit.load(tmp_path / "ridge").prior == "ridge"
    for kind in (ns.bayes.BayesProbit, ns.bayes.HorseshoeProbit):
        loaded = kind.load(tmp_path / "horseshoe")
        assert type(loaded) is kind and loaded.prior == "horseshoe" and loaded.draws == 40
        loaded.save(tmp_path / "again")
        assert kind.load(tmp_path / "again").warmup == 60
    with pytest.raises(ValueError, match="prior='ridge'; use BayesProbit.load"):
        ns.bayes.HorseshoeProbit.load(tmp_path / "ridge")


def test_column_names():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = quick().fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd") and model.summary()["name"][1] == "a"
    assert same(model.predict_proba(frame), model.predict_proba(X))
    with pytest.raises(ValueError, match="in that order"):
        model.predict(frame[list("dcba")])
    assert not hasattr(model.fit(X, y), "feature_names_in_") and model.summary()["name"][1] == "x0"


def test_parameters_and_clones():
    for model, written in (
        (ns.bayes.HorseshoeProbit(draws=7, rng=1), "HorseshoeProbit(draws=7, rng=1)"),
        (ns.bayes.BayesProbit("ridge", draws=7), "BayesProbit(prior='ridge', draws=7)"),
        (ns.bayes.BayesProbit("horseshoe", draws=7), "BayesProbit(draws=7)"),
    ):
        assert repr(model) == written
        assert eval(written, vars(ns.bayes)).get_params() == model.get_params()
    options = ns.bayes.BayesProbit(draws=7, rng=1).get_params()
    assert options.pop("prior") == "horseshoe"  # with the same defaults
    model = ns.bayes.HorseshoeProbit(draws=7, rng=1)
    assert model.get_params() == options and model.prior == "horseshoe"
    assert type(model)(**model.get_params()).get_params() == model.get_params()
    assert model.set_params(draws=9).draws == 9
    with pytest.raises(ValueError, match="not a parameter"):
        model.set_params(nonsense=1)
    with pytest.raises(ns.NotFittedError, match="not fitted"):
        model.predict_proba(np.zeros((1, 1)))
    assert dir(ns.bayes) == sorted(ns.bayes.__all__)


def test_not_fitted_for_scikit_learn():
    exceptions = pytest.importorskip("sklearn.exceptions")
    for method in ("predict", "predict_proba", "decision_draws", "loo"):
        with pytest.raises(exceptions.NotFittedError, match="not fitted") as caught:
            getattr(ns.bayes.BayesProbit(), method)(*[np.zeros((1, 1))] * (2 if method == "loo" else 1))
        assert isinstance(caught.value, ns.NotFittedError)
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value) and again.args == caught.value.args


def test_not_fitted_without_scikit_learn(run_python):
    """It is not imported for the error's sake."""
    code = """if True:
        import sys, numbastats as ns
        try:
            ns.bayes.BayesProbit().predict([[1.0]])
        except ns.NotFittedError as error:
            print(type(error) is ns.NotFittedError, "sklearn" in sys.modules)"""
    assert run_python(code).split() == ["True", "False"]


def test_inside_scikit_learn():  # Mixture and KDE share the mechanism
    pytest.importorskip("sklearn")
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = data()
    model = quick(warmup=50, draws=20)
    assert clone(model).get_params() == model.get_params() and is_classifier(model)
    search = GridSearchCV(make_pipeline(StandardScaler(), model), {"bayesprobit__prior": ["ridge", "horseshoe"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.6
    w = np.arange(len(y))
    fitted = search.best_estimator_
    assert fitted.score(X, y, sample_weight=w) == pytest.approx(w @ (fitted.predict(X) == y) / w.sum(), rel=1e-14)
    logs = cross_val_predict(model, X, y, cv=2, method="predict_log_proba")
    assert logs.shape == (len(y), 2) and (logs < 0).all()
    assert not model.__sklearn_tags__().classifier_tags.multi_class
