"""The arguments of a call: found and checked once, passed down, and the result given back in the kind that came."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from numbastats import config
from numbastats._core import device as gpu
from numbastats._core.broadcast import as_host, common_shape, dtype_of, flat_view, flatten, result_dtype
from numbastats._core.checks import FLOAT32, FLOAT64, check_dtype, check_out
from numbastats._core.kinds import (
    LABELLED,
    LAZY,
    NUMPY,
    aligned,
    check_current,
    device_kind,
    ends_of,
    in_kind_of,
    is_torch,
    kind_of,
    share_memory,
    to_host,
    torch_to_numpy,
)
from numbastats._core.launch import choose_device
from numbastats._core.parallel import Threads, is_executor, workers_of

__all__ = [
    "NUMBERS",
    "PLAIN",
    "Call",
    "Inputs",
    "any_kind",
    "any_lazy",
    "apply",
    "as_double",
    "copies_where_crossed",
    "copies_where_overlapping",
    "deliver",
    "in_float32",
    "place_out",
    "total_of",
]

F = TypeVar("F", bound=Callable[..., Any])

NUMBERS = frozenset((float, int, bool, np.float64))  # with them alone the result is a float64
PLAIN = NUMPY.TYPES  # what needs neither labels nor blocks nor a GPU


class Call(NamedTuple):
    """What every public function takes: where to, as what, on which device, by how many threads, in which CUDA stream."""

    out: Any = None
    dtype: Any = None
    device: str | None = None
    workers: Any = None
    stream: Any = None


class Inputs:
    """The arguments of an elementwise call, on the host or on a GPU: what they are, and what the result is to be.

    Parameters
    ----------
    names, values : sequence
        The inputs and what to call them in messages: NumPy's arrays, arrays on a GPU, numbers.
    call : Call
    kinds : list, optional
        Those of the values, where they are known.
    first : bool
        Whether the first of the values decides the float type of the result, not the parameters.

    Attributes
    ----------
    kind : module or None
        Of the arrays on a GPU; None where all are on the host.
    dtype : numpy.dtype
        Of the result.
    shape, size
        Of the result: a tuple, and the number of elements.
    call : Call
        With the number of threads resolved, or the executor.
    """

    __slots__ = ("call", "dtype", "kind", "kinds", "names", "shape", "size", "values")

    def __init__(self, names, values, call, kinds=None, first=False):
        self.names = names
        self.kinds = kinds or [NUMPY if isinstance(v, PLAIN) else kind_of(v) for v in values]
        self.kind = None
        for k in self.kinds:  # a third of the time of next()
            if k.on_device:
                self.kind = k
                break
        self.values = [v if type(v) is np.ndarray or k.on_device else as_host(v) for v, k in zip(values, self.kinds, strict=True)]
        if self.kind is None:
            types = [None if type(v) in NUMBERS else v.dtype for v in self.values]
        else:
            types = [k.dtype(v) for k, v in zip(self.kinds, self.values, strict=True)]
        natural = result_dtype(names[:1], types[:1]) if first else result_dtype(names, types)
        self.dtype = natural if call.dtype is None else check_dtype(call.dtype)
        one = self.kind is None and len(values) == 1 and types[0] is not None
        self.shape = self.values[0].shape if one else self._common_shape()
        self.size = math.prod(self.shape)
        self.call = call if type(call.workers) is Threads else call._replace(workers=workers_of(call.workers))

    def _common_shape(self):
        shapes = [tuple(getattr(v, "shape", ())) for v in self.values]
        try:
            return common_shape(shapes)
        except ValueError:
            said = ", ".join(f"{n} {shape}" for n, shape in zip(self.names, shapes, strict=True))
            raise ValueError(f"the inputs do not broadcast: {said}; make the shapes equal or 1 along each axis") from None

    def in_double(self):
        """The same in double precision, with a result of its own."""
        values = [as_double(v, self.call.stream) for v in self.values]
        return Inputs(self.names, values, self.call._replace(out=None, dtype=FLOAT64))

    def results(self, outputs):
        """What the call returns, and the flat views of it that the kernel writes."""
        kind, call, shape, dtype = self.kind, self.call, self.shape, self.dtype
        if outputs > 1 and (call.out is not None or is_executor(call.workers)):
            raise ValueError("several results take neither out nor an executor; leave out=None and give workers as a number")
        if kind is None and call.out is None:
            found = [np.empty(shape, dtype) for _ in range(outputs)]
            return found, [r.reshape(-1) for r in found]
        if kind is None:
            check_out(call.out, shape, dtype)
            return [call.out], [flat_view(call.out)]
        if call.out is None:
            like = self.values[self.kinds.index(kind)]
            found = [kind.empty(like, shape, dtype) for _ in range(outputs)]
        else:
            _check_device_out(call.out, kind, shape, dtype)
            found = [call.out]
        return found, [kind.flat_output(r) for r in found]

    def on_host(self, where, flat):
        """Arrays with one axis, or numbers, as the kernel takes them; `where` it runs, and the output that it writes."""
        args = [flatten(v, self.shape, self.dtype) for v in self.values]
        if not isinstance(args[0], np.ndarray):
            args[0] = np.full(self.size, args[0])
        if where == "cpu" and np.ndarray in map(type, args[1:]):  # each mixture of the two would be compiled apart
            args = [a if isinstance(a, np.ndarray) else np.full(self.size, a) for a in args]
        return args if self.call.out is None else copies_where_overlapping(args, flat)

    def on_gpu(self, flat, place):
        """The same where an input is on a GPU; the launch copies there what is on the host."""
        args = []
        for v, k, name in zip(self.values, self.kinds, self.names, strict=True):
            if k.on_device:
                check_current(v, k, name)
            args.append(k.flat_input(v, name, self.shape, self.dtype) if k.on_device else flatten(v, self.shape, self.dtype))
        if not self.kinds[0].on_device and not isinstance(args[0], np.ndarray):
            args[0] = np.full(self.size, args[0])
        return args if self.call.out is None else copies_where_crossed(args, flat, place)


def copies_where_overlapping(args, out):
    """Host arguments, those that share memory with `out` as copies.

    Where they overlap in part, elements would be overwritten before they are read; where they are the same memory, LLVM's
    alias check takes the scalar loop, 3.6 times slower.
    """
    return [a.copy() if isinstance(a, np.ndarray) and np.may_share_memory(a, out) else a for a in args]


def copies_where_crossed(args, out, place):
    """Arguments on the device, those that overlap `out` in part as copies: other threads would write what is yet to be read."""
    ends = ends_of(out)
    crossed = [share_memory(a, out) and ends_of(a) != ends for a in args]
    if not any(crossed):
        return args
    place.wait()  # copies of Numba's arrays are on its default stream
    args = [kind_of(a).copied(a) if c else a for a, c in zip(args, crossed, strict=True)]
    gpu.Device().wait()
    return args


# --- results and `out=` ------------------------------------------------------------------------------------------


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


# --- arrays of other kinds --------------------------------------------------------------------------------------


def any_lazy(values):
    """Whether there is one of dask's arrays among the values."""
    return not all(isinstance(v, PLAIN) or kind_of(v) is not LAZY for v in values)


