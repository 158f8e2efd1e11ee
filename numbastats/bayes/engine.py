"""The run of a fit: advances the chains until they agree, stores draws, and explains where they do not agree."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import math
import os
import time
import types
from typing import Any

import numpy as np

from numbastats._core.parallel import mapped
from numbastats._core.progress import bar
from numbastats._core.slabs import interrupts_held
from numbastats.bayes.categories import rules_of
from numbastats.bayes.chains import one_blas_thread, sampler_of, samplers_of
from numbastats.bayes.diagnostics import ess_bulk, rhat
from numbastats.bayes.responses.record import record_of
from numbastats.bayes.samplers.surrogate import tail_shape

_FIRST, _MOST_DRAWS, _MOST_WORK = 1000, 64_000, 1e10  # draws per chain by default; multiplications of a chain
_MOST_PRODUCTS = 1e12  # the latter where almost all are in products of matrices, in which BLAS makes many at a time
_RHAT, _ESS = 1.01, 400  # chains agree below this R-hat and from this effective sample size on (Vehtari et al. 2021)
_APART = 1.1  # the chains' log-likelihoods are reported above this R-hat
_MOST_TIMES = 10  # a warning advises at most so many times the draws
_LIGHT = 0.6  # Pareto shape above which the surrogate's tails are too light


def free_memory():
    """Free memory in bytes; infinite where the system does not report it."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return math.inf


def bytes_of_draws(draws, columns, keep, chains):
    """Bytes of memory for this many draws per chain."""
    return 8.0 * chains * (draws or _FIRST) * (columns + 2) * {"draws": 1, "all": 2}.get(keep, 0)


def goals(options, n, p):
    """Iterations after which to stop if the chains agree; the last of them ends the sampling."""
    draws = [options.draws or _FIRST]
    if options.draws is None:
        if sampler_of(options.response, options.sampler, n, p, options.slab).products:
            work, most = options.thin * n * n * p, _MOST_PRODUCTS
        else:  # per draw: a pass over the data and a factorisation
            work, most = options.thin * (n * p + p * p * min(n, p)), _MOST_WORK
        while 2 * draws[-1] <= _MOST_DRAWS and 2 * draws[-1] * work <= most:
            draws.append(2 * draws[-1])
    return [options.warmup + d * options.thin for d in draws]


class Moments:
    """Running mean, sum of squared deviations (or cross products) and share of positive values of every chain."""

    def __init__(self, chains, p, cross):
        self.n, self.mean = 0, np.zeros((chains, p))
        self.squares = np.zeros((chains, p, p) if cross else (chains, p))
        self.positive = np.zeros((chains, p))

    @np.errstate(over="ignore", invalid="ignore")  # squares of coefficients of columns near 1e-160 are infinite
    def add(self, B):
        """Add a draw of every chain."""
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


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def agree(x, moments):
    """Whether chains agree: by draws x of shape (chains, draws, k), or by the moments where x is None."""
    if x is not None:
        return bool(x.shape[1] >= 4 and rhat(x).max() < _RHAT and ess_bulk(x).min() >= _ESS)
    m = moments
    if m.n < 4 or m.mean.shape[0] < 2:
        return False
    squares = m.squares if m.squares.ndim == 2 else np.einsum("cpp->cp", m.squares)
    within = squares.mean(axis=0) / (m.n - 1)
    return bool((1.0 + m.mean.var(axis=0, ddof=1) / within < _RHAT**2).all())


@dataclasses.dataclass(frozen=True)
class Posterior:
    """Result of a run; the fields are attributes of the estimators."""

    draws: dict
    sample_stats: dict
    moments: dict
    stats: dict
    n_iter: int
    converged: bool


