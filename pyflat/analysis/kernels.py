"""Kernels over arrays as targets get them (`frontend.kernels` makes them): the IR, and facts about it."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyflat.analysis.dependence import Surroundings
from pyflat.analysis.small_ints import small_ints
from pyflat.analysis.sure_indices import SureIndices, sure_indices
from pyflat.analysis.temporaries import ArrayMode, Decision, MadeArray, Virtualize
from pyflat.ir.faults import can_fault
from pyflat.ir.kernel_results import Model, Result
from pyflat.ir.loops import all_ops
from pyflat.ir.memory import ArrayArgument, ScalarArgument, arrays_read, may_warn
from pyflat.ir.nodes import FAULT, Block, Exit, Function, Op, Param, Value, walk
from pyflat.ir.shape import Fixed, Leaf
from pyflat.ir.types import MEMORY

Argument = ArrayArgument | ScalarArgument | Leaf | Fixed


@dataclass(eq=False)
class Kernel:
    """A kernel for arguments of these dtypes and ranks, as structured IR.

    function   its parameters are, for each argument in order: of an array the memory (where no argument before has the
               same) and the length of each axis, of a number the number
    result     how its results make up what it returns
    written    the arguments that it writes
    models     arrays made of others (`np.zeros_like`, `a + b`) -> those
    tree       the source, as LibCST has it
    fast       functions that may stand for others in the bodies of parallel loops (`math="fast"`), by their operations
    virtualize which arrays that are made inside become virtual, as the options say
    local      the arrays that it makes, by their names in the IR, as they are before any pass
    source     `function` before any pass
    reordered  arguments to which a run may have stored before a fault that comes first in the original
    decided    what became of those that the passes have looked at
    """

    function: Function
    arguments: dict[str, Argument]
    result: Result
    written: tuple[str, ...]
    models: dict[str, tuple[Model, ...]]
    tree: Any
    fast: Mapping[str, str] = field(default_factory=dict, init=False)
    virtualize: Virtualize = field(default_factory=Virtualize, init=False)
    local: dict[str, MadeArray] = field(default_factory=dict, init=False)
    source: Function = field(init=False)
    reordered: set[str] = field(default_factory=set, init=False)
    decided: dict[str, Decision] = field(default_factory=dict, init=False)

    def modes(self, rows: Mapping[str, int | str]) -> dict[str, ArrayMode]:
        """What becomes of the arrays that it makes; `rows`: how many rows a target keeps, or why it keeps all."""
        there = {op.attr("array") for op in all_ops(self.function.body)
                 if op.kind is MEMORY and op.opcode in ("alloc", "routine")}
        found: dict[str, ArrayMode] = {}
        for name, array in self.local.items():
            decision, kept = self.decided.get(name), rows.get(name, "")
            reason = array.surely_stored if decision is None else decision.reason
            if name not in there:
                found[name] = ArrayMode("virtual")
            elif isinstance(kept, int):
                found[name] = ArrayMode("buffer", kept, (reason,) if reason else ())
            else:
                found[name] = ArrayMode("stored", 0, tuple(dict.fromkeys(why for why in (reason, kept) if why)))
        return found

    def surroundings(self) -> Surroundings:
        """Where its loops stand, for `analysis.parallel_loops`."""
        return Surroundings(self.function, self.lengths())

    def lengths(self) -> list[Param]:
        """The parameters that are lengths of axes."""
        found: list[Param] = []
        params, memories = iter(self.function.params), set[int]()
        for argument in self.arguments.values():
            if isinstance(argument, ArrayArgument):
                if argument.memory not in memories:
                    memories.add(argument.memory)
                    next(params)
                found += [next(params) for _ in range(argument.rank)]
            elif not isinstance(argument, Fixed):
                next(params)
        return found

    @cached_property
    def small(self) -> frozenset[Value]:
        """Its ints that stay so (`analysis.small_ints`)."""
        return frozenset(small_ints(self.function, self.lengths()))

    @cached_property
    def indices(self) -> SureIndices:
        return sure_indices(self.function, self.lengths(), self.small)

    @property
    def forwards(self) -> Collection[Op]:
        """Indices that must not count from the end of their axis: a run in which one does is given up."""
        return ()

    def undone(self, ends: Container[Op] | None, *, strict: bool) -> tuple[str, ...]:
        """The arguments whose elements have to be put back before the original can run on them: those that are read as
        well, and all that are written where stores may come after a fault. `ends`: the operations whose faults end a
        run at once, so that stores before them are those of the original, as does an index outside; None: stores come
        in another order. `strict`: a warning ends the original."""
        ops = list(all_ops(self.function.body))
        faulty = [op for op in ops if op.opcode != "index" and op not in self.small and can_fault(op)]
        warns = [op for op in ops if may_warn(op.opcode, op.kind)]
        if ends is None or strict and warns or any(op not in ends for op in faulty):
            return self.written
        moved = tuple(name for name in self.written if name in self.reordered)
        if not (faulty or warns or self._is_left_early(ops)):
            return moved
        memory = {name: a.memory for name, a in self.arguments.items() if isinstance(a, ArrayArgument)}
        read = {memory.get(name) for op in ops for name in arrays_read(op)}
        return tuple(name for name in self.written if memory[name] in read or name in moved)

    def _is_left_early(self, ops: Sequence[Op]) -> bool:
        exits = any(isinstance(item, Block) and isinstance(item.end, Exit) and item.end.label is FAULT
                    for item in walk(self.function.body))
        return exits or any(op.opcode in ("alloc", "routine") or op.opcode == "index" and op not in self.indices.here
                            for op in ops)
