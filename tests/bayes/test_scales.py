"""Columns that are not shrunk, and columns that share a scale: closed forms, and what the rest of the estimator makes of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats

import numbastats as ns
from numbastats._core.place import Place
from numbastats.bayes.samplers import scales
from tests.bayes.naive import quick
from tests.contract import same

pytestmark = pytest.mark.filterwarnings("ignore:the chains have not converged")


def columns(n=30, p=3, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * [3.0, 1.0, 0.2, *[1.0] * (p - 3)] + [4.0, 0.0, 0.0, *[0.0] * (p - 3)]


def number(**options):
    return ns.bayes.HorseshoeRegression(**(dict(chains=4, warmup=100, draws=1000, rng=3) | options))


def check_normal(draws, mean, sd):
    """Draws (chains, draws, k) against means within 4 standard errors, and standard deviations."""
    error = ns.bayes.mcse(draws)
    assert (abs(draws.mean(axis=(0, 1)) - mean) < 4.0 * error).all(), (draws.mean(axis=(0, 1)), mean, error)
    squares = (draws - mean) ** 2
    assert (abs(squares.mean(axis=(0, 1)) - sd**2) < 4.0 * ns.bayes.mcse(squares)).all(), (squares.mean(axis=(0, 1)), sd**2)


@pytest.mark.parametrize("sampler", ["gibbs", "collapsed-gibbs"])
@pytest.mark.parametrize("weighted", [False, True])
def test_flat_priors_give_least_squares(sampler, weighted):
    """Student's t of n - k degrees of freedom around the least squares; the intercept, too."""
    X = columns()
    rng = np.random.default_rng(2)
    y, w = 1.0 + X @ [0.5, -2.0, 3.0] + rng.standard_normal(30), rng.uniform(0.5, 1.5, 30) if weighted else np.ones(30)
    model = number(unpenalized=[1, 0, 2], sampler=sampler, draws=500).fit(X, y, w)
    Z = np.column_stack([np.ones(30), X])
    covariance = np.linalg.inv((Z.T * w) @ Z)
    mean = covariance @ (Z.T @ (w * y))
    free = w.sum() - 4.0
    sd = np.sqrt(covariance.diagonal() * (w @ (y - Z @ mean) ** 2) / (free - 2.0))
    check_normal(np.concatenate([model.draws_["intercept"][:, :, None], model.draws_["beta"]], axis=2), mean, sd)


def glm(X, y, response, precision):
    """Mode and standard deviations at the mode, of a posterior with normal priors."""
    Z = np.column_stack([np.ones(len(X)), X])
    s = np.where(y > 0, 1.0, -1.0)

    def negative(b):
        m = Z @ b
        rows = {
            "logit": lambda: np.logaddexp(0.0, -s * m),
            "probit": lambda: -scipy.special.log_ndtr(s * m),
            "poisson": lambda: np.exp(m) - y * m,
        }[response]()
        return rows.sum() + 0.5 * (precision * b) @ b

    b = scipy.optimize.minimize(negative, np.zeros(Z.shape[1]), method="BFGS", tol=1e-9).x
    h = 1e-3 * np.eye(b.size)
    second = [[negative(b + u + v) - negative(b + u - v) - negative(b - u + v) + negative(b - u - v) for u in h] for v in h]
    return b, np.sqrt(np.linalg.inv(np.array(second) / 4e-6).diagonal())


@pytest.mark.parametrize("response", ["logit", "probit", "poisson"])
def test_many_rows_give_the_generalised_linear_model(response):
    """Up to the asymmetry of the likelihood, some hundredths of a standard deviation."""
    X = columns(1000)
    rng = np.random.default_rng(3)
    m = X @ [0.1, -0.5, 1.0] - 0.5
    y = rng.poisson(np.exp(m)) if response == "poisson" else (m + rng.logistic(size=1000) > 0).astype(float)
    kind = ns.bayes.HorseshoeRegression if response == "poisson" else ns.bayes.HorseshoeClassifier
    model = kind(response=response, unpenalized=[0, 1, 2], standardize=False, warmup=200, draws=800, rng=1).fit(X, y)
    first = 0.0 if response == "poisson" else 0.01
    mean, sd = glm(X, y, response, np.array([first, *(0.1 * X.std(axis=0)) ** 2]))
    x = np.concatenate([model.draws_["intercept"][:, :, None], model.draws_["beta"]], axis=2).reshape(-1, 4)
    np.testing.assert_allclose((x.mean(axis=0) - mean) / sd, 0.0, atol=0.15)  # observed 0.09
    np.testing.assert_allclose(x.std(axis=0) / sd, 1.0, atol=0.06)  # observed 0.03


