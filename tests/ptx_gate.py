"""Compile CUDA kernels to PTX with neither a GPU nor a driver, and judge the machine code.

    python tests/ptx_gate.py [--write] [--all] [NAME ...]

Run with an interpreter that has numba-cuda[cu13] (and nvidia-cuda-nvcc for machine code), simulator off. Prints one line per
variant that was compiled and, last, a JSON summary; exit status 1 on any failure.

Kernels are many formulas in few loops. What is compiled is found by `chosen`: so few of the registered kernels that every class
of them (a loop, the kinds of what is bound to it, the argument types) is among these, and every function that any of them calls,
in each float type in which it is offered. A new family of distributions needs no entry anywhere. ``--all`` compiles all kernels,
for numbers and rows in the place of each other, too, and names, which are patterns, those that match. Float32 instances are left
out where they compute in double precision, as those for float64 do. Code with more than arithmetic is also translated for the
second architecture.

A float32 variant may hold no double-precision instruction unless its kernel is registered with ``f64_ok="reason"``.
Spills are allowed only up to SPILL_BUDGET bytes per kernel, stack frames only to kernels in FRAMES, quotients and square roots
of less than full precision nowhere.

asv_benchmarks/SASS.md has what ptxas made of the kernels that `in_table` names. A figure that is worse by more than a tenth fails
until the table is renewed: ``--write`` does it, for kernels that were compiled without a failure; the commit says why.

What has passed is kept in ptx_gate.json, in the folder that NUMBA_CACHE_DIR names, each with a hash of its sources, of the
compilers, of its rows in the table and of this script, and is not compiled again.
"""

from __future__ import annotations

import argparse
import ast
import collections
import dataclasses
import dis
import fnmatch
import functools
import gc
import hashlib
import importlib
import importlib.metadata
import json
import os
import pkgutil
import re
import struct
import subprocess
import sys
import tempfile
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

ARCHITECTURES = ((9, 0), (8, 0))  # the first is judged; a thread has the same registers on both
SPECIAL = r"\.b?f16|atom|\bred\.|shfl|vote|match|cp\.|\bw?mma\.|tex|surf"  # instructions that not every architecture has alike
# kernel name -> bytes of spill stores and loads that were looked at and accepted, as observed on sm_90
SPILL_BUDGET = {
    "distributions.skew_t_score": 2268,  # six tails of Student's t, with constants for five degrees of freedom at once
    "distributions.skew_t_score_of_arrays": 2268,
    "mixture.multivariate.em": 512,  # of the arrays of a block's work space each has an address, sizes and strides
    "mixture.multivariate.insertion": 80,
    "mixture.multivariate.newton": 5532,  # the pass, Newton's step and the certificate in one
    "mixture.pass_4": 144,  # whose 73 sums take 146 of 255 registers
}
# kernels that may have a stack frame, as patterns, and why: memory of so many bytes for each thread that a GPU can hold
FRAMES = {
    "bayes.scales_regularised": "the reduction of an angle, of the compiler's library",
    "bayes.rotation": "the reduction of an angle, of the compiler's library",
    "distributions.finish": "covariances of up to five parameters, of a thread for each series",
    "distributions.*fit*": "derivatives and matrices of up to six parameters, of a thread for each series",
    "distributions.skew_t_score*": "what is spilled",
    "kde.*_other": "two buffers of 64 pairs",
    "kde.*_power": "two buffers of 64 pairs",
    "mixture.*_any": "sums for any number of components",
    "mixture.choose*": "coefficients of any number of components, of a thread for each data set",
    "mixture.entropy*": "a term for each of any number of components",
    "mixture.multivariate.*": "what is spilled",
    "mixture.pass_4": "what is spilled",
    "mixture.starts": "cuts and centres for any number of components",
    "stable.*": "the reduction of an angle, of the compiler's library",
}
BENCHMARKS = Path(__file__).parents[1] / "asv_benchmarks"
TABLE = BENCHMARKS / "SASS.md"
COLUMNS = ("registers", "stack frame", "spilled", "shared", "f64", "instructions")
WORSE, WORSE_ELSEWHERE = 1.1, 1.25  # by the ptxas of the table, and by another
# the lowest nine bits of an instruction, from sm_70 on: DMUL, DADD, DSETP, DFMA; and what fills the end of a function
F64, NOP = {0x28, 0x29, 0x2A, 0x2B}, 0x118


