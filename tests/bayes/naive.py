"""Plain versions of the room's formulas, and the data that several of its tests share."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.bayes import kernels as k
from numbastats.bayes.likelihood import Rows

mp.mp.dps = 40


SAMPLERS = ("gibbs", "px-gibbs", "split-hmc", "surrogate")


def exact_log_exe1(x):
    x = mp.mpf(float(x))
    if x > 200:  # the asymptotic series has 40 digits here
        return mp.log(mp.fsum((-1) ** j * mp.fac(j) / x ** (j + 1) for j in range(100 if x > 1000 else 150)))
    return mp.log(mp.exp(x) * mp.e1(x))


def random_rows(n, p, dtype=np.float64, seed=0, device="cpu", workers=1):
    rng = np.random.default_rng(seed)
    return Rows(np.ascontiguousarray(rng.standard_normal((n, p)), dtype), device, workers), rng.standard_normal((2, p)) * 0.4


STREAMS = np.array([6, 13], np.uint32)


def check_passes(rows, X, B):
    """Against SciPy on the rows X, and the scalar draws."""
    n = len(X)
    m = B @ X.T
    loglik, g = rows.loglik(B)
    np.testing.assert_allclose(loglik, scipy.special.log_ndtr(m).sum(axis=1), rtol=1e-13)
    r = np.exp(scipy.stats.norm.logpdf(m) - scipy.special.log_ndtr(m))
    np.testing.assert_allclose(g, r @ X, rtol=1e-12, atol=1e-12)
    key = np.uint32(1), np.uint32(2)
    g, squares = rows.latent(B, key, STREAMS, 9)
    e = np.array([[k.latent_row(*key, STREAMS[c], np.uint32(9), i, m[c, i])[0] for i in range(n)] for c in range(2)])
    assert (e > -m).all()
    np.testing.assert_allclose(squares, (e * e).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(g, e @ X, rtol=1e-10, atol=1e-11)


def grid_posterior(X, y, sd, slab=np.inf):
    """Posterior of one coefficient with a normal prior, on a grid: points and weights."""
    s = np.where(y, 1.0, -1.0)
    b = np.linspace(-6 * sd, 6 * sd, 4001)
    l = scipy.special.log_ndtr(s[:, None] * X * b).sum(axis=0) - 0.5 * b * b * (1 / sd**2 + 1 / slab**2)  # noqa: E741
    w = np.exp(l - l.max())
    return b, w / w.sum()


def data(n=120, p=4, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] - 0.5 + rng.standard_normal(n) > 0


def quick(**options):
    return ns.bayes.BayesProbit(**(dict(chains=2, warmup=60, draws=40, rng=4, sampler="split-hmc") | options))


def nearly_separable(slope=2.0):
    """Nearly separable."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 10))
    return X, slope * (X[:, 0] - X[:, 1]) + rng.standard_normal(80) > 0


def autoregressive(rho, chains, n, seed=0):
    rng = np.random.default_rng(seed)
    e = rng.standard_normal((chains, n))
    x = np.empty((chains, n))
    x[:, 0] = e[:, 0]
    for i in range(1, n):
        x[:, i] = rho * x[:, i - 1] + math.sqrt(1 - rho * rho) * e[:, i]
    return x


# --- plain samplers of other responses under the horseshoe ---------------------------------------------------------------


def polya_gamma(rng, c, terms=200):
    """Draws of PG(1, c) by its sum of exponential draws (Polson, Scott, Windle 2013, eq. 2), the rest by its mean."""
    k = np.arange(1, terms + 1) - 0.5
    c = np.abs(c)[:, None] + 1e-12
    shares = 1.0 / (k * k + (c / (2.0 * math.pi)) ** 2)
    whole = (math.pi**2) * np.tanh(0.5 * c[:, 0]) / c[:, 0]  # the sum of all shares
    drawn = (rng.standard_exponential((c.shape[0], terms)) * shares).sum(axis=1)
    return (drawn + whole - shares.sum(axis=1)) / (2.0 * math.pi**2)


