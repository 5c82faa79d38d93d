"""Strings made from lanes: f-strings, format(), `%`, `+`, join() and chr() give what it takes to write a string.

    f"{n} apples" + "!"     Written((NumberText(n, ""), Static(" apples!")))

The digits are made where the result of a call is (`ir.shape.Texts`), by Python itself. What else is asked of such a
string is answered where it needs no digits (`space.characters`), or refused.
"""

from __future__ import annotations

import inspect
import math
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pyflat.frontend.space import grown_texts, scalars
from pyflat.frontend.state import heap, lookup, written
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, lane, numeric_kind
from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    Char,
    GrownText,
    GuardedUnion,
    IntText,
    NumberText,
    ObjRef,
    OtherText,
    RepeatedText,
    Seq,
    Static,
    Text,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

MAX_DIGITS = 300
"""Behind the point; with more, `round` gives the number itself as float() of the text does."""
_SAMPLES: dict[Any, object] = {BOOL: True, INT: 1, FLOAT: 1.0}
_PERCENT = re.compile(r"([^%]*)(?:%([-+ 0#]*)(\d*)(?:\.(\d+))?([a-zA-Z%]))?", re.DOTALL)


def digits_of(value: Abstract) -> tuple[Value, int] | None:
    """Number and digits of ".2f": they are those that round(number, 2) has, because both are the nearest decimal
    number, ties by the exact value."""
    found = re.fullmatch(r"\.(\d+)f", value.spec) if isinstance(value, NumberText) and not value.converted else None
    if found is None or not isinstance(value, NumberText) or int(found[1]) > MAX_DIGITS:
        return None
    return value.number, int(found[1])


def written_as(s: Evaluator, value: Abstract, spec: str, conversion: str, node: cst.CSTNode) -> Abstract:
    """format(value, spec), after str() or repr() where `conversion` says so ("s", "r")."""
    if isinstance(value, GuardedUnion):
        return s.split(value, lambda one: written_as(s, one, spec, conversion, node))
    if conversion not in ("", "s", "r"):
        return Text()
    match value:
        case Static():
            known = str if conversion == "s" else repr if conversion else None
            return scalars.const_eval(s, lambda: format(known(value.value) if known else value.value, spec))
        case Value() if value.kind in _SAMPLES:
            return _number(s, value, spec, bool(conversion), node)
        case Text() if not spec and conversion != "r":
            return value
        case ObjRef():
            return _object(s, value, spec, conversion, node)
    return Text()


def _number(s: Evaluator, value: Value, spec: str, converted: bool, node: cst.CSTNode) -> Abstract:
    if s.may_be_numpy(value) and (converted or not spec or value.kind is BOOL) or spec.endswith("c"):
        return Text()
    if value.kind is INT and not spec:
        return IntText(value, 10)
    sample = _SAMPLES[value.kind]
    try:
        format(str(sample) if converted else sample, spec)
    except (ValueError, TypeError) as error:
        raise s.raised(type(error), node) from None
    return NumberText(value, spec, converted and bool(spec))


_ASKED = {"": ("__format__", "__str__", "__repr__"), "s": ("__str__", "__repr__"), "r": ("__repr__",)}


def _object(s: Evaluator, value: ObjRef, spec: str, conversion: str, node: cst.CSTNode) -> Abstract:
    """The string that an object's class makes of it."""
    for name in _ASKED[conversion]:
        s.guards.member(value.cls, name)
        if inspect.getattr_static(value.cls, name) is inspect.getattr_static(object, name):
            continue
        found = lookup.method_of(value, name)
        if found is None or spec and name != "__format__":
            break
        given = [Static(spec)] if name == "__format__" else []
        return s.space.call(Static(found), Arguments([value, *given], {}), node)
    return Text()


