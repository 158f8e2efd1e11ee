"""The compiled code that .ci/run keeps for the next run."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KEPT = runpy.run_path(str(ROOT / ".ci" / "kept.py"))
begin, end = KEPT["begin"], KEPT["end"]
NOW = 2e9


@pytest.fixture
def folder(tmp_path):
    """With an entry of each of three rooms, of 1000 bytes, used an hour ago."""
    (tmp_path / "numbastats-1").mkdir()
    for room in ("kde", "scalar", "stable"):
        entry(tmp_path, f"{room}.loop-1-1", NOW - 3600)
    return tmp_path


def entry(folder, name, used):
    path = folder / "numbastats-1" / f"{name}.nbc"
    path.write_bytes(bytes(1000))
    os.utime(path, (used, used))
    return path


def names(folder):
    return {path.name.partition("-")[0] for path in folder.glob("*/*.nbc")}


def test_each_run_begins_without_one_room(folder):
    assert begin(folder, "4", False, NOW) == (["scalar"], {"of a room": 1}, 2, 2000)
    assert names(folder) == {"kde.loop", "stable.loop"}
    assert {begin(folder, commit, False, NOW)[0][0] for commit in ("a0", "a1")} == {"kde", "stable"}


def test_with_all_no_room_is_left(folder):
    assert begin(folder, "4", True, NOW)[0] == ["kde", "scalar", "stable"]
    assert names(folder) == set()
    assert begin(folder, "4", False, NOW) == ([], {}, 0, 0)


def test_what_is_old_or_too_much_goes(folder, monkeypatch):
    entry(folder, "kde.old-1-1", NOW - KEPT["AGE"] - 1)
    monkeypatch.setitem(begin.__globals__, "SIZE", 2500)
    entry(folder, "stable.late-1-1", NOW - 60)
    entry(folder, "kde.later-1-1", NOW - 30)
    assert begin(folder, "1", False, NOW)[1:] == ({"of a room": 1, "too much": 2, "old": 1}, 2, 2000)
    assert names(folder) == {"kde.later", "stable.late"}  # those that were used last


def test_what_was_taken_and_what_compiled(folder):
    begin(folder, "0", False, NOW)  # without kde
    entry(folder, "kde.loop-1-1", NOW + 5)
    used, damaged = (folder / "numbastats-1" / f"{room}.loop-1-1.nbc" for room in ("scalar", "stable"))
    os.utime(used, (NOW + 5, NOW + 5))
    again = entry(folder, "stable.part", NOW + 5)  # as the library writes it
    os.replace(again, damaged)
    taken, compiled = end(folder)
    assert taken == {"scalar": 1} and compiled == {"kde": 1, "stable": 1}
