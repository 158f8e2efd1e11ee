"""Largest error of every elementary function on 1e5 points, with and without fused multiply-add.

Run from the checkout: python tests/reference/scan_elementary.py     (needs python-flint; a minute)

Writes elementary_scan.md beside this file. The exact values come from ball arithmetic with 300 bits; a second process
takes the same points and compiles for a processor without fused multiply-add.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import flint
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from numbastats._core.kernel import build, device_function  # noqa: E402
from numbastats.scalar import elementary, loops  # noqa: E402

N = 100_000
HALF_PI = np.pi / 2
flint.ctx.prec = 300


# --- points: draw(rng, n, dtype) ------------------------------------------------------------------------------------


def uniform(lo, hi):
    return lambda rng, n, dtype: rng.uniform(lo, hi, n)


def spread(lo, hi, signed=True):
    """Log-uniform magnitudes."""

    def draw(rng, n, dtype):
        x = np.exp(rng.uniform(np.log(lo), np.log(hi), n))
        return x * rng.choice([-1.0, 1.0], n) if signed else x

    return draw


def near(centre, width):
    return lambda rng, n, dtype: centre + width * rng.standard_normal(n) ** 3


def near_multiples(period, limit):
    """Floats next to multiples of a period, where a sloppy reduction loses all digits."""

    def draw(rng, n, dtype):
        x = (rng.integers(-int(limit / period), int(limit / period), n) * period).astype(dtype)
        return x + rng.integers(-1, 2, n) * np.spacing(x)

    return draw


def positive(rng, n, dtype):
    """All positive floats, subnormals included, each exponent equally often."""
    kind = {np.float64: np.uint64, np.float32: np.uint32}[dtype]
    return rng.integers(1, np.array(np.inf, dtype).view(kind), n, kind).view(dtype)


def everything(rng, n, dtype):
    return positive(rng, n, dtype) * rng.choice([-1.0, 1.0], n).astype(dtype)


def above_minus_one(rng, n, dtype):
    x = everything(rng, n, dtype)
    return np.where(x < -1, 1 / x, x)


def moderate(rng, n, dtype):
    return np.exp(rng.uniform(-3, 3, n))


def near_one(rng, n, dtype):
    return 1 + rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-15 if dtype is np.float64 else -6, -0.3, n)


def no_one(rng, n, dtype):
    """Moderate, near 1 and any positive float, but not 1, whose logarithm has no relative error."""
    x = np.concatenate([draw(rng, n // 3, dtype).astype(dtype) for draw in (moderate, near_one, positive)])
    return np.where(x == 1, dtype(2), x)


def circle(limit):
    return [uniform(-2, 2), uniform(-limit, limit), near_multiples(HALF_PI, limit), spread(1e-36, 10)]


def half_turns(limit, top):
    return [uniform(-2, 2), uniform(-limit, limit), near(1, 1e-4), near(0.5, 1e-4), spread(1e-30, top)]


def odd(limit):
    return [uniform(-limit, limit), uniform(-2, 2), spread(1e-40, 1)]


# name: exact function, points for float64, points for float32
MAPS = {
    "exp": (
        flint.arb.exp,
        [uniform(-745.2, 709.8), uniform(-1, 1), spread(1e-18, 700)],
        [uniform(-104, 88.73), uniform(-1, 1), spread(1e-9, 88)],
    ),
    "exp_neg": (flint.arb.exp, [uniform(-708, 0), uniform(-1, 0)], [uniform(-87, 0), uniform(-1, 0)]),
    "expm1": (
        flint.arb.expm1,
        [uniform(-40, 709.8), uniform(-0.5, 1.1), *odd(2)],
        [uniform(-20, 88.73), uniform(-0.5, 1.1), *odd(2)],
    ),
    "sinh": (flint.arb.sinh, odd(710.5), odd(89.5)),
    "cosh": (flint.arb.cosh, odd(710.5), odd(89.5)),
    "tanh": (flint.arb.tanh, odd(25), odd(12)),
    "log": (flint.arb.log, [positive, uniform(0.4, 2.5), near(1, 1e-3)], [positive, uniform(0.4, 2.5), near(1, 1e-2)]),
    "log1p": (
        flint.arb.log1p,
        [above_minus_one, uniform(-1, 2), spread(1e-20, 0.9), spread(1e-16, 2, False)],
        [above_minus_one, uniform(-1, 2), spread(1e-10, 0.9), spread(1e-8, 2, False)],
    ),
    "sin": (flint.arb.sin, circle(1e6), circle(4000)),
    "cos": (flint.arb.cos, circle(1e6), circle(4000)),
    "tan": (flint.arb.tan, circle(1e6), circle(4000)),
    "sinpi": (flint.arb.sin_pi, half_turns(1e6, 2**54), half_turns(4000, 2**25)),
    "cospi": (flint.arb.cos_pi, half_turns(1e6, 2**54), half_turns(4000, 2**25)),
    "atan": (
        flint.arb.atan,
        [uniform(-3, 3), spread(1e-310, 1e300), uniform(0.4, 0.6), uniform(2.3, 2.6)],
        [uniform(-3, 3), spread(1e-40, 1e38), uniform(0.4, 0.6), uniform(2.3, 2.6)],
    ),
    "recip": (lambda x: 1 / x, [everything], [everything]),
    "rsqrt": (flint.arb.rsqrt, [positive, uniform(0.5, 4)], [positive, uniform(0.5, 4)]),
}

RANGES = dict.fromkeys(MAPS, "all") | {
    "exp_neg": "-708 (-87) .. 0",
    "log": "all x > 0",
    "log1p": "all x > -1",
    "sin": "abs(x) < 1e6 (4000)",
    "cos": "abs(x) < 1e6 (4000)",
    "tan": "abs(x) < 1e6 (4000)",
    "rsqrt": "all x > 0",
    "pow": "all x > 0, abs(y log x) < 700 (86)",
    "cos_abs": "abs(x) < 3e6 (12000)",
    "log_dd": "all x > 0",
}


# --- errors --------------------------------------------------------------------------------------------------------


def balls(x):
    return [flint.arb(v) for v in x.astype(float).tolist()]


def apply(f, *args):
    out = np.empty_like(args[0])
    template = loops.map1_cpu if len(args) == 1 else loops.map2_cpu
    build(template, "serial", _f=f)(*args, out)
    return out


def errors_in_ulp(got, exact, dtype):
    """|got - exact| in spacings of the exact result rounded to the type; beyond the largest float, inf is right."""
    with np.errstate(over="ignore", under="ignore"):
        unit = np.spacing(np.abs(np.array([float(e) for e in exact]).astype(dtype))).astype(float)
    error = np.where(np.isinf(got) & np.isnan(unit), 0.0, np.inf)
    for i in np.flatnonzero(np.isfinite(unit) & np.isfinite(got)):
        error[i] = abs(float((flint.arb(float(got[i])) - exact[i]).mid() / flint.arb(float(unit[i]))))
    return error


def largest(error, *x):
    i = int(np.argmax(error))
    return float(error[i]), ", ".join(float(v[i]).hex() for v in x)


def scan_map(name, rng, dtype):
    reference, *draws = MAPS[name]
    draws = draws[dtype is np.float32]
    with np.errstate(over="ignore", under="ignore"):
        x = np.concatenate([draw(rng, N // len(draws), dtype).astype(dtype) for draw in draws])
    exact = [reference(v) for v in balls(x)]
    return largest(errors_in_ulp(apply(getattr(elementary, name), x), exact, dtype), x)


def scan_pow(rng, dtype):
    x = no_one(rng, N, dtype)
    limit = 700.0 if dtype is np.float64 else 86.0
    product = limit * np.where(rng.random(x.size) < 0.5, rng.uniform(-1, 1, x.size), rng.uniform(0.9, 1, x.size))
    with np.errstate(over="ignore"):
        y = (product / np.log(x.astype(np.longdouble))).astype(dtype)
    x, y = x[np.isfinite(y)], y[np.isfinite(y)]
    exact = [a**b for a, b in zip(balls(x), balls(y), strict=True)]
    return largest(errors_in_ulp(apply(elementary.pow, x, y), exact, dtype), x, y)


def scan_cos_abs(rng, dtype):
    """Absolute error in units of 2^-53 (2^-24)."""
    x = (rng.uniform(-1, 1, N) * (3e6 if dtype is np.float64 else 12000)).astype(dtype)
    x[::2] /= dtype(1e4)
    gap = zip(balls(apply(elementary.cos_abs, x)), balls(x), strict=True)
    return largest(np.array([abs(float((g - v.cos()).mid())) for g, v in gap]) / float(np.finfo(dtype).epsneg), x)


@device_function
def log_dd_hi(x):
    return elementary.log_dd(x)[0]


@device_function
def log_dd_lo(x):
    return elementary.log_dd(x)[1]


def scan_log_dd(rng, dtype):
    """Relative error in bits: -log2 of it."""
    x = no_one(rng, N, dtype)
    exact = [v.log() for v in balls(x)]
    parts = zip(balls(apply(log_dd_hi, x)), balls(apply(log_dd_lo, x)), exact, strict=True)
    error, at = largest(np.array([abs(float(((hi + lo - e) / e).mid())) for hi, lo, e in parts]), x)
    return float(-np.log2(error)), at


def scan():
    rows = []
    for dtype in (np.float64, np.float32):
        rng = np.random.default_rng(5)
        rows += [(name, dtype.__name__, *scan_map(name, rng, dtype)) for name in MAPS]
        rows += [(f.__name__[5:], dtype.__name__, *f(rng, dtype)) for f in (scan_pow, scan_cos_abs, scan_log_dd)]
    return rows


HEADER = """# Largest errors of the elementary functions

Made by scan_elementary.py: {n} points per function and type against ball arithmetic with 300 bits. Ranges in brackets
are those of float32. Errors in ulp, with two exceptions: `cos_abs` in units of 2^-53 (float32: 2^-24), absolute;
`log_dd` as -log2 of the relative error. "No FMA": the same code compiled for a processor without fused multiply-add.

| function | type | range | error | at | error, no FMA | at |
|---|---|---|---|---|---|---|
"""


def main():
    runs = []
    for processor in ({}, {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": ""}):
        environment = os.environ | processor | {"NUMBASTATS_CACHE": "0"}
        command = [sys.executable, __file__, "--json"]
        runs.append(json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout))
    lines = [
        f"| {name} | {dtype} | {RANGES[name]} | {a:.3f} | {at} | {b:.3f} | {bt} |"
        for (name, dtype, a, at), (*_, b, bt) in zip(*runs, strict=True)
    ]
    (HERE / "elementary_scan.md").write_text(HEADER.format(n=N) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(scan()))
    else:
        main()
