"""Elementary functions against mpmath. The 1e5-point scans are in reference/elementary_scan.md."""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import mpmath as mp
import numba
import numpy as np

if __name__ == "__main__":  # the process without fused multiply-add
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pytest

from numbastats._core.kernel import device_function
from numbastats.scalar import elementary, loops
from tests.contract import built

HERE = Path(__file__).resolve().parents[1]
DTYPES = (np.float64, np.float32)
INF, NAN = np.inf, np.nan

# name: exact function; (lo, hi, scale) of the points for float64 and float32, "log" meaning log-uniform magnitudes and
# "signed" both signs of them; limit in ulp. Comments: largest errors seen with / without fused multiply-add, in 1e5
# points and, for float32 with it, also in every third to ninth of all floats.
CASES = {
    # 0.83 / 0.77
    "exp": (mp.exp, [(-745, 709.7, "lin"), (-1, 1, "lin")], [(-103, 88.7, "lin"), (-1, 1, "lin")], 1.0),
    # 0.83 / 0.78
    "exp_neg": (mp.exp, [(-708, 0, "lin"), (-1, 0, "lin")], [(-87, 0, "lin"), (-1, 0, "lin")], 1.0),
    # 1.44 / 1.53
    "expm1": (mp.expm1, [(-0.5, 1.1, "lin"), (1e-300, 700, "signed")], [(-0.5, 1.1, "lin"), (1e-40, 88, "signed")], 2.0),
    # 2.41 / 2.08
    "sinh": (mp.sinh, [(-2, 2, "lin"), (1e-300, 710.4, "signed")], [(-2, 2, "lin"), (1e-40, 89.3, "signed")], 3.0),
    # 1.27 / 1.13
    "cosh": (mp.cosh, [(-2, 2, "lin"), (1e-3, 710.4, "signed")], [(-2, 2, "lin"), (1e-3, 89.3, "signed")], 3.0),
    # 2.60 / 2.27
    "tanh": (mp.tanh, [(-2, 2, "lin"), (1e-300, 30, "signed")], [(-2, 2, "lin"), (1e-40, 15, "signed")], 3.0),
    # 0.93 / 0.99
    "log": (mp.log, [(0.4, 2.5, "lin"), (1e-323, 1e308, "log")], [(0.4, 2.5, "lin"), (1e-44, 3e38, "log")], 1.0),
    # 1.42 / 1.38
    "log1p": (mp.log1p, [(-1, 2, "lin"), (1e-300, 1e308, "log")], [(-1, 2, "lin"), (1e-40, 3e38, "log")], 1.5),
    # 1.25 / 1.68
    "sin": (mp.sin, [(-1e6, 1e6, "lin"), (1e-300, 20, "signed")], [(-4e3, 4e3, "lin"), (1e-40, 20, "signed")], 1.3),
    # 1.24 / 1.68
    "cos": (mp.cos, [(-1e6, 1e6, "lin"), (1e-3, 20, "signed")], [(-4e3, 4e3, "lin"), (1e-3, 20, "signed")], 1.3),
    # 1.08 / 1.60
    "tan": (mp.tan, [(-1e6, 1e6, "lin"), (1e-300, 20, "signed")], [(-4e3, 4e3, "lin"), (1e-40, 20, "signed")], 2.0),
    # 1.51 / 1.41
    "sinpi": (mp.sinpi, [(-3, 3, "lin"), (1e-300, 1e15, "signed")], [(-3, 3, "lin"), (1e-36, 1e7, "signed")], 2.0),
    # 1.49 / 1.42
    "cospi": (mp.cospi, [(-3, 3, "lin"), (1e-3, 1e15, "signed")], [(-3, 3, "lin"), (1e-3, 1e7, "signed")], 2.0),
    # 1.89 / 1.85
    "atan": (mp.atan, [(-3, 3, "lin"), (1e-300, 1e300, "signed")], [(-3, 3, "lin"), (1e-40, 1e38, "signed")], 2.0),
    # 0.50 / 0.50
    "recip": (lambda x: 1 / x, [(1e-307, 1e307, "signed")], [(1e-37, 1e37, "signed")], 0.5),
    # 1.45 / 1.45
    "rsqrt": (lambda x: 1 / mp.sqrt(x), [(1e-323, 1e308, "log")], [(1e-44, 3e38, "log")], 1.5),
}


