"""Small structured functions as text, and a random generator of valid ones, for the tests of `pyflat.ir`."""

from __future__ import annotations

import random

from pyflat.ir.build import Builder, const, results_like, undefined
from pyflat.ir.nodes import FAULT, Exit, Fault, Function, If, Label, Loop, Param, Region, Value, Yield
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

KINDS = (BOOL, INT, FLOAT)
NAMES = ("", "", "x", "y", "total", "p.0", "if", "größe", "a \"b\"\\")
LITERALS: dict[Kind, tuple[bool | int | float, ...]] = {
    BOOL: (True, False),
    INT: (0, 1, -1, 7, 2**63 - 1, -(2**63), 2**53 + 1),
    FLOAT: (0.0, -0.0, 1.0, 0.1, -2.5, 1e16, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan")),
}


class StructuredPrograms:
    """Random valid structured functions: nested Ifs, Regions, Loops, exits at every depth, faults, tables."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.build = Builder()
        self.labels: list[tuple[Label, tuple[Kind, ...]]] = []

    def function(self) -> Function:
        r = self.random
        params = [Param(r.choice(KINDS), r.choice(NAMES)) for _ in range(r.randrange(5))]
        label = Label(r.choice(("return", "end", "fault", "a.b")))
        kinds = tuple(r.choice(KINDS) for _ in range(r.randrange(4)))
        self.labels.append((label, kinds))
        with self.build.detached() as body:
            self.fill(list(params), kinds, depth=3)
        return Function(r.choice(("f", "<lambda>", "hypot2")), params, body, label, kinds)

    def value(self, scope: list[Value], kind: Kind) -> Value:
        r = self.random
        fitting = [v for v in scope if v.kind is kind]
        if fitting and r.random() < 0.8:
            return r.choice(fitting)
        return undefined(kind) if r.random() < 0.1 else const(r.choice(LITERALS[kind]))

    def values(self, scope: list[Value], kinds: tuple[Kind, ...]) -> list[Value]:
        return [self.value(scope, k) for k in kinds]

    def fill(self, scope: list[Value], takes: tuple[Kind, ...], depth: int) -> None:
        """Build into the current list: operations and nodes, then an end that carries `takes`."""
        r = self.random
        for _ in range(r.randrange(1, 5)):
            if depth and r.random() < 0.4:
                self.node(scope, depth)
            else:
                self.op(scope)
        if r.random() < 0.15:
            self.build.end(Exit(FAULT, (), r.choice((None, Fault("ValueError", 'bad "x"\n'), Fault("pkg.mod.Error")))))
        elif r.random() < 0.3:
            label, kinds = r.choice(self.labels)
            self.build.end(Exit(label, self.values(scope, kinds)))
        else:
            self.build.end(Yield(self.values(scope, takes)))

    def op(self, scope: list[Value]) -> None:
        r = self.random
        name = r.choice(NAMES)
        match r.randrange(6):
            case 0 | 1:
                kind = r.choice((INT, FLOAT))
                opcode = r.choice(("add", "sub", "mul", "floordiv", "mod"))
                scope.append(self.build.op(opcode, self.value(scope, kind), self.value(scope, kind), name=name))
            case 2:
                kind = r.choice(KINDS)
                opcode = r.choice(("lt", "eq", "ne"))
                scope.append(self.build.op(opcode, self.value(scope, kind), self.value(scope, kind), name=name))
            case 3:
                kind = r.choice(KINDS)
                cond = self.value(scope, BOOL)
                scope.append(self.build.op("select", cond, self.value(scope, kind), self.value(scope, kind), name=name))
            case 4:
                kind = r.choice(KINDS)
                table = tuple(r.choice(LITERALS[kind]) for _ in range(r.randrange(1, 4)))
                scope.append(self.build.op("gather", self.value(scope, INT), kind=kind, name=name, table=table))
            case _:
                self.build.fault(self.value(scope, BOOL), Fault("ZeroDivisionError", "division by zero"))

    def node(self, scope: list[Value], depth: int) -> None:
        r = self.random
        kinds = tuple(r.choice(KINDS) for _ in range(r.randrange(3)))
        results = [Param(k, r.choice(NAMES)) for k in kinds]
        match r.randrange(3):
            case 0:
                cond = self.value(scope, BOOL)
                with self.build.detached() as then:
                    self.fill(list(scope), kinds, depth - 1)
                with self.build.detached() as orelse:
                    self.fill(list(scope), kinds, depth - 1)
                self.build.node(If(cond, then, orelse, results))
            case 1:
                label = Label(r.choice(("next_0", "return")))
                self.labels.append((label, kinds))
                with self.build.detached() as body:
                    self.fill(list(scope), kinds, depth - 1)
                self.labels.pop()
                self.build.node(Region(label, body, results))
            case _:
                self.build.node(self.loop(scope, results, depth))
        scope += results

    def loop(self, scope: list[Value], results: list[Param], depth: int) -> Loop:
        r = self.random
        label, again = Label("l"), Label("n")
        carried = tuple(r.choice(KINDS) for _ in range(r.randrange(3)))
        inits = self.values(scope, carried)
        params = results_like(inits)
        mark = len(self.labels)
        self.labels += [(label, tuple(p.kind for p in results)), (again, carried)]
        with self.build.detached() as body:
            self.fill([*scope, *params], carried, depth - 1)
        del self.labels[mark:]
        return Loop(label, again, params, inits, body, results)
