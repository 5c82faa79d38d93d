"""From a function to the kernels that compute its lanes, and from a kernel to machine code: what a process does that
finds none on disk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pyflat.analysis.liveness import sliced
from pyflat.functions import libm, ways
from pyflat.ir.formats import dtypes
from pyflat.ir.loops import all_ops, has_loop
from pyflat.ir.nodes import Const, Function, Item, Op, Value
from pyflat.ir.ops import OPERATIONS, Accuracy
from pyflat.ir.types import BOOL
from pyflat.ir.uses import results_of
from pyflat.passes.pipelines import run, within
from pyflat.targets.numba.arms import kept_plans
from pyflat.targets.numba.compiled_kernel import (
    ENTRY,
    NO_BODY,
    CompiledKernel,
    KernelBody,
    KernelFacts,
    Pattern,
    Stored,
    dtypes_of,
    intervals_of,
)
from pyflat.targets.numba.costs import cost_of
from pyflat.targets.numba.jit import Passes, Processor, compile_ir, processor
from pyflat.targets.numba.kernel import MOST_STRAIGHT, LaneLoop, Shape, arms_waited, choose_shape, refills, write_kernel
from pyflat.targets.numba.symbols import Symbols

LONG_CHAIN = 100
"""Masks that depend on each other, one after the other, above which LLVM combines no instructions: it looks through all
of them from each, 6 s for 512 and four times that for twice as many."""

MUCH = 250.0
"""Adds of all registers of a gang: a kernel of fewer takes less than 0.1 s to compile."""


def cut(fused: Function, role: str, read: Stored, *, checked: bool, masked: bool,
        body: KernelBody = NO_BODY) -> LaneLoop:
    """The kernel of a role, for lanes as they are, or read from other dtypes. Where it is `checked`, it counts the
    suspect lanes; it stores which those are where it is `masked`."""
    stored = dtypes_of(fused.params, read)
    fused = run(fused, within(intervals_of(stored))) if stored else fused
    *roots, suspect = results_of(fused)
    params, floats = tuple(fused.params), fused.floats
    if role == "mask":
        return LaneLoop(params, tuple(sliced(fused.body, [suspect])), (suspect,), None, floats)
    checked = checked and not is_false(suspect)
    items = tuple(sliced(fused.body, [*roots, suspect] if checked else roots))
    written = (*roots, suspect) if masked else tuple(roots)
    return LaneLoop(params, items, written, suspect if checked else None, floats, stored, body)


def is_false(suspect: Value) -> bool:
    return isinstance(suspect, Const) and not suspect.value


def facts_of(kernel: LaneLoop) -> KernelFacts:
    known, items = dtypes(kernel.floats), list(kernel.items)
    inputs = tuple(kernel.stored.get(param, known[param.kind]).str for param in kernel.params)
    results = tuple(known[root.kind].str for root in kernel.roots)
    return KernelFacts(inputs, results, kernel.size, has_loop(items), any(map(_calls_python, all_ops(items))))


class KernelModule(NamedTuple):
    """The text of a kernel, what it names, whether it is for few lanes, and what was chosen."""

    text: str
    symbols: Symbols
    few: bool
    chosen: ways.Noted


def compile_kernel(kernel: LaneLoop, pattern: Pattern, read: Stored = (), few: bool = False
                   ) -> tuple[CompiledKernel, Symbols]:
    """The machine code of a kernel for one pattern of uniform arguments, and what it names; for few lanes, if these
    gain by code of their own."""
    cpu = processor()
    text, symbols, few, chosen = written(kernel, pattern, cpu, few=few)
    code = compile_ir(text, ENTRY, symbols, cpu, symbols.kept, passes=passes_of(kernel, text), called=symbols.modules)
    return CompiledKernel(facts_of(kernel), pattern, code, read, few, chosen), symbols


def written(kernel: LaneLoop, pattern: Pattern, cpu: Processor, *, few: bool) -> KernelModule:
    """LLVM's IR of a kernel for one pattern of uniform arguments."""
    with kept_plans(), ways.noting() as chosen:
        shape = choose_shape(kernel, cpu.vector_bytes)
        few = ways.FEW.first(few and _is_much(kernel, shape))
        shape = shape.smallest if few else shape
        ways.REGISTERS.of({1: "one", 2: "two"}.get(shape.registers, "four"))
        text, symbols = write_kernel(kernel, pattern, shape)
    return KernelModule(text, symbols, few, chosen)


def _is_much(kernel: LaneLoop, shape: Shape) -> bool:
    """Whether a kernel of this shape is much more code than the smallest."""
    cost = sum(cost_of(op, 1) for op in all_ops(list(kernel.items)))
    if shape.registers > 1:
        return shape.registers * cost >= MUCH
    return cost >= MUCH and (refills(kernel, shape) or arms_waited(kernel, shape) > 0)


def cost_of_lanes(kernel: LaneLoop) -> float:
    """What a kernel computes for a register of lanes, in adds; infinite where nothing is read as stored."""
    if kernel.size > MOST_STRAIGHT or has_loop(list(kernel.items)):
        return math.inf
    return sum(cost_of(op, 1) for op in all_ops(list(kernel.items)))


def keeps_lanes(kernel: LaneLoop, vector_bytes: int) -> bool:
    """Whether a kernel is for lanes alone: those that wait for each other are kept in memory as lanes."""
    shape = choose_shape(kernel, vector_bytes)
    return shape.width == 1 or arms_waited(kernel, shape) > 0


def _calls_python(op: Op) -> bool:
    """Whether CPython's own function is called."""
    if op.opcode == "round_digits":
        return True
    accuracy = OPERATIONS[op.opcode].accuracy
    return accuracy is Accuracy.CALL or (accuracy is Accuracy.LIBM and not libm.from_library(op.opcode))


def passes_of(kernel: LaneLoop, text: str) -> Passes:
    """Straight code that is written twice (conditions of lanes that wait, the angle of a sine and a cosine) is LLVM's
    to share, as what is the same in each trip of a loop is."""
    if longest_mask_chain(kernel.items) > LONG_CHAIN:
        return Passes.UNCOMBINED
    twice = any(name in text for name in ('@"queued"', '@"pyflat.told_sin_and_cos'))
    return Passes.LOOPS if twice or has_loop(list(kernel.items)) else Passes.STRAIGHT


def longest_mask_chain(items: Sequence[Item]) -> int:
    """How many and/or of bools follow on each other: an unrolled loop with a break in it has one for each copy."""
    depth: dict[Value, int] = {}
    for op in all_ops(list(items)):
        if op.opcode in ("and", "or") and op.kind is BOOL:
            depth[op] = 1 + max(depth.get(arg, 0) for arg in op.args)
    return max(depth.values(), default=0)
