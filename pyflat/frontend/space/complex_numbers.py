"""Complex numbers: pairs of floats, operated on with CPython's algorithms (`complex_library`).

A number that meets a complex one becomes complex first, as `complex(x, 0.0)`: signed zeros depend on it. Where a name
is a number in some lanes and complex in others it stays a GuardedUnion of both, until an operation with a complex
number makes the difference disappear.
"""

from __future__ import annotations

import cmath
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import libcst as cst

from pyflat.errors import InternalError
from pyflat.frontend.library import complex_library as library
from pyflat.frontend.space import scalars
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import (
    alternatives,
    complex_parts,
    is_number_union,
    lane,
    numeric_kind,
    opened,
    per_alternative,
    plain_number,
    same_static,
)
from pyflat.frontend.state.values import Abstract, Arguments, BoundMethod, Complex, GuardedUnion, Seq, Static
from pyflat.ir.nodes import Origin, Value

ZERO = Static(0.0)


def is_number(value: Abstract) -> bool:
    """A number or complex number, or one of several of them."""
    return all(is_number_union(plain_number(one)) or complex_parts(one) is not None for one in alternatives(value))


def holds_complex(value: Abstract) -> bool:
    """A complex number in some lanes."""
    if isinstance(value, GuardedUnion):
        return holds_complex(value.then) or holds_complex(value.orelse)
    return complex_parts(value) is not None


def meet(a: Abstract, b: Abstract) -> bool:
    """Two numbers, one of which is complex in every lane."""
    certain = complex_parts(a) is not None or complex_parts(b) is not None
    return certain and is_number(a) and is_number(b) and not (isinstance(a, Static) and isinstance(b, Static))


def promoted(s: Evaluator, value: Abstract) -> Complex:
    """A number as a complex one. TypeError on this path for what is no number."""
    known = complex_parts(value)
    if known is not None:
        return known
    if isinstance(value, GuardedUnion) and is_number(value):
        then, orelse = promoted(s, value.then), promoted(s, value.orelse)
        return Complex(_select(s, value.cond, then.real, orelse.real), _select(s, value.cond, then.imag, orelse.imag))
    if s.may_be_numpy(value):
        raise s.refuse("flatten/not-yet", "a NumPy number is combined with a complex one, and NumPy's rules differ",
                       help="use the functions of math and cmath")
    return Complex(real_number(s, value), ZERO)


def _select(s: Evaluator, cond: Value, a: Abstract, b: Abstract) -> Abstract:
    return a if a is b or same_static(a, b) else s.build.op("select", cond, lane(a), lane(b))


def real_number(s: Evaluator, value: Abstract) -> Abstract:
    """A number as a float, known where it is known."""
    value = plain_number(value)
    if isinstance(value, Static) and numeric_kind(value) is not None:
        return scalars.const_eval(s, lambda: float(value.value))
    return scalars.as_float(s, value)


def inlined(s: Evaluator, fn: Any, numbers: Sequence[Abstract], node: cst.CSTNode | None) -> Abstract:
    """A function of the library; pairs become complex numbers."""

    if node is None:
        raise InternalError("an operator without a place in the source")
    s.require_float64(f"the complex function {fn.__name__}", node)
    result = s.space.inline(fn, Arguments(list(numbers), {}), node)
    pair = opened(result)
    return Complex(*pair.items) if isinstance(pair, Seq) else result


# --- operators
@contextmanager
def _apart(s: Evaluator) -> Iterator[cst.CSTNode | None]:
    """Operations built inside are on parts: the source text, which is about the whole numbers, is not theirs."""
    saved = s.build.origin
    if saved is not None:
        s.build.origin = Origin(saved.span, None, saved.frame)
    try:
        yield None if saved is None else saved.node
    finally:
        s.build.origin = saved


