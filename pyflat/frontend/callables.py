"""What can be flattened: the Python function below a callable, and how a call fills its parameters.

A bound method is its function with a fixed first argument, a `functools.partial` one with several; a numba
dispatcher and a `functools.lru_cache` wrapper are the function that they were made from.
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from pyflat.errors import refuse
from pyflat.frontend.roles import compared_with_strings
from pyflat.frontend.uncompiled import in_python, python_of


@dataclass(frozen=True, slots=True)
class Callee:
    """A Python function with the arguments that its caller cannot choose (self, those of a partial)."""

    function: FunctionType
    prefix: tuple[Any, ...] = ()
    preset: Mapping[str, Any] = field(default_factory=dict)

    @property
    def original(self) -> FunctionType:
        """The function as its twin reads it, for lanes and calls that the twin leaves to it."""
        return in_python(self.function)


def unwrap(fn: object) -> Callee:
    """The function below `fn`. TypeError for descriptors and classes, FlattenError for functions not in Python."""
    prefix: tuple[Any, ...] = ()
    preset: dict[str, Any] = {}
    while not isinstance(fn, FunctionType):
        match fn:
            case staticmethod() | classmethod():
                kind = type(fn).__name__
                raise TypeError(f"pyflat cannot flatten a {kind} object: write @{kind} above @pyflat.flatten, "
                                f"so that the function is flattened first (or call pyflat.twin(Class.name))")
            case type():
                raise TypeError(f"pyflat cannot flatten the class {fn.__name__}: flatten one of its methods, "
                                f"pyflat.twin(instance.method), or a function")
            case MethodType():
                prefix = (fn.__self__, *prefix)
                fn = fn.__func__
            case functools.partial():
                prefix = (*fn.args, *prefix)
                preset = {**fn.keywords, **preset}
                fn = fn.func
            case functools._lru_cache_wrapper():
                fn = fn.__wrapped__
            case _:
                fn = _below(fn)
    return Callee(fn, prefix, preset)


def _below(fn: object) -> object:
    if (compiled := python_of(fn)) is not None:
        return compiled
    if callable(inner := getattr(fn, "pyfunc", None)):
        raise refuse("flatten/not-a-function", f"a {type(fn).__name__} object is not a Python function",
                     help=f"flatten the function that it calls: pyflat.twin({getattr(inner, '__name__', 'f')})")
    call = getattr(type(fn), "__call__", None)  # noqa: B004 - the function itself is wanted
    if isinstance(call, FunctionType):
        return MethodType(call, fn)
    name = getattr(fn, "__name__", None)
    shown = f"{type(fn).__name__} {name!r}" if name else f"an object of type {type(fn).__name__}"
    raise refuse("flatten/not-a-function", f"{shown} is not a Python function")


class _Spelled:
    """A default value in the text of a signature."""

    NAME = "_pyflat_not_given"

    def __repr__(self) -> str:
        return self.NAME


class BoundArguments(NamedTuple):
    """The arguments of one call in signature order. The first `fixed_extra` items of *args and all `fixed`
    names come from the callable itself (self, a partial), not from the caller."""

    arguments: dict[str, Any]
    fixed: frozenset[str]
    fixed_extra: int = 0


class NotGiven:
    """The type of what stands for an argument that a call leaves to its default."""

    __slots__ = ()


NOT_GIVEN = NotGiven()


class Parameters:
    """The signature of a callee, and binding of calls to it."""

    def __init__(self, callee: Callee, name: str):
        self.name = name
        self.function = callee.function
        self.prefix = callee.prefix
        self.preset = callee.preset
        self.signature = inspect.signature(callee.function, follow_wrapped=False)
        kinds = self.signature.parameters.values()
        self.names = tuple(self.signature.parameters)
        self.required = sum(p.default is p.empty for p in kinds)
        self.by_position_only = sum(p.kind is p.POSITIONAL_ONLY for p in kinds)
        positional = [p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.positional = len(positional)
        self.all_from_caller = not callee.prefix and not callee.preset
        self.simple = len(positional) == len(self.names) and self.all_from_caller
        self.extra = next((p.name for p in kinds if p.kind is p.VAR_POSITIONAL), None)
        self.keywords = next((p.name for p in kinds if p.kind is p.VAR_KEYWORD), None)
        self.takes_out = "out" in self.names or self.keywords is not None
        """`out=` is an argument of the function, as any keyword of its own is."""
        self._fixed_positional = frozenset(positional[: len(callee.prefix)])
        self._fixed_extra = max(0, len(callee.prefix) - len(positional))

    def takes_string(self, name: str) -> bool:
        """Whether annotation, default or body say that a parameter takes one string, so that a list is a column."""
        parameter = self.signature.parameters.get(name)
        if parameter is None or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return False
        note = parameter.annotation
        if isinstance(parameter.default, str | enum.Enum):
            return True
        if isinstance(note, type) and issubclass(note, str | enum.Enum):
            return True
        text = "" if note is parameter.empty else str(note).replace("typing.", "").replace(" ", "")
        return (text in ("str", "str|None", "None|str", "Optional[str]") or text.startswith("Literal[")
                or not text and name in self._compared)

    @functools.cached_property
    def _compared(self) -> Mapping[str, str]:
        return compared_with_strings(self.function)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> BoundArguments:
        """Bind as Python does; TypeError with the twin's name when the arguments do not fit."""
        if self.simple and not kwargs and self.required <= len(args) <= len(self.names):
            return BoundArguments(dict(zip(self.names, args, strict=False)), frozenset())
        found = self._binder(*self.prefix, *args, **{**self.preset, **kwargs})
        loose = (self.extra, self.keywords)
        arguments = {n: v for n, v in found.items() if v is not NOT_GIVEN and (n not in loose or v)}
        fixed = self._fixed_positional | (self.preset.keys() - kwargs.keys())
        return BoundArguments(arguments, fixed, self._fixed_extra)

    @functools.cached_property
    def _binder(self) -> Callable[..., dict[str, Any]]:
        """A function with these parameters that gives its arguments: Python itself binds, and says what is wrong."""
        known = [p.replace(annotation=p.empty) for p in self.signature.parameters.values()]
        head = inspect.Signature([p if p.default is p.empty else p.replace(default=_Spelled()) for p in known])
        scope: dict[str, Any] = {_Spelled.NAME: NOT_GIVEN}
        exec(f"def bind{head}: return {{{', '.join(f'{name!r}: {name}' for name in self.names)}}}", scope)
        made: Callable[..., dict[str, Any]] = scope["bind"]
        made.__qualname__ = self.name
        return made

    def check_static(self, static: Sequence[str], option: str = "static") -> None:
        for name in static:
            if name not in self.signature.parameters:
                known = ", ".join(self.names) or "none"
                raise refuse("flatten/static-name", f"{option}={name!r}: {self.name}() has no such parameter",
                             help=f"its parameters are: {known}")


