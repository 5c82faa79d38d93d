"""Before exits are lowered: what a loop computes only to leave it moves before its test, where that is harmless.

Before:                              After:
    loop @l (...) {                      loop @l (...) {
      %go = lt %i, %n                      %go = lt %i, %n
      if %go {                             %bound = not %unbound
        yield                              if %go {
      } else {                               yield
        %bound = not %unbound              } else {
        exit @l %s, %bound                   exit @l %s, %bound
      }                                    }

Then the test is the loop's own condition, and no live mask is carried for a loop that has no other exit.
"""

from __future__ import annotations

from pyflat.ir.nodes import Block, Exit, Function, If, Item, Label, Loop, Region
from pyflat.passes.record import Pass
from pyflat.targets.dataflow.needed import must_happen


def hoist_leaving(fn: Function) -> Function:
    """`fn` with the harmless operations of leaving arms in front of their tests."""
    return Function(fn.name, fn.params, _list(fn.body, None), fn.label, fn.result_kinds, fn.form, fn.floats)


def _list(items: list[Item], loop: Label | None) -> list[Item]:
    """A copy of a list; `loop` is the label of the loop whose body it is."""
    new: list[Item] = []
    for item in items:
        match item:
            case Block():
                new.append(Block(item.ops, item.end))
            case Region():
                new.append(Region(item.label, _list(item.body, None), item.results))
            case Loop():
                body = _list(item.body, item.label)
                new.append(Loop(item.label, item.again, item.params, item.inits, body, item.results))
            case If():
                new.append(If(item.cond, _list(item.then, None), _list(item.orelse, None), item.results))
                if loop is not None:
                    _hoist(new, loop)
    return new


def _hoist(items: list[Item], loop: Label) -> None:
    """The last item is an If: empty the arm that leaves the loop and nothing else."""
    before, test = items[-2:]
    assert isinstance(before, Block)
    assert isinstance(test, If)
    for arm in (test.then, test.orelse):
        first = arm[0]
        if len(arm) > 1 or not isinstance(first, Block) or not _leaves(first, loop) or any(map(must_happen, first.ops)):
            continue
        before.ops += first.ops
        first.ops = []


def _leaves(block: Block, loop: Label) -> bool:
    return isinstance(block.end, Exit) and block.end.label is loop


HOIST_LEAVING = Pass(hoist_leaving)
