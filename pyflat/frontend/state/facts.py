"""What the conditions around the current place say about lane values, and which tests they decide.

    def erf_like(x):                       x < 0 holds where the function calls itself, so that in the inner call
        if x < 0:                          -x < 0 is false in every lane: the recursion ends while flattening.
            return -erf_like(-x)
        ...

Only recursion asks: elsewhere the passes over the flat form find the same, and cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from pyflat.analysis.intervals import Interval, Intervals
from pyflat.ir.formats import FloatFormat
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.types import BOOL, FLOAT

Fact = tuple[Value, bool]
"""A bool value and what it is in every lane that gets here."""

MOST_OPERATIONS = 400
_NOT = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


Combined = Mapping[Value, tuple[bool, tuple[Value, ...]]]
"""Values that short circuits have joined: (is `and`, its parts)."""


def decide(test: Value, facts: Sequence[Fact], combined: Combined, floats: FloatFormat, *, nan: bool = True
           ) -> bool | None:
    """What `test` is in every lane that gets here, None where that is not known. `nan`: the lanes may be nan where
    the facts allow it. `floats`: the format of float lanes, in which literals are rounded."""
    known = Intervals(floats=floats)
    bounds: dict[Value, Interval] = {}
    for value, held in _simple(facts, combined):
        if value is test:
            return held
        if isinstance(value, Op):
            _learn(value, held, bounds, floats, nan=nan)
    order = _operations(test)
    if order is None:
        return None
    for value in bounds.keys() - set(order):
        known.narrow(value, bounds[value])
    for op in order:
        known.note(op)
        if op in bounds:
            known.narrow(op, bounds[op])
    return _outcome(test, known)


def _outcome(test: Value, known: Intervals) -> bool | None:
    if not isinstance(test, Op):
        return None
    if test.opcode in ("and", "or") and test.kind is BOOL:
        parts = [_outcome(arg, known) for arg in test.args]
        ends = test.opcode == "or"
        return ends if ends in parts else None if None in parts else not ends
    if test.opcode == "not":
        inner = _outcome(test.args[0], known)
        return None if inner is None else not inner
    return known.decide(test.opcode, test.args)


def _simple(facts: Sequence[Fact], combined: Combined) -> Iterator[Fact]:
    """The facts, those about `and`, `or` and `not` taken apart."""
    waiting = list(facts)
    while waiting:
        value, held = waiting.pop()
        yield value, held
        is_and, parts = combined.get(value, (False, ()))
        if is_and is held:
            waiting += [(part, held) for part in parts]
        if not isinstance(value, Op):
            continue
        if value.opcode == "not":
            waiting.append((value.args[0], not held))
        elif value.kind is BOOL and value.opcode == ("and" if held else "or"):
            waiting += [(arg, held) for arg in value.args]


def _learn(op: Op, held: bool, bounds: dict[Value, Interval], floats: FloatFormat, *, nan: bool) -> None:
    """The interval that a comparison with a constant leaves to the other side."""
    if op.opcode not in _NOT:
        return
    left, right = op.args
    opcode = op.opcode
    if isinstance(left, Const):
        left, right, opcode = right, left, _MIRRORED[opcode]
    if not isinstance(right, Const) or right.value is None or isinstance(left, Const) or math.isnan(right.value):
        return
    limit = floats.rounded(right.value) if left.kind is FLOAT else right.value
    found = _side(left.kind is FLOAT, opcode if held else _NOT[opcode], limit, may_be_nan=nan and not held)
    if found is not None:
        bounds[left] = _both(bounds[left], found) if left in bounds else found


def _side(is_float: bool, opcode: str, limit: float, *, may_be_nan: bool) -> Interval | None:
    below = math.nextafter(limit, -math.inf) if is_float else limit - 1
    above = math.nextafter(limit, math.inf) if is_float else limit + 1
    nan = may_be_nan and is_float
    lowest, highest = (-math.inf, math.inf) if is_float else (-(2**63), 2**63 - 1)
    match opcode:
        case "lt":
            return Interval(lowest, below, nan)
        case "le":
            return Interval(lowest, limit, nan)
        case "gt":
            return Interval(above, highest, nan)
        case "ge":
            return Interval(limit, highest, nan)
        case "eq":
            return Interval(limit, limit, nan)
    return None


def _both(a: Interval, b: Interval) -> Interval:
    return Interval(max(a.low, b.low), min(a.high, b.high), a.nan and b.nan)


def _operations(test: Value) -> list[Op] | None:
    """The operations that `test` is computed by, operands first; None when there are too many."""
    order: list[Op] = []
    seen: set[Value] = set()
    waiting: list[tuple[Value, bool]] = [(test, False)]
    while waiting:
        value, ready = waiting.pop()
        if not isinstance(value, Op):
            continue
        if ready:
            order.append(value)
        elif value not in seen:
            seen.add(value)
            if len(seen) > MOST_OPERATIONS:
                return None
            waiting.append((value, True))
            waiting += [(arg, False) for arg in value.args]
    return order
