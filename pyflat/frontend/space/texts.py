"""Strings made from lanes: f-strings, format(), `%`, `+`, join() and chr() give what it takes to write a string.

    f"{n} apples" + "!"     Written((NumberText(n, ""), Static(" apples!")))

The digits are made where the result of a call is (`ir.shape.Texts`), by Python itself. What else is asked of such a
string is answered where it needs no digits (`space.characters`), or refused.
"""

from __future__ import annotations

import inspect
import itertools
import math
import operator
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from pyflat.frontend.space import growing, scalars, text_errors
from pyflat.frontend.state import derived, heap, lookup, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe, lane, number_base, numeric_kind, per_alternative
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Arguments,
    Cells,
    Char,
    Derived,
    DictRef,
    GrownText,
    ListRef,
    NumberText,
    ObjRef,
    RepeatedText,
    Seq,
    Static,
    Text,
    Unsigned,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT

_PERCENT = re.compile(r"([^%]*)(?:%([-+ 0#]*)(\d*)(?:\.(\d+))?([a-zA-Z%]))?", re.DOTALL)
_CONVERT: dict[str, Callable[[Any], Any]] = {"": lambda value: value, "s": str, "r": repr, "a": ascii}
_ASKED = {"": ("__format__", "__str__", "__repr__"), "s": ("__str__", "__repr__"), "r": ("__repr__",),
          "a": ("__repr__",)}


@per_alternative("value")
def written_as(s: Evaluator, value: Abstract, spec: str, conversion: str, node: cst.CSTNode) -> Abstract:
    """format(value, spec), after str() or repr() where `conversion` says so ("s", "r")."""
    convert = _CONVERT[conversion]
    if isinstance(value, Derived):
        return derived.apply(s, ("format", spec, conversion), lambda known: format(convert(known), spec), [value], node)
    if isinstance(value, Static):
        return scalars.const_eval(s, lambda: format(convert(value.value), spec))
    if isinstance(value, Text) and not spec and conversion in ("", "s"):
        return value
    base = number_base(value.cls) if isinstance(value, Seq) else None
    if isinstance(value, Seq) and base is not None and text_errors.is_written_plainly(value.cls, base):
        return written_as(s, value.items[0], spec, conversion, node)
    if isinstance(value, ObjRef):
        for name in _ASKED[conversion]:
            s.guards.member(value.cls, name)
        plainly = text_errors.is_written_plainly(value.cls, object)
        made = None if plainly else _by_class(s, value, spec, conversion, node)
        if made is not None:
            return made
    if numeric_kind(value) is not None and spec.endswith("c") and not conversion:
        raise s.refuse("flatten/unsupported-expression", "a character by a computed number", node)
    checked: Abstract = Text()
    if spec or isinstance(value, ObjRef | Seq | ListRef | DictRef):
        checked = text_errors.written_by(s, lambda known: format(convert(known), spec), [value], node)
    if not isinstance(value, Value) or s.may_be_numpy(value) and (conversion or not spec or value.kind is BOOL):
        return checked
    return NumberText(value, spec, bool(conversion and spec))


def _by_class(s: Evaluator, value: ObjRef, spec: str, conversion: str, node: cst.CSTNode) -> Abstract | None:
    """The string that an object's class makes of it; None where that is unknown."""
    for name in _ASKED[conversion]:
        if inspect.getattr_static(value.cls, name) is inspect.getattr_static(object, name):
            if name == "__format__" and spec:
                raise s.raised(TypeError, node)
            continue
        found = lookup.method_of(value, name)
        if found is None:
            return None
        given = [Static(spec)] if name == "__format__" else []
        made = s.space.call(Static(found), Arguments([value, *given], {}), node)
        if not is_string(made):
            raise s.refuse("flatten/unsupported-expression", f"{name} of {value.cls.__name__} returns no string", node)
        return made if name == "__format__" or not spec else written_as(s, made, spec, "", node)
    return None


