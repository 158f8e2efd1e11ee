"""Philox4x32-10 against the published vectors, and the exactness of the ways from words to floats."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from numbastats._core.kernel import device_function
from numbastats.scalar import philox
from tests.contract import built

REFERENCE = Path(__file__).parents[1] / "reference" / "random" / "philox_kat.txt"
ALL = np.uint32(0xFFFFFFFF)


def philox_blocks(counters, k0, k1, out):
    for i in range(out.shape[0]):
        c = counters[i]
        w = philox.philox4x32(c[0], c[1], c[2], c[3], k0, k1)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = w


def known_answers():
    for line in REFERENCE.read_text().splitlines():
        if line.startswith("philox4x32 10 "):
            yield [np.array([int(w, 16) for w in part.split()], np.uint32) for part in line.split("|")[1:]]


def test_there_are_known_answers():
    assert len(list(known_answers())) >= 3


@pytest.mark.parametrize(("counter", "key", "expected"), list(known_answers()))
def test_known_answers(counter, key, expected):
    assert [int(w) for w in philox.philox4x32(*counter, *key)] == expected.tolist()
    # Enough copies for the vectorised part of a loop and its remainder.
    out = np.zeros((67, 4), np.uint32)
    built(philox_blocks, "serial")(np.tile(counter, (67, 1)), key[0], key[1], out)
    assert np.array_equal(out, np.tile(expected, (67, 1)))


def naive_philox(counter, key):
    c0, c1, c2, c3 = (int(c) for c in counter)
    k0, k1 = (int(k) for k in key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c3 ^ k1, p0 & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def test_random_counters_agree_with_integer_arithmetic():
    rng = np.random.default_rng(1)
    counters = rng.integers(0, 2**32, (203, 4), dtype=np.uint32)
    key = rng.integers(0, 2**32, 2, dtype=np.uint32)
    out = np.zeros((203, 4), np.uint32)
    built(philox_blocks, "serial")(counters, key[0], key[1], out)
    assert np.array_equal(out, np.array([naive_philox(c, key) for c in counters], np.uint32))


def philox_pairs(low, rest, k0, k1, out):
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = philox.philox4x32_words(low + np.uint32(i), rest[0], rest[1], rest[2], k0, k1)


@pytest.mark.parametrize("low", [0, 2**32 - 50])
def test_words_of_64_bits(low):
    rng = np.random.default_rng(4)
    rest, key = rng.integers(0, 2**32, 3, dtype=np.uint32), rng.integers(0, 2**32, 2, dtype=np.uint32)
    out = np.zeros((76, 2), np.uint64)
    built(philox_pairs, "serial")(np.uint32(low), rest, key[0], key[1], out)
    for i, pair in enumerate(out):
        w = naive_philox([(low + i) % 2**32, *rest], key)
        assert [int(x) for x in pair] == [w[0] << 32 | w[1], w[2] << 32 | w[3]]


def words(n):
    rng = np.random.default_rng(2)
    return [(0, 0), (2**32 - 1, 2**32 - 1), (2**31, 0), (0, 4096)] + [
        tuple(int(x) for x in pair) for pair in rng.integers(0, 2**32, (n, 2))
    ]


@device_function
def uniform23(word):
    return philox.unit(philox.word_bits(word, word, np.float32(1.0)))


@pytest.mark.parametrize(("hi", "lo"), words(40))
def test_uniforms_are_exact(hi, lo):
    half = Fraction(1, 2)
    u = philox.uniform52(np.uint32(hi), np.uint32(lo))
    assert Fraction(u) == (((hi << 32 | lo) >> 12) + half) / 2**52
    f = uniform23(np.uint32(hi))
    assert Fraction(float(f)) == ((hi >> 9) + half) / 2**23
    # 31 bits do not fit into float32: nearest number, and with its rounding error exact
    t, e = philox.unit_and_rest32(np.uint32(hi))
    assert Fraction(float(t)) + Fraction(float(e)) == (hi + half) / 2**32
    t, e = philox.unit_and_rest31(np.uint32(hi))
    assert Fraction(float(t)) + Fraction(float(e)) == ((hi & 0x7FFFFFFF) + half) / 2**31


def test_uniforms_stay_inside():
    assert 0 < philox.uniform52(np.uint32(0), np.uint32(0)) < philox.uniform52(ALL, ALL) < 1
    assert 0 < uniform23(np.uint32(0)) < uniform23(ALL) < 1
