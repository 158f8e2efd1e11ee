"""Tables of one distribution: certificates, agreement with single points, ends of supports and of the doubles."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from numbastats import stable
from numbastats.stable import table_cache
from numbastats.testing import DEVICES
from tests.contract import same
from tests.stable.naive import INF, NAN, SERIAL, relative, zeta

AWKWARD = [
    *((1.0, 0.999), (1.0, 0.99), (0.97, 0.999), (0.999999, 0.9999), (0.8, 0.999999), (0.9, -0.9999), (0.5, 0.9999)),
    *((1.3, 0.999999), (1.09, -0.999999), (1 - 1e-6, -0.03), (1.9999, 0.999), (1.999999, 0.5), (0.4, 0.999999)),
    *((0.5, 1 - 1e-15), (0.7, -1 + 1e-13), (0.4, 1 - 1e-12), (1.5, 1 - 1e-10), (1.1, 1 - 1e-9), (1.9999999, 0.5), (0.3, 0.5)),
    *((1.0, 0.7), (1 + 1e-10, -0.9), (1 - 1e-13, 1 - 1e-12), (1.02, 0.2), (0.96, -0.5), (1.0, 1 - 1e-15)),
]


@pytest.mark.parametrize("a, b", AWKWARD)
def test_tables_of_awkward_laws(a, b):
    """Next to one-sided laws and to alpha = 1 and 2, to e^36."""
    assert table_cache.table(a, b).certificate < 1e-13  # observed 4.9e-14
    x = np.concatenate([s * np.exp(np.linspace(-12.0, 36.0, 90)) for s in (-1.0, 1.0)])
    for f in (stable.logpdf, stable.logcdf, stable.logsf):
        by_table, by_point = (f(x, a, b, method=m, param="S1" if a < 0.9 else "S0", **SERIAL) for m in ("table", "quadrature"))
        assert (np.abs(by_table - by_point) < 1e-13 * (1 + 0.01 * np.abs(by_point))).all()  # observed 6.1e-14


@pytest.mark.parametrize("b", [0.0, 0.05, 0.3, -0.6, 1 - 1e-9, -1.0])
@pytest.mark.parametrize("a", [1.0, 1 + 1e-12, 0.999, 1.02, 0.96])
def test_tables_next_to_one_need_no_integral_point_by_point(a, b, monkeypatch):
    monkeypatch.setattr(table_cache, "_fill", lambda *_: pytest.fail("a value was left to the integral"))
    assert table_cache.table.__wrapped__(a, b).certificate < (1e-12 if abs(b) == 1.0 else 1e-13)  # observed 2.9e-13, 7.5e-14


LAWS = [
    (0.25, 0.5),
    (0.5, 1.0),
    (0.75, -1.0),
    (0.95, 0.4),
    (1.0, 0.5),
    (1.0, -1.0),
    (1.1, 0.0),
    (1.5, 0.5),
    (1.9, -1.0),
    (1.99, 0.3),
]


@pytest.mark.parametrize("a, b", LAWS)
def test_tables_agree_with_the_points(a, b):
    """Observed: 1.2e-12 relative where a light tail's logarithm is large, else 2e-14."""
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-20, 20, 300), zeta(a, b) + rng.standard_cauchy(200) * 10.0 ** rng.uniform(-6, 3, 200)])
    for name in ("pdf", "cdf", "sf"):
        point, table = (getattr(stable, name)(x, a, b, method=m, **SERIAL) for m in ("quadrature", "table"))
        big = point > 1e-290
        assert relative(table, point)[big].max() < 2e-12
        assert (table[~big] < 1e-280).all()
    for param in ("S0", "S1"):
        options = dict(param=param, **SERIAL)
        point, table = (stable.pdf(x, a, b, 1.5, 2.0, method=m, **options) for m in ("quadrature", "table"))
        assert relative(table, point)[point > 1e-290].max() < 2e-12
    law = stable.Stable(a, b, table=True)
    assert law.certificate < 5e-12
    assert table_cache.table(a, b).nbytes < 200_000


def test_table_devices():
    x = np.concatenate([np.linspace(-30, 30, 50), [INF, -INF, NAN, 1e300, -1e300, 0.0]])
    for a, b in ((0.75, 1.0), (1.5, 0.5)):
        for name in ("pdf", "cdf", "sf"):
            results = [getattr(stable, name)(x, a, b, 0.3, 2.0, method="table", **d) for d in DEVICES.values()]
            assert same(results[0], results[1])
            np.testing.assert_allclose(results[2], results[0], rtol=1e-13, atol=0)


