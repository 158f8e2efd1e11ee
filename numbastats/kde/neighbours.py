"""Sums over pairs of near samples for the bandwidth rules: one dimension by moments of cells, more by a cell list."""

from __future__ import annotations

import functools

import numpy as np

from numbastats._core.launch import run_loop
from numbastats._core.slabs import in_slabs
from numbastats.kde.cell_list import ball_cells, ball_of
from numbastats.kde.kernels.pairs import TASKS, line_loop, pairs_loop

__all__ = ["Neighbours", "gaussian_on_line", "sums_on_line"]

_ORDER, _REACH = 16, 17  # terms of the Gaussian's Taylor series in half a bandwidth: 5e-17; cells as wide, beyond: 2e-16
_FEW = 128  # samples whose pairs are summed one by one


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


def gaussian_on_line(x, w, v, h):
    """Sum over pairs of samples of ``w_i v_j exp(-(x_i - x_j)^2 / 2h^2)``, i and j different, for sorted x.

    Greengard and Strain's fast Gauss transform: moments of cells half a bandwidth wide, Taylor series between cells.
    """
    if len(x) <= _FEW:
        z = (x[:, None] - x) / h
        return float(np.einsum("i,ij,j->", w, np.exp(-0.5 * z * z), v) - w @ v)
    z = np.concatenate([[0.0], np.cumsum(np.minimum(np.diff(x) * (2.0 / h), 2.0 * _REACH))])
    cell = np.floor(z)
    first = np.flatnonzero(np.diff(cell, prepend=-1.0))
    offset, cells = 0.5 * (z - cell) - 0.25, cell[first]

    def moments(weights):
        found, power = np.empty((_ORDER, len(first))), weights.copy()
        for k in range(_ORDER):
            found[k] = np.add.reduceat(power, first)
            power *= offset
        return found / factorials[:, None]

    factorials = np.cumprod(np.maximum(np.arange(_ORDER), 1.0))
    of_w = moments(w)
    of_v = of_w if v is w else moments(v)
    total = -float(w @ v)  # subtracts the pairs i = j
    for step, table in enumerate(_series()):
        to = np.searchsorted(cells, cells + step)
        left = np.flatnonzero((to < len(cells)) & (cells[np.minimum(to, len(cells) - 1)] == cells + step))
        pairs = [(of_w, of_v)] if step == 0 or v is w else [(of_w, of_v), (of_v, of_w)]
        both = 2.0 if step and v is w else 1.0
        total += both * sum(float(np.sum(np.einsum("ij,jk->ik", table, a[:, left]) * b[:, to[left]])) for a, b in pairs)
    return total


@functools.cache
def _series():
    """Derivatives of the Gaussian by both sides' orders at the distances of cells."""
    order, tables = np.arange(_ORDER), []
    orders, signs = np.add.outer(order, order), (-1.0) ** order  # the signs of both sides cancel
    for apart in 0.5 * np.arange(_REACH + 1):
        hermite = [1.0, apart]
        for k in range(1, 2 * _ORDER - 2):
            hermite.append(apart * hermite[k] - k * hermite[k - 1])
        tables.append(np.array(hermite)[orders] * (signs[:, None] * np.exp(-0.5 * apart**2)))
    return tables


class Neighbours:
    """Samples sorted by cells, for sums over near pairs.

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
        self.d = y.shape[1]
        y = np.column_stack([np.zeros(len(y)), y]) if self.d == 1 else y  # cells have two axes or three
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

    def sums(self, hs, reaches, table, power):
        """Sums over pairs of functions of their distance r / h.

        Parameters
        ----------
        hs, reaches : (m,) float64
            Bandwidths and the distances from which on the function is 0.
        table : (k,) float64
            Coefficients of P, highest first, k a multiple of 6.
        power : {-1, 0, 1, 2, 3}
            With -1 functions in tables, of `bandwidth._tables`.
            With 0 sum ``exp(-r^2 / 2) P(r^2)`` times ``w_i w_j``, and times ``v_i w_j + w_i v_j``; with p > 0
            ``w_i w_j (2 - r)^((d+1)/2+2p) P(r - 1)`` over r < 2, and ``(v_i w_j + w_i v_j) (1 - r^2)^p`` over r < 1.

        Returns
        -------
        (m, 2) float64
        """
        n, tasks = self.y.shape[1], min(TASKS, self.y.shape[1])
        hs, reaches = np.ascontiguousarray(hs), np.ascontiguousarray(reaches)
        box = np.minimum(self.cells, 2 * reaches.max() / self.ball["width"][0] + 2).prod()
        pairs = n * min(n, box * np.diff(self.starts).max())  # upper estimate of the number of pairs of near samples
        cost = 1.0 + 2.0 * pairs / tasks  # nanoseconds of a task for one bandwidth
        sums = np.zeros((tasks, len(hs), 2))

        def for_some(k, m):
            def slab(a, b):
                part, some = np.zeros((b - a, m - k, 2)), np.array([a, tasks])
                lists = (self.y, self.w, self.v, self.starts, self.ball)
                functions = (hs[k:m], reaches[k:m], table, (np.int64(self.d), np.int64(power)))
                run_loop(pairs_loop, n * 100 * len(hs), self.workers, *lists, *functions, some, part)
                sums[a:b, k:m] = part

            in_slabs(slab, tasks, cost * (m - k), self.workers)

        in_slabs(for_some, len(hs), cost, 1)
        return sums.sum(0)
