"""Quantile tables in files."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import NamedTuple

import numpy as np

from numbastats._core.archive import read_archive, write_archive
from numbastats.quantile.arguments import check_base
from numbastats.quantile.construction import Loaded, One, base_shape, follows_base
from numbastats.quantile.quantile_table import MOST_BITS, Rows, TableSet
from numbastats.scalar.tables import NEAR_BITS, SPLIT_COLUMNS

__all__ = ["Archive", "load", "save"]

_VERSION = 4
_CERTIFICATE = ("ok", "max_rel_err", "tail_mass", "calls", "lower", "upper", "direct")


class Archive(NamedTuple):
    """Contents of a file."""

    table: TableSet
    certificate: dict
    norm_const: np.ndarray
    setup_seconds: float


def save(path, table, certificate, norm_const, setup_seconds):
    """Write a `TableSet` and its certificate to a file of NumPy's .npz format."""
    if not isinstance(table.base, (str, tuple)):
        raise ValueError("a table whose base is another table is not saved; save the two and build the map anew")
    kinds = {kind: rows for kind, rows in (("uniform", table.uniform), ("signed", table.signed)) if rows is not None}
    arrays, errors = {}, {}
    for kind, rows in kinds.items():
        arrays[f"table_{kind}_{7 if kind == 'signed' else table.degree}"] = rows.double
        if kind == "signed" or not table.split:
            arrays[f"table_{kind}_3"] = table.rows(kind, 3)
            errors[kind] = rows.error
    meta = dict(
        base=table.base,
        degree=table.degree,
        octaves=table.octaves,
        bits=table.bits,
        shape=table.shape,
        setup_seconds=setup_seconds,
        version=_VERSION,
        param_dtype=table.param_dtype and table.param_dtype.name,
        narrow_errors=errors,
        split=table.split,
        direct=not table.indirect,
    )
    p = np.array([one.masses.p if one.masses is not None else (math.nan,) * 2 for one in table.sets])
    anchors = np.array([one.base.anchor if one.base is not None else 0.0 for one in table.sets])
    contents = dict(meta=json.dumps(meta), p=p, anchors=anchors, norm=norm_const, shift=table.shift[table.index], **arrays)
    write_archive(path, contents | {name: certificate[name] for name in _CERTIFICATE})


def load(path):
    """Read a file that `save` wrote."""
    damaged = f"{path} is no table, or damaged; pass a file that QuantileTable.save wrote"
    f = read_archive(path, "meta", damaged)
    try:
        meta = json.loads(str(f["meta"]))
        version = meta["version"]
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(damaged) from error
    if version != _VERSION:
        raise ValueError(f"{path} was written by another version of the library; build the table anew")
    try:
        return _made(f, meta)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, IndexError) as error:
        known = str(error) if type(error) is _Inconsistent else f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is no table that QuantileTable.save wrote: {known}") from error


class _Inconsistent(ValueError):
    """Inconsistent contents of a file."""


def _held(condition, message):
    if not condition:
        raise _Inconsistent(message)


def _number(meta, name, low, high):
    value = meta[name]
    _held(type(value) is int and low <= value <= high, f"{name} is {value!r}, not an integer from {low} to {high}")
    return value


def _array(f, name, shape, kinds="f"):
    value = f[name]
    _held(
        value.shape == shape and value.dtype.kind in kinds and value.dtype.itemsize in (1, 8),
        f"{name} has shape {value.shape} and dtype {value.dtype}; shape {shape} is expected",
    )
    return value


