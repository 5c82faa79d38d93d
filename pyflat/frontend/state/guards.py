"""What a specialisation has read from outside: names, cells, attributes, containers; checked again at each call.

Functions, modules and other objects are compared by identity, numbers and strings by type and value, so that running a
cell again that sets the same constant is no change. A captured container is compared as a whole: which of its parts a
twin depends on (an item, the order of keys, the length) need not be known. So are the special methods of a class whose
instances were seen: which operator found none, and was therefore done in another way, need not be known either.
"""

from __future__ import annotations

import builtins
import itertools
import operator
import types
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from pyflat.errors import refuse
from pyflat.ir.tables import table_of

ABSENT = object()
"""The value of a name or attribute that does not exist."""
_BY_VALUE = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, dict, set, np.ndarray)
_NUMBERS = frozenset({bool, int, float, complex, str, bytes, type(None)})
"""Of which a tuple may have many, and nothing to watch."""
_HEAP_TYPE, _IMMUTABLE_TYPE = 1 << 9, 1 << 8
"""Of `__flags__`, as CPython's object.h has them."""

_NO_MEANING = frozenset({"__doc__", "__annotations__", "__annotate__", "__module__", "__dict__", "__weakref__",
                         "__slotnames__", "__qualname__", "__static_attributes__", "__firstlineno__"})
"""Entries of a class that no operator looks at."""


def same(old: object, new: object) -> bool:
    """Identical, or equal numbers or strings of the same type (nan equals nan, 0.0 is not -0.0)."""
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if isinstance(old, np.generic) and isinstance(new, np.generic):
        return bool(old.tobytes() == new.tobytes())
    if type(old) is int:
        return old == new
    return isinstance(old, _BY_VALUE) and repr(old) == repr(new)


@dataclass(frozen=True, slots=True)
class Reading:
    """A value that was read from outside: of `owner[name]`, `owner.name`, `owner().name` or `type(owner)`; `ABSENT`
    where there was none."""

    how: Literal["item", "attribute", "part", "type"]
    owner: Any
    name: str
    value: Any


class Note(NamedTuple):
    """A method of `Guards` that was called, and with what: functions by a weak reference, the name if there is one, and
    the value that was read."""

    method: str
    owner: Any
    name: str = ""
    value: Any = None


class _Readings:
    """Values read from many places, looked at together: a fraction of a microsecond while all are identical."""

    def __init__(self, read: Callable[..., Iterable[Any]], columns: int):
        self._read = read
        self._places: tuple[list[Any], ...] = tuple([] for _ in range(columns))
        self._values: list[Any] = []
        self.titles: list[str] = []

    def add(self, what: str, value: Any, *place: Any) -> None:
        for column, part in zip(self._places, place, strict=True):
            column.append(part)
        self._values.append(value)
        self.titles.append(what)

    def places(self) -> Iterable[tuple[Any, ...]]:
        """The places and the value of each reading."""
        return zip(*self._places, self._values, strict=True)

    def changed(self) -> str | None:
        """What is another value now; equal ones take the place of the old ones."""
        if all(map(operator.is_, self._values, self._read(*self._places))):
            return None
        for k, new in enumerate(list(self._read(*self._places))):
            if not same(self._values[k], new):
                return self.titles[k]
            self._values[k] = new
        return None


class _Class:
    """The special methods of one class. Whatever else changes in it (a counter) is compared once and then known."""

    def __init__(self, cls: type):
        self.cls = cls
        self._note()

    def _note(self) -> None:
        scope = vars(self.cls)
        self._names, self._values = list(scope), list(scope.values())
        self._special = _special(scope)

    def changed(self) -> bool:
        scope = vars(self.cls)
        if self._names == list(scope) and all(map(operator.is_, self._values, scope.values())):
            return False
        before = self._special
        if before.keys() != _special(scope).keys() or not all(v is scope[k] for k, v in before.items()):
            return True
        self._note()
        return False


def _special(scope: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in scope.items() if k[:2] == "__" and k not in _NO_MEANING}


