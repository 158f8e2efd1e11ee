"""Kernel densities: the paper's tables.

Tables 2 to 5 and figures 11 to 13 of Lopez-Novoa and others (2015): difference rows against S-KDE and brute force, in two and
three dimensions.

Slow methods are timed on a part and scaled up, which is marked by "~": S-KDE on some of the samples, brute force ("ep") on some
of the positions, to which its cost is proportional. Samples are fewer and grids smaller than in the paper; with
``SAMPLES_DIVIDED_BY = GRIDS_DIVIDED_BY = 1`` all have the paper's sizes, and take hours.
"""

import time

import numpy as np
from matplotlib import pyplot as plt

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_kde_speed.png"
SAMPLES_DIVIDED_BY, GRIDS_DIVIDED_BY = 100, 3
SETS = {  # samples, extent of the lattice or None for normal samples, grids
    "table 2": (3_473_932, (2736, 2640), [(560, 540), (560, 1350), (1400, 1350)]),
    "table 3": (5_885_326, (3760, 3400), [(760, 680), (760, 1700), (1900, 1700)]),
    "table 4, set 1": (500_000, None, [(110, 220, 322), (110, 440, 322), (220, 440, 322)]),
    "table 4, set 2": (1_000_000, None, [(110, 220, 322), (110, 440, 322), (220, 440, 322)]),
}
PART = {"skde-atomic": 0.005, "skde": 0.02, "skde-crop": 0.02}  # of the samples, but at least 4000


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


def timed(function, repeats=3):
    """Result and shortest wall time in seconds, after a first call that may compile."""
    result, times = function(), []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return result, min(times)


def seconds(x, axes, H, method):
    """Wall time on one core, after a call that compiles."""
    ns.kde.grid(x[:50], [(a[0], a[-1], 4) for a in axes], H=H, method=method, workers=1)
    start = time.perf_counter()
    f = ns.kde.grid(x, axes, H=H, method=method, workers=1)
    return time.perf_counter() - start, f


def scaled(x, axes, H, method, f):
    """Seconds of a slow method, of all samples and positions, and whether they were scaled up."""
    if method == "ep":
        at = np.stack([np.random.default_rng(2).choice(a, 100) for a in axes], -1)
        _, t = timed(lambda: ns.kde.points(x, at, H=H, method="ep", workers=1))
        return t * f.size / 100, True
    part = min(1.0, max(PART[method], 4000 / len(x)))
    few = x[np.random.default_rng(1).permutation(len(x))[: int(part * len(x))]]
    t, g = seconds(few, axes, H, method)
    if part == 1.0:
        assert np.abs(f - g).max() <= 1e-11 * f.max()
        return t, False
    fixed, _ = seconds(few[:1], axes, H, method)  # does not depend on the samples, and is not scaled up
    return fixed + max(t - fixed, 0.0) / part, True


# %%
# Tables 2 to 4: seconds on one core, and how many times as long as ours the others take. "box" is the part of the grid that
# the kernel of one sample covers, in cells.

