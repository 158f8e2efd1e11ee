"""Workers, chunks, executors, callbacks, Ctrl-C: none changes a result."""

from __future__ import annotations

import signal
import sys
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import cuda

from numbastats import mixture
from numbastats.mixture import arguments, engine
from numbastats.mixture.families import family_of
from tests.mixture.naive import WALD, paper_data


class CupyArray:
    """What CuPy's arrays have of NumPy's, and no more: NumPy may not read them, `get` copies them to the host."""

    __module__ = "cupy"

    def __init__(self, host):
        self.host = np.asarray(host)
        self.shape, self.dtype, self.ndim, self.size = self.host.shape, self.host.dtype, self.host.ndim, self.host.size
        self.__cuda_array_interface__ = {"shape": self.shape, "typestr": self.dtype.str, "data": (0, False), "version": 3}

    def __array__(self, *args, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array.")

    def __len__(self):
        return self.shape[0]

    def get(self):
        return self.host


def test_workers_chunks_and_executors_do_not_matter(monkeypatch):
    x = paper_data(24, 300)
    want = mixture.fit_many(x, 2, rng=3, device="cpu", workers=1, family="inverse_gaussian")
    monkeypatch.setattr("numbastats._core.launch.PARALLEL_FROM", 0)
    results = [mixture.fit_many(x, 2, rng=3, device="cpu", workers=2, family="inverse_gaussian")]
    monkeypatch.setattr("numbastats.mixture.engine.IN_FLIGHT", 1000)
    results.append(mixture.fit_many(x, 2, rng=3, device="cpu", workers=2, family="inverse_gaussian"))
    with ThreadPoolExecutor(2) as pool:
        results.append(mixture.fit_many(x, 2, rng=3, device="cpu", workers=pool, family="inverse_gaussian"))
    monkeypatch.setattr("numbastats.mixture.engine.CHUNK_COST", 1)
    results.append(mixture.fit_many(x, 2, rng=3, device="cpu", workers=2, family="inverse_gaussian"))
    monkeypatch.setattr("numbastats._core.slabs.SLAB_WORK", 1.0)
    results += [mixture.fit_many(x, 2, rng=3, device="cpu", workers=w, family="inverse_gaussian") for w in (1, 2)]
    for r in results:
        for name in ("loglik", "weights", "means", "params", "hits"):
            assert getattr(r, name).tobytes() == getattr(want, name).tobytes(), name
    part = mixture.fit_many(x[10:], 2, rng=3, device="cpu", dataset_index=10, family="inverse_gaussian")
    assert part.means.tobytes() == want.means[10:].tobytes()


def test_other_data_sets_of_the_call_do_not_matter():
    x = [paper_data(1, 300)[0], paper_data(1, 600)[0], paper_data(1, 20)[0]]
    together = mixture.fit_many(x, 2, rng=3, device="cpu", family="inverse_gaussian")
    for i, v in enumerate(x):
        alone = mixture.fit_many([v], 2, rng=3, device="cpu", dataset_index=i, family="inverse_gaussian")
        assert alone.means.tobytes() == together.means[i : i + 1].tobytes() and alone.n_passes[0] == together.n_passes[i]


@pytest.mark.slow
def test_large_data_set_in_chunks(monkeypatch):
    x = paper_data(1, 3000)[0]
    want = mixture.fit(x, 2, rng=1, device="cpu", workers=1, family="inverse_gaussian")
    monkeypatch.setattr(engine, "LARGE", 2000)
    monkeypatch.setattr("numbastats._core.launch.PARALLEL_FROM", 0)
    results = [mixture.fit(x, 2, rng=1, device="cpu", workers=w, family="inverse_gaussian") for w in (1, 2)]
    assert results[0].means.tobytes() == results[1].means.tobytes()
    assert abs(results[0].loglik / want.loglik - 1) < 1e-13 and results[0].status == 0
    parts = np.arange(21.0).reshape(7, 3)
    np.testing.assert_allclose(engine.pairwise_sum(parts), parts.sum(axis=0))


def test_callback_stops():
    seen = []

    def callback(state):
        seen.append((state.done, state.total))
        return len(seen) == 2

    x = paper_data(6, 100)
    from numbastats.mixture import engine as module

    before, module.IN_FLIGHT = module.IN_FLIGHT, 200
    try:
        batch = mixture.fit_many(x, 2, rng=1, device="cpu", callback=callback, family="inverse_gaussian")
    finally:
        module.IN_FLIGHT = before
    assert seen == [(2, 6), (4, 6)]
    assert batch.status.tolist()[4:] == [9, 9] and (batch.status[:4] == 0).all() and np.isnan(batch.means[4:]).all()
    assert batch.message(5) == "stopped by the callback"


def test_callback_stops_threads(monkeypatch):
    x = paper_data(40, 100)
    x[:, 3] = np.nan
    x[1, 7] = -1.0
    monkeypatch.setattr("numbastats.mixture.engine.CHUNK_COST", 1)
    seen = []
    whole = mixture.fit_many(
        x, 2, rng=1, device="cpu", workers=2, callback=lambda state: seen.append(state.done), family="inverse_gaussian"
    )
    assert seen[-1] == 40 and seen == sorted(seen) and len(seen) > 4 and (whole.n_dropped == 1).all()
    assert whole.status[1] == 6 and "index 7" in whole.message(1)
    part = mixture.fit_many(
        x, 2, rng=1, device="cpu", workers=2, callback=lambda state: state.done >= seen[1], family="inverse_gaussian"
    )
    assert (part.status[seen[1] :] == 9).all() and part.means[: seen[1]].tobytes() == whole.means[: seen[1]].tobytes()


@pytest.mark.parametrize("n", [5, 12, 20])
def test_places_in_memory_do_not_matter(n, monkeypatch):
    """Loops in vectors take arrays that lie close together for overlapping: sums of the same values were another last bit off."""

    class Placed:
        """NumPy, whose `empty` takes pieces of one block, so far apart."""

        def __init__(self, gap):
            self.block, self.used, self.gap = np.zeros(10_000), 0, gap

        def __getattr__(self, name):
            return getattr(np, name)

        def empty(self, shape, dtype=np.float64):
            lo, hi = self.used, self.used + int(np.prod(shape))
            self.used = hi + self.gap
            return self.block[lo:hi].reshape(shape)

    law, rng = family_of("gaussian"), np.random.default_rng(0)
    options = arguments.Options("newton", "portfolio", None, 1e-9, 5000, 0.0, None, 1.0, 0.015, 2.5, "double", (0, 0), "cpu", 1)
    for x in rng.gamma(2.0, 1.0, (20, n)):
        bits = []
        for gap in (0, 500):
            data = arguments.arrange(arguments.flatten([x], None, None), law)
            monkeypatch.setattr(engine, "np", Placed(gap))
            y = engine.np.empty(n)
            y[:] = data.y
            data.y = y  # weights of 1 are written where `prepare` places them
            p = engine.prepare(data, 0, 1, np.zeros(1, np.int64), law, options, True)
            bits.append((p.info.tobytes(), p.sets.t1.tobytes(), p.sets.t2.tobytes(), p.constant.tobytes()))
        assert bits[0] == bits[1] and np.isfinite(p.constant).all()


def test_numbers_of_components_of_other_data_sets_do_not_matter():
    """A start that splits a component is for candidates; one K of another data set made it here as well."""
    rng = np.random.default_rng(8)
    x = rng.normal(rng.choice([0.0, 5.0, 10.0, 15.0], size=(40, 100)), 1.0)
    options = dict(family="gaussian", n_init=1, starts="subset", rng=1, device="cpu")
    mixed = mixture.fit_many(x, np.tile([3, 4], 20), **options)
    same = mixture.fit_many(x, 4, **options)
    assert (mixed.n_passes[1::2] == same.n_passes[1::2]).all()
    np.testing.assert_array_equal(mixed.loglik[1::2], same.loglik[1::2])
    kept = mixture.fit_many(x, (3, 4), keep_starts=True, **options)
    np.testing.assert_array_equal(kept.loglik, mixture.fit_many(x, (3, 4), **options).loglik)


@pytest.mark.parametrize("kind", ["cupy", "numba"])
def test_fits_of_arrays_on_a_gpu(kind):
    convert = CupyArray if kind == "cupy" else cuda.to_device
    x, w = WALD, np.random.default_rng(3).random(200) + 0.6
    law = [0.5, 0.5], [0.8, 1.4], [5.0, 5.0]
    calls = [
        lambda x, w: mixture.fit(x, 2, family="gamma", weights=w, rng=1).centres,
        lambda x, w: mixture.fit_many([x, x], 1, family="gamma", weights=[w, w], rng=1).centres,
        lambda x, w: mixture.fit_many(x, 1, family="gamma", weights=w, offsets=[0, 90, 200]).centres,
        lambda x, w: mixture.partial_stats(x, *law, family="gamma", sample_weight=w, device="cpu"),
        lambda x, w: mixture.Mixture(2, family="gamma", rng=1).fit(x, sample_weight=w).centres_,
    ]
    for call in calls:
        assert (call(convert(x), convert(w)) == call(x, w)).all()
    rows = mixture.fit_many(convert(x.reshape(2, 100)), 1, family="gamma")
    assert (rows.centres == mixture.fit_many(x.reshape(2, 100), 1, family="gamma").centres).all()
    parameters = [convert(v) for v in law]
    assert mixture.pdf(1.0, *parameters, family="gamma") == mixture.pdf(1.0, *law, family="gamma")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("K", "method"), [(5, "newton"), (2, "em")])
