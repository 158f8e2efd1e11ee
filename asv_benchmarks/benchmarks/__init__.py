"""Benchmarks for airspeed velocity: ``cd asv_benchmarks && asv machine --yes && asv run --quick --python=same``.

Results are kept with ``asv run --python=same --set-commit-hash=$(git rev-parse HEAD)``. Ratios to peers are measured in one
process, alternating (`common.interleave`), because two processes on a laptop differ by more than the thing measured.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_name, "1")  # peers have one thread too, where the tables do not say otherwise; before NumPy is loaded
