"""From a public function to a kernel and back: device choice, arrays to and from the device, launch geometry.

Kind in, kind out: NumPy, torch, CuPy and Numba device arrays give their own kind back on the same device.
"""

from __future__ import annotations

import copy
import functools
import inspect

import numpy as np
from numba import cuda

from numbastats import config
from numbastats._core.broadcast import (
    FLOAT64,
    NAME,
    as_host,
    check_dtype,
    check_out,
    common_shape,
    dtype_of,
    flat_view,
    flatten,
    result_dtype,
    size_to_shape,
    total,
)  # fmt: skip
from numbastats._core.compile import SIMULATED, InThreads, real_gpu
from numbastats._core.errors import DeviceNotAvailable, choice
from numbastats._core.parallel import check_workers, is_executor, mapped, parallel_region, worker_count
from numbastats._core.random import key_words, normalise_rng, stream_word

__all__ = [
    "as_double", "choose_device", "copied", "deliver", "draw", "elementwise", "first_array", "in_float32", "in_kind_of", "launch",
    "launch_slabs", "of_host", "place_out", "share_memory", "to_host",
]  # fmt: skip

PARALLEL_FROM = 32_768  # elements of unit cost (about 1 ns) that outweigh starting the threads (2-6 us, up to 20 us cold)
CUDA_COST = 1000.0  # nanoseconds per element of one core from which a host array's way to the GPU and back may pay: stable
CUDA_FROM = 4_194_304  # densities and quantiles point by point; and nanoseconds of one core for all elements
CHUNK = 4096  # a multiple of every kernel's tasks and random groups: where results may be cut without changing a bit
SLAB = 64 * CHUNK  # elements per task handed to an executor
SLAB_WORK = 1e8  # nanoseconds of one core, for each thread, after which Python sees whether Ctrl-C was pressed
LEAST_BLOCKS = 128  # on a GPU: of fewer Numba warns (NumbaPerformanceWarning), and idle ones end at once
_HOST = (np.ndarray, np.generic, float, int, bool, list, tuple)
_NUMBERS = frozenset((float, int, bool, np.float64))  # with them alone the result is a float64


# --- kinds of array -------------------------------------------------------------------------------------------


def _owner(x):
    """The library that owns a device array, 'numba', 'cupy' or 'torch'; 'tensor' on the host, None for other host data."""
    if isinstance(x, _HOST):
        return None
    if hasattr(x, "copy_to_host"):
        return "numba"
    libraries = {c.__module__.partition(".")[0] for c in type(x).__mro__}
    if "torch" in libraries:
        return "torch" if x.is_cuda else "tensor"
    if not hasattr(x, "__cuda_array_interface__"):
        return None
    if "cupy" in libraries:
        return "cupy"
    raise TypeError(
        f"a {type(x).__module__}.{type(x).__qualname__} lives on the GPU; of arrays there those of CuPy, torch and Numba are "
        "understood. cupy.asarray(x) makes one of the same memory"
    )


def _device_kind(x):
    """None for host data, else the library that owns the device array: 'numba', 'cupy' or 'torch'."""
    owner = _owner(x)
    return None if owner == "tensor" else owner


def _is_torch(x) -> bool:
    return _owner(x) in ("torch", "tensor")


def _numpy_dtype(x):
    if not _is_torch(x):
        return dtype_of(x)
    name = str(x.dtype).rpartition(".")[2]
    try:
        return np.dtype(name)
    except TypeError:
        raise TypeError(f"a tensor has dtype {name}; allowed are float64, float32 and integers. Convert it: x.double()") from None


def _check_current(x, kind, name):
    """Raise unless a device array lives on the GPU that kernels run on."""
    if SIMULATED:
        return
    if kind == "numba":
        device = getattr(getattr(getattr(x, "gpu_data", None), "context", None), "device", None)
        there = getattr(device, "id", None)
    else:
        there = x.device.index if kind == "torch" else x.device.id
    here = cuda.get_current_device().id
    if there is not None and there != here:
        raise ValueError(
            f"{name} lives on GPU {there}, and kernels run on GPU {here}, Numba's current one; copy it there, or call within "
            f"`with numba.cuda.gpus[{there}]:`"
        )


