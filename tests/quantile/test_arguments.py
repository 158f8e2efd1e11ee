"""What users hand to tables: densities of SciPy, options, wrong arguments."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

from numbastats.quantile import QuantileTable, recycle
from tests.quantile.naive import logistic


@pytest.mark.parametrize(
    ("law", "rtol"),
    [
        (scipy.stats.gamma(2.5), 1e-13),
        (scipy.stats.lognorm(1.0), 1e-13),
        (scipy.stats.beta(2, 3), 1e-13),
        (scipy.stats.uniform(1, 2), 1e-14),
        (scipy.stats.laplace(3), 1e-14),
        (scipy.stats.norm(100, 0.1), 1e-14),
        (scipy.stats.weibull_min(0.4), 1e-13),
        (scipy.stats.pareto(2.5), 1e-13),
        (scipy.stats.chi2(1), 1e-13),
    ],
    ids=lambda v: v.dist.name if hasattr(v, "dist") else "",
)
def test_from_scipy(law, rtol):
    table = QuantileTable.from_scipy(law)
    u = np.array([0.0, 1e-12, 1e-6, 0.1, 0.5, 0.95, 1 - 1e-9, 1.0])
    np.testing.assert_allclose(table.ppf(u), law.ppf(u), rtol=rtol)
    assert table.certificate.max_rel_err < 2e-14
    assert abs(table.norm_const - 1) < 1e-13


@pytest.mark.parametrize("loc", [1e6, -1e6, 1e15])
def test_from_scipy_far_from_zero(loc):
    """In units of the scale 1e9 and more away: to one rounding of the exact number, and the mass next to an end."""
    u, unit = np.array([1e-15, 1e-5, 0.3, 0.5, 0.999]), abs(loc) * 1e-9
    for law, exact in (
        (scipy.stats.norm(loc, unit), scipy.special.ndtri(u)),
        (scipy.stats.expon(loc, unit), -np.log1p(-u)),
        (scipy.stats.laplace(loc, scale=unit), np.where(u < 0.5, np.log(2 * u), -np.log(2 - 2 * u))),
    ):
        table = QuantileTable.from_scipy(law)
        np.testing.assert_array_max_ulp(table.ppf(u), loc + unit * exact, 1)
        assert table.certificate.max_rel_err < 2e-14 and abs(table.norm_const - 1) < 1e-13
        np.testing.assert_allclose(table.pdf(loc + unit), law.pdf(loc + unit), rtol=1e-13)
        if law.support()[0] == -math.inf:
            x = loc + unit * exact[1:4]
            np.testing.assert_allclose(recycle(x, table, "normal"), scipy.special.ndtri(u[1:4]), atol=3e-7)  # x is rounded
    z = scipy.special.ndtri(u)
    np.testing.assert_allclose(QuantileTable.from_scipy(scipy.stats.lognorm(1e-3)).ppf(u), np.exp(1e-3 * z), rtol=3e-16)


@pytest.mark.parametrize(
    ("law", "cdf"),
    [
        (scipy.stats.anglit(), lambda x: mpmath.sin(x + mpmath.pi / 4) ** 2),
        (scipy.stats.cosine(), lambda x: (mpmath.pi + x + mpmath.sin(x)) / (2 * mpmath.pi)),
        (scipy.stats.semicircular(3.0, 2.0), lambda x: 0.5 + _half_disc((x - 3) / 2)),
        (scipy.stats.rdist(1.6), lambda x: mpmath.betainc(0.8, 0.8, 0, (1 + x) / 2, regularized=True)),
    ],
    ids=lambda v: v.dist.name if hasattr(v, "dist") else "",
)
def test_from_scipy_where_the_density_is_rounded_at_an_end(law, cdf):
    """An end that is not 0, where the density vanishes or has a pole: refused before for what rounding does next to it."""
    table = QuantileTable.from_scipy(law)
    assert table.certificate.max_rel_err < 1e-12
    u = np.array([1e-12, 1e-8, 1e-4, 0.01, 0.3, 0.49, 0.7, 0.99, 1 - 1e-9])
    x = table.ppf(u)
    with mpmath.workdps(40):
        off = np.array([float(cdf(mpmath.mpf(float(v))) - mpmath.mpf(float(p))) for v, p in zip(x, u, strict=True)])
    assert (np.abs(off) <= 2e-14 * (law.pdf(x) * np.abs(x) + np.minimum(u, 1 - u))).all()


def _half_disc(x):
    return (x * mpmath.sqrt(1 - x * x) + mpmath.asin(x)) / mpmath.pi


def test_wrong_arguments():
    with pytest.raises(ValueError, match="either"):
        QuantileTable()
    with pytest.raises(ValueError, match="both cdf= and sf="):
        QuantileTable(cdf=scipy.stats.norm.cdf)
    with pytest.raises(ValueError, match="both cdf= and sf="):
        QuantileTable(logistic, sf=scipy.stats.norm.sf)
    with pytest.raises(TypeError, match="function"):
        QuantileTable(3.0)
    with pytest.raises(TypeError, match="elementwise on arrays"):
        QuantileTable(lambda x: math.exp(-x * x))
    with pytest.raises(ValueError, match="elementwise on arrays"):
        QuantileTable(lambda x: np.exp(-x) if x > 0 else 0.0)
    with pytest.raises(ValueError, match="elementwise on arrays"):
        QuantileTable(lambda x: np.ones(3))
    with pytest.raises(TypeError, match="tuple"):
        QuantileTable(logistic, params=[1.0])
    with pytest.raises(TypeError, match="no method"):
        QuantileTable.from_scipy(3.0)
    with pytest.raises(ValueError, match="domain"):
        QuantileTable.from_scipy(scipy.stats.gamma(-1.0))
    with pytest.raises(ValueError, match=r"parameters of shape \(2,\)"):
        QuantileTable.from_scipy(scipy.stats.norm(np.array([1.0, 2.0])))


def test_breaks_that_cannot_be():
    for breaks in (1.0, [math.nan], [[1.0]]):
        with pytest.raises(ValueError, match="sequence of finite places"):
            QuantileTable(logistic, breaks=breaks)
    table = QuantileTable.from_scipy(scipy.stats.laplace_asymmetric(2, loc=5), anchor=4.0, breaks=[5.0])
    np.testing.assert_allclose(table.ppf([0.1, 0.9]), scipy.stats.laplace_asymmetric(2, loc=5).ppf([0.1, 0.9]), rtol=1e-14)
