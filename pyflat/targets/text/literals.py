"""Reading numbers and operators off LibCST expressions."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import libcst as cst

from pyflat.ir import ops
from pyflat.ir.nodes import Const
from pyflat.ir.ops import SIGNS
from pyflat.ir.types import kind_of

MAX_DEPTH = 12
"""Nesting of literal arithmetic that is followed."""

BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**", cst.LeftShift: "<<", cst.RightShift: ">>", cst.BitAnd: "&", cst.BitOr: "|", cst.BitXor: "^",
    cst.AddAssign: "+", cst.SubtractAssign: "-", cst.MultiplyAssign: "*", cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//", cst.ModuloAssign: "%", cst.PowerAssign: "**", cst.LeftShiftAssign: "<<",
    cst.RightShiftAssign: ">>", cst.BitAndAssign: "&", cst.BitOrAssign: "|", cst.BitXorAssign: "^",
}
COMPARE: dict[type[cst.CSTNode], str] = {
    cst.Equal: "==", cst.NotEqual: "!=", cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
}

MIRRORED = {SIGNS[name]: SIGNS[other] for name, other in ops.MIRRORED.items()}
"""`x < y` is `y > x`, for every operand."""

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
}


def dotted(node: cst.BaseExpression) -> list[str] | None:
    match node:
        case cst.Name():
            return [node.value]
        case cst.Attribute(value=cst.Name() as owner):
            return [owner.value, node.attr.value]
        case _:
            return None


def module_constant(node: cst.Attribute) -> float | None:
    """math.pi and the like, numpy's too."""
    path = dotted(node)
    if path is None or path[0] != "math":
        return None
    known = getattr(math, path[1], None)
    return known if isinstance(known, float) else None


def literal_number(node: cst.BaseExpression, depth: int = 0) -> bool | int | float | None:
    """The number that an expression of literals denotes, computed as Python does; None for anything else."""
    if depth > MAX_DEPTH:
        return None
    match node:
        case cst.Integer() | cst.Float():
            return _parse(node.value)
        case cst.Name(value="True" | "False"):
            return node.value == "True"
        case cst.Attribute():
            return module_constant(node)
        case cst.UnaryOperation(operator=cst.Minus()):
            inner = literal_number(node.expression, depth + 1)
            return None if inner is None or isinstance(inner, bool) else -inner
        case cst.BinaryOperation():
            return _computed(node, depth + 1)
        case cst.Call(func=cst.Attribute(value=cst.Name(value="math"), attr=cst.Name(value=name)), args=[only]):
            return _called(name, only, depth + 1)
        case _:
            return None


def _called(name: str, argument: cst.Arg, depth: int) -> float | None:
    """math.sqrt(2.0) and the like."""
    function = getattr(math, name, None)
    number = literal_number(argument.value, depth)
    if function is None or number is None or argument.star or argument.keyword is not None:
        return None
    try:
        result = function(number)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return result if isinstance(result, float) else None


def _computed(node: cst.BinaryOperation, depth: int) -> bool | int | float | None:
    compute = _ARITHMETIC.get(BINARY[type(node.operator)]) if type(node.operator) in BINARY else None
    left = literal_number(node.left, depth) if compute is not None else None
    right = literal_number(node.right, depth) if left is not None else None
    if compute is None or left is None or right is None:
        return None
    try:
        result = compute(left, right)
    except ArithmeticError:
        return None
    return result if isinstance(result, int | float) else None


def _parse(text: str) -> bool | int | float | None:
    value: object = ast.literal_eval(text)
    return value if isinstance(value, bool | int | float) else None


def same_number(number: bool | int | float | None, value: Const) -> bool:
    """Same kind and same bits."""
    return number is not None and kind_of(number) is value.kind and repr(number) == repr(value.value)
