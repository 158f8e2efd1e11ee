"""Benchmarks for airspeed velocity: ``cd asv_benchmarks && asv machine --yes && asv run --quick --python=same``.

Results are kept with ``asv run --python=same --set-commit-hash=$(git rev-parse HEAD)``. Ratios to peers are measured in one
process, alternating (`common.interleave`), because two processes on a laptop differ by more than the thing measured.
"""
