"""Columns of static arguments: an array of strings is grouped by value, each group is run by the twin that is
specialised to it, and the results are scattered back.

    price.flat(amount, np.array(["net", "gross", "net"]))     two twins, one result of three lanes

What is a column: a NumPy array of strings or bytes, an array of objects that are strings, bytes, None or enum members,
and a list of those for a parameter whose annotation or default says that it takes one string. Such an array means one
value for each lane, for a parameter in static= too; a tuple is one static value, as ever.

Errors, faults and lane numbers are those of the whole call. The result holds what all groups give: int and float become
float (a lane whose int no float holds exactly fails), tuples join item by item, anything else is refused.
"""

from __future__ import annotations

import enum
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyflat.errors import InternalError, refuse
from pyflat.frontend.callables import Parameters
from pyflat.ir.formats import F8, dtypes
from pyflat.ir.shape import (
    COMPLEX,
    REAL_OR_COMPLEX,
    Composed,
    Fixed,
    Hole,
    Labels,
    Leaf,
    Maybe,
    Ragged,
    Record,
    Shape,
    Strings,
    Texts,
    holes_of,
    leaves,
    rebuild,
    record_of,
    written_record,
)
from pyflat.ir.types import BOOL, Kind, join_kinds, kind_of
from pyflat.runtime.arguments import ClassifiedCall
from pyflat.runtime.arrays import Array, CallContext, Lanes, broadcast, prepare
from pyflat.runtime.compiled import Built, Ran, static_key
from pyflat.runtime.faults import Part, lane_index
from pyflat.runtime.interfaces import Calls
from pyflat.runtime.outputs import arrays_in, run_originals, with_destinations
from pyflat.runtime.replay import fit
from pyflat.runtime.settings import Options

MAX_GROUPS = 64
"""Twins in one call: each is flattened and compiled."""
_SINGLE = (str, bytes, type(None), enum.Enum)


class Column:
    """The values of one argument; `codes` has the position in `distinct` of each item of `items`. In a call it stands
    for the argument until the groups are known (not a dataclass, whose fields would be lanes)."""

    __slots__ = ("codes", "distinct", "items", "name")

    def __init__(self, name: str, items: Array, codes: npt.NDArray[np.intp], distinct: list[Any]):
        self.name = name
        self.items = items
        self.codes = codes
        self.distinct = distinct


def columns(
    parameters: Parameters, args: Sequence[Any], kwargs: Mapping[str, Any], static: Sequence[str]
) -> dict[int | str, Column]:
    """The columns of a call by position or keyword. TypeError for an array of strings and other objects, ValueError
    for more than MAX_GROUPS values."""
    found: dict[int | str, Column] = {}
    passed: Iterable[tuple[int | str, Any]] = itertools.chain(enumerate(args), kwargs.items())
    for place, value in passed:
        if type(value) is np.ndarray and value.dtype.kind in "USTO" or type(value) is list:
            column = _column(parameters, place, value, static)
            if column is not None:
                found[place] = column
    return found


def _column(parameters: Parameters, place: int | str, value: Any, static: Sequence[str]) -> Column | None:
    name = parameter_at(parameters, place)
    if isinstance(value, list):
        if not value or not all(isinstance(item, _SINGLE) for item in value) or not parameters.takes_string(name):
            return None
        items = np.empty(len(value), object)
        items[:] = value
    else:
        items = value
    listed = items.reshape(-1).tolist()
    if items.dtype.kind == "O" and not _all_single(listed, name, items.shape, name in static):
        return None
    codes, distinct = coded(listed)
    if len(distinct) > MAX_GROUPS:
        raise _too_many(f"argument {name!r} has more than {MAX_GROUPS} different values")
    return Column(name, items, codes.reshape(items.shape), distinct)


def coded(items: list[Any]) -> tuple[npt.NDArray[np.intp], list[Any]]:
    """The position of each item among the distinct ones, and those in the order of their first positions."""
    keys = items if set(map(type, items)) <= {str} else [static_key(item) for item in items]
    first = dict(zip(reversed(keys), range(len(items) - 1, -1, -1), strict=True))
    places = sorted(first.values())
    number = {keys[place]: code for code, place in enumerate(places)}
    return np.fromiter(map(number.__getitem__, keys), np.intp, len(items)), [items[place] for place in places]


