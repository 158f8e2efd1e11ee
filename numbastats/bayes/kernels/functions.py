"""Elementwise functions of the probit model."""

from __future__ import annotations

from numbastats._core.kernel import Kernel
from numbastats.scalar import loops, normal, shrinkage, special

__all__ = ["ELEMENTWISE"]


def _map(name, f):
    return Kernel(f"bayes.{name}", loops.map1_cpu, loops.map1_cuda, lambda T: [(T[::1], T[::1])], _f=f)


ELEMENTWISE = {
    "log_ndtr": _map("log_ndtr", special.log_ndtr),
    "inv_mills": _map("inv_mills", shrinkage.inv_mills),
    "log_exe1": _map("log_exe1", shrinkage.log_exe1),
    "ndtr": _map("ndtr", special.ndtr),
    "ndtri": _map("ndtri", normal.ndtri1),
}
