"""Make every constant of numbastats/scalar/elementary.py: polynomials by Remez exchange, split constants by truncation.

Run: python make_elementary.py          (mpmath and NumPy; a few seconds)
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 60


def polynomial(c, x):
    """Horner's rule, coefficients ascending (mpmath's own `polyval` changes its order between versions)."""
    value = c[-1]
    for a in c[-2::-1]:
        value = value * x + a
    return value


def remez(g, w, x, n):
    """The n coefficients that minimise max |w (p - g)| over the points x, by exchange of n + 1 alternating extrema."""
    m = len(x)
    ref = [round((m - 1) * i / n) for i in range(n + 1)]
    for _ in range(30):
        rows = [[w[i] * x[i] ** j for j in range(n)] + [(-1) ** s] for s, i in enumerate(ref)]
        c = list(mp.lu_solve(mp.matrix(rows), mp.matrix([w[i] * g[i] for i in ref])))
        level = abs(c.pop())
        e = [wi * (polynomial(c, xi) - gi) for wi, xi, gi in zip(w, x, g, strict=True)]
        runs = [0]  # the largest error of each run of equal sign
        for i in range(1, m):
            if (e[i] > 0) != (e[runs[-1]] > 0):
                runs.append(i)
            elif abs(e[i]) > abs(e[runs[-1]]):
                runs[-1] = i
        while len(runs) > n + 1:
            runs.pop(0 if abs(e[runs[0]]) < abs(e[runs[-1]]) else -1)
        if len(runs) < n + 1 or runs == ref or max(map(abs, e)) < level * mp.mpf("1.001"):
            break
        ref = runs
    return c


def fit(g, weight, a, b, n, rounded):
    """Coefficients in floating point and their error.

    Rounding the leading ones first and fitting the rest again helps where the weight vanishes at an end of the
    interval; the best number of coefficients to treat so is found by trial.
    """
    m = 24 * n
    x = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (i + mp.mpf("0.5")) / m) for i in range(m)]
    g0 = rest = [g(t) for t in x]
    w0 = w = [weight(t) for t in x]
    head, trials = [], []
    for left in range(n, 0, -1):
        tail = [rounded(v) for v in remez(rest, w, x, left)]
        c = head + tail
        trials.append((max(abs(wi * (polynomial(c, t) - v)) for wi, t, v in zip(w0, x, g0, strict=True)), c))
        head = [*head, tail[0]]
        rest = [(v - tail[0]) / t for v, t in zip(rest, x, strict=True)]
        w = [v * t for v, t in zip(w, x, strict=True)]
    error, c = min(trials, key=lambda trial: trial[0])
    return c, error


def float64(v):
    return float(v)


def float32(v):
    return float(np.float32(float(v)))


def split(value, heads, rounded):
    """Leading pieces, so short that small integers times a piece are exact, and a rounded rest; none is above what it is for.

    A head is a number of bits or, if negative, the exponent of its last bit.
    """
    pieces = []
    for head in heads:
        unit = mp.mpf(2) ** (head if head < 0 else mp.floor(mp.log(abs(value), 2)) - head + 1)
        pieces.append(float(mp.floor(value / unit) * unit))
        value -= pieces[-1]
    return [*pieces, rounded(value)]


def series(terms):
    return lambda z: mp.fsum(z**j * c for j, c in enumerate(terms))


LN2, PI = mp.log(2), mp.pi
HALF_LN2 = LN2 / 2 * mp.mpf("1.0001")  # the rounding of n may be off by a little
Z_LOG = (3 - 2 * mp.sqrt(2)) ** 2 * mp.mpf("1.0001")
Z_TRIG = (PI / 4 * mp.mpf("1.0001")) ** 2
Z_COS = (PI / 2 * mp.mpf("1.0001")) ** 2
Z_ATAN = mp.tan(PI / 8) ** 2
G_EXP = series([1 / mp.factorial(j + 2) for j in range(40)])
G_LOG = series([mp.mpf(2) / (2 * j + 3) for j in range(60)])
LOG_DD_TERMS = series([mp.mpf(1) / ((2 * j + 5) * 4 ** (j + 2)) for j in range(60)])
G_SIN = series([(-1) ** (j + 1) / mp.factorial(2 * j + 3) for j in range(30)])
G_COS = series([(-1) ** j / mp.factorial(2 * j + 4) for j in range(30)])
G_ATAN = series([mp.mpf((-1) ** (j + 1)) / (2 * j + 3) for j in range(200)])


def g_log_dd(rounded):
    """(log(1 + f)/s - 1)/z - 1/12 over z = s^2 = (2 f/(2 + f))^2, with 1/12 as rounded."""
    return lambda z: LOG_DD_TERMS(z) + (mp.mpf(1) / 12 - mp.mpf(rounded(mp.mpf(1) / 12))) / z


def g_log32(f):
    return (mp.log1p(f) - f + f * f / 2) / f**3


# name: function, weight that turns its error into a relative error of the result, interval, float64 and float32 counts
POLYNOMIALS = {
    "EXP": (G_EXP, lambda r: r * r * mp.exp(-r), -HALF_LN2, HALF_LN2, 10, 5),
    "LOG": (G_LOG, lambda z: z / 2, mp.mpf(0), Z_LOG, 7, 0),
    "LOG_CUBIC": (g_log32, lambda f: f**3 / mp.log1p(f), mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 0, 8),
    "LOG_DD": (g_log_dd(float64), lambda z: z * z, mp.mpf(0), 4 * Z_LOG, 7, 0),
    "LOG_DD_SHORT": (g_log_dd(float32), lambda z: z * z, mp.mpf(0), 4 * Z_LOG, 0, 3),
    "SIN": (G_SIN, lambda z: z, mp.mpf(0), Z_TRIG, 6, 3),
    "COS": (G_COS, lambda z: z * z, mp.mpf(0), Z_TRIG, 6, 3),
    "COS_ABS": (G_COS, lambda z: z * z, mp.mpf(0), Z_COS, 7, 4),
    "ATAN": (G_ATAN, lambda z: z, mp.mpf(0), Z_ATAN, 11, 5),
}

# name: value, heads in float64 and float32
SPLITS = {
    "LN2": (LN2, (42,), (16,)),  # times |n| <= 1100 (150)
    "PIO2": (PI / 2, (33, -53, 33), (12, -23, 12)),  # times |n| < 2^20 (2^12)
    "PI": (PI, (33, 33), (12, 12)),
}

if __name__ == "__main__":
    for bits, rounded in ((64, float64), (32, float32)):
        for name, (g, weight, a, b, *count) in POLYNOMIALS.items():
            n = count[bits == 32]
            if n:
                c, error = fit(g, weight, mp.mpf(a), mp.mpf(b), n, rounded)
                print(f"{name}{bits}: [{mp.nstr(a, 5)}, {mp.nstr(b, 5)}], error {mp.nstr(error, 2)}\n    {c}")
        for name, (value, *heads) in SPLITS.items():
            print(f"{name}_{bits} = {split(value, heads[bits == 32], rounded)}")
        for name, value in (("PI", PI), ("PI/2", PI / 2), ("PI/4", PI / 4), ("log2(e)", 1 / LN2)):
            head = rounded(value)
            print(f"{name}_{bits} = {head}, {rounded(value - mp.mpf(head))}")
