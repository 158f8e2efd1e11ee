"""Kernels: flags, both twins, threads over parts, and warm-up."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import numbastats.quantile.kernels
from numbastats._core import kernel as kernels
from numbastats.scalar import loops


def test_build_checks_its_arguments():
    with pytest.raises(ValueError, match="nnan"):
        kernels.build(loops.map1_cpu, "serial", fastmath=("nnan",), _f=abs)
    with pytest.raises(ValueError, match="serial"):
        kernels.build(loops.map1_cpu, "gpu", _f=abs)
    with pytest.raises(ValueError, match="already registered"):
        kernels.Kernel(numbastats.quantile.kernels.ANTITHETIC.name, None, None, None)


def test_kernels_pickle_by_name():
    import pickle

    registered = numbastats.quantile.kernels
    for kernel in (*registered.NDTRI.values(), registered.ANTITHETIC):
        assert pickle.loads(pickle.dumps(kernel)) is kernel


def _add_one(x, out):
    for i in range(x.size):
        out[i] = x[i] + 1.0


def test_ctrl_c_during_compilation_is_a_keyboard_interrupt(run_python):
    """LLVM's callbacks lost it, and the call went on. No interrupt is lost now, and the next call is right."""
    code = """
import os, signal, threading, time
import numpy as np
from numbastats._core import kernel
from numbastats.scalar import loops
from numbastats.scalar.elementary import exp, log, sin, tan
x = np.linspace(0.1, 1.0, 100)
heard = 0
for f in (exp, log, sin, tan):
    one, out = kernel.build(loops.map1_cpu, "parallel", _f=f), np.empty(100)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        one(x, out)
        timer.join()
        time.sleep(1)
    except KeyboardInterrupt:
        heard += 1
    one(x, out)
    assert abs(out - getattr(np, f.py_func.__name__)(x)).max() < 1e-14
print(heard)
"""
    assert run_python(code, NUMBASTATS_CACHE="0").split() == ["4"]


def test_split_kernel_calls_its_serial_twin_on_parts(monkeypatch):
    seen = []

    def split(args, parts):
        cuts = [slice(a, a + 7) for a in range(0, args[0].size, 7)]
        seen.extend([parts, len(cuts)])
        return [tuple(a[cut] for a in args) for cut in cuts]

    monkeypatch.setattr(kernels, "REGISTRY", {})
    kernel = kernels.Kernel("demo.split", _add_one, None, lambda T: [(T[::1], T[::1])], split=split)
    x = np.arange(30.0)
    out = np.zeros(30)
    kernel.parallel(x, out)
    assert (out == x + 1).all() and seen == [kernels.PARTS * numba.get_num_threads(), 5]
    assert kernel.parallel.compile == kernel.serial.compile  # warmup compiles nothing twice
    with pytest.raises(numba.TypingError):  # of a thread
        kernel.parallel(x.astype(complex), out)


def test_collector_is_on_again_after_compiling():
    import gc

    kernel = kernels.build(_add_one, "serial")
    kernel(np.arange(3.0, dtype=np.float32), np.zeros(3))
    assert gc.isenabled()
