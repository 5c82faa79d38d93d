"""Runs a Python function under watch: it may read what is outside, which guards note, and may neither write there nor
ask for what another run would find otherwise (a clock, a file, a random number, the environment of the process).

The function is compiled from its own text, in which calls, attributes and writes go through the watch:

    table[k] = crc(k)        _watch.owned(table)[k] = _watch.call(crc, k)

Written to is only what the run has made. Callees in Python are compiled in the same way, compiled ones are looked up
in a list. Python code that is reached in other ways (an operator of a class, a callback of C code) is stopped by the
interpreter's profile hook before its first line.
"""

from __future__ import annotations

import ast
import builtins
import collections
import datetime
import decimal
import dis
import enum
import fractions
import functools
import gc
import inspect
import itertools
import operator
import re
import sys
import types
from collections.abc import Callable, Collection
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError
from pyflat.frontend.capture import capture
from pyflat.frontend.state.guards import Guards
from pyflat.frontend.uncompiled import codes, python_of
from pyflat.frontend.watched_text import NAME, NotTranslatedError, WatchedText

MOST_ITERATIONS = 10**7
_TRUSTED = frozenset({
    "abc", "annotationlib", "collections", "_collections_abc", "copy", "dataclasses", "enum", "fractions", "functools",
    "inspect", "keyword", "numbers", "operator", "re", "reprlib", "statistics", "string", "textwrap", "types", "typing",
    "typing_extensions", "_py_abc", "weakref", "_weakrefset", "importlib", "_frozen_importlib", "pyflat"})
"""Modules in Python whose functions compute from their arguments alone, but for these."""
_NOT_THESE = frozenset({
    "stack", "currentframe", "trace", "getsource", "getsourcelines", "getsourcefile", "findsource", "getcomments",
    "getmodule", "getouterframes", "getinnerframes", "getframeinfo", "update_wrapper", "wraps", "total_ordering",
    "dataclass", "make_dataclass", "unique", "register", "import_module", "reload"})
_COMPILED = frozenset({"math", "cmath", "operator", "_operator", "itertools", "bisect", "_bisect", "binascii", "zlib",
                       "_struct", "unicodedata", "_functools", "_heapq", "_collections", "_statistics"})
"""Compiled modules whose functions do, too; `_INTO_FIRST` write to their first argument."""
_INTO_FIRST = frozenset({
    "insort", "insort_left", "insort_right", "heappush", "heappop", "heapify", "heappushpop", "heapreplace", "setitem",
    "delitem", "_heappop_max", "_heapify_max", "_heapreplace_max", "iadd", "iand", "iconcat", "ifloordiv", "ilshift",
    "imatmul", "imod", "imul", "ior", "ipow", "irshift", "isub", "itruediv", "ixor"})
_CLASSES = frozenset({"collections", "itertools", "functools", "datetime", "decimal", "fractions", "re", "operator"})
"""Modules of compiled classes whose instances are what they were made of."""
_MADE_ANEW = (list, dict, set, frozenset, bytearray, object, slice, map, filter, zip, enumerate, reversed, range, tuple,
              property, types.SimpleNamespace, types.MappingProxyType)
_WRITING = frozenset({
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add",
    "discard", "fill", "resize", "put", "itemset", "appendleft", "popleft", "extendleft", "rotate", "move_to_end",
    "intersection_update", "difference_update", "symmetric_difference_update", "__setitem__", "__delitem__",
    "__setattr__", "__delattr__", "__iadd__", "__next__", "send", "throw", "close", "__init__", "setflags", "partition",
    "byteswap", "subtract"})
_VARYING = frozenset({"now", "today", "utcnow", "fromtimestamp", "timestamp", "astimezone", "strftime", "ctime"})
_FORBIDDEN: tuple[Any, ...] = tuple(getattr(builtins, name, None) for name in (
    "print", "input", "open", "exec", "eval", "compile", "breakpoint", "globals", "locals", "id", "__import__", "exit",
    "quit", "memoryview", "hash"))