def _too_many(what: str) -> ValueError:
    return ValueError(f"{what}, and each needs its own twin: encode them as integers, or call the twin on "
                      f"parts with fewer values")


def parameter_at(parameters: Parameters, place: int | str) -> str:
    """The parameter of an argument as the caller passes it, after those of a bound method or partial."""
    if isinstance(place, str):
        return place
    position = place + len(parameters.prefix)
    return parameters.names[position] if position < len(parameters.names) else parameters.extra or f"argument {place}"


def _all_single(listed: list[Any], name: str, shape: tuple[int, ...], static: bool) -> bool:
    """Whether all objects are values of a column. An array of other objects is judged with the other arguments."""
    others = [position for position, item in enumerate(listed) if not isinstance(item, _SINGLE)]
    if not others:
        return bool(listed)  # an empty array of objects may be anything
    textual = any(isinstance(item, str | bytes | enum.Enum) for item in listed)
    if textual and not static:
        first = listed[others[0]]
        raise TypeError(f"argument {name!r} is an array of objects with {first!r} ({type(first).__name__}) in lane "
                        f"{lane_index(others[0], shape)}: a column holds strings, None or enum members only; "
                        f"pass x.astype(float) if every item is a number")
    return False


# --- the call


@dataclass(frozen=True, slots=True)
class _Group:
    """The lanes with one combination of values, their argument shapes, the values, and those as text."""

    lanes: npt.NDArray[np.intp]
    arguments: dict[str, Shape]
    values: tuple[Any, ...]
    shown: str


def run_grouped(
    caller: Calls, found: Mapping[int | str, Column], args: Sequence[Any], kwargs: Mapping[str, Any], options: Options,
    out: Any = None, part: Part | None = None,
) -> Any:
    """What the call gives. Raises FlattenError where the groups' results cannot be held together."""
    call = _classified(caller, found, args, kwargs, options)
    options = options.settled(call.floats)
    shape = _broadcast(call, found.values(), arrays_in(out))
    lanes = Lanes([], int(np.prod(shape, dtype=np.int64)), shape, "" if shape else "numpy", None, call.floats,
                  form=options.form)
    context = CallContext(caller.callee, caller.parameters, _whole_call(call), lanes, options, out, part)
    if os.environ.get("PYFLAT_DISABLE") == "1":
        done = run_originals(context)
        if done is not None:
            return done.value
    groups = list(_groups(caller, call, list(found.values()), lanes, options))
    builts = _builts(caller, groups, options)
    parts = list(map(_run, groups, builts, itertools.repeat(_flat_values(call, lanes)), itertools.repeat(call)))
    result = _join([(part.shown, part.result) for part in parts if not part.fails] or [("", parts[0].result)])
    whole, listed = context.call, list(found.values())
    reference = None if call.floats is F8 else _Float32Groups(whole, listed, groups, builts, result)
    context, _ = with_destinations(context, result)
    return caller.settle(context, result, _gather(parts, result, lanes), reference)


def prepare_groups(
    caller: Calls, found: Mapping[int | str, Column], args: Sequence[Any], kwargs: Mapping[str, Any], options: Options
) -> None:
    """Compile what the call takes. Raises FlattenError where the groups' results cannot be held together."""
    call = _classified(caller, found, args, kwargs, options)
    options = options.settled(call.floats)
    shape = _broadcast(call, found.values(), {})
    if os.environ.get("PYFLAT_DISABLE") == "1":
        return
    lanes = Lanes([], int(np.prod(shape, dtype=np.int64)), shape, "", None, call.floats)
    groups = list(_groups(caller, call, list(found.values()), lanes, options))
    builts, flat = _builts(caller, groups, options), _flat_values(call, lanes)
    _join([(g.shown, b.result) for g, b in zip(groups, builts, strict=True) if not _is_none(b.result)]
          or [("", builts[0].result)])
    for group, built in zip(groups, builts, strict=True):
        built.prepare(_lanes_of(group, flat, call).inputs)


def _classified(
    caller: Calls, found: Mapping[int | str, Column], args: Sequence[Any], kwargs: Mapping[str, Any], options: Options
) -> ClassifiedCall:
    """The call with its columns in the place of their values."""
    given = [found.get(place, value) for place, value in enumerate(args)]
    return caller.classified(given, {name: found.get(name, value) for name, value in kwargs.items()}, options)


