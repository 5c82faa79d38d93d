"""Reductions, iterators, and builtins that look at types."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import libcst as cst

from pyflat.frontend.builtins.support import Handler, only
from pyflat.frontend.library import dates
from pyflat.frontend.library import table as library
from pyflat.frontend.space import (
    characters,
    containers,
    dict_views,
    growing,
    keyed,
    number_classes,
    ragged,
    scalars,
    texts,
    width_rules,
)
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state import heap, lookup
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import describe, is_folded, is_generator, is_number_union, lane, numeric_kind
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Arguments,
    Char,
    DictRef,
    GuardedUnion,
    LaneSet,
    Lazy,
    ListRef,
    NumberText,
    ObjRef,
    Ranges,
    Seq,
    Spaced,
    Static,
    Unsigned,
    View,
    WithoutAxes,
)
from pyflat.ir.build import const
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, FLOAT, INT


# --- reductions and sequences
def least(opcode: str) -> Handler:
    """min and max as Python computes them: `b if b < a else a`, in order."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        items = arguments.positional
        key = arguments.named.get("key", Static(None))
        best: Abstract = UNBOUND
        if len(items) == 1 and is_folded(items[0]):
            best = s.space.fold(items[0], best, lambda old, make: _better(s, opcode, key, old, node, make()),
                                node)
            items = []
        elif len(items) == 1:
            items = _unordered(s, items[0], node, key)
        for item in items:
            best = heap.where_present(s, item, functools.partial(_better, s, opcode, key, best, node),
                                      functools.partial(_same, best))

        def nothing() -> Abstract:
            if "default" in arguments.named:
                return arguments.named["default"]
            raise s.raised(ValueError, node)

        return heap.where_present(s, best, lambda pair: pair.items[0] if isinstance(pair, Seq) else pair, nothing)

    return handler


def _same(value: Abstract) -> Abstract:
    return value


def _better(s: Evaluator, opcode: str, key: Abstract, best: Abstract, node: cst.CSTNode, item: Abstract) -> Abstract:
    """The better of `best` (UNBOUND: none yet) and `item`, as (item, key) pairs where there is a key function."""
    has_key = not (isinstance(key, Static) and key.value is None)
    pair: Abstract = item
    if has_key or s.space.sequence_items(item, node) is not None:
        ranked = s.space.call(key, Arguments([item], {}), node) if has_key else item
        pair = Seq(_Ranked, (item, ranked))

    def against(old: Abstract) -> Abstract:
        ranks = (pair.items[1], old.items[1]) if isinstance(pair, Seq) and isinstance(old, Seq) else (pair, old)
        better = s.space.truth(s.space.compare(opcode, *ranks, node))
        if isinstance(better, Static):
            return pair if better.value else old
        return scalars.choose(s, better, pair, old)

    return heap.where_present(s, best, against, lambda: pair)


class _Ranked(tuple[Any, ...]):
    """An item of min or max beside the key that ranks it."""

    __slots__ = ()


def _unordered(s: Evaluator, source: Abstract, node: cst.CSTNode, key: Abstract) -> list[Abstract]:
    """The items, gaps included, for what does not depend on their order."""
    found = keyed.unordered(s, source, node, key)
    return containers.items_or_gaps(s, source, node) if found is None else found


