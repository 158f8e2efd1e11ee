"""Standard errors and covariances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from numbastats import mixture
from tests.mixture.naive import log_density, small_data


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma"])
def test_standard_errors(family):
    x = small_data(n=200)
    r = mixture.fit(x, 2, family=family, rng=1, se=True, cov=True, device="cpu", workers=1)
    theta = np.concatenate([[r.weights[0]], r.means, r.params])

    def f(t):
        w = np.array([t[0], 1 - t[0]])
        parts = np.stack([np.log(w[k]) + log_density(family, x, t[1 + k], t[3 + k]) for k in range(2)])
        return float(np.sum(scipy.special.logsumexp(parts, axis=0)))

    h = 3e-4 * np.maximum(np.abs(theta), 0.1)
    H = np.empty((5, 5))
    for i in range(5):
        for j in range(5):
            a, b = np.eye(5)[i] * h[i], np.eye(5)[j] * h[j]
            H[i, j] = (f(theta + a + b) - f(theta + a - b) - f(theta - a + b) + f(theta - a - b)) / (4 * h[i] * h[j])
    cov = np.linalg.inv(-H)
    se = np.sqrt(np.diag(cov))
    inner = np.array([0, 2, 3, 4, 5])
    assert (np.abs(r.cov[np.ix_(inner, inner)] - cov) <= 5e-5 * np.outer(se, se)).all()
    np.testing.assert_allclose(r.cov[1], -r.cov[0], rtol=1e-9)  # the weights add up to 1
    got = np.concatenate([r.se["weights"][:1], *(r.se[name] for name in r.parameters)])
    np.testing.assert_allclose(got, se, rtol=2e-5)  # the differences are exact to 1e-5
    assert abs(r.se["weights"][1] / r.se["weights"][0] - 1) < 1e-9


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_covariances_do_not_depend_on_the_order_of_the_start(order):
    """The last component is the base of the log-odds; sorting by the centres may make it another one."""
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.normal(-5, 1, 90), rng.normal(0, 0.7, 60), rng.normal(4, 1.3, 50)])
    start = np.array([[0.45, 0.3, 0.25], [-5.0, 0.0, 4.0], [1.0, 0.5, 1.7]])
    fit = mixture.fit(x, 3, family="gaussian", init_params=start[:, list(order)][None], cov=True, se=True, device="cpu")
    theta = np.concatenate([fit.weights[:2], fit.means, np.log(fit.params)])

    def loglik(t):
        w = np.append(t[:2], 1.0 - t[:2].sum())
        parts = [np.log(w[k]) + log_density("gaussian", x, t[2 + k], np.exp(t[5 + k])) for k in range(3)]
        return float(np.sum(scipy.special.logsumexp(np.stack(parts), axis=0)))

    h, e = 1e-3, np.eye(8)
    H = np.array([[loglik(theta + h * (a + b)) - loglik(theta + h * (a - b)) for b in e] for a in e])
    H -= np.array([[loglik(theta - h * (a - b)) - loglik(theta - h * (a + b)) for b in e] for a in e])
    se = np.sqrt(np.diag(np.linalg.inv(-H / (4 * h * h))))
    got = np.concatenate([fit.se["weights"][:2], fit.se["mean"], fit.se["variance"] / fit.params])
    np.testing.assert_allclose(got, se, rtol=1e-4)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.cov)), np.concatenate([*fit.se.values()]), rtol=1e-12)
