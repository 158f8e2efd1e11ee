"""Speed, memory and error of the stable laws."""

from __future__ import annotations

import csv
import dataclasses

import numpy as np

import numbastats as ns
from numbastats.stable import kernels, table_cache
from numbastats.stable.kernels import fits
from numbastats.stable.shared_tables import shared_tables

from . import datasets
from .common import Case, Timing, few, interleave

SIZES = (1_000, 10_000, 1_000_000)
ONE = dict(device="cpu", workers=1)


def grid(n):
    """Points of the reference's experiments."""
    return np.random.default_rng(1).uniform(-100.0, 100.0, n)


def reference_errors(name):
    """Relative errors on the rows of the reference table with log density above -230."""
    with open(datasets.REFERENCE / "stable_reference_public.csv") as f:
        rows = [[float(r[k]) for k in ("alpha", "beta", "x", name, "logpdf")] for r in csv.DictReader(f)]
    a, b, x, want, log = np.array(rows).T
    keep = (log > -230) & (want > 0)
    got = getattr(ns.stable, name)(x[keep], a[keep], b[keep], method="quadrature", **ONE)
    return np.abs(got - want[keep]) / want[keep]


class Laws:
    """One law, table included: what a first call costs, and a second one."""

    params = [few(SIZES), ["pdf", "cdf", "ppf"], few([0.5, 1.5, 1.9])]
    param_names = ["points", "function", "alpha"]

    def setup(self, points, function, alpha):
        self.x = grid(points) if function != "ppf" else np.random.default_rng(1).random(points)
        self.out = np.empty(points)
        self.call = getattr(ns.stable, function)
        self.time_later_call(points, function, alpha)

    def time_first_call(self, points, function, alpha):
        table_cache.table.cache_clear()
        self.time_later_call(points, function, alpha)

    def time_later_call(self, points, function, alpha):
        self.call(self.x, alpha, 0.5, out=self.out, **ONE)

    def peakmem_later_call(self, points, function, alpha):
        self.time_later_call(points, function, alpha)


class Points:
    """Every point by itself: parameters differ."""

    params = [few(SIZES[:2]), ["pdf", "cdf", "ppf", "pdf_cdf"]]
    param_names = ["points", "function"]

    def setup(self, points, function):
        rng = np.random.default_rng(2)
        self.x = rng.random(points) if function == "ppf" else rng.standard_cauchy(points)
        self.alpha, self.beta = rng.uniform(0.3, 2.0, points), rng.uniform(-1.0, 1.0, points)
        self.call = getattr(ns.stable, function)
        self.call(self.x[:10], self.alpha[:10], self.beta[:10], **ONE)

    def time_parameters_differ(self, points, function):
        self.call(self.x, self.alpha, self.beta, **ONE)


