"""The program of Howson (2015)."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns
from numbastats import mixture
from tests.mixture.naive import GOOD, paper_data


def test_bulkem_against_a_plain_transcription():
    x = paper_data(1, 400)[0]
    (got,) = mixture.bulkem([x], rng=3, device="cpu")
    alpha, mu, lam = (np.array(got[f"init_{name}"]) for name in ("alpha", "mu", "lambda"))
    assert (alpha == 0.5).all()
    old, passes = 1e-6 + 1.0, 0
    while True:
        dens = (
            alpha
            * np.sqrt(lam / (2 * np.pi * x[:, None] ** 3))
            * np.exp(-lam * (x[:, None] - mu) ** 2 / (2 * mu**2 * x[:, None]))
        )
        passes += 1
        ll = np.log(dens.sum(axis=1)).sum()
        if abs(ll - old) < 1e-6:
            break
        old = ll
        r = dens / dens.sum(axis=1, keepdims=True)
        lam = r.sum(axis=0) / (r * (x[:, None] - mu) ** 2 / (mu**2 * x[:, None])).sum(axis=0)
        mu, alpha = (r * x[:, None]).sum(axis=0) / r.sum(axis=0), r.mean(axis=0)
        if passes == 101:
            dens = (
                alpha
                * np.sqrt(lam / (2 * np.pi * x[:, None] ** 3))
                * np.exp(-lam * (x[:, None] - mu) ** 2 / (2 * mu**2 * x[:, None]))
            )
            ll = np.log(dens.sum(axis=1)).sum()
            break
    assert got["num_iterations"] == passes
    assert got["fit_success"] == (passes <= 100) and ("iterations ended" in got["message"]) == (passes > 100)
    order = np.argsort(mu)
    assert abs(got["loglik"] / ll - 1) < 1e-12
    np.testing.assert_allclose(got["mu"], mu[order], rtol=1e-8)
    np.testing.assert_allclose(got["lambda"], lam[order], rtol=1e-8)
    np.testing.assert_allclose(got["alpha"], alpha[order], rtol=1e-8)


def test_bulkem_succeeds_where_its_rule_is_met():
    """With few iterations the log-likelihood still changes by more than epsilon; this was called a certified optimum."""
    x = paper_data(1, 400)[0]
    (short,) = mixture.bulkem([x], max_iters=5, rng=3, device="cpu")
    (long,) = mixture.bulkem([x], max_iters=5000, rng=3, device="cpu")
    assert not short["fit_success"] and short["status"] == 1 and long["fit_success"] and "local maximum" in long["message"]
    assert short["num_iterations"] == 6 < long["num_iterations"]
    (same,) = mixture.bulkem([x], max_iters=5, rng=3, use_gpu=False)
    assert same["loglik"] == short["loglik"]
    with pytest.raises(ValueError, match="use_gpu=True and device='cpu' both say"):
        mixture.bulkem([x], use_gpu=True, device="cpu")


def test_bulkem_survives_bad_data():
    good = paper_data(1, 200)[0]
    with pytest.warns(ns.ConvergenceWarning, match="3 of 5 fits ended without a maximum"):
        fits = mixture.bulkem([good, np.append(good, 0.0), np.ones(50), np.array([1.0, np.nan]), good], random_inits=3, rng=1)
    assert [f["status"] for f in fits[1:4]] == [6, 4, 4]
    assert all(np.isfinite(f["loglik"]) and f["mu"].shape == (2,) for f in (fits[0], fits[4]))
    assert not fits[1]["fit_success"] and "index 200" in fits[1]["message"]


@pytest.mark.parametrize("K", [np.array([2, 3]), range(1, 3), 2.0])
def test_bulkem_takes_one_number_of_components(K):
    with pytest.raises(ValueError, match="fit_many"):
        mixture.bulkem([GOOD, GOOD], K)
