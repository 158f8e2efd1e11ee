"""The coefficients of chains, which are drawn by Cholesky factors.

A step of all chains is one launch, or one before the pass over the rows and one after it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from numbastats.bayes.kernels.conditionals import PRIORS
from numbastats.bayes.kernels.lanes import chain_kernel, shared, sides
from numbastats.scalar.philox import philox4x32
from numbastats.scalar.samplers import normal_from_words
from numbastats.scalar.shrinkage import item_of, uniform_pair

__all__ = ["KICK", "LATENT_DRAW", "NORMAL_DRAW", "ROTATION", "SWEEPS", "WEIGHING", "WORK"]

WORK = 5  # rows of memory that a chain has beside its matrix
_lane = _lanes = _wait = _factor = _solve = _times = _dot = _draw_scales = None  # bound by `sides`


@shared
def precisions(d, extra, skip, out):
    """Prior precisions: d, and of coefficients that are shrunk what a slab adds."""
    for j in range(_lane(), d.size, _lanes()):
        out[j] = d[j] + (extra if j >= skip else 0.0)
    _wait()


@shared
def factored(H, d, A, near):
    """The Cholesky factor of H + diag(d), and d, clipped as far as the factorisation needs; whether there is one."""
    for attempt in range(3):
        low, high = (0.0, np.inf) if attempt == 0 else (1e-13, 1e200) if attempt == 1 else (1e-9, 1e100)
        for j in range(_lane(), d.size, _lanes()):
            least, value = low * max(H[j, j], 1.0), d[j]
            value = least if value < least else value
            near[j] = high if value > high else value
            for i in range(d.size):
                A[j, i] = H[j, i] if i >= j else 0.0
            A[j, j] += near[j]
        _wait()
        if _factor(A):
            return True
        _wait()
    return False


@shared
def half_square(x, d, room):
    """x' diag(d) x / 2."""
    for j in range(_lane(), x.size, _lanes()):
        room[j] = 0.5 * (d[j] * x[j])
    _wait()
    found = _dot(room, x)
    _wait()
    return found


@shared
def half_norm(x, room):
    """x'x / 2."""
    for j in range(_lane(), x.size, _lanes()):
        room[j] = 0.5 * x[j]
    _wait()
    found = _dot(room, x)
    _wait()
    return found


@shared
def decide(gain, u, new, now, report, q):
    """Accept a proposal with probability min(1, e^gain); report that chance, whether it was taken, whether the gain is finite."""
    finite = math.isfinite(gain)
    taken = finite and math.log(u) < gain
    (b, gradient, loglik, log_tau, d), (b0, gradient0, loglik0, log_tau0, d0) = new, now
    if taken:
        for j in range(_lane(), b.shape[1], _lanes()):
            b0[q, j], gradient0[q, j], d0[q, j] = b[q, j], gradient[q, j], d[q, j]
    if _lane() == 0:
        if taken:
            loglik0[q], log_tau0[q] = loglik[q], log_tau[q]
        report[q, 0] = math.exp(min(0.0, gain)) if finite else 0.0
        report[q, 1], report[q, 2] = np.float64(taken), np.float64(finite)


# --- a normal surrogate of the likelihood: sweeps without the data, then one exact acceptance -----------------------------


@shared
def no_scales(b, c, scale, fixed, k0, k1, streams, step, q, T, d):
    """The scales are drawn elsewhere."""


@shared
def sweep(given, out, q):
    """Draw scales and coefficients in turn, last the scales once more, and the uniform numbers of the acceptance."""
    H, h, extra, skip, scale, fixed, k0, k1, scale_streams, streams, step, count = given
    B, T, D, U, A, W, failed = out
    b, near, prior, z = B[q], W[q, 0], W[q, 1], W[q, 2]
    lane, lanes = _lane(), _lanes()
    for part in range(count + 1):
        word = np.uint32(step + np.uint32(part))
        _draw_scales(b[skip:], b[skip:], scale, fixed, k0, k1, scale_streams, word, q, T, D[q, skip:])
        if part == count:
            U[q, 0], U[q, 1] = uniform_pair(k0, k1, item_of(np.int64(0), word), streams[4, q])
            break
        precisions(D[q], extra[q], skip, prior)
        if not factored(H, prior, A[q], near):
            failed[q] = 1
        for j in range(lane, b.size, lanes):
            w0, w1, w2, w3 = philox4x32(np.uint32(j), word, np.uint32(0), streams[3, q], k0, k1)
            z[j], b[j] = normal_from_words(w0, w1, 0.0, 1.0), h[j]
        _wait()
        _solve(A[q], b, False)
        for j in range(lane, b.size, lanes):
            b[j] += z[j]
        _wait()
        _solve(A[q], b, True)


