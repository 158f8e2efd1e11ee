"""Sums over pairs of near samples for the bandwidth rules: one dimension by moments of cells, more by a cell list."""

from __future__ import annotations

import numpy as np

from numbastats.kde.cell_list import ball_cells, ball_of
from numbastats.kde.kernels.pairs import TASKS, line_loop, pairs_loop
from numbastats.kde.slabs import in_slabs, run_loop

__all__ = ["Neighbours", "sums_on_line"]


def sums_on_line(x, w, v, hs, smooth, cross, workers=None):
    """Sums over pairs i < j of polynomials of their distance r, for several bandwidths.

    Parameters
    ----------
    x : (n,) float64
        Sorted.
    w : (n,) float64
    v : (n,) float64 or (1,)
        Second weights; one number stands for a multiple of w = 1.
    hs : (m,) float64
    smooth, cross : (6,) float64
        Coefficients of polynomials that vanish at 1.
    workers : int, optional

    Returns
    -------
    (m, 2) float64
        ``sum w_i w_j smooth(r / 2h)`` over r < 2h, ``sum (v_i w_j + w_i v_j) cross(r / h)`` over r < h.
    """
    sums = np.zeros((len(hs), 2))

    def slab(a, b):
        run_loop(line_loop, 20 * len(x) * (len(hs) - 1), workers, x, w, v, hs[a:b], smooth, cross, sums[a:b])

    in_slabs(slab, len(hs), 60.0 * len(x), workers)
    return sums


class Neighbours:
    """Samples of two or more dimensions, sorted by cells, for sums over near pairs.

    Parameters
    ----------
    y : (n, d) float64
    w, v : (n,) float64
        Two weights.
    width : float
        Edge of a cell; about a quarter of the usual reach.
    workers : int, optional
    """

    def __init__(self, y, w, v, width, workers=None):
        n, d = y.shape
        low, high = y.min(0), y.max(0)
        axes = min(d, 3)
        span = (high - low)[-axes:]
        while np.prod(np.floor(span / width) + 1) > max(4.0 * n, 64.0):
            width *= 1.3
        self.ball, self.cells = ball_of(low, width, np.floor(span / width).astype(np.int64) + 1)
        order = np.arange(n, dtype=np.float64)
        lists = ball_cells(np.ascontiguousarray(y), order, np.ones(1), low, width, self.cells, workers)
        order = lists.w.astype(np.int64) if n > 1 else np.zeros(1, np.int64)
        self.y, self.starts, self.w, self.v, self.workers = lists.u, lists.starts, w[order], v[order], workers

    def sums(self, hs, reaches, table, gaussian=False):
        """Sums over pairs of functions of their distance r / h.

        Parameters
        ----------
        hs, reaches : (m,) float64
            Bandwidths and the distances from which on the function is 0.
        table : (k,) float64
            Coefficients of P, highest first, k a multiple of 6.
        gaussian : bool
            Sum ``w_i w_j exp(-r^2 / 2) P(r^2)``; otherwise ``w_i w_j (2 - r)^((d+5)/2) P(r - 1)`` over r < 2, and
            ``(v_i w_j + w_i v_j) (1 - r^2)`` over r < 1.

        Returns
        -------
        (m, 2) float64
        """
        n, tasks = self.y.shape[1], min(TASKS, self.y.shape[1])
        hs, reaches = np.ascontiguousarray(hs), np.ascontiguousarray(reaches)
        box = np.minimum(self.cells, 2 * reaches.max() / self.ball["width"][0] + 2).prod()
        pairs = n * min(n, box * np.diff(self.starts).max())  # near enough, at most
        cost = 1.0 + 2.0 * pairs / tasks  # of a task for one bandwidth
        sums = np.zeros((tasks, len(hs), 2))

        def for_some(k, m):
            def slab(a, b):
                part, some = np.zeros((b - a, m - k, 2)), np.array([a, tasks])
                lists = (self.y, self.w, self.v, self.starts, self.ball)
                functions = (hs[k:m], reaches[k:m], table, gaussian)
                run_loop(pairs_loop, n * 100 * len(hs), self.workers, *lists, *functions, some, part)
                sums[a:b, k:m] = part

            in_slabs(slab, tasks, cost * (m - k), self.workers)

        in_slabs(for_some, len(hs), cost, 1)
        return sums.sum(0)
