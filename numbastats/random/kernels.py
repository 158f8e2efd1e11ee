"""Kernels of random draws: loops over counters, around the samplers of numbers."""

from __future__ import annotations

from numba import types

from numbastats._core.kernel import Kernel
from numbastats.scalar import loops, samplers

__all__ = ["EXPONENTIAL", "GAMMA", "NORMAL", "TRUNCNORM", "UNIFORM"]

_KEY = (types.uint32, types.uint32, types.uint32, types.int64)


def _words(name, head, tail, whole, parameters=2):
    """Kernels of a distribution with a fixed number of words per draw, by dtype name."""

    def make(dtype, per):
        return Kernel(
            f"random.{name}_{dtype}",
            loops.words_cpu,
            loops.words_cuda,
            lambda T: [(*_KEY, T, T, T[::1]), (*_KEY, *[T[::1]] * parameters, *[T] * (2 - parameters), T[::1])],
            dtypes=(dtype,),
            cpu_only={"_head": head, "_tail": tail},
            cuda_only={"_f": whole},
            _PER=per,
        )

    return {"float64": make("float64", 2), "float32": make("float32", 4)}


def _items(name, item, *arrays, **steps):
    """Kernel of a distribution whose draws take a varying number of words or way; `arrays`: how many parameters may be arrays."""
    return Kernel(
        f"random.{name}",
        loops.items_cpu,
        loops.items_cuda,
        lambda T: [(*_KEY, *[T[::1]] * count, *[T] * (4 - count), T[::1]) for count in (0, *arrays)],
        cuda_only={"_f": item},
        cpu_only=steps,
    )


UNIFORM = _words("uniform", samplers.uniform_head, samplers.uniform_tail, samplers.uniform_from_words)
NORMAL = _words("normal", samplers.normal_head, samplers.normal_tail, samplers.normal_from_words)
EXPONENTIAL = _words("exponential", samplers.exponential_head, samplers.exponential_tail, samplers.exponential_pair, 1)
GAMMA = _items(
    "gamma",
    samplers.gamma_item,
    2,
    _first=samplers.gamma_first,
    _second=samplers.gamma_second,
    _try=samplers.gamma_try,
    _finish=samplers.gamma_finish,
)
TRUNCNORM = _items(
    "truncnorm",
    samplers.truncnorm1,
    1,
    4,
    _first=samplers.truncnorm_first,
    _second=samplers.truncnorm_second,
    _try=samplers.truncnorm_central,
    _finish=samplers.truncnorm_finish,
)
