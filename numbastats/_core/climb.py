"""Maxima of smooth functions of a few parameters, by Newton's method with the damping of Levenberg and Marquardt.

`climb` is a template. `bind` gives it the functions of a problem, which all get the same `data`, a tuple of what they need:

* `_derivatives(data, par, g, H)`: the function at `par` and the size of its rounding errors; writes gradient and Hessian by the
  parameters. Outside of the domain the function is -inf, and nothing need be written.
* `_in_coordinates(data, n, par, g, H, slope, A)`: writes gradient, and Hessian with its sign changed, in the coordinates of
  steps, in which the information is about `mass`. Of the matrix only the lower triangle is read. See `in_units`.
* `_moved(data, n, par, step, out)`: writes the parameters after a step in these coordinates; False if the step is too long.
  A coordinate that is no parameter may have a bound: `_moved` keeps to it, and `_in_coordinates` does `hold` what climbs beyond.
* `_limit(data, par)`: 0, or the status with which a climb ends that has come so far.
* `_least(data, mass)`: the curvature in these coordinates below which nothing is a maximum. Next to a limit at infinity the
  function is a ridge that gets ever flatter, on which every step promises less than the one before: a climb there is no end.

`climber` needs the derivatives alone: its coordinates are logarithms of positive parameters, a location in units of the scale,
the last parameter, or of the spread of the data if that is known and more, and shapes that are no logarithms as they are.

The arrays are rows of one work space, of at least `rows(n)` rows and n columns, which may be local to a thread of a GPU.
"""

from __future__ import annotations

import math

from numbastats._core.endings import NO_CONVERGENCE, OK
from numbastats._core.kernel import array_function, bind

__all__ = [
    "HELD",
    "HESSIAN",
    "HIGH",
    "LOW",
    "PAR",
    "cholesky_step",
    "climb",
    "climber",
    "copy",
    "copy_matrix",
    "hold",
    "in_units",
    "rows",
]

PAR, HELD, LOW, HIGH, _TRIAL, _STEP, _SLOPE, _G, _NEW_G, HESSIAN = range(10)  # rows; the last is the first of four matrices
_MOST_TRIES = 40  # evaluations between two points that are better than all before

_function = array_function(fastmath=(), host=False)
_FLAT = 1e-6  # gain that a step promises, below which a ridge is left
_spread = 0.0  # bound by `bind`, as are
_derivatives = _in_coordinates = _moved = _limit = _logs = _flags = None


def rows(n):
    """Rows of the work space for n parameters."""
    return HESSIAN + 4 * n


@_function
def copy(source, target):
    """Copy a vector number by number: assigned as a whole, it would bring along all that writes Numba's message about shapes."""
    for i in range(target.size):
        target[i] = source[i]


@_function
def copy_matrix(source, target):
    """Copy a matrix row by row."""
    for i in range(target.shape[0]):
        copy(source[i], target[i])


@_function
def cholesky_step(A, g, n, ridge, least, step, L):
    """Solve (A + ridge I) step = g for the first n rows, of the lower triangle of A, by Cholesky's method.

    False, without a step, unless every pivot is finite, positive and more than `least` times its element of the diagonal.
    """
    for i in range(n):
        for j in range(i):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = s / L[j, j]
        s, pivot = g[i], A[i, i] + ridge
        least_pivot = least * abs(pivot)
        for k in range(i):
            pivot -= L[i, k] * L[i, k]
            s -= L[i, k] * step[k]
        if not (pivot > least_pivot and pivot < math.inf):
            return False
        L[i, i] = math.sqrt(pivot)
        step[i] = s / L[i, i]
    for i in range(n - 1, -1, -1):
        s = step[i]
        for k in range(i + 1, n):
            s -= L[k, i] * step[k]
        step[i] = s / L[i, i]
    return True


@_function
def in_units(g, H, units, slope, A):
    """Gradient, and Hessian with its sign changed, for parameters in these units: for logarithms the parameters themselves.

    The logarithm's own second derivative is not in the matrix yet: subtract `slope[i]` from `A[i, i]`.
    """
    for i in range(len(units)):
        slope[i] = units[i] * g[i]
        for j in range(i + 1):
            A[i, j] = -units[i] * units[j] * H[i, j]


@_function
def _given(data):
    return _flags


@_function
def _unit(logs, n, par, i):
    """What a coordinate of `climber` is measured in."""
    return par[i] if logs[i] else (max(par[n - 1], _spread) if i >= n - 2 else 1.0)


@_function
def _in_logarithms(data, n, par, g, H, slope, A):
    """`_in_coordinates` of `climber`."""
    logs = _logs(data)
    for i in range(n):
        unit = _unit(logs, n, par, i)
        slope[i] = unit * g[i]
        for j in range(i + 1):
            A[i, j] = -unit * _unit(logs, n, par, j) * H[i, j]
        if logs[i]:
            A[i, i] -= slope[i]