def owner_of(function: FunctionType) -> tuple[str, type | None, object]:
    """Where a function of a class body lives: the qualified name of the class ("" when it is not in a class),
    and the class and the descriptor in it, when they are found and are still those of this function."""
    owner, _, name = function.__qualname__.rpartition(".")
    if not owner or owner.endswith("<locals>"):
        return "", None, None
    found: Any = sys.modules.get(function.__module__)
    for part in owner.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type):
        descriptor = found.__dict__.get(name)
        if getattr(descriptor, "__func__", descriptor) is function:
            return owner, found, descriptor
    return owner, None, None


def explain_method_call(function: FunctionType, args: Sequence[Any], call: str) -> str | None:
    """Why calling the twin of a method like this is a mistake: `obj.method.flat(5)` binds 5 to self."""
    owner, cls, descriptor = owner_of(function)
    if not owner or isinstance(descriptor, staticmethod):
        return None
    first = function.__code__.co_varnames[0] if function.__code__.co_argcount else ""
    name = function.__name__
    if isinstance(descriptor, classmethod):
        proper = bool(args) and isinstance(args[0], type) and cls is not None and issubclass(args[0], cls)
        receiver = owner
    elif cls is not None:
        proper = not args or isinstance(args[0], cls)
        receiver = "obj"
    else:
        proper = first != "self" or not args or any(c.__qualname__ == owner for c in type(args[0]).__mro__)
        receiver = "obj"
    if proper:
        return None
    return (f"{owner}.{name}.flat is the twin of the plain function, so that the first argument is {first!r}; "
            f"to flatten the method of an object call pyflat.twin({receiver}.{name}){call}")
