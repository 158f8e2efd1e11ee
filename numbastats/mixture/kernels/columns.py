"""Columns and rows of the arrays that the kernels of mixtures share: statistics of a data set, options and state of a climb."""

from __future__ import annotations

# Columns of `info`, one row per data set.
CENTRE, MASS, SUM1, SUM2, FLOOR, SCALE, SHIFT, LOGS, SPREAD, DISTINCT, COUNT, PRIOR_D = range(12)
INFO = 12
# Options of a climb.
METHOD, TOL, MAX_PASSES, PRIOR_N, PRIOR_A, WARM_PASSES, SHAPE, UNIT, DECREMENT_TOL, NOISE = range(10)
OPTIONS = 10
NEWTON, SQUAREM, EM, BULKEM = range(4)  # methods
# State of a climb.
PHASE, PASSES, LEFT, OBJECTIVE, LOGLIK, RADIUS, TRIES, CLOSING = range(8)
STEP_MAX, DECREMENT, MIN_EIG, OLD, STATUS, ROUNDS, STEPS, HITMAX = range(8, 16)
STATE = 16
DONE, WARM, AT_NEWTON, SQ_A, SQ_B, SQ_C, AT_EM, FINAL = range(8)  # phases
OK, MAX_ITER, NOT_CERTIFIED, DEGENERATE = 0, 1, 2, 3  # statuses (the others are given by the host)
ANCHOR, CURRENT, TRIAL, SECOND = range(4)  # rows of the parameter store
GRADIENT, STEP, EIG, COMPLETE, TH0, TH1, TH2 = range(7)  # rows of the vector store
VECTOR_ROWS = 7
HESSIAN, WORK, VECTORS = range(3)  # rows of the matrix store

FLAT = 1e-8  # the smallest eigenvalue of the scaled -H that counts as positive: one minus the rate of EM
