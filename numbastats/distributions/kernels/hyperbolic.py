"""``fit`` of generalised hyperbolic distributions: damped Newton steps with exact second derivatives, one series per item.

log f = C(lam, alpha, beta, delta) + beta t + v log q + log K_v(alpha q), t = x - mu, q = sqrt(delta^2 + t^2), v = lam - 1/2. The
five parameters are always there; a family holds some of them: normal inverse Gaussian lam = -1/2, hyperbolic lam = 1, variance
gamma delta = 0. Where lam is held, the Bessel functions have closed forms, which are bound to the loops.
"""

from __future__ import annotations

import math

from numbastats._core.climb import HELD, HESSIAN, HIGH, LOW, PAR, climb, copy, copy_matrix, hold, in_units, rows
from numbastats._core.endings import BOUND, LIMIT, OK, POLE
from numbastats._core.kernel import array_function, bind
from numbastats.distributions.kernels.fits import (
    LOGLIK,
    MASS,
    MOST,
    PASSES,
    admitted,
    begin,
    kernel,
    mean_square,
    quartiles,
    results,
    weighted_mean,
)
from numbastats.scalar import hyperbolic as hyp
from numbastats.scalar import mixture as fam
from numbastats.scalar.elementary import log

__all__ = ["CUSPS", "FIT_GENERAL", "FIT_HYPERBOLIC", "FIT_NIG"]

LAM, ALPHA, BETA, DELTA, MU, SIZE = 0, 1, 2, 3, 4, 5  # SIZE: number of parameters

_FAR, _FARTHEST = 1e5, 1e4  # alpha delta, and alpha in units of the data, from which the distribution is a limit to four digits
_ONE_SIDED = 300.0  # alpha from which a skew distribution (abs(beta) > 0.98 alpha) is its limit on one side to three digits
_NEAR = 1e-6  # least delta, and alpha - |beta|, in units of the spread: a limit is the maximum there, a point by itself
_AT = 1.0 + 1e-6  # alpha - |beta| is a difference: so far from its least value it has that
_LEAST = 1e-4  # delta of a maximum, and alpha - |beta|; the likelihood is flat next to 0
_LEAST_LAM = 0.51  # of variance gamma distributions; below, the likelihood has poles at every value
CUSPS = 1.5  # lam up to which the density of a variance gamma distribution has a cusp, or no second derivative, at mu
_SMOOTH = 0.1  # delta in place of 0 from which a climb with cusps begins
_BESIDE = 1e-6  # distance from a value, in units of the spread, at which it is seen whether it is a maximum
_WALK = 12  # values on either side that are tried as mu
_ROUNDS = 8  # of such walks
_FEW = 60  # of so many values each is tried as mu where there is no maximum yet
_GAIN = 2.0, 0.05  # over lam = 1 from other lam that is looked for: a log-likelihood, and for each value
_LOG_2, _LOG_SQRT_PI, _LOG_SQRT_2PI = 0.6931471805599453, 0.5723649429247001, 0.9189385332046727
_TINY, _CLOSE = 1e-16, 1e-7  # least distance to mu, and that from which derivatives by it are taken

# rows of the work space beside those of `climb`
_BEST, _UNIT, _GIVEN, _KEPT = range(rows(SIZE), rows(SIZE) + 4)
_MORE = 3 + SIZE

_inner = _outer = None  # log K of order lam, and of order lam - 1/2, with derivatives; bound below, as are
_reach = _newton = None  # the climbs from a start, and each of them

_function = array_function(fastmath=(), host=False)
_summing = array_function(fastmath=("contract", "reassoc"), host=False)


