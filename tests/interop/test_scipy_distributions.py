"""Fits of the drop-ins: ours, in SciPy's parameters, against SciPy's likelihoods and its own search from our answer."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.stats

from numbastats import distributions, interop
from numbastats._core.errors import ConvergenceWarning

X = scipy.stats.norminvgauss.rvs(1.5, 0.4, loc=2.0, scale=3.0, size=200, random_state=1)


@pytest.mark.parametrize("name", ["norm", "t", "norminvgauss"])
def test_fits_are_those_of_scipy_from_there(name):
    ours, peer = getattr(interop, name), getattr(scipy.stats, name)
    found = ours.fit(X)
    assert len(found) == ours.numargs + 2 and all(type(v) is float for v in found)
    np.testing.assert_allclose(found, peer.fit(X, *found[:-2], loc=found[-2], scale=found[-1]), rtol=1e-3, atol=1e-3)


def test_generalised_hyperbolic_fits():
    """With p = -1/2 they are those of the normal inverse Gaussian distribution."""
    p, *found = interop.genhyperbolic.fit(X, fp=-0.5)
    assert p == -0.5
    np.testing.assert_allclose(found, interop.norminvgauss.fit(X), rtol=1e-4)


def test_fits_do_not_depend_on_units():
    """SciPy's search ended at df = 1.99 for data times 1e-6."""
    x = scipy.stats.t.rvs(4.0, size=300, random_state=2)
    df, loc, scale = interop.t.fit(x)
    np.testing.assert_allclose(interop.t.fit(1e-6 * x), (df, 1e-6 * loc, 1e-6 * scale), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "options", "known"),
    [
        ("t", {"f0": 4.0}, {0: 4.0}),
        ("t", {"fix_df": 4.0, "fscale": 2.0}, {0: 4.0, 2: 2.0}),
        ("norm", {"floc": 1.0}, {0: 1.0}),
        ("norminvgauss", {"floc": 2.0}, {2: 2.0}),
        ("norminvgauss", {"fa": 1.2, "fscale": 2.5}, {0: 1.2, 3: 2.5}),
        ("norminvgauss", {"f1": 0.3, "fscale": 2.5}, {1: 0.3, 3: 2.5}),
        ("genhyperbolic", {"fp": 0.7}, {0: 0.7}),
    ],
)
def test_known_values(name, options, known):
    """The others are a maximum of SciPy's likelihood."""
    ours, peer = getattr(interop, name), getattr(scipy.stats, name)
    found = np.array(ours.fit(X, **options))
    np.testing.assert_allclose(found[list(known)], list(known.values()), rtol=1e-14)
    for i in set(range(len(found))) - set(known):
        for step in (-0.03, 0.03):
            moved = found.copy()
            moved[i] += step * max(abs(moved[i]), 0.1)
            assert peer.nnlf(tuple(moved), X) > peer.nnlf(tuple(found), X)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # in SciPy
def test_truncated_normal_fits_are_those_of_scipy():
    """Ours started at a = b = 1, and raised RuntimeError without a message."""
    x = np.linspace(-0.9, 0.9, 50)
    assert interop.truncnorm.fit(x) == scipy.stats.truncnorm.fit(x)
    assert interop.truncnorm.fit(x, fa=-1.0, fb=1.0) == scipy.stats.truncnorm.fit(x, fa=-1.0, fb=1.0)
    with pytest.raises(scipy.stats.FitError, match="fa=, fb=, floc=, fscale="):
        interop.truncnorm.fit(x, fa=3.0, fb=1.0)


def test_what_fits_refuse_or_say():
    for options, text in (({"fa": 1.0, "f0": 1.0}, "several values for a"), ({"fq": 1.0}, "'fq'.*fa, f0, fix_a")):
        with pytest.raises(TypeError, match=text):
            interop.norminvgauss.fit(X, **options)
    with pytest.raises(ValueError, match="NaN or inf"):
        interop.t.fit([1.0, 2.0, np.nan])
    with pytest.warns(ConvergenceWarning, match="equal"), pytest.raises(scipy.stats.FitError, match="equal"):
        interop.t.fit(np.ones(5))
    with pytest.warns(
        ConvergenceWarning, match="rises to a limit, the inverse_gaussian|rises to a limit, the normal|without a maximum"
    ):
        interop.norminvgauss.fit([0.0, 1.0, 10.0, 10.1, 10.2, 10.05])
    # what is SciPy's: moments, and a held without the scale
    loc, scale = interop.norm.fit(X, method="MM")
    assert loc == pytest.approx(X.mean(), rel=1e-4) and scale == pytest.approx(X.std(), rel=1e-4)
    assert pickle.loads(pickle.dumps(interop.t)) is interop.t


def test_masks_are_refused_and_no_skewness_is_ours():
    with pytest.raises(TypeError, match="masked"):
        interop.norm.fit(np.ma.array([1.0, 2.0, 3.0, 100.0], mask=[0, 0, 0, 1]))
    found = interop.norminvgauss.fit(X, fb=0)
    assert found[1] == 0.0 and scipy.stats.norminvgauss.logpdf(X, *found).sum() == pytest.approx(
        distributions.fit(X, "nig", fixed={"beta": 0.0}).loglik, rel=1e-9
    )
    with pytest.raises(TypeError, match="2 start values for the shapes, which are df"):
        interop.t.fit(X, 1.0, 2.0)


def test_lazy_arrays_are_refused():
    """They were computed whole, without a word."""
    lazy = pytest.importorskip("dask.array").from_array(np.linspace(0.1, 0.9, 4), chunks=2)
    for call in (interop.t(4.0).cdf, lambda x: interop.truncnorm.pdf(x, -1, 1), lambda q: interop.norm.ppf(q=q)):
        with pytest.raises(TypeError, match="dask array.*map_blocks"):
            call(lazy)
