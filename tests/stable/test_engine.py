"""Which kernel takes which call: shared tables, arrays of a device, blocks per point."""

from __future__ import annotations

import numba
import numba.cuda
import numpy as np
import pytest

import numbastats as ns
from numbastats import stable
from tests.contract import same
from tests.stable.naive import SERIAL, OnDevice, relative


def test_out_may_be_an_argument_that_is_read_again():
    x = np.linspace(-60.0, 5.0, 500)  # the table of the light tail ends at -10
    want = stable.logcdf(x, 1.5, 1.0)
    assert relative(want, stable.logcdf(x, 1.5, 1.0, method="quadrature")).max() < 1e-12
    for name in ("x", "loc"):
        shared = x.copy() if name == "x" else np.zeros(500)
        values = {"x": x, "loc": 0.0, name: shared}
        assert same(stable.logcdf(values["x"], 1.5, 1.0, values["loc"], out=shared), want)
    p = np.linspace(0.01, 0.99, 9)
    for alpha in (1.5, np.full(9, 1.5)):
        want, estimate = stable.ppf(p, alpha, 0.5, error=True)
        shared = p.copy()
        got, error = stable.ppf(shared, alpha, 0.5, error=True, out=shared)
        assert got is shared and same(got, want) and same(error, estimate)


def test_error_estimates_of_device_arrays():
    x = np.array([-3.0, 0.2, 50.0])
    on_device = numba.cuda.to_device(x)
    for function in (stable.pdf, stable.cdf, stable.sf):
        value, error = function(on_device, 1.5, 0.5, error=True)
        expected = function(x, 1.5, 0.5, error=True, **SERIAL)
        np.testing.assert_allclose(value.copy_to_host(), expected[0], rtol=1e-13)
        assert (error.copy_to_host() > 0).all() and (error.copy_to_host() < 1e-12).all()
    assert len(stable.pdf_cdf(on_device, 1.5, 0.5, error=True)) == 6
    single = stable.pdf_cdf(x.astype(np.float32), np.float32(1.5), [0.5, 0.4, 0.3], error=True)
    assert single[0].dtype == np.float64 and single[3].shape == (3,)


@pytest.mark.parametrize(("alpha", "beta"), [([1.5], 0.0), ([[1.5]], 0.0), (1.5, [[[0.5]]]), ([[1.5]], [1.0])])
def test_one_element_arrays_keep_their_axes_by_tables(alpha, beta):
    lead = np.shape(np.add(alpha, beta))
    a, b = np.ravel(alpha)[0], np.ravel(beta)[0]
    for x in (0.3, np.linspace(0.01, 0.99, 500)):
        shape = np.broadcast_shapes(lead, np.shape(x))
        for name in ("pdf", "logcdf", "ppf", "isf"):
            f = getattr(stable, name)
            options = {} if name in ("ppf", "isf") else {"method": "table"}
            got, out = f(x, alpha, beta, **options), np.empty(shape)
            assert got.shape == shape and f(x, alpha, beta, out=out, **options) is out
            want = np.broadcast_to(f(x, a, b, **options), shape)
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(
    "law",
    [(np.float64(1.3), 0.2), (1.3, np.int64(0)), (1.3, [0.2]), (1.3, 0.2, [0.0] * 400), (np.float32(1.3), 0.2)],
    ids=["float64", "integer", "list", "loc", "float32"],
)
def test_the_float_type_does_not_depend_on_the_method(law):
    x = np.linspace(-3, 3, 400, dtype=np.float32)
    point, table = (stable.pdf(x, *law, method=method) for method in ("quadrature", "table"))
    assert point.dtype == table.dtype == stable.ppf(np.abs(x) / 4, *law).dtype
    np.testing.assert_allclose(table, point, rtol=1e-12 if point.dtype == np.float64 else 1.2e-7)  # observed 2e-15


@pytest.mark.parametrize("function", ["pdf", "logcdf", "ppf"])
def test_masked_parameters_of_one_element(function):
    """A mask would be lost where a table takes the law."""
    x = np.linspace(0.1, 0.9, 500)
    for law in ((np.ma.array([1.5], mask=[True]), 0.0), (1.5, np.ma.array([0.2]))):
        with pytest.raises(TypeError, match="masked"):
            getattr(stable, function)(x, *law)


def test_blocks_of_a_gpu_have_the_threads_that_share_an_integral(monkeypatch):
    asked = []
    monkeypatch.setattr(stable.engine, "elementwise", lambda *a, **k: asked.append(k.get("threads")) or np.zeros(6))
    stable.pdf(0.1, 1.5, 0.2, method="quadrature")
    stable.cdf(0.1, 1.5, 0.2, error=True)
    stable.ppf([0.1, 0.2], [1.5, 1.6], 0.2)
    assert asked == [stable.kernels.LANES] * 3


def test_what_the_series_leave_goes_to_the_integral():
    """Points of all kinds in one call, each as by itself; what is no number stays so."""
    a = np.array([2.0, 1.0, 0.5, 0.5, 1.01, 0.3, 1.7, 1.7, 1.5, 2.5])
    b = np.array([0.0, 0.0, 1.0, -1.0, 0.4, 0.5, 0.2, 0.2, -1.0, 0.0])
    x = np.array([0.7, -2.0, 1.3, 0.4, 9.0, 0.3, 0.4, np.nan, 4.0, 0.0])
    for name in ("pdf", "logcdf", "sf"):
        f = getattr(stable, name)
        want = [f(float(p), float(q), float(r)) for p, q, r in zip(x, a, b, strict=True)]
        shared = a.copy()
        assert same(f(x, a, b, **SERIAL), want) and same(f(x, shared, b, out=shared), want)
        assert np.isnan(want).tolist() == [False] * 7 + [True, False, True]


def test_one_alpha_on_the_device_shares_a_table():
    shared, x = ns.stable.engine.one_distribution, OnDevice(np.zeros(3))
    assert shared(OnDevice([1.5]), OnDevice(0.3), (x, 0.0, 1.0), None)[0] == (1.5, 0.3)
    assert shared(OnDevice([1.5, 1.6]), 0.3, (x, 0.0, 1.0), None)[0] is None
    assert shared(OnDevice([1.5]), 0.3, (np.zeros(3), 0.0, 1.0), None)[0] is None  # the result has to be on the device
