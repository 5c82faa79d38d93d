"""What a specialisation has read from outside: names, cells, attributes, containers; checked again at each call.

Functions, modules and other objects are compared by identity, numbers and strings by type and value, so that running a
cell again that sets the same constant is no change. A captured container is compared as a whole: which of its parts a
twin depends on (an item, the order of keys, the length) need not be known.
"""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from pyflat.errors import refuse

_MISSING = object()
_BY_VALUE = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, dict, set, np.ndarray)


def same(old: object, new: object) -> bool:
    """Identical, or equal numbers or strings of the same type (nan equals nan, 0.0 is not -0.0)."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, np.generic) and isinstance(new, np.generic):
        return bool(old.tobytes() == new.tobytes())
    return isinstance(old, _BY_VALUE) and repr(old) == repr(new)


class Guards:
    """The parts of the outside world that a twin depends on."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, tuple[str, Callable[[], bool]]] = {}
        self._anchors: list[object] = []

    def __len__(self) -> int:
        return len(self._entries)

    def stale(self) -> str | None:
        """What has changed since, in words; None while everything still holds."""
        for what, holds in self._entries.values():
            if not holds():
                return what
        return None

    def watch(self, key: Hashable, what: str, read: Callable[[], Any], value: Any) -> None:
        """Remember that `read()` gave `value`; only the first reading of a key counts.

        What gives a new object at every reading cannot be watched by identity: refused, but for bound methods, whose
        parts are watched.
        """
        if key in self._entries:
            return
        if same(value, read()):
            self._entries[key] = (what, lambda: same(value, read()))
        elif not callable(value):
            raise refuse("flatten/effect", f"{what} is another object at every reading",
                         why="whether it has changed since the twin was made cannot be told",
                         help="read it before, and pass its value as an argument")

    # --- names
    def global_name(self, scope: dict[str, Any], name: str, value: Any) -> None:
        self.watch(("global", id(scope), name), name, lambda: scope.get(name, _MISSING), value)

    def absent(self, scope: dict[str, Any], name: str) -> None:
        """A builtin is meant: the module does not define the name."""
        self.watch(("global", id(scope), name), name, lambda: scope.get(name, _MISSING), _MISSING)

    def code(self, fn: Any) -> None:
        """The code and defaults of an inlined function; does not keep the function alive."""
        ref = weakref.ref(fn)

        def read(name: str) -> Any:
            alive = ref()
            return _MISSING if alive is None else getattr(alive, name)

        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self.watch((name, id(fn)), f"{fn.__qualname__}.{name}", functools.partial(read, name), getattr(fn, name))
        if fn.__kwdefaults__:
            self.contents(fn.__kwdefaults__)

    # --- attributes
    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """`owner.name` gave `value`."""
        self._anchors.append(owner)
        named = isinstance(owner, type | types.ModuleType)
        title = f"{owner.__name__ if named else type(owner).__name__}.{name}"
        self.watch(("attribute", id(owner), name), title, lambda: getattr(owner, name, _MISSING), value)

    def member(self, owner: Any, name: str) -> None:
        """What `name` is in the instance and in its class, without calling anything."""
        self._anchors.append(owner)
        try:
            own = owner.__dict__ if isinstance(owner, type) else object.__getattribute__(owner, "__dict__")
        except AttributeError:
            own = {}
        classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__

        def found() -> Any:
            for scope in classes:
                if name in vars(scope):
                    return vars(scope)[name]
            return _MISSING

        title = f"{classes[0].__name__}.{name}"
        self.watch(("instance", id(owner), name), title, lambda: own.get(name, _MISSING), own.get(name, _MISSING))
        self.watch(("class", classes[0], name), title, found, found())

    # --- containers
    def contents(self, owner: Any) -> None:
        """All of a captured list, dict, set or array, and of the containers in it."""
        if isinstance(owner, tuple):
            for item in owner:
                self.contents(item)
        if not isinstance(owner, _CONTAINERS) or ("contents", id(owner)) in self._entries:
            return
        self._anchors.append(owner)
        self._entries["contents", id(owner)] = f"a captured {type(owner).__name__}", _unchanged(owner)
        if isinstance(owner, dict):
            for item in owner.values():
                self.contents(item)
        elif isinstance(owner, list):
            for item in owner:
                self.contents(item)


def _unchanged(owner: Any) -> Callable[[], bool]:
    """A test that the container still has the same items in the same order."""
    if isinstance(owner, np.ndarray):
        dtype, shape, content = owner.dtype, owner.shape, owner.tobytes()
        return lambda: owner.dtype == dtype and owner.shape == shape and owner.tobytes() == content
    if isinstance(owner, set):
        members = {(type(v), v) for v in owner}
        return lambda: {(type(v), v) for v in owner} == members
    if isinstance(owner, dict):
        keys, values = list(owner), list(owner.values())
        return lambda: _same_items(keys, list(owner)) and _same_items(values, list(owner.values()))
    items = list(owner)
    return lambda: _same_items(items, owner)


def _same_items(old: list[Any], new: list[Any]) -> bool:
    if len(old) != len(new):
        return False
    return all(map(operator.is_, old, new)) or all(map(same, old, new))
