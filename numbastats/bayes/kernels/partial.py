"""The partial likelihood of proportional hazards: sums over the rows at risk, in the order of their times."""

from __future__ import annotations

import numpy as np
from numba import types

from numbastats.bayes.kernels.lanes import chain_kernel, shared, sides
from numbastats.scalar.elementary import exp, log

__all__ = ["PARTIAL"]

_lane = None  # bound by `sides`


@shared
def partial(given, out, q):
    """Log-likelihood by Efron's formula, its derivative in each predictor, and the expected events of each row.

    Rows go by stratum, and from the latest time to the earliest one. A group ends with the rows of an event time, at which all of
    it are at risk, and the groups before it in the stratum. With weights w, A the sum of w e^m of the rows at risk, B that of the
    d events, and c their mean weight, it adds the sum of w m over the events less c log(A - k B/d) for each k < d. `sums` has the
    largest predictor at risk, to whose exponential sums are relative so that none overflows, and the sums over k of
    c/(A - k B/d) and of k/d times that.
    """
    E, order, start, fresh, event, weight = given
    value, slope, expected, sums = out
    if _lane() > 0:  # the sums are in sequence
        return
    m, groups = E[q], start.size - 1
    total, top, at_risk = 0.0, -np.inf, 0.0
    for g in range(groups):
        if fresh[g]:
            top, at_risk = -np.inf, 0.0
        before = top
        for i in range(start[g], start[g + 1]):
            v = m[order[i]]
            top = v if v > top else top
        at_risk = at_risk * exp(before - top) if at_risk > 0.0 else 0.0
        events, weights, d = 0.0, 0.0, 0
        for i in range(start[g], start[g + 1]):
            v = m[order[i]]
            x = weight[i] * exp(v - top)
            at_risk += x
            if event[i]:
                events += x
                weights += weight[i]
                total += weight[i] * (v - top)
                d += 1
        whole, part = 0.0, 0.0
        for k in range(d):
            share, c = k / d, weights / d
            rest = at_risk - share * events
            total -= c * log(rest)
            whole += c / rest
            part += c * share / rest
        sums[q, g, 0], sums[q, g, 1], sums[q, g, 2] = top, whole, part
    value[q] = total
    hazard, before = 0.0, 0.0
    for back in range(groups):
        g = groups - 1 - back
        top = sums[q, g, 0]
        hazard = 0.0 if back == 0 or fresh[g + 1] else hazard * exp(top - before)
        hazard += sums[q, g, 1]
        before = top
        for i in range(start[g], start[g + 1]):
            j = order[i]
            x = weight[i] * exp(m[j] - top)
            p = x * (hazard - sums[q, g, 2]) if event[i] else x * hazard
            slope[q, j] = weight[i] - p if event[i] else -p
            expected[q, j] = p


_f, _i, _b = types.float64, types.int64, types.boolean
_given = types.Tuple((_f[:, ::1], _i[::1], _i[::1], _b[::1], _b[::1], _f[::1]))
_out = types.Tuple((_f[::1], _f[:, ::1], _f[:, ::1], _f[:, :, ::1]))
PARTIAL = chain_kernel("bayes.partial", (_given, _out), sides(partial))
