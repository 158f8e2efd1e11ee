"""The few LLVM intrinsics that Python lacks: bit casts, fused multiply-add, type dispatch, array access, tables, atomics."""

from __future__ import annotations

import functools
import re

from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np import arrayobj

from numbastats._core.kernel import set_plain
from numbastats._core.numba_internals import in_step_here

__all__ = [
    "LANES",
    "at",
    "at2",
    "atomic_add",
    "buffer",
    "by_dtype",
    "clip",
    "fma",
    "from_bits",
    "horner",
    "in_step",
    "muladd",
    "pair_at",
    "pairs",
    "quotient",
    "polynomial",
    "real",
    "reread",
    "root",
    "row_lanes",
    "row_of",
    "to_bits",
]

LANES = 8  # rows that `row_lanes` evaluates at once


@intrinsic
def to_bits(typingctx, x):
    """The bit pattern of a float: float64 -> int64, float32 -> int32."""
    if x == types.float64:
        return types.int64(x), lambda context, builder, sig, args: builder.bitcast(args[0], ir.IntType(64))
    if x == types.float32:
        return types.int32(x), lambda context, builder, sig, args: builder.bitcast(args[0], ir.IntType(32))
    return None


@intrinsic
def from_bits(typingctx, k):
    """The float with the bit pattern k: 64-bit integer -> float64, 32-bit integer -> float32."""
    if k in (types.int64, types.uint64):
        return types.float64(k), lambda context, builder, sig, args: builder.bitcast(args[0], ir.DoubleType())
    if k in (types.int32, types.uint32):
        return types.float32(k), lambda context, builder, sig, args: builder.bitcast(args[0], ir.FloatType())
    return None


@intrinsic
def atomic_add(typingctx, a, i, v):
    """``a[i] += v`` for a float array that several CPU threads add to; no negative indices, no check."""
    if not isinstance(a, types.Array) or a.ndim != 1 or a.dtype != v:
        return None

    def codegen(context, builder, sig, args):
        array = arrayobj.make_array(a)(context, builder, args[0])
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = cgutils.get_item_pointer(context, builder, a, array, [index], wraparound=False)
        builder.atomic_rmw("fadd", pointer, args[2], "monotonic")
        return context.get_dummy_value()

    return types.none(a, i, v), codegen


def _floating(kind):
    if not isinstance(kind, types.Float):
        raise TypingError(f"a scalar function got {kind}; it takes float64 and float32. Convert with float(...)")


@intrinsic
def real(typingctx, x):
    """A number as a float: float64 and float32 stay, integers become float64."""
    kind = types.float64 if isinstance(x, types.Integer | types.Boolean) else x
    _floating(kind)
    return kind(kind), lambda context, builder, sig, args: args[0]


@intrinsic
def clip(typingctx, x, lo, hi):
    """X in [lo, hi]; NaN stays. Two selections, where LLVM would make one test of two branches."""
    _floating(x)

    def codegen(context, builder, sig, args):
        x, lo, hi = args
        x = builder.select(builder.fcmp_ordered("<", x, lo), lo, x)
        return builder.select(builder.fcmp_ordered(">", x, hi), hi, x)

    return x(x, x, x), codegen


@intrinsic
def fma(typingctx, a, b, c):
    """``a*b + c`` rounded once, on every processor (a slow library call where there is no such instruction)."""
    _floating(a)
    return a(a, a, a), lambda context, builder, sig, args: builder.fma(*args)


@intrinsic
def muladd(typingctx, a, b, c):
    """``a*b + c``: one rounding where the processor can, two elsewhere. For polynomials, not for exact residuals."""
    _floating(a)
    return a(a, a, a), lambda context, builder, sig, args: _emit_muladd(context, builder, *args)


