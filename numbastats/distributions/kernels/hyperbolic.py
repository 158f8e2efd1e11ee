"""``fit`` of generalised hyperbolic distributions: damped Newton steps with exact second derivatives, one series per item.

log f = C(lam, alpha, beta, delta) + beta t + v log q + log K_v(alpha q), t = x - mu, q = sqrt(delta^2 + t^2), v = lam - 1/2. The
five parameters are always there; a family holds some of them: normal inverse Gaussian lam = -1/2, hyperbolic lam = 1, variance
gamma delta = 0. Where lam is held, the Bessel functions have closed forms, which are bound to the loops.
"""

from __future__ import annotations

import math

import numpy as np

from numbastats._core.cuda_backend import cuda
from numbastats._core.kernel import Kernel, array_function, bind
from numbastats.distributions.kernels.fits import (
    DEGENERATE,
    LOGLIK,
    MASS,
    MAX_ITER,
    NORMAL_LIMIT,
    OK,
    PASSES,
    admitted,
    mean_square,
    parts,
    quartiles,
    types_of,
)
from numbastats.scalar import hyperbolic as hyp
from numbastats.scalar import mixture as fam
from numbastats.scalar.elementary import log

__all__ = ["CUSPS", "FIT_GENERAL", "FIT_HYPERBOLIC", "FIT_NIG"]

LAM, ALPHA, BETA, DELTA, MU, SIZE = 0, 1, 2, 3, 4, 5  # SIZE: number of parameters

_FAR, _FARTHEST = 1e5, 1e4  # alpha delta, and alpha in units of the data, from which the distribution is a limit to four digits
_ONE_SIDED = 300.0  # alpha from which a skew distribution (abs(beta) > 0.98 alpha) is its limit on one side to three digits
_NEAR = 1e-6  # in units of the data
_LEAST = 1e-4  # delta of a maximum, and alpha - |beta|; the likelihood is flat next to 0
_LEAST_LAM = 0.51  # of variance gamma distributions; below, the likelihood has poles at every value
CUSPS = 1.5  # lam up to which the density of a variance gamma distribution has a cusp, or no second derivative, at mu
_SMOOTH = 0.1  # delta in place of 0 from which a climb with cusps begins
_WALK = 12  # values on either side that are tried as mu
_LOG_2, _LOG_SQRT_PI, _LOG_SQRT_2PI = 0.6931471805599453, 0.5723649429247001, 0.9189385332046727
_TINY, _CLOSE = 1e-16, 1e-7  # least distance to mu, and that from which derivatives by it are taken

# rows of the work space
_G, _P, _TRIAL, _STEP, _BEST, _HELD, _RAW, _NEW, _UNIT = 0, 1, 2, 3, 4, 5, 6, 7, 8
_H, _NEW_H, _A, _L, _KEPT, ROWS = 9, 14, 19, 24, 29, 34

_inner = _outer = None  # log K of order lam, and of order lam - 1/2, with derivatives; bound below, as are
_reach = _series = None  # the climb from a start, and a fit

_function = array_function(fastmath=(), host=False)
_summing = array_function(fastmath=("contract", "reassoc"), host=False)


