"""Every public function that another package offers, too, as a user calls it, beside it: one thread, 1, 100 and 10^5 values.

A ratio is the other package's time over ours: above 1 we are faster. `asv_benchmarks/beside_peers.py` writes the table of all.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import scipy.special
import scipy.stats as st

import numbastats as ns

from .bench_distributions import COUNTS, MOST, PARAMETERS, made, peer_of
from .common import interleave, require

SIZES = (1, 100, 100_000)
D = ns.distributions


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two calls for the same answer; `make(n)` returns (ours, theirs), functions without arguments."""

    package: str
    make: Callable[[int], tuple[Callable[[], object], Callable[[], object]]]
    largest: int = SIZES[-1]  # number of values; the other package takes too long for more
    least: int = SIZES[0]
    needs: tuple[str, ...] = ()

    def sizes(self):
        """The numbers of values that it is measured for."""
        return [n for n in SIZES if self.least <= n <= self.largest]

    def measure(self, n, seconds=0.2):
        """The `Timing` of both for n values, in nanoseconds a value."""
        ours, theirs = self.make(n)
        return interleave({"ours": ours, "theirs": theirs}, n, seconds)


def _number_or_array(values, n):
    return float(values[0]) if n == 1 else values


def _function(ours, theirs, draw, n):
    """Both functions at the same values; one value is a Python number."""
    x = _number_or_array(draw(n), n)
    return functools.partial(ours, x), functools.partial(theirs, x)


def _quantiles(n):
    return np.random.default_rng(2).random(n)


def _draws(ours, theirs, n):
    size = None if n == 1 else n
    return functools.partial(ours, size), functools.partial(theirs, size)


METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")

GENERATOR = np.random.default_rng(1)  # of the other packages
PAIRS: dict[str, Pair] = {}
for _name in PARAMETERS | COUNTS:
    _ours, _theirs, _most = made(_name), peer_of(_name), MOST.get(_name)
    for _method in METHODS if _name in PARAMETERS else [m.replace("pdf", "pmf") for m in METHODS]:
        _values = _quantiles if _method in ("ppf", "isf") else functools.partial(lambda d, n: d.rvs(n, rng=1), _ours)
        _slow = _most if _most and _method not in ("pdf", "logpdf") or _name == "Stable" else None
        if _name == "ExGaussian" and _method in ("logcdf", "logsf", "ppf", "isf"):  # by SciPy's quadrature, and search
            _slow = 100
        PAIRS[f"{_name}.{_method}"] = Pair(
            "SciPy", functools.partial(_function, getattr(_ours, _method), getattr(_theirs, _method), _values), _slow or SIZES[-1]
        )
    PAIRS[f"{_name}.rvs"] = Pair(
        "SciPy",
        functools.partial(
            _draws, lambda n, d=_ours: d.rvs(n, rng=1), lambda n, d=_theirs, g=GENERATOR: d.rvs(n or 1, random_state=g)
        ),
    )

FITS = {  # family: SciPy's distribution, and what it is to keep fixed
    "normal": (st.norm, {}),
    "lognormal": (st.lognorm, {"floc": 0.0}),
    "gamma": (st.gamma, {"floc": 0.0}),
    "weibull": (st.weibull_min, {"floc": 0.0}),
    "inverse_gaussian": (st.invgauss, {"floc": 0.0}),
    "student_t": (st.t, {}),
    "beta": (st.beta, {"floc": 0.0, "fscale": 1.0}),
}
_CLASSES = {ours.family: ours for ours in map(made, PARAMETERS)}


def _fits(family, n):
    theirs, fixed = FITS[family]
    x = _CLASSES[family].rvs(n, rng=1)
    return functools.partial(D.fit, x, family), functools.partial(theirs.fit, x, **fixed)


PAIRS |= {f"distributions.fit, {f}": Pair("SciPy", functools.partial(_fits, f), least=100) for f in FITS}


def _normal_scores(n):
    return np.random.default_rng(3).normal(size=n) * 3.0


