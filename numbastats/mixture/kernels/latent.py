"""Climbs and densities of families with a latent variable (`numbastats.scalar.latent`), which have no few fixed statistics.

A pass adds up, by component, what the M-step or the derivatives need. Around it runs the same control as in `climb`: EM, then
Newton's method with its certificate; where that fails, more EM. Each family has kernels of its own, with its formulas bound to
the loops here, so that none compiles those of another.

A pass fills `acc`: the log-likelihood; nine sums for each component; then, if derivatives are wanted, the sums of z and of its
products, z = (r_k, r_k s1, r_k s2 ...) over the components k for one derivative s after the other.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import prange

from numbastats._core.climb import copy, copy_matrix
from numbastats._core.cuda_backend import cuda
from numbastats._core.endings import COLLAPSED, OK
from numbastats._core.kernel import HostLoop, Kernel, array_function, bind
from numbastats.mixture.kernels import records as c
from numbastats.mixture.kernels.climb import climb_types, newton, split_climb
from numbastats.mixture.kernels.parameters import least_mass
from numbastats.mixture.kernels.passes import BLOCK, CHUNK, FAST, ROW
from numbastats.scalar import latent as lat
from numbastats.scalar.elementary import exp_neg, log

OWN = 9  # sums of one component
NUMBERS = 8  # rows of P: a family's seven numbers and the logarithm of the weight
MAX_LATENT_CUDA_K = 8

_function = array_function(fastmath=(), host=False)
_summing = array_function(fastmath=FAST, host=False)
_coefficients = _density = _expected = _maximise = _derivatives = _component_numbers = _m_step = None  # bound by build


# --- parameters (rows, K): weights, m, v, and s where the family has one ------------------------------------------------------


@_function
def _proper(par, floor, centre, family):
    """Whether all is finite and positive that must be, and no component at the floor."""
    for k in range(par.shape[1]):
        m, v = par[1, k], par[2, k]
        if not (par[0, k] > 0.0 and v > floor and v < math.inf and abs(m) < math.inf):
            return False
        if family == lat.NEGATIVE_BINOMIAL and not m > 0.0:
            return False
        if family == lat.STUDENT_T and not par[3, k] > lat.LEAST_DF:
            return False
    return True


@_function
def _last(par, family, k):
    """The parameter that may run to a limit, as its coordinate grows."""
    return par[2, k] if family == lat.NEGATIVE_BINOMIAL else par[3, k]


@_function
def _assemble(acc, _acc, par, g, full, D, info, settings):
    """Gradient and Hessian in theta = (log al_k/al_K for k < K; first coordinates; second; third) from the sums of a pass.

    `full` becomes the information of the complete data about each coordinate alone, by the squares of the derivatives. A last
    coordinate at its limit, with the likelihood still rising, no longer counts.
    """
    rows, K = par.shape
    n, first, family = rows * K - 1, 1 + OWN * K, settings.family
    products, mass = first + rows * K, info.mass
    for i in range(rows * K):
        a, k = i // K, i % K
        if a == 0 and k == K - 1:
            continue
        t = i if a == 0 else i - 1
        g[t] = acc[first + i]
        full[t] = acc[1 + OWN * k + 5 + a] if a > 0 else mass * par[0, k] * (1.0 - par[0, k])
        for j in range(i + 1):
            b, q = j // K, j % K
            if b == 0 and q == K - 1:
                continue
            value = -acc[products + i * (i + 1) // 2 + j]
            if k == q:
                if b == 0:
                    value += acc[first + i]
                else:
                    value += acc[1 + OWN * k + (a - 1 if b == 1 else a + 1 if b == 2 else 5)]
            u = j if b == 0 else j - 1
            if a == 0:
                value -= mass * ((par[0, k] if k == q else 0.0) - par[0, k] * par[0, q])
            D[t, u] = value
            D[u, t] = value
        if a == 0:
            g[t] -= mass * par[0, k]
    most = lat.limit(family, info.centre)
    for k in range(K):
        s, t = _last(par, family, k), n - K + k
        if abs(s) >= most and g[t] * s >= 0.0:
            for u in range(n):
                D[t, u], D[u, t] = 0.0, 0.0
            g[t], full[t], D[t, t] = 0.0, mass, -mass


@_function
def _stepped(par, out, step, info, family, radius):
    """`par` after a step of at most `radius` in every coordinate; returns the largest coordinate that was taken.

    Of Student's t and the negative binomial the likelihood beyond 0.01 `most` differs from its limit by a multiple of 1/s: what
    still rises there goes to the limit at once.
    """
    rows, K = par.shape
    longest, most = 0.0, lat.limit(family, info.centre)
    far = 0.01 * most
    for i in range(rows * K - 1):
        longest = max(longest, abs(step[i]))
    f = radius / longest if longest > radius else 1.0
    total = 0.0
    for k in range(K):
        out[0, k] = par[0, k] * (math.exp(f * step[k]) if k < K - 1 else 1.0)
        total += out[0, k]
        d1, d2 = f * step[K - 1 + k], f * step[2 * K - 1 + k]
        out[1, k] = par[1, k] * math.exp(d1) if family == lat.NEGATIVE_BINOMIAL else par[1, k] + d1
        out[2, k] = par[2, k] * math.exp(d2)
        if family == lat.NEGATIVE_BINOMIAL:
            out[2, k] = most if d2 > 0.0 and out[2, k] > far else out[2, k]
        else:
            d3, s = f * step[3 * K - 1 + k], par[3, k]
            if family == lat.SKEW_NORMAL:  # sinh(arsinh s + d3)
                out[3, k] = min(max(s * math.cosh(d3) + math.sqrt(1.0 + s * s) * math.sinh(d3), -most), most)
            else:
                s *= math.exp(d3)
                out[3, k] = most if d3 > 0.0 and s > far else s
    for k in range(K):
        out[0, k] /= total
    return longest * f


# --- control of a climb -------------------------------------------------------------------------------------------------------


@_function
def _em(state, pars, following, objective, info, settings):
    """A step of EM: one of those that rank the starts, that lead to Newton's method, or of a climb by EM alone."""
    phase, K = state.phase, following.shape[1]
    least = least_mass(info) if phase == c.START else 1e-8 * info.mass
    total, good = 0.0, _proper(following, info.floor, info.centre, settings.family)
    for k in range(K):
        total += following[0, k]
        good = good and following[0, k] > least
    state.left -= 1
    if phase == c.START:
        state.objective = objective
    if phase == c.AT_EM and objective - state.old < settings.tol:
        state.phase = c.FINAL
    elif not (good and abs(objective) < math.inf):
        state.status, state.phase = COLLAPSED, c.DONE
    else:
        state.old = objective
        for k in range(K):
            following[0, k] /= total
        copy_matrix(following, pars[c.TRIAL])
        if phase == c.AT_EM:
            if state.passes >= settings.max_passes:
                state.phase = c.FINAL
        elif state.left <= 0:
            if phase == c.START:
                state.status, state.phase = OK, c.DONE
            else:  # Newton's method from here
                copy_matrix(following, pars[c.ANCHOR])
                state.phase = c.AT_NEWTON
                state.objective = -math.inf
                state.closing, state.tries, state.steps = 0, 0, 0


