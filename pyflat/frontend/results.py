"""Results: the paths on which a function returns become lane leaves of one shape.

bool, int, float and complex join to the larger kind. A path that returns something no lane can hold (None, a tuple of
another length) while others return numbers is a fault in its lanes: the replay reports it.

Where no path returns a number or a tuple, lanes are codes of the objects that there are (`Labels`). Where some paths
return None, and others something else, one more leaf says so (`Maybe`). Where some return numbers and others objects,
lanes are codes and numbers (`Texts`): the result is an array of objects, each the one that the original returns.

What a function writes into its arguments (fields of an object, items of a list or dict) are results of their own:

    def shade(x, out):                 Written(returned=None, out_depth=..., out_lit=...)
        if x > 0.5:
            out.depth = 2.0 * x        each place that some path writes, once, with what the
            return                     object has there at the end: under the predicates of
        out.lit = True                 its writes, as every other value

The call puts them where the original would have put them.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

import numpy as np

from pyflat.errors import FlattenError, refuse
from pyflat.frontend import result_lists, result_texts
from pyflat.frontend.library import dates
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.heap import has_gaps
from pyflat.frontend.state.kinds import (
    alternatives,
    as_unsigned,
    cells_of,
    complex_parts,
    describe,
    entries_of,
    is_beyond,
    lane,
    numeric_kind,
    same_static,
)
from pyflat.frontend.state.values import (
    CONFLICT,
    MAX_LENGTH,
    UNBOUND,
    Abstract,
    Array,
    Contents,
    DictRef,
    GuardedUnion,
    IncomingEdge,
    ListRef,
    ObjRef,
    Ref,
    Seq,
    State,
    Static,
)
from pyflat.functions.stacking import DATES
from pyflat.ir.build import const, undefined
from pyflat.ir.nodes import FALSE, FAULT, TRUE, Const, Exit, Fault, Op, Value
from pyflat.ir.shape import (
    COMPLEX,
    REAL_OR_COMPLEX,
    UNSIGNED,
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Path,
    Ragged,
    Record,
    Shape,
    Texts,
    is_same_object,
    is_text,
    written_class,
)
from pyflat.ir.types import BOOL, FLOAT, INT, INT_MAX, INT_MIN, VOID, Kind, join_kinds

MAX_PLACES = 256
"""Items of a result that is a list of several lengths."""


@dataclass(slots=True)
class _Parts:
    cls: type
    names: tuple[str, ...]
    items: tuple[Abstract, ...]


def settle(s: Evaluator, edges: Sequence[IncomingEdge]) -> Shape:
    """Choose the shape, and give every edge its leaves as operands."""
    live = [e for e in edges if not e.dead]
    if not live and s.doubtful is not None:
        raise s.doubtful
    if not live and s.replayed_handlers:
        message = "no path is known to return: a handler may, after a fault that only a replay can tell"
        raise refuse("flatten/unsupported-expression", message,
                     help="test the operands with an `if` instead of catching the exception")
    with s.at_place(next((e.span for e in live if e.span), None)):
        shape = _shape(s, [(e.value or Static(None), e.state) for e in live])
    for edge in live:
        leaves: list[Value] = []
        _leaves(s, edge, TRUE, edge.value or Static(None), shape, leaves)
        if isinstance(edge.end, Exit) and edge.end.label is FAULT:
            continue
        edge.end.values = leaves
    return shape


def parts_of(value: Abstract, state: State) -> _Parts | None:
    date = dates.parts(value, state)
    if date is not None:
        return _Parts(*date)
    match value:
        case Seq() if value.cls in (tuple, list) or hasattr(value.cls, "_fields"):
            return _Parts(value.cls, tuple(getattr(value.cls, "_fields", ())), value.items)
        case Array():
            items = _contents(state, value.store)
            return _Parts(np.ndarray, tuple(map(str, value.places.shape)), tuple(items[p] for p in value.places.flat))
        case Static() if isinstance(value.value, np.ndarray) and value.value.dtype.kind in "bif" \
                and value.value.size <= MAX_LENGTH:
            return _Parts(np.ndarray, tuple(map(str, value.value.shape)), tuple(map(Static, value.value.flat)))
        case ListRef():
            items = _contents(state, value)
            return None if has_gaps(items) else _Parts(list, (), items)
        case DictRef():
            entries = _contents(state, value)
            if entries_of(entries) is not None:
                raise _other_keys()
            return _Parts(dict, tuple(k for k, _ in entries), tuple(v for _, v in entries))
        case Static() if type(value.value) is dict and value.value:
            return _Parts(dict, tuple(value.value), tuple(map(Static, value.value.values())))
        case ObjRef():
            fields = _contents(state, value)
            return _Parts(value.cls, tuple(k for k, _ in fields), tuple(v for _, v in fields))
        case Static() if isinstance(value.value, tuple | list) and value.value:
            names = tuple(getattr(type(value.value), "_fields", ()))
            return _Parts(type(value.value), names, tuple(Static(v) for v in value.value))
    return None


def _other_keys() -> FlattenError:
    return refuse("flatten/result-kind", "the function returns a dict whose keys differ from lane to lane",
                  help="give every key a value before the condition, such as math.nan, or return list(d.items()), "
                  "sorted(d) or numbers that are made of it")


def _contents(state: State, ref: Ref) -> Contents:
    """What the result holds, where all paths have left it in one shape."""
    found = state.heap[ref]
    if found is not CONFLICT:
        return found
    if isinstance(ref, DictRef):
        raise _other_keys()
    if isinstance(ref, ObjRef):
        message = f"the function returns a {ref.cls.__name__} whose attributes differ from lane to lane"
        raise refuse("flatten/result-kind", message,
                     help="give every attribute a value before the condition, such as math.nan")
    raise refuse("flatten/result-kind", "the function returns a list whose items differ in shape from lane to lane",
                 help="return the same number of items, of the same kind, on all paths")


def _shape(s: Evaluator, values: Sequence[tuple[Abstract, State]]) -> Shape:
    options = [(option, state) for value, state in values for option in alternatives(value)]
    some = [(option, state) for option, state in options if not _is_none(option)]
    if len(some) == len(options) or not some:
        return _of_options(s, options)
    shape = _of_options(s, some)
    if isinstance(shape, Labels | Texts):
        return replace(shape, table=(*shape.table, None))
    return Maybe(shape) if s.none else shape


def _is_none(value: Abstract) -> bool:
    return isinstance(value, Static) and value.value is None


def _of_options(s: Evaluator, options: Sequence[tuple[Abstract, State]]) -> Shape:
    """The shape that holds all of these, or None where there is nothing else."""
    kinds = [k for k in (numeric_kind(v) for v, _ in options) if k is not None]
    if _is_mixed([v for v, _ in options if v is not UNBOUND]):
        return result_texts.shape([v for v, _ in options if v is not UNBOUND])
    if any(complex_parts(v) is not None for v, _ in options):
        return REAL_OR_COMPLEX if kinds else COMPLEX
    if any(is_beyond(v) for v, _ in options) and all(
            is_beyond(v) or numeric_kind(v) in (INT, BOOL) and not _is_negative(v) for v, _ in options):
        return UNSIGNED
    if kinds:
        joined = kinds[0]
        for kind in kinds[1:]:
            joined = join_kinds(joined, kind)
        return Leaf(joined)
    present = [v for v, _ in options if v is not UNBOUND]
    grown = result_texts.grown_shape(present)
    if grown is not None:
        return grown
    lists = [result_lists.places_of(v, state) for v, state in options]
    ragged = any(type(v) is ListRef and has_gaps(state.heap[v]) for v, state in options)
    if lists and None not in lists and (ragged or len({len(places or ()) for places in lists}) > 1):
        return _ragged(s, [(places or (), state) for places, (_, state) in zip(lists, options, strict=True)])
    records = [(p, state) for p, state in ((parts_of(v, state), state) for v, state in options) if p is not None]
    if records:
        return _record(s, records)
    first = options[0][0] if options else Static(None)
    known = first.value if isinstance(first, Static) else first
    if (known is None or isinstance(known, tzinfo)) and all(same_static(first, v) for v, _ in options):
        return Fixed(known)
    if all(v is UNBOUND or isinstance(v, Static) and _is_label(v.value) for v, _ in options):
        return _labels([v.value for v, _ in options if isinstance(v, Static)])
    if all(isinstance(v, Static) and _is_label(v.value) or result_texts.is_known(v) for v in present):
        return result_texts.shape(present)
    given = next((name for v, _ in options if (name := s.constants.get(id(v))) is not None), "")
    if ragged:
        raise s.refuse("flatten/result-kind", "the function returns a list whose length differs from lane to lane, and "
                       "something else", help="return a list on all paths")
    raise s.refuse("flatten/result-kind", f"the function returns {describe(first)}" + (
        f" or {describe(options[1][0])}" if len(options) > 1 else ""), argument=given)


def _is_negative(value: Abstract) -> bool:
    return isinstance(value, Static) and value.value < 0


def _is_mixed(values: Sequence[Abstract]) -> bool:
    """Numbers in some lanes, and in others strings or known objects."""
    numbers = sum(map(result_texts.is_number, values))
    return 0 < numbers < len(values) and all(
        result_texts.is_number(v) or result_texts.is_known(v) or isinstance(v, Static) and _is_object(v.value)
        for v in values)


def _is_object(value: Any) -> bool:
    """A known object that is no record of numbers."""
    return _is_label(value) and not isinstance(value, tuple)


def _is_label(value: Any) -> bool:
    """Whether an object may be the result of many lanes: it is no number of NumPy's that lanes do not hold, and nothing
    that is used up."""
    used = isinstance(value, np.generic | np.ndarray | list | dict | set | bytearray)
    return not used and not hasattr(type(value), "__next__")


def _labels(objects: Sequence[Any]) -> Labels:
    """Each object once, in the order of the paths."""
    table: list[Any] = []
    for item in objects:
        if not any(item is known or type(item) is str and is_same_object(item, known) for known in table):
            table.append(item)
    return Labels(tuple(table))


def _record(s: Evaluator, records: list[tuple[_Parts, State]]) -> Shape:
    first = records[0][0]
    _check_keys(s, [p for p, _ in records])
    if first.cls is np.ndarray and any(p.cls is not first.cls or p.names != first.names for p, _ in records):
        raise s.refuse("flatten/result-kind", "the function returns arrays of different shapes",
                       help="return arrays of one shape on all paths")
    alike = [(p, state) for p, state in records if _fits(p, first.cls, first.names, len(first.items))]
    if any(len(p.items) != len(first.items) for p, _ in records):
        raise s.refuse("flatten/result-kind", "the function returns tuples of different lengths")
    items = tuple(_shape(s, [(p.items[i], state) for p, state in alike]) for i in range(len(first.items)))
    if first.cls in DATES and any(isinstance(item, Labels | Maybe) for item in items):
        raise s.refuse("flatten/result-kind", "the function returns dates of several time zones")
    return Record(first.cls, first.names, items)


def _ragged(s: Evaluator, lists: Sequence[tuple[Sequence[Abstract], State]]) -> Shape:
    """A list of several lengths: at each place what one of them may have there."""
    longest = max(len(places) for places, _ in lists)
    if longest > MAX_PLACES:
        raise s.refuse("flatten/result-kind", f"the function returns a list of up to {longest} items, whose length "
                       "differs from lane to lane", help="return numbers that are made of it")
    columns = [[(places[k], state) for places, state in lists if k < len(places)] for k in range(longest)]
    some = [[(item, state) for value, state in column for item in alternatives(value) if item is not UNBOUND]
            for column in columns]
    return Ragged(tuple(_shape(s, column) for column in some if column))


def _check_keys(s: Evaluator, records: Sequence[_Parts]) -> None:
    """A dict of arrays has the same keys in all lanes, and they are strings."""
    dicts = [p.names for p in records if p.cls is dict]
    for keys in dicts:
        if any(type(key) is not str for key in keys):
            raise s.refuse("flatten/result-kind", "the function returns a dict whose keys are not strings",
                           help="return a tuple, a namedtuple or a dict with strings for keys")
        if keys != dicts[0]:
            raise s.refuse("flatten/result-kind", "the function returns dicts with different keys on different paths",
                           help="give all of them the same keys, in the same order")


def _fits(parts: _Parts, cls: type, names: tuple[str, ...], size: int) -> bool:
    return parts.cls is cls and len(parts.items) == size and (cls not in (dict, np.ndarray) or parts.names == names)


def _leaves(s: Evaluator, edge: IncomingEdge, where: Value, value: Abstract, shape: Shape, out: list[Value]) -> None:
    """Append the operands of one edge; `where` is the lanes of the edge that have this value."""
    if isinstance(value, GuardedUnion):
        first: list[Value] = []
        second: list[Value] = []
        _leaves(s, edge, _emit(edge, "and", where, value.cond), value.then, shape, first)
        _leaves(s, edge, _emit(edge, "and", where, _emit(edge, "not", value.cond)), value.orelse, shape, second)
        out += [_emit(edge, "select", value.cond, a, b) for a, b in zip(first, second, strict=True)]
        return
    match shape:
        case Texts() | Record() if is_text(shape):
            made = result_texts.leaves(shape, value, functools.partial(_emit, edge))
            if made is None:
                _wrong(s, edge, where, value, shape, out)
            else:
                out += made
        case Leaf():
            kind = numeric_kind(value)
            if kind is None or isinstance(value, Static) and not _holds(shape.kind, value.value):
                _wrong(s, edge, where, value, shape, out)
            else:
                out.append(_convert(edge, value, shape.kind))
        case Fixed():
            if not (isinstance(value, Static) and same_static(value, Static(shape.value))):
                _wrong(s, edge, where, value, shape, out)
        case Record() if shape.cls is complex:
            _complex_leaves(s, edge, where, value, shape, out)
        case Record() if shape is UNSIGNED:
            _unsigned_leaf(s, edge, where, value, out)
        case Record():
            parts = parts_of(value, edge.state)
            if parts is None or not _fits(parts, shape.cls, shape.names, len(shape.items)):
                _wrong(s, edge, where, value, shape, out)
                return
            for item, inner in zip(parts.items, shape.items, strict=True):
                _leaves(s, edge, where, item, inner, out)
        case Labels():
            code = shape.code(value.value) if isinstance(value, Static) else None
            if code is None:
                _wrong(s, edge, where, value, shape, out)
            else:
                out.append(const(code))
        case Ragged():
            _ragged_leaves(s, edge, where, value, shape, out)
        case Maybe() if _is_none(value):
            out += [*map(undefined, kinds_of(shape.inner)), TRUE]
        case Maybe():
            _leaves(s, edge, where, value, shape.inner, out)
            out.append(FALSE)


def _ragged_leaves(s: Evaluator, edge: IncomingEdge, where: Value, value: Abstract, shape: Ragged, out: list[Value]
                   ) -> None:
    """That the lane has a list of its own, and for each place whether it has an item there, and the item."""
    if result_lists.places_of(value, edge.state) is None:
        _wrong(s, edge, where, value, shape, out)
        return
    out.append(const(0))
    found = [(here, item) for here, item in result_lists.items_of(value, edge.state, functools.partial(_emit, edge))
             if item is not UNBOUND]
    for place, inner in enumerate(shape.items):
        here, item = found[place] if place < len(found) else (FALSE, UNBOUND)
        out.append(here)
        if here is FALSE:
            out += map(undefined, kinds_of(inner))
        else:
            _leaves(s, edge, where if here is TRUE else _emit(edge, "and", where, here), item, inner, out)


def _complex_leaves(s: Evaluator, edge: IncomingEdge, where: Value, value: Abstract, shape: Record, out: list[Value]
                    ) -> None:
    """Real and imaginary part, and which of the two it is where the shape has numbers too."""
    z = complex_parts(value)
    if z is None and numeric_kind(value) is None:
        _wrong(s, edge, where, value, shape, out)
        return
    _leaves(s, edge, where, value if z is None else z.real, shape.items[0], out)
    out.append(const(0.0) if z is None else _convert(edge, z.imag, FLOAT))
    out += [const(z is not None)] * (len(shape.items) - 2)


def _unsigned_leaf(s: Evaluator, edge: IncomingEdge, where: Value, value: Abstract, out: list[Value]) -> None:
    """The bits of an int; lanes in which it is not in [0, 2**64) are faults."""
    if numeric_kind(value) is BOOL:
        value = _convert(edge, value, INT)
    known = as_unsigned(value)
    if known is None and isinstance(value, Static):
        _wrong(s, edge, where, value, UNSIGNED, out)
        return
    if known is not None and known.outside is TRUE:
        raise heap.only_modulo(s)
    outside = known.outside if known is not None else _emit(edge, "lt", lane(value), const(0))
    if outside is not FALSE:
        fault = Fault("Undecided", "an int outside of [0, 2**64)", edge.span)
        edge.block.ops.append(Op("fault", (_emit(edge, "and", where, outside),), VOID, attrs=(("fault", fault),)))
    out.append(lane(value) if known is None else known.bits)


def _holds(kind: Kind, known: bool | int | float) -> bool:
    """A lane of this kind has exactly this number."""
    if kind is INT:
        return INT_MIN <= known <= INT_MAX
    try:
        return isinstance(known, float) or float(known) == known
    except OverflowError:
        return False


def _wrong(s: Evaluator, edge: IncomingEdge, where: Value, value: Abstract, shape: Shape, out: list[Value]) -> None:
    """These lanes return what the result cannot hold: they are faults. Where they differ from others by a string of an
    argument, one twin for each string holds them."""
    if s.texts and value is not UNBOUND:
        raise s.refuse("flatten/result-kind", f"the function returns {describe(value)}, and others in other lanes")
    kind = "UnboundLocalError" if value is UNBOUND else "TypeError"
    fault = Fault(kind, f"returns {describe(value)}")
    if where is TRUE:
        edge.end = edge.block.end = Exit(FAULT, fault=fault)
    else:
        edge.block.ops.append(Op("fault", (where,), VOID, attrs=(("fault", fault),)))
    out += [undefined(kind) for kind in kinds_of(shape)]


def kinds_of(shape: Shape) -> list[Kind]:
    match shape:
        case Leaf():
            return [shape.kind]
        case Record():
            return [k for item in shape.items for k in kinds_of(item)]
        case Labels():
            return [INT]
        case Texts():
            return [INT, *shape.numbers]
        case Ragged():
            return [INT, *(kind for item in shape.items for kind in (BOOL, *kinds_of(item)))]
        case Maybe():
            return [*kinds_of(shape.inner), BOOL]
        case Fixed():
            return []


def _convert(edge: IncomingEdge, value: Abstract, kind: Kind) -> Value:
    if isinstance(value, Static):
        return const({BOOL: bool, INT: int, FLOAT: float}[kind](value.value))
    number = lane(value)
    if number.kind is kind:
        return number
    if kind is INT:
        return _emit(edge, "to_int", number)
    return _emit(edge, "exact_float" if number.kind is INT else "to_float", number)


def _emit(edge: IncomingEdge, opcode: str, *args: Value) -> Value:
    if opcode == "and" and args[0] is TRUE:
        return args[1]
    if opcode == "select" and isinstance(args[1], Const) and args[1].value is None:
        return args[2]
    if opcode == "select" and isinstance(args[2], Const) and args[2].value is None:
        return args[1]
    kinds = {"and": BOOL, "lt": BOOL, "not": BOOL, "select": args[-1].kind, "to_int": INT, "add": INT}
    op = Op(opcode, args, kinds.get(opcode, FLOAT))
    edge.block.ops.append(op)
    return op


# --- what a function writes into its arguments
Slots = list[tuple[str | int, Abstract]]


Reference = ListRef | DictRef | ObjRef


def return_what_is_written(s: Evaluator, bound: Mapping[str, Abstract], before: State, edges: Sequence[IncomingEdge],
                           private: Collection[str]) -> None:
    """Let every edge return a record of its value and of what it has written, where some edge writes at all. `private`
    names parameters whose own dict has no other name (**kwargs). FlattenError where an argument changes its shape."""
    live = [e for e in edges if not e.dead and not (isinstance(e.end, Exit) and e.end.label is FAULT)]
    paths: dict[Path, None] = {}
    for name, value in bound.items():
        for path, ref in _references(before, (name,), value):
            if path != (name,) or name not in private:
                paths.update(dict.fromkeys(path + (step,) for step in _changed(s, path, ref, before, live)))
    if not paths:
        return
    for path in paths:
        if any(other != path and other[: len(path)] == path for other in paths):
            raise s.refuse("flatten/effect", f"{_shown(path)} is replaced, and the object that it was is changed")
    cls = written_class(tuple(paths))
    for edge in live:
        items = tuple(_found(edge.state, bound, path) for path in paths)
        edge.value = Seq(cls, (edge.value or Static(None), *items))


def _references(state: State, path: Path, value: Abstract) -> Iterator[tuple[Path, Reference]]:
    """The objects that an argument consists of."""
    match value:
        case ListRef() | DictRef() | ObjRef():
            yield path, value
            for step, item in _slots(value, state.heap[value]):
                yield from _references(state, (*path, step), item)
        case Seq():
            for position, item in enumerate(value.items):
                yield from _references(state, (*path, position), item)


def _slots(ref: Reference, contents: Contents) -> Slots:
    if isinstance(ref, ListRef):
        return list(enumerate(contents))
    return [(name, value) for name, value in contents]


def _changed(s: Evaluator, path: Path, ref: Reference, before: State, edges: Sequence[IncomingEdge]
             ) -> Iterator[str | int]:
    """The steps from an object to the places that some edge has written."""
    old = before.heap[ref]
    for edge in edges:
        now = edge.state.heap.get(ref, old)
        if now is old:
            continue
        keyed = now is not CONFLICT and not isinstance(ref, ListRef)
        if now is CONFLICT or len(now) != len(old) or cells_of(now) is not None \
                or keyed and [k for k, _ in now] != [k for k, _ in old]:
            raise s.refuse("flatten/effect", f"the argument {_shown(path)} gets other {_held(ref)}",
                           help="change what is in it, not how many there are, or return a new object")
        for (step, value), (_, first) in zip(_slots(ref, now), _slots(ref, old), strict=True):
            if value is not first:
                yield step


def _found(state: State, bound: Mapping[str, Abstract], path: Path) -> Abstract:
    value = bound[str(path[0])]
    for step in path[1:]:
        if isinstance(value, Seq):
            value = value.items[int(step)]
        else:
            assert isinstance(value, ListRef | DictRef | ObjRef)
            value = dict(_slots(value, state.heap[value]))[step]
    return value


def _held(ref: Reference) -> str:
    return "attributes" if isinstance(ref, ObjRef) else "keys" if isinstance(ref, DictRef) else "items"


def _shown(path: Path) -> str:
    first, *rest = path
    return f"{first}" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)
