"""Compile every registered CUDA kernel to PTX with neither a GPU nor a driver, and judge the machine code.

    python tests/ptx_gate.py [--write] [--all] [NAME ...]

Run with an interpreter that has numba-cuda[cu13] (and nvidia-cuda-nvcc for machine code), simulator off. Prints one line per
kernel variant and, last, a JSON summary; exit status 1 on any failure. With names only the kernels that match are compiled, and
without names those that are ``gated``; their float32 instances not where they compute in double precision, as those for float64.
Code with more than arithmetic is also translated for the second architecture.

A float32 variant may hold no double-precision instruction unless its kernel is registered with ``f64_ok="reason"``.
Spills are allowed only up to SPILL_BUDGET bytes per kernel, stack frames only to kernels in FRAMES, quotients and square roots
of less than full precision nowhere.
asv_benchmarks/SASS.md has what ptxas made of each kernel, and a hash of its sources, the compilers and this script: kernels that
the table has of the same hash are compiled with ``--all`` only. A figure that is worse by more than a tenth fails until the
table is renewed: ``--write`` does it, for kernels that were compiled without a failure; the commit says why.
"""

from __future__ import annotations

import argparse
import fnmatch
import gc
import hashlib
import importlib
import importlib.metadata
import json
import pkgutil
import re
import struct
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
SPECIAL = r"\.b?f16|atom|\bred\.|shfl|vote|match|cp\.|mma|tex|surf"  # instructions that not every architecture has alike
# kernel name -> bytes of spill stores and loads that were looked at and accepted, as observed on sm_90
SPILL_BUDGET = {"mixture.pass_4": 144}  # whose 73 sums take 146 of 255 registers
# kernels that may have a stack frame, as patterns, and why: memory of so many bytes for each thread that a GPU can hold
FRAMES = {
    "bayes.scales_regularised": "the reduction of an angle, of the compiler's library",
    "distributions.fit_*": "derivatives and matrices of up to six parameters, of a thread for each series",
    "kde.*_other": "two buffers of 64 pairs",
    "kde.*_power": "two buffers of 64 pairs",
    "mixture.*_any": "sums for any number of components",
    "mixture.pass_4": "what is spilled",
    "mixture.starts": "cuts and centres for any number of components",
    "stable.*": "the reduction of an angle, of the compiler's library",
}
TABLE = Path(__file__).parents[1] / "asv_benchmarks" / "SASS.md"
COLUMNS = ("registers", "stack frame", "spilled", "shared", "f64", "instructions")
WORSE, WORSE_ELSEWHERE = 1.1, 1.25  # by the ptxas of the table, and by another
# the lowest nine bits of an instruction, from sm_70 on: DMUL, DADD, DSETP, DFMA; and what fills the end of a function
F64, NOP = {0x28, 0x29, 0x2A, 0x2B}, 0x118


def find_ptxas():
    """Path of the ptxas that the package nvidia-cuda-nvcc brings, or None."""
    for entry in map(Path, sys.path):
        for found in entry.glob("nvidia/*/bin/ptxas"):
            return str(found)
    return None


