"""Expressions of the printed text: small trees with holes for IR values, and how they are laid out on lines.

An expression is built once for each printed operation, either from the user's own source or from a spelling
table. A `Hole` stands for an IR value; what fills it (a name, a literal, another expression) is decided later,
so that the same tree serves for counting uses, for choosing names and for printing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyflat.ir.nodes import Const, Value

ATOM, POWER, UNARY, PRODUCT, SUM, SHIFT = 16, 14, 13, 12, 11, 10
AND, XOR, OR, COMPARISON, NOT, TERNARY = 9, 8, 7, 6, 5, 2
"""Python's binding strengths, strongest first."""

INFIX = {"**": POWER, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "+": SUM, "-": SUM, "<<": SHIFT,
         ">>": SHIFT, "&": AND, "^": XOR, "|": OR, "==": COMPARISON, "!=": COMPARISON, "<": COMPARISON,
         "<=": COMPARISON, ">": COMPARISON, ">=": COMPARISON}
ASSOCIATIVE = frozenset({"&", "^", "|"})
"""Operators that give the same bits in either grouping, so that a right operand needs no parentheses."""
LINE = 100
STEP = "    "


@dataclass(slots=True, eq=False)
class Hole:
    """An IR value; `name` is the user's name for it at this place in the source, "" when the text is ours."""

    value: Value
    name: str = ""


@dataclass(slots=True, eq=False)
class Word:
    """Text that stands for itself: a literal, a name."""

    text: str
    strength: int = ATOM


@dataclass(slots=True, eq=False)
class Global:
    """A captured constant, printed by its name and defined above the function."""

    name: str
    value: Const


@dataclass(slots=True, eq=False)
class Infix:
    left: Expr
    sign: str
    right: Expr

    @property
    def strength(self) -> int:
        return INFIX[self.sign.strip()]


@dataclass(slots=True, eq=False)
class Prefix:
    sign: str
    operand: Expr
    strength: int = UNARY


@dataclass(slots=True, eq=False)
class Call:
    """`head` is the function's text, () stands for a tuple display; `tail` is what is done with the result ("[1]")."""

    head: str
    args: Sequence[Expr]
    keywords: Sequence[str] = ()
    tail: str = ""


@dataclass(slots=True, eq=False)
class Ternary:
    cond: Expr
    then: Expr
    orelse: Expr


@dataclass(slots=True, eq=False)
class Paren:
    """Parentheses that the user wrote."""

    inner: Expr


Expr = Hole | Word | Global | Infix | Prefix | Call | Ternary | Paren


def children(expr: Expr) -> Sequence[Expr]:
    match expr:
        case Infix():
            return expr.left, expr.right
        case Prefix():
            return (expr.operand,)
        case Call():
            return expr.args
        case Ternary():
            return expr.cond, expr.then, expr.orelse
        case Paren():
            return (expr.inner,)
        case _:
            return ()


def parts(expr: Expr) -> Iterator[Expr]:
    """Every part of the expression, itself included, in no particular order."""
    todo = [expr]
    while todo:
        part = todo.pop()
        yield part
        todo += children(part)


def holes(expr: Expr) -> list[Hole]:
    return [part for part in parts(expr) if isinstance(part, Hole)]


def depth(expr: Expr) -> int:
    """The nesting of the tree itself; at most as deep as the source, which the matcher bounds."""
    inner = children(expr)
    return 1 + max(map(depth, inner)) if inner else 0


def own_width(expr: Expr) -> int:
    """The characters of the expression without its holes, roughly."""
    width = 0
    for part in parts(expr):
        match part:
            case Word():
                width += len(part.text)
            case Global():
                width += len(part.name)
            case Infix() | Prefix():
                width += len(part.sign) + 1
            case Call():
                width += len(part.head) + 2 * len(part.args)
            case Ternary():
                width += 10
            case Paren():
                width += 2
            case Hole():
                pass
    return width


def _rebuilt(expr: Expr, step: Callable[[Expr], Expr]) -> Expr:
    """The expression with `step` of its children."""
    match expr:
        case Infix():
            return Infix(step(expr.left), expr.sign, step(expr.right))
        case Prefix():
            return Prefix(expr.sign, step(expr.operand), expr.strength)
        case Call():
            return Call(expr.head, list(map(step, expr.args)), expr.keywords, expr.tail)
        case Ternary():
            return Ternary(step(expr.cond), step(expr.then), step(expr.orelse))
        case Paren():
            return Paren(step(expr.inner))
        case _:
            return expr


def fill(expr: Expr, filling: Callable[[Hole], Expr]) -> Expr:
    """The expression with every hole replaced."""
    return filling(expr) if isinstance(expr, Hole) else _rebuilt(expr, lambda part: fill(part, filling))


def under_other_names(expr: Expr, aliases: Mapping[str, str]) -> Expr:
    """The expression with its modules and functions called by their aliases; holes are left alone."""

    def other(text: str) -> str:
        root, dot, rest = text.partition(".")
        return aliases.get(root, root) + dot + rest

    match expr:
        case Word() if not expr.text[0].isdigit():
            return Word(other(expr.text), expr.strength)
        case Call():
            expr = Call(other(expr.head), expr.args, expr.keywords, expr.tail)
    return _rebuilt(expr, lambda part: under_other_names(part, aliases))


def strength(expr: Expr) -> int:
    match expr:
        case Infix() | Word() | Prefix():
            return expr.strength
        case Ternary():
            return TERNARY
        case _:
            return ATOM


