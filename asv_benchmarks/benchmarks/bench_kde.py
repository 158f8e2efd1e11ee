"""Speed, memory and error of kernel densities.

The lattice data imitate a sequencing chip: integer positions of a smooth density, as in the reference's largest case.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import numbastats as ns
from numbastats._core.parallel import worker_count
from numbastats.kde import engine
from numbastats.kde import kernels as K
from numbastats.kde.arguments import make_model, parse_axes
from numbastats.kde.cell_list import PointList
from numbastats.kde.kernels import geometry as G
from numbastats.kde.kernels import resident
from numbastats.kde.kernels.sorting import AXIS, BLOCK, CHUNKS

from .common import Case, few, interleave

CHIP = 3_473_932  # samples of the reference's largest data set
ONE = {"device": "cpu", "workers": 1}


@functools.cache
def lattice(n):
    """n integer positions in the plane."""
    rng, width, height, parts, total = np.random.default_rng(0), 2736, 2640, [], 0
    while total < n:
        x, y = rng.integers(0, width, 2 * n), rng.integers(0, height, 2 * n)
        u, v = x / width - 0.5, y / height - 0.5
        density = np.exp(-2 * (u * u + v * v) - 0.8 * u * v) * (0.75 + 0.25 * np.sin(9 * u) * np.cos(7 * v))
        keep = rng.random(2 * n) < density
        parts.append(np.stack([y[keep], x[keep]], -1))
        total += len(parts[-1])
    return np.concatenate(parts)[:n].astype(float)


@functools.cache
def normal(n, d):
    """n correlated normal samples."""
    mix = 0.5 * np.eye(d) + 0.5
    return np.random.default_rng(0).multivariate_normal(np.zeros(d), mix, n)


def span(x, *lengths):
    """Axes from the least to the largest sample."""
    return [(float(c.min()), float(c.max()), m) for c, m in zip(x.reshape(len(x), -1).T, lengths, strict=True)]


def draw_points(x, count):
    """Off the grid, where the samples are."""
    rng = np.random.default_rng(1)
    return x[rng.integers(0, len(x), count)] + rng.random((count, x.shape[1])) * x.std(0) * 0.01


# --- asv ---


class Plane:
    """Whole calls: moments, sort, rows."""

    params = [["rows-c", "rows-b", "cells", "skde-row", "skde"], few([20_000, 320_000])]
    param_names = ["method", "samples"]

    def setup(self, method, n):
        self.x = lattice(n)
        self.axes = span(self.x, 270, 280)
        self.time_280x270(method, n)

    def time_280x270(self, method, n):
        ns.kde.grid(self.x, self.axes, method=method, **ONE)

    def peakmem_280x270(self, method, n):
        ns.kde.grid(self.x, self.axes, method=method, **ONE)


class Atomics:
    """S-KDE with rows owned by tasks, and with atomic additions."""

    params = ["skde", "skde-atomic"]

    def setup(self, method):
        self.x = lattice(5000)
        self.axes = span(self.x, 270, 280)
        self.time_280x270(method)

    def time_280x270(self, method):
        ns.kde.grid(self.x, self.axes, method=method, **ONE)


class Dimensions:
    params = [1, 2, 3, 4]

    def setup(self, d):
        self.x = normal(50_000, d)
        self.axes = span(self.x, *{1: (4096,), 2: (200, 200), 3: (40, 40, 60), 4: (12, 12, 12, 24)}[d])
        self.time_grid(d)

    def time_grid(self, d):
        ns.kde.grid(self.x, self.axes, **ONE)


class Kernels:
    params = ["uniform", "epanechnikov", "biweight", "triweight", "triangular", "gaussian"]

    def setup(self, kernel):
        self.x = lattice(20_000)
        self.axes = span(self.x, 270, 280)
        self.w = np.random.default_rng(2).random(20_000)
        self.time_weighted(kernel)

    def time_weighted(self, kernel):
        ns.kde.grid(self.x, self.axes, weights=self.w, kernel=kernel, tail=1e-4, **ONE)


class Adaptive:
    """Scales by Abramson's rule, the pilot included."""

    params = ["epanechnikov", "biweight", "triweight", "triangular"]
    param_names = ["kernel"]

    def setup(self, kernel):
        self.x = normal(20_000, 2)
        self.axes = span(self.x, 200, 200)
        self.time_grid(kernel)

    def time_grid(self, kernel):
        ns.kde.grid(self.x, self.axes, kernel=kernel, adaptive="abramson", **ONE)


