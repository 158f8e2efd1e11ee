"""Compile every registered CUDA kernel to PTX with neither a GPU nor a driver, and judge the machine code.

Run with an interpreter that has numba-cuda[cu13] (and nvidia-cuda-nvcc for the spill check), simulator off:
``python tests/ptx_gate.py``. Prints one line per kernel variant and, last, a JSON summary; exit status 1 on any failure.

A float32 variant may hold no double-precision instruction unless its kernel is registered with ``f64_ok="reason"``.
Spills are allowed only up to SPILL_BUDGET bytes per kernel, quotients and square roots of less than full precision nowhere.
"""

from __future__ import annotations

import gc
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numba.cuda.dispatcher
from numba import cuda
from numba.cuda import codegen

sys.path.insert(0, str(Path(__file__).parents[1]))

ARCHITECTURES = ((9, 0), (8, 0))  # the first is judged; a thread has the same registers on both
# kernel name -> bytes of spill stores and loads that were looked at and accepted, as observed on sm_90
SPILL_BUDGET: dict[str, int] = {}


def find_ptxas():
    """Path of the ptxas that the package nvidia-cuda-nvcc brings, or None."""
    for entry in map(Path, sys.path):
        for found in entry.glob("nvidia/*/bin/ptxas"):
            return str(found)
    return None


def inspect(ptxas, ptx, cc):
    """Registers and spilled bytes of a PTX text."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        f.write(ptx)
        f.flush()
        done = subprocess.run(
            [ptxas, f"-arch=sm_{cc[0]}{cc[1]}", "-v", f.name, "-o", "/dev/null"], capture_output=True, text=True
        )
    report = done.stdout + done.stderr
    if done.returncode:
        raise RuntimeError(report)
    registers = max(map(int, re.findall(r"Used (\d+) registers", report)), default=0)
    spills = sum(map(int, re.findall(r"(\d+) bytes spill", report)))
    return registers, spills


def recorded_libraries():
    """List that receives the code library of every kernel that is compiled from now on."""
    recorded, compile_for = [], codegen.CUDACodeLibrary.get_asm_strs

    def get_asm_strs(self, cc=None):
        recorded.append(self)
        return compile_for(self, cc)

    codegen.CUDACodeLibrary.get_asm_strs = get_asm_strs
    return recorded


def main():
    """Compile and judge all kernels."""
    import numbastats
    from numbastats._core.kernel import REGISTRY

    for module in pkgutil.iter_modules(numbastats.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"numbastats.{module.name}")
    ptxas = find_ptxas()
    gc.disable()  # it walks the live objects of the compiler again and again
    libraries = recorded_libraries()
    numba.cuda.dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=ARCHITECTURES[0])
    failures, variants, doubles, most = [], 0, {}, ("", 0)
    for kernel in REGISTRY.values():
        for dtype, signature in kernel.numba_signatures():
            for cc in ARCHITECTURES:
                first = cc == ARCHITECTURES[0]
                label = f"{kernel.name} {dtype} sm_{cc[0]}{cc[1]}"
                try:
                    if first:
                        ptx, _ = cuda.compile_ptx(kernel.cuda.py_func, signature, cc=cc)
                    else:  # from the same LLVM code, without optimising: whether there are instructions for all of it
                        libraries[-1]._nvvm_options["opt"] = 0
                        (ptx,) = libraries[-1].get_asm_strs(cc=cc)
                except Exception as error:
                    failures.append(f"{label}: does not compile: {str(error).strip().splitlines()[-1]}")
                    break
                variants += 1
                f64 = ptx.count(".f64")
                if first and dtype == "float32" and f64:
                    if kernel.f64_ok:
                        doubles[kernel.name] = kernel.f64_ok
                    else:
                        failures.append(f"{label}: {f64} double-precision instructions in a float32 kernel")
                approximate = re.findall(r"(?:div|sqrt)\.(?:approx|full)\S*", ptx)
                if approximate:
                    failures.append(f"{label}: {len(approximate)} {approximate[0]}, where IEEE rounding is wanted")
                registers, spills = inspect(ptxas, ptx, cc) if ptxas and first else (0, 0)
                if registers > most[1]:
                    most = (label, registers)
                if spills > SPILL_BUDGET.get(kernel.name, 0):
                    failures.append(f"{label}: {spills} bytes spilled")
                print(f"{label:60s} {len(ptx):7d} bytes {f64:4d} .f64 {registers:4d} registers {spills:4d} spilled")
    summary = dict(
        variants=variants,
        kernels=len(REGISTRY),
        ptxas=bool(ptxas),
        double_in_float32=doubles,
        most_registers=most,
        failures=failures,
    )
    print(json.dumps(summary))
    return 1 if failures or not variants else 0


if __name__ == "__main__":
    sys.exit(main())
