"""Benchmarks for airspeed velocity: over commits, or of what is installed (README.md beside this folder).

Ratios to peers are measured in one process, alternating (`common.interleave`), because two processes on a laptop differ by more
than the thing measured. The same benchmarks run against old commits: what a commit may lack is imported where it is used, not at
the top of a module. A list of parameters never depends on what is installed, as asv takes a case by its place in the list.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_name, "1")  # peers have one thread too, where the tables do not say otherwise; before NumPy is loaded
os.environ.setdefault("NUMBASTATS_MESSAGES", "0")  # set-ups compile: no line about it for each parameter
