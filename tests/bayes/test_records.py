"""The records of responses and samplers: each response by its case, what engines ask of them, and that no engine knows a word."""

from __future__ import annotations

import ast
import importlib
import pickle
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from mpmath import mp

import numbastats as ns
from numbastats._core.random import key_words
from numbastats.bayes import arguments, responses, samplers
from numbastats.bayes.categories import rules_of
from numbastats.bayes.chains import Chains, samplers_of
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses import RESPONSES
from numbastats.bayes.responses.record import Joint, Record, Response, facts_of_rows, record_of
from numbastats.bayes.samplers import SAMPLERS
from numbastats.bayes.samplers.record import Sampler
from numbastats.bayes.samplers.scales import Prior
from tests.cases import discover

CASES = discover("tests.bayes.cases")
LEVELS = np.array([1e-6, 0.03, 0.47, 0.81, 0.9999])


@pytest.fixture(params=sorted(word for word, one in CASES.items() if isinstance(one.record, Response)))
def case(request):
    return CASES[request.param]


def records(package, kind):
    """The records of a package by file; a file that has one names it as itself, in capitals."""
    modules = {m.name: importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)}
    return {name: getattr(m, name.upper()) for name, m in modules.items() if isinstance(getattr(m, name.upper(), None), kind)}


def test_every_record_is_listed_and_its_case_is_of_it():
    found = records(responses, Record)
    assert {record.word: record for record in found.values()} == RESPONSES
    for name, record in found.items():
        assert record.word == name and CASES[name].record is record and pickle.loads(pickle.dumps(record)) is record
        assert {own.name for own in record.own} == CASES[name].own.keys() == CASES[name].log_priors.keys()
        assert set(record.samplers) <= SAMPLERS.keys() and record.usual in (None, *record.samplers)
        words = [SAMPLERS[sampler].word for sampler in record.samplers]
        assert len(set(words)) == len(words) and list(samplers_of(name)) == words
    assert records(samplers, Sampler) == SAMPLERS and all(sampler.name == name for name, sampler in SAMPLERS.items())


def pairs(case):
    """Outcomes and linear predictors, each with each."""
    return np.array([(y, m) for y in case.outcomes for m in case.predictors]).T


def exact(case, y, m, order=0, own=None, by=None):
    """The log density, or its derivative in m, or in an own parameter; of an outcome between two ends that of its probability."""
    own = {name: mp.mpf(value) for name, value in (case.own if own is None else own).items()}

    def log_density(t, own):
        return case.log_mass(*map(mp.mpf, y), t, own) if isinstance(y, tuple) else case.log_density(mp.mpf(y), t, own)

    with mp.workdps(60):
        if by is not None:
            return float(mp.diff(lambda v: log_density(mp.mpf(m), own | {by: v}), own[by]))
        return float(mp.diff(lambda t: log_density(t, own), mp.mpf(m), order))


def test_log_density(case):
    """The exact one, and SciPy's."""
    y, m = pairs(case)
    draws = {"beta": np.ones((1, 1, 1)), "intercept": np.zeros((1, 1)), "log_tau": np.zeros((1, 1))}
    draws |= {name: np.array([[value]]) for name, value in case.own.items()}
    if case.record.several:
        draws = case.record.finish(draws, np.zeros((1, 1)))
    (found,) = rules_of(case.record).log_likelihoods(draws, m[:, None], y, 1, record=case.record)
    want = np.array([exact(case, *pair) for pair in zip(y, m, strict=True)])
    np.testing.assert_allclose(found[:, 0], want, rtol=case.rtol, atol=1e-15)
    at = 0.5 * (y + 1.0) if case.record.signed else y
    theirs = [case.peer(v, case.own) for v in m]
    theirs = [(d.pmf if hasattr(d.dist, "pmf") else d.pdf)(v) for d, v in zip(theirs, at, strict=True)]
    np.testing.assert_allclose(np.exp(found[:, 0]), theirs, rtol=1e-12, atol=1e-15)


