"""What the tests of `quantile` share: the reference table, plain densities."""

from __future__ import annotations

import csv

import numpy as np
import scipy.special
import scipy.stats

from numbastats.quantile import QuantileTable

NAMES = {"hyperbolic": ("alpha", "beta", "delta"), "variance_gamma": ("lambda", "alpha", "beta"), "student_from_z": ("nu",)}


def logistic(x):
    return np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2


def rows(reference, law, values):
    """Inputs and correctly rounded results of a law in the reference table."""
    params = ";".join(f"{n}={v:g}" for n, v in zip(NAMES[law], values, strict=True))
    with open(reference / "quantile" / "quantile_ref_public.csv", newline="") as f:
        found = [r for r in csv.DictReader(f) if r["dist"] == law and r["params"] == params]
    assert found, params
    return tuple(np.array([float.fromhex(r[c]) for r in found]) for c in ("input_hex", "quantile_hex"))


def normals(*parts):
    """Density, distribution function and its complement of a mixture of (weight, mean, standard deviation)."""
    ndtr = scipy.special.ndtr
    return (
        lambda x: sum(w * scipy.stats.norm.pdf(x, m, s) for w, m, s in parts),
        lambda x: sum(w * ndtr((x - m) / s) for w, m, s in parts),
        lambda x: sum(w * ndtr((m - x) / s) for w, m, s in parts),
    )


def histogram(counts, edges):
    """Density, distribution function and its complement, to the last digits at either end."""
    counts, edges = np.asarray(counts, float), np.asarray(edges, float)
    mass = counts * np.diff(edges)
    mass, height = mass / mass.sum(), counts / (counts * np.diff(edges)).sum()
    below, above = np.append(0, np.cumsum(mass)), np.append(np.cumsum(mass[::-1])[::-1], 0)

    def bins(x):
        return np.clip(np.searchsorted(edges, x, "right") - 1, 0, counts.size - 1)

    return (
        lambda x: np.where((x >= edges[0]) & (x < edges[-1]), height[bins(x)], 0.0),
        lambda x: below[bins(x)] + height[bins(x)] * (x - edges[bins(x)]),
        lambda x: above[bins(x) + 1] + height[bins(x)] * (edges[bins(x) + 1] - x),
    )


def split_table():
    return QuantileTable(normals((0.5, 0, 1), (0.5, 6, 1))[0])
