"""Quantile tables in files."""

from __future__ import annotations

import json
import math

import numpy as np

from numbastats._core.archive import read_archive
from numbastats.quantile.building import Certificate, One

__all__ = ["Loaded", "load", "save"]

_VERSION = 3


class Loaded:
    """What is left of the masses in a file."""

    def __init__(self, p, anchor=0.0):
        self.p, self.anchor = p, anchor


def save(table, path):
    """Write the tables of a `Recycler` to a file of NumPy's .npz format."""
    if not isinstance(table.base, (str, tuple)):
        raise ValueError("a table whose base is another table is not saved; save the two and build the map anew")
    for kind in {kind for kind, _ in table._tables}:
        table._table(kind, 3, "cpu")
    meta = dict(
        base=table.base, degree=table.degree, octaves=table._octaves, bits=table._bits, shape=table.shape,
        setup_seconds=table.setup_seconds, version=_VERSION, param_dtype=table._param_dtype and table._param_dtype.name,
        narrow_errors=table._narrow_errors,
    )  # fmt: skip
    p = np.array([one.masses.p if one.masses is not None else (math.nan,) * 2 for one in table._sets])
    anchors = np.array([one.base.anchor if one.base is not None else 0.0 for one in table._sets])
    c = table.certificate
    contents = dict(
        meta=json.dumps(meta), p=p, anchors=anchors, norm=table.norm_const, ok=c.ok, error=c.max_rel_err,
        tail_mass=c.tail_mass, calls=c.calls, shift=table._shift,
        **{f"table_{kind}_{degree}": t for (kind, degree), t in table._tables.items()},
    )  # fmt: skip
    with open(path, "wb") as file:  # np.savez adds a suffix to a name
        np.savez(file, **contents)


def load(path, kind):
    """Read what `save` wrote into a new object of class `kind`."""
    table = kind.__new__(kind)
    f = read_archive(path, "meta", f"{path} is no table, or damaged; pass a file that Recycler.save wrote")
    meta = json.loads(str(f["meta"]))
    if meta["version"] != _VERSION:
        raise ValueError(f"{path} was written by another version of the library; build the table anew")
    base = meta["base"]
    table.base = base if isinstance(base, str) else (base[0], tuple(base[1]))
    table.degree, table._octaves, table._bits = meta["degree"], meta["octaves"], meta["bits"]
    table.setup_seconds = meta["setup_seconds"]
    table._param_dtype = np.dtype(meta["param_dtype"]) if meta.get("param_dtype") else None
    table._narrow_errors = meta["narrow_errors"]
    table.shape, table._shift = tuple(meta["shape"]), f["shift"]
    table._tables = {}
    for name in f:
        if name.startswith("table_"):
            _, rows, degree = name.split("_")
            table._tables[rows, int(degree)] = f[name]
    table.certificate = Certificate(f["ok"][()], f["error"][()], f["tail_mass"][()], f["calls"][()])
    table.norm_const = f["norm"][()]
    table.p_minus = f["p"][:, 0].reshape(table.shape)[()]
    table._sets = [One(masses=Loaded(tuple(p)), base=Loaded(None, a)) for p, a in zip(f["p"], f["anchors"], strict=True)]
    table.device = table.workers = table._cdf = None
    table._index = np.arange(len(table._sets)).reshape(table.shape)
    table.params, table._heads, table._on_device, table._others = (), {}, {}, {}
    return table
