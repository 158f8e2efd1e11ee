"""Hashes of what every public function returns on fixed inputs: python tests/fingerprints.py [file].

Writes a line per result to the file, or compares with it where it exists: run it before the first step of a rebuilding that must
not change a bit, and after each. The hashes hold for one machine and one version of Numba, NumPy and SciPy only; no part of CI.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import sys
from pathlib import Path

import numpy as np

import numbastats as ns

ONE = {"workers": 1}
rng = np.random.default_rng(20)
NORMALS = rng.normal(size=600)
GAMMAS = rng.gamma(3.0, size=(6, 300))
PLANE = rng.normal(size=(500, 2)) @ np.array([[1.0, 0.5], [0.0, 0.7]])
SPACE = rng.normal(size=(200, 3))
WEIGHTS = rng.random(500) + 0.1
U = rng.random(300)
X = rng.normal(size=(200, 6))
Y = X[:, 0] + rng.normal(size=200) > 0
STABLE = [(1.7, -0.2), (0.8, 0.5), (1.0, 0.3), (0.4, 1.0), (2.0, 0.0), (1.0001, 0.9)]


def digest(value, h):
    """Feed all numbers in a result to the hash."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            h.update(str(key).encode())
            digest(value[key], h)
    elif isinstance(value, list | tuple):
        for item in value:
            digest(item, h)
    elif value is None or isinstance(value, str | bool | int | np.bool_ | np.integer):
        h.update(repr(value if not hasattr(value, "item") else value.item()).encode())
    elif isinstance(value, float | np.ndarray | np.floating):
        value = np.asarray(value)
        if value.dtype == object:
            digest(list(value.ravel()), h)
        else:
            h.update(str((value.dtype, value.shape)).encode() + np.ascontiguousarray(value).tobytes())
    return h


def quantile():
    q = ns.quantile
    for method in ("fast", "accurate", "exp56", "exp1313", "t2"):
        yield f"ndtri {method}", lambda: q.ndtri(U, method=method, **ONE)
        yield f"ndtri {method} float32", lambda: q.ndtri(U.astype("float32"), method=method, **ONE)
    yield "ndtri log", lambda: q.ndtri(-100 * U, log=True, **ONE)
    yield "ndtri upper", lambda: q.ndtri(U, tail="upper", **ONE)
    yield "norm_from_exponential", lambda: q.norm_from_exponential(5 * U, **ONE)
    yield "antithetic", lambda: q.antithetic(U, **ONE)
    yield "standard_normal", lambda: q.standard_normal(1000, rng=1, **ONE)
    yield "StudentSeries", lambda: q.StudentSeries(4.0).centre(NORMALS)
    for name, law in {
        "student_t": ns.distributions.student_t(4.0),
        "hyperbolic": ns.distributions.hyperbolic(1.5, 0.3, 1.0),
        "nig": ns.distributions.nig(1.5, 0.3, 1.0),
        "variance_gamma": ns.distributions.variance_gamma(2.0, 1.0, -0.4),
        "generalized_hyperbolic": ns.distributions.generalized_hyperbolic(-0.7, 1.5, 0.3, 1.0),
    }.items():
        for method in ("pdf", "logpdf", "cdf", "sf"):
            yield f"{name}.{method}", lambda: getattr(law, method)(NORMALS)
        yield f"{name}.ppf", lambda: law.ppf(U)
        yield f"{name}.isf", lambda: law.isf(U)
        yield f"{name}.rvs", lambda: law.rvs(500, rng=3)
        yield f"{name} moments", lambda: [law.mean(), law.var(), law.std(), law.median()]
        yield f"recycle to {name}", lambda: q.recycle(NORMALS, "normal", law)
        many = [np.linspace(0.9, 1.1, 3)[:, None] * p for p in law.params]
        yield f"ppf {name} of parameters", lambda: getattr(q, name).ppf(U, *many)
    table = q.QuantileTable(logpdf=lambda v: -(abs(v) ** 1.5))
    yield "QuantileTable", lambda: [table.ppf(U), table.isf(U), table.rvs(100, rng=2), table.certificate]
    ends, slope = (-3.0, 3.0), 1.0
    yield "recycle_ode", lambda: q.recycle_ode(lambda x: -x, lambda x: -x, 0.0, slope, ends)(np.linspace(-2, 2, 9))


