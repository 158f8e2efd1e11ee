"""From a public function to a kernel and back: broadcasting, conversion, and results of the kind that the inputs are."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from numbastats._core import device as gpu
from numbastats._core import slabs
from numbastats._core.broadcast import NAME, as_host, dtype_of, flatten, result_dtype, size_to_shape, total
from numbastats._core.checks import FLOAT32, FLOAT64, check_dtype, is_integer, is_lazy
from numbastats._core.costs import Work
from numbastats._core.inputs import (
    NUMBERS,
    PLAIN,
    Call,
    Inputs,
    any_lazy,
    apply,
    copies_where_crossed,
    copies_where_overlapping,
    in_float32,
    place_out,
)
from numbastats._core.kinds import LABELLED, LAZY, NUMPY, aligned, has_labels, in_kind_of, kind_of, to_host
from numbastats._core.launch import GROUP, choose_device, launch, launch_all, or_on_the_host
from numbastats._core.parallel import Threads, check_workers, is_executor
from numbastats._core.random import Key, key_words, normalise_rng, stream_word

__all__ = ["Draws", "draw", "elementwise"]


# --- elementwise functions ------------------------------------------------------------------------------------


class Map(NamedTuple):
    """An elementwise kernel and how it is started; the fields are arguments of `elementwise`."""

    pick: Any
    extras: Any
    constants: Any
    cost: float
    outputs: int
    threads: int
    double: bool


def elementwise(  # noqa: PLR0913
    pick,
    names,
    values,
    constants=None,
    *,
    extras=None,
    cost=1.0,
    outputs=1,
    threads=256,
    double=False,
    out=None,
    dtype=None,
    device=None,
    workers=None,
    stream=None,
):  # two more than 12: a dictionary for the last five costs 1 of the 5 us of a call on one number
    """Evaluate an elementwise kernel on broadcast inputs.

    Parameters
    ----------
    pick : Kernel or callable
        The kernel, or the one for a dtype of the result.
    names, values : sequence
        The inputs and what to call them in messages. The first is the data and always reaches the kernel as an array;
        the others may reach it as numbers.
    constants : callable, optional
        Maps the result dtype to trailing numbers, which are cast to it.
    extras : tuple or callable, optional
        What the kernel takes before the output as it is, or that for a dtype of the result: integers, and tables, of which a GPU
        gets a copy that it keeps as long as they live.
    cost : float
        Nanoseconds per element on one core.
    outputs : int
        Number of arrays that the kernel writes, its last arguments. More than one take neither `out` nor an executor.
    threads : int
        Threads per CUDA block.
    double : bool
        Whether the kernel works in double precision alone: float32 data are converted before it and the result after it. The
        first of the values decides the float type of the result, not the parameters.
    out, dtype, device, workers, stream
        Of the public function, see `Call`.

    Returns
    -------
    array or scalar, or a tuple of `outputs`
        Of the inputs' kind and broadcast shape; a NumPy scalar when all inputs are scalars.
    """
    if out is None and NUMBERS.issuperset(map(type, values)) and not is_executor(workers):
        check_workers(workers)
        if choose_device(device) == "cpu":
            found = _of_numbers(pick, values, constants, extras, None if double else dtype, outputs)
            if not double or dtype is None or check_dtype(dtype) == FLOAT64:
                return found
            return tuple(map(np.float32, found)) if outputs > 1 else np.float32(found)
    call, job = Call(out, dtype, device, workers, stream), Map(pick, extras, constants, cost, outputs, threads, double)
    kinds = [NUMPY if isinstance(v, PLAIN) else kind_of(v) for v in values]
    if kinds.count(NUMPY) < len(kinds) and not any(k.on_device for k in kinds):
        if outputs > 1 and LAZY in kinds:
            raise TypeError("a dask array takes no function of several results: pass x.compute()")
        return apply(functools.partial(_of_plain, job, names), names, values, call._asdict(), host=True)
    return _of_arrays(job, Inputs(names, values, call, kinds, double))


def _of_plain(job, names, *values, **options):
    """`elementwise` of NumPy's arrays; a module's function, so that processes can be sent it."""
    return _of_arrays(job, Inputs(names, values, Call(**options), first=job.double))


def _of_arrays(job, given):
    """`elementwise` of arrays on a GPU, or NumPy's."""
    kind, call, dtype, n = given.kind, given.call, given.dtype, given.size
    if job.double and dtype == FLOAT32:
        return in_float32(_of_arrays(job, given.in_double()), call.out, call.stream)
    where = choose_device(
        call.device, on_device=kind is not None, work=functools.partial(_work, job, given), workers=call.workers
    )
    kernel = _kernel(job.pick, dtype)
    results, flat = given.results(job.outputs)
    if n and where == "cpu":
        _start(job, call, kernel, given.on_host(where, flat[0]), dtype, flat, None)
    elif n and kind is None:

        def run(where):
            place = None if where == "cpu" else gpu.Device((), call.stream)
            _start(job, call, kernel, given.on_host(where, flat[0]), dtype, flat, place)

        or_on_the_host(run, where, call.device)
    elif n:
        place = gpu.Device(given.kinds, call.stream)
        _start(job, call, kernel, given.on_gpu(flat[0], place), dtype, flat, place)
    if call.out is None and kind is None and not given.shape:
        results = [r[()] for r in results]
    return tuple(results) if job.outputs > 1 else results[0]


