"""Is the whole captured function its own twin? Decided on the tree and the kinds of its names.

The function may have assignments and one return, arithmetic, bit operations, single comparisons, tuples. Every
operator must be native for its operand kinds (`ir.ops`); int and float may meet under + - * / // %, where NumPy
converts as Python does. Anything else, and anything whose kind is not known, says no, and the function is printed
statement by statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from pyflat.ir.ops import PRIMITIVES, SIGNS
from pyflat.ir.shape import Fixed, Leaf, Shape
from pyflat.ir.types import BOOL, EXACT_INT, FLOAT, INT, Kind, join_kinds, kind_of
from pyflat.targets.text.literals import BINARY, COMPARE, literal_number, module_constant
from pyflat.targets.text.source import parameters_of
from pyflat.targets.text.spelling import Dialect

if TYPE_CHECKING:
    from pyflat.frontend.result import Specialised

_OPCODES = {sign: name for name, sign in SIGNS.items()}


class _NotNativeError(Exception):
    """Some part is not its own twin."""


@dataclass(slots=True)
class _Known:
    """What an expression holds: the kind of a lane (`lane`), or of a Python number."""

    kind: Kind
    lane: bool = True
    small: bool = True
    """A Python int that float64 holds exactly."""


@dataclass(slots=True)
class _ExprReader:
    dialect: Dialect
    names: dict[str, _Known] = field(default_factory=dict)
    outside: Mapping[str, object] = field(default_factory=dict)
    seen: frozenset[str] = frozenset()
    free: dict[str, object] = field(default_factory=dict)

    def value(self, node: cst.BaseExpression) -> _Known:
        number = literal_number(node) if _is_literal(node) else None
        if number is not None:
            return _number(number)
        match node:
            case cst.Name():
                return self._name(node.value)
            case cst.UnaryOperation(operator=cst.Minus() | cst.Plus() | cst.BitInvert() as operator):
                inner = self.value(node.expression)
                wanted = (INT,) if isinstance(operator, cst.BitInvert) else (INT, FLOAT)
                if inner.kind not in wanted:
                    raise _NotNativeError
                return inner
            case cst.BinaryOperation():
                return self._chain(node)
            case cst.Attribute() if module_constant(node) is not None and "math" not in self.names:
                if self.dialect.stands_alone and f"math.{node.attr.value}" not in self.seen:
                    raise _NotNativeError  # what the user calls math may be something else
                return _Known(FLOAT, lane=False)
            case cst.Comparison(comparisons=[part]) if type(part.operator) in COMPARE:
                left, right = self.value(node.left), self.value(part.comparator)
                return self._comparison(left, right)
            case _:
                raise _NotNativeError

    def _chain(self, node: cst.BinaryOperation) -> _Known:
        """a + b + c + ...: as long as it likes."""
        spine = [node]
        while isinstance(spine[-1].left, cst.BinaryOperation):
            spine.append(spine[-1].left)
        result = self.value(spine[-1].left)
        for step in reversed(spine):
            sign, right = BINARY.get(type(step.operator), ""), self.value(step.right)
            result = self._power(result, right, step.right) if sign == "**" else self._binary(sign, result, right)
        return result

    def _power(self, left: _Known, right: _Known, exponent: cst.BaseExpression) -> _Known:
        """`**` is Python's in neutral text only. The kind of a power of ints depends on the exponent's sign."""
        counts = type(number := literal_number(exponent)) is int and number >= 0
        known = FLOAT in (left.kind, right.kind) or (left.kind is INT and counts)
        if self.dialect.stands_alone or not known or not (left.lane or right.lane):
            raise _NotNativeError
        if BOOL in (left.kind, right.kind) or not (left.small and right.small):
            raise _NotNativeError
        return _Known(join_kinds(left.kind, right.kind))

    def _name(self, name: str) -> _Known:
        if name in self.names:
            return self.names[name]
        if name in ("True", "False"):
            return _number(name == "True")
        value = self.outside.get(name)
        if not isinstance(value, bool | int | float) or kind_of(value) is None:
            raise _NotNativeError
        self.free[name] = value
        return _number(value)

    def _binary(self, sign: str, left: _Known, right: _Known) -> _Known:
        kinds = (left.kind, right.kind)
        joined = join_kinds(*kinds)
        if not left.lane and not right.lane and sign in ("+", "-", "*", "/"):  # Python's own arithmetic, there as here
            return _Known(FLOAT if sign == "/" else join_kinds(joined, INT), lane=False, small=False)
        if sign in ("&", "|", "^", "<<", ">>"):
            if kinds in PRIMITIVES[_OPCODES[sign]].native:
                return _Known(joined)
        elif sign in ("+", "-", "*", "/", "//", "%") and left.small and right.small and BOOL not in kinds:
            return _Known(FLOAT if sign == "/" else joined)
        raise _NotNativeError

    def _comparison(self, left: _Known, right: _Known) -> _Known:
        literal = any(not side.lane and side.kind is INT and side.small for side in (left, right))
        exact = left.kind is right.kind or ({left.kind, right.kind} == {INT, FLOAT} and literal)
        if not exact or not (left.lane or right.lane):
            raise _NotNativeError
        return _Known(BOOL)

    def statement(self, node: cst.BaseSmallStatement) -> None:
        match node:
            case cst.Pass():
                pass
            case cst.Assign():
                for target in node.targets:
                    self._assign(target.target, node.value)
            case cst.AnnAssign(target=cst.Name() as target, value=cst.BaseExpression() as value):
                self._assign(target, value)
            case cst.AugAssign(target=cst.Name() as target) if not self.dialect.on_arrays:  # it would write
                sign = BINARY.get(type(node.operator), "")
                self.names[target.value] = self._binary(sign, self._name(target.value), self.value(node.value))
            case cst.Return():
                if node.value is not None:
                    self._elements(node.value)
            case _:
                raise _NotNativeError

    def _assign(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        match target, value:
            case cst.Name(), _:
                self.names[target.value] = self.value(value)
            case cst.Tuple(), cst.Tuple() if len(target.elements) == len(value.elements):
                known = [self.value(element.value) for element in value.elements]
                for element, kind in zip(target.elements, known, strict=True):
                    if not isinstance(element.value, cst.Name):
                        raise _NotNativeError
                    self.names[element.value.value] = kind
            case _:
                raise _NotNativeError

    def _elements(self, value: cst.BaseExpression) -> None:
        if not isinstance(value, cst.Tuple):
            self.value(value)
            return
        for element in value.elements:
            if not isinstance(element, cst.Element):
                raise _NotNativeError
            self._elements(element.value)


def _is_literal(node: cst.BaseExpression) -> bool:
    """A number, or two of them with an operator between: nothing that names a module."""
    match node:
        case cst.Integer() | cst.Float():
            return True
        case cst.UnaryOperation():
            return _is_literal(node.expression)
        case cst.BinaryOperation():
            return isinstance(node.right, cst.Integer | cst.Float) and isinstance(node.left, cst.Integer | cst.Float)
        case _:
            return False


def _number(number: bool | int | float) -> _Known:
    kind = kind_of(number)
    if kind is None:
        raise _NotNativeError
    return _Known(kind, lane=False, small=kind is not INT or abs(number) <= EXACT_INT)


def is_straight(tree: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether the body has no compound statement: the first thing to look at, because it costs nothing."""
    if isinstance(tree, cst.Lambda) or isinstance(tree.body, cst.SimpleStatementSuite):
        return True
    return all(isinstance(line, cst.SimpleStatementLine) for line in tree.body.body)