@shared
def approximate(H, h, b, room):
    """The surrogate's log-likelihood."""
    _times(H, b, room)
    found = _dot(b, h) - 0.5 * _dot(room, b)
    _wait()
    return found


@shared
def weigh(given, out, q):
    """Accept or reject a proposal of the sweeps; it reports the logarithm of exact over approximate likelihood, too."""
    H, h, new, U = given
    now, W, report = out
    ratio = new[2][q] - approximate(H, h, new[0][q], W[q, 0])
    before = now[2][q] - approximate(H, h, now[0][q], W[q, 0])
    decide(ratio - before, U[q, 0], new, now, report, q)
    if _lane() == 0:
        report[q, 3] = ratio


# --- split Hamiltonian steps ----------------------------------------------------------------------------------------------


@shared
def rotate(given, out, q):
    """A proposal: half a kick, and the rotation under the normal approximation."""
    H, h, (B, G, loglik, _, D), extra, skip, Z, U, angle = given
    new, energy, A, W, failed = out
    b, near, prior, rotated, momenta, shift = B[q], W[q, 0], W[q, 1], W[q, 2], W[q, 3], W[q, 4]
    lane, lanes, a = _lane(), _lanes(), angle * (0.8 + 0.4 * U[q, 1])
    precisions(D[q], extra[q], skip, prior)
    if not factored(H, prior, A[q], near):
        failed[q] = 1
    for j in range(lane, b.size, lanes):
        shift[j], momenta[j] = h[j], prior[j] * b[j] - G[q, j]
    _wait()
    _solve(A[q], shift, False)
    _solve(A[q], momenta, False)
    _times(A[q], b, rotated)
    value = -loglik[q] + half_square(b, prior, near) + half_norm(Z[q, : b.size], near)
    if lane == 0:
        energy[q] = value
    for j in range(lane, b.size, lanes):
        at = rotated[j] - shift[j]
        v = Z[q, j] - 0.5 * a * (momenta[j] - at)
        rotated[j] = at * math.cos(a) + v * math.sin(a)
        momenta[j] = v * math.cos(a) - at * math.sin(a)
        new[q, j] = rotated[j] + shift[j]
    _wait()
    _solve(A[q], new[q], True)


@shared
def kick(given, out, q):
    """The second half kick, and whether the proposal is accepted."""
    new, energy, A, U, angle = given
    now, W, report = out
    b, room, prior, rotated, momenta, pull = new[0][q], W[q, 0], W[q, 1], W[q, 2], W[q, 3], W[q, 4]
    lane, lanes, a = _lane(), _lanes(), angle * (0.8 + 0.4 * U[q, 1])
    for j in range(lane, b.size, lanes):
        pull[j] = prior[j] * b[j] - new[1][q, j]
    _wait()
    _solve(A[q], pull, False)
    for j in range(lane, b.size, lanes):
        momenta[j] -= 0.5 * a * (pull[j] - rotated[j])
    _wait()
    gain = energy[q] - (-new[2][q] + half_square(b, prior, room) + half_norm(momenta, room))
    decide(gain, U[q, 0], new, now, report, q)


# --- Gibbs steps ----------------------------------------------------------------------------------------------------------


