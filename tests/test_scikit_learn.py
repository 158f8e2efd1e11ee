"""scikit-learn's own checks of every estimator, one by one; which of them fail, and why, is written down."""

from __future__ import annotations

import warnings

import pytest

import numbastats as ns

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

WEIGHTED = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
COLUMNS = "the check indexes columns of the 1-d array that it makes for estimators of one feature"
FAILURES = {
    ns.kde.KDE: {"check_fit1d": "samples (n,) are samples in one dimension"},
    ns.kde.KDEClassifier: {"check_fit1d": "samples (n,) are samples in one dimension"},
    ns.bayes.HorseshoeClassifier: dict.fromkeys(WEIGHTED, "the posterior is the same, its draws are others"),
    ns.bayes.HorseshoeRegression: dict.fromkeys(WEIGHTED, "the posterior is the same, its draws are others"),
    ns.mixture.MixtureDiscriminantAnalysis: {WEIGHTED[0]: "weights of 0 leave a class one distinct row, which has no covariance"},
    ns.mixture.Mixture: {"check_fit1d": "1-d data are the usual ones here", "check_array_api_input": "not asked for"}
    | dict.fromkeys(
        [
            "check_dont_overwrite_parameters",
            "check_n_features_in_after_fitting",
            "check_f_contiguous_array_estimator",
            "check_methods_sample_order_invariance",
            "check_methods_subset_invariance",
            "check_fit2d_1sample",
            "check_fit2d_1feature",
            "check_dict_unchanged",
            "check_n_features_in",
            "check_fit2d_predict1d",
            "check_estimator_sparse_array",
            "check_dtype_object",
        ],
        COLUMNS,
    )
    | dict.fromkeys(
        ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
        "two features whatever the tags say",
    ),
}
FEW = dict(chains=2, warmup=100, draws=100, rng=1)
ESTIMATORS = [
    ns.kde.KDE(sigma="identity", h=2.0),  # one check has 27 samples in 30 dimensions, whose covariance is singular
    ns.kde.KDEClassifier(sigma="identity", h=1.0),
    ns.mixture.Mixture(1, family="normal", rng=0),
    ns.mixture.MixtureDiscriminantAnalysis(rng=0, min_count=1.0),  # checks have classes of a few samples
    ns.bayes.BayesProbit(**FEW),
    ns.bayes.HorseshoeProbit(**FEW),
    ns.bayes.HorseshoeClassifier(**FEW),
    ns.bayes.HorseshoeRegression(**FEW),
]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of estimators that do not inherit from scikit-learn's
    checks = parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: FAILURES.get(type(estimator), {}))


@checks
def test_checks(estimator, check):
    """Strict: a check of the list that passes fails the test."""
    check(estimator)
