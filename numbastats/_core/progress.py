"""Progress of long runs: a bar of tqdm or a line that is written again, in a log file one line; and the logger of the package."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import sys
import time

__all__ = ["LOG", "bar", "time_left"]

LOG = logging.getLogger("numbastats")
LOG.addHandler(logging.NullHandler())
EVERY = 0.5  # seconds between lines


def time_left(elapsed, done, total):
    """Time that a run will still take at its pace so far, in words; an empty string where it is not known.

    Parameters
    ----------
    elapsed : float
        Seconds.
    done, total : float
        Parts; total may be None.

    Returns
    -------
    str
    """
    if not total or not 0 < done < total:
        return ""
    seconds = elapsed * (total - done) / done
    return f", about {seconds:.0f} s left" if seconds < 99.5 else f", about {seconds / 60.0:.0f} min left"


class _Nothing:
    """A bar that shows nothing."""

    total = None

    def update(self, n=1):
        pass


def _shows_again():
    """Whether a line on stderr can be written over: in a terminal or a notebook, not in a file or a pipe."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")


class _Line:
    """A line on stderr, which is written again and again for machines without tqdm, in a log file once, at the end."""

    def __init__(self, total, desc, again):
        self.total, self.desc, self.n, self.width, self.again = total, desc, 0, 0, again
        self.began, self.written = time.perf_counter(), 0.0

    def update(self, n=1):
        self.n += n
        if self.again and time.perf_counter() - self.written >= EVERY:
            self.refresh()

    def refresh(self):
        self.written = time.perf_counter()
        of = "" if self.total is None else f"/{self.total:g}"
        elapsed = self.written - self.began
        text = f"{self.desc}: {self.n:g}{of}, {elapsed:.0f} s{time_left(elapsed, self.n, self.total)}"
        print(f"\r{text:<{self.width}}" if self.again else text, end="", file=sys.stderr, flush=True)
        self.width = len(text)  # the next text may be shorter, and must cover this one

    def close(self):
        self.refresh()
        print(file=sys.stderr, flush=True)


@contextlib.contextmanager
def bar(wanted, total, desc):
    """An object that shows progress, with `update(n)` and `total`; it shows nothing unless `wanted`.

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
    again = _shows_again()
    if not again or importlib.util.find_spec("tqdm") is None:
        shown = _Line(total, desc, again)
    else:
        from tqdm.auto import tqdm

        shown = tqdm(total=total, desc=desc)
    try:
        yield shown
    finally:
        shown.close()