# --- what is compiled --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Unit:
    """What can be compiled by itself: a kernel, or a function that the fit of a family calls by its address on the CPU."""

    name: str
    kernel: object
    signatures: list  # pairs of a float type and argument types
    kind: tuple  # the class of a kernel
    functions: dict  # the size of the byte code of each function in it, by its place in the sources
    python: object = None  # the function, where it is no kernel

    @functools.cached_property
    def parts(self):
        """What must be compiled somewhere: the class, and each function in each float type, with and without leave for double."""
        types_of = {(dtype, dtype == "float32" and bool(self.kernel.f64_ok)) for dtype, _ in self.signatures}
        return {self.kind} | {(function, kind) for function, size in self.functions.items() if size for kind in types_of}

    @property
    def size(self):
        """By which the compiler's time can be guessed."""
        return sum(self.functions.values())


def place(function):
    """What tells a function from others, whatever is bound to it."""
    return function.__module__, function.__code__.co_name, function.__code__.co_firstlineno


def called(function):
    """What a function knows by global names, also as attributes of modules of the package, and by its closure."""
    codes, names = [function.__code__], set()
    for code in codes:
        names |= set(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    for value in [*map(function.__globals__.get, names), *(c.cell_contents for c in function.__closure__ or ())]:
        if isinstance(value, types.ModuleType) and value.__name__.startswith("numbastats."):
            yield from (getattr(value, name, None) for name in names)
        else:
            yield value


@functools.cache
def computes(code):
    """Whether a function uses its arguments; others stand for what a family lacks."""
    return any("LOAD_FAST" in instruction.opname for instruction in dis.get_instructions(code))


def reached(function):
    """Size of the byte code of all functions that a function calls, however deep, and its own, by their places."""
    found, ahead, seen = {}, [function], set()
    while ahead:
        f = ahead.pop()
        if id(f) not in seen:
            seen.add(id(f))
            found[place(f)] = len(f.__code__.co_code) if computes(f.__code__) else 0
            ahead += [v.py_func for v in called(f) if isinstance(getattr(v, "py_func", None), types.FunctionType)]
    return found


def kind_of(value):
    """A function, or the type of a value that is bound, and whether it is 0: loops for any number have 0 in its place."""
    return "function" if hasattr(value, "py_func") else f"{type(value).__name__} {bool(value)}"


def alike(argument):
    """An argument type; numbers for a row of them, as loops read either by the same function."""
    return argument.dtype if getattr(argument, "ndim", 0) == 1 else argument


def units(every_type=False):
    """All kernels, and functions of fits, in the order in which they are registered; of types that are alike the first."""
    from numbastats._core.kernel import REGISTRY

    found = []
    for kernel in REGISTRY.values():
        loop, bound, signatures = kernel._cuda, kernel._cuda_scalars, {}
        for dtype, arguments in kernel.numba_signatures():
            if dtype == "float64" or not (kernel.f64_ok and "float64" in kernel.dtypes):  # computed in double, as for float64
                signatures.setdefault((dtype, *(arguments if every_type else map(alike, arguments))), (dtype, arguments))
        kind = place(loop), tuple((name, kind_of(value)) for name, value in sorted(bound.items())), str(list(signatures))
        template = types.FunctionType(loop.__code__, {**loop.__globals__, **bound}, loop.__name__)
        found.append(Unit(kernel.name, kernel, list(signatures.values()), kind, reached(template)))
        for function, arguments in kernel.shared().parts[1:] if kernel.shared else ():
            python = function.py_func
            name = f"{kernel.name}:{python.__name__.partition('__')[0]}"
            found.append(Unit(name, kernel, [("float64", arguments)], place(python), reached(python), python))
    return found


def counts(plan):
    """Number of the classes, and of functions in each float type, that are in some units."""
    kinds = {unit.kind for unit in plan}
    return len(kinds), len(set().union(*(unit.parts for unit in plan)) - kinds)


def in_table(everything):
    """Names of the kernels that have rows in SASS.md.

    Those that asv_benchmarks/gpu.py calls hot, those with a budget of spills, and the first by name of each loop, without
    those that the file of a family registers.
    """
    lines = ast.parse((BENCHMARKS / "gpu.py").read_text(encoding="utf-8")).body
    lists = [line for line in lines if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)]
    timed = next(line.value.keys for line in lists if line.targets[0].id == "HOT")
    wanted = {*map(ast.literal_eval, timed), *SPILL_BUDGET}
    others = sorted((unit.name, unit.kernel) for unit in everything if ".families." not in unit.kernel._module)
    first = {kernel._cuda: name for name, kernel in reversed(others)}
    return {name for name, kernel in others if name in wanted or name == first[kernel._cuda]}


