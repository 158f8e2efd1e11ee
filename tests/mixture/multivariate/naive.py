"""Plain versions of what mixtures in several dimensions compute: densities, EM, scores and observed information."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.special

TRIANGLE = {"full": "VVV", "tied": "EEE", "diag": "VVI", "spherical": "VII", "tied-diag": "EEI", "tied-spherical": "EII"}


def log_densities(x, means, covariances):
    """Log densities (n, K) of normal components."""
    out = np.empty((len(x), len(means)))
    for k, (m, c) in enumerate(zip(means, covariances, strict=True)):
        low = np.linalg.cholesky(c)
        z = scipy.linalg.solve_triangular(low, (x - m).T, lower=True)
        out[:, k] = -0.5 * np.sum(z * z, axis=0) - np.log(np.diag(low)).sum() - 0.5 * len(m) * np.log(2.0 * np.pi)
    return out


def loglik(x, weights, means, covariances, w=None):
    """Log-likelihood of weighted rows."""
    each = scipy.special.logsumexp(log_densities(x, means, covariances) + np.log(weights), axis=1)
    return float(np.sum(each if w is None else w * each))


def responsibilities(x, weights, means, covariances):
    """Posterior probabilities (n, K)."""
    logs = log_densities(x, means, covariances) + np.log(weights)
    return np.exp(logs - scipy.special.logsumexp(logs, axis=1)[:, None])


def restricted(scatter, counts, covariance):
    """Covariances (K, d, d) of a model from the scatter matrices (K, d, d) of the components and their counts."""
    K, d = scatter.shape[:2]
    each = scatter / counts[:, None, None]
    if covariance.startswith("tied"):
        each = np.repeat(scatter.sum(axis=0)[None] / counts.sum(), K, axis=0)
    if covariance.endswith("diag"):
        return each * np.eye(d)
    if covariance.endswith("spherical"):
        return np.trace(each, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    return each


def em_step(x, weights, means, covariances, covariance="full", w=None):
    """Weights, means and covariances after a step of EM."""
    w = np.ones(len(x)) if w is None else w
    r = responsibilities(x, weights, means, covariances) * w[:, None]
    counts = r.sum(axis=0)
    means = (r.T @ x) / counts[:, None]
    scatter = np.stack([((x - m).T * r[:, k]) @ (x - m) for k, m in enumerate(means)])
    return counts / counts.sum(), means, restricted(scatter, counts, covariance)


def em(x, weights, means, covariances, covariance="full", w=None, steps=100_000, tol=1e-13):
    """EM to where a step gains next to nothing; weights, means, covariances and the log-likelihood."""
    old = -np.inf
    for _ in range(steps):
        now = loglik(x, weights, means, covariances, w)
        if now - old < tol * max(1.0, abs(now)):
            break
        old = now
        weights, means, covariances = em_step(x, weights, means, covariances, covariance, w)
    return weights, means, covariances, now


def free_parameters(K, d, covariance):
    """Number of free parameters: weights, means, covariances."""
    of_covariances = {"full": K * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": K * d, "spherical": K}
    of_covariances |= {"tied-diag": d, "tied-spherical": 1}
    return K - 1 + K * d + of_covariances[covariance]


def packed(weights, means, covariances, covariance):
    """The free parameters as a vector: weights but the last, means, the free entries of covariances."""
    d = means.shape[1]
    low = np.tril_indices(d)
    free = {
        "full": lambda: np.concatenate([c[low] for c in covariances]),
        "tied": lambda: covariances[0][low],
        "diag": lambda: np.concatenate([np.diag(c) for c in covariances]),
        "spherical": lambda: covariances[:, 0, 0],
        "tied-diag": lambda: np.diag(covariances[0]),
        "tied-spherical": lambda: covariances[0, 0, :1],
    }
    return np.concatenate([weights[:-1], means.ravel(), free[covariance]()])


def unpacked(theta, K, d, covariance):
    """The inverse of `packed`."""
    weights = np.append(theta[: K - 1], 1.0 - theta[: K - 1].sum())
    means, rest = theta[K - 1 : K - 1 + K * d].reshape(K, d), theta[K - 1 + K * d :]
    covariances, low = np.zeros((K, d, d)), np.tril_indices(d)
    for k in range(K):
        if covariance in ("full", "tied"):
            size = d * (d + 1) // 2
            part = rest[:size] if covariance == "tied" else rest[k * size : (k + 1) * size]
            covariances[k][low] = part
            covariances[k] += np.tril(covariances[k], -1).T
        elif covariance.endswith("diag"):
            covariances[k] = np.diag(rest if covariance == "tied-diag" else rest[k * d : (k + 1) * d])
        else:
            covariances[k] = rest[0 if covariance == "tied-spherical" else k] * np.eye(d)
    return weights, means, covariances


def numerical_information(x, weights, means, covariances, covariance, w=None, step=1e-4):
    """Minus the Hessian of the log-likelihood in the parameters of `packed`, by central differences of fourth order."""
    theta = packed(weights, means, covariances, covariance)
    K, d = means.shape
    p = theta.size
    sizes = step * np.maximum(np.abs(theta), 0.1 * np.abs(theta).mean())

    def value(t):
        return loglik(x, *unpacked(t, K, d, covariance), w)

    out, basis = np.empty((p, p)), np.diag(sizes)
    for i in range(p):
        for j in range(i + 1):
            total = 0.0
            for h, c in ((1.0, 16.0), (2.0, -1.0)):
                a, b = h * basis[i], h * basis[j]
                total += c * (value(theta + a + b) - value(theta + a - b) - value(theta - a + b) + value(theta - a - b)) / h**2
            out[i, j] = out[j, i] = -total / (60.0 * sizes[i] * sizes[j])
    return out


def louis_information(x, weights, means, covariances, w=None):
    """Minus the Hessian of full covariances, by T. Louis' formula with scores and Hessians of the components' log densities."""
    w = np.ones(len(x)) if w is None else w
    K, d = means.shape
    low = np.tril_indices(d)
    size = d + low[0].size
    p = K - 1 + K * size
    at = [np.r_[K - 1 + k * d + np.arange(d), K - 1 + K * d + k * low[0].size + np.arange(low[0].size)] for k in range(K)]
    basis = []
    for i, j in zip(*low, strict=True):
        one = np.zeros((d, d))
        one[i, j] = one[j, i] = 1.0
        basis.append(one)
    r = responsibilities(x, weights, means, covariances)
    inverses = np.linalg.inv(covariances)
    out = np.zeros((p, p))
    for row, each, wt in zip(x, r, w, strict=True):
        mean_score, second = np.zeros(p), np.zeros((p, p))
        for k in range(K):
            P, v = inverses[k], inverses[k] @ (row - means[k])
            s, h = np.zeros(p), np.zeros((p, p))
            if k < K - 1:
                s[k], h[k, k] = 1.0 / weights[k], -1.0 / weights[k] ** 2
            else:
                s[: K - 1], h[: K - 1, : K - 1] = -1.0 / weights[-1], -1.0 / weights[-1] ** 2
            s[at[k]] = np.r_[v, [0.5 * (v @ E @ v - np.trace(P @ E)) for E in basis]]
            block = np.zeros((size, size))
            block[:d, :d] = -P
            for a, E in enumerate(basis):
                block[:d, d + a] = block[d + a, :d] = -P @ E @ v
                for b, F in enumerate(basis):
                    block[d + a, d + b] = 0.5 * np.trace(P @ E @ P @ F) - v @ E @ P @ F @ v
            block[d:, d:] = 0.5 * (block[d:, d:] + block[d:, d:].T)
            h[np.ix_(at[k], at[k])] = block
            mean_score += each[k] * s
            second += each[k] * (h + np.outer(s, s))
        out -= wt * (second - np.outer(mean_score, mean_score))
    return out


def blobs(seed, n, d, K, apart=3.0):
    """Rows of K normal clusters with covariances of their own."""
    rng = np.random.default_rng(seed)
    z = rng.integers(K, size=n)
    centres = apart * rng.normal(size=(K, d))
    shapes = rng.normal(size=(K, d, d)) * 0.4 + np.eye(d)
    return centres[z] + np.einsum("nij,nj->ni", shapes[z], rng.normal(size=(n, d)))


def of_labels(x, labels, K, covariance="full", w=None):
    """Weights, means and covariances of a partition."""
    w = np.ones(len(x)) if w is None else w
    counts = np.array([w[labels == k].sum() for k in range(K)])
    means = np.stack([(w[labels == k, None] * x[labels == k]).sum(axis=0) / counts[k] for k in range(K)])
    scatter = np.stack([((x - means[k]).T * (w * (labels == k))) @ (x - means[k]) for k in range(K)])
    return counts / counts.sum(), means, restricted(scatter, counts, covariance)


def observed_loglik(x, weights, means, covariances, w=None):
    """Log-likelihood of what is observed of rows with missing values."""
    total, w = 0.0, np.ones(len(x)) if w is None else w
    for o in np.unique(~np.isnan(x), axis=0):
        rows = (~np.isnan(x) == o).all(axis=1)
        if o.any():
            total += loglik(x[rows][:, o], weights, means[:, o], covariances[:, o][:, :, o], w[rows])
    return total


def observed_em_step(x, weights, means, covariances, covariance="full"):
    """A step of EM by patterns: expected sums of the complete data, row by row."""
    K, d = means.shape
    counts, first, second = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
    for row in x:
        o = ~np.isnan(row)
        if not o.any():
            continue
        r = responsibilities(row[None, o], weights, means[:, o], covariances[:, o][:, :, o])[0]
        for k in range(K):
            m, c = means[k], covariances[k]
            B = c[np.ix_(~o, o)] @ np.linalg.inv(c[np.ix_(o, o)])
            full, extra = row.copy(), np.zeros((d, d))
            full[~o] = m[~o] + B @ (row[o] - m[o])
            extra[np.ix_(~o, ~o)] = c[np.ix_(~o, ~o)] - B @ c[np.ix_(o, ~o)]
            counts[k] += r[k]
            first[k] += r[k] * full
            second[k] += r[k] * (np.outer(full, full) + extra)
    means = first / counts[:, None]
    scatter = second - counts[:, None, None] * means[:, :, None] * means[:, None, :]
    return counts / counts.sum(), means, restricted(scatter, counts, covariance)


# --- covariances lambda D A D' with parts in common ------------------------------------------------------------------------


def built(theta, K, d, letters):
    """Covariances from logarithms of volumes and of shapes (the last the rest), and antisymmetric S with exp(S) = D."""
    volume, shape, axes = letters
    planes = 0 if axes == "I" else d * (d - 1) // 2
    shapes = 0 if shape == "I" else d - 1
    own = [1 if letter == "E" else K for letter in letters]
    cuts = np.cumsum([own[0], own[1] * shapes])
    volumes, logs, turns = np.split(theta, cuts)
    logs, turns = logs.reshape(own[1], shapes) if shapes else np.zeros((1, 0)), turns.reshape(own[2], planes) if planes else None
    out = np.empty((K, d, d))
    for k in range(K):
        a = logs[k % len(logs)]
        a = np.append(a, -a.sum()) if shapes else np.zeros(d)
        D = np.eye(d)
        if planes:
            S = np.zeros((d, d))
            S[np.tril_indices(d, -1)] = turns[k % len(turns)]
            D = scipy.linalg.expm(S - S.T)
        out[k] = np.exp(volumes[k % own[0]]) * (D * np.exp(a)) @ D.T
    return out


def pieces(covariances, letters):
    """The parameters of `built` for covariances of a model: those of the first component where parts are common."""
    K, d = covariances.shape[:2]
    volumes, logs, turns = [], [], []
    values, D = np.linalg.eigh(covariances)
    if letters[2] == "E":
        mixed = np.einsum("kij,k->ij", covariances / np.linalg.det(covariances)[:, None, None] ** (1 / d), 0.7 ** np.arange(K))
        D = np.repeat(np.linalg.eigh(mixed)[1][None], K, axis=0)
    if letters[2] == "I":
        D = np.repeat(np.eye(d)[None], K, axis=0)
    for k in range(K):
        D[k][:, 0] *= np.sign(np.linalg.det(D[k]))
        a = np.log(np.diag(D[k].T @ covariances[k] @ D[k]))
        volumes.append(a.mean())
        logs.append((a - a.mean())[:-1])
        turns.append(np.real(scipy.linalg.logm(D[k]))[np.tril_indices(d, -1)])
    parts = zip((volumes, logs, turns), letters, strict=True)
    return np.concatenate([np.ravel(part[: 1 if letter == "E" else K]) for part, letter in parts if letter != "I"])


def parameters_of_model(weights, means, covariances, letters):
    """Logarithms of weights relative to the last, means, and the parameters of `built`."""
    return np.concatenate([np.log(weights[:-1] / weights[-1]), means.ravel(), pieces(covariances, letters)])


def model_of(theta, K, d, letters):
    """The inverse of `parameters_of_model`."""
    e = np.exp(np.append(theta[: K - 1], 0.0))
    at = K - 1 + K * d
    return e / e.sum(), theta[K - 1 : at].reshape(K, d), built(theta[at:], K, d, letters)


def errors_of_model(x, weights, means, covariances, letters, w=None, step=1e-4):
    """Covariance of (weights, means, lower triangles), and the sandwich, by differences of log-densities in free parameters."""
    K, d = means.shape
    low, w = np.tril_indices(d), np.ones(len(x)) if w is None else w
    theta = parameters_of_model(weights, means, covariances, letters)

    def each(t):
        a, b, c = model_of(t, K, d, letters)
        return scipy.special.logsumexp(log_densities(x, b, c) + np.log(a), axis=1)

    def flat(t):
        a, b, c = model_of(t, K, d, letters)
        return np.concatenate([a, b.ravel(), *(one[low] for one in c)])

    p, basis = theta.size, step * np.eye(theta.size)
    H, J, scores = np.empty((p, p)), np.empty((flat(theta).size, p)), np.empty((len(x), p))
    for i in range(p):
        J[:, i] = (flat(theta + basis[i]) - flat(theta - basis[i])) / (2 * step)
        scores[:, i] = (each(theta + basis[i]) - each(theta - basis[i])) / (2 * step)
        for j in range(i + 1):
            total = 0.0
            for h, c in ((1.0, 16.0), (2.0, -1.0)):
                a, b = h * basis[i], h * basis[j]
                total += c * w @ (each(theta + a + b) - each(theta + a - b) - each(theta - a + b) + each(theta - a - b)) / h**2
            H[i, j] = H[j, i] = -total / (60.0 * step**2)
    slopes = np.linalg.solve(H, J.T)
    return J @ slopes, slopes.T @ (scores.T * w) @ scores @ slopes