@shared
def latent_draw(given, out, q):
    """Coefficients of a probit model given latent variables, whose residuals e have the sums X'e and e'e.

    Where parameters are expanded, a plain Gibbs step is taken if rounding leaves nothing positive of the sum of squares.
    """
    H, E, squares, D, extra, skip, Z, gammas, expanded, least = given
    B, A, W, failed = out
    b, near, pull, v, room = B[q], W[q, 0], W[q, 1], W[q, 2], W[q, 3]
    lane, lanes, g = _lane(), _lanes(), 1.0
    precisions(D[q], extra[q], skip, room)
    if not factored(H, room, A[q], near):
        failed[q] = 1
    for j in range(lane, b.size, lanes):  # start from b: with z in place of z - X b the least squares cancel
        pull[j] = near[j] * b[j]
        v[j] = E[q, j] - pull[j]
    _wait()
    _solve(A[q], v, False)
    if expanded:
        rest = squares[q] + _dot(pull, b) - _dot(v, v)
        if rest > least * squares[q]:
            g = math.sqrt(2.0 * gammas[q] / rest)
    _times(A[q], b, room)
    for j in range(lane, b.size, lanes):
        b[j] = g * (room[j] + v[j]) + Z[q, j]
    _wait()
    _solve(A[q], b, True)


@shared
def normal_draw(given, out, q):
    """Log sigma of a normal response, and coefficients around the least-squares solution b."""
    H, b, g, squares, D, extra, skip, Z, gammas = given
    B, log_sigma, A, W, failed = out
    near, v, prior = W[q, 0], W[q, 1], W[q, 2]
    lane, lanes = _lane(), _lanes()
    precisions(D[q], extra[q], skip, prior)
    if not factored(H, prior, A[q], near):
        failed[q] = 1
    for j in range(lane, b.size, lanes):
        prior[j] = near[j] * b[j]
        v[j] = g[j] - prior[j]
    _wait()
    _solve(A[q], v, False)
    rest, least = squares + _dot(prior, b) - _dot(v, v), max(1e-14 * squares, 1e-300)
    _wait()
    sigma = math.sqrt((least if rest < least else rest) / (2.0 * gammas[q]))
    for j in range(lane, b.size, lanes):
        v[j] += sigma * Z[q, j]
    _wait()
    _solve(A[q], v, True)
    for j in range(lane, b.size, lanes):
        B[q, j] = b[j] + v[j]
    if lane == 0:
        log_sigma[q] = math.log(sigma)


# --- registration -----------------------------------------------------------------------------------------------------------

_f, _i, _u, _b = types.float64, types.int64, types.uint32, types.boolean
_1, _2, _3, _n, _words = _f[::1], _f[:, ::1], _f[:, :, ::1], _i[::1], _u[:, ::1]
_state = types.Tuple((_2, _2, _1, _1, _2))  # coefficients, gradient and log-likelihood there, log tau, precisions


def _kernel(name, given, out, function, *parts, **names):
    return chain_kernel(f"bayes.{name}", (types.Tuple(given), types.Tuple(out)), sides(function, *parts, **names))


_sweep_types = (_2, _1, _1, _i, _f, _b, _u, _u, _words, _words, _u, _i), (_2, _1, _2, _2, _3, _3, _n)
_NO_PRIOR = {side: {"_body": no_scales} for side in ("cpu_only", "cuda_only")}
SWEEPS = {
    name: _kernel(
        f"sweeps_{name}", *_sweep_types, sweep, precisions, factored, _draw_scales=tuple(side["_body"] for side in both.values())
    )
    for name, both in (PRIORS | {"given": _NO_PRIOR}).items()
    if name != "regularised"
}
WEIGHING = _kernel("weighing", (_2, _1, _state, _2), (_state, _3, _2), weigh, approximate, decide)
_rotation_types = (_2, _1, _state, _1, _i, _2, _2, _f), (_2, _1, _3, _3, _n)
ROTATION = _kernel("rotation", *_rotation_types, rotate, precisions, factored, half_square, half_norm)
KICK = _kernel("kick", (_state, _1, _3, _2, _f), (_state, _3, _2), kick, half_square, half_norm, decide)
_latent_types = (_2, _2, _1, _2, _1, _i, _2, _1, _b, _f), (_2, _3, _3, _n)
LATENT_DRAW = _kernel("latent_draw", *_latent_types, latent_draw, precisions, factored)
_normal_types = (_2, _1, _1, _f, _2, _1, _i, _2, _1), (_2, _1, _3, _3, _n)
NORMAL_DRAW = _kernel("normal_draw", *_normal_types, normal_draw, precisions, factored)
