"""The record of a response: what a regression knows of its outcomes. Engines ask the record; none of them knows its word.

There are three forms. A `Response` has independent rows with one linear predictor each: a scalar function gives the
log-likelihood of a row and its derivative, and is bound to the pass over the rows (kernels/likelihood.py), on the CPU and on a
GPU. Where it has parameters of its own, or outcomes may be known to lie between two ends, the function has the derivatives in
all of them, and serves predictions and criteria, too. A `Joint` response has rows that depend on each other, or several linear
predictors a row: its log-likelihood is a function of arrays. `Classes` (classes.py) are ordered, or more than two, and have a
pass of their own.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from numbastats._core.checks import letters
from numbastats.bayes.kernels import likelihood as k


class Own(NamedTuple):
    """A parameter of a response beside the coefficients, which the chains have transformed to all numbers.

    Parameters
    ----------
    name : str
        Of the transformed parameter, in the state of the chains and in `draws_`: "log_sigma".
    value : callable
        The parameter, given the transformed one.
    log_prior : callable
        Log prior density of the transformed parameter, up to a constant.
    scale : bool
        Whether it is the logarithm of a scale of the outcomes: these are then sampled in units of their standard deviation.
    start : float
        The transformed parameter at the start of the chains.
    label : str
        Name of the parameter itself; by default `name` without "log_".
    transform : callable
        The transformed parameter, given the parameter itself.
    above : float
        The parameter itself is above this.
    """

    name: str
    value: Callable
    log_prior: Callable
    scale: bool = False
    start: float = 0.0
    label: str = ""
    transform: Callable = np.log
    above: float = 0.0

    @property
    def word(self):
        """Name of the parameter itself."""
        return self.label or self.name.removeprefix("log_")

    def log_prior_slope(self, v):
        """The derivative of `log_prior`, which takes complex numbers."""
        return self.log_prior(v + 1e-30j).imag / 1e-30


def log_mean(weights, offsets, outcomes):
    """The logarithm of the mean of outcomes that come as logarithms: where an intercept may start."""
    rest = outcomes - offsets
    return float(np.log(np.average(np.exp(rest - rest.max()), weights=weights)) + rest.max())


def half_normal(v):
    """Log prior of the logarithm of a scale that is half-normal, of standard deviation 1 in units of the outcomes' spread."""
    return v - 0.5 * np.exp(2.0 * v)


