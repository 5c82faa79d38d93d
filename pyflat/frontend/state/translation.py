"""Other objects in the place of abstract values: the same tuples, lists and objects with other lanes in them."""

from __future__ import annotations

from typing import Any

from pyflat.frontend.state.layouts import contents_of, rebuilt, taken_apart, with_contents
from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Contents,
    DictRef,
    ListRef,
    ObjRef,
    Ref,
    Static,
    StoreRef,
)
from pyflat.ir.nodes import Value


class Translation:
    """What stands for values elsewhere; one for one, so that what is the same object stays it."""

    def __init__(self) -> None:
        self.known: dict[int, Abstract] = {}
        self._kept: list[Abstract] = []

    def lane(self, value: Value) -> Value:
        return value

    def value(self, value: Abstract) -> Abstract:
        if isinstance(value, Static):
            return value
        if isinstance(value, Value):
            return self.lane(value)
        if id(value) not in self.known:
            self._kept.append(value)
            self.known[id(value)] = self._made(value)
        return self.known[id(value)]

    def object(self, ref: Ref, contents: Contents) -> tuple[Ref, Contents]:
        """Another object, and what it has."""
        made: Any = self.value(ref)
        if contents is CONFLICT:
            return made, contents
        return made, with_contents(contents, ref, map(self.value, contents_of(contents, ref)))

    def _made(self, value: Abstract) -> Abstract:
        match value:
            case StoreRef():
                return StoreRef(value.kind, value.frozen, value.in_order, value.has_views)
            case ObjRef():
                return ObjRef(value.cls)
            case ListRef() | DictRef():
                return type(value)()
        found = taken_apart(value)
        return value if found is None else rebuilt(value, map(self.value, found[1]))
