"""Normal quantiles: the paper's tables.

Tables 1 and 2 of the paper, and its precision figures: normal quantile kernels and what they compete with.

W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011). Our kernels and the others of the paper's tables (Acklam 2003;
the same with one Halley step; Wichura's AS241, 1988; Giles 2011; the library's own function) are timed in turn on one thread
and compared with exact values; on a machine with a GPU our kernels are timed there too. The paper's tables state milliseconds
for sizes it does not give, so ratios are printed. Saves quantile_kernels.png (figures 1-2 and 5-13) and quantile_variable.png
(figures 3-4).
``python examples/plot_quantile_kernels.py --output FOLDER``
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import mpmath
import numpy as np
import scipy.special
from common import OUTPUT, ROOT, SMOKE
from matplotlib import pyplot as plt

import numbastats as ns

sys.path.append(str(ROOT / "asv_benchmarks"))

from benchmarks.quantile_peers import PEERS  # noqa: E402

OURS = {
    "float32": {"fast": "fast", "the paper's (5,6)": "exp56"},
    "float64": {
        "fast": "fast",
        "accurate": "accurate",
        "the paper's (13,13)": "exp1313",
        "(13,13) as printed": "exp1313_printed",
        "the paper's T2 hybrid": "t2",
    },
}
# Milliseconds of the paper's tables 1 (single) and 2 (double), Tesla C2050
PAPER = {
    "float32": {"Acklam": 279.8, "Giles": 114.0, "the paper's (5,6)": 114.5},
    "float64": {
        "Acklam": 611.0,
        "Acklam + Halley": 1489.0,
        "AS241": 798.0,
        "Giles": 486.0,
        "the paper's (13,13)": 563.0,
        "the paper's T2 hybrid": 448.0,
    },
}


def exact(u):
    """Normal quantiles to 30 digits."""
    values = []
    with mpmath.workdps(30):
        for p in u:
            p = mpmath.mpf(float(p))
            x = mpmath.mpf(float(scipy.special.ndtri(float(min(p, 1 - p)))))
            for _ in range(3):
                tail = mpmath.erfc(-x / mpmath.sqrt(2)) / 2
                x -= mpmath.log(tail / min(p, 1 - p)) * tail / mpmath.npdf(x)
            values.append(float(x if p < 0.5 else -x))
    return np.array(values)


def callables(dtype, u, out):
    """Everything that is timed and judged, by name."""
    found = {}
    for name, method in OURS[dtype].items():
        found[name] = lambda method=method: ns.quantile.ndtri(u, method=method, out=out, device="cpu", workers=1)
    for name, function in PEERS[dtype].items():
        found[name] = lambda function=function: function(u, out)
    found["scipy.special.ndtri"] = lambda: scipy.special.ndtri(u, out=out)
    return found


def nanoseconds(calls, n, rounds):
    """Median time per value of each, measured in turns whose order changes.

    Every measurement follows a throw-away call: the very first one compiles, and after a slow one the caches are cold.
    """
    times, names, rng = {name: [] for name in calls}, list(calls), np.random.default_rng(0)
    for _ in range(rounds):
        for name in rng.permutation(names):
            call = calls[name]
            call()
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: 1e9 * float(np.median(t)) / n for name, t in times.items()}


def gpu_nanoseconds(dtype, n):
    """Time per value of our kernels on the GPU, after a first call that compiles."""
    from numba import cuda

    ns.quantile.ndtri(0.5, device="cuda")  # raises DeviceNotAvailable where there is none
    u = cuda.to_device(np.random.default_rng(1).random(n).astype(dtype))
    out = cuda.device_array_like(u)
    found = {}
    for name, method in OURS[dtype].items():
        ns.quantile.ndtri(u, method=method, out=out)
        cuda.synchronize()
        start = time.perf_counter()
        for _ in range(20):
            ns.quantile.ndtri(u, method=method, out=out)
        cuda.synchronize()
        found[name] = 1e9 * (time.perf_counter() - start) / 20 / n
    return found


def table(number, dtype):
    """One of the paper's tables."""
    n = 4_096 if SMOKE else 262_144
    u = np.random.default_rng(1).random(n).astype(dtype)
    u = np.clip(u, np.finfo(dtype).tiny, 1 - np.finfo(dtype).epsneg)
    calls = callables(dtype, u, np.empty_like(u))
    times = nanoseconds(calls, n, 3 if SMOKE else 41)
    best = times["fast"]
    print(f"\ntable {number} ({dtype}): one thread, {n:,} uniform values; times of the paper relative to its fastest")
    fastest = min(PAPER[dtype].values())
    for name, t in sorted(times.items(), key=lambda item: item[1]):
        paper = f"   paper {PAPER[dtype][name] / fastest:5.2f}" if name in PAPER[dtype] else ""
        print(f"  {name:24s} {t:7.2f} ns   {t / best:6.2f} x fast{paper}")
    try:
        for name, t in gpu_nanoseconds(dtype, 1 << 24).items():
            print(f"  {name:24s} {t:7.4f} ns on the GPU")
    except ns.DeviceNotAvailable:
        print("  (no GPU here; times on one are in asv_benchmarks/GPU_CALLS.md)")


