"""`workers=` that call functions elsewhere: executors, joblib, pools, a dask client of two processes; one that dies."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import numbastats as ns
from numbastats._core import slabs
from numbastats._core.parallel import is_executor, mapped, shares
from numbastats.bayes.engine import Spread
from numbastats.kde import distributed, engine

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")
SETS = [np.random.default_rng(i).gamma(2.0, size=40 + i) for i in range(9)]
ROWS = [np.random.default_rng(i).normal(size=(40 + i, 2)) for i in range(9)]
POINTS = np.random.default_rng(1).normal(size=(900, 2))
AXES = [(-4.0, 4.0, 17), (-4.0, 4.0, 19)]
X = np.random.default_rng(2).normal(size=(120, 3))
Y = X[:, 0] + np.random.default_rng(3).normal(size=120) > 0


class Pool:
    """As multiprocessing's, or ray's: it maps, and has no `submit`."""

    def map(self, function, items):
        return list(map(function, items))


class Futures:
    """As a dask client: it submits, and `map` takes no iterators."""

    def __init__(self, pool):
        self.pool = pool

    def submit(self, function, item):
        return self.pool.submit(function, item)

    def map(self, function, items):
        raise TypeError("Dask no longer supports mapping over Iterators")


@pytest.fixture(params=["threads", "joblib", "map", "submit"])
def executor(request):
    with ThreadPoolExecutor(2) as pool:
        if request.param == "joblib":
            yield pytest.importorskip("joblib").Parallel(n_jobs=2, prefer="threads")
        else:
            yield {"threads": pool, "map": Pool(), "submit": Futures(pool)}[request.param]


def _probit(workers, **options):
    return ns.bayes.HorseshoeProbit(chains=3, warmup=60, draws=30, rng=5, workers=workers, **options).fit(X, Y)


CALLS = {
    "ndtri": lambda **o: ns.quantile.ndtri(np.linspace(0.0, 1.0, 9001), **o),
    "draws": lambda **o: ns.random.gamma(0.5, size=9001, rng=1, **o),
    "stable.fit_many": lambda **o: ns.stable.fit_many(SETS, "quantile", **o).params,
    "stable.goodness": lambda **o: ns.stable.goodness(SETS[0], method="quantile", draws=19, rng=1, **o).simulated,
    "mixture.fit_many": lambda **o: ns.mixture.fit_many(SETS, 1, family="gamma", rng=0, **o).centres,
    "mixture.fit_many, rows": lambda **o: ns.mixture.fit_many(ROWS, 2, rng=0, **o).covariances,
    "distributions.fit_many": lambda **o: ns.distributions.fit_many(dict(enumerate(SETS)), "gamma", **o).params,
    "distributions.fit_many, nig": lambda **o: ns.distributions.fit_many(SETS[:3], "nig", **o).params,
    "distributions.standardise": lambda **o: ns.distributions.standardise(np.stack([s[:40] for s in SETS]), **o),
    "kde.points": lambda **o: ns.kde.points(POINTS, POINTS[:100], **o),
    "KDE.score_samples": lambda **o: ns.kde.KDE(**o).fit(POINTS).score_samples(POINTS[:100]),
}


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of the nig fits, at their limit
@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_as_threads(name, executor, monkeypatch):
    monkeypatch.setattr(slabs, "SLAB", 4096)
    monkeypatch.setattr(engine, "POINTS", 30)
    call = CALLS[name]
    np.testing.assert_array_equal(call(workers=executor), call(workers=1))


def test_densities_on_grids(executor, monkeypatch):
    """The same bits as by the functions, and within the bound of what threads give."""
    monkeypatch.setattr(distributed, "SHARE", 100)
    plan = ns.kde.plan(POINTS, AXES)
    want = ns.kde.finalize(ns.kde.partial(POINTS, plan), plan)
    got = ns.kde.grid(POINTS, AXES, workers=executor)
    np.testing.assert_array_equal(got, want)
    assert abs(got - ns.kde.grid(POINTS, AXES)).max() < 1e-12 * want.max()
    model = ns.kde.KDE(workers=executor, kernel="biweight", bandwidth="scott").fit(POINTS, sample_weight=np.arange(900.0) + 1)
    alone = ns.kde.KDE(kernel="biweight", bandwidth="scott").fit(POINTS, sample_weight=np.arange(900.0) + 1)
    want = alone.grid(AXES)
    assert abs(model.grid(AXES) - want).max() < 1e-12 * want.max()
    assert (model.method_used_, model.n_outside_) == ("rows-b", alone.n_outside_) and 0 < model.error_bound_ < 1e-9


def test_what_executors_do_not_sum():
    pool = Pool()
    for name, options in {
        "boundary": {"boundary": {0: ("reflect", -4.0, None)}},
        "kernel": {"kernel": "gaussian"},
        "method": {"method": "ep"},
        "derivative": {"derivative": 0},
        "device": {"device": "cuda"},
    }.items():
        with pytest.raises(ValueError, match=f"no other {name}=; pass workers= as a number"):
            ns.kde.grid(POINTS, AXES, workers=pool, **options)
    with pytest.raises(ValueError, match="kde.partial and kde.finalize run in threads"):
        ns.kde.partial(POINTS, workers=pool, plan=ns.kde.plan(POINTS, AXES))
    with pytest.raises(ValueError, match="Executors are taken by .*fit_many.*scale.md"):
        ns.mixture.pdf(1.0, [1.0], [1.0], [1.0], family="gamma", workers=pool)
    with pytest.raises(ValueError, match="an executor samples every chain.*callback"):
        _probit(pool, callback=print)
    with pytest.raises(ValueError, match="not understood; use None.*joblib.Parallel"):
        ns.quantile.ndtri(0.5, workers="all")


@pytest.mark.parametrize("options", [{"sampler": "gibbs"}, {"sampler": "split-hmc"}, {"sampler": "gibbs", "prior": "horseshoe+"}])
def test_chains(options, executor):
    """Every chain by itself: of Gibbs sampling, without adaptation, the draws that chains have side by side."""
    model = ns.bayes.BayesProbit if "prior" in options else ns.bayes.HorseshoeProbit
    if "prior" in options:
        model, options = ns.bayes.HorseshoeClassifier, options | {"response": "probit", "slab": None}
    fit = lambda workers: model(chains=3, warmup=60, draws=30, rng=5, workers=workers, **options).fit(X, Y)  # noqa: E731
    got, want = fit(executor), fit(1)
    assert got.draws_["beta"].shape == (3, 30, 3)
    if options["sampler"] == "gibbs":
        np.testing.assert_allclose(got.draws_["beta"], want.draws_["beta"], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(got.moments_["variance"], want.moments_["variance"], rtol=1e-6)
    again = fit(Pool())
    np.testing.assert_array_equal(got.draws_["beta"], again.draws_["beta"])
    np.testing.assert_array_equal(got.predict_proba(X), again.predict_proba(X))
    assert got.stats_["acceptance"] == again.stats_["acceptance"] and got.sampler_ == options["sampler"]


def test_chains_that_go_on(executor):
    import pickle

    longer = ns.bayes.HorseshoeProbit(chains=3, warmup=60, draws=50, rng=5, workers=executor).fit(X, Y)
    model = _probit(executor).continue_(20)
    assert isinstance(model._run, Spread)
    np.testing.assert_array_equal(model.draws_["beta"], longer.draws_["beta"])
    kept = pickle.loads(pickle.dumps(_probit(executor)))
    assert kept.workers is None
    np.testing.assert_array_equal(kept.continue_(20).draws_["beta"], longer.draws_["beta"])


def test_more_columns_than_rows(executor):
    wide = ns.random.normal(size=(20, 30), rng=8)
    fit = lambda w: ns.bayes.HorseshoeProbit(chains=2, warmup=5, draws=10, rng=1, workers=w, sampler="gibbs").fit(wide, Y[:20])  # noqa: E731
    np.testing.assert_allclose(fit(executor).draws_["beta"], fit(1).draws_["beta"], rtol=1e-6, atol=1e-9)


def test_regression_by_an_executor(executor):
    y = X @ [1.0, 0.0, 2.0] + ns.random.normal(size=120, rng=3)
    fit = lambda w: ns.bayes.HorseshoeRegression(chains=2, warmup=20, draws=20, rng=1, workers=w).fit(X, y)  # noqa: E731
    got, want = fit(executor), fit(1)
    np.testing.assert_allclose(got.draws_["beta"], want.draws_["beta"], rtol=1e-6)
    np.testing.assert_allclose(got.draws_["log_sigma"], want.draws_["log_sigma"], rtol=1e-6)


def test_estimators_are_pickled_without_executors():
    import pickle

    with ThreadPoolExecutor(1) as pool:
        model = pickle.loads(pickle.dumps(ns.kde.KDE(workers=pool).fit(POINTS)))
    assert model.workers is None
    np.testing.assert_array_equal(model.score_samples(POINTS[:9]), ns.kde.KDE().fit(POINTS).score_samples(POINTS[:9]))


def test_results_come_in_order_and_the_rest_is_cancelled():
    with ThreadPoolExecutor(1) as pool:
        results = mapped(pool, lambda i: i * i, iter(range(100)))
        assert [next(results) for _ in range(3)] == [0, 1, 4]
        results.close()
    assert not is_executor(None) and not is_executor(2) and is_executor(Pool())
    assert [len(s) for s in shares(list(range(130)))] == [3] * 43 + [1]


def test_an_exception_of_a_call_is_raised():
    def call(i):
        if i == 3:
            raise TimeoutError("of the call itself")
        return i

    with ThreadPoolExecutor(2) as pool, pytest.raises(TimeoutError, match="of the call"):
        list(mapped(pool, call, range(9)))


CLUSTER = """
import os, pathlib, signal, sys, warnings
import numpy as np
import numbastats as ns