@dataclass(frozen=True, kw_only=True)
class Record:
    """What both forms have. Functions get outcomes y, linear predictors m, and `own`, the transformed own parameters by name.

    Parameters
    ----------
    word : str
    aliases : tuple of str
        By which users name it.
    noun : str
        What the outcomes are, in messages.
    samplers : tuple of str
        The files in `samplers` that take it.
    usual : str, optional
        The one of "auto" for fewer columns than rows; by default the warmup chooses between a surrogate and Hamiltonian steps.
    holds : callable, optional
        Whether each number of an array is an outcome; by default all numbers are.
    fix : str
        Which numbers are, and what to do about others, for the message.
    improper : callable, optional
        Says of outcomes why their posterior under a flat prior of the intercept is improper, or None.
    log : bool
        Whether y, in all functions and in the kernels, is the logarithm of an outcome, as of lifetimes.
    logit : bool
        Whether it is its logit.
    censors : bool
        Whether outcomes may be known to lie between two ends. Then y may be an array of both.
    link : str
        "log" where m is the logarithm of the mean but for a constant, so that rows may have an exposure.
    mean : callable, optional
        Mean outcome of m, of responses with `constants` ``mean(m, own)``; by default m itself.
    log_density, tail, quantile : callable
        ``log_density(y, m, own)``, P(Y > y) as ``tail(y, m, own)``, and ``quantile(u, m, own)``, by which outcomes are drawn.
    own : tuple of Own
    mixed : bool
        Whether the posterior is to be the mixture of those that leave out a row each, for the sampler "predictor": the likelihood
        times the sum of the inverse likelihoods of the rows.
    held : dict
        Own parameters that are fixed, which `own` has no more: the place of each in it, and the transformed value.
    level : callable
        Where an intercept may start, given weights, offsets and outcomes: by default at 0.
    robust : bool
        Whether outcomes with a scale are centred at their median and scaled by the median distance from it, for heavy tails.
    classes : bool
        Classes instead of numbers. Of two a row of X and its offset are multiplied by -1 or 1.
    ordered : bool
        Whether the classes have an order.
    more : callable, optional
        The record of more than two classes, or of ordered ones, given the names of all: ``more(labels)``.
    weighted : bool
        Whether rows may have weights and offsets.
    concave : bool
        Whether log densities are concave in m.
    intercept : bool
        Whether there may be an intercept; without one the columns are centred all the same.
    proportional : bool
        Whether hazards are proportional and left open but for that: predictors count by their differences alone, and rows have no
        distribution of their own.
    flat : bool
        Whether the posterior is proper under flat priors of some columns.
    separable : bool
        Whether some columns may fit all outcomes perfectly, so that the prior alone bounds their coefficients.
    screen : str, optional
        A transform of y by which normal regression finds columns that matter, where more columns than rows are slow.
    newton : int, optional
        So many Newton steps from 0 find the mode; by default they are halved where the posterior falls, until it is found.
    light : bool
        Whether the tails of the posterior may be heavier than those of a normal surrogate.
    stored : tuple of str
        Types in which X may be stored beside floats: "int8", "bfloat16".
    """

    word: Any
    aliases: tuple[str, ...] = ()
    noun: str
    samplers: tuple[str, ...] = ("hamiltonian", "surrogate")
    usual: str | None = None
    holds: Callable | None = None
    fix: str = ""
    log: bool = False
    logit: bool = False
    censors: bool = False
    link: str = ""
    improper: Callable | None = None
    mean: Callable | None = None
    log_density: Callable
    tail: Callable
    quantile: Callable
    own: tuple[Own, ...] = ()
    mixed: bool = field(default=False, init=False)
    held: dict[str, tuple[int, float]] = field(default_factory=dict, init=False)
    level: Callable = lambda weights, offsets, outcomes: 0.0
    robust: bool = False
    classes: bool = False
    ordered: bool = False
    more: Callable | None = None
    weighted: bool = True
    concave: bool = True
    intercept: bool = True
    proportional: bool = False
    flat: bool = False
    separable: bool = False
    screen: str | None = None
    newton: int | None = None
    light: bool = True
    stored: tuple[str, ...] = ()

    def __reduce__(self):  # pickled by its word: functions are not
        return _restored, (self.word, self.held)

    def holding(self, values, size=1.0):
        """The record with some own parameters fixed, given by their words; scales are divided by `size`."""
        held = {}
        for j, one in enumerate(self.own):
            if one.word in values:
                held[one.name] = j, float(one.transform(values[one.word] / (size if one.scale else 1.0)))
        return self._held(held) if held else self

    def _held(self, held):
        found = self._copied()
        object.__setattr__(found, "own", tuple(one for one in self.own if one.name not in held))
        object.__setattr__(found, "held", held)
        return found

    def mixture(self):
        """The record whose posterior is the mixture of those that leave out a row each."""
        found = self._copied()
        object.__setattr__(found, "mixed", True)
        return found

    def _copied(self):
        found = object.__new__(type(self))  # a copy would come from the pickle, which is the record of the word
        vars(found).update(vars(self))
        return found

    @property
    def scaled(self):
        """Whether outcomes are sampled in units of their spread: an own parameter is their scale."""
        return any(own.scale for own in self.own)

    @property
    def general(self):
        """Whether rows take own parameters and both ends of an outcome."""
        return getattr(self, "constants", None) is not None

    @property
    def signed(self):
        """Whether outcomes are two classes, -1 and 1."""
        return self.classes

    several = False  # whether they are classes that are no signs
    width, axes = 1, ()  # linear predictors of a row, and further axes of them
    of = ("",)  # what names of coefficients have behind them, for each predictor

    def of_classes(self, labels):
        """The record of a fit with classes of these names."""
        return self if self.more is None or (len(labels) == 2 and not self.ordered) else self.more(labels)

    @property
    def discrete(self):
        """Whether outcomes are whole numbers."""
        return not self.classes and self.holds is not None and not self.holds(np.array(0.5))

    def own_of(self, draws):
        """The own parameters of all draws in one row, by name."""
        found = {own.name: draws[own.name].reshape(-1) for own in self.own}
        return found | {name: np.full(draws["log_tau"].size, v) for name, (_, v) in self.held.items()}

    def mean_of(self, m, own=None):
        """Mean outcomes of linear predictors."""
        return m if self.mean is None else self.mean(m, own) if self.general else self.mean(m)

    def outcome_of(self, y):
        """Outcomes of the y of `quantile`."""
        return np.exp(y) if self.log else expit(y) if self.logit else y

    @np.errstate(divide="ignore")  # of times lower ends may be 0
    def inner(self, outcomes):
        """The y of outcomes."""
        return np.log(outcomes) if self.log else logit(outcomes) if self.logit else outcomes

    def log_slope(self, y):
        """The logarithm of the derivative of y in the outcome, by which densities of y become those of outcomes; or None."""
        return -y if self.log else np.logaddexp(0.0, y) + np.logaddexp(0.0, -y) if self.logit else None


