"""Markov chains: the paper's Gibbs sampler, the same with parameter expansion, split Hamiltonian steps, a Gaussian surrogate.

The samplers of a probit model are the first two, and the others, which know of the likelihood its sum and gradient only; a logit
or Poisson model has the others. The normal distribution has a Gibbs sampler of its own, and for more columns than rows another
(samplers/collapsed.py).

All chains advance together: a pass over X serves them all. The state is a dictionary of arrays, so that it can be saved and
resumed exactly: what an iteration draws depends on the key, the chain and the iteration alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import itertools
import math
import threading

import numpy as np
from scipy.linalg import blas, lapack

from numbastats._core.launch import launch
from numbastats._core.parallel import in_threads, worker_count
from numbastats._core.random import Purpose, stream_word
from numbastats.bayes import kernels as k
from numbastats.bayes.diagnostics import psis
from numbastats.bayes.likelihood import Rows
from numbastats.bayes.responses import BINARY
from numbastats.bayes.samplers import collapsed
from numbastats.scalar.shrinkage import item_of

__all__ = ["SAMPLERS", "Chains", "one_blas_thread", "sampler_of", "surrogate_sweeps"]

SAMPLERS = ("gibbs", "px-gibbs", "split-hmc", "surrogate", "collapsed-gibbs")
_ANGLE, _LARGEST = 1.2, 1.309  # of the Hamiltonian rotation, in radians
_NEWTON_STEPS = 100  # at most; the first steps may be short where counts are large
_TRIES = 50  # surrogate proposals by which "auto" decides
_SLAB_STEPS = 3
_MANY_COLUMNS = 2000  # order of a factorisation above which threads of BLAS pay
_SLAB_COLUMNS = 3  # columns for each row from which n x n algebra pays where a slab has it made anew at every proposal of tau
_LARGE_PRODUCT = 3e7  # n^2 p from which threads for the chains pay; below, they wait for the interpreter
_LIGHT = 0.5  # "auto" takes no surrogate above this Pareto shape of its tries; they are few, so it is below a fit's limit


@functools.cache
def _openblas():
    """Functions that get and set the number of threads of NumPy's and SciPy's OpenBLAS; none for another BLAS."""
    found = []
    for user, prefix, suffix in itertools.product(
        ("numpy.linalg._umath_linalg", "scipy.linalg._flapack"), ("scipy_openblas", "openblas"), ("", "64_")
    ):
        with contextlib.suppress(ImportError, OSError, AttributeError):
            library = ctypes.CDLL(importlib.import_module(user).__file__)
            found.append([getattr(library, f"{prefix}_{verb}_num_threads{suffix}") for verb in ("get", "set")])
    return found


_blas_lock = threading.Lock()
_blas_held: list[list] = []  # functions that restore the number of threads, a list for each fit in progress


@contextlib.contextmanager
def one_blas_thread(n, p):
    """Keep BLAS to one thread while chains run on n x p rows, unless the algebra is large: waking threads takes longer."""
    if min(n, p) >= _MANY_COLUMNS:
        yield
        return
    with _blas_lock:
        _blas_held.append(_blas_held[0] if _blas_held else [functools.partial(put, get()) for get, put in _openblas()])
        for _, put in _openblas():
            put(1)
    try:
        yield
    finally:
        with _blas_lock:
            restore = _blas_held.pop()
            for put in [] if _blas_held else restore:
                put()


def sampler_of(response, sampler, n, p, slab):
    """The sampler that "auto" stands for as far as the shape decides: else it is still "auto", or "gibbs" of numbers.

    Of numbers "gibbs" keeps up where a slab has A V A' made anew at every proposal of tau.
    """
    if sampler != "auto":
        return sampler
    least = _SLAB_COLUMNS if response == "gaussian" and slab is not None and not math.isinf(slab) else 1
    if response != "poisson" and p > least * n:
        return "collapsed-gibbs"
    return "gibbs" if response == "gaussian" else "auto"


def surrogate_sweeps(n, p):
    """Sweeps under the surrogate per pass over the data: their p^3/3 operations balance the n p of a pass."""
    return int(min(max(round(5.0 * n / max(p, 1) ** 2), 1), 10))


def _factor(H, d):
    """Lower Cholesky factor of H + diag(d), Fortran order, and d, clipped as far as the factorisation needs."""
    size = np.maximum(H.diagonal(), 1.0)
    for low, high in ((0.0, math.inf), (1e-13, 1e200), (1e-9, 1e100)):
        A, near = H.copy(order="F"), np.clip(d, low * size, high)
        A.reshape(-1, order="F")[:: len(A) + 1] += near  # a view of the diagonal; NumPy's indices of it take half of the time
        L, info = lapack.dpotrf(A, lower=1, overwrite_a=1)
        if info == 0:
            return L, near
    raise RuntimeError(
        "the Cholesky factorisation of X'X + diag(d) failed three times; are there non-finite or huge columns in X?"
    )


def _summed(sums, *args):
    """Sums over the rows; raises where they are not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = sums(*args)
    if not all(np.isfinite(a).all() for a in (found if isinstance(found, tuple) else [found])):
        raise ValueError(
            "sums over products of X's columns overflow in its storage type; bring the columns to a scale near 1, for example by "
            "standardize=True, or use dtype='float64'"
        )
    return found


