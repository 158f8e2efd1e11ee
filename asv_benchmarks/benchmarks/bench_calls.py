"""Time outside of the kernels of a call, and its Python calls: see call_costs.py."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

_SCRIPT = Path(__file__).parents[1] / "call_costs.py"
_SPEC = importlib.util.spec_from_file_location("call_costs", _SCRIPT)
_COSTS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_COSTS)


def _found(word, call):
    """The first number of the line that the script prints, in a process whose profilers see compiled functions."""
    done = subprocess.run([sys.executable, _SCRIPT, word, call], capture_output=True, text=True, check=True)
    return float(re.search(rf"^{word} +{re.escape(call)} +([0-9.]+)", done.stdout, re.M)[1])


class PythonCalls:
    """Python calls inside the package of a warm call on few values."""

    params = list(_COSTS.FEW)
    param_names = ["call"]
    timeout = 300

    def track_python_calls(self, call):
        return _COSTS.python_calls(call)

    track_python_calls.unit = "calls"


class Shares:
    """Share of a call on many values with one thread that is outside of compiled loops, without LAPACK, in per cent."""

    params = list(_COSTS.MANY)
    param_names = ["call"]
    timeout = 600

    def track_share(self, call):
        return _found("share", call)

    track_share.unit = "%"