class Methods:
    """One law, point by point, by each method."""

    params = [few(SIZES[:2]), ["quadrature", "fourier", "gauss-kronrod"], few([0.75, 1.0, 1.5])]
    param_names = ["points", "method", "alpha"]

    def setup(self, points, method, alpha):
        self.x = np.random.default_rng(2).uniform(-5.0, 5.0, points if method != "gauss-kronrod" else points // 10)
        self.time_pdf(points, method, alpha)

    def time_pdf(self, points, method, alpha):
        ns.stable.pdf(self.x, alpha, 0.5, method=method, **ONE)

    def track_largest_absolute_difference(self, points, method, alpha):
        exact = ns.stable.pdf(self.x, alpha, 0.5, method="table", **ONE)
        return float(np.abs(ns.stable.pdf(self.x, alpha, 0.5, method=method, **ONE) - exact).max())

    track_largest_absolute_difference.unit = "absolute"


class Draws:
    params = [few(SIZES), few([0.5, 1.0, 1.7])]
    param_names = ["draws", "alpha"]

    def setup(self, draws, alpha):
        self.out = np.empty(draws)
        self.time_rvs(draws, alpha)

    def time_rvs(self, draws, alpha):
        ns.stable.rvs(alpha, 0.5, size=self.out.size, rng=1, out=self.out, **ONE)


class Fits:
    """Maximum likelihood, 1000 values, the cells of the shared tables made before."""

    params = [few([0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 1.9, 1.99]), few([0.0, 0.5, 0.9])]
    param_names = ["alpha", "beta"]

    def setup(self, alpha, beta):
        self.x = ns.stable.rvs(alpha, beta, size=1000, rng=1)
        self.time_fit(alpha, beta)

    def time_fit(self, alpha, beta):
        ns.stable.fit(self.x, workers=1)

    def track_evaluations(self, alpha, beta):
        return ns.stable.fit(self.x, workers=1).n_eval

    track_evaluations.unit = "evaluations"


class Error:
    params = ["pdf", "cdf", "sf"]
    param_names = ["function"]

    def track_largest_relative_error(self, function):
        return float(reference_errors(function).max())

    track_largest_relative_error.unit = "relative"

    def track_share_worse_than_1e13(self, function):
        return float((reference_errors(function) >= 1e-13).mean())

    track_share_worse_than_1e13.unit = "share"


class Table:
    params = [few([0.25, 0.75, 1.0, 1.5, 1.9]), few([0.0, 0.5, 1 - 1e-9, 1.0])]
    param_names = ["alpha", "beta"]

    def setup(self, alpha, beta):
        self.table = table_cache.table(alpha, beta)

    def track_certificate(self, alpha, beta):
        return self.table.certificate

    track_certificate.unit = "log"

    def track_bytes(self, alpha, beta):
        return self.table.nbytes

    track_bytes.unit = "bytes"

    def time_setup(self, alpha, beta):
        table_cache.table.__wrapped__(alpha, beta)


# --- peers ----------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class UnequalCase(Case):
    """A case whose peers process fewer values, because they are slow."""

    peer_values: int = 1

    def measure(self, peers=None, seconds=0.3):
        callables = {k: f for k, f in self.make().items() if peers is None or k in ("ours", *peers)}
        timing = interleave(callables, self.values, seconds)
        factor = self.values / self.peer_values
        return Timing({k: r if k == "ours" else r * factor for k, r in timing.rounds.items()})


_PEER = "scipy.stats.levy_stable"


def _peer_case(function, values, peer_values, varying=False):
    def make():
        import scipy.stats

        rng = np.random.default_rng(3)
        x = rng.random(values) if function == "ppf" else grid(values)
        a, b = (rng.uniform(1.1, 1.9, values), rng.uniform(-0.9, 0.9, values)) if varying else (1.5, 0.5)
        few = slice(peer_values)
        peer = getattr(scipy.stats.levy_stable, function)

        def ours():
            table_cache.table.cache_clear()  # the set-up counts
            getattr(ns.stable, function)(x, a, b, param="S1", **ONE)

        return {"ours": ours, _PEER: lambda: peer(x[few], a[few] if varying else a, b[few] if varying else b)}

    return make


def _draws():
    import scipy.stats

    n, generator, out = 10_000, np.random.default_rng(1), np.empty(10_000)
    return {
        "ours": lambda: ns.stable.rvs(1.5, 0.5, size=n, rng=1, out=out, **ONE),
        _PEER: lambda: scipy.stats.levy_stable.rvs(1.5, 0.5, size=n, random_state=generator),
    }


PEER_CASES = {
    "stable.pdf, 10^4 points of one law, table included": UnequalCase(10_000, _peer_case("pdf", 10_000, 10), {_PEER: 5000.0}, 10),
    "stable.cdf, 10^4 points of one law, table included": UnequalCase(10_000, _peer_case("cdf", 10_000, 10), {_PEER: None}, 10),
    "stable.ppf, 10^4 points of one law, table included": UnequalCase(10_000, _peer_case("ppf", 10_000, 2), {_PEER: 8000.0}, 2),
    "stable.pdf, 10^3 points, parameters differ": UnequalCase(1_000, _peer_case("pdf", 1_000, 10, True), {_PEER: None}, 10),
    "stable.rvs, 10^4 draws": Case(10_000, _draws, {_PEER: None}),
}


# --- inputs for the check on a GPU ------------------------------------------------------------------------------------------


def _laws(rng, n, dtype):
    """Alpha away from 1, where both devices lose a digit or two differently, and beta."""
    a = np.where(rng.random(n) < 0.5, rng.uniform(0.3, 0.95, n), rng.uniform(1.05, 2.0, n))
    b = rng.uniform(-0.9, 0.9, n)
    a[0], b[0] = 1.5, 0.5
    return a.astype(dtype), b.astype(dtype)


def _spread(rng, n, dtype, edges):
    x = (rng.standard_cauchy(n) * 10.0 ** rng.uniform(-2, 2, n)).astype(dtype)
    if edges:
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30], dtype)
        x[: special.size] = special[: x.size]
    return x