def _emit_muladd(context, builder, a, b, c):
    target = context.codegen()
    if not hasattr(target, "_tm") or _has_fma(target.magic_tuple()):  # CUDA has no host machine, and always has fma
        if not isinstance(a.type, ir.VectorType):
            return builder.fma(a, b, c)
        bits = 64 if isinstance(a.type.element, ir.DoubleType) else 32
        signature = ir.FunctionType(a.type, [a.type] * 3)
        name = f"llvm.fma.v{a.type.count}f{bits}"
        return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), (a, b, c))
    return builder.fadd(builder.fmul(a, b), c)


@intrinsic
def quotient(typingctx, a, b):
    """``a/b`` rounded to nearest, for normal numbers with a normal quotient, and for a = +0 (not for -0).

    On CUDA it has the instructions that the compiler makes of a division, without its test and call for all other numbers, across
    which nothing is moved.
    """
    _floating(a)

    def codegen(context, builder, sig, args):
        a, b = args
        if hasattr(context.codegen(), "_tm"):
            return builder.fdiv(a, b)
        minus, inverse = _minus(builder, b), _approximate(builder, "rcp", b)
        if a.type == ir.DoubleType():  # the instruction gives the upper half; above 1/2, where b is next to 2
            bits = builder.bitcast(inverse, ir.IntType(64))
            inverse = builder.bitcast(builder.or_(bits, ir.Constant(ir.IntType(64), 1)), a.type)
        rest = builder.fma(minus, inverse, ir.Constant(a.type, 1.0))
        if a.type == ir.DoubleType():
            inverse = builder.fma(inverse, builder.fma(rest, rest, rest), inverse)
            rest = builder.fma(minus, inverse, ir.Constant(a.type, 1.0))
        inverse = builder.fma(inverse, rest, inverse)
        value = builder.fmul(a, inverse)
        for _ in range(1 if a.type == ir.DoubleType() else 2):
            value = builder.fma(inverse, builder.fma(minus, value, a), value)
        return value

    return a(a, a), codegen


@intrinsic
def root(typingctx, x):
    """The square root rounded to nearest, for normal numbers that are neither next to the smallest nor to the largest."""
    _floating(x)

    def codegen(context, builder, sig, args):
        (x,) = args
        if hasattr(context.codegen(), "_tm"):
            return builder.call(builder.module.declare_intrinsic("llvm.sqrt", [x.type]), args)
        inverse, half = _approximate(builder, "rsqrt", x), ir.Constant(x.type, 0.5)
        if x.type == ir.DoubleType():
            rest = builder.fma(x, _minus(builder, builder.fmul(inverse, inverse)), ir.Constant(x.type, 1.0))
            more = builder.fma(rest, ir.Constant(x.type, 0.375), half)
            inverse = builder.fma(more, builder.fmul(inverse, rest), inverse)
        value = builder.fmul(x, inverse)
        return builder.fma(builder.fma(_minus(builder, value), value, x), builder.fmul(inverse, half), value)

    return x(x), codegen


def _minus(builder, x):
    return builder.fsub(ir.Constant(x.type, -0.0), x)


def _approximate(builder, name, x):
    """The reciprocal ("rcp") of a float, or that of its root ("rsqrt"), to 20 bits or more, by an instruction of PTX."""
    bits, letter = (64, "d") if x.type == ir.DoubleType() else (32, "f")
    code = f"{name}.approx.ftz.f{bits} $0, $1;"
    return builder.call(ir.InlineAsm(ir.FunctionType(x.type, [x.type]), code, f"={letter},{letter}"), [x])


def _emit_horner(context, builder, x, coefficients):
    value = ir.Constant(x.type, coefficients[-1])
    for c in coefficients[-2::-1]:
        value = _emit_muladd(context, builder, value, x, ir.Constant(x.type, c))
    return value


def horner(*coefficients):
    """An intrinsic that evaluates a polynomial of x, coefficients ascending, in x's own float type."""

    @intrinsic
    def polynomial(typingctx, x):
        _floating(x)

        def codegen(context, builder, sig, args):
            return _emit_horner(context, builder, args[0], coefficients)

        return x(x), codegen

    return polynomial