class Run:
    """The chains of a fit, their stored draws, and when to stop.

    Parameters
    ----------
    chains : Chains
    options : Options
    scaling : Scaling
        Maps the sampler's columns to those of X.
    names : list of str
        Names of the columns of X.

    Attributes
    ----------
    moments : Moments
    posterior : Posterior or None
    stopped : bool
        Whether the callback ended it.
    """

    _interrupts: Any = staticmethod(functools.partial(interrupts_held, once=True))

    def __init__(self, chains, options, scaling, names):
        self.chains, self.options, self.scaling, self.names = chains, options, scaling, names
        self.moments = Moments(options.chains, chains.p, options.keep == "cov")
        self.posterior, self.stopped = None, False
        self._kept, self._trace, self._seconds, self._shown = {}, [], 0.0, None

    def __getstate__(self):
        """The state that is pickled: without the bar."""
        return self.__dict__ | {"_shown": None}

    @property
    def attached(self):
        """Whether the data are here, which are not pickled."""
        return self.chains.rows is not None

    def until(self, goals, callback, every):
        """Sample up to the first goal, a number of iterations, at which the chains agree, or the last one.

        Parameters
        ----------
        goals : list of int
        callback : callable or None
        every : int or None
            Iterations between calls of it; None for about a second.

        Returns
        -------
        Posterior

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C, at the end of the iteration; the draws so far are kept for another call.
        """
        options, begun = self.options, self.chains.iteration
        with self._interrupts() as interrupted, bar(options.progress, goals[0] - begun, "sampling") as self._shown:
            for goal in goals:
                self._shown.total = goal - begun
                self.stopped = self._sample(goal, interrupted, callback, every)
                if interrupted:
                    break
                if self.moments.n == 0:
                    raise RuntimeError(f"sampling was stopped at iteration {self.chains.iteration}, before the first draw")
                self.posterior = self._summary()
                doubled = bytes_of_draws(2 * self.moments.n, self.chains.p, options.keep, options.chains)
                if self.stopped or self.posterior.converged or self._light_tails() or doubled > 0.5 * free_memory():
                    break
        return self.posterior

    def _sample(self, until, interrupted, callback, every):
        """Advance the chains to iteration `until`; returns whether the callback stopped them."""
        chains, options, stored = self.chains, self.options, self._stored()
        pieces = []
        begin = called = time.perf_counter()
        stopped = False
        try:
            while chains.iteration < until and not stopped and not interrupted:
                chains.advance()
                if self._shown is not None:
                    self._shown.update()
                drawn = chains.iteration - options.warmup
                if drawn > 0 and drawn % options.thin == 0:
                    arrays = chains.quantities("b", *stored)
                    self.moments.add(self.scaling.original(arrays["b"]).reshape(options.chains, -1))
                    pieces.append([arrays[name].copy() for name in stored])
                    if callback is not None:
                        self._trace.append(self._quantities(**chains.quantities("b", "log_tau")))
                now = time.perf_counter()
                due = chains.iteration % every == 0 if every else now - called >= 1.0
                if callback is not None and due:
                    called = now
                    stopped = bool(callback(self.progress()))
        finally:  # also after an exception of the callback, the stored draws are those in the moments
            self._seconds += time.perf_counter() - begin
            for name, values in zip(stored, zip(*pieces, strict=True), strict=bool(pieces)):
                before = [self._kept[name]] if name in self._kept else []
                self._kept[name] = np.concatenate([*before, np.stack(values, axis=1)], axis=1)
        return stopped

    def _stored(self):
        """Parts of the state that every draw keeps."""
        names = {"draws": ("b", "log_tau"), "all": ("b", "log_tau", "d")}.get(self.options.keep, ())
        found = self.chains.quantities() if names else ()
        extras = [own.name for own in self.options.record().own]
        return (*names, *(name for name in (*extras, "log_slab", "accepted", "loglik") if name in found))

    def _quantities(self, b, log_tau, accepted):
        """Quantities, shape (chains, k), of which the callback gets effective sample sizes."""
        B, skip = self.scaling.original(b), self.scaling.intercept
        tau = log_tau[:, None] if self.options.tau is None else np.empty((len(B), 0))
        first, norm = B[..., :skip].reshape(len(B), -1), (B[..., skip:] ** 2).reshape(len(B), -1).sum(axis=1, keepdims=True)
        return np.concatenate([first, tau, np.sqrt(norm)], axis=1)

    def progress(self):
        """The dictionary that the callback gets."""
        chains = self.chains
        names = [f"intercept{one}" for one in record_of(self.options.response).of] if self.scaling.intercept else []
        names += ["log_tau"] * (self.options.tau is None) + ["norm"]
        ess = ess_bulk(np.stack(self._trace, axis=1)) if len(self._trace) > 3 else np.full(len(names), np.nan)
        return {
            "iteration": chains.iteration,
            "chain": np.arange(self.options.chains),
            "acceptance": chains.accepted / chains.offered,
            "ess": dict(zip(names, ess.tolist(), strict=True)),
            "coefficients": self.scaling.original(chains.quantities("b")["b"]),
        }

    # --- results --------------------------------------------------------------------------------------------------------

    def _summary(self):
        chains = self.chains
        stats = {
            "sampler": self._kinds(),
            "acceptance": float(chains.accepted.mean() / max(chains.offered, 1)),
            "angle": chains.angle,
            "ms_per_iteration": 1e3 * self._seconds / max(chains.iteration, 1),
            "nonfinite": chains.nonfinite,
            "inner_sweeps": chains.sweeps if chains.sampler.sweeps else 1,
            "pareto_k": tail_shape(chains.ratios),
        }
        draws = self._draws()
        x = self._side_by_side(draws)[0] if draws else None
        converged = not self.stopped and not _light(stats) and agree(x, self.moments)
        return Posterior(draws, self._sample_stats(), self.moments.pooled(), stats, chains.iteration, converged)

    def _kinds(self):
        return self.chains.sampler.word

    def _draws(self):
        """The stored draws by name, in the units of X."""
        if "b" not in self._kept:
            return {}
        skip, B, T = self.scaling.intercept, self.scaling.original(self._kept["b"]), self._kept["log_tau"]
        record = self.options.record()
        draws = {
            "beta": B[..., skip:],
            "intercept": B[..., 0] if skip else np.zeros(B.shape[:-1]),
            "log_tau": T + math.log(self.scaling.unit),
        }
        for own in record.own:
            if own.name in self._kept:
                draws[own.name] = self._kept[own.name] + (math.log(self.scaling.size) if own.scale else 0.0)
        if "log_slab" in self._kept and math.isfinite(self.options.slab_df):
            draws["log_slab"] = self._kept["log_slab"] + math.log(self.scaling.unit)
        if "d" in self._kept:
            log_lambda = -0.5 * np.log(self._kept["d"]) - T[:, :, None]
            log_lambda[..., : self.chains.prior.skip - len(self.chains.own)] = np.nan  # those that are not shrunk have no scale
            draws["log_lambda"] = self.scaling.placed(log_lambda)[..., skip:]
        return record.finish(draws, draws["beta"] @ self.scaling.shift) if record.several else draws

    def _sample_stats(self):
        """For every stored draw the acceptance rate since the draw before and, if the sampler computes it, the log-likelihood."""
        if "accepted" not in self._kept:
            return {}
        total = self._kept["accepted"]
        found = {"acceptance_rate": np.diff(total, axis=1, prepend=0.0) / self.options.thin}
        if "loglik" in self._kept:  # of numbers in the unit of y
            found["log_likelihood"] = self._kept["loglik"] - self.chains.weight * math.log(self.scaling.size)
        return found

    def _side_by_side(self, draws):
        return rules_of(record_of(self.options.response)).side_by_side(draws, self.names, self.options)

    def _light_tails(self):
        return _light(self.posterior.stats)

    # --- messages about chains that do not agree ---------------------------------------------------------------------------

    def complaint(self):
        """Text of the warning about a run that has not converged."""
        if self._light_tails():
            others = [f"{word!r}" for word, one in samplers_of(self.options.response).items() if one.heavy_tails]
            return (
                "the draws miss the tails, which are heavier than the surrogate's (Pareto k = "
                f"{self.posterior.stats['pareto_k']:.2f}), as with separable data; use sampler={' or '.join(others)}, or a "
                "slab, for example slab=3.0 with standardize=True"
            )
        measures = None  # R-hat and bulk ESS of all columns, with their names
        if self.posterior.draws and self.moments.n >= 4:
            x, names = self._side_by_side(self.posterior.draws)
            measures = rhat(x), ess_bulk(x), names
        return f"the chains have not converged: {self._disagreement(measures)}. {self._remedies(measures)}"

    def _disagreement(self, measures):
        n = self.moments.n
        draws = f"{self.options.chains} x {n} draws"
        if measures is None:
            kept = "4 draws and 2 chains are needed to tell" if n < 4 else "their means differ, R-hat >= 1.01"
            return f"of {draws}, {kept}"
        r, e, names = measures
        worst, slowest = (int(np.argmax(np.where(np.isnan(v), np.inf, v))) for v in (r, -e))
        text = (
            f"of {draws} the largest R-hat is {r[worst]:.3f} ({names[worst]}; it should be below 1.01), the smallest bulk ESS "
            f"{e[slowest]:.0f} ({names[slowest]}; at least 400)"
        )
        loglik = self.posterior.sample_stats.get("log_likelihood")
        if loglik is None or not rhat(loglik[..., None]).max() > _APART:
            return text
        means = ", ".join(f"{v:.1f}" for v in loglik.mean(axis=1))
        return f"{text}; the chains' mean log-likelihoods are {means}"

    def _remedies(self, measures):
        options, record, n, times = self.options, record_of(self.options.response), self.moments.n, 4.0
        if measures is not None:  # R-hat - 1 falls as 1/draws, the ESS grows with them
            times = 3.0 * np.clip(max(_ESS / measures[1].min(), (measures[0].max() - 1.0) / (_RHAT - 1.0)), 1.0, 100.0)
        more, most = 1000 * math.ceil(np.nan_to_num(times, nan=4.0) * n / 1000.0), _MOST_TIMES * max(n, _FIRST)
        hopeless = more > most
        tips = [] if hopeless else [f"draws={more} (or continue_({more - n}))"]
        if not options.standardize:
            tips.append("standardize=True unless the columns' standard deviations are near 1")
        if options.slab is None and record.separable:
            what = "separate the classes" if record.classes else "have the order of the times"
            tips.append(f"slab=3.0 (with standardised columns) where columns {what}, or nearly do")
        elif options.slab is None and hopeless:
            tips.append("slab= the size of the largest coefficients that may be")
        n, p = self.chains.n, self.chains.p
        wide = p > n and self.chains.sampler.by_rows(n, p)
        if wide and options.tau is None and options.tau_scale == 1.0:
            tips.append("tau_scale=q/((p - q)*sqrt(n)) where about q of p columns are expected to matter in n rows")
        others = [f"sampler={word!r}" for word, one in samplers_of(options.response).items() if one.by_rows(n, p)]
        if p > n and not wide and others:
            tips.append(f"{' or '.join(others)}, for more columns ({p}) than rows ({n})")
        if record.screen and p > n and not wide:
            tips.append(
                f"those columns only that HorseshoeRegression().fit(X, {record.screen}) finds to matter, as chains of "
                f"{record.noun} move slowly with more columns ({p}) than rows ({n})"
            )
        elif hopeless:
            tips.append("fewer columns")
        few = f"More draws alone will hardly do (more than {most} a chain). " * hopeless
        return f"{few}Use {'; '.join(tips)}. summary() has R-hat and ESS of every coefficient"


