"""Results: the paths on which a function returns become lane leaves of one shape.

bool, int, float and complex join to the larger kind. A path that returns something no lane can hold is a fault in its
lanes: the replay reports it.

Where no path returns a number or a tuple, lanes are codes of the objects that there are (`Labels`). Where some paths
return None, and others something else, one more leaf says so (`Maybe`). Where some return numbers and others a tuple or
a string, or tuples have several lengths, lanes are codes and numbers (`Texts`): the result is an array of objects, each
the one that the original returns.

What a function writes into its arguments are results of their own (`specialise`).
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

import numpy as np

from pyflat.errors import FlattenError, InternalError, refuse
from pyflat.frontend import result_texts
from pyflat.frontend.library import dates
from pyflat.frontend.state import derived, heap, templates
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.heap import has_gaps
from pyflat.frontend.state.kinds import (
    alternatives,
    as_unsigned,
    complex_parts,
    describe,
    entries_of,
    is_beyond,
    lane,
    number_in,
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
    Derived,
    DictRef,
    GuardedUnion,
    IncomingEdge,
    ListRef,
    ObjRef,
    Ref,
    Seq,
    State,
    Static,
    Unsigned,
)
from pyflat.functions.stacking import DATES
from pyflat.ir.build import const, undefined
from pyflat.ir.nodes import FALSE, FAULT, TRUE, Const, Exit, Fault, Op, Value
from pyflat.ir.shape import (
    COMPLEX,
    REAL_OR_COMPLEX,
    UNSIGNED,
    Composed,
    Fixed,
    Labels,
    Leaf,
    Maybe,
    Positions,
    Ragged,
    Record,
    Shape,
    Strings,
    Texts,
    is_same_object,
    is_text,
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
    for edge in live:
        edge.value = edge.value and _with_plain_numbers(edge.value)
    if not live and s.doubtful is not None:
        raise s.doubtful
    if not live and s.replayed_handlers:
        message = "no path is known to return: a handler may, after an error that only the original can detect"
        raise refuse("flatten/unsupported-expression", message,
                     help="test the operands with an `if` instead of catching the exception")
    place = next((e.span for e in live if e.span), None)
    try:
        with s.at_place(place):
            shape = _shape(s, [(e.value or Static(None), e.state) for e in live])
    except FlattenError as error:
        raise error if error.diagnostic.span else FlattenError(replace(error.diagnostic, span=place)) from None
    for edge in live:
        leaves: list[Value] = []
        _leaves(s, edge, TRUE, edge.value or Static(None), shape, leaves)
        if isinstance(edge.end, Exit) and edge.end.label is FAULT:
            continue
        edge.end.values = leaves
    return shape


def _with_plain_numbers(value: Abstract) -> Abstract:
    """Instances of subclasses of float and int as the numbers that they are."""
    if isinstance(value, Seq) and (value.cls is tuple or hasattr(value.cls, "_fields")):
        return Seq(value.cls, tuple(map(_with_plain_numbers, value.items)))
    return number_in(value)


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
    return refuse("flatten/result-kind", "the function returns a dict whose keys depend on the data",
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
        message = f"the function returns a {ref.cls.__name__} whose attributes depend on the data"
        raise refuse("flatten/result-kind", message,
                     help="give every attribute a value before the condition, such as math.nan")
    raise refuse("flatten/result-kind", "the function returns a list, and the shape of its items depends on the data",
                 help="return the same number of items, of the same kind, on all paths")


def _shape(s: Evaluator, values: Sequence[tuple[Abstract, State]], apart: bool = False) -> Shape:
    """`apart`: for what is part of a Python object, where each number is of the kind that its lane has."""
    options = [(option, state) for value, state in values for option in alternatives(value)]
    some = [(option, state) for option, state in options if not _is_none(option)]
    if len(some) == len(options) or not some:
        return _of_options(s, options, apart)
    shape = _of_options(s, some, apart)
    if isinstance(shape, Labels) and isinstance(shape.table, Positions):
        shape.table.position(None)
        return shape
    if isinstance(shape, Labels | Texts):
        return replace(shape, table=(*shape.table, None))
    return Maybe(shape) if s.none else shape


def _is_none(value: Abstract) -> bool:
    return isinstance(value, Static) and value.value is None


def _of_options(s: Evaluator, options: Sequence[tuple[Abstract, State]], apart: bool) -> Shape:
    """The shape that holds all of these, or None where there is nothing else."""
    kinds = [k for k in (numeric_kind(v) for v, _ in options) if k is not None]
    mixed = _mixed(s, [(v, state) for v, state in options if v is not UNBOUND], apart)
    if mixed is not None:
        return mixed
    grown = templates.tables_in(*(v for v, _ in options))
    if grown and not all(templates.are_strings(v) or v is UNBOUND for v, _ in options):
        raise s.refuse("flatten/result-kind", "the function returns a growing string on some paths only",
                       help="return a string on all paths")
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
    pieces = result_texts.grown_shape(present)
    if pieces is not None:
        return pieces
    lists = [result_texts.places_of(v, state) for v, state in options]
    ragged = any(type(v) is ListRef and has_gaps(state.heap[v]) for v, state in options)
    if lists and None not in lists and (ragged or len({len(places or ()) for places in lists}) > 1):
        return _ragged(s, [(places or (), state) for places, (_, state) in zip(lists, options, strict=True)])
    records = [(p, state) for p, state in ((parts_of(v, state), state) for v, state in options) if p is not None]
    if records:
        return _record(s, records, apart)
    first = options[0][0] if options else Static(None)
    known = first.value if isinstance(first, Static) else first
    if (known is None or isinstance(known, tzinfo)) and all(same_static(first, v) for v, _ in options):
        return Fixed(known)
    if derived.is_among(s, *present) and all(
            isinstance(v, Derived) or isinstance(v, Static) and type(v.value) is str for v in present):
        return Labels(Positions(list(dict.fromkeys(v.value for v in present if isinstance(v, Static)))), grows=True)
    if all(v is UNBOUND or isinstance(v, Static) and _is_label(v.value) for v, _ in options):
        return _labels([v.value for v, _ in options if isinstance(v, Static)])
    if all(isinstance(v, Static) and _is_label(v.value) or result_texts.is_known(v) for v in present):
        return result_texts.shape(present)
    given = next((name for v, _ in options if (name := s.constants.get(id(v))) is not None), "")
    if ragged:
        raise s.refuse("flatten/result-kind", "the function returns a list whose length depends on the data, on "
                       "some paths only", help="return a list on all paths")
    raise s.refuse("flatten/result-kind", f"the function returns {describe(first)}" + (
        f" or {describe(options[1][0])}" if len(options) > 1 else ""), argument=given)


def _is_negative(value: Abstract) -> bool:
    return isinstance(value, Static) and value.value < 0


def _mixed(s: Evaluator, options: Sequence[tuple[Abstract, State]], apart: bool) -> Texts | None:
    """The shape of numbers in some lanes and strings, objects, tuples or lists in others, or of tuples of several
    lengths: for each number its own kind. Numbers of several kinds are that too where they are `apart`."""
    families = [_family(value, state) for value, state in options]
    kinds = {numeric_kind(value) or type(value) for value, _ in options}
    one_family = len(set(families)) < 2
    if None in families or one_family and not (apart and "number" in families and len(kinds) > 1):
        return None
    groups: dict[Hashable, list[tuple[Abstract, State]]] = {}
    known: list[Abstract] = []
    for family, option in zip(families, options, strict=True):
        value = option[0]
        if family == "object" or isinstance(value, Static) and family == "number":
            known.append(value)
        else:
            kind = numeric_kind(value) or type(value) if family == "number" else None
            groups.setdefault((family, kind), []).append(option)
    made = [Composed.of(_of_options(s, group, apart=True)) for group in groups.values()]
    return Texts.of([*result_texts.shape(known).table, *made])


def _family(value: Abstract, state: State) -> Hashable:
    """What an array can hold beside it without being one of objects: None if that is not known."""
    if is_number(value):
        return "number"
    if result_texts.places_of(value, state) is not None:
        return "list"
    parts = parts_of(value, state)
    if parts is not None:
        return None if parts.cls is np.ndarray else (parts.cls, parts.names, len(parts.items))
    return "object" if result_texts.is_known(value) or isinstance(value, Static) and _is_label(value.value) else None


def is_number(value: Abstract) -> bool:
    return numeric_kind(value) is not None or complex_parts(value) is not None or isinstance(value, Unsigned)


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


def _record(s: Evaluator, records: list[tuple[_Parts, State]], apart: bool) -> Shape:
    first = records[0][0]
    _check_keys(s, [p for p, _ in records])
    if first.cls is np.ndarray and any(p.cls is not first.cls or p.names != first.names for p, _ in records):
        raise s.refuse("flatten/result-kind", "the function returns arrays of different shapes",
                       help="return arrays of one shape on all paths")
    alike = [(p, state) for p, state in records if _fits(p, first.cls, first.names, len(first.items))]
    apart = apart and first.cls is not np.ndarray
    items = tuple(_shape(s, [(p.items[i], state) for p, state in alike], apart) for i in range(len(first.items)))
    if first.cls in DATES and any(isinstance(item, Labels | Maybe) for item in items):
        raise s.refuse("flatten/result-kind", "the function returns dates of several time zones")
    return Record(first.cls, first.names, items)


def _ragged(s: Evaluator, lists: Sequence[tuple[Sequence[Abstract], State]]) -> Shape:
    """A list of several lengths: at each place what one of them may have there."""
    longest = max(len(places) for places, _ in lists)
    if longest > MAX_PLACES:
        raise s.refuse("flatten/result-kind", f"the function returns a list of up to {longest} items, whose length "
                       "depends on the data", help="return numbers that are made of it")
    columns = [[(places[k], state) for places, state in lists if k < len(places)] for k in range(longest)]
    some = [[(item, state) for value, state in column for item in alternatives(value) if item is not UNBOUND]
            for column in columns]
    return Ragged(tuple(_shape(s, column, apart=True) for column in some if column))


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
            if made is None and isinstance(shape, Texts):
                made = _composed_leaves(s, edge, where, value, shape)
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
            if isinstance(value, Derived) and isinstance(shape.table, Positions):
                out.append(derived.label(s, value, shape.table))
            elif code is None:
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


def _composed_leaves(s: Evaluator, edge: IncomingEdge, where: Value, value: Abstract, shape: Texts
                     ) -> list[Value] | None:
    """The leaves of a number, tuple or list among other objects; None for what the shape does not hold."""
    for code, item in enumerate(shape.table):
        if isinstance(item, Composed) and _is_of(value, edge.state, item.shape):
            parts: list[Value] = []
            _leaves(s, edge, where, value, item.shape, parts)
            found: list[Value] = [const(code), *map(undefined, shape.numbers)]
            for hole, part in zip(item.holes, parts, strict=True):
                found[shape.leaf(hole)] = part
            return found
    return None


def _is_of(value: Abstract, state: State, shape: Shape) -> bool:
    """Whether it is a number of this very kind, or a tuple or list that may have this shape."""
    if is_number(value):
        own = COMPLEX if complex_parts(value) is not None else UNSIGNED if isinstance(value, Unsigned) else None
        return shape == own or isinstance(shape, Leaf) and shape.kind is numeric_kind(value)
    if isinstance(shape, Ragged):
        return result_texts.places_of(value, state) is not None
    parts = parts_of(value, state)
    return parts is not None and isinstance(shape, Record) and _fits(parts, shape.cls, shape.names, len(shape.items))


def _ragged_leaves(s: Evaluator, edge: IncomingEdge, where: Value, value: Abstract, shape: Ragged, out: list[Value]
                   ) -> None:
    """That the lane has a list of its own, and for each place whether it has an item there, and the item."""
    if result_texts.places_of(value, edge.state) is None:
        _wrong(s, edge, where, value, shape, out)
        return
    out.append(const(0))
    found = [(here, item) for here, item in result_texts.items_of(value, edge.state, functools.partial(_emit, edge))
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
    if (s.texts or s.strings) and value is not UNBOUND:
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
        case Strings():
            raise InternalError(f"not a result: {shape!r}")


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
