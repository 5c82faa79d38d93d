"""Which loops of a kernel run with their iterations as the lanes of vector registers.

LLVM makes vectors of an innermost loop, unless a mathematical function is in it. A loop around other loops it leaves
alone, and there lanes are worth most: the loop inside may be a reduction, whose order must stay, or a `while` of each
element. Such a loop is taken where

- its iterations do not meet (`analysis.parallel_loops`), and it counts by one,
- its loads and stores are of consecutive elements, or of the same one in all iterations,
- what it does can be done in all lanes: it is left at its end only, as are the loops inside, and no function is called
  that has no vector code,
- all iterations leave the loops inside together. Others are the engine's of flat functions (`outlined`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyflat.analysis.dependence import Surroundings
from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import carries_memory_only, is_alone_parallel, varying_in
from pyflat.ir.affine import affine, places
from pyflat.ir.loops import Counted, all_ops, has_loop, recognise_counted
from pyflat.ir.nodes import Block, Exit, If, Item, Loop, Op, Param, Region, Value, innermost, walk
from pyflat.ir.ops import VECTOR
from pyflat.ir.types import FLOAT
from pyflat.targets.numba.costs import is_called
from pyflat.targets.numba.library import library_function
from pyflat.targets.numba.numpy_loops import calls_numpy

MOST_OPERATIONS = 400
"""In a loop that is written for three sorts of gangs."""
_NO_LANES = frozenset({"alloc", "call", "routine", "ufunc", "gather", "lane_any"})


@dataclass(frozen=True, slots=True)
class LanePlan:
    """A loop of lanes: how it counts, and what differs from lane to lane in it."""

    loop: Loop
    counted: Counted
    varying: frozenset[Value]
    indices: frozenset[Op]
    """All must be inside before lanes run, which is tested at once (`boxes`)."""


@dataclass(frozen=True, slots=True)
class LoopTest:
    """The test with which a loop is left, taken out of its body."""

    header: list[Item]
    test: If
    goes_on_if: bool
    leave: list[Value]
    rest: list[Item]

    @property
    def arm(self) -> list[Item]:
        return self.test.then if self.goes_on_if else self.test.orelse


def plan_lanes(kernel: Kernel, strided: Mapping[str, bool]) -> dict[Loop, LanePlan]:
    """The loops of lanes. `strided`: arrays whose rows have gaps."""
    around = kernel.surroundings()
    return innermost(kernel.function.body, lambda loop, _: _planned(loop, strided, around))


def entry_of(loop: Loop) -> LoopTest | None:
    """Where a loop is left, None where that is not one test whose arm does nothing else."""
    for at, item in enumerate(loop.body):
        if not isinstance(item, If):
            continue
        for arm in (item.then, item.orelse):
            end = arm[0].end if len(arm) == 1 and isinstance(arm[0], Block) and not arm[0].ops else None
            if isinstance(end, Exit) and end.label is loop.label:
                return LoopTest(loop.body[:at], item, arm is item.orelse, end.values, loop.body[at + 1:])
    return None


def _planned(loop: Loop, strided: Mapping[str, bool], around: Surroundings) -> LanePlan | None:
    counted = recognise_counted(loop)
    if counted is None or counted.step != 1 or not carries_memory_only(loop, counted):
        return None
    ops = list(all_ops(loop.body))
    if not has_loop(loop.body) and not any(map(is_function, ops)):
        return None
    if len(ops) > MOST_OPERATIONS or not all(map(is_possible, ops)):
        return None
    varying = varying_in(loop, {counted.iv})
    if not _are_left_together(loop.body[2:], varying):
        return None
    for op in ops:
        if op.opcode in ("load", "store") and not (
                is_consecutive(op, counted.iv, varying, gaps=strided.get(op.attr("array"), False))
                if any(index in varying for index in places(op)) else op.opcode == "load"):
            return None
    if not is_alone_parallel(loop, counted, around):
        return None
    indices = frozenset(op for op in ops if op.opcode == "index")
    return LanePlan(loop, counted, frozenset(varying), indices)


def is_possible(op: Op) -> bool:
    """Whether an operation on numbers can be done for all lanes at once."""
    if op.opcode in _NO_LANES or op.opcode in VECTOR or is_called(op):
        return False
    return not (op.kind is FLOAT and op.opcode in ("floordiv", "mod"))


def is_function(op: Op) -> bool:
    """Whether an operation is a mathematical function that takes less time for many lanes at once: vector code with the
    C library's bits, or a loop of NumPy's."""
    return library_function(op) is not None or calls_numpy(op)


def is_consecutive(op: Op, iv: Param, varying: Collection[Value], *, gaps: bool) -> bool:
    """The lanes of an access are elements one after the other. `gaps`: those of a row are not."""
    *rows, last = places(op)
    form = affine(last)
    if gaps or form is None or any(v in varying for v in rows):
        return False
    return form[0].get(iv) == 1 and not any(v in varying for v in form[0] if v is not iv)


def _are_left_together(items: list[Item], varying: Collection[Value]) -> bool:
    """Every loop in a list is left at its entry only, which no other loop stands before, by all lanes; and nothing else
    is left."""
    exits = 0
    for item in walk(items):
        match item:
            case Region():
                return False
            case Loop():
                entry = entry_of(item)
                if entry is None or has_loop(entry.header) or entry.test.cond in varying:
                    return False
                exits -= 1
            case Block():
                exits += isinstance(item.end, Exit)
    return exits == 0
