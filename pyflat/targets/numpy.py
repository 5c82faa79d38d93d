"""The NumPy way out: straight-line array operations over blocks of lanes.

`spelling` is the table of how each operation is written with NumPy; the text printer uses it too. `compile` makes an
engine from a *fused* flat function (no `fault` operations, the last result is the suspect bit): one line per
operation, run on blocks that fit into the cache, a temporary deleted after its last use.

    c0 = np.float64(2.0)
    def block(a0, a1):                        a0 = array([1., 2.]), a1 = float64(0.5)
        t0 = a0 < c0
        t1 = a0 * a1
        m0 = bits(t0)
        t2 = choose_float(m0, t1, c0)
        del t0, m0, t1
        return t2,

A select is written with bit operations: `np.where` branches at every lane, which costs four times as much where the
condition is hard to predict.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyflat import lanes as lane_functions
from pyflat.errors import InternalError
from pyflat.ir.liveness import last_uses, live_ops
from pyflat.ir.nodes import Const, Function, Op, Value
from pyflat.ir.ops import NUMPY_BINARY, NUMPY_UNARY, PRIMITIVES, Accuracy
from pyflat.ir.types import BOOL, FLOAT, INT, Kind
from pyflat.libm import saved_status

BLOCK = 16_384
"""Lanes computed at a time: a few temporaries of this size stay in the cache."""

Lane = np.ndarray | np.generic

DTYPES: dict[Kind, type[np.generic]] = {BOOL: np.bool_, INT: np.int64, FLOAT: np.float64}

_SPELLINGS: dict[str, str] = {
    **{name: f"{{0}} {sign} {{1}}" for name, sign in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"), ("mod", "%"), ("and", "&"),
        ("or", "|"), ("xor", "^"), ("shl", "<<"), ("shr", ">>"), ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="),
        ("gt", ">"), ("ge", ">="))},
    "neg": "-{0}", "invert": "~{0}", "not": "np.logical_not({0})", "abs": "abs({0})",
    "select": "np.where({0}, {1}, {2})",
    "to_float": "lanes.to_float({0})", "exact_float": "lanes.to_float({0})", "to_int": "lanes.to_int({0})",
    "floor_int": "lanes.floor_int({0})", "ceil_int": "lanes.ceil_int({0})", "round_int": "lanes.round_int({0})",
    **{name: f"np.{name}({{0}})" for name in ("floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "sqrt")},
    **{name: f"np.{name}({{0}}, {{1}})" for name in ("copysign", "fmod", "nextafter")},
    "remainder": "lanes.remainder({0}, {1})", "ldexp": "lanes.ldexp({0}, {1})", "ipow": "lanes.ipow({0}, {1})",
    "round_digits": "lanes.round_digits({0}, {1})", "gather": "lanes.gather({table}, {0})",
    **{"np_" + name: f"np.{name}({{0}})" for name in (*NUMPY_UNARY, "sqrt")},
    **{"np_" + name: f"np.{name}({{0}}, {{1}})" for name in NUMPY_BINARY},
    "np_power": "lanes.power({0}, {1})",
}
for _row in PRIMITIVES.values():
    if _row.name not in _SPELLINGS and _row.accuracy in (Accuracy.LIBM, Accuracy.CALL):
        _operands = ", ".join(f"{{{k}}}" for k in range(len(_row.signatures[0][0])))
        _SPELLINGS[_row.name] = f"lanes.{_row.name}({_operands})"


def spelling(op: Op) -> str:
    """How `op` is written with NumPy: a format string with {0}, {1}, ... for the operands and the names of attributes.

    The text needs `import numpy as np` and `from pyflat import lanes`, and has Python's precedences: operands that
    are operators themselves need parentheses.
    """
    text = _SPELLINGS.get(op.opcode)
    if text is None:
        raise InternalError(f"the NumPy target has no spelling of {op.opcode}")
    return text


def literal(kind: Kind, value: bool | int | float | None) -> str:
    """A NumPy scalar of `kind`, as an expression; an undefined value is zero."""
    number = 0 if value is None else value
    match kind:
        case Kind.BOOL:
            return f"np.bool_({bool(number)})"
        case Kind.INT:
            return f"np.int64({int(number)})"
        case _:
            text = repr(float(number))
            return f"np.float64({text})" if text.strip("-")[0].isdigit() else f'np.float64("{text}")'


@dataclass(frozen=True, slots=True)
class Engine:
    """A compiled function. `source` is the generated text; call it with lanes and their number."""

    source: str
    block: Callable[..., tuple[Any, ...]]
    dtypes: tuple[np.dtype[Any], ...]
    unchecked: bool

    def __call__(self, lanes: Sequence[Lane], n: int) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Run `n` lanes: the result arrays, and the mask of suspect lanes or None when there is none.

        `lanes` are arrays of length n or NumPy scalars, of bool_, int64 or float64, in the order of the parameters.
        """
        results = [np.empty(n, dtype) for dtype in self.dtypes]
        with saved_status(), np.errstate(all="ignore"):
            return results, self._run(lanes, n, results)

    def _run(self, lanes: Sequence[Lane], n: int, results: list[np.ndarray]) -> np.ndarray | None:
        suspects: np.ndarray | None = None
        for start in range(0, n, BLOCK):
            stop = min(start + BLOCK, n)
            values = self.block(*[_part(a, start, stop) for a in lanes])
            for result, value in zip(results, values, strict=False):
                result[start:stop] = value
            if self.unchecked or not np.any(values[-1]):
                continue
            if suspects is None:
                suspects = np.zeros(n, dtype=np.bool_)
            suspects[start:stop] = values[-1]
        return suspects


