"""The waits before the first result, each in a new process."""

from __future__ import annotations

import numbastats as ns


class Import:
    def timeraw_import(self):
        return "import numbastats"


class FirstCall:
    """The first call after the import; the compiled code comes from the disk cache, which setup fills."""

    def setup(self):
        ns.quantile.ndtri(0.3, workers=1)
        ns.random.normal(size=3, rng=1, workers=1)

    def timeraw_ndtri(self):
        return "numbastats.quantile.ndtri(0.3, workers=1)", "import numbastats"

    def timeraw_normal(self):
        return "numbastats.random.normal(size=3, rng=1, workers=1)", "import numbastats"