@dataclass(frozen=True, kw_only=True)
class Response(Record):
    """A response whose rows are independent, with one linear predictor each. Those of two classes are made by `two_classes`.

    Parameters
    ----------
    row : device function, optional
        The log-likelihood of ``(y, t)`` up to a term of y alone, and its derivative in t; None where sums over the rows are all
        that samplers need. It is bound to the pass over the rows when the record is made. With `constants` it is a function
        ``(lower, upper, t, c)``, the ends of the outcome equal where it is known: the log density but for `rest`, its first
        derivative in t, the second one's negative, and the first ones in the two own parameters.
    constants : device function, optional
        c, a tuple of numbers, of two own parameters, transformed; 0 is passed for those that the response does not have. Then
        `log_density` and `derivatives` are made of `row`.
    rest : callable, optional
        The term of the log density of y alone.
    derivatives : callable, optional
        ``derivatives(m, y, own)``: of `log_density` the first derivative in m and minus the second one, which may be below 0
        where the density is not log-concave. These two are all that the sampler "predictor" asks of a response; own parameters it
        draws by slices, from `Own.start` on.
    probability, log_probability : callable or Kernel, optional
        Of class 1, given m.
    averaged : callable, optional
        Given means and variances of normal m, the m of the average probability; by default draws are needed.
    latent : callable, optional
        Latent variables that make rows of two classes normal, for the sampler of more columns than rows:
        ``latent(key, stream, item, weights, margins)`` gives outcomes and their precisions in units of sigma^-2.
    expands : bool
        Whether sigma is then a parameter of the expanded model, else 1.
    """

    log_density: Any = None
    row: Any = None
    constants: Any = None
    rest: Callable | None = None
    derivatives: Callable | None = None
    probability: Any = None
    log_probability: Any = None
    averaged: Callable | None = None
    latent: Callable | None = None
    expands: bool = False
    kernels: dict[str, Any] = field(init=False, repr=False)
    _values: Any = field(init=False, repr=False, default=None)

    def __post_init__(self):
        passes = {} if self.row is None else k.passes(self.word, self.row, self.weighted, self.stored, self.constants)
        object.__setattr__(self, "kernels", passes)
        if self.general:
            object.__setattr__(self, "_values", k.values(self.word, self.row, self.constants))
            self._bind()

    def _bind(self):
        object.__setattr__(self, "log_density", self._log_density)
        object.__setattr__(self, "derivatives", self._derivatives)

    def _held(self, held):
        found = super()._held(held)
        found._bind()
        return found

    def own_numbers(self, many):
        """Own parameters of so many draws, shape (many, OWN), those that are fixed filled in, and the places of the others."""
        P = np.zeros((many, k.OWN))
        for j, v in self.held.values():
            P[:, j] = v
        taken = {j for j, _ in self.held.values()}
        return P, [j for j in range(k.OWN) if j not in taken][: len(self.own)]

    def _of_rows(self, y, m, own, count):
        """The first numbers of `row`, an array for each, of outcomes y or their ends in front; m has a column for each of own."""
        m = np.asarray(m, np.float64)
        many = m.ndim == 2
        P, places = self.own_numbers(m.shape[1] if many else 1)
        for j, one in zip(places, self.own, strict=True):
            P[:, j] = own[one.name]
        M = np.ascontiguousarray(m if many else m[:, None])
        Y = np.ascontiguousarray(np.broadcast_to(_ends(y, m)[..., 0] if many else _ends(y, m), (2, len(M))), np.float64)
        out = np.empty((count, *M.shape))
        self._values.serial(Y, M, P, out)
        return out.reshape(count, *m.shape)

    def _log_density(self, y, m, own):
        found = self._of_rows(y, m, own, 1)[0]
        return found if self.rest is None else found + self.rest(_ends(y, m)[0])

    def _derivatives(self, m, y, own):
        return tuple(self._of_rows(y, m, own, 3)[1:])


def _ends(y, m):
    """Both ends of outcomes, which y has in front or which are equal."""
    y = np.asarray(y, np.float64)
    return y if y.ndim > m.ndim else np.array([y, y])


