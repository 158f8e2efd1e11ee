"""What `numbastats.interop.GaussianMixture` asks of the engine: fits from a start of scikit-learn's attributes."""

from __future__ import annotations

import numpy as np

from numbastats._core.checks import choice, is_integer
from numbastats._core.data import doubles
from numbastats.mixture.multivariate.arguments import missing_rows, one_table
from numbastats.mixture.multivariate.covariances import SCIKIT
from numbastats.mixture.multivariate.fitting import fit_rows

__all__ = ["fit_like", "loglik_of"]


def fit_like(model, X, sample_weight, before):
    """The fit of an estimator with scikit-learn's arguments."""
    if not is_integer(model.n_components) or model.n_components < 1:
        raise ValueError(f"n_components={model.n_components!r} must be an integer >= 1")
    if not is_integer(model.n_init) or model.n_init < 1:
        raise ValueError(f"n_init={model.n_init!r} must be an integer >= 1")
    choice("covariance_type", model.covariance_type, SCIKIT)
    choice("init_params", model.init_params, ("kmeans", "k-means++", "random", "random_from_data"))
    x = doubles(X, "X")
    if x.ndim != 2:
        raise ValueError(f"Expected 2D array, got an array of shape {x.shape}; reshape X to (n, d)")
    if x.shape[0] < model.n_components:
        raise ValueError(f"X has {x.shape[0]} rows; n_components={model.n_components} need at least as many")
    if (missing := np.isnan(x).any(axis=1)).any():
        cure = "Input X contains NaN: drop or fill in these rows, or use numbastats.mixture.fit, which can leave them out"
        raise ValueError(missing_rows(missing, "X", cure))
    rows = one_table(X, sample_weight, "raise", "X")
    state = model.random_state
    seeds = np.random.SeedSequence(state if is_integer(state) else None)
    if isinstance(state, np.random.RandomState):
        seeds = np.random.SeedSequence(state.randint(2**31, size=2).tolist())
    elif isinstance(state, np.random.Generator):
        seeds = np.random.SeedSequence(state.integers(2**63))
    start = _start(model, x, before)
    given = any(getattr(model, name) is not None for name in ("weights_init", "means_init", "precisions_init"))
    best = None
    for seed in seeds.spawn(model.n_init):
        starts = "random" if model.init_params.startswith("random") else "portfolio"
        found = fit_rows(
            rows, model.n_components, covariance=model.covariance_type, starts=starts, rng=seed, start=start, drawn=not given
        )
        if best is None or _grade(found) > _grade(best):
            best = found
        if given:
            break
    if best.status[0] in (4, 5, 7, 8, 12):
        raise ValueError(f"the data cannot be fitted: {best.message(0)}")
    return best[0]


def _grade(batch):
    return (batch.status[0] == 0, float(np.nan_to_num(batch.loglik[0], nan=-np.inf)))


def _check_shape(value, shape, name):
    """In scikit-learn's words."""
    if value.shape != shape:
        raise ValueError(f"The parameter '{name}' should have the shape of {shape}, but got {value.shape}")


def _start(model, x, before):
    """Weights, means and covariances to begin from, or None."""
    K, d = model.n_components, x.shape[1]
    if before is not None and before.n_components == K and before.means.shape[1] == d:
        return before.weights, before.means, before.covariances
    w, m, p = (getattr(model, name) for name in ("weights_init", "means_init", "precisions_init"))
    if w is None and m is None and p is None:
        return None
    if w is not None:
        w = np.asarray(w, np.float64)
        _check_shape(w, (K,), "weights")
        if not ((w >= 0) & (w <= 1)).all():
            raise ValueError(
                f"The parameter 'weights' should be in the range [0, 1], but got max value {w.max():.5f}, min value {w.min():.5f}"
            )
        if abs(w.sum() - 1.0) > 1e-6:
            raise ValueError(f"The parameter 'weights' should be normalized, but got sum(weights) = {w.sum():.5f}")
    if m is not None:
        m = np.asarray(m, np.float64)
        _check_shape(m, (K, d), "means")
    else:  # spread along the first principal axis
        centred = x - x.mean(axis=0)
        first = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
        m = x[np.argsort(first)[((np.arange(K) + 0.5) * len(x) / K).astype(int)]]
    shapes = {"full": (K, d, d), "tied": (d, d), "diag": (K, d), "spherical": (K,)}
    if p is None:
        covs = np.repeat(np.cov(x.T, bias=True).reshape(1, d, d), K, axis=0)
        nearest = ((x[:, None] - m) ** 2).sum(axis=2).argmin(axis=1)
        within = sum(np.atleast_2d((x[nearest == k] - m[k]).T @ (x[nearest == k] - m[k])) for k in range(K)) / len(x)
        covs = np.repeat(within[None], K, axis=0) if np.linalg.matrix_rank(within) == d else covs
    else:
        p = np.asarray(p, np.float64)
        _check_shape(p, shapes[model.covariance_type], f"{model.covariance_type} precision")
        whole = {
            "full": lambda: p,
            "tied": lambda: np.repeat(p[None], K, axis=0),
            "diag": lambda: p[:, :, None] * np.eye(d),
            "spherical": lambda: p[:, None, None] * np.eye(d),
        }[model.covariance_type]()
        if not np.allclose(whole, np.swapaxes(whole, 1, 2)) or (np.linalg.eigvalsh(whole) <= 0).any():
            kind = "symmetric, positive-definite" if model.covariance_type in ("full", "tied") else "positive"
            raise ValueError(f"'{model.covariance_type} precision' should be {kind}")
        covs = np.linalg.inv(whole)
    if model.covariance_type in ("diag", "spherical"):
        covs = covs * np.eye(d)
    if model.covariance_type == "spherical":
        covs = np.trace(covs, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    return np.full(K, 1.0 / K) if w is None else np.maximum(w, 1e-12), m, covs


def loglik_of(fit, X):
    """The log-likelihood of rows."""
    return float(np.sum(fit.logpdf(np.asarray(X, np.float64))))
