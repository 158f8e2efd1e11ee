"""Parts of the problems of a kernel, for threads."""

from __future__ import annotations

__all__ = ["ranges"]


def ranges(n, parts):
    """About so many pairs (lo, hi) that cover n problems."""
    step = max(1, -(-n // parts))
    return [(lo, min(lo + step, n)) for lo in range(0, n, step)]
