"""All that the library uses of Numba and llvmlite beyond what they document; nothing of it is used elsewhere.

It gains first calls within 50 ms, half of the compile time, loops 1.1 to 1.6 times as fast, and results that do not depend on the
disk cache. Each gain is a part of its own, by a name in `LOST`: the import looks for what a part relies on, and where that is
missing, or Numba is newer than `TESTED`, the part is left out. Kernels are then jitted as ``numba.njit(cache=True)`` does it, and
one warning says what is lost. ``NUMBASTATS_PLAIN_NUMBA=1`` leaves all parts out, to test that; a list such as ``cache,loops``
those it names.

How a user's own functions compile is left alone. What is changed is changed on objects of ours: the libraries, the compiler and
the caches of our kernels, and the one library into which Numba compiles a loop that has `bits.in_step` in it.

**Loops.** A long formula is a chain of operations that wait for one another, and a processor looks ahead by some hundred
operations, which is one vector's formula and not two. LLVM interleaves short loops by itself; where `bits.in_step` stands, it
works on `VECTORS` vectors at once, operation by operation. On Zen 5 this makes formulas of 20 to 500 operations 1.1 to 1.6 times
as fast, with vectors of 256 bits as with 512. Two vectors gain half as much, eight lose where registers run out; sums, look-ups
and short formulas gain nothing.

**Width.** On Intel's processors LLVM takes vectors of 256 bits, for the sake of those before Ice Lake, which slow down under wide
ones; 512 is up to 1.65 times as fast. Loops of `prange` go to libraries that Numba makes for itself, so both twins, which must
add up in the same order, are compiled by a code generator of ours.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import inspect
import os
import re
import types
import warnings

import numba
from llvmlite import ir
from numba import njit
from numba.core.errors import NumbaError
from numba.extending import intrinsic

__all__ = [
    "ACTIVE",
    "CudaOptions",
    "LOST",
    "NO_WRAPPERS",
    "NumbaError",
    "TESTED",
    "VECTORS",
    "address",
    "cached",
    "caller",
    "in_step_here",
    "kept",
    "kernel_options",
    "load_registries",
    "part_options",
    "platform",
    "probe_cuda",
    "processor",
    "processor_features",
    "scalar_dispatcher",
    "usual_target",
]

TESTED = ("0.63", "0.68")
VECTORS = 4

LOST = {
    "compiler": "the last bits of results may depend on whether a kernel was compiled or read from the disk cache, and compiling "
    "takes up to twice as long",
    "loops": "loops of long formulas take 1.1 to 1.6 times as long",
    "width": "loops on Intel processors take up to 1.65 times as long",
    "addresses": "the first fit of each family of distributions compiles for some 8 s instead of 1",
    "registries": "the first call that compiles takes 0.2 s longer",
    "cache": "compiled code is kept by Numba's own disk cache, which does not notice damaged files; kernel packs are not used",
    "objects": "files of the disk cache are three times as large; kernel packs are not used",
}
"""Parts, and what a process without them loses."""

# What each part relies on: module, attribute by attribute. Written out, so that a probe costs microseconds.
_NEEDS = {
    "compiler": (
        ("numba.core.codegen", "JITCodeLibrary._optimize_final_module"),
        ("numba.core.codegen", "JITCodeLibrary._finalize_final_module"),
        ("numba.core.codegen", "JITCodeLibrary.get_pointer_to_function"),
        ("numba.core.codegen", "ll.Linkage.linkonce_odr"),
        ("numba.core.compiler", "Compiler.define_pipelines"),
        ("numba.core.compiler_machinery", "FunctionPass"),
        ("numba.core.compiler_machinery", "register_pass"),
        ("numba.core.compiler_machinery", "PassManager.add_pass_after"),
        ("numba.core.options", "TargetOptions"),
        ("numba.core.registry", "CPUDispatcher.get_compile_result"),
        ("numba.core.targetconfig", "Option"),
        ("numba.core.compiler", "Flags.nrt"),
        ("numba.core.typed_passes", "NopythonTypeInference"),
        ("numba.core.registry", "cpu_target.typing_context.resolve_function_type"),
    ),
    "loops": (
        ("numba.core.base", "BaseContext.active_code_library"),
        ("numba.core.codegen", "CPUCodeLibrary.add_ir_module"),
        ("llvmlite.ir", "MDValue"),
        ("llvmlite.ir", "Module.add_metadata"),
    ),
    "width": (
        ("numba.core.base", "BaseContext.subtarget"),
        ("numba.core.codegen", "CPUCodegen.magic_tuple"),
        ("numba.core.codegen", "JITCPUCodegen._library_class"),
        ("numba.core.codegen", "CPUCodeLibrary.add_ir_module"),
        ("numba.core.registry", "cpu_target.target_context._internal_codegen"),
    ),
    "addresses": (
        ("numba.core.callconv", "CPUCallConv.call_function"),
        ("numba.core.callconv", "CPUCallConv.get_function_type"),
        ("numba.core.cgutils", "unpack_tuple"),
        ("numba.core.codegen", "JITCodeLibrary.get_pointer_to_function"),
        ("numba.core.compiler", "CompileResult.fndesc"),
    ),
    "registries": (
        ("numba.core.registry", "cpu_target.typing_context.refresh"),
        ("numba.core.registry", "cpu_target.target_context.refresh"),
    ),
    "cache": (
        ("numba.core.caching", "FunctionCache._impl_class._locator_classes"),
        ("numba.core.caching", "FunctionCache.load_overload"),
        ("numba.core.caching", "IndexDataCacheFile._dump"),
    ),
    "objects": (
        ("numba.core.caching", "FunctionCache._load_overload"),
        ("numba.core.caching", "CompileResultCacheImpl.reduce"),
        ("numba.core.caching", "CompileResultCacheImpl.rebuild"),
        ("numba.core.codegen", "CPUCodeLibrary._get_compiled_object"),
        ("numba.core.codegen", "CPUCodeLibrary._set_compiled_object"),
        ("numba.core.codegen", "CPUCodeLibrary._finalize_final_module"),
        ("numba.core.codegen", "JitEngine._load_defined_symbols"),
        ("numba.core.compiler", "CompileResult._find_referenced_environments"),
        ("numba.core.runtime.nrt", "rtsys.initialize"),
    ),
}


def _version(text):
    return tuple(int(n) for n in re.findall(r"\d+", text)[:2])


def _missing(module, path):
    """The first attribute of a dotted path that does not exist, or None."""
    try:
        thing = importlib.import_module(module)
        for name in path.split("."):
            thing = getattr(thing, name)
    except (ImportError, AttributeError) as error:
        return f"{module}: {error}"
    return None


def _probe():
    """The usable parts; warns once of the unusable ones."""
    plain = os.environ.get("NUMBASTATS_PLAIN_NUMBA", "")
    if plain not in ("", "0"):
        reason = f"NUMBASTATS_PLAIN_NUMBA={plain} is set"
        lost = set(LOST) if plain == "1" else set(LOST) & set(plain.split(","))
    elif _version(numba.__version__) > _version(TESTED[1]):
        reason = f"Numba {numba.__version__} is newer than {TESTED[1]}, the last that was tested"
        lost = set(LOST)
    else:
        missing = {part: [m for m in (_missing(*n) for n in needs) if m] for part, needs in _NEEDS.items()}
        lost = {part for part, names in missing.items() if names}
        reason = f"Numba {numba.__version__} lacks what is used here ({next((m[0] for m in missing.values() if m), '')})"
    if lost:
        warnings.warn(
            f"numbastats: {reason}. Everything works, but {'; '.join(LOST[part] for part in LOST if part in lost)}. "
            f"Numba {TESTED[0]} to {TESTED[1]} has all of it: pip install 'numba>={TESTED[0]},<{TESTED[1][:-2]}"
            f"{int(TESTED[1][-2:]) + 1}'",
            RuntimeWarning,
            stacklevel=2,
        )
    return frozenset(LOST) - lost


ACTIVE = _probe()
"""Names of the parts in use."""


# --- registries -----------------------------------------------------------------------------------------------


@functools.cache
def load_registries():
    """Load Numba's typing and lowering registries, before something is compiled.

    One of them asks whether SciPy has BLAS by importing scipy.linalg, which takes longer than the rest of the import. SciPy is
    required here, and Numba asks again where BLAS is used, so the answer is given for it while that module loads.
    """
    if "registries" not in ACTIVE:
        return
    from numba.core.registry import cpu_target
    from numba.np import linalg

    ask = getattr(linalg, "ensure_blas", None)
    if ask is not None:
        linalg.ensure_blas = lambda: None
        try:
            from numba.np import arraymath
        finally:
            linalg.ensure_blas = arraymath.ensure_blas = ask
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def processor():
    """The processor that LLVM compiles for, by name."""
    import llvmlite.binding

    return numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_name()


# --- addresses: compiled code that calls functions it does not know -------------------------------------------


def caller(signature):
    """An intrinsic ``call(address, arguments)``, of a tuple, for compiled functions of this signature, which must not raise."""
    from numba.core import cgutils

    @intrinsic
    def call(typing, address, arguments):
        def lower(context, builder, _, values):
            kind = context.call_conv.get_function_type(signature.return_type, signature.args)
            f = builder.inttoptr(values[0], kind.as_pointer())
            given = cgutils.unpack_tuple(builder, values[1])
            return context.call_conv.call_function(builder, f, signature.return_type, signature.args, given)[1]

        return signature.return_type(numba.types.intp, numba.types.Tuple(signature.args)), lower

    return call


def address(dispatcher, arguments):
    """Where the compiled code of a function is, for arguments of these types."""
    made = dispatcher.overloads[tuple(arguments)]
    return made.library.get_pointer_to_function(made.fndesc.llvm_func_name)


# --- loops: several vectors at once ---------------------------------------------------------------------------


def _back_edges(function):
    """Pairs (last block, first block) of the loops, and for each block the blocks that jump to it."""

    def targets(block):
        return iter([t for t in block.terminator.operands if isinstance(t, ir.Block)])

    entry = function.blocks[0]
    pairs, sources, seen, path = [], {}, {entry}, {entry: targets(entry)}  # depth first
    while path:
        block = next(reversed(path))
        target = next(path[block], None)
        if target is None:
            del path[block]
            continue
        sources.setdefault(target, []).append(block)
        if target in path:
            pairs.append((block, target))
        elif target not in seen:
            path[target] = targets(target)
        seen.add(target)
    return pairs, sources


def _blocks(latch, header, sources):
    """The blocks of a loop: all that lead to its last block without passing its first."""
    found, ahead = {header}, [latch]
    while ahead:
        block = ahead.pop()
        if block not in found:
            found.add(block)
            ahead += sources.get(block, ())
    return found


def _hint(function):
    """Tell LLVM of the marked loops, by metadata at their back edges."""
    marked = [block for block in function.blocks if hasattr(block, "in_step")]
    if not marked:
        return
    module = function.module
    pairs, sources = _back_edges(function)
    loops = sorted(((_blocks(*pair, sources), pair[0]) for pair in pairs), key=lambda loop: len(loop[0]))
    count = module.add_metadata([ir.MetaDataString(module, "llvm.loop.interleave.count"), ir.IntType(32)(VECTORS)])
    for block in marked:
        latch = next((latch for blocks, latch in loops if block in blocks), None)
        if latch is None:
            raise ValueError(f"in_step() stands outside of any loop in {function.name}")
        node = ir.MDValue(module, (), name=str(len(module.metadata)))
        node.operands = (node, count)  # a node that begins with itself is shared by no two loops
        latch.terminator.set_metadata("llvm.loop", node)


def in_step_here(context, builder):
    """Mark the loop that is being lowered; the library adds the hint for LLVM once the function is complete."""
    if "loops" not in ACTIVE:
        return
    builder.block.in_step = True
    library = context.active_code_library
    if "add_ir_module" in vars(library):
        return
    add = library.add_ir_module

    def add_ir_module(module):
        del library.add_ir_module  # no cycle that would keep the library
        for f in module.functions:
            if not f.is_declaration:
                _hint(f)
        add(module)

    library.add_ir_module = add_ir_module


# --- compiler: libraries of our own ---------------------------------------------------------------------------


class CudaOptions(dict):
    """Options of a function that CUDA kernels may call: the copy that Numba's CUDA target takes is without fastmath.

    There any flag means approximate float32 arithmetic: quotients are off by 2 ulp, and 0 for divisors above 2^126. Products
    and sums are contracted on CUDA without a flag.
    """

    def copy(self):
        return {name: value for name, value in self.items() if name != "fastmath"}


@functools.cache
def probe_cuda():
    """Warn where Numba's CUDA target would take over the fastmath flags of functions."""
    from numba.cuda.target import CUDATypingContext

    if "targetoptions.copy()" not in inspect.getsource(CUDATypingContext.resolve_value_type):
        warnings.warn(
            "numbastats: this version of numba-cuda takes over the fastmath flags of functions for the CPU. On the GPU, float32 "
            "quotients may be off by 2 ulp, and are 0 for divisors above 2^126",
            RuntimeWarning,
            stacklevel=2,
        )


