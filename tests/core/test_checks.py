"""Inputs that `numpy.asarray` would take apart without a word, and numbers of workers."""

from __future__ import annotations

import numpy as np
import pytest

import numbastats as ns

X = np.linspace(0.1, 2.0, 24)


HIDDEN = np.arange(24) == 5


MASKED = np.ma.array(np.where(HIDDEN, 0.75, X), mask=HIDDEN)


MISSING = np.where(HIDDEN, np.nan, X)


LAW = ([0.3, 0.7], [1.0, 3.0], [30.0, 0.2])


SIGNS = np.arange(24) % 2


REFUSE = {
    "stable.score": lambda x: ns.stable.score(x, 1.5, 0.3),
    "stable.convert": lambda x: ns.stable.convert(1.5, 0.3, x),
    "stable.characteristic_function": lambda x: ns.stable.Stable(1.5, 0.3).characteristic_function(x),
    "stable.fit weights": lambda x: ns.stable.fit(X, weights=x),
    "mixture parameters": lambda x: ns.mixture.pdf(1.0, x, X, X, family="inverse_gaussian"),
    "mixture.partial_stats weights": lambda x: ns.mixture.partial_stats(X, *LAW, sample_weight=x, family="inverse_gaussian"),
    "kde.bandwidth weights": lambda x: ns.kde.KDE(bandwidth="isj").fit(X, sample_weight=x),
    "kde box": lambda x: ns.kde.KDE(h=0.5).fit(X).box_probability(x[5:6], [3.0]),
    "bayes.rhat": ns.bayes.rhat,
    "bayes.ess_bulk": ns.bayes.ess_bulk,
    "bayes.BayesProbit y": lambda x: ns.bayes.BayesProbit().fit(X[:, None], np.ma.array(SIGNS, mask=np.ma.getmask(x))),
    "QuantileTable.pdf": lambda x: ns.quantile.QuantileTable(lambda t: 1 / np.cosh(t)).pdf(x),
}


READ_AS_NAN = {
    "mixture.pdf": lambda x: ns.mixture.pdf(x, *LAW, family="inverse_gaussian"),
    "mixture.sf": lambda x: ns.mixture.sf(x, *LAW, family="inverse_gaussian"),
    "mixture.ppf": lambda x: ns.mixture.ppf(x / 4, *LAW, family="inverse_gaussian"),
    "mixture.responsibilities": lambda x: ns.mixture.responsibilities(x, *LAW, family="inverse_gaussian"),
    "kde.cdf": lambda x: ns.kde.KDE(h=0.5).fit(X).cdf(x),
    "kde.marginal": lambda x: ns.kde.KDE(h=0.5).fit(X).marginal([0], x),
}


COMPLEX = [
    "stable.score",
    "stable.convert",
    "stable.characteristic_function",
    "stable.fit weights",
    "mixture parameters",
    "mixture.partial_stats weights",
    "kde box",
    "bayes.rhat",
    "bayes.ess_bulk",
    "QuantileTable.pdf",
]


@pytest.mark.parametrize("name", REFUSE)
def test_masked_arrays_are_refused(name):
    with pytest.raises((TypeError, ValueError), match="masked|weights are"):
        REFUSE[name](MASKED)


def test_masked_arrays_take_no_results():
    """The mask would hide some of them."""
    for call in (ns.quantile.ndtri, lambda u, out: ns.stable.pdf(u, 1.5, 0.3, out=out), lambda u, out: ns.random.normal(out=out)):
        with pytest.raises(TypeError, match="out is a MaskedArray; it must be a numpy.ndarray"):
            call(X / 3.0, out=MASKED.copy())


@pytest.mark.parametrize("name", READ_AS_NAN)
def test_hidden_values_are_missing(name):
    got = READ_AS_NAN[name](MASKED)
    np.testing.assert_array_equal(got, READ_AS_NAN[name](MISSING))
    assert np.isnan(got[5]).all() and np.isfinite(got[:5]).all()


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_are_refused(name):
    with pytest.raises(TypeError, match="complex"):
        REFUSE[name](X + 1j)


@pytest.mark.parametrize(
    "call", [ns.stable.fit, ns.kde.bandwidth.scott, lambda x: ns.stable.fit_many([x])], ids=["fit", "scott", "fit_many"]
)
def test_complex_data_are_refused(call):
    with pytest.raises(TypeError, match="complex"):
        call(X + 1j)


@pytest.mark.parametrize("workers", [1.5, "2", 0, True])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_numbers_of_workers_are_checked(workers, size):
    """Also where nothing is left to compute, and for a GPU, which has no use for them."""
    for call in (
        lambda x, **o: ns.quantile.ndtri(x, **o),
        lambda x, **o: ns.stable.pdf(x, 1.5, 0.3, **o),
        lambda x, **o: ns.random.gamma(x, **o),
        lambda x, **o: ns.distributions.student_t(4.5).pdf(x, **o),
    ):
        for device in ("cpu", "cuda"):
            with pytest.raises(ValueError, match="workers=.* is not understood"):
                call(np.full(size, 0.5), workers=workers, device=device)


@pytest.mark.parametrize("value", ["1.5", ["a"], np.datetime64("2026-01-01")])
def test_text_and_dates_are_no_numbers(value):
    with pytest.raises(TypeError, match="pass real numbers"):
        ns.distributions.Normal(value)
