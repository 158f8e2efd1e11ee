"""How the time of whole mixture fits grows with the number of data sets, of observations and of starts.

    python asv_benchmarks/mixture_growth.py            # half a minute
    python asv_benchmarks/mixture_growth.py --write    # replaces MIXTURE_GROWTH.md

Processor time of one thread, the least of some rounds over all sizes in turn. The exponent is the slope of log time over log
size; below 1 where a part of the work does not depend on the size: a fit compresses its data to some 256 cells for the starts,
and climbs from three of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, where the package is not installed

import numpy as np  # noqa: E402
from benchmarks import bench_mixture, common  # noqa: E402

import numbastats as ns  # noqa: E402

TARGET = Path(__file__).parent / "MIXTURE_GROWTH.md"
D, N, R = 100, 2000, 30
GROWTHS = {  # what grows: sizes (data sets, observations each, starts), options
    "data sets": ([(D, N, R), (2 * D, N, R), (4 * D, N, R)], {}),
    "observations": ([(D, N, R), (D, 4 * N, R), (D, 16 * N, R)], {}),
    "observations, EM from one start": ([(D, N, 1), (D, 4 * N, 1), (D, 16 * N, 1)], dict(method="em", max_iter=50, tol=1e-300)),
    "starts": ([(D, N, R), (D, N, 4 * R), (D, N, 16 * R)], {}),
}


def table(rounds):
    """The table as text."""
    data = {(d, n): bench_mixture.paper_data(d, n) for sizes, _ in GROWTHS.values() for d, n, _r in sizes}
    found = {}
    for _ in range(rounds + 1):  # the first one may compile
        for name, (sizes, options) in GROWTHS.items():
            for size in sizes:
                start = time.thread_time()
                ns.mixture.fit_many(
                    data[size[:2]], 2, n_init=size[2], family="inverse_gaussian", rng=1, device="cpu", workers=1, **options
                )
                found.setdefault((name, size), []).append(time.thread_time() - start)
    rows = ["| what grows | sets x observations x starts: milliseconds | exponent |", "|---|---|---|"]
    for name, (sizes, _) in GROWTHS.items():
        ms = [1e3 * min(found[name, size][1:]) for size in sizes]
        slope = np.polyfit(np.log([np.prod(size) for size in sizes]), np.log(ms), 1)[0]
        cells = "; ".join(f"{d} x {n} x {r}: {t:.0f}" for (d, n, r), t in zip(sizes, ms, strict=True))
        rows.append(f"| {name} | {cells} | {slope:.2f} |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"replace {TARGET.name}")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    text = f"""# Growth of the time of mixture fits

Measured {common.today()} by `asv_benchmarks/mixture_growth.py` on {common.processor()}; {common.versions()}.
Processor time of one thread; two inverse Gaussian components. Exponents below 1: part of the work does not depend on the size.

{table(options.rounds)}
"""
    if options.write:
        TARGET.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
