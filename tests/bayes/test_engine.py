"""Runs: continued, interrupted, stopped by a callback, doubled until the chains agree."""

from __future__ import annotations

import pickle
import re
import signal

import numpy as np
import pytest

import numbastats as ns
from numbastats import config
from numbastats.bayes import chains, engine
from numbastats.bayes.arguments import checked_options
from numbastats.bayes.chains import Chains
from numbastats.bayes.engine import agree
from tests.bayes.naive import SAMPLERS, data, nearly_separable, quick
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


@pytest.mark.parametrize("kind", SAMPLERS)
def test_continued_and_parallel_runs_are_the_same(kind, monkeypatch):
    monkeypatch.setattr("numbastats._core.launch.PARALLEL_FROM", 0)
    X, y = data()
    whole = quick(sampler=kind, workers=1).fit(X, y)
    parts = quick(sampler=kind, draws=15, workers=2).fit(X, y).continue_(25)
    for name in whole.draws_:
        assert same(whole.draws_[name], parts.draws_[name])
    assert same(whole.coef_, parts.coef_) and whole.n_iter_ == parts.n_iter_ == 100
    thin = quick(sampler=kind, draws=20, thin=2).fit(X, y)
    assert same(thin.draws_["beta"], np.ascontiguousarray(whole.draws_["beta"][:, 1::2]))
    assert not same(quick(sampler=kind, rng=5).fit(X, y).coef_, whole.coef_)


@pytest.mark.parametrize(
    ("kind", "warmup"), [("gibbs", 5), pytest.param("split-hmc", 50, marks=pytest.mark.simulator)]
)  # the latter adapts
def test_simulated_device_gives_the_same_chain(kind, warmup):
    X, y = data(70, 3)
    options = dict(sampler=kind, chains=2, warmup=warmup, draws=3)
    host, device = quick(**options, device="cpu").fit(X, y), quick(**options, device="cuda").fit(X, y)
    np.testing.assert_allclose(device.draws_["beta"], host.draws_["beta"], rtol=1e-6, atol=1e-9)


