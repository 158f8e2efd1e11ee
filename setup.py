"""Kernel packs in the wheel where NUMBASTATS_BUILD_PACKS asks for them; without it the wheel is of Python alone.

    NUMBASTATS_BUILD_PACKS=x86-64-v4-512,x86-64-v3 pip wheel --no-deps .

compiles every kernel for each of these levels of processors, 26 minutes of a core each, and makes a wheel for this version
of Python and this platform. `NUMBASTATS_BUILD_PACKS=1` takes the level of the processor that builds. A pack serves only with the
versions of Numba and llvmlite that made it: pin them by a constraints file where they should not be the newest.
"""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

LEVELS = os.environ.get("NUMBASTATS_BUILD_PACKS", "0")
ON = LEVELS not in ("", "0")


class BuildWithPacks(build_py):
    """The package, and the packs beside it."""

    def run(self):
        """Copy the sources, then let the copy compile itself."""
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib).resolve()
        for left in (built / "numbastats" / "_packs").glob("*.pack"):  # of an earlier build in this folder
            left.unlink()
        if not ON:
            return
        levels = [] if LEVELS == "1" else [f"--level={level}" for level in LEVELS.split(",")]
        command = [sys.executable, "-m", "numbastats", "pack", "--folder", str(built / "numbastats" / "_packs"), *levels]
        paths = os.pathsep.join([str(built), *filter(None, sys.path)])  # pip has Numba in an environment for this build alone
        subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, cwd=built, check=True)


class WheelOfOnePlatform(bdist_wheel):
    """Packs hold machine code for one system and one version of Python."""

    def finalize_options(self):
        """Say so in the wheel's name."""
        super().finalize_options()
        self.root_is_pure = self.root_is_pure and not ON


setup(
    cmdclass={"build_py": BuildWithPacks, "bdist_wheel": WheelOfOnePlatform},
    setup_requires=["numba>=0.63", "numpy>=2.0", "scipy>=1.13"] if ON else [],  # pip installs them into the building environment
)