def part_options(allocates):
    """Options of `njit` for a function that only jitted code calls; it may neither be called from Python nor raise."""
    if "compiler" not in ACTIVE:
        return {}
    return {**NO_WRAPPERS, "pipeline_class": _compiler_classes()[1], "_nrt": allocates}


def kernel_options():
    """Options of `njit` for a kernel."""
    return {"pipeline_class": _compiler_classes()[0]} if "compiler" in ACTIVE else {}


NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@functools.cache
def _wide():
    """Whether LLVM shall use vectors of 512 bits."""
    from numba.core.registry import cpu_target

    return "width" in ACTIVE and "+avx512vbmi2" in cpu_target.target_context.codegen().magic_tuple()[2]


_own_functions: dict = {}  # functions that Numba compiles for its own use, with this code generator


def _own_target(context, codegen):
    context = context.subtarget(_internal_codegen=codegen)
    context.cached_internal_func = _own_functions
    return context


def _widen(module):
    for f in module.functions:
        if not f.is_declaration:
            set.add(f.attributes, '"prefer-vector-width"="512"')  # llvmlite knows no attributes with a value


def _operator_typing(context):
    """Numba's typing context, but it remembers the signatures of operators on numbers.

    Numba tries some ten templates for each `a + b`, those for arrays, strings and lists before those for numbers.
    """
    from numba.core import types as numba_types

    numbers, known = (numba_types.Number, numba_types.Boolean), {}

    class OperatorTyping(type(context)):
        def resolve_function_type(self, function, args, kws):
            simple = not kws and isinstance(function, numba_types.Function) and all(isinstance(a, numbers) for a in args)
            if not simple or getattr(function.typing_key, "__module__", None) != "_operator":
                return super().resolve_function_type(function, args, kws)
            key = function, args
            if key not in known:
                known[key] = super().resolve_function_type(function, args, kws)
            return known[key]

    ours = copy.copy(context)
    ours.__class__ = OperatorTyping
    return ours