class Points:
    params = few([20_000, 320_000])

    def setup(self, n):
        self.x = lattice(n)
        self.points = draw_points(self.x, 2000)
        self.fitted = ns.kde.KDE(**ONE).fit(self.x)
        self.time_2000_points_list_built(n)

    def time_2000_points_list_built(self, n):
        self.fitted.points(self.points)

    def time_2000_points(self, n):
        ns.kde.points(self.x, self.points, **ONE)


class AtSamples:
    """Densities at the samples themselves, and levels of highest-density regions from them."""

    params = few([20_000, 1_000_000])
    param_names = ["samples"]

    def setup(self, n):
        self.x = normal(n, 2)
        self.density = ns.kde.at_samples(self.x, **ONE)
        self.time_leave_one_out(n)

    def time_at_samples(self, n):
        ns.kde.at_samples(self.x, **ONE)

    def time_leave_one_out(self, n):
        ns.kde.at_samples(self.x, leave_one_out=True, **ONE)

    def time_hdr_levels(self, n):
        ns.kde.hdr_levels(self.density, [0.5, 0.9], weights=1.0)

    def track_error(self, n):
        few = slice(0, 20)
        exact = ns.kde.points(self.x, self.x[few], method="ep", **ONE)
        return float(np.abs(self.density[few] - exact).max() / exact.max() / 2**-53)

    track_error.unit = "2^-53 of the peak"


class Conditional:
    """Densities of y given x, and what is read off them."""

    params = few([20_000, 1_000_000])
    param_names = ["samples"]

    def setup(self, n):
        self.x, self.y = normal(n, 2).T
        self.density = ns.kde.conditional(self.x, self.y, **ONE)

    def time_101x201(self, n):
        ns.kde.conditional(self.x, self.y, **ONE)

    def time_quantiles(self, n):
        self.density.quantile([0.1, 0.5, 0.9])

    def track_error(self, n):
        """Against brute force at 20 positions, in units of the peak's last place."""
        f, few = self.density, (slice(40, 60, 5), slice(80, 120, 8))
        (x, y), (a, b) = f.grid, np.sqrt(np.diag(f.H))
        near = np.maximum(1 - ((x[few[0], None] - self.x) / a) ** 2, 0)
        exact = near @ (np.maximum(1 - ((y[few[1], None] - self.y) / b) ** 2, 0) * 0.75 / b).T / near.sum(1)[:, None]
        return float(np.abs(f.density[few] - exact).max() / exact.max() / 2**-53)

    track_error.unit = "2^-53 of the peak"


class Walls:
    """Boundaries in one dimension, at points and on a grid."""

    params = ["reflect", "renorm", "linear", "jones-foster"]
    param_names = ["kind"]

    def setup(self, kind):
        self.x = np.random.default_rng(0).exponential(size=100_000)
        self.options = dict(boundary={0: (kind, 0.0, None)}, **ONE)
        self.time_grid(kind)
        self.time_points(kind)

    def time_grid(self, kind):
        ns.kde.grid(self.x, (0.0, 12.0, 1001), **self.options)

    def time_points(self, kind):
        ns.kde.points(self.x, self.x[:10_000], **self.options)


class GaussianKde:
    """The stand-in for SciPy's class, its construction included."""

    def setup(self):
        self.x, self.at = normal(2000, 2).T, normal(2000, 2)[::-1].T
        self.time_evaluate()

    def time_evaluate(self):
        ns.interop.gaussian_kde(self.x)(self.at)

    def track_error(self):
        from scipy.stats import gaussian_kde

        want = gaussian_kde(self.x)(self.at)
        return float(np.abs(ns.interop.gaussian_kde(self.x)(self.at) - want).max() / want.max() / 2**-53)

    track_error.unit = "2^-53 of the peak"