@_function
def _constant(p, share, g, H):
    """Writes the gradient and Hessian of C by lam, alpha, beta, delta, and returns C.

    With delta = 0 the share of values equal to mu is counted here: q^v K_v(alpha q) is Gamma(v)/2 (2/alpha)^v there.
    """
    lam, a, b, d = p[LAM], p[ALPHA], p[BETA], p[DELTA]
    v, g2 = lam - 0.5, (a - b) * (a + b)
    gamma = math.sqrt(g2)
    over = 1.0 / (g2 * g2)
    for i in range(g.size):
        g[i] = 0.0
        for j in range(g.size):
            H[i, j] = 0.0
    # of lam log(gamma^k), k = 1 or 2
    k = 1.0 if d > 0.0 else 2.0
    c = k * lam * math.log(gamma)
    g[LAM], g[ALPHA], g[BETA] = k * math.log(gamma), k * lam * a / g2, -k * lam * b / g2
    H[ALPHA, LAM], H[BETA, LAM] = k * a / g2, -k * b / g2
    H[ALPHA, ALPHA] = -k * lam * (a * a + b * b) * over
    H[BETA, ALPHA] = 2.0 * k * lam * a * b * over
    H[BETA, BETA] = H[ALPHA, ALPHA]
    if d > 0.0:
        s = d * gamma
        value, z1, z2, by_lam, lam2, mixed = _inner(lam, s)
        sa, sb = d * a / gamma, -d * b / gamma
        c += -lam * math.log(d) - v * math.log(a) - _LOG_SQRT_2PI - value
        g[LAM] += -math.log(d) - math.log(a) - by_lam
        g[ALPHA] -= v / a + z1 * sa
        g[BETA] -= z1 * sb
        g[DELTA] = -lam / d - z1 * gamma
        H[LAM, LAM] = -lam2
        H[ALPHA, LAM] -= 1.0 / a + mixed * sa
        H[BETA, LAM] -= mixed * sb
        H[DELTA, LAM] = -1.0 / d - mixed * gamma
        cross = d * a * b / (gamma * g2)
        H[ALPHA, ALPHA] += v / (a * a) + z1 * d * b * b / (gamma * g2) - z2 * sa * sa
        H[BETA, ALPHA] -= z1 * cross + z2 * sa * sb
        H[BETA, BETA] += z1 * d * a * a / (gamma * g2) - z2 * sb * sb
        H[DELTA, ALPHA] = -z1 * a / gamma - z2 * sa * gamma
        H[DELTA, BETA] = z1 * b / gamma - z2 * sb * gamma
        H[DELTA, DELTA] = lam / (d * d) - z2 * g2
    else:
        f, e, _h = fam.gamma_terms(lam)
        c -= v * math.log(2.0 * a) + _LOG_SQRT_PI + math.lgamma(lam)
        g[LAM] -= math.log(2.0 * a) + (math.log(lam) - f)
        g[ALPHA] -= v / a
        H[LAM, LAM] = e - 1.0 / lam
        H[ALPHA, LAM] -= 1.0 / a
        H[ALPHA, ALPHA] += v / (a * a)
        if share > 0.0:
            f, e, _h = fam.gamma_terms(v)
            c += share * (math.lgamma(v) + (v - 1.0) * _LOG_2 - v * math.log(a))
            g[LAM] += share * (math.log(v) - f + _LOG_2 - math.log(a))
            g[ALPHA] -= share * v / a
            H[LAM, LAM] += share * (1.0 / v - e)
            H[ALPHA, LAM] -= share / a
            H[ALPHA, ALPHA] += share * v / (a * a)
    return c


@_summing
def _sums(x, w, mass, p, g, H):
    """Log-likelihood, gradient and Hessian at p; -inf outside of the domain."""
    a, b, d, mu = p[ALPHA], p[BETA], p[DELTA], p[MU]
    if not (a > abs(b) and d >= 0.0 and (d > 0.0 or p[LAM] > 0.0)):
        return -math.inf
    v, level = p[LAM] - 0.5, 0.0
    ll, drift, gl, ga, gd, gm = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    hll, hla, hld, hlm, haa, had, ham, hdd, hdm, hmm = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(x.size):
        t, m = x[j] - mu, w[j]
        if t == 0.0 and d == 0.0:
            level += m
            m, t = 0.0, 1.0
        q = max(math.sqrt(d * d + t * t), _TINY)
        k, z1, z2, by_v, v2, mixed = _outer(v, a * q)
        back = 1.0 / q
        lq = log(q)
        smooth = m if q > _CLOSE else 0.0
        along, hq = smooth * (d * back), smooth * (-t * back)  # of q by delta and mu
        q1 = v * back + a * z1
        q2 = a * a * z2 - v * back * back
        over = q1 * back
        aq, vq = z1 + a * q * z2, back + a * mixed
        u, s = d * back, -t * back
        ll += m * (v * lq + k)
        drift += m * t
        gl += m * (lq + by_v)
        ga += m * (q * z1)
        gd += along * q1
        gm += hq * q1
        hll += m * v2
        hla += m * (q * mixed)
        hld += along * vq
        hlm += hq * vq
        haa += m * (q * q * z2)
        had += along * aq
        ham += hq * aq
        hdd += along * u * (q2 - over) + smooth * over
        hdm += along * s * (q2 - over)
        hmm += hq * s * (q2 - over) + smooth * over
    c = _constant(p, level / mass, g, H)
    for i in range(g.size):
        g[i] *= mass
        for j in range(i + 1):
            H[i, j] *= mass
    g[LAM] += gl
    g[ALPHA] += ga
    g[BETA] += drift
    g[DELTA] += gd
    g[MU] += gm - b * mass
    H[LAM, LAM] += hll
    H[ALPHA, LAM] += hla
    H[DELTA, LAM] += hld
    H[MU, LAM] += hlm
    H[ALPHA, ALPHA] += haa
    H[DELTA, ALPHA] += had
    H[MU, ALPHA] += ham
    H[MU, BETA] -= mass
    H[DELTA, DELTA] += hdd
    H[MU, DELTA] += hdm
    H[MU, MU] += hmm
    for i in range(g.size):
        for j in range(i):
            H[j, i] = H[i, j]
    ll += mass * c + b * drift
    return ll if ll == ll else -math.inf