@_function
def _fall_back(state, pars, info, family, last):
    """EM from where Newton's method began, for at most three rounds."""
    state.rounds += 1
    if state.rounds > 3 or last:
        state.phase = c.DONE
        if not _proper(pars[c.CURRENT], 2.0 * info.floor, info.centre, family):  # it would climb on, but for the floor
            state.status = COLLAPSED
    else:
        copy_matrix(pars[c.ANCHOR], pars[c.TRIAL])
        state.left = 30 * state.rounds * state.rounds
        state.phase = c.WARM


@_function
def _coordinates(par, family):
    return par.shape[0] * par.shape[1] - 1


_newton = bind(
    newton,
    above_floor=_proper,
    coordinates=_coordinates,
    derivatives=_assemble,
    fall_back=_fall_back,
    stepped=_stepped,
    MOST_STEPS=100,
)


@_function
def advance_latent(state, pars, following, vec, mat, D, acc, info, settings):
    """Use the sums of a pass at the trial point: sets the next trial point and phase; `following` is the M-step's."""
    state.passes += 1
    if state.phase == c.AT_NEWTON or state.phase == c.FINAL:
        _newton(state, pars, vec, mat, D, acc, acc, acc[0], acc[0], info, settings)
    else:
        _em(state, pars, following, acc[0], info, settings)


# --- a pass -------------------------------------------------------------------------------------------------------------------


@_function
def numbers_of(P, k):
    """The numbers of component k."""
    return P[0, k], P[1, k], P[2, k], P[3, k], P[4, k], P[5, k], P[6, k]


