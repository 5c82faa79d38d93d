"""Random flat functions, and what has to hold for a pass over the flat form."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

from pyflat.ir.build import Builder, const, undefined
from pyflat.ir.faults import fault_condition
from pyflat.ir.interp import run
from pyflat.ir.nodes import Block, Fault, Function, Label, Op, Param, Value, Yield
from pyflat.ir.ops import COMPARISONS, PRIMITIVES
from pyflat.ir.parse import parse_function
from pyflat.ir.print import format_function
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.ir.validate import validate

EDGES: dict[Kind, tuple[Any, ...]] = {
    BOOL: (False, True),
    INT: (0, 1, -1, 2, 3, -7, 10, 63, 64, 65, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1),
    FLOAT: (
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 2.0, -3.0, 0.1, 5e-324, -5e-324, 1e308, -1.7976931348623157e308,
        2.0**53, 2.0**63, -(2.0**63), math.inf, -math.inf, math.nan,
    ),
}  # fmt: skip
KINDS = (BOOL, INT, FLOAT)
LITERALS: dict[Kind, tuple[Any, ...]] = {
    BOOL: (False, True),
    INT: (0, 1, -1, 2, 5, 10, 63, -(2**63), 2**63 - 1),
    FLOAT: (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, math.inf, math.nan),
}
ARITHMETIC = tuple(
    name
    for name, row in PRIMITIVES.items()
    if name not in ("select", "gather", "fault", "and", "or", "xor", "not", "gamma", "lgamma", "round_digits", "ufunc")
    and name not in COMPARISONS
)


def same_bits(a: Any, b: Any) -> bool:
    """The same type and bits; any nan equals any nan."""
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or struct.pack("d", a) == struct.pack("d", b)
    return type(a) is type(b) and a == b


class FlatPrograms:
    """Random valid flat functions in which every arbitrary or undefined value is masked or flagged."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.build = Builder()
        self.params = [Param(BOOL, "p"), Param(BOOL, "q"), Param(INT, "i"), Param(INT, "j"), Param(FLOAT, "x"), Param(FLOAT, "y")]
        self.scope: dict[Kind, list[Value]] = {k: [p for p in self.params if p.kind is k] for k in KINDS}

    def function(self, size: int = 25) -> Function:
        for _ in range(size):
            self.step()
        r = self.random
        results = [self.value(r.choice(KINDS)) for _ in range(r.randrange(1, 4))]
        kinds = [v.kind for v in results]
        block = Block(self.build.block.ops, Yield(results))
        return Function("f", self.params, [block], Label("return"), kinds, "flat")

    def value(self, kind: Kind) -> Value:
        r = self.random
        if r.random() < 0.25:
            return const(r.choice(LITERALS[kind]))
        return r.choice(self.scope[kind][-6:]) if r.random() < 0.7 else r.choice(self.scope[kind])

    def add(self, opcode: str, *args: Value, **more: Any) -> Op:
        op = self.build.op(opcode, *args, name=self.random.choice(("", "", "", "a", "b")), **more)
        return op

    def step(self) -> None:
        r = self.random
        match r.randrange(10):
            case 0 | 1:
                self.keep(self.add(r.choice(("and", "or")), self.value(BOOL), self.value(BOOL)))
            case 2:
                self.keep(self.add("not", self.value(BOOL)))
            case 3:
                self.keep(self.add(r.choice(("xor", "eq", "ne")), self.value(BOOL), self.value(BOOL)))
            case 4:
                kind = r.choice((INT, FLOAT))
                self.keep(self.add(r.choice(COMPARISONS), self.value(kind), self.value(kind)))
            case 5 | 6:
                kind = r.choice(KINDS)
                self.keep(self.add("select", self.value(BOOL), self.value(kind), self.value(kind)))
            case 7:
                self.masked()
            case _:
                self.arithmetic()

    def keep(self, op: Op) -> None:
        self.scope[op.kind].append(op)

    def arithmetic(self) -> None:
        """An operation that may fault: flagged, under a predicate whose complement masks its value."""
        r = self.random
        if r.random() < 0.1:
            kind = r.choice(KINDS)
            table = tuple(r.choice(LITERALS[kind]) for _ in range(3))
            op = self.add("gather", self.value(INT), kind=kind, table=table)
        else:
            row = PRIMITIVES[r.choice(ARITHMETIC if r.random() < 0.4 else ("add", "sub", "mul", "mod", "abs", "to_float"))]
            op = self.add(row.name, *(self.value(k) for k in r.choice(row.signatures)[0]))
        cond = fault_condition(self.build, op)
        if cond is None:
            self.keep(op)
            return
        live = self.value(BOOL)
        self.build.fault(self.build.op("and", live, cond), Fault("ValueError"))
        self.keep(self.add("select", live, op, self.value(op.kind)))

    def masked(self) -> None:
        """A value that is undefined where `live` is false, used, and masked again."""
        r = self.random
        live, kind = self.value(BOOL), r.choice((INT, FLOAT))
        part = self.add("select", live, self.value(kind), undefined(kind))
        used = self.add("lt", part, self.value(kind)) if r.random() < 0.5 else self.add("abs", part)
        if used.kind is BOOL:
            self.keep(self.add("and", live, used) if r.random() < 0.5 else self.add("or", self.build.op("not", live), used))
        else:
            flag = fault_condition(self.build, used)
            if flag is not None:
                self.build.fault(self.build.op("and", live, flag), Fault("ValueError"))
            self.keep(self.add("select", live, used, self.value(kind)))


