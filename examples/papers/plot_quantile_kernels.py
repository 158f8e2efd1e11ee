"""Normal quantiles: the paper's tables.

Tables 1 and 2 and the figures of the precision of W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011): the
library's normal quantile kernels, those of the paper among them, timed and compared with exact values.
"""

import time

import mpmath
import numpy as np
import scipy.special
from matplotlib import pyplot as plt

import numbastats as ns

# sphinx_gallery_thumbnail_path = "images/gallery/plot_quantile_kernels.png"
VALUES, POINTS, ROUNDS = 262_144, 300, 21
METHODS = {  # name: word for `method`, milliseconds in the paper's tables 1 and 2 (Tesla C2050)
    "float32": {"fast": ("fast", None), "the paper's (5,6)": ("exp56", 114.5)},
    "float64": {
        "fast": ("fast", None),
        "accurate": ("accurate", None),
        "the paper's (13,13)": ("exp1313", 563.0),
        "(13,13) as printed": ("exp1313_printed", None),
        "the paper's T2 hybrid": ("t2", 448.0),
    },
}

# %%
# Time: one thread, uniform values, in turns whose order changes, with SciPy's function beside ours. The paper does not say
# how many values its milliseconds are for, so ratios are what can be compared. Others that it has (Acklam, AS241, Giles) are
# timed by the library's benchmarks.


def callables(dtype, u, out):
    """All functions by name."""
    found = {
        name: lambda method=method: ns.quantile.ndtri(u, method=method, out=out, device="cpu", workers=1)
        for name, (method, _) in METHODS[dtype].items()
    }
    return found | {"scipy.special.ndtri": lambda: scipy.special.ndtri(u, out=out)}


for number, dtype in ((1, "float32"), (2, "float64")):
    u = np.random.default_rng(1).random(VALUES).astype(dtype)
    u = np.clip(u, np.finfo(dtype).tiny, 1 - np.finfo(dtype).epsneg)
    calls = callables(dtype, u, np.empty_like(u))
    times, rng = {name: [] for name in calls}, np.random.default_rng(0)
    for _ in range(ROUNDS):
        for name in rng.permutation(list(calls)):
            calls[name]()  # after another function the caches are cold; the first call of all compiles
            start = time.perf_counter()
            calls[name]()
            times[name].append(time.perf_counter() - start)
    ns_each = {name: 1e9 * np.median(t) / VALUES for name, t in times.items()}
    print(f"\ntable {number} ({dtype}): {VALUES:,} values on one thread")
    for name, t in sorted(ns_each.items(), key=lambda item: item[1]):
        paper = METHODS[dtype].get(name, (None, None))[1]
        beside = "" if paper is None else f"   in the paper {paper:.0f} ms"
        print(f"  {name:24s} {t:7.2f} ns   {t / ns_each['fast']:6.2f} times fast{beside}")

# %%
# Precision: relative errors against 30 digits in the centre and in the lower tail. The dotted line is one unit in the last
# place.


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


figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
for row, dtype in zip(axes, METHODS, strict=True):
    eps = np.finfo(dtype).eps
    centre = np.linspace(0.02, 0.98, POINTS).astype(dtype)
    centre = centre[np.abs(centre - 0.5) > 1e-3]
    depth = np.linspace(1.0, 7.0 if dtype == "float32" else 19.0, POINTS)
    for axis, place, u in zip(row, ("centre", "tail"), (centre, (10.0**-depth).astype(dtype)), strict=True):
        want, out = exact(u), np.empty_like(u)
        for name, call in callables(dtype, u, out).items():
            call()
            error = np.abs(out.astype(np.float64) / want - 1)
            axis.semilogy(u if place == "centre" else -np.log10(u), np.maximum(error, eps / 20), lw=0.6, label=name)
            if place == "tail":
                print(f"{dtype} {name:24s} largest relative error {error.max():.1e} for u down to {u.min():.0e}")
        axis.axhline(eps, color="k", ls=":", lw=0.8)
        axis.set(title=f"{dtype}, {place}", xlabel="u" if place == "centre" else "-log10 u", ylabel="relative error")
    row[1].legend(fontsize=7, frameon=False)
plt.show()

# %%
# Figures 3 and 4: in u the quantile has a singularity at 1, in the exponential variable v = -log(2 (1 - u)) it has none.

v = np.linspace(0.0, 25.0, 1000)
z = ns.quantile.norm_from_exponential(v)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(1 - 0.5 * np.exp(-v), z)
left.set(xlabel="u", ylabel="z", title="figure 3: the normal quantile in u")
right.plot(v, z)
right.set(xlabel="v = -log(2 (1 - u))", ylabel="z", title="figure 4: in v, to u = 1 - 7e-12")
plt.show()