def polynomial(*coefficients):
    """The same as even + x odd: two short chains instead of a long one."""
    even, odd = coefficients[::2], coefficients[1::2]

    @intrinsic
    def polynomial(typingctx, x):
        _floating(x)

        def codegen(context, builder, sig, args):
            (x,) = args
            square = builder.fmul(x, x)
            halves = [_emit_horner(context, builder, square, half) for half in (odd, even)]
            return _emit_muladd(context, builder, x, *halves)

        return x(x), codegen

    return polynomial


@intrinsic
def pairs(typingctx, x, coefficients):
    """The value of a polynomial of x, coefficients ascending, by pairs of neighbouring coefficients, then pairs of pairs."""
    return x(x, types.UniTuple(x, len(coefficients))), lambda context, builder, sig, args: _emit_pairs(
        context, builder, args[0], cgutils.unpack_tuple(builder, args[1])
    )


def _emit_pairs(context, builder, x, c):
    while len(c) > 1:
        c = [_emit_muladd(context, builder, x, *c[k : k + 2][::-1]) for k in range(0, len(c) - 1, 2)] + c[len(c) // 2 * 2 :]
        x = builder.fmul(x, x)
    return c[0]


def row_lanes(columns):
    """An intrinsic (table, row, x, i): x[k] becomes `pairs` of x[k] and row row[k] of the table for `LANES` values k from i.

    `columns` coefficients, an even number, are in a row. Rows are loaded whole and transposed in registers, which is twice as
    fast as loading their coefficients one by one, or as gathering them. No index is checked.
    """

    @intrinsic
    def evaluate(typingctx, table, row, x, i):
        def codegen(context, builder, sig, args):
            data = [arrayobj.make_array(t)(context, builder, a).data for t, a in zip(sig.args[:3], args, strict=False)]
            element = context.get_value_type(table.dtype)
            width = context.get_abi_sizeof(element)

            def vector(pointer, count):
                return builder.bitcast(pointer, ir.PointerType(ir.VectorType(element, count)))

            def shuffle(a, b, lanes):
                lanes = [ir.Constant(ir.IntType(32), k) for k in lanes]
                return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))

            rows = []
            for k in range(LANES):
                r = builder.load(builder.gep(data[1], [builder.add(args[3], ir.Constant(args[3].type, k))]))
                r = builder.gep(data[0], [builder.mul(r, ir.Constant(r.type, columns))])
                rows.append(builder.load(vector(r, columns), align=width))
            # even columns of two rows side by side, and odd ones; then four rows, then eight
            two = [
                [shuffle(a, b, [odd + k + m for k in range(0, columns, 2) for m in (0, columns)]) for odd in (0, 1)]
                for a, b in zip(rows[::2], rows[1::2], strict=True)
            ]
            c = []
            for j in range(columns):
                even = j // 2 * 2
                lanes = [even, even + 1, even + columns, even + 1 + columns]
                four = [shuffle(two[k][j % 2], two[k + 1][j % 2], lanes) for k in (0, 2)]
                c.append(shuffle(*four, range(LANES)))
            local = vector(builder.gep(data[2], [args[3]]), LANES)
            value = _emit_pairs(context, builder, builder.load(local, align=width), c)
            builder.store(value, local, align=width)
            return context.get_dummy_value()

        return types.void(table, row, x, types.intp), codegen

    evaluate.__name__ = evaluate.__qualname__ = f"row_lanes_{columns}"  # the disk cache knows functions by their names
    return evaluate


