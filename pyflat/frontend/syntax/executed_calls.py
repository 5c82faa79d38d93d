"""Calls of known values that cannot be flattened are run now, once, as Python, where that leaves nothing behind.

    HINTS = get_type_hints(f)            a dict of classes
    TABLE = crc_table(0xEDB88320)        a list of ints
    GRID = Grid(4, "cubic")              an object, whose attributes are known

None of the arguments, nor what they reach, is a lane. What the run makes is of this call alone, as it is where Python
calls the function; what it reads is guarded (`frontend.watched`).
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import inspect
import re
from types import FunctionType
from typing import Any

import libcst as cst
import numpy as np

from pyflat.errors import FlattenError, Note
from pyflat.frontend import builtins
from pyflat.frontend.space import arrays
from pyflat.frontend.space.scalars import const_eval, known_number
from pyflat.frontend.state import derived, heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Abstract, Arguments, DictRef, ListRef, ObjRef, Ref, Seq, Static
from pyflat.frontend.watched import NotWatchedError, Watch

MOST_ITEMS = 64
"""Of a list or dict that may be written to afterwards."""


class _NotKnownError(BaseException):
    """A lane, or something that has no place outside of flattened code."""


def run(s: Evaluator, function: Any, arguments: Arguments, refusal: FlattenError, node: cst.CSTNode) -> Abstract:
    """The result of a call, or the exception that it raises on this path; the refusal where it cannot be run now."""
    if derived.is_among(s, *arguments.positional, *arguments.named.values()):
        return _of_strings(s, function, arguments, refusal, node)
    copies: dict[Ref, Any] = {}
    try:
        args = [_python(s, value, copies, node) for value in arguments.positional]
        named = {name: _python(s, value, copies, node) for name, value in arguments.named.items()}
    except (_NotKnownError, FlattenError):
        raise refusal from None
    watch = Watch(s.guards, builtins.is_pure, s.scratch)
    try:
        found = const_eval(s, functools.partial(_outcome, watch, function, args, named))
        assert isinstance(found, Static)
        return _Converter(s, watch, copies).abstract(found.value.value)
    except _NotKnownError:
        raise refusal from None
    except NotWatchedError as stopped:
        raise _noted(refusal, f"{getattr(function, '__name__', 'it')} is not run as Python either: {stopped}") from None


def _noted(refusal: FlattenError, text: str) -> FlattenError:
    """The innermost call that was tried says why."""
    found = refusal.diagnostic
    if any("not run as Python" in note.message for note in found.notes):
        return refusal
    return type(refusal)(dataclasses.replace(found, notes=(Note(text), *found.notes)))


def _of_strings(s: Evaluator, function: Any, arguments: Arguments, refusal: FlattenError, node: cst.CSTNode
                ) -> Abstract:
    """A call with what is computed of one string: run once for each."""
    names, watch = tuple(arguments.named), Watch(s.guards, builtins.is_pure, s.scratch)

    def compute(*row: Any) -> Any:
        watch.forget()
        try:
            count = len(row) - len(names)
            return watch.run(function, list(row[:count]), dict(zip(names, row[count:], strict=True)))
        except NotWatchedError as stopped:
            raise _NotKnownError(*stopped.args) from None

    try:
        operands = [*arguments.positional, *arguments.named.values()]
        return derived.apply(s, (id(function), names), compute, operands, node)
    except (FlattenError, _NotKnownError):
        raise refusal from None


class _RunOutcome:
    """What a run gives, as one known object."""

    def __init__(self, value: Any):
        self.value = value


def _outcome(watch: Watch, function: Any, args: list[Any], named: dict[str, Any]) -> _RunOutcome:
    try:
        return _RunOutcome(watch.run(function, args, named))
    except (RecursionError, MemoryError):
        raise _NotKnownError from None


def _python(s: Evaluator, value: Abstract, copies: dict[Ref, Any], node: cst.CSTNode) -> Any:
    """The value as Python has it; lists, dicts and objects of the flattened code as copies, which no run writes to."""
    match value:
        case Static():
            return value.value
        case ListRef() | DictRef() | ObjRef() if value in copies:
            return copies[value]
        case ListRef():
            made: Any = copies.setdefault(value, [])
            made += [_python(s, item, copies, node) for item in heap.contents(s, value, node)]
            return made
        case DictRef() if value.cls is dict:
            made = copies.setdefault(value, {})
            made.update((key, _python(s, item, copies, node)) for key, item in heap.contents(s, value, node))
            return made
        case Seq() if value.cls is tuple:
            return tuple(_python(s, item, copies, node) for item in value.items)
        case ObjRef() if _is_plain_class(value.cls):
            made = copies.setdefault(value, object.__new__(value.cls))
            for name, item in heap.contents(s, value, node):
                object.__setattr__(made, name, _python(s, item, copies, node))
            return made
    raise _NotKnownError


class _Converter:
    """What a run gives, as the flattened code has it."""

    def __init__(self, s: Evaluator, watch: Watch, copies: dict[Ref, Any]):
        self.s, self.watch = s, watch
        self.known: dict[int, Abstract] = {id(copy): ref for ref, copy in copies.items()}

    def abstract(self, value: Any) -> Abstract:
        found = self.known.get(id(value))
        if found is not None:
            return found
        if isinstance(value, tuple) and type(value) is tuple:
            return heap.make_tuple([self.abstract(item) for item in value])
        if id(value) not in self.watch.made_here:
            if isinstance(value, FunctionType) and self.watch.is_of_the_run(value) or not _has_a_place(value):
                raise _NotKnownError
            self.s.guards.contents(value)
            return known_number(self.s, value)
        return self._made(value)

    def _made(self, value: Any) -> Abstract:
        """Lists, dicts, arrays and objects of the run. Long ones are constants."""
        heap_now = self.s.state.heap
        match value:
            case list() | dict() if type(value) in (list, dict) and len(value) > MOST_ITEMS:
                self._require_constants(value)
                return Static(value)
            case list() if type(value) is list:
                made = self.known[id(value)] = ListRef()
                heap_now[made] = tuple(map(self.abstract, value))
                return made
            case dict() if type(value) is dict:
                entries = self.known[id(value)] = DictRef()
                for key in value:
                    self._require_constants(key)
                heap_now[entries] = tuple((key, self.abstract(item)) for key, item in value.items())
                return entries
            case np.ndarray():
                return arrays.local(self.s, Static(value))
            case set():
                self._require_constants(value)
                return Static(value)
        if not _is_plain_class(type(value)):
            raise _NotKnownError
        instance = self.known[id(value)] = ObjRef(type(value))
        heap_now[instance] = tuple((name, self.abstract(item)) for name, item in vars(value).items())
        return instance

    def _require_constants(self, value: Any) -> None:
        """Nothing in it can be told from what another run makes."""
        items = [*value, *value.values()] if isinstance(value, dict) else value
        for item in items if isinstance(value, list | dict | set | tuple) else [value]:
            if isinstance(item, list | dict | set | tuple):
                self._require_constants(item)
            elif not _has_a_place(item) or id(item) in self.watch.made_here:
                raise _NotKnownError


def _has_a_place(value: Any) -> bool:
    """It is no object that a run has made and that may change."""
    plain = (bool, int, float, complex, str, bytes, type(None), type(...), type, enum.Enum, np.generic, range,
             frozenset, slice, re.Pattern, re.Match, datetime.date, datetime.timedelta, FunctionType)
    return isinstance(value, plain) or hasattr(value, "__dict__") or type(value).__module__ in (
        "typing", "types", "decimal", "fractions", "inspect", "builtins", "collections", "operator")


def _is_plain_class(cls: type) -> bool:
    """Its instances are their attributes."""
    return inspect.getattr_static(cls, "__new__") is object.__new__ and not any(
        "__slots__" in vars(base) for base in cls.__mro__)
