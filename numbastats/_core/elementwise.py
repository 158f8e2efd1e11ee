"""From a public function to a kernel and back: broadcasting, conversion, and results of the kind that the inputs are."""

from __future__ import annotations

import functools
import inspect
import math
import operator
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from numbastats import config
from numbastats._core import device as gpu
from numbastats._core import slabs
from numbastats._core.broadcast import (
    NAME,
    as_host,
    common_shape,
    dtype_of,
    flat_view,
    flatten,
    result_dtype,
    size_to_shape,
    total,
)
from numbastats._core.checks import FLOAT32, FLOAT64, check_dtype, check_out, is_integer, is_lazy
from numbastats._core.costs import Work
from numbastats._core.kinds import (
    LABELLED,
    LAZY,
    NUMPY,
    aligned,
    check_current,
    device_kind,
    ends_of,
    has_labels,
    in_kind_of,
    is_torch,
    kind_of,
    share_memory,
    to_host,
    torch_to_numpy,
)
from numbastats._core.launch import GROUP, choose_device, launch, launch_all, or_on_the_host
from numbastats._core.parallel import Threads, check_workers, is_executor, worker_count
from numbastats._core.random import Key, key_words, normalise_rng, stream_word

__all__ = [
    "NUMBERS",
    "Draws",
    "any_lazy",
    "as_double",
    "by_labels",
    "deliver",
    "draw",
    "elementwise",
    "in_blocks",
    "in_float32",
    "of_blocks",
    "of_host",
    "place_out",
    "total_of",
]

F = TypeVar("F", bound=Callable[..., Any])

_HOST = (np.ndarray, np.generic, float, int)
NUMBERS = frozenset((float, int, bool, np.float64))  # with them alone the result is a float64


# --- out= -----------------------------------------------------------------------------------------------------


def _check_device_out(out, kind, shape, dtype):
    given = kind_of(out)
    if given is not kind:
        raise TypeError(
            f"out is a {type(out).__name__}, but the inputs live on the device as {kind.name} arrays; pass out of that kind"
        )
    check_current(out, kind, "out")
    got = kind.dtype(out)
    if tuple(out.shape) != shape or got != dtype:
        raise ValueError(f"out has shape {tuple(out.shape)} and dtype {got}; the result has shape {shape} and dtype {dtype}")
    if not kind.is_contiguous(out):
        raise ValueError("out is not C-contiguous; pass a contiguous device array")


def place_out(out, shape, dtype):
    """The caller's `out`, of any kind, or a new host array: (result, flat view for the kernel, whether it is on the device)."""
    if out is None:
        out = np.empty(shape, dtype)
    kind = kind_of(out)
    if kind.on_device:
        _check_device_out(out, kind, shape, dtype)
        return out, kind.flat_output(out), True
    host = kind.to_host(out, "out")
    check_out(host, shape, dtype)
    return out, flat_view(host), False


def _results(call, kinds, values, outputs, shape, dtype):
    """What the call returns, and the flat views of it that the kernel writes."""
    kind, out = _on_device(kinds), call.out
    if outputs > 1 and (out is not None or is_executor(call.workers)):
        raise ValueError("several results take neither out nor an executor; leave out=None and give workers as a number")
    if out is None and kind is not None:
        like = values[kinds.index(kind)]
        results = [kind.empty(like, shape, dtype) for _ in range(outputs)]
        return results, [kind.flat_output(r) for r in results]
    if out is None:
        results = [np.empty(shape, dtype) for _ in range(outputs)]
        return results, [r.reshape(-1) for r in results]
    if kind is not None:
        _check_device_out(out, kind, shape, dtype)
        return [out], [kind.flat_output(out)]
    check_out(out, shape, dtype)
    return [out], [flat_view(out)]


# --- elementwise functions ------------------------------------------------------------------------------------


class Call(NamedTuple):
    """What every public function takes: where to, as what, on which device, by how many threads, in which CUDA stream."""

    out: Any = None
    dtype: Any = None
    device: str | None = None
    workers: Any = None
    stream: Any = None