def free_names(spec: Specialised, dialect: Dialect, outside: Mapping[str, object],
               seen: frozenset[str]) -> dict[str, object] | None:
    """None if the function is not its own twin, otherwise the captured numbers that its text mentions.

    `outside` has the values of captured names, `seen` the constants of `math` that were found to be those.
    """
    tree = spec.captured.tree
    if not isinstance(tree, cst.FunctionDef) or tree.asynchronous is not None:
        return None
    reader = _ExprReader(dialect, outside=outside, seen=seen)
    try:
        for param in parameters_of(tree):
            if dialect.stands_alone and not _literal_default(param):
                return None
            reader.names[param.name.value] = _parameter(spec.arguments.get(param.name.value))
        statements = list(_small_statements(tree))
        if any(isinstance(s, cst.Return) for s in statements[:-1]):
            return None
        for statement in statements:
            reader.statement(statement)
    except _NotNativeError:
        return None
    return reader.free


def _literal_default(param: cst.Param) -> bool:
    """The text stands alone: no default that is a name of the user's module."""
    default = param.default
    if default is None or isinstance(default, cst.SimpleString):
        return True
    named = isinstance(default, cst.Name) and default.value in ("None", "True", "False")
    return named or (not isinstance(default, cst.Attribute) and literal_number(default) is not None)


def _parameter(shape: Shape | None) -> _Known:
    match shape:
        case Leaf():
            return _Known(shape.kind)
        case Fixed(value=bool() | int() | float() as number):
            return _number(number)
        case _:
            raise _NotNativeError


def _small_statements(tree: cst.FunctionDef) -> list[cst.BaseSmallStatement]:
    """All statements of a body without compound statements, the docstring left out."""
    if isinstance(tree.body, cst.SimpleStatementSuite):
        return list(tree.body.body)
    found: list[cst.BaseSmallStatement] = []
    for line in tree.body.body:
        if not isinstance(line, cst.SimpleStatementLine):
            raise _NotNativeError
        found += line.body
    documented = tree.get_docstring(clean=False) is not None
    return found[1:] if documented else found