def _builts(caller: Calls, groups: Sequence[_Group], options: Options) -> list[Built]:
    """The twin of each group."""
    builts = [caller.compilations.get(caller.callee.function, g.arguments, options.as_built) for g in groups]
    if any(written_record(built.result) for built in builts):
        message = f"{caller.parameters.name} writes into its arguments, and has a column of options"
        raise refuse("flatten/effect", message, help="pass one option for all lanes")
    return builts


def _is_none(result: Shape) -> bool:
    """All lanes fail, or the function returns None."""
    return isinstance(result, Fixed) and result.value is None


def _broadcast(call: ClassifiedCall, found: Iterable[Column], outputs: Mapping[str, Array]) -> tuple[int, ...]:
    arrays = {name: v.shape for name, v in zip(call.names, call.values, strict=True) if isinstance(v, np.ndarray)}
    arrays.update({column.name: column.items.shape for column in found})
    return broadcast(arrays | {name: array.shape for name, array in outputs.items()})


def _whole_call(call: ClassifiedCall) -> ClassifiedCall:
    """The call with each column as a lane value, for running lanes through the original."""
    values: list[Any] = []
    names: list[str] = []
    kinds: list[Kind] = []
    source = iter(zip(call.values, call.names, call.kinds, strict=True))

    def walk(shape: Shape) -> Shape:
        match shape:
            case Record():
                return Record(shape.cls, shape.names, tuple(map(walk, shape.items)))
            case Fixed(value=Column() as column):
                value, name, kind = column.items, column.name, BOOL  # of the kind nothing is read any more
            case Fixed():
                return shape
            case Leaf():
                value, name, kind = next(source)
        values.append(value)
        names.append(name)
        kinds.append(kind)
        return Leaf(kind)

    arguments = {name: walk(shape) for name, shape in call.arguments.items()}
    return ClassifiedCall(arguments, tuple(values), tuple(kinds), tuple(names), call.floats)


def _groups(
    caller: Calls, call: ClassifiedCall, found: list[Column], lanes: Lanes, options: Options
) -> Iterator[_Group]:
    """The combinations of values that occur, in the order of their first lanes."""
    code = np.zeros(lanes.count, np.intp)
    for column in found:
        code *= max(1, len(column.distinct))
        code += np.broadcast_to(column.codes, lanes.shape).reshape(-1)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    parts = np.split(order, starts[1:]) if lanes.count else []
    if len(parts) > MAX_GROUPS:
        names = " and ".join(repr(column.name) for column in found)
        raise _too_many(f"the arguments {names} have more than {MAX_GROUPS} different combinations of values")
    if not parts:
        values = [_value_for_none(caller, call, column, options) for column in found]
        yield _group(call, found, values, order)
    for part in sorted(parts, key=lambda part: int(part[0])):
        where = np.unravel_index(part[0], lanes.shape) if lanes.shape else ()
        values = [c.distinct[int(np.broadcast_to(c.codes, lanes.shape)[where])] for c in found]
        yield _group(call, found, values, part)


def _group(call: ClassifiedCall, found: list[Column], values: list[Any], part: npt.NDArray[np.intp]) -> _Group:
    chosen = {id(column): Fixed(value) for column, value in zip(found, values, strict=True)}

    def walk(shape: Shape) -> Shape:
        match shape:
            case Record():
                return Record(shape.cls, shape.names, tuple(map(walk, shape.items)))
            case Fixed(value=Column() as column):
                return chosen[id(column)]
        return shape

    shown = ", ".join(f"{column.name}={value!r}" for column, value in zip(found, values, strict=True))
    return _Group(part, {name: walk(shape) for name, shape in call.arguments.items()}, tuple(values), shown)


def _value_for_none(caller: Calls, call: ClassifiedCall, column: Column, options: Options) -> Any:
    """The value that says what the result of a call without lanes is: one that the column has, that of the last call,
    or the parameter's default."""
    if column.distinct:
        return column.distinct[0]
    last = caller.compilations.last(options.as_built)
    before = last.arguments.get(column.name) if last is not None else None
    if isinstance(before, Fixed):
        return before.value
    parameter = caller.parameters.signature.parameters.get(column.name)
    if parameter is not None and parameter.default is not parameter.empty:
        return parameter.default
    raise ValueError(f"argument {column.name!r} is empty: the twin, and so the type of the result, depends on its "
                     f"values")


