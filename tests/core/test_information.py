"""Standard errors from information: inverses, where there are none, and the delta method."""

from __future__ import annotations

import math

import numpy as np
import pytest

from numbastats._core.information import carried, in_units, inverse, placed, standard_errors, unit_moves
from numbastats._core.status import Status
from numbastats.distributions.kernels.fits import FINISH, MISSING, NUMBERS, PASSES, VALUES


def definite(p, count, seed=0):
    """Positive definite matrices whose parameters have units from 1e-4 to 1e4."""
    rng = np.random.default_rng(seed)
    roots, units = rng.normal(size=(count, p, p + 3)), 10.0 ** rng.uniform(-4.0, 4.0, p)
    return roots @ np.swapaxes(roots, 1, 2) * units[:, None] * units


def jitted(info, free):
    n, p = info.shape[:2]
    cov, se, counts = np.empty(info.shape), np.empty((n, p)), np.empty((n, 3), np.int64)
    numbers, ended = np.arange(n * NUMBERS, dtype=float).reshape(n, -1), np.zeros(n, np.int64)
    FINISH.serial(np.ascontiguousarray(info), np.array(free), numbers, ended, cov, se, counts)
    np.testing.assert_array_equal(se, standard_errors(cov))
    np.testing.assert_array_equal(counts, numbers[:, [PASSES, VALUES, MISSING]])
    ended[:] = Status.BOUND
    others = np.empty(info.shape), np.empty((n, p))
    FINISH.serial(np.ascontiguousarray(info), np.array(free), numbers, ended, *others, counts)
    assert all(np.isnan(a).all() for a in others)
    return cov


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_inverses_of_both_forms(p):
    """Against LAPACK in units, and against each other: the same rule and the same numbers."""
    info = definite(p, 40)
    units = np.sqrt(np.diagonal(info, axis1=1, axis2=2)).mean(axis=0)
    want = np.linalg.inv(info / units / units[:, None])
    for found in (inverse(info), inverse(info, units), np.array([inverse(one) for one in info]), jitted(info, [True] * p)):
        assert np.array_equal(found, np.swapaxes(found, 1, 2))
        size = np.sqrt(np.einsum("...ii->...i", want))
        off = (found * units * units[:, None] - want) / size[:, None, :] / size[:, :, None]
        assert np.abs(off).max() < 1e-13  # observed 1e-14


def test_what_is_not_positive_definite_has_no_covariance():
    info = definite(3, 4)
    info[1] = -info[1]  # indefinite
    info[2, 2] = info[2, :, 2] = info[2, 1] * (1.0 + 1e-15)  # singular but for rounding
    info[2, 2, 2] = info[2, 1, 1] * (1.0 + 2e-15)
    info[3, 0, 0] = math.nan
    for found in (inverse(info), jitted(info, [True] * 3)):
        assert np.isfinite(found[0]).all() and np.isnan(found[1:3]).all()
    assert np.isnan(inverse(info)[3]).all() and np.isnan(inverse(info[3])).all()
    known = jitted(info, [True] * 3)[3]  # a parameter without information of its own is taken as known
    assert np.isnan(known[0]).all() and np.allclose(known[1:, 1:], inverse(info[3, 1:, 1:]), rtol=1e-10)
    fixed = jitted(info[:1], [True, False, True])[0]
    assert (fixed[1] == 0.0).all() and np.allclose(fixed[::2, ::2], inverse(info[0][::2, ::2]), rtol=1e-10)


def test_the_delta_method():
    cov = inverse(definite(3, 2))
    slopes = np.random.default_rng(1).normal(size=(2, 4, 3))
    for one, J, found in zip(cov, slopes, carried(cov, slopes), strict=True):
        np.testing.assert_allclose(found, [[a @ one @ b for b in J] for a in J], rtol=1e-9, atol=1e-12 * np.abs(found).max())
        assert np.array_equal(found, found.T)
        root = unit_moves(one)
        np.testing.assert_allclose(root @ root.T, one, rtol=1e-12, atol=1e-14 * np.abs(one).max())
    units = np.array([2.0, -3.0, 1e-200])
    np.testing.assert_array_equal(standard_errors(cov, units), np.sqrt(np.einsum("kii->ki", cov)) * np.abs(units))
    np.testing.assert_allclose(in_units(cov, units)[:, 0, 1], -6.0 * cov[:, 0, 1])
    whole = placed(cov[0][:2, :2], [0, 2], 3)
    assert np.array_equal(np.isnan(whole).any(axis=0), [True] * 3) and whole[0, 2] == cov[0, 0, 1]
    assert np.isnan(standard_errors(np.diag([1.0, -1e-30]))).tolist() == [False, True]
