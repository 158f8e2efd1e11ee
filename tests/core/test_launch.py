"""The device that a call runs on, the size of a launch, and parts of long calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import numbastats
from numbastats._core import costs, elementwise, launch, slabs
from numbastats._core.errors import ConvergenceWarning, OutOfDeviceMemory
from numbastats.bayes import estimator
from numbastats.mixture import arguments

INTERRUPT = """
import signal, time
import numpy as np
import numbastats as ns
calls = {
    "truncnorm": lambda out, workers: ns.random.truncnorm(0.0, 1.0, -1.0, 2.0, out=out, rng=1, workers=workers),
    "ppf": lambda out, workers: ns.distributions.student_t(4.5).pdf(out, out=out, workers=workers),
}
out = np.full(120_000_000, 0.5)
before = out[-1]
signal.signal(signal.SIGALRM, signal.default_int_handler)
for name, call in calls.items():
    for workers in (1, 2):
        call(np.ones(100_000), workers)
        start = time.perf_counter()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            call(out, workers)
            print("ended")
        except KeyboardInterrupt:
            print("interrupted", time.perf_counter() - start < 10, out[-1] == before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="no timers on this platform")
def test_elementwise_calls_and_draws_can_be_interrupted(run_python):
    """Ctrl-C waited for the end of the call, three quarters of a minute for 4e8 draws; now the last value is not yet written."""
    assert run_python(INTERRUPT).split() == ["interrupted", "True", "True"] * 4


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_parts_do_not_change_results(monkeypatch, dtype):
    import numbastats as ns

    x = np.linspace(0.001, 0.999, 30_011, dtype=dtype)

    def sample():
        draws = ns.random.gamma(0.5, x.astype(float), rng=1, dtype=dtype, device="cpu")
        words = ns.random.normal(size=x.size, rng=1, dtype=dtype, device="cpu")
        several = ns.stable.pdf_cdf(x[:100], 1.5, 0.3, device="cpu")
        return ns.quantile.ndtri(x, device="cpu"), ns.distributions.student_t(4.5).pdf(x, device="cpu"), draws, words, *several

    want, calls, original = sample(), [], launch.launch
    monkeypatch.setattr(slabs, "SLAB_WORK", 1.0)
    monkeypatch.setattr(launch, "launch", lambda *args, **options: calls.append(args[2]) or original(*args, **options))
    got = sample()
    assert calls.count(slabs.CHUNK) >= 28  # four functions in eight parts
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


GPU = costs.Rates(6e9, 6e9, 3e-5, 1000.0)  # about what a GPU in a server has


@pytest.fixture
def chosen(monkeypatch):
    """A machine with 16 cores and a GPU whose rates are known; the list of what "auto" has chosen."""
    made = []

    def choose(*args, **options):
        made.append(original(*args, **options))
        return "cpu"

    original = launch.choose_device
    for module in (elementwise, arguments, estimator):
        monkeypatch.setattr(module, "choose_device", choose)
    monkeypatch.setattr(launch, "real_gpu", lambda: True)
    monkeypatch.setattr(launch, "pays", lambda work, cores: costs.pays(work, 16))
    monkeypatch.setattr(costs, "kept_rates", lambda: GPU)
    monkeypatch.setattr(costs, "free_bytes", lambda: 2**34)
    return made


def test_auto_takes_the_gpu_where_host_arrays_gain(chosen, monkeypatch, caplog):
    import numbastats as ns

    monkeypatch.setattr(launch, "launch", lambda *args, **options: None)
    x = np.full(5_000_000, 0.5)
    ns.quantile.ndtri(x)
    ns.random.truncnorm(0.0, 1.0, -1.0, 1.0, x.size)
    ns.distributions.student_t(4.5).pdf(x)
    ns.quantile.ndtri(0.5)
    assert set(chosen) == {"cpu"} and len(chosen) == 4  # copies alone take longer
    chosen.clear()
    with caplog.at_level("DEBUG", "numbastats"):
        ns.stable.pdf(x[:100_000], np.linspace(1.1, 1.9, 100_000), 0.0)
    assert chosen[0] == "cuda"  # what the series leave may stay here
    assert "device='auto' takes the GPU: 0.019 s on 16 cores, about 0.0" in caplog.text
    chosen.clear()
    ns.stable.pdf(x[:100], np.linspace(1.1, 1.9, 100), 0.0)
    assert set(chosen) == {"cpu"}


