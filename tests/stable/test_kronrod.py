"""Gauss-Kronrod rules against QUADPACK's printed values and exact integrals."""

from __future__ import annotations

import numpy as np
import pytest

from numbastats.stable.kernels.kronrod import kronrod

# Nodes and weights of the 15-point rule as QUADPACK (qk15) prints them, from the outermost to 0.
NODES = [
    0.991455371120812639206854697526329,
    0.949107912342758524526189684047851,
    0.864864423359769072789712788640926,
    0.741531185599394439863864773280788,
    0.586087235467691130294144691258838,
    0.405845151377397166906606412076961,
    0.207784955007898467600689403773245,
    0.0,
]
WEIGHTS = [
    0.022935322010529224963732008058970,
    0.063092092629978553290700663189204,
    0.104790010322250183839876322541518,
    0.140653259715525918745189590510238,
    0.169004726639267902826583426598550,
    0.190350578064785409913256402421014,
    0.204432940075298892414161999234649,
    0.209482141084727828012999174891714,
]


def test_the_rule_of_15_points_is_quadpacks():
    nodes, weights, gauss = kronrod(7)
    np.testing.assert_allclose(nodes, [*(-v for v in NODES[:-1]), *NODES[::-1]], atol=3e-16)  # observed 2.2e-16
    np.testing.assert_allclose(weights, [*WEIGHTS[:-1], *WEIGHTS[::-1]], rtol=3e-14)
    x, w = np.polynomial.legendre.leggauss(7)
    np.testing.assert_allclose(nodes[gauss > 0], x, atol=1e-15)
    np.testing.assert_allclose(gauss[gauss > 0], w, rtol=1e-15)


@pytest.mark.parametrize("n", [7, 15])
def test_rules_integrate_polynomials(n):
    """Exactly up to the degree 3n + 1."""
    nodes, weights, _ = kronrod(n)
    for degree in range(0, 3 * n + 2, 2):
        assert weights @ nodes**degree == pytest.approx(2.0 / (degree + 1), rel=1e-13), degree
