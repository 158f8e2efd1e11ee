"""Bridges to other libraries; each is imported on first use.

`norm`, `t`, `truncnorm`, `norminvgauss` and `genhyperbolic` are instances of `scipy.stats.rv_continuous` with the parameters and
methods of SciPy's distributions of these names, on the functions of `numbastats.distributions`; importing them imports
`scipy.stats`. Their `fit` is `numbastats.distributions.fit` in SciPy's parameters (of `truncnorm` SciPy's own). Arrays of dask
are refused by all but `levy_stable`. `GaussianMixture` has the arguments and attributes of scikit-learn's.

>>> from numbastats.interop import norminvgauss, t
>>> float(t.sf(50.0, 4.0).round(12)), float(norminvgauss.ppf(0.99, 1.5, 0.3).round(6))
(4.78723e-07, 2.630917)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numbastats

if TYPE_CHECKING:
    from numbastats.interop.scipy_distributions import genhyperbolic, norm, norminvgauss, t, truncnorm
    from numbastats.interop.scipy_kde import gaussian_kde
    from numbastats.interop.scipy_stable import levy_stable
    from numbastats.interop.scipy_tables import to_scipy
    from numbastats.interop.sklearn_mixture import GaussianMixture

_LAZY = {"gaussian_kde": "scipy_kde", "levy_stable": "scipy_stable", "to_scipy": "scipy_tables"}
_LAZY |= {"GaussianMixture": "sklearn_mixture"}
_LAZY |= dict.fromkeys(("genhyperbolic", "norm", "norminvgauss", "t", "truncnorm"), "scipy_distributions")

__all__ = [
    "GaussianMixture",
    "gaussian_kde",
    "genhyperbolic",
    "levy_stable",
    "norm",
    "norminvgauss",
    "t",
    "to_scipy",
    "truncnorm",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _LAZY:
            with numbastats._importing():
                return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
        raise AttributeError(f"module 'numbastats.interop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
