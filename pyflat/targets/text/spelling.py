"""How each operation is written in the printed text when the user's own source is not used: one table per flavour.

    neutral   Python's operators where they mean the same on lanes, `select`, `mod`, `floordiv`, `math.exp`, ...
    numpy     the spellings of the NumPy engine, so that text and engine compute the same bits
    numba     scalar Python as numba compiles it

A spelling is an operator ("+", or "-" for one operand) or the name of a function.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

import numpy as np

from pyflat.errors import InternalError, refuse
from pyflat.functions.records import ABSENT, RECORDS, SAME, missing
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import FUSED, OPERATIONS, PRIMITIVES, Accuracy
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.targets.numpy import engine as numpy_target
from pyflat.targets.text.expr import ATOM, NOT, UNARY, Call, Expr, Hole, Infix, Prefix, Ternary, Word
from pyflat.targets.text.literals import MIRRORED

Target = Literal["neutral", "numpy", "numba"]

LANE_FUNCTIONS = numpy_target.spelled_functions() | {"complex_lanes", "array_lanes"}
"""The functions of `pyflat.functions.lanes` that NumPy texts call."""

INVERTED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
"""`not` of a comparison: always exact for eq and ne, for the others where no operand can be nan."""

_BUILTIN = {"abs": "abs", "round_int": "round", "round_digits": "round", "to_float": "float", "exact_float": "float",
            "to_int": "int"}
_MATH = {"floor_int": "floor", "ceil_int": "ceil", "trunc": "trunc"}
_PLAIN = {"floor", "ceil", "trunc", "rint", "floordiv", "mod", "pow", "ipow", "shl", "shr", "gather", "select"}
"""Neutral names of what has no function of the same meaning in `math`."""

_NAMED = {**{record.name: record.title for record in RECORDS.values() if record.python},
          **{name: f"math.{name}" for name in ("isnan", "isinf", "isfinite")},
          "np_powers": "np.power", "np_dot": "np.dot"}
"""Functions with a name that a user writes; np.power of arrays has the same as that of numbers."""

_NUMBA = {"ipow": "**", "floordiv": "//", "mod": "%", "shl": "<<", "shr": ">>", "floor": "np.floor", "ceil": "np.ceil",
          "trunc": "np.trunc", "rint": "np.rint",
          **{record.name: record.numba_name for record in RECORDS.values() if record.numba_name != SAME}}


@cache
def _sign(opcode: str, target: Target) -> str:
    """The operator that spells `opcode`, "" when a function does."""
    row = OPERATIONS[opcode]
    if opcode == "ufunc" or opcode in FUSED:
        return ""
    if target == "numpy":
        text = numpy_target.spelling(Op(opcode, (), row.signatures[0][1]))
        return "" if "(" in text else row.operator
    if target == "numba" and opcode in _NUMBA:
        return "" if "." in _NUMBA[opcode] or _NUMBA[opcode] == ABSENT else _NUMBA[opcode]
    if opcode in ("pow", "ipow"):
        return "**"
    return row.operator if row.native else ""


def keeps_operator(op: Op, target: Target) -> bool:
    """Python's operator on lanes computes the bits of this operation."""
    kinds = tuple(a.kind for a in op.args)
    if target == "numba" and op.opcode == "shr" and not _small_count(op.args[1]):
        return False
    return kinds in OPERATIONS[op.opcode].native or bool(_sign(op.opcode, target))


def spell(op: Op, target: Target, *, single_use: frozenset[Value] | set[Value], floats: FloatFormat = F8) -> Expr:
    """The expression of `op` over holes; `single_use` are the values that only one operation reads. NumPy's text of
    float32 rounds what is computed in float64."""
    if floats is F8 or target != "numpy":
        return _spell(op, target, single_use, floats)
    match op.opcode:
        case "to_float" | "exact_float":
            return Call("np.float32", [Hole(a) for a in op.args])
        case "ldexp":
            return Call("np.float32", [Call("lanes.ldexp", [Call("np.float64", [Hole(op.args[0])]), Hole(op.args[1])])])
    spelled = _spell(op, target, single_use, floats)
    return Call("np.float32", [spelled]) if numpy_target.is_rounded(op.opcode) else spelled


def _spell(op: Op, target: Target, single_use: frozenset[Value] | set[Value], floats: FloatFormat) -> Expr:
    args: list[Expr] = [Hole(a) for a in op.args]
    if args and all(isinstance(a, Const) for a in op.args) and target == "numpy":
        args[0] = _typed(op.args[0], floats)
    match op.opcode:
        case "select":
            return _select(op, args, target)
        case "not":
            return _negation(op, target, single_use)
        case "gather":
            return _gather(op, args[0], target, floats)
        case "ufunc" if target == "numpy":
            parts = [*args, *[Word(repr(value)) for _, value in op.attrs]]
            return Call("lanes.ufunc", parts, [*([""] * len(args)), *[name for name, _ in op.attrs]])
        case "ufunc":
            return Call("_".join(str(op.attr(name)) for name in ("ufunc", "part") if op.attr(name)), args)
        case "call":
            return Call(str(op.attr("name")), args)
        case "part":
            return Call("part", [args[0], Word(str(op.attr("index")))])
        case "exponent" if target != "numpy":
            return Call("math.frexp", args, tail="[1]")
        case "library_hypot" if target != "numpy":
            return Call("abs", [Call("complex", args)])
        case "shr" if target == "numba" and not _small_count(op.args[1]):
            return Infix(args[0], " >> ", Call("min", [args[1], Word("63")]))
    sign = _sign(op.opcode, target)
    if op.opcode in INVERTED and isinstance(op.args[0], Const) and not isinstance(op.args[1], Const):
        return Infix(args[1], f" {MIRRORED[sign]} ", args[0])
    if sign and len(args) == 2:
        return Infix(args[0], f" {sign} ", args[1])
    if sign:
        return Prefix(sign, args[0])
    return Call(function_name(op, target), args)


