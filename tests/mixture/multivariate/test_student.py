"""Components of Student's t in several columns, beside SciPy's densities, quadrature and differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import numbastats as ns
from tests.mixture.multivariate import naive

MODELS = ["full", "tied", "diag", "spherical", "tied-diag", "tied-spherical"]


def heavy(seed=1, n=240, d=2, df=3.0):
    """Two clusters with heavy tails."""
    r = np.random.default_rng(seed)
    z = r.random(n) < 0.4
    shapes = np.where(z[:, None, None], 0.6 * np.eye(d), np.eye(d) + 0.4 * np.tri(d, k=-1))
    t = np.einsum("nij,nj->ni", shapes, r.normal(size=(n, d))) / np.sqrt(r.chisquare(df, n) / df)[:, None]
    return t + np.where(z[:, None], 5.0, 0.0)


X = heavy()


def log_terms(x, weights, means, scales, df, noise=None):
    """Logarithms of weight times density, of components and of noise as a pair of weight and volume."""
    each = [
        np.log(w) + scipy.stats.multivariate_t(m, S, df=v).logpdf(x)
        for w, m, S, v in zip(weights, means, scales, df, strict=True)
    ]
    each += [] if noise is None else [np.full(len(x), np.log(noise[0] / noise[1]))]
    return np.stack(each, axis=1)


def loglik(x, weights, means, scales, df, noise=None, w=1.0):
    return float(np.sum(w * np.logaddexp.reduce(log_terms(x, weights, means, scales, df, noise), axis=1)))


def fit(x=X, K=2, covariance="full", family="student_t", **options):
    return ns.mixture.fit(x, K, covariance=covariance, family=family, rng=0, **options)


def theta_of(found, noisy=False):
    """Weights (all of them beside noise), means, free entries of scales, and df."""
    base = naive.packed(found.weights, found.means, found.covariances, found.covariance)
    base = np.concatenate([found.weights, base[found.n_components - 1 :]]) if noisy else base
    return np.concatenate([base, np.unique(found.df)] if np.ptp(found.df) == 0.0 else [base, found.df])


def parts_of(theta, found, noisy=False):
    """The inverse: weights, means, scales, df, noise."""
    K, d = found.means.shape
    count = 1 if np.ptp(found.df) == 0.0 else K
    theta, df = theta[:-count], np.repeat(theta[-count:], K // count)
    weights, theta = (theta[:K], np.delete(theta, K - 1)) if noisy else (None, theta)
    read = naive.unpacked(theta, K, d, found.covariance)
    noise = (1.0 - weights.sum(), found.noise_volume) if noisy else None
    return (read[0] if weights is None else weights, *read[1:], df, noise)


def hessian(value, theta, step=2e-4):
    """By central differences of fourth order."""
    p = theta.size
    sizes = step * np.maximum(np.abs(theta), 0.1)
    out, E = np.empty((p, p)), np.diag(sizes)
    for i in range(p):
        for j in range(i + 1):
            total = 0.0
            for h, c in ((1.0, 16.0), (2.0, -1.0)):
                a, b = h * E[i], h * E[j]
                total += c * (value(theta + a + b) - value(theta + a - b) - value(theta - a + b) + value(theta - a - b)) / h**2
            out[i, j] = out[j, i] = total / (60.0 * sizes[i] * sizes[j])
    return out


def gradient(value, theta, step=1e-5):
    sizes = step * np.maximum(np.abs(theta), 0.1)
    return np.array([(value(theta + e) - value(theta - e)) / (2.0 * s) for e, s in zip(np.diag(sizes), sizes, strict=True)])


def errors_of(found, theta):
    """Standard errors in the order of `theta_of`, as far as the fit has them there."""
    K, d = found.means.shape
    low = np.tril_indices(d)
    free = {
        "full": lambda s: np.concatenate([c[low] for c in s]),
        "tied": lambda s: s[0][low],
        "diag": lambda s: np.concatenate([np.diag(c) for c in s]),
        "spherical": lambda s: s[:, 0, 0],
        "tied-diag": lambda s: np.diag(s[0]),
        "tied-spherical": lambda s: s[0, 0, :1],
    }[found.covariance](found.se["covariances"])
    head = found.se["weights"][: theta.size - K * d - free.size - (found.se["df"].size if np.ptp(found.df) else 1)]
    return np.concatenate([head, found.se["means"].ravel(), free, found.se["df"] if np.ptp(found.df) else found.se["df"][:1]])


@pytest.mark.parametrize("covariance", MODELS)
def test_fits_are_maxima_whose_errors_are_those_of_the_information(covariance):
    found = fit(covariance=covariance, se=True)
    assert found.status == 0 and found.decrement < 1e-12 and found.min_eig > 0.0 and found.family == "student_t"
    assert found.loglik == pytest.approx(loglik(X, found.weights, found.means, found.covariances, found.df), rel=1e-12)
    assert found.n_free == naive.free_parameters(2, 2, covariance) + 2
    theta = theta_of(found)

    def value(t):
        return loglik(X, *parts_of(t, found))

    H = hessian(value, theta)
    want = np.sqrt(np.diag(np.linalg.inv(-H)))
    assert np.abs(gradient(value, theta) * want).max() < 1e-5
    np.testing.assert_allclose(errors_of(found, theta), want, rtol=2e-4)


def test_equal_and_fixed_degrees_of_freedom():
    free, equal = fit(se=True), fit(equal="df", se=True)
    fixed = fit(family=("student_t", {"df": 4.0}))
    each = fit(family=("student_t", {"df": [None, 4.0]}))
    assert np.ptp(equal.df) == 0.0 and fixed.df.tolist() == [4.0, 4.0] and each.df[1] == 4.0 and each.df[0] != 4.0
    assert [f.n_free for f in (free, equal, fixed, each)] == [13, 12, 11, 12]
    assert free.loglik > equal.loglik > fixed.loglik - 1e-9 and free.loglik > each.loglik > fixed.loglik
    theta = theta_of(equal)
    want = np.sqrt(np.diag(np.linalg.inv(-hessian(lambda t: loglik(X, *parts_of(t, equal)), theta))))
    np.testing.assert_allclose(errors_of(equal, theta), want, rtol=2e-4)
    infinite = fit(family=("student_t", {"df": np.inf}))
    assert infinite.loglik == pytest.approx(ns.mixture.fit(X, 2, rng=0).loglik, rel=1e-10)


def test_em_climbs_and_takes_the_steps_of_the_expanded_model():
    """A fit of few steps never falls; a step of fixed df is that of J. Kent, D. Tyler and Y. Vardi."""
    from numbastats.mixture.multivariate import engine, student
    from numbastats.mixture.multivariate.covariances import MODELS as records

    options = engine.Options("hierarchical", None, 1e-9, None, None, heavy=student.Heavy(df=None))
    bare = engine.prepare(X, np.empty(0), np.array([0, len(X)]), 0, options)
    start = np.array([0.5, 0.5]), np.array([[-1.0, 0.0], [3.0, 4.0]]), np.stack([2.0 * np.eye(2)] * 2)

    def stepped(name, heavy, steps):
        p = student.with_tails(bare, heavy, np.zeros(1))
        points = engine.new_points(1, 2, 2)
        points.log_weights[:], points.heights[:] = np.log(start[0]), 4.0
        points.means[:, :, :2] = (start[1] - p.centre) * p.info["scale"]
        points.covariances[:, :, :2, :2] = start[2] * p.info["scale"] ** 2
        state = engine.climbs(p, np.zeros(1, int), records[name].model(), points, options, steps, 0, enough=-1.0)
        means = points.means[0, :, :2] / p.info["scale"] + p.centre
        return state["loglik"][0], np.exp(points.log_weights[0]), means, points.covariances[0, :, :2, :2] / p.info["scale"] ** 2

    for name in MODELS:
        for heavy in (student.Heavy(df=None), student.Heavy(df=None, equal=True), student.Heavy(df=(None, 3.0))):
            logs = [stepped(name, heavy, steps)[0] for steps in range(1, 30)]
            assert (np.diff(logs) > -1e-10).all() and logs[-1] > logs[0] + 10.0
    _, weights, means, scales = stepped("full", student.Heavy(df=4.0), 1)
    terms = log_terms(X, *start, [4.0, 4.0])
    r = np.exp(terms - np.logaddexp.reduce(terms, axis=1)[:, None])
    np.testing.assert_allclose(weights, r.mean(axis=0), rtol=1e-12)
    for k in range(2):
        away = X - start[1][k]
        ru = r[:, k] * 6.0 / (4.0 + np.sum(away**2, axis=1) / 2.0)
        m = ru @ X / ru.sum()
        np.testing.assert_allclose(means[k], m, rtol=1e-12)
        np.testing.assert_allclose(scales[k], ((X - m).T * ru) @ (X - m) / ru.sum(), rtol=1e-10)


def test_densities_are_those_of_scipy():
    found = fit()
    terms = log_terms(X, found.weights, found.means, found.covariances, found.df)
    np.testing.assert_allclose(found.logpdf(X), np.logaddexp.reduce(terms, axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.pdf(X[:5]), np.exp(found.logpdf(X[:5])), rtol=1e-14)
    r = np.exp(terms - np.logaddexp.reduce(terms, axis=1)[:, None])
    np.testing.assert_allclose(found.predict_proba(X), r, atol=1e-13)
    assert (found.predict(X) == r.argmax(axis=1)).all()
    with_hole = np.array([[np.nan, 1.0], [1e200, 1.0]])
    assert np.isnan(found.logpdf(with_hole)[0]) and np.isfinite(found.logpdf(with_hole)[1])
    assert found.predict(with_hole)[0] == -1 and np.isnan(found.predict_proba(with_hole)[0]).all()
    for part, m, S, v in zip(found.component_distributions, found.means, found.covariances, found.df, strict=True):
        np.testing.assert_allclose(part.pdf(X), scipy.stats.multivariate_t(m, S, df=v).pdf(X), rtol=1e-11)


def test_marginals_and_conditionals_by_quadrature():
    found = fit()
    marginal, conditional = found.marginal([1]), found.conditional({1: 2.5})
    assert isinstance(conditional, ns.mixture.StudentMixture) and (marginal.df == found.df).all()
    np.testing.assert_allclose(conditional.df, found.df + 1.0)

    def slice_at(b):
        return scipy.integrate.quad(lambda a: found.pdf([a, b]), -np.inf, np.inf, points=None, limit=400)[0]

    for b in (-3.0, 2.5, 9.0):
        assert slice_at(b) == pytest.approx(marginal.pdf([b]), rel=1e-6)
    for a in (-4.0, 1.0, 6.0):
        assert conditional.pdf([a]) == pytest.approx(found.pdf([a, 2.5]) / marginal.pdf([2.5]), rel=1e-10)
    far = found.conditional({1: 1e9})
    assert far.weights.sum() == pytest.approx(1.0) and np.isfinite(far.means).all()


def test_draws_and_moments():
    found = fit(family=("student_t", {"df": 5.0}))
    draws = found.rvs(200_000, rng=1)
    np.testing.assert_allclose(draws.mean(axis=0), found.mean(), atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), found.cov(), rtol=0.05)
    one = scipy.stats.multivariate_t(found.means[0], found.covariances[0], df=5.0)
    alone = found.component_distributions[0].rvs(4000, rng=2)
    other = one.rvs(4000, random_state=3)
    assert scipy.stats.ks_2samp(alone[:, 0], other[:, 0]).pvalue > 1e-3
    low = fit(family=("student_t", {"df": [1.0, 2.0]}))
    assert np.isnan(low.mean()).all() and np.isnan(low.cov()).all()


def test_one_column_is_fitted_as_in_one_dimension():
    """A column of the engine of several: the same maximum as that of one dimension."""
    from numbastats.mixture.multivariate.arguments import Rows
    from numbastats.mixture.multivariate.fitting import fit_rows

    x = X[:, 0]
    want = ns.mixture.fit(x, 2, family="student_t", se=True, rng=0)
    rows = Rows(x[:, None].copy(), np.empty(0), np.array([0, x.size]), (0,))
    found = fit_rows(rows, 2, df=None, min_count=2.5, se=True, rng=0)[0]
    assert found.status == want.status == 0 and found.loglik == pytest.approx(want.loglik, rel=1e-12)
    np.testing.assert_allclose(found.means[:, 0], want.centres, rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(found.covariances[:, 0, 0]), want.parameters["scale"], rtol=1e-6)
    np.testing.assert_allclose(found.df, want.parameters["df"], rtol=1e-5)
    np.testing.assert_allclose(found.se["df"], want.se["df"], rtol=1e-4)


def test_copies_are_weights_and_units_do_not_matter():
    w = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)
    one, copies = fit(weights=w), fit(np.repeat(X, w.astype(int), axis=0))
    assert one.loglik == copies.loglik and (one.df == copies.df).all() and (one.means == copies.means).all()
    A = np.array([[3.0, 1.0], [-2.0, 0.5]])
    plain, turned = fit(), fit(X @ A + [10.0, -4.0])
    assert turned.loglik == pytest.approx(plain.loglik - len(X) * np.log(abs(np.linalg.det(A))), abs=1e-7)
    assert sorted(turned.df) == pytest.approx(sorted(plain.df), rel=1e-6)


def test_light_tails_are_normal_and_said_so():
    x = naive.blobs(3, 300, 2, 2, apart=6.0)
    x = np.clip(x, *np.quantile(x, [0.02, 0.98], axis=0))
    found = fit(x, se=True)
    assert np.isinf(found.df).any() and "normal components" in found.message and found.status == 0
    k = int(np.argmax(np.isinf(found.df)))
    assert np.isnan(found.se["df"][k]) and np.isfinite(found.se["means"]).all() and found.min_eig > 0.0


def test_batches_frames_and_names():
    many = np.stack([heavy(seed) for seed in range(3)])
    batch = ns.mixture.fit_many(many, 2, family="student_t", se=True, rng=0, covariance=["diag", "full"])
    one = ns.mixture.fit(many[1], 2, family="student_t", rng=0, covariance=["diag", "full"], dataset_index=1)
    assert batch[1].loglik == one.loglik and (batch.df[1] == one.df).all() and batch.df.shape == (3, 2)
    assert batch.se["df"].shape == (3, 2) and batch[1].se["df"].shape == (2,)
    assert list(one.summary()) == ["weight", "location_0", "location_1", "scale_0", "scale_1", "df"]
    frame = batch[0].summary(level=0.9)
    assert {"se_df", "lower_df", "upper_df", "se_scale_0"} <= set(frame) and "df" in batch.summary()
    model = ns.mixture.Mixture(2, family="student_t", rng=0).fit(many[0])
    assert model.result_.family == "student_t" and model.predict(many[0]).max() == 1
    assert ns.mixture.fit(many[0], [1, 2, 3], family="Student-t", rng=0).n_components == 2


def test_nested_models_are_ordered():
    found = fit(covariance=MODELS).selection
    logs = dict(zip(found["covariance"], found["loglik"], strict=True))
    for a, b in [
        ("tied-spherical", "tied-diag"),
        ("tied-diag", "tied"),
        ("spherical", "diag"),
        ("diag", "full"),
        ("tied", "full"),
    ]:
        assert logs[a] <= logs[b] + 1e-6
    assert fit().loglik >= ns.mixture.fit(X, 2, rng=0).loglik - 1e-6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (dict(family=("student_t", {"df": -1.0})), "df=-1.0 must be a number above 0"),
        (dict(family=("student_t", {"df": [3.0]})), "pass one for each component"),
        (dict(family=("student_t", {"nu": 3.0})), "of 'student_t' 'df'"),
        (dict(family=("normal", {"df": 3.0})), "of 'student_t' 'df'"),
        (dict(family="normal", equal="df"), "of family='student_t' alone"),
        (dict(device="cuda"), "on the CPU alone"),
        (dict(nan_policy="marginal"), "nan_policy='omit'"),
    ],
)
def test_refusals(options, said):
    with pytest.raises(ValueError, match=said):
        fit(**options)


def test_rows_in_single_precision_are_refused(monkeypatch):
    from numbastats.mixture.multivariate import arguments

    monkeypatch.setattr(arguments, "SINGLE", 100)
    with pytest.raises(ValueError, match="astype"):
        fit(X.astype(np.float32))


@pytest.mark.parametrize("bad", ["few", "constant", "infinite"])
def test_bad_data_sets_cost_the_others_nothing(bad):
    x = {"few": X[:3], "constant": np.column_stack([X[:, 0], np.ones(len(X))]), "infinite": X.copy()}[bad]
    if bad == "infinite":
        x[3, 1] = np.inf
    batch = ns.mixture.fit_many([X, x], 2, family="student_t", noise=True, rng=0)
    assert batch.status[0] == 0 and batch.status[1] in (4, 5, 7, 8) and np.isnan(batch.means[1]).all()


def test_public_data():
    """The first ten columns of breast cancer, one component: an ECM of its own gave 3748.8512, df 3.99008."""
    data = pytest.importorskip("sklearn.datasets").load_breast_cancer().data[:, :10]
    found = ns.mixture.fit(data, 1, family="student_t", rng=0)
    assert (
        found.status == 0
        and found.loglik == pytest.approx(3748.8512, abs=1e-4)
        and found.df[0] == pytest.approx(3.99008, abs=1e-5)
    )
    assert found.certificate == "exact" and "1 t component, covariance 'full'" in str(found)


def test_blocks_of_dask_have_densities():
    blocks = pytest.importorskip("dask.array").from_array(X, chunks=(100, 2))
    found = fit(noise=True)
    np.testing.assert_array_equal(found.logpdf(blocks).compute(), found.logpdf(X))
    assert found.predict_proba(blocks).shape == (len(X), 3)
    np.testing.assert_array_equal(found.predict_proba(blocks).compute(), found.predict_proba(X))
    assert fit(blocks).loglik == fit().loglik  # few rows are read as they are
    with pytest.raises(ValueError, match="no arrays of dask"):
        fit(pytest.importorskip("dask.array").from_array(heavy(n=20_000), chunks=(5000, 2)))


def test_threads_and_batches_change_no_bit():
    many = np.stack([heavy(seed) for seed in range(4)])
    one, other = (ns.mixture.fit_many(many, 2, family="student_t", noise=True, rng=0, workers=w) for w in (1, 2))
    assert (one.loglik == other.loglik).all() and (one.means == other.means).all() and (one.df == other.df).all()


def test_what_normal_fits_have_alone():
    found = fit()
    for call in (lambda: found.regression(X[:, :1], 1), lambda: ns.mixture.bootstrap(found, X), lambda: fit(covariance="VEI")):
        with pytest.raises(ValueError, match="normal"):
            call()
    with pytest.raises(ValueError, match="se=True"):
        fit(se="sandwich")
    assert set(np.unique(fit(covariance="all").selection["covariance"])) == set(MODELS)


def test_components_have_the_degrees_of_freedom_that_they_are_given():
    """In their order, whichever comes first in the plane; a free one without tails is told by its number."""
    r = np.random.default_rng(0)
    tails = 12.0 + r.normal(size=(100, 2)) / np.sqrt(r.chisquare(2.0, 100) / 2.0)[:, None]
    x = np.concatenate([r.uniform(-1.0, 1.0, (200, 2)), tails])
    first, last = (ns.mixture.fit(x, 2, family=("student_t", {"df": df}), se=True, rng=0) for df in ([5.0, None], [None, 5.0]))
    assert first.df.tolist() == [5.0, np.inf] and last.df.tolist() == [np.inf, 5.0]
    assert first.message.endswith(": 1") and last.message.endswith(": 0")
    assert first.loglik == pytest.approx(last.loglik, abs=1e-8)
    np.testing.assert_allclose(first.means[::-1], last.means, atol=1e-6)
    np.testing.assert_allclose(first.se["means"][::-1], last.se["means"], rtol=1e-6)
    assert first.se["df"][0] == 0.0 and np.isnan(first.se["df"][1])


@pytest.mark.parametrize("noise", [False, True])
def test_rows_without_a_density_have_no_label(noise):
    found = fit(noise=noise)
    rows = np.array([[np.inf, 1.0], [1.0, -np.inf], [np.nan, 0.0], [1e200, 0.0], [1e149, -1e149]])
    logs, shares, labels = found.logpdf(rows), found.predict_proba(rows), found.predict(rows)
    assert np.isnan(logs[:3]).all() and np.isnan(shares[:3]).all() and (labels[:3] == -1).all()
    if noise:  # beside which no t density counts so far out
        assert labels[3:].tolist() == [-1, -1] and shares[3:, -1].tolist() == [1.0, 1.0]
        np.testing.assert_allclose(logs[3:], np.log(found.noise_weight / found.noise_volume), rtol=1e-12)
    else:
        # a power of the distance: SciPy has the density at 1e100, and (df + d) log 10 a decade follows
        each = np.stack(
            [
                np.log(w)
                + scipy.stats.multivariate_t(m, c, df=v).logpdf([[1e100, 0.0], [1e100, -1e100]])
                - np.array([100.0, 49.0]) * (v + 2.0) * np.log(10.0)
                for w, m, c, v in zip(found.weights, found.means, found.covariances, found.df, strict=True)
            ]
        )
        np.testing.assert_allclose(logs[3:], np.logaddexp.reduce(each, axis=0), rtol=1e-12)
        assert (labels[3:] == each.argmax(axis=0)).all()
        np.testing.assert_allclose(shares[3:].sum(axis=1), 1.0, rtol=1e-12)