def product(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    total = arguments.named.get("start", Static(1))
    if is_folded(arguments.positional[0]):
        return s.space.fold(arguments.positional[0], total, lambda old, make: num.binary(s, "mul", old, make()), node)
    for item in containers.items_or_gaps(s, arguments.positional[0], node):
        total = heap.where_present(s, item, functools.partial(num.binary, s, "mul", total),
                                   functools.partial(_same, total))
    return total


def some(opcode: str) -> Handler:
    """any and all: an element is computed only in the lanes that no earlier one has decided."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        stop = opcode == "or"
        source = only(s, arguments, node, 1, 1)[0]
        if isinstance(source, GuardedUnion):
            return s.split(source, lambda v: handler(s, Arguments([v], {}), node))
        if is_folded(source):
            return s.space.fold(source, Static(not stop), functools.partial(_decided, s, stop), node)
        items = iter(containers.gaps_of(s, source, node))
        known: Abstract = Static(not stop)
        while True:
            found = _next_truth(s, items, known, stop)
            if found is None:
                return known
            known = found
            if isinstance(known, Static) and bool(known.value) is stop:
                return known

    return handler


def _decided(s: Evaluator, stop: bool, known: Abstract, make: Callable[[], Abstract]) -> Abstract:
    """`known` after one more element, which is made only in the lanes that are not decided."""
    if isinstance(known, Static):
        return s.space.truth(make())
    decided = lane(known) if stop else s.build.op("not", lane(known))
    return s.space.truth(s.branch(decided, lambda: Static(stop), lambda: s.space.truth(make())))


def _next_truth(s: Evaluator, items: Iterator[Abstract], known: Abstract, stop: bool) -> Abstract | None:
    """`known` after one more element; None when there is none."""
    ended = False

    def test() -> Abstract:
        nonlocal ended
        try:
            item = next(items)
        except StopIteration:
            ended = True
            return Static(not stop)
        return heap.where_present(s, item, s.space.truth, lambda: Static(not stop))

    found = _decided(s, stop, known, test)
    return None if ended else found


def set_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 0, 1)
    if not values:
        return keyed.make(s, [], node)
    source = values[0]
    items: Sequence[Abstract]
    if isinstance(source, LaneSet):
        items = keyed.members(s, source, node)
    else:
        items = containers.items_or_gaps(s, source, node)
    known = all(isinstance(item, Static) for item in items)
    return containers.make_set(s, items, node) if known else keyed.make(s, items, node)


def frozenset_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 0, 1)
    items = s.space.items(values[0], node) if values else []
    if not all(isinstance(item, Static) for item in items):
        raise s.refuse("flatten/unsupported-expression", "a frozenset of computed numbers", node, help="use a set")
    return containers.make_set(s, items, node)


def len_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    if isinstance(value, View):
        if not value.extents:
            raise s.raised(TypeError, node)
        return value.extents[0]
    if isinstance(value, LaneSet):
        return ragged.length(s, keyed.members(s, value, node))
    if characters.is_text(value):
        return characters.length(s, value, characters.items_of(s, value) or (), node)
    if isinstance(value, ListRef) and growing.is_growing(s, value):
        return growing.parts(s, value)[0]
    if ragged.is_ragged(s, value):
        return ragged.length(s, ragged.items_of(s, value, node))
    if isinstance(value, Lazy) and value.written is not None and isinstance(value.written.node, cst.ListComp):
        return s.space.fold(value, Static(0), lambda old, make: _one_more(s, old, make), node)
    if dict_views.is_of_lanes(value, s):
        return dict_views.length(s, value, node)
    if isinstance(value, DictRef):
        return Static(len(heap.contents(s, value, node)))
    if isinstance(value, Ranges):
        if value.once:
            raise s.raised(TypeError, node)
        return s.space.call(Static(library.range_length),
                            Arguments([value.start, value.stop, Static(value.step)], {}), node)
    found = lookup.method_of(value, "__len__")
    if found is not None:
        return lookup.call_method(s, found, [value], node)
    if isinstance(value, Static):
        return const_eval(s, lambda: len(value.value))
    items = s.space.sequence_items(value, node)
    if items is None:
        raise s.refuse("flatten/unsupported-expression", f"len() of {describe(value)}", node,
                       help=s.one_number if numeric_kind(value) is not None else "")
    return Static(len(items))


def _one_more(s: Evaluator, count: Abstract, make: Callable[[], Abstract]) -> Abstract:
    make()  # it may raise
    return num.binary(s, "add", count, Static(1))


def range_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 1, 3)
    if any(numeric_kind(v) is FLOAT for v in values):
        raise s.fault("TypeError", "'float' object cannot be interpreted as an integer", node)
    if all(isinstance(v, Static) for v in values):
        return const_eval(s, lambda: range(*[v.value for v in values if isinstance(v, Static)]))
    if s.widths.kernel:
        values = [width_rules.python(s, s.widths, value) for value in values]
    start, stop = (Static(0), values[0]) if len(values) == 1 else (values[0], values[1])
    step = values[2] if len(values) == 3 else Static(1)
    stands = s.space.truth(num.compare(s, "eq", step, Static(0)))
    if isinstance(stands, Static):
        if stands.value:
            raise s.raised(ValueError, node)
    else:
        heap.raise_if(s, stands, ValueError)
    if isinstance(step, Static):
        return Ranges(start, stop, step.value)
    length = s.space.call(Static(library.range_length), Arguments([start, stop, step], {}), node)
    return Ranges(Static(0), length, 1, Spaced(functools.partial(_element, s), start, step))


def _element(s: Evaluator, first: Abstract, step: Abstract, number: Abstract) -> Abstract:
    return num.binary(s, "add", first, num.binary(s, "mul", number, step))


def list_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 0, 1)
    if not values:
        return heap.new_list(s, [])
    source = values[0]
    if isinstance(source, ListRef) and growing.is_growing(s, source):
        return growing.new(s, *growing.parts(s, source))
    if is_folded(source):
        return s.space.listed(source, node)
    return heap.new_list(s, containers.items_or_gaps(s, source, node))


def sequence(make: Callable[[Evaluator, list[Abstract]], Abstract]) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        values = only(s, arguments, node, 0, 1)
        return make(s, s.space.items(values[0], node) if values else [])

    return handler


def dict_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    entries: list[tuple[Abstract, Abstract]] = []
    for value in arguments.positional:
        if dict_views.is_of_lanes(value, s) and not arguments.named:
            return keyed.copied(s, value, node, dict)
        if isinstance(value, DictRef) or isinstance(value, Static) and isinstance(value.value, dict):
            entries += [(Static(key), item) for key, item in s.space.dict_entries(value).items()]
            continue
        for pair in s.space.items(value, node):
            key, item = s.space.items(pair, node)
            entries.append((key, item))
    return keyed.of_pairs(s, [*entries, *((Static(name), item) for name, item in arguments.named.items())], node)


def sort_lanes(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """A stable insertion network of compare-and-exchange: for a few lanes."""
    source = arguments.positional[0]
    key = arguments.named.get("key", Static(None))
    if isinstance(source, ListRef) and growing.is_growing(s, source):
        return _sort_growing(s, source, arguments, node)
    if is_generator(source) or is_folded(source) and s.grows:
        return sort_lanes(s, Arguments([s.space.listed(source, node)], arguments.named), node)
    items = _unordered(s, source, node, key)
    if heap.has_gaps(items):
        return _sort_ragged(s, items, arguments, node)
    known = [v.value for v in [*items, *arguments.named.values()] if isinstance(v, Static)]
    if len(known) == len(items) + len(arguments.named) and not any(isinstance(v, types.FunctionType) for v in known):
        named = {k: v.value for k, v in arguments.named.items() if isinstance(v, Static)}
        ordered = const_eval(s, lambda: sorted(known[:len(items)], **named))
        assert isinstance(ordered, Static)
        return heap.new_list(s, [Static(v) for v in ordered.value])
    return heap.new_list(s, _sorted(s, items, len(items), Static(len(items)), arguments, node))


def _sort_growing(s: Evaluator, source: Abstract, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """Each item is inserted behind those that are not greater (smaller, with `reverse`), in a loop over the list."""
    key, reverse = arguments.named.get("key", Static(None)), arguments.named.get("reverse", Static(False))
    if not isinstance(reverse, Static) or arguments.named.keys() - {"key", "reverse"}:
        raise s.refuse("flatten/bad-call", "these options of sorted()", node)
    if not (isinstance(key, Static) and key.value is None):
        raise s.refuse("flatten/not-yet", "sorting a list that grows in a loop by a key", node,
                       help="append tuples (key, item) and sort them")
    assert isinstance(source, ListRef)
    made = growing.new(s, Static(0), growing.parts(s, source)[1])

    def insert(_: object, item: Abstract) -> None:
        _suspect_nan(s, item, node)
        growing.insert_sorted(s, made, item, lambda a, b: s.space.truth(
            s.space.compare("gt" if reverse.value else "lt", a, b, node)), node)

    bounds = growing.as_range(s, source, node)
    assert isinstance(bounds, Ranges)
    s.space.repeat(node, bounds, insert)
    return made


def _sort_ragged(s: Evaluator, items: list[Abstract], arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """Behind the last item of a lane nothing is exchanged."""
    items, least, count = ragged.packed(s, items, node)
    return heap.new_list(s, heap.with_gaps(s, _sorted(s, items, least, count, arguments, node), count, least))


def _sorted(s: Evaluator, items: list[Abstract], least: int, count: Abstract, arguments: Arguments, node: cst.CSTNode
            ) -> list[Abstract]:
    """The items in their order, of which every lane has `least` and a lane has `count`."""
    key, reverse = arguments.named.get("key", Static(None)), arguments.named.get("reverse", Static(False))
    if not isinstance(reverse, Static) or arguments.named.keys() - {"key", "reverse"}:
        raise s.refuse("flatten/bad-call", "these options of sorted()", node)
    if len(items) > 16:
        raise s.refuse("flatten/too-large", f"sorting {len(items)} computed numbers", node)
    if isinstance(key, Static) and key.value is None:
        ranks = list(items)
    else:
        ranks = []
        for at, item in enumerate(items):
            def ranked(item: Abstract = item) -> Abstract:
                return s.space.call(key, Arguments([item], {}), node)

            ranks.append(_where(s, at < least, count, at, ranked, item))
    for at, rank in enumerate(ranks):
        _where(s, at < least, count, at, functools.partial(_suspect_nan, s, rank, node), Static(None))
    opcode = "gt" if reverse.value else "lt"  # both keep the order of equal items
    for end in range(1, len(items)):
        for at in range(end, 0, -1):
            def before(at: int = at) -> Abstract:
                return s.space.truth(s.space.compare(opcode, ranks[at], ranks[at - 1], node))

            swap = s.space.truth(_where(s, end < least, count, end, before, Static(False)))
            together = ranks[at] is items[at] and ranks[at - 1] is items[at - 1]
            items[at - 1], items[at] = _exchange(s, swap, items[at - 1], items[at])
            exchanged = _exchange(s, swap, ranks[at - 1], ranks[at])
            ranks[at - 1], ranks[at] = items[at - 1:at + 1] if together else exchanged
    return items


def _where(s: Evaluator, always: bool, count: Abstract, at: int, make: Callable[[], Abstract | None],
           otherwise: Abstract) -> Abstract:
    """`make()` in the lanes that have an item at this place."""
    if always:
        return make() or otherwise
    return s.branch(s.build.op("gt", lane(count), const(at)), make, lambda: otherwise)


def _exchange(s: Evaluator, swap: Static | Value, a: Abstract, b: Abstract) -> tuple[Abstract, Abstract]:
    if isinstance(swap, Static):
        return (b, a) if swap.value else (a, b)
    return scalars.choose(s, swap, b, a), scalars.choose(s, swap, a, b)


def _suspect_nan(s: Evaluator, rank: Abstract, node: cst.CSTNode) -> None:
    """Where nan ends up in a sort depends on CPython's algorithm."""
    if isinstance(rank, Value) and rank.kind is FLOAT:
        heap.suspect_if(s, s.build.op("ne", rank, rank), "nan in a sort", node)
    elif isinstance(rank, GuardedUnion) and is_number_union(rank):
        _suspect_nan(s, scalars.number_union_as_float(s, rank), node)
    elif isinstance(rank, Seq):
        for item in rank.items:
            _suspect_nan(s, item, node)


def reduce_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    fn, source, *start = only(s, arguments, node, 2, 3)
    if is_folded(source):
        return _reduced_range(s, fn, source, start[0] if start else UNBOUND, node)
    items = [*start, *s.space.items(source, node)]
    if not items:
        raise s.raised(TypeError, node)
    total = items[0]
    for item in items[1:]:
        total = s.space.call(fn, Arguments([total, item], {}), node)
    return total


def _reduced_range(s: Evaluator, fn: Abstract, source: Abstract, start: Abstract, node: cst.CSTNode) -> Abstract:
    def step(total: Abstract, make: Callable[[], Abstract]) -> Abstract:
        item = make()
        return heap.where_present(s, total, lambda old: s.space.call(fn, Arguments([old, item], {}), node),
                                  lambda: item)

    def nothing() -> Abstract:
        raise s.raised(TypeError, node)

    return heap.where_present(s, s.space.fold(source, start, step, node), _same, nothing)


# --- types
def isinstance_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    value, classes = only(s, arguments, node, 2, 2)
    if not isinstance(classes, Static):
        raise s.refuse("flatten/lane-to-object", "isinstance needs a static class", node)
    return s.space.isinstance(value, classes.value, node)


def type_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    if isinstance(value, Value | WithoutAxes):
        return number_classes.class_of(s, value, node)
    cls = lookup.class_of(value)
    if cls is None:
        raise s.refuse("flatten/unsupported-expression", f"type() of {describe(value)}", node)
    return Static(dates.public_class(cls))


def getattr_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    owner, name, *default = arguments.positional
    if not isinstance(name, Static):
        raise s.refuse("flatten/lane-to-object", "getattr needs a static name", node)
    if not isinstance(name.value, str):
        raise s.raised(TypeError, node)
    if default and lookup.class_of(owner) is not None:
        known = hasattr_(s, Arguments([owner, name], {}), node)
        if isinstance(known, Static) and not known.value:
            return default[0]
    return s.space.getattr(owner, name.value, node)


def hasattr_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    owner, name = only(s, arguments, node, 2, 2)
    cls = lookup.class_of(owner)
    if isinstance(name, Value):
        raise s.raised(TypeError, node)
    if not isinstance(name, Static) or cls is None:
        raise s.refuse("flatten/lane-to-object", "hasattr needs a known object and name", node)
    if not isinstance(name.value, str):
        raise s.raised(TypeError, node)
    if isinstance(owner, Value | WithoutAxes):
        return number_classes.has_attribute(s, owner, name.value, node)
    if isinstance(owner, Static):
        s.guards.member(owner.value, name.value)
        return Static(hasattr(owner.value, name.value))
    if isinstance(owner, ObjRef) and name.value in dict(heap.contents(s, owner, node)):
        return Static(True)
    return Static(hasattr(cls, name.value))


def callable_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    is_number = isinstance(value, Unsigned) or numeric_kind(value) is not None
    return Static(callable(value.value) if isinstance(value, Static) else not is_number)


def text(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """str(value)"""
    (value,) = only(s, arguments, node, 1, 1)
    return texts.written_as(s, value, "", "s", node)


def format_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    value, *given = only(s, arguments, node, 1, 2)
    (spec,) = given or (Static(""),)
    return texts.written_as(s, value, texts.known_spec(s, spec, node), "", node)


def repr_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    return texts.written_as(s, value, "", "r", node)


def chr_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    return texts.character(s, value, node)


def in_base(spec: str) -> Handler:
    """bin, oct, hex"""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        (value,) = only(s, arguments, node, 1, 1)
        if numeric_kind(value) not in (INT, BOOL):
            raise s.raised(TypeError, node)
        return NumberText(scalars.to_kind(s, lane(value), INT), spec)

    return handler


def ord_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    if not isinstance(value, Char):
        raise s.refuse("flatten/unsupported-expression", f"ord() of {describe(value)}", node)
    return characters.code_of(s, value)


def operator_add(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    a, b = only(s, arguments, node, 2, 2)
    return s.space.binary("add", a, b, node)
