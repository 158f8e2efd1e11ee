"""Tables 1 and 2 of the paper, and its precision figures: normal quantile kernels and what they compete with.

W. T. Shaw, T. Luu, N. Brickman, "Quantile Mechanics II" (2011). Our kernels and the peers of the paper's tables (Acklam 2003;
the same with one Halley step; Wichura's AS241, 1988; Giles 2011; the library's own function) are timed in turn on one thread
and compared with exact values; on a machine with a GPU our kernels are timed there too. The paper's tables state milliseconds
for sizes it does not give, so ratios are printed. Saves quantile_kernels.png (figures 1-2 and 5-13).
``python examples/plot_quantile_kernels.py --output FOLDER``
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import mpmath
import numpy as np
import scipy.special
from common import SMOKE
from matplotlib import pyplot as plt
from numba import njit

import numbastats as ns
from numbastats._core.compile import real_gpu

# --- the peers, from their papers --------------------------------------------------------------------------------------


@njit(error_model="numpy")
def acklam1(u):
    """Peter Acklam's rational approximations, relative error 1.15e-9."""
    p = u if u < 0.5 else 1.0 - u
    if p < 0.02425:
        q = math.sqrt(-2.0 * math.log(p))
        n = (-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e00
        n = ((n * q - 2.549732539343734e00) * q + 4.374664141464968e00) * q + 2.938163982698783e00
        d = ((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e00) * q + 3.754408661907416e00
        x = n / (d * q + 1.0)
    else:
        q = p - 0.5
        r = q * q
        n = (-3.969683028665376e01 * r + 2.209460984245205e02) * r - 2.759285104469687e02
        n = ((n * r + 1.383577518672690e02) * r - 3.066479806614716e01) * r + 2.506628277459239e00
        d = (-5.447609879822406e01 * r + 1.615858368580409e02) * r - 1.556989798598866e02
        d = (d * r + 6.680131188771972e01) * r - 1.328068155288572e01
        x = n * q / (d * r + 1.0)
    return x if u < 0.5 else -x


@njit(error_model="numpy")
def halley1(u):
    """Acklam's value after one step of Halley's method."""
    p = u if u < 0.5 else 1.0 - u
    x = acklam1(p)
    e = 0.5 * math.erfc(-x / math.sqrt(2.0)) - p
    w = e * math.sqrt(2.0 * math.pi) * math.exp(0.5 * x * x)
    x = x - w / (1.0 + 0.5 * x * w)
    return x if u < 0.5 else -x


@njit(error_model="numpy")
def as241(u):
    """Wichura's PPND16."""
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        n = ((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r + 6.7265770927008700853e4) * r + 4.5921953931549871457e4
        n = ((n * r + 1.3731693765509461125e4) * r + 1.9715909503065514427e3) * r + 1.3314166789178437745e2
        d = ((5.2264952788528545610e3 * r + 2.8729085735721942674e4) * r + 3.9307895800092710610e4) * r + 2.1213794301586595867e4
        d = ((d * r + 5.3941960214247511077e3) * r + 6.8718700749205790830e2) * r + 4.2313330701600911252e1
        return q * (n * r + 3.3871328727963666080e0) / (d * r + 1.0)
    p = u if q < 0.0 else 1.0 - u
    r = math.sqrt(-math.log(p))
    if r <= 5.0:
        r -= 1.6
        n = ((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r
        n = ((n + 1.27045825245236838258e0) * r + 3.64784832476320460504e0) * r + 5.76949722146069140550e0
        n = (n * r + 4.63033784615654529590e0) * r + 1.42343711074968357734e0
        d = ((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r
        d = ((d + 1.48103976427480074590e-1) * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e0
        x = n / ((d * r + 2.05319162663775882187e0) * r + 1.0)
    else:
        r -= 5.0
        n = ((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3) * r
        n = ((n + 2.65321895265761230930e-2) * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e0
        n = (n * r + 5.46378491116411436990e0) * r + 6.65790464350110377720e0
        d = ((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) * r
        d = ((d + 7.86869131145613259100e-4) * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1
        x = n / ((d * r + 5.99832206555887937690e-1) * r + 1.0)
    return x if q > 0.0 else -x


@njit(error_model="numpy")
def giles32(u):
    """Giles's single-precision erfinv, scaled: Phi^-1(u) = sqrt(2) erfinv(2 u - 1)."""
    F = np.float32
    x = F(2.0) * u - F(1.0)
    w = -F(math.log((F(1.0) - x) * (F(1.0) + x)))
    if w < F(5.0):
        w = w - F(2.5)
        p = F(2.81022636e-08)
        p = F(3.43273939e-07) + p * w
        p = F(-3.5233877e-06) + p * w
        p = F(-4.39150654e-06) + p * w
        p = F(0.00021858087) + p * w
        p = F(-0.00125372503) + p * w
        p = F(-0.00417768164) + p * w
        p = F(0.246640727) + p * w
        p = F(1.50140941) + p * w
    else:
        w = F(math.sqrt(w)) - F(3.0)
        p = F(-0.000200214257)
        p = F(0.000100950558) + p * w
        p = F(0.00134934322) + p * w
        p = F(-0.00367342844) + p * w
        p = F(0.00573950773) + p * w
        p = F(-0.0076224613) + p * w
        p = F(0.00943887047) + p * w
        p = F(1.00167406) + p * w
        p = F(2.83297682) + p * w
    return F(1.4142135) * p * x


def loop(scalar):
    """An array function from a scalar one."""

    @njit(error_model="numpy")
    def over(u, out):
        for i in range(u.size):
            out[i] = scalar(u[i])

    return over


PEERS = {
    "float32": {"Acklam": loop(acklam1), "Giles": loop(giles32)},
    "float64": {"Acklam": loop(acklam1), "Acklam + Halley": loop(halley1), "AS241": loop(as241)},
}
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
        "Acklam": 611.0, "Acklam + Halley": 1489.0, "AS241": 798.0, "the paper's (13,13)": 563.0, "the paper's T2 hybrid": 448.0,
    },
}  # fmt: skip


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
    """Median time per value of each, measured in turn."""
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: 1e9 * float(np.median(t)) / n for name, t in times.items()}


def gpu_nanoseconds(dtype, n):
    """Time per value of our kernels on the GPU, after a first call that compiles."""
    from numba import cuda

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
    for call in calls.values():
        call()
    times = nanoseconds(calls, n, 3 if SMOKE else 41)
    best = times["fast"]
    print(f"\ntable {number} ({dtype}): one thread, {n:,} uniform values; times of the paper relative to its fastest")
    fastest = min(PAPER[dtype].values())
    for name, t in sorted(times.items(), key=lambda item: item[1]):
        paper = f"   paper {PAPER[dtype][name] / fastest:5.2f}" if name in PAPER[dtype] else ""
        print(f"  {name:24s} {t:7.2f} ns   {t / best:6.2f} x fast{paper}")
    if real_gpu():
        for name, t in gpu_nanoseconds(dtype, 1 << 24).items():
            print(f"  {name:24s} {t:7.4f} ns on the GPU")
    else:
        print("  (no GPU here: our kernels on one are unmeasured)")


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


def main():
    """Print the tables, save the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", help="folder for the plot")
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
    print(f"\nplot: {folder / 'quantile_kernels.png'}")


if __name__ == "__main__":
    main()
