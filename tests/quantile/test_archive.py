"""Tables in files: what is saved comes back, and what was tampered with is refused."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import numbastats as ns
from numbastats.quantile import QuantileTable
from tests.contract import same
from tests.quantile.naive import split_table


def test_save_and_load(tmp_path, table):
    mapped = ns.distributions.student_t(4.0, base="normal")
    u, z = np.array([0.0, 1e-9, 0.4, 0.999]), np.array([-3.0, 1e-9, 2.0])
    for original in (table, mapped):
        original.save(tmp_path / "table")
        loaded = QuantileTable.load(tmp_path / "table")
        assert same(loaded.ppf(u), original.ppf(u))
        assert same(loaded.ppf(u.astype(np.float32)), original.ppf(u.astype(np.float32)))
        assert loaded.certificate.max_rel_err == original.certificate.max_rel_err
    assert same(loaded.transform(z), mapped.transform(z))
    with pytest.raises(ValueError, match="loaded"):
        loaded.pdf(0.0)
    for write in (np.savez, np.save):
        with open(tmp_path / "foreign", "wb") as file:
            write(file, np.ones(3))
        with pytest.raises(ValueError, match="no table"):
            QuantileTable.load(tmp_path / "foreign")
    whole = (tmp_path / "table").read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for damaged in (b"", b"some text", whole[: len(whole) // 2], whole[:-10], bytes(flipped), pickle.dumps(u)):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(ValueError, match="is no table, or damaged"):
            QuantileTable.load(tmp_path / "damaged")
    with pytest.raises(FileNotFoundError):
        QuantileTable.load(tmp_path / "missing")


META = {
    "octaves": 10**6,
    "octaves of another table": ("octaves", 60),
    "negative octaves": ("octaves", -3),
    "bits": 40,
    "bits of another table": ("bits", 5),
    "bits as a float": ("bits", 4.0),
    "degree": 3,
    "degree of another table": ("degree", 5),
    "shape": [2],
    "shape as a number": ("shape", 3),
    "negative shape": ("shape", [-1, -1]),
    "base": "cauchy",
    "base with rates": ("base", ["two-sided exponential", [1.0]]),
    "base of another table": ("base", "normal"),
    "param_dtype": "O",
    "narrow_errors": 3,
    "setup_seconds": "long",
    "split": True,
    "split as a text": ("split", "no"),
    "direct": False,
    "version": 3,
    "no octaves": ("octaves", None),
}


ARRAYS = {
    "table_uniform_7": lambda t: t[:10],
    "empty rows": ("table_uniform_7", lambda t: t[:0]),
    "rows of integers": ("table_uniform_7", lambda t: t.astype(np.int64, casting="unsafe")),
    "rows of another degree": ("table_uniform_7", lambda t: t[:, :6].copy()),
    "one dimension": ("table_uniform_7", lambda t: t.ravel()),
    "rows of the other precision": ("table_uniform_3", lambda t: t.astype(np.float64)),
    "p": lambda p: np.array([[0.5, 0.9]]),
    "p of two sets": ("p", lambda p: np.tile(p, (2, 1))),
    "anchors": lambda a: a + math.nan,
    "shift": lambda s: np.zeros(5),
    "upper": lambda c: np.zeros(3),
    "foreign rows": ("table_signed_7", None),
    "missing": ("norm", "remove"),
}


@pytest.fixture(scope="module")
def honest(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "honest"
    with np.errstate(invalid="ignore"):
        table.save(path)
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


@pytest.mark.parametrize("forgery", [*META, *ARRAYS, "meta is no json", "meta is a list"])
def test_forged_files(honest, forgery, tmp_path):
    """Read out of bounds before: crashes, other numbers, contents of the memory."""
    import json

    contents = dict(honest)
    if forgery in META:
        name, value = META[forgery] if isinstance(META[forgery], tuple) else (forgery, META[forgery])
        meta = json.loads(str(contents["meta"])) | {name: value}
        contents["meta"] = np.array(json.dumps(meta))
    elif forgery in ARRAYS:
        name, change = ARRAYS[forgery] if isinstance(ARRAYS[forgery], tuple) else (forgery, ARRAYS[forgery])
        if change == "remove":
            del contents[name]
        else:
            with np.errstate(invalid="ignore"):
                contents[name] = np.zeros((3, 8)) if change is None else change(contents[name])
    else:
        contents["meta"] = np.array("octaves" if "json" in forgery else "[1, 2]")
    with open(tmp_path / "forged", "wb") as file:
        np.savez(file, **contents)
    with pytest.raises(ValueError, match="forged"):
        QuantileTable.load(tmp_path / "forged")


@pytest.mark.parametrize(
    ("column", "value"), [(-4, 0.0), (-4, 1e9), (-4, math.nan), (-1, 1e9), (-1, -1.0), (-1, 0.5), (-1, math.inf)]
)
def test_forged_parts_of_rows(column, value, tmp_path):
    table = split_table()
    rows = table.table
    rows[np.flatnonzero(rows[:, -1] > 0)[3], column] = value
    table.save(tmp_path / "forged")
    with pytest.raises(ValueError, match="forged is no table.* parts beyond"):
        QuantileTable.load(tmp_path / "forged")


def test_a_full_disk_leaves_the_old_file(table, tmp_path, monkeypatch):
    path = tmp_path / "table"
    table.save(path)
    whole = path.read_bytes()

    def full(file, **contents):
        file.write(b"PK")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        table.save(path)
    assert path.read_bytes() == whole and [p.name for p in tmp_path.iterdir()] == ["table"]