@_function
def _free(held, i):
    """Whether a parameter is not held."""
    return held[i] != held[i]


@_function
def _in_coordinates(p, raw, H, g, A, held, tied, least):
    """Gradient, and Hessian with its sign changed, in the coordinates of the climb.

    They are lam or log(lam - least), log(alpha - beta), log(alpha + beta), log delta, mu; with `tied` alpha and beta as they are.
    Coordinates that are held get no gradient and a diagonal of 1.
    """
    for i in range(g.size):
        g[i] = raw[i]
        for j in range(g.size):
            A[i, j] = -H[i, j]
    if not tied:
        lo, hi = 0.5 * (p[ALPHA] - p[BETA]), 0.5 * (p[ALPHA] + p[BETA])
        for k in range(g.size):
            s, t = A[k, ALPHA], A[k, BETA]
            A[k, ALPHA], A[k, BETA] = lo * (s - t), hi * (s + t)
        for k in range(g.size):
            s, t = A[ALPHA, k], A[BETA, k]
            A[ALPHA, k], A[BETA, k] = lo * (s - t), hi * (s + t)
        g[ALPHA], g[BETA] = lo * (raw[ALPHA] - raw[BETA]), hi * (raw[ALPHA] + raw[BETA])
        A[ALPHA, ALPHA] -= g[ALPHA]
        A[BETA, BETA] -= g[BETA]
    for i in (LAM, DELTA):
        unit = p[DELTA] if i == DELTA else p[LAM] - least if least > 0.0 else 1.0
        for k in range(g.size):
            A[i, k] *= unit
        for k in range(g.size):
            A[k, i] *= unit
        g[i] *= unit
        if i == DELTA or least > 0.0:
            A[i, i] -= g[i]
    for i in range(g.size):
        if held[i] == held[i]:
            g[i] = 0.0
            for k in range(g.size):
                A[i, k], A[k, i] = 0.0, 0.0
            A[i, i] = 1.0


@_function
def _damped_step(A, g, damping, step, L):
    """Solves (A + damping I) step = g by Cholesky's method; whether the matrix is positive definite."""
    n = g.size
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            if i == j:
                s += damping
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = s / L[j, j]
            elif s > 0.0 and s < math.inf:
                L[i, i] = math.sqrt(s)
            else:
                return False
        s = g[i]
        for k in range(i):
            s -= L[i, k] * step[k]
        step[i] = s / L[i, i]
    for i in range(n - 1, -1, -1):
        s = step[i]
        for k in range(i + 1, n):
            s -= L[k, i] * step[k]
        step[i] = s / L[i, i]
    return True


