"""Kernels whose work threads can share: a function that is one loop over a range whose iterations do not meet.

    shared_kernel(kernel)  ->  the kernel that runs the iterations from `first` to `last`, its two last arguments, and
                               gives how many there are

What stands beside the loop has no effect, and runs in each part: tests that leave or raise, numbers made of lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflat.analysis.kernels import Kernel
from pyflat.analysis.parallel_loops import is_alone_parallel
from pyflat.ir.build import Builder, const
from pyflat.ir.edit.copying import copy_function
from pyflat.ir.loops import Counted, all_ops, has_loop, recognise_counted, uses
from pyflat.ir.memory import arrays_read
from pyflat.ir.nodes import Block, Exit, Function, If, Item, Loop, Op, Param, Value, Yield, walk
from pyflat.ir.shape import Leaf
from pyflat.ir.types import INT, MEMORY

FIRST, LAST = "first iteration", "last iteration"
"""No names of parameters."""
_EFFECTS = frozenset({"store", "alloc", "call", "routine", "ufunc"})


@dataclass(eq=False)
class SharedKernel(Kernel):
    """A kernel for some of the iterations."""

    def lengths(self) -> list[Param]:
        return [*super().lengths(), *self.function.params[-2:]]


def shared_kernel(kernel: Kernel) -> SharedKernel | str:
    """The kernel for some of the iterations, or why there is none."""
    loop = _loop(kernel)
    if isinstance(loop, str):
        return loop
    function = copy_function(kernel.function)
    first, last = Param(INT, "first"), Param(INT, "last")
    at = kernel.function.body.index(loop)
    trips = _restrict(function.body, at, first, last)
    function.params += [first, last]
    function.result_kinds = (INT, *function.result_kinds)
    for values, behind in _ends(function, at):
        values.insert(0, trips if behind else const(0))
    return SharedKernel(function, {**kernel.arguments, FIRST: Leaf(INT), LAST: Leaf(INT)}, kernel.result,
                        kernel.written, kernel.models, kernel.tree)


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
    if any(op.opcode in _EFFECTS for op in beside):
        return "it makes, calls or writes something beside its loop"
    if any(set(arrays_read(op)) & set(kernel.written) for op in beside):
        return "it reads beside its loop what it writes"
    counted = recognise_counted(loop)
    if counted is None:
        return f"the loop{line} does not count a range"
    if not is_alone_parallel(loop, counted, kernel.surroundings()):
        return f"iterations of the loop{line} may depend on each other, or make or call something"
    numbers = {value for value in loop.results if value.kind is not MEMORY}
    return "it uses behind its loop what the last iteration leaves" if numbers & set(uses(others)) else loop


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
