"""Check and time CUDA kernels and whole calls on a real GPU, in six minutes, and write what was found to GPU.md beside this file.

    python asv_benchmarks/gpu.py                # needs an NVIDIA GPU and the extra cuda13 or cuda12
    python asv_benchmarks/gpu.py --only "kde.*" --minutes 2
    python asv_benchmarks/gpu.py --simulate     # the same steps in Numba's simulator at tiny sizes; times nothing

GPU.md is written after each step, whole, and says what was not reached: it may be read, and the run killed, at any moment. What
tells most comes first: what the machine can do (copies, double precision, launches, the bus); whole calls with arrays on the
device, on the host, and on all cores, and whether their results agree (gpu_calls.py); the kernels of `HOT` at a big size. Beside
this, helpers compile into the disk cache (`NUMBA_CACHE_DIR` says where) and check; they stand still while something is timed. A
process that dies or hangs loses what it was at, no more (gpu_run.py).

Checks: the CUDA twin of every registered kernel against the CPU twin on the same inputs, special values included, one signature
of each first, then the others; the public functions on host and device arrays; Philox against published words; the normal
quantile against the reference table; the scalar functions against mpmath where it is installed. Times: every kernel that works
value by value on arrays that fill the chip, as a share of the bandwidth that a plain copy reaches on the same device, and the
same loop with CUDA's own functions. Registers, stack frames and instructions are those of SASS.md, which needs no GPU
(tests/ptx_gate.py).

In the simulator one kernel of each loop is run, with the first of its argument types, as other tests run the others; of
these it is only seen that inputs are known. It has no float32 scalars (it computes them in double), so there a kernel of both
types is run in float64 only.

The exit status is 1 when anything disagrees. Without a GPU the script says so, writes nothing and returns 0.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import functools
import importlib.util
import itertools
import os
import pkgutil
import signal
import statistics
import sys
import time
from pathlib import Path

SIMULATE = "--simulate" in sys.argv[1:]
TINY = SIMULATE or "--tiny" in sys.argv[1:]
if SIMULATE:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # before Numba is imported

sys.path.insert(0, str(Path(__file__).parents[1]))  # the checkout, where the package is not installed

import benchmarks  # noqa: E402
import gpu_calls  # noqa: E402
import numba  # noqa: E402
import numpy as np  # noqa: E402
from benchmarks import bench_quantile, common, datasets  # noqa: E402
from gpu_run import DONE, Job, alone, progress, run, write  # noqa: E402
from numba import cuda  # noqa: E402

import numbastats as ns  # noqa: E402
from numbastats._core import ordering  # noqa: E402
from numbastats._core.kernel import REGISTRY, SIMULATED, build, real_gpu  # noqa: E402
from numbastats._core.launch import launch  # noqa: E402
from numbastats.scalar import loops  # noqa: E402

REPORT = Path(__file__).with_name("GPU.md")
CHECKED = 66 if TINY else 1 << 20  # values per check; tiny: a block of 64 and a rest, 16 counters of Philox
TIMED = 260 if TINY else 1 << 26  # values per measurement, less on small devices
# Kernels that are checked first. With numbers: timed at a big size, too; the part of `TIMED` they get, and threads of a block
HOT = {
    "quantile.ndtri_fast": (1, 256),
    "random.normal_float64": (1, 256),
    "random.normal_float32": (1, 256),
    "stable.rvs_S0": (1, 256),
    "quantile.table_uniform_7": (1, 256),
    "stable.table": (1, 256),
    "stable.quantile": (1, 256),
    "mixture.scores": (4, 256),
    "stable.points": (512, 32),
    "mixture.sums_2": None,
    "mixture.prepare": None,
    "mixture.pass_2": None,
    "mixture.advance": None,
    "bayes.latent": None,
    "kde.cells_scatter": None,
}


# --- inputs of every kernel -----------------------------------------------------------------------------------------
# A maker returns (inputs, outputs) for n values: inputs as arrays, of which an argument that is a number takes the first
# element; outputs are None where every remaining argument is an array of n values. `edges` adds special values.


def specials(dtype):
    info = np.finfo(dtype)
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, info.smallest_subnormal]
    return np.array(values, dtype)


def with_front(x, front):
    """X with its first elements replaced."""
    x = x.copy()
    k = min(x.size, front.size)
    x[:k] = front[:k]
    return x


def scalar_function(name):
    function = datasets.FUNCTIONS[name]

    def make(rng, dtype, n, edges):
        inputs = [r.draw(rng, n, dtype) for r in function.ranges[np.dtype(dtype).name]]
        if edges and name not in NO_EDGES:
            grid = np.meshgrid(*[specials(dtype)] * len(inputs), indexing="ij")
            inputs = [with_front(x, g.reshape(-1)) for x, g in zip(inputs, grid, strict=True)]
        return inputs, None

    return make


# Building blocks and functions of a limited range, which promise nothing outside it.
NO_EDGES = {"elementary.log_scaled", "elementary.log_dd", "elementary.exp_neg", "elementary.cos_abs", "special.mills_right"}


def varied(first, low, high, rng, n, dtype):
    """Parameters between low and high, the first one as stated."""
    x = rng.uniform(low, high, n).astype(dtype)
    x[0] = first
    return x


def probabilities(rng, dtype, n, edges):
    """Uniform and both tails; with edges also the rows of the reference table."""
    u = datasets.uniform(0.0, 1.0).draw(rng, n, dtype)
    if edges:
        tail = datasets.spread(float(np.finfo(dtype).tiny), 0.5).draw(rng, n, dtype)
        u = np.where(rng.random(n) < 0.3, tail, u)
        u = np.where(rng.random(n) < 0.2, dtype(1) - tail, u)
        table, _ = datasets.normal_reference(np.dtype(dtype).name)
        outside = np.array([0.5, -0.1, 1.1, np.nextafter(dtype(1), dtype(2))], dtype)
        u = with_front(u, np.concatenate([specials(dtype), outside, table]))
    return u


def quantile(data):
    """Values, loc, scale, sign, edge. Loc is 0 or so large that loc + scale z never cancels."""

    def make(rng, dtype, n, edges):
        loc, scale = varied(0.0, 100.0, 200.0, rng, n, dtype), varied(1.0, 0.5, 2.0, rng, n, dtype)
        return [data(rng, dtype, n, edges), loc, scale, np.ones(n, dtype), np.full(n, np.inf, dtype)], None

    return make


def log_probabilities(rng, dtype, n, edges):
    lp = -datasets.spread(1e-30, 1e4).draw(rng, n, dtype)
    return with_front(lp, specials(dtype)) if edges else lp


def exponentials(rng, dtype, n, edges):
    v = datasets.spread(1e-20, 100.0 if dtype == np.float32 else 700.0).draw(rng, n, dtype)
    return with_front(v, specials(dtype)) if edges else v


def draws(*parameters):
    """Key words, stream, first group and the parameters of a law, from functions of (rng, n, dtype)."""

    def make(rng, dtype, n, edges):
        key = [np.array([w]) for w in (0x9E3779B9, 0x12345678, 5, 1 << 28)]
        return [*key, *(p(rng, n, dtype) for p in parameters)], None

    return make


def between(first, low, high):
    return lambda rng, n, dtype: varied(first, low, high, rng, n, dtype)


def unused(rng, n, dtype):
    return np.zeros(n, dtype)


def most(rng, n, dtype):
    """The largest count."""
    return np.full(n, 2.0**31 - 1)


def sorting(kernel):
    """Inputs of a kernel that orders keys: of the first round, and of what is before it."""

    def make(rng, dtype, n, edges):
        key, most, shift, mask = rng.integers(-1, 1000, n), np.array([1000]), np.array([0]), rng.integers(0, 2, n)
        pieces, chunks = -(-n // ordering.PIECE), -(-n // 500)
        ends = np.cumsum(np.add.reduceat(mask, np.arange(pieces) * ordering.PIECE))
        counts = np.zeros((1 << ordering.BITS, chunks), np.int64)
        ordering.COUNTED.serial(chunks, (key, 1000, 0), counts)
        moved = (key, np.arange(n), most, shift, np.cumsum(counts)), (counts, key.copy(), key.copy())
        items, given, out = {
            "pieces": (pieces, mask, np.zeros(pieces, np.int64)),
            "running_sums": (pieces, (mask, ends), np.zeros(n, np.int64)),
            "count_digits": (chunks, (key, most, shift), np.zeros_like(counts)),
            "move_by_digits": (chunks, *moved),
            "first_of_keys": (1001, np.sort(abs(key)), np.zeros(1001, np.int64)),
        }[kernel]
        return [np.array([items]), given], [out]

    return make


MAKERS = {
    **{name: scalar_function(name) for name in datasets.FUNCTIONS},
    "benchmark.philox_words": lambda rng, dtype, n, edges: ([np.array([1]), np.array([2])], [np.zeros(n // 4 * 4, np.uint32)]),
    "_core.sums": lambda rng, dtype, n, edges: ([rng.standard_normal(n).astype(dtype)], [np.zeros(min(n, 1000))]),
    **{f"_core.{name}": sorting(name) for name in "pieces running_sums count_digits move_by_digits first_of_keys".split()},
    "_core.rate": lambda rng, dtype, n, edges: ([rng.uniform(0.0, 0.5, n)], None),
    "quantile.ndtri_log*": quantile(log_probabilities),
    "quantile.ndtri_*": quantile(probabilities),
    "quantile.norm_from_exponential": lambda rng, dtype, n, edges: ([exponentials(rng, dtype, n, edges)], None),
    "quantile.antithetic": lambda rng, dtype, n, edges: ([probabilities(rng, dtype, n, edges), np.ones(n, dtype)], None),
    "random.uniform*": draws(between(0.0, 1.0, 2.0), between(1.0, 3.0, 4.0)),
    "random.normal*": draws(between(0.0, 100.0, 200.0), between(1.0, 0.5, 2.0)),
    "random.exponential*": draws(between(1.0, 0.1, 10.0), unused),
    "random.gamma*": draws(between(2.5, 0.3, 50.0), between(1.0, 0.1, 10.0), unused, unused),
    "random.truncnorm*": draws(
        between(0.0, 0.0, 1.0), between(1.0, 0.5, 2.0), between(-1.0, -6.0, 20.0), between(2.0, 20.5, 40.0)
    ),
    **{f"random.{law}*": draws(between(0.0, 100.0, 200.0), between(1.0, 0.5, 2.0)) for law in ("laplace", "logistic", "gumbel")},
    "random.weibull*": draws(between(1.5, 0.3, 10.0), unused),
    "random.pareto*": draws(between(3.0, 0.5, 20.0), unused),
    "random.beta": draws(between(2.0, 0.3, 50.0), between(3.5, 0.3, 50.0), unused, unused),
    "random.wald": draws(between(1.0, 0.1, 10.0), between(2.0, 0.1, 10.0), unused, unused),
    "random.polya_gamma": draws(between(1.0, 0.1, 10.0), between(2.0, -9.0, 9.0), unused, unused),
    "random.standard_t": draws(between(4.5, 0.5, 50.0), unused, unused, unused),
    "random.chisquare": draws(between(3.0, 0.3, 50.0), unused, unused, unused),
    "random.poisson": draws(between(100.0, 0.1, 500.0), unused, unused, most),
    "random.binomial": draws(between(1000.0, 1.0, 5000.0), between(0.3, 0.01, 0.99), unused, most),
    "random.negative_binomial": draws(between(2.5, 0.3, 50.0), between(0.3, 0.1, 0.9), unused, most),
    "random.geometric": draws(between(0.3, 0.01, 1.0), unused, unused, most),
}
"""Inputs by kernel name or pattern; the first that fits counts. A kernel that none fits is a failure of this script.