def test_only_the_other_columns_are_shrunk():
    """Of a column without effect the horseshoe shrinks the estimate, which least squares leave."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 6))
    y = rng.standard_normal(60)
    y += 0.2 * X[:, 2]
    free, shrunk = (number(unpenalized=chosen).fit(X, y).coef_[2] for chosen in ([2], []))
    assert free == pytest.approx(np.linalg.lstsq(np.column_stack([np.ones(60), X[:, 2]]), y)[0][1], abs=0.05)
    assert abs(shrunk) < 0.75 * abs(free)


@pytest.mark.parametrize(
    "options", [{}, {"dtype": "int8"}, {"dtype": "bfloat16"}, {"sampler": "gibbs", "standardize": True}], ids=str
)
def test_order_of_columns(options):
    """Numbers that come back are in the order of X, whatever the order in which the sampler has the columns."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 5, (90, 5)).astype(float)
    y = X @ [1.0, -1.0, 0.0, 0.5, 0.0] - 1.0 + rng.standard_normal(90) > 0
    first, order = [3, 1], [3, 1, 0, 2, 4]
    model = quick(unpenalized=first, keep="all", **options).fit(X, y)
    other = quick(unpenalized=[0, 1], keep="all", **options).fit(X[:, order], y)
    for name in ("beta", "log_lambda"):
        assert same(model.draws_[name][:, :, order], other.draws_[name])
    log_lambda = model.draws_["log_lambda"]
    assert np.isnan(log_lambda[:, :, first]).all() and np.isfinite(log_lambda[:, :, [0, 2, 4]]).all()
    assert same(model.moments_["variance"][1:][order], other.moments_["variance"][1:])
    np.testing.assert_allclose(model.decision_draws(X), other.decision_draws(X[:, order]), rtol=1e-12, atol=1e-12)


def test_names_files_and_clones(tmp_path):
    pandas, base = pytest.importorskip("pandas"), pytest.importorskip("sklearn.base")
    X = columns(40)
    y = X[:, 0] - 4.0 + np.random.default_rng(1).standard_normal(40)
    frame = pandas.DataFrame(X, columns=["age", "dose", "c"])
    model = number(unpenalized=["dose", "age"], draws=20).fit(frame, y)
    by_number = number(unpenalized=np.array([1, 0]), draws=20).fit(X, y)
    assert same(model.draws_["beta"], by_number.draws_["beta"]) and model.summary()["name"][1:4].tolist() == ["age", "dose", "c"]
    assert base.clone(model).unpenalized == ["dose", "age"] and "unpenalized=['dose', 'age']" in repr(model)
    for fit in (model, by_number):
        fit.save(tmp_path / "model")
        loaded = ns.bayes.HorseshoeRegression.load(tmp_path / "model")
        assert list(loaded.unpenalized) == list(fit.unpenalized) and same(loaded.predict(X), fit.predict(X))
    assert same(model.continue_(10).draws_["beta"], number(unpenalized=[1, 0], draws=30).fit(X, y).draws_["beta"])


def test_by_default_with_more_columns_than_rows():
    """All outcomes by the sampler that "auto" takes; a streamed X."""
    X = columns(20, 30)
    y = 2.0 * X[:, 1] + np.random.default_rng(1).standard_normal(20)
    blocks = lambda: ((X[i : i + 7], y[i : i + 7]) for i in range(0, 20, 7))  # noqa: E731
    model = number(unpenalized=[1], draws=30).fit(X, y)
    assert model.sampler_ == "collapsed-gibbs" and same(number(unpenalized=[1], draws=30).fit(blocks).coef_, model.coef_)
    for response in ("logit", "probit"):
        kind = ns.bayes.HorseshoeClassifier(response=response, unpenalized=[1], warmup=50, draws=30, rng=1)
        assert np.isfinite(kind.fit(X, y > 0).coef_).all()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("dose", r"use a list of columns, \['dose'\]"),
        (1, "no list"),
        (["doze"], "names 0 columns of X: the columns are age, dose, c; pass one of these"),
        ([3], "columns from 0 to 2"),
        ([-1], "columns from 0 to 2"),
        ([True], "columns from 0 to 2"),
        ([1.0], "columns from 0 to 2"),
        (["age", 0], "column 0 twice"),
    ],
    ids=str,
)
def test_columns_that_are_not_there(chosen, message):
    pandas = pytest.importorskip("pandas")
    X = columns(40)
    frame = pandas.DataFrame(X, columns=["age", "dose", "c"])
    with pytest.raises((ValueError, TypeError), match=message):
        number(unpenalized=chosen).fit(frame, X[:, 1])
    with pytest.raises(ValueError, match="X has no names; in a pipeline .* pass numbers"):
        number(unpenalized=["age"]).fit(X, X[:, 1])


