"""From arranged data to optima: starts on compressed cells, the best few to a certified optimum, the choice among them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numba import cuda

from numbastats._core import dispatch
from numbastats._core.compile import SIMULATED
from numbastats._core.parallel import in_threads, worker_count
from numbastats._core.random import Purpose, stream_word
from numbastats.mixture import climbing as c
from numbastats.mixture import kernels as k
from numbastats.mixture import starting
from numbastats.mixture.families import excess, poisson_base
from numbastats.mixture.passes import LANES
from numbastats.scalar import families as fam

__all__ = ["Options", "Prepared", "Result", "fit_k", "prepare"]

LAYOUT = "block"  # of the starts on CUDA: "block" for each start, or "queue" for each data set, a warp per start
LARGE = 4 * k.CHUNK  # observations from which the passes over one data set are parallel and the host drives them
KINDS = {
    "portfolio": (starting.SUBSET, starting.QUANTILE_CUTS, starting.KMEANS_CUTS),
    "subset": (starting.SUBSET,),
    "quantile": (starting.QUANTILE_CUTS,),
    "kmeans++": (starting.KMEANS_CUTS,),
}
PIECE = 2e8  # nanoseconds that a piece of the work may take on the CPU, by estimate
METHODS = {"newton": c.NEWTON, "squarem": c.SQUAREM, "em": c.EM, "bulkem": c.BULKEM}
INADMISSIBLE, TOO_FEW = 4, 5


@dataclasses.dataclass(frozen=True)
class Options:
    """What a fit is asked for; `n_init` None means 30, 60, 100 starts for up to 2, 3, more components."""

    method: str
    starts: str
    n_init: int | None
    tol: float
    max_iter: int
    prior_n: float
    prior_d: float | None
    prior_a: float
    min_sd_ratio: float
    min_count: float
    precision: str
    key: tuple
    device: str
    workers: object
    halt: list = dataclasses.field(default_factory=list, compare=False)  # no longer empty once the call was interrupted

    def n_starts(self, K):
        """Starts per data set."""
        if K == 1:
            return 1
        return self.n_init if self.n_init is not None else 30 if K == 2 else 60 if K == 3 else 100

    def vector(self, family, unit):
        """Options of the climb kernel, double precision."""
        opt = np.zeros(c.OPTIONS)
        opt[c.METHOD], opt[c.TOL], opt[c.MAX_PASSES] = METHODS[self.method], self.tol, self.max_iter
        opt[c.PRIOR_N], opt[c.PRIOR_A], opt[c.SHAPE], opt[c.UNIT] = self.prior_n, self.prior_a, family.shape, unit
        opt[c.WARM_PASSES] = 5
        opt[c.NOISE] = 1e-12
        opt[c.DECREMENT_TOL] = self.tol if self.method == "newton" else 1e-3
        return opt


def run(kernel, args, n, options, written, threads=LANES, block=LANES, cost=1e4, most=None):
    """Launch over n problems of so many CUDA threads each; arrays in `written` are read and written.

    A problem takes `cost` ns of one CPU core, `most` at worst. On the CPU long work is done in pieces, between which Ctrl-C is
    answered, also where this runs in a thread of the caller's.
    """
    if options.device == "cpu" and n * (most or cost) <= PIECE:
        dispatch.launch(kernel, args, n, device="cpu", workers=options.workers, cost=cost)
        return
    if options.device == "cpu":

        def work(*part):
            if options.halt:
                raise RuntimeError("the call that this is a part of was interrupted")
            kernel.serial(*part)

        threads = worker_count(options.workers)
        pieces = max(8 * threads, math.ceil(n * (most or cost) / PIECE))
        in_threads(work, kernel.parallel.split(args, min(n, pieces)), threads)
        return
    staged = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args]
    dispatch.launch(kernel, staged, n * threads, device="cuda", outputs=(), threads=block)
    for i in written:
        if isinstance(args[i], np.ndarray):
            staged[i].copy_to_host(args[i])


@dataclasses.dataclass
class Prepared:
    """Statistics of a chunk of data sets, on the device that will use them; `info` and `lengths` on the host."""

    family: object
    t1: object
    t2: object
    w: object
    off: np.ndarray
    u1: object
    u2: object
    uw: object
    cell: np.ndarray
    q: object
    info: np.ndarray
    ids: np.ndarray
    unit: bool
    constant: np.ndarray
    factor: np.ndarray

    @property
    def lengths(self):
        """Observations per data set."""
        return np.diff(self.off)


def cell_sizes(lengths, compress):
    """Consecutive observations that share a cell: about 256 cells for small sets, 4096 for large ones."""
    m = np.where(lengths < 512, 1, np.where(lengths < 100_000, np.rint(lengths / 256), lengths // 4096))
    return np.maximum(1, m).astype(np.int64) if compress else np.ones(lengths.size, np.int64)


def spaced(x):
    """x in memory of at least 512 bytes: loops in vectors take nearer arrays for overlapping, and add up one by one instead."""
    return x if x.size >= 64 else np.concatenate([x, np.zeros(64)])[: x.size]


def prepare(data, lo, hi, ids, family, options, compress) -> Prepared:
    """Run the prepare kernel on data sets lo to hi."""
    a, b = data.off[lo], data.off[hi]
    y, w, off = spaced(data.y[a:b]), spaced(data.w[a:b]), data.off[lo : hi + 1] - a
    n, D = y.size, hi - lo
    m = cell_sizes(np.diff(off), compress)
    cell = np.concatenate([[0], np.cumsum(-(-np.diff(off) // m))]).astype(np.int64)
    t1, t2 = spaced(np.empty(n)), spaced(np.empty(n))
    whole = cell[-1] == n  # every cell is an observation
    u1, u2, uw = (t1, t2, w) if whole else (spaced(np.empty(cell[-1])) for _ in range(3))
    q, info = np.empty((3, max(cell[-1], 64))), np.zeros((D, c.INFO))
    args = [y, w, off, cell, data.power[lo:hi], m, family.base, float(family.shape), t1, t2, u1, u2, uw, q, info]
    if D:
        cost = 10.0 * n / D
        run(k.PREPARE, args, D, options, (8, 9, 10, 11, 12, 13, 14), threads=1, cost=cost)
    if options.prior_d is None:  # the spread of the whole data set; a component's share is set by K
        info[:, c.PRIOR_D] = 1e6 * info[:, c.FLOOR]
        if family.base == fam.GAMMA:
            info[:, c.PRIOR_D] = [fam.gamma_terms(1.0 / v)[0] if v > 0 else 0.0 for v in info[:, c.PRIOR_D]]
    else:
        scale = {fam.INVERSE_GAUSSIAN: 1.0, fam.GAUSSIAN: -2.0}.get(family.base, 0.0)
        info[:, c.PRIOR_D] = options.prior_d * (info[:, c.SCALE] / data.factor[lo:hi]) ** scale
    prepared = Prepared(
        family,
        t1,
        t2,
        w,
        off,
        u1,
        u2,
        uw,
        cell,
        q,
        info,
        ids[lo:hi].astype(np.uint32),
        data.unit,
        np.zeros(D),
        data.factor[lo:hi],
    )
    prepared.constant = _constant(prepared, y, w)
    if options.device == "cuda":
        for name in ("t1", "t2", "w", "u1", "u2", "uw", "q"):
            setattr(prepared, name, cuda.to_device(getattr(prepared, name)))
    return prepared


def _constant(p, y, w):
    """What the canonical log-likelihood of the scaled data lacks: sum of w h(x)."""
    family, info = p.family, p.info
    mass, logs, scale = info[:, c.MASS], info[:, c.LOGS], info[:, c.SCALE]
    if family.closed:  # the sum of logarithms cancels; a zero would make it infinite
        logs = np.zeros(logs.shape)
    power, add = fam.log_base(family.base, float(family.shape))
    j0, j1, j2 = family.jacobian
    with np.errstate(divide="ignore", invalid="ignore"):
        log_unit = np.log(scale) - np.log(p.factor)
    total = mass * (add + j0)
    if not family.discrete:
        total = total - mass * log_unit
    if power != 0.0 or j1 != 0.0:
        total = total + (power + j1) * logs + j1 * mass * log_unit
    if j2 != 0.0:
        total = total + j2 * (mass * info[:, c.SHIFT] + scale * (info[:, c.CENTRE] * mass + info[:, c.SUM1])) / p.factor
    # the coefficients of these are relative to the law of the mean
    centre = info[:, c.CENTRE]
    if family.base == fam.FIXED_GAMMA:
        a = family.shape
        total = total + mass * fam.gamma_terms(a)[2]
        if a <= 16.0:
            with np.errstate(divide="ignore", invalid="ignore"):
                return total - a * (info[:, c.SUM1] / centre - (logs - mass * np.log(centre)))
        for d in np.flatnonzero(mass > 0.0):
            part, mean = slice(p.off[d], p.off[d + 1]), centre[d] * scale[d] / p.factor[d]
            total[d] -= a * np.dot(w[part], excess(mean, y[part]) / mean)
    if family.base == fam.POISSON and y.size:
        new = np.concatenate([[True], np.diff(y) != 0.0])  # equal counts are neighbours
        new[p.off[:-1][p.off[:-1] < y.size]] = True
        first = np.flatnonzero(new)
        owner = np.searchsorted(p.off, first, side="right") - 1
        logs = np.add.reduceat(w, first) * poisson_base(y[first], np.maximum(centre[owner], 1e-300))
        total = total + np.bincount(owner, logs, centre.size)
    return total


def _prior_units(p, options):
    """What a component's log prior of the scaled dispersion lacks: -(n0/2) log of the dispersion's unit."""
    degree = {fam.INVERSE_GAUSSIAN: -1.0, fam.GAUSSIAN: 2.0}.get(p.family.base, 0.0)
    if options.prior_n * degree == 0.0:
        return np.zeros(p.factor.shape)
    return -0.5 * options.prior_n * degree * (np.log(p.info[:, c.SCALE]) - np.log(p.factor))


@dataclasses.dataclass
class Result:
    """Outcome for one number of components, one row per data set, in scaled units until `in_units`."""

    par: np.ndarray  # (D, 3, K)
    loglik: np.ndarray
    objective: np.ndarray
    decrement: np.ndarray
    min_eig: np.ndarray
    status: np.ndarray
    n_iter: np.ndarray
    n_passes: np.ndarray
    hits: np.ndarray
    runner_up: np.ndarray
    n_singular: np.ndarray
    hess: np.ndarray
    starts: tuple | None = None


def fit_k(p, K, options, given=None, keep_starts=False) -> Result:
    """Best optimum with K components for every data set of a chunk."""
    D, family = p.info.shape[0], p.family
    q = 2 if family.two else 1
    newton = options.method == "newton"
    R = options.n_starts(K) if given is None else given.shape[1]
    enough = p.info[:, c.DISTINCT] >= (q + 1) * K - 1
    if options.prior_d is None:
        info = p.info.copy()
        info[:, c.PRIOR_D] /= K * K if family.base != fam.GAMMA else 1.0
    else:
        info = p.info
    par = np.ones((D, R, 3, K)) if given is None else np.ascontiguousarray(given, np.float64)
    start_ll, flag = np.full((D, R), -math.inf), np.zeros((D, R), np.int64)
    if D and R:
        _starts(p, info, K, R, par, start_ll, flag, options, given is not None)
    first = par.copy() if keep_starts or options.method == "bulkem" else None
    usable = (flag == 0) & enough[:, None]
    climbs = []
    while not climbs or usable.any():  # the next best of data sets whose climbs have all collapsed
        if newton:
            owner, start, covered = _best_few(start_ll, par, usable, min(1 if K == 1 else 3 if K == 2 else 5, R))
        else:
            owner, start = np.nonzero(usable)
            covered, usable = np.ones(owner.size, np.int64), np.zeros_like(usable)
        points, outcome, hess = climb(p, info, owner, par[owner, start], options)
        climbs.append((owner, start, covered, points, outcome, hess))
        usable[owner[(outcome[:, 4] != c.DEGENERATE) & np.isfinite(outcome[:, 0])]] = False
    owner, start, covered, points, outcome, hess = map(np.concatenate, zip(*climbs, strict=True))
    result = _choose(p, K, q, owner, points, outcome, hess, covered, options, enough)
    result.n_singular += ((flag != 0) & enough[:, None]).sum(axis=1)
    if first is not None:
        result.starts = (first, owner, start, points, outcome)
    return result


def _starts(p, info, K, R, par, ll, flag, options, given):
    kinds = (starting.GIVEN,) if given else (starting.QUANTILE_CUTS,) if K == 1 else KINDS[options.starts]
    row = np.resize(np.array(kinds, np.int64), R)
    family, shape = p.family.base, float(p.family.shape)
    stream = stream_word(Purpose.MIXTURE_START, min(K, 255) + 256 * family)
    passes = 10 if options.method == "newton" and K > 1 else 0

    def launch(kernel, data, kinds, passes):
        args = [*data, p.cell, p.q, info, p.ids, kinds, family, shape, options.prior_n, options.prior_a, passes, *options.key]
        args += [stream, np.uint32(0), par, ll, flag]
        if kernel is k.STARTS_QUEUE:
            threads = k.WARPS * LANES
            run(kernel, args, len(ll), options, (17, 18, 19), threads=threads, block=threads)
        else:
            cost = 1.2 * passes * K * (p.cell[-1] / ll.shape[0]) + 1000.0
            run(kernel, args, ll.size, options, (17, 18, 19), cost=cost)

    cells = (p.u1, p.u2, p.uw)
    double = k.STARTS_QUEUE if options.device == "cuda" and LAYOUT == "queue" else k.STARTS
    if options.precision == "double" or not passes:
        launch(double, cells, row, passes)
        return
    launch(k.STARTS_SINGLE, narrow(cells), row, passes)
    void = flag != 0
    par[void] = 1.0
    launch(double, cells, np.full(R, starting.GIVEN), 1)  # ranked, and moved once more, in double precision
    flag[void] = c.DEGENERATE


def narrow(arrays):
    """Copies in single precision."""
    return tuple(np.asarray(a if isinstance(a, np.ndarray) else a.copy_to_host(), np.float32) for a in arrays)


def _best_few(ll, par, usable, top):
    """The best starts that differ in log-likelihood by more than 1e-3 or in their means, and how many each covers.

    As (data set, start, number); these are then no longer `usable`.
    """
    D, R = ll.shape
    value = np.where(np.isfinite(ll), ll, -1e300)  # without passes there is no log-likelihood to rank by
    value[~usable] = -math.inf
    means = np.sort(par[:, :, 1, :], axis=2).transpose(2, 0, 1).copy()  # short axes go first
    picks, cover = np.full((D, top), -1, np.int64), np.zeros((D, top), np.int64)
    rows = np.arange(D)
    for t in range(top):
        best = np.argmax(value, axis=1)
        highest = value[rows, best]
        alive = np.nonzero(highest > -math.inf)[0]
        if not alive.size:
            break
        b = best[alive]
        near = value[alive] >= highest[alive, None] - 1e-3
        for m in means:
            chosen = m[alive, b][:, None]
            near &= np.abs(m[alive] - chosen) <= 0.05 * (np.abs(chosen) + 1e-3)
        near[np.arange(alive.size), b] = True
        picks[alive, t], cover[alive, t] = b, near.sum(axis=1)
        value[alive] = np.where(near, -math.inf, value[alive])
    usable &= value > -math.inf
    owner, t = np.nonzero(picks >= 0)
    return owner, picks[owner, t], cover[owner, t]


def climb(p, info, owner, points, options):
    """Run the climbs of (data set, start) pairs; returns points (M, 3, K), outcome (M, 6) and Hessians."""
    M, K = owner.size, points.shape[2]
    n = (3 if p.family.two else 2) * K - 1
    points = np.ascontiguousarray(points, np.float64)
    outcome, hess = np.zeros((M, 6)), np.zeros((M, n, n))
    opt = options.vector(p.family, p.unit)
    large = p.lengths[owner] >= LARGE
    small = np.nonzero(~large)[0]
    if small.size:
        part, got, h = points[small], np.zeros((small.size, 6)), np.zeros((small.size, n, n))
        blocks = 1 if options.device == "cpu" else min(small.size, 4 if SIMULATED else 4096)
        work = (
            np.zeros((blocks, 4, 3, K)),
            np.zeros((blocks, c.VECTOR_ROWS, n)),
            np.zeros((blocks, 3, n, n)),
            np.zeros((blocks, k.NSUM)),
        )
        size = K * float(p.lengths[owner[small]].mean())
        cost, most = 15.0 * size, size * (100.0 if options.method == "newton" else 0.8 * options.max_iter)

        def launch(kernel, data, opt, part):
            args = [*data, p.off, info, owner[small], opt, p.family.base, *work, part, got, h]
            run(kernel, args, small.size, options, (12, 13, 14), cost=cost, most=most)

        data = (p.t1, p.t2, p.w)
        if options.precision == "single":  # near an optimum, whence Newton's method in double precision takes three passes
            rough = part.copy()
            single = opt.copy()
            single[c.TOL], single[c.NOISE] = max(1e-4, options.tol), 1e-6
            launch(k.CLIMB_SINGLE, narrow(data), single, rough)
            part = np.where((got[:, 4] == c.DEGENERATE)[:, None, None], part, rough)
            opt[c.WARM_PASSES] = 0.0
            before = got[:, 5].copy()
        launch(k.CLIMB, data, opt, part)
        if options.precision == "single":
            got[:, 5] += before
        points[small], outcome[small], hess[small] = part, got, h
        opt = options.vector(p.family, p.unit)
    for i in np.nonzero(large)[0]:
        climb_large(p, info, owner[i], opt, points[i], outcome[i], hess[i], options)
    return points, outcome, hess


def climb_large(p, info, d, opt, point, outcome, hess, options):
    """One climb on a large data set: passes in parallel chunks, `advance` here."""
    K, n = point.shape[1], hess.shape[0]
    family, row = p.family.base, info[d]
    a, b = p.off[d], p.off[d + 1]
    x, y, w = p.t1[a:b], p.t2[a:b], p.w[a:b]
    P, S, H = np.zeros((3, K)), np.zeros((3, K)), np.zeros((K * (K + 1) // 2, 6))
    pars, vec, mat, state = np.zeros((4, 3, K)), np.zeros((c.VECTOR_ROWS, n)), np.zeros((3, n, n)), np.zeros(c.STATE)
    pars[c.TRIAL], pars[c.CURRENT], pars[c.ANCHOR] = point, point, point
    k.on_host.begin(state, opt)
    while state[c.PHASE] > c.DONE:
        hessian = state[c.PHASE] in (c.AT_NEWTON, c.FINAL)
        level = 0 if state[c.PHASE] == c.WARM else 1 if opt[c.UNIT] else 2
        k.on_host.set_coefficients(P, pars[c.TRIAL], family, opt[c.SHAPE], row[c.CENTRE])
        total = chunk_sums(x, y, w, P, level, hessian, options)
        ll = k.on_host.scatter(total, S, H, hessian)
        k.on_host.advance(state, pars, vec, mat, S, H, ll, family, row, opt)
    k.on_host.finish(state, pars, mat, point, outcome, hess)


def chunk_sums(x, y, w, P, level, hessian, options):
    """Sums of one pass by chunks, combined in fixed order."""
    K = P.shape[1]
    parts = np.zeros((max(1, -(-x.size // k.CHUNK)), 3 * K + 1 + (3 * K * (K + 1) if hessian else 0)))
    run(k.SUMS, [x, y, w, P, level, int(hessian), parts], parts.shape[0], options, (6,), cost=2.0 * K * k.CHUNK)
    return k.combine(parts)


def _sd(par, family):
    """Standard deviation of each component on the scaled y."""
    m, v = par[..., 1, :], par[..., 2, :]
    with np.errstate(invalid="ignore", over="ignore"):
        if family.base == fam.INVERSE_GAUSSIAN:
            return np.sqrt(m**3 * v)
        if family.base == fam.GAUSSIAN:
            return np.sqrt(v)
        if family.base == fam.GAMMA:
            return m * np.sqrt(v)
        if family.base == fam.FIXED_GAMMA:
            return m / math.sqrt(family.shape)
        return np.sqrt(m) if family.base == fam.POISSON else np.sqrt(m * (1.0 + m))


def _blur(par, p, info):
    """Error of the log-likelihood by rounding, roughly."""
    return 2.0**-52 * info[:, c.MASS] * p.family.logit_size(par[:, 1], par[:, 2], info[:, [c.CENTRE]]).max(axis=1)


def split_starts(par, family):
    """Starts (1, 2 K, 3, K + 1) that split each component of a fit (3, K) in two, half and one standard deviation apart."""
    K = par.shape[1]
    sd = _sd(par, family)
    out = np.ones((1, 2 * K, 3, K + 1))
    for s in range(K):
        for i, apart in enumerate((0.5, 1.0)):
            new = np.concatenate([par, par[:, [s]]], axis=1)
            new[0, [s, K]] *= 0.5
            step = np.array([-apart, apart]) * sd[s]
            new[1, [s, K]] = par[1, s] + step if family.base == fam.GAUSSIAN else par[1, s] * np.exp(step / par[1, s])
            out[0, 2 * s + i] = new
    return out


def _choose(p, K, q, owner, points, outcome, hess, covered, options, enough):
    """The best admissible certified optimum of each data set, or the best of what there is, with its status."""
    D, n = p.info.shape[0], (1 + q) * K - 1
    status = outcome[:, 4].astype(np.int64)
    objective = np.where(np.isfinite(outcome[:, 0]), outcome[:, 0], -math.inf)
    status = np.where((status != c.DEGENERATE) & ~np.isfinite(outcome[:, 0]), c.DEGENERATE, status)
    info = p.info[owner]
    blurred = ~(_blur(points, p, info) <= 1e-6 * np.maximum(1.0, np.abs(objective + p.constant[owner])))
    status[(status == 0) & blurred] = c.NOT_CERTIFIED
    keeps = (_sd(points, p.family) >= options.min_sd_ratio * info[:, c.SPREAD][:, None]).all(axis=1)
    if K > 1:  # one component has all observations
        keeps &= (points[:, 0, :] * info[:, c.MASS][:, None] >= options.min_count).all(axis=1)
    # order of preference: certified and admissible, certified, out of budget or not certified, degenerate
    grade = np.select([(status == 0) & keeps, status == 0, status == c.DEGENERATE], [3, 2, 0], 1)
    order = np.lexsort((-objective, -grade, owner))
    first = np.ones(owner.size, bool)
    first[1:] = owner[order][1:] != owner[order][:-1]
    best = np.full(D, -1)
    best[owner[order][first]] = order[first]
    r = Result(
        np.full((D, 3, K), np.nan), *(np.full(D, np.nan) for _ in range(4)), np.full(D, c.DEGENERATE, np.int8),
        np.zeros(D, np.int64), np.zeros(D, np.int64), np.zeros(D, np.int64), np.full(D, np.nan), np.zeros(D, np.int64),
        np.full((D, n, n), np.nan),
    )  # fmt: skip
    np.add.at(r.n_passes, owner, outcome[:, 5].astype(np.int64))
    np.add.at(r.n_singular, owner, covered * (status == c.DEGENERATE))
    has = np.nonzero((best >= 0) & (grade[best] > 0) if owner.size else np.zeros(D, bool))[0]
    i = best[has]
    r.par[has], r.hess[has], r.n_iter[has] = points[i], hess[i], outcome[i, 5]
    lift = p.constant + _prior_units(p, options) * K
    r.objective[has], r.loglik[has] = outcome[i, 0] + lift[has], outcome[i, 1] + p.constant[has]
    r.decrement[has], r.min_eig[has] = outcome[i, 2], outcome[i, 3]
    r.status[has] = np.where(grade[i] == 2, INADMISSIBLE, status[i])
    if owner.size:
        top = objective[best[owner]]
        close = objective >= top - 1e-6 * np.maximum(1.0, 1e-6 * np.abs(top))
        np.add.at(r.hits, owner, covered * close)
        other = (status == 0) & (objective < top - 1e-6 * np.maximum(1.0, 1e-6 * np.abs(top)))
        second = np.full(D, -math.inf)
        np.maximum.at(second, owner[other], objective[other])
        r.runner_up = np.where(np.isfinite(second), second + lift, np.nan)
    r.status[~enough] = TOO_FEW
    r.par[~enough] = np.nan
    ascending = np.lexsort((r.par[:, 2, :], r.par[:, 1, :]))
    if K > 1:
        r.hess = _reordered(r.hess, ascending)
        r.par = np.take_along_axis(r.par, ascending[:, None, :], axis=2)
    return r


def _reordered(hess, order):
    """Hessians of components in another order: log al_k/al_K changes its base too."""
    D, K = order.shape
    n = hess.shape[1]
    # the old theta as a linear map of the new one: z_old_j = z_new_at(j) - z_new_at(K - 1), where z_new_(K - 1) = 0
    at = np.argsort(order, axis=1)
    rows, j = np.arange(D)[:, None], np.arange(K - 1)
    weights = np.zeros((D, K - 1, K))
    weights[rows, j, at[:, :-1]] = 1.0
    weights[rows, j, at[:, -1:]] -= 1.0
    M = np.zeros((D, n, n))
    M[:, : K - 1, : K - 1] = weights[:, :, :-1]
    for s in range(K - 1, n, K):
        M[rows, s + np.arange(K), s + at] = 1.0
    return np.swapaxes(M, 1, 2) @ hess @ M
