"""Iterators: the builtins that make them, and itertools.

An iterator over a known number of items is `Lazy`: its items are made when a loop or a reduction asks for them. One
over a range of lanes stays a `Ranges` whose counter is mapped to the item.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import libcst as cst

from pyflat.errors import FlattenError
from pyflat.frontend.builtins.support import Handler, only
from pyflat.frontend.library import iterators as over_generators
from pyflat.frontend.library import table as library
from pyflat.frontend.space import arrays, characters, containers, growing, ragged
from pyflat.frontend.space import numbers as num
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import is_folded, is_generator, maybe_unbound, numeric_kind, present_in
from pyflat.frontend.state.values import (
    NONE,
    UNBOUND,
    Abstract,
    Arguments,
    Array,
    DictRef,
    GeneratorCall,
    GuardedUnion,
    IterRef,
    Lazy,
    ListRef,
    Ranges,
    Static,
)
from pyflat.ir.nodes import Value
from pyflat.ir.types import BOOL, INT, INT_MAX


# --- builtins
def enumerate_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = dict(zip(("iterable", "start"), arguments.positional, strict=False)) | arguments.named
    if "iterable" not in values or values.keys() - {"iterable", "start"}:
        raise s.raised(TypeError, node)
    start = _whole(s, values.get("start", Static(0)), node)
    iterable = values["iterable"]
    source = growing.as_range(s, iterable, node)
    if isinstance(source, Ranges):
        return _numbered(s, source, start, node)

    def items() -> Iterator[Abstract]:
        number: Abstract = start
        for item in containers.gaps_of(s, iterable, node):
            present, value = ragged.split_gap(s, item)
            if value is UNBOUND:
                continue
            pair = heap.make_tuple([number, value])
            yield from present_in(present, pair)
            number = num.binary(s, "add", number, Static(1) if isinstance(present, Static) else present)

    return Lazy(items)


def _whole(s: Evaluator, start: Abstract, node: cst.CSTNode) -> Abstract:
    """operator.index: an int, of a lane too."""
    if numeric_kind(start) not in (BOOL, INT):
        raise s.raised(TypeError, node)
    return s.mark_python(num.unary(s, "pos", start), [start])


def zip_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    strict = arguments.named.get("strict", Static(False))
    if not isinstance(strict, Static):
        raise s.refuse("flatten/lane-to-object", "whether zip() is strict depends on the data", node)
    if arguments.named.keys() - {"strict"}:
        raise s.refuse("flatten/bad-call", "these options of zip", node)

    sources = [growing.as_range(s, value, node) for value in arguments.positional]
    if any(isinstance(v, Ranges) for v in sources):
        if strict.value:
            raise s.refuse("flatten/not-yet", "zip(strict=True) of a range whose bounds depend on the data", node)
        return _zipped(s, sources, node)

    def items() -> Iterator[Abstract]:
        columns = [s.space.iterate(v, node) for v in arguments.positional]
        try:
            for row in zip(*columns, strict=bool(strict.value)):
                yield heap.make_tuple(row)
        except ValueError:
            raise s.raised(ValueError, node) from None

    return Lazy(items)


def reversed_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (value,) = only(s, arguments, node, 1, 1)
    value = growing.as_range(s, value, node)
    if isinstance(value, Static) and isinstance(value.value, range):
        return Static(value.value[::-1])
    if isinstance(value, Ranges):
        if value.once:
            raise s.raised(TypeError, node)
        return _backwards(s, value, node)
    if characters.is_text(value):
        return Lazy(lambda: iter(list(reversed(characters.items_of(s, value) or ()))))
    if ragged.is_ragged(s, value):
        before = ragged.items_of(s, value, node)

        def backwards() -> Iterator[Abstract]:
            if ragged.items_of(s, value, node) is not before:
                raise s.refuse("flatten/list-mutation", "a list changes between reversed() and its use", node)
            return reversed(before)

        return Lazy(backwards)
    size = len(s.space.items(value, node))

    def items() -> Iterator[Abstract]:
        for position in range(size - 1, -1, -1):
            yield s.space.items(value, node)[position]

    return Lazy(items)


def map_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    fn, *sources = arguments.positional
    if len(sources) == 1:
        sources = [growing.as_range(s, sources[0], node)]
    if len(sources) == 1 and isinstance(sources[0], Ranges):
        return _mapped(s, sources[0], node, lambda item: s.space.call(fn, Arguments([item], {}), node))

    def items() -> Iterator[Abstract]:
        if len(sources) == 1:
            for item in containers.gaps_of(s, sources[0], node):
                yield heap.where_present(s, item, lambda one: s.space.call(fn, Arguments([one], {}), node),
                                         lambda: UNBOUND)
            return
        for row in zip(*[s.space.iterate(v, node) for v in sources], strict=False):
            yield s.space.call(fn, Arguments(list(row), {}), node)

    return Lazy(items)


def filter_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """Items that a lane filters out are gaps, which reductions understand."""
    fn, source = only(s, arguments, node, 2, 2)

    def items() -> Iterator[Abstract]:
        for each in containers.gaps_of(s, source, node):
            present, item = ragged.split_gap(s, each)
            if item is UNBOUND:
                continue

            def kept(item: Abstract = item) -> Static | Value:
                by_itself = isinstance(fn, Static) and fn.value is None
                return s.space.truth(item if by_itself else s.space.call(fn, Arguments([item], {}), node))

            held = kept() if isinstance(present, Static) else s.space.truth(
                s.branch(present, kept, lambda: Static(False)))
            yield from present_in(held, item)

    return Lazy(items)


# --- over a range of lanes
def _iterated(s: Evaluator, source: Ranges, node: cst.CSTNode) -> None:
    """Another iterator takes the items of this one from now on."""
    if source.once:
        s.use_up(source, node)


def _mapped(s: Evaluator, source: Ranges, node: cst.CSTNode, item: Callable[[Abstract], Abstract]) -> Ranges:
    _iterated(s, source, node)
    inner = source.item
    made = item if inner is None else lambda counter: item(inner(counter))
    return Ranges(source.start, source.stop, source.step, made, once=True)


def _numbered(s: Evaluator, source: Ranges, first: Abstract, node: cst.CSTNode) -> Ranges:
    """enumerate(range(a, b, step)): the number of a counter is its distance from the start."""
    _iterated(s, source, node)

    def pair(counter: Abstract) -> Abstract:
        trips = num.binary(s, "floordiv", num.binary(s, "sub", counter, source.start), Static(source.step))
        item = counter if source.item is None else source.item(counter)
        return heap.make_tuple([num.binary(s, "add", trips, first), item])

    return Ranges(source.start, source.stop, source.step, pair, once=True)


def _backwards(s: Evaluator, source: Ranges, node: cst.CSTNode) -> Ranges:
    if abs(source.step) != 1:
        raise s.refuse("flatten/iterable-not-static", "reversed() of a range with a step whose bounds "
                       "depend on the data", node)
    ends = [num.binary(s, "sub", bound, Static(source.step)) for bound in (source.stop, source.start)]
    return Ranges(ends[0], ends[1], -source.step, source.item, once=True)


def _zipped(s: Evaluator, sources: Sequence[Abstract], node: cst.CSTNode) -> Ranges:
    """zip() of ranges of lanes and sequences: a range up to the shortest of them that gives a tuple of items."""
    lengths = [_length(s, source, node) for source in sources]
    shortest = s.space.call(Static(min), Arguments(lengths, {}), node) if len(lengths) > 1 else lengths[0]

    def row(counter: Abstract) -> Abstract:
        return heap.make_tuple([_at(s, *column, counter, node) for column in zip(sources, lengths, strict=True)])

    return Ranges(Static(0), shortest, 1, row, once=True)


def _length(s: Evaluator, source: Abstract, node: cst.CSTNode) -> Abstract:
    if not isinstance(source, Ranges):
        if isinstance(source, Lazy | IterRef | DictRef | GuardedUnion) and not arrays.is_array(source):
            raise s.refuse("flatten/not-yet", "zip() of an iterator and a range whose bounds depend on the data", node,
                           help="make a tuple(...) of the iterator first")
        return Static(len(s.space.items(source, node)))
    _iterated(s, source, node)
    bounds = [source.start, source.stop, Static(source.step)]
    return s.space.call(Static(library.range_length), Arguments(bounds, {}), node)


def _at(s: Evaluator, column: Abstract, length: Abstract, counter: Abstract, node: cst.CSTNode) -> Abstract:
    """The item as it is when the loop gets there."""
    if not isinstance(column, Ranges):
        items = s.space.items(column, node)
        if not isinstance(length, Static) or len(items) != length.value:
            raise s.refuse("flatten/list-mutation", "a list that zip() iterates over grows or shrinks", node)
        return s.space.getitem(heap.make_tuple(items), counter, node)
    item = num.binary(s, "add", column.start, num.binary(s, "mul", counter, Static(column.step)))
    return item if column.item is None else column.item(item)


# --- over a generator
_ITERATED = {sum, min, max, any, all, list, tuple, set, frozenset, sorted, enumerate, iter}
"""They iterate over their only argument or first one."""


def of_generator(s: Evaluator, fn: Any, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """The value of a builtin or a function of itertools that is given a generator; None for any other call."""
    own = over_generators.INSTEAD.get(fn)
    given = arguments.positional
    if fn in _ITERATED and len(given) == 1 and (made := s.space.iterator(given[0], node)) is not given[0]:
        return s.space.call(Static(fn), Arguments([made], arguments.named), node)
    if fn is next and given and isinstance(given[0], Lazy) and isinstance(node, cst.Call) and isinstance(
            node.args[0].value, cst.Name):
        return next_(s, Arguments([_stepped(s, given[0], node), *given[1:]], arguments.named), node)
    generators = [each for each in given if is_generator(each)]
    if own is None or not generators:
        return None
    for each in generators:
        s.require_unused(each, node)
    return s.space.call(Static(own), arguments, node)


def _stepped(s: Evaluator, source: Abstract, node: cst.CSTNode) -> Abstract:
    """A generator that has a name may be asked for more."""
    if isinstance(source, Lazy) and isinstance(source.written, GeneratorCall) and not source.used:
        with suppress(FlattenError):
            return s.space.steps(source.written, node)
    return source


# --- iter and next
def iter_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """An iterator with identity: what is left of it lives on the heap."""
    (value,) = only(s, arguments, node, 1, 1)
    view = value.start if isinstance(value, Lazy) and value.written is None else None
    source = view.args[1] if isinstance(view, functools.partial) else value  # of d.items() the dict
    if isinstance(source, Lazy | IterRef):
        return source
    if isinstance(source, ListRef | DictRef):
        s.frozen.add(source)  # the iterator would see what is written
    if isinstance(source, Array):
        s.frozen.add(source.store)
    ref = IterRef()
    s.state.heap[ref] = tuple(s.space.items(value, node))
    return ref


def next_(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    source, *default = only(s, arguments, node, 1, 2)

    def nothing() -> Abstract:
        if default:
            return default[0]
        raise s.raised(StopIteration, node)

    if is_generator(source):
        return s.space.call(Static(over_generators.next_of), arguments, node)
    if isinstance(source, IterRef):
        for first in s.space.iterate(source, node):
            return first
        return nothing()
    if not isinstance(source, Lazy) or source.written is None:
        raise s.refuse("flatten/unknown-call", "next() of this iterator cannot be flattened", node,
                       help="write next(iter(...)), or next() of a generator expression")
    return heap.where_present(s, _first(s, source, node), lambda item: item, nothing)


def _first(s: Evaluator, source: Lazy, node: cst.CSTNode) -> Abstract:
    """The first item of a generator expression; the later ones are made only in the lanes that have none yet."""
    if is_folded(source):
        return s.space.fold(source, UNBOUND,
                            lambda old, make: heap.where_present(s, old, lambda item: item, make), node)
    items = iter(containers.gaps_of(s, source, node))
    found: Abstract = UNBOUND
    ended = False

    def another() -> Abstract:
        nonlocal ended
        item = next(items, None)
        ended = item is None
        return UNBOUND if item is None else item

    while maybe_unbound(found):
        found = heap.where_present(s, found, lambda item: item, another)
        if ended:
            break
    return found


# --- itertools
def _lazy(make: Callable[..., Iterator[Any]], *, named: Sequence[str] = (), least: int = 1,
          at_once: bool = False) -> Handler:
    """`make(s, node, *arguments)` gives the items; `named` are the keywords that it takes; `at_once`: it reads what
    it is given before the first item is asked for."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        if arguments.named.keys() - set(named) or len(arguments.positional) < least:
            raise s.refuse("flatten/bad-call", "these arguments of an itertools function", node)
        if at_once:
            made = make(s, node, *arguments.positional, **arguments.named)
            return Lazy(lambda: made)
        return Lazy(lambda: make(s, node, *arguments.positional, **arguments.named))

    return handler


