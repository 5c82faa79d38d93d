"""Who else means a list, dict or object of the abstract heap, and which of them could stand for each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyflat.frontend.state.kinds import cells_of
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Array,
    BoundMethod,
    Closure,
    DictRef,
    GuardedUnion,
    IterRef,
    LaneSet,
    Lazy,
    ListRef,
    MemoryRef,
    ObjRef,
    Partial,
    Ranges,
    Ref,
    Seq,
    State,
    StoreRef,
    View,
)


def layout(state: State, ref: Ref) -> tuple[Any, ...] | None:
    """What two objects have in common that can take turns: their class, their keys and how many items they have."""
    contents = state.heap[ref]
    if contents is CONFLICT:
        return None
    if isinstance(ref, ListRef):
        cells = cells_of(contents)
        return list, None, len(contents), cells and len(cells.items)
    assert isinstance(ref, ObjRef | DictRef)
    return ref.cls, tuple(key for key, _ in contents), len(contents), None


def is_shared(states: Iterable[State], state: State, ref: Ref, most: int = 1) -> bool:
    """More than `most` names, items and attributes of the frames `states` mean the object; `state` has the heap."""
    found = 0
    seen: set[int] = set()
    waiting = [value for each in states for value in each.locals.values()]
    while waiting:
        for inner in refs_in(waiting.pop()):
            found += inner is ref
            if found > most:
                return True
            if id(inner) not in seen and inner in state.heap and state.heap[inner] is not CONFLICT:
                seen.add(id(inner))
                contents = state.heap[inner]
                plain = isinstance(inner, ListRef | StoreRef | MemoryRef)
                waiting += contents if plain else [item for _, item in contents]
    return False


def refs_in(value: Abstract) -> Iterator[Ref]:
    match value:
        case ListRef() | DictRef() | ObjRef():
            yield value
        case Array():
            yield value.store
        case Seq():
            for item in value.items:
                yield from refs_in(item)
        case GuardedUnion():
            yield from refs_in(value.then)
            yield from refs_in(value.orelse)
        case BoundMethod():
            yield from refs_in(value.receiver)
        case Partial():
            for item in [value.function, *value.positional, *value.named.values()]:
                yield from refs_in(item)
        case Closure():
            for item in value.defaults.values():
                yield from refs_in(item)


class Reached:
    """The objects with identity that values lead to."""

    def __init__(self, state: State, values: Iterable[Abstract]):
        self.state = state
        self.refs: dict[Ref, None] = {}
        self.closures: dict[Closure, None] = {}
        self.iterators = False
        self.waiting = list(values)
        while self.waiting:
            self._look_at(self.waiting.pop())

    def _look_at(self, value: Abstract) -> None:
        match value:
            case ListRef() | DictRef() | ObjRef() | StoreRef() | MemoryRef():
                self.iterators |= isinstance(value, IterRef)
                self._object(value)
            case Array():
                self._object(value.store)
            case View():
                self._object(value.memory)
            case LaneSet():
                self._object(value.members)
            case Seq():
                self.waiting += value.items
            case GuardedUnion():
                self.waiting += [value.then, value.orelse]
            case BoundMethod():
                self.waiting.append(value.receiver)
            case Partial():
                self.waiting += [value.function, *value.positional, *value.named.values()]
            case Closure() if value not in self.closures:
                self.closures[value] = None
                self.closure(value)
            case Lazy():
                self.iterators = True
            case Ranges():
                self.iterators |= value.once

    def _object(self, ref: Ref) -> None:
        contents = self.state.heap.get(ref)
        if ref in self.refs or contents is None:
            return
        self.refs[ref] = None
        if contents is not CONFLICT:
            plain = isinstance(ref, ListRef | StoreRef | MemoryRef)
            self.waiting += contents if plain else [item for _, item in contents]

    def closure(self, closure: Closure) -> None:
        self.waiting += closure.defaults.values()


def items_of(state: State, value: Abstract) -> list[Abstract]:
    """The items of a list, the values of a dict or the attributes of an object."""
    assert isinstance(value, ListRef | DictRef | ObjRef)
    contents = state.heap[value]
    return list(contents) if isinstance(value, ListRef) else [item for _, item in contents]


def empty_like(cls: type) -> Ref:
    """A new identity for an object of this class."""
    return ListRef() if cls is list else DictRef(cls) if issubclass(cls, dict) else ObjRef(cls)
