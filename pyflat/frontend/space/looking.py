"""The rules of the object space for what is computed of one string (`state.derived`): Python computes it, once for each
string. They are asked before those for other values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from pyflat.frontend.space.scalars import PYTHON
from pyflat.frontend.state.derived import apply, is_among
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import (
    Abstract,
    Arguments,
    Axes,
    BoundMethod,
    Derived,
    GuardedUnion,
    Slice,
    Static,
)
from pyflat.ir.shape import tag_of

WRITING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault",
                     "popitem", "add", "discard"})
_UNARY: dict[str, Callable[[Any], Any]] = {"neg": lambda v: -v, "pos": lambda v: +v, "invert": lambda v: ~v}


def asked(rule: Callable[..., Any], count: int, compute: Callable[..., Callable[..., Any]]) -> Any:
    """A rule of the object space, of an operator, `count` values and a node, that asks here first; `compute` gives what
    Python computes for an operator."""

    def ask(s: Evaluator, *given: Any) -> Any:
        if not s.strings:
            return rule(s, *given)
        operator = given[:isinstance(given[0], str)]
        values, rest = given[len(operator):len(operator) + count], given[len(operator) + count:]
        if not is_among(s, *values):
            return rule(s, *given)
        split = s.split_first(values, lambda *row: ask(s, *operator, *row, *rest), lambda value: not is_among(s, value))
        return split or apply(s, (rule.__name__, *operator), compute(*operator), values, rest[0] if rest else None)

    return ask


def truth(rule: Callable[..., Any]) -> Any:
    return asked(rule, 1, lambda: bool)


def unary(rule: Callable[..., Any]) -> Any:
    return asked(rule, 1, _UNARY.__getitem__)


def binary(rule: Callable[..., Any]) -> Any:
    return asked(rule, 2, PYTHON.__getitem__)


def identical(rule: Callable[..., Any]) -> Any:
    return asked(rule, 2, lambda: lambda a, b: a is b)


def contains(rule: Callable[..., Any]) -> Any:
    return asked(rule, 2, lambda: lambda container, item: item in container)


def instance(rule: Callable[..., Any]) -> Any:
    def ask(s: Evaluator, value: Abstract, classes: Any, node: cst.CSTNode) -> Any:
        if not is_among(s, value):
            return rule(s, value, classes, node)
        if isinstance(value, GuardedUnion):
            return s.split(value, lambda one: ask(s, one, classes, node))
        return apply(s, ("isinstance", classes), lambda known: isinstance(known, classes), [value], node)

    return ask


def attribute(rule: Callable[..., Any]) -> Any:
    """Methods are bound; other attributes are values."""

    def ask(s: Evaluator, owner: Abstract, name: str, node: cst.CSTNode) -> Any:
        if not is_among(s, owner):
            return rule(s, owner, name, node)
        if isinstance(owner, GuardedUnion):
            return s.split(owner, lambda one: ask(s, one, name, node))
        assert isinstance(owner, Derived)
        witnesses = s.strings[owner.parameter].witnesses
        if any(callable(getattr(tag_of(owner.compute, each)[1], name, None)) for each in witnesses):
            return BoundMethod(owner, name)
        return apply(s, ("attribute", name), lambda value: getattr(value, name), [owner], node)

    return ask


def item(rule: Callable[..., Any]) -> Any:
    def ask(s: Evaluator, owner: Abstract, key: Any, node: cst.CSTNode) -> Any:
        if isinstance(key, Axes) or not is_among(s, owner, *([] if isinstance(key, Slice) else [key])):
            return rule(s, owner, key, node)
        given = [owner, Static(key.value)] if isinstance(key, Slice) else [owner, key]
        split = s.split_first(given, lambda *row: ask(s, row[0], key if isinstance(key, Slice) else row[1], node),
                              lambda value: not is_among(s, value))
        return split or apply(s, "item", lambda value, place: value[place], given, node)

    return ask


def call(s: Evaluator, function: Abstract, arguments: Arguments, may_call: Callable[[Any], bool], node: cst.CSTNode
         ) -> Abstract | None:
    """A call of compiled code with what is derived, or of its method; None where it is another call."""
    receiver = function.receiver if isinstance(function, BoundMethod) and function.function is None else None
    given = [*([] if receiver is None else [receiver]), *arguments.positional, *arguments.named.values()]
    if not is_among(s, *given):
        return None
    count, names = len(given) - len(arguments.named), tuple(arguments.named)
    split = s.split_first(given, lambda *row: s.space.call(
        function if receiver is None else BoundMethod(row[0], function.name),  # type: ignore[union-attr]
        Arguments(list(row[receiver is not None:count]), dict(zip(names, row[count:], strict=True))), node),
        lambda value: not is_among(s, value))
    if split is not None:
        return split
    if isinstance(function, BoundMethod) and receiver is not None:
        name = function.name
        if name in WRITING:
            raise s.refuse("flatten/effect", f".{name}() changes a value computed from a string", node)
        if isinstance(receiver, Static) and isinstance(receiver.value, dict | list | str | tuple) or isinstance(
                receiver, Derived):
            return apply(s, (name, names), lambda owner, *row: getattr(owner, name)(
                *row[:count - 1], **dict(zip(names, row[count - 1:], strict=True))), given, node)
        return None
    if not isinstance(function, Static) or not may_call(function.value):
        return None
    known = function.value
    return apply(s, (id(known), names), lambda *row: known(
        *row[:count], **dict(zip(names, row[count:], strict=True))), given, node)
