"""Scalar functions, callable from your own ``numba.njit`` and ``numba.cuda.jit`` code.

Every formula of the library stands here once: branch-free, float32 and float64, vectorised by LLVM in CPU loops, the same
source on CUDA.

Examples
--------
>>> import numba, numpy as np
>>> from numbastats.scalar import ndtri1
>>> @numba.njit
... def mean_quantile(u):
...     total = 0.0
...     for x in u:
...         total += ndtri1(x)
...     return total / u.size
>>> round(mean_quantile(np.array([0.5, 0.975])), 6)
0.979982
"""

from numbastats.scalar.normal import ndtri1, ndtri_accurate1, ndtri_log1, norm_from_exp1
from numbastats.scalar.tables import table_eval1

__all__ = ["ndtri1", "ndtri_accurate1", "ndtri_log1", "norm_from_exp1", "table_eval1"]
