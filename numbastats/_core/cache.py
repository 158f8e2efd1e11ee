"""Compiled code on disk: one folder for each set of versions of what compiles, one checked file for each compiled signature.

The folder's name has a hash of the versions of Numba, llvmlite, NumPy and Python. The name of an entry has the sub-package, the
kernel, the digest of the sources that the kernel reaches (`sources`) and the processor: an edit, also of a constant that another
file imports, compiles anew what it reaches, and nothing else. What functions from outside the package reach is not known, so
kernels with them are compiled in each process. The folder is looked for in the one that NUMBA_CACHE_DIR names, then beside the
package, then in the user's cache folder, and written to the first of these that can be written: a warm cache on a read-only file
system is used as it is. What is in none of them is looked for in the kernel pack that may have come with the package (`packs`),
and compiled if it is not there either.

Entries are pickles, so whoever writes one runs code. Only the environment names a folder: Numba also reads a file of the current
folder. What belongs to another user than root, or can be written by anyone, is not used (`_refused`).

A file begins with a digest of what follows, so a damaged one (after a crash of the machine) is not loaded but compiled and
written again. It takes its place by a rename, and there is no index, so processes that compile at once do not disturb each
other.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import pickle
import re
import shutil
import stat
import sys
import uuid
import warnings
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba
import numpy as np

from numbastats._core import numba_internals, packs
from numbastats._core.progress import LOG
from numbastats._core.sources import NAME, TREE, described, modules_of, scheme

__all__ = ["PACKS", "Variant", "attach", "folders", "made_with", "pack", "pack_entries", "variant", "versions", "write"]

PACKAGE = Path(__file__).resolve().parent.parent
PACKS = PACKAGE / "_packs"
KEPT = 8  # the last used so many sets of versions keep their folders, and digests of a kernel their files
SOURCES = "sources"  # the file in a cache folder with the digests and imports of source files, by their content
SOURCES_KEPT = 2000  # about ten versions of every source file

_DIGEST = hashlib.sha256().digest_size
_warned = False
_told: set[str] = set()  # unused folders of which a warning was given


@functools.cache
def versions() -> str:
    """Hash of the versions of the compilers, of the parts of Numba in use, and of the functions that make keys."""
    of_cuda = getattr(sys.modules.get("numba_cuda"), "__version__", "")
    made = (
        f"{numba.__version__} {llvmlite.__version__} {np.__version__} {sys.implementation.cache_tag} {of_cuda} {scheme(variant)}"
    )
    return hashlib.sha256(f"{sorted(numba_internals.ACTIVE)} {made}".encode()).hexdigest()[:16]


def made_with() -> dict:
    """The versions that a kernel pack must agree with; the level of the processor is compared elsewhere."""
    return {
        "parts": sorted(numba_internals.ACTIVE),
        "keys": scheme(variant),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": ".".join(np.__version__.split(".")[:2]),  # patch releases keep the memory layouts that machine code relies on
        "python": sys.implementation.cache_tag,
        "platform": numba_internals.platform(),
    }


class Variant(NamedTuple):
    """One way to compile a template.

    Attributes
    ----------
    name : str
    room : str
        The sub-package whose kernel it is.
    digest : str
        Of the code that the template reaches; empty where a function from outside the package takes part, which may import any
        file: its machine code is not kept on disk.
    closure : frozenset of str
        The modules of this code.
    """

    name: str
    room: str
    digest: str
    closure: frozenset[str]


def variant(template, target, flags, scalars, registered_in=None) -> Variant:
    """The name of a template with these flags and scalars, and the code that it depends on."""
    made_of = described(template), target, sorted(flags), [(name, described(scalars[name])) for name in sorted(scalars)]
    h = hashlib.sha256(repr(made_of).encode())
    home = registered_in or template.__module__
    modules = {home}.union(*map(modules_of, (template, *scalars.values())))
    if any(module.partition(".")[0] != NAME for module in modules):
        return Variant(h.hexdigest()[:16], "", "", frozenset())
    closure = TREE.closure(modules)
    digest = hashlib.sha256(TREE.digest(closure).encode()).hexdigest()[:16]
    _tell()
    if "cache" not in numba_internals.ACTIVE:  # Numba's own files have no hash of the sources
        h.update(digest.encode())
    return Variant(h.hexdigest()[:16], home.split(".")[1], digest, closure)


# --- what is known of sources ---------------------------------------------------------------------------------


def _checked(path):
    """The content of a file that begins with its digest; None where it is missing, damaged or of another user."""
    try:
        with open(path, "rb") as file:
            if _others(os.fstat(file.fileno()), stat.S_IWOTH | stat.S_IWGRP):
                LOG.debug("%s is not used: another user owns it, or anyone can write to it", path)
                return None
            content = memoryview(file.read())
    except OSError:
        return None
    return content[_DIGEST:] if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST] else None


def _from_folders():
    known = {}
    for folder in reversed(folders()):
        known |= json.loads(bytes(_checked(os.path.join(folder, SOURCES)) or b"{}"))
    return known


def _from_pack():
    return pack().sources if pack() else {}


TREE.teachers = [_from_folders, _from_pack]


def _tell():
    """Write what this process found out about source files to a cache folder, for later processes."""
    if TREE.learned:
        TREE.learned = False
        _write_to_a_folder(SOURCES, json.dumps(dict(list(TREE.known.items())[-SOURCES_KEPT:])).encode())


# --- folders --------------------------------------------------------------------------------------------------


def _user_folder():
    """The folder for Numba in the place where the system keeps caches of the user."""
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~"), "numba", "Cache")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/numba")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "numba")


@functools.cache
def _folders(placed) -> tuple:
    name = f"numbastats-{versions()}"
    roots = [os.path.abspath(placed)] if placed else []
    roots += [os.path.join(PACKAGE, "__pycache__"), _user_folder()]
    return tuple(os.path.join(root, name) for root in roots)


def folders() -> tuple:
    """Folders in which compiled code is looked for, and written to the first that is writable."""
    if os.environ.get("NUMBASTATS_CACHE", "1") == "0":
        return ()
    used: list[str] = []
    for folder in _folders(_placed()):
        if not _refused(folder):
            used.append(folder)
        elif not used:  # the environment named it, so it would come first
            _tell_of(folder)
    return tuple(used)


def _placed():
    return os.environ.get("NUMBA_CACHE_DIR", "")


@functools.cache
def _trusted():
    """Users whose code runs here anyway: this one, root, and who owns the package."""
    return {os.geteuid(), 0, os.stat(PACKAGE).st_uid}


def _others(status, writable=stat.S_IWOTH):
    """Whether other users may have written a file or a folder: they own it, or its mode has one of these permissions."""
    return hasattr(os, "geteuid") and (status.st_uid not in _trusted() or bool(status.st_mode & writable))


def _tell_of(folder):
    if folder in _told:
        return
    _told.add(folder)
    warnings.warn(
        f"numbastats: the cache folder {folder} is not used: another user owns it, or anyone can write to it, and code from "
        "there would run as yours. Remove it, make it yours (chown, chmod o-w), or set NUMBA_CACHE_DIR to a folder of your own.",
        RuntimeWarning,
        stacklevel=2,
    )


def _refused(folder):
    """Whether a folder exists that other users may have filled, or is a link that they own."""
    try:
        return _others(os.stat(folder)) or _others(os.lstat(folder), 0)
    except OSError:
        return False


def _warn(instead):
    global _warned
    if _warned:
        return
    _warned = True
    placed = _placed()
    what = f"NUMBA_CACHE_DIR={placed} cannot be written" if placed else "no cache folder can be written"
    then = f"compiled code goes to {instead}" if instead else "every process compiles its kernels anew"
    warnings.warn(
        f"numbastats: {what}, so {then}; set NUMBA_CACHE_DIR to a folder that can be written, or NUMBASTATS_CACHE=0 to keep "
        "compiled code in memory.",
        RuntimeWarning,
        stacklevel=2,
    )


def _make(folder):
    """Make a folder for these versions; remove folders of versions that were not used for long."""
    if os.path.isdir(folder):
        return
    os.makedirs(folder, 0o755, exist_ok=True)  # whatever the umask allows
    with contextlib.suppress(OSError):  # another process may be at the same
        others = sorted(Path(folder).parent.glob("numbastats-*"), key=os.path.getmtime)
        for old in others[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)


def write(path, content):
    """Write a file so that no reader sees a part of it."""
    part = f"{path}.{uuid.uuid4().hex[:16]}"
    try:
        with open(part, "wb", opener=lambda name, flags: os.open(name, flags, 0o644)) as file:
            file.write(content)
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def _write_to_a_folder(name, content):
    """Write a file with its digest to the first writable folder; returns the folder, None where none is writable."""
    content = hashlib.sha256(content).digest() + content
    for folder in folders():
        try:
            _make(folder)
            write(os.path.join(folder, name), content)
        except OSError:
            continue
        return folder
    return None


# --- entries --------------------------------------------------------------------------------------------------


@functools.cache
def pack() -> packs.Pack | None:
    """The kernel pack of the best level that this processor has, if one came with the package and fits."""
    wanted = os.environ.get("NUMBASTATS_PACK", "1")
    if wanted == "0" or "objects" not in numba_internals.ACTIVE or not PACKS.is_dir() or not numba_internals.usual_target():
        return None
    level = packs.best_level(numba_internals.processor_features(), None if wanted == "1" else wanted)
    return packs.read(str(PACKS / f"{level}.pack"), made_with()) if level else None


def pack_entries(folder) -> dict[str, bytes]:
    """Entries of a pack, made from the files in a cache folder and in its subfolders."""
    found = {}
    for path in Path(folder).rglob("*.nbc"):
        content = path.read_bytes()[_DIGEST:]
        key, _ = pickle.loads(content)
        found[_pack_name(path.name.rpartition("-")[0], key)] = content
    return found


def _pack_name(stem, key):
    """The name of an entry in a pack: the name of its file without the processor."""
    signature, _, code = key
    return f"{stem}-{hashlib.sha256(repr((signature, code)).encode()).hexdigest()[:16]}"


class _Entries:
    """The files of one kernel; Numba's cache loads compiled code from here by its key, and saves it here."""

    def __init__(self, name, variant, dump):
        self._name, self._variant, self._dump = name, variant, dump
        self._stem = f"{name}-{variant.digest}"

    def _file(self, key):
        return f"{self._stem}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def load(self, key):
        """The compiled code that was saved with this key; None where the file is missing or damaged."""
        for folder in folders():
            path = os.path.join(folder, self._file(key))
            content = _checked(path)
            if content is None:
                continue
            saved, data = pickle.loads(content)
            if saved != key:
                continue
            for used in (path, folder):
                with contextlib.suppress(OSError):
                    os.utime(used)
            LOG.debug("%s taken from the cache %s", self._name, folder)
            return data
        content = pack() and pack().get(_pack_name(self._stem, key))
        LOG.debug("%s is %s", self._name, "taken from the kernel pack" if content else "in no cache, so it is compiled")
        return pickle.loads(content)[1] if content else None

    def save(self, key, data):
        """Write to the first writable folder, unless sources of the kernel were edited since this process began."""
        if not folders() or not TREE.unchanged(self._variant.closure):  # a module may have been imported after the edit
            return
        folder = _write_to_a_folder(self._file(key), self._dump((key, data)))
        if folder is not None:
            LOG.debug("%s kept in the cache %s", self._name, folder)
            self._forget(folder)
        first = _folders(_placed())[0]
        if folder is None or (_placed() and folder != first and first not in _told):
            _warn(folder)

    def _forget(self, folder):
        """Remove the files of this kernel, except for the digests that were used last."""
        used = {}
        with contextlib.suppress(OSError):  # another process may be at the same
            for path in Path(folder).glob(f"{self._name}-*-*.nbc"):
                used.setdefault(path.name.split("-")[-2], []).append((path.stat().st_mtime_ns, path))
            used.pop(self._variant.digest, None)
            for paths in sorted(used.values(), key=max)[: 1 - KEPT]:
                for _, path in paths:
                    path.unlink(missing_ok=True)


def attach(dispatcher, variant, *, linkable=False, on_disk=True):
    """Return a dispatcher, with the kernel pack and the disk cache where all its sources are known and it may be kept `on_disk`.

    `linkable`: users' functions may take it as a value of a function type, for which Numba links its bitcode.
    """
    f = dispatcher.py_func
    if on_disk and variant.digest and os.path.exists(f.__code__.co_filename) and (folders() or pack()):
        name = re.sub(r"[^\w.]", "_", f"{variant.room}.{f.__qualname__}")  # without characters that file names cannot have
        return numba_internals.cached(dispatcher, functools.partial(_Entries, name, variant), linkable)
    numba_internals.load_registries()
    return dispatcher
