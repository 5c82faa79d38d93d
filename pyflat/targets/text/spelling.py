"""How each operation is written in the printed text when the user's own source is not used.

A spelling is an operator ("+", or "-" for one operand) or the name of a function.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pyflat.errors import InternalError, refuse
from pyflat.functions.records import ABSENT, RECORDS, SAME, missing
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import COMPARISONS, FUSED, OPERATIONS, PRIMITIVES, ROUNDED, Accuracy
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.passes.rules.logic import opposite
from pyflat.targets.numpy import spelling as numpy_spelling
from pyflat.targets.text.expr import ATOM, NOT, UNARY, Call, Expr, Hole, Infix, Prefix, Ternary, Word
from pyflat.targets.text.literals import MIRRORED
from pyflat.targets.text.steps import LET

# --- the dialects, one record each; nothing else knows how many there are
#
#     neutral   Python's operators where they mean the same on lanes, `select`, `mod`, `floordiv`, `math.exp`, ...
#     numpy     the spellings of the NumPy engine, so that text and engine compute the same bits
#     numba     scalar Python as numba compiles it

Target = Literal["neutral", "numpy", "numba"]

_WRITTEN = {name: row.written[0] for name, row in PRIMITIVES.items() if row.written}
_NEUTRAL = {
    **_WRITTEN, "round_digits": "round",
    **{name: name for name in (*ROUNDED.values(), "floordiv", "mod", "shl", "shr")},
    **{record.name: record.title for record in RECORDS.values() if record.python},
    "np_powers": "np.power", "np_dot": "np.dot",
    **{name: row.operator for name, row in OPERATIONS.items() if row.native and name not in FUSED},
    "pow": "**", "ipow": "**",
}
"""Operators, and the functions that a user writes; np.power of arrays has the same name as that of numbers."""

_NUMBA = {
    **{name: word for name, word in _NEUTRAL.items()
       if name not in _WRITTEN or word.startswith("math.") or hasattr(builtins, word)},
    "ipow": "**", "floordiv": "//", "mod": "%", "shl": "<<", "shr": ">>",
    **{name: f"np.{name}" for name in ROUNDED.values()},
    **{record.name: record.numba_name for record in RECORDS.values() if record.numba_name != SAME},
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text is written. `words` has the operator ("+") or the function ("math.exp") of each operation."""

    name: Target
    meaning: str
    """What the header says of how the text is to be read."""

    words: Mapping[str, str]
    select: Callable[[Expr, Expr, Expr], Expr]
    negation: Callable[[Expr], Expr]
    gather: Callable[[Sequence[Expr], Expr], Expr]
    """How an item is chosen from a table by an index."""

    stands_alone: bool = True
    """It runs outside the user's module: it imports what it uses, and has no names of that module."""

    on_arrays: bool = False
    """A value is an array of lanes, else a number: `x += 1` would write into the caller's."""

    module: str = ""
    """What is imported always."""

    decorator: str = ""
    constants: str = "np"
    """The module of nan and inf."""

    @property
    def spelled(self) -> frozenset[str]:
        return frozenset([*self.words, "library_hypot"])

    def operator(self, opcode: str) -> str:
        """The operator that spells `opcode`, "" when a function does, or nothing."""
        word = self.words.get(opcode, "")
        return "" if word[:1].isalpha() else word


DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (
    Dialect("neutral", "target-neutral: select(p, a, b) is a where p else b, both computed", _NEUTRAL,
            select=lambda cond, then, orelse: Call("select", [cond, then, orelse]),
            negation=lambda operand: Prefix("~", operand),
            gather=lambda items, index: Call("gather", [Call("", items), index]),
            stands_alone=False, constants="math"),
    Dialect("numpy", "runs on NumPy arrays", numpy_spelling.words(),
            select=lambda cond, then, orelse: Call("np.where", [cond, then, orelse]),
            negation=lambda operand: Call("np.logical_not", [operand]),
            gather=lambda items, index: Call("lanes.gather", [Call("", items), index]),
            on_arrays=True, module="np", decorator='@np.errstate(all="ignore")'),
    Dialect("numba", "runs on scalars under numba", _NUMBA,
            select=Ternary,
            negation=lambda operand: Prefix("not ", operand, NOT),
            # an index beyond the table in a lane that is not taken must not raise
            gather=lambda items, index: Call("np.take", [Call("np.array", [Call("", items)]),
                                                         Infix(index, " % ", Word(str(len(items))))]),
            module="numba", decorator='@numba.njit(error_model="numpy")'),
)}


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
