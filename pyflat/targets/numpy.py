"""The NumPy way out: straight-line array operations over blocks of lanes.

`spelling` is the table of how each operation is written with NumPy; the text printer uses it too. `compile` makes an
engine from a *fused* flat function (no `fault` operations, the last result is the suspect bit): one line per
operation, run on blocks that fit into the cache, a temporary deleted after its last use.

    def block(x, y):                    x = array([1., 2.])   y = float64(0.5)
        t0 = x * y
        t1 = t0 < c0
        t2 = where(t1, t0, c1)
        del t0, t1
        return t2,
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
            values = self.block(*[a[start:stop] if isinstance(a, np.ndarray) else a for a in lanes])
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
    source, tables = _write(fused, roots)
    namespace: dict[str, Any] = {"np": np, "lanes": lane_functions, "where": _where, **tables}
    exec(_code(source, fused.name), namespace)
    dtypes = tuple(np.dtype(DTYPES[value.kind]) for value in end.values[:-1])
    return Engine(source, namespace["block"], dtypes, unchecked)


def _code(source: str, name: str) -> Any:
    return builtins.compile(source, f"<numpy twin of {name}>", "exec")


def _where(condition: Any, a: Any, b: Any) -> Any:
    """np.where that gives a scalar for scalars."""
    return np.where(condition, a, b)[()]


def _write(fused: Function, roots: Sequence[Value]) -> tuple[str, dict[str, np.ndarray]]:
    """The text of the block function, and the arrays that it indexes."""
    ops = live_ops(fused.flat_block.ops, roots)
    names: dict[Value, str] = {param: f"a{k}" for k, param in enumerate(fused.params)}
    constants: dict[tuple[str, str], str] = {}
    head: list[str] = []
    tables: dict[str, np.ndarray] = {}

    def name(value: Value) -> str:
        if not isinstance(value, Const):
            return names[value]
        if value.key not in constants:
            constants[value.key] = f"c{len(constants)}"
            head.append(f"{constants[value.key]} = {literal(value.kind, value.value)}")
        return constants[value.key]

    body = []
    for number, (op, dying) in enumerate(zip(ops, last_uses(ops, roots), strict=True)):
        attributes = {}
        if op.opcode == "gather":
            attributes["table"] = f"table{len(tables)}"
            tables[attributes["table"]] = np.array(op.attr("table"), dtype=DTYPES[op.kind])
        text = _ENGINE_SPELLINGS.get(op.opcode) or spelling(op)
        names[op] = f"t{number}"
        body.append(f"    t{number} = {text.format(*map(name, op.args), **attributes)}")
        if dying:
            body.append("    del " + ", ".join(names[value] for value in dying))
    returned = "".join(name(root) + ", " for root in roots).rstrip()
    parameters = ", ".join(names[param] for param in fused.params)
    lines = [*head, f"def block({parameters}):", *body, f"    return {returned or '()'}"]
    return "\n".join(lines) + "\n", tables


_ENGINE_SPELLINGS = {"select": "where({0}, {1}, {2})"}
"""What the engine writes differently from readable text."""
