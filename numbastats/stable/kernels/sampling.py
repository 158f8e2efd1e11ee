"""Random variates: item i takes the four words of counter i, two for the uniform, two for the exponential number."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel
from numbastats.scalar import stable as dist
from numbastats.scalar.bits import at, in_step
from numbastats.scalar.philox import philox4x32
from numbastats.stable.kernels.points import DOUBLE

CHUNK, BLOCK = 4096, 64  # draws per task and per pass

_S1 = _ARRAYS = False  # bound by build


def rvs_cpu(k0, k1, stream, first, a, b, loc, scale, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        u, w = np.empty(BLOCK), np.empty(BLOCK)
        start = np.int64(k) * CHUNK
        e, recip, power, bte = dist.variate_constants(np.float64(at(a, start)), np.float64(at(b, start)))
        for lo in range(start, min(start + CHUNK, out.size), BLOCK):
            item = np.int64(first) + lo
            low, high = np.uint32(item), np.uint32(item >> 32)  # a block never crosses a multiple of 2^32
            for i in range(BLOCK):
                in_step()
                r0, r1, r2, r3 = philox4x32(np.uint32(low + np.uint32(i)), high, np.uint32(0), stream, k0, k1)
                u[i], w[i] = dist.uniform_and_exponential(r0, r1, r2, r3)
            o = out[lo : lo + BLOCK]
            for i in range(o.size):
                in_step()
                j = lo + i
                if _ARRAYS:
                    e, recip, power, bte = dist.variate_constants(np.float64(at(a, j)), np.float64(at(b, j)))
                z = dist.variate(u[i], w[i], e, recip, power, bte, _S1)
                o[i] = dist.scaled(z, e, bte, np.float64(at(loc, j)), np.float64(at(scale, j)), _S1)


def rvs_cuda(k0, k1, stream, first, a, b, loc, scale, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        item = first + i
        r0, r1, r2, r3 = philox4x32(np.uint32(item), np.uint32(item >> 32), np.uint32(0), stream, k0, k1)
        e, recip, power, bte = dist.variate_constants(np.float64(at(a, i)), np.float64(at(b, i)))
        u, w = dist.uniform_and_exponential(r0, r1, r2, r3)
        z = dist.variate(u, w, e, recip, power, bte, _S1)
        out[i] = dist.scaled(z, e, bte, np.float64(at(loc, i)), np.float64(at(scale, i)), _S1)


_KEY = (types.uint32, types.uint32, types.uint32, types.int64)
RVS = {
    (param, arrays): Kernel(
        f"stable.rvs_{param}{'_arrays' if arrays else ''}",
        rvs_cpu,
        rvs_cuda,
        (lambda T: [(*_KEY, T[::1], T[::1], T[::1], T[::1], T[::1])]) if arrays else (lambda T: [(*_KEY, T, T, T, T, T[::1])]),
        f64_ok=DOUBLE,
        cpu_only={"_ARRAYS": arrays},
        _S1=param == "S1",
    )
    for param in ("S0", "S1")
    for arrays in (False, True)
}
