"""Scan the normal quantile on 1e5 points per method against arbitrary precision; writes quantile_scan.md beside this file.

Needs python-flint: ``python tests/reference/scan_quantile.py``. The exact quantile comes from the computed one by a Newton step
on the logarithm of the tail probability in 250-bit ball arithmetic: its error is the square of the computed one's.
float32 results are compared with the float64 "accurate" method, whose error is 2^-29 of a float32 ulp.
"""

from __future__ import annotations

import platform
from datetime import date
from pathlib import Path

import flint
import numba
import numpy as np

import numbastats as ns

N = 100_000
flint.ctx.prec = 250
ROOT2 = flint.arb(2).sqrt()
LOG2 = flint.arb(2).log()


def probabilities(rng):
    """Uniform, both tails down to subnormals, and close to 1/2."""
    log_tail = -rng.uniform(0, 745, N // 4)
    tail = np.maximum(np.exp(np.maximum(log_tail, -708)) * np.exp(np.minimum(log_tail + 708, 0)), 5e-324)
    upper = 1 - 2.0 ** -rng.uniform(1, 53, N // 8)
    half = 0.5 + rng.choice([-1, 1], N // 8) * 2.0 ** -rng.uniform(2, 52, N // 8)
    return np.concatenate([rng.random(N // 2) + 2.0**-60, tail, upper, half])


def newton(z, log_tail):
    """The exact z > 0 with log(1 - Phi(z)) = log_tail from an approximate one."""
    z = flint.arb(z)
    tail = (z / ROOT2).erfc() / 2
    density = (-z * z / 2).exp() / (2 * flint.arb.pi()).sqrt()
    return z + (tail.log() - log_tail) * tail / density


def log_tail_of(u):
    """Log of min(u, 1-u), exact input."""
    u = flint.arb(u)
    return u.log() if u < flint.arb(0.5) else (1 - u).log()


def log_tail_of_log(lp):
    """Log of min(p, 1-p) for p = exp(lp)."""
    lp = flint.arb(lp)
    return lp if lp < -LOG2 else (-lp.expm1()).log()


def errors(x, z, log_tail):
    """Largest error in ulp, relative, and where."""
    worst = (0.0, 0.0, 0.0)
    for xi, zi in zip(x.tolist(), z.tolist(), strict=True):
        if zi == 0.0:
            continue
        exact = newton(abs(zi), log_tail(xi))
        difference = abs(float((flint.arb(abs(zi)) - exact).mid()))
        ulp = difference / float(np.spacing(float(exact.mid())))
        if ulp > worst[0]:
            worst = (ulp, difference / abs(zi), xi)
    return worst


def main():
    """Scan, print and write the table."""
    rng = np.random.default_rng(2026)
    u = probabilities(rng)
    lp = np.concatenate([np.log(u[u < 0.4]), -(10.0 ** rng.uniform(-300, 0, N // 4)), -(10.0 ** rng.uniform(0, 6, N // 4))])
    v = np.concatenate([rng.exponential(size=N // 2), 10.0 ** rng.uniform(-15, 4, N // 2)])
    rows = []
    cases = [(f"ndtri {m}", u, lambda x, m=m: ns.quantile.ndtri(x, method=m), log_tail_of) for m in ("fast", "accurate")]
    for m in ("exp1313", "exp1313_printed", "t2"):
        near = u[np.minimum(u, 1 - u) >= 2.9e-19]
        cases.append((f"ndtri {m}, t >= 2.9e-19", near, lambda x, m=m: ns.quantile.ndtri(x, method=m), log_tail_of))
    cases.append(("ndtri log=True", lp, lambda x: ns.quantile.ndtri(x, log=True), log_tail_of_log))
    cases.append(("norm_from_exponential", v, ns.quantile.norm_from_exponential, lambda x: -flint.arb(x) - LOG2))
    for name, x, function, tail in cases:
        ulp, relative, where = errors(x, function(x), tail)
        rows.append(f"| {name} | float64 | {x.size} | {ulp:.2f} | {relative:.2e} | {where!r} |")
        print(rows[-1], flush=True)
    for name, x, options in (
        ("ndtri fast", u, {}),
        ("ndtri accurate", u, {"method": "accurate"}),
        ("ndtri exp56, t >= 7e-12", u[np.minimum(u, 1 - u) >= 7e-12], {"method": "exp56"}),
        ("ndtri log=True", lp, {"log": True}),
    ):
        x = x.astype(np.float32)
        x = x[(x < 0) & (x > -np.inf)] if options.get("log") else x[(x > 0) & (x < 1)]
        exact = ns.quantile.ndtri(x.astype(float), **({"log": True} if options.get("log") else {"method": "accurate"}))
        got = ns.quantile.ndtri(x, **options)
        keep = exact != 0
        ulp = np.abs(got[keep] - exact[keep]) / np.spacing(np.abs(exact[keep]).astype(np.float32))
        worst = int(np.argmax(ulp))
        relative = abs(got[keep][worst] / exact[keep][worst] - 1)
        rows.append(f"| {name} | float32 | {x.size} | {ulp[worst]:.2f} | {relative:.2e} | {float(x[keep][worst])!r} |")
        print(rows[-1], flush=True)
    head = (
        "# Errors of the normal quantile\n\n"
        f"Made by scan_quantile.py on {date.today()}, numba {numba.__version__}, NumPy {np.__version__}, {platform.machine()}.\n"
        "Inputs: half uniform, a quarter log-uniform down to 5e-324, the rest close to 1 and to 1/2.\n\n"
        "| function | dtype | points | max ulp | its relative error | at |\n|---|---|---|---|---|---|\n"
    )
    Path(__file__).with_name("quantile_scan.md").write_text(head + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
