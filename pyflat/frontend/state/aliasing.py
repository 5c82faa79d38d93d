"""Who else means a list, dict or object of the abstract heap, and which of them could stand for each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyflat.frontend.state.kinds import cells_of
from pyflat.frontend.state.layouts import contents_of, taken_apart
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Closure,
    DictRef,
    IterRef,
    LaneSet,
    Lazy,
    ListRef,
    MemoryRef,
    ObjRef,
    Ranges,
    Ref,
    State,
    StoreRef,
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
                waiting += contents_of(state.heap[inner], inner)
    return False


def refs_in(value: Abstract) -> Iterator[Ref]:
    if isinstance(value, ListRef | DictRef | ObjRef | StoreRef):
        yield value
    for part in value.defaults.values() if isinstance(value, Closure) else _parts(value):
        yield from refs_in(part)


def _parts(value: Abstract) -> tuple[Abstract, ...]:
    found = taken_apart(value)
    return () if found is None else found[1]


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

    def has_identity(self) -> bool:
        """There is something among them that may change, or is used up."""
        return bool(self.refs or self.closures or self.iterators)

    def _look_at(self, value: Abstract) -> None:
        match value:
            case ListRef() | DictRef() | ObjRef() | StoreRef() | MemoryRef():
                self.iterators |= isinstance(value, IterRef)
                self._object(value)
            case LaneSet():
                self._object(value.members)
            case Closure() if value not in self.closures:
                self.closures[value] = None
                self.closure(value)
            case Lazy():
                self.iterators = True
            case Ranges():
                self.iterators |= value.once
            case _:
                self.waiting += _parts(value)

    def _object(self, ref: Ref) -> None:
        contents = self.state.heap.get(ref)
        if ref in self.refs or contents is None:
            return
        self.refs[ref] = None
        if contents is not CONFLICT:
            self.waiting += contents_of(contents, ref)

    def closure(self, closure: Closure) -> None:
        self.waiting += closure.defaults.values()


def items_of(state: State, value: Abstract) -> list[Abstract]:
    """The items of a list, the values of a dict or the attributes of an object."""
    assert isinstance(value, ListRef | DictRef | ObjRef)
    return list(contents_of(state.heap[value], value))


def empty_like(cls: type) -> Ref:
    """A new identity for an object of this class."""
    return ListRef() if cls is list else DictRef(cls) if issubclass(cls, dict) else ObjRef(cls)
