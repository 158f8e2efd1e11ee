"""Make the quadrature nodes of numbastats/scalar/stable_nodes.py from nothing but the integrands of the stable laws.

One rule (u_j, w_j) on (0, 1) for every alpha of a band, every beta and 0 <= x1 <= radius: with t = R u, R = L^(1/alpha),
L = -log 1e-16 and phi = x1 t + zeta t^alpha = x0 t + zeta (t^alpha - t),
    pdf = R/pi sum_j w_j exp(-L u_j^alpha) cos(phi_j),    cdf = 1/2 + 1/pi sum_j w_j exp(-L u_j^alpha) sin(phi_j)/u_j.

Method (J. Bremer, Z. Gimbutas, V. Rokhlin, "A nonlinear optimization procedure for generalized Gaussian quadratures", SIAM J.
Sci. Comput. 32, 2010): graded Gauss-Legendre panels that resolve all integrands; an orthonormal basis of random members of the
family; pivoted QR for a first rule with as many nodes as basis functions; then one node after the other is removed, and all
others and their weights are solved for anew by Gauss-Newton steps of least norm.

Run: python make_stable.py ALPHA_LOW ALPHA_HIGH SECONDS FILE      (NumPy and SciPy; one core, minutes a band)
     python make_stable.py 1.1 2.0 600 high.txt; python make_stable.py 0.5 0.9 900 low.txt
     python make_stable.py 0.9 1.1 600 middle.txt      (here for |x0| <= 8)
"""

import math
import sys
import time

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import lstsq, qr, svd

EPS = 1e-16
DEPTH = -math.log(EPS)
ORDER = 40
MEMBERS = 8000
REACH = 8.0  # of |x0| for the band around alpha = 1, where x1 and zeta are large


def radius(a, b):
    """|x1| from which the series at infinity of 80 (alpha > 1) or 90 terms is good to EPS."""
    n = 80 if a > 1 else 90
    z = b * math.tan(math.pi * a / 2) if a < 2 else 0.0
    logs = 0.5 * n * math.log1p(z * z) + math.log(a / (math.pi * EPS)) + math.lgamma(a * n) - math.lgamma(n)
    return math.exp(logs / (a * n - 1))


def panels(smallest=1e-35, fine=24):
    """Edges: equal panels above 1/fine, fourfold ones below; ORDER nodes in each interpolate 600 rad of phase.

    What lies below the first, where u^(alpha - 1) is no polynomial, is negligible.
    """
    edges = [1 / fine]
    while edges[-1] > smallest:
        edges.append(edges[-1] / 4)
    return np.append(edges[::-1], np.arange(2, fine + 1) / fine)


def grid(edges):
    x, g = legendre.leggauss(ORDER)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (x + 1)).ravel(), (half * g).ravel()


def members(u, low, high, n, rng):
    """Random integrands, dense at the ends of every parameter and in the corner |beta| = 1, x1 = radius, alpha next to 1."""

    def end_heavy():
        return 0.5 - 0.5 * math.cos(math.pi * min(max(1.04 * rng.random() - 0.02, 0.0), 1.0))

    out = np.empty((u.size, n))
    for i in range(n):
        a = low + (high - low) * end_heavy()
        b = 0.0 if rng.random() < 0.1 else 2 * end_heavy() - 1
        part = end_heavy()
        if rng.random() < 0.25:
            b = rng.choice([-1.0, 1.0])
            off = 0.1 * rng.random() ** 2 * (high - low)
            off = off if rng.random() < 0.5 or not low < 1 < high else 0.5 * (high - low) - off
            a, part = low + off if low > 1 else high - off, 1 - 0.3 * rng.random() ** 2
        power = u**a
        scale = DEPTH ** (1 / a)
        t = scale * u
        if low < 1 < high:
            p, logs = a - 1, np.log(t)
            skew = 2 / math.pi * logs if p == 0 else np.expm1(p * logs) / math.tan(math.pi * p / 2)  # zeta (t^p - 1)/beta
            phase = t * (part * REACH + b * skew)
        else:
            z = -b * math.tan(math.pi * a / 2) if a < 2 else 0.0
            phase = part * radius(a, b) * t + z * DEPTH * power
        fall = np.exp(-DEPTH * power) / math.pi
        out[:, i] = fall * (np.sin(phase) / u if rng.random() < 0.5 else scale * np.cos(phase))
    return out


