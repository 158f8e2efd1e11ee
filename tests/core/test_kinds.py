"""Arrays of other libraries: their streams, their GPUs, and those that nobody knows."""

from __future__ import annotations

import math
import sys
import types

import numpy as np
import pytest
from numba import cuda

import numbastats as ns
from numbastats._core import device, kinds, launch
from numbastats._core.inputs import total_of


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
    """Events of a GPU that is not there."""
    events, original = [], launch.launch
    monkeypatch.setattr(cuda, "as_cuda_array", lambda x, sync: cuda.to_device(x.values), raising=False)
    monkeypatch.setattr(launch, "launch", lambda *args, **options: events.append("launch") or original(*args, **options))
    return events


def test_the_current_streams_of_other_libraries(monkeypatch):
    """What a call does with them is in tests/test_emulator.py."""
    cupy, torch = types.ModuleType("cupy"), types.ModuleType("torch")
    stream = types.SimpleNamespace(ptr=0x51, is_capturing=lambda: capturing)
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: stream)
    torch.cuda = types.SimpleNamespace(
        current_stream=lambda: types.SimpleNamespace(cuda_stream=0x52), is_current_stream_capturing=lambda: capturing
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "torch", torch)
    current, capturing = [kind.current_stream for kind in (kinds.cupy, kinds.torch.on_gpu, kinds.numba_device)], False
    assert [find() for find in current] == [0x51, 0x52, 0]
    capturing = True
    for find in (*current[:2], lambda: device.Device((), stream)):
        with pytest.raises(RuntimeError, match="a CUDA graph is captured from this stream.*before the capture begins"):
            find()


def test_tables_are_copied_to_the_device_once_and_live_as_long_as_on_the_host():
    table = np.arange(5.0)
    there = device.constant(table)
    assert device.constant(table) is there and device.constant(table.copy()) is not there
    before = len(device._constants)
    np.testing.assert_array_equal(there.copy_to_host(), table)
    del table
    assert len(device._constants) == before - 1


def test_zeros_on_the_device():
    np.testing.assert_array_equal(device.zeros((2, 3), np.float64).copy_to_host(), np.zeros((2, 3)))
    assert device.zeros((0, 3), np.int64).shape == (0, 3)


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_arrays_of_another_gpu_are_refused(monkeypatch, gpu, name):
    """Kernels got addresses of another GPU's memory."""
    monkeypatch.setattr(kinds, "SIMULATED", False)
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


def test_device_arrays_that_speak_dlpack_alone_are_refused():
    class Array:
        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(TypeError, match=r"Array lives on the GPU.*cupy.from_dlpack\(x\)"):
        ns.quantile.ndtri(Array())


@pytest.mark.parametrize("n", [0, 5, 1000, pytest.param(40_000, marks=pytest.mark.simulator)])
def test_sums_of_device_arrays(n):
    """In double precision, in two steps where there are many values."""
    x = np.random.default_rng(n).normal(1.0, 3.0, n)
    for v in (x, x.astype(np.float32)):
        assert total_of(cuda.to_device(v)) == pytest.approx(math.fsum(v.tolist()), rel=1e-14)
        assert total_of(v) == pytest.approx(math.fsum(v.tolist()), rel=1e-14)
