"""How operations are written with NumPy, as expressions: the table of the NumPy target.

The text printer reads it, and so does the engine where it has no buffer to write into (`frames` says how the
engine writes the other operations).
"""

from __future__ import annotations

import re

import numpy as np

from pyflat.errors import InternalError
from pyflat.functions.records import RECORDS, Accuracy, MathFunction
from pyflat.ir.formats import F8, FloatFormat
from pyflat.ir.memory import UNSIGNED
from pyflat.ir.nodes import Op
from pyflat.ir.ops import PRIMITIVES, ROUNDED, SIGNS
from pyflat.ir.types import Kind


def of_namespace(module: str) -> dict[str, str]:
    """What NumPy and every array namespace spell alike: Python's operators, and functions of `module`."""
    unary = ("floor", "ceil", "trunc", "isnan", "isinf", "isfinite")
    return {
        **{name: f"{{0}} {sign} {{1}}" for name, sign in SIGNS.items()},
        **{name: f"{module}.{name}({{0}})" for name in unary},
        "neg": "-{0}", "invert": "~{0}", "low64": "+{0}", "not": f"{module}.logical_not({{0}})",
        "select": f"{module}.where({{0}}, {{1}}, {{2}})",
    }


_SPELLINGS: dict[str, str] = {
    **of_namespace("np"), "abs": "abs({0})", "rint": "np.rint({0})",
    "to_float": "lanes.to_float({0})", "exact_float": "lanes.to_float({0})",
    **{name: f"lanes.{name}({{0}})" for name in ROUNDED},
    "exponent": "lanes.exponent({0})", "ipow": "lanes.ipow({0}, {1})", "gather": "lanes.gather({table}, {0})",
}
_OF_KERNELS: dict[str, str] = {
    "divide": "s.divide({0}, {1})", "rounded": "s.narrowed({0})", "fitted": "+{0}",
    **{name: f"uint64_lanes.{name}({{0}}, {{1}})" for name in UNSIGNED}, "u_float": "uint64_lanes.u_float({0})",
}
_LANES = {"np_power": "power", "np_powers": "powers"}
"""Functions of NumPy's that `lanes` calls as NumPy calls itself for numbers, and for arrays."""


def _function(record: MathFunction) -> str:
    """NumPy's own function, where it has the bits; else the one of `lanes`."""
    has_bits = record.numpy and record.accuracy in (Accuracy.EXACT, Accuracy.NUMPY) and record.name not in _LANES
    name = f"np.{record.numpy}" if has_bits else f"lanes.{_LANES.get(record.name, record.name)}"
    return f"{name}({', '.join(f'{{{k}}}' for k in range(len(record.operands)))})"


_SPELLINGS.update((record.name, _function(record)) for record in RECORDS.values())
SPELLED = frozenset([*_SPELLINGS, "np_dot", "ufunc", "fault"])


_NARROW: dict[str, str] = {
    "to_float": "np.float32({0})", "exact_float": "np.float32({0})",
    "ldexp": "np.float32(lanes.ldexp(np.float64({0}), {1}))",
}
"""How operations of float32 lanes are written that the same text as for float64 would not compute."""


def words() -> dict[str, str]:
    """The operator ("+") or function ("np.exp") of each operation, without its operands."""
    return {name: text.partition("(")[0] if "(" in text else PRIMITIVES[name].operator
            for name, text in {**_SPELLINGS, "np_dot": "lanes.np_dot()"}.items()}


def spelled_functions() -> frozenset[str]:
    """The functions of `pyflat.functions.lanes` that spellings name."""
    return frozenset(name for text in _SPELLINGS.values() for name in re.findall(r"lanes\.(\w+)", text)) | {"np_dot"}


def _narrow_spelling(op: Op) -> str:
    """What is defined as the float64 function, rounded, is written like that; NumPy's own functions and operators take
    float32 as they are."""
    if op.opcode in _NARROW:
        return _NARROW[op.opcode]
    text = _wide_spelling(op)
    return f"np.float32({text})" if is_rounded(op.opcode) else text


def is_rounded(opcode: str) -> bool:
    """On float32 lanes this is the float64 function, rounded."""
    row = PRIMITIVES.get(opcode)
    return opcode in ("remainder", "ufunc", "ldexp") or (row is not None
                                                         and row.accuracy in (Accuracy.LIBM, Accuracy.CALL))


def spelling(op: Op, floats: FloatFormat = F8) -> str:
    """How `op` is written with NumPy, for lanes of a float format."""
    return _wide_spelling(op) if floats is F8 else _narrow_spelling(op)


def _wide_spelling(op: Op) -> str:
    """How `op` is written with NumPy: a format string with {0}, {1}, ... for the operands and the names of attributes.

    The text needs `import numpy as np` and `from pyflat.functions import lanes`, and has the precedences of Python:
    operands that are operators themselves need parentheses.
    """
    if op.opcode == "ufunc":
        operands = ", ".join(f"{{{k}}}" for k in range(len(op.args)))
        options = ", ".join(f"{name}={value!r}" for name, value in op.attrs)
        return f"lanes.ufunc({operands}, {options})"
    if op.opcode == "narrow":
        operands = ", ".join(f"{{{k}}}" for k in range(len(op.args)))
        return f'narrow_functions.called({operands}, function="{op.attr("function")}")'
    if op.opcode == "np_dot":
        return f"lanes.np_dot({', '.join(f'{{{k}}}' for k in range(len(op.args)))})"
    text = _SPELLINGS.get(op.opcode) or _OF_KERNELS.get(op.opcode)
    if text is None:
        raise InternalError(f"the NumPy target has no spelling of {op.opcode}")
    return text


def literal(kind: Kind, value: bool | int | float | None, floats: FloatFormat = F8) -> str:
    """A NumPy scalar of `kind`, as an expression; an undefined value is zero."""
    number = 0 if value is None else value
    match kind:
        case Kind.BOOL:
            return f"np.bool_({bool(number)})"
        case Kind.INT:
            return f"np.int64({int(number)})"
        case _:
            cls = "np.float64" if floats is F8 else "np.float32"
            text = repr(float(number)) if floats is F8 else str(np.float32(number))
            return f"{cls}({text})" if text.strip("-")[0].isdigit() else f'{cls}("{text}")'
