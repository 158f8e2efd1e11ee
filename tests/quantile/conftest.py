"""Fixtures of the tests of `quantile`."""

from __future__ import annotations

import pytest

from numbastats.quantile import QuantileTable
from tests.quantile.naive import logistic


@pytest.fixture(scope="module")
def table():
    return QuantileTable(logistic)
