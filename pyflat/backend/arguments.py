"""What the parameters of a function are, for a backend: kinds, records, and constants."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from pyflat.errors import refuse
from pyflat.frontend.callables import unwrap
from pyflat.ir.opaque_calls import KINDS, VECTORS, notes_of, result_shape
from pyflat.ir.shape import Fixed, Labels, Leaf, Record, Shape, record_of
from pyflat.ir.types import FLOAT, Kind, kind_of

Given = Mapping[str, Any]


def argument_shapes(
    fn: Callable[..., Any], kinds: str | Sequence[str] | None, arguments: Given | None, static: Given | None
) -> dict[str, Shape]:
    """The shape of every parameter that the caller chooses.

    `static` has constants. `arguments` describes parameters: by a kind ("f8", "i8", "b" or "float", "int", "bool"),
    "vec2" to "vec4", a namedtuple or dataclass, a tuple of those, or an example value. `kinds` does so for the
    plain parameters, in order. Others follow their annotation, then their default value, and are float without either.

    TypeError or ValueError for anything else, FlattenError `flatten/static-name` for an unknown name.
    """
    callee = unwrap(fn)
    parameters = inspect.signature(callee.function, follow_wrapped=False).parameters
    bound = inspect.signature(callee.function).bind_partial(*callee.prefix, **callee.preset).arguments
    given, constant = dict(arguments or {}), dict(static or {})
    for name in [*given, *constant]:
        if name not in parameters:
            raise refuse("flatten/static-name", f"{callee.function.__qualname__} has no parameter {name!r}")
    notes = notes_of(callee.function)
    shapes: dict[str, Shape] = {}
    plain: list[str] = []
    for name, parameter in parameters.items():
        variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if name in bound or variable and name not in given:
            continue
        if name in constant:
            shapes[name] = Fixed(constant[name])
        elif name in given:
            shapes[name] = shape_of(given[name])
        elif (found := _declared(notes.get(name), parameter)) is not None:
            shapes[name] = found
            if isinstance(found, Leaf):
                plain.append(name)
    if kinds is not None:
        shapes.update(_by_kinds(kinds, plain))
    return shapes


def shape_of(described: Any) -> Shape:
    """The shape that a description or an example of a value stands for."""
    if isinstance(described, Leaf | Fixed | Record | Labels):
        return described
    if isinstance(described, str | type | Kind | FunctionType):
        if isinstance(described, str) and described not in KINDS and described not in VECTORS:
            raise ValueError(f"{described!r} is not a kind: {', '.join([*KINDS, *VECTORS])}")
        return result_shape(described)
    kind = kind_of(described)
    if kind is not None:
        return Leaf(kind)
    record = record_of(described)
    if record is None:
        raise TypeError(f"a parameter is a number or a record of numbers, not {type(described).__name__}; "
                        "a constant goes into static=")
    cls, names, items = record
    return Record(cls, names, tuple(map(shape_of, items)))


def _declared(note: Any, parameter: inspect.Parameter) -> Shape | None:
    """By annotation, else by default value; None for a default that is no number, which is then a constant."""
    default = parameter.default
    if note is None and default is not parameter.empty:
        try:
            return shape_of(default)
        except (TypeError, ValueError):
            return None
    if typing.get_origin(note) is tuple:
        return Record(tuple, (), tuple(_declared(arg, parameter) or Leaf(FLOAT) for arg in typing.get_args(note)))
    try:
        return result_shape(note) if note is not None else Leaf(FLOAT)
    except ValueError:
        return Leaf(FLOAT) if default is parameter.empty else None


def _by_kinds(kinds: str | Sequence[str], plain: Sequence[str]) -> dict[str, Shape]:
    words = [word.strip() for word in kinds.split(",")] if isinstance(kinds, str) else list(kinds)
    if len(words) != len(plain):
        raise ValueError(f"kinds={kinds!r}: {len(words)} kinds for {len(plain)} parameters ({', '.join(plain)})")
    return {name: shape_of(word) for name, word in zip(plain, words, strict=True)}