def _kernel(pick, dtype):
    """The kernel that `pick` is, or gives for a dtype of the result."""
    return pick if hasattr(type(pick), "serial") else pick(dtype)


def _work(job, given):
    """What a call has to do, its large inputs copied as they are."""
    arrays, n, size = sum(np.size(v) > 1 for v in given.values), given.size, given.dtype.itemsize
    return Work(n * job.cost, arrays * n * size, job.outputs * n * size, n)


def _start(job, call, kernel, args, dtype, flat, place):
    """Run the kernel on the host, or on the GPU in the streams of `place`."""
    n = flat[0].size
    if job.constants is not None:
        args += [dtype.type(c) for c in job.constants(dtype)]
    extra = () if job.extras is None else job.extras if type(job.extras) is tuple else job.extras(dtype)
    if place is None and n * job.cost <= slabs.SLAB_WORK and type(call.workers) is Threads:  # one slab: nothing to cut
        outputs = range(-job.outputs, 0)
        launch(kernel, (*args, *extra, *flat), n, device="cpu", workers=call.workers, cost=job.cost, outputs=outputs)
        return
    if place is not None:
        extra = [gpu.constant(e) if isinstance(e, np.ndarray) else e for e in extra]
        place.begin()

    def cut(lo, hi):
        if hi - lo == n:
            return (*args, *extra)
        return (*(a[lo:hi] if isinstance(a, np.ndarray) else a for a in args), *extra)

    launch_all(
        kernel,
        cut,
        flat,
        n,
        device="cpu" if place is None else "cuda",
        workers=call.workers,
        cost=job.cost,
        outputs=range(-job.outputs, 0),
        threads=job.threads,
        stream=None if place is None else place.stream,
    )
    if place is not None:
        place.end()


def _of_numbers(pick, values, constants, extras, dtype, outputs):
    """`elementwise` of Python's numbers by the serial twin, without what arrays need: a third of the time of a call."""
    dtype = FLOAT64 if dtype is None else check_dtype(dtype)
    first, *args = map(dtype.type, values)
    if constants is not None:
        args += map(dtype.type, constants(dtype))
    if extras is not None:
        args += extras if type(extras) is tuple else extras(dtype)
    data, *results = np.empty((1 + outputs, 1), dtype)
    data[0] = first
    _kernel(pick, dtype).serial(data, *args, *results)
    return tuple([r[0] for r in results]) if outputs > 1 else results[0][0]


# --- random draws ---------------------------------------------------------------------------------------------


class Draws(NamedTuple):
    """A random function: its kernel, or kernels by name of the dtype, and how it is started."""

    kernels: Any
    purpose: Any
    names: tuple[str, ...]  # of the parameters
    arity: int  # parameters of the kernel; those that the function lacks are 0
    cost: float  # nanoseconds per draw on one core
    refuse: Any = None  # raises for parameters without a distribution
    counts: bool = False  # whether the draws are integers, the largest of which the kernel takes as its last parameter


_FEW = 1000
COUNTS = {np.dtype(np.int64): np.float64(2.0**63 - 1024), np.dtype(np.int32): np.float64(2.0**31 - 1)}  # the largest float in it


def _draw_dtypes(job, dtype):
    """The dtype of draws, and that of the parameters as the kernel takes them."""
    if not job.counts:
        dtype = FLOAT64 if dtype is None else check_dtype(dtype)
        return dtype, dtype
    try:
        found = np.dtype(np.int64 if dtype is None else dtype)
    except TypeError:
        found = None
    if found not in COUNTS:
        raise TypeError(f"dtype={dtype!r} is not supported; counts are 'int64' or 'int32'")
    return found, FLOAT64