def _guarded(expr: Expr, least: int) -> str:
    text = flat(expr)
    return f"({text})" if strength(expr) < least else text


def _operands(expr: Infix) -> tuple[int, int]:
    """The strengths that the operands need to stand without parentheses."""
    own = expr.strength
    if own == COMPARISON:
        return own + 1, own + 1
    if own == POWER:
        return ATOM, UNARY
    return own, own if expr.sign.strip() in ASSOCIATIVE else own + 1


def flat(expr: Expr) -> str:
    """The expression on one line; parentheses only where the grouping needs them or the user wrote them."""
    match expr:
        case Word():
            return expr.text
        case Global():
            return expr.name
        case Infix():
            left, right = _operands(expr)
            return f"{_guarded(expr.left, left)}{expr.sign}{_guarded(expr.right, right)}"
        case Prefix():
            return expr.sign + _guarded(expr.operand, expr.strength)
        case Call():
            return f"{expr.head}({', '.join(_arguments(expr))}{_comma(expr)}){expr.tail}"
        case Ternary():
            cond, then = (_guarded(e, TERNARY + 1) for e in (expr.cond, expr.then))
            return f"{then} if {cond} else {_guarded(expr.orelse, TERNARY)}"
        case Paren():
            return f"({flat(expr.inner)})"
        case Hole():
            raise AssertionError("an unfilled hole reached the text")


def _arguments(call: Call) -> list[str]:
    texts = [_guarded(a, 0 if call.head else TERNARY + 1) for a in call.args]
    return [f"{key}={text}" if key else text for key, text in zip(_keys(call), texts, strict=True)]


def _keys(call: Call) -> Sequence[str]:
    return call.keywords or [""] * len(call.args)


def _comma(call: Call) -> str:
    return "," if not call.head and len(call.args) == 1 else ""


TABLE = 16
"""A tuple of more items is a table of constants: as many on a line as fit."""


def layout(prefix: str, expr: Expr, indent: str, suffix: str = "") -> list[str]:
    """Lines for `prefix expr suffix`, broken at arguments and operators when one line would be too long."""
    text = flat(expr)
    if len(indent) + len(prefix) + len(text) + len(suffix) <= LINE:
        return [indent + prefix + text + suffix]
    match expr:
        case Call(head="") if len(expr.args) > TABLE and not any(" " in flat(arg) for arg in expr.args):
            items = textwrap.wrap(", ".join(map(flat, expr.args)) + ",", LINE - len(indent + STEP))
            return [f"{indent}{prefix}(", *(indent + STEP + line for line in items), f"{indent}){suffix}"]
        case Call() if expr.args:
            lines = [f"{indent}{prefix}{expr.head}("]
            for key, arg in zip(_keys(expr), expr.args, strict=True):
                lines += _argument_lines(key, arg, indent + STEP)
            return [*lines, f"{indent}){expr.tail}{suffix}"]
        case Infix(right=Call(args=[_, *_])) if _fits(expr, indent + prefix):
            return layout(f"{prefix}{_guarded(expr.left, _operands(expr)[0])}{expr.sign}", expr.right, indent, suffix)
        case Infix() | Ternary():
            return [f"{indent}{prefix}(", *_broken(expr, indent + STEP), f"{indent}){suffix}"]
        case Paren(inner=Infix() | Ternary() as inner):
            return [f"{indent}{prefix}(", *_broken(inner, indent + STEP), f"{indent}){suffix}"]
        case _:
            return [indent + prefix + text + suffix]


def _fits(expr: Infix, before: str) -> bool:
    """What stands before the right operand's arguments is short, so that only they go to lines of their own."""
    head = expr.right.head if isinstance(expr.right, Call) else ""
    return head != "" and len(before) + len(flat(expr.left)) + len(expr.sign) + len(head) <= LINE // 2


def _argument_lines(key: str, arg: Expr, indent: str) -> list[str]:
    if key or len(indent) + len(flat(arg)) < LINE or not isinstance(arg, Infix):
        return layout(f"{key}=" if key else "", arg, indent, ",")
    lines = _broken(arg, indent)
    return [*lines[:-1], lines[-1] + ","]


def _broken(expr: Expr, indent: str) -> list[str]:
    """An expression inside parentheses: one operand of its weakest operators per line."""
    if isinstance(expr, Ternary):
        return [*_operand_lines("", expr.then, TERNARY + 1, indent),
                *_operand_lines("if ", expr.cond, TERNARY + 1, indent),
                *_operand_lines("else ", expr.orelse, TERNARY, indent)]
    spine: list[Infix] = []
    first: Expr = expr
    while isinstance(first, Infix) and (not spine or first.strength == spine[0].strength not in (COMPARISON, POWER)):
        spine.append(first)
        first = first.left
    lines = _operand_lines("", first, _operands(spine[-1])[0], indent)
    for step in reversed(spine):
        lines += _operand_lines(step.sign.strip() + " ", step.right, _operands(step)[1], indent)
    return lines


def _operand_lines(prefix: str, expr: Expr, least: int, indent: str) -> list[str]:
    if strength(expr) < least:
        text = f"({flat(expr)})"
        if len(indent) + len(prefix) + len(text) <= LINE:
            return [indent + prefix + text]
        return [f"{indent}{prefix}(", *_broken(expr, indent + STEP), f"{indent})"]
    return layout(prefix, expr, indent)
