"""Print the table of goals and measured figures, or put it into TABLE.md.

    python asv_benchmarks/readme_table.py            # about two minutes; on a machine that does nothing else
    python asv_benchmarks/readme_table.py --write    # replaces what stands between the markers in TABLE.md

Every figure is measured here and now, by the functions that the asv benchmarks use; rows where we lose stay. README.md and
docs/benchmarks.md have figures of this table, copied by hand.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, where the package is not installed

from benchmarks import bench_quantile, common, vs_peers  # noqa: E402

TARGET = Path(__file__).parent / "TABLE.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
# name, method, dtype, largest error in ulp on the reference table
ERRORS = (("fast", "float64", 3.0), ("accurate", "float64", 1.5), ("fast", "float32", 3.5))


def verdict(met):
    return "met" if met else "**missed**"


def figure(nanoseconds):
    return f"{nanoseconds:.2f} ns" if nanoseconds < 100 else f"{nanoseconds:.0f} ns"


def ratio(value):
    """A ratio, bold where the peer wins."""
    return f"{value:.2f}x" if value >= 1 else f"**{value:.2f}x**"


def peer_rows(seconds):
    """Goals that are ratios to a peer, and figures without a goal, one row per peer."""
    rows = []
    for name, case in vs_peers.CASES.items():
        if case.needs and not common.installed(case.needs):
            continue
        stated = name in vs_peers.SCALAR_CASES
        if stated and name not in ("elementary.exp float64", "elementary.log float64"):
            continue
        timing = case.measure(seconds=seconds)
        for peer, goal in case.goals.items():
            speedup = timing.speedup("ours", peer)
            rows.append(
                (
                    name.removeprefix("elementary."),
                    f"at least {goal:.2g}x {peer}" if goal else f"(none; peer: {peer})",
                    f"{figure(timing.ns('ours'))} against {figure(timing.ns(peer))}",
                    ratio(speedup),
                    verdict(speedup >= goal) if goal else "",
                )
            )
    return rows


def other_rows(seconds):
    """Goals in seconds and in ulp."""
    importing = statistics.median(common.import_seconds() for _ in range(5))
    first = statistics.median(common.first_call_seconds() for _ in range(5))
    call = vs_peers.call_overhead(seconds)
    busy, waiting = vs_peers.second_cpu_gain(), vs_peers.second_cpu_gain(waiting=True)
    rows = [
        ("import numbastats", "at most 0.5 s", f"{importing:.2f} s", "", verdict(importing <= 0.5)),
        (
            "first call in a new process, cached",
            "at most 50 ms after the import",
            f"{first * 1e3:.0f} ms",
            "",
            verdict(first <= 0.05),
        ),
        ("call on one value", "at most 20 us", f"{call:.1f} us", "", verdict(call <= 20)),
        ("control: two one-thread ndtri loops at once", "(what two threads can gain here)", "", ratio(busy), ""),
        ("control: two dependent chains at once", "(2 with the above near 1: hyperthreads of one core)", "", ratio(waiting), ""),
    ]
    for method, dtype, limit in ERRORS:
        error = bench_quantile.table_error(method, dtype)
        rows.append(
            (
                f"ndtri {method} {dtype}, error on the reference table",
                f"at most {limit:g} ulp",
                f"{error:.2f} ulp",
                "",
                verdict(error <= limit),
            )
        )
    return rows


def scalar_rows(seconds):
    """Every scalar function that has a peer, both float types."""
    rows = []
    for name in vs_peers.SCALAR_CASES:
        case = vs_peers.CASES[name]
        timing = case.measure(seconds=seconds)
        cells = []
        for loop in (True, False):
            peer = next((p for p in case.goals if (p == "math loop") == loop), None)
            if peer is None:
                cells.append("")
                continue
            goal, speedup = case.goals[peer], timing.speedup("ours", peer)
            cells.append(ratio(speedup) + (f" ({goal:.2g}x: {verdict(speedup >= goal)})" if goal else ""))
        function, dtype = name.rsplit(" ", 1)
        rows.append((f"`{function}`", dtype, figure(timing.ns("ours")), *cells))
    return rows


def table(header, rows):
    return "\n".join(
        ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(row) + " |" for row in rows)]
    )


def block(seconds):
    """The whole text between the markers."""
    main = table(("what", "goal", "measured", "ratio", "verdict"), peer_rows(seconds) + other_rows(seconds))
    scalars = table(("function", "type", "ours", "against a math.* loop", "against NumPy or SciPy"), scalar_rows(seconds / 2))
    return f"""Measured {common.today()} by `asv_benchmarks/readme_table.py` on {common.processor()}; {common.versions()}.

Nanoseconds are per value: medians, alternating with the peer in one process, one thread, {common.SMALL} values in the cache and \
before the overhead of a call, unless stated. A ratio is the peer's time over ours; bold where the peer wins.

{main}

Scalar functions in a loop over {common.SMALL} values. "math.* loop" is the same loop, compiled by Numba, with the function of \
Python's `math`; in brackets the ratio that was aimed at, where one was.

{scalars}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the table in TABLE.md")
    parser.add_argument("--seconds", type=float, default=1.0, help="time per comparison (a scalar function gets half)")
    options = parser.parse_args()
    if options.write and (not TARGET.exists() or BEGIN not in TARGET.read_text()):
        raise SystemExit(f"TABLE.md has no line {BEGIN}; put it and {END} where the table belongs")
    text = block(options.seconds)
    if options.write:
        common.replace_between(TARGET, BEGIN, END, text)
    else:
        print(text)


if __name__ == "__main__":
    sys.exit(main())
