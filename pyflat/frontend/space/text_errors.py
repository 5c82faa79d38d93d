"""What writing a string raises where its content is not known: it is tried with numbers of the kinds of the lanes."""

from __future__ import annotations

import inspect
import itertools
import math
import re
import types
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pyflat.frontend.space import growing, scalars
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe, lane
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Arguments,
    Caught,
    Closure,
    Complex,
    DictRef,
    GuardedUnion,
    ListRef,
    ObjRef,
    OtherText,
    Seq,
    Static,
    Text,
    Unsigned,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

MAX_TRIED = 64
_STAND_INS = {BOOL: True, INT: 1, FLOAT: 1.5}
_CONVERSIONS = re.compile(r"%(?:\(.*?\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?(.)")
_BY_VALUE = {"index", "rindex", "encode", "format_map", "translate", "expandtabs"}
"""Methods of strings that may raise by what is in the string, or make it as long as the lane says."""
_ASKED = ("__format__", "__str__", "__repr__", "__index__", "__int__", "__float__", "__getitem__")
"""What writing an object asks it."""
_FILLED = {"ljust", "rjust", "center"}
"""Methods that raise where the string that they fill up with is no single character."""


def written_by(s: Evaluator, write: Callable[..., object], values: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """A string made from lanes, by `write`: it raises what it raises for a number of the kind that a lane has."""
    options = [alternatives(value) for value in values]
    if math.prod(map(len, options)) > MAX_TRIED:
        raise s.refuse("flatten/too-large", "a string made from this many objects", node)
    raised = {_tried(s, write, row, node) for row in itertools.product(*options)}
    if raised == {None}:
        return Text()
    if len(raised) == 1:
        (cls,) = raised
        assert cls is not None
        raise s.raised(cls, node)
    split = s.split_first(values, lambda *row: written_by(s, write, row, node))
    assert split is not None
    return split


def _tried(s: Evaluator, write: Callable[..., object], row: Sequence[Abstract], node: cst.CSTNode
           ) -> type[BaseException] | None:
    given = [_stand_in(s, value, node) for value in row]
    try:
        made = write(*given)
    except Exception as error:  # noqa: BLE001 - the class is what is asked
        return type(error)
    if not isinstance(made, str):
        what = f"a value of class {type(made).__name__} is made of a computed string"
        raise s.refuse("flatten/unsupported-expression", what, node)
    return None


def _stand_in(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Any:
    match value:
        case Static():
            return value.value
        case Value() if value.kind in _STAND_INS:
            return _STAND_INS[value.kind]
        case Unsigned():
            return 1
        case Complex():
            return 1j
        case Text() | OtherText():
            return "x"
        case Caught():
            return Exception("x")
        case Closure():
            return _stand_in
        case Seq() if value.cls is tuple or is_written_plainly(value.cls, tuple):
            return tuple(_stand_in(s, item, node) for item in value.items)
        case ListRef():
            held = s.state.heap[value]
            known = held is not CONFLICT and not growing.is_growing(s, value)
            return [_inside(s, item, node) for item in held] if known else []
        case DictRef():
            held = s.state.heap[value]
            return {} if held is CONFLICT else {key: _inside(s, item, node) for key, item in held}
        case ObjRef() if is_written_plainly(value.cls, object):
            return object()
        case ObjRef():
            what = f"a string made from a {value.cls.__name__}, which has its own string methods"
            raise s.refuse("flatten/unsupported-expression", what, node)
    raise s.refuse("flatten/unsupported-expression", f"a string made from {describe(value)}", node)


def _inside(s: Evaluator, item: Abstract, node: cst.CSTNode) -> Any:
    """An item of a list or dict, of which only repr() is asked."""
    return [_inside(s, one, node) for one in alternatives(item)] if isinstance(item, GuardedUnion) else \
        _stand_in(s, item, node) if isinstance(item, Static | Seq | ListRef | DictRef | ObjRef) else None


def is_written_plainly(cls: type, base: type) -> bool:
    """Whether `base` or code made for dataclasses and named tuples says how instances are written."""
    return all(getattr(cls, name, None) is getattr(base, name, None) or _is_made(getattr(cls, name, None))
               for name in _ASKED)


def _is_made(method: object) -> bool:
    made = inspect.unwrap(method) if callable(method) else method
    return isinstance(made, types.FunctionType) and (lookup.is_generated(made) or made.__module__ == "collections")


def by_percent(s: Evaluator, template: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    """`template % value`"""
    is_tuple = isinstance(value, Seq) and issubclass(value.cls, tuple)
    numbers = value.items if isinstance(value, Seq) and is_tuple else (value,)
    checked = written_by(s, lambda *known: template % (known if is_tuple else known[0]), numbers, node)
    kinds = "".join("*" if "*" in (width, digits) else kind for width, digits, kind in _CONVERSIONS.findall(template))
    if "*" in kinds or "c" in kinds:
        raise s.refuse("flatten/unsupported-expression", "a width or a character by a computed number", node)
    for number in numbers if set(kinds) & set("diu") else ():
        if isinstance(number, Value) and number.kind is FLOAT:
            finite = scalars.binary(s, "sub", number, number)
            heap.suspect_if(s, s.build.op("ne", lane(finite), const(0.0)), "%d of an infinite float", node)
    return checked


def by_method(s: Evaluator, receiver: Abstract, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """`receiver.name(...)` of a string, with lanes in it or in the arguments."""
    values = [*arguments.positional, *arguments.named.values()]
    if name in _BY_VALUE or name in _FILLED and any(isinstance(value, Text) for value in values):
        raise s.refuse("flatten/unsupported-expression", f".{name}() of a computed string", node)
    if name == "format" and isinstance(receiver, Static) and re.search(r"c\}|\{[^}]*\{", receiver.value):
        raise s.refuse("flatten/unsupported-expression", "a width or a character by a computed number", node)
    count, names = 1 + len(arguments.positional), list(arguments.named)
    return written_by(s, lambda text, *given: getattr(text, name)(
        *given[:count - 1], **dict(zip(names, given[count - 1:], strict=True))), [receiver, *values], node)
