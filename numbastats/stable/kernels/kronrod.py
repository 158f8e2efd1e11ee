"""Gauss-Kronrod rules."""

from __future__ import annotations

import functools

import numpy as np
from numpy.polynomial import legendre

__all__ = ["kronrod"]


@functools.cache
def kronrod(n):
    """Nodes and weights of the (2n + 1)-point Kronrod extension of the n-point Gauss-Legendre rule on [-1, 1].

    Parameters
    ----------
    n : int
        Odd and small: the extension is solved for directly.

    Returns
    -------
    tuple of three arrays
        Nodes, weights, and the weights of the Gauss rule on the same nodes (0 where it has none).

    Notes
    -----
    The new nodes are the zeros of Stieltjes' polynomial E of degree n + 1: the integral of P_n E x^k vanishes for k <= n.
    Its Legendre coefficients come from integrals of triple products; Newton's method polishes the zeros. The weights integrate
    P_0 .. P_2n exactly.
    """
    x, w = legendre.leggauss(2 * n + 2)
    basis = legendre.legvander(x, n + 1)
    products = basis.T @ (basis * (w * basis[:, n])[:, None])  # integrals of P_i P_j P_n
    e = np.append(np.linalg.lstsq(products[1 : n + 1, : n + 1], -products[1 : n + 1, n + 1], rcond=None)[0], 1.0)
    gauss, gauss_weights = legendre.leggauss(n)
    new = legendre.legroots(e).real  # the zeros are real; from NumPy 2.5 on their type is complex all the same
    for _ in range(3):
        new = new - legendre.legval(new, e) / legendre.legval(new, legendre.legder(e))
    nodes = np.concatenate([gauss, new])
    nodes = 0.5 * (nodes - np.sort(nodes)[::-1][np.argsort(np.argsort(nodes))])  # exactly symmetric
    order = np.argsort(nodes)
    lower = np.concatenate([gauss_weights, np.zeros(n + 1)])[order]
    nodes = nodes[order]
    moments = np.zeros(2 * n + 1)
    moments[0] = 2.0
    weights = np.linalg.solve(legendre.legvander(nodes, 2 * n).T, moments)
    return nodes, 0.5 * (weights + weights[::-1]), lower