class Line:
    """Quantiles of an estimate in one dimension."""

    params = few([10_000, 1_000_000])
    param_names = ["samples"]

    def setup(self, n):
        self.p = np.linspace(1e-6, 1 - 1e-6, 100)
        self.fitted = ns.kde.KDE(**ONE).fit(normal(n, 1)[:, 0])
        self.many = np.linspace(0.0, 1.0, 100_003)[1:-1]
        self.places = self.fitted.ppf(self.many)
        self.time_cdf_of_many(n)
        self.time_ppf(n)
        self.time_sample(n)

    def time_ppf(self, n):
        self.fitted.ppf(self.p)

    def time_ppf_of_many(self, n):
        self.fitted.ppf(self.many)

    def time_cdf_of_many(self, n):
        self.fitted.cdf(self.places)

    def time_sample(self, n):
        self.fitted.sample(100_000, rng=1)

    def track_error(self, n):
        return float(np.abs(self.fitted.cdf(self.fitted.ppf(self.p)) / self.p - 1).max() / 2**-53)

    track_error.unit = "2^-53 of p"


class Selectors:
    params = [["lscv", "plugin"], [1, 2]]
    param_names = ["rule", "dimension"]

    def setup(self, rule, d):
        self.x = normal(5000, d)
        self.time_5000(rule, d)

    def time_5000(self, rule, d):
        getattr(ns.kde.bandwidth, rule)(self.x, workers=1)


class Matrices:
    params = [["plugin_matrix", "scv"], [2, 6]]
    param_names = ["rule", "dimension"]

    def setup(self, rule, d):
        self.x = normal(1000, d)

    def time_1000(self, rule, d):
        getattr(ns.kde.bandwidth, rule)(self.x)


class Growth:
    """Exponent of the time between sizes 1 and 4 of one quantity, the others fixed: 1 is linear, less where fixed costs count."""

    params = ["samples", "rows", "positions"]
    sizes = {
        "samples": [(100_000 * k, 0.2, (400, 400)) for k in (1, 2, 4)],
        "rows": [(100_000, 0.1 * k, (400, 400)) for k in (1, 2, 4)],
        "positions": [(1000, 0.05, (1000, 1600 * k)) for k in (1, 2, 4)],
    }

    def milliseconds(self, what, seconds=0.3):
        """The fastest of the rounds at sizes 1, 2, 4: other load only ever adds."""
        x, calls = lattice(400_000), {}
        for n, h, shape in self.sizes[what]:
            axes = span(x, *shape)
            calls[n, h, shape] = lambda n=n, h=h, axes=axes: ns.kde.grid(x[:n], axes, h=h, method="rows-c", **ONE)
        timing = interleave(calls, 1, seconds)
        return [float(timing.rounds[name].min()) * 1e-6 for name in calls]

    def track_exponent(self, what):
        return float(np.polyfit(np.log([1, 2, 4]), np.log(self.milliseconds(what)), 1)[0])

    track_exponent.unit = "power of the size"


class Memory:
    """Peak of what is allocated during a call, the result apart, in doubles per sample; 5 are allowed."""

    params = ["rows-b", "rows-b, weights", "rows-c", "cells"]

    def track_doubles_per_sample(self, what):
        import tracemalloc

        n = 1_000_000
        x, (method, _, weighted) = lattice(n), what.partition(",")
        w = np.random.default_rng(2).random(n) + 0.5 if weighted else None
        axes = span(x, 270, 280)
        ns.kde.grid(x, axes, weights=w, method=method, **ONE)
        tracemalloc.start()
        f = ns.kde.grid(x, axes, weights=w, method=method, **ONE)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return (peak - f.nbytes) / (8 * n)

    track_doubles_per_sample.unit = "doubles per sample"


class Threads:
    """Two threads on one grid against one, and two calls at once in two threads against one after the other: what is possible."""

    params = ["one grid", "two calls"]

    def track_speedup(self, what):
        x = lattice(CHIP // 4)
        axes = span(x, 540, 560)

        def one():
            ns.kde.grid(x, axes, method="rows-c", **ONE)

        def both():
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _: one(), range(2)))

        def shared():
            ns.kde.grid(x, axes, method="rows-c", device="cpu", workers=2)

        timing = interleave({"one": one, "two": shared if what == "one grid" else both}, 1)
        return timing.speedup("two", "one") * (1 if what == "one grid" else 2)

    track_speedup.unit = "times one thread"