def stable():
    s = ns.stable
    for alpha, beta in STABLE:
        for param in ("S0", "S1"):
            law = f"({alpha}, {beta}, {param})"
            for method in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "pdf_cdf"):
                yield f"{method}{law}", lambda: getattr(s, method)(NORMALS * 3, alpha, beta, 0.1, 0.7, param=param, **ONE)
            for method in ("ppf", "isf"):
                yield f"{method}{law}", lambda: getattr(s, method)(U, alpha, beta, param=param, **ONE)
            yield f"rvs{law}", lambda: s.rvs(alpha, beta, size=300, rng=4, param=param, **ONE)
            yield f"score{law}", lambda: s.score(NORMALS[:50], alpha, beta, param=param, **ONE)
            yield f"loglik{law}", lambda: s.loglik(NORMALS[:50], alpha, beta, param=param, **ONE)
            yield f"convert{law}", lambda: s.convert(alpha, beta, 0.2, 1.3, to=param)
        for method, estimate in (("gauss-kronrod", True), ("quadrature", True), ("fourier", False)):
            yield f"pdf {method} {alpha} {beta}", lambda: s.pdf(NORMALS[:30], alpha, beta, method=method, error=estimate, **ONE)
    yield "pdf points", lambda: s.pdf(NORMALS, np.linspace(0.5, 2, 600), np.linspace(-1, 1, 600), **ONE)
    yield "pdf float32", lambda: s.pdf(NORMALS.astype("float32"), 1.7, -0.2, **ONE)
    yield "fisher_information", lambda: s.fisher_information(1.7, -0.2)
    x = s.rvs(1.6, 0.3, size=400, rng=5)
    for method in ("ml", "ecf", "quantile", "grid"):
        yield f"fit {method}", lambda: s.fit(x, method, **ONE)
    yield "fit 0.8", lambda: s.fit(s.rvs(0.8, 0.3, size=400, rng=5), **ONE)
    yield "fit 0.4", lambda: s.fit(s.rvs(0.4, 0.3, size=400, rng=5), **ONE)
    yield "fit observed", lambda: s.fit(x, se="observed", fixed={"beta": 0.0}, **ONE)
    yield "fit weights S1", lambda: s.fit(x, weights=np.linspace(0.5, 1.5, 400), param="S1", **ONE)
    for name in ("fit_ecf", "fit_quantile", "fit_small_alpha"):
        yield name, lambda: getattr(s, name)(x)
    yield "fit_many", lambda: s.fit_many([x[:200], x[200:]], **ONE)
    law = s.Stable(1.6, 0.3)
    yield "Stable", lambda: [law.pdf(U), law.cdf(U), law.ppf(U), law.rvs(size=20, rng=1), law.median()]


def methods(model):
    there = PLANE[:30, : model.n_features_in_]
    return [model.score_samples(there), model.sample(20, rng=1), model.cdf(there)]


def kde():
    k = ns.kde
    axes = k.regular_axes(PLANE, shape=(40, 50))
    yield "regular_axes", lambda: axes
    for kernel in ("epanechnikov", "biweight", "triweight", "uniform", "triangular", "cosine", "gaussian"):
        for name, samples, where in (("1", PLANE[:, 0], (-3, 3, 61)), ("2", PLANE, axes), ("3", SPACE, [(-2, 2, 9)] * 3)):
            for options in (
                {},
                {"weights": WEIGHTS[: len(samples)]},
                {"adaptive": "abramson"},
                {"boundary": {0: ("reflect", -9.0, 9.0)}},
            ):
                yield f"grid {kernel} {name} {sorted(options)}", lambda: k.grid(samples, where, kernel=kernel, **options, **ONE)
            yield f"points {kernel} {name}", lambda: k.points(samples, samples[:40] * 0.9, kernel=kernel, **ONE)
        yield f"KDE {kernel}", lambda: methods(k.KDE(kernel, **ONE).fit(PLANE[:, : 1 if kernel == "cosine" else 2]))
    for method in ("skde", "skde-row", "skde-crop", "skde-atomic", "rows-b", "rows-c", "ep", "cells", "rows"):
        yield f"grid {method}", lambda: k.grid(PLANE, axes, method=method, **ONE)
    for rule in ("eq9", "scott", "silverman", "isj", "lscv", "plugin"):
        yield f"rule {rule}", lambda: k.grid(PLANE[:, 0], (-3, 3, 61), bandwidth=rule, **ONE)
    plan = k.plan(k.partial(PLANE), axes)
    parts = [k.partial(p, plan) for p in np.array_split(PLANE, 3)]
    yield "partial, combine, finalize", lambda: k.finalize(k.combine(*parts), plan)
    yield "derivative", lambda: k.grid(PLANE, axes, derivative=1, **ONE)
    yield "perkins", lambda: k.perkins(*[np.abs(NORMALS[:50])] * 2)
    yield "slabs", lambda: list(k.grid_slabs(PLANE, axes, slab_rows=16, **ONE) or [])


def core(fits):
    return [fits.weights, fits.params, fits.loglik, fits.status]


def posterior(model):
    return [model.coef_, model.summary(), model.predict_proba(X[:5])]


