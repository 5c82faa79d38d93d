"""Sets whose members differ from lane to lane: a list of its own has them (`keyed`).

    len({a, b, c})      a; b where it is not a; c where it is neither

Python's order of such a set goes by hashes, so that only what does not depend on an order is done with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from pyflat.frontend.space import characters, keyed, ragged
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import is_number_union, lane, numeric_kind, per_alternative
from pyflat.frontend.state.values import NONE, Abstract, LaneSet, Static
from pyflat.ir.types import BOOL, INT


def make(s: Evaluator, items: Sequence[Abstract], node: cst.CSTNode) -> LaneSet:
    made = LaneSet(heap.new_list(s, ()))
    for item in items:
        add(s, made, item, node)
    return made


def members(s: Evaluator, value: LaneSet, node: cst.CSTNode | None = None) -> tuple[Abstract, ...]:
    return heap.contents_with_gaps(s, value.members, node)


def add(s: Evaluator, to: LaneSet, item: Abstract, node: cst.CSTNode) -> None:
    """A member that may be a gap itself."""
    heap.where_present(s, item, lambda value: _add(s, to, value, node), lambda: NONE)


@per_alternative("value", unless=is_number_union)
def _add(s: Evaluator, to: LaneSet, value: Abstract, node: cst.CSTNode) -> Abstract:
    keyed.check_key(s, value, "a set", node)
    held = [here for here, _ in keyed.matches(s, to.members, value, node, pairs=False)]
    keyed.add(s, to.members, value, held, "a set", node)
    return NONE


def unordered(s: Evaluator, value: Abstract, node: cst.CSTNode, key: Abstract, *, of_ints: bool = False
              ) -> list[Abstract] | None:
    """The members for what does not depend on their order: a sum of ints, an extreme without a key and nan. None for
    anything but a set of lanes."""
    if not isinstance(value, LaneSet):
        return None
    if not (isinstance(key, Static) and key.value is None):
        raise s.refuse("flatten/unsupported-expression", "a key= for a set of computed numbers", node,
                       why="which of equal keys comes first depends on the order of the set, which goes by hashes")
    found = list(members(s, value, node))
    for item in found:
        present, there = ragged.split_gap(s, item)
        kind = numeric_kind(there)
        if of_ints and kind not in (INT, BOOL):
            raise s.refuse("flatten/unsupported-expression", "the sum of a set of floats", node,
                           why="it depends on the order of the set, which goes by hashes", help="sum(sorted(...))")
        if kind not in (INT, BOOL) and not characters.is_text(there):
            nan = lane(s.space.truth(s.space.compare("ne", there, there, node)))
            heap.suspect_if(s, s.build.op("and", lane(present), nan), "nan in a set", node)
    return found


@per_alternative("item", unless=is_number_union)
def _drop(s: Evaluator, owner: LaneSet, item: Abstract, node: cst.CSTNode, *, required: bool) -> Abstract:
    held = [here for here, _ in keyed.matches(s, owner.members, item, node, pairs=False)]
    if required:
        keyed.raise_where_missing(s, held, node)
    keyed.drop(s, owner.members, held, node)
    return NONE


def method(s: Evaluator, owner: LaneSet, name: str, values: list[Abstract], node: cst.CSTNode) -> Abstract | None:
    match name:
        case "add" if len(values) == 1:
            add(s, owner, values[0], node)
        case "discard" if len(values) == 1:
            _drop(s, owner, values[0], node, required=False)
        case "remove" if len(values) == 1:
            _drop(s, owner, values[0], node, required=True)
        case "clear" if not values:
            keyed.drop(s, owner.members, [Static(True)] * len(members(s, owner, node)), node)
        case "copy" if not values:
            made = LaneSet(heap.new_list(s, ()))
            s.state.heap[made.members] = s.state.heap[owner.members]
            return made
        case _:
            return None
    return NONE
