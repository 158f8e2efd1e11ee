"""Kernels, and the functions they are made of: the only file in which functions are jitted.

What passes through here:

* `device_function`: a scalar formula. Callable from njit loops, from CUDA kernels and from Python.
* `array_function`: a shared body that takes arrays. In the CUDA simulator its plain Python version is used,
  because compiled code cannot be handed the simulator's array objects.
* `build(template, target, **scalars)`: a module-level loop skeleton with its scalar functions bound by name; `bind` does
  the same for an array function.

`Kernel` holds the CPU and the CUDA twin of one job and enters itself into `REGISTRY`.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import inspect
import math
import sys
import threading
import time
import types

import numba
from numba import njit

from numbastats import config
from numbastats._core import cache, numba_internals
from numbastats._core.cuda_backend import cuda
from numbastats._core.parallel import in_threads
from numbastats._core.progress import LOG
from numbastats._core.slabs import interrupts_held
from numbastats._core.sources import TREE, modules_of

__all__ = [
    "HOST_LOOPS",
    "REGISTRY",
    "SIMULATED",
    "HostLoop",
    "InThreads",
    "Kernel",
    "WithFunctions",
    "array_function",
    "bind",
    "build",
    "device_function",
    "host_loop",
    "real_gpu",
    "set_plain",
    "users_function",
]

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
# the compensated sums and the magic-constant rounding inside a scalar. The option must be there even for no flags:
# a function without it inherits its caller's, and 2^x in sums over mixtures was off by 17 %.
_SCALAR_FLAGS = frozenset({"contract"})
_ALLOWED_FLAGS = frozenset({"contract", "reassoc", "nsz", "arcp", "afn"})

PARTS = 24  # per thread at most, where threads call a serial twin: a part that ends late leaves the others waiting
PART = 1e6  # nanoseconds that a part lasts at least: one costs some 30 us

_OPTIONS: dict[int, dict] = {}  # of an array function, by its id
_PLAIN: dict[int, tuple] = {}  # id of a compiled callable -> (the callable, its plain Python version)


_SCALAR = {"error_model": "numpy", "nogil": True, "forceinline": True, "fastmath": set(_SCALAR_FLAGS)}


def _for_the_host(f):
    """A version of a scalar formula with what Python needs to call it, in the disk cache."""
    variant = cache.variant(f, "host", _SCALAR_FLAGS, {})
    named = _renamed(f, f.__globals__, f"{f.__qualname__}__host__{variant.name}")
    return cache.attach(njit(named, **_SCALAR), variant, linkable=True)


def device_function(f=None, *, inline=True):
    """Compile a scalar formula for use in CPU loops, CUDA kernels and user code; long ones may do without being inlined."""
    if f is None:
        return functools.partial(device_function, inline=inline)
    return numba_internals.scalar_dispatcher(f, _SCALAR | {"forceinline": inline}, _for_the_host)


def users_function(name, function, arguments, result):
    """A scalar formula of a user's function, plain or compiled; TypeError where Numba does not compile it, with the reason."""
    function = getattr(function, "py_func", function)
    if not callable(function):
        raise TypeError(f"{name} is a {type(function).__name__}; it must be a function of {len(arguments)} numbers")
    compiled = njit(function)
    try:
        compiled.compile(arguments)
    except (numba_internals.NumbaError, TypeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip() and "nopython mode" not in line]
        where = next((line for line in lines if line.startswith("File ")), "")
        words = f"{name}: Numba does not compile it for {len(arguments)} numbers: {lines[0]}\n{where}"
        raise TypeError(words.strip()) from None
    found = compiled.nopython_signatures[0].return_type
    if found != result:
        raise TypeError(f"{name} returns {found} for {len(arguments)} numbers; it must return {result}")
    return device_function(function)


