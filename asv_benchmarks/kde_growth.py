"""How the time of a density on a grid grows with samples, rows per sample and positions: writes KDE_GROWTH.md.

python asv_benchmarks/kde_growth.py [--seconds 3]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from benchmarks import bench_kde, common  # noqa: E402

TEXT = """# Growth of `kde.grid`

Written {day} by `asv_benchmarks/kde_growth.py` on {processor}; {versions}.

Method "rows-c", two dimensions, one thread, whole calls: the fastest of many in milliseconds, the three sizes in turn. One of
samples, rows per sample (by the bandwidth h) and positions doubles twice while the others stay. The last column is the
least-squares exponent: 1 is linear, and less where what does not grow counts.

| what grows | samples, h, grid | 1 | 2 | 4 | exponent |
|---|---|---|---|---|---|
{rows}
"""


def main():
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="time per row of the table")
    options = parser.parse_args()
    growth, rows = bench_kde.Growth(), []
    for what in growth.params:
        n, h, shape = growth.sizes[what][0]
        t = growth.milliseconds(what, options.seconds)
        exponent = np.polyfit(np.log([1, 2, 4]), np.log(t), 1)[0]
        cells = " | ".join(f"{v:.2f}" for v in t)
        rows.append(f"| {what} | {n}, {h:g}, {'x'.join(map(str, shape))} | {cells} | {exponent:.2f} |")
    text = TEXT.format(day=common.today(), processor=common.processor(), versions=common.versions(), rows="\n".join(rows))
    (Path(__file__).parent / "KDE_GROWTH.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
