"""Numbers of uint64 in kernels, with NumPy's arithmetic.

A lane holds the 64 bits as a signed int: `Unsigned`, whose bits have the width u8. Sums, differences and products wrap
around, and NumPy warns of that. Whatever is not said here takes ordinary ints, and leaves numbers from 2**63 on to the
original (`unsigned.as_int`). Other functions than kernels have Python's ints of this size (`space.unsigned`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyflat.frontend.space import scalars, unsigned, width_rules
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import lane, numeric_kind, plain_number
from pyflat.frontend.state.values import Abstract, Static, Unsigned
from pyflat.frontend.state.widths import PYTHON, Width, Widths
from pyflat.ir.build import const
from pyflat.ir.nodes import TRUE, Value
from pyflat.ir.ops import MIRRORED
from pyflat.ir.types import FLOAT, INT, Kind

_OWN = {"add": "u_add", "sub": "u_sub", "mul": "u_mul", "floordiv": "u_div", "mod": "u_mod", "shl": "u_shl",
        "shr": "u_shr", "and": "and", "or": "or", "xor": "xor"}


def _width(widths: Widths, value: Abstract) -> Width:
    if isinstance(value, Unsigned):
        return widths.of(value.bits)
    return widths.of(value) if isinstance(value, Value) else PYTHON


def _kind(value: Abstract) -> Kind:
    kind = INT if isinstance(value, Unsigned) else numeric_kind(value)
    assert kind is not None
    return kind


# --- operators
def binary(s: Evaluator, widths: Widths, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """`a <op> b`, one of which is a number of uint64."""
    a, b = plain_number(a), plain_number(b)
    if (value := _one_of(widths, a)) is not None:
        return _by_dtype(s, widths, value, lambda x: s.space.binary(opcode, x, b, s.frame.captured.tree))
    if (value := _one_of(widths, b)) is not None:
        return _by_dtype(s, widths, value, lambda y: s.space.binary(opcode, a, y, s.frame.captured.tree))
    loops = {width_rules.loop_of(opcode, x, _kind(a), y, _kind(b))
             for x in _width(widths, a) - {"?"} for y in _width(widths, b) - {"?"}}
    loop = loops.pop() if len(loops) == 1 else None
    if loop is None or "?" in _width(widths, a) | _width(widths, b):
        raise s.refuse("flatten/mixed-join", "the dtype of this number is not known", help="convert it: np.uint64(x)")
    if loop is width_rules.NONE:
        raise s.raised(TypeError)
    if loop.operands == "f8":
        first, second = (_as_float(s, widths, v) for v in (a, b))
        return width_rules.computed(s, widths, opcode, first, second, loop)
    if opcode not in _OWN:
        first, second = (unsigned.as_int(s, v) if isinstance(v, Unsigned) else v for v in (a, b))
        return scalars.binary(s, opcode, first, second)
    return unsigned.of_bits(widths, s.build.op(_OWN[opcode], *(_bits(s, widths, v) for v in (a, b))))


def _one_of(widths: Widths, value: Abstract) -> Value | None:
    """A number of one of several dtypes, as the int that it is."""
    found = value.bits if isinstance(value, Unsigned) else value
    return found if isinstance(found, Value) and width_rules.is_one_of(widths, found) else None


def _by_dtype(s: Evaluator, widths: Widths, value: Value, each: Callable[[Abstract], Abstract]) -> Abstract:
    def one(number: Value) -> Abstract:
        if widths.of(number) == PYTHON and number.kind is INT:
            unsigned.leave(s, s.build.op("lt", number, const(0)))  # whether it is negative, or from 2**63 on
        return each(unsigned.of_bits(widths, number) if widths.of(number) == {"u8"} else number)

    return width_rules.by_dtype(s, widths, value, one, plain=False)


def _bits(s: Evaluator, widths: Widths, value: Abstract) -> Value:
    """A number as NumPy makes an uint64 of it beside one."""
    if isinstance(value, Unsigned):
        return unsigned.exact(s, value)
    if isinstance(value, Static):
        if not 0 <= value.value < unsigned.SIZE:
            raise s.raised(OverflowError)
        return const(unsigned.signed(int(value.value)))
    return width_rules.operand(s, widths, value, "u8")


def _as_float(s: Evaluator, widths: Widths, value: Abstract) -> Abstract:
    if isinstance(value, Unsigned):
        return as_float(s, widths, value)
    if isinstance(value, Static) and type(value.value) is int and abs(value.value) < 2**1023:
        return Static(float(value.value))
    return value


def as_float(s: Evaluator, widths: Widths, value: Unsigned) -> Value:
    """As a float64 of NumPy's."""
    return widths.mark(s.build.op("u_float", unsigned.exact(s, value)), frozenset({"f8"}))


