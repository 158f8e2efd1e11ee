"""Inputs that `numpy.asarray` would take apart without a word: what a mask hides, and imaginary parts."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import numbastats as ns
from numbastats._core import dispatch

X = np.linspace(0.1, 2.0, 24)
HIDDEN = np.arange(24) == 5
MASKED = np.ma.array(np.where(HIDDEN, 0.75, X), mask=HIDDEN)
MISSING = np.where(HIDDEN, np.nan, X)
LAW = ([0.3, 0.7], [1.0, 3.0], [30.0, 0.2])
SIGNS = np.arange(24) % 2

REFUSE = {
    "stable.score": lambda x: ns.stable.score(x, 1.5, 0.3),
    "stable.convert": lambda x: ns.stable.convert(1.5, 0.3, x),
    "stable.characteristic_function": lambda x: ns.stable.Stable(1.5, 0.3).characteristic_function(x),
    "stable.fit weights": lambda x: ns.stable.fit(X, weights=x),
    "mixture parameters": lambda x: ns.mixture.pdf(1.0, x, X, X, family="inverse_gaussian"),
    "mixture.partial_stats weights": lambda x: ns.mixture.partial_stats(X, *LAW, sample_weight=x, family="inverse_gaussian"),
    "kde.bandwidth weights": lambda x: ns.kde.KDE(bandwidth="isj").fit(X, sample_weight=x),
    "kde box": lambda x: ns.kde.KDE(h=0.5).fit(X).box_probability(x[5:6], [3.0]),
    "bayes.rhat": ns.bayes.rhat,
    "bayes.ess_bulk": ns.bayes.ess_bulk,
    "bayes.BayesProbit y": lambda x: ns.bayes.BayesProbit().fit(X[:, None], np.ma.array(SIGNS, mask=np.ma.getmask(x))),
    "Recycler.pdf": lambda x: ns.quantile.Recycler(lambda t: 1 / np.cosh(t)).pdf(x),
}
READ_AS_NAN = {
    "mixture.pdf": lambda x: ns.mixture.pdf(x, *LAW, family="inverse_gaussian"),
    "mixture.sf": lambda x: ns.mixture.sf(x, *LAW, family="inverse_gaussian"),
    "mixture.ppf": lambda x: ns.mixture.ppf(x / 4, *LAW, family="inverse_gaussian"),
    "mixture.responsibilities": lambda x: ns.mixture.responsibilities(x, *LAW, family="inverse_gaussian"),
    "kde.cdf": lambda x: ns.kde.KDE(h=0.5).fit(X).cdf(x),
    "kde.marginal": lambda x: ns.kde.KDE(h=0.5).fit(X).marginal([0], x),
}
COMPLEX = [
    "stable.score", "stable.convert", "stable.characteristic_function", "stable.fit weights", "mixture parameters",
    "mixture.partial_stats weights", "kde box", "bayes.rhat", "bayes.ess_bulk", "Recycler.pdf",
]  # fmt: skip


@pytest.mark.parametrize("name", REFUSE)
def test_masked_arrays_are_refused(name):
    with pytest.raises((TypeError, ValueError), match="masked|weights are"):
        REFUSE[name](MASKED)


def test_masked_arrays_take_no_results():
    """The mask would hide some of them."""
    for call in (ns.quantile.ndtri, lambda u, out: ns.stable.pdf(u, 1.5, 0.3, out=out), lambda u, out: ns.random.normal(out=out)):
        with pytest.raises(TypeError, match="out is a MaskedArray; it must be a numpy.ndarray"):
            call(X / 3.0, out=MASKED.copy())


@pytest.mark.parametrize("name", READ_AS_NAN)
def test_hidden_values_are_missing(name):
    got = READ_AS_NAN[name](MASKED)
    np.testing.assert_array_equal(got, READ_AS_NAN[name](MISSING))
    assert np.isnan(got[5]).all() and np.isfinite(got[:5]).all()


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_are_refused(name):
    with pytest.raises(TypeError, match="complex"):
        REFUSE[name](X + 1j)


@pytest.mark.parametrize(
    "call", [ns.stable.fit, ns.kde.bandwidth.scott, lambda x: ns.stable.fit_many([x])], ids=["fit", "scott", "fit_many"]
)
def test_complex_data_are_refused(call):
    with pytest.raises(TypeError, match="complex"):
        call(X + 1j)


def _library(monkeypatch, name, events, device=0):
    """A stand-in for CuPy or torch, whose arrays hold NumPy's; what it does is put down in `events`."""

    class Device:
        id = index = device

        def __enter__(self):
            events.append(f"on {device}")

        def __exit__(self, *error):
            pass

    class ndarray:  # noqa: N801
        __module__ = name
        is_cuda, requires_grad = True, False

        def __init__(self, values):
            self.values = np.asarray(values)
            self.shape, self.dtype, self.device = self.values.shape, self.values.dtype, Device()

        @property
        def __cuda_array_interface__(self):
            return dict(self.values.__array_interface__)

        nbytes = property(lambda self: self.values.nbytes)
        flags = property(lambda self: self.values.flags)
        reshape = lambda self, *shape: ndarray(self.values.reshape(*shape))  # noqa: E731
        contiguous = lambda self: events.append(name) or ndarray(np.ascontiguousarray(self.values))  # noqa: E731
        to = lambda self, dtype: events.append(name) or ndarray(self.values.astype(dtype))  # noqa: E731
        is_contiguous = lambda self: self.values.flags.c_contiguous  # noqa: E731

    module = types.ModuleType(name)
    module.float64, module.float32 = np.dtype("f8"), np.dtype("f4")
    module.broadcast_to = lambda x, shape: ndarray(np.broadcast_to(x.values, shape))
    module.ascontiguousarray = lambda x, dtype: events.append(name) or ndarray(np.ascontiguousarray(x.values, dtype))
    module.empty = lambda shape, dtype, device=None: events.append(name) or ndarray(np.zeros(shape, dtype))
    monkeypatch.setitem(sys.modules, name, module)
    return ndarray


