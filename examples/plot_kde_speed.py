"""Kernel densities: the paper's tables.

Tables 2 to 5 and figures 11 to 13 of Lopez-Novoa and others (2015): difference rows against S-KDE and brute force, two and three
dimensions.

    python examples/plot_kde_speed.py [--output FOLDER] [--full]

Scaled sizes by default (a twentieth of the samples, the two smallest grids of every table); ``--full`` runs all sizes. The slow
methods are timed on a part and scaled up, which is marked by "~": S-KDE on some of the samples, brute force ("ep") on some of the
positions, to which its cost is proportional. Table 5's criterion, a Perkins score above 0.98 for a competitor, is checked with a
Gaussian of the same standard deviation. At the end the growth of the time in samples, rows and positions. Saves
plot_kde_speed.png.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from common import GALLERY, OUTPUT, SMOKE, best_of
from matplotlib import pyplot as plt

import numbastats as ns

SETS = {  # name: samples, extent of the lattice or None for normal samples, grids
    "table 2": (3_473_932, (2736, 2640), [(560, 540), (560, 1350), (1400, 1350), (1400, 2700), (2800, 2700)]),
    "table 3": (5_885_326, (3760, 3400), [(760, 680), (760, 1700), (1900, 1700), (1900, 3400), (3800, 3400)]),
    "table 4, set 1": (500_000, None, [(110, 220, 322), (110, 440, 322), (220, 440, 322), (220, 440, 805), (220, 1100, 805)]),
    "table 4, set 2": (1_000_000, None, [(110, 220, 322), (110, 440, 322), (220, 440, 322), (220, 440, 805), (220, 1100, 805)]),
}
PLANE, SOLID = ("skde", "skde-atomic", "ep"), ("skde-crop", "skde", "skde-atomic", "ep")
PART = {"skde-atomic": 0.005, "skde": 0.02, "skde-crop": 0.02}  # of the samples for the slow methods, but at least FEW
FEW, POSITIONS = 4000, 100


def lattice(n, extent):
    """Integer positions of a smooth density, like the loading of a sequencing chip."""
    rng, parts, total = np.random.default_rng(0), [], 0
    while total < n:
        p = rng.integers(0, extent, (2 * n, 2))
        u, v = (p / extent - 0.5).T
        density = np.exp(-2 * (u * u + v * v) - 0.8 * u * v) * (0.75 + 0.25 * np.sin(9 * u) * np.cos(7 * v))
        parts.append(p[rng.random(2 * n) < density])
        total += len(parts[-1])
    return np.concatenate(parts)[:n].astype(float)


def solid(n):
    """Correlated normal samples in three dimensions."""
    mix = np.array([[1, 0.5, 0.3], [0.5, 1, 0.2], [0.3, 0.2, 1]])
    return np.random.default_rng(0).multivariate_normal(np.zeros(3), mix, n)


def seconds(x, axes, H, method):
    """Wall time on one core, after a call that compiles."""
    ns.kde.grid(x[:50], [(a[0], a[-1], 4) for a in axes], H=H, method=method, workers=1)
    start = time.perf_counter()
    f = ns.kde.grid(x, axes, H=H, method=method, workers=1)
    return time.perf_counter() - start, f


def measure(name, n, extent, shapes):
    """One table: prints it; returns seconds per method and grid."""
    x = solid(n) if extent is None else lattice(n, extent)
    H = ns.kde.KDE().fit(x).H_
    half, methods = np.sqrt(np.diag(H)), SOLID if extent is None else PLANE
    times = {m: [] for m in ("ours", *methods)}
    print(f"\n{name}: {n:,} samples, one core; seconds, and how many times what ours take")
    print(f"{'grid':>14s} {'box, cells':>12s} {'ours':>8s}" + "".join(f" {m:>18s}" for m in methods))
    for shape in shapes:
        axes = [np.linspace(c.min(), c.max(), m) for c, m in zip(x.T, shape, strict=True)]
        box = "x".join(f"{2 * b / (a[1] - a[0]):.0f}" for b, a in zip(half, axes, strict=True))
        seconds(x, axes, H, "auto")  # compiles
        ours, f = seconds(x, axes, H, "auto")
        times["ours"].append(ours)
        line = f"{'x'.join(map(str, shape)):>14s} {box:>12s} {ours:8.3f}"
        for method in methods:
            if method == "ep":
                at = np.stack([np.random.default_rng(2).choice(a, POSITIONS) for a in axes], -1)
                _, t = best_of(lambda at=at: ns.kde.points(x, at, H=H, method="ep", workers=1), 3)
                t, part = t * np.prod(shape) / POSITIONS, 0.0
            else:
                part = min(1.0, max(PART[method], FEW / n))
                few = x[np.random.default_rng(1).permutation(n)[: int(part * n)]]
                t, g = seconds(few, axes, H, method)
            if 0 < part < 1:  # what does not depend on the samples is not scaled up
                fixed, _ = seconds(few[:1], axes, H, method)
                t = fixed + max(t - fixed, 0.0) / part
            elif part:
                assert np.abs(f - g).max() <= 1e-11 * f.max()
            times[method].append(t)
            line += f" {'' if part == 1 else '~'}{t:.3g} ({t / ours:.0f}x)".rjust(19)
        print(line, flush=True)
    return times


def growth():
    """Time against samples, rows per sample and positions, the other two fixed, with the exponent; one is linear."""
    n, m = (2000, 60) if SMOKE else (100_000, 400)
    x = lattice(4 * n, (2736, 2640))
    grow = {
        "samples": [(k * n, 0.2, (m, m)) for k in (1, 2, 4)],
        "rows": [(n, 0.1 * k, (m, m)) for k in (1, 2, 4)],
        "positions": [(n // 100, 0.05, (4 * m, 4 * m * k)) for k in (1, 2, 4)],
    }
    print("\ngrowth, one core, difference rows: milliseconds at sizes 1, 2, 4; exponent between the ends")
    for name, sizes in grow.items():
        times = []
        for count, h, shape in sizes:
            axes = [np.linspace(0, 2736, s) for s in shape]
            times.append(best_of(lambda c=count, a=axes, h=h: ns.kde.grid(x[:c], a, h=h, method="rows-c", workers=1))[1] * 1e3)
        print(f"{name:>12s} " + "".join(f"{t:9.2f}" for t in times) + f"   {np.log2(times[2] / times[0]) / 2:.2f}")


def plot(tables, path):
    """Figure 11 a to d, figure 12, figure 13."""
    figure, panels = plt.subplots(2, 3, figsize=(13, 7), constrained_layout=True)
    for panel, letter, (name, (shapes, times)) in zip(panels.flat, "abcd", tables.items(), strict=False):
        for method, t in times.items():
            panel.loglog([np.prod(s) for s in shapes], t, "o-", label=method)
        panel.set(title=f"figure 11{letter}: {name}", xlabel="grid positions", ylabel="seconds, one core")
        panel.legend(frameon=False, fontsize=7)
    shapes, times = tables["table 4, set 1"]
    grids = ["x".join(map(str, s)) for s in shapes]
    for panel, title, methods in (
        (panels[1, 1], "figure 12: the box, and its crop", ("skde", "skde-crop")),
        (panels[1, 2], "figure 13: without and with atomics", ("skde", "skde-atomic")),
    ):
        for k, method in enumerate(methods):
            panel.bar(np.arange(len(grids)) + 0.4 * k, times[method], 0.4, label=method)
        panel.set(title=title, ylabel="seconds, one core", yscale="log")
        panel.set_xticks(np.arange(len(grids)) + 0.2, grids, fontsize=7)
        panel.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)
    print(f"plot: {path}")


def main():
    """Print the tables, plot the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder for the plot")
    parser.add_argument("--full", action="store_true", help="all sizes of the reference; takes hours")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    scale, tables = 1 if options.full else 1000 if SMOKE else 100 if GALLERY else 20, {}
    for name, (n, extent, shapes) in SETS.items():
        if SMOKE or GALLERY:
            shapes = [tuple(m // (10 if SMOKE else 3) for m in shape) for shape in shapes[: 1 if SMOKE else 3]]
        elif not options.full:
            shapes = shapes[:2]
        tables[name] = shapes, measure(name, n // scale, extent, shapes)

    print("\ntable 5: how many times longer, average over grids and data sets; the reference's EP-KDE / S-KDE: 76 and 1759")
    for title, sets, best in (("2-D", list(tables)[:2], "skde"), ("3-D", list(tables)[2:], "skde-crop")):
        ratios = {
            f"{a} / {b}": np.mean([np.divide(tables[s][1][a], tables[s][1][b]).mean() for s in sets])
            for a, b in (("ep", best), (best, "ours"), ("skde-atomic", "ours"), ("ep", "ours"))
        }
        print(f"{title}: " + ", ".join(f"{k} {v:.0f}" for k, v in ratios.items()))
    sub = lattice(2000 if SMOKE else 20_000, (2736, 2640))
    axes, h = ns.kde.regular_axes(sub, shape=(140, 135)), ns.kde.bandwidth.eq9(sub)
    score = ns.kde.perkins(ns.kde.grid(sub, axes), ns.kde.grid(sub, axes, kernel="gaussian", h=h / 6**0.5, tail=1e-6))
    print(f"Perkins score of a Gaussian of the same standard deviation: {score:.4f} (the reference asks for 0.98)")
    growth()
    plot(tables, options.output / "plot_kde_speed.png")


if __name__ == "__main__":
    main()
