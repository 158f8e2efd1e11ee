"""Print the table of every function beside another package's, the slowest first, or put it into docs/benchmarks.md.

python asv_benchmarks/beside_peers.py            # about five minutes; on a machine that does nothing else
python asv_benchmarks/beside_peers.py --write
python asv_benchmarks/beside_peers.py --only Gamma
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one thread on both sides
sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, where the package is not installed

import numpy as np  # noqa: E402
from benchmarks import beside_peers, common  # noqa: E402

import numbastats as ns  # noqa: E402

TARGET = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- every function: begin -->", "<!-- every function: end -->"


def time_text(nanoseconds):
    """A time in three digits with its unit."""
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if nanoseconds < limit:
            return f"{nanoseconds / (limit / 1e3):.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def rows(only, seconds):
    """(ratio, cells) of every measured case, the smallest ratio first."""
    found = []
    for name, pair in beside_peers.PAIRS.items():
        if only not in name or not all(map(common.installed, pair.needs)):
            continue
        for n in pair.sizes():
            timing = pair.measure(n, seconds)
            ratio = timing.speedup("ours", "theirs")
            cells = (f"`{name}`", f"{n:,}", time_text(timing.ns("ours") * n), time_text(timing.ns("theirs") * n), pair.package)
            found.append((ratio, cells))
            print(f"{ratio:12.2f}x  {name}, {n}", file=sys.stderr, flush=True)
    return sorted(found)


def text(found):
    """What stands between the markers."""
    lost = sum(ratio < 1.0 for ratio, _ in found)
    mean = float(np.exp(np.mean(np.log([ratio for ratio, _ in found]))))
    packages = {
        "SciPy": "scipy",
        "NumPy": "numpy",
        "scikit-learn": "scikit-learn",
        "ArviZ": "arviz",
        "statsmodels": "statsmodels",
    }
    used = sorted({cells[-1] for _, cells in found})
    versions = ", ".join(f"{name} {common.version(packages[name])}" for name in used)
    lines = [
        f"Measured {common.today()} by `asv_benchmarks/beside_peers.py` on {common.processor()}; {common.versions()};",
        f"beside {versions}.",
        "",
        f"{len(found)} rows, of which the other package wins {lost} (bold, first); geometric mean {mean:.1f} times faster.",
        "Whole calls as a user writes them, medians, alternating in one process, one thread on both sides, after a first call",
        "that compiles. One value is a Python number.",
        "",
        "| function | values | ours | theirs | package | times faster |",
        "|---|---|---|---|---|---|",
        *(
            f"| {' | '.join(cells)} | {f'**{r:.2f}**' if r < 1 else f'{r:,.1f}' if r < 100 else f'{r:,.0f}'} |"
            for r, cells in found
        ),
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the table in docs/benchmarks.md")
    parser.add_argument("--only", default="", help="functions whose name contains this")
    parser.add_argument("--seconds", type=float, default=0.2, help="time per row")
    options = parser.parse_args()
    ns.config.set(workers=1, device="cpu", messages=False)
    warnings.simplefilter("ignore")  # of fits to few values, on both sides
    made = text(rows(options.only, options.seconds))
    if not options.write:
        print(made)
        return
    common.replace_between(TARGET, BEGIN, END, made)


if __name__ == "__main__":
    sys.exit(main())
