"""Methods as functions of numbers: one that makes an object of its arguments and calls the method.

    class Ramp:
        def __init__(self, low, high=1.0): ...
        def __call__(self, x): ...

is tried as `Ramp(low, high)(x)`, where each lane has an object of its own, and an enum's method as that of any member.
Nothing is made or called: the text is written, and flattened.
"""

from __future__ import annotations

import enum
import functools
import inspect
import linecache
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from types import FunctionType, ModuleType
from typing import Any

MEMBER = "member"
"""The parameter that stands for a member of an enum."""

_numbers = count()


@dataclass(frozen=True, slots=True)
class ClassMember:
    """A member of a class. `how` it is used: "called" on an object, "read" as a property, "special" (`__call__`), or
    "of the class" where no object is needed."""

    owner: type
    name: str
    function: FunctionType
    how: str


def behind(member: Any) -> tuple[Any, str]:
    """What a member of a class calls, and how it is used."""
    match member:
        case staticmethod() | classmethod():
            return member.__func__, "of the class"
        case property():
            return member.fget, "read"
        case functools.cached_property():
            return member.func, "read"
    return member, "special" if getattr(member, "__name__", "") == "__call__" else "called"


def constructor(owner: type) -> list[inspect.Parameter] | None:
    """The parameters of which an object is made; None where Python does not say, or an enum has no members."""
    if issubclass(owner, enum.Enum):
        return None if not tuple(owner) else [inspect.Parameter(MEMBER, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    try:
        found = list(inspect.signature(owner).parameters.values())
    except (ValueError, TypeError):
        return None
    plain = inspect.getattr_static(owner, "__init__") is vars(object)["__init__"] and owner.__new__ is object.__new__
    return [] if plain else found


def init_of(owner: type) -> FunctionType | None:
    """The function that takes the constructor's arguments, where it is written in Python."""
    found = inspect.getattr_static(owner, "__init__")
    found = owner.__new__ if found is vars(object)["__init__"] else found
    return found if isinstance(found, FunctionType) else None


def parameters_of(method: ClassMember, made_of: list[inspect.Parameter]) -> dict[str, tuple[bool, inspect.Parameter]]:
    """The parameters of the function that is tried, by the names that they have there: whether each goes to the
    constructor, and what it is for whom it goes to. `*args` and `**options` stay empty."""
    called = list(inspect.signature(method.function, follow_wrapped=False).parameters.values())
    bound = not isinstance(inspect.getattr_static(method.owner, method.name, None), staticmethod)
    called = [each for each in called[bound:] if each.kind not in _SEVERAL]
    taken = {parameter.name for parameter in called}
    found = {}
    for parameter in made_of:
        if parameter.kind not in _SEVERAL:
            own = f"{method.owner.__name__.lower()}_{parameter.name}" if parameter.name in taken else parameter.name
            found[own] = True, parameter
    found.update({parameter.name: (False, parameter) for parameter in called})
    return dict(sorted(found.items(), key=lambda item: item[1][1].default is not inspect.Parameter.empty))


def as_function(
    module: ModuleType, method: ClassMember, taken: Mapping[str, tuple[bool, inspect.Parameter]]
) -> FunctionType:
    """The function of numbers."""
    return _function(module, f"return {use_of(method, taken)}", taken)


def maker(
    module: ModuleType, method: ClassMember, taken: Mapping[str, tuple[bool, inspect.Parameter]]
) -> FunctionType | None:
    """The function that only makes the object; None where there is none to make."""
    own = {name: each for name, each in taken.items() if each[0]}
    if method.how == "of the class" or issubclass(method.owner, enum.Enum):
        return None
    return _function(module, f"{_instance(method, taken)}; return 0.0", own)


def _function(module: ModuleType, body: str, taken: Mapping[str, tuple[bool, inspect.Parameter]]) -> FunctionType:
    """The text is kept where `inspect` finds it."""
    text = f"def method({', '.join(taken)}):\n    {body}\n"
    file = f"<survey of {module.__name__}, method {next(_numbers)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), vars(module), scope)
    function: FunctionType = scope["method"]
    defaults = [each.default for _, each in taken.values() if each.default is not each.empty]
    function.__defaults__ = tuple(defaults) or None
    function.__annotations__ = {name: each.annotation for name, (_, each) in taken.items()
                                if each.annotation is not each.empty}
    return function


def use_of(method: ClassMember, taken: Mapping[str, tuple[bool, inspect.Parameter]]) -> str:
    """How the method is written: `Ramp(low=low, high=high)(x=x)`."""
    call = _arguments(taken, to_object=False)
    if method.how == "of the class":
        return f"{method.owner.__qualname__}.{method.name}({call})"
    instance = MEMBER if issubclass(method.owner, enum.Enum) else _instance(method, taken)
    return {"read": f"{instance}.{method.name}", "special": f"{instance}({call})"}.get(
        method.how, f"{instance}.{method.name}({call})")


def _instance(method: ClassMember, taken: Mapping[str, tuple[bool, inspect.Parameter]]) -> str:
    return f"{method.owner.__qualname__}({_arguments(taken, to_object=True)})"


def _arguments(taken: Mapping[str, tuple[bool, inspect.Parameter]], *, to_object: bool) -> str:
    return ", ".join(_passed(name, each) for name, (made, each) in taken.items() if made is to_object)


def _passed(name: str, parameter: inspect.Parameter) -> str:
    return name if parameter.kind is parameter.POSITIONAL_ONLY else f"{parameter.name}={name}"


_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