def draw(ranges, n, dtype):
    rng = np.random.default_rng(7)
    parts = []
    for lo, hi, scale in ranges:
        m = n // len(ranges)
        x = rng.uniform(lo, hi, m) if scale == "lin" else np.exp(rng.uniform(np.log(lo), np.log(hi), m))
        parts.append(x * rng.choice([-1.0, 1.0], m) if scale == "signed" else x)
    return np.concatenate(parts).astype(dtype)


@functools.cache
def kernel(f, arity):
    return built((loops.map1_cpu, loops.map2_cpu)[arity - 1], "serial", _f=f)


def apply(f, *args):
    out = np.empty_like(args[0])
    kernel(f, len(args))(*args, out)
    return out


def exact_values(f, *args):
    return [f(*map(mp.mpf, v)) for v in zip(*(a.astype(float).tolist() for a in args), strict=True)]


def ulp_error(got, exact, dtype):
    """Largest |got - exact| in spacings of the exact result rounded to the type."""
    unit = np.spacing(np.abs(np.array([float(e) for e in exact]).astype(dtype))).astype(float)
    return max(float(abs(mp.mpf(float(g)) - e) / mp.mpf(u)) for g, e, u in zip(got, exact, unit.tolist(), strict=True))


def map_error(name, dtype, n):
    reference, *ranges, _ = CASES[name]
    x = draw(ranges[dtype is np.float32], n, dtype)
    return ulp_error(apply(getattr(elementary, name), x), exact_values(reference, x), dtype)


