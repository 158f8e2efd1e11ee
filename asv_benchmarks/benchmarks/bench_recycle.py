"""Speed, set-up, memory and error of quantile tables, of the laws built on them, and of recycling."""

from __future__ import annotations

import csv
import functools
import os
import time

import numpy as np
import scipy.special

import numbastats as ns
from numbastats.quantile import kernels
from numbastats.scalar.hyperbolic import gh_log_norm

from . import datasets
from .common import FLOATS, LARGE, SMALL, Case, few
from .quantile_peers import PEERS

HYPERBOLIC, VG = (1.5, 0.3, 1.0), (0.8, 1.5, 0.3)
SETS = int(os.environ.get("NUMBASTATS_SETS", 20))  # of parameters, in a batch
# sets of parameters with rows in the reference table, by law
REFERENCE = {
    "hyperbolic": [(1, 0, 1), (1.5, 0.3, 1), (2, -1.5, 0.1), (5, 4, 0.5), (0.5, 0.1, 3)],
    "variance_gamma": [(0.3, 1.5, 0.3), (0.5, 1.5, 0.3), (0.8, 1.5, 0.3), (1, 1.5, 0.3), (1.5, 1.5, 0.3), (3, 1.5, 0.3)],
    "student_from_z": [(1,), (2,), (2.5,), (4,), (10,), (100,)],
}
_NAMES = {"hyperbolic": ("alpha", "beta", "delta"), "variance_gamma": ("lambda", "alpha", "beta"), "student_from_z": ("nu",)}


@functools.cache
def table(law, parameters, base="uniform", degree=7):
    return getattr(ns.distributions, law)(*parameters, base=base, degree=degree)


@functools.cache
def two_modes():
    """A table whose rows are cut into parts: two normal distributions six standard deviations apart."""
    return ns.quantile.QuantileTable(lambda x: np.exp(-0.5 * x * x) + np.exp(-0.5 * (x - 6.0) ** 2), normalised=False)


def call(frozen, kind, values, out):
    """The serial kernel on its arguments, before the overhead of a call."""
    dtype = values.dtype
    degree = 3 if dtype == np.float32 else frozen.degree
    kernel = kernels.TABLE[kind, degree].serial
    header = frozen._table.header(dtype, False)
    arguments = (values, *header, *frozen._table.integers(degree), frozen._table.rows("uniform", degree), out)
    return lambda: kernel(*arguments)


def reference(law, parameters):
    """Inputs and results of the reference table, without the zero and one row that has no value."""
    key = ";".join(f"{n}={v:g}" for n, v in zip(_NAMES[law], parameters, strict=True))
    with open(datasets.REFERENCE / "quantile" / "quantile_ref_public.csv", newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["dist"] == law and r["params"] == key]
    x, want = (np.array([float.fromhex(r[c]) for r in rows]) for c in ("input_hex", "quantile_hex"))
    keep = np.isfinite(want) & (want != 0)
    return x[keep], want[keep]


def reference_error(law, parameters, degree=7, device="cpu"):
    """Largest relative error on the rows; |z| <= 8, and not within 10 % of the zero crossing's probability."""
    x, want = reference(law, parameters)
    if law == "student_from_z":
        got = table("student_t", parameters, "normal", degree).transform(x, device=device)
        keep = np.abs(x) <= 8
    else:
        frozen = table(law, parameters, degree=degree)
        got, keep = frozen.ppf(x, device=device), np.abs(x / frozen.p_minus - 1) > 0.1
    return float(np.abs(got[keep] / want[keep] - 1).max())


class Evaluate:
    params = [[5, 7], few(FLOATS)]
    param_names = ["degree", "dtype"]

    def setup(self, degree, dtype):
        u = datasets.probabilities(SMALL, FLOATS[dtype])
        frozen = table("hyperbolic", HYPERBOLIC, degree=degree)
        self.uniform = call(frozen, "uniform", u, np.empty_like(u))
        self.exponential = call(frozen, "exponential", -np.log(u), np.empty_like(u))
        self.uniform(), self.exponential()

    def time_uniform(self, degree, dtype):
        self.uniform()

    def time_exponential(self, degree, dtype):
        self.exponential()


class Recycle:
    """Whole calls."""

    def setup(self):
        self.z = np.random.default_rng(1).standard_normal(SMALL)
        self.out = np.empty_like(self.z)
        self.student = table("student_t", (4.0,), "normal")
        self.options = dict(out=self.out, device="cpu", workers=1)
        self.time_normal_to_student(), self.time_draws()

    def time_normal_to_student(self):
        self.student.transform(self.z, **self.options)

    def time_draws(self):
        self.student.rvs(SMALL, rng=1, **self.options)