def _settle(kinds):
    """Wait for the GPU where arrays of CuPy or torch are used: their streams and the kernels' do not wait for one another."""
    if "cupy" in kinds or "torch" in kinds:
        cuda.synchronize()


def _device_input(x, kind, name, shape, dtype):
    """A device array as a flat contiguous array of the right dtype that a kernel accepts."""
    _check_current(x, kind, name)
    if kind == "numba":
        if x.dtype != dtype or x.shape != shape or not x.is_c_contiguous():
            raise TypeError(
                f"{name} is a Numba device array of shape {x.shape} and dtype {x.dtype}; on the device it must be C-contiguous, "
                f"of shape {shape} and dtype {dtype}. Make it so before the copy, or use CuPy arrays, which broadcast and convert"
            )
        return x.ravel()
    if kind == "torch":
        import torch

        if x.requires_grad:
            raise TypeError(f"{name} requires gradients, which numbastats does not compute; pass {name}.detach()")
        x = torch.broadcast_to(x.to(getattr(torch, dtype.name)), shape).contiguous().reshape(-1)
    else:
        import cupy

        with x.device:
            x = cupy.ascontiguousarray(cupy.broadcast_to(x, shape), dtype=dtype).reshape(-1)
    return cuda.as_cuda_array(x)


def _device_output(like, kind, shape, dtype):
    """A new device array of the caller's kind and the flat view of it that a kernel writes."""
    if kind == "torch":
        import torch

        result = torch.empty(shape, dtype=getattr(torch, dtype.name), device=like.device)
    elif kind == "cupy":
        import cupy

        with like.device:
            result = cupy.empty(shape, dtype)
    else:
        result = cuda.device_array(shape, dtype)
    return result, _flat_output(result, kind)


def _flat_output(result, kind):
    return result.ravel() if kind == "numba" else cuda.as_cuda_array(result.reshape(-1))


def _check_device_out(out, kind, shape, dtype):
    if _device_kind(out) != kind:
        raise TypeError(
            f"out is a {type(out).__name__}, but the inputs live on the device as {kind} arrays; pass out of that kind"
        )
    _check_current(out, kind, "out")
    got = _numpy_dtype(out) if _is_torch(out) else out.dtype
    if tuple(out.shape) != shape or got != dtype:
        raise ValueError(f"out has shape {tuple(out.shape)} and dtype {got}; the result has shape {shape} and dtype {dtype}")
    contiguous = out.is_contiguous() if kind == "torch" else out.is_c_contiguous() if kind == "numba" else out.flags.c_contiguous
    if not contiguous:
        raise ValueError("out is not C-contiguous; pass a contiguous device array")


def place_out(out, shape, dtype):
    """The caller's `out`, of any kind, or a new host array: (result, flat view for the kernel, whether it is on the device)."""
    if out is None:
        out = np.empty(shape, dtype)
    kind = _device_kind(out)
    if kind is not None:
        _check_device_out(out, kind, shape, dtype)
        return out, _flat_output(out, kind), True
    host = _torch_to_numpy(out, "out")
    check_out(host, shape, dtype)
    return out, flat_view(host), False


# --- device and launch ----------------------------------------------------------------------------------------


def choose_device(device, *, on_device=False, pays=False) -> str:
    """Return 'cpu' or 'cuda' for a call.

    Parameters
    ----------
    device : {None, "auto", "cpu", "cuda"}
        The caller's wish; None means `config`.
    on_device : bool
        Whether an input lives on the GPU: then "auto" stays there.
    pays : bool
        Whether the problem is one that gains by its way to a GPU and back: "auto" leaves all others on the host.
    """
    wish = config.get("device") if device is None else choice("device", device, config.DEVICES)
    if on_device:
        if device == "cpu":
            raise ValueError("device='cpu', but an input or out lives on the GPU; copy it to the host, or leave device=None")
        return "cuda"
    if wish == "cuda" and not (SIMULATED or real_gpu()):
        raise DeviceNotAvailable(
            "device='cuda' was asked for, but no CUDA GPU can be used here. Use device='cpu' or 'auto', or install the NVIDIA "
            "driver and numba-cuda: pip install 'numba-cuda[cu13]' (or cu12). `python -m numbastats` shows what is found."
        )
    if wish == "auto":
        return "cuda" if pays and real_gpu() else "cpu"
    return wish