tables = {}
for name, (n, extent, shapes) in SETS.items():
    n = n // SAMPLES_DIVIDED_BY
    x = solid(n) if extent is None else lattice(n, extent)
    H = ns.kde.KDE().fit(x).H_
    methods = ("skde", "skde-atomic", "ep") if extent else ("skde-crop", "skde", "skde-atomic", "ep")
    times = {method: [] for method in ("ours", *methods)}
    shapes = [tuple(m // GRIDS_DIVIDED_BY for m in shape) for shape in shapes]
    print(f"\n{name}: {n:,} samples")
    print(f"{'grid':>14s} {'box':>10s} {'ours':>8s}" + "".join(f" {m:>16s}" for m in methods))
    for shape in shapes:
        axes = [np.linspace(c.min(), c.max(), m) for c, m in zip(x.T, shape, strict=True)]
        box = "x".join(f"{2 * b / (a[1] - a[0]):.0f}" for b, a in zip(np.sqrt(np.diag(H)), axes, strict=True))
        seconds(x, axes, H, "auto")  # compiles
        ours, f = seconds(x, axes, H, "auto")
        times["ours"].append(ours)
        line = f"{'x'.join(map(str, shape)):>14s} {box:>10s} {ours:8.3f}"
        for method in methods:
            t, rough = scaled(x, axes, H, method, f)
            times[method].append(t)
            line += f" {'~' if rough else ''}{t:.3g} ({t / ours:.0f}x)".rjust(17)
        print(line)
    tables[name] = shapes, times

# %%
# Table 5: how many times as long, averages over grids and data sets. The paper has 76 and 1759 for EP-KDE over S-KDE. It asks
# that a density that competes has a Perkins score above 0.98, which a Gaussian of the same standard deviation has.

for title, names, best in (("2-D", list(tables)[:2], "skde"), ("3-D", list(tables)[2:], "skde-crop")):
    ratios = {
        f"{a} / {b}": np.mean([np.divide(tables[s][1][a], tables[s][1][b]).mean() for s in names])
        for a, b in (("ep", best), (best, "ours"), ("skde-atomic", "ours"), ("ep", "ours"))
    }
    print(f"{title}: " + ", ".join(f"{k} {v:.0f}" for k, v in ratios.items()))
x = lattice(2_000_000 // SAMPLES_DIVIDED_BY, (2736, 2640))
axes, h = ns.kde.regular_axes(x, shape=(140, 135)), ns.kde.bandwidth.eq9(x)
gaussian = ns.kde.grid(x, axes, kernel="gaussian", h=h / 6**0.5, tail=1e-6)
print(f"Perkins score of a Gaussian: {ns.kde.perkins(ns.kde.grid(x, axes), gaussian):.4f}")

# %%
# Figure 11: time against positions.

figure, panels = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
for panel, letter, (name, (shapes, times)) in zip(panels.flat, "abcd", tables.items(), strict=True):
    for method, t in times.items():
        panel.loglog([np.prod(s) for s in shapes], t, "o-", label=method)
    panel.set(title=f"figure 11{letter}: {name}", xlabel="grid positions", ylabel="seconds, one core")
    panel.legend(frameon=False, fontsize=7)
plt.show()

# %%
# Figures 12 and 13: the box and its crop to an ellipse; without and with atomic additions.

shapes, times = tables["table 4, set 1"]
grids = ["x".join(map(str, s)) for s in shapes]
figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for panel, title, methods in (
    (panels[0], "figure 12: the box, and its crop", ("skde", "skde-crop")),
    (panels[1], "figure 13: without and with atomics", ("skde", "skde-atomic")),
):
    for k, method in enumerate(methods):
        panel.bar(np.arange(len(grids)) + 0.4 * k, times[method], 0.4, label=method)
    panel.set(title=title, ylabel="seconds, one core", yscale="log")
    panel.set_xticks(np.arange(len(grids)) + 0.2, grids, fontsize=7)
    panel.legend(frameon=False, fontsize=8)
plt.show()

# %%
# The time of difference rows grows with samples, rows of a sample, or positions. Each doubles twice, while the other two
# stay; an exponent of 1 is proportional growth.

n, m = 10_000_000 // SAMPLES_DIVIDED_BY, 1200 // GRIDS_DIVIDED_BY
x = lattice(4 * n, (2736, 2640))
grow = {
    "samples": [(k * n, 0.2, (m, m)) for k in (1, 2, 4)],
    "rows": [(n, 0.1 * k, (m, m)) for k in (1, 2, 4)],
    "positions": [(n // 100, 0.05, (4 * m, 4 * m * k)) for k in (1, 2, 4)],
}
for name, sizes in grow.items():
    times = []
    for count, h, shape in sizes:
        axes = [np.linspace(0, 2736, s) for s in shape]
        _, t = timed(lambda c=count, a=axes, h=h: ns.kde.grid(x[:c], a, h=h, method="rows-c", workers=1))
        times.append(t * 1e3)
    print(f"{name:>12s} " + "".join(f"{t:9.2f} ms" for t in times) + f"   exponent {np.log2(times[2] / times[0]) / 2:.2f}")
