"""What the host calls to drive the passes over a large data set, and for constants of the log-likelihood."""

from __future__ import annotations

import numba

from numbastats._core.kernel import HostLoop
from numbastats.mixture.kernels import climb, parameters, passes
from numbastats.mixture.kernels.records import STATE_TYPE, STATISTICS_TYPE, settings_type
from numbastats.scalar import mixture as fam

__all__ = ["accelerate_one", "gamma_terms", "scatter", "set_coefficients"]

_f, _i, _b = numba.types.float64, numba.types.int64, numba.types.boolean
_f1, _f2, _f3 = _f[::1], _f[:, ::1], _f[:, :, ::1]


def _loop(function, *signature, name=None):
    return HostLoop(f"mixture.{name or function.__name__}", function.py_func, [signature], parallel=False)


_types = STATE_TYPE, _f3, _f2, _f3, _f2, _f2, _f2, _f, STATISTICS_TYPE, settings_type
accelerate_one = _loop(climb.accelerate, *_types, name="accelerate_one")  # the kernel's body, for one data set
scatter = _loop(passes.scatter, _f1, _f2, _f2, _b)
set_coefficients = _loop(parameters.set_coefficients, _f2, _f2, _i, _f, _f)  # in C order: for another it is compiled anew
gamma_terms = HostLoop("mixture.gamma_terms", fam.gamma_terms, [(_f,)], parallel=False)
