"""Bayesian probit regression with shrinkage priors, in the manner of scikit-learn (which is not needed)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sys
import threading
import time

import numpy as np

from numbastats._core.archive import read_archive, write_archive
from numbastats._core.dispatch import choose_device, elementwise, to_host
from numbastats._core.errors import ConvergenceWarning, choice, warn
from numbastats._core.estimator import Estimator, not_fitted
from numbastats._core.parallel import check_workers, worker_count
from numbastats._core.random import key_words, normalise_rng
from numbastats.bayes.chains import SAMPLERS, Chains
from numbastats.bayes.design import Reader, Source, column, finite, matrix, part_rows, survey
from numbastats.bayes.diagnostics import ess_bulk, ess_tail, mcse, psis, rhat, unit_of
from numbastats.bayes.kernels import likelihood as kernels
from numbastats.bayes.likelihood import Rows

__all__ = ["BayesProbit", "HorseshoeProbit"]

_PRIORS, _KEEP = ("horseshoe", "ridge", "lasso"), ("moments", "cov", "draws", "all")
_FITTED = ("_used", "_chains", "_shift", "_scale", "_unit", "_moments", "_kept", "_trace", "_seconds")
_FIRST, _MOST_DRAWS, _MOST_WORK = 1000, 64_000, 1e10  # draws per chain by default; multiplications of a chain
_RHAT, _ESS = 1.01, 400  # of chains that agree (Vehtari et al. 2021)
_CUDA_FROM = 1e8  # entries of X from which "auto" takes a real GPU
_SINGLE_FROM = 1_000_000  # entries of X from which it is kept in float32 by default
_LIGHT = 0.6  # Pareto shape from which on the surrogate's tails are too light
_LARGEST = 1e100  # of X: X'X and the bounds of prior precisions are in the range of a Cholesky factorisation
_BLOCK = 2**22  # linear predictors held at once when draws meet rows


def _free_memory():
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _apply(name, x, workers=None):
    """An elementwise function of the room on a host array."""
    return elementwise(lambda dtype: kernels.ELEMENTWISE[name], ("x",), (x,), device="cpu", workers=workers, cost=3.0)


def _unit(sizes):
    """What coefficients are measured in: a power of two by which the smallest columns come near 1, if they are far below.

    Prior precisions of coefficients are kept above 1e-12, for the Cholesky factorisation, and start values are near 1.
    """
    sizes = sizes[sizes > 0]
    if not sizes.size or sizes.min() > 1e-3:
        return 1.0
    return 2.0 ** round(max(0.0, math.log2(min(1 / max(sizes.min(), 1e-270), 1e12 / sizes.max()))))


@contextlib.contextmanager
def _interrupts():
    """A list that Ctrl-C makes longer: it is looked at between iterations, which it must not tear. A second one acts at once."""
    seen, usual = [], signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield seen
        return

    def note(number, frame):
        seen.append(number)
        signal.signal(signal.SIGINT, usual)

    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, usual)


def _missing(value):
    """Whether an outcome is None, NaN or another that does not equal itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True


class _Moments:
    """Running mean, sum of squared deviations (or cross products) and share of positive values of every chain."""

    def __init__(self, chains, p, cross):
        self.n, self.mean = 0, np.zeros((chains, p))
        self.squares = np.zeros((chains, p, p) if cross else (chains, p))
        self.positive = np.zeros((chains, p))

    @np.errstate(over="ignore", invalid="ignore")  # squares of coefficients of columns near 1e-160 are infinite
    def add(self, B):
        self.n += 1
        before = B - self.mean
        self.mean += before / self.n
        after = B - self.mean
        self.squares += before[:, :, None] * after[:, None, :] if self.squares.ndim == 3 else before * after
        self.positive += B > 0

    @np.errstate(over="ignore", invalid="ignore")
    def pooled(self):
        """Mean, variance (and covariance) and probability of a positive value over all chains."""
        chains, n = self.mean.shape[0], self.n
        mean = self.mean.mean(axis=0)
        between = self.mean - mean
        cross = np.einsum("ci,cj->ij", between, between) if self.squares.ndim == 3 else (between**2).sum(axis=0)
        spread = (self.squares.sum(axis=0) + n * cross) / max(chains * n - 1, 1)
        found = {"mean": mean, "variance": spread, "positive": self.positive.sum(axis=0) / (chains * n)}
        return found if spread.ndim == 1 else found | {"variance": np.diag(spread).copy(), "covariance": spread}


