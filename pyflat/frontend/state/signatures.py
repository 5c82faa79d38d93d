"""The signature of a call: everything of its arguments that evaluating the function may look at.

    area(w, 1)        area(v, 1)        one signature: a float lane and the int 1
    area(w, True)     area(w, w)        two more: True is another value than 1, and here both parameters are one lane

Known values count by type and bits (1, True and 1.0 are three, 0.0 and -0.0 two), or by identity where they are no
plain values. Lanes count by kind, by what is known about where they come from, and by which of them are one; so do
lists, dicts, objects and arrays, with what the heap has of them. Closures read the variables of another frame, and
iterators are used up: calls with these have no signature.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.guards import same
from pyflat.frontend.state.layouts import contents_of, taken_apart
from pyflat.frontend.state.values import (
    CONFLICT,
    UNBOUND,
    Abstract,
    Caught,
    Closure,
    Contents,
    DictRef,
    IterRef,
    ListRef,
    ObjRef,
    Ref,
    Seq,
    Static,
    StoreRef,
    Text,
)
from pyflat.frontend.state.widths import Width
from pyflat.ir.nodes import FALSE, TRUE, Const, Value

_BY_VALUE = frozenset({bool, int, float, complex, str, bytes, type(None), np.bool_, np.int64, np.float64})


class NoSignatureError(Exception):
    """An argument of which a second evaluation might see something else."""


class Reader:
    """Reads arguments one after the other. `parts`: the values with identity, each where it was met first; `heap`: what
    the lists, dicts, objects and stores among them have."""

    def __init__(self, s: Evaluator) -> None:
        self.s = s
        self.parts: list[Abstract] = []
        self.heap: dict[Ref, Contents] = {}
        self.known: list[Any] = []
        """The known values: an identity means something while there is the object."""
        self._numbers: dict[int, int] = {}

    def read(self, value: Abstract) -> Hashable:
        """The key of one value; a number where it is one that was met before."""
        if isinstance(value, Static):
            return self._static(value.value)
        number = self._numbers.get(id(value))
        if number is not None:
            return number
        self._numbers[id(value)] = len(self.parts)
        self.parts.append(value)
        if isinstance(value, Value):
            return lane_key(self.s, value)
        if isinstance(value, ListRef | DictRef | ObjRef | StoreRef):
            return self._object(value)
        return self._compound(value)

    def _all(self, values: Iterable[Abstract]) -> tuple[Hashable, ...]:
        return tuple(map(self.read, values))

    def _compound(self, value: Abstract) -> Hashable:
        found = taken_apart(value)
        if found is not None:
            return found[0], self._all(found[1])
        if isinstance(value, Caught):
            return Caught, value.cls
        if type(value) is Text:
            return Text
        if value is UNBOUND:
            return "unbound"
        raise NoSignatureError

    def _object(self, ref: Ref) -> Hashable:
        if isinstance(ref, IterRef):
            raise NoSignatureError
        contents = self.heap[ref] = self.s.state.heap[ref]
        known = object_key(self.s, ref)
        if contents is CONFLICT:
            return known, "conflict"
        names = () if isinstance(ref, ListRef | StoreRef) else tuple(self._static(name) for name, _ in contents)
        return known, names, self._all(contents_of(contents, ref))

    def _static(self, value: Any) -> Hashable:
        self.known.append(value)
        return static_key(value)


def static_key(value: Any) -> Hashable:
    """Equal for known values that no evaluation can tell apart; nan is one with itself only, as `in` has it."""
    cls = type(value)
    if cls is tuple:
        return tuple, tuple(map(static_key, value))
    if cls in _BY_VALUE and value == value:
        return cls, repr(value) if cls is float or cls is complex or cls is np.float64 else value
    return "object", id(value)


def lane_key(s: Evaluator, value: Value) -> Hashable:
    """What the evaluator may ask about a lane without looking at how it is computed."""
    known = (value.key, value is TRUE or value is FALSE) if isinstance(value, Const) else None
    return value.kind, known, s.widths.seen and s.widths.is_joined(value), marks(s, value), s.widths.of(value)


def marks(s: Evaluator, value: Value) -> tuple[Width | None, bool]:
    """What NumPy or Python has made of the value."""
    return s.widths.known.get(value), value in s.widths.without_axes


def object_key(s: Evaluator, ref: Ref) -> Hashable:
    """What is known of a list, dict, object or store beside its contents."""
    frozen = ref in s.frozen
    if isinstance(ref, StoreRef):
        return StoreRef, frozen, ref.kind, ref.frozen, ref.in_order, ref.has_views
    return type(ref), frozen, ref.cls if isinstance(ref, ObjRef) else None


def mark(s: Evaluator, value: Value, found: tuple[Width | None, bool]) -> None:
    """Remember what `marks` has said of another value."""
    width, without_axes = found
    if width is not None:
        s.widths.mark(value, width)
    if without_axes:
        s.widths.without_axes.add(value)


def is_by_value(value: Any) -> bool:
    """A plain value that has its bits for a key."""
    return type(value) in _BY_VALUE if type(value) is not tuple else all(map(is_by_value, value))


Known = dict[str, Abstract]
"""Arguments by parameter."""

_LANE = Text()


# --- whether a recursion gets on: an inner call has another known argument than the outer ones
def no_progress(old: Known, new: Known) -> bool:
    """No static argument differs. Aggregates differ when their static parts or sizes do."""
    return all(name in old and _alike(old[name], value) for name, value in new.items())


def _alike(a: Abstract, b: Abstract) -> bool:
    if isinstance(a, Static) and isinstance(b, Static):
        return same(a.value, b.value) or (type(a.value) is type(b.value) and isinstance(a.value, tuple | list)
                                          and bool(a.value == b.value))
    if isinstance(a, Seq) and isinstance(b, Seq):
        return len(a.items) == len(b.items) and all(_alike(x, y) for x, y in zip(a.items, b.items, strict=True))
    if isinstance(a, Closure | ObjRef) or isinstance(b, Closure | ObjRef):
        return a is b
    return type(a) is type(b) or not isinstance(a, Static) and not isinstance(b, Static)


def known_part(arguments: Known) -> Known | None:
    """What `no_progress` looks at, without the objects: who keeps this keeps none of them alive. None where it looks
    at the identity of an object."""
    found = {name: _known_part(value) for name, value in arguments.items()}
    return None if None in found.values() else found  # type: ignore[return-value]


def _known_part(value: Abstract) -> Abstract | None:
    match value:
        case Static():
            return value
        case Closure() | ObjRef():
            return None
        case Seq():
            items = tuple(map(_known_part, value.items))
            return None if None in items else Seq(value.cls, items)  # type: ignore[arg-type]
    return _LANE
