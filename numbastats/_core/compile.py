"""The only file in which functions are jitted.

Three kinds of function pass through here:

* `device_function`: a scalar formula. Callable from njit loops, from CUDA kernels and from Python.
* `array_function`: a shared body that takes arrays. In the CUDA simulator its plain Python version is used,
  because compiled code cannot be handed the simulator's array objects.
* `build(template, target, **scalars)`: a module-level loop skeleton with its scalar functions bound by name.

`Kernel` holds the CPU and the CUDA twin of one job and enters itself into `REGISTRY`.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import math
import pkgutil
import sys
import types

import numba
from numba import cuda, njit
from numba.core import codegen, compiler, errors, ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import NopythonTypeInference

from numbastats._core import cache
from numbastats._core.errors import choice
from numbastats._core.loops import shape_loops
from numbastats._core.parallel import in_threads

if numba.config.ENABLE_CUDASIM:
    import numbastats._core.simulator  # noqa: F401  takes the place of a part of Numba's

__all__ = [
    "HOST_LOOPS", "REGISTRY", "SIMULATED", "HostLoop", "InThreads", "Kernel", "array_function", "build", "device_function",
    "host_loop", "real_gpu", "set_plain", "warmup",
]  # fmt: skip

if numba.config.DISABLE_JIT:
    raise ImportError(
        "NUMBA_DISABLE_JIT=1 is set, and numbastats does not run uncompiled: bit casts and fused multiply-adds have no Python "
        "version. Unset it; your own functions may be called as f.py_func instead"
    )

SIMULATED = bool(numba.config.ENABLE_CUDASIM)
# numba-cuda would optimise kernels twice, as PTX and again at link time, where there is nothing to link; Numba's own target has
# no such option
_PTX = {"lto": False} if "lto" in inspect.signature(cuda.jit).parameters else {}

REGISTRY: dict[str, Kernel] = {}
"""Every kernel by name, for the PTX gate, the GPU check and `warmup`."""

HOST_LOOPS: dict[str, HostLoop] = {}
"""What runs on the host on every device, by name, for `warmup`."""

# Flags are per instruction: under forceinline a callee keeps its own, so a caller's reassociation cannot reach
# the compensated sums and the magic-constant rounding inside a scalar.
_SCALAR_FLAGS = frozenset({"contract"})
_ALLOWED_FLAGS = frozenset({"contract", "reassoc", "nsz", "arcp", "afn"})

PARTS = 24  # per thread at most, where threads call a serial twin: a part that ends late leaves the others waiting
PART = 1e6  # nanoseconds that a part lasts at least: one costs some 30 us

_PLAIN: dict[int, tuple] = {}  # id of a compiled callable -> (the callable, its plain Python version)


def _load_registries():
    """Load Numba's typing and lowering registries now: 0.15 s of the import instead of the first call.

    One of them asks whether SciPy has BLAS by importing scipy.linalg, a fifth of all import time. SciPy is required here, and
    Numba asks again where BLAS is used, so the answer is given for it.
    """
    import numpy.ma  # noqa: F401  the first call of a jitted function asks for it
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


_load_registries()


def _check_overridden():
    """An override of what Numba no longer calls would silently do nothing."""
    overridden = {
        codegen.CPUCodeLibrary: ("add_ir_module",),
        codegen.JITCodeLibrary: ("_optimize_final_module", "_finalize_final_module", "get_pointer_to_function"),
        compiler.Compiler: ("_compile_core", "define_pipelines"),
        CPUDispatcher: ("get_compile_result",),
    }
    for owner, names in overridden.items():
        for name in names:
            getattr(owner, name)  # an AttributeError, which the import explains


_check_overridden()


_ours = False  # whether what Numba compiles right now belongs to a kernel; it compiles one thing at a time, under a lock


shape_loops(lambda: _ours)


class _ClosedLibrary(codegen.JITCodeLibrary):
    """Machine code of a kernel, which calls its own copies of the functions that were linked into it.

    Numba leaves these copies replaceable. Where a function had been compiled before, on its own or in another kernel, the
    linker takes that code, which was optimised in other surroundings and rounds differently; a process that loads the kernel
    from the disk cache has only the kernel's copy. The last bits of results would depend on the cache.
    """

    def _optimize_final_module(self):
        for f in self._final_module.functions:
            if not f.is_declaration and f.linkage == codegen.ll.Linkage.linkonce_odr:
                f.linkage = "private"  # "internal" names would still hide those of other modules from the linker
        super()._optimize_final_module()


class _PartLibrary(codegen.JITCodeLibrary):
    """A function that only jitted code calls: it is optimised and turned into machine code within the kernels, not here."""

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
class _NoOwnedArrays(FunctionPass):
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
            for statement in block.find_insts(ir.Assign)
            if isinstance(statement.value, ir.Expr) and statement.value.op == "call"
        ]
        held = [state.return_type, *(state.typemap[name] for name in calls)]
        if any(state.targetctx.data_model_manager[t].contains_nrt_meminfo() for t in held):
            raise errors.TypingError(
                f"{state.func_id.func_qualname} returns an array or calls what does; say array_function(allocates=True)"
            )
        return False


def _compiler(library):
    """Numba's compiler with another class for the code it makes."""

    class Compiler(compiler.Compiler):
        def _compile_core(self):
            global _ours
            before, _ours = _ours, True
            try:
                return super()._compile_core()
            finally:
                _ours = before

        def define_pipelines(self):
            state = self.state
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            pipelines = super().define_pipelines()
            for passes in pipelines:
                passes.add_pass_after(_NoOwnedArrays, NopythonTypeInference)
                passes.finalize()
            return pipelines

    return Compiler