class Guards:
    """The parts of the outside world that a twin depends on."""

    def __init__(self) -> None:
        self._seen: set[Hashable] = set()
        self._again: set[int] = set()
        self._anchors: list[object] = []
        self._others: list[tuple[str, Callable[[], bool]]] = []
        self._items = _Readings(lambda get, names: map(operator.call, get, names, itertools.repeat(ABSENT)), 2)
        self._attributes = _Readings(lambda owners, names: map(getattr, owners, names, itertools.repeat(ABSENT)), 2)
        self._parts = _Readings(
            lambda refs, names: map(getattr, map(operator.call, refs), names, itertools.repeat(ABSENT)), 2)
        self._types = _Readings(lambda owners: map(type, owners), 1)
        self._readings = (self._items, self._attributes, self._parts, self._types)
        self._classes: list[_Class] = []
        self.journal: list[Note] = []
        """What was called, for another process to call again (`pyflat.frontend.state.manifest`)."""

    def __len__(self) -> int:
        return len(self._seen)

    def stale(self) -> str | None:
        """What has changed since, in words; None while everything still holds."""
        for readings in self._readings:
            if readings.titles and (what := readings.changed()) is not None:
                return what
        return self.others_changed()

    def readings(self) -> Iterator[Reading]:
        """What was read one by one; the rest is `others_changed`."""
        for get, name, value in self._items.places():
            yield Reading("item", get.__self__, name, value)
        for owner, name, value in self._attributes.places():
            yield Reading("attribute", owner, name, value)
        for ref, name, value in self._parts.places():
            yield Reading("part", ref, name, value)
        for owner, value in self._types.places():
            yield Reading("type", owner, "", value)

    def varies(self, what: str) -> None:
        """Something was read that another process may have otherwise, and cannot compare; in this one it stays."""
        self.journal.append(Note("varies", None, what))

    def calls_itself(self, fn: Any) -> bool:
        """Whether a function was inlined that had been seen before: one that was flattened is called by itself, and its
        defaults may count even where all its arguments are passed."""
        return id(fn) in self._again

    @property
    def has_others(self) -> bool:
        """Whether there are classes, containers or others that are no single readings."""
        return bool(self._classes or self._others)

    def others_changed(self) -> str | None:
        """What has changed of these, in words."""
        for known in self._classes:
            if known.changed():
                return f"the special methods of {known.cls.__name__}"
        for what, holds in self._others:
            if not holds():
                return what
        return None

    def _new(self, key: Hashable) -> bool:
        """Only the first reading of a key counts."""
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    # --- names
    def global_name(self, scope: dict[str, Any], name: str, value: Any) -> None:
        if self._new(("global", id(scope), name)):
            self._items.add(name, value, scope.get, name)
            self.journal.append(Note("global_name", scope, name, value))

    def absent(self, scope: dict[str, Any], name: str) -> None:
        """A builtin is meant: the module does not define the name, and it is the builtin that it was."""
        self.global_name(scope, name, ABSENT)
        self.global_name(vars(builtins), name, vars(builtins).get(name, ABSENT))

    def cell(self, cell: types.CellType, name: str, value: Any) -> None:
        """A variable of an enclosing function."""
        if self._new(("cell", id(cell))):
            self._attributes.add(name, value, cell, "cell_contents")
            self.journal.append(Note("cell", cell, name, value))

    def code(self, fn: Any) -> None:
        """The code and defaults of an inlined function; does not keep the function alive."""
        if not self._new(("code", id(fn))):
            self._again.add(id(fn))
            return
        ref = weakref.ref(fn)
        self.journal.append(Note("code", ref))
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._parts.add(f"{fn.__qualname__}.{name}", getattr(fn, name), ref, name)
        if fn.__kwdefaults__:
            self.contents(fn.__kwdefaults__)

    # --- attributes
    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """`owner.name` gave `value`."""
        key = "attribute", id(owner), name
        if key in self._seen:
            return
        named = isinstance(owner, type | types.ModuleType)
        title = f"{owner.__name__ if named else type(owner).__name__}.{name}"
        try:
            again = getattr(owner, name, ABSENT)
        except Exception:  # noqa: BLE001 - what a module's or a class's own `__getattr__` raises
            again = ABSENT
        if _is_stable(title, again, value):
            self._seen.add(key)
            self._anchors.append(owner)
            self._attributes.add(title, value, owner, name)
            self.journal.append(Note("attribute", owner, name, value))

    def member(self, owner: Any, name: str) -> None:
        """What `name` is in the instance and in its class, without calling anything."""
        self.instance(owner)
        try:
            own = owner.__dict__ if isinstance(owner, type) else object.__getattribute__(owner, "__dict__")
        except AttributeError:
            own = {}
        classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
        title = f"{classes[0].__name__}.{name}"
        if self._new(("instance", id(owner), name)):
            self._anchors.append(owner)
            self.journal.append(Note("member", owner, name))
            self._items.add(title, own.get(name, ABSENT), own.get, name)
        if not self._new(("class", classes[0], name)):
            return
        for scope in map(vars, classes):
            self._items.add(title, scope.get(name, ABSENT), scope.get, name)
            if name in scope:
                return

    # --- classes
    def instance(self, value: Any) -> None:
        """The class of an object from outside; of a class itself what it makes of its instances."""
        cls = value if isinstance(value, type) else type(value)
        if not is_mutable(cls):
            return
        if cls is not value and self._new(("type", id(value))):
            self._anchors.append(value)
            self.journal.append(Note("instance", value))
            self._types.add(f"the class of a {cls.__name__}", cls, value)
        self.class_of_instances(cls)

    def class_of_instances(self, cls: type) -> None:
        """The bases and the special methods of a class: operators, truth, comparison, how instances are made."""
        if not is_mutable(cls) or not self._new(("special", cls)):
            return
        self.journal.append(Note("class_of_instances", cls))
        self._attributes.add(f"the bases of {cls.__name__}", cls.__mro__, cls, "__mro__")
        self._classes += [_Class(c) for c in cls.__mro__ if is_mutable(c) and (c is cls or self._new(("special", c)))]
        self.class_of_instances(type(cls))
        for name in ("__init__", "__new__", "__post_init__"):
            made_by = getattr(cls, name, None)
            if isinstance(made_by, types.FunctionType):
                self.code(made_by)

    # --- containers
    def entry(self, owner: Any, key: Any) -> None:
        """`owner[key]` of a list or dict of which other items may change."""
        if self._new(("entry", id(owner), type(key), key)):
            self._anchors.append(owner)
            value = owner[key]

            def holds() -> bool:
                try:
                    return same(value, owner[key])
                except LookupError:
                    return False

            self._others.append((f"an item of a captured {type(owner).__name__}", holds))

    def answer(self, what: str, asked: tuple[Any, ...], holds: Callable[[], bool]) -> None:
        """What a method of an outside object has said, which is asked again at each call."""
        if self._new(("answer", *map(id, asked))):
            self._anchors.append(asked)
            self._others.append((what, holds))
            self.varies(what)

    def length(self, owner: list[Any]) -> None:
        """len(owner) of a list whose items may change."""
        if self._new(("length", id(owner))):
            self._anchors.append(owner)
            size = len(owner)
            self._others.append(("the length of a captured list", lambda: len(owner) == size))

    def contents(self, owner: Any) -> None:
        """All of a captured list, dict, set or array, and of the containers and objects in it."""
        if isinstance(owner, tuple):
            for item in () if table_of(owner) is not None or _NUMBERS.issuperset(map(type, owner)) else owner:
                self.contents(item)
        if not isinstance(owner, _CONTAINERS):
            self.instance(owner)
        elif self._new(("contents", id(owner))):
            self._anchors.append(owner)
            self.journal.append(Note("contents", owner))
            self._others.append((f"a captured {type(owner).__name__}", _unchanged(owner)))
            items = owner.values() if isinstance(owner, dict) else owner if isinstance(owner, list) else ()
            for item in items:
                self.contents(item)


def _is_stable(what: str, again: Any, value: Any) -> bool:
    """What gives a new object at every reading cannot be watched by identity: refused, but for bound methods, whose
    parts are watched."""
    if same(value, again):
        return True
    if callable(value):
        return False
    raise refuse("flatten/effect", f"{what} is a different object each time it is read",
                 why="pyflat cannot tell whether it has changed since the twin was compiled",
                 help="read it before the call, and pass its value as an argument")


def is_mutable(cls: type) -> bool:
    """Made by a class statement: the classes of the interpreter and of C extensions do not change."""
    return bool(cls.__flags__ & _HEAP_TYPE) and not cls.__flags__ & _IMMUTABLE_TYPE


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
