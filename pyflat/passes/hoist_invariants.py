"""Loop-invariant operations move to the padding block before their loop.

Before:                              After:
    loop L (s = x):                      k = a * b
        k = a * b                        loop L (s = x):
        q = a / b                            q = a / b
        ...                                  ...

An operation is invariant when all its operands come from outside of the loop, or are invariant. It moves only if it
cannot fault: what it computes in a lane that would not have come there has no effect. One that may fault stays where
Python would have met it, and so do opaque calls that are barriers or guarded, and `lane_any`, whose answer depends on
the lanes that are there. Arms inside of the
loop are searched too, so a costly operation of a rare arm is computed once, taken or not.

Outer loops come first: an operation goes as far out as it can.
"""

from __future__ import annotations

from pyflat.ir.edit.copying import copy_function
from pyflat.ir.edit.cursor import before_node
from pyflat.ir.edit.editor import Editing, editing
from pyflat.ir.edit.tree import blocks_in
from pyflat.ir.faults import can_fault
from pyflat.ir.lists import definitions
from pyflat.ir.nodes import Function, Loop, Op, walk
from pyflat.ir.opaque_calls import is_barrier, is_guarded
from pyflat.ir.ops import CONVERGENT
from pyflat.passes.record import Pass


def hoist_invariants(fn: Function) -> Function:
    """`fn` with invariant operations before their loops; `fn` itself when there are none."""
    if not any(isinstance(item, Loop) for item in walk(fn.body)):
        return fn
    copy = copy_function(fn)
    with editing(copy) as edit:
        loops = [item for item in walk(copy.body) if isinstance(item, Loop)]
        moved = sum(_hoist(edit, loop) for loop in loops)
    return copy if moved else fn


PASS = Pass(hoist_invariants)


def _hoist(edit: Editing, loop: Loop) -> int:
    """Move the invariant operations of one loop; gives how many."""
    inside = {*loop.params, *definitions(loop.body)}
    moved: list[Op] = []
    for block in blocks_in(loop.body):
        for op in list(block.ops):
            if not inside.intersection(op.args) and _may_move(op):
                edit.move(op, before_node(loop))
                inside.remove(op)
                moved.append(op)
    return len(moved)


def _may_move(op: Op) -> bool:
    return op.opcode not in CONVERGENT and not is_barrier(op) and not is_guarded(op) and not can_fault(op)
