"""The flattened functions of a module, and what verifying them without further words means."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

from pyflat.runtime.decorator import flat_of


class NotVerifiableError(ValueError):
    """Nothing says what some argument is: verify the function by a call of its own."""


def flattened_functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """Names and functions that `module` decorates with `pyflat.flatten`, in the order of their definition; those of
    classes as Class.method."""
    for name, value in vars(module).items():
        if inspect.isclass(value) and value.__module__ == module.__name__:
            for inner, member in vars(value).items():
                function = getattr(member, "__func__", member)
                if flat_of(function) is not None:
                    yield f"{name}.{inner}", function
        elif isinstance(value, FunctionType) and value.__module__ == module.__name__ and flat_of(value) is not None:
            yield name, value


def verify_flattened(name: str, fn: FunctionType, options: Mapping[str, Any]) -> int:
    """`pyflat.testing.verify` with what the decorator and the signature say; `options` go before.

    Raises NotVerifiableError for methods and for static arguments without a default.
    """
    from pyflat.testing.verification import verify

    given = {**_decorated(fn), **options}
    if "." in name and "static" not in options and next(iter(inspect.signature(fn).parameters), "") in ("self", "cls"):
        raise NotVerifiableError(f"{name} is a method: verify pyflat.twin(object.{fn.__name__}) on arrays, "
                                 f"or verify(fn, static={{'self': object}})")
    if isinstance(given.get("static"), tuple):
        given["static"] = _static_values(name, fn, given["static"])
    return verify(fn, **given)


def _decorated(fn: Callable[..., Any]) -> dict[str, Any]:
    """The options of the decorator that change what the twin computes."""
    twin = flat_of(fn)
    settings = dict(twin.settings) if twin else {}
    return {name: settings[name] for name in ("static", "target", "loops", "max_unroll", "math") if name in settings}


def _static_values(name: str, fn: FunctionType, static: tuple[str, ...]) -> dict[str, Any]:
    parameters = inspect.signature(fn).parameters
    for one in static:
        if parameters[one].default is inspect.Parameter.empty:
            raise NotVerifiableError(f"the static argument {one!r} of {name} has no default: "
                                     f"verify(fn, static={{{one!r}: ...}})")
    return {one: parameters[one].default for one in static}