def compile(fused: Function, *, unchecked: bool = False) -> Engine:
    """The engine of a fused flat function: its last result is the suspect bit, which `unchecked` leaves out."""
    end = fused.flat_block.end
    if end is None:
        raise InternalError("a flat function without results")
    roots = end.values[:-1] if unchecked else end.values
    writer = _Writer(fused, roots)
    source = writer.source()
    namespace: dict[str, Any] = {
        "np": np, "lanes": lane_functions, "bits": _bits, "choose_int": _choose_int, "choose_float": _choose_float,
        **writer.tables,
    }
    exec(_code(source, fused.name), namespace)
    dtypes = tuple(np.dtype(DTYPES[value.kind]) for value in end.values[:-1])
    return Engine(source, namespace["block"], dtypes, unchecked)


def _code(source: str, name: str) -> Any:
    return builtins.compile(source, f"<numpy twin of {name}>", "exec")


def _part(lane: Lane, start: int, stop: int) -> Lane:
    """A block of an argument. A bool whose byte is neither 0 nor 1 (a view of other memory) becomes an ordinary one."""
    if not isinstance(lane, np.ndarray):
        return lane
    part = lane[start:stop]
    return part.view(np.uint8) != 0 if part.dtype == np.bool_ else part


def _bits(condition: Any) -> Any:
    """All bits of an int64 where the condition holds, none elsewhere."""
    return np.negative(condition.view(np.int8)).astype(np.int64)


def _choose_int(bits: Any, a: Any, b: Any) -> Any:
    """`a` where the bits are set, else `b`; scalars of scalars."""
    differing = a ^ b
    if not isinstance(differing, np.ndarray):
        return (differing & bits) ^ b
    differing &= bits
    differing ^= b
    return differing


def _choose_float(bits: Any, a: Any, b: Any) -> Any:
    return _choose_int(bits, a.view(np.int64), b.view(np.int64)).view(np.float64)


class _Writer:
    """The lines of a block function."""

    def __init__(self, fused: Function, roots: Sequence[Value]):
        self.ops = live_ops(fused.flat_block.ops, roots)
        self.roots = roots
        self.names: dict[Value, str] = {param: f"a{k}" for k, param in enumerate(fused.params)}
        self.parameters = ", ".join(self.names.values())
        self.constants: dict[tuple[str, str], str] = {}
        self.masks: dict[Value, str] = {}
        self.head: list[str] = []
        self.body: list[str] = []
        self.tables: dict[str, np.ndarray] = {}

    def source(self) -> str:
        """Writes everything; `tables` are the arrays that the text names."""
        last_select = {op.args[0]: op for op in self.ops if _is_choice(op)}
        for number, (op, dying) in enumerate(zip(self.ops, last_uses(self.ops, self.roots), strict=True)):
            text = self._expression(op)
            self.names[op] = f"t{number}"
            self.body.append(f"t{number} = {text}")
            dead = [self.names[value] for value in dying]
            if _is_choice(op) and last_select[op.args[0]] is op:
                dead.append(self.masks[op.args[0]])
            if dead:
                self.body.append("del " + ", ".join(dead))
        self.body.append("return " + ("".join(self._name(root) + ", " for root in self.roots).rstrip() or "()"))
        return "\n".join([*self.head, f"def block({self.parameters}):", *("    " + line for line in self.body), ""])

    def _name(self, value: Value) -> str:
        if not isinstance(value, Const):
            return self.names[value]
        if value.key not in self.constants:
            self.constants[value.key] = f"c{len(self.constants)}"
            self.head.append(f"{self.constants[value.key]} = {literal(value.kind, value.value)}")
        return self.constants[value.key]

    def _expression(self, op: Op) -> str:
        operands = [self._name(arg) for arg in op.args]
        if op.opcode == "gather":
            table = f"table{len(self.tables)}"
            self.tables[table] = np.array(op.attr("table"), dtype=DTYPES[op.kind])
            return spelling(op).format(*operands, table=table)
        if op.opcode != "select":
            return spelling(op).format(*operands)
        condition, a, b = operands
        if op.kind is BOOL:
            return f"(({a} ^ {b}) & {condition}) ^ {b}"
        mask = self.masks.get(op.args[0])
        if mask is None:
            mask = self.masks[op.args[0]] = f"m{len(self.masks)}"
            self.body.append(f"{mask} = bits({condition})")
        return f"choose_{'int' if op.kind is INT else 'float'}({mask}, {a}, {b})"


def _is_choice(op: Op) -> bool:
    """A select that is written with bits of an int64."""
    return op.opcode == "select" and op.kind is not BOOL
