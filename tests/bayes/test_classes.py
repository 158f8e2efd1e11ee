"""Classes that are ordered, or more than two: their pass, posteriors, published fits, labels, predictions, bad input."""

from __future__ import annotations

import concurrent.futures
import itertools
import math
import pickle

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.special

import numbastats as ns
from numbastats._core.random import key_words
from numbastats.bayes.chains import Chains
from numbastats.bayes.diagnostics import ess_bulk
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses import RESPONSES
from numbastats.bayes.responses.classes import Classes
from numbastats.bayes.responses.record import facts_of_rows
from numbastats.bayes.samplers.scales import Prior

pytestmark = pytest.mark.filterwarnings("ignore::numbastats.ConvergenceWarning")  # of short runs
FOUR = ("a", "b", "c", "d")
RECORDS = {"ordinal": RESPONSES["ordinal"].of_classes(FOUR), "softmax": RESPONSES["logit"].of_classes(FOUR)}
SHORT = dict(draws=60, warmup=60, chains=2, rng=1)


def classifier(response="logit", **options):
    return ns.bayes.HorseshoeClassifier(response={"softmax": "logit"}.get(response, response), **(dict(rng=1) | options))


def expit(x):
    return 1.0 / (1.0 + np.exp(-x))


def shares_of(log_odds):
    """Probabilities of classes at the centre: the log odds are those of each class against the ones above it."""
    rest, found = 1.0, []
    for v in log_odds:
        found.append(rest * expit(v))
        rest = rest - found[-1]
    return np.array([*found, rest])


def probabilities(word, m, own):
    """Of classes, shape (n, 4), from linear predictors, shape (n, predictors), the plain way."""
    if word == "softmax":
        e = np.exp(np.column_stack([np.zeros(len(m)), m]))
        return e / e.sum(axis=1, keepdims=True)
    below = np.cumsum(shares_of(own))[:-1]
    cuts = np.log(below / (1.0 - below))
    return np.diff(expit(cuts - m), axis=1, prepend=0.0, append=1.0)


