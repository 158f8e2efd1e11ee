"""How a fit ended, in bare numbers: kernels take them from here, so that an edit of a word in `Status` compiles nothing anew."""

__all__ = [
    "BOUND",
    "COLLAPSED",
    "CONSTANT",
    "INADMISSIBLE",
    "LIMIT",
    "NONE_LEFT",
    "NOT_CERTIFIED",
    "NOT_FINITE",
    "NO_CONVERGENCE",
    "OK",
    "OUTSIDE",
    "POLE",
    "STOPPED",
    "TOO_FEW",
]

OK, NO_CONVERGENCE, LIMIT, BOUND, TOO_FEW, CONSTANT, OUTSIDE, NONE_LEFT, NOT_FINITE = range(9)
STOPPED, POLE, NOT_CERTIFIED, COLLAPSED, INADMISSIBLE = range(9, 14)
