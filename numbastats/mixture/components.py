"""Mixtures of any distributions: EM whose M-step is the distributions' own fit, then Newton's method for the certificate."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numbastats._core.information import carried, inverse, placed, standard_errors
from numbastats._core.parallel import mapped
from numbastats._core.random import normalise_rng
from numbastats._core.refusals import Admitted, refusals
from numbastats._core.status import CONVERGED, Status
from numbastats.distributions import Distribution
from numbastats.mixture.arguments import ADMISSIBLE, CHAIN, SHORT, fit_options, in_words, numbers_of_components, threads_or_pool
from numbastats.mixture.constraints import design_of, names_weights
from numbastats.mixture.families import names_each
from numbastats.mixture.results import ComponentsFit, limits_in_words, selection_of
from numbastats.mixture.selection import NARROW, passed_over
from numbastats.scalar.components import beyond_chance
from numbastats.scalar.transforms import on_arrays

FEWEST = 1e-8  # eigenvalue of a certificate, in units of the complete data's information
_FLAT = 1e-14  # information of one value, below which the likelihood does not depend on a parameter
_FLAT_GAIN = 1e-3  # of the log-likelihood, by a step of the first order; it is not worth another Hessian
_STEP = 3e-5  # of differences, in the unit that a parameter has by its information
_ROWS = 1 << 22  # numbers of an array that is made at a time
_NOTHING = 1e-13  # responsibilities that keep no value within a component's support
_SERIAL = 20_000  # values up to which threads take longer to begin than densities to compute
_CELLS = 1024  # values of the short runs
_PLACES, _HALVES = 24, (0.25, 0.12, 0.06, 0.03, 0.015)  # of runs that new components are fitted to: middles, half lengths
_REFITS = 6  # of them, the first among them
_KEPT = 8  # of new components and of assignments of weights
_STARTS, _RANKED, _CLIMBED = 16, 6, 3  # drawn starts, those that are left after some passes, and at the end of the short run
_STILL = (
    "EM stands still, but this is no certified maximum: a redundant component, parameters at their limits, or a density without "
    "second derivatives, as the Laplace distribution's"
)
_EXTREME = 1e-4  # or its reciprocal: parameters in units of the data that may be on the way to a limit
_COLLAPSED = 1e-6  # of the spread: standard deviation of a component on too few values


class State(NamedTuple):
    """Parameters of S mixtures, and what follows: the log densities of the components and the log-likelihood."""

    weights: NDArray  # (S, K)
    thetas: list  # of K dicts of arrays (S,)
    logs: NDArray  # (S, K, n)

    def of(self, rows):
        """Some of the mixtures."""
        return State(self.weights[rows], [{n: v[rows] for n, v in t.items()} for t in self.thetas], self.logs[rows])


class Model:
    """Components, and values x with weights w, ascending."""

    def __init__(self, design, x, w, workers):
        self.design, self.x, self.w, self.workers = design, x, w, workers
        self.parts, self.coordinates = design.parts, design.coordinates
        self.threads = workers if x.size > _SERIAL else 1  # of densities
        self.mass = float(w.sum())
        self.alike, self.bound = design.alike, design.bound

    def distribution(self, k, theta):
        """Component k, of arrays of parameters (S,), as a batch (S, 1)."""
        return self.parts[k].distribution({name: v[:, None] for name, v in theta.items()})

    def logs(self, k, theta):
        """Log densities (S, n) of component k."""
        S = next(iter(theta.values())).size
        return np.broadcast_to(self.distribution(k, theta).logpdf(self.x, workers=self.threads), (S, self.x.size))

    def state(self, weights, thetas):
        """The mixtures of given parameters."""
        return State(weights, thetas, np.stack([self.logs(k, theta) for k, theta in enumerate(thetas)], axis=1))

    # -- EM -------------------------------------------------------------------------------------------------------

    def expectation(self, state):
        """Responsibilities (S, K, n) and log-likelihoods (S,)."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            joint = np.log(state.weights)[:, :, None] + state.logs
            top = joint.max(axis=1)
            shares = np.exp(joint - np.where(np.isfinite(top), top, 0.0)[:, None])
            total = shares.sum(axis=1)
            loglik = (np.where(np.isfinite(top), top, 0.0) + np.log(total)) @ self.w
            shares /= total[:, None]
        nowhere = (total == 0.0)[:, None] & np.ones(shares.shape, bool)  # a value that no component can have: all try
        shares[nowhere] = 1.0 / len(self.parts)
        return shares, loglik

    def maximisation(self, shares, before=None):
        """The likeliest parameters under responsibilities; a component keeps its own where its fit is less likely."""
        S, K, n = shares.shape
        mass = np.where(shares > _NOTHING, shares, 0.0) * self.w
        thetas: list[dict[str, NDArray]] = [{}] * K
        logs, there = np.empty(shares.shape), np.empty((S, K), bool)
        for members in self.alike:
            found, good = self.parts[members[0]](self.x, mass[:, members].reshape(-1, n), self.workers)
            there[:, members] = good.reshape(S, -1)
            for j, k in enumerate(members):
                thetas[k] = {name: v.reshape(S, -1)[:, j] for name, v in found.items()}
        if self.bound:
            self._pool(thetas, mass, there)
        for k, theta in enumerate(thetas):
            new = self.logs(k, theta)
            logs[:, k] = np.where(there[:, k, None], new, math.nan) if before is None else new
        if before is not None:
            with np.errstate(invalid="ignore"):
                gain = np.where(mass > 0.0, mass * (logs - before.logs), 0.0).sum(axis=2)
            if self.bound:  # as one
                gain[:, self.bound] = gain[:, self.bound].sum(axis=1, keepdims=True)
                there[:, self.bound] = there[:, self.bound].all(axis=1, keepdims=True)
            keeps = ~(there & (gain >= 0.0))
            for k, theta in enumerate(thetas):
                thetas[k] = {name: np.where(keeps[:, k], before.thetas[k][name], v) for name, v in theta.items()}
            logs = np.where(keeps[:, :, None], before.logs, logs)
            if self.bound and keeps[:, self.bound[0]].any():
                self._ascend(keeps[:, self.bound[0]], thetas, logs, mass)
        return State(self._weights(mass), thetas, logs)

    def _weights(self, mass):
        """The likeliest weights (S, K)."""
        if self.design.weights is not None:
            return np.tile(self.design.weights, (len(mass), 1))
        return mass.sum(axis=2) / self.mass

    def _pool(self, thetas, mass, there):
        """Equal parameters, in place: means by mass, of positive ones root mean squares, the likeliest of normal components."""
        for at in self.coordinates:
            if len(at.members) > 1:
                known = np.stack([there[:, k] & np.isfinite(thetas[k][at.name]) for k in at.members])
                values = np.where(known, [thetas[k][at.name] for k in at.members], 1.0)
                share = np.where(known, mass.sum(axis=2)[:, at.members].T, 0.0)
                with np.errstate(divide="ignore", invalid="ignore"):
                    pooled = (share * (values * values if at.log else values)).sum(axis=0) / share.sum(axis=0)
                for k in at.members:
                    thetas[k][at.name] = np.sqrt(pooled) if at.log else pooled

    @np.errstate(invalid="ignore", over="ignore")  # next to the limits of the parameters
    def _ascend(self, wanted, thetas, logs, mass):
        """A step by the complete data's score and information of the components with equal parameters, in place.

        It is halved until these are not less likely: Lange's gradient algorithm, of mixtures `wanted`.
        """
        own = [at for at in self.coordinates if set(at.members) <= set(self.bound)]
        here = [{name: v[wanted] for name, v in theta.items()} for theta in thetas]
        mass, before = mass[wanted][:, self.bound], logs[wanted][:, self.bound]
        full = np.zeros((len(mass), logs.shape[1], logs.shape[2]))
        full[:, self.bound] = mass
        found = self.scores(here, full, own)
        g, A = np.zeros((len(mass), len(own))), np.zeros((len(mass), len(own), len(own)))
        for i, one in enumerate(found):
            g[:, i] = sum((full[:, k] * s).sum(axis=1) for k, s in one.items())
            for j, other in enumerate(found[: i + 1]):
                A[:, i, j] = A[:, j, i] = sum((full[:, k] * s * other[k]).sum(axis=1) for k, s in one.items() if k in other)
        root = np.sqrt(np.einsum("sii->si", A))
        root = np.where((root > 0.0) & np.isfinite(root), root, 1.0)
        A = np.nan_to_num(A / root[:, :, None] / root[:, None, :]) + 1e-9 * np.eye(len(own))
        step = np.linalg.solve(A, np.nan_to_num(g / root)[:, :, None])[:, :, 0] / root
        left = np.flatnonzero(wanted)
        rows = np.arange(left.size)
        for halved in range(8):
            tried = [{name: v[rows] for name, v in theta.items()} for theta in here]
            for at, by in zip(own, 0.5**halved * step[rows].T, strict=True):
                for k in at.members:
                    v = tried[k][at.name]
                    tried[k][at.name] = v * np.exp(by) if at.log else v + by
            new = np.stack([self.logs(k, tried[k]) for k in self.bound], axis=1)
            gain = np.where(mass[rows] > 0.0, mass[rows] * (new - before[rows]), 0.0).sum(axis=(1, 2))
            up = gain >= 0.0
            for j, k in enumerate(self.bound):
                logs[left[up], k] = new[up, j]
                for name in thetas[k]:
                    thetas[k][name][left[up]] = tried[k][name][up]
            left, rows = left[~up], rows[~up]
            if not left.size:
                break

    def em_pass(self, state):
        """The next state, and the log-likelihood of this one."""
        shares, loglik = self.expectation(state)
        return self.maximisation(shares, state), loglik

    def spread(self, shares):
        """Masses, means and standard deviations (S, K) of the values in the components."""
        mass = shares * self.w
        total = np.maximum(mass.sum(axis=2), 1e-300)
        means = (mass @ self.x) / total
        return total, means, np.sqrt(np.maximum((mass @ np.square(self.x)) / total - means * means, 0.0))

    # -- Newton's method ------------------------------------------------------------------------------------------

    def packed(self, state):
        """Coordinates (P,) of the first mixture: log ratios of free weights to the largest, then the free parameters."""
        weights, last = state.weights[0], int(np.argmax(state.weights[0]))
        ratios = np.log(np.delete(weights, last) / weights[last])[: self.design.of_weights]
        values = [state.thetas[at.members[0]][at.name][0] for at in self.coordinates]
        return last, np.array([*ratios, *(math.log(v) if at.log else v for at, v in zip(self.coordinates, values, strict=True))])

    def unpacked(self, last, u):
        """Weights and parameters of coordinates (S, P)."""
        S, W = len(u), self.design.of_weights
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that are too long
            weights = np.tile(self.design.weights, (S, 1)) if not W else np.insert(np.exp(u[:, :W]), last, 1.0, axis=1)
            thetas = [{name: np.full(S, v) for name, v in part.fixed.items()} for part in self.parts]
            for at, v in zip(self.coordinates, u[:, W:].T, strict=True):
                for k in at.members:
                    thetas[k][at.name] = np.exp(v) if at.log else v
            return weights / weights.sum(axis=1, keepdims=True), thetas

    def scores(self, thetas, mass, coordinates):
        """For each coordinate the complete data's scores (S, n) of the components that have it, by their numbers."""
        found: list[dict[int, NDArray]] = [{} for _ in coordinates]
        for k, theta in enumerate(thetas):
            own = [j for j, at in enumerate(coordinates) if k in at.members]
            values = self.distribution(k, theta).score(self.x, workers=self.threads) if own else ()
            for j in own:
                at = coordinates[j]
                score = values[self.parts[k].cls.names.index(at.name)]
                score = score * theta[at.name][:, None] if at.log else score
                found[j][k] = np.where(mass[:, k] > 0.0, score, 0.0)
        return found

    def gradient(self, last, u):
        """Log-likelihoods (S,) and their gradients (S, P)."""
        state = self.state(*self.unpacked(last, u))
        shares, loglik = self.expectation(state)
        mass = shares * self.w
        by_weights = np.delete(mass.sum(axis=2) - self.mass * state.weights, last, axis=1)[:, : self.design.of_weights]
        with np.errstate(over="ignore", invalid="ignore"):  # next to the limits of the parameters
            found = self.scores(state.thetas, mass, self.coordinates)
            by_others = [sum((mass[:, k] * s).sum(axis=1) for k, s in one.items()) for one in found]
        return loglik, np.concatenate([by_weights, np.reshape(by_others, (-1, len(u))).T], axis=1)

    def units(self, last, u):
        """The complete data's information of each coordinate of one mixture, by squares of scores."""
        state = self.state(*self.unpacked(last, u[None]))
        mass = self.expectation(state)[0] * self.w
        shares = np.delete(state.weights[0], last)[: self.design.of_weights]
        found = self.scores(state.thetas, mass, self.coordinates)
        by_others = [sum(mass[0, k] @ (s[0] * s[0]) for k, s in one.items()) for one in found]
        return np.array([*(self.mass * shares * (1.0 - shares)), *by_others])

    def hessian(self, last, u, use, units):
        """Second derivatives by the coordinates `use`, by differences of the gradient."""
        h = _STEP * np.sqrt(self.mass / units[use])
        points = u + np.concatenate([np.diag(h), -np.diag(h)]) @ np.eye(u.size)[use]
        rows = max(1, _ROWS // (self.x.size * len(self.parts)))
        g = np.concatenate([self.gradient(last, points[a : a + rows])[1] for a in range(0, len(points), rows)])[:, use]
        with np.errstate(invalid="ignore"):  # outside of the parameters
            H = (g[: h.size] - g[h.size :]) / (2.0 * h[:, None])
            return 0.5 * (H + H.T)


class Climb(NamedTuple):
    """How a climb ended."""

    state: State
    loglik: float
    passes: int
    certified: bool
    ended: bool  # whether it stands still
    decrement: float = math.nan
    min_eig: float = math.nan
    errors: tuple = ()  # standard errors of the weights, and of the coordinates
    keeps: bool = True  # whether it is admissible


def climb(model, state, tol, max_iter):
    """EM and Newton's method in turns, from the first mixture of a state on, until one of them ends."""
    passes, most, loglik = 0, 10, -math.inf
    while passes < max_iter:
        for _ in range(min(most, max_iter - passes)):
            before = loglik
            after, value = model.em_pass(state)
            loglik, passes = float(value[0]), passes + 1
            still = loglik - before <= 1e-14 * abs(loglik)
            if still or not math.isfinite(loglik):
                break
            state = after
        if not math.isfinite(loglik) or (state.weights == 0.0).any():
            break
        found = _newton(model, state, tol, passes)
        if found.certified or (still and found.loglik - loglik <= _FLAT_GAIN):
            return found
        state, loglik, most = found.state, found.loglik, min(2 * most, 500)
    return Climb(state, float(model.expectation(state)[1][0]), passes, False, passes < max_iter)


def _newton(model, state, tol, passes):
    """Newton's method as long as the log-likelihood rises.

    Where minus the Hessian is not positive definite the complete data's information stands for it, with which a short step
    ascends: K. Lange, "A gradient algorithm locally equivalent to the EM algorithm", Journal of the Royal Statistical Society B
    57 (1995).
    """
    last, u = model.packed(state)
    loglik = float(model.expectation(state)[1][0])
    decrement = min_eig = math.nan
    certified, errors = not u.size, ()
    for _ in range(50 if u.size else 0):
        units = model.units(last, u)
        use = units > _FLAT * model.mass
        g, A = model.gradient(last, u[None])[1][0, use], -model.hessian(last, u, use, units)
        root = np.sqrt(units[use])
        if not np.isfinite(A).all() or not use.any():
            break
        min_eig = float(np.linalg.eigvalsh(A / root / root[:, None])[0])
        concave = min_eig > FEWEST
        inverted = (np.linalg.inv(A / root / root[:, None]) if concave else np.eye(g.size)) / root / root[:, None]
        full = np.zeros(u.size)
        full[use] = inverted @ g
        decrement = float(g @ full[use]) if concave else math.nan
        if decrement < tol:
            certified, errors = True, _errors(model, last, u, use, inverse(A, root))
            break
        least = loglik + (-1e-13 * abs(loglik) if concave else _FLAT_GAIN)
        tried = (u + 0.5**i * full for i in range(12))
        found = next(((v, f) for v in tried if (f := _value(model, last, v)) >= least), None)
        if found is None:
            break
        u, loglik = found
    here = model.state(*model.unpacked(last, u[None]))
    return Climb(here, loglik, passes, certified, True, decrement, min_eig, errors)


def _value(model, last, u):
    """The log-likelihood at coordinates (P,), -inf outside of the parameters."""
    value = float(model.expectation(model.state(*model.unpacked(last, u[None])))[1][0])
    return value if value == value else -math.inf


def _errors(model, last, u, use, cov):
    """Standard errors of the weights (K,) and of the free parameters, NaN for those the likelihood does not depend on."""
    K, W = len(model.parts), model.design.of_weights
    weights, thetas = model.unpacked(last, u[None])
    full = placed(cov, np.flatnonzero(use), u.size)
    w = weights[0]
    J = np.delete(np.diag(w) - np.outer(w, w), last, axis=1)
    of_weights = standard_errors(carried(full[:W, :W], J)) if W else np.zeros(K)
    scale = [thetas[at.members[0]][at.name][0] if at.log else 1.0 for at in model.coordinates]
    return of_weights, standard_errors(full[W:, W:], np.array(scale))


# -- starts -----------------------------------------------------------------------------------------------------------


def _cells(x, w):
    """Middle values of at most `_CELLS` runs of the values, with the weights of the runs."""
    if x.size <= _CELLS:
        return x, w
    first = np.arange(_CELLS) * x.size // _CELLS
    return x[(first + np.append(first[1:], x.size)) // 2], np.add.reduceat(w, first)


def _drawn(model, count, rng):
    """Responsibilities (count, K, n): K runs of the values, or of their distances from one of them, in random order."""
    K, n = len(model.parts), model.x.size
    shares = np.full((count, K, n), 0.05 / max(K - 1, 1))
    for s in range(count):
        key = model.x if s % 3 < 2 else np.abs(model.x - model.x[rng.integers(n)])
        rank = np.argsort(np.argsort(key, kind="stable"), kind="stable")
        cuts = np.sort(rng.choice(np.arange(1, n), K - 1, replace=False)) if n > K else np.arange(1, K)
        own = rng.permutation(K)[np.searchsorted(cuts, rank, side="right")]
        shares[s, own, np.arange(n)] = 0.95 if K > 1 else 1.0
    for k, part in enumerate(model.parts):
        shares[:, k, (model.x < part.lower) | (model.x > part.upper)] = 0.0
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)


def starts(design, x, w, workers, count, rng, given=()):
    """Weights and parameters of the best different ends of short runs, and how many starts collapsed.

    Random starts, and mixtures that are `given`, which need no ranking.
    """
    model = Model(design, *_cells(x, w), workers)
    more = 1 if design.places.size < 2 or design.weights is None else 3  # which weight is whose has no other starts
    course = (6, _RANKED * more), (15, _CLIMBED + more - 1)
    return _short_runs(model, model.maximisation(_drawn(model, count, rng)), course, given)


def _short_runs(model, state, course, given=()):
    """Ends of short runs as `starts` has them.

    `course` has numbers of passes, and of the best that go on; after the first of them those that are `given` join.
    """
    spread, lost = model.spread(np.ones((1, 1, model.x.size)))[2][0, 0], 0
    free = np.array([bool(part.free) for part in model.parts])
    for passes, kept in course:
        for _ in range(passes):
            shares, loglik = model.expectation(state)
            alive = np.isfinite(loglik) & ((model.spread(shares)[2] > _COLLAPSED * spread) | ~free).all(axis=1)
            if not alive.all():
                lost += int((~alive).sum())
                state, shares = state.of(alive), shares[alive]
            if not alive.any():
                return [], lost
            state = model.maximisation(shares, state)
        state = state.of(_best(model.expectation(state)[1], kept))
        if given:
            state, given = _joined([state, *(model.state(*one) for one in given)]), ()
    return [
        (state.weights[[s]], [{n: v[[s]] for n, v in t.items()} for t in state.thetas]) for s in range(len(state.weights))
    ], lost


def _best(loglik, count):
    """Indices of the best log-likelihoods that differ by more than 1e-3."""
    picks: list[int] = []
    for i in np.argsort(-loglik):
        if len(picks) < count and all(abs(loglik[i] - loglik[j]) > 1e-3 for j in picks):
            picks.append(int(i))
    return np.array(picks, np.int64)


def _joined(states):
    """The mixtures of several states."""
    weights, logs = (np.concatenate([getattr(s, name) for s in states]) for name in ("weights", "logs"))
    thetas = [{n: np.concatenate([s.thetas[k][n] for s in states]) for n in t} for k, t in enumerate(states[0].thetas)]
    return State(weights, thetas, logs)


# -- fixed weights --------------------------------------------------------------------------------------------------


def _weighed(model, states):
    """What `starts` returns, from mixtures of `states` with the fixed weights instead of their own."""
    design = model.design
    model = Model(design, *_cells(model.x, model.w), model.workers)
    state = model.state(np.tile(design.weights, (len(states), 1)), _joined(states).thetas)
    return _short_runs(model, state, ((2, 5 * _KEPT), (8, _KEPT), (25, _CLIMBED + 2)))


def _assignments(design, state):
    """Mixtures with the components of a free fit in the places of the fixed weights: in all orders, or by weight.

    The order by weight is the likeliest if the fit's own weights are those of the components; the orders with two of them
    exchanged are beside it.
    """
    groups = design._replace(weights=None).alike
    if len(design.parts) <= 5:
        each = itertools.product(*(itertools.permutations(members) for members in groups))
        flat = np.concatenate(groups)
        orders = [np.concatenate(one)[np.argsort(flat)] for one in each]
    else:
        order = np.arange(len(design.parts))
        for members in groups:
            order[members] = np.array(members)[np.argsort(-state.weights[0, members], kind="stable")]
        orders = [order, *(order[swapped] for swapped in _exchanges(design))]
    return [State(state.weights, [state.thetas[k] for k in order], state.logs) for order in orders]


def _exchanges(design):
    """Orders of the components with two of unlike fixed weights exchanged."""
    out = []
    for members in design._replace(weights=None).alike:
        for i, j in itertools.combinations(members if design.weights is not None else (), 2):
            if design.weights[i] != design.weights[j]:
                order = np.arange(len(design.parts))
                order[[i, j]] = j, i
                out.append(order)
    return out


# -- one component more ---------------------------------------------------------------------------------------------


def _windows(n):
    """Indicators (C, n) of runs of n ascending values, of several lengths about several middles, and of all but the middle."""
    at = (np.arange(n) + 0.5) / n
    middles = (np.arange(_PLACES) + 0.5) / _PLACES
    runs = [np.abs(at - m) <= h for h in _HALVES for m in middles]
    return np.array(runs + [~run for run in runs[:_PLACES:4]], float)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def _line_search(excess, w):
    """The share (C,) of each new component that adds most to the log-likelihood, which is concave in it, and the gain.

    `excess` (C, n) is the component's density over the mixture's, less 1.
    """
    low, high = np.zeros(len(excess)), np.ones(len(excess))
    for _ in range(30):
        share = 0.5 * (low + high)
        up = (excess / (1.0 + share[:, None] * excess)) @ w > 0.0
        low, high = np.where(up, share, low), np.where(up, high, share)
    return low, np.log1p(low[:, None] * excess) @ w


def insertions(model, state, o):
    """The largest gain by an admissible component beside those of a mixture, and the mixtures with the best of them.

    Candidates are fits to runs of at most `_CELLS` middle values, and what EM makes of the best of them, the others as they are.
    """
    design = model.design
    if design.weights is not None and len(model.parts) > 1:
        return math.nan, []
    small, found = Model(design, *_cells(model.x, model.w), model.workers), []
    for k in (members[0] for members in model.alike if model.parts[members[0]].free):
        mass, pool = _windows(small.x.size), None
        for _ in range(_REFITS):
            theta, there = model.parts[k](small.x, mass * small.w, model.workers)
            theta |= {name: np.full(there.size, state.thetas[k][name][0]) for name in design.equal if name in theta}
            new = _gains(small, state, k, {name: v[there] for name, v in theta.items()}, o)
            pool = new if pool is None else pool.beside(new)
            pool = pool.of(_best(pool.gain, _KEPT))
            mass = pool.own
            if not pool.gain.size:
                break
        whole = _gains(model, state, k, pool.theta, o)
        whole = whole.of(_best(whole.gain, _KEPT))
        found += [
            (g, s, {n: v[[i]] for n, v in whole.theta.items()})
            for i, (g, s) in enumerate(zip(whole.gain, whole.share, strict=True))
        ]
    found.sort(key=lambda one: -one[0])
    begun = [(np.append(state.weights[0] * (1.0 - share), share)[None], [*state.thetas, theta]) for _, share, theta in found]
    return max((gain for gain, *_ in found), default=0.0), begun


def _divided(model, state):
    """Mixtures with each component in turn as two: in equal halves, and cut at its middle."""
    begun, K = [], len(model.parts) - 1
    joint = np.log(state.weights[0])[:, None] + np.stack([model.logs(k, state.thetas[k])[0] for k in range(K)])
    shares = np.exp(joint - np.logaddexp.reduce(joint))
    for k in range(K):
        weights = np.append(state.weights, 0.5 * state.weights[:, k, None], axis=1)
        weights[:, k] *= 0.5
        begun.append((weights, [*state.thetas, state.thetas[k]]))
        mass = np.cumsum(shares[k] * model.w)
        cut = np.append(shares, shares[[k]], axis=0)
        cut[k, mass > 0.5 * mass[-1]], cut[K, mass <= 0.5 * mass[-1]] = 0.0, 0.0
        new = model.maximisation(cut[None])
        begun.append((new.weights, new.thetas))
    return begun


class Gains(NamedTuple):
    """New components that raise the log-likelihood: by how much, with which shares, responsibilities (C, n) and parameters."""

    gain: NDArray
    share: NDArray
    own: NDArray
    theta: dict

    def of(self, rows):
        """Some of the components."""
        return Gains(self.gain[rows], self.share[rows], self.own[rows], {name: v[rows] for name, v in self.theta.items()})

    def beside(self, other):
        """These and others."""
        theta = {name: np.append(v, other.theta[name]) for name, v in self.theta.items()}
        arrays = (np.concatenate(pair) for pair in zip(self[:3], other[:3], strict=True))
        return Gains(*arrays, theta)


def _gains(model, state, k, theta, o):
    """New components like component k that are admissible and gain anything."""
    logs = model.state(state.weights, state.thetas).logs[0]
    top = logs.max(axis=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mixture = top + np.log(state.weights[0] @ np.exp(logs - top))
        excess = np.expm1(np.minimum(model.logs(k, theta) - mixture, 690.0))
        share, gain = _line_search(excess, model.w)
        own = share[:, None] * (1.0 + excess)
        own /= own + (1.0 - share)[:, None]
        count, _, sd = (a[:, 0] for a in model.spread(own[:, None]))
    narrowest = (NARROW if o.min_sd_ratio is None else o.min_sd_ratio) * model.spread(np.ones((1, 1, model.x.size)))[2][0, 0]
    keeps = np.isfinite(own).all(axis=1) & (gain > 0.0) & (share < 1.0) & (count >= o.min_count) & (sd >= narrowest)
    return Gains(gain, share, own, theta).of(keeps)


# -- limits of families ---------------------------------------------------------------------------------------------


def _at_limits(model, state):
    """By component the limit of its family at which it stands, "" where there is none, and the mixture with points next to these.

    A component is at a limit where its parameters are extreme and no likelier than the fit of the limit to the same shares.
    """
    shares, words, thetas = model.expectation(state)[0][0] * model.w, [""] * len(model.parts), list(state.thetas)
    spread = float(model.spread(np.ones((1, 1, model.x.size)))[2][0, 0])
    for k, part in enumerate(model.parts):
        if k not in model.bound and _is_extreme(part, thetas[k], spread):
            mass = np.where(shares[k] > _NOTHING, shares[k], 0.0)
            words[k], thetas[k] = _limit_of(part, thetas[k], model.x, mass, model.workers)
    return tuple(words), state if not any(words) else model.state(state.weights, thetas)


def _is_extreme(part, theta, spread):
    """Whether a free parameter is far from all that data of this spread have."""
    for name, positive in zip(part.free, part.positive, strict=True):
        size = abs(float(theta[name][0])) / (spread if name in ("loc", "scale") else 1.0)
        if size > 1.0 / _EXTREME or (positive and size < _EXTREME):
            return True
    return False


def _limit_of(part, theta, x, mass, workers):
    """The word of the limit at which a component stands, "" for none, and parameters whose likelihood is that of the limit."""

    def value(d, x=x):
        logs = np.asarray(d.logpdf(x), np.float64)
        return float(np.where(mass > 0.0, mass * logs, 0.0).sum())

    own, best = value(part.distribution({name: float(v[0]) for name, v in theta.items()})), ("", theta)
    slack = max(1e-9, 1e-13 * abs(own))
    for special in part.cls._contains:
        inner = Distribution._weighted_fits(special.family, {})
        if not special.is_limit(inner.cls.names):
            continue
        carried = special.carried(inner.cls.names)
        if not set(part.fixed) <= set(carried):
            continue
        given = {other: sign * part.fixed[name] for name, (other, sign) in carried.items() if name in part.fixed}
        inner = Distribution._weighted_fits(special.family, given)
        turned, order = (-x[::-1], slice(None, None, -1)) if special.mirrored else (x, slice(None))
        found, there = inner(turned, np.ascontiguousarray(mass[order])[None], workers)
        at = {name: float(v[0]) for name, v in found.items()}
        reached = value(inner.distribution(at), -x if special.mirrored else x) if there[0] else -math.inf
        if not reached >= own - slack:
            continue
        for t in 10.0 ** np.arange(4, 17):  # nearer and nearer, until rounding
            near = {name: np.array([float(v)]) for name, v in special.at(t, at).items()}
            with np.errstate(all="ignore"):
                level = value(part.distribution({name: float(v[0]) for name, v in near.items()}))
            if level >= reached - slack:
                best, own = (special.family, near), max(own, reached)
                break
    return best


# -- fits -------------------------------------------------------------------------------------------------------------


class _Options(NamedTuple):
    """The options of `fit_many` that these fits have."""

    n_init: int | None = None
    tol: float = 1e-9
    max_iter: int = 5000
    min_sd_ratio: float | None = None
    min_count: float = 2.5
    criterion: str = "bic"
    se: bool = False
    rng: Any = None
    workers: Any = None
    equal: Any = None
    fixed_weights: Any = None


_UNUSED = (None, False, "portfolio", "newton", "double", "auto", "cpu", 0)  # values of other options that change nothing


def _options_of(options):
    """The options, checked."""
    others = {name: value for name, value in options.items() if name not in _Options._fields}
    for name, value in others.items():
        if not any(value is unused or (isinstance(value, str | int) and value == unused) for unused in _UNUSED):
            raise ValueError(
                f"{name}={value!r} goes with families that have passes of their own; mixtures of other distributions and with "
                f"constraints take {', '.join(_Options._fields)}"
            )
    o = _Options(**{name: value for name, value in options.items() if name not in others})
    fit_options("newton", "portfolio", o.n_init, o.tol, o.max_iter, None, o.min_sd_ratio, o.min_count, o.criterion, "double")
    return o


class Job(NamedTuple):
    """Fits of data sets with each of some numbers of components."""

    family: Any
    o: _Options
    key: int

    def __call__(self, item):
        """Fits of a data set (number, numbers of components, values, weights)."""
        index, candidates, x, w = item
        w = np.ones(x.size) if w is None else w
        wrong = ~(w >= 0.0) | np.isinf(w)
        refused = wrong.any() and (
            Status.NOT_FINITE,
            f"{wrong.sum()} weights are negative, NaN or infinite, the first at index {wrong.argmax()}; weights must be >= 0",
        )
        keep = ~np.isnan(x) & (w != 0.0)
        if not refused:
            design = design_of(self.family, candidates[0], x[keep & np.isfinite(x)], self.o.equal, self.o.fixed_weights)
            refused = _not_admitted(np.where(keep, x, math.nan), design)
        order = np.argsort(x[keep], kind="stable")
        gone = dict(n_dropped=x.size - order.size, n_missing=int(np.isnan(x).sum()))
        found, _ = _by_number(x[keep][order], w[keep][order], gone, self, candidates, index, refused)
        return found


def fit_sets(values, n_components, family, options, first, stops):
    """For each data set, numbered from `first` on, the fits with each number of components; `stops` hears of them and may end it.

    One component more begins also from the fit of fewer, so that it is not less likely.
    """
    o = _options_of(options)
    candidates, per_set = numbers_of_components(n_components, values.count)
    if isinstance(family, list) and len(candidates) > 1:
        raise ValueError(f"family names {len(family)} distributions, so n_components is {len(family)}, not {candidates}")
    if o.fixed_weights is not None and len(candidates) > 1:
        raise ValueError(
            f"fixed_weights are of one number of components, not of {candidates}; pass n_components={np.size(o.fixed_weights)}"
        )
    for K in candidates:
        design_of(family, K, values.x[np.isfinite(values.x)], o.equal, o.fixed_weights)  # refuses what no data set could have
    pool, threads = threads_or_pool(o.workers)
    alone = values.count == 1
    job = Job(family, o._replace(rng=None, workers=threads if alone else 1), int(normalise_rng(o.rng)))
    items = [
        (first + d, candidates if per_set is None else (int(per_set[d]),), part.x, part.w)
        for d, part in enumerate(values.cut(d, d + 1) for d in range(values.count))
    ]
    found: list = []
    with contextlib.ExitStack() as stack:
        if pool is None and threads > 1 and not alone:
            pool = stack.enter_context(ThreadPoolExecutor(threads))
        results = map(job, items) if pool is None else mapped(pool, job, items)
        for fits in results:
            found.append(fits)
            if stops(len(found), fits):
                break
        if pool is not None:
            results.close()
    for _, those, x, _ in items[len(found) :]:
        head = dict(family=family, n_used=x.size, n_dropped=0, n_missing=0, n_starts=0)
        design = [design_of(family, K, x[np.isfinite(x)], o.equal, o.fixed_weights) for K in those]
        found.append(
            [_nothing(Status.STOPPED, Status.STOPPED.meaning, one, head | {"n_components": len(one.parts)}) for one in design]
        )
    return found


def chosen(fits, criterion):
    """The fit of the best criterion, among admissible ones where there are any, and whether what it passes over is doubtful."""
    values = [getattr(f, criterion) if f.loglik == f.loglik else math.inf for f in fits]
    good = [i for i, f in enumerate(fits) if f.status in ADMISSIBLE] or range(len(fits))
    pick = min(good, key=lambda i: values[i])
    one, text, doubtful = fits[pick], "", False
    if len(fits) > 1:
        rows = [(f.n_components, f.status, v, SHORT in f.message) for f, v in zip(fits, values, strict=True)]
        text, doubtful = passed_over(rows, pick, criterion)
    columns = [f.n_components for f in fits], [getattr(f, criterion) for f in fits], [f.status for f in fits]
    table = selection_of(*columns, np.arange(len(fits)) == pick)
    return dataclasses.replace(one, selection=table, message="; ".join(filter(None, (one.message, text)))), doubtful


def _not_admitted(x, design):
    """Status and message of values that are infinite, or that no component takes, None for others."""
    parts = [part.admitted for part in design.parts]
    lower, upper = min(part.lower for part in parts), max(part.upper for part in parts)
    names, whole = " or ".join(dict.fromkeys(part.family for part in parts)), all(part.whole for part in parts)
    closed = any(part.closed for part in parts)
    found = refusals(Admitted(names, lower, upper, closed, whole), np.zeros(1, np.int64), x, np.array([0, x.size]))
    words = x.size and found.words(0)
    return (Status.NOT_FINITE if found.infinite[0] else Status.OUTSIDE, words) if words else None


def _refusal(x, dropped, design):
    """Status and message of data that cannot be fitted, None for others."""
    if not x.size + dropped:
        return Status.NONE_LEFT, "no values"
    if not x.size:
        return Status.NONE_LEFT, Status.NONE_LEFT.meaning
    if not 1e-140 < max(-x[0], x[-1]) < 1e140:
        return Status.NOT_FINITE, "values beyond 1e140, or all within 1e-140, whose squares are no doubles: divide them by a unit"
    if np.unique(x).size <= design.free:
        return Status.TOO_FEW, Status.TOO_FEW.meaning
    return None


class Fewer(NamedTuple):
    """What a fit leaves to those of one component more."""

    states: list  # of its best climbs
    begun: list  # mixtures of one component more
    floor: float  # log-likelihood that those of status 0 reach


def _by_number(x, w, gone, job, candidates, index, refused=None):
    """The fits with each number of components, and what the last one leaves.

    Where fewer components are a case of more they are fitted first, whatever was asked for.
    """
    o, found, fewer = job.o, {}, Fewer([], [], -math.inf)
    alone = isinstance(job.family, list) or names_each(job.family) or o.fixed_weights is not None or names_weights(o.equal)
    last = 0 if alone else max((K for K in candidates if K <= CHAIN), default=0)
    for K in sorted({*candidates, *range(1, last)}):
        found[K], after = _fitted(x, w, gone, job, K, index, fewer, refused)
        fewer = after._replace(floor=-math.inf if alone else max(fewer.floor, after.floor))
    return [found[K] for K in candidates], fewer


def _fitted(x, w, gone, job, K, index, fewer, refused):
    """The fit of one number of components, and what it leaves to one of one more."""
    o, found, rng = job.o, x[np.isfinite(x)], np.random.default_rng([job.key, K, index])
    design = design_of(job.family, K, found, o.equal, o.fixed_weights)
    refused = refused or _refusal(x, gone["n_dropped"], design)
    count = 1 if K == 1 else o.n_init or _STARTS * (1 if design.weights is None else 4)
    head = dict(family=job.family, n_used=x.size, n_components=K, n_starts=count, **gone)
    if refused:
        return _nothing(*refused, design, head), Fewer([], [], -math.inf)
    model = Model(design, x, w, o.workers)
    given = [one for one in fewer.begun if len(one[1]) == K]
    begun, lost = starts(design, x, w, o.workers, count, rng, given[:2])
    head |= {"n_starts": count + len(given[:2])}
    if o.fixed_weights is not None and _exchanges(design):
        free = _by_number(x, w, gone, Job(job.family, o._replace(fixed_weights=None), job.key), (K,), index)[1]
        assigned = [one for state in free.states for one in _assignments(design, state)]
        more, more_lost = _weighed(model, assigned) if assigned else ([], 0)
        begun, lost = begun + more, lost + more_lost
        head["n_starts"] += len(assigned)
    climbs = _climbs(model, begun, o)
    if not climbs:
        return _nothing(Status.COLLAPSED, Status.COLLAPSED.meaning, design, head | {"n_singular": lost}), Fewer([], [], -math.inf)
    best, before = max(climbs, key=_rank), None
    while o.fixed_weights is not None and best is not before:  # as long as an exchange of two weights rises
        before = best
        top = [one.state for one in sorted(climbs, key=_rank)[-_CLIMBED:]]
        swapped = [State(s.weights, [s.thetas[k] for k in order], s.logs) for s in top for order in _exchanges(design)]
        climbs += _climbs(model, _weighed(model, swapped)[0] if swapped else [], o)
        best = max([best, *(one for one in climbs if one.loglik > best.loglik + _slack(best.loglik))], key=_rank)
    short = best.certified and best.keeps and best.loglik < fewer.floor
    if short:  # climbs from fewer components end above, or collapse
        climbs += _climbs(model, [*given[2:], *_divided(model, fewer.states[0])], o)
        reach = [one for one in climbs if one.loglik >= fewer.floor]
        best = max(reach, key=_rank) if reach else best._replace(certified=False)
        short = not (best.certified and best.keeps)
    limits, state = _at_limits(model, best.state)
    if any(limits):
        best = best._replace(state=state, loglik=float(model.expectation(state)[1][0]))
    head |= {"limits": limits}
    gap, more = insertions(model, best.state, o)
    fit = _result(model, climbs, best, o, head | {"gap": gap, "n_singular": lost}, short)
    floor = fit.loglik - 0.1 * _slack(fit.loglik) if fit.status == Status.OK else -math.inf
    states = [one.state for one in sorted(climbs, key=_rank, reverse=True)]
    return fit, Fewer([best.state, *(state for state in states if state is not best.state)][:_CLIMBED], more, floor)


def _slack(loglik):
    """By how much equal log-likelihoods may differ."""
    return 1e-6 * max(1.0, 1e-6 * abs(loglik))


def _climbs(model, begun, o):
    """How climbs from weights and parameters end, those at a finite log-likelihood."""
    out = []
    for weights, thetas in begun:
        state = model.state(weights, thetas)
        one = climb(model, model.maximisation(model.expectation(state)[0], state), o.tol, o.max_iter)
        if math.isfinite(one.loglik):
            out.append(one._replace(keeps=_admissible(model, one.state, o)))
    return out


def _rank(one):
    """Certified and admissible climbs before certified ones, before others; each by their log-likelihoods."""
    return (3 if one.keeps else 2) if one.certified else 1, one.loglik


_beyond_chance = on_arrays(beyond_chance)


def _admissible(model, state, o):
    """Whether no component is too narrow or too small, as of the families with passes of their own."""
    shares = model.expectation(state)[0]
    masses, means, sd = (a[0] for a in model.spread(shares))
    whole = model.spread(np.ones((1, 1, model.x.size)))[2][0, 0]
    free = np.array([bool(part.free) for part in model.parts])
    if len(model.parts) > 1 and (masses < o.min_count).any():
        return False
    narrow = free & ~(sd >= (NARROW if o.min_sd_ratio is None else o.min_sd_ratio) * whole)
    if not narrow.any() or o.min_sd_ratio is not None:
        return not narrow.any()
    nearest = np.abs(model.x[:, None] - means[narrow]).argmin(axis=0)
    r = shares[0, narrow, nearest]
    return all(_beyond_chance(*of_one, whole) for of_one in zip(r, masses[narrow], sd[narrow], strict=True))


def _result(model, climbs, one, o, head, short):
    """The best climb as a fit, its components in ascending order of their medians among those of one distribution."""
    K, thetas = len(model.parts), one.state.thetas
    made = [p.distribution({n: float(v[0]) for n, v in t.items()}) for p, t in zip(model.parts, thetas, strict=True)]
    order = np.arange(K)
    for members in model.alike:
        order[members] = sorted(members, key=lambda k: float(made[k].median()))
    order[model.design.places] = order.copy()
    status = Status.NOT_CERTIFIED if one.ended else Status.NO_CONVERGENCE
    if one.certified:
        status = Status.OK if one.keeps else Status.INADMISSIBLE
    slack = _slack(one.loglik)
    hits = sum(other.loglik >= one.loglik - slack for other in climbs)
    message = _STILL if status == Status.NOT_CERTIFIED else in_words(status)
    if status == Status.OK and head["n_starts"] > 1:
        message += f"; the best of {head['n_starts']} starts, reached by {hits} of the {len(climbs)} that were climbed from"
    if short:
        message += f"; {SHORT}"
    head["limits"] = tuple(head["limits"][k] for k in order)
    message += limits_in_words(head["limits"])
    shares = model.expectation(one.state)[0][0]
    entropy = -float(np.sum(shares * np.log(np.maximum(shares, 1e-300)), axis=0) @ model.w)
    bic = model.design.free * math.log(model.mass) - 2.0 * one.loglik
    return ComponentsFit(
        **head,
        weights=one.state.weights[0][order],
        components=tuple(made[k] for k in order),
        loglik=one.loglik,
        n_iter=one.passes,
        converged=status in CONVERGED,
        status=int(status),
        message=message,
        bic=bic,
        aic=2.0 * model.design.free - 2.0 * one.loglik,
        icl=bic + 2.0 * entropy,
        n_free=model.design.free,
        hits=hits,
        runner_up=max((f.loglik for f in climbs if f.certified and f.loglik < one.loglik - slack), default=math.nan),
        n_climbed=len(climbs),
        se=_named_errors(model, one, order) if o.se and status == Status.OK else {},
        decrement=one.decrement,
        min_eig=one.min_eig,
    )


def _named_errors(model, one, order):
    """Standard errors of the weights and the parameters by name, 0 for fixed ones and NaN for those a component has not."""
    of_weights, of_others = one.errors
    names = dict.fromkeys(name for part in model.parts for name in part.cls.names)
    out = {name: np.array([0.0 if name in part.cls.names else math.nan for part in model.parts]) for name in names}
    for at, error in zip(model.coordinates, of_others, strict=True):
        out[at.name][list(at.members)] = error
    return {"weights": of_weights[order]} | {name: errors[order] for name, errors in out.items()}


def _nothing(status, message, design, head):
    """The fit of data that cannot be fitted."""
    numbers = dict.fromkeys(("loglik", "bic", "aic", "icl", "runner_up", "gap", "decrement", "min_eig"), math.nan)
    counts = dict(n_iter=0, hits=0, n_climbed=0, n_singular=0, n_free=design.free)
    nowhere = np.full(len(design.parts), math.nan)
    ended = dict(weights=nowhere, components=(), converged=False, status=int(status), message=message, se={})
    return ComponentsFit(**numbers | counts | ended | head)
