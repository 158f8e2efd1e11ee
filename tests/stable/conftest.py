"""The reference table."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.conftest import REFERENCE


@pytest.fixture(scope="module")
def rows():
    """Columns alpha, beta, x, x_S1, pdf, cdf, sf, logpdf of the reference table, as doubles."""
    with open(REFERENCE / "stable_reference_public.csv") as f:
        table = list(csv.DictReader(f))
    return {k: np.array([float(r[k]) for r in table]) for k in ("alpha", "beta", "x", "x_S1", "pdf", "cdf", "sf", "logpdf")}