@_summing
def _normalise(buf, K, s, top):
    """Turn the logits in the first K rows into responsibilities; the log density goes to `top`."""
    for i in range(s.size):
        top[i] = buf[0, i]
        s[i] = 0.0
    for k in range(1, K):
        e = buf[k]
        for i in range(s.size):
            top[i] = max(top[i], e[i])
    for k in range(K):
        e = buf[k]
        for i in range(s.size):
            e[i] = exp_neg(e[i] - top[i])
            s[i] += e[i]
    for i in range(s.size):
        top[i] += log(s[i])
        s[i] = 1.0 / s[i]
    for k in range(K):
        e = buf[k]
        for i in range(s.size):
            e[i] *= s[i]


@_summing
def _products(buf, n, w, acc, first):
    """Add the weighted sums of the first n rows and of their products."""
    at = first + n
    for i in range(n):
        x, total = buf[i], 0.0
        for m in range(w.size):
            total += w[m] * x[m]
        acc[first + i] += total
        for j in range(i + 1):
            y, total = buf[j], 0.0
            for m in range(w.size):
                total += w[m] * x[m] * y[m]
            acc[at] += total
            at += 1


@_summing
def _total(w, x):
    total = 0.0
    for i in range(w.size):
        total += w[i] * x[i]
    return total


@_summing
def _own(stats, w, r, acc):
    """Add the sums of the rows of one component's statistics."""
    for j in range(stats.shape[0]):
        x, total = stats[j], 0.0
        for i in range(w.size):
            total += w[i] * r[i] * x[i]
        acc[j] += total


@_function
def component_numbers(k, trial, centre, P):
    """The numbers of component k into its column of P."""
    P[0, k], P[1, k], P[2, k], P[3, k], P[4, k], P[5, k], P[6, k] = _coefficients(
        trial[1, k], trial[2, k], trial[trial.shape[0] - 1, k], centre
    )
    P[7, k] = math.log(trial[0, k])


@_function
def m_step(k, trial, centre, family, sums, following):
    """The M-step of component k."""
    t, last = sums[1 + OWN * k : 1 + OWN * (k + 1)], trial[trial.shape[0] - 1, k]
    m, s, last = _maximise(trial[1, k], trial[2, k], last, t[0], t[1], t[2], t[3], t[4], t[5], lat.limit(family, centre))
    following[following.shape[0] - 1, k] = last
    following[0, k], following[1, k], following[2, k] = t[0], m, s


@_function
def with_hessian(state):
    """Whether the derivatives are wanted."""
    return state.phase == c.AT_NEWTON or state.phase == c.FINAL


