"""How each operation is written in the printed text when the user's own source is not used.

A spelling is an operator ("+", or "-" for one operand) or the name of a function; `dialects` has the tables.
"""

from __future__ import annotations

import math

import numpy as np

from pyflat.errors import InternalError, refuse
from pyflat.functions.records import ABSENT, RECORDS, missing
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import COMPARISONS, OPERATIONS, PRIMITIVES, Accuracy
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.passes.rules.logic import opposite
from pyflat.targets.numpy import spelling as numpy_spelling
from pyflat.targets.text.dialects import DIALECTS, Dialect
from pyflat.targets.text.expr import ATOM, UNARY, Call, Expr, Hole, Infix, Prefix, Word
from pyflat.targets.text.literals import MIRRORED
from pyflat.targets.text.steps import LET

LANE_FUNCTIONS = numpy_spelling.spelled_functions() | {"complex_lanes", "array_lanes", "unsigned"}
"""The functions of `pyflat.functions.lanes` that NumPy texts call."""

def keeps_operator(op: Op, dialect: Dialect) -> bool:
    """Python's operator on lanes computes the bits of this operation."""
    kinds = tuple(a.kind for a in op.args)
    if _is_bounded_shift(op, dialect):
        return False
    return kinds in OPERATIONS[op.opcode].native or bool(dialect.operator(op.opcode))


def spell(op: Op, dialect: Dialect, *, single_use: frozenset[Value] | set[Value], floats: FloatFormat = F8) -> Expr:
    """The expression of `op` over holes; `single_use` are the values that only one operation reads. NumPy's text of
    float32 rounds what is computed in float64."""
    if op.opcode == LET:
        (value,) = op.args
        typed = isinstance(value, Const) and value.kind is not BOOL and dialect.on_arrays
        return _typed(value, floats) if typed else Hole(value)
    if op.opcode == "low64":
        return Hole(op.args[0]) if dialect.stands_alone else Call("low64", [Hole(op.args[0])])
    if floats is F8 or not dialect.on_arrays:
        return _spell(op, dialect, single_use, floats)
    match op.opcode:
        case "to_float" | "exact_float":
            return Call("np.float32", [Hole(a) for a in op.args])
        case "ldexp":
            return Call("np.float32", [Call("lanes.ldexp", [Call("np.float64", [Hole(op.args[0])]), Hole(op.args[1])])])
    spelled = _spell(op, dialect, single_use, floats)
    return Call("np.float32", [spelled]) if numpy_spelling.is_rounded(op.opcode) else spelled


def _spell(op: Op, dialect: Dialect, single_use: frozenset[Value] | set[Value], floats: FloatFormat) -> Expr:
    args: list[Expr] = [Hole(a) for a in op.args]
    if args and all(isinstance(a, Const) for a in op.args) and dialect.on_arrays:
        args[0] = _typed(op.args[0], floats)
    match op.opcode:
        case "select":
            return _select(op, args, dialect)
        case "not":
            return _negation(op, dialect, single_use)
        case "gather":
            items = [literal(Const(op.kind, item), dialect, floats) for item in op.attr("table")]
            return dialect.gather(items, args[0])
        case "ufunc" if dialect.on_arrays:
            parts = [*args, *[Word(repr(value)) for _, value in op.attrs]]
            return Call("lanes.ufunc", parts, [*([""] * len(args)), *[name for name, _ in op.attrs]])
        case "ufunc":
            return Call("_".join(str(op.attr(name)) for name in ("ufunc", "part") if op.attr(name)), args)
        case "call":
            return Call(str(op.attr("name")), args)
        case "part":
            return Call("part", [args[0], Word(str(op.attr("index")))])
        case "exponent" if not dialect.on_arrays:
            return Call("math.frexp", args, tail="[1]")
        case "library_hypot" if not dialect.on_arrays:
            return Call("abs", [Call("complex", args)])
        case "shr" if _is_bounded_shift(op, dialect):
            return Infix(args[0], " >> ", Call("min", [args[1], Word("63")]))
    sign = dialect.operator(op.opcode)
    if op.opcode in COMPARISONS and isinstance(op.args[0], Const) and not isinstance(op.args[1], Const):
        return Infix(args[1], f" {MIRRORED[sign]} ", args[0])
    if sign and len(args) == 2:
        return Infix(args[0], f" {sign} ", args[1])
    if sign:
        return Prefix(sign, args[0])
    return Call(function_name(op, dialect), args)


