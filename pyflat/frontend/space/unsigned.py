"""Ints of [0, 2**64): hashes, bitboards and generators of random numbers, which Python masks to 64 bits.

    h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF

A lane holds them modulo 2**64, as a signed int. Sums, products, left shifts and bitwise operations of such numbers are
right modulo 2**64, whatever leaves 64 bits on the way; a mask, or `% 2**64`, makes a number of [0, 2**64) of that
(`low64`). `Unsigned.outside` says in which lanes the number itself is not there: in none behind a mask, in all where
only the residue is known. Whatever asks for the number itself (`>>`, `<`, `float`, a result) leaves these lanes to the
original, and is refused where all of them would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from pyflat.frontend.library import stdlib, table
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import as_unsigned, is_natural, lane, numeric_kind, plain_number
from pyflat.frontend.state.values import Abstract, Arguments, Static, Unsigned
from pyflat.frontend.state.widths import PYTHON, Widths
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Const, Fault, Op, Value
from pyflat.ir.types import INT, INT_MAX, INT_MIN, VOID

SIZE = 2**64


def residue(s: Evaluator, value: Abstract) -> Value:
    """An int lane that is the number modulo 2**64."""
    if isinstance(value, Unsigned):
        return value.bits
    if isinstance(value, Static):
        return const(signed(int(value.value)))
    number = lane(value)
    return number if number.kind is INT else s.build.op("to_int", number)


def signed(number: int) -> int:
    """The signed int with these 64 bits."""
    return (number - INT_MIN) % SIZE + INT_MIN


def reduced(s: Evaluator, value: Abstract) -> Value:
    """The 64 bits, whatever was computed on the way."""
    bits = residue(s, value)
    return bits if isinstance(bits, Const) or not _may_wrap(value) else s.build.op("low64", bits)


def _may_wrap(value: Abstract) -> bool:
    return not isinstance(value, Unsigned) or value.outside is not FALSE


def exact(s: Evaluator, value: Unsigned) -> Value:
    """The bits of a number that is needed itself, in [0, 2**64) in all lanes but suspect ones."""
    if value.outside is TRUE:
        raise heap.only_modulo(s)
    if value.outside is not FALSE:
        leave(s, value.outside)
    return reduced(s, value)


def leave(s: Evaluator, where: Value) -> None:
    """Lanes that the original runs: no handler of the function is asked."""
    if s.widths.kernel:
        heap.suspect_if(s, where, "an int from 2**63 on", s.frame.captured.tree)
        return
    fault = Fault("Undecided", "an int outside of [0, 2**64)")
    s.build.append(Op("fault", (where,), VOID, attrs=(("fault", fault),), origin=s.build.origin))


def of_bits(widths: Widths, bits: Value) -> Unsigned:
    """In a kernel: the number of uint64 that has these bits."""
    return Unsigned(widths.mark(bits, frozenset({"u8"})), FALSE)


def scalar(s: Evaluator, widths: Widths, value: int) -> Unsigned:
    """In a kernel: `np.uint64(value)`."""
    literal = const(signed(value))
    return of_bits(widths, s.build.op("select", TRUE, literal, literal))


def from_int(s: Evaluator, value: Abstract) -> Unsigned | None:
    """An int as an unsigned one; None for what is none. A lane that is negative is run by the original."""
    if isinstance(value, Unsigned):
        return value
    value = plain_number(value)
    if isinstance(value, Static) or numeric_kind(value) is not INT:
        return as_unsigned(value)
    number = lane(value)
    return Unsigned(number, FALSE if is_natural(number) else s.build.op("lt", number, const(0)))


def carried(s: Evaluator, value: Abstract, *, known: bool, mixed: bool) -> Value:
    """The bits of an int that a loop carries. A kernel's ints of several dtypes have a width that says how to read
    them."""
    if s.widths.kernel:
        if isinstance(value, Static) and value.value > INT_MAX or (
                mixed and isinstance(value, Unsigned) and s.widths.of(value.bits) == PYTHON):
            raise s.refuse("flatten/mixed-join", "an int of Python's from 2**63 on becomes a NumPy scalar in a loop",
                           help="start with a scalar: np.uint64(...)")
        return residue(s, value)
    if not known:
        return reduced(s, value)
    found = from_int(s, value)
    if found is None:
        raise s.refuse("flatten/mixed-join", "a negative int becomes one beyond 63 bits in a loop")
    return exact(s, found)


def as_int(s: Evaluator, value: Unsigned) -> Value:
    """An ordinary int; lanes from 2**63 on are run by the original."""
    bits = exact(s, value)
    if not is_natural(bits):
        leave(s, s.build.op("lt", bits, const(0)))
    return bits


def as_ints(s: Evaluator, arguments: Arguments) -> Arguments:
    """Arguments of what takes ordinary ints only."""
    values = [*arguments.positional, *arguments.named.values()]
    if not any(isinstance(value, Unsigned) for value in values):
        return arguments
    found: list[Abstract] = [as_int(s, value) if isinstance(value, Unsigned) else value for value in values]
    count = len(arguments.positional)
    return Arguments(found[:count], dict(zip(arguments.named, found[count:], strict=True)))


def as_float(s: Evaluator, value: Unsigned) -> Value:
    """float(value), correctly rounded: of half of a large number, whose last bit stays set if it was."""
    bits = exact(s, value)
    if s.widths.kernel:
        if s.widths.of(value.bits) != {"u8"}:
            return s.widths.mark(s.build.op("to_float", as_int(s, value)), PYTHON)
        return s.widths.mark(s.build.op("u_float", bits), PYTHON)
    half = s.build.op("or", halved(s, bits, 1), s.build.op("and", bits, const(1)))
    twice = s.build.op("mul", s.build.op("to_float", half), const(2.0))
    return s.build.op("select", s.build.op("lt", bits, const(0)), twice, s.build.op("to_float", bits))


def halved(s: Evaluator, bits: Value, count: int) -> Value:
    """The number shifted to the right by a known count of 1 to 63."""
    return s.build.op("and", s.build.op("shr", bits, const(count)), const(2**(64 - count) - 1))


def below(s: Evaluator, opcode: str, a: Value, b: Value) -> Value:
    """A comparison of two numbers by their bits."""
    if opcode in ("eq", "ne"):
        return s.build.op(opcode, a, b)
    return s.build.op(opcode, *(s.build.op("xor", bits, const(INT_MIN)) for bits in (a, b)))


def beside_signed(s: Evaluator, opcode: str, bits: Value, number: Value) -> Value:
    """A comparison with a signed number."""
    if opcode in ("gt", "ge", "ne"):
        opposite = {"gt": "le", "ge": "lt", "ne": "eq"}[opcode]
        return s.build.op("not", _within(s, opposite, bits, number))
    return _within(s, opcode, bits, number)


def _within(s: Evaluator, opcode: str, bits: Value, number: Value) -> Value:
    """Below, or equal to, a signed number: only what is below 2**63 can be."""
    return s.build.op("and", s.build.op("ge", bits, const(0)), s.build.op(opcode, bits, number))


def truth(s: Evaluator, value: Unsigned) -> Value:
    bits = exact(s, value)
    return s.build.op("ne", bits, const(0))


def bit_count(s: Evaluator, value: Unsigned, node: cst.CSTNode) -> Abstract:
    """The ones among the bits: of the number without its last bit, halved, and that bit."""
    bits = exact(s, value)
    rest = s.space.call(Static(stdlib.bit_count), Arguments([halved(s, bits, 1)], {}), node)
    return s.build.op("add", lane(rest), s.build.op("and", bits, const(1)))


def bit_length(s: Evaluator, value: Unsigned, node: cst.CSTNode) -> Abstract:
    """64, or that of an ordinary int."""
    bits = exact(s, value)
    ordinary = s.build.op("and", bits, const(INT_MAX))
    found = s.space.call(Static(table.bit_length), Arguments([ordinary], {}), node)
    return s.build.op("select", s.build.op("lt", bits, const(0)), const(64), lane(found))


def is_table(numbers: Sequence[Any]) -> bool:
    """Ints of [0, 2**64), some of which 63 bits do not hold."""
    return set(map(type, numbers)) == {int} and min(numbers) >= 0 and INT_MAX < max(numbers) < SIZE


def gathered(s: Evaluator, numbers: Sequence[int], position: Value) -> Unsigned:
    """An item of a table of ints of [0, 2**64)."""
    return Unsigned(s.build.op("gather", position, kind=INT, table=tuple(map(signed, numbers))), FALSE)