_KERNEL_COMPILER, _PART_COMPILER = _compiler(_ClosedLibrary), _compiler(_PartLibrary)


class _Options(dict):
    """Options of a function that CUDA kernels may call: the copy that Numba's CUDA target takes is without fastmath.

    There any flag means approximate float32 arithmetic: quotients are off by 2 ulp, and 0 for divisors above 2^126. Products
    and sums are contracted on CUDA without a flag.
    """

    def copy(self):
        return {name: value for name, value in self.items() if name != "fastmath"}


_SCALAR = {"error_model": "numpy", "nogil": True, "forceinline": True, "fastmath": set(_SCALAR_FLAGS)}
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Scalar(CPUDispatcher):
    """A scalar formula: jitted code inlines it; Python calls a version of its own, with wrapper and machine code."""

    @functools.cached_property
    def _host(self):
        f = self.py_func
        if f.__closure__ or not f.__module__.startswith("numbastats."):  # of others the digest may miss a callee
            return njit(f, **_SCALAR)
        digest = cache.variant_digest(f, "host", _SCALAR_FLAGS, {})
        return cache.attach(njit(_renamed(f, f.__globals__, f"{f.__qualname__}__host__{digest}"), **_SCALAR))

    def __call__(self, *args, **kwargs):
        return self._host(*args, **kwargs)

    def get_compile_result(self, sig):
        """For Numba's function types, whose values are addresses of machine code."""
        return self._host.get_compile_result(sig)


def device_function(f):
    """Compile a scalar formula for use in CPU loops, CUDA kernels and user code."""
    options = _Options({"nopython": True, **_SCALAR, **_NO_WRAPPERS})
    return _Scalar(f, targetoptions=options, pipeline_class=_PART_COMPILER)


def array_function(f=None, *, fastmath=_SCALAR_FLAGS, host=True, allocates=False):
    """Compile a shared function that takes arrays; the simulator gets the plain version.

    With ``host=False`` only jitted code may call it (a call from Python crashes): the wrappers that unbox arrays are left
    out, and machine code is made in the kernels alone, up to half of the compile time. It must not raise. `build` makes a
    version for the host where one is needed after all. Unless it `allocates` or returns arrays it counts no references:
    its arguments outlive it, and each count is an atomic addition.
    """
    if f is None:
        return functools.partial(array_function, fastmath=fastmath, host=host, allocates=allocates)
    options = {}
    if not host:
        options = {**_NO_WRAPPERS, "pipeline_class": _PART_COMPILER, "_nrt": allocates}
    compiled = njit(error_model="numpy", nogil=True, fastmath=set(fastmath), **options)(f)
    compiled.targetoptions = _Options(compiled.targetoptions)
    set_plain(compiled, f)
    return compiled


def set_plain(compiled, plain):
    """Name the Python function that stands for `compiled` inside simulated CUDA kernels."""
    _PLAIN[id(compiled)] = (compiled, plain)


@functools.cache
def real_gpu() -> bool:
    """Whether a CUDA GPU can be used; the simulator does not count.

    Returns
    -------
    bool

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.has_gpu() in (True, False)
    True
    """
    if SIMULATED:
        return False
    try:
        return bool(cuda.is_available())
    except Exception:  # a broken driver installation raises anything; it is not a usable device
        return False


class _KernelCuda:
    """The module `cuda` for what a simulated kernel calls: the simulator swaps it among the kernel's own globals alone."""

    def __init__(self, kernel):
        self._kernel = kernel

    def __getattr__(self, name):
        return getattr(self._kernel["cuda"], name)


def _plain_globals(code: types.CodeType, glb: dict, done: dict, kernel: dict | None = None) -> dict:
    """Globals of a simulated kernel: array functions replaced by plain Python, recursively, which see the kernel's `cuda`."""
    out = dict(glb)
    for name in code.co_names:
        value = glb.get(name)
        if id(value) in _PLAIN:
            out[name] = _plain_version(value, done, out if kernel is None else kernel)
    return out