def inspect(ptxas, ptx, cc):
    """What ptxas makes of a PTX text: a number for each of `COLUMNS`."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        command = [ptxas, f"-arch=sm_{cc[0]}{cc[1]}", "-v", source, "-o", binary]
        done = subprocess.run(command, capture_output=True, text=True)
        report = done.stdout + done.stderr
        if done.returncode:
            raise RuntimeError(report)
        found = list(instructions(binary.read_bytes()))

    def most(pattern):
        return max(map(int, re.findall(pattern, report)), default=0)

    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", report)))
    sizes = most(r"Used (\d+) registers"), most(r"(\d+) bytes stack frame"), spilled, most(r"(\d+) bytes smem")
    return dict(zip(COLUMNS, (*sizes, sum(op in F64 for op in found), sum(op != NOP for op in found)), strict=True))


def instructions(binary):
    """The lowest nine bits of each instruction, of 16 bytes, in the functions of a cubin."""
    sections, size, count, names = *struct.unpack_from("<Q", binary, 40), *struct.unpack_from("<3H", binary, 58)
    headers = [struct.unpack_from("<IIQQQQ", binary, sections + i * size) for i in range(count)]
    for name, _, _, _, start, length in headers:
        at = headers[names][4] + name
        if binary[at:].startswith(b".text."):
            yield from (word & 0x1FF for word in struct.unpack_from(f"<{length // 8}Q", binary, start)[::2])


def warps(registers):
    """Warps that a multiprocessor of 64K registers holds at once, of 64 at most: its four parts give them by 256."""
    return min(64, 4 * (16384 // (-(-max(registers, 1) * 32 // 256) * 256)))


def read_table():
    """{(kernel, type): figures} of SASS.md, and the ptxas that made it."""
    if not TABLE.exists():
        return {}, None
    text = TABLE.read_text(encoding="utf-8")
    rows = {}
    for line in re.findall(r"^\| (\S+\.\S+ .*) \|$", text, re.M):
        name, dtype, registers, _warps, *others, made_of = line.split(" | ")
        rows[name, dtype] = dict(zip(COLUMNS, map(int, (registers, *others)), strict=True)) | {"made of": made_of}
    return rows, re.search(r"ptxas (\S+)", text)[1]


def made_of(kernel, version):
    """Hash of the files that a kernel's code depends on, of the compilers' versions and of this script."""
    from numbastats._core.sources import TREE

    files = [Path(__file__), *(Path(TREE.stamps[module][0]) for module in sorted(kernel.closure()))]
    compilers = [importlib.metadata.version("numba"), importlib.metadata.version("numba-cuda"), str(version)]
    return hashlib.sha256(b"".join([*map(str.encode, compilers), *(f.read_bytes() for f in files)])).hexdigest()[:12]


def write_table(rows, version):
    """SASS.md of these figures."""
    lines = [
        "# Machine code of the CUDA kernels",
        "",
        f"Written by `python tests/ptx_gate.py --write`: what numba-cuda and ptxas {version} make of every kernel for",
        "sm_90, without a GPU. Of several argument types of a kernel the largest figures. Bytes of the stack frame, spills",
        "and shared memory; warps of a multiprocessor, of 64, that the registers allow; double-precision and all instructions",
        "of the machine code, each counted once, however often a loop runs; a hash of the sources and compilers.",
        "",
        "| kernel | type | registers | warps | stack frame | spilled | shared | f64 | instructions | made of |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, dtype), row in sorted(rows.items()):
        registers, *others = (row[c] for c in (*COLUMNS, "made of"))
        lines.append("| " + " | ".join(map(str, (name, dtype, registers, warps(registers), *others))) + " |")
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compared(found, version):
    """What is worse than in the table."""
    table, made_by = read_table()
    factor = WORSE if version == made_by else WORSE_ELSEWHERE
    worse = []
    for key, row in found.items():
        if key not in table:
            worse.append(f"{' '.join(key)} is not in SASS.md: python tests/ptx_gate.py --write {key[0]}")
            continue
        for column in COLUMNS:
            if (value := row[column]) > factor * table[key][column]:
                worse.append(
                    f"{' '.join(key)}: {column} {table[key][column]} -> {value}; if that must be, --write renews SASS.md"
                )
    return worse


def recorded_libraries():
    """List that receives the code library of every kernel that is compiled from now on."""
    recorded, compile_for = [], codegen.CUDACodeLibrary.get_asm_strs

    def get_asm_strs(self, cc=None):
        recorded.append(self)
        return compile_for(self, cc)

    codegen.CUDACodeLibrary.get_asm_strs = get_asm_strs
    return recorded


def main():
    """Compile and judge all kernels, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="renew asv_benchmarks/SASS.md")
    parser.add_argument("--all", action="store_true", help="also kernels that the table has of the same sources")
    parser.add_argument("names", nargs="*", default=["*"], help="kernels, as patterns")
    given = parser.parse_args()
    import numbastats
    from numbastats._core.kernel import REGISTRY

    for module in pkgutil.iter_modules(numbastats.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"numbastats.{module.name}")
    ptxas, version = find_ptxas(), None
    if ptxas:
        version = re.search(r"V([\d.]+)", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout)[1]
    named = given.names != ["*"]  # without names those kernels whose loops and formulas no other one includes
    chosen = [k for k in REGISTRY.values() if (named or k.gated) and any(fnmatch.fnmatch(k.name, n) for n in given.names)]
    table, states = read_table()[0], {k.name: made_of(k, version) for k in chosen}
    known = {k.name: {row["made of"] for (name, _), row in table.items() if name == k.name} for k in chosen}
    unchanged = [k for k in chosen if not (named or given.all) and known[k.name] == {states[k.name]}]
    chosen = [k for k in chosen if k not in unchanged]
    gc.disable()  # it walks the live objects of the compiler again and again
    libraries = recorded_libraries()
    numba.cuda.dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=ARCHITECTURES[0])
    failures, variants, doubles, found = [], 0, {}, {}
    for kernel in chosen:
        done = set()  # float types: of each, the first signature alone is tried on the other architectures
        for dtype, signature in kernel.numba_signatures():
            if dtype == "float32" and kernel.f64_ok and "float64" in kernel.dtypes and not named:
                doubles[kernel.name] = kernel.f64_ok  # computed in double precision, as the instance for float64
                continue
            architectures = ARCHITECTURES[:1] if dtype in done else ARCHITECTURES
            done.add(dtype)
            for cc in architectures:
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
                text = f"{label:60s} {len(ptx):7d} bytes {f64:4d} .f64"
                if ptxas and first:
                    row, largest = inspect(ptxas, ptx, cc), found.setdefault((kernel.name, dtype), dict.fromkeys(COLUMNS, 0))
                    largest |= {c: max(v, largest[c]) for c, v in row.items()} | {"made of": states[kernel.name]}
                    if row["stack frame"] and not any(fnmatch.fnmatch(kernel.name, pattern) for pattern in FRAMES):
                        failures.append(f"{label}: a stack frame of {row['stack frame']} bytes, for which FRAMES has no reason")
                    if row["spilled"] > SPILL_BUDGET.get(kernel.name, 0):
                        failures.append(f"{label}: {row['spilled']} bytes spilled")
                    text += "".join(f" {v:5d} {c}" for c, v in row.items())
                print(text, flush=True)
                if not re.search(SPECIAL, ptx):
                    break
    if given.write and found:
        there = {k.name for k in REGISTRY.values()}
        good = {key: row for key, row in found.items() if not any(f.startswith(f"{key[0]} ") for f in failures)}
        write_table({key: row for key, row in table.items() if key[0] in there} | good, version)
    elif found:
        failures += compared(found, version)
    counts = dict(variants=variants, kernels=len(chosen), unchanged=len(unchanged))
    print(json.dumps(counts | dict(ptxas=bool(ptxas), double_in_float32=doubles, failures=failures)))
    return 1 if failures or not (variants or unchanged) else 0


if __name__ == "__main__":
    sys.exit(main())
