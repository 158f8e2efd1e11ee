"""``entropy``: of the responsibilities, summed over the observations of each data set; on CUDA a block takes a data set."""

from __future__ import annotations

import math

import numba
import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind
from numbastats.mixture.kernels.latent import FORMULAS, NUMBERS, component_numbers, numbers_of
from numbastats.mixture.kernels.parameters import set_coefficients
from numbastats.mixture.kernels.passes import LANES, MAX_CUDA_K
from numbastats.mixture.kernels.prepare import lanes_total
from numbastats.mixture.kernels.records import STATISTICS_TYPE, ranges, series_type
from numbastats.scalar.elementary import exp_neg, log

_function = array_function(fastmath=(), host=False)
_numbers = _logit = _entropy = _component_numbers = _density = None  # bound to the loops below


@_function
def plain_numbers(P, par, family, shape, c):
    """What `plain_logit` takes of all components."""
    set_coefficients(P, par, family, shape, c)


@_function
def plain_logit(k, x, y, P):
    """Log density of component k with its weight, but for what all have in common."""
    return P[0, k] + P[1, k] * x + P[2, k] * y


@_function
def latent_numbers(P, par, family, shape, c):
    """What `latent_logit` takes of all components."""
    for k in range(par.shape[1]):
        _component_numbers(k, par, c, P)


@_function
def latent_logit(k, x, y, P):
    """The same of a family with a latent variable."""
    return P[7, k] + _density(x, numbers_of(P, k))


@_function
def entropy_of(t1, t2, w, P, z, lane, lanes):
    """The lane's share of the sum."""
    total = 0.0
    for i in range(lane, w.size, lanes):
        top, s = -math.inf, 0.0
        for k in range(z.size):
            z[k] = _logit(k, t1[i], t2[i], P)
            top = max(top, z[k])
        for k in range(z.size):
            z[k] = exp_neg(z[k] - top)
            s += z[k]
        for k in range(z.size):
            r = z[k] / s
            total -= w[i] * (r * log(max(r, 1e-300)))
    return total


def entropy_cpu(sets, info, family, shape, par, out):
    P, z = np.empty((NUMBERS, par.shape[2])), np.empty(par.shape[2])
    for d in range(out.size):
        a, b = sets.off[d], sets.off[d + 1]
        out[d] = math.nan
        if par[d, 0, 0] == par[d, 0, 0]:  # there is a fit
            _numbers(P, par[d], family, shape, info[d].centre)
            out[d] = _entropy(sets.t1[a:b], sets.t2[a:b], sets.w[a:b], P, z, 0, 1)


def entropy_cuda(sets, info, family, shape, par, out):
    P = cuda.shared.array((NUMBERS, MAX_CUDA_K), np.float64)
    room = cuda.shared.array(LANES, np.float64)  # the simulator tells arrays apart by their lines
    z, lane = cuda.local.array(MAX_CUDA_K, np.float64), cuda.threadIdx.x
    for d in range(cuda.blockIdx.x, out.size, cuda.gridDim.x):
        a, b = sets.off[d], sets.off[d + 1]
        there = par[d, 0, 0] == par[d, 0, 0]
        cuda.syncthreads()
        if lane == 0 and there:
            _numbers(P, par[d], family, shape, info[d].centre)
        cuda.syncthreads()
        own = 0.0
        if there and lane < LANES:
            own = _entropy(sets.t1[a:b], sets.t2[a:b], sets.w[a:b], P, z[: par.shape[2]], lane, LANES)
        own = lanes_total(own, room)
        if lane == 0:
            out[d] = own if there else math.nan


def _split_entropy(args, parts):
    sets, info, family, shape, par, out = args
    return [(sets._replace(off=sets.off[a:]), info[a:b], family, shape, par[a:b], out[a:b]) for a, b in ranges(out.size, parts)]


_f, _i = numba.types.float64, numba.types.int64


def _entropies(name, numbers, logit):
    return Kernel(
        f"mixture.entropy{name}",
        entropy_cpu,
        entropy_cuda,
        lambda T: [(series_type(_f), STATISTICS_TYPE[::1], _i, _f, _f[:, :, ::1], _f[::1])],
        dtypes=("float64",),
        split=_split_entropy,
        _numbers=numbers,
        _entropy=bind(entropy_of, _logit=logit),
    )


def _of_latent(name, formulas):
    numbers = bind(component_numbers, _coefficients=formulas["coefficients"])
    own = bind(latent_numbers, _component_numbers=numbers), bind(latent_logit, _density=formulas["density"])
    return _entropies(f"_{name}", *own)


ENTROPY = {0: _entropies("", plain_numbers, plain_logit)}
ENTROPY |= {code: _of_latent(name, formulas) for code, (name, _rows, formulas) in FORMULAS.items()}
"""By the codes of families with a latent variable; 0 is for the others."""