def two_classes(link, log_link, **fields):
    """A response of two classes, y = -1 or 1: P(y) is link(y m), and rows of X have the sign of their outcome for `row`."""
    return Response(
        **{"noun": "classes", "probability": link, "log_probability": log_link, "separable": True} | fields,
        classes=True,
        log_density=lambda y, m, own: log_link(y * m),
        tail=lambda y, m, own: np.where(y < -1.0, 1.0, np.where(y < 1.0, link(m), 0.0)),
        quantile=lambda u, m, own: np.where(u < link(-m), -1.0, 1.0),
    )


class Steps(NamedTuple):
    """Steps of cumulative baseline hazards, by stratum and time.

    Parameters
    ----------
    logs : numpy.ndarray, shape (draws, steps)
    events : numpy.ndarray, shape (steps,)
        The weights of the events that a step rests on.
    time, stratum : numpy.ndarray, shape (steps,)
    last : numpy.ndarray, shape (strata,)
        The last time of each stratum.
    """

    logs: np.ndarray
    events: np.ndarray
    time: np.ndarray
    stratum: np.ndarray
    last: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Joint(Record):
    """A response whose rows depend on each other, or have several linear predictors each.

    Parameters
    ----------
    predictors : callable
        How many linear predictors a row has, given the outcomes.
    prepare : callable
        ``prepare(y, weights)``, once in a fit: what the other functions get in the place of y, by default y itself, an array of
        the shape (n,), or (k, n) of k numbers for each row.
    value : callable
        ``value(T, y, weights)`` for linear predictors T, shape (n, predictors): the log-likelihood and its derivatives, of the
        shape of T.
    curvature : callable
        ``curvature(T, y, weights)``, of the shape of T: a diagonal for the negative second derivatives, from which samplers
        make the metric of their steps. It need not be exact: proposals are accepted by `value`.
    information : callable, optional
        ``information(X, T, y, weights)``: the negative second derivatives in the coefficients, where these are far from those
        that the diagonal gives.
    baseline : callable, optional
        ``baseline(M, y)``, the `Steps` for linear predictors M of k draws, shape (k, n), of a response that leaves a hazard open.
    """

    predictors: Callable
    prepare: Callable = lambda y, weights: y
    value: Callable
    curvature: Callable
    information: Callable | None = None
    baseline: Callable | None = None


def _known():
    return importlib.import_module(__name__.rpartition(".")[0]).RESPONSES


def _restored(word, held):
    """A record from its pickle."""
    return record_of(word)._held(held) if held else record_of(word)


def word_of(response):
    """The word of a record, for it or for another one that means the same, with or without capitals; others as they are."""
    if not isinstance(response, str):
        return response
    words = {letters(word): record.word for record in _known().values() for word in (record.word, *record.aliases)}
    return words.get(letters(response), response)


def record_of(response):
    """The record of a word, or of itself; raises for unknown words."""
    if isinstance(response, Record):
        return response
    known, response = _known(), word_of(response)
    if response not in known:
        raise ValueError(f"response={response!r} is not understood; use one of {', '.join(map(repr, known))}")
    return known[response]


def facts_of_rows(weights, offsets, outcomes):
    """The kernels' facts of the rows of X beside its columns: an array with rows `WEIGHT`, `OFFSET` and `OUTCOME`.

    Outcomes may be an array of both ends, the second one of which is the row `UPPER`; others of a `Joint` response follow.
    """
    found = {k.WEIGHT: 1.0 if weights is None else weights, k.OFFSET: 0.0 if offsets is None else offsets}
    found |= dict(enumerate([outcomes] if np.ndim(outcomes) < 2 else outcomes, k.OUTCOME))
    return np.array(np.broadcast_arrays(*(found[row] for row in sorted(found))), np.float64)


def count_quantile(family, u, mean, *others, upper=False):
    """The least counts with P(Y <= count) >= u, or P(Y > count) <= u, of a family of distributions; raises for means above 1e15.

    Floats do not tell counts above that apart.
    """
    if not (mean <= 1e15).all():
        raise ValueError(
            f"the mean count is {np.max(mean):.3g} for some row and draw, beyond 1e15, from where on floats do not tell counts "
            "apart, so that neither medians nor outcomes are drawn; predict for rows and offsets like those of the fit, and look "
            "at converged_ and summary()"
        )
    # not at the top, where regressions of other responses would wait for it, and kernels depend on all distributions
    found = getattr(importlib.import_module("numbastats.distributions"), family)(mean, *others)
    return found.isf(u) if upper else found.ppf(u)
