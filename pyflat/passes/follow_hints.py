"""Follows the hints of control nodes in IR that was written by hand: arms become selects, loops copies of their body.

    if %c hint(flatten) {          %y = mul %x, 2.0            loop @l again @n (%i = 0) hint(unroll) {
      %y = mul %x, 2.0             %z = select %c, %y, %x        %go = lt %i, 3
      yield %y                                                   if %go { ... } else { exit @l }
    } else {                                                     ...
      yield %x                                                 }
    } -> (%z)

An `if` is flattened where its arms are operations that raise nowhere, a loop is unrolled where it counts from one
literal to another. That is done as far as possible with the hint, never with the other one (`branch`, `loop`), and
without a hint where it makes the function hardly longer.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflat.ir.build import Builder, undefined
from pyflat.ir.edit.copying import Copier, copy_function
from pyflat.ir.edit.editor import Editing, before_node, editing, end_of, start_of
from pyflat.ir.faults import fault_condition
from pyflat.ir.loops import all_ops, last_end, recognise_counted, replace_uses
from pyflat.ir.nodes import Block, Exit, Function, If, Item, Label, Loop, Node, Op, Param, Region, Value, Yield, walk
from pyflat.ir.ops import PRIMITIVES
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.passes.record import Pass

LANE_KINDS = (BOOL, INT, FLOAT)

FEW_OPERATIONS = 4
"""In both arms of an `if` that is flattened without a hint."""
FEW_COPIES = 32
"""Operations in all copies of a loop that is unrolled without a hint."""
MOST_COPIES = 10_000
"""With a hint."""


def follow_hints(fn: Function) -> Function:
    """A structured function as its hints, and what is small, ask for; `fn` itself where that changes nothing."""
    if fn.total:
        return fn
    made = copy_function(fn)
    changed = False
    with editing(made) as edit:
        for item in reversed(list(walk(made.body))):  # what is inside comes first
            if isinstance(item, If) and _flattens(item, made):
                _flatten(item, edit)
            elif isinstance(item, Loop) and (iterations := _unrolls(item)) is not None:
                _replace(item, [copies := _unrolled(item, iterations)], copies.results, edit)
            else:
                continue
            changed = True
    return made if changed else fn


PASS = Pass(follow_hints)


def _flattens(node: If, fn: Function) -> bool:
    count = 0
    if any(result.kind not in LANE_KINDS for result in node.results):
        return False
    for arm in (node.then, node.orelse):
        block = arm[0]
        if len(arm) > 1 or not isinstance(block, Block) or not isinstance(block.end, Yield):
            return False
        scratch = Builder(floats=fn.floats)
        if any(op.opcode not in PRIMITIVES or op.opcode == "fault" or fault_condition(scratch, op) is not None
               for op in block.ops):
            return False
        count += len(block.ops)
    return node.hint == "flatten" or node.hint == "" and count <= FEW_OPERATIONS


def _flatten(node: If, edit: Editing) -> None:
    for arm in (node.then, node.orelse):
        edit.reinsert(edit.extract(start_of(arm), end_of(arm)), before_node(node))
    then, orelse = last_end(node.then).values, last_end(node.orelse).values
    selects = [Op("select", (node.cond, a, b), result.kind, name=result.name)
               for result, a, b in zip(node.results, then, orelse, strict=True)]
    _replace(node, selects, selects, edit)


def _unrolls(loop: Loop) -> int | None:
    """How often a loop that is to be unrolled comes to its header at most, None for others."""
    counted = recognise_counted(loop) if loop.hint != "loop" else None
    trips = counted.trips if counted is not None else None
    if trips is None:
        return None
    copies = (trips + 1) * max(1, sum(1 for _ in all_ops(loop.body)))
    return trips + 1 if copies <= (MOST_COPIES if loop.hint == "unroll" else FEW_COPIES) else None


def _unrolled(loop: Loop, iterations: int) -> Region:
    """A region with one region for each iteration; what left the loop leaves the outer one."""
    outside, start = Label(loop.label.name), loop.inits
    items: list[Item] = [Block()]
    for _ in range(iterations):
        again = Label(loop.again.name)
        copier = Copier(dict(zip(loop.params, start, strict=True)), {loop.label: outside, loop.again: again})
        carried = [Param(param.kind, param.name) for param in loop.params]
        items += [Region(again, copier.items(loop.body), carried), Block()]
        start = list(carried)
    items[-1] = Block([], Exit(outside, [undefined(result.kind) for result in loop.results]))
    return Region(outside, items, [Param(result.kind, result.name) for result in loop.results])


def _replace(node: Node, new: Sequence[Op | Node], values: Sequence[Value], edit: Editing) -> None:
    """`new` in the place of a node, `values` in those of its results."""
    edit.insert(before_node(node), *new)
    replace_uses(edit.fn.body, dict(zip(node.results, values, strict=True)))
    edit.remove(node)
