"""Speed, accuracy and memory of the mixture fits."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import numbastats as ns
from numbastats.mixture import engine, kernels
from numbastats.mixture.arguments import Options, arrange, flatten
from numbastats.mixture.density import latent_numbers
from numbastats.mixture.families import family_of
from numbastats.mixture.kernels import records, scores, starts

from .common import Case, few, interleave

SETS, VALUES = 200, 2000


def paper_data(D, n, seed=2015):
    """0.3 IG(1, 30) + 0.7 IG(3, 0.2), the generator of Howson (2015)."""
    rng = np.random.default_rng(seed)
    first = rng.random((D, n)) < 0.3
    return np.where(first, rng.wald(1.0, 30.0, (D, n)), rng.wald(3.0, 0.2, (D, n)))


def options(**changes):
    """Options of the engine with its defaults."""
    values = dict(
        method="newton",
        starts="portfolio",
        n_init=None,
        tol=1e-9,
        max_iter=5000,
        prior_n=0.0,
        prior_d=0.0,
        prior_a=1.0,
        min_sd_ratio=0.015,
        min_count=2.5,
        precision="double",
        key=(np.uint32(1), np.uint32(2)),
        device="cpu",
        workers=1,
    )
    return Options(**{**values, **changes})


def prepared(x, family="inverse_gaussian", **changes):
    """Statistics of data sets as the kernels take them."""
    law, opt = family_of(family), options(**changes)
    data = arrange(flatten(x, None, None), law)
    return engine.prepare(data, 0, data.count, np.arange(data.count), law, opt, opt.method == "newton"), data


def guess(p, K):
    """One point (3, K) for every data set, in scaled units: quantile segments."""
    D, kinds = p.info.size, np.array([starts.SUBSET if K > 1 else starts.QUANTILE_CUTS])
    par, given, state = np.ones((D, 1, 3, K)), np.ones((D, 0, 3, K)), np.zeros(D, records.STATE)
    key, wanted = starts.Key(np.uint32(5), np.uint32(3), np.uint32(4)), starts.Wanted(p.family.code, p.family.base, 0)
    kernels.STARTS.serial(p.cells, p.q, p.info, p.ids, kinds, wanted, key, given, par, state)
    return par[:, 0]


class EStep:
    """One pass over the observations with the log-likelihood."""

    params = few([2, 3, 4, 8])
    param_names = ["components"]

    def setup(self, K):
        self.call = estep(K)
        self.call()

    def time_pass_of_20000(self, K):
        self.call()


def estep(K, n=20_000, hessian=0):
    """A pass over n observations in one chunk."""
    p, _ = prepared(paper_data(1, n))
    par = np.stack([np.full(K, 1 / K), np.linspace(0.3, 1.3, K), np.geomspace(0.05, 5.0, K)])
    P = np.empty((3, K))
    kernels.on_host.set_coefficients(P, par, p.family.base, 1.0, p.info["centre"][0])
    out = np.empty((1, 3 * K + 1 + (3 * K * (K + 1) if hessian else 0)))
    return lambda: kernels.SUMS[0].serial(*p.sets[:3], P, 1 << 16, 1, hessian, out)


class ManySets:
    """Whole certified fits; growth with the number of data sets, starts and observations."""

    params = [
        few([(50, 2000, 30), (100, 2000, 30), (200, 2000, 30), (50, 4000, 30), (50, 8000, 30), (50, 2000, 60), (50, 2000, 120)])
    ]
    param_names = ["sets, values, starts"]
    number = 1

    def setup(self, size):
        D, n, self.starts = size
        self.x = paper_data(D, n)
        ns.mixture.fit_many(self.x[:2], 2, rng=1, device="cpu", workers=1, family="inverse_gaussian")

    def time_fit_many(self, size):
        ns.mixture.fit_many(self.x, 2, n_init=self.starts, rng=1, device="cpu", workers=1, family="inverse_gaussian")

    def peakmem_fit_many(self, size):
        ns.mixture.fit_many(self.x, 2, n_init=self.starts, rng=1, device="cpu", workers=1, family="inverse_gaussian")


class Bulkem:
    """The paper's program: one start, its stopping rule."""

    def setup(self):
        self.x = paper_data(SETS, VALUES)
        ns.mixture.bulkem(self.x[:2], rng=1, device="cpu")

    def time_200_sets(self):
        ns.mixture.bulkem(self.x, rng=1, device="cpu", workers=1)


