"""Variables of enclosing functions, classes, methods and signatures: what Python looks up before it calls."""

from __future__ import annotations

import inspect
import types
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import libcst as cst
import numpy as np

from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import python_type
from pyflat.frontend.state.values import (
    UNBOUND,
    Abstract,
    Arguments,
    Array,
    Caught,
    Closure,
    Complex,
    DictRef,
    Frame,
    ListRef,
    ObjRef,
    OtherText,
    Scratch,
    Seq,
    Static,
    Text,
    Unsigned,
    View,
)
from pyflat.ir.nodes import Value
from pyflat.ir.tables import table_of

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), range, frozenset, type(...)})
BUILTIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, range, np.ndarray, type(None))


def is_plain(value: Any) -> bool:
    """An immutable builtin value: operators on it are pure."""
    if isinstance(value, tuple):
        return table_of(value) is not None or _PLAIN.issuperset(map(type, value)) or all(map(is_plain, value))
    return type(value) in _PLAIN or type(value) in (np.ndarray, list, dict, slice, set)


def method_of(owner: Abstract, name: str) -> types.FunctionType | None:
    """The Python function behind a method of an instance of a user's class."""
    match owner:
        case ObjRef() | Seq():
            found = inspect.getattr_static(owner.cls, name, None)
        case Static() | Scratch() if not is_plain(owner.value) or hasattr(type(owner.value), "_fields"):
            found = inspect.getattr_static(type(owner.value), name, None)
        case _:
            return None
    return found if isinstance(found, types.FunctionType) and not is_generated(found) else None


def call_method(s: Evaluator, fn: types.FunctionType, args: Sequence[Abstract], node: cst.CSTNode) -> Abstract:
    """Call a method that was found on the class of the first argument."""
    cls = class_of(args[0]) if args else None
    if cls is not None:
        s.guards.member(cls, fn.__name__)
    return s.space.call(Static(fn), Arguments(list(args), {}), node)


def is_generated(fn: types.FunctionType) -> bool:
    return fn.__code__.co_filename == "<string>"


def class_of(value: Abstract) -> type | None:
    match value:
        case Value():
            return python_type(value.kind)
        case Static() | Scratch():
            return type(value.value)
        case Complex():
            return complex
        case Unsigned():
            return int
        case Seq() | ObjRef() | DictRef():
            return value.cls
        case ListRef():
            return list
        case Array() | View():
            return np.ndarray
        case Text() | OtherText():
            return str
        case Caught():
            return value.cls
        case Closure():
            return types.FunctionType
    return None


def enclosing(frame: Frame | None, name: str) -> Frame | None:
    """The innermost of a frame and those around it that has the variable."""
    while frame is not None:
        if name in frame.local_names and frame.shadowed.get(name, UNBOUND) is not None:
            return frame
        frame = frame.outer
    return None


def variable(s: Evaluator, frame: Frame, name: str) -> Abstract:
    """What the name means in a frame: its value, or the box that has it."""
    if frame is s.frame:
        return s.state.locals.get(name, UNBOUND)
    return frame.shadowed.get(name) or s.locals_of(frame).get(name, UNBOUND)


def bind(s: Evaluator, signature: inspect.Signature, arguments: Arguments, node: cst.CSTNode) -> dict[str, Abstract]:
    """Parameter name -> value, defaults included."""
    try:
        bound = signature.bind(*arguments.positional, **arguments.named)
    except TypeError as error:
        raise s.refuse("flatten/bad-call", f"this call does not fit: {error}", node) from None
    values: dict[str, Abstract] = {}
    for name, parameter in signature.parameters.items():
        if name not in bound.arguments:
            values[name] = without_argument(s, parameter)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            values[name] = heap.make_tuple(bound.arguments[name])
        elif parameter.kind is parameter.VAR_KEYWORD:
            values[name] = heap.new_dict(s, bound.arguments[name])
        else:
            values[name] = bound.arguments[name]
    return values


def without_argument(s: Evaluator, parameter: inspect.Parameter) -> Abstract:
    """What a parameter is that gets no argument: its default, which all calls share, or an empty tuple or dict."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        return Static(())
    if parameter.kind is parameter.VAR_KEYWORD:
        return heap.new_dict(s, {})
    default = parameter.default
    if isinstance(default, Abstract):
        return default
    written = s.scratch.get(id(default))
    if written is not None:
        return written
    if isinstance(default, np.ndarray):
        return s.space.wrap(default)
    s.guards.contents(default)
    return Static(default)


_signatures: WeakKeyDictionary[types.FunctionType, tuple[Any, inspect.Signature]] = WeakKeyDictionary()


def signature_of(fn: types.FunctionType) -> inspect.Signature:
    """The signature; made again when the defaults or the code were replaced."""
    parts = (fn.__code__, fn.__defaults__, fn.__kwdefaults__)
    known_parts, signature = _signatures.get(fn, (None, None))
    if signature is None or known_parts is None or any(a is not b for a, b in zip(parts, known_parts, strict=True)):
        signature = inspect.Signature.from_callable(fn, follow_wrapped=False)
        _signatures[fn] = (parts, signature)
    return signature
