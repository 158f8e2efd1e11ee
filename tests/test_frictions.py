"""What newcomers tried first: the message that each mistake gets names the remedy, and nothing is wrong in silence."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import numbastats as ns

X = np.random.default_rng(1).normal(size=200)
PLANE = np.random.default_rng(1).normal(size=(200, 2))
AXES = [(-3.0, 3.0, 9)] * 2


def test_the_family_of_a_mixture():
    """Fits are of normal components where nothing is said; densities, whose parameters mean something else in each, are not."""
    want = ns.mixture.fit(X, 2, family="normal", rng=0).loglik
    fits = ns.mixture.fit(X, 2, rng=0), ns.mixture.fit_many([X], 2, rng=0), ns.mixture.Mixture(2, rng=0).fit(X).result_
    assert all(found.family == "normal" and found.loglik == want for found in fits)
    assert ns.mixture.likelihood_ratio(X, 1, n_boot=19, rng=0).null.family == "normal"
    with pytest.raises(TypeError, match="family is missing: .*family='normal'.*'gamma'"):
        ns.mixture.pdf(2.0, [1.0], [1.0], [1.0])


def test_frames_of_columns_are_not_taken_for_rows():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PLANE)
    for call in (
        lambda: ns.mixture.fit_many(frame, 1, family="normal"),
        lambda: ns.stable.fit_many(frame),
        lambda: ns.distributions.fit_many(frame, "normal"),
    ):
        with pytest.raises((TypeError, ValueError), match="its columns.*its rows|its rows.*its columns"):
            call()


def test_samples_in_columns():
    with pytest.raises(ValueError, match=r"samples are \(n, d\); transpose\?"):
        ns.kde.grid(PLANE.T, AXES)


def test_a_number_as_bandwidth():
    with pytest.raises(ValueError, match="Pass a number as h=.*bw_convention='sklearn'"):
        ns.kde.grid(PLANE, AXES, bandwidth=0.5)


def test_a_negative_density():
    with pytest.raises(ValueError, match="the density is negative at x = "):
        ns.quantile.QuantileTable(lambda v: v)


NAMES = {
    "seed": [lambda **o: ns.random.normal(**o), lambda **o: ns.stable.rvs(1.5, 0.0, **o)],
    "random_state": [lambda **o: ns.mixture.Mixture(2, **o), lambda **o: ns.mixture.fit(X, 1, family="normal", **o)],
    "n_jobs": [
        lambda **o: ns.kde.KDE(**o),
        lambda **o: ns.mixture.fit_many([X], 1, family="normal", **o),
        lambda **o: ns.stable.fit_many([X], **o),
        lambda **o: ns.distributions.fit_many([X], "normal", **o),
        lambda **o: ns.distributions.standardise(X, **o),
        lambda **o: ns.bayes.HorseshoeProbit(**o),
    ],
    "n_draws": [lambda **o: ns.bayes.HorseshoeProbit(**o), lambda **o: ns.bayes.HorseshoeRegression(**o)],
}
OURS = {"seed": "rng", "random_state": "rng", "n_jobs": "workers", "n_draws": "draws"}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_other_libraries(name):
    for call in NAMES[name]:
        with pytest.raises(TypeError, match=rf"has no argument '{name}': use {OURS[name]}="):
            call(**{name: 1})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ns.random.normal(0.0, -1.0), "scale has the negative value -1"),
        (lambda: ns.random.gamma(-1.0), "shape has the negative value -1"),
        (lambda: ns.random.truncnorm(0.0, 1.0, 2.0, 1.0), "lo is above hi"),
        (lambda: ns.random.uniform(3.0, 1.0), "low is above high"),
    ],
)
def test_draws_from_no_distribution(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_densities_out_of_their_domain_are_nan():
    assert np.isnan(ns.stable.pdf(0.0, 1.5, 0.0, scale=-1.0))


def test_separable_classes_are_told_of_the_remedy():
    x = np.linspace(-1.0, 1.0, 40)[:, None]
    with pytest.warns(ns.ConvergenceWarning, match="slab=.*standardi[sz]e"):
        ns.bayes.HorseshoeProbit(chains=2, warmup=60, draws=30, rng=1).fit(x, x[:, 0] > 0)


def test_normal_and_gaussian_are_one_word():
    t = ns.distributions.student_t(4.0)
    np.testing.assert_array_equal(ns.quantile.recycle(X, "gaussian", t), ns.quantile.recycle(X, "normal", t))
    for name in ("normal", "gaussian"):
        assert ns.mixture.fit(X, 1, family=name, rng=0).family == "normal"
    np.testing.assert_array_equal(
        ns.kde.grid(X, AXES[:1], kernel="normal", h=0.3), ns.kde.grid(X, AXES[:1], kernel="gaussian", h=0.3)
    )


def test_missing_values():
    missing = np.append(X, np.nan)
    with pytest.raises(ValueError, match="nan_policy='omit'"):
        ns.stable.fit(missing, nan_policy="raise")
    assert ns.stable.fit(missing, "quantile").n_missing == 1
    with pytest.raises(ValueError, match="nan_policy='omit'"):
        ns.kde.grid(missing, AXES[:1])
    assert ns.mixture.fit(missing, 1, family="normal", rng=0).n_dropped == 1


def test_results_are_compared_and_shown():
    found = ns.mixture.fit(np.exp(X), 1, family="lognormal", rng=0)
    assert (found == found) is True and found.pdf(1.0) > 0.0
    table = found.summary()
    assert table["mean_of_x"][0] == pytest.approx(np.exp(X).mean(), rel=0.1)  # `means` of a lognormal are of log x
    for result in (found, ns.stable.fit(X, "quantile"), ns.distributions.fit(np.exp(X), "gamma")):
        assert "object at 0x" not in repr(result) and "array(" not in repr(result) and "<table>" in result._repr_html_()
    assert repr(ns.bayes.HorseshoeProbit(slab=3.0)) == "HorseshoeProbit(slab=3.0)"
    assert "relative error" in repr(ns.quantile.QuantileTable(lambda v: np.exp(-0.5 * v * v)))


def test_labels_are_not_weights():
    labels = np.arange(200) % 2
    np.testing.assert_array_equal(ns.kde.KDE().fit(PLANE, labels).pdf(PLANE[:5]), ns.kde.KDE().fit(PLANE).pdf(PLANE[:5]))


def test_quants_find_what_they_need():
    d = ns.distributions.Stable(1.7, 0.0)
    assert d.expected_shortfall(0.01) < d.ppf(0.01) < d.interval(0.9)[0]
    assert ns.distributions.fit(X, "nig").params.keys() == {"alpha", "beta", "delta", "mu"}


def test_levy_stable_has_the_attributes_of_scipy():
    scipy = pytest.importorskip("scipy.stats").levy_stable
    ours = ns.interop.levy_stable
    for name in ("name", "shapes", "numargs"):
        assert getattr(ours, name) == getattr(scipy, name)
    frozen = ours(1.5, 0.2, loc=3.0)
    assert frozen.args == (1.5, 0.2, 3.0, 1) and ours.args == ()
    assert repr(frozen).startswith("levy_stable(1.5, 0.2, 3.0, 1)") and "object at" not in repr(ours)
    states = [np.random.RandomState(7) for _ in range(2)]  # noqa: NPY002
    draws = [ours.rvs(1.5, 0.0, size=3, random_state=state) for state in states]
    np.testing.assert_array_equal(*draws)
    assert (draws[0] != ours.rvs(1.5, 0.0, size=3, random_state=states[0])).all()


def test_names_that_are_completed_are_public():
    for room in (ns.kde, ns.mixture, ns.random, ns.stable, ns.quantile, ns.bayes, ns.distributions):
        assert dir(room) == sorted(room.__all__)
    assert "device" in inspect.signature(ns.mixture.fit_many).parameters
