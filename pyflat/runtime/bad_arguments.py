"""Arguments of a call that are no lanes, and that the function uses as numbers.

A string, a tuple or any other object without lanes is static: the function may look at it, and a twin is made for this
value. Where the function computes with it, flattening is refused at an operation that needs a number. What is wrong
then is the call, so that the caller gets a TypeError that names the argument, as Python's would not, and what to pass
instead; the refusal is its cause.
"""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType

from pyflat.errors import FlattenError
from pyflat.ir.shape import Fixed, Record, Shape

_OF_METHODS = ("self", "cls")
"""Parameters whose arguments the caller does not pass."""


def as_argument_error(
    refusal: FlattenError, function: FunctionType, arguments: Mapping[str, Shape], static: Sequence[str]
) -> Exception:
    """The TypeError for the argument that a refusal is about; the refusal itself where it is about none."""
    name = refusal.diagnostic.argument
    if name not in arguments or name in static or name in _OF_METHODS:
        return refusal
    shape = arguments[name]
    title = f"argument {name!r} of {function.__name__} (number {list(arguments).index(name) + 1})"
    span = refusal.diagnostic.span
    why = refusal.diagnostic.message
    wrong = f"which does not work as it is used at {span}" if span else f"which a twin does not take: {why}"
    return TypeError(f"{title} is {_described(shape)}, {wrong}; {_remedy(shape)}")


def _described(shape: Shape) -> str:
    if isinstance(shape, Record):
        return f"a {shape.cls.__name__}"
    value = shape.value if isinstance(shape, Fixed) else shape
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    cls = type(value).__qualname__
    return f"a {cls}" + (f", {text}" if len(text) <= 30 and not text.startswith("<") else "")


_SEQUENCE = "pass np.asarray(x) for one lane per item; a tuple is one value in each lane, made of its items"


def _remedy(shape: Shape) -> str:
    if isinstance(shape, Record):
        return _SEQUENCE if issubclass(shape.cls, tuple | list) else "pass its numbers as arguments of their own"
    value = shape.value if isinstance(shape, Fixed) else None
    match value:
        case str() | bytes():
            return "pass float(x), or np.asarray(x, float) for an array of such texts"
        case None:
            return "pass a number or an array of numbers (None works where the function tests for it)"
        case range() | list() | tuple():
            return _SEQUENCE
        case set() | frozenset():
            return "pass np.array(sorted(x)) for one lane per item"
        case dict():
            return "pass its values as arguments, f(**x), or as a dict of arrays where the function takes it apart"
        case datetime.date() | datetime.time() | datetime.timedelta():
            return "pass a number, as x.toordinal() or x.total_seconds(), and make the date of it in the function"
        case type():
            return "pass a number or an array of numbers"
        case Iterator():
            return "pass np.fromiter(x, float) for one lane per item"
    if inspect.isroutine(value):
        return "pass what it returns; a function works as an argument where it is called"
    return "pass a number or an array of numbers; of other objects a twin reads attributes and calls methods"
