"""From flat IR to what a shading language computes in 32 bits: no faults, no NumPy names, no Python-only operations.

Before:                                After:
    %a = floor_int %x : i8                 %b = floor %x : f8
    %b = to_float %a : f8                  %c = mul %x, %x : f8
    %c = pow %x, 2.0 : f8                  %e = isnan %x : b
    %e = ne %x, %x : b
    fault %d ZeroDivisionError()

The values are those of the fast-math rules: a whole power is a product, `x**0.5` a root, 2.0**x is exp2. A loop ends
after `MAX_TRIPS` trips, whatever 32 bits make of its condition: a shader that does not end takes the machine with it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from pyflat.analysis.liveness import sliced
from pyflat.functions.records import aliases
from pyflat.ir.build import const
from pyflat.ir.loops import LoopParts, has_loop, join_parts, take_apart
from pyflat.ir.nodes import Block, Const, End, Function, Item, Loop, Op, Value, Yield
from pyflat.ir.ops import VECTOR
from pyflat.ir.types import BOOL, FLOAT, PACK, Kind
from pyflat.ir.uses import results_of, with_args, with_body
from pyflat.passes.pipelines import run, shader

MAX_TRIPS = 65_535
"""What Mesa's software driver runs before it leaves a loop on its own, without a word."""
MAX_POWER = 32
"""Whole powers up to this one are products."""

_RENAMED = {
    **aliases(), **{name: name.removeprefix("vec_") for name in VECTOR}, "exact_float": "to_float",
}
_WHOLE = {"floor_int": "floor", "ceil_int": "ceil", "round_int": "rint", "to_int": "trunc"}
Emit = Callable[..., Op]


def prepare(fn: Function) -> Function:
    """A flat or masked function for a language of 32-bit lanes."""
    pure = run(fn, shader(MAX_TRIPS, loops=has_loop(fn.body)))
    items = _Rewriting().items(pure.body)
    return with_body(pure, sliced(items, results_of(with_body(pure, items))))


class _Rewriting:
    def __init__(self) -> None:
        self.new: dict[Value, Value] = {}
        self.block: list[Op] = []

    def read(self, value: Value) -> Value:
        return self.new.get(value, value)

    def items(self, items: list[Item]) -> list[Item]:
        done: list[Item] = []
        for item in items:
            match item:
                case Block():
                    done.append(self._block(item))
                case Loop():
                    done.append(self._loop(item))
        return done

    def _block(self, block: Block) -> Block:
        self.block = []
        for op in block.ops:
            self.new[op] = self._rewritten(with_args(op, [self.read(a) for a in op.args]))
        end: End | None = None if block.end is None else Yield([self.read(v) for v in block.end.values])
        return Block(self.block, end)

    def _loop(self, loop: Loop) -> Loop:
        parts = take_apart(loop)
        inits = [self.read(v) for v in loop.inits]
        header = self.items(parts.header)
        go, leave = self.read(parts.go), [self.read(v) for v in parts.leave]
        return join_parts(loop, loop.params, inits, LoopParts(header, go, self.items(parts.rest), leave), loop.results)

    def _rewritten(self, op: Op) -> Value:
        def emit(opcode: str, *args: Value, kind: Kind = op.kind) -> Op:
            made = Op(opcode, args, kind, name=op.name, origin=op.origin)
            self.block.append(made)
            return made

        opcode = _RENAMED.get(op.opcode, op.opcode)
        rule = _RULES.get(opcode)
        found = rule(emit, *op.args) if rule is not None else None
        if found is not None:
            return found
        if opcode != op.opcode:
            return emit(opcode, *op.args)
        self.block.append(op)
        return op


def _number(value: Value) -> float | None:
    """The finite number that a constant is."""
    known = value.value if isinstance(value, Const) else None
    return float(known) if known is not None and math.isfinite(known) else None


def _to_float(emit: Emit, x: Value) -> Value | None:
    whole = isinstance(x, Op) and x.opcode in _WHOLE and x.args[0].kind is FLOAT
    return emit(_WHOLE[x.opcode], x.args[0]) if whole and isinstance(x, Op) else None


