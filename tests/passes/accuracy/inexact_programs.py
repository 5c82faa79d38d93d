"""Random flat programs full of elementary functions and of decisions at their thresholds, and functions that err as
much as they are allowed to."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from pyflat.ir.build import Builder, const
from pyflat.ir.faults import fault_condition
from pyflat.ir.nodes import Block, Const, Fault, Function, Label, Op, Param, Value, Yield
from pyflat.ir.ops import COMPARISONS, OPERATIONS, Accuracy, Primitive
from pyflat.ir.types import BOOL, FLOAT, INT
from pyflat.passes.accuracy.fast_functions import LIBRARY_ULPS, UNDERFLOWS, Fast, FastFunctions

Lane = tuple[Any, ...]
UNARY = [name for name in LIBRARY_ULPS if name not in ("pow", "atan2")]
BINARY = ("add", "sub", "mul", "truediv", "mod", "fmod", "copysign", "hypot")
ROUNDINGS = ("floor_int", "ceil_int", "to_int", "round_int", "floor", "ceil", "trunc", "rint", "floordiv", "round_digits")
TOTAL: dict[Any, Any] = {FLOAT: math.nan, INT: 0, BOOL: False}
EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, math.pi, math.inf, -math.inf, math.nan, 1e300, 1e-300, 5e-324, 709.0, 710.0, -745.0, 1e16)


@contextlib.contextmanager
def wrong_functions(ulps: int) -> Iterator[tuple[FastFunctions, dict[str, Callable[..., float]]]]:
    """Stand-ins for all fast functions, and what they compute: the C library's value and up to `ulps` beside it. The
    library errs itself, here twice: for the operand of the twin, and for CPython's."""
    names = {name: "wrong_" + name for name in LIBRARY_ULPS}
    for name, opcode in names.items():
        row = OPERATIONS[name]
        OPERATIONS[opcode] = Primitive(opcode, row.signatures, row.python, accuracy=Accuracy.NUMPY)
    try:
        yield ({name: Fast(opcode, ulps + 2 * LIBRARY_ULPS[name]) for name, opcode in names.items()},
               {opcode: _wrong(name, ulps) for name, opcode in names.items()})
    finally:
        for opcode in names.values():
            del OPERATIONS[opcode]


def _wrong(name: str, ulps: int) -> Callable[..., float]:
    function, underflows, rule = OPERATIONS[name].python, name in UNDERFLOWS, OPERATIONS[name].faults

    def call(*args: float) -> float:
        try:
            value = float(function(*args))
        except OverflowError:
            if rule != "overflow":
                raise
            return math.inf
        tiny = value == 0 or max(map(abs, args)) < 2.0**-900 or abs(value) < 2.0**-900
        if not math.isfinite(value) or (tiny and not underflows) or (name == "pow" and 0.0 in (args[0], value)):
            return value
        r = random.Random(repr((name, args)))
        wrong = value + 0.99 * r.choice((-ulps, ulps, r.randint(-ulps, ulps))) * math.ulp(value)
        if wrong * value < 0 or (value == 0 and wrong < 0):
            wrong = 0.0
        return wrong if math.isfinite(wrong) else math.copysign(1.797e308, value)

    return call


