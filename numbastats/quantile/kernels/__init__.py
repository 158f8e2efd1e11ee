"""Kernels of the normal quantile: scalar functions bound to the loop skeletons."""

from __future__ import annotations

import numpy as np
from numba import cuda, prange, types

from numbastats._core import templates
from numbastats._core.compile import Kernel
from numbastats.scalar import hyperbolic, normal, tables
from numbastats.scalar.bits import LANES, at, row_lanes

__all__ = ["ANTITHETIC", "DISTRIBUTION", "FROM_EXPONENTIAL", "GH", "GH_NORM", "LOG", "LOG_KVE", "NDTRI", "STUDENT", "TABLE"]


def _signatures(T):
    """Data as an array, the four parameters as numbers; and with loc and scale as arrays."""
    return [(T[::1], T, T, T, T, T[::1]), (T[::1], T[::1], T[::1], T, T, T[::1])]


def _map(name, fused, dtype, **options):
    return Kernel(f"quantile.{name}", templates.map5_cpu, templates.map5_cuda, _signatures, dtypes=(dtype,), _f=fused, **options)


def _blocked(name, head, tail, fused, dtype):
    return Kernel(
        f"quantile.{name}", templates.blocked5_cpu, templates.map5_cuda, _signatures,
        dtypes=(dtype,), cpu_only={"_head": head, "_tail": tail}, cuda_only={"_f": fused},
    )  # fmt: skip


_DOUBLE = "double precision, rounded once, is what makes this method accurate for float32"

NDTRI = {
    ("fast", "float64"): _blocked("ndtri_fast", normal.fast_head, normal.fast_tail, normal.fast_fused, "float64"),
    ("fast", "float32"): _map("ndtri_fast32", normal.fast_fused, "float32"),
    ("accurate", "float64"): _blocked(
        "ndtri_accurate", normal.accurate_head, normal.accurate_tail, normal.accurate_fused, "float64"
    ),
    ("accurate", "float32"): _map("ndtri_accurate32", normal.accurate32_fused, "float32", f64_ok=_DOUBLE),
    ("exp56", "float32"): _map("ndtri_exp56", normal.exp56_fused, "float32"),
    ("exp56", "float64"): _map("ndtri_exp56_double", normal.exp56_fused, "float64"),
    ("exp1313", "float64"): _map("ndtri_exp1313", normal.exp1313_fused, "float64"),
    ("exp1313_printed", "float64"): _map("ndtri_exp1313_printed", normal.exp1313_printed_fused, "float64"),
    ("t2", "float64"): _map("ndtri_t2", normal.t2_fused, "float64"),
}
LOG = {dtype: _map(f"ndtri_log_{dtype}", normal.log_fused, dtype) for dtype in ("float64", "float32")}

FROM_EXPONENTIAL = Kernel(
    "quantile.norm_from_exponential",
    templates.map1_cpu,
    templates.map1_cuda,
    lambda T: [(T[::1], T[::1])],
    _f=normal.norm_from_exp1,
)
ANTITHETIC = Kernel(
    "quantile.antithetic", templates.map2_cpu, templates.map2_cuda, lambda T: [(T[::1], T, T[::1])], _f=normal.antithetic_fused
)

# --- quantile tables: row and local variable in one vectorised pass, then eight rows of coefficients at a time ----------
# On CUDA the rows of a degree-7 table are 64 bytes, so a value touches one cache line. All but the data, the integers and the
# table may be numbers or arrays: every value may have a table of its own within `table`. What a way to address a table does
# not need is 0; `more` is the logarithm of the rows per octave, or the number of rows beyond the octaves.

_head = _body = _lanes = None  # bound by build


