"""From arranged data to results: chunks of data sets, starts on compressed cells, the best few to a certified maximum."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from numbastats._core import device as gpu
from numbastats._core import launch, slabs
from numbastats._core.parallel import in_threads, mapped, worker_count
from numbastats._core.random import Purpose, stream_word
from numbastats._core.status import CONVERGED, Status
from numbastats.mixture import kernels as k
from numbastats.mixture.arguments import ADMISSIBLE, CHAIN, KINDS, SHORT, Options, arrange
from numbastats.mixture.criteria import criteria, free_parameters
from numbastats.mixture.families import Family
from numbastats.mixture.information import covariances
from numbastats.mixture.kernels import records as c
from numbastats.mixture.kernels.passes import CHUNK, CUDA_CHUNK, LANES
from numbastats.mixture.kernels.records import CHOICE, STATE, STATISTICS, Series, Slots, Work
from numbastats.mixture.kernels.starts import GIVEN, QUANTILE_CUTS, Key, Wanted
from numbastats.mixture.selection import COUNTS, NARROW, NUMBERS, Result, merged, passed_over, result_of
from numbastats.mixture.units import in_units, loglik_constant, prior_units, scaled_starts, unusable
from numbastats.scalar import mixture as fam
from numbastats.scalar.components import deviation
from numbastats.scalar.transforms import on_arrays

IN_FLIGHT = 1 << 20  # observations that a thread prepares at a time, 64 bytes each; with more, fresh memory costs a third again
CHUNK_COST = 60_000  # least cost of a thread's chunk: some 5 ms, of which the Python around the kernels is 1 ms
LARGE = 4 * CHUNK  # observations from which the passes over one data set are parallel and the host drives them
EXCHANGES = 2  # of components of a fit, at most
DIVIDED = 4  # ways to divide a component in two
ROUNDS = 8  # of climbs on a GPU, after which the host looks whether any go on
WORK_SPACE = 1 << 25  # numbers of the work space of their steps
_LAST_RESORT = np.full(len(Status), len(Status))  # by status: which fit of several candidates is taken where none is certified
_LAST_RESORT[[*ADMISSIBLE, Status.INADMISSIBLE, Status.COLLAPSED, Status.TOO_FEW]] = range(6)  # others come after these

_BEYOND = (
    "the log-likelihood or the parameters are beyond the range of {} numbers; bring the data to a scale near 1, or drop extreme "
    "values"
)


# --- one number of components of a chunk of data sets -----------------------------------------------------------------------


def run(kernel, args, n, options, written, threads=LANES, cost=1e4, most=None, zeroed=()):
    """Launch over n problems of so many CUDA threads each; returns the arguments, on CUDA as they are on the device.

    The host arrays at the places `written` are written; those at the places `zeroed` are zeros before. A problem takes `cost`
    ns of one CPU core, `most` at worst. On the CPU long work is done in pieces, between which Ctrl-C is answered, also where
    this runs in a thread of the caller's.
    """
    if options.device == "cpu" and n * (most or cost) <= slabs.SLAB_WORK:
        if n > 1:
            launch.launch(kernel, args, n, device="cpu", workers=options.workers, cost=cost)
        else:
            kernel.serial(*args)
        return args
    if options.device == "cpu":

        def work(*part):
            if options.halt:
                raise RuntimeError("the call that this is a part of was interrupted")
            kernel.serial(*part)

        threads = worker_count(options.workers)
        pieces = max(8 * threads, math.ceil(n * (most or cost) / slabs.SLAB_WORK))
        in_threads(work, kernel.parallel.split(args, min(n, pieces)), threads)
        return args
    staged = [_zeros(a) if i in zeroed else staged_there(a) for i, a in enumerate(args)]
    launch.launch(kernel, staged, n * threads, device="cuda", outputs=(), threads=LANES)
    for i in written:
        staged[i].copy_to_host(args[i])
    return staged


def staged_there(a):
    """The argument with its arrays on the device."""
    if isinstance(a, tuple):
        return type(a)(*map(staged_there, a)) if hasattr(a, "_fields") else a
    return gpu.upload(a) if isinstance(a, np.ndarray) else a


def _zeros(a):
    """Zeros on the device of the shape of an argument."""
    return type(a)(*map(_zeros, a)) if isinstance(a, tuple) else gpu.zeros(a.shape, a.dtype)


def together(empty, dtype, *shapes):
    """Arrays of these shapes in one allocation."""
    flat, at = empty(sum(map(math.prod, shapes)), dtype), np.cumsum([0, *map(math.prod, shapes)]).tolist()
    return [flat[a:b].reshape(shape) for a, b, shape in zip(at[:-1], at[1:], shapes, strict=True)]


def here(a):
    """An array on the host."""
    return a if isinstance(a, np.ndarray) else a.copy_to_host()


@dataclasses.dataclass
class Prepared:
    """Statistics of a chunk of data sets, on the device that will use them; `off` and `info` on the host."""

    family: object
    sets: Series
    cells: Series
    most_cells: int
    q: object
    off: np.ndarray
    info: np.ndarray
    there: object  # the same on the device
    ids: object
    empty: object  # makes arrays there, whose values are not set
    factor: np.ndarray  # what turns true values of g(x) into scaled ones; negative of a data set that is mirrored
    constant: np.ndarray | None = None

    @functools.cached_property
    def lengths(self):
        """Observations per data set."""
        return np.diff(self.off)


def cell_sizes(lengths, compress):
    """Consecutive observations that share a cell: about 256 cells for small sets, 4096 for large ones."""
    m = np.where(lengths < 512, 1, np.where(lengths < 100_000, np.rint(lengths / 256), lengths // 4096))
    return np.maximum(1, m).astype(np.int64) if compress else np.ones(lengths.size, np.int64)


def spaced(x):
    """x in memory of at least 512 bytes: loops in vectors take nearer arrays for overlapping, and add up one by one instead."""
    return x if x.size >= 64 or not isinstance(x, np.ndarray) else np.concatenate([x, np.zeros(64)])[: x.size]


def prepare(data, lo, hi, ids, family, options, compress) -> Prepared:
    """Run the prepare kernel on data sets lo to hi."""
    a, b = data.off[lo], data.off[hi]
    y, w, off = spaced(data.y[a:b]), None if data.w is None else spaced(data.w[a:b]), data.off[lo : hi + 1] - a
    n, D = y.size, hi - lo
    m = cell_sizes(np.diff(off), compress)
    cell = np.concatenate([[0], np.cumsum(-(-np.diff(off) // m))]).astype(np.int64)
    cpu, empty = (True, np.empty) if options.device == "cpu" else (False, gpu.empty)
    weights = spaced(empty(n, np.float64)) if w is None else w if cpu else gpu.upload(w)  # of 1 they are written there
    t1, t2 = spaced(empty(n, np.float64)), y if data.spare and cpu else spaced(empty(n, np.float64))  # of y only t2 is left then
    whole = cell[-1] == n  # every cell is an observation
    u1, u2, uw = (t1, t2, weights) if whole else [spaced(empty(cell[-1], np.float64)) for _ in range(3)]
    sets, cells = Series(t1, t2, weights, off), Series(u1, u2, uw, cell)
    size, info = max(cell[-1], 64), np.zeros(D, STATISTICS)
    q = empty((3, size), np.float64)
    if D:
        args = [y, data.power[lo:hi], m, family.base, int(w is None), sets, cells, q, info]
        *_, sets, cells, q, _info = run(k.PREPARE, args, D, options, (8,), cost=10.0 * n / D, zeroed=(8,))
    info["unit"] = 1 if data.unit is None else data.unit[lo:hi]
    if data.counts is not None:
        info["count"] = data.counts[lo:hi]
    factor = np.where(info["turned"] > 0, -data.factor[lo:hi], data.factor[lo:hi])
    if options.prior_d is not None:  # else that of the whole data set; a component's share is set by K
        scale = {fam.INVERSE_GAUSSIAN: 1.0, fam.GAUSSIAN: -2.0}.get(family.base, 0.0)
        info["prior_d"] = options.prior_d * (info["scale"] / data.factor[lo:hi]) ** scale
    most, ids, there = int(np.diff(cell).max(initial=0)), ids[lo:hi].astype(np.uint32), info
    if not cpu:
        ids, there = gpu.upload(ids), gpu.upload(info)
    prepared = Prepared(family, sets, cells, most, q, off, info, there, ids, empty, factor)
    prepared.constant = loglik_constant(prepared, y, w)
    return prepared


def fit_k(p, K, options, given=None, keep_starts=False, drawn=True, floor=None, strict=False) -> Result:
    """Best optimum with K components for every data set of a chunk, from drawn starts beside or instead of the given ones.

    Climbs go on until one has reached the log-likelihood `floor` (D,) or no start is left; where it is `strict`, those that have
    not are no results.
    """
    D, family, settings = p.info.size, p.family, options.settings(p.family)
    newton, q = options.method == "newton", len(family.parameters)
    R = options.n_starts(K) if drawn else 0
    if drawn and K == 1 and family.latent:
        R = 12  # the same but for the parameters that come with the latent variable
    info, empty, cpu = p.there, p.empty, options.device == "cpu"
    if options.prior_n > 0.0 and options.prior_d is None and family.base != fam.GAMMA:
        info = p.info.copy()
        info["prior_d"] /= K * K
        info = info if cpu else gpu.upload(info)
    given = np.empty((D, 0, family.rows, K)) if given is None else given
    par, state = _starts(p, info, K, R, given, settings, options)
    first = here(par).copy() if keep_starts or options.method == "bulkem" else None
    S = par.shape[1]
    few, most = climbed(K, family) if newton else (S, S)  # of the best starts; more where observations are few
    T = min(S, few if (p.lengths < k.FEW).any() else most)
    least = NARROW if options.min_sd_ratio is None else options.min_sd_ratio
    asked = (q + 1) * K - 1, R, int(newton), few, most, float(least), int(options.min_sd_ratio is None), options.min_count
    rules = k.Rules(family.code, family.base, float(family.shape), *asked, int(strict))
    floor = np.full(D, -math.inf) if floor is None else floor
    terms = np.stack([p.constant, p.constant + prior_units(p, options) * K, np.sign(p.factor), floor], axis=1)
    owner, n = np.repeat(np.arange(D), T), (q + 1) * K - 1
    usable, order = together(empty, np.int64, (D, S), (D, K))
    (means, fit), choice = together(empty, np.float64, (D, S, K), (D, family.rows, K)), empty(D, CHOICE)
    D2 = empty((D, n, n) if options.hessians else (D, 0, 0), np.float64)
    slots: Any = None
    found: Any = None
    while found is None or found["left"].any():  # the next best of data sets whose climbs all collapsed or are inadmissible
        start, cover = together(empty, np.int64, (D, T), (D, T))
        points, climbs, hess = (
            empty((D * T, 4, family.rows, K), np.float64),
            empty(D * T, STATE),
            empty((D * T, n, n), np.float64),
        )
        new = Slots(start, cover, points, climbs, hess)
        args = [info, rules, settings, int(slots is not None), par, state, usable, means, new, choice]
        run(k.PICK, args, D, options, (), threads=1, cost=5e3)
        climb(p, info, owner, settings, new, options)
        slots = new if slots is None else Slots(*map(here, slots)).beside(Slots(*map(here, new)))
        args = [info, rules, terms, usable, slots, empty((D, slots.start.shape[1], 2), np.float64), choice, fit, D2, order]
        run(k.known(k.CHOOSE, family.code), args, D, options, (), threads=1, cost=2e3)
        found = choice if cpu else here(choice)
        if found["going"].any():  # where Newton's method fails
            each = np.repeat(np.arange(D), slots.start.shape[1])
            advance(family, (p.sets, info, each, settings, slots.climbs, slots.pars, slots.hess), options, 1e5, accelerated=True)
            run(k.known(k.CHOOSE, family.code), args, D, options, (), threads=1, cost=2e3)
            found = here(choice)
    result = result_of(found, *((fit, order, D2) if cpu else map(here, (fit, order, D2))))
    if first is not None:
        result.starts = (first, *Slots(*map(here, slots)).used())
    return result


def climbed(K, family):
    """How many of the best starts of each data set are climbed from, where observations are few and where they are many."""
    if K == 1:
        return (3, 3) if family.latent else (1, 1)
    return (8, 3) if K == 2 else (10, 5)


def _starts(p, info, K, R, given, settings, options):
    """R drawn starts (D, S, rows, K), then the given ones, and their states after a few EM passes on the cells."""
    family, D, G = p.family, p.info.size, given.shape[1]
    kinds = np.resize(np.array((QUANTILE_CUTS,) if K == 1 else KINDS[options.starts], np.int64), R)
    kinds = np.concatenate([kinds, np.full(G, GIVEN, np.int64)])
    key = Key(stream_word(Purpose.MIXTURE_START, min(K, 255) + 256 * family.base), *options.key)
    passes = 10 if options.method == "newton" and (K > 1 or family.latent) else 0
    par, state = p.empty((D, R + G, family.rows, K), np.float64), p.empty(D * (R + G), STATE)
    if not D * (R + G):
        return par, state
    wanted = Wanted(family.code if family.latent else family.base, family.base, passes)
    args = [p.cells, p.q, info, p.ids, kinds, wanted, key, given, par, state]
    run(k.STARTS, args, D * (R + G), options, (), threads=1, cost=700.0)
    if not passes:
        return par, state
    owner, cost = np.repeat(np.arange(D), R + G), 12.0 * K * (p.q.shape[1] / D) + 1000.0
    where, points = (info, owner, settings), par.reshape(-1, 1, family.rows, K)
    if options.precision == "double":
        most = passes + passes // 2 if (p.lengths < k.FEW).any() else passes
        advance(family, (p.cells, *where, state, points, np.empty((owner.size, 0, 0))), options, cost, rounds=most)
        return par, state
    points, state = here(points), here(state)  # ranked, and moved once more, in double precision
    drawn, good, hess = points.copy(), state["status"] == Status.OK, np.zeros((state.size, 0, 0))
    advance(family, (narrow(p.cells), *where, state, points, hess), options, cost)
    lost = good & (state["status"] != Status.OK)  # components that single precision does not resolve are as they were drawn
    points[lost] = drawn[lost]
    state["status"][lost] = Status.OK
    state["phase"], state["left"] = np.where(good, c.START, c.DONE), 1
    advance(family, (p.cells, *where, state, points, hess), options, cost)
    return points.reshape(par.shape), state


def exchange(p, r, wanted, options):
    """Take each component out of the fits of data sets `wanted`, put one in at maxima of the gradient function, and climb.

    `r` is changed where that finds a better fit; returns for which of the wanted ones.
    """
    D, rows, K = r.par.shape
    others = np.array([[j for j in range(K) if j != out] for out in range(K)])
    par = r.par[wanted][:, :, others].transpose(0, 2, 1, 3).reshape(wanted.size * K, rows, K - 1)
    par[:, 0] /= par[:, 0].sum(axis=1, keepdims=True)
    found = here(insertions(p, np.repeat(wanted, K), par, options)[0])
    starts = np.full((D, K * found.shape[1], rows, K), np.nan)
    starts[wanted] = found.reshape(wanted.size, -1, rows, K)
    return merged(r, fit_k(p, K, options, starts, drawn=False))[wanted]


def insertions(p, owner, par, options):
    """Mixtures `par` (M, rows, K) of data sets `owner`, each with one component more at a maximum of the gradient function.

    Returns starts (M, S, rows, K + 1) where the fit is made, NaN where there are fewer, and the largest gain of the
    log-likelihood among them.
    """
    family, K, M, cpu = p.family, par.shape[2], owner.size, options.device == "cpu"
    narrowest = NARROW if options.min_sd_ratio is None else max(options.min_sd_ratio, 1e-3)
    own_code = family.code if family.latent else family.base
    grid = k.insertion.Grid(family.base, float(family.shape), narrowest, options.min_count, own_code)
    shapes = k.insertion.shapes_of_room(1 if cpu else M, K, p.most_cells)
    room = k.insertion.Room(*(map(np.empty, shapes) if cpu else together(p.empty, np.float64, *shapes)))
    starts, gains = p.empty((M, k.insertion.MOST, family.rows, K + 1), np.float64), p.empty(M, np.float64)
    par = np.ascontiguousarray(par)
    if M and family.latent:
        room = room._replace(logs=p.empty((M, max(p.most_cells, 1)), np.float64))
        run(k.LATENT_LOGS[family.code], [p.cells, p.there, owner, par, room.logs], M, options, (), cost=100.0 * p.most_cells)
    if M:
        run(k.INSERTION, [p.cells, p.q, p.there, owner, grid, par, room, starts, gains], M, options, (), cost=2e5)
    return starts, gains if cpu else here(gains)


def floor_of(r):
    """Log-likelihoods (D,) that a component more is not to fall short of: of certified fits, less the error of both."""
    sure = (r.status == Status.OK) & r.keeps
    return np.where(sure, r.loglik - 1e-7 * np.maximum(1.0, 1e-6 * np.abs(r.loglik)), -math.inf)


def raise_to(floor, p, r, before, starts, options):
    """Replace certified fits `r` below the floor, by climbs from `before`, the fits with one component less, that reach it.

    Such a climb begins with one component more or with one divided in two. The log-likelihood does not fall on the way, so that
    only a collapsed component stops it; where none ends at an admissible maximum its status says at which point it does.
    """
    low = np.flatnonzero((r.status == Status.OK) & (r.loglik < floor))
    if not low.size:
        return
    (D, rows, K), starts = r.par.shape, here(starts)
    given = np.full((D, starts.shape[1] + DIVIDED * (K - 1), rows, K), np.nan)
    given[low, : starts.shape[1]] = starts[low]
    given[low, starts.shape[1] :] = divided(before.par[low], p.family)
    again = fit_k(p, K, options, given, drawn=False, floor=floor, strict=True)
    for name in ("n_passes", "n_singular", "n_climbed", "n_starts"):
        getattr(again, name)[low] += getattr(r, name)[low]
    again.runner_up[low] = np.fmax(again.runner_up[low], np.fmax(r.runner_up[low], r.objective[low]))
    for name in (*NUMBERS, *COUNTS, "par", "status", "keeps", "hess"):
        getattr(r, name)[low] = getattr(again, name)[low]
    r.short[low] = r.status[low] != Status.OK


_deviation = on_arrays(deviation)


def divided(par, family):
    """Mixtures (M, rows, K) with each component in turn as two: in equal halves, in places apart, and of unlike widths."""
    M, rows, K = par.shape
    out = np.empty((M, DIVIDED, K, rows, K + 1))
    out[..., :-1], out[..., -1] = par[:, None, None], par[:, None].transpose(0, 1, 3, 2)
    own, new = (np.arange(K), np.arange(K)), (np.arange(K), np.full(K, K))
    parts = out.transpose(2, 4, 0, 1, 3)  # a view: by component divided, component of the mixture
    with np.errstate(invalid="ignore", over="ignore"):
        sd = _deviation(family.code, family.base, family.shape, par[:, 1], par[:, 2]).T[:, :, None]
    for at, sign in ((own, -1.0), (new, 1.0)):
        part = parts[at]
        part[..., 0] *= 0.5
        m, v = part[..., 1], part[..., 2]
        apart = sign * np.array([0.0, 0.7, 0.0, 0.0]) * sd
        part[..., 1] = m + apart if family.base == fam.GAUSSIAN else m * np.exp(apart / m)
        part[..., 2] = v * np.array([1.0, 0.5, 4.0**sign, 16.0**sign])
        parts[at] = part
    return out.reshape(M, DIVIDED * K, rows, K + 1)


def narrow(series):
    """Copies in single precision."""
    t1, t2, w = (np.asarray(a if isinstance(a, np.ndarray) else a.copy_to_host(), np.float32) for a in series[:3])
    return Series(t1, t2, w, series.off)


def advance(family, args, options, cost, most=None, accelerated=False, rounds=None):
    """Run climbs on (sets, info, owner, settings, state, points, Hessians); the last three are written.

    On a GPU in so many rounds of a pass and a step, None: until all are at their ends.
    """
    state = args[4]
    if options.device == "cpu":
        kernel = k.LATENT_CLIMBS[family.code] if family.latent else k.ACCELERATE if accelerated else k.CLIMB
        run(kernel, list(args), state.size, options, (), cost=cost, most=most)
    elif state.size > 0:
        _rounds(family, args, options, accelerated, rounds)


def _rounds(family, args, options, accelerated, rounds):
    """Rounds of a pass and a step for all climbs, on a GPU, so many, or to the end of all; the host looks after some of them."""
    sets, info, owner, settings, state, points, hess = map(staged_there, args)
    (M, _, rows, K), n = points.shape, hess.shape[1]
    if family.latent:
        sums = k.latent_sums(rows, K) if n else 1 + k.OWN * K
        passes, step, last = k.LATENT_PASSES[family.code], k.LATENT_ADVANCE, c.AT_EM
        between = gpu.zeros((M, sums), np.float64), gpu.zeros((M, rows, K), np.float64)
    else:
        shapes = (M, 3, K), (M, K * (K + 1) // 2 if n else 0, 6), (M,)
        passes = k.PASSES
        step, last = (k.ADVANCE_ANY, c.AT_EM) if accelerated else (k.ADVANCE, c.FINAL)
        between = together(gpu.empty, np.float64, *shapes) if n else [gpu.empty(shape, np.float64) for shape in shapes]
    threads = min(M, max(1, WORK_SPACE // (c.VECTOR_ROWS * n + 2 * n * n + 1)))
    shapes = (threads, c.VECTOR_ROWS, n), (threads, 2, n, n)
    work = Work(*(together(gpu.empty, np.float64, *shapes) if n else [gpu.empty(shape, np.float64) for shape in shapes]))
    each, going, counts = (info, owner, settings, last), np.ones(1, np.int64), gpu.empty(1, np.int64)
    where = {"device": "cuda", "outputs": (), "threads": LANES}
    while going[0] > 0:
        for r in range(rounds or ROUNDS):
            if rounds is None and r == ROUNDS - 1:
                gpu.clear(counts)
            launch.launch(k.known(passes, K), (sets, *each, state, points, *between), M * LANES, **where)
            launch.launch(step, (*each, *between, work, state, points, hess, counts), threads, **where)
        if rounds is not None:
            break
        counts.copy_to_host(going)
    for on_device, array in zip((state, points, hess), args[4:], strict=True):
        if isinstance(array, np.ndarray):
            on_device.copy_to_host(array)


def climb(p, info, owner, settings, slots, options):
    """Run the climbs in their slots, but for SQUAREM where Newton's method fails."""
    family, newton = p.family, options.method == "newton"
    size = slots.pars.shape[3] * float(p.lengths.mean() if owner.size else 0.0)
    cost, most = (
        (1000.0, 1e4 if newton else 100.0 * options.max_iter)
        if family.latent
        else (15.0, 100.0 if newton else 0.8 * options.max_iter)
    )
    cost, most = cost * size, most * size
    rough = None
    if not family.latent and (options.precision == "single" or (p.lengths >= LARGE).any()):
        slots_here = Slots(*map(here, slots))
        used = slots_here.start.ravel() >= 0
        large = used & (p.lengths >= LARGE)[owner]
        for i in np.flatnonzero(large):
            row = slots_here.climbs[i], slots_here.pars[i], slots_here.hess[i]
            climb_large(p, p.info if info is p.there else here(info), owner[i], settings, *row, options)
        if options.precision == "single":
            rough = _roughly(p, info, settings, slots_here, np.flatnonzero(used & ~large), options, cost, most)
        if options.device != "cpu":
            for device, array in zip(slots, slots_here, strict=True):
                device.copy_to_device(array)
    args = p.sets, info, owner, settings, slots.climbs, slots.pars, slots.hess
    advance(family, args, options, cost, most, accelerated=not (newton or family.latent))
    if rough is not None:
        climbs = here(slots.climbs)
        climbs["passes"] += rough
        if options.device != "cpu":
            slots.climbs.copy_to_device(climbs)