@functools.cache
def _compiler_classes():
    """Numba's compiler for kernels and for functions that only jitted code calls."""
    from numba.core import codegen, compiler, errors
    from numba.core import ir as numba_ir
    from numba.core.compiler_machinery import FunctionPass, register_pass
    from numba.core.registry import cpu_target
    from numba.core.typed_passes import NopythonTypeInference

    class KernelLibrary(codegen.JITCodeLibrary):
        """Machine code of a kernel, which calls its own copies of the functions that were linked into it.

        Numba leaves these copies replaceable. Where a function had been compiled before, on its own or in another kernel, the
        linker takes that code, which was optimised in other surroundings and rounds differently; a process that loads the
        kernel from the disk cache has only the kernel's copy. The last bits of results would depend on the cache.
        """

        def _optimize_final_module(self):
            for f in self._final_module.functions:
                if not f.is_declaration and f.linkage == codegen.ll.Linkage.linkonce_odr:
                    f.linkage = "private"  # "internal" names would still hide those of other modules from the linker
            super()._optimize_final_module()

    class PartLibrary(codegen.JITCodeLibrary):
        """A function that only jitted code calls: it is optimised and turned into machine code within the kernels."""

        def _optimize_final_module(self):
            pass

        def _finalize_final_module(self):
            self._finalized = True

        def get_pointer_to_function(self, name):
            return 0

        @property
        def codegen(self):  # there is no machine code that could take an environment
            return types.SimpleNamespace(set_env=lambda name, environment: None)

    @register_pass(mutates_CFG=False, analysis_only=True)
    class NoOwnedArrays(FunctionPass):
        """A function that counts no references must neither return an array nor get one from a call.

        Its caller would give back a reference that was never taken; its own would never be given back.
        """

        _name = "no_owned_arrays"

        def __init__(self):
            FunctionPass.__init__(self)

        def run_pass(self, state):
            if state.flags.nrt:
                return False
            calls = [
                statement.target.name
                for block in state.func_ir.blocks.values()
                for statement in block.find_insts(numba_ir.Assign)
                if isinstance(statement.value, numba_ir.Expr) and statement.value.op == "call"
            ]
            held = [state.return_type, *(state.typemap[name] for name in calls)]
            if any(state.targetctx.data_model_manager[t].contains_nrt_meminfo() for t in held):
                raise errors.TypingError(
                    f"{state.func_id.func_qualname} returns an array or calls what does; say array_function(allocates=True)"
                )
            return False

    typing = _operator_typing(cpu_target.typing_context)

    def widened(library):
        class Library(library):
            def add_ir_module(self, module):
                if _wide():
                    _widen(module)
                super().add_ir_module(module)

        return Library

    # Libraries that Numba makes by itself, such as the loop of a `prange` and its wrappers, become parts of a kernel.
    ours = copy.copy(cpu_target.target_context.codegen())
    ours._library_class = widened(PartLibrary)

    def with_library(library):
        class Compiler(compiler.Compiler):
            def define_pipelines(self):
                state = self.state
                state.typingctx = typing
                state.targetctx = _own_target(state.targetctx, ours)
                state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
                state.library.enable_object_caching()
                pipelines = super().define_pipelines()
                for passes in pipelines:
                    passes.add_pass_after(NoOwnedArrays, NopythonTypeInference)
                    passes.finalize()
                return pipelines

        return Compiler

    return with_library(widened(KernelLibrary)), with_library(widened(PartLibrary))