def apply(function, names, values, options, *, last=None, order=None, host=False):
    """A function of plain arrays for values of every kind, of which the result is: by labels, by blocks, or as they are.

    Parameters
    ----------
    function : callable
        ``function(*values, **options)``; of blocks of dask it gets one, in the dtype of the whole and by one thread unless the
        call names more, and has to be one that can be pickled.
    names, values : sequence
        The inputs, which broadcast, and what to call them in messages.
    options : dict
        Of the public function.
    last : int, optional
        Length of an axis that the function adds at the end.
    order : array, optional
        The one whose dimensions come last in the result (`labelled.aligned`).
    host : bool
        Whether the function takes arrays on the host alone, and has a `device` for those on a GPU.

    Returns
    -------
    array, or a tuple of arrays
        Of dask one that has not been computed yet.
    """
    kinds = [NUMPY if isinstance(v, PLAIN) else kind_of(v) for v in values]
    if LAZY in kinds:
        return _in_blocks(function, names, values, options, last)
    if not any(k is not NUMPY and (host or hasattr(k, "has_labels")) for k in kinds):
        return function(*values, **options)
    values, like = aligned(values, names, order)
    if "device" in options and like is not None and kind_of(like).on_device:
        options = options | {"device": choose_device(options["device"], on_device=True)}
    out = options.get("out")
    if out is not None:
        options = options | {"out": torch_to_numpy(out, "out")}
    found = function(*(as_host(to_host(v, n)) for v, n in zip(values, names, strict=True)), **options)
    if out is not None:
        return out
    return tuple(in_kind_of(f, like) for f in found) if isinstance(found, tuple) else in_kind_of(found, like)


def _in_blocks(function, names, values, options, last):
    """`apply` where some of the values are dask's arrays, or xarray's that hold one."""
    if options.get("out") is not None or options.get("stream") is not None or is_executor(options.get("workers")):
        raise TypeError("a dask array takes neither out, stream nor an executor: pass x.compute()")
    values, like = LABELLED.aligned(values, names)
    kinds = [kind_of(v) for v in values]
    values = [LAZY.blocks(v, n) if k is LAZY else as_host(k.to_host(v, n)) for k, v, n in zip(kinds, values, names, strict=True)]
    dtype = result_dtype(names, [dtype_of(v) for v in values])
    dtype = dtype if options.get("dtype") is None else check_dtype(options["dtype"])
    own = {"dtype": dtype, "workers": 1 if options.get("workers") is None else options["workers"]}
    options = options | {name: value for name, value in own.items() if name in options}
    result = LAZY.blockwise(functools.partial(_block, function, options), values, dtype, last)
    return LABELLED.relabelled(result, like)


def _block(function, options, *values):
    """The function of one block; of this module, so that processes can be sent it."""
    device = "cpu" if config.get("device") == "auto" else config.get("device")  # blocks have the cores between them
    with config.using(device=device):
        found = function(*values, **options)
        return np.stack(found, axis=-1) if isinstance(found, tuple) else np.asarray(found)


def any_kind(function: F | None = None, *, host=False, blocks=False) -> F:
    """Let a function of each of the values in its first argument take arrays of further kinds, and give back the same kind.

    Parameters
    ----------
    host : bool
        Arrays with labels, tensors and arrays on a GPU; where the function has a `device`, it is the GPU for these.
    blocks : bool
        Those of dask.
    """
    if function is None:
        return cast(F, functools.partial(any_kind, host=host, blocks=blocks))
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args, **options):
        given = args[0] if args else options.get(names[0])
        if isinstance(given, PLAIN) or given is None:
            return function(*args, **options)
        values = dict(zip(names, args, strict=False)) | options
        kind = kind_of(values.pop(names[0], None))
        if not (blocks if kind is LAZY else host):
            return function(*args, **options)
        absent = {name: None for name in ("device", "workers", "dtype") if name in names and name not in values}
        return apply(checked if kind is LAZY else function, names[:1], (given,), values | absent, host=host)

    return cast(F, checked)
