"""Log densities, responsibilities and labels of rows."""

from __future__ import annotations

import math

import numba

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function
from numbastats.mixture.multivariate.kernels.blocks import each, in_blocks, meet
from numbastats.mixture.multivariate.kernels.memory import lanes_of, memory_type, new_memory
from numbastats.mixture.multivariate.kernels.passes import FAST, LANES, Point, log_terms, responsible
from numbastats.mixture.multivariate.kernels.records import ranges
from numbastats.scalar.elementary import exp, log

_function = array_function(fastmath=FAST, host=False)
_item = array_function(fastmath=FAST, host=False, allocates=True)
_scores = None  # bound to the loop on a GPU


@_function
def _missing(x, j):
    """Whether a row has a missing value."""
    missing = False
    for i in range(x.shape[1]):
        missing = missing or x[j, i] != x[j, i]
    return missing


@_item
def scores_one(tile, x, point, shape, shift, logs, density, resp, labels, memory, team):
    """The scores of a tile of rows."""
    K, d, columns = point.means.shape[0], point.means.shape[1], x.shape[1]
    lanes, part, lo = lanes_of(memory, team), memory.flat[team], tile * LANES
    half, c = 0.5 * columns * math.log(2.0 * math.pi), min(LANES, x.shape[0] - lo)
    for i in range(columns):
        half -= math.log(abs(shift[1, i]))
    for i in range(d):
        for j in each(c):
            part[i * c + j] = (x[lo + j, i] - shift[0, i]) * shift[1, i] if i < columns else 0.0
    log_terms(c, part, point, shape, lanes)
    for j in each(labels[lo : lo + c].size):
        best, top = -1, -math.inf
        for k in range(K):
            if lanes.logs[k, j] > top:
                best, top = k, lanes.logs[k, j]
        labels[lo + j] = -1 if _missing(x, lo + j) else best
    ones = lanes.four[0]
    for j in each(c):
        ones[j] = 1.0
    if density.size > 0 or resp.size > 0:
        responsible(c, ones, lanes)
    for j in each(density[lo : lo + c].size):
        value = lanes.top[j] - log(lanes.sum[j]) - half
        density[lo + j] = math.nan if _missing(x, lo + j) else value if logs > 0 else exp(value)
    for j in each(resp[lo : lo + c].shape[0]):
        missing = _missing(x, lo + j)
        for k in range(K):
            resp[lo + j, k] = math.nan if missing else lanes.logs[k, j]
    meet()


def scores_cpu(x, point, shape, shift, logs, density, resp, labels, memory):
    """Of n rows in their own layout (n, d): (log) densities, responsibilities, most probable components.

    Outputs without rows are left out; of densities `logs` asks for logarithms. `shift` (2, d): what is subtracted from the
    columns, and what they are multiplied by. Rows with missing values have NaN and -1.
    """
    memory = new_memory(1, point.means.shape[0], point.means.shape[1], 0, 0, 0)
    for tile in range((x.shape[0] + LANES - 1) // LANES):
        scores_one(tile, x, point, shape, shift, logs, density, resp, labels, memory, 0)


def scores_cuda(x, point, shape, shift, logs, density, resp, labels, memory):
    teams, team, tiles = min(cuda.gridDim.x, memory.work.shape[0]), cuda.blockIdx.x, (x.shape[0] + LANES - 1) // LANES
    for tile in range(team if team < teams else tiles, tiles, teams):
        _scores(tile, x, point, shape, shift, logs, density, resp, labels, memory, team)


def _split_scores(args, parts):
    x, point, shape, shift, logs, density, resp, labels, memory = args
    return [(x[a:b], point, shape, shift, logs, density[a:b], resp[a:b], labels[a:b], memory) for a, b in ranges(len(x), parts)]


_f, _i = numba.types.float64, numba.types.int64
one_point = numba.types.NamedTuple([_f[::1], _f[:, ::1], _f[:, :, ::1], _f[:, :, ::1], _f[::1]], Point)
SCORES = Kernel(
    "mixture.multivariate.scores",
    scores_cpu,
    scores_cuda,
    lambda T: [(_f[:, ::1], one_point, _i, _f[:, ::1], _i, _f[::1], _f[:, ::1], _i[::1], memory_type)],
    dtypes=("float64",),
    fastmath=FAST,
    split=_split_scores,
    cuda_only={"_scores": in_blocks(scores_one)},
)
