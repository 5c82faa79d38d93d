"""A select of two equal operations becomes one operation on a select.

Before:                                   After:
    %a = mul %x, %y : f8                      %s = select %p, %y, %z : f8
    %b = mul %x, %z : f8                      %r = mul %x, %s : f8
    %r = select %p, %a, %b : f8               yield %r
    yield %r

Both operations must be used by this select alone, and differ in one operand (in either order where the order is free).
Exact: in every lane the same operation is made on the same operands. An opaque call is one of them when it is neither a
barrier nor guarded: one tap instead of two.
"""

from __future__ import annotations

from pyflat.ir.nodes import Function, Op, Value
from pyflat.ir.opaque_calls import is_barrier, is_guarded
from pyflat.ir.ops import COMMUTATIVE
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.logic import same
from pyflat.passes.rules.rewrite import Sweep


def factor_selects(fn: Function) -> Function:
    """One sweep over a flat function; `fn` itself when nothing is factored."""
    sweep = Sweep(fn)
    return sweep.over(fn, lambda op: _factored(sweep, op, *op.args) if op.opcode == "select" else None)


def _factored(sweep: Sweep, select: Op, cond: Value, a: Value, b: Value) -> Op | None:
    """The operation on a select, down through as many operations as there are; None when there is none."""
    way: list[tuple[Op, int, tuple[Value, ...]]] = []
    while (found := _step(sweep, a, b)) is not None:
        op, place, args, a, b = found
        way.append((op, place, args))
    if not way:
        return None
    result = sweep.emit("select", *map(sweep.read, (cond, a, b)), origin=select.origin)
    for op, place, args in reversed(way):
        operands = [result if k == place else sweep.read(arg) for k, arg in enumerate(args)]
        result = sweep.emit_like(op, operands, origin=select.origin)
    return result


def _step(sweep: Sweep, a: Value, b: Value) -> tuple[Op, int, tuple[Value, ...], Value, Value] | None:
    """One operation that both arms make: which operand differs, the operands, and the two values of that one."""
    if not (isinstance(a, Op) and isinstance(b, Op)) or a.opcode != b.opcode or a.attrs != b.attrs:
        return None
    if sweep.uses[a] != 1 or sweep.uses[b] != 1 or is_barrier(a) or is_guarded(a) or a.opcode == "part":
        return None
    aligned = _aligned(a, b)
    if aligned is None:
        return None
    place, first, second = aligned
    return a, place, first, first[place], second[place]


def _aligned(a: Op, b: Op) -> tuple[int, tuple[Value, ...], tuple[Value, ...]] | None:
    """The one operand in which they differ, and the operands in an order that shows it."""
    orders = [b.args, b.args[::-1]] if a.opcode in COMMUTATIVE else [b.args]
    for other in orders:
        if len(other) != len(a.args):
            continue
        places = [k for k, (x, y) in enumerate(zip(a.args, other, strict=True)) if not same(x, y)]
        if len(places) == 1 and a.args[places[0]].kind is other[places[0]].kind:
            return places[0], a.args, other
    return None


PASS = Pass(factor_selects, needs_gone=STRAIGHT)
