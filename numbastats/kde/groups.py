"""Samples in groups: by columns of a frame or by labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numbastats._core.data import floats, is_missing, labels_of
from numbastats._core.kinds import rows_alike

__all__ = ["OF_MATRIX", "Group", "fitted", "split"]


class Group(NamedTuple):
    """The samples of a group, their weights, and where they stand among all."""

    samples: Any
    weights: np.ndarray | None
    places: np.ndarray


def split(samples, by, weights=None, name="by"):
    """Groups by their labels, sorted; a category's in the order of its categories.

    Parameters
    ----------
    samples : (n, d) or (n,) array_like
    by : str, list of str, or (n,) array_like
        Columns of a frame, which are then no coordinates, or a label for each sample.
    weights : (n,) array, optional
    name : str
        Of `by` in error messages.

    Returns
    -------
    dict of Group
    """
    names = [by] if isinstance(by, str) else by if isinstance(by, list) and all(isinstance(v, str) for v in by) else None
    if names is not None and hasattr(samples, "columns"):
        columns = list(samples.columns)
        if absent := [v for v in names if v not in columns]:
            raise ValueError(f"{name}={by!r} names {absent[0]!r}, but the columns of the samples are {columns}")
        given = [samples[v] for v in names]
        rest = [c for c in columns if c not in names]
        if not rest:
            raise ValueError(f"{name}={by!r} leaves no column of the samples; pass the columns of coordinates, too")
        samples = samples[rest]
    elif isinstance(by, str):
        raise TypeError(f"{name}={by!r} is a column of a data frame, but the samples are a {type(samples).__name__}; pass labels")
    else:
        rows_alike(samples, by, ("samples", name))
        given = [by]
    labels = [labels_of(v, name) for v in given]
    n = len(samples)
    if any(v.shape != (n,) for v in labels):
        raise ValueError(f"{name} has shape {np.shape(labels[0])}; pass one label for each of the {n} samples")
    if any(is_missing(v).any() for v in labels):
        raise ValueError(f"{name} has missing labels; drop these samples, or give them a label")
    order = _order(given[0])
    keys = labels[0].tolist() if len(labels) == 1 else list(zip(*(v.tolist() for v in labels), strict=True))
    found = sorted(set(keys)) if order is None or len(labels) > 1 else [k for k in order if k in set(keys)]
    if not found:
        raise ValueError(f"there are no samples ({n} labels); pass at least one")
    number = {key: i for i, key in enumerate(found)}
    which = np.fromiter((number[key] for key in keys), np.int64, n)
    groups, values = {}, None if hasattr(samples, "columns") or hasattr(samples, "iloc") else floats(samples, "samples")
    for i, key in enumerate(found):
        places = np.flatnonzero(which == i)
        if hasattr(samples, "iloc"):
            part = samples.iloc[places]
        elif hasattr(samples, "columns"):
            part = samples[places]
        else:
            part = values[places]
        groups[key] = Group(part, None if weights is None else weights[places], places)
    return groups


def _order(labels):
    """The categories of a series of pandas, or None."""
    categories = getattr(getattr(labels, "cat", None), "categories", None)
    return None if categories is None else list(categories)


def fitted(groups, fit, shared, name="group"):
    """What `fit` makes of every group: of the group and of a kernel matrix, None or that of all groups.

    Parameters
    ----------
    groups : dict of Group
    fit : callable
        Gives what has a `model`.
    shared : bool
        Whether the matrix is the mean of the groups' own, weighted by their sums of weights.
    name : str
        Of a group in error messages.
    """

    def made(matrix):
        found = {}
        for key, group in groups.items():
            try:
                found[key] = fit(group, matrix)
            except ValueError as error:
                raise ValueError(f"{name} {key!r} with {len(group.places)} sample(s): {error}") from None
        return found

    found = made(None)
    if not shared:
        return found
    models = [one.model for one in found.values()]
    return made(np.average(np.stack([m.H for m in models]), axis=0, weights=[m.total for m in models]))


OF_MATRIX = {"h": None, "sigma": "cov", "bandwidth": "eq9", "bw_convention": "support"}
"""Options that a given kernel matrix replaces."""
