"""Where the operands of elementary functions lie, in the lanes that need them.

    %2 = gt %x, 90.0                      suspect
    %3 = mul %x, 0.0174...
    %4 = select %c, %3, 0.0               where %c, which is `ge %x, -90.0`
    %5 = cos %3                           needed where %c and not %2: %3 is within [-1.571, 1.571]

The vector code of a function leaves out what cannot happen there (`analysis.ranged_machine`). Read lazily, a select
needs one of its arms, `and` and `or` of truths the second operand where the first does not settle them, and the results
of a suspect lane are the original's (`runtime.replay`). A value is exact in every lane that needs it so: its operands
are needed there too. What other lanes get, no result depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyflat.analysis.intervals import ANY_FLOAT, Interval
from pyflat.analysis.liveness import used_outside
from pyflat.analysis.ranges import union
from pyflat.ir.formats import FloatFormat
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Block, Item, Op, Value
from pyflat.ir.types import BOOL, FLOAT
from pyflat.targets.numba.loop_variance import IntervalWalk

Condition = tuple[Value, bool]
Conditions = dict[Condition, None]
"""Those that hold together, in the order of the program: what is kept on disk must not depend on the process."""

MOST_CONDITIONS, MOST_PARTS, MOST_DEPTH = 64, 256, 4
"""Conditions of an operation: beyond them the inner ones are not looked at; what follows from them; and how deep a
condition is looked into."""


def operand_ranges(items: Sequence[Item], results: Sequence[Value], suspect: Value | None, floats: FloatFormat,
                   wanted: Callable[[Op], bool]) -> dict[Op, tuple[Interval, ...]]:
    """Where operands of the `wanted` operations of a flat or masked list lie. `suspect` says in which lanes the
    original settles the float results; None where no lane is run again."""
    if not any(map(wanted, all_ops(list(items)))):
        return {}
    walk = _RangeWalk(floats, items, results, suspect, wanted)
    found = _alike_of_pairs(walk.ranges) if walk.settle(items) else {}
    return {op: within for op, within in found.items() if any(each != ANY_FLOAT for each in within)}


class _RangeWalk(IntervalWalk):
    """Notes the operands of operations where their block ends: what a condition says is computed before."""

    def __init__(self, floats: FloatFormat, items: Sequence[Item], results: Sequence[Value], suspect: Value | None,
                 wanted: Callable[[Op], bool]):
        super().__init__(floats)
        self.wanted, self.outside = wanted, used_outside(items, ())
        settled = _ALWAYS if suspect is None else resolved({(suspect, False): None})
        self.ends = {result: settled if result.kind is FLOAT else _ALWAYS
                     for result in results if result not in self.outside}
        self.ranges: dict[Op, tuple[Interval, ...]] = {}

    def block(self, block: Block) -> None:
        super().block(block)
        wanted = [op for op in block.ops if self.wanted(op)]
        if not wanted:
            return
        needed = _needed(block.ops, {**dict.fromkeys(self.outside, _ALWAYS), **self.ends})
        for op in wanted:
            self.ranges[op] = self.known.operands_where(resolved(needed[op]), op)


_ALWAYS: Conditions = {}


def _needed(ops: Sequence[Op], outside: Mapping[Value, Conditions]) -> dict[Value, Conditions]:
    """For each operation conditions that hold in all lanes that need it. `outside`: those of what is used elsewhere."""
    found: dict[Value, Conditions] = {}
    implied: dict[Condition, Conditions] = {}

    def need(value: Value, conditions: Conditions) -> None:
        known = found.get(value)
        found[value] = conditions if known is None else {each: None for each in known if each in conditions}

    for op in reversed(ops):
        if op in outside:
            need(op, outside[op])
        own = found.setdefault(op, _ALWAYS)
        for arg, gate in zip(op.args, _gates(op), strict=True):
            if gate is None or len(own) >= MOST_CONDITIONS:
                need(arg, own)
            else:
                need(arg, {**own, **implied.setdefault(gate, implied.get(gate) or resolved({gate: None}))})
    return found


def _gates(op: Op) -> Sequence[Condition | None]:
    """For each operand, what holds of the others where it is needed."""
    if op.opcode == "select":
        return None, (op.args[0], True), (op.args[0], False)
    if op.opcode in ("and", "or") and op.kind is BOOL:
        return None, (op.args[0], op.opcode == "and")
    return [None] * len(op.args)


def resolved(conditions: Conditions) -> Conditions:
    """The conditions, and what follows from those of them that are made of others."""
    known = dict(conditions.keys())
    before = -1
    while before != len(known) < MOST_PARTS:
        before = len(known)
        for value, holds in list(known.items()):
            if not isinstance(value, Op) or value.kind is not BOOL:
                continue
            if value.opcode == "not":
                known.setdefault(value.args[0], not holds)
            elif value.opcode in ("and", "or"):
                for part, that in _parts(value, holds, known).items():
                    known.setdefault(part, that)
    return dict.fromkeys(known.items())


def _parts(value: Op, holds: bool, known: Mapping[Value, bool]) -> dict[Value, bool]:
    """What an `and` or `or` says of its operands: all, or of one where the other does not settle it."""
    a, b = value.args
    if holds == (value.opcode == "and"):
        return {a: holds, b: holds}
    return {each: holds for each, other in ((a, b), (b, a)) if _outcome(other, known) is (not holds)}


def _outcome(value: Value, known: Mapping[Value, bool], depth: int = MOST_DEPTH) -> bool | None:
    """What a truth is that is known, or made of such."""
    if value in known or not isinstance(value, Op) or value.kind is not BOOL or not depth:
        return known.get(value)
    parts = [_outcome(arg, known, depth - 1) for arg in value.args]
    match value.opcode:
        case "not":
            return None if parts[0] is None else not parts[0]
        case "and" | "or":
            ends = value.opcode == "or"
            return ends if ends in parts else None if None in parts else not ends
    return None


def _alike_of_pairs(ranges: dict[Op, tuple[Interval, ...]]) -> dict[Op, tuple[Interval, ...]]:
    """One interval for the sine and the cosine of an angle, which one function computes."""
    found: dict[Value, Interval] = {}
    pairs = [op for op in ranges if op.opcode in ("sin", "cos")]
    for op in pairs:
        angle, within = op.args[0], ranges[op][0]
        found[angle] = union(found[angle], within) if angle in found else within
    return {**ranges, **{op: (found[op.args[0]],) for op in pairs}}