def test_what_is_kept():
    X, y = data()
    full = quick(keep="all").fit(X, y)
    flat = full.draws_["beta"].reshape(-1, 4)
    assert full.draws_["beta"].shape == (2, 40, 4) and full.draws_["log_lambda"].shape == (2, 40, 4)
    assert full.draws_["log_tau"].shape == full.draws_["intercept"].shape == (2, 40)
    np.testing.assert_allclose(full.coef_[0], flat.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(full.moments_["variance"][1:], flat.var(axis=0, ddof=1), rtol=1e-10)
    np.testing.assert_allclose(full.moments_["positive"][1:], (flat > 0).mean(axis=0), rtol=1e-12)
    small = quick(keep="moments").fit(X, y)
    np.testing.assert_allclose(small.moments_["variance"], full.moments_["variance"], rtol=1e-10)
    assert small.draws_ == {} and isinstance(small.converged_, bool)
    with pytest.raises(ValueError, match="keep='draws'"):
        small.predict_proba(X)
    with pytest.raises(ValueError, match="keep='draws'"):
        small.summary()
    middle = quick(keep="cov").fit(X, y)
    a = np.column_stack([full.draws_["intercept"].ravel(), flat])
    np.testing.assert_allclose(middle.moments_["covariance"], np.cov(a.T), rtol=1e-9, atol=1e-12)
    assert same(middle.moments_["variance"], np.diag(middle.moments_["covariance"]).copy())
    with pytest.warns(UserWarning, match="normal approximation"):
        p = middle.predict_proba(X)
    assert abs(p - full.predict_proba(X)).max() < 0.05


def test_moments_of_equal_draws():
    """Of chains that stand still: they have not converged, and nobody divides by 0."""
    model = quick(keep="moments", draws=5).fit(*data())
    model._run.moments.squares[:] = 0.0
    assert not agree(None, model._run.moments)


def test_callback_stops():
    X, y = data()
    seen = []
    model = quick(callback=lambda state: seen.append(state["iteration"]) or state["iteration"] >= 80, callback_every=10).fit(X, y)
    assert seen == [10, 20, 30, 40, 50, 60, 70, 80] and model.draws_["beta"].shape[1] == 20 and not model.converged_
    with pytest.raises(RuntimeError, match="before the first draw"):
        quick(callback=lambda state: True, callback_every=1).fit(X, y)


def test_callback_state():
    X, y = data()
    seen = []
    model = quick(callback=seen.append, callback_every=20, standardize=True).fit(X, y)
    assert [s["iteration"] for s in seen] == [20, 40, 60, 80, 100]
    assert all(s["chain"].tolist() == [0, 1] for s in seen)
    assert all(np.isnan(list(s["ess"].values())).all() for s in seen[:3])  # of the warmup
    draws = model.draws_
    for s in seen[3:]:
        n = s["iteration"] - 60
        norm = np.sqrt((draws["beta"][:, :n] ** 2).sum(axis=2))
        want = {"intercept": draws["intercept"][:, :n], "log_tau": draws["log_tau"][:, :n], "norm": norm}
        assert s["ess"] == pytest.approx({name: ns.bayes.ess_bulk(x) for name, x in want.items()}, rel=1e-12)
        assert same(s["coefficients"][:, 1:], draws["beta"][:, n - 1].copy())
    for s in seen:
        assert s["acceptance"].shape == (2,) and ((s["acceptance"] > 0) & (s["acceptance"] <= 1)).all()
    # one divides before the mean, one after it: roundings
    assert seen[-1]["acceptance"].mean() == pytest.approx(model.stats_["acceptance"], rel=5e-16, abs=0.0)
    bare = []
    quick(callback=bare.append, callback_every=50, fit_intercept=False, tau=1.0, sampler="gibbs").fit(X, y)
    assert list(bare[-1]["ess"]) == ["norm"] and bare[0]["acceptance"].tolist() == [1.0, 1.0]


@pytest.fixture
def usual_interrupts():
    """Ctrl-C as in a terminal: processes in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_keyboard_interrupt(monkeypatch, usual_interrupts):
    """Ctrl-C within an iteration, or an exception from the callback, ends a fit and leaves nothing of it, and ends `continue_`
    with the fit before it, from which it goes on."""
    X, y = data()
    whole = quick().fit(X, y)
    advance = Chains.advance

    def pressed(at):
        def step(self):
            if self.iteration == at:
                signal.raise_signal(signal.SIGINT)
            return advance(self)

        return step

    def callback(state):
        raise KeyboardInterrupt

    by_key, by_callback = (quick(draws=10).fit(X, y) for _ in range(2))  # 60 iterations of warmup
    before = by_key.draws_["beta"]
    with monkeypatch.context() as patch:
        for at in (30, 84):
            patch.setattr(Chains, "advance", pressed(at))
            model = quick()
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, y)
            assert not hasattr(model, "coef_") and not hasattr(model, "draws_")
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with pytest.raises(KeyboardInterrupt):
            by_key.continue_(40)
    with pytest.raises(KeyboardInterrupt):
        quick(callback=callback, callback_every=85).fit(X, y)
    by_callback.set_params(callback=callback, callback_every=85)
    with pytest.raises(KeyboardInterrupt):
        by_callback.continue_(40)
    for model in (by_key, by_callback):
        assert model.n_iter_ == 70 and same(model.draws_["beta"], before)
        model.callback = None
        model.continue_(15)  # from iteration 85, where it was interrupted
        for name in whole.draws_:
            assert same(model.draws_[name], whole.draws_[name])


@pytest.mark.slow
def test_draws_until_the_chains_agree():
    """By default; the first ones are those of a shorter fit. With a given number there are so many."""
    X, y = nearly_separable()
    first = ns.bayes.HorseshoeProbit(draws=1000, rng=1).fit(X, y)
    assert not first.converged_ and first.draws_["beta"].shape[1] == 1000
    model = ns.bayes.HorseshoeProbit(rng=1).fit(X, y)
    n = model.draws_["beta"].shape[1]
    assert model.converged_ and n in (2000, 4000, 8000)  # observed: 4000
    assert model.draws is None and model.n_iter_ == 1000 + n
    assert same(np.ascontiguousarray(model.draws_["beta"][:, :1000]), first.draws_["beta"])
    half = ns.bayes.HorseshoeProbit(draws=n // 2, rng=1).fit(X, y)
    assert not half.converged_
    assert same(half.continue_(n // 2).draws_["beta"], model.draws_["beta"])
    assert ns.bayes.HorseshoeProbit(rng=1, slab=3.0).fit(*data(300)).draws_["beta"].shape == (4, 1000, 4)


@pytest.mark.slow
def test_breast_cancer_by_default():
    """R-hat was 1.07 and the ESS 59 after the 1000 draws of the former default."""
    cancer = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    model = ns.bayes.HorseshoeProbit(standardize=True, rng=1).fit(cancer.data, cancer.target == 0)
    assert model.converged_ and model.summary()["rhat"].max() < 1.01 and model.summary()["ess_bulk"].min() >= 400


@pytest.mark.slow
def test_limits_of_the_number_of_draws(monkeypatch):
    def goals(n, p, **options):
        return engine.goals(checked_options(ns.bayes.BayesProbit(**options).get_params()), n, p)

    assert goals(569, 31) == [1000 + 1000 * 2**i for i in range(7)]
    assert goals(10_000, 100) == [2000, 3000, 5000] and goals(10**6, 1000) == goals(100, 2000) == [2000]
    assert goals(569, 31, draws=300, thin=2, warmup=50) == [650] and goals(569, 31, thin=30)[-1] == 1000 + 4000 * 30
    X, y = nearly_separable()
    monkeypatch.setattr("numbastats.bayes.engine._MOST_DRAWS", 2000)
    with pytest.warns(ns.ConvergenceWarning, match="4 x 2000 draws"):
        model = ns.bayes.HorseshoeProbit(rng=1).fit(X, y)
    assert model.draws_["beta"].shape[1] == 2000
    monkeypatch.setattr("numbastats.bayes.engine.free_memory", lambda: 2.0 * 8 * 4 * 1000 * (11 + 2))
    assert ns.bayes.HorseshoeProbit(rng=1).fit(X, y).draws_["beta"].shape[1] == 1000
    assert ns.bayes.HorseshoeProbit(rng=1, keep="moments").fit(X, y).n_iter_ == 3000
    stop = lambda state: state["iteration"] == 1500  # noqa: E731
    model = ns.bayes.HorseshoeProbit(rng=1, callback=stop, callback_every=100).fit(X, y)
    assert model.n_iter_ == 1500 and not model.converged_


def test_interrupted_between_doublings(monkeypatch, usual_interrupts):
    """While the chains are compared: not sampled on, and not lost."""
    X, y = nearly_separable()

    def pressed(x, moments):
        signal.raise_signal(signal.SIGINT)
        return agree(x, moments)

    monkeypatch.setattr(engine, "agree", pressed)
    for draws in (None, 1000):
        model = ns.bayes.HorseshoeProbit(rng=1, draws=draws)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert not hasattr(model, "coef_")


@pytest.mark.slow
def test_remedies_of_disagreement():
    """The warning says what disagrees, and which options with which values help."""
    X, y = nearly_separable()
    with pytest.warns(ns.ConvergenceWarning) as caught:
        model = ns.bayes.HorseshoeProbit(draws=1000, rng=1).fit(X, y)
    table, text = model.summary(), str(caught[0].message)
    worst, slowest = table["name"][table["rhat"].argmax()], table["name"][table["ess_bulk"].argmin()]
    assert f"R-hat is {table['rhat'].max():.3f} ({worst};" in text
    assert f"bulk ESS {table['ess_bulk'].min():.0f} ({slowest};" in text
    assert "4 x 1000 draws" in text and "slab=3.0" in text and "standardize=True" in text and caught[0].filename == __file__
    draws, more = map(int, re.search(r"draws=(\d+) \(or continue_\((\d+)\)\)", text).groups())
    assert draws == 1000 + more and more * table["ess_bulk"].min() / 1000 > 400
    assert ns.bayes.HorseshoeProbit(draws=draws, rng=1).fit(X, y).converged_
    with pytest.warns(ns.ConvergenceWarning) as caught:
        ns.bayes.HorseshoeProbit(draws=50, rng=1, slab=3.0, standardize=True).fit(X, y)
    assert "slab=" not in str(caught[0].message) and "standardize=" not in str(caught[0].message)
    for options, text in ((dict(draws=3), "4 draws and 2 chains"), (dict(draws=300, keep="moments"), "their means differ")):
        with pytest.warns(ns.ConvergenceWarning, match=text):
            ns.bayes.HorseshoeProbit(rng=1, **options).fit(X, y)


def test_remedies_of_chains_that_draws_do_not_help(monkeypatch):
    """They were told to draw 300 times as often; at most 10 times, or what else to do."""
    X, y = nearly_separable()
    monkeypatch.setattr(engine, "ess_bulk", lambda x: np.full(x.shape[-1], 3.0))
    for options, expected in (({}, "slab=3.0"), (dict(slab=3.0, standardize=True), "Use fewer columns")):
        with pytest.warns(ns.ConvergenceWarning, match=f"hardly do .more than 10000 a chain.*{expected}") as caught:
            ns.bayes.HorseshoeProbit(draws=50, warmup=100, rng=1, **options).fit(X, y)
        assert "draws=" not in str(caught[0].message)
    with pytest.warns(ns.ConvergenceWarning, match=r"Use .*np.sqrt\(y\)\) finds to matter, .* columns \(11\) than rows \(8\)"):
        ns.bayes.HorseshoeRegression(response="poisson", sampler="split-hmc", draws=4, warmup=50, rng=1).fit(
            X[:8], np.arange(8.0)
        )
    monkeypatch.setattr(engine, "rhat", lambda x: np.full(x.shape[-1], 1.2))
    with pytest.warns(ns.ConvergenceWarning, match=r"mean log-likelihoods are (-\d+\.\d, ){3}-\d+\.\d\. More"):
        ns.bayes.HorseshoeProbit(draws=50, warmup=100, sampler="split-hmc", rng=1).fit(X, y)


def test_unpickled_models_have_no_data():
    """All but `continue_` works."""
    X, y = data()
    model = quick(draws=5).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(AttributeError, match="no data to continue on"):
        again.continue_(5)
    assert model.continue_(5).draws_["beta"].shape[1] == 10


def test_blas_has_one_thread_while_chains_run(monkeypatch):
    """500 columns took 17 times as long with two threads on two busy cores; the number before comes back, nested or not."""
    calls, now = [], [4]
    put = lambda n: (calls.append(n), now.__setitem__(0, n))  # noqa: E731
    monkeypatch.setattr(chains, "_openblas", lambda: [(lambda: now[0], put)])
    with chains.one_blas_thread(100, 5000):
        with chains.one_blas_thread(100, 5000):
            assert now == [1]
        assert now == [1]
    assert now == [4] and calls == [1, 1, 4]
    with chains.one_blas_thread(5000, 5000):
        assert now == [4]
    seen = []
    quick(callback=lambda state: seen.append(now[0]), callback_every=10).fit(*data())
    assert set(seen) == {1} and now == [4]


def test_threads_of_blas_are_found():
    """In the wheels of NumPy and SciPy, which bring OpenBLAS."""
    found = chains._openblas()
    if not found:
        pytest.skip("another BLAS")
    before = [get() for get, _ in found]
    with chains.one_blas_thread(100, 5000):
        assert [get() for get, _ in found] == [1] * len(found)
    assert [get() for get, _ in found] == before


def test_a_fit_asks_for_its_threads_once(monkeypatch):
    """Not at every pass: options of the process are read as often by a long fit as by a short one."""
    asked, get = [], config.get
    monkeypatch.setattr(config, "get", lambda name: asked.append(name) or get(name))
    X, y = data()
    counts = []
    for draws in (5, 5, 50):  # the first one loads kernels
        asked.clear()
        quick(draws=draws, sampler="split-hmc").fit(X, y)
        counts.append(len(asked))
    assert counts[1] == counts[2] < 10
