"""Rows of densities with several modes, kinks and jumps; the range that they hold."""

from __future__ import annotations

import math
import warnings

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats.quantile import QuantileTable, recycle
from tests.contract import same
from tests.quantile.naive import histogram, logistic, normals, split_table


def test_far_below_the_density_at_its_peak():
    """What lies next to the anchor where no power law holds: the lognormal law down to the last octave; observed 8e-16."""
    u = np.array([1.5e-20, 1e-18, 1e-15, 1e-10, 1e-3])
    z = np.array([float(mpmath.findroot(lambda t, p=p: mpmath.ncdf(t) / p - 1, scipy.special.ndtri(p))) for p in u])
    for s in (0.1, 1.0, 3.0):
        table = QuantileTable.from_scipy(scipy.stats.lognorm(s))
        np.testing.assert_allclose(table.ppf(u), np.exp(s * z), rtol=5e-15)


@pytest.mark.parametrize("tail", [0.125, 1e-3, 1e-6])
def test_short_tails_leave_the_middle_whole(tail):
    """Shares below `tail` next to the anchor were the anchor itself: an eighth of all draws for the first."""
    table = QuantileTable(logistic, tail=tail)
    near = np.concatenate([-(2.0 ** -np.arange(3, 50)), 2.0 ** -np.arange(3, 50)])
    for dtype, limit in ((np.float64, 1e-14), (np.float32, 4e-7)):
        u = (0.5 + near).astype(dtype)
        x = table.ppf(u)
        np.testing.assert_allclose(x, 2 * np.arctanh(2 * (u.astype(np.float64) - 0.5)), rtol=limit)  # 2e-15 and 1e-7 observed
    assert np.isnan(table.ppf(0.1 * tail)) and np.isnan(table.isf(0.1 * tail))  # whole octaves are held
    assert table.ppf(tail * 0.51) == pytest.approx(scipy.special.logit(tail * 0.51), rel=1e-14)
    one_sided = QuantileTable(lambda x: np.exp(-x), support=(0, np.inf), tail=tail)
    assert np.isnan(one_sided.ppf([0.2 * tail, 1 - 0.2 * tail])).all() and one_sided.ppf(0.0) == 0.0


def law_of(frozen):
    return frozen.pdf, frozen.cdf, frozen.sf


def triangle(low, mode, high):
    """Triangular density and its distribution functions, without cancellation at the ends."""
    width, left, right = high - low, mode - low, high - mode
    return (
        lambda x: np.clip(np.where(x < mode, (x - low) / left, (high - x) / right), 0, None) * 2 / width,
        lambda x: np.where(x < mode, (x - low) ** 2 / left / width, 1 - (high - x) ** 2 / right / width),
        lambda x: np.where(x < mode, 1 - (x - low) ** 2 / left / width, (high - x) ** 2 / right / width),
    )


DATA = np.random.default_rng(3).normal(size=300)


BINS = [3, 12, 31, 55, 80, 62, 33, 0, 17, 7]


@pytest.mark.parametrize(
    ("law", "options", "limit"),
    [
        (normals((0.5, 0, 1), (0.5, 6, 1)), {}, 1e-13),
        (normals((0.5, 0, 1), (0.5, 6, 1)), dict(degree=5), 1e-13),
        (normals((0.3, -4, 1), (0.4, 0, 0.5), (0.3, 5, 1)), {}, 1e-13),
        (normals((0.5, 0, 1), (0.5, 100, 1)), {}, 1e-13),  # nothing between the modes
        (normals((0.5, 0, 1), (0.5, 0, 1e-4)), {}, 1e-13),  # a narrow mode with the anchor on it
        (normals((0.5, 0, 1), (0.5, 0.7, 1e-4)), dict(breaks=(0.7,)), 1e-11),  # where x has four digits less
        (normals(*[(1 / 300, m, 0.1) for m in DATA]), {}, 1e-13),
        (triangle(-1, 0.5, 2), dict(support=(-1, 2)), 1e-13),
        (triangle(-1, 0.5, 2), {}, 1e-13),  # its ends are found as well
        (law_of(scipy.stats.laplace(3)), {}, 1e-13),
        (law_of(scipy.stats.laplace(3)), dict(breaks=[3]), 1e-13),
        (histogram([1, 3, 2], [-1, 0.3, 1, 3]), dict(support=(-1, 3)), 1e-13),
        (histogram([1, 3, 2], [-1, 0.3, 1, 3]), {}, 1e-12),
        (histogram(BINS, np.linspace(-2.7, 3.1, 11)), dict(support=(-2.7, 3.1)), 1e-12),
        (histogram(BINS, np.linspace(-2.7, 3.1, 11)), dict(breaks=np.linspace(-2.7, 3.1, 11)), 1e-13),
    ],
)
def test_modes_kinks_and_jumps(law, options, limit):
    """Refused before, nearly all of them. Errors as in `Certificate`: of x, or of the probability where that is larger."""
    pdf, cdf, sf = law
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)  # of histograms without breaks, 3e-14 and 6e-14
        table = QuantileTable(pdf, **options)
    assert table.certificate.ok and table.certificate.max_rel_err < 1e-12
    u = np.sort(np.concatenate([np.random.default_rng(1).random(2000), 10.0 ** -np.arange(1, 13)]))
    for x, probability in ((table.ppf(u), cdf), (table.isf(u), sf)):
        assert np.isfinite(x).all()
        moves = np.abs(x) * pdf(x) / u
        assert (np.abs(probability(x) / u - 1) / np.maximum(1, moves)).max() < limit
    assert (np.diff(table.ppf(u)) >= -1e-15).all()