class AgainstMclust:
    """EM on two Gaussians against R's mclust, model "V", from its figure in passes of a math.exp loop measured beside it."""

    MCLUST = 16.0  # 45 to 53 ns per value and iteration where the loop took 3.0 ns

    def setup(self):
        self.calls = {"ours": _two_gaussians()[0], "math.exp": _math_loop(400_000)}

    def track_times_faster(self):
        found = interleave(self.calls, 400_000)
        return self.MCLUST * found.ns("math.exp") / found.ns("ours")

    track_times_faster.unit = "times"


class Quality:
    """Share of data sets that miss the best optimum known, and the log-likelihood that is missed."""

    def setup(self):
        x = paper_data(100, VALUES, 77)
        self.found = ns.mixture.fit_many(x, 2, rng=1, device="cpu", family="inverse_gaussian")
        self.best = np.maximum(
            self.found.loglik, ns.mixture.fit_many(x, 2, n_init=100, rng=2, device="cpu", family="inverse_gaussian").loglik
        )

    def track_missed(self):
        return float(np.mean(self.found.loglik < self.best - 1e-6))

    def track_not_certified(self):
        return float(np.mean(self.found.status != 0))

    track_missed.unit = "share of data sets"
    track_not_certified.unit = "share of data sets"


class Optima:
    """Share of fits that end at the best admissible optimum known, of five data sets of each kind of mixture_optima.py."""

    number = 1

    def setup(self):
        self.optima = runpy.run_path(str(Path(__file__).parents[1] / "mixture_optima.py"))

    def track_share_at_best(self):
        known, at = json.loads(self.optima["KNOWN"].read_text()), []
        for kind, (family, K, _) in self.optima["KINDS"].items():
            found = self.optima["fits"](self.optima["sets"](kind)[:5], family, K, rng=0)
            at.append(np.mean(found >= np.array(known[kind][:5]) - 1e-6))
        return float(np.mean(at))

    track_share_at_best.unit = "share of data sets"


class Components:
    """Mixtures of distributions that have no passes of their own, of 2000 values."""

    params = ["logistic", "gev", "noise"]
    param_names = ["family"]
    number = 1

    def setup(self, family):
        rng = np.random.default_rng(5)
        self.x = np.concatenate([rng.logistic(-2.0, 0.6, 1200), rng.logistic(3.0, 0.4, 800)])
        self.family = ["logistic", "uniform"] if family == "noise" else family
        self.time_fit(family)

    def time_fit(self, family):
        self.fit = ns.mixture.fit(self.x, 2, family=self.family, rng=1, workers=1)

    def track_decrement(self, family):
        """Twice the gain of the log-likelihood that is still to be had."""
        return float(self.fit.decrement)

    track_decrement.unit = "log-likelihood"


class Distribution:
    """Distribution function and quantiles of 10^4 values, and the latter against SciPy's for one component."""

    params = ["inverse_gaussian", "gamma", "gaussian"]
    param_names = ["family"]

    def setup(self, family):
        self.q = np.random.default_rng(3).uniform(size=10_000)
        self.law = dict(weights=[0.3, 0.7], centres=[1.0, 3.0], params=[30.0, 0.2], family=family)
        self.x = ns.mixture.ppf(self.q, **self.law)

    def time_cdf(self, family):
        ns.mixture.cdf(self.x, **self.law)

    def time_ppf(self, family):
        ns.mixture.ppf(self.q, **self.law)

    def time_isf(self, family):
        ns.mixture.isf(self.q, **self.law)

    def track_error_of_isf(self, family):
        """Largest error of the upper tail at upper quantiles down to 1e-200."""
        q = 10.0 ** np.linspace(-200.0, -1.0, 200)
        return float(np.max(np.abs(ns.mixture.sf(ns.mixture.isf(q, **self.law), **self.law) / q - 1.0)))

    track_error_of_isf.unit = "relative error"

    def track_times_faster(self, family):
        from scipy import stats

        one = dict(weights=[1.0], centres=[3.0], params=[2.5], family=family)
        peer = {"inverse_gaussian": stats.invgauss(1.2, scale=2.5), "gamma": stats.gamma(2.5, scale=1.2)}
        peer = peer.get(family, stats.norm(3.0, math.sqrt(2.5)))
        calls = {"ours": lambda: ns.mixture.ppf(self.q, **one), "scipy": lambda: peer.ppf(self.q)}
        found = interleave(calls, self.q.size)
        return found.ns("scipy") / found.ns("ours")

    track_times_faster.unit = "times"


