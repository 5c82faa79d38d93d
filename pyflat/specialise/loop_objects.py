"""Lists, dicts and objects that a name means in turn while a loop stays a loop.

    v = [x, 1.0]                 the parameters of the loop are v[0] and v[1];
    while v[0] > 1:              in each iteration v means a list of its own that holds them
        v = [v[0] / 2, v[1] + 1]

That is right as long as nobody can tell the lists apart: where another name may mean the same list, none of them may be
written or compared by identity any more (`Specialiser.frozen`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflat.specialise import arrays
from pyflat.specialise import numbers as num
from pyflat.specialise.frames import Specialiser
from pyflat.specialise.merge import CONFLICT
from pyflat.specialise.values import (
    Abstract,
    Array,
    Bound,
    Choice,
    Closure,
    DictRef,
    IterRef,
    ListRef,
    ObjRef,
    Partial,
    Ref,
    Seq,
    State,
    StoreRef,
)


def options(value: Abstract) -> list[Ref] | None:
    """The objects that a value may be, when they are of one class and have the same keys; None for anything else."""
    if isinstance(value, Choice):
        then, orelse = options(value.then), options(value.orelse)
        return None if then is None or orelse is None else [*then, *orelse]
    if isinstance(value, ListRef | DictRef | ObjRef) and not isinstance(value, IterRef):
        return [value]
    return None


def stores(value: Abstract) -> list[Ref] | None:
    """The memory of an array, or of each of several; None for anything else. A captured array has none of its own."""
    if not arrays.is_array(value):
        return None
    if isinstance(value, Choice):
        return [*(stores(value.then) or ()), *(stores(value.orelse) or ())]
    return [value.store] if isinstance(value, Array) else []


def layout(state: State, ref: Ref) -> tuple[Any, ...] | None:
    """What two objects have in common that can take turns: their class, their keys and how many items they have."""
    contents = state.heap[ref]
    if contents is CONFLICT:
        return None
    if isinstance(ref, ListRef):
        return list, None, len(contents)
    return ref.cls if isinstance(ref, ObjRef) else dict, tuple(key for key, _ in contents), len(contents)


def items(s: Specialiser, state: State, value: Abstract) -> list[Abstract]:
    """The items of an object, or of the one of several that the lane has."""
    if isinstance(value, Choice):
        pairs = zip(items(s, state, value.then), items(s, state, value.orelse), strict=True)
        return [num.choose(s, value.cond, a, b) for a, b in pairs]
    assert isinstance(value, ListRef | DictRef | ObjRef)
    contents = state.heap[value]
    return list(contents) if isinstance(value, ListRef) else [item for _, item in contents]


def is_shared(s: Specialiser, state: State, ref: Ref) -> bool:
    """More than one name, item or attribute means the object."""
    found = 0
    seen: set[int] = set()
    waiting = [v for names in (state.locals, *(f.state.locals for f in s.frames if f.state is not None))
               for v in names.values()]
    while waiting:
        for inner in _refs(waiting.pop()):
            found += inner is ref
            if found > 1:
                return True
            if id(inner) not in seen and inner in state.heap and state.heap[inner] is not CONFLICT:
                seen.add(id(inner))
                contents = state.heap[inner]
                waiting += contents if isinstance(inner, ListRef | StoreRef) else [item for _, item in contents]
    return False


def _refs(value: Abstract) -> Iterator[Ref]:
    match value:
        case ListRef() | DictRef() | ObjRef():
            yield value
        case Array():
            yield value.store
        case Seq():
            for item in value.items:
                yield from _refs(item)
        case Choice():
            yield from _refs(value.then)
            yield from _refs(value.orelse)
        case Bound():
            yield from _refs(value.receiver)
        case Partial():
            for item in [value.function, *value.positional, *value.named.values()]:
                yield from _refs(item)
        case Closure():
            for item in value.defaults.values():
                yield from _refs(item)


def empty_like(cls: type) -> Ref:
    """A new identity for an object of this class."""
    return ListRef() if cls is list else DictRef() if cls is dict else ObjRef(cls)
