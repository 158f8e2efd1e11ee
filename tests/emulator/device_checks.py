"""Streams, memory and arrays of CuPy on the emulated device; prints what was found, as JSON for tests/test_emulator.py."""

from __future__ import annotations

import ctypes
import json
import math
import types
import warnings

import cupy_stand_in
import emulator

violations = emulator.install()
DRIVER = ctypes.CDLL("libcuda.so.1")
cupy = cupy_stand_in.install(DRIVER)

import numpy as np  # noqa: E402
from numba import cuda  # noqa: E402

import numbastats as ns  # noqa: E402
from numbastats._core import cache, costs  # noqa: E402
from numbastats._core.device import Device  # noqa: E402
from numbastats.bayes.likelihood import Rows  # noqa: E402

cache._warned = True  # of kernels that are not cached
LAUNCHES, WAITS, JOINS = 0, 4, 5
host = np.random.default_rng(1).uniform(0.1, 0.9, 1000)
x, found = cupy.asarray(host), {}


def ran_on(call):
    """The streams of the kernels of a call, how often the host waited, and how many streams were joined; the result."""
    emulator.STREAMS.clear()
    emulator.counts()
    result = call()
    counted = emulator.counts()
    return [emulator.STREAMS[:], counted[WAITS], counted[JOINS]], result


def raised(call):
    """The error of a call: its type and its message."""
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)


# --- streams
with cupy.cuda.Stream() as current:
    found["current"], z = ran_on(lambda: ns.quantile.ndtri(x))
    found["draws"], _ = ran_on(lambda: ns.random.normal(x, 1.0, rng=1))
    found["out"], _ = ran_on(lambda: ns.random.normal(out=x[:500].reshape(-1), rng=1))
    found["pointer"] = current.ptr
x = cupy.asarray(host)
numba_stream = cuda.stream()
given = {
    "integer": 0x7000,
    "cupy": cupy.cuda.ExternalStream(0x7000),
    "torch": types.SimpleNamespace(cuda_stream=0x7000),
    "cuda.core": types.SimpleNamespace(__cuda_stream__=lambda: (0, 0x7000)),
    "numba": numba_stream,
}
found["given"] = {name: ran_on(lambda s=s: ns.quantile.ndtri(x, stream=s))[0] for name, s in given.items()}
found["reused too early"] = violations()
end, Device.end = Device.end, lambda self: None
for stream in (0x7000, 0x8000):
    ns.quantile.ndtri(x, stream=stream)  # CuPy may hand out the memory of the first result
Device.end = end
found["without joining"] = violations()
cuda.synchronize()
found["numba pointer"] = int(numba_stream.__cuda_stream__()[1])
found["host array"] = ran_on(lambda: ns.quantile.ndtri(host, device="cuda", stream=0x7000))[0][0]
found["bad stream"] = raised(lambda: ns.quantile.ndtri(x, stream="7"))

# --- values
want = ns.quantile.ndtri(host, device="cpu")
found["values"] = [
    type(z).__module__,
    float(np.abs(z.get() - want).max()),
    float(np.abs(ns.random.normal(x, 1.0, rng=1, offset=5).get() - ns.random.normal(host, 1.0, rng=1, offset=5)).max()),
    float(np.abs(ns.random.normal(size=70, rng=1, like=x).get() - ns.random.normal(size=70, rng=1)).max()),
]
found["negative scale"] = raised(lambda: ns.random.normal(0.0, x * -1.0, rng=1))


# --- memory
def short(call):
    """A call while the device has no memory left."""
    DRIVER.emulator_limit(ctypes.c_size_t(4000))
    try:
        return call()
    finally:
        DRIVER.emulator_limit(ctypes.c_size_t(4 << 30))


found["out of memory"] = short(lambda: raised(lambda: ns.quantile.ndtri(host, device="cuda")))
found["rates"] = [rate > 0.0 for rate in costs.measure(1 << 12)]
costs.kept_rates = lambda: costs.Rates(math.inf, math.inf, 0.0, math.inf)  # as if "auto" would take the GPU for it
costs.SHORT, costs.free_bytes = 0.0, lambda: 2**34
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    there = ran_on(lambda: ns.quantile.ndtri(host))[0][0]
    same = short(lambda: ns.quantile.ndtri(host))
