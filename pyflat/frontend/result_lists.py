"""Results that are lists whose length differs from lane to lane: places, of which a lane has some.

    return [d for d in (2, 3, 5) if n % d == 0]        Ragged((Leaf(INT), Leaf(INT), Leaf(INT)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyflat.frontend.state.kinds import cells_of, lane
from pyflat.frontend.state.values import CONFLICT, UNBOUND, Abstract, GuardedUnion, ListRef, Seq, State, Static
from pyflat.ir.build import const
from pyflat.ir.nodes import FALSE, TRUE, Value

_Emit = Callable[..., Value]


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


def items_of(value: Abstract, state: State, emit: _Emit) -> list[tuple[Value, Abstract]]:
    """For each place of a list whether a lane has it, and the item there."""
    cells = cells_of(state.heap[value]) if isinstance(value, ListRef) else None
    places = places_of(value, state)
    assert places is not None
    if cells is not None:
        count = lane(cells.items[0])
        return [(emit("lt", const(k), count), item) for k, item in enumerate(places)]
    return [_present(item, emit) for item in places]


def _present(value: Abstract, emit: _Emit) -> tuple[Value, Abstract]:
    if not isinstance(value, GuardedUnion):
        return FALSE if value is UNBOUND else TRUE, value
    (here, then), (there, orelse) = _present(value.then, emit), _present(value.orelse, emit)
    item = orelse if then is UNBOUND else then if orelse is UNBOUND else GuardedUnion(value.cond, then, orelse)
    if here is TRUE and there is FALSE:
        return value.cond, item
    return TRUE if here is there is TRUE else emit("select", value.cond, here, there), item