def _geometry(n, threads):
    """Blocks and threads for n items; kernels are grid-stride, so any size is right."""
    if SIMULATED:  # 30-60 us per simulated thread
        return min(4, -(-n // 32)) or 1, 32
    blocks = 32 * cuda.get_current_device().MULTIPROCESSOR_COUNT
    return max(LEAST_BLOCKS, min(-(-n // threads), blocks)), threads


def launch(kernel, args, n, *, device, workers=None, cost=1.0, outputs=(-1,), threads=256, stream=None):
    """Run a kernel over n items on the chosen device.

    Parameters
    ----------
    kernel : Kernel
    args : tuple
        Contiguous arrays (host or device) and numbers, in the order of the loop skeleton.
    n : int
        Number of parallel items.
    cost : float
        Nanoseconds per item on one core, for the choice between the serial and the parallel twin.
    outputs : tuple of int
        Positions in `args` that the kernel writes: host arrays there are copied back from the device.
    threads : int
        Threads per CUDA block.
    stream : optional
        CUDA stream.
    """
    if device == "cpu":
        count = worker_count(workers)
        if count == 1 or n * cost < PARALLEL_FROM:
            kernel.serial(*args)
        else:
            with parallel_region(count) as allowed:
                twin = kernel.parallel if allowed else kernel.serial
                options = {"nanoseconds": n * cost} if isinstance(twin, InThreads) else {}
                twin(*args, **options)
        return
    written = {i % len(args) for i in outputs}
    staged, back = [], []
    for i, a in enumerate(args):
        if isinstance(a, np.ndarray):
            on_device = cuda.device_array(a.shape, a.dtype) if i in written else cuda.to_device(a)
            if i in written:
                back.append((on_device, a))
            staged.append(on_device)
        else:
            staged.append(a)
    blocks, threads = _geometry(n, threads)
    configured = kernel.cuda[blocks, threads] if stream is None else kernel.cuda[blocks, threads, stream]
    if stream is not None:
        cuda.synchronize()  # copies to the device, also those of tables, are not in a stream of the user's
    configured(*staged)
    if back and stream is not None:
        cuda.synchronize()  # copies do not wait for a stream of the user's
    for on_device, host in back:
        on_device.copy_to_host(host)


def _run_slab(job):
    """One executor task: the serial twin on a slab, returning what it wrote. Module-level, so that it pickles."""
    kernel, args, shape, dtype = job
    out = np.empty(shape, dtype)
    kernel.serial(*args, out)
    return out


def launch_slabs(executor, kernel, slab_args, out):
    """Map slabs of a flat output over an executor; `slab_args(lo, hi)` gives a slab's arguments before `out`."""
    bounds = [(lo, min(lo + SLAB, out.size)) for lo in range(0, out.size, SLAB)]
    jobs = [(kernel, slab_args(lo, hi), hi - lo, out.dtype) for lo, hi in bounds]
    for (lo, hi), part in zip(bounds, mapped(executor, _run_slab, jobs), strict=True):
        out[lo:hi] = part


def _launch_cut(kernel, cut, outs, n, *, workers, cost, **options):
    """`launch` on the host, in parts after which Python sees whether Ctrl-C was pressed; `cut(lo, hi)` as in `launch_slabs`."""
    step = max(CHUNK, int(SLAB_WORK * worker_count(workers) / cost) // CHUNK * CHUNK)
    for lo in range(0, n, step):
        hi = min(lo + step, n)
        launch(
            kernel, (*cut(lo, hi), *(o[lo:hi] for o in outs)), hi - lo, device="cpu", workers=workers, cost=cost, **options
        )  # fmt: skip


# --- elementwise functions ------------------------------------------------------------------------------------


def elementwise(
    pick, names, values, constants=None, *, extras=None, out=None, dtype=None, device=None, workers=None, stream=None, cost=1.0,
    outputs=1, threads=256,
):  # fmt: skip
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
        Maps the device ("cpu", "cuda") and the result dtype to what the kernel takes before the output as it is: tables (for
        "cuda" best already there) and integers.
    out, dtype, device, workers, stream
        As in every public function.
    cost : float
        Nanoseconds per element on one core.
    outputs : int
        Number of arrays that the kernel writes, its last arguments. More than one take neither `out` nor an executor.
    threads : int
        Threads per CUDA block.

    Returns
    -------
    array or scalar, or a tuple of `outputs`
        Of the inputs' kind and broadcast shape; a NumPy scalar when all inputs are scalars.
    """
    if out is None and _NUMBERS.issuperset(map(type, values)) and not is_executor(workers):
        check_workers(workers)
        if choose_device(device) == "cpu":
            return _of_numbers(pick, values, constants, extras, dtype, outputs)
    owners = [_owner(v) for v in values]
    kinds = [None if o == "tensor" else o for o in owners]
    kind = next(filter(None, kinds), None)
    if kind is None and "tensor" in owners:
        values = [_torch_to_numpy(v, n) for v, n in zip(values, names, strict=True)]
        options = {"extras": extras, "dtype": dtype, "device": device, "workers": workers, "stream": stream, "cost": cost}
        options.update(outputs=outputs, threads=threads)
        result = elementwise(pick, names, values, constants, out=_torch_to_numpy(out, "out"), **options)
        if outputs > 1:
            return tuple(map(_numpy_to_torch, result))
        return _numpy_to_torch(result) if out is None else out
    values = [v if k else as_host(v) for v, k in zip(values, kinds, strict=True)]
    natural = result_dtype(names, [_numpy_dtype(v) if k else dtype_of(v) for v, k in zip(values, kinds, strict=True)])
    dtype = natural if dtype is None else check_dtype(dtype)
    try:
        shape = common_shape([tuple(getattr(v, "shape", ())) for v in values])
    except ValueError:
        shapes = ", ".join(f"{n} {tuple(getattr(v, 'shape', ()))}" for n, v in zip(names, values, strict=True))
        raise ValueError(f"the inputs do not broadcast: {shapes}; make the shapes equal or 1 along each axis") from None
    n = total(shape)
    where = choose_device(device, on_device=kind is not None, pays=cost >= CUDA_COST and n * cost >= CUDA_FROM)
    check_workers(workers)
    kernel = pick(dtype)
    if outputs > 1 and (out is not None or is_executor(workers)):
        raise ValueError("several results take neither out nor an executor; leave out=None and give workers as a number")
    if out is None and kind is not None:
        like = next(v for v, k in zip(values, kinds, strict=True) if k)
        results, flat = zip(*(_device_output(like, kind, shape, dtype) for _ in range(outputs)), strict=True)
    elif out is None:
        results = [np.empty(shape, dtype) for _ in range(outputs)]
        flat = [r.reshape(-1) for r in results]
    elif kind is not None:
        _check_device_out(out, kind, shape, dtype)
        results, flat = (out,), (_flat_output(out, kind),)
    else:
        check_out(out, shape, dtype)
        results, flat = (out,), (flat_view(out),)
    if n == 0:
        return tuple(results) if outputs > 1 else results[0]
    args = [
        _device_input(v, k, name, shape, dtype) if k else flatten(v, shape, dtype)
        for v, k, name in zip(values, kinds, names, strict=True)
    ]
    _settle(kinds)
    if not kinds[0] and not isinstance(args[0], np.ndarray):
        number, args[0] = args[0], np.empty(n, dtype)
        args[0].fill(number)
    if where == "cpu" and any(isinstance(a, np.ndarray) for a in args[1:]):  # each mixture of the two would be compiled apart
        args = [a if isinstance(a, np.ndarray) else np.full(n, a) for a in args]
    if out is not None:
        args = _apart(args, flat[0], stream) if kind else [a.copy() if _overlaps(a, flat[0]) else a for a in args]
    if constants is not None:
        args += [dtype.type(c) for c in constants(dtype)]
    extra = () if extras is None else tuple(extras(where, dtype))
    slab = lambda lo, hi: (*(a[lo:hi] if isinstance(a, np.ndarray) else a for a in args), *extra)  # noqa: E731
    if where == "cpu" and is_executor(workers):
        launch_slabs(workers, kernel, slab, flat[0])
    elif where == "cpu" and n * cost > SLAB_WORK:
        _launch_cut(kernel, slab, flat, n, workers=workers, cost=cost, outputs=range(-outputs, 0))
    else:
        launch(
            kernel, (*args, *extra, *flat), n, device=where, workers=workers, cost=cost, outputs=range(-outputs, 0),
            threads=threads, stream=stream,
        )  # fmt: skip
    _settle(kinds)
    if out is None and kind is None and not shape:
        results = [r[()] for r in results]
    return tuple(results) if outputs > 1 else results[0]


def _of_numbers(pick, values, constants, extras, dtype, outputs):
    """`elementwise` of Python's numbers by the serial twin, without what arrays need: a third of the time of a call."""
    dtype = FLOAT64 if dtype is None else check_dtype(dtype)
    first, *args = map(dtype.type, values)
    if constants is not None:
        args += map(dtype.type, constants(dtype))
    if extras is not None:
        args += extras("cpu", dtype)
    data, *results = np.empty((1 + outputs, 1), dtype)
    data[0] = first
    pick(dtype).serial(data, *args, *results)
    return tuple([r[0] for r in results]) if outputs > 1 else results[0][0]


def _overlaps(a, out) -> bool:
    """Whether `a` shares memory with `out`, so that the kernel must read a copy.

    Where they overlap in part, elements would be overwritten before they are read; where they are the same memory, LLVM's
    alias check takes the scalar loop, 3.6 times slower.
    """
    return isinstance(a, np.ndarray) and np.may_share_memory(a, out)


def _apart(args, out, stream):
    """Arguments on the device, those that overlap `out` in part as copies: other threads would write what is yet to be read."""
    ends = _ends(out)
    crossed = [share_memory(a, out) and _ends(a) != ends for a in args]
    if not any(crossed):
        return args
    if stream is not None:
        cuda.synchronize()  # copies are not in a stream of the user's
    args = [copied(a) if c else a for a, c in zip(args, crossed, strict=True)]
    if stream is not None:
        cuda.synchronize()
    return args


def copied(x):
    """A copy of an input of any kind: for a function that reads it again after it has written a result."""
    kind = _device_kind(x)
    if kind == "numba":
        y = cuda.device_array_like(x)
        y.copy_to_device(x)
        return y
    return x.clone() if _is_torch(x) else copy.copy(x if kind else as_host(x))


def share_memory(a, b) -> bool:
    """Whether two contiguous arrays of any kind have an element in common."""
    ends = [_ends(a), _ends(b)]
    return (a is b is not None) or all(ends) and max(lo for lo, _ in ends) < min(hi for _, hi in ends)


def _ends(a):
    """Addresses at which a contiguous array begins and ends; None for anything else."""
    if SIMULATED and hasattr(a, "copy_to_host"):
        a = a._ary  # the simulator's arrays have no interface
    if isinstance(a, np.ndarray):
        return np.lib.array_utils.byte_bounds(a)
    if _is_torch(a):
        return a.data_ptr(), a.data_ptr() + a.numel() * a.element_size()
    interface = getattr(a, "__cuda_array_interface__", None)
    if interface is None:
        return None
    return interface["data"][0], interface["data"][0] + a.nbytes


def _numpy_to_torch(x):
    import torch

    return torch.from_numpy(np.asarray(x))


def _torch_to_numpy(x, name):
    if not _is_torch(x):
        return x
    if x.requires_grad:
        raise TypeError(f"{name} requires gradients, which numbastats does not compute; pass {name}.detach()")
    try:
        return x.numpy()
    except TypeError:  # bfloat16, sparse
        raise TypeError(
            f"{name} is a {x.layout} tensor of {x.dtype}, which NumPy cannot read; pass {name}.to_dense().double()"
        ) from None


def to_host(x, name):
    """A tensor or device array as a NumPy array; anything else as it is."""
    kind = _device_kind(x)
    if kind == "numba":
        return x.copy_to_host()
    if kind == "cupy":
        return x.get()
    return _torch_to_numpy(x.cpu() if kind else x, name)


def in_kind_of(result, like):
    """A NumPy result as the kind of array that `like` is, on its device."""
    kind = _device_kind(like)
    if kind == "numba":
        return cuda.to_device(np.ascontiguousarray(result))
    if kind == "cupy":
        import cupy

        return cupy.asarray(result)
    return _numpy_to_torch(result).to(like.device) if _is_torch(like) else result


def first_array(values):
    """The first value that says of which kind results are: an array on a device, else a tensor, else None."""
    first = next((v for v in values if _device_kind(v)), None)
    return next((v for v in values if _is_torch(v)), None) if first is None else first


def deliver(result, out, dtype):
    """Copy a result into `out`, which has to be what `elementwise` accepts with such a result; None makes no copy."""
    if out is None:
        return result
    kind = _device_kind(result)
    if kind:
        _check_device_out(out, kind, tuple(result.shape), dtype)
        _settle([kind])
        _flat_output(out, kind).copy_to_device(_flat_output(result, kind))
        _settle([kind])
    else:
        host = _torch_to_numpy(out, "out") if _is_torch(result) else out
        check_out(host, tuple(result.shape), dtype)
        host[...] = result
    return out


def as_double(x, stream):
    """A Numba device array as float64, which `elementwise` does not convert; anything else as it is."""
    if _device_kind(x) != "numba":
        return x
    if stream is not None:
        cuda.synchronize()
    return cuda.to_device(x.copy_to_host().astype(np.float64))


def in_float32(result, out, stream):
    """A float64 result of any kind rounded to float32, in `out` if there is one."""
    dtype = np.dtype(np.float32)
    if stream is not None:
        cuda.synchronize()  # what follows is not in that stream
    if _device_kind(result) == "numba":
        result = cuda.to_device(result.copy_to_host().astype(dtype))
    elif _is_torch(result):
        result = result.float()
    else:
        with np.errstate(over="ignore", under="ignore"):
            result = result.astype(dtype)
    return deliver(result, out, dtype)


def of_host(function):
    """Let a function of values on the host take arrays of every kind, its first argument, and give back the same kind.

    Where it has a `device`, values on the GPU are worked on there.
    """
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def any_kind(*args, **options):
        given = args[0] if args else options.get(names[0])
        if not (_device_kind(given) or _is_torch(given)):
            return function(*args, **options)
        values = dict(zip(names, args, strict=False)) | options
        values[names[0]] = to_host(given, names[0])
        if "device" in names and _device_kind(given):
            values["device"] = choose_device(values.get("device"), on_device=True)
        return in_kind_of(function(**values), given)

    return any_kind


# --- random draws ---------------------------------------------------------------------------------------------


def draw(kernels, purpose, names, parameters, arity, size, rng, dtype, out, device, workers, stream, cost, refuse=None):
    """Broadcast, key, launch: the common body of every random function; `refuse` raises for parameters without a distribution."""
    like = first_array(parameters)
    parameters = [as_host(to_host(p, name)) for p, name in zip(parameters, names, strict=True)]
    result_dtype(names, [getattr(p, "dtype", None) for p in parameters])  # reject what is not a real number
    dtype = np.dtype(np.float64) if dtype is None else check_dtype(dtype)
    shape = size_to_shape(size, [np.shape(p) for p in parameters], out)
    if refuse is not None:
        refuse(*parameters)
    result, flat, on_device = place_out(out, shape, dtype)
    key = key_words(normalise_rng(rng))
    n = total(shape)
    where = choose_device(device, on_device=on_device or bool(_device_kind(like)))
    check_workers(workers)
    if n:
        kernel = kernels[NAME[dtype]] if isinstance(kernels, dict) else kernels
        args = [flatten(p, shape, dtype) for p in parameters] + [dtype.type(0.0)] * (arity - len(parameters))
        if out is not None and not on_device:
            args = [a.copy() if _overlaps(a, flat) else a for a in args]
        fixed = (*key, stream_word(purpose, 0 if dtype == np.float64 else 1))

        def slab(lo, hi):
            return (*fixed, np.int64(lo), *(a[lo:hi] if isinstance(a, np.ndarray) else a for a in args))

        if where == "cpu" and is_executor(workers):
            launch_slabs(workers, kernel, slab, flat)
        elif where == "cpu" and n * cost > SLAB_WORK:
            _launch_cut(kernel, slab, (flat,), n, workers=workers, cost=cost)
        else:
            kinds = [_device_kind(out)]
            _settle(kinds)
            launch(kernel, (*slab(0, n), flat), n, device=where, workers=workers, cost=cost, stream=stream)
            _settle(kinds)
    if out is None and like is not None:
        return in_kind_of(result, like)
    return result[()] if out is None and size is None and not shape else result