def draw(  # noqa: PLR0913
    job, parameters, size, rng=None, dtype=None, out=None, device=None, workers=None, stream=None, offset=0, like=None
):
    """Broadcast, key, launch: the common body of every random function, a `Draws`; `offset` is the item of the first value.

    Draws are of the kind of `out`, else of `like`, else of the parameters; parameters on a GPU stay there where they are of it.
    """
    if out is like is stream is workers is None and offset == 0 and _few(parameters, size):
        where = choose_device(device)
        if where == "cpu":
            return _draw_few(job, parameters, size, rng, dtype)
    if any_lazy((*parameters, like)):
        options = dict(out=out, device=device, workers=workers, stream=stream)
        return _draw_blocks(job, parameters, size, rng, dtype, options, offset, like)
    kinds = [kind_of(p) for p in parameters]
    dtype, real = _draw_dtypes(job, dtype)
    if like is None and kinds.count(NUMPY) == len(kinds):
        kind, parameters = NUMPY if out is None else kind_of(out), [as_host(p) for p in parameters]
        shape = size_to_shape(size, [np.shape(p) for p in parameters], out)
    else:
        if like is not None and has_labels(like):
            aligned((*parameters, like), (*job.names, "like"))  # which refuses other labels
        parameters, labels = aligned(parameters, job.names)
        like = labels if like is None else like
        kinds, kind = [kind_of(p) for p in parameters], kind_of(like if out is None else out)
        shapes = [np.shape(p) if k is NUMPY else tuple(p.shape) for k, p in zip(kinds, parameters, strict=True)]
        shape = size_to_shape(size, shapes, out)
        for i, (p, k) in enumerate(zip(parameters, kinds, strict=True)):
            if not (k is kind and k.on_device and k.takes(p, shape, real)):
                parameters = [*parameters[:i], as_host(k.to_host(p, job.names[i])), *parameters[i + 1 :]]
    result_dtype(job.names, [getattr(p, "dtype", None) for p in parameters])  # reject what is not a real number
    n = total(shape)
    if type(offset) is not int or offset:
        offset = _check_offset(offset, n, rng)
    if job.refuse is not None:
        job.refuse(*parameters)
    if out is None and kind.on_device:
        out = kind.empty(like, shape, dtype)
    result, flat, on_device = place_out(out, shape, dtype)
    key = key_words(normalise_rng(rng))
    where = choose_device(device, on_device=on_device)
    check_workers(workers)
    if n:
        kernel = job.kernels[NAME[dtype]] if isinstance(job.kernels, dict) else job.kernels
        fixed = (*key, stream_word(job.purpose, 0 if real == FLOAT64 else 1))
        if where == "cpu":
            place, args = None, [flatten(p, shape, real) for p in parameters]
            if out is not None:
                args = copies_where_overlapping(args, flat)
        else:
            place = gpu.Device([kind], stream)
            args = [
                flatten(p, shape, real) if isinstance(p, PLAIN) else kind.flat_input(p, name, shape, real)
                for p, name in zip(parameters, job.names, strict=True)
            ]
            if on_device:
                args = copies_where_crossed(args, flat, place)
            place.begin()
            stream = place.stream
        args += [real.type(0.0)] * (job.arity - len(parameters))
        if job.counts:
            args[-1] = COUNTS[dtype]
        before = -offset % GROUP and min(n, -offset % GROUP)  # values before the first group of items that is drawn whole
        if before:
            _draw_head(kernel, fixed, offset, args, flat, before, where, stream)

        def slab(lo, hi):
            lo, hi = lo + before, hi + before
            return (*fixed, np.int64(offset + lo), *(a if isinstance(a, np.generic) or hi - lo == n else a[lo:hi] for a in args))

        if n > before:
            rest = flat[before:] if before else flat
            launch_all(kernel, slab, (rest,), n - before, device=where, workers=workers, cost=job.cost, stream=stream)
        if place is not None:
            place.end()
    if out is None and like is not None:
        return in_kind_of(result, like)
    return result[()] if out is None and size is None and not shape else result


def _few(parameters, size):
    """Whether so few values of numbers are wanted that the checks of arrays would take longer than they."""
    shape = () if size is None else size if type(size) is tuple else (size,)
    return (
        all(type(n) is int for n in shape)
        and 0 < math.prod(shape) <= _FEW
        and all(type(p) is float or type(p) is int for p in parameters)
    )


def _draw_few(job, parameters, size, rng, dtype):
    """`draw` for numbers as parameters, on this thread."""
    dtype, real = _draw_dtypes(job, dtype)
    shape = size_to_shape(size, [])
    if job.refuse is not None:
        job.refuse(*map(np.asarray, parameters))
    kernel = job.kernels[NAME[dtype]] if isinstance(job.kernels, dict) else job.kernels
    flat, args = np.empty(total(shape), dtype), [real.type(p) for p in parameters]
    args += [real.type(0.0)] * (job.arity - len(args))
    if job.counts:
        args[-1] = COUNTS[dtype]
    fixed = (*key_words(normalise_rng(rng)), stream_word(job.purpose, 0 if real == FLOAT64 else 1), np.int64(0))
    launch(kernel, (*fixed, *args, flat), flat.size, device="cpu", workers=1)
    return flat[0] if size is None else flat.reshape(shape)


