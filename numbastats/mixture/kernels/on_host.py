"""What the host calls to drive the passes over a large data set, and for constants of the log-likelihood."""

from __future__ import annotations

import numba

from numbastats._core.kernel import HostLoop
from numbastats.mixture.kernels import climb, parameters, passes
from numbastats.scalar import mixture as fam

__all__ = ["advance", "begin", "finish", "gamma_terms", "log_base", "scatter", "set_coefficients"]

_f, _i, _b = numba.types.float64, numba.types.int64, numba.types.boolean
_f1, _f2, _f3 = _f[::1], _f[:, ::1], _f[:, :, ::1]


def _loop(function, *signature):
    return HostLoop(f"mixture.{function.__name__}", getattr(function, "py_func", function), [signature], parallel=False)


advance = _loop(climb.advance, _f1, _f3, _f2, _f3, _f2, _f2, _f, _i, _f1, _f1)
begin = _loop(climb.begin, _f1, _f1)
finish = _loop(climb.finish, _f1, _f3, _f3, _f2, _f1, _f2)
scatter = _loop(passes.scatter, _f1, _f2, _f2, _b)
set_coefficients = _loop(parameters.set_coefficients, _f2, _f2, _i, _f, _f)
gamma_terms = HostLoop("mixture.gamma_terms", fam.gamma_terms, [(_f,)], parallel=False)
log_base = HostLoop("mixture.log_base", fam.log_base, [(_i, _f)], parallel=False)