A topic's kernels stand in its bench_<topic>.py: GPU_MAKERS, GPU_BOUNDS (keyword arguments of `Bound`), and GPU_CHECKS,
functions of (report, simulated) that call `report.fail(text)`, and GPU_JOBS, functions of (report, timed) that time a whole
public call with `timed(call)` and append (what, float type, milliseconds, note) to `report.jobs`; they run on a
real GPU only."""
TOPICS = [
    importlib.import_module(f"benchmarks.{i.name}") for i in pkgutil.iter_modules(benchmarks.__path__) if "bench_" in i.name
]
for topic in TOPICS:
    MAKERS |= getattr(topic, "GPU_MAKERS", {})


def maker(name):
    return next((make for pattern, make in MAKERS.items() if fnmatch.fnmatchcase(name, pattern)), None)


def arguments(make, dtype_name, signature, n, edges):
    """Host arguments of a kernel for one signature: (inputs, outputs)."""
    inputs, outputs = make(np.random.default_rng(11), np.dtype(dtype_name).type, n, edges)
    if outputs is None:
        outputs = [np.zeros(n, str(t.dtype)) for t in signature[len(inputs) :]]
    if len(inputs) + len(outputs) != len(signature):
        raise TypeError(f"the inputs in MAKERS give {len(inputs)} + {len(outputs)} arguments, the kernel takes {len(signature)}")
    return [_cast(value, t) for value, t in zip(inputs, signature, strict=False)], outputs


def _cast(value, t):
    """A value as an argument of type t."""
    if isinstance(t, numba.types.BaseTuple):
        return _like(value, map(_cast, value, t.types))
    if isinstance(t, numba.types.Array):
        return np.ascontiguousarray(value, None if isinstance(t.dtype, numba.types.Record) else str(t.dtype))
    return np.dtype(str(t)).type(np.reshape(value, -1)[0])


def _like(value, parts):
    """A tuple of the kind of another."""
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _mapped(f, a):
    """An argument with its arrays replaced by f of them."""
    if isinstance(a, tuple):
        return _like(a, (_mapped(f, part) for part in a))
    return f(a) if isinstance(a, np.ndarray) else a


def _flat(arguments):
    """Arrays among the arguments, those of structures too."""
    return [array for a in arguments for array in (_flat(a) if isinstance(a, tuple) else [a])]


def _numbers(arrays, without=()):
    """Arrays of numbers: of records each field by itself, but for some."""
    parts = ([a] if a.dtype.names is None else [a[name] for name in a.dtype.names if name not in without] for a in arrays)
    return [part for p in parts for part in p]


# --- how far two results may be apart ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Bound:
    """Largest difference allowed between devices, in ulp.

    Attributes
    ----------
    ulp : float
    floor : float or dict of int to float
        Results smaller than this are judged by the ulp of this number; a dict has those of some outputs, of the others it is 1.
    second_floor : float
        The same for the second output, in units of the float type's epsilon.
    single : float, optional
        Instead of `ulp` for float64 sums of what a float32 instance has computed in float32.
    flips : float or tuple of float
        Share of values that may differ by any amount, of all outputs or of each.
    control : tuple of str
        Fields of records that steer a loop and are no result: not compared.
    fits : bool
        Outputs are those of a fit's kernel, and judged as such alone: see `gpu_calls.fit_outputs`.
    scaled : bool
        Sums, of each column: judged by the ulp of the largest of the column.
    why : str
        Reason for a bound that is not 2 ulp.
    """

    ulp: float = 2.0
    floor: float | dict = 0.0
    second_floor: float = 0.0
    single: float | None = None
    flips: float | tuple = 0.0
    control: tuple = ()
    fits: bool = False
    scaled: bool = False
    why: str = ""


BOUNDS = {
    "benchmark.philox_words": Bound(0.0, why="integers"),
    "random.uniform*": Bound(0.0, why="exact arithmetic, then one rounding"),
    "random.gamma*": Bound(
        512.0, flips=1e-4, why="an accept/reject decision may flip; below shape 1 an ulp in the exponent is multiplied by it"
    ),
    "random.gumbel*": Bound(floor=1.0, why="the logarithm of an exponential near 1"),
    **{
        f"random.{law}": Bound(
            512.0, flips=1e-4, why="an accept/reject decision may flip; an ulp in a logarithm is multiplied by it"
        )
        for law in ("beta", "polya_gamma", "chisquare", "poisson", "binomial", "negative_binomial", "geometric")
    },
    "random.wald": Bound(16.0, flips=1e-4, why="the choice between two roots may flip; the square of a normal number"),
    "random.standard_t": Bound(64.0, floor=1.0, flips=1e-4, why="a cosine near 0, and an exponential of e/df"),
    "random.truncnorm*": Bound(
        8.0, floor=0.5, why="the position in the interval is an absolute quantity, in units of sigma >= 0.5"
    ),
    "elementary.cos_abs": Bound(floor=1.0, why="promises a small absolute error"),
    "elementary.log_dd": Bound(second_floor=8.0, why="the second result is an error term of the first"),
}

for topic in TOPICS:
    BOUNDS |= {name: Bound(**options) for name, options in getattr(topic, "GPU_BOUNDS", {}).items()}


@functools.cache  # all are looked up each time the report is written
def bound(name):
    return next((b for pattern, b in BOUNDS.items() if fnmatch.fnmatchcase(name, pattern)), Bound())


def difference(got, want, floor=0.0):
    """|got - want| in ulp of the larger of |want| and `floor`; inf where only one is finite, or a zero's sign differs."""
    if got.dtype.kind in "iu":
        return np.where(got == want, 0.0, np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.spacing(np.maximum(np.abs(want), np.asarray(floor, want.dtype))).astype(np.float64)
        apart = np.abs(got.astype(np.float64) - want.astype(np.float64)) / unit
    same = (got == want) & ((got != 0) | (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want))
    apart = np.where(np.isfinite(got) & np.isfinite(want) & (got != want), apart, np.inf)
    return np.where(same, 0.0, apart)


# --- running -------------------------------------------------------------------------------------------------------------


def on_device(kernel, inputs, outputs):
    """Run the CUDA twin on host arguments; fills the outputs."""
    staged = [_mapped(cuda.to_device, a) for a in (*inputs, *outputs)]
    started(kernel, staged, max(a.size for a in _flat((*inputs, *outputs)) if isinstance(a, np.ndarray)))
    for device_array, host in zip(_flat(staged[len(inputs) :]), _flat(outputs), strict=True):
        device_array.copy_to_host(host)


def started(kernel, staged, n, threads=256):
    """Launch the CUDA twin on device arrays as the library does."""
    threads = 32 if SIMULATED else threads
    launch(kernel, tuple(staged), n, device="cuda", outputs=(), threads=threads)


@dataclasses.dataclass
class Row:
    """What was found about one kernel with one float type."""

    name: str
    dtype: str
    checked: int = 0
    worst: float = 0.0  # largest difference between the devices, in ulp
    flips: float = 0.0
    error: float | None = None  # largest error against exact values, in ulp
    limit: float | None = None
    ms: float | None = None
    values: int = 0
    moved: int = 0  # bytes
    peer_ms: float | None = None  # the same loop with CUDA's own function
    said: str = ""  # of fits: how far they agree

    def add(self, other):
        """Take what another process has found about the same kernel."""
        self.checked, self.worst, self.flips = (
            self.checked + other.checked,
            max(self.worst, other.worst),
            max(self.flips, other.flips),
        )
        for name in ("error", "limit", "ms", "values", "moved", "peer_ms", "said"):
            setattr(self, name, getattr(other, name) or getattr(self, name))


class Report:
    """Rows and failures; one of each job, which are put together."""

    def __init__(self):
        self.rows: dict[tuple, Row] = {}
        self.failures: list[str] = []
        self.jobs: list[tuple] = []  # (what, float type, milliseconds, note)
        self.device: list[str] = []
        self.machine: list[tuple] = []  # (what, value, unit)
        self.calls: list[dict] = []  # see `gpu_calls.measure`
        self.start = time.perf_counter()

    def row(self, name, dtype):
        return self.rows.setdefault((name, dtype), Row(name, dtype))

    def fail(self, text):
        self.failures.append(text)
        print(f"FAILED {text}", flush=True)

    def add(self, other):
        for key, row in other.rows.items():
            self.row(*key).add(row)
        for name in ("failures", "jobs", "device", "machine", "calls"):
            getattr(self, name).extend(getattr(other, name))

    def seconds(self):
        return time.perf_counter() - self.start


def compare(report, label, name, dtype_name, got, want):
    """Judge the outputs of the two twins, and record the largest difference."""
    b, row = bound(name), report.row(name, dtype_name)
    if b.fits:
        row.said, good = gpu_calls.fit_outputs(got, want)
        row.checked += len(want[0])
        return None if good else report.fail(f"{label}: {row.said}")
    for i, (g, w) in enumerate(zip(_numbers(_flat(got), b.control), _numbers(_flat(want), b.control), strict=True)):
        floor = b.second_floor * float(np.finfo(dtype_name).eps) if i == 1 and b.second_floor else b.floor
        floor = floor.get(i, 1.0) if isinstance(floor, dict) else floor
        if b.scaled and w.dtype.kind == "f" and w.size:
            floor = np.maximum(floor, np.max(np.abs(w), axis=0, where=np.isfinite(w), initial=0.0))
        apart = difference(g, w, floor)
        limit, flips = b.ulp, b.flips[i] if isinstance(b.flips, tuple) else b.flips
        if b.single is not None and dtype_name == "float32" and g.dtype == np.float64:
            limit = b.single
        if SIMULATED and dtype_name == "float32":  # simulated scalars compute float32 in double: a coarse bound
            limit, flips = 0.5, 2e-2
            apart = np.where(np.isclose(g, w, rtol=3e-5, atol=3e-5, equal_nan=True), 0.0, apart)
        beyond = apart > limit
        share = float(beyond.mean()) if apart.size else 0.0
        kept = apart[~beyond] if share <= flips else apart
        row.checked += apart.size
        row.worst = max(row.worst, float(kept.max(initial=0.0)))
        row.flips = max(row.flips, share if flips else 0.0)
        if share > flips:
            at = int(np.argmax(apart))
            report.fail(
                f"{label}: {int(beyond.sum())} of {apart.size} values differ by more than {limit:g} ulp; "
                f"the worst, number {at} of output {i}: GPU {g.reshape(-1)[at]!r}, CPU {w.reshape(-1)[at]!r}"
            )


def offered(kernel):
    """Float types a kernel is run in."""
    return kernel.dtypes[:1] if SIMULATED else kernel.dtypes


UNKNOWN = f"no inputs are known for it; add them to MAKERS in {Path(__file__).name}"


def chosen():
    """The first kernel of each loop."""
    first = {kernel._cuda: kernel for kernel in reversed(REGISTRY.values())}
    return [kernel for kernel in REGISTRY.values() if first[kernel._cuda] is kernel]


def check_kernel(report, kernel, numbers=None):
    """The CUDA twin against the CPU twin; every signature, or those with the numbers."""
    make = maker(kernel.name)
    if make is None:
        report.fail(f"{kernel.name}: {UNKNOWN}")
        return
    for number, (dtype_name, signature) in enumerate(kernel.numba_signatures()):
        if dtype_name not in offered(kernel) or (SIMULATED and number) or (numbers is not None and number not in numbers):
            continue
        label = f"{kernel.name} {dtype_name}, signature {number}"
        try:
            edges = not (SIMULATED and dtype_name == "float32")
            inputs, outputs = arguments(make, dtype_name, signature, CHECKED, edges)
            want = [_mapped(np.copy, o) for o in outputs]
            kernel.serial(*(_mapped(np.copy, a) for a in inputs), *want)  # fits overwrite their data
            on_device(kernel, inputs, outputs)
        except Exception as error:
            report.fail(f"{label}: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[-1]}")
            continue
        compare(report, label, kernel.name, dtype_name, outputs, want)


def guarded(report, check, *arguments):
    """Run a check; an exception is a failure, not the end."""
    try:
        check(report, *arguments)
    except Exception as error:
        report.fail(f"{check.__name__} {arguments}: {type(error).__name__}: {error}")


# --- checks against what others computed ------------------------------------------------------------------------------------


def check_philox(report):
    """Published words of Philox4x32-10."""
    counters, keys, words = datasets.philox_known_answers()
    kernel, out = build(datasets.known_answer_cuda, "cuda"), cuda.to_device(np.zeros_like(words))
    kernel[1, 32](cuda.to_device(counters), cuda.to_device(keys), out)
    if not np.array_equal(out.copy_to_host(), words):
        report.fail("Philox4x32-10: the known answers are not reproduced")


# method, dtype: largest error in ulp on the reference table (CONVENTIONS of `ndtri`), and its kernel
QUANTILE_LIMITS = {
    ("fast", "float64"): 3.0,
    ("fast", "float32"): 3.5,
    ("accurate", "float64"): 1.5,
    ("accurate", "float32"): 0.52,
    ("correct", "float32"): 0.5,
    ("exp1313", "float64"): 6.0,
    ("t2", "float64"): 6.0,
    ("exp56", "float32"): 4.0,
}


def check_quantile_table(report, method, dtype_name):
    """The public function on the device against the reference table."""
    row = report.row(bench_quantile.kernel(method, dtype_name).name, dtype_name)
    row.limit = QUANTILE_LIMITS[method, dtype_name]
    if SIMULATED:  # float32 is not float32 there, and 230 values take long
        return
    row.error = bench_quantile.table_error(method, dtype_name, device="cuda")
    if not row.error <= row.limit:
        report.fail(f"ndtri {method} {dtype_name}: {row.error:.3g} ulp on the reference table, at most {row.limit} are promised")


# Limits in ulp; the others are reported without a judgement.
SCALAR_LIMITS = {
    **dict.fromkeys(("exp", "exp_neg", "log"), 1.0),
    "log1p": 1.5,
    **dict.fromkeys(("expm1", "sin", "cos", "sincos", "atan", "pow"), 2.0),
}


def check_scalar_exact(report, name, dtype_name):
    """A scalar function on the device against mpmath."""
    if datasets.FUNCTIONS[name].exact is None or (SIMULATED and dtype_name == "float32"):
        return
    row = report.row(name, dtype_name)
    row.limit = SCALAR_LIMITS.get(name.removeprefix("elementary."))
    row.error = datasets.largest_error(name, dtype_name, 20 if TINY else 300, on_device)
    if row.limit is not None and not row.error <= row.limit:
        report.fail(f"{name} {dtype_name}: {row.error:.3g} ulp, at most {row.limit} are promised")


def check_public(report):
    """Public functions with device="cuda": host arrays in and out, device arrays in and out, draws."""
    n = 100 if TINY else 100_003
    for dtype_name in ["float64"] if SIMULATED else common.FLOATS:
        u = datasets.probabilities(n, np.dtype(dtype_name).type)
        want = ns.quantile.ndtri(u, device="cpu")
        name = bench_quantile.kernel("fast", dtype_name).name
        host, resident = ns.quantile.ndtri(u, device="cuda"), ns.quantile.ndtri(cuda.to_device(u))
        compare(report, f"quantile.ndtri {dtype_name} on a host array", name, dtype_name, [host], [want])
        if not hasattr(resident, "copy_to_host"):
            report.fail(f"quantile.ndtri {dtype_name}: a device array came back as a {type(resident).__name__}")
        else:
            compare(report, f"quantile.ndtri {dtype_name} on a device array", name, dtype_name, [resident.copy_to_host()], [want])
        counts = datasets.COUNTS if dtype_name == "float64" else {}
        for law, parameters in (datasets.LAWS | counts).items():
            draw, kernel = getattr(ns.random, law), datasets.random_kernel(law, dtype_name)
            dtype = "int64" if law in counts else dtype_name
            got, want = (draw(*parameters, n, rng=3, dtype=dtype, device=device) for device in ("cuda", "cpu"))
            compare(report, f"random.{law} {dtype_name}", kernel.name, dtype_name, [got], [want])


# --- speed --------------------------------------------------------------------------------------------------------------------


def timed(call, rounds=7, launches=10, most=2.0):
    """Milliseconds of a call: the median over rounds of several launches each, between two synchronisations.

    After one call that counts for nothing. Fewer rounds, of one launch, where these would take more than about `most` seconds;
    the second call is all there is where it takes longer.
    """
    call()
    cuda.synchronize()
    if SIMULATED:
        return None
    with alone():
        start = time.perf_counter()
        call()
        cuda.synchronize()
        first = time.perf_counter() - start
        affordable = most / max(first, 1e-9)
        launches = max(1, min(launches, int(affordable / rounds)))
        times = []
        for _ in range(min(rounds, int(affordable))):
            start = time.perf_counter()
            for _ in range(launches):
                call()
            cuda.synchronize()
            times.append((time.perf_counter() - start) / launches)
    return 1e3 * statistics.median(times or [first])


def fill(x, n):
    """An array of n values on the device that repeats x, made there."""
    x = np.ascontiguousarray(x[:n])
    out, done = cuda.device_array(n, x.dtype), x.size
    out[:done].copy_to_device(x)
    while done < n:
        more = min(done, n - done)
        out[done : done + more].copy_to_device(out[:more])
        done += more
    return out


def first_signature(kernel, dtype_name):
    return next(s for d, s in kernel.numba_signatures() if d == dtype_name)


def large_arguments(kernel, dtype_name, n):
    """Host arguments of check size and resident ones of n values, for the first signature of a dtype; None if it is no map."""
    inputs, outputs = arguments(maker(kernel.name), dtype_name, first_signature(kernel, dtype_name), min(CHECKED, n), edges=False)
    if any(o.ndim != 1 for o in _flat(outputs)) or any(
        isinstance(a, np.ndarray) and a.size != min(CHECKED, n) for a in (*inputs, *outputs)
    ):
        return None
    resident = [fill(a, n) if isinstance(a, np.ndarray) else a for a in inputs]
    return inputs, resident, [cuda.device_array(n, o.dtype) for o in outputs]


def check_end(report, kernel, dtype_name, inputs, outs, n):
    """The last values of a large result against the CPU twin: index arithmetic beyond the size of the other checks."""
    window = 100 if TINY else 4096
    group = 4 * loops.COUNTERS  # float32 draws come in groups of so many
    start = 0 if kernel is datasets.WORDS else (n - window) // group * group  # words are not in item order
    period = min(CHECKED, n)
    part = [np.take(a, np.arange(start, n), mode="wrap") if isinstance(a, np.ndarray) and a.size == period else a for a in inputs]
    if kernel.name.startswith(("random.", "stable.rvs")):
        part[3] = np.int64(part[3] + start)
    want = [np.empty(n - start, o.dtype) for o in outs]
    kernel.serial(*part, *want)
    got = [o[start:].copy_to_host() for o in outs]
    compare(report, f"{kernel.name} {dtype_name}, end of {n} values", kernel.name, dtype_name, got, want)


def time_kernel(report, name, dtype_name):
    """Time a kernel on resident arrays, then CUDA's own function in the same loop where there is one."""
    kernel, (part, threads) = REGISTRY[name], HOT.get(name) or (1, 256)
    n = max(66, size_for_device() // part)
    made = large_arguments(kernel, dtype_name, n)
    if made is None and not HOT.get(name):
        return
    if made is None:  # some arguments are no arrays of n values
        inputs, outputs = arguments(maker(name), dtype_name, first_signature(kernel, dtype_name), n, edges=False)
        resident, outs = ([_mapped(cuda.to_device, a) for a in part] for part in (inputs, outputs))
    else:
        inputs, resident, outs = made
    row = report.row(name, dtype_name)
    row.ms = timed(lambda: started(kernel, (*resident, *outs), n, threads))
    row.values, row.moved = n, sum(a.size * a.dtype.itemsize for a in _flat((*resident, *outs)) if hasattr(a, "copy_to_host"))
    if made is not None:
        check_end(report, kernel, dtype_name, inputs, outs, n)
    function = datasets.FUNCTIONS.get(name)
    if function is not None and function.loop is not None and not SIMULATED:
        peer = Peer(name, build(function.cuda_skeleton, "cuda", _f=function.loop))
        row.peer_ms = timed(lambda: started(peer, (*resident, *outs), n))


@dataclasses.dataclass(frozen=True)
class Peer:
    """Looks enough like a `Kernel` to be launched like one."""

    name: str
    cuda: object


def copy_bandwidth(n):
    """GB/s that a plain copy of n float64 on the device reads and writes."""
    source, target = cuda.device_array(n, np.float64), cuda.device_array(n, np.float64)
    ms = timed(lambda: target.copy_to_device(source))
    return None if ms is None else 2 * 8 * n / ms / 1e6


def multiply(x, steps):
    """Eight chains of products and sums per thread, which wait for nothing but the units of double precision."""
    i = cuda.grid(1)
    a = b = c = d = e = f = g = h = x[i]
    for _ in range(steps):
        a, b, c, d = a * 0.5 + 1.0, b * 0.5 + 2.0, c * 0.5 + 3.0, d * 0.5 + 4.0
        e, f, g, h = e * 0.5 + 5.0, f * 0.5 + 6.0, g * 0.5 + 7.0, h * 0.5 + 8.0
    x[i] = a + b + c + d + e + f + g + h


def touch(count):
    """A function of so many arrays that does nothing. Of one with ``*arrays`` a launch takes a single array."""
    return eval(f"lambda {', '.join(f'a{i}' for i in range(count))}: None")


def rate_of(amount, ms):
    """Amount per second, in units of 10^9."""
    return None if ms is None else amount / ms / 1e6


def machine(report):
    """What the device can do: (what, value, unit)."""
    report.device += [device_line()]
    blocks, threads, steps = (1, 32, 2) if TINY else (32 * cuda.get_current_device().MULTIPROCESSOR_COUNT, 256, 4096)
    report.machine += [(COPY, copy_bandwidth(size_for_device()), "GB/s, reads and writes")]
    x, chains = cuda.to_device(np.ones(blocks * threads)), cuda.jit(multiply)
    ms = timed(lambda: chains[blocks, threads](x, steps), launches=1)
    report.machine += [("double precision", rate_of(8 * steps * x.size, ms), "10^9 instructions/s")]
    if not SIMULATED:
        device = cuda.get_current_device()
        issued = device.MULTIPROCESSOR_COUNT * 4 * 32 * device.CLOCK_RATE / 1e6
        report.machine += [("instructions issued, at the clock that the driver states", issued, "10^9/s")]
    for count in (1, 2, 3, 12):
        empty, arrays = cuda.jit(touch(count)), [cuda.device_array(32, np.float64) for _ in range(count)]
        ms = timed(lambda empty=empty, arrays=arrays: empty[1, 32](*arrays), launches=20 if TINY else 1000)
        report.machine += [(f"launch with {count} array{'s'[: count > 1]}", None if ms is None else 1e3 * ms, "microseconds")]
    size = 32 if TINY else 1 << 25
    there = cuda.device_array(size, np.float64)
    for what, host in (("pageable", np.ones(size)), ("pinned", cuda.pinned_array(size, np.float64))):
        up, down = timed(lambda h=host: there.copy_to_device(h)), timed(lambda h=host: there.copy_to_host(h))
        report.machine += [(f"to the device, {what}", rate_of(host.nbytes, up), "GB/s")]
        report.machine += [(f"to the host, {what}", rate_of(host.nbytes, down), "GB/s")]
    ms = timed(lambda: cuda.device_array(size, np.float64))
    report.machine += [(f"allocation of {8 * size >> 20} MiB", None if ms is None else 1e3 * ms, "microseconds")]


def call_small(report, name):
    """A public call at the size that compiles what it needs; results of the devices are compared."""
    report.failures += gpu_calls.measure(name, gpu_calls.SMALL, lambda call: call())["failures"]


def time_call(report, name):
    """A public call with arrays on the device, on the host, and on all cores."""
    if not TINY:
        gpu_calls.measure(name, gpu_calls.SMALL, lambda call: call())  # loads what a helper has compiled
    size = gpu_calls.TINY if TINY else gpu_calls.FULL
    row = gpu_calls.measure(name, size, lambda call: timed(call, launches=1, most=0.5))
    report.calls.append(row)
    report.failures += row["failures"]


def check_streams(report):
    """Draws on a stream that does not wait for the default one, read by the quantile on the same stream without waiting."""
    stream, n = cuda.stream(), 100 if TINY else 1 << 22
    x, z = cuda.device_array(n, np.float64), cuda.device_array(n, np.float64)
    ns.random.uniform(0.0, 1.0, out=x, rng=1, stream=stream)
    ns.quantile.ndtri(x, out=z, stream=stream)
    stream.synchronize()
    want = ns.quantile.ndtri(ns.random.uniform(0.0, 1.0, n, rng=1, device="cpu"), device="cpu")
    if not np.allclose(z.copy_to_host(), want, rtol=1e-12, atol=1e-15):
        report.fail("draws and quantiles on one stream: the second call has read before the first had written")
    side = {"cupy": lambda m: m.cuda.Stream(non_blocking=True), "torch": lambda m: m.cuda.stream(m.cuda.Stream())}
    for library, current in side.items():
        if SIMULATED or importlib.util.find_spec(library) is None:
            continue
        module = importlib.import_module(library)
        with current(module):
            u = module.full((n,), 0.5, **({} if library == "cupy" else {"device": "cuda"}), dtype=module.float64)
            for _ in range(20):
                u = u * 1.0 + 0.0  # work that is under way when the kernel is launched
            result = ns.quantile.ndtri(u + 0.25) + 0.0
            if abs(float(result[-1]) - 0.6744897501960817) > 1e-12:
                report.fail(f"ndtri of an array of {library} on a side stream: {float(result[-1])}")


def size_for_device():
    """Values per measurement: 2^26, less where five arrays of doubles would not fit into half of the free memory."""
    if TINY:
        return TIMED
    free, _ = cuda.current_context().get_memory_info()
    n = TIMED
    while 5 * 8 * n > free / 2:
        n //= 2
    return n


# --- the report -----------------------------------------------------------------------------------------------------------------


def device_line():
    """Device, driver and runtime, as far as they can be asked for."""
    if SIMULATED:
        return "Numba's CUDA simulator"
    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    parts = [str(name), "compute capability " + ".".join(map(str, device.compute_capability))]
    if hasattr(device, "MULTIPROCESSOR_COUNT"):
        parts.append(f"{device.MULTIPROCESSOR_COUNT} multiprocessors")
    for label, ask in (("driver API", driver_version), ("runtime", runtime_version)):
        try:
            parts.append(f"{label} {ask()}")
        except Exception as error:  # these calls differ between numba and numba-cuda
            parts.append(f"{label} unknown ({type(error).__name__})")
    return ", ".join(parts)


def driver_version():
    from numba.cuda.cudadrv import driver

    return ".".join(map(str, driver.driver.get_version()))


def runtime_version():
    from numba.cuda.cudadrv import runtime

    return ".".join(map(str, runtime.runtime.get_version()))


def cell(value, form="{:.3g}"):
    return "" if value is None else form.format(value)


def agreement_line(row):
    b = bound(row.name)
    flips = f" (+ {row.flips:.2g} of the values beyond)" if row.flips else ""
    far = ("", "") if b.fits else (f"{row.worst:.3g}{flips}", f"{b.ulp:g}")
    why = "; ".join(filter(None, (b.why, row.said)))
    cells = (row.name, row.dtype, row.checked, *far, cell(row.error), cell(row.limit), why)
    return "| " + " | ".join(map(str, cells)) + " |"


def speed_line(row, bandwidth):
    rate = row.moved / row.ms / 1e6
    share = f"{rate / bandwidth:.0%}" if bandwidth else ""
    cells = (
        row.name,
        row.dtype,
        f"{row.ms:.3f}",
        f"{row.values / row.ms / 1e6:.1f}",
        f"{rate:.0f}",
        share,
        cell(row.peer_ms, "{:.3f}"),
    )
    return "| " + " | ".join(cells) + " |"


def call_line(row):
    def shown(ms):
        return f"{ms:.3f}" if isinstance(ms, float) else str(ms or "")

    others = "; ".join(f"{name} {shown(ms)}" for name, ms in row["cells"].items() if name not in gpu_calls.WAYS)
    ways = [shown(row["cells"].get(way)) for way in gpu_calls.WAYS]
    return "| " + " | ".join([row["call"], row["size"], *ways, row["agree"], others]) + " |"


def markdown(report, jobs, state):
    """GPU.md."""
    bandwidth = next((value for what, value, _ in report.machine if what == COPY), None)
    lines = [
        "# CUDA kernels and calls on a real GPU",
        "",
        f"Written by `asv_benchmarks/gpu.py` on {common.today()}.",
        "",
        f"- Device: {', '.join(report.device) or 'not asked yet'}",
        f"- Host: {common.processor()}",
        f"- {common.versions()}",
        "",
        "## How far it came",
        "",
        state,
        "",
        *progress(jobs),
        "",
        "## Failures",
        "",
        *([f"- {f}" for f in report.failures] or ["None so far."]),
        "",
        "## The machine",
        "",
        "| what | | unit |",
        "|---|---|---|",
        *(f"| {what} | {cell(value)} | {unit} |" for what, value, unit in report.machine),
        "",
        "## Whole calls",
        "",
        "Milliseconds, medians, after one call; those of more than half a second were timed once. Arrays on the device (CuPy's,",
        'or without it Numba\'s), on the host with `device="cuda"`, and on all cores; how far results are from those of the',
        "cores, relatively; other people's functions on arrays on the device. No other process of the run worked meanwhile.",
        "",
        "| call | size | there | host | cores | agreement | others, there |",
        "|---|---|---|---|---|---|---|",
        *map(call_line, report.calls),
        "",
        "## Agreement",
        "",
        "Largest difference between the CUDA and the CPU twin, the argument types checked so far together; then the largest",
        "error against exact values (reference table or mpmath), and the limit where one is promised.",
        "",
        "| kernel | type | values | difference, ulp | allowed | error, ulp | limit | bound is not 2 ulp, because |",
        "|---|---|---|---|---|---|---|---|",
        *map(agreement_line, report.rows.values()),
        "",
        "## Speed",
        "",
        f"Medians; up to {TIMED} values resident on the device, parameters as numbers. The share is that of the copy bandwidth:",
        "100 % means that memory is the limit. The last column is the time of the same loop with CUDA's own function.",
        "",
        "| kernel | type | ms | 10^9 values/s | GB/s | share | CUDA's function, ms |",
        "|---|---|---|---|---|---|---|",
        *(speed_line(row, bandwidth) for row in report.rows.values() if row.ms is not None),
    ]
    if report.jobs:
        lines += ["", "Whole jobs:", "", "| job | type | ms | note |", "|---|---|---|---|"]
        lines += [f"| {what} | {dtype} | {ms:.3f} | {note} |" for what, dtype, ms, note in report.jobs]
    return "\n".join(lines) + "\n"


# --- the run --------------------------------------------------------------------------------------------------------------------


def register_everything():
    """Import what registers kernels: every public sub-package."""
    for module in pkgutil.iter_modules(ns.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"numbastats.{module.name}")


def work(function, *arguments):
    """A job, in its process: what it has to report."""
    report = Report()
    guarded(report, function, *arguments)
    return report


def time_job(report, job):
    """A whole job of a topic."""
    job(report, timed)


def planned(only="*"):
    """Everything there is to do, in the order of its importance.

    Parameters
    ----------
    only : str
        Pattern of the names of kernels and calls; what has no such name is left out where it is not "*".

    Returns
    -------
    list of Job
    """
    jobs, checks = [], {}

    def add(kind, what, function, *arguments, **options):
        if fnmatch.fnmatchcase(what, only) or kind == MACHINE:
            seconds = 1200.0 if TINY else 90.0 if kind == CALLS else 240.0
            jobs.append(Job(kind, what, work, (function, *arguments), seconds=seconds, **options))
            return jobs[-1]
        return None

    def check(kernels, kind, numbers):
        for kernel in kernels:
            for number, (dtype_name, _) in list(enumerate(kernel.numba_signatures()))[numbers]:
                job = add(kind, kernel.name, check_kernel, kernel, (number,))
                checks.setdefault((kernel.name, dtype_name), job)

    def time_one(kind, what, kernel, dtype_name, after=None):
        after = after or checks.get((kernel.name, dtype_name))
        add(kind, what, time_kernel, kernel.name, dtype_name, timed=True, after=after)

    run_here = chosen()
    hot = [REGISTRY[name] for name in HOT if REGISTRY[name] in run_here or not SIMULATED]
    add(MACHINE, "copies, launches, allocations", machine, timed=True)
    if not TINY:  # those that take long to compile, and others, in turns
        short, long = ([name for name, call in gpu_calls.CALLS.items() if call.long is kind] for kind in (False, True))
        for name in filter(None, itertools.chain(*itertools.zip_longest(short, long))):
            checks[name] = add("Calls at a small size", name, call_small, name)
    check(hot, FIRST_SIGNATURE, slice(1))
    for name in gpu_calls.CALLS:
        add(CALLS, name, time_call, name, timed=True, after=checks.get(name))
    for kernel in hot:
        if HOT[kernel.name]:
            time_one("Hot kernels, timed", kernel.name, kernel, offered(kernel)[0])
    add(OTHER_CHECKS, "streams", check_streams)
    check([kernel for kernel in run_here if kernel not in hot], FIRST_SIGNATURE, slice(1))
    if not SIMULATED:
        after = None if jobs[-1].timed else jobs[-1]
        for job in itertools.chain(*(getattr(topic, "GPU_JOBS", ()) for topic in TOPICS)):
            add("Whole jobs", f"whole jobs of {job.__module__}", time_job, job, timed=True, after=after)
    add(OTHER_CHECKS, "Philox", check_philox)
    add(OTHER_CHECKS, "public functions", check_public)
    for function in (function for topic in TOPICS for function in getattr(topic, "GPU_CHECKS", ())):
        add(OTHER_CHECKS, f"{function.__module__.rpartition('.')[2]} {function.__name__.strip('_')}", function, SIMULATED)
    for method, dtype_name in QUANTILE_LIMITS:
        add(OTHER_CHECKS, f"normal quantile {method} {dtype_name}", check_quantile_table, method, dtype_name)
    for name in list(datasets.FUNCTIONS)[: 4 if SIMULATED else None] if common.version("mpmath") else ():
        for dtype_name in common.FLOATS:
            add("Errors against mpmath", f"{name} {dtype_name}", check_scalar_exact, name, dtype_name)
    if not SIMULATED:
        check(run_here, "Kernels, other signatures", slice(1, None))
    others = [] if SIMULATED else [kernel for kernel in REGISTRY.values() if kernel not in (*run_here, *hot)]
    check(others, "Kernels with the loop of another", slice(1))
    last = jobs[-1] if others and not jobs[-1].timed else None
    for kernel in sorted((*run_here, *others), key=_turn):
        for dtype_name in offered(kernel):
            if not (HOT.get(kernel.name) and dtype_name == offered(kernel)[0]) and maker(kernel.name) is not None:
                after = last if _turn(kernel) else None
                time_one("Kernels that work value by value, timed", f"{kernel.name} {dtype_name}", kernel, dtype_name, after)
    return jobs


def _turn(kernel):
    """Timings of families of distributions wait until all is checked, those with arrays of parameters longest."""
    return kernel.name.startswith("distributions.") * (1 + kernel.name.endswith("_of_arrays"))


MACHINE, CALLS, FIRST_SIGNATURE, OTHER_CHECKS = "The machine", "Whole calls", "Kernels, one signature", "Other checks"
COPY = "copy on the device"


def carry_out(jobs, report, path, seconds, helpers):
    """Do the jobs, and keep the report up to date; what has become of it all, in words."""
    limit = f"of at most {seconds:.0f} s"

    def keep(state):
        if path is not None:
            write(path, markdown(report, jobs, state))

    def tell(job, part):
        if job.state != DONE:
            report.fail(f"{job.kind}, {job.what}: {job.state}")
        else:
            report.add(part)
        if job.timed:
            print(f"{job.what}: {report.seconds():.0f} s, {len(report.failures)} failures", flush=True)
        keep(
            f"**Not finished.** This was written after {report.seconds():.0f} s {limit}, while the run went on. Where it stays, "
            "the run was killed, and what is not in the tables is not known."
        )

    for kernel in REGISTRY.values():
        if maker(kernel.name) is None:
            report.fail(f"{kernel.name}: {UNKNOWN}")
    keep("**Not finished.** The run has begun. Where this stays, it was killed, and nothing is known.")
    state = "**Not finished**: the run broke off after {0:.0f} s."
    try:
        run(jobs, register_everything, tell, helpers=helpers, seconds=seconds - report.seconds())
        whole = not any(job.open for job in jobs)
        state = "Finished in {0:.0f} s." if whole else f"**Not finished**: the time was over, after {{0:.0f}} s {limit}."
    except (KeyboardInterrupt, Stopped) as error:
        state = f"**Not finished**: stopped by {type(error).__name__} {error} after {{0:.0f}} s."
        raise
    finally:
        keep(state.format(report.seconds()))


class Stopped(Exception):
    """Another process asked this one to end."""


def stop(number, frame):
    signal.signal(number, signal.SIG_IGN)  # once is enough
    raise Stopped(signal.Signals(number).name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--simulate", action="store_true", help="run in Numba's simulator at tiny sizes; no report unless one is named"
    )
    parser.add_argument("--tiny", action="store_true", help="the same sizes on whatever GPU there is, for a dry run")
    parser.add_argument("--minutes", type=float, default=30.0 if SIMULATE else 6.0, help="after which all ends (6; simulated 30)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="kernels and calls whose names match, as 'kde.*'")
    parser.add_argument("--report", type=Path, default=None if SIMULATE else REPORT, help="where the report goes")
    options = parser.parse_args()
    if not SIMULATE and not real_gpu():
        reason = (
            "NUMBA_ENABLE_CUDASIM is set, so Numba sees its simulator only" if SIMULATED else "Numba finds no usable CUDA device"
        )
        print(f"No GPU: {reason}. Nothing was checked, timed or written. (--simulate checks this script in the simulator.)")
        return 0
    signal.signal(signal.SIGTERM, stop)
    report = Report()
    register_everything()
    print(f"{len(REGISTRY)} kernels", flush=True)
    try:
        jobs = planned(options.only)
        carry_out(jobs, report, options.report, 60.0 * options.minutes, max(1, gpu_calls.CORES - 1))
    except Stopped:
        return 128 + signal.SIGTERM
    kernels = {name for name, _ in report.rows}
    print(f"{len(kernels)} kernels run, {len(report.failures)} failures, {report.seconds():.0f} s")
    written = f"wrote {options.report}" if options.report else "nothing was timed or written"
    print(f"simulated: {written}" if SIMULATE else written)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