@pytest.mark.parametrize("a, b", [(0.5, 1.0), (0.8, -1.0), (0.95, 1.0), (1.0, 1.0), (1.02, -1.0), (1.6, -1.0)])
def test_logarithms_of_light_tails_by_the_table(a, b):
    """Within the table and, point by point, beyond its end; -inf outside the support."""
    low, high = stable.ppf([1e-8, 1 - 1e-8], a, b)
    x = np.concatenate(
        [np.linspace(low, high, 40), zeta(a, b) + b * np.array([-3.0, 1e-3, 0.05]), [-200.0, 200.0, INF, -INF, NAN]]
    )
    for name in ("logpdf", "logcdf", "logsf"):
        point, table = (getattr(stable, name)(x, a, b, method=m, **SERIAL) for m in ("quadrature", "table"))
        same = (point == table) | np.isnan(point) & np.isnan(table)
        with np.errstate(invalid="ignore"):
            error = np.where(same, 0.0, np.abs(table - point) / (1 + np.abs(point)))
        assert error.max() < 1e-14, name  # observed 1.2e-15
    assert isinstance(stable.logpdf(0.3, a, b, method="table"), np.float64)
    out = np.empty(x.size)
    assert stable.logpdf(x, a, b, method="table", out=out) is out
    same = stable.logpdf(x, a, b, 0.5, 2.0, method="table", param="S1")
    np.testing.assert_allclose(same, stable.logpdf(x, a, b, 0.5, 2.0, method="quadrature", param="S1"), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("a, b", [(0.1, 0.0), (0.3, 0.7), (0.5, -0.4), (0.85, 0.0)])
@pytest.mark.filterwarnings("ignore:.*overflow encountered:RuntimeWarning")  # of the simulator's scalars
def test_tables_reach_the_largest_doubles(a, b, device):
    """The first term of the series at infinity; |x| over the width of the peak is beyond the doubles, which gave 0."""
    x = np.array([1e290, 1e295, 1e305, 1.7e308])
    tail = math.gamma(a) * math.sin(0.5 * math.pi * a) / math.pi * x**-a
    for side, function in ((1, "sf"), (-1, "cdf")):
        got = getattr(stable, function)(side * x, a, b, method="table", **device)
        np.testing.assert_allclose(got, (1 + side * b) * tail, rtol=5e-13)  # observed 1e-13; x^-a is good to 5e-14
        log_density = stable.logpdf(side * x, a, b, method="table", **device)
        np.testing.assert_allclose(log_density, np.log((1 + side * b) * tail * a) - np.log(x), rtol=1e-14)
    np.testing.assert_array_equal(stable.cdf([-INF, INF], a, b, method="table", **device), [0.0, 1.0])


@pytest.mark.parametrize("b", [1.0, -1.0])
@pytest.mark.parametrize("a", [0.3, 0.5, 0.85])
def test_tables_at_the_end_of_the_support(a, b, device):
    x = np.array([0.0, -0.0])
    for method in ("table", "quadrature"):
        cdf, sf = (f(x, a, b, param="S1", method=method, **device) for f in (stable.cdf, stable.sf))
        assert (cdf == (b < 0)).all() and (sf == (b > 0)).all()
        logs = [f(x, a, b, param="S1", method=method, **device) for f in (stable.logcdf, stable.logsf)]
        assert (logs[b > 0] == 0).all() and (logs[b < 0] == -INF).all()


def test_ctrl_c_while_tables_are_made():
    """Numba makes arrays that a kernel returns by running Python, where the signal ended as a SystemError, 8 times in 10."""
    x = np.linspace(-5.0, 5.0, 500)
    stable.pdf(x, 1.3, 0.3, **SERIAL)
    for trial in range(6):
        threading.Timer(0.05 + 0.01 * trial, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            for k in range(10**9):  # until the signal comes
                stable.pdf(x, 1.1 + 1e-4 * (k % 5000) + 1e-6 * trial, 0.3, **SERIAL)


@pytest.mark.slow
def test_tables_with_more_coefficients(tmp_path):
    """Sizes follow the constants: with 16 coefficients tables were 0 and infinite, and the certificate 4e-14."""
    shutil.copytree(Path(stable.__file__).parents[1], tmp_path / "numbastats", ignore=shutil.ignore_patterns("__pycache__"))
    source = tmp_path / "numbastats" / "stable" / "kernels" / "tables.py"
    text = source.read_text(encoding="utf-8")
    assert "\nCOEFFICIENTS = 14 " in text
    source.write_text(text.replace("\nCOEFFICIENTS = 14 ", "\nCOEFFICIENTS = 16 "), encoding="utf-8")
    code = """if True:
        import numpy as np, numbastats as ns
        from numbastats.stable import table_cache
        table = table_cache.table(1.5, 0.3)
        assert table.panels[0].shape[1] == 20, table.panels[0].shape
        assert table.certificate < 1e-13, table.certificate
        x = np.linspace(-30.0, 30.0, 301)
        by_table, by_point = (ns.stable.logpdf(x, 1.5, 0.3, method=m, workers=1) for m in ("table", "quadrature"))
        assert abs(by_table - by_point).max() < 1e-13, abs(by_table - by_point).max()
    """
    env = os.environ | dict(PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    subprocess.run([sys.executable, "-c", code], check=True, env=env, cwd=tmp_path, timeout=600)
