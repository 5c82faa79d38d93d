"""Handlers: what a known callable does with its arguments, and ways to make one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import libcst as cst
import numpy as np

from pyflat.frontend.space import numbers as num
from pyflat.frontend.space.scalars import as_float, const_eval
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.kinds import alternatives, describe, numeric_kind
from pyflat.frontend.state.values import NONE, Abstract, Arguments, OtherText, Scratch, Static
from pyflat.ir.build import const
from pyflat.ir.types import FLOAT

Handler = Callable[[Evaluator, Arguments, cst.CSTNode], Abstract]


@dataclass(slots=True)
class Given:
    """The arguments of a NumPy function by name."""

    s: Evaluator
    title: str
    named: dict[str, Abstract]
    node: cst.CSTNode

    def value(self, name: str, default: Abstract | None = None) -> Abstract:
        found = self.named.get(name, default)
        if found is None:
            raise self.s.raised(TypeError, self.node)
        return found

    def static(self, name: str, default: Any) -> Any:
        """An argument that decides what is computed: known while flattening."""
        if name not in self.named:
            return default
        found = self.named[name]
        if not isinstance(found, Static):
            raise self.s.refuse("flatten/lane-to-object", f"{name}= of {self.title} is {describe(found)}", self.node,
                                why="the computation depends on it, so it must be known while flattening")
        return found.value


def bind_names(s: Evaluator, title: str, parameters: str, arguments: Arguments, node: cst.CSTNode) -> Given:
    """The arguments by name; `parameters` in NumPy's order, those marked ! may only have their default."""
    names = parameters.split()
    if len(arguments.positional) > len(names):
        raise s.raised(TypeError, node)
    given = dict(zip((n.lstrip("!*") for n in names), arguments.positional, strict=False))
    for name, value in arguments.named.items():
        if name in given or name not in [n.lstrip("!*") for n in names]:
            raise s.raised(TypeError, node)
        given[name] = value
    for name in names:
        value = given.get(name[1:], Static(None)) if name.startswith("!") else Static(None)
        if not (isinstance(value, Static) and (value.value is None or value.value is np._NoValue)):
            raise s.refuse("flatten/unsupported-expression", f"the option {name[1:]}= of {title}", node,
                           help="leave it out")
    return Given(s, title, {k: v for k, v in given.items()
                            if not (isinstance(v, Static) and v.value is np._NoValue)}, node)


def only(s: Evaluator, arguments: Arguments, node: cst.CSTNode, least: int, most: int) -> list[Abstract]:
    """The positional arguments, checked in number; keywords are an error."""
    if arguments.named:
        raise s.refuse("flatten/bad-call", f"the keyword {next(iter(arguments.named))!r} is not supported here", node)
    if not least <= len(arguments.positional) <= most:
        raise s.fault("TypeError", f"expected {least} to {most} arguments", node)
    return arguments.positional


def float_operation(opcode: str, count: int = 1) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        values = only(s, arguments, node, count, count)
        return s.build.op(opcode, *[as_float(s, v) for v in values])

    return handler


def inlined(fn: Any, *, float64: bool = False) -> Handler:
    """A library function that is inlined; `float64`: it depends on that format."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        if float64:
            s.require_float64(f"math.{fn.__name__}", node)
        return s.space.inline(fn, arguments, node)

    return handler


def inlined_for_ints(fn: Any) -> Handler:
    """A library function of ints that is inlined; Python raises TypeError for a float."""

    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        if any(numeric_kind(value) is FLOAT for value in arguments.positional):
            s.doubt("'float' object cannot be interpreted as an integer", node)
            raise s.raised(TypeError, node)
        return s.space.inline(fn, arguments, node)

    return handler


def binary_operation(opcode: str) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        a, b = only(s, arguments, node, 2, 2)
        return num.binary(s, opcode, a, b)

    return handler


def comparison(opcode: str) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        a, b = only(s, arguments, node, 2, 2)
        return s.space.compare(opcode, a, b, node)

    return handler


def unary_operation(opcode: str) -> Handler:
    def handler(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
        return num.unary(s, opcode, *only(s, arguments, node, 1, 1))

    return handler


def warn(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    return effect_of_original(s, "warns", node)


def effect_of_original(s: Evaluator, what: str, node: cst.CSTNode) -> Abstract:
    """An effect that the replay can have: the lane runs through the original, which warns, logs or prints. Under a
    condition the path goes on for the kind of its result, where what follows flattens (`specialise`)."""

    def leave() -> Abstract:
        raise s.fault("Warning", f"the original {what} here", node)

    if not s.is_conditional() or not s.effects.passed:
        s.doubt(f"the function {what} on every path", node)
        leave()
    s.effects.met = True
    known = len(s.facts)
    value = s.branch(s.build.op("eq", const(0), const(0)), leave, lambda: NONE)
    del s.facts[known:]  # what follows is evaluated as if it ran
    return value


def change_filters(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    """warnings.simplefilter and filterwarnings, which a surrounding catch_warnings undoes."""
    if not s.effects.catching:
        raise s.refuse("flatten/effect", "the filters of the warnings module are changed", node,
                       help="do it inside `with warnings.catch_warnings():`")
    return NONE


def refuse_texts(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> None:
    """Raises FlattenError where an argument may be any string."""
    if not s.texts:
        return
    for value in (*arguments.positional, *arguments.named.values()):
        text = next((option for option in alternatives(value) if isinstance(option, OtherText)), None)
        if text is not None:
            raise s.refuse("flatten/unsupported-expression", f"this is done to {describe(text)}", node)


# --- logging: a message that no logger takes is nothing, one that is taken is an effect of the original. Which it is
# depends on the levels, which are read while flattening and compared at each call.
def _known(s: Evaluator, value: Abstract, node: cst.CSTNode) -> Any:
    match value:
        case Static() | Scratch():
            return value.value
    raise s.refuse("flatten/lane-to-object", "a logger, its name or a level depends on the data", node)


def _is_enabled(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    logger, level = (_known(s, value, node) for value in only(s, arguments, node, 2, 2))
    enabled = bool(logger.isEnabledFor(level))
    s.guards.answer(f"the level of the logger {logger.name}", (logger, level),
                    lambda: bool(logger.isEnabledFor(level)) == enabled)
    return Static(enabled)


def _log(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    return effect_of_original(s, "logs", node)


def _logger(s: Evaluator, arguments: Arguments, node: cst.CSTNode) -> Abstract:
    names = [_known(s, value, node) for value in [*arguments.positional, *arguments.named.values()]]
    return const_eval(s, lambda: logging.getLogger(*names))


HANDLERS: dict[Any, Handler] = {
    logging.Logger.isEnabledFor: _is_enabled, logging.Logger._log: _log, logging.getLogger: _logger,
}
