"""Random structured functions that mostly return: IR-level fuzz for the passes.

Nested Ifs, Regions, and unrolled loops (a Region of copies with break, and with a Region per copy for continue), with
exits to any enclosing label, raises, and primitives that fault now and then; with `loops` also Loop nodes, which
end after a few trips whatever their bodies do. Differing values reach every exit, so that a wrong mask, arm or
accumulator shows in the results.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from pyflat.ir.build import Builder, const, results_like
from pyflat.ir.interp import LaneFault, LaneResult, run
from pyflat.ir.nodes import FAULT, Block, Exit, Fault, Function, If, Label, Loop, Param, Region, Value, Yield
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

KINDS = (BOOL, INT, FLOAT, FLOAT)
LITERALS: dict[Kind, tuple[Any, ...]] = {
    BOOL: (True, False),
    INT: (0, 1, -1, 2, 7),
    FLOAT: (0.0, -0.0, 1.0, 0.5, -2.5, 3.0),
}
EDGES: dict[Kind, tuple[Any, ...]] = {
    BOOL: (True, False),
    INT: (0, 1, -1, 2, 3, -7, 2**53 + 1, 2**63 - 1, -(2**63)),
    FLOAT: (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")),
}
SAFE = {
    BOOL: (("and", BOOL, BOOL), ("or", BOOL, BOOL), ("xor", BOOL, BOOL), ("not", BOOL), ("lt", FLOAT, FLOAT),
           ("ge", FLOAT, FLOAT), ("eq", INT, INT), ("lt", INT, INT), ("isnan", FLOAT)),
    INT: (("xor", INT, INT), ("and", INT, INT), ("invert", INT), ("select", BOOL, INT, INT), ("to_int", BOOL)),
    FLOAT: (("add", FLOAT, FLOAT), ("sub", FLOAT, FLOAT), ("mul", FLOAT, FLOAT), ("neg", FLOAT),
            ("select", BOOL, FLOAT, FLOAT), ("to_float", INT), ("nextafter", FLOAT, FLOAT)),
}
FAULTY = (("truediv", FLOAT, FLOAT), ("sqrt", FLOAT), ("add", INT, INT), ("sub", INT, INT), ("floordiv", INT, INT),
          ("mod", INT, INT), ("log", FLOAT), ("neg", INT), ("shr", INT, INT))
"""Primitives whose fault rules are exact, so that a fault in a lane that returns is a bug."""


class StructuredPrograms:
    """One program per seed: `StructuredPrograms(7).function()` is always the same function."""

    def __init__(self, seed: int, *, loops: bool = False):
        self.loops = loops
        self.first: dict[Label, Value] = {}
        """Labels of loops: the counter that starts their next iteration."""
        self.random = random.Random(seed)
        self.build = Builder()
        self.labels: list[tuple[Label, tuple[Kind, ...]]] = []
        self.budget = 24

    def function(self) -> Function:
        r = self.random
        params = [Param(kind, name) for kind, name in zip((FLOAT, INT, FLOAT, BOOL), "xnyb", strict=True)]
        kinds = tuple(r.choice(KINDS) for _ in range(r.randint(1, 3)))
        label = Label("return")
        self.labels.append((label, kinds))
        with self.build.detached() as body:
            self.fill(list(params), kinds, 4)
        return Function("f", params, body, label, kinds)

    # --- values

    def value(self, scope: Sequence[Value], kind: Kind) -> Value:
        """Mostly one of the newest values of the kind, so that programs are deep rather than wide."""
        fitting = [v for v in scope if v.kind is kind]
        if not fitting or self.random.random() < 0.15:
            return const(self.random.choice(LITERALS[kind]))
        return self.random.choice(fitting[-4:] if self.random.random() < 0.7 else fitting)

    def values(self, scope: Sequence[Value], kinds: Sequence[Kind]) -> list[Value]:
        return [self.value(scope, kind) for kind in kinds]

    def op(self, scope: list[Value], kind: Kind | None = None) -> Value:
        r = self.random
        table = SAFE[kind or r.choice(KINDS)]
        opcode, *kinds = r.choice(FAULTY if kind is None and r.random() < 0.08 else table)
        op = self.build.op(opcode, *self.values(scope, kinds), name=r.choice(("", "u", "v")))
        scope.append(op)
        return op

    # --- lists

    def fill(self, scope: list[Value], takes: Sequence[Kind], depth: int, leave: float = 0.3) -> None:
        """Build into the current list: operations and nodes, then an end (a Yield carries `takes`)."""
        r = self.random
        for _ in range(r.randint(1, 4)):
            self.op(scope)
            if depth and self.budget > 0 and r.random() < 0.6:
                self.budget -= 1
                shapes = [self.branch, self.branch, self.region, self.unrolled, *[self.rolled] * 3 * self.loops]
                r.choice(shapes)(scope, depth - 1)
        chance = r.random()
        if chance < 0.04:
            self.build.end(Exit(FAULT, (), Fault("ValueError", "raised")))
        elif chance < leave:
            label, kinds = r.choice(self.labels)
            values = self.values(scope, kinds)
            if label in self.first:
                values[0] = self.first[label]
            self.build.end(Exit(label, values))
        else:
            self.build.end(Yield(self.values(scope, takes)))

    def branch(self, scope: list[Value], depth: int) -> None:
        kinds = [self.random.choice(KINDS) for _ in range(self.random.randint(0, 2))]
        self.guard(scope, kinds, depth, 0.35)

    def guard(self, scope: list[Value], kinds: Sequence[Kind], depth: int, leave: float) -> None:
        """An If whose arms exit with the probability `leave`, and whose results are new in `scope`."""
        cond = self.op(scope, BOOL)
        arms = []
        for _ in range(2):
            with self.build.detached() as arm:
                self.fill(list(scope), kinds, depth, leave)
            arms.append(arm)
        results = [Param(kind, self.random.choice(("", "u", "w"))) for kind in kinds]
        self.build.node(If(cond, arms[0], arms[1], results))
        scope += results

    def region(self, scope: list[Value], depth: int) -> None:
        kinds = tuple(self.random.choice(KINDS) for _ in range(self.random.randint(0, 2)))
        scope += self.open_region("frame", scope, kinds, depth)

    def open_region(self, name: str, scope: Sequence[Value], kinds: tuple[Kind, ...], depth: int) -> list[Param]:
        label = Label(name)
        self.labels.append((label, kinds))
        with self.build.detached() as body:
            self.fill(list(scope), kinds, depth, 0.6)
        self.labels.pop()
        results = [Param(kind, "r") for kind in kinds]
        self.build.node(Region(label, body, results))
        return results

    def unrolled(self, scope: list[Value], depth: int) -> None:
        """A loop of a few copies: each may break, return, or be a Region of its own that `continue` leaves."""
        r = self.random
        carried = [self.op(scope), self.op(scope)]
        label, kinds = Label("loop"), tuple(v.kind for v in carried)
        self.labels.append((label, kinds))
        before = self.budget
        with self.build.detached() as body:
            inner = [*scope]
            for _ in range(r.choice((2, 3, 12))):
                self.budget = min(before, 2)
                if r.random() < 0.5:
                    inner += self.open_region("next", inner, kinds, min(depth, 1))
                else:
                    self.guard(inner, kinds, min(depth, 1), 0.3)
            self.build.end(Yield(self.values(inner[-3:], kinds)))
        self.budget = before - 2
        self.labels.pop()
        results = results_like(carried)
        self.build.node(Region(label, body, results))
        scope += results

    def rolled(self, scope: list[Value], depth: int) -> None:
        """A Loop that counts its trips: left by a test near its start, by exits anywhere, and perhaps at its end."""
        r = self.random
        label, again = Label("loop"), Label("again")
        kinds = tuple(r.choice(KINDS) for _ in range(r.randint(0, 2)))
        carried = tuple(r.choice(KINDS) for _ in range(r.randint(0, 2)))
        params = [Param(INT, "k"), *[Param(kind, "c") for kind in carried]]
        inits = [const(0), *self.values(scope, carried)]
        before, self.budget = self.budget, min(self.budget, 4)
        with self.build.detached() as body:
            inner = [*scope, *params]
            if r.random() < 0.3:
                self.fill_rest(inner, depth)
            self.leave_after(inner, params[0], label, kinds)
            self.first[again] = self.build.op("add", params[0], const(1))
            self.labels += [(label, kinds), (again, (INT, *carried))]
            self.fill_rest(inner, depth)
            if r.random() < 0.3:
                self.leave_after(inner, params[0], label, kinds)
            self.build.end(Yield([self.first[again], *self.values(inner[-3:], carried)]))
        del self.labels[-2:]
        self.budget = before - 2
        results = [Param(kind, r.choice(("", "r"))) for kind in kinds]
        self.build.node(Loop(label, again, params, inits, body, results))
        scope += results

    def fill_rest(self, scope: list[Value], depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.op(scope)
            if depth and self.random.random() < 0.6:
                self.budget -= 1
                self.random.choice((self.branch, self.branch, self.region, self.rolled))(scope, depth - 1)

    def leave_after(self, scope: list[Value], counter: Value, label: Label, kinds: Sequence[Kind]) -> None:
        """Leave the loop when `counter` has come to a limit that differs from lane to lane, or to a few."""
        r = self.random
        over = self.build.op("ge", counter, const(r.choice((0, 1, 2, 4))))
        if r.random() < 0.7:
            over = self.build.op("or", over, self.value(scope, BOOL)) if r.random() < 0.5 else over
        leaving = [Block([], Exit(label, self.values(scope, kinds)))]
        going = [Block([], Yield())]
        if r.random() < 0.5:
            self.build.node(If(over, leaving, going))
        else:
            self.build.node(If(self.build.op("not", over), going, leaving))


# --- comparing


def lanes(fn: Function, count: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """Argument tuples of edge values for `fn`."""
    r = random.Random(seed)
    for _ in range(count):
        yield tuple(r.choice(EDGES[p.kind]) for p in fn.params)


def bits(value: Any) -> Any:
    """Equal exactly for the same type and bits, any nan being one nan."""
    if isinstance(value, float):
        return "nan" if value != value else struct.pack("d", value)
    return type(value).__name__, value


def strict(fn: Function, args: Sequence[Any]) -> LaneResult | None:
    """What the lane returns, None where it is a fault."""
    try:
        return run(fn, args)
    except LaneFault:
        return None


def difference(before: Function, after: Function, args: Sequence[Any]) -> str:
    """What is wrong with `after` in this lane, "" when it does what `before` does (both of any form)."""
    expected, got = strict(before, args), strict(after, args)
    if expected is None or expected.suspect:
        return "" if got is None or got.suspect else f"{args}: a fault was lost, got {got.values}"
    if got is None or got.suspect:
        return f"{args}: a fault in a lane that returns {expected.values}"
    if list(map(bits, expected.values)) != list(map(bits, got.values)):
        return f"{args}: expected {expected.values}, got {got.values}"
    return ""


def assert_same(before: Function, after: Function, count: int = 60, seed: int = 0) -> None:
    for args in lanes(before, count, seed):
        assert not (wrong := difference(before, after, args)), wrong
