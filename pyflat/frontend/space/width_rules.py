"""Arithmetic of NumPy's scalars in kernels: the dtype of a result, and how lanes compute it.

NumPy itself says which loop an operator takes (`ufunc.resolve_dtypes`, where Python's numbers are weak). A float32
operation is the float64 one, rounded; an operation of narrow ints is that of int64, and faults where it leaves its
dtype. Where NumPy would warn (an overflow, a division by zero), the kernel leaves it to the original.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import lane, numeric_kind
from pyflat.frontend.state.values import Abstract, GuardedUnion, Static
from pyflat.frontend.state.widths import PYTHON, WIDE, Width, Widths
from pyflat.functions import narrow_functions
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Const, Op, Value
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "shl": np.left_shift, "shr": np.right_shift,
}
_OF_BOOLS = {"add": "or", "mul": "and"}
"""What operators of two NumPy bools are."""
_WEAK: dict[Kind, Any] = {BOOL: np.dtype(bool), INT: int, FLOAT: float}
_DEFINED = frozenset({"add", "sub", "mul", "truediv"})
"""Operators that all numbers have."""
_TOTAL = frozenset({"add", "sub", "mul", "and", "or", "xor"})
"""Those that raise for no numbers of theirs."""
_KINDS = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}
NUMBERS = frozenset({"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"})
"""The dtypes of numbers with arithmetic."""


class OperatorLoop(NamedTuple):
    """What NumPy computes an operator with: the dtype of the operands, of the result, and whether that is the dtype of
    one of them: other powers go through the ufunc, which has bits of its own."""

    operands: str
    result: str
    own: bool


NONE = OperatorLoop("", "", False)
"""NumPy has no loop for these dtypes, and raises TypeError."""


def _width(widths: Widths, value: Abstract) -> Width:
    return widths.of(value) if isinstance(value, Value) else PYTHON


def kind_of(dtype: str) -> Kind:
    return _KINDS[dtype[0]]


# --- binary operators
def binary(s: Evaluator, widths: Widths, opcode: str, a: Abstract, b: Abstract) -> Abstract | None:
    """`a <op> b` where one may be NumPy's; None where both are Python's, or where that makes no difference."""
    first, second = _width(widths, a), _width(widths, b)
    if first | second == PYTHON or isinstance(a, GuardedUnion) or isinstance(b, GuardedUnion):
        return None
    kinds = numeric_kind(a), numeric_kind(b)
    if kinds[0] is None or kinds[1] is None:
        return None
    if "?" in first | second:
        return _by_cases(s, widths, opcode, a, b) or _refuse(_unknown(s))
    loops = {loop_of(opcode, x, kinds[0], y, kinds[1]) for x in first for y in second}
    if len(loops) == 1 and (loop := loops.pop()) is not None:
        if loop is NONE:
            raise s.raised(TypeError)
        return computed(s, widths, opcode, a, b, loop)
    wide = {None if loop is None else loop.result for loop in loops}
    if not wide <= {None, "f8", "i8"} or len(wide - {None}) > 1 or opcode == "pow" and (
            kinds == (INT, INT) or not all(loop is None or loop.own for loop in loops)):
        return _by_cases(s, widths, opcode, a, b) or _refuse(s.refuse(
            "flatten/mixed-join", "a number is Python's if a loop does not run, else NumPy's, and this "
            "operation has another dtype then", help="start with a scalar of the dtype: np.float32(0)"))
    return _either(s, widths, opcode, a, b, wide)


def _refuse(error: Exception) -> NoReturn:
    raise error


def _by_cases(s: Evaluator, widths: Widths, opcode: str, a: Abstract, b: Abstract) -> Abstract | None:
    """Where an operand is one of several numbers with different dtypes: the operation with each of them. None where it
    is not known which. What one that it is not meets sends the run to the original, unless that may be certain: then
    there is a branch."""
    ints = numeric_kind(a) is INT and numeric_kind(b) is INT
    plain = opcode in _DEFINED or opcode != "pow" and ints
    plain = plain and (opcode in _TOTAL or not isinstance(b, Static) or b.value > 0)

    def apply(x: Abstract, y: Abstract) -> Abstract:
        return s.space.binary(opcode, x, y, s.frame.captured.tree)

    if is_one_of(widths, a):
        return by_dtype(s, widths, a, lambda x: apply(x, b), plain=plain)
    return by_dtype(s, widths, b, lambda y: apply(a, y), plain=plain) if is_one_of(widths, b) else None


def is_one_of(widths: Widths, value: Abstract) -> bool:
    """A number of one of several dtypes, where `by_dtype` can tell which."""
    return isinstance(value, Value) and len(widths.of(value)) > 1 and _told_by(widths, value) is not None


def _told_by(widths: Widths, value: Value) -> tuple[Value, ...] | None:
    """The numbers that a choice of two is one of; of others the number itself, None where its dtype is not known."""
    if "?" not in widths.of(value):
        return (value,)
    if not isinstance(value, Op) or value.opcode != "select" or isinstance(value.args[0], Const):
        return None
    parts = tuple(_before_conversion(widths, arg) for arg in value.args[1:])
    return None if any("?" in widths.of(part) for part in parts) else parts


def by_dtype(s: Evaluator, widths: Widths, value: Abstract, each: Callable[[Value], Abstract], *, plain: bool
             ) -> Abstract:
    """`each` of a number that `is_one_of`, by the dtype that it has: all of them, of which one is chosen (`plain`), or
    in branches."""
    assert isinstance(value, Value)
    parts = _told_by(widths, value)
    assert parts is not None
    if len(parts) > 1:
        assert isinstance(value, Op)
        return _chosen(s, widths, value.args[0], lambda: each(parts[0]), lambda: each(parts[1]), plain=plain)
    dtypes = sorted(widths.of(value), key=str)

    def of_one(dtype: str | None) -> Abstract:
        return each(widths.mark(s.build.op("select", TRUE if dtype else FALSE, value, value), frozenset({dtype})))

    def of_these(left: Sequence[str | None]) -> Abstract:
        if len(left) == 1:
            return of_one(left[0])
        holds = widths.mark(s.build.op("has_dtype", value, dtype=left[0] or ""), PYTHON)
        return _chosen(s, widths, holds, lambda: of_one(left[0]), lambda: of_these(left[1:]), plain=plain)

    return of_these(dtypes)


def _chosen(s: Evaluator, widths: Widths, holds: Value, one: Callable[[], Abstract], other: Callable[[], Abstract], *,
            plain: bool) -> Abstract:
    if not plain:
        return s.branch(holds, one, other)
    x, y = one(), other()
    if not isinstance(x, Value) or not isinstance(y, Value) or x.kind is not y.kind:
        return s.branch(holds, lambda: x, lambda: y)
    return widths.mark(s.build.op("select", holds, x, y), widths.of(x) | widths.of(y))


def _before_conversion(widths: Widths, value: Value) -> Value:
    """The int that is a float beside one: its dtype says how NumPy goes on."""
    if "?" in widths.of(value) and isinstance(value, Op) and value.opcode == "to_float":
        return value.args[0]
    return value


def _either(s: Evaluator, widths: Widths, opcode: str, a: Abstract, b: Abstract, wide: Any) -> Abstract:
    """Python's arithmetic, which has NumPy's values."""
    if opcode in ("add", "sub", "mul") and FLOAT in (numeric_kind(a), numeric_kind(b)):
        a, b = (_as_numpy_float(s, widths, value) for value in (a, b))
    known, s.widths = s.widths, Widths()
    try:
        result = s.space.binary(opcode, a, b, s.frame.captured.tree)
    finally:
        s.widths = known
    if opcode in ("floordiv", "mod") and isinstance(result, Value):
        _suspect_quotient(s, result)
    return widths.mark(result, frozenset(wide)) if isinstance(result, Value) else result


def _as_numpy_float(s: Evaluator, widths: Widths, value: Abstract) -> Abstract:
    """An int that may be NumPy's as a float that is computed as NumPy's: arithmetic with it warns."""
    if not isinstance(value, Value) or value.kind is FLOAT or widths.of(value) == PYTHON:
        return value
    made = widths.as_numpy(s.build, s.build.op("to_float", value))
    return widths.mark(made, frozenset({None, "f8"})) if None in widths.of(value) else made


def _suspect_quotient(s: Evaluator, made: Value) -> None:
    """NumPy warns of infinities by `//` and `%`, and of what overflows."""
    if made.kind is FLOAT:
        heap.suspect_if(s, s.build.op("not", s.build.op("isfinite", made)), "a quotient that is not finite",
                        s.frame.captured.tree)


def _unknown(s: Evaluator) -> Exception:
    return s.refuse("flatten/mixed-join", "the dtype of this number is not known",
                    help="convert it: float(x), int(x), np.float32(x)")


def resolved(fn: np.ufunc, given: Sequence[tuple[str | None, Kind]]) -> OperatorLoop | None:
    """The loop that a function takes for numbers of these dtypes (None: Python's number of a kind): of its operands,
    which have one dtype, and of its result. None where there is no such loop."""
    weak = [_WEAK[kind] if dtype is None else np.dtype(dtype) for dtype, kind in given]
    try:
        *operands, result = (each.str[1:] for each in fn.resolve_dtypes((*weak, None)))
    except TypeError:
        return NONE
    own = operands[0] in {dtype for dtype, _ in given}
    known = len({*operands}) == 1 and {operands[0], result} <= NUMBERS | {"b1"}
    return OperatorLoop(operands[0], result, own) if known else None


def loop_of(opcode: str, x: str | None, kx: Kind, y: str | None, ky: Kind) -> OperatorLoop | None:
    """The loop that NumPy takes; None: Python computes."""
    if x is None and y is None:
        return None
    found = resolved(_UFUNCS[opcode], [(x, kx), (y, ky)])
    assert found is not None  # no operator has one for two dtypes
    return found if found is NONE or opcode == "pow" else found._replace(own=True)


def computed(s: Evaluator, widths: Widths, opcode: str, a: Abstract, b: Abstract, loop: OperatorLoop) -> Abstract:
    operands, result, own = loop
    x, y = (operand(s, widths, value, operands) for value in (a, b))
    if operands == "b1":
        opcode = _OF_BOOLS.get(opcode, opcode)
    if opcode in ("floordiv", "mod") and operands == "f4":
        return widths.mark(_divided_float32(s, opcode, x, y), frozenset({result}))
    if opcode == "pow" and operands == "f4":
        return widths.mark(narrow_power(s, x, y), frozenset({result}))
    if opcode == "pow" and operands == "f8" and not own:
        return widths.mark(s.build.op("np_power", x, y), frozenset({result}))
    if opcode == "pow" and operands != "f8":
        made = s.build.op("ipow", x, y)
    else:
        made = s.build.op("divide" if opcode == "truediv" else opcode, x, y)
    if opcode in ("floordiv", "mod"):
        _suspect_quotient(s, made)
    if made.kind is FLOAT and opcode in ("floordiv", "mod", "pow"):
        return cast(s, widths, widths.as_numpy(s.build, made), result)
    return cast(s, widths, made, result)


def narrow_power(s: Evaluator, x: Value, y: Value) -> Value:
    """`x ** y` of float32: the C library's."""
    if not narrow_functions.has_power():
        raise s.refuse("flatten/not-yet", "`**` of float32 on this machine", help="compute it in float64: float(x)")
    return s.build.op("narrow", x, y, function="powf")


def operand(s: Evaluator, widths: Widths, value: Abstract, dtype: str) -> Value:
    """A number as NumPy converts it for a loop."""
    number = lane(value)
    python = None in _width(widths, value)
    if kind_of(dtype) is FLOAT:
        if isinstance(value, Static) and type(value.value) is int and abs(value.value) <= 2**53:
            number = const(float(value.value))  # a literal exponent stays one
        if number.kind is not FLOAT:
            number = s.build.op("to_float", number)
            number, python = number if python else widths.as_numpy(s.build, number), True
        return s.build.op("rounded", number, dtype=dtype) if python and dtype == "f4" else number
    if number.kind is BOOL:
        return number if dtype == "b1" else s.build.op("to_int", number)
    return s.build.op("fitted", number, dtype=dtype) if python and dtype != "i8" else number


def cast(s: Evaluator, widths: Widths, value: Value, dtype: str) -> Value:
    """What an operation has given, in its dtype."""
    if dtype == "f4":
        value = s.build.op("rounded", value, dtype=dtype)
    elif kind_of(dtype) is INT and dtype != "i8":
        value = s.build.op("fitted", value, dtype=dtype)
    return widths.mark(value, frozenset({dtype}))


# --- the other operators
def operands_of_comparison(s: Evaluator, widths: Widths, a: Abstract, b: Abstract) -> tuple[Abstract, Abstract]:
    """The operands as they are compared: a float of Python's beside a float32 is rounded to one."""
    first, second = _width(widths, a), _width(widths, b)
    if first | second <= WIDE or numeric_kind(a) is not FLOAT or numeric_kind(b) is not FLOAT:
        return a, b
    if "?" in first | second or len(first) > 1 or len(second) > 1:
        raise _unknown(s)  # `compare_by_cases` has been asked
    if first == PYTHON and second == {"f4"}:
        return s.build.op("rounded", lane(a), dtype="f4"), b
    if second == PYTHON and first == {"f4"}:
        return a, s.build.op("rounded", lane(b), dtype="f4")
    return a, b


def compare_by_cases(s: Evaluator, widths: Widths, opcode: str, a: Abstract, b: Abstract) -> Abstract | None:
    """A comparison of floats, one of which has one of several dtypes; None where that makes no difference."""
    first, second = _width(widths, a), _width(widths, b)
    if first | second <= WIDE or numeric_kind(a) is not FLOAT or numeric_kind(b) is not FLOAT:
        return None
    if is_one_of(widths, a):
        return by_dtype(s, widths, a, lambda x: s.space.compare(opcode, x, b, s.frame.captured.tree), plain=True)
    if is_one_of(widths, b):
        return by_dtype(s, widths, b, lambda y: s.space.compare(opcode, a, y, s.frame.captured.tree), plain=True)
    return None


def unary(s: Evaluator, widths: Widths, opcode: str, value: Abstract) -> Abstract | None:
    """`-x`, `+x`, `~x`, abs(x); None where Python's numbers have the same."""
    width = _width(widths, value)
    if width <= WIDE or not isinstance(value, Value):
        if not isinstance(value, Value) or width == PYTHON:
            return None
        if value.kind is FLOAT and opcode == "invert":
            return None
        made = value if opcode == "pos" else s.build.op(opcode, value)
        return widths.mark(made, width) if made is not value else value
    if is_one_of(widths, value):
        return by_dtype(s, widths, value, lambda x: s.space.unary(opcode, x, s.frame.captured.tree), plain=True)
    if "?" in width:
        raise _unknown(s)
    (dtype,) = width
    if dtype == "b1" or dtype is None:
        return None
    if opcode == "invert" and dtype == "u8":
        raise s.refuse("flatten/int-too-large", "`~` of an uint64", help="use xor with a mask below 2**63")
    if opcode == "invert" and dtype[0] == "u":
        return widths.mark(s.build.op("xor", value, const(np.iinfo(dtype).max)), width)
    if opcode == "pos" or opcode == "abs" and dtype[0] == "u":
        return value
    return cast(s, widths, s.build.op(opcode, value), dtype) if opcode != "invert" or kind_of(dtype) is INT else None


# --- conversions
def python(s: Evaluator, widths: Widths, value: Abstract) -> Abstract:
    """A number as Python's own: a position, a bound of a range, int(x)."""
    if not isinstance(value, Value) or widths.of(value) == PYTHON:
        return value
    return widths.mark(s.build.op("select", const(False), value, value), PYTHON)


def as_float32(s: Evaluator, widths: Widths, value: Abstract) -> Value:
    """A number as NumPy converts it to float32: an int of 64 bits at once, Python's by way of a float64."""
    number, width = lane(value), _width(widths, value)
    if number.kind is FLOAT:
        return s.build.op("rounded", number, dtype="f4")
    if number.kind is BOOL or not width & {"i8", "u8", "?"}:
        return s.build.op("rounded", s.build.op("to_float", number), dtype="f4")
    if width & {None, "?"}:
        far = s.build.op("or", s.build.op("lt", number, const(-2**53)), s.build.op("gt", number, const(2**53)))
        heap.suspect_if(s, far, "an int beyond 53 bits that may be Python's or NumPy's", s.frame.captured.tree)
    return s.build.op("rounded", number, dtype="f4")


def as_dtype(s: Evaluator, widths: Widths, value: Abstract, dtype: str) -> Value:
    """`np.float32(x)` and the like: NumPy's cast of a number."""
    number = lane(value)
    kind = kind_of(dtype)
    if kind is BOOL:
        made: Any = s.space.truth(number)
        return widths.mark(s.build.op("select", const(True), made, made), frozenset({dtype}))
    if dtype == "f4":
        return widths.mark(as_float32(s, widths, value), frozenset({dtype}))
    if kind is FLOAT:
        number = number if number.kind is FLOAT else s.build.op("to_float", number)
        return widths.mark(s.build.op("select", const(True), number, number), frozenset({dtype}))
    if number.kind is not INT:
        number = s.build.op("to_int", number)
    made = s.build.op("select", const(True), number, number) if dtype == "i8" else s.build.op(
        "fitted", number, dtype=dtype)
    return widths.mark(made, frozenset({dtype}))


def _divided_float32(s: Evaluator, opcode: str, x: Value, y: Value) -> Value:
    """`x // y`, or `x % y` where the opcode is "mod", of two float32 numbers, as NumPy computes it (`npy_divmodf`):

        m = fmod(x, y)      exact
        d = (x - m) / y     each step rounded to float32, then d is floored, and one more where it was nearly the next

    Infinities, nan and divisors of zero, at which NumPy may warn, are left to the original.
    """
    op, zero = s.build.op, const(0.0)
    for number in (x, y):
        heap.suspect_if(s, op("not", op("isfinite", number)), "a float32 that is not finite", s.frame.captured.tree)
    heap.suspect_if(s, op("eq", y, zero), "a division by zero", s.frame.captured.tree)
    rest = op("fmod", x, y)
    quotient = _rounded(s, "divide", _rounded(s, "sub", x, rest), y)
    heap.suspect_if(s, op("not", op("isfinite", quotient)), "a quotient that overflows", s.frame.captured.tree)
    is_whole = op("eq", rest, zero)
    below = op("and", op("not", is_whole), op("ne", op("lt", y, zero), op("lt", rest, zero)))
    if opcode == "mod":
        moved = op("select", below, _rounded(s, "add", rest, y), rest)
        return op("select", is_whole, op("copysign", zero, y), moved)
    quotient = op("select", below, _rounded(s, "sub", quotient, const(1.0)), quotient)
    down = op("floor", quotient)
    nearly = op("gt", _rounded(s, "sub", quotient, down), const(0.5))
    whole = op("select", nearly, _rounded(s, "add", down, const(1.0)), down)
    return op("select", op("eq", quotient, zero), op("copysign", zero, _rounded(s, "divide", x, y)), whole)


def _rounded(s: Evaluator, opcode: str, a: Value, b: Value) -> Value:
    return s.build.op("rounded", s.build.op(opcode, a, b), dtype="f4")
