"""NumPy's functions that are formulas over arrays: np.select, np.piecewise, np.polyval, np.diff, np.average, ..."""

from __future__ import annotations

from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins import reductions
from pyflat.frontend.builtins.arithmetic import NUMPY_KEEPS_INTS
from pyflat.frontend.builtins.support import Given
from pyflat.frontend.library import numpy_library
from pyflat.frontend.space import array_items, arrays, operators, scalars
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.scalars import as_float
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import (
    DTYPES,
    NONE,
    Abstract,
    Arguments,
    Array,
    Grid,
    GuardedUnion,
    ListRef,
    Seq,
    Slice,
    Static,
)
from pyflat.ir.build import const
from pyflat.ir.types import BOOL, FLOAT, INT


def _function(s: Evaluator, fn: Any, *values: Abstract, node: cst.CSTNode, **named: Abstract) -> Abstract:
    return s.space.call(Static(fn), Arguments(list(values), named), node)


# --- choosing
def select(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.select: the first condition that holds decides; all choices have one kind."""
    tests = [arrays.array(s, v, node) for v in s.space.items(given.value("condlist"), node)]
    values = [arrays.array(s, v, node) for v in s.space.items(given.value("choicelist"), node)]
    values.append(given.value("default", Static(0)))
    if len(tests) + 1 != len(values) or not tests:
        raise s.raised(ValueError, node)
    if any(arrays.kind_of(test) is not BOOL for test in tests):
        raise s.raised(TypeError, node)
    kind = arrays.joined_kind(s, [arrays.grid(s, v, node) for v in values], node)

    def one(*row: Abstract) -> Abstract:
        chosen = arrays.cast(s, row[-1], kind, node)
        for test, value in reversed(list(zip(row[:len(tests)], row[len(tests):-1], strict=True))):
            cond, taken = s.space.truth(test), arrays.cast(s, value, kind, node)
            if isinstance(cond, Static):
                chosen = taken if cond.value else chosen
            else:
                chosen = scalars.choose(s, cond, taken, chosen)
        return chosen

    return arrays.apply(s, one, [*tests, *values], node, kind)


def piecewise(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.piecewise of a number: the last condition that holds decides; the result has the kind of x."""
    x = given.value("x")
    kind = numeric_kind(x)
    if kind is None:
        raise s.refuse("flatten/not-yet", f"np.piecewise of {describe(x)}", node, help="use np.select")
    tests, functions = _pieces(s, given, node)
    result: Abstract = Static(DTYPES[kind](0))
    for test, function in zip(tests, functions, strict=True):
        cond, old = s.space.truth(test), result

        def piece(function: Abstract = function) -> Abstract:
            if numeric_kind(function) is not None:
                return arrays.cast(s, function, kind, node)
            part = arrays.new(s, arrays.filled((1,), [x]), node)
            value = s.space.call(function, Arguments([part], {}), node)
            if arrays.is_array(value):
                value = array_items.index(s, value, Static(0), node)
            return arrays.cast(s, value, kind, node)

        if isinstance(cond, Static):
            result = piece() if cond.value else result
        else:
            result = s.branch(cond, piece, lambda old=old: old)  # type: ignore[misc]
    return s.mark_numpy(result)


def _pieces(s: Evaluator, given: Given, node: cst.CSTNode) -> tuple[list[Abstract], list[Abstract]]:
    """Conditions and functions, with the condition of the default made explicit."""
    found = given.value("condlist")
    many = isinstance(found, ListRef | Seq) or isinstance(found, Static) and isinstance(found.value, list | tuple)
    tests = list(s.space.items(found, node)) if many or arrays.is_array(found) else [found]
    functions = list(s.space.items(given.value("funclist"), node))
    if len(functions) == len(tests) + 1:
        last: Abstract = Static(True)
        for test in tests:
            last = num.binary(s, "and", last, scalars.negate(s, test))
        tests.append(last)
    if len(functions) != len(tests):
        raise s.raised(ValueError, node)
    return tests, functions


def nan_to_num(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    x = arrays.array(s, given.value("x"), node)
    if arrays.kind_of(x) in (INT, BOOL):
        return x
    rest: list[Abstract] = []
    for name, usual in (("nan", 0.0), ("posinf", s.floats.largest), ("neginf", -s.floats.largest)):
        wanted = given.value(name, NONE)
        rest.append(as_float(s, Static(usual) if isinstance(wanted, Static) and wanted.value is None else wanted))
    made = arrays.apply(s, lambda v: _function(s, numpy_library.nan_to_num, v, *rest, node=node), [x], node, FLOAT)
    if isinstance(x, Array) and not given.static("copy", True):
        array_items.update(s, x, made, node)
        return x
    return made


def allclose(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    rest = {k: v for k, v in given.named.items() if k not in ("a", "b")}
    found = _function(s, np.isclose, given.value("a"), given.value("b"), node=node, **rest)
    return _function(s, np.all, found, node=node)


# --- numbers
def reciprocal(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    x = arrays.array(s, given.value("x"), node)
    if arrays.kind_of(x) is not FLOAT and not isinstance(x, GuardedUnion):
        raise s.refuse("flatten/unsupported-expression", "np.reciprocal of an int", node, why="it is mostly 0",
                       help="write 1 / x")
    return arrays.apply(s, lambda v: s.build.op("truediv", const(1.0), as_float(s, v)), [x], node, FLOAT)


def fix(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    x = arrays.array(s, given.value("x"), node)

    def one(v: Abstract) -> Abstract:
        if numeric_kind(v) is INT and NUMPY_KEEPS_INTS:
            return v
        return s.build.op("trunc", as_float(s, v))

    return arrays.apply(s, one, [x], node)


def rounded(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.round: scaled by a power of ten, rounded half to even, scaled back."""
    value, digits = arrays.array(s, given.value("a"), node), given.static("decimals", 0)
    scale = float(10 ** abs(digits)) if isinstance(digits, int) and abs(digits) <= 22 else None
    if scale is None:
        raise s.refuse("flatten/unsupported-expression", f"np.round to {digits!r} decimals", node)

    def one(x: Abstract) -> Abstract:
        if numeric_kind(x) is not FLOAT and not isinstance(x, GuardedUnion):
            if digits < 0:
                raise s.refuse("flatten/not-yet", "np.round of an int to negative digits", node)
            return num.unary(s, "pos", x)
        number = as_float(s, x)
        if digits == 0:
            return s.build.op("rint", number)
        there, back = ("mul", "truediv") if digits > 0 else ("truediv", "mul")
        return s.build.op(back, s.build.op("rint", s.build.op(there, number, const(scale))), const(scale))

    return arrays.apply(s, one, [value], node)


def clip(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """np.clip: minimum(maximum(x, low), high); a bound may be None."""
    result = given.value("a")
    for names, fn in ((("a_min", "min"), np.maximum), (("a_max", "max"), np.minimum)):
        bound = next((given.named[n] for n in names if n in given.named), Static(None))
        if not (isinstance(bound, Static) and bound.value is None):
            result = _function(s, fn, result, bound, node=node)
    return result


def skipping(opcode: str) -> Any:
    """np.fmax and np.fmin: like maximum and minimum, but a number beats nan."""

    def handler(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
        def one(a: Abstract, b: Abstract) -> Abstract:
            return reductions.extreme(opcode, skip_nan=True)(s, [a, b], node)

        operands = [arrays.array(s, given.value(name), node) for name in ("x1", "x2")]
        return arrays.apply(s, one, operands, node)

    return handler


# --- polynomials
def polyval(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    """Horner's rule from zero, as NumPy writes it."""
    return _horner(s, arrays.as_grid(s, given.value("p"), node), given.value("x"), node)


def _horner(s: Evaluator, coefficients: Grid, x: Abstract, node: cst.CSTNode) -> Abstract:
    x = arrays.array(s, x, node)
    if coefficients.ndim != 1:
        raise s.refuse("flatten/unsupported-expression", "coefficients of more than one axis", node)

    def one(value: Abstract, *factors: Abstract) -> Abstract:
        kind = numeric_kind(value)
        total: Abstract = Static(0.0 if kind is FLOAT else 0)
        for factor in factors:
            total = num.binary(s, "add", num.binary(s, "mul", total, value), factor)
        return total

    return arrays.apply(s, one, [x, *coefficients], node)


def poly1d(s: Evaluator, polynomial: np.poly1d, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """The call of a captured or known polynomial."""
    if len(arguments.positional) != 1 or arguments.named:
        raise s.raised(TypeError, node)
    s.guards.contents(polynomial.coeffs)
    coefficients = arrays.grid(s, Static(polynomial.coeffs), node)
    return _horner(s, coefficients, arguments.positional[0], node)


# --- differences and weighted sums
def diff(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    found = arrays.array(s, given.value("a"), node)
    if len(arrays.shape_of(found)) != 1 or given.static("axis", -1) not in (0, -1):
        raise s.refuse("flatten/not-yet", "np.diff of an array of several axes", node,
                       help="go over the rows in a loop")
    opcode = "sub" if arrays.kind_of(found) is not BOOL else "ne"
    for _ in range(given.static("n", 1)):
        upper, lower = (array_items.index(s, found, Slice(part), node)
                        for part in (slice(1, None), slice(None, -1)))
        step = operators.binary_arrays if opcode == "sub" else operators.compare_arrays
        found = step(s, opcode, upper, lower, node)
    return found


def average(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    a, weights = given.value("a"), given.value("weights", Static(None))
    if isinstance(weights, Static) and weights.value is None:
        named = {k: v for k, v in given.named.items() if k in ("axis", "keepdims")}
        return _function(s, np.mean, a, node=node, **named)
    values, shares = (arrays.array(s, v, node) for v in (a, weights))
    if arrays.shape_of(values) != arrays.shape_of(shares) or len(arrays.shape_of(values)) != 1:
        raise s.refuse("flatten/not-yet", "np.average of arrays of several axes", node)
    floats = [arrays.apply(s, lambda v: as_float(s, v), [each], node) for each in (values, shares)]
    scale = _function(s, np.sum, floats[1], node=node)
    top = _function(s, np.sum, operators.binary_arrays(s, "mul", floats[0], floats[1], node), node=node)
    nothing = s.space.truth(num.compare(s, "eq", scale, Static(0.0)))
    if not isinstance(nothing, Static):
        heap.suspect_if(s, nothing, "the weights add up to zero", node)
    elif nothing.value:
        raise s.raised(ZeroDivisionError, node)
    return s.mark_numpy(num.binary(s, "truediv", top, scale))


def trapezoid(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    y, x = arrays.array(s, given.value("y"), node), given.value("x", Static(None))
    if len(arrays.shape_of(y)) != 1:
        raise s.refuse("flatten/not-yet", "np.trapezoid of an array of several axes", node)
    known = isinstance(x, Static) and x.value is None
    step = given.value("dx", Static(1.0)) if known else _function(s, np.diff, x, node=node)
    upper, lower = (array_items.index(s, y, Slice(part), node)
                    for part in (slice(1, None), slice(None, -1)))
    both = operators.binary_arrays(s, "mul", step, operators.binary_arrays(s, "add", upper, lower, node), node)
    return _function(s, np.sum, operators.binary_arrays(s, "truediv", both, Static(2.0), node), node=node)


def trace(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    found = arrays.as_grid(s, given.value("a"), node)
    if found.ndim != 2:
        raise s.raised(ValueError, node)
    return reductions.total(s, list(np.diagonal(found)), node)


def nansum(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    value = arrays.array(s, given.value("a"), node)
    if arrays.kind_of(value) is FLOAT:
        zero = const(0.0)
        value = arrays.apply(s, lambda v: s.build.op("select", s.build.op("ne", lane(v), lane(v)), zero, lane(v)),
                             [value], node, FLOAT)
    rest = {k: v for k, v in given.named.items() if k != "a"}
    return _function(s, np.sum, value, node=node, **rest)


def sort(s: Evaluator, given: Given, node: cst.CSTNode) -> Abstract:
    value = arrays.array(s, given.value("a"), node)
    found = arrays.grid(s, value, node)
    if found.ndim != 1 or given.static("axis", -1) not in (0, -1):
        raise s.refuse("flatten/not-yet", "np.sort of an array of several axes", node)
    row = [lane(v) for v in found]
    for item in row:
        if item.kind is FLOAT:
            heap.suspect_if(s, s.build.op("ne", item, item), "nan in a sort", node)
    return arrays.new(s, arrays.filled(found.shape, reductions.sort(s, row, node)), node, arrays.kind_of(value))
