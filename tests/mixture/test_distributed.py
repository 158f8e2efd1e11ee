"""EM in pieces."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from numbastats import mixture
from tests.mixture.naive import small_data


@pytest.mark.parametrize("family", ["inverse_gaussian", "gaussian", "gamma", "exponential", "lognormal"])
def test_em_in_pieces(family):
    x = small_data(n=150)
    r = mixture.fit(x, 2, family=family, rng=1, device="cpu")
    now = [np.array([0.45, 0.55]), r.centres * [0.9, 1.1], None if np.isnan(r.params).any() else r.params * 1.2]
    w = np.random.default_rng(1).integers(1, 4, x.size).astype(float)
    last = -np.inf
    for _ in range(5):
        parts = [
            mixture.partial_stats(x[s], *now, family=family, sample_weight=w[s], device="cpu")
            for s in np.split(np.arange(150), 3)
        ]
        *new, ll = mixture.em_update(mixture.combine(parts), *now, family=family)
        assert ll > last
        dens = mixture.logpdf(x, *now, family=family, device="cpu")
        assert abs(ll - w @ dens) < 1e-9
        resp = mixture.responsibilities(x, *now, family=family, device="cpu")
        np.testing.assert_allclose(new[0], w @ resp / w.sum(), rtol=1e-12)
        y = np.log(x) if family == "lognormal" else x
        np.testing.assert_allclose(new[1], (w * y) @ resp / (w @ resp), rtol=1e-12)
        now, last = new, ll
    with pytest.raises(ValueError, match="shape"):
        mixture.em_update(np.ones(3), *now, family=family)
    if family != "gaussian":
        with pytest.raises(ValueError, match="support"):
            mixture.partial_stats([-1.0, 2.0], *now, family=family)


@pytest.mark.parametrize("parts", [[], [np.ones(7), np.ones(4)], [np.ones((2, 7))]])
def test_combine_refuses_what_does_not_belong_together(parts):
    with pytest.raises(ValueError, match="partial_stats"):
        mixture.combine(parts)


@pytest.mark.parametrize("scale", [1e-200, 1e-120, 1e200])
def test_em_in_pieces_at_extreme_scales(scale):
    x, now = small_data(), (np.array([0.4, 0.6]), np.array([2.0, 8.0]), np.array([10.0, 100.0]))
    there = now[0], now[1] * scale, now[2] * scale
    want = mixture.em_update(
        mixture.partial_stats(x, *now, device="cpu", family="inverse_gaussian"), *now, family="inverse_gaussian"
    )
    got = mixture.em_update(
        mixture.partial_stats(x * scale, *there, device="cpu", family="inverse_gaussian"), *there, family="inverse_gaussian"
    )
    for a, b, unit in zip(got[:3], want[:3], (1.0, scale, scale), strict=True):
        np.testing.assert_allclose(a / unit, b, rtol=1e-13)
    assert got[3] == pytest.approx(want[3] - x.size * math.log(scale), rel=1e-14)


def test_em_in_pieces_of_components_far_apart(device):
    """Sums about the common mean would lose (distance/width)^2 ulp, here all digits of the variances."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.normal(0, 1, 50), rng.normal(1e9, 2, 80)])
    now = np.array([0.5, 0.5]), np.array([0.3, 1e9]), np.array([1.0, 1.0])
    sums = mixture.combine([mixture.partial_stats(v, *now, family="gaussian", **device) for v in (x[:70], x[70:])])
    w, m, v, loglik = mixture.em_update(sums, *now, family="gaussian")
    np.testing.assert_allclose(w, [50 / 130, 80 / 130], rtol=1e-15)
    np.testing.assert_allclose(m, [x[:50].mean(), x[50:].mean()], rtol=1e-14)
    np.testing.assert_allclose(v, [x[:50].var(), x[50:].var()], rtol=1e-6)  # of data rounded to 1e-7; np.var has its own error
    z = np.concatenate([x[:50] - 0.3, x[50:] - 1e9])
    assert loglik == pytest.approx(np.sum(scipy.stats.norm.logpdf(z) + math.log(0.5)), rel=1e-13)
