"""Strings made from lanes as parts: what merges of paths and results look at.

    f"{n} apples", n a lane        the parts  n as format(n, "") writes it,  " apples"
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from pyflat.frontend.state.kinds import alternatives
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Char,
    Chars,
    GuardedUnion,
    NumberText,
    RepeatedText,
    Static,
    Written,
)

MAX_PARTS = 256
"""Parts of one string."""
MAX_LAYOUTS = 32
"""Strings of different parts that one value may be."""


def parts_of(value: Abstract) -> tuple[Abstract, ...] | None:
    """Known strings, NumberText, RepeatedText, Char, and alternatives of strings and characters, where UNBOUND is
    none; None where the parts of a string are not known."""
    match value:
        case Static() if type(value.value) is str:
            return (value,)
        case NumberText() | RepeatedText() | Char():
            return (value,)
        case Chars():
            return value.items
        case Written():
            found = [parts_of(part) for part in value.parts]
            return None if None in found else tuple(part for parts in found if parts is not None for part in parts)
        case GuardedUnion() if all(map(_is_choice, alternatives(value))):
            return (value,)
    return None


def _is_choice(value: Abstract) -> bool:
    return value is UNBOUND or isinstance(value, Char) or is_known(value)


def is_known(value: Abstract) -> bool:
    return isinstance(value, Static) and type(value.value) is str


def layout(value: Abstract) -> Hashable:
    """Equal for strings whose parts differ in their numbers only; None for one whose parts are not known."""
    parts = parts_of(value)
    return None if parts is None else tuple(map(_layout_of_part, parts))


def _layout_of_part(part: Abstract) -> Hashable:
    match part:
        case Static():
            return str(part.value)
        case NumberText():
            return part.number.kind, part.spec, part.converted
        case RepeatedText():
            return RepeatedText, part.text
        case Char():
            return Char, part.decimal
    return id(part)


def number_of(part: Abstract) -> Abstract | None:
    """What differs by lane in a part of one layout."""
    match part:
        case NumberText() | Char():
            return part.number
        case RepeatedText():
            return part.count
    return None


def joined(parts: Sequence[Abstract]) -> Abstract | None:
    """The string of these parts, None where it is too long; neighbours that are known become one."""
    kept: list[Abstract] = []
    for part in parts:
        for each in part.parts if isinstance(part, Written) else (part,):
            if isinstance(each, Static) and kept and isinstance(last := kept[-1], Static):
                kept[-1] = Static(last.value + each.value)
            elif not isinstance(each, Static) or each.value:
                kept.append(each)
    if len(kept) > MAX_PARTS:
        return None
    return Static("") if not kept else kept[0] if len(kept) == 1 and not isinstance(kept[0], GuardedUnion) \
        else Written(tuple(kept))