@dataclass(frozen=True, slots=True)
class _Part:
    """What the lanes of one group gave. `fails`: no lane has a result, and none is known from the code either (an
    option that the function does not know), so that the shape of the result says nothing."""

    lanes: npt.NDArray[np.intp]
    shown: str
    result: Shape
    ran: Ran
    suspect: npt.NDArray[np.bool_]
    fails: bool


class _Float32Groups:
    """What lanes of a call in float32 give (`pyflat.runtime.faults`): each by the twin of its group."""

    def __init__(
        self, whole: ClassifiedCall, found: list[Column], groups: list[_Group], builts: list[Built], joined: Shape
    ):
        self._places = [next(k for k, v in enumerate(whole.values) if v is column.items) for column in found]
        self._builts = {tuple(map(static_key, g.values)): built for g, built in zip(groups, builts, strict=True)}
        self._joined = joined

    def values(self, row: Sequence[Any]) -> tuple[Any, ...]:
        built = self._builts[tuple(static_key(row[place]) for place in self._places)]
        assert built.reference is not None
        own = [value for k, value in enumerate(row) if k not in self._places]
        return tuple(fit(rebuild(built.result, iter(built.reference.values(own))), self._joined))


def _flat_values(call: ClassifiedCall, lanes: Lanes) -> list[Any]:
    """The lane values over the lanes of the whole call; what is the same in all lanes stays one value."""
    return [np.broadcast_to(v, lanes.shape).reshape(-1) if isinstance(v, np.ndarray) and v.size != 1 else v
            for v in call.values]


def _lanes_of(group: _Group, flat: list[Any], call: ClassifiedCall) -> Lanes:
    """The lanes of one group, as an engine takes them."""
    values = tuple(v[group.lanes] if isinstance(v, np.ndarray) and v.size != 1 else v for v in flat)
    return prepare(ClassifiedCall(group.arguments, values, call.kinds, call.names, call.floats))


def _run(group: _Group, built: Built, flat: list[Any], call: ClassifiedCall) -> _Part:
    suspect = np.zeros(len(group.lanes), np.bool_)
    if not len(group.lanes):
        return _Part(group.lanes, group.shown, built.result, Ran([], None, None), suspect, False)
    lanes = _lanes_of(group, flat, call)
    ran = built.run(lanes.inputs, lanes.count)
    for mask in (ran.suspect, lanes.suspect):
        if mask is not None:
            suspect |= mask
    fails = _is_none(built.result) and bool(suspect.all())
    return _Part(group.lanes, group.shown, built.result, ran, suspect, fails)


def _gather(parts: list[_Part], result: Shape, lanes: Lanes) -> Ran:
    """Put the results of all groups where they belong."""
    arrays: list[Array] = [np.zeros(lanes.count, dtypes(lanes.floats)[leaf.kind]) for leaf in leaves(result)]
    suspect = np.zeros(lanes.count, np.bool_)
    limited = np.zeros(lanes.count, np.bool_)
    for part in parts:
        if not len(part.lanes):
            continue
        suspect[part.lanes] = part.suspect
        if not part.fails:
            for mask in _scatter(part.result, iter(part.ran.leaves), result, iter(arrays), part.lanes):
                suspect[part.lanes] |= mask
        if part.ran.limited is not None:
            limited[part.lanes] = part.ran.limited
    return Ran(arrays, suspect if suspect.any() else None, limited if limited.any() else None)


def _scatter(
    shape: Shape, source: Iterator[Array], joined: Shape, arrays: Iterator[Array], where: npt.NDArray[np.intp]
) -> list[npt.NDArray[np.bool_]]:
    """Write the leaves of a group; gives masks of lanes whose number `joined` cannot hold exactly."""
    if isinstance(joined, Leaf):
        array = next(arrays)
        values = next(source) if isinstance(shape, Leaf) else np.asarray([_plain(_fixed(shape))])
        array[where] = values
        if values.dtype.kind != "i" or array.dtype != np.float64:  # in float32 ints are rounded
            return []
        with np.errstate(invalid="ignore"):
            back = values.astype(np.float64)
            return [(np.abs(back) >= 2.0**63) | (back.astype(np.int64) != values)]
    if isinstance(joined, Labels):
        codes = np.array([joined.code(item) for item in (shape.table if isinstance(shape, Labels) else (None,))])
        next(arrays)[where] = codes.take(next(source)) if isinstance(shape, Labels) else codes[0]
        return []
    if isinstance(joined, Texts):
        _scatter_texts(shape, source, joined, [next(arrays) for _ in leaves(joined)], where)
        return []
    if isinstance(joined, Maybe):
        return _scatter_maybe(shape, source, joined, arrays, where)
    if isinstance(joined, Record) and joined.cls is complex:
        return _scatter_complex(shape, source, joined, arrays, where)
    if isinstance(joined, Record):
        masks = []
        for item, part in zip(_items(shape), joined.items, strict=True):
            masks += _scatter(item, source, part, arrays, where)
        return masks
    return []