def _ordered(lower: bool, strict: bool) -> Callable[..., Value | None]:
    """An order of bools, by logic: False is below True."""
    def rule(emit: Emit, x: Value, y: Value) -> Value | None:
        if x.kind is not BOOL:
            return None
        low, high = (x, y) if lower else (y, x)
        return emit("and" if strict else "or", emit("not", low), high)

    return rule


def _floordiv(emit: Emit, x: Value, y: Value) -> Value | None:
    return emit("floor", x) if x.kind is FLOAT and _number(y) == 1.0 else None


def _ne(emit: Emit, x: Value, y: Value) -> Value | None:
    return emit("isnan", x) if x is y and x.kind is FLOAT else None


def _eq(emit: Emit, x: Value, y: Value) -> Value | None:
    return emit("not", emit("isnan", x)) if x is y and x.kind is FLOAT else None


def _pow(emit: Emit, base: Value, exponent: Value) -> Value | None:
    power = _number(exponent)
    if power == 0.5:
        return emit("sqrt", base)
    if power is not None and power == int(power) and 0 < abs(power) <= MAX_POWER:
        product = _product(emit, base, abs(int(power)))
        return product if power > 0 else emit("truediv", const(1.0), product)
    if power is not None and power != int(power):
        return emit("fractional_pow", base, exponent)
    return emit("exp2", exponent) if _number(base) == 2.0 else None


def _ipow(emit: Emit, base: Value, exponent: Value) -> Value | None:
    power = _number(exponent)
    return _product(emit, base, int(power)) if power is not None and 0 < power <= MAX_POWER else None


def _product(emit: Emit, base: Value, power: int) -> Value:
    """base**power with as many multiplications as the binary digits of the power need."""
    result: Value | None = None
    square = base
    while power:
        if power & 1:
            result = square if result is None else emit("mul", result, square)
        power >>= 1
        if power:
            square = emit("mul", square, square)
    assert result is not None
    return result


def _round_digits(emit: Emit, x: Value, digits: Value) -> Value | None:
    known = _number(digits)
    if known is None:
        return None
    scale = const(10.0 ** abs(known))
    there, back = ("mul", "truediv") if known >= 0 else ("truediv", "mul")
    return emit(back, emit("rint", emit(there, x, scale)), scale)


def _mod(emit: Emit, x: Value, y: Value) -> Value | None:
    return emit("sub", x, emit("floor", x)) if x.kind is FLOAT and _number(y) == 1.0 else None


def _np_dot(emit: Emit, *args: Value) -> Value | None:
    half = len(args) // 2
    products = [emit("mul", x, y) for x, y in zip(args[:half], args[half:], strict=True)]
    return functools.reduce(lambda total, product: emit("add", total, product), products)


def _logaddexp(emit: Emit, x: Value, y: Value) -> Value | None:
    gap = emit("sub", x, y)
    tail = emit("log1p", emit("exp", emit("neg", emit("abs", gap))))
    larger = emit("select", emit("gt", gap, const(0.0), kind=BOOL), x, y)
    return emit("select", emit("eq", x, y, kind=BOOL), emit("add", x, const(math.log(2.0))), emit("add", larger, tail))


def _hadd(emit: Emit, x: Value) -> Value | None:
    assert isinstance(x, Op)
    return emit("dot", x, emit("pack", *[const(1.0)] * len(x.args), kind=PACK))


_RULES: dict[str, Callable[..., Value | None]] = {
    "to_float": _to_float, "floordiv": _floordiv, "mod": _mod, "ne": _ne, "eq": _eq, "pow": _pow, "ipow": _ipow,
    "round_digits": _round_digits, "hadd": _hadd, "np_dot": _np_dot, "np_logaddexp": _logaddexp,
    "lt": _ordered(True, True), "le": _ordered(True, False), "gt": _ordered(False, True),
    "ge": _ordered(False, False),
}