def simulated(word, n, p=3, seed=1, truth=(1.0, -0.7)):
    """Rows and classes 0 to 3."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    b = np.zeros((p, 3))
    b[: len(truth), 0], b[: len(truth), 1] = truth, truth[::-1]
    m = X @ b[:, :1] if word == "ordinal" else X @ b
    P = probabilities(word, m, [-0.5, 0.0, 0.4])
    return X, (np.cumsum(P, axis=1) < rng.random(n)[:, None]).sum(axis=1)


# --- the pass -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 63, 130])
@pytest.mark.parametrize("word", RECORDS)
def test_passes_are_sums_of_the_rows(word, n, device):
    record, rng = RECORDS[word], np.random.default_rng(n)
    X, y = rng.standard_normal((n, 2)), rng.integers(0, 4, n)
    weights, offsets = rng.uniform(0.0, 2.0, n), rng.standard_normal(n)
    facts = facts_of_rows(weights, offsets, y)
    rows = Rows(X, device["device"], device.get("workers", 1), response=record, facts=facts)
    B, count = 0.5 * rng.standard_normal((2, rows.width)), len(record.own)

    def value(b):
        P = probabilities(word, X @ b[count:].reshape(2, -1) + offsets[:, None], b[:count])
        prior = sum(one.log_prior(v) for one, v in zip(record.own, b, strict=False))
        return weights @ np.log(P[np.arange(n), y]) + prior

    total, gradient = rows.loglik(B)
    np.testing.assert_allclose(total, [value(b) for b in B], rtol=1e-12, atol=1e-12)
    steps = 1e-5 * np.eye(rows.width)
    want = [[(value(b + h) - value(b - h)) / 2e-5 for h in steps] for b in B]
    np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-7)
    if device["device"] == "cpu":
        H, pull = rows.curvature(B[0])
        np.testing.assert_allclose(pull, H @ B[0] + gradient[0], rtol=1e-12, atol=1e-12)
        moved = [rows.loglik(np.array([B[0] - h, B[0] + h]))[1] for h in steps]
        np.testing.assert_allclose(H[count:], [(low - high) / 2e-5 for low, high in moved][count:], rtol=1e-5, atol=1e-6)


def test_probabilities_far_out():
    """Logarithms keep their digits where classes are all but impossible, and between cut points that nearly meet."""
    record = RESPONSES["ordinal"]
    own = {"cutpoints": np.array([[-1.0, -1.0 + 1e-9]])}
    found = record.log_probabilities(np.array([[300.0], [-300.0], [0.0]]), own)[:, 0]
    near = math.log(1e-9)
    np.testing.assert_allclose(found[0], [-301.0, -301.0 + near, 0.0], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found[1], [0.0, -299.0 + near, -299.0], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found[2, 1], math.log(expit(-1.0) * expit(1.0)) + near, rtol=1e-7)
    whole = RECORDS["softmax"].log_probabilities(np.array([[[800.0, 0.0, -800.0]]]), {})[0, 0]
    np.testing.assert_allclose(whole, [-800.0, 0.0, -800.0, -1600.0], atol=1e-12)


# --- posteriors -------------------------------------------------------------------------------------------------------------


def _compare(draws, weight, at):
    """Means and standard deviations of draws are those of weights on a grid."""
    mean = (weight * at).sum()
    sd = math.sqrt((weight * (at - mean) ** 2).sum())
    error = sd / math.sqrt(ess_bulk(draws[:, :, None])[0])
    assert abs(draws.mean() - mean) < 4.0 * error, (draws.mean(), mean, error)
    assert abs(draws.std() / sd - 1.0) < 6.0 * error / sd, (draws.std(), sd)


@pytest.mark.parametrize("sampler", ["split-hmc", "surrogate", "predictor"])
def test_ordered_posterior_by_quadrature(sampler):
    """One column and two cut points on a grid; the prior of the probabilities at the centre is uniform on the simplex."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(30) + 2.0
    y = np.digitize(0.9 * (x - 2.0) + rng.logistic(size=30), [-0.6, 0.9])
    draws = 600 if sampler == "predictor" else 1500
    model = classifier("ordinal", tau=0.7, slab=None, standardize=False, sampler=sampler, draws=draws, warmup=200)
    model.fit(x[:, None], y)
    b, low, gap = np.meshgrid(np.linspace(-0.8, 2.8, 90), np.linspace(-3.5, 2.0, 80), np.linspace(0.01, 5.0, 80), indexing="ij")
    value = ns.bayes.log_exe1(np.maximum(b**2 / (2.0 * 0.7**2), 1e-12))
    cuts = [low, low + gap]  # at the mean of the column
    for cut in cuts:
        value = value + np.log(expit(cut) * expit(-cut))
    for v, k in zip(x - x.mean(), y, strict=True):
        below = [0.0, *(expit(cut - v * b) for cut in cuts), 1.0]
        value = value + np.log(below[k + 1] - below[k])
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    draws = model.draws_
    _compare(draws["beta"][:, :, 0], weight, b)
    for number, cut in enumerate(cuts):
        _compare(draws["cutpoints"][:, :, number], weight, cut + b * x.mean())
        _compare(draws["cutpoints"][:, :, number] - draws["beta"][:, :, 0] * x.mean(), weight, cut)