def scalar_dispatcher(f, options, host):
    """A scalar formula: jitted code inlines it; Python calls `host(f)`, a version with wrapper and machine code.

    Without the compiler's part it is a plain dispatcher.
    """
    if "compiler" not in ACTIVE:
        plain = njit(f, **options)  # with its flags: a function without any takes its caller's
        plain.targetoptions = CudaOptions(plain.targetoptions)
        return plain
    options = CudaOptions({"nopython": True, **options, **NO_WRAPPERS})
    return _scalar_class()(f, host, targetoptions=options, pipeline_class=_compiler_classes()[1])


@functools.cache
def _scalar_class():
    from numba.core.registry import CPUDispatcher

    class Scalar(CPUDispatcher):
        def __init__(self, f, host=None, **options):
            super().__init__(f, **options)
            self._make_host = host

        @functools.cached_property
        def host(self):
            return self._make_host(self.py_func)

        def __call__(self, *args, **kwargs):
            return self.host(*args, **kwargs)

        def get_compile_result(self, sig):
            """The compile result for Numba's function types, whose values are addresses of machine code."""
            return self.host.get_compile_result(sig)

    return Scalar


# --- the disk cache -------------------------------------------------------------------------------------------


def _reduced(compiled):
    """The saved form of a compiled kernel: machine code and calling convention, without the bitcode for linkers."""
    library, description = compiled.library, compiled.fndesc
    module, own = library._final_module, compiled.environment.env_name
    names = {description.llvm_func_name, description.llvm_cpython_wrapper_name, description.llvm_cfunc_wrapper_name}
    defined = {f.name for f in module.functions if f.name in names and not f.is_declaration}
    needed = [v.name for values in (module.functions, module.global_variables) for v in values if v.is_declaration]
    description.typemap = description.calltypes = None
    environments = [e for e in compiled._find_referenced_environments() if e.consts and e.env_name != own]
    return (
        library.name,
        library._get_compiled_object(),
        defined,
        [name for name in needed if not name.startswith("llvm.")],
        description,
        compiled.environment,
        compiled.signature,
        compiled.reload_init,
        environments,
    )