class Classified:
    """Draws from a normal mixture, and the components that they come from, against scikit-learn's; one thread."""

    params = [2, 3]
    param_names = ["components"]

    def setup(self, K):
        from sklearn.mixture import GaussianMixture

        w, m, v = np.arange(1.0, K + 1.0) / (K * (K + 1) / 2), 3.0 * np.arange(K), 1.0 + 0.2 * np.arange(K)
        self.law = dict(weights=w, centres=m, params=v, family="normal")
        self.x = ns.mixture.rvs(size=100_000, rng=1, **self.law)
        self.fit = dataclasses.replace(ns.mixture.fit(self.x[:1000], K, family="normal", rng=0), weights=w, centres=m, params=v)
        self.peer = GaussianMixture(K)
        self.peer.weights_, self.peer.means_, self.peer.covariances_ = w, m[:, None], v[:, None, None]
        self.peer.precisions_cholesky_ = 1.0 / np.sqrt(v)[:, None, None]
        self.time_draws(K), self.time_labels(K)

    def time_draws(self, K):
        ns.mixture.rvs(size=self.x.size, rng=1, **self.law)

    def time_labels(self, K):
        self.fit.predict(self.x, workers=1)

    def track_times_faster_draws(self, K):
        calls = {"ours": lambda: self.time_draws(K), "sklearn": lambda: self.peer.sample(self.x.size)}
        found = interleave(calls, self.x.size)
        return found.ns("sklearn") / found.ns("ours")

    def track_times_faster_labels(self, K):
        calls = {"ours": lambda: self.time_labels(K), "sklearn": lambda: self.peer.predict(self.x[:, None])}
        found = interleave(calls, self.x.size)
        return found.ns("sklearn") / found.ns("ours")

    track_times_faster_draws.unit = track_times_faster_labels.unit = "times"


class Large:
    """One data set of a million values, all cores."""

    number = 1

    def setup(self):
        self.x = paper_data(1, 1_000_000)[0]
        self.time_million()  # a small set takes other kernels

    def time_million(self):
        ns.mixture.fit(self.x, 2, rng=1, device="cpu", family="inverse_gaussian")

    def peakmem_million(self):
        ns.mixture.fit(self.x, 2, rng=1, device="cpu", family="inverse_gaussian")


class Latent:
    """Families with a latent variable: fits of one and of many data sets, the former against SciPy's fit of one component."""

    params = ["student_t", "skew_normal", "negative_binomial"]
    param_names = ["family"]

    def setup(self, family):
        self.sets = latent_data(family, 100, VALUES)
        self.x = self.sets[0]
        self.fit = ns.mixture.fit(self.x, 2, family=family, rng=1, device="cpu", workers=1)
        ns.mixture.fit(self.x, 1, family=family, device="cpu", workers=1)
        self.time_fit_many(family)
        self.time_logpdf(family)

    def time_fit(self, family):
        ns.mixture.fit(self.x, 2, family=family, rng=1, device="cpu", workers=1)

    def time_fit_many(self, family):
        ns.mixture.fit_many(self.sets, 2, family=family, rng=1, device="cpu", workers=1)

    def time_logpdf(self, family):
        self.fit.logpdf(self.x, device="cpu", workers=1)

    def track_error_of_loglik(self, family):
        """The log-likelihood against SciPy's at the same parameters."""
        parts = [self.fit.weights[k] * np.exp(_scipy_log(family, self.x, *_natural(self.fit, k))) for k in range(2)]
        return float(abs(np.log(sum(parts)).sum() / self.fit.loglik - 1.0))

    def track_times_faster(self, family):
        calls = {
            "ours": lambda: ns.mixture.fit(self.x, 1, family=family, device="cpu", workers=1),
            "scipy": lambda: _scipy_fit(family, self.x),
        }
        found = interleave(calls, self.x.size)
        return found.ns("scipy") / found.ns("ours")

    track_error_of_loglik.unit = "relative error"
    track_times_faster.unit = "times"