class Error:
    """Against brute force, in units of the peak's last place."""

    params = ["rows-b", "rows-c", "skde-row"]

    def track_error(self, method):
        x = lattice(3000)
        axes = span(x, 60, 70)
        exact = ns.kde.grid(x, axes, method="ep", **ONE)
        got = ns.kde.grid(x, axes, method=method, **ONE)
        return float(np.abs(got - exact).max() / exact.max() / 2**-53)

    track_error.unit = "2^-53 of the peak"


# --- peers ---


def _scipy():
    from scipy.stats import gaussian_kde

    x = lattice(10_000)
    axes = span(x, 270, 280)
    mesh = np.stack([m.ravel() for m in np.meshgrid(*[np.linspace(*a) for a in axes], indexing="ij")])
    peer = gaussian_kde(x.T)
    return {"ours": lambda: ns.kde.grid(x, axes, **ONE), "scipy gaussian_kde": lambda: peer(mesh)}


def _sklearn(n, *shape):
    def make():
        from sklearn.neighbors import KernelDensity

        x = lattice(n)
        axes = span(x, *shape)
        mesh = np.stack([m.ravel() for m in np.meshgrid(*[np.linspace(*a) for a in axes], indexing="ij")], -1)
        h = ns.kde.bandwidth.eq9(x) * float(x.std())
        peer = KernelDensity(kernel="epanechnikov", bandwidth=h).fit(x)
        return {
            "ours": lambda: ns.kde.grid(x, axes, h=h, bw_convention="sklearn", **ONE),
            "scikit-learn KernelDensity": lambda: peer.score_samples(mesh),
        }

    return make


def _kdepy(n, *shape):
    def make():
        from KDEpy import FFTKDE

        x = lattice(n)
        low, high = x.min(0) - 1, x.max(0) + 1
        axes = [(float(a), float(b), m) for a, b, m in zip(low, high, shape, strict=True)]
        mesh = np.stack([m.ravel() for m in np.meshgrid(*[np.linspace(*a) for a in axes], indexing="ij")], -1)
        h = ns.kde.bandwidth.eq9(x) * float(x.std())
        return {
            "ours": lambda: ns.kde.grid(x, axes, h=h, sigma="identity", **ONE),
            "KDEpy FFTKDE": lambda: FFTKDE(kernel="epa", bw=h / 5**0.5).fit(x).evaluate(mesh),
        }

    return make


def _line(n, m):
    def make():
        from KDEpy import FFTKDE

        x = np.random.default_rng(0).standard_normal(n)
        axis = np.linspace(x.min() - 1, x.max() + 1, m)
        h = ns.kde.bandwidth.eq9(x[:1000])
        return {
            "ours": lambda: ns.kde.grid(x, axis, h=h, sigma="identity", **ONE),
            "KDEpy FFTKDE": lambda: FFTKDE(kernel="epa", bw=h / 5**0.5).fit(x).evaluate(axis),
        }

    return make


def _own(n, shape, method, d):
    def make():
        x = lattice(n) if d == 2 else normal(n, d)
        axes = span(x, *shape)
        return {
            "ours": lambda: ns.kde.grid(x, axes, **ONE),
            f"method={method!r}": lambda: ns.kde.grid(x, axes, method=method, **ONE),
        }

    return make