def _draw_blocks(job, parameters, size, rng, dtype, options, offset, like):
    """`draw` where the parameters or `like` are dask's: an array that has not been computed, with the bits of one call."""
    if options["out"] is not None or options["stream"] is not None or is_executor(options["workers"]):
        raise TypeError("draws in a dask array take neither out, stream nor an executor; leave them out, or use NumPy's arrays")
    if like is not None and not is_lazy(like):
        raise TypeError(
            f"like is a {type(like).__name__} and a parameter is a dask array; pass x.compute() as the parameter, or no like"
        )
    LABELLED.aligned((*parameters, like), (*job.names, "like"))
    parameters, labels = LABELLED.aligned(parameters, job.names)
    labels = like if hasattr(like, "dims") else labels
    kinds = [kind_of(p) for p in parameters]
    given = zip(kinds, parameters, job.names, strict=True)
    parameters = [LAZY.blocks(p, name) if k is LAZY else as_host(k.to_host(p, name)) for k, p, name in given]
    like = None if like is None else LAZY.blocks(like, "like")
    for p, name in zip((like, *parameters), ("like", *job.names), strict=True):
        if any(map(math.isnan, np.shape(p))):
            raise ValueError(
                f"{name} has blocks of unknown length, which draws need to know; call {name}.compute_chunk_sizes() first"
            )
    result_dtype(job.names, [dtype_of(p) for p in parameters])  # reject what is not a real number
    dtype, _ = _draw_dtypes(job, dtype)
    shape = size_to_shape(size, [np.shape(p) for p in parameters])
    offset = _check_offset(offset, total(shape), rng)
    choose_device(options["device"])
    check_workers(options["workers"])
    workers = 1 if options["workers"] is None else options["workers"]
    function = functools.partial(
        _draw_block, job, Key(normalise_rng(rng)), offset, shape, dict(dtype=dtype, device=options["device"], workers=workers)
    )
    result = LAZY.drawn(function, parameters, like, shape, dtype)
    return LABELLED.relabelled(result, labels)


def _draw_block(job, key, offset, shape, options, *parameters, block_info):
    """One block; a module's function, so that processes can be sent it."""
    where = block_info[None]["array-location"]
    result = np.empty([high - low for low, high in where], options["dtype"])
    for place, first in _runs(where, shape) if result.size else ():
        part = [p[place] if np.ndim(p) else p for p in parameters]
        draw(job, part, None, rng=key, out=result[place], offset=offset + first, **options)
    return result


def _runs(where, shape):
    """The parts of a block that follow one another in the whole, in C order: their index in the block, and of their first value.

    A block of whole rows is one part; one that is cut along a later axis has a part for each row, or row of rows.
    """
    cut = len(shape)
    while cut and tuple(where[cut - 1]) == (0, shape[cut - 1]):
        cut -= 1
    rows = max(cut - 1, 0)  # axes before the one along which a part extends
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    start = sum(low * stride for (low, _), stride in zip(where, strides, strict=True))
    for place in np.ndindex(*[high - low for low, high in where[:rows]]):
        yield (*place, ...), start + sum(i * stride for i, stride in zip(place, strides, strict=False))


def _check_offset(offset, n, rng):
    """The item of the first value as an int."""
    if not is_integer(offset):
        raise TypeError(f"offset is a {type(offset).__name__}; use an integer, the index of the first value in the stream")
    offset = operator.index(offset)
    if not 0 <= offset <= 2**63 - 1 - n:
        raise ValueError(f"offset={offset} is out of range; use an integer from 0 to 2**63 - 1 less the number of draws")
    if offset and rng is None:
        raise ValueError(
            f"offset={offset} continues a stream, but rng=None starts one that nobody knows; pass the integer or SeedSequence "
            "of the other blocks as rng"
        )
    return offset


def _draw_head(kernel, fixed, offset, args, flat, count, where, stream):
    """The first values of a call that begins within a group: from the group's beginning, of which the last are kept."""
    skip = offset % GROUP
    heads = [a if np.ndim(a) == 0 else np.asarray(to_host(a[:count], "a parameter")) for a in args]
    args = [a if np.ndim(a) == 0 else np.concatenate([np.repeat(a[:1], skip), a]) for a in heads]
    head = np.empty(skip + count, flat.dtype)
    launch(kernel, (*fixed, np.int64(offset - skip), *args, head), head.size, device=where, workers=1, stream=stream)
    if isinstance(flat, np.ndarray):
        flat[:count] = head[skip:]
    else:
        flat[:count].copy_to_device(np.ascontiguousarray(head[skip:]), stream=stream or 0)
