"""Small matrices: Cholesky factors, triangular inverses, eigenvalues. Lower triangles are read and written."""

from __future__ import annotations

import math

from numbastats._core.kernel import array_function

_summing = array_function(fastmath=("contract", "reassoc", "nsz"), host=False)


@_summing
def _dot(a, b, n):
    s = 0.0
    for i in range(n):
        s += a[i] * b[i]
    return s


@_summing
def cholesky(A, n, ridge, L):
    """L L' = A + ridge I; returns the number of pivots before one that is not positive."""
    for i in range(n):
        for j in range(i):
            L[i, j] = (A[i, j] - _dot(L[i], L[j], j)) / L[j, j]
        pivot = A[i, i] + ridge - _dot(L[i], L[i], i)
        if not (pivot > 0.0 and pivot < math.inf):
            return i
        L[i, i] = math.sqrt(pivot)
    return n


@_summing
def solve(L, n, g, out):
    """Solve L L' out = g."""
    for i in range(n):
        out[i] = (g[i] - _dot(L[i], out, i)) / L[i, i]
    for i in range(n - 1, -1, -1):
        s = out[i] / L[i, i]
        out[i] = s
        row = L[i]
        for k in range(i):
            out[k] -= row[k] * s


@_summing
def inverse_lower(L, n, U):
    """The inverse of a lower triangular matrix."""
    for j in range(n):
        for i in range(j):
            U[i, j] = 0.0
        U[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, n):
            s = 0.0
            for k in range(j, i):
                s -= L[i, k] * U[k, j]
            U[i, j] = s / L[i, i]


@_summing
def congruent(U, A, n, work, out):
    """U A U', for U lower triangular and A symmetric, of which the lower triangle is read; the whole is written."""
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(i + 1):
                s += U[i, k] * (A[k, j] if k >= j else A[j, k])
            work[i, j] = s
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j + 1):
                s += work[i, k] * U[j, k]
            out[i, j] = s
            out[j, i] = s


@_summing
def rotated(A, n, V):
    """Make a symmetric matrix diagonal by Jacobi's rotations, which columns of V are turned by where V has rows."""
    for _sweep in range(30):
        off, size = 0.0, 0.0
        for i in range(n):
            size += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if not off > 1e-26 * size:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if A[p, q] != 0.0:
                    tau = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
                    t = (1.0 if tau >= 0.0 else -1.0) / (abs(tau) + math.sqrt(1.0 + tau * tau))
                    c = 1.0 / math.sqrt(1.0 + t * t)
                    s = t * c
                    for k in range(n):
                        a, b = A[k, p], A[k, q]
                        A[k, p], A[k, q] = c * a - s * b, s * a + c * b
                    for k in range(n):
                        a, b = A[p, k], A[q, k]
                        A[p, k], A[q, k] = c * a - s * b, s * a + c * b
                    for k in range(V.shape[0]):
                        a, b = V[k, p], V[k, q]
                        V[k, p], V[k, q] = c * a - s * b, s * a + c * b


@_summing
def extreme_eigenvalues(A, n):
    """The least and the largest eigenvalue of a symmetric matrix, which is destroyed, by Jacobi's rotations."""
    rotated(A, n, A[:0])
    low, high = A[0, 0], A[0, 0]
    for i in range(1, n):
        low, high = min(low, A[i, i]), max(high, A[i, i])
    return low, high
