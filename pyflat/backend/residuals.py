"""What folding should have removed: one oracle for each kind of residual.

None of them shares code with the passes. The main one does not know any identity: it runs each operation on edge values
and sees that the result is always the same, or always one of the operands. So a fold that was missed, or lost, shows.

    constant-operation   every operand is a constant, and the value is known
    constant-result      the operation gives the same value whatever its operand is         x * 0 (int), x - x (int)
    identity             the operation gives its operand                                    x * 1, x + -0.0, min(x, x)
    constant-condition   a select with a known condition
    equal-arms           a select of the same value twice
    same-condition       an arm of a select is a select on the same condition
    boolean-select       a select of bools that is one and, or, not
    boolean-tree         a few operations on bools that are always true, always false, or one of the bools
    double-negation      not not x
    repeated             an operation that was made before
    dead                 an operation that nothing uses
    constant-call        a pure opaque call on constants, whose entry says how it is computed
    part-of-pack         a part of a vector that was put together here
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyflat.backend.flat import FlatFunction, Node
from pyflat.errors import refuse
from pyflat.ir.ops import OPERATIONS, Accuracy

_VALUES: dict[str, tuple[Any, ...]] = {
    "b": (False, True),
    "i8": (0, 1, -1, 2, -2, 3, 7, -7, 10, 63, 64, 255, 1 << 31, (1 << 53) + 1, -(1 << 40) + 5, (1 << 63) - 1,
           -(1 << 63)),
    "f8": (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 3.0, 0.1, 1e-5, 1234.5678, -98765.25, 5e-324, -5e-324, 1e308,
           -1e308, 2.0**52 + 0.5, 2.0**63, math.inf, -math.inf, math.nan),
}
_MOST_BOOLS = 4
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Residual:
    """A node that folding should have removed."""

    kind: str
    node: Node
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def fold_residuals(flat: FlatFunction) -> list[Residual]:
    """The nodes that `flatten_fold` should remove, in order; empty after it."""
    found: list[Residual] = []
    used = {node for each in flat.nodes for node in each.inputs} | set(flat.results)
    seen: dict[Any, Node] = {}
    for node in flat.nodes:
        if node.opcode in ("param", "const", "fault"):
            continue
        for oracle in _ORACLES:
            message = oracle(node)
            if message:
                found.append(Residual(oracle.__name__.strip("_").replace("_", "-"), node, message))
                break
        if node.opcode == "call":
            found += _call(flat, node)
        found += _again(node, seen)
        if node not in used and not (node.opcode == "call" and node.attrs["effect"]):
            found.append(Residual("dead", node, f"nothing uses {_show(node)}"))
    return found


def refuse_residuals(flat: FlatFunction) -> None:
    """Raises the FlattenError `flatten/fold-residual` for the first residual."""
    found = fold_residuals(flat)
    if found:
        more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
        raise refuse("flatten/fold-residual", f"{flat.name}: {found[0]}{more}", found[0].node.span)


# --- the oracles


def _constant_operation(node: Node) -> str:
    if node.opcode in ("call", "part", "pack", "fma") or not all(n.opcode == "const" for n in node.inputs):
        return ""
    if OPERATIONS[node.opcode].accuracy not in (Accuracy.EXACT, Accuracy.LIBM):
        return ""
    value = _evaluate(node, [n.attrs["value"] for n in node.inputs])
    if value is None or isinstance(value, float) and math.isnan(value):
        return ""
    return f"{_show(node)} is {value!r}"


def _constant_result(node: Node) -> str:
    outcomes = _outcomes(node)
    if outcomes is None or len(outcomes) < 2:
        return ""
    first = outcomes[0][1]
    return f"{_show(node)} is always {first!r}" if all(_same(first, value) for _, value in outcomes) else ""


def _identity(node: Node) -> str:
    outcomes = _outcomes(node)
    if outcomes is None:
        return ""
    same = all(_same(operand, value) for operand, value in outcomes)
    return f"{_show(node)} is its operand" if same else ""


def _constant_condition(node: Node) -> str:
    known = node.opcode == "select" and node.inputs[0].opcode == "const"
    return f"{_show(node)} has a known condition" if known else ""


def _equal_arms(node: Node) -> str:
    return f"{_show(node)} has equal arms" if node.opcode == "select" and node.inputs[1] is node.inputs[2] else ""


def _same_condition(node: Node) -> str:
    if node.opcode != "select":
        return ""
    inner = [arm for arm in node.inputs[1:] if arm.opcode == "select" and arm.inputs[0] is node.inputs[0]]
    return f"{_show(node)} chooses twice by the same condition" if inner else ""


def _boolean_select(node: Node) -> str:
    known = node.opcode == "select" and node.kind == "b" and any(n.opcode == "const" for n in node.inputs[1:])
    return f"{_show(node)} is boolean algebra" if known else ""


def _double_negation(node: Node) -> str:
    twice = node.opcode == "not" and node.inputs[0].opcode == "not"
    return f"{_show(node)} negates a negation" if twice else ""


def _boolean_tree(node: Node) -> str:
    """The truth table of a few operations above at most four bools."""
    if node.kind != "b" or node.opcode not in ("and", "or", "xor", "not", "eq", "ne"):
        return ""
    leaves: list[Node] = []
    if not _collect_bools(node, leaves, _DEEPEST) or not 1 <= len(leaves) <= _MOST_BOOLS:
        return ""
    rows = [dict(zip(leaves, row, strict=True)) for row in itertools.product((False, True), repeat=len(leaves))]
    table = [_truth(node, row) for row in rows]
    if len(set(table)) == 1:
        return f"{_show(node)} is always {table[0]}"
    for leaf in leaves:
        if all(row[leaf] == value for row, value in zip(rows, table, strict=True)):
            return f"{_show(node)} is {_show(leaf)}"
    return ""


def _part_of_pack(node: Node) -> str:
    return f"{_show(node)} is known" if node.opcode == "part" and node.inputs[0].opcode == "pack" else ""


_ORACLES: tuple[Callable[[Node], str], ...] = (
    _constant_operation, _constant_condition, _equal_arms, _same_condition, _boolean_select, _double_negation,
    _part_of_pack, _constant_result, _identity, _boolean_tree,
)


def _call(flat: FlatFunction, node: Node) -> Iterator[Residual]:
    entry = flat.whitelist[node.attrs["name"]]
    free = entry.pure and not entry.barrier and not entry.guarded and entry.python is not None
    if free and all(n.opcode == "const" for n in node.inputs):
        yield Residual("constant-call", node, f"the call of {entry.name} has constant arguments")


def _again(node: Node, seen: dict[Any, Node]) -> Iterator[Residual]:
    if node.opcode == "call" and node.attrs["barrier"]:
        return
    first = seen.setdefault((node.opcode, node.inputs, repr(sorted(node.attrs.items())), node.kind), node)
    if first is not node:
        yield Residual("repeated", node, f"{_show(node)} was computed before")


# --- running one operation


def _outcomes(node: Node) -> list[tuple[Any, Any]] | None:
    """Operand and result for many values of the one operand that is not a constant; None where there is no such one, or
    where the operation may raise or is no operation on numbers."""
    row = OPERATIONS[node.opcode]
    if node.opcode in ("call", "part", "pack", "dot", "hadd") or row.accuracy is not Accuracy.EXACT:
        return None
    operands = {n for n in node.inputs if n.opcode != "const"}
    if len(operands) != 1 or (operand := operands.pop()).kind not in _VALUES:
        return None
    found = []
    size = len(node.attrs["table"]) if node.opcode == "gather" else 0
    values = list(range(-size, size)) if size else list(_candidates(operand.kind, node.inputs))
    for value in values:
        outcome = _evaluate(node, [value if n is operand else n.attrs["value"] for n in node.inputs])
        if outcome is not None:
            found.append((value, outcome))
    return found if len(found) > len(values) // 3 else None


def _candidates(kind: str, inputs: Sequence[Node]) -> Iterator[Any]:
    """Edge values, and the neighbours of the constants."""
    yield from _VALUES[kind]
    for node in inputs:
        if node.opcode == "const" and node.kind == kind and kind != "b":
            value = node.attrs["value"]
            if kind == "i8":
                yield from (v for v in (value, value - 1, value + 1, -value) if -(1 << 63) <= v < 1 << 63)
            else:
                yield from (value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf), -value)


def _evaluate(node: Node, values: Sequence[Any]) -> Any:
    """The value in Python; None where Python raises or an int leaves 64 bits."""
    attrs = {"table": node.attrs["table"]} if node.opcode == "gather" else {}
    try:
        value = OPERATIONS[node.opcode].python(*values, **attrs)
    except (ArithmeticError, ValueError, IndexError):
        return None
    return None if node.kind == "i8" and not -(1 << 63) <= value < 1 << 63 else value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b and math.copysign(1.0, a) == math.copysign(1.0, b) or a != a and b != b
    return type(a) is type(b) and bool(a == b)


def _collect_bools(node: Node, leaves: list[Node], depth: int) -> bool:
    for n in node.inputs:
        if n.kind != "b":
            return False
        if depth > 1 and n.opcode in ("and", "or", "xor", "not"):
            _collect_bools(n, leaves, depth - 1)
        elif n not in leaves and n.opcode != "const":
            leaves.append(n)
    return True


def _truth(node: Node, row: dict[Node, bool]) -> bool:
    if node in row:
        return row[node]
    if node.opcode == "const":
        return bool(node.attrs["value"])
    return bool(OPERATIONS[node.opcode].python(*[_truth(n, row) for n in node.inputs]))


def _show(node: Node) -> str:
    if node.opcode == "const":
        return repr(node.attrs["value"])
    if node.opcode == "param":
        return node.name
    inputs = (n.name or (_show(n) if n.opcode == "const" else f"%{n.index}") for n in node.inputs)
    return f"{node.opcode}({', '.join(inputs)})"
