"""Source matching: the user's own text for an operation, wherever it still denotes the operation.

`SourceMatcher.expression(node, value)` walks a LibCST expression and an IR value side by side. Where the tree's
operator, literals and calls agree with the operation, the result has the user's spacing, parentheses and literal
spelling; a sub-expression that does not agree becomes a hole for its IR value. A name always becomes a hole (marked
with the name): what it prints as is the name that the value has in the text. Duplicates that the flat form
shares are written out again, as the user did.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst

from pyflat.ir.nodes import Const, Op, Value, same_value
from pyflat.ir.ops import COMPARISONS, OPERATIONS, PRIMITIVES, SIGNS
from pyflat.ir.types import EXACT_INT, FLOAT, Kind
from pyflat.targets.text.expr import ATOM, INFIX, UNARY, Call, Expr, Global, Hole, Infix, Paren, Prefix, Word, parts
from pyflat.targets.text.literals import BINARY, COMPARE, MIRRORED, dotted, literal_number, same_number
from pyflat.targets.text.spelling import Dialect, calls, function_name, keeps_operator

MAX_DEPTH = 12
"""Source nesting that is followed in one expression; what is deeper becomes a hole."""

PREFIX: dict[type[cst.CSTNode], str] = {cst.Minus: "-", cst.BitInvert: "~"}
_PROMOTED = {name for name in SIGNS if PRIMITIVES[name].result_kind((FLOAT, FLOAT)) is FLOAT}
"""Operators under which NumPy converts an int lane or literal to float as Python does."""

class SourceMatcher:
    """Matches trees of one printing; `taken` are the names that locals and parameters have in the text."""

    def __init__(self, module: cst.Module, dialect: Dialect, taken: Collection[str], locals_of_root: Collection[str]):
        self.module = module
        self.dialect = dialect
        self.taken = taken
        self.locals_of_root = locals_of_root
        self.constants: dict[str, Const] = {}
        self._signs: dict[cst.CSTNode, str] = {}
        self._literals: dict[cst.CSTNode, Expr] = {}

    def operation(self, op: Op) -> Expr | None:
        """The source text of `op`, None when it has none that still denotes it."""
        if op.origin is None or op.origin.node is None:
            return self._augmented(op) if op.statement is not None else None
        if isinstance(op.origin.node, cst.AugAssign):
            return self._augment(op.origin.node, op)
        return self.expression(op.origin.node, op, op.origin.frame)

    def _augmented(self, op: Op) -> Expr | None:
        node = op.statement.node if op.statement is not None else None
        return self._augment(node, op) if isinstance(node, cst.AugAssign) else None

    def _augment(self, node: cst.AugAssign, op: Op) -> Expr | None:
        """`x += y` as `x + y`."""
        if not isinstance(node.target, cst.Name) or not self._same_operator(BINARY[type(node.operator)], op, 2):
            return None
        nodes = (node.target, node.value)
        left, right = self._operands(op, nodes, op.args, op.origin.frame if op.origin else 0, 0)
        return Infix(left, f" {BINARY[type(node.operator)]} ", right)

    def expression(self, node: cst.BaseExpression, value: Value, frame: int, depth: int = 0) -> Expr | None:
        """The text of `node` without its own parentheses if it still denotes `value`."""
        if depth > MAX_DEPTH or not isinstance(value, Op):
            return None
        match node:
            case cst.BinaryOperation():
                if not self._same_operator(BINARY.get(type(node.operator), ""), value, 2):
                    return None
                left, right = self._operands(value, (node.left, node.right), value.args, frame, depth)
                return Infix(left, self._sign(node.operator), right)
            case cst.Comparison(comparisons=[target]):
                return self._comparison(node, target, value, frame, depth)
            case cst.UnaryOperation():
                sign = PREFIX.get(type(node.operator), "")
                if not self._same_operator(sign, value, 1):
                    return None
                return Prefix(sign, self.operand(node.expression, value.args[0], frame, depth + 1))
            case cst.Call():
                return self._call(node, value, frame, depth)
            case _:
                return None

    def _comparison(self, node: cst.Comparison, target: cst.ComparisonTarget, value: Op, frame: int,
                    depth: int) -> Expr | None:
        """`x > y` for x > y and for y < x."""
        sign = COMPARE.get(type(target.operator), "")
        first, second = value.args if len(value.args) == 2 else (value, value)
        if self._same_operator(sign, value, 2):
            pair = (first, second)
        elif self._same_operator(MIRRORED.get(sign, ""), value, 2):
            pair = (second, first)
        else:
            return None
        left, right = self._operands(value, (node.left, target.comparator), pair, frame, depth)
        return Infix(left, self._sign(target.operator), right)

    def operand(self, node: cst.BaseExpression, value: Value, frame: int, depth: int) -> Expr:
        """`node` as the text of `value` where they agree, otherwise a hole."""
        if isinstance(value, Const):
            return self._constant(node, value, frame)
        if isinstance(node, cst.Name):
            return Hole(value, node.value)
        found = self.expression(node, value, frame, depth)
        if found is None:
            return Hole(value)
        return Paren(found) if node.lpar else found

    def _same_operator(self, sign: str, op: Op, arity: int) -> bool:
        """The operation is what `sign` computes on lanes (two literals would be Python's own arithmetic)."""
        return (sign != "" and len(op.args) == arity and OPERATIONS[op.opcode].operator == sign
                and keeps_operator(op, self.dialect) and not all(isinstance(a, Const) for a in op.args))

    def _operands(self, op: Op, nodes: tuple[cst.BaseExpression, cst.BaseExpression], values: Sequence[Value],
                  frame: int, depth: int) -> tuple[Expr, Expr]:
        """Both operands. At most one may be an int in the text where the operation is on floats (except `/`)."""
        first, second = values
        left, right = (self._promoted(op, n, v, frame, depth) for n, v in zip(nodes, values, strict=True))
        if left is not None and right is not None and op.opcode != "truediv":
            return (Hole(first), right) if isinstance(first, Const) else (left, Hole(second))
        return (left or self.operand(nodes[0], first, frame, depth + 1),
                right or self.operand(nodes[1], second, frame, depth + 1))

    def _promoted(self, op: Op, node: cst.BaseExpression, value: Value, frame: int, depth: int) -> Expr | None:
        """The text of an operand that is an int (or bool) in the source and is converted by the operator itself."""
        match value:
            case Const(kind=Kind.FLOAT, value=float(number)) if self._promotes(op) or op.opcode in COMPARISONS:
                written = literal_number(node)
                same = type(written) is int and abs(written) <= EXACT_INT and repr(float(written)) == repr(number)
                return self._source_word(node) if same else None
            case Op(opcode="to_float" | "exact_float" | "to_int", args=(inner,)) if self._promotes(op):
                path = dotted(node.func) if isinstance(node, cst.Call) else None
                explicit = path is not None and path[-1] in calls(value.opcode)
                if explicit or inner.kind is FLOAT or isinstance(inner, Const):
                    return None
                return self.operand(node, inner, frame, depth + 1)
            case _:
                return None

    def _promotes(self, op: Op) -> bool:
        """Neutral text is Python; under numba the power of a float and an int is another function."""
        return op.opcode in _PROMOTED or (op.opcode == "pow" and not self.dialect.stands_alone)

    def _constant(self, node: cst.BaseExpression, value: Const, frame: int) -> Expr:
        if value.value is None:
            return Hole(value)
        if isinstance(node, cst.Name) and node.value not in ("True", "False"):
            return self._captured(node.value, value, frame)
        if not same_number(literal_number(node), value):
            return Hole(value)
        found = self._source_word(node)
        hidden = "math" in self.taken and any("math." in part.text for part in parts(found) if isinstance(part, Word))
        return Hole(value) if hidden else found

    def _captured(self, name: str, value: Const, frame: int) -> Expr:
        """A name from outside that holds a number; names of inlined frames only if they look like constants."""
        local = name in self.locals_of_root if frame == 0 else not name.isupper()
        if local or name in self.taken or self.constants.setdefault(name, value).key != value.key:
            return Hole(value, name if frame == 0 else "")
        return Global(name, value)

    def _source_word(self, node: cst.BaseExpression) -> Expr:
        if node not in self._literals:
            self._literals[node] = self._word(node)
        return self._literals[node]

    def _word(self, node: cst.BaseExpression) -> Expr:
        bare = node.with_changes(lpar=(), rpar=())
        text = self.module.code_for_node(bare)
        match node:
            case cst.BinaryOperation():
                strength = INFIX[BINARY[type(node.operator)]]
            case cst.UnaryOperation():
                strength = UNARY
            case _:
                strength = ATOM
        if "\n" in text:
            text, strength = f"({text})", ATOM
        return Paren(Word(text, strength)) if node.lpar else Word(text, strength)

    def _call(self, node: cst.Call, value: Op, frame: int, depth: int) -> Expr | None:
        """A call of a mathematical function keeps its text where functions are not spelled otherwise."""
        path = dotted(node.func)
        if path is None or any(a.star or a.keyword is not None for a in node.args):
            return None
        nodes = [a.value for a in node.args]
        if path in (["max"], ["min"]):
            return self._extreme(path[0], nodes, value, frame, depth)
        known = path[-1] in calls(value.opcode) and len(nodes) == len(value.args)
        if not known or all(isinstance(a, Const) for a in value.args) or (
                self.dialect.stands_alone and keeps_operator(value, self.dialect)):
            return None
        if not self.dialect.stands_alone and path[0] in self.taken:
            return None
        operands = [self.operand(n, v, frame, depth + 1) for n, v in zip(nodes, value.args, strict=True)]
        return Call(function_name(value, self.dialect) if self.dialect.stands_alone else ".".join(path), operands)

    def _extreme(self, name: str, nodes: list[cst.BaseExpression], value: Value, frame: int, depth: int) -> Expr | None:
        """max(a, b, c) where the value still is the chain of comparisons and selects that Python's max computes."""
        if self.dialect.stands_alone or name in self.taken:
            return None
        values: list[Value] = []
        for _ in nodes[1:]:
            step = _extreme_step(name, value)
            if step is None:
                return None
            last, value = step
            values.append(last)
        values.append(value)
        if len(nodes) < 2:
            return None
        pairs = zip(nodes, reversed(values), strict=True)
        return Call(name, [self.operand(n, v, frame, depth + 1) for n, v in pairs])

    def _sign(self, operator: cst.CSTNode) -> str:
        """The operator with the user's spacing; a line break in it becomes a space."""
        text = self._signs.get(operator)
        if text is None:
            text = self.module.code_for_node(operator)
            if "\n" in text:
                text = f" {_bare_sign(operator)} "
            self._signs[operator] = text
        return text


def _bare_sign(operator: cst.CSTNode) -> str:
    return BINARY.get(type(operator)) or COMPARE[type(operator)]


def _extreme_step(name: str, value: Value) -> tuple[Value, Value] | None:
    """(last argument, the extreme of those before it) of `last if last > before else before`."""
    if not isinstance(value, Op) or value.opcode != "select" or not isinstance(value.args[0], Op):
        return None
    cond, last, before = value.args
    assert isinstance(cond, Op)
    forward, backward = ("gt", "lt") if name == "max" else ("lt", "gt")
    asks = {forward: (last, before), backward: (before, last)}.get(cond.opcode)
    same = asks is not None and all(map(same_value, cond.args, asks))
    return (last, before) if same else None
