"""`norm`, `t`, `truncnorm`, `norminvgauss`, `genhyperbolic`: SciPy's distributions of these names on our functions."""

from __future__ import annotations

from numbastats.distributions import NIG, GeneralizedHyperbolic, Normal, StudentT, TruncatedNormal
from numbastats.distributions.protocol import scipy_family

__all__ = ["genhyperbolic", "norm", "norminvgauss", "t", "truncnorm"]

norm = scipy_family(Normal)
t = scipy_family(StudentT)
truncnorm = scipy_family(TruncatedNormal)
norminvgauss = scipy_family(NIG)
genhyperbolic = scipy_family(GeneralizedHyperbolic)
