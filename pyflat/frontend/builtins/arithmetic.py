"""Conversions, rounding, math and NumPy's scalar functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins.support import Handler, bind_names, float_operation, inlined_for_ints, only
from pyflat.frontend.library import stdlib
from pyflat.frontend.library import table as library
from pyflat.frontend.space import arrays, characters, operators, ragged, scalars, unsigned, width_rules
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.characters import Items, code_of
from pyflat.frontend.space.scalars import as_float, const_eval
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, bound_part, lane, numeric_kind
from pyflat.frontend.state.values import Abstract, Arguments, Char, GuardedUnion, Static, Unsigned
from pyflat.frontend.state.widths import PYTHON
from pyflat.functions import lanes, norms
from pyflat.ir.build import const
from pyflat.ir.formats import F8
from pyflat.ir.nodes import FALSE, Value
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX


# --- conversions and rounding
def to_whole(opcode: str) -> Handler:
    """floor, ceil, trunc: float lanes to int lanes, ints as they are."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = only(s, arguments, node, 1, 1)
        if isinstance(value, Unsigned):
            return Unsigned(unsigned.exact(s, value), FALSE)
        if numeric_kind(value) is None:
            raise scalars.type_fault(s, value)
        number = lane(value)
        return s.build.op(opcode, number) if number.kind is FLOAT else scalars.to_kind(s, number, INT)

    return handler


def whole(opcode: str) -> Handler:
    """math.floor, math.ceil, math.trunc: for an int of NumPy's, which has no such methods, by way of a float."""
    plain = to_whole(opcode)

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        value, widths = arguments.positional[0] if arguments.positional else None, s.widths
        if not widths.kernel or not isinstance(value, Value) or value.kind is FLOAT or widths.of(value) == PYTHON:
            return plain(s, arguments, node)
        if width_rules.is_one_of(widths, value):
            return width_rules.by_dtype(s, widths, value, lambda x: handler(s, Arguments([x], {}), node), plain=False)
        if "?" in widths.of(value):
            raise s.refuse("flatten/mixed-join", "the dtype of this number is not known", node, help="use int(x)")
        if opcode == "to_int":
            raise s.raised(TypeError, node)
        return s.build.op(opcode, s.build.op("to_float", value))

    return handler


def int_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    given = bind_names(s, "int", "x base", arguments, node)
    value, base = given.value("x"), given.static("base", 10)
    if characters.is_text(value):
        return to_int(s, characters.items_of(s, value) or (), base, node)
    if (whole := characters.read_int(s, value)) is not None and base == 10:
        return whole
    if base != 10 or len(arguments.positional) != 1:
        raise s.refuse("flatten/lane-to-object", "int() of a number takes one argument", node,
                       why="a base is for strings", help="remove the second argument")
    return to_whole("to_int")(s, arguments, node)


def index_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """operator.index: ints as they are."""
    (value,) = only(s, arguments, node, 1, 1)
    if not isinstance(value, Unsigned) and numeric_kind(value) in (FLOAT, None):
        raise s.raised(TypeError, node)
    return to_whole("to_int")(s, arguments, node)


def float_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    known = characters.read_float(s, value, node)
    return as_float(s, value) if known is None else known


def bool_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    return s.space.truth(*only(s, arguments, node, 1, 1))