def _small_count(count: Value) -> bool:
    return isinstance(count, Const) and isinstance(count.value, int) and 0 <= count.value < 64


def _typed(value: Value, floats: FloatFormat) -> Expr:
    """A NumPy scalar: an operation on two Python numbers would be Python's own, and raise or leave 64 bits."""
    assert isinstance(value, Const)
    if floats is not F8 and value.kind is FLOAT:
        return literal(value, "numpy", floats)
    return Call({BOOL: "np.bool_", INT: "np.int64", FLOAT: "np.float64"}[value.kind], [literal(value, "numpy")])


def _select(op: Op, args: list[Expr], target: Target) -> Expr:
    cond, then, orelse = args
    inner = op.args[0]
    if isinstance(inner, Op) and inner.opcode == "not":
        cond, then, orelse = Hole(inner.args[0]), orelse, then
    if target == "numba":
        return Ternary(cond, then, orelse)
    return Call("np.where" if target == "numpy" else "select", [cond, then, orelse])


def _negation(op: Op, target: Target, single_use: frozenset[Value] | set[Value]) -> Expr:
    inner = op.args[0]
    if isinstance(inner, Op) and inner in single_use and inner.opcode in INVERTED:
        exact = inner.opcode in ("eq", "ne") or inner.args[0].kind is not FLOAT
        if exact and not all(isinstance(a, Const) for a in inner.args):
            left, right = inner.args
            return Infix(Hole(left), f" {PRIMITIVES[INVERTED[inner.opcode]].operator} ", Hole(right))
    if target == "neutral":
        return Prefix("~", Hole(inner))
    if target == "numba":
        return Prefix("not ", Hole(inner), NOT)
    return Call("np.logical_not", [Hole(inner)])


def _gather(op: Op, index: Expr, target: Target, floats: FloatFormat) -> Expr:
    items = [literal(Const(op.kind, item), target, floats) for item in op.attr("table")]
    table = Call("", items)
    if target == "numpy":
        return Call("lanes.gather", [table, index])
    if target == "numba":  # an index beyond the table in a lane that is not taken must not raise
        return Call("np.take", [Call("np.array", [table]), Infix(index, " % ", Word(str(len(items))))])
    return Call("gather", [table, index])


def function_name(op: Op, target: Target) -> str:
    """The name of the function that spells `op`."""
    name = op.opcode
    if target == "numpy":
        return numpy_target.spelling(op).partition("(")[0]
    if target == "numba" and _NUMBA.get(name) == ABSENT:
        span = op.origin.span if op.origin else None
        raise refuse("flatten/target-operation", missing("scalar Python for numba", name, ""), span)
    if target == "numba" and name in _NUMBA:
        return _NUMBA[name]
    if name in _BUILTIN:
        return _BUILTIN[name]
    if name in _MATH and (name != "trunc" or target == "neutral"):
        return "math." + _MATH[name] if name != "trunc" else "trunc"
    if name in _PLAIN:
        return name
    if name in _NAMED:
        return _NAMED[name]
    raise InternalError(f"the {target} text has no spelling of {name}")


def literal(value: Const, target: Target, floats: FloatFormat = F8) -> Expr:
    """A constant as text; an undefined one is zero. A float32 of NumPy says that it is one: in `np.where(c, 1.0, 2.0)`
    there would be nothing else to say it."""
    if floats is F8 or value.kind is not FLOAT:
        return _literal(value, target)
    shown = Const(FLOAT, None if value.value is None else float(str(np.float32(value.value))))
    return Call("np.float32", [_literal(shown, target)]) if target == "numpy" else _literal(shown, target)


def _literal(value: Const, target: Target) -> Expr:
    number = value.value
    if number is None:
        return Word({BOOL: "False", INT: "0", FLOAT: "0.0"}[value.kind])
    if isinstance(number, float) and not math.isfinite(number):
        module = "math" if target == "neutral" else "np"
        word = Word(f"{module}.nan" if math.isnan(number) else f"{module}.inf")
        return Prefix("-", word) if number < 0 else word
    text = repr(number)
    return Word(text, UNARY if text.startswith("-") else ATOM)


def calls(opcode: str) -> frozenset[str]:
    """The last parts of function names with which a user writes this operation: asin, math.asin, np.arcsin."""
    known = {"floor_int": {"floor"}, "ceil_int": {"ceil"}, "round_int": {"round"}, "round_digits": {"round"},
             "to_int": {"int", "trunc"}, "to_float": {"float"}, "exact_float": {"float"}, "abs": {"abs", "fabs"},
             "ipow": {"pow"}, **{name: {name} for name in ("floor", "ceil", "trunc")}}
    if opcode in known:
        return frozenset(known[opcode])
    record = RECORDS.get(opcode)
    if record is None:
        return frozenset({opcode}) if opcode in _NAMED else frozenset()
    name = record.python.rpartition(".")[2] or opcode
    return frozenset({name, record.like} if record.accuracy is Accuracy.NUMPY else {name})


KIND_NAMES: dict[Kind, str] = {BOOL: "bool", INT: "int", FLOAT: "float"}
