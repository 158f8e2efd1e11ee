"""Make the polynomials of numbastats/scalar/special.py, bessel.py and incomplete.py (needs mpmath).

Chebyshev interpolation in 60-digit arithmetic.

Run ``python make_special.py [name]``. It prints ascending coefficients, the largest error of the polynomial before
rounding and of the rounded coefficients in exact arithmetic. The error is relative to the fitted function.
"""

import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 60


def polynomial(c, x):
    """Horner's rule, coefficients ascending (mpmath's own `polyval` changes its order between versions)."""
    value = c[-1]
    for a in c[-2::-1]:
        value = value * x + a
    return value


def chebyshev_fit(f, a, b, degree):
    """Coefficients of the powers of x of the interpolant of f at degree + 1 Chebyshev nodes of [a, b]."""
    n = degree + 1
    nodes = [mp.cos(mp.pi * (2 * j + 1) / (2 * n)) for j in range(n)]
    values = [f((a + b) / 2 + (b - a) / 2 * s) for s in nodes]
    cheb = [
        2 / mp.mpf(n) * mp.fsum(v * mp.cos(mp.pi * k * (2 * j + 1) / (2 * n)) for j, v in enumerate(values)) for k in range(n)
    ]
    cheb[0] /= 2
    # sum_k cheb_k T_k(s) with s = (2 x - a - b)/(b - a), by the recurrence of T_k on coefficient lists in x
    line = [-(a + b) / (b - a), 2 / (b - a)]
    previous, current, total = [mp.mpf(1)], line, [mp.mpf(0)] * n
    for k in range(n):
        t = previous
        for i, c in enumerate(t):
            total[i] += cheb[k] * c
        product = [mp.mpf(0)] * (len(current) + 1)
        for i, c in enumerate(current):
            product[i] += 2 * line[0] * c
            product[i + 1] += 2 * line[1] * c
        for i, c in enumerate(previous):
            product[i] -= c
        previous, current = current, product
    return total


def worst(f, coefficients, a, b, weight, points=1501):
    """Largest relative error, times the weight, over a grid that is dense at both ends."""
    error = mp.mpf(0)
    for j in range(1, points):
        x = (a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * j / points)
        error = max(error, weight(x) * abs(polynomial(coefficients, x) / f(x) - 1))
    return error


def mills(c):
    """((t + c) M(t) - 1) (t + c) as a function of u = (t - c)/(t + c), M(t) = Phi(-t)/phi(t), t in [0, inf).

    The subtraction of the limit 1 keeps the error of the polynomial out of the far tail.
    """

    def f(u):
        t = c * (1 + u) / (1 - u)
        with mp.extradps(30):
            return ((t + c) * mp.sqrt(mp.pi / 2) * mp.erfc(t / mp.sqrt(2)) * mp.exp(t * t / 2) - 1) * (t + c)

    return f


def mills_share(c):
    """What a relative error of `mills` makes of M = r (1 + r R), r = 1/(t + c)."""
    f = mills(c)

    def share(u):
        r = (1 - u) / (2 * c)
        return abs(r * f(u) / (1 + r * f(u)))

    return share


def erf_excess(z):
    """erf(x)/x - 1 as a function of z = x^2."""
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erf_share(z):
    """What a relative error of `erf_excess` makes of erf."""
    return abs(erf_excess(z) / (1 + erf_excess(z)))


def log_gamma_at_2(f):
    """log Gamma(2 + f)/f."""
    return mp.loggamma(2 + f) / f if abs(f) > 1e-30 else 1 - mp.euler + f * (mp.zeta(2) - 1) / 2


def stirling(w):
    """x (log Gamma(x) - (x - 1/2)(log x - 1) - log(2 pi)/2 + 1/2) as a function of w = 1/x^2."""
    x = 1 / mp.sqrt(w)
    with mp.extradps(30):
        return x * (mp.loggamma(x) - (x - mp.mpf("0.5")) * (mp.log(x) - 1) - mp.log(2 * mp.pi) / 2 + mp.mpf("0.5"))


def half_ratio(w):
    """(sqrt(y) Gamma(y + 1/4)/Gamma(y + 3/4) - 1)/w as a function of w = 1/y^2; the expansion in 1/y is even."""
    y = 1 / mp.sqrt(w)
    with mp.extradps(60):
        return (mp.sqrt(y) * mp.exp(mp.loggamma(y + mp.mpf("0.25")) - mp.loggamma(y + mp.mpf("0.75"))) - 1) / w


def log_gamma_at_1(f):
    """log Gamma(5/4 + f)/(1/4 + f)."""
    x = mp.mpf("0.25") + f
    return mp.loggamma(1 + x) / x if abs(x) > 1e-30 else -mp.euler + x * mp.zeta(2) / 2


PSI_ZERO = mp.findroot(mp.digamma, 1.4616)


def digamma_share(s):
    """psi(x)/(x - x0) at x = 3/2 + s, x0 the zero of psi."""
    x = mp.mpf("1.5") + s
    return mp.digamma(x) / (x - PSI_ZERO)


