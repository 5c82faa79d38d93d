"""How operations of a kernel are written: operators of Python, functions of NumPy, and the helpers of `array_lanes`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from pyflat.ir.memory import UNSIGNED
from pyflat.ir.nodes import Const, Op, Value
from pyflat.ir.ops import SIGNS
from pyflat.ir.types import BOOL, FLOAT, INT, MEMORY
from pyflat.targets.numpy.spelling import spelling

ATOM = 20
_LEVELS = {"*": 13, "/": 13, "//": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "&": 10, "^": 9, "|": 8}
"""Of operators; of comparisons it is 7."""
OWN = frozenset({"not", "neg", "invert", "rounded", "narrow", "divide", "to_float", "exact_float", "abs", *UNSIGNED})
"""Operations that are written the same way for Python's numbers as for lanes, or by hand."""
_CALL = re.compile(r"[\w.]+\((\{\d\}(, )?)+\)")
Operand = Callable[[Value, int], str]


def spelled(op: Op, operand: Operand, *, lanes: bool) -> tuple[str, int]:
    """An operation of lanes, or of Python's numbers, and how tightly the text binds. Each operand is asked for once."""
    if sign := SIGNS.get(op.opcode):
        level = _LEVELS.get(sign, 7)
        left = level + 1 if level == 7 else level
        number = op.args[1].value if isinstance(op.args[1], Const) and op.opcode == "add" and op.kind is INT else None
        if number is not None and number < 0:
            return f"{operand(op.args[0], left)} - {-number}", level
        return f"{operand(op.args[0], left)} {sign} {operand(op.args[1], level + 1)}", level
    match op.opcode:
        case "index":
            return f"s.inside({operand(op.args[0], 0)}, {operand(op.args[1], 0)}, None)", ATOM
        case "select" if not lanes:
            cond, then, orelse = op.args
            return f"{operand(then, 5)} if {operand(cond, 5)} else {operand(orelse, 4)}", 4
        case "not" if not lanes:
            return f"not {operand(op.args[0], 7)}", 6
        case "to_float" | "exact_float" if not lanes:
            return f"float({operand(op.args[0], 0)})", ATOM
        case "abs" if not lanes:
            return f"abs({operand(op.args[0], 0)})", ATOM
        case "neg" | "invert":
            return f"{'-' if op.opcode == 'neg' else '~'}{operand(op.args[0], 14)}", 14
    return _with_spelling(op, operand)


def _with_spelling(op: Op, operand: Operand) -> tuple[str, int]:
    text = spelling(op)
    is_call = _CALL.fullmatch(text) is not None
    args = [operand(arg, 0 if is_call else ATOM) for arg in op.args]
    more = {"table": repr(op.attr("table"))} if op.opcode == "gather" else {}
    return text.format(*args, **more), ATOM if is_call else 0


def repeats(op: Op) -> bool:
    """Whether the text has an operand twice."""
    if op.opcode in SIGNS or op.opcode in OWN or op.opcode == "select":
        return False
    text = spelling(op)
    return any(text.count(f"{{{number}}}") > 1 for number in range(len(op.args)))


def masked(mask: str, condition: str, *, holds: bool = True) -> str:
    """The lanes of a mask, "None" for all, in which a condition holds, or does not."""
    condition = condition if holds else f"np.logical_not({condition})"
    return condition if mask == "None" else f"{mask} & {condition}"


def as_scalar(text: str, dtype: str) -> str:
    """An element of an array as the number that the IR has."""
    if dtype == "f8":
        return text
    if dtype == "f4":
        return f"np.float64({text})"
    if dtype == "u8":
        return f"uint64_lanes.element({text})"
    return f"bool({text})" if dtype == "b1" else f"int({text})"


def literal(value: Const) -> str:
    number = value.value
    if number is None:
        return {BOOL: "False", INT: "0", FLOAT: "0.0", MEMORY: "None"}[value.kind]
    if isinstance(number, float) and not math.isfinite(number):
        return f"np.float64('{number}')"
    return f"({number!r})" if number < 0 or str(number) == "-0.0" else repr(number)


def joined(parts: Sequence[str]) -> str:
    return ", ".join(parts) + ("," if len(parts) == 1 else "")


ENDLESS = "while True:"