def pow_error(dtype, n):
    rng = np.random.default_rng(8)
    limit = 700.0 if dtype is np.float64 else 86.0
    near_one = 1 + rng.uniform(-1, 1, n // 2) * 10.0 ** rng.uniform(-5, -0.3, n // 2)
    x = np.concatenate([draw([(1e-40, 1e38, "log")], n - n // 2, dtype), near_one.astype(dtype)])
    y = (rng.uniform(-limit, limit, n) / np.log(x.astype(float))).astype(dtype)
    return ulp_error(apply(elementary.pow, x, y), exact_values(mp.power, x, y), dtype)


@pytest.fixture(autouse=True)
def precision():
    with mp.workdps(50):
        yield


# --- accuracy --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_accuracy(name, dtype):
    assert map_error(name, dtype, 2000) <= CASES[name][-1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_pow_accuracy(dtype):
    assert pow_error(dtype, 2000) <= 1.5  # 1.01 seen


@pytest.mark.slow
def test_accuracy_without_fma():
    environment = os.environ | {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "", "NUMBASTATS_CACHE": "0"}
    run = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=True)
    errors = json.loads(run.stdout)
    assert len(errors) == 2 * len(CASES) + 2
    limits = {name: case[-1] for name, case in CASES.items()} | {"sin": 1.7, "cos": 1.7, "pow": 2.0}
    for (name, dtype), error in errors:
        assert error <= limits[name], (name, dtype, error)


@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 3.3e-16), (np.float32, 1.5e-7)])  # 3.24e-16, 1.41e-7 seen
def test_cos_abs(dtype, limit):
    x = draw([(-3e6, 3e6, "lin"), (-10, 10, "lin")] if dtype is np.float64 else [(-12e3, 12e3, "lin")], 2000, dtype)
    got = apply(elementary.cos_abs, x).astype(float)
    assert max(float(abs(g - e)) for g, e in zip(got, exact_values(mp.cos, x), strict=True)) <= limit


@pytest.mark.parametrize(("dtype", "ratio"), [(np.float64, np.pi / 2), (np.float32, np.pi / 2)])
def test_next_to_the_zeros(dtype, ratio):
    """Next to multiples of pi/2 all leading digits cancel. Seen: 1.0."""
    n = np.random.default_rng(9).integers(1, int((1e6 if dtype is np.float64 else 4000) / ratio), 700)
    x = (n * ratio).astype(dtype)
    x = np.concatenate([x, np.nextafter(x, dtype(0)), np.nextafter(x, dtype(INF))])
    for name in ("sin", "cos", "tan"):
        assert ulp_error(apply(getattr(elementary, name), x), exact_values(CASES[name][0], x), dtype) <= 2.0


@pytest.mark.parametrize(("dtype", "top"), [(np.float64, 1e14), (np.float32, 9e5)])
def test_sin_cos_beyond_their_range(dtype, top):
    x = draw([(1e6 if dtype is np.float64 else 4000, top, "log")], 500, dtype)
    for name in ("sin", "cos"):
        got, exact = apply(getattr(elementary, name), x), exact_values(CASES[name][0], x)
        error = np.array([float(abs(mp.mpf(float(g)) - e)) for g, e in zip(got, exact, strict=True)])
        assert np.all(error <= np.spacing(np.abs(x)) / 2)


@device_function
def log_dd_hi(x):
    return elementary.log_dd(x)[0]


@device_function
def log_dd_lo(x):
    return elementary.log_dd(x)[1]


@pytest.mark.parametrize(("dtype", "bits"), [(np.float64, 63.5), (np.float32, 34.0)])  # 63.6, 34.1 seen
def test_log_dd(dtype, bits):
    x = draw([*CASES["log"][1 + (dtype is np.float32)], (0.99, 1.01, "lin")], 2000, dtype)
    hi, lo, exact = apply(log_dd_hi, x), apply(log_dd_lo, x), exact_values(mp.log, x)
    assert np.all(hi + lo == hi)
    for h, t, e in zip(hi, lo, exact, strict=True):
        assert abs(mp.mpf(float(h)) + mp.mpf(float(t)) - e) <= abs(e) * mp.mpf(2) ** -bits


@pytest.mark.parametrize(("dtype", "shift"), [(np.float64, 60), (np.float32, 30)])
def test_log_scaled(dtype, shift):
    x = draw([(1e-30, 1, "log"), (0.9, 1, "lin")], 500, dtype)
    got = apply(elementary.log_scaled, x * dtype(2.0**shift), np.full_like(x, -shift))
    assert ulp_error(got, exact_values(mp.log, x), dtype) <= 1.0


# --- edges -----------------------------------------------------------------------------------------------------------

EDGES = {
    "exp": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (1e4, INF), (-1e4, 0), (1e-300, 1)],
    "exp_neg": [(0.0, 1), (-0.0, 1), (-INF, 0), (-1e4, 0)],
    "expm1": [(0.0, 0), (-0.0, -0.0), (INF, INF), (-INF, -1), (1e4, INF), (-1e4, -1)],
    "sinh": [(0.0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e4, INF), (-1e4, -INF)],
    "cosh": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (-1e4, INF)],
    "tanh": [(0.0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (1e4, 1), (-1e4, -1)],
    "log": [(0.0, -INF), (-0.0, -INF), (1, 0), (INF, INF), (-1, NAN), (-INF, NAN)],
    "log1p": [(0.0, 0), (-0.0, -0.0), (-1, -INF), (INF, INF), (-2, NAN), (-INF, NAN)],
    "sin": [(0.0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e15, NAN)],
    "cos": [(0.0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN), (1e15, NAN)],
    "tan": [(0.0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e15, NAN)],
    "sinpi": [(0.0, 0), (-0.0, -0.0), (3, 0), (-3, -0.0), (0.5, 1), (-1.5, 1), (1e30, 0), (INF, NAN), (2**24 - 1, 0)],
    "cospi": [(0.0, 1), (1, -1), (-2, 1), (0.5, 0), (1.5, 0), (1e30, 1), (INF, NAN), (2**24 - 1, -1), (2**23 + 1, -1)],
    "atan": [(0.0, 0), (-0.0, -0.0), (INF, np.pi / 2), (-INF, -np.pi / 2)],
    "recip": [(0.0, INF), (-0.0, -INF), (INF, 0), (-INF, -0.0), (4, 0.25)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (INF, 0), (-1, NAN), (4, 0.5)],
}


