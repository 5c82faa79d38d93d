"""Comparisons of any two values: `==` and `<` by class, `is`, and `in`."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import libcst as cst
import numpy as np

from pyflat.frontend.library import iterators
from pyflat.frontend.space import (
    arrays,
    characters,
    complex_numbers,
    dict_views,
    growing,
    memories,
    missing,
    operators,
    ragged,
    scalars,
    scratch,
    unsigned,
    unsigned_operators,
    whole_arrays,
)
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.scalars import METHODS, const_eval
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import (
    describe,
    is_generator,
    is_lane_number,
    is_number_union,
    lane,
    number_in,
    numeric_kind,
    per_alternative,
    plain_number,
)
from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    BoundMethod,
    DictRef,
    GuardedUnion,
    LaneSet,
    ListRef,
    ObjRef,
    OtherText,
    Ranges,
    Scratch,
    Seq,
    Static,
    Unsigned,
    View,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.ops import MIRRORED
from pyflat.ir.types import BOOL, FLOAT, INT


@per_alternative("container")
def contains(s: Evaluator, container: Abstract, item: Abstract, node: cst.CSTNode) -> Abstract:
    """`item in container`, by == in order; an item found by identity counts as Python counts it."""
    if is_generator(container):
        return s.space.truth(s.space.call(Static(iterators.contains), Arguments([container, item], {}), node))
    container = scratch.seen(s, container)
    if isinstance(container, Scratch) and type(container.value) is dict:
        return scratch.contains(s, container, item, node)
    if isinstance(item, GuardedUnion):
        return s.split(item, lambda v: contains(s, container, v, node))
    if isinstance(container, LaneSet):
        return among(s, heap.contents_with_gaps(s, container.members, node), item, node)
    if characters.is_text(container) or characters.is_text(item) and isinstance(container, Static) \
            and type(container.value) is str:
        return characters.among(s, characters.items_of(s, container) or (), item, node)
    of_known = isinstance(container, Static) and isinstance(container.value, range | str)
    if isinstance(item, Unsigned) and (of_known or isinstance(container, Ranges)):
        return contains(s, container, unsigned.as_int(s, item), node)
    own = lookup.method_of(container, "__contains__")
    if own is not None:
        return s.space.truth(lookup.call_method(s, own, [container, item], node))
    if isinstance(container, Static) and hasattr(container.value, "__next__"):
        raise s.refuse("flatten/effect", "`in` uses up a captured iterator", node)
    if isinstance(container, Static) and isinstance(item, Static):
        return const_eval(s, lambda: item.value in container.value)
    if isinstance(container, Static) and isinstance(container.value, str) and numeric_kind(item) is not None:
        raise s.raised(TypeError, node)
    if isinstance(container, Static) and isinstance(container.value, range):
        return _in_range(s, container.value, item)
    if isinstance(container, Ranges) and not container.once and container.item is None and (
            container.step in (1, -1)):
        return _between(s, container, item)
    if dict_views.is_of_lanes(container, s):
        return s.space.truth(s.space.call(BoundMethod(container, "__contains__"), Arguments([item], {}), node))
    if isinstance(container, DictRef):
        members: Sequence[Abstract] = [Static(k) for k, _ in heap.contents(s, container, node)]
    elif ragged.is_ragged(s, container):
        return among(s, ragged.items_of(s, container, node), item, node)
    else:
        members = s.space.items(container, node)
    found: Abstract = Static(False)
    for member in members:
        same = (num.compare(s, "eq", member, item) if arrays.is_array(container)
                else same_element(s, member, item, node))
        if isinstance(same, Static):
            if same.value:
                return Static(True) if isinstance(found, Static) else scalars.choose(s, lane(found), Static(True), same)
            continue
        same_lane = s.space.truth(same)
        found = same_lane if isinstance(found, Static) else s.build.op("or", lane(found), lane(same_lane))
    return found


def among(s: Evaluator, members: Sequence[Abstract], item: Abstract, node: cst.CSTNode) -> Abstract:
    """Membership of a list whose length differs from lane to lane."""
    found: Static | Value = Static(False)
    for member in members:
        def same(there: Abstract) -> Static | Value:
            return s.space.truth(same_element(s, there, item, node))

        held = s.space.truth(heap.where_present(s, member, same, lambda: Static(False)))
        if isinstance(held, Static):
            if held.value:
                return held
            continue
        found = held if isinstance(found, Static) else s.build.op("or", found, held)
    return found


def _between(s: Evaluator, bounds: Ranges, item: Abstract) -> Abstract:
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


def _in_range(s: Evaluator, bounds: range, item: Abstract) -> Abstract:
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
    number = s.build.op("select", inside, scalars.to_kind(s, lane(item), INT), const(low))
    offset = s.build.op("mod", s.build.op("sub", number, const(low)), const(abs(bounds.step)))
    return s.build.op("and", inside, s.build.op("eq", offset, const(0)))


def compare(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """A comparison of numbers, arrays, tuples, strings or objects."""
    if is_lane_number(a) and is_lane_number(b):
        return scalars.compare(s, opcode, a, b)
    if (absent := missing.operate(s, opcode, a, b)) is not None:
        return absent
    if isinstance(a, View) or isinstance(b, View):
        return memories.computed(s, whole_arrays.compare(s, opcode, a, b, node), node)
    if not (isinstance(a, Static) and isinstance(b, Static)):
        a, b = plain_number(a, numpy=False), plain_number(b, numpy=False)
    if complex_numbers.meet(a, b):
        return complex_numbers.compare(s, opcode, a, b)
    if unsigned_operators.meet(s, opcode, a, b):
        return unsigned_operators.compare(s, opcode, a, b)
    if arrays.is_array(a) or arrays.is_array(b):
        return operators.compare_arrays(s, opcode, a, b, node)
    if (made := s.split_first((a, b), lambda x, y: compare(s, opcode, x, y, node), is_number_union)) is not None:
        return made
    if opcode in ("eq", "ne") and type(a) is ListRef and type(b) is ListRef and (
            growing.is_growing(s, a) or growing.is_growing(s, b)):
        equal = growing.equal(s, a, b, lambda x, y: same_element(s, x, y, node), node)
        return scalars.negate(s, s.space.truth(equal)) if opcode == "ne" else equal
    for one in (a, b):
        if ragged.is_ragged(s, one):
            return ragged.by_length(s, one, lambda: compare(s, opcode, a, b, node), node)
    if is_number_union(a) and is_number_union(b) or isinstance(a, GuardedUnion) or isinstance(b, GuardedUnion):
        return num.compare(s, opcode, a, b)
    if isinstance(a, LaneSet) or isinstance(b, LaneSet):
        return _compare_sets(s, opcode, a, b, node)
    if characters.is_text(a) or characters.is_text(b):
        return characters.compare(s, opcode, a, b, node)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, OtherText):
            return _compare_text(s, opcode, one, other, node)
    found = _by_method(s, opcode, a, b, node)
    if found is not None:
        return found
    if (x := number_in(a)) is not a or number_in(b) is not b:
        return compare(s, opcode, x, number_in(b), node)
    if isinstance(a, ObjRef) or isinstance(b, ObjRef):
        return _compare_objects(s, opcode, a, b, node)
    if _is_dict(a) and _is_dict(b):
        return _compare_dicts(s, opcode, a, b, node)
    return _compare_sequences(s, opcode, a, b, node)


def _compare_sets(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """As many members, and each of one among those of the other."""
    if opcode not in ("eq", "ne") or not (isinstance(a, LaneSet) and isinstance(b, LaneSet)):
        raise s.refuse("flatten/unsupported-expression", f"{describe(a)} is compared with {describe(b)}", node,
                       help="compare two sets of computed numbers, by == or !=")
    left, right = (heap.contents_with_gaps(s, each.members, node) for each in (a, b))
    found: Value = s.build.op("eq", lane(ragged.length(s, left)), lane(ragged.length(s, right)))
    for member in left:
        held = heap.where_present(s, member, lambda each: s.space.truth(among(s, right, each, node)),
                                  lambda: Static(True))
        found = s.build.op("and", found, lane(s.space.truth(held)))
    return scalars.negate(s, found) if opcode == "ne" else found


_NO_STRINGS = (int, float, complex, bytes, type(None), tuple, list, dict, set, frozenset)


def _compare_text(s: Evaluator, opcode: str, text: OtherText, other: Abstract, node: cst.CSTNode) -> Abstract:
    """A string that is none of the known ones, with `==` or `!=`. What is no string it is not equal to."""
    if opcode in ("eq", "ne"):
        if isinstance(other, Static) and type(other.value) is str:
            if other.value not in text.known:
                text.asked[other.value] = None
            return Static(opcode == "ne")
        if isinstance(other, Static) and type(other.value) in (*_NO_STRINGS, bool) or numeric_kind(other) is not None:
            return Static(opcode == "ne")
    raise s.refuse("flatten/unsupported-expression", f"{describe(text)} is compared with {describe(other)}", node,
                   help="compare with strings that are known, by == and `in`")


_TAKES: dict[type, tuple[type, ...]] = {
    int: (int,), float: (int, float), str: (str,), tuple: (tuple,), list: (list,), dict: (dict,)}
"""Whose instances the comparisons of a builtin class take."""


class _Rule(NamedTuple):
    """How a class answers a comparison of its instances: as `base` says."""

    base: type
    method: Any
    """A function written in Python, or None."""
    generated: bool
    """By dataclasses."""
    opposite: bool
    """`!=` is the opposite of `==`, as object has it."""


def _rule(owner: Abstract, opcode: str) -> _Rule | None:
    cls = lookup.class_of(owner)
    for base in () if cls is None else cls.__mro__:
        found = vars(base).get(METHODS[opcode])
        if found is None:
            continue
        if base is object and opcode == "ne":
            equality = _rule(owner, "eq")
            return equality and equality._replace(opposite=True)
        written = isinstance(found, types.FunctionType)
        generated = written and lookup.is_generated(found)
        return _Rule(base, found if written and not generated else None, generated, False)
    return None


def _by_method(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract | None:
    """A comparison in which a method written in Python may have a say: the left operand is asked, then the right one,
    whose class comes first if it is made from the other's. None where there is no such method, or a class is unknown.
    """
    asked = [(_rule(a, opcode), opcode, a, b), (_rule(b, MIRRORED[opcode]), MIRRORED[opcode], b, a)]
    if not any(rule and rule.method for rule, *_ in asked) and _as_number(a) is a and _as_number(b) is b:
        return None
    cls, other = lookup.class_of(a), lookup.class_of(b)
    if cls is not None and other is not None and cls is not other and issubclass(other, cls):
        asked.reverse()
    for rule, each, owner, operand in asked:
        if rule is None or not (rule.method or rule.generated or rule.base in _TAKES or rule.base is object):
            return None
        found = _answer(s, rule, each, owner, operand, node)
        if found is not None:
            return found
    if opcode not in ("eq", "ne"):
        raise s.raised(TypeError, node)
    return Static(_is_same(s, a, b, node) is (opcode == "eq"))


def _answer(s: Evaluator, rule: _Rule, opcode: str, owner: Abstract, operand: Abstract, node: cst.CSTNode
            ) -> Abstract | None:
    """What one operand says; None where it declines (NotImplemented)."""
    cls, other = lookup.class_of(owner), lookup.class_of(operand)
    s.guards.member(cls, METHODS[opcode])
    if rule.method is not None:
        found = operators.answer(s, rule.method, owner, operand, node)
        return scalars.negate(s, found) if found is not None and rule.opposite else found
    if rule.generated:
        return _compare_fields(s, rule.base, opcode, owner, operand, node) if other is cls else None
    takes = _TAKES.get(rule.base, ())
    if other is None or not issubclass(other, takes) or rule.base is dict and opcode not in ("eq", "ne"):
        return None
    if isinstance(owner, Static) and isinstance(operand, Static):
        return const_eval(s, lambda: getattr(rule.base, METHODS[opcode])(owner.value, operand.value))
    if rule.base is dict:
        return _compare_dicts(s, opcode, owner, operand, node)
    return _compare_sequences(s, opcode, _as_number(owner), _as_number(operand), node)


def _as_number(value: Abstract) -> Abstract:
    """The plain number that an instance of a subclass of int or float is."""
    if not isinstance(value, Static) or not isinstance(value.value, int | float) \
            or type(value.value) in (bool, int, float) or isinstance(value.value, np.generic):
        return value
    return Static(int.__int__(value.value) if isinstance(value.value, int) else float.__float__(value.value))


def _compare_sequences(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """Lists and tuples, item by item; what is no sequence is compared as numbers are."""
    left, right = s.space.sequence_items(a, node), s.space.sequence_items(b, node)
    if left is None or right is None or isinstance(a, Static) and isinstance(b, Static):
        return num.compare(s, opcode, a, b)
    if operators.family(a) is not operators.family(b):
        if opcode in ("eq", "ne"):
            return Static(opcode == "ne")
        raise s.raised(TypeError, node)
    if opcode not in ("eq", "ne"):
        return _lexicographic(s, opcode, left, right, node)
    equal: Abstract = Static(False)
    if len(left) == len(right):
        equal = _all_equal(s, list(zip(left, right, strict=True)), node)
    return scalars.negate(s, equal) if opcode == "ne" else equal


def _all_equal(s: Evaluator, pairs: Sequence[tuple[Abstract, Abstract]], node: cst.CSTNode) -> Abstract:
    equal: Abstract = Static(True)
    for x, y in pairs:
        same = s.space.truth(same_element(s, x, y, node))
        if isinstance(same, Static):
            if not same.value:
                return Static(False)
            continue
        equal = same if isinstance(equal, Static) else s.build.op("and", lane(equal), same)
    return equal


def same_element(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """Equality as containers use it: identical first, then ==.

    Only nan tells the two apart: where both values are nan they may be one object, and the lane is replayed.
    """
    if a is b:
        return Static(True)
    equal = compare(s, "eq", a, b, node)
    if complex_numbers.holds_complex(a) and complex_numbers.holds_complex(b):
        nans = [complex_numbers.is_nan(s, complex_numbers.promoted(s, value)) for value in (a, b)]
        heap.suspect_if(s, lane(complex_numbers.both(s, *nans)), "nan may be the same object", node)
    elif isinstance(a, GuardedUnion) or isinstance(b, GuardedUnion):
        for value in (a, b):
            if isinstance(value, GuardedUnion) and is_number_union(value):
                number = scalars.number_union_as_float(s, value)
                heap.suspect_if(s, s.build.op("ne", number, number), "nan may be the same object", node)
    elif numeric_kind(a) is FLOAT and numeric_kind(b) is FLOAT:
        nans = [num.compare(s, "ne", value, value) for value in (a, b)]
        if not any(isinstance(nan, Static) and not nan.value for nan in nans):
            heap.suspect_if(s, s.build.op("and", *map(lane, nans)), "nan may be the same object", node)
    return equal


def _is_dict(value: Abstract) -> bool:
    return isinstance(value, DictRef) or isinstance(value, Static) and isinstance(value.value, dict)


def _compare_dicts(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    if opcode not in ("eq", "ne"):
        raise s.raised(TypeError, node)
    left, right = s.space.dict_entries(a), s.space.dict_entries(b)
    equal: Abstract = Static(False)
    if left.keys() == right.keys():
        equal = _all_equal(s, [(left[k], right[k]) for k in left], node)
    return scalars.negate(s, equal) if opcode == "ne" else equal


def _compare_objects(s: Evaluator, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """Generated comparisons of dataclasses, otherwise identity."""
    if isinstance(a, ObjRef) and isinstance(b, ObjRef) and a.cls is b.cls and dataclasses.is_dataclass(a.cls):
        params = a.cls.__dataclass_params__  # type: ignore[attr-defined]
        if params.eq and opcode in ("eq", "ne") or params.order:
            return _compare_fields(s, a.cls, opcode, a, b, node)
    for value in (a, b):
        if isinstance(value, Static) and not lookup.is_plain(value.value):
            raise s.refuse("flatten/unsupported-expression", "a captured object is compared with one that is made here",
                           node)
    if opcode not in ("eq", "ne"):
        raise s.raised(TypeError, node)
    return Static(_is_same(s, a, b, node) is (opcode == "eq"))


def _compare_fields(s: Evaluator, cls: type, opcode: str, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """The comparison that dataclasses have written for `cls`."""
    names = [f.name for f in dataclasses.fields(cls) if f.compare]
    left, right = (heap.make_tuple([s.space.getattr(each, n, node) for n in names]) for each in (a, b))
    return compare(s, opcode, left, right, node)


def _lexicographic(s: Evaluator, opcode: str, left: Sequence[Abstract], right: Sequence[Abstract],
                   node: cst.CSTNode) -> Abstract:
    """The first pair of unequal items decides; if there is none, the lengths do."""
    if not left or not right:
        return num.compare(s, opcode, Static(len(left)), Static(len(right)))
    same = s.space.truth(same_element(s, left[0], right[0], node))
    rest = functools.partial(_lexicographic, s, opcode, left[1:], right[1:], node)
    if isinstance(same, Static):
        return rest() if same.value else compare(s, opcode, left[0], right[0], node)
    return s.branch(same, rest, lambda: compare(s, opcode, left[0], right[0], node))


@per_alternative("a", "b")
def identical(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode) -> Abstract:
    """`a is b`, decided for None, bools and objects; identity of numbers in lanes has no meaning."""
    a, b = (Static(v.value) if isinstance(v, Scratch) else v for v in (a, b))
    if isinstance(a, Static) and isinstance(b, Static):
        s.trace.outside_reads += a.value is not None and b.value is not None
        return Static(a.value is b.value)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Static) and type(one.value) is bool and isinstance(other, Value) and s.is_numpy(other):
            return Static(False)  # NumPy's bools are others than Python's
    if any(isinstance(v, Static) and v.value is None for v in (a, b)):
        return Static(False)
    if numeric_kind(a) is BOOL and s.may_be_numpy(a) or numeric_kind(b) is BOOL and s.may_be_numpy(b):
        raise s.refuse("flatten/unsupported-expression", "`is` on a NumPy bool", node)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, OtherText) and not (isinstance(other, Static) and type(other.value) in _NO_STRINGS):
            raise s.refuse("flatten/unsupported-expression", f"`is` on {describe(one)}", node, help="compare with ==")
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Static) and not isinstance(one.value, int | float):
            return Static(False)
        if isinstance(one, Static) and isinstance(one.value, bool) and isinstance(other, Value):
            if other.kind is BOOL:
                return num.compare(s, "eq", one, other)
            return Static(False)
    if all(isinstance(v, Unsigned) or complex_numbers.is_number(v) for v in (a, b)):
        raise s.refuse("flatten/unsupported-expression", "`is` on numbers has no meaning", node,
                       help="compare numbers with ==")
    return Static(_is_same(s, a, b, node))


def _is_same(s: Evaluator, a: Abstract, b: Abstract, node: cst.CSTNode) -> bool:
    """The identity of objects made in the flattened code."""
    if isinstance(a, Static) or isinstance(b, Static):
        return isinstance(a, Static) and isinstance(b, Static) and a.value is b.value
    if a in s.shared or b in s.shared:
        raise s.refuse("flatten/unsupported-expression", "an object shared by a cache is compared by identity",
                       node, why="which calls share an object depends on the arguments of all earlier calls",
                       help="compare the contents of the objects")
    if a in s.frozen or b in s.frozen:
        raise s.refuse("flatten/unsupported-expression", "the identity of objects that change hands in a loop", node)
    if isinstance(a, Seq) and isinstance(b, Seq) and a is not b:
        raise s.refuse("flatten/unsupported-expression", "the identity of two tuples", node,
                       why="the twin has their items", help="compare with ==")
    if isinstance(a, View) and isinstance(b, View) and a is not b:
        raise s.refuse("flatten/unsupported-expression", "the identity of two arrays", node,
                       why="arguments may be the same array", help="pass a flag")
    return a is b