def horseshoe_scales(rng, b, state, scale=1.0):
    """Makalic and Schmidt (2016): lambda^2, nu, tau^2, xi given coefficients b, in place; prior precisions of b.

    Of the horseshoe+, with phi^2 and zeta: lambda is half-Cauchy of scale phi, phi half-Cauchy of scale 1.
    """
    p = b.size
    state["l2"] = (1.0 / state["nu"] + 0.5 * b * b / state["t2"]) / rng.standard_exponential(p)
    state["nu"] = (1.0 / state.get("phi2", 1.0) + 1.0 / state["l2"]) / rng.standard_exponential(p)
    if "phi2" in state:
        state["phi2"] = (1.0 / state["zeta"] + 1.0 / state["nu"]) / rng.standard_exponential(p)
        state["zeta"] = (1.0 + 1.0 / state["phi2"]) / rng.standard_exponential(p)
    state["t2"] = (1.0 / state["xi"] + 0.5 * (b * b / state["l2"]).sum()) / rng.standard_gamma(0.5 * (p + 1))
    state["xi"] = (1.0 / scale**2 + 1.0 / state["t2"]) / rng.standard_exponential()
    return 1.0 / (state["l2"] * state["t2"])


def start_of_scales(p, plus=False):
    second = {"phi2": np.ones(p), "zeta": np.ones(p)} if plus else {}
    return {"l2": np.ones(p), "nu": np.ones(p), "t2": 1.0, "xi": 1.0} | second


def normal_draw(rng, H, h):
    """A draw of N(H^-1 h, H^-1)."""
    L = np.linalg.cholesky(H)
    return np.linalg.solve(L.T, np.linalg.solve(L, h) + rng.standard_normal(h.size))


