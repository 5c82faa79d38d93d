"""Results that are strings made from lanes: a template for each way in which they are put together.

    return f"{n} apples" if n != 1 else "1 apple"      Texts(("1 apple", Template("{} apples", ...)), (INT,))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyflat.frontend.state import written
from pyflat.frontend.state.kinds import alternatives
from pyflat.frontend.state.values import Abstract, Char, GuardedUnion, NumberText, RepeatedText, Static, Text
from pyflat.ir.build import const, undefined
from pyflat.ir.nodes import Value
from pyflat.ir.shape import Hole, Template, Texts, is_same_object
from pyflat.ir.types import BOOL, FLOAT, INT

_Emit = Callable[..., Value]
_ZERO = ord("0")


def is_known(value: Abstract) -> bool:
    """A string made from lanes of which it is known how."""
    return isinstance(value, Text) and _template(value) is not None


def shape(values: Sequence[Abstract]) -> Texts:
    """The shape that holds these strings and objects."""
    table: list[object] = []
    for value in values:
        made = _template(value) if isinstance(value, Text) else None
        item = value.value if isinstance(value, Static) else None if made is None else made[0]
        if not any(item is known or type(item) in (str, Template) and is_same_object(item, known) for known in table):
            table.append(item)
    places = [(hole.kind, hole.place) for item in table if isinstance(item, Template) for hole in item.holes]
    counts = {kind: max((place + 1 for of, place in places if of is kind), default=0) for kind in (INT, FLOAT, BOOL)}
    return Texts(tuple(table), tuple(kind for kind, count in counts.items() for _ in range(count)))


def leaves(shape: Texts, value: Abstract, emit: _Emit) -> list[Value] | None:
    """The leaves of one string or object; None for what the shape does not hold."""
    if isinstance(value, Static):
        code = shape.code(value.value)
        return None if code is None else [const(code), *map(undefined, shape.numbers)]
    made = _template(value)
    code = None if made is None else next((k for k, item in enumerate(shape.table) if item == made[0]), None)
    if made is None or code is None:
        return None
    found: list[Value] = [const(code), *map(undefined, shape.numbers)]
    for hole, part in zip(made[0].holes, made[1], strict=True):
        found[shape.leaf(hole)] = _number(part, hole, emit)
    return found


def _template(value: Abstract) -> tuple[Template, list[Abstract]] | None:
    """The template of a string, and the part that fills each hole; None where the parts are not known."""
    parts = written.parts_of(value)
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


def _number(part: Abstract, hole: Hole, emit: _Emit) -> Value:
    """The number in a hole."""
    match part:
        case GuardedUnion():
            return emit("select", part.cond, _number(part.then, hole, emit), _number(part.orelse, hole, emit))
        case NumberText():
            return part.number
        case RepeatedText():
            return part.count
        case Char():
            return emit("add", part.number, const(_ZERO)) if part.decimal else part.number
    word = _word(part)
    return const(hole.what.index(word) if hole.how == "word" else ord(word) if word else -1)
