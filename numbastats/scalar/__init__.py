"""Scalar functions, callable from your own ``numba.njit`` and ``numba.cuda.jit`` code.

Every formula of the library stands here once: branch-free, float32 and float64, vectorised by LLVM in CPU loops, the same
source on CUDA. Integers become float64. The functions stand in modules, here only those of the quantiles
and `in_step`, which makes loops over them faster:

``elementary``
    exp, log, pow, sin, cos, tanh and others that vectorise.
``special``
    erf, erfc, erfcx, gammaln, digamma, ndtr, log_ndtr, hazard.
``normal``
    erfinv, erfcinv and the quantiles.
``incomplete``
    gammainc, gammaincc, betainc, betaincc, their inverses, logarithms of Poisson and binomial probabilities.
``bessel``
    i0, i1, k0, k1, each also scaled; the exponential integrals exp1 and expi.
``samplers``, ``philox``
    Draws in your own loops, such as ``normal1(k0, k1, item, stream, loc, scale)``: the same for the same key words, item and
    stream, whichever thread asks.
``counts``
    poisson1 and binomial1 in the same manner; beta1 is in ``samplers``.
``hyperbolic``
    Bessel functions K, densities of Student's t and the generalised hyperbolic family.

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
>>> from numbastats.scalar import in_step
>>> @numba.njit
... def quantiles(u, out):
...     for i in range(u.size):
...         in_step()
...         out[i] = ndtri1(u[i])
>>> z = np.empty(1000)
>>> quantiles(np.full(1000, 0.975), z)
>>> float(z[-1].round(6))
1.959964
>>> from numbastats.scalar.elementary import exp
>>> from numbastats.scalar.samplers import normal1
>>> @numba.njit(parallel=True)
... def mean_lognormal(k0, k1, n):
...     total = 0.0
...     for i in numba.prange(n):
...         total += exp(normal1(k0, k1, i, 0, 0.0, 1.0))
...     return total / n
>>> bool(abs(mean_lognormal(1, 2, 100_000) - np.exp(0.5)) < 0.03)
True
>>> from numbastats.scalar.incomplete import gammaincc
>>> @numba.njit
... def chi_square_sf(x, df):
...     return gammaincc(0.5 * df, 0.5 * x)
>>> round(chi_square_sf(3.84, 1.0), 4)
0.05
"""

from numbastats.scalar.bits import in_step
from numbastats.scalar.normal import ndtri1, ndtri_accurate1, ndtri_log1, norm_from_exp1
from numbastats.scalar.tables import table_eval1

__all__ = ["in_step", "ndtri1", "ndtri_accurate1", "ndtri_log1", "norm_from_exp1", "table_eval1"]


def __dir__():
    return sorted(__all__)
