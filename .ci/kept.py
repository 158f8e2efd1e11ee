"""The folder of compiled code that one run of the check leaves to the next.

    python .ci/kept.py begin FOLDER COMMIT   # removes what is old or too much, and a room; notes what is there
    python .ci/kept.py end FOLDER            # says for each room what was taken from the folder, and what was compiled

Which code is reused is decided by the digests in the names of the files (numbastats/_core/cache.py). So that this is checked, the
room that the commit's hash picks starts from nothing in each run; with --all every room does.
"""

from __future__ import annotations

import argparse
import collections
import json
import time
from pathlib import Path

AGE, SIZE = 30 * 86400.0, 2e9  # seconds since an entry was last used, bytes of all
NOTE = "run.json"


def entries(folder):
    """Each file of compiled code, and what the system knows of it."""
    return {path: path.stat() for path in folder.glob("numbastats-*/*.nbc")}


def room(path):
    """The sub-package of a kernel."""
    return path.name.partition(".")[0]


def begin(folder, commit, everything, now):
    """Prune the folder, leave a room out, note what is left; returns what was removed: by age, by size, of which room."""
    folder.mkdir(parents=True, exist_ok=True)
    found = sorted(entries(folder).items(), key=lambda item: item[1].st_mtime, reverse=True)  # those used last come first
    rooms = sorted({room(path) for path, _ in found})
    out = set(rooms) if everything else {rooms[int(commit, 16) % len(rooms)]} if rooms else set()
    kept, total, removed = {}, 0, collections.Counter()
    for path, stat in found:
        total += stat.st_size
        why = "of a room" if room(path) in out else "old" if now - stat.st_mtime > AGE else "too much" if total > SIZE else None
        if why:
            removed[why] += 1
            total -= stat.st_size
            path.unlink(missing_ok=True)
        else:
            kept[str(path.relative_to(folder))] = stat.st_ino
    (folder / NOTE).write_text(json.dumps({"began": now, "kept": kept}), encoding="utf-8")
    return sorted(out), dict(removed), len(kept), total


def end(folder):
    """For each room how many files were taken, and how many compiled: a file that was written anew is another one."""
    note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    taken, compiled = collections.Counter(), collections.Counter()
    for path, stat in entries(folder).items():
        if note["kept"].get(str(path.relative_to(folder))) != stat.st_ino:
            compiled[room(path)] += 1
        elif stat.st_mtime > note["began"]:
            taken[room(path)] += 1
    return taken, compiled


def main():
    """Carry out one command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["begin", "end"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("commit", nargs="?", default="0")
    parser.add_argument("--all", action="store_true", help="every room starts from nothing")
    given = parser.parse_args()
    if given.command == "begin":
        out, removed, kept, size = begin(given.folder, given.commit, given.all, time.time())
        print(f"compiled code in {given.folder}: {kept} functions, {size / 1e6:.0f} MB; removed: {removed}")
        print(f"from nothing: {', '.join(out) or 'all, as there is none'}")
        return
    taken, compiled = end(given.folder)
    print(f"{'room':15s} {'from the disk':>14s} {'compiled':>9s}")
    for name in sorted(taken | compiled):
        print(f"{name:15s} {taken[name]:14d} {compiled[name]:9d}")
    print(f"{'all':15s} {taken.total():14d} {compiled.total():9d}")


if __name__ == "__main__":
    main()