def climb_cpu(sets, info, owner, settings, state, pars, hess):
    rows, K = pars.shape[2], pars.shape[3]
    n = rows * K
    P, following, acc = np.empty((NUMBERS, K)), np.empty((rows, K)), np.empty(1 + OWN * K + n + n * (n + 1) // 2)
    buf, v = np.empty((n + 2, ROW)), np.empty((OWN, ROW))
    vs, ms = np.empty((c.VECTOR_ROWS, n - 1)), np.empty((2, n - 1, n - 1))
    for item in range(owner.size):
        d = owner[item]
        x, w = sets.t1[sets.off[d] : sets.off[d + 1]], sets.w[sets.off[d] : sets.off[d + 1]]
        row, now, ps = info[d], state[item], pars[item]
        while now.phase > c.DONE:
            trial, hessian = ps[c.TRIAL], with_hessian(now)
            for k in range(K):
                _component_numbers(k, trial, row.centre, P)
            acc[:] = 0.0
            for q in range(0, x.size, BLOCK):
                xb, wb = x[q : q + BLOCK], w[q : q + BLOCK]
                for k in range(K):
                    p, log_weight, e = numbers_of(P, k), P[7, k], buf[k]
                    for i in range(xb.size):
                        e[i] = log_weight + _density(xb[i], p)
                _normalise(buf, K, buf[n, : xb.size], buf[n + 1, : xb.size])
                acc[0] += _total(wb, buf[n + 1])
                for k in range(K):
                    p, r, one = numbers_of(P, k), buf[k], acc[1 + OWN * k : 1 + OWN * (k + 1)]
                    if hessian:
                        z1, z2, z3 = buf[K + k], buf[2 * K + k], buf[n - K + k]
                        for i in range(xb.size):
                            s1, s2, s3, h11, h12, h13, h22, h23, h33 = _derivatives(xb[i], p)
                            z3[i] = r[i] * s3  # of two parameters z3 is z2
                            z1[i], z2[i] = r[i] * s1, r[i] * s2
                            v[0, i], v[1, i], v[2, i] = s1 * s1 + h11, s1 * s2 + h12, s1 * s3 + h13
                            v[3, i], v[4, i], v[5, i] = s2 * s2 + h22, s2 * s3 + h23, s3 * s3 + h33
                            v[6, i], v[7, i], v[8, i] = s1 * s1, s2 * s2, s3 * s3
                        _own(v, wb, r, one)
                    else:
                        for i in range(xb.size):
                            v[0, i] = 1.0
                            v[1, i], v[2, i], v[3, i], v[4, i], v[5, i] = _expected(xb[i], p)
                        _own(v[:6], wb, r, one)
                if hessian:
                    _products(buf, n, wb, acc, 1 + OWN * K)
            if not hessian:
                for k in range(K):
                    _m_step(k, trial, row.centre, settings.family, acc, following)
            advance_latent(now, ps, following, vs, ms, hess[item], acc, row, settings)


# --- densities, responsibilities, and the statistics of an M-step, of given values ----------------------------------------------


def scores_cpu(x, P, out, resp, stats):
    K = P.shape[1]
    for task in prange((x.size + CHUNK - 1) // CHUNK):
        buf = np.empty((K + 2, ROW))
        for q in range(np.int64(task) * CHUNK, min(np.int64(task) * CHUNK + CHUNK, x.size), BLOCK):
            xb, o = x[q : q + BLOCK], out[q : q + BLOCK]
            for k in range(K):
                p, log_weight, e = numbers_of(P, k), P[7, k], buf[k]
                for i in range(xb.size):
                    e[i] = log_weight + _density(xb[i], p)
            _normalise(buf, K, buf[K, : xb.size], buf[K + 1, : xb.size])
            copy(buf[K + 1], o)
            for k in range(resp.shape[0]):
                copy(buf[k], resp[k, q : q + BLOCK])
            for k in range(stats.shape[0]):
                p, t = numbers_of(P, k), stats[k, :, q : q + BLOCK]
                for i in range(xb.size):
                    t[0, i], t[1, i], t[2, i], t[3, i], t[4, i] = _expected(xb[i], p)


def scores_cuda(x, P, out, resp, stats):
    K = P.shape[1]
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        top, s = -math.inf, 0.0
        for k in range(K):
            top = max(top, P[7, k] + _density(x[i], numbers_of(P, k)))
        for k in range(K):
            s += exp_neg(P[7, k] + _density(x[i], numbers_of(P, k)) - top)
        out[i] = top + log(s)
        for k in range(resp.shape[0]):
            resp[k, i] = exp_neg(P[7, k] + _density(x[i], numbers_of(P, k)) - top) / s
        for k in range(stats.shape[0]):
            t = stats[k]
            t[0, i], t[1, i], t[2, i], t[3, i], t[4, i] = _expected(x[i], numbers_of(P, k))


_f, _i = numba.types.float64, numba.types.int64


FORMULAS = {
    getattr(lat, name.upper()): (
        name,
        rows,
        {job: getattr(lat, f"{name}_{job}") for job in ("coefficients", "density", "expected", "maximise", "derivatives")},
    )
    for name, rows in (("student_t", 4), ("skew_normal", 4), ("negative_binomial", 3))
}
"""Name, rows of the parameters, and formulas of each family, by its code."""


def _kernels(name, formulas):
    climb = HostLoop(
        f"mixture.climb_{name}",
        climb_cpu,
        climb_types((_f,)),
        fastmath=FAST,
        split=split_climb,
        _component_numbers=bind(component_numbers, _coefficients=formulas["coefficients"]),
        _m_step=bind(m_step, _maximise=formulas["maximise"]),
        **{f"_{job}": formulas[job] for job in ("density", "expected", "derivatives")},
    )
    scores = Kernel(
        f"mixture.scores_{name}",
        scores_cpu,
        scores_cuda,
        lambda T: [(_f[::1], _f[:, ::1], _f[::1], _f[:, ::1], _f[:, :, ::1])],
        dtypes=("float64",),
        _density=formulas["density"],
        _expected=formulas["expected"],
    )
    return climb, scores


_LATENT = {code: _kernels(name, formulas) for code, (name, _rows, formulas) in FORMULAS.items()}
LATENT_CLIMBS = {code: climb for code, (climb, _scores) in _LATENT.items()}
LATENT_SCORES = {code: scores for code, (_climb, scores) in _LATENT.items()}
"""By the codes of `numbastats.scalar.latent`."""
