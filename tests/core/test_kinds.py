"""Arrays of other libraries: their streams, their GPUs, and those that nobody knows."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from numba import cuda

import numbastats as ns
from numbastats._core import kinds, launch


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
    events, original = [], launch.launch
    monkeypatch.setattr(cuda, "as_cuda_array", lambda x: cuda.to_device(x.values), raising=False)
    monkeypatch.setattr(cuda, "synchronize", lambda: events.append("wait"))
    monkeypatch.setattr(launch, "launch", lambda *args, **options: events.append("launch") or original(*args, **options))
    return events


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_kernels_wait_for_the_streams_of_other_libraries(monkeypatch, gpu, name):
    """These need not wait for the kernels' stream, nor it for them: arrays were read before they were written."""
    ndarray = _library(monkeypatch, name, gpu)
    for call in (
        lambda x: ns.quantile.ndtri(x),
        lambda x: ns.quantile.ndtri(x, out=ndarray(np.empty(3))),
        lambda x: ns.random.normal(0.0, 1.0, out=x, rng=1),
    ):
        gpu.clear()
        assert type(call(ndarray([0.2, 0.5, 0.7]))) is ndarray
        at = gpu.index("launch")
        assert gpu[at - 1] == gpu[at + 1] == "wait" and name not in gpu[at:]


def test_copies_are_there_before_a_kernel_on_a_stream_of_the_users(gpu):
    ns.quantile.ndtri(np.array([0.2, 0.5]), device="cuda", stream=cuda.stream())
    assert gpu == ["launch", "wait", "wait"]  # before the kernel, and before the result is copied back


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_arrays_of_another_gpu_are_refused(monkeypatch, gpu, name):
    """Kernels got addresses of another GPU's memory."""
    current = types.SimpleNamespace(id=0, MULTIPROCESSOR_COUNT=4)
    monkeypatch.setattr(kinds, "SIMULATED", False)
    monkeypatch.setattr(launch, "SIMULATED", False)
    monkeypatch.setattr(cuda, "get_current_device", lambda: current, raising=False)
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
