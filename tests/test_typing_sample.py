"""The script that shows mypy the public surface also runs."""

from __future__ import annotations

import numpy as np
import pytest

from tests import typing_sample


@pytest.mark.parametrize("name", ["draws", "options", "stable_distributions", "densities", "mixtures", "quantiles"])
def test_the_sample_runs(name):
    function = getattr(typing_sample, name)
    x = np.random.default_rng(1).gamma(3.0, size=400)
    function(*{"draws": (), "options": (), "quantiles": (x / 100,)}.get(name, (x,)))
