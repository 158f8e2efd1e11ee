"""For the rooms until they import from the new places: the names that were here, now in `kernel`."""

from numbastats._core.kernel import *  # noqa: F403
from numbastats._core.kernel import HOST_LOOPS, PARTS, REGISTRY, TOPICS, USES  # noqa: F401
