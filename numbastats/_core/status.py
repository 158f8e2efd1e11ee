"""How a fit ended: one list of numbers for all sub-packages."""

from __future__ import annotations

import enum

import numpy as np

from numbastats._core import endings

__all__ = ["CONVERGED", "FITTED", "REFUSED", "Status", "among"]


class Status(enum.IntEnum):
    """How a fit ended: the numbers that `status` has in all fits of distributions and mixtures.

    A status is an integer: ``fit.status == Status.OK`` and ``fit.status == 0`` ask the same. The order of the numbers means
    nothing. Numbers 9 and 11 to 13 come from mixtures alone, 2, 3, 5 and 10 from distributions.

    Attributes
    ----------
    meaning : str
        The status in words. The `message` of a fit may say more.

    Examples
    --------
    >>> import numbastats as ns
    >>> found = ns.mixture.fit([1.0, 2.0], 2, family="normal", errors="status")
    >>> ns.Status(found.status)
    <Status.TOO_FEW: 4>
    >>> for status in ns.Status:
    ...     print(f"{status:2} {status.name:15} {status.meaning[:48]}")
     0 OK              converged
     1 NO_CONVERGENCE  no convergence: the likelihood still rises, or i
     2 LIMIT           the likelihood rises to a limit of the family, a
     3 BOUND           the likelihood rises to the boundary of the para
     4 TOO_FEW         too few values for the parameters, or too few di
     5 CONSTANT        all values are equal
     6 OUTSIDE         values outside the support or the truncation: fa
     7 NONE_LEFT       all values are missing, or of weight 0
     8 NOT_FINITE      infinite values or invalid weights, or values wh
     9 STOPPED         stopped by the callback
    10 POLE            the likelihood is unbounded at a data point, and
    11 NOT_CERTIFIED   stationary, but not a certified maximum: a redun
    12 COLLAPSED       every start collapsed onto too few values; try f
    13 INADMISSIBLE    a certified local maximum exists, but it has a c
    """

    meaning: str

    def __new__(cls, number: int, meaning: str = "") -> Status:
        self = int.__new__(cls, number)
        self._value_, self.meaning = number, meaning
        return self

    OK = endings.OK, "converged"
    NO_CONVERGENCE = endings.NO_CONVERGENCE, "no convergence: the likelihood still rises, or is too flat to tell"
    LIMIT = (
        endings.LIMIT,
        "the likelihood rises to a limit of the family, a distribution at the end of its parameters, which is the fit",
    )
    BOUND = (
        endings.BOUND,
        "the likelihood rises to the boundary of the parameters (a pole at repeated or constant values, or a limit of the "
        "family): there is no maximum inside",
    )
    TOO_FEW = endings.TOO_FEW, "too few values for the parameters, or too few distinct ones for the components"
    CONSTANT = endings.CONSTANT, "all values are equal"
    OUTSIDE = (
        endings.OUTSIDE,
        "values outside the support or the truncation: families of positive values need values > 0 (beta: between 0 and 1); "
        'zeros="share" sets zeros apart; counts are whole numbers',
    )
    NONE_LEFT = endings.NONE_LEFT, "all values are missing, or of weight 0"
    NOT_FINITE = (
        endings.NOT_FINITE,
        "infinite values or invalid weights, or values whose squares are no doubles (for most families beyond 1e150 or all "
        "within 1e-150): divide them by a unit",
    )
    STOPPED = endings.STOPPED, "stopped by the callback"
    POLE = (endings.POLE, "the likelihood is unbounded at a data point, and no local maximum was found: there are no parameters")
    NOT_CERTIFIED = (
        endings.NOT_CERTIFIED,
        "stationary, but not a certified maximum: a redundant component or a saddle, for which fewer components will do, or "
        "components so far apart in scale that double precision does not resolve them",
    )
    COLLAPSED = endings.COLLAPSED, "every start collapsed onto too few values; try fewer components, more starts or a prior"
    INADMISSIBLE = (
        endings.INADMISSIBLE,
        "a certified local maximum exists, but it has a component narrower than min_sd_ratio or smaller than min_count",
    )


CONVERGED = (Status.OK, Status.LIMIT, Status.INADMISSIBLE)  # at a maximum of the likelihood, or the limit of one
FITTED = (*CONVERGED, Status.NO_CONVERGENCE, Status.BOUND, Status.NOT_CERTIFIED)  # there are parameters
REFUSED = (Status.TOO_FEW, Status.CONSTANT, Status.OUTSIDE, Status.NONE_LEFT, Status.NOT_FINITE)  # the data cannot be fitted


def among(*those: Status) -> np.ndarray:
    """A table that says of a number, which is the index, whether the status is one of those."""
    return np.isin(np.arange(len(Status)), those)
