"""What a specialisation has read from outside: globals, cells, attributes, items; checked again at each call.

Functions, modules and other objects are compared by identity, numbers and strings by type and value, so that
running a cell again that sets the same constant is no change.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any

_MISSING = object()
_BY_VALUE = (bool, int, float, complex, str, bytes, type(None))


def same(old: object, new: object) -> bool:
    """Identical, or equal numbers or strings of the same type (nan equals nan, 0.0 is not -0.0)."""
    if old is new:
        return True
    if type(old) is not type(new) or not isinstance(old, _BY_VALUE):
        return False
    return repr(old) == repr(new)


class Guards:
    """The parts of the outside world that a twin depends on."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, tuple[str, Callable[[], Any], Any]] = {}
        self._anchors: list[object] = []

    def __len__(self) -> int:
        return len(self._entries)

    def watch(self, key: Hashable, what: str, read: Callable[[], Any], value: Any) -> None:
        """Remember that `read()` gave `value`; only the first reading of a key counts."""
        self._entries.setdefault(key, (what, read, value))

    def code(self, fn: Any) -> None:
        """The code and defaults of an inlined function; does not keep the function alive."""
        ref = weakref.ref(fn)

        def read(name: str) -> Any:
            alive = ref()
            return _MISSING if alive is None else getattr(alive, name)

        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.watch((name, id(fn)), f"{fn.__qualname__}.{name}", functools.partial(read, name), getattr(fn, name))

    def global_name(self, scope: dict[str, Any], name: str, value: Any) -> None:
        self.watch(("global", id(scope), name), name, lambda: scope.get(name, _MISSING), value)

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        self._anchors.append(owner)
        self.watch(("attribute", id(owner), name), f"{_title(owner)}.{name}",
                   lambda: getattr(owner, name, _MISSING), value)

    def item(self, owner: Any, key: Any, value: Any) -> None:
        """`owner[key]` of a mutable container."""
        self._anchors.append(owner)

        def read() -> Any:
            try:
                return owner[key]
            except (KeyError, IndexError):
                return _MISSING

        self.watch(("item", id(owner), repr(key)), f"item {key!r} of a captured {type(owner).__name__}", read, value)

    def items(self, owner: Iterable[Any], values: tuple[Any, ...]) -> None:
        """All items of a mutable container, in order."""
        self._anchors.append(owner)
        for index, value in enumerate(values):
            self.item(owner, index, value)
        self.length(owner, len(values))

    def members(self, owner: Any) -> None:
        """What is in a container, for `in`."""
        self._anchors.append(owner)
        known = list(owner)
        self.watch(("members", id(owner)), f"the members of a captured {type(owner).__name__}",
                   lambda: list(owner) == known, True)

    def length(self, owner: Any, size: int) -> None:
        self._anchors.append(owner)
        self.watch(("length", id(owner)), f"the length of a captured {type(owner).__name__}", lambda: len(owner), size)

    def stale(self) -> str | None:
        """What has changed since, in words; None while everything still holds."""
        for what, read, value in self._entries.values():
            if not same(value, read()):
                return what
        return None


def _title(owner: object) -> str:
    return str(getattr(owner, "__name__", type(owner).__name__))