class Basis:
    """Functions given at the nodes of Gauss-Legendre panels, with their derivatives anywhere."""

    def __init__(self, edges, values):
        self.edges = edges
        to_series = np.linalg.inv(legendre.legvander(legendre.leggauss(ORDER)[0], ORDER - 1))
        self.series = to_series @ values.reshape(edges.size - 1, ORDER, -1)
        self.slopes = legendre.legder(self.series, axis=1) * (2 / np.diff(edges))[:, None, None]

    def __call__(self, u):
        f, d = np.empty((2, u.size, self.series.shape[2]))
        where = np.clip(np.searchsorted(self.edges, u, side="right") - 1, 0, self.edges.size - 2)
        for p in np.unique(where):
            lo, hi = self.edges[p : p + 2]
            mine = where == p
            v = legendre.legvander(2 * (u[mine] - lo) / (hi - lo) - 1, ORDER - 1)
            f[mine], d[mine] = v @ self.series[p], v[:, :-1] @ self.slopes[p]
        return f, d


def solve(basis, integrals, u, w, limit, steps=16):
    """Gauss-Newton on sum_j w_j psi_k(u_j) = I_k; returns (u, w, residual).

    Moves of log u are measured by the distance to the next node, weights by 1/|psi(u_j)|, and the equations all weigh the same:
    then it converges quadratically. The residual may grow at first.
    """
    best = u, w, math.inf
    for _ in range(steps):
        f, d = basis(u)
        r = integrals - f.T @ w
        norm = np.linalg.norm(r)
        if norm < best[2]:
            best = u, w, norm
        if norm < limit or not norm < 10.0:
            break
        gaps = np.diff(np.log(u), prepend=np.log(u[0]) - 8.0, append=0.0)
        room = np.minimum(gaps[1:], gaps[:-1])
        size = 1 / np.sqrt((f**2).sum(1))
        jacobian = np.hstack([(d * (w * u * room)[:, None]).T, (f * size[:, None]).T])
        move = lstsq(jacobian, r, cond=1e-12, lapack_driver="gelsy", check_finite=False)[0]
        part = min(1.0, 0.45 / np.abs(move[: u.size]).max())
        u, w = u * np.exp(part * room * move[: u.size]), w + part * size * move[u.size :]
    return best


def main(low, high, seconds, path):
    begin = time.time()
    rng = np.random.default_rng(1)
    edges = panels()
    fine, weights = grid(edges)
    root = np.sqrt(weights)
    mixed = members(fine, low, high, MEMBERS, rng) @ rng.standard_normal((MEMBERS, 450))
    left, s, _ = svd(mixed * root[:, None], full_matrices=False)
    rank = int((s > 1e-15 * s[0]).sum())
    values = left[:, :rank] / root[:, None]
    integrals = values.T @ weights
    chosen = np.sort(qr(left[:, :rank].T, pivoting=True, mode="r")[1][:rank])
    u, w = fine[chosen], np.linalg.solve(left[chosen, :rank].T, integrals) * root[chosen]
    basis = Basis(edges, values)
    print(f"{fine.size} fine nodes, rank {rank}, {time.time() - begin:.0f} s", flush=True)
    limit = 3e-14

    def save():
        order = np.argsort(u)
        np.savetxt(path, np.c_[u[order], w[order]], fmt="%.17g")

    many = u.size // 12
    while many and time.time() - begin < seconds:
        many = min(many, max(1, (u.size - rank // 2) // 6))
        order = np.argsort(w * np.sqrt((basis(u)[0] ** 2).sum(1)))
        if many > 1:  # negative weights first, then the least important; no two neighbours
            trials, taken = [[]], np.zeros(u.size + 2, bool)
            for i in order:
                if len(trials[0]) < many and not taken[i : i + 3].any():
                    trials[0].append(i)
                    taken[i + 1] = True
        else:
            trials = order[:16]
        for j in trials:
            new_u, new_w, norm = solve(basis, integrals, np.delete(u, j), np.delete(w, j), limit)
            if norm < limit:
                u, w = new_u, new_w
                print(f"{u.size} nodes, least weight {w.min():.1e}, {time.time() - begin:.0f} s", flush=True)
                save()
                break
        else:
            many //= 2
    u, w, norm = solve(basis, integrals, u, w, 0.0)
    print(f"residual {norm:.1e}, least weight {w.min():.1e}")
    save()
    rng = np.random.default_rng(99)
    fresh = members(np.append(fine, u), low, high, 3000, rng)
    e = np.abs(w @ fresh[fine.size :] - weights @ fresh[: fine.size])
    print(f"{u.size} nodes, fresh members: median {np.median(e):.1e}, 99 % {np.quantile(e, 0.99):.1e}, most {e.max():.1e}")


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
