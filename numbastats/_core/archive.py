"""Files of NumPy's .npz format."""

from __future__ import annotations

import contextlib
import os
import secrets

import numpy as np

__all__ = ["read_archive", "write_archive"]


def read_archive(path, key, problem):
    """All arrays of a file by name; ValueError(problem) for a file that is damaged, of another format or without `key`."""
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            contents = {name: file[name] for name in file.files}
    except (OSError, MemoryError):
        raise
    except Exception as error:  # its type depends on where the damage is
        raise ValueError(problem) from error
    if key not in contents:
        raise ValueError(problem)
    return contents


def write_archive(path, contents):
    """Write arrays by name to a file, under its name as it stands.

    They are written to a second file, which replaces the first when it is complete: an older file survives a full disk.
    """
    path = os.path.realpath(os.fspath(path))  # the target of a link is replaced, not the link
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device
        with open(path, "wb") as file:
            np.savez(file, **contents)
        return
    beside = f"{path}.{secrets.token_hex(6)}.tmp"
    try:
        with open(beside, "xb") as file:  # np.savez adds a suffix to a name
            np.savez(file, **contents)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            os.chmod(beside, os.stat(path).st_mode & 0o7777)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(beside)
        raise
