"""The class `Stable`, and results of fits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import numbastats as ns
from numbastats import stable
from tests.contract import same
from tests.stable.naive import INF, NAN, draw

fit = ns.stable.fit


class TestFrozen:
    def test_methods_are_the_functions(self):
        law = stable.Stable(1.6, -0.4, 0.5, 2.0, "S1")
        parameters = (1.6, -0.4, 0.5, 2.0)
        x = np.array([-1.0, 0.0, 3.0])
        for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
            assert same(getattr(law, name)(x), getattr(stable, name)(x, *parameters, param="S1"))
        assert same(law.rvs(5, rng=1), stable.rvs(*parameters, 5, rng=1, param="S1"))
        assert law.cdf(law.median()) == pytest.approx(0.5, rel=1e-13)
        with pytest.raises(AttributeError):
            law.alpha = 1.0

    def test_moments_and_support(self):
        assert stable.Stable(2.0, 0.0, 1.0, 3.0).var() == 18.0 and stable.Stable(1.5, 0.5).var() == INF
        assert math.isnan(stable.Stable(0.9, 0.0).var()) and math.isnan(stable.Stable(1.0, 0.0).mean())
        law = stable.Stable(1.5, 0.5)
        assert law.mean() == pytest.approx(-0.5 * math.tan(0.75 * math.pi))
        end = stable.Stable(0.5, 1.0).support()
        assert end == (pytest.approx(-1.0), INF) and stable.Stable(0.5, -1.0).support()[1] == pytest.approx(1.0)
        assert stable.Stable(1.5, 1.0).support() == (-INF, INF)

    def test_characteristic_function(self):
        for a, b in ((0.6, 0.7), (1.0, -0.4), (1 + 1e-9, 0.5), (1.7, 0.2)):
            law = stable.Stable(a, b, 0.4, 1.7)
            x = law.rvs(400_000, rng=3)
            for t in (-0.6, 0.3, 1.0):
                assert abs(np.exp(1j * t * x).mean() - law.characteristic_function(t)) < 4 / math.sqrt(x.size)

    @pytest.mark.parametrize("bad", [(0.0, 0.0), (2.5, 0.0), (1.5, 2.0), (1.5, 0.0, 0.0, -1.0), (NAN, 0.0), (1.5, 0.0, INF)])
    def test_bad_parameters(self, bad):
        with pytest.raises(ValueError, match="is outside"):
            stable.Stable(*bad)

    def test_one_distribution(self):
        with pytest.raises(TypeError, match="not a number"):
            stable.Stable([1.5, 1.6], 0.0)


def test_frozen_laws_at_the_ends_of_the_range(recwarn):
    wide, narrow = stable.Stable(2.0, 0.0, 0.0, 1e200), stable.Stable(2.0, 0.0, 0.0, 1e-200)
    assert wide.var() == INF and wide.std() == pytest.approx(math.sqrt(2) * 1e200, rel=1e-15)
    assert narrow.std() == pytest.approx(math.sqrt(2) * 1e-200, rel=1e-15)
    assert stable.Stable(1.9, 0.0, 0.0, 1e300).tail_coefficients() == (INF, INF)
    assert stable.Stable(1.0, 1.0).mean() == INF and stable.Stable(1.0, -1.0).mean() == -INF  # one tail is light
    for a in (0.5, 1.0, 1.5, 2.0):
        law = stable.Stable(a, 0.5, 0.3)
        assert law.characteristic_function([1e200, -1e308, INF, 0.0]).tolist() == [0.0, 0.0, 0.0, 1.0]
        left, right = law.tail_coefficients()
        if a < 2.0:
            assert law.sf(1e30) == pytest.approx(right * 1e30**-a, rel=5e-14)
            assert law.cdf(-1e30) == pytest.approx(left * 1e30**-a, rel=5e-14)
    assert stable.convert(1.0 + 1e-15, 1.0, 0.0, 1e300, to="S1")[2] == INF
    assert not recwarn.list


def test_results_can_be_compared():
    """NumPy's ambiguous truth value before."""
    a, b = fit(draw(1.5, 0.0, 50)), fit(draw(1.5, 0.0, 50))
    assert a == a and (a == b) in (True, False) and a != 1
    many = ns.stable.fit_many([draw(1.5, 0.0, 50)])
    assert many == many and (many == ns.stable.fit_many([draw(1.5, 0.0, 50)])) in (True, False)