def fits(workers):
    sets = [ns.random.gamma(2.0, size=200 + i, rng=i) for i in range(40)]
    return (ns.mixture.fit_many(sets, 2, family="gamma", rng=0, workers=workers).centres,
            ns.stable.fit_many(sets[:8], workers=workers).params,
            ns.distributions.fit_many(sets, "gamma", workers=workers).params)

def dying(item):
    mark = pathlib.Path(sys.argv[1]) / "died"
    if item == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item

if __name__ == "__main__":
    import dask, dask.array as da
    from dask.distributed import Client, LocalCluster

    dask.config.set({"distributed.worker.daemon": True})
    x = ns.random.normal(size=(40_000, 2), rng=1)
    axes = [(-4.0, 4.0, 41), (-4.0, 4.0, 43)]
    blocks = da.from_array(x, chunks=(5000, 2))
    shares = np.split(x, 8)
    plan = ns.kde.plan(ns.kde.combine([ns.kde.partial(s) for s in shares]), axes)
    want = ns.kde.finalize(ns.kde.combine([ns.kde.partial(s, plan) for s in shares]), plan)
    y = x[:100, 0] > 0
    warnings.simplefilter("ignore", ns.ConvergenceWarning)
    two = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with LocalCluster(**two) as cluster, Client(cluster) as client:
        print("fits", all(np.array_equal(a, b) for a, b in zip(fits(client), fits(1))))
        print("grid of blocks", np.array_equal(ns.kde.grid(blocks, axes), want))
        print("grid", abs(ns.kde.grid(x, axes, workers=client) - want).max() < 1e-12 * want.max())
        chains = lambda w: ns.bayes.HorseshoeProbit(chains=2, warmup=60, draws=20, rng=1, workers=w).fit(x[:100], y).coef_
        class Here:
            map = staticmethod(map)
        print("chains", np.array_equal(chains(client), chains(Here())))
        table = ns.distributions.student_t(4.0)
        u = da.from_array(np.linspace(0.01, 0.99, 999), chunks=100)
        print("a frozen distribution", np.array_equal(table.ppf(u).compute(), table.ppf(u.compute())))
        print("alive", len(client.scheduler_info()["workers"]))
        from numbastats._core.parallel import mapped
        print("after a death", list(mapped(client, dying, range(12))) == [i * i for i in range(12)])
    print("died", (pathlib.Path(sys.argv[1]) / "died").exists())
"""


@pytest.mark.slow
def test_a_dask_cluster_of_two_processes(tmp_path):
    """The same bits as in one process; a worker that is killed in the middle of a batch loses nothing."""
    pytest.importorskip("distributed")
    script = tmp_path / "job.py"
    script.write_text(CLUSTER)
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    env |= {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=1800, env=env)
    lines = [line.rpartition(" ")[::2] for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert dict(lines) == {
        "fits": "True",
        "grid of blocks": "True",
        "grid": "True",
        "chains": "True",
        "a frozen distribution": "True",
        "alive": "2",
        "after a death": "True",
        "died": "True",
    }, done.stderr
