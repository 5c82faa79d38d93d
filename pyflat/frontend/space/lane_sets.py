"""Sets whose members differ from lane to lane: a list with gaps (`ragged`) in which no member is twice.

    len({a, b, c})      a; b where it is not a; c where it is neither

Python's order of such a set goes by hashes, so that only what does not depend on an order is done with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from pyflat.frontend.space import characters, comparisons, ragged
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, lane, numeric_kind
from pyflat.frontend.state.values import UNBOUND, Abstract, GuardedUnion, LaneSet, Seq, Static
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, INT

MAX_MEMBERS = 32


def make(s: Evaluator, items: Sequence[Abstract], node: cst.CSTNode) -> LaneSet:
    made = LaneSet(heap.new_list(s, ()))
    for item in items:
        add(s, made, item, node)
    return made


def members(s: Evaluator, value: LaneSet, node: cst.CSTNode | None = None) -> tuple[Abstract, ...]:
    return heap.contents_with_gaps(s, value.members, node)


def add(s: Evaluator, to: LaneSet, item: Abstract, node: cst.CSTNode) -> None:
    """A member that may be a gap itself."""
    there = members(s, to, node)
    present, value = ragged.split_gap(s, item)
    if value is UNBOUND:
        return
    if numeric_kind(value) is None and not isinstance(value, Seq | Static) and not characters.is_text(value):
        raise s.refuse("flatten/unsupported-expression", f"a set with {describe(value)}", node)
    if len(there) >= MAX_MEMBERS:
        raise s.refuse("flatten/too-large", f"a set of lanes gets more than {MAX_MEMBERS} members", node,
                       why="each member is compared with all others, and each comparison is an operation of the twin",
                       help="write numbers and loops instead of the set; np.unique, before the call, for whole arrays")
    new: Value = lane(present)
    found = lane(s.space.truth(_among(s, there, value, present, node)))
    new = s.build.op("and", new, s.build.op("not", found))
    heap.rewrite(s, to.members, (*there, GuardedUnion(new, value, UNBOUND)), node)


def _among(s: Evaluator, there: Sequence[Abstract], value: Abstract, present: Static | Value, node: cst.CSTNode
           ) -> Abstract:
    if isinstance(present, Static):
        return comparisons.among(s, there, value, node)
    return s.branch(present, lambda: comparisons.among(s, there, value, node), lambda: Static(False))


def contains(s: Evaluator, value: LaneSet, item: Abstract, node: cst.CSTNode) -> Abstract:
    return comparisons.among(s, members(s, value, node), item, node)


def unordered(s: Evaluator, value: Abstract, node: cst.CSTNode, key: Abstract, *, of_ints: bool = False
              ) -> list[Abstract] | None:
    """The members for what does not depend on their order: a sum of ints, an extreme without a key and nan. None for
    anything but a set of lanes."""
    if not isinstance(value, LaneSet):
        return None
    if not (isinstance(key, Static) and key.value is None):
        raise s.refuse("flatten/unsupported-expression", "a key= for a set of lanes", node,
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


def _without(s: Evaluator, value: LaneSet, item: Abstract, node: cst.CSTNode) -> tuple[Abstract, ...]:
    """The members that are not `item`."""
    rest: list[Abstract] = []
    for member in members(s, value, node):
        present, there = ragged.split_gap(s, member)
        same = heap.where_present(s, member, lambda each: s.space.truth(comparisons.same_element(s, each, item, node)),
                                  lambda: Static(True))
        kept = s.build.op("and", lane(present), s.build.op("not", lane(s.space.truth(same))))
        rest.append(GuardedUnion(kept, there, UNBOUND))
    return tuple(rest)


def method(s: Evaluator, owner: LaneSet, name: str, values: list[Abstract], node: cst.CSTNode) -> Abstract | None:
    match name:
        case "add" if len(values) == 1:
            add(s, owner, values[0], node)
        case "discard" if len(values) == 1:
            heap.rewrite(s, owner.members, _without(s, owner, values[0], node), node)
        case "remove" if len(values) == 1:
            missing = s.build.op("not", lane(s.space.truth(contains(s, owner, values[0], node))))
            heap.raise_if(s, missing, KeyError)
            heap.rewrite(s, owner.members, _without(s, owner, values[0], node), node)
        case "clear" if not values:
            heap.rewrite(s, owner.members, (), node)
        case "copy" if not values:
            return LaneSet(heap.new_list(s, members(s, owner, node)))
        case _:
            return None
    return Static(None)
