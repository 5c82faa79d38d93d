"""Results that are strings made from lanes, or lists of lanes. A string has a template for each way in which they
are put together.

    return f"{n} apples" if n != 1 else "1 apple"      Texts(("1 apple", Template("{} apples", ...)), (INT,))

Lists whose length differs from lane to lane are places, of which a lane has some.

    return [d for d in (2, 3, 5) if n % d == 0]        Ragged((Leaf(INT), Leaf(INT), Leaf(INT)))

A string that gets longer in a loop is its pieces: Record(str, (), (Ragged((Texts(...), Texts(...), ...)),)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyflat.frontend.state.kinds import cells_of, lane
from pyflat.frontend.state.templates import Emit, are_strings, can_grow, number_in, position, tables_in, template_of
from pyflat.frontend.state.values import (
    CONFLICT,
    UNBOUND,
    Abstract,
    GrownText,
    GuardedUnion,
    ListRef,
    Seq,
    State,
    Static,
    Text,
)
from pyflat.ir.build import const, undefined
from pyflat.ir.nodes import FALSE, TRUE, Value
from pyflat.ir.shape import Hole, Ragged, Record, Template, Texts, is_same_object
from pyflat.ir.types import BOOL, FLOAT, INT

_BY_VALUE = (str, Template, bool, int, float, complex)


def _known(value: Static) -> object:
    """A known object as the original returns it, a number of NumPy's as Python's."""
    return value.value.item() if isinstance(value.value, np.generic) else value.value


def is_known(value: Abstract) -> bool:
    """A string made from lanes of which it is known how."""
    return isinstance(value, Text) and template_of(value) is not None


def shape(values: Sequence[Abstract]) -> Texts:
    """The shape that holds these strings and objects."""
    table: list[object] = []
    for value in values:
        made = template_of(value) if isinstance(value, Text) else None
        item = _known(value) if isinstance(value, Static) else None if made is None else made[0]
        if not any(item is known or type(item) in _BY_VALUE and is_same_object(item, known) for known in table):
            table.append(item)
    return Texts.of(table)


def leaves(shape: Texts | Record, value: Abstract, emit: Emit) -> list[Value] | None:
    """The leaves of one string, or object; None for what the shape does not hold."""
    return _leaves(shape, value, emit) if isinstance(shape, Texts) else _grown_leaves(shape, value, emit)


def _leaves(shape: Texts, value: Abstract, emit: Emit) -> list[Value] | None:
    if isinstance(value, Static):
        code = shape.code(_known(value))
        return None if code is None else [const(code), *map(undefined, shape.numbers)]
    made = template_of(value) if isinstance(value, Text) else None
    code = None if made is None else next((k for k, item in enumerate(shape.table) if item == made[0]), None)
    if made is None or code is None:
        return None
    found: list[Value] = [const(code), *map(undefined, shape.numbers)]
    for hole, part in zip(made[0].holes, made[1], strict=True):
        found[shape.leaf(hole)] = number_in(part, hole, emit)
    return found


# --- strings that get longer in a loop
def grown_shape(values: Sequence[Abstract]) -> Record | None:
    """The shape of the pieces of these strings; None where none gets longer, or where their pieces have no table."""
    tables = tables_in(*values)
    if len(tables) != 1 or not are_strings(*values) or not all(map(can_grow, values)):
        return None
    whole = [value for value in values if not isinstance(value, GrownText)]
    table = [*tables[0].templates, *shape(whole).table]
    most = max(len(value.cells.items) - 1 for value in values if isinstance(value, GrownText))
    return Record(str, (), (Ragged((Texts.of(table),) * most),))


def _grown_leaves(shape: Record, value: Abstract, emit: Emit) -> list[Value] | None:
    """The leaves of the pieces of one string."""
    (pieces,) = shape.items
    assert isinstance(pieces, Ragged)
    texts = pieces.items[0]
    assert isinstance(texts, Texts)
    nothing = [undefined(INT), *map(undefined, texts.numbers)]
    if not isinstance(value, GrownText):
        first = _leaves(texts, value, emit)
        return None if first is None else [const(0), TRUE, *first, *[FALSE, *nothing] * (len(pieces.items) - 1)]
    count, *places = value.cells.items
    found: list[Value] = [const(0)]
    for k in range(len(pieces.items)):
        if k < len(places):
            found += [emit("lt", const(k), lane(count)), *_piece(texts, places[k], value)]
        else:
            found += [FALSE, *nothing]
    return found


def _piece(texts: Texts, place: Abstract, value: GrownText) -> list[Value]:
    """The leaves of one piece, whose numbers are in the order of their making, by kind."""
    assert isinstance(place, Seq)
    code, *numbers = place.items
    row: list[Value] = [lane(code), *map(undefined, texts.numbers)]
    for kind in (INT, FLOAT, BOOL):
        for k in range(texts.numbers.count(kind)):
            at = position(value.table.numbers, Hole(kind, k)) if k < value.table.numbers.count(kind) else len(numbers)
            if at < len(numbers):
                row[texts.leaf(Hole(kind, k))] = lane(numbers[at])
    return row


def places_of(value: Abstract, state: State) -> Sequence[Abstract] | None:
    """The items that a list may have in some lane; None for what is no list."""
    match value:
        case ListRef() if type(value) is ListRef:
            items = state.heap[value]
            if items is CONFLICT:
                return None
            cells = cells_of(items)
            return items if cells is None else cells.items[1:]
        case Seq() if value.cls is list:
            return value.items
        case Static() if type(value.value) is list:
            return list(map(Static, value.value))
    return None


def items_of(value: Abstract, state: State, emit: Emit) -> list[tuple[Value, Abstract]]:
    """For each place of a list whether a lane has it, and the item there."""
    cells = cells_of(state.heap[value]) if isinstance(value, ListRef) else None
    places = places_of(value, state)
    assert places is not None
    if cells is not None:
        count = lane(cells.items[0])
        return [(emit("lt", const(k), count), item) for k, item in enumerate(places)]
    return [_present(item, emit) for item in places]


def _present(value: Abstract, emit: Emit) -> tuple[Value, Abstract]:
    if not isinstance(value, GuardedUnion):
        return FALSE if value is UNBOUND else TRUE, value
    (here, then), (there, orelse) = _present(value.then, emit), _present(value.orelse, emit)
    item = orelse if then is UNBOUND else then if orelse is UNBOUND else GuardedUnion(value.cond, then, orelse)
    if here is TRUE and there is FALSE:
        return value.cond, item
    return TRUE if here is there is TRUE else emit("select", value.cond, here, there), item
