"""How LLVM shall vectorise the loops of kernels on the CPU.

A long formula is a chain of operations that wait for one another, and a processor looks ahead by some hundred operations,
which is one vector's formula and not two. LLVM interleaves short loops by itself; where `bits.in_step` stands, it works on
`VECTORS` vectors at once, operation by operation. On Zen 5 this makes formulas of 20 to 500 operations 1.1 to 1.6 times as
fast, with vectors of 256 bits as with 512. Two vectors gain half as much, eight lose where registers run out; sums, look-ups
and short formulas gain nothing.
"""

from __future__ import annotations

import functools

from llvmlite import ir
from numba.core import codegen
from numba.core.registry import cpu_target

__all__ = ["VECTORS", "shape_loops"]

VECTORS = 4


def _back_edges(function):
    """Pairs of a loop's last block and its first; and for each block those that jump to it."""

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
    """The blocks of a loop: all from which its last can be reached without passing its first."""
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
        node.operands = (node, count)  # a loop's node begins with itself, so that no two loops share it
        latch.terminator.set_metadata("llvm.loop", node)


def shape_loops(ours):
    """Make Numba pass on the marks of `in_step` and, on Intel's processors, let loops of kernels have vectors of 512 bits.

    LLVM takes 256 there, for the sake of processors before Ice Lake, which slow down under wide ones; 512 is up to 1.65 times
    as fast. Numba compiles loops of `prange` with a compiler of its own, hence a hook where all modules pass: both twins must
    add up in the same order. `ours()` says whether what is compiled right now belongs to a kernel.
    """
    wide = "+avx512vbmi2" in cpu_target.target_context.codegen().magic_tuple()[2]
    add = codegen.CPUCodeLibrary.add_ir_module

    @functools.wraps(add)
    def add_ir_module(self, module):
        for f in module.functions:
            if not f.is_declaration:
                _hint(f)
                if wide and ours():
                    set.add(f.attributes, '"prefer-vector-width"="512"')  # llvmlite knows no attributes with a value
        add(self, module)

    codegen.CPUCodeLibrary.add_ir_module = add_ir_module
