"""Chains whose linear predictors come first: the joint distribution of parameters and outcomes, other samplers, what fits say."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.special
from scipy import sparse

import numbastats as ns
from numbastats._core.random import key_words
from numbastats.bayes.chains import Chains
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses import RESPONSES
from numbastats.bayes.responses.record import Joint, facts_of_rows
from numbastats.bayes.samplers import predictor
from numbastats.bayes.samplers.scales import Prior

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")

SCALE, SLAB = 0.5, 0.6  # of tau and of the coefficients


class Each(predictor.Problem):
    """Rows of which every chain has outcomes of its own, shape (chains, n), or (chains, 2, n) of both ends."""

    @property
    def outcomes(self):
        return self.y.T

    def _alone(self):
        return [predictor.Problem(*self)._replace(y=y) for y in self.y]

    def _together(self):
        return not isinstance(self.response, Joint) and not getattr(self.response, "general", False)

    def loglik(self, e, own):
        if self._together():
            return super().loglik(e, own)
        return np.concatenate([one.loglik(e[[c]], _of_chain(own, c)) for c, one in enumerate(self._alone())])

    def slopes(self, e, own):
        if self._together():
            return super().slopes(e, own)
        found = [one.slopes(e[[c]], _of_chain(own, c)) for c, one in enumerate(self._alone())]
        return tuple(np.concatenate(v) for v in zip(*found, strict=True))


def _of_chain(own, c):
    return {name: value[[c]] for name, value in own.items()}


def _distribution(own):
    """Values of a transformed parameter and their prior probabilities below them."""
    v = np.linspace(-40.0, 40.0, 160_001)
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(own.log_prior(v) - own.log_prior(v).max())
    return v, np.cumsum(density) / density.sum()


def joint_distribution(record, *, slab=SLAB, chains=48, sweeps=250, seed=1, n=8, p=12):
    """How far parameters are from their prior in sweeps of the sampler, before each of which outcomes are drawn anew.

    It is the joint distribution test of J. Geweke, JASA 99, 2004.
    Chains begin with a draw of the prior, so that at any time parameters and outcomes have their joint distribution. Of every
    parameter the probability below it under the prior is uniform, and of every outcome that given its predictor: means and second
    moments, in standard errors of the chains' averages.
    """
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, p)) / math.sqrt(p)])
    offsets, shape = 1.0 + 0.5 * rng.standard_normal(n), (chains, p)
    prior = Prior("horseshoe", 1, (1.0,), SCALE, None, slab, None if slab is None else math.inf)
    tables = {one.name: _distribution(one) for one in record.own}
    extra = 0.0 if slab is None else slab**-2.0
    draw = lambda e, own: record.quantile(rng.random(e.shape), e, {name: v[:, None] * np.ones(n) for name, v in own.items()})  # noqa: E731

    tau = SCALE * np.tan(0.5 * math.pi * rng.random(chains))
    own = {name: np.interp(rng.random(chains), share, v) for name, (v, share) in tables.items()}
    d = (np.tan(0.5 * math.pi * rng.random(shape)) * tau[:, None]) ** -2.0
    b = np.column_stack([rng.standard_normal(chains), rng.standard_normal(shape) / np.sqrt(d + extra)])
    y = draw(b @ X.T + offsets, own)
    rows = Rows(X, "cpu", 1, response=record, facts=facts_of_rows(None, offsets, y[0]))
    run = Chains(rows, prior=prior, kind="predictor", chains=chains, warmup=0, key=key_words(seed))
    ends = getattr(record, "general", False)
    run.problem, s = Each(*run.problem)._replace(y=np.stack([y, y], axis=1) if ends else y), run.state
    s.b[:], s.scales.log_tau[:], s.scales.d[:, 1:] = b, np.log(tau), d
    s.e[:] = b @ X.T + offsets + np.sqrt(run.problem.jitter) * rng.standard_normal((chains, n))
    for name, value in own.items():
        s.extras[name][:] = value

    total = 0.0
    for _ in range(sweeps):
        run.advance()
        t, d = s.scales.log_tau, s.scales.d[:, 1:]
        u = {"tau": 2.0 / math.pi * np.arctan(np.exp(t) / SCALE), "intercept": scipy.special.ndtr(s.b[:, 0])}
        u["local scale"] = 2.0 / math.pi * np.arctan(np.exp(-t) / np.sqrt(d[:, 0]))
        u["coefficient"] = scipy.special.ndtr(abs(s.b[:, 1]) * np.sqrt(d[:, 0] + extra)) * 2.0 - 1.0
        u["rest"] = scipy.special.ndtr((s.e - s.b @ X.T - offsets)[:, 0] / np.sqrt(run.problem.jitter[0]))
        u |= {name: np.interp(s.extras[name], v, share) for name, (v, share) in tables.items()}
        at = s.e, {name: v[:, None] for name, v in s.extras.items()}
        u["outcome"] = record.tail(y, *at)
        if (y == np.rint(y)).all():
            below = np.where(y > 0.0, record.tail(np.maximum(y - 1.0, 0.0), *at), 1.0)
            u["outcome"] += rng.random((chains, n)) * (below - u["outcome"])
        moments = [(v - 0.5, (v - 0.5) ** 2 - 1.0 / 12.0) for v in u.values()]
        total = total + np.array([[v.reshape(chains, -1).mean(axis=1) for v in pair] for pair in moments])
        y[:] = draw(s.e, s.extras)
        run.problem.y[:] = y[:, None] if ends else y
    z = total.mean(axis=2) / (total.std(axis=2, ddof=1) / math.sqrt(chains))
    return dict(zip(u, z.tolist(), strict=True))


def _bits_value(T, y, weights):
    p = scipy.special.expit(T[:, 0])
    return weights @ (y * T[:, 0] - np.logaddexp(0.0, T[:, 0])), (weights * (y - p))[:, None]


BITS = Joint(  # classes 0 and 1 by their log odds, as arrays
    word="bits",
    samplers=("predictor",),
    noun="classes",
    predictors=lambda y: 1,
    value=_bits_value,
    curvature=lambda T, y, weights: weights[:, None] * scipy.special.expit(T) * scipy.special.expit(-T),
    log_density=lambda y, m, own: y * m - np.logaddexp(0.0, m),
    tail=lambda y, m, own: np.where(y < 1.0, scipy.special.expit(m), 0.0),
    quantile=lambda u, m, own: (u < scipy.special.expit(m)).astype(float),
)
TAKEN = [one for one in RESPONSES.values() if "predictor" in one.samplers and not (one.signed or isinstance(one, Joint))]


def _largest(found):
    return max(abs(v) for pair in found.values() for v in pair)


@pytest.mark.parametrize("record", TAKEN, ids=lambda record: record.word)
def test_joint_distribution(record):
    found = joint_distribution(record, chains=32, sweeps=50)
    assert _largest(found) < 5.0, found


@pytest.mark.slow
@pytest.mark.parametrize("record", TAKEN, ids=lambda record: record.word)
def test_joint_distribution_of_many_draws(record):
    found = joint_distribution(record, seed=2)
    assert _largest(found) < 4.5, found


def test_joint_distribution_without_a_slab():
    """Of a response of arrays, whose coefficients may have any size."""
    found = joint_distribution(BITS, slab=None, chains=24, sweeps=60)
    assert _largest(found) < 5.0, found


def _always_there(right):
    """Longer steps of which none is rejected."""

    def hamiltonian(self, numbers):
        n, numbers.rest = self.e.shape[1], numbers.rest.copy()
        for number in range(1, predictor._TRAJECTORIES + 1):
            numbers.rest[:, number * (n + 2) - 1] = -30.0
        return right(self, numbers)

    return hamiltonian


def _determinant_upside_down(right):
    def value(self, by, own, needed):
        found = right(self, by, own, needed)
        return found + 2.0 * np.log(np.diagonal(self.out[0], axis1=1, axis2=2)).sum(axis=1)

    return value


def _twice_the_variances(right):
    return lambda data, state, metric, v, numbers: right(data, state, metric, 2.0 * v, numbers)


def _other_scales(right):
    """Local scales one by one for e times tau."""
    return lambda prior, scales: right(prior, scales) + 1.0


def _others_held(right):
    """Those columns move with tau that the density has held, and no others."""
    return lambda self, held, z: right(self, ~held, z)


MUTANTS = {
    "_coefficients": (predictor, _twice_the_variances),
    "hamiltonian": (predictor._Near, _always_there),
    "_value": (predictor._Near, _determinant_upside_down),
    "_base": (predictor, _other_scales),
    "hold": (predictor._Covariance, _others_held),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_joint_distribution_sees_a_wrong_sampler(name, monkeypatch):
    place, mutant = MUTANTS[name]
    monkeypatch.setattr(place, name, mutant(getattr(place, name)))
    if name == "hamiltonian":
        monkeypatch.setattr(predictor, "_SIZES", (1.2, 1.6))
    found = joint_distribution(RESPONSES["poisson"], sweeps=150)
    assert _largest(found) > 7.0, found


# --- fits ------------------------------------------------------------------------------------------------------------------


def _counts(n, p, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, rng.poisson(np.exp(0.7 + 0.9 * X[:, 0] - 0.7 * X[:, 1]))


def _fit(X, y, **options):
    settings = dict(response="poisson", draws=60, warmup=50, chains=2, rng=3, tau_scale=0.01)
    return ns.bayes.HorseshoeRegression(**(settings | options)).fit(X, y)


def test_auto_takes_it_where_no_sampler_integrates_the_coefficients_out():
    X, y = _counts(20, 30)
    assert _fit(X, y).sampler_ == "predictor"
    assert _fit(X[:, :15], y, warmup=60).sampler_ != "predictor"
    classes = ns.bayes.HorseshoeClassifier(draws=20, warmup=50, chains=2, rng=1).fit(X, y > 2)
    assert classes.sampler_ == "collapsed-gibbs"


@pytest.mark.parametrize("slab", [{}, {"slab": 2.0}, {"slab": 2.0, "slab_df": 4.0}])
def test_bits_depend_on_neither_threads_nor_chains(slab, monkeypatch):
    X, y = _counts(20, 30)
    want = _fit(X, y, **slab).draws_["beta"]
    monkeypatch.setattr(predictor, "_LARGE", 0.0)
    np.testing.assert_array_equal(_fit(X, y, workers=2, **slab).draws_["beta"], want)
    with ThreadPoolExecutor(1) as pool:
        np.testing.assert_array_equal(_fit(X, y, workers=pool, **slab).draws_["beta"], want)
    more = _fit(X, y, draws=20, **slab)
    np.testing.assert_array_equal(more.continue_(40).draws_["beta"], want)


def test_sparse_rows_stay_sparse():
    X, y = _counts(20, 40)
    X = X * (np.random.default_rng(2).random(X.shape) < 0.3)
    found, want = (_fit(rows, y, warmup=0, draws=2, sampler="predictor").coef_ for rows in (sparse.csr_array(X), X))
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("response", ["logit", "probit"])
def test_two_classes_by_name(response):
    """Means and standard deviations are those of the collapsed sampler."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 40))
    y = 2.0 * X[:, 0] + rng.standard_normal(30) > 0.0
    settings = dict(response=response, slab=2.0, tau_scale=0.05, draws=4000, warmup=500, rng=5)
    found, want = (
        ns.bayes.HorseshoeClassifier(sampler=word, **settings).fit(X, y).draws_ for word in ("predictor", "collapsed-gibbs")
    )
    for name, f in (
        ("beta", lambda v: v),
        ("beta", abs),
        ("log_tau", lambda v: v[:, :, None]),
        ("log_tau", lambda v: v[:, :, None] ** 2),
    ):
        a, b = f(found[name]), f(want[name])
        z = (a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / np.hypot(ns.bayes.mcse(a), ns.bayes.mcse(b))
        assert abs(z).max() < 4.5, z


def test_the_warning_names_a_remedy():
    X, y = _counts(20, 30)
    with pytest.warns(ns.ConvergenceWarning, match=r"tau_scale=q/\(\(p - q\)\*sqrt\(n\)\)"):
        _fit(X, y, tau_scale=1.0, draws=20)


def test_huge_counts_and_rare_ones():
    """Of a million, and of a single one: finite draws."""
    X, y = _counts(15, 20)
    for counts in (y * 1_000_000, np.arange(15) == 3):
        model = _fit(X, counts)
        assert np.isfinite(model.draws_["beta"]).all() and model.stats_["acceptance"] > 0.5