@pytest.mark.slow
@pytest.mark.parametrize("k", [3.0, 5.0, 8.0, 12.0])
def test_many_bends(k):
    """exp(-x^2/2)(1 + .9 sin kx): refused for k = 5, 6e-12 and 4e-12 off for 8 and 12."""
    table = QuantileTable(lambda x: np.exp(-x * x / 2) * (1 + 0.9 * np.sin(k * x)))
    assert table.certificate.max_rel_err < 2e-14
    p = [1e-10, 1e-3, 0.1, 0.3, 0.49, 0.52, 0.7, 0.9]
    with mpmath.workdps(30):
        for u, x in zip(p, table.ppf(p), strict=True):
            wave = mpmath.quad(
                lambda t: mpmath.exp(-t * t / 2) * mpmath.sin(k * t), mpmath.linspace(-14, mpmath.mpf(float(x)), 80)
            )
            assert float(abs(mpmath.ncdf(float(x)) + 0.9 * wave / mpmath.sqrt(2 * mpmath.pi) - u)) < 3e-14 * u + 1e-15


def test_every_way_to_use_rows_with_parts(device, tmp_path):
    """Bases, float32, batches, columns, files and user code."""
    import numba

    from numbastats.scalar import table_eval1

    pdf, cdf, sf = normals((0.5, 0, 1), (0.5, 6, 1))
    table = split_table()
    u = np.array([0.0, 1e-9, 0.2, 0.49, 0.5, 0.77, 1.0, math.nan])
    x = table.ppf(u, **device)
    np.testing.assert_allclose(cdf(x[1:-2]), u[1:-2], rtol=1e-13)
    assert x[0] == -math.inf and x[-2] == math.inf and math.isnan(x[-1])
    np.testing.assert_allclose(
        table.ppf(u.astype(np.float32), **device), table.ppf(u.astype(np.float32).astype(float)), rtol=6e-8
    )
    v = np.array([0.1, 1.0, 30.0])
    np.testing.assert_allclose(sf(recycle(v, "exponential", table, **device)), np.exp(-v), rtol=1e-13)
    y = np.array([0.3, 0.9])
    beyond = 1 - table.p_minus
    np.testing.assert_allclose(sf(table.ppf2(1.0, y, 1 - y, **device)), beyond * (1 - y), rtol=1e-13)
    z = np.array([[-3.0, -3.0], [0.1, 0.1], [6.0, 6.0]])
    columns = recycle(z, "normal", [table, ns.distributions.hyperbolic(1.5, 0.3, 1.0)], **device)
    np.testing.assert_allclose(sf(columns[:, 0]), scipy.special.ndtr(-z[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(columns[:, 1], recycle(z[:, 1], "normal", ns.distributions.hyperbolic(1.5, 0.3, 1.0)), rtol=1e-15)
    batch = QuantileTable(
        lambda x, m: pdf(x * 1.0) if m == 6 else scipy.stats.norm.pdf(x - m), params=(np.array([1.0, 6.0, -1.0]),)
    )
    np.testing.assert_allclose(batch.ppf(0.77), [1 + scipy.special.ndtri(0.77), table.ppf(0.77), scipy.special.ndtri(0.77) - 1])
    table.save(tmp_path / "split")
    loaded = QuantileTable.load(tmp_path / "split")
    assert same(loaded.ppf(u), table.ppf(u)) and loaded.certificate == table.certificate
    assert same(loaded.ppf(u.astype(np.float32)), table.ppf(u.astype(np.float32)))
    one = numba.njit(lambda u, rows, header: table_eval1(u, rows, header))
    assert one(0.77, table.table, table.header) == table.ppf(0.77)


def test_jumps_next_to_the_ends_of_panels():
    """A jump between the last Chebyshev point of a panel and its end left 2e-6 of the mass out."""
    edges = np.linspace(-3.7411627382527723, 4.036861678844423, 101)
    counts = np.round(1000 * np.exp(-0.5 * (0.5 * (edges[1:] + edges[:-1])) ** 2))
    pdf, cdf, _ = histogram(counts, edges)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ns.ConvergenceWarning)
        table = QuantileTable(pdf, support=(edges[0], edges[-1]))
    assert table.norm_const == pytest.approx(1, abs=1e-12)
    u = np.random.default_rng(2).random(1000)
    np.testing.assert_allclose(cdf(table.ppf(u)), u, rtol=1e-12)


def test_range_of_the_certificate():
    """Decades came out as the anchor, or as NaN, without a word."""
    table = QuantileTable(lambda x: np.exp(-0.5 * (x - 10) ** 2))  # 7.6e-24 on the left of the anchor
    c = table.certificate
    assert 1e-24 < c.lower < 2e-20 and np.isnan(table.ppf([1e-22, 1e-21])).all()
    p = np.array([c.lower * 1.01, 1e-19, 1e-10])
    np.testing.assert_allclose(table.ppf(p), 10 + scipy.special.ndtri(p), rtol=1e-13)
    lomax = QuantileTable(lambda x: 0.1 * (1 + x) ** -1.1, support=(0, np.inf))
    c = lomax.certificate
    assert np.isnan(lomax.isf(0.9 * c.upper)) and 1e-13 < c.upper < 1e-11
    p = np.array([1.01 * c.upper, 1e-11, 1e-3])
    np.testing.assert_allclose(lomax.isf(p), np.expm1(-10 * np.log(p)), rtol=1e-12)
    short = QuantileTable(logistic, tail=1e-6).certificate
    assert 0.2e-6 < short.lower <= 1e-6 and short.lower == short.upper
    for table in (QuantileTable(logistic), QuantileTable(logistic, anchor=0.7)):
        for lower, method in ((table.certificate.lower, table.ppf), (table.certificate.upper, table.isf)):
            assert np.isfinite(method(1.001 * lower)) and np.isnan(method(0.999 * lower))