def _made(f, meta):
    """The contents; every number that becomes an index is checked."""
    base = meta["base"]
    base = check_base(tuple(tuple(part) if isinstance(part, list) else part for part in base) if isinstance(base, list) else base)
    degree = _number(meta, "degree", 5, 7)
    _held(degree != 6, "degree is 6")
    octaves, bits = _number(meta, "octaves", 1, 1022), _number(meta, "bits", 4, MOST_BITS)
    _held(type(meta["split"]) is bool and type(meta["direct"]) is bool, "split and direct must be true or false")
    _held(isinstance(meta["shape"], list), "shape is no list")
    shape = tuple(meta["shape"])
    _held(all(type(n) is int and n > 0 for n in shape), f"shape is {shape}")
    count = math.prod(shape)
    param_dtype = np.dtype(meta["param_dtype"]) if meta["param_dtype"] is not None else None
    _held(param_dtype in (None, np.float32, np.float64), f"param_dtype is {param_dtype}")
    errors = {name: float(meta["narrow_errors"][name]) for name in meta["narrow_errors"]}
    p, anchors = _array(f, "p", (count, 2)), _array(f, "anchors", (count,))
    good = np.isnan(p).all(1) | ((p >= 0) & (p <= 1)).all(1) & (np.abs(p.sum(1) - 1) < 1e-9)
    _held(good.all(), "p, the masses beside the anchor, do not add up to 1")
    _held(not np.isnan(anchors).any(), "anchors are NaN")
    table = TableSet(
        base,
        degree,
        octaves,
        None,
        bits,
        meta["split"],
        shift=_array(f, "shift", shape).ravel(),
        sets=tuple(One(Loaded(tuple(pair)), Loaded(None, a)) for pair, a in zip(p, anchors, strict=True)),
        index=np.arange(count).reshape(shape),
        param_dtype=param_dtype,
        indirect=not meta["direct"],
    )
    table = _with_rows(f, table, errors)
    certificate = {name: _array(f, name, () if name == "direct" else shape, "bif")[()] for name in _CERTIFICATE}
    _held(bool(certificate["direct"]) is meta["direct"], "the certificate and direct do not agree")
    return Archive(table, certificate, _array(f, "norm", shape)[()], float(meta["setup_seconds"]))


def _with_rows(f, table, errors):
    """The table with its rows by kind and degree, as many as the header leads to."""
    count = len(table.sets)
    octaves, _, far, _ = base_shape(table.base)
    expected = {("uniform", table.degree): np.float64}
    if not table.split:
        expected["uniform", 3] = np.float32
    if follows_base(table.base) and not table.indirect:
        expected |= {("signed", 7): np.float64, ("signed", 3): np.float32}
    names = {f"table_{kind}_{degree}" for kind, degree in expected}
    found = {name for name in f if name.startswith("table_")}
    _held(found == names, f"it has {sorted(found)}; base {table.base!r} and degree {table.degree} go with {sorted(names)}")
    tables = {}
    for (kind, degree), dtype in expected.items():
        rows = f[f"table_{kind}_{degree}"]
        parts = SPLIT_COLUMNS if kind == "uniform" and table.split else 0
        least = count * (4 * (table.length(degree) + 2) if kind == "uniform" else 2 * ((octaves << NEAR_BITS) + far + 4))
        fits = rows.dtype == dtype and rows.ndim == 2 and rows.shape[1] == degree + 1 + parts
        _held(
            fits and (len(rows) >= least if parts else len(rows) == least),
            f"table_{kind}_{degree} has shape {rows.shape} and dtype {rows.dtype}; {least} rows of {degree + 1 + parts} "
            f"{np.dtype(dtype)} are expected",
        )
        if parts:
            where, how_many = (rows[rows[:, -1] != 0, k] for k in (-SPLIT_COLUMNS, -1))
            inside = (where >= least) & (how_many > 0) & (how_many <= len(rows)) & (where + how_many <= len(rows))
            _held(
                inside.all() and (where % 1 == 0).all() and (how_many % 1 == 0).all(),
                f"rows of table_{kind}_{degree} have parts beyond its end",
            )
        tables[kind, degree] = np.ascontiguousarray(rows)
    rows = {
        kind: Rows(double, tables.get((kind, 3)), errors.get(kind)) for (kind, degree), double in tables.items() if degree != 3
    }
    return dataclasses.replace(table, **rows)