def _roughly(p, info, settings, slots, use, options, cost, most):
    """Climbs in single precision near an optimum, whence Newton's method in double precision takes three passes; their passes."""
    single = settings._replace(tol=max(1e-4, options.tol), noise=1e-6)
    rough, points, hess = slots.climbs[use], slots.pars[use], slots.hess[use]
    owner = use // slots.start.shape[1]
    advance(p.family, (narrow(p.sets), info, owner, single, rough, points, hess), options, cost, most)
    row = np.where(rough["phase"] == c.DONE, c.CURRENT, c.ANCHOR)  # where Newton's method has failed, the EM point
    points = points[np.arange(use.size), row][:, None]
    slots.pars[use] = np.where((rough["status"] == Status.COLLAPSED)[:, None, None, None], slots.pars[use], points)
    slots.climbs["phase"][use], slots.climbs["left"][use] = c.AT_NEWTON, 0
    passes = np.zeros(slots.climbs.size, np.int64)
    passes[use] = rough["passes"]
    return passes


def climb_large(p, info, d, settings, state, pars, hess, options):
    """One climb on a large data set: passes in parallel chunks, control of the method here."""
    K, n, family, row = pars.shape[2], hess.shape[0], p.family.base, info[d]
    x, y, w = (a[p.off[d] : p.off[d + 1]] for a in p.sets[:3])
    P, S, H = np.zeros((3, K)), np.zeros((3, K)), np.zeros((K * (K + 1) // 2, 6))
    vec, mat = np.zeros((c.VECTOR_ROWS, n)), np.zeros((2, n, n))
    while state.phase > c.DONE:
        hessian = state.phase in (c.AT_NEWTON, c.FINAL)
        level = 0 if state.phase == c.WARM else 1 if row.unit else 2
        k.on_host.set_coefficients(P, pars[c.TRIAL], family, settings.shape, row.centre)
        total = chunk_sums(x, y, w, P, level, hessian, options)
        ll = k.on_host.scatter(total, S, H, hessian)
        k.on_host.accelerate_one(state, pars, vec, mat, hess, S, H, ll, row, settings)


def chunk_sums(x, y, w, P, level, hessian, options):
    """Sums of one pass by chunks, combined in fixed order."""
    K = P.shape[1]
    size, kernel = (CHUNK, k.SUMS[0]) if options.device == "cpu" else (CUDA_CHUNK, k.known(k.SUMS, K))
    parts = np.zeros((max(1, -(-x.size // size)), 3 * K + 1 + (3 * K * (K + 1) if hessian else 0)))
    run(kernel, [x, y, w, P, size, level, int(hessian), parts], len(parts), options, (7,), cost=2.0 * K * size, zeroed=(7,))
    return pairwise_sum(parts)


def pairwise_sum(parts):
    """Sum rows pairwise, the first half with the second: `launch.pairwise_sum` adds neighbours, and rounds otherwise."""
    parts = np.array(parts, np.float64, ndmin=2)
    while len(parts) > 1:
        half = (len(parts) + 1) // 2
        head = parts[:half].copy()
        head[: len(parts) - half] += parts[half:]
        parts = head
    return parts[0]


# --- chunks of data sets ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Job:
    """The fit of a chunk of data sets."""

    family: Family
    candidates: tuple
    per_set: np.ndarray | None
    options: Options
    se: bool
    cov: bool
    keep_starts: bool
    first: int

    @np.errstate(all="ignore")  # extreme data get a status, not a warning
    def __call__(self, chunk):
        """Fit a chunk, (values, index of the first data set, explicit starts): a dict of arrays."""
        values, lo, starts = chunk
        family, options = self.family, self.options
        data = arrange(values, family, worker_count(options.workers))
        D = data.count
        ids = np.arange(self.first + lo, self.first + lo + D)
        p = prepare(data, 0, D, ids, family, options, options.method == "newton")
        given = None if starts is None else scaled_starts(starts, p)
        results = self._climb_up(p, given)
        values_of_criterion = criteria(options.criterion, p, results, self._entropies(p, results))
        pick = self._picked(results, values_of_criterion, lo)
        out = self._chosen(p, results, pick)
        notes, out["doubtful"] = self._passed(results, values_of_criterion, pick)
        statuses = np.stack([r.status for r in results], axis=1)
        out["statuses_"] = np.where(data.status != 0, data.status, statuses.T).T.astype(np.int8)
        out["criteria_"], out["n_components"] = values_of_criterion, np.asarray(self.candidates, np.int64)[pick]
        out["status"] = np.where(data.status != 0, data.status, out["status"]).astype(np.int8)
        notes |= data.notes
        for d in np.nonzero(unusable(out, family, values.dtype))[0]:
            out["status"][d], notes[int(d)] = Status.NOT_FINITE, _BEYOND.format(values.dtype)
        lost = (data.status != 0) | np.isin(out["status"], (Status.COLLAPSED, Status.TOO_FEW, Status.NOT_FINITE))
        for name in ("weights", "centres", "params"):
            out[name][lost] = np.nan
        out["dropped"], out["missing"], out["notes"] = data.dropped, data.missing, {lo + d: note for d, note in notes.items()}
        out["n_used"] = np.where(data.status != 0, 0, p.info["count"])
        out["mass"] = p.info["mass"]
        out["starts"] = [_kept(r, p) for r in results] if self.keep_starts else []
        return out

    def _climb_up(self, p, given):
        """The fits with each number of components, from the best with one less where `method` is "newton"."""
        options, every = self.options, np.arange(p.info.size)
        if options.method != "newton":
            return [fit_k(p, K, options, given, self.keep_starts, drawn=given is None) for K in self.candidates]
        if given is not None:
            found = fit_k(p, self.candidates[0], options, given, self.keep_starts, drawn=False)
            found.gap = insertions(p, every, found.par, options)[1]
            return [found]
        found: dict[int, Result] = {}
        starts, floor = None, np.full(every.size, -math.inf)
        last = max([K for K in self.candidates if K <= CHAIN], default=0)
        nested = options.prior_n == 0.0 and options.prior_a == 1.0  # a prior weighs components, too
        for K in sorted({*self.candidates, *range(1, last)}):
            before = found.get(K - 1)
            if nested and before is not None:
                floor = np.fmax(floor, floor_of(before))
            starts = None if before is None else starts
            found[K] = fit_k(p, K, options, starts, self.keep_starts, floor=floor)
            wanted = every
            for _ in range(EXCHANGES if K > 2 else 0):
                if wanted.size:
                    wanted = wanted[exchange(p, found[K], wanted, options)]
            if before is not None:
                raise_to(floor, p, found[K], before, starts, options)
            starts, found[K].gap = insertions(p, every, found[K].par, options)
        return [found[K] for K in self.candidates]

    def _entropies(self, p, results):
        """Sums over the observations of the entropy of the responsibilities, where the criterion has them."""
        if self.options.criterion != "icl":
            return None
        family, out = p.family, [np.empty(p.info.size) for _ in results]
        for r, entropy in zip(results, out, strict=True):
            args = [p.sets, p.there, family.base, float(family.shape), np.ascontiguousarray(r.par), entropy]
            cost = 20.0 * r.par.shape[2] * float(p.lengths.mean() if p.lengths.size else 0.0)
            run(k.known(k.ENTROPY, family.code), args, entropy.size, self.options, (5,), cost=cost)
        return out

    def _picked(self, results, values, lo):
        """Which number of components each data set gets: as prescribed, or by the criterion among admissible fits."""
        if self.per_set is not None:
            return np.searchsorted(self.candidates, self.per_set[lo : lo + len(values)])
        kept = np.stack([r.keeps & np.isin(r.status, ADMISSIBLE) for r in results], axis=1)
        pick = np.argmin(np.where(kept, values, math.inf), axis=1)
        last_resort = np.argmin(_LAST_RESORT[np.stack([r.status for r in results], axis=1)], axis=1)
        return np.where(kept.any(axis=1), pick, last_resort)

    def _passed(self, results, values, pick):
        """By data set, what the choice has passed over: fits of a better criterion, and numbers without a fit.

        And in which data sets that makes the choice doubtful: not where the values are too few for more components.
        """
        notes, doubtful, several = {}, np.zeros(len(values), bool), self.per_set is None and len(results) > 1
        short = np.stack([r.short for r in results], axis=1)
        statuses, every = np.stack([r.status for r in results], axis=1), np.arange(pick.size)
        wanted = short[every, pick]
        if several:  # there is something to say, at most, where a fit is better, or none, or the choice not certified
            other = np.isin(statuses, (Status.COLLAPSED, Status.TOO_FEW)).any(axis=1) | (statuses[every, pick] != Status.OK)
            wanted = wanted | short.any(axis=1) | other | (values < values[every, pick][:, None]).any(axis=1)
        for d in np.flatnonzero(wanted).tolist():
            text = SHORT if short[d, pick[d]] else ""
            if several:
                fits = zip(self.candidates, statuses[d].tolist(), values[d], short[d], strict=True)
                found, doubtful[d] = passed_over(list(fits), pick[d], self.options.criterion)
                text = "; ".join(filter(None, (found, text)))
            if text:
                notes[d] = text
        return notes, doubtful

    def _chosen(self, p, results, pick):
        """The fits that were picked, with standard errors and covariances, in the units of the data."""
        D, width, family = pick.size, max(self.candidates), p.family
        out = {name: np.full((D, width), np.nan) for name in ("weights", "centres", "params")}
        if family.third:
            out["params"] = np.full((D, 2, width), np.nan)
        for name in (*NUMBERS, *COUNTS, "status"):
            out[name] = np.stack([getattr(r, name) for r in results])[pick, np.arange(D)]
        size = len(family.parameters) + 1
        side = size * width if self.se or self.cov else 0
        cov, se = np.full((D, side, side), np.nan), np.full((D, side), np.nan)
        for j, (K, r) in enumerate(zip(self.candidates, results, strict=True)):
            rows = np.nonzero(pick == j)[0]
            w, m, v = in_units(r.par[rows], p, rows)
            out["weights"][rows, :K], out["centres"][rows, :K], out["params"][rows, ..., :K] = w, m, v
            if side:
                covariances(cov, se, r, rows, p, m, v)
        out["cov"], out["se"] = cov if self.cov else cov[:, :0, :0], {}
        if self.se:
            se = se.reshape(D, size, width)
            out["se"] = {name: se[:, q] for q, name in enumerate(("weights", *family.parameters))}
        return out


def _kept(r, p):
    """Start parameters and outcomes in the units of y."""
    first, owner, start, points, outcome = r.starts
    D, R, _, K = first.shape
    loglik, status = np.full((D, R), np.nan), np.full((D, R), Status.COLLAPSED, np.int8)
    passes = np.zeros((D, R), np.int64)
    loglik[owner, start] = outcome["loglik"] + p.constant[owner]
    status[owner, start], passes[owner, start] = outcome["status"], outcome["passes"]
    flat = first.reshape(D * R, -1, K)
    w, m, v = in_units(flat, p, np.repeat(np.arange(D), R))
    return {
        "weights": w.reshape(D, R, K),
        "centres": m.reshape(D, R, K),
        "params": v.reshape(D, R, *v.shape[1:]),
        "loglik": loglik,
        "status": status,
        "n_iter": passes,
    }


def _costs(data):
    """Cost of all data sets before each one, in that of an observation; a set costs as much as 1000 of them besides."""
    return data.off + 1000 * np.arange(data.count + 1)


def _many(data, workers):
    """Whether the data sets are so many, and none so long, that threads should take whole chunks of them."""
    cost = _costs(data)
    return workers > 1 and cost[-1] >= 2 * CHUNK_COST and np.diff(cost).max() * 4 * workers <= cost[-1]


def _chunks(data, limit, workers=1):
    """Ranges of data sets with at most `limit` observations, one data set at least.

    For more than one worker they become shorter towards the end, so that all end at about the same time.
    """
    cost = _costs(data)
    least = max(CHUNK_COST, cost[-1] // (16 * workers))
    chunks, lo = [], 0
    while lo < data.count:
        hi = int(np.searchsorted(data.off, data.off[lo] + limit, side="right")) - 1
        if workers > 1:
            share = max(least, (cost[-1] - cost[lo]) * 2 // (3 * workers))
            hi = min(hi, int(np.searchsorted(cost, cost[lo] + share, side="right")) - 1)
        hi = min(max(hi, lo + 1), data.count)
        chunks.append((lo, hi))
        lo = hi
    return chunks


def assemble(parts, data, family, candidates, done):
    """Fields of one batch from the chunks; data sets that were not reached have the status of those that were stopped."""
    D, width = data.count, max(candidates)
    row = np.full(width, np.nan)
    empty = {"weights": row, "centres": row, "params": np.full((2, width), np.nan) if family.third else row}
    empty |= dict.fromkeys(NUMBERS, np.nan) | dict.fromkeys((*COUNTS, "n_used"), np.int64(0))
    empty |= {"status": np.int8(Status.STOPPED), "n_components": np.int64(candidates[0])}
    empty |= {"criteria_": np.full(len(candidates), np.nan), "statuses_": np.full(len(candidates), Status.STOPPED, np.int8)}
    empty |= {"mass": 1.0, "dropped": np.int64(0), "missing": np.int64(0)}
    empty["cov"] = np.full((0, 0) if not parts else parts[0]["cov"].shape[1:], np.nan)
    values = {
        name: np.concatenate([*[part[name] for part in parts], np.full((D - done, *np.shape(one)), one)])
        for name, one in empty.items()
    }
    mass, values["n_dropped"], values["n_missing"] = [values.pop(name) for name in ("mass", "dropped", "missing")]
    free = free_parameters(family, values["n_components"]).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        values["bic"] = free * np.log(np.maximum(mass, 1.0)) - 2.0 * values["loglik"]
    values["aic"] = 2.0 * free - 2.0 * values["loglik"]
    values["se"] = {
        name: np.concatenate([part["se"][name] for part in parts] + [np.full((D - done, width), np.nan)])
        for name in (parts[0]["se"] if parts else ())
    }
    if data.dtype == np.float32:
        for name in ("weights", "centres", "params", "cov"):
            values[name] = values[name].astype(np.float32)
        values["se"] = {name: s.astype(np.float32) for name, s in values["se"].items()}
    starts = {}
    if parts and parts[0]["starts"]:
        for j, K in enumerate(candidates):
            starts[K] = {name: np.concatenate([part["starts"][j][name] for part in parts]) for name in parts[0]["starts"][j]}
    values["converged"] = np.isin(values["status"], CONVERGED)
    notes = {d: note for part in parts for d, note in part["notes"].items()}
    return dict(values, family=family.label, candidates=candidates, notes=notes, starts=starts)


def run_chunks(job, values, given, pool, callback, shown):
    """Results of the chunks that were fitted, and the number of their data sets; with a pool of the caller's, or threads."""
    D, where, workers = values.count, job.options.device, job.options.workers
    parts, done, stopped = [], 0, False
    with contextlib.ExitStack() as stack:
        if pool is not None:
            chunks = _chunks(values, min(IN_FLIGHT, max(65_536, values.x.size // 16)))
        elif where == "cpu" and _many(values, workers):  # whole chunks by threads, which never wait for each other
            chunks = _chunks(values, IN_FLIGHT, workers)
            pool = stack.enter_context(ThreadPoolExecutor(workers))
            job = dataclasses.replace(job, options=dataclasses.replace(job.options, workers=1))
        else:
            chunks = _chunks(values, IN_FLIGHT if where == "cpu" else 4 * IN_FLIGHT)
        cuts = ((values.cut(lo, hi), lo, None if given is None else given[lo:hi]) for lo, hi in chunks)
        results = map(job, cuts) if pool is None else mapped(pool, job, cuts)
        try:
            for (lo, done), part in zip(chunks, results, strict=False):
                parts.append(part)
                shown.update(done - lo)
                if callback is not None and callback(types.SimpleNamespace(done=done, total=D, status=part["status"])) is True:
                    stopped = done < D
                    break
        except BaseException:  # Ctrl-C among them: threads end after the piece that they are at
            job.options.halt.append(True)
            raise
        if stopped and pool is not None:
            results.close()  # chunks that no thread has begun are not fitted
    return parts, done if stopped else D
