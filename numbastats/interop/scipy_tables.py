"""`to_scipy`: a quantile table with the method signatures of a frozen distribution of `scipy.stats`. Needs no SciPy."""

from __future__ import annotations

import numpy as np

from numbastats._core.kinds import in_kind_of, to_host

__all__ = ["to_scipy"]


class _Frozen:
    """Quantiles and draws of a table under SciPy's names."""

    def __init__(self, table):
        self.table = table

    def __repr__(self):
        return f"to_scipy({self.table!r})"

    def __getattr__(self, name):  # where the table's distribution has them
        if name in ("pdf", "logpdf", "cdf", "sf", "mean", "var", "std") and hasattr(self.table, name):
            return getattr(self.table, name)
        if name in ("logcdf", "logsf") and hasattr(self.table, name[3:]):
            tail, rest = (self.table.cdf, self.table.sf) if name == "logcdf" else (self.table.sf, self.table.cdf)
            return lambda x: _log(tail(x), rest(x))
        raise AttributeError(
            f"a quantile table has no {name!r}; it has ppf, isf, rvs, support, median, interval, expect and its density, a "
            "distribution with fixed parameters also logpdf, cdf, sf, logcdf, logsf, mean, var, std and stats"
        )

    def ppf(self, q):
        """Quantile at the lower tail probability q."""
        return self.table.ppf(q)

    def isf(self, q):
        """Quantile at the upper tail probability q."""
        return self.table.isf(q)

    def support(self):
        """Ends of the support."""
        return self.table.ppf(0.0), self.table.ppf(1.0)

    def median(self):
        """Median."""
        return self.table.ppf(0.5)

    def interval(self, confidence):
        """Ends of the central interval of that probability."""
        tail = 0.5 * (1.0 - np.asarray(confidence, float))
        return self.table.ppf(tail), self.table.isf(tail)

    def expect(self, func=None, lb=None, ub=None, conditional=False, **kwds):
        """Integral of ``func(x) pdf(x)``, or of x, from `lb` to `ub` by `scipy.integrate.quad`, which takes the other keywords.

        ``conditional=True`` divides by the probability of the interval, which takes a distribution with `cdf`.
        """
        from numbastats.interop.scipy_stable import expectation

        return expectation(self, func, lb, ub, conditional, kwds)

    def stats(self, moments="mv"):
        """Mean and variance, as asked for."""
        if set(moments) - set("mv"):
            raise ValueError(f"moments={moments!r} must be of 'm' (mean) and 'v' (variance)")
        found = tuple({"m": self.mean, "v": self.var}[m]() for m in moments)
        return found if len(found) > 1 else found[0]

    def rvs(self, size=None, random_state=None):
        """Draws; `random_state` is what `rng` is elsewhere in this library."""
        return self.table.rvs(size, rng=random_state)


def _log(p, rest):
    """Logarithm of p, by way of rest = 1 - p where that is smaller."""
    a, b = (np.asarray(to_host(v, "x")) for v in (p, rest))
    with np.errstate(divide="ignore"):
        return in_kind_of(np.where(a < 0.5, np.log(a), np.log1p(-b))[()], p)


def to_scipy(table):
    """A quantile table behind the method signatures of a frozen `scipy.stats` distribution.

    Parameters
    ----------
    table : numbastats.quantile.QuantileTable
        Also a distribution with its parameters fixed, such as ``student_t(4.0)``.

    Returns
    -------
    object
        With ``ppf(q) isf(q) rvs(size=None, random_state=None) support() median() interval(confidence) expect(func)``, and ``pdf
        logpdf cdf sf logcdf logsf mean var std stats(moments="mv")`` where the table has them.

    Raises
    ------
    TypeError
        For anything else.

    Examples
    --------
    >>> import numbastats as ns
    >>> from numbastats.interop import to_scipy
    >>> distribution = to_scipy(ns.distributions.hyperbolic(1.5, 0.0, 1.0))
    >>> low, high = distribution.interval(0.9)
    >>> bool(abs(low + high) < 1e-14), distribution.rvs(size=3, random_state=1).shape
    (True, (3,))
    """
    if not (hasattr(table, "ppf") and hasattr(table, "isf") and hasattr(table, "rvs")):
        raise TypeError(f"to_scipy takes a quantile table (numbastats.quantile.QuantileTable), got a {type(table).__name__}")
    return _Frozen(table)