def latent_data(family, D, n, seed=5):
    """Data sets of two components, 0.6 and 0.4."""
    rng = np.random.default_rng(seed)
    first = rng.random((D, n)) < 0.6
    if family == "student_t":
        return np.where(first, rng.standard_t(5.0, (D, n)) - 3.0, 4.0 + 0.5 * rng.standard_t(4.0, (D, n)))
    if family == "negative_binomial":
        return np.where(first, rng.negative_binomial(3.0, 3 / 7, (D, n)), rng.negative_binomial(20.0, 2 / 7, (D, n))).astype(
            float
        )
    z = np.abs(rng.normal(size=(D, n)))
    return np.where(first, 4.0 * z, 16.0 - 3.0 * z) + rng.normal(size=(D, n))


def _natural(fit, k):
    """Parameters of a component."""
    return fit.centres[k], *np.atleast_1d(fit.params[..., k])


def _scipy_log(family, x, m, p, q=0.0):
    from scipy import stats

    if family == "negative_binomial":
        return stats.nbinom.logpmf(x, p, p / (p + m))
    return (stats.t if family == "student_t" else stats.skewnorm).logpdf(x, q, m, p)


def _scipy_fit(family, x):
    """One component by SciPy; its nbinom has no fit, hence the size at the mean of the data."""
    from scipy import optimize, stats

    if family == "negative_binomial":
        m = x.mean()
        return optimize.minimize_scalar(lambda t: -stats.nbinom.logpmf(x, np.exp(t), 1 / (1 + m * np.exp(-t))).sum())
    return (stats.t if family == "student_t" else stats.skewnorm).fit(x)


# --- against peers ----------------------------------------------------------------------------------------------------------


def _math_loop(n):
    """A loop of math.exp, the unit of the specification."""
    from numbastats._core.kernel import array_function

    x, out = np.linspace(-3.0, 0.0, n), np.empty(n)
    return functools.partial(array_function(_exps), x, out)


def _exps(x, out):
    for i in range(x.size):
        out[i] = math.exp(x[i])


def _pass_case(K):
    def make():
        return {"ours": estep(K), "math.exp loop": _math_loop(20_000)}

    return make


def _two_gaussians(n=20_000, iterations=20):
    """That many EM iterations on n values of two Gaussians, and the values."""
    rng = np.random.default_rng(3)
    x = np.where(rng.random(n) < 0.4, rng.normal(0, 1, n), rng.normal(2.5, 1.5, n))
    p, _ = prepared([x], "gaussian", method="em")
    opt = options(method="em", tol=1e-300, max_iter=iterations)
    start = np.array([[0.5, 0.5], [-0.5, 0.8], [0.8, 0.8]])

    def ours():
        slots = _slots(1, 1, start)
        slots.climbs["phase"], slots.climbs["old"] = records.AT_EM, -np.inf
        engine.climb(p, p.info, np.zeros(1, np.int64), opt.settings(p.family), slots, opt)

    return ours, x


def _sklearn():
    """The same number of EM iterations on two Gaussians, per iteration and value."""
    import warnings

    from sklearn.mixture import GaussianMixture

    iterations = 20
    ours, x = _two_gaussians(iterations=iterations)
    column = x[:, None]

    def sklearn():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianMixture(
                2,
                covariance_type="diag",
                tol=0.0,
                max_iter=iterations,
                weights_init=[0.5, 0.5],
                means_init=[[0.3], [1.9]],
                precisions_init=[[0.4], [0.4]],
                reg_covar=0.0,
            )
            model.fit(column)

    return {"ours": ours, "scikit-learn GaussianMixture": sklearn}


