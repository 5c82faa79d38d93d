"""Predicates by truth table: what a few bools always are.

Before:                              After:
    %a = not %p : b                      yield %p
    %b = and %q, %a : b
    %c = ne %q, %b : b
    %d = or %c, %p : b
    %e = and %d, %p : b
    yield %e

The operations on bools above an operation, a few levels of them, are a function of a few bools. Where that is
constant, one of these bools, or an operation in between, it is that. Exact, and independent of how the predicate was
written: what the identities of `passes.rules.logic` do not see because it is spread over several operations.
"""

from __future__ import annotations

from collections.abc import Callable

from pyflat.ir.nodes import FALSE, TRUE, Const, Function, Op, Value
from pyflat.ir.types import BOOL
from pyflat.passes.record import STRAIGHT, Pass
from pyflat.passes.rules.rewrite import Sweep

DEEPEST = 4
MOST_BOOLS = 6
_PATTERNS = [sum(((row >> k) & 1) << row for row in range(2**MOST_BOOLS)) for k in range(MOST_BOOLS)]
"""The column of the k-th of six bools in a truth table, as the bits of an int."""
_ALL = (1 << 2**MOST_BOOLS) - 1
_TABLES: dict[str, Callable[..., int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "ne": lambda a, b: a ^ b,
    "eq": lambda a, b: a ^ b ^ _ALL,
    "not": lambda a: a ^ _ALL,
    "select": lambda c, a, b: c & a | (c ^ _ALL) & b,
}


def simplify_bools(fn: Function) -> Function:
    """One sweep over a flat function; `fn` itself when no predicate is simpler than it was written."""
    sweep = Sweep(fn)

    def change(op: Op) -> Value | None:
        found = _simpler(op) if _is_logic(op) else None
        return found and sweep.read(found)

    return sweep.over(fn, change)


def _is_logic(value: Value) -> bool:
    logic = isinstance(value, Op) and value.opcode in _TABLES
    return logic and isinstance(value, Op) and all(arg.kind is BOOL for arg in value.args)


def _simpler(op: Op) -> Value | None:
    for depth in range(1, DEEPEST + 1):
        leaves = _leaves(op, depth)
        if not leaves or len(leaves) > MOST_BOOLS:
            continue
        tables: dict[Value, int] = dict(zip(leaves, _PATTERNS, strict=False))
        whole = _table(op, tables)
        if whole in (0, _ALL):
            return TRUE if whole else FALSE
        for value, table in tables.items():
            if table == whole and value is not op:
                return value
    return None


def _leaves(op: Op, depth: int) -> list[Value]:
    found: dict[Value, None] = {}
    _collect(op, depth, found)
    return list(found)


def _collect(op: Op, depth: int, found: dict[Value, None]) -> None:
    for arg in op.args:
        if isinstance(arg, Op) and depth > 1 and _is_logic(arg):
            _collect(arg, depth - 1, found)
        elif not isinstance(arg, Const) or arg.value is None:
            found[arg] = None


def _table(value: Value, tables: dict[Value, int]) -> int:
    if isinstance(value, Const) and value.value is not None:
        return _ALL if value.value else 0
    if value not in tables:
        assert isinstance(value, Op)
        tables[value] = _TABLES[value.opcode](*[_table(arg, tables) for arg in value.args])
    return tables[value]


PASS = Pass(simplify_bools, needs_gone=STRAIGHT)