def _known(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Any:
    if not isinstance(value, Static):
        raise s.refuse("flatten/lane-to-object", "an argument of an itertools function depends on the data", node)
    return value.value


def _combined(function: Callable[..., Any]) -> Handler:
    """A function that only rearranges the items: they are made first, as itertools does."""

    def make(s: Evaluator, node: cst.CSTNode, *sources: Abstract, r: Abstract | None = None,
             repeat: Abstract | None = None) -> Iterator[Abstract]:
        given, length = list(sources), r
        if function is not itertools.product and length is None:
            length = given.pop() if len(given) > 1 else None
        pools = [s.space.items(value, node) for value in given]
        if function is itertools.product:
            rows = function(*pools, repeat=1 if repeat is None else _known(s, repeat, node))
        else:
            rows = function(*pools, len(pools[0]) if length is None else _known(s, length, node))
        return (heap.make_tuple(row) for row in rows)

    return _lazy(make, named=("r", "repeat"), at_once=True)


def _chain(s: Evaluator, node: cst.CSTNode, *sources: Abstract) -> Iterator[Abstract]:
    for source in sources:
        yield from s.space.iterate(source, node)


def _chain_from(s: Evaluator, node: cst.CSTNode, source: Abstract) -> Iterator[Abstract]:
    for one in s.space.iterate(source, node):
        yield from s.space.iterate(one, node)


def _pairwise(s: Evaluator, node: cst.CSTNode, source: Abstract) -> Iterator[Abstract]:
    for pair in itertools.pairwise(s.space.iterate(source, node)):
        yield heap.make_tuple(pair)


def _islice(s: Evaluator, node: cst.CSTNode, source: Abstract, *bounds: Abstract) -> Iterator[Abstract]:
    return itertools.islice(s.space.iterate(source, node), *[_known(s, bound, node) for bound in bounds])


def _repeat(s: Evaluator, node: cst.CSTNode, value: Abstract, times: Abstract | None = None) -> Iterator[Abstract]:
    return itertools.repeat(value) if times is None else itertools.repeat(value, _known(s, times, node))


def _accumulate(s: Evaluator, node: cst.CSTNode, source: Abstract, func: Abstract | None = None,
                initial: Abstract | None = None) -> Iterator[Abstract]:
    add = Static(operator.add) if func is None or isinstance(func, Static) and func.value is None else func
    total = None if isinstance(initial, Static) and initial.value is None else initial
    if total is not None:
        yield total
    for item in s.space.iterate(source, node):
        total = item if total is None else s.space.call(add, Arguments([total, item], {}), node)
        yield total


def _starmap(s: Evaluator, node: cst.CSTNode, function: Abstract, source: Abstract) -> Iterator[Abstract]:
    for row in s.space.iterate(source, node):
        yield s.space.call(function, Arguments(s.space.items(row, node), {}), node)


def _zip_longest(s: Evaluator, node: cst.CSTNode, *sources: Abstract, fillvalue: Abstract = NONE
                 ) -> Iterator[Abstract]:
    columns = [s.space.iterate(source, node) for source in sources]
    for row in itertools.zip_longest(*columns, fillvalue=fillvalue):
        yield heap.make_tuple(row)


def _cycle(s: Evaluator, node: cst.CSTNode, source: Abstract) -> Iterator[Abstract]:
    return itertools.cycle(s.space.items(source, node))


def _takewhile(s: Evaluator, node: cst.CSTNode, test: Abstract, source: Abstract) -> Iterator[Abstract]:
    """Items behind the first one that fails in a lane are gaps there; the test does not see them."""
    going: Static | Value = Static(True)
    for item in s.space.iterate(source, node):
        def held(item: Abstract = item) -> Static | Value:
            return s.space.truth(s.space.call(test, Arguments([item], {}), node))

        if isinstance(going, Value):
            going = s.space.truth(s.branch(going, held, lambda: Static(False)))
        else:
            going = held()
        if isinstance(going, Static) and not going.value:
            return
        yield from present_in(going, item)


def _compress(s: Evaluator, node: cst.CSTNode, source: Abstract, selectors: Abstract) -> Iterator[Abstract]:
    pairs = zip(s.space.iterate(source, node), s.space.iterate(selectors, node), strict=False)
    for item, selector in pairs:
        yield from present_in(s.space.truth(selector), item)


def _count(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """itertools.count of ints: a range without an end that a lane could reach."""
    values = [*arguments.positional, *arguments.named.values()]
    start = values[0] if values else Static(0)
    step = _known(s, values[1], node) if len(values) > 1 else 1
    if type(step) is not int or step < 1 or numeric_kind(start) is None:
        raise s.refuse("flatten/bad-call", "itertools.count with this step", node)
    return Ranges(start, Static(INT_MAX - step), step, once=True)


HANDLERS: dict[Any, Handler] = {
    enumerate: enumerate_, zip: zip_, reversed: reversed_, map: map_, filter: filter_, iter: iter_, next: next_,
    itertools.chain: _lazy(_chain, least=0), itertools.chain.from_iterable: _lazy(_chain_from),
    itertools.product: _combined(itertools.product), itertools.combinations: _combined(itertools.combinations),
    itertools.permutations: _combined(itertools.permutations),
    itertools.combinations_with_replacement: _combined(itertools.combinations_with_replacement),
    itertools.pairwise: _lazy(_pairwise), itertools.islice: _lazy(_islice, least=2),
    itertools.repeat: _lazy(_repeat, named=("times",)),
    itertools.accumulate: _lazy(_accumulate, named=("func", "initial")),
    itertools.starmap: _lazy(_starmap, least=2), itertools.zip_longest: _lazy(_zip_longest, named=("fillvalue",)),
    itertools.cycle: _lazy(_cycle), itertools.takewhile: _lazy(_takewhile, least=2),
    itertools.compress: _lazy(_compress, least=2), itertools.count: _count,
}
