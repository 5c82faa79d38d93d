"""Opaque calls on constants, tables of one value, and parts of vectors that were just put together.

Before:                                        After:
    %0 = call 0.5 {name = "ramp"} : pack           yield 0.25, %x
    %a = part %0 {index = 1} : f8
    %1 = pack %x, %y : pack
    %b = part %1 {index = 0} : f8
    yield %a, %b

`evaluate(op)` gives the numbers of a call whose operands are literals, None where it may not be folded: a call is
computed only when its entry says what it computes in Python and that it is pure and no barrier. A vector made of all
parts of another one, in order, is that one. Exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.ir.types import PACK, kind_of
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.rewrite import Sweep, is_literal

Evaluate = Callable[[Op], Sequence[bool | int | float] | None]


def fold_calls(fn: Function, evaluate: Evaluate = lambda op: None) -> Function:
    """`fn`, a flat function, without the calls and parts whose values are known; `fn` itself when there are none."""
    sweep = Sweep(fn)
    known: dict[Value, Sequence[bool | int | float]] = {}
    return sweep.over(fn, lambda op: _folded(sweep, op, known, evaluate))


def _folded(sweep: Sweep, op: Op, known: dict[Value, Sequence[bool | int | float]], evaluate: Evaluate) -> Value | None:
    if op.opcode == "call" and all(is_literal(arg) for arg in op.args):
        numbers = evaluate(op)
        if numbers is not None and op.kind is PACK:
            known[op] = numbers
        elif numbers is not None and kind_of(numbers[0]) is op.kind:
            return Const(op.kind, numbers[0])
    if op.opcode == "part":
        whole, index = op.args[0], op.attr("index")
        if whole in known and kind_of(known[whole][index]) is op.kind:
            return Const(op.kind, known[whole][index])
        if isinstance(whole, Op) and whole.opcode == "pack":
            return sweep.read(whole.args[index])
    if op.opcode == "pack":
        return _whole(sweep, op)
    if op.opcode == "gather":
        first, *rest = (Const(op.kind, item) for item in op.attr("table"))
        return first if all(item.key == first.key for item in rest) else None
    return None


def _whole(sweep: Sweep, pack: Op) -> Value | None:
    """The vector that `pack` takes apart and puts together again."""
    first = pack.args[0]
    if not (isinstance(first, Op) and first.opcode == "part"):
        return None
    source = first.args[0]
    same = all(isinstance(arg, Op) and arg.opcode == "part" and arg.args[0] is source and arg.attr("index") == k
               for k, arg in enumerate(pack.args))
    return sweep.read(source) if same and _width(source) == len(pack.args) else None


def _width(vector: Value) -> int | None:
    """How many numbers a vector has; of a call that is not known here."""
    return len(vector.args) if isinstance(vector, Op) and vector.opcode == "pack" else None


PASS = Pass(fold_calls, needs_gone=STRAIGHT)
