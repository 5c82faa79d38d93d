"""What a specialisation has read from outside, in words that another process understands.

Guards compare objects of one process by identity. Here each object that a function depends on has a number, in the
order in which objects are met, and there is a running hash of all that was met: numbers and strings by type and bits,
containers by their items in order, functions by their code, classes and instances by what is in them, modules and what
the standard library and NumPy define by name. A manifest is the journal of the guards with owners as numbers, and
behind each line the hash up to there:

    trace f                      f is 0, its globals are 1, its cells 2 and 3; its code, its defaults
    global_name  1  "helper"     hash of its value, a function: it is 4, its globals are 1
    code         4
    global_name  1  "LIMIT"      hash of 1.5
    member       5  "rate"

Another process starts with its own f, reads what each line says, and compares the hashes line by line, so that no line
reads from an object that is not the one that was meant. It ends with guards over its own objects.

What has no such words makes a `NotKept`, with the reason: an object of a class from an extension module, a set whose
order is another one in each process, what is only found by looking into a running process.
"""

from __future__ import annotations

import array
import builtins
import datetime
import decimal
import functools
import hashlib
import importlib
import operator
import os
import sys
import types
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from pyflat.frontend.state.guards import ABSENT, Guards, Note, is_mutable
from pyflat.ir.tables import table_of

MOST_OBJECTS = 20_000
"""Of which a manifest may speak: beyond that a function holds data that take longer to look at than to flatten."""

_NUMBERS = frozenset({bool, int, complex, str, bytes, type(None), type(...), type(NotImplemented), range})
_OWN = ("numpy", "pyflat")
"""Packages whose versions, as Python's, belong to the key of what is kept."""
_NO_MEANING = frozenset({"__doc__", "__dict__", "__weakref__", "__module__", "__qualname__", "__firstlineno__",
                         "__static_attributes__", "_abc_impl", "__slotnames__", "__annotate__", "__annotate_func__",
                         "__annotations_cache__"})
_STANDARD = os.path.dirname(os.__file__) + os.sep
_CONTAINERS = (list, dict, set, np.ndarray)
_BUILTIN_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
                    types.MemberDescriptorType, types.ClassMethodDescriptorType)


class NotKept(Exception):
    """Why something cannot be found, or compared, by another process."""


