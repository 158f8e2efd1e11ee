"""Largest error of every elementary function on 1e5 points, with and without fused multiply-add.

Run: python scan_elementary.py          (needs python-flint; writes elementary_scan.md beside this file)

The exact values come from ball arithmetic with 300 bits. The second column of errors is a run of the same points compiled
for a processor without fused multiply-add.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import flint
import numpy as np

from numbastats._core import templates
from numbastats._core.compile import build
from numbastats.scalar import elementary

N = 100_000
flint.ctx.prec = 300


def uniform(lo, hi):
    return lambda rng, n, dtype: rng.uniform(lo, hi, n)


def spread(lo, hi, signed=True):
    """Log-uniform magnitudes."""

    def draw(rng, n, dtype):
        x = np.exp(rng.uniform(np.log(lo), np.log(hi), n))
        return x * rng.choice([-1.0, 1.0], n) if signed else x

    return draw


def positive_bits(rng, n, dtype):
    """All positive floats, subnormals included, each exponent equally often."""
    kind = {np.float64: np.uint64, np.float32: np.uint32}[dtype]
    return rng.integers(1, np.array(np.inf, dtype).view(kind), n, kind).view(dtype)


def any_bits(rng, n, dtype):
    return positive_bits(rng, n, dtype) * rng.choice([-1.0, 1.0], n).astype(dtype)


def near_multiples(period, limit):
    """Floats next to multiples of a period, where a sloppy reduction loses all digits."""

    def draw(rng, n, dtype):
        x = (rng.integers(-int(limit / period), int(limit / period), n) * period).astype(dtype)
        return x + rng.integers(-1, 2, n) * np.spacing(x)

    return draw


def near(centre, width):
    return lambda rng, n, dtype: centre + width * rng.standard_normal(n) ** 3


def above_minus_one(rng, n, dtype):
    """All floats above -1."""
    x = any_bits(rng, n, dtype)
    return np.where(x < -1, 1 / x, x)


HALF_PI = np.pi / 2

# name: exact function, float64 points, float32 points
MAPS = {
    "exp": (flint.arb.exp, [uniform(-745.2, 709.8), uniform(-1, 1), spread(1e-18, 700)], [uniform(-104, 88.73), uniform(-1, 1), spread(1e-9, 88)]),
    "exp_neg": (flint.arb.exp, [uniform(-708, 0), uniform(-1, 0)], [uniform(-87, 0), uniform(-1, 0)]),
    "expm1": (flint.arb.expm1, [uniform(-40, 709.8), uniform(-2, 2), uniform(-0.5, 1.1), spread(1e-310, 1)], [uniform(-20, 88.73), uniform(-2, 2), uniform(-0.5, 1.1), spread(1e-40, 1)]),
    "sinh": (flint.arb.sinh, [uniform(-710.4, 710.4), uniform(-2, 2), spread(1e-310, 1)], [uniform(-89.4, 89.4), uniform(-2, 2), spread(1e-40, 1)]),
    "cosh": (flint.arb.cosh, [uniform(-710.4, 710.4), uniform(-2, 2)], [uniform(-89.4, 89.4), uniform(-2, 2)]),
    "tanh": (flint.arb.tanh, [uniform(-25, 25), uniform(-2, 2), spread(1e-310, 1)], [uniform(-12, 12), uniform(-2, 2), spread(1e-40, 1)]),
    "log": (flint.arb.log, [positive_bits, uniform(0.4, 2.5), near(1, 1e-3)], [positive_bits, uniform(0.4, 2.5), near(1, 1e-2)]),
    "log1p": (flint.arb.log1p, [uniform(-1, 2), above_minus_one, spread(1e-20, 0.9), spread(1e-16, 2, False)], [uniform(-1, 2), above_minus_one, spread(1e-10, 0.9), spread(1e-8, 2, False)]),
    "sin": (flint.arb.sin, [uniform(-2, 2), uniform(-1e6, 1e6), near_multiples(HALF_PI, 1e6), spread(1e-310, 10)], [uniform(-2, 2), uniform(-4000, 4000), near_multiples(HALF_PI, 4000), spread(1e-40, 10)]),
    "cos": (flint.arb.cos, [uniform(-2, 2), uniform(-1e6, 1e6), near_multiples(HALF_PI, 1e6)], [uniform(-2, 2), uniform(-4000, 4000), near_multiples(HALF_PI, 4000)]),
    "tan": (flint.arb.tan, [uniform(-2, 2), uniform(-1e6, 1e6), near_multiples(HALF_PI, 1e6), spread(1e-310, 10)], [uniform(-2, 2), uniform(-4000, 4000), near_multiples(HALF_PI, 4000), spread(1e-40, 10)]),
    "sinpi": (flint.arb.sin_pi, [uniform(-2, 2), uniform(-1e6, 1e6), spread(1e-300, 2**54), near(1, 1e-8)], [uniform(-2, 2), uniform(-4000, 4000), spread(1e-36, 2**25), near(1, 1e-4)]),
    "cospi": (flint.arb.cos_pi, [uniform(-2, 2), uniform(-1e6, 1e6), spread(1e-10, 2**54), near(0.5, 1e-8)], [uniform(-2, 2), uniform(-4000, 4000), spread(1e-5, 2**25), near(0.5, 1e-4)]),
    "atan": (flint.arb.atan, [uniform(-3, 3), spread(1e-310, 1e300), uniform(0.4, 0.6), uniform(2.3, 2.6)], [uniform(-3, 3), spread(1e-40, 1e38), uniform(0.4, 0.6), uniform(2.3, 2.6)]),
    "recip": (lambda x: 1 / x, [any_bits], [any_bits]),
    "rsqrt": (flint.arb.rsqrt, [positive_bits, uniform(0.5, 4)], [positive_bits, uniform(0.5, 4)]),
}  # fmt: skip


def near_one(rng, n, dtype):
    return 1 + rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-15 if dtype is np.float64 else -6, -0.3, n)


def moderate(rng, n, dtype):
    return np.exp(rng.uniform(-3, 3, n))


def draw_pow(rng, n, dtype):
    """Pairs with |y log x| up to 700 (float32: 86); x moderate, near 1, and any positive float."""
    limit = 700.0 if dtype is np.float64 else 86.0
    x = np.concatenate([draw(rng, n // 3, dtype).astype(dtype) for draw in (moderate, near_one, positive_bits)])
    x = np.where(x == 1, dtype(2), x)
    product = np.where(rng.random(x.size) < 0.5, rng.uniform(-limit, limit, x.size), limit * rng.uniform(0.9, 1, x.size))
    with np.errstate(over="ignore"):
        y = (product / np.log(x.astype(np.longdouble))).astype(dtype)
    keep = np.isfinite(y)
    return x[keep], y[keep]


def errors_in_ulp(got, exact, dtype):
    """|got - exact| in units of the spacing of the exact result rounded to the type; beyond the largest float, inf is right."""
    with np.errstate(over="ignore", under="ignore"):
        unit = np.spacing(np.abs(np.array([float(e) for e in exact]).astype(dtype))).astype(float)
    error = np.where(np.isinf(got) & np.isnan(unit), 0.0, np.inf)
    for i in np.flatnonzero(np.isfinite(unit) & np.isfinite(got)):
        error[i] = abs(float((flint.arb(float(got[i])) - exact[i]).mid() / flint.arb(float(unit[i]))))
    return error


def scan():
    rows = []
    for dtype in (np.float64, np.float32):
        rng = np.random.default_rng(5)
        for name, (reference, *draws) in MAPS.items():
            draws = draws[dtype is np.float32]
            with np.errstate(over="ignore", under="ignore"):
                x = np.concatenate([draw(rng, N // len(draws), dtype).astype(dtype) for draw in draws])
            got = np.empty_like(x)
            build(templates.map1_cpu, "serial", _f=getattr(elementary, name))(x, got)
            error = errors_in_ulp(got, [reference(flint.arb(v)) for v in x.astype(float).tolist()], dtype)
            i = int(np.argmax(error))
            rows.append((name, dtype.__name__, float(error[i]), float(x[i]).hex()))
        x, y = draw_pow(rng, N, dtype)
        got = np.empty_like(x)
        build(templates.map2_cpu, "serial", _f=elementary.pow)(x, y, got)
        exact = [flint.arb(a) ** flint.arb(b) for a, b in zip(x.astype(float).tolist(), y.astype(float).tolist(), strict=True)]
        error = errors_in_ulp(got, exact, dtype)
        i = int(np.argmax(error))
        rows.append(("pow", dtype.__name__, float(error[i]), f"{float(x[i]).hex()}, {float(y[i]).hex()}"))
        rows.append(("cos_abs", dtype.__name__, *scan_cos_abs(rng, dtype)))
        rows.append(("log_dd", dtype.__name__, *scan_log_dd(rng, dtype)))
    return rows


def scan_cos_abs(rng, dtype):
    """Absolute error, in units of the spacing just below 1."""
    x = rng.uniform(-1, 1, N).astype(dtype) * dtype(3e6 if dtype is np.float64 else 12000)
    x[::2] /= dtype(1e4)
    got = np.empty_like(x)
    build(templates.map1_cpu, "serial", _f=elementary.cos_abs)(x, got)
    error = [abs(float((flint.arb(g) - flint.arb(v).cos()).mid())) for g, v in zip(got.astype(float).tolist(), x.astype(float).tolist(), strict=True)]
    i = int(np.argmax(error))
    return error[i] / float(np.finfo(dtype).epsneg), float(x[i]).hex()


def log_dd_high(x):
    return elementary.log_dd(x)[0]


def log_dd_low(x):
    return elementary.log_dd(x)[1]


def scan_log_dd(rng, dtype):
    """Relative error as a multiple of the squared unit roundoff, 2^-106 (float32: 2^-48)."""
    x = np.concatenate([draw(rng, N // 3, dtype).astype(dtype) for draw in (moderate, near_one, positive_bits)])
    x = x[x != 1]
    hi, lo = np.empty_like(x), np.empty_like(x)
    build(templates.map1_cpu, "serial", _f=device_function(log_dd_high))(x, hi)
    build(templates.map1_cpu, "serial", _f=device_function(log_dd_low))(x, lo)
    worst, at = 0.0, 0.0
    for v, h, t in zip(*(a.astype(float).tolist() for a in (x, hi, lo)), strict=True):
        exact = flint.arb(v).log()
        error = abs(float(((flint.arb(h) + flint.arb(t) - exact) / exact).mid()))
        if error > worst:
            worst, at = error, v
    return worst, at.hex()


if __name__ == "__main__":
    from numbastats._core.compile import device_function

    if sys.argv[1:] == ["--json"]:
        print(json.dumps(scan()))
        sys.exit()
    runs = []
    for processor in ({}, {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": ""}):
        out = subprocess.run([sys.executable, __file__, "--json"], env=os.environ | processor | {"NUMBASTATS_CACHE": "0"}, capture_output=True, text=True, check=True).stdout
        runs.append(json.loads(out))
    for a, b in zip(*runs):
        print(a, b[2:])
