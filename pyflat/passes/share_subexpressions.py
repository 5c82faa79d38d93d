"""Common subexpressions: operations that compute the same bits become one.

Before:                              After:
    %a = add %x, %y : f8                 %a = add %x, %y : f8
    %b = add %y, %x : f8                 %c = mul %a, %a : f8
    %c = mul %a, %b : f8                 yield %c
    yield %c

Global value numbering over one block: two operations are the same when operation, attrs and (already numbered)
operands are; operands of commutative operations come in any order, `x > y` is `y < x`, literals are compared by
their bits. The first one stays. When it is a temporary and a later one is the user's, it takes over the user's
name and statement, so that the printed twin keeps the name. A `fault` is an effect and never merged.
"""

from __future__ import annotations

from pyflat.ir.nodes import Function, If, Loop, Op, Region, Value
from pyflat.ir.uses import Key, Keys, results_of, with_args, with_block
from pyflat.passes.record import Pass


def share_subexpressions(fn: Function) -> Function:
    """`fn` in flat form without repeated computations; `fn` itself when there are none."""
    ops = fn.flat_block.ops
    leaders = _leaders(ops)
    if not leaders:
        return fn
    named = _named_duplicates(leaders)
    mapped: dict[Value, Value] = {}
    kept: list[Op] = []
    for op in ops:
        if op in leaders:
            mapped[op] = mapped.get(leaders[op], leaders[op])
            continue
        new = with_args(op, [mapped.get(a, a) for a in op.args])
        if op in named:
            new = _renamed(new, named[op])
        if new is not op:
            mapped[op] = new
        kept.append(new)
    return with_block(fn, kept, [mapped.get(v, v) for v in results_of(fn)])


def _leaders(ops: list[Op]) -> dict[Op, Op]:
    """For each operation that repeats an earlier one: the first of its kind."""
    leaders: dict[Op, Op] = {}
    first: dict[Key, Op] = {}
    keys = Keys()
    for op in ops:
        if op.opcode == "fault":
            continue
        leader = first.setdefault(keys.key(op), op)
        if leader is not op:
            leaders[op] = leader
            keys.merge(op, leader)
    return leaders


def _named_duplicates(leaders: dict[Op, Op]) -> dict[Op, Op]:
    """For each leader that is a temporary: its first duplicate that holds a variable of the user."""
    named: dict[Op, Op] = {}
    for duplicate, leader in leaders.items():
        if duplicate.name and not leader.name:
            named.setdefault(leader, duplicate)
    return named


def _renamed(op: Op, donor: Op) -> Op:
    copy = Op(op.opcode, op.args, op.kind, name=donor.name, attrs=op.attrs, origin=op.origin or donor.origin)
    copy.statement = donor.statement
    return copy


PASS = Pass(share_subexpressions, needs_gone=frozenset({If, Loop, Region}))