def test_general_rows(case):
    """All that a row with own parameters or ends gives, and the same of arrays with own parameters for each column."""
    if not case.record.general:
        return
    record = case.record
    for own in (case.own, *case.others):
        c = record.constants(*[*own.values(), 0.0, 0.0][:2])
        for y in (*case.outcomes, *case.ends):
            for m in case.predictors:
                value, *slopes = record.row(*(y if isinstance(y, tuple) else (y, y)), m, c)
                want = [exact(case, y, m, order, own) for order in range(3)]
                by = [exact(case, y, m, own=own, by=one.name) for one in record.own]
                rest = 0.0 if record.rest is None else record.rest(y)
                size = max(map(abs, (*want, *by, 1.0)))  # a zero of one of them has the errors of the others
                np.testing.assert_allclose(value + rest, want[0], rtol=case.rtol, atol=1e-13 * max(abs(want[0]), 1.0))
                np.testing.assert_allclose(slopes[: 2 + len(by)], [want[1], -want[2], *by], rtol=1e-10, atol=3e-13 * size)
    m, y = np.array(case.predictors), case.outcomes[1]
    each = [case.own, *case.others]
    own = {name: np.array([one[name] for one in each]) for name in case.own}
    y = np.full(m.size, y)
    found = record.log_density(y[:, None], np.repeat(m[:, None], max(len(each), 1), axis=1), own)
    for q, one in enumerate(each):
        np.testing.assert_array_equal(found[:, q], record.log_density(y, m, one))
        np.testing.assert_array_equal(found[:, q], record.log_density(np.array([y, y]), m, one))


def test_derivatives(case):
    """Of a row, whose value is the log density up to a term of y, and of arrays."""
    if case.record.general:
        return
    if case.record.several:  # the pass: tests/bayes/test_classes.py
        y, m = pairs(case)
        want = np.array([[exact(case, *pair, order) for order in (1, 2)] for pair in zip(y, m, strict=True)]).T
        found = case.record.derivatives(m, y, {name: np.float64(value) for name, value in case.own.items()})
        np.testing.assert_allclose(found, [want[0], -want[1]], rtol=1e-11, atol=1e-13)
        return
    if case.record.row is None:
        assert not any(SAMPLERS[name].passes for name in case.record.samplers)
        return
    y, m = pairs(case)
    y, m = (np.ones(m.size), y * m) if case.record.signed else (y, m)  # rows have the sign of the class
    value, slope = np.array([case.record.row(*pair) for pair in zip(y, m, strict=True)]).T
    want = [[exact(case, *pair, order) for order in range(3)] for pair in zip(y, m, strict=True)]
    want, curvature = np.array(want).T[:2], -np.array(want).T[2]
    rest = want[0] - value
    for v in np.unique(y):
        np.testing.assert_allclose(rest[y == v], rest[y == v][0], atol=1e-13 * abs(want[0]).max())
    np.testing.assert_allclose(slope, want[1], rtol=case.rtol, atol=1e-15)
    found = case.record.derivatives(m, y, {})
    np.testing.assert_allclose(found[0], want[1], rtol=case.rtol, atol=1e-15)
    np.testing.assert_allclose(found[1], curvature, rtol=1e-11, atol=1e-12)  # of probits far out numbers cancel