def round_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = [*arguments.positional, *arguments.named.values()]
    if isinstance(values[0], Unsigned):
        if len(values) == 1:
            return Unsigned(unsigned.exact(s, values[0]), FALSE)
        values[0] = unsigned.as_int(s, values[0])
    number = lane(values[0]) if numeric_kind(values[0]) is not None else None
    if number is None:
        raise scalars.type_fault(s, values[0])
    digits = values[1] if len(values) > 1 else Static(None)
    if isinstance(digits, Static) and digits.value is None:
        if number.kind is BOOL and s.may_be_numpy(values[0]):
            raise _no_rounding(s, number, node)
        found = s.build.op("round_int", number) if number.kind is FLOAT else scalars.to_kind(s, number, INT)
        return s.mark_python(found, values[:1])  # of NumPy's numbers too
    if numeric_kind(digits) not in (INT, BOOL):
        raise s.fault("TypeError", "round() takes an int as its second argument", node)
    if number.kind is FLOAT and not s.widths.kernel and s.is_numpy(values[0]):
        return s.space.call(Static(np.round), Arguments(values[:2], {}), node)
    if s.may_be_numpy(values[0]):
        raise s.refuse("flatten/unsupported-expression", "round() of a NumPy scalar rounds in NumPy's way", node,
                       help="round(float(x), n)")
    if number.kind is FLOAT:
        return s.build.op("round_digits", number, scalars.to_kind(s, lane(digits), INT))
    if not isinstance(digits, Static):
        raise s.refuse("flatten/not-yet", "round() of an int to digits that depend on the data", node,
                       help="write a table of the powers of ten")
    whole = scalars.to_kind(s, number, INT)
    if digits.value >= 0:
        return whole
    power = 10 ** -digits.value
    if power > 2 * INT_MAX:
        return const(0)
    if power > INT_MAX:
        half = power // 2
        beyond = s.build.op("or", s.build.op("gt", whole, const(half)), s.build.op("lt", whole, const(-half)))
        heap.suspect_if(s, beyond, "an int beyond 64 bits", node)
        return const(0)
    return s.space.call(Static(library.round_to_multiple), Arguments([whole, Static(power)], {}), node)


def _no_rounding(s: Evaluator, truth: Value, node: cst.CSTNode) -> Exception:
    """NumPy's bools cannot be rounded, Python's can."""
    if s.is_numpy(truth):
        return s.fault("TypeError", "type numpy.bool doesn't define __round__ method", node)
    return s.refuse("flatten/not-yet", "round() of a bool that may be Python's or NumPy's", node, help="round(int(x))")


def abs_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    found = lookup.method_of(value, "__abs__")
    if found is not None:
        return lookup.call_method(s, found, [value], node)
    if arrays.is_array(value):
        return operators.unary_array(s, "abs", value, node)
    return num.unary(s, "abs", value)


NUMPY_KEEPS_INTS = np.floor(np.int64(1)).dtype.kind == "i"
"""np.floor, np.ceil and np.trunc of an int are ints since NumPy 2.1, before they are floats."""


def np_whole(opcode: str) -> Handler:
    """np.floor, np.ceil and np.trunc."""
    of_floats = float_operation(opcode)

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = only(s, arguments, node, 1, 1)
        if numeric_kind(value) is INT and NUMPY_KEEPS_INTS:
            return num.unary(s, "pos", value)
        return of_floats(s, arguments, node)

    return handler


def log(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 1, 2)
    top = one_log(s, values[0])
    return top if len(values) == 1 else num.binary(s, "truediv", top, one_log(s, values[1]))


def one_log(s: Evaluator, value: Abstract) -> Abstract:
    if isinstance(value, Static):
        return const_eval(s, lambda: math.log(value.value))
    return s.build.op("log", as_float(s, value))


def scale(factor: float) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = only(s, arguments, node, 1, 1)
        return s.build.op("mul", as_float(s, value), const(factor))

    return handler


def pow_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    a, b, *modulus = only(s, arguments, node, 2, 3)
    if modulus:
        if any(s.may_be_numpy(value) for value in arguments.positional):
            raise s.refuse("flatten/unsupported-expression", "pow() of NumPy scalars with a modulus", node,
                           help="convert with int(...) first")
        if any(numeric_kind(value) not in (INT, BOOL) for value in arguments.positional):
            raise s.fault("TypeError", "pow() with a modulus takes ints", node)
        if isinstance(modulus[0], Static) and abs(modulus[0].value) > INT_MAX:
            raise s.refuse("flatten/int-too-large", "pow() with a modulus of more than 63 bits", node,
                           why="a remainder has as many bits as the modulus, and ints here have 64 bits",
                           help="use a modulus from -(2**63 - 1) to 2**63 - 1")
        fn = stdlib.power_of_ints if s.floats is F8 else stdlib.power_of_ints_narrow
        return inlined_for_ints(fn)(s, arguments, node)
    return num.binary(s, "pow", a, b)


