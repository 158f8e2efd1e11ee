"""The classifier with a mixture for each class."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import numbastats as ns
from tests.mixture.multivariate import naive


def of_classes():
    """Class "b" has two clusters, and "a" is between them."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(450, 2))
    x[:150] += 2.5
    x[150:300] += 5.0
    y = np.repeat(["a", "b"], [150, 300])
    order = rng.permutation(450)
    return x[order], y[order]


def test_probabilities_are_those_of_the_mixtures():
    x, y = of_classes()
    model = ns.mixture.MixtureDiscriminantAnalysis(rng=0).fit(x, y)
    assert model.classes_.tolist() == ["a", "b"] and model.result_["b"].n_components == 2 and model.result_["a"].n_components == 1
    assert (model.status_ == 0).all() and model.priors_.tolist() == [1 / 3, 2 / 3]
    joint = np.stack(
        [
            p * np.exp(naive.log_densities(x, f.means, f.covariances)) @ f.weights
            for p, f in zip(model.priors_, model.result_, strict=True)
        ],
        axis=1,
    )
    np.testing.assert_allclose(model.predict_proba(x), joint / joint.sum(axis=1)[:, None], rtol=1e-9, atol=1e-12)
    assert (model.predict(x) == model.classes_[joint.argmax(axis=1)]).all() and model.score(x, y) > 0.85
    same = ns.mixture.fit(x[y == "b"], (1, 2, 3), covariance=model.covariance, rng=0, dataset_index=1)
    assert same.loglik == model.result_["b"].loglik and same.covariance == str(model.result_.models[1])


def test_one_full_component_is_quadratic_discriminant_analysis():
    x, y = of_classes()
    w = np.random.default_rng(2).integers(1, 4, len(x)).astype(float)
    model = ns.mixture.MixtureDiscriminantAnalysis(1, covariance="full", priors={"b": 1.0, "a": 3.0}).fit(x, y, w)
    joint = []
    for name, prior in (("a", 0.75), ("b", 0.25)):
        part, own = x[y == name], w[y == name]
        cov = np.cov(part.T, aweights=own, bias=True)
        joint.append(np.log(prior) + scipy.stats.multivariate_normal(np.average(part, axis=0, weights=own), cov).logpdf(x))
    joint = np.stack(joint, axis=1)
    want = joint - np.logaddexp.reduce(joint, axis=1)[:, None]
    np.testing.assert_allclose(model.predict_log_proba(x), want, rtol=1e-9, atol=1e-12)
    far = model.predict_proba([[1e200, 0.0]])
    np.testing.assert_allclose(far, [[0.75, 0.25]], rtol=1e-15)


def test_frames_one_column_and_refusals():
    pandas = pytest.importorskip("pandas")
    x, y = of_classes()
    frame = pandas.DataFrame(x, columns=["u", "v"])
    model = ns.mixture.MixtureDiscriminantAnalysis(1, rng=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["u", "v"] and model.result_["a"].columns == ("u", "v")
    with pytest.raises(ValueError, match="columns"):
        model.predict(frame[["v", "u"]])
    assert ns.mixture.MixtureDiscriminantAnalysis(rng=0).fit(x[:, :1], y).predict(x[:, :1]).shape == (450,)
    with pytest.raises(ValueError, match="class 'c' cannot be fitted: too few values"):
        ns.mixture.MixtureDiscriminantAnalysis().fit(np.concatenate([x, x[:2]]), np.concatenate([y, ["c", "c"]]))
    with pytest.raises(ValueError, match="priors are for"):
        ns.mixture.MixtureDiscriminantAnalysis(1, priors={"a": 1.0}).fit(x, y)
    x[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        ns.mixture.MixtureDiscriminantAnalysis().fit(x, y)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_refused(missing):
    x, y = of_classes()
    with pytest.raises(ValueError, match="missing labels"):
        ns.mixture.MixtureDiscriminantAnalysis(rng=0).fit(x, np.array([missing, *y[1:]], object))