def beyond_1(function, c):
    """A function of x >= 1 as one of u = (x - 1 - c)/(x - 1 + c)."""
    return lambda u: function(1 + c * (1 + u) / (1 - u))


def k_share(order):
    """sqrt(2 x/pi) exp(x) K(x)."""
    return lambda x: mp.sqrt(2 * x / mp.pi) * mp.exp(x) * mp.besselk(order, x)


def i_share(order):
    """sqrt(2 pi x) exp(-x) I(x) at u = 16/x - 1."""

    def f(u):
        x = 16 / (1 + u)
        return mp.sqrt(2 * mp.pi * x) * mp.exp(-x) * mp.besseli(order, x)

    return f


def temme(highest, terms):
    """The coefficients c(k) of DLMF 8.12.8 as power series in eta, by 8.12.10 from those of 1/mu, eta^2/2 = mu - log(1 + mu)."""
    logs = [mp.mpf(0)] * (highest + 1)  # of Gamma*, DLMF 5.11.1, whose exponential has the coefficients g of 5.11.3
    for k in range(1, highest // 2 + 1):
        logs[2 * k - 1] = mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))
    g = [mp.mpf(1)]
    for n in range(1, highest + 1):
        g.append(mp.fsum(j * logs[j] * g[n - j] for j in range(1, n + 1)) / n)
    count = terms + 2 * highest + 2
    mu = [mp.mpf(0), mp.mpf(1)]  # from mu mu' = eta (1 + mu)
    for n in range(2, count + 2):
        rest = mp.fsum(mu[j] * (n + 1 - j) * mu[n + 1 - j] for j in range(2, n))
        mu.append((mu[n - 1] - rest) / (n + 1))
    inverse = [mp.mpf(1)]  # of eta/mu
    for n in range(1, count + 1):
        inverse.append(-mp.fsum(mu[j + 1] * inverse[n - j] for j in range(1, n + 1)))
    rows = [inverse[1:]]
    for k in range(1, highest + 1):
        before = rows[-1]
        rows.append([(n + 2) * before[n + 2] + (-1) ** k * g[k] * inverse[n + 1] for n in range(len(before) - 2)])
    return [row[:terms] for row in rows]


half = mp.mpf("0.5")
erf_end, stirling_end, ratio_end = mp.mpf("0.5625"), mp.mpf(1) / 64, 1 / mp.mpf("3.75") ** 2
FITS = {  # name: function, interval, degree, dtype, weight of the error
    "MILLS64": (mills(5), -1, 1, 21, np.float64, mills_share(5)),
    "MILLS32": (mills(4), -1, 1, 10, np.float32, mills_share(4)),
    "ERF64": (erf_excess, 0, erf_end, 10, np.float64, erf_share),
    "ERF32": (erf_excess, 0, erf_end, 5, np.float32, erf_share),
    "LGAMMA64": (log_gamma_at_2, -half, half, 18, np.float64, None),
    "LGAMMA32": (log_gamma_at_2, -half, half, 8, np.float32, None),
    "LGAMMA1": (log_gamma_at_1, -half / 2, half / 2, 15, np.float64, None),
    "RGAMMA": (lambda f: mp.rgamma(2 + f), -half, half, 14, np.float64, None),
    "STIRLING64": (stirling, 0, stirling_end, 6, np.float64, None),
    "STIRLING32": (stirling, 0, stirling_end, 2, np.float32, None),
    "DIGAMMA": (digamma_share, -half, half, 22, np.float64, None),
    "K0_FAR": (beyond_1(k_share(0), 2), -1, 1, 22, np.float64, None),
    "K1_FAR": (beyond_1(k_share(1), 2), -1, 1, 22, np.float64, None),
    "I0_FAR": (i_share(0), -1, 1, 23, np.float64, None),
    "I1_FAR": (i_share(1), -1, 1, 23, np.float64, None),
    "E1_FAR": (beyond_1(lambda x: x * mp.exp(x) * mp.e1(x), 3), -1, 1, 28, np.float64, None),
    "HALF64": (half_ratio, 0, ratio_end, 8, np.float64, lambda w: w / 64),
    "HALF32": (half_ratio, 0, ratio_end, 2, np.float32, lambda w: w / 64),
}


def main(names):
    for name in names:
        if name == "TEMME":
            print("TEMME: the rows _C0, _C1 ... of numbastats/scalar/incomplete.py")
            for row, length in zip(temme(8, 19), range(19, 2, -2), strict=True):
                print("    " + ", ".join(repr(float(c)) for c in row[:length]))
            continue
        f, a, b, degree, dtype, weight = FITS[name]
        a, b, weight = mp.mpf(a), mp.mpf(b), weight or (lambda x: 1)
        exact = chebyshev_fit(f, a, b, degree)
        rounded = [mp.mpf(float(dtype(float(c)))) for c in exact]
        before, after = worst(f, exact, a, b, weight), worst(f, rounded, a, b, weight)
        print(f"{name}: degree {degree}, relative error {mp.nstr(before, 2)}, rounded {mp.nstr(after, 2)}")
        print("    " + ", ".join(repr(float(c)) for c in rounded))


if __name__ == "__main__":
    main(sys.argv[1:] or [*FITS, "TEMME"])