def lookup_cpu(x, a, b, c, d, first_left, first_right, octave, zone, more, table, out):
    for k in prange((out.size + templates.CHUNK - 1) // templates.CHUNK):
        row = np.zeros(templates.BLOCK, np.int64)  # the lanes beyond a short last block read row 0
        value = np.zeros(templates.BLOCK, out.dtype)
        first = np.int64(k) * templates.CHUNK
        for lo in range(first, min(first + templates.CHUNK, out.size), templates.BLOCK):
            xb = x[lo : lo + templates.BLOCK]
            o = out[lo : lo + templates.BLOCK]
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
    for k in prange((out.size + templates.CHUNK - 1) // templates.CHUNK):
        first = np.int64(k) * templates.CHUNK
        for j in range(first, min(first + templates.CHUNK, out.size)):
            row, local = _head(
                x[j], at(a, j), at(b, j), at(c, j), at(d, j), at(first_left, j), at(first_right, j), octave, zone, more
            )
            out[j] = _body(table, row, local)


_DEGREES = {3: (tables.row3, row_lanes(4)), 5: (tables.row5, row_lanes(6)), 7: (tables.row7, row_lanes(8))}  # one row, eight


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
        f"quantile.table_{name}_{degree}", lookup_split_cpu if split else lookup_cpu, lookup_cuda, signatures,
        dtypes=(dtype,), cpu_only={"_body": row} if split else {"_lanes": lanes}, cuda_only={"_body": row},
        _head=(tables.HEADS32 if degree == 3 else tables.HEADS)[head],
    )  # fmt: skip


TABLE = {
    (name, degree): _lookup(name, head, degree)
    for degree in (*_DEGREES, "split")
    for head, name in enumerate(("uniform", "exponential", "share", "sided", "signed"))
    if name != "signed" or degree in (3, 7)  # maps from a base variable have rows of degree 7, and none that are split
}

# --- distribution functions of the laws: panels in the logarithm of the distance to an anchor ----------------------------


def panels_cpu(x, a, b, c, d, first_left, first_right, upper, table, out):
    for k in prange((out.size + templates.CHUNK - 1) // templates.CHUNK):
        first = np.int64(k) * templates.CHUNK
        for j in range(first, min(first + templates.CHUNK, out.size)):
            out[j] = _body(x[j], at(a, j), at(b, j), at(c, j), at(d, j), at(first_left, j), at(first_right, j), upper, table)


def panels_cuda(x, a, b, c, d, first_left, first_right, upper, table, out):
    for j in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[j] = _body(x[j], at(a, j), at(b, j), at(c, j), at(d, j), at(first_left, j), at(first_right, j), upper, table)


DISTRIBUTION = Kernel(
    "quantile.distribution", panels_cpu, panels_cuda,
    lambda T: [(T[::1], *[kind] * 6, types.int64, T[:, ::1], T[::1]) for kind in (T, T[::1])], _body=tables.tail_probability,
)  # fmt: skip

# --- densities of the laws: the sums of the Bessel functions node by node, vectorised over the values of a block -----------

_f = _nodes = _right = _left = _tail = None  # bound by build


def density_cpu(x, lam, alpha, beta, delta, mu, norm, out):
    n = templates.BLOCK
    for k in prange((out.size + templates.CHUNK - 1) // templates.CHUNK):
        work = np.empty(9 * n, out.dtype)  # one array: rows at constant distances need no alias check
        first = np.int64(k) * templates.CHUNK
        for lo in range(first, min(first + templates.CHUNK, out.size), n):
            o = out[lo : lo + n]
            rights, lefts = 0.0, 0.0
            for i in range(o.size):
                j = lo + i
                v, w, rest, h, grow, right, left = _nodes(x[j], at(lam, j), at(alpha, j), at(delta, j), at(mu, j))
                work[i], work[n + i], work[2 * n + i], work[3 * n + i], work[4 * n + i] = v, w, rest, h, grow
                work[5 * n + i], work[6 * n + i], work[7 * n + i], work[8 * n + i] = right, left, 0.0, 1.0
                rights, lefts = max(rights, right), max(lefts, left)
            for m in range(1, int(rights) + 1):
                for i in range(o.size):
                    work[7 * n + i], work[8 * n + i] = _right(
                        m, work[i], work[n + i], work[3 * n + i], work[4 * n + i], work[7 * n + i], work[5 * n + i],
                        work[8 * n + i],
                    )  # fmt: skip
            for i in range(o.size):
                work[7 * n + i] = 0.0
            for m in range(1, int(lefts) + 1):
                for i in range(o.size):
                    work[7 * n + i], work[8 * n + i] = _left(
                        m, work[i], work[2 * n + i], work[3 * n + i], work[4 * n + i], work[7 * n + i], work[6 * n + i],
                        work[8 * n + i],
                    )  # fmt: skip
            for i in range(o.size):
                j = lo + i
                o[i] = _tail(
                    x[j], at(lam, j), at(alpha, j), at(beta, j), at(delta, j), at(mu, j), at(norm, j), work[n + i],
                    work[3 * n + i], work[8 * n + i],
                )  # fmt: skip


def density_cuda(x, lam, alpha, beta, delta, mu, norm, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _f(x[i], at(lam, i), at(alpha, i), at(beta, i), at(delta, i), at(mu, i), at(norm, i))


def _density(name, function, of_sum):
    return Kernel(
        f"quantile.{name}", density_cpu, density_cuda,
        lambda T: [(T[::1], *[T] * 6, T[::1]), (T[::1], *[T[::1]] * 6, T[::1])], cuda_only={"_f": function},
        cpu_only={
            "_nodes": hyperbolic.gh_nodes, "_right": hyperbolic.on_the_right, "_left": hyperbolic.on_the_left, "_tail": of_sum
        },
    )  # fmt: skip


def _student(name, function):
    return Kernel(
        f"quantile.{name}", templates.map2_cpu, templates.map2_cuda,
        lambda T: [(T[::1], T, T[::1]), (T[::1], T[::1], T[::1])], _f=function,
    )  # fmt: skip


GH = {
    "pdf": _density("gh_pdf", hyperbolic.gh_pdf, hyperbolic.gh_pdf_of_sum),
    "logpdf": _density("gh_logpdf", hyperbolic.gh_logpdf, hyperbolic.gh_logpdf_of_sum),
}
GH_NORM = Kernel(
    "quantile.gh_log_norm", templates.map4_cpu, templates.map4_cuda,
    lambda T: [(T[::1], T, T, T, T[::1]), (T[::1], T[::1], T[::1], T[::1], T[::1])], _f=hyperbolic.gh_log_norm,
    dtypes=("float64",),
)  # fmt: skip
LOG_KVE = Kernel(
    "quantile.log_kve", templates.map2_cpu, templates.map2_cuda, lambda T: [(T[::1], T[::1], T[::1])], _f=hyperbolic.log_kve,
    dtypes=("float64",),
)  # fmt: skip
STUDENT = {
    "pdf": _student("student_pdf", hyperbolic.student_pdf),
    "logpdf": _student("student_logpdf", hyperbolic.student_logpdf),
}