@pytest.mark.parametrize("sampler", ["split-hmc", "surrogate"])
def test_softmax_posterior_by_quadrature(sampler):
    """One column, three classes: a coefficient and an intercept of normal prior for two of them."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal(25)
    y = np.argmax(np.column_stack([0.0 * x, 0.8 * x, -0.5 + 0.0 * x]) + rng.gumbel(size=(25, 3)), axis=1)
    model = classifier(tau=0.7, slab=1.5, intercept_scale=1.0, standardize=False, sampler=sampler, draws=2500, warmup=300)
    model.fit(x[:, None], y)
    grid = np.linspace(-3.2, 3.2, 44)
    b, c, a, d = np.meshgrid(grid, grid, grid, grid, indexing="ij", sparse=True)
    value = -0.5 * (a**2 + d**2 + (b**2 + c**2) / 1.5**2)
    for v in (b, c):
        value = value + ns.bayes.log_exe1(np.maximum(v**2 / (2.0 * 0.7**2), 1e-3))
    for v, k in zip(x, y, strict=True):
        first, second = a + b * v, d + c * v
        value = value + (0.0, first, second)[k] - np.log1p(np.exp(first) + np.exp(second))
    weight = np.exp(value - value.max())
    weight /= weight.sum()
    for number, (slope, level) in enumerate([(b, a), (c, d)]):
        _compare(model.draws_["beta"][:, :, number, 0], weight, slope)
        _compare(model.draws_["intercept"][:, :, number], weight, level)


def _prior(record, p, size, shared, rng):
    """Draws of parameters in the order of chains, of log tau, whose tau has the scale 0.5, and of precisions."""
    own = np.empty((size, len(record.own)))
    for number in range(own.shape[1]):
        share = rng.beta(1.0, own.shape[1] - number, size)
        own[:, number] = np.log(share / (1.0 - share))
    log_tau = np.log(0.5 * np.tan(0.5 * math.pi * rng.random(size)))
    local = np.tan(0.5 * math.pi * rng.random((size, p, 1 if shared else record.width)))
    local = np.broadcast_to(local, (size, p, record.width)).reshape(size, -1)
    d = (local * np.exp(log_tau)[:, None]) ** -2.0
    free = rng.standard_normal((size, record.width if record.intercept else 0))
    b = rng.standard_normal(d.shape) / np.sqrt(d + (0.0 if shared else 0.8**-2))
    return np.concatenate([own, free, b], axis=1), log_tau, d


def _drawn(word, X, b, count, rng):
    """Classes given parameters."""
    P = probabilities(word, X @ b[count:].reshape(X.shape[1], -1), b[:count])
    return (np.cumsum(P, axis=1)[:, :-1] < rng.random(len(X))[:, None]).sum(axis=1)


def _seen(b, log_tau):
    return np.concatenate([np.tanh(b), np.tanh(b) ** 2, np.tanh(log_tau)[..., None]], axis=-1)


def joint_distribution(word, shared=False, n=20, runs=80, sweeps=75):
    """How far parameters are from their prior, in errors, in Hamiltonian steps before each of which outcomes are drawn anew.

    It is the test of J. Geweke, JASA 99, 2004. After a step the outcomes before it have their distribution given the parameters,
    too, so that their probabilities are on average the sums of squared ones.
    """
    record, p = RECORDS[word], 2
    rng, count, skip = np.random.default_rng(7), len(record.own), record.width if record.intercept else 0
    X = rng.standard_normal((n, p))
    X = np.column_stack([np.ones(n), X]) if skip else X
    slab = {} if shared else {"slab": 0.8, "slab_df": math.inf}
    groups = np.repeat(np.arange(p), record.width) if shared else None
    prior = Prior("horseshoe", skip, (1.0,) * skip, 0.5, None, groups=groups, **slab)
    found = np.zeros((runs, 2 * (count + X.shape[1] * record.width) + 2))
    (B, T, D), accepted = _prior(record, p, runs, shared, rng), 0.0
    for number, (b, t, d) in enumerate(zip(B, T, D, strict=True)):
        y = _drawn(word, X, b, count, rng)
        y[:4] = range(4)  # chains are made for classes that are there
        rows = Rows(X, "cpu", 1, response=record, facts=facts_of_rows(None, None, y))
        run = Chains(rows, prior=prior, kind="split-hmc", chains=1, warmup=0, key=key_words(number))
        run.state.b[0], run.state.scales.log_tau[0], run.state.scales.d[0, count + skip :] = b, t, d
        for _ in range(sweeps):
            y = rows.facts[2] = _drawn(word, X, run.state.b[0], count, rng)
            run.state.loglik[:], run.state.gradient[:] = rows.loglik(run.state.b)
            run.advance()
            b = run.state.b[0]
            P = probabilities(word, X @ b[count:].reshape(X.shape[1], -1), b[:count])
            fit = (P[np.arange(n), y] - (P * P).sum(axis=1)).mean()
            found[number] += np.append(_seen(b, run.state.scales.log_tau[0]), fit) / sweeps
        accepted += run.accepted[0] / (runs * sweeps)
    want = np.append(_seen(*_prior(record, p, 200_000, shared, rng)[:2]).mean(axis=0), 0.0)
    assert accepted > 0.5
    return (found.mean(axis=0) - want) / (found.std(axis=0, ddof=1) / math.sqrt(runs))


@pytest.mark.parametrize(("word", "shared"), [("ordinal", False), ("softmax", False), ("softmax", True)])
def test_joint_distribution(word, shared):
    z = joint_distribution(word, shared)
    assert abs(z).max() < 5.0, z


@pytest.mark.parametrize(("word", "data", "prior"), [("softmax", 0.5, 1.0), ("ordinal", 1.0, 0.0)])
def test_joint_distribution_sees_a_wrong_target(word, data, prior, monkeypatch):
    """Half of the log-likelihood, and no prior of the cut points."""
    right = Classes.loglik

    def loglik(self, rows, B):
        value, gradient = right(self, rows, B)
        for j, one in enumerate(self.own):
            value += (prior - 1.0) * one.log_prior(B[:, j])
            gradient[:, j] += (prior - 1.0) * one.log_prior_slope(B[:, j])
        return data * value, data * gradient

    monkeypatch.setattr(Classes, "loglik", loglik)
    assert abs(joint_distribution(word)).max() > 7.0


# --- fits ---------------------------------------------------------------------------------------------------------------------


def test_graduate_applications(reference):
    """The published fit, coefficients, errors and cut points: polr of R's package MASS for UCLA's 400 students.

    R stops a little before the maximum, where Stata's ologit and OrderedModel of statsmodels are.
    """
    table = np.loadtxt(reference / "bayes" / "graduate_applications.csv", delimiter=",", skiprows=1)
    y, X = table[:, 0], table[:, 1:]
    record = RESPONSES["ordinal"]
    rows = Rows(X, "cpu", 1, response=record, facts=facts_of_rows(None, None, y))

    def negative(v):
        value, gradient = rows.loglik(v[None])
        for j, one in enumerate(record.own):
            value[0] -= one.log_prior(v[j])
            gradient[0, j] -= one.log_prior_slope(v[j])
        return -value[0], -gradient[0]

    found = scipy.optimize.minimize(negative, np.zeros(5), jac=True, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(found.x[2:], [1.0477, -0.0588, 0.6159], atol=2e-4)
    np.testing.assert_allclose(record.cuts(found.x[:2]), [2.2039, 4.2994], atol=7e-4)
    np.testing.assert_allclose(found.x[2:], [1.04766, -0.05868, 0.61575], atol=1e-5)
    np.testing.assert_allclose(record.cuts(found.x[:2]), [2.20332, 4.29877], atol=1e-5)
    model = classifier("ordinal", unpenalized=[0, 1, 2], draws=2000).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], [1.0477, -0.0588, 0.6159], atol=0.03)
    np.testing.assert_allclose(model.draws_["beta"].std(axis=(0, 1)), [0.2658, 0.2979, 0.2606], rtol=0.05)
    np.testing.assert_allclose(model.cutpoints_, [2.2039, 4.2994], atol=0.1)


def test_multinomial_maximum_and_another_base():
    """Of wide priors the means are the maximum of the likelihood; another first class changes nothing but the contrast."""
    X, y = simulated("softmax", 800)
    options = dict(unpenalized=[0, 1, 2], standardize=False, intercept_scale=30.0, draws=800, warmup=300, chains=2)
    model = classifier(**options).fit(X, y)

    def negative(v):
        P = probabilities("softmax", np.column_stack([np.ones(len(X)), X]) @ v.reshape(4, 3), None)
        return -np.log(P[np.arange(len(X)), y]).sum()

    best = scipy.optimize.minimize(negative, np.zeros(12), method="BFGS").x.reshape(4, 3).T
    sd = model.draws_["beta"].std(axis=(0, 1))
    assert (abs(model.coef_ - best[:, 1:]) < 0.25 * sd).all()
    assert (abs(model.intercept_ - best[:, 0]) < 0.25 * model.draws_["intercept"].std(axis=(0, 1))).all()
    other = classifier(**options).fit(X, (y + 1) % 4)  # the last class comes first
    moved = np.concatenate([other.coef_[1:], np.zeros((1, 3))]) - other.coef_[0]
    assert (abs(model.coef_ - moved) < 0.25 * sd).all()
    symmetric = [classifier(contrast="symmetric", **options).fit(X, v).coef_ for v in (y, (y + 1) % 4)]
    np.testing.assert_allclose(symmetric[0].sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(symmetric[0], np.roll(symmetric[1], -1, axis=0), atol=0.05)
    np.testing.assert_allclose(symmetric[0][1:] - symmetric[0][0], model.coef_, atol=1e-12)


@pytest.mark.slow
def test_two_samplers_of_many_columns():
    """Ordered classes with more columns than rows: "auto" takes "predictor", which agrees with Hamiltonian steps."""
    X, y = simulated("ordinal", 24, 30, truth=(2.0, -1.5))
    settings = dict(slab=1.5, tau_scale=0.1, draws=1500, warmup=500)
    fits = [classifier("ordinal", sampler=sampler, **settings).fit(X, y) for sampler in ("auto", "split-hmc")]
    assert [fit.sampler_ for fit in fits] == ["predictor", "split-hmc"]  # and test_predictor.py has its joint distribution
    for name, f in itertools.product(("beta", "cutpoints"), (lambda v: v, abs)):
        a, b = (f(fit.draws_[name]) for fit in fits)
        z = (a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / np.hypot(ns.bayes.mcse(a), ns.bayes.mcse(b))
        assert abs(z).max() < 4.5, (name, z)


@pytest.mark.parametrize("word", RECORDS)
def test_predictions_and_tables(word, tmp_path):
    X, y = simulated(word, 150)
    names = np.array(["w", "x", "y", "z"])
    offset = np.random.default_rng(2).standard_normal(150)
    model = classifier(word, keep="all", **SHORT).fit(X, y if word == "ordinal" else names[y], offset=offset)
    width, labels = RECORDS[word].width, model.classes_.astype(str)
    draws = model.draws_
    beta, a = draws["beta"].reshape(120, width, 3), draws["intercept"].reshape(120, width)
    m = np.einsum("skp,np->snk", beta, X) + a[:, None] + offset[:, None]
    found = model.decision_draws(X)
    np.testing.assert_allclose(found.reshape(120, 150, width) + offset[:, None], m, rtol=1e-11, atol=1e-12)
    if word == "ordinal":
        cuts = draws["cutpoints"].reshape(120, 1, 3)
        P = np.diff(expit(cuts - m), axis=2, prepend=0.0, append=1.0)
        np.testing.assert_array_equal(model.cutpoints_, draws["cutpoints"].mean(axis=(0, 1)))
    else:
        P = np.array([probabilities(word, one, None) for one in m])
    p, low, high = model.predict_proba(X, interval=0.8, offset=offset)
    np.testing.assert_allclose(p, P.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose([low, high], np.quantile(P, [0.1, 0.9], axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.predict_log_proba(X, offset=offset), np.log(p), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X, offset=offset), model.classes_[p.argmax(axis=1)])
    assert model.predict_proba(X, draws=10, offset=offset).shape == (150, 4)
    pointwise = np.log(P[:, np.arange(150), y].mean(axis=0)).sum()
    loo, waic = (f(X, model.classes_[y], offset) for f in (model.loo, model.waic))
    assert loo["bad"] < 8 and waic["elpd"] < pointwise and abs(loo["elpd"] - waic["elpd"]) < 1.0
    new = model.sample_outcomes(X, offset=offset, rng=1)
    assert new.shape == (120, 150)
    for number, one in enumerate(model.classes_):
        assert abs((new == one).mean() - p[:, number].mean()) < 0.02
    table = model.summary()["name"].tolist()
    if word == "ordinal":
        assert table == ["x0", "x1", "x2", "0|1", "1|2", "2|3", "log_tau"] and model.coef_.shape == (1, 3)
    else:
        assert table[:4] == ["intercept[x]", "intercept[y]", "intercept[z]", "x0[x]"] and "x2[z]" in table
        assert model.coef_.shape == (3, 3) and model.intercept_.shape == (3,)
    assert draws["log_lambda"].shape == draws["beta"].shape and np.isfinite(draws["log_lambda"]).all()
    model.save(tmp_path / "model.npz")
    for again in (type(model).load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X, offset=offset), model.predict_proba(X, offset=offset))
        assert again.classes_.astype(str).tolist() == labels.tolist() and again.response == model.response
    more = classifier(word, keep="all", **SHORT | {"draws": 20}).fit(X, model.classes_[y], offset=offset).continue_(40)
    np.testing.assert_array_equal(more.draws_["beta"], draws["beta"])


@pytest.mark.parametrize("word", RECORDS)
def test_weights_and_blocks_and_sparse_rows(word):
    """A weight counts copies; rows in blocks and sparse ones have the draws of arrays."""
    X, y = simulated(word, 90)
    settings = SHORT | {"sampler": "split-hmc"}
    want = classifier(word, **settings).fit(X, y).draws_["beta"]
    blocks = lambda: ((X[i : i + 40], y[i : i + 40]) for i in range(0, 90, 40))  # noqa: E731
    np.testing.assert_array_equal(classifier(word, **settings).fit(blocks).draws_["beta"], want)
    np.testing.assert_array_equal(classifier(word, **settings).fit(scipy.sparse.csr_array(X), y).draws_["beta"], want)
    rng = np.random.default_rng(3)
    copies = rng.integers(0, 3, 90)
    record = RECORDS[word]
    rows = Rows(np.repeat(X, copies, axis=0), "cpu", 1, response=record, facts=facts_of_rows(None, None, np.repeat(y, copies)))
    weighted = Rows(X, "cpu", 1, response=record, facts=facts_of_rows(copies, None, y))
    b = rng.standard_normal((1, rows.width))
    for a, c in zip(rows.loglik(b), weighted.loglik(b), strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-12)


@pytest.mark.parametrize("word", RECORDS)
def test_what_else_a_fit_does(word):
    """Executors, callbacks, moments alone, no intercept, checks, and plots of the coefficients alone."""
    X, y = simulated(word, 90)
    seen = []
    model = classifier(word, callback=lambda state: bool(seen.append(state)), callback_every=50, **SHORT).fit(X, y)
    beside = [] if word == "ordinal" else ["intercept[1]", "intercept[2]", "intercept[3]"]
    assert list(seen[-1]["ess"]) == [*beside, "log_tau", "norm"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert classifier(word, workers=pool, **SHORT).fit(X, y).coef_.shape == model.coef_.shape
    moments = classifier(word, keep="cov", **SHORT).fit(X, y)
    np.testing.assert_allclose(moments.coef_, model.coef_, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="predict_proba needs the draws"):
        moments.predict_proba(X)
    free = classifier(word, fit_intercept=False, **SHORT).fit(X, y)
    assert not free.intercept_.any() and (word == "ordinal" or free.summary()["name"][0] == "x0[1]")
    table = model.check(X, y, draws=50)
    np.testing.assert_allclose(table["observed"], np.bincount(y) / 90.0)
    assert (abs(table["mean"] - table["observed"]) < 0.1).all()
    if word == "ordinal":
        assert model.calibration(X, y, bins=4)["rows"].sum() == pytest.approx(90.0)
    else:
        with pytest.raises(ValueError, match="calibration is of two classes, or of ordered ones"):
            model.calibration(X, y)
    assert model._beside == (beside or ["0|1", "1|2", "2|3"])


def test_many_classes_on_a_gpu_are_refused():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((400, 2)), np.arange(400) % 20
    assert classifier(**SHORT).fit(X, y).coef_.shape == (19, 2)
    with pytest.raises(ValueError, match="20 classes are too many for a GPU, which takes 16"):
        classifier(device="cuda", **SHORT).fit(X, y)


def test_scales_of_classes():
    """Own local scales for each class, one for a column with `shared`, groups of columns in each class."""
    X, y = simulated("softmax", 80)
    fit = lambda **options: classifier(keep="all", **SHORT, **options).fit(X, y).draws_["log_lambda"]  # noqa: E731
    own, shared, groups = fit(), fit(shared=True), fit(groups=[[0, 2]])
    assert (own[:, :, 0] != own[:, :, 1]).all()
    np.testing.assert_array_equal(shared[:, :, 0], shared[:, :, 1])
    assert (shared[:, :, 0, 0] != shared[:, :, 0, 1]).all()
    np.testing.assert_array_equal(groups[:, :, :, 0], groups[:, :, :, 2])
    assert (groups[:, :, 0, 0] != groups[:, :, 1, 0]).all()
    free = fit(unpenalized=[1])
    assert np.isnan(free[..., 1]).all() and np.isfinite(free[..., [0, 2]]).all()


def test_separable_classes_and_absent_ones():
    """A slab bounds the coefficients; probabilities are those of the classes that were there."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    for word in RECORDS:
        model = classifier(word, **SHORT | {"warmup": 300, "draws": 300}).fit(X, y)
        assert np.isfinite(model.coef_).all() and abs(model.coef_).max() < 20.0
        assert model.score(X, y) > 0.9 and model.predict_proba(X).shape == (90, 3)
        few = classifier(word, **SHORT).fit(X, y, sample_weight=(y != 2).astype(float))
        assert few.classes_.tolist() == [0, 1] and few.predict_proba(X).shape == (90, 2)
        with pytest.raises(ValueError, match=r"y must hold one of \[0, 1\]"):
            few.loo(X, y)


