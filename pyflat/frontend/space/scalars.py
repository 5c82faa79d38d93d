"""Numbers as lanes: tables of operators, conversions, and numbers that are one of two kinds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.merge import lane
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    GuardedUnion,
    Seq,
    Static,
    complex_parts,
    describe,
    numeric_kind,
    plain_number,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Const, Value
from pyflat.ir.types import FLOAT

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift, "matmul": operator.matmul,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}
"""What Python computes for an operator or a comparison of two known values."""
METHODS = {opcode: f"__{function.__name__.rstrip('_')}__" for opcode, function in PYTHON.items()}
"""The method behind an operator: __add__, __lshift__, __and__, ..."""


def const_eval(s: Evaluator, compute: Callable[[], Any]) -> Abstract:
    """Evaluate with Python now; an exception becomes the fault that Python would raise on this path."""
    try:
        with np.errstate(all="ignore"):
            value = compute()
        s.saw_numpy = s.saw_numpy or isinstance(value, np.generic)
        return Static(value)
    except (ArithmeticError, ValueError, LookupError) as error:
        raise s.raised(type(error)) from None
    except (TypeError, AttributeError) as error:
        raise s.fault(type(error).__name__, str(error)) from None


def to_kind(s: Evaluator, value: Value, kind: Any) -> Value:
    """Python's implicit promotion bool -> int -> float."""
    if value.kind is kind:
        return value
    if isinstance(value, Const) and value.value is not None:
        return const(float(value.value) if kind is FLOAT else int(value.value))
    if kind is FLOAT:
        return s.build.op("to_float", value)
    return s.build.op("to_int", value)


def as_float(s: Evaluator, value: Abstract) -> Value:
    """A number as a float lane, as float() or an arithmetic operator would convert it."""
    value = plain_number(value)
    if isinstance(value, GuardedUnion):
        return lane(s.split(value, lambda v: as_float(s, v)))
    if isinstance(value, Static) and isinstance(value.value, int):
        return lane(const_eval(s, lambda: float(value.value)))
    if numeric_kind(value) is None:
        raise type_fault(s, value)
    return to_kind(s, lane(value), FLOAT)


def type_fault(s: Evaluator, value: Abstract) -> Exception:
    """A number is needed and this is none: Python raises TypeError on this path, or the construct is unknown."""
    if complex_parts(value) is not None:
        return s.raised(TypeError, message="a real number is needed here, not a complex one")
    genuine = isinstance(value, Static) and isinstance(value.value, str | tuple | list | dict | type(None))
    if genuine or isinstance(value, Seq) or value is UNBOUND:
        return s.fault("TypeError", f"{describe(value)} is not a number")
    return s.refuse("flatten/unsupported-expression", f"a number is needed here, not {describe(value)}",
                    needs_number=True)


def split_pair(s: Evaluator, a: Abstract, b: Abstract, use: Callable[[Abstract, Abstract], Abstract]) -> Abstract:
    """Do something with each alternative of the first GuardedUnion of two values; a second one with the same
    condition has the same alternative."""
    cond = a.cond if isinstance(a, GuardedUnion) else b.cond if isinstance(b, GuardedUnion) else None
    assert cond is not None

    def part(value: Abstract, holds: bool) -> Abstract:
        if isinstance(value, GuardedUnion) and value.cond is cond:
            return value.then if holds else value.orelse
        return value

    return s.branch(cond, lambda: use(part(a, True), part(b, True)), lambda: use(part(a, False), part(b, False)))


def is_number_union(value: Abstract) -> bool:
    if isinstance(value, GuardedUnion):
        return is_number_union(value.then) and is_number_union(value.orelse)
    return numeric_kind(value) is not None


def number_union_as_float(s: Evaluator, value: Abstract) -> Value:
    """select(cond, float(then), float(orelse)): both conversions are harmless in every lane."""
    if isinstance(value, GuardedUnion):
        return s.build.op("select", value.cond, number_union_as_float(s, value.then),
                          number_union_as_float(s, value.orelse))
    return as_float(s, value)


def negate(s: Evaluator, value: Abstract) -> Abstract:
    known = s.space.truth(value)
    return Static(not known.value) if isinstance(known, Static) else s.build.op("not", known)


def choose(s: Evaluator, cond: Value, a: Abstract, b: Abstract) -> Abstract:
    """`a if cond else b` of values that are both computed already."""
    kind = numeric_kind(a)
    if kind is not None and kind is numeric_kind(b):
        return s.build.op("select", cond, lane(a), lane(b))
    return s.branch(cond, lambda: a, lambda: b)