class Map(NamedTuple):
    """An elementwise kernel and how it is started; the fields are arguments of `elementwise`."""

    pick: Any
    names: Any
    constants: Any
    extras: Any
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
    pick : callable
        Maps the result dtype to the `Kernel`.
    names, values : sequence
        The inputs and what to call them in messages. The first is the data and always reaches the kernel as an array;
        the others may reach it as numbers.
    constants : callable, optional
        Maps the result dtype to trailing numbers, which are cast to it.
    extras : callable, optional
        Maps the result dtype to what the kernel takes before the output as it is: integers, and tables, of which a GPU gets a
        copy that it keeps as long as they live.
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
    call = Call(out, dtype, device, workers, stream)
    job = Map(pick, names, constants, extras, cost, outputs, threads, double)
    kinds = [NUMPY if type(v) is np.ndarray else kind_of(v) for v in values]
    if kinds.count(NUMPY) == len(kinds) or _on_device(kinds):
        return _of_arrays(job, call, kinds, values)
    if LAZY in kinds:
        return _of_blocks(job, call, values)
    values, like = aligned(values, names)
    values = [to_host(v, n) for v, n in zip(values, names, strict=True)]
    call_of_host = call._replace(out=torch_to_numpy(out, "out"))
    result = _of_arrays(job, call_of_host, [kind_of(v) for v in values], values)
    if outputs > 1:
        return tuple(in_kind_of(r, like) for r in result)
    return in_kind_of(result, like) if out is None else out


def by_labels(function, names, values, out=None, last=None):
    """What a function gives for values of which some have labels, with the labels of the result (`labelled.aligned`).

    The function takes the values as arrays that broadcast by position; where there is an `out`, it writes to that.
    """
    values, like = aligned(values, names, last)
    found = function(*(as_host(to_host(v, n)) for v, n in zip(values, names, strict=True)))
    if out is not None:
        return found
    return tuple(in_kind_of(f, like) for f in found) if isinstance(found, tuple) else in_kind_of(found, like)


def _of_blocks(job, call, values):
    """`elementwise` of dask's arrays."""
    if job.outputs > 1:
        raise TypeError("a dask array takes no function of several results: pass x.compute()")
    return in_blocks(functools.partial(_block, job, call), job.names, values, call._asdict())


def _block(job, call, *values, dtype, workers):
    """One block; a module's function, so that processes can be sent it."""
    return _of_arrays(job, call._replace(dtype=dtype, workers=workers), [NUMPY] * len(values), values)


def any_lazy(values):
    """Whether there is one of dask's arrays among the values."""
    return "dask" in sys.modules and any(map(is_lazy, values))


def in_blocks(function, names, values, options, last=None):
    """An elementwise function of dask's arrays, and of xarray's that hold one: an array that has not been computed yet.

    Parameters
    ----------
    function : callable
        Of blocks, arrays of NumPy, with the keywords dtype and workers; one that can be pickled.
    names, values : sequence
        The inputs and what to call them in messages.
    options : dict
        Of the public function: out and stream are refused, dtype and workers understood.
    last : int, optional
        Length of an axis that the function adds at the end.
    """
    if options.get("out") is not None or options.get("stream") is not None or is_executor(options.get("workers")):
        raise TypeError("a dask array takes neither out, stream nor an executor: pass x.compute()")
    values, like = LABELLED.aligned(values, names)
    kinds = [kind_of(v) for v in values]
    values = [LAZY.blocks(v, n) if k is LAZY else as_host(k.to_host(v, n)) for k, v, n in zip(kinds, values, names, strict=True)]
    dtype = result_dtype(names, [dtype_of(v) for v in values])
    dtype = dtype if options.get("dtype") is None else check_dtype(options["dtype"])
    workers = 1 if options.get("workers") is None else options["workers"]
    result = LAZY.blockwise(functools.partial(_as_array, function, dtype, workers), values, dtype, last)
    return LABELLED.relabelled(result, like)


def _as_array(function, dtype, workers, *values):
    device = "cpu" if config.get("device") == "auto" else config.get("device")  # blocks have the cores between them
    with config.using(device=device):
        return np.asarray(function(*values, dtype=dtype, workers=workers))


def of_blocks(function: F) -> F:
    """Let a function of each of the values in its first argument take one of dask's arrays, as `in_blocks` does."""
    first = next(iter(inspect.signature(function).parameters))
    taken = {"dtype", "workers"} & set(inspect.signature(function).parameters)

    @functools.wraps(function)
    def any_blocks(*args, **options):
        given = args[0] if args else options.get(first)
        if not any_lazy((given,)):
            return function(*args, **options)
        rest = {name: value for name, value in options.items() if name not in (first, "workers", "dtype", "out", "stream")}
        work = functools.partial(_with_rest, any_blocks, taken, args[1:], rest)
        return in_blocks(work, (first,), (given,), options)

    return cast(F, any_blocks)


