"""Run the CUDA kernels without a GPU, as numba-cuda compiles them.

    python tests/emulator/emulator.py [--reversed] [NAME ...]
    python tests/emulator/emulator.py [--reversed] --pytest ARGUMENT ...

The first checks the kernels whose names match (``"kde.*" stable.points``; all without names) against their CPU twins, by the
checks of asv_benchmarks/gpu.py; a kernel takes 2 to 60 s. The second runs tests with the emulated device as the GPU. Both want an
interpreter with numba-cuda[cu13], gcc and an x86-64 processor.

Numba's simulator runs a kernel as Python. Here the LLVM IR that numba-cuda gives to NVVM is compiled for this processor, and
driver.c stands in for libcuda.so.1, so that typing, arguments, copies and launches are those of a GPU. It finds what the
simulator does not: memory that was never written (it is full of rubbish), writes beyond an array, barriers that some threads of a
block do not reach, launches beyond the limits of a GPU, orders of threads and blocks that matter (``--reversed``).
NVVM and what a GPU does at the same time are not emulated: tests/ptx_gate.py judges the machine code.
"""

from __future__ import annotations

import argparse
import ctypes
import fnmatch
import functools
import os
import re
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMITS = {"grid": (2**31 - 1, 65535, 65535), "threads": 1024, "shared": 49152}
REVERSED = False
STREAMS = []  # handles of the streams that kernels were launched on

_TYPES = {
    "i1": ctypes.c_uint8,
    "i8": ctypes.c_uint8,
    "i32": ctypes.c_uint32,
    "i64": ctypes.c_uint64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "ptr": ctypes.c_uint64,
}
_SHUFFLE = """declare i32 @emu_shuffle_xor(i32, i32)
define linkonce_odr {i32, i1} @emu_shuffle(i32 %mask, i32 %mode, i32 %value, i32 %lanes, i32 %clamp) {
  %r = call i32 @emu_shuffle_xor(i32 %value, i32 %lanes)
  %a = insertvalue {i32, i1} undef, i32 %r, 0
  %b = insertvalue {i32, i1} %a, i1 1, 1
  ret {i32, i1} %b
}"""
_ADD = """define linkonce_odr double @emu_add(ptr %p, double %v) {
  %r = atomicrmw fadd ptr %p, double %v monotonic
  ret double %r
}"""


