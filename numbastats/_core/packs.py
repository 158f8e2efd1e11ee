"""Kernel packs: machine code that comes with the package, a file for each level of processors.

A pack holds what the disk cache would hold after `warmup`, compiled for a level instead of one processor: an x86-64 level of the
psABI, or the one level of 64-bit ARM. Levels are told apart by what decides the last bits of results, which is the width of the
vectors that LLVM takes, so a kernel from a pack returns what the same kernel compiled on the spot does.

A file is MAGIC, the digest of its head, the head's size, the head (JSON: what the pack was made with, what is known of source
files, and for each entry its place, size and digest), and the entries, compressed. A pack that was made by other versions of
Numba, llvmlite, NumPy or Python is not used; a damaged entry counts as none. The name of an entry has the digest of the sources
that the kernel reaches, so an edit puts out of use the entries that it reaches, not the pack. Entries are pickles, hence packs
are read from the package's own folder and from nowhere else: they are to be trusted as its Python files are.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from typing import NamedTuple

from numbastats._core.progress import LOG

__all__ = ["LEVELS", "Level", "Pack", "best_level", "read", "write"]

MAGIC = b"numbastats kernel pack 2\n"
_DIGEST = 16  # bytes kept of a digest


class Level(NamedTuple):
    """A level of processors: the features one must have and must lack, and Numba's settings to compile for the level."""

    needs: frozenset[str]
    lacks: frozenset[str]
    cpu: str
    features: str


_V2 = frozenset("cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3".split())
_V3 = _V2 | frozenset("avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave".split())
_V4 = _V3 | frozenset("avx512f avx512bw avx512cd avx512dq avx512vl".split())
_NONE: frozenset[str] = frozenset()

LEVELS = {  # in order of speed, the fastest first
    "x86-64-v4-512": Level(_V4 | {"avx512vbmi2"}, _NONE, "x86-64-v4", "+avx512vbmi2"),  # Ice Lake, Zen 4 and later
    "x86-64-v4-256": Level(_V4, frozenset({"avx512vbmi2"}), "x86-64-v4", ""),  # Skylake-X, Cascade Lake: vectors of 256 bits
    "x86-64-v3": Level(_V3, frozenset({"avx512f"}), "x86-64-v3", ""),  # Haswell, Zen and later
    "x86-64-v2": Level(_V2, frozenset({"avx2"}), "x86-64-v2", ""),
    "arm64": Level(frozenset({"neon"}), frozenset({"sve"}), "generic", ""),
}


def best_level(features: frozenset, wanted: str | None = None) -> str | None:
    """Level of a processor with these features; for tests, `wanted` may name a lower level that the processor can run."""
    if wanted:
        return wanted if wanted in LEVELS and LEVELS[wanted].needs <= features else None
    fits = (name for name, level in LEVELS.items() if level.needs <= features and features.isdisjoint(level.lacks))
    return next(fits, None)


def _digest(content) -> str:
    return hashlib.sha256(content).hexdigest()[: 2 * _DIGEST]


class Pack:
    """An open pack: its entries by name, and digests and imports of source files by the hash of their content."""

    def __init__(self, path, places, sources, start):
        self.path, self._places, self.sources, self._start = path, places, sources, start

    def __len__(self):
        return len(self._places)

    def __contains__(self, name):
        return name in self._places

    def get(self, name: str) -> bytes | None:
        """Return the entry, or None where there is none or it is damaged."""
        if name not in self._places:
            return None
        offset, size, digest = self._places[name]
        with open(self.path, "rb") as file:
            file.seek(self._start + offset)
            content = file.read(size)
        if _digest(content) != digest:
            LOG.debug("%s: the entry %s is damaged and is compiled instead", self.path, name)
            return None
        return zlib.decompress(content)


def read(path: str, made_with: dict) -> Pack | None:
    """Open a pack that was made with these versions; None, and a line in the debug log, where it was not."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(MAGIC) + 2 * _DIGEST + 8)
            digest, size = start[len(MAGIC) : -8], start[-8:]
            if not start.startswith(MAGIC) or len(digest) != 2 * _DIGEST:
                raise ValueError("not a kernel pack")
            text = file.read(int(size, 16))
        if _digest(text) != digest.decode("ascii"):
            raise ValueError("its head is damaged")
        head = json.loads(text)
        if head["made_with"] != made_with:
            raise ValueError(f"made with {head['made_with']}, and this is {made_with}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        LOG.debug("%s is not used: %s", path, error)
        return None
    return Pack(path, head["entries"], head["sources"], len(start) + len(text))


def write(path: str, made_with: dict, entries: dict[str, bytes], sources: dict) -> int:
    """Write a pack and return its size in bytes."""
    places, blobs, at = {}, [], 0
    for name, entry in sorted(entries.items()):
        blob = zlib.compress(entry, 9)
        places[name] = (at, len(blob), _digest(blob))
        blobs.append(blob)
        at += len(blob)
    head = json.dumps({"made_with": made_with, "sources": sources, "entries": places}).encode()
    content = b"".join((MAGIC, _digest(head).encode(), f"{len(head):08x}".encode(), head, *blobs))
    part = f"{path}.{os.getpid()}"
    with open(part, "wb") as file:
        file.write(content)
    os.replace(part, path)
    return len(content)
