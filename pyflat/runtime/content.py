"""What a function is made of, as one hash: its source, what its names, cells and defaults hold, its helpers likewise.

Equal in every interpreter: there are no addresses in it, and nothing depends on the seed of Python's hashes. It is a
key for results (dask's tokens, `joblib.Memory`, numba's cache) and tells whether a function is here what it is where a
twin comes from.

Python functions and classes count by their contents. What the standard library and installed packages have counts by
its name and the version of the package, but for the function that is asked about.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import re
import struct
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.uncompiled import codes

_NAME = re.compile(r"[^\W\d]\w*")
_NO_MEANING = frozenset({"__module__", "__dict__", "__weakref__", "__doc__", "__slotnames__", "__static_attributes__",
                         "__firstlineno__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__pyflat__",
                         "__wrapped__", "__qualname__", "__signature__", "__dataclass_fields__", "_abc_impl"})
"""Attributes of functions and classes that do not change what they compute, or that others show."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented))


def content_hash(*values: object) -> str:
    """The hash of these values; of functions and twins with all that they compute with."""
    content = _Content()
    for value in values:
        content.add(value, own=True)
    return content.digest()


def names_read(function: types.FunctionType) -> set[str]:
    """The global names that a function, the functions in it and its annotations look up."""
    found: set[str] = set()
    for code in codes(function.__code__):
        found |= {str(i.argval) for i in dis.get_instructions(code)
                  if i.opname == "LOAD_NAME" or (i.opname.startswith("LOAD_") and "GLOBAL" in i.opname)}
    for note in function.__annotations__.values():
        if isinstance(note, str):
            found |= set(_NAME.findall(note))
    return found & function.__globals__.keys()


def attribute_names(function: types.FunctionType) -> set[str]:
    """The names that a function and the functions in it look up anywhere."""
    return {name for code in codes(function.__code__) for name in code.co_names}


