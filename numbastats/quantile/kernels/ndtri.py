"""Kernels of the normal quantile and its companions: scalar functions bound to the loop skeletons."""

from __future__ import annotations

import numpy as np
from numba import prange

from numbastats._core.kernel import Kernel
from numbastats.scalar import loops, normal
from numbastats.scalar.bits import at, buffer, in_step
from numbastats.scalar.loops import BLOCK, CHUNK

__all__ = ["ANTITHETIC", "FROM_EXPONENTIAL", "LOG", "NDTRI", "map_kernel"]

_head = _tail = None  # bound by build

# out[i] = tail(x[i], *head(x[i]), a[i], ...). One long dependence chain fills the scheduler; two passes through a buffer keep it
# busy, which saves 12 to 20 % of the time. The head returns two numbers (a third buffer costs 8 %). On CUDA `map5_cuda` runs
# both in one function and needs no buffer.


def two_pass_cpu(x, a, b, c, d, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        u, v = buffer(BLOCK, out.dtype), buffer(BLOCK, out.dtype)
        first = np.int64(k) * CHUNK
        for lo in range(first, first + out[first : first + CHUNK].size, BLOCK):
            xb = x[lo : lo + BLOCK]
            o = out[lo : lo + BLOCK]
            for i in range(o.size):
                in_step()
                u[i], v[i] = _head(xb[i])
            for i in range(o.size):
                in_step()
                j = lo + i
                o[i] = _tail(xb[i], u[i], v[i], at(a, j), at(b, j), at(c, j), at(d, j))


def _signatures(T):
    """Data as an array, the four parameters as numbers; and with loc and scale as arrays."""
    return [(T[::1], T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T, T, T[::1])]


def map_kernel(name, fused, dtype, **options):
    """Kernel of a function of one value and four parameters."""
    return Kernel(f"quantile.{name}", loops.map5_cpu, loops.map5_cuda, _signatures, dtypes=(dtype,), _f=fused, **options)


def _two_pass(name, head, tail, fused, dtype):
    return Kernel(
        f"quantile.{name}",
        two_pass_cpu,
        loops.map5_cuda,
        _signatures,
        dtypes=(dtype,),
        cpu_only={"_head": head, "_tail": tail},
        cuda_only={"_f": fused},
    )


_DOUBLE = "double precision, rounded once, is what makes this method accurate for float32"

NDTRI = {
    ("fast", "float64"): _two_pass("ndtri_fast", normal.fast_head, normal.fast_tail, normal.fast_fused, "float64"),
    ("fast", "float32"): map_kernel("ndtri_fast32", normal.fast_fused, "float32"),
    ("accurate", "float64"): _two_pass(
        "ndtri_accurate", normal.accurate_head, normal.accurate_tail, normal.accurate_fused, "float64"
    ),
    ("accurate", "float32"): map_kernel("ndtri_accurate32", normal.accurate32_fused, "float32", f64_ok=_DOUBLE),
    ("correct", "float32"): map_kernel("ndtri_correct32", normal.correct32_fused, "float32", f64_ok=_DOUBLE),
}
LOG = {dtype: map_kernel(f"ndtri_log_{dtype}", normal.log_fused, dtype) for dtype in ("float64", "float32")}

FROM_EXPONENTIAL = Kernel(
    "quantile.norm_from_exponential", loops.map1_cpu, loops.map1_cuda, lambda T: [(T[::1], T[::1])], _f=normal.norm_from_exp1
)
ANTITHETIC = Kernel(
    "quantile.antithetic", loops.map2_cpu, loops.map2_cuda, lambda T: [(T[::1], T, T[::1])], _f=normal.antithetic_fused
)
