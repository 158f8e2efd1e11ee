"""How far a long run has come: a bar of tqdm, or a line on stderr; and the logger of the package, "numbastats"."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import sys
import time

__all__ = ["LOG", "bar"]

LOG = logging.getLogger("numbastats")
LOG.addHandler(logging.NullHandler())
EVERY = 0.5  # seconds between lines


class _Nothing:
    """A bar that nobody asked for."""

    total = None

    def update(self, n=1):
        pass

    refresh = close = update


class _Line:
    """A line on stderr that is written again and again; for machines without tqdm."""

    def __init__(self, total, desc):
        self.total, self.desc, self.n = total, desc, 0
        self.began, self.written = time.perf_counter(), 0.0

    def update(self, n=1):
        self.n += n
        if time.perf_counter() - self.written >= EVERY:
            self.refresh()

    def refresh(self):
        self.written = time.perf_counter()
        of = "" if self.total is None else f"/{self.total:g}"
        print(f"\r{self.desc}: {self.n:g}{of}, {self.written - self.began:.0f} s", end="", file=sys.stderr, flush=True)

    def close(self):
        self.refresh()
        print(file=sys.stderr)


@contextlib.contextmanager
def bar(wanted, total, desc):
    """What shows progress, by its `update(n)`, attribute `total` and `refresh()`; nothing unless it is wanted.

    Parameters
    ----------
    wanted : bool
    total : int or None
        Number of parts; None where it is not known.
    desc : str
    """
    if not wanted:
        yield _Nothing()
        return
    if importlib.util.find_spec("tqdm") is None:
        shown = _Line(total, desc)
    else:
        from tqdm.auto import tqdm

        shown = tqdm(total=total, desc=desc)
    try:
        yield shown
    finally:
        shown.close()