def array_function(f=None, *, fastmath=_SCALAR_FLAGS, host=True, allocates=False):
    """Compile a shared function that takes arrays; the simulator gets the plain version.

    With ``host=False`` only jitted code may call it (a call from Python crashes): the wrappers that unbox arrays are left
    out, and machine code is made in the kernels alone, up to half of the compile time. It must not raise. `build` makes a
    version for the host where one is needed after all. Unless it `allocates` or returns arrays it counts no references:
    its arguments outlive it, and each count is an atomic addition.
    """
    if f is None:
        return functools.partial(array_function, fastmath=fastmath, host=host, allocates=allocates)
    options = {} if host else numba_internals.part_options(allocates)
    compiled = njit(error_model="numpy", nogil=True, fastmath=set(fastmath), **options)(f)
    compiled.targetoptions = numba_internals.CudaOptions(compiled.targetoptions)
    set_plain(compiled, f)
    _OPTIONS[id(compiled)] = {"fastmath": fastmath, "host": host, "allocates": allocates}
    return compiled


def bind(function, **names):
    """An array function, or a scalar formula, with other functions, or numbers, in place of some that it knows by global names.

    Parameters
    ----------
    function : dispatcher
        Of `array_function` or `device_function`.
    **names
        What its global names stand for.

    Returns
    -------
    dispatcher
    """
    scalar = id(function) not in _PLAIN
    plain = function.py_func if scalar else _PLAIN[id(function)][1]
    bound = "_".join(map(_name_of, names.values()))  # by the name the disk cache tells kernels apart; it names a file, too
    bound = bound if len(bound) < 64 else f"{bound[:40]}_{hashlib.sha256(bound.encode()).hexdigest()[:16]}"
    renamed = _renamed(plain, {**plain.__globals__, **names}, f"{plain.__qualname__}[{bound}]")
    renamed.bound = getattr(plain, "bound", {}) | names
    if scalar:
        options = _SCALAR | {"forceinline": function.targetoptions["forceinline"]}
        return numba_internals.scalar_dispatcher(renamed, options, _for_the_host)
    return array_function(renamed, **_OPTIONS[id(function)])


def _name_of(value):
    """What tells a bound function from others; those of a family of distributions, or of a response, have others' names."""
    f = getattr(value, "py_func", value)
    room, _, file = (getattr(f, "__module__", None) or "").rpartition(".")
    return f"{file}.{f.__qualname__}" if room.endswith((".families", ".responses")) else getattr(f, "__qualname__", str(f))


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
        glb, cells = dict(f.__globals__), f.__closure__
        if cells is not None:
            held = [c.cell_contents for c in cells]
            cells = tuple(types.CellType(_plain_version(v, done, kernel) if id(v) in _PLAIN else v) for v in held)
        done[id(compiled)] = types.FunctionType(f.__code__, glb, f.__name__, f.__defaults__, cells)
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


def build(template, target: str, *, fastmath=(), _registered_in=None, _on_disk=True, **scalars):
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
        A Numba dispatcher; the disk cache is keyed by flags and by the sources that the functions reach.
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
    if simulated:
        return cuda.jit(_renamed(template, glb, f"{template.__name__}__{bound[:80]}__{target}"))
    variant = cache.variant(template, target, flags, scalars, _registered_in)
    f = _renamed(template, glb, f"{template.__name__}__{bound[:80]}__{target}__{variant.name}")
    if target == "cuda":
        numba_internals.probe_cuda()
        return cache.attach(cuda.jit(f, **_PTX), variant, on_disk=_on_disk)
    options = {"nogil": True, "error_model": "numpy", "fastmath": set(flags), **numba_internals.kernel_options()}
    compiled = cache.attach(njit(f, parallel=target == "parallel", **options), variant, on_disk=_on_disk)
    compiled.compile = _undisturbed(compiled.compile, f.__module__, f.__name__)
    return compiled


def _undisturbed(compile, module, name):
    """Compile with the garbage collector off and Ctrl-C put off to the end, and say so where it takes long.

    The collector walks the compiler's live objects again and again, a tenth of the time. An interrupt within one of LLVM's
    callbacks is lost, or leaves half a function behind.
    """

    @functools.wraps(compile)
    def undisturbed(signature):
        collect = gc.isenabled()
        gc.disable()
        try:
            began = time.perf_counter()
            with interrupts_held(), _announced(module):
                made = compile(signature)
            LOG.debug("%s.%s ready in %.3f s (compiled, or from the cache)", module, name, time.perf_counter() - began)
            return made
        finally:
            if collect:
                gc.enable()

    return undisturbed


