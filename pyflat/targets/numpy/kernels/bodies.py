"""Bodies of nests that run as flat functions: what an iteration computes is a function of numbers, and the engine of
twins runs it with the iterations as lanes.

    body((n,), (a[:n],), (out[:n],))

The engine has what text over whole arrays has not: buffers that stay in the cache, arms for the lanes that take them,
lanes that are done with a loop and leave it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import LoopNest
from pyflat.functions import ways
from pyflat.functions.array_lanes import PATIENCE, Line, Wraps, blocks
from pyflat.ir.affine import places
from pyflat.ir.formats import F8, dtypes
from pyflat.ir.loops import all_ops, definitions, has_loop
from pyflat.ir.nodes import Const, Function, If, Item, Op, Param, Region, Value, walk
from pyflat.ir.ops import OPERATIONS
from pyflat.ir.print import Sourced
from pyflat.ir.uses import results_of
from pyflat.passes.outline import Outlined, outlined
from pyflat.targets.numba.kernels.removable import removable
from pyflat.targets.numpy import engine
from pyflat.targets.numpy.blocks import cost_of
from pyflat.targets.numpy.kernels.boxes import Slices, certain_in
from pyflat.targets.numpy.kernels.writer import ATOM, WIDEST, literal, spelled
from pyflat.targets.operands import as_signed, operand
from pyflat.targets.text.steps import LET, Begin, BodyEnd, Leave, steps_of

EXPENSIVE = 2.0
"""Nanoseconds for a lane of an operation that makes a body worth it."""


def body_of(kernel: Kernel, nest: LoopNest, boxes: Slices) -> Outlined | None:
    """The flat function of a nest's body, None where that is no such function, or gains nothing by it."""
    found = _outlined(kernel, nest, boxes)
    ways.note(ways.KERNEL_BODIES.name, "in place" if found is None else "flat")
    return found


def _outlined(kernel: Kernel, nest: LoopNest, boxes: Slices) -> Outlined | None:
    forced = ways.KERNEL_BODIES.forced
    if forced == "in place" or forced is None and not _gains(nest.body):
        return None
    accesses = [op for op in all_ops(nest.body) if op.opcode in ("load", "store")]
    tested = certain_in(nest).union(*[boxes.tested(op) for op in accesses])
    if not all(tested.issuperset(_indices(op)) for op in accesses if op.opcode == "store"):
        return None
    kept = set[Value]().union(*removable(kernel.function, kernel.indices.here, flat=True))
    kept &= set(definitions(nest.body))
    return outlined(kernel.function.name, nest.body, nest.loops[-1], tested, PATIENCE, kept, kernel.fast)


def _gains(body: list[Item]) -> bool:
    """Whether it has a function, or lanes that part: expressions over slices are shorter, and as fast, for others. In
    them a division would be one of all lanes."""
    if has_loop(body) or any(cost_of(op) >= EXPENSIVE for op in all_ops(body) if op.opcode not in ("load", "store")):
        return True
    branches = [item for item in walk(body) if isinstance(item, If | Region)]
    if len(branches) > 1 or any(isinstance(branch, Region) for branch in branches):
        return True
    return any(op.opcode == "divide" or OPERATIONS[op.opcode].faults == "zero_divisor"
               for branch in branches for op in all_ops([branch]))


def _indices(access: Op) -> set[Op]:
    return {place for place in places(access) if isinstance(place, Op) and place.opcode == "index"}