def samples(fn: Function, count: int, seed: int = 0) -> list[tuple[Any, ...]]:
    r = random.Random(seed)
    return [tuple(r.choice(EDGES[p.kind]) for p in fn.params) for _ in range(count)]


def assert_equal(before: Function, after: Function, lanes: Sequence[tuple[Any, ...]]) -> None:
    """The same lanes are suspect, and in the others the results have the same bits."""
    for lane in lanes:
        old, new = run(before, lane), run(after, lane)
        where = f"lane {lane}: {old} became {new}\n{format_function(before)}\n{format_function(after)}"
        assert old.suspect == new.suspect, where
        assert old.suspect or all(map(same_bits, old.values, new.values)), where
        assert len(old.values) == len(new.values)


def check_pass(change: Callable[[Function], Function], fn: Function, lanes: int = 12, seed: int = 0) -> Function:
    """Run a pass and check what every pass has to keep: its input, validity, meaning; and that it settles."""
    text = format_function(fn)
    after = change(fn)
    validate(after)
    assert format_function(fn) == text
    assert change(after) is after, f"a second run changes\n{format_function(after)}\nto\n{format_function(change(after))}"
    assert_equal(fn, after, samples(fn, lanes, seed))
    return after


def flat(body: str) -> Function:
    """A flat function of p, q: b, i, j: i8, x, y: f8 with these lines; result kinds are read off the yield."""
    lines = [line.strip() for line in body.strip().splitlines()]
    head = "func @f(%p: b, %q: b, %i: i8, %j: i8, %x: f8, %y: f8) -> () flat @return {"
    fn = parse_function("\n".join([head, *lines, "}"]))
    end = fn.flat_block.end
    assert isinstance(end, Yield)
    fn.result_kinds = tuple(v.kind for v in end.values)
    validate(fn)
    return fn


def body_of(fn: Function) -> str:
    """The lines of a flat function without its frame."""
    return "\n".join(line.strip() for line in format_function(fn).splitlines()[1:-1])


def becomes(change: Callable[[Function], Function], before: str, after: str) -> None:
    """`change` turns these lines into those, and keeps what every pass has to keep."""
    got = body_of(check_pass(change, flat(before), lanes=60))
    want = "\n".join(line.strip() for line in after.strip().splitlines())
    assert got == want, f"\n{got}\n\ninstead of\n\n{want}"


def unchanged(change: Callable[[Function], Function], body: str) -> None:
    fn = flat(body)
    got = change(fn)
    assert got is fn, body_of(got)