@intrinsic
def pair_at(typingctx, a, i, j):
    """``a[i, j], a[i, j + 1]`` of a C-contiguous float64 array; no negative indices, no check.

    On CUDA one load of 16 bytes: j is even, and so is the number of columns.
    """

    def codegen(context, builder, sig, args):
        array = arrayobj.make_array(a)(context, builder, args[0])
        index = [context.cast(builder, v, kind, types.intp) for v, kind in zip(args[1:], sig.args[1:], strict=True)]
        pointer = cgutils.get_item_pointer(context, builder, a, array, index, wraparound=False)
        vector = ir.PointerType(ir.VectorType(ir.DoubleType(), 2))
        both = builder.load(builder.bitcast(pointer, vector), align=8 if hasattr(context.codegen(), "_tm") else 16)
        lanes = [builder.extract_element(both, ir.Constant(ir.IntType(32), k)) for k in range(2)]
        return context.make_tuple(builder, sig.return_type, lanes)

    return types.UniTuple(types.float64, 2)(a, i, j), codegen


set_plain(pair_at, lambda a, i, j: (a[i, j], a[i, j + 1]))


def row_of(columns, plain):
    """An intrinsic (table, row, x): `pairs` of x and a row of `columns` coefficients, for CUDA kernels.

    The row is loaded as vectors of 16 bytes: tables lie in memory at multiples of as many, and so do their rows. `plain` is
    what simulated kernels call instead.
    """

    @intrinsic
    def evaluate(typingctx, table, row, x):
        def codegen(context, builder, sig, args):
            data = arrayobj.make_array(table)(context, builder, args[0]).data
            element = context.get_value_type(table.dtype)
            count = 16 // context.get_abi_sizeof(element)
            first, c = builder.gep(data, [builder.mul(args[1], ir.Constant(args[1].type, columns))]), []
            for k in range(0, columns, count):
                vector = builder.gep(first, [ir.Constant(ir.IntType(64), k)])
                vector = builder.load(builder.bitcast(vector, ir.PointerType(ir.VectorType(element, count))), align=16)
                c += [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(count)]
            return _emit_pairs(context, builder, args[2], c)

        return x(table, types.int64, x), codegen

    evaluate.__name__ = evaluate.__qualname__ = f"row_of_{columns}"
    set_plain(evaluate, plain)
    return evaluate


@functools.cache
def _has_fma(magic_tuple) -> bool:
    """Whether LLVM turns llvm.fma into an instruction (not a call) for this triple, processor and feature list."""
    triple, cpu, features = magic_tuple[:3]
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features)
    return re.search(r"\w*madd\w*\s", machine.emit_assembly(llvm.parse_assembly(_FMA_PROBE))) is not None


_FMA_PROBE = """
declare double @llvm.fma.f64(double, double, double)
define double @f(double %a, double %b, double %c) {
  %r = call double @llvm.fma.f64(double %a, double %b, double %c)
  ret double %r
}
"""


def by_dtype(f64, f32, arity=1):
    """An intrinsic that calls `f32` when its first argument is float32 and `f64` otherwise."""

    def typing(typingctx, *args):
        for kind in args:  # an array would pass as its first element
            if not isinstance(kind, types.Float | types.Integer | types.Boolean):
                raise TypingError(
                    f"a scalar function got {kind}; it takes numbers. Loop over the elements, or use @numba.vectorize"
                )
        chosen, real = (f32, types.float32) if args[0] == types.float32 else (f64, types.float64)
        function = typingctx.resolve_value_type(chosen)
        inner = function.get_call_type(typingctx, (real,) * arity, {})
        return inner.return_type(*inner.args), lambda context, builder, sig, values: context.get_function(function, inner)(
            builder, values
        )

    if arity == 1:
        return intrinsic(lambda typingctx, x: typing(typingctx, x))
    if arity == 2:
        return intrinsic(lambda typingctx, x, y: typing(typingctx, x, y))
    return intrinsic(lambda typingctx, x, y, z: typing(typingctx, x, y, z))


