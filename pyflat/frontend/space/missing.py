"""pandas' NA and NaT, known in flattened code where they stand: what operators make of one and a lane's value depends
on the class of that value only, so that it is tried out on another one of that class."""

from __future__ import annotations

import sys
from typing import Any

from pyflat.frontend.space.scalars import PYTHON, const_eval
from pyflat.frontend.state import lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import numeric_kind, python_type
from pyflat.frontend.state.values import Abstract, Static
from pyflat.functions import moments

_CLASSES = frozenset({"NAType", "NaTType"})
_OF_THE_VALUE = frozenset({"pow", "and", "or"})
"""NA ** 0 is 1, True | NA is True."""
_ONE: dict[type, Any] = {bool: True, int: 3, float: 2.5, str: "x", type(None): None}


def is_missing(value: object) -> bool:
    """NA or NaT themselves."""
    return type(value).__name__ in _CLASSES and "pandas" in sys.modules


def operate(s: Evaluator, opcode: str, a: Abstract, b: Abstract) -> Abstract | None:
    """`a <op> b` or a comparison; None where neither is missing, or the other one is nothing that is known here."""
    if not any(type(v) is Static and is_missing(v.value) for v in (a, b)):
        return None
    one, other = _one(a), _one(b)
    if one is None or other is None or opcode in _OF_THE_VALUE and not (type(a) is Static and type(b) is Static):
        return None
    return const_eval(s, lambda: PYTHON[opcode](one[0], other[0]))


def _one(value: Abstract) -> tuple[Any] | None:
    """The value, or another one of its class."""
    if type(value) is Static and (is_missing(value.value) or type(value.value) in _ONE):
        return (value.value,)
    if (kind := numeric_kind(value)) is not None:
        return (_ONE[python_type(kind)],)
    cls = lookup.class_of(value)
    if cls in moments.MAKERS:
        return (moments.MAKERS[cls](7, 10**9),)
    return (_ONE[cls],) if cls in _ONE else None