@_function
def _moved_by_logarithms(data, n, par, step, out):
    """`_moved` of `climber`: a logarithm changes by at most 2."""
    logs, longest = _logs(data), 0.0
    for i in range(n):
        if logs[i]:
            longest = max(longest, abs(step[i]))
            out[i] = par[i] * math.exp(min(step[i], 2.0))
        else:
            out[i] = par[i] + _unit(logs, n, par, i) * step[i]
    return longest <= 2.0


@_function
def _no_limit(data, par):
    return 0


@_function
def _least(data, mass):
    """Any curvature will do, unless `bind` says otherwise."""
    return -math.inf


def climber(derivatives, logs, limit=_no_limit, least=_least, spread=0.0):
    """`climb` bound to `_derivatives`; `logs`: for each parameter, whether it is positive; `spread`: of the data, if known.

    Where that is known at run time alone, `logs` is a function of the data that returns it.
    """
    flags = bind(_given, _flags=logs) if isinstance(logs, tuple) else logs
    unit = bind(_unit, _spread=spread)
    coordinates, moved = (bind(f, _logs=flags, _unit=unit) for f in (_in_logarithms, _moved_by_logarithms))
    return bind(climb, _derivatives=derivatives, _in_coordinates=coordinates, _moved=moved, _limit=limit, _least=least)


@_function
def hold(slope, A, n, i):
    """Take coordinate i out of a step."""
    slope[i] = 0.0
    for k in range(i):
        A[i, k] = 0.0
    for k in range(i + 1, n):
        A[k, i] = 0.0
    A[i, i] = 1.0


@_function
def climb(data, n, mass, damping, most, work):
    """Climb from row PAR of the work space to a maximum, by at most so many evaluations: status, value there, their number.

    Parameters stay as they are where row HELD is not NaN, and the others between rows LOW and HIGH. In the end the rows from
    HESSIAN on have the Hessian by the parameters at row PAR. The value is -inf where the start is outside of the domain.

    `damping`, in units of `mass`, is that of the first step. A step is taken if the function does not fall by more than rounding;
    else the damping grows. The climb ends when a step without much damping promises a gain below 1e-11, or below rounding;
    earlier, and not converged, on a ridge that is flatter than `_least`.
    """
    par, held, trial, step = work[PAR], work[HELD], work[_TRIAL], work[_STEP]
    slope, g, new_g, low, high = work[_SLOPE], work[_G], work[_NEW_G], work[LOW], work[HIGH]
    H, new_H = work[HESSIAN : HESSIAN + n], work[HESSIAN + n : HESSIAN + 2 * n]
    A, L = work[HESSIAN + 2 * n : HESSIAN + 3 * n], work[HESSIAN + 3 * n : HESSIAN + 4 * n]
    value, noise, gain, promised = -math.inf, 0.0, math.inf, math.inf
    status, passes, tries = NO_CONVERGENCE, 0, 0
    copy(par, trial)
    while passes < most and tries < _MOST_TRIES:
        new, new_noise = _derivatives(data, trial, new_g, new_H)
        passes += 1
        if new > -math.inf and new >= value - new_noise:
            if passes > 1:
                damping = 0.1 * damping if damping > 1e-11 else 0.0
            value, noise, tries = new, new_noise, 0
            copy(trial, par)
            copy(new_g, g)
            copy_matrix(new_H, H)
            beyond = _limit(data, par)
            if beyond != 0:
                status = beyond
                break
            _in_coordinates(data, n, par, g, H, slope, A)
            for i in range(n):
                at_end = (par[i] <= low[i] and slope[i] < 0.0) or (par[i] >= high[i] and slope[i] > 0.0)
                if at_end or held[i] == held[i]:
                    hold(slope, A, n, i)
        elif passes == 1:
            break
        else:
            tries += 1
            damping = max(4.0 * damping, 1e-4)
        if gain <= max(_FLAT, noise) and (tries > 0 or damping <= 1e-6):
            least = _least(data, mass)
            steep = least == -math.inf or cholesky_step(A, slope, n, -min(least, 0.5), 0.0, step, L)  # 1 is on held diagonals
            if not steep or gain <= max(1e-11, noise):
                status = OK if steep and promised <= max(1e-6, noise) else NO_CONVERGENCE  # else rounding stands in the way
                break
        found = False
        while not found and damping < 1e12:
            found = cholesky_step(A, slope, n, damping * mass, 0.0, step, L) and _moved(data, n, par, step, trial)
            if not found:
                damping = max(4.0 * damping, 1e-3)
        if not found:
            break
        gain = 0.0
        for i in range(n):
            gain += 0.5 * slope[i] * step[i]
            new = trial[i] if held[i] != held[i] else par[i]  # NaN stays, which `min` and `max` drop on a GPU
            trial[i] = (low[i] if new < low[i] else (high[i] if new > high[i] else new)) if held[i] != held[i] else new
        if tries == 0:
            promised = gain
    return status, value, passes