@_function
def _constant(p, share, g, H):
    """Writes the gradient and Hessian of C by lam, alpha, beta, delta, and returns C.

    Alpha and beta are in log gamma: x and y are the derivatives of C by that, mixed its derivative by lam too. Next to
    alpha = |beta| these are small, and the terms of which they are made large: added up first, they leave no noise.
    With delta = 0 the share of values equal to mu is counted here: q^v K_v(alpha q) is Gamma(v)/2 (2/alpha)^v there.
    """
    lam, a, b, d = p[LAM], p[ALPHA], p[BETA], p[DELTA]
    v, g2 = lam - 0.5, (a - b) * (a + b)
    gamma = math.sqrt(g2)
    for i in range(g.size):
        g[i] = 0.0
        for j in range(g.size):
            H[i, j] = 0.0
    k = 1.0 if d > 0.0 else 2.0
    c, x, y, mixed = k * lam * math.log(gamma), k * lam, 0.0, k
    g[LAM] = k * math.log(gamma)
    if d > 0.0:
        s = d * gamma
        value, z1, _z2, by_lam, lam2, z1_by_lam = _inner(lam, s)
        x -= z1 * s
        y = x * (x - 2.0 * lam) - s * s  # by Bessel's equation
        mixed -= z1_by_lam * s
        c += -lam * math.log(d) - v * math.log(a) - _LOG_SQRT_2PI - value
        g[LAM] += -math.log(d) - math.log(a) - by_lam
        g[DELTA] = (x - 2.0 * lam) / d
        H[LAM, LAM] = -lam2
        H[DELTA, LAM] = (mixed - 2.0) / d
        H[DELTA, ALPHA], H[DELTA, BETA] = y * a / (d * g2), -y * b / (d * g2)
        H[DELTA, DELTA] = (y - (x - 2.0 * lam)) / (d * d)
    else:
        f, e, _h = fam.gamma_terms(lam)
        c -= v * math.log(2.0 * a) + _LOG_SQRT_PI + math.lgamma(lam)
        g[LAM] -= math.log(2.0 * a) + (math.log(lam) - f)
        H[LAM, LAM] = e - 1.0 / lam
    by_a, by_b, bend = a / g2, -b / g2, x * (a * a + b * b) / g2 / g2
    g[ALPHA], g[BETA] = x * by_a - v / a, x * by_b
    H[ALPHA, LAM], H[BETA, LAM] = mixed * by_a - 1.0 / a, mixed * by_b
    H[ALPHA, ALPHA] = y * by_a * by_a - bend + v / (a * a)
    H[BETA, ALPHA] = (y - 2.0 * x) * by_a * by_b
    H[BETA, BETA] = y * by_b * by_b - bend
    if share > 0.0:
        f, e, _h = fam.gamma_terms(v)
        c += share * (math.lgamma(v) + (v - 1.0) * _LOG_2 - v * math.log(a))
        g[LAM] += share * (math.log(v) - f + _LOG_2 - math.log(a))
        g[ALPHA] -= share * v / a
        H[LAM, LAM] += share * (1.0 / v - e)
        H[ALPHA, LAM] -= share / a
        H[ALPHA, ALPHA] += share * v / (a * a)
    return c


# What the functions of a climb get as `data`: values, weights and their sum; whether steps are in alpha and beta, of which one is
# held, and not in their sum and difference; the spread, which is the unit of thresholds and of steps of mu; the delta at which
# the climb ends; the least lam; whether it ends on its way to where
# there is no cusp, or to a limit on one side.


@_summing
def _derivatives(data, p, g, H):
    """Log-likelihood, its rounding, gradient and Hessian at p; -inf outside of the domain."""
    x, w, mass, _tied, _spread, _edge, _least, _brief = data
    a, b, d, mu = p[ALPHA], p[BETA], p[DELTA], p[MU]
    if not (a > abs(b) and d >= 0.0 and (d > 0.0 or p[LAM] > 0.0)):
        return -math.inf, 0.0
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
    ll += mass * c + b * drift
    return ll if ll == ll else -math.inf, 1e-14 * abs(ll)


@_function
def _free(held, i):
    """Whether a parameter is not held."""
    return held[i] != held[i]


@_function
def _in_coordinates(data, n, p, g, H, slope, A):
    """Of lam or log(lam - least), log(alpha - beta), log(alpha + beta), log delta, mu; alpha and beta as they are if tied."""
    _x, _w, _mass, tied, spread, _edge, least, _brief = data
    in_units(g, H, (p[LAM] - least if least > 0.0 else 1.0, 1.0, 1.0, p[DELTA], spread), slope, A)
    if not tied:
        lo, hi = 0.5 * (p[ALPHA] - p[BETA]), 0.5 * (p[ALPHA] + p[BETA])
        a, b = slope[ALPHA], slope[BETA]
        slope[ALPHA], slope[BETA] = lo * (a - b), hi * (a + b)
        a, b = A[ALPHA, LAM], A[BETA, LAM]
        A[ALPHA, LAM], A[BETA, LAM] = lo * (a - b), hi * (a + b)
        for k in range(DELTA, SIZE):
            a, b = A[k, ALPHA], A[k, BETA]
            A[k, ALPHA], A[k, BETA] = lo * (a - b), hi * (a + b)
        a, b, both = A[ALPHA, ALPHA], A[BETA, BETA], A[BETA, ALPHA]
        A[ALPHA, ALPHA] = lo * lo * ((a - both) + (b - both)) - slope[ALPHA]  # in this order: next to beta = alpha they cancel
        A[BETA, ALPHA] = lo * hi * (a - b)
        A[BETA, BETA] = hi * hi * ((a + both) + (b + both)) - slope[BETA]
        for i in range(ALPHA, DELTA):
            if (lo if i == ALPHA else hi) * spread <= 0.5 * _NEAR * _AT and slope[i] < 0.0:
                hold(slope, A, n, i)
    A[DELTA, DELTA] -= slope[DELTA]
    if least > 0.0:
        A[LAM, LAM] -= slope[LAM]


