"""Bandwidth matrices for normal kernels: the plug-in rule and smoothed cross-validation, by sums over all pairs of samples.

Both work on samples whose covariance is the identity, where one number g is a fair pilot bandwidth for all derivatives; H is
returned in the samples' units. z is the difference of a pair, phi_A the normal density of covariance A.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from numbastats._core.errors import ConvergenceWarning, warn

__all__ = ["plugin_whitened", "scv_whitened"]

PAIRS = 1 << 15  # differences at a time, which fit the cache


def _pairings(d):
    """The sums over the 3 pairings of four indices of I I, and over the 6 choices of two of them of I T: tensors of order 4."""
    one = np.eye(d)
    both = sum(np.einsum(f"{p},{q}->abcd", one, one) for p, q in (("ab", "cd"), ("ac", "bd"), ("ad", "bc")))
    rest = {p: "".join(sorted(set("abcd") - set(p))) for p in map("".join, itertools.combinations("abcd", 2))}
    return both, lambda t: sum(np.einsum(f"{p},{q}->abcd", one, t) for p, q in rest.items())


def _fourth(y, w, g, laplacian=False):
    """Estimates, with the kernel phi_(g^2 I), of the integrals of f times its fourth derivatives, or times Laplacians of these.

    The Hermite tensor of order 4 is zzzz - (I zz, 6 terms) + (I I, 3 terms), and the contraction of that of order 6
    (|z|^2 - d - 8) zzzz - (|z|^2 - d - 6) (I zz, 6 terms) + (|z|^2 - d - 4) (I I, 3 terms).
    """
    n, d = y.shape
    both, spread = _pairings(d)
    a, b = np.triu_indices(d)
    s0, s2, s4, step = 0.0, np.zeros(len(a)), np.zeros((len(a), len(a))), max(1, PAIRS // n)
    u = y / g
    for first in range(0, n, step):
        z = u[first : first + step, None] - u[first:]
        squares = np.einsum("ijk,ijk->ij", z, z)
        weights = np.triu(w[first : first + step, None] * w[first:]) * np.exp(-0.5 * squares)
        weights[:, : len(z)] += np.triu(weights[:, : len(z)], 1)  # every pair of two samples counts twice
        weights[:, len(z) :] *= 2.0
        near = weights > 0.0
        z, squares, weights = z[near].T, squares[near], weights[near]
        products = np.stack([z[i] * z[j] for i, j in zip(a, b, strict=True)])
        k4, k2, k0 = (weights * (squares - d - c) if laplacian else weights for c in (8, 6, 4))
        s0 += k0.sum()
        s2 += np.einsum("ik,k->i", products, k2)  # waking the threads of BLAS would take longer
        s4 += np.einsum("ik,jk->ij", products * k4, products)
    full = np.zeros((d, d), int)
    full[a, b] = full[b, a] = np.arange(len(a))
    s2, s4 = s2[full], s4[np.ix_(full.reshape(-1), full.reshape(-1))].reshape((d,) * 4)
    scale = w.sum() ** 2 * (2 * math.pi * g * g) ** (d / 2) * g ** (6 if laplacian else 4)
    return (s4 - spread(s2) + s0 * both) / scale


def _pilot(y, w, n):
    """The pilot bandwidth g for fourth derivatives, of the least sum of squared errors (S_AMSE), and their estimates."""
    d = y.shape[1]
    zero = (2 * math.pi) ** (-d / 2)
    # the bias of sixth derivatives vanishes where those of order 8 are a normal density's: all are one tensor times a number
    g6 = (2 * zero * 2**4 / ((4 * math.pi) ** (-d / 2) * (d + 6) * n)) ** (1 / (d + 8))
    laplacian = _fourth(y, w, g6, laplacian=True)
    at_zero = zero * _pairings(d)[0]
    a1, a2, a3 = np.sum(at_zero**2), np.sum(at_zero * laplacian), np.sum(laplacian**2)
    # the squared sum of n^-1 g^(-d-4) D^4 phi(0) and g^2 laplacian / 2 is least at a root of a quadratic in n g^(d+6)
    b = (d + 2) * a2
    root = (b + math.sqrt(b * b + 8 * (d + 4) * a1 * a3)) / (2 * a3)
    g4 = (root / n) ** (1 / (d + 6))
    return g4, _fourth(y, w, g4)


def _least(loss, start, name):
    """The positive definite matrix of the least loss, which gives its value and its gradient."""
    from scipy.optimize import minimize

    d = len(start)
    lower = np.tril_indices(d)
    diagonal = lower[0] == lower[1]

    def factor(p):
        root = np.zeros((d, d))
        root[lower] = np.where(diagonal, np.exp(np.where(diagonal, p, 0.0)), p)
        return root

    unit = loss(start)[0]

    def of(p):
        root = factor(p)
        value, slope = loss(root @ root.T)
        slope = (2 * slope @ root)[lower]
        return value / unit, np.where(diagonal, slope * root[lower], slope) / unit

    first = np.linalg.cholesky(start)[lower]
    first = np.where(diagonal, np.log(np.where(diagonal, first, 1.0)), first)
    found = minimize(of, first, jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 500})
    root = factor(found.x)
    if not (np.isfinite(root).all() and np.abs(found.jac).max() < 1e-4):
        warn(f"the search for the least criterion of {name!r} has not converged ({found.message})", ConvergenceWarning)
    return root @ root.T


def _variance(h, n):
    """Integrated variance of the estimate with the kernel matrix h, and its gradient."""
    value = 1 / (n * math.sqrt(np.linalg.det(4 * math.pi * h)))
    return value, -0.5 * value * np.linalg.inv(h)


def _reference(d, n):
    return np.eye(d) * (4 / ((d + 2) * n)) ** (2 / (d + 4))


def plugin_whitened(y, w, n):
    """Plug-in bandwidth matrix of samples whose covariance is the identity; n is their effective number."""
    w = np.ones(len(y)) if w is None else w
    psi = _pilot(y, w, n)[1]

    def loss(h):
        variance, slope = _variance(h, n)
        bias = np.tensordot(psi, h)
        return variance + 0.25 * np.sum(bias * h), slope + 0.5 * bias

    return _least(loss, _reference(y.shape[1], n), "plugin-matrix")


def scv_whitened(y, w, n):
    """Bandwidth matrix of smoothed cross-validation; arguments as for `plugin_whitened`."""
    d = y.shape[1]
    w = np.ones(len(y)) if w is None else w
    pilot = np.eye(d) * _pilot(y, w, n)[0] ** 2  # 2 G: the convolution of two kernels phi_G stands for the one above
    constant = _density(y, w, pilot)[0]

    def loss(h):
        value, slope = _variance(h, n)
        for times, sign in ((2.0, 1.0), (1.0, -2.0)):
            found, its_slope = _density(y, w, times * h + pilot)
            value, slope = value + sign * found, slope + sign * times * its_slope
        return value + constant, slope

    return _least(loss, _reference(d, n), "scv")


def _density(y, w, a):
    """Mean over all pairs, by weight, of phi_A(z), and its gradient in A."""
    from scipy.spatial.distance import cdist

    n, d = y.shape
    inverse = np.linalg.inv(a)
    u, columns = y @ np.linalg.cholesky(inverse), np.ascontiguousarray(y.T)
    total, outer, cross, step = 0.0, np.zeros(n), np.zeros((d, d)), max(1, PAIRS // n)
    for first in range(0, n, step):
        last = min(first + step, n)
        k = cdist(u[first:last], u[first:], "sqeuclidean")
        k *= -0.5
        np.exp(k, out=k)
        k *= w[first:last, None] * w[first:]
        k[:, last - first :] *= 2.0  # every pair of two samples counts twice
        total += k.sum()
        outer[first:last] += k.sum(1)
        outer[first:] += k.sum(0)
        cross += columns[:, first:last] @ np.einsum("ij,kj->ik", k, columns[:, first:])
    second = (columns * outer) @ y - cross - cross.T  # the sum of z z' times phi_A(z)
    scale = math.sqrt(np.linalg.det(2 * math.pi * a)) * w.sum() ** 2
    return total / scale, 0.5 * (inverse @ second @ inverse - total * inverse) / scale
