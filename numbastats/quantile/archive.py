"""Quantile tables in files."""

from __future__ import annotations

import json
import math

import numpy as np

from numbastats._core.archive import read_archive, write_archive
from numbastats.quantile import estimator
from numbastats.quantile.construction import Certificate, One, base_shape, follows_base
from numbastats.scalar.tables import NEAR_BITS, SPLIT_COLUMNS

__all__ = ["Loaded", "load", "save"]

_VERSION = 4
_CERTIFICATE = ("ok", "max_rel_err", "tail_mass", "calls", "lower", "upper", "direct")


class Loaded:
    """What is left of the masses in a file."""

    def __init__(self, p, anchor=0.0):
        self.p, self.anchor = p, anchor


def save(table, path):
    """Write the tables of a `Recycler` to a file of NumPy's .npz format."""
    if not isinstance(table.base, (str, tuple)):
        raise ValueError("a table whose base is another table is not saved; save the two and build the map anew")
    for kind in {kind for kind, _ in table._tables}:
        if kind == "signed" or not table._split:
            table._table(kind, 3, "cpu")
    meta = dict(
        base=table.base, degree=table.degree, octaves=table._octaves, bits=table._bits, shape=table.shape,
        setup_seconds=table.setup_seconds, version=_VERSION, param_dtype=table._param_dtype and table._param_dtype.name,
        narrow_errors=table._narrow_errors, split=table._split, direct=not table._indirect,
    )  # fmt: skip
    p = np.array([one.masses.p if one.masses is not None else (math.nan,) * 2 for one in table._sets])
    anchors = np.array([one.base.anchor if one.base is not None else 0.0 for one in table._sets])
    c = table.certificate
    contents = dict(
        meta=json.dumps(meta), p=p, anchors=anchors, norm=table.norm_const, shift=table._shift,
        **{name: getattr(c, name) for name in _CERTIFICATE},
        **{f"table_{kind}_{degree}": t for (kind, degree), t in table._tables.items()},
    )  # fmt: skip
    write_archive(path, contents)


def load(path, kind):
    """Read what `save` wrote into a new object of class `kind`."""
    damaged = f"{path} is no table, or damaged; pass a file that Recycler.save wrote"
    f = read_archive(path, "meta", damaged)
    try:
        meta = json.loads(str(f["meta"]))
        version = meta["version"]
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(damaged) from error
    if version != _VERSION:
        raise ValueError(f"{path} was written by another version of the library; build the table anew")
    try:
        return _made(f, meta, kind)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, IndexError) as error:
        known = str(error) if type(error) is _Inconsistent else f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} is no table that Recycler.save wrote: {known}") from error


class _Inconsistent(ValueError):
    """Contents of a file that do not go together."""


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


def _made(f, meta, kind):
    """The table, after every number that leads to a place in an array has been checked."""
    table = kind.__new__(kind)
    base = meta["base"]
    base = tuple(tuple(part) if isinstance(part, list) else part for part in base) if isinstance(base, list) else base
    table.base = estimator.check_base(base)
    table.degree = _number(meta, "degree", 5, 7)
    _held(table.degree != 6, "degree is 6")
    table._octaves, table._bits = _number(meta, "octaves", 1, 1022), _number(meta, "bits", 4, estimator.MOST_BITS)
    table._split, table._indirect = meta["split"], not meta["direct"]
    _held(type(meta["split"]) is bool and type(meta["direct"]) is bool, "split and direct must be true or false")
    _held(isinstance(meta["shape"], list), "shape is no list")
    table.shape = tuple(meta["shape"])
    _held(all(type(n) is int and n > 0 for n in table.shape), f"shape is {table.shape}")
    count = math.prod(table.shape)
    table._param_dtype = np.dtype(meta["param_dtype"]) if meta["param_dtype"] is not None else None
    _held(table._param_dtype in (None, np.float32, np.float64), f"param_dtype is {table._param_dtype}")
    table._narrow_errors = {name: float(meta["narrow_errors"][name]) for name in meta["narrow_errors"]}
    table.setup_seconds = float(meta["setup_seconds"])
    table._shift = _array(f, "shift", table.shape)
    p, anchors = _array(f, "p", (count, 2)), _array(f, "anchors", (count,))
    good = np.isnan(p).all(1) | ((p >= 0) & (p <= 1)).all(1) & (np.abs(p.sum(1) - 1) < 1e-9)
    _held(good.all(), "p, the masses beside the anchor, do not add up to 1")
    _held(not np.isnan(anchors).any(), "anchors are NaN")
    table._sets = [One(masses=Loaded(tuple(pair)), base=Loaded(None, a)) for pair, a in zip(p, anchors, strict=True)]
    table._tables = _tables(f, table, count)
    table.certificate = Certificate(
        *(_array(f, name, () if name == "direct" else table.shape, "bif")[()] for name in _CERTIFICATE)
    )
    _held(bool(table.certificate.direct) is meta["direct"], "the certificate and direct do not agree")
    table.norm_const = _array(f, "norm", table.shape)[()]
    table.p_minus = p[:, 0].reshape(table.shape)[()]
    table.device = table.workers = table._cdf = None
    table._index = np.arange(count).reshape(table.shape)
    table.params, table._heads, table._on_device, table._others = (), {}, {}, {}
    return table


def _tables(f, table, count):
    """The rows by kind and degree, as many as the header leads to."""
    octaves, _, far, _ = base_shape(table.base)
    expected = {("uniform", table.degree): np.float64}
    if not table._split:
        expected["uniform", 3] = np.float32
    if follows_base(table.base) and not table._indirect:
        expected |= {("signed", 7): np.float64, ("signed", 3): np.float32}
    names = {f"table_{kind}_{degree}" for kind, degree in expected}
    found = {name for name in f if name.startswith("table_")}
    _held(found == names, f"it has {sorted(found)}; base {table.base!r} and degree {table.degree} go with {sorted(names)}")
    tables = {}
    for (kind, degree), dtype in expected.items():
        rows = f[f"table_{kind}_{degree}"]
        parts = SPLIT_COLUMNS if kind == "uniform" and table._split else 0
        least = count * (4 * (table._length(degree) + 2) if kind == "uniform" else 2 * ((octaves << NEAR_BITS) + far + 4))
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
    return tables