def _light(stats):
    """Whether the surrogate's tails are lighter than the posterior's, so that more draws do not help."""
    shape = stats["pareto_k"]
    return shape is not None and shape >= _LIGHT


# --- chains elsewhere ------------------------------------------------------------------------------------------------------


class Spread(Run):
    """A run whose chains an executor samples, each by itself, from one goal to the next.

    Parameters
    ----------
    executor
    rows : Rows
        Sent along with every chain, and not sent back.
    make : callable
        ``make(rows, number)`` gives the `Chains` of one chain.
    options, scaling, names
        As in `Run`.
    """

    attached = True
    _interrupts: Any = staticmethod(lambda: contextlib.nullcontext([]))  # Ctrl-C ends the waiting at once

    def __init__(self, executor, rows, make, options, scaling, names):
        self.executor, self.rows = executor, rows
        own = dataclasses.replace(options, chains=1, workers=1)
        self._parts = [functools.partial(_alone, make, (i, options.chains), own, scaling, names) for i in range(options.chains)]
        super().__init__(types.SimpleNamespace(n=rows.shape[0], p=rows.shape[1], iteration=0), options, scaling, names)

    def __getstate__(self):
        """The state that is pickled: without the executor and the bar."""
        return self.__dict__ | {"executor": None, "_shown": None}

    def _sample(self, until, interrupted, callback, every):
        jobs = [(part, self.rows, until) for part in self._parts]
        work = map(_sampled, jobs) if self.executor is None else mapped(self.executor, _sampled, jobs)
        parts, steps, shown = [], until - self.chains.iteration, 0
        for part in work:
            parts.append(part)
            done = steps * len(parts) // len(jobs)
            self._shown.update(done - shown)
            shown = done
        self._parts = parts
        chains = [part.chains for part in parts]
        self.chains = copy.copy(chains[0])
        self.chains.accepted = np.concatenate([c.accepted for c in chains])
        self.chains.angle = float(np.mean([c.angle for c in chains]))
        self.chains.nonfinite = sum(c.nonfinite for c in chains)
        self.chains.ratios = [r for c in chains for r in c.ratios]
        self._kept = {name: np.concatenate([part._kept[name] for part in parts]) for name in parts[0]._kept}
        self._seconds = sum(part._seconds for part in parts)
        self.moments.n = parts[0].moments.n
        for name in ("mean", "squares", "positive"):
            setattr(self.moments, name, np.concatenate([getattr(part.moments, name) for part in parts]))
        return False

    def _kinds(self):
        return " and ".join(sorted({part.chains.sampler.word for part in self._parts}))


def _alone(make, number, options, scaling, names, rows):
    """The run of one chain at its start."""
    return Run(make(rows, number), options, scaling, names)


def _sampled(job):
    """The run of one chain, advanced to an iteration; a function of the module, so that it can be pickled."""
    run, rows, until = job
    with one_blas_thread(*rows.shape):
        if isinstance(run, Run):
            run.chains.attach(rows)
        else:
            run = run(rows)
        run._sample(until, [], None, None)
    return run