def _built_driver():
    """Compile and load driver.c, before anything asks for CUDA's own."""
    flags = ["-std=gnu11", "-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    with tempfile.TemporaryDirectory() as folder:  # what is loaded is found by its name, the file is no longer needed
        path = Path(folder) / "libcuda.so.1"
        subprocess.run(["gcc", *flags, "-o", path, HERE / "driver.c", "-lm", "-ldl"], check=True)
        return ctypes.PyDLL(str(path), mode=ctypes.RTLD_GLOBAL)


class _Kernel:
    """A kernel compiled for this processor."""

    def __init__(self, library, driver, libm):
        import llvmlite.binding as llvm

        def machine():
            target = llvm.Target.from_default_triple()
            features = llvm.get_host_cpu_features().flatten()
            return target.create_target_machine(
                cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="default", codemodel="jitdefault"
            )

        texts, shared = _converted(library.llvm_strs, str(machine().target_data), llvm.get_process_triple())
        module, *others = map(llvm.parse_assembly, texts)
        for other in others:
            module.link_in(other)
        entry = module.get_function(library._entry_name)
        self.types = [str(a.type) for a in entry.arguments]
        module.link_in(llvm.parse_assembly(_caller(entry.name, self.types)))
        module.verify()
        wanted = [f.name for f in module.functions if f.is_declaration]
        for name in wanted:
            if not name.startswith("llvm.") or "nvvm" in name:
                llvm.add_symbol(name, _address(name, driver, libm))
        self.waits = any(name.startswith(("emu_barrier", "emu_syncwarp", "emu_shuffle")) for name in wanted)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = False
        passes = llvm.create_pass_builder(machine(), options)
        passes.getModulePassManager().run(module, passes)
        self.engine = llvm.create_mcjit_compiler(module, machine())
        self.engine.finalize_object()
        self.function = self.engine.get_function_address("emu_call")
        arrays = [g for g in module.global_variables if g.name in shared]
        data = self.engine.target_data
        self.shared = [(self.engine.get_global_value_address(g.name), data.get_abi_size(g.global_value_type)) for g in arrays]


def _address(name, driver, libm):
    base = name.removeprefix("__nv_")
    for library, symbol in ((driver, name), (driver, f"emu_nv_{base}"), (libm, base)):
        if name.startswith("emu_") and library is libm:
            break
        if hasattr(library, symbol):
            return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
    raise NotImplementedError(f"the emulator lacks {name}; add it to driver.c")


def _caller(name, argument_types):
    """A function that takes one array of pointers to the arguments."""
    lines = [f'declare void @"{name}"({", ".join(argument_types)})', "define void @emu_call(ptr %all) {"]
    for i, t in enumerate(argument_types):
        lines += [f"%p{i} = getelementptr ptr, ptr %all, i64 {i}", f"%q{i} = load ptr, ptr %p{i}", f"%v{i} = load {t}, ptr %q{i}"]
    values = ", ".join(f"{t} %v{i}" for i, t in enumerate(argument_types))
    return "\n".join([*lines, f'call void @"{name}"({values})', "ret void", "}"])


def _converted(texts, layout, triple):
    """The modules of a kernel for this processor, and the names of its shared arrays."""
    result, shared = [], set()
    for number, s in enumerate(texts):
        s = re.sub(r'target triple = ".*"', f'target triple = "{triple}"', s)
        s = re.sub(r'target datalayout = ".*"', f'target datalayout = "{layout}"', s)
        # shared arrays of different modules may have the same name
        for name in set(re.findall(r'^@"?([\w.$]+)"? = (?:\w+ )*addrspace\(3\) global', s, re.M)):
            shared.add(f"{name}.{number}")
            s = re.sub(rf'@"?{re.escape(name)}"?(?![\w.$])', f'@"{name}.{number}"', s)
        s = re.sub(r'^(@"?[\w.$]+"? = )(?:\w+ )*(addrspace\(3\) global .*?) undef', r"\1\2 zeroinitializer", s, flags=re.M)
        s = re.sub(r'@"?llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.([xyz])"?', r"@emu_\1_\2", s)
        s = re.sub(r'@"?llvm\.nvvm\.read\.ptx\.sreg\.(\w+)"?', r"@emu_\1", s)
        s = re.sub(r'@"?llvm\.nvvm\.barrier0\.(\w+)"?(?=\()', r"@emu_barrier_\1", s)
        s = re.sub(r'@"?llvm\.nvvm\.barrier0"?(?=\()', "@emu_barrier", s)
        s = re.sub(r'@"?llvm\.nvvm\.barrier\.cta\.sync\.aligned\.all"?\([^)]*\)', "@emu_barrier()", s)
        s = re.sub(r'@"?llvm\.nvvm\.bar\.warp\.sync"?\(i32[^)]*\)', "@emu_syncwarp()", s)
        s = re.sub(r'^declare \{i32, i1\} @"?llvm\.nvvm\.shfl\.sync\.i32"?.*$', _SHUFFLE, s, flags=re.M)
        s = re.sub(r'@"?llvm\.nvvm\.shfl\.sync\.i32"?', "@emu_shuffle", s)
        s = re.sub(r'^declare double @"?llvm\.nvvm\.atomic\.load\.add\.f64\S*?\(.*$', _ADD, s, flags=re.M)
        s = re.sub(r'@"?llvm\.nvvm\.atomic\.load\.add\.f64[\w.]*"?', "@emu_add", s)
        s = _without_ptx(s)
        s = re.sub(r"= (fmul|fadd|fsub) (?!contract|fast)", r"= \1 contract ", s)  # as NVVM does
        s = re.sub(r"^(declare .* @emu_(?:barrier|syncwarp)\w*\(.*\))", r"\1 convergent noduplicate", s, flags=re.M)
        s = re.sub(r"^!nvvm\.annotations.*$", "", s, flags=re.M).replace("ptx_kernel ", "")
        result.append(s.replace("define available_externally", "define linkonce_odr"))
    return result, shared


def _without_ptx(s):
    """A module with quotients in the place of PTX's approximate reciprocals of numbers and of their roots."""
    s = re.sub(r'= call (double|float) asm [^"]*"rcp\.approx[^"]*", "[^"]*"\(\1 ([^)]*)\)', r"= fdiv \1 1.0, \2", s)
    for kind, root in (("double", "llvm.sqrt.f64"), ("float", "llvm.sqrt.f32")):
        asm = rf'%"?([\w.]+)"? = call {kind} asm [^"]*"rsqrt\.approx[^"]*", "[^"]*"\({kind} ([^)]*)\)'
        s, used = re.subn(asm, rf'%"root.\1" = call {kind} @{root}({kind} \2)\n%"\1" = fdiv {kind} 1.0, %"root.\1"', s)
        if used and not re.search(rf'^declare {kind} @"?{root}"?\(', s, re.M):
            s += f"\ndeclare {kind} @{root}({kind})\n"
    return s


def _three(shape):
    return (*shape, 1, 1)[:3] if isinstance(shape, tuple) else (shape, 1, 1)


def install():
    """Make numba-cuda use the emulated device. Before anything else imports numba.cuda."""
    driver, libm = _built_driver(), ctypes.CDLL("libm.so.6")

    import llvmlite.binding as llvm
    import numba.cuda.dispatcher as dispatcher
    from numba import cuda
    from numba.cuda import codegen

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    libraries = {}

    def get_cufunc(self):
        found = self.__dict__.get("_emulated")
        if found is None:
            handle = len(libraries) + 1
            libraries[handle] = self
            kernel = types.SimpleNamespace(handle=handle)
            found = self._emulated = types.SimpleNamespace(
                kernel=kernel, module=types.SimpleNamespace(initialized=True), name=self._entry_name
            )
        return found

    def launch(stream, config, kernel, *args):
        STREAMS.append(int(stream.handle))
        library = libraries[int(kernel.handle)]
        if "_code" not in library.__dict__:
            library._code = _Kernel(library, driver, libm)
        code = library._code
        grid, (size, *rest) = map(_three, (config.grid, config.block))
        if rest != [1, 1]:
            raise NotImplementedError("the emulator takes blocks of one dimension")
        if min(*grid, size) < 1 or size > LIMITS["threads"] or any(a > b for a, b in zip(grid, LIMITS["grid"], strict=True)):
            raise ValueError(f"no GPU launches {grid} blocks of {size} threads")
        if config.shmem_size or sum(bytes_ for _, bytes_ in code.shared) > LIMITS["shared"]:
            raise ValueError("shared memory beyond the static 48 KiB")
        values = []
        for a, name in zip(args, code.types, strict=True):
            value = _TYPES[name]() if isinstance(a, ctypes._SimpleCData) else _TYPES[name](int(a))
            if isinstance(a, ctypes._SimpleCData):
                if ctypes.sizeof(a) > ctypes.sizeof(value):
                    raise TypeError(f"an argument of {ctypes.sizeof(a)} bytes for a parameter of type {name}")
                ctypes.memmove(ctypes.byref(value), ctypes.byref(a), ctypes.sizeof(a))
            values.append(value)
        addresses = [v.value for v in values if isinstance(v, ctypes.c_uint64)]
        driver.emulator_uses(ctypes.c_void_p(int(stream.handle)), (ctypes.c_uint64 * len(addresses))(*addresses), len(addresses))
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        n = len(code.shared)
        places = (ctypes.c_void_p * n)(*(at for at, _ in code.shared))
        sizes = (ctypes.c_size_t * n)(*(bytes_ for _, bytes_ in code.shared))
        flags = int(code.waits), int(REVERSED)
        driver.emulator_run(ctypes.c_void_p(code.function), pointers, (ctypes.c_int * 3)(*grid), size, *flags, places, sizes, n)

    compile_for = cuda.jit

    @functools.wraps(compile_for)
    def jit(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache kernels without machine code")
        return compile_for(*args, **options)

    cuda.jit = jit
    codegen.CUDACodeLibrary.get_asm_strs = lambda self, cc=None: [""]
    codegen.CUDACodeLibrary.get_cufunc = get_cufunc
    dispatcher.launch = launch
    driver.emulator_violations.restype = ctypes.c_long
    return driver.emulator_violations


def counts():
    """What the driver has done since the last call: see the enum in driver.c for the order."""
    result = (ctypes.c_long * 6)()
    ctypes.CDLL("libcuda.so.1").emulator_count(result)
    return list(result)


def main():
    """Check the kernels that were asked for."""
    global REVERSED
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reversed", action="store_true", help="run the last block and the last thread first")
    parser.add_argument("--pytest", action="store_true", help="take the rest as arguments of pytest")
    parser.add_argument("names", nargs="*", default=["*"], help="kernels, as patterns")
    chosen, rest = parser.parse_known_args()
    REVERSED = chosen.reversed
    sys.argv[1:] = []
    violations = install()

    from numbastats._core import cache

    cache._warned = True  # of kernels that are not cached
    if chosen.pytest:
        import pytest

        os.environ["NUMBASTATS_TEST_CUDA"] = "real"
        code = int(pytest.main(["-p", "no:cacheprovider", *chosen.names, *rest]))
        print(f"{violations()} writes beyond an allocation, or barriers that some threads do not reach")
        return code or int(violations() > 0)
    sys.path.insert(0, str(HERE.parents[1] / "asv_benchmarks"))
    import gpu

    gpu.CHECKED = 1 << 12
    gpu.register_everything()
    report, count = gpu.Report(), 0
    for kernel in gpu.REGISTRY.values():
        if not any(fnmatch.fnmatch(kernel.name, pattern) for pattern in chosen.names):
            continue
        start, before = time.perf_counter(), violations()
        gpu.check_kernel(report, kernel)
        if violations() > before:
            report.fail(f"{kernel.name}: writes beyond an allocation, or threads of a block at different barriers")
        print(f"{kernel.name:40s} {time.perf_counter() - start:6.1f} s", flush=True)
        count += 1
    print(f"{count} kernels, {len(report.failures)} failures")
    return 1 if report.failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
