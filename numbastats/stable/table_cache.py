"""Piecewise polynomials of the logarithms of density, distribution and survival function of one distribution.

Variable: u = log(t + shift) with t = |x - centre|/delta, on either side of the centre. For alpha < 0.9 the centre is zeta, where
the density has its cusp or the support its end, and delta the width of the cusp; else it is 0. The shift is 1, or 0 where the
support begins at the centre. Panels are so narrow that the last Chebyshev coefficients are negligible; check points
between the nodes give the certificate; see kernels/table_building.py. `cells` finds the panel of a u: cells uniform in a bent u.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from numbastats.stable import kernels
from numbastats.stable.kernels import table_building as building
from numbastats.stable.parameterisations import CUSP, Form

__all__ = ["Table", "table"]

DEGREE = building.DEGREE


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """What the table kernels need, and the certificate.

    Attributes
    ----------
    info : array (3, 7)
        1/delta, shift, whether it is symmetric; then for the right and the left side: first u, end of u (inf for a heavy
        tail), cells per unit, first cell, number of cells, first panel, number of panels.
    cells : int64 array (cells, 1)
        Panel at the start of every cell.
    panels : tuple of three arrays (panels, COLUMNS)
        For log pdf, log cdf, log sf: middle, reciprocal half width, monomial coefficients, value at the start, 0.
    certificate : float
        Largest difference at the check points, of logarithms; relative to 1 + |logarithm|/100.
    form : Form
        S1 where the centre is zeta.
    """

    info: np.ndarray
    cells: np.ndarray
    panels: tuple[np.ndarray, np.ndarray, np.ndarray]
    certificate: float
    form: Form

    @property
    def nbytes(self):
        """Bytes held."""
        return self.info.nbytes + self.cells.nbytes + sum(rows.nbytes for rows in self.panels)


@functools.lru_cache(maxsize=16)
def table(a, b):
    """The `Table` of the standard distribution (alpha, beta)."""
    x, f = np.empty((building.MARCHES, building.PLACES)), np.empty((building.MARCHES, 3, building.PLACES))
    spans, rows = np.empty((building.MOST, 3)), np.empty((building.MOST, 3, building.PLACES))
    info, cells = np.empty((3, 7)), np.empty((2 * building.MOST_CELLS, 1), np.int64)
    panels = np.empty((3, 2 * building.MOST, building.COLUMNS))
    marches, progress = np.zeros(building.MARCHES, building.MARCH), np.zeros(1, building.PROGRESS)
    form, make = Form.S1 if a < CUSP else Form.S0, building.maker(a, b)
    while True:
        make(a, b, x, f, marches, spans, rows, progress, info, cells, panels)
        count, _, _, certificate, size, places = progress[0].item()
        if size:
            return Table(info, cells[: int(places)].copy(), tuple(p[: int(size)].copy() for p in panels), certificate, form)
        _fill(a, b, form, x[: int(count)], f)


def _fill(a, b, form, x, f):
    """Logarithms of pdf, cdf, sf where they are missing, point by point."""
    rows, places = np.nonzero(np.isnan(f[: len(x), 0]))
    x, none = x[rows, places], np.empty(0)
    p, c, s = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    kernels.POINTS.serial(x, a, b, 0.0, 1.0, kernels.THREE_LOGS + kernels.S1 * float(form), c, s, none, none, none, p)
    f[rows, 0, places], f[rows, 1, places], f[rows, 2, places] = p, c, s