class Body:
    """A body that runs: called with the lengths of the nest's axes, operands that can be broadcast to these, and the
    elements that it stores. Raises Wraps where an iteration may raise."""

    def __init__(self, outlined: Outlined, apart: bool):
        self.function = outlined.function
        self._engine = engine.compile(outlined.function)
        self._apart = apart
        """Nothing of what it reads is stored to."""
        self._dtypes = [dtypes(F8)[param.kind] for param in outlined.function.params]

    def __call__(self, shape: tuple[int, ...], operands: Sequence[Any], outs: Sequence[Any]) -> Any:
        """Gives what is stored for each of `outs` that is None, arrays of this shape; alone, where that is one."""
        given = [each.array() if isinstance(each, Line) else each for each in operands]
        dtypes = self._engine.dtypes
        if self._apart and all(out is not None and out.flags.c_contiguous and out.dtype == dtype
                               for out, dtype in zip(outs, dtypes, strict=True)):
            self._run(shape, given, [out.reshape(-1) for out in outs])
            return None
        at_once = any(out is None for out in outs)
        for start, stop in [(0, shape[0])] if at_once else blocks(0, shape[0], math.prod(shape[1:])):
            part = stop - start, *shape[1:]
            results = [np.empty(math.prod(part), dtype) for dtype in dtypes]
            self._run(part, [each[start:stop] if np.ndim(each) == len(shape) and len(each) > 1 else each
                             for each in given], results)
            found = [result.reshape(part) for result in results]
            for out, result in zip(outs, found, strict=True):
                if out is not None:
                    out[start:stop] = result
        if not at_once:
            return None
        found = [result for out, result in zip(outs, found, strict=True) if out is None]
        return found if len(found) > 1 else found[0]

    def _run(self, shape: tuple[int, ...], operands: Sequence[Any], results: list[Any]) -> None:
        lanes = [operand(each.view(as_signed(each.dtype)), shape) if np.ndim(each) else dtype.type(each)
                 for each, dtype in zip(operands, self._dtypes, strict=True)]
        if not self._engine.in_order(lanes, math.prod(shape), results):
            raise Wraps


def text_of(name: str, function: Function) -> list[str]:
    """The flat function over whole arrays, for who reads the text or runs it alone (`array_lanes.body`); lines know of
    which operations they are made."""
    steps, results = steps_of(function, on_arrays=True), results_of(function)
    names = _BodyNames([op for op in steps.operations() if op not in steps.pinned and not steps.level[op]], results)
    lines, depth = list[str](), 1

    def put(line: str) -> None:
        lines.append(Sourced("    " * depth + line, names.reading))
        names.reading.clear()

    given = [names.new(param) for param in function.params]

    def operand(value: Value, level: int) -> str:
        return names.read(steps.variable(value), level)

    for step in steps.steps:
        line = ""
        match step:
            case Begin():
                line = "while True:"
            case BodyEnd():
                depth -= 1
            case Leave(condition=op):
                live = operand(op, 0)
                put(f"{live} = {spelled(op, operand, lanes=True)[0]}")
                line = f"if not np.any({live}): break"
            case Op():
                let = step.opcode == LET
                text, binds = (operand(step.args[0], 0), 0) if let else spelled(step, operand, lanes=True)
                names.reading.add(step)
                line = names.define(steps.variable(step), text, binds, step not in steps.pinned)
        if line:
            put(line)
        depth += isinstance(step, Begin)
    put(f"return {', '.join(operand(value, 0) for value in results)},")
    return ["@s.body", f"def {name}({', '.join(given)}):", *lines]


class _BodyNames:
    """Names of values; what is used once is written where it is used."""

    def __init__(self, inlined: Sequence[Op], results: Sequence[Value]):
        uses = Counter([*results, *[arg for op in inlined for arg in op.args]])
        self._once = {op for op in inlined if uses[op] == 1}
        self._texts: dict[Value, tuple[str, int]] = {}
        self._made_of: dict[Value, set[object]] = {}
        self.reading: set[object] = set()
        """Operations that are in the line that is written next."""
        self._taken = {"s", "np", "lanes", "math", "uint64_lanes", "narrow_functions", "live"}

    def new(self, value: Value) -> str:
        stem = value.name if isinstance(value, Op | Param) and value.name.isidentifier() else "t"
        name = next(each for k in count() if (each := f"{stem}{k or ''}") not in self._taken)
        self._taken.add(name)
        self._texts[value] = name, ATOM
        return name

    def read(self, value: Value, level: int) -> str:
        if isinstance(value, Const):
            return literal(value)
        text, binds = self._texts[value]
        self.reading |= self._made_of.get(value, set())
        return f"({text})" if binds < level else text

    def define(self, value: Value, text: str, binds: int, alone: bool) -> str:
        """The line that gives a value its number, none where it is written where it is used."""
        if alone and value in self._once and len(text) <= WIDEST:
            self._texts[value], self._made_of[value] = (text, binds), set(self.reading)
            self.reading.clear()
            return ""
        name = self._texts[value][0] if value in self._texts else self.new(value)
        return f"{name} = {text}" if name != text else ""
