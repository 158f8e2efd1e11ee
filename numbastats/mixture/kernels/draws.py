"""``draws``: from normal mixtures in one pass, a component and a value of it for each item."""

from __future__ import annotations

import numba
import numpy as np
from numba import prange

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, device_function
from numbastats.scalar.bits import buffer, from_bits, in_step, reread
from numbastats.scalar.loops import CHUNK, COUNTERS, WORDS
from numbastats.scalar.philox import philox4x32, philox4x32_words, unit, word_bits
from numbastats.scalar.samplers import normal_head, normal_tail

# Values are those of `loops.words_cpu`. Components take half a word: PICKED counters of the stream `picks` serve a group, whose
# item i has the word i // PICKED of the counter i % PICKED. Rows of the table: the sum of the weights so far, mean, deviation.
PICKED = COUNTERS // 2
LOW, UP = np.uint64(0xFFFFFFFF), np.uint64(32)


@device_function
def pick(word):
    """A number between 0 and 1 from the lower half of a 64-bit word."""
    return unit(from_bits(np.uint64(np.uint64(word) & LOW) << UP))


def draws_cpu(k0, k1, stream, picks, first, table, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        words, halves = buffer(WORDS, np.uint64), buffer(COUNTERS, np.uint64)
        bits = reread(words, out.dtype)
        u, v, r = buffer(WORDS, out.dtype), buffer(WORDS, out.dtype), buffer(WORDS, out.dtype)
        mean, deviation = buffer(WORDS, out.dtype), buffer(WORDS, out.dtype)
        start = np.int64(k) * CHUNK
        for lo in range(start, start + out[start : start + CHUNK].size, WORDS):
            group = (np.int64(first) + lo) // WORDS
            counter, picking = group * COUNTERS, group * PICKED
            low, high = np.uint32(counter), np.uint32(counter >> 32)  # a group never crosses a multiple of 2^32
            for i in range(COUNTERS):
                in_step()
                words[i], words[i + COUNTERS] = philox4x32_words(low + np.uint32(i), high, np.uint32(0), stream, k0, k1)
            low, high = np.uint32(picking), np.uint32(picking >> 32)
            for i in range(PICKED):
                in_step()
                halves[i], halves[i + PICKED] = philox4x32_words(low + np.uint32(i), high, np.uint32(0), picks, k0, k1)
            for i in range(PICKED):
                u[i], u[i + PICKED] = pick(halves[i] >> UP), pick(halves[i])
                u[i + 2 * PICKED], u[i + 3 * PICKED] = pick(halves[i + PICKED] >> UP), pick(halves[i + PICKED])
            o = out[lo : lo + WORDS]
            for i in range(WORDS):
                in_step()
                v[i], r[i] = normal_head(bits[i])
            edge, m, s = -1.0, table[1, 0], table[2, 0]
            for j in range(table.shape[1]):
                m, s = table[1, j], table[2, j]
                for i in range(WORDS):
                    mean[i] = m if u[i] >= edge else mean[i]
                    deviation[i] = s if u[i] >= edge else deviation[i]
                edge = table[0, j]
            for i in range(o.size):
                o[i] = normal_tail(v[i], r[i], mean[i], deviation[i])


def draws_cuda(k0, k1, stream, picks, first, table, out):
    for c in range(cuda.grid(1), (out.size + WORDS - 1) // WORDS * COUNTERS, cuda.gridsize(1)):
        group = first // WORDS + c // COUNTERS
        counter = group * COUNTERS + c % COUNTERS
        w0, w1, w2, w3 = philox4x32(np.uint32(counter), np.uint32(counter >> 32), np.uint32(0), stream, k0, k1)
        picking = group * PICKED + c % PICKED
        p0, p1, p2, p3 = philox4x32(np.uint32(picking), np.uint32(picking >> 32), np.uint32(0), picks, k0, k1)
        for q in range(2):
            i = c // COUNTERS * WORDS + c % COUNTERS + q * COUNTERS
            if i < out.size:
                upper = c % COUNTERS >= PICKED
                u = pick((p3 if upper else p2) if q == 1 else (p1 if upper else p0))
                j = 0
                for k in range(1, table.shape[1]):
                    j = k if u >= table[0, k - 1] else j
                v, r = normal_head(word_bits(w2 if q == 1 else w0, w3 if q == 1 else w1, u))
                out[i] = normal_tail(v, r, table[1, j], table[2, j])


_word, _f = numba.types.uint32, numba.types.float64
DRAWS = Kernel(
    "mixture.draws",
    draws_cpu,
    draws_cuda,
    lambda T: [(_word, _word, _word, _word, numba.types.int64, _f[:, ::1], _f[::1])],
    dtypes=("float64",),
)