def _two_threads():
    """Two threads, one, and what the machine can give: two calls at once, each with half of the data sets and one thread."""
    x = paper_data(5 * SETS, VALUES)
    halves = np.split(x, 2)

    def call(data, workers):
        return ns.mixture.fit_many(data, 2, rng=1, device="cpu", workers=workers, family="inverse_gaussian")

    def at_once():
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda half: call(half, 1), halves))

    return {"ours": lambda: call(x, 2), "one thread": lambda: call(x, 1), "two calls on halves at once": at_once}


PEER_CASES = {
    "mixture E-step, K = 2": Case(20_000, _pass_case(2), {"math.exp loop": 3.3}),
    "mixture E-step, K = 3": Case(20_000, _pass_case(3), {"math.exp loop": 1.67}),
    "mixture E-step, K = 4": Case(20_000, _pass_case(4), {"math.exp loop": 1.25}),
    "mixture E-step, K = 8": Case(20_000, _pass_case(8), {"math.exp loop": 0.625}),
    "mixture EM, 20 iterations of 20000 values": Case(
        20 * 20_000, _sklearn, {"scikit-learn GaussianMixture": 100.0}, needs="sklearn"
    ),
    "two threads, mixture fits": Case(5 * SETS, _two_threads, {"one thread": 1.8, "two calls on halves at once": None}),
}


def _slots(D, T, start):
    """Slots of climbs at a point (rows, K)."""
    n, pars = start.size - 1, np.tile(start, (D * T, 4, 1, 1)).astype(np.float64)
    return records.Slots(*np.zeros((2, D, T), np.int64), pars, np.zeros(D * T, records.STATE), np.zeros((D * T, n, n)))


# --- CUDA ----------------------------------------------------------------------------------------------------------------------


