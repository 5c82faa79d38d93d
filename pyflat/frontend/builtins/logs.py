"""Calls of `logging`: a message that no logger takes is nothing, one that is taken is an effect of the original.

Which of the two it is depends on the levels, which are read while flattening and compared at each call.
"""

from __future__ import annotations

import logging
from typing import Any

import libcst as cst

from pyflat.frontend.builtins.support import Handler, effect_of_original, only
from pyflat.frontend.space.scalars import const_eval
from pyflat.frontend.state.frames import Evaluator
from pyflat.frontend.state.values import Abstract, Arguments, Scratch, Static


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
