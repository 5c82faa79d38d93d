"""Stores of a structured function that are not looked at: what was just stored is not loaded, and what the next store
overwrites is not stored.

Before:                                          After:
    %m.1 = store %m, %i, %x                          %y = add %x, 1.0
    %z = load %m.1, %i                               %m.2 = store %m, %i, %y
    %y = add %z, 1.0
    %m.2 = store %m.1, %i, %y

A load takes the number of the nearest store before it, where those between are to other elements; memory is a value, so
that its operands say which they are. The number is what the dtype leaves of it: floats that have been `rounded` and
ints that `fitted`, or another element. It is NumPy's, which `select true, x, x` says of a float that may be Python's.

A store goes where a later one of its block has the same element, nothing has read memory between them, and nothing
there may end the run: what the original has written by then is seen. Arrays that are made inside are not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TypeGuard

from pyflat.analysis.producers import is_left, is_of_numpy
from pyflat.ir.affine import affine, places
from pyflat.ir.faults import can_fault
from pyflat.ir.loops import all_ops, uses
from pyflat.ir.nodes import TRUE, Block, Function, Item, Op, Value, walk
from pyflat.ir.opaque_calls import has_effect
from pyflat.ir.types import FLOAT
from pyflat.ir.uses import rebuilt, renamed, with_args
from pyflat.passes.record import Pass

MOST_STORES = 64
"""That a load looks at."""


def forward_stores(fn: Function, *, tangled: Collection[str] = (), kept: Collection[str] = ()) -> Function:
    """`fn` itself when there are none. In an array that is `tangled` an element may have several places; from those
    that are `kept` all is loaded."""
    if not any(op.opcode in ("load", "store") and _is_store(op.args[0]) for op in all_ops(fn.body)):
        return fn
    body, forwarded = _forwarded(fn.body, tangled, kept)
    dead = _overwritten(body)
    if dead:
        body = _without(body, dead)
    if not dead and not forwarded:
        return fn
    return Function(fn.name, fn.params, body, fn.label, fn.result_kinds, fn.form, fn.floats)


PASS = Pass(forward_stores)


def _forwarded(items: list[Item], tangled: Collection[str], kept: Collection[str]) -> tuple[list[Item], bool]:
    mapped: dict[Value, Value] = {}
    found = False

    def read(value: Value) -> Value:
        return mapped.get(value, value)

    def change(op: Op) -> Op | None:
        nonlocal found
        new = with_args(op, list(map(read, op.args)))
        loads = op.opcode == "load" and op.attr("array") not in kept
        number = _stored(new, tangled) if loads else None
        if number is not None:
            found = True
            if op.kind is not FLOAT or is_of_numpy(number):
                mapped[op] = number
                return None
            new = Op("select", (TRUE, number, number), FLOAT, name=op.name, origin=op.origin)
        if new is not op:
            mapped[op] = new
        return new

    return rebuilt(items, change, read), found


def _stored(load: Op, tangled: Collection[str]) -> Value | None:
    """What a load finds, where a store before it says so."""
    memory, array = load.args[0], load.attr("array")
    for _ in range(MOST_STORES):
        if not _is_store(memory) or memory.attr("array") != array:
            return None
        if _are_same(load, memory):
            number = memory.args[-1]
            return number if number.kind is load.kind and is_left(number, load.attr("dtype")) else None
        if array in tangled or not _are_apart(load, memory):
            return None
        memory = memory.args[0]
    return None


def _is_store(memory: Value) -> TypeGuard[Op]:
    return isinstance(memory, Op) and memory.opcode == "store"


def _are_same(a: Op, b: Op) -> bool:
    """Two accesses of one array have one element."""
    return all(x is y or affine(x) == affine(y) is not None for x, y in zip(places(a), places(b), strict=True))


def _are_apart(a: Op, b: Op) -> bool:
    """They certainly have not: some literal indices are two that count from the same end."""
    return any(_literal(x) != _literal(y) and (_literal(x) < 0) == (_literal(y) < 0)
               for x, y in zip(places(a), places(b), strict=True) if _is_literal(x) and _is_literal(y))


def _is_literal(place: Value) -> bool:
    form = affine(place)
    return form is not None and not form[0]


def _literal(place: Value) -> int:
    form = affine(place)
    assert form is not None
    return form[1]


def _overwritten(items: list[Item]) -> set[Op]:
    used = Counter(uses(items))
    stores = [op for op in all_ops(items) if op.opcode in ("alloc", "store")]
    made = {op.attr("array") for op in stores if op.opcode == "alloc"}
    unseen = {before for op in stores if op.attr("array") in made and _is_store(before := op.args[0])
              and used[before] == 1 and before.attr("array") == op.attr("array") and _are_same(before, op)}
    return unseen | {op for item in walk(items) if isinstance(item, Block) for op in _overwritten_in(item.ops, used)}


def _overwritten_in(ops: Sequence[Op], used: Counter[Value]) -> set[Op]:
    found: set[Op] = set()
    open_: list[Op] = []
    """Stores of one memory in order, each read by the next one only."""
    for op in ops:
        if op.opcode == "store":
            if not open_ or op.args[0] is not open_[-1]:
                open_.clear()
            found.update(each for each in open_ if each.attr("array") == op.attr("array") and _are_same(each, op))
            open_.append(op)
            if used[op] != 1:
                open_.clear()
        elif has_effect(op) or can_fault(op):
            open_.clear()
    return found


def _without(items: list[Item], dead: set[Op]) -> list[Item]:
    return renamed(items, {}, {op: op.args[0] for op in dead})