found["auto"] = [len(there), bool((same == want).all()), [str(w.message) for w in caught]]
sets = np.random.default_rng(8).gamma(2.0, size=(3, 200))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    fits = short(lambda: ns.mixture.fit_many(sets, 1, family="gamma", rng=1))
same = np.array_equal(fits.loglik, ns.mixture.fit_many(sets, 1, family="gamma", rng=1, device="cpu").loglik)
found["auto batch"] = [same, [str(w.message) for w in caught]]
costs.kept_rates = lambda: costs.Rates(1.0, 1.0, 1.0, 1.0)

# --- what cannot be done is said before a launch
there, twice = cuda.to_device(host), cuda.to_device(np.stack([host, host]))


def refused(call):
    """The error of a call, and whether it comes before the first kernel."""
    emulator.STREAMS.clear()
    return *(raised(call) or ("", "")), not emulator.STREAMS


def in_capture():
    cupy_stand_in.CAPTURING[0] = True
    try:
        return ns.quantile.ndtri(x)
    finally:
        cupy_stand_in.CAPTURING[0] = False


found["refused"] = {
    "capture": refused(in_capture),
    "out of another kind": refused(lambda: ns.quantile.ndtri(x, out=there)),
    "out on the host": refused(lambda: ns.quantile.ndtri(x, out=host.copy())),
    "out in strides": refused(lambda: ns.quantile.ndtri(x[:500], out=cupy.asarray(np.stack([host, host]))[0][::2])),
    "strides of Numba": refused(lambda: ns.quantile.ndtri(twice[:, ::2])),
    "another device": refused(lambda: ns.quantile.ndtri(x, device="cpu")),
    "capture of the caller's stream": refused(
        lambda: ns.quantile.ndtri(x, stream=types.SimpleNamespace(ptr=0x7000, is_capturing=lambda: True))
    ),
}
both = ns.quantile.ndtri(x, there, 2.0, device="cuda")
found["mixed"] = [type(both).__module__, float(np.abs(both.get() - ns.quantile.ndtri(host, host, 2.0)).max())]
part = ns.quantile.ndtri(x[::2])
found["strides of CuPy"] = [type(part).__module__, float(np.abs(part.get() - want[::2]).max())]
batch = np.random.default_rng(9).gamma(2.0, size=(8, 40))
found["batch without memory"] = refused(lambda: short(lambda: ns.distributions.fit_many(batch, "gamma", device="cuda")))

# --- products of matrices by CuPy
rows = Rows(np.random.default_rng(3).normal(size=(300, 4)), "cuda", 1)
same = Rows(rows.X, "cpu", 1)
b = np.array([0.3, -0.2, 0.1, 0.5])
found["products"] = [
    float(abs(rows.gram() - same.gram()).max()),
    *(float(abs(there - here).max()) for there, here in zip(rows.curvature(b), same.curvature(b), strict=True)),
    len(cupy_stand_in.PRODUCTS),
]

# --- fits of arrays of CuPy: copied to the host once
rng = np.random.default_rng(2)
sets, rows = rng.gamma(2.0, size=(3, 200)), rng.normal(size=(100, 3))
hits = (rng.uniform(size=100) < 0.5).astype(float)
few = dict(n_components=2, n_init=2, family="gamma", rng=1)
mixed = dict(weights=[0.5, 0.5], centres=[0.3, 0.6], params=[0.1, 0.1], family="gamma")
probit = lambda X, y: ns.bayes.HorseshoeProbit(warmup=50, draws=4, chains=2, rng=1).fit(X, y).coef_  # noqa: E731
calls = {
    "mixture.fit": (lambda x: ns.mixture.fit(x, **few).loglik, sets[0]),
    "mixture.fit_many": (lambda x: ns.mixture.fit_many(x, **few).loglik, sets),
    "mixture.partial_stats": (lambda x: ns.mixture.partial_stats(x, **mixed), host),
    "bayes.HorseshoeProbit.fit": (probit, rows, hits),
    "stable.fit": (lambda x: ns.stable.fit(x).params, rng.standard_cauchy(200)),
    "stable.score": (lambda x: ns.stable.score(x, 1.7, -0.2), host[:20]),
}
found["fits"] = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of chains that are too short
    for name, (call, *arrays) in calls.items():
        down = sum(a.nbytes for a in arrays)
        on_device = [cupy.asarray(a) for a in arrays]
        emulator.counts()
        got = call(*on_device)
        counted = emulator.counts()
        got = got.get() if isinstance(got, cupy.ndarray) else np.asarray(got)
        found["fits"][name] = [bool(np.array_equal(got, call(*arrays))), counted[3] / down]
found["reused too early at the end"] = violations() - found["without joining"]
print(json.dumps(found))
