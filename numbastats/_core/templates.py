"""For the rooms until they import from the new place: the loops that were here, now in `numbastats.scalar.loops`."""

from numbastats._core.launch import pairwise_sum as combine  # noqa: F401
from numbastats.scalar.loops import *  # noqa: F403
