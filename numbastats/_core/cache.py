"""Compiled code on disk: one folder for each version of the sources, one checked file for each compiled signature.

The folder's name has a hash of all sources of the package and of the versions of Numba, llvmlite, NumPy and Python, so an edit of
any file, also of a constant that another file imports, compiles anew; the name of an entry has the processor. The folder is
looked for in the one that NUMBA_CACHE_DIR names, then beside the package, then in the user's cache folder, and written to the
first of these that can be written: a warm cache on a read-only file system is used as it is. What is in none of them is looked
for in the kernel pack that may have come with the package (`packs`), and compiled if it is not there either.

A file begins with a digest of what follows, so a damaged one (after a crash of the machine) is not loaded but compiled and
written again. It takes its place by a rename, and there is no index, so processes that compile at once do not disturb each
other.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import shutil
import sys
import types
import uuid
import warnings
from pathlib import Path

import llvmlite
import numba
import numpy as np

from numbastats._core import numba_internals, packs
from numbastats._core.progress import LOG

__all__ = ["PACKS", "attach", "folders", "made_with", "pack", "pack_entries", "source_digest", "variant_digest"]

PACKAGE = Path(__file__).resolve().parent.parent
PACKS = PACKAGE / "_packs"
KEPT = 8  # versions of the package whose folders stay, those last used: some edits ago, some versions of Python and Numba

_DIGEST = hashlib.sha256().digest_size
_warned = False
_used: set[str] = set()  # folders whose time of last use was renewed by this process


def _sources():
    """Files of the package and when they were last written."""
    found = {}
    for folder, inner, names in os.walk(PACKAGE):
        inner[:] = [name for name in inner if name != "__pycache__"]
        paths = [os.path.join(folder, name) for name in names if name.endswith(".py")]
        found |= {path: os.stat(path).st_mtime_ns for path in paths}
    return found


@functools.cache
def _hashed():
    """Hash of all sources of the package, and what it was made of."""
    h, sources = hashlib.sha256(repr(sorted(numba_internals.ACTIVE)).encode()), _sources()
    for path in sorted(sources):  # pathlib would take ten times as long
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        h.update(f"{path[len(str(PACKAGE)) :]} {len(content)} ".replace(os.sep, "/").encode() + content)
    return h.hexdigest()[:16], sources


@functools.cache
def source_digest() -> str:
    """Hash of all sources and of the versions of what compiles them, when this process first asked for it."""
    versions = f"{numba.__version__} {llvmlite.__version__} {np.__version__} {sys.implementation.cache_tag}"
    return hashlib.sha256(f"{_hashed()[0]} {versions}".encode()).hexdigest()[:16]


def made_with() -> dict:
    """What a kernel pack must agree with, beside the level of the processor."""
    return {
        "sources": _hashed()[0],
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": ".".join(np.__version__.split(".")[:2]),  # later corrections change no layout that machine code knows
        "python": sys.implementation.cache_tag,
        "platform": numba_internals.platform(),
    }


def variant_digest(template, target, flags, scalars) -> str:
    """Hash of what makes one variant of a template, and of the files outside of the package that its functions are from."""
    h, files = hashlib.sha256(repr((target, sorted(flags))).encode()), {template.__code__.co_filename}
    for name, value in sorted(scalars.items()):
        f = getattr(value, "py_func", value)
        if isinstance(f, types.FunctionType):
            files.add(f.__code__.co_filename)
            value = f"{f.__module__}.{f.__qualname__}"
        h.update(f"{name}={value!r};".encode())
    for file in sorted(files):
        if not Path(file).resolve().is_relative_to(PACKAGE) and os.path.exists(file):
            h.update(hashlib.sha256(Path(file).read_bytes()).digest())
    if "cache" not in numba_internals.ACTIVE:  # Numba's own files have no hash of the sources
        h.update(source_digest().encode())
    return h.hexdigest()[:16]


def _user_folder():
    """Where caches of the user are by the custom of the system, in Numba's folder."""
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"), "numba", "Cache")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/numba")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")


@functools.cache
def _folders(placed) -> tuple:
    name = f"numbastats-{source_digest()}"
    roots = [os.path.abspath(placed)] if placed else []
    roots += [os.path.join(PACKAGE, "__pycache__"), _user_folder()]
    return tuple(os.path.join(root, name) for root in roots)


def folders() -> tuple:
    """Where compiled code is looked for, and written if that is possible, in this order."""
    return () if os.environ.get("NUMBASTATS_CACHE", "1") == "0" else _folders(numba.config.CACHE_DIR)


