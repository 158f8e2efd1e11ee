"""Kernels of densities: the sums of the Bessel functions node by node, vectorised over the values of a block."""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import HostLoop, Kernel
from numbastats.scalar import hyperbolic, loops
from numbastats.scalar.bits import at, buffer
from numbastats.scalar.loops import BLOCK, CHUNK

__all__ = ["GH", "GH_NORM", "LOG_KVE"]

_f = _nodes = _right = _left = _tail = None  # bound by build


def density_cpu(x, lam, alpha, beta, delta, mu, norm, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        v, w, rest = buffer(BLOCK, out.dtype), buffer(BLOCK, out.dtype), buffer(BLOCK, out.dtype)
        h, grow, total = buffer(BLOCK, out.dtype), buffer(BLOCK, out.dtype), buffer(BLOCK, out.dtype)
        right, left, grown = buffer(BLOCK, out.dtype), buffer(BLOCK, out.dtype), buffer(BLOCK, out.dtype)
        first = np.int64(k) * CHUNK
        for lo in range(first, first + out[first : first + CHUNK].size, BLOCK):
            o = out[lo : lo + BLOCK]
            rights, lefts = 0.0, 0.0
            for i in range(o.size):
                j = lo + i
                v[i], w[i], rest[i], h[i], grow[i], right[i], left[i] = _nodes(
                    x[j], at(lam, j), at(alpha, j), at(delta, j), at(mu, j)
                )
                grown[i], total[i] = 0.0, 1.0
                rights, lefts = right[i] if right[i] > rights else rights, left[i] if left[i] > lefts else lefts
            for m in range(1, int(rights) + 1):
                for i in range(o.size):
                    grown[i], total[i] = _right(m, v[i], w[i], h[i], grow[i], grown[i], right[i], total[i])
            for i in range(o.size):
                grown[i] = 0.0
            for m in range(1, int(lefts) + 1):
                for i in range(o.size):
                    grown[i], total[i] = _left(m, v[i], rest[i], h[i], grow[i], grown[i], left[i], total[i])
            for i in range(o.size):
                j = lo + i
                shape = at(lam, j), at(alpha, j), at(beta, j), at(delta, j), at(mu, j), at(norm, j)
                o[i] = _tail(x[j], *shape, w[i], h[i], total[i])


def density_cuda(x, lam, alpha, beta, delta, mu, norm, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _f(x[i], at(lam, i), at(alpha, i), at(beta, i), at(delta, i), at(mu, i), at(norm, i))


def _density(name, function, of_sum):
    return Kernel(
        f"distributions.{name}",
        density_cpu,
        density_cuda,
        lambda T: [(T[::1], *[T] * 6, T[::1]), (T[::1], *[T[::1]] * 6, T[::1])],
        dtypes=("float64",),
        cuda_only={"_f": function},
        cpu_only={
            "_nodes": hyperbolic.gh_nodes,
            "_right": hyperbolic.on_the_right,
            "_left": hyperbolic.on_the_left,
            "_tail": of_sum,
        },
    )


GH = {
    "pdf": _density("gh_pdf", hyperbolic.gh_pdf, hyperbolic.gh_pdf_of_sum),
    "logpdf": _density("gh_logpdf", hyperbolic.gh_logpdf, hyperbolic.gh_logpdf_of_sum),
}
GH_NORM = Kernel(
    "distributions.gh_log_norm",
    loops.map4_cpu,
    loops.map4_cuda,
    lambda T: [(T[::1], T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1])],
    _f=hyperbolic.gh_log_norm,
    dtypes=("float64",),
)
HostLoop("distributions.gh_log_norm_of_one", hyperbolic.gh_log_norm, [(types.float64,) * 4], parallel=False)
LOG_KVE = Kernel(
    "distributions.log_kve",
    loops.map2_cpu,
    loops.map2_cuda,
    lambda T: [(T[::1], T[::1], T[::1])],
    _f=hyperbolic.log_kve,
    dtypes=("float64",),
)
