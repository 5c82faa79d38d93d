"""Strings made from lanes: none is computed, but of some it is known which number they are."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pyflat.frontend.space import scalars
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, lane, numeric_kind
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Arguments,
    Caught,
    Complex,
    DictRef,
    GuardedUnion,
    IntText,
    ListRef,
    ObjRef,
    OtherText,
    RoundedText,
    Seq,
    Static,
    Text,
    Unsigned,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

MAX_DIGITS = 300
"""Behind the point; with more, `round` gives the number itself as float() of the text does."""


def written(value: Abstract, spec: str) -> Abstract:
    """format(value, spec): the digits of ".2f" are those that round(value, 2) has, because both are the nearest
    decimal number, ties by the exact value."""
    found = re.fullmatch(r"\.(\d+)f", spec)
    if isinstance(value, Static) and numeric_kind(value) is not None:
        return Static(format(value.value, spec))
    if found is None or not isinstance(value, Value) or int(found[1]) > MAX_DIGITS:
        return Text()
    return RoundedText(value, int(found[1]))


def of_int(s: Evaluator, value: Abstract) -> Abstract:
    """str(value)"""
    if isinstance(value, Text):
        return value
    if isinstance(value, Value) and value.kind is INT and not s.may_be_numpy(value):
        return IntText(value, 10)
    return Text()


def formatted(template: str, arguments: Arguments) -> Abstract:
    """template.format(...) of one number."""
    found = re.fullmatch(r"\{0?:(\.\d+f)\}", template)
    if found is None or len(arguments.positional) != 1 or arguments.named:
        return Text()
    return written(arguments.positional[0], found[1])


def percent(template: str, value: Abstract) -> Abstract:
    """template % value of one number."""
    found = re.fullmatch(r"%(\.\d+f)", template)
    if isinstance(value, Seq) and value.cls is tuple and len(value.items) == 1:
        value = value.items[0]
    return Text() if found is None else written(value, found[1])


# --- what writing a text raises
_STAND_INS = {BOOL: True, INT: 1, FLOAT: 1.5}
MAX_TRIED = 64
_CONVERSIONS = re.compile(r"%(?:\(.*?\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?(.)")
_BY_VALUE = {"index", "rindex", "encode", "format_map", "translate", "expandtabs"}
"""Methods of strings that may raise by what is in the string, or make it as long as the lane says."""


class _UnknownError(Exception):
    """A value that nothing can stand for."""


def written_by(s: Evaluator, write: Callable[..., object], values: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """A string made from lanes, by `write`: it raises what it raises for a number of the kind that a lane has."""
    options = [alternatives(value) for value in values]
    if math.prod(map(len, options)) > MAX_TRIED:
        raise s.refuse("flatten/too-large", "a string made from this many objects", node)
    try:
        raised = {_tried(s, write, row, node) for row in itertools.product(*options)}
    except _UnknownError:
        return Text()
    if raised == {None}:
        return Text()
    if len(raised) == 1:
        (cls,) = raised
        assert cls is not None
        raise s.raised(cls, node)
    at = next(at for at, value in enumerate(values) if isinstance(value, GuardedUnion))
    choice = values[at]
    assert isinstance(choice, GuardedUnion)
    return s.split(choice, lambda one: written_by(s, write, [*values[:at], one, *values[at + 1:]], node))


def _tried(s: Evaluator, write: Callable[..., object], row: Sequence[Abstract], node: cst.CSTNode
           ) -> type[BaseException] | None:
    given = [_stand_in(s, value) for value in row]
    try:
        made = write(*given)
    except Exception as error:  # noqa: BLE001 - the class is what is asked
        return type(error)
    if not isinstance(made, str):
        what = f"a value of class {type(made).__name__} is computed from a string made from lanes"
        raise s.refuse("flatten/unsupported-expression", what, node)
    return None


def _stand_in(s: Evaluator, value: Abstract) -> Any:
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
        case Seq() if value.cls is tuple:
            return tuple(_stand_in(s, item) for item in value.items)
        case ListRef() if (held := s.state.heap[value]) is not CONFLICT:
            return [_stand_in(s, item) for item in held]
        case DictRef() if (held := s.state.heap[value]) is not CONFLICT:
            return {key: _stand_in(s, item) for key, item in held}
        case ObjRef() if all(getattr(value.cls, name) is getattr(object, name)
                             for name in ("__format__", "__str__", "__repr__")):
            return object()
    raise _UnknownError


def by_format(s: Evaluator, value: Abstract, spec: str, node: cst.CSTNode) -> Abstract:
    """format(value, spec)"""
    if isinstance(value, Static):
        return scalars.const_eval(s, lambda: format(value.value, spec))
    if spec.endswith("c") and not isinstance(value, Static):
        raise s.refuse("flatten/unsupported-expression", "a character by the number of a lane", node)
    checked = written_by(s, lambda known: format(known, spec), [value], node)
    return written(value, spec) if spec else checked


def by_percent(s: Evaluator, template: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    """`template % value`"""
    checked = written_by(s, lambda known: template % known, [value], node)
    numbers = value.items if isinstance(value, Seq) else (value,)
    kinds = "".join("*" if "*" in (width, digits) else kind for width, digits, kind in _CONVERSIONS.findall(template))
    if "*" in kinds or "c" in kinds:
        raise s.refuse("flatten/unsupported-expression", "a width or a character by the number of a lane", node)
    for number in numbers if set(kinds) & set("diu") else ():
        if isinstance(number, Value) and number.kind is FLOAT:
            finite = scalars.binary(s, "sub", number, number)
            heap.suspect_if(s, s.build.op("ne", lane(finite), const(0.0)), "%d of an infinite float", node)
    found = percent(template, value)
    return found if isinstance(found, RoundedText) else checked


def by_method(s: Evaluator, receiver: Abstract, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """`receiver.name(...)` of a string, with lanes in it or in the arguments."""
    if name in _BY_VALUE:
        raise s.refuse("flatten/unsupported-expression", f".{name}() of a string made from lanes", node)
    count, names = 1 + len(arguments.positional), list(arguments.named)
    made = written_by(s, lambda text, *given: getattr(text, name)(
        *given[:count - 1], **dict(zip(names, given[count - 1:], strict=True))),
        [receiver, *arguments.positional, *arguments.named.values()], node)
    if name == "format" and isinstance(receiver, Static):
        if re.search(r"c\}|\{[^}]*\{", receiver.value):
            raise s.refuse("flatten/unsupported-expression", "a width or a character by the number of a lane", node)
        return formatted(receiver.value, arguments)
    return made
