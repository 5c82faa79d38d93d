"""Kernels whose work threads can share: a function that is one loop over a range whose iterations do not meet.

    shared_kernel(kernel)  ->  the kernel that runs the iterations from `first` to `last`, its two last arguments, and
                               gives how many there are

What stands beside the loop has no effect, and runs in each part: tests that leave or raise, numbers made of lengths.
Arrays made before the loop are arguments of the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import is_alone_parallel
from pyflat.ir.affine import places
from pyflat.ir.build import Builder, const
from pyflat.ir.edit.copying import Copier
from pyflat.ir.loops import Counted, all_ops, has_loop, recognise_counted, replace_uses, uses
from pyflat.ir.memory import ArrayArgument, arrays_read
from pyflat.ir.nodes import Block, Const, Exit, Function, If, Item, Loop, Op, Param, Value, Yield, walk
from pyflat.ir.shape import Leaf
from pyflat.ir.types import INT, MEMORY

FIRST, LAST = "first iteration", "last iteration"
"""No names of parameters."""
MANY = 1 << 20
"""More than there are arguments: numbers of memories from there on are of arrays made inside."""
_EFFECTS = frozenset({"store", "alloc", "call", "routine", "ufunc"})


@dataclass(eq=False)
class SharedKernel(Kernel):
    """A kernel for some of the iterations. It gives how many there are, then the lengths of the axes of each array
    `made`: these are arguments, before the last two."""

    made: tuple[Op, ...]

    def no_arrays(self) -> dict[str, Any]:
        """What stands for them where nothing runs."""
        return {op.attr("array"): np.empty((0,) * (len(op.args) - 1), op.attr("dtype")) for op in self.made}

    def arrays(self, extents: Iterable[int]) -> dict[str, Any]:
        """New ones of these lengths."""
        found, left = {}, iter(extents)
        for op in self.made:
            shape, fill = [next(left) for _ in op.args[1:]], _fill(op)
            assert fill is not None
            found[op.attr("array")] = (np.empty(shape, op.attr("dtype")) if fill.value is None else
                                       np.full(shape, fill.value, op.attr("dtype")))
        return found

    @cached_property
    def forwards(self) -> frozenset[Op]:
        """Those of accesses to arrays that it writes: `parallel_loops` compares indices as they are."""
        ops = list(all_ops(self.function.body))
        written = {op.attr("array") for op in ops if op.opcode == "store"}
        return frozenset(index for op in ops if op.opcode in ("load", "store") and op.attr("array") in written
                         for index in places(op) if isinstance(index, Op) and not isinstance(index.args[0], Const))

    def lengths(self) -> list[Param]:
        return [*super().lengths(), *self.function.params[-2:]]


def shared_kernel(kernel: Kernel) -> SharedKernel | str:
    """The kernel for some of the iterations, or why there is none."""
    loop = _loop(kernel)
    if isinstance(loop, str):
        return loop
    copier = Copier()
    function = copier.function(kernel.function)
    first, last = Param(INT, "first"), Param(INT, "last")
    at = kernel.function.body.index(loop)
    made = tuple(op for op in all_ops(kernel.function.body[:at]) if op.opcode == "alloc")
    numbers = [_restrict(function.body, at, first, last), *copier.read_all([n for op in made for n in op.args[:-1]])]
    arguments = dict(kernel.arguments)
    for op in made:
        arguments[op.attr("array")] = ArrayArgument(op.attr("dtype"), len(op.args) - 1, len(arguments) + MANY)
        function.params += [_instead(function.body, copier.read(op)), *(Param(INT, "length") for _ in op.args[1:])]
    function.params += [first, last]
    function.result_kinds = (*(INT for _ in numbers), *function.result_kinds)
    for values, behind in _ends(function, at):
        values[:0] = numbers if behind else [const(0) for _ in numbers]
    return SharedKernel(function, {**arguments, FIRST: Leaf(INT), LAST: Leaf(INT)}, kernel.result, kernel.written,
                        kernel.models, kernel.tree, made)


def _instead(body: Sequence[Item], made: Value) -> Param:
    """A parameter that takes the place of an array made there."""
    memory = Param(MEMORY, made.name)
    for item in body:
        if isinstance(item, Block) and made in item.ops:
            item.ops[:] = [op for op in item.ops if op is not made]
    replace_uses(body, {made: memory})
    return memory


def _loop(kernel: Kernel) -> Loop | str:
    """The loop, or why there is none."""
    body = kernel.function.body
    loops = [item for item in walk(body) if isinstance(item, Loop)]
    found = [item for item in body if isinstance(item, Loop)]
    others = [item for item in body if item not in found]
    if len(found) != 1 or has_loop(others):
        return "it is not one loop over a range" if len(loops) < 2 else "it is more than one loop"
    loop, line = found[0], _line(found[0])
    if any(kind is not MEMORY for kind in kernel.function.result_kinds):
        return "it returns a number"
    beside = list(all_ops(others))
    before = [op for item in body[:body.index(loop)] if isinstance(item, Block) for op in item.ops]
    made = {op.attr("array") for op in before if op.opcode == "alloc" and _fill(op) is not None}
    if any(op.opcode in _EFFECTS and not (op.opcode == "alloc" and op.attr("array") in made) for op in beside):
        return "it creates, calls or writes something outside its loop"
    if any(made.union(kernel.written).intersection(arrays_read(op)) for op in beside):
        return "it reads an array outside its loop that it writes"
    counted = recognise_counted(loop)
    if counted is None:
        return f"the loop{line} does not count a range"
    if not is_alone_parallel(loop, counted, kernel.surroundings()):
        return f"iterations of the loop{line} may depend on each other, or create or call something"
    numbers = {value for value in loop.results if value.kind is not MEMORY}
    return "it uses a value of the last iteration after its loop" if numbers & set(uses(others)) else loop


def _fill(made: Op) -> Const | None:
    """The number that a new array is filled with; None where it is not known."""
    value = made.args[-1]
    while isinstance(value, Op) and value.opcode in ("rounded", "to_float"):
        value = value.args[0]
    return value if isinstance(value, Const) else None


def _line(loop: Loop) -> str:
    lines = [op.origin.span.line for op in all_ops(loop.body) if op.origin is not None and op.origin.span is not None]
    return f" in line {min(lines)}" if lines else ""


def _restrict(body: list[Item], at: int, first: Param, last: Param) -> Value:
    """Makes the loop there run from one iteration to another; how many there are."""
    loop, before = body[at], body[at - 1]
    assert isinstance(loop, Loop) and isinstance(before, Block) and isinstance(loop.body[1], If)
    counted, test = recognise_counted(loop), loop.body[1].cond
    assert counted is not None and isinstance(test, Op)
    build = Builder()
    trips = _trips(build, counted)
    start, stop = (_after(build, counted, count) for count in (first, last))
    before.ops += build.block.ops
    loop.inits[loop.params.index(counted.iv)] = start
    test.args = tuple(arg if arg is counted.iv else stop for arg in test.args)
    return trips


def _trips(build: Builder, counted: Counted) -> Value:
    """Less than one where the range is empty."""
    ends = (counted.upper, counted.lower) if counted.step > 0 else (counted.lower, counted.upper)
    span, step = build.op("sub", *ends), abs(counted.step)
    return span if step == 1 else build.op("floordiv", build.op("add", span, const(step - 1)), const(step))


def _after(build: Builder, counted: Counted, count: Value) -> Value:
    """The counter after so many iterations."""
    steps = count if counted.step == 1 else build.op("mul", count, const(counted.step))
    return build.op("add", counted.lower, steps)


def _ends(function: Function, at: int) -> Sequence[tuple[list[Value], bool]]:
    """What the ways out of a function give, and whether they stand behind the loop at that place."""
    found = []
    for number, top in enumerate(function.body):
        for item in walk([top]):
            if not isinstance(item, Block):
                continue
            falls_off = item is function.body[-1] and isinstance(item.end, Yield)
            if falls_off or isinstance(item.end, Exit) and item.end.label is function.label:
                assert item.end is not None
                found.append((item.end.values, number > at))
    return found