def _is_bounded_shift(op: Op, dialect: Dialect) -> bool:
    """Where the processor's shift would run, which takes a count modulo 64; Python's and NumPy's do not."""
    if op.opcode != "shr" or dialect.name != "numba":
        return False
    count = op.args[1]
    return not (isinstance(count, Const) and isinstance(count.value, int) and 0 <= count.value < 64)


def _typed(value: Value, floats: FloatFormat) -> Expr:
    """A NumPy scalar: an operation on two Python numbers would be Python's own, and raise or leave 64 bits."""
    assert isinstance(value, Const)
    text = literal(value, DIALECTS["numpy"], floats)
    if floats is not F8 and value.kind is FLOAT:
        return text
    return Call({BOOL: "np.bool_", INT: "np.int64", FLOAT: "np.float64"}[value.kind], [text])


def _select(op: Op, args: list[Expr], dialect: Dialect) -> Expr:
    cond, then, orelse = args
    inner = op.args[0]
    if isinstance(inner, Op) and inner.opcode == "not":
        cond, then, orelse = Hole(inner.args[0]), orelse, then
    return dialect.select(cond, then, orelse)


def _negation(op: Op, dialect: Dialect, single_use: frozenset[Value] | set[Value]) -> Expr:
    inner = op.args[0]
    other = opposite(inner)
    if other and inner in single_use and not all(isinstance(a, Const) for a in inner.args):
        left, right = inner.args
        return Infix(Hole(left), f" {PRIMITIVES[other].operator} ", Hole(right))
    return dialect.negation(Hole(inner))


def function_name(op: Op, dialect: Dialect) -> str:
    """The name of the function that spells `op`."""
    name = dialect.words.get(op.opcode)
    if name == ABSENT:
        span = op.span
        raise refuse("flatten/target-operation", missing("scalar Python for numba", op.opcode, ""), span)
    if name is None:
        raise InternalError(f"the {dialect.name} text has no spelling of {op.opcode}")
    return name


def literal(value: Const, dialect: Dialect, floats: FloatFormat = F8) -> Expr:
    """A constant as text; an undefined one is zero. A float32 of NumPy says that it is one: in `np.where(c, 1.0, 2.0)`
    there would be nothing else to say it."""
    if floats is F8 or value.kind is not FLOAT:
        return _literal(value, dialect)
    shown = Const(FLOAT, None if value.value is None else float(str(np.float32(value.value))))
    text = _literal(shown, dialect)
    return Call("np.float32", [text]) if dialect.on_arrays else text


def _literal(value: Const, dialect: Dialect) -> Expr:
    number = value.value
    if number is None:
        return Word({BOOL: "False", INT: "0", FLOAT: "0.0"}[value.kind])
    if isinstance(number, float) and not math.isfinite(number):
        word = Word(f"{dialect.constants}.{'nan' if math.isnan(number) else 'inf'}")
        return Prefix("-", word) if number < 0 else word
    text = repr(number)
    return Word(text, UNARY if text.startswith("-") else ATOM)


def calls(opcode: str) -> frozenset[str]:
    """The last parts of function names with which a user writes this operation: asin, math.asin, np.arcsin."""
    known = {"round_digits": "round", "ipow": "pow", **{name: name for name in ("floor", "ceil", "trunc")}}
    row = PRIMITIVES.get(opcode)
    written = row.written if row and row.written else (known[opcode],) if opcode in known else ()
    if written:
        return frozenset(name.rpartition(".")[2] for name in written)
    record = RECORDS.get(opcode)
    if record is None:
        return frozenset()
    name = record.python.rpartition(".")[2] or opcode
    return frozenset({name, record.like} if record.accuracy is Accuracy.NUMPY else {name})


KIND_NAMES: dict[Kind, str] = {BOOL: "bool", INT: "int", FLOAT: "float"}