def _scatter_texts(
    shape: Shape, source: Iterator[Array], joined: Texts, arrays: Sequence[Array], where: npt.NDArray[np.intp]
) -> None:
    """Texts, numbers and objects of a group, whose numbers have the places that their holes have in all groups."""
    made = _as_texts(shape.inner if isinstance(shape, Maybe) else shape)
    if made is None:
        raise InternalError(f"no objects: {shape!r}")
    codes = np.array([joined.code(item) for item in made.table])
    arrays[0][where] = codes.take(next(source)) if isinstance(shape, Labels | Texts) else codes[0]
    numbers = made.numbers if isinstance(made, Texts) else ()
    holes = [Hole(kind, place - numbers.index(kind)) for place, kind in enumerate(numbers)]
    for hole in holes if isinstance(shape, Texts) else holes_of(made.table[0]):
        arrays[joined.leaf(hole)][where] = next(source)
    if isinstance(shape, Maybe):
        arrays[0][where] = np.where(next(source), joined.code(None) or 0, arrays[0][where])


def _scatter_maybe(
    shape: Shape, source: Iterator[Array], joined: Maybe, arrays: Iterator[Array], where: npt.NDArray[np.intp]
) -> list[npt.NDArray[np.bool_]]:
    """Results of a group in which None may be some, none or all."""
    if _is_none(shape):
        *_, missing = [next(arrays) for _ in leaves(joined)]
        missing[where] = True
        return []
    inner = shape.inner if isinstance(shape, Maybe) else shape
    masks = _scatter(inner, source, joined.inner, arrays, where)
    next(arrays)[where] = next(source) if isinstance(shape, Maybe) else False
    return masks


def _scatter_complex(
    shape: Shape, source: Iterator[Array], joined: Record, arrays: Iterator[Array], where: npt.NDArray[np.intp]
) -> list[npt.NDArray[np.bool_]]:
    """Complex or real results of a group as complex ones; a group's own tags win over those of its shape."""
    parts: list[Any]
    if isinstance(shape, Record):
        parts = [next(source) for _ in shape.items]
        parts += [True] * (3 - len(parts))
        real: Shape = shape.items[0]
    elif isinstance(shape, Leaf):
        parts, real = [next(source), 0.0, False], shape
    else:
        known = _fixed(shape)
        tag = isinstance(known, complex)
        parts, real = [known.real if tag else known, known.imag if tag else 0.0, tag], shape
    masks = _scatter(real if isinstance(real, Leaf) else Fixed(parts[0]), iter(parts), joined.items[0], arrays, where)
    for _, part in zip(joined.items[1:], parts[1:], strict=False):
        next(arrays)[where] = part
    return masks


# --- the result of all groups


