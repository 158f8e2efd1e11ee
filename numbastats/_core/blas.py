"""Routines of SciPy's BLAS and LAPACK for compiled loops, where a call through NumPy would need the interpreter.

Compiled code knows them by symbols, not by their addresses, so that it can be kept on the disk. Matrices are in Fortran's order:
row j of an array is column j of the routine's matrix.
"""

from __future__ import annotations

import llvmlite.binding
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from numbastats._core.kernel import array_function

__all__ = ["dot", "factor", "multiply", "products", "solve", "times"]

_TYPES = {"c": types.CPointer(types.uint8), "i": types.CPointer(types.int32), "d": types.CPointer(types.float64)}


def _routine(library, name, arguments, result=types.void):
    """A routine as compiled code calls it, with a letter for the type of each argument."""
    llvmlite.binding.add_symbol(f"scipy_{name}", get_cython_function_address(f"scipy.linalg.cython_{library}", name))
    return types.ExternalFunction(f"scipy_{name}", result(*(_TYPES[letter] for letter in arguments)))


_dpotrf = _routine("lapack", "dpotrf", "cidii")
_dtrsv = _routine("blas", "dtrsv", "cccididi")
_dgemv = _routine("blas", "dgemv", "ciiddididdi")
_dtrmv = _routine("blas", "dtrmv", "cccididi")
_dsyrk = _routine("blas", "dsyrk", "cciiddiddi")
_ddot = _routine("blas", "ddot", "ididi", types.float64)
_LETTERS = {letter: np.frombuffer(letter.encode(), np.uint8) for letter in "LNT"}
_L, _N, _T = _LETTERS.values()
_calls = array_function(fastmath=(), host=False, allocates=True)


@_calls
def factor(A):
    """Replace the lower triangle of a matrix by its Cholesky factor; whether it is positive definite."""
    n = np.array([A.shape[0], 0], np.int32)
    _dpotrf(_L.ctypes, n.ctypes, A.ctypes, n.ctypes, n[1:].ctypes)
    return n[1] == 0


@_calls
def solve(A, x, transposed):
    """Replace x by L^-1 x, or L'^-1 x, of a lower triangle L."""
    n = np.array([x.size, 1], np.int32)
    if transposed:
        _dtrsv(_L.ctypes, _T.ctypes, _N.ctypes, n.ctypes, A.ctypes, n.ctypes, x.ctypes, n[1:].ctypes)
    else:
        _dtrsv(_L.ctypes, _N.ctypes, _N.ctypes, n.ctypes, A.ctypes, n.ctypes, x.ctypes, n[1:].ctypes)


@_calls
def multiply(A, x, transposed):
    """Replace x by L x, or L'x, of a lower triangle L."""
    n = np.array([x.size, 1], np.int32)
    if transposed:
        _dtrmv(_L.ctypes, _T.ctypes, _N.ctypes, n.ctypes, A.ctypes, n.ctypes, x.ctypes, n[1:].ctypes)
    else:
        _dtrmv(_L.ctypes, _N.ctypes, _N.ctypes, n.ctypes, A.ctypes, n.ctypes, x.ctypes, n[1:].ctypes)


@_calls
def products(A, out):
    """The lower triangle of A'A of a square matrix."""
    n, one = np.array([A.shape[0]], np.int32), np.array([1.0, 0.0])
    _dsyrk(_L.ctypes, _T.ctypes, n.ctypes, n.ctypes, one.ctypes, A.ctypes, n.ctypes, one[1:].ctypes, out.ctypes, n.ctypes)


@_calls
def times(A, x, out):
    """The product A'x of a whole square matrix."""
    n, one = np.array([x.size, 1], np.int32), np.array([1.0, 0.0])
    i = n[1:]
    _dgemv(
        _T.ctypes, n.ctypes, n.ctypes, one.ctypes, A.ctypes, n.ctypes, x.ctypes, i.ctypes, one[1:].ctypes, out.ctypes, i.ctypes
    )


@_calls
def dot(x, y):
    """The sum of the products of two arrays."""
    n = np.array([x.size, 1], np.int32)
    return _ddot(n.ctypes, x.ctypes, n[1:].ctypes, y.ctypes, n[1:].ctypes)