@_function
def _moved(p, step, out, held, tied, least):
    """The point after a step in the coordinates of the climb; parameters that are held stay."""
    out[MU] = p[MU] + step[MU]
    out[DELTA] = p[DELTA] * math.exp(step[DELTA])
    out[LAM] = least + (p[LAM] - least) * math.exp(step[LAM]) if least > 0.0 else p[LAM] + step[LAM]
    if tied:
        out[ALPHA], out[BETA] = p[ALPHA] + step[ALPHA], p[BETA] + step[BETA]
    else:
        lo, hi = (p[ALPHA] - p[BETA]) * math.exp(step[ALPHA]), (p[ALPHA] + p[BETA]) * math.exp(step[BETA])
        out[ALPHA], out[BETA] = 0.5 * (lo + hi), 0.5 * (hi - lo)
    for i in range(p.size):
        if held[i] == held[i]:
            out[i] = p[i]


@_function
def _copy(work, source, target, rows):
    for i in range(rows):
        for j in range(work.shape[1]):
            work[target + i, j] = work[source + i, j]


@_function
def _climb(x, w, mass, least, work, numbers):
    """Newton's method, damped as by Levenberg and Marquardt, from row _P to a maximum, with row _HELD held; returns the status.

    Leaves the log-likelihood in `numbers` and the Hessian in rows _H.
    """
    p, trial, step, held, g = work[_P], work[_TRIAL], work[_STEP], work[_HELD], work[_G]
    A, L, H, new_H = work[_A : _A + SIZE], work[_L : _L + SIZE], work[_H : _H + SIZE], work[_NEW_H : _NEW_H + SIZE]
    tied = not (_free(held, ALPHA) and _free(held, BETA))
    ll, gain, promised, damping, status, passes, tries, begun = -math.inf, 0.0, 0.0, 1e-3, MAX_ITER, 0, 0, False
    _copy(work, _P, _TRIAL, 1)
    while passes < 300 and tries < 40:
        new = _sums(x, w, mass, trial, work[_NEW], new_H)
        passes, tries = passes + 1, tries + 1
        if new > -math.inf and new >= ll - 1e-14 * abs(ll):
            ll, tries = new, 0
            damping = damping * (0.1 if begun else 1.0) if damping > 1e-11 else 0.0
            _copy(work, _NEW, _RAW, 1)
            _copy(work, _TRIAL, _P, 1)
            _copy(work, _NEW_H, _H, SIZE)
            _in_coordinates(p, work[_RAW], H, g, A, held, tied, least)
            if p[ALPHA] * p[DELTA] > _FAR or p[ALPHA] > _FARTHEST or abs(p[LAM]) > _FARTHEST:
                status = NORMAL_LIMIT
            elif (_free(held, DELTA) and p[DELTA] < _NEAR) or (not tied and p[ALPHA] - abs(p[BETA]) < _NEAR):
                status = DEGENERATE
            if status != MAX_ITER:
                break
        elif not begun:
            status = DEGENERATE
            break
        else:
            damping = max(4.0 * damping, 1e-4)
        if begun and gain < 1e-10 and (tries > 0 or damping <= 1e-6):  # rejected: by rounding
            inside = (p[DELTA] > _LEAST or not _free(held, DELTA)) and (tied or p[ALPHA] - abs(p[BETA]) > _LEAST)
            status = OK if inside and (least <= 0.0 or p[LAM] > least + _LEAST) else DEGENERATE
            if promised > 1e-6:
                status = MAX_ITER
            elif p[ALPHA] > _ONE_SIDED and abs(p[BETA]) > 0.98 * p[ALPHA]:
                status = NORMAL_LIMIT
            break
        begun, found = True, False
        while not found and damping < 1e12:
            found = _damped_step(A, g, damping * mass, step, L)
            gain, longest = 0.0, 0.0
            for i in range(g.size):
                gain += 0.5 * g[i] * step[i]
                if i != MU and _free(held, i):
                    longest = max(longest, abs(step[i]))
            found = found and longest <= 3.0
            if not found:
                damping = max(4.0 * damping, 1e-3)
        if not found:
            break
        if tries == 0:
            promised = gain
        _moved(p, step, trial, held, tied, least)
    numbers[LOGLIK] = ll
    numbers[PASSES] += passes
    return status