@_function
def _moved(data, n, p, step, out):
    """The point after a step; False if a coordinate but mu changes by more than 3."""
    _x, _w, _mass, tied, spread, _edge, least, _brief = data
    longest = 0.0
    for i in range(MU):
        longest = max(longest, abs(step[i]))
    if not longest <= 3.0:
        return False
    out[MU] = p[MU] + spread * step[MU]
    out[DELTA] = p[DELTA] * math.exp(step[DELTA])
    out[LAM] = least + (p[LAM] - least) * math.exp(step[LAM]) if least > 0.0 else p[LAM] + step[LAM]
    if tied:
        out[ALPHA], out[BETA] = p[ALPHA] + step[ALPHA], p[BETA] + step[BETA]
    else:
        lo, hi = (p[ALPHA] - p[BETA]) * math.exp(step[ALPHA]), (p[ALPHA] + p[BETA]) * math.exp(step[BETA])
        lo, hi = max(lo, _NEAR / spread), max(hi, _NEAR / spread)
        out[ALPHA], out[BETA] = 0.5 * (lo + hi), 0.5 * (hi - lo)
    return True


@_function
def _limit(data, p):
    """The status of a limit of light tails, or of delta or lam at its end; else 0."""
    _x, _w, _mass, _tied, spread, edge, least, brief = data
    if p[ALPHA] * p[DELTA] > _FAR or p[ALPHA] * spread > _FARTHEST or abs(p[LAM]) > _FARTHEST:
        return LIMIT
    if brief and (p[LAM] > 2.0 * CUSPS or (p[ALPHA] * spread > _ONE_SIDED and abs(p[BETA]) > 0.98 * p[ALPHA])):
        return LIMIT
    return BOUND if p[DELTA] <= edge or (least > 0.0 and p[LAM] <= least + _LEAST) else 0


@_function
def _climb(x, w, mass, spread, least, brief, work, numbers):
    """Climb from row PAR of the work space to a maximum, with row HELD held; returns the status."""
    p, held, low, high, gap = work[PAR], work[HELD], work[LOW], work[HIGH], _NEAR / spread
    free_alpha, free_beta, free_delta = _free(held, ALPHA), _free(held, BETA), _free(held, DELTA)
    low[DELTA] = _NEAR * spread if free_delta else 0.0
    least = least if _free(held, LAM) else 0.0
    edge = low[DELTA] if free_delta and _free(held, LAM) else -1.0  # beside delta = 0, with lam falling, is a pole
    if free_alpha != free_beta:
        low[ALPHA] = abs(p[BETA]) + gap if free_alpha else 0.0
        high[BETA] = p[ALPHA] - gap if free_beta else math.inf
        low[BETA] = -high[BETA]
    sample = x, w, mass, not (free_alpha and free_beta), spread, edge, least, brief
    status, numbers[LOGLIK], passes = _newton(sample, SIZE, mass, 1e-3, MOST, work)
    numbers[PASSES] += passes
    if numbers[LOGLIK] == -math.inf:
        status = BOUND
    if status != OK:
        return status
    if p[ALPHA] * spread > _ONE_SIDED and abs(p[BETA]) > 0.98 * p[ALPHA]:
        return LIMIT
    tails = p[ALPHA] - abs(p[BETA]) > _LEAST / spread or not (free_alpha or free_beta)
    inside = tails and (p[DELTA] > _LEAST * spread or not free_delta) and (least <= 0.0 or p[LAM] > least + _LEAST)
    return OK if inside else BOUND


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
def _is_value(x, at, width):
    """Whether a place is a value, but for a width."""
    found = False
    for j in range(x.size):
        found = found or abs(x[j] - at) <= width
    return found