def concatenated(s: Evaluator, parts: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """The strings one after the other, for each combination of alternatives; where these are many, a known string among
    others stays an alternative of its own."""
    unions = [part for part in parts if isinstance(part, GuardedUnion)]
    if unions and math.prod(len(alternatives(part)) for part in unions) <= written.MAX_LAYOUTS:
        first = unions[0]

        def with_one(one: Abstract) -> Abstract:
            return concatenated(s, [one if part is first else part for part in parts], node)

        return s.split(first, with_one)
    if any(numeric_kind(part) is not None for part in parts):
        raise s.raised(TypeError, node)
    if any(isinstance(part, GrownText) for part in parts):
        return grown_texts.around(s, parts, node)
    if any(written.parts_of(part) is None for part in parts):
        return Text()
    return written.joined(parts) or Text()


def is_string(value: Abstract) -> bool:
    return all(isinstance(one, Text) or written.is_known(one) for one in alternatives(value))


def are_many(a: Abstract, b: Abstract) -> bool:
    """Two strings of so many alternatives that no pair of them is looked at."""
    return is_string(a) and is_string(b) and len(alternatives(a)) * len(alternatives(b)) > written.MAX_LAYOUTS


def repeated(s: Evaluator, text: Abstract, count: Abstract, node: cst.CSTNode) -> Abstract:
    """text * count"""
    if isinstance(count, Static) and type(count.value) is int and isinstance(text, Text):
        return concatenated(s, [text] * min(max(count.value, 0), written.MAX_PARTS + 1), node)
    kind = numeric_kind(count)
    if kind is FLOAT:
        raise s.raised(TypeError, node)
    if kind is None or not isinstance(text, Static):
        return Text()
    return RepeatedText(text.value, scalars.to_kind(s, lane(count), INT)) if text.value else text


def formatted(s: Evaluator, template: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """template.format(...)"""
    parts: list[Abstract] = []
    automatic = iter(range(len(arguments.positional)))
    for literal, name, spec, conversion in string.Formatter().parse(template):
        parts.append(Static(literal))
        if name is None:
            continue
        place = next(automatic, -1) if name == "" else int(name) if name.isdecimal() else -1
        value = arguments.positional[place] if 0 <= place < len(arguments.positional) else arguments.named.get(name)
        if value is None or "{" in (spec or "") or isinstance(value, OtherText):
            return Text()
        parts.append(written_as(s, value, spec or "", conversion or "", node))
    return concatenated(s, parts, node)


def percent(s: Evaluator, template: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    """template % value"""
    values = iter(value.items if isinstance(value, Seq) and value.cls is tuple else (value,))
    parts: list[Abstract] = []
    for literal, flags, width, precision, code in _PERCENT.findall(template):
        parts.append(Static(literal))
        if code == "%":
            parts.append(Static("%"))
        elif code:
            given = next(values, None)
            part = None if given is None else _conversion(s, given, (flags, width, precision, code), node)
            if part is None:
                return Text()
            parts.append(part)
    if next(values, None) is not None or "%" in "".join(found[0] for found in _PERCENT.findall(template)):
        return Text()
    return concatenated(s, parts, node)


def _conversion(s: Evaluator, value: Abstract, how: tuple[str, str, str, str], node: cst.CSTNode
                ) -> Abstract | None:
    """One `%5.2f` as the format specification that writes the same; None where there is none."""
    flags, width, precision, code = how
    digits = f".{precision}" if precision else ""
    if code == "s":
        spec = ("<" if "-" in flags else ">") + width if width else ""
        return written_as(s, value, spec + digits, "s", node) if flags in ("", "-") else None
    kind = numeric_kind(value)
    whole = code in "diuxXo"
    if kind is None or code not in "diuxXofFeEgG" or whole and (kind is FLOAT or precision):
        return None
    sign = "+" if "+" in flags else " " if " " in flags else ""
    align = "<" if "-" in flags and width else ""
    zeros = "0" if "0" in flags and "-" not in flags else ""
    other = "#" if "#" in flags else ""
    spec = align + sign + other + zeros + width + digits + ("d" if code in "diu" else code)
    return written_as(s, value, spec, "", node)


def strung(s: Evaluator, separator: str, items: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """separator.join(items), where every lane has every item."""
    parts: list[Abstract] = []
    for item in items:
        parts += [Static(separator), item] if parts else [item]
    return concatenated(s, parts, node)


def character(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """chr(value)"""
    if numeric_kind(value) not in (INT, BOOL):
        raise s.raised(TypeError, node)
    code = scalars.to_kind(s, lane(value), INT)
    beyond = s.build.op("or", s.build.op("lt", code, const(-(2**31))), s.build.op("ge", code, const(2**31)))
    heap.raise_if(s, beyond, _BEYOND_C)
    heap.raise_if(s, s.build.op("or", s.build.op("lt", code, const(0)), s.build.op("ge", code, const(0x110000))),
                  ValueError)
    return Char(code, False)


def _raised(call: Callable[[], object]) -> type[BaseException]:
    try:
        call()
    except (ValueError, OverflowError) as error:
        return type(error)
    return ValueError


_BEYOND_C = _raised(lambda: chr(2**40))
"""What chr() raises for an int that C's int does not hold, which depends on Python's version."""