def assert_same(got, want):
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, dtype):
    x, want = np.array([*EDGES[name], (NAN, NAN)], dtype).T.copy()
    assert_same(apply(getattr(elementary, name), x), want)


@pytest.mark.parametrize("name", ["expm1", "sinh", "tanh", "log1p", "sin", "tan", "atan"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tiny_arguments_come_back(name, dtype):
    x = np.finfo(dtype).smallest_subnormal * np.array([1, -1, 3, 1e5], dtype)
    assert_same(apply(getattr(elementary, name), x), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cospi_odd_integers(dtype):
    top = 2.0 ** (np.finfo(dtype).nmant + 1)
    x = np.array([top - 1, top / 2 + 1, top / 2, top, 2 * top], dtype)
    assert_same(apply(elementary.cospi, x), np.array([-1, -1, 1, 1, 1], dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_pow_edges(dtype):
    """Every pair of 27 special values, against NumPy."""
    info = np.finfo(dtype)
    top = 2.0 ** (info.nmant + 1)  # the last odd integer is top - 1
    special = [0, 1, 2, 0.5, 3, 1.5, INF, info.smallest_subnormal, info.max, top, top - 1, top / 2 + 1, top / 2 - 0.5]
    special = np.array([*special, *[-v for v in special], NAN], dtype)
    x, y = (v.ravel().copy() for v in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    got = apply(elementary.pow, x, y)
    ordinary = np.isfinite(want) & (want != 0)
    assert_same(got[~ordinary], want[~ordinary])
    np.testing.assert_array_max_ulp(got[ordinary], want[ordinary], 2)


# --- types, and the same bits everywhere -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exp", "sincos", "log_dd", "pow", "tanh"])
def test_types(name):
    """float32 stays, integers become float64; one function for each way of choosing the type."""
    f = getattr(elementary, name)
    for given, kind in (("float64", "float64"), ("float32", "float32"), ("int64", "float64"), ("int32", "float64")):
        args = (getattr(numba, given),) * (2 if name == "pow" else 1)
        f.compile(args)
        result = f.overloads[args].signature.return_type
        assert str(getattr(result, "dtype", result)) == kind


def test_arrays_are_refused():
    for call in (elementary.exp, numba.njit(lambda x: elementary.exp(x)), lambda x: elementary.pow(2.0, x)):
        with pytest.raises(numba.TypingError, match="takes numbers"):
            call(np.ones(2))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_vector_body_and_remainder_agree(name, dtype):
    x = draw(CASES[name][1 + (dtype is np.float32)], 70, dtype)
    f = getattr(elementary, name)
    whole = apply(f, x)
    single = np.concatenate([apply(f, x[i : i + 1]) for i in range(x.size)])
    np.testing.assert_array_equal(whole, single)


@pytest.mark.slow
def test_constants_are_reproduced():
    sys.path.insert(0, str(HERE / "reference"))
    try:
        import make_elementary as make
    finally:
        sys.path.pop(0)
    source = ast.parse(Path(elementary.__file__).read_text())
    literals = {v.value for v in ast.walk(source) if isinstance(v, ast.Constant) and isinstance(v.value, float)}
    with mp.workdps(60):
        for g, weight, a, b, *counts in make.POLYNOMIALS.values():
            for n, rounded in zip(counts, (make.float64, make.float32), strict=True):
                if n:
                    coefficients, _ = make.fit(g, weight, mp.mpf(a), mp.mpf(b), n, rounded)
                    assert {abs(c) for c in coefficients} <= literals


if __name__ == "__main__":
    with mp.workdps(50):
        rows = [((name, t.__name__), map_error(name, t, 200)) for name in CASES for t in DTYPES]
        rows += [(("pow", t.__name__), pow_error(t, 200)) for t in DTYPES]
    print(json.dumps(rows))