def _place(rng, n, dtype):
    loc, scale = rng.uniform(-1, 1, n).astype(dtype), rng.uniform(0.5, 2, n).astype(dtype)
    loc[0], scale[0] = 0.0, 1.0
    return loc, scale


def _points(rng, dtype, n, edges):
    n = min(n, 1 << 16)  # a block per point
    density = np.zeros(1)
    return [_spread(rng, n, dtype, edges), *_laws(rng, n, dtype), *_place(rng, n, dtype), density], [np.zeros(n, dtype)]


def _values(rng, dtype, n, edges):
    inputs, out = _points(rng, dtype, 24 if n < 1000 else n, edges)
    return [*inputs[:5], np.array([kernels.THREE])], [np.zeros(inputs[0].size, dtype) for _ in range(6)]


def _few_points(rng, dtype, n, edges):
    inputs, _ = _points(rng, dtype, 9 if n < 1000 else n, edges)
    return inputs, [np.zeros(inputs[0].size, dtype)]


def _probabilities(rng, n, dtype, edges):
    p = rng.random(n).astype(dtype)
    if edges:
        special = np.array([0.0, 1.0, np.nan, -0.1, 1.1, 1e-30], dtype)
        p[: special.size] = special[: p.size]
    return p


def _newton(rng, dtype, n, edges):
    n = min(n, 8 if n < 1000 else 1 << 14)
    numbers = [np.zeros(n, dtype), np.zeros(n, dtype)]
    return [_probabilities(rng, n, dtype, edges), *_laws(rng, n, dtype), *_place(rng, n, dtype), *numbers], [np.zeros(n, dtype)]


def _table(rng, dtype, n, edges):
    t = table_cache.table(1.5, 0.5)
    numbers = [np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1)]
    return [_spread(rng, n, dtype, edges), *_place(rng, n, dtype), *numbers, t.info, t.cells, t.panels[1], t.panels[2]], None


def _quantile(rng, dtype, n, edges):
    t = table_cache.table(1.5, 0.5)
    numbers = [np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1)]
    return [_probabilities(rng, n, dtype, edges), *_place(rng, n, dtype), *numbers, t.info, t.panels[1], t.panels[2]], None


def _rvs(rng, dtype, n, edges):
    key = [np.array([w]) for w in (0x9E3779B9, 0x12345678, 5, 1 << 28)]
    return [*key, *_laws(rng, n, dtype), *_place(rng, n, dtype)], None


