"""`in`: membership by ==, with identity as Python's containers have it."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import libcst as cst

from pyflat.frontend.space import arrays, containers, objects
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.numbers import now, static
from pyflat.frontend.state.frames import Specialiser
from pyflat.frontend.state.merge import lane
from pyflat.frontend.state.values import Abstract, Choice, DictRef, Ranges, Static, numeric_kind
from pyflat.ir.build import const
from pyflat.ir.types import FLOAT, INT


def contains(s: Specialiser, container: Abstract, item: Abstract, node: cst.CSTNode) -> Abstract:
    """`item in container`, by == in order; an item found by identity counts as Python counts it."""
    if isinstance(container, Choice):
        return s.split(container, lambda v: contains(s, v, item, node))
    if isinstance(item, Choice):
        return s.split(item, lambda v: contains(s, container, v, node))
    own = objects.method_of(container, "__contains__")
    if own is not None:
        return num.truth(s, objects.call_function(s, own, [container, item], node))
    if isinstance(container, Static) and hasattr(container.value, "__next__"):
        raise s.refuse("flatten/effect", "`in` uses up a captured iterator", node)
    if isinstance(container, Static) and isinstance(item, Static):
        return now(s, lambda: item.value in container.value)
    if isinstance(container, Static) and isinstance(container.value, str) and numeric_kind(item) is not None:
        raise s.raised(TypeError, node)
    if isinstance(container, Static) and isinstance(container.value, range):
        return _in_range(s, container.value, item)
    if isinstance(container, Ranges) and not container.once and container.step in (1, -1):
        return _between(s, container, item)
    if isinstance(container, DictRef):
        members: Sequence[Abstract] = [static(k) for k, _ in containers.contents(s, container, node)]
    else:
        members = containers.items_now(s, container, node)
    found: Abstract = Static(False)
    for member in members:
        same = (num.compare(s, "eq", member, item) if arrays.is_array(container)
                else objects.same_element(s, member, item, node))
        if isinstance(same, Static):
            if same.value:
                return Static(True) if isinstance(found, Static) else num.choose(s, lane(found), Static(True), same)
            continue
        same_lane = num.truth(s, same)
        found = same_lane if isinstance(found, Static) else s.build.op("or", lane(found), lane(same_lane))
    return found


def _between(s: Specialiser, bounds: Ranges, item: Abstract) -> Abstract:
    """Membership of a range of lanes, without gaps: an int between the ends, or a float that equals one."""
    kind = numeric_kind(item)
    if kind is None:
        return Static(False)
    ends = ("ge", "lt") if bounds.step > 0 else ("le", "gt")
    tests = [num.compare(s, opcode, item, end) for opcode, end in zip(ends, (bounds.start, bounds.stop), strict=True)]
    if kind is FLOAT:
        number = lane(item)
        tests.append(s.build.op("eq", s.build.op("floor", number), number))
    return functools.reduce(functools.partial(s.build.op, "and"), map(lane, tests))


def _in_range(s: Specialiser, bounds: range, item: Abstract) -> Abstract:
    kind = numeric_kind(item)
    if kind is None or len(bounds) == 0:
        return Static(False)
    low, high = (bounds[0], bounds[-1]) if bounds.step > 0 else (bounds[-1], bounds[0])
    inside = s.build.op("and", lane(num.compare(s, "ge", item, Static(low))),
                        lane(num.compare(s, "le", item, Static(high))))
    if abs(bounds.step) == 1 and kind is not FLOAT:
        return inside
    if kind is FLOAT:
        whole = s.build.op("eq", s.build.op("floor", lane(item)), lane(item))
        inside = s.build.op("and", inside, whole)  # among whole numbers the difference is exact
        offset = s.build.op("mod", s.build.op("sub", lane(item), const(float(low))), const(float(abs(bounds.step))))
        return s.build.op("and", inside, s.build.op("eq", offset, const(0.0)))
    number = s.build.op("select", inside, num.to_kind(s, lane(item), INT), const(low))
    offset = s.build.op("mod", s.build.op("sub", number, const(low)), const(abs(bounds.step)))
    return s.build.op("and", inside, s.build.op("eq", offset, const(0)))
