"""Strings made from lanes as parts, what merges of paths and results look at: the template of one, `ir.shape.Template`,
and strings that get longer in a loop.

    f"{n} apples", n a lane            the parts  n as format(n, "") writes it,  " apples"

    bits = ""                          GrownText: how many pieces a lane has, and a bounded number of places for them,
    while n > 0:                       each with the number of its template in a table, and the numbers that it writes
        bits = str(n % 2) + bits
        n //= 2
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from pyflat.frontend.state.kinds import alternatives, lane
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Cells,
    Char,
    Chars,
    GrownText,
    GuardedUnion,
    NumberText,
    RepeatedText,
    Seq,
    Static,
    Text,
    TextTable,
    Written,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.shape import Hole, Template
from pyflat.ir.types import BOOL, FLOAT, INT, Kind

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


Emit = Callable[..., Value]
_ZERO = ord("0")
_NOTHING: dict[Kind, Abstract] = {BOOL: Static(False), INT: Static(0), FLOAT: Static(0.0)}


def template_of(value: Abstract) -> tuple[Template, list[Abstract]] | None:
    """The template of a string, and the part that fills each hole; None where the parts are not known."""
    parts = parts_of(value)
    if parts is None:
        return None
    text, holes, filled = "", list[Hole](), list[Abstract]()
    for part in parts:
        if isinstance(part, Static):
            text += part.value.replace("{", "{{").replace("}", "}}")
            continue
        how, what = _how(part)
        kind = part.number.kind if isinstance(part, NumberText) else INT
        holes.append(Hole(kind, sum(hole.kind is kind for hole in holes), how, what))
        filled.append(part)
        text += _field(part)
    return Template(text, tuple(holes)), filled


def _field(part: Abstract) -> str:
    if not isinstance(part, NumberText):
        return "{}"
    conversion = "!s" if part.converted else ""
    return "{" + conversion + (":" + part.spec if part.spec else "") + "}"


def _how(part: Abstract) -> tuple[str, object]:
    match part:
        case Char():
            return "character", None
        case RepeatedText():
            return "times", part.text
        case GuardedUnion():
            if any(isinstance(one, Char) for one in alternatives(part)):
                return "character", None
            return "word", tuple(dict.fromkeys(map(_word, alternatives(part))))
    return "number", None


def _word(value: Abstract) -> str:
    return value.value if isinstance(value, Static) else ""


def number_in(part: Abstract, hole: Hole, emit: Emit) -> Value:
    """The number in a hole."""
    match part:
        case GuardedUnion():
            return emit("select", part.cond, number_in(part.then, hole, emit), number_in(part.orelse, hole, emit))
        case NumberText():
            return part.number
        case RepeatedText():
            return part.count
        case Char():
            return emit("add", part.number, const(_ZERO)) if part.decimal else part.number
    word = _word(part)
    return const(hole.what.index(word) if hole.how == "word" else ord(word) if word else -1)


# --- strings that get longer
def can_grow(value: Abstract) -> bool:
    """A string whose pieces are known."""
    return all(isinstance(one, GrownText) or (isinstance(one, Text) or is_known(one)) and template_of(one) is not None
               for one in alternatives(value))


def register(table: TextTable, value: Abstract) -> int:
    """The number of a string's template; the table gets room for its numbers."""
    made = template_of(value)
    assert made is not None
    if made[0] not in table.templates:
        table.templates.append(made[0])
    for kind in (INT, FLOAT, BOOL):
        missing = sum(hole.kind is kind for hole in made[0].holes) - table.numbers.count(kind)
        table.numbers += [kind] * missing
    return table.templates.index(made[0])


def piece(table: TextTable, value: Abstract, emit: Emit) -> Seq:
    """What a place has for one string."""
    code = register(table, value)
    made = template_of(value)
    assert made is not None
    numbers = [_NOTHING[kind] for kind in table.numbers]
    for hole, part in zip(made[0].holes, made[1], strict=True):
        numbers[position(table.numbers, hole)] = number_in(part, hole, emit)
    return Seq(tuple, (Static(code), *numbers))


def is_filled(template: Template) -> bool:
    """A text that is empty in no lane."""
    return any(hole.how == "number" for hole in template.holes) or bool((template.text or "").replace("{}", ""))


def position(numbers: Sequence[Kind], hole: Hole) -> int:
    """Where the number of a hole is among numbers in the order of their making."""
    return [place for place, kind in enumerate(numbers) if kind is hole.kind][hole.place]


def blank(numbers: Sequence[Kind]) -> Seq:
    return Seq(tuple, (Static(0), *(_NOTHING[kind] for kind in numbers)))


def padded(place: Abstract, numbers: Sequence[Kind]) -> Seq:
    """A place with all numbers that the table has by now."""
    assert isinstance(place, Seq)
    return Seq(tuple, (*place.items, *blank(numbers).items[len(place.items):]))


def grown(table: TextTable, value: Abstract, places: int, emit: Emit) -> GrownText:
    """A string as one of `places` places."""
    if isinstance(value, GrownText):
        count, *held = value.cells.items
        return GrownText(table, Seq(Cells, (count, *(padded(place, table.numbers) for place in held))))
    if isinstance(value, GuardedUnion):
        then, orelse = (grown(table, one, places, emit) for one in (value.then, value.orelse))
        return GrownText(table, _selected(value.cond, padded_cells(then, table), padded_cells(orelse, table), emit))
    filled = [] if isinstance(value, Static) and not value.value else [piece(table, value, emit)]
    rest = [blank(table.numbers)] * (places - len(filled))
    return GrownText(table, Seq(Cells, (Static(len(filled)), *filled, *rest)))


def padded_cells(value: GrownText, table: TextTable) -> Seq:
    count, *places = value.cells.items
    return Seq(Cells, (count, *(padded(place, table.numbers) for place in places)))


def _selected(cond: Value, a: Abstract, b: Abstract, emit: Emit) -> Seq:
    assert isinstance(a, Seq) and isinstance(b, Seq)
    items: list[Abstract] = []
    for x, y in zip(a.items, b.items, strict=True):
        items.append(_selected(cond, x, y, emit) if isinstance(x, Seq) else emit("select", cond, lane(x), lane(y)))
    return Seq(a.cls, tuple(items))


def tables_in(*values: Abstract) -> list[TextTable]:
    """The tables of the strings among these that get longer."""
    found: list[TextTable] = []
    for value in values:
        for one in alternatives(value):
            if isinstance(one, GrownText) and one.table not in found:
                found.append(one.table)
    return found


def are_strings(*values: Abstract) -> bool:
    return all(isinstance(one, Text) or is_known(one) for value in values for one in alternatives(value))