class _Content:
    """A hash that values are added to. Of an object its own hash is added, made once; an object that contains itself
    has there how far in it is: whether two equal ones are one object must not show."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._inside: dict[int, int] = {}
        self._made: dict[int, str] = {}
        self._held: list[object] = []

    def digest(self) -> str:
        return self._hash.hexdigest()[:32]

    def _put(self, kind: str, text: str | bytes = b"") -> None:
        for part in (kind, text):
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            self._hash.update(struct.pack("<q", len(data)))
            self._hash.update(data)

    def _put_all(self, kind: str, values: Iterable[object]) -> None:
        listed = list(values)
        self._put(kind, str(len(listed)))
        for value in listed:
            self.add(value)

    def _put_named(self, kind: str, values: Mapping[Any, object]) -> None:
        self._put(kind, str(len(values)))
        for name in sorted(values, key=str):
            self._put("name", str(name))
            self.add(values[name])

    def add(self, value: object, own: bool = False) -> None:
        """`own`: by its contents, wherever it comes from."""
        if type(value) in _PLAIN:
            self._put(type(value).__name__, repr(value))
        elif isinstance(value, np.generic):
            self._put("scalar", value.dtype.str + repr(value.item()))
        elif id(value) in self._inside:
            self._put("inside", str(self._inside[id(value)]))
        else:
            self._put("object", self._made.get(id(value)) or self._object(value, own))

    def _object(self, value: object, own: bool) -> str:
        around, self._hash = self._hash, hashlib.sha256()
        self._inside[id(value)] = len(self._inside)
        self._add_object(value, own)
        del self._inside[id(value)]
        self._held.append(value)  # no other object gets its id
        found = self._made[id(value)] = self.digest()
        self._hash = around
        return found

    def _add_object(self, value: Any, own: bool) -> None:
        match value:
            case np.ndarray() if value.dtype != object:
                self._put("array", f"{value.dtype.descr!r}{value.shape}")
                self._put("bytes", np.ascontiguousarray(value).tobytes())
            case np.ndarray():
                self._put_all(f"array{value.shape}", value.ravel().tolist())
            case set() | frozenset():
                self._put(type(value).__name__, " ".join(sorted(content_hash(item) for item in value)))
            case dict() if type(value) is dict:
                self._put_all("dict", (part for item in value.items() for part in item))
            case list() | tuple() if type(value) in (list, tuple):
                self._put_all(type(value).__name__, value)
            case types.FunctionType():
                self._add_function(value, own)
            case type():
                self._add_class(value)
            case types.ModuleType():
                self._put("module", _home(value.__name__))
            case Enum():
                self.add(type(value))
                self._put("member", value.name)
            case property():
                self._put_all("property", (value.fget, value.fset))
            case staticmethod() | classmethod():
                self._put_all(type(value).__name__, (value.__func__,))
            case functools.partial():
                self._put_all("partial", (value.func, value.args, value.keywords))
            case types.MethodType():
                self._put_all("method", (value.__func__, value.__self__))
            case _:
                self._add_other(value)

    def _add_function(self, function: types.FunctionType, own: bool) -> None:
        self._put("function", function.__qualname__)
        if not own and (home := _installed(function.__module__)):
            self._put("home", home)
            return
        self._put("source", _text(function))
        self._put_named("cells", cells_of(function))
        defaults, scope = function.__defaults__ or (), function.__globals__
        self._put_all("defaults", defaults)
        self._put_named("keywords", function.__kwdefaults__ or {})
        self._put_named("annotations", function.__annotations__)
        names = names_read(function)
        self._put_named("globals", {name: scope[name] for name in names})
        for name in sorted(names):
            if isinstance(scope[name], types.ModuleType) and not _installed(scope[name].__name__):
                self._put_named(name, _members(scope[name], attribute_names(function)))

    def _add_class(self, cls: type) -> None:
        home = _installed(cls.__module__)
        self._put("class", cls.__qualname__)
        if home:
            self._put("home", home)
            return
        self._put_all("bases", cls.__bases__)
        members = {k: v for k, v in vars(cls).items() if k not in _NO_MEANING}
        self._put_named("members", {k: v for k, v in members.items() if not isinstance(v, types.MemberDescriptorType)})

    def _add_other(self, value: Any) -> None:
        """As pickle would take it apart; of what it cannot, the class and the name."""
        if (parts_of := getattr(type(value), "_content", None)) is not None:  # a twin
            original, settings = parts_of(value)
            self._put_named("twin", dict(settings))
            self.add(original, own=True)
            return
        self.add(type(value))
        self._put("named", getattr(value, "__qualname__", None) or getattr(value, "__name__", "") or "")
        try:
            parts = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 - a class of the user may raise anything, and has no parts then
            return
        self._put_all("parts", [list(p) if isinstance(p, Iterator) else p for p in parts]
                      if isinstance(parts, tuple) else (parts,))


def cells_of(function: types.FunctionType) -> dict[str, Any]:
    """What the variables of enclosing functions hold, of those that hold something."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it is empty
            continue
    return found


def _members(module: types.ModuleType, names: set[str]) -> dict[str, object]:
    return {name: vars(module)[name] for name in names & vars(module).keys()}


def _text(function: types.FunctionType) -> str | bytes:
    """The source of a function; without one its instructions and constants."""
    from pyflat.frontend.capture import capture

    try:
        return inspect.cleandoc(capture(function).source)
    except FlattenError:
        return "".join(repr((c.co_code, c.co_names, c.co_varnames, [_shown(k) for k in c.co_consts]))
                       for c in codes(function.__code__))


def _shown(constant: object) -> object:
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else \
        None if isinstance(constant, types.CodeType) else constant


def _home(name: str) -> str:
    return _installed(name) or name


def _installed(module: str | None) -> str:
    """Name and version of a module that is the interpreter's, or lies among installed packages; "" for others."""
    top = (module or "").partition(".")[0]
    if top in ("__main__", "__mp_main__"):  # also where it is an installed tool
        return ""
    if top in sys.stdlib_module_names or top == "builtins":
        return str(module)
    found: Any = sys.modules.get(top)
    file = getattr(found, "__file__", None) or ""
    if "site-packages" in file or "dist-packages" in file:
        return f"{module} {getattr(found, '__version__', '')}"
    return ""