_OF_VALUES = {
    "quantile.ndtri": (ns.quantile.ndtri, scipy.special.ndtri, _quantiles),
    "bayes.log_ndtr": (ns.bayes.log_ndtr, scipy.special.log_ndtr, _normal_scores),
}
PAIRS |= {name: Pair("SciPy", functools.partial(_function, *calls)) for name, calls in _OF_VALUES.items()}

_DRAWS = {
    "random.uniform": (lambda n: ns.random.uniform(size=n, rng=1), lambda g, n: g.random(n)),
    "random.normal": (lambda n: ns.random.normal(size=n, rng=1), lambda g, n: g.normal(size=n)),
    "random.exponential": (lambda n: ns.random.exponential(size=n, rng=1), lambda g, n: g.exponential(size=n)),
    "random.gamma, shape 2.5": (lambda n: ns.random.gamma(2.5, size=n, rng=1), lambda g, n: g.gamma(2.5, size=n)),
    "random.gamma, shape 0.5": (lambda n: ns.random.gamma(0.5, size=n, rng=1), lambda g, n: g.gamma(0.5, size=n)),
}
for _name, _parameters in {
    "beta": [(2.0, 3.5), (0.5, 0.5)],
    "wald": [(1.0, 2.0)],
    "poisson": [(3.0,), (100.0,)],
    "binomial": [(10, 0.3), (1000, 0.3)],
    "negative_binomial": [(2.5, 0.3)],
    "geometric": [(0.3,)],
    "weibull": [(1.5,)],
    "pareto": [(3.0,)],
    "standard_t": [(4.5,)],
    "chisquare": [(3.0,), (1.0,)],
    "laplace": [()],
    "logistic": [()],
    "gumbel": [()],
}.items():
    for _p in _parameters:
        _DRAWS[f"random.{_name}{_p or ''}".replace(",)", ")")] = (
            lambda n, name=_name, p=_p: getattr(ns.random, name)(*p, size=n, rng=1),
            lambda g, n, name=_name, p=_p: getattr(g, name)(*p, size=n),
        )
PAIRS |= {
    name: Pair("NumPy", functools.partial(_draws, ours, functools.partial(theirs, GENERATOR)))
    for name, (ours, theirs) in _DRAWS.items()
}


# --- mixtures, beside scikit-learn


@functools.cache
def _two_normals():
    """Two components: ours as arguments, ours as an estimator, scikit-learn's estimator."""
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(4)
    x = np.r_[rng.normal(-2.0, 1.0, 600), rng.normal(3.0, 0.5, 400)]
    theirs = GaussianMixture(2, random_state=1).fit(x[:, None])
    return (
        dict(weights=[0.6, 0.4], centres=[-2.0, 3.0], params=[1.0, 0.25], family="normal"),
        ns.mixture.Mixture(2, family="normal", rng=1).fit(x),
        theirs,
    )


def _mixture(call, n):
    known, ours, theirs = _two_normals()
    x = np.random.default_rng(5).normal(size=n) * 3.0
    return functools.partial(*call[0](known, ours, x)), functools.partial(*call[1](theirs, x))


_MIXTURE = {
    "mixture.logpdf": (
        lambda known, ours, x: (lambda: ns.mixture.logpdf(x, **known),),
        lambda theirs, x: (theirs.score_samples, x[:, None]),
    ),
    "mixture.responsibilities": (
        lambda known, ours, x: (lambda: ns.mixture.responsibilities(x, **known),),
        lambda theirs, x: (theirs.predict_proba, x[:, None]),
    ),
    "Mixture.score_samples": (
        lambda known, ours, x: (ours.score_samples, x[:, None]),
        lambda theirs, x: (theirs.score_samples, x[:, None]),
    ),
    "Mixture.predict": (lambda known, ours, x: (ours.predict, x[:, None]), lambda theirs, x: (theirs.predict, x[:, None])),
    "mixture.rvs": (
        lambda known, ours, x: (lambda: ns.mixture.rvs(**known, size=x.size, rng=1),),
        lambda theirs, x: (theirs.sample, x.size),
    ),
}
PAIRS |= {name: Pair("scikit-learn", functools.partial(_mixture, call), needs=("sklearn",)) for name, call in _MIXTURE.items()}


