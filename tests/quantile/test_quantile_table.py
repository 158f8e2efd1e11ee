"""Tables in float32, and their size."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numba import cuda  # a module global: the simulator swaps it there

import numbastats as ns
from numbastats.quantile import QuantileTable, recycle
from tests.contract import same


def test_float32(table):
    u = np.random.default_rng(3).random(5000).astype(np.float32)
    got = table.ppf(u)
    want = np.log(u.astype(float)) - np.log1p(-u.astype(float))
    assert got.dtype == np.float32
    error = np.abs(got - want) / np.spacing(np.abs(want).astype(np.float32))
    assert error.max() < 1.5  # observed 1.4
    law = ns.distributions.hyperbolic(1.5, 0.3, 1.0)
    want = law.ppf(u.astype(float))
    error = np.abs(law.ppf(u) - want) / np.spacing(np.abs(want).astype(np.float32))
    assert error.max() < 2.5  # asymmetric: u - p rounds; observed 2.2
    z = np.random.default_rng(3).standard_normal(2000).astype(np.float32)
    narrow, wide = recycle(z, "normal", table), recycle(z.astype(float), "normal", table)
    np.testing.assert_allclose(narrow, wide, rtol=5e-7)  # observed 2.2e-7


def test_float32_at_the_middle_of_a_side():
    """A steep quantile at a share of just 1/2, which was taken for the number below: 36 ulp."""
    for c in (3.0, 29.0, 60.0):
        law = QuantileTable.from_scipy(scipy.stats.fatiguelife(c))  # median 1
        for got in (law.ppf, law.isf, lambda u, law=law: law.ppf2(1.0, u, u)):
            assert abs(got(np.float32(0.5)) - 1.0) <= 2.0**-23 and abs(got(0.5) - 1.0) <= 2e-14


@pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")
def test_float32_maps_from_light_to_heavy_tails(device):
    """Their rows of degree 3 are too wide: the float64 table is used."""
    light, heavy = ns.distributions.nig(1.5, 0.3, 1.0), ns.distributions.student_t(1.0)
    x = light.rvs(300, rng=1, dtype=np.float32)
    want = recycle(x.astype(float), light, heavy).astype(np.float32)
    np.testing.assert_allclose(recycle(x, light, heavy, **device), want, rtol=1.2e-7)  # 1 ulp: the GPU's float64 may differ
    out = x.copy()
    assert recycle(out, light, heavy, out=out) is out and same(out, want)
    assert type(recycle(x[0], light, heavy)) is np.float32
    if device.get("device") == "cuda":
        on_device = cuda.to_device(x)
        assert recycle(on_device, light, heavy, out=on_device) is on_device
        np.testing.assert_allclose(on_device.copy_to_host(), want, rtol=1.2e-7)


def test_ends_of_float32():
    u = np.array([1e-15, 1e-18], np.float32)
    assert (ns.distributions.student_t.ppf(u, 0.3) == -math.inf).all()
    cauchy = QuantileTable(lambda x: 1 / (1 + x * x), accuracy="full")
    u = np.array([1e-37, 1e-38], np.float32)
    np.testing.assert_allclose(cauchy.ppf(u), -1 / (np.pi * u.astype(float)), rtol=5e-7)
    steep = QuantileTable(lambda x: (1 + np.abs(x)) ** -1.5, accuracy="full")
    assert steep.ppf(np.float32(1e-30)) == -math.inf and steep.isf(np.float32(1e-30)) == math.inf


def test_size_counts_the_float64_rows_only(table):
    before = table.nbytes
    table.ppf(np.float32(0.3))  # makes the float32 rows
    assert table.nbytes == before == table.table.nbytes
