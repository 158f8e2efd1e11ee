"""Write numbastats/stable/mcculloch.py: the quantiles behind McCulloch's estimator, by our own quantile function.

Run: PYTHONPATH=. python tests/reference/make_mcculloch.py      (less than a second once the kernels are compiled)
"""

from pathlib import Path

import numpy as np

import numbastats as ns

TARGET = Path(__file__).parents[2] / "numbastats" / "stable" / "mcculloch.py"
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)
ALPHAS = np.concatenate([np.arange(0.5, 1.0, 0.05), np.arange(1.0, 1.9, 0.1), [1.9, 1.95, 1.98]])
BETAS = np.linspace(0.0, 1.0, 11)

HEAD = '''"""Quantiles of standard stable distributions (S0) on a grid of (alpha, beta), for McCulloch's estimator.

tests/reference/make_mcculloch.py writes this file; a test compares it with `stable.ppf`, which would take a third of a second
for it, and the compiler.
"""

from __future__ import annotations

__all__ = []

PROBABILITIES = {probabilities}
ALPHAS = {alphas}
BETAS = {betas}

# a line for each beta, beginning with 0, of every alpha in turn
QUANTILES = (
{rows})
'''


def main():
    numbers = lambda values: f"({', '.join(repr(float(v)) for v in values)})"  # noqa: E731
    rows = [f"    {numbers(ns.stable.ppf(PROBABILITIES, a, b, workers=1))},\n" for a in ALPHAS for b in BETAS]
    TARGET.write_text(
        HEAD.format(probabilities=PROBABILITIES, alphas=numbers(ALPHAS), betas=numbers(BETAS), rows="".join(rows)),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
