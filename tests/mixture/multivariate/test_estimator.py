"""`Mixture` of several columns."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns
from tests.mixture.multivariate import naive


def test_the_estimator_has_the_fit():
    x = naive.blobs(3, 300, 3, 2)
    model = ns.mixture.Mixture((1, 2, 3), covariance="all", rng=0).fit(x)
    found = ns.mixture.fit(x, (1, 2, 3), covariance="all", rng=0)
    assert model.loglik_ == found.loglik and model.n_components_ == found.n_components and model.n_features_in_ == 3
    assert (model.means_ == found.means).all() and (model.covariances_ == found.covariances).all()
    assert (model.predict(x) == found.predict(x)).all() and model.predict_proba(x).shape == (300, 2)
    assert model.bic(x) == pytest.approx(found.bic) and model.aic(x) == pytest.approx(found.aic)
    assert model.score(x) == pytest.approx(found.loglik / 300) and model.lower_bound_ == pytest.approx(model.score(x))
    np.testing.assert_allclose(model.pdf(x), np.exp(model.score_samples(x)))
    assert model.sample(7, rng=1).shape == (7, 3)
    with pytest.raises(AttributeError, match="no cdf"):
        model.cdf(x)
    with pytest.raises(ValueError, match="3 columns"):
        model.predict(x[:, :2])


def test_weights_of_rows():
    x = naive.blobs(3, 200, 2, 2)
    w = np.random.default_rng(1).integers(0, 3, 200).astype(float)
    model = ns.mixture.Mixture(2, rng=0).fit(x, sample_weight=w)
    assert model.lower_bound_ == pytest.approx(model.loglik_ / w.sum())
    holes = np.vstack([x, [[np.nan, 1.0]]])
    again = ns.mixture.Mixture(2, rng=0).fit(holes, sample_weight=np.append(w, 5.0))
    assert again.lower_bound_ == pytest.approx(model.lower_bound_)


def test_rows_of_dask_are_fitted_as_fit_has_them():
    array = pytest.importorskip("dask.array")
    x = naive.blobs(3, 400, 2, 2)
    w = np.random.default_rng(1).integers(1, 3, 400).astype(float)
    rows, mass = array.from_array(x, chunks=(150, 2)), array.from_array(w, chunks=150)
    model = ns.mixture.Mixture(2, rng=0).fit(rows, sample_weight=mass)
    found = ns.mixture.fit(rows, 2, weights=mass, rng=0)
    assert model.loglik_ == found.loglik and model.lower_bound_ == found.loglik / w.sum() and found.n_obs == w.sum()
    assert (model.predict(rows).compute() == found.predict(x)).all()
