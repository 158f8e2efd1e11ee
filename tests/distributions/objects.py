"""Distribution objects, one or two of each class: what is true of all distributions is tested with these."""

from __future__ import annotations

from tests.cases import discover

__all__ = ["CASES", "COUNTS", "OBJECTS", "case_of", "exact_of", "has_kernels", "is_transformed"]

CASES = discover("tests.distributions.cases")
OBJECTS = [d for case in CASES.values() if case.counts is None for d in case.objects]
COUNTS = [d for case in CASES.values() if case.counts for d in case.objects]  # whose tests are in test_counts


def case_of(d):
    """The case of the class of a distribution."""
    return CASES[d.family]


def exact_of(d):
    """Its formulas in mpmath."""
    return case_of(d).exact


def has_kernels(d):
    """Whether all its functions of x are kernels."""
    return d._kernels is not None and d._kernels.with_tails


def is_transformed(d):
    """Whether its functions are those of another family, whose kernels are tested in all their versions."""
    return d._kernels is not None and hasattr(d._kernels.formulas, "transformed")
