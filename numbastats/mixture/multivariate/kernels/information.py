"""``information``: what standard errors of fits are made of; ``entropy``: of the responsibilities, for the criterion ICL."""

from __future__ import annotations

import numba

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.multivariate.kernels.blocks import each, in_blocks, meet, total
from numbastats.mixture.multivariate.kernels.memory import features_of, lanes_of, memory_type, new_memory, newton_of, sums_of
from numbastats.mixture.multivariate.kernels.newton import counts, information_sums, places
from numbastats.mixture.multivariate.kernels.passes import FAST, LANES, log_terms, point_of, responsible, rows_of
from numbastats.mixture.multivariate.kernels.records import batch_type, facts_of, model_type, point_type, ranges
from numbastats.scalar.bits import in_step
from numbastats.scalar.elementary import log

_function = array_function(fastmath=("contract",), host=False)
_passing = array_function(fastmath=FAST, host=False)
_item = array_function(fastmath=("contract",), host=False, allocates=True)
_information = _entropy = None  # bound to the loops on a GPU


@_item
def information_one(item, rows, owner, model, points, matrix, scale, memory, team):
    """Information of one problem."""
    s, p = owner[item], scale.shape[1]
    x, w = rows_of(rows, s)
    lanes, sums, features = lanes_of(memory, team), sums_of(memory, team), features_of(memory, team)
    newton, here = newton_of(memory, team, p), point_of(points, item)
    places(points.means.shape[1], model, rows.columns, features.place)
    information_sums(x, w, here, model, facts_of(rows, s), lanes, features, newton, sums, memory.work[team])
    for i in each(p):
        scale[item, i] = newton.scale[0, i]
        for j in range(p):
            matrix[item, i, j] = newton.matrix[0, i, j]
    meet()


def information_cpu(rows, owner, model, points, matrix, scale, memory):
    """Information (M, P, P), its lower triangle in units of the complete data's, whose roots are `scale` (M, P)."""
    K, filled = points.means.shape[1], points.means.shape[2]
    _own, q, p = counts(K, model, rows.columns)
    memory = new_memory(1, K, filled, q, p, 0)
    for item in range(owner.size):
        information_one(item, rows, owner, model, points, matrix, scale, memory, 0)


def information_cuda(rows, owner, model, points, matrix, scale, memory):
    teams, team = min(cuda.gridDim.x, memory.work.shape[0]), cuda.blockIdx.x
    for item in range(team if team < teams else owner.size, owner.size, teams):
        _information(item, rows, owner, model, points, matrix, scale, memory, team)


@_passing
def _uncertainty(c, w, r):
    """Sum of w r log(1/r)."""
    s = 0.0
    for j in each(c):
        in_step()
        v = r[j] if r[j] > 1e-300 else 1e-300
        s -= w[j] * v * log(v)
    return s


@_item
def entropy_one(item, rows, owner, model, points, out, memory, team):
    """The sum for one problem."""
    K, filled = points.means.shape[1], points.means.shape[2]
    x, w = rows_of(rows, owner[item])
    lanes, here, entropy = lanes_of(memory, team), point_of(points, item), 0.0
    for q in range(0, w.size, LANES):
        c = min(LANES, w.size - q)
        weights = w[q : q + c]
        log_terms(c, x[q * filled : (q + c) * filled], here, model.shape, lanes)
        responsible(c, weights, lanes)
        for k in range(K):
            entropy += _uncertainty(c, weights, lanes.logs[k])
    entropy = total(entropy, lanes.share)
    for _ in each(1):
        out[item] = entropy


def entropy_cpu(rows, owner, model, points, out, memory):
    """Sum over the rows of the entropy of their responsibilities."""
    memory = new_memory(1, points.means.shape[1], points.means.shape[2], 0, 0, 0)
    for item in range(owner.size):
        entropy_one(item, rows, owner, model, points, out, memory, 0)


def entropy_cuda(rows, owner, model, points, out, memory):
    teams, team = min(cuda.gridDim.x, memory.work.shape[0]), cuda.blockIdx.x
    for item in range(team if team < teams else owner.size, owner.size, teams):
        _entropy(item, rows, owner, model, points, out, memory, team)


def _split(args, parts):
    rows, owner, model, points, *outs, memory = args
    return [
        (rows, owner[a:b], model, type(points)(*(v[a:b] for v in points)), *(out[a:b] for out in outs), memory)
        for a, b in ranges(owner.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
_given = batch_type(_f), _i[::1], model_type, point_type
INFORMATION = Kernel(
    "mixture.multivariate.information",
    information_cpu,
    information_cuda,
    lambda T: [(*_given, _f[:, :, ::1], _f[:, ::1], memory_type)],
    dtypes=("float64",),
    fastmath=FAST,
    split=_split,
    cuda_only={"_information": in_blocks(information_one)},
)
ENTROPY = Kernel(
    "mixture.multivariate.entropy",
    entropy_cpu,
    entropy_cuda,
    lambda T: [(*_given, _f[::1], memory_type)],
    dtypes=("float64",),
    fastmath=FAST,
    split=_split,
    cuda_only={"_entropy": in_blocks(entropy_one)},
)