def _series(n):
    """Data sets one after another, their offsets and numbers, and how many values each has."""
    count, size = (2, 24) if n < 1000 else (n // 50, 50)
    x = np.sort(ns.stable.rvs(1.5, 0.3, size=(count, size), rng=3))
    return x, np.arange(count + 1) * size, np.arange(count)


def _search(rng, dtype, n, edges):
    x, offsets, todo = _series(n)
    ns.stable.fit_many(x)  # makes the cells
    wanted, limits = np.full((2, 4), np.nan), np.array([[0.1, 2.0 - 1e-6], [-1.0, 1.0]])
    inputs = [x.ravel(), offsets, todo, wanted, limits, np.arange(4), np.zeros(1), shared_tables().pool]
    return inputs, [np.zeros(x.size), np.zeros((todo.size, fits.WIDTH))]


def _likelihood(rng, dtype, n, edges):
    x, offsets, todo = _series(n)
    found = np.zeros((todo.size, fits.WIDTH))  # DONE
    found[:, fits.COUNT], found[:, fits.UNIT], found[:, 1] = x.shape[1], 1.0, np.nan
    found[:, fits.P : fits.P + 4] = 1.5, 0.3, 0.0, 1.0
    return [x.ravel(), offsets, todo], [found]


GPU_MAKERS = {
    "stable.search": _search,
    "stable.likelihood": _likelihood,
    "stable.points": _values,
    "stable.fourier": _points,
    "stable.gauss_kronrod": _few_points,
    "stable.newton": _newton,
    "stable.table*": _table,
    "stable.quantile": _quantile,
    "stable.rvs*": _rvs,
}
_ORDER = "another order of summation, and rounding of log g that 1/(alpha - 1) multiplies; 4096 ulp are 9e-13"
GPU_BOUNDS = {
    "stable.search": dict(ulp=1e8, floor=1.0, flips=0.05, why="a climb ends where a step promises a gain below 1e-9"),
    "stable.likelihood": dict(ulp=4096.0, floor=1.0, why=_ORDER),
    "stable.points": dict(  # cdf, sf, three error estimates, pdf
        ulp=4096.0, flips=(0.01, 0.01, 0.6, 0.6, 0.6, 0.01), why=_ORDER + "; error estimates are differences of nearly equal sums"
    ),
    "stable.fourier": dict(
        ulp=4096.0,
        floor=1.0,
        flips=1e-4,
        why="another order of summation; the rule is accurate absolutely, to 3e-12 at small alpha",
    ),
    "stable.gauss_kronrod": dict(ulp=1e6, why=_ORDER.partition(";")[0] + "; a subinterval more or less may be divided"),
    "stable.newton": dict(ulp=4096.0, floor=1.0, why="quantiles near 0 are differences"),
    "stable.table*": dict(ulp=64.0, why="the logarithm's error in ulp is multiplied by the logarithm"),
    "stable.quantile": dict(ulp=1024.0, floor=1.0, why="quantiles near 0 are differences"),
    "stable.rvs*": dict(
        ulp=1024.0,
        floor=1.0,
        flips=1e-5,
        why="1/alpha multiplies the logarithms' errors; variates are differences, of large numbers in 10^-6 of the draws",
    ),
}


def _check_paper_quantiles(report, simulated):
    """Table 7 of the reference: ppf(cdf(x)) on the device."""
    p = np.linspace(0.1, 0.9, 3 if simulated else 1000)
    for alpha in (0.5, 1.5):
        back = ns.stable.cdf(ns.stable.ppf(p, alpha, 0.5, device="cuda"), alpha, 0.5, method="quadrature", device="cuda")
        if not np.allclose(back, p, rtol=1e-12):
            report.fail(f"stable: cdf(ppf(p)) differs from p by {np.abs(back - p).max():.1e} at alpha = {alpha}")


GPU_CHECKS = (_check_paper_quantiles,)


def _whole_calls(report, timed):
    x, p = grid(10_000_000), np.random.default_rng(1).random(1_000_000)
    for what, call in (
        ("stable.pdf, 10^7 points, table", lambda: ns.stable.pdf(x, 1.5, 0.5, device="cuda")),
        ("stable.pdf, 10^5 points, quadrature", lambda: ns.stable.pdf(x[:100_000], 1.5, 0.5, method="quadrature", device="cuda")),
        ("stable.ppf, 10^6 points, table", lambda: ns.stable.ppf(p, 1.5, 0.5, device="cuda")),
        ("stable.rvs, 10^7 draws", lambda: ns.stable.rvs(1.5, 0.5, size=10_000_000, rng=1, device="cuda")),
    ):
        report.jobs.append((what, "float64", timed(call), "transfers included"))


GPU_JOBS = (_whole_calls,)