_CONTAINERS = list, dict, set, bytearray, np.ndarray, collections.deque
_PLAIN = (bool, int, float, complex, str, bytes, tuple, frozenset, range, slice, np.generic, re.Pattern, re.Match,
          enum.Enum, types.MappingProxyType, datetime.date, datetime.timedelta, datetime.time, decimal.Decimal,
          fractions.Fraction, *_CONTAINERS)


_HEAP_TYPE = 1 << 9
"""The type flag of classes made by a class statement."""


class NotWatchedError(BaseException):
    """What is run does something that the watch does not let through. No `except` of the function catches it."""


class Watch:
    """One run, and what it has made."""

    def __init__(self, guards: Guards, is_pure: Callable[[Any], bool], written: Collection[int]):
        self._guards, self._is_pure, self._written = guards, is_pure, written
        self.made_here: dict[int, Any] = {}
        """What the run has made, by identity, kept alive."""
        self.refusal = ""
        """Why the run was stopped."""
        self._codes: set[CodeType] = set()
        self._compiled: dict[FunctionType, FunctionType] = {}
        self._caches: dict[Any, Callable[..., Any]] = {}
        self._iterations = 0

    def run(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """The result. NotWatchedError where it cannot be told that a run leaves nothing behind, what the function
        raises where it raises."""
        for each in [*args, *named.values()]:
            self._reached(each)
        before, collects = sys.getprofile(), gc.isenabled()
        gc.disable()  # what other objects do when they are freed is none of the function's calls
        sys.setprofile(self._entered)
        try:
            return self.call(function, *args, **named)
        finally:
            sys.setprofile(before)
            if collects:
                gc.enable()
            if self.refusal:
                raise NotWatchedError(self.refusal)

    def forget(self) -> None:
        """Begin another run."""
        self.made_here.clear()
        self.refusal, self._iterations = "", 0

    def is_of_the_run(self, function: FunctionType) -> bool:
        return function.__code__ in self._codes

    def _refuse(self, why: str) -> NotWatchedError:
        self.refusal = self.refusal or why
        return NotWatchedError(why)

    def _entered(self, frame: types.FrameType, event: str, _: object) -> None:
        """The profile hook: stops Python code that the watch has not compiled."""
        if event == "call" and frame.f_code not in self._codes and not _is_trusted(frame.f_code, frame.f_globals):
            raise self._refuse(f"it calls {frame.f_code.co_name}")

    # --- what compiled text calls
    def call(self, function: Any, /, *args: Any, **named: Any) -> Any:
        if self.refusal:
            raise NotWatchedError(self.refusal)
        function = python_of(function) or function
        match function:
            case functools._lru_cache_wrapper():  # what it has from other calls is what it would compute
                if function not in self._caches:
                    self._caches[function] = functools.cache(functools.partial(self.call, function.__wrapped__))
                return self._caches[function](*args, **named)
            case FunctionType() if function.__code__ in self._codes:
                return self._result(function(*args, **named))
            case FunctionType() if _is_trusted(function.__code__, function.__globals__):
                return self._call_trusted(function, args, named)
            case FunctionType():
                return self._result(self._watched(function)(*args, **named))
            case MethodType():
                return self.call(function.__func__, function.__self__, *args, **named)
            case functools.partial():
                return self.call(function.func, *function.args, *args, **{**function.keywords, **named})
            case type():
                return self._make(function, args, named)
        special = inspect.getattr_static(type(function), "__call__", None)
        if isinstance(special, FunctionType):
            return self.call(special, function, *args, **named)
        return self._call_compiled(function, args, named)

    def _result(self, value: Any) -> Any:
        return self.made(value) if isinstance(value, types.GeneratorType) else value

    def get(self, owner: Any, name: str) -> Any:
        """owner.name"""
        kind = owner if isinstance(owner, type) else type(owner)
        found = inspect.getattr_static(kind, name, None)
        if not isinstance(owner, type):
            getter = found.fget if isinstance(found, property) else getattr(found, "func", None) \
                if isinstance(found, functools.cached_property) else None
            if isinstance(getter, FunctionType):
                self._guards.member(kind, name)
                return self.call(getter, owner)
        value = getattr(owner, name)
        if isinstance(owner, ModuleType | FunctionType):
            try:
                self._guards.attribute(owner, name, value)
            except FlattenError as error:
                raise self._refuse(error.diagnostic.message) from None
            self._reached(value)
        elif id(owner) not in self.made_here and (isinstance(owner, type) or hasattr(owner, "__dict__")):
            self._guards.member(owner, name)
            self._reached(value)
        else:
            self._guards.member(kind, name)
        return value

    def item(self, owner: Any, place: Any) -> Any:
        """owner[place]"""
        method = inspect.getattr_static(type(owner), "__getitem__", None)
        if isinstance(method, FunctionType) and not _is_trusted(method.__code__, method.__globals__):
            return self.call(method, owner, place)
        if isinstance(owner, collections.defaultdict) and place not in owner:
            self.owned(owner)
        value = owner[place]
        self._require_no_iterator(value)
        return self.made(value) if isinstance(place, slice) and type(value) is list else value

    def owned(self, value: Any) -> Any:
        """What is about to be written to: the run has made it, and the memory that a view is of."""
        below = value
        while isinstance(below, np.ndarray) and below.base is not None:
            below = below.base
        if id(value) not in self.made_here or id(below) not in self.made_here:
            raise self._refuse(f"it writes to a {type(value).__name__} from outside")
        return value

    def grown(self, value: Any) -> None:
        """The left side of an augmented assignment to a name."""
        if isinstance(value, _CONTAINERS) or inspect.getattr_static(type(value), "__iadd__", None) is not None:
            self.owned(value)

    def made(self, value: Any) -> Any:
        """What an expression has made, or an operator has."""
        if isinstance(value, _CONTAINERS) or hasattr(type(value), "__next__"):
            self.made_here[id(value)] = value
        if isinstance(value, set | frozenset):
            self._guards.varies("the order of a set")
        return value

    def decorated(self, decorator: Any) -> Callable[[Any], Any]:
        return functools.partial(self.call, decorator)

    def iterated(self) -> None:
        self._iterations += 1
        if self._iterations > MOST_ITERATIONS:
            raise self._refuse(f"it is in a loop for more than {MOST_ITERATIONS:,} iterations")

    def imported(self, module: str, *names: str) -> None:
        if module not in sys.modules or not all(hasattr(sys.modules[module], name) for name in names):
            raise self._refuse(f"it imports {module}, which has not been imported")

    super, slice = super, slice

    # --- callees
    def _called_back(self, value: Any) -> Any:
        """An argument of compiled code, which may call it: a function under watch."""
        match value:
            case FunctionType() if not self.is_of_the_run(value) and not _is_trusted(value.__code__, value.__globals__):
                return self._watched(value)
            case MethodType():
                return MethodType(self._called_back(value.__func__), value.__self__)
            case functools.partial():
                return functools.partial(self._called_back(value.func), *value.args, **value.keywords)
            case type() | np.ufunc() | FunctionType():
                return value
            case types.BuiltinFunctionType() | types.MethodWrapperType():
                self._require_compiled(value, ())
            case types.MethodDescriptorType() | types.WrapperDescriptorType():
                if value.__name__ in _WRITING or value.__name__.startswith("__i"):
                    raise self._refuse(f"compiled code may call {value.__qualname__}")
            case _ if callable(value) and not isinstance(value, operator.itemgetter | functools._lru_cache_wrapper):
                if not isinstance(inspect.getattr_static(type(value), "__call__", None), FunctionType):
                    raise self._refuse(f"compiled code may call a {type(value).__name__}")
        self._noted(value)
        return value

    def _compiled_call(self, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return function(*map(self._called_back, args), **{k: self._called_back(value) for k, value in named.items()})

    def _call_trusted(self, function: FunctionType, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A function of a module that is known."""
        name, by_numpy = function.__name__, _root(function.__globals__) == "numpy"
        if name in _NOT_THESE or "out" in named or by_numpy and (name[0] == "_" or not self._is_pure(function)):
            raise self._refuse(f"it calls {function.__module__}.{name}")
        if name in _WRITING:
            self.owned(args[0] if args else None)
        for each in args:
            self._noted(each)
        if _root(function.__globals__) in ("inspect", "typing", "dataclasses"):  # they look at functions
            return function(*args, **named)
        result = self._compiled_call(function, args, named)
        return self.made(result) if by_numpy and all(result is not each for each in args) else result

    def _call_compiled(self, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A function of C code."""
        special: Callable[..., Any] | None = None
        if isinstance(function, types.BuiltinFunctionType):
            special = {getattr: self._getattr, hasattr: self._hasattr, setattr: self._setattr, vars: self._vars,
                       next: self._next}.get(function)  # type: ignore[call-overload]
        if special is not None:
            return special(*args, **named)
        self._require_compiled(function, args)
        if "out" in named or isinstance(function, np.ufunc) and len(args) > function.nin:
            raise self._refuse(f"it calls {function.__name__} with out=")
        result = self._compiled_call(function, args, named)
        name, module = function.__name__, getattr(function, "__module__", None) or ""
        if name in ("get", "pop", "popitem", "setdefault"):
            self._require_no_iterator(result)
        makes = hasattr(type(result), "__next__") or function is sorted or _first(module) == "numpy" or name in (
            "copy", "split", "rsplit", "splitlines", "tolist", "astype", "reshape")
        return self.made(result) if makes and all(result is not each for each in [*args, *named.values()]) else result

    def _require_compiled(self, function: Any, args: tuple[Any, ...]) -> None:
        """A function or method of C code that computes from its arguments, and writes to what the run has made."""
        known = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
                 types.MethodWrapperType, types.ClassMethodDescriptorType, np.ufunc, type(np.sum), operator.itemgetter)
        name = getattr(function, "__name__", type(function).__name__)
        if any(function is each for each in _FORBIDDEN) or not isinstance(function, known):
            raise self._refuse(f"it calls {name}")
        owner = getattr(function, "__self__", None)
        if isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType) and args:
            owner = args[0]
        if owner is not None and not isinstance(owner, ModuleType):
            self._require_method(owner, name)
            return
        module = getattr(function, "__module__", None) or ""
        if name in _INTO_FIRST and module in _COMPILED:
            self.owned(args[0] if args else None)
        elif not self._is_pure(function) and module not in _COMPILED and function not in (iter, callable, issubclass):
            raise self._refuse(f"it calls {module}.{name}")

    def _require_method(self, owner: Any, name: str) -> None:
        writes = name in _WRITING or name.startswith("__i") and name not in ("__init_subclass__", "__iter__", "__int__",
                                                                             "__index__", "__invert__", "__init__")
        if writes and not (name == "__init__" and type(owner).__init__ is object.__init__):
            self.owned(owner)
        plain = isinstance(owner, _PLAIN) or id(owner) in self.made_here
        if isinstance(owner, type):
            plain = issubclass(owner, int | float | complex | str | bytes | tuple | dict | datetime.date
                               | datetime.timedelta) or name in ("__new__", "mro", "__subclasscheck__")
        if name in _VARYING or not plain:
            raise self._refuse(f"it calls .{name}() of a {type(owner).__name__}")

    def _noted(self, value: Any) -> None:
        """All of something from outside that goes to code which may look at any part of it."""
        waiting, seen = [value], set[int]()
        while waiting:
            one = waiting.pop()
            if id(one) in seen or id(one) in self.made_here:
                continue
            seen.add(id(one))
            self._reached(one)
            match one:
                case FunctionType():
                    self._guards.code(one)
                    self._note_annotations(one.__annotations__, one.__globals__)
                    self._guards.contents(vars(one))
                case type():
                    for base in one.__mro__:
                        if base.__flags__ & _HEAP_TYPE and (found := vars(base).get("__annotations__")):
                            self._guards.member(base, "__annotations__")
                            self._note_annotations(found, vars(sys.modules.get(base.__module__, builtins)))
                case dict():
                    waiting += one.values()
                case list() | tuple() | set() | frozenset():
                    waiting += one
                case _ if type(one).__flags__ & _HEAP_TYPE and not isinstance(one, ModuleType | enum.Enum):
                    own = getattr(one, "__dict__", {})
                    self._guards.contents(own)
                    waiting += own.values()

    def _note_annotations(self, found: dict[str, Any], scope: dict[str, Any]) -> None:
        self._guards.contents(found)
        for note in found.values():
            for name in re.findall(r"[^\W\d]\w*", note) if isinstance(note, str) else ():
                if name in scope:
                    self._guards.global_name(scope, name, scope[name])

    def _make(self, cls: type, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """cls(...)"""
        if cls is super:
            return super(*args)
        if cls is type and len(args) != 1:
            raise self._refuse("it makes a class")
        meta = type(cls)
        made_by = inspect.getattr_static(meta, "__call__")
        if isinstance(made_by, FunctionType) and not _is_trusted(made_by.__code__, made_by.__globals__):
            raise self._refuse(f"it makes a {cls.__name__}")
        if isinstance(cls, enum.EnumMeta):
            self._guards.member(cls, "_value2member_map_")
            return cls(*args, **named)
        known = cls.__module__ in _CLASSES
        if known or not cls.__flags__ & _HEAP_TYPE:
            if not (known or self._is_pure(cls) or cls in _MADE_ANEW or issubclass(cls, BaseException)):
                raise self._refuse(f"it makes a {cls.__name__}")
            result = self._compiled_call(cls, args, named)
            return result if cls is type else self.made(result)
        self._guards.class_of_instances(cls)
        if not all(map(_is_base, cls.__mro__)):
            raise self._refuse(f"it makes a {cls.__name__}")
        new, init = (inspect.getattr_static(cls, name, None) for name in ("__new__", "__init__"))
        new = getattr(new, "__func__", new)
        if isinstance(new, FunctionType):
            result = self.call(new, cls, *args, **named)
        else:
            made: Any = cls.__new__
            result = made(cls) if new is object.__new__ else made(cls, *args, **named)
        self.made_here[id(result)] = result
        if isinstance(init, FunctionType) and isinstance(result, cls):
            self.call(init, result, *args, **named)
        elif init is not object.__init__ and isinstance(result, cls):
            init(result, *args, **named)
        return result

    def _getattr(self, owner: Any, name: str, *default: Any) -> Any:
        try:
            return self.get(owner, name)
        except AttributeError:
            if default:
                self._guards.member(owner, name)
                return default[0]
            raise

    def _hasattr(self, owner: Any, name: str) -> bool:
        missing = object()
        return self._getattr(owner, name, missing) is not missing

    def _setattr(self, owner: Any, name: str, value: Any) -> None:
        setattr(self.owned(owner), name, value)

    def _vars(self, owner: Any) -> Any:
        return self.get(owner, "__dict__")

    def _next(self, iterator: Any, *default: Any) -> Any:
        return next(self.owned(iterator), *default)

    # --- compiling
    def _watched(self, function: FunctionType) -> FunctionType:
        found = self._compiled.get(function)
        if found is None:
            sys.setprofile(None)
            try:
                found = self._compiled[function] = self._compile(function)
            except FlattenError as error:
                raise self._refuse(error.diagnostic.message) from None
            finally:
                sys.setprofile(self._entered)
        return found

    def _compile(self, function: FunctionType) -> FunctionType:
        captured = capture(function)
        tree: ast.AST
        if isinstance(captured.tree, cst.Lambda):
            text = captured.module.code_for_node(captured.tree)
            tree = ast.parse(f"({text})", mode="eval").body
        else:
            tree = ast.parse(captured.source).body[0]
        owner = function.__qualname__.rpartition(".")[0].rpartition(".")[2]
        names = [*function.__code__.co_freevars, NAME]
        try:
            made = WatchedText(owner.lstrip("_"), function.__code__.co_freevars).outermost(tree)
        except NotTranslatedError as error:
            raise self._refuse(str(error)) from None
        around = ast.parse(f"def {NAME}_around({', '.join(names)}): pass")
        assert isinstance(around.body[0], ast.FunctionDef)
        around.body[0].body = [made]
        code = compile(ast.fix_missing_locations(around), captured.file, "exec")
        inner = next(each for each in codes(code) if each.co_name == function.__code__.co_name and each is not code)
        self._codes.update(codes(inner))
        cells = {**dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)),
                 NAME: CellType(self)}
        result = FunctionType(inner, function.__globals__, function.__name__, function.__defaults__,
                              tuple(cells[name] for name in inner.co_freevars))
        result.__kwdefaults__ = function.__kwdefaults__
        self._note_what_it_reads(function)
        return result

    def _note_what_it_reads(self, function: FunctionType) -> None:
        self._guards.code(function)
        scope = function.__globals__
        names = {step.argval for code in codes(function.__code__) for step in dis.get_instructions(code)
                 if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        for name in sorted(names):
            if name in scope:
                self._guards.global_name(scope, name, scope[name])
                self._reached(scope[name])
            else:
                self._guards.absent(scope, name)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":
                self._guards.cell(cell, name, cell.cell_contents)
                self._reached(cell.cell_contents)
        for value in itertools.chain(function.__defaults__ or (), (function.__kwdefaults__ or {}).values()):
            self._reached(value)

    def _require_no_iterator(self, value: Any) -> None:
        if hasattr(type(value), "__next__") and id(value) not in self.made_here:
            raise self._refuse("it reads an iterator from outside")

    def _reached(self, value: Any) -> None:
        """Something from outside, that the run may look into."""
        if id(value) in self.made_here:
            return
        if id(value) in self._written:
            raise self._refuse("it reads an object that the function writes")
        self._require_no_iterator(value)
        if isinstance(value, (*_CONTAINERS, tuple)):
            self._guards.contents(value)
        if isinstance(value, set | frozenset):
            self._guards.varies("the order of a set")


def _is_base(cls: type) -> bool:
    """Whether a class is one of Python's, or a compiled one whose instances are what they are made of."""
    if cls.__flags__ & _HEAP_TYPE:
        return not isinstance(vars(cls).get("__new__"), types.BuiltinFunctionType)
    return cls in (object, int, float, complex, str, bytes, tuple, list, dict, set, frozenset) or issubclass(
        cls, BaseException)


def _is_trusted(code: Any, scope: dict[str, Any]) -> bool:
    """Code of the modules that are known, or made by `dataclass` and `namedtuple`."""
    if not isinstance(code, CodeType):
        return code is None
    if code.co_filename == "<string>":
        return code.co_name.startswith("__") or str(scope.get("__name__", "")).startswith("namedtuple_")
    if code.co_filename.startswith("<") and not code.co_filename.startswith("<frozen "):  # written by whoever it may be
        return False
    return _root(scope) in _TRUSTED or _root(scope) == "numpy"


def _root(scope: dict[str, Any]) -> str:
    """The package of a module."""
    return _first(str(scope.get("__name__", "")))


def _first(module: str) -> str:
    return module.partition(".")[0]