def test_auto_takes_the_gpu_for_many_fits_and_large_regressions(chosen):
    sizes = np.full(40_000, 2000)
    options = arguments.fit_options("newton", "quantile", 30, 1e-10, 100, None, 1e-3, 2.0, "bic", "double")
    for some in (sizes, sizes[:4], np.array([1_000_000])):
        arguments.given_device("auto", some, (2,), options, None)
    assert chosen == ["cuda", "cpu", "cpu"]
    chosen.clear()
    for shape in ((1_000_000, 100), (500, 10)):
        launch_choice = estimator.choose_device("auto", work=lambda shape=shape: estimator.work_of(*shape, 4))
        assert launch_choice == "cpu"
    assert chosen == ["cuda", "cpu"]
    chosen.clear()
    estimator.choose_device("auto", work=lambda: estimator.work_of(10**7, 400, 4))
    assert chosen == ["cpu"]  # 32 GB do not fit


def test_more_components_than_a_gpu_takes_stay_on_the_host(chosen):
    options = arguments.fit_options("newton", "quantile", 30, 1e-10, 100, None, 1e-3, 2.0, "bic", "double")
    assert arguments.given_device("auto", np.full(40_000, 2000), (16,), options, None) == "cpu"
    assert chosen == ["cpu"]


def test_blocks_of_dask_and_chains_by_an_executor_stay_on_the_host(chosen):
    da = pytest.importorskip("dask.array")
    x, alpha = da.full(100_000, 0.5, chunks=50_000), np.linspace(1.1, 1.9, 100_000)
    numbastats.stable.pdf(x, da.from_array(alpha, chunks=50_000), 0.0).compute(scheduler="synchronous")
    assert set(chosen) == {"cpu"}
    chosen.clear()
    X = np.random.default_rng(1).normal(size=(60, 2))
    with ThreadPoolExecutor(2) as pool, numbastats.config.using(device="cuda"):
        few = dict(chains=2, warmup=50, draws=30, rng=1)
        with pytest.warns(ConvergenceWarning):
            numbastats.bayes.HorseshoeProbit(workers=pool, **few).fit(X, X[:, 0] > 0)
    assert "cuda" not in chosen


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """A GPU that nobody has measured yet; the list of its measurements."""
    made = []
    monkeypatch.setattr(costs, "_name", lambda: "a GPU, a processor")
    monkeypatch.setattr(costs, "_files", lambda: [str(tmp_path / "none" / "gpu.json")])
    monkeypatch.setattr(costs, "measure", lambda: made.append(1) or GPU)
    monkeypatch.setattr(costs, "free_bytes", lambda: 2**34)
    monkeypatch.setattr(costs, "_known", {})
    monkeypatch.setattr(costs, "_failed", {})
    return made


LONG = costs.Work(2e12, 8e6, 8e6, 1e6)


def test_a_gpu_is_measured_for_long_calls_alone(measured, tmp_path):
    gains, why = costs.pays(LONG._replace(nanoseconds=1e9), 16)
    assert not gains and "python -m numbastats warmup --device cuda" in why[0] and not measured
    assert costs.pays(LONG, 16)[0] and costs.pays(LONG, 16)[0] and len(measured) == 1
    costs._known.clear()  # another process
    assert costs.kept_rates() == GPU
    gains, why = costs.pays(LONG._replace(up=2e10), 16)
    assert not gains and "of its free memory" in why[0]
    (tmp_path / "none" / "gpu.json").write_text("{")  # damaged
    costs._known.clear()
    assert costs.kept_rates() is None
    assert costs.seconds(LONG._replace(items=32), GPU) > 1000 * costs.seconds(LONG._replace(items=1e9), GPU)


