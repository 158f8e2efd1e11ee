"""The data of a probit model, rows multiplied by the sign of their outcome, and the passes over them."""

from __future__ import annotations

import numpy as np

from numbastats._core import templates
from numbastats._core.dispatch import launch
from numbastats.bayes import kernels as k

__all__ = ["Rows"]

_NS_PER_ENTRY, _NS_PER_ROW = 0.2, 6.0


class Rows:
    """The rows of X, each multiplied by +1 or -1; chunks that do not depend on the number of workers.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
        C-contiguous, float64 or float32.
    device : {"cpu", "cuda"}
    workers : int or None
    """

    def __init__(self, X, device, workers):
        self.X, self.device, self.workers = X, device, workers
        n = X.shape[0]
        rows = max(k.GROUP, min(4096, -(-n // 64)))
        self.chunk = -(-rows // k.GROUP) * k.GROUP
        self.tile = k.tile_rows(X.shape[1], X.itemsize)
        self._placed = X
        if device == "cuda":
            from numba import cuda

            self._placed = cuda.to_device(X)

    def _run(self, kernel, B, key, streams, step):
        (n, p), chains = self.X.shape, B.shape[0]
        chunks = -(-n // self.chunk)
        G, S = np.empty((chunks, chains, p), self.X.dtype), np.empty((chunks, chains))
        args = (self._placed, np.ascontiguousarray(B, self.X.dtype), *key, streams, np.uint32(step))
        items = chunks * chains * k.GROUP
        cost = n * chains * (_NS_PER_ENTRY * p + _NS_PER_ROW) / items
        launch(
            kernel, (*args, np.int64(self.chunk), np.int64(self.tile), G, S), items,
            device=self.device, workers=self.workers, cost=cost, outputs=(-2, -1), threads=k.GROUP,
        )  # fmt: skip
        return G.sum(axis=0, dtype=np.float64), np.array([templates.combine(s) for s in S.T])

    def latent(self, B, key, streams, step):
        """X'z and z'z of latent variables z ~ N(X b, 1) on (0, inf), drawn anew, for every chain b in B."""
        return self._run(k.LATENT, B, key, streams, step)

    def loglik(self, B):
        """Log-likelihood and its gradient for every chain b in B."""
        none = np.uint32(0)
        g, total = self._run(k.LOGLIK, B, (none, none), np.zeros(B.shape[0], np.uint32), 0)
        return total, g

    def margins(self, B):
        """X b for every chain, shape (chains, n)."""
        return (np.ascontiguousarray(B, self.X.dtype) @ self.X.T).astype(np.float64)

    def _blocks(self):
        rows = max(1, 2**25 // max(self.X.shape[1], 1) // 8)
        return [slice(lo, lo + rows) for lo in range(0, self.X.shape[0], rows)]

    def gram(self):
        """X'X, Fortran order: products in the precision of X within blocks of rows, added in double."""
        H = np.zeros((self.X.shape[1],) * 2, order="F")
        for rows in self._blocks():
            x = self.X[rows]
            H += x.T @ x
        return H

    def curvature(self, b):
        """H = X' W X and h = H b + gradient, W the weights of the log-likelihood's Hessian at b."""
        p = self.X.shape[1]
        H, g = np.zeros((p, p), order="F"), np.zeros(p)
        for rows in self._blocks():
            x = self.X[rows]
            m = (x @ b.astype(x.dtype)).astype(np.float64)
            r = _ratios(m)
            H += (x * (r * (r + m))[:, None].astype(x.dtype)).T @ x
            g += x.T @ r.astype(x.dtype)
        return H, H @ b + g


def _ratios(m):
    out = np.empty_like(m)
    k.ELEMENTWISE["inv_mills"].serial(m, out)
    return out
