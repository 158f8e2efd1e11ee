"""The reference's tables 2 to 5: difference rows against S-KDE and brute force, in two and three dimensions.

    python examples/plot_kde_speed.py [--output FOLDER] [--full]

Scaled sizes by default (a tenth of the samples, the small grids); ``--full`` runs all sizes. The slow methods are timed on a
part of the samples and scaled up, which is marked by "~": their cost is proportional to the number of samples. Table 5's
criterion, a Perkins score above 0.98 for a competitor, is checked with a Gaussian of the same standard deviation. Saves
plot_kde_speed.png.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from common import SMOKE
from matplotlib import pyplot as plt

import numbastats as ns

CHIP = [(560, 540), (560, 1350), (1400, 1350), (1400, 2700), (2800, 2700)]
SOLID = [(110, 220, 322), (110, 440, 322), (220, 440, 322), (220, 440, 805), (220, 1100, 805)]


def lattice(n):
    """Integer positions of a smooth density, like the loading of a sequencing chip."""
    rng, parts, total = np.random.default_rng(0), [], 0
    while total < n:
        p = rng.integers(0, (2736, 2640), (2 * n, 2))
        u, v = (p / (2736, 2640) - 0.5).T
        density = np.exp(-2 * (u * u + v * v) - 0.8 * u * v) * (0.75 + 0.25 * np.sin(9 * u) * np.cos(7 * v))
        parts.append(p[rng.random(2 * n) < density])
        total += len(parts[-1])
    return np.concatenate(parts)[:n].astype(float)


def seconds(x, axes, H, method):
    """Wall time on one core, after a call that compiles."""
    ns.kde.grid(x[:50], [(a[0], a[-1], 4) for a in axes], H=H, method=method, workers=1)
    start = time.perf_counter()
    f = ns.kde.grid(x, axes, H=H, method=method, workers=1)
    return time.perf_counter() - start, f


def table(title, x, shapes, methods, part, results):
    """One of the reference's tables."""
    n, d = x.shape
    H = ns.kde.KDE().fit(x).H_
    half = np.sqrt(np.diag(H))
    print(f"\n{title}: {n:,} samples, one core; seconds, and how many times the difference rows take")
    print(f"{'grid':>16s} {'box, cells':>14s} {'rows':>8s}" + "".join(f" {m:>20s}" for m in methods))
    for shape in shapes:
        axes = [np.linspace(c.min(), c.max(), m) for c, m in zip(x.T, shape, strict=True)]
        box = "x".join(f"{2 * b / (a[1] - a[0]):.0f}" for b, a in zip(half, axes, strict=True))
        ours, f = seconds(x, axes, H, "auto")
        line = f"{'x'.join(map(str, shape)):>16s} {box:>14s} {ours:8.3f}"
        for method in methods:
            few = x[np.random.default_rng(1).permutation(n)[: max(1, int(part[method] * n))]]
            t, g = seconds(few, axes, H, method)
            if len(few) < n:  # what does not depend on the samples is not scaled up
                fixed, _ = seconds(few[:1], axes, H, method)
                t = fixed + max(t - fixed, 0.0) * n / len(few)
            results.setdefault((title, method), []).append((np.prod(shape), t / ours))
            line += f" {'~' if len(few) < n else ''}{t:.2f} ({t / ours:.0f}x)".rjust(21)
            if len(few) == n:
                assert np.abs(f - g).max() <= 1e-11 * f.max()
        print(line, flush=True)


def main():
    """Print the tables, plot the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the plot")
    parser.add_argument("--full", action="store_true", help="all sizes of the reference; takes an hour")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    scale = 1 if options.full else 400 if SMOKE else 10
    shapes = (CHIP, SOLID) if options.full else ([(56, 54)], [(11, 22, 32)]) if SMOKE else (CHIP[:3], SOLID[:2])
    results = {}
    part = {"skde": 1.0 if SMOKE else 0.02, "skde-crop": 1.0 if SMOKE else 0.02, "ep": 0.01 if SMOKE else 0.0002}
    chip = lattice(3_473_932 // scale)
    table("two dimensions", chip, shapes[0], ("skde", "ep"), part, results)
    mix = np.array([[1, 0.5, 0.3], [0.5, 1, 0.2], [0.3, 0.2, 1]])
    solid = np.random.default_rng(0).multivariate_normal(np.zeros(3), mix, 500_000 // scale)
    table("three dimensions", solid, shapes[1], ("skde", "skde-crop", "ep"), part, results)

    sub = chip[: 2000 if SMOKE else 20_000]
    axes = ns.kde.regular_axes(sub, shape=(140, 135))
    h = ns.kde.bandwidth.eq9(sub)
    score = ns.kde.perkins(ns.kde.grid(sub, axes), ns.kde.grid(sub, axes, kernel="gaussian", h=h / 6**0.5, tail=1e-6))
    print(f"\nPerkins score of a Gaussian of the same standard deviation: {score:.4f} (the reference asks for 0.98)")

    figure, panel = plt.subplots(figsize=(6.4, 4.4), constrained_layout=True)
    for (title, method), points in results.items():
        panel.loglog(*np.array(points).T, "o-", label=f"{method}, {title}")
    panel.set(xlabel="grid positions", ylabel="time / time of the difference rows")
    panel.legend(frameon=False, fontsize=8)
    figure.savefig(options.output / "plot_kde_speed.png", dpi=120)
    print(f"plot: {options.output / 'plot_kde_speed.png'}")


if __name__ == "__main__":
    main()