class Trace:
    """The objects that were met, and the hash of them all."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._numbers: dict[int, int] = {}
        self._looked_into: set[int] = set()
        self.objects: list[Any] = []
        self.place(vars(builtins))

    @property
    def digest(self) -> str:
        """Of all that was met so far."""
        return self._hash.hexdigest()

    def number(self, value: Any) -> int | None:
        """The number of an object that was met."""
        return self._numbers.get(id(value))

    def say(self, *words: object) -> None:
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogatepass")
            self._hash.update(len(data).to_bytes(8, "little") + data)

    def place(self, value: Any) -> None:
        """Give an object a number, and do not look into it."""
        known = self._numbers.get(id(value))
        if known is not None:
            self.say("again", known)
            return
        if len(self.objects) >= MOST_OBJECTS:
            raise NotKept(f"it depends on more than {MOST_OBJECTS:,} objects")
        self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)

    def meet(self, value: Any) -> None:
        """Any value. Raises NotKept."""
        cls = type(value)
        if value is ABSENT:
            self.say("absent")
        elif cls in _NUMBERS:
            self.say(cls.__name__, repr(value))
        elif cls is float:
            self.say("float", value.hex())
        elif isinstance(value, np.generic) and cls.__module__ == "numpy" and cls is not np.void:
            self.say(value.dtype.str, value.tobytes() if value.dtype != object else repr(value))
        elif cls in _IMMUTABLE:
            _IMMUTABLE[cls](self, value)
        else:
            self.place(value)
            if id(value) not in self._looked_into:
                self._looked_into.add(id(value))
                self._content(cls, value)

    def _content(self, cls: type, value: Any) -> None:
        rule = _RULES.get(cls)
        if rule is not None:
            rule(self, value)
        elif isinstance(value, type):
            _class(self, value)
        elif isinstance(value, np.ufunc):
            _ufunc(self, value)
        elif isinstance(value, np.dtype):
            _words(self, value)
        elif isinstance(value, _BUILTIN_METHODS):
            self.say(cls.__name__, value.__name__)
            self.meet(value.__objclass__)
        elif _is_of_library(value):
            self.say("library", value.__module__, value.__qualname__)
        elif _wrapped(value) is not None:
            self.say("wrapper", cls.__module__, cls.__qualname__)
            self.meet(_wrapped(value))
        else:
            _instance(self, value)

    def meet_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.meet(value)


# --- containers
def _sequence(t: Trace, value: Sequence[Any]) -> None:
    t.say(type(value).__name__, len(value))
    if (table := table_of(value)) is not None:
        t.say("table", table.array.dtype.str, table.array.tobytes())
        return
    kinds = set(map(type, value))
    if kinds == {float}:
        t.say("floats", array.array("d", value).tobytes())
    elif kinds <= _NUMBERS:
        t.say("plain", repr(value))
    else:
        t.meet_all(value)


def _dict(t: Trace, value: Mapping[Any, Any]) -> None:
    t.say("dict", len(value))
    t.meet_all(list(value))
    t.meet_all(list(value.values()))


def in_same_order(value: Iterable[Any]) -> bool:
    """Whether a set gives its members in the same order in each process: the hashes of strings and objects, and of nan,
    are other ones."""
    return all(type(v) in (bool, int, float) and v == v for v in value)


def _set(t: Trace, value: Iterable[Any]) -> None:
    members = list(value)
    if not in_same_order(members):
        raise NotKept("it depends on the order of a set, which differs between processes")
    t.say(type(value).__name__, len(members))
    t.meet_all(members)


def _array(t: Trace, value: np.ndarray[Any, Any]) -> None:
    t.say("array", value.dtype.str, value.dtype.names, value.shape, value.strides, value.flags.writeable)
    if value.dtype.hasobject:
        t.meet_all(value.ravel().tolist())
    elif value.dtype.names is not None:
        raise NotKept("it depends on an array with fields")
    else:
        t.say(value.tobytes())


# --- functions
def _function(t: Trace, value: types.FunctionType) -> None:
    """Its code and defaults; its globals and variables from outside have a number and are read one by one."""
    t.say("function", value.__qualname__)
    t.meet_all((value.__code__, value.__defaults__, value.__kwdefaults__))
    t.place(value.__globals__)
    for cell in value.__closure__ or ():
        t.place(cell)


def _code(t: Trace, value: types.CodeType) -> None:
    """What Python runs, but for the places in the file."""
    t.say("code", value.co_qualname, value.co_code, value.co_exceptiontable, value.co_flags, value.co_argcount,
          value.co_posonlyargcount, value.co_kwonlyargcount, value.co_names, value.co_varnames, value.co_freevars,
          value.co_cellvars, value.co_filename == "<string>", len(value.co_consts))
    for const in value.co_consts:
        if isinstance(const, frozenset):  # who iterates over it says so (`Guards.varies`)
            t.say("frozenset", *sorted(f"{type(v).__name__} {v!r}" for v in const))
        else:
            t.meet(const)


def _method(t: Trace, value: types.MethodType) -> None:
    t.say("method")
    t.meet_all((value.__func__, value.__self__))


def _builtin(t: Trace, value: types.BuiltinFunctionType) -> None:
    t.say("builtin", value.__qualname__)
    owner = value.__self__
    if isinstance(owner, types.ModuleType) or owner is None:
        if not _is_of_library(value):
            raise NotKept(f"it calls {value.__qualname__} of an extension module")
        t.say(value.__module__)
    else:
        t.meet(owner)


def _partial(t: Trace, value: functools.partial[Any]) -> None:
    t.say("partial")
    t.meet_all((value.func, value.args, value.keywords))


def _property(t: Trace, value: property) -> None:
    t.say("property")
    t.meet_all((value.fget, value.fset, value.fdel))


def _held(t: Trace, value: Any) -> None:
    """A staticmethod, a classmethod."""
    t.say(type(value).__name__)
    t.meet(value.__func__)


def _cached(t: Trace, value: functools.cached_property[Any]) -> None:
    t.say("cached_property", value.attrname)
    t.meet(value.func)


def _ufunc(t: Trace, value: np.ufunc) -> None:
    """One of NumPy or SciPy, by name."""
    for name in ("numpy", "scipy.special"):
        module = sys.modules.get(name)
        if getattr(module, value.__name__, None) is value:
            t.say("ufunc", name, value.__name__, getattr(sys.modules[name.partition(".")[0]], "__version__", ""))
            return
    raise NotKept(f"it calls the ufunc {value.__name__}, whose origin is unknown")


def _wrapped(value: Any) -> Any:
    """The function that a wrapper of compiled code, or a twin, stands for."""
    module = type(value).__module__.partition(".")[0]
    if module == "numba":
        return getattr(value, "py_func", None)
    return getattr(value, "__wrapped__", None) if module in ("functools", "pyflat") else None


# --- modules, classes, instances
def _module(t: Trace, value: types.ModuleType) -> None:
    if sys.modules.get(value.__name__) is not value:
        raise NotKept(f"the module {value.__name__} is not loaded")
    t.say("module", value.__name__)
    t.place(vars(value))


def _is_of_library(value: Any) -> bool:
    """Whether a module of the standard library, NumPy or pyflat has it under its own name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    return (isinstance(module, str) and isinstance(name, str) and _is_library(module.partition(".")[0])
            and named(module, name) is value)