@intrinsic
def at(typingctx, a, i):
    """``a[i]`` for an array (no negative indices, no check), ``a`` itself for a number."""
    if not isinstance(a, types.Array):
        return a(a, i), lambda context, builder, sig, args: args[0]

    def codegen(context, builder, sig, args):
        array = arrayobj.make_array(a)(context, builder, args[0])
        index = context.cast(builder, args[1], sig.args[1], types.intp)
        pointer = cgutils.get_item_pointer(context, builder, a, array, [index], wraparound=False)
        return arrayobj.load_item(context, builder, a, pointer)

    return a.dtype(a, i), codegen


set_plain(at, lambda a, i: a[i] if getattr(a, "ndim", 0) else a)


@intrinsic
def at2(typingctx, a, i, j):
    """``a[i, j]`` without negative indices and checks, which are most of the instructions of a sum over a matrix on a GPU."""

    def codegen(context, builder, sig, args):
        array = arrayobj.make_array(a)(context, builder, args[0])
        indices = [context.cast(builder, v, t, types.intp) for v, t in zip(args[1:], sig.args[1:], strict=True)]
        pointer = cgutils.get_item_pointer(context, builder, a, array, indices, wraparound=False)
        return arrayobj.load_item(context, builder, a, pointer)

    return a.dtype(a, i, j), codegen


set_plain(at2, lambda a, i, j: a[i, j])


@intrinsic(prefer_literal=True)
def buffer(typingctx, n, dtype):
    """An uninitialised array of n numbers, n a constant, on the stack of a CPU loop; it must not be returned.

    `numpy.empty` takes 0.05 s to compile for each type, and its memory may overlap other arrays as far as LLVM knows.
    """
    if not isinstance(n, types.IntegerLiteral):
        raise TypingError(f"the size of a buffer must be a constant, got {n}")
    kind, size = types.Array(dtype.dtype, 1, "C"), n.literal_value

    def codegen(context, builder, sig, args):
        element = context.get_data_type(kind.dtype)
        place = cgutils.alloca_once(builder, ir.ArrayType(element, size))
        place.align = 64
        return _array_at(context, builder, kind, place, context.get_constant(types.intp, size))

    return kind(n, dtype), codegen  # the literal: Numba finds code by the types of arguments, and sizes must not be mixed up


@intrinsic
def reread(typingctx, a, dtype):
    """The memory of a contiguous array with one axis as numbers of another type of the same size or half of it."""
    kind = types.Array(dtype.dtype, 1, "C")

    def codegen(context, builder, sig, args):
        array = arrayobj.make_array(a)(context, builder, args[0])
        sizes = (context.get_abi_sizeof(context.get_data_type(t.dtype)) for t in (a, kind))
        times = context.get_constant(types.intp, next(sizes) // next(sizes))
        return _array_at(context, builder, kind, array.data, builder.mul(array.nitems, times))

    return kind(a, dtype), codegen


def _array_at(context, builder, kind, place, size):
    """An array of a size at a place in memory, which it does not own."""
    array = arrayobj.make_array(kind)(context, builder)
    element = context.get_data_type(kind.dtype)
    step = context.get_constant(types.intp, context.get_abi_sizeof(element))
    data = builder.bitcast(place, element.as_pointer())
    arrayobj.populate_array(array, data=data, shape=[size], strides=[step], itemsize=step, meminfo=None)
    return array._getvalue()


@intrinsic
def in_step(typingctx):
    """In the body of a CPU loop of long formulas: LLVM works on four vectors at once, operation by operation.

    One vector's formula is a chain of operations that wait for one another; four make ``exp`` or `ndtri1` 1.1 to 1.5 times as
    fast, with the same results. For innermost loops without branches and of 32 values and more (float32: 64), as what remains
    goes one by one: LLVM obeys even where it does not vectorise, and computes for all values what a branch would leave out.
    """

    def codegen(context, builder, sig, args):
        in_step_here(context, builder)
        return context.get_dummy_value()

    return types.none(), codegen


set_plain(in_step, lambda: None)
