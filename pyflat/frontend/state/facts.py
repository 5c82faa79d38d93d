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
from pyflat.ir.ops import COMPARISONS
from pyflat.ir.types import BOOL, FLOAT

Fact = tuple[Value, bool]
"""A bool value and what it is in every lane that gets here."""

MOST_OPERATIONS = 400
NO_NAN = Interval(-math.inf, math.inf)
Combined = Mapping[Value, tuple[bool, tuple[Value, ...]]]
"""Values that short circuits have joined: (is `and`, its parts)."""


def decide(test: Value, facts: Sequence[Fact], combined: Combined, floats: FloatFormat, *, nan: bool = True
           ) -> bool | None:
    """What `test` is in every lane that gets here, None where that is not known. `nan`: the lanes may be nan where
    the facts allow it. `floats`: the format of float lanes, in which literals are rounded."""
    known = Intervals(floats=floats)
    order = _operations(test)
    for value, held in _simple(facts, combined):
        if value is test:
            return held
        if order is None or not isinstance(value, Op) or value.opcode not in COMPARISONS:
            continue
        for arg in value.args if not nan else ():
            if arg.kind is FLOAT and not isinstance(arg, Const):
                known.narrow(arg, NO_NAN)
        known.assume(value, holds=held)
    if order is None:
        return None
    for op in order:
        told = known.of(op)
        known.note(op)
        known.narrow(op, told)
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