@functools.cache
def _is_library(package: str) -> bool:
    """Whether a package is one of these: not a file of the user's that has such a name."""
    if package in _OWN or package in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(package), "__file__", None)
    return package in sys.stdlib_module_names and file is not None and file.startswith(_STANDARD) \
        and "site-packages" not in file


def named(module: str, qualname: str) -> Any:
    """What a loaded module has under a qualified name, None where there is nothing."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _class(t: Trace, value: type) -> None:
    if _is_of_library(value):
        t.say("class", value.__module__, value.__qualname__)
        return
    if not is_mutable(value):
        raise NotKept(f"it depends on {value.__qualname__} of an extension module")
    t.say("class", value.__module__, value.__qualname__)
    t.meet(type(value))
    t.meet_all(value.__bases__)
    scope = {k: v for k, v in vars(value).items() if k not in _NO_MEANING}
    t.say(len(scope), *scope)
    t.meet_all(scope.values())


def _instance(t: Trace, value: Any) -> None:
    cls = type(value)
    base = next(c for c in cls.__mro__ if not is_mutable(c))
    if cls is base or base not in _BASES:
        raise NotKept(f"it depends on a {cls.__qualname__}, which cannot be inspected")
    t.say("instance")
    t.meet(cls)
    if base is not object:
        t.meet(_BASES[base](value))
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    t.meet(own)
    for each in cls.__mro__:
        for name, slot in vars(each).items():
            if isinstance(slot, types.MemberDescriptorType):
                t.say(name)
                t.meet(_slot(slot, value))


def _slot(slot: types.MemberDescriptorType, value: Any) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:
        return ABSENT


_BASES: dict[type, Callable[[Any], Any]] = {
    object: lambda v: None,
    int: int.__int__, float: float.__float__, str: str.__str__, tuple: lambda v: tuple.__getitem__(v, slice(None)),
    complex: lambda v: complex(v.real, v.imag), list: lambda v: list.__getitem__(v, slice(None)),
    dict: lambda v: dict(dict.items(v)),
}
"""What an instance of a class over one of these holds besides."""


def _words(t: Trace, value: Any) -> None:
    """What says all of itself."""
    t.say(type(value).__name__, repr(value))


def _sentinel(t: Trace, value: object) -> None:
    t.say("object")


def _getter(t: Trace, value: Any) -> None:
    """The descriptor of a field of a namedtuple."""
    t.say("field", value.__reduce__()[1][0])


def _namespace(t: Trace, value: types.SimpleNamespace) -> None:
    t.say("namespace")
    t.meet(vars(value))


def _slice(t: Trace, value: slice) -> None:
    t.say("slice")
    t.meet_all((value.start, value.stop, value.step))


_IMMUTABLE: dict[type, Callable[[Trace, Any], None]] = {
    tuple: _sequence, frozenset: _set, types.CodeType: _code, slice: _slice, datetime.date: _words,
    datetime.datetime: _words, datetime.time: _words, datetime.timedelta: _words, datetime.timezone: _words,
    decimal.Decimal: _words, types.GenericAlias: _words, types.UnionType: _words, TypeVar: _words,
}
"""Without a number: whether two of them are one object depends on how Python has loaded a file."""

_RULES: dict[type, Callable[[Trace, Any], None]] = {
    list: _sequence, dict: _dict, set: _set, np.ndarray: _array, object: _sentinel, types.FunctionType: _function,
    types.MethodType: _method, types.BuiltinFunctionType: _builtin, functools.partial: _partial, property: _property,
    staticmethod: _held, classmethod: _held, functools.cached_property: _cached, types.ModuleType: _module,
    types.MappingProxyType: _dict, types.SimpleNamespace: _namespace, operator.itemgetter: _words,
    operator.attrgetter: _words, type(namedtuple("_Pair", "first").first): _getter,  # type: ignore[attr-defined]
}


# --- the journal
Line = list[Any]
"""The method of `Guards`, how to find the owner, the name, and the hash up to here."""


def written(trace: Trace, guards: Guards) -> list[Line]:
    """The manifest of what was read. Raises NotKept."""
    return [line for note in guards.journal if not _is_ours(note) if (line := _line(trace, note)) is not None]


def _is_ours(note: Note) -> bool:
    """Whether it is a reading of pyflat's own functions, which stand for Python's: they are as old as pyflat."""
    owner = note.owner() if note.method == "code" else note.owner
    if isinstance(owner, dict):
        name = owner.get("__name__")
        return isinstance(name, str) and name.startswith("pyflat.") and vars(sys.modules.get(name, object)) is owner
    return isinstance(owner, types.FunctionType) and owner.__module__.startswith("pyflat.") and _is_of_library(owner)


def _line(trace: Trace, note: Note) -> Line | None:
    if note.method == "varies":
        raise NotKept(f"it depends on {note.name}, which another process cannot compare")
    owner = note.owner() if note.method == "code" else note.owner
    where = _address(trace, owner)
    if where is None:
        if note.method == "instance" or note.method == "contents" and isinstance(owner, _CONTAINERS):
            return None  # made while flattening, of what is compared
        raise NotKept(f"it reads from a {type(owner).__name__} that another process cannot find")
    _meet_reading(trace, note.method, owner, note.name, note.value)
    return [note.method, where, note.name, trace.digest]


def _address(trace: Trace, owner: Any) -> Any:
    """The number of an owner that was met, or the names under which it is found."""
    number = trace.number(owner)
    if number is not None:
        return number
    if isinstance(owner, types.ModuleType):
        return [owner.__name__]
    if isinstance(owner, dict):
        module = sys.modules.get(str(owner.get("__name__")))
        return [module.__name__, None] if module is not None and vars(module) is owner else None
    module_name, name = getattr(owner, "__module__", None), getattr(owner, "__qualname__", None)
    if isinstance(module_name, str) and isinstance(name, str) and named(module_name, name) is owner:
        return [module_name, name]
    return None


def _found(trace: Trace, where: Any) -> Any:
    if isinstance(where, int):
        return trace.objects[where]
    module = importlib.import_module(where[0])
    if len(where) == 1:
        return module
    return vars(module) if where[1] is None else named(*where)


def _meet_reading(trace: Trace, method: str, owner: Any, name: str, value: Any) -> None:
    trace.say(method, name)
    match method:
        case "member":
            own = getattr(owner, "__dict__", {})
            trace.meet(own.get(name, ABSENT) if isinstance(own, Mapping | types.MappingProxyType) else ABSENT)
            classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
            for scope in map(vars, classes):
                trace.meet(scope.get(name, ABSENT))
        case "instance":
            trace.meet(type(owner))
        case "class_of_instances":
            _meet_class(trace, owner)
        case "contents" | "code":
            trace.meet(owner)
        case _:
            trace.meet(value)


def _meet_class(trace: Trace, cls: type) -> None:
    """The special methods of a class and its bases, also of one that is known by its name."""
    trace.meet(cls)
    for each in cls.__mro__:
        if is_mutable(each):
            for name, value in vars(each).items():
                if name.startswith("__") and name not in _NO_MEANING and isinstance(value, types.FunctionType):
                    trace.say(name)
                    trace.meet(value)


def read(trace: Trace, lines: Sequence[Line]) -> Guards | None:
    """Guards over what this process has where the manifest says; None where that is something else."""
    guards = Guards()
    for method, where, name, digest in lines:
        owner = _found(trace, where)
        value = _value(method, owner, name)
        _meet_reading(trace, method, owner, name, value)
        if trace.digest != digest:
            return None
        _guard(guards, method, owner, name, value)
    guards.journal.clear()
    return guards


def _value(method: str, owner: Any, name: str) -> Any:
    match method:
        case "global_name":
            return owner.get(name, ABSENT)
        case "cell":
            return owner.cell_contents
        case "attribute":
            return getattr(owner, name, ABSENT)
    return None


def _guard(guards: Guards, method: str, owner: Any, name: str, value: Any) -> None:
    match method:
        case "global_name" | "attribute":
            getattr(guards, method)(owner, name, value)
        case "cell":
            guards.cell(owner, name, value)
        case "member":
            guards.member(owner, name)
        case "code" | "instance" | "class_of_instances" | "contents":
            getattr(guards, method)(owner)
