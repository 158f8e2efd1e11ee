"""A tour of six analyses.

Real data, a table of results and times, plots:

    pip install ".[examples]" && python examples/tour.py

Every part is a module beside this one, tour_<part>.py, whose `run(rows, figure)` appends lines (what, result, seconds, other
package, how many times faster than it) and draws into its part of the figure; seconds, package and ratio may be None. What they
call is compiled before, on all cores. Calls are timed after a first one, in turns with the other package, and the median is
printed; what takes seconds is timed once.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
from pathlib import Path

from tour_kernels import COMPILING, KERNELS, LONGEST

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/tour.png"
FONT = 11  # of all plots
PARTS = ("normality", "risk", "stable", "kde", "mixture", "bayes")
PLACES = ("stable", "risk", "normality", "mixture", "kde", "bayes")  # in the figure, by rows
WIDTHS = 50, 60


def two_digits(value):
    """A number as text, with two significant digits and no exponent."""
    return f"{float(f'{value:.2g}'):,.10g}"


def main():
    """Run every part, print its lines."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for tour.png")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    cores = os.cpu_count() or 1
    wait = 5 * math.ceil(max(LONGEST, COMPILING / cores) / 5)
    print(
        f"numbastats {ns.__version__}, {cores} cores; median times. Compiling takes about {wait} s, on the first run alone; "
        "the analyses take about half a minute.\n",
        flush=True,
    )
    from matplotlib import pyplot as plt

    plt.rcParams |= {"font.size": FONT, "axes.titlesize": FONT, "figure.titlesize": FONT}
    figure = plt.figure(figsize=(14, 13.5), layout="constrained")
    places = dict(zip(PLACES, figure.subfigures(3, 2, height_ratios=(3.0, 3.2, 4.8)).flat, strict=True))
    ns.warmup(KERNELS, workers=-1, progress=True)
    print(f"{'':{WIDTHS[0]}s} {'result':{WIDTHS[1]}s} {'seconds':>8s}  times as fast as", flush=True)
    for part in PARTS:
        rows = []
        importlib.import_module(f"tour_{part}").run(rows, places[part])
        for what, result, seconds, other, ratio in rows:
            timing = "" if seconds is None else two_digits(seconds)
            faster = f"{two_digits(ratio)}x {other}" if other else ""
            print(f"{what:{WIDTHS[0]}s} {result:{WIDTHS[1]}s} {timing:>8s}  {faster}".rstrip())
        print(flush=True)
    figure.savefig(folder / "tour.png", dpi=90)
    print(f"plots: {folder / 'tour.png'}")


if __name__ == "__main__":
    main()