def _rebuilt(context, name, machine, defined, needed, description, environment, signature, reload_init, environments):
    """The kernel from the form that `_reduced` saves; None where the process lacks a symbol that the kernel needs.

    LLVM ends the process if it does not find a symbol. Numba's registries are left alone: they serve typing and lowering.
    """
    import llvmlite.binding
    from numba.core.compiler import CompileResult
    from numba.core.runtime.nrt import rtsys

    rtsys.initialize(context)
    for load in reload_init:
        load()
    if not all(map(llvmlite.binding.address_of_symbol, needed)):
        return None
    codegen = context.codegen()
    library = codegen.create_library(name)
    library.enable_object_caching()
    library._set_compiled_object(machine)
    library._finalize_final_module()  # of an empty module; LLVM asks Numba for its machine code and gets this
    codegen._engine._defined_symbols |= defined
    entry_point = context.get_executable(library, description, environment)
    for e in environments:
        codegen.set_env(e.env_name, e)
    kept = {
        "typing_context": context.typing_context,
        "target_context": context,
        "entry_point": entry_point,
        "type_annotation": "",
        "signature": signature,
        "library": library,
        "fndesc": description,
        "objectmode": False,
        "lifted": (),
        "environment": environment,
        "reload_init": reload_init,
        "referenced_envs": environments,
    }
    return CompileResult(**{field: kept.get(field) for field in CompileResult._fields})