def divmod_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    a, b = only(s, arguments, node, 2, 2)
    return heap.make_tuple([operators.binary(s, opcode, a, b, node) for opcode in ("floordiv", "mod")])


def hypot(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = [as_float(s, v) for v in arguments.positional]
    if len(values) == 1:
        return s.build.op("abs", values[0])
    if len(values) == 2:
        return s.build.op("hypot", *values)
    return _norm(s, stdlib.norm, [heap.make_tuple(values)], node)


def dist(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    return _norm(s, stdlib.dist, only(s, arguments, node, 2, 2), node)


def isqrt(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    return inlined_for_ints(library.isqrt if s.floats is F8 else library.isqrt_narrow)(s, arguments, node)


def _norm(s: Evaluator, fn: Any, given: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    s.require_float64("the norm of several numbers", node, help="write sqrt(x*x + y*y + z*z)")
    if not lanes.hypot_is_known():
        heap.suspect_if(s, const(True), "the norm of several numbers in this version of Python", node)
    return s.space.inline(fn, Arguments([Static(norms.algorithm().scaled), *given], {}), node)


def fsum(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (source,) = only(s, arguments, node, 1, 1)
    items = s.space.items(source, node)
    return s.space.call(Static(stdlib.fsum), Arguments([heap.make_tuple(items)], {}), node)


def ldexp(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    x, exponent = only(s, arguments, node, 2, 2)
    if numeric_kind(exponent) is FLOAT:
        raise s.fault("TypeError", "Expected an int as second argument to ldexp.", node)
    return s.build.op("ldexp", as_float(s, x), scalars.to_kind(s, lane(exponent), INT))


# --- NumPy on scalars
def np_power(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    a, b = only(s, arguments, node, 2, 2)
    if numeric_kind(a) is FLOAT or numeric_kind(b) is FLOAT:
        return s.build.op("np_power", as_float(s, a), as_float(s, b))
    return num.binary(s, "pow", a, b)


def logical(opcode: str) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        a, b = (s.space.truth(v) for v in only(s, arguments, node, 2, 2))
        return num.binary(s, opcode, a, b)

    return handler


def logical_not(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    return scalars.negate(s, *only(s, arguments, node, 1, 1))


def np_sign(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    if numeric_kind(value) is BOOL:
        raise s.fault("TypeError", "np.sign of a bool", node)
    chosen = library.sign_int if numeric_kind(value) is INT else library.sign
    return s.space.call(Static(chosen), arguments, node)


def extremum(chosen: Any) -> Handler:
    """np.minimum and np.maximum; which of 0.0 and -0.0 they give depends on the machine, so NumPy decides there."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        a, b = only(s, arguments, node, 2, 2)
        one_kind = not isinstance(a, GuardedUnion) and not isinstance(b, GuardedUnion)
        if FLOAT in (numeric_kind(a), numeric_kind(b)) and one_kind:
            x, y = as_float(s, a), as_float(s, b)
            zeros = s.build.op("and", s.build.op("eq", x, const(0.0)), s.build.op("eq", y, const(0.0)))
            known = [v.value for v in (a, b) if isinstance(v, Static)]
            if s.floats is F8 and not any(v != 0 for v in known):  # in float32 the first of two zeros
                heap.suspect_if(s, zeros, "zeros of both signs", node)
            return s.space.call(Static(chosen), Arguments([x, y], {}), node)
        return s.space.call(Static(chosen), arguments, node)

    return handler


_PREFIXES = {2: "0b", 8: "0o", 16: "0x"}


# --- int() of a text whose characters are lanes: digits of a base, of which one at least, and a sign in front of them
def to_int(s: Evaluator, items: Items, base: object, node: cst.CSTNode) -> Abstract:
    """int(text, base)"""
    if type(base) is not int or not 2 <= base <= 36:
        raise s.refuse("flatten/unsupported-expression", f"int() of a computed string in base {base!r}", node)
    if len(items) == 1 and isinstance(only := items[0], Char) and only.decimal and (base >= 10 or only.binary):
        return only.number
    items = _without_prefix(_without_spaces(items), base)
    _check_known(s, items, node)
    wrong: Value = const(False)
    negative: Value = const(False)
    total: Abstract = Static(0)
    count: Abstract = Static(0)
    rank: Abstract = Static(0)
    for item in items:
        present, value = ragged.split_gap(s, item)
        here = lane(present)
        first = s.build.op("eq", lane(rank), const(0))
        minus = s.build.op("and", characters.is_minus(s, value), first)
        plus = s.build.op("and", const(isinstance(value, Static) and value.value == "+"), first)
        is_digit, digit = _digit(s, value, base, node)
        neither = s.build.op("not", s.build.op("or", s.build.op("or", minus, plus), is_digit))
        wrong = s.build.op("or", wrong, s.build.op("and", here, neither))
        negative = s.build.op("or", negative, s.build.op("and", here, minus))
        counted = s.build.op("and", here, is_digit)
        longer = scalars.binary(s, "add", scalars.binary(s, "mul", total, Static(base)), digit)
        total = scalars.choose(s, counted, longer, total)
        count = scalars.binary(s, "add", count, counted)
        rank = scalars.binary(s, "add", rank, present)
    heap.raise_if(s, s.build.op("or", wrong, s.build.op("eq", lane(count), const(0))), ValueError)
    size = lane(total)
    return s.build.op("select", negative, s.build.op("neg", size), size)


def _without_spaces(items: Items) -> Items:
    """Without the known spaces at both ends, which int() does not look at."""
    first = next((k for k, item in enumerate(items) if not _is_space(item)), len(items))
    last = next((k for k in range(len(items), first, -1) if not _is_space(items[k - 1])), first)
    return items[first:last]


def _is_space(item: Abstract) -> bool:
    known = bound_part(item)
    return isinstance(known, Static) and known.value.isspace()


def _without_prefix(items: Items, base: int) -> Items:
    """Without a "0b" that all lanes have, behind a sign that some have."""
    prefix = _PREFIXES.get(base, "")
    at = 1 if items and isinstance(items[0], GuardedUnion) and isinstance(items[0].then, Static) else 0
    found = "".join(item.value for item in items[at:at + 2] if isinstance(item, Static))
    return [*items[:at], *items[at + 2:]] if prefix and found.lower() == prefix else items


def _check_known(s: Evaluator, items: Items, node: cst.CSTNode) -> None:
    """What int() takes beside digits, signs and letters is refused."""
    for one in [one.value for item in items for one in alternatives(item) if isinstance(one, Static)]:
        if one == "_" or one.isspace() or not one.isascii():
            raise s.refuse("flatten/unsupported-expression", f"int() of a string with {one!r} in it", node,
                           help="remove it from the string")


def _digit(s: Evaluator, value: Abstract, base: int, node: cst.CSTNode) -> tuple[Value, Value]:
    """Whether a character is a digit of the base, and its value."""
    if isinstance(value, Char) and value.decimal:
        valid = const(True) if base >= 10 or value.binary else s.build.op("lt", value.number, const(base))
        return valid, value.number
    if isinstance(value, Static):
        known = int(value.value, 36) if value.value.isalnum() else base
        return const(known < base), const(known if known < base else 0)
    code = code_of(s, value)
    heap.suspect_if(s, s.build.op("or", s.build.op("lt", code, const(33)), s.build.op("ge", code, const(127))),
                    "int() of a character that may be a space or a digit of another script", node)
    heap.suspect_if(s, s.build.op("eq", code, const(ord("_"))), "int() of a string with _ in it", node)
    found: Value = const(False)
    size: Value = const(0)
    for first, last, start in (("0", "9", 0), ("a", "z", 10), ("A", "Z", 10)):
        most = min(ord(last), ord(first) + base - 1 - start)
        if most < ord(first):
            continue
        here = s.build.op("and", s.build.op("ge", code, const(ord(first))), s.build.op("le", code, const(most)))
        found = s.build.op("or", found, here)
        size = s.build.op("select", here, s.build.op("sub", code, const(ord(first) - start)), size)
    return found, size