@_function
def _next(x, at, up):
    """The value of x next to `at`, above or below; `at` where there is none."""
    best, found = math.inf, at
    for j in range(x.size):
        distance = x[j] - at if up else at - x[j]
        if distance > 0.0 and distance < best:
            best, found = distance, x[j]
    return found


@_function
def _likeliest_mu(x, w, mass, work, numbers):
    """Of the values next to mu the one with the largest likelihood, the other parameters as they are."""
    p, tries = work[_P], 0
    before, top, mu = p[MU], -math.inf, p[MU]
    while tries < 2 * _WALK:
        if tries == _WALK:
            p[MU] = before
        p[MU] = _next(x, p[MU], tries < _WALK)
        value = _sums(x, w, mass, p, work[_NEW], work[_NEW_H : _NEW_H + SIZE])
        if value > top:
            top, mu = value, p[MU]
        tries += 1
    p[MU] = before
    numbers[PASSES] += tries
    return mu


@_function
def _smooth_climb(x, w, mass, work, numbers):
    """`_climb` of a distribution with delta > 0."""
    return _climb(x, w, mass, 0.0, work, numbers)


@_function
def _climb_with_cusps(x, w, mass, work, numbers):
    """`_climb` of a variance gamma distribution, whose density may have a cusp at mu: the likelihood then has one at every value.

    After a climb that is smooth (delta > 0 in place of 0), values on either side are tried as mu, and the other parameters climb
    from the best, as long as the likelihood rises.
    """
    p, held = work[_P], work[_HELD]
    if held[DELTA] != 0.0:
        return _climb(x, w, mass, 0.0, work, numbers)
    p[DELTA] = _SMOOTH
    status = _climb(x, w, mass, _LEAST_LAM, work, numbers)
    p[DELTA], p[LAM] = 0.0, p[LAM] if not _free(held, LAM) else max(p[LAM], _LEAST_LAM + 0.2)
    numbers[LOGLIK] = -math.inf
    fixed_mu, rounds = held[MU], 0
    while not fixed_mu == fixed_mu and p[LAM] < CUSPS and status != NORMAL_LIMIT and rounds < 8:
        rounds += 1
        reached = numbers[LOGLIK]
        _copy(work, _P, _BEST, 1)
        _copy(work, _H, _KEPT, SIZE)
        held[MU] = _likeliest_mu(x, w, mass, work, numbers)
        p[MU] = held[MU]
        done = _climb(x, w, mass, _LEAST_LAM, work, numbers)
        held[MU] = math.nan
        if numbers[LOGLIK] > reached + 1e-9:
            status = done
        else:
            numbers[LOGLIK] = reached
            _copy(work, _BEST, _P, 1)
            _copy(work, _KEPT, _H, SIZE)
            rounds = 8
    if rounds == 0 or p[LAM] > 1.0:  # between the values the likelihood is smooth
        status = _climb(x, w, mass, _LEAST_LAM, work, numbers)
    return status


@_function
def _start(attempt, family, centre, spread, p):
    """The starts: heavy, middle and light tails around the median, for a quartile distance of 1.35 `spread`; False at the end."""
    lam, a, d = 0.0, 0.0, 0.0
    if family == 1:  # lam is held
        a, d = (0.4, 0.7) if attempt == 0 else (1.3, 1.3) if attempt == 1 else (4.0, 4.0)
    elif family == 2:  # delta is 0
        lam, a = (1.0, 1.3) if attempt == 0 else (3.0, 2.5)
    else:
        lam, a, d = (-0.5, 0.7, 0.9) if attempt == 0 else (1.0, 1.5, 0.5) if attempt == 1 else (-2.0, 0.3, 2.0)
    p[LAM], p[ALPHA], p[BETA], p[DELTA], p[MU] = lam, a / spread, 0.0, d * spread, centre
    return attempt < (2 if family == 2 else 3)


