"""``spread``: sums of squares of the rows' scores, which stand within the sandwich of robust standard errors."""

from __future__ import annotations

import numba

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.multivariate.kernels.blocks import each, in_blocks, meet
from numbastats.mixture.multivariate.kernels.memory import features_of, lanes_of, memory_type, new_memory
from numbastats.mixture.multivariate.kernels.newton import counts, places, score_squares
from numbastats.mixture.multivariate.kernels.passes import FAST, point_of, rows_of
from numbastats.mixture.multivariate.kernels.records import batch_type, facts_of, model_type, point_type, ranges

__all__ = ["SPREAD"]

_item = array_function(fastmath=("contract",), host=False, allocates=True)
_spread = None  # bound to the loops on a GPU


@_item
def spread_one(item, rows, owner, model, points, matrix, memory, team):
    """The sums of one problem."""
    s, p = owner[item], matrix.shape[1]
    x, w = rows_of(rows, s)
    features, here = features_of(memory, team), point_of(points, item)
    places(points.means.shape[1], model, rows.columns, features.place)
    score_squares(x, w, here, model, facts_of(rows, s), lanes_of(memory, team), features)
    for i in each(p):
        for j in range(i + 1):
            matrix[item, i, j] = features.cross[i, j]
    meet()


def spread_cpu(rows, owner, model, points, matrix, memory):
    """Lower triangles of the sums (M, P, P) of w v v', v the scores of a row in local coordinates."""
    K, filled = points.means.shape[1], points.means.shape[2]
    _own, q, p = counts(K, model, rows.columns)
    memory = new_memory(1, K, filled, q, p, 0)
    for item in range(owner.size):
        spread_one(item, rows, owner, model, points, matrix, memory, 0)


def spread_cuda(rows, owner, model, points, matrix, memory):
    teams, team = min(cuda.gridDim.x, memory.work.shape[0]), cuda.blockIdx.x
    for item in range(team if team < teams else owner.size, owner.size, teams):
        _spread(item, rows, owner, model, points, matrix, memory, team)


def _split(args, parts):
    rows, owner, model, points, out, memory = args
    return [
        (rows, owner[a:b], model, type(points)(*(v[a:b] for v in points)), out[a:b], memory) for a, b in ranges(owner.size, parts)
    ]


_f, _i = numba.types.float64, numba.types.int64
SPREAD = Kernel(
    "mixture.multivariate.spread",
    spread_cpu,
    spread_cuda,
    lambda T: [(batch_type(_f), _i[::1], model_type, point_type, _f[:, :, ::1], memory_type)],
    dtypes=("float64",),
    fastmath=FAST,
    split=_split,
    cuda_only={"_spread": in_blocks(spread_one)},
)