def _plain_version(compiled, done: dict, kernel: dict):
    if id(compiled) not in done:
        f = _PLAIN[id(compiled)][1]
        glb = dict(f.__globals__)
        done[id(compiled)] = types.FunctionType(f.__code__, glb, f.__name__, f.__defaults__, f.__closure__)
        # after the entry in `done`: functions may call each other
        glb.update(_plain_globals(f.__code__, glb, done, kernel))
        if glb.get("cuda") is cuda:
            glb["cuda"] = _KernelCuda(kernel)
    return done[id(compiled)]


def _renamed(f, glb, qualname):
    """The function with other globals and the name by which the disk cache knows it."""
    g = types.FunctionType(f.__code__, glb, f.__name__, f.__defaults__, f.__closure__)
    g.__module__, g.__qualname__ = f.__module__, qualname
    return g


def build(template, target: str, *, fastmath=(), **scalars):
    """Bind scalar functions to a loop skeleton and jit it for one target.

    Parameters
    ----------
    template : function
        Module-level function whose global names are bound to `scalars`.
    target : {"serial", "parallel", "cuda"}
    fastmath : collection of str
        LLVM flags of the loop itself, out of contract, reassoc, nsz, arcp, afn.
    **scalars
        Values for the template's free names.

    Returns
    -------
    dispatcher
        A Numba dispatcher; the disk cache is keyed by a hash of all sources and flags.
    """
    flags = frozenset(fastmath)
    if not flags <= _ALLOWED_FLAGS:
        raise ValueError(f"fastmath flags {sorted(flags - _ALLOWED_FLAGS)} are not allowed; use some of {sorted(_ALLOWED_FLAGS)}")
    if target not in ("serial", "parallel", "cuda"):
        raise ValueError(f"unknown target {target!r}; use 'serial', 'parallel' or 'cuda'")
    glb = dict(template.__globals__)
    glb.update(scalars)
    simulated = target == "cuda" and SIMULATED
    if simulated:
        glb = _plain_globals(template.__code__, glb, {})
    bound = "_".join(getattr(v, "__name__", str(v)) for v in scalars.values())
    digest = cache.variant_digest(template, target, flags, scalars)
    f = _renamed(template, glb, f"{template.__name__}__{bound[:80]}__{target}__{digest}")
    if simulated:
        return cuda.jit(f)
    if target == "cuda":
        from numba.cuda.dispatcher import CUDACache

        return cache.attach(cuda.jit(f, **_PTX), CUDACache)
    parallel = target == "parallel"
    compiled = cache.attach(
        njit(f, nogil=True, parallel=parallel, error_model="numpy", fastmath=set(flags), pipeline_class=_KERNEL_COMPILER)
    )
    compiled.compile = _uncollected(compiled.compile)
    return compiled


def _uncollected(compile):
    """Compile with the garbage collector off: it walks the compiler's live objects again and again, a tenth of the time."""

    @functools.wraps(compile)
    def without_collection(signature):
        if not gc.isenabled():
            return compile(signature)
        gc.disable()
        try:
            return compile(signature)
        finally:
            gc.enable()

    return without_collection


class Kernel:
    """The CPU and the CUDA twin of one job; each target is built on first use.

    Parameters
    ----------
    name : str
        "topic.job"; the topic is what `warmup` selects by.
    cpu, cuda : function
        Loop skeletons with the same argument list.
    signatures : callable
        Maps a Numba float type to the list of argument-type tuples the kernel is used with.
    fastmath : collection of str
        Flags of the CPU loop.
    dtypes : tuple of str
        Float types the job is offered in.
    f64_ok : str, optional
        Why a float32 instance may contain double-precision instructions.
    cpu_only, cuda_only : dict
        Scalars bound on one side only.
    split : callable, optional
        Maps the arguments and a number to about that many lists of arguments, one for each part of the problems. The
        parallel twin is then the serial one called on the parts from Python threads. For coarse problems with a large body:
        Numba would compile that body once for `prange` and twice more for the loop around it.
    **scalars
        Scalars bound on both sides.
    """

    def __init__(
        self,
        name,
        cpu,
        cuda,
        signatures,
        *,
        dtypes=("float64", "float32"),
        fastmath=(),
        f64_ok=None,
        cpu_only=None,
        cuda_only=None,
        split=None,
        **scalars,
    ):
        if name in REGISTRY:
            raise ValueError(f"kernel {name!r} is already registered")
        self.name, self.signatures, self.dtypes, self.f64_ok = name, signatures, dtypes, f64_ok
        self._module = sys._getframe(1).f_globals["__name__"]  # where unpickling finds the registration again
        self._cpu, self._cuda, self._fastmath, self._split = cpu, cuda, fastmath, split
        self._cpu_scalars, self._cuda_scalars = {**scalars, **(cpu_only or {})}, {**scalars, **(cuda_only or {})}
        REGISTRY[name] = self

    def __repr__(self):
        return f"<Kernel {self.name}>"

    def __reduce__(self):
        return _registered, (self._module, self.name)

    @functools.cached_property
    def serial(self):
        """The CPU twin on one thread."""
        return build(self._cpu, "serial", fastmath=self._fastmath, **self._cpu_scalars)

    @functools.cached_property
    def parallel(self):
        """The CPU twin, same source, `prange` in parallel; with `split` in threads."""
        if self._split is not None:
            return InThreads(self.serial, self._split)
        return build(self._cpu, "parallel", fastmath=self._fastmath, **self._cpu_scalars)

    @functools.cached_property
    def cuda(self):
        """The CUDA twin, or the simulator's."""
        return build(self._cuda, "cuda", **self._cuda_scalars)

    def numba_signatures(self):
        """Argument types per dtype this kernel is offered in: pairs (dtype name, tuple of Numba types)."""
        return [(d, s) for d in self.dtypes for s in self.signatures(getattr(numba.types, d))]