def concatenated(s: Evaluator, parts: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """The strings one after the other, for each combination of alternatives; where these are many, a known string among
    others stays an alternative of its own."""
    if derived.is_among(s, *parts):
        return derived.apply(s, "join", lambda *texts: "".join(texts), parts, node)
    if math.prod(len(alternatives(part)) for part in parts) <= templates.MAX_LAYOUTS and (
            made := s.split_first(parts, lambda *row: concatenated(s, row, node))) is not None:
        return made
    if not all(map(is_string, parts)):
        return text_errors.written_by(s, lambda *known: "".join(known), parts, node)
    if any(isinstance(part, GrownText) for part in parts):
        return _around_grown(s, parts, node)
    if any(templates.parts_of(part) is None for part in parts):
        return Text()
    return templates.joined(parts) or Text()


def is_string(value: Abstract) -> bool:
    return all(isinstance(one, Text) or one is UNBOUND or templates.is_known(one) for one in alternatives(value))


def are_many(a: Abstract, b: Abstract) -> bool:
    """Two strings of so many alternatives that no pair of them is looked at."""
    return is_string(a) and is_string(b) and len(alternatives(a)) * len(alternatives(b)) > templates.MAX_LAYOUTS


def repeated(s: Evaluator, text: Abstract, count: Abstract, node: cst.CSTNode) -> Abstract:
    """text * count"""
    if isinstance(count, Static) and isinstance(count.value, int) and isinstance(text, Text):
        return concatenated(s, [text] * min(max(count.value, 0), templates.MAX_PARTS + 1), node)
    checked = text_errors.written_by(s, operator.mul, [text, count], node)
    if numeric_kind(count) not in (BOOL, INT) or not isinstance(text, Static):
        return checked
    return RepeatedText(text.value, scalars.to_kind(s, lane(count), INT)) if text.value else text


def known_spec(s: Evaluator, spec: Abstract, node: cst.CSTNode) -> str:
    if not isinstance(spec, Static) or not isinstance(spec.value, str):
        raise s.refuse("flatten/lane-to-object", "the format depends on the data", node)
    return spec.value


def formatted(s: Evaluator, template: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """template.format(...)"""
    fields = _fields(template, arguments)
    if fields is None:
        return text_errors.by_method(s, Static(template), "format", arguments, node)
    parts: list[Abstract] = []
    for literal, value, spec, conversion in fields:
        parts.append(Static(literal))
        if value is not None:
            parts.append(written_as(s, value, spec, conversion, node))
    return concatenated(s, parts, node)


def _fields(template: str, arguments: Arguments) -> list[tuple[str, Abstract | None, str, str]] | None:
    """Each literal, and what is written behind it, by which specification and conversion; None for templates that are
    wrong, and for those with attributes, items or nested fields."""
    found: list[tuple[str, Abstract | None, str, str]] = []
    given = {str(place): value for place, value in enumerate(arguments.positional)} | arguments.named
    automatic, numbered = itertools.count(), False
    try:
        for literal, name, spec, conversion in string.Formatter().parse(template):
            if name is not None:
                numbered = numbered or name.isdecimal()
                value = given.get(name or str(next(automatic)))
                if value is None or "{" in (spec or "") or (conversion or "") not in _CONVERT:
                    return None
                found.append((literal, value, spec or "", conversion or ""))
            else:
                found.append((literal, None, "", ""))
    except ValueError:
        return None
    return None if numbered and next(automatic) else found


def percent(s: Evaluator, template: str, value: Abstract, node: cst.CSTNode) -> Abstract:
    """template % value"""
    is_tuple = isinstance(value, Seq) and issubclass(value.cls, tuple)
    values = iter(value.items if isinstance(value, Seq) and is_tuple else (value,))
    found: list[tuple[str, Abstract, tuple[str, str]]] = []
    for each in _PERCENT.finditer(template):
        literal, flags, width, precision, code = each.groups("")
        given = next(values, None) if code not in ("", "%") else Static("%" if code else "")
        how = ("", "") if code in ("", "%") else _specification(given, flags, width, precision, code)
        if how is None or given is None:
            return text_errors.by_percent(s, template, value, node)
        found.append((literal, given, how))
    if next(values, None) is not None or "".join(each[0] for each in _PERCENT.finditer(template)) != template:
        return text_errors.by_percent(s, template, value, node)
    parts: list[Abstract] = []
    for literal, given, (spec, conversion) in found:
        parts += [Static(literal), written_as(s, given, spec, conversion, node)]
    return concatenated(s, parts, node)


def _specification(value: Abstract | None, flags: str, width: str, precision: str, code: str) -> tuple[str, str] | None:
    """One `%5.2f` as the format specification and the conversion that write the same; None where there are none."""
    digits = f".{precision}" if precision else ""
    if code in ("s", "r", "a"):
        aligned = ("<" if "-" in flags else ">") + width if width else ""
        return (aligned + digits, code) if flags in ("", "-") else None
    kind = None if value is None else numeric_kind(value)
    whole = code in "diuxXo"
    if kind is None or code not in "diuxXofFeEgG" or whole and (kind is FLOAT or precision):
        return None
    sign = "+" if "+" in flags else " " if " " in flags else ""
    align = "<" if "-" in flags and width else ""
    zeros = "0" if "0" in flags and "-" not in flags else ""
    other = "#" if "#" in flags else ""
    return align + sign + other + zeros + width + digits + ("d" if code in "diu" else code), ""


def strung(s: Evaluator, separator: str, items: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """separator.join(items), where every lane has every item."""
    parts: list[Abstract] = []
    for item in items:
        parts += [Static(separator), item] if parts else [item]
    return concatenated(s, parts, node)


def character(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Abstract:
    """chr(value)"""
    if isinstance(value, ObjRef | Unsigned):
        raise s.refuse("flatten/unsupported-expression", f"chr() of {describe(value)}", node)
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


# --- strings that get longer in a loop (`state.templates`): what is put in front of or behind them
def _around_grown(s: Evaluator, parts: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """The strings one after the other, of which one gets longer."""
    at = next(k for k, part in enumerate(parts) if isinstance(part, GrownText))
    middle, front, back = parts[at], templates.joined(parts[:at]), templates.joined(parts[at + 1:])
    if any(isinstance(part, GrownText) for part in parts[at + 1:]) or front is None or back is None:
        return Text()
    if not templates.can_grow(front) or not templates.can_grow(back):
        return Text()
    assert isinstance(middle, GrownText)
    for text, in_front in ((back, False), (front, True)):
        if not isinstance(text, Static) or text.value:
            middle = _longer(s, middle, text, in_front, node)
    return middle


def _longer(s: Evaluator, whole: GrownText, text: Abstract, in_front: bool, node: cst.CSTNode) -> GrownText:
    piece = templates.piece(whole.table, text, s.build.op)
    count, *places = templates.padded_cells(whole, whole.table).items
    longer = scalars.binary(s, "add", count, Static(1))
    growing.check_room(s, longer, len(places), node)
    places = [piece, *places[:-1]] if in_front else growing.put(s, places, count, piece)
    return GrownText(whole.table, Seq(Cells, (longer, *places)))
