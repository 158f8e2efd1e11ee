"""A tour of numbastats on real data: prints a table and writes plots.

    pip install ".[examples]" && python examples/tour.py

Every part is a module beside this one, tour_<part>.py, whose `run(rows, folder)` appends lines (what, result, seconds, peer,
how many times faster than the peer) and saves its plots in the folder; seconds, peer and ratio may be None.
"""

from __future__ import annotations

import argparse
import importlib
import os
from pathlib import Path

import numbastats as ns
from numbastats._core.compile import real_gpu

PARTS = ("normality", "risk", "stable", "kde", "mixture", "bayes")


def main():
    """Run every part, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the plots")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for part in PARTS:
        importlib.import_module(f"tour_{part}").run(rows, folder)
    where = "CUDA GPU" if real_gpu() else "CPU"
    print(f"numbastats {ns.__version__}; device {where}, {os.cpu_count()} cores; times are the shortest of a few runs\n")
    width = max(44, *(len(what) for what, *_ in rows))
    print(f"{'':{width}s} {'result':44s} {'seconds':>8s}  against a peer")
    for what, result, seconds, peer, ratio in rows:
        timing = f"{seconds:8.3f}" if seconds is not None else " " * 8
        print(f"{what:{width}s} {result:44s} {timing}  {f'{ratio:.1f}x {peer}' if peer else ''}".rstrip())
    print(f"\nplots: {folder}")


if __name__ == "__main__":
    main()