class InThreads:
    """A serial twin called on parts of its problems, by as many threads as Numba would use here."""

    def __init__(self, serial, split):
        self.serial, self.split, self.compile = serial, split, serial.compile

    def __call__(self, *args, nanoseconds=math.inf):
        threads = numba.get_num_threads()
        parts = max(1, int(min(PARTS * threads, nanoseconds / PART)))
        in_threads(self.serial, self.split(args, parts), threads)


class HostLoop:
    """A loop that runs on the host on every device; each target is built on first use.

    Parameters
    ----------
    name : str
        "topic.job".
    template : function
        Module-level function, or a scalar formula that the host calls.
    signatures : list of tuple
        Types of the arguments it is used with.
    parallel : bool
        Whether there is a parallel twin.
    """

    def __init__(self, name, template, signatures, *, parallel=True):
        if name in HOST_LOOPS:
            raise ValueError(f"loop {name!r} is already registered")
        self.name, self.template, self.signatures, self._threads = name, template, signatures, parallel
        HOST_LOOPS[name] = self

    def __repr__(self):
        return f"<HostLoop {self.name}>"

    def __call__(self, *args):
        return self.serial(*args)

    @functools.cached_property
    def serial(self):
        """The loop on one thread."""
        return self.template._host if isinstance(self.template, _Scalar) else build(self.template, "serial")

    @functools.cached_property
    def parallel(self):
        """The loop on several threads, if it has such a twin."""
        return build(self.template, "parallel") if self._threads else self.serial


def host_loop(name, *signatures):
    """Make a function a `HostLoop`."""
    return lambda template: HostLoop(name, template, signatures)


def _registered(module, name):
    importlib.import_module(module)
    return REGISTRY[name]


TOPICS = ("bayes", "kde", "mixture", "quantile", "random", "stable")
USES = {  # kernels of other topics that a topic's functions call
    "bayes": ("random.", "quantile.ndtri"), "kde": ("random.",), "mixture": ("random.",), "quantile": ("random.",),
}  # fmt: skip


def warmup(topic: str | None = None, *, parallel: bool = True) -> int:
    """Compile kernels ahead of use, into the disk cache.

    Parameters
    ----------
    topic : {"bayes", "kde", "mixture", "quantile", "random", "stable"}, optional
        Sub-package, with what its functions use of others; all of them by default, which takes minutes.
    parallel : bool
        Also compile the parallel twins.

    Returns
    -------
    int
        Number of machine-code variants that are ready.

    Raises
    ------
    ValueError
        For another topic.

    Examples
    --------
    >>> import numbastats as ns
    >>> ns.warmup("quantile", parallel=False) > 0
    True
    """
    topics = TOPICS if topic is None else (choice("topic", topic, TOPICS),)
    for name in topics:
        package = importlib.import_module(f"numbastats.{name}")
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
            importlib.import_module(module.name)  # some are imported by the first call that needs them
    jobs = [(kernel, signature) for kernel in REGISTRY.values() for _, signature in kernel.numba_signatures()]
    jobs += [(loop, signature) for loop in HOST_LOOPS.values() for signature in loop.signatures]
    wanted = tuple(prefix for name in topics for prefix in (f"{name}.", *USES.get(name, ())))
    count = 0
    for job, signature in jobs:
        if job.name.startswith(wanted):
            for twin in dict.fromkeys((job.serial, job.parallel) if parallel else (job.serial,)):
                twin.compile(signature)
                count += 1
    return count
