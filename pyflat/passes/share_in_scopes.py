"""Common subexpressions of a structured function: what was computed before, in this list or around it, is used again.

Before:                                          After:
    %i = index %k, %n                                %i = index %k, %n
    %x = load %m, %i                                 %x = load %m, %i
    %j = index %k, %n                                %y = mul %x, %x
    %z = load %m, %j                                 %m.1 = store %m, %i, %y
    %y = mul %x, %z
    %m.1 = store %m, %j, %y

Memory is a value, so equal loads of one memory are equal numbers. What may fault is shared too: the first one has done
so. What may warn is shared within a line of the source: Python shows a warning once for each. What an arm, a loop or a
region computes is known inside of it only. `store`, `alloc` and calls that make arrays stay, and so do effects and
operations that depend on the lanes that are there.
"""

from __future__ import annotations

from typing import Any

from pyflat.ir.memory import may_warn
from pyflat.ir.nodes import Block, Function, If, Item, Loop, Op, Region, Value
from pyflat.ir.opaque_calls import is_barrier, is_guarded
from pyflat.ir.ops import CONVERGENT
from pyflat.ir.types import MEMORY
from pyflat.ir.uses import Key, Keys, rebuilt, with_args
from pyflat.passes.record import Pass


def share_in_scopes(fn: Function) -> Function:
    """A structured function without repeated computations; `fn` itself when there are none."""
    leaders: dict[Op, Op] = {}
    _find_leaders(fn.body, leaders, {}, Keys())
    if not leaders:
        return fn
    mapped: dict[Value, Value] = {}

    def read(value: Value) -> Value:
        return mapped.get(value, value)

    def change(op: Op) -> Op | None:
        if op in leaders:
            mapped[op] = read(leaders[op])
            return None
        new = mapped[op] = with_args(op, list(map(read, op.args)))
        return new

    return Function(fn.name, fn.params, rebuilt(fn.body, change, read), fn.label, fn.result_kinds, fn.form, fn.floats)


PASS = Pass(share_in_scopes)


def _find_leaders(items: list[Item], leaders: dict[Op, Op], first: dict[tuple[Key, Any], Op], keys: Keys) -> None:
    for item in items:
        match item:
            case Block():
                for op in item.ops:
                    leader = first.setdefault((keys.key(op), _line(op)), op) if _is_shared(op) else op
                    if leader is not op:
                        leaders[op] = leader
                        keys.merge(op, leader)
            case If():
                _find_leaders(item.then, leaders, dict(first), keys)
                _find_leaders(item.orelse, leaders, dict(first), keys)
            case Loop() | Region():
                _find_leaders(item.body, leaders, dict(first), keys)


def _line(op: Op) -> Any:
    """Where NumPy's warning says that it is; None where there is none."""
    span = op.span if may_warn(op.opcode, op.kind) else None
    return None if span is None else (span.file, span.line)


def _is_shared(op: Op) -> bool:
    alone = op.kind is MEMORY or op.opcode in CONVERGENT
    return not (alone or is_barrier(op) or is_guarded(op))