def test_rates_of_several_gpus_are_kept_side_by_side(measured, monkeypatch):
    for name in ("one", "two", "one", "two"):
        monkeypatch.setattr(costs, "_name", lambda name=name: name)
        costs._known.clear()
        costs.pays(LONG, 16)
    assert len(measured) == 2


def test_rates_that_cannot_be_written_are_kept_in_the_process(measured, monkeypatch):
    monkeypatch.setattr(costs, "_files", list)
    for _ in range(3):
        assert costs.pays(LONG, 16)[0]
    assert len(measured) == 1


def test_a_gpu_that_cannot_be_measured_is_left_alone(measured, monkeypatch):
    def full():
        measured.append(1)
        raise OutOfDeviceMemory("nothing is free")

    monkeypatch.setattr(costs, "measure", full)
    for _ in range(2):
        gains, why = costs.pays(LONG, 16)
        assert not gains and why[0] % why[1:] == "it could not be measured: nothing is free"
    assert len(measured) == 1


def test_short_calls_do_not_touch_the_gpu(monkeypatch):
    monkeypatch.setattr(costs, "_name", lambda: pytest.fail("the GPU was asked for its name"))
    monkeypatch.setattr(costs, "_known", {})
    monkeypatch.setattr(costs, "_files", list)
    assert not costs.pays(LONG._replace(nanoseconds=1e5), 1)[0]
    assert not costs.pays(LONG._replace(nanoseconds=1e8), 1)[0]  # no rates of any GPU


def test_auto_goes_on_on_the_host_where_the_memory_of_the_gpu_does_not_suffice():
    def run(where):
        if where == "cuda":
            raise OutOfDeviceMemory("no memory")
        return where

    with pytest.warns(RuntimeWarning, match="goes on on the CPU: no memory"):
        assert launch.or_on_the_host(run, "cuda", "auto") == "cpu"
    with pytest.raises(OutOfDeviceMemory):
        launch.or_on_the_host(run, "cuda", "cuda")
    assert launch.or_on_the_host(run, "cpu", None) == "cpu"


def test_cuda_without_a_gpu_is_an_error_with_the_fix(run_python):
    code = """
import numbastats as ns
from numbastats._core.kernel import real_gpu
if real_gpu():
    print("gpu")
else:
    try:
        ns.quantile.ndtri(0.5, device="cuda")
    except ns.DeviceNotAvailable as error:
        print("numba-cuda[cu13]" in str(error), "device='cpu'" in str(error))
    print(float(ns.quantile.ndtri(0.5)))
"""
    assert run_python(code).split() in (["True", "True", "0.0"], ["gpu"])


def test_simulator_is_not_a_gpu(run_python):
    code = "from numbastats._core.kernel import SIMULATED, real_gpu; print(SIMULATED, real_gpu())"
    assert run_python(code, simulator=True).split() == ["True", "False"]


def test_launches_are_too_large_for_warnings_and_cover_all_items(monkeypatch):
    """Numba warns of grids of less than 128 blocks; an empty grid is an error on a GPU."""
    monkeypatch.setattr(launch, "SIMULATED", False)
    monkeypatch.setattr(launch.gpu, "multiprocessors", lambda: 132)
    for n in (0, 1, 5000, 10**6, 2**33):
        blocks, threads = launch._geometry(n, 64)
        assert 128 <= blocks <= 32 * 132 and threads == 64
        assert blocks * threads >= n or blocks == 32 * 132  # the rest goes to the same threads


def test_pairwise_sums():
    terms = np.array([1e16, 1.0, -1e16, 1.0, 3.0])
    assert launch.pairwise_sum(terms) == ((1e16 + 1.0) + (-1e16 + 1.0)) + 3.0
    assert launch.pairwise_sum([]) == 0.0