class InexactPrograms:
    """One program; `lanes` are those by which its thresholds were chosen, so that decisions are hit exactly."""

    def __init__(self, seed: int):
        self.random, self.build = random.Random(seed), Builder()
        self.params = [Param(FLOAT, "x"), Param(FLOAT, "y"), Param(INT, "i")]
        self.lanes = [self.lane() for _ in range(16)]
        self.known: list[dict[Value, Any]] = [dict(zip(self.params, lane, strict=True)) for lane in self.lanes]
        self.floats: list[Value] = list(self.params[:2])
        self.ints: list[Value] = [self.params[2]]
        self.bools: list[Value] = []

    def lane(self) -> Lane:
        return self.number(), self.number(), self.random.randint(-20, 20)

    def number(self) -> float:
        r = self.random
        match r.randrange(10):
            case 0 | 1 | 2 | 3 | 4:
                return r.uniform(-3, 3)
            case 5 | 6:
                return float(r.randint(-10, 10))
            case 7:
                return math.copysign(math.exp(r.uniform(-20, 20)), r.random() - 0.3)
            case 8:
                return r.choice(EDGES)
        return math.copysign(math.exp(r.uniform(-700, 700)), r.random() - 0.3)

    def function(self, size: int) -> Function:
        while len(self.build.block.ops) < size:
            self.step()
        results = [self.floats[-1], self.floats[-2], self.ints[-1], *self.bools[-2:]]
        block = Block(self.build.block.ops, Yield(results))
        return Function("f", self.params, [block], Label("return"), [v.kind for v in results], "flat")

    def op(self, opcode: str, *args: Value) -> Op:
        op = self.build.op(opcode, *args)
        self.note(op)
        return op

    def note(self, op: Op) -> None:
        for known in self.known:
            values = [arg.value if isinstance(arg, Const) else known[arg] for arg in op.args]
            try:
                known[op] = OPERATIONS[op.opcode].python(*values)
            except (ArithmeticError, ValueError):
                known[op] = TOTAL[op.kind]

    def float(self) -> Value:
        r = self.random
        if r.random() < 0.2:
            return const(r.choice((0.0, 1.0, 2.0, 0.5, -1.0, 3.7, 10.0, 1e5, 360.0)))
        return r.choice(self.floats[-5:])

    def threshold(self, value: Value) -> Const:
        """What the value is in some lane, or next to it."""
        number = value.value if isinstance(value, Const) else self.random.choice(self.known)[value]
        number = number if math.isfinite(number) else 1.0
        for _ in range(self.random.choice((0, 0, 1, 3))):
            number = math.nextafter(number, self.random.choice((-math.inf, math.inf)))
        return const(number)

    def checked(self, op: Op) -> Op:
        """The operation with its fault, of all lanes or of those that take a path."""
        first = len(self.build.block.ops)
        cond = fault_condition(self.build, op)
        for made in self.build.block.ops[first:]:
            self.note(made)
        if cond is None:
            return op
        if not self.bools or self.random.random() < 0.4:
            self.build.fault(cond, Fault("ValueError"))
            return op
        taken = self.random.choice(self.bools)
        self.build.fault(self.op("and", taken, cond), Fault("ValueError"))
        return self.op("select", taken, op, self.float() if op.kind is FLOAT else self.random.choice(self.ints))

    def step(self) -> None:
        r, chance = self.random, self.random.random()
        a, b = self.float(), self.float()
        if isinstance(a, Const):
            a = r.choice(self.floats)
        if chance < 0.3:
            self.floats.append(self.checked(self.op(r.choice(UNARY), a)))
        elif chance < 0.39:
            self.floats.append(self.checked(self.op(r.choice(("pow", "pow", "atan2")), *r.sample((a, b), 2))))
        elif chance < 0.55:
            self.floats.append(self.checked(self.op(r.choice(BINARY), *r.sample((a, b), 2))))
        elif chance < 0.6:
            self.floats.append(self.checked(self.op(r.choice(("sqrt", "abs", "neg")), a)))
        elif chance < 0.78:
            other = self.threshold(a) if r.random() < 0.7 else b
            self.bools.append(self.op(r.choice(COMPARISONS), *r.sample((a, other), 2)))
        elif chance < 0.84:
            self.floats.append(self.op("select", self.op(r.choice(("lt", "gt", "le", "ge")), a, b), *r.sample((a, b), 2)))
        elif chance < 0.9 and self.bools:
            self.floats.append(self.op("select", r.choice(self.bools), a, b))
        elif chance < 0.94:
            self.rounding(a, b)
        elif len(self.bools) > 1:
            self.bools.append(self.op(r.choice(("and", "or")), *r.choices(self.bools, k=2)))
            self.bools.append(self.op("not", r.choice(self.bools)))

    def rounding(self, a: Value, b: Value) -> None:
        opcode = self.random.choice(ROUNDINGS)
        more = {"floordiv": (b,), "round_digits": (const(self.random.choice((0, 1, 2, 5, -1))),)}.get(opcode, ())
        op = self.checked(self.op(opcode, a, *more))
        if op.kind is INT:
            self.ints.append(op)
            op = self.op("to_float", op)
        self.floats.append(op)