class Large:
    params = [1, 2]
    param_names = ["workers"]
    number = 1

    def setup(self, workers):
        self.u = datasets.probabilities(LARGE, np.float64)
        self.out = np.empty_like(self.u)
        self.frozen = table("hyperbolic", HYPERBOLIC)
        self.frozen.ppf(self.u[:100_000], out=self.out[:100_000], device="cpu", workers=workers)

    def time_1e7_values(self, workers):
        self.frozen.ppf(self.u, out=self.out, device="cpu", workers=workers)

    def peakmem_1e7_values(self, workers):
        self.frozen.ppf(self.u, out=self.out, device="cpu", workers=workers)


class Moments:
    """Variances of 1000 laws: 0.23 ms each (2026-11-22, Intel, one thread)."""

    number = 1

    def setup(self):
        self.alpha = np.linspace(0.5, 3.0, 1000)

    def time_1000_variances(self):
        ns.distributions.nig.var(self.alpha, 0.3, 1.0)

    def track_variance_relative_error(self):
        want = self.alpha**2 / (self.alpha**2 - 0.09) ** 1.5
        return float(np.abs(ns.distributions.nig.var(self.alpha, 0.3, 1.0) / want - 1).max())

    track_variance_relative_error.unit = "relative"


class Growth:
    """Normals recycled into t(4), in slabs of 2^16 values: time in proportion to their number.

    3.5 ns per value for 10^4 (1.5 of them the call), 2.04 for 10^6, 2.00 for 10^8 (2026-11-21, Zen 5, one thread).
    """

    params = few([10_000, 1_000_000, 100_000_000])
    param_names = ["values"]
    number = 1

    def setup(self, values):
        self.z = np.random.default_rng(1).standard_normal(min(values, 1 << 16))
        self.out = np.empty_like(self.z)
        self.law = table("student_t", (4.0,), "normal")
        self.time_streamed(self.z.size)

    def time_streamed(self, values):
        for first in range(0, values, self.z.size):
            n = min(self.z.size, values - first)
            self.law.transform(self.z[:n], out=self.out[:n], device="cpu", workers=1)

    def track_nanoseconds_per_value(self, values):
        calls = max(1, 1_000_000 // values)
        start = time.process_time()
        for _ in range(calls):
            self.time_streamed(values)
        return 1e9 * (time.process_time() - start) / calls / values

    track_nanoseconds_per_value.unit = "ns"


class TableSetup:
    params = [["hyperbolic", "variance_gamma", "nig"], few([5, 7])]
    param_names = ["law", "degree"]

    def setup(self, law, degree):
        self.law = getattr(ns.distributions, law)
        self.parameters = VG if law == "variance_gamma" else HYPERBOLIC
        self.law(*self.parameters, degree=degree)

    def time_one_table(self, law, degree):
        self.law(*self.parameters, degree=degree)

    def track_error(self, law, degree):
        return float(self.law(*self.parameters, degree=degree).certificate.max_rel_err)

    track_error.unit = "relative"


class Parts:
    """Tables of a density with two modes, and a map that goes through probabilities."""

    def setup(self):
        self.u = np.random.default_rng(1).random(16384)
        self.table = two_modes()
        self.table.ppf(self.u, workers=1)
        self.heavy, self.light = ns.distributions.student_t(2.5), ns.distributions.student_t(100.0)
        ns.quantile.recycle(self.u, self.light, self.heavy)

    def time_ppf(self):
        self.table.ppf(self.u, workers=1)

    def time_through_probabilities(self):
        ns.quantile.recycle(self.u, self.light, self.heavy)

    def track_error(self):
        return float(self.table.certificate.max_rel_err)

    track_error.unit = "relative"


class Batch:
    """Tables of many sets of parameters on one core, degree 7.

    NUMBASTATS_SETS=1000 in the environment sets their number. 2026-11-21, Zen 5: 7.0 to 7.3 ms each for the hyperbolic law
    (10.1 and 10.8 in slow phases of the machine), 8.6 to 8.9 for variance gamma, 7.4 to 7.6 for NIG; the goal is 10.
    """

    params = ["hyperbolic", "variance_gamma", "nig"]
    param_names = ["law"]

    def setup(self, law):
        first = np.linspace(0.3, 3.0, SETS) if law == "variance_gamma" else np.linspace(1.0, 3.0, SETS)
        self.law, self.parameters = getattr(ns.distributions, law), (first, *(VG if law == "variance_gamma" else HYPERBOLIC)[1:])
        self.law(2.0, 0.3, 0.2)

    def track_milliseconds_per_set(self, law):
        start = time.process_time()
        made = self.law(*self.parameters, workers=1)
        seconds = time.process_time() - start
        assert made.certificate.ok.all()
        return 1e3 * seconds / SETS

    track_milliseconds_per_set.unit = "ms"


class Densities:
    params = ["student_t", "hyperbolic", "generalized_hyperbolic", "variance_gamma"]
    param_names = ["law"]

    def setup(self, law):
        self.x = np.random.default_rng(1).standard_normal(SMALL)
        self.law = getattr(ns.distributions, law)
        general = {"student_t": (2.5,), "hyperbolic": HYPERBOLIC, "variance_gamma": VG}
        self.parameters = general.get(law, (1.2, *HYPERBOLIC))
        self.time_pdf(law)
        self.time_cdf(law)

    def time_pdf(self, law):
        self.law.pdf(self.x, *self.parameters, device="cpu", workers=1)

    def time_cdf(self, law):
        self.law.cdf(self.x, *self.parameters, device="cpu", workers=1)


class Error:
    params = [[f"{law} {p}" for law, sets in REFERENCE.items() for p in sets], few([5, 7])]
    param_names = ["law", "degree"]

    def track_reference_error(self, law, degree):
        name, _, values = law.partition(" ")
        parameters = tuple(float(v) for v in values.strip("()").split(",") if v)
        return reference_error(name, parameters, degree)

    track_reference_error.unit = "relative"


# --- against what a user would otherwise call -----------------------------------------------------------------------------


class _Law:
    """What SciPy's numerical inversion wants: a density and its support."""

    def __init__(self, law, parameters):
        order = 1.0 if law == "hyperbolic" else None
        if order is not None:
            a, b, d = parameters
            self.pdf = lambda x: np.exp(-a * (x * x / (np.sqrt(d * d + x * x) + d)) + b * x)
        else:
            lam, a, b = parameters
            self.pdf = lambda x: (
                abs(x) ** (lam - 0.5) * scipy.special.kve(lam - 0.5, a * abs(x)) * np.exp(-a * abs(x) + b * x) if x else 1e8
            )


def _pinv(law, parameters):
    from scipy.stats.sampling import NumericalInversePolynomial

    return NumericalInversePolynomial(_Law(law, parameters), u_resolution=1e-12)


def _against_pinv(degree):
    def make():
        u = datasets.probabilities(SMALL, np.float64)
        out = np.empty_like(u)
        peer = _pinv("hyperbolic", HYPERBOLIC)
        return {
            "ours": call(table("hyperbolic", HYPERBOLIC, degree=degree), "uniform", u, out),
            "scipy PINV": lambda: peer.ppf(u),
        }

    return make


def _against_stdtrit():
    u = datasets.probabilities(SMALL, np.float64)
    out = np.empty_like(u)
    return {
        "ours": call(table("student_t", (4.0,), degree=5), "uniform", u, np.empty_like(u)),
        "scipy.special.stdtrit": lambda: scipy.special.stdtrit(4.0, u, out=out),
    }


def _against_the_paper():
    u = datasets.probabilities(SMALL, np.float64)
    arguments, out = datasets.ndtri_arguments(u, np.empty_like(u)), np.empty_like(u)
    kernel = kernels.NDTRI["fast", "float64"].serial
    peers = {name: functools.partial(peer, u, out) for name, peer in PEERS["float64"].items()}
    return {"ours": lambda: kernel(*arguments), **peers}


def _from_normal():
    z = np.random.default_rng(1).standard_normal(SMALL)
    ours, out = np.empty_like(z), np.empty_like(z)
    frozen = table("student_t", (4.0,), "normal")
    return {
        "ours": lambda: frozen.transform(z, out=ours, device="cpu", workers=1),
        "stdtrit(ndtr(z))": lambda: scipy.special.stdtrit(4.0, scipy.special.ndtr(z), out=out),
    }


def _setup(degree):
    return lambda: {
        "ours": lambda: ns.distributions.hyperbolic(*HYPERBOLIC, degree=degree),
        "scipy PINV": lambda: _pinv("hyperbolic", HYPERBOLIC),
    }


def _batch():
    alpha = np.linspace(1.0, 3.0, SETS)
    return {
        "ours": lambda: ns.distributions.hyperbolic(alpha, 0.3, 1.0, workers=1),
        "scipy PINV": lambda: [_pinv("hyperbolic", (a, 0.3, 1.0)) for a in alpha],
    }


PEER_CASES = {
    "ndtri fast float64, the peers of table 2": Case(SMALL, _against_the_paper, dict.fromkeys(PEERS["float64"])),
    "hyperbolic table, degree 5": Case(SMALL, _against_pinv(5), {"scipy PINV": 7.0}),
    "hyperbolic table, degree 7": Case(SMALL, _against_pinv(7), {"scipy PINV": 7.0}),
    "t(4) table, degree 5": Case(SMALL, _against_stdtrit, {"scipy.special.stdtrit": 20.0}),
    "t(4) from normals, whole call": Case(SMALL, _from_normal, {"stdtrit(ndtr(z))": None}),
    "set-up, hyperbolic, degree 5": Case(1, _setup(5), {"scipy PINV": None}),
    "set-up, hyperbolic, degree 7": Case(1, _setup(7), {"scipy PINV": None}),
    f"set-up, {SETS} hyperbolic laws, per law": Case(SETS, _batch, {"scipy PINV": None}),
}


# --- inputs and bounds for the check on a GPU -----------------------------------------------------------------------------


def _rows(kind, degree, base="uniform"):
    """Table and header of a law, in the float type of its degree."""
    frozen = two_modes() if degree == "split" else table("hyperbolic", HYPERBOLIC, base, 7 if degree == 3 else degree)
    return frozen, frozen._table.rows(kind, degree)


def _as_arrays(integers):
    return [np.array([i]) for i in integers]


def _uniform(degree, data):
    def make(rng, dtype, n, edges):
        frozen, rows = _rows("uniform", degree)
        header = [np.full(n, h, dtype) for h in frozen._table.header(np.dtype(dtype), False)]
        return [data(rng, dtype, n, edges), *header, *_as_arrays(frozen._table.integers(degree)), rows], None

    return make


def _probabilities(rng, dtype, n, edges):
    u = rng.uniform(1e-6, 1 - 1e-6, n).astype(dtype)
    if edges:
        front = np.array([0, -0.0, 1, -1, 2, 0.5, np.nan, np.inf, 1e-12, 1e-25, 0.3674186657932869], dtype)
        u[: min(n, front.size)] = front[:n]
    return u


def _exponentials(rng, dtype, n, edges):
    v = rng.exponential(size=n).astype(dtype)
    if edges:
        front = np.array([0, -1, np.nan, np.inf, 1e-12, 40.0], dtype)
        v[: min(n, front.size)] = front[:n]
    return v


def _shares(degree):
    def make(rng, dtype, n, edges):
        frozen, rows = _rows("uniform", degree)
        shares = [np.full(n, h, dtype) for h in frozen._table.shares(np.dtype(dtype))]
        y = rng.uniform(0.01, 0.99, n).astype(dtype)
        side = rng.choice([-1.0, 1.0], n).astype(dtype)
        return [side, y, dtype(1) - y, *shares, *_as_arrays(frozen._table.integers(degree)), rows], None

    return make


def _sided(degree):
    def make(rng, dtype, n, edges):
        frozen, rows = _rows("uniform", degree)
        v = rng.laplace(size=n).astype(dtype)
        if edges:
            front = np.array([0, -0.0, np.nan, np.inf, -np.inf, 1e-12, -40.0], dtype)
            v[: min(n, front.size)] = front[:n]
        rates = [np.full(n, rate, dtype) for rate in (1.2, 1.8)]
        shares = [np.full(n, h, dtype) for h in frozen._table.shares(np.dtype(dtype))]
        return [v, *rates, *shares, *_as_arrays(frozen._table.integers(degree)), rows], None

    return make


def _signed(degree):
    def make(rng, dtype, n, edges):
        frozen, rows = _rows("signed", degree, "normal")
        header = [np.full(n, h, dtype) for h in frozen._table.signed_header(np.dtype(dtype))]
        octaves, limit, far, _ = ns.quantile.construction.base_shape(frozen.base)
        top = (127 if dtype == np.float32 else 1023) + int(np.log2(limit)) - 1
        near = octaves << 4
        z = rng.standard_normal(n).astype(dtype)
        if edges:
            front = np.array([0, np.nan, np.inf, -np.inf, 37.0, 60.0, 1e-18, 0.25], dtype)
            z[: min(n, front.size)] = front[:n]
        return [z, *header, *_as_arrays((top, near, far)), rows], None

    return make


def _distribution(rng, dtype, n, edges):
    rows, header = ns.distributions.tables.panels_of(ns.distributions.Hyperbolic, (*HYPERBOLIC, 0.1))
    x = (3 * rng.standard_normal(n)).astype(dtype)
    if edges:
        front = np.array([0, 0.1, np.nan, np.inf, -np.inf, 300.0, -1e-12], dtype)
        x[: min(n, front.size)] = front[:n]
    return [x, *(np.full(n, h, dtype) for h in header), np.array([1]), rows], None


def _density(rng, dtype, n, edges):
    x = rng.standard_normal(n).astype(dtype)
    x[: min(n, 3)] = np.array([0.3, np.inf, np.nan], dtype)[:n] if edges else dtype(0.3)
    parameters = [np.full(n, p, dtype) for p in (1.2, 1.5, 0.3, 1.0, 0.1)]
    norm = float(gh_log_norm(1.2, 1.5, 0.3, 1.0))
    return [x, *parameters, np.full(n, norm, dtype)], None


def _norms(rng, dtype, n, edges):
    lam, alpha = rng.uniform(-2, 3, n), rng.uniform(1, 3, n)
    return [lam, alpha, alpha * rng.uniform(-0.9, 0.9, n), rng.uniform(0.1, 2, n)], None


def _orders(rng, dtype, n, edges):
    return [rng.uniform(0, 20, n), np.exp(rng.uniform(-10, 5, n))], None


def _student(rng, dtype, n, edges):
    return [rng.standard_normal(n).astype(dtype), rng.uniform(0.5, 30, n).astype(dtype)], None


GPU_MAKERS = {
    **{f"quantile.table_uniform_{d}": _uniform(d, _probabilities) for d in (3, 5, 7, "split")},
    **{f"quantile.table_exponential_{d}": _uniform(d, _exponentials) for d in (3, 5, 7, "split")},
    **{f"quantile.table_share_{d}": _shares(d) for d in (3, 5, 7, "split")},
    **{f"quantile.table_sided_{d}": _sided(d) for d in (3, 5, 7, "split")},
    **{f"quantile.table_signed_{d}": _signed(d) for d in (3, 7)},
    "distributions.distribution": _distribution,
    "distributions.gh_pdf": _density,
    "distributions.gh_logpdf": _density,
    "distributions.gh_log_norm": _norms,
    "distributions.log_kve": _orders,
    "distributions.student_*": _student,
}
_RELATIVE = dict(floor=1.0, ulp=64.0, why="an ulp of the base variable is multiplied by how fast the quantile moves with it")
GPU_BOUNDS = {
    "quantile.table_exponential_*": _RELATIVE,
    "quantile.table_sided_*": _RELATIVE,
    "quantile.table_*": dict(ulp=4.0, floor=0.01, why="a product is fused into a difference that cancels at the zero crossing"),
    "distributions.distribution": dict(ulp=64.0, why="an ulp of the logarithm is multiplied by how steep the tail is"),
    "distributions.gh_*": dict(
        ulp=256.0, floor=1.0, why="sums of up to 60 exponentials; an exponent of 10 multiplies its rounding"
    ),
    "distributions.log_kve": dict(ulp=256.0, floor=1.0, why="a sum of up to 300 exponentials"),
    "distributions.student_*": dict(ulp=64.0, floor=0.01, why="the exponent multiplies its rounding"),
}


def _tables_on_the_device(report, simulated):
    """Reference rows, evaluated on the device."""
    for law, sets in REFERENCE.items():
        for parameters in sets[:2]:
            error = reference_error(law, parameters, device="cuda")
            if not error < 2e-14:
                report.fail(f"{law}{parameters}: relative error {error:.1e} on the reference table, on the device")


GPU_CHECKS = (_tables_on_the_device,)


def _whole_calls(report, timed):
    u = np.random.default_rng(1).random(1 << 24)
    from numba import cuda

    for dtype in FLOATS:
        values = cuda.to_device(u.astype(FLOATS[dtype]))
        out = cuda.device_array_like(values)
        frozen = table("hyperbolic", HYPERBOLIC)
        ms = timed(lambda values=values, out=out, frozen=frozen: frozen.ppf(values, out=out))
        report.jobs.append(("hyperbolic(1.5, 0.3, 1).ppf, 2^24 values on the device", dtype, ms, "degree 7; float32 degree 3"))


GPU_JOBS = (_whole_calls,)
