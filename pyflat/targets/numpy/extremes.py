"""Minima and maxima of the NumPy target: one ufunc in the place of a comparison and a select.

    %c = lt %x, 2.0 : b             %r = np_minimum %x, 2.0 : f8
    %r = select %c, 2.0, ...

`max(x, 2.0)` is a comparison and a select to Python, `2.0 if 2.0 > x else x`. np.maximum gives the same bits where no
two operands are equal and differ, as 0.0 and -0.0 do, and where nan is treated alike: with an operand that is nan the
comparison is false, which takes the second arm. np.maximum gives nan then, np.fmax the other operand. So these stand
for it where one operand is a literal other than zero and nan, and for ints. Of two floats there is `np_extreme`, whose
attribute `by` is the comparison of its operands: it is the ufunc, and the select where that gives zero or nan.
"""

from __future__ import annotations

from pyflat.analysis.liveness import sliced
from pyflat.ir.nodes import Const, Function, Op, Value, same_value
from pyflat.ir.ops import MIRRORED
from pyflat.ir.types import FLOAT, INT
from pyflat.ir.uses import rebuilt, results_of, with_args, with_body

OF_TWO = "np_extreme"
BY = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}


def find_extremes(fn: Function) -> Function:
    """`fn` with these operations; `fn` itself where there are none."""
    new: dict[Value, Value] = {}
    found = False

    def read(value: Value) -> Value:
        return new.get(value, value)

    def change(op: Op) -> Op:
        nonlocal found
        opcode, by = _extreme(op) or ("", "")
        found = found or bool(opcode)
        args = [read(arg) for arg in op.args]
        made = with_args(op, args) if not opcode else Op(
            opcode, args[1:], op.kind, name=op.name, attrs=(("by", by),) if by else (), origin=op.origin)
        new[op] = made
        return made

    items = rebuilt(fn.body, change, read)
    if not found:
        return fn
    return with_body(fn, sliced(items, [read(value) for value in results_of(fn)]))


def _extreme(op: Op) -> tuple[str, str] | None:
    """The operation that gives the same as a select, and the comparison that it needs to know."""
    if op.opcode != "select" or op.kind not in (FLOAT, INT):
        return None
    condition, taken, other = op.args
    if not isinstance(condition, Op) or condition.opcode not in BY:
        return None
    if same_value(condition.args[0], taken) and same_value(condition.args[1], other):
        by = condition.opcode
    elif same_value(condition.args[0], other) and same_value(condition.args[1], taken):
        by = MIRRORED[condition.opcode]
    else:
        return None
    largest = by in ("gt", "ge")
    if op.kind is INT or _is_safe(taken):  # of floats a nan comes out
        return "np_maximum" if largest else "np_minimum", ""
    if _is_safe(other):
        return "np_fmax" if largest else "np_fmin", ""
    return None if isinstance(taken, Const) or isinstance(other, Const) else (OF_TWO, by)


def _is_safe(value: Value) -> bool:
    """A literal that no other number equals, and no nan."""
    return isinstance(value, Const) and value.value is not None and value.value != 0.0 and value.value == value.value