def plain_logit(X, y, draws, seed, weights=None, offset=0.0, intercept_scale=10.0):
    """Polya-Gamma Gibbs sampling; draws of intercept, coefficients and log tau. Weights are integers: rows are repeated."""
    rng = np.random.default_rng(seed)
    offset = np.broadcast_to(offset, y.shape)
    if weights is not None:
        X, y, offset = (np.repeat(a, weights, axis=0) for a in (X, y, offset))
    Z = np.column_stack([np.ones(len(X)), X])
    state, b, d = start_of_scales(X.shape[1]), np.zeros(Z.shape[1]), np.ones(Z.shape[1])
    d[0], out = intercept_scale**-2.0, []
    for _ in range(draws):
        omega = polya_gamma(rng, Z @ b + offset)
        b = normal_draw(rng, (Z.T * omega) @ Z + np.diag(d), Z.T @ (y - 0.5 - omega * offset))
        d[1:] = horseshoe_scales(rng, b[1:], state)
        out.append([*b, 0.5 * math.log(state["t2"])])
    return np.array(out)[draws // 10 :]


def plain_gaussian(X, y, draws, seed, weights=None, plus=False):
    """Gibbs sampling, sigma given the coefficients; draws of intercept, coefficients, log tau, log sigma. Flat intercept."""
    rng = np.random.default_rng(seed)
    if weights is not None:
        X, y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    n, p = X.shape
    Z = np.column_stack([np.ones(n), X])
    state, b, d, out = start_of_scales(p, plus), np.zeros(p + 1), np.ones(p + 1), []
    d[0] = 0.0
    for _ in range(draws):
        rest = y - Z @ b
        sigma2 = 0.5 * (rest @ rest + (d * b) @ b) / rng.standard_gamma(0.5 * (n + p))
        d[1:] = horseshoe_scales(rng, b[1:] / math.sqrt(sigma2), state)
        b = normal_draw(rng, (Z.T @ Z + np.diag(d)) / sigma2, Z.T @ y / sigma2)
        out.append([*b, 0.5 * math.log(state["t2"]), 0.5 * math.log(sigma2)])
    return np.array(out)[draws // 10 :]


def plain_poisson(X, y, draws, seed, weights=1.0, offset=0.0):
    """Random-walk Metropolis steps of the coefficients, Gibbs steps of the scales; intercept, coefficients, log tau."""
    rng = np.random.default_rng(seed)
    Z = np.column_stack([np.ones(len(X)), X])
    state, b, out = start_of_scales(X.shape[1]), np.zeros(Z.shape[1]), []
    b[0] = math.log(y.mean() + 0.1)
    d = np.zeros(b.size)

    def density(b):
        m = Z @ b + offset
        return (weights * (y * m - np.exp(m))).sum() - 0.5 * (d * b) @ b

    mean = np.exp(Z @ b + offset) * weights
    step = np.linalg.cholesky(np.linalg.inv((Z.T * mean) @ Z + 0.1 * np.eye(b.size))) * 1.2 / math.sqrt(b.size)
    for _ in range(draws):
        d[1:] = horseshoe_scales(rng, b[1:], state)
        for _ in range(6):
            new = b + step @ rng.standard_normal(b.size)
            if math.log(rng.random()) < density(new) - density(b):
                b = new
        out.append([*b, 0.5 * math.log(state["t2"])])
    return np.array(out)[draws // 10 :]


def check_against_plain(model, plain, names=("log_tau",)):
    """Means within 4 standard errors, standard deviations and quantiles close; `plain` has shape (draws, k) of one chain."""
    x = np.concatenate([model.draws_["intercept"][:, :, None], model.draws_["beta"]], axis=2)
    x = np.concatenate([x, *(model.draws_[name][:, :, None] for name in names)], axis=2)
    flat = x.reshape(-1, x.shape[2])
    assert flat.shape[1] == plain.shape[1]
    error = np.sqrt(flat.var(axis=0) / ns.bayes.ess_bulk(x) + plain.var(axis=0) / ns.bayes.ess_bulk(plain[None]))
    z = (flat.mean(axis=0) - plain.mean(axis=0)) / error
    assert abs(z).max() < 4.0, z
    bulk = slice(0, -len(names))  # log tau has a long tail
    np.testing.assert_allclose(flat.std(axis=0)[bulk], plain.std(axis=0)[bulk], rtol=0.08)
    for level in (0.05, 0.5, 0.95):
        np.testing.assert_allclose((flat <= np.quantile(plain, level, axis=0)).mean(axis=0), level, atol=0.03)


# --- an independent sampler of every posterior: Hamiltonian steps on the log density as it is written down -----------------


def at_risk(time, event, stratum, weights):
    """For each stratum and event time: the rows at risk, the events, and for each of these the weights by Efron's formula."""
    for s in np.unique(stratum):
        for t in np.unique(time[(stratum == s) & event]):
            risk = np.flatnonzero((stratum == s) & (time >= t))
            now = event[risk] & (time[risk] == t)
            shares = np.arange(now.sum()) / now.sum()
            yield s, t, risk, risk[now], weights[risk] * (1.0 - shares[:, None] * now)


def partial_likelihood(m, time, event, stratum, weights):
    """The logarithm of Cox's partial likelihood of predictors, shape (n, ...)."""
    total = 0.0
    for _, _, risk, events, parts in at_risk(time, event, stratum, weights):
        total = total + weights[events] @ m[events]
        for w in parts:
            total = total - weights[events].mean() * scipy.special.logsumexp(m[risk].T, b=w, axis=-1)
    return total


def baseline_steps(m, time, event, stratum, weights):
    """Stratum, time and step of Breslow's baseline with Efron's correction, for each event time."""
    for s, t, risk, events, parts in at_risk(time, event, stratum, weights):
        yield s, t, (weights[events].mean() / (parts @ np.exp(m[risk]))).sum()


class Posterior:
    """Log density of a regression under a horseshoe prior, and its gradient, for many points at a time.

    A point has the coordinates a, z_1 to z_p, log lambda_k, for the horseshoe+ log eta_k, log tau, for numbers log sigma, and
    for a slab with a prior log c^2. Coefficients are b_j = sigma w_j z_j with z_j standard normal, sigma = 1 but for numbers;
    w_j is lambda_k (eta_k) tau, or the regularised scale of Piironen and Vehtari. A plain slab is a factor exp(-w^2 z^2/(2 c^2)).
    Without groups k = j. Unpenalised coefficients are b_j = z_j, normal, or with an infinite scale flat for numbers.

    Parameters
    ----------
    case : dict
        "response", "X", "y", and where they apply "weights", "offset", "plus", "tau_scale", "slab", "slab_df",
        "intercept_scale", "unpenalized", "groups".
    """

    def __init__(self, case):
        self.X, self.y = np.array(case["X"], float), np.array(case["y"], float)
        n, p = self.X.shape
        self.response, self.plus = case["response"], case.get("plus", False)
        self.weights = np.broadcast_to(np.array(case.get("weights", 1.0), float), n)
        self.offset = np.array(case.get("offset", 0.0), float)
        self.tau_scale, self.slab, self.slab_df = case.get("tau_scale", 1.0), case.get("slab"), case.get("slab_df")
        self.intercept_precision = case.get("intercept_scale", 10.0) ** -2.0
        self.numbers, self.free = self.response == "gaussian", self.slab_df is not None and math.isfinite(self.slab_df)
        shrunk = [j for j in range(p) if j not in case.get("unpenalized", [])]
        groups = [*case.get("groups", [])]
        groups += [[j] for j in shrunk if not any(j in group for group in groups)]
        self.shared = np.array([[j in group for group in groups] for j in range(p)], float)  # which scale a coefficient has
        self.shrunk = self.shared.sum(axis=1)
        scale = case.get("intercept_scale", 10.0)
        scale = 10.0 if self.response == "poisson" and scale == np.inf else scale
        self.precisions = np.where(self.shrunk, 1.0, (self.X.std(axis=0) / scale) ** 2)  # of z
        self.p, self.scales_of = p, len(groups)
        self.size = 1 + p + self.scales_of * (2 if self.plus else 1) + 1 + self.numbers + self.free

    def _parts(self, x):
        """Views of the columns of points x: a, z, log lambda, log eta or None, log tau, log sigma or None, log c^2 or None."""
        p, q = self.p, self.scales_of
        at = 1 + p + q
        a, z, l = x[:, 0], x[:, 1 : 1 + p], x[:, 1 + p : at]  # noqa: E741
        k = x[:, at : at + q] if self.plus else None
        at += q * self.plus
        s = x[:, at + 1] if self.numbers else None
        v = x[:, -1] if self.free else None
        return a, z, l, k, x[:, at], s, v

    def _rows(self, m, s):
        """Log-likelihood of the rows given linear predictors, and its derivative in them."""
        y = self.y
        if self.response == "probit":
            sign = np.where(y > 0, 1.0, -1.0)
            value = scipy.special.log_ndtr(sign * m)
            return value, sign * np.exp(-0.5 * m * m - value) / math.sqrt(2.0 * math.pi)
        if self.response == "logit":
            return y * m - np.logaddexp(0.0, m), y - scipy.special.expit(m)
        if self.response == "poisson":
            return y * m - np.exp(m), y - np.exp(m)
        r = (y - m) * np.exp(-s)[:, None]
        return -0.5 * r * r - s[:, None], r * np.exp(-s)[:, None]

    def scales(self, x):
        """log w of points, its derivative in the log scale without a slab, log lambda + log eta + log tau, and log c^2."""
        _, _, l, k, t, _, v = self._parts(x)  # noqa: E741
        log = (l + (0.0 if k is None else k)) @ self.shared.T + t[:, None] * self.shrunk
        v = v[:, None] if self.free else 0.0 if self.slab is None else 2.0 * math.log(self.slab)
        if self.slab_df is None:
            return log, 1.0, v
        both = np.logaddexp(-2.0 * log, -v)
        return -0.5 * both, np.exp(-2.0 * log - both), v

    def coefficients(self, x):
        """Intercept, coefficients, log tau, log sigma and log c of points, side by side."""
        a, z, _, _, t, s, v = self._parts(x)
        b = z * np.exp(self.scales(x)[0] + (0.0 if s is None else s[:, None] * self.shrunk))
        return np.column_stack([a, b, t, *([] if s is None else [s]), *([] if v is None else [0.5 * v])])

    def __call__(self, x):
        """Log density of points, shape (points,), and gradient, shape (points, size)."""
        a, z, l, k, t, s, v = self._parts(x)  # noqa: E741
        gradient = np.zeros_like(x)
        da, dz, dl, dk, dt, ds, dv = self._parts(gradient)
        log, share, log_slab = self.scales(x)
        q, sigma = z * np.exp(log), 1.0 if s is None else np.exp(s[:, None] * self.shrunk)
        value, slope = self._rows(a[:, None] + (sigma * q) @ self.X.T + self.offset, s)
        total, slope = value @ self.weights, slope * self.weights
        dq = sigma * (slope @ self.X)
        if s is not None:
            ds += (dq * q * self.shrunk).sum(axis=1) - self.weights.sum() - 2.0 * (value + s[:, None]) @ self.weights
        if self.slab is not None and self.slab_df is None:
            total = total - 0.5 * (q * q) @ self.shrunk / self.slab**2
            dq = dq - q * self.shrunk / self.slab**2
        da += slope.sum(axis=1) - self.intercept_precision * a
        dz += dq * np.exp(log) - self.precisions * z
        total = total - 0.5 * self.intercept_precision * a * a - 0.5 * (z * z) @ self.precisions
        dw = dq * q * self.shrunk
        for u, du in ((l, dl), (k, dk)):  # of half-Cauchy scales: log density of u is u - log(1 + e^2u)
            if u is not None:
                total = total + (u - np.logaddexp(0.0, 2.0 * u)).sum(axis=1)
                du += (dw * share) @ self.shared - np.tanh(u)
        rest = t - math.log(self.tau_scale)
        total = total + rest - np.logaddexp(0.0, 2.0 * rest)
        dt += (dw * share).sum(axis=1) - np.tanh(rest)
        if v is not None:  # c^2 inverse gamma
            half, rate = 0.5 * self.slab_df, 0.5 * self.slab_df * self.slab**2 * np.exp(-v)
            total = total - half * v - rate
            dv += 0.5 * (dw * (1.0 - share)).sum(axis=1) - half + rate
        return total, gradient


@np.errstate(all="ignore")  # of proposals far out, which are rejected
def hamiltonian_draws(density, size, seed, chains=200, warmup=800, draws=200, thin=5, steps=20):
    """Hamiltonian Monte Carlo of chains side by side, shape (chains, draws, size); some steps are short, for steep places.

    Step size and masses are adapted in the warmup, to an acceptance of 0.85 and the variances over all chains.
    """
    rng = np.random.default_rng(seed)
    x, step, mass = 0.1 * rng.standard_normal((chains, size)), 0.02, np.ones(size)
    (value, gradient), out, rates, seen = density(x), [], [], []
    for i in range(warmup + draws * thin):
        momentum = rng.standard_normal((chains, size)) * np.sqrt(mass)
        start = value - 0.5 * (momentum**2 / mass).sum(axis=1)
        e = step * rng.uniform(0.1, 1.2, (chains, 1))
        new, slope = x, gradient
        for _ in range(rng.integers(1, steps + 1)):
            momentum = momentum + 0.5 * e * slope
            new = new + e * momentum / mass
            found, slope = density(new)
            momentum = momentum + 0.5 * e * slope
        chance = np.exp(np.minimum(found - 0.5 * (momentum**2 / mass).sum(axis=1) - start, 0.0))
        chance = np.where(np.isfinite(chance), chance, 0.0)
        taken = rng.random(chains) < chance
        x = np.where(taken[:, None], new, x)
        value, gradient = np.where(taken, found, value), np.where(taken[:, None], slope, gradient)
        if i < warmup:
            step *= math.exp((chance.mean() - 0.85) / math.sqrt(1.0 + 0.05 * i))
            seen.append(x)
            if i in (warmup // 4, warmup // 2, 3 * warmup // 4):
                mass, seen = 1.0 / np.var(np.concatenate(seen[len(seen) // 2 :]), axis=0), []
        else:
            rates.append(chance.mean())
            if (i - warmup) % thin == thin - 1:
                out.append(x)
    return np.stack(out, axis=1), float(np.mean(rates))