def _join(results: list[tuple[str, Shape]]) -> Shape:
    """The shape that holds the results of all groups. Raises FlattenError where there is none."""
    some = [(shown, shape) for shown, shape in results if not _is_none(shape)]
    if any(isinstance(shape, Maybe) for _, shape in some) or some and len(some) < len(results):
        inner = _join([(shown, shape.inner if isinstance(shape, Maybe) else shape) for shown, shape in some])
        if isinstance(inner, Labels | Texts):
            return inner if inner.code(None) is not None else replace(inner, table=(*inner.table, None))
        return Maybe(inner)
    if all(isinstance(shape, Labels) for _, shape in results):
        return _joined_labels([shape for _, shape in results if isinstance(shape, Labels)])
    if all(isinstance(shape, Labels | Texts) for _, shape in results):
        return _joined_texts([shape for _, shape in results if isinstance(shape, Labels | Texts)])
    texts = [_as_texts(shape) for _, shape in results]
    if any(isinstance(shape, Labels | Texts) or _is_known(shape) for _, shape in results) and None not in texts:
        return _joined_texts([shape for shape in texts if shape is not None])
    (_, first), *rest = results
    if all(shape == first and not isinstance(first, Fixed) for _, shape in rest):
        return first
    if all(isinstance(shape, Fixed) for _, shape in results) and len({static_key(_fixed(s)) for _, s in results}) == 1:
        return first
    kinds = [_kind(shape) for _, shape in results]
    known = [kind for kind in kinds if kind is not None]
    if len(known) == len(kinds):
        joined = known[0]
        for kind in known:
            joined = join_kinds(joined, kind)
        return Leaf(joined)
    if all(kind is not None or _is_complex_shape(shape) for kind, (_, shape) in zip(kinds, results, strict=True)):
        return COMPLEX if all(shape == COMPLEX for _, shape in results) else REAL_OR_COMPLEX
    records = [(shown, _as_record(shape)) for shown, shape in results]
    made = [(shown, record) for shown, record in records if record is not None]
    if len(made) == len(results) and len({(r.cls, r.names, len(r.items)) for _, r in made}) == 1:
        record = made[0][1]
        parts = [[(shown, each.items[i]) for shown, each in made] for i in range(len(record.items))]
        return Record(record.cls, record.names, tuple(map(_join, parts)))
    if None not in texts:
        return _joined_texts([shape for shape in texts if shape is not None])
    one = results[0]
    other = next((each for each in rest if _in_words(each[1]) != _in_words(one[1])), rest[0])
    message = f"the result is {_in_words(one[1])} for {one[0]} and {_in_words(other[1])} for {other[0]}"
    raise refuse("flatten/mixed-join", message, why="one array holds the results of all groups",
                 help="call the twin once for each of these values")


def _is_known(shape: Shape) -> bool:
    """A known object that is no number or record."""
    return isinstance(shape, Fixed) and (shape.value is None or isinstance(shape.value, str | enum.Enum))


def _as_texts(shape: Shape) -> Labels | Texts | None:
    """The results of a group as objects; None for arrays, and for what is written into arguments."""
    if isinstance(shape, Labels | Texts):
        return shape
    if isinstance(shape, Fixed):
        known = _is_known(shape) or kind_of(shape.value) is not None or isinstance(shape.value, tuple)
        return Labels((shape.value,)) if known else None
    if isinstance(shape, Record) and (shape.cls is np.ndarray or written_record(shape) is not None):
        return None
    return Texts.of((Composed.of(shape),))


def _joined_texts(shapes: Sequence[Labels | Texts]) -> Texts:
    """The texts of all groups, with as many numbers of a kind as one of them has."""
    return Texts.of(_joined_labels([Labels(shape.table) for shape in shapes]).table)


def _joined_labels(shapes: Sequence[Labels]) -> Labels:
    """The objects of all groups, each once."""
    table: list[Any] = []
    for item in itertools.chain.from_iterable(shape.table for shape in shapes):
        if Labels(table).code(item) is None:
            table.append(item)
    return Labels(tuple(table))


def _fixed(shape: Shape) -> Any:
    if not isinstance(shape, Fixed):
        raise InternalError(f"not a fixed result: {shape!r}")
    return shape.value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _kind(shape: Shape) -> Kind | None:
    if isinstance(shape, Leaf):
        return shape.kind
    return kind_of(_plain(shape.value)) if isinstance(shape, Fixed) else None


def _is_complex_shape(shape: Shape) -> bool:
    if isinstance(shape, Fixed):
        return isinstance(shape.value, complex)
    return isinstance(shape, Record) and shape.cls is complex


def _as_record(shape: Shape) -> Record | None:
    if isinstance(shape, Record):
        return shape
    parts = record_of(shape.value) if isinstance(shape, Fixed) else None
    return None if parts is None else Record(parts[0], parts[1], tuple(map(Fixed, parts[2])))


def _items(shape: Shape) -> tuple[Shape, ...]:
    record = _as_record(shape)
    if record is None:
        raise InternalError(f"not a record: {shape!r}")
    return record.items


def _in_words(shape: Shape) -> str:
    match shape:
        case Leaf():
            return "a number"
        case Fixed():
            text = repr(shape.value)
            return text if len(text) <= 40 else text[:37] + "..."
        case Labels():
            return f"one of {len(shape.table)} objects"
        case Texts() | Strings():
            return "a text"
        case Ragged():
            return "a list"
        case Maybe():
            return f"{_in_words(shape.inner)} or None"
    return f"a {shape.cls.__name__} of {len(shape.items)}"
