"""Other objects in the place of abstract values: the same tuples, lists and objects with other lanes in them."""

from __future__ import annotations

from typing import Any

from pyflat.frontend.state.values import (
    CONFLICT,
    Abstract,
    Array,
    BoundMethod,
    Complex,
    Contents,
    DictRef,
    GuardedUnion,
    ListRef,
    ObjRef,
    Partial,
    Ref,
    Seq,
    Static,
    StoreRef,
    Super,
    Unsigned,
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
        if contents is CONFLICT or isinstance(ref, ListRef | StoreRef):
            return made, contents if contents is CONFLICT else tuple(map(self.value, contents))
        return made, tuple((name, self.value(item)) for name, item in contents)

    def _made(self, value: Abstract) -> Abstract:
        one: Any = self.value
        match value:
            case Seq():
                return Seq(value.cls, tuple(map(one, value.items)))
            case Complex():
                return Complex(one(value.real), one(value.imag))
            case Unsigned():
                return Unsigned(one(value.bits), one(value.outside))
            case GuardedUnion():
                return GuardedUnion(self.lane(value.cond), one(value.then), one(value.orelse))
            case Array():
                return Array(one(value.store), value.places)
            case StoreRef():
                return StoreRef(value.kind, value.frozen, value.in_order, value.has_views)
            case ObjRef():
                return ObjRef(value.cls)
            case ListRef() | DictRef():
                return type(value)()
            case BoundMethod():
                return BoundMethod(one(value.receiver), value.name, value.function)
            case Partial():
                named = {name: one(item) for name, item in value.named.items()}
                return Partial(one(value.function), list(map(one, value.positional)), named)
            case Super():
                return Super(value.cls, one(value.receiver))
        return value
