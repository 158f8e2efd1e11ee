"""The ``rng`` argument, the Philox key, and the registry of the purposes of counters.

A counter has four 32-bit words: item low, item high or step, draw, and ``stream | purpose << 24``. Every use of random
numbers in the library has a purpose of its own here, so no two share a stream under one key.
"""

from __future__ import annotations

import enum
import functools
import operator
from typing import NamedTuple

import numpy as np

from numbastats._core.checks import is_integer

__all__ = ["Key", "Purpose", "key_words", "normalise_rng", "stream_word"]


class Purpose(enum.IntEnum):
    """The top 8 bits of the last counter word. Values are part of the reproducibility contract: never renumber."""

    UNIFORM = 1
    NORMAL = 2
    EXPONENTIAL = 3
    GAMMA = 4
    TRUNCNORM = 5
    BETA = 6
    WALD = 7
    POISSON = 8
    BINOMIAL = 9
    NEGATIVE_BINOMIAL = 10
    GEOMETRIC = 11
    WEIBULL = 12
    PARETO = 13
    STANDARD_T = 14
    CHISQUARE = 15
    LAPLACE = 16
    LOGISTIC = 17
    GUMBEL = 18
    POLYA_GAMMA = 19
    MIXTURE_START = 48
    MIXTURE_SAMPLE = 49
    STABLE = 50
    BAYES = 51


class Key(NamedTuple):
    """A key made by `normalise_rng`, shared by the blocks of one call."""

    word: np.uint64


def normalise_rng(rng) -> np.uint64:
    """Turn ``rng`` into the 64-bit Philox key of one call.

    Parameters
    ----------
    rng : None, int, numpy.random.SeedSequence or numpy.random.Generator
        None takes fresh entropy. An integer or SeedSequence gives the same key each time. A Generator gives 64 bits of its
        stream, so that repeated calls differ and the sequence of calls is reproducible.

    Raises
    ------
    TypeError
        For anything else, for example `numpy.random.RandomState`.
    ValueError
        For a negative integer.
    """
    if isinstance(rng, Key):
        return rng.word
    if isinstance(rng, np.random.Generator):
        return np.uint64(rng.integers(0, 2**64, dtype=np.uint64, endpoint=False))
    if isinstance(rng, np.random.BitGenerator):
        return normalise_rng(np.random.Generator(rng))  # 64 bits, also from bit generators of 32 bits
    if not isinstance(rng, np.random.SeedSequence):
        if rng is not None:
            if not is_integer(rng):
                raise TypeError(
                    f"rng is a {type(rng).__name__}; use None, an integer >= 0, a numpy.random.SeedSequence or a "
                    "numpy.random.Generator (numpy.random.default_rng(seed))"
                )
            rng = operator.index(rng)
            if rng < 0:
                raise ValueError(f"rng={rng} is negative; use an integer >= 0")
            return _key_of_integer(rng)
        rng = np.random.SeedSequence()
    return rng.generate_state(1, np.uint64)[0]


@functools.lru_cache(256)
def _key_of_integer(seed):
    return np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]


def key_words(key) -> tuple[np.uint32, np.uint32]:
    """The two 32-bit words of a key, low word first."""
    key = int(key)
    return np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)


def stream_word(purpose: Purpose, stream: int = 0) -> np.uint32:
    """The last counter word: up to 2^24 streams within a purpose."""
    if not 0 <= stream < 1 << 24:
        raise ValueError(f"stream={stream} is out of range; use 0 <= stream < 2**24")
    return np.uint32(stream | int(purpose) << 24)
