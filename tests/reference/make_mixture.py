"""Write mixture/mixture.json: optima of small generated data sets to 25 digits, by mpmath, from the densities alone.

The score equations of the mixture log-likelihood are solved by Newton's method with 40 digits, started near a local maximum
that plain EM in double precision finds from many starts (the best one is kept).
"""

from __future__ import annotations

import json
from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.dps = 40

LOG_DENSITY = {
    "inverse_gaussian": lambda x, m, p: (mp.log(p) - mp.log(2 * mp.pi * x**3)) / 2 - p * (x - m) ** 2 / (2 * m**2 * x),
    "gaussian": lambda x, m, p: -(mp.log(2 * mp.pi * p) + (x - m) ** 2 / p) / 2,
    "gamma": lambda x, m, p: p * mp.log(p / m) + (p - 1) * mp.log(x) - p * x / m - mp.loggamma(p),
    "lognormal": lambda x, m, p: -(mp.log(2 * mp.pi * p) + (mp.log(x) - m) ** 2 / p) / 2 - mp.log(x),
    "exponential": lambda x, m, p: -mp.log(m) - x / m,
    "poisson": lambda x, m, p: x * mp.log(m) - m - mp.loggamma(x + 1),
    "geometric": lambda x, m, p: x * mp.log(m / (1 + m)) - mp.log(1 + m),
}


def data():
    """Decimal strings by family, 80 values each."""
    rng = np.random.default_rng(20151)
    first = rng.random(80) < 0.4
    positive = np.where(first, rng.gamma(4.0, 0.5, 80), rng.gamma(12.0, 0.7, 80))
    counts = np.where(first, rng.poisson(2.0, 80), rng.poisson(11.0, 80))
    longer = np.where(first, rng.exponential(0.3, 80), rng.exponential(6.0, 80))
    runs = np.where(first, rng.geometric(0.5, 80) - 1, rng.geometric(0.04, 80) - 1)
    out = {name: [f"{v:.6f}" for v in positive] for name in ("inverse_gaussian", "gamma", "lognormal")}
    out["gaussian"] = [f"{v - 5.0:.6f}" for v in positive]
    out["exponential"] = [f"{v:.6f}" for v in longer]
    out["poisson"], out["geometric"] = [str(int(v)) for v in counts], [str(int(v)) for v in runs]
    return out


def log_likelihood(density, xs, theta, K, two):
    """Theta: log-odds against the last component, log means (or means), log second parameters."""
    odds = [mp.exp(z) for z in theta[: K - 1]] + [mp.mpf(1)]
    total = mp.fsum(odds)
    means = theta[K - 1 : 2 * K - 1]
    params = [mp.exp(v) for v in theta[2 * K - 1 :]] if two else [None] * K
    return mp.fsum(mp.log(mp.fsum(odds[j] / total * mp.exp(density(x, means[j], params[j])) for j in range(K))) for x in xs)


def gradient(f, theta):
    h = mp.mpf(10) ** -13
    rows = []
    for i in range(len(theta)):
        up, down = list(theta), list(theta)
        up[i] += h
        down[i] -= h
        rows.append((f(up) - f(down)) / (2 * h))
    return mp.matrix(rows)


def solve(family, texts, K):
    import numbastats as ns

    xs = [mp.mpf(t) for t in texts]
    density = LOG_DENSITY[family]
    start = ns.mixture.fit(np.array(texts, float), K, family=family, rng=0, method="em", n_init=20)
    two = family in ("inverse_gaussian", "gaussian", "gamma", "lognormal")
    w, m, p = ([float(v) for v in a] for a in (start.weights, start.centres, start.params))
    theta = [mp.log(mp.mpf(v) / mp.mpf(w[-1])) for v in w[:-1]] + [mp.mpf(v) for v in m]
    theta += [mp.log(mp.mpf(v)) for v in p] if two else []

    def f(t):
        return log_likelihood(density, xs, t, K, two)

    n = len(theta)
    h = mp.mpf(10) ** -9
    for _ in range(7):
        g = gradient(f, theta)
        H = mp.matrix(n, n)
        for i in range(n):
            up = list(theta)
            up[i] += h
            row = (gradient(f, up) - g) / h
            for j in range(n):
                H[i, j] = row[j]
        step = mp.lu_solve(H, -g)
        theta = [theta[i] + step[i] for i in range(n)]
        if max(abs(step[i]) for i in range(n)) < mp.mpf(10) ** -26:
            break
    odds = [mp.exp(z) for z in theta[: K - 1]] + [mp.mpf(1)]
    weights = [o / mp.fsum(odds) for o in odds]
    means, params = theta[K - 1 : 2 * K - 1], [mp.exp(v) for v in theta[2 * K - 1 :]]
    text = lambda values: [mp.nstr(v, 22) for v in values]  # noqa: E731
    return {
        "data": texts,
        "loglik": mp.nstr(f(theta), 22),
        "weights": text(weights),
        "means": text(means),
        "params": text(params),
        "last_step": mp.nstr(max(abs(step[i]) for i in range(n)), 3),
    }


if __name__ == "__main__":
    table = {family: solve(family, texts, 2) for family, texts in data().items()}
    (Path(__file__).parent / "mixture" / "mixture.json").write_text(json.dumps(table, indent=0) + "\n")
    for family, row in table.items():
        print(family, row["loglik"], row["means"], row["last_step"])
