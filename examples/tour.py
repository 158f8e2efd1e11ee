"""A tour of numbastats on real data: prints a table and writes plots.

    pip install ".[examples]" && python examples/tour.py

Every part is a module beside this one, tour_<part>.py, whose `run(rows, folder)` appends lines (what, result, seconds, peer,
how many times faster than the peer) and saves its plots in the folder; seconds, peer and ratio may be None. What they call is
compiled before, on all cores. Calls are timed after a first one, in turns with their peers, and the median is printed; what takes
seconds is timed once.
"""

from __future__ import annotations

import argparse
import importlib
import os
from pathlib import Path

from tour_kernels import KERNELS

import numbastats as ns

PARTS = ("normality", "risk", "stable", "kde", "mixture", "bayes")
WIDTHS = 50, 60


def overview(folder):
    """All plots in one picture, tour.png."""
    from matplotlib import pyplot as plt

    heights = {"height_ratios": (3.0, 3.2, 4.8)}
    figure, axes = plt.subplots(3, 2, figsize=(14, 11), layout="constrained", gridspec_kw=heights)
    for axis, part in zip(axes.flat, ("stable", "risk", "normality", "mixture", "kde", "bayes"), strict=True):
        axis.imshow(plt.imread(folder / f"tour_{part}.png"), interpolation="lanczos")
        axis.axis("off")
    figure.savefig(folder / "tour.png", dpi=90)
    plt.close(figure)


def main():
    """Run every part, print its lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the plots")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    print(
        f"numbastats {ns.__version__}, {os.cpu_count()} cores; median times; the first run compiles for a minute or two\n",
        flush=True,
    )
    ns.warmup(KERNELS, workers=-1, progress=True)
    print(f"{'':{WIDTHS[0]}s} {'result':{WIDTHS[1]}s} {'seconds':>8s}  times as fast as", flush=True)
    for part in PARTS:
        rows = []
        importlib.import_module(f"tour_{part}").run(rows, folder)
        for what, result, seconds, peer, ratio in rows:
            timing = f"{seconds:8.4f}" if seconds is not None else " " * 8
            print(f"{what:{WIDTHS[0]}s} {result:{WIDTHS[1]}s} {timing}  {f'{ratio:.1f}x {peer}' if peer else ''}".rstrip())
        print(flush=True)
    overview(folder)
    print(f"plots: {folder}")


if __name__ == "__main__":
    main()