def _gpu_sets(n):
    """A few small data sets for n values in all."""
    return paper_data(1, 40, 5) if n < 1000 else paper_data(64, max(100, min(2000, n // 64)), 5)


def _one(*values):
    return [np.array([v]) for v in values]


def gpu_prepare(rng, dtype, n, edges):
    p, data = prepared(_gpu_sets(n))
    cells, empty = p.q.shape[1], np.zeros(data.y.size)
    inputs = [data.y, data.power, engine.cell_sizes(p.lengths, True), *_one(0, 1)]
    sets = records.Series(empty, empty.copy(), empty.copy(), p.off)
    compressed = records.Series(*(np.zeros(cells) for _ in range(3)), p.cells.off)
    return inputs, [sets, compressed, np.zeros((3, cells)), np.zeros_like(p.info)]


def gpu_starts(rng, dtype, n, edges):
    p, _ = prepared(_gpu_sets(n))
    key = starts.Key(*map(np.uint32, (9, 7, 8)))
    given = np.zeros((p.info.size, 0, 3, 2))
    inputs = [p.cells, p.q, p.info, p.ids, np.array([0, 1, 2]), starts.Wanted(0, 0, 10), key, given]
    return inputs, [np.ones((p.info.size, 3, 3, 2)), np.zeros(3 * p.info.size, records.STATE)]


def gpu_insertion(rng, dtype, n, edges):
    p, _ = prepared(_gpu_sets(n))
    D, par = p.info.size, np.tile(_start(2), (p.info.size, 1, 1))
    room = kernels.insertion.Room(*map(np.zeros, kernels.insertion.shapes_of_room(D, 2, p.most_cells)))
    inputs = [p.cells, p.q, p.info, np.arange(D), kernels.insertion.Grid(0, 1.0, 0.015, 2.5, 0), par]
    return inputs, [room, np.zeros((D, kernels.insertion.MOST, 3, 3)), np.zeros(D)]


def _rules(family, T):
    """Rules of the choice among climbs of a family."""
    law = family_of(family)
    return kernels.Rules(law.code, law.base, 1.0, 5, 30, 1, T, T, 0.015, 1, 2.5, 0)


def gpu_pick(rng, dtype, n, edges):
    D, S, T = max(4, n // 200), 30, 4
    state, info = np.zeros(D * S, records.STATE), np.zeros(D, records.STATISTICS)
    state["objective"], info["distinct"] = rng.normal(size=D * S), 100
    par = np.abs(rng.normal(size=(D, S, 3, 2))).round(1)
    inputs = [info, _rules("normal", T), options().settings(family_of("normal")), *_one(0), par, state]
    results = np.zeros((D, S), np.int64), np.zeros((D, S, 2)), _slots(D, T, _start(2)), np.zeros(D, records.CHOICE)
    return inputs, [*results]


def gpu_choose(rng, dtype, n, edges, family="normal"):
    start = np.array(_LATENT_START[family]) if family in _LATENT_START else _start(2)
    D, T = max(4, n // 200), 4
    slots, info, choice = _slots(D, T, start), np.zeros(D, records.STATISTICS), np.zeros(D, records.CHOICE)
    slots.pars[:, :, 1] *= rng.uniform(0.5, 2.0, (D * T, 1, 2))
    slots.climbs["objective"] = rng.normal(-100.0, 1.0, D * T)
    info["distinct"], info["mass"], info["spread"], info["centre"] = 100, 100.0, rng.choice([1.0, 100.0], D), 1.0
    fit, hess, order = np.zeros((D, *start.shape)), np.zeros((D, start.size - 1, start.size - 1)), np.zeros((D, 2), np.int64)
    inputs = [info, _rules(family, T), np.tile([0.0, 1.0, 1.0, -1e300], (D, 1)), np.ones((D, 2), np.int64), slots]
    return inputs, [np.zeros((D, T, 2)), choice, fit, hess, order]


def gpu_of_points(rng, dtype, n, edges, family, sums):
    """Entropies, or log densities at the cells, of a mixture for each data set."""
    x = _gpu_sets(n)
    p, _ = prepared(np.floor(x) if family == "negative_binomial" else x, family)
    par = np.tile(np.array(_LATENT_START[family]) if p.family.latent else _start(2), (p.info.size, 1, 1))
    if sums:
        return [p.sets, p.info, *_one(p.family.base, 1.0), par], [np.zeros(p.info.size)]
    return [p.cells, p.info, np.arange(p.info.size), par], [np.zeros((p.info.size, p.most_cells))]


def _at_newton(D, start, **fields):
    """States of climbs in the midst of Newton's method, at given parameters."""
    state = np.zeros(D, records.STATE)
    for name in ("objective", "loglik", "old", "min_eig"):
        state[name] = -np.inf
    state["step_max"], state["decrement"], state["status"], state["left"] = 4.0, np.inf, 1, 5
    state["phase"] = records.AT_NEWTON
    for name, value in fields.items():
        state[name] = value
    return state, np.tile(start, (D, 4, 1, 1))


def _start(K):
    return np.stack([np.full(K, 1.0 / K), np.linspace(0.5, 1.5, K), np.linspace(0.5, 2.0, K)])


def gpu_pass(rng, dtype, n, edges, K):
    p, _ = prepared(_gpu_sets(n))
    p.sets = records.Series(*(v.astype(dtype) for v in p.sets[:3]), p.sets.off)
    D = p.info.size
    shapes = (D, 3, K), (D, K * (K + 1) // 2, 6), D
    inputs = [p.sets, p.info, np.arange(D), options().settings(p.family), *_one(records.AT_EM), *_at_newton(D, _start(K))]
    return inputs, [np.zeros(shape) for shape in shapes]


def gpu_advance(rng, dtype, n, edges, phase=records.AT_NEWTON):
    """The step after the first pass of Newton's method, or of SQUAREM."""
    K = 2
    inputs, sums = gpu_pass(rng, np.float64, n, edges, K)
    inputs[5]["phase"] = phase
    kernels.PASSES[K].serial(*inputs[:4], inputs[4][0], *inputs[5:], *sums)
    _, info, owner, settings, last, state, pars = inputs
    m = 3 * K - 1
    work = records.Work(np.zeros((owner.size, records.VECTOR_ROWS, m)), np.zeros((owner.size, 2, m, m)))
    results = [state, pars, np.zeros((owner.size, m, m)), np.zeros(1, np.int64)]
    return [info, owner, settings, last, *sums, work], results


def gpu_sums(rng, dtype, n, edges, K=2):
    from numbastats.mixture.kernels.passes import CUDA_CHUNK

    p, _ = prepared(paper_data(1, n, 6))
    P = np.array([[0.1, -0.2, 0.3, 0.0, 0.1], [0.5, -0.3, 0.1, 0.2, -0.1], [-1.0, -0.4, -0.2, -0.5, -0.3]])[:, :K].copy()
    chunk = 32 if n < 1000 else CUDA_CHUNK
    return [*p.sets[:3], P, *_one(chunk, 1, 1)], [np.zeros((-(-n // chunk), 3 * K + 1 + 3 * K * (K + 1)))]


def gpu_scores(rng, dtype, n, edges):
    inputs, _ = gpu_sums(rng, dtype, n, edges)
    none, numbers = np.zeros(0), (-1e300, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0)
    values = inputs[0] + 1.0, none, none, scores.Support(1, 0), *_one(0), numbers, inputs[3]
    return [*values], [np.zeros(n), np.zeros((2, n)), np.zeros((2, n))]


def gpu_density(rng, dtype, n, edges):
    numbers = np.array([1.0, 1.0, 0.0, -0.9, 0.0, -1.5])
    P = np.array([[0.1, -0.2], [0.5, -0.3], [-1.0, -0.4]])
    return [rng.gamma(2.0, size=n).astype(dtype), *_one(0, 0, 0, 1), numbers, P], [np.zeros(n, dtype)]


def gpu_draws(rng, dtype, n, edges):
    words, table = [np.array([word], np.uint32) for word in (1, 2, 3, 4)], np.array([[0.3, 1.0], [-1.0, 2.0], [0.5, 1.5]])
    return [*words, *_one(0), table], [np.zeros(n)]


def gpu_labels(rng, dtype, n, edges):
    (x, *codes, numbers, P), _ = gpu_density(rng, dtype, n, edges)
    return [x, *codes[:3], numbers, P], [np.zeros(n, np.int64)]


def gpu_latent_pass(rng, dtype, n, edges, family, K):
    x = _gpu_sets(n)
    p, _ = prepared(np.floor(x) if family == "negative_binomial" else x, family)
    start = np.array(_LATENT_START[family])[:, np.arange(K) % 2]
    start[0] = 1.0 / K
    start[1] += 0.1 * np.arange(K)
    D, settings = p.info.size, options().settings(p.family)
    state, pars = _at_newton(D, start)
    state["phase"][::2] = records.WARM
    sums = [np.zeros((D, kernels.latent_sums(len(start), K))), np.zeros((D, len(start), K))]
    return [p.sets, p.info, np.arange(D), settings, *_one(records.AT_EM), state, pars], sums


def gpu_latent_advance(rng, dtype, n, edges):
    inputs, sums = gpu_latent_pass(rng, dtype, n, edges, "student_t", 2)
    _, info, owner, settings, last, state, pars = inputs
    kernel = kernels.LATENT_PASSES[family_of("student_t").code][2]
    kernel.serial(*inputs[:4], inputs[4][0], *inputs[5:], *sums)
    m = pars[0, 0].size - 1
    work = records.Work(np.zeros((owner.size, records.VECTOR_ROWS, m)), np.zeros((owner.size, 2, m, m)))
    return [info, owner, settings, last, *sums, work], [state, pars, np.zeros((owner.size, m, m)), np.zeros(1, np.int64)]


def gpu_latent_scores(rng, dtype, n, edges, family):
    x = rng.poisson(4.0, n).astype(float) if family == "negative_binomial" else rng.normal(0.0, 3.0, n)
    P = latent_numbers(family_of(family), np.array(_LATENT_START[family]), 0.0)
    return [x, P], [np.zeros(n), np.zeros((2, n)), np.zeros((2, 5, n))]


_LATENT_START = {
    "student_t": [[0.6, 0.4], [-0.3, 0.6], [0.2, 0.8], [5.0, 8.0]],
    "skew_normal": [[0.6, 0.4], [-0.5, 0.6], [0.5, 0.8], [2.0, 1.0]],
    "negative_binomial": [[0.6, 0.4], [1.0, 4.0], [3.0, 5.0]],
}
_LATENT = {
    f"mixture.pass_{f}_{K}": functools.partial(gpu_latent_pass, family=f, K=3 if K == "any" else K)
    for f in _LATENT_START
    for K in (1, 2, "any")
}
_LATENT |= {f"mixture.scores_{f}": functools.partial(gpu_latent_scores, family=f) for f in _LATENT_START}
_OF_POINTS = {f"mixture.logs_{f}": functools.partial(gpu_of_points, family=f, sums=False) for f in _LATENT_START}
_OF_POINTS |= {f"mixture.entropy_{f}": functools.partial(gpu_of_points, family=f, sums=True) for f in _LATENT_START}
_OF_POINTS["mixture.entropy"] = functools.partial(gpu_of_points, family="inverse_gaussian", sums=True)
_CHOICES = {f"mixture.choose_{f}": functools.partial(gpu_choose, family=f) for f in _LATENT_START}
GPU_MAKERS = {
    **_LATENT,
    **_OF_POINTS,
    **_CHOICES,
    "mixture.choose": gpu_choose,
    "mixture.pick": gpu_pick,
    "mixture.prepare": gpu_prepare,
    "mixture.starts": gpu_starts,
    "mixture.insertion": gpu_insertion,
    **{f"mixture.pass_{K}": functools.partial(gpu_pass, K=5 if K == "any" else K) for K in (1, 2, 3, 4, "any")},
    **{f"mixture.sums_{K}": functools.partial(gpu_sums, K=5 if K == "any" else K) for K in (1, 2, 3, 4, "any")},
    "mixture.advance": gpu_advance,
    "mixture.advance_any": functools.partial(gpu_advance, phase=records.SQ_A),
    "mixture.advance_latent": gpu_latent_advance,
    "mixture.density": gpu_density,
    "mixture.draws": gpu_draws,
    "mixture.labels": gpu_labels,
    "mixture.scores": gpu_scores,
}
_ORDER = "another order of summation"
_SUMS = f"{_ORDER} of terms of both signs, judged by the largest of the data sets or chunks"
_PASS = dict(ulp=4096.0, floor=1.0, scaled=True, single=5e10, why=f"{_SUMS}; of float32 data 5e10 ulp are 1e-5")
_STEP = dict(ulp=5e6, floor=1.0, flips=1e-2, why="the step of Newton's method divides by small eigenvalues; 5e6 ulp are 1e-9")
GPU_BOUNDS = {
    **{name: dict(ulp=65536.0, floor=1.0, why=_ORDER) for name in _OF_POINTS},
    **{name: dict(ulp=65536.0 if "pass" in name else 4096.0, floor=1.0, why=_ORDER) for name in _LATENT},
    "mixture.prepare": dict(  # outputs 8 and 11: running sums, and that of differences from the centre, which is only rounding
        ulp=4096.0, floor={8: 2000.0, 11: 2000.0}, why="CUDA fuses products into sums; sums of 2000 numbers about 1 that cancel"
    ),
    "mixture.starts": dict(ulp=5e6, floor=1.0, flips=1e-2, why=f"{_ORDER}, three EM steps; 5e6 ulp are 1e-9"),
    "mixture.insertion": dict(ulp=5e6, floor=1.0, flips=1e-2, why=f"{_ORDER}; 5e6 ulp are 1e-9"),
    "mixture.pass_*": _PASS,
    "mixture.advance*": _STEP,
    "mixture.sums_*": dict(ulp=4096.0, floor=1.0, scaled=True, why=_SUMS),
    "mixture.density": dict(ulp=64.0, floor=1.0, why="CUDA fuses products into sums"),
    "mixture.scores": dict(ulp=512.0, floor=1.0, why="CUDA fuses products into sums"),
}


def whole_job(report, timed):
    """The public call on the device."""
    x = paper_data(4000, VALUES)
    ms = timed(lambda: ns.mixture.fit_many(x, 2, rng=1, device="cuda", family="inverse_gaussian"))
    report.jobs.append(("mixture.fit_many, 4000 sets of 2000 values, 30 starts", "float64", ms, "host arrays in and out"))


GPU_JOBS = (whole_job,)