@pytest.fixture
def gpu(monkeypatch):
    """Events of a GPU that is not there: launches, and waiting for all that is under way."""
    events, launch = [], dispatch.launch
    monkeypatch.setattr(dispatch.cuda, "as_cuda_array", lambda x: dispatch.cuda.to_device(x.values), raising=False)
    monkeypatch.setattr(dispatch.cuda, "synchronize", lambda: events.append("wait"))
    monkeypatch.setattr(dispatch, "launch", lambda *args, **options: events.append("launch") or launch(*args, **options))
    return events


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_kernels_wait_for_the_streams_of_other_libraries(monkeypatch, gpu, name):
    """These need not wait for the kernels' stream, nor it for them: arrays were read before they were written."""
    ndarray = _library(monkeypatch, name, gpu)
    for call in (lambda x: ns.quantile.ndtri(x), lambda x: ns.quantile.ndtri(x, out=ndarray(np.empty(3))),
                 lambda x: ns.random.normal(0.0, 1.0, out=x, rng=1)):  # fmt: skip
        gpu.clear()
        assert type(call(ndarray([0.2, 0.5, 0.7]))) is ndarray
        at = gpu.index("launch")
        assert gpu[at - 1] == gpu[at + 1] == "wait" and name not in gpu[at:]


def test_copies_are_there_before_a_kernel_on_a_stream_of_the_users(gpu):
    ns.quantile.ndtri(np.array([0.2, 0.5]), device="cuda", stream=dispatch.cuda.stream())
    assert gpu == ["launch", "wait", "wait"]  # before the kernel, and before the result is copied back


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_arrays_of_another_gpu_are_refused(monkeypatch, gpu, name):
    """Kernels got addresses of another GPU's memory."""
    current = types.SimpleNamespace(id=0, MULTIPROCESSOR_COUNT=4)
    monkeypatch.setattr(dispatch, "SIMULATED", False)
    monkeypatch.setattr(dispatch.cuda, "get_current_device", lambda: current, raising=False)
    ndarray = _library(monkeypatch, name, gpu, device=1)
    with pytest.raises(ValueError, match=r"u lives on GPU 1, and kernels run on GPU 0.*numba.cuda.gpus\[1\]"):
        ns.quantile.ndtri(ndarray([0.2, 0.5]))
    with pytest.raises(ValueError, match="out lives on GPU 1"):
        ns.random.normal(out=ndarray([0.2, 0.5]))
    assert "launch" not in gpu


def test_device_arrays_of_unknown_libraries_are_refused(monkeypatch):
    """They were taken for CuPy's, and failed inside of it, or came back as CuPy's."""
    array = _library(monkeypatch, "jaxlib", [])([0.2, 0.5])
    for call in (ns.quantile.ndtri, lambda x: ns.random.normal(x), lambda x: ns.random.normal(out=x)):
        with pytest.raises(TypeError, match=r"a jaxlib.*ndarray lives on the GPU.*cupy.asarray\(x\)"):
            call(array)


@pytest.mark.parametrize("workers", [1.5, "2", 0, True])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_numbers_of_workers_are_checked(workers, size):
    """Also where nothing is left to compute, and for a GPU, which has no use for them."""
    for call in (lambda x, **o: ns.quantile.ndtri(x, **o), lambda x, **o: ns.stable.pdf(x, 1.5, 0.3, **o),
                 lambda x, **o: ns.random.gamma(x, **o), lambda x, **o: ns.quantile.student_t(4.5).pdf(x, **o)):  # fmt: skip
        for device in ("cpu", "cuda"):
            with pytest.raises(ValueError, match="workers=.* is not understood"):
                call(np.full(size, 0.5), workers=workers, device=device)


PACKAGES = ("bayes", "config", "interop", "kde", "mixture", "quantile", "random", "scalar", "stable")


@pytest.mark.parametrize("name", PACKAGES)
def test_dir_has_the_public_names_alone(name):
    """Tab completion showed the internals."""
    module = getattr(ns, name)
    assert [n for n in dir(module) if not n.startswith("__")] == sorted(module.__all__)
    for n in dir(module):
        getattr(module, n)
