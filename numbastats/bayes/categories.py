"""Predictions and tables of classes that are ordered or more than two, by the names that predictions.py has for the others."""

from __future__ import annotations

import math
import sys

import numpy as np

from numbastats.bayes import predictions
from numbastats.random import uniform


def rules_of(record):
    """The functions for a record's predictions: this module, or predictions.py."""
    return sys.modules[__name__] if record.several else predictions


def _taken(draws, number, record):
    """The draws in one chain, this many of them, equally spaced."""
    size = draws["log_tau"].size
    take = slice(None) if number is None else np.linspace(0, size - 1, min(number, size)).round().astype(int)
    names = ("beta", "intercept", *(["cutpoints"] if record.ordered else []))
    return {name: draws[name].reshape(size, *draws[name].shape[2:])[take][None] for name in names}


def predictors(draws, X, offset=None):
    """As `predictions.predictors`; of several predictors the shape is (rows, draws, predictors)."""
    beta, a = draws["beta"], draws["intercept"]
    axes = beta.shape[2:-1]
    flat = {"beta": beta.reshape(1, -1, beta.shape[-1]), "intercept": a.reshape(1, -1)}
    for part, m in predictions.predictors(flat, X, None, offset):
        yield part, m.reshape(len(m), -1, *axes)


def _log_probabilities(draws, X, record, offset, number=None):
    draws = _taken(draws, number, record)
    own = record.own_of(draws)
    for part, m in predictors(draws, X, offset):
        yield part, record.log_probabilities(m, own)


def probabilities(draws, X, interval=None, number=None, workers=None, *, record, offset=None):
    """Posterior means of the probabilities of the classes, shape (n, classes), and ends, shape (2, n, classes), of intervals."""
    shape = X.shape[0], len(record.labels)
    p, ends = np.empty(shape), np.empty((2, *shape))
    for part, found in _log_probabilities(draws, X, record, offset, number):
        p[part] = np.exp(found).mean(axis=1)
        if interval is not None:
            ends[:, part] = np.quantile(np.exp(found), [0.5 - 0.5 * interval, 0.5 + 0.5 * interval], axis=1)
    return p / p.sum(axis=1, keepdims=True), ends  # sums of rounded numbers


def log_probabilities(draws, X, workers=None, *, record, offset=None):
    """Logarithms of `probabilities`, also of a probability too small for a float."""
    out = np.empty((X.shape[0], len(record.labels)))
    for part, found in _log_probabilities(draws, X, record, offset):
        out[part] = np.logaddexp.reduce(found, axis=1) - math.log(found.shape[1])
    return out


def outcomes(draws, X, record, key, offset=None):
    """A class of every row for every draw, shape (chains * draws, n), by its number."""
    out = np.empty((draws["log_tau"].size, X.shape[0]))
    for part, found in _log_probabilities(draws, X, record, offset):
        u = uniform(size=found.shape[:2], rng=key, offset=part.start * found.shape[1], device="cpu")
        below = np.cumsum(np.exp(found), axis=2)
        out[:, part] = (below[:, :, :-1] < (u * below[:, :, -1])[:, :, None]).sum(axis=2).T
    return out


def log_likelihoods(draws, X, outcomes, workers=None, *, record, offset=None):
    """Log-likelihoods of the rows under every draw, shape (rows, draws), some rows at a time; classes by their numbers."""
    for part, found in _log_probabilities(draws, X, record, offset):
        y = outcomes[part].astype(int)
        yield np.take_along_axis(found, y[:, None, None], axis=2)[:, :, 0]


def beside(record):
    """Names of cut points, "a|b" between the classes a and b, or of intercepts."""
    if record.ordered:
        return [f"{low}|{high}" for low, high in zip(record.labels[:-1], record.labels[1:], strict=True)]
    return [f"intercept{one}" for one in record.of]


def side_by_side(draws, names, options):
    """As `predictions.side_by_side`, with coefficients of one class after the other, or with cut points."""
    record, shape = options.response, draws["log_tau"].shape
    parts, labels = [], []
    if options.fit_intercept:
        parts.append(draws["intercept"].reshape(*shape, -1))
        labels += beside(record)
    parts.append(draws["beta"].reshape(*shape, -1))
    labels += [f"{name}{one}" for one in record.of for name in names]
    if "cutpoints" in draws:
        parts.append(draws["cutpoints"])
        labels += beside(record)
    for name in (*(["log_tau"] if options.tau is None else []), "log_slab"):
        if name in draws:
            parts.append(draws[name][:, :, None])
            labels.append(name)
    return np.concatenate(parts, axis=2), labels