def chosen(everything, rows):
    """The units that are compiled: those in `rows`, and others that have what none of these has.

    From the largest on, those are left out whose class and functions are all in others.
    """
    count = collections.Counter(part for unit in everything for part in unit.parts)
    kept = []
    for unit in reversed(sorted(everything, key=lambda unit: unit.size)):
        if unit.name not in rows and all(count[part] > 1 for part in unit.parts):
            count.subtract(unit.parts)
        else:
            kept.append(unit)
    return kept


# --- what ptxas makes of it --------------------------------------------------------------------------------------------


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


# --- the table, and what has passed ------------------------------------------------------------------------------------


def read_table():
    """{(kernel, type): figures} of SASS.md, and the ptxas that made it."""
    if not TABLE.exists():
        return {}, None
    text = TABLE.read_text(encoding="utf-8")
    rows = {}
    for line in re.findall(r"^\| (\S+\.\S+ .*) \|$", text, re.M):
        name, dtype, registers, _warps, *others = line.split(" | ")
        rows[name, dtype] = dict(zip(COLUMNS, map(int, (registers, *others)), strict=True))
    return rows, re.search(r"ptxas (\S+)", text)[1]


def made_of(unit, version, table):
    """Hash of the code that a unit depends on, of its rows in the table, of the compilers' versions and of this script."""
    from numbastats._core.sources import TREE

    compilers = [importlib.metadata.version(name) for name in ("numba", "numba-cuda", "llvmlite")]
    rows = [(key, row) for key, row in table.items() if key[0] == unit.name]
    facts = (TREE.digest(unit.kernel.closure()), rows, compilers, version)
    return hashlib.sha256(Path(__file__).read_bytes() + repr(facts).encode()).hexdigest()[:32]


def passed_before(path):
    """What has passed, {name: hash}; nothing where the file is missing or damaged, or no folder is named."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (AttributeError, OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_table(rows, version):
    """SASS.md of these figures."""
    lines = [
        "# Machine code of the CUDA kernels",
        "",
        f"Written by `python tests/ptx_gate.py --write`: what numba-cuda and ptxas {version} make of the main kernels",
        "for sm_90, without a GPU, of the first argument types of each float type. Bytes of the stack frame, spills and shared",
        "memory; warps of a multiprocessor, of 64, that the registers allow; double-precision and all instructions",
        "of the machine code, each counted once, however often a loop runs.",
        "",
        "| kernel | type | registers | warps | stack frame | spilled | shared | f64 | instructions |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, dtype), row in sorted(rows.items()):
        registers, *others = (row[c] for c in COLUMNS)
        lines.append("| " + " | ".join(map(str, (name, dtype, registers, warps(registers), *others))) + " |")
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compared(found, table, factor):
    """What is worse than in the table."""
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


# --- compiling and judging ---------------------------------------------------------------------------------------------


class Compiler:
    """Numba's, for both architectures, without a device."""

    def __init__(self):
        import numba.cuda.dispatcher
        from numba import cuda
        from numba.cuda import codegen

        self._cuda, self._libraries = cuda, []
        compile_for = codegen.CUDACodeLibrary.get_asm_strs

        def get_asm_strs(library, cc=None):
            self._libraries.append(library)
            return compile_for(library, cc)

        codegen.CUDACodeLibrary.get_asm_strs = get_asm_strs
        numba.cuda.dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=ARCHITECTURES[0])
        gc.disable()  # it walks the live objects of the compiler again and again

    def first(self, unit, signature):
        """PTX for the first architecture."""
        self._libraries.clear()
        function = unit.python or unit.kernel.cuda.py_func
        return self._cuda.compile_ptx(function, signature, device=unit.python is not None, cc=ARCHITECTURES[0])[0]

    def second(self):
        """The same from the same LLVM code, without optimising: whether there are instructions for all of it."""
        self._libraries[-1]._nvvm_options["opt"] = 0
        return self._libraries[-1].get_asm_strs(cc=ARCHITECTURES[1])[0]


