"""Common subexpressions: operations that compute the same bits become one.

Before:                              After:
    %a = add %x, %y : f8                 %a = add %x, %y : f8
    %b = add %y, %x : f8                 %c = mul %a, %a : f8
    %c = mul %a, %b : f8                 yield %c
    yield %c

Global value numbering over one block, and over the blocks of loops inside it: two operations are the same when
operation, attrs and (already numbered) operands are; operands of commutative operations come in any order, `x > y` is
`y < x`, literals are compared by their bits. The first one stays. When it is a temporary and a later one is the
user's, it takes over the user's name and statement, so that the printed twin keeps the name. A `fault` is an effect
and never merged, nor is an opaque call that is a barrier.
"""

from __future__ import annotations

from pyflat.ir.loops import take_apart
from pyflat.ir.nodes import Block, Function, Item, Loop, Op
from pyflat.ir.opaque_calls import is_barrier
from pyflat.ir.uses import Key, Keys, renamed, with_body
from pyflat.passes.record import TOTAL, Pass


def share_subexpressions(fn: Function) -> Function:
    """`fn` in flat or masked form without repeated computations; `fn` itself when there are none."""
    leaders: dict[Op, Op] = {}
    _find_leaders(fn.body, leaders, {}, Keys())
    if not leaders:
        return fn
    return with_body(fn, renamed(fn.body, _named_duplicates(leaders), leaders))


def _find_leaders(items: list[Item], leaders: dict[Op, Op], first: dict[Key, Op], keys: Keys) -> None:
    """For each operation that repeats one seen from its place: the first of its kind. What a loop computes is seen
    in that loop only."""
    for item in items:
        match item:
            case Block():
                for op in item.ops:
                    leader = op if is_barrier(op) else first.setdefault(keys.key(op), op)
                    if leader is not op:
                        leaders[op] = leader
                        keys.merge(op, leader)
            case Loop():
                parts, inside = take_apart(item), dict(first)
                _find_leaders(parts.header, leaders, inside, keys)
                _find_leaders(parts.rest, leaders, inside, keys)


def _named_duplicates(leaders: dict[Op, Op]) -> dict[Op, Op]:
    """For each leader that is a temporary: its first duplicate that holds a variable of the user."""
    named: dict[Op, Op] = {}
    for duplicate, leader in leaders.items():
        if duplicate.name and not leader.name:
            named.setdefault(leader, duplicate)
    return named


PASS = Pass(share_subexpressions, needs_gone=TOTAL)
