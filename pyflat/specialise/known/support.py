"""Handlers: what a known callable does with its arguments, and ways to make one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import libcst as cst

from pyflat.specialise import calls, objects
from pyflat.specialise import numbers as num
from pyflat.specialise.frames import Specialiser
from pyflat.specialise.numbers import as_float
from pyflat.specialise.values import (
    Abstract,
)

Handler = Callable[[Specialiser, "calls.Arguments", cst.CSTNode], Abstract]


def only(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode, least: int, most: int) -> list[Abstract]:
    """The positional arguments, checked in number; keywords are an error."""
    if arguments.named:
        raise s.refuse("flatten/bad-call", f"the keyword {next(iter(arguments.named))!r} is not supported here", node)
    if not least <= len(arguments.positional) <= most:
        raise s.fault("TypeError", f"expected {least} to {most} arguments", node)
    return arguments.positional


def float_operation(opcode: str, count: int = 1) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        values = only(s, arguments, node, count, count)
        return s.build.op(opcode, *[as_float(s, v) for v in values])

    return handler


def inlined(fn: Any) -> Handler:
    """A library function that is inlined."""

    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        return calls.inline(s, fn, arguments, node)

    return handler


def binary_operation(opcode: str) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        a, b = only(s, arguments, node, 2, 2)
        return num.binary(s, opcode, a, b)

    return handler


def comparison(opcode: str) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        a, b = only(s, arguments, node, 2, 2)
        return objects.compare(s, opcode, a, b, node)

    return handler


def unary_operation(opcode: str) -> Handler:
    def handler(s: Specialiser, arguments: calls.Arguments, node: cst.CSTNode) -> Abstract:
        return num.unary(s, opcode, *only(s, arguments, node, 1, 1))

    return handler