def _mixture_tail(name, n):
    known = _two_normals()[0]
    parts = [(w, st.norm(m, v**0.5)) for w, m, v in zip(known["weights"], known["centres"], known["params"], strict=True)]
    x = _number_or_array(np.random.default_rng(5).normal(size=n) * 3.0, n)
    return functools.partial(getattr(ns.mixture, name), x, **known), lambda: sum(w * getattr(d, name)(x) for w, d in parts)


PAIRS |= {
    f"mixture.{name}": Pair("SciPy", functools.partial(_mixture_tail, name), needs=("sklearn",)) for name in ("pdf", "cdf", "sf")
}


def _mixture_fit(n):
    from sklearn.mixture import GaussianMixture

    rng = np.random.default_rng(6)
    x = np.r_[rng.normal(-2.0, 1.0, n // 2), rng.normal(3.0, 0.5, n - n // 2)]
    theirs = GaussianMixture(2, n_init=10, tol=1e-8, max_iter=1000, random_state=1)
    return functools.partial(ns.mixture.fit, x, 2, family="normal", n_init=10, rng=1), functools.partial(theirs.fit, x[:, None])


PAIRS["mixture.fit, 2 normal components, 10 starts"] = Pair("scikit-learn", _mixture_fit, least=100, needs=("sklearn",))


# --- kernel densities: a density of 1000 samples at n points


def _kde(kernel, d, n):
    from sklearn.neighbors import KernelDensity

    rng = np.random.default_rng(7)
    x, at = rng.normal(size=(1000, d)), rng.normal(size=(n, d))
    ours = ns.kde.KDE(kernel=kernel, h=0.3, bw_convention="sklearn", sigma="identity").fit(x)
    theirs = KernelDensity(kernel=kernel, bandwidth=0.3).fit(x)
    return functools.partial(ours.score_samples, at), functools.partial(theirs.score_samples, at)


def _kde_draws(n):
    from sklearn.neighbors import KernelDensity

    x = np.random.default_rng(7).normal(size=(1000, 2))
    ours = ns.kde.KDE("gaussian", h=0.3, bw_convention="sklearn", tail=0).fit(x)
    theirs = KernelDensity(bandwidth=0.3).fit(x)
    return functools.partial(ours.sample, n, rng=1), functools.partial(theirs.sample, n, random_state=1)


def _scipy_draws(d, n):
    x = np.random.default_rng(7).normal(size=(1000, d))
    ours = ns.kde.KDE("gaussian", bandwidth="scott", tail=0).fit(x)
    return functools.partial(ours.sample, n, rng=1), functools.partial(st.gaussian_kde(x.T).resample, n, seed=1)


def _scipy_grid(n):
    x, m = np.random.default_rng(7).normal(size=(1000, 2)), max(2, round(n**0.5))
    axis, theirs = np.linspace(-4, 4, m), st.gaussian_kde(x.T)
    at = np.stack(np.meshgrid(axis, axis, indexing="ij")).reshape(2, -1)
    return functools.partial(ns.kde.grid, x, [axis, axis], kernel="gaussian", bandwidth="scott"), functools.partial(theirs, at)


def _scipy_at_samples(n):
    x = np.random.default_rng(7).normal(size=(n, 2))
    return functools.partial(ns.kde.at_samples, x, kernel="gaussian", bandwidth="scott"), lambda: st.gaussian_kde(x.T)(x.T)


def _scipy_masses(n):
    x, at = np.random.default_rng(7).normal(size=1000), np.random.default_rng(9).normal(size=n)
    ours, theirs = ns.kde.KDE("gaussian", bandwidth="scott").fit(x), st.gaussian_kde(x)
    return functools.partial(ours.cdf, at), lambda: [theirs.integrate_box_1d(-np.inf, v) for v in at]


def _conditional(n):
    from statsmodels.nonparametric.kernel_density import KDEMultivariateConditional

    r = np.random.default_rng(7)
    x = r.normal(size=1000)
    y, grid = x + r.normal(size=1000), np.linspace(-3, 3, n)
    theirs = KDEMultivariateConditional(y, x, dep_type="c", indep_type="c", bw=[0.3, 0.3])
    axes = [(0.5, 0.5, 1), (-3, 3, n)]
    ours = functools.partial(ns.kde.conditional, x, y, axes, kernel="gaussian", H=0.09 * np.eye(2))
    return ours, functools.partial(theirs.pdf, grid, np.full(n, 0.5))


def _cross_validation(rule, bw, n):
    from statsmodels.nonparametric.kernel_density import KDEMultivariate

    x = np.random.default_rng(7).normal(size=n)
    return functools.partial(getattr(ns.kde.bandwidth, rule), x, "gaussian"), lambda: KDEMultivariate(x, "c", bw=bw)


def _gaussian_kde(name, n):
    x, at = np.random.default_rng(8).normal(size=1000), np.random.default_rng(9).normal(size=n)
    return functools.partial(getattr(ns.interop.gaussian_kde(x), name), at), functools.partial(
        getattr(st.gaussian_kde(x), name), at
    )


PAIRS |= {
    "KDE.score_samples, Gaussian, 2 dimensions": Pair("scikit-learn", functools.partial(_kde, "gaussian", 2), needs=("sklearn",)),
    "KDE.score_samples, Epanechnikov": Pair("scikit-learn", functools.partial(_kde, "epanechnikov", 1), needs=("sklearn",)),
    "KDE.sample, Gaussian, 2 dimensions": Pair("scikit-learn", _kde_draws, needs=("sklearn",)),
    "KDE.sample, Gaussian, 1 dimension": Pair("SciPy", functools.partial(_scipy_draws, 1)),
    "KDE.sample, Gaussian, 3 dimensions": Pair("SciPy", functools.partial(_scipy_draws, 3)),
    "KDE.sample, Gaussian, 6 dimensions": Pair("SciPy", functools.partial(_scipy_draws, 6)),
    "kde.grid, Gaussian, 2 dimensions": Pair("SciPy", _scipy_grid, least=100),
    "kde.at_samples, Gaussian, 2 dimensions": Pair("SciPy", _scipy_at_samples, least=100, largest=100),
    "KDE.cdf": Pair("SciPy", _scipy_masses, largest=100),
    "kde.conditional": Pair("statsmodels", _conditional, least=100, largest=100, needs=("statsmodels",)),
    "kde.bandwidth.lscv, Gaussian": Pair(
        "statsmodels", functools.partial(_cross_validation, "lscv", "cv_ls"), least=100, largest=100, needs=("statsmodels",)
    ),
    "kde.bandwidth.likelihood_cv, Gaussian": Pair(
        "statsmodels",
        functools.partial(_cross_validation, "likelihood_cv", "cv_ml"),
        least=100,
        largest=100,
        needs=("statsmodels",),
    ),
    "interop.gaussian_kde.evaluate": Pair("SciPy", functools.partial(_gaussian_kde, "evaluate")),
    "interop.gaussian_kde.logpdf": Pair("SciPy", functools.partial(_gaussian_kde, "logpdf")),
}


# --- diagnostics of chains


def _diagnostic(name, n):
    import arviz

    chains = np.random.default_rng(10).normal(size=(4, n))
    method, call = {"rhat": ("rank", arviz.rhat), "ess_bulk": ("bulk", arviz.ess), "ess_tail": ("tail", arviz.ess)}[name]
    return functools.partial(getattr(ns.bayes, name), chains), functools.partial(call, chains, method=method)


PAIRS |= {
    f"bayes.{name}, 4 chains": Pair("ArviZ", functools.partial(_diagnostic, name), least=100, needs=("arviz",))
    for name in ("rhat", "ess_bulk", "ess_tail")
}

CASES = [f"{name} / {n}" for name, pair in PAIRS.items() for n in pair.sizes()]


class BesidePeers:
    params = CASES
    param_names = ["function / number of values"]

    def setup(self, case):
        require(*PAIRS[case.rpartition(" / ")[0]].needs)

    def track_speedup(self, case):
        name, _, n = case.rpartition(" / ")
        return PAIRS[name].measure(int(n)).speedup("ours", "theirs")

    track_speedup.unit = "the other package's time / ours"