def test_order_and_names():
    pandas = pytest.importorskip("pandas")
    X, y = simulated("ordinal", 90)
    names = np.array(["low", "middle", "high", "top"])
    kind = pandas.CategoricalDtype(names, ordered=True)
    numbers = classifier("ordinal", **SHORT).fit(X, y)
    for given in (pandas.Series(names[y], dtype=kind), pandas.Categorical(names[y], dtype=kind)):
        model = classifier("ordinal", **SHORT).fit(X, given)
        assert model.classes_.tolist() == names.tolist()
        np.testing.assert_array_equal(model.draws_["beta"], numbers.draws_["beta"])
        assert "middle|high" in model.summary()["name"]
    with pytest.warns(UserWarning, match="column-vector"):
        model = classifier("ordinal", **SHORT).fit(X, pandas.DataFrame({"y": pandas.Series(names[y], dtype=kind)}))
    assert model.classes_.tolist() == names.tolist()
    kind = pandas.CategoricalDtype(["low", "middle", "never", "high", "top"], ordered=True)
    with pytest.warns(UserWarning, match="no row has 'never' of the categories of y"):
        model = classifier("ordinal", **SHORT).fit(X, pandas.Series(names[y], dtype=kind))
    assert model.classes_.tolist() == names.tolist() and model.predict_proba(X).shape == (90, 4)
    missing = pandas.Series(names[y], dtype=kind)
    missing[3] = None
    with pytest.warns(UserWarning, match="never"):
        model = classifier("ordinal", nan_policy="omit", **SHORT).fit(X, missing)
    assert model.n_missing_ == 1 and model.classes_.tolist() == names.tolist()
    halves = classifier("ordinal", **SHORT).fit(X, y / 2.0)
    assert halves.classes_.tolist() == [0.0, 0.5, 1.0, 1.5] and list(halves.summary()["name"])[3] == "0.0|0.5"


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        (dict(response="ordinal"), ["low", "high", "middle"] * 10, "needs the order of the classes .*ordered=True"),
        (dict(response="ordinal"), [1] * 30, "y contains one class only, 1"),
        (dict(), ["a"] * 30, "y contains one class only, 'a'"),
        (dict(response="probit"), [0, 1, 2] * 10, "HorseshoeClassifier takes more with response='logit' or 'ordinal'"),
        (dict(), np.linspace(0.0, 1.0, 30), "Unknown label type: continuous.*HorseshoeRegression"),
        (dict(shared=True, slab_df=4.0), [0, 1, 2] * 10, "shared=True"),
        (dict(contrast="sum"), [0, 1, 2] * 10, "contrast='sum'"),
        (dict(sampler="predictor"), [0, 1, 2] * 10, "not one of 3 classes without an order; use 'auto' or one of 'split-hmc'"),
    ],
)
def test_bad_input(options, y, message):
    X = np.random.default_rng(1).standard_normal((30, 2))
    with pytest.raises(ValueError, match=message):
        classifier(**(SHORT | options)).fit(X, np.array(y))


def test_more_columns_than_rows_are_refused():
    X = np.random.default_rng(1).standard_normal((30, 40))
    y = np.arange(30) % 3
    with pytest.raises(ValueError, match=r"3 classes with more columns \(40\) than rows \(30\).*OneVsRestClassifier"):
        classifier(**SHORT).fit(X, y)
    model = classifier(sampler="split-hmc", **SHORT).fit(X[:, :35], y)
    assert model.sampler_ == "split-hmc" and model.coef_.shape == (2, 35)