def unary(s: Evaluator, widths: Widths, opcode: str, value: Unsigned) -> Abstract:
    if widths.of(value.bits) != {"u8"}:
        return scalars.unary(s, opcode, unsigned.as_int(s, value))
    bits = unsigned.exact(s, value)
    match opcode:
        case "invert":
            return unsigned.of_bits(widths, s.build.op("xor", bits, const(-1)))
        case "neg":
            return unsigned.of_bits(widths, s.build.op("u_sub", const(0), bits))
    return value


# --- comparisons
def compare(s: Evaluator, widths: Widths, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """One comparison, exact between ints as NumPy's is; beside a float as float64."""
    if not isinstance(a, Unsigned):
        return compare(s, widths, MIRRORED[opcode], b, a)
    b = plain_number(b)
    mixed = [isinstance(v, Unsigned) and widths.of(v.bits) != {"u8"} for v in (a, b)]
    if any(mixed):
        first, second = (unsigned.as_int(s, v) if isinstance(v, Unsigned) else v for v in (a, b))
        return scalars.compare(s, opcode, first, second)
    if not isinstance(b, Unsigned) and numeric_kind(b) is FLOAT:
        return scalars.compare(s, opcode, as_float(s, widths, a), b)
    if isinstance(b, Static) and not 0 <= b.value < unsigned.SIZE:
        return scalars.known_number(s, np.bool_(scalars.PYTHON[opcode](0, b.value)))
    bits = unsigned.exact(s, a)
    if isinstance(b, Unsigned | Static):
        other = _bits(s, widths, b)
        found = unsigned.below(s, opcode, bits, other)
    else:
        found = unsigned.beside_signed(s, opcode, bits, scalars.to_kind(s, lane(b), INT))
    return widths.mark(s.build.op("select", TRUE, found, found), frozenset({"b1"}))


# --- conversions
def cast(s: Evaluator, widths: Widths, value: Unsigned, dtype: str) -> Abstract:
    """`np.float64(x)` and the like."""
    if widths.of(value.bits) != {"u8"}:
        plain = unsigned.as_int(s, value)
        return made(s, widths, plain) if dtype == "u8" else width_rules.as_dtype(s, widths, plain, dtype)
    bits = unsigned.exact(s, value)
    match dtype:
        case "u8":
            return value
        case "i8":
            return widths.mark(s.build.op("select", TRUE, bits, bits), frozenset({dtype}))
        case "f8":
            return as_float(s, widths, value)
    return width_rules.as_dtype(s, widths, unsigned.as_int(s, value), dtype)


def made(s: Evaluator, widths: Widths, value: Value) -> Unsigned:
    """`np.uint64(x)`: of a number of NumPy's the bits, of Python's none that is negative."""
    if value.kind is INT and None not in widths.of(value) and "?" not in widths.of(value):
        return unsigned.of_bits(widths, s.build.op("select", TRUE, value, value))
    return unsigned.of_bits(widths, width_rules.as_dtype(s, widths, value, "u8"))