@_function
def _likeliest_mu(x, w, mass, work, numbers):
    """Of the values next to mu the one with the largest likelihood, the other parameters as they are; spoils the Hessian."""
    p, tries = work[PAR], 0
    sample = x, w, mass, False, 1.0, -1.0, 0.0, False
    before, top, mu = p[MU], -math.inf, p[MU]
    while tries < 2 * _WALK:
        if tries == _WALK:
            p[MU] = before
        p[MU] = _next(x, p[MU], tries < _WALK)
        _status, value, _passes = _newton(sample, SIZE, mass, 0.0, 1, work)
        if value > top:
            top, mu = value, p[MU]
        tries += 1
    p[MU] = before
    numbers[PASSES] += tries
    return mu


@_function
def _stays(x, w, mass, spread, reached, work):
    """Whether the likelihood falls on both sides of mu at the best point, a value; leaves the parameters on one side."""
    p, side = work[PAR], -1.0
    sample = x, w, mass, False, 1.0, -1.0, 0.0, False
    while side < 2.0:
        copy(work[_BEST], p)
        p[MU] += side * _BESIDE * spread
        _status, value, _passes = _newton(sample, SIZE, mass, 0.0, 1, work)
        if not value < reached:
            return False
        side += 2.0
    return True


@_function
def _smooth_climb(x, w, mass, spread, walk, floor, work, numbers):
    """`_climb` of a distribution with delta > 0."""
    return _climb(x, w, mass, spread, 0.0, False, work, numbers)


@_function
def _climb_with_cusps(x, w, mass, spread, walk, floor, work, numbers):
    """`_climb` of a variance gamma distribution, whose density may have a cusp at mu: the likelihood then has one at every value.

    After a climb that is smooth (delta > 0 in place of 0), values on either side are tried as mu, and the other parameters climb
    from the best, as long as the likelihood rises. Without a walk mu is a value from the start on, and an end below `floor` is
    none.
    """
    p, held, best = work[PAR], work[HELD], work[_BEST]
    H, kept = work[HESSIAN : HESSIAN + SIZE], work[_KEPT : _KEPT + SIZE]
    cusps, fixed_mu = held[DELTA] == 0.0, held[MU]
    between, last, rounds, reached, status = cusps and fixed_mu != fixed_mu, not cusps, 0 if walk else _ROUNDS, -math.inf, OK
    walking = between and walk
    if cusps and walk:
        p[DELTA] = _SMOOTH * spread
    elif cusps:
        held[MU] = p[MU]
    while True:  # from one place: the climb is compiled again with each
        done = _climb(x, w, mass, spread, _LEAST_LAM if cusps else 0.0, cusps and not walk, work, numbers)
        left = done == LIMIT or done == BOUND
        at_cusp = p[LAM] <= 1.0 or (p[LAM] < CUSPS and _is_value(x, p[MU], _BESIDE * spread))
        if last and (not between or (not at_cusp and done == OK)):
            return done
        if last and left and (walk or not _stays(x, w, mass, spread, reached, work)):
            return done
        if last and (left or not numbers[LOGLIK] > reached + 1e-6):  # mu stays at the value
            numbers[LOGLIK] = reached
            copy(best, p)
            copy_matrix(kept, H)
            return status
        if last and (not walking or rounds == _ROUNDS):
            return BOUND if at_cusp else done  # drawn to a value: its own climb says whether there is a maximum
        if last or rounds == 0:
            last, status, reached, p[DELTA] = False, done, -math.inf, 0.0
            p[LAM] = max(p[LAM], _LEAST_LAM + 0.2) if _free(held, LAM) else p[LAM]
        elif numbers[LOGLIK] > reached + 1e-9:
            status, reached = done, numbers[LOGLIK]
        else:
            numbers[LOGLIK] = reached
            copy(best, p)
            copy_matrix(kept, H)
            walking = False
        held[MU] = fixed_mu
        at_pole = status == BOUND and p[LAM] <= _LEAST_LAM + _LEAST
        if walking and p[LAM] < CUSPS and status != LIMIT and not at_pole and rounds < _ROUNDS:
            rounds += 1
            copy(p, best)
            copy_matrix(H, kept)
            held[MU] = _likeliest_mu(x, w, mass, work, numbers)
            p[MU] = held[MU]
        elif not walk and (p[LAM] > CUSPS or not numbers[LOGLIK] > floor):
            return BOUND
        elif rounds == 0 or p[LAM] > 1.0:  # between the values the likelihood is smooth
            last = True
            copy(p, best)
            copy_matrix(H, kept)
        else:
            return status


