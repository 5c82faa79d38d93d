"""What decorators ask and make: inspect.signature and its bind, functools.wraps."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import Any

import libcst as cst

from pyflat.frontend.builtins.support import Handler
from pyflat.frontend.library import stdlib
from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state import heap
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Abstract, Arguments, ObjRef, Static


def _about_a_function(ask: Any) -> Handler:
    """inspect.signature or typing.get_type_hints of a known function, which is watched from then on."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        if not arguments.all_static() or len(arguments.positional) != 1:
            raise s.refuse("flatten/unknown-call", f"{ask.__name__}() of a function made in the flattened code", node,
                           help="call it outside the function, where the decorator runs")
        args, named = arguments.values()
        _watch(s, args[0])
        return const_eval(s, lambda: ask(*args, **named))

    return handler


def _watch(s: Evaluator, fn: Any) -> None:
    """The code and defaults of a function and of those that it wraps."""
    while fn is not None:
        if isinstance(fn, types.FunctionType):
            s.guards.code(fn)
        wrapped = getattr(fn, "__wrapped__", None)
        if wrapped is not None:
            s.guards.attribute(fn, "__wrapped__", wrapped)
        fn = wrapped


def _bind(partial: bool) -> Handler:
    """Signature.bind: which argument goes where. TypeError where they do not fit."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        signature = arguments.positional[0]
        if not isinstance(signature, Static) or not isinstance(signature.value, inspect.Signature):
            raise s.raised(TypeError, node)
        known = signature.value
        try:
            bound = (known.bind_partial if partial else known.bind)(*arguments.positional[1:], **arguments.named)
        except TypeError as error:
            s.doubt(str(error), node)
            raise s.raised(TypeError, node) from None
        found = heap.new_dict(s, {name: _argument(s, known.parameters[name], value)
                                  for name, value in bound.arguments.items()})
        made = ObjRef(inspect.BoundArguments)
        s.state.heap[made] = (("_signature", signature), ("arguments", found))
        return made

    return handler


def _argument(s: Evaluator, parameter: inspect.Parameter, value: Any) -> Abstract:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return heap.make_tuple(value)
    if parameter.kind is parameter.VAR_KEYWORD:
        return heap.new_dict(s, dict(value))
    found: Abstract = value
    return found


def _wraps(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """functools.wraps(fn): a decorator that changes names and texts only."""
    if not arguments.positional:
        raise s.raised(TypeError, node)
    return Static(stdlib.same)


HANDLERS: dict[Any, Handler] = {
    inspect.signature: _about_a_function(inspect.signature),
    typing.get_type_hints: _about_a_function(typing.get_type_hints), inspect.unwrap: _about_a_function(inspect.unwrap),
    inspect.Signature.bind: _bind(partial=False), inspect.Signature.bind_partial: _bind(partial=True),
    functools.wraps: _wraps,
}
