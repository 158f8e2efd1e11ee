"""Tensors of torch: two kinds, on a GPU and on the host."""

from __future__ import annotations

import types

import numpy as np

from numbastats._core.device import refuse_capture, view

name = "torch"


def dtype(x):
    called = str(x.dtype).rpartition(".")[2]
    try:
        return np.dtype(called)
    except TypeError:
        raise TypeError(
            f"a tensor has dtype {called}; allowed are float64, float32 and integers. Convert it: x.double()"
        ) from None


def _refuse_gradients(x, name):
    if x.requires_grad:
        raise TypeError(f"{name} requires gradients, which numbastats does not compute; pass {name}.detach()")


def _host_to_numpy(x, name):
    _refuse_gradients(x, name)
    try:
        return x.numpy()
    except TypeError:  # bfloat16, sparse
        raise TypeError(
            f"{name} is a {x.layout} tensor of {x.dtype}, which NumPy cannot read; pass {name}.to_dense().double()"
        ) from None


def from_host(result, like):
    import torch

    return torch.from_numpy(np.asarray(result)).to(like.device)


def copied(x):
    return x.clone()


def as_float32(x):
    return x.float()


def ends(x):
    return x.data_ptr(), x.data_ptr() + x.numel() * x.element_size()


def flat_input(x, name, shape, dtype):
    import torch

    _refuse_gradients(x, name)
    return view(torch.broadcast_to(x.to(getattr(torch, dtype.name)), shape).contiguous().reshape(-1))


def current_stream():
    import torch

    refuse_capture(torch.cuda.is_current_stream_capturing())
    return torch.cuda.current_stream().cuda_stream


def empty(like, shape, dtype):
    import torch

    return torch.empty(shape, dtype=getattr(torch, dtype.name), device=like.device)


_both = dict(name=name, dtype=dtype, from_host=from_host, copied=copied, as_float32=as_float32, ends=ends)

on_host = types.SimpleNamespace(
    **_both, on_device=False, is_mine=lambda x, libraries: "torch" in libraries and not x.is_cuda, to_host=_host_to_numpy
)
on_gpu = types.SimpleNamespace(
    **_both,
    on_device=True,
    is_mine=lambda x, libraries: "torch" in libraries and x.is_cuda,
    to_host=lambda x, name: _host_to_numpy(x.cpu(), name),
    gpu_of=lambda x: x.device.index,
    current_stream=current_stream,
    takes=lambda x, shape, dtype: True,
    flat_input=flat_input,
    empty=empty,
    flat_output=lambda x: view(x.reshape(-1)),
    is_contiguous=lambda x: x.is_contiguous(),
)