def _with_rest(function, taken, args, rest, block, **options):
    """A block of `of_blocks`, with those options that the function has."""
    return function(block, *args, **rest, **{name: options[name] for name in taken})


def _on_device(kinds):
    for k in kinds:  # a third of the time of next()
        if k.on_device:
            return k
    return None


def _of_arrays(job, call, kinds, values):
    """`elementwise` of arrays on a GPU, or NumPy's."""
    kind = None if kinds.count(NUMPY) == len(kinds) else _on_device(kinds)
    if kind is None:
        values = [v if type(v) is np.ndarray else as_host(v) for v in values]
        types = [None if type(v) in NUMBERS else v.dtype for v in values]
    else:
        values = [v if k.on_device else as_host(v) for v, k in zip(values, kinds, strict=True)]
        types = [k.dtype(v) for k, v in zip(kinds, values, strict=True)]
    natural = result_dtype(job.names[:1], types[:1]) if job.double else result_dtype(job.names, types)
    dtype = natural if call.dtype is None else check_dtype(call.dtype)
    if job.double and dtype == FLOAT32:
        values = [as_double(v, call.stream) for v in values]
        return in_float32(_of_arrays(job, call._replace(out=None, dtype=FLOAT64), kinds, values), call.out, call.stream)
    shape = values[0].shape if kind is None and len(values) == 1 and types[0] is not None else _common_shape(job.names, values)
    n = math.prod(shape)
    work = functools.partial(_work, job, values, n, dtype)
    where = choose_device(call.device, on_device=kind is not None, work=work, workers=call.workers)
    if not is_executor(call.workers):
        call = call._replace(workers=worker_count(call.workers))
    kernel = job.pick(dtype)
    if kind is None and call.out is None and job.outputs == 1:
        results = [np.empty(shape, dtype)]
        flat = [results[0].reshape(-1)]
    else:
        results, flat = _results(call, kinds, values, job.outputs, shape, dtype)
    if n == 0:
        return tuple(results) if job.outputs > 1 else results[0]
    if where == "cpu":
        _start(job, call, kernel, _host_inputs(call, values, shape, dtype, where, flat[0]), dtype, flat, n, None)
    elif kind is None:

        def run(where):
            args = _host_inputs(call, values, shape, dtype, where, flat[0])
            _start(job, call, kernel, args, dtype, flat, n, None if where == "cpu" else gpu.Device((), call.stream))

        or_on_the_host(run, where, call.device)
    else:
        args, place = _device_inputs(job, kinds, values, shape, dtype), gpu.Device(kinds, call.stream)
        if call.out is not None:
            args = _copies_where_crossed(args, flat[0], place)
        _start(job, call, kernel, args, dtype, flat, n, place)
    if call.out is None and kind is None and not shape:
        results = [r[()] for r in results]
    return tuple(results) if job.outputs > 1 else results[0]


def _work(job, values, n, dtype):
    """What a call has to do, its large inputs copied as they are."""
    arrays = sum(np.size(v) > 1 for v in values)
    return Work(n * job.cost, arrays * n * dtype.itemsize, job.outputs * n * dtype.itemsize, n)


def _common_shape(names, values):
    try:
        return common_shape([tuple(getattr(v, "shape", ())) for v in values])
    except ValueError:
        shapes = ", ".join(f"{n} {tuple(getattr(v, 'shape', ()))}" for n, v in zip(names, values, strict=True))
        raise ValueError(f"the inputs do not broadcast: {shapes}; make the shapes equal or 1 along each axis") from None


def _host_inputs(call, values, shape, dtype, where, flat):
    """Inputs from the host as the kernel takes them: arrays with one axis, or numbers."""
    args = [flatten(v, shape, dtype) for v in values]
    if not isinstance(args[0], np.ndarray):
        args[0] = np.full(total(shape), args[0])
    if where == "cpu" and np.ndarray in map(type, args[1:]):  # each mixture of the two would be compiled apart
        args = [a if isinstance(a, np.ndarray) else np.full(total(shape), a) for a in args]
    return args if call.out is None else _copies_where_overlapping(args, flat)


