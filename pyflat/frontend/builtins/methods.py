"""Methods of builtin types: local lists and dicts, lane numbers, strings; and of NumPy arrays, most of which are
functions of np by another name."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.builtins import kernel_arrays, making
from pyflat.frontend.builtins.sequences import sort_lanes
from pyflat.frontend.builtins.support import bind_names, only, refuse_texts
from pyflat.frontend.library import stdlib
from pyflat.frontend.library import table as library
from pyflat.frontend.space import (
    array_items,
    arrays,
    characters,
    comparisons,
    complex_numbers,
    containers,
    dict_views,
    growing,
    item_writes,
    keyed,
    ragged,
    scalars,
    text_errors,
    text_methods,
    texts,
    unsigned,
)
from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.objects import OF_NUMPY_NUMBERS
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import is_number_union, lane, maybe_unbound, per_alternative
from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    Array,
    BoundMethod,
    Complex,
    DictRef,
    Grid,
    GuardedUnion,
    LaneSet,
    Lazy,
    ListRef,
    Seq,
    Slice,
    Static,
    Text,
    Unsigned,
    View,
)
from pyflat.ir.nodes import Value
from pyflat.ir.types import FLOAT


def method(s: Evaluator, bound: BoundMethod, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """A method of a local list or dict, of a lane number, or of a string."""
    receiver, name = bound.receiver, bound.name
    if isinstance(receiver, Static) and not isinstance(receiver.value, dict):
        refuse_texts(s, arguments, node)
    match receiver:
        case View():
            return kernel_arrays.method(s, bound, arguments, node)
        case LaneSet() if not arguments.named:
            return keyed.method(s, receiver, name, arguments.positional, node)
        case ListRef():
            return _list_method(s, receiver, name, arguments, node)
        case DictRef() if name not in ("keys", "values", "items") and dict_views.is_of_lanes(receiver, s):
            return _keyed_method(s, receiver, name, arguments, node)
        case DictRef() if dict_views.is_of_lanes(receiver, s):
            return Lazy(functools.partial(containers.dict_view, s, receiver, {}, name, node))
        case DictRef():
            return _dict_method(s, s.space.dict_entries(receiver), receiver, name, arguments, node)
        case Static() if isinstance(receiver.value, dict) and name in ("get", "items", "keys", "values"):
            return _dict_method(s, s.space.dict_entries(receiver), None, name, arguments, node)
        case Static(value=str() as text) if name == "join" and len(arguments.positional) == 1 and not arguments.named:
            parts = containers.items_or_gaps(s, arguments.positional[0], node)
            if not any(map(maybe_unbound, parts)):
                return texts.strung(s, text, parts, node)
            if not all(map(texts.is_string, parts)):
                raise s.refuse("flatten/unsupported-expression", "join() of items that may not be strings", node)
            return Text() if text else characters.joined(s, parts)
        case Static() if isinstance(receiver.value, str) and not arguments.all_static():
            if name == "format":
                return texts.formatted(s, receiver.value, arguments, node)
            return text_errors.by_method(s, receiver, name, arguments, node)
        case Static() if name in ("index", "count") and not arguments.all_static():
            return _find(s, s.space.items(receiver, node), name, arguments, node)
        case Text():
            return text_methods.method(s, receiver, name, arguments, node)
        case Seq() if name in ("index", "count"):
            return _find(s, list(receiver.items), name, arguments, node)
        case Array() | GuardedUnion() | Static() if arrays.is_array(receiver) and not (
                isinstance(receiver, Static) and arguments.all_static() and name not in ("copy", "flatten")):
            return array_method(s, receiver, name, arguments, node)
        case Value() if name == "is_integer" and receiver.kind is FLOAT:
            return s.space.call(Static(library.is_integer), Arguments([receiver], {}), node)
        case Value() if name == "as_integer_ratio" and receiver.kind is FLOAT:
            return s.space.call(Static(stdlib.as_integer_ratio), Arguments([receiver], {}), node)
        case Value() if name in ("as_integer_ratio", "is_integer"):
            return Static(True) if name == "is_integer" else heap.make_tuple([num.unary(s, "pos", receiver), Static(1)])
        case Value() if name == "bit_length" and receiver.kind is not FLOAT:
            return s.space.call(Static(library.bit_length), Arguments([receiver], {}), node)
        case Value() if name == "bit_count" and receiver.kind is not FLOAT:
            return s.space.call(Static(stdlib.bit_count), Arguments([receiver], {}), node)
        case Unsigned() if name == "bit_length":
            return unsigned.bit_length(s, receiver, node)
        case Unsigned() if name == "bit_count":
            return unsigned.bit_count(s, receiver, node)
        case Value() if name == "astype":
            given = bind_names(s, "astype", "dtype !order !casting !subok !copy", arguments, node)
            kind = making.dtype_of(s, given, node)
            return None if kind is None else s.mark_numpy(arrays.element(s, receiver, kind, node))
        case Value() if name in OF_NUMPY_NUMBERS:
            return s.space.call(Static(getattr(np, name)),
                                Arguments([receiver, *arguments.positional], arguments.named), node)
        case Value() if name == "squeeze" and not arguments.positional and not arguments.named:
            return receiver
        case Value() if name == "item":
            return s.mark_python(receiver, [receiver])
        case Value() if name == "conjugate":
            return num.unary(s, "pos", receiver)
        case Complex() if name == "conjugate" and not arguments.positional and not arguments.named:
            return complex_numbers.conjugate(s, receiver)
        case _ if isinstance(getattr(getattr(receiver, "cls", None), "_fields", None), tuple) and name == "_replace":
            cls = receiver.cls  # type: ignore[union-attr]
            items = dict(zip(cls._fields, receiver.items, strict=True))  # type: ignore[union-attr]
            if arguments.positional or arguments.named.keys() - items.keys():
                raise s.fault("ValueError", "unexpected field names", node)
            return Seq(cls, tuple({**items, **arguments.named}.values()))  # __new__ is not asked
        case Seq() if name == "_asdict" and hasattr(receiver.cls, "_fields"):
            return heap.new_dict(s, dict(zip(receiver.cls._fields, receiver.items, strict=True)))
    return None


def _list_method(s: Evaluator, ref: ListRef, name: str, arguments: Arguments, node: cst.CSTNode
                 ) -> Abstract | None:
    values = arguments.positional
    if name == "extend" and len(values) == 1 and not growing.is_growing(s, ref) and isinstance(values[0], ListRef) \
            and growing.is_growing(s, values[0]) and not ragged.is_ragged(s, ref):
        extended(s, ref, values[0], node)
        return Static(None)
    if growing.is_growing(s, ref) and (done := _growing_method(s, ref, name, arguments, node)) is not None:
        return done
    if name not in _KNOWS_GAPS and ragged.is_ragged(s, ref):
        return ragged.by_length(s, ref, lambda: _list_method(s, ref, name, arguments, node), node)
    items = list(heap.contents_with_gaps(s, ref, node))
    match name:
        case "append":
            items.append(*values)
        case "extend":
            items += containers.items_or_gaps(s, values[0], node)
        case "insert" if len(values) == 2:
            item_writes.insert_item(s, ref, values[0], values[1], node)
            return Static(None)
        case "pop" if len(values) < 2:
            return item_writes.take_item(s, ref, values[0] if values else Static(-1), node)
        case "remove" if len(values) == 1:
            item_writes.take_item(s, ref, _find(s, items, "index", arguments, node), node)
            return Static(None)
        case "clear":
            items = []
        case "reverse":
            items.reverse()
        case "copy":
            return heap.new_list(s, items)
        case "sort":
            sorted_ref = sort_lanes(s, Arguments([ref], arguments.named), node)
            assert isinstance(sorted_ref, ListRef)
            if growing.is_growing(s, sorted_ref):
                growing.write(s, ref, *growing.parts(s, sorted_ref), node)
                return Static(None)
            items = list(heap.contents_with_gaps(s, sorted_ref, node))
        case "index" | "count":
            return _find(s, items, name, arguments, node)
        case _:
            return None
    heap.rewrite(s, ref, tuple(items), node)
    return Static(None)


def extended(s: Evaluator, ref: ListRef, source: Abstract, node: cst.CSTNode) -> None:
    """`ref.extend(source)` and `ref += source`."""
    made = s.space.call(Static(list), Arguments([source], {}), node)
    assert isinstance(made, ListRef)
    growing.write(s, ref, *growing.concatenated(s, ref, made, node), node)


def _growing_method(s: Evaluator, ref: ListRef, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    """A method of a list that has grown in a loop; None for those that read it as a list with gaps."""
    values = arguments.positional
    match name, len(values):
        case "append", 1:
            growing.append(s, ref, values[0], node)
        case "pop", 0 | 1:
            return growing.take(s, ref, values[0] if values else Static(-1), node)
        case "insert", 2:
            growing.insert(s, ref, values[0], values[1], node)
        case "clear", 0:
            growing.write(s, ref, Static(0), growing.parts(s, ref)[1], node)
        case "reverse", 0:
            growing.write(s, ref, *growing.reverse(s, ref), node)
        case "copy", 0:
            return growing.new(s, *growing.parts(s, ref))
        case "extend", 1:
            extended(s, ref, values[0], node)
        case "count", 1:
            return growing.count_of(s, ref, lambda one: comparisons.same_element(s, one, values[0], node), node)
        case "index" | "remove", 1:
            position = growing.find(s, ref, lambda one: comparisons.same_element(s, one, values[0], node), node)
            if name == "index":
                return position
            growing.take(s, ref, position, node)
        case _:
            return None
    return Static(None)


_KNOWS_GAPS = {"append", "extend", "clear", "reverse", "copy", "sort"}
"""Methods that take a list whose length differs from lane to lane whole."""


def _find(s: Evaluator, items: list[Abstract], name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    (wanted,) = only(s, arguments, node, 1, 1)
    if name == "count":
        total: Abstract = Static(0)
        for item in items:
            held = s.space.truth(comparisons.same_element(s, item, wanted, node))
            total = num.binary(s, "add", total, held)
        return total
    found: Abstract = Static(None)
    missing: Abstract = Static(True)
    for position in range(len(items) - 1, -1, -1):
        held = s.space.truth(comparisons.same_element(s, items[position], wanted, node))
        if isinstance(held, Static):
            if held.value:
                found, missing = Static(position), Static(False)
            continue
        here: Abstract = Static(position)
        found = scalars.choose(s, held, here, here if isinstance(missing, Static) and missing.value else found)
        missing = scalars.negate(s, held) if isinstance(missing, Static) and missing.value else \
            num.binary(s, "and", missing, scalars.negate(s, held))
    if isinstance(missing, Static):
        if missing.value:
            raise s.fault("ValueError", "not in list", node)
    else:
        heap.fault_if(s, lane(missing), "ValueError", "not in list", node)
    return found


@per_alternative("key", unless=is_number_union)
def _get(s: Evaluator, entries: dict[Any, Abstract], key: Abstract, default: Abstract, node: cst.CSTNode) -> Abstract:
    if isinstance(key, Static):
        return entries.get(key.value, default)
    found = containers.dict_lookup(s, entries, key, node)
    return default if found is None else scalars.choose(s, found[0], found[1], default)


def _dict_method(s: Evaluator, entries: dict[Any, Abstract], ref: DictRef | None, name: str,
                 arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    values = arguments.positional
    match name:
        case "get":
            return _get(s, entries, values[0], values[1] if len(values) > 1 else Static(None), node)
        case "keys" | "values" | "items":
            return Lazy(functools.partial(containers.dict_view, s, ref, entries, name, node))
        case "update" if ref is not None:
            for value in values:
                entries.update(s.space.dict_entries(value))
            heap.rewrite(s, ref, tuple({**entries, **arguments.named}.items()), node)
            return Static(None)
        case "copy" if ref is not None:
            return heap.new_dict(s, entries)
        case "pop" | "setdefault" if ref is not None and values and not isinstance(values[0], Static):
            keyed.to_lanes(s, ref, node)
            return _keyed_method(s, ref, name, arguments, node)
        case "pop" if ref is not None and values and isinstance(values[0], Static):
            if values[0].value not in entries:
                if len(values) == 1:
                    raise s.raised(KeyError, node)
                return values[1]
            taken = entries.pop(values[0].value)
            heap.rewrite(s, ref, tuple(entries.items()), node)
            return taken
        case "setdefault" if ref is not None and values and isinstance(values[0], Static):
            kept = entries.setdefault(values[0].value, values[1] if len(values) > 1 else Static(None))
            heap.rewrite(s, ref, tuple(entries.items()), node)
            return kept
        case "clear" if ref is not None:
            heap.rewrite(s, ref, (), node)
            return Static(None)
    return None


# --- methods of arrays
_FUNCTIONS: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "var": np.var, "std": np.std, "max": np.max, "min": np.min,
    "any": np.any, "all": np.all, "argmax": np.argmax, "argmin": np.argmin, "cumsum": np.cumsum, "cumprod": np.cumprod,
    "round": np.round, "clip": np.clip, "ravel": np.ravel, "squeeze": np.squeeze, "swapaxes": np.swapaxes,
    "repeat": np.repeat, "dot": np.dot, "trace": np.trace, "searchsorted": np.searchsorted, "copy": np.copy,
}


def array_method(s: Evaluator, owner: Abstract, name: str, arguments: Arguments, node: cst.CSTNode
                 ) -> Abstract | None:
    """A method of an array of lanes; None for one that pyflat does not know."""
    if name == "copy" and isinstance(owner, Array) and not arguments.positional and not arguments.named:
        made = arrays.new(s, arrays.grid(s, owner, node), node, owner.store.kind)
        made.store.in_order = True  # the method has the order C, the function that of its operand
        return made
    if name in _FUNCTIONS:
        return s.space.call(Static(_FUNCTIONS[name]),
                            Arguments([owner, *arguments.positional], arguments.named), node)
    match name:
        case "conj" | "conjugate" if not arguments.positional and not arguments.named:
            return owner  # NumPy gives the array itself, where it is not complex
        case "reshape" | "transpose":
            return _shaped(s, owner, name, arguments, node)
        case "flatten":
            copied = s.space.call(Static(np.copy), Arguments([owner], {}), node)
            return s.space.call(Static(np.ravel), Arguments([copied], {}), node)
        case "tolist":
            return _listed(s, owner, node)
        case "item":
            return _item(s, owner, arguments, node)
        case "astype":
            given = bind_names(s, "astype", "dtype !order !casting !subok copy", arguments, node)
            kind = making.dtype_of(s, given, node)
            if kind is arrays.kind_of(owner) and isinstance(owner, Array) and not given.static("copy", True):
                return owner
            return None if kind is None else making.astype(s, owner, kind, node)
        case "fill" if isinstance(owner, Array):
            (value,) = only(s, arguments, node, 1, 1)
            array_items.write(s, owner, owner.places, value, node)
            return Static(None)
        case "sort" if isinstance(owner, Array) and not arguments.positional and not arguments.named:
            ordered = s.space.call(Static(np.sort), Arguments([owner], {}), node)
            array_items.update(s, owner, ordered, node)
            return Static(None)
    return None


def _shaped(s: Evaluator, owner: Abstract, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """reshape(2, 3) and reshape((2, 3))."""
    fn = np.reshape if name == "reshape" else np.transpose
    values = arguments.positional
    if len(values) > 1 or values and isinstance(values[0], Static) and isinstance(values[0].value, int):
        values = [heap.make_tuple(values)]
    return s.space.call(Static(fn), Arguments([owner, *values], arguments.named), node)


def _listed(s: Evaluator, owner: Abstract, node: cst.CSTNode) -> Abstract:
    def nested(part: Grid) -> Abstract:
        if not part.shape:
            found: Abstract = part[()]
            return Static(found.value.item()) if isinstance(found, Static) else s.mark_python(found, [found])
        return heap.new_list(s, [nested(part[i, ...]) for i in range(len(part))])

    return nested(arrays.grid(s, owner, node))


def _item(s: Evaluator, owner: Abstract, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    found = arrays.grid(s, owner, node)
    if not arguments.positional:
        if found.size != 1:
            raise s.raised(ValueError, node)
        one: Abstract = found.flat[0]
        return s.mark_python(one, [one])
    if len(arguments.positional) > 1:
        return array_items.index(s, owner, heap.make_tuple(arguments.positional), node)
    flat = arrays.new(s, found.ravel(), node)
    return array_items.index(s, flat, arguments.positional[0], node)


# --- dicts whose keys differ from lane to lane, `defaultdict` and `Counter`
def _update(s: Evaluator, ref: DictRef, source: Abstract, node: cst.CSTNode) -> None:
    """`ref.update(source)`: of a dict or of pairs; a Counter adds, and counts what is no dict."""
    counts = issubclass(ref.cls, Counter)
    of_dict = isinstance(source, DictRef) or isinstance(source, Static) and isinstance(source.value, dict)
    items = s.space.call(s.space.getattr(source, "items", node), Arguments([], {}), node) if of_dict else source

    def one(each: Abstract) -> Abstract:
        key, value = (each, Static(1)) if counts and not of_dict else s.space.items(each, node)
        if counts:
            value = num.binary(s, "add", keyed.get(s, ref, key, Static(0), node), value)
        keyed.store(s, ref, key, value, node)
        return Static(None)

    for each in containers.items_or_gaps(s, items, node):
        heap.where_present(s, each, one, lambda: Static(None))


def _keyed_method(s: Evaluator, ref: DictRef, name: str, arguments: Arguments, node: cst.CSTNode) -> Abstract | None:
    values = arguments.positional
    match name, len(values):
        case "get", 1 | 2:
            return keyed.get(s, ref, values[0], values[1] if len(values) > 1 else Static(None), node)
        case "pop", 1 | 2:
            return keyed.pop(s, ref, values[0], values[1] if len(values) > 1 else None, node)
        case "setdefault", 1 | 2:
            return keyed.setdefault(s, ref, values[0], values[1] if len(values) > 1 else Static(None), node)
        case "update", 1 if not arguments.named:
            _update(s, ref, values[0], node)
        case "clear", 0:
            keyed.drop(s, dict_views.entries(s, ref, node), [Static(True)] * len(dict_views.rows(s, ref, node)), node)
        case "copy", 0:
            return keyed.copied(s, ref, node)
        case "total", 0 if issubclass(ref.cls, Counter):
            return s.space.call(Static(sum), Arguments([s.space.call(s.space.getattr(ref, "values", node), Arguments(
                [], {}), node)], {}), node)
        case "__getitem__", 1:
            return keyed.item(s, ref, values[0], node)
        case "__contains__", 1:
            return keyed.contains(s, ref, values[0], node)
        case "most_common", 0 | 1 if issubclass(ref.cls, Counter):
            ordered = s.space.call(Static(stdlib.by_count), Arguments([ref], {}), node)
            return s.space.getitem(ordered, Slice(slice(None, values[0].value)), node) if values and isinstance(
                values[0], Static) else ordered if not values else None
        case _:
            return None
    return Static(None)


def _make_defaultdict(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 0, 2)
    made = keyed.new(s, defaultdict, values[0] if values else Static(None))
    if len(values) > 1:
        _update(s, made, values[1], node)
    return made


def _make_counter(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    values = only(s, arguments, node, 0, 1)
    made = keyed.new(s, Counter)
    if values:
        _update(s, made, values[0], node)
    return made


HANDLERS: dict[Any, Any] = {defaultdict: _make_defaultdict, Counter: _make_counter}
