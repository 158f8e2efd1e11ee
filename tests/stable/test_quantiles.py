"""Quantiles by tables and by Newton's method, and their error estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbastats import stable
from tests.stable.naive import INF, SERIAL


def test_quantiles_on_the_reference(rows):
    for a, b in sorted(set(zip(rows["alpha"], rows["beta"], strict=True))):
        keep = (rows["alpha"] == a) & (rows["beta"] == b) & (rows["cdf"] >= 1e-8) & (rows["sf"] >= 1e-6)
        if not keep.any():
            continue
        x, p, c, s = (rows[k][keep] for k in ("x", "pdf", "cdf", "sf"))
        for got, tail in ((stable.ppf(c, a, b, **SERIAL), c), (stable.isf(s, a, b, **SERIAL), s)):
            # rounding the probability to a double moves x by eps tail/pdf
            error = np.abs(got - x) * p / np.minimum(c, s)
            rounding = 4e-16 * tail / np.minimum(c, s) + 4e-16 * np.abs(x) * p / np.minimum(c, s)
            assert (error < 1e-12 + 2 * rounding).all(), (a, b, error.max())


def test_quantiles_round_trip(device):
    n = 4 if device["device"] == "cuda" else 200
    rng = np.random.default_rng(4)
    p = np.concatenate([rng.random(n), 10.0 ** rng.uniform(-200, -1, n // 2)])
    a, b = rng.choice([0.3, 0.7, 0.95, 1.0, 1.2, 1.8, 2.0], p.size), rng.choice([-1.0, -0.4, 0.0, 0.6, 1.0], p.size)
    for param in ("S0", "S1"):
        q = stable.isf(p, a, b, 0.2, 3.0, param=param, **device)
        assert not np.isnan(q).any()
        fine = np.isfinite(q) & (np.abs(q) > 1e-8)
        p, a, b, q = p[fine], a[fine], b[fine], q[fine]
        back = stable.logsf(q, a, b, 0.2, 3.0, param=param, **SERIAL)
        slope = np.exp(stable.logpdf(q, a, b, 0.2, 3.0, param=param, **SERIAL) - back) * np.abs(q)
        allowed = 1e-12 * (1 + np.abs(np.log(p))) + 1e-15 * slope  # the second: what rounding q does
        assert (np.abs(back - np.log(p)) <= allowed).all()
    for law in ((1.5, 0.5), (0.6, -1.0), (1.0, 0.3)):
        q = stable.ppf(p, *law, param="S1", **device)
        with np.errstate(divide="ignore"):
            keep = (q != 0) & np.isfinite(q)
        error = np.abs(stable.cdf(q, *law, param="S1", method="quadrature", **SERIAL) - p) / np.minimum(p, 1 - p)
        assert error[keep & (p > 1e-100)].max() < 1e-11


def test_quantile_error():
    x, e = stable.ppf([0.1, 0.5, 0.0], 1.5, 0.5, error=True)
    assert (e[:2] < 1e-11).all() and (e[:2] > 0).all() and e[2] == 0 and x[2] == -INF
    p = np.linspace(0.02, 0.98, 25, dtype=np.float32)
    single, wide = stable.ppf(p, 1.5, 0.5, error=True, **SERIAL)
    gap = np.abs(single - stable.ppf(p.astype(float), 1.5, 0.5, **SERIAL))
    assert single.dtype == np.float32 and np.all(gap <= wide) and np.all(wide <= 3e-7 * np.abs(single) + 1e-12)  # observed 2.4e-7
    torch = pytest.importorskip("torch")
    y, f = stable.ppf(torch.tensor([0.1, 0.5, 0.0], dtype=torch.float64), 1.5, 0.5, error=True)
    assert isinstance(y, torch.Tensor) and (f == e).all()
    x, e = stable.ppf([0.0, 1.0, 2.0], [0.5, 0.5, 1.5], [1.0, -1.0, 0.0], param="S1", error=True)  # ends of supports; no law
    assert x[:2].tolist() == e[:2].tolist() == [0.0, 0.0] and np.isnan(x[2]) and np.isnan(e[2])


def test_quantile_errors_where_the_density_underflows():
    x, error = stable.isf([1e-300, 1e-200], 1.0, 0.0, error=True)
    assert (error < 1e-11 * x).all() and (error > 1e-17 * x).all()  # the quantile is 1/(pi q)


def test_quantiles_beyond_all_doubles():
    """Also where every point has a law of its own: +-inf, as for shared laws."""
    a = np.array([0.15, 0.3, 0.5, 0.9, 1.1])
    assert stable.isf(1e-300, a, 0.5, **SERIAL).tolist()[:4] == [INF] * 4
    assert stable.ppf(1e-300, a, 0.5, **SERIAL).tolist()[:4] == [-INF] * 4
    np.testing.assert_allclose(stable.logsf(stable.isf(1e-300, a, 0.5, **SERIAL)[4], 1.1, 0.5), math.log(1e-300), rtol=1e-15)
    right = math.gamma(1.1) * math.sin(0.55 * math.pi) / math.pi * 1.5  # P(X > x) = right x^-1.1 so far out
    want = [INF] * 4 + [(right / 1e-300) ** (1 / 1.1)]
    np.testing.assert_allclose(stable.isf([1e-300], np.stack([a, a]).T, 0.5)[:, 0], want, rtol=3e-13)
    np.testing.assert_allclose([stable.isf(1e-300, v, 0.5) for v in a], want, rtol=3e-13)  # an ulp of log x is 1.1e-13


@pytest.mark.parametrize("a", [0.1, 0.4, 0.8, 0.95, 1.0, 1.5, 1.99])
def test_the_median_of_a_symmetric_law(a, device):
    """7.5e-16 at alpha = 1.5 before."""
    for loc in (0.0, 3.0):
        assert stable.ppf(0.5, a, 0.0, loc, 2.0, **device) == stable.isf(0.5, a, -0.0, loc, 2.0, param="S1", **device) == loc
    np.testing.assert_array_equal(stable.ppf([0.5, 0.5], [a, a], 0.0, 3.0, 2.0, **device), 3.0)
    assert stable.Stable(a, 0.0).median() == 0.0
    assert stable.ppf(0.5, a, 0.2, **device) != 0.0


def test_error_estimates_of_quantiles_go_with_the_smaller_tail():
    """Probability errors are relative to min(p, 1 - p): beyond the median the estimate was allowed to go with p."""
    p = np.array([0.5, 0.9, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9])
    for q, tail, f in ((p, 1 - p, stable.ppf), (1 - p, 1 - p, stable.ppf), (p, 1 - p, stable.isf)):
        x, e = f(q, 1.0, 0.0, error=True)
        slope = np.pi * (1.0 + x**2) * tail  # Cauchy: dx over the relative error of the tail
        relative = (e - 2 * np.finfo(float).eps * np.abs(x)) / slope
        np.testing.assert_allclose(relative, relative[0], rtol=0.02)  # one number, the table's certificate
        assert 4e-16 < relative[0] < 1e-12