class BayesProbit(Estimator):
    """Probit regression ``P(y = 1 | x) = Phi(a + x'b)`` with a shrinkage prior of b, by Markov chain Monte Carlo.

    Parameters
    ----------
    prior : {"horseshoe", "ridge", "lasso"}
        b_j has the prior N(0, lambda_j^2 tau^2): lambda_j half-Cauchy, 1, or such that b_j is Laplace with scale tau.
    tau_scale : float
        Scale of the half-Cauchy prior of tau.
    tau : float, optional
        A fixed tau.
    slab : float, optional
        Standard deviation of normal pseudo-observations at 0 of every b_j: keeps large coefficients of separable data finite.
    fit_intercept : bool
        Add the intercept a, which is not shrunk.
    intercept_scale : float
        Prior standard deviation of the intercept; may be inf.
    sampler : {"auto", "gibbs", "px-gibbs", "split-hmc", "surrogate"}
        "gibbs" is the sampler of the reference, corrected; "px-gibbs" adds parameter expansion. The other two need one pass
        over the data per iteration; "surrogate" wants many rows. Effective draws per second of the slowest coefficient against
        "gibbs", measured: 181 times with "surrogate" at 10^4 x 100, 3.5 times with "split-hmc" for 569 nearly separable rows.
        "auto" takes "px-gibbs" for more columns than rows, else decides between the last two at the end of the warmup. Draws of
        "surrogate" miss tails that are much heavier than those of a normal law, as with separable data and no slab.
    chains, warmup, thin : int
        A chain runs ``warmup + draws * thin`` iterations.
    draws : int, optional
        Draws per chain. By default 1000, doubled while the chains disagree (`converged_`), up to 64,000: for large X up to
        fewer, with at most 10^10 multiplications per chain, about a minute on one core. The limit counts work and not seconds,
        so that results do not depend on the machine.
    keep : {"draws", "all", "cov", "moments"}
        What is stored besides running moments: b, a and log tau of every draw; also log lambda; the covariance; nothing.
    inner_sweeps : int, optional
        Sweeps of "surrogate" per pass, by default a rule of rows and columns.
    standardize : bool
        Centre (with an intercept) and scale the columns; results are on the original scale.
    quantize : bool
        Store X in 8 bits: columns of integers that are at most 254 apart exactly, others rounded to 255 equidistant numbers
        from their smallest to their largest. The posterior is that of the rounded numbers.
    callback : callable, optional
        Called with a dictionary: "iteration"; "chain", the numbers of the chains, which advance side by side; by chain
        "acceptance", since the end of the warmup or within it, and "coefficients", the intercept first; "ess", the bulk
        effective sample sizes so far of "intercept", "log_tau" and "norm" (the length of b), NaN before the fourth draw.
        Sampling stops when it returns True, as by Ctrl-C: what was sampled is kept, `continue_` goes on from there.
    callback_every : int, optional
        Iterations between calls, by default about one second.
    dtype : {"float64", "float32", "bfloat16", "int8"}, optional
        Of X in memory; float32 by default from 10^6 entries on. "bfloat16" rounds to 8 significant bits, with the sums of
        float32; "int8" takes columns of integers that are at most 254 apart (dummies, counts, ages), exactly and with the sums
        of float64. Chunks of rows are added up, and linear algebra is done, in double.
    device : {"auto", "cpu", "cuda"}, optional
        Where the passes over X run. The p x p linear algebra is done on the CPU.
    workers : int, optional
    rng : None, int, SeedSequence or Generator

    Attributes
    ----------
    coef_ : numpy.ndarray, shape (1, p)
        Posterior means.
    intercept_ : numpy.ndarray, shape (1,)
    classes_ : numpy.ndarray, shape (2,)
    n_features_in_, n_iter_ : int
    feature_names_in_ : numpy.ndarray of str, shape (p,)
        The columns of a data frame; not there for other X.
    converged_ : bool
        Largest R-hat below 1.01 and smallest bulk ESS at least 400 (with keep="moments" or "cov": the R-hat of the means). For
        "surrogate" also a Pareto shape of the ratios of exact to approximate likelihood below 0.6 (seen: 0.1 to 0.5; 0.65 to 0.95
        where the draws missed the tails).
    draws_ : dict
        "beta" (chains, draws, p), "intercept" (chains, draws), "log_tau"; "log_lambda" with keep="all".
    moments_ : dict
        Whatever is kept: "mean", "variance" and "positive", P(b_j > 0), shape (p,), the intercept first if there is one; with
        keep="cov" also "covariance", shape (p, p).
    stats_ : dict
        sampler, acceptance, angle, milliseconds per iteration, non-finite proposals, the Pareto shape of "surrogate".
    sampler_ : str

    Notes
    -----
    A chain's draws depend on the key, the data and the number of chains, not on `workers` (with a fixed number of BLAS
    threads).

    References
    ----------
    A. Terenin, S. Dong, D. Draper, "GPU-accelerated Gibbs sampling: a case study of the horseshoe probit model", Statistics and
    Computing 29 (2019). Corrected: 1/tau^2 has a gamma law, and the last solve is with the transposed factor.
    A. Nishimura, M. A. Suchard, "Shrinkage with shrunken shoulders", Bayesian Analysis 18 (2023), for the slab.

    Examples
    --------
    >>> import numpy as np, numbastats as ns
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((500, 8))
    >>> y = X[:, 0] - X[:, 1] + rng.standard_normal(500) > 0
    >>> model = ns.bayes.HorseshoeProbit(chains=2, warmup=200, draws=300, rng=1).fit(X, y)
    >>> model.coef_[0].round().astype(int).tolist()
    [1, -1, 0, 0, 0, 0, 0, 0]

    Rows from anywhere, here in blocks of 100:

    >>> blocks = lambda: ((X[i : i + 100], y[i : i + 100]) for i in range(0, 500, 100))
    >>> again = ns.bayes.HorseshoeProbit(chains=2, warmup=200, draws=300, rng=1).fit(blocks)
    >>> bool((again.coef_ == model.coef_).all())
    True
    """

    _estimator_type = "classifier"

    def __init__(
        self,
        prior="horseshoe",
        *,
        tau_scale=1.0,
        tau=None,
        slab=None,
        fit_intercept=True,
        intercept_scale=10.0,
        sampler="auto",
        chains=4,
        warmup=1000,
        draws=None,
        thin=1,
        keep="draws",
        inner_sweeps=None,
        standardize=False,
        quantize=False,
        callback_every=None,
        dtype=None,
        device=None,
        workers=None,
        rng=None,
        callback=None,
    ):
        self.prior, self.tau_scale, self.tau, self.slab = prior, tau_scale, tau, slab
        self.fit_intercept, self.intercept_scale, self.sampler = fit_intercept, intercept_scale, sampler
        self.chains, self.warmup, self.draws, self.thin, self.keep = chains, warmup, draws, thin, keep
        self.inner_sweeps, self.standardize, self.quantize = inner_sweeps, standardize, quantize
        self.callback, self.callback_every = callback, callback_every
        self.dtype, self.device, self.workers, self.rng = dtype, device, workers, rng

    # --- validation ---

    def _check_options(self):
        choice("prior", self.prior, _PRIORS)
        choice("sampler", self.sampler, ("auto", *SAMPLERS))
        choice("keep", self.keep, _KEEP)
        for name, least in (("chains", 1), ("draws", 1), ("thin", 1), ("warmup", 0), ("inner_sweeps", 1)):
            value = getattr(self, name)
            if value is None and name in ("draws", "inner_sweeps"):
                continue
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise ValueError(f"{name}={value!r} is not understood; use an integer >= {least}")
        worker_count(self.workers)
        if self.sampler not in ("gibbs", "px-gibbs") and self.warmup < 50:
            raise ValueError(f"warmup={self.warmup} is too short for sampler={self.sampler!r}, which adapts; use at least 50")
        for name in ("tau_scale", "tau", "slab", "intercept_scale"):
            value = getattr(self, name)
            if value is None and name in ("tau", "slab"):
                continue
            if not value > 0 or (math.isinf(value) and name in ("tau_scale", "tau")):
                raise ValueError(f"{name}={value!r} is out of range; use a positive number")

    def _matrix(self, X):
        """X of a prediction: an array with the columns of the fit."""
        if callable(X):
            raise TypeError("X is a function; predictions take an array: call them for each of its blocks")
        check_workers(self.workers)
        names = getattr(X, "columns", None)
        X = matrix(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input: "
                f"X has shape {X.shape}; pass the columns of the fit"
            )
        if names is not None and hasattr(self, "feature_names_in_"):
            got, known = [str(n) for n in names], [str(n) for n in self.feature_names_in_]
            if got != known:
                raise ValueError(f"X has the columns {got}, the model was fitted with {known}; pass them in that order")
        for lo, x, _ in Reader(X).pieces():
            finite(x, lo)
        return X

    def _outcome(self, y, n):
        y = column(y)
        if y.ndim != 1 or y.size != n:
            raise ValueError(f"y has shape {y.shape}, but X has {n} rows; pass one outcome per row")
        missing = np.isnan(y) if y.dtype.kind == "f" else np.array([_missing(v) for v in y] if y.dtype.kind == "O" else [], bool)
        if missing.any():
            i = int(np.argmax(missing))
            raise ValueError(f"y[{i}] is {y[i]}; drop such rows first")
        try:
            classes = np.unique(y)
        except TypeError:
            kinds = sorted({type(v).__name__ for v in y})
            raise TypeError(f"y holds values of types that have no order, {', '.join(kinds)}; use one type") from None
        if classes.size > 2:
            shown = ", ".join(map(repr, classes[:6].tolist())) + (", ..." if classes.size > 6 else "")
            kind = "continuous numbers" if y.dtype.kind == "f" and (y != np.rint(y)).any() else "classes"
            raise ValueError(
                f"Only binary classification is supported. y has {classes.size} different values, {kind} ({shown}); a probit "
                "model needs two: pass, for example, y > threshold or y == value"
            )
        if classes.size == 1:
            if math.isinf(self.intercept_scale) and self.fit_intercept:
                raise ValueError("y has one class only: with intercept_scale=inf the posterior is improper; use a finite scale")
            warn(f"y has one class only, {classes.tolist()[0]!r}: the coefficients come from the prior")
            pair = {0: (0, 1), 1: (0, 1), -1: (-1, 1)}.get(classes[0].item() if classes.dtype.kind in "iufb" else None)
            pair = (False, True) if classes.dtype.kind == "b" else pair
            if pair is None:
                raise ValueError(f"y has one value only, {classes[0]!r}; the other class is unknown")
            classes = np.array(pair, classes.dtype)
        return classes, np.where(y == classes[1], 1, -1).astype(np.int8)

    def _storage(self):
        """Name of the type that X is to be stored in, None where its size decides."""
        names = ("float64", "float32", "bfloat16", "int8")
        try:
            name = self.dtype if self.dtype is None or str(self.dtype) == "bfloat16" else np.dtype(self.dtype).name
        except TypeError:
            name = ""
        if name not in (None, *names):
            raise TypeError(f"dtype={self.dtype!r} is not supported; use one of {', '.join(map(repr, names))}")
        if self.quantize and name not in (None, "int8"):
            raise ValueError(f"quantize=True stores 8-bit integers, but dtype={self.dtype!r}; leave dtype=None")
        return "int8" if self.quantize else name

    def _design(self, reader, facts, signs, event, storage):
        """The rows that the sampler passes over, the shift and the scale of the columns, and the unit of the coefficients."""
        sd = facts.sd
        if storage is None:
            storage = "float32" if facts.single or facts.n * facts.p > _SINGLE_FROM else "float64"
        shift, scale = np.zeros(facts.p), np.ones(facts.p)
        if self.fit_intercept and (sd == 0).any():
            warn(f"column {int(np.argmin(sd))} of X is constant: it competes with the intercept")
        if self.standardize:
            scale = np.where(sd > 0, sd, 1.0)
            if self.fit_intercept:
                shift = facts.mean
        elif (sd > 0).any() and sd.max() > 1e3 * sd[sd > 0].min():
            warn(
                f"the columns' standard deviations go from {sd[sd > 0].min():.3g} to {sd.max():.3g}, but all coefficients "
                "share one prior; pass standardize=True"
            )
        limit = {"float32": np.finfo(np.float32).max, "bfloat16": 2.0**128 - 2.0**120}.get(storage, np.finfo(float).max)
        with np.errstate(over="ignore"):
            unit = _unit(np.hypot(facts.mean - shift, sd) / scale)
            scale = scale / unit
            size = np.abs((np.stack([facts.low, facts.high]) - shift) / scale).max(axis=0)
        beyond = (scale < 1e-300) | (~(size <= limit) & (storage != "int8")) | ~(size <= _LARGEST)
        if beyond.any():
            j = int(np.argmax(beyond))
            raise ValueError(
                f"column {j} of X has numbers that are too large or too small for {storage}: they go from {facts.low[j]:.3g} to "
                f"{facts.high[j]:.3g}; bring it to a scale near 1, or pass standardize=True"
            )
        source = Source(
            reader, facts, signs, event, storage=storage, intercept=self.fit_intercept, shift=shift, scale=scale,
            rounded=self.quantize,
        )  # fmt: skip
        device = choose_device(self.device, pays=facts.n * source.shape[1] >= _CUDA_FROM)
        again = reader.streamed and storage in ("float64", "float32") and facts.p + self.fit_intercept <= facts.n
        return Rows(source if again else source.load(), device, self.workers, *source.code), shift, scale, unit

    # --- sampling ---

    def fit(self, X, y=None):
        """Sample the posterior.

        Parameters
        ----------
        X : array_like, shape (n, p), or callable
            Finite numbers; integers become floats unless they are stored in 8 bits. A `numpy.memmap` stays where it is and is
            read once per iteration in parts. So is what a callable gives, which at every call returns a new iterator over the
            same blocks ``(rows, outcomes)``, of any sizes. The draws are those of an array of the same rows. With dtype "int8"
            or "bfloat16", or more columns than rows, such an X is read twice and kept.
        y : array_like, shape (n,)
            Two different values; the larger one is the event. None with a callable X.

        Returns
        -------
        BayesProbit
            The estimator itself.

        Raises
        ------
        ValueError
            For shapes, values or options that are not understood, and for a callable whose rows are not always the same ones:
            their number, all outcomes and the first row of every part are compared.
        TypeError
            For dtypes other than real numbers of single or double precision.
        MemoryError
            When the draws would take more than half of the free memory.
        """
        self._check_options()
        reader, names = Reader(X), getattr(X, "columns", None)
        if y is None and reader.X is not None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; only a callable X gives the outcomes "
                "itself"
            )
        if y is not None and reader.X is None:
            raise ValueError("a callable X gives the outcomes itself; pass y=None with it")
        storage = self._storage()
        facts = survey(reader, whole=storage == "int8")
        if facts.p == 0:
            raise ValueError(f"X has 0 feature(s) (shape=({facts.n}, 0)) while a minimum of 1 is required; pass columns")
        shape = np.asarray(to_host(y, "y")).shape
        if len(shape) == 2:
            category = getattr(sys.modules.get("sklearn.exceptions"), "DataConversionWarning", UserWarning)
            warn(f"A column-vector y was passed when a 1d array was expected: y has shape {shape}; pass y.ravel()", category)
        classes, signs = self._outcome(facts.y if y is None else y, facts.n)
        self._check_memory(self.draws or _FIRST, facts.p, self.keep, self.chains)
        rows, shift, scale, unit = self._design(reader, facts, signs, classes[1], storage)
        options = dict(
            skip=int(self.fit_intercept), prior=self.prior, kind=self.sampler, chains=self.chains, warmup=self.warmup,
            key=key_words(normalise_rng(self.rng)), tau_scale=self.tau_scale / unit,
            tau=None if self.tau is None else self.tau / unit, slab=None if self.slab is None else self.slab / unit,
            intercept_precision=0.0 if math.isinf(self.intercept_scale) else self.intercept_scale**-2.0, sweeps=self.inner_sweeps,
        )  # fmt: skip
        chains = Chains(rows, **options)
        self._forget()
        self._used = self.get_params() | {"prior": self.prior}  # what is set later is for the next fit
        self._chains, self._shift, self._scale, self._unit = chains, shift, scale, unit
        self.classes_, self.n_features_in_ = classes, facts.p
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self._moments = _Moments(self.chains, rows.shape[1], self.keep == "cov")
        self._kept, self._trace = {}, []
        self._seconds = 0.0
        try:
            self._run(self._goals(*rows.shape))
        except BaseException:
            self._forget()
            raise
        return self

    def _forget(self):
        """Drop all that a fit has left; scikit-learn has attributes of its own here."""
        for name in list(vars(self)):
            if name in _FITTED or (name[0] != "_" and name[-1] == "_"):
                delattr(self, name)

    def continue_(self, draws):
        """Sample more draws, exactly as a longer `fit` would have.

        Parameters
        ----------
        draws : int
            Number of further draws per chain.

        Returns
        -------
        BayesProbit
            The estimator itself.

        Raises
        ------
        AttributeError
            Before `fit`, and after `load`, which brings no data back.
        """
        self._fitted()
        if getattr(self, "_chains", None) is None:
            raise AttributeError("a loaded model has no data to continue on; fit it again, or continue before saving")
        if isinstance(draws, bool) or not hasattr(draws, "__index__") or draws < 1:
            raise ValueError(f"draws={draws!r} is not understood; use an integer >= 1")
        used = self._used
        self._check_memory(self._moments.n + draws, self.n_features_in_, used["keep"], used["chains"])
        self._run([self._chains.state["iteration"] + draws * used["thin"]])
        return self

    def _goals(self, n, p):
        """Iterations after which to stop if the chains agree; the last of them ends the sampling."""
        draws = [self.draws or _FIRST]
        if self.draws is None:
            work = self.thin * (n * p + p * p * min(n, p))  # per draw: a pass over the data and a factorisation
            while 2 * draws[-1] <= _MOST_DRAWS and 2 * draws[-1] * work <= _MOST_WORK:
                draws.append(2 * draws[-1])
        return [self.warmup + d * self.thin for d in draws]

    def _need(self, draws, columns, keep, chains):
        """Bytes of so many draws per chain."""
        return 8.0 * chains * draws * (columns + 2) * {"draws": 1, "all": 2}.get(keep, 0)

    def _check_memory(self, draws, columns, keep, chains):
        need = self._need(draws, columns, keep, chains)
        if need > 0.5 * _free_memory():
            raise MemoryError(
                f"{chains} chains of {draws} draws of {columns} coefficients take {need / 2**30:.1f} GiB, more "
                "than half of the free memory; use keep='moments', fewer draws or a larger thin"
            )

    def _run(self, goals):
        """Sample up to the first goal, a number of iterations, at which the chains agree, or the last one."""
        chains, s, used = self._chains, self._chains.state, self._used
        with _interrupts() as interrupted:
            for goal in goals:
                stopped = self._sample(goal, interrupted) or bool(interrupted)
                if self._moments.n == 0:
                    if interrupted:
                        raise KeyboardInterrupt
                    raise RuntimeError(f"sampling was stopped at iteration {s['iteration']}, before the first draw")
                self._summarise(stopped)
                doubled = self._need(2 * self._moments.n, chains.p, used["keep"], used["chains"])
                if stopped or self.converged_ or self._light_tails() or doubled > 0.5 * _free_memory():
                    break
        if not (stopped or self.converged_):
            self._warn()

    def _sample(self, until, interrupted):
        """Advance the chains to this iteration; returns whether the callback stopped them."""
        chains, s, warmup, thin = self._chains, self._chains.state, self._used["warmup"], self._used["thin"]
        pieces = []
        begin = called = time.perf_counter()
        stopped = False
        try:
            while s["iteration"] < until and not stopped and not interrupted:
                chains.advance()
                i = s["iteration"]
                if i > warmup and (i - warmup) % thin == 0:
                    self._moments.add(self._original(s["B"]))
                    pieces.append([s[name].copy() for name in self._stored()])
                    if self.callback is not None:
                        self._trace.append(self._quantities(s))
                now = time.perf_counter()
                due = i % self.callback_every == 0 if self.callback_every else now - called >= 1.0
                if self.callback is not None and due:
                    called = now
                    stopped = bool(self.callback(self._progress(s)))
        except KeyboardInterrupt:  # from the callback, or not from the usual handler
            interrupted.append(None)
        self._seconds += time.perf_counter() - begin
        if pieces:
            for name, values in zip(self._stored(), zip(*pieces, strict=True), strict=True):
                before = [self._kept[name]] if name in self._kept else []
                self._kept[name] = np.concatenate([*before, np.stack(values, axis=1)], axis=1)
        return stopped

    def _stored(self):
        """Parts of the state that every draw keeps."""
        return {"draws": ("B", "T"), "all": ("B", "T", "D")}.get(self._used["keep"], ())

    def _quantities(self, s):
        """What the callback is told effective sample sizes of, shape (chains, k)."""
        B, skip = self._original(s["B"]), self._chains.skip
        tau = s["T"][:, None] if self._used["tau"] is None else B[:, :0]
        return np.concatenate([B[:, :skip], tau, np.sqrt((B[:, skip:] ** 2).sum(axis=1, keepdims=True))], axis=1)

    def _progress(self, s):
        names = ["intercept"] * self._chains.skip + ["log_tau"] * (self._used["tau"] is None) + ["norm"]
        ess = ess_bulk(np.stack(self._trace, axis=1)) if len(self._trace) > 3 else np.full(len(names), np.nan)
        return {
            "iteration": s["iteration"], "chain": np.arange(self._used["chains"]), "acceptance": s["accepted"] / s["offered"],
            "ess": dict(zip(names, ess.tolist(), strict=True)), "coefficients": self._original(s["B"]),
        }  # fmt: skip

    def _summarise(self, stopped):
        chains, s = self._chains, self._chains.state
        skip = chains.skip
        self.sampler_, self.n_iter_ = chains.kind, int(s["iteration"])
        self.stats_ = {
            "sampler": chains.kind, "acceptance": float(s["accepted"].mean() / max(s["offered"], 1)), "angle": float(s["angle"]),
            "ms_per_iteration": 1e3 * self._seconds / max(s["iteration"], 1), "nonfinite": int(s["nonfinite"]),
            "inner_sweeps": chains.sweeps if chains.kind == "surrogate" else 1, "pareto_k": chains.tail_shape(),
        }  # fmt: skip
        self.moments_ = self._moments.pooled()
        self.draws_ = {}
        if "B" in self._kept:
            B = self._original(self._kept["B"])
            self.draws_ = {
                "beta": B[:, :, skip:],
                "intercept": B[:, :, 0] if skip else np.zeros(B.shape[:2]),
                "log_tau": self._kept["T"] + math.log(self._unit),
            }
        if "D" in self._kept:
            self.draws_["log_lambda"] = -0.5 * np.log(self._kept["D"][:, :, skip:]) - self._kept["T"][:, :, None]
        self.coef_ = self.moments_["mean"][None, skip:]
        self.intercept_ = self.moments_["mean"][:1] if skip else np.zeros(1)
        self.converged_ = bool(not stopped and not self._light_tails() and self._agree())

    def _light_tails(self):
        """Whether the surrogate's tails are lighter than the posterior's, so that more draws do not help."""
        shape = self.stats_["pareto_k"]
        return shape is not None and shape >= _LIGHT

    def _warn(self):
        """Say what has not converged, by how much, and what to do about it."""
        if self._light_tails():
            text = (
                "the draws miss the tails, which are heavier than the surrogate's (Pareto k = "
                f"{self.stats_['pareto_k']:.2f}), as with separable data; use sampler='split-hmc' or 'px-gibbs', or a slab, "
                "for example slab=3.0 with standardize=True"
            )
        else:
            text = f"the chains have not converged: {self._disagreement()}. {self._remedies()}"
        warn(text, ConvergenceWarning)

    def _measures(self):
        """R-hat and bulk ESS of all columns, with their names; None where there are no draws, or fewer than four."""
        if not self.draws_ or self._moments.n < 4:
            return None
        x, names = self._columns()
        return rhat(x), ess_bulk(x), names

    def _disagreement(self):
        draws, found = f"{self._used['chains']} x {self._moments.n} draws", self._measures()
        if found is None:
            kept = "4 draws and 2 chains are needed to tell" if self._moments.n < 4 else "their means differ, R-hat >= 1.01"
            return f"of {draws}, {kept}"
        r, e, names = found
        worst, slowest = (int(np.argmax(np.where(np.isnan(v), np.inf, v))) for v in (r, -e))
        return (
            f"of {draws} the largest R-hat is {r[worst]:.3f} ({names[worst]}; it should be below 1.01), the smallest bulk ESS "
            f"{e[slowest]:.0f} ({names[slowest]}; at least 400)"
        )

    def _remedies(self):
        used, n, found, times = self._used, self._moments.n, self._measures(), 4.0
        if found is not None:  # R-hat - 1 falls as 1/draws, the ESS grows with them
            times = 3.0 * np.clip(max(_ESS / found[1].min(), (found[0].max() - 1.0) / (_RHAT - 1.0)), 1.0, 100.0)
        more = 1000 * math.ceil(np.nan_to_num(times, nan=4.0) * n / 1000.0)
        tips = [f"draws={more} (or continue_({more - n}))"]
        if not used["standardize"]:
            tips.append("standardize=True unless the columns' standard deviations are near 1")
        if used["slab"] is None:
            tips.append("slab=3.0 (with standardised columns) where columns separate the classes, or nearly do")
        return f"Use {'; '.join(tips)}. summary() has R-hat and ESS of every coefficient"

    def _original(self, B):
        """Coefficients of the columns that were sampled with as those of the columns of X; the last axis is theirs."""
        if not self._used["standardize"] and self._unit == 1.0:
            return B.copy()
        skip = self._chains.skip
        B = B / np.concatenate([np.ones(skip), self._scale])
        if skip:
            B[..., 0] -= B[..., 1:] @ self._shift
        return B

    def _columns(self):
        """All draws side by side (chains, draws, k), and their names."""
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        parts = [self.draws_["intercept"][:, :, None]] if self._used["fit_intercept"] else []
        labels = ["intercept"] if self._used["fit_intercept"] else []
        parts += [self.draws_["beta"]]
        labels += [str(n) for n in names]
        if self._used["tau"] is None:
            parts.append(self.draws_["log_tau"][:, :, None])
            labels.append("log_tau")
        return np.concatenate(parts, axis=2), labels

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def _agree(self):
        if self.draws_:
            x = self._columns()[0]
            return x.shape[1] >= 4 and rhat(x).max() < _RHAT and ess_bulk(x).min() >= _ESS
        m = self._moments
        if m.n < 4 or m.mean.shape[0] < 2:
            return False
        squares = m.squares if m.squares.ndim == 2 else np.einsum("cpp->cp", m.squares)
        within = squares.mean(axis=0) / (m.n - 1)
        return bool((1.0 + m.mean.var(axis=0, ddof=1) / within < _RHAT**2).all())

    def _fitted(self):
        if not hasattr(self, "moments_"):
            raise not_fitted(f"this {type(self).__name__} is not fitted yet; call fit(X, y) first")

    def _need_draws(self, what):
        self._fitted()
        if not self.draws_:
            raise ValueError(f"{what} needs the draws, but keep={self._used['keep']!r} stored none; fit with keep='draws'")

    # --- prediction ---

    def _predictors(self, X, draws=None):
        """Row blocks of linear predictors of an array, shape (rows, draws)."""
        a = self.draws_["intercept"].reshape(-1)
        beta = self.draws_["beta"].reshape(a.size, self.n_features_in_)
        if draws is not None:
            if isinstance(draws, bool) or not hasattr(draws, "__index__") or draws < 1:
                raise ValueError(f"draws={draws!r} is not understood; use an integer >= 1")
            take = np.linspace(0, a.size - 1, min(draws, a.size)).round().astype(int)
            beta, a = beta[take], a[take]
        rows = min(max(1, _BLOCK // a.size), part_rows(self.n_features_in_))
        for lo in range(0, X.shape[0], rows):
            part = slice(lo, min(lo + rows, X.shape[0]))
            yield part, X[part].astype(np.float64) @ beta.T + a

    def _approximate(self, what, X):
        """Normal scores of P(y = 1) where the covariance of the coefficients is all there is."""
        if "covariance" not in self.moments_:
            self._need_draws(what)
        warn("no draws were kept: probabilities come from a normal approximation of the posterior")
        if not ((self.moments_["variance"] >= np.finfo(float).tiny) & np.isfinite(self.moments_["variance"])).all():
            raise ValueError("variances are 0, as of a single draw, or beyond the range of float64; fit with keep='draws'")
        X = self._matrix(X).astype(np.float64)
        if self._used["fit_intercept"]:
            X = np.column_stack([np.ones(len(X)), X])
        variance = np.einsum("ij,jk,ik->i", X, self.moments_["covariance"], X)
        return X @ self.moments_["mean"] / np.sqrt(1.0 + np.maximum(variance, 0.0))  # rounding may leave less than 0

    def predict_proba(self, X, interval=None, draws=None):
        """Posterior mean of the probabilities of the two classes.

        Parameters
        ----------
        X : array_like, shape (n, p)
        interval : float, optional
            Also give the central interval of this probability for P(y = 1).
        draws : int, optional
            Use this many of the draws, equally spaced; needs stored draws.

        Returns
        -------
        numpy.ndarray, shape (n, 2), or tuple
            With `interval`: (probabilities, lower, upper).

        Raises
        ------
        ValueError
            For another number of columns, or with keep="moments". keep="cov" gives a normal approximation and a warning.
        """
        self._fitted()
        if interval is not None and not 0.0 < interval < 1.0:
            raise ValueError(f"interval={interval!r} is out of range; use a probability between 0 and 1")
        if not self.draws_:
            if interval is not None or draws is not None:
                self._need_draws("an interval" if interval is not None else "draws")
            m = self._approximate("predict_proba", X)
            return np.column_stack([_apply("ndtr", -m), _apply("ndtr", m)])
        X = self._matrix(X)
        n = len(X)
        p, ends = np.empty((n, 2)), np.empty((2, n))
        for part, m in self._predictors(X, draws):
            p[part, 1] = _apply("ndtr", m, self.workers).mean(axis=1)
            p[part, 0] = _apply("ndtr", -m, self.workers).mean(axis=1)
            if interval is not None:
                ends[:, part] = _apply("ndtr", np.quantile(m, [0.5 - 0.5 * interval, 0.5 + 0.5 * interval], axis=1))
        return p if interval is None else (p, *ends)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, also where a probability is too small for a float.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        numpy.ndarray, shape (n, 2)

        Raises
        ------
        ValueError
            As `predict_proba`.
        """
        self._fitted()
        if not self.draws_:
            m = self._approximate("predict_log_proba", X)
            return np.column_stack([_apply("log_ndtr", -m), _apply("log_ndtr", m)])
        X = self._matrix(X)
        out = np.empty((len(X), 2))
        for part, m in self._predictors(X):
            for j, side in enumerate((-m, m)):
                out[part, j] = np.logaddexp.reduce(_apply("log_ndtr", side, self.workers), axis=1) - math.log(m.shape[1])
        other = self.predict_proba(X)[:, ::-1]
        return np.where(other < 0.5, np.log1p(-np.minimum(other, 0.5)), out)

    def predict(self, X):
        """The more probable class of every row.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        numpy.ndarray, shape (n,)
        """
        self._fitted()
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def decision_draws(self, X):
        """Linear predictors of every draw.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        numpy.ndarray, shape (chains * draws, n)
        """
        self._need_draws("decision_draws")
        X = self._matrix(X)
        out = np.empty((self.draws_["log_tau"].size, len(X)))
        for part, m in self._predictors(X):
            out[:, part] = m.T
        return out

    def score(self, X, y, sample_weight=None):
        """Share of rows whose class is predicted.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
        sample_weight : array_like, shape (n,), optional

        Returns
        -------
        float

        Raises
        ------
        ValueError
            For another number of columns, or of outcomes or weights than rows.
        """
        y, found = column(y), self.predict(X)
        if y.shape != found.shape:
            raise ValueError(f"y has shape {y.shape}, but X has {found.size} rows; pass one outcome per row")
        return float(np.average(found == y, weights=None if sample_weight is None else column(sample_weight)))

    # --- reports ---

    def summary(self, prob=0.9):
        """Posterior mean, standard deviation, interval and convergence of every coefficient.

        Parameters
        ----------
        prob : float
            Probability of the central interval.

        Returns
        -------
        dict
            Arrays by name: "name", "mean", "sd", "lower", "upper", "positive", "rhat", "ess_bulk", "ess_tail", "mcse".

        Raises
        ------
        ValueError
            Without draws, or for a probability outside (0, 1).
        """
        self._need_draws("summary")
        if not 0.0 < prob < 1.0:
            raise ValueError(f"prob={prob!r} is out of range; use a probability between 0 and 1")
        x, names = self._columns()
        flat = x.reshape(-1, x.shape[2])
        unit = unit_of(flat)
        sd = unit * (flat / unit).std(axis=0, ddof=1)
        lower, upper = np.quantile(flat, [0.5 - 0.5 * prob, 0.5 + 0.5 * prob], axis=0)
        return {
            "name": np.array(names), "mean": flat.mean(axis=0), "sd": sd, "lower": lower, "upper": upper,
            "positive": (flat > 0).mean(axis=0), "rhat": rhat(x), "ess_bulk": ess_bulk(x), "ess_tail": ess_tail(x),
            "mcse": mcse(x),
        }  # fmt: skip

    def _log_likelihoods(self, X, y):
        self._need_draws("leave-one-out prediction")
        X, y = self._matrix(X), column(y)
        if not len(X):
            raise ValueError(f"X has shape {X.shape}; at least one row is needed")
        unknown = ~np.isin(y, self.classes_)
        if y.shape != (len(X),) or unknown.any():
            raise ValueError(f"y must hold one of {self.classes_.tolist()} for each of the {len(X)} rows of X")
        signs = np.where(y == self.classes_[1], 1.0, -1.0)
        for part, m in self._predictors(X):
            yield _apply("log_ndtr", m * signs[part, None], self.workers)

    def waic(self, X, y):
        """Widely applicable information criterion of the rows.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)

        Returns
        -------
        dict
            "elpd": expected log predictive density, "se", "p": effective number of parameters, "pointwise".

        Raises
        ------
        ValueError
            Without draws or rows, with one draw, or for outcomes that `fit` has not seen.
        """
        self._need_draws("waic")
        if self.draws_["log_tau"].size < 2:
            raise ValueError("waic needs the variance over draws, but there is one draw only; use continue_(draws)")
        parts = []
        for l in self._log_likelihoods(X, y):  # noqa: E741
            penalty = l.var(axis=1, ddof=1)
            parts.append(np.column_stack([np.logaddexp.reduce(l, axis=1) - math.log(l.shape[1]) - penalty, penalty]))
        return _criterion(np.concatenate(parts))

    def loo(self, X, y):
        """Leave-one-out predictive density by Pareto-smoothed importance sampling.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)

        Returns
        -------
        dict
            As `waic`, and "pareto_k" per row and "bad": the number of rows above 0.7, whose value is not to be trusted.

        Raises
        ------
        ValueError
            As `waic`.
        """
        parts, shapes = [], []
        for l in self._log_likelihoods(X, y):  # noqa: E741
            w, shape = psis(-l)
            elpd = np.logaddexp.reduce(w + l, axis=1)
            parts.append(np.column_stack([elpd, np.logaddexp.reduce(l, axis=1) - math.log(l.shape[1]) - elpd]))
            shapes.append(shape)
        result = _criterion(np.concatenate(parts))
        result["pareto_k"] = np.concatenate(shapes)
        result["bad"] = int((result["pareto_k"] > 0.7).sum())
        return result

    # --- storage ---

    def save(self, path):
        """Write the fitted model to one file of NumPy's .npz format.

        Parameters
        ----------
        path : str or path-like
            The name as it stands, no suffix is added. A file of that name is replaced once the new one is complete.

        Raises
        ------
        OSError
            If the file cannot be written, for example to a full disk; a file that was there stays as it was.
        """
        self._fitted()
        params = {n: v for n, v in self._used.items() if n not in ("rng", "callback", "workers", "device")}
        arrays = {f"draws_{n}": v for n, v in self.draws_.items()} | {f"moments_{n}": v for n, v in self.moments_.items()}
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names"] = self.feature_names_in_.astype(str)
        facts = dict(n_features=self.n_features_in_, n_iter=self.n_iter_, converged=self.converged_, stats=self.stats_)
        plain = lambda v: v.item() if isinstance(v, np.generic) else np.dtype(v).name  # noqa: E731
        arrays |= {"classes": np.array(self.classes_.tolist()), "header": json.dumps([params, facts], default=plain)}
        write_archive(path, arrays)

    @classmethod
    def load(cls, path):
        """Read a model that `save` wrote: everything but `continue_` works.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        BayesProbit

        Raises
        ------
        ValueError
            For a file that is no model.
        OSError
            For a file that cannot be read.
        """
        file = read_archive(path, "header", f"{path} is no model, or damaged; pass a file that BayesProbit.save wrote")
        params, facts = json.loads(str(file["header"]))
        model = cls()
        if params["prior"] != model.prior and "prior" not in model.get_params():
            raise ValueError(f"{path} has a model with prior={params['prior']!r}; use BayesProbit.load")
        vars(model).update(params)
        model._used = model.get_params() | {"prior": model.prior}
        model.classes_ = file["classes"]
        model.draws_ = {n[6:]: v for n, v in file.items() if n.startswith("draws_")}
        model.moments_ = {n[8:]: v for n, v in file.items() if n.startswith("moments_")}
        if "feature_names" in file:
            model.feature_names_in_ = file["feature_names"].astype(object)
        model.n_features_in_, model.n_iter_, model.converged_ = facts["n_features"], facts["n_iter"], facts["converged"]
        model.stats_, model.sampler_ = facts["stats"], facts["stats"]["sampler"]
        skip = int(model._used["fit_intercept"])
        model.coef_ = model.moments_["mean"][None, skip:]
        model.intercept_ = model.moments_["mean"][:1] if skip else np.zeros(1)
        return model

    def to_inference_data(self):
        """The draws as an ArviZ object (needs the package arviz).

        Returns
        -------
        arviz.InferenceData

        Raises
        ------
        ImportError
            Without the package.
        """
        self._need_draws("to_inference_data")
        try:
            import arviz
        except ImportError as error:
            raise ImportError("to_inference_data needs the package arviz: pip install arviz") from error
        return arviz.from_dict(posterior=dict(self.draws_))


def _criterion(pointwise):
    elpd, penalty = pointwise.T
    return {
        "elpd": float(elpd.sum()), "se": float(math.sqrt(elpd.size * elpd.var(ddof=1))) if elpd.size > 1 else math.nan,
        "p": float(penalty.sum()), "pointwise": elpd,
    }  # fmt: skip


class HorseshoeProbit(BayesProbit):
    """`BayesProbit` with the horseshoe prior.

    Parameters
    ----------
    tau_scale, tau, slab, fit_intercept, intercept_scale, sampler, chains, warmup, draws, thin, keep, inner_sweeps, standardize,
    quantize, callback_every, dtype, device, workers, rng, callback
        As for `BayesProbit`, as are attributes and methods.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.bayes.HorseshoeProbit(slab=3.0, rng=1)
    HorseshoeProbit(slab=3.0, rng=1)
    """

    def __init__(
        self,
        *,
        tau_scale=1.0,
        tau=None,
        slab=None,
        fit_intercept=True,
        intercept_scale=10.0,
        sampler="auto",
        chains=4,
        warmup=1000,
        draws=None,
        thin=1,
        keep="draws",
        inner_sweeps=None,
        standardize=False,
        quantize=False,
        callback_every=None,
        dtype=None,
        device=None,
        workers=None,
        rng=None,
        callback=None,
    ):
        options = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__("horseshoe", **options)