@pytest.mark.parametrize("n", [1, 63, 65, 200])
def test_passes_are_sums_of_the_rows(case, n, device):
    if case.record.row is None:
        return
    rng = np.random.default_rng(n)
    X, B = rng.standard_normal((n, 5)), 0.4 * rng.standard_normal((2, 5))
    weights, offset = rng.uniform(0.0, 2.0, n), rng.standard_normal(n)
    weights, offset = (weights, offset) if case.record.weighted else (np.ones(n), np.zeros(n))
    y = np.ones(n) if case.record.signed else rng.choice(case.outcomes, n)
    facts = facts_of_rows(weights, offset, y)
    rows = Rows(X, device["device"], device.get("workers", 1), response=case.record, facts=facts)
    if case.record.general:
        check_general_passes(case, rows, X, B, weights, offset, y)
        return
    total, gradient = rows.loglik(B)
    value, slope = np.moveaxis([[case.record.row(*pair) for pair in zip(y, m, strict=True)] for m in B @ X.T + offset], 2, 0)
    np.testing.assert_allclose(total, value @ weights, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(gradient, (weights * slope) @ X, rtol=1e-12, atol=1e-12)
    H, h = rows.curvature(B[0])
    curvature = case.record.derivatives(X @ B[0] + offset, y, {})[1]
    np.testing.assert_allclose(H, (X.T * (weights * curvature)) @ X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(h, H @ B[0] + gradient[0], rtol=1e-12, atol=1e-12)


def check_general_passes(case, rows, X, B, weights, offset, y):
    """Own parameters in front of the coefficients: their prior is added, the metric is by differences of gradients."""
    record, count = case.record, len(case.own)
    own = np.array([list(case.own.values()), [v + 0.5 for v in case.own.values()]]).reshape(2, count)
    if case.ends:
        lower, upper = np.array([case.ends[i % len(case.ends)] if i % 2 else (y[i], y[i]) for i in range(y.size)]).T
        rows = Rows(X, rows.device, rows.workers, response=record, facts=facts_of_rows(weights, offset, np.array([lower, upper])))
    lower, upper = rows.outcomes
    assert rows.known == weights[lower == upper].sum()
    total, gradient = rows.loglik(np.concatenate([own, B], axis=1))
    for q in range(2):
        c = record.constants(*[*own[q], 0.0, 0.0][:2])
        found = [record.row(*of, c) for of in zip(lower, upper, X @ B[q] + offset, strict=True)]
        value, slope, curvature, *by = np.array(found).T
        prior = sum(one.log_prior(v) for one, v in zip(record.own, own[q], strict=True))
        np.testing.assert_allclose(total[q], value @ weights + prior, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(gradient[q, count:], (weights * slope) @ X, rtol=1e-12, atol=1e-11)
        for j, one in enumerate(record.own):
            want = weights @ by[j] + (one.log_prior(own[q, j] + 1e-6) - one.log_prior(own[q, j] - 1e-6)) / 2e-6
            np.testing.assert_allclose(gradient[q, j], want, rtol=1e-7, atol=1e-7)
        b = np.concatenate([own[q], B[q]])
        H, h = rows.curvature(b)
        np.testing.assert_allclose(H[count:, count:], (X.T * (weights * np.maximum(curvature, 0.0))) @ X, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(h, H @ b + gradient[q], rtol=1e-12, atol=1e-11)
        assert np.linalg.eigvalsh(H + 1e-5 * np.diag(1.0 + H.diagonal())).min() > 0.0


def test_means_tails_and_quantiles(case):
    record = case.record
    for m in case.predictors:
        peer, at = case.peer(m, case.own), np.array([m])
        y = np.array(case.outcomes)
        tail, quantile = record.tail(y, at, case.own), record.quantile(LEVELS, np.full(LEVELS.size, m), case.own)
        if record.signed:
            np.testing.assert_allclose(record.tail(np.array([-1.0]), at, {}), peer.mean(), rtol=1e-14)
            y, quantile = 0.5 * (y + 1.0), 0.5 * (quantile + 1.0)
        elif not record.several:
            mean = peer.mean() if case.mean is None else case.mean(m, case.own)
            np.testing.assert_allclose(record.mean_of(at, case.own), mean, rtol=1e-11)  # SciPy loses digits of small ones
        np.testing.assert_allclose(tail, peer.sf(y), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(quantile, peer.ppf(LEVELS), rtol=1e-12, atol=1e-14)


def test_own_parameters(case):
    for own in case.record.own:
        v = np.linspace(-3.0, 3.0, 7)
        want = np.array([float(case.log_priors[own.name](mp.mpf(t))) for t in v])
        np.testing.assert_allclose(own.log_prior(v) - own.log_prior(v[:1]), want - want[0], rtol=1e-13, atol=1e-14)
        assert (np.diff(own.value(v)) > 0.0).all()


def test_domains(case):
    if case.record.classes:
        return
    options = arguments.Options(response=case.record.word, fit_intercept=False)
    y = case.record.outcome_of(np.array(case.outcomes))
    np.testing.assert_array_equal(arguments.outcomes_as_numbers(y, y.size, options), y)
    for bad in case.refused:
        with pytest.raises(ValueError, match=rf"y\[1\] is {bad}, but response='{case.record.word}' takes {case.record.noun}, "):
            arguments.outcomes_as_numbers(np.array([y[0], bad]), 2, options)


def test_unknown_words_are_errors():
    X = np.ones((3, 1))
    calls = [
        lambda: record_of("cloglog"),
        lambda: samplers_of("cloglog"),
        lambda: Rows(X, "cpu", 1, response="cloglog"),
        lambda: ns.bayes.HorseshoeRegression(response="cloglog").fit(X, np.arange(3.0)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="response='cloglog' is not"):
            call()


def test_no_engine_knows_a_word():
    """Outside of their records the words of responses are in docstrings and types alone."""
    known = "|".join(word for word in RESPONSES if word != "beta")  # which is the name of the coefficients in `draws_`, too
    words = re.compile(rf"(?<!bayes\.)\b({known})\b")  # names of kernels are "bayes.draws" and so on
    root = Path(ns.bayes.__file__).parent
    for path in root.rglob("*.py"):
        if path.parent.name == "responses":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
                assert not words.search(node.value), f"{path.relative_to(root)}:{node.lineno}: {node.value!r}; ask the record"


# --- rows that depend on each other, and several linear predictors --------------------------------------------------------


def cox(T, y, weights):
    """Partial likelihood of times y without ties, all of them events: log f = sum of m_i - log(sum over y_j >= y_i of e^m_j)."""
    order = np.argsort(y)
    m = T[order, 0]
    total = np.cumsum(np.exp(m)[::-1])[::-1]
    slopes = np.empty(T.shape)
    slopes[order, 0] = 1.0 - np.exp(m) * np.cumsum(1.0 / total)
    return (m - np.log(total)).sum(), slopes


def cox_curvature(T, y, weights):
    return np.maximum(1.0 - cox(T, y, weights)[1], 1e-3)  # the diagonal, but for squares


def _probabilities(T):
    return scipy.special.softmax(np.column_stack([np.zeros(len(T)), T]), axis=1)


def softmax(T, y, weights):
    """Classes 0, 1 and 2, those beyond 0 with a linear predictor each."""
    p, hit = _probabilities(T), y[:, None] == np.arange(3)
    return weights @ np.log(p[hit]), (weights[:, None] * (hit - p))[:, 1:]


def softmax_curvature(T, y, weights):
    p = _probabilities(T)
    return (weights[:, None] * p * (1.0 - p))[:, 1:]


def _double(word, predictors, value, curvature):
    more = dict.fromkeys(("log_density", "tail", "quantile"), scipy.special.softmax)  # of predictions, not called here
    return Joint(word=word, noun="numbers", predictors=predictors, value=value, curvature=curvature, **more)


DOUBLES = {
    "cox": _double("cox", lambda y: 1, cox, cox_curvature),
    "softmax": _double("softmax", lambda y: int(y.max()), softmax, softmax_curvature),
}


@pytest.mark.parametrize("word", DOUBLES)
def test_joint_responses(word):
    """A partial likelihood and three classes: gradients, and chains around the maximum of the posterior."""
    rng = np.random.default_rng(1)
    X, truth, h = rng.standard_normal((300, 2)), np.array([[1.0, -0.5], [0.0, 1.0]]), 1e-6
    m = X @ truth.T
    times, classes = rng.exponential(np.exp(-m[:, 0])), np.column_stack([rng.gumbel(size=300), m + rng.gumbel(size=m.shape)])
    y = {"cox": times, "softmax": np.argmax(classes, axis=1).astype(float)}[word]
    rows = Rows(X, "cpu", 1, response=DOUBLES[word], facts=facts_of_rows(None, None, y))
    want = truth[: rows.predictors].ravel()
    assert rows.shape == (300, want.size)
    gradient, steps = rows.loglik(want[None])[1][0], h * np.eye(want.size)
    differences = (rows.loglik(want + steps)[0] - rows.loglik(want - steps)[0]) / (2.0 * h)
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)
    H, pull = rows.curvature(want)
    np.testing.assert_allclose(pull, H @ want + gradient, rtol=1e-12)
    chains = Chains(rows, prior=Prior("ridge", 0, (), 1.0, 10.0), kind="split-hmc", chains=2, warmup=100, key=key_words(1))
    draws = []
    for i in range(300):
        chains.advance()
        draws += [chains.state.b.copy()] if i >= 100 else []
    sd = 1.0 / np.sqrt(H.diagonal())
    assert (abs(np.mean(draws, axis=(0, 1)) - want) < 4.0 * sd).all() and (np.std(draws, axis=(0, 1)) < 2.0 * sd).all()
