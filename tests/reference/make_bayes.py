"""Write bayes/posteriors.json: posteriors of small generated data sets by the plain sampler of tests/bayes/naive.py.

Hamiltonian Monte Carlo on the log density as it is written down, 200 chains of 200 draws each, 5 iterations apart. Of every
quantity: mean, standard deviation, quantiles of 0.05, 0.5 and 0.95, and standard errors from the differences of
the chains (of a quantile: of the share of draws below it). Run from the root of the project, with PYTHONPATH=. ; names of data
sets as arguments make these anew and leave the others. Ten minutes on one core for all.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tests.bayes.naive import Posterior, hamiltonian_draws

FILE = Path(__file__).parent / "bayes" / "posteriors.json"
LEVELS = (0.05, 0.5, 0.95)
SHAPES = {  # rows, columns, seed, what the prior is
    "horseshoe": (100, 5, 1, {}),
    "plus": (60, 3, 2, {"plus": True, "tau_scale": 0.5}),
    "slab": (40, 4, 3, {"slab": 1.5}),
    "regularised": (80, 6, 4, {"slab": 0.8, "slab_df": float("inf")}),
    "slab with a prior": (150, 8, 5, {"slab": 1.0, "slab_df": 4.0}),
    "slab with a prior, plus": (60, 4, 6, {"slab": 1.0, "slab_df": 4.0, "plus": True}),
    "unpenalized": (70, 5, 9, {"unpenalized": [3, 1]}),
    "groups": (80, 7, 11, {"unpenalized": [1], "groups": [[0, 2], [3, 5, 6]]}),
    "groups, plus": (60, 6, 12, {"groups": [[5, 0], [2, 3, 4]], "plus": True, "slab": 2.0, "tau_scale": 0.5}),
    "more columns": (14, 20, 7, {"slab": 1.5}),
    "more columns, plus": (10, 15, 8, {"slab": 1.0, "slab_df": 4.0, "plus": True, "tau_scale": 0.5}),
    "more columns, unpenalized": (16, 18, 10, {"slab": 1.5, "unpenalized": [2, 1]}),
    "more columns, groups": (14, 18, 13, {"slab": 1.5, "groups": [[0, 5, 17], [1, 2, 3, 4], [8, 9]]}),
}
# of probit and logit only: numbers have a plain Gibbs sampler for these
CLASSES = ("more columns", "more columns, plus", "more columns, unpenalized", "more columns, groups")
DRAWS = {"probit, slab": 800}  # per chain; of 200 one quantile was three standard errors from that of three other seeds
RESPONSES = ("probit", "logit", "gaussian", "poisson")


def data_set(response, name):
    """Correlated columns, two coefficients that are not 0; weights and offsets in two of the data sets."""
    n, p, seed, prior = SHAPES[name]
    rng = np.random.default_rng([seed, RESPONSES.index(response)])
    X = (rng.standard_normal((n, p)) + 0.6 * rng.standard_normal((n, 1))).round(2)
    case = {"response": response, "X": X.tolist(), **prior}
    m = 0.4 + 1.0 * X[:, 0] - 0.5 * X[:, 1]
    if response != "probit" and name in ("plus", "slab with a prior"):
        case["weights"], case["offset"] = rng.uniform(0.3, 1.7, n).round(2).tolist(), rng.uniform(-0.5, 0.5, n).round(2).tolist()
        m = m + case["offset"]
    y = {
        "probit": lambda: (m + rng.standard_normal(n) > 0).astype(int),
        "logit": lambda: (m + rng.logistic(size=n) > 0).astype(int),
        "gaussian": lambda: (m + 1.3 * rng.standard_normal(n)).round(2),
        "poisson": lambda: rng.poisson(np.exp(np.minimum(0.6 * m, 3.0))),
    }[response]()
    if response in ("gaussian", "poisson"):
        case["intercept_scale"] = float("inf")
    return case | {"y": y.tolist()}


def moments(x):
    """Of draws (chains, draws, k)."""
    flat = x.reshape(-1, x.shape[2])
    mean, sd, quantiles = flat.mean(axis=0), flat.std(axis=0), np.quantile(flat, LEVELS, axis=0)
    error = lambda v: v.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(len(v))  # of the mean of values of all draws  # noqa: E731
    found = {
        "mean": mean,
        "mean_error": error(x),
        "sd": sd,
        "sd_error": error((x - mean) ** 2) / (2.0 * sd),
        "quantiles": quantiles,
        "share_errors": [error((x <= q).astype(float)) for q in quantiles],
    }
    return {name: np.array([f"{v:.8g}" for v in np.ravel(a)], float).reshape(np.shape(a)).tolist() for name, a in found.items()}


def main():
    out = json.loads(FILE.read_text()) if FILE.exists() else {}
    for response in RESPONSES:
        for name in SHAPES:
            key = f"{response}, {name}"
            if name in CLASSES and response not in ("probit", "logit"):
                continue
            if key in out and not {key, response, name} & set(sys.argv[1:]):
                continue
            case = data_set(response, name)
            density = Posterior(case)
            points, rate = hamiltonian_draws(density, density.size, SHAPES[name][2], draws=DRAWS.get(key, 200))
            x = density.coefficients(points.reshape(-1, density.size)).reshape(*points.shape[:2], -1)
            out[key] = {"case": case, "posterior": moments(x)}
            within = x.var(axis=1, ddof=1).mean(axis=0)
            rhat = np.sqrt(1.0 + x.mean(axis=1).var(axis=0, ddof=1) / within)
            effective = within * x.shape[0] / x.mean(axis=1).var(axis=0, ddof=1)
            print(
                f"{key}: acceptance {rate:.2f}, R-hat up to {rhat.max():.3f}, effective draws {effective.min():.0f}", flush=True
            )
            FILE.write_text(json.dumps(out))


if __name__ == "__main__":
    main()
