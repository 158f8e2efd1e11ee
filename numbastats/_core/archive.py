"""Reading files of NumPy's .npz format."""

from __future__ import annotations

import numpy as np

__all__ = ["read_archive"]


def read_archive(path, key, problem):
    """All arrays of a file by name; ValueError(problem) for a file that is damaged, of another format or without `key`."""
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            contents = {name: file[name] for name in file.files}
    except (OSError, MemoryError):
        raise
    except Exception as error:  # of many types, by where the damage is
        raise ValueError(problem) from error
    if key not in contents:
        raise ValueError(problem)
    return contents