def errors(dtype, points):
    """Signed relative errors of everything: in the centre and in the lower tail."""
    centre = np.linspace(0.02, 0.98, points).astype(dtype)
    centre = centre[np.abs(centre - 0.5) > 1e-3]
    depth = np.linspace(1.0, 7.0 if dtype == "float32" else 19.0, points)
    tail = (10.0**-depth).astype(dtype)
    for name, u in (("centre", centre), ("tail", tail)):
        want, out = exact(u), np.empty_like(u)
        found = {}
        for label, call in callables(dtype, u, out).items():
            call()
            found[label] = out.astype(np.float64) / want - 1
        yield name, u, found


def variable(path):
    """Figures 3 and 4: the upper half of the quantile in u and in v = -log(2 (1 - u)), where it has no singularity."""
    v = np.linspace(0.0, 25.0, 1000)
    z = ns.quantile.norm_from_exponential(v)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    axes[0].plot(1 - 0.5 * np.exp(-v), z)
    axes[0].set(xlabel="u", ylabel="z", title="figure 3: the normal quantile in u")
    axes[1].plot(v, z)
    axes[1].set(xlabel="v = -log(2 (1 - u))", ylabel="z", title="figure 4: in the exponential variable, to u = 1 - 7e-12")
    figure.savefig(path, dpi=120)


def main():
    """Print the tables, save the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(2, 2, figsize=(12, 8), constrained_layout=True)
    for row, (number, dtype) in enumerate(((1, "float32"), (2, "float64"))):
        table(number, dtype)
        eps = np.finfo(dtype).eps
        for axis, (place, u, found) in zip(axes[row], errors(dtype, 40 if SMOKE else 1000), strict=True):
            x = u.astype(float) if place == "centre" else -np.log10(u.astype(float))
            for name, error in found.items():
                axis.semilogy(x, np.maximum(np.abs(error), eps / 20), lw=0.6, label=name)
                if place == "tail":
                    print(f"  {name:24s} largest relative error {np.abs(error).max():.1e} for u down to {u.min():.0e}")
            axis.axhline(eps, color="k", ls=":", lw=0.8)
            axis.set(title=f"{dtype}, {place}", xlabel="u" if place == "centre" else "-log10 u", ylabel="relative error")
        axes[row, 1].legend(fontsize=7, frameon=False)
    figure.suptitle("Normal quantile: relative error (dotted: one epsilon); figures 1-2 and 5-13 of the paper")
    figure.savefig(folder / "quantile_kernels.png", dpi=120)
    variable(folder / "quantile_variable.png")
    print(f"\nplots: {folder / 'quantile_kernels.png'}, {folder / 'quantile_variable.png'}")


if __name__ == "__main__":
    main()
