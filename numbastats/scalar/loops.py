"""Loop skeletons, the CPU and the CUDA twin of each access pattern side by side.

Names with a leading underscore are free: `build` binds them to scalar functions. All inputs of a map are
read through `at`, so each may be an array of the output's length or one number. CPU loops run over fixed
chunks, so results do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from numbastats._core.cuda_backend import cuda
from numbastats.scalar.bits import at, buffer, in_step, reread
from numbastats.scalar.philox import philox4x32, philox4x32_words, word_bits

CHUNK = 4096  # elements per task
BLOCK = 64  # elements per pass of a blocked map: its buffers stay in the first-level cache

_f = _head = _tail = _first = _second = _try = _finish = None  # bound by build


# --- map: out[i] = f(x[i], ...) -------------------------------------------------------------------------------


def map1_cpu(x, out):
    for c in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(c) * CHUNK
        o = out[lo : lo + CHUNK]
        for i in range(o.size):
            in_step()
            o[i] = _f(at(x, lo + i))


def map1_cuda(x, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _f(at(x, i))


def map2_cpu(x, a, out):
    for c in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(c) * CHUNK
        o = out[lo : lo + CHUNK]
        for i in range(o.size):
            in_step()
            o[i] = _f(at(x, lo + i), at(a, lo + i))


def map2_cuda(x, a, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _f(at(x, i), at(a, i))


def map3_cpu(x, a, b, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o = out[lo : lo + CHUNK]
        for i in range(o.size):
            in_step()
            o[i] = _f(at(x, lo + i), at(a, lo + i), at(b, lo + i))


def map3_cuda(x, a, b, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _f(at(x, i), at(a, i), at(b, i))


def map4_cpu(x, a, b, c, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o = out[lo : lo + CHUNK]
        for i in range(o.size):
            in_step()
            o[i] = _f(at(x, lo + i), at(a, lo + i), at(b, lo + i), at(c, lo + i))


def map4_cuda(x, a, b, c, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _f(at(x, i), at(a, i), at(b, i), at(c, i))


def map5_cpu(x, a, b, c, d, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        lo = np.int64(k) * CHUNK
        o = out[lo : lo + CHUNK]
        for i in range(o.size):
            in_step()
            o[i] = _f(at(x, lo + i), at(a, lo + i), at(b, lo + i), at(c, lo + i), at(d, lo + i))


def map5_cuda(x, a, b, c, d, out):
    half = (out.size + 1) // 2
    for i in range(cuda.grid(1), half, cuda.gridsize(1)):  # two values at once, which share the registers of the constants
        j = min(i + half, out.size - 1)
        one = _f(at(x, i), at(a, i), at(b, i), at(c, i), at(d, i))
        two = _f(at(x, j), at(a, j), at(b, j), at(c, j), at(d, j))
        out[i] = one
        out[j] = two


# --- random words: out[i] = tail(*head(bits of item i), ...) ----------------------------------------------------
# A group of COUNTERS counters gives 2 COUNTERS 64-bit words: w0:w1 of every counter, then w2:w3 of every counter, so that
# neither the CPU's vectors nor a warp's lanes have to shuffle. A float64 takes one of them; in float32 the lower half serves
# an item, the upper half the next. Counter words: counter number low, high, 0, stream. `first` is the first item, a multiple
# of CHUNK. The words reach the head as the bit pattern of a float (`word_bits`), so that it knows the float type. On CUDA
# `_f` takes words and parameters.

COUNTERS = 32
WORDS, MOST = 2 * COUNTERS, 4 * COUNTERS  # 64-bit words of a group; its items, at most
_PER = 2  # items of a counter: 2 in float64, 4 in float32


def words_cpu(k0, k1, stream, first, a, b, out):
    group = COUNTERS * _PER
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        words = buffer(WORDS, np.uint64)
        bits = reread(words, out.dtype)
        u, v = buffer(MOST, out.dtype), buffer(MOST, out.dtype)
        start = np.int64(k) * CHUNK
        for lo in range(start, start + out[start : start + CHUNK].size, group):
            counter = (np.int64(first) + lo) // group * COUNTERS
            low, high = np.uint32(counter), np.uint32(counter >> 32)  # a group never crosses a multiple of 2^32
            for i in range(COUNTERS):  # a round waits for the one before: four vectors of counters keep the units busy
                in_step()
                words[i], words[i + COUNTERS] = philox4x32_words(low + np.uint32(i), high, np.uint32(0), stream, k0, k1)
            o = out[lo : lo + group]
            for i in range(o.size):  # `group` is a constant: LLVM would unroll the whole loop, which is slower
                in_step()
                u[i], v[i] = _head(bits[i])
            for i in range(o.size):
                in_step()
                o[i] = _tail(u[i], v[i], at(a, lo + i), at(b, lo + i))


def words_cuda(k0, k1, stream, first, a, b, out):
    group = COUNTERS * _PER
    for c in range(cuda.grid(1), (out.size + group - 1) // group * COUNTERS, cuda.gridsize(1)):
        counter = first // group * COUNTERS + c
        r0, r1, r2, r3 = philox4x32(np.uint32(counter), np.uint32(counter >> 32), np.uint32(0), stream, k0, k1)
        base = c // COUNTERS * group + c % COUNTERS * (_PER // 2)
        for q in range(_PER // 2):  # two values at once, as in `map5_cuda`
            if _PER == 2:
                i, j = base, base + COUNTERS
                u0, u1, w0, w1 = r0, r1, r2, r3
            else:
                i = base + q * (2 * COUNTERS)
                j = i + 1
                u0, w0 = (r1, r0) if q == 0 else (r3, r2)
                u1, w1 = u0, w0
            m, n = min(i, out.size - 1), min(j, out.size - 1)
            one, two = _f(u0, u1, at(a, m), at(b, m)), _f(w0, w1, at(a, n), at(b, n))
            if i < out.size:
                out[i] = one
            if j < out.size:
                out[j] = two


# --- random items: one vectorised try for all, then item by item where it failed -------------------------------
# For draws that use a varying number of words. An item's counter words are: item low, item high, draw, stream. The first pass
# turns the four words of draw 0 into two numbers, the second tries to make the draw of them, the third finishes in scalar
# code. On CUDA `_f` does it all. Floats have the type of the parameters, of which counts are made in the output.


def items_cpu(k0, k1, stream, first, a, b, c, d, out):
    for k in prange((out.size + CHUNK - 1) // CHUNK):
        T = type(at(a, 0))
        u, v, x, y = buffer(BLOCK, T), buffer(BLOCK, T), buffer(BLOCK, T), buffer(BLOCK, T)
        start = np.int64(k) * CHUNK
        for lo in range(start, start + out[start : start + CHUNK].size, BLOCK):
            item = np.int64(first) + lo
            low, high = np.uint32(item), np.uint32(item >> 32)  # a block never crosses a multiple of 2^32
            o = out[lo : lo + BLOCK]
            for i in range(o.size):
                in_step()
                r0, r1, r2, r3 = philox4x32(np.uint32(low + np.uint32(i)), high, np.uint32(0), stream, k0, k1)
                u[i], v[i] = word_bits(r0, r1, u[i]), word_bits(r2, r3, v[i])
            for i in range(o.size):
                in_step()
                x[i] = _first(u[i], v[i])
            for i in range(o.size):
                in_step()
                y[i] = _second(u[i], v[i])
            for i in range(o.size):
                in_step()
                j = lo + i
                u[i] = _try(x[i], y[i], at(a, j), at(b, j), at(c, j), at(d, j))
            for i in range(o.size):
                j = lo + i
                o[i] = _finish(k0, k1, item + i, stream, at(a, j), at(b, j), at(c, j), at(d, j), u[i])


def items_cuda(k0, k1, stream, first, a, b, c, d, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = _f(k0, k1, first + i, stream, at(a, i), at(b, i), at(c, i), at(d, i))