def platform():
    """The kind of machine and system that LLVM compiles for."""
    import llvmlite.binding

    return llvmlite.binding.get_process_triple()


def processor_features():
    """Features of this processor by LLVM's names; none where it cannot tell."""
    import llvmlite.binding

    try:
        return frozenset(name for name, there in llvmlite.binding.get_host_cpu_features().items() if there)
    except RuntimeError:
        return frozenset()


def usual_target():
    """Whether Numba compiles for this processor without settings that ask for other code."""
    config = numba.config
    unset = config.CPU_NAME is None and config.CPU_FEATURES is None
    plain = not (config.DEBUGINFO_DEFAULT or config.BOUNDSCHECK or config.OPT != 3)
    return bool(unset and plain and config.LOOP_VECTORIZE and config.ENABLE_AVX and not config.USING_SVML)


class _Locator:
    """Stands in for the locator by which Numba's caches choose a folder: the entries choose it."""

    @classmethod
    def from_function(cls, function, path):
        locator = cls()
        locator._py_file = path
        return locator

    def get_cache_path(self):
        return ""

    def ensure_cache_path(self):
        pass

    def get_source_stamp(self):
        return None

    def get_disambiguator(self):
        return "0"


@functools.cache
def _cache_class(base, linkable):
    """A subclass of one of Numba's caches that uses our files; bitcode is kept only if other functions link with it."""
    objects = "objects" in ACTIVE and base.__module__ == "numba.core.caching" and not linkable

    class Implementation(base._impl_class):
        _locator_classes = [_Locator]

    class ObjectImplementation(Implementation):
        def reduce(self, compiled):
            return _reduced(compiled)

        def rebuild(self, context, data):
            return _rebuilt(context, *data)

    class Cache(base):
        _impl_class = ObjectImplementation if objects else Implementation

        def __init__(self, function, entries):
            super().__init__(function)
            self._cache_file = entries(self._cache_file._dump)

        def load_overload(self, signature, context):
            with contextlib.suppress(Exception):  # after any error with an entry the function is compiled
                load = self._load_overload if objects else super().load_overload
                found = load(signature, context)
                if found is not None:
                    return found
            load_registries()
            return None

        def flush(self):
            pass

    return Cache


def kept(dispatcher, signature):
    """Whether the cache of a dispatcher, or those of all its parts, have the code of a signature."""
    parts = getattr(dispatcher, "parts", [(dispatcher, signature)])
    return all(d._cache.load_overload(types_of, d.targetctx) is not None for d, types_of in parts)


def cached(dispatcher, entries, linkable):
    """Give a dispatcher the disk cache; `entries(dump)` makes the object that loads and saves for its function."""
    if "cache" not in ACTIVE:
        dispatcher.enable_caching()
        return dispatcher
    if ".cuda." in type(dispatcher).__module__:
        from numba.cuda.dispatcher import CUDACache as base
    else:
        from numba.core.caching import FunctionCache as base
    dispatcher._cache = _cache_class(base, linkable)(dispatcher.py_func, entries)
    return dispatcher