def _device_inputs(job, kinds, values, shape, dtype):
    """The same where an input is on a GPU; what is on the host is copied there by the launch."""
    args = []
    for v, k, name in zip(values, kinds, job.names, strict=True):
        if k.on_device:
            check_current(v, k, name)
        args.append(k.flat_input(v, name, shape, dtype) if k.on_device else flatten(v, shape, dtype))
    if not kinds[0].on_device and not isinstance(args[0], np.ndarray):
        args[0] = np.full(total(shape), args[0])
    return args


def _start(job, call, kernel, args, dtype, flat, n, place):
    """Run the kernel on the host, or on the GPU in the streams of `place`."""
    if job.constants is not None:
        args += [dtype.type(c) for c in job.constants(dtype)]
    extra = () if job.extras is None else job.extras(dtype)
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
        args += extras(dtype)
    data, *results = np.empty((1 + outputs, 1), dtype)
    data[0] = first
    pick(dtype).serial(data, *args, *results)
    return tuple([r[0] for r in results]) if outputs > 1 else results[0][0]


def _copies_where_overlapping(args, out):
    """Host arguments, those that share memory with `out` as copies.

    Where they overlap in part, elements would be overwritten before they are read; where they are the same memory, LLVM's
    alias check takes the scalar loop, 3.6 times slower.
    """
    return [a.copy() if isinstance(a, np.ndarray) and np.may_share_memory(a, out) else a for a in args]


def _copies_where_crossed(args, out, place):
    """Arguments on the device, those that overlap `out` in part as copies: other threads would write what is yet to be read."""
    ends = ends_of(out)
    crossed = [share_memory(a, out) and ends_of(a) != ends for a in args]
    if not any(crossed):
        return args
    place.wait()  # copies of Numba's arrays are on its default stream
    args = [kind_of(a).copied(a) if c else a for a, c in zip(args, crossed, strict=True)]
    gpu.Device().wait()
    return args


# --- results of other functions -------------------------------------------------------------------------------


def deliver(result, out, dtype):
    """Copy a result into `out`, which has to be what `elementwise` accepts with such a result; None makes no copy."""
    if out is None:
        return result
    kind = kind_of(result)
    if kind.on_device:
        _check_device_out(out, kind, tuple(result.shape), dtype)
        stream = gpu.Device([kind]).stream
        kind.flat_output(out).copy_to_device(kind.flat_output(result), stream=stream)
    else:
        host = torch_to_numpy(out, "out") if is_torch(result) else out
        check_out(host, tuple(result.shape), dtype)
        host[...] = result
    return out


def total_of(values):
    """The sum in double precision of an array of any kind; of one on a GPU it is made there."""
    kind = kind_of(values)
    if not kind.on_device:
        return float(np.sum(np.asarray(kind.to_host(values, "the values")), dtype=np.float64))
    place = gpu.Device([kind])
    return gpu.total(kind.flat_output(values), place.stream)


def as_double(x, stream):
    """A Numba device array as float64, which `elementwise` does not convert; anything else as it is."""
    if device_kind(x) != "numba":
        return x
    gpu.Device((), stream).wait()
    return gpu.upload(x.copy_to_host().astype(np.float64))


def in_float32(result, out, stream):
    """A float64 result of any kind rounded to float32, in `out` if there is one."""
    if stream is not None:
        gpu.Device((), stream).wait()  # what follows is not in that stream
    return deliver(kind_of(result).as_float32(result), out, FLOAT32)


def of_host(function: F) -> F:
    """Let a function of values on the host take arrays of every kind, its first argument, and give back the same kind.

    Where it has a `device`, values on the GPU are worked on there.
    """
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def any_kind(*args, **options):
        given = args[0] if args else options.get(names[0])
        if not (device_kind(given) or is_torch(given) or has_labels(given)):
            return function(*args, **options)
        values = dict(zip(names, args, strict=False)) | options
        values[names[0]] = to_host(given, names[0])
        if "device" in names and device_kind(given):
            values["device"] = choose_device(values.get("device"), on_device=True)
        return in_kind_of(function(**values), given)

    return cast(F, any_kind)


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
                args = _copies_where_overlapping(args, flat)
        else:
            place = gpu.Device([kind], stream)
            args = [
                flatten(p, shape, real) if isinstance(p, _HOST) else kind.flat_input(p, name, shape, real)
                for p, name in zip(parameters, job.names, strict=True)
            ]
            if on_device:
                args = _copies_where_crossed(args, flat, place)
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