ANNOUNCED_AFTER = 1.0  # seconds
_was_announced = False


@contextlib.contextmanager
def _announced(module):
    """Say on stderr, once in a process, that a first call waits for the compiler, and what to do about it."""
    package, _, rest = module.partition(".")
    room = rest.partition(".")[0]
    if package != "numbastats" or _was_announced or not config.get("messages"):
        yield
        return

    def say():
        global _was_announced
        if not _was_announced:
            _was_announced = True
            command = "warmup" if room == "scalar" else f"warmup {room}"
            print(
                f"numbastats compiles a function of numbastats.{room} for this processor, and others when they are first called: "
                f"later processes take them from the disk. `python -m numbastats {command}` does it ahead; "
                "numbastats.config.set(messages=False) silences this.",
                file=sys.stderr,
                flush=True,
            )

    timer = threading.Timer(ANNOUNCED_AFTER, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Loop:
    """A loop of the CPU, known by its name; each target is built on first use."""

    _registered = True

    def __init__(self, registry, name, cpu, signatures, fastmath, split, scalars, parallel=True):
        if self._registered and (name in REGISTRY or name in HOST_LOOPS):
            raise ValueError(f"loop {name!r} is already registered")
        self.name, self.signatures, self._cpu, self._fastmath = name, signatures, cpu, fastmath
        self._split, self._on_cpu = split, scalars
        self.threaded = parallel and split is None  # whether the parallel twin is code of its own
        self._module = sys._getframe(2).f_globals["__name__"]  # where unpickling finds the registration again
        if self._registered:
            registry[name] = self

    def __repr__(self):
        return f"<{type(self).__name__} {self.name}>"

    @property
    def _cpu_scalars(self):
        return self._on_cpu

    def with_cache(self, template, target, **options):
        """A twin, or a function of its own, that is kept in the disk cache; of a kernel of users' functions it is not."""
        return build(template, target, _registered_in=self._module, _on_disk=self._registered, **options)

    def _built(self, target):
        return self.with_cache(self._cpu, target, fastmath=self._fastmath, **self._cpu_scalars)

    @functools.cached_property
    def serial(self):
        """The loop on one thread."""
        return self._built("serial")

    @functools.cached_property
    def parallel(self):
        """The loop on several threads: `prange` in parallel, with `split` Python threads, else the serial one."""
        if self._split is not None:
            return InThreads(self.serial, self._split)
        return self._built("parallel") if self.threaded else self.serial

    def _functions(self):
        return self._cpu, *self._cpu_scalars.values()

    def closure(self):
        """The modules on which the machine code depends."""
        return TREE.closure({self._module}.union(*map(modules_of, self._functions())))


class Kernel(_Loop):
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
        parallel twin is then the serial one called on the parts from Python threads. For coarse problems with a large body, which
        would be compiled a second time for `prange`.
    on_host : bool
        Whether the CPU twin serves users; else it stands for the CUDA twin in tests alone, and is not compiled ahead.
    late : callable, optional
        Gives further scalars of both sides, when the first twin is built.
    registered : bool
        Whether it is one of the package's own, which `warmup` compiles and the disk cache keeps; another has users' functions.
    **scalars
        Scalars bound on both sides.
    """

    shared = None  # gives the serial twin where many kernels have one: `WithFunctions`

    def __init__(  # noqa: PLR0913
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
        on_host=True,
        late=None,
        registered=True,
        **scalars,
    ):
        self._registered = registered
        self.dtypes, self.f64_ok, self.on_host, self._late = dtypes, f64_ok, on_host, late
        self._cuda, self._on_cuda = cuda, {**scalars, **(cuda_only or {})}
        super().__init__(REGISTRY, name, cpu, signatures, fastmath, split, {**scalars, **(cpu_only or {})})

    @functools.cached_property
    def serial(self):
        """The loop on one thread."""
        return self.shared() if self.shared and "addresses" in numba_internals.ACTIVE else self._built("serial")

    @functools.cached_property
    def _late_scalars(self):
        return self._late() if self._late else {}

    @property
    def _cpu_scalars(self):
        return self._on_cpu | self._late_scalars

    @property
    def _cuda_scalars(self):
        return self._on_cuda | self._late_scalars

    def __reduce__(self):
        return _registered, (self._module, self.name)

    @functools.cached_property
    def cuda(self):
        """The CUDA twin, or the simulator's."""
        return self.with_cache(self._cuda, "cuda", **self._cuda_scalars)

    def _functions(self):
        return *super()._functions(), self._cuda, *self._cuda_scalars.values()

    def numba_signatures(self):
        """Argument types per dtype this kernel is offered in: pairs (dtype name, tuple of Numba types)."""
        return [(d, s) for d in self.dtypes for s in self.signatures(getattr(numba.types, d))]


class WithFunctions:
    """A serial twin that many kernels share, and which calls the functions of one of them by their addresses.

    The functions are compiled each by itself, and what calls them once. Its first argument is a tuple: what a call gives there,
    facts of the kernel, and the addresses.

    Parameters
    ----------
    shared : dispatcher
    signature : tuple
        Of the shared twin.
    facts : object
    functions : dict
        Types of the arguments by the dispatcher.
    smaller : dict, optional
        For some of the functions, what takes their place in calls whose first argument is 0.
    """

    def __init__(self, shared, signature, facts, functions, smaller=None):
        self._facts, self._functions, self._smaller, self._added = facts, functions, smaller or {}, {}
        every = functions | {f: functions[g] for g, f in self._smaller.items()}
        for dispatcher in every:  # Python never calls them
            dispatcher.targetoptions.update(numba_internals.NO_WRAPPERS)
        self.parts = [(shared, signature), *every.items()]  # the dispatchers, with the one signature of each
        self.signatures = []

    def compile(self, signature):
        """Compile all that calls need."""
        for dispatcher, arguments in self.parts:
            dispatcher.compile(arguments)
        self.signatures = [signature]

    def _first(self, code):
        """The first argument of a call, whose functions are compiled."""
        alone = code == 0
        if alone not in self._added:
            (shared, (first, *others)), used = self.parts[0], self._functions
            if alone:
                used = {self._smaller.get(f, f): arguments for f, arguments in used.items()}
            for dispatcher, arguments in ((shared, (first, *others)), *used.items()):
                dispatcher.compile(arguments)
            self.signatures = [(first[0], *others)]  # as `warmup` knows it
            self._added[alone] = self._facts, *(numba_internals.address(*one) for one in used.items())
        return code, *self._added[alone]

    def __call__(self, code, *args):
        self.parts[0][0](self._first(code), *args)


class InThreads:
    """A serial twin called on parts of its problems, by as many threads as Numba would use here."""

    def __init__(self, serial, split):
        self.serial, self.split, self.compile = serial, split, serial.compile

    def __call__(self, *args, nanoseconds=math.inf):
        threads = numba.get_num_threads()
        parts = max(1, int(min(PARTS * threads, nanoseconds / PART)))
        in_threads(self.serial, self.split(args, parts), threads)


class HostLoop(_Loop):
    """A loop that runs on the host on every device; each target is built on first use.

    Parameters
    ----------
    name : str
        "topic.job".
    template : function
        Module-level function, or a scalar formula that the host calls.
    signatures : list of tuple
        Types of the arguments it is used with.
    fastmath : collection of str
        Flags of the loop.
    parallel : bool
        Whether there is a parallel twin.
    split : callable, optional
        As in `Kernel`.
    **scalars
        Values for the template's free names.
    """

    def __init__(self, name, template, signatures, *, fastmath=(), parallel=True, split=None, **scalars):
        super().__init__(HOST_LOOPS, name, template, signatures, fastmath, split, scalars, parallel)

    def __call__(self, *args):
        return self.serial(*args)

    def _built(self, target):
        if inspect.isfunction(self._cpu):
            return super()._built(target)
        return getattr(self._cpu, "host", self._cpu)  # a scalar formula


def host_loop(name, *signatures):
    """Make a function a `HostLoop`."""
    return lambda template: HostLoop(name, template, signatures)


def _registered(module, name):
    importlib.import_module(module)
    return REGISTRY[name]