def _shape_of_tail(ratios):
    """Pareto shape of importance ratios, given the list of their logarithms; None for fewer than 100 ratios."""
    ratios = np.concatenate(ratios) if ratios else np.empty(0)
    ratios = ratios[np.isfinite(ratios)]
    return float(psis(ratios[None])[1][0]) if ratios.size >= 100 else None


def _regularised_ratio(D, inverse):
    """Log of sqrt(D + 1/c^2) over sqrt(D) + 1/c, from -log(2)/2 to 0."""
    return 0.5 * np.log(D + inverse**2) - np.log(np.sqrt(D) + inverse)


def _exponentials(Z):
    """Exponential draws, each made of two normals: one from either half of a row."""
    first, second = np.split(Z, 2, axis=1)
    return 0.5 * (first**2 + second**2)


def _solve(L, v, transposed=False):
    return blas.dtrsv(L, v, lower=1, trans=int(transposed))


def _streams(first, chains):
    """Stream words, shape (stages, chains), of consecutive chains; `first` is the number of the first one."""
    numbers = np.arange(k.STAGES)[:, None] + k.STAGES * np.arange(first, first + chains)
    return np.array([[stream_word(Purpose.BAYES, int(c)) for c in row] for row in numbers], np.uint32)


class Chains:
    """A number of chains of one sampler on one data set.

    Parameters
    ----------
    rows : Rows
    skip : int
        Number of leading columns that are not shrunk: 1 with an intercept.
    prior : {"horseshoe", "horseshoe+", "ridge", "lasso"}
    kind : str
        One of `SAMPLERS`, or "auto".
    chains, warmup : int
    key : tuple of two uint32
    tau_scale : float
        Scale of the half-Cauchy prior of tau.
    tau : float or None
        A fixed tau.
    slab : float or None
        Standard deviation of the slab.
    slab_df : float or None
        Degrees of freedom of the slab's prior under the regularised horseshoe, inf for a fixed slab; None for a slab that is
        a factor of the prior.
    intercept_precision : float
    sweeps : int or None
        Sweeps of the surrogate.
    number : tuple of two ints or None
        Number of the only chain here, and the fit's number of chains; None where all chains are here.
    """

    def __init__(  # noqa: PLR0913
        self,
        rows,
        *,
        skip,
        prior,
        kind,
        chains,
        warmup,
        key,
        tau_scale,
        tau,
        slab,
        intercept_precision,
        sweeps,
        slab_df=None,
        number=None,
    ):
        self.rows, self.skip, self.prior, self.warmup, self.key = rows, skip, prior, warmup, key
        self.n, self.p = rows.shape
        self.scale, self.fixed = float(tau_scale), tau is not None
        self.slab = np.zeros(self.p)  # contribution of the slab to the prior precision
        self.slab[skip:] = 0.0 if slab is None else 1.0 / max(float(slab), 1e-150) ** 2  # finite
        self.slab_df, self.width = slab_df, 1.0 if slab is None else max(float(slab), 1e-150)
        self.sweeps = surrogate_sweeps(self.n, self.p) if sweeps is None else sweeps
        self.kind = sampler_of(rows.response, kind, self.n, self.p, slab)
        self.choosing = self.kind == "auto"
        self.kind = "split-hmc" if self.choosing else self.kind
        self.normal = rows.response == "gaussian"
        self.weight = rows.facts[k.WEIGHT].sum() if self.normal else 0.0
        self.collapsed = self.kind == "collapsed-gibbs"
        self.wide = self.p > self.n and not self.normal and self.kind in ("gibbs", "px-gibbs")  # an n x n factorisation
        first, of = (0, chains) if number is None else number
        self.streams = _streams(first, chains)
        shape = (chains, self.p)
        D = np.ones(shape)
        D[:, :skip] = min(max(intercept_precision, 1e-12), 1e300)
        self.state = s = {
            "B": np.zeros(shape),
            "D": D,
            "T": np.full(chains, -2.0 if tau is None else math.log(tau)),
            "iteration": 0,
            "clock": 0,
            "angle": _ANGLE,
            "accepted": np.zeros(chains),
            "offered": 0,
            "nonfinite": 0,
        }
        self._drawn = ["T", "D"]  # entries of the state that are drawn given the coefficients
        if prior == "horseshoe+":
            s["N"] = np.ones(shape)  # eta^-2, of the second half-Cauchy factor
            self._drawn.append("N")
        if slab_df is not None:
            s["C"] = np.full(chains, math.log(max(float(slab), 1e-150)))  # log of the slab's width
            self._drawn.append("C")
        # the chains' own streams, then those of chain numbers beyond the fit's
        self._more_streams = [_streams(i * of + first, chains) for i in range(9)]
        self._no_slab = np.zeros(shape)
        self.ratios = []  # of the surrogate since the warmup: log of exact over approximate likelihood, per proposal and chain
        rows_drawn = self.n if self.wide or self.collapsed else 0
        self._Z, self._U = np.empty((chains, self.p + rows_drawn)), np.empty((chains, 2))
        self._intercept_precision = intercept_precision
        if self.collapsed:
            self._start_collapsed()
        elif self.normal:
            self._start_normal(improper=intercept_precision == 0.0)
        elif self.kind in ("gibbs", "px-gibbs"):
            s["T"][:] = 0.0 if tau is None else math.log(tau)
            s["V"] = np.ones((chains, 2, self.p))
            s["W"] = np.column_stack([np.exp(-2.0 * s["T"]), np.ones(chains)])
            if not self.wide:
                s["H"] = _summed(rows.gram)
            else:
                self.attach(rows)
                _summed(lambda: np.einsum("ij,ij->i", self._X, self._X))
        else:
            self._start()

    def attach(self, rows):
        """Take up the data, which are not pickled with the chains."""
        self.rows = rows
        if self.wide:
            self._identity, self._X = Rows(np.eye(self.n), rows.device, rows.workers), rows.floats()
        if self.collapsed:
            weights, offsets, outcomes = rows.facts if rows.response != "probit" else (np.ones(self.n), np.zeros(self.n), None)
            X, intercept = rows.floats().astype(np.float64, copy=False), (self.skip, self._intercept_precision)
            if self.normal:
                self._problem = collapsed.problem(X, outcomes, weights, skip=intercept[0], precision=intercept[1])
            else:
                some = weights > 0.0
                self._problem = collapsed.Classes(rows.response, X[some], weights[some], offsets[some], *intercept)

    def __getstate__(self):
        """The state that is pickled: without the data."""
        return self.__dict__ | {"rows": None, "_identity": None, "_X": None, "_problem": None}

    # --- common steps ---

    def _step(self, part=0):
        """Counter word of a step: `part` numbers the sweeps within an iteration."""
        return np.uint32((self.state["clock"] * (self.sweeps + 1) + part) & 0xFFFFFFFF)

    def _draws(self, part=0):
        """Normals (chains, p), and two uniforms per chain."""
        k.DRAWS.serial(*self.key, self.streams, self._step(part), self._Z, self._U)
        return self._Z, self._U

    def _scales(self, B, s, part=0, *, reversible=False):
        """Draw the entries `_drawn` given B, in place: log tau, local scales (two sets for the horseshoe+), slab width."""
        T, D, N, C = s["T"], s["D"], s.get("N"), s.get("C")
        if C is not None and reversible:
            self._draw_slab(B, D, C, 6, part)
        # b ~ N(0, lambda^2 eta^2 tau^2), of the horseshoe eta = 1: lambda and tau from b/eta, then eta from b/(lambda tau)
        if N is None:
            self._draw_scales(B, 1.0, self.fixed, 0, part, T, D, C)
        else:
            shrunk = slice(self.skip, None)
            D[:, shrunk] /= N[:, shrunk]
            self._draw_scales(B, N, self.fixed, 0, part, T, D, C)
            others = np.ones_like(D)
            others[:, shrunk] = D[:, shrunk]
            self._draw_scales(B, others, True, 1, part, np.zeros_like(T), N, C)
            if reversible:  # the steps in both orders, so that the chain is reversible
                self._draw_scales(B, N, self.fixed, 2, part, T, D, C)
            D[:, shrunk] = np.clip(D[:, shrunk] * N[:, shrunk], 1e-12, 1e300)
        if C is not None:
            self._draw_slab(B, D, C, 7, part)

    def _draw_scales(self, B, others, fixed, number, part, T, D, C):
        """Draw log tau and the precisions D of one factor of the scales, given the precisions of the `others`; in place."""
        cost = 40.0 * max(self.p - self.skip, 1) + 1000.0
        options = (np.int64(self.skip), self.scale, fixed, *self.key, self._more_streams[number], self._step(part))
        where = {"device": "cpu", "workers": self.rows.workers, "cost": cost}
        prior, root = "horseshoe" if self.prior == "horseshoe+" else self.prior, np.sqrt(others)
        if C is None:
            launch(k.SCALES[prior], (B * root, self._no_slab, *options, T, D), B.shape[0], **where)
            return
        # proposals whose density has 1/w + 1/c where it should have sqrt(1/w^2 + 1/c^2); scales that share a new tau go together
        inverse, shrunk = np.exp(-C)[:, None] / (root * np.ones_like(B)), slice(self.skip, None)
        new_T, new = T.copy(), D.copy()
        launch(k.SCALES["regularised"], (B * root, inverse, *options, new_T, new), B.shape[0], **where)
        gain = _regularised_ratio(new, inverse)[:, shrunk] - _regularised_ratio(D, inverse)[:, shrunk]
        gain = gain if fixed else gain.sum(axis=1, keepdims=True)
        taken = gain > -_exponentials(self._normals(number + 3, part, 2 * gain.shape[1]))
        np.copyto(D[:, shrunk], new[:, shrunk], where=taken)
        if not fixed:
            np.copyto(T, new_T, where=taken[:, 0])

    def _normals(self, number, part, size):
        """More normals, shape (chains, size)."""
        Z, chains = np.empty((self._U.shape[0], size)), self._U.shape[0]
        k.DRAWS.serial(*self.key, self._more_streams[number], self._step(part), Z, np.empty((chains, 2)))
        return Z

    def _draw_slab(self, B, D, C, number, part):
        """Log widths C of the slab given coefficients and their scales, in place: Metropolis steps of all sizes."""
        if math.isinf(self.slab_df):
            return
        D, squares = D[:, self.skip :], (B[:, self.skip :] ** 2).sum(axis=1)

        def density(s):  # c^2 is inverse gamma
            precision = np.exp(-2.0 * s)
            prior = -self.slab_df * (s + 0.5 * self.width**2 * precision)
            return prior + 0.5 * (np.log(D + precision[:, None]).sum(axis=1) - squares * precision)

        value = density(C)
        for z in np.split(self._normals(number, part, 4 * _SLAB_STEPS), _SLAB_STEPS, axis=1):
            new = C + 0.5 * np.exp(z[:, 0]) * z[:, 1]
            found = density(new)
            taken = found - value > -_exponentials(z[:, 2:])[:, 0]
            np.copyto(C, new, where=taken)
            value = np.where(taken, found, value)

    def _precisions(self, s):
        """Prior precisions of the coefficients."""
        if "C" not in s:
            return s["D"] + self.slab
        return s["D"] + np.exp(-2.0 * s["C"])[:, None] * (self.slab > 0.0)

    def _start(self):
        """Start chains at draws from the normal approximation at the mode under a standard normal prior."""
        s = self.state
        b = np.zeros(self.p)
        d = np.ones(self.p)
        d[: self.skip] = s["D"][0, : self.skip]
        if self.rows.response == "probit":
            for _ in range(6):
                H, h = _summed(self.rows.curvature, b)
                L, _ = _factor(H, d)
                b = _solve(L, _solve(L, h), True)
        else:
            b, L = self._mode(d)
        z = self._draws()[0]
        s["B"] = self._about_mode(b, np.array([_solve(L, v, True) for v in z]), z, d)
        s["H"], s["h"] = _summed(self.rows.curvature, b)
        s["mean"], s["count"] = b.copy(), 0
        self._restart()

    def _mode(self, d):
        """The mode by Newton's method, with steps halved where the posterior falls, and the Cholesky factor at the mode."""
        b = np.zeros(self.p)
        b[: self.skip] = self.rows.level()
        value = self.rows.loglik(b[None])[0][0] - 0.5 * (d * b) @ b
        for _ in range(_NEWTON_STEPS):
            H, h = _summed(self.rows.curvature, b)
            L, _ = _factor(H, d)
            step = _solve(L, _solve(L, h), True) - b
            for _ in range(60):
                new = b + step
                found = self.rows.loglik(new[None])[0][0] - 0.5 * (d * new) @ new
                if found >= value:  # false for NaN
                    break
                step = 0.5 * step
            else:
                break
            gain, b, value = found - value, new, found
            if gain < 1e-3:
                break
        return b, L

    def _about_mode(self, b, steps, z, d):
        """The mode b plus draws from the normal approximation, halved where the posterior falls more than twice as fast.

        Sums of exponentials fall so fast in directions that only the prior determines; chains would not return from there.
        """

        def fall(B):
            with np.errstate(over="ignore", invalid="ignore"):
                return 0.5 * (B * B) @ d - self.rows.loglik(B)[0]

        least, share = fall(b[None]), np.ones(len(z))
        for _ in range(60):
            far = ~(fall(b + share[:, None] * steps) - least <= share**2 * (z * z).sum(axis=1))
            if not far.any():
                break
            share[far] *= 0.5
        return b + share[:, None] * steps

    def _restart(self):
        s = self.state
        s["loglik"], s["gradient"] = _summed(self.rows.loglik, s["B"])

    def advance(self):
        """One iteration of all chains; during warmup also adaptation. Acceptance is counted anew after the warmup."""
        step = {
            "gibbs": self._normal if self.normal else self._gibbs,
            "px-gibbs": self._gibbs,
            "split-hmc": self._rotate,
            "surrogate": self._propose,
            "collapsed-gibbs": self._collapse,
        }
        with np.errstate(over="ignore", invalid="ignore"):  # proposals of infinite energy are rejected and counted
            chance = step[self.kind]()
        s = self.state
        i = s["iteration"]
        if i == self.warmup:
            s["accepted"], s["offered"] = np.zeros_like(chance), 0
        s["accepted"] = s["accepted"] + chance
        s["offered"] += 1
        if i < self.warmup and self.kind in ("split-hmc", "surrogate"):
            self._adapt(i, chance.mean())
        s["iteration"], s["clock"] = i + 1, s["clock"] + 1

    # --- Gibbs sampling through the latent variables ---

    def _gibbs(self):
        s = self.state
        B = s["B"]
        stage, step = self.streams[k.LATENT_STAGE], self._step()
        if self.wide:
            margins = (np.ascontiguousarray(B, self._X.dtype) @ self._X.T).astype(np.float64)
            z = margins + self._identity.latent(margins, self.key, stage, step)[0]
        else:
            e, squares = self.rows.latent(B, self.key, stage, step)
        if self.prior == "horseshoe" and self.kind == "gibbs" and "C" not in s:
            options = (np.int64(self.skip), self.scale, self.fixed, *self.key, self.streams, step)
            k.CONDITIONALS.serial(B, *options, s["V"], s["W"], s["T"], s["D"])
        elif B.any():  # coefficients that are all 0, at the start, would send tau and the local scales towards 0
            self._scales(B, s)
        Z, _ = self._draws()
        expanded, rounding = self.kind == "px-gibbs", 64.0 * np.finfo(self.rows.dtype).eps
        gammas = np.empty(B.shape[0])
        if expanded:
            k.GAMMA.serial(*self.key, self.streams, step, 0.5 * self.n, gammas)
        P = self._precisions(s)
        for c in range(B.shape[0]):
            if self.wide:
                B[c] = self._wide_draw(z[c], P[c], Z[c], gammas[c] if expanded else None)
                continue
            # start from b and z - X b: with z itself the least squares cancel, and a large b leaves none of their digits
            b, g = B[c], 1.0
            L, d = _factor(s["H"], P[c])
            pull = d * b
            v = _solve(L, e[c] - pull)
            if expanded:
                rest = squares[c] + pull @ b - v @ v  # where rounding leaves nothing positive, a plain Gibbs step is taken
                g = math.sqrt(2.0 * gammas[c] / rest) if rest > rounding * squares[c] else 1.0
            B[c] = _solve(L, g * (b @ L + v) + Z[c, : self.p], True)
        return np.ones(B.shape[0])

    def _wide_draw(self, z, d, normals, gamma):
        """Bhattacharya, Chakraborty and Mallick (2016): one n x n factorisation."""
        X = self._X
        u = normals[: self.p] / np.sqrt(d)
        L, _ = _factor(np.asfortranarray((X / d) @ X.T, np.float64), np.ones(self.n))
        g = 1.0
        if gamma is not None:
            v = _solve(L, z)
            g = math.sqrt(2.0 * gamma / (v @ v))
        rest = g * z - X @ u - normals[self.p :]
        return u + (X.T @ _solve(L, _solve(L, rest), True)) / d

    # --- Gibbs sampling of a normal response: sigma with the coefficients integrated out, then these ----------------------

    def _start_normal(self, improper):
        """Sums over the data, which is all that the chains need; with `improper` the prior of the intercept is flat."""
        s, rows = self.state, self.rows
        s["H"], *self._least = _summed(rows.least_squares)
        self._shape = 0.5 * (self.weight - (self.skip if improper else 0))
        s["S"] = np.zeros(len(s["B"]))  # log sigma
        if not self.fixed:
            s["T"][:] = 0.0
        self._draw_normal()

    def _normal(self):
        s = self.state
        self._scales(s["B"] * np.exp(-s["S"])[:, None], s)
        self._draw_normal()
        return np.ones(len(s["B"]))

    def _draw_normal(self):
        """Sigma given the scales, then the coefficients given both."""
        s, (b, g, squares) = self.state, self._least
        Z, _ = self._draws()
        gammas, P = np.empty(len(Z)), self._precisions(s)
        k.GAMMA.serial(*self.key, self.streams, self._step(), self._shape, gammas)
        for c in range(len(Z)):
            L, d = _factor(s["H"], P[c])
            v = _solve(L, g - d * b)  # v is the coefficients minus b: solving with y itself would cancel digits
            rest = squares + (d * b) @ b - v @ v
            sigma = math.sqrt(max(rest, 1e-14 * squares, 1e-300) / (2.0 * gammas[c]))
            s["B"][c] = b + _solve(L, v + sigma * Z[c], True)
            s["S"][c] = math.log(sigma)

    # --- the same with log tau, too, drawn with the coefficients integrated out: n x n algebra ----------------------------

    def _start_collapsed(self):
        s = self.state
        self.attach(self.rows)
        chains = len(s["B"])
        s["loglik"] = np.empty(chains)
        if self.normal:
            s["S"] = np.zeros(chains)
        if not self.fixed:
            s["D"][:, self.skip :] = np.exp(-2.0 * s["T"])[:, None]
        self._draw_collapsed(lambda data, prior, state, numbers: collapsed.init(data, prior, state.d, state.log_tau, numbers))

    def _collapse(self):
        s = self.state
        self._scales(s["B"] * np.exp(-s["S"])[:, None] if self.normal else s["B"], s)
        self._draw_collapsed(collapsed.step)
        return np.ones(len(s["B"]))

    def _draw_collapsed(self, draw):
        """A draw of every chain, in place; a chain is one thread's, so results depend neither on workers nor on executors."""
        s, skip = self.state, self.skip
        Z, _ = self._draws()
        gammas, extra = np.empty(len(Z)), self._precisions(s) - s["D"]
        shape = self._problem.shape if self.normal else 0.5 * self.n
        k.GAMMA.serial(*self.key, self.streams, self._step(), shape, gammas)
        item = item_of(np.int64(0), self._step())

        def chain(c):
            rows, b = self._problem, s["B"][c]
            data = rows if self.normal else collapsed.given_latent(rows, b, self.key, item, self.streams[k.LATENT_STAGE, c])
            state = collapsed.State(b, s["D"][c, skip:], s["T"][c], s["S"][c] if self.normal else 0.0, s["loglik"][c])
            prior = collapsed.Prior(extra[c, skip:], "C" not in s, self.scale, self.fixed)
            words = collapsed.Numbers(Z[c], gammas[c], self.key, item, self._more_streams[8][0, c])
            b, s["D"][c, skip:], s["T"][c], log_sigma, s["loglik"][c] = draw(data, prior, state, words)
            if self.normal:
                s["B"][c], s["S"][c] = b, log_sigma
            else:
                s["B"][c] = b * math.exp(-log_sigma)
                s["loglik"][c] = collapsed.loglik(rows, s["B"][c])

        large = self.n * self.n * self.p > _LARGE_PRODUCT
        in_threads(chain, [(c,) for c in range(len(Z))], worker_count(self.rows.workers) if large else 1)

    # --- split Hamiltonian Monte Carlo: an exact rotation under a Gaussian approximation, a kick by the remainder --------

    def _rotate(self):
        s = self.state
        B = s["B"]
        self._scales(B, s)
        P = self._precisions(s)
        Z, U = self._draws()
        chains = B.shape[0]
        factors, new = [], np.empty_like(B)
        energy, momenta, angles = np.empty(chains), np.empty_like(B), s["angle"] * (0.8 + 0.4 * U[:, 1])
        rotated = np.empty_like(B)
        for c in range(chains):
            b, d, v = B[c], P[c], Z[c]
            L, _ = _factor(s["H"], d)
            shift = _solve(L, s["h"])
            q = b @ L - shift  # OpenBLAS runs trmv in threads from 20 x 20 on: 12 ms a call on a busy machine
            pull = _solve(L, d * b - s["gradient"][c]) - q
            energy[c] = -s["loglik"][c] + 0.5 * (d * b) @ b + 0.5 * v @ v
            a = angles[c]
            v = v - 0.5 * a * pull
            rotated[c] = q * math.cos(a) + v * math.sin(a)
            momenta[c] = v * math.cos(a) - q * math.sin(a)
            new[c] = _solve(L, rotated[c] + shift, True)
            factors.append(L)
        loglik, gradient = self.rows.loglik(new)
        chance = np.empty(chains)
        for c in range(chains):
            b, d = new[c], P[c]
            v = momenta[c] - 0.5 * angles[c] * (_solve(factors[c], d * b - gradient[c]) - rotated[c])
            gain = energy[c] - (-loglik[c] + 0.5 * (d * b) @ b + 0.5 * v @ v)
            chance[c] = self._decide(gain, U[c, 0], {"B": (c, b), "loglik": (c, loglik[c]), "gradient": (c, gradient[c])})
        return chance

    def _decide(self, gain, u, updates):
        """Accept with probability min(1, e^gain); returns the probability."""
        if not math.isfinite(gain):
            self.state["nonfinite"] += 1
            return 0.0
        if math.log(u) < gain:
            for name, (c, value) in updates.items():
                self.state[name][c] = value
        return math.exp(min(0.0, gain))

    # --- a Gaussian surrogate of the likelihood: sweeps without the data, then one exact acceptance ----------------------

    def _surrogate_loglik(self, B):
        return B @ self.state["h"] - 0.5 * np.einsum("cp,cp->c", B @ self.state["H"], B)

    def _propose(self):
        """Alternate draws of scales and coefficients, first and last the scales: the acceptance needs a reversible chain."""
        s = self.state
        B, scales = s["B"].copy(), {name: s[name].copy() for name in self._drawn}
        for sweep in range(self.sweeps):
            self._scales(B, scales, sweep, reversible=True)
            Z, _ = self._draws(sweep)
            P = self._precisions(scales)
            for c in range(B.shape[0]):
                L, _ = _factor(s["H"], P[c])
                B[c] = _solve(L, _solve(L, s["h"]) + Z[c], True)
        self._scales(B, scales, self.sweeps, reversible=True)
        U = self._draws(self.sweeps)[1]
        loglik, gradient = self.rows.loglik(B)
        ratios = loglik - self._surrogate_loglik(B)
        self._latest = ratios
        if s["iteration"] >= self.warmup:
            self.ratios.append(ratios)
        gains = ratios - (s["loglik"] - self._surrogate_loglik(s["B"]))
        chance = np.empty(B.shape[0])
        for c in range(B.shape[0]):
            new = {"B": B[c], "loglik": loglik[c], "gradient": gradient[c]} | {name: v[c] for name, v in scales.items()}
            chance[c] = self._decide(gains[c], U[c, 0], {name: (c, value) for name, value in new.items()})
        return chance

    def tail_shape(self):
        """Pareto shape of the surrogate's importance ratios; None for other samplers and fewer than 100 proposals."""
        return _shape_of_tail(self.ratios)

    # --- warmup ---

    def _adapt(self, i, chance):
        s = self.state
        s["count"] += 1
        s["mean"] = s["mean"] + (s["B"].mean(axis=0) - s["mean"]) / s["count"]
        shares = (0.1, 0.3, 0.6) if self.kind == "split-hmc" else (0.5,)
        if i in [int(share * self.warmup) for share in shares]:
            s["H"], s["h"] = self.rows.curvature(s["mean"])
            s["count"] = 0
        if self.kind == "split-hmc" and i > 30:
            s["angle"] = min(_LARGEST, max(0.05, s["angle"] * math.exp((chance - 0.8) / math.sqrt(i - 29))))
        if self.choosing and i == int(0.8 * self.warmup):
            self._choose()

    def _choose(self):
        """Try surrogate proposals, from a state of the posterior to another."""
        self.choosing = False
        total, best, tried = 0.0, -math.inf, []
        for _ in range(_TRIES):
            total += self._propose().mean()
            tried.append(self._latest)
            best = max(best, self.state["loglik"].max())
            self.state["clock"] += 1
        # a plane separates the classes, so that the posterior has the prior's tails
        separable = self.rows.response in BINARY and best > -math.log(2.0)
        light = self.rows.response != "probit" and (_shape_of_tail(tried) or 0.0) > _LIGHT
        if total / _TRIES > 0.6 and not separable and not light:
            self.kind = "surrogate"