def mixture():
    m = ns.mixture
    families = ["inverse_gaussian", "gamma", "gaussian", "lognormal", "exponential", "rayleigh", "poisson"]
    for family in families:
        data = np.floor(GAMMAS) if family == "poisson" else GAMMAS
        yield f"fit_many {family}", lambda: core(m.fit_many(data, 2, family=family, rng=0, **ONE))
        yield f"fit {family}", lambda: core(m.fit(data[0], 2, family=family, rng=0, errors="status", **ONE))
    w, mu, p = np.array([0.4, 0.6]), np.array([1.0, 4.0]), np.array([2.0, 3.0])
    for family in ("inverse_gaussian", "gamma", "gaussian"):
        for name in ("pdf", "logpdf", "cdf", "sf", "responsibilities"):
            yield f"{name} {family}", lambda: getattr(m, name)(GAMMAS[0], w, mu, p, family=family)
        yield f"ppf {family}", lambda: m.ppf(U, w, mu, p, family=family)
        yield f"rvs {family}", lambda: m.rvs(w, mu, p, 100, family=family, rng=1)
        parts = [m.partial_stats(part, w, mu, p, family=family) for part in GAMMAS[:2]]
        yield f"em_update {family}", lambda: m.em_update(m.combine(parts), w, mu, p, family=family)
    for method in ("em", "squarem", "newton"):
        options = {"family": "gamma", "method": method, "rng": 0, "errors": "status", **ONE}
        yield f"method {method}", lambda: core(m.fit(GAMMAS[0], 2, **options))
    yield "bulkem", lambda: m.bulkem(list(GAMMAS), 2, rng=1)
    model = m.Mixture([1, 2, 3], family="gamma", rng=0).fit(GAMMAS[0][:, None])
    yield "Mixture", lambda: [model.predict(GAMMAS[1][:, None]), model.score_samples(GAMMAS[1][:, None])]


def random():
    r = ns.random
    for dtype in ("float64", "float32"):
        options = {"rng": 7, "dtype": dtype, **ONE}
        yield f"uniform {dtype}", lambda: r.uniform(-1.0, 2.0, 1001, **options)
        yield f"normal {dtype}", lambda: r.normal(-1.0, 2.0, 1001, **options)
        yield f"exponential {dtype}", lambda: r.exponential(2.0, 1001, **options)
        yield f"gamma {dtype}", lambda: r.gamma(np.array([0.3, 2.5, 40.0]), 1.5, (300, 3), **options)
        yield f"truncnorm {dtype}", lambda: r.truncnorm(0.0, 1.0, np.array([-1.0, 4.0, 8.0]), np.inf, (300, 3), **options)
    yield "key", lambda: [int(k) for k in r.key(3)]


def bayes():
    b = ns.bayes
    for name in ("inv_mills", "log_exe1", "log_ndtr"):
        yield name, lambda: getattr(b, name)(np.abs(NORMALS) if name == "log_exe1" else NORMALS, **ONE)
    yield "truncnorm_rvs", lambda: b.truncnorm_rvs(NORMALS, rng=1, **ONE)
    chains = NORMALS.reshape(4, 150).cumsum(axis=1) / 10
    for name in ("ess_bulk", "ess_tail", "mcse", "rhat"):
        yield name, lambda: getattr(b, name)(chains)
    for prior in ("horseshoe", "lasso", "ridge"):
        for sampler in ("gibbs", "px-gibbs", "split-hmc", "surrogate", "auto"):
            options = {"sampler": sampler, "warmup": 60, "draws": 60, "chains": 2, "rng": 1, **ONE}
            yield f"{prior} {sampler}", lambda: posterior(b.BayesProbit(prior, **options).fit(X, Y))


def scalar():
    from numbastats.scalar import elementary, special

    for module in (elementary, special):
        for name in module.__all__:
            f = getattr(module, name)
            for kind in (np.float64, np.float32):
                yield (
                    f"{name} {kind.__name__}",
                    lambda: [f(*[kind(v)] * len(inspect.signature(f).parameters)) for v in NORMALS[:40]],
                )


def main():
    import warnings

    warnings.simplefilter("ignore")  # short chains; hashes are all that counts
    lines = []
    for room in (quantile, stable, kde, mixture, random, bayes, scalar):
        for name, value in room():
            try:
                value = digest(value(), hashlib.sha256()).hexdigest()[:16]
            except (TypeError, ValueError) as error:  # refusals stay refusals
                value = type(error).__name__
                print(f"{room.__name__} {name}: {str(error)[:150]}", file=sys.stderr)
            lines.append(f"{room.__name__} {name}: {value}")
    text = "\n".join(lines) + "\n"
    path = Path(sys.argv[1]) if sys.argv[1:] else None
    if path is None or not path.exists():
        print(text) if path is None else path.write_text(text, encoding="utf-8")
        return
    before = dict(line.rsplit(": ", 1) for line in path.read_text(encoding="utf-8").splitlines())
    after = dict(line.rsplit(": ", 1) for line in lines)
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            print(f"{name}: {before.get(name)} before, {after.get(name)} now")
    print(f"{len(lines)} results, {sum(before.get(n) == after.get(n) for n in after)} with the same bits")


if __name__ == "__main__":
    main()