@_function
def _start(attempt, family, centre, spread, p):
    """The starts: heavy, middle and light tails around the median, for a quartile distance of 1.35 `spread`; False at the end.

    Light tails of a family whose lam is held are those of a distribution on one side of mu.
    """
    lam, a, b, d, away = 0.0, 0.0, 0.0, 0.0, 0.0
    if family == 1:
        a, d = (0.4, 0.7) if attempt == 0 else (1.3, 1.3)
        if attempt == 2:
            a, b, d, away = 20.6, 19.4, 0.9, 2.5
    elif family == 2:  # delta is 0
        lam, a = (1.0, 1.3) if attempt == 0 else (3.0, 2.5)
    else:
        lam, a, d = (-0.5, 0.7, 0.9) if attempt == 0 else (1.0, 1.5, 0.5) if attempt == 1 else (-2.0, 0.3, 2.0)
    p[LAM], p[ALPHA], p[BETA], p[DELTA], p[MU] = lam, a / spread, b / spread, d * spread, centre - away * spread
    return attempt < (2 if family == 2 else 3)


@_function
def _start_at(x, w, mass, mu, p):
    """A start with mu at a value: the asymmetric Laplace distribution (lam = 1) that is likeliest, and its log-likelihood."""
    above, below = 0.0, 0.0
    for j in range(x.size):
        above += w[j] * max(x[j] - mu, 0.0) / mass
        below += w[j] * max(mu - x[j], 0.0) / mass
    both = math.sqrt(above * below)
    if not both > 0.0:
        return -math.inf
    lo, hi = 1.0 / (above + both), 1.0 / (below + both)
    p[LAM], p[ALPHA], p[BETA], p[DELTA], p[MU] = 1.0, 0.5 * (lo + hi), 0.5 * (hi - lo), 0.0, mu
    return -mass * (math.log(above + below + 2.0 * both) + 1.0)


@_function
def _about(x, w, weighted, mass):
    """Median and quartile distance over 1.35, the same for mirrored values; the side of the longer tail."""
    low, middle, high = quartiles(x, w, weighted, mass)
    for j in range(x.size):
        x[j] = -x[j]
    other_low, other_middle, other_high = quartiles(x, w, weighted, mass)
    for j in range(x.size):
        x[j] = -x[j]
    centre, spread = 0.5 * (middle - other_middle), 0.5 * ((high - low) + (other_high - other_low)) / 1.35
    if not spread > 0.0:
        spread = math.sqrt(mean_square(x, w, centre))
    return centre, spread, -1.0 if weighted_mean(x, w) < centre else 1.0


@_function
def _starts_from(x, given, unit, p):
    """Set what a climb begins from to given parameters; whether these have a cusp, at a value."""
    for i in range(p.size):
        p[i] = given[i] / unit[i]
    return p[LAM] < CUSPS and _is_value(x, p[MU], 0.0)


@_function
def _is_pole(x, w, mass, spread, p, fixed, done):
    """Whether the likelihood has no bound next to the end of a climb.

    Next to delta = 0 the density at mu grows as delta^(2 lam - 1), or as 1/delta where lam < 0, and falls elsewhere as
    delta^(-2 lam) then. Where the distribution becomes a gamma distribution on one side of mu, it has a pole there for lam < 1.
    """
    lam, alpha, delta = p[LAM], p[ALPHA], p[DELTA]
    if done == OK:
        return False
    if alpha * spread > _ONE_SIDED and abs(p[BETA]) > 0.98 * alpha:
        return _free(fixed, MU) and lam < 1.0 and delta * delta * alpha < _LEAST * spread
    if delta == 0.0:
        return _free(fixed, LAM) and lam <= _LEAST_LAM + _LEAST
    if delta > _LEAST * spread or lam >= 0.5:
        return False
    there = 0.0
    for j in range(x.size):
        there += w[j] if abs(x[j] - p[MU]) <= 1e2 * delta else 0.0
    return there * min(1.0, 1.0 - 2.0 * lam) > (mass - there) * max(-2.0 * lam, 0.0)