def binary(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """`a <op> b` of two numbers that `meet`."""
    if opcode not in ("add", "sub", "mul", "truediv", "pow"):
        raise s.raised(TypeError, message=f"complex numbers have no `{opcode}`")
    require(s, arithmetic_is_known(), f"`{opcode}`")
    with _apart(s) as node:
        return _binary(s, opcode, promoted(s, a), promoted(s, b), node)


def _binary(s: Evaluator, opcode: str, x: Complex, y: Complex, node: cst.CSTNode | None) -> Abstract:
    match opcode:
        case "add" | "sub":
            return Complex(scalars.binary(s, opcode, x.real, y.real), scalars.binary(s, opcode, x.imag, y.imag))
        case "mul":
            def times(p: Abstract, q: Abstract) -> Abstract:
                return scalars.binary(s, "mul", p, q)

            return Complex(scalars.binary(s, "sub", times(x.real, y.real), times(x.imag, y.imag)),
                           scalars.binary(s, "add", times(x.real, y.imag), times(x.imag, y.real)))
        case "truediv":
            return inlined(s, library.quotient, [x.real, x.imag, y.real, y.imag], node)
    return inlined(s, library.power, [x.real, x.imag, y.real, y.imag], node)


def unary(s: Evaluator, opcode: str, z: Complex) -> Abstract:
    with _apart(s):
        match opcode:
            case "neg" | "pos":
                return Complex(scalars.unary(s, opcode, z.real), scalars.unary(s, opcode, z.imag))
            case "abs":
                return s.build.op("library_hypot", lane(z.real), lane(z.imag))
    raise s.raised(TypeError, message=f"complex numbers have no `{opcode}`")


@per_alternative("a", "b")
def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract:
    """== and != of two numbers that `meet`: the real parts exactly, also when one of them is an int."""
    if opcode not in ("eq", "ne"):
        raise s.raised(TypeError, message="complex numbers have no order")
    (real, imag), (other_real, other_imag) = _as_compared(a), _as_compared(b)
    with _apart(s):
        equal = both(s, scalars.compare(s, "eq", real, other_real), scalars.compare(s, "eq", imag, other_imag))
        return scalars.negate(s, equal) if opcode == "ne" else equal


def _as_compared(value: Abstract) -> tuple[Abstract, Abstract]:
    """Real and imaginary part, an int as it is."""
    z = complex_parts(value)
    return (value, ZERO) if z is None else (z.real, z.imag)


def both(s: Evaluator, a: Abstract, b: Abstract) -> Abstract:
    """`a and b` of bools."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Static):
            return other if one.value else Static(False)
    return s.build.op("and", lane(a), lane(b))


def either(s: Evaluator, a: Abstract, b: Abstract) -> Abstract:
    """`a or b` of bools."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Static):
            return Static(True) if one.value else other
    return s.build.op("or", lane(a), lane(b))


def truth(s: Evaluator, z: Complex) -> Static | Value:
    with _apart(s):
        found = either(s, s.space.truth(z.real), s.space.truth(z.imag))
    assert isinstance(found, Static | Value)
    return found


def is_nan(s: Evaluator, z: Complex) -> Abstract:
    return either(s, scalars.compare(s, "ne", z.real, z.real), scalars.compare(s, "ne", z.imag, z.imag))


# --- a complex number in some lanes, a number in others


# --- attributes
def attribute(s: Evaluator, z: Complex, name: str, node: cst.CSTNode) -> Abstract:
    match name:
        case "real":
            return z.real
        case "imag":
            return z.imag
        case "conjugate":
            return BoundMethod(z, name)
    if hasattr(complex, name):
        raise s.refuse("flatten/unsupported-expression", f"attribute .{name} of a complex number", node)
    raise s.raised(AttributeError, node)


def conjugate(s: Evaluator, z: Complex) -> Abstract:
    with _apart(s):
        return Complex(z.real, scalars.unary(s, "neg", z.imag))


_EDGES = (0.0, -0.0, 1.5, -2.0, 1e200, math.inf, math.nan)
_PARTS = (*_EDGES, -1.5, 0.3, 5e-324, 1e-160, 709.0, -math.inf)


# --- whether the library, whose algorithms are those of 3.11, computes what this CPython computes: compared at first
# use. Where a version differs (3.14 does not make a real number complex before it is multiplied by a complex one),
# complex lanes are refused.
def _outcome(fn: Callable[..., Any], *args: Any) -> str:
    try:
        return repr(fn(*args))
    except (ArithmeticError, ValueError) as error:
        return type(error).__name__


def _agree(ours: Callable[..., tuple[float, float]], python: Callable[..., complex], *row: float) -> bool:
    z, w = complex(*row[:2]), complex(*row[2:])
    made = _outcome(lambda: complex(*ours(*row)))
    return made == _outcome(python, z, w) and (
        made == _outcome(python, row[0], w) if row[1] == 0.0 < math.copysign(1.0, row[1]) else True)


@cache
def arithmetic_is_known() -> bool:
    """The operators, also those of a real and a complex number."""
    rows = list(itertools.product(_EDGES, repeat=4))
    known = all(_agree(library.product, operator.mul, *row) and _agree(library.quotient, operator.truediv, *row)
                for row in rows)
    known = known and all(_agree(lambda a, b, c, d: (a + c, b + d), operator.add, *row)
                          and _agree(lambda a, b, c, d: (a - c, b - d), operator.sub, *row) for row in rows[::5])
    powers = itertools.product((0.0, 1.5, -2.0), (0.0, -0.75), (2.0, -3.0, 0.5, 101.0), (0.0, 1.25))
    return known and all(_agree(library.power, operator.pow, *row) for row in powers) \
        and sum((1e16 + 0j, 1 + 0j, -1e16 + 0j)) == 0


@cache
def function_is_known(name: str) -> bool:
    """A function of cmath of one number."""
    ours, python = getattr(library, name), getattr(cmath, name)
    return all(_outcome(lambda z: _whole(ours(z.real, z.imag)), z) == _outcome(lambda z: _whole(python(z)), z)
               for z in itertools.starmap(complex, itertools.product(_PARTS, repeat=2)))


def _whole(value: Any) -> Any:
    if isinstance(value, complex):
        return value.real, value.imag
    return value


def require(s: Evaluator, known: bool, what: str) -> None:
    """Refuses what this version of Python computes in another way."""
    if not known:
        raise s.refuse("flatten/not-yet", f"{what} of complex numbers in this version of Python",
                       why="its results differ from the algorithm that pyflat knows",
                       help="write it with the real and imaginary parts, or use Python 3.11")
