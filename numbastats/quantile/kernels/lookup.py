"""Kernels that evaluate quantile tables.

Row and local variable are found in one vectorised pass, then eight rows of coefficients are taken at a time. On CUDA the rows of
a degree-7 table are 64 bytes, so a value touches one cache line, by four loads. All but the data, the integers and the table may
be numbers or arrays: every value may have a table of its own within `table`. Arguments that a head does not need are 0; `more` is
the logarithm of the rows per octave, or the number of rows beyond the octaves.
"""

from __future__ import annotations

import numpy as np
from numba import prange, types

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel
from numbastats.scalar import tables
from numbastats.scalar.bits import LANES, at, buffer, row_lanes, row_of
from numbastats.scalar.loops import BLOCK, CHUNK

__all__ = ["TABLE"]

_head = _body = _lanes = None  # bound by build


def lookup_cpu(x, a, b, c, d, first_left, first_right, octave, zone, more, table, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        row, value = buffer(BLOCK, np.int64), buffer(BLOCK, out.dtype)
        for i in range(BLOCK):  # the lanes beyond a short last block read row 0
            row[i], value[i] = 0, 0.0
        first = np.int64(k) * CHUNK
        for lo in range(first, first + out[first : first + CHUNK].size, BLOCK):
            xb = x[lo : lo + BLOCK]
            o = out[lo : lo + BLOCK]
            for i in range(o.size):
                j = lo + i
                row[i], value[i] = _head(
                    xb[i], at(a, j), at(b, j), at(c, j), at(d, j), at(first_left, j), at(first_right, j), octave, zone, more
                )
            for i in range(0, o.size, LANES):
                _lanes(table, row, value, i)
            for i in range(o.size):
                o[i] = value[i]


def lookup_cuda(x, a, b, c, d, first_left, first_right, octave, zone, more, table, out):
    for j in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        row, local = _head(
            x[j], at(a, j), at(b, j), at(c, j), at(d, j), at(first_left, j), at(first_right, j), octave, zone, more
        )
        out[j] = _body(table, row, local)


def lookup_split_cpu(x, a, b, c, d, first_left, first_right, octave, zone, more, table, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        first = np.int64(k) * CHUNK
        for j in range(first, first + out[first : first + CHUNK].size):
            row, local = _head(
                x[j], at(a, j), at(b, j), at(c, j), at(d, j), at(first_left, j), at(first_right, j), octave, zone, more
            )
            out[j] = _body(table, row, local)


_DEGREES = {  # a row for CUDA, eight for the CPU
    degree: (row_of(degree + 1, row.py_func), row_lanes(degree + 1))
    for degree, row in ((3, tables.row3), (5, tables.row5), (7, tables.row7))
}


def _lookup(name, head, degree):
    """Kernels of one way to address a table: parameters as numbers, and as arrays."""
    split = degree == "split"
    row, lanes = (tables.row_split, None) if split else _DEGREES[degree]
    dtype = "float32" if degree == 3 else "float64"

    def signatures(T):
        many, rest = T[::1], (types.int64, types.int64, types.int64, T[:, ::1], T[::1])
        second = {"share": (many, many), "sided": (T, T)}.get(name)
        return [(many, *(second or (kind, kind)), *[kind] * 4, *rest) for kind in (T, many)]

    return Kernel(
        f"quantile.table_{name}_{degree}",
        lookup_split_cpu if split else lookup_cpu,
        lookup_cuda,
        signatures,
        dtypes=(dtype,),
        cpu_only={"_body": row} if split else {"_lanes": lanes},
        cuda_only={"_body": row},
        _head=(tables.HEADS32 if degree == 3 else tables.HEADS)[head],
    )


TABLE = {
    (name, degree): _lookup(name, head, degree)
    for degree in (*_DEGREES, "split")
    for head, name in enumerate(("uniform", "exponential", "share", "sided", "signed"))
    if name != "signed" or degree in (3, 7)  # maps from a base variable have rows of degree 7, and none that are split
}