def test_improper_posteriors_are_refused():
    """With flat priors; a normal one determines what the data do not."""
    X = columns(20, 25)
    X[:, 4] = X[:, 3]
    y = np.random.default_rng(1).standard_normal(20)
    for p in (10, 25):
        with pytest.raises(ValueError, match="depend on each other"):
            number(unpenalized=[3, 4]).fit(X[:, :p], y)
        finite = number(unpenalized=[3, 4], intercept_scale=10.0, draws=20, slab=2.5 if p > 20 else None)
        assert np.isfinite(finite.fit(X[:, :p], y).coef_).all()
    with pytest.raises(ValueError, match="posterior of tau is improper"):
        number(intercept_scale=10.0, draws=20).fit(X, y)
    with pytest.raises(ValueError, match="fewer columns without shrinkage"):
        number(unpenalized=list(range(19))).fit(X, y)
    with pytest.raises(ValueError, match="have to exceed 3"):
        number(unpenalized=[0, 1]).fit(X, y, np.full(20, 0.15))
    ones = np.column_stack([np.ones(20), X[:, :3]])
    model = number(unpenalized=[0], fit_intercept=False, standardize=False).fit(ones, y + 5.0)
    assert model.coef_[0] == pytest.approx(y.mean() + 5.0, abs=4.0 * y.std() / math.sqrt(20.0))


# --- columns that share a local scale ------------------------------------------------------------------------------------


def log_density_of_group(t, squares, m):
    """Log density of m coefficients given log tau = t, lambda half-Cauchy, by quadrature over log lambda."""
    u = np.linspace(-30.0, 30.0, 2001)
    log = -np.logaddexp(0.0, 2.0 * u) + u - m * (u + t) - 0.5 * squares * np.exp(-2.0 * (u + t))
    return scipy.special.logsumexp(log) + math.log(u[1] - u[0])


def test_scales_given_the_coefficients():
    """Log tau against its density on a grid, and local scales at a fixed tau against theirs; unpenalised columns keep theirs."""
    b, groups, chains, steps = np.array([5.0, 0.3, -0.2, 1.5, 0.01, 0.4, 0.6]), np.array([0, 1, 0, 1, 2, 1]), 300, 30
    squares, sizes = np.bincount(groups, b[1:] ** 2), np.bincount(groups)
    B = np.tile(b, (chains, 1))
    drawn = {}
    for tau in (None, 0.7):
        prior = scales.Prior("horseshoe", 0, (0.25,), 0.5, tau, groups=groups)
        state = scales.start(prior, B.shape, -1.0)
        numbers = scales.Numbers((np.uint32(1), np.uint32(2)), 0, chains, chains, 7, 1, Place("cpu", 1))
        for _ in range(steps):
            scales.draw(prior, state, B, numbers)
            numbers.clock += 1
        assert (state.d[:, 0] == 0.25).all() and all(
            np.ptp(state.d[:, 1:][:, groups == g], axis=1).max() == 0.0 for g in range(3)
        )
        drawn[tau] = state
    t = np.linspace(-8.0, 5.0, 261)
    log = [sum(log_density_of_group(v, s, m) for s, m in zip(squares, sizes, strict=True)) for v in t]
    log = np.array(log) + scipy.stats.halfcauchy.logpdf(np.exp(t), scale=0.5) + t
    mass = np.cumsum(np.exp(log - log.max()))
    check = lambda x, grid, mass: scipy.stats.kstest(x, lambda v: np.interp(v, grid, mass / mass[-1])).pvalue  # noqa: E731
    assert check(drawn[None].log_tau, t, mass) > 1e-3
    for g, first in enumerate((0, 1, 4)):
        u, x = np.linspace(-12.0, 14.0, 5201), 0.5 * squares[g] / 0.49  # log eta
        log = 0.5 * (sizes[g] + 1.0) * u - x * np.exp(u) - np.log1p(np.exp(u))
        eta = drawn[0.7].d[:, 1 + first] * 0.49
        assert check(np.log(eta), u, np.cumsum(np.exp(log - log.max()))) > 1e-3