def judged(unit, compiler, ptxas):
    """Compile a unit: failures, number of variants, and figures of each float type."""
    failures, variants, found = [], 0, {}
    for number, (dtype, signature) in enumerate(unit.signatures):
        label, texts, first = f"{unit.name} {dtype}", [], dtype not in dict(unit.signatures[:number])
        try:
            ptx = compiler.first(unit, signature)
            texts.append(ptx)
            if first and re.search(SPECIAL, ptx):
                texts.append(compiler.second())
        except Exception as error:
            major, minor = ARCHITECTURES[len(texts)]
            failures.append(f"{label}: does not compile for sm_{major}{minor}: {str(error).strip().splitlines()[-1]}")
            continue
        variants += len(texts)
        f64 = ptx.count(".f64")
        if dtype == "float32" and f64 and not unit.kernel.f64_ok:
            failures.append(f"{label}: {f64} double-precision instructions in a float32 kernel")
        for text in texts:
            approximate = re.findall(r"\b(?:div|sqrt)\.(?:approx|full)\S*", text)  # not rsqrt, with which `bits.root` begins
            if approximate:
                failures.append(f"{label}: {len(approximate)} {approximate[0]}, where IEEE rounding is wanted")
        line = f"{label:60s} {len(ptx):7d} bytes {f64:4d} .f64"
        if ptxas and not unit.python:  # what it makes of a function depends on the loop
            row = inspect(ptxas, ptx, ARCHITECTURES[0])
            found.setdefault((unit.name, dtype), row)
            if row["stack frame"] and not any(fnmatch.fnmatch(unit.name, pattern) for pattern in FRAMES):
                failures.append(f"{label}: a stack frame of {row['stack frame']} bytes, for which FRAMES has no reason")
            if row["spilled"] > SPILL_BUDGET.get(unit.name, 0):
                failures.append(f"{label}: {row['spilled']} bytes spilled")
            line += "".join(f" {v:5d} {c}" for c, v in row.items())
        print(line, flush=True)
    return failures, variants, found


def main():
    """Compile and judge what is new, or all kernels, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="renew asv_benchmarks/SASS.md")
    parser.add_argument("--all", action="store_true", help="all kernels, whatever has passed before")
    parser.add_argument("names", nargs="*", help="kernels, as patterns")
    given = parser.parse_args()
    load_all()
    from numbastats._core import cache

    ptxas, version = find_ptxas(), None
    if ptxas:
        version = re.search(r"V([\d.]+)", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout)[1]
    everything = units(given.all)
    rows, (table, made_by) = in_table(everything), read_table()
    table = {key: row for key, row in table.items() if key[0] in rows}
    if given.names or given.all:
        names = given.names or ["*"]
        plan = [u for u in everything if any(fnmatch.fnmatch(u.name, n) for n in names)]
    else:
        plan = chosen(everything, rows)
    folder = os.environ.get("NUMBA_CACHE_DIR")
    path = Path(folder, "ptx_gate.json") if folder else None
    passed, states = passed_before(path), {u.name: made_of(u, version, table) for u in plan}
    ahead = [u for u in plan if given.names or given.all or passed.get(u.name) != states[u.name]]
    compiler = Compiler() if ahead else None
    failures, variants, good = [], 0, []
    for unit in ahead:
        bad, count, found = judged(unit, compiler, ptxas)
        if unit.name in rows and given.write and not bad:
            table |= found
        elif unit.name in rows:
            bad += compared(found, table, WORSE if version == made_by else WORSE_ELSEWHERE)
        failures, variants, good = failures + bad, variants + count, good + [unit.name] * (not bad)
    if given.write:
        write_table(table, version)
    if path and ptxas and not (given.names or given.all):
        path.parent.mkdir(parents=True, exist_ok=True)
        passed |= {u.name: made_of(u, version, table) for u in ahead if u.name in good}
        cache.write(path, json.dumps(passed, indent=0).encode())
    doubles = {u.kernel.name: u.kernel.f64_ok for u in plan if u.kernel.f64_ok and "float32" in u.kernel.dtypes}
    classes, functions = counts(plan)
    summary = dict(variants=variants, compiled=len(ahead), unchanged=len(plan) - len(ahead), classes=classes, functions=functions)
    print(json.dumps(summary | dict(ptxas=bool(ptxas), double_in_float32=doubles, failures=failures)))
    return 1 if failures or not plan else 0


def load_all():
    """Import all of the package, so that every kernel is registered."""
    import numbastats

    for module in pkgutil.iter_modules(numbastats.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"numbastats.{module.name}")


if __name__ == "__main__":
    sys.exit(main())