@_function
def _fit_series(_family, x, w, weighted, share, least_count, fixed, params, info, numbers, work):
    """Fits one series, which it overwrites; returns the status.

    `params` has where the one climb begins, or NaN.
    """
    given, unit = work[_GIVEN], work[_UNIT]
    for i in range(params.size):
        given[i] = params[i]
    n, _least, _most, status = admitted(x, w, weighted, share, least_count, (-math.inf, math.inf), params, info, numbers)
    if status != OK:
        return status
    x, w = x[:n], w[:n]
    mass = numbers[MASS]
    centre, spread, side = _about(x, w, weighted, mass)  # the longer tail becomes the upper one, so mirrored data climb alike
    length = math.ldexp(
        1.0, int(math.floor(math.log2(spread)))
    )  # the unit: values keep their digits, so that mu may be one of them
    for j in range(n):
        x[j] *= side / length
    centre, spread = centre * (side / length), spread / length
    p, held, best, status = work[PAR], work[HELD], -math.inf, BOUND
    family = 2 if fixed[DELTA] == 0.0 else 0 if _free(fixed, LAM) else 1
    unit[LAM], unit[ALPHA], unit[BETA], unit[DELTA], unit[MU] = 1.0, 1.0 / length, side / length, length, side * length
    for i in range(p.size):
        held[i] = fixed[i] / unit[i]
    started, values = given[ALPHA] == given[ALPHA], family == 2 and n <= _FEW and _free(fixed, MU) and _free(fixed, LAM)
    at = (_least if side > 0.0 else _most) * (side / length)
    attempt, at_pole, walk, done, floor = 0, False, True, BOUND, -math.inf
    while True:
        if started:
            if attempt > 0:
                break
            walk = not _starts_from(x, given, unit, p)
        elif walk and ((values and attempt > 0 and not at_pole) or not _start(attempt, family, centre, spread, p)):
            walk = False
        if not walk and not started:
            before, at, floor = at, _next(x, at, True), -math.inf if at_pole else best
            if not values or at == before:
                break
            if not _start_at(x, w, mass, at, p) > floor - _GAIN[0] - _GAIN[1] * mass:
                continue
        attempt += 1
        begin(held, work)
        if _free(held, BETA) != _free(held, ALPHA):
            if _free(held, ALPHA):
                p[ALPHA] = max(p[ALPHA], 1.5 * abs(p[BETA]))
        done = _reach(x, w, mass, spread, walk, floor, work, numbers)
        if not (walk or started or done == OK):
            continue
        # next to delta = 0 there are poles: an end beside it is the last choice
        beside = family == 0 and _free(fixed, DELTA) and p[DELTA] < _LEAST * spread
        unbounded = _is_pole(x, w, mass, spread, p, fixed, done)
        pole = unbounded or (beside and (p[LAM] < _LEAST_LAM or (done != OK and done != LIMIT)))
        done = POLE if unbounded else done
        if best == -math.inf or (at_pole and not pole) or (not pole and numbers[LOGLIK] > best + 1e-9):
            best, status, at_pole = numbers[LOGLIK], done, pole
            results(work, SIZE, params, info)
        if done == OK and family != 0 and walk and not (values and p[LAM] < CUSPS):
            break
    for i in range(params.size):
        params[i] = params[i] * unit[i] if _free(fixed, i) else fixed[i]
        for j in range(i + 1):
            known = family != 2 or params[LAM] > CUSPS or not _free(held, MU)
            info[i * (i + 1) // 2 + j] = info[i * (i + 1) // 2 + j] / (unit[i] * unit[j]) if known else math.nan
    numbers[LOGLIK] = best - mass * math.log(length) if best > -math.inf else math.nan
    return status


def _kernel(name, inner, outer, reach):
    derivatives = bind(_derivatives, _constant=bind(_constant, _inner=inner), _outer=outer)
    newton = bind(climb, _derivatives=derivatives, _in_coordinates=_in_coordinates, _moved=_moved, _limit=_limit)
    parts = {"_climb": _climb, "_likeliest_mu": _likeliest_mu, "_stays": _stays}
    reached = bind(reach, **{part: bind(function, _newton=newton) for part, function in parts.items()})
    return kernel(name, bind(_fit_series, _reach=reached), SIZE, _MORE)


FIT_NIG = _kernel("fit_nig", hyp.log_k_half_terms, hyp.log_k_one_terms, _smooth_climb)
FIT_HYPERBOLIC = _kernel("fit_hyperbolic", hyp.log_k_one_terms, hyp.log_k_half_terms, _smooth_climb)
FIT_GENERAL = _kernel("fit_generalized_hyperbolic", hyp.log_k_terms, hyp.log_k_terms, _climb_with_cusps)