def test_groups_by_name_and_in_files(tmp_path):
    """Names, order of columns, all samplers at once; what shares a scale has the same one in every draw."""
    pandas, base = pytest.importorskip("pandas"), pytest.importorskip("sklearn.base")
    X = columns(40, 5)
    y = X[:, 0] - 4.0 + np.random.default_rng(1).standard_normal(40) > 0
    frame, order = pandas.DataFrame(X, columns=list("abcde")), [3, 0, 1, 2, 4]
    fit = lambda X, **options: quick(keep="all", standardize=True, **options).fit(X, y)  # noqa: E731
    for sampler in ("gibbs", "px-gibbs", "split-hmc", "surrogate", "collapsed-gibbs"):
        model = fit(frame, unpenalized=["d"], groups=[["a", "c"], ["e"]], sampler=sampler)
        other = fit(X[:, order], unpenalized=[0], groups=[[3, 1]], sampler=sampler)
        assert same(model.draws_["beta"][:, :, order], other.draws_["beta"])
        log_lambda = model.draws_["log_lambda"]
        np.testing.assert_allclose(log_lambda[:, :, 0], log_lambda[:, :, 2], rtol=1e-14)
        assert abs(log_lambda[:, :, 0] - log_lambda[:, :, 1]).min() > 0.0 and np.isnan(log_lambda[:, :, 3]).all()
    assert base.clone(model).groups == model.groups == [["a", "c"], ["e"]]
    model.save(tmp_path / "model")
    loaded = ns.bayes.BayesProbit.load(tmp_path / "model")
    assert loaded.groups == model.groups and same(loaded.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(ValueError, match="in that order"):
        loaded.predict(frame[list("edcba")])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(groups=[[0, 1], [1, 2]]), r"column 1 is in groups\[1\] and in groups\[0\]"),
        (dict(groups=[[0, 1]], unpenalized=[0]), r"column 0 is in groups\[0\] and in unpenalized"),
        (dict(groups=[0, 1]), r"groups\[0\]=0 is no list; use a list of columns, \[0\]"),
        (dict(groups=2), "use a list of groups"),
        (dict(groups=[[0, 7]]), r"groups\[0\] has 7; use names, or numbers of columns from 0 to 2"),
        (dict(groups=[[0, 1]], prior="lasso"), "use prior='horseshoe'"),
        (dict(groups=[[0, 1]], slab=2.0, slab_df=4.0), "slab= alone"),
    ],
    ids=str,
)
def test_groups_that_cannot_be(options, message):
    X = columns(40)
    with pytest.raises((ValueError, TypeError), match=message):
        quick(**options).fit(X, X[:, 1] > 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["horseshoe", "horseshoe+"])
def test_shared_scales_are_drawn_reversibly(name):
    """As the surrogate's acceptance needs: f(x) g(x') has the mean of g(x) f(x') over steps from x to x' of a long chain.

    Without `reversible` the horseshoe+ is 34 standard errors from that.
    """
    b, groups, chains = np.array([5.0, 0.3, -0.2, 1.5, 0.01, 0.4, 0.6]), np.array([0, 1, 0, 1, 2, 1]), 250
    B = np.tile(b, (chains, 1))
    prior = scales.Prior(name, 0, (0.25,), 0.5, None, 2.0, groups=groups)
    state = scales.start(prior, B.shape, -1.0)
    numbers = scales.Numbers((np.uint32(7), np.uint32(2)), 0, chains, chains, 7, 1, Place("cpu", 1))
    seen = []
    for _ in range(60):
        scales.draw(prior, state, B, numbers, reversible=True)
        numbers.clock += 1
        second = [] if state.second is None else [state.second[:, 1], state.second[:, 2]]
        seen.append(np.tanh(np.column_stack([state.log_tau, *np.log([*state.d[:, [1, 2, 5]].T, *second])]) / 3.0))
    old, new = np.array(seen[16:-1]), np.array(seen[17:])
    gaps = (old[..., :, None] * new[..., None, :] - new[..., :, None] * old[..., None, :]).mean(axis=0)
    pairs = np.triu_indices(gaps.shape[1], 1)
    z = (gaps.mean(axis=0) / (gaps.std(axis=0) + 1e-300) * math.sqrt(chains))[pairs]
    assert abs(z).max() < 4.0, z  # observed 2.3