def _warn(instead):
    global _warned
    if _warned:
        return
    _warned = True
    placed = numba.config.CACHE_DIR
    what = f"NUMBA_CACHE_DIR={placed} cannot be written" if placed else "no cache folder can be written"
    then = f"compiled code goes to {instead}" if instead else "every process compiles its kernels anew"
    warnings.warn(
        f"numbastats: {what}, so {then}; set NUMBA_CACHE_DIR to a folder that can be written, or NUMBASTATS_CACHE=0 to keep "
        "compiled code in memory.",
        RuntimeWarning,
        stacklevel=2,
    )


def _make(folder):
    """Make a folder for this version of the package; those of versions not used for long go."""
    if os.path.isdir(folder):
        return
    os.makedirs(folder, exist_ok=True)
    with contextlib.suppress(OSError):  # another process may be at the same
        versions = sorted(Path(folder).parent.glob("numbastats-*"), key=os.path.getmtime)
        for old in versions[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)


def write(path, content):
    """Write a file that no reader sees in part."""
    part = f"{path}.{uuid.uuid4().hex[:16]}"
    try:
        with open(part, "wb") as file:
            file.write(content)
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


@functools.cache
def pack() -> packs.Pack | None:
    """The kernel pack of the best level that this processor has, if one came with the package and fits."""
    wanted = os.environ.get("NUMBASTATS_PACK", "1")
    if wanted == "0" or "objects" not in numba_internals.ACTIVE or not PACKS.is_dir() or not numba_internals.usual_target():
        return None
    level = packs.best_level(numba_internals.processor_features(), None if wanted == "1" else wanted)
    return packs.read(str(PACKS / f"{level}.pack"), made_with()) if level else None


def pack_entries(folder) -> dict[str, bytes]:
    """Entries of a pack from the files of a cache folder."""
    found = {}
    for path in Path(folder).glob("*.nbc"):
        content = path.read_bytes()[_DIGEST:]
        key, _ = pickle.loads(content)
        found[_pack_name(path.name.rpartition("-")[0], key)] = content
    return found


def _pack_name(stem, key):
    """The name of an entry in a pack: that of its file, without the processor."""
    signature, _, code = key
    return f"{stem}-{hashlib.sha256(repr((signature, code)).encode()).hexdigest()[:16]}"


class _Entries:
    """The files of one kernel; Numba's cache asks it for what belongs to a key and hands it what was compiled."""

    def __init__(self, stem, dump):
        self._stem, self._dump = stem, dump

    def _name(self, key):
        return f"{self._stem}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def load(self, key):
        """What was saved with this key; None where there is nothing, or nothing sound."""
        for folder in folders():
            try:
                with open(os.path.join(folder, self._name(key)), "rb") as file:
                    content = memoryview(file.read())
            except OSError:
                continue
            if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
                continue
            saved, data = pickle.loads(content[_DIGEST:])
            if saved != key:
                continue
            if folder not in _used:
                _used.add(folder)
                with contextlib.suppress(OSError):
                    os.utime(folder)
            LOG.debug("%s taken from the cache %s", self._stem, folder)
            return data
        content = pack() and pack().get(_pack_name(self._stem, key))
        LOG.debug("%s is %s", self._stem, "taken from the kernel pack" if content else "in no cache, so it is compiled")
        return pickle.loads(content)[1] if content else None

    def save(self, key, data):
        """Write to the first folder that can be written, unless the package was edited since this process began."""
        if not folders() or _sources() != _hashed()[1]:  # a module may have been imported after the edit
            return
        content = self._dump((key, data))
        for folder in folders():
            try:
                _make(folder)
                write(os.path.join(folder, self._name(key)), hashlib.sha256(content).digest() + content)
            except OSError:
                continue
            LOG.debug("%s kept in the cache %s", self._stem, folder)
            if numba.config.CACHE_DIR and folder != folders()[0]:
                _warn(folder)
            return
        _warn(None)


def _entries(function, dump):
    return _Entries(re.sub(r"[^\w.-]", "_", function.__qualname__), dump)


def attach(dispatcher, *, linkable=False):
    """Give a dispatcher the kernel pack and the disk cache, if its source is known; returns it.

    `linkable`: users' functions may take it as a value of a function type, for which Numba links its bitcode.
    """
    f = dispatcher.py_func
    if os.path.exists(f.__code__.co_filename) and (folders() or pack()):
        return numba_internals.cached(dispatcher, _entries, linkable)
    numba_internals.load_registries()
    return dispatcher