def _threads():
    x = lattice(CHIP // 4)
    axes = span(x, 540, 560)
    ns.kde.grid(x[:100], axes, h=0.1, device="cpu", workers=2)
    return {"ours": lambda: ns.kde.grid(x, axes, device="cpu", workers=2), "one thread": lambda: ns.kde.grid(x, axes, **ONE)}


PEER_CASES = {
    "kde.grid 10^4 samples, 280x270": Case(270 * 280, _scipy, {"scipy gaussian_kde": 1000.0}),
    "kde.grid 2*10^4 samples, 280x270": Case(
        270 * 280, _sklearn(20_000, 270, 280), {"scikit-learn KernelDensity": 200.0}, needs="sklearn"
    ),
    "kde.grid 3.5*10^5 samples, 560x540": Case(540 * 560, _own(CHIP // 10, (540, 560), "skde", 2), {"method='skde'": 10.0}),
    "kde.grid 5*10^4 samples, 110x220x322": Case(
        110 * 220 * 322, _own(50_000, (110, 220, 322), "skde-crop", 3), {"method='skde-crop'": 4.0}
    ),
    "two threads, kde.grid 560x540": Case(540 * 560, _threads, {"one thread": 1.7}),
    # KDEpy's are approximate: binned samples and a fast Fourier transform
    "kde.grid 3.5*10^6 samples, 560x540": Case(540 * 560, _kdepy(CHIP, 540, 560), {"KDEpy FFTKDE": 1.0}, needs="KDEpy"),
    "kde.grid 10^6 samples, 1024": Case(1024, _line(1_000_000, 1024), {"KDEpy FFTKDE": 0.65}, needs="KDEpy"),
}
"""Cases that run in seconds; those of the full size are in `examples/papers/plot_kde_speed.py`."""


# --- inputs of every kernel, for the GPU check ---


def _planned(model, method, axes):
    """Grid and sorted samples of a model on the whole grid."""
    asked = engine.Request(axes, tuple(axes[2].tolist()), None, None, "cpu", worker_count(1))
    return engine.plan_pass(model, (), method, asked)[2:]


def _rows(method, kernel="epanechnikov", weighted=False, dimension=2):
    """Arguments of a rows kernel and its outputs."""

    def make(rng, dtype, n, edges):
        n = min(n, 100_000)
        x = rng.standard_normal((n, dimension)) @ (0.5 * np.eye(dimension) + 0.5)
        model = make_model(x, rng.random(n) if weighted else None, kernel=kernel, H=0.3 * np.eye(dimension) + 0.05)
        small = n < 1000
        shape = {2: (6, 9) if small else (60, 200), 3: (3, 4, 6) if small else (12, 20, 50)}[dimension]
        axes = parse_axes([(-2.0, 2.0, m) for m in shape], dimension)
        grid, lists = _planned(model, method, axes)
        inputs = [lists.u, lists.w, lists.lam2, lists.starts, grid.geometry]
        lines, length = grid.lines, grid.row_length
        return inputs, (lines, length, model.power, grid)

    return make


def _with_buffers(make, kind):
    def full(rng, dtype, n, edges):
        inputs, (lines, length, power, grid) = make(rng, dtype, n, edges)
        if kind == "state":
            return inputs, [np.zeros((lines, grid.state_size(power)), np.int64)]
        if kind == "direct":
            return inputs, [np.zeros((lines, length))]
        return inputs, [np.zeros((min(lines, 8), (length + G.PAD) * K.STRIDE[power]), np.int64), np.zeros((lines, length))]

    return full


def _finished(make, name):
    def full(rng, dtype, n, edges):
        inputs, (lines, length, power, grid) = make(rng, dtype, n, edges)
        state = np.zeros((lines, grid.state_size(power)), np.int64)
        K.ACCUMULATE[name].serial(*inputs, state)
        return [inputs[4], state], [np.zeros((lines, length))]

    return full


def _cells_state(rng, dtype, n, edges):
    """Arguments of the kernels for moments of cells: those of the first, the state, the lengths of the grid."""
    x = rng.standard_normal((min(n, 100_000), 2)) @ (0.5 * np.eye(2) + 0.5)
    model = make_model(x, H=0.3 * np.eye(2) + 0.05)
    shape = (5, 6) if n < 1000 else (60, 80)
    axes = parse_axes([(-2.0, 2.0, m) for m in shape], 2)
    grid, lists = _planned(model, "cells", axes)
    s = grid.footprint
    band, state = engine.scatter_cells(s, lists, "cpu", 1)
    inputs = [lists.u, lists.starts, s.ring, s.offsets, s.inner, s.record(band)]
    return inputs, state, grid.geometry["scale"], (grid.lines, grid.row_length)


def _cells_scatter(rng, dtype, n, edges):
    inputs, state, _, _ = _cells_state(rng, dtype, n, edges)
    return inputs, [np.zeros_like(state)]


def _cells_finish(rng, dtype, n, edges):
    inputs, state, scale, shape = _cells_state(rng, dtype, n, edges)
    return [inputs[-1], scale, state], [np.zeros(shape)]


def _listed(kernel, cells):
    """Arguments of a kernel for listed points, with cells or without, and its output."""

    def make(rng, dtype, n, edges):
        n = min(n, 20_000)
        c = PointList(make_model(rng.standard_normal((n, 2)), kernel=kernel, H=0.3 * np.eye(2)), workers=1)
        points = rng.standard_normal((max(n // 8, 3), 2))
        if edges:
            points[0, 0] = np.nan
        y = np.ascontiguousarray((points - c.mean) @ c.factor.T)
        lists = [c.sorted.u, c.sorted.w, c.sorted.lam2, *([c.sorted.starts, c.moments] if cells else ())]
        return [y, *lists, c.ball], [np.zeros(len(y))]

    return make


def _resident(kernel):
    """Inputs of a kernel for samples that stay on a GPU: those of the kernels before it."""

    def make(rng, dtype, n, edges):
        x, record, lanes = rng.standard_normal((n, 2)), np.zeros((CHUNKS + 1, 5, 2)), np.zeros((3, 4, CHUNKS * BLOCK))
        some, all_lanes = 2 * -(-n // max(1, n // 1000)), lanes.shape[0] * lanes.shape[2]
        axes, key, coarse, cells = np.zeros(2, AXIS), np.zeros(n, np.int64), np.zeros(30, np.int64), 7 * 9
        axes["axis"], axes["step"], axes["low"], axes["high"], axes["first"] = (1, 0), 0.5, -5.0, 5.0, -5.0
        axes["cells"], axes["inverse"], axes["coarse_cells"], axes["coarse_inverse"] = (7, 9), 0.8, (5, 6), 0.5
        resident.COUNT.serial(x, axes, key, coarse)
        order = np.argsort(np.where(key < 0, cells, key), kind="stable")
        starts = np.searchsorted(np.sort(np.where(key < 0, cells, key)), np.arange(cells + 1))
        parts, sizes, kept = np.zeros((resident.PARTS, 2), np.int64), axes["coarse_cells"].copy(), int(starts[-1])
        if kernel != "middle_of_samples":
            resident.MIDDLE.serial(some, x, record)
        if kernel == "moments_of_lanes":
            resident.LANES.serial(all_lanes, (x, record), lanes)
        if kernel == "facts_of_cells":
            resident.LARGEST.serial(resident.PARTS, (coarse, sizes, starts), parts)
        if kernel == "cells_of_samples":
            return [x, axes], [np.zeros_like(key), np.zeros_like(coarse)]
        items, given, out = {
            "middle_of_samples": (some, x, record),
            "moments_in_lanes": (all_lanes, (x, record), lanes),
            "moments_of_lanes": (3 * CHUNKS, lanes, record),
            "largest_cells": (resident.PARTS, (coarse, sizes, starts), parts),
            "facts_of_cells": (3, (parts, starts), np.zeros(3, np.int64)),
            "samples_by_cells": (kept, (x, np.array([[1.0, 0.0], [0.0, 0.0], [0.5, 0.5]]), order), np.zeros((2, kept))),
        }[kernel]
        return [np.array([items]), given], [out]

    return make


_RESIDENT = "middle_of_samples moments_in_lanes moments_of_lanes cells_of_samples largest_cells facts_of_cells samples_by_cells"
_STATES = {
    "c": _rows("rows-c"),
    **{p: _rows("rows-b", k, weighted=True) for p, k in enumerate(("uniform", "epanechnikov", "biweight", "triweight"))},
}
GPU_MAKERS = {
    **{f"kde.rows_{p}": _with_buffers(make, "rows") for p, make in _STATES.items() if p != "c"},
    **{f"kde.accumulate_{p}": _with_buffers(make, "state") for p, make in _STATES.items()},
    **{f"kde.finish_{p}": _finished(make, p) for p, make in _STATES.items()},
    "kde.rows_1": _with_buffers(_rows("rows-c", dimension=3), "rows"),
    "kde.direct": _with_buffers(_rows("skde-row", "triangular"), "direct"),
    "kde.direct_atomic": _with_buffers(_rows("skde-atomic", "triangular"), "direct"),
    "kde.cells_scatter": _cells_scatter,
    "kde.cells_finish": _cells_finish,
    **{f"kde.{name}": _resident(name) for name in _RESIDENT.split()},
    "kde.points_power": _listed("epanechnikov", True),
    "kde.points_other": _listed("gaussian", True),
    "kde.exhaustive_power": _listed("epanechnikov", False),
    "kde.exhaustive_other": _listed("gaussian", False),
}
_SUMS = "another order of summation and fused products; judged by the size of the peak"
GPU_BOUNDS = {
    "kde.rows_*": dict(ulp=0.0, why="integers, then the same few operations"),
    "kde.accumulate_*": dict(ulp=0.0, why="integers"),
    "kde.finish_*": dict(ulp=0.0, why="integers, then the same few operations"),
    "kde.direct": dict(ulp=65536.0, floor=0.1, why=_SUMS),
    "kde.direct_atomic": dict(ulp=65536.0, floor=0.1, why=_SUMS),
    "kde.cells_scatter": dict(ulp=0.0, why="integers"),
    "kde.cells_finish": dict(ulp=0.0, why="integers, then the same few operations"),
    "kde.points_*": dict(ulp=65536.0, floor=0.1, why=_SUMS),
    "kde.exhaustive_*": dict(ulp=65536.0, floor=0.1, why=_SUMS),
}


def check_bits(report, simulated):
    """CPU and GPU give the same bits, both designs, every polynomial kernel and dimension; densities at points agree."""
    rng = np.random.default_rng(5)
    for d in (1, 2) if simulated else (1, 2, 3, 4):
        x = rng.standard_normal((30 if simulated else 20_000, d))
        axes = [(-2.0, 2.0, m) for m in ((7, 9, 5, 6) if simulated else (9, 11, 13, 60))[-d:]]
        for kernel in ("epanechnikov",) if simulated else ("uniform", "epanechnikov", "biweight", "triweight"):
            for weights in (None, rng.random(len(x))):
                want = ns.kde.grid(x, axes, weights=weights, kernel=kernel, H=np.eye(d) * 0.4, device="cpu")
                for design in ("rows", "atomics"):
                    before, engine.CUDA_DESIGN = engine.CUDA_DESIGN, design
                    try:
                        got = ns.kde.grid(x, axes, weights=weights, kernel=kernel, H=np.eye(d) * 0.4, device="cuda")
                    finally:
                        engine.CUDA_DESIGN = before
                    if not np.array_equal(got, want):
                        report.fail(f"kde.grid d={d} {kernel} {design}: GPU and CPU differ by {np.abs(got - want).max():.1e}")
        if d == 2:
            got, want = (ns.kde.grid(x, axes, H=np.eye(2) * 0.4, method="cells", device=where) for where in ("cuda", "cpu"))
            if not np.array_equal(got, want):
                report.fail(f"kde.grid, method 'cells': GPU and CPU differ by {np.abs(got - want).max():.1e}")
        p = rng.standard_normal((20, d))
        got, want = (
            ns.kde.grid(x, axes, kernel="biweight", H=np.eye(d) * 0.4, form="product", device=where) for where in ("cuda", "cpu")
        )
        if not np.array_equal(got, want):
            report.fail(f"kde.grid d={d}, product form: GPU and CPU differ by {np.abs(got - want).max():.1e}")
        got, want = (ns.kde.points(x, p, H=np.eye(d) * 0.4, device=where) for where in ("cuda", "cpu"))
        if np.abs(got - want).max() > 1e-13 * want.max():
            report.fail(f"kde.points d={d}: GPU and CPU differ by {np.abs(got - want).max():.1e}")


def gpu_time_grids(report, timed):
    """The reference's smallest and largest cases, transfers included."""
    for what, x, shape in (
        ("3.47e6 samples, 560x540", lattice(CHIP), (540, 560)),
        ("3.47e6 samples, 2800x2700", lattice(CHIP), (2700, 2800)),
        ("5e5 samples, 220x1100x805", normal(500_000, 3), (220, 1100, 805)),
    ):
        axes = span(x, *shape)
        for design in ("rows", "atomics", "cells"):
            if design == "cells" and (x.shape[1] != 2 or shape[0] > 1000):
                continue
            method = "cells" if design == "cells" else "rows"
            before, engine.CUDA_DESIGN = engine.CUDA_DESIGN, "atomics" if design == "atomics" else "rows"
            try:
                ms = timed(lambda x=x, axes=axes, method=method: ns.kde.grid(x, axes, method=method, device="cuda"))
            finally:
                engine.CUDA_DESIGN = before
            report.jobs.append((f"kde.grid {what}, design {design}", "float64", ms, "host arrays, sort on the host"))


GPU_CHECKS = [check_bits]
GPU_JOBS = [gpu_time_grids]