@_function
def _fit_series(x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """Fits one series, which it overwrites; returns the status."""
    n, _least, _most, status = admitted(x, w, weighted, share, least_count, (-math.inf, math.inf), params, info, numbers)
    if status != OK:
        return status
    x, w = x[:n], w[:n]
    mass = numbers[MASS]
    low, centre, high = quartiles(x, w, weighted, mass)
    spread = (high - low) / 1.35
    if not spread > 0.0:
        spread = math.sqrt(mean_square(x, w, centre))
    length = math.ldexp(
        1.0, int(math.floor(math.log2(spread)))
    )  # the unit: values keep their digits, so that mu may be one of them
    for j in range(n):
        x[j] /= length
    p, held, best, status = work[_P], work[_HELD], -math.inf, DEGENERATE
    family = 2 if fixed[DELTA] == 0.0 else 0 if _free(fixed, LAM) else 1
    unit = work[_UNIT]
    unit[LAM], unit[ALPHA], unit[BETA], unit[DELTA], unit[MU] = 1.0, 1.0 / length, 1.0 / length, length, length
    for i in range(p.size):
        held[i] = fixed[i] / unit[i]
    attempt, at_pole = 0, False
    while _start(attempt, family, centre / length, spread / length, p):
        attempt += 1
        for i in range(p.size):
            if not _free(held, i):
                p[i] = held[i]
        if _free(held, BETA) != _free(held, ALPHA):
            if _free(held, ALPHA):
                p[ALPHA] = max(p[ALPHA], 1.5 * abs(p[BETA]))
        done = _reach(x, w, mass, work, numbers)
        pole = family == 0 and _free(held, DELTA) and p[DELTA] < _LEAST and p[LAM] < _LEAST_LAM
        if best == -math.inf or (not pole and (at_pole or numbers[LOGLIK] > best + 1e-9)):
            best, status, at_pole = numbers[LOGLIK], done, pole
            for i in range(p.size):
                params[i] = p[i] * unit[i] if _free(held, i) else fixed[i]
                for j in range(i + 1):
                    info[i * (i + 1) // 2 + j] = -work[_H + i, j] / (unit[i] * unit[j])
            if family == 2 and p[LAM] <= CUSPS and _free(held, MU):
                for i in range(info.size):
                    info[i] = math.nan
        if done == OK and family != 0:
            break
    numbers[LOGLIK] = best - mass * math.log(length) if best > -math.inf else math.nan
    return status


# --- twins: series i is x[off[i]:off[i + 1]], which is overwritten; w are ones where nothing is weighted


def fit_cpu(family, x, w, weighted, share, least_count, fixed, off, params, info, numbers, status):
    work = np.empty((ROWS, SIZE))
    for i in range(status.size):
        a, b = off[i], off[i + 1]
        ws = w[a:b] if weighted else w[: b - a]
        status[i] = _series(x[a:b], ws, weighted, share, least_count, fixed, params[i], info[i], numbers[i], work)


def fit_cuda(family, x, w, weighted, share, least_count, fixed, off, params, info, numbers, status):
    work = cuda.local.array((ROWS, SIZE), np.float64)
    for i in range(cuda.grid(1), status.size, cuda.gridsize(1)):
        a, b = off[i], off[i + 1]
        ws = w[a:b] if weighted else w[: b - a]
        status[i] = _series(x[a:b], ws, weighted, share, least_count, fixed, params[i], info[i], numbers[i], work)


def _kernel(name, inner, outer, reach):
    sums = bind(_sums, _constant=bind(_constant, _inner=inner), _outer=outer)
    reached = bind(reach, _climb=bind(_climb, _sums=sums), _likeliest_mu=bind(_likeliest_mu, _sums=sums))
    series = bind(_fit_series, _reach=reached)
    return Kernel(f"distributions.{name}", fit_cpu, fit_cuda, types_of, dtypes=("float64",), split=parts, _series=series)


FIT_NIG = _kernel("fit_nig", hyp.log_k_half_terms, hyp.log_k_one_terms, _smooth_climb)
FIT_HYPERBOLIC = _kernel("fit_hyperbolic", hyp.log_k_one_terms, hyp.log_k_half_terms, _smooth_climb)
FIT_GENERAL = _kernel("fit_generalized_hyperbolic", hyp.log_k_terms, hyp.log_k_terms, _climb_with_cusps)
