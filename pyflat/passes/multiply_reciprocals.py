"""Divisions by a literal, and by a value that divides more than once, become products with the reciprocal.

Before:                              After:
    %a = truediv %x, 12.92 : f8          %0 = mul %x, LOW : f8
    yield %a                             %a = fma %x, HIGH, %0 : f8
                                         yield %a

    %a = truediv %x, %d : f8             %r = truediv 1.0, %d : f8
    %b = truediv %y, %d : f8             %n = isnormal %r : b
    yield %a, %b                         %a = select %n, (mul %x, %r), (truediv %x, %d) : f8
                                         %b = select %n, (mul %y, %r), (truediv %y, %d) : f8
                                         yield %a, %b

Of `math="fast"`, where the processor fuses products and sums: a division costs as much as ten products. The reciprocal
of a literal is the sum of HIGH, rounded towards zero, and LOW, of its sign, to twice the digits of the format. So the
quotient is the rounded one, but where that is subnormal or almost halfway between two numbers (then within 1 ulp),
infinities stay what they are, and zeros keep their signs. (Brisebarre, Muller, Raina, Accelerating Correctly Rounded
Floating-Point Division When the Divisor Is Known in Advance, 2004.) The reciprocal of a value is rounded: 1.5 ulp.
Where it is no normal number (of a divisor that is zero, subnormal, huge, infinite or nan) lanes divide. Any form of a
function; only quotients of one block share a reciprocal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from pyflat.analysis.intervals import Intervals
from pyflat.ir.edit.copying import Copier
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.loops import all_ops
from pyflat.ir.nodes import Block, Const, Function, Op, Value
from pyflat.ir.types import BOOL, FLOAT
from pyflat.passes.record import Pass

LEAST = 2
"""Quotients that make a reciprocal worth it."""

_ONE = Const(FLOAT, 1.0)


def multiply_reciprocals(fn: Function) -> Function:
    """`fn` with products for quotients; `fn` itself where that changes nothing."""
    if not any(op.opcode == "truediv" for op in all_ops(fn.body)):
        return fn
    copier = _Multiplying(fn.floats)
    after = copier.function(fn)
    return after if copier.changed else fn


PASS = Pass(multiply_reciprocals)


class _Multiplying(Copier):
    """Copies with products for quotients. Intervals are those of the values before, which bound what is near them."""

    def __init__(self, floats: FloatFormat):
        super().__init__()
        self.floats, self.intervals, self.changed = floats, Intervals(floats), False
        self.smallest = 2.0**-1022 if floats is F8 else 2.0**-126

    def block(self, block: Block) -> Block:
        divisors = Counter(op.args[1] for op in block.ops if op.opcode == "truediv")
        self.shared = {value for value, count in divisors.items() if count >= LEAST and not isinstance(value, Const)}
        self.reciprocals: dict[Value, tuple[Op, Op | None]] = {}
        return super().block(block)

    def standing_for(self, op: Op) -> Sequence[Op]:
        made: Sequence[Op] = ()
        if op.opcode == "truediv" and isinstance(op.args[1], Const) and not isinstance(op.args[0], Const):
            made = self._by_literal(op, op.args[1])
        elif op.opcode == "truediv" and op.args[1] in self.shared:
            made = self._by_shared(op)
        self.intervals.note(op)
        if not made:
            return [self.op(op)]
        self.changed = True
        self.values[op] = last = made[-1]
        last.name, last.statement = op.name, op.statement
        for each in made:
            each.origin = op.origin
        return made

    def _by_literal(self, op: Op, divisor: Const) -> Sequence[Op]:
        parts = reciprocal_parts(float(divisor.value or 0.0), self.floats)
        if parts is None:
            return ()
        x, (high, low) = self.read(op.args[0]), parts
        if low == 0.0:
            return (Op("mul", (x, Const(FLOAT, high)), FLOAT),)
        rest = Op("mul", (x, Const(FLOAT, low)), FLOAT)
        return rest, Op("fma", (x, Const(FLOAT, high), rest), FLOAT)

    def _by_shared(self, op: Op) -> Sequence[Op]:
        made: list[Op] = []
        x, divisor = self.read_all(op.args)
        if op.args[1] not in self.reciprocals:
            reciprocal = Op("truediv", (_ONE, divisor), FLOAT)
            normal = None if self._is_harmless(op.args[1]) else Op("isnormal", (reciprocal,), BOOL)
            made = [reciprocal] if normal is None else [reciprocal, normal]
            self.reciprocals[op.args[1]] = reciprocal, normal
        reciprocal, normal = self.reciprocals[op.args[1]]
        product = Op("mul", (x, reciprocal), FLOAT)
        if normal is None:
            return [*made, product]
        quotient = Op("truediv", (x, divisor), FLOAT)
        return [*made, product, quotient, Op("select", (normal, product, quotient), FLOAT)]

    def _is_harmless(self, divisor: Value) -> bool:
        """The reciprocal is normal in every lane. An interval's bounds may be off by the roundings that differ."""
        known = self.intervals.of(divisor)
        size = (known.low, known.high) if known.low > 0.0 else (-known.high, -known.low)
        return not known.nan and size[0] > 4.0 * self.smallest and size[1] < 0.125 / self.smallest


def reciprocal_parts(number: float, floats: FloatFormat) -> tuple[float, float] | None:
    """1 / number as a sum of two numbers of the format: the first rounded towards zero, the second the rest rounded,
    which has its sign. None where an exponent is far from zero, so that one of them might be subnormal."""
    if not math.isfinite(number) or number == 0.0 or abs(math.frexp(number)[1]) > (900 if floats is F8 else 70):
        return None
    exact = 1 / Fraction(number)
    scale = Fraction(2) ** (floats.digits - math.frexp(exact)[1])
    high = Fraction(math.trunc(exact * scale)) / scale
    return float(high), floats.rounded(float(exact - high))
