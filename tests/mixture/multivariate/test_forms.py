"""The models whose components have volumes, shapes or axes in common: optima, errors, nesting, equivariance, refusals."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.optimize

import numbastats as ns
from numbastats.mixture.multivariate import engine, fitting, information
from numbastats.mixture.multivariate.arguments import fit_options, one_table
from numbastats.mixture.multivariate.covariances import MODELS, models_of

from . import naive

FORMS = "EVI", "VEI", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV"
COUNTS = {
    "EII": lambda K, d: 1,
    "VII": lambda K, d: K,
    "EEI": lambda K, d: d,
    "EVI": lambda K, d: 1 + K * (d - 1),
    "VEI": lambda K, d: K + d - 1,
    "VVI": lambda K, d: K * d,
    "EEE": lambda K, d: d * (d + 1) // 2,
    "VEE": lambda K, d: K + d * (d + 1) // 2 - 1,
    "EVE": lambda K, d: 1 + K * (d - 1) + d * (d - 1) // 2,
    "VVE": lambda K, d: K * d + d * (d - 1) // 2,
    "EEV": lambda K, d: d + K * d * (d - 1) // 2,
    "VEV": lambda K, d: K + d - 1 + K * d * (d - 1) // 2,
    "EVV": lambda K, d: 1 + K * (d * (d + 1) // 2 - 1),
    "VVV": lambda K, d: K * d * (d + 1) // 2,
}
"""Of G. Celeux and G. Govaert (Pattern Recognition 28, 1995), table 1."""


def letters_of(name):
    return MODELS[name].letters


def fit(x, K, letters, **options):
    return ns.mixture.fit(x, K, covariance=letters, rng=0, **options)


@pytest.fixture(scope="module")
def rows():
    return {d: naive.blobs(seed, n, d, 2) for d, n, seed in ((2, 150, 1), (3, 220, 3))}


@pytest.mark.parametrize("letters", FORMS)
@pytest.mark.parametrize("d", [2, 3])
def test_fits_are_optima_of_an_explicit_parametrisation(rows, letters, d):
    x, found = rows[d], fit(rows[d], 2, letters)
    assert found.status == 0
    theta = naive.parameters_of_model(found.weights, found.means, found.covariances, letters)
    assert found.n_free == theta.size
    back = naive.model_of(theta, 2, d, letters)
    assert found.covariances == pytest.approx(back[2], rel=1e-9, abs=1e-12)
    assert naive.loglik(x, *back) == pytest.approx(found.loglik, rel=1e-12)
    there = theta + 0.02 * np.random.default_rng(1).normal(size=theta.size)
    best = scipy.optimize.minimize(lambda t: -naive.loglik(x, *naive.model_of(t, 2, d, letters)), there, tol=1e-7)
    assert -best.fun == pytest.approx(found.loglik, abs=1e-5)


@pytest.mark.parametrize("letters", FORMS)
def test_standard_errors_are_those_of_free_parameters(rows, letters):
    x, w = rows[3], np.random.default_rng(2).integers(1, 3, len(rows[3])).astype(float)
    found = fit(x, 2, letters, weights=w, se=True, cov=True)
    plain, robust = naive.errors_of_model(x, found.weights, found.means, found.covariances, letters, w)
    assert found.covariance_of_estimates == pytest.approx(plain, rel=1e-4, abs=1e-6 * np.abs(plain).max())
    again = fit(x, 2, letters, weights=w, se="sandwich", cov=True)
    assert again.covariance_of_estimates == pytest.approx(robust, rel=1e-4, abs=1e-6 * np.abs(robust).max())


@pytest.mark.parametrize("seed", [3, 5])  # with seed 3 climbs from likelier fits within leave what is admissible
def test_models_are_ordered_by_what_they_contain_and_have_their_parameters(seed):
    x = naive.blobs(seed, 300 if seed == 3 else 120, 2 if seed == 3 else 3, 3, apart=1.0)
    d = x.shape[1]
    found = ns.mixture.fit(x, (1, 2, 3), covariance="all", rng=0)
    table = found.selection
    tried = list(zip(table["n_components"].tolist(), table["covariance"].tolist(), strict=True))
    logliks, frees = dict(zip(tried, table["loglik"], strict=True)), dict(zip(tried, table["n_free"], strict=True))
    assert len(logliks) == 3 * 14
    status = dict(zip(tried, table["status"].tolist(), strict=True))
    assert sum(one == 0 for one in status.values()) > 36
    for (K, name), n_free in frees.items():
        assert n_free == K - 1 + d * K + COUNTS[letters_of(name)](K, d)
        for inner in MODELS[name].within():
            if status[K, inner] == 0 and status[K, name] in (0, 13):
                assert logliks[K, inner] <= logliks[K, name] + 1e-6


def test_the_lattice_is_that_of_the_letters():
    """A model contains another where each part has as much freedom: E within V, I within both."""

    def freer(a, b):  # of volume, shape, axes
        order = ("EV", "IEV", "IEV")
        return all(of.index(one) <= of.index(other) for one, other, of in zip(a, b, order, strict=True))

    for a, b in itertools.permutations(MODELS.values(), 2):
        assert (a.name in b.within()) == freer(a.letters, b.letters), (a.letters, b.letters)
    assert [m.letters for m in models_of(["VVV", "EII", "EEV"])] == ["EII", "EEV", "VVV"]
    assert set(MODELS["full"].widest_within(["tied-spherical", "EEV", "tied", "diag"])) == {"EEV", "diag"}


@pytest.mark.parametrize("letters", FORMS)
def test_one_component_has_closed_forms(rows, letters):
    like = {"I": "EEI", "E": "EEE", "V": "EEE"}[letters[2]]
    found, closed = fit(rows[3], 1, letters), fit(rows[3], 1, like)
    assert found.status == 0
    assert found.covariances == pytest.approx(closed.covariances, rel=1e-9)
    assert found.n_free == closed.n_free
    expected = np.cov(rows[3].T, bias=True) * (np.eye(3) if letters[2] == "I" else 1.0)
    assert found.covariances[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("letters", ["VEE", "EVV"])
def test_forms_without_axes_of_their_own_know_no_linear_maps(rows, letters):
    x = rows[3]
    A, b = np.array([[2.0, 0.3, 0.0], [-0.5, 1.0, 0.2], [40.0, 0.1, 30.0]]), np.array([1.0, -2.0, 300.0])
    plain, there = fit(x, 2, letters), fit(x @ A.T + b, 2, letters)
    assert there.loglik == pytest.approx(plain.loglik - len(x) * np.log(np.linalg.det(A)), rel=1e-9)


@pytest.mark.parametrize(("letters", "along"), [("EVE", "EVI"), ("VVE", "VVI")])
def test_common_axes_are_columns_of_rotated_rows(rows, letters, along):
    x = rows[3]
    found = fit(x, 2, letters)
    D = np.linalg.eigh(found.covariances[0])[1]
    assert fit(x @ D, 2, along).loglik == pytest.approx(found.loglik, abs=1e-7)
    turned = fit(x @ np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0], 2, letters)
    assert turned.loglik == pytest.approx(found.loglik, abs=1e-6)


@pytest.mark.parametrize("letters", ["EEV", "VEV"])
def test_own_axes_know_no_rotations(rows, letters):
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    found, turned = fit(rows[3], 2, letters), fit(rows[3] @ Q, 2, letters)
    assert turned.loglik == pytest.approx(found.loglik, abs=1e-6)
    assert np.sort(np.linalg.eigvalsh(found.covariances), axis=0) == pytest.approx(
        np.sort(np.linalg.eigvalsh(turned.covariances), axis=0), rel=1e-5
    )


@pytest.mark.parametrize("letters", FORMS)
def test_no_step_of_em_lowers_the_likelihood(rows, letters):
    x = rows[3]
    options = dataclasses.replace(fit_options("portfolio", None, 1e-9, 0.0, None, (0, 0), 1), key=(np.uint32(0), np.uint32(0)))
    table = one_table(x, None, "raise")
    p = engine.prepare(table.x, table.w, table.off, 0, options)
    model, labels = MODELS[letters].model(), (np.arange(len(x)) % 3 == 0).astype(int)
    start = fitting._started(p, naive.of_labels(x, labels, 2))
    logliks = []
    for left in range(2, 12):
        point = engine.taken(start, np.arange(1))
        logliks.append(engine.climbs(p, np.zeros(1, np.int64), model, point, options, left, 0, 0.0)["loglik"][0])
    assert np.diff(logliks).min() > -1e-9


def test_a_wreath_has_volumes_and_shapes_in_common():
    """As the data set "wreath" of C. Fraley and A. Raftery was made: long clusters, all alike, turned around a circle."""
    rng, K = np.random.default_rng(3), 5
    turn = 2.0 * np.pi * np.arange(K) / K
    axes = np.stack([np.cos(turn), np.sin(turn), -np.sin(turn), np.cos(turn)], axis=1).reshape(K, 2, 2)
    x = 8.0 * axes[:, 0] + np.einsum("nki,kij->nkj", rng.normal(size=(60, K, 2)) * [0.5, 2.0], axes)
    found = fit(x.reshape(-1, 2), K, ["EEE", "VEE", "EVE", "EEV", "VEV", "EVV", "VVV"])
    assert found.covariance == "EEV"
    assert found.status == 0
    assert np.linalg.eigvalsh(found.covariances) == pytest.approx(np.tile([0.25, 4.0], (K, 1)), rel=0.2)


def test_fits_of_irises_are_at_least_the_published_ones():
    """Of C. Fraley, A. Raftery, T. Murphy, L. Scrucca: mclust version 4 for R (Washington, technical report 597, 2012)."""
    x = pytest.importorskip("sklearn.datasets").load_iris().data
    table = fit(x, (2, 3), ["VEV", "VVV"]).selection
    found = {(K, name): -bic for K, name, bic in zip(table["n_components"], table["covariance"], table["bic"], strict=True)}
    assert found[2, "VEV"] == pytest.approx(-561.7285, abs=1e-4)
    assert found[2, "full"] == pytest.approx(-574.0178, abs=1e-4)
    assert -562.5522 < found[3, "VEV"] < -562.55


def test_batches_and_constraints(rows):
    x = np.stack([naive.blobs(seed, 100, 2, 2) for seed in range(4)])
    batch = ns.mixture.fit_many(x, 2, covariance="VEV", rng=0)
    one = ns.mixture.fit(x[0], 2, covariance="VEV", rng=0)
    assert batch.loglik[0] == one.loglik
    found = fit(rows[3], 2, "EEV", equal="weights", se=True)
    assert found.weights.tolist() == [0.5, 0.5]
    assert found.n_free == 6 + 3 + 6
    at = ns.mixture.fit(rows[3], 2, family=("normal", {"means": found.means}), covariance="EEV", equal="weights", se=True, rng=0)
    assert at.loglik == pytest.approx(found.loglik, abs=1e-6)
    assert (at.se["covariances"] < 1.2 * found.se["covariances"]).all()
    assert (at.se["means"] == 0.0).all()
    assert fit(rows[3], 2, "all", equal="covariance").covariance.startswith("tied")


def test_what_is_not_fitted_is_refused(rows, monkeypatch):
    x = rows[2].copy()
    x[::7, 0] = np.nan
    with pytest.raises(ValueError, match="'EEV' is not fitted to rows with missing values; use .*'tied-diag'.*'omit'"):
        fit(x, 2, ["full", "EEV"], nan_policy="marginal")
    every = fit(x, 2, "all", nan_policy="marginal")
    assert set(every.selection["covariance"]) == {"tied-spherical", "spherical", "tied-diag", "diag", "tied", "full"}
    found = fit(rows[2], 2, "full")
    sums = ns.mixture.partial_stats(rows[2], found.weights, found.means, found.covariances)
    with pytest.raises(ValueError, match="'VEV' has no step from sums"):
        ns.mixture.em_update(sums, found.weights, found.means, found.covariances, covariance="VEV")
    with pytest.raises(ValueError, match="VVE.*EEV.*VEV.*EVV"):
        fit(rows[2], 2, "VVX")
    with monkeypatch.context() as patch:
        patch.setattr(fitting, "choose_device", lambda *args, **more: "cuda")
        with pytest.raises(ValueError, match="'VVE' is not fitted on a GPU; use .*device='cpu'"):
            fit(rows[2], 2, "VVE")
    monkeypatch.setattr(information, "WHOLE", 5)  # parameters of which a certificate is made
    assert fit(rows[2], 2, "EEV").status not in (0, 13)