def test_ctrl_c_is_answered_soon(K, method, workers):
    """Whole chunks, of 8 to 36 s, came to their end first."""
    x = paper_data(2000, 2000)
    options = dict(family="inverse_gaussian", method=method, rng=1, device="cpu", workers=workers)
    mixture.fit_many(x[:2], K, **options)
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Timer(0.5, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            mixture.fit_many(x, K, **options)
    finally:
        timer.cancel()
    assert time.perf_counter() - pressed[0] < 4.0  # 0.1 to 0.5 on idle cores


def test_memory_of_large_data():
    """Beside the data: densities their result and slabs, fits the weights and two statistics, one of them in the sorted copy."""
    x = np.random.default_rng(0).normal(size=1_000_000) + 5.0 * (np.arange(1_000_000) < 300_000)
    law = [0.3, 0.7], [5.0, 0.0], [1.0, 1.0]
    calls = [
        (lambda x: mixture.logpdf(x, *law, family="gaussian", workers=1), 3.0),  # observed 2.4
        (lambda x: mixture.cdf(x, *law, family="gaussian"), 3.5),  # observed 2.9
        (lambda x: mixture.responsibilities(x, *law, family="gaussian", workers=1), 5.0),  # observed 4.2, 2 of it the result
        (lambda x: mixture.fit(x, 2, family="gaussian", rng=0, n_init=3, device="cpu", workers=1), 3.3),  # observed 3.03
    ]
    for call, most in calls:
        call(x[:300_000])
        tracemalloc.start()
        call(x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most * x.nbytes


def test_data_of_a_fit_are_left_alone():
    """The sorted copy is overwritten, never the data, nor what a list holds."""
    x = np.random.default_rng(0).gamma(2.0, size=500)
    kept = x.copy()
    one = mixture.fit(x, (1, 2), family="gamma", rng=0, device="cpu")
    many = mixture.fit_many([x, x[:100]], (1, 2), family="gamma", rng=0, device="cpu")
    rows = mixture.fit_many(x[None], (1, 2), family="gamma", rng=0, device="cpu")
    assert (x == kept).all() and one.loglik == many.loglik[0] == rows.loglik[0]


@pytest.mark.parametrize("options", [{}, {"n_components": (1, 2), "criterion": "icl"}, {"family": "student_t", "n_init": 3}])
def test_python_calls_do_not_grow_with_the_data_sets(options):
    """The host's work between kernels is the same for 4 data sets and for 40, and for one data set it is little."""
    x = np.random.default_rng(2).normal(size=(40, 60)) + 5.0 * (np.arange(60) < 25)
    options = {"n_components": 2, "family": "normal", "rng": 0, "workers": 1} | options

    def calls(sets):
        mixture.fit_many(sets, **options)
        count = 0

        def counted(frame, event, arg):
            nonlocal count
            count += event == "call" and "numbastats" in frame.f_code.co_filename

        sys.setprofile(counted)
        try:
            mixture.fit_many(sets, **options)
        finally:
            sys.setprofile(None)
        return count

    few, many = calls(x[:4]), calls(x)
    assert many <= few + 60  # pieces between which Ctrl-C is answered
    assert few < 260
