"""Kernels that users define, and the loops that are built for each of them; they are in no cache."""

from __future__ import annotations

import functools
import math
import secrets
import types
from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from numbastats._core.kernel import REGISTRY, Kernel, bind, device_function
from numbastats.kde.kernels.direct import DIRECT, direct_cpu, direct_of
from numbastats.kde.kernels.geometry import outer_factor
from numbastats.kde.kernels.paper import DIRECT_ATOMIC, atomic_of, direct_atomic_cpu
from numbastats.kde.kernels.points import EXHAUSTIVE, POINTS, cells_cpu, exhaustive_cpu, other_values_of, points_of
from numbastats.kde.kernels.profiles import values_of
from numbastats.kde.records import RECORDS, names_of
from numbastats.kde.smoothing import Smoothing, polynomial
from numbastats.scalar.kde import distance

__all__ = ["Loops", "define", "loops_of"]


@device_function
def _of_distance(q, decay):
    """A profile of the distance as one of q."""
    return _profile(distance(q, decay))


_profile = None


class _Defined(Smoothing):
    """What `define` makes."""

    number = -1

    def __init__(self, function, reach, name):
        # the name tells functions apart for the compiler; code of one process is no use to another
        own = types.FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
        own.__qualname__, own.__module__ = f"{name}_{secrets.token_hex(8)}", function.__module__
        self.name, self.reach, self._function = name, reach, function
        self.token, self._own = own.__qualname__, device_function(own)
        self.profile = bind(_of_distance, _profile=self._own)

    def __reduce__(self):
        return _Defined, (self._function, self.reach, self.name)

    @functools.cache  # noqa: B019  # a record lives as long as the loops that are compiled for it
    def integral(self, k, m):
        from scipy.integrate import quad

        return quad(lambda u: u**k * self._own(u) ** m, 0.0, self.reach, epsabs=0.0, epsrel=1e-12, limit=1000)[0]

    def _unknown(self, what):
        return ValueError(f"{super()._unknown(what)}; use one of {names_of()}")


def define(profile: Callable[[float], float], *, reach: float = 1.0, name: str | None = None) -> Smoothing:
    """A smoothing kernel of your own, to be passed as `kernel=`.

    Parameters
    ----------
    profile : callable
        K(u) >= 0 for one number u in [0, reach], the distance in units of H^(1/2); any positive multiple of it will do. Plain
        Python or Numba code, which is compiled.
    reach : float
        Distance from which on the kernel is 0.
    name : str, optional
        By default the function's.

    Returns
    -------
    Smoothing
        For `numbastats.kde.grid` by direct sums, `points`, `KDE` and the bandwidth rules. The support is where
        ``(x - x_i)' H^-1 (x - x_i) < reach^2``.

    Raises
    ------
    TypeError
        For what is no function of one number.
    ValueError
        For a reach that is not positive, and for a profile that is negative, not finite, or 0 everywhere.

    Notes
    -----
    Norm, variance and roughness come from adaptive quadrature of the profile to about 1e-12, in any number of dimensions. The
    kernel has no distribution function, no draws, and no derivative. The first call compiles for some seconds, in every process
    anew.

    Examples
    --------
    >>> import numbastats as ns
    >>> def cubic(u):
    ...     return (1.0 - u) ** 3
    >>> own = ns.kde.define(cubic)
    >>> x = ns.random.normal(size=500, rng=1)
    >>> f = ns.kde.grid(x, (-6, 6, 121), kernel=own)
    >>> round(float(f.sum() * 0.1), 3)
    1.0
    """
    function = getattr(profile, "py_func", profile)
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"profile={profile!r} is no Python function; pass one of a number, such as def f(u): return 1.0 - u")
    if not (np.ndim(reach) == 0 and 0 < float(reach) < math.inf):
        raise ValueError(f"reach={reach!r}; the distance at which the kernel ends must be positive and finite")
    made = _Defined(function, float(reach), name or function.__name__.strip("<>"))
    values = [float(made._own(float(u))) for u in np.linspace(0.0, made.reach, 257)[:-1]]
    if not (np.isfinite(values).all() and min(values) >= 0.0 and max(values) > 0.0):
        raise ValueError(f"the profile of {made.name!r} must be finite and >= 0 on [0, {reach}), and not 0 everywhere")
    return made


# --- loops -------------------------------------------------------------------------------------------------------------------


class Loops(NamedTuple):
    """What sums a kernel directly."""

    direct: Kernel
    atomic: Kernel
    points: Kernel
    exhaustive: Kernel


OURS = Loops(DIRECT, DIRECT_ATOMIC, POINTS["other"], EXHAUSTIVE["other"])
RADIAL_POWERS = OURS._replace(points=POINTS["power"], exhaustive=EXHAUSTIVE["power"])
_made: WeakKeyDictionary = WeakKeyDictionary()


def _uncached(template):
    """The template from no file, so that its code is not kept on the disk: what a user's function calls is not known."""
    f = types.FunctionType(template.__code__.replace(co_filename="<defined>"), template.__globals__, template.__name__)
    f.__module__, f.__qualname__ = template.__module__, template.__qualname__
    return f


def loops_of(record, product):
    """The loops for a kernel, radial or a product."""
    if record.power is not None and record is polynomial(record.power):
        return OURS if product else RADIAL_POWERS
    if record in RECORDS:
        return OURS
    if record not in _made:
        value = values_of([record])
        factor = outer_factor(value)
        direct = direct_of([record], value, factor, f"kde.direct {record.token}", _uncached(direct_cpu))
        atomic = atomic_of(value, factor, f"kde.direct_atomic {record.token}", _uncached(direct_atomic_cpu))
        values = other_values_of([record], value)
        points, exhaustive = points_of(record.token, values, _uncached(cells_cpu), _uncached(exhaustive_cpu))
        _made[record] = Loops(direct, atomic, points, exhaustive)
        for loop in _made[record]:
            del REGISTRY[loop.name]  # which is the package's own
    return _made[record]
