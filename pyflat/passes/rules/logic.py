"""The algebra of predicates and selects: exact rules, each for one operation whose operands are settled.

A rule takes an `Emit`, which appends an operation (simplified in turn), and the operands; it gives the value that
replaces the operation, or None. It looks one or two operations deep, and eight deep into chains of `and`/`or`,
so that a pass that applies it to every operation stays linear.

`undefined` is any value, and is read in no lane that matters: `and` and `or` take it as False, and a select
takes its other arm.
"""

from __future__ import annotations

from collections.abc import Callable

from pyflat.ir.nodes import FALSE, TRUE, Const, Op, Value
from pyflat.ir.ops import OPPOSITE
from pyflat.ir.types import BOOL, FLOAT

Emit = Callable[..., Value]
"""emit(opcode, *operands): the simplified operation."""

_CHAIN = 8


def same(a: Value, b: Value) -> bool:
    """Certainly the same bits in every lane."""
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value is not None and a.key == b.key
    return a is b


def is_undefined(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def opposite(op: Value, *, finite: bool = False) -> str | None:
    """The comparison that is true exactly where `op` is false; none for an order of floats (nan; but `finite` ones)."""
    if not isinstance(op, Op):
        return None
    exact = finite or op.opcode in ("eq", "ne") or op.opcode in OPPOSITE and op.args[0].kind is not FLOAT
    return OPPOSITE.get(op.opcode) if exact else None


def complement(a: Value, b: Value) -> bool:
    """Certainly a is `not b`."""
    if isinstance(a, Op):
        if a.opcode == "not" and a.args[0] is b:
            return True
        if not isinstance(b, Op):
            return False
        if b.opcode == "not":
            return b.args[0] is a
        return opposite(a) == b.opcode and all(map(same, a.args, b.args))
    if isinstance(b, Op):
        return b.opcode == "not" and b.args[0] is a
    return isinstance(a, Const) and isinstance(b, Const) and a.kind is BOOL and (
        a.value is not None and b.value is not None and a.value != b.value)


def negation(emit: Emit, x: Value) -> Value | None:
    """not not x, and the opposite of a comparison (unless the user gave the comparison a name)."""
    if not isinstance(x, Op):
        return None
    if x.opcode == "not":
        return x.args[0]
    other = opposite(x)
    return emit(other, *x.args) if other and not x.name else None


def conjunction(emit: Emit, x: Value, y: Value) -> Value | None:
    return _lattice(emit, "and", "or", x, y, neutral=TRUE)


def disjunction(emit: Emit, x: Value, y: Value) -> Value | None:
    return _lattice(emit, "or", "and", x, y, neutral=FALSE)


def _lattice(emit: Emit, opcode: str, dual: str, x: Value, y: Value, neutral: Const) -> Value | None:
    """The rules that `and` and `or` share; the names in the comments are those of `and`."""
    absorbing = FALSE if neutral is TRUE else TRUE
    for a, b in ((x, y), (y, x)):
        if isinstance(a, Const):
            taken = bool(a.value)
            return b if taken == neutral.value else absorbing
    mine, theirs = _parts(opcode, x), _parts(opcode, y)
    for whole, parts, other in ((x, mine, y), (y, theirs, x)):
        if other in parts:  # x & (x & y)
            return whole
        for part in parts:
            if complement(part, other):  # x & (~x & y)
                return absorbing
    for a, b in ((x, y), (y, x)):
        found = _absorbed(emit, opcode, dual, a, b)
        if found is not None:
            return found
    return _resolved(dual, x, y)


def _parts(opcode: str, value: Value) -> list[Value]:
    """The operands of a chain `a & b & c`, up to a limit, the intermediate values included."""
    found: list[Value] = []
    waiting = [value]
    while waiting and len(found) < _CHAIN:
        part = waiting.pop()
        found.append(part)
        if isinstance(part, Op) and part.opcode == opcode:
            waiting += part.args
    return found


def _absorbed(emit: Emit, opcode: str, dual: str, a: Value, b: Value) -> Value | None:
    """a & (a | c) is a; a & (~a | c) is a & c."""
    if not (isinstance(b, Op) and b.opcode == dual):
        return None
    for part, rest in (b.args, b.args[::-1]):
        if same(a, part):
            return a
        if complement(a, part):
            return emit(opcode, a, rest)
    return None


def _resolved(dual: str, x: Value, y: Value) -> Value | None:
    """(p | c) & (p | ~c) is p."""
    if not (isinstance(x, Op) and isinstance(y, Op) and x.opcode == y.opcode == dual):
        return None
    for p, c in (x.args, x.args[::-1]):
        for q, d in (y.args, y.args[::-1]):
            if same(p, q) and complement(c, d):
                return p
    return None


def difference(emit: Emit, x: Value, y: Value) -> Value | None:
    """xor and != of bools."""
    for a, b in ((x, y), (y, x)):
        if isinstance(a, Const):
            return emit("not", b) if a.value else b
    if same(x, y):
        return FALSE
    return TRUE if complement(x, y) else None


def equality(emit: Emit, x: Value, y: Value) -> Value | None:
    """== of bools."""
    for a, b in ((x, y), (y, x)):
        if isinstance(a, Const):
            return b if a.value else emit("not", b)
    if same(x, y):
        return TRUE
    return FALSE if complement(x, y) else None


def choice(emit: Emit, cond: Value, x: Value, y: Value) -> Value | None:
    """select(cond, x, y)."""
    if same(x, y) or is_undefined(y):
        return x
    if is_undefined(x) or is_undefined(cond):
        return y
    if isinstance(cond, Const):
        return x if cond.value else y
    if isinstance(cond, Op) and cond.opcode == "not":
        return emit("select", cond.args[0], y, x)
    narrow_x, narrow_y = _chosen(cond, x, True), _chosen(cond, y, False)
    if narrow_x is not x or narrow_y is not y:
        return emit("select", cond, narrow_x, narrow_y)
    if x.kind is BOOL:
        found = _bool_choice(emit, cond, x, y)
        if found is not None:
            return found
    return _merged_choice(emit, cond, x, y)


def _chosen(cond: Value, value: Value, outcome: bool) -> Value:
    """What `value` is in the lanes where `cond` has this outcome."""
    if isinstance(value, Op) and value.opcode == "select":
        if same(value.args[0], cond):
            return value.args[1 if outcome else 2]
        if complement(value.args[0], cond):
            return value.args[2 if outcome else 1]
    return value


def _bool_choice(emit: Emit, cond: Value, x: Value, y: Value) -> Value | None:
    if same(x, cond) or same(x, TRUE):
        return emit("or", cond, y)
    if same(y, cond) or same(y, FALSE):
        return emit("and", cond, x)
    if complement(x, cond) or same(x, FALSE):
        return emit("and", emit("not", cond), y)
    if complement(y, cond) or same(y, TRUE):
        return emit("or", emit("not", cond), x)
    return None


def _merged_choice(emit: Emit, cond: Value, x: Value, y: Value) -> Value | None:
    """Two selects with a common outcome are one select: a bool operation is cheaper than a select."""
    if isinstance(y, Op) and y.opcode == "select" and same(y.args[1], x):
        return emit("select", emit("or", cond, y.args[0]), x, y.args[2])
    if isinstance(x, Op) and x.opcode == "select" and same(x.args[2], y):
        return emit("select", emit("and", cond, x.args[0]), x.args[1], y)
    return None
